// Flags between two pipes of one core: eight binary flags a pair.
#pragma once
#include <cstdint>
#include <vector>

#include "base.h"
#include "instant.h"
#include "vector_clock.h"

namespace attnemu {

struct EventFlag {
  bool set = false;
  bool held_by_runtime = false;   // set by the buffer manager for itself
  bool waited = false;            // somebody waited on it before
  uint32_t wait_count = 0;        // instruction number of that wait on the destination pipe
  VectorClock captured;
  Instant fires;
  SourceLine set_at{"", 0}, wait_at{"", 0};
};

struct EventTable {
  EventFlag flag[kPipes][kPipes][kEventIds];
  uint8_t reserved[kPipes][kPipes] = {};  // ids handed out by the allocator, a bit each
};

}  // namespace attnemu
