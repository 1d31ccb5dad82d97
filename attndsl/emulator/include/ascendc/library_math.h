// Mathematical functions of the library, by compositions of ours: results are near the true ones, not those of the device bit by bit.
#pragma once
#include "library_steps.h"
#include "vector_compare.h"

namespace AscendC {
namespace detail {

#define ATTNEMU_FUNCTION(Name, temps) \
  struct Name##Function : Function<temps> { \
    template <class V, class D, class X, class W> void run(const V& v, const D& d, const X& x, const W& t) const
#define ATTNEMU_END };

// Pi in three parts, so that multiples are subtracted almost without error.
constexpr float kPi[3] = {3.140625f, 0.00096765358979f, 5.126664e-12f};
constexpr float kHalfPi = 1.57079632679f;

// r -= k * pi
template <class V, class T>
void minus_multiples_of_pi(const V& v, const T& r, const T& k, const T& w) {
  for (float part : kPi) {
    v.muls(w, k, part);
    v.sub(r, r, w);
  }
}
// d = sin(r) for |r| <= pi / 2, by Taylor's series up to r^11; w: r * r afterwards.
template <class V, class T>
void sine_of_small(const V& v, const T& d, const T& r, const T& w) {
  v.mul(w, r, r);
  v.polynomial(d, w, {1.0f, -1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880, -1.0f / 39916800});
  v.mul(d, d, r);
}
// k = 1 - 2 * (k mod 2): the sign of sin and cos in the k-th half turn
template <class V, class T>
void alternating(const V& v, const T& k, const T& w) {
  v.muls(w, k, 0.5f);
  v.round(w, w, RoundMode::CAST_FLOOR);
  v.muls(w, w, 2);
  v.sub(k, k, w);
  v.muls(k, k, -2);
  v.adds(k, k, 1);
}
ATTNEMU_FUNCTION(Sin, 3) {
  v.muls(t[0], x[0], 1 / (2 * kHalfPi));
  v.round(t[0], t[0], RoundMode::CAST_RINT);
  v.adds(t[1], x[0], 0);
  minus_multiples_of_pi(v, t[1], t[0], t[2]);
  alternating(v, t[0], t[2]);
  sine_of_small(v, d, t[1], t[2]);
  v.mul(d, d, t[0]);
} ATTNEMU_END
// cos(r + (k + 1/2) pi) = -(-1)^k sin(r)
ATTNEMU_FUNCTION(Cos, 4) {
  v.muls(t[0], x[0], 1 / (2 * kHalfPi));
  v.round(t[0], t[0], RoundMode::CAST_FLOOR);
  v.adds(t[1], x[0], 0);
  v.adds(t[3], t[0], 0.5f);
  minus_multiples_of_pi(v, t[1], t[3], t[2]);
  alternating(v, t[0], t[2]);
  sine_of_small(v, d, t[1], t[2]);
  v.mul(d, d, t[0]);
  v.muls(d, d, -1);
} ATTNEMU_END
// tan(r) = sin(r) / sin(pi / 2 - |r|)
ATTNEMU_FUNCTION(Tan, 4) {
  v.muls(t[0], x[0], 1 / (2 * kHalfPi));
  v.round(t[0], t[0], RoundMode::CAST_RINT);
  v.adds(t[1], x[0], 0);
  minus_multiples_of_pi(v, t[1], t[0], t[2]);
  sine_of_small(v, t[0], t[1], t[2]);
  v.abs(t[1], t[1]);
  v.muls(t[1], t[1], -1);
  for (float part : kPi) v.adds(t[1], t[1], part / 2);
  sine_of_small(v, t[3], t[1], t[2]);
  v.div(d, t[0], t[3]);
} ATTNEMU_END
// t[0] = atan(t[0]), twice halved: atan(y) = 2 atan(y / (1 + sqrt(1 + y^2)))
template <class V, class W>
void arc_tangent(const V& v, const W& t) {
  v.maxs(t[0], t[0], -1e15f);
  v.mins(t[0], t[0], 1e15f);
  for (int halving = 0; halving < 2; ++halving) {
    v.mul(t[1], t[0], t[0]);
    v.adds(t[1], t[1], 1);
    v.sqrt(t[1], t[1]);
    v.adds(t[1], t[1], 1);
    v.div(t[0], t[0], t[1]);
  }
  v.mul(t[1], t[0], t[0]);
  v.polynomial(t[2], t[1], {1.0f, -1.0f / 3, 1.0f / 5, -1.0f / 7, 1.0f / 9, -1.0f / 11, 1.0f / 13, -1.0f / 15});
  v.mul(t[0], t[0], t[2]);
  v.muls(t[0], t[0], 4);
}
ATTNEMU_FUNCTION(Atan, 3) {
  v.adds(t[0], x[0], 0);
  arc_tangent(v, t);
  v.adds(d, t[0], 0);
} ATTNEMU_END
// asin(x) = atan(x / sqrt((1 - x) (1 + x)))
ATTNEMU_FUNCTION(Asin, 3) {
  v.muls(t[0], x[0], -1);
  v.adds(t[0], t[0], 1);
  v.adds(t[1], x[0], 1);
  v.mul(t[0], t[0], t[1]);
  v.sqrt(t[0], t[0]);
  v.div(t[0], x[0], t[0]);
  arc_tangent(v, t);
  v.adds(d, t[0], 0);
} ATTNEMU_END
// acos(x) = 2 atan(sqrt((1 - x) / (1 + x)))
ATTNEMU_FUNCTION(Acos, 3) {
  v.muls(t[0], x[0], -1);
  v.adds(t[0], t[0], 1);
  v.adds(t[1], x[0], 1);
  v.div(t[0], t[0], t[1]);
  v.sqrt(t[0], t[0]);
  arc_tangent(v, t);
  v.muls(d, t[0], 2);
} ATTNEMU_END
// (exp(x) - exp(-x)) / 2, and with +
template <class V, class D, class X, class T>
void hyperbolic(const V& v, const D& d, const X& x, const T& w, bool sine) {
  v.muls(w, x, -1);
  v.exp(w, w);
  v.exp(d, x);
  if (sine) v.sub(d, d, w);
  else v.add(d, d, w);
  v.muls(d, d, 0.5f);
}
ATTNEMU_FUNCTION(Sinh, 1) { hyperbolic(v, d, x[0], t[0], true); } ATTNEMU_END
ATTNEMU_FUNCTION(Cosh, 1) { hyperbolic(v, d, x[0], t[0], false); } ATTNEMU_END
// 1 - 2 / (exp(2 x) + 1), where exp does not overflow
ATTNEMU_FUNCTION(Tanh, 1) {
  v.mins(t[0], x[0], 15);
  v.maxs(t[0], t[0], -15);
  v.muls(t[0], t[0], 2);
  v.exp(t[0], t[0]);
  v.adds(d, t[0], -1);
  v.adds(t[0], t[0], 1);
  v.div(d, d, t[0]);
} ATTNEMU_END
// d = -1, 0 or 1; denormals count as what they are
template <class V, class D, class X>
void sign_of(const V& v, const D& d, const X& x) {
  v.muls(d, x, 1e38f);
  v.muls(d, d, 1e38f);
  v.mins(d, d, 1);
  v.maxs(d, d, -1);
}
ATTNEMU_FUNCTION(Sign, 0) { sign_of(v, d, x[0]); } ATTNEMU_END
// sign(x) ln(|x| + sqrt(x^2 + 1))
ATTNEMU_FUNCTION(Asinh, 2) {
  v.mul(t[0], x[0], x[0]);
  v.adds(t[0], t[0], 1);
  v.sqrt(t[0], t[0]);
  v.abs(t[1], x[0]);
  v.add(t[0], t[0], t[1]);
  v.ln(t[0], t[0]);
  sign_of(v, t[1], x[0]);
  v.mul(d, t[0], t[1]);
} ATTNEMU_END
ATTNEMU_FUNCTION(Acosh, 1) {
  v.mul(t[0], x[0], x[0]);
  v.adds(t[0], t[0], -1);
  v.sqrt(t[0], t[0]);
  v.add(t[0], t[0], x[0]);
  v.ln(d, t[0]);
} ATTNEMU_END
ATTNEMU_FUNCTION(Atanh, 1) {
  v.muls(t[0], x[0], -1);
  v.adds(t[0], t[0], 1);
  v.adds(d, x[0], 1);
  v.div(d, d, t[0]);
  v.ln(d, d);
  v.muls(d, d, 0.5f);
} ATTNEMU_END
ATTNEMU_FUNCTION(Log, 0) { v.ln(d, x[0]); } static constexpr bool own_type = true; ATTNEMU_END
ATTNEMU_FUNCTION(Log2, 0) {
  v.ln(d, x[0]);
  v.muls(d, d, 1.44269504089f);
} ATTNEMU_END
ATTNEMU_FUNCTION(Log10, 0) {
  v.ln(d, x[0]);
  v.muls(d, d, 0.43429448190f);
} static constexpr bool own_type = true; ATTNEMU_END
ATTNEMU_FUNCTION(Ceil, 0) { v.round(d, x[0], RoundMode::CAST_CEIL); } ATTNEMU_END
ATTNEMU_FUNCTION(Floor, 0) { v.round(d, x[0], RoundMode::CAST_FLOOR); } ATTNEMU_END
ATTNEMU_FUNCTION(Trunc, 0) { v.round(d, x[0], RoundMode::CAST_TRUNC); } ATTNEMU_END
ATTNEMU_FUNCTION(Round, 0) { v.round(d, x[0], RoundMode::CAST_RINT); } ATTNEMU_END
ATTNEMU_FUNCTION(Frac, 0) {
  v.round(d, x[0], RoundMode::CAST_TRUNC);
  v.sub(d, x[0], d);
} ATTNEMU_END
// erfc(|x|) = u exp(-x^2 + p(u)), u = 1 / (1 + |x| / 2): Numerical Recipes' fit, good to 1.2e-7 of the value
template <class V, class T, class X>
void erfc_of_magnitude(const V& v, const T& d, const X& x, const T& u, const T& w) {
  v.abs(u, x);
  v.muls(u, u, 0.5f);
  v.adds(u, u, 1);
  v.fill(d, 1);
  v.div(u, d, u);
  v.polynomial(d, u, {-1.26551223f, 1.00002368f, 0.37409196f, 0.09678418f, -0.18628806f, 0.27886807f, -1.13520398f, 1.48851587f, -0.82215223f, 0.17087277f});
  v.mul(w, x, x);
  v.sub(d, d, w);
  v.exp(d, d);
  v.mul(d, d, u);
}
// sign(x) (1 - erfc(|x|))
ATTNEMU_FUNCTION(Erf, 3) {
  erfc_of_magnitude(v, t[0], x[0], t[1], t[2]);
  v.muls(t[0], t[0], -1);
  v.adds(t[0], t[0], 1);
  sign_of(v, t[1], x[0]);
  v.mul(d, t[0], t[1]);
} ATTNEMU_END
// (1 - s) + s erfc(|x|), s the sign
ATTNEMU_FUNCTION(Erfc, 3) {
  erfc_of_magnitude(v, t[0], x[0], t[1], t[2]);
  sign_of(v, t[1], x[0]);
  v.mul(t[0], t[0], t[1]);
  v.muls(t[1], t[1], -1);
  v.adds(t[1], t[1], 1);
  v.add(d, t[0], t[1]);
} ATTNEMU_END
ATTNEMU_FUNCTION(Exp, 0) { v.exp(d, x[0]); } ATTNEMU_END
// x - y trunc(x / y)
ATTNEMU_FUNCTION(Fmod, 0) {
  v.div(d, x[0], x[1]);
  v.round(d, d, RoundMode::CAST_TRUNC);
  v.mul(d, d, x[1]);
  v.sub(d, x[0], d);
} ATTNEMU_END
// exp(y ln|x|); negated for odd y and negative x, a NaN for broken y and negative x
ATTNEMU_FUNCTION(Power, 4) {
  v.abs(t[0], x[0]);
  v.maxs(t[0], t[0], 1.17549435e-38f);
  v.ln(t[0], t[0]);
  v.mul(t[0], t[0], x[1]);
  v.exp(t[0], t[0]);
  sign_of(v, t[1], x[0]);
  v.mins(t[1], t[1], 0);  // -1 where x is negative
  v.muls(t[2], x[1], 0.5f);
  v.round(t[2], t[2], RoundMode::CAST_FLOOR);
  v.muls(t[2], t[2], -2);
  v.add(t[2], t[2], x[1]);  // y mod 2
  v.round(t[3], t[2], RoundMode::CAST_FLOOR);
  v.sub(t[2], t[2], t[3]);  // its fraction
  v.mul(t[3], t[3], t[1]);
  v.muls(t[3], t[3], 2);
  v.adds(t[3], t[3], 1);
  v.mul(t[0], t[0], t[3]);
  sign_of(v, t[2], t[2]);
  v.mul(t[2], t[2], t[1]);
  v.muls(t[2], t[2], 2);
  v.adds(t[2], t[2], 1);
  v.ln(t[2], t[2]);  // of 1, or of -1
  v.add(d, t[0], t[2]);
} ATTNEMU_END

}  // namespace detail

#define ATTNEMU_LIBRARY_UNARY(Name)                                                                                      \
  template <class T, bool isReuseSource = false>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, ATTNEMU_AT) { \
    detail::elementwise_function(#Name, detail::TmpSizes::Name, isReuseSource, dst, {src}, sharedTmpBuffer, calCount, detail::Name##Function{}, at); \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, ATTNEMU_AT) { \
    Name<T, isReuseSource>(dst, src, sharedTmpBuffer, src.GetSize(), at);                                                \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount, ATTNEMU_AT) {                 \
    Name<T, isReuseSource>(dst, src, detail::free_memory(), calCount, at);                                               \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, ATTNEMU_AT) {                                          \
    Name<T, isReuseSource>(dst, src, detail::free_memory(), src.GetSize(), at);                                          \
  }
ATTNEMU_LIBRARY_UNARY(Sin)
ATTNEMU_LIBRARY_UNARY(Cos)
ATTNEMU_LIBRARY_UNARY(Tan)
ATTNEMU_LIBRARY_UNARY(Asin)
ATTNEMU_LIBRARY_UNARY(Acos)
ATTNEMU_LIBRARY_UNARY(Atan)
ATTNEMU_LIBRARY_UNARY(Sinh)
ATTNEMU_LIBRARY_UNARY(Cosh)
ATTNEMU_LIBRARY_UNARY(Tanh)
ATTNEMU_LIBRARY_UNARY(Asinh)
ATTNEMU_LIBRARY_UNARY(Acosh)
ATTNEMU_LIBRARY_UNARY(Atanh)
ATTNEMU_LIBRARY_UNARY(Log)
ATTNEMU_LIBRARY_UNARY(Log2)
ATTNEMU_LIBRARY_UNARY(Log10)
ATTNEMU_LIBRARY_UNARY(Ceil)
ATTNEMU_LIBRARY_UNARY(Floor)
ATTNEMU_LIBRARY_UNARY(Trunc)
ATTNEMU_LIBRARY_UNARY(Round)
ATTNEMU_LIBRARY_UNARY(Frac)
ATTNEMU_LIBRARY_UNARY(Sign)
ATTNEMU_LIBRARY_UNARY(Erf)
ATTNEMU_LIBRARY_UNARY(Erfc)

// Exp with a number of Taylor's terms: ours is exact either way.
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, ATTNEMU_AT) {
  detail::elementwise_function("Exp", detail::TmpSizes::Exp, isReuseSource, dst, {src}, sharedTmpBuffer, calCount, detail::ExpFunction{}, at);
}
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount, ATTNEMU_AT) {
  Exp<T, taylorExpandLevel, isReuseSource>(dst, src, detail::free_memory(), calCount, at);
}

#define ATTNEMU_LIBRARY_BINARY(Name)                                                                                     \
  template <class T, bool isReuseSource = false>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, ATTNEMU_AT) { \
    detail::elementwise_function(#Name, detail::TmpSizes::Name, isReuseSource, dst, {src0, src1}, sharedTmpBuffer, calCount, detail::Name##Function{}, at); \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const LocalTensor<uint8_t>& sharedTmpBuffer, ATTNEMU_AT) { \
    Name<T, isReuseSource>(dst, src0, src1, sharedTmpBuffer, src0.GetSize(), at);                                        \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint32_t calCount, ATTNEMU_AT) { \
    Name<T, isReuseSource>(dst, src0, src1, detail::free_memory(), calCount, at);                                        \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, ATTNEMU_AT) {             \
    Name<T, isReuseSource>(dst, src0, src1, detail::free_memory(), src0.GetSize(), at);                                  \
  }
ATTNEMU_LIBRARY_BINARY(Fmod)

#undef ATTNEMU_FUNCTION
#undef ATTNEMU_END

}  // namespace AscendC
