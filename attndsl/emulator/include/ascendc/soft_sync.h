// Synchronization between cores through workspaces in global memory.
#pragma once
#include "attnemu/soft_sync.h"
#include "sync.h"
#include "sys.h"

namespace AscendC {
namespace detail {

// The words of a workspace: `bytes` from its start must exist; the library wants them zeroed before the launch, and the
// model never writes them.
inline attnemu::Place sync_words(const char* what, const SourceLine& at, const GlobalTensor<int32_t>& gm, uint64_t first_byte, uint64_t bytes) {
  attnemu::Place p = global_place(gm.GetPhyAddr(), what, at);
  if (!p.memory) return p;
  p.at += first_byte;
  bool fits = p.at + bytes <= p.memory->bytes;
  bool zero = fits;
  for (uint64_t i = 0; zero && i < bytes; ++i) zero = p.memory->data[p.at + i] == 0;
  if (attnemu::machine->knobs.memcheck && !fits)
    attnemu::machine->report("memcheck", "sync_workspace", at,
                             attnemu::format("%s: the workspace in global memory needs %llu bytes from here, %s has %llu", what, static_cast<unsigned long long>(first_byte + bytes),
                                             p.memory->name.c_str(), static_cast<unsigned long long>(p.memory->bytes - (p.at - first_byte))));
  else if (attnemu::machine->knobs.memcheck && !zero)
    attnemu::machine->report("memcheck", "sync_workspace", at, attnemu::format("%s: the workspace in global memory must be zeroed before the launch", what));
  return p;
}
inline void sync_scratch(const char* what, const SourceLine& at, const LocalTensor<int32_t>& ub, uint64_t bytes) {
  if (attnemu::machine->knobs.memcheck && ub.GetLength() < bytes)
    attnemu::machine->report("memcheck", "sync_workspace", at,
                             attnemu::format("%s: the workspace in UB has %u bytes; %llu are needed", what, ub.GetLength(), static_cast<unsigned long long>(bytes)));
}
constexpr uint64_t kSyncWord = 32;  // bytes a core takes in a workspace

}  // namespace detail

// The software form: polls words in global memory, one a core. AIV only; the AIC returns at once.
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, const int32_t usedCores = 0, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if (attnemu::core->kind == attnemu::CoreKind::Cube) return;
  int64_t cores = usedCores ? usedCores : GetBlockNum() * (isAIVOnly ? 1 : GetTaskRation());
  detail::sync_scratch("SyncAll", at, ubWorkspace, static_cast<uint64_t>(cores) * detail::kSyncWord);
  attnemu::Place p = detail::sync_words("SyncAll", at, gmWorkspace, 0, static_cast<uint64_t>(cores) * detail::kSyncWord);
  if (p.memory) attnemu::soft_barrier("SyncAll", at, p, static_cast<uint32_t>(cores));
}

// One word a core and event id in the workspace: set by one core, taken by another.
template <bool isAIVOnly = true>
void IBSet(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx, int32_t eventID, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if (attnemu::core->kind == attnemu::CoreKind::Cube) return;
  detail::sync_scratch("IBSet", at, ubWorkspace, detail::kSyncWord);
  uint64_t cores = static_cast<uint64_t>(GetBlockNum() * (isAIVOnly ? 1 : GetTaskRation()));
  attnemu::Place p = detail::sync_words("IBSet", at, gmWorkspace, (cores * static_cast<uint64_t>(eventID) + static_cast<uint64_t>(blockIdx)) * detail::kSyncWord, detail::kSyncWord);
  if (p.memory) attnemu::soft_set("IBSet", at, p);
}
template <bool isAIVOnly = true>
void IBWait(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx, int32_t eventID, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if (attnemu::core->kind == attnemu::CoreKind::Cube) return;
  detail::sync_scratch("IBWait", at, ubWorkspace, detail::kSyncWord);
  uint64_t cores = static_cast<uint64_t>(GetBlockNum() * (isAIVOnly ? 1 : GetTaskRation()));
  attnemu::Place p = detail::sync_words("IBWait", at, gmWorkspace, (cores * static_cast<uint64_t>(eventID) + static_cast<uint64_t>(blockIdx)) * detail::kSyncWord, detail::kSyncWord);
  if (p.memory) attnemu::soft_take("IBWait", at, p);
}

// Blocks one after another in ascending order, for sums whose order must not change. Zeroes its workspace itself.
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if (attnemu::core->kind == attnemu::CoreKind::Cube) return;
  detail::sync_scratch("InitDetermineComputeWorkspace", at, ubWorkspace, static_cast<uint64_t>(GetBlockNum() + 1) * detail::kSyncWord);
  detail::global_place(gmWorkspace.GetPhyAddr(), "InitDetermineComputeWorkspace", at);
}
inline void WaitPreBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if (attnemu::core->kind == attnemu::CoreKind::Cube) return;
  detail::sync_scratch("WaitPreBlock", at, ubWorkspace, static_cast<uint64_t>(GetBlockNum() + 1) * detail::kSyncWord);
  attnemu::Place p = detail::global_place(gmWorkspace.GetPhyAddr(), "WaitPreBlock", at);
  if (p.memory) attnemu::turn_begin("WaitPreBlock", at, p, static_cast<uint32_t>(GetBlockIdx()));
}
inline void NotifyNextBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if (attnemu::core->kind == attnemu::CoreKind::Cube) return;
  (void)ubWorkspace;
  attnemu::Place p = detail::global_place(gmWorkspace.GetPhyAddr(), "NotifyNextBlock", at);
  if (p.memory) attnemu::turn_end(at, p, static_cast<uint32_t>(GetBlockNum()));
}

// Completes the scalar unit's own accesses: what it stores afterwards to memory may tell others so.
enum class MemDsbT : uint8_t { ALL, DDR, UB, SEQ };
template <MemDsbT kind>
void DataSyncBarrier(attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if constexpr (kind == MemDsbT::ALL || kind == MemDsbT::DDR) attnemu::data_barrier(at);
}
// Scalar access to global memory around the scalar cache.
template <class T>
T ReadGmByPassDCache(__gm__ T* address, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::Place p = detail::global_place(address, "ReadGmByPassDCache", at);
  return p.memory ? detail::value_of_bits<T>(attnemu::load_uncached(p, sizeof(T), "ReadGmByPassDCache", at)) : T{};
}
template <class T>
void WriteGmByPassDCache(__gm__ T* address, T value, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::Place p = detail::global_place(address, "WriteGmByPassDCache", at);
  if (p.memory) attnemu::store_uncached(p, detail::bits_of_value(value), sizeof(T), "WriteGmByPassDCache", at);
}

}  // namespace AscendC
