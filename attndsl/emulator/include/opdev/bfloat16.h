// Numbers of bfloat16 of host programs: stored in 16 bits, computed with as floats.
#pragma once
#include <cstdint>
#include <type_traits>

#include "attnemu/numeric.h"

namespace op {

struct bfloat16 {
  uint16_t value = 0;
  bfloat16() = default;
  template <class T, std::enable_if_t<std::is_convertible_v<T, float>, bool> = true>
  bfloat16(const T& v) : value(attnemu::float_to_bfloat(static_cast<float>(v))) {}
  operator float() const { return attnemu::bfloat_to_float(value); }
  bfloat16& operator+=(float v) { return *this = float(*this) + v; }
  bfloat16& operator-=(float v) { return *this = float(*this) - v; }
  bfloat16& operator*=(float v) { return *this = float(*this) * v; }
  bfloat16& operator/=(float v) { return *this = float(*this) / v; }
};

}  // namespace op
