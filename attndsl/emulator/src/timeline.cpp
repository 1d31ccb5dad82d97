#include "attnemu/timeline.h"

#include <algorithm>

#include "attnemu/machine.h"

namespace attnemu {

int cause_of(CoreKind kind, Pipe p) { return static_cast<int>(kind) * kPipes + static_cast<int>(p); }

void Instant::spend(double cycles, int cause) {
  at += cycles;
  spent[static_cast<size_t>(cause)] += static_cast<float>(cycles);
}

void Instant::not_before(const Instant& other) { if (other.at > at) *this = other; }

// When the next instruction of a pipe starts at the earliest.
double CoreTime::next_start(Pipe p) const { return std::max(scalar_.at, pipes_[static_cast<int>(p)].free.at); }

Timeline::Timeline()
    : l2(cost_table().rates.l2), l2_read(cost_table().rates.l2_read), hbm(cost_table().rates.hbm), cache(cost_table().rates.l2_bytes) {}

void SharedRate::grow(size_t slice) {
  while (used_.size() <= slice) {
    next_.push_back(static_cast<uint32_t>(used_.size()));
    used_.push_back(0);
  }
}

// Slices without room point to a later one; paths are shortened on the way.
size_t SharedRate::free_from(size_t slice) {
  grow(slice);
  size_t at = slice;
  while (next_[at] != at) {
    at = next_[at];
    grow(at);
  }
  while (next_[slice] != at) {
    size_t then = next_[slice];
    next_[slice] = static_cast<uint32_t>(at);
    slice = then;
  }
  return at;
}

double SharedRate::book(double start, double bytes, double rate) {
  double now = start;
  while (bytes > 1e-9) {
    size_t slice = free_from(static_cast<size_t>(now / kSlice));
    double from = std::max(now, static_cast<double>(slice) * kSlice), till = static_cast<double>(slice + 1) * kSlice;
    double left = per_cycle_ * kSlice - used_[slice], taken = std::min({bytes, left, (till - from) * std::min(rate, per_cycle_)});
    used_[slice] += taken;
    bytes -= taken;
    // the rest of the slice, or the part of it that these bytes take at their own rate; all of it where they are the last it holds
    now = bytes > 1e-9 || left - taken < 1e-6 ? std::max(from + taken / rate, till) : from + taken / rate;
    if (left - taken < 1e-6) {
      next_[slice] = static_cast<uint32_t>(slice + 1);
      grow(slice + 1);
    }
  }
  return now;
}

void CoreTime::note(const Core& c, Pipe p, const char* what, const SourceLine& at, double start, double cycles, bool waiting) {
  Timeline& t = machine->timeline;
  if (!t.keep_spans || cycles <= 0 || (t.only_block >= 0 && c.block != t.only_block)) return;
  if (t.spans.size() >= Timeline::kMostSpans) { ++t.dropped; return; }
  Span span{c.index, p, what, at, start, cycles, waiting, c.before, {}, 0};
  for (size_t i = 0; i < t.touched.size() && i < kMostTouched && !waiting; ++i) span.touched[span.touched_count++] = t.touched[i];
  t.spans.push_back(span);
}

// The scalar unit hands an instruction to a pipe: it waits while the queue is full. The time at which the pipe has it.
const Instant& CoreTime::hand_over(const Core& c, Pipe p) {
  PipeTime& t = pipe(p);
  auto depth = static_cast<uint32_t>(cost_table().rates.queue);
  if (t.issued >= depth) scalar_.not_before(t.starts[(t.issued - depth) % t.starts.size()]);
  double cycles = cost_table().of(Op::Issue).head;
  scalar_.spend(cycles, cause_of(c.kind, Pipe::S));
  pipe(Pipe::S).busy += cycles;
  return scalar_;
}

void CoreTime::work_scalar(const Core& c, double cycles, const char* what, const SourceLine& at) {
  note(c, Pipe::S, what, at, scalar_.at, cycles, false);
  scalar_.spend(cycles, cause_of(c.kind, Pipe::S));
  pipe(Pipe::S).busy += cycles;
}

// The time a pipe is taken; bytes that L2 does not have come at the rate of one core from memory.
double CoreTime::occupied(const Work& w, double per_unit, double missed) {
  const CostTable& table = cost_table();
  const Cost& cost = table.of(w.op, w.type);
  double found = std::max(w.units - missed, 0.0);
  double cycles = cost.head * w.count + found * per_unit + missed * std::max(per_unit, 1 / table.rates.miss);
  return std::max({cycles, cost.least * w.count, cost.per_row * w.rows, cost.per_piece * w.pieces}) + w.more;
}

// When the shared memories have passed an instruction's bytes, which takes until `end` where nobody else is in the way.
double CoreTime::pass(const Moved& moved, double first, double end) {
  Timeline& shared = machine->timeline;
  double alone = std::max(end - first, 1e-9), till = end;
  till = std::max(till, shared.l2.book(first, moved.bytes, moved.bytes / alone));
  if (moved.read > 0) till = std::max(till, shared.l2_read.book(first, moved.read, moved.read / alone));
  if (moved.missed > 0) till = std::max(till, shared.hbm.book(first, moved.missed, moved.missed / alone));
  // what others had written leaves the cache on its own: nobody waits, but it takes its share of the memory's rate
  if (moved.evicted > 0) shared.hbm.book(first, moved.evicted, moved.evicted / alone);
  shared.memory_read += moved.missed;
  shared.memory_written += moved.evicted;
  return till;
}

// Cycles that an instruction takes longer because its operands meet in banks of UB.
void CoreTime::note_conflict(const Work& w, double cycles, const SourceLine& at) {
  double free = occupied(w, cost_table().of(w.op, w.type).per_unit, 0);
  if (cycles > free + 1e-6) machine->timeline.conflicts[{at.file, at.line}] += cycles - free;
}

void CoreTime::execute(const Core& c, Pipe p, const Work& w, const Moved& moved, const char* what, const SourceLine& at, UnitTurn* turn) {
  const Cost& cost = cost_table().of(w.op, w.type);
  double per_unit = std::max(cost.per_unit, w.at_least), cycles = occupied(w, per_unit, 0);
  if (p == Pipe::S) return work_scalar(c, cycles, what, at);
  if (w.at_least > cost.per_unit) note_conflict(w, cycles, at);
  const Instant& handed = hand_over(c, p);
  PipeTime& t = pipe(p);
  t.free.not_before(handed);
  if (turn) wait_in_queue(c, p, turn->first(), "unit flag", at);
  int cause = cause_of(c.kind, p);
  double start = t.free.at;
  t.starts[t.issued++ % t.starts.size()] = t.free;
  if (turn) {
    double head = std::min(cost.head + w.more, cycles);
    t.free = turn->go(t.free, head, cycles - head, cause);
  } else {
    // the steps of one call wait for each other's results
    t.free.spend(cycles + cost.latency * (w.count - 1), cause);
  }
  const double alone = t.free.at;
  // counters of a device leave out what a pipe waits inside an instruction (DEVKIT: products beside write-backs of either length)
  double held = turn ? alone - start - cycles : 0;
  if (moved.bytes > 0) {
    double slower = moved.missed > 0 ? occupied(w, per_unit, moved.missed) - cycles : 0;
    // lines are placed while the bytes are on their way
    slower = std::max(slower, moved.placed / cost_table().rates.miss_write - cost.latency - cycles);
    double end = pass(moved, start + cost.head, t.free.at + std::max(slower - held, 0.0));
    if (end > t.free.at) t.free.spend(end - t.free.at, kMemoryCause);
    held = std::max(held - std::max(slower, 0.0), 0.0);  // bytes were on their way meanwhile
  }
  if (turn) turn->leave(t.free.at - alone, kMemoryCause, cost.latency, cause);
  Instant done = t.free;
  done.spend(cost.latency, cause);
  t.done.not_before(done);
  t.active += std::max(done.at - std::max(start, t.active_till) - held, 0.0);
  t.active_till = std::max(t.active_till, done.at);
  t.busy += t.free.at - start - held;
  note(c, p, what, at, start, t.free.at - start, false);
}

Instant CoreTime::set_flag(const Core& c, Pipe p) {
  double cycles = cost_table().of(Op::SetFlag).head;
  if (p == Pipe::S) {
    scalar_.spend(cycles, cause_of(c.kind, p));
    pipe(p).busy += cycles;
    return scalar_;
  }
  const Instant& handed = hand_over(c, p);
  PipeTime& t = pipe(p);
  t.free.not_before(handed);
  t.free.spend(cycles, cause_of(c.kind, p));
  t.done.not_before(t.free);
  return t.done;
}

void CoreTime::wait_flag(const Core& c, Pipe p, const Instant& fires, const SourceLine& at) {
  if (p == Pipe::S) return wait_until(c, fires, Op::WaitFlag, "flag", at);
  hold(c, p, fires, Op::WaitFlag, "flag", at);
}

// The instruction at the head of a pipe's queue waits for something that comes at `when`.
void CoreTime::wait_in_queue(const Core& c, Pipe p, const Instant& when, const char* what, const SourceLine& at) {
  PipeTime& t = pipe(p);
  if (when.at <= t.free.at) return;
  note(c, p, what, at, t.free.at, when.at - t.free.at, true);
  t.free = when;
}

// A pipe waits for something that comes at `when`, and then works for `op`.
void CoreTime::hold(const Core& c, Pipe p, const Instant& when, Op op, const char* what, const SourceLine& at) {
  const Instant& handed = hand_over(c, p);
  PipeTime& t = pipe(p);
  t.free.not_before(handed);
  wait_in_queue(c, p, when, what, at);
  t.free.spend(cost_table().of(op).head, cause_of(c.kind, p));
  t.done.not_before(t.free);
}

void CoreTime::barrier(const Core& c, Pipe p, const SourceLine& at) {
  if (p != Pipe::S) hold(c, p, Instant(pipe(p).done), Op::Barrier, "barrier", at);
}

const Instant& CoreTime::end() const {
  const Instant* end = &scalar_;
  for (const PipeTime& t : pipes_)
    if (t.done.at > end->at) end = &t.done;
  return *end;
}

void CoreTime::barrier_all(const Core& c, const SourceLine& at) {
  wait_until(c, Instant(end()), Op::Barrier, "barrier", at);
  for (PipeTime& t : pipes_) t.free = t.done = scalar_;
}

Instant CoreTime::cross_core_set(const Core& c, Pipe p) {
  const Cost& cost = cost_table().of(Op::CrossCoreSet);
  const Instant& handed = hand_over(c, p);
  PipeTime& t = pipe(p);
  t.free.not_before(handed);
  t.free.spend(cost.head, cause_of(c.kind, p));
  t.done.not_before(t.free);
  Instant arrives = t.done;
  arrives.spend(cost.latency, kFlagsCause);
  return arrives;
}

void CoreTime::wait_until(const Core& c, const Instant& when, Op op, const char* what, const SourceLine& at) {
  if (when.at > scalar_.at) {
    note(c, Pipe::S, what, at, scalar_.at, when.at - scalar_.at, true);
    scalar_ = when;
  }
  double cycles = cost_table().of(op).head;
  scalar_.spend(cycles, cause_of(c.kind, Pipe::S));
  pipe(Pipe::S).busy += cycles;
}

}  // namespace attnemu
