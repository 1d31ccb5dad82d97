// Flags, barriers, cross-core flags, cache maintenance.
#pragma once
#include "attnemu/scalar.h"
#include "attnemu/sync.h"
#include "macros.h"
#include "tensor.h"

namespace AscendC {

template <HardEvent event>
void SetFlag(int32_t eventID, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  constexpr detail::PipePair p = detail::pipes_of(event);
  attnemu::set_flag(p.from, p.to, eventID, at);
}
template <HardEvent event>
void WaitFlag(int32_t eventID, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  constexpr detail::PipePair p = detail::pipes_of(event);
  attnemu::wait_flag(p.from, p.to, eventID, at);
}
template <pipe_t pipe>
void PipeBarrier(attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(pipe != PIPE_S, "PipeBarrier<PIPE_S> is not allowed");
  if constexpr (pipe == PIPE_ALL) attnemu::pipe_barrier_all(at);
  else attnemu::pipe_barrier(detail::pipe_of(pipe), at);
}
// Events between two pipes that are named one by one.
template <pipe_t src, pipe_t dst>
class TQueSync {
 public:
  void SetFlag(TEventID id, attnemu::SourceLine at = attnemu::SourceLine::here()) { attnemu::set_flag(detail::pipe_of(src), detail::pipe_of(dst), id, at); }
  void WaitFlag(TEventID id, attnemu::SourceLine at = attnemu::SourceLine::here()) { attnemu::wait_flag(detail::pipe_of(src), detail::pipe_of(dst), id, at); }
};
template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(modeId <= 2, "modes are 0, 1 and 2");
  static_assert(pipe != PIPE_S && pipe != PIPE_ALL, "the pipe is one of V, M, MTE1, MTE2, MTE3, FIX");
  attnemu::cross_core_set(modeId, detail::pipe_of(pipe), flagId, at);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t flagId, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::cross_core_wait(flagId, at);
}

// Where the flags between cores live, as the host's aclrtGetHardwareSyncAddr tells.
inline void SetSyncBaseAddr(uint64_t config, attnemu::SourceLine at = attnemu::SourceLine::here()) { attnemu::set_sync_base(config, at); }

// The hardware form, with the ids the library reserves for it (11 to 14).
template <bool isAIVOnly = true>
void SyncAll(attnemu::SourceLine at = attnemu::SourceLine::here()) {
  using attnemu::Pipe;
  constexpr int kCubeAll = attnemu::kCrossCoreFlags, kCubeToVector = kCubeAll + 1, kVectorToCube = kCubeAll + 2, kVectorAll = kCubeAll + 3;
  attnemu::pipe_barrier_all(at);
  if constexpr (isAIVOnly) {
    if (attnemu::core->kind == attnemu::CoreKind::Cube) return;
    attnemu::cross_core_set(0, Pipe::MTE3, kVectorAll, at);
    attnemu::cross_core_wait(kVectorAll, at);
  } else if (attnemu::core->kind == attnemu::CoreKind::Cube) {
    attnemu::cross_core_wait(kVectorToCube, at);
    attnemu::cross_core_set(0, Pipe::FIX, kCubeAll, at);
    attnemu::cross_core_wait(kCubeAll, at);
    attnemu::cross_core_set(2, Pipe::MTE3, kCubeToVector, at);
  } else {
    attnemu::cross_core_set(2, Pipe::MTE3, kVectorToCube, at);
    attnemu::cross_core_wait(kCubeToVector, at);
  }
}

// Writes the scalar unit's cached lines back and drops them: one line, or all.
template <class T, CacheLine entire, DcciDst dst>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& t, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if constexpr (entire == CacheLine::ENTIRE_DATA_CACHE) return attnemu::clean_cache(at);
  attnemu::Place p = detail::global_place(t.GetPhyAddr(), "DataCacheCleanAndInvalid", at);
  if (p.memory) attnemu::clean_cache_line(p, at);
}
// The unified buffer is not cached here: only the time passes.
template <class T, CacheLine entire, DcciDst dst>
void DataCacheCleanAndInvalid(const LocalTensor<T>&, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(dst == DcciDst::CACHELINE_UB || dst == DcciDst::CACHELINE_ALL, "DataCacheCleanAndInvalid: a LocalTensor takes CACHELINE_UB");
  attnemu::clean_nothing(at);
}
// The line at a byte offset comes into the cache, and from then on may be stale.
template <class T>
void DataCachePreload(const GlobalTensor<uint64_t>& src, const T cacheOffset, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::Place p = detail::global_place(reinterpret_cast<const uint8_t*>(src.GetPhyAddr()) + cacheOffset, "DataCachePreload", at);
  if (p.memory) attnemu::preload_line(p, at);
}
template <class T, CacheLine entire>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& t, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  DataCacheCleanAndInvalid<T, entire, DcciDst::CACHELINE_ALL>(t, at);
}

}  // namespace AscendC
