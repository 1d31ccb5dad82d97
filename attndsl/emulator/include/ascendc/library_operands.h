// Library functions with operands of their own: powers of and by scalars, bits, limits, sums along an axis.
#pragma once
#include "library_math.h"
#include "vector_sort.h"

namespace AscendC {

enum class PowerAlgo { INTRINSIC = 0, DOUBLE_FLOAT_TECH };
struct PowerConfig { PowerAlgo algo = PowerAlgo::INTRINSIC; };

namespace detail {
inline constexpr PowerConfig kPowerConfig{};
// Five tensors and a repeat where a scalar takes part, four and a repeat otherwise; halves fourteen.
template <class T>
constexpr uint32_t least_for_power(bool scalar) { return sizeof(T) == 2 ? 14 * 256 / 2 + 256 : (scalar ? 5 : 4) * 256 + 256; }

template <class F, class T, size_t sources>
void power(bool scalar, const LocalTensor<T>& dst, const LocalTensor<T> (&src)[sources], const LocalTensor<uint8_t>& tmp, uint32_t count, const F& f, const SourceLine& at) {
  if (has_room("Power", tmp, least_for_power<T>(scalar), at)) elementwise_function("Power", TmpTensors{0, 0, 0}, false, dst, src, tmp, count, f, at);
}
struct PowerOfScalar : Function<5> {
  float base;
  template <class V, class D, class X, class W>
  void run(const V& v, const D& d, const X& x, const W& t) const {
    v.fill(t[4], base);
    const std::decay_t<decltype(t[4])> operands[2] = {t[4], x[0]};
    PowerFunction{}.run(v, d, operands, t);
  }
};
struct PowerToScalar : Function<5> {
  float exponent;
  template <class V, class D, class X, class W>
  void run(const V& v, const D& d, const X& x, const W& t) const {
    v.fill(t[4], exponent);
    const std::decay_t<decltype(t[4])> operands[2] = {x[0], t[4]};
    PowerFunction{}.run(v, d, operands, t);
  }
};
}  // namespace detail

// The four forms of each pair of operands; integers, which the library takes too, are not there.
#define ATTNEMU_POWER(First, Second, elements, scalar, sources, function)                                                \
  template <class T, bool isReuseSource = false, const PowerConfig& config = detail::kPowerConfig>                       \
  void Power(const LocalTensor<T>& dst, First, Second, const LocalTensor<uint8_t>& sharedTmpBuffer, uint32_t calCount, ATTNEMU_AT) { \
    detail::power(scalar, dst, sources, sharedTmpBuffer, calCount, function, at);                                        \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false, const PowerConfig& config = detail::kPowerConfig>                       \
  void Power(const LocalTensor<T>& dst, First, Second, uint32_t calCount, ATTNEMU_AT) {                                  \
    detail::power(scalar, dst, sources, detail::free_memory(), calCount, function, at);                                  \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false, const PowerConfig& config = detail::kPowerConfig>                       \
  void Power(const LocalTensor<T>& dst, First, Second, const LocalTensor<uint8_t>& sharedTmpBuffer, ATTNEMU_AT) {        \
    detail::power(scalar, dst, sources, sharedTmpBuffer, elements, function, at);                                        \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false, const PowerConfig& config = detail::kPowerConfig>                       \
  void Power(const LocalTensor<T>& dst, First, Second, ATTNEMU_AT) {                                                     \
    detail::power(scalar, dst, sources, detail::free_memory(), elements, function, at);                                  \
  }
#define ATTNEMU_LIST(...) {__VA_ARGS__}
ATTNEMU_POWER(const LocalTensor<T>& src0, const LocalTensor<T>& src1, src0.GetSize(), false, ATTNEMU_LIST(src0, src1), detail::PowerFunction{})
ATTNEMU_POWER(const LocalTensor<T>& src0, const T& src1, src0.GetSize(), true, {src0}, (detail::PowerToScalar{{}, static_cast<float>(src1)}))
ATTNEMU_POWER(const T& src0, const LocalTensor<T>& src1, src1.GetSize(), true, {src1}, (detail::PowerOfScalar{{}, static_cast<float>(src0)}))
#undef ATTNEMU_LIST
#undef ATTNEMU_POWER

// (a | b) & ~(a & b)
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, ATTNEMU_AT) {
  static_assert(detail::one_of<T, int16_t, uint16_t>, "Xor: int16 or uint16");
  if (!detail::has_room("Xor", sharedTmpBuffer, detail::TmpSizes::Xor.least(2, false), at)) return;
  detail::Nodes<T> nodes(sharedTmpBuffer, 1, calCount);
  for (uint32_t first = 0; first < calCount; first += nodes.length) {
    int32_t n = static_cast<int32_t>(std::min(nodes.length, calCount - first));
    LocalTensor<T> both = nodes[0], d = dst[first];
    And(both, src0[first], src1[first], n, at);
    detail::finish(at);
    Not(both, both, n, at);
    Or(d, src0[first], src1[first], n, at);
    detail::finish(at);
    And(d, d, both, n, at);
    detail::finish(at);
  }
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const LocalTensor<uint8_t>& sharedTmpBuffer, ATTNEMU_AT) {
  Xor(dst, src0, src1, sharedTmpBuffer, src0.GetSize(), at);
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint32_t calCount, ATTNEMU_AT) {
  Xor(dst, src0, src1, detail::free_memory(), calCount, at);
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, ATTNEMU_AT) {
  Xor(dst, src0, src1, detail::free_memory(), src0.GetSize(), at);
}

// What is above (below) the scalar becomes the scalar.
#define ATTNEMU_CLAMP(Name, Instruction)                                                                                 \
  template <class T, bool isReuseSource = false>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, const T scalar, const uint32_t calCount, ATTNEMU_AT) { \
    static_assert(detail::one_of<T, half, float>, #Name ": half or float");                                              \
    if (!detail::has_room(#Name, sharedTmpBuffer, detail::TmpSizes::Clamp.least(sizeof(T), false), at)) return;          \
    Instruction(dst, src, scalar, static_cast<int32_t>(calCount), at);                                                   \
    detail::finish(at);                                                                                                  \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T scalar, const uint32_t calCount, ATTNEMU_AT) { \
    Name<T, isReuseSource>(dst, src, detail::free_memory(), scalar, calCount, at);                                       \
  }
ATTNEMU_CLAMP(ClampMax, Mins)
ATTNEMU_CLAMP(ClampMin, Maxs)
#undef ATTNEMU_CLAMP

// dst += src * scalar by a product and a sum.
template <class T, class U, bool isReuseSource = false>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U scalarValue, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, ATTNEMU_AT) {
  if (!detail::has_room("Axpy", sharedTmpBuffer, detail::TmpSizes::Axpy.least(sizeof(U), isReuseSource), at)) return;
  Axpy(dst, src, scalarValue, static_cast<int32_t>(calCount), at);
  detail::finish(at);
}

enum class CumSumAlgorithm { CUMSUM_ALGORITHM_LINEBYLINE = 0, CUMSUM_ALGORITHM_SKLANSKY = 1 };
struct CumSumConfig {
  bool isLastAxis = true, isReuseSource = false, outputLastRow = false;
  CumSumAlgorithm algorithm = CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE;
};
struct CumSumInfo { uint32_t outter = 0, inner = 0; };
namespace detail {
inline constexpr CumSumConfig kCumSumConfig{};
// `rows` rows of `columns` elements: each becomes the sum of itself and those above it.
template <class T>
void sum_down(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t rows, uint32_t columns, const SourceLine& at) {
  int32_t n = static_cast<int32_t>(columns);
  Adds(dst, src, static_cast<T>(0), n, at);
  finish(at);
  for (uint32_t i = 1; i < rows; ++i) {
    Add(dst[i * columns], dst[(i - 1) * columns], src[i * columns], n, at);
    finish(at);
  }
}
// The same with halves added in float, in `wide` (of a source's elements).
template <class Wide>
void sum_down(const LocalTensor<half>& dst, const LocalTensor<half>& src, const LocalTensor<Wide>& wide, uint32_t rows, uint32_t columns, const SourceLine& at) {
  Cast(wide, src, RoundMode::CAST_NONE, rows * columns, at);
  finish(at);
  sum_down(wide, wide, rows, columns, at);
  Cast(dst, wide, RoundMode::CAST_NONE, rows * columns, at);
  finish(at);
}
template <class T>
void transposed(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t rows, uint32_t columns, const SourceLine& at) {
  attnemu::permute("CumSum", at, dst.place(), src.place(), {}, 0, sizeof(T), {1, rows, columns});
  finish(at);
}
}  // namespace detail
// Sums over rows or, with isLastAxis, inside of them, 16 rows at a time, turned so that columns are rows.
template <class T, const CumSumConfig& config = detail::kCumSumConfig>
void CumSum(LocalTensor<T>& dst, LocalTensor<T>& lastRow, const LocalTensor<T>& src, LocalTensor<uint8_t>& sharedTmpBuffer, const CumSumInfo& info, ATTNEMU_AT) {
  static_assert(detail::one_of<T, half, float>, "CumSum: half or float");
  const uint32_t rows = info.outter, columns = info.inner;
  if (columns * sizeof(T) % 32) return detail::complain("row_alignment", at, attnemu::format("CumSum: rows have %u elements, which are no multiple of 32 bytes", columns));
  if constexpr (!config.isLastAxis) {
    if constexpr (sizeof(T) == 4) detail::sum_down(dst, src, rows, columns, at);
    else if (detail::has_room("CumSum", sharedTmpBuffer, rows * columns * 4ull, at)) detail::sum_down(dst, src, sharedTmpBuffer.ReinterpretCast<float>(), rows, columns, at);
    else return;
  } else {
    const uint32_t part = 16 * columns;
    if (!detail::has_room("CumSum", sharedTmpBuffer, part * sizeof(T) * (sizeof(T) == 2 ? 3 : 2), at)) return;
    LocalTensor<T> turned = sharedTmpBuffer.ReinterpretCast<T>(), sums = turned[part];
    for (uint32_t first = 0; first < rows; first += 16) {
      uint32_t n = std::min(rows - first, 16u);
      LocalTensor<T> from = src[first * columns], to = dst[first * columns];
      if (n < 16) {
        Adds(sums, from, static_cast<T>(0), static_cast<int32_t>(n * columns), at);
        Duplicate(sums[n * columns], static_cast<T>(0), static_cast<int32_t>((16 - n) * columns), at);
        detail::finish(at);
        from = sums;
      }
      detail::transposed(turned, from, 16, columns, at);
      detail::sum_down(turned, turned, columns, 16, at);
      detail::transposed(sums, turned, columns, 16, at);
      Adds(to, sums, static_cast<T>(0), static_cast<int32_t>(n * columns), at);
      detail::finish(at);
    }
  }
  if constexpr (config.outputLastRow) {
    Adds(lastRow, dst[(rows - 1) * columns], static_cast<T>(0), static_cast<int32_t>(columns), at);
    detail::finish(at);
  }
}
template <class T, const CumSumConfig& config = detail::kCumSumConfig>
void CumSum(LocalTensor<T>& dst, LocalTensor<T>& lastRow, const LocalTensor<T>& src, const CumSumInfo& info, ATTNEMU_AT) {
  LocalTensor<uint8_t> tmp = detail::free_memory();
  CumSum<T, config>(dst, lastRow, src, tmp, info, at);
}

}  // namespace AscendC
