#include "attnemu/machine.h"

#include "attnemu/locals.h"
#include "attnemu/report.h"
#include "attnemu/scalar.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <unordered_map>

namespace attnemu {

Machine* machine = nullptr;
Core* core = nullptr;

namespace {

constexpr size_t kPage = 4096;
constexpr uint64_t kIdleRounds = 4096;  // turns in which every core polls and no memory changes, before it is a deadlock

struct Task {
  ucontext_t context;
  uint8_t* stack = nullptr;
  size_t stack_bytes = 0;
  bool done = false;
};

struct SiteKey {
  const char* file;
  int line;
  const char* what;
  bool operator==(const SiteKey& o) const { return file == o.file && line == o.line && what == o.what; }
};
struct SiteHash {
  size_t operator()(const SiteKey& k) const {
    return reinterpret_cast<size_t>(k.file) * 31 + static_cast<size_t>(k.line) * 1000003 + reinterpret_cast<size_t>(k.what);
  }
};

}  // namespace

struct Machine::Impl {
  std::vector<Task> tasks;
  ucontext_t scheduler;
  const std::function<void()>* body = nullptr;
  std::mt19937_64 order;
  std::unordered_map<SiteKey, uint16_t, SiteHash> site_of;
  bool deadlocked = false;
};

namespace {
Machine::Impl* running = nullptr;
constexpr size_t kFilledStack = 1 << 16;  // where a core's first frames are, with the kernel's object
constexpr int kStackByte = 0x5A;          // integers of it are large and above 0

void task_main() {
  (*running->body)();
  core->ended = true;
  running->tasks[static_cast<size_t>(core->index)].done = true;
  swapcontext(&running->tasks[static_cast<size_t>(core->index)].context, &running->scheduler);
}

void prepare(Task& t, size_t stack_bytes) {
  t.stack_bytes = round_up(stack_bytes, kPage) + kPage;
  void* p = mmap(nullptr, t.stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("no memory for the stack of a core");
  t.stack = static_cast<uint8_t*>(p);
  mprotect(t.stack, kPage, PROT_NONE);  // guard page below the stack
  // a kernel's variables have no value before they are given one: not 0, as fresh pages would have it
  size_t filled = std::min(t.stack_bytes - kPage, kFilledStack);
  std::memset(t.stack + t.stack_bytes - filled, kStackByte, filled);
  getcontext(&t.context);
  t.context.uc_stack.ss_sp = t.stack + kPage;
  t.context.uc_stack.ss_size = t.stack_bytes - kPage;
  t.context.uc_link = nullptr;
  makecontext(&t.context, task_main, 0);
}

bool can_run(const Core& c, const Task& t) {
  if (c.waiting_for) return !t.done && (*c.waiting_for)();
  return !t.done && (c.waiting_id < 0 || !c.counters[static_cast<size_t>(c.waiting_id)].ready.empty());
}

// Where a core that can run goes on, in cycles.
double time_of(const Core& c) {
  double when = std::max(c.time.scalar(), c.resumes_at);
  if (c.waiting_id < 0) return when;
  const auto& ready = c.counters[static_cast<size_t>(c.waiting_id)].ready;
  return ready.empty() ? when : std::max(when, ready.front().time.at);
}

}  // namespace

Machine::Machine(const Knobs& k, const LaunchShape& s) : knobs(k), shape(s), impl_(new Impl) {
  ScalarCache::writers.clear();
  cores_ = static_cast<size_t>(s.blocks) * static_cast<size_t>(s.cubes + s.vectors);
  check_memory();
  findings.max_per_rule = k.max_per_rule;
  sites_.push_back({"", 0, ""});
  int index = 0;
  for (int b = 0; b < s.blocks; ++b) {
    for (int c = 0; c < s.cubes; ++c)
      cores.emplace_back(new Core(index++, b, 0, CoreKind::Cube, agents(), k.poison, k.saturate));
    for (int v = 0; v < s.vectors; ++v)
      cores.emplace_back(new Core(index++, b, v, CoreKind::Vector, agents(), k.poison, k.saturate));
  }
  machine = this;
}

// Clocks grow with the square of the number of cores: refuse what cannot fit rather than fill the memory with it.
void Machine::check_memory() const {
  if (!cost_table().complete()) throw std::runtime_error("a launch needs the table of costs");
  uint64_t chips = 0;
  for (int m = 1; m < kMemories; ++m) {
    auto kind = static_cast<MemoryKind>(m);
    chips += static_cast<uint64_t>(shape.blocks) * memory_bytes(kind) * static_cast<uint64_t>(kind == MemoryKind::UB ? shape.vectors : shape.cubes);
  }
  uint64_t clocks = cores_ * kPipes * agents() * sizeof(uint32_t);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  if (chips + clocks < limit.rlim_cur / 2) return;
  throw std::runtime_error(format("%d blocks of %d cores need %llu MiB of the emulator, above half of the limit of %llu", shape.blocks, shape.cubes + shape.vectors,
                                  static_cast<unsigned long long>((chips + clocks) >> 20), static_cast<unsigned long long>(limit.rlim_cur >> 20)));
}

Machine::~Machine() {
  for (Task& t : impl_->tasks) munmap(t.stack, t.stack_bytes);
  if (machine == this) machine = nullptr;
}

Memory* Machine::add_region(std::string name, uint8_t* data, uint64_t bytes, uint64_t room, bool output, bool defined) {
  auto m = std::make_unique<Memory>();
  m->attach(MemoryKind::GM, std::move(name), data, bytes, defined, room, !knobs.timing);
  m->poison_room(knobs.poison);
  m->output = output;
  Memory* out = m.get();
  auto at = std::lower_bound(regions.begin(), regions.end(), m, [](const auto& a, const auto& b) { return a->data < b->data; });
  regions.insert(at, std::move(m));
  return out;
}

uint8_t* Machine::lend(uint64_t bytes, const char* name) {
  constexpr uint64_t kAlign = 512;
  lent_.emplace_back(new uint8_t[bytes + kAlign]);
  uint8_t* data = lent_.back().get();
  data += round_up(reinterpret_cast<uint64_t>(data), kAlign) - reinterpret_cast<uint64_t>(data);
  add_region(name, data, bytes, 0, false, false);
  return data;
}

bool Machine::is_below_stack(const void* p) const {
  auto* a = static_cast<const uint8_t*>(p);
  auto index = core ? static_cast<size_t>(core->index) : impl_->tasks.size();
  if (index >= impl_->tasks.size()) return false;
  const uint8_t* stack = impl_->tasks[index].stack;
  constexpr ptrdiff_t kFrame = 64 << 20;  // one frame may reach far below
  return stack && a < stack + kPage && stack - a < kFrame;
}

Memory* Machine::find_region(const void* p) {
  auto* a = static_cast<const uint8_t*>(p);
  if (last_region_ && a >= last_region_->data && a < last_region_->data + last_region_->bytes) return last_region_;
  Memory* best = nullptr;
  for (auto& r : regions)
    if (r->data <= a) best = r.get();
  // an address up to a page behind an array still belongs to it: the range check names the array
  if (!best || a >= best->data + best->bytes + kPage) best = p ? find_constants(p) : nullptr;
  return best ? last_region_ = best : nullptr;
}

uint16_t Machine::site(const SourceLine& at, const char* what) {
  SiteKey key{at.file, at.line, what};
  auto found = impl_->site_of.find(key);
  if (found != impl_->site_of.end()) return found->second;
  if (sites_.size() >= 65535) return 0;
  auto id = static_cast<uint16_t>(sites_.size());
  sites_.push_back({at.file, at.line, what});
  impl_->site_of.emplace(key, id);
  return id;
}

std::string Machine::text(const SourceLine& at) const {
  std::string file = at.file ? at.file : "";
  if (!source_dir.empty() && file.compare(0, source_dir.size(), source_dir) == 0) file = file.substr(source_dir.size());
  if (file.compare(0, 2, "./") == 0) file = file.substr(2);
  return file + ":" + std::to_string(at.line);
}

const Instant& Machine::end() const {
  const Instant* last = &cores[0]->time.end();
  for (auto& c : cores)
    if (c->time.end().at > last->at) last = &c->time.end();
  return *last;
}

std::string Machine::text(uint16_t s) const { return text(SourceLine{sites_[s].file.c_str(), sites_[s].line}); }

void Machine::report(const char* check, const char* rule, const SourceLine& at, std::string message, const char* pipe,
                     const std::string& buffer, uint64_t address, uint64_t bytes, const std::string& other) {
  Finding f;
  f.check = check;
  f.rule = rule;
  f.message = std::move(message);
  f.core = core ? core->label() : "";
  f.pipe = pipe;
  f.buffer = buffer;
  f.source = text(at);
  f.other = other;
  f.address = address;
  f.bytes = bytes;
  f.calls = calls_in_halves();
  findings.add(std::move(f));
}

void Machine::forget_idle_kinds() {
  for (CoreKind kind : {CoreKind::Cube, CoreKind::Vector}) {
    bool idle = true;
    std::string labels = "\n";
    for (auto& c : cores) {
      if (c->kind != kind) continue;
      labels += c->label() + '\n';
      uint64_t issued = 0;
      for (uint64_t n : c->instructions) issued += n;
      idle = idle && issued == c->refused;
    }
    if (!idle) continue;
    findings.drop([&](const Finding& f) {
      return (f.rule == "event_on_wrong_core" || f.rule == "wrong_core" || f.rule == "wrong_memory") && labels.find('\n' + f.core + '\n') != std::string::npos;
    });
  }
}

void Machine::run(const std::function<void()>& body) {
  impl_->body = &body;
  impl_->order.seed(knobs.seed);
  impl_->tasks.resize(cores.size());
  running = impl_.get();
  reset_locals(cores.size());
  for (Task& t : impl_->tasks) prepare(t, knobs.stack_bytes);
  std::vector<size_t> ready;
  uint64_t idle_rounds = 0;
  while (true) {
    ready.clear();
    bool all_done = true;
    for (size_t i = 0; i < cores.size(); ++i) {
      all_done = all_done && impl_->tasks[i].done;
      if (can_run(*cores[i], impl_->tasks[i])) ready.push_back(i);
    }
    if (all_done) break;
    if (ready.empty()) { report_deadlock(); break; }
    bool only_polling = std::all_of(ready.begin(), ready.end(), [&](size_t i) { return cores[i]->yields; });
    idle_rounds = only_polling ? idle_rounds + 1 : 0;
    if (idle_rounds > kIdleRounds) { report_deadlock(); break; }
    if (!only_polling) ready.erase(std::remove_if(ready.begin(), ready.end(), [&](size_t i) { return cores[i]->yields; }), ready.end());
    size_t next = only_polling ? ready[idle_rounds % ready.size()] : next_core(ready);
    if ((stopped = knobs.most_core_cycles && stops_at(time_of(*cores[next])))) break;
    core = cores[next].get();
    core->resumes_at = 0;
    if (only_polling) core->yields = false;
    else for (auto& c : cores) c->yields = false;
    core->waiting_id = -1;
    enter_locals(next);
    swapcontext(&impl_->scheduler, &impl_->tasks[next].context);
  }
  horizon_ = kNever;
  core = nullptr;
  if (stopped) return;
  for (auto& c : cores) {
    core = c.get();
    write_back_at_end();
  }
  core = nullptr;
  if (!impl_->deadlocked && knobs.synccheck) report_left_over();
  if (!impl_->deadlocked && knobs.memcheck) report_not_restored();
}

// The core that is least far in time; which of those as good as level with it is up to the seed. It may go on until it is
// ahead of the others: also of those whose condition nobody looks at before the next turn.
size_t Machine::next_core(const std::vector<size_t>& ready) {
  double least = kNever;
  std::vector<double> when(ready.size());
  for (size_t i = 0; i < ready.size(); ++i) {
    when[i] = time_of(*cores[ready[i]]);
    least = std::min(least, when[i]);
  }
  auto level = [&](double time) { return knobs.seed ? time <= least + kAhead : time <= least; };
  auto candidates = static_cast<size_t>(std::count_if(when.begin(), when.end(), level));
  size_t chosen = ready.size(), skip = knobs.seed ? impl_->order() % candidates : 0;
  for (size_t i = 0; i < ready.size() && chosen == ready.size(); ++i)
    if (level(when[i]) && skip-- == 0) chosen = i;
  horizon_ = kNever;
  for (size_t i = 0; i < ready.size(); ++i)
    if (i != chosen) horizon_ = std::min(horizon_, when[i] + kAhead);
  for (size_t i = 0; i < cores.size(); ++i)
    if (!impl_->tasks[i].done && i != ready[chosen] && (cores[i]->waiting_for || cores[i]->yields)) horizon_ = std::min(horizon_, time_of(*cores[i]) + kAhead);
  return ready[chosen];
}

// Notes how far the cube cores are at equal distances of time, and says when the run has had its cycles; `now` is the time of the
// core that is least far.
bool Machine::stops_at(double now) {
  constexpr size_t kNotes = 32;
  const double most = static_cast<double>(knobs.most_core_cycles) / static_cast<double>(cores.size());
  while (timeline.progress.size() < kNotes && now >= most * static_cast<double>(timeline.progress.size() + 1) / kNotes) {
    timeline.progress.emplace_back();
    for (auto& c : cores)
      if (c->kind == CoreKind::Cube) timeline.progress.back().push_back({c->time.done(Pipe::M).at, c->time.busy(Pipe::M)});
    if (timeline.progress.size() == kNotes / 2) halfway = moved_json(*this);
  }
  return now >= most;
}

void Machine::awaken(double when) { horizon_ = std::min(horizon_, when + kAhead); }

void Machine::pace(double start) {
  if (start <= horizon_) return;
  Core* me = core;
  me->resumes_at = start;
  swapcontext(&impl_->tasks[static_cast<size_t>(me->index)].context, &impl_->scheduler);
}

void Machine::wait_for_counter(int id, const SourceLine& at) {
  CrossCounter& c = core->counters[static_cast<size_t>(id)];
  while (c.ready.empty()) {
    core->waiting_id = id;
    core->waiting_at = at;
    Core* me = core;
    swapcontext(&impl_->tasks[static_cast<size_t>(me->index)].context, &impl_->scheduler);
  }
}

void Machine::yield(const SourceLine& at) {
  Core* me = core;
  me->yields = true;
  me->waiting_at = at;
  swapcontext(&impl_->tasks[static_cast<size_t>(me->index)].context, &impl_->scheduler);
}

void Machine::wait_until(const std::function<bool()>& holds, std::string text, const SourceLine& at) {
  while (!holds()) {
    Core* me = core;
    me->waiting_for = &holds;
    me->waiting_text = text;
    me->waiting_at = at;
    swapcontext(&impl_->tasks[static_cast<size_t>(me->index)].context, &impl_->scheduler);
    me->waiting_for = nullptr;
  }
}

void Machine::report_deadlock() {
  impl_->deadlocked = true;
  std::string graph;
  int listed = 0;
  Core* first = nullptr;
  for (auto& c : cores) {
    if ((c->waiting_id < 0 && !c->waiting_for && !c->yields) || impl_->tasks[static_cast<size_t>(c->index)].done) continue;
    if (!first) first = c.get();
    if (++listed <= 12)
      graph += format("%s%s waits for %s at %s", listed > 1 ? "; " : "", c->label().c_str(),
                      c->yields ? "the word it polls to change" : c->waiting_for ? c->waiting_text.c_str() : format("cross-core flag %d", c->waiting_id).c_str(),
                      text(c->waiting_at).c_str());
  }
  if (listed > 12) graph += format("; and %d more", listed - 12);
  core = first;
  report("synccheck", "deadlock", first->waiting_at, "no core can go on: " + graph + ". The flags were never set by all of their group");
}

void Machine::report_left_over() {
  for (auto& c : cores) {
    core = c.get();
    for (int p = 0; p < kPipes; ++p)
      for (int q = 0; q < kPipes; ++q)
        for (int id = 0; id < kEventIds; ++id) {
          EventFlag& f = c->events.flag[p][q][id];
          if (!f.set || f.held_by_runtime) continue;
          report("synccheck", "unpaired_flag", f.set_at,
                 format("flag %s_%s id %d is still set when the kernel ends: add the missing WaitFlag",
                        name_of(static_cast<Pipe>(p)), name_of(static_cast<Pipe>(q)), id),
                 name_of(static_cast<Pipe>(p)));
        }
    c->unit_flags.report_left_over();
    for (int id = 0; id < kCounterIds; ++id) {
      CrossCounter& n = c->counters[static_cast<size_t>(id)];
      if (!n.ready.empty())
        report("synccheck", "unpaired_cross_core", n.ready.back().at,
               format("cross-core flag %d of %s is still %zu when the kernel ends: a wait is missing", id,
                      c->label().c_str(), n.ready.size()));
      for (int mode = 0; mode < 3; ++mode)
        if (!n.sent[mode].empty())
          report("synccheck", "unmatched_cross_core", n.sent[mode].back().at,
                 format("%s set cross-core flag %d in mode %d %zu time(s) more than its partners", c->label().c_str(), id,
                        mode, n.sent[mode].size()));
    }
  }
  core = nullptr;
}

void Machine::report_not_restored() {
  for (auto& c : cores) {
    core = c.get();
    if (c->reg.atomic != AtomicOp::None)
      report("memcheck", "register_not_restored", c->reg.atomic_at,
             "copies to global memory still accumulate when the kernel ends: add SetAtomicNone, or what runs next may accumulate as well");
  }
  core = nullptr;
}

}  // namespace attnemu
