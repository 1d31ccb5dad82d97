#include "attnemu/findings.h"
#include "attnemu/report.h"

#include <unistd.h>

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

std::string counters_json(const Machine& m) {
  std::string counts, busy, kinds[2];
  for (int p = 0; p < kPipes; ++p) {
    auto pipe = static_cast<Pipe>(p);
    uint64_t n = 0;
    for (auto& c : m.cores) n += c->instructions[static_cast<size_t>(p)];
    counts += format("%s\"%s\": %llu", p ? ", " : "", name_of(pipe), static_cast<unsigned long long>(n));
    double of_kind[2] = {};
    for (auto& c : m.cores) of_kind[static_cast<int>(c->kind)] += c->time.busy(pipe);
    busy += format("%s\"%s\": %.2f", p ? ", " : "", name_of(pipe), of_kind[0] + of_kind[1]);
    for (int k = 0; k < 2; ++k) kinds[k] += format("%s\"%s\": %.2f", p ? ", " : "", name_of(pipe), of_kind[k]);
  }
  return "\"instructions\": {" + counts + "}, \"busy_cycles\": {" + busy + "}, \"busy_by_core\": {\"AIC\": {" + kinds[0] + "}, \"AIV\": {" + kinds[1] + "}}, " +
         format("\"cycles\": %.2f, \"memory_read_bytes\": %.0f, \"memory_write_bytes\": %.0f, \"cores\": [%d, %d, %d]", m.cycles(), m.timeline.memory_read, m.timeline.memory_written, m.shape.blocks, m.shape.cubes, m.shape.vectors);
}

const char* fault_at(const void* address) {
  if (reinterpret_cast<uintptr_t>(address) < 4096) return "a null pointer was followed, ";
  return machine && machine->is_below_stack(address) ? "the core's stack is exhausted (knob stack_bytes), " : "";
}

void last_words(const char* why) {
  char text[512], last[384] = "before its first instruction";
  if (core && core->last.line) std::snprintf(last, sizeof last, "after %s:%d", core->last.file, core->last.line);
  int n = core ? std::snprintf(text, sizeof text, "attnemu-crash: %son %s %s\n", why, core->label().c_str(), last)
               : std::snprintf(text, sizeof text, "attnemu-crash: %sin no core\n", why);
  if (n > 0 && write(2, text, static_cast<size_t>(n)) < 0) _exit(120);
}

void write_spans(std::FILE* to, const Machine& m, const char* kernel) {
  std::fprintf(to, "launch\t%s\t%.3f\t%llu\n", kernel, m.cycles(), static_cast<unsigned long long>(m.timeline.dropped));
  for (auto& c : m.cores) std::fprintf(to, "core\t%d\t%s\n", c->index, c->label().c_str());
  for (const Span& s : m.timeline.spans)
    std::fprintf(to, "span\t%d\t%s\t%d\t%.3f\t%.3f\t%s\t%s\n", s.core, name_of(s.pipe), s.waiting, s.start, s.cycles, s.what, m.text(s.at).c_str());
}

}  // namespace attnemu
