// The host's side of the library's functions on rows: temporary memory, and tilings that describe the operands.
#pragma once
#include "../ascendc/library_sizes.h"
#include "kernel_tiling/kernel_tiling.h"
#include "shape.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
// Tilings as fields of a program's tiling data: the kernel's structs with setters.
#define ATTNEMU_SETTER(Type, name)             \
  void set_##name(Type value) { name = value; } \
  Type get_##name() const { return name; }
#define ATTNEMU_CLASS(Name, FIELDS)                                                                    \
  class Name : public AscendC::tiling::Name {                                                          \
   public:                                                                                             \
    FIELDS(ATTNEMU_SETTER)                                                                             \
    size_t GetDataSize() const { return sizeof(AscendC::tiling::Name); }                               \
    void SaveToBuffer(void* to, size_t capacity) const {                                               \
      if (capacity >= GetDataSize()) *static_cast<AscendC::tiling::Name*>(to) = *this;                 \
    }                                                                                                  \
  };
ATTNEMU_TILINGS(ATTNEMU_CLASS)
#undef ATTNEMU_CLASS
#undef ATTNEMU_SETTER
}  // namespace optiling

namespace AscendC {
namespace detail {
struct RowShape { uint32_t rows = 0, columns = 0; };
inline RowShape rows_of(const TensorShape& s) {
  if (s.GetDimNum() == 0) return {};
  auto columns = static_cast<uint32_t>(s.GetDim(s.GetDimNum() - 1));
  return {columns ? static_cast<uint32_t>(s.GetShapeSize()) / columns : 0, columns};
}
// `bytes` a row decide how many rows are done at once.
template <class Tiling>
void describe_softmax(const TensorShape& s, uint32_t type_bytes, uint32_t room, uint32_t bytes, Tiling& t) {
  RowShape r = rows_of(s);
  uint32_t block = 32 / type_bytes, at_once = std::min(room / bytes, r.rows);
  if (at_once < r.rows && at_once > 8) at_once = at_once / 8 * 8;
  uint32_t tail = at_once ? r.rows % at_once : 0;
  t.srcM = t.outMaxM = r.rows;
  t.srcK = t.splitK = r.columns;
  t.srcSize = r.rows * r.columns;
  t.outMaxK = t.reduceK = block;
  t.outMaxSize = r.rows * block;
  t.splitM = t.reduceM = at_once;
  t.splitSize = at_once * r.columns;
  t.reduceSize = at_once * block;
  t.rangeM = at_once ? r.rows / at_once : 0;
  t.tailM = tail;
  t.tailSplitSize = tail * r.columns;
  t.tailReduceSize = tail * block;
}
}  // namespace detail

inline uint32_t GetSoftMaxMinTmpSize(const TensorShape& s, const uint32_t dataTypeSize, const bool) { return detail::least_for_softmax(dataTypeSize, detail::rows_of(s).columns); }
inline uint32_t GetSoftMaxMaxTmpSize(const TensorShape& s, const uint32_t dataTypeSize, const bool) { return detail::rows_of(s).rows * GetSoftMaxMinTmpSize(s, dataTypeSize, false); }
inline uint32_t GetLogSoftMaxMinTmpSize(const TensorShape& s, const uint32_t dataTypeSize, const bool) { return GetSoftMaxMinTmpSize(s, dataTypeSize, false); }
inline uint32_t GetLogSoftMaxMaxTmpSize(const TensorShape& s, const uint32_t dataTypeSize, const bool) { return GetSoftMaxMaxTmpSize(s, dataTypeSize, false); }
inline uint32_t GetSoftMaxFlashMinTmpSize(const TensorShape& s, const uint32_t dataTypeSize, const bool isUpdate, const bool) {
  return isUpdate ? detail::least_for_flash(dataTypeSize, detail::rows_of(s).columns) : GetSoftMaxMinTmpSize(s, dataTypeSize, false);
}
inline uint32_t GetSoftMaxFlashMaxTmpSize(const TensorShape& s, const uint32_t dataTypeSize, const bool isUpdate, const bool) {
  return detail::rows_of(s).rows * GetSoftMaxFlashMinTmpSize(s, dataTypeSize, isUpdate, false);
}
// The rows' type and that of sums and maxima; halves beside floats count as halves.
inline uint32_t GetSoftMaxFlashV2MinTmpSize(const TensorShape& s, const uint32_t dataTypeSize1, const uint32_t, const bool isUpdate, const bool, const bool = false) {
  return GetSoftMaxFlashMinTmpSize(s, dataTypeSize1, isUpdate, false);
}
inline uint32_t GetSoftMaxFlashV2MaxTmpSize(const TensorShape& s, const uint32_t dataTypeSize1, const uint32_t, const bool isUpdate, const bool, const bool = false) {
  return GetSoftMaxFlashMaxTmpSize(s, dataTypeSize1, isUpdate, false);
}
inline uint32_t GetSoftMaxGradMinTmpSize(const TensorShape& s, const uint32_t dataTypeSize, const bool isFront, const bool) {
  return detail::least_for_softmax_grad(dataTypeSize, detail::rows_of(s).columns, isFront);
}
inline uint32_t GetSoftMaxGradMaxTmpSize(const TensorShape& s, const uint32_t dataTypeSize, const bool isFront, const bool) {
  return detail::rows_of(s).rows * GetSoftMaxGradMinTmpSize(s, dataTypeSize, isFront, false);
}
template <class Tiling>
void SoftMaxTilingFunc(const TensorShape& s, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize, Tiling& tiling) {
  detail::describe_softmax(s, dataTypeSize, localWorkSpaceSize, GetSoftMaxMinTmpSize(s, dataTypeSize, false), tiling);
}
template <class Tiling>
void LogSoftMaxTilingFunc(const TensorShape& s, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize, Tiling& tiling) { SoftMaxTilingFunc(s, dataTypeSize, localWorkSpaceSize, tiling); }
template <class Tiling>
void SoftMaxFlashTilingFunc(const TensorShape& s, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize, Tiling& tiling, const bool isUpdate) {
  detail::describe_softmax(s, dataTypeSize, localWorkSpaceSize, GetSoftMaxFlashMinTmpSize(s, dataTypeSize, isUpdate, false), tiling);
}
template <class Tiling>
void SoftMaxFlashV2TilingFunc(const TensorShape& s, const uint32_t dataTypeSize1, const uint32_t, const uint32_t localWorkSpaceSize, Tiling& tiling, const bool isUpdate, const bool = false, const bool = false) {
  SoftMaxFlashTilingFunc(s, dataTypeSize1, localWorkSpaceSize, tiling, isUpdate);
}
template <class Tiling>
void SoftMaxGradTilingFunc(const TensorShape& s, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize, Tiling& tiling, const bool isFront) {
  detail::describe_softmax(s, dataTypeSize, localWorkSpaceSize, GetSoftMaxGradMinTmpSize(s, dataTypeSize, isFront, false), tiling);
}
// Whether the form for basic blocks may be asked for: rows by eights, columns by 64 and below 2048.
inline bool IsBasicBlockInSoftMax(const optiling::SoftMaxTiling& t, const uint32_t = 2) { return t.srcM % 8 == 0 && t.srcK % 64 == 0 && t.srcK < 2048; }

inline void GetLayerNormMaxMinTmpSize(const TensorShape& s, const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {
  detail::RowShape r = detail::rows_of(s);
  minValue = detail::least_for_layernorm(typeSize, isReuseSource, r.rows, r.columns);
  maxValue = detail::least_for_layernorm(typeSize, isReuseSource, r.rows, r.rows * r.columns);
}
template <class Tiling>
void GetLayerNormNDTilingInfo(const TensorShape& s, const uint32_t, const uint32_t, const bool, Tiling& tiling) {
  tiling.bLength = static_cast<uint32_t>(s.GetDim(0));
  tiling.sLength = static_cast<uint32_t>(s.GetDim(1));
  tiling.hLength = static_cast<uint32_t>(s.GetDim(2));
  tiling.originalHLength = s.GetDimNum() > 3 ? static_cast<uint32_t>(s.GetDim(3)) : tiling.hLength;
}
inline bool GetRmsNormMaxMinTmpSize(const TensorShape& s, const uint32_t typeSize, uint32_t& maxValue, uint32_t& minValue, const bool = false) {
  detail::RowShape r = detail::rows_of(s);
  minValue = detail::least_for_rmsnorm(typeSize, r.columns);
  maxValue = detail::least_for_rmsnorm(typeSize, r.columns * r.rows) + (r.rows + 7) / 8 * 32 - 32;
  return r.rows > 0;
}
template <class Tiling>
bool GetRmsNormTilingInfo(const TensorShape& s, const TensorShape& original, const uint32_t, const uint32_t, Tiling& tiling, const bool = false) {
  GetLayerNormNDTilingInfo(s, 0, 0, false, tiling);
  tiling.originalHLength = static_cast<uint32_t>(original.GetDim(2));
  tiling.reciprocalOfHLength = 1.0f / static_cast<float>(tiling.originalHLength);
  return true;
}

inline void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t typeSize, const bool, uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = detail::least_for_sum(typeSize, n); }
inline void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t srcTypeSize, const uint32_t accTypeSize, const bool, uint32_t& maxValue, uint32_t& minValue) {
  maxValue = minValue = detail::least_for_mean(srcTypeSize, accTypeSize, n);
}

enum class ReducePattern : uint32_t { AR = 0, RA = 1 };
namespace detail {
// Half of what is reduced, as a power of two, where sums fold; a block or a repeat a row where extremes are taken.
inline void reduce_tmp_size(const TensorShape& s, TensorDataType type, ReducePattern pattern, bool folds, bool reuse, uint32_t& most, uint32_t& least) {
  const uint32_t rows = static_cast<uint32_t>(s.GetDim(0)), columns = static_cast<uint32_t>(s.GetDim(1)), bytes = type == TensorDataType::DT_FLOAT ? 4 : 2;
  auto fold = [](uint32_t n) {
    uint32_t k = 1;
    while (k * 2 < n) k *= 2;
    return k;
  };
  auto blocks = [](uint32_t n) { return (n + 31) / 32 * 32; };
  if (reuse) most = 0;
  else if (pattern == ReducePattern::RA) most = fold(rows) * blocks(columns * bytes);
  else if (folds) most = blocks(fold(columns) * bytes);
  else most = columns <= 32 / bytes ? 0 : rows * (columns < 256 / bytes ? 32 : 256);
  least = most;
}
}  // namespace detail
#define ATTNEMU_REDUCE_SIZE(Name, folds)                                                                                 \
  inline void Get##Name##MaxMinTmpSize(const TensorShape& srcShape, const TensorDataType dataType, ReducePattern pattern, bool, bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) { \
    detail::reduce_tmp_size(srcShape, dataType, pattern, folds, isReuseSource, maxValue, minValue);                      \
  }
ATTNEMU_REDUCE_SIZE(ReduceMax, false)
ATTNEMU_REDUCE_SIZE(ReduceMin, false)
ATTNEMU_REDUCE_SIZE(ReduceSum, true)
#undef ATTNEMU_REDUCE_SIZE

// Blocks of the elements to spread.
inline void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const TensorShape&, const TensorShape&, uint32_t typeSize, const bool, uint32_t& maxValue, uint32_t& minValue) {
  maxValue = minValue = detail::least_for_broadcast(typeSize);
}

// Rows of `inner` elements, or, with TOPK_NSMALL, all of them at once.
inline bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const int32_t inner, const int32_t outter, const bool, const bool, enum TopKMode mode,
                                 const bool, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
  maxValue = minValue = detail::least_for_topk(static_cast<uint32_t>(outter), static_cast<uint32_t>(inner), mode == TopKMode::TOPK_NSMALL);
  return true;
}
template <class Tiling>
bool TopKTilingFunc(const platform_ascendc::PlatformAscendC& platform, const int32_t inner, const int32_t outter, const int32_t k, const uint32_t dataTypeSize, const bool isInitIndex,
                    enum TopKMode mode, const bool isLargest, Tiling& tiling) {
  uint32_t most = 0, least = 0;
  if (!dataTypeSize || !GetTopKMaxMinTmpSize(platform, inner, outter, false, isInitIndex, mode, isLargest, dataTypeSize, most, least)) return false;
  auto bytes = static_cast<int32_t>(dataTypeSize);
  tiling.tmpLocalSize = static_cast<int32_t>(least) / bytes;
  tiling.allDataSize = inner * outter;
  tiling.innerDataSize = inner * 8 / bytes;
  tiling.sortRepeat = static_cast<uint32_t>(inner / 32);
  tiling.kAlignFourBytes = (k + 7) / 8 * 8;
  tiling.kAlignTwoBytes = (k + 15) / 16 * 16;
  return true;
}

// Sort: a record of 8 bytes an element, of whichever type; Concat needs no memory on Atlas A2.
inline uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC&, const uint32_t elemCount, const uint32_t) { return elemCount * 8; }
inline uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC&, const uint32_t, const uint32_t) { return 0; }

inline void GetPadMaxMinTmpSize(const TensorShape& srcShape, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
  minValue = detail::kLeastForPad;
  maxValue = (static_cast<uint32_t>(srcShape.GetShapeSize()) + 15) / 16 * minValue;
}
template <class Tiling>
void PadTilingFunc(const TensorShape srcShape, const TensorShape oriSrcShape, const uint32_t, const uint32_t, Tiling& tiling) {
  tiling.srcHeight = static_cast<uint32_t>(srcShape.GetDim(0));
  tiling.srcWidth = static_cast<uint32_t>(srcShape.GetDim(1));
  tiling.srcOriWidth = static_cast<uint32_t>(oriSrcShape.GetDim(1));
}
inline void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const TensorShape&, const uint32_t, uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }
template <class Tiling>
void UnPadTilingFunc(const TensorShape srcShape, const uint32_t, const uint32_t, Tiling& tiling) {
  tiling.srcHeight = static_cast<uint32_t>(srcShape.GetDim(0));
  tiling.srcWidth = static_cast<uint32_t>(srcShape.GetDim(1));
}

}  // namespace AscendC
