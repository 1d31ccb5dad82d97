// Storage of the two 16-bit floating-point types; arithmetic goes through float.
#pragma once
#include <cstdint>
#include <type_traits>

#include "attnemu/base.h"
#include "attnemu/numeric.h"

struct half {
  uint16_t bits;
  half() = default;
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, bool> = true>
  half(T v) : bits(attnemu::float_to_half(static_cast<float>(v))) {}
  operator float() const { return attnemu::half_to_float(bits); }
};

struct bfloat16_t {
  uint16_t bits;
  bfloat16_t() = default;
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, bool> = true>
  bfloat16_t(T v) : bits(attnemu::float_to_bfloat(static_cast<float>(v))) {}
  operator float() const { return attnemu::bfloat_to_float(bits); }
};

namespace attnemu {
// The element type that a C++ type stands for.
template <class T>
constexpr DType element_type() {
  if constexpr (std::is_same_v<T, half>) return DType::F16;
  else if constexpr (std::is_same_v<T, bfloat16_t>) return DType::BF16;
  else if constexpr (std::is_same_v<T, float>) return DType::F32;
  else if constexpr (std::is_same_v<T, int8_t>) return DType::I8;
  else if constexpr (std::is_same_v<T, uint8_t> || std::is_same_v<T, bool>) return DType::U8;
  else if constexpr (std::is_same_v<T, int16_t>) return DType::I16;
  else if constexpr (std::is_same_v<T, uint16_t>) return DType::U16;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::I32;
  else if constexpr (std::is_same_v<T, uint32_t>) return DType::U32;
  else if constexpr (std::is_signed_v<T>) { static_assert(sizeof(T) == 8, "no such element type"); return DType::I64; }
  else { static_assert(sizeof(T) == 8, "no such element type"); return DType::U64; }
}
}  // namespace attnemu
