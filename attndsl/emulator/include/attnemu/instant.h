// A moment of a launch, and what the time until then went to.
#pragma once
#include <array>

#include "base.h"

namespace attnemu {

// What time goes to: a pipe of a kind of core; a flag between cores on its way; bytes that take longer than alone and from L2.
constexpr int kFlagsCause = 2 * kPipes, kMemoryCause = kFlagsCause + 1, kCauses = kMemoryCause + 1;
int cause_of(CoreKind kind, Pipe p);

// `spent`: cycles by cause along the chain of events that leads here, each of which began when the one before had ended.
struct Instant {
  double at = 0;  // cycles since the launch
  std::array<float, kCauses> spent{};
  void spend(double cycles, int cause);
  void not_before(const Instant& other);
};

}  // namespace attnemu
