// Number formats: half and bfloat16 with exact rounding, rounding to integers in the seven modes of the vector unit.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace attnemu {

enum class Rounding : uint8_t { None, Rint, Floor, Ceil, Round, Trunc, Odd };

inline uint32_t bits_of(float f) { uint32_t u; std::memcpy(&u, &f, 4); return u; }
inline float float_of(uint32_t u) { float f; std::memcpy(&f, &u, 4); return f; }

// By the compiler's own operations: <immintrin.h> would be a fifth of what every kernel's compiler loads.
#if defined(__F16C__) && defined(__clang__)
#define ATTNEMU_HALVES
inline float hardware_half_to_float(uint16_t h) { _Float16 v; std::memcpy(&v, &h, 2); return static_cast<float>(v); }
inline uint16_t hardware_float_to_half(float f) { auto v = static_cast<_Float16>(f); uint16_t h; std::memcpy(&h, &v, 2); return h; }
#elif defined(__F16C__)
#define ATTNEMU_HALVES
using EightHalves = short __attribute__((vector_size(16)));
using FourFloats = float __attribute__((vector_size(16)));
constexpr int kToNearestEven = 0;
inline float hardware_half_to_float(uint16_t h) { return __builtin_ia32_vcvtph2ps(EightHalves{static_cast<short>(h)})[0]; }
inline uint16_t hardware_float_to_half(float f) { return static_cast<uint16_t>(__builtin_ia32_vcvtps2ph(FourFloats{f}, kToNearestEven)[0]); }
#endif

inline float half_to_float(uint16_t h) {
#if defined(ATTNEMU_HALVES)
  return hardware_half_to_float(h);
#else
  uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3FF;
  if (e == 31) return float_of(sign | 0x7F800000u | (m << 13));
  if (e) return float_of(sign | ((e + 112) << 23) | (m << 13));
  float f = static_cast<float>(m) * 0x1p-24f;
  return sign ? -f : f;
#endif
}

// Rounds to half with every mode; Odd is round-to-odd (inexact results get an odd last bit). inf for overflow in
// Rint and Round, largest finite value where the direction says so.
uint16_t float_to_half(float f, Rounding mode);
uint16_t float_to_bfloat(float f, Rounding mode);
inline float bfloat_to_float(uint16_t b) { return float_of(static_cast<uint32_t>(b) << 16); }

inline uint16_t float_to_half(float f) {
#if defined(ATTNEMU_HALVES)
  return hardware_float_to_half(f);
#else
  return float_to_half(f, Rounding::Rint);
#endif
}
inline uint16_t float_to_bfloat(float f) {
  uint32_t u = bits_of(f);
  if ((u & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>((u >> 16) | 0x40);
  return static_cast<uint16_t>((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
}

// To an integral value; None counts as Rint.
double round_integral(double v, Rounding mode);

// Saturating conversion to an integer type; NaN gives 0.
template <class I>
I to_integer(double v, Rounding mode) {
  if (std::isnan(v)) return 0;
  double r = round_integral(v, mode);
  if (r <= static_cast<double>(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
  if (r >= static_cast<double>(std::numeric_limits<I>::max())) return std::numeric_limits<I>::max();
  return static_cast<I>(r);
}

void halves_to_floats(const uint16_t* from, float* to, size_t n);
void floats_to_halves(const float* from, uint16_t* to, size_t n);

// Saturation mode of the device for half results: inf becomes the largest value, NaN becomes 0.
inline uint16_t saturate_half(uint16_t h) {
  if ((h & 0x7C00) != 0x7C00) return h;
  return (h & 0x3FF) ? 0 : static_cast<uint16_t>((h & 0x8000) | 0x7BFF);
}
inline uint16_t saturate_bfloat(uint16_t h) {
  if ((h & 0x7F80) != 0x7F80) return h;
  return (h & 0x7F) ? 0 : static_cast<uint16_t>((h & 0x8000) | 0x7F7F);
}

}  // namespace attnemu
