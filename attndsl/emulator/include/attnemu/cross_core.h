// Counters between cores: sixteen a core, raised by groups of cores in three modes.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "base.h"
#include "instant.h"
#include "vector_clock.h"

namespace attnemu {

constexpr int kCounterIds = 16;

struct Arrival {
  VectorClock clock;
  SourceLine at;
  int mode;
  Instant time;  // at which it is seen
};

// What one core has of one id: arrivals not yet matched by the rest of the group, and the counter itself.
struct CrossCounter {
  std::deque<Arrival> sent[3];  // own sets waiting for partners, by mode
  std::deque<Arrival> ready;    // the counter: one entry a unit
};

}  // namespace attnemu
