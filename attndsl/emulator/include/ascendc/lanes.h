// From tensors, masks and repeat parameters to the operands and shapes of the vector unit.
#pragma once
#include "attnemu/vector.h"
#include "params.h"
#include "sys.h"
#include "tensor.h"

namespace AscendC::detail {

using attnemu::LaneMask;
using attnemu::LaneOperand;
using attnemu::LaneShape;

template <class T>
LaneOperand lanes(const LocalTensor<T>& t, uint32_t block_step = 1, uint32_t repeat_step = 8) {
  LaneOperand o{t.place()};
  o.type = dtype_of<T>();
  o.block_step = block_step;
  o.repeat_step = repeat_step;
  return o;
}
// An operand stored without gaps, of `per_repeat` lanes a repeat.
template <class T>
LaneOperand dense(const LocalTensor<T>& t, uint32_t per_repeat) {
  LaneOperand o = lanes(t, 1, 0);
  o.repeat_step = static_cast<uint32_t>(per_repeat * sizeof(T) / attnemu::kBlock);
  if (per_repeat * sizeof(T) % attnemu::kBlock) o.repeat_bytes = per_repeat * sizeof(T);
  return o;
}
// Lanes of one repeat: 256 bytes of the widest type.
template <class... T>
constexpr uint32_t per_repeat() {
  size_t widest = 0;
  ((widest = sizeof(T) > widest ? sizeof(T) : widest), ...);
  return static_cast<uint32_t>(attnemu::kRepeatBytes / widest);
}

inline void complain(const char* rule, const SourceLine& at, const std::string& message) {
  if (attnemu::machine->knobs.memcheck) attnemu::machine->report("memcheck", rule, at, message, "V");
}

inline LaneShape count_shape(int64_t n, uint32_t per, const char* what, const SourceLine& at) {
  if (n < 0) {
    complain("count_range", at, attnemu::format("%s: count %lld is negative", what, static_cast<long long>(n)));
    n = 0;
  }
  return LaneShape::count(static_cast<uint64_t>(n), per);
}
// The mask register decides: lanes of a repeat, or in counter mode the number of elements.
inline LaneShape register_shape(uint32_t repeats, uint32_t per) {
  const attnemu::Registers& r = attnemu::core->reg;
  if (r.counter_mode) return LaneShape::count(r.mask[0], per);
  return LaneShape::masked(LaneMask{{r.mask[0], r.mask[1]}}, repeats, per);
}
template <bool isSetMask>
LaneShape shape(uint64_t mask, uint32_t repeats, uint32_t per, const char* what, const SourceLine& at) {
  attnemu::Registers& r = attnemu::core->reg;
  if constexpr (!isSetMask) return register_shape(repeats, per);
  if (r.counter_mode) {
    r.mask[0] = mask;
    r.mask[1] = 0;
  } else {
    if (mask > per) complain("mask_range", at, attnemu::format("%s: mask %llu is above the %u lanes of a repeat", what, static_cast<unsigned long long>(mask), per));
    LaneMask m = LaneMask::first(static_cast<uint32_t>(mask > per ? per : mask));
    r.mask[0] = m.bits[0];
    r.mask[1] = m.bits[1];
  }
  return register_shape(repeats, per);
}
template <bool isSetMask>
LaneShape shape(const uint64_t* mask, uint32_t repeats, uint32_t per, const char* what, const SourceLine& at) {
  attnemu::Registers& r = attnemu::core->reg;
  if constexpr (!isSetMask) return register_shape(repeats, per);
  if (per <= 64 && mask[1]) complain("mask_range", at, attnemu::format("%s: the high mask word must be 0 for %u lanes a repeat", what, per));
  r.mask[0] = mask[0];
  r.mask[1] = per <= 64 ? 0 : mask[1];
  return register_shape(repeats, per);
}

template <class T>
attnemu::Scalar scalar_of(T v) {
  attnemu::Scalar s;
  s.value = static_cast<double>(v);
  s.bits = bits_of_value(v);
  return s;
}

}  // namespace AscendC::detail
