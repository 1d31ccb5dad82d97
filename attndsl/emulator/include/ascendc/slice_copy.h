// DataCopy of slices: regular picks out of an array of up to eight dimensions.
#pragma once
#include <vector>

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
std::vector<uint64_t> slice_runs(const SliceInfo* s, uint32_t dims, uint32_t run);
bool slice_fits(const SliceInfo* s, uint32_t dims, uint32_t run, const char* side, const SourceLine& at);
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
