#include "attnemu/core.h"

#include "attnemu/findings.h"

namespace attnemu {

VectorClock::VectorClock(size_t agents) : of_(agents, 0) {}

Core::Core(int index_, int block_, int sub_, CoreKind kind_, size_t agents, uint32_t poison, bool saturate)
    : index(index_), block(block_), sub(sub_), kind(kind_), ordered_(agents != 0) {
  for (PipeState& p : pipes) p.clock = VectorClock(agents);
  reg.saturate = saturate;
  for (int m = 1; m < kMemories; ++m) {
    auto kind_of = static_cast<MemoryKind>(m);
    if (!has(kind_of)) continue;
    uint32_t n = memory_bytes(kind_of);
    storage_.emplace_back(new uint8_t[n]);
    auto* words = reinterpret_cast<uint16_t*>(storage_.back().get());
    for (uint32_t i = 0; i < n / 2; ++i) words[i] = static_cast<uint16_t>(poison);
    memories_[m].attach(kind_of, name_of(kind_of), storage_.back().get(), n, false, 0, ordered_);
    if (ordered_ || kind_of != MemoryKind::UB) continue;
    // where only time is followed: instructions on real data find it defined
    real_blocks.resize(n / kBlock);
    memories_[m].defined.assign(n / kBlock + 1, kAllBytes);
  }
}

bool Core::has(Pipe p) const {
  switch (p) {
    case Pipe::S: case Pipe::MTE2: case Pipe::MTE3: return true;
    case Pipe::V: return kind == CoreKind::Vector;
    default: return kind == CoreKind::Cube;
  }
}

bool Core::has(MemoryKind m) const {
  if (m == MemoryKind::GM) return false;
  return (m == MemoryKind::UB) == (kind == CoreKind::Vector);
}

Memory* Core::memory(MemoryKind m) { return has(m) ? &memories_[static_cast<int>(m)] : nullptr; }

std::string Core::label() const {
  if (kind == CoreKind::Cube) return format("block %d AIC", block);
  return format("block %d AIV%d", block, sub);
}

uint32_t Core::issue(Pipe p, bool auto_sync) {
  PipeState& s = pipe(p);
  if (!ordered_) return ++s.issued;
  if (p != Pipe::S && s.scalar_version != scalar_version) {
    // issued after everything the scalar unit waited for; the scalar unit's own writes need an event
    uint32_t own = s.clock[agent(Pipe::S)];
    s.clock.join(pipe(Pipe::S).clock);
    s.clock[agent(Pipe::S)] = own;
    s.scalar_version = scalar_version;
  }
  if (auto_sync && kind == CoreKind::Vector) {
    if (p == Pipe::V || p == Pipe::S) s.clock[agent(Pipe::V)] = pipe(Pipe::V).issued;
    if (p == Pipe::S) for (Pipe other : {Pipe::MTE2, Pipe::MTE3}) s.clock[agent(other)] = pipe(other).issued;
    else s.clock[agent(Pipe::S)] = pipe(Pipe::S).issued;
  }
  ++s.issued;
  if (p == Pipe::S) s.clock[agent(p)] = s.issued;  // the scalar unit finishes one before the next
  return s.issued;
}

VectorClock Core::snapshot(Pipe p) {
  if (!ordered_) return {};
  VectorClock c = pipe(p).clock;
  c[agent(p)] = pipe(p).issued;
  return c;
}

void Core::join(Pipe p, const VectorClock& c) {
  pipe(p).clock.join(c);
  if (p == Pipe::S) ++scalar_version;
}

void Core::barrier(Pipe p) {
  if (ordered_) pipe(p).clock[agent(p)] = pipe(p).issued;
}

void Core::barrier_all() {
  if (!ordered_) return;
  VectorClock all = snapshot(Pipe::S);
  for (int p = 0; p < kPipes; ++p) all.join(snapshot(static_cast<Pipe>(p)));
  for (PipeState& p : pipes) p.clock = all;
  ++scalar_version;
}

}  // namespace attnemu
