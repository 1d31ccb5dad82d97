#include "attnemu/findings.h"

namespace attnemu {

std::string finding_json(const Finding& f) {
  std::string out = "{";
  auto field = [&](const char* name, const std::string& v) { out += std::string("\"") + name + "\": \"" + json_escape(v) + "\", "; };
  field("check", f.check);
  field("rule", f.rule);
  field("message", f.message);
  field("core", f.core);
  field("pipe", f.pipe);
  field("buffer", f.buffer);
  field("source", f.source);
  field("other", f.other);
  return out + "\"address\": " + std::to_string(f.address) + ", \"bytes\": " + std::to_string(f.bytes) + "}";
}

}  // namespace attnemu
