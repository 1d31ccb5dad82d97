// The largest or smallest elements of rows with their indices, from sorted records.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "library_layout.h"
#include "vector_gather.h"
#include "vector_sort.h"

namespace AscendC {

// Rows of `inner` elements, of which `n` count.
struct TopKInfo { int32_t outter = 1, inner = 0, n = 0; };

namespace detail {

inline bool topk_shape(const TopKInfo& s, int32_t k, bool groups, const SourceLine& at) {
  constexpr int32_t kMostColumns = 4096;
  bool fits = s.outter > 0 && s.inner > 0 && s.inner % 32 == 0 && s.n > 0 && s.n <= s.inner && k > 0 && k <= s.n && (groups ? s.inner == 32 : s.inner <= kMostColumns);
  if (fits) return true;
  complain("topk_shape", at,
           attnemu::format("TopK: k = %d of %d rows of %d elements, of which %d count: 1 <= k <= n <= inner, and inner is %s", k, s.outter, s.inner, s.n,
                           groups ? "32 in the small mode" : "a multiple of 32 up to 4096"));
  return false;
}
// The tensor, or a copy in `scratch`, so that it begins where Sort32 may read it: callers' tensors begin at any block.
template <class T>
LocalTensor<T> for_sort(const LocalTensor<T>& t, const LocalTensor<T>& scratch, uint32_t count, const SourceLine& at) {
  if (lanes(t).at % (32 * sizeof(T)) == 0) return t;
  copy_row(scratch, t, count, 8, at);
  finish(at);
  return scratch;
}
inline LocalTensor<float> as_words(const LocalTensor<int32_t>& t) { return t.ReinterpretCast<float>(); }
// Of `records` in a row the first ones' values and indices.
template <class T>
void take_records(const LocalTensor<T>& values, const LocalTensor<int32_t>& indices, const LocalTensor<T>& records, uint32_t k, const SourceLine& at) {
  constexpr uint32_t record = 8 / sizeof(T);
  uint64_t kept = 0;
  GatherMask(values, records, record == 2 ? 1 : 3, true, k * record, {1, 1, 8, 0}, kept, at);
  GatherMask(as_words(indices), records.template ReinterpretCast<float>(), 2, true, k * 2, {1, 1, 8, 0}, kept, at);
  finish(at);
}
// A row that is finished has `n` for every index: index += (n - index) * flag. The flag is spread over a block.
template <class Flag>
void mark_finished(const LocalTensor<int32_t>& indices, const LocalTensor<Flag>& finished, uint32_t row, int32_t n, uint32_t k, const LocalTensor<uint8_t>& tmp, const SourceLine& at) {
  auto count = static_cast<int32_t>(k);
  LocalTensor<int32_t> flags = tmp.ReinterpretCast<int32_t>(), blocks = flags[32], rest = blocks[64];
  LocalTensor<half> narrow = rest.ReinterpretCast<half>();
  Cast(narrow, finished[row / 32 * 32].template ReinterpretCast<uint8_t>(), RoundMode::CAST_NONE, 32, at);
  finish(at);
  Cast(flags, narrow, RoundMode::CAST_RINT, 32, at);
  finish(at);
  Brcb(blocks, flags[row % 32 / 8 * 8], 1, {1, 8}, at);
  finish(at);
  for (int32_t first = 0; first < count; first += 64) {
    int32_t part = std::min(count - first, 64);
    auto mask = static_cast<uint64_t>(part);
    LocalTensor<int32_t> index = indices[static_cast<uint32_t>(first)];
    Muls(rest, index, -1, part, at);
    finish(at);
    Adds(rest, rest, n, part, at);
    finish(at);
    Mul(rest, rest, blocks[row % 8 * 8], mask, 1, {1, 1, 0, 8, 8, 8}, at);
    finish(at);
    Add(index, index, rest, part, at);
    finish(at);
  }
}
// Each row is sorted as a whole.
template <class T, bool given, bool marks>
void topk_rows(const LocalTensor<T>& values, const LocalTensor<int32_t>& indices, const LocalTensor<T>& src, const LocalTensor<int32_t>& index, const LocalTensor<bool>& finished,
               const LocalTensor<uint8_t>& tmp, uint32_t k, const TopKInfo& shape, bool largest, const SourceLine& at) {
  constexpr uint32_t record = 8 / sizeof(T);
  const auto columns = static_cast<uint32_t>(shape.inner);
  const uint32_t pitch = (k + 32 / sizeof(T) - 1) / (32 / sizeof(T)) * (32 / sizeof(T)), index_pitch = (k + 7) / 8 * 8;
  LocalTensor<T> one = tmp.ReinterpretCast<T>(), other = one[columns * record];
  LocalTensor<int32_t> numbers = other[columns * record].template ReinterpretCast<int32_t>();
  if constexpr (given) {
    numbers = for_sort(index, numbers, columns, at);
  } else {
    CreateVecIndex(numbers, 0, columns, at);
    finish(at);
  }
  for (uint32_t row = 0; row < static_cast<uint32_t>(shape.outter); ++row) {
    LocalTensor<T> from = src[row * columns], to = values[row * pitch];
    if (!largest) {
      Muls(other, from, static_cast<T>(-1), shape.inner, at);
      finish(at);
      from = other;
    } else {
      from = for_sort(from, other, columns, at);
    }
    Sort32(one, from, numbers.ReinterpretCast<uint32_t>(), shape.inner / 32, at);
    finish(at);
    take_records(to, indices[row * index_pitch], merge_all(one, other, columns, at), k, at);
    if (!largest) {
      Muls(to, to, static_cast<T>(-1), static_cast<int32_t>(k), at);
      finish(at);
    }
    if constexpr (marks) mark_finished(indices[row * index_pitch], finished, row, shape.n, k, tmp, at);
  }
}
// Which elements of a row's 32 records are the first k's: bit `offset` of each record.
template <class W>
void record_mask(const LocalTensor<W>& mask, uint32_t record, uint32_t offset, uint32_t k, const SourceLine& at) {
  constexpr uint32_t bits = sizeof(W) * 8;
  for (uint32_t word = 0; word * bits < 32 * record; ++word) {
    W value = 0;
    for (uint32_t i = 0; i < bits / record; ++i)
      if (word * bits / record + i < k) value = static_cast<W>(value | static_cast<W>(1) << (i * record + offset));
    uint64_t lane[2] = {1ull << word, 0};
    Duplicate(mask, value, lane, 1, 1, 8, at);
    finish(at);
  }
}
// Rows of 32 elements are sorted at once, and results have no gaps.
template <class T, bool given>
void topk_groups(const LocalTensor<T>& values, const LocalTensor<int32_t>& indices, const LocalTensor<T>& src, const LocalTensor<int32_t>& index, const LocalTensor<uint8_t>& tmp, uint32_t k,
                 const TopKInfo& shape, bool largest, const SourceLine& at) {
  constexpr uint32_t record = 8 / sizeof(T);
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>;
  const auto rows = static_cast<uint32_t>(shape.outter), n = rows * 32;
  LocalTensor<T> records = tmp.ReinterpretCast<T>(), from = tmp[n * 8].ReinterpretCast<T>();
  LocalTensor<int32_t> numbers = tmp[n * 12].ReinterpretCast<int32_t>();
  LocalTensor<uint8_t> rest = tmp[n * 16];
  if (largest)
    from = for_sort(src, from, n, at);
  else
    Muls(from, src, static_cast<T>(-1), static_cast<int32_t>(n), at);
  if constexpr (given) {
    numbers = for_sort(index, numbers, n, at);
  } else {
    CreateVecIndex(numbers, 0, 32u, at);
    finish(at);
    for (uint32_t row = 1; row < rows; ++row) Adds(numbers[row * 32], numbers, 0, 32, at);
  }
  finish(at);
  for (uint32_t row = 0; row < rows; row += 255)
    Sort32(records[row * 32 * record], from[row * 32], numbers[row * 32].template ReinterpretCast<uint32_t>(), static_cast<int32_t>(std::min(rows - row, 255u)), at);
  LocalTensor<Word> of_values = rest.ReinterpretCast<Word>();
  LocalTensor<uint32_t> of_indices = rest[32].ReinterpretCast<uint32_t>();
  record_mask(of_values, record, 0, k, at);
  record_mask(of_indices, 2, 1, k, at);
  uint64_t kept = 0;
  const auto repeats = static_cast<uint16_t>(rows);
  GatherMask(values, records, of_values, false, 0, {1, repeats, 8, 0}, kept, at);
  GatherMask(as_words(indices), records.template ReinterpretCast<float>(), of_indices, false, 0, {1, repeats, 8, 0}, kept, at);
  finish(at);
  if (!largest) {
    Muls(values, values, static_cast<T>(-1), static_cast<int32_t>(rows * k), at);
    finish(at);
  }
}

}  // namespace detail

// Without isInitIndex indices count from 0. The tiling is not asked: sizes say it all.
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false, enum TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValueLocal, const LocalTensor<int32_t>& dstIndexLocal, const LocalTensor<T>& srcLocal, const LocalTensor<int32_t>& srcIndexLocal,
          const LocalTensor<bool>& finishLocal, const LocalTensor<uint8_t>& tmpLocal, const int32_t k, const TopkTiling&, const TopKInfo& topKInfo, const bool isLargest = true, ATTNEMU_AT) {
  static_assert(detail::one_of<T, half, float>, "TopK: half or float");
  constexpr bool groups = topkMode == TopKMode::TOPK_NSMALL;
  // told where it is called: programs choose the mode behind conditions that the compiler does not see
  if (groups && isHasfinish) return detail::complain("topk_shape", at, "TopK: the small mode has no finished rows: isHasfinish is false there");
  if (!detail::topk_shape(topKInfo, k, groups, at)) return;
  const auto rows = static_cast<uint32_t>(topKInfo.outter), columns = static_cast<uint32_t>(topKInfo.inner);
  if (!detail::has_room("TopK", tmpLocal, detail::least_for_topk(rows, columns, groups), at)) return;
  const LocalTensor<uint8_t> memory = tmpLocal[static_cast<uint32_t>(-detail::lanes(tmpLocal).at % 256)];
  if constexpr (groups)
    detail::topk_groups<T, isInitIndex>(dstValueLocal, dstIndexLocal, srcLocal, srcIndexLocal, memory, static_cast<uint32_t>(k), topKInfo, isLargest, at);
  else
    detail::topk_rows<T, isInitIndex, isHasfinish>(dstValueLocal, dstIndexLocal, srcLocal, srcIndexLocal, finishLocal, memory, static_cast<uint32_t>(k), topKInfo, isLargest, at);
}
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false, enum TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValueLocal, const LocalTensor<int32_t>& dstIndexLocal, const LocalTensor<T>& srcLocal, const LocalTensor<int32_t>& srcIndexLocal,
          const LocalTensor<bool>& finishLocal, const int32_t k, const TopkTiling& tilling, const TopKInfo& topKInfo, const bool isLargest = true, ATTNEMU_AT) {
  TopK<T, isInitIndex, isHasfinish, isReuseSrc, topkMode>(dstValueLocal, dstIndexLocal, srcLocal, srcIndexLocal, finishLocal, detail::free_memory(), k, tilling, topKInfo, isLargest, at);
}

}  // namespace AscendC
