// The schedule of self_attention_pa_encoder_d128_e128_value_logN: tile sizes, ring depth, on-chip
// buffers. The kernel and the plan of op_host both compute with these constants. Plain C++17, no
// CANN headers.
#ifndef ATTNDSL_SELF_ATTENTION_PA_ENCODER_D128_E128_VALUE_LOGN_SCHEDULE_H
#define ATTNDSL_SELF_ATTENTION_PA_ENCODER_D128_E128_VALUE_LOGN_SCHEDULE_H

#include <cstdint>

#include "attndsl_device.h"

namespace self_attention_pa_encoder_d128_e128_value_logN {

using attndsl::kBlockHalves;
using attndsl::kBlockLanes;
using attndsl::kFractal;
using attndsl::kHalfBankRow;
using attndsl::kOrderedFractals;
using attndsl::kRepeatBlocks;
using attndsl::kRepeatLanes;
using attndsl::kVectorCores;

// Fixed by what the kernel is specialized on, or by the only value that other choices leave.
constexpr int64_t kRowsPerBand = 128;  // query rows of a band of a task's rows
constexpr int64_t kPaddedValueSize = 128;  // head size of values and results, padded to 16
constexpr int64_t kMostHalves = 2;  // halves of a task, at most
constexpr int64_t kPaddedHeadSize = 128;  // head size this kernel is specialized on, padded to 16
// slots of a buffer that is filled while the other is used; ids of events count on it
constexpr int64_t kDoubleBuffer = 2;
constexpr int64_t kBaseN = 128;  // keys or value columns of one matrix multiply
constexpr int64_t kBaseK = 128;  // depth of one matrix multiply

// Schedule options. They may be edited within the limits that the assertions state.
constexpr int64_t kRing = 3;  // slots of a workspace ring of score or probability tiles, at most
constexpr int64_t kMaxRows = 256;  // query rows of a half of a task, at most
constexpr int64_t kTileKeys = 512;  // keys of one score tile
constexpr int64_t kRowsPerStep = 16;  // query rows of one vector step

// Derived from the options.
// query rows of one vector core, at most
constexpr int64_t kRowsPerVector = kMaxRows / kVectorCores;
// elements between the column groups of probabilities that a repeat fills
constexpr int64_t kGroupPitch = (kTileKeys / kRepeatLanes * kRowsPerStep + 1) * kFractal;
// lanes of a row, one for 8 keys, whole repeats
constexpr int64_t kFoldedLanes =
    (kTileKeys / kBlockLanes + kRepeatLanes - 1) / kRepeatLanes * kRepeatLanes;
constexpr int64_t kKeyBlock = kBaseN * kPaddedHeadSize;  // elements of a block of keys
constexpr int64_t kValueBlock = kBaseK * kPaddedValueSize;  // elements of a block of values
// keys of the probabilities of a band in L1, a slot
constexpr int64_t kProbPiece = kTileKeys < 2 * kBaseK ? kTileKeys : 2 * kBaseK;
// tiles by which the scores run ahead of the weighted sums
constexpr int64_t kPrefetch = kRing - 1;
// rows of a score tile that have room in a buffer of weighted sums
constexpr int64_t kRowsOfZeros = kRowsPerStep * kPaddedValueSize / kTileKeys;

static_assert(kTileKeys >= 64 && kTileKeys <= 512 && kTileKeys % 64 == 0,
    "kTileKeys: a multiple of 64 from 64 to 512; one repeat has the folded lanes of a row");
static_assert(kRing >= 3 && kRing <= 8,
    "kRing: from 3 to 8; the maxima of a half's next tile have a slot of their own");
static_assert(kRowsPerStep >= 8 && kRowsPerStep <= 64 && kRowsPerStep % 8 == 0,
    "kRowsPerStep: a multiple of 8 from 8 to 64; one repeat has a number of each row of a "
    "step");
static_assert(kBaseN == kPaddedValueSize,
    "kBaseN: kPaddedValueSize; L0B holds two blocks of keys; one matrix multiply takes a "
    "whole head");
static_assert(kBaseK == kPaddedHeadSize,
    "kBaseK: kPaddedHeadSize; one matrix multiply takes a whole head; L0B holds two blocks of "
    "values");
static_assert(kMaxRows >= 144 && kMaxRows <= 256 && kMaxRows % 16 == 0,
    "kMaxRows: a multiple of 16 from 144 to 256; a task has several bands of rows");
static_assert(kMaxRows / kVectorCores % kRowsPerStep == 0,
    "kRowsPerStep divides the rows of a vector core");
static_assert(kRowsOfZeros > 0, "a step of weighted sums has room for a row of scores");

// Buffer map, in bytes: a slot of buffer x has kXSlotBytes, the first is at kXAt.
// UB
constexpr uint32_t
    // 2 slots: finished rows in the dtype of the result
    kResultSlotBytes = kRowsPerStep * kPaddedValueSize * 2,
    // 2 slots: scores of the rows, then exp(score - max)
    kScoreSlotBytes = kRowsPerStep * kTileKeys * 4,
    // 2 slots: weighted sums of an item so far, or of a split
    kPartialSlotBytes = kRowsPerStep * kPaddedValueSize * 4,
    kRowsOutSlotBytes = kRowsPerStep * kPaddedValueSize * 4,  // 2 slots: weighted sums of a partial
    kStepLanesSlotBytes = kRowsPerStep * kFoldedLanes * 4,  // row sums of a step, one repeat a row
    kSumBlocksSlotBytes = kRowsPerVector * kBlockLanes * 4,  // row sums of the tile, 8 lanes a row
    kLanesSlotBytes = kRowsPerStep * kFoldedLanes * 4,  // reduction over the tile, one repeat a row
    // running maximum of each row, of items in flight
    kRowMaxSlotBytes = kRing * kMostHalves * kRowsPerVector * 4,
    // running sum of each row, of items in flight
    kRowSumSlotBytes = kRing * kMostHalves * kRowsPerVector * 4,
    // a row statistic, two blocks a row
    kRowBlocksSlotBytes = kRowsPerStep * (2 * kBlockLanes) * 4,
    kMaxOutSlotBytes = kRowsPerStep * kBlockLanes * 4,  // 2 slots: row maxima of a partial
    kSumOutSlotBytes = kRowsPerStep * kBlockLanes * 4,  // 2 slots: row sums of a partial
    // 2 slots: row maximum of one partial, then exp(it - new max)
    kPartMaxSlotBytes = kRowsPerStep * kBlockLanes * 4,
    kAccumulatorSlotBytes = kRowsPerStep * kPaddedValueSize * 4,  // weighted sums of merged rows
    // exp(old max - new max) of the tiles in flight
    kRescaleSlotBytes = kRing * kRowsPerVector * 4,
    kPartSumSlotBytes = kRowsPerStep * kBlockLanes * 4,  // 2 slots: row sum of one partial
    kTileSumSlotBytes = kRowsPerVector * 4,  // row sums of the tile
    kMergedMaxSlotBytes = kRowsPerStep * kBlockLanes * 4,  // maximum of the merged rows
    kMergedSumSlotBytes = kRowsPerStep * kBlockLanes * 4,  // sum of the merged rows
    kNewMaxBlocksSlotBytes = kRowsPerStep * kBlockLanes * 4,  // maximum including the partial
    // exp(old max - new max) of merged rows
    kMergedRescaleSlotBytes = kRowsPerStep * kBlockLanes * 4,
    kTileStatSlotBytes = kRowsPerStep * 4,  // maximum or sum of each row of the tile
    kNewMaxSlotBytes = kRowsPerStep * 4,  // running maximum including the tile
    // sum of rowMax - newMax of the rows of a step, a block each, of the tiles in flight
    kGrowthSlotBytes = kRing * (kRowsPerVector / kRowsPerStep * kBlockLanes) * 4,
    // probabilities, as the cube multiplies them, by column groups
    kProbSlotBytes = kRepeatLanes / kFractal * kGroupPitch * 2,
    // growth of a tile, as the scalar unit reads it
    kGrownSlotBytes = kRowsPerVector / kRowsPerStep * kBlockLanes * 4;
// A gap of kHalfBankRow puts a buffer into the other half of a row of banks than the operand that
// is read with it, so that no repeat waits for a bank twice: keep it where sizes before it change.
constexpr uint32_t kResultAt = 0, kScoreAt = kResultAt + kDoubleBuffer * kResultSlotBytes,
    kPartialAt = kScoreAt + kDoubleBuffer * kScoreSlotBytes,
    kRowsOutAt = kPartialAt + kDoubleBuffer * kPartialSlotBytes,
    kStepLanesAt = kRowsOutAt + kDoubleBuffer * kRowsOutSlotBytes,
    kSumBlocksAt = kStepLanesAt + kStepLanesSlotBytes,
    kLanesAt = kSumBlocksAt + kSumBlocksSlotBytes, kRowMaxAt = kLanesAt + kLanesSlotBytes,
    kRowSumAt = kRowMaxAt + kRowMaxSlotBytes, kRowBlocksAt = kRowSumAt + kRowSumSlotBytes,
    kMaxOutAt = kRowBlocksAt + kRowBlocksSlotBytes,
    kSumOutAt = kMaxOutAt + kDoubleBuffer * kMaxOutSlotBytes,
    kPartMaxAt = kSumOutAt + kDoubleBuffer * kSumOutSlotBytes,
    kAccumulatorAt = kPartMaxAt + kDoubleBuffer * kPartMaxSlotBytes + kHalfBankRow,
    kRescaleAt = kAccumulatorAt + kAccumulatorSlotBytes,
    kPartSumAt = kRescaleAt + kRescaleSlotBytes,
    kTileSumAt = kPartSumAt + kDoubleBuffer * kPartSumSlotBytes,
    kMergedMaxAt = kTileSumAt + kTileSumSlotBytes,
    kMergedSumAt = kMergedMaxAt + kMergedMaxSlotBytes,
    kNewMaxBlocksAt = kMergedSumAt + kMergedSumSlotBytes,
    kMergedRescaleAt = kNewMaxBlocksAt + kNewMaxBlocksSlotBytes,
    kTileStatAt = kMergedRescaleAt + kMergedRescaleSlotBytes,
    kNewMaxAt = kTileStatAt + kTileStatSlotBytes, kGrowthAt = kNewMaxAt + kNewMaxSlotBytes,
    kProbAt = kGrowthAt + kGrowthSlotBytes, kGrownAt = kProbAt + kProbSlotBytes,
    kUbEnd = kGrownAt + kGrownSlotBytes;
static_assert(kUbEnd <= attndsl::kUbBytes, "the buffers fit into UB");
// L1
constexpr uint32_t
    kQueryL1SlotBytes = kMaxRows * kPaddedHeadSize * 2,  // 2 slots: query rows of a half, Nz
    kKeyL1SlotBytes = kKeyBlock * 2,  // 2 slots: key block, Nz
    kValueL1SlotBytes = kTileKeys * kPaddedValueSize * 2,  // values of a key tile, Nz
    // 2 slots: probabilities of a band of rows, Nz
    kProbL1SlotBytes = kRowsPerBand * kProbPiece * 2;
constexpr uint32_t kQueryL1At = 0, kKeyL1At = kQueryL1At + kDoubleBuffer * kQueryL1SlotBytes,
    kValueL1At = kKeyL1At + kDoubleBuffer * kKeyL1SlotBytes,
    kProbL1At = kValueL1At + kValueL1SlotBytes,
    kL1End = kProbL1At + kDoubleBuffer * kProbL1SlotBytes;
static_assert(kL1End <= attndsl::kL1Bytes, "the buffers fit into L1");
// L0A
constexpr uint32_t kLeftL0SlotBytes = kRowsPerBand * kBaseK * 2;  // 2 slots: left operand, Zz
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
    kRowsPerBand * (kBaseN > kPaddedValueSize ? kBaseN : kPaddedValueSize) * 4;
constexpr uint32_t kProductL0At = 0, kL0cEnd = kProductL0At + kDoubleBuffer * kProductL0SlotBytes;
static_assert(kL0cEnd <= attndsl::kL0cBytes, "the buffers fit into L0C");

}  // namespace self_attention_pa_encoder_d128_e128_value_logN

#endif  // ATTNDSL_SELF_ATTENTION_PA_ENCODER_D128_E128_VALUE_LOGN_SCHEDULE_H
