// Brcb, Gather, Gatherb, GatherMask.
#pragma once
#include "vector_arith.h"

namespace AscendC {

template <class T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint8_t repeatTimes, const BrcbRepeatParams& p, ATTNEMU_AT) {
  static_assert(kFillType<T>, "Brcb: " ATTNEMU_FILL_TYPES);
  attnemu::broadcast_blocks("Brcb", at, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), detail::lanes(src), repeatTimes);
}

template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, const uint32_t srcBaseAddr, const uint32_t count, ATTNEMU_AT) {
  static_assert(kFillType<T>, "Gather: " ATTNEMU_FILL_TYPES);
  attnemu::gather("Gather", at, detail::lanes(dst), detail::lanes(src), detail::lanes(offsets), srcBaseAddr, detail::count_shape(count, detail::per_repeat<T>(), "Gather", at));
}
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, const uint32_t srcBaseAddr, const uint64_t mask,
            const uint8_t repeatTimes, const uint16_t dstRepStride, ATTNEMU_AT) {
  static_assert(kFillType<T>, "Gather: " ATTNEMU_FILL_TYPES);
  attnemu::gather("Gather", at, detail::lanes(dst, 1, dstRepStride), detail::lanes(src), detail::lanes(offsets), srcBaseAddr,
                  detail::shape<true>(mask, repeatTimes, detail::per_repeat<T>(), "Gather", at));
}
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, const uint32_t srcBaseAddr, const uint64_t mask[],
            const uint8_t repeatTimes, const uint16_t dstRepStride, ATTNEMU_AT) {
  static_assert(kFillType<T>, "Gather: " ATTNEMU_FILL_TYPES);
  attnemu::gather("Gather", at, detail::lanes(dst, 1, dstRepStride), detail::lanes(src), detail::lanes(offsets), srcBaseAddr,
                  detail::shape<true>(mask, repeatTimes, detail::per_repeat<T>(), "Gather", at));
}
template <class T>
void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, const uint8_t repeatTimes, const GatherRepeatParams& p, ATTNEMU_AT) {
  static_assert(detail::one_of<T, uint16_t, uint32_t>, "Gatherb: uint16 or uint32");
  attnemu::gather_blocks("Gatherb", at, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), detail::lanes(src), detail::lanes(offsets), repeatTimes);
}

namespace detail {
template <class T>
uint64_t gather_mask(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t pattern, const attnemu::Place& bits, bool reduceMode, uint32_t mask,
                     const GatherMaskParams& p, const SourceLine& at) {
  static_assert(kFillType<T>, "GatherMask: " ATTNEMU_FILL_TYPES);
  constexpr uint32_t per = per_repeat<T>();
  if (!reduceMode)
    return attnemu::gather_mask("GatherMask", at, dst.place(), lanes(src, p.src0BlockStride, p.src0RepeatStride), pattern, bits,
                                p.src1RepeatStride, LaneShape::masked(LaneMask::first(per), p.repeatTimes, per));
  // counter mode: each of the repeats takes `mask` elements, however many instructions' worth that is
  attnemu::GatherRounds rounds{p.repeatTimes, p.src0RepeatStride, p.src1RepeatStride, true};
  return attnemu::gather_mask("GatherMask", at, dst.place(), lanes(src, p.src0BlockStride, 8u * p.src0BlockStride), pattern, bits,
                              0, LaneShape::count(mask, per), rounds);
}
}  // namespace detail

template <class T, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint8_t pattern, const bool reduceMode, const uint32_t mask, const GatherMaskParams& p,
                uint64_t& rsvdCnt, ATTNEMU_AT) {
  rsvdCnt = attnemu::core->reg.gathered = detail::gather_mask(dst, src, pattern, {}, reduceMode, mask, p, at);
}
template <class T, class U, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<U>& pattern, const bool reduceMode, const uint32_t mask, const GatherMaskParams& p,
                uint64_t& rsvdCnt, ATTNEMU_AT) {
  static_assert(detail::one_of<U, uint16_t, uint32_t> && sizeof(U) == sizeof(T), "GatherMask: the bits are uint16 for 16-bit and uint32 for 32-bit elements");
  rsvdCnt = attnemu::core->reg.gathered = detail::gather_mask(dst, src, 0, pattern.place(), reduceMode, mask, p, at);
}
// Of the latest GatherMask. The kernel orders V before S.
inline int64_t GetGatherMaskRemainCount() { return static_cast<int64_t>(attnemu::core->reg.gathered); }

}  // namespace AscendC
