// DataCopy of slices: regular picks out of an array of up to eight dimensions.
#pragma once
#include "data_copy.h"

namespace AscendC {

// The first dimension: runs of burstLen blocks from startIndex to endIndex, `stride` elements between two of them. A
// further dimension: indices from startIndex to endIndex, `stride` left out between two of them.
struct SliceInfo {
  SliceInfo() = default;
  SliceInfo(uint32_t start, uint32_t end, uint32_t gap, uint32_t burst, uint32_t size = 0) : startIndex(start), endIndex(end), stride(gap), burstLen(burst), shapeValue(size) {}
  uint32_t startIndex = 0, endIndex = 0, stride = 0, burstLen = 0, shapeValue = 0;
};

namespace detail {

// Element offsets of a slice's runs, in order.
inline std::vector<uint64_t> slice_runs(const SliceInfo* s, uint32_t dims, uint32_t run) {
  std::vector<uint64_t> offsets{0};
  uint64_t pitch = 1;
  for (uint32_t d = 0; d < dims; ++d) {
    uint64_t length = d == 0 ? run : 1;
    std::vector<uint64_t> of_dimension, all;
    for (uint64_t i = s[d].startIndex; length && i + length <= static_cast<uint64_t>(s[d].endIndex) + 1; i += length + s[d].stride) of_dimension.push_back(i * pitch);
    for (uint64_t outer : of_dimension)
      for (uint64_t inner : offsets) all.push_back(outer + inner);
    offsets = all;
    pitch *= s[d].shapeValue;
  }
  return offsets;
}
inline bool slice_fits(const SliceInfo* s, uint32_t dims, uint32_t run, const char* side, const SourceLine& at) {
  auto u = [](uint64_t v) { return static_cast<unsigned long long>(v); };
  for (uint32_t d = 0; d < dims; ++d) {
    uint64_t length = d == 0 ? run : 1, picked = static_cast<uint64_t>(s[d].endIndex) + 1 - s[d].startIndex;
    bool ordered = s[d].startIndex <= s[d].endIndex && s[d].endIndex < s[d].shapeValue;
    require(ordered, "slice_range", at, attnemu::format("DataCopy: %s dimension %u picks [%u, %u] of %u elements", side, d, s[d].startIndex, s[d].endIndex, s[d].shapeValue));
    require(d == 0 || s[d].burstLen == 1, "slice_range", at, attnemu::format("DataCopy: %s dimension %u has burstLen %u; beyond the first it is 1", side, d, s[d].burstLen));
    if (!ordered || (d && s[d].burstLen != 1)) return false;
    bool whole = length && (picked + s[d].stride) % (length + s[d].stride) == 0;
    require(whole, "slice_range", at, attnemu::format("DataCopy: %s dimension %u: %llu elements are no whole number of runs of %llu with gaps of %u", side, d, u(picked), u(length), s[d].stride));
    if (!whole) return false;
  }
  return true;
}
template <class T>
void copy_slices(Pipe pipe, attnemu::Place to, attnemu::Place from, const SliceInfo* to_slice, const SliceInfo* from_slice, uint32_t dims, const SourceLine& at) {
  require(dims >= 1 && dims <= K_MAX_DIM, "slice_range", at, attnemu::format("DataCopy: dimValue %u is 1..%u", dims, K_MAX_DIM));
  if (dims < 1 || dims > K_MAX_DIM || !to.memory || !from.memory) return;
  uint32_t run = static_cast<uint32_t>(to_slice[0].burstLen * attnemu::kBlock / sizeof(T));
  bool same = to_slice[0].burstLen == from_slice[0].burstLen;
  require(same, "slice_range", at, attnemu::format("DataCopy: burstLen is %u in the destination and %u in the source", to_slice[0].burstLen, from_slice[0].burstLen));
  if (!same || !slice_fits(to_slice, dims, run, "destination", at) || !slice_fits(from_slice, dims, run, "source", at)) return;
  std::vector<uint64_t> targets = slice_runs(to_slice, dims, run), sources = slice_runs(from_slice, dims, run);
  require(targets.size() == sources.size(), "slice_range", at, attnemu::format("DataCopy: %zu runs in the destination, %zu in the source", targets.size(), sources.size()));
  if (targets.size() != sources.size()) return;
  attnemu::Bursts b;
  b.run = static_cast<uint64_t>(run) * sizeof(T);
  b.atomic = to.memory->kind == MemoryKind::GM;
  for (size_t i = 0; i < targets.size(); ++i)
    attnemu::copy_bursts("DataCopy", at, pipe, {to.memory, to.at + targets[i] * sizeof(T)}, {from.memory, from.at + sources[i] * sizeof(T)}, b);
}

}  // namespace detail

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSliceInfo[], const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1,
              attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if (detail::bad_path(attnemu::MemoryKind::GM, detail::memory_of(dst.position()), at)) return;
  detail::copy_slices<T>(detail::Pipe::MTE2, dst.place(), detail::global_place(src.GetPhyAddr(), "DataCopy", at), dstSliceInfo, srcSliceInfo, dimValue, at);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSliceInfo[], const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1,
              attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if (detail::bad_path(detail::memory_of(src.position()), attnemu::MemoryKind::GM, at)) return;
  detail::copy_slices<T>(detail::Pipe::MTE3, detail::global_place(dst.GetPhyAddr(), "DataCopy", at), src.place(), dstSliceInfo, srcSliceInfo, dimValue, at);
}

}  // namespace AscendC
