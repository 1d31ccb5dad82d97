#include "attnemu/instruction.h"

#include "attnemu/race_access.h"
#include "attnemu/scalar.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace attnemu {
namespace {

// Scratch of the instruction being checked; instructions do not nest and cores switch only between them.
std::vector<Hazard> hazards;

// Stores to global memory that another core cleared, with nothing in between: no hazard where they leave it clear, as when every
// core clears an accumulator or the workspace of SyncAll (documentation). Known when the instruction has taken effect.
struct Clearing {
  const Memory* memory;
  uint64_t first, last;  // blocks
  const char* rule;
  std::string message, other;
};
std::vector<Clearing> clearings;

bool is_clear(const Memory& m, uint64_t first, uint64_t last) {
  uint64_t end = std::min((last + 1) * kBlock, m.bytes);
  return std::all_of(m.data + first * kBlock, m.data + end, [](uint8_t byte) { return byte == 0; });
}

}  // namespace

Instruction::~Instruction() {
  for (const Clearing& c : clearings)
    if (!is_clear(*c.memory, c.first, c.last))
      machine->report("racecheck", c.rule, at_, c.message, name_of(pipe_), c.memory->name, c.first * kBlock, (c.last - c.first + 1) * kBlock, c.other);
  clearings.clear();
}

Instruction::Instruction(Pipe pipe, const char* what, const SourceLine& at, uint8_t traits)
    : pipe_(pipe), what_(what), at_(at), traits_(traits) {
  if (pipe == Pipe::MTE2 || pipe == Pipe::MTE3 || pipe == Pipe::FIX) machine->pace(core->time.next_start(pipe));
  core->came_to(at);
  operands().clear();
  if (core->has(pipe)) return;
  valid_ = false;
  if (machine->knobs.strict_core && machine->knobs.memcheck)
    machine->report("memcheck", "wrong_core", at,
                    format("%s: %s has no pipe %s; guard the call by the core kind", what, core->label().c_str(), name_of(pipe)),
                    name_of(pipe));
}

std::vector<Instruction::Operand>& Instruction::operands() {
  static std::vector<Operand> pool;
  return pool;
}

void Instruction::add(const Place& p, const Extent& e, AccessKind kind) {
  if (e.empty()) return;
  Memory* m = p.memory;
  if (!m) { require(false, "wrong_memory", "an operand has no memory, or one that %s does not have", core->label().c_str()); return; }
  if (kind != AccessKind::Read && m->constant) { require(false, "constant_memory", "writes a table that the program defines as constant"); return; }
  operands().push_back({m, p.buffer, e, {}, false, kind});
}

void Instruction::add(const Place& p, const LaneExtent& e, AccessKind kind) {
  if (e.repeats == 0) return;
  Memory* m = p.memory;
  if (!m) { require(false, "wrong_memory", "an operand has no memory, or one that %s does not have", core->label().c_str()); return; }
  operands().push_back({m, p.buffer, {}, e, true, kind});
}

void Instruction::by_unit_flags(uint32_t mode, const std::vector<Extent>& columns, bool rows_first) {
  if (!UnitFlags::used_by(mode)) return;
  UnitFlags::Fractals fractals;
  for (const Extent& each : columns) UnitFlags::list(each, rows_first, fractals);
  turn_ = UnitTurn(core->unit_flags, mode, std::move(fractals));
}

bool Instruction::require(bool holds, const char* rule, const char* pattern, ...) {
  if (holds) return true;
  char text[512];
  va_list args;
  va_start(args, pattern);
  std::vsnprintf(text, sizeof text, pattern, args);
  va_end(args);
  valid_ = false;
  if (machine->knobs.memcheck)
    machine->report("memcheck", rule, at_, std::string(what_) + ": " + text, name_of(pipe_));
  return false;
}

void Instruction::doubt(const char* rule, const char* pattern, ...) {
  char text[512];
  va_list args;
  va_start(args, pattern);
  std::vsnprintf(text, sizeof text, pattern, args);
  va_end(args);
  if (machine->knobs.memcheck) machine->report("memcheck", rule, at_, std::string(what_) + ": " + text, name_of(pipe_));
}

bool Instruction::aligned(const Place& p, uint32_t to, const char* operand) {
  if (!p.memory || p.at % to == 0) return true;
  return require(false, "misaligned", "%s is at byte %llu of %s, which must be a multiple of %u", operand,
                 static_cast<unsigned long long>(p.at), p.memory->name.c_str(), to);
}

// What lies there belongs to another buffer, or to nobody yet: the values are right only as long as that stays so.
void Instruction::report_outside(const Operand& o, uint64_t from, uint64_t end) {
  if (!machine->knobs.memcheck) return;
  machine->report("memcheck", "outside_buffer", at_,
                  format("%s %s bytes [%llu, %llu) of %s, but ", what_, o.kind == AccessKind::Read ? "reads" : "writes",
                         static_cast<unsigned long long>(from), static_cast<unsigned long long>(end), o.memory->name.c_str()) +
                      (o.buffer.from == o.buffer.end ? "the tensor was given no buffer"
                                                     : format("the tensor's buffer is [%llu, %llu)", static_cast<unsigned long long>(o.buffer.from), static_cast<unsigned long long>(o.buffer.end))),
                  name_of(pipe_), o.memory->name, from, end - from);
}

bool Instruction::in_range(const Operand& o) {
  uint64_t end = o.is_lanes ? o.lanes.end() : o.extent.end();
  uint64_t from = o.is_lanes ? o.lanes.at : o.extent.at;
  if (end <= o.memory->bytes) {
    if (!o.buffer.has(from, end)) report_outside(o, from, end);
    return true;
  }
  if (machine->knobs.memcheck)
    machine->report("memcheck", "out_of_range", at_,
                    format("%s %s bytes [%llu, %llu) of %s, which has %llu", what_, o.kind == AccessKind::Read ? "reads" : "writes",
                           static_cast<unsigned long long>(from), static_cast<unsigned long long>(end), o.memory->name.c_str(),
                           static_cast<unsigned long long>(o.memory->bytes)),
                    name_of(pipe_), o.memory->name, from, end - from);
  // a little behind an array something lies on the device as well: it is not the array's, and nobody knows what it is
  if (end <= o.memory->bytes + o.memory->room) return true;
  valid_ = false;
  return false;
}

void Instruction::note_scratch(const Operand& o) {
  if (o.memory->kind != MemoryKind::UB) return;
  uint64_t end = o.is_lanes ? o.lanes.end() : o.extent.end();
  if (end > kSelectScratch && !core->scratch_data.file) core->scratch_data = at_;
}

void Instruction::track(const Operand& o, const Epoch& e) {
  RaceShadow& shadow = o.memory->race;
  if (o.is_lanes)
    return for_each_run(o.lanes, [&](uint64_t block, uint64_t count, uint32_t mask) {
      if (mask == kAllBytes) shadow.access_blocks(block, count, o.kind, e, hazards);
      else shadow.access(block, mask, o.kind, e, hazards);
    });
  for_each_run(o.extent, [&](uint64_t block, uint64_t count, uint32_t mask) {
    if (mask == kAllBytes) shadow.access_blocks(block, count, o.kind, e, hazards);
    else shadow.access(block, mask, o.kind, e, hazards);
  });
}

void Instruction::report_hazards(const Memory& m) {
  for (size_t i = 0; i < hazards.size();) {
    const Hazard& h = hazards[i];
    uint64_t first = h.block, last = h.block;
    size_t j = i + 1;
    while (j < hazards.size() && hazards[j].earlier.site == h.earlier.site && hazards[j].earlier.agent == h.earlier.agent &&
           hazards[j].kind == h.kind && hazards[j].earlier.kind == h.earlier.kind) {
      first = hazards[j].block < first ? hazards[j].block : first;
      last = hazards[j].block > last ? hazards[j].block : last;
      ++j;
    }
    bool was_read = h.earlier.kind == AccessKind::Read, is_read = h.kind == AccessKind::Read;
    const char* rule = is_read ? "read_after_write" : was_read ? "write_after_read" : "write_after_write";
    const Core& other = *machine->cores[h.earlier.agent / kPipes];
    Pipe other_pipe = static_cast<Pipe>(h.earlier.agent % kPipes);
    bool same_line = &other != core && !was_read && !is_read && machine->text(h.earlier.site) == machine->text(at_);
    const char* advice = same_line ? "the cores' ranges overlap: give each its own, or order them by a cross-core flag"
                         : &other != core ? "order the two cores by a cross-core flag"
                         : other_pipe == pipe_ ? "put a PipeBarrier of that pipe between them"
                                               : "order the two pipes by a flag";
    Clearing found{&m, first, last, rule,
                   format("%s on pipe %s %s bytes [%llu, %llu) of %s that %s on pipe %s of %s (%s) %s without anything in between: %s",
                           what_, name_of(pipe_), is_read ? "reads" : "writes", static_cast<unsigned long long>(first * kBlock),
                           static_cast<unsigned long long>((last + 1) * kBlock), m.name.c_str(), machine->what(h.earlier.site),
                           name_of(other_pipe), other.label().c_str(), machine->text(h.earlier.site).c_str(),
                           was_read ? "reads" : "wrote", advice),
                   machine->text(h.earlier.site)};
    bool stores = h.kind == AccessKind::Write && h.earlier.kind == AccessKind::Write;
    bool clears = stores && m.kind == MemoryKind::GM && &other != core && is_clear(m, first, last);
    if (clears) clearings.push_back(std::move(found));
    else machine->report("racecheck", rule, at_, found.message, name_of(pipe_), m.name, first * kBlock, (last - first + 1) * kBlock, found.other);
    i = j;
  }
}

void Instruction::refuse() {
  core->issue(pipe_, machine->knobs.auto_sync);
  ++core->refused;
  ++core->instructions[static_cast<size_t>(pipe_)];
  core->time.refuse(*core, pipe_);
}

// The time of the barrier that the compiler puts before an instruction that needs, or replaces, the result of one that may
// not be complete.
void Instruction::order_by_compiler() {
  constexpr size_t kMostOpen = 32;  // older results have long been complete
  auto& open = core->open_results;
  auto range = [](const Operand& o) { return o.is_lanes ? LocalRange{o.lanes.at, o.lanes.end()} : LocalRange{o.extent.at, o.extent.end()}; };
  bool needed = false;
  for (const Operand& o : operands()) {
    LocalRange mine = range(o);
    for (const LocalRange& result : open) needed = needed || (o.memory->kind == MemoryKind::UB && mine.from < result.end && result.from < mine.end);
  }
  if (needed) {
    core->time.barrier(*core, Pipe::V, at_);
    open.clear();
  }
  for (const Operand& o : operands())
    if (o.kind != AccessKind::Read && o.memory->kind == MemoryKind::UB) open.push_back(range(o));
  while (open.size() > kMostOpen) open.pop_front();
}

void Instruction::count_global(const Operand& o, CoreTime::Moved& moved) {
  uint64_t bytes = o.extent.run * o.extent.inner * o.extent.outer;
  bool reads = o.kind == AccessKind::Read;
  (reads ? o.memory->read_bytes : o.memory->write_bytes) += bytes;
  moved.bytes += static_cast<double>(bytes) * (o.kind == AccessKind::Atomic ? cost_table().rates.atomic : 1);
  SharedCache& cache = machine->timeline.cache;
  bool passes_by = reads && o.memory->passes_by;
  uint64_t lines = passes_by ? cache.look(o.memory->cached, o.extent) : cache.use(o.memory->cached, o.extent, !reads);
  double missing = static_cast<double>(lines * kLine);
  if (reads) {
    moved.read += static_cast<double>(bytes);
    moved.missed += missing;
    if (pipe_ != Pipe::S) o.memory->fetched_bytes += static_cast<uint64_t>(missing);
  }
  if (!reads) moved.placed += missing;
  moved.evicted += static_cast<double>(cache.take_evicted() * kLine);
  if (!reads) o.memory->written = true;
  else if (ScalarCache::dirty_lines) check_written_back(*this, *o.memory, o.extent);
}

bool Instruction::admit(const Work& work) {
  auto& list = operands();
  if (valid_)
    for (const Operand& o : list) in_range(o);
  if (!valid_) {
    refuse();
    return false;
  }
  if (turn_) core->unit_flags.come(pipe_, turn_.fractals(), what_, at_);
  if (machine->knobs.timing) {
    take_time(work);
    bool real = is_real();
    note_real(real);
    return real;
  }
  uint32_t count = core->issue(pipe_, machine->knobs.auto_sync);
  ++core->instructions[static_cast<size_t>(pipe_)];
  CoreTime::Moved moved;
  Epoch e{count, core->agent(pipe_), machine->site(at_, what_), &core->pipe(pipe_).clock, traits_};
  // reads first: an instruction that writes what it reads is not its own hazard
  for (int pass = 0; pass < 2; ++pass)
    for (const Operand& o : list) {
      if ((o.kind == AccessKind::Read) != (pass == 0)) continue;
      note_scratch(o);
      if (machine->knobs.racecheck) {
        hazards.clear();
        track(o, e);
        if (!hazards.empty()) report_hazards(*o.memory);
      }
      if (o.memory->kind == MemoryKind::GM) count_global(o, moved);
    }
  execute(work, moved);
  return true;
}

// What the timeline takes of it.
void Instruction::execute(const Work& work, const CoreTime::Moved& moved) {
  if (pipe_ == Pipe::V && machine->knobs.auto_sync) order_by_compiler();
  note_touched();
  core->time.execute(*core, pipe_, work, moved, what_, at_, turn_ ? &turn_ : nullptr);
  machine->timeline.touched.clear();
  if (turn_) core->unit_flags.leave(pipe_, turn_.mode(), turn_.fractals(), at_);
}

// For a recorded timeline: where the operands on chip begin.
void Instruction::note_touched() {
  Timeline& t = machine->timeline;
  if (!t.keep_spans) return;
  for (const Operand& o : operands())
    if (o.memory->kind != MemoryKind::GM)
      t.touched.push_back({o.memory->kind, o.kind != AccessKind::Read, static_cast<uint32_t>(o.is_lanes ? o.lanes.at : o.extent.at)});
}

// Without its data: only what the timeline needs.
void Instruction::take_time(const Work& work) {
  ++core->instructions[static_cast<size_t>(pipe_)];
  CoreTime::Moved moved;
  for (const Operand& o : operands())
    if (o.memory->kind == MemoryKind::GM) count_global(o, moved);
  execute(work, moved);
}

// Where only time is followed: the scalar unit's own work takes effect, copies of what it wrote or may read, and
// vector instructions whose operands are all made of that.
bool Instruction::is_real() const {
  if (pipe_ == Pipe::S) return true;
  if (pipe_ == Pipe::V) {
    for (const Operand& o : operands()) {
      bool real = true;
      auto look = [&](uint64_t first, uint64_t n, uint32_t) { real = real && core->real_blocks.has_all(first, n); };
      if (o.kind != AccessKind::Read) continue;
      if (o.memory->kind != MemoryKind::UB) return false;
      o.is_lanes ? for_each_run(o.lanes, look) : for_each_run(o.extent, look);
      if (!real) return false;
    }
    return true;
  }
  if (pipe_ != Pipe::MTE2 && pipe_ != Pipe::MTE3) return false;
  for (const Operand& o : operands()) {
    if (o.kind != AccessKind::Read || o.is_lanes) continue;
    if (o.memory->kind == MemoryKind::GM && o.memory->real) return true;
    if (o.memory->kind != MemoryKind::UB) continue;
    uint64_t first = o.extent.at / kBlock;
    if (core->real_blocks.has_any(first, ceil_div(o.extent.end(), kBlock) - first)) return true;
  }
  return false;
}

// What an instruction leaves in UB is real data, or none.
void Instruction::note_real(bool real) const {
  if (core->real_blocks.empty()) return;
  auto note = [&](uint64_t first, uint64_t n, uint32_t) { core->real_blocks.put(first, n, real); };
  for (const Operand& o : operands()) {
    if (o.kind == AccessKind::Read || o.memory->kind != MemoryKind::UB) continue;
    o.is_lanes ? for_each_run(o.lanes, note) : for_each_run(o.extent, note);
  }
}

void Instruction::undefined_reaches(const char* sink, const Memory* from, uint64_t address, uint64_t bytes) {
  if (!machine->knobs.initcheck || machine->knobs.timing) return;
  machine->report("initcheck", "undefined_value", at_,
                  format("%s: bytes [%llu, %llu) of %s were never written and reach %s", what_, static_cast<unsigned long long>(address),
                         static_cast<unsigned long long>(address + bytes), from ? from->name.c_str() : "?", sink),
                  name_of(pipe_), from ? from->name : "", address, bytes);
}

}  // namespace attnemu
