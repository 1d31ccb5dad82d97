// The vector unit: what each instruction does to its lanes.
#pragma once
#include <cstdint>

#include "lanes.h"
#include "numeric.h"

namespace attnemu {

using VectorOp = Op;  // those of ATTNEMU_LANE_OPS

struct Scalar {
  double value = 0;     // for arithmetic
  uint64_t bits = 0;    // for Fill
  bool rounds = false;  // of shifts to the right: the bit shifted out last is added
};

// dst = op(sources..., scalar) lane by lane. Half and bfloat16 compute in fp32 and round once (to nearest even).
void elementwise(const char* what, const SourceLine& at, VectorOp op, const LaneOperand& dst, const LaneOperand* sources,
                 int n, const LaneShape& shape, const Scalar& scalar = {});
// Conversion; lanes a repeat follow the wider type.
void convert(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, const LaneShape& shape,
             Rounding mode);

// Between half and 4-bit elements (of which 64 fill a block), saturating.
void convert_nibbles(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, const LaneShape& shape, Rounding mode);

// int16 to 8 bits: src * scale rounded to even, plus offset, saturated. By one word, or (`word_each`) by 16, one for each lane of a
// block; the 16 results of a block fill the low or the high half of a block of dst.
void dequantise_halves(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, const LaneShape& shape, bool word_each, bool high);

// dst = convert(op(a, b)): the operation in the sources' type, then one rounding (to nearest even, saturating).
enum class CompoundOp : uint8_t { AddReluCast, SubReluCast, MulCast, AddDeqRelu };
void compound(const char* what, const SourceLine& at, CompoundOp op, const LaneOperand& dst, const LaneOperand* sources, const LaneShape& shape);

enum class Comparison : uint8_t { LT, GT, EQ, LE, GE, NE };
// One bit a lane, packed contiguously from `dst`; `b` null compares with the scalar.
void compare(const char* what, const SourceLine& at, const Place& dst, const LaneOperand& a, const LaneOperand* b,
             double scalar, Comparison c, const LaneShape& shape);
// The same into the comparison mask register, one repeat.
void compare_to_register(const char* what, const SourceLine& at, const LaneOperand& a, const LaneOperand& b, Comparison c,
                         const LaneShape& shape);
// The comparison register's 16 bytes to and from UB.
void store_compare_register(const char* what, const SourceLine& at, const Place& to);
void load_compare_register(const char* what, const SourceLine& at, const Place& from);
enum class SelectBits : uint8_t { Register, Repeated, Continuous };
// dst = bit ? a : (b or scalar). Bits from `bits` (or the register); Repeated uses the first bits for every repeat.
void select(const char* what, const SourceLine& at, const LaneOperand& dst, const Place& bits, SelectBits how,
            const LaneOperand& a, const LaneOperand* b, double scalar, const LaneShape& shape, bool uses_scratch);

enum class Reduction : uint8_t { Sum, Max, Min };
enum class ReduceOutput : uint8_t { ValueIndex, IndexValue, Value, Index };
// One result a repeat; `dst_step` in elements (in pairs of elements where value and index are written).
void reduce_repeats(const char* what, const SourceLine& at, Reduction op, ReduceOutput out, const LaneOperand& dst,
                    uint32_t dst_step, const LaneOperand& src, const LaneShape& shape);
// One result a block of 32 bytes, eight a repeat; or one a pair of lanes.
void reduce_blocks(const char* what, const SourceLine& at, Reduction op, const LaneOperand& dst, uint32_t dst_step,
                   const LaneOperand& src, const LaneShape& shape);
void reduce_pairs(const char* what, const SourceLine& at, const LaneOperand& dst, uint32_t dst_step, const LaneOperand& src,
                  const LaneShape& shape);
// The whole tensor to dst[0] (and the index to dst[1]).
void reduce_all(const char* what, const SourceLine& at, Reduction op, bool with_index, const LaneOperand& dst,
                const LaneOperand& src, const Place& work, const LaneShape& shape);

// Eight consecutive elements a repeat, each filling one block of dst.
void broadcast_blocks(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, uint32_t repeats);
// dst lane = element at byte src.at + base + offset lane.
void gather(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, const LaneOperand& offsets,
            uint32_t base, const LaneShape& shape);
// 32-byte blocks, eight offsets a repeat.
void gather_blocks(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src,
                   const LaneOperand& offsets, uint32_t repeats);
// Compaction: lanes picked by bits, or where these have no memory by a fixed pattern 1..7, packed; returns how many. All of `shape` is gone through
// `rounds` times; steps between rounds in blocks.
struct GatherRounds {
  uint32_t rounds = 1, from_step = 0, bits_step = 0;
  bool bits_go_on = false;  // through the repeats of a round, without gaps
};
uint64_t gather_mask(const char* what, const SourceLine& at, const Place& dst, const LaneOperand& src,
                     uint32_t pattern, const Place& bits, uint32_t bits_step, const LaneShape& shape, const GatherRounds& rounds = {});

}  // namespace attnemu
