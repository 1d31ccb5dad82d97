#include "attnemu/findings.h"
#include "attnemu/report.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <unistd.h>

#include <algorithm>
#include <vector>

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
  if (!f.calls.empty()) field("calls", f.calls);
  return out + "\"address\": " + std::to_string(f.address) + ", \"bytes\": " + std::to_string(f.bytes) + "}";
}

namespace {

// What the time until the end went to, by kind of core and pipe.
std::string path_json(const Machine& m) {
  const Instant& end = m.end();
  std::string out = format("\"flags\": %.2f, \"memory\": %.2f", static_cast<double>(end.spent[kFlagsCause]), static_cast<double>(end.spent[kMemoryCause]));
  for (CoreKind kind : {CoreKind::Cube, CoreKind::Vector})
    for (int p = 0; p < kPipes; ++p) {
      auto cycles = static_cast<double>(end.spent[static_cast<size_t>(cause_of(kind, static_cast<Pipe>(p)))]);
      if (cycles > 0) out += format(", \"%s %s\": %.2f", kind == CoreKind::Cube ? "AIC" : "AIV", name_of(static_cast<Pipe>(p)), cycles);
    }
  return out;
}

std::string conflicts_json(const Machine& m) {
  std::string out;
  for (auto& [place, cycles] : m.timeline.conflicts)
    out += format("%s\"%s\": %.2f", out.empty() ? "" : ", ", json_escape(m.text(SourceLine{place.first, place.second})).c_str(), cycles);
  return out;
}

// As "w UB 1024,r UB 0": written and read memories with the first byte.
std::string touched_text(const Span& s) {
  std::string out;
  for (int i = 0; i < s.touched_count; ++i)
    out += format("%s%s %s %u", i ? "," : "", s.touched[i].written ? "w" : "r", name_of(s.touched[i].memory), s.touched[i].at);
  return out;
}

// When each block ends.
std::string ends_json(const Machine& m) {
  std::vector<double> ends(static_cast<size_t>(m.shape.blocks));
  for (auto& c : m.cores) {
    double& end = ends[static_cast<size_t>(c->block)];
    end = std::max(end, c->time.end().at);
  }
  std::string out;
  for (double end : ends) out += format("%s%.2f", out.empty() ? "" : ", ", end);
  return out;
}

// For each note of a run that was stopped, where each cube core's products were: [[cycles, busy cycles], ...].
std::string progress_json(const Machine& m) {
  std::string out;
  if (!m.stopped) return out;
  for (auto& note : m.timeline.progress) {
    out += out.empty() ? "[" : ", [";
    for (size_t i = 0; i < note.size(); ++i) out += format("%s[%.2f, %.2f]", i ? ", " : "", note[i].at, note[i].busy);
    out += "]";
  }
  return out;
}

// What grows with the work of a launch: cycles that pipes are busy, by kind of core, and that banks took, bytes behind L2.
std::string work_json(const Machine& m) {
  std::string kinds[2];
  for (int p = 0; p < kPipes; ++p) {
    double of_kind[2] = {};
    for (auto& c : m.cores) of_kind[static_cast<int>(c->kind)] += c->time.busy(static_cast<Pipe>(p));
    for (int k = 0; k < 2; ++k) kinds[k] += format("%s\"%s\": %.2f", p ? ", " : "", name_of(static_cast<Pipe>(p)), of_kind[k]);
  }
  return "\"busy_by_core\": {\"AIC\": {" + kinds[0] + "}, \"AIV\": {" + kinds[1] + "}}, \"bank_conflicts\": {" + conflicts_json(m) + "}, " +
         format("\"memory_read_bytes\": %.0f, \"memory_write_bytes\": %.0f", m.timeline.memory_read, m.timeline.memory_written);
}

}  // namespace

std::string bytes_json(const Memory& region) {
  return "\"read_bytes\": " + std::to_string(region.read_bytes) + ", \"write_bytes\": " + std::to_string(region.write_bytes) +
         ", \"fetched_bytes\": " + std::to_string(region.fetched_bytes);
}

std::string moved_json(const Machine& m) {
  std::string arrays;
  for (auto& region : m.regions) arrays += (arrays.empty() ? "\"" : ", \"") + json_escape(region->name) + "\": {" + bytes_json(*region) + "}";
  return "{" + work_json(m) + ", \"arrays\": {" + arrays + "}}";
}

std::string counters_json(const Machine& m) {
  std::string counts, busy, active[2];
  double products = 0;
  for (auto& c : m.cores) products += c->product_steps;
  for (int p = 0; p < kPipes; ++p) {
    auto pipe = static_cast<Pipe>(p);
    uint64_t n = 0;
    for (auto& c : m.cores) n += c->instructions[static_cast<size_t>(p)];
    counts += format("%s\"%s\": %llu", p ? ", " : "", name_of(pipe), static_cast<unsigned long long>(n));
    double of_all = 0, in_flight[2] = {};
    for (auto& c : m.cores) {
      of_all += c->time.busy(pipe);
      in_flight[static_cast<int>(c->kind)] += c->time.active(pipe);
    }
    busy += format("%s\"%s\": %.2f", p ? ", " : "", name_of(pipe), of_all);
    for (int k = 0; k < 2; ++k) active[k] += format("%s\"%s\": %.2f", p ? ", " : "", name_of(pipe), in_flight[k]);
  }
  return "\"instructions\": {" + counts + "}, \"busy_cycles\": {" + busy + "}, " + work_json(m) + ", " +
         "\"active_by_core\": {\"AIC\": {" + active[0] + "}, \"AIV\": {" + active[1] + "}}, " +
         "\"stopped\": " + (m.stopped ? "true" : "false") + ", \"progress\": [" + progress_json(m) + "], \"block_ends\": [" + ends_json(m) + "], \"critical_path\": {" + path_json(m) + "}, \"halfway\": " + (m.stopped && !m.halfway.empty() ? m.halfway : "null") + ", " +
         format("\"product_cycles\": %.2f, ", products) + format("\"cycles\": %.2f, \"cores\": [%d, %d, %d]", m.end().at, m.shape.blocks, m.shape.cubes, m.shape.vectors);
}

namespace { bool bare_addresses = false; }
bool note_bare_addresses() { return bare_addresses = true; }

std::string calls_in_halves() {
  constexpr int kDeepest = 48;
  void* frames[kDeepest];
  std::string found;
  int depth = bare_addresses && core ? backtrace(frames, kDeepest) : 0;
  for (int i = 0; i < depth; ++i) {
    Dl_info in;
    if (!dladdr(frames[i], &in) || !in.dli_fname) continue;
    std::string file = in.dli_fname;
    file = file.substr(file.rfind('/') + 1);
    // the call is in front of the address it returns to
    auto offset = static_cast<unsigned long long>(static_cast<char*>(frames[i]) - static_cast<char*>(in.dli_fbase) - 1);
    if (file.find("_half.so") != std::string::npos) found += format("%s%s:%llx", found.empty() ? "" : " ", file.c_str(), offset);
  }
  return found;
}

const char* fault_at(const void* address) {
  if (bare_addresses && reinterpret_cast<uintptr_t>(address) < kL1Bytes)
    return "an on-chip address was followed as a pointer, as CANN's headers do for some reductions: that is not modelled, ";
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
  std::fprintf(to, "launch\t%s\t%.3f\t%llu\n", kernel, m.end().at, static_cast<unsigned long long>(m.timeline.dropped));
  for (auto& c : m.cores) std::fprintf(to, "core\t%d\t%s\n", c->index, c->label().c_str());
  for (const Span& s : m.timeline.spans)
    std::fprintf(to, "span\t%d\t%s\t%d\t%.3f\t%.3f\t%s\t%s\t%s\t%s\n", s.core, name_of(s.pipe), s.waiting, s.start, s.cycles, s.what, m.text(s.at).c_str(),
                 s.from.line ? m.text(s.from).c_str() : "", touched_text(s).c_str());
}

}  // namespace attnemu
