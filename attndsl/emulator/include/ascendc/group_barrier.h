// GroupBarrier: one group of vector cores waits until every core of another has arrived. Tasks of a super kernel.
#pragma once
#include "soft_sync.h"

namespace AscendC {

enum class PipeMode : uint8_t { SCALAR_MODE = 0, MTE3_MODE = 1, MAX };

// The workspace is the kernel's: 512 bytes a waiting core, zeroed before the launch.
template <PipeMode pipeMode>
class GroupBarrier {
  static_assert(pipeMode == PipeMode::MTE3_MODE, "GroupBarrier: only PipeMode::MTE3_MODE");

 public:
  GroupBarrier(GM_ADDR groupWorkspace, uint32_t arriveSize, uint32_t waitSize, attnemu::SourceLine at = attnemu::SourceLine::here())
      : arrive_size_(arriveSize), wait_size_(waitSize) {
    GlobalTensor<int32_t> words;
    words.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(groupWorkspace));
    workspace_ = detail::sync_words("GroupBarrier", at, words, 0, GetWorkspaceLen());
  }
  void Arrive(uint32_t arriveIndex, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if (index_fits("Arrive", arriveIndex, arrive_size_, at)) attnemu::soft_arrive(at, word(arriveIndex));
  }
  void Wait(uint32_t waitIndex, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if (!index_fits("Wait", waitIndex, wait_size_, at)) return;
    ++round_;
    for (uint32_t i = 0; i < arrive_size_; ++i) attnemu::soft_await("GroupBarrier::Wait", at, word(i), round_);
  }
  uint64_t GetWorkspaceLen() const { return static_cast<uint64_t>(wait_size_) * 512; }

 private:
  attnemu::Place word(uint32_t i) const { return {workspace_.memory, workspace_.at + i}; }
  bool index_fits(const char* what, uint32_t i, uint32_t size, const attnemu::SourceLine& at) const {
    detail::require(i < size, "group_index", at, attnemu::format("GroupBarrier::%s: index %u of a group of %u", what, i, size));
    return i < size && workspace_.memory;
  }
  attnemu::Place workspace_;
  uint32_t arrive_size_, wait_size_;
  uint32_t round_ = 0;
};

// Hints for kernels fused into one; a kernel launched by itself has no neighbours.
template <pipe_t AIV_PIPE = PIPE_MTE3, pipe_t AIC_PIPE = PIPE_FIX, bool FORCE = false>
void SetNextTaskStart() {}
template <bool FORCE = false>
void WaitPreTaskEnd() {}

}  // namespace AscendC
