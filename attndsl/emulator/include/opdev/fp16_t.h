// Half numbers of host programs, stored in 16 bits: an operation on two of them is rounded, as on the device; with others they are floats.
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

template <class T>
using IfHalf = std::enable_if_t<std::is_same_v<T, fp16_t>, fp16_t>;
template <class T> IfHalf<T> operator+(const T& a, const T& b) { return float(a) + float(b); }
template <class T> IfHalf<T> operator-(const T& a, const T& b) { return float(a) - float(b); }
template <class T> IfHalf<T> operator*(const T& a, const T& b) { return float(a) * float(b); }
template <class T> IfHalf<T> operator/(const T& a, const T& b) { return float(a) / float(b); }

}  // namespace op
