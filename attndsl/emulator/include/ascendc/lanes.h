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

void complain(const char* rule, const SourceLine& at, const std::string& message);
void complain(const char* rule, const SourceLine& at, const char* message);

LaneShape count_shape(int64_t n, uint32_t per, const char* what, const SourceLine& at);
using attnemu::register_shape;
// Sets the mask register first.
LaneShape masked_shape(uint64_t mask, uint32_t repeats, uint32_t per, const char* what, const SourceLine& at);
LaneShape masked_shape(const uint64_t* mask, uint32_t repeats, uint32_t per, const char* what, const SourceLine& at);
template <bool isSetMask>
LaneShape shape(uint64_t mask, uint32_t repeats, uint32_t per, const char* what, const SourceLine& at) {
  if constexpr (isSetMask) return masked_shape(mask, repeats, per, what, at);
  else return register_shape(repeats, per);
}
template <bool isSetMask>
LaneShape shape(const uint64_t* mask, uint32_t repeats, uint32_t per, const char* what, const SourceLine& at) {
  if constexpr (isSetMask) return masked_shape(mask, repeats, per, what, at);
  else return register_shape(repeats, per);
}

template <class T>
attnemu::Scalar scalar_of(T v) {
  attnemu::Scalar s;
  s.value = static_cast<double>(v);
  s.bits = bits_of_value(v);
  return s;
}

}  // namespace AscendC::detail
