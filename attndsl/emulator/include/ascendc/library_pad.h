// Rows that get or lose columns at their ends, so that they fill whole blocks.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "library_layout.h"

namespace AscendC {

struct PadParams { uint16_t leftPad = 0, rightPad = 0; int32_t padValue = 0; };
struct UnPadParams { uint16_t leftPad = 0, rightPad = 0; };

namespace detail {
template <class T>
constexpr bool kPadType = one_of<T, int16_t, uint16_t, half, int32_t, uint32_t, float>;
// Lanes [first, last) of one block.
template <class T>
void fill_lanes(const LocalTensor<T>& block, uint32_t first, uint32_t last, T value, const SourceLine& at) {
  if (first >= last) return;
  uint64_t lanes[2] = {(1ull << last) - (1ull << first), 0};
  Duplicate(block, value, lanes, 1, 1, 8, at);
}
// Elements [first, first + n) of a packed row, the ends' neighbours repeated where it has none, come to `dst`.
template <class T>
void gather_row(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<int32_t>& offsets, uint32_t start, uint32_t width, int32_t first, uint32_t n, const SourceLine& at) {
  auto count = static_cast<int32_t>(n);
  CreateVecIndex(offsets, first, n, at);
  finish(at);
  Maxs(offsets, offsets, 0, count, at);
  finish(at);
  Mins(offsets, offsets, static_cast<int32_t>(width) - 1, count, at);
  finish(at);
  Muls(offsets, offsets, static_cast<int32_t>(sizeof(T)), count, at);
  finish(at);
  Gather(dst, src, offsets.ReinterpretCast<uint32_t>(), start * static_cast<uint32_t>(sizeof(T)), n, at);
  finish(at);
}
}  // namespace detail

// Rows of srcWidth elements, packed, come to whole blocks each; of rows that are whole blocks the columns behind srcOriWidth are filled.
template <class T>
void Pad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, PadParams& padParams, const LocalTensor<uint8_t>& sharedTmpBuffer, PadTiling& tiling, ATTNEMU_AT) {
  static_assert(detail::kPadType<T>, "Pad: elements of 16 or 32 bits");
  constexpr uint32_t block = 32 / sizeof(T);
  const uint32_t rows = tiling.srcHeight, width = tiling.srcWidth, wide = (width + block - 1) / block * block, left = padParams.leftPad, right = padParams.rightPad;
  const bool whole = wide == width;
  const uint32_t used = whole ? tiling.srcOriWidth : width;
  if (!rows || !width || used > width || used + left + right > wide || (whole && left))
    return detail::complain("pad_shape", at, attnemu::format("Pad: %u and %u columns at rows of %u, of which %u count: rows may grow to whole blocks of 32 bytes, those that are already so at their right end only", left,
                                                             right, width, used));
  if (!whole && !detail::has_room("Pad", sharedTmpBuffer, detail::kLeastForPad, at)) return;
  const T value = static_cast<T>(padParams.padValue);
  LocalTensor<int32_t> offsets = sharedTmpBuffer.ReinterpretCast<int32_t>();
  const uint32_t most = sharedTmpBuffer.GetLength() / 4 / 64 * 64, last = wide - block;
  for (uint32_t row = 0; row < rows; ++row) {
    LocalTensor<T> to = dstTensor[row * wide];
    if (whole) detail::copy_row(to, srcTensor[row * wide], wide, 8, at);
    else
      for (uint32_t first = 0; first < wide; first += most)
        detail::gather_row(to[first], srcTensor, offsets, row * width, width, static_cast<int32_t>(first) - static_cast<int32_t>(left), std::min(most, wide - first), at);
    detail::finish(at);
    const uint32_t end = left + used;
    detail::fill_lanes(to, 0, left, value, at);
    detail::finish(at);
    detail::fill_lanes(to[last], std::max(end, last) - last, std::min(end + right, wide) - last, value, at);
    detail::finish(at);
  }
}
template <class T>
void Pad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, PadParams& padParams, PadTiling& tiling, ATTNEMU_AT) { Pad(dstTensor, srcTensor, padParams, detail::free_memory(), tiling, at); }

// Rows of whole blocks lose columns at their right end and come to be packed.
template <class T>
void UnPad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, UnPadParams& unPadParams, LocalTensor<uint8_t>&, UnPadTiling& tiling, ATTNEMU_AT) {
  static_assert(detail::kPadType<T>, "UnPad: elements of 16 or 32 bits");
  constexpr uint32_t block = 32 / sizeof(T);
  const uint32_t rows = tiling.srcHeight, width = tiling.srcWidth, right = unPadParams.rightPad;
  if (!rows || !width || width % block || !right || right >= block)
    return detail::complain("pad_shape", at, attnemu::format("UnPad: %u columns of rows of %u: rows are whole blocks of 32 bytes, and lose at least one column and less than a block", right, width));
  uint64_t kept = 0;
  GatherMask(dstTensor, srcTensor, 7, true, width - right, {1, static_cast<uint16_t>(rows), static_cast<uint16_t>(width / block), 0}, kept, at);
  detail::finish(at);
}
template <class T>
void UnPad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, UnPadParams& unPadParams, UnPadTiling& tiling, ATTNEMU_AT) {
  LocalTensor<uint8_t> none;
  UnPad(dstTensor, srcTensor, unPadParams, none, tiling, at);
}

}  // namespace AscendC
