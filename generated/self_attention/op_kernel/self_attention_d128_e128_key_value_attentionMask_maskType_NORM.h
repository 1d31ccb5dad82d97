/*
 * self_attention_d128_e128_key_value_attentionMask_maskType_NORM
 * Attention of new tokens over a key/value cache that they are appended to (calcType 0, 1, 2).
 *
 * Contract: ATB SelfAttentionOperation
 * Spec: self_attention.py; "spec line" in a comment is a line of it.
 * Specialized on
 *   dtype T of query, key, value, cacheK, cacheV, attentionMask, output: float16 or bfloat16
 *   head size headSize from 113 to 128
 *   head size headSizeV from 113 to 128
 *   with key, value, attentionMask
 *   maskType = NORM
 *   layout(attentionMask) = square or per batch
 * Batch, heads, lengths and strides are run-time values.
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Step t, the cube running ahead:
 *   AIV  StartRows          tile t              first tile of an item
 *   AIC  AwaitProbabilities tile t - kPrefetch  waits for kProbRingReady
 *   AIC  ScoreTile          tile t              sets kScoreRingReady
 *   AIV  SoftmaxTile        tile t              waits for kScoreRingReady, sets kProbRingReady
 *   AIC  WeightedTile       tile t - kPrefetch  sets kOutRingReady
 *   AIV  StartSums          tile t - kPrefetch  first tile of an item
 *   AIV  UpdateTile         tile t - kPrefetch  waits for kOutRingReady
 *   AIV  WriteRows          tile t - kPrefetch  last tile of an item
 *
 * Written by attndsl from the operator's spec. Every event, barrier and flag is explicit: the
 * kernel does not rely on the compiler's automatic synchronization.
 */
#ifndef ATTNDSL_SELF_ATTENTION_D128_E128_KEY_VALUE_ATTENTIONMASK_MASKTYPE_NORM_H
#define ATTNDSL_SELF_ATTENTION_D128_E128_KEY_VALUE_ATTENTIONMASK_MASKTYPE_NORM_H

#include "kernel_operator.h"
#include "attndsl_kernel.h"
#include "self_attention_d128_e128_key_value_attentionMask_maskType_NORM_schedule.h"
#include "self_attention_tiling.h"

namespace self_attention_d128_e128_key_value_attentionMask_maskType_NORM {

using namespace AscendC;

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
constexpr int32_t kNewKeyReady = 1;  // MTE2_MTE3, newKey
constexpr int32_t kNewValueReady = 2;  // MTE2_MTE3, newValue
constexpr int32_t kQueryPartReady = 0;  // MTE2_V, queryPart
constexpr int32_t kScoreReady = 1;  // MTE2_V, score, attentionMaskRows: one id per slot
constexpr int32_t kPartialReady = 3;  // MTE2_V, partial: one id per slot
constexpr int32_t kPartMaxReady = 5;  // MTE2_V, partMax, partSum, partial: one id per slot
constexpr int32_t kNewKeyFree = 0;  // MTE3_MTE2, newKey
constexpr int32_t kNewValueFree = 1;  // MTE3_MTE2, newValue
constexpr int32_t kProbRingReadyMTE2Taken = 2;  // MTE3_MTE2
constexpr int32_t kQueryScaledFree = 0;  // MTE3_V, queryScaled
constexpr int32_t kProbFree = 1;  // MTE3_V, prob
constexpr int32_t kResultFree = 2;  // MTE3_V, result: one id per slot
constexpr int32_t kMaxOutFree = 4;  // MTE3_V, maxOut, sumOut, rowsOut: one id per slot
constexpr int32_t kProductL0Ready = 0;  // M_FIX, productL0: one id per slot
constexpr int32_t kRightL0Free = 0;  // M_MTE1, rightL0: one id per slot
constexpr int32_t kLeftL0Free = 2;  // M_MTE1, leftL0: one id per slot
constexpr int32_t kQueryPartFree = 0;  // V_MTE2, queryPart
constexpr int32_t kScoreFree = 1;  // V_MTE2, score, attentionMaskRows: one id per slot
constexpr int32_t kPartialFree = 3;  // V_MTE2, partial: one id per slot
constexpr int32_t kQueryScaledReady = 0;  // V_MTE3, queryScaled
constexpr int32_t kProbReady = 1;  // V_MTE3, prob
constexpr int32_t kResultReady = 2;  // V_MTE3, result: one id per slot
constexpr int32_t kMaxOutReady = 4;  // V_MTE3, maxOut, sumOut, rowsOut: one id per slot

// Cross-core flags. Ready: a slot of the ring is written. Before: all cores of a kind have done
// what comes before a stage. kProbRingReady also frees the tile's slot of the score ring, which has
// kPrefetch slots. No other flag frees a slot: in the order of the stages it is read before it is
// written again.
constexpr uint16_t kScoreRingReady = 0;
constexpr uint16_t kProbRingReady = 1;
constexpr uint16_t kOutRingReady = 2;
constexpr uint16_t kBeforeMergePartials = 3;
constexpr uint16_t kAllScaleQuery = 4;
constexpr uint16_t kScaledQueryReady = 5;

template <typename T>
class SelfAttentionKernel : attndsl::KernelBase {
public:
    // Arguments: tensors in the contract's order, the user's part of the workspace, the tiling
    // data.
    __aicore__ inline void Run(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR cacheK,
        GM_ADDR cacheV, GM_ADDR attentionMask, GM_ADDR tokenOffset, GM_ADDR seqLen, GM_ADDR layerId,
        GM_ADDR output, GM_ADDR workspace, const SelfAttentionTiling &tiling)
    {
        TPipe pipe;
        tiling_ = tiling;
        FindCore();
        Bind(queryGm_, query);
        Bind(keyGm_, key);
        Bind(valueGm_, value);
        Bind(cacheKGm_, cacheK);
        Bind(cacheVGm_, cacheV);
        Bind(attentionMaskGm_, attentionMask);
        Bind(tokenOffsetGm_, tokenOffset);
        Bind(seqLenGm_, seqLen);
        Bind(layerIdGm_, layerId);
        Bind(outputGm_, output);
        Bind(partialMaxGm_, workspace + tiling_.partialMaxOffset);
        Bind(partialSumGm_, workspace + tiling_.partialSumOffset);
        Bind(partialOutGm_, workspace + tiling_.partialOutOffset);
        Bind(scoreRingGm_,
            workspace + tiling_.scoreRingOffset + blockIndex_ * tiling_.scoreRingPart);
        Bind(probRingGm_, workspace + tiling_.probRingOffset + blockIndex_ * tiling_.probRingPart);
        Bind(outRingGm_, workspace + tiling_.outRingOffset + blockIndex_ * tiling_.outRingPart);
        Bind(scaledQueryGm_, workspace + tiling_.scaledQueryOffset);
        if ASCEND_IS_AIC {
            TakeCubeMemories(pipe, kL1End, kL0aEnd, kL0bEnd, kL0cEnd);
        }
        if ASCEND_IS_AIV {
            TakeVectorMemory(pipe, kUbEnd);
            accumulator_ = View<float>(ub_, kAccumulatorAt);
            queryWide_ = View<float>(ub_, kQueryWideAt);
            queryPart_ = View<T>(ub_, kQueryPartAt);
            queryScaled_ = View<T>(ub_, kQueryScaledAt);
            prob_ = View<T>(ub_, kProbAt);
            lanes_ = View<float>(ub_, kLanesAt);
            newKey_ = View<T>(ub_, kNewKeyAt);
            newValue_ = View<T>(ub_, kNewValueAt);
            rowBlocks_ = View<float>(ub_, kRowBlocksAt);
            resultBlocks_ = View<float>(ub_, kResultBlocksAt);
            attentionMaskWide_ = View<float>(ub_, kAttentionMaskWideAt);
            rowMax_ = View<float>(ub_, kRowMaxAt);
            rowSum_ = View<float>(ub_, kRowSumAt);
            tileStat_ = View<float>(ub_, kTileStatAt);
            newMax_ = View<float>(ub_, kNewMaxAt);
            rescale_ = View<float>(ub_, kRescaleAt);
            mergedMax_ = View<float>(ub_, kMergedMaxAt);
            mergedSum_ = View<float>(ub_, kMergedSumAt);
            newMaxBlocks_ = View<float>(ub_, kNewMaxBlocksAt);
            mergedRescale_ = View<float>(ub_, kMergedRescaleAt);
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
        AwaitScaledQuery();
        // One turn more than the block has items: it drains the pipeline. The plan launches no more
        // blocks than there are items; without items there is no turn.
        const int64_t turnsEnd = tiling_.items + MinOf(tiling_.items, blockCount_);
        for (int64_t turn = blockIndex_; turn < turnsEnd; turn += blockCount_) {
            // The item takes this place when its first step begins.
            const int64_t itemSlot = (itemsBegun_ + 1) % kRing;
            items_[itemSlot] = DecodeItem(turn);
            const Item &work = items_[itemSlot];
            const int64_t rowFractals = CeilDiv(work.taskRows, kFractal);
            const int64_t keyPosition = MaxOf(work.tokenOffsetOfBatch - work.seqLenOfBatch, 0);
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + queryL1Slot_);
            LoadQuery(work, rowFractals);
            SetAndWaitFlag<HardEvent::MTE2_MTE1>(kQueryL1Ready + queryL1Slot_);
            for (int64_t tile = 0; tile < work.steps; ++tile) {
                const int64_t slot = stepsBegun_++ % kRing;
                itemsBegun_ += tile == 0;
                cubeSteps_[slot].tile = tile;
                cubeSteps_[slot].rowFractals = rowFractals;
                cubeSteps_[slot].keyPosition = keyPosition;
                cubeSteps_[slot].itemSlot = itemSlot;
                // The first kPrefetch steps have no earlier one, and do not look at it.
                const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;
                const CubeStep &earlier = cubeSteps_[earlierSlot];
                const Item &earlierWork = items_[earlier.itemSlot];
                if (stepsBegun_ > kPrefetch && earlier.tile < earlierWork.tiles) {
                    AwaitProbabilities();
                }
                if (tile < work.tiles) {
                    ScoreTile(work, rowFractals, keyPosition, tile);
                }
                if (stepsBegun_ > kPrefetch && earlier.tile < earlierWork.tiles) {
                    WeightedTile(earlierWork, earlier.rowFractals, earlier.keyPosition,
                        earlier.tile, earlierSlot);
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
        SetFlag<HardEvent::V_MTE2>(kQueryPartFree);
        SetFlag<HardEvent::MTE3_V>(kQueryScaledFree);
        SetFlag<HardEvent::MTE3_V>(kProbFree);
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            SetFlag<HardEvent::V_MTE2>(kScoreFree + slot);
            SetFlag<HardEvent::V_MTE2>(kPartialFree + slot);
            SetFlag<HardEvent::MTE3_V>(kResultFree + slot);
            SetFlag<HardEvent::MTE3_V>(kMaxOutFree + slot);
        }
        SetFlag<HardEvent::MTE3_MTE2>(kNewKeyFree);
        SetFlag<HardEvent::MTE3_MTE2>(kNewValueFree);
        ScaleQuery();
        ReleaseScaledQuery();
        // One turn more than the block has items: it drains the pipeline. The plan launches no more
        // blocks than there are items; without items there is no turn.
        const int64_t turnsEnd = tiling_.items + MinOf(tiling_.items, blockCount_);
        for (int64_t turn = blockIndex_; turn < turnsEnd; turn += blockCount_) {
            // The item takes this place when its first step begins.
            const int64_t itemSlot = (itemsBegun_ + 1) % kRing;
            items_[itemSlot] = DecodeItem(turn);
            const Item &work = items_[itemSlot];
            const int64_t rowsPerCore = CeilDiv(work.taskRows, kVectorCores);
            const int64_t rowBegin = MinOf(subBlock_ * rowsPerCore, work.taskRows);
            const int64_t rows = MinOf(rowsPerCore, work.taskRows - rowBegin);
            for (int64_t tile = 0; tile < work.steps; ++tile) {
                const int64_t slot = stepsBegun_++ % kRing;
                itemsBegun_ += tile == 0;
                vectorSteps_[slot].tile = tile;
                vectorSteps_[slot].rows = rows;
                vectorSteps_[slot].rowBegin = rowBegin;
                vectorSteps_[slot].itemSlot = itemSlot;
                if (tile == 0) {
                    StartRows(itemSlot, rows);
                }
                if (tile < work.tiles) {
                    SoftmaxTile(work, tile, slot, itemSlot, rowBegin, rows);
                }
                if (stepsBegun_ > kPrefetch) {
                    const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;
                    const VectorStep &earlier = vectorSteps_[earlierSlot];
                    const Item &earlierWork = items_[earlier.itemSlot];
                    if (earlier.tile == 0) {
                        StartSums(earlier.rows);
                    }
                    if (earlier.tile < earlierWork.tiles) {
                        UpdateTile(earlierSlot, earlier.rowBegin, earlier.rows);
                    }
                    if (earlier.tile == earlierWork.steps - 1) {
                        WriteRows(earlierWork, earlier.itemSlot, earlier.rowBegin, earlier.rows);
                    }
                }
            }
        }
        if (tiling_.splits > 1) {
            MergePartials();
        }
        AppendRows();
        WaitFlag<HardEvent::V_MTE2>(kQueryPartFree);
        WaitFlag<HardEvent::MTE3_V>(kQueryScaledFree);
        WaitFlag<HardEvent::MTE3_V>(kProbFree);
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            WaitFlag<HardEvent::V_MTE2>(kScoreFree + slot);
            WaitFlag<HardEvent::V_MTE2>(kPartialFree + slot);
            WaitFlag<HardEvent::MTE3_V>(kResultFree + slot);
            WaitFlag<HardEvent::MTE3_V>(kMaxOutFree + slot);
        }
        WaitFlag<HardEvent::MTE3_MTE2>(kNewKeyFree);
        WaitFlag<HardEvent::MTE3_MTE2>(kNewValueFree);
    }

    // An item as cube and vector cores see it: its rows, heads and tiles of keys.
    struct Item {
        int64_t split;  // its part of the keys of the task
        int64_t firstQuery;  // first query position of the task in its batch row
        int64_t kvHead;  // key/value head
        int64_t batch;  // batch row
        int64_t firstHead;  // first query head of the task
        int64_t heads;  // query heads of the task
        int64_t seqLenOfBatch;  // seqLen[batch]
        int64_t queries;  // query positions of the task
        int64_t taskRows;  // query rows of the task
        int64_t firstToken;  // first query of the batch row among the tokens of all
        int64_t tokenOffsetOfBatch;  // tokenOffset[batch]
        int64_t keyEnd;  // end of the keys of the task
        int64_t firstTile;  // first key tile of the item
        int64_t tiles;  // key tiles of the item
        int64_t steps;  // steps of the item in the pipeline: those with keys, or what drains it
    };

    __aicore__ inline Item DecodeItem(int64_t turn)
    {
        Item found;
        const int64_t item = MinOf(turn, tiling_.items - 1);
        // all tasks of one split follow each other: blocks beside each other have other tasks
        found.split = item / tiling_.tasks;
        const int64_t task = item % tiling_.tasks;
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
        found.seqLenOfBatch = seqLenGm_.GetValue(found.batch);
        const int64_t queryLength = MinOf(found.seqLenOfBatch, tiling_.qRows);
        found.queries = MaxOf(0, MinOf(tiling_.queriesPerTask, queryLength - found.firstQuery));
        found.taskRows = found.heads * found.queries;
        found.firstToken = RowsBefore(found.batch);
        found.tokenOffsetOfBatch = tokenOffsetGm_.GetValue(found.batch);
        const int64_t visibleEnd = MinOf(found.tokenOffsetOfBatch, tiling_.keyCapacity);
        found.keyEnd = turn >= tiling_.items ? 0 : visibleEnd;
        const int64_t tileTotal = found.taskRows == 0 ? 0 : CeilDiv(found.keyEnd, kTileKeys);
        const int64_t tilesPerSplit = CeilDiv(tileTotal, tiling_.splits);
        found.firstTile = MinOf(found.split * tilesPerSplit, tileTotal);
        found.tiles = MinOf(tilesPerSplit, tileTotal - found.firstTile);
        found.steps =
            turn >= tiling_.items ? kPrefetch : (found.taskRows == 0 ? 0 : MaxOf(found.tiles, 1));
        return found;
    }

    // The sum of the lengths in front, counted up or down from where the last call ended.
    __aicore__ inline int64_t RowsBefore(int64_t extent)
    {
        for (; rowsBeforeEnd_ < extent; ++rowsBeforeEnd_) {
            rowsBeforeSum_ += seqLenGm_.GetValue(rowsBeforeEnd_);
        }
        while (rowsBeforeEnd_ > extent) {
            --rowsBeforeEnd_;
            rowsBeforeSum_ -= seqLenGm_.GetValue(rowsBeforeEnd_);
        }
        return rowsBeforeSum_;
    }

    // Waits until the vector cores of all blocks have written their parts.
    __aicore__ inline void AwaitScaledQuery()
    {
        if (tiling_.queryIsScaled) {
            CrossCoreWaitFlag(kScaledQueryReady);
        }
    }

    // Query rows of the task from global memory to L1.
    __aicore__ inline void LoadQuery(const Item &work, int64_t rowFractals)
    {
        auto queryL1 = View<T>(l1_, kQueryL1At + queryL1Slot_ * kQueryL1SlotBytes);
        if (work.tiles > 0) {
            if (tiling_.queryIsScaled) {
                LoadPositions(queryL1,
                    scaledQueryGm_[(work.firstToken + work.firstQuery) * tiling_.queryStrideS
                        + work.firstHead * tiling_.queryStrideN],
                    work.queries, work.heads, tiling_.headDim, tiling_.queryStrideS,
                    tiling_.queryStrideN, rowFractals * kFractal);
            } else {
                LoadPositions(queryL1,
                    queryGm_[(work.firstToken + work.firstQuery) * tiling_.queryStrideS
                        + work.firstHead * tiling_.queryStrideN],
                    work.queries, work.heads, tiling_.headDim, tiling_.queryStrideS,
                    tiling_.queryStrideN, rowFractals * kFractal);
            }
        }
    }

    // Waits for the probabilities of a tile: its scores are read, new ones may take their slot.
    __aicore__ inline void AwaitProbabilities()
    {
        CrossCoreWaitFlag(kProbRingReady);
    }

    // Scores of one key tile, query times keys transposed, to their ring slot.
    __aicore__ inline void ScoreTile(const Item &work, int64_t rowFractals, int64_t keyPosition,
        int64_t tile)
    {
        auto queryL1 = View<T>(l1_, kQueryL1At + queryL1Slot_ * kQueryL1SlotBytes);
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t keyTile =
            work.batch * tiling_.cacheKStrideB + layerIdGm_.GetValue(0) * tiling_.cacheKStrideY
                + work.kvHead * tiling_.cacheKStrideK + firstKey * tiling_.cacheKStrideT;
        const int64_t newKeyTile =
            work.kvHead * tiling_.keyStrideK + (work.firstToken + firstKey) * tiling_.keyStrideU;
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
                    const int64_t cachedRows = MaxOf(0, MinOf(cols, keyPosition - firstKey - n0));
                    WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + keyL1Slot_);
                    if (cachedRows > 0) {
                        LoadNzOfAnyPitch(keyL1, cacheKGm_[keyTile + n0 * tiling_.cacheKStrideT],
                            cachedRows, tiling_.headDim, tiling_.cacheKStrideT,
                            RoundUp(cols, kFractal));
                    }
                    if (cols > cachedRows) {
                        PipeBarrier<PIPE_MTE2>();
                        LoadNzOfAnyPitch(keyL1[cachedRows * kFractal],
                            keyGm_[newKeyTile
                                + (n0 + cachedRows - keyPosition) * tiling_.keyStrideU],
                            cols - cachedRows, tiling_.headDim, tiling_.keyStrideU,
                            RoundUp(cols, kFractal));
                    }
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

    // Weighted sum of one tile's values, probabilities times values, to its ring slot.
    __aicore__ inline void WeightedTile(const Item &work, int64_t rowFractals, int64_t keyPosition,
        int64_t tile, int64_t slot)
    {
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t valueTile =
            work.batch * tiling_.cacheVStrideB + layerIdGm_.GetValue(0) * tiling_.cacheVStrideY
                + work.kvHead * tiling_.cacheVStrideK + firstKey * tiling_.cacheVStrideT;
        const int64_t newValueTile =
            work.kvHead * tiling_.valueStrideK
                + (work.firstToken + firstKey) * tiling_.valueStrideU;
        {
            auto probL1 = View<T>(l1_, kProbL1At + probL1Slot_ * kProbL1SlotBytes);
            WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
            LoadNz(probL1, probRingGm_[slot * tiling_.rowsPerTask * kTileKeys], work.taskRows, keys,
                kTileKeys, rowFractals * kFractal);
            {
                auto productL0 =
                    View<float>(l0c_, kProductL0At + productL0Slot_ * kProductL0SlotBytes);
                WaitFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                for (int64_t k0 = 0; k0 < keys; k0 += kBaseK) {
                    const int64_t depth = MinOf(kBaseK, keys - k0);
                    auto valueL1 = View<T>(l1_, kValueL1At + valueL1Slot_ * kValueL1SlotBytes);
                    // to L1 (row by row if the pitch exceeds one copy's limit), then to L0A and L0B
                    const int64_t cachedRows = MaxOf(0, MinOf(depth, keyPosition - firstKey - k0));
                    WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
                    if (cachedRows > 0) {
                        LoadNzOfAnyPitch(valueL1, cacheVGm_[valueTile + k0 * tiling_.cacheVStrideT],
                            cachedRows, tiling_.valueDim, tiling_.cacheVStrideT,
                            RoundUp(depth, kFractal));
                    }
                    if (depth > cachedRows) {
                        PipeBarrier<PIPE_MTE2>();
                        LoadNzOfAnyPitch(valueL1[cachedRows * kFractal],
                            valueGm_[newValueTile
                                + (k0 + cachedRows - keyPosition) * tiling_.valueStrideU],
                            depth - cachedRows, tiling_.valueDim, tiling_.valueStrideU,
                            RoundUp(depth, kFractal));
                    }
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
                StoreProduct(outRingGm_[slot * tiling_.rowsPerTask * kPaddedValueSize], productL0,
                    work.taskRows, kPaddedValueSize, kPaddedValueSize, rowFractals * kFractal);
                SetFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                productL0Slot_ = (productL0Slot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
            probL1Slot_ = (probL1Slot_ + 1) % kDoubleBuffer;
        }
        CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kOutRingReady);
    }

    // All of query times a factor, rounded to its dtype, to the workspace.
    __aicore__ inline void ScaleQuery()
    {
        if (tiling_.queryIsScaled) {
            for (int64_t firstElement = (blockIndex_ * kVectorCores + subBlock_) * kScaledAtOnce;
                 firstElement < tiling_.queryElements;
                 firstElement += blockCount_ * (kVectorCores * kScaledAtOnce)) {
                const int64_t elements = MinOf(kScaledAtOnce, tiling_.queryElements - firstElement);
                WaitFlag<HardEvent::V_MTE2>(kQueryPartFree);
                LoadRow(queryPart_, queryGm_[firstElement], elements);
                SetAndWaitFlag<HardEvent::MTE2_V>(kQueryPartReady);
                PipeBarrier<PIPE_V>();
                Cast(queryWide_, queryPart_, RoundMode::CAST_NONE, elements);
                SetFlag<HardEvent::V_MTE2>(kQueryPartFree);
                PipeBarrier<PIPE_V>();
                Muls(queryWide_, queryWide_, float(tiling_.qScale), elements);
                WaitFlag<HardEvent::MTE3_V>(kQueryScaledFree);
                PipeBarrier<PIPE_V>();
                Cast(queryScaled_, queryWide_, RoundMode::CAST_RINT, elements);
                SetAndWaitFlag<HardEvent::V_MTE3>(kQueryScaledReady);
                StoreRow(scaledQueryGm_[firstElement], queryScaled_, elements);
                SetFlag<HardEvent::MTE3_V>(kQueryScaledFree);
            }
        }
    }

    // All vector cores have written their parts: the cube may read.
    __aicore__ inline void ReleaseScaledQuery()
    {
        if (tiling_.queryIsScaled) {
            CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kAllScaleQuery);
            CrossCoreWaitFlag(kAllScaleQuery);
            CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kScaledQueryReady);
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

    // Online softmax of one tile: scores in, probabilities out, row maxima and sums updated.
    __aicore__ inline void SoftmaxTile(const Item &work, int64_t tile, int64_t slot,
        int64_t itemSlot, int64_t rowBegin, int64_t rows)
    {
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        CrossCoreWaitFlag(kScoreRingReady);
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);
            auto score = View<float>(ub_, kScoreAt + scoreSlot_ * kScoreSlotBytes);
            auto attentionMaskRows =
                View<T>(ub_, kAttentionMaskRowsAt + scoreSlot_ * kAttentionMaskRowsSlotBytes);
            const int64_t span = (stepRows - 1) * kTileKeys + RoundUp(keys, kRepeatLanes);
            WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
            LoadRows(score,
                scoreRingGm_[(stepsBegun_ % kPrefetch * tiling_.rowsPerTask + rowBegin + r0)
                    * kTileKeys],
                stepRows, keys, kTileKeys, kTileKeys);
            LoadRows(attentionMaskRows,
                attentionMaskGm_[work.batch * tiling_.attentionMaskStrideB
                    + (work.firstQuery + (rowBegin + r0) / work.heads)
                        * tiling_.attentionMaskStrideQ
                    + firstKey],
                (rowBegin + r0 + stepRows - 1) / work.heads - (rowBegin + r0) / work.heads + 1,
                keys, tiling_.attentionMaskStrideQ, kTileKeys);
            SetFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
            // score * qkScale  (spec line 255)
            WaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
            Muls(score, score, float(tiling_.qkScale), span);
            // score + attentionMask * attentionMaskFactor  (spec line 174)
            if (work.heads == 1) {
                Cast(attentionMaskWide_, attentionMaskRows, RoundMode::CAST_NONE, span);
            } else {
                for (int64_t row = 0; row < stepRows; ++row) {
                    Cast(attentionMaskWide_[row * kTileKeys],
                        attentionMaskRows[((rowBegin + r0 + row) / work.heads
                            - (rowBegin + r0) / work.heads)
                            * kTileKeys],
                        RoundMode::CAST_NONE, RoundUp(keys, kRepeatLanes));
                }
            }
            if (tiling_.attentionMaskFactor != 1) {
                PipeBarrier<PIPE_V>();
                Muls(attentionMaskWide_, attentionMaskWide_, float(tiling_.attentionMaskFactor),
                    span);
            }
            PipeBarrier<PIPE_V>();
            Add(score, score, attentionMaskWide_, span);
            // Lanes after the last key are excluded from the maximum, and from the sum.
            if (keys % kRepeatLanes != 0) {
                PipeBarrier<PIPE_V>();
                FillLanes(score[keys / kRepeatLanes * kRepeatLanes], keys % kRepeatLanes,
                    -__builtin_inff(), stepRows, kTileKeys);
            }
            // newMax = max(rowMax, row maximum of the tile); rescale = rowMax - newMax
            if (kFoldedLanes * kBlockLanes > keys) {
                Duplicate(lanes_, float(kLowest), stepRows * kFoldedLanes);
            }
            PipeBarrier<PIPE_V>();
            MaxOfBlocks(lanes_, score, stepRows, keys, kFoldedLanes, kTileKeys);
            PipeBarrier<PIPE_V>();
            MaxOfBlocks(rowBlocks_, lanes_, stepRows, kRepeatLanes, kBlockLanes, kFoldedLanes);
            PipeBarrier<PIPE_V>();
            MaxOfBlocks(tileStat_, rowBlocks_, CeilDiv(stepRows, kBlockLanes), kRepeatLanes,
                kBlockLanes, kRepeatLanes);
            PipeBarrier<PIPE_V>();
            Max(newMax_, rowMax_[r0 + itemSlot * kRowsPerVector], tileStat_, stepRows);
            PipeBarrier<PIPE_V>();
            Sub(rescale_[slot * kRowsPerVector + r0], rowMax_[r0 + itemSlot * kRowsPerVector],
                newMax_, stepRows);
            // score = exp(score - newMax)
            SpreadOverBlocks<2>(rowBlocks_, newMax_, kRowsPerStep);
            PipeBarrier<PIPE_V>();
            SubRows<2>(score, rowBlocks_, stepRows, keys, kTileKeys);
            PipeBarrier<PIPE_V>();
            Exp(score, score, span);
            // rescale = exp(rowMax - newMax)
            Exp(rescale_[slot * kRowsPerVector + r0], rescale_[slot * kRowsPerVector + r0],
                stepRows);
            CopyLanes(rowMax_[r0 + itemSlot * kRowsPerVector], newMax_, stepRows);
            // rowSum = rowSum * rescale + row sum of the tile
            if (kFoldedLanes * kBlockLanes > keys) {
                Duplicate(lanes_, 0.0f, stepRows * kFoldedLanes);
            }
            PipeBarrier<PIPE_V>();
            SumOfBlocks(lanes_, score, stepRows, keys, kFoldedLanes, kTileKeys);
            PipeBarrier<PIPE_V>();
            SumOfBlocks(rowBlocks_, lanes_, stepRows, kRepeatLanes, kBlockLanes, kFoldedLanes);
            PipeBarrier<PIPE_V>();
            SumOfBlocks(tileStat_, rowBlocks_, CeilDiv(stepRows, kBlockLanes), kRepeatLanes,
                kBlockLanes, kRepeatLanes);
            Mul(rowSum_[r0 + itemSlot * kRowsPerVector], rowSum_[r0 + itemSlot * kRowsPerVector],
                rescale_[slot * kRowsPerVector + r0], stepRows);
            PipeBarrier<PIPE_V>();
            Add(rowSum_[r0 + itemSlot * kRowsPerVector], rowSum_[r0 + itemSlot * kRowsPerVector],
                tileStat_, stepRows);
            WaitFlag<HardEvent::MTE3_V>(kProbFree);
            Cast(prob_, score, RoundMode::CAST_RINT, span);
            SetAndWaitFlag<HardEvent::V_MTE3>(kProbReady);
            StoreRows(probRingGm_[(slot * tiling_.rowsPerTask + rowBegin + r0) * kTileKeys], prob_,
                stepRows, keys, kTileKeys, kTileKeys);
            SetFlag<HardEvent::MTE3_V>(kProbFree);
            SetFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
            scoreSlot_ = (scoreSlot_ + 1) % kDoubleBuffer;
        }
        // Without rows the loop does not order MTE2 before MTE3; the flag below needs that order.
        if (rows <= 0) {
            // After the flag below the other core may overwrite what MTE2 works on, so MTE3 waits
            // for it; MTE2 waits back, so that the event is not set twice.
            SetAndWaitFlag<HardEvent::MTE2_MTE3>(kProbRingReadyMTE2Done);
            SetAndWaitFlag<HardEvent::MTE3_MTE2>(kProbRingReadyMTE2Taken);
        }
        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kProbRingReady);
    }

    // Weighted sums begin with 0: the first tile is added like all others.
    __aicore__ inline void StartSums(int64_t rows)
    {
        if (rows > 0) {
            PipeBarrier<PIPE_V>();
            Duplicate(accumulator_, 0.0f, rows * kPaddedValueSize);
        }
    }

    // Adds one tile's weighted sum to the running one, rescaled to the new maximum.
    __aicore__ inline void UpdateTile(int64_t slot, int64_t rowBegin, int64_t rows)
    {
        CrossCoreWaitFlag(kOutRingReady);
        for (int64_t r0 = 0; r0 < rows; r0 += kResultRowsPerStep) {
            const int64_t stepRows = MinOf(kResultRowsPerStep, rows - r0);
            auto partial = View<float>(ub_, kPartialAt + partialSlot_ * kPartialSlotBytes);
            WaitFlag<HardEvent::V_MTE2>(kPartialFree + partialSlot_);
            LoadRow(partial,
                outRingGm_[(slot * tiling_.rowsPerTask + rowBegin + r0) * kPaddedValueSize],
                stepRows * kPaddedValueSize);
            SetFlag<HardEvent::MTE2_V>(kPartialReady + partialSlot_);
            // accumulator = accumulator * rescale + partial
            SpreadOverBlocks<2>(resultBlocks_, rescale_[slot * kRowsPerVector + r0],
                kResultRowsPerStep);
            PipeBarrier<PIPE_V>();
            MulRows<2>(accumulator_[r0 * kPaddedValueSize], resultBlocks_, stepRows,
                kPaddedValueSize, kPaddedValueSize);
            WaitFlag<HardEvent::MTE2_V>(kPartialReady + partialSlot_);
            PipeBarrier<PIPE_V>();
            Add(accumulator_[r0 * kPaddedValueSize], accumulator_[r0 * kPaddedValueSize], partial,
                stepRows * kPaddedValueSize);
            SetFlag<HardEvent::V_MTE2>(kPartialFree + partialSlot_);
            partialSlot_ = (partialSlot_ + 1) % kDoubleBuffer;
        }
    }

    // Rows of a finished item: normalized to the output, or stored as a partial of their key split.
    __aicore__ inline void WriteRows(const Item &work, int64_t itemSlot, int64_t rowBegin,
        int64_t rows)
    {
        // rows are stored by runs: the positions of a single head, or the heads of each
        const int64_t runLength = work.heads == 1 ? rowBegin + rows : work.heads;
        if (tiling_.splits == 1) {
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
                auto result = View<T>(ub_, kResultAt + resultSlot_ * kResultSlotBytes);
                WaitFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
                PipeBarrier<PIPE_V>();
                Cast(result, accumulator_[r0 * kPaddedValueSize], RoundMode::CAST_RINT,
                    stepRows * kPaddedValueSize);
                SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady + resultSlot_);
                StoreRuns(outputGm_[(work.firstToken + work.firstQuery) * tiling_.outputStrideS
                    + work.firstHead * tiling_.outputStrideN],
                    result, rowBegin + r0, stepRows, runLength, work.heads, tiling_.valueDim,
                    tiling_.outputStrideN, tiling_.outputStrideS, kPaddedValueSize);
                SetFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
                resultSlot_ = (resultSlot_ + 1) % kDoubleBuffer;
            }
        } else {
            for (int64_t r0 = 0; r0 < rows; r0 += kResultRowsPerStep) {
                const int64_t stepRows = MinOf(kResultRowsPerStep, rows - r0);
                auto maxOut = View<float>(ub_, kMaxOutAt + maxOutSlot_ * kMaxOutSlotBytes);
                auto sumOut = View<float>(ub_, kSumOutAt + maxOutSlot_ * kSumOutSlotBytes);
                auto rowsOut = View<float>(ub_, kRowsOutAt + maxOutSlot_ * kRowsOutSlotBytes);
                WaitFlag<HardEvent::MTE3_V>(kMaxOutFree + maxOutSlot_);
                PipeBarrier<PIPE_V>();
                SpreadOverBlocks<1>(maxOut, rowMax_[r0 + itemSlot * kRowsPerVector],
                    kResultRowsPerStep);
                SpreadOverBlocks<1>(sumOut, rowSum_[r0 + itemSlot * kRowsPerVector],
                    kResultRowsPerStep);
                CopyLanes(rowsOut, accumulator_[r0 * kPaddedValueSize],
                    stepRows * kPaddedValueSize);
                SetAndWaitFlag<HardEvent::V_MTE3>(kMaxOutReady + maxOutSlot_);
                for (int64_t run = (rowBegin + r0) / runLength;
                     run < CeilDiv(rowBegin + r0 + stepRows, runLength);
                     ++run) {
                    const int64_t row = MaxOf(0, run * runLength - (rowBegin + r0));
                    const int64_t runRows =
                        MinOf(stepRows, (run + 1) * runLength - (rowBegin + r0)) - row;
                    const int64_t head = work.firstHead + (rowBegin + r0 + row) % work.heads;
                    const int64_t queryIndex = work.firstQuery + (rowBegin + r0 + row) / work.heads;
                    const int64_t partialRow =
                        work.split * tiling_.rowTotal
                            + (work.firstToken + queryIndex) * tiling_.queryHeads + head;
                    const int64_t rowDistance = work.heads == 1 ? tiling_.queryHeads : 1;
                    StoreRows(partialMaxGm_[partialRow * kBlockLanes], maxOut[row * kBlockLanes],
                        runRows, kBlockLanes, rowDistance * kBlockLanes, kBlockLanes);
                    StoreRows(partialSumGm_[partialRow * kBlockLanes], sumOut[row * kBlockLanes],
                        runRows, kBlockLanes, rowDistance * kBlockLanes, kBlockLanes);
                    StoreRows(partialOutGm_[partialRow * kPaddedValueSize],
                        rowsOut[row * kPaddedValueSize], runRows, kPaddedValueSize,
                        rowDistance * kPaddedValueSize, kPaddedValueSize);
                }
                SetFlag<HardEvent::MTE3_V>(kMaxOutFree + maxOutSlot_);
                maxOutSlot_ = (maxOutSlot_ + 1) % kDoubleBuffer;
            }
        }
    }

    // The partials that key splits left of the rows of a step, merged into the rows: both sides are
    // rescaled to the larger maximum and added.
    __aicore__ inline void MergeParts(int64_t stepRows, int64_t firstRow)
    {
        for (int64_t part = 0; part < tiling_.splits; ++part) {
            const int64_t partialRow = part * tiling_.rowTotal + firstRow;
            auto partial = View<float>(ub_, kPartialAt + partialSlot_ * kPartialSlotBytes);
            WaitFlag<HardEvent::V_MTE2>(kPartialFree + partialSlot_);
            {
                auto partMax = View<float>(ub_, kPartMaxAt + partMaxSlot_ * kPartMaxSlotBytes);
                auto partSum = View<float>(ub_, kPartSumAt + partMaxSlot_ * kPartSumSlotBytes);
                LoadRow(partMax, partialMaxGm_[partialRow * kBlockLanes], stepRows * kBlockLanes);
                LoadRow(partSum, partialSumGm_[partialRow * kBlockLanes], stepRows * kBlockLanes);
                LoadRow(partial, partialOutGm_[partialRow * kPaddedValueSize],
                    stepRows * kPaddedValueSize);
                SetAndWaitFlag<HardEvent::MTE2_V>(kPartMaxReady + partMaxSlot_);
                MergePartial(accumulator_, mergedMax_, mergedSum_, partial, partMax, partSum,
                    newMaxBlocks_, mergedRescale_, stepRows, kPaddedValueSize);
                partMaxSlot_ = (partMaxSlot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::V_MTE2>(kPartialFree + partialSlot_);
            partialSlot_ = (partialSlot_ + 1) % kDoubleBuffer;
        }
    }

    // The merged rows of a step to the output.
    __aicore__ inline void WriteMerged(int64_t token, int64_t firstHead, int64_t stepRows)
    {
        auto result = View<T>(ub_, kResultAt + resultSlot_ * kResultSlotBytes);
        WaitFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
        PipeBarrier<PIPE_V>();
        Cast(result, accumulator_, RoundMode::CAST_RINT, stepRows * kPaddedValueSize);
        SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady + resultSlot_);
        StoreRows(outputGm_[token * tiling_.outputStrideS + firstHead * tiling_.outputStrideN],
            result, stepRows, tiling_.valueDim, tiling_.outputStrideN, kPaddedValueSize);
        SetFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
        resultSlot_ = (resultSlot_ + 1) % kDoubleBuffer;
    }

    // Log-sum-exp merge of the partials of each row; all vector cores share the rows.
    __aicore__ inline void MergePartials()
    {
        CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kBeforeMergePartials);
        CrossCoreWaitFlag(kBeforeMergePartials);
        const int64_t stepsPerToken = CeilDiv(tiling_.queryHeads, kResultRowsPerStep);
        const int64_t units = tiling_.rowTotal / tiling_.queryHeads * stepsPerToken;
        for (int64_t unit = blockIndex_ * kVectorCores + subBlock_;
             unit < units;
             unit += blockCount_ * kVectorCores) {
            const int64_t token = unit / stepsPerToken;
            const int64_t firstHead = unit % stepsPerToken * kResultRowsPerStep;
            const int64_t stepRows = MinOf(kResultRowsPerStep, tiling_.queryHeads - firstHead);
            const int64_t firstRow = token * tiling_.queryHeads + firstHead;
            Duplicate(mergedMax_, float(kLowest), stepRows * kBlockLanes);
            Duplicate(mergedSum_, 0.0f, stepRows * kBlockLanes);
            PipeBarrier<PIPE_V>();
            Duplicate(accumulator_, 0.0f, stepRows * kPaddedValueSize);
            MergeParts(stepRows, firstRow);
            // result = accumulator / sum; a row without keys has sum 0 and gives zeros
            Maxs(mergedSum_, mergedSum_, float(kSmallest), stepRows * kBlockLanes);
            PipeBarrier<PIPE_V>();
            DivRows<1>(accumulator_, mergedSum_, stepRows, kPaddedValueSize, kPaddedValueSize);
            WriteMerged(token, firstHead, stepRows);
        }
    }

    // New keys and values into their rows of the caches.
    __aicore__ inline void AppendRows()
    {
        for (int64_t batch = 0; batch < tiling_.batchRows; ++batch) {
            const int64_t newKeyStart = RowsBefore(batch);
            const int64_t tokenOffsetOfBatch = tokenOffsetGm_.GetValue(batch);
            const int64_t keyPosition = MaxOf(tokenOffsetOfBatch - seqLenGm_.GetValue(batch), 0);
            const int64_t newRows =
                MaxOf(0, MinOf(tokenOffsetOfBatch, tiling_.keyCapacity) - keyPosition);
            for (int64_t newRow = blockIndex_ * kVectorCores + subBlock_;
                 newRow < newRows;
                 newRow += blockCount_ * kVectorCores) {
                const int64_t cacheRow = keyPosition + newRow;
                for (int64_t kvHead = 0; kvHead < tiling_.kvHeads; kvHead += kResultRowsPerStep) {
                    const int64_t stepRows = MinOf(kResultRowsPerStep, tiling_.kvHeads - kvHead);
                    WaitFlag<HardEvent::MTE3_MTE2>(kNewKeyFree);
                    LoadRows(newKey_,
                        keyGm_[kvHead * tiling_.keyStrideK
                            + (newKeyStart + newRow) * tiling_.keyStrideU],
                        stepRows, tiling_.headDim, tiling_.keyStrideK, kPaddedHeadSize);
                    SetAndWaitFlag<HardEvent::MTE2_MTE3>(kNewKeyReady);
                    StoreRows(cacheKGm_[batch * tiling_.cacheKStrideB
                        + layerIdGm_.GetValue(0) * tiling_.cacheKStrideY
                        + kvHead * tiling_.cacheKStrideK + cacheRow * tiling_.cacheKStrideT],
                        newKey_, stepRows, tiling_.headDim, tiling_.cacheKStrideK, kPaddedHeadSize);
                    SetFlag<HardEvent::MTE3_MTE2>(kNewKeyFree);
                    WaitFlag<HardEvent::MTE3_MTE2>(kNewValueFree);
                    LoadRows(newValue_,
                        valueGm_[kvHead * tiling_.valueStrideK
                            + (newKeyStart + newRow) * tiling_.valueStrideU],
                        stepRows, tiling_.valueDim, tiling_.valueStrideK, kPaddedValueSize);
                    SetAndWaitFlag<HardEvent::MTE2_MTE3>(kNewValueReady);
                    StoreRows(cacheVGm_[batch * tiling_.cacheVStrideB
                        + layerIdGm_.GetValue(0) * tiling_.cacheVStrideY
                        + kvHead * tiling_.cacheVStrideK + cacheRow * tiling_.cacheVStrideT],
                        newValue_, stepRows, tiling_.valueDim, tiling_.cacheVStrideK,
                        kPaddedValueSize);
                    SetFlag<HardEvent::MTE3_MTE2>(kNewValueFree);
                }
            }
        }
    }

    SelfAttentionTiling tiling_{};

    // The next slot of each multi-buffered tensor
    uint32_t queryL1Slot_ = 0, leftL0Slot_ = 0, productL0Slot_ = 0, keyL1Slot_ = 0;
    uint32_t rightL0Slot_ = 0, probL1Slot_ = 0, valueL1Slot_ = 0, scoreSlot_ = 0, partialSlot_ = 0;
    uint32_t resultSlot_ = 0, maxOutSlot_ = 0, partMaxSlot_ = 0;

    // Running sums: the end of the range, and the sum up to it
    int64_t rowsBeforeEnd_ = 0, rowsBeforeSum_ = 0;

    // The steps and items that have begun; the scalars of the last steps, and their items
    int64_t stepsBegun_ = 0, itemsBegun_ = 0;
    struct CubeStep {
        int64_t tile, rowFractals, keyPosition, itemSlot;
    } cubeSteps_[kRing]{};
    struct VectorStep {
        int64_t tile, rows, rowBegin, itemSlot;
    } vectorSteps_[kRing]{};
    // An item keeps its place until its last step is finished. When one is decoded, at most
    // kPrefetch others have a step that is not: it takes a place that none of these has.
    Item items_[kRing];

    // Global memory
    GlobalTensor<T> queryGm_;
    GlobalTensor<T> keyGm_;
    GlobalTensor<T> valueGm_;
    GlobalTensor<T> cacheKGm_;
    GlobalTensor<T> cacheVGm_;
    GlobalTensor<T> attentionMaskGm_;
    GlobalTensor<int64_t> tokenOffsetGm_;
    GlobalTensor<int64_t> seqLenGm_;
    GlobalTensor<int64_t> layerIdGm_;
    GlobalTensor<T> outputGm_;
    GlobalTensor<float> partialMaxGm_;  // row maxima of key splits
    GlobalTensor<float> partialSumGm_;  // row sums of key splits
    GlobalTensor<float> partialOutGm_;  // weighted sums of key splits
    GlobalTensor<float> scoreRingGm_;  // ring of score tiles, cube to vector
    GlobalTensor<T> probRingGm_;  // ring of probability tiles, vector to cube
    GlobalTensor<float> outRingGm_;  // ring of weighted sums, cube to vector
    GlobalTensor<T> scaledQueryGm_;  // scaled query

    // On-chip buffers with a single slot
    LocalTensor<T> queryPart_, queryScaled_, prob_, newKey_, newValue_;
    LocalTensor<float> queryWide_, rowMax_, rowSum_, attentionMaskWide_, lanes_, rowBlocks_;
    LocalTensor<float> tileStat_, newMax_, rescale_, accumulator_, resultBlocks_, mergedMax_;
    LocalTensor<float> mergedSum_, newMaxBlocks_, mergedRescale_;
};

}  // namespace self_attention_d128_e128_key_value_attentionMask_maskType_NORM

#endif  // ATTNDSL_SELF_ATTENTION_D128_E128_KEY_VALUE_ATTENTIONMASK_MASKTYPE_NORM_H
