/*
 * self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE
 * Attention of prompts over their own keys.
 *
 * Contract: ATB SelfAttentionOperation
 * Spec: self_attention.py; "spec line" in a comment is a line of it.
 * Specialized on
 *   dtype int8
 *   head size headSize from 113 to 128
 *   head size headSizeV from 113 to 128
 *   with value, qkDescale, vpvDescale, pScale
 *   quantType = QKV_OFFLINE
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
#ifndef ATTNDSL_SELF_ATTENTION_PA_ENCODER_INT8_D128_E128_VALUE_QKDESCALE_VPVDESCALE_PSCALE_QUANTTYPE_QKV_OFFLINE_H
#define ATTNDSL_SELF_ATTENTION_PA_ENCODER_INT8_D128_E128_VALUE_QKDESCALE_VPVDESCALE_PSCALE_QUANTTYPE_QKV_OFFLINE_H

#include "kernel_operator.h"
#include "attndsl_kernel.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE_schedule.h"
#include "self_attention_pa_encoder_tiling.h"

namespace self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE {

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
constexpr int32_t kWholeScoreReady = 0;  // MTE2_V, wholeScore: one id per slot
constexpr int32_t kWholePartialReady = 2;  // MTE2_V, wholePartial: one id per slot
constexpr int32_t kProbRingReadyMTE2Taken = 0;  // MTE3_MTE2
constexpr int32_t kProbFree = 0;  // MTE3_V, prob
constexpr int32_t kResultFree = 1;  // MTE3_V, result: one id per slot
constexpr int32_t kProductL0Ready = 0;  // M_FIX, productL0: one id per slot
constexpr int32_t kRightL0Free = 0;  // M_MTE1, rightL0: one id per slot
constexpr int32_t kLeftL0Free = 2;  // M_MTE1, leftL0: one id per slot
constexpr int32_t kWholeScoreFree = 0;  // V_MTE2, wholeScore, score: one id per slot
constexpr int32_t kWholePartialFree = 2;  // V_MTE2, wholePartial: one id per slot
constexpr int32_t kProbReady = 0;  // V_MTE3, prob
constexpr int32_t kResultReady = 1;  // V_MTE3, result: one id per slot

// Cross-core flags. Ready: a slot of the ring is written. kProbRingReady also frees the tile's slot
// of the score ring, which has kPrefetch slots. No other flag frees a slot: in the order of the
// stages it is read before it is written again.
constexpr uint16_t kScoreRingReady = 0;
constexpr uint16_t kProbRingReady = 1;
constexpr uint16_t kOutRingReady = 2;

class SelfAttentionPaEncoderKernel : attndsl::KernelBase {
public:
    // Arguments: tensors in the contract's order, the user's part of the workspace, the tiling
    // data.
    __aicore__ inline void Run(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR seqLen,
        GM_ADDR qkDescale, GM_ADDR vpvDescale, GM_ADDR pScale, GM_ADDR output, GM_ADDR workspace,
        const SelfAttentionPaEncoderTiling &tiling)
    {
        TPipe pipe;
        tiling_ = tiling;
        FindCore();
        Bind(queryGm_, query);
        Bind(keyGm_, key);
        Bind(valueGm_, value);
        Bind(seqLenGm_, seqLen);
        Bind(qkDescaleGm_, qkDescale);
        Bind(vpvDescaleGm_, vpvDescale);
        Bind(pScaleGm_, pScale);
        Bind(outputGm_, output);
        Bind(scoreRingGm_,
            workspace + tiling_.scoreRingOffset + blockIndex_ * tiling_.scoreRingPart);
        Bind(probRingGm_, workspace + tiling_.probRingOffset + blockIndex_ * tiling_.probRingPart);
        Bind(outRingGm_, workspace + tiling_.outRingOffset + blockIndex_ * tiling_.outRingPart);
        if ASCEND_IS_AIC {
            TakeCubeMemories(pipe, kL1End, kL0aEnd, kL0bEnd, kL0cEnd);
        }
        if ASCEND_IS_AIV {
            TakeVectorMemory(pipe, kUbEnd);
            accumulator_ = View<float>(ub_, kAccumulatorAt);
            lanes_ = View<float>(ub_, kLanesAt);
            probHalf_ = View<half>(ub_, kProbHalfAt);
            sumBlocks_ = View<float>(ub_, kSumBlocksAt);
            prob_ = View<int8_t>(ub_, kProbAt);
            rowBlocks_ = View<float>(ub_, kRowBlocksAt);
            rowMax_ = View<float>(ub_, kRowMaxAt);
            rowSum_ = View<float>(ub_, kRowSumAt);
            tileStat_ = View<float>(ub_, kTileStatAt);
            newMax_ = View<float>(ub_, kNewMaxAt);
            rescale_ = View<float>(ub_, kRescaleAt);
            tileSum_ = View<float>(ub_, kTileSumAt);
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
                tiling_.seqLenIs2Batch ? KeysBefore(work.batch) : work.firstToken;
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + queryL1Slot_);
            LoadQuery(work, rowFractals);
            SetAndWaitFlag<HardEvent::MTE2_MTE1>(kQueryL1Ready + queryL1Slot_);
            for (int64_t tile = 0; tile < work.steps; ++tile) {
                const int64_t slot = stepsBegun_++ % kRing;
                itemsBegun_ += tile == 0;
                cubeSteps_[slot].tile = tile;
                cubeSteps_[slot].keyStart = keyStart;
                cubeSteps_[slot].rowFractals = rowFractals;
                cubeSteps_[slot].itemSlot = itemSlot;
                // The first kPrefetch steps have no earlier one, and do not look at it.
                const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;
                const CubeStep &earlier = cubeSteps_[earlierSlot];
                const Item &earlierWork = items_[earlier.itemSlot];
                if (stepsBegun_ > kPrefetch && earlier.tile < earlierWork.tiles) {
                    AwaitProbabilities();
                }
                if (tile < work.tiles) {
                    ScoreTile(work, rowFractals, keyStart, tile);
                }
                if (stepsBegun_ > kPrefetch && earlier.tile < earlierWork.tiles) {
                    WeightedTile(earlierWork, earlier.rowFractals, earlier.keyStart, earlier.tile,
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
        SetFlag<HardEvent::MTE3_V>(kProbFree);
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            SetFlag<HardEvent::V_MTE2>(kWholeScoreFree + slot);
            SetFlag<HardEvent::V_MTE2>(kWholePartialFree + slot);
            SetFlag<HardEvent::MTE3_V>(kResultFree + slot);
        }
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
                        UpdateTile(earlierWork, earlierSlot, earlier.rowBegin, earlier.rows);
                    }
                    if (earlier.tile == earlierWork.steps - 1) {
                        WriteRows(earlierWork, earlier.itemSlot, earlier.rowBegin, earlier.rows);
                    }
                }
            }
        }
        WaitFlag<HardEvent::MTE3_V>(kProbFree);
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            WaitFlag<HardEvent::V_MTE2>(kWholeScoreFree + slot);
            WaitFlag<HardEvent::V_MTE2>(kWholePartialFree + slot);
            WaitFlag<HardEvent::MTE3_V>(kResultFree + slot);
        }
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
        int64_t steps;  // steps of the item in the pipeline: those with keys, or what drains it
    };

    __aicore__ inline Item DecodeItem(int64_t turn)
    {
        Item found;
        const int64_t item = MinOf(turn, tiling_.items - 1);
        // all tasks of one split follow each other: blocks beside each other have other tasks
        const int64_t split = item / tiling_.tasks;
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
        const int64_t seqLenOfBatch = seqLenGm_.GetValue(found.batch);
        const int64_t queryLength = MinOf(seqLenOfBatch, tiling_.qRows);
        found.queries = MaxOf(0, MinOf(tiling_.queriesPerTask, queryLength - found.firstQuery));
        found.taskRows = found.heads * found.queries;
        found.firstToken = RowsBefore(found.batch);
        const int64_t visibleEnd =
            MinOf(tiling_.seqLenIs2Batch
                ? seqLenGm_.GetValue(tiling_.batchRows + found.batch)
                : seqLenOfBatch,
                tiling_.keyCapacity);
        found.keyEnd = turn >= tiling_.items ? 0 : visibleEnd;
        const int64_t tileTotal = found.taskRows == 0 ? 0 : CeilDiv(found.keyEnd, kTileKeys);
        const int64_t tilesPerSplit = CeilDiv(tileTotal, tiling_.splits);
        found.firstTile = MinOf(split * tilesPerSplit, tileTotal);
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

    // The sum of the lengths in front, counted up or down from where the last call ended.
    __aicore__ inline int64_t KeysBefore(int64_t extent)
    {
        for (; keysBeforeEnd_ < extent; ++keysBeforeEnd_) {
            keysBeforeSum_ += seqLenGm_.GetValue(tiling_.batchRows + keysBeforeEnd_);
        }
        while (keysBeforeEnd_ > extent) {
            --keysBeforeEnd_;
            keysBeforeSum_ -= seqLenGm_.GetValue(tiling_.batchRows + keysBeforeEnd_);
        }
        return keysBeforeSum_;
    }

    // Query rows of the task from global memory to L1.
    __aicore__ inline void LoadQuery(const Item &work, int64_t rowFractals)
    {
        auto queryL1 = View<int8_t>(l1_, kQueryL1At + queryL1Slot_ * kQueryL1SlotBytes);
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
        int64_t tile)
    {
        auto queryL1 = View<int8_t>(l1_, kQueryL1At + queryL1Slot_ * kQueryL1SlotBytes);
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t keyTile =
            work.kvHead * tiling_.keyStrideK + (keyStart + firstKey) * tiling_.keyStrideU;
        {
            auto leftL0 = View<int8_t>(l0a_, kLeftL0At + leftL0Slot_ * kLeftL0SlotBytes);
            WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
            LoadLeft(leftL0, queryL1, rowFractals, CeilDiv(kPaddedHeadSize, kInt8Depth),
                rowFractals);
            for (int64_t n0 = 0; n0 < keys; n0 += kBaseN) {
                const int64_t cols = MinOf(kBaseN, keys - n0);
                auto productL0 =
                    View<int32_t>(l0c_, kProductL0At + productL0Slot_ * kProductL0SlotBytes);
                WaitFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                {
                    auto keyL1 = View<int8_t>(l1_, kKeyL1At + keyL1Slot_ * kKeyL1SlotBytes);
                    // to L1 (row by row if the pitch exceeds one copy's limit), then to L0A and L0B
                    WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + keyL1Slot_);
                    LoadNzOfAnyPitch(keyL1, keyGm_[keyTile + n0 * tiling_.keyStrideU], cols,
                        tiling_.headDim, tiling_.keyStrideU, RoundUp(cols, kFractal));
                    SetAndWaitFlag<HardEvent::MTE2_MTE1>(kKeyL1Ready + keyL1Slot_);
                    {
                        auto rightL0 =
                            View<int8_t>(l0b_, kRightL0At + rightL0Slot_ * kRightL0SlotBytes);
                        WaitFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                        LoadFractals(rightL0, keyL1,
                            CeilDiv(kPaddedHeadSize, kInt8Depth) * CeilDiv(cols, kFractal), 1);
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
    __aicore__ inline void WeightedTile(const Item &work, int64_t rowFractals, int64_t keyStart,
        int64_t tile, int64_t slot)
    {
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t valueTile =
            work.kvHead * tiling_.valueStrideK + (keyStart + firstKey) * tiling_.valueStrideU;
        {
            auto probL1 = View<int8_t>(l1_, kProbL1At + probL1Slot_ * kProbL1SlotBytes);
            WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
            LoadNz(probL1, probRingGm_[slot * tiling_.rowsPerTask * kTileKeys], work.taskRows, keys,
                kTileKeys, rowFractals * kFractal);
            {
                auto productL0 =
                    View<int32_t>(l0c_, kProductL0At + productL0Slot_ * kProductL0SlotBytes);
                WaitFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                for (int64_t k0 = 0; k0 < keys; k0 += kBaseK) {
                    const int64_t depth = MinOf(kBaseK, keys - k0);
                    auto valueL1 = View<int8_t>(l1_, kValueL1At + valueL1Slot_ * kValueL1SlotBytes);
                    // to L1 (row by row if the pitch exceeds one copy's limit), then to L0A and L0B
                    WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
                    LoadNzOfAnyPitch(valueL1, valueGm_[valueTile + k0 * tiling_.valueStrideU],
                        depth, tiling_.valueDim, tiling_.valueStrideU, RoundUp(depth, kInt8Depth));
                    SetAndWaitFlag<HardEvent::MTE2_MTE1>(kValueL1Ready + valueL1Slot_);
                    {
                        auto leftL0 =
                            View<int8_t>(l0a_, kLeftL0At + leftL0Slot_ * kLeftL0SlotBytes);
                        const int64_t depthFractals = CeilDiv(depth, kInt8Depth);
                        const int64_t columnFractals = CeilDiv(kPaddedValueSize, kFractal);
                        WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                        LoadLeft(leftL0,
                            probL1[k0 / kInt8Depth * rowFractals * (kFractal * kInt8Depth)],
                            rowFractals, depthFractals, rowFractals);
                        {
                            auto rightL0 =
                                View<int8_t>(l0b_, kRightL0At + rightL0Slot_ * kRightL0SlotBytes);
                            WaitFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                            LoadTransposedInt8(rightL0, valueL1, depthFractals, columnFractals,
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
            auto wholeScore =
                View<int32_t>(ub_, kWholeScoreAt + wholeScoreSlot_ * kWholeScoreSlotBytes);
            auto score = View<float>(ub_, kScoreAt + wholeScoreSlot_ * kScoreSlotBytes);
            const int64_t span = (stepRows - 1) * kTileKeys + RoundUp(keys, kRepeatLanes);
            WaitFlag<HardEvent::V_MTE2>(kWholeScoreFree + wholeScoreSlot_);
            LoadRows(wholeScore,
                scoreRingGm_[(stepsBegun_ % kPrefetch * tiling_.rowsPerTask + rowBegin + r0)
                    * kTileKeys],
                stepRows, keys, kTileKeys, kTileKeys);
            SetAndWaitFlag<HardEvent::MTE2_V>(kWholeScoreReady + wholeScoreSlot_);
            Cast(score, wholeScore, RoundMode::CAST_RINT, span);
            // score * qkDescale  (spec line 255)
            PipeBarrier<PIPE_V>();
            for (int64_t row = 0; row < stepRows; ++row) {
                const int64_t head = work.firstHead + (rowBegin + r0 + row) % work.heads;
                Muls(score[row * kTileKeys], score[row * kTileKeys],
                    float(qkDescaleGm_.GetValue(head * tiling_.qkDescaleStrideN)),
                    RoundUp(keys, kRepeatLanes));
            }
            // score * qkScale  (spec line 255)
            PipeBarrier<PIPE_V>();
            Muls(score, score, float(tiling_.qkScale), span);
            // Lanes after the last key are excluded from the maximum, and from the sum.
            if (keys % kRepeatLanes != 0) {
                PipeBarrier<PIPE_V>();
                FillLanes(score[keys / kRepeatLanes * kRepeatLanes], keys % kRepeatLanes,
                    -__builtin_inff(), stepRows, kTileKeys);
            }
            // newMax = max(rowMax, row maximum of the tile); rescale = rowMax - newMax
            Duplicate(lanes_, float(kLowest), stepRows * kFoldedLanes);
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
            // each row's sum folded to 8 lanes, reduced once after the loop
            Duplicate(lanes_, 0.0f, stepRows * kFoldedLanes);
            PipeBarrier<PIPE_V>();
            SumOfBlocks(lanes_, score, stepRows, keys, kFoldedLanes, kTileKeys);
            PipeBarrier<PIPE_V>();
            SumOfBlocks(sumBlocks_[r0 * kBlockLanes], lanes_, stepRows, kRepeatLanes, kBlockLanes,
                kFoldedLanes);
            // prob = clip(round(score / step), -128, 127)
            for (int64_t row = 0; row < stepRows; ++row) {
                const int64_t head = work.firstHead + (rowBegin + r0 + row) % work.heads;
                for (int64_t copy = 0; copy < 128; copy += kRepeatLanes) {
                    Duplicate(rowBlocks_[row / 8 * 128 + row % 8 * kBlockLanes + copy],
                        float(pScaleGm_.GetValue(head * tiling_.pScaleStrideN) == 0
                            ? 1.0f
                            : pScaleGm_.GetValue(head * tiling_.pScaleStrideN)),
                        kBlockLanes);
                }
            }
            PipeBarrier<PIPE_V>();
            DivRows<2>(score, rowBlocks_, stepRows, keys, kTileKeys);
            PipeBarrier<PIPE_V>();
            Cast(score, score, RoundMode::CAST_RINT, span);
            PipeBarrier<PIPE_V>();
            Maxs(score, score, -128.0f, span);
            PipeBarrier<PIPE_V>();
            Mins(score, score, 127.0f, span);
            PipeBarrier<PIPE_V>();
            Cast(probHalf_, score, RoundMode::CAST_RINT, span);
            WaitFlag<HardEvent::MTE3_V>(kProbFree);
            PipeBarrier<PIPE_V>();
            Cast(prob_, probHalf_, RoundMode::CAST_RINT, span);
            SetAndWaitFlag<HardEvent::V_MTE3>(kProbReady);
            StoreRows(probRingGm_[(slot * tiling_.rowsPerTask + rowBegin + r0) * kTileKeys], prob_,
                stepRows, keys, kTileKeys, kTileKeys);
            SetFlag<HardEvent::MTE3_V>(kProbFree);
            SetFlag<HardEvent::V_MTE2>(kWholeScoreFree + wholeScoreSlot_);
            wholeScoreSlot_ = (wholeScoreSlot_ + 1) % kDoubleBuffer;
        }
        // Without rows the loop does not order MTE2 before MTE3; the flag below needs that order.
        if (rows <= 0) {
            // After the flag below the other core may overwrite what MTE2 works on, so MTE3 waits
            // for it; MTE2 waits back, so that the event is not set twice.
            SetAndWaitFlag<HardEvent::MTE2_MTE3>(kProbRingReadyMTE2Done);
            SetAndWaitFlag<HardEvent::MTE3_MTE2>(kProbRingReadyMTE2Taken);
        }
        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kProbRingReady);
        // rowSum = rowSum * rescale + row sum of the tile
        if (rows > 0) {
            PipeBarrier<PIPE_V>();
            SumOfBlocks(tileSum_, sumBlocks_, CeilDiv(rows, kBlockLanes), kRepeatLanes, kBlockLanes,
                kRepeatLanes);
            Mul(rowSum_[itemSlot * kRowsPerVector], rowSum_[itemSlot * kRowsPerVector],
                rescale_[slot * kRowsPerVector], rows);
            PipeBarrier<PIPE_V>();
            Add(rowSum_[itemSlot * kRowsPerVector], rowSum_[itemSlot * kRowsPerVector], tileSum_,
                rows);
        }
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
    __aicore__ inline void UpdateTile(const Item &work, int64_t slot, int64_t rowBegin,
        int64_t rows)
    {
        CrossCoreWaitFlag(kOutRingReady);
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);
            auto wholePartial =
                View<int32_t>(ub_, kWholePartialAt + wholePartialSlot_ * kWholePartialSlotBytes);
            WaitFlag<HardEvent::V_MTE2>(kWholePartialFree + wholePartialSlot_);
            {
                auto partial = View<float>(ub_, kPartialAt + partialSlot_ * kPartialSlotBytes);
                LoadRow(wholePartial,
                    outRingGm_[(slot * tiling_.rowsPerTask + rowBegin + r0) * kPaddedValueSize],
                    stepRows * kPaddedValueSize);
                SetAndWaitFlag<HardEvent::MTE2_V>(kWholePartialReady + wholePartialSlot_);
                Cast(partial, wholePartial, RoundMode::CAST_RINT, stepRows * kPaddedValueSize);
                // partial = partial * step
                for (int64_t row = 0; row < stepRows; ++row) {
                    const int64_t head = work.firstHead + (rowBegin + r0 + row) % work.heads;
                    for (int64_t copy = 0; copy < 128; copy += kRepeatLanes) {
                        Duplicate(rowBlocks_[row / 8 * 128 + row % 8 * kBlockLanes + copy],
                            float(pScaleGm_.GetValue(head * tiling_.pScaleStrideN) == 0
                                ? 1.0f
                                : pScaleGm_.GetValue(head * tiling_.pScaleStrideN)),
                            kBlockLanes);
                    }
                }
                PipeBarrier<PIPE_V>();
                MulRows<2>(partial, rowBlocks_, stepRows, kPaddedValueSize, kPaddedValueSize);
                // accumulator = accumulator * rescale + partial
                PipeBarrier<PIPE_V>();
                SpreadOverBlocks<2>(rowBlocks_, rescale_[slot * kRowsPerVector + r0], kRowsPerStep);
                PipeBarrier<PIPE_V>();
                MulRows<2>(accumulator_[r0 * kPaddedValueSize], rowBlocks_, stepRows,
                    kPaddedValueSize, kPaddedValueSize);
                PipeBarrier<PIPE_V>();
                Add(accumulator_[r0 * kPaddedValueSize], accumulator_[r0 * kPaddedValueSize],
                    partial, stepRows * kPaddedValueSize);
                partialSlot_ = (partialSlot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::V_MTE2>(kWholePartialFree + wholePartialSlot_);
            wholePartialSlot_ = (wholePartialSlot_ + 1) % kDoubleBuffer;
        }
    }

    // Rows of a finished item: normalized, to the output.
    __aicore__ inline void WriteRows(const Item &work, int64_t itemSlot, int64_t rowBegin,
        int64_t rows)
    {
        // rows are stored by runs: the positions of a single head, or the heads of each
        const int64_t runLength = work.heads == 1 ? rowBegin + rows : work.heads;
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);
            // result = accumulator / rowSum; a row without keys has sum 0 and gives zeros
            PipeBarrier<PIPE_V>();
            Maxs(rowSum_[r0 + itemSlot * kRowsPerVector], rowSum_[r0 + itemSlot * kRowsPerVector],
                float(kSmallest), stepRows);
            PipeBarrier<PIPE_V>();
            SpreadOverBlocks<2>(rowBlocks_, rowSum_[r0 + itemSlot * kRowsPerVector], kRowsPerStep);
            PipeBarrier<PIPE_V>();
            DivRows<2>(accumulator_[r0 * kPaddedValueSize], rowBlocks_, stepRows, kPaddedValueSize,
                kPaddedValueSize);
            // result = result * a factor of its head  (spec line 564)
            PipeBarrier<PIPE_V>();
            for (int64_t row = 0; row < stepRows; ++row) {
                const int64_t head = work.firstHead + (rowBegin + r0 + row) % work.heads;
                Muls(accumulator_[r0 * kPaddedValueSize + row * kPaddedValueSize],
                    accumulator_[r0 * kPaddedValueSize + row * kPaddedValueSize],
                    float(vpvDescaleGm_.GetValue(head * tiling_.vpvDescaleStrideN)),
                    kPaddedValueSize);
            }
            auto result = View<half>(ub_, kResultAt + resultSlot_ * kResultSlotBytes);
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
    }

    SelfAttentionPaEncoderTiling tiling_{};

    // The next slot of each multi-buffered tensor
    uint32_t queryL1Slot_ = 0, leftL0Slot_ = 0, productL0Slot_ = 0, keyL1Slot_ = 0;
    uint32_t rightL0Slot_ = 0, probL1Slot_ = 0, valueL1Slot_ = 0, wholeScoreSlot_ = 0;
    uint32_t wholePartialSlot_ = 0, partialSlot_ = 0, resultSlot_ = 0;

    // Running sums: the end of the range, and the sum up to it
    int64_t rowsBeforeEnd_ = 0, rowsBeforeSum_ = 0;
    int64_t keysBeforeEnd_ = 0, keysBeforeSum_ = 0;

    // The steps and items that have begun; the scalars of the last steps, and their items
    int64_t stepsBegun_ = 0, itemsBegun_ = 0;
    struct CubeStep {
        int64_t tile, keyStart, rowFractals, itemSlot;
    } cubeSteps_[kRing]{};
    struct VectorStep {
        int64_t tile, rows, rowBegin, itemSlot;
    } vectorSteps_[kRing]{};
    // An item keeps its place until its last step is finished. When one is decoded, at most
    // kPrefetch others have a step that is not: it takes a place that none of these has.
    Item items_[kRing];

    // Global memory
    GlobalTensor<int8_t> queryGm_;
    GlobalTensor<int8_t> keyGm_;
    GlobalTensor<int8_t> valueGm_;
    GlobalTensor<int64_t> seqLenGm_;
    GlobalTensor<float> qkDescaleGm_;
    GlobalTensor<float> vpvDescaleGm_;
    GlobalTensor<float> pScaleGm_;
    GlobalTensor<half> outputGm_;
    GlobalTensor<int32_t> scoreRingGm_;  // ring of score tiles, cube to vector
    GlobalTensor<int8_t> probRingGm_;  // ring of probability tiles, vector to cube
    GlobalTensor<int32_t> outRingGm_;  // ring of weighted sums, cube to vector

    // On-chip buffers with a single slot
    LocalTensor<float> rowMax_, rowSum_, lanes_, rowBlocks_, tileStat_, newMax_, rescale_;
    LocalTensor<float> sumBlocks_, tileSum_, accumulator_;
    LocalTensor<int8_t> prob_;
    LocalTensor<half> probHalf_;
};

// namespace
// self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE
}

// ATTNDSL_SELF_ATTENTION_PA_ENCODER_INT8_D128_E128_VALUE_QKDESCALE_VPVDESCALE_PSCALE_QUANTTYPE_QKV_OFFLINE_H
#endif
