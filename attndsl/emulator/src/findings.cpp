#include "attnemu/findings.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "attnemu/knobs.h"

namespace attnemu {

void Findings::add(Finding f) {
  std::string key = f.rule + '\n' + f.source + '\n' + f.other + '\n' + f.calls;
  uint64_t& count = counts_[f.check + "/" + f.rule];
  ++count;
  if (!seen_.insert(key).second) return;
  if (++kept_by_rule_[f.rule] > max_per_rule) return;
  kept_.push_back(std::move(f));
}

void Findings::drop(const std::function<bool(const Finding&)>& unwanted) {
  kept_.erase(std::remove_if(kept_.begin(), kept_.end(), unwanted), kept_.end());
}

std::string format(const char* pattern, ...) {
  char text[1024];
  va_list args;
  va_start(args, pattern);
  std::vsnprintf(text, sizeof text, pattern, args);
  va_end(args);
  return text;
}

std::string json_escape(const std::string& s) {
  std::string out;
  for (unsigned char c : s) {
    if (c == '"' || c == '\\') { out += '\\'; out += static_cast<char>(c); }
    else if (c < 0x20) out += format("\\u%04x", c);
    else out += static_cast<char>(c);
  }
  return out;
}

bool Knobs::set(const std::string& key, const std::string& value) {
  uint64_t v = std::stoull(value, nullptr, 0);
  if (key == "seed") seed = v;
  else if (key == "auto_sync") auto_sync = v;
  else if (key == "flags_count") flags_count = v;
  else if (key == "clean_at_end") clean_at_end = v;
  else if (key == "saturate") saturate = v;
  else if (key == "rough_reciprocal") rough_reciprocal = v;
  else if (key == "timing") timing = v;
  else if (key == "most_core_cycles") most_core_cycles = v;
  else if (key == "racecheck") racecheck = v;
  else if (key == "memcheck") memcheck = v;
  else if (key == "synccheck") synccheck = v;
  else if (key == "initcheck") initcheck = v;
  else if (key == "strict_core") strict_core = v;
  else if (key == "poison") poison = static_cast<uint32_t>(v);
  else if (key == "device_poison") device_poison = static_cast<uint32_t>(v);
  else if (key == "max_per_rule") max_per_rule = static_cast<uint32_t>(v);
  else if (key == "stack_bytes") stack_bytes = v;
  else return false;
  return true;
}

}  // namespace attnemu
