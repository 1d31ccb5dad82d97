// Operands and shapes of the vector unit: repeats of 256 bytes, blocks of 32, masked lanes.
#pragma once
#include <cstdint>

#include "instruction.h"

namespace attnemu {

struct LaneOperand : Place {
  DType type = DType::F32;
  uint32_t block_step = 1;   // in blocks
  uint32_t repeat_step = 8;  // in blocks
  uint64_t repeat_bytes = 0; // step in bytes where it is no multiple of a block; 0: repeat_step
  const uint8_t* lane(uint32_t repeat, uint32_t index) const;
  uint64_t repeat_at(uint32_t repeat) const { return at + static_cast<uint64_t>(repeat) * (repeat_bytes ? repeat_bytes : repeat_step * 32ull); }
};

struct LaneMask {
  uint64_t bits[2] = {0, 0};
  bool test(uint32_t lane) const { return bits[lane >> 6] >> (lane & 63) & 1; }
  static LaneMask first(uint32_t n);
  LaneMask operator&(const LaneMask& o) const { return {{bits[0] & o.bits[0], bits[1] & o.bits[1]}}; }
  bool operator==(const LaneMask& o) const { return bits[0] == o.bits[0] && bits[1] == o.bits[1]; }
};

// How often, how many lanes a repeat, which of them; the last repeat has a mask of its own.
struct LaneShape {
  uint32_t repeats = 0;
  uint32_t lanes = 64;
  LaneMask mask, last;
  const LaneMask& of(uint32_t repeat) const { return repeat + 1 == repeats ? last : mask; }
  static LaneShape count(uint64_t n, uint32_t lanes);
  static LaneShape masked(const LaneMask& m, uint32_t repeats, uint32_t lanes);
};

// The mask register decides: lanes of a repeat, or in counter mode the number of elements.
LaneShape register_shape(uint32_t repeats, uint32_t lanes);

// Bytes of a 32-byte block taken by the lanes of `m` that lie in block `block`.
uint32_t block_bytes(const LaneMask& m, uint32_t block, uint32_t element_size);

void add_lanes(Instruction& op, const LaneOperand& o, const LaneShape& s, AccessKind kind);
// Cycles a repeat, at least `least`: more where the rows of a group of UB banks are taken several times, or one bank is read
// and written. `dst` may be null.
double bank_cycles(double least, const LaneOperand* dst, const LaneOperand* sources, int n, const LaneShape& s);
// The work of an instruction on repeats.
Work repeat_work(Op op, const LaneShape& s, const LaneOperand& dst, const LaneOperand* sources, int n);
// Lanes of one repeat whose bytes are all defined.
LaneMask defined_lanes(const LaneOperand& o, uint32_t repeat, uint32_t lanes);
void define_lanes(const LaneOperand& o, uint32_t repeat, const LaneMask& written, const LaneMask& defined, uint32_t lanes);
// dst lanes become as defined as the lanes of all sources.
void propagate(const LaneOperand& dst, const LaneOperand* sources, int n, const LaneShape& s);
// The same bit by bit, for instructions of which each bit depends on the bits at its place alone.
void propagate_bits(const LaneOperand& dst, const LaneOperand* sources, int n, const LaneShape& s);

}  // namespace attnemu
