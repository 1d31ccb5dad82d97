// Activation functions of the library. Formulas are those of the public documentation; for Gelu that by tanh.
#pragma once
#include "library_math.h"

namespace AscendC {
namespace detail {

// d = x / (1 + exp(factor * x)), in the type of the operands
struct SwishFunction : Function<0> {
  static constexpr bool own_type = true;
  float factor;
  template <class V, class D, class X, class W>
  void run(const V& v, const D& d, const X& x, const W&) const {
    v.muls(d, x[0], -factor);
    v.exp(d, d);
    v.adds(d, d, 1);
    v.div(d, x[0], d);
  }
};
struct SigmoidFunction : Function<1> {
  static constexpr bool own_type = true;
  template <class V, class D, class X, class W>
  void run(const V& v, const D& d, const X& x, const W& t) const {
    v.muls(t[0], x[0], -1);
    v.logistic(d, t[0]);
  }
};
// d = x / (1 + exp(-2 sqrt(2 / pi) (x + 0.044715 x^3)))
template <class V, class D, class X>
void gelu(const V& v, const D& d, const X& x) {
  v.mul(d, x, x);
  v.mul(d, d, x);
  v.muls(d, d, 0.044715f);
  v.add(d, d, x);
  v.muls(d, d, -1.5957691216f);
  v.exp(d, d);
  v.adds(d, d, 1);
  v.div(d, x, d);
}
template <bool precise>
struct GeluFunction : Function<0> {
  static constexpr bool own_type = !precise;
  template <class V, class D, class X, class W>
  void run(const V& v, const D& d, const X& x, const W&) const { gelu(v, d, x[0]); }
};
// x / (1 + exp(-1.702 x))
template <bool precise>
struct FasterGeluFunction : Function<0> {
  static constexpr bool own_type = !precise;
  template <class V, class D, class X, class W>
  void run(const V& v, const D& d, const X& x, const W&) const { SwishFunction{{}, 1.702f}.run(v, d, x, x); }
};
// x (sgn(x) / 2 * (a (min(|x| / sqrt(2), -b) + b)^2 + 1) + 1 / 2), a = -0.1444, b = -1.769
template <bool precise>
struct FasterGeluV2Function : Function<1> {
  static constexpr bool own_type = !precise;
  template <class V, class D, class X, class W>
  void run(const V& v, const D& d, const X& x, const W& t) const {
    v.muls(d, x[0], 0.70710678f);
    v.abs(d, d);
    v.mins(d, d, 1.769f);
    v.adds(d, d, -1.769f);
    v.mul(d, d, d);
    v.muls(d, d, -0.1444f);
    v.adds(d, d, 1);
    v.abs(t[0], x[0]);
    v.adds(t[0], t[0], 1e-6f);  // sgn(x) = x / (|x| + a little), which halves can do, too
    v.div(t[0], x[0], t[0]);
    v.mul(d, d, t[0]);
    v.muls(d, d, 0.5f);
    v.adds(d, d, 0.5f);
    v.mul(d, d, x[0]);
  }
};
struct GeGLUFunction : Function<0> {
  template <class V, class D, class X, class W>
  void run(const V& v, const D& d, const X& x, const W&) const {
    gelu(v, d, x[1]);
    v.mul(d, d, x[0]);
  }
};
struct ReGluFunction : Function<0> {
  template <class V, class D, class X, class W>
  void run(const V& v, const D& d, const X& x, const W&) const {
    v.relu(d, x[1]);
    v.mul(d, d, x[0]);
  }
};
struct SwiGLUFunction : Function<0> {
  float factor;
  template <class V, class D, class X, class W>
  void run(const V& v, const D& d, const X& x, const W&) const {
    v.muls(d, x[1], -factor);
    v.exp(d, d);
    v.adds(d, d, 1);
    v.div(d, x[1], d);
    v.mul(d, d, x[0]);
  }
};

}  // namespace detail

ATTNEMU_LIBRARY_UNARY(Sigmoid)
ATTNEMU_LIBRARY_BINARY(GeGLU)
ATTNEMU_LIBRARY_BINARY(ReGlu)

template <class T, bool isReuseSource = false>
void Silu(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize, ATTNEMU_AT) {
  detail::elementwise_function("Silu", {0, 0, 0}, isReuseSource, dst, {src}, LocalTensor<uint8_t>(), dataSize, detail::SwishFunction{{}, 1.0f}, at);
}
template <class T, bool isReuseSource = false>
void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize, const T scalarValue, ATTNEMU_AT) {
  detail::elementwise_function("Swish", {0, 0, 0}, isReuseSource, dst, {src}, LocalTensor<uint8_t>(), dataSize, detail::SwishFunction{{}, static_cast<float>(scalarValue)}, at);
}

#define ATTNEMU_LIBRARY_GELU(Name)                                                                                       \
  template <class T, bool highPrecision = false, bool highPerformance = false>                                           \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t dataSize, ATTNEMU_AT) { \
    detail::elementwise_function(#Name, detail::TmpSizes::Gelu, false, dst, {src}, sharedTmpBuffer, dataSize, detail::Name##Function<highPrecision>{}, at); \
  }                                                                                                                      \
  template <class T, bool highPrecision = false, bool highPerformance = false>                                           \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dataSize, ATTNEMU_AT) {                 \
    Name<T, highPrecision, highPerformance>(dst, src, detail::free_memory(), dataSize, at);                              \
  }
ATTNEMU_LIBRARY_GELU(Gelu)
ATTNEMU_LIBRARY_GELU(FasterGelu)
ATTNEMU_LIBRARY_GELU(FasterGeluV2)
#undef ATTNEMU_LIBRARY_GELU

template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& scalarValue, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, ATTNEMU_AT) {
  detail::elementwise_function("SwiGLU", detail::TmpSizes::SwiGLU, isReuseSource, dst, {src0, src1}, sharedTmpBuffer, calCount, detail::SwiGLUFunction{{}, scalarValue}, at);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& scalarValue, const LocalTensor<uint8_t>& sharedTmpBuffer, ATTNEMU_AT) {
  SwiGLU<T, isReuseSource>(dst, src0, src1, scalarValue, sharedTmpBuffer, src0.GetSize(), at);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& scalarValue, const uint32_t calCount, ATTNEMU_AT) {
  SwiGLU<T, isReuseSource>(dst, src0, src1, scalarValue, detail::free_memory(), calCount, at);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& scalarValue, ATTNEMU_AT) {
  SwiGLU<T, isReuseSource>(dst, src0, src1, scalarValue, detail::free_memory(), src0.GetSize(), at);
}

#undef ATTNEMU_LIBRARY_UNARY
#undef ATTNEMU_LIBRARY_BINARY

}  // namespace AscendC
