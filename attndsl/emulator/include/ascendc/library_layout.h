// Broadcasts of the library.
#pragma once
#include "library_steps.h"
#include "vector_gather.h"

namespace AscendC {

namespace detail {
// A row of `columns` elements from one of them (step 8), or from a single block (step 0).
template <class T>
void copy_row(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t columns, uint16_t step, const SourceLine& at) {
  constexpr uint32_t lanes = 256 / sizeof(T);
  const uint16_t block_step = step ? 1 : 0;
  const uint32_t whole = columns / lanes;
  for (uint32_t i = 0; i < whole; i += 255)
    Copy(dst[i * lanes], step ? src[i * lanes] : src, lanes, static_cast<uint8_t>(std::min(whole - i, 255u)), {1, block_step, 8, step}, at);
  if (columns % lanes) Copy(dst[whole * lanes], step ? src[whole * lanes] : src, columns % lanes, 1, {1, block_step, 8, step}, at);
}
// A row of bytes from one of them, two at a time.
template <class T>
void copy_bytes(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t columns, const SourceLine& at) {
  copy_row(dst.template ReinterpretCast<int16_t>(), src.template ReinterpretCast<int16_t>(), (columns + 1) / 2, 8, at);
}
// Each byte fills a row of `columns`: by halves, 32 of them at once, and rows piece by piece.
template <class T>
void spread_bytes(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t rows, uint32_t columns, const LocalTensor<uint8_t>& tmp, const SourceLine& at) {
  LocalTensor<half> values = tmp.ReinterpretCast<half>(), blocks = values[32], row = blocks[32 * 16];
  const uint32_t most = row.GetSize() / 128 * 128;
  for (uint32_t i = 0; i < rows; ++i) {
    if (i % 32 == 0) {
      Cast(values, src[i], RoundMode::CAST_NONE, std::min(32u, rows - i), at);
      finish(at);
      Brcb(blocks, values, static_cast<uint8_t>((std::min(32u, rows - i) + 7) / 8), {1, 8}, at);
      finish(at);
    }
    for (uint32_t first = 0; first < columns; first += most) {
      uint32_t n = std::min(most, columns - first);
      copy_row(row, blocks[i % 32 * 16], n, 0, at);
      finish(at);
      Cast(dst[i * columns + first], row, RoundMode::CAST_NONE, n, at);
      finish(at);
    }
  }
}
}  // namespace detail
// Along the last axis: each element fills a row of `columns`; along the first: the row is repeated.
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim], const uint32_t srcShape[dim], const LocalTensor<uint8_t>& sharedTmpBuffer, ATTNEMU_AT) {
  static_assert(dim == 1 || dim == 2, "BroadCast: one or two dimensions");
  static_assert(axis == 0 || axis == 1, "BroadCast: the axis is 0 or 1");
  static_assert(detail::one_of<T, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float, int8_t, uint8_t>, "BroadCast: no such element type on Atlas A2");
  const uint32_t rows = dim == 1 ? 1 : dstShape[0], columns = dstShape[dim - 1];
  constexpr bool along = dim == 1 || axis == 1;
  const uint32_t source_rows = dim == 1 ? 1 : srcShape[0], source_columns = srcShape[dim - 1];
  bool fits = along ? source_columns == 1 && source_rows == rows : source_rows == 1 && source_columns == columns;
  if (!fits) return detail::complain("broadcast_shape", at, attnemu::format("BroadCast: [%u, %u] does not become [%u, %u] along axis %d", source_rows, source_columns, rows, columns, axis));
  if (rows > 1 && columns * sizeof(T) % 32)
    return detail::complain("row_alignment", at, attnemu::format("BroadCast: rows of the result have %u elements, which are no multiple of 32 bytes", columns));
  if constexpr (!along) {
    for (uint32_t i = 0; i < rows; ++i) {
      if constexpr (sizeof(T) == 1) detail::copy_bytes(dst[i * columns], src, columns, at);
      else detail::copy_row(dst[i * columns], src, columns, 8, at);
    }
  } else if constexpr (sizeof(T) == 1) {
    if (detail::has_room("BroadCast", sharedTmpBuffer, detail::least_for_broadcast(1), at)) detail::spread_bytes(dst, src, rows, columns, sharedTmpBuffer, at);
  } else {
    constexpr uint32_t block = 32 / sizeof(T);
    if (!detail::has_room("BroadCast", sharedTmpBuffer, detail::least_for_broadcast(sizeof(T)), at)) return;
    LocalTensor<T> blocks = sharedTmpBuffer.ReinterpretCast<T>();
    // a block of the source at once, which is one repeat of Brcb or two
    for (uint32_t first = 0; first < rows; first += block) {
      Brcb(blocks, src[first], block / 8, {1, 8}, at);
      detail::finish(at);
      for (uint32_t i = first; i < std::min(first + block, rows); ++i) {
        detail::copy_row(dst[i * columns], blocks[(i - first) * block], columns, 0, at);
      }
      detail::finish(at);
    }
  }
  detail::finish(at);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim], const uint32_t srcShape[dim], ATTNEMU_AT) {
  BroadCast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, detail::free_memory(), at);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim], const uint32_t srcShape[dim], const LocalTensor<uint8_t>& sharedTmpBuffer, ATTNEMU_AT) {
  BroadCast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, sharedTmpBuffer, at);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim], const uint32_t srcShape[dim], ATTNEMU_AT) {
  BroadCast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, detail::free_memory(), at);
}

}  // namespace AscendC
