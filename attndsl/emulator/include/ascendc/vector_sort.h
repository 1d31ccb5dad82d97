// Sort32, MrgSort, Extract and the transposes.
#pragma once
#include "attnemu/sort.h"
#include "vector_arith.h"

namespace AscendC {

template <class T>
struct MrgSortSrcList {
  MrgSortSrcList() = default;
  MrgSortSrcList(const LocalTensor<T>& a, const LocalTensor<T>& b, const LocalTensor<T>& c, const LocalTensor<T>& d) : src1(a), src2(b), src3(c), src4(d) {}
  LocalTensor<T> src1, src2, src3, src4;
};
struct MrgSort4Info {
  MrgSort4Info() = default;
  MrgSort4Info(const uint16_t (&lengths)[4], bool suspend, uint16_t valid, uint16_t repeats) : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(repeats) {
    for (int i = 0; i < 4; ++i) elementLengths[i] = lengths[i];
  }
  uint16_t elementLengths[4] = {0};
  bool ifExhaustedSuspension = false;
  uint16_t validBit = 0;
  uint8_t repeatTimes = 1;
};

template <class T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& index, const int32_t repeatTimes, ATTNEMU_AT) {
  static_assert(detail::one_of<T, half, float>, "Sort32: half or float");
  attnemu::sort_32("Sort32", at, detail::lanes(dst), detail::lanes(src), detail::lanes(index), static_cast<uint32_t>(repeatTimes));
}
template <class T>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& info, ATTNEMU_AT) {
  static_assert(detail::one_of<T, half, float>, "MrgSort: half or float");
  if (info.validBit != 3 && info.validBit != 7 && info.validBit != 15) return detail::complain("merge_valid", at, attnemu::format("MrgSort: validBit %u is none of 3, 7, 15", info.validBit));
  attnemu::Merge m;
  const LocalTensor<T>* lists[4] = {&src.src1, &src.src2, &src.src3, &src.src4};
  m.lists = info.validBit == 3 ? 2 : info.validBit == 7 ? 3 : 4;
  for (uint32_t i = 0; i < 4; ++i) {
    m.from[i] = lists[i]->GetPhyAddr();
    m.lengths[i] = i < m.lists ? info.elementLengths[i] : 0;
  }
  m.stop_when_exhausted = info.ifExhaustedSuspension;
  m.repeats = info.repeatTimes;
  attnemu::merge_sorted("MrgSort", at, detail::lanes(dst), m);
}
inline void GetMrgSortResult(uint16_t& a, uint16_t& b, uint16_t& c, uint16_t& d) {
  a = attnemu::core->reg.merged[0];
  b = attnemu::core->reg.merged[1];
  c = attnemu::core->reg.merged[2];
  d = attnemu::core->reg.merged[3];
}
template <class T>
void Extract(const LocalTensor<T>& value, const LocalTensor<uint32_t>& index, const LocalTensor<T>& sorted, const int32_t repeatTimes, ATTNEMU_AT) {
  attnemu::split_records("Extract", at, detail::lanes(value), detail::lanes(index), detail::lanes(sorted), static_cast<uint32_t>(repeatTimes));
}
// Records of 8 bytes, counted in elements of T.
template <class T>
uint32_t GetSortOffset(const uint32_t elements) { return static_cast<uint32_t>(elements * 8 / sizeof(T)); }
template <class T>
uint32_t GetSortLen(const uint32_t elements) { return static_cast<uint32_t>(elements * 8 / sizeof(T)); }

template <class T>
void TransDataTo5HD(const LocalTensor<T> (&dst)[16], const LocalTensor<T> (&src)[16], const TransDataTo5HDParams& p, ATTNEMU_AT) {
  static_assert(sizeof(T) <= 4, "TransDataTo5HD: elements of 8, 16 or 32 bits");
  attnemu::BlockTranspose t;
  for (int i = 0; i < 16; ++i) {
    t.to[i] = dst[i].GetPhyAddr();
    t.from[i] = src[i].GetPhyAddr();
  }
  t.repeats = p.repeatTimes;
  t.to_step = p.dstRepStride;
  t.from_step = p.srcRepStride;
  t.to_high = p.dstHighHalf;
  t.from_high = p.srcHighHalf;
  attnemu::transpose_blocks("TransDataTo5HD", at, dst[0].memory(), sizeof(T), t);
}
// One 16x16 matrix of 16-bit elements.
template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, ATTNEMU_AT) {
  static_assert(detail::one_of<T, int16_t, uint16_t, half>, "Transpose: int16, uint16 or half");
  attnemu::BlockTranspose t;
  for (uint64_t i = 0; i < 16; ++i) {
    t.to[i] = dst.GetPhyAddr() + i * 32;
    t.from[i] = src.GetPhyAddr() + i * 32;
  }
  attnemu::transpose_blocks("Transpose", at, dst.memory(), sizeof(T), t);
}

}  // namespace AscendC
