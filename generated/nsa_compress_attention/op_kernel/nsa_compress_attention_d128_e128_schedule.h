// The schedule of nsa_compress_attention_d128_e128: tile sizes, ring depth, on-chip buffers. The
// kernel and the plan of op_host both compute with these constants. Plain C++17, no CANN headers.
#ifndef ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_SCHEDULE_H
#define ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_SCHEDULE_H

#include <cstdint>

namespace nsa_compress_attention_d128_e128 {

// Fixed by the device and by what the kernel is specialised on.
constexpr int64_t kRepeatLanes = 64;  // fp32 lanes of one vector repeat
constexpr int64_t kFractal = 16;  // rows and columns of a cube fractal
constexpr int64_t kValueDimBucket = 128;  // head size of values and results, padded to 16
constexpr int64_t kHeadDimBucket = 128;  // head size this kernel is specialised on, padded to 16
constexpr int64_t kWindowBefore = 24;  // keys of the tile before that windows reach back to

// Schedule options. They may be edited within the limits that the assertions state.
constexpr int64_t kMaxRows = 128;  // query rows of one task, at most
constexpr int64_t kRowsPerStep = 8;  // query rows of one vector step
constexpr int64_t kTileKeys = 512;  // keys of one score tile
constexpr int64_t kRing = 3;  // workspace slots between cube and vector cores
constexpr int64_t kBaseN = 64;  // keys or value columns of one matrix multiply
constexpr int64_t kBaseK = 128;  // depth of one matrix multiply

// Derived from the options.
constexpr int64_t kRowsPerVector = kMaxRows / 2;  // query rows of one vector core, at most
constexpr int64_t kKeyBlock = kBaseN * kHeadDimBucket;  // elements of a block of keys
constexpr int64_t kValueBlock = kBaseK * kBaseN;  // elements of a block of values
// tiles by which the scores run ahead of the weighted sums
constexpr int64_t kPrefetch = kRing - 1;
// blocks, of several positions, sorted at once
constexpr int64_t kBlockLanes = ((kTileKeys > 256 ? kTileKeys : 256) + 127) / 128 * 128;
// lanes of a position: a tile and what is around it
constexpr int64_t kWindowRow = kWindowBefore + kTileKeys + 8;

static_assert(kTileKeys >= 64 && kTileKeys <= 1984 && kTileKeys % 64 == 0,
    "tile_k: an integer from 64 to 1984, a multiple of 64");
static_assert(kRing >= 2 && kRing <= 8, "ring: an integer from 2 to 8");
static_assert(kRowsPerStep >= 8 && kRowsPerStep <= 64 && kRowsPerStep % 8 == 0,
    "rows: an integer from 8 to 64, a multiple of 8");
static_assert(kBaseN >= 16 && kBaseN <= 256 && kBaseN % 16 == 0,
    "base_n: an integer from 16 to 256, a multiple of 16");
static_assert(kBaseK >= 16 && kBaseK <= 256 && kBaseK % 16 == 0,
    "base_k: an integer from 16 to 256, a multiple of 16");
static_assert(kMaxRows >= 16 && kMaxRows <= 128 && kMaxRows % 16 == 0,
    "max_rows: an integer from 16 to 128, a multiple of 16");
static_assert(kMaxRows / 2 % kRowsPerStep == 0,
    "rows: a divisor of max_rows / 2, the rows of one vector core");
static_assert(kHeadDimBucket <= kBaseK, "one matrix multiply takes a whole head");
static_assert(kValueDimBucket > kBaseN, "several matrix multiplies take the parts of a head");
static_assert(kValueDimBucket % kBaseN == 0, "the parts of a head are alike");

// Buffer map, in bytes: kX is where the first slot of buffer x begins, kXSlot the size of one slot.
// UB
constexpr uint32_t
    kBlockNumber = 0, kBlockNumberSlot = kBlockLanes * 4,  // number of each lane's block
    // block of each lane within its position
    kLaneBlock = kBlockNumber + kBlockNumberSlot, kLaneBlockSlot = kBlockLanes * 4,
    // bytes to the first key of each lane's block
    kLaneOffset = kLaneBlock + kLaneBlockSlot, kLaneOffsetSlot = kBlockLanes * 4,
    // the same, to compare
    kLaneNumber = kLaneOffset + kLaneOffsetSlot, kLaneNumberSlot = kBlockLanes * 4,
    // running maximum of each row
    kRowMax = kLaneNumber + kLaneNumberSlot, kRowMaxSlot = kRowsPerVector * 4,
    kRowSum = kRowMax + kRowMaxSlot, kRowSumSlot = kRowsPerVector * 4,  // running sum of each row
    // running weighted sum of each row
    kAccumulator = kRowSum + kRowSumSlot, kAccumulatorSlot = kRowsPerVector * kValueDimBucket * 4,
    // 2 slots: scores of the rows, then exp(score - max)
    kScore = kAccumulator + kAccumulatorSlot, kScoreSlot = kRowsPerStep * kTileKeys * 4,
    // reduction over the tile, one repeat a row
    kLanes = kScore + 2 * kScoreSlot, kLanesSlot = kRowsPerStep * kRepeatLanes * 4,
    // maximum or sum of each row of the tile
    kTileStat = kLanes + kLanesSlot, kTileStatSlot = kRowsPerStep * 4,
    // running maximum including the tile
    kNewMax = kTileStat + kTileStatSlot, kNewMaxSlot = kRowsPerStep * 4,
    // exp(old max - new max) of the tiles in flight
    kRescale = kNewMax + kNewMaxSlot, kRescaleSlot = kRing * kRowsPerVector * 4,
    // a row statistic, one block a row
    kRowBlocks = kRescale + kRescaleSlot, kRowBlocksSlot = kRowsPerStep * 8 * 4,
    // 2 slots: probabilities, as the cube multiplies them
    kProb = kRowBlocks + kRowBlocksSlot, kProbSlot = kRowsPerStep * kTileKeys * 2,
    // 2 slots: weighted sum of one tile or split
    kPartial = kProb + 2 * kProbSlot, kPartialSlot = kRowsPerStep * kValueDimBucket * 4,
    // 2 slots: a row statistic, one block a row
    kLeavingStatistic = kPartial + 2 * kPartialSlot, kLeavingStatisticSlot = kRowsPerStep * 8 * 4,
    // 2 slots: finished rows in the dtype of the result
    kResult = kLeavingStatistic + 2 * kLeavingStatisticSlot,
    kResultSlot = kRowsPerStep * kValueDimBucket * 2,
    // probabilities of a tile summed over heads, behind the last keys of the tile before
    kWindow = kResult + 2 * kResultSlot,
    kWindowSlot = (kRowsPerVector < 16 ? kRowsPerVector : 16) * kWindowRow * 4,
    // score of each lane's block
    kBlockScore = (kWindow + kWindowSlot + 127) / 128 * 128, kBlockScoreSlot = kBlockLanes * 4,
    // blocks of a tile, sorted in groups
    kBlockRecords = (kBlockScore + kBlockScoreSlot + 255) / 256 * 256,
    kBlockRecordsSlot = kBlockLanes * 2 * 4,
    // best blocks of each position, sorted records
    kBest = kBlockRecords + kBlockRecordsSlot,
    kBestSlot = (kRowsPerVector < 16 ? kRowsPerVector : 16) * 32 * 2 * 4,
    kBlockTerm = kBest + kBestSlot, kBlockTermSlot = kBlockLanes * 4,  // one term of the scores
    // one bit a lane
    kBlockBits = kBlockTerm + kBlockTermSlot,
    kBlockBitsSlot = kBlockLanes / 8 > 32 ? kBlockLanes / 8 : 32,
    kMerged = kBlockBits + kBlockBitsSlot, kMergedSlot = 1024,  // best blocks and new ones
    // 2 slots: numbers of the best blocks
    kSelected = kMerged + kMergedSlot, kSelectedSlot = kBlockLanes * 4,
    kUbEnd = kSelected + 2 * kSelectedSlot;
static_assert(kUbEnd <= 188416, "the buffers fit into UB");
static_assert((kBlockNumberSlot | kLaneBlockSlot | kLaneOffsetSlot | kLaneNumberSlot | kRowMaxSlot |
        kRowSumSlot | kAccumulatorSlot | kScoreSlot | kLanesSlot | kTileStatSlot | kNewMaxSlot |
        kRescaleSlot | kRowBlocksSlot | kProbSlot | kPartialSlot | kLeavingStatisticSlot |
        kResultSlot | kWindowSlot | kBlockScoreSlot | kBlockRecordsSlot | kBestSlot |
        kBlockTermSlot | kBlockBitsSlot | kMergedSlot | kSelectedSlot) % 32 == 0,
    "slots of UB are aligned");
// L1
constexpr uint32_t
    kQueryL1 = 0, kQueryL1Slot = kMaxRows * kHeadDimBucket * 2,  // query rows of the task, Nz
    kKeyL1 = kQueryL1 + kQueryL1Slot, kKeyL1Slot = kKeyBlock * 2,  // 2 slots: key block, Nz
    // 2 slots: probabilities of a key tile, Nz
    kProbL1 = kKeyL1 + 2 * kKeyL1Slot, kProbL1Slot = kMaxRows * kTileKeys * 2,
    // 2 slots: value block, Nz
    kValueL1 = kProbL1 + 2 * kProbL1Slot, kValueL1Slot = kValueBlock * 2,
    kL1End = kValueL1 + 2 * kValueL1Slot;
static_assert(kL1End <= 524032, "the buffers fit into L1");
static_assert((kQueryL1Slot | kKeyL1Slot | kProbL1Slot | kValueL1Slot) % 32 == 0,
    "slots of L1 are aligned");
// L0A
constexpr uint32_t
    kLeftL0 = 0, kLeftL0Slot = kMaxRows * kBaseK * 2,  // 2 slots: left operand, Zz
    kL0aEnd = kLeftL0 + 2 * kLeftL0Slot;
static_assert(kL0aEnd <= 65536, "the buffers fit into L0A");
static_assert((kLeftL0Slot) % 512 == 0, "slots of L0A are aligned");
// L0B
constexpr uint32_t
    // 2 slots: right operand, Zn
    kRightL0 = 0, kRightL0Slot = (kKeyBlock > kValueBlock ? kKeyBlock : kValueBlock) * 2,
    kL0bEnd = kRightL0 + 2 * kRightL0Slot;
static_assert(kL0bEnd <= 65536, "the buffers fit into L0B");
static_assert((kRightL0Slot) % 512 == 0, "slots of L0B are aligned");
// L0C
constexpr uint32_t
    kScoreL0 = 0, kScoreL0Slot = kMaxRows * kBaseN * 4,  // 2 slots: scores of a key block, Nz
    // 2 slots: weighted sum of values, Nz
    kOutL0 = kScoreL0 + 2 * kScoreL0Slot, kOutL0Slot = kMaxRows * kBaseN * 4,
    kL0cEnd = kOutL0 + 2 * kOutL0Slot;
static_assert(kL0cEnd <= 131072, "the buffers fit into L0C");
static_assert((kScoreL0Slot | kOutL0Slot) % 1024 == 0, "slots of L0C are aligned");

}  // namespace nsa_compress_attention_d128_e128

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_SCHEDULE_H
