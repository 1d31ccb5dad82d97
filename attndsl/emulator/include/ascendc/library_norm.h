// Normalization of rows by the library.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "library_rows.h"

namespace AscendC {
namespace detail {
// Rows of a normalization: `columns` elements apart, of which `used` count.
inline bool norm_rows(const char* what, uint32_t type_bytes, uint32_t rows, uint32_t columns, uint32_t used, const SourceLine& at) {
  if (rows && columns && columns * type_bytes % 32 == 0 && used && used <= columns) return true;
  complain("norm_shape", at, attnemu::format("%s: the tiling has %u rows of %u elements, of which %u count: whole blocks of 32 bytes are needed", what, rows, columns, used));
  return false;
}
}  // namespace detail

// (x - mean) / sqrt(variance + epsilon) * gamma + beta
template <class T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX, const LocalTensor<T>& gamma,
               const LocalTensor<T>& beta, const LocalTensor<uint8_t>& sharedTmpBuffer, const T epsilon, const LayerNormTiling& tiling, ATTNEMU_AT) {
  static_assert(detail::one_of<T, half, float>, "LayerNorm: half or float");
  const uint32_t rows = tiling.bLength * tiling.sLength, columns = tiling.hLength, used = tiling.originalHLength ? tiling.originalHLength : columns;
  if (!detail::norm_rows("LayerNorm", sizeof(T), rows, columns, used, at)) return;
  if (!detail::has_room("LayerNorm", sharedTmpBuffer, detail::least_for_layernorm(sizeof(T), isReuseSource, rows, columns), at)) return;
  // three rows of halves, one of floats; sums are made in the row of squares
  LocalTensor<float> squares = sharedTmpBuffer.ReinterpretCast<float>(), wide = squares[columns], second = wide[columns];
  detail::Steps<float> v{static_cast<int32_t>(columns), at};
  const uint32_t lanes = std::min(columns, 255u);
  auto sum = [&](const LocalTensor<float>& row) {
    v.adds(squares, row, 0);
    return detail::row_value<attnemu::Reduction::Sum>(squares, used, squares, lanes, at);
  };
  for (uint32_t i = 0; i < rows; ++i) {
    LocalTensor<T> to = output[i * columns];
    LocalTensor<float> x = detail::widened(inputX[i * columns], wide, columns, at), y = detail::working_row(to, wide);
    float mean = sum(x) / static_cast<float>(used);
    v.adds(y, x, -mean);
    v.mul(squares, y, y);
    float variance = detail::row_value<attnemu::Reduction::Sum>(squares, used, squares, lanes, at) / static_cast<float>(used);
    v.muls(y, y, 1 / std::sqrt(variance + static_cast<float>(epsilon)));
    v.mul(y, y, detail::widened(gamma, second, columns, at));
    v.add(y, y, detail::widened(beta, second, columns, at));
    detail::narrow(to, y, columns, at);
    detail::set_value(outputMean, i, mean, at);
    detail::set_value(outputVariance, i, variance, at);
  }
}
template <class T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX, const LocalTensor<T>& gamma,
               const LocalTensor<T>& beta, const T epsilon, const LayerNormTiling& tiling, ATTNEMU_AT) {
  LayerNorm<T, isReuseSource>(output, outputMean, outputVariance, inputX, gamma, beta, detail::free_memory(), epsilon, tiling, at);
}

// x / sqrt(mean of squares + epsilon) * gamma
template <class T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma, const LocalTensor<uint8_t>& sharedTmpBuffer, const T epsilon, const RmsNormTiling& tiling, ATTNEMU_AT) {
  static_assert(detail::one_of<T, half, float>, "RmsNorm: half or float");
  const uint32_t rows = tiling.bLength * tiling.sLength, columns = tiling.hLength, used = tiling.originalHLength ? tiling.originalHLength : columns;
  if (!detail::norm_rows("RmsNorm", sizeof(T), rows, columns, used, at)) return;
  if (!detail::has_room("RmsNorm", sharedTmpBuffer, detail::least_for_rmsnorm(sizeof(T), columns), at)) return;
  LocalTensor<float> squares = sharedTmpBuffer.ReinterpretCast<float>(), wide = squares[columns];
  detail::Steps<float> v{static_cast<int32_t>(columns), at};
  for (uint32_t i = 0; i < rows; ++i) {
    LocalTensor<T> to = dst[i * columns];
    LocalTensor<float> x = detail::widened(src[i * columns], wide, columns, at), y = detail::working_row(to, wide);
    v.mul(squares, x, x);
    float mean = detail::row_value<attnemu::Reduction::Sum>(squares, used, squares, std::min(columns, 255u), at) / static_cast<float>(used);
    v.muls(y, x, 1 / std::sqrt(mean + static_cast<float>(epsilon)));
    v.mul(y, y, detail::widened(gamma, squares, columns, at));
    detail::narrow(to, y, columns, at);
  }
}
template <class T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma, const T epsilon, const RmsNormTiling& tiling, ATTNEMU_AT) {
  RmsNorm<T, isBasicBlock>(dst, src, gamma, detail::free_memory(), epsilon, tiling, at);
}

}  // namespace AscendC
