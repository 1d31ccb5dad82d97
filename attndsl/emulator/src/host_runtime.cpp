// Kernel launches of a host program, and the lines of its report: findings and counters, written as they come.
#include "host_runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "attnemu/halt.h"
#include "attnemu/harness.h"
#include "attnemu/host.h"
#include "attnemu/report.h"

namespace attnemu {
namespace {

struct Entry { int arguments; EntryCall call; };
template <class K, class V>
using Table = std::map<K, V>;
ByHalf<Entry>& entries() { static ByHalf<Entry> t; return t; }
Table<std::string, int>& noted_types() { static Table<std::string, int> t; return t; }
Cores& chosen_cores() { static Cores c = Cores::AsKernelsSay; return c; }
Table<std::string, int>& noted_kinds() { static Table<std::string, int> t; return t; }
Table<std::string, int>& guessed_kinds() { static Table<std::string, int> t; return t; }

constexpr uint32_t kMostBlocks = 65535;

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Knobs knobs_of_environment() {
  Knobs k;
  std::istringstream in(setting("ATTNEMU_KNOBS"));
  std::string name, value;
  while (in >> name >> value)
    if (!k.set(name, value)) throw std::runtime_error("no such knob: " + name);
  return k;
}

FILE* report_file() {
  static FILE* file = *setting("ATTNEMU_REPORT") ? std::fopen(setting("ATTNEMU_REPORT"), "a") : nullptr;
  return file;
}

void write_line(const std::string& text) {
  FILE* file = report_file();
  if (!file) return;
  std::fputs((text + "\n").c_str(), file);
  std::fflush(file);
}

// Findings of all launches: what one launch reported is not repeated by the next.
Findings& all_findings() { static Findings f; return f; }

void keep(const Finding& f) {
  Findings& all = all_findings();
  all.max_per_rule = knobs().max_per_rule;
  size_t before = all.kept().size();
  all.add(f);
  if (all.kept().size() != before) write_line("{\"finding\": " + finding_json(f) + "}");
}

LaunchShape shape_of(const char* name, uint32_t blocks) {
  static const int cubes[] = {0, 1, 0, 1, 1, 1}, vectors[] = {1, 0, 1, 0, 1, 2};
  int kind = 5;
  auto type = noted_types().find(name);
  if (type != noted_types().end()) kind = type->second;
  else if (noted_kinds().count(name)) kind = noted_kinds()[name];
  else if (chosen_cores() != Cores::AsKernelsSay) kind = chosen_cores() == Cores::Vector ? 0 : 1;
  else if (guessed_kinds().count(name)) kind = guessed_kinds()[name];
  return {static_cast<int>(blocks), cubes[kind], vectors[kind]};
}

bool kind_is_told(const char* name) { return noted_types().count(name) || noted_kinds().count(name) || chosen_cores() != Cores::AsKernelsSay; }

void lend_memory(Machine& m) {
  for (auto& a : allocations()) {
    open_to_host(*a);
    constexpr uint64_t kSteering = 1 << 20;  // bytes of an array whose values count where only time is followed
    Memory* region = m.add_region(a->name, a->data, a->bytes, a->mapped - a->bytes, false, false);
    region->real = a->bytes <= kSteering;
    if (knobs().timing) continue;
    region->defined.swap(a->shadow.defined);
    region->partly_defined.swap(a->shadow.partly_defined);
    region->set_defined(region->bytes, region->room, false);
    if (a->shared) region->set_defined(0, region->bytes, true);
  }
}

void note_tainted(const Machine& m, const Memory& region, Allocation& a) {
  for (uint64_t b = 0; b * kBlock < region.bytes; ++b) {
    uint16_t site = 0;
    uint32_t mask = region.defined[b] == kAllBytes ? 0 : region.race.written(b, site) & ~region.defined[b];
    if (mask) a.tainted[b] = {mask, m.text(site)};
  }
}

void take_memory_back(Machine& m, void* stream) {
  for (auto& a : allocations()) {
    for (auto& region : m.regions) {
      if (region->data != a->data) continue;
      if (!knobs().timing) {
        if (region->written) note_tainted(m, *region, *a);
        region->defined.swap(a->shadow.defined);
        region->partly_defined.swap(a->shadow.partly_defined);
      }
      a->shadow.read_bytes += region->read_bytes;
      a->shadow.write_bytes += region->write_bytes;
      if (region->written) a->pending_write = true;
      if (region->written || region->read_bytes) a->pending_stream = stream;
    }
    close_to_host(*a);
  }
}

void write_counters(const char* name, const Machine& m) {
  std::string out = std::string("{\"launch\": {\"kernel\": \"") + json_escape(name) + "\", " + counters_json(m) + ", \"arrays\": {";
  bool first = true;
  for (auto& r : m.regions) {
    out += (first ? "\"" : ", \"") + json_escape(r->name) + "\": [" + std::to_string(r->read_bytes) + ", " + std::to_string(r->write_bytes) + "]";
    first = false;
  }
  write_line(out + "}}}");
}

double cycles_of_launches = 0;

// The device of one launch; a launch that cannot be made ends the program with the reason.
std::unique_ptr<Machine> device_for(const char* name, uint32_t blocks) {
  try {
    if (!cost_table().complete()) cost_table().read_file(setting("ATTNEMU_COSTS"));
    return std::make_unique<Machine>(knobs(), shape_of(name, blocks));
  } catch (const std::runtime_error& e) {
    std::fprintf(stderr, "attnemu-error: launch of %s: %s\n", name, e.what());
    std::exit(3);
  }
}

// Traces of all launches follow each other in one file.
void add_trace(const char* name, const Machine& m) {
  if (!m.timeline.keep_spans) return;
  std::FILE* file = std::fopen(setting("ATTNEMU_TRACE"), "a");
  if (!file) return;
  write_spans(file, m, name);
  std::fclose(file);
}

}  // namespace

const Knobs& knobs() {
  static const Knobs k = knobs_of_environment();
  return k;
}

void save_copy_to_host(const void* bytes, uint64_t count) {
  static int copies = 0;
  if (!*setting("ATTNEMU_COPIES")) return;
  std::string path = format("%s/%03d.bin", setting("ATTNEMU_COPIES"), copies++);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool written = file && std::fwrite(bytes, 1, count, file) == count;
  if (file) written = std::fclose(file) == 0 && written;
  if (!written) {
    std::fprintf(stderr, "attnemu-error: cannot write %s\n", path.c_str());
    std::exit(3);
  }
}

BlockNumberOfCore::operator int64_t() const { return core ? core->block : 0; }
BlocksOfLaunch::operator int64_t() const { return core ? machine->shape.blocks : 0; }

bool check_enabled(const char* check) {
  if (!std::strcmp(check, "memcheck")) return knobs().memcheck;
  if (knobs().timing) return false;
  if (!std::strcmp(check, "initcheck")) return knobs().initcheck;
  return knobs().racecheck;
}

void report_host(const char* check, const char* rule, const SourceLine& at, std::string message, const std::string& buffer,
                 uint64_t address, uint64_t bytes, const std::string& kernel_source) {
  if (!check_enabled(check)) return;
  Finding f;
  f.check = check;
  f.rule = rule;
  f.message = std::move(message);
  f.core = "host";
  f.buffer = buffer;
  if (at.file) f.source = std::string(at.file) + ":" + std::to_string(at.line);
  std::string folder = setting("ATTNEMU_SOURCE_DIR");
  if (!folder.empty() && f.source.compare(0, folder.size(), folder) == 0) f.source = f.source.substr(folder.size());
  if (!kernel_source.empty()) {
    f.other = f.source;
    f.source = kernel_source;
  }
  f.address = address;
  f.bytes = bytes;
  keep(f);
}

void keep_findings_of_launch() {
  if (!machine) return;
  for (const Finding& f : machine->findings.kept()) keep(f);
}

double device_cycles() { return cycles_of_launches; }

void launch_kernel(const char* name, uint32_t blocks, void* stream, const std::function<void()>& body, const SourceLine& at) {
  if (blocks == 0 || blocks > kMostBlocks) {
    report_host("memcheck", "illegal_blocks", at, format("%s is launched on %u blocks; 1 to %u are possible", name, blocks, kMostBlocks), "");
    return;
  }
  load_halves();
  keep_before_halt = keep_findings_of_launch;
  std::unique_ptr<Machine> made = device_for(name, blocks);
  Machine& m = *made;
  m.timeline.keep_spans = *setting("ATTNEMU_TRACE") != 0;
  m.source_dir = setting("ATTNEMU_SOURCE_DIR");
  lend_memory(m);
  m.run(body);
  if (!kind_is_told(name)) m.forget_idle_kinds();
  cycles_of_launches += m.end().at;
  keep_findings_of_launch();
  write_counters(name, m);
  add_trace(name, m);
  take_memory_back(m, stream);
}

void launch_entry(const char* name, uint32_t blocks, void* stream, void* const* arguments, int count, const SourceLine& at) {
  load_halves();
  const Entry* found = entries().find_any(name);
  if (!found || found->arguments != count) {
    std::fprintf(stderr, "attnemu-error: %s takes %d arguments, %d were given\n", name, found ? found->arguments : 0, count);
    std::exit(3);
  }
  launch_kernel(name, blocks, stream, [&] { of_running_half(entries(), name).call(arguments); }, at);
}

bool register_entry(const char* name, int arguments, EntryCall call) {
  entries().add(name, {arguments, call});
  return true;
}

void choose_cores(Cores cores) { chosen_cores() = cores; }

bool note_kernel_kind(const char* name, int kind, bool guessed) {
  (guessed ? guessed_kinds() : noted_kinds())[name] = kind;
  return true;
}

bool note_task_type(const char* mangled, int type, long key) {
  if (key > 0) return false;  // a host program launches without tiling keys
  // "Z", "N" when in a namespace, then each name behind its length; the kernel's own is the last of them
  const char* p = *mangled == 'Z' ? mangled + 1 : mangled;
  if (*p == 'N') ++p;
  std::string name;
  while (*p >= '0' && *p <= '9') {
    size_t n = std::strtoul(p, const_cast<char**>(&p), 10);
    name.assign(p, n);
    p += n;
  }
  noted_types()[name] = type;
  return true;
}

namespace {
uint64_t key_of_launches = 0;
}
void set_tiling_key(uint64_t key) { key_of_launches = key; }
uint64_t tiling_key() { return key_of_launches; }

}  // namespace attnemu
