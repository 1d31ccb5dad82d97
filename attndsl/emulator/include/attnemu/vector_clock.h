// Vector clocks over agents, an agent being one pipe of one core.
#pragma once
#include <cstdint>
#include <vector>

namespace attnemu {

// clock[a] = k: the first k instructions of agent a are known to be complete.
class VectorClock {
 public:
  VectorClock() = default;
  explicit VectorClock(size_t agents);
  uint32_t operator[](size_t agent) const { return of_[agent]; }
  uint32_t& operator[](size_t agent) { return of_[agent]; }
  size_t size() const { return of_.size(); }
  void join(const VectorClock& other) {
    uint32_t* a = of_.data();
    const uint32_t* b = other.of_.data();
    for (size_t i = 0; i < of_.size(); ++i) a[i] = a[i] > b[i] ? a[i] : b[i];
  }

 private:
  std::vector<uint32_t> of_;
};

}  // namespace attnemu
