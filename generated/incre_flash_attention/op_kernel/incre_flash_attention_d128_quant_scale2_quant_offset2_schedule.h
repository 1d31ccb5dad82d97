// The schedule of incre_flash_attention_d128_quant_scale2_quant_offset2: tile sizes, ring depth,
// on-chip buffers. The kernel and the plan of op_host both compute with these constants. Plain
// C++17, no CANN headers.
#ifndef ATTNDSL_INCRE_FLASH_ATTENTION_D128_QUANT_SCALE2_QUANT_OFFSET2_SCHEDULE_H
#define ATTNDSL_INCRE_FLASH_ATTENTION_D128_QUANT_SCALE2_QUANT_OFFSET2_SCHEDULE_H

#include <cstdint>

#include "attndsl_device.h"

namespace incre_flash_attention_d128_quant_scale2_quant_offset2 {

using attndsl::kBlockHalves;
using attndsl::kBlockLanes;
using attndsl::kFractal;
using attndsl::kHalfBankRow;
using attndsl::kOrderedFractals;
using attndsl::kRepeatBlocks;
using attndsl::kRepeatLanes;
using attndsl::kVectorCores;

// Fixed by what the kernel is specialized on, or by the only value that other choices leave.
constexpr int64_t kPaddedHeadSize = 128;  // head size this kernel is specialized on, padded to 16
// slots of a buffer that is filled while the other is used; ids of events count on it
constexpr int64_t kDoubleBuffer = 2;
constexpr int64_t kBaseN = 128;  // keys or value columns of one matrix multiply
constexpr int64_t kBaseK = 128;  // depth of one matrix multiply

// Schedule options. They may be edited within the limits that the assertions state.
// slots of a workspace ring of score or probability tiles, at most (set in the spec)
constexpr int64_t kRing = 3;
constexpr int64_t kMaxRows = 128;  // query rows of one task, at most
constexpr int64_t kTileKeys = 512;  // keys of one score tile
constexpr int64_t kRowsPerStep = 16;  // query rows of one vector step

// Derived from the options.
// query rows of one vector core, at most
constexpr int64_t kRowsPerVector = kMaxRows / kVectorCores;
// lanes of a row, one for 8 keys, whole repeats
constexpr int64_t kFoldedLanes =
    (kTileKeys / kBlockLanes + kRepeatLanes - 1) / kRepeatLanes * kRepeatLanes;
constexpr int64_t kKeyBlock = kBaseN * kPaddedHeadSize;  // elements of a block of keys
constexpr int64_t kValueBlock = kBaseK * kPaddedHeadSize;  // elements of a block of values
// tiles by which the scores run ahead of the weighted sums
constexpr int64_t kPrefetch = kRing - 1;

static_assert(kTileKeys >= 64 && kTileKeys <= 512 && kTileKeys % 64 == 0,
    "kTileKeys: a multiple of 64 from 64 to 512; one repeat has the folded lanes of a row");
static_assert(kRing >= 2 && kRing <= 8, "kRing: from 2 to 8");
static_assert(kRowsPerStep >= 8 && kRowsPerStep <= 64 && kRowsPerStep % 8 == 0,
    "kRowsPerStep: a multiple of 8 from 8 to 64");
static_assert(kBaseN == kPaddedHeadSize,
    "kBaseN: kPaddedHeadSize; L0B holds two blocks of keys; one matrix multiply takes a whole "
    "head");
static_assert(kBaseK == kPaddedHeadSize,
    "kBaseK: kPaddedHeadSize; L0B holds two blocks of values; one matrix multiply takes a "
    "whole head");
static_assert(kMaxRows >= 16 && kMaxRows <= 128 && kMaxRows % 16 == 0,
    "kMaxRows: a multiple of 16 from 16 to 128; a task is one band of rows; L0A holds the "
    "query rows of a task twice");
static_assert(kMaxRows / kVectorCores % kRowsPerStep == 0,
    "kRowsPerStep divides the rows of a vector core");

// Buffer map, in bytes: a slot of buffer x has kXSlotBytes, the first is at kXAt.
// UB
constexpr uint32_t
    // 2 slots: scores of the rows, then exp(score - max)
    kScoreSlotBytes = kRowsPerStep * kTileKeys * 4,
    // running weighted sum of each row
    kAccumulatorSlotBytes = kRowsPerVector * kPaddedHeadSize * 4,
    kProbSlotBytes = kRowsPerStep * kTileKeys * 2,  // probabilities, as the cube multiplies them
    kRowsOutSlotBytes = kRowsPerStep * kPaddedHeadSize * 4,  // 2 slots: weighted sums of a partial
    kLanesSlotBytes = kRowsPerStep * kFoldedLanes * 4,  // reduction over the tile, one repeat a row
    // 2 slots: finished rows in the dtype of the result
    kResultSlotBytes = kRowsPerStep * kPaddedHeadSize,
    kResultHalfSlotBytes = kRowsPerStep * kPaddedHeadSize * 2,  // integer-valued results in fp16
    // a row statistic, two blocks a row
    kRowBlocksSlotBytes = kRowsPerStep * (2 * kBlockLanes) * 4,
    kMaxOutSlotBytes = kRowsPerStep * kBlockLanes * 4,  // 2 slots: row maxima of a partial
    kSumOutSlotBytes = kRowsPerStep * kBlockLanes * 4,  // 2 slots: row sums of a partial
    kMergedMaxSlotBytes = kRowsPerStep * kBlockLanes * 4,  // maximum of the merged rows
    kMergedSumSlotBytes = kRowsPerStep * kBlockLanes * 4,  // sum of the merged rows
    kNewMaxBlocksSlotBytes = kRowsPerStep * kBlockLanes * 4,  // maximum including the partial
    // exp(old max - new max) of merged rows
    kMergedRescaleSlotBytes = kRowsPerStep * kBlockLanes * 4,
    // 2 slots: weighted sum of one tile or split
    kPartialSlotBytes = kRowsPerStep * kPaddedHeadSize * 4,
    kFactorRowsSlotBytes = kRowsPerStep * kPaddedHeadSize * 4,  // 2 slots: a factor of the rows
    // 2 slots: row maximum of one partial, then exp(it - new max)
    kPartMaxSlotBytes = kRowsPerStep * kBlockLanes * 4,
    kPartSumSlotBytes = kRowsPerStep * kBlockLanes * 4,  // 2 slots: row sum of one partial
    // running maximum of each row, of items in flight
    kRowMaxSlotBytes = kRing * kRowsPerVector * 4,
    kRowSumSlotBytes = kRing * kRowsPerVector * 4,  // running sum of each row, of items in flight
    kTileStatSlotBytes = kRowsPerStep * 4,  // maximum or sum of each row of the tile
    kNewMaxSlotBytes = kRowsPerStep * 4,  // running maximum including the tile
    // exp(old max - new max) of the tiles in flight
    kRescaleSlotBytes = kRing * kRowsPerVector * 4;
// A gap of kHalfBankRow puts a buffer into the other half of a row of banks than the operand that
// is read with it, so that no repeat waits for a bank twice: keep it where sizes before it change.
constexpr uint32_t kScoreAt = 0, kAccumulatorAt = kScoreAt + kDoubleBuffer * kScoreSlotBytes,
    kProbAt = kAccumulatorAt + kAccumulatorSlotBytes, kRowsOutAt = kProbAt + kProbSlotBytes,
    kLanesAt = kRowsOutAt + kDoubleBuffer * kRowsOutSlotBytes,
    kResultAt = kLanesAt + kLanesSlotBytes,
    kResultHalfAt = kResultAt + kDoubleBuffer * kResultSlotBytes,
    kRowBlocksAt = kResultHalfAt + kResultHalfSlotBytes,
    kMaxOutAt = kRowBlocksAt + kRowBlocksSlotBytes,
    kSumOutAt = kMaxOutAt + kDoubleBuffer * kMaxOutSlotBytes,
    kMergedMaxAt = kSumOutAt + kDoubleBuffer * kSumOutSlotBytes,
    kMergedSumAt = kMergedMaxAt + kMergedMaxSlotBytes,
    kNewMaxBlocksAt = kMergedSumAt + kMergedSumSlotBytes,
    kMergedRescaleAt = kNewMaxBlocksAt + kNewMaxBlocksSlotBytes,
    kPartialAt = kMergedRescaleAt + kMergedRescaleSlotBytes + kHalfBankRow,
    kFactorRowsAt = kPartialAt + kDoubleBuffer * kPartialSlotBytes,
    kPartMaxAt = kFactorRowsAt + kDoubleBuffer * kFactorRowsSlotBytes,
    kPartSumAt = kPartMaxAt + kDoubleBuffer * kPartMaxSlotBytes,
    kRowMaxAt = kPartSumAt + kDoubleBuffer * kPartSumSlotBytes,
    kRowSumAt = kRowMaxAt + kRowMaxSlotBytes, kTileStatAt = kRowSumAt + kRowSumSlotBytes,
    kNewMaxAt = kTileStatAt + kTileStatSlotBytes, kRescaleAt = kNewMaxAt + kNewMaxSlotBytes,
    kUbEnd = kRescaleAt + kRescaleSlotBytes;
static_assert(kUbEnd <= attndsl::kUbBytes, "the buffers fit into UB");
// L1
constexpr uint32_t
    kQueryL1SlotBytes = kMaxRows * kPaddedHeadSize * 2,  // 2 slots: query rows of the task, Nz
    kKeyL1SlotBytes = kKeyBlock * 2,  // 2 slots: key block, Nz
    kProbL1SlotBytes = kMaxRows * kTileKeys * 2,  // 2 slots: probabilities of a key tile, Nz
    kValueL1SlotBytes = kValueBlock * 2;  // 2 slots: value block, Nz
constexpr uint32_t kQueryL1At = 0, kKeyL1At = kQueryL1At + kDoubleBuffer * kQueryL1SlotBytes,
    kProbL1At = kKeyL1At + kDoubleBuffer * kKeyL1SlotBytes,
    kValueL1At = kProbL1At + kDoubleBuffer * kProbL1SlotBytes,
    kL1End = kValueL1At + kDoubleBuffer * kValueL1SlotBytes;
static_assert(kL1End <= attndsl::kL1Bytes, "the buffers fit into L1");
// L0A
// 2 slots: left operand, Zz
constexpr uint32_t kLeftL0SlotBytes =
    kMaxRows * (kBaseK > kPaddedHeadSize ? kBaseK : kPaddedHeadSize) * 2;
constexpr uint32_t kLeftL0At = 0, kL0aEnd = kLeftL0At + kDoubleBuffer * kLeftL0SlotBytes;
static_assert(kL0aEnd <= attndsl::kL0aBytes, "the buffers fit into L0A");
// L0B
// 2 slots: right operand, Zn
constexpr uint32_t kRightL0SlotBytes = (kKeyBlock > kValueBlock ? kKeyBlock : kValueBlock) * 2;
constexpr uint32_t kRightL0At = 0, kL0bEnd = kRightL0At + kDoubleBuffer * kRightL0SlotBytes;
static_assert(kL0bEnd <= attndsl::kL0bBytes, "the buffers fit into L0B");
// L0C
// 2 slots: scores of a key block or weighted sum of values, Nz
constexpr uint32_t kProductL0SlotBytes =
    kMaxRows * (kBaseN > kPaddedHeadSize ? kBaseN : kPaddedHeadSize) * 4;
constexpr uint32_t kProductL0At = 0, kL0cEnd = kProductL0At + kDoubleBuffer * kProductL0SlotBytes;
static_assert(kL0cEnd <= attndsl::kL0cBytes, "the buffers fit into L0C");

}  // namespace incre_flash_attention_d128_quant_scale2_quant_offset2

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_D128_QUANT_SCALE2_QUANT_OFFSET2_SCHEDULE_H
