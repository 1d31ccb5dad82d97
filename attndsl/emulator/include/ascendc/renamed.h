// Spellings of asc-devkit for what CANN 8.1 calls otherwise. Mind ReduceDataBlock and ReducePairElem: mask before
// repeat, where BlockReduce* and PairReduceSum take the repeat first.
#pragma once
#include "cube.h"
#include "vector_compare.h"
#include "vector_reduce.h"

namespace AscendC {

enum class ReduceType { NONE = -1, SUM = 0, MAX, MIN };

template <class T, class U, bool isSetMask = true>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T scalar, CMPMODE mode, const uint64_t mask, uint8_t repeatTime, const UnaryRepeatParams& p, ATTNEMU_AT) {
  CompareScalar<T, U, isSetMask>(dst, src0, scalar, mode, mask, repeatTime, p, at);
}
template <class T, class U, bool isSetMask = true>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T scalar, CMPMODE mode, const uint64_t mask[], uint8_t repeatTime, const UnaryRepeatParams& p, ATTNEMU_AT) {
  CompareScalar<T, U, isSetMask>(dst, src0, scalar, mode, mask[0], repeatTime, p, at);
}
template <class T, class U>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T scalar, CMPMODE mode, uint32_t count, ATTNEMU_AT) {
  CompareScalar<T, U>(dst, src0, scalar, mode, count, at);
}

#define ATTNEMU_REDUCE_BY_TYPE(Mask)                                                                                        \
  template <ReduceType type, class T, class U, bool isSetMask = true>                                                       \
  void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask, const int32_t repeatTime, const int32_t dstRepStride, \
                    const int32_t srcBlkStride, const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, ATTNEMU_AT) { \
    static_assert(type != ReduceType::NONE && std::is_same_v<T, U>, "ReduceRepeat: SUM, MAX or MIN of one element type on Atlas A2"); \
    if constexpr (type == ReduceType::SUM) WholeReduceSum<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, at); \
    else if constexpr (type == ReduceType::MAX) WholeReduceMax<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order, at); \
    else WholeReduceMin<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order, at);      \
  }                                                                                                                         \
  template <ReduceType type, class T, class U, bool isSetMask = true>                                                       \
  void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask, const int32_t repeatTime, const int32_t dstRepStride, \
                       const int32_t srcBlkStride, const int32_t srcRepStride, ATTNEMU_AT) {                                \
    static_assert(type != ReduceType::NONE && std::is_same_v<T, U>, "ReduceDataBlock: SUM, MAX or MIN of one element type on Atlas A2"); \
    if constexpr (type == ReduceType::SUM) BlockReduceSum<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at); \
    else if constexpr (type == ReduceType::MAX) BlockReduceMax<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at); \
    else BlockReduceMin<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at);            \
  }                                                                                                                         \
  template <ReduceType type, class T, class U, bool isSetMask = true>                                                       \
  void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask, const int32_t repeatTime, const int32_t dstRepStride, \
                      const int32_t srcBlkStride, const int32_t srcRepStride, ATTNEMU_AT) {                                 \
    static_assert(type == ReduceType::SUM && std::is_same_v<T, U>, "ReducePairElem: only SUM, of one element type");        \
    PairReduceSum<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at);                  \
  }
ATTNEMU_REDUCE_BY_TYPE(int32_t mask)
ATTNEMU_REDUCE_BY_TYPE(uint64_t mask[])
#undef ATTNEMU_REDUCE_BY_TYPE

// Value and index (from 0, over all repeats) of the latest extreme, and the latest sum. The kernel orders V before S.
template <class T>
void GetReduceMaxMinCount(T& value, T& index) {
  static_assert(detail::one_of<T, half, float>, "GetReduceMaxMinCount: half or float");
  value = detail::value_of_bits<T>(attnemu::core->reg.reduce_value);
  index = detail::value_of_bits<T>(attnemu::core->reg.reduce_count);
}
template <class T>
void GetReduceMaxMinCount(T& value) {
  T index;
  GetReduceMaxMinCount(value, index);
}
template <class T>
void GetReduceRepeatMaxMinSpr(T& value, T& index) { GetReduceMaxMinCount(value, index); }
template <class T>
void GetReduceRepeatMaxMinSpr(T& value) { GetReduceMaxMinCount(value); }
template <class T>
T GetAccVal() {
  static_assert(detail::one_of<T, half, float>, "GetAccVal: half or float");
  return detail::value_of_bits<T>(attnemu::core->reg.reduce_sum);
}
template <class T>
T GetReduceRepeatSumSpr() { return GetAccVal<T>(); }

template <class T>
void Fill(const LocalTensor<T>& dst, const InitConstValueParams<T>& p, ATTNEMU_AT) { InitConstValue(dst, p, at); }

// dst[i] = first + i * diff, computed step by step as the library does for floats: i * diff rounded, then added.
template <class T>
void ArithProgression(const LocalTensor<T>& dst, const T first, const T diff, const int32_t count, ATTNEMU_AT) {
  static_assert(detail::one_of<T, int16_t, half, int32_t, float>, "ArithProgression: no such element type on Atlas A2");
  CreateVecIndex(dst, static_cast<T>(0), static_cast<uint32_t>(count), at);
  attnemu::pipe_barrier(detail::Pipe::V, at);
  Muls(dst, dst, diff, count, at);
  attnemu::pipe_barrier(detail::Pipe::V, at);
  Adds(dst, dst, first, count, at);
  attnemu::pipe_barrier(detail::Pipe::V, at);
}
template <class T>
void Arange(const LocalTensor<T>& dst, const T first, const T diff, const int32_t count, ATTNEMU_AT) { ArithProgression(dst, first, diff, count, at); }

}  // namespace AscendC
