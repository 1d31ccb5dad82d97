// Operands of instructions: addresses of a core's memories are numbers, those of global memory are the host's.
#pragma once
#include "attnemu/findings.h"
#include "attnemu/scalar.h"
#include "attnemu/vector.h"
#include "types.h"

#define ATTNEMU_AT attnemu::SourceLine at = attnemu::SourceLine::here()

namespace attnemu::intrinsics {

inline Place on_chip(MemoryKind kind, uint64_t address) { return {core->memory(kind), address}; }
inline Place on_chip(MemoryKind kind, const void* address) { return on_chip(kind, reinterpret_cast<uint64_t>(address)); }

// Null memory after a finding when it lies in no array of the launch.
inline Place in_global(const void* p, const char* what, const SourceLine& at) {
  Memory* m = machine->find_region(p);
  if (!m) {
    if (machine->knobs.memcheck)
      machine->report("memcheck", "unknown_address", at, format("%s: address %p lies in no array of this launch (a null argument, or far out of range)", what, p));
    return {};
  }
  return {m, static_cast<uint64_t>(static_cast<const uint8_t*>(p) - m->data)};
}

// An operand of the vector unit; strides in blocks.
template <class T>
LaneOperand lanes(const T* address, uint32_t block_step = 1, uint32_t repeat_step = 8) {
  LaneOperand o{on_chip(MemoryKind::UB, address)};
  o.type = element_type<T>();
  o.block_step = block_step;
  o.repeat_step = repeat_step;
  return o;
}
// Lanes of one repeat: 256 bytes of the widest type.
template <class... T>
constexpr uint32_t per_repeat() {
  size_t widest = 0;
  ((widest = sizeof(T) > widest ? sizeof(T) : widest), ...);
  return static_cast<uint32_t>(kRepeatBytes / widest);
}
template <class T>
Scalar scalar_of(T v) {
  Scalar s;
  s.value = static_cast<double>(v);
  std::memcpy(&s.bits, &v, sizeof(T));
  return s;
}

// The device model has no such instruction: a finding, and no effect.
inline void unmodelled(const char* name, const SourceLine& at) {
  machine->report("memcheck", "unsupported", at, format("the instruction %s is not modelled; it has no effect", name));
}
// What an instruction that is not modelled gives.
struct Nothing {
  template <class T>
  operator T() const { return T(); }
};

constexpr Pipe pipe_of(pipe_t p) {
  switch (p) {
    case PIPE_V: return Pipe::V;
    case PIPE_M: return Pipe::M;
    case PIPE_MTE1: return Pipe::MTE1;
    case PIPE_MTE2: return Pipe::MTE2;
    case PIPE_MTE3: return Pipe::MTE3;
    case PIPE_FIX: return Pipe::FIX;
    default: return Pipe::S;
  }
}

}  // namespace attnemu::intrinsics
