// Synchronization instructions: flags, barriers, cross-core counters.
#pragma once
#include "machine.h"

namespace attnemu {

// Who handles a flag: the kernel, a queue of the programming model, or its buffer manager that keeps it set.
enum class FlagOwner : uint8_t { Kernel, Queue, Holder };
void set_flag(Pipe from, Pipe to, int id, const SourceLine& at, FlagOwner owner = FlagOwner::Kernel);
void wait_flag(Pipe from, Pipe to, int id, const SourceLine& at, FlagOwner owner = FlagOwner::Kernel);
void pipe_barrier(Pipe p, const SourceLine& at);
void pipe_barrier_all(const SourceLine& at);
// A core is about to wait for cores of other blocks: the host must have asked for all blocks to start together.
void blocks_meet(const char* what, const SourceLine& at);
void cross_core_set(int mode, Pipe p, int id, const SourceLine& at);
void cross_core_wait(int id, const SourceLine& at);
// Where the counters of cross-core flags live: what the host is told, and what a kernel that sets it has to be given.
constexpr uint64_t kSyncBase = 0x4000'0000;
void set_sync_base(uint64_t address, const SourceLine& at);
int allocate_event(Pipe from, Pipe to, const SourceLine& at);
int peek_event(Pipe from, Pipe to);
void release_event(Pipe from, Pipe to, int id);

}  // namespace attnemu
