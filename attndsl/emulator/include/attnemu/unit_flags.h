// Unit flags of L0C (documentation, UnitFlag): products and write-backs that use them wait for each other fractal by fractal.
#pragma once
#include <array>
#include <memory>

#include "base.h"
#include "limits.h"
#include "memory.h"
#include "vector_clock.h"

namespace attnemu {

// A product waits until the flags of what it writes are clear, a write-back until those of what it reads are set. By mode 2 the flags
// stay as they are, by mode 3 they change; by 0 an instruction neither waits nor touches them. What would wait for ever is a finding
// of synccheck, and goes on. Who waited comes after what the other pipe had done. The hardware has a flag for each half of a fractal; results are whole fractals.
class UnitFlags {
 public:
  void product(uint32_t mode, const Extent& result, const char* what, const SourceLine& at);
  void write_back(uint32_t mode, const Extent& result, const char* what, const SourceLine& at);
  void clear() { set_at_ = {}; done_ = {}; }
  // When the kernel ends: the next one's products would wait for what nobody clears.
  void report_left_over() const;

 private:
  static constexpr uint32_t kFractalOfResults = 2 * kFractal;
  std::array<SourceLine, kL0cBytes / kFractalOfResults> set_at_ = {};                    // no file: clear
  std::array<std::shared_ptr<const VectorClock>, kL0cBytes / kFractalOfResults> done_ = {};  // by who changed the flag last
};

}  // namespace attnemu
