#include "attnemu/numeric.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace attnemu {
namespace {

// Rounds the magnitude `m` of `drop` surplus low bits; the result may carry into the exponent, which is what is wanted.
uint32_t round_bits(uint32_t m, int drop, bool negative, Rounding mode) {
  if (drop <= 0) return m << -drop;
  uint32_t kept = drop >= 32 ? 0 : m >> drop;
  uint32_t rest = drop >= 32 ? m : m & ((1u << drop) - 1);
  if (!rest) return kept;
  uint32_t half = drop > 31 ? 0xFFFFFFFFu : 1u << (drop - 1);
  switch (mode) {
    case Rounding::Floor: return kept + (negative ? 1 : 0);
    case Rounding::Ceil: return kept + (negative ? 0 : 1);
    case Rounding::Trunc: return kept;
    case Rounding::Odd: return kept | 1;
    case Rounding::Round: return kept + (rest >= half ? 1 : 0);
    default: return kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
  }
}

bool overflow_stays_finite(bool negative, Rounding mode) {
  return mode == Rounding::Trunc || mode == Rounding::Odd || (mode == Rounding::Floor && !negative) ||
         (mode == Rounding::Ceil && negative);
}

}  // namespace

uint16_t float_to_half(float f, Rounding mode) {
  uint32_t u = bits_of(f), sign = (u >> 16) & 0x8000, a = u & 0x7FFFFFFF;
  bool negative = sign != 0;
  if (a > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | ((a >> 13) & 0x1FF));
  if (a == 0x7F800000) return static_cast<uint16_t>(sign | 0x7C00);
  int e = static_cast<int>(a >> 23) - 112;
  uint32_t h;
  if (e >= 1) {
    h = e > 31 ? 0x7C00 : round_bits((static_cast<uint32_t>(e) << 23) | (a & 0x7FFFFF), 13, negative, mode);
  } else {
    uint32_t m = (a >> 23) ? (a & 0x7FFFFF) | 0x800000 : a;
    h = round_bits(m, (a >> 23) ? 14 - e : 13 + 1 - e, negative, mode);
  }
  if (h >= 0x7C00) h = overflow_stays_finite(negative, mode) ? 0x7BFF : 0x7C00;
  return static_cast<uint16_t>(sign | h);
}

uint16_t float_to_bfloat(float f, Rounding mode) {
  uint32_t u = bits_of(f), sign = (u >> 16) & 0x8000, a = u & 0x7FFFFFFF;
  if (a > 0x7F800000) return static_cast<uint16_t>(sign | (a >> 16) | 0x40);
  if (a == 0x7F800000) return static_cast<uint16_t>(sign | 0x7F80);
  uint32_t h = round_bits(a, 16, sign != 0, mode);
  if (h >= 0x7F80) h = overflow_stays_finite(sign != 0, mode) ? 0x7F7F : 0x7F80;
  return static_cast<uint16_t>(sign | h);
}

double round_integral(double v, Rounding mode) {
  switch (mode) {
    case Rounding::Floor: return std::floor(v);
    case Rounding::Ceil: return std::ceil(v);
    case Rounding::Trunc: return std::trunc(v);
    case Rounding::Round: return std::round(v);
    case Rounding::Odd: {
      double t = std::trunc(v);
      return t == v || std::fmod(t, 2.0) != 0 ? t : t + std::copysign(1.0, v);
    }
    default: return std::nearbyint(v);
  }
}

void halves_to_floats(const uint16_t* from, float* to, size_t n) {
  size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  for (; i < n; ++i) to[i] = half_to_float(from[i]);
}

void floats_to_halves(const float* from, uint16_t* to, size_t n) {
  size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; ++i) to[i] = float_to_half(from[i]);
}

}  // namespace attnemu
