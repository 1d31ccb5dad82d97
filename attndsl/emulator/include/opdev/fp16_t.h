// Half numbers of host programs: stored in 16 bits, computed with as floats.
#pragma once
#include <cstdint>
#include <type_traits>

#include "attnemu/numeric.h"

namespace op {

struct fp16_t {
  uint16_t val = 0;
  fp16_t() = default;
  template <class T, std::enable_if_t<std::is_convertible_v<T, float>, bool> = true>
  fp16_t(const T& v) : val(attnemu::float_to_half(static_cast<float>(v))) {}
  operator float() const { return attnemu::half_to_float(val); }
  fp16_t& operator+=(float v) { return *this = float(*this) + v; }
  fp16_t& operator-=(float v) { return *this = float(*this) - v; }
  fp16_t& operator*=(float v) { return *this = float(*this) * v; }
  fp16_t& operator/=(float v) { return *this = float(*this) / v; }
};

}  // namespace op
