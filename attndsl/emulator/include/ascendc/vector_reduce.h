// Reductions. Mind the order of mask and repeat: WholeReduce* and BlockReduce* differ.
#pragma once
#include "vector_arith.h"

namespace AscendC {

#define ATTNEMU_REDUCE_TYPES(Name) static_assert(detail::one_of<T, half, float>, #Name ": half or float")

namespace detail {
constexpr attnemu::ReduceOutput output_of(ReduceOrder o) { return static_cast<attnemu::ReduceOutput>(o); }
template <class T>
void whole(const char* what, const SourceLine& at, attnemu::Reduction op, ReduceOrder order, const LocalTensor<T>& dst, const LocalTensor<T>& src,
           const LaneShape& s, int32_t dstRep, int32_t srcBlk, int32_t srcRep) {
  attnemu::reduce_repeats(what, at, op, output_of(order), lanes(dst), static_cast<uint32_t>(dstRep), lanes(src, static_cast<uint32_t>(srcBlk), static_cast<uint32_t>(srcRep)), s);
}
inline uint32_t repeats(int32_t n, const char* what, const SourceLine& at) {
  if (n >= 0 && n <= MAX_REPEAT_TIMES) return static_cast<uint32_t>(n);
  complain("repeat_range", at, attnemu::format("%s: repeat %d is not 0..%d", what, n, MAX_REPEAT_TIMES));
  return n < 0 ? 0 : static_cast<uint32_t>(MAX_REPEAT_TIMES);
}
}  // namespace detail

#define ATTNEMU_WHOLE_EXTREME(Name, Op)                                                                                  \
  template <class T, bool isSetMask = true>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int32_t repeatTimes,         \
            const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,                          \
            ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, ATTNEMU_AT) {                                            \
    ATTNEMU_REDUCE_TYPES(Name);                                                                                          \
    uint32_t n = detail::repeats(repeatTimes, #Name, at);                                                                \
    detail::whole(#Name, at, attnemu::Reduction::Op, order, dst, src,                                                    \
                  detail::shape<isSetMask>(static_cast<uint64_t>(mask), n, detail::per_repeat<T>(), #Name, at), dstRepStride, srcBlkStride, srcRepStride); \
  }                                                                                                                      \
  template <class T, bool isSetMask = true>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const int32_t repeatTimes,      \
            const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,                          \
            ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, ATTNEMU_AT) {                                            \
    ATTNEMU_REDUCE_TYPES(Name);                                                                                          \
    uint32_t n = detail::repeats(repeatTimes, #Name, at);                                                                \
    detail::whole(#Name, at, attnemu::Reduction::Op, order, dst, src,                                                    \
                  detail::shape<isSetMask>(mask, n, detail::per_repeat<T>(), #Name, at), dstRepStride, srcBlkStride, srcRepStride); \
  }
ATTNEMU_WHOLE_EXTREME(WholeReduceMax, Max)
ATTNEMU_WHOLE_EXTREME(WholeReduceMin, Min)
#undef ATTNEMU_WHOLE_EXTREME

template <class T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int32_t repeatTimes, const int32_t dstRepStride,
                    const int32_t srcBlkStride, const int32_t srcRepStride, ATTNEMU_AT) {
  ATTNEMU_REDUCE_TYPES(WholeReduceSum);
  uint32_t n = detail::repeats(repeatTimes, "WholeReduceSum", at);
  detail::whole("WholeReduceSum", at, attnemu::Reduction::Sum, ReduceOrder::ORDER_ONLY_VALUE, dst, src,
                detail::shape<isSetMask>(static_cast<uint64_t>(mask), n, detail::per_repeat<T>(), "WholeReduceSum", at), dstRepStride, srcBlkStride, srcRepStride);
}
template <class T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const int32_t repeatTimes, const int32_t dstRepStride,
                    const int32_t srcBlkStride, const int32_t srcRepStride, ATTNEMU_AT) {
  ATTNEMU_REDUCE_TYPES(WholeReduceSum);
  uint32_t n = detail::repeats(repeatTimes, "WholeReduceSum", at);
  detail::whole("WholeReduceSum", at, attnemu::Reduction::Sum, ReduceOrder::ORDER_ONLY_VALUE, dst, src,
                detail::shape<isSetMask>(mask, n, detail::per_repeat<T>(), "WholeReduceSum", at), dstRepStride, srcBlkStride, srcRepStride);
}
template <class T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, const int32_t elemsInOneRepeat, const int32_t dstBlkStride,
                     const int32_t srcBlkStride, const int32_t dstRepStride, const int32_t srcRepStride, ATTNEMU_AT) {
  (void)dstBlkStride;
  WholeReduceSum<T, isSetMask>(dst, src, elemsInOneRepeat, repeat, dstRepStride, srcBlkStride, srcRepStride, at);
}

#define ATTNEMU_BLOCK_REDUCE(Name, Call)                                                                                 \
  template <class T, bool isSetMask = true>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, const int32_t mask,              \
            const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, ATTNEMU_AT) {            \
    ATTNEMU_REDUCE_TYPES(Name);                                                                                          \
    uint32_t n = detail::repeats(repeat, #Name, at);                                                                     \
    detail::LaneShape s = detail::shape<isSetMask>(static_cast<uint64_t>(mask), n, detail::per_repeat<T>(), #Name, at);  \
    detail::LaneOperand d = detail::lanes(dst), a = detail::lanes(src, static_cast<uint32_t>(srcBlkStride), static_cast<uint32_t>(srcRepStride)); \
    Call;                                                                                                                \
  }                                                                                                                      \
  template <class T, bool isSetMask = true>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, const uint64_t mask[],           \
            const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, ATTNEMU_AT) {            \
    ATTNEMU_REDUCE_TYPES(Name);                                                                                          \
    uint32_t n = detail::repeats(repeat, #Name, at);                                                                     \
    detail::LaneShape s = detail::shape<isSetMask>(mask, n, detail::per_repeat<T>(), #Name, at);                         \
    detail::LaneOperand d = detail::lanes(dst), a = detail::lanes(src, static_cast<uint32_t>(srcBlkStride), static_cast<uint32_t>(srcRepStride)); \
    Call;                                                                                                                \
  }
ATTNEMU_BLOCK_REDUCE(BlockReduceSum, attnemu::reduce_blocks("BlockReduceSum", at, attnemu::Reduction::Sum, d, static_cast<uint32_t>(dstRepStride), a, s))
ATTNEMU_BLOCK_REDUCE(BlockReduceMax, attnemu::reduce_blocks("BlockReduceMax", at, attnemu::Reduction::Max, d, static_cast<uint32_t>(dstRepStride), a, s))
ATTNEMU_BLOCK_REDUCE(BlockReduceMin, attnemu::reduce_blocks("BlockReduceMin", at, attnemu::Reduction::Min, d, static_cast<uint32_t>(dstRepStride), a, s))
ATTNEMU_BLOCK_REDUCE(PairReduceSum, attnemu::reduce_pairs("PairReduceSum", at, d, static_cast<uint32_t>(dstRepStride), a, s))
#undef ATTNEMU_BLOCK_REDUCE

namespace detail {
template <class T>
void reduce_tensor(const char* what, const SourceLine& at, attnemu::Reduction op, bool index, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                   const LocalTensor<T>& work, const LaneShape& s, uint32_t srcRep) {
  static_assert(one_of<T, half, float>, "ReduceMax, ReduceMin, ReduceSum: half or float");
  attnemu::reduce_all(what, at, op, index, lanes(dst), lanes(src, 1, srcRep), work.place(), s);
}
}  // namespace detail

#define ATTNEMU_REDUCE_EXTREME(Name, Op)                                                                                 \
  template <class T>                                                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, const int32_t count,       \
            bool calIndex = false, ATTNEMU_AT) {                                                                         \
    detail::reduce_tensor(#Name, at, attnemu::Reduction::Op, calIndex, dst, src, work,                                   \
                          detail::count_shape(count, detail::per_repeat<T>(), #Name, at), 8);                            \
  }                                                                                                                      \
  template <class T>                                                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, const int32_t mask,        \
            const int32_t repeatTimes, const int32_t srcRepStride, bool calIndex = false, ATTNEMU_AT) {                  \
    detail::reduce_tensor(#Name, at, attnemu::Reduction::Op, calIndex, dst, src, work,                                   \
                          detail::shape<true>(static_cast<uint64_t>(mask), detail::repeats(repeatTimes, #Name, at), detail::per_repeat<T>(), #Name, at), \
                          static_cast<uint32_t>(srcRepStride));                                                          \
  }                                                                                                                      \
  template <class T>                                                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, const uint64_t mask[],     \
            const int32_t repeatTimes, const int32_t srcRepStride, bool calIndex = false, ATTNEMU_AT) {                  \
    detail::reduce_tensor(#Name, at, attnemu::Reduction::Op, calIndex, dst, src, work,                                   \
                          detail::shape<true>(mask, detail::repeats(repeatTimes, #Name, at), detail::per_repeat<T>(), #Name, at), \
                          static_cast<uint32_t>(srcRepStride));                                                          \
  }
ATTNEMU_REDUCE_EXTREME(ReduceMax, Max)
ATTNEMU_REDUCE_EXTREME(ReduceMin, Min)
#undef ATTNEMU_REDUCE_EXTREME

template <class T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, const int32_t count, ATTNEMU_AT) {
  detail::reduce_tensor("ReduceSum", at, attnemu::Reduction::Sum, false, dst, src, work, detail::count_shape(count, detail::per_repeat<T>(), "ReduceSum", at), 8);
}
template <class T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, const int32_t mask, const int32_t repeatTimes, const int32_t srcRepStride, ATTNEMU_AT) {
  detail::reduce_tensor("ReduceSum", at, attnemu::Reduction::Sum, false, dst, src, work,
                        detail::shape<true>(static_cast<uint64_t>(mask), detail::repeats(repeatTimes, "ReduceSum", at), detail::per_repeat<T>(), "ReduceSum", at),
                        static_cast<uint32_t>(srcRepStride));
}
template <class T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, const uint64_t mask[], const int32_t repeatTimes, const int32_t srcRepStride, ATTNEMU_AT) {
  detail::reduce_tensor("ReduceSum", at, attnemu::Reduction::Sum, false, dst, src, work,
                        detail::shape<true>(mask, detail::repeats(repeatTimes, "ReduceSum", at), detail::per_repeat<T>(), "ReduceSum", at), static_cast<uint32_t>(srcRepStride));
}

}  // namespace AscendC
