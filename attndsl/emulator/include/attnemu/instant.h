// A moment of a launch, and what the time until then went to.
#pragma once
#include <array>

#include "base.h"

namespace attnemu {

// What time goes to: a pipe of a kind of core; a flag between cores on its way; bytes that take longer than alone and from L2.
constexpr int kFlagsCause = 2 * kPipes, kMemoryCause = kFlagsCause + 1, kCauses = kMemoryCause + 1;
inline int cause_of(CoreKind kind, Pipe p) { return static_cast<int>(kind) * kPipes + static_cast<int>(p); }

// `spent`: cycles by cause along the chain of events that leads here, each of which began when the one before had ended.
struct Instant {
  double at = 0;  // cycles since the launch
  std::array<float, kCauses> spent{};
  void spend(double cycles, int cause) {
    at += cycles;
    spent[static_cast<size_t>(cause)] += static_cast<float>(cycles);
  }
  void not_before(const Instant& other) { if (other.at > at) *this = other; }
};

}  // namespace attnemu
