// Every choice the device model makes where public documentation is silent or leaves it to the build or the host.
#pragma once
#include <cstdint>
#include <string>

namespace attnemu {

struct Knobs {
  uint64_t seed = 0;          // which of the cores that are as good as level in time goes on; 0 = lowest index first
  bool auto_sync = false;     // the compiler's own synchronization on the vector core (--cce-auto-sync)
  bool flags_count = false;   // a flag set before an earlier wait has passed is kept for the next wait
  bool clean_at_end = false;  // the compiler cleans the scalar cache when a kernel ends
  bool saturate = false;      // CTRL[48] = 0: half/bf16 results saturate, NaN becomes 0; false keeps inf and NaN
  bool rough_reciprocal = false;  // Reciprocal and Rsqrt with 8 (half) or 12 (float) bits behind the leading one
  bool timing = false;        // the timeline alone: no data is computed or moved, but what the scalar unit works with
  uint64_t most_core_cycles = 0;  // with `timing`: cycles of all cores together after which the run is stopped; 0: at its end
  bool racecheck = true;      // hazards that nothing orders
  bool memcheck = true;       // ranges, alignment, limits
  bool synccheck = true;      // flags, counters
  bool initcheck = true;      // definedness
  bool strict_core = true;    // an instruction the core kind does not have is a finding; false: silently nothing
  uint32_t poison = 0x7FFF;   // 16-bit pattern of never-written on-chip memory (a NaN for half, bf16 and float)
  uint32_t device_poison = 0; // the same of device memory that a host program allocates
  uint32_t max_per_rule = 20; // findings kept a rule; the rest are counted
  uint64_t stack_bytes = 1u << 20;  // stack of one core's task
  bool set(const std::string& key, const std::string& value);  // false: no such knob
};

}  // namespace attnemu
