// Unit flags of L0C (documentation, UnitFlag): products and write-backs that use them wait for each other fractal by fractal.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "base.h"
#include "instant.h"
#include "limits.h"
#include "memory.h"
#include "vector_clock.h"

namespace attnemu {

// A product waits until the flags of what it writes are clear, a write-back until those of what it reads are set. By mode 2 the flags
// stay as they are, by mode 3 they change; by 0 an instruction neither waits nor touches them. What would wait for ever is a finding
// of synccheck, and goes on. Who waited comes after what the other pipe had done. The hardware has a flag for each half of a fractal; results are whole fractals.
class UnitFlags {
 public:
  static constexpr uint32_t kWaits = 2, kChanges = 3;
  using Fractals = std::vector<uint32_t>;  // of L0C, by number, in the order in which an instruction comes to them
  static uint32_t fractal_at(uint64_t address) { return static_cast<uint32_t>(address / kFractalOfResults); }
  static bool used_by(uint32_t mode) { return mode == kWaits || mode == kChanges; }
  // Appends the fractals of `e`, down each column of fractals before the next, or, `rows_first`, along each row.
  static void list(const Extent& e, bool rows_first, Fractals& out);
  // An instruction comes to its fractals, after what the other pipe had done, and leaves them.
  void come(Pipe pipe, const Fractals& fractals, const char* what, const SourceLine& at);
  void leave(Pipe pipe, uint32_t mode, const Fractals& fractals, const SourceLine& at);
  // When the flag of a fractal changed last.
  const Instant& changed(uint32_t fractal) const { return flags_[fractal].changed; }
  void change_at(uint32_t fractal, const Instant& when) { flags_[fractal].changed = when; }
  void clear() { flags_ = {}; }
  // When the kernel ends: the next one's products would wait for what nobody clears.
  void report_left_over() const;

 private:
  static constexpr uint32_t kFractalOfResults = 2 * kFractal;
  struct Flag {
    SourceLine set_at = {nullptr, 0};         // no file: clear
    std::shared_ptr<const VectorClock> done;  // by who changed it last
    Instant changed;
  };
  std::array<Flag, kL0cBytes / kFractalOfResults> flags_ = {};
};

// How an instruction goes through the fractals whose unit flags it waits for: it stops at each until the other pipe is through.
class UnitTurn {
 public:
  // No turn at all: for modes without flags.
  UnitTurn() = default;
  UnitTurn(UnitFlags& flags, uint32_t mode, UnitFlags::Fractals fractals);
  explicit operator bool() const { return !fractals_.empty(); }
  uint32_t mode() const { return mode_; }
  const UnitFlags::Fractals& fractals() const { return fractals_; }
  // When its first fractal is free for it.
  const Instant& first() const { return flags_->changed(fractals_.front()); }
  // Its end, if it starts at `start`, takes `head` cycles before the first fractal and `body` for all of them.
  Instant go(const Instant& start, double head, double body, int cause);
  // Others find its fractals done `latency` cycles after it is through each; it ended `later` than it found when it went.
  void leave(double later, int later_cause, double latency, int cause);

 private:
  UnitFlags* flags_ = nullptr;
  uint32_t mode_ = 0;
  UnitFlags::Fractals fractals_;
  std::vector<Instant> through_;
};

}  // namespace attnemu
