// Quantisation of tensors by the library: to int8, and from int32, int8 and int4. Steps and roundings are those of the public
// documentation for Atlas A2.
#pragma once
#include "library_rows.h"
#include "vector_gather.h"

namespace AscendC {

struct AscendQuantConfig { uint32_t calcCount = 0, offsetCount = 0, scaleCount = 0, workLocalSize = 0; };
constexpr AscendQuantConfig ASCEND_QUANT_DEFAULT_CFG = {0, 0, 0, 0};
struct DequantParams { uint32_t m, n, calCount; };
enum class DeQuantMode : uint8_t { DEQUANT_WITH_SINGLE_ROW = 0, DEQUANT_WITH_MULTI_ROW };
struct AntiQuantShapeInfo { uint32_t offsetHeight{0}, offsetWidth{0}, scaleHeight{0}, scaleWidth{0}; };

namespace detail {

// A factor or an offset: a number, or a tensor whose elements are those of the columns.
struct QuantNumber { half value; };
template <class T>
struct QuantRow { LocalTensor<T> values; };

// x = x * factor or x + offset, in half; a row of floats is rounded to half in `wide` first.
template <bool product>
void quant_step(const LocalTensor<half>& x, const QuantNumber& v, const LocalTensor<half>&, uint32_t, int32_t n, const SourceLine& at) {
  if constexpr (product) Muls(x, x, v.value, n, at);
  else Adds(x, x, v.value, n, at);
  finish(at);
}
template <bool product, class T>
void quant_step(const LocalTensor<half>& x, const QuantRow<T>& v, const LocalTensor<half>& narrow, uint32_t column, int32_t n, const SourceLine& at) {
  LocalTensor<half> row;
  if constexpr (std::is_same_v<T, half>) row = v.values[column];
  else {
    Cast(narrow, v.values[column], RoundMode::CAST_NONE, static_cast<uint32_t>(n), at);
    finish(at);
    row = narrow;
  }
  if constexpr (product) Mul(x, x, row, n, at);
  else Add(x, x, row, n, at);
  finish(at);
}
inline bool quant_counts(const char* what, uint32_t columns, uint32_t count, uint32_t room, const SourceLine& at) {
  if (count <= room && columns && columns % 32 == 0 && count % columns == 0) return true;
  complain("quant_shape", at, attnemu::format("%s: %u elements in rows of %u, where the source has %u: rows are multiples of 32 elements, and the count of rows", what, count, columns, room));
  return false;
}
// dst = int8(half(src) * scale + offset); columns repeat every `columns` elements.
template <class T, class Scale, class Offset>
void quantise(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, const Scale& scale, const Offset& offset, uint32_t columns, uint32_t count,
              const SourceLine& at) {
  static_assert(one_of<T, half, float>, "AscendQuant: half or float");
  if (!has_room("AscendQuant", tmp, kLeastForQuant, at)) return;
  LocalTensor<half> x = tmp.ReinterpretCast<half>();
  const uint32_t most = tmp.GetLength() / 4 / 32 * 32;  // two tensors of halves, in whole blocks of the result
  LocalTensor<half> narrow = x[most];
  for (uint32_t row = 0; row < count; row += columns)
    for (uint32_t column = 0; column < columns && row + column < count; column += most) {
      uint32_t first = row + column, n = std::min({most, columns - column, count - first});
      auto lanes = static_cast<int32_t>(n);
      if constexpr (std::is_same_v<T, half>) Adds(x, src[first], static_cast<half>(0), lanes, at);
      else Cast(x, src[first], RoundMode::CAST_NONE, n, at);
      finish(at);
      quant_step<true>(x, scale, narrow, column, lanes, at);
      quant_step<false>(x, offset, narrow, column, lanes, at);
      Cast(dst[first], x, RoundMode::CAST_RINT, n, at);
      finish(at);
    }
}

}  // namespace detail

// One factor and one offset.
#define ATTNEMU_QUANT template <class T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const float scale, const float offset,
                 const uint32_t calCount, ATTNEMU_AT) {
  if (calCount > srcTensor.GetSize())
    return detail::complain("quant_shape", at, attnemu::format("AscendQuant: %u elements of a source that has %u", calCount, srcTensor.GetSize()));
  detail::quantise(dstTensor, srcTensor, sharedTmpBuffer, detail::QuantNumber{static_cast<half>(scale)}, detail::QuantNumber{static_cast<half>(offset)}, calCount, calCount, at);
}
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const float scale, const float offset, ATTNEMU_AT) {
  AscendQuant<T, isReuseSource, config>(dstTensor, srcTensor, sharedTmpBuffer, scale, offset, srcTensor.GetSize(), at);
}
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const float scale, const float offset, const uint32_t calCount, ATTNEMU_AT) {
  AscendQuant<T, isReuseSource, config>(dstTensor, srcTensor, detail::free_memory(), scale, offset, calCount, at);
}
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const float scale, const float offset, ATTNEMU_AT) {
  AscendQuant<T, isReuseSource, config>(dstTensor, srcTensor, detail::free_memory(), scale, offset, srcTensor.GetSize(), at);
}
// A factor a column, and one offset.
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const LocalTensor<T>& scaleTensor, const T offset,
                 const uint32_t scaleCount, const uint32_t calCount, ATTNEMU_AT) {
  if (detail::quant_counts("AscendQuant", scaleCount, calCount, srcTensor.GetSize(), at))
    detail::quantise(dstTensor, srcTensor, sharedTmpBuffer, detail::QuantRow<T>{scaleTensor}, detail::QuantNumber{static_cast<half>(static_cast<float>(offset))}, scaleCount, calCount, at);
}
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const LocalTensor<T>& scaleTensor, const T offset, ATTNEMU_AT) {
  AscendQuant<T, isReuseSource, config>(dstTensor, srcTensor, sharedTmpBuffer, scaleTensor, offset, scaleTensor.GetSize(), srcTensor.GetSize(), at);
}
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<T>& scaleTensor, const T offset, const uint32_t scaleCount, const uint32_t calCount,
                 ATTNEMU_AT) {
  AscendQuant<T, isReuseSource, config>(dstTensor, srcTensor, detail::free_memory(), scaleTensor, offset, scaleCount, calCount, at);
}
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<T>& scaleTensor, const T offset, ATTNEMU_AT) {
  AscendQuant<T, isReuseSource, config>(dstTensor, srcTensor, detail::free_memory(), scaleTensor, offset, scaleTensor.GetSize(), srcTensor.GetSize(), at);
}
// A factor and an offset a column.
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const LocalTensor<T>& scaleTensor,
                 const LocalTensor<T>& offsetTensor, const uint32_t scaleCount, const uint32_t offsetCount, const uint32_t calCount, ATTNEMU_AT) {
  if (scaleCount != offsetCount)
    return detail::complain("quant_shape", at, attnemu::format("AscendQuant: %u factors, but %u offsets", scaleCount, offsetCount));
  if (detail::quant_counts("AscendQuant", scaleCount, calCount, srcTensor.GetSize(), at))
    detail::quantise(dstTensor, srcTensor, sharedTmpBuffer, detail::QuantRow<T>{scaleTensor}, detail::QuantRow<T>{offsetTensor}, scaleCount, calCount, at);
}
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const LocalTensor<T>& scaleTensor,
                 const LocalTensor<T>& offsetTensor, ATTNEMU_AT) {
  AscendQuant<T, isReuseSource, config>(dstTensor, srcTensor, sharedTmpBuffer, scaleTensor, offsetTensor, scaleTensor.GetSize(), offsetTensor.GetSize(), srcTensor.GetSize(), at);
}
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<T>& scaleTensor, const LocalTensor<T>& offsetTensor, const uint32_t scaleCount,
                 const uint32_t offsetCount, const uint32_t calCount, ATTNEMU_AT) {
  AscendQuant<T, isReuseSource, config>(dstTensor, srcTensor, detail::free_memory(), scaleTensor, offsetTensor, scaleCount, offsetCount, calCount, at);
}
ATTNEMU_QUANT
void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<T>& scaleTensor, const LocalTensor<T>& offsetTensor, ATTNEMU_AT) {
  AscendQuant<T, isReuseSource, config>(dstTensor, srcTensor, detail::free_memory(), scaleTensor, offsetTensor, scaleTensor.GetSize(), offsetTensor.GetSize(), srcTensor.GetSize(), at);
}
#undef ATTNEMU_QUANT

namespace detail {

// Rows of m x n, of which the first `calCount` elements count; a single row may stand for several that count as a whole.
template <class T, DeQuantMode mode>
DequantParams dequant_rows(DequantParams p) {
  bool several = mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW && p.m == 1 && p.calCount && p.calCount % (32 / sizeof(T)) == 0 && p.n % p.calCount == 0;
  return several ? DequantParams{p.n / p.calCount, p.calCount, p.calCount} : p;
}
inline bool dequant_shape(const DequantParams& p, uint32_t scales, const SourceLine& at) {
  if (p.n && p.n % 8 == 0 && p.calCount && p.calCount <= p.n && p.calCount <= scales) return true;
  complain("quant_shape", at,
           attnemu::format("AscendDequant: %u rows of %u elements, of which %u count, with %u factors: rows are whole blocks of 32 bytes, and neither rows nor factors are shorter than what counts", p.m,
                           p.n, p.calCount, scales));
  return false;
}
// Each row in float, times `scale(first, n)`'s row or number, to the result's type.
template <class T, class Multiply>
void dequantise_rows(const LocalTensor<T>& dst, const LocalTensor<int32_t>& src, const LocalTensor<float>& row, const DequantParams& p, const Multiply& multiply, const SourceLine& at) {
  constexpr uint32_t block = 32 / sizeof(T);
  const uint32_t pitch = (p.n + block - 1) / block * block;
  for (uint32_t i = 0; i < p.m; ++i) {
    LocalTensor<T> to = dst[i * pitch];
    LocalTensor<float> x = row;
    if constexpr (std::is_same_v<T, float>) x = to;
    Cast(x, src[i * p.n], RoundMode::CAST_NONE, p.n, at);
    finish(at);
    multiply(x);
    finish(at);
    if constexpr (!std::is_same_v<T, float>) {
      Cast(to, x, RoundMode::CAST_RINT, p.n, at);
      finish(at);
    }
  }
}

}  // namespace detail

// dst = T(float(src) * scale), a factor a column. Of 64-bit factors the low half is a float.
template <class T, class U, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<T>& dstTensor, const LocalTensor<int32_t>& srcTensor, const LocalTensor<U>& deqScale, const LocalTensor<uint8_t>& sharedTmpBuffer, DequantParams params,
                   ATTNEMU_AT) {
  static_assert((std::is_same_v<T, half> && std::is_same_v<U, uint64_t>) || (detail::one_of<T, float, bfloat16_t> && detail::one_of<U, float, bfloat16_t>),
                "AscendDequant: half by factors of uint64, or float and bfloat16 by factors of float and bfloat16");
  const DequantParams p = detail::dequant_rows<T, mode>(params);
  if (!detail::dequant_shape(p, deqScale.GetSize(), at) || !detail::has_room("AscendDequant", sharedTmpBuffer, detail::least_for_dequant(p.n), at)) return;
  LocalTensor<float> row = sharedTmpBuffer.ReinterpretCast<float>(), scale = row[p.n];
  if constexpr (std::is_same_v<U, uint64_t>) {
    uint64_t kept = 0;
    GatherMask(scale, deqScale.template ReinterpretCast<float>(), 1, true, 2 * p.calCount, {1, 1, 8, 0}, kept, at);
  } else if constexpr (std::is_same_v<U, bfloat16_t>) {
    Cast(scale, deqScale, RoundMode::CAST_NONE, p.calCount, at);
  } else {
    scale = deqScale;
  }
  detail::finish(at);
  detail::dequantise_rows(dstTensor, srcTensor, row, p, [&](const LocalTensor<float>& x) { Mul(x, x, scale, static_cast<int32_t>(p.calCount), at); }, at);
}
// The same with one factor.
template <class T, class U, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<T>& dstTensor, const LocalTensor<int32_t>& srcTensor, const U deqScale, const LocalTensor<uint8_t>& sharedTmpBuffer, DequantParams params, ATTNEMU_AT) {
  static_assert(detail::one_of<T, float, bfloat16_t> && detail::one_of<U, float, bfloat16_t>, "AscendDequant: float and bfloat16 by a factor of float or bfloat16");
  const DequantParams p = detail::dequant_rows<T, mode>(params);
  if (!detail::dequant_shape(p, p.calCount, at) || !detail::has_room("AscendDequant", sharedTmpBuffer, detail::least_for_dequant(p.n), at)) return;
  const auto scale = static_cast<float>(deqScale);
  detail::dequantise_rows(dstTensor, srcTensor, sharedTmpBuffer.ReinterpretCast<float>(), p, [&](const LocalTensor<float>& x) { Muls(x, x, scale, static_cast<int32_t>(p.calCount), at); }, at);
}
// Without a temporary tensor; without rows the source is one, of which `calCount` elements (as many as there are factors) count.
template <class T, class U, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<T>& dstTensor, const LocalTensor<int32_t>& srcTensor, const LocalTensor<U>& deqScale, DequantParams params, ATTNEMU_AT) {
  AscendDequant<T, U, mode>(dstTensor, srcTensor, deqScale, detail::free_memory(), params, at);
}
template <class T, class U, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<T>& dstTensor, const LocalTensor<int32_t>& srcTensor, const U deqScale, DequantParams params, ATTNEMU_AT) {
  AscendDequant<T, U, mode>(dstTensor, srcTensor, deqScale, detail::free_memory(), params, at);
}
template <class T, class U, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<T>& dstTensor, const LocalTensor<int32_t>& srcTensor, const LocalTensor<U>& deqScale, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount,
                   ATTNEMU_AT) {
  AscendDequant<T, U, mode>(dstTensor, srcTensor, deqScale, sharedTmpBuffer, DequantParams{1, srcTensor.GetSize(), calCount}, at);
}
template <class T, class U, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<T>& dstTensor, const LocalTensor<int32_t>& srcTensor, const LocalTensor<U>& deqScale, const uint32_t calCount, ATTNEMU_AT) {
  AscendDequant<T, U, mode>(dstTensor, srcTensor, deqScale, detail::free_memory(), calCount, at);
}
template <class T, class U, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<T>& dstTensor, const LocalTensor<int32_t>& srcTensor, const LocalTensor<U>& deqScale, const LocalTensor<uint8_t>& sharedTmpBuffer, ATTNEMU_AT) {
  AscendDequant<T, U, mode>(dstTensor, srcTensor, deqScale, sharedTmpBuffer, deqScale.GetSize(), at);
}
template <class T, class U, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<T>& dstTensor, const LocalTensor<int32_t>& srcTensor, const LocalTensor<U>& deqScale, ATTNEMU_AT) {
  AscendDequant<T, U, mode>(dstTensor, srcTensor, deqScale, detail::free_memory(), deqScale.GetSize(), at);
}

namespace detail {

// Factors and offsets of rows of n elements (k of them), or of columns with `turned`; sizes that are not told stand on the tensors.
template <class T>
uint32_t antiquant_width(const LocalTensor<T>* offset, const LocalTensor<T>& scale, bool turned, const AntiQuantShapeInfo& told) {
  auto size = [&](uint32_t height, uint32_t width, const LocalTensor<T>& t) {
    if (!height && !width) {
      ShapeInfo s = t.GetShapeInfo();
      if (s.shapeDim != 2) return 0u;
      height = s.shape[0];
      width = s.shape[1];
    }
    return (turned ? width : height) == 1 ? turned ? height : width : 0u;
  };
  uint32_t n = size(told.scaleHeight, told.scaleWidth, scale);
  uint32_t m = offset ? size(told.offsetHeight, told.offsetWidth, *offset) : n;
  return n && m && n != m ? 0 : std::max(n, m);
}
inline bool antiquant_shape(uint64_t n, uint32_t k, uint64_t source, uint64_t factors, uint32_t row, const SourceLine& at) {
  if (n && k && n * k <= source && n <= factors && row % 32 == 0) return true;
  complain("quant_shape", at,
           attnemu::format("AscendAntiQuant: %llu factors (of %llu) for %u elements each of a source of %llu: their shapes are [1, N], with isTranspose [N, 1], and rows are multiples of 32 elements",
                           static_cast<unsigned long long>(n), static_cast<unsigned long long>(factors), k, static_cast<unsigned long long>(source)));
  return false;
}
// dst = (half(src) + offset) * scale for `n` elements; bfloat16 results are computed in float, in `wide`. `add` and `multiply` do their part.
template <class T, class S, class Add, class Multiply>
void antiquantise(const LocalTensor<T>& dst, const LocalTensor<S>& src, const LocalTensor<float>& wide, uint32_t n, const Add& add, const Multiply& multiply, const SourceLine& at) {
  LocalTensor<half> narrow = dst.template ReinterpretCast<half>();
  Cast(narrow, src, RoundMode::CAST_NONE, n, at);
  finish(at);
  if constexpr (std::is_same_v<T, half>) {
    add(narrow);
    multiply(narrow);
  } else {
    Cast(wide, narrow, RoundMode::CAST_NONE, n, at);
    finish(at);
    add(wide);
    multiply(wide);
    Cast(dst, wide, RoundMode::CAST_RINT, n, at);
    finish(at);
  }
}
template <class S, class T>
constexpr bool antiquant_types() {
  static_assert(one_of<S, int8_t, int4b_t> && one_of<T, half, bfloat16_t>, "AscendAntiQuant: int8 or int4 to half or bfloat16");
  return true;
}
// One factor for `n` elements, piece by piece as temporary memory has room.
template <class S, class T>
void antiquantise_by(const LocalTensor<T>& dst, const LocalTensor<S>& src, const LocalTensor<uint8_t>& tmp, uint32_t n, bool shifted, float offset, float scale, const SourceLine& at) {
  const uint32_t most = std::is_same_v<T, half> ? n : tmp.GetLength() / 4 / 64 * 64;
  for (uint32_t first = 0; first < n; first += most) {
    uint32_t part = std::min(most, n - first);
    auto lanes = static_cast<int32_t>(part);
    antiquantise(
        dst[first], src[first], tmp.ReinterpretCast<float>(), part,
        [&](const auto& x) {
          if (!shifted) return;
          Adds(x, x, static_cast<typename std::decay_t<decltype(x)>::PrimType>(offset), lanes, at);
          finish(at);
        },
        [&](const auto& x) {
          Muls(x, x, static_cast<typename std::decay_t<decltype(x)>::PrimType>(scale), lanes, at);
          finish(at);
        },
        at);
  }
}
template <class S, class T, bool turned>
void antiquantise_columns(const LocalTensor<T>& dst, const LocalTensor<S>& src, const LocalTensor<T>* offset, const LocalTensor<T>& scale, const LocalTensor<uint8_t>& tmp, uint32_t k,
                          const AntiQuantShapeInfo& told, const SourceLine& at) {
  static_assert(antiquant_types<S, T>());
  const uint32_t n = antiquant_width(offset, scale, turned, told);
  constexpr bool wide = std::is_same_v<T, bfloat16_t>;
  if (!antiquant_shape(n, k, src.GetSize(), std::min(scale.GetSize(), offset ? offset->GetSize() : scale.GetSize()), turned ? k : n, at)) return;
  if (wide && !has_room("AscendAntiQuant", tmp, least_for_antiquant(n, k, turned), at)) return;
  if constexpr (turned) {
    for (uint32_t i = 0; i < n; ++i)
      antiquantise_by<S, T>(dst[i * k], src[i * k], tmp, k, offset != nullptr, offset ? value_at(*offset, i, at) : 0, value_at(scale, i, at), at);
  } else {
    LocalTensor<float> shift = tmp.ReinterpretCast<float>(), factor = shift[n], room = factor[n];
    if constexpr (wide) {
      if (offset) Cast(shift, *offset, RoundMode::CAST_NONE, n, at);
      Cast(factor, scale, RoundMode::CAST_NONE, n, at);
      finish(at);
    }
    const uint32_t most = wide ? std::min(n, 64 * k) : n;
    for (uint32_t i = 0; i < k; ++i)
      for (uint32_t first = 0; first < n; first += most) {
        uint32_t part = std::min(most, n - first);
        auto lanes = static_cast<int32_t>(part);
        antiquantise(
            dst[i * n + first], src[i * n + first], room, part,
            [&](const auto& x) {
              if (!offset) return;
              if constexpr (wide) Add(x, x, shift[first], lanes, at);
              else Add(x, x, (*offset)[first], lanes, at);
              finish(at);
            },
            [&](const auto& x) {
              if constexpr (wide) Mul(x, x, factor[first], lanes, at);
              else Mul(x, x, scale[first], lanes, at);
              finish(at);
            },
            at);
      }
  }
}
template <class S, class T>
void antiquantise_all(const LocalTensor<T>& dst, const LocalTensor<S>& src, const LocalTensor<uint8_t>& tmp, bool shifted, T offset, T scale, const SourceLine& at) {
  static_assert(antiquant_types<S, T>());
  if (std::is_same_v<T, bfloat16_t> && !has_room("AscendAntiQuant", tmp, kLeastForAntiquant, at)) return;
  antiquantise_by<S, T>(dst, src, tmp, src.GetSize(), shifted, static_cast<float>(offset), static_cast<float>(scale), at);
}

}  // namespace detail

// dst = (src + offset) * scale; the source is [k, N], with isTranspose [N, k], and factors are N, or one.
#define ATTNEMU_ANTIQUANT template <class S, class T, bool isTranspose>
ATTNEMU_ANTIQUANT
void AscendAntiQuant(const LocalTensor<T>& dst, const LocalTensor<S>& src, const LocalTensor<T>& offset, const LocalTensor<T>& scale, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t k,
                     const AntiQuantShapeInfo& shapeInfo = {}, ATTNEMU_AT) {
  detail::antiquantise_columns<S, T, isTranspose>(dst, src, &offset, scale, sharedTmpBuffer, k, shapeInfo, at);
}
ATTNEMU_ANTIQUANT
void AscendAntiQuant(const LocalTensor<T>& dst, const LocalTensor<S>& src, const LocalTensor<T>& scale, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t k,
                     const AntiQuantShapeInfo& shapeInfo = {}, ATTNEMU_AT) {
  detail::antiquantise_columns<S, T, isTranspose>(dst, src, nullptr, scale, sharedTmpBuffer, k, shapeInfo, at);
}
ATTNEMU_ANTIQUANT
void AscendAntiQuant(const LocalTensor<T>& dst, const LocalTensor<S>& src, const LocalTensor<T>& offset, const LocalTensor<T>& scale, const uint32_t k, const AntiQuantShapeInfo& shapeInfo = {},
                     ATTNEMU_AT) {
  AscendAntiQuant<S, T, isTranspose>(dst, src, offset, scale, detail::free_memory(), k, shapeInfo, at);
}
ATTNEMU_ANTIQUANT
void AscendAntiQuant(const LocalTensor<T>& dst, const LocalTensor<S>& src, const T offset, const T scale, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t,
                     const AntiQuantShapeInfo& = {}, ATTNEMU_AT) {
  detail::antiquantise_all<S, T>(dst, src, sharedTmpBuffer, true, offset, scale, at);
}
ATTNEMU_ANTIQUANT
void AscendAntiQuant(const LocalTensor<T>& dst, const LocalTensor<S>& src, const T scale, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t, const AntiQuantShapeInfo& = {},
                     ATTNEMU_AT) {
  detail::antiquantise_all<S, T>(dst, src, sharedTmpBuffer, false, T(0), scale, at);
}
ATTNEMU_ANTIQUANT
void AscendAntiQuant(const LocalTensor<T>& dst, const LocalTensor<S>& src, const T offset, const T scale, const uint32_t, const AntiQuantShapeInfo& = {}, ATTNEMU_AT) {
  detail::antiquantise_all<S, T>(dst, src, detail::free_memory(), true, offset, scale, at);
}
#undef ATTNEMU_ANTIQUANT

}  // namespace AscendC
