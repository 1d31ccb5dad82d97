/*
 * nsa_compress_attention_d128_e128_atten_mask
 * Attention over compressed keys, and the key blocks that matter most to each token.
 *
 * Contract: mindspore.ops.nsa_compress_attention
 * Spec: nsa_compress_attention.py; "spec line" in a comment is a line of it.
 * Specialized on
 *   dtype T of query, key, value, attention_out: float16 or bfloat16
 *   head size D1 from 113 to 128
 *   head size D2 from 113 to 128
 *   with atten_mask
 * Batch, heads, lengths and strides are run-time values.
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Step t, the cube running ahead:
 *   AIV  StartSelection     step t              first tile of an item
 *   AIV  StartRows          step t              first tile of an item
 *   AIC  AwaitProbabilities step t - kPrefetch  waits for kProbRingReady
 *   AIC  ScoreTile          step t              sets kScoreRingReady
 *   AIV  SoftmaxTile        step t              waits for kScoreRingReady, sets kProbRingReady
 *   AIV  SelectBlocks       step t
 *   AIV  SelectRest         step t              last tile of an item
 *   AIV  WriteSelection     step t              last tile of an item
 *   AIC  WeightedTile       step t - kPrefetch  sets kOutRingReady
 *   AIV  StartSums          step t - kPrefetch  first tile of an item
 *   AIV  UpdateTile         step t - kPrefetch  waits for kOutRingReady
 *   AIV  WriteStatistics    step t - kPrefetch  last tile of an item
 *   AIV  WriteRows          step t - kPrefetch  last tile of an item
 *   An item of several tiles runs them twice: first for its sums, then for the selection.
 *
 * Written by attndsl from the operator's spec. Every event, barrier and flag is explicit: the
 * kernel does not rely on the compiler's automatic synchronization.
 */
#ifndef ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_ATTEN_MASK_H
#define ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_ATTEN_MASK_H

#include "kernel_operator.h"
#include "attndsl_kernel.h"
#include "nsa_compress_attention_d128_e128_atten_mask_schedule.h"
#include "nsa_compress_attention_tiling.h"

namespace nsa_compress_attention_d128_e128_atten_mask {

using namespace AscendC;

constexpr float kMaskedScore = -3.4028234663852886e+38f;  // score of a key that a mask hides
constexpr float kLowest = -3.4028234663852886e+38f;  // initial row maximum: no key seen yet
// smallest normal number, the sum of a row without keys
constexpr float kSmallest = 1.1754943508222875e-38f;

// Event ids by pipe pair. Ready: the content may be read; Free: the slot may be written again.
// Done/Taken: before any cross-core flag of this pair of pipes one waits for the other, which then
// waits for it; named after the first such flag. Buffers with one lifetime share an event, named
// after the first.
constexpr int32_t kProductL0Free = 0;  // FIX_M, productL0: one id per slot
// MTE1_M, rightL0 and, loaded before it by the same pipe, leftL0: one id per slot
constexpr int32_t kRightL0Ready = 0;
constexpr int32_t kKeyL1Free = 0;  // MTE1_MTE2, keyL1: one id per slot
constexpr int32_t kValueL1Free = 2;  // MTE1_MTE2, valueL1: one id per slot
constexpr int32_t kProbL1Free = 4;  // MTE1_MTE2, probL1: one id per slot
constexpr int32_t kQueryL1Free = 6;  // MTE1_MTE2, queryL1: one id per slot
constexpr int32_t kQueryL1Ready = 0;  // MTE2_MTE1, queryL1: one id per slot
constexpr int32_t kKeyL1Ready = 2;  // MTE2_MTE1, keyL1: one id per slot
// MTE2_MTE1, valueL1 and, loaded before it by the same pipe, probL1: one id per slot
constexpr int32_t kValueL1Ready = 4;
constexpr int32_t kProbRingReadyMTE2Done = 0;  // MTE2_MTE3
constexpr int32_t kScoreReady = 0;  // MTE2_V, attenMaskBytes: one id per slot
constexpr int32_t kProbRingReadyMTE2Taken = 0;  // MTE3_MTE2
constexpr int32_t kKeyEndsOutFree = 0;  // MTE3_V, keyEndsOut
constexpr int32_t kProbFree = 1;  // MTE3_V, prob
constexpr int32_t kSelectedFree = 2;  // MTE3_V, selected
constexpr int32_t kCoreStatisticOutFree = 3;  // MTE3_V, coreStatisticOut: one id per slot
constexpr int32_t kStatisticOutFree = 5;  // MTE3_V, statisticOut: one id per slot
constexpr int32_t kProductL0Ready = 0;  // M_FIX, productL0: one id per slot
constexpr int32_t kRightL0Free = 0;  // M_MTE1, rightL0: one id per slot
constexpr int32_t kLeftL0Free = 2;  // M_MTE1, leftL0: one id per slot
constexpr int32_t kScoreFree = 0;  // V_MTE2, score, attenMaskBytes: one id per slot
constexpr int32_t kKeyEndsOutReady = 0;  // V_MTE3, keyEndsOut
constexpr int32_t kProbReady = 1;  // V_MTE3, prob
constexpr int32_t kSelectedReady = 2;  // V_MTE3, selected
constexpr int32_t kCoreStatisticOutReady = 3;  // V_MTE3, coreStatisticOut: one id per slot
constexpr int32_t kStatisticOutReady = 5;  // V_MTE3, statisticOut: one id per slot

// Cross-core flags. Ready: a slot of the ring is written. kProbRingReady also frees the tile's slot
// of the score ring, which has kPrefetch slots. No other flag frees a slot: in the order of the
// stages it is read before it is written again.
constexpr uint16_t kScoreRingReady = 0;
constexpr uint16_t kProbRingReady = 1;
constexpr uint16_t kOutRingReady = 2;
constexpr uint16_t kAllFindKeyEnds = 3;
constexpr uint16_t kKeyEndsReady = 4;

template <typename T>
class NsaCompressAttentionKernel : attndsl::KernelBase {
public:
    // Arguments: tensors in the contract's order, the user's part of the workspace, the tiling
    // data.
    __aicore__ inline void Run(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR atten_mask,
        GM_ADDR actual_seq_qlen, GM_ADDR actual_cmp_seq_kvlen, GM_ADDR actual_sel_seq_kvlen,
        GM_ADDR attention_out, GM_ADDR topk_indices_out, GM_ADDR softmax_max_out,
        GM_ADDR softmax_sum_out, GM_ADDR workspace, const NsaCompressAttentionTiling &tiling)
    {
        TPipe pipe;
        tiling_ = tiling;
        FindCore();
        Bind(queryGm_, query);
        Bind(keyGm_, key);
        Bind(valueGm_, value);
        Bind(attenMaskGm_, atten_mask);
        Bind(actualSeqQlenGm_, actual_seq_qlen);
        Bind(actualCmpSeqKvlenGm_, actual_cmp_seq_kvlen);
        Bind(actualSelSeqKvlenGm_, actual_sel_seq_kvlen);
        Bind(attentionOutGm_, attention_out);
        Bind(topkIndicesOutGm_, topk_indices_out);
        Bind(softmaxMaxOutGm_, softmax_max_out);
        Bind(softmaxSumOutGm_, softmax_sum_out);
        Bind(scoreRingGm_,
            workspace + tiling_.scoreRingOffset + blockIndex_ * tiling_.scoreRingPart);
        Bind(keyEndsGm_, workspace + tiling_.keyEndsOffset);
        Bind(probRingGm_, workspace + tiling_.probRingOffset + blockIndex_ * tiling_.probRingPart);
        Bind(outRingGm_, workspace + tiling_.outRingOffset + blockIndex_ * tiling_.outRingPart);
        if ASCEND_IS_AIC {
            TakeCubeMemories(pipe, kL1End, kL0aEnd, kL0bEnd, kL0cEnd);
        }
        if ASCEND_IS_AIV {
            TakeVectorMemory(pipe, kUbEnd);
            lanes_ = View<float>(ub_, kLanesAt);
            blockRecords_ = View<float>(ub_, kBlockRecordsAt);
            laneNumber_ = View<int32_t>(ub_, kLaneNumberAt);
            laneOffset_ = View<int32_t>(ub_, kLaneOffsetAt);
            rowBlocks_ = View<float>(ub_, kRowBlocksAt);
            blockTerm_ = View<float>(ub_, kBlockTermAt);
            blockScore_ = View<float>(ub_, kBlockScoreAt);
            blockNumber_ = View<int32_t>(ub_, kBlockNumberAt);
            best_ = View<float>(ub_, kBestAt);
            selected_ = View<int32_t>(ub_, kSelectedAt);
            attenMaskHalf_ = View<half>(ub_, kAttenMaskHalfAt);
            attenMaskKeep_ = View<uint8_t>(ub_, kAttenMaskKeepAt);
            accumulator_ = View<float>(ub_, kAccumulatorAt);
            window_ = View<float>(ub_, kWindowAt);
            resultBlocks_ = View<float>(ub_, kResultBlocksAt);
            ones_ = View<float>(ub_, kOnesAt);
            newMax_ = View<float>(ub_, kNewMaxAt);
            tileStat_ = View<float>(ub_, kTileStatAt);
            keyEndsOut_ = View<int32_t>(ub_, kKeyEndsOutAt);
            rowMax_ = View<float>(ub_, kRowMaxAt);
            rowSum_ = View<float>(ub_, kRowSumAt);
            rescale_ = View<float>(ub_, kRescaleAt);
            rowInverse_ = View<float>(ub_, kRowInverseAt);
            prob_ = View<T>(ub_, kProbAt);
            blockBits_ = View<uint8_t>(ub_, kBlockBitsAt);
            coreHasKeys_ = View<uint8_t>(ub_, kCoreHasKeysAt);
            rowHasKeys_ = View<uint8_t>(ub_, kRowHasKeysAt);
        }
        // TPipe reserves events until it is destroyed; from here on, all events are the kernel's.
        pipe.Destroy();
        if ASCEND_IS_AIC {
            RunCube();
        }
        if ASCEND_IS_AIV {
            RunVector();
        }
        PipeBarrier<PIPE_ALL>();  // as TPipe's destructor does
    }

private:
    __aicore__ inline void RunCube()
    {
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            SetFlag<HardEvent::M_MTE1>(kRightL0Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + slot);
            SetFlag<HardEvent::FIX_M>(kProductL0Free + slot);
            SetFlag<HardEvent::M_MTE1>(kLeftL0Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + slot);
        }
        AwaitKeyEnds();
        // One turn more than the block has items: it drains the pipeline. The plan launches no more
        // blocks than there are items; without items there is no turn.
        const int64_t turnsEnd = tiling_.items + MinOf(tiling_.items, blockCount_);
        for (int64_t turn = blockIndex_; turn < turnsEnd; turn += blockCount_) {
            // The item takes this place when its first step begins.
            const int64_t itemSlot = (itemsBegun_ + 1) % kRing;
            items_[itemSlot] = DecodeItem(turn);
            const Item &work = items_[itemSlot];
            const int64_t rowFractals = CeilDiv(work.taskRows, kFractal);
            const int64_t keyStart =
                work.batch == 0 ? 0 : actualCmpSeqKvlenGm_.GetValue(work.batch - 1);
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + queryL1Slot_);
            LoadQuery(work, rowFractals);
            SetAndWaitFlag<HardEvent::MTE2_MTE1>(kQueryL1Ready + queryL1Slot_);
            for (int64_t step = 0; step < work.steps; ++step) {
                const int64_t slot = stepsBegun_++ % kRing;
                itemsBegun_ += step == 0;
                cubeSteps_[slot].step = step;
                cubeSteps_[slot].keyStart = keyStart;
                cubeSteps_[slot].rowFractals = rowFractals;
                cubeSteps_[slot].itemSlot = itemSlot;
                // The first kPrefetch steps have no earlier one, and do not look at it.
                const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;
                const CubeStep &earlier = cubeSteps_[earlierSlot];
                const Item &earlierWork = items_[earlier.itemSlot];
                if (stepsBegun_ > kPrefetch && earlier.step < earlierWork.keySteps) {
                    AwaitProbabilities();
                }
                if (step < work.keySteps) {
                    ScoreTile(work, rowFractals, keyStart, step);
                }
                if (stepsBegun_ > kPrefetch && earlier.step < earlierWork.keySteps) {
                    WeightedTile(earlierWork, earlier.rowFractals, earlier.keyStart, earlier.step,
                        earlierSlot);
                }
            }
            SetFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + queryL1Slot_);
            queryL1Slot_ = (queryL1Slot_ + 1) % kDoubleBuffer;
        }
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            WaitFlag<HardEvent::M_MTE1>(kRightL0Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + slot);
            WaitFlag<HardEvent::FIX_M>(kProductL0Free + slot);
            WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + slot);
        }
    }

    __aicore__ inline void RunVector()
    {
        SetFlag<HardEvent::V_MTE2>(kScoreFree);
        SetFlag<HardEvent::V_MTE2>(kScoreFree + 1);
        SetFlag<HardEvent::MTE3_V>(kKeyEndsOutFree);
        SetFlag<HardEvent::MTE3_V>(kProbFree);
        SetFlag<HardEvent::MTE3_V>(kSelectedFree);
        SetFlag<HardEvent::MTE3_V>(kCoreStatisticOutFree);
        SetFlag<HardEvent::MTE3_V>(kCoreStatisticOutFree + 1);
        SetFlag<HardEvent::MTE3_V>(kStatisticOutFree);
        SetFlag<HardEvent::MTE3_V>(kStatisticOutFree + 1);
        PrepareSelection();
        FindKeyEnds();
        ReleaseKeyEnds();
        // One turn more than the block has items: it drains the pipeline. The plan launches no more
        // blocks than there are items; without items there is no turn.
        const int64_t turnsEnd = tiling_.items + MinOf(tiling_.items, blockCount_);
        for (int64_t turn = blockIndex_; turn < turnsEnd; turn += blockCount_) {
            // The item takes this place when its first step begins.
            const int64_t itemSlot = (itemsBegun_ + 1) % kRing;
            items_[itemSlot] = DecodeItem(turn);
            const Item &work = items_[itemSlot];
            const int64_t rowsPerCore = CeilDiv(work.queries, kVectorCores) * work.heads;
            const int64_t rowBegin = MinOf(subBlock_ * rowsPerCore, work.taskRows);
            const int64_t rows = MinOf(rowsPerCore, work.taskRows - rowBegin);
            const int64_t corePositions = rows / work.heads;
            const int64_t totalBlocks =
                MinOf(MinOf(actualSelSeqKvlenGm_.GetValue(work.batch)
                    - (work.batch == 0 ? 0 : actualSelSeqKvlenGm_.GetValue(work.batch - 1)),
                    tiling_.longestBlocks),
                    CeilDiv(MaxOf(0, work.keyEnd + tiling_.windowTerms - 1 - tiling_.windowLast),
                        tiling_.windowStep)
                        + tiling_.selectionCount);
            for (int64_t step = 0; step < work.steps; ++step) {
                const int64_t slot = stepsBegun_++ % kRing;
                itemsBegun_ += step == 0;
                vectorSteps_[slot].step = step;
                vectorSteps_[slot].rows = rows;
                vectorSteps_[slot].rowBegin = rowBegin;
                vectorSteps_[slot].itemSlot = itemSlot;
                if (step == 0) {
                    StartSelection(corePositions);
                    StartRows(itemSlot, rows);
                }
                if (step < work.keySteps) {
                    SoftmaxTile(work, step, slot, itemSlot, rowBegin, rows, corePositions);
                    SelectBlocks(work, step, corePositions, totalBlocks);
                }
                if (step == work.steps - 1 && turn < tiling_.items) {
                    SelectRest(work, corePositions, totalBlocks);
                    WriteSelection(work, rowBegin, rows, corePositions);
                }
                if (stepsBegun_ > kPrefetch) {
                    const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;
                    const VectorStep &earlier = vectorSteps_[earlierSlot];
                    const Item &earlierWork = items_[earlier.itemSlot];
                    if (earlier.step == 0) {
                        StartSums(earlierWork, earlier.rows);
                    }
                    if (earlier.step < earlierWork.keySteps) {
                        UpdateTile(earlierWork, earlier.step, earlierSlot, earlier.itemSlot,
                            earlier.rowBegin, earlier.rows);
                    }
                    if (earlier.step == earlierWork.steps - 1) {
                        WriteStatistics(earlierWork, earlier.itemSlot, earlier.rowBegin,
                            earlier.rows);
                        WriteRows(earlierWork, earlier.itemSlot, earlier.rowBegin, earlier.rows);
                    }
                }
            }
        }
        WaitFlag<HardEvent::V_MTE2>(kScoreFree);
        WaitFlag<HardEvent::V_MTE2>(kScoreFree + 1);
        WaitFlag<HardEvent::MTE3_V>(kKeyEndsOutFree);
        WaitFlag<HardEvent::MTE3_V>(kProbFree);
        WaitFlag<HardEvent::MTE3_V>(kSelectedFree);
        WaitFlag<HardEvent::MTE3_V>(kCoreStatisticOutFree);
        WaitFlag<HardEvent::MTE3_V>(kCoreStatisticOutFree + 1);
        WaitFlag<HardEvent::MTE3_V>(kStatisticOutFree);
        WaitFlag<HardEvent::MTE3_V>(kStatisticOutFree + 1);
    }

    // An item as cube and vector cores see it: its rows, heads and tiles of keys.
    struct Item {
        int64_t firstQuery;  // first query position of the task in its batch row
        int64_t kvHead;  // key/value head
        int64_t batch;  // batch row
        int64_t firstHead;  // first query head of the task
        int64_t heads;  // query heads of the task
        int64_t queries;  // query positions of the task
        int64_t taskRows;  // query rows of the task
        int64_t firstToken;  // first query of the batch row among the tokens of all
        int64_t keyEnd;  // end of the keys of the task
        int64_t firstTile;  // first key tile of the item
        int64_t tiles;  // key tiles of the item
        int64_t keySteps;  // steps of the item with keys: one or two a tile
        int64_t steps;  // steps of the item in the pipeline: those with keys, or what drains it
    };

    __aicore__ inline Item DecodeItem(int64_t turn)
    {
        Item found;
        const int64_t item =
            MinOf(turn
                + (turn / blockCount_ % 2 == 1
                    && turn / blockCount_ < tiling_.items / blockCount_
                    ? blockCount_ - 1 - 2 * blockIndex_
                    : 0),
                tiling_.items - 1);
        // the last head's positions come from last to first
        const int64_t walked =
            item
                + ((tiling_.items / tiling_.queryTiles - item / tiling_.queryTiles) % 2 == 1
                    ? tiling_.queryTiles - 1 - 2 * (item % tiling_.queryTiles)
                    : 0);
        // all tasks of one split follow each other: blocks beside each other have other tasks
        const int64_t split = walked / tiling_.tasks;
        const int64_t task = walked % tiling_.tasks;
        // positions of one head come in turn: cores share its keys and values in L2
        const int64_t queryTile = task % tiling_.queryTiles;
        const int64_t headTask = task / tiling_.queryTiles;
        found.firstQuery = queryTile * tiling_.queriesPerTask;
        // heads of one key/value head come in turn: cores share its keys and values in L2
        const int64_t headTile = headTask % tiling_.headTiles;
        found.kvHead = headTask / tiling_.headTiles % tiling_.kvHeads;
        found.batch = headTask / (tiling_.headTiles * tiling_.kvHeads);
        found.firstHead = found.kvHead * tiling_.group + headTile * tiling_.headsPerTask;
        found.heads = MinOf(tiling_.headsPerTask, tiling_.group - headTile * tiling_.headsPerTask);
        const int64_t queryLength =
            MinOf(actualSeqQlenGm_.GetValue(found.batch)
                - (found.batch == 0 ? 0 : actualSeqQlenGm_.GetValue(found.batch - 1)),
                tiling_.S1);
        found.queries = MaxOf(0, MinOf(tiling_.queriesPerTask, queryLength - found.firstQuery));
        found.taskRows = found.heads * found.queries;
        found.firstToken = found.batch == 0 ? 0 : actualSeqQlenGm_.GetValue(found.batch - 1);
        const int64_t visibleEnd =
            MinOf(MinOf(actualCmpSeqKvlenGm_.GetValue(found.batch)
                - (found.batch == 0 ? 0 : actualCmpSeqKvlenGm_.GetValue(found.batch - 1)),
                tiling_.keyCapacity),
                LastEnd(found.queries, found.firstQuery));
        found.keyEnd = turn >= tiling_.items ? 0 : visibleEnd;
        const int64_t tileTotal = found.taskRows == 0 ? 0 : CeilDiv(found.keyEnd, kTileKeys);
        const int64_t tilesPerSplit = CeilDiv(tileTotal, tiling_.splits);
        found.firstTile = MinOf(split * tilesPerSplit, tileTotal);
        found.tiles = MinOf(tilesPerSplit, tileTotal - found.firstTile);
        found.keySteps = found.tiles > 1 ? 2 * found.tiles : found.tiles;
        found.steps =
            turn >= tiling_.items
                ? kPrefetch
                : (found.taskRows == 0 ? 0 : MaxOf(found.keySteps, 1));
        return found;
    }

    // The largest of a number for each p below extent, 0 if there is none.
    __aicore__ inline int64_t LastEnd(int64_t extent, int64_t firstQuery)
    {
        int64_t found = 0;
        for (int64_t p = 0; p < extent; ++p) {
            const int64_t value = static_cast<int64_t>(keyEndsGm_.GetValue((firstQuery + p) * 2));
            found = p == 0 || value > found ? value : found;
        }
        return found;
    }

    // The largest of a number for each p below extent, 0 if there is none.
    __aicore__ inline int64_t FirstHidden(int64_t extent, int64_t firstQuery, int64_t rowBegin,
        int64_t r0, int64_t heads)
    {
        int64_t found = 0;
        for (int64_t p = 0; p < extent; ++p) {
            const int64_t value =
                static_cast<int64_t>(
                    keyEndsGm_.GetValue((firstQuery + (rowBegin + r0) / heads + p) * 2 + 1));
            found = p == 0 || value > found ? value : found;
        }
        return found;
    }

    // Waits until the vector cores of all blocks have written their parts.
    __aicore__ inline void AwaitKeyEnds()
    {
        CrossCoreWaitFlag(kKeyEndsReady);
    }

    // Query rows of the task from global memory to L1.
    __aicore__ inline void LoadQuery(const Item &work, int64_t rowFractals)
    {
        auto queryL1 = View<T>(l1_, kQueryL1At + queryL1Slot_ * kQueryL1SlotBytes);
        if (work.tiles > 0) {
            LoadPositions(queryL1,
                queryGm_[(work.firstToken + work.firstQuery) * tiling_.queryStrideS
                    + work.firstHead * tiling_.queryStrideN],
                work.queries, work.heads, tiling_.headDim, tiling_.queryStrideS,
                tiling_.queryStrideN, rowFractals * kFractal);
        }
    }

    // Waits for the probabilities of a tile: its scores are read, new ones may take their slot.
    __aicore__ inline void AwaitProbabilities()
    {
        CrossCoreWaitFlag(kProbRingReady);
    }

    // Scores of one key tile, query times keys transposed, to their ring slot.
    __aicore__ inline void ScoreTile(const Item &work, int64_t rowFractals, int64_t keyStart,
        int64_t step)
    {
        auto queryL1 = View<T>(l1_, kQueryL1At + queryL1Slot_ * kQueryL1SlotBytes);
        const int64_t tile = step < work.tiles ? step : step - work.tiles;
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t keyTile =
            work.kvHead * tiling_.keyStrideK + (keyStart + firstKey) * tiling_.keyStrideU;
        {
            auto leftL0 = View<T>(l0a_, kLeftL0At + leftL0Slot_ * kLeftL0SlotBytes);
            WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
            LoadLeft(leftL0, queryL1, rowFractals, CeilDiv(kPaddedHeadSize, kFractal), rowFractals);
            for (int64_t n0 = 0; n0 < keys; n0 += kBaseN) {
                const int64_t cols = MinOf(kBaseN, keys - n0);
                auto productL0 =
                    View<float>(l0c_, kProductL0At + productL0Slot_ * kProductL0SlotBytes);
                WaitFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                {
                    auto keyL1 = View<T>(l1_, kKeyL1At + keyL1Slot_ * kKeyL1SlotBytes);
                    // to L1 (row by row if the pitch exceeds one copy's limit), then to L0A and L0B
                    WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + keyL1Slot_);
                    LoadNzOfAnyPitch(keyL1, keyGm_[keyTile + n0 * tiling_.keyStrideU], cols,
                        tiling_.headDim, tiling_.keyStrideU, RoundUp(cols, kFractal));
                    SetAndWaitFlag<HardEvent::MTE2_MTE1>(kKeyL1Ready + keyL1Slot_);
                    {
                        auto rightL0 = View<T>(l0b_, kRightL0At + rightL0Slot_ * kRightL0SlotBytes);
                        WaitFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                        LoadFractals(rightL0, keyL1,
                            CeilDiv(kPaddedHeadSize, kFractal) * CeilDiv(cols, kFractal), 1);
                        SetAndWaitFlag<HardEvent::MTE1_M>(kRightL0Ready + rightL0Slot_);
                        Mmad(productL0, leftL0, rightL0,
                            ProductParams(rowFractals * kFractal, cols, kPaddedHeadSize, true));
                        SetFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                        rightL0Slot_ = (rightL0Slot_ + 1) % kDoubleBuffer;
                    }
                    SetFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + keyL1Slot_);
                    keyL1Slot_ = (keyL1Slot_ + 1) % kDoubleBuffer;
                }
                SetAndWaitFlag<HardEvent::M_FIX>(kProductL0Ready + productL0Slot_);
                StoreProduct(
                    scoreRingGm_[stepsBegun_ % kPrefetch * tiling_.rowsPerTask * kTileKeys + n0],
                    productL0, work.taskRows, RoundUp(cols, kFractal), kTileKeys,
                    rowFractals * kFractal);
                SetFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                productL0Slot_ = (productL0Slot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
            leftL0Slot_ = (leftL0Slot_ + 1) % kDoubleBuffer;
        }
        CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kScoreRingReady);
    }

    // Weighted sum of one tile's values, probabilities times values, to its ring slot. Those of an
    // item's only tile are the result.
    __aicore__ inline void WeightedTile(const Item &work, int64_t rowFractals, int64_t keyStart,
        int64_t step, int64_t slot)
    {
        const int64_t tile = step < work.tiles ? step : step - work.tiles;
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t valueTile =
            work.kvHead * tiling_.valueStrideK + (keyStart + firstKey) * tiling_.valueStrideU;
        if (step < work.tiles) {
            auto probL1 = View<T>(l1_, kProbL1At + probL1Slot_ * kProbL1SlotBytes);
            WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
            LoadBlocks(probL1, probRingGm_[slot * tiling_.rowsPerTask * kTileKeys],
                CeilDiv(keys, kFractal), work.taskRows * kFractal, tiling_.rowsPerTask * kFractal,
                rowFractals * kFractal * kFractal);
            {
                auto productL0 =
                    View<float>(l0c_, kProductL0At + productL0Slot_ * kProductL0SlotBytes);
                WaitFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                for (int64_t k0 = 0; k0 < keys; k0 += kBaseK) {
                    const int64_t depth = MinOf(kBaseK, keys - k0);
                    auto valueL1 = View<T>(l1_, kValueL1At + valueL1Slot_ * kValueL1SlotBytes);
                    // to L1 (row by row if the pitch exceeds one copy's limit), then to L0A and L0B
                    WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
                    LoadNzOfAnyPitch(valueL1, valueGm_[valueTile + k0 * tiling_.valueStrideU],
                        depth, tiling_.valueDim, tiling_.valueStrideU, RoundUp(depth, kFractal));
                    SetAndWaitFlag<HardEvent::MTE2_MTE1>(kValueL1Ready + valueL1Slot_);
                    {
                        auto leftL0 = View<T>(l0a_, kLeftL0At + leftL0Slot_ * kLeftL0SlotBytes);
                        const int64_t depthFractals = CeilDiv(depth, kFractal);
                        const int64_t columnFractals = CeilDiv(kPaddedValueSize, kFractal);
                        WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                        LoadLeft(leftL0,
                            probL1[k0 / kFractal * rowFractals * (kFractal * kFractal)],
                            rowFractals, depthFractals, rowFractals);
                        {
                            auto rightL0 =
                                View<T>(l0b_, kRightL0At + rightL0Slot_ * kRightL0SlotBytes);
                            WaitFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                            LoadTransposed(rightL0, valueL1, depthFractals, columnFractals,
                                depthFractals);
                            SetAndWaitFlag<HardEvent::MTE1_M>(kRightL0Ready + rightL0Slot_);
                            // hardware orders Mmad into the same L0C only from 10 fractals on
                            if (rowFractals * kFractal * kPaddedValueSize
                                < kOrderedFractals * kFractal * kFractal) {
                                PipeBarrier<PIPE_M>();
                            }
                            Mmad(productL0, leftL0, rightL0,
                                ProductParams(rowFractals * kFractal, kPaddedValueSize, depth,
                                    k0 == 0));
                            SetFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                            rightL0Slot_ = (rightL0Slot_ + 1) % kDoubleBuffer;
                        }
                        SetFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                        leftL0Slot_ = (leftL0Slot_ + 1) % kDoubleBuffer;
                    }
                    SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
                    valueL1Slot_ = (valueL1Slot_ + 1) % kDoubleBuffer;
                }
                SetAndWaitFlag<HardEvent::M_FIX>(kProductL0Ready + productL0Slot_);
                if (work.tiles == 1) {
                    // result = weighted sums: of probabilities
                    for (int64_t position = 0; position < work.queries; ++position) {
                        const int64_t queryIndex = work.firstQuery + position;
                        StoreProduct(attentionOutGm_[(work.firstToken + queryIndex)
                            * tiling_.attentionOutStrideS
                            + work.firstHead * tiling_.attentionOutStrideN],
                            productL0[position * work.heads * kFractal], work.heads,
                            tiling_.valueDim, tiling_.attentionOutStrideN, rowFractals * kFractal);
                    }
                } else {
                    StoreProduct(outRingGm_[slot * tiling_.rowsPerTask * kPaddedValueSize],
                        productL0, work.taskRows, kPaddedValueSize, kPaddedValueSize,
                        rowFractals * kFractal);
                }
                SetFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                productL0Slot_ = (productL0Slot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
            probL1Slot_ = (probL1Slot_ + 1) % kDoubleBuffer;
        }
        CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kOutRingReady);
    }

    // The block of each lane, for sorting the blocks of several positions at once.
    __aicore__ inline void PrepareSelection()
    {
        Duplicate(ones_, 1.0f, kRowsPerStep * 2);
        {
            Duplicate(laneNumber_, int32_t(0), 64);
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit0[2] = {0xaaaaaaaaaaaaaaaa, 0};
            Adds(laneNumber_, laneNumber_, int32_t(1), lanesOfBit0, 1,
                UnaryRepeatParams(1, 1, kRepeatBlocks, kRepeatBlocks));
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit1[2] = {0xcccccccccccccccc, 0};
            Adds(laneNumber_, laneNumber_, int32_t(2), lanesOfBit1, 1,
                UnaryRepeatParams(1, 1, kRepeatBlocks, kRepeatBlocks));
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit2[2] = {0xf0f0f0f0f0f0f0f0, 0};
            Adds(laneNumber_, laneNumber_, int32_t(4), lanesOfBit2, 1,
                UnaryRepeatParams(1, 1, kRepeatBlocks, kRepeatBlocks));
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit3[2] = {0xff00ff00ff00ff00, 0};
            Adds(laneNumber_, laneNumber_, int32_t(8), lanesOfBit3, 1,
                UnaryRepeatParams(1, 1, kRepeatBlocks, kRepeatBlocks));
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit4[2] = {0xffff0000ffff0000, 0};
            Adds(laneNumber_, laneNumber_, int32_t(16), lanesOfBit4, 1,
                UnaryRepeatParams(1, 1, kRepeatBlocks, kRepeatBlocks));
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit5[2] = {0xffffffff00000000, 0};
            Adds(laneNumber_, laneNumber_, int32_t(32), lanesOfBit5, 1,
                UnaryRepeatParams(1, 1, kRepeatBlocks, kRepeatBlocks));
            for (int64_t numberedLanes = 64; numberedLanes < kBlockScoreLanes; numberedLanes *= 2) {
                PipeBarrier<PIPE_V>();
                Adds(laneNumber_[numberedLanes], laneNumber_, int32_t(numberedLanes),
                    MinOf(numberedLanes, kBlockScoreLanes - numberedLanes));
            }
        }
        PipeBarrier<PIPE_V>();
        Muls(laneOffset_, laneNumber_, int32_t(tiling_.windowStep * 4), kBlockScoreLanes);
        PipeBarrier<PIPE_V>();
        Mins(laneOffset_, laneOffset_, int32_t((kTileKeys - 1) * 4), kBlockScoreLanes);
    }

    // End of the keys that each position sees and first hidden key, from the mask's bytes, to the
    // workspace.
    __aicore__ inline void FindKeyEnds()
    {
        const int64_t scorePitch = kTileKeys + kBlockLanes;
        Duplicate(attenMaskHalf_, half(0), kTileKeys);
        Duplicate(rowBlocks_, 0.0f, kRowsPerStep * 2 * (2 * kBlockLanes));
        Duplicate(blockRecords_[kTileKeys], 0.0f, kTileKeys);
        for (int64_t firstPosition = (blockIndex_ * kVectorCores + subBlock_) * kToldPositions;
             firstPosition < tiling_.S1;
             firstPosition += blockCount_ * (kToldPositions * kVectorCores)) {
            const int64_t positionCount = MinOf(kToldPositions, tiling_.S1 - firstPosition);
            const int64_t stepRows = positionCount * 2;
            PipeBarrier<PIPE_V>();
            Duplicate(newMax_, 0.0f, kToldPositions * 2);
            for (int64_t keyTile = 0;
                 keyTile < CeilDiv(tiling_.keyCapacityScalar, kTileKeys);
                 ++keyTile) {
                const int64_t firstKey = keyTile * kTileKeys;
                const int64_t keys = MinOf(kTileKeys, tiling_.keyCapacityScalar - firstKey);
                Cast(blockTerm_, laneNumber_, RoundMode::CAST_RINT, kTileKeys);
                PipeBarrier<PIPE_V>();
                Muls(blockRecords_, blockTerm_, -1.0f, kTileKeys);
                PipeBarrier<PIPE_V>();
                Adds(blockTerm_, blockTerm_, float(firstKey + 1), kTileKeys);
                Adds(blockRecords_, blockRecords_, float(2 * tiling_.keyCapacityScalar - firstKey),
                    kTileKeys);
                auto score = View<float>(ub_, kScoreAt + scoreSlot_ * kScoreSlotBytes);
                auto attenMaskBytes =
                    View<uint8_t>(ub_, kAttenMaskBytesAt + scoreSlot_ * kAttenMaskBytesSlotBytes);
                WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                LoadRows(attenMaskBytes,
                    attenMaskGm_[firstPosition * tiling_.attenMaskStrideQ + firstKey],
                    positionCount, keys, tiling_.attenMaskStrideQ, kTileKeys);
                SetAndWaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
                for (int64_t position = 0; position < positionCount; ++position) {
                    PipeBarrier<PIPE_V>();
                    Cast(attenMaskHalf_, attenMaskBytes[position * kTileKeys], RoundMode::CAST_NONE,
                        keys);
                    PipeBarrier<PIPE_V>();
                    CompareScalar(attenMaskKeep_[position * (kTileKeys / 8)], attenMaskHalf_,
                        half(0), CMPMODE::EQ, RoundUp(keys, 128));
                }
                PipeBarrier<PIPE_V>();
                for (int64_t position = 0; position < positionCount; ++position) {
                    Select(score[position * 2 * scorePitch],
                        attenMaskKeep_[position * (kTileKeys / 8)], blockTerm_, 0.0f,
                        SELMODE::VSEL_TENSOR_SCALAR_MODE, RoundUp(keys, kRepeatLanes));
                }
                PipeBarrier<PIPE_V>();
                for (int64_t position = 0; position < positionCount; ++position) {
                    Select(score[(position * 2 + 1) * scorePitch],
                        attenMaskKeep_[position * (kTileKeys / 8)], blockRecords_[kTileKeys],
                        blockRecords_, SELMODE::VSEL_TENSOR_TENSOR_MODE,
                        RoundUp(keys, kRepeatLanes));
                }
                if (keys % kRepeatLanes != 0) {
                    PipeBarrier<PIPE_V>();
                    FillLanes(score[keys / kRepeatLanes * kRepeatLanes], keys % kRepeatLanes, 0.0f,
                        stepRows, scorePitch);
                }
                if (kFoldedLanes * kBlockLanes > keys) {
                    Duplicate(lanes_, 0.0f, stepRows * kFoldedLanes);
                }
                PipeBarrier<PIPE_V>();
                MaxOfBlocks(lanes_, score, stepRows, keys, kFoldedLanes, scorePitch);
                SetFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                PipeBarrier<PIPE_V>();
                MaxOfBlocks(rowBlocks_, lanes_, stepRows, kRepeatLanes, kBlockLanes, kFoldedLanes);
                PipeBarrier<PIPE_V>();
                MaxOfBlocks(tileStat_, rowBlocks_, CeilDiv(stepRows, kBlockLanes), kRepeatLanes,
                    kBlockLanes, kRepeatLanes);
                PipeBarrier<PIPE_V>();
                Max(newMax_, newMax_, tileStat_, stepRows);
                scoreSlot_ = (scoreSlot_ + 1) % kDoubleBuffer;
            }
            // a position that sees no key has all: end = end + keys * (1 - min(end, 1))
            // so has, of the numbers of hidden keys, a position without one
            PipeBarrier<PIPE_V>();
            Mins(tileStat_, newMax_, 1.0f, stepRows);
            PipeBarrier<PIPE_V>();
            Muls(tileStat_, tileStat_, float(0 - tiling_.keyCapacityScalar), stepRows);
            PipeBarrier<PIPE_V>();
            Adds(tileStat_, tileStat_, float(tiling_.keyCapacityScalar), stepRows);
            PipeBarrier<PIPE_V>();
            Add(newMax_, newMax_, tileStat_, stepRows);
            WaitFlag<HardEvent::MTE3_V>(kKeyEndsOutFree);
            PipeBarrier<PIPE_V>();
            Cast(keyEndsOut_, newMax_, RoundMode::CAST_RINT, stepRows);
            SetAndWaitFlag<HardEvent::V_MTE3>(kKeyEndsOutReady);
            StoreRow(keyEndsGm_[firstPosition * 2], keyEndsOut_, stepRows);
            SetFlag<HardEvent::MTE3_V>(kKeyEndsOutFree);
        }
    }

    // All vector cores have written their parts: the cube may read.
    __aicore__ inline void ReleaseKeyEnds()
    {
        CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kAllFindKeyEnds);
        CrossCoreWaitFlag(kAllFindKeyEnds);
        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kKeyEndsReady);
    }

    // No probabilities are added yet.
    __aicore__ inline void StartSelection(int64_t corePositions)
    {
        if (corePositions > 0) {
            PipeBarrier<PIPE_V>();
            Duplicate(window_, 0.0f, kWindowLead + corePositions * kWindowRow);
        }
    }

    // Rows have seen no key: the lowest maximum, no sum.
    __aicore__ inline void StartRows(int64_t itemSlot, int64_t rows)
    {
        if (rows > 0) {
            PipeBarrier<PIPE_V>();
            Duplicate(rowMax_[itemSlot * kRowsPerVector], float(kLowest), rows);
            Duplicate(rowSum_[itemSlot * kRowsPerVector], 0.0f, rows);
        }
    }

    // Probabilities of a step's rows, from their exponentials.
    __aicore__ inline void DivideBySums(const Item &work, int64_t itemSlot, int64_t keys,
        int64_t rowsOfStep, int64_t scorePitch, int64_t r0, int64_t stepRows)
    {
        auto score = View<float>(ub_, kScoreAt + scoreSlot_ * kScoreSlotBytes);
        // score = score / rowSum
        if (work.tiles != 1 || (kFoldedLanes - kBlockLanes) * kBlockLanes < keys) {
            PipeBarrier<PIPE_V>();
            Maxs(rowSum_[r0 + itemSlot * kRowsPerVector], rowSum_[r0 + itemSlot * kRowsPerVector],
                float(kSmallest), stepRows);
        }
        PipeBarrier<PIPE_V>();
        Div(rowInverse_, ones_, rowSum_[r0 + itemSlot * kRowsPerVector], stepRows);
        PipeBarrier<PIPE_V>();
        SpreadOverBlocks<2>(rowBlocks_, rowInverse_, rowsOfStep);
        PipeBarrier<PIPE_V>();
        for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
            for (int64_t r8 = 0; r8 < stepRows; r8 += 8) {
                const int64_t groupRows = MinOf(8, stepRows - r8);
                Mul(score[c0 + r8 * scorePitch], score[c0 + r8 * scorePitch],
                    rowBlocks_[r8 * (2 * kBlockLanes) + kRepeatLanes
                        - (c0 + r8 * kBlockLanes) % (2 * kRepeatLanes)],
                    kRepeatLanes, groupRows,
                    BinaryRepeatParams(1, 1, 0, scorePitch / kBlockLanes, scorePitch / kBlockLanes,
                        1));
            }
        }
    }

    // Probabilities of a step's rows, added to the sums of their positions.
    __aicore__ inline void AddHeads(const Item &work, int64_t keys, int64_t scorePitch, int64_t r0,
        int64_t stepRows)
    {
        auto score = View<float>(ub_, kScoreAt + scoreSlot_ * kScoreSlotBytes);
        // rows whose sum the first of them has in the end
        int64_t addedRows = 1;
        if (work.heads % 16 == 0) {
            addedRows = 16;
        } else if (work.heads % 8 == 0) {
            addedRows = 8;
        } else if (work.heads % 4 == 0) {
            addedRows = 4;
        } else if (work.heads % 2 == 0) {
            addedRows = 2;
        }
        if (work.heads % 16 == 0) {
            PipeBarrier<PIPE_V>();
            for (int64_t row = 0; row < stepRows; row += addedRows) {
                for (int64_t pair = row; pair < row + 8; ++pair) {
                    Add(score[pair * scorePitch], score[pair * scorePitch],
                        score[(pair + 8) * scorePitch], keys);
                }
            }
        }
        if (work.heads % 8 == 0) {
            PipeBarrier<PIPE_V>();
            for (int64_t row = 0; row < stepRows; row += addedRows) {
                for (int64_t pair = row; pair < row + 4; ++pair) {
                    Add(score[pair * scorePitch], score[pair * scorePitch],
                        score[(pair + 4) * scorePitch], keys);
                }
            }
        }
        if (work.heads % 4 == 0) {
            PipeBarrier<PIPE_V>();
            for (int64_t row = 0; row < stepRows; row += addedRows) {
                for (int64_t pair = row; pair < row + 2; ++pair) {
                    Add(score[pair * scorePitch], score[pair * scorePitch],
                        score[(pair + 2) * scorePitch], keys);
                }
            }
        }
        if (work.heads % 2 == 0 && work.heads != addedRows) {
            PipeBarrier<PIPE_V>();
            for (int64_t row = 0; row < stepRows; row += addedRows) {
                Add(score[row * scorePitch], score[row * scorePitch], score[(row + 1) * scorePitch],
                    keys);
            }
        }
        if (work.heads == addedRows && work.heads != 1) {
            PipeBarrier<PIPE_V>();
            for (int64_t row = 0; row < stepRows; row += addedRows) {
                const int64_t sums = (r0 + row) / work.heads * kWindowRow + kWindowLead;
                Add(window_[sums], score[row * scorePitch], score[(row + 1) * scorePitch], keys);
            }
        } else {
            for (int64_t row = 0; row < stepRows; row += addedRows) {
                const int64_t sums = (r0 + row) / work.heads * kWindowRow + kWindowLead;
                PipeBarrier<PIPE_V>();
                Add(window_[sums], window_[sums], score[row * scorePitch], keys);
            }
        }
    }

    // The window moves on by a tile: its last keys to the front, zeros after them.
    __aicore__ inline void NextWindow(int64_t corePositions)
    {
        PipeBarrier<PIPE_V>();
        for (int64_t position = 0; position < corePositions; ++position) {
            DataCopy(window_[position * kWindowRow + kWindowLead - kWindowBefore],
                window_[position * kWindowRow + kWindowLead + kTileKeys - kWindowBefore],
                kWindowBefore);
            PipeBarrier<PIPE_V>();
            Duplicate(window_[position * kWindowRow + kWindowLead], 0.0f, kTileKeys);
        }
    }

    // Online softmax of one tile: scores in, probabilities out, row maxima and sums updated.
    __aicore__ inline void SoftmaxTile(const Item &work, int64_t step, int64_t slot,
        int64_t itemSlot, int64_t rowBegin, int64_t rows, int64_t corePositions)
    {
        const int64_t tile = step < work.tiles ? step : step - work.tiles;
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t rowsOfStep =
            work.tiles == 1 && kTileKeys / 2 >= keys ? kRowsPerStep * 2 : kRowsPerStep;
        const int64_t scorePitch =
            work.tiles == 1
                && kTileKeys / 2 >= keys
                ? kTileKeys / 2 + kBlockLanes
                : kTileKeys + kBlockLanes;
        CrossCoreWaitFlag(kScoreRingReady);
        if (step < work.tiles) {
            for (int64_t r0 = 0; r0 < rows; r0 += rowsOfStep) {
                const int64_t stepRows = MinOf(rowsOfStep, rows - r0);
                auto score = View<float>(ub_, kScoreAt + scoreSlot_ * kScoreSlotBytes);
                auto attenMaskBytes =
                    View<uint8_t>(ub_, kAttenMaskBytesAt + scoreSlot_ * kAttenMaskBytesSlotBytes);
                WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                LoadRows(score,
                    scoreRingGm_[(stepsBegun_ % kPrefetch * tiling_.rowsPerTask + rowBegin + r0)
                        * kTileKeys],
                    stepRows, keys, kTileKeys, scorePitch);
                const int64_t firstHidden =
                    2 * tiling_.keyCapacityScalar - firstKey
                        - FirstHidden((rowBegin + r0 + stepRows - 1) / work.heads
                            - (rowBegin + r0) / work.heads + 1,
                            work.firstQuery, rowBegin, r0, work.heads);
                const int64_t hidingFrom =
                    MaxOf(0, MinOf(firstHidden, keys - 1)) / kRepeatLanes * kRepeatLanes;
                if (firstHidden < keys) {
                    LoadRows(attenMaskBytes,
                        attenMaskGm_[(work.firstQuery + (rowBegin + r0) / work.heads)
                            * tiling_.attenMaskStrideQ
                            + firstKey + hidingFrom],
                        (rowBegin + r0 + stepRows - 1) / work.heads
                            - (rowBegin + r0) / work.heads + 1,
                        keys - hidingFrom, tiling_.attenMaskStrideQ, kTileKeys);
                }
                SetAndWaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
                if (firstHidden < keys) {
                    PipeBarrier<PIPE_V>();
                    Cast(attenMaskHalf_, attenMaskBytes, RoundMode::CAST_NONE, keys - hidingFrom);
                }
                // score * scale_value  (spec line 133)
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    Muls(score[c0], score[c0], float(tiling_.scaleValue), kRepeatLanes, stepRows,
                        UnaryRepeatParams(1, 1, scorePitch / kBlockLanes,
                            scorePitch / kBlockLanes));
                }
                // score = -3.40282e+38 where atten_mask hides the key  (spec line 134)
                if (firstHidden < keys) {
                    PipeBarrier<PIPE_V>();
                    CompareScalar(attenMaskKeep_, attenMaskHalf_, half(0), CMPMODE::EQ,
                        RoundUp(keys - hidingFrom, 128));
                    for (int64_t position = 1;
                         position
                             < (rowBegin + r0 + stepRows - 1) / work.heads
                                 - (rowBegin + r0) / work.heads + 1;
                         ++position) {
                        PipeBarrier<PIPE_V>();
                        Cast(attenMaskHalf_, attenMaskBytes[position * kTileKeys],
                            RoundMode::CAST_NONE, keys - hidingFrom);
                        PipeBarrier<PIPE_V>();
                        CompareScalar(attenMaskKeep_[position * (kTileKeys / 8)], attenMaskHalf_,
                            half(0), CMPMODE::EQ, RoundUp(keys - hidingFrom, 128));
                    }
                    // Lanes after the last key are excluded from the maximum, and from the sum.
                    if (keys % kRepeatLanes != 0) {
                        FillLanes(score[keys / kRepeatLanes * kRepeatLanes], keys % kRepeatLanes,
                            -__builtin_inff(), stepRows, scorePitch);
                    }
                    PipeBarrier<PIPE_V>();
                    for (int64_t row = 0; row < stepRows; ++row) {
                        Select(score[row * scorePitch + hidingFrom],
                            attenMaskKeep_[((rowBegin + r0 + row) / work.heads
                                - (rowBegin + r0) / work.heads)
                                * (kTileKeys / 8)],
                            score[row * scorePitch + hidingFrom], float(kMaskedScore),
                            SELMODE::VSEL_TENSOR_SCALAR_MODE, keys - hidingFrom);
                    }
                } else {
                    // Lanes after the last key are excluded from the maximum, and from the sum.
                    if (keys % kRepeatLanes != 0) {
                        PipeBarrier<PIPE_V>();
                        FillLanes(score[keys / kRepeatLanes * kRepeatLanes], keys % kRepeatLanes,
                            -__builtin_inff(), stepRows, scorePitch);
                    }
                }
                // newMax = max(rowMax, row maximum of the tile); rescale = rowMax - newMax
                if (kFoldedLanes * kBlockLanes > keys) {
                    PipeBarrier<PIPE_V>();
                    Duplicate(lanes_, float(kLowest), stepRows * kFoldedLanes);
                }
                PipeBarrier<PIPE_V>();
                MaxOfBlocks(lanes_, score, stepRows, keys, kFoldedLanes, scorePitch);
                PipeBarrier<PIPE_V>();
                MaxOfBlocks(rowBlocks_, lanes_, stepRows, kRepeatLanes, kBlockLanes, kFoldedLanes);
                PipeBarrier<PIPE_V>();
                if (work.tiles == 1 && (kFoldedLanes - kBlockLanes) * kBlockLanes >= keys) {
                    MaxOfBlocks(newMax_, rowBlocks_, CeilDiv(stepRows, kBlockLanes), kRepeatLanes,
                        kBlockLanes, kRepeatLanes);
                } else {
                    MaxOfBlocks(tileStat_, rowBlocks_, CeilDiv(stepRows, kBlockLanes), kRepeatLanes,
                        kBlockLanes, kRepeatLanes);
                    PipeBarrier<PIPE_V>();
                    Max(newMax_, rowMax_[r0 + itemSlot * kRowsPerVector], tileStat_, stepRows);
                }
                PipeBarrier<PIPE_V>();
                Sub(rescale_[slot * kRowsPerVector + r0], rowMax_[r0 + itemSlot * kRowsPerVector],
                    newMax_, stepRows);
                // score = exp(score - newMax)
                SpreadOverBlocks<2>(rowBlocks_, newMax_, rowsOfStep);
                PipeBarrier<PIPE_V>();
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    for (int64_t r8 = 0; r8 < stepRows; r8 += 8) {
                        const int64_t groupRows = MinOf(8, stepRows - r8);
                        Sub(score[c0 + r8 * scorePitch], score[c0 + r8 * scorePitch],
                            rowBlocks_[r8 * (2 * kBlockLanes) + kRepeatLanes
                                - (c0 + r8 * kBlockLanes) % (2 * kRepeatLanes)],
                            kRepeatLanes, groupRows,
                            BinaryRepeatParams(1, 1, 0, scorePitch / kBlockLanes,
                                scorePitch / kBlockLanes, 1));
                    }
                }
                PipeBarrier<PIPE_V>();
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    Exp(score[c0], score[c0], kRepeatLanes, stepRows,
                        UnaryRepeatParams(1, 1, scorePitch / kBlockLanes,
                            scorePitch / kBlockLanes));
                }
                // rescale = exp(rowMax - newMax)
                Exp(rescale_[slot * kRowsPerVector + r0], rescale_[slot * kRowsPerVector + r0],
                    stepRows);
                CopyLanes(rowMax_[r0 + itemSlot * kRowsPerVector], newMax_, stepRows);
                // rowSum = rowSum * rescale + row sum of the tile
                if (kFoldedLanes * kBlockLanes > keys) {
                    Duplicate(lanes_, float(work.tiles == 1 ? kSmallest : 0),
                        stepRows * kFoldedLanes);
                }
                PipeBarrier<PIPE_V>();
                SumOfBlocks(lanes_, score, stepRows, keys, kFoldedLanes, scorePitch);
                PipeBarrier<PIPE_V>();
                SumOfBlocks(rowBlocks_, lanes_, stepRows, kRepeatLanes, kBlockLanes, kFoldedLanes);
                PipeBarrier<PIPE_V>();
                if (work.tiles == 1) {
                    SumOfBlocks(rowSum_[r0 + itemSlot * kRowsPerVector], rowBlocks_,
                        CeilDiv(stepRows, kBlockLanes), kRepeatLanes, kBlockLanes, kRepeatLanes);
                } else {
                    SumOfBlocks(tileStat_, rowBlocks_, CeilDiv(stepRows, kBlockLanes), kRepeatLanes,
                        kBlockLanes, kRepeatLanes);
                    Mul(rowSum_[r0 + itemSlot * kRowsPerVector],
                        rowSum_[r0 + itemSlot * kRowsPerVector],
                        rescale_[slot * kRowsPerVector + r0], stepRows);
                    PipeBarrier<PIPE_V>();
                    Add(rowSum_[r0 + itemSlot * kRowsPerVector],
                        rowSum_[r0 + itemSlot * kRowsPerVector], tileStat_, stepRows);
                }
                if (work.tiles == 1) {
                    DivideBySums(work, itemSlot, keys, rowsOfStep, scorePitch, r0, stepRows);
                }
                // the blocks of a column of fractals, a group, follow each other, row by row
                WaitFlag<HardEvent::MTE3_V>(kProbFree);
                PipeBarrier<PIPE_V>();
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    Cast(prob_[c0 / kRepeatLanes * rowsOfStep * kFractal], score[c0],
                        RoundMode::CAST_RINT, kRepeatLanes, stepRows,
                        UnaryRepeatParams(kGroupPitch / kBlockHalves, 1, 1,
                            scorePitch / kBlockLanes));
                }
                SetFlag<HardEvent::V_MTE3>(kProbReady);
                const int64_t columnGroups = CeilDiv(keys, kFractal);
                WaitFlag<HardEvent::V_MTE3>(kProbReady);
                for (int64_t column = 0;
                     column < MinOf(kRepeatLanes / kFractal, columnGroups);
                     ++column) {
                    StoreRows(probRingGm_[slot * tiling_.rowsPerTask * kTileKeys
                        + (rowBegin + r0 + column * tiling_.rowsPerTask) * kFractal],
                        prob_[column * kGroupPitch],
                        CeilDiv(columnGroups - column, kRepeatLanes / kFractal),
                        stepRows * kFractal,
                        kRepeatLanes / kFractal * tiling_.rowsPerTask * kFractal,
                        rowsOfStep * kFractal);
                }
                SetFlag<HardEvent::MTE3_V>(kProbFree);
                if (work.tiles == 1) {
                    AddHeads(work, keys, scorePitch, r0, stepRows);
                }
                SetFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                scoreSlot_ = (scoreSlot_ + 1) % kDoubleBuffer;
            }
        } else {
            // the tile again: probabilities with the final maximum and sum of each row
            NextWindow(corePositions);
            for (int64_t r0 = 0; r0 < rows; r0 += rowsOfStep) {
                const int64_t stepRows = MinOf(rowsOfStep, rows - r0);
                auto score = View<float>(ub_, kScoreAt + scoreSlot_ * kScoreSlotBytes);
                auto attenMaskBytes =
                    View<uint8_t>(ub_, kAttenMaskBytesAt + scoreSlot_ * kAttenMaskBytesSlotBytes);
                WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                LoadRows(score,
                    scoreRingGm_[(stepsBegun_ % kPrefetch * tiling_.rowsPerTask + rowBegin + r0)
                        * kTileKeys],
                    stepRows, keys, kTileKeys, scorePitch);
                const int64_t firstHidden =
                    2 * tiling_.keyCapacityScalar - firstKey
                        - FirstHidden((rowBegin + r0 + stepRows - 1) / work.heads
                            - (rowBegin + r0) / work.heads + 1,
                            work.firstQuery, rowBegin, r0, work.heads);
                const int64_t hidingFrom =
                    MaxOf(0, MinOf(firstHidden, keys - 1)) / kRepeatLanes * kRepeatLanes;
                if (firstHidden < keys) {
                    LoadRows(attenMaskBytes,
                        attenMaskGm_[(work.firstQuery + (rowBegin + r0) / work.heads)
                            * tiling_.attenMaskStrideQ
                            + firstKey + hidingFrom],
                        (rowBegin + r0 + stepRows - 1) / work.heads
                            - (rowBegin + r0) / work.heads + 1,
                        keys - hidingFrom, tiling_.attenMaskStrideQ, kTileKeys);
                }
                SetAndWaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
                if (firstHidden < keys) {
                    Cast(attenMaskHalf_, attenMaskBytes, RoundMode::CAST_NONE, keys - hidingFrom);
                }
                // score * scale_value  (spec line 133)
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    Muls(score[c0], score[c0], float(tiling_.scaleValue), kRepeatLanes, stepRows,
                        UnaryRepeatParams(1, 1, scorePitch / kBlockLanes,
                            scorePitch / kBlockLanes));
                }
                // score = -3.40282e+38 where atten_mask hides the key  (spec line 134)
                if (firstHidden < keys) {
                    PipeBarrier<PIPE_V>();
                    CompareScalar(attenMaskKeep_, attenMaskHalf_, half(0), CMPMODE::EQ,
                        RoundUp(keys - hidingFrom, 128));
                    for (int64_t position = 1;
                         position
                             < (rowBegin + r0 + stepRows - 1) / work.heads
                                 - (rowBegin + r0) / work.heads + 1;
                         ++position) {
                        PipeBarrier<PIPE_V>();
                        Cast(attenMaskHalf_, attenMaskBytes[position * kTileKeys],
                            RoundMode::CAST_NONE, keys - hidingFrom);
                        PipeBarrier<PIPE_V>();
                        CompareScalar(attenMaskKeep_[position * (kTileKeys / 8)], attenMaskHalf_,
                            half(0), CMPMODE::EQ, RoundUp(keys - hidingFrom, 128));
                    }
                    PipeBarrier<PIPE_V>();
                    for (int64_t row = 0; row < stepRows; ++row) {
                        Select(score[row * scorePitch + hidingFrom],
                            attenMaskKeep_[((rowBegin + r0 + row) / work.heads
                                - (rowBegin + r0) / work.heads)
                                * (kTileKeys / 8)],
                            score[row * scorePitch + hidingFrom], float(kMaskedScore),
                            SELMODE::VSEL_TENSOR_SCALAR_MODE, keys - hidingFrom);
                    }
                }
                // score = exp(score - rowMax)
                SpreadOverBlocks<2>(rowBlocks_, rowMax_[r0 + itemSlot * kRowsPerVector],
                    rowsOfStep);
                PipeBarrier<PIPE_V>();
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    for (int64_t r8 = 0; r8 < stepRows; r8 += 8) {
                        const int64_t groupRows = MinOf(8, stepRows - r8);
                        Sub(score[c0 + r8 * scorePitch], score[c0 + r8 * scorePitch],
                            rowBlocks_[r8 * (2 * kBlockLanes) + kRepeatLanes
                                - (c0 + r8 * kBlockLanes) % (2 * kRepeatLanes)],
                            kRepeatLanes, groupRows,
                            BinaryRepeatParams(1, 1, 0, scorePitch / kBlockLanes,
                                scorePitch / kBlockLanes, 1));
                    }
                }
                PipeBarrier<PIPE_V>();
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    Exp(score[c0], score[c0], kRepeatLanes, stepRows,
                        UnaryRepeatParams(1, 1, scorePitch / kBlockLanes,
                            scorePitch / kBlockLanes));
                }
                DivideBySums(work, itemSlot, keys, rowsOfStep, scorePitch, r0, stepRows);
                AddHeads(work, keys, scorePitch, r0, stepRows);
                SetFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                scoreSlot_ = (scoreSlot_ + 1) % kDoubleBuffer;
            }
        }
        // After the flag below the other core may overwrite what MTE2 works on, so MTE3 waits for
        // it; MTE2 waits back, so that the event is not set twice.
        SetAndWaitFlag<HardEvent::MTE2_MTE3>(kProbRingReadyMTE2Done);
        SetAndWaitFlag<HardEvent::MTE3_MTE2>(kProbRingReadyMTE2Taken);
        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kProbRingReady);
    }

    // Blocks whose windows the tile from firstKey on completes, to the best of each position.
    __aicore__ inline void TakeBlocks(int64_t corePositions, int64_t firstKey, int64_t firstBlock,
        int64_t endBlock)
    {
        const int64_t newBlocks = endBlock - firstBlock;
        if (newBlocks > 0) {
            const int64_t positionLanes = RoundUp(newBlocks, kRepeatLanes);
            const int64_t positionsPerStep = kBlockScoreLanes / positionLanes;
            for (int64_t position0 = 0; position0 < corePositions; position0 += positionsPerStep) {
                const int64_t stepPositions = MinOf(positionsPerStep, corePositions - position0);
                const int64_t usedLanes = stepPositions * positionLanes;
                // score of each block: the weighted sum of its window; a term is gathered as one is
                // added
                PipeBarrier<PIPE_V>();
                Duplicate(blockScore_, 0.0f, kBlockScoreLanes);
                for (int64_t position = 0; position < stepPositions; ++position) {
                    Gather(blockTerm_[position * positionLanes],
                        window_[(position0 + position) * kWindowRow],
                        laneOffset_.ReinterpretCast<uint32_t>(),
                        static_cast<uint32_t>((tiling_.windowStep * firstBlock
                            + tiling_.windowLast - firstKey + kWindowLead)
                            * 4),
                        positionLanes);
                }
                for (int64_t term = 0; term < tiling_.windowTerms; term += 2) {
                    PipeBarrier<PIPE_V>();
                    Axpy(blockScore_, blockTerm_,
                        float(MinOf(MinOf(term + 1, tiling_.windowTerms - term),
                            MinOf(tiling_.windowStep, tiling_.windowCount1))),
                        usedLanes);
                    if (term + 1 < tiling_.windowTerms) {
                        for (int64_t position = 0; position < stepPositions; ++position) {
                            Gather(blockRecords_[position * positionLanes],
                                window_[(position0 + position) * kWindowRow],
                                laneOffset_.ReinterpretCast<uint32_t>(),
                                static_cast<uint32_t>((tiling_.windowStep * firstBlock
                                    + tiling_.windowLast - firstKey - (term + 1) + kWindowLead)
                                    * 4),
                                positionLanes);
                        }
                        PipeBarrier<PIPE_V>();
                        Axpy(blockScore_, blockRecords_,
                            float(MinOf(MinOf(term + 2, tiling_.windowTerms - (term + 1)),
                                MinOf(tiling_.windowStep, tiling_.windowCount1))),
                            usedLanes);
                        if (term + 2 < tiling_.windowTerms) {
                            for (int64_t position = 0; position < stepPositions; ++position) {
                                Gather(blockTerm_[position * positionLanes],
                                    window_[(position0 + position) * kWindowRow],
                                    laneOffset_.ReinterpretCast<uint32_t>(),
                                    static_cast<uint32_t>((tiling_.windowStep * firstBlock
                                        + tiling_.windowLast - firstKey - (term + 2) + kWindowLead)
                                        * 4),
                                    positionLanes);
                            }
                        }
                    }
                }
                // NaN counts as the lowest number (assumed: Compare finds NaN unequal to itself)
                PipeBarrier<PIPE_V>();
                Compare(blockBits_, blockScore_, blockScore_, CMPMODE::EQ, kBlockScoreLanes);
                PipeBarrier<PIPE_V>();
                Select(blockScore_, blockBits_, blockScore_, float(kLowest),
                    SELMODE::VSEL_TENSOR_SCALAR_MODE, kBlockScoreLanes);
                // lanes without a block come last; records sorted in groups
                if (newBlocks % kRepeatLanes != 0) {
                    PipeBarrier<PIPE_V>();
                    for (int64_t position = 0; position < stepPositions; ++position) {
                        FillLanes(blockScore_[position * positionLanes
                            + newBlocks / kRepeatLanes * kRepeatLanes],
                            newBlocks % kRepeatLanes, -__builtin_inff(), 1, 64);
                    }
                }
                Adds(blockNumber_, laneNumber_, int32_t(firstBlock), positionLanes);
                const int64_t groups = CeilDiv(newBlocks, kSortGroup);
                PipeBarrier<PIPE_V>();
                for (int64_t position = 0; position < stepPositions; ++position) {
                    Sort32(blockRecords_[position * positionLanes * kRecordLanes],
                        blockScore_[position * positionLanes],
                        blockNumber_.ReinterpretCast<uint32_t>(), groups);
                }
                // an item's first group is its best so far; others are merged, three at a time
                if (firstBlock == 0) {
                    PipeBarrier<PIPE_V>();
                    for (int64_t position = 0; position < stepPositions; ++position) {
                        DataCopy(best_[(position0 + position) * kSortGroup * kRecordLanes],
                            blockRecords_[position * positionLanes * kRecordLanes],
                            kSortGroup * kRecordLanes);
                    }
                }
                for (int64_t part = firstBlock == 0 ? 1 : 0; part < groups; part += 3) {
                    PipeBarrier<PIPE_V>();
                    for (int64_t position = 0; position < stepPositions; ++position) {
                        {
                            const uint16_t sizes[4] =
                                {static_cast<uint16_t>(kSortGroup),
                                    static_cast<uint16_t>(kSortGroup),
                                    static_cast<uint16_t>(MinOf(kSortGroup,
                                        MaxOf(0, (groups - part - 1) * kSortGroup))),
                                    static_cast<uint16_t>(MinOf(kSortGroup,
                                        MaxOf(0, (groups - part - 2) * kSortGroup)))};
                            // a bit a list, up to the last one with records; two at least
                            uint16_t validLists = 0b0011;
                            if (sizes[3] > 0) {
                                validLists = 0b1111;
                            } else if (sizes[2] > 0) {
                                validLists = 0b0111;
                            }
                            MrgSort(lanes_[position * (4 * kSortGroup) * kRecordLanes],
                                MrgSortSrcList<float>(
                                    best_[(position0 + position) * kSortGroup * kRecordLanes],
                                    blockRecords_[(position * positionLanes + part * kSortGroup)
                                        * kRecordLanes],
                                    blockRecords_[(position * positionLanes
                                        + MinOf(part + 1, groups - 1) * kSortGroup)
                                        * kRecordLanes],
                                    blockRecords_[(position * positionLanes
                                        + MinOf(part + 2, groups - 1) * kSortGroup)
                                        * kRecordLanes]),
                                MrgSort4Info(sizes, false, validLists, 1));
                        }
                    }
                    PipeBarrier<PIPE_V>();
                    for (int64_t position = 0; position < stepPositions; ++position) {
                        DataCopy(best_[(position0 + position) * kSortGroup * kRecordLanes],
                            lanes_[position * (4 * kSortGroup) * kRecordLanes],
                            kSortGroup * kRecordLanes);
                    }
                }
            }
        }
    }

    // The blocks of a tile with all probabilities: an item's only one, or one that comes again.
    __aicore__ inline void SelectBlocks(const Item &work, int64_t step, int64_t corePositions,
        int64_t totalBlocks)
    {
        if (work.tiles == 1 || step >= work.tiles) {
            const int64_t tile = step < work.tiles ? step : step - work.tiles;
            const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
            const int64_t firstBlock =
                tile == 0
                    ? 0
                    : CeilDiv(MaxOf(0, firstKey - tiling_.windowLast), tiling_.windowStep);
            const int64_t begunBlocks =
                MinOf(firstBlock + tiling_.tileBlocks,
                    CeilDiv(firstKey + kTileKeys, tiling_.windowStep));
            const int64_t endedBlocks =
                CeilDiv(MaxOf(0, firstKey + kTileKeys - tiling_.windowLast), tiling_.windowStep);
            const int64_t endBlock =
                MinOf(totalBlocks,
                    tile + 1 == work.tiles ? MaxOf(begunBlocks, endedBlocks) : endedBlocks);
            TakeBlocks(corePositions, firstKey, firstBlock, endBlock);
        }
    }

    // Blocks whose windows end further after the last tile, as if tiles without keys followed.
    __aicore__ inline void SelectRest(const Item &work, int64_t corePositions, int64_t totalBlocks)
    {
        if (corePositions > 0) {
            const int64_t lastTileBlock =
                work.tiles > 1
                    ? CeilDiv(MaxOf(0, (work.tiles - 1) * kTileKeys - tiling_.windowLast),
                        tiling_.windowStep)
                    : 0;
            const int64_t begunBlocks =
                MinOf(lastTileBlock + tiling_.tileBlocks,
                    CeilDiv(work.tiles * kTileKeys, tiling_.windowStep));
            const int64_t endedBlocks =
                CeilDiv(MaxOf(0, work.tiles * kTileKeys - tiling_.windowLast), tiling_.windowStep);
            const int64_t completedBlocks = work.tiles > 0 ? MaxOf(begunBlocks, endedBlocks) : 0;
            const int64_t selectionTiles =
                completedBlocks < totalBlocks
                    ? CeilDiv(
                        MaxOf(1, tiling_.windowStep * (totalBlocks - 1) + tiling_.windowLast + 1),
                        kTileKeys)
                    : work.tiles;
            for (int64_t tile = work.tiles; tile < selectionTiles; ++tile) {
                NextWindow(corePositions);
                const int64_t firstKey = tile * kTileKeys;
                const int64_t firstBlock =
                    tile == work.tiles
                        ? completedBlocks
                        : CeilDiv(MaxOf(0, firstKey - tiling_.windowLast), tiling_.windowStep);
                const int64_t endBlock =
                    MinOf(totalBlocks,
                        CeilDiv(MaxOf(0, firstKey + kTileKeys - tiling_.windowLast),
                            tiling_.windowStep));
                TakeBlocks(corePositions, firstKey, firstBlock, endBlock);
            }
        }
    }

    // Numbers of the best blocks of each position to the result.
    __aicore__ inline void WriteSelection(const Item &work, int64_t rowBegin, int64_t rows,
        int64_t corePositions)
    {
        PipeBarrier<PIPE_V>();
        for (int64_t r0 = 0; r0 < rows; r0 += kBlockScoreLanes / kSortGroup * work.heads) {
            const int64_t position0 = r0 / work.heads;
            const int64_t stepPositions =
                MinOf(kBlockScoreLanes / kSortGroup, corePositions - position0);
            WaitFlag<HardEvent::MTE3_V>(kSelectedFree);
            Extract(blockScore_, selected_.ReinterpretCast<uint32_t>(),
                best_[position0 * kSortGroup * kRecordLanes], stepPositions);
            SetAndWaitFlag<HardEvent::V_MTE3>(kSelectedReady);
            StoreRows(topkIndicesOutGm_[(work.firstToken + work.firstQuery
                + rowBegin / work.heads + position0)
                * tiling_.topkIndicesOutStrideS
                + work.kvHead * tiling_.topkIndicesOutStrideK],
                selected_, stepPositions, tiling_.selectionCount, tiling_.topkIndicesOutStrideS,
                kSortGroup);
            SetFlag<HardEvent::MTE3_V>(kSelectedFree);
        }
    }

    // Weighted sums begin with 0: the first tile is added like all others.
    __aicore__ inline void StartSums(const Item &work, int64_t rows)
    {
        if (rows > 0 && work.tiles != 1) {
            PipeBarrier<PIPE_V>();
            Duplicate(accumulator_, 0.0f, rows * kPaddedValueSize);
        }
    }

    // Adds one tile's weighted sum to the running one, rescaled to the new maximum. Of an item's
    // only tile the cube has stored it.
    __aicore__ inline void UpdateTile(const Item &work, int64_t step, int64_t slot,
        int64_t itemSlot, int64_t rowBegin, int64_t rows)
    {
        CrossCoreWaitFlag(kOutRingReady);
        if (step < work.tiles) {
            if (work.tiles == 1) {
                if (rows > 0) {
                    // rows are stored by runs: the positions of a single head, or the heads of each
                    const int64_t runLength = work.heads == 1 ? rowBegin + rows : work.heads;
                    {
                        auto coreStatisticOut =
                            View<float>(ub_,
                                kCoreStatisticOutAt
                                    + coreStatisticOutSlot_ * kCoreStatisticOutSlotBytes);
                        WaitFlag<HardEvent::MTE3_V>(kCoreStatisticOutFree + coreStatisticOutSlot_);
                        PipeBarrier<PIPE_V>();
                        SpreadOverBlocks<1>(coreStatisticOut, rowMax_[itemSlot * kRowsPerVector],
                            kRowsPerVector);
                        // -inf in rows without a key
                        SpreadOverBlocks<1>(lanes_, rowSum_[itemSlot * kRowsPerVector],
                            kRowsPerVector);
                        PipeBarrier<PIPE_V>();
                        Maxs(lanes_, lanes_, float(kSmallest * kFoldedLanes),
                            kRowsPerVector * kBlockLanes);
                        PipeBarrier<PIPE_V>();
                        CompareScalar(coreHasKeys_, lanes_, float(kSmallest * kFoldedLanes),
                            CMPMODE::NE, kRowsPerVector * kBlockLanes);
                        PipeBarrier<PIPE_V>();
                        Select(coreStatisticOut, coreHasKeys_, coreStatisticOut, -__builtin_inff(),
                            SELMODE::VSEL_TENSOR_SCALAR_MODE, kRowsPerVector * kBlockLanes);
                        SetAndWaitFlag<HardEvent::V_MTE3>(
                            kCoreStatisticOutReady + coreStatisticOutSlot_);
                        StoreRuns(softmaxMaxOutGm_[(work.firstToken + work.firstQuery)
                            * tiling_.softmaxMaxOutStrideS
                            + work.firstHead * tiling_.softmaxMaxOutStrideN],
                            coreStatisticOut, rowBegin, rows, runLength, work.heads, kBlockLanes,
                            tiling_.softmaxMaxOutStrideN, tiling_.softmaxMaxOutStrideS,
                            kBlockLanes);
                        SetFlag<HardEvent::MTE3_V>(kCoreStatisticOutFree + coreStatisticOutSlot_);
                        coreStatisticOutSlot_ = (coreStatisticOutSlot_ + 1) % kDoubleBuffer;
                    }
                    auto coreStatisticOut =
                        View<float>(ub_,
                            kCoreStatisticOutAt
                                + coreStatisticOutSlot_ * kCoreStatisticOutSlotBytes);
                    WaitFlag<HardEvent::MTE3_V>(kCoreStatisticOutFree + coreStatisticOutSlot_);
                    SpreadOverBlocks<1>(coreStatisticOut, rowSum_[itemSlot * kRowsPerVector],
                        kRowsPerVector);
                    // 0.0 in rows without a key
                    PipeBarrier<PIPE_V>();
                    Select(coreStatisticOut, coreHasKeys_, coreStatisticOut, 0.0f,
                        SELMODE::VSEL_TENSOR_SCALAR_MODE, kRowsPerVector * kBlockLanes);
                    SetAndWaitFlag<HardEvent::V_MTE3>(
                        kCoreStatisticOutReady + coreStatisticOutSlot_);
                    StoreRuns(softmaxSumOutGm_[(work.firstToken + work.firstQuery)
                        * tiling_.softmaxSumOutStrideS
                        + work.firstHead * tiling_.softmaxSumOutStrideN],
                        coreStatisticOut, rowBegin, rows, runLength, work.heads, kBlockLanes,
                        tiling_.softmaxSumOutStrideN, tiling_.softmaxSumOutStrideS, kBlockLanes);
                    SetFlag<HardEvent::MTE3_V>(kCoreStatisticOutFree + coreStatisticOutSlot_);
                    coreStatisticOutSlot_ = (coreStatisticOutSlot_ + 1) % kDoubleBuffer;
                }
            } else {
                for (int64_t r0 = 0; r0 < rows; r0 += kResultRowsPerStep) {
                    const int64_t stepRows = MinOf(kResultRowsPerStep, rows - r0);
                    auto score = View<float>(ub_, kScoreAt + scoreSlot_ * kScoreSlotBytes);
                    WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                    LoadRow(score,
                        outRingGm_[(slot * tiling_.rowsPerTask + rowBegin + r0) * kPaddedValueSize],
                        stepRows * kPaddedValueSize);
                    SetFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
                    // accumulator = accumulator * rescale + partial
                    SpreadOverBlocks<2>(resultBlocks_, rescale_[slot * kRowsPerVector + r0],
                        kResultRowsPerStep);
                    PipeBarrier<PIPE_V>();
                    MulRows<2>(accumulator_[r0 * kPaddedValueSize], resultBlocks_, stepRows,
                        kPaddedValueSize, kPaddedValueSize);
                    WaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
                    PipeBarrier<PIPE_V>();
                    Add(accumulator_[r0 * kPaddedValueSize], accumulator_[r0 * kPaddedValueSize],
                        score, stepRows * kPaddedValueSize);
                    SetFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                    scoreSlot_ = (scoreSlot_ + 1) % kDoubleBuffer;
                }
            }
        }
    }

    // Maxima and sums of finished rows to their results.
    __aicore__ inline void WriteStatistics(const Item &work, int64_t itemSlot, int64_t rowBegin,
        int64_t rows)
    {
        if (work.tiles != 1) {
            // rows are stored by runs: the positions of a single head, or the heads of each
            const int64_t runLength = work.heads == 1 ? rowBegin + rows : work.heads;
            for (int64_t r0 = 0; r0 < rows; r0 += kResultRowsPerStep) {
                const int64_t stepRows = MinOf(kResultRowsPerStep, rows - r0);
                {
                    auto statisticOut =
                        View<float>(ub_,
                            kStatisticOutAt + statisticOutSlot_ * kStatisticOutSlotBytes);
                    WaitFlag<HardEvent::MTE3_V>(kStatisticOutFree + statisticOutSlot_);
                    PipeBarrier<PIPE_V>();
                    SpreadOverBlocks<1>(statisticOut, rowMax_[r0 + itemSlot * kRowsPerVector],
                        kResultRowsPerStep);
                    // -inf in rows without a key
                    SpreadOverBlocks<1>(resultBlocks_, rowSum_[r0 + itemSlot * kRowsPerVector],
                        kResultRowsPerStep);
                    PipeBarrier<PIPE_V>();
                    Maxs(resultBlocks_, resultBlocks_, float(kSmallest * kFoldedLanes),
                        kResultRowsPerStep * kBlockLanes);
                    PipeBarrier<PIPE_V>();
                    CompareScalar(rowHasKeys_, resultBlocks_, float(kSmallest * kFoldedLanes),
                        CMPMODE::NE, kResultRowsPerStep * kBlockLanes);
                    PipeBarrier<PIPE_V>();
                    Select(statisticOut, rowHasKeys_, statisticOut, -__builtin_inff(),
                        SELMODE::VSEL_TENSOR_SCALAR_MODE, kResultRowsPerStep * kBlockLanes);
                    SetAndWaitFlag<HardEvent::V_MTE3>(kStatisticOutReady + statisticOutSlot_);
                    StoreRuns(softmaxMaxOutGm_[(work.firstToken + work.firstQuery)
                        * tiling_.softmaxMaxOutStrideS
                        + work.firstHead * tiling_.softmaxMaxOutStrideN],
                        statisticOut, rowBegin + r0, stepRows, runLength, work.heads, kBlockLanes,
                        tiling_.softmaxMaxOutStrideN, tiling_.softmaxMaxOutStrideS, kBlockLanes);
                    SetFlag<HardEvent::MTE3_V>(kStatisticOutFree + statisticOutSlot_);
                    statisticOutSlot_ = (statisticOutSlot_ + 1) % kDoubleBuffer;
                }
                auto statisticOut =
                    View<float>(ub_, kStatisticOutAt + statisticOutSlot_ * kStatisticOutSlotBytes);
                WaitFlag<HardEvent::MTE3_V>(kStatisticOutFree + statisticOutSlot_);
                SpreadOverBlocks<1>(statisticOut, rowSum_[r0 + itemSlot * kRowsPerVector],
                    kResultRowsPerStep);
                // 0.0 in rows without a key
                PipeBarrier<PIPE_V>();
                Select(statisticOut, rowHasKeys_, statisticOut, 0.0f,
                    SELMODE::VSEL_TENSOR_SCALAR_MODE, kResultRowsPerStep * kBlockLanes);
                SetAndWaitFlag<HardEvent::V_MTE3>(kStatisticOutReady + statisticOutSlot_);
                StoreRuns(softmaxSumOutGm_[(work.firstToken + work.firstQuery)
                    * tiling_.softmaxSumOutStrideS
                    + work.firstHead * tiling_.softmaxSumOutStrideN],
                    statisticOut, rowBegin + r0, stepRows, runLength, work.heads, kBlockLanes,
                    tiling_.softmaxSumOutStrideN, tiling_.softmaxSumOutStrideS, kBlockLanes);
                SetFlag<HardEvent::MTE3_V>(kStatisticOutFree + statisticOutSlot_);
                statisticOutSlot_ = (statisticOutSlot_ + 1) % kDoubleBuffer;
            }
        }
    }

    // Rows of a finished item of several tiles: normalized, to the output.
    __aicore__ inline void WriteRows(const Item &work, int64_t itemSlot, int64_t rowBegin,
        int64_t rows)
    {
        // rows are stored by runs: the positions of a single head, or the heads of each
        const int64_t runLength = work.heads == 1 ? rowBegin + rows : work.heads;
        if (work.tiles != 1) {
            for (int64_t r0 = 0; r0 < rows; r0 += kResultRowsPerStep) {
                const int64_t stepRows = MinOf(kResultRowsPerStep, rows - r0);
                // result = accumulator / rowSum; a row without keys has sum 0 and gives zeros
                PipeBarrier<PIPE_V>();
                Maxs(rowSum_[r0 + itemSlot * kRowsPerVector],
                    rowSum_[r0 + itemSlot * kRowsPerVector], float(kSmallest), stepRows);
                PipeBarrier<PIPE_V>();
                SpreadOverBlocks<2>(resultBlocks_, rowSum_[r0 + itemSlot * kRowsPerVector],
                    kResultRowsPerStep);
                PipeBarrier<PIPE_V>();
                DivRows<2>(accumulator_[r0 * kPaddedValueSize], resultBlocks_, stepRows,
                    kPaddedValueSize, kPaddedValueSize);
                WaitFlag<HardEvent::MTE3_V>(kProbFree);
                PipeBarrier<PIPE_V>();
                Cast(prob_, accumulator_[r0 * kPaddedValueSize], RoundMode::CAST_RINT,
                    stepRows * kPaddedValueSize);
                SetAndWaitFlag<HardEvent::V_MTE3>(kProbReady);
                StoreRuns(attentionOutGm_[(work.firstToken + work.firstQuery)
                    * tiling_.attentionOutStrideS
                    + work.firstHead * tiling_.attentionOutStrideN],
                    prob_, rowBegin + r0, stepRows, runLength, work.heads, tiling_.valueDim,
                    tiling_.attentionOutStrideN, tiling_.attentionOutStrideS, kPaddedValueSize);
                SetFlag<HardEvent::MTE3_V>(kProbFree);
            }
        }
    }

    NsaCompressAttentionTiling tiling_{};

    // The next slot of each multi-buffered tensor
    uint32_t queryL1Slot_ = 0, leftL0Slot_ = 0, productL0Slot_ = 0, keyL1Slot_ = 0;
    uint32_t rightL0Slot_ = 0, probL1Slot_ = 0, valueL1Slot_ = 0, scoreSlot_ = 0;
    uint32_t coreStatisticOutSlot_ = 0, statisticOutSlot_ = 0;

    // The steps and items that have begun; the scalars of the last steps, and their items
    int64_t stepsBegun_ = 0, itemsBegun_ = 0;
    struct CubeStep {
        int64_t step, keyStart, rowFractals, itemSlot;
    } cubeSteps_[kRing]{};
    struct VectorStep {
        int64_t step, rows, rowBegin, itemSlot;
    } vectorSteps_[kRing]{};
    // An item keeps its place until its last step is finished. When one is decoded, at most
    // kPrefetch others have a step that is not: it takes a place that none of these has.
    Item items_[kRing];

    // Global memory
    GlobalTensor<T> queryGm_;
    GlobalTensor<T> keyGm_;
    GlobalTensor<T> valueGm_;
    GlobalTensor<uint8_t> attenMaskGm_;
    GlobalTensor<int64_t> actualSeqQlenGm_;
    GlobalTensor<int64_t> actualCmpSeqKvlenGm_;
    GlobalTensor<int64_t> actualSelSeqKvlenGm_;
    GlobalTensor<T> attentionOutGm_;
    GlobalTensor<int32_t> topkIndicesOutGm_;
    GlobalTensor<float> softmaxMaxOutGm_;
    GlobalTensor<float> softmaxSumOutGm_;
    GlobalTensor<float> scoreRingGm_;  // ring of score tiles, cube to vector
    // ends of the keys that positions see, and their first hidden keys
    GlobalTensor<int32_t> keyEndsGm_;
    GlobalTensor<T> probRingGm_;  // ring of probability tiles, vector to cube
    GlobalTensor<float> outRingGm_;  // ring of weighted sums, cube to vector

    // On-chip buffers with a single slot
    LocalTensor<float> ones_, rowBlocks_, blockRecords_, newMax_, blockTerm_, lanes_, tileStat_;
    LocalTensor<float> window_, rowMax_, rowSum_, rescale_, rowInverse_, blockScore_, best_;
    LocalTensor<float> accumulator_, resultBlocks_;
    LocalTensor<int32_t> laneNumber_, laneOffset_, keyEndsOut_, blockNumber_, selected_;
    LocalTensor<half> attenMaskHalf_;
    LocalTensor<uint8_t> attenMaskKeep_, blockBits_, coreHasKeys_, rowHasKeys_;
    LocalTensor<T> prob_;
};

}  // namespace nsa_compress_attention_d128_e128_atten_mask

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_ATTEN_MASK_H
