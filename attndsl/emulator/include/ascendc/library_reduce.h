// Sums, means and extremes along an axis by the library.
#pragma once
#include "library_rows.h"

namespace AscendC {

struct SumParams { uint32_t outter = 1, inner = 0, n = 0; };
struct MeanParams { uint32_t outter = 1, inner = 0, n = 0; };
namespace Pattern::Reduce {
struct AR {};
struct RA {};
}  // namespace Pattern::Reduce

namespace detail {
template <class T>
bool sum_rows(const char* what, const SumParams& p, const SourceLine& at) {
  static_assert(one_of<T, half, float>, "Sum, Mean: half or float");
  if (p.n && p.inner == (p.n * sizeof(T) + 31) / 32 * 32 / sizeof(T)) return true;
  complain("row_alignment", at, attnemu::format("%s: inner is %u; for n = %u it must be %llu, whole blocks of 32 bytes", what, p.inner, p.n, static_cast<unsigned long long>((p.n * sizeof(T) + 31) / 32 * 32 / sizeof(T))));
  return false;
}
}  // namespace detail

template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, const SumParams& p, ATTNEMU_AT) {
  const uint32_t least = detail::least_for_sum(sizeof(T), p.n);
  if (!detail::sum_rows<T>("Sum", p, at) || !detail::has_room("Sum", sharedTmpBuffer, least, at)) return;
  for (uint32_t i = 0; i < p.outter; ++i)
    detail::set_value(dst, i, detail::row_value<attnemu::Reduction::Sum>(src[i * p.inner], p.n, sharedTmpBuffer.ReinterpretCast<T>(), least / static_cast<uint32_t>(sizeof(T)), at), at);
}
template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SumParams& p, ATTNEMU_AT) { Sum<T>(dst, src, detail::free_memory(), p, at); }

// Halves are added in accType.
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, const MeanParams& p, ATTNEMU_AT) {
  const uint32_t least = detail::least_for_mean(sizeof(T), sizeof(accType), p.n);
  if (!detail::sum_rows<T>("Mean", {p.outter, p.inner, p.n}, at) || !detail::has_room("Mean", sharedTmpBuffer, least, at)) return;
  constexpr bool widens = !std::is_same_v<T, accType>;
  LocalTensor<accType> wide = sharedTmpBuffer.ReinterpretCast<accType>(), lanes = widens ? wide[p.inner] : wide;
  for (uint32_t i = 0; i < p.outter; ++i) {
    float sum;
    if constexpr (widens) sum = detail::row_value<attnemu::Reduction::Sum>(detail::widened(src[i * p.inner], wide, p.n, at), p.n, wide, std::min(p.inner, 255u), at);
    else sum = detail::row_value<attnemu::Reduction::Sum>(src[i * p.inner], p.n, lanes, least / static_cast<uint32_t>(sizeof(T)), at);
    detail::set_value(dst, i, sum / static_cast<float>(p.n), at);
  }
}
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const MeanParams& p, ATTNEMU_AT) { Mean<T, accType>(dst, src, detail::free_memory(), p, at); }

// Of [first, last] elements, rows padded to whole blocks: along rows (AR) or down columns (RA).
#define ATTNEMU_REDUCE_PATTERN(Name, Op, Instruction, ...)                                                               \
  template <class T, class pattern, bool isReuseSource = false>                                                          \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t srcShape[], bool srcInnerPad, ATTNEMU_AT) { \
    static_assert(detail::one_of<T, __VA_ARGS__>, #Name ": no such element type on Atlas A2");                           \
    static_assert(detail::one_of<pattern, Pattern::Reduce::AR, Pattern::Reduce::RA>, #Name ": patterns are AR and RA");  \
    const uint32_t rows = srcShape[0], used = srcShape[1], columns = static_cast<uint32_t>((used * sizeof(T) + 31) / 32 * 32 / sizeof(T)); \
    if (!srcInnerPad) return detail::complain("unsupported", at, #Name ": srcInnerPad must be true on Atlas A2");        \
    if constexpr (std::is_same_v<pattern, Pattern::Reduce::AR>) {                                                        \
      /* a row that may be lost is scratch itself */                                                                    \
      const uint32_t least = isReuseSource ? 0 : detail::least_for_sum(sizeof(T), used);                                 \
      if (!detail::has_room(#Name, sharedTmpBuffer, least, at)) return;                                                  \
      for (uint32_t i = 0; i < rows; ++i) {                                                                              \
        LocalTensor<T> row = src[i * columns], lanes = isReuseSource ? row : sharedTmpBuffer.ReinterpretCast<T>();       \
        const uint32_t room = isReuseSource ? columns : least / static_cast<uint32_t>(sizeof(T));                        \
        detail::set_value(dst, i, detail::row_value<attnemu::Reduction::Op>(row, used, lanes, room, at), at);            \
      }                                                                                                                  \
    } else {                                                                                                             \
      auto n = static_cast<int32_t>(columns);                                                                            \
      Adds(dst, src, static_cast<T>(0), n, at);                                                                          \
      detail::finish(at);                                                                                                \
      for (uint32_t i = 1; i < rows; ++i) {                                                                              \
        Instruction(dst, dst, src[i * columns], n, at);                                                                  \
        detail::finish(at);                                                                                              \
      }                                                                                                                  \
    }                                                                                                                    \
  }                                                                                                                      \
  template <class T, class pattern, bool isReuseSource = false>                                                          \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t srcShape[], bool srcInnerPad, ATTNEMU_AT) { \
    Name<T, pattern, isReuseSource>(dst, src, detail::free_memory(), srcShape, srcInnerPad, at);                         \
  }
ATTNEMU_REDUCE_PATTERN(ReduceMax, Max, Max, half, float)
ATTNEMU_REDUCE_PATTERN(ReduceMin, Min, Min, half, float)
ATTNEMU_REDUCE_PATTERN(ReduceSum, Sum, Add, float)
#undef ATTNEMU_REDUCE_PATTERN

}  // namespace AscendC
