// Main program of a compiled kernel: reads a launch request, maps the arrays, runs, writes the report.
#include "attnemu/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <sstream>
#include <stdexcept>

#include "attnemu/division.h"
#include "attnemu/halves.h"
#include "attnemu/report.h"

namespace attnemu {
uint8_t reached[kMostStatements];
namespace {

struct Entry { int arguments; EntryCall call; };
ByHalf<Entry>& entries() { static ByHalf<Entry> e; return e; }
std::map<std::pair<std::string, long>, int>& notes() { static std::map<std::pair<std::string, long>, int> n; return n; }
uint64_t key = 0;

struct Array { std::string name; uint64_t offset, bytes; bool null, output, defined, argument, real; };

struct Request {
  Knobs knobs;
  int blocks = 1, kind = -1, trace_block = -1, batch_mode = -1;
  uint64_t limit = 0, file_bytes = 0;
  std::string entry, data, report, trace, source_dir;
  std::vector<Array> arrays;
  std::vector<uint64_t> pointers;  // words in the data file that hold offsets and become addresses
};

// One word a line decides, the rest are its values; names and paths come last on their line.
Request read_request(const char* path) {
  Request r;
  std::ifstream in(path);
  if (!in) throw std::runtime_error(std::string("cannot read ") + path);
  std::string line, word;
  auto rest = [](std::istringstream& s) { std::string t; std::getline(s >> std::ws, t); return t; };
  while (std::getline(in, line)) {
    std::istringstream s(line);
    s >> word;
    if (word == "blocks") s >> r.blocks;
    else if (word == "kind") s >> r.kind;
    else if (word == "key") s >> key;
    else if (word == "batch_mode") s >> r.batch_mode;
    else if (word == "limit") s >> r.limit;
    else if (word == "entry") r.entry = rest(s);
    else if (word == "report") r.report = rest(s);
    else if (word == "trace") r.trace = rest(s);
    else if (word == "trace_block") s >> r.trace_block;
    else if (word == "costs") cost_table().read_file(rest(s));
    else if (word == "source_dir") r.source_dir = rest(s);
    else if (word == "data") { s >> r.file_bytes; r.data = rest(s); }
    else if (word == "knob") {
      std::string name, value;
      s >> name >> value;
      if (!r.knobs.set(name, value)) throw std::runtime_error("no such knob: " + name);
    } else if (word == "array") {
      Array a{};
      s >> a.offset >> a.bytes >> a.null >> a.output >> a.defined >> a.argument >> a.real;
      a.name = rest(s);
      r.arrays.push_back(a);
    } else if (word == "pointer") {
      uint64_t at;
      s >> at;
      r.pointers.push_back(at);
    }
  }
  return r;
}

LaunchShape shape_of(int kind, int blocks) {
  // KERNEL_TYPE_ AIV_ONLY, AIC_ONLY, MIX_AIV_1_0, MIX_AIC_1_0, MIX_AIC_1_1, MIX_AIC_1_2
  static const int cubes[] = {0, 1, 0, 1, 1, 1}, vectors[] = {1, 0, 1, 0, 1, 2};
  if (kind < 0 || kind > 5) throw std::runtime_error("no such kernel type: " + std::to_string(kind));
  return {blocks, cubes[kind], vectors[kind]};
}

int kind_of(const Request& r) {
  if (r.kind >= 0) return r.kind;
  for (long k : {static_cast<long>(key), -1L}) {
    auto found = notes().find({r.entry, k});
    if (found != notes().end()) return found->second;
  }
  return 5;  // what the compiler assumes for a kernel that says nothing
}

void write_report(const Request& r, const Machine& m) {
  std::string out = "{\"findings\": [";
  bool first = true;
  for (const Finding& f : m.findings.kept()) {
    out += first ? "\n" : ",\n";
    first = false;
    out += finding_json(f);
  }
  out += "],\n\"finding_counts\": {";
  first = true;
  for (auto& [name, n] : m.findings.counts()) { out += (first ? "" : ", ") + ("\"" + json_escape(name) + "\": ") + std::to_string(n); first = false; }
  out += "},\n" + counters_json(m) + ",\n\"arrays\": {";
  first = true;
  for (auto& g : m.regions) {
    bool whole = g->is_defined(0, g->bytes);
    out += (first ? "" : ",\n") + ("\"" + json_escape(g->name) + "\": {\"bytes\": ") + std::to_string(g->bytes) + ", " + bytes_json(*g) + ", \"written\": " + (g->written ? "true" : "false") + ", \"fully_defined\": " + (whole ? "true" : "false") + "}";
    first = false;
  }
  out += "},\n\"reached\": [";
  first = true;
  for (int n = 0; n < kMostStatements; ++n)
    if (reached[n]) { out += (first ? "" : ", ") + std::to_string(n); first = false; }
  std::ofstream(r.report) << out + "]}\n";
  if (r.trace.empty()) return;
  std::FILE* file = std::fopen(r.trace.c_str(), "w");
  if (!file) throw std::runtime_error("cannot write " + r.trace);
  write_spans(file, m, r.entry.c_str());
  std::fclose(file);
}

void on_crash(int number, siginfo_t* info, void* context) {
  if (pass_division(number, info->si_code, context)) return;
  last_words(number == SIGSEGV ? fault_at(info->si_addr) : "");
  signal(number, SIG_DFL);
  raise(number);
}

// A run that is told to end says where it is.
void on_end(int) {
  last_words("");
  _exit(124);
}

void catch_crashes() {
  static uint8_t stack[65536];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO;
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(s, &action, nullptr);
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  action.sa_handler = on_end;
  sigaction(SIGTERM, &action, nullptr);
}

int launch(const Request& r) {
  load_halves();
  const Entry* found = entries().find_any(r.entry);
  if (!found) throw std::runtime_error("no kernel of that name: " + r.entry);
  int given = 0;
  for (const Array& a : r.arrays) given += a.argument;
  if (found->arguments != given) throw std::runtime_error(format("%s takes %d arguments, %d were given", r.entry.c_str(), found->arguments, given));
  if (r.limit) {
    rlimit limit{r.limit, r.limit};
    setrlimit(RLIMIT_AS, &limit);
  }
  uint8_t* base = nullptr;
  if (r.file_bytes) {
    int file = open(r.data.c_str(), O_RDWR);
    void* p = file < 0 ? MAP_FAILED : mmap(nullptr, r.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (p == MAP_FAILED) throw std::runtime_error("cannot map " + r.data);
    base = static_cast<uint8_t*>(p);
  }
  Machine m(r.knobs, shape_of(kind_of(r), r.blocks));
  m.source_dir = r.source_dir;
  m.blocks_start_together = r.batch_mode != 0;
  m.timeline.keep_spans = !r.trace.empty();
  m.timeline.only_block = r.trace_block;
  for (uint64_t at : r.pointers) {
    uint64_t offset;
    std::memcpy(&offset, base + at, 8);
    uint8_t* address = base + offset;
    std::memcpy(base + at, &address, 8);
  }
  std::vector<void*> arguments;
  for (const Array& a : r.arrays) {
    if (a.argument) arguments.push_back(a.null ? nullptr : base + a.offset);
    if (a.null) continue;
    uint64_t end = round_up(a.offset + a.bytes, 4096) + kRoom;
    m.add_region(a.name, base + a.offset, a.bytes, end - a.offset - a.bytes, a.output, a.defined)->real = a.real;
    mprotect(base + end, 4096, PROT_NONE);  // a wild pointer behind the array ends the run
  }
  // of a package: workspace and tiling data come last, and the system's part is left out of what is passed
  if (arguments.size() >= 2) m.user_workspace = static_cast<uint8_t*>(arguments[arguments.size() - 2]);
  catch_crashes();
  m.run([&] { of_running_half(entries(), r.entry).call(arguments.data()); });
  write_report(r, m);
  return 0;
}

}  // namespace

bool register_entry(const char* name, int arguments, EntryCall call) {
  entries().add(name, {arguments, call});
  return true;
}

bool note_task_type(const char* mangled, int type, long k) {
  // "Z", the length of the enclosing function's name, the name
  const char* p = *mangled == 'Z' ? mangled + 1 : mangled;
  size_t n = std::strtoul(p, const_cast<char**>(&p), 10);
  notes()[{std::string(p, n), k}] = type;
  return true;
}

uint64_t tiling_key() { return key; }

}  // namespace attnemu

int main(int count, char** values) {
  if (count != 2) return std::fprintf(stderr, "usage: %s REQUEST\n", values[0]), 2;
  try {
    return attnemu::launch(attnemu::read_request(values[1]));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "attnemu-error: the launch needs more memory than its limit\n");
    return 3;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "attnemu-error: %s\n", e.what());
    return 3;
  }
}
