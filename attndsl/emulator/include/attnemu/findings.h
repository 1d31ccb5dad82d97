// Findings: what a check has to say, deduplicated and capped a rule.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base.h"

namespace attnemu {

struct Finding {
  std::string check, rule, message, core, pipe, buffer, source, other;
  std::string calls;  // places in the halves' libraries that led to it, where `source` is none of the kernel's own lines
  uint64_t address = 0, bytes = 0;
};

class Findings {
 public:
  uint32_t max_per_rule = 20;
  // Keeps the finding unless (rule, source, other, calls) was reported already or the rule's cap is reached.
  void add(Finding f);
  void drop(const std::function<bool(const Finding&)>& unwanted);
  const std::vector<Finding>& kept() const { return kept_; }
  const std::map<std::string, uint64_t>& counts() const { return counts_; }

 private:
  std::vector<Finding> kept_;
  std::map<std::string, uint64_t> counts_, kept_by_rule_;
  std::set<std::string> seen_;
};

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string json_escape(const std::string& s);
std::string finding_json(const Finding& f);

}  // namespace attnemu
