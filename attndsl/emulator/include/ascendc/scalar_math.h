// What the scalar unit computes: bit counts, conversions.
#pragma once
#include "types.h"

namespace AscendC {

template <int countValue>
constexpr int64_t GetBitCount(uint64_t v) {
  static_assert(countValue == 0 || countValue == 1, "GetBitCount: 0 or 1");
  return __builtin_popcountll(countValue ? v : ~v);
}
constexpr int64_t CountLeadingZero(uint64_t v) { return v ? __builtin_clzll(v) : 64; }
constexpr int64_t CountBitsCntSameAsSignBit(int64_t v) { return v == 0 || v == -1 ? -1 : __builtin_clrsbll(v); }
// Place of the lowest bit of that value, -1 when there is none.
template <int countValue>
constexpr int64_t GetSFFValue(uint64_t v) {
  static_assert(countValue == 0 || countValue == 1, "GetSFFValue: 0 or 1");
  uint64_t w = countValue ? v : ~v;
  return w ? __builtin_ctzll(w) : -1;
}
// The names of CANN 8.1.
template <int countValue>
constexpr int64_t ScalarGetCountOfValue(uint64_t v) { return GetBitCount<countValue>(v); }
constexpr int64_t ScalarCountLeadingZero(uint64_t v) { return CountLeadingZero(v); }
template <int countValue>
constexpr int64_t ScalarGetSFFValue(uint64_t v) { return GetSFFValue<countValue>(v); }

namespace detail {
inline double round_scalar(double v, RoundMode mode) { return attnemu::round_integral(v, static_cast<attnemu::Rounding>(mode)); }
}  // namespace detail
// float to half or int32.
template <class From, class To, RoundMode mode>
To ScalarCast(From v) {
  static_assert(std::is_same_v<From, float> && detail::one_of<To, half, int32_t>, "ScalarCast: float to half or int32");
  if constexpr (std::is_same_v<To, int32_t>) return static_cast<int32_t>(detail::round_scalar(static_cast<double>(v), mode));
  else { To r; r.bits = attnemu::float_to_half(v, static_cast<attnemu::Rounding>(mode)); return r; }
}
template <class From, class To, RoundMode mode>
To Cast(From v) { return ScalarCast<From, To, mode>(v); }
inline float Cast(const bfloat16_t& v) { return static_cast<float>(v); }
inline bfloat16_t Cast(const float& v) { return bfloat16_t(v); }

constexpr int32_t CeilDivision(int32_t a, int32_t b) { return b ? (a + b - 1) / b : 0; }

}  // namespace AscendC
