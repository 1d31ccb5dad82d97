// Sort32, MrgSort, Extract and the transposes.
#pragma once
#include "attnemu/sort.h"
#include "data_copy.h"
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
    m.from[i] = lists[i]->place();
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
// Merge with the counts consumed as a result (they are read from the scalar unit: the library waits for V).
template <class T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& list, const uint16_t counts[4], uint32_t sorted[4], uint16_t validBit, const int32_t repeatTime, ATTNEMU_AT) {
  const uint16_t lengths[4] = {counts[0], counts[1], counts[2], counts[3]};
  MrgSort(dst, list, MrgSort4Info(lengths, isExhaustedSuspension, validBit, static_cast<uint16_t>(repeatTime)), at);
  if constexpr (isExhaustedSuspension)
    for (int i = 0; i < 4; ++i) sorted[i] = attnemu::core->reg.merged[i];
}
// Scores and indices are separate on Atlas A2: nothing to concatenate.
template <class T>
void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>& tmp, const int32_t repeatTime) {
  (void)tmp;
  (void)repeatTime;
  concat = src;
}
namespace detail {
// One level of a full sort: runs of `run` records, four by four, from `src` to `dst`, of `records` in all.
template <class T>
void merge_level(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t run, uint32_t records, const SourceLine& at) {
  constexpr uint32_t kRecord = 8 / sizeof(T);
  for (uint32_t first = 0; first < records; first += 4 * run) {
    uint16_t lengths[4] = {};
    LocalTensor<T> lists[4] = {src, src, src, src};
    uint32_t n = 0;
    for (; n < 4 && first + n * run < records; ++n) {
      uint32_t left = records - (first + n * run);
      lengths[n] = static_cast<uint16_t>(left < run ? left : run);
      lists[n] = src[(first + n * run) * kRecord];
    }
    LocalTensor<T> to = dst[first * kRecord];
    if (n > 1) MrgSort(to, MrgSortSrcList<T>(lists[0], lists[1], lists[2], lists[3]), MrgSort4Info(lengths, false, static_cast<uint16_t>((1 << n) - 1), 1), at);
    else DataCopy(to, lists[0], lengths[0] * kRecord, at);
  }
  attnemu::pipe_barrier(Pipe::V, at);
}
// Records sorted in groups of 32 become one list, in one of two tensors in turn; the one that has it.
template <class T>
LocalTensor<T> merge_all(LocalTensor<T> from, LocalTensor<T> to, uint32_t records, const SourceLine& at) {
  for (uint32_t run = 32; run < records; run *= 4) {
    merge_level(to, from, run, records, at);
    std::swap(from, to);
  }
  return from;
}
}  // namespace detail
// Records sorted in groups of 32, or (isFullSort) all of them; `tmp` holds as many records as `dst`.
template <class T, bool isFullSort>
void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index, LocalTensor<T>& tmp, const int32_t repeatTime, ATTNEMU_AT) {
  Sort32(dst, concat, index, repeatTime, at);
  attnemu::pipe_barrier(detail::Pipe::V, at);
  if constexpr (isFullSort) {
    uint32_t records = static_cast<uint32_t>(repeatTime) * 32;
    LocalTensor<T> from = detail::merge_all(dst, tmp, records, at);
    if (from.GetPhyAddr() != dst.GetPhyAddr()) DataCopy(dst, from, records * static_cast<uint32_t>(8 / sizeof(T)), at);
  }
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
    t.to[i] = dst[i].place();
    t.from[i] = src[i].place();
  }
  t.repeats = p.repeatTimes;
  t.to_step = p.dstRepStride;
  t.from_step = p.srcRepStride;
  t.to_high = p.dstHighHalf;
  t.from_high = p.srcHighHalf;
  attnemu::transpose_blocks("TransDataTo5HD", at, sizeof(T), t);
}
// The same with byte addresses in UB.
template <class T>
void TransDataTo5HD(uint64_t dst[16], uint64_t src[16], const TransDataTo5HDParams& p, ATTNEMU_AT) {
  LocalTensor<T> to[16], from[16];
  for (int i = 0; i < 16; ++i) {
    to[i] = LocalTensor<T>(TPosition::VECCALC, static_cast<uint32_t>(dst[i]), 0);
    from[i] = LocalTensor<T>(TPosition::VECCALC, static_cast<uint32_t>(src[i]), 0);
  }
  TransDataTo5HD(to, from, p, at);
}
// The same with the addresses in two tensors of 16 words of 64 bits, which kernels fill by SetValue; the scalar unit reads them.
template <class T>
void TransDataTo5HD(const LocalTensor<uint64_t>& dst, const LocalTensor<uint64_t>& src, const TransDataTo5HDParams& p, ATTNEMU_AT) {
  uint64_t to[16], from[16];
  for (uint32_t i = 0; i < 16; ++i) {
    to[i] = dst.GetValue(i, at);
    from[i] = src.GetValue(i, at);
  }
  TransDataTo5HD<T>(to, from, p, at);
}
// One 16x16 matrix of 16-bit elements.
template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, ATTNEMU_AT) {
  static_assert(detail::one_of<T, int16_t, uint16_t, half>, "Transpose: int16, uint16 or half");
  attnemu::BlockTranspose t;
  for (uint32_t i = 0; i < 16; ++i) {
    t.to[i] = dst.place(i * 16);
    t.from[i] = src.place(i * 16);
  }
  attnemu::transpose_blocks("Transpose", at, sizeof(T), t);
}

enum class TransposeType : uint8_t {
  TRANSPOSE_TYPE_NONE, TRANSPOSE_NZ2ND_0213, TRANSPOSE_NZ2NZ_0213, TRANSPOSE_NZ2NZ_012_WITH_N, TRANSPOSE_NZ2ND_012_WITH_N, TRANSPOSE_NZ2ND_012_WITHOUT_N,
  TRANSPOSE_NZ2NZ_012_WITHOUT_N, TRANSPOSE_ND2ND_ONLY, TRANSPOSE_ND_UB_GM, TRANSPOSE_GRAD_ND_UB_GM, TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC, TRANSPOSE_NHWC2NCHW
};
struct TransposeParamsExt {
  TransposeParamsExt() = default;
  TransposeParamsExt(uint16_t n, uint16_t c, uint16_t h, uint16_t w, TransposeType type) : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type) {}
  uint16_t nSize = 0, cSize = 0, hSize = 0, wSize = 0;
  TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};
// Images between [N,C,H,W] and [N,H,W,C], or one 16x16 matrix.
template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, const TransposeParamsExt& p, ATTNEMU_AT) {
  using attnemu::format;
  if (p.transposeType == TransposeType::TRANSPOSE_TYPE_NONE) return;
  if (p.transposeType == TransposeType::TRANSPOSE_ND2ND_B16) {
    if constexpr (sizeof(T) == 2) Transpose(dst, src, at);
    else detail::complain("transpose_width", at, format("Transpose: TRANSPOSE_ND2ND_B16 takes 16-bit elements, these have %zu bytes", sizeof(T)));
    return;
  }
  bool to_last = p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC;
  if (!to_last && p.transposeType != TransposeType::TRANSPOSE_NHWC2NCHW) return detail::complain("unsupported", at, "Transpose: of the transposeTypes only ND2ND_B16, NCHW2NHWC and NHWC2NCHW exist");
  uint32_t area = static_cast<uint32_t>(p.hSize) * p.wSize;
  bool fits = p.cSize <= UINT12_MAX && area <= UINT12_MAX && area * sizeof(T) % 32 == 0;
  if (!fits) return detail::complain("transpose_range", at, format("Transpose: cSize %u and hSize * wSize %u are at most %u, and the area's bytes a multiple of 32", p.cSize, area, UINT12_MAX));
  uint64_t tile = (sizeof(T) == 1 ? 32u : 16u) * 32u;
  uint64_t scratch = (to_last ? p.cSize + 2u : p.cSize * 2u + 1u) * tile;
  bool room = sharedTmpBuffer.GetLength() >= scratch;
  if (!room) detail::complain("work_tensor_size", at, format("Transpose: sharedTmpBuffer has %u bytes; %llu are needed", sharedTmpBuffer.GetLength(), static_cast<unsigned long long>(scratch)));
  attnemu::Permutation q{p.nSize, to_last ? p.cSize : area, to_last ? area : p.cSize};
  attnemu::permute("Transpose", at, dst.place(), src.place(), sharedTmpBuffer.place(), room ? scratch : 0, sizeof(T), q);
}

}  // namespace AscendC
