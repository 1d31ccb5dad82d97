// The schedule of nsa_compress_attention_d128_e128: tile sizes, ring depth, on-chip buffers. The
// kernel and the plan of op_host both compute with these constants. Plain C++17, no CANN headers.
#ifndef ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_SCHEDULE_H
#define ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_SCHEDULE_H

#include <cstdint>

#include "attndsl_device.h"

namespace nsa_compress_attention_d128_e128 {

using attndsl::kBlockHalves;
using attndsl::kBlockLanes;
using attndsl::kFractal;
using attndsl::kHalfBankRow;
using attndsl::kOrderedFractals;
using attndsl::kRepeatBlocks;
using attndsl::kRepeatLanes;
using attndsl::kVectorCores;

// Fixed by what the kernel is specialized on, or by the only value that other choices leave.
constexpr int64_t kPaddedValueSize = 128;  // head size of values and results, padded to 16
constexpr int64_t kSortGroup = 32;  // lanes that Sort32 sorts together
constexpr int64_t kRecordLanes = 2;  // lanes of a record of Sort32: score, index
constexpr int64_t kWindowBefore = 16;  // keys of the previous tile that windows reach back to
constexpr int64_t kPaddedHeadSize = 128;  // head size this kernel is specialized on, padded to 16
// slots of a buffer that is filled while the other is used; ids of events count on it
constexpr int64_t kDoubleBuffer = 2;
constexpr int64_t kMaxRows = 128;  // query rows of one task, at most (set in the spec)
constexpr int64_t kBaseN = 128;  // keys or value columns of one matrix multiply
constexpr int64_t kBaseK = 128;  // depth of one matrix multiply

// Schedule options. They may be edited within the limits that the assertions state.
constexpr int64_t kRing = 3;  // slots of a workspace ring of score or probability tiles, at most
constexpr int64_t kRowsPerStep = 16;  // query rows of one vector step
// query rows of one vector step on weighted sums and results
constexpr int64_t kResultRowsPerStep = 16;
constexpr int64_t kTileKeys = 512;  // keys of one score tile

// Derived from the options.
// query rows of one vector core, at most
constexpr int64_t kRowsPerVector = kMaxRows / kVectorCores;
// elements between the column groups of probabilities that a repeat fills
constexpr int64_t kGroupPitch = (kTileKeys / kRepeatLanes * kRowsPerStep + 1) * kFractal;
// lanes of a row, one for 8 keys, whole repeats
constexpr int64_t kFoldedLanes =
    (kTileKeys / kBlockLanes + kRepeatLanes - 1) / kRepeatLanes * kRepeatLanes;
// blocks, of several positions, sorted at once
constexpr int64_t kBlockScoreLanes = ((kTileKeys > 256 ? kTileKeys : 256) + 127) / 128 * 128;
// lanes in front of the first position's tile
constexpr int64_t kWindowLead = (kWindowBefore + 127) / 128 * 128;
// lanes of a position: a tile and its surroundings
constexpr int64_t kWindowRow = (kTileKeys + 8 + kWindowBefore + 127) / 128 * 128;
// positions whose lists are merged at once
constexpr int64_t kMergedPositions =
    kRowsPerStep * 2 * kFoldedLanes / (4 * kSortGroup * kRecordLanes);
// tiles by which the scores run ahead of the weighted sums
constexpr int64_t kPrefetch = kRing - 1;
constexpr int64_t kKeyBlock = kBaseN * kPaddedHeadSize;  // elements of a block of keys
constexpr int64_t kValueBlock = kBaseK * kPaddedValueSize;  // elements of a block of values

static_assert(kTileKeys >= 256 && kTileKeys <= 512 && kTileKeys % 256 == 0,
    "kTileKeys: a multiple of 256 from 256 to 512; tiles of positions begin at rows of banks "
    "where they are long; one repeat has the folded lanes of a row; halves of tiles are whole "
    "rows of banks");
static_assert(kRing >= 2 && kRing <= 8, "kRing: from 2 to 8");
static_assert(kRowsPerStep >= 16 && kRowsPerStep <= 64 && kRowsPerStep % 16 == 0,
    "kRowsPerStep: a multiple of 16 from 16 to 64; a vector step has whole trees of heads");
static_assert(kResultRowsPerStep >= 8 && kResultRowsPerStep <= 128 && kResultRowsPerStep % 8 == 0,
    "kResultRowsPerStep: a multiple of 8 from 8 to 128");
static_assert(kBaseN == kPaddedValueSize,
    "kBaseN: kPaddedValueSize; L0B holds two blocks of keys; one matrix multiply takes a "
    "whole head");
static_assert(kBaseK == kPaddedHeadSize,
    "kBaseK: kPaddedHeadSize; L0B holds two blocks of values; one matrix multiply takes a "
    "whole head");
static_assert(kMaxRows == 128,
    "kMaxRows: 128; a task is one band of rows; a vector core has all heads of a position; "
    "L0A holds the query rows of a task twice");
static_assert(kMaxRows / kVectorCores % kRowsPerStep == 0,
    "kRowsPerStep divides the rows of a vector core");
static_assert(kMaxRows / kVectorCores % kResultRowsPerStep == 0,
    "kResultRowsPerStep divides the rows of a vector core");
static_assert(kMergedPositions >= kBlockScoreLanes / kRepeatLanes,
    "the place of folded lanes has the merged lists of a step, or of a part");
static_assert(kResultRowsPerStep * kPaddedValueSize
    <= kRowsPerStep * kTileKeys + kRowsPerStep * 2 * kBlockLanes,
    "the place of scores has room for a step of results");
static_assert(kResultRowsPerStep * kPaddedValueSize <= kRepeatLanes / kFractal * kGroupPitch,
    "the place of probabilities has room for a step of results");
static_assert(kRowsPerVector * 2 * kBlockLanes <= kRowsPerStep * 2 * kFoldedLanes,
    "the place of folded lanes has room for a statistic of a vector core");
static_assert(kRowsPerVector % (kRowsPerStep * 2) == 0,
    "a vector core has whole steps of twice the rows");

// Buffer map, in bytes: a slot of buffer x has kXSlotBytes, the first is at kXAt.
// UB
constexpr uint32_t
    // probabilities, as the cube multiplies them, by column groups
    kProbSlotBytes = kRepeatLanes / kFractal * kGroupPitch * 2,
    // running weighted sum of each row
    kAccumulatorSlotBytes = kRowsPerVector * kPaddedValueSize * 4,
    // probabilities of a tile summed over heads, after the last keys of the previous tile
    kWindowSlotBytes = (kWindowLead + (kRowsPerVector < 8 ? kRowsPerVector : 8) * kWindowRow) * 4,
    // reduction over the tile, one repeat a row
    kLanesSlotBytes = kRowsPerStep * 2 * kFoldedLanes * 4,
    // blocks of a tile, sorted in groups
    kBlockRecordsSlotBytes = kBlockScoreLanes * kRecordLanes * 4,
    // 2 slots: a row statistic, one block a row
    kCoreStatisticOutSlotBytes = kRowsPerVector * kBlockLanes * 4,
    kLaneNumberSlotBytes = kBlockScoreLanes * 4,  // block of each lane of a position
    kLaneOffsetSlotBytes = kBlockScoreLanes * 4,  // bytes to the first key of each lane's block
    kBlockScoreSlotBytes = kBlockScoreLanes * 4,  // score of each lane's block
    kBlockTermSlotBytes = kBlockScoreLanes * 4,  // one term of the scores
    kBlockNumberSlotBytes = kBlockScoreLanes * 4,  // number of each lane's block
    // best blocks of each position, sorted records
    kBestSlotBytes = (kRowsPerVector < 8 ? kRowsPerVector : 8) * (kSortGroup * kRecordLanes) * 4,
    kSelectedSlotBytes = kBlockScoreLanes * 4,  // numbers of the best blocks
    // a row statistic, two blocks a row
    kResultBlocksSlotBytes = kResultRowsPerStep * (2 * kBlockLanes) * 4,
    // 2 slots: a row statistic, one block a row
    kStatisticOutSlotBytes = kResultRowsPerStep * kBlockLanes * 4,
    // 2 slots: scores of the rows, then exp(score - max)
    kScoreSlotBytes = (kRowsPerStep * kTileKeys + kRowsPerStep * 2 * kBlockLanes) * 4,
    // a row statistic, two blocks a row
    kRowBlocksSlotBytes = kRowsPerStep * 2 * (2 * kBlockLanes) * 4,
    kOnesSlotBytes = kRowsPerStep * 2 * 4,  // 1 for each row of a step, to invert its sum
    // running maximum of each row, of items in flight
    kRowMaxSlotBytes = kRing * kRowsPerVector * 4,
    kRowSumSlotBytes = kRing * kRowsPerVector * 4,  // running sum of each row, of items in flight
    // running maximum including the tile
    kNewMaxSlotBytes =
        (kRowsPerStep * 2 > kResultRowsPerStep ? kRowsPerStep * 2 : kResultRowsPerStep) * 4,
    // maximum or sum of each row of the tile
    kTileStatSlotBytes =
        (kRowsPerStep * 2 > kResultRowsPerStep ? kRowsPerStep * 2 : kResultRowsPerStep) * 4,
    // exp(old max - new max) of the tiles in flight
    kRescaleSlotBytes = kRing * kRowsPerVector * 4,
    kRowInverseSlotBytes = kRowsPerStep * 2 * 4,  // 1 / rowSum of each row of a step
    kBlockBitsSlotBytes = kBlockScoreLanes / 8 > 32 ? kBlockScoreLanes / 8 : 32,  // one bit a lane
    // one bit a lane: 1 where a row has seen a key
    kCoreHasKeysSlotBytes =
        kRowsPerVector * kBlockLanes / 8 > 32 ? kRowsPerVector * kBlockLanes / 8 : 32,
    // one bit a lane: 1 where a row has seen a key
    kRowHasKeysSlotBytes =
        kResultRowsPerStep * kBlockLanes / 8 > 32 ? kResultRowsPerStep * kBlockLanes / 8 : 32;
// A gap of kHalfBankRow puts a buffer into the other half of a row of banks than the operand that
// is read with it, so that no repeat waits for a bank twice: keep it where sizes before it change.
constexpr uint32_t kProbAt = 0, kAccumulatorAt = kProbAt + kProbSlotBytes + 384,
    kWindowAt = kAccumulatorAt + kAccumulatorSlotBytes, kLanesAt = kWindowAt + kWindowSlotBytes,
    kBlockRecordsAt = (kLanesAt + kLanesSlotBytes + 255) / 256 * 256,
    kCoreStatisticOutAt = kBlockRecordsAt + kBlockRecordsSlotBytes,
    kLaneNumberAt = kCoreStatisticOutAt + kDoubleBuffer * kCoreStatisticOutSlotBytes,
    kLaneOffsetAt = kLaneNumberAt + kLaneNumberSlotBytes,
    kBlockScoreAt = (kLaneOffsetAt + kLaneOffsetSlotBytes + 127) / 128 * 128,
    kBlockTermAt = kBlockScoreAt + kBlockScoreSlotBytes,
    kBlockNumberAt = (kBlockTermAt + kBlockTermSlotBytes + 127) / 128 * 128,
    kBestAt = kBlockNumberAt + kBlockNumberSlotBytes, kSelectedAt = kBestAt + kBestSlotBytes,
    kResultBlocksAt = kSelectedAt + kSelectedSlotBytes,
    kStatisticOutAt = kResultBlocksAt + kResultBlocksSlotBytes,
    kScoreAt = kStatisticOutAt + kDoubleBuffer * kStatisticOutSlotBytes + kHalfBankRow,
    kRowBlocksAt = kScoreAt + kDoubleBuffer * kScoreSlotBytes,
    kOnesAt = kRowBlocksAt + kRowBlocksSlotBytes, kRowMaxAt = kOnesAt + kOnesSlotBytes,
    kRowSumAt = kRowMaxAt + kRowMaxSlotBytes, kNewMaxAt = kRowSumAt + kRowSumSlotBytes,
    kTileStatAt = kNewMaxAt + kNewMaxSlotBytes, kRescaleAt = kTileStatAt + kTileStatSlotBytes,
    kRowInverseAt = kRescaleAt + kRescaleSlotBytes,
    kBlockBitsAt = kRowInverseAt + kRowInverseSlotBytes,
    kCoreHasKeysAt = kBlockBitsAt + kBlockBitsSlotBytes,
    kRowHasKeysAt = kCoreHasKeysAt + kCoreHasKeysSlotBytes,
    kUbEnd = kRowHasKeysAt + kRowHasKeysSlotBytes;
static_assert(kUbEnd <= attndsl::kUbBytes, "the buffers fit into UB");
static_assert(kBlockBitsSlotBytes % 32 == 0, "slots of UB are aligned");
static_assert(kCoreHasKeysSlotBytes % 32 == 0, "slots of UB are aligned");
static_assert(kRowHasKeysSlotBytes % 32 == 0, "slots of UB are aligned");
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
    kMaxRows * (kBaseN > kPaddedValueSize ? kBaseN : kPaddedValueSize) * 4;
constexpr uint32_t kProductL0At = 0, kL0cEnd = kProductL0At + kDoubleBuffer * kProductL0SlotBytes;
static_assert(kL0cEnd <= attndsl::kL0cBytes, "the buffers fit into L0C");

}  // namespace nsa_compress_attention_d128_e128

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_SCHEDULE_H
