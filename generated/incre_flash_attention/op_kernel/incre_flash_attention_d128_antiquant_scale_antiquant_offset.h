/*
 * incre_flash_attention_d128_antiquant_scale_antiquant_offset
 * Attention of one new query token a batch row over its cached keys and values.
 *
 * Contract: mindspore.ops.incre_flash_attention
 * Spec: incre_flash_attention.py; "spec line" in a comment is a line of it.
 * Specialized on
 *   dtype T of query, antiquant_scale, antiquant_offset, attention_out: float16 or bfloat16
 *   head size D from 113 to 128
 *   with antiquant_scale, antiquant_offset
 * Batch, heads, lengths and strides are run-time values.
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Step t, the cube running ahead:
 *   AIV  StartRows     tile t              first tile of an item
 *   AIV  WidenKeys     tile t              sets kKeyRingReady
 *   AIC  ScoreTile     tile t - kWidenLead waits for kKeyRingReady, sets kScoreRingReady
 *   AIV  SoftmaxTile   tile t - kWidenLead waits for kScoreRingReady, sets kProbRingReady
 *   AIV  WidenValues   tile t - kWidenLead sets kValueRingReady
 *   AIC  WeightedTile  tile t - kPrefetch  waits for kProbRingReady, waits for kValueRingReady,
 *                                          sets kOutRingReady
 *   AIV  StartSums     tile t - kPrefetch  first tile of an item
 *   AIV  UpdateTile    tile t - kPrefetch  waits for kOutRingReady
 *   AIV  ScaleSums     tile t - kPrefetch  last tile of an item
 *   AIV  WriteRows     tile t - kPrefetch  last tile of an item
 *
 * Written by attndsl from the operator's spec. Every event, barrier and flag is explicit: the
 * kernel does not rely on the compiler's automatic synchronization.
 */
#ifndef ATTNDSL_INCRE_FLASH_ATTENTION_D128_ANTIQUANT_SCALE_ANTIQUANT_OFFSET_H
#define ATTNDSL_INCRE_FLASH_ATTENTION_D128_ANTIQUANT_SCALE_ANTIQUANT_OFFSET_H

#include "kernel_operator.h"
#include "attndsl_kernel.h"
#include "incre_flash_attention_d128_antiquant_scale_antiquant_offset_schedule.h"
#include "incre_flash_attention_tiling.h"

namespace incre_flash_attention_d128_antiquant_scale_antiquant_offset {

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
constexpr int32_t kQueryL1Free = 2;  // MTE1_MTE2, queryL1: one id per slot
constexpr int32_t kValueL1Free = 4;  // MTE1_MTE2, valueL1: one id per slot
constexpr int32_t kProbL1Free = 6;  // MTE1_MTE2, probL1: one id per slot
constexpr int32_t kQueryL1Ready = 0;  // MTE2_MTE1, queryL1: one id per slot
constexpr int32_t kKeyL1Ready = 2;  // MTE2_MTE1, keyL1: one id per slot
// MTE2_MTE1, valueL1 and, loaded before it by the same pipe, probL1: one id per slot
constexpr int32_t kValueL1Ready = 4;
constexpr int32_t kKeyRingReadyMTE2Done = 0;  // MTE2_MTE3
constexpr int32_t kChannelNumbersReady = 0;  // MTE2_V, channelNumbers
constexpr int32_t kQueryRowsReady = 1;  // MTE2_V, queryRows
constexpr int32_t kInt8RowsReady = 2;  // MTE2_V, int8Rows: one id per slot
constexpr int32_t kScoreReady = 4;  // MTE2_V, score: one id per slot
constexpr int32_t kPartialReady = 6;  // MTE2_V, partial
constexpr int32_t kPartMaxReady = 7;  // MTE2_V, partMax, partSum, partial
constexpr int32_t kKeyRingReadyMTE2Taken = 0;  // MTE3_MTE2
constexpr int32_t kAbsorbedRowsFree = 0;  // MTE3_V, absorbedRows
constexpr int32_t kWideRowsFree = 1;  // MTE3_V, wideRows: one id per slot
constexpr int32_t kProbFree = 3;  // MTE3_V, prob
constexpr int32_t kResultFree = 4;  // MTE3_V, result
constexpr int32_t kMaxOutFree = 5;  // MTE3_V, maxOut, sumOut, rowsOut
constexpr int32_t kProductL0Ready = 0;  // M_FIX, productL0: one id per slot
constexpr int32_t kRightL0Free = 0;  // M_MTE1, rightL0: one id per slot
constexpr int32_t kLeftL0Free = 2;  // M_MTE1, leftL0: one id per slot
constexpr int32_t kChannelNumbersFree = 0;  // V_MTE2, channelNumbers
constexpr int32_t kQueryRowsFree = 1;  // V_MTE2, queryRows
constexpr int32_t kInt8RowsFree = 2;  // V_MTE2, int8Rows: one id per slot
constexpr int32_t kScoreFree = 4;  // V_MTE2, score: one id per slot
constexpr int32_t kPartialFree = 6;  // V_MTE2, partial
constexpr int32_t kAbsorbedRowsReady = 0;  // V_MTE3, absorbedRows
constexpr int32_t kWideRowsReady = 1;  // V_MTE3, wideRows: one id per slot
constexpr int32_t kProbReady = 3;  // V_MTE3, prob
constexpr int32_t kResultReady = 4;  // V_MTE3, result
constexpr int32_t kMaxOutReady = 5;  // V_MTE3, maxOut, sumOut, rowsOut

// Cross-core flags. Ready: a slot of the ring is written. Before: all cores of a kind have done
// what comes before a stage. None says that a slot is free: in the order of the stages it is read
// before it is written again.
constexpr uint16_t kKeyRingReady = 0;
constexpr uint16_t kScoreRingReady = 1;
constexpr uint16_t kProbRingReady = 2;
constexpr uint16_t kValueRingReady = 3;
constexpr uint16_t kOutRingReady = 4;
constexpr uint16_t kBeforeMergePartials = 5;

template <typename T>
class IncreFlashAttentionKernel : attndsl::KernelBase {
public:
    // Arguments: tensors in the contract's order, the user's part of the workspace, the tiling
    // data.
    __aicore__ inline void Run(GM_ADDR query, GM_ADDR key, GM_ADDR value,
        GM_ADDR actual_seq_lengths, GM_ADDR antiquant_scale, GM_ADDR antiquant_offset,
        GM_ADDR attention_out, GM_ADDR workspace, const IncreFlashAttentionTiling &tiling)
    {
        TPipe pipe;
        tiling_ = tiling;
        FindCore();
        Bind(queryGm_, query);
        Bind(keyGm_, key);
        Bind(valueGm_, value);
        Bind(actualSeqLengthsGm_, actual_seq_lengths);
        Bind(antiquantScaleGm_, antiquant_scale);
        Bind(antiquantOffsetGm_, antiquant_offset);
        Bind(attentionOutGm_, attention_out);
        Bind(partialMaxGm_, workspace + tiling_.partialMaxOffset);
        Bind(partialSumGm_, workspace + tiling_.partialSumOffset);
        Bind(partialOutGm_, workspace + tiling_.partialOutOffset);
        Bind(keyRingGm_, workspace + tiling_.keyRingOffset + blockIndex_ * tiling_.keyRingPart);
        Bind(absorbedQueryGm_,
            workspace + tiling_.absorbedQueryOffset + blockIndex_ * tiling_.absorbedQueryPart);
        Bind(scoreRingGm_,
            workspace + tiling_.scoreRingOffset + blockIndex_ * tiling_.scoreRingPart);
        Bind(probRingGm_, workspace + tiling_.probRingOffset + blockIndex_ * tiling_.probRingPart);
        Bind(valueRingGm_,
            workspace + tiling_.valueRingOffset + blockIndex_ * tiling_.valueRingPart);
        Bind(outRingGm_, workspace + tiling_.outRingOffset + blockIndex_ * tiling_.outRingPart);
        if ASCEND_IS_AIC {
            TakeCubeMemories(pipe, kL1End, kL0aEnd, kL0bEnd, kL0cEnd);
        }
        if ASCEND_IS_AIV {
            TakeVectorMemory(pipe, kUbEnd);
            accumulator_ = View<float>(ub_, kAccumulatorAt);
            prob_ = View<half>(ub_, kProbAt);
            rowsOut_ = View<float>(ub_, kRowsOutAt);
            queryRows_ = View<T>(ub_, kQueryRowsAt);
            lanes_ = View<float>(ub_, kLanesAt);
            absorbedRows_ = View<half>(ub_, kAbsorbedRowsAt);
            result_ = View<T>(ub_, kResultAt);
            keyScale_ = View<float>(ub_, kKeyScaleAt);
            keyOffset_ = View<float>(ub_, kKeyOffsetAt);
            valueOffset_ = View<float>(ub_, kValueOffsetAt);
            channelRows_ = View<float>(ub_, kChannelRowsAt);
            partial_ = View<float>(ub_, kPartialAt);
            rowBlocks_ = View<float>(ub_, kRowBlocksAt);
            valueScale_ = View<float>(ub_, kValueScaleAt);
            rowMax_ = View<float>(ub_, kRowMaxAt);
            rowSum_ = View<float>(ub_, kRowSumAt);
            channelNumbers_ = View<T>(ub_, kChannelNumbersAt);
            queryFactor_ = View<float>(ub_, kQueryFactorAt);
            queryShift_ = View<float>(ub_, kQueryShiftAt);
            tileStat_ = View<float>(ub_, kTileStatAt);
            newMax_ = View<float>(ub_, kNewMaxAt);
            rescale_ = View<float>(ub_, kRescaleAt);
            maxOut_ = View<float>(ub_, kMaxOutAt);
            sumOut_ = View<float>(ub_, kSumOutAt);
            mergedMax_ = View<float>(ub_, kMergedMaxAt);
            mergedSum_ = View<float>(ub_, kMergedSumAt);
            partMax_ = View<float>(ub_, kPartMaxAt);
            partSum_ = View<float>(ub_, kPartSumAt);
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
            SetFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + slot);
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
            for (int64_t tile = 0; tile < work.steps; ++tile) {
                const int64_t slot = stepsBegun_++ % kRing;
                itemsBegun_ += tile == 0;
                cubeSteps_[slot].tile = tile;
                cubeSteps_[slot].itemSlot = itemSlot;
                cubeSteps_[slot].rowFractals = rowFractals;
                if (stepsBegun_ > kWidenLead) {
                    const int64_t earlierSlot = (slot + kRing - kWidenLead) % kRing;
                    const CubeStep &earlier = cubeSteps_[earlierSlot];
                    const Item &earlierWork = items_[earlier.itemSlot];
                    if (earlier.tile < earlierWork.tiles) {
                        ScoreTile(earlierWork, earlier.rowFractals, earlier.tile, earlierSlot,
                            earlier.itemSlot);
                    }
                }
                if (stepsBegun_ > kPrefetch) {
                    const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;
                    const CubeStep &earlier = cubeSteps_[earlierSlot];
                    const Item &earlierWork = items_[earlier.itemSlot];
                    if (earlier.tile < earlierWork.tiles) {
                        WeightedTile(earlierWork, earlier.rowFractals, earlier.tile, earlierSlot);
                    }
                }
            }
        }
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            WaitFlag<HardEvent::M_MTE1>(kRightL0Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + slot);
            WaitFlag<HardEvent::FIX_M>(kProductL0Free + slot);
            WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + slot);
        }
    }

    __aicore__ inline void RunVector()
    {
        SetFlag<HardEvent::V_MTE2>(kChannelNumbersFree);
        SetFlag<HardEvent::V_MTE2>(kQueryRowsFree);
        SetFlag<HardEvent::MTE3_V>(kAbsorbedRowsFree);
        SetFlag<HardEvent::MTE3_V>(kWideRowsFree);
        SetFlag<HardEvent::MTE3_V>(kWideRowsFree + 1);
        SetFlag<HardEvent::V_MTE2>(kInt8RowsFree);
        SetFlag<HardEvent::V_MTE2>(kInt8RowsFree + 1);
        SetFlag<HardEvent::MTE3_V>(kProbFree);
        SetFlag<HardEvent::V_MTE2>(kScoreFree);
        SetFlag<HardEvent::V_MTE2>(kScoreFree + 1);
        SetFlag<HardEvent::V_MTE2>(kPartialFree);
        SetFlag<HardEvent::MTE3_V>(kResultFree);
        SetFlag<HardEvent::MTE3_V>(kMaxOutFree);
        // One turn more than the block has items: it drains the pipeline. The plan launches no more
        // blocks than there are items; without items there is no turn.
        const int64_t turnsEnd = tiling_.items + MinOf(tiling_.items, blockCount_);
        for (int64_t turn = blockIndex_; turn < turnsEnd; turn += blockCount_) {
            // The item takes this place when its first step begins.
            const int64_t itemSlot = (itemsBegun_ + 1) % kRing;
            items_[itemSlot] = DecodeItem(turn);
            const Item &work = items_[itemSlot];
            const int64_t kvHead = work.task / tiling_.headTiles % tiling_.kvHeads;
            const int64_t firstHead = kvHead * tiling_.group + work.headTile * tiling_.headsPerTask;
            const int64_t rowsPerCore = CeilDiv(work.taskRows, kVectorCores);
            const int64_t rowBegin = MinOf(subBlock_ * rowsPerCore, work.taskRows);
            const int64_t rows = MinOf(rowsPerCore, work.taskRows - rowBegin);
            for (int64_t tile = 0; tile < work.steps; ++tile) {
                const int64_t slot = stepsBegun_++ % kRing;
                itemsBegun_ += tile == 0;
                vectorSteps_[slot].tile = tile;
                vectorSteps_[slot].rows = rows;
                vectorSteps_[slot].firstHead = firstHead;
                vectorSteps_[slot].rowBegin = rowBegin;
                vectorSteps_[slot].itemSlot = itemSlot;
                vectorSteps_[slot].kvHead = kvHead;
                if (tile == 0) {
                    StartRows(itemSlot, rows);
                }
                if (tile < work.tiles) {
                    WidenKeys(work, tile, slot, itemSlot, kvHead, firstHead, rowBegin, rows);
                }
                if (stepsBegun_ > kWidenLead) {
                    const int64_t earlierSlot = (slot + kRing - kWidenLead) % kRing;
                    const VectorStep &earlier = vectorSteps_[earlierSlot];
                    const Item &earlierWork = items_[earlier.itemSlot];
                    if (earlier.tile < earlierWork.tiles) {
                        SoftmaxTile(earlierWork, earlier.tile, earlierSlot, earlier.itemSlot,
                            earlier.rowBegin, earlier.rows);
                        WidenValues(earlierWork, earlier.tile, earlierSlot, earlier.kvHead);
                    }
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
                        ScaleSums(earlier.itemSlot, earlier.kvHead, earlier.rows);
                        WriteRows(earlierWork, earlier.itemSlot, earlier.firstHead,
                            earlier.rowBegin, earlier.rows);
                    }
                }
            }
        }
        if (tiling_.splits > 1) {
            MergePartials();
        }
        WaitFlag<HardEvent::V_MTE2>(kChannelNumbersFree);
        WaitFlag<HardEvent::V_MTE2>(kQueryRowsFree);
        WaitFlag<HardEvent::MTE3_V>(kAbsorbedRowsFree);
        WaitFlag<HardEvent::MTE3_V>(kWideRowsFree);
        WaitFlag<HardEvent::MTE3_V>(kWideRowsFree + 1);
        WaitFlag<HardEvent::V_MTE2>(kInt8RowsFree);
        WaitFlag<HardEvent::V_MTE2>(kInt8RowsFree + 1);
        WaitFlag<HardEvent::MTE3_V>(kProbFree);
        WaitFlag<HardEvent::V_MTE2>(kScoreFree);
        WaitFlag<HardEvent::V_MTE2>(kScoreFree + 1);
        WaitFlag<HardEvent::V_MTE2>(kPartialFree);
        WaitFlag<HardEvent::MTE3_V>(kResultFree);
        WaitFlag<HardEvent::MTE3_V>(kMaxOutFree);
    }

    // An item as cube and vector cores see it: its rows, heads and tiles of keys.
    struct Item {
        int64_t split;  // its part of the keys of the task
        int64_t task;  // its task: heads, positions and batch row, with all keys
        int64_t headTile;  // task % headTiles
        int64_t batch;  // batch row
        int64_t taskRows;  // query rows of the task
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
        found.task = item % tiling_.tasks;
        // heads of one key/value head come in turn: cores share its keys and values in L2
        found.headTile = found.task % tiling_.headTiles;
        found.batch = found.task / (tiling_.headTiles * tiling_.kvHeads);
        const int64_t heads =
            MinOf(tiling_.headsPerTask, tiling_.group - found.headTile * tiling_.headsPerTask);
        found.taskRows = heads;
        const int64_t visibleEnd =
            tiling_.actualSeqLengthsCount == 0
                ? tiling_.keyCapacity
                : MinOf(actualSeqLengthsGm_.GetValue(MinOf(found.batch,
                    tiling_.actualSeqLengthsCount - 1)),
                    tiling_.keyCapacity);
        found.keyEnd = turn >= tiling_.items ? 0 : visibleEnd;
        const int64_t tileTotal = CeilDiv(found.keyEnd, kTileKeys);
        const int64_t tilesPerSplit = CeilDiv(tileTotal, tiling_.splits);
        found.firstTile = MinOf(found.split * tilesPerSplit, tileTotal);
        found.tiles = MinOf(tilesPerSplit, tileTotal - found.firstTile);
        found.steps = turn >= tiling_.items ? kPrefetch : MaxOf(found.tiles, 1);
        return found;
    }

    // A row of a slot of a workspace ring, counted from the first of the first slot.
    __aicore__ inline int64_t RingRow(int64_t slot, int64_t row)
    {
        return slot * tiling_.rowsPerTask + row;
    }

    // Scores of one key tile, query times keys transposed, to their ring slot.
    __aicore__ inline void ScoreTile(const Item &work, int64_t rowFractals, int64_t tile,
        int64_t slot, int64_t itemSlot)
    {
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        CrossCoreWaitFlag(kKeyRingReady);
        {
            auto queryL1 = View<half>(l1_, kQueryL1At + queryL1Slot_ * kQueryL1SlotBytes);
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + queryL1Slot_);
            LoadNz(queryL1, absorbedQueryGm_[itemSlot * tiling_.rowsPerTask * kPaddedHeadSize],
                work.taskRows, tiling_.headDim, kPaddedHeadSize, rowFractals * kFractal);
            SetAndWaitFlag<HardEvent::MTE2_MTE1>(kQueryL1Ready + queryL1Slot_);
            {
                auto leftL0 = View<half>(l0a_, kLeftL0At + leftL0Slot_ * kLeftL0SlotBytes);
                WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                LoadLeft(leftL0, queryL1, rowFractals, CeilDiv(kPaddedHeadSize, kFractal),
                    rowFractals);
                for (int64_t n0 = 0; n0 < keys; n0 += kBaseN) {
                    const int64_t cols = MinOf(kBaseN, keys - n0);
                    auto productL0 =
                        View<float>(l0c_, kProductL0At + productL0Slot_ * kProductL0SlotBytes);
                    WaitFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                    {
                        auto keyL1 = View<half>(l1_, kKeyL1At + keyL1Slot_ * kKeyL1SlotBytes);
                        // to L1, whose order of fractals it has already, then to L0A and L0B
                        WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + keyL1Slot_);
                        LoadBlocks(keyL1,
                            keyRingGm_[slot * kTileKeys * kPaddedHeadSize + n0 * kFractal],
                            CeilDiv(tiling_.headDim, kFractal), cols * kFractal,
                            kTileKeys * kFractal, RoundUp(cols, kFractal) * kFractal);
                        SetAndWaitFlag<HardEvent::MTE2_MTE1>(kKeyL1Ready + keyL1Slot_);
                        {
                            auto rightL0 =
                                View<half>(l0b_, kRightL0At + rightL0Slot_ * kRightL0SlotBytes);
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
                    StoreProduct(scoreRingGm_[slot * tiling_.rowsPerTask * kTileKeys + n0],
                        productL0, work.taskRows, RoundUp(cols, kFractal), kTileKeys,
                        rowFractals * kFractal);
                    SetFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                    productL0Slot_ = (productL0Slot_ + 1) % kDoubleBuffer;
                }
                SetFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                leftL0Slot_ = (leftL0Slot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + queryL1Slot_);
            queryL1Slot_ = (queryL1Slot_ + 1) % kDoubleBuffer;
        }
        CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kScoreRingReady);
    }

    // Weighted sum of one tile's values, probabilities times values, to its ring slot.
    __aicore__ inline void WeightedTile(const Item &work, int64_t rowFractals, int64_t tile,
        int64_t slot)
    {
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        CrossCoreWaitFlag(kProbRingReady);
        CrossCoreWaitFlag(kValueRingReady);
        {
            auto probL1 = View<half>(l1_, kProbL1At + probL1Slot_ * kProbL1SlotBytes);
            WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
            LoadNz(probL1, probRingGm_[slot * tiling_.rowsPerTask * kTileKeys], work.taskRows, keys,
                kTileKeys, rowFractals * kFractal);
            {
                auto productL0 =
                    View<float>(l0c_, kProductL0At + productL0Slot_ * kProductL0SlotBytes);
                WaitFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                for (int64_t k0 = 0; k0 < keys; k0 += kBaseK) {
                    const int64_t depth = MinOf(kBaseK, keys - k0);
                    auto valueL1 = View<half>(l1_, kValueL1At + valueL1Slot_ * kValueL1SlotBytes);
                    // to L1, whose order of fractals it has already, then to L0A and L0B
                    WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
                    LoadBlocks(valueL1,
                        valueRingGm_[slot * kTileKeys * kPaddedHeadSize + k0 * kFractal],
                        CeilDiv(tiling_.headDim, kFractal), depth * kFractal, kTileKeys * kFractal,
                        RoundUp(depth, kFractal) * kFractal);
                    SetAndWaitFlag<HardEvent::MTE2_MTE1>(kValueL1Ready + valueL1Slot_);
                    {
                        auto leftL0 = View<half>(l0a_, kLeftL0At + leftL0Slot_ * kLeftL0SlotBytes);
                        const int64_t depthFractals = CeilDiv(depth, kFractal);
                        const int64_t columnFractals = CeilDiv(kPaddedHeadSize, kFractal);
                        WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                        LoadLeft(leftL0,
                            probL1[k0 / kFractal * rowFractals * (kFractal * kFractal)],
                            rowFractals, depthFractals, rowFractals);
                        {
                            auto rightL0 =
                                View<half>(l0b_, kRightL0At + rightL0Slot_ * kRightL0SlotBytes);
                            WaitFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                            LoadTransposed(rightL0, valueL1, depthFractals, columnFractals,
                                depthFractals);
                            SetAndWaitFlag<HardEvent::MTE1_M>(kRightL0Ready + rightL0Slot_);
                            // hardware orders Mmad into the same L0C only from 10 fractals on
                            if (rowFractals * kFractal * kPaddedHeadSize
                                < kOrderedFractals * kFractal * kFractal) {
                                PipeBarrier<PIPE_M>();
                            }
                            Mmad(productL0, leftL0, rightL0,
                                ProductParams(rowFractals * kFractal, kPaddedHeadSize, depth,
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
                StoreProduct(outRingGm_[slot * tiling_.rowsPerTask * kPaddedHeadSize], productL0,
                    work.taskRows, kPaddedHeadSize, kPaddedHeadSize, rowFractals * kFractal);
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

    // One tile of key from int8 to float16, for the cube to load. Before the first, the query rows
    // take the scale of its channels.
    __aicore__ inline void WidenKeys(const Item &work, int64_t tile, int64_t slot, int64_t itemSlot,
        int64_t kvHead, int64_t firstHead, int64_t rowBegin, int64_t rows)
    {
        if (tile == 0) {
            WaitFlag<HardEvent::V_MTE2>(kChannelNumbersFree);
            LoadRow(channelNumbers_, antiquantScaleGm_[kvHead * tiling_.antiquantScaleStrideK],
                tiling_.headDim);
            SetAndWaitFlag<HardEvent::MTE2_V>(kChannelNumbersReady);
            Cast(keyScale_, channelNumbers_, RoundMode::CAST_NONE, 128);
            SetFlag<HardEvent::V_MTE2>(kChannelNumbersFree);
            WaitFlag<HardEvent::V_MTE2>(kChannelNumbersFree);
            LoadRow(channelNumbers_, antiquantOffsetGm_[kvHead * tiling_.antiquantOffsetStrideK],
                tiling_.headDim);
            SetAndWaitFlag<HardEvent::MTE2_V>(kChannelNumbersReady);
            Cast(keyOffset_, channelNumbers_, RoundMode::CAST_NONE, 128);
            SetFlag<HardEvent::V_MTE2>(kChannelNumbersFree);
            if (tiling_.headDim % kRepeatLanes != 0) {
                PipeBarrier<PIPE_V>();
                FillLanes(keyOffset_[tiling_.headDim / kRepeatLanes * kRepeatLanes],
                    tiling_.headDim % kRepeatLanes, 0.0f, 1, 128);
            }
            for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
                const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);
                const int64_t head = firstHead + rowBegin + r0;
                WaitFlag<HardEvent::V_MTE2>(kQueryRowsFree);
                LoadRows(queryRows_,
                    queryGm_[work.batch * tiling_.queryStrideB + head * tiling_.queryStrideN],
                    stepRows, tiling_.headDim, tiling_.queryStrideN, kPaddedHeadSize);
                SetFlag<HardEvent::MTE2_V>(kQueryRowsReady);
                // query * scale
                WaitFlag<HardEvent::MTE2_V>(kQueryRowsReady);
                for (int64_t row = 0; row < stepRows; ++row) {
                    Cast(channelRows_[row * 128], queryRows_[row * kPaddedHeadSize],
                        RoundMode::CAST_NONE, kPaddedHeadSize);
                    PipeBarrier<PIPE_V>();
                    Mul(channelRows_[row * 128], channelRows_[row * 128], keyScale_,
                        kPaddedHeadSize);
                }
                SetFlag<HardEvent::V_MTE2>(kQueryRowsFree);
                if (tiling_.headDim % kRepeatLanes != 0) {
                    PipeBarrier<PIPE_V>();
                    FillLanes(channelRows_[tiling_.headDim / kRepeatLanes * kRepeatLanes],
                        tiling_.headDim % kRepeatLanes, 0.0f, stepRows, 128);
                }
                // factor = max |query * scale|
                Duplicate(lanes_, float(kSmallest), stepRows * kRepeatLanes);
                for (int64_t c0 = 0; c0 < 128; c0 += kRepeatLanes) {
                    PipeBarrier<PIPE_V>();
                    Max(lanes_, lanes_, channelRows_[c0], kRepeatLanes, stepRows,
                        BinaryRepeatParams(1, 1, 1, kRepeatLanes / kBlockLanes,
                            kRepeatLanes / kBlockLanes, 16));
                }
                PipeBarrier<PIPE_V>();
                Muls(channelRows_, channelRows_, -1.0f, stepRows * 128);
                for (int64_t c0 = 0; c0 < 128; c0 += kRepeatLanes) {
                    PipeBarrier<PIPE_V>();
                    Max(lanes_, lanes_, channelRows_[c0], kRepeatLanes, stepRows,
                        BinaryRepeatParams(1, 1, 1, kRepeatLanes / kBlockLanes,
                            kRepeatLanes / kBlockLanes, 16));
                }
                PipeBarrier<PIPE_V>();
                Muls(channelRows_, channelRows_, -1.0f, stepRows * 128);
                WholeReduceMax(queryFactor_[r0 + itemSlot * kRowsPerVector], lanes_, kRepeatLanes,
                    stepRows, 1, 1, kRepeatLanes / kBlockLanes, ReduceOrder::ORDER_ONLY_VALUE);
                // factor: a power of two, so that scaling the queries is exact
                PipeBarrier<PIPE_V>();
                ShiftRight(queryFactor_[r0 + itemSlot * kRowsPerVector].ReinterpretCast<uint32_t>(),
                    queryFactor_[r0 + itemSlot * kRowsPerVector].ReinterpretCast<uint32_t>(),
                    uint32_t(23), stepRows);
                PipeBarrier<PIPE_V>();
                ShiftLeft(queryFactor_[r0 + itemSlot * kRowsPerVector].ReinterpretCast<uint32_t>(),
                    queryFactor_[r0 + itemSlot * kRowsPerVector].ReinterpretCast<uint32_t>(),
                    uint32_t(23), stepRows);
                // absorbed = query * scale / factor
                PipeBarrier<PIPE_V>();
                SpreadOverBlocks<2>(rowBlocks_, queryFactor_[r0 + itemSlot * kRowsPerVector],
                    kRowsPerStep);
                PipeBarrier<PIPE_V>();
                DivRows<2>(channelRows_, rowBlocks_, stepRows, 128, 128);
                WaitFlag<HardEvent::MTE3_V>(kAbsorbedRowsFree);
                PipeBarrier<PIPE_V>();
                Cast(absorbedRows_, channelRows_, RoundMode::CAST_RINT, stepRows * 128);
                SetAndWaitFlag<HardEvent::V_MTE3>(kAbsorbedRowsReady);
                StoreRows(absorbedQueryGm_[RingRow(itemSlot, rowBegin + r0) * kPaddedHeadSize],
                    absorbedRows_, stepRows, tiling_.headDim, kPaddedHeadSize, 128);
                SetFlag<HardEvent::MTE3_V>(kAbsorbedRowsFree);
                // shift = factor * sum(absorbed * offset)
                PipeBarrier<PIPE_V>();
                Cast(channelRows_, absorbedRows_, RoundMode::CAST_NONE, stepRows * 128);
                PipeBarrier<PIPE_V>();
                for (int64_t row = 0; row < stepRows; ++row) {
                    Mul(channelRows_[row * 128], channelRows_[row * 128], keyOffset_, 128);
                }
                Duplicate(lanes_, 0.0f, stepRows * kRepeatLanes);
                for (int64_t c0 = 0; c0 < 128; c0 += kRepeatLanes) {
                    PipeBarrier<PIPE_V>();
                    Add(lanes_, lanes_, channelRows_[c0], kRepeatLanes, stepRows,
                        BinaryRepeatParams(1, 1, 1, kRepeatLanes / kBlockLanes,
                            kRepeatLanes / kBlockLanes, 16));
                }
                PipeBarrier<PIPE_V>();
                WholeReduceSum(queryShift_[r0 + itemSlot * kRowsPerVector], lanes_, kRepeatLanes,
                    stepRows, 1, 1, kRepeatLanes / kBlockLanes);
                PipeBarrier<PIPE_V>();
                Mul(queryShift_[r0 + itemSlot * kRowsPerVector],
                    queryShift_[r0 + itemSlot * kRowsPerVector],
                    queryFactor_[r0 + itemSlot * kRowsPerVector], stepRows);
            }
        }
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t keyTile =
            work.batch * tiling_.keyStrideB + kvHead * tiling_.keyStrideK
                + firstKey * tiling_.keyStrideT;
        const int64_t keyBeginHere = MinOf(subBlock_ * CeilDiv(keys, kVectorCores), keys);
        const int64_t keyEndHere = MinOf(keyBeginHere + CeilDiv(keys, kVectorCores), keys);
        for (int64_t k0 = keyBeginHere; k0 < keyEndHere; k0 += kRowsPerWidening) {
            const int64_t count = MinOf(kRowsPerWidening, keyEndHere - k0);
            auto int8Rows = View<int8_t>(ub_, kInt8RowsAt + int8RowsSlot_ * kInt8RowsSlotBytes);
            WaitFlag<HardEvent::V_MTE2>(kInt8RowsFree + int8RowsSlot_);
            LoadRowsWithZeros(int8Rows, keyGm_[keyTile + k0 * tiling_.keyStrideT], count,
                tiling_.headDim, tiling_.keyStrideT, 128);
            SetAndWaitFlag<HardEvent::MTE2_V>(kInt8RowsReady + int8RowsSlot_);
            {
                auto wideRows = View<half>(ub_, kWideRowsAt + wideRowsSlot_ * kWideRowsSlotBytes);
                WaitFlag<HardEvent::MTE3_V>(kWideRowsFree + wideRowsSlot_);
                Cast(wideRows, int8Rows, RoundMode::CAST_NONE, 128, count,
                    UnaryRepeatParams((kRowsPerWidening + 1) * kFractal / kBlockHalves, 1, 1, 4));
                SetAndWaitFlag<HardEvent::V_MTE3>(kWideRowsReady + wideRowsSlot_);
                StoreRows(keyRingGm_[slot * kTileKeys * kPaddedHeadSize + k0 * kFractal], wideRows,
                    kPaddedHeadSize / kFractal, count * kFractal, kTileKeys * kFractal,
                    (kRowsPerWidening + 1) * kFractal);
                SetFlag<HardEvent::MTE3_V>(kWideRowsFree + wideRowsSlot_);
                wideRowsSlot_ = (wideRowsSlot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::V_MTE2>(kInt8RowsFree + int8RowsSlot_);
            int8RowsSlot_ = (int8RowsSlot_ + 1) % kDoubleBuffer;
        }
        // After the flag below the other core may overwrite what MTE2 works on, so MTE3 waits for
        // it; MTE2 waits back, so that the event is not set twice.
        SetAndWaitFlag<HardEvent::MTE2_MTE3>(kKeyRingReadyMTE2Done);
        SetAndWaitFlag<HardEvent::MTE3_MTE2>(kKeyRingReadyMTE2Taken);
        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kKeyRingReady);
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
            const int64_t span = (stepRows - 1) * kTileKeys + RoundUp(keys, kRepeatLanes);
            WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
            LoadRows(score, scoreRingGm_[RingRow(slot, rowBegin + r0) * kTileKeys], stepRows, keys,
                kTileKeys, kTileKeys);
            SetFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
            // score = score * queryFactor
            SpreadOverBlocks<2>(rowBlocks_, queryFactor_[r0 + itemSlot * kRowsPerVector],
                kRowsPerStep);
            WaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
            PipeBarrier<PIPE_V>();
            MulRows<2>(score, rowBlocks_, stepRows, keys, kTileKeys);
            // score = score + queryShift
            PipeBarrier<PIPE_V>();
            SpreadOverBlocks<2>(rowBlocks_, queryShift_[r0 + itemSlot * kRowsPerVector],
                kRowsPerStep);
            PipeBarrier<PIPE_V>();
            for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                Add(score[c0], score[c0], rowBlocks_[kRepeatLanes - c0 % (2 * kRepeatLanes)],
                    kRepeatLanes, stepRows,
                    BinaryRepeatParams(1, 1, 0, kTileKeys / kBlockLanes, kTileKeys / kBlockLanes,
                        1));
            }
            // score * scale_value  (spec line 168)
            PipeBarrier<PIPE_V>();
            Muls(score, score, float(tiling_.scaleValue), span);
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
            WaitFlag<HardEvent::MTE3_V>(kProbFree);
            PipeBarrier<PIPE_V>();
            Cast(prob_, score, RoundMode::CAST_RINT, span);
            SetFlag<HardEvent::V_MTE3>(kProbReady);
            PipeBarrier<PIPE_V>();
            Cast(score, prob_, RoundMode::CAST_NONE, span);
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
            WaitFlag<HardEvent::V_MTE3>(kProbReady);
            StoreRows(probRingGm_[RingRow(slot, rowBegin + r0) * kTileKeys], prob_, stepRows, keys,
                kTileKeys, kTileKeys);
            SetFlag<HardEvent::MTE3_V>(kProbFree);
            SetFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
            scoreSlot_ = (scoreSlot_ + 1) % kDoubleBuffer;
        }
        // After the flag below the other core may overwrite what MTE2 works on, so MTE3 waits for
        // it; MTE2 waits back, so that the event is not set twice.
        SetAndWaitFlag<HardEvent::MTE2_MTE3>(kKeyRingReadyMTE2Done);
        SetAndWaitFlag<HardEvent::MTE3_MTE2>(kKeyRingReadyMTE2Taken);
        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kProbRingReady);
    }

    // One tile of value from int8 to float16, for the cube to load.
    __aicore__ inline void WidenValues(const Item &work, int64_t tile, int64_t slot, int64_t kvHead)
    {
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t valueTile =
            work.batch * tiling_.valueStrideB + kvHead * tiling_.valueStrideK
                + firstKey * tiling_.valueStrideT;
        const int64_t keyBeginHere = MinOf(subBlock_ * CeilDiv(keys, kVectorCores), keys);
        const int64_t keyEndHere = MinOf(keyBeginHere + CeilDiv(keys, kVectorCores), keys);
        for (int64_t k0 = keyBeginHere; k0 < keyEndHere; k0 += kRowsPerWidening) {
            const int64_t count = MinOf(kRowsPerWidening, keyEndHere - k0);
            auto int8Rows = View<int8_t>(ub_, kInt8RowsAt + int8RowsSlot_ * kInt8RowsSlotBytes);
            WaitFlag<HardEvent::V_MTE2>(kInt8RowsFree + int8RowsSlot_);
            LoadRowsWithZeros(int8Rows, valueGm_[valueTile + k0 * tiling_.valueStrideT], count,
                tiling_.headDim, tiling_.valueStrideT, 128);
            SetAndWaitFlag<HardEvent::MTE2_V>(kInt8RowsReady + int8RowsSlot_);
            {
                auto wideRows = View<half>(ub_, kWideRowsAt + wideRowsSlot_ * kWideRowsSlotBytes);
                WaitFlag<HardEvent::MTE3_V>(kWideRowsFree + wideRowsSlot_);
                Cast(wideRows, int8Rows, RoundMode::CAST_NONE, 128, count,
                    UnaryRepeatParams((kRowsPerWidening + 1) * kFractal / kBlockHalves, 1, 1, 4));
                SetAndWaitFlag<HardEvent::V_MTE3>(kWideRowsReady + wideRowsSlot_);
                StoreRows(valueRingGm_[slot * kTileKeys * kPaddedHeadSize + k0 * kFractal],
                    wideRows, kPaddedHeadSize / kFractal, count * kFractal, kTileKeys * kFractal,
                    (kRowsPerWidening + 1) * kFractal);
                SetFlag<HardEvent::MTE3_V>(kWideRowsFree + wideRowsSlot_);
                wideRowsSlot_ = (wideRowsSlot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::V_MTE2>(kInt8RowsFree + int8RowsSlot_);
            int8RowsSlot_ = (int8RowsSlot_ + 1) % kDoubleBuffer;
        }
        // After the flag below the other core may overwrite what MTE2 works on, so MTE3 waits for
        // it; MTE2 waits back, so that the event is not set twice.
        SetAndWaitFlag<HardEvent::MTE2_MTE3>(kKeyRingReadyMTE2Done);
        SetAndWaitFlag<HardEvent::MTE3_MTE2>(kKeyRingReadyMTE2Taken);
        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kValueRingReady);
    }

    // Weighted sums begin with 0: the first tile is added like all others.
    __aicore__ inline void StartSums(int64_t rows)
    {
        if (rows > 0) {
            PipeBarrier<PIPE_V>();
            Duplicate(accumulator_, 0.0f, rows * kPaddedHeadSize);
        }
    }

    // Adds one tile's weighted sum to the running one, rescaled to the new maximum.
    __aicore__ inline void UpdateTile(int64_t slot, int64_t rowBegin, int64_t rows)
    {
        CrossCoreWaitFlag(kOutRingReady);
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);
            WaitFlag<HardEvent::V_MTE2>(kPartialFree);
            LoadRow(partial_, outRingGm_[RingRow(slot, rowBegin + r0) * kPaddedHeadSize],
                stepRows * kPaddedHeadSize);
            SetFlag<HardEvent::MTE2_V>(kPartialReady);
            // accumulator = accumulator * rescale + partial
            SpreadOverBlocks<2>(rowBlocks_, rescale_[slot * kRowsPerVector + r0], kRowsPerStep);
            PipeBarrier<PIPE_V>();
            MulRows<2>(accumulator_[r0 * kPaddedHeadSize], rowBlocks_, stepRows, kPaddedHeadSize,
                kPaddedHeadSize);
            WaitFlag<HardEvent::MTE2_V>(kPartialReady);
            PipeBarrier<PIPE_V>();
            Add(accumulator_[r0 * kPaddedHeadSize], accumulator_[r0 * kPaddedHeadSize], partial_,
                stepRows * kPaddedHeadSize);
            SetFlag<HardEvent::V_MTE2>(kPartialFree);
        }
    }

    // Dequantizes the weighted sums.
    __aicore__ inline void ScaleSums(int64_t itemSlot, int64_t kvHead, int64_t rows)
    {
        WaitFlag<HardEvent::V_MTE2>(kChannelNumbersFree);
        LoadRow(channelNumbers_,
            antiquantScaleGm_[kvHead * tiling_.antiquantScaleStrideK
                + tiling_.antiquantScaleStrideC],
            tiling_.headDim);
        SetAndWaitFlag<HardEvent::MTE2_V>(kChannelNumbersReady);
        PipeBarrier<PIPE_V>();
        Cast(valueScale_, channelNumbers_, RoundMode::CAST_NONE, 128);
        SetFlag<HardEvent::V_MTE2>(kChannelNumbersFree);
        WaitFlag<HardEvent::V_MTE2>(kChannelNumbersFree);
        LoadRow(channelNumbers_,
            antiquantOffsetGm_[kvHead * tiling_.antiquantOffsetStrideK
                + tiling_.antiquantOffsetStrideC],
            tiling_.headDim);
        SetAndWaitFlag<HardEvent::MTE2_V>(kChannelNumbersReady);
        Cast(valueOffset_, channelNumbers_, RoundMode::CAST_NONE, 128);
        SetFlag<HardEvent::V_MTE2>(kChannelNumbersFree);
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);
            // accumulator = accumulator + rowSum * offset
            PipeBarrier<PIPE_V>();
            for (int64_t row = 0; row < stepRows; ++row) {
                CopyLanes(channelRows_[row * kPaddedHeadSize], valueOffset_, kPaddedHeadSize);
            }
            SpreadOverBlocks<2>(rowBlocks_, rowSum_[r0 + itemSlot * kRowsPerVector], kRowsPerStep);
            PipeBarrier<PIPE_V>();
            MulRows<2>(channelRows_, rowBlocks_, stepRows, kPaddedHeadSize, kPaddedHeadSize);
            PipeBarrier<PIPE_V>();
            Add(accumulator_[r0 * kPaddedHeadSize], accumulator_[r0 * kPaddedHeadSize],
                channelRows_, stepRows * kPaddedHeadSize);
            // accumulator = accumulator * scale
            PipeBarrier<PIPE_V>();
            for (int64_t row = 0; row < stepRows; ++row) {
                Mul(accumulator_[(r0 + row) * kPaddedHeadSize],
                    accumulator_[(r0 + row) * kPaddedHeadSize], valueScale_, kPaddedHeadSize);
            }
        }
    }

    // Rows of a finished item: normalized to the output, or stored as a partial of their key split.
    __aicore__ inline void WriteRows(const Item &work, int64_t itemSlot, int64_t firstHead,
        int64_t rowBegin, int64_t rows)
    {
        if (tiling_.splits == 1) {
            for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
                const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);
                const int64_t head = firstHead + rowBegin + r0;
                // result = accumulator / rowSum; a row without keys has sum 0 and gives zeros
                PipeBarrier<PIPE_V>();
                Maxs(rowSum_[r0 + itemSlot * kRowsPerVector],
                    rowSum_[r0 + itemSlot * kRowsPerVector], float(kSmallest), stepRows);
                PipeBarrier<PIPE_V>();
                SpreadOverBlocks<2>(rowBlocks_, rowSum_[r0 + itemSlot * kRowsPerVector],
                    kRowsPerStep);
                PipeBarrier<PIPE_V>();
                DivRows<2>(accumulator_[r0 * kPaddedHeadSize], rowBlocks_, stepRows,
                    kPaddedHeadSize, kPaddedHeadSize);
                WaitFlag<HardEvent::MTE3_V>(kResultFree);
                PipeBarrier<PIPE_V>();
                Cast(result_, accumulator_[r0 * kPaddedHeadSize], RoundMode::CAST_RINT,
                    stepRows * kPaddedHeadSize);
                SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady);
                StoreRows(attentionOutGm_[work.batch * tiling_.attentionOutStrideB
                    + head * tiling_.attentionOutStrideN],
                    result_, stepRows, tiling_.headDim, tiling_.attentionOutStrideN,
                    kPaddedHeadSize);
                SetFlag<HardEvent::MTE3_V>(kResultFree);
            }
        } else {
            PipeBarrier<PIPE_V>();
            for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
                const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);
                const int64_t head = firstHead + rowBegin + r0;
                WaitFlag<HardEvent::MTE3_V>(kMaxOutFree);
                SpreadOverBlocks<1>(maxOut_, rowMax_[r0 + itemSlot * kRowsPerVector], kRowsPerStep);
                SpreadOverBlocks<1>(sumOut_, rowSum_[r0 + itemSlot * kRowsPerVector], kRowsPerStep);
                CopyLanes(rowsOut_, accumulator_[r0 * kPaddedHeadSize], stepRows * kPaddedHeadSize);
                SetFlag<HardEvent::V_MTE3>(kMaxOutReady);
                const int64_t partialRow =
                    work.split * tiling_.rowTotal + work.batch * tiling_.queryHeads + head;
                WaitFlag<HardEvent::V_MTE3>(kMaxOutReady);
                StoreRows(partialMaxGm_[partialRow * kBlockLanes], maxOut_, stepRows, kBlockLanes,
                    kBlockLanes, kBlockLanes);
                StoreRows(partialSumGm_[partialRow * kBlockLanes], sumOut_, stepRows, kBlockLanes,
                    kBlockLanes, kBlockLanes);
                StoreRows(partialOutGm_[partialRow * kPaddedHeadSize], rowsOut_, stepRows,
                    kPaddedHeadSize, kPaddedHeadSize, kPaddedHeadSize);
                SetFlag<HardEvent::MTE3_V>(kMaxOutFree);
            }
        }
    }

    // The partials that key splits left of the rows of a step, merged into the rows: both sides are
    // rescaled to the larger maximum and added.
    __aicore__ inline void MergeParts(int64_t stepRows, int64_t firstRow)
    {
        for (int64_t part = 0; part < tiling_.splits; ++part) {
            const int64_t partialRow = part * tiling_.rowTotal + firstRow;
            WaitFlag<HardEvent::V_MTE2>(kPartialFree);
            LoadRow(partMax_, partialMaxGm_[partialRow * kBlockLanes], stepRows * kBlockLanes);
            LoadRow(partSum_, partialSumGm_[partialRow * kBlockLanes], stepRows * kBlockLanes);
            LoadRow(partial_, partialOutGm_[partialRow * kPaddedHeadSize],
                stepRows * kPaddedHeadSize);
            SetAndWaitFlag<HardEvent::MTE2_V>(kPartMaxReady);
            MergePartial(accumulator_, mergedMax_, mergedSum_, partial_, partMax_, partSum_,
                newMaxBlocks_, mergedRescale_, stepRows, kPaddedHeadSize);
            SetFlag<HardEvent::V_MTE2>(kPartialFree);
        }
    }

    // The merged rows of a step to the output.
    __aicore__ inline void WriteMerged(int64_t token, int64_t firstHead, int64_t stepRows)
    {
        WaitFlag<HardEvent::MTE3_V>(kResultFree);
        PipeBarrier<PIPE_V>();
        Cast(result_, accumulator_, RoundMode::CAST_RINT, stepRows * kPaddedHeadSize);
        SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady);
        StoreRows(attentionOutGm_[token * tiling_.attentionOutStrideB
            + firstHead * tiling_.attentionOutStrideN],
            result_, stepRows, tiling_.headDim, tiling_.attentionOutStrideN, kPaddedHeadSize);
        SetFlag<HardEvent::MTE3_V>(kResultFree);
    }

    // Log-sum-exp merge of the partials of each row; all vector cores share the rows.
    __aicore__ inline void MergePartials()
    {
        CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kBeforeMergePartials);
        CrossCoreWaitFlag(kBeforeMergePartials);
        const int64_t stepsPerToken = CeilDiv(tiling_.queryHeads, kRowsPerStep);
        const int64_t units = tiling_.rowTotal / tiling_.queryHeads * stepsPerToken;
        for (int64_t unit = blockIndex_ * kVectorCores + subBlock_;
             unit < units;
             unit += blockCount_ * kVectorCores) {
            const int64_t token = unit / stepsPerToken;
            const int64_t firstHead = unit % stepsPerToken * kRowsPerStep;
            const int64_t stepRows = MinOf(kRowsPerStep, tiling_.queryHeads - firstHead);
            const int64_t firstRow = token * tiling_.queryHeads + firstHead;
            Duplicate(mergedMax_, float(kLowest), stepRows * kBlockLanes);
            Duplicate(mergedSum_, 0.0f, stepRows * kBlockLanes);
            PipeBarrier<PIPE_V>();
            Duplicate(accumulator_, 0.0f, stepRows * kPaddedHeadSize);
            MergeParts(stepRows, firstRow);
            // result = accumulator / sum; a row without keys has sum 0 and gives zeros
            Maxs(mergedSum_, mergedSum_, float(kSmallest), stepRows * kBlockLanes);
            PipeBarrier<PIPE_V>();
            DivRows<1>(accumulator_, mergedSum_, stepRows, kPaddedHeadSize, kPaddedHeadSize);
            WriteMerged(token, firstHead, stepRows);
        }
    }

    IncreFlashAttentionTiling tiling_{};

    // The next slot of each multi-buffered tensor
    uint32_t queryL1Slot_ = 0, leftL0Slot_ = 0, productL0Slot_ = 0, keyL1Slot_ = 0;
    uint32_t rightL0Slot_ = 0, probL1Slot_ = 0, valueL1Slot_ = 0, int8RowsSlot_ = 0;
    uint32_t wideRowsSlot_ = 0, scoreSlot_ = 0;

    // The steps and items that have begun; the scalars of the last steps, and their items
    int64_t stepsBegun_ = 0, itemsBegun_ = 0;
    struct CubeStep {
        int64_t tile, itemSlot, rowFractals;
    } cubeSteps_[kRing]{};
    struct VectorStep {
        int64_t tile, rows, firstHead, rowBegin, itemSlot, kvHead;
    } vectorSteps_[kRing]{};
    // An item keeps its place until its last step is finished. When one is decoded, at most
    // kPrefetch others have a step that is not: it takes a place that none of these has.
    Item items_[kRing];

    // Global memory
    GlobalTensor<T> queryGm_;
    GlobalTensor<int8_t> keyGm_;
    GlobalTensor<int8_t> valueGm_;
    GlobalTensor<int64_t> actualSeqLengthsGm_;
    GlobalTensor<T> antiquantScaleGm_;
    GlobalTensor<T> antiquantOffsetGm_;
    GlobalTensor<T> attentionOutGm_;
    GlobalTensor<float> partialMaxGm_;  // row maxima of key splits
    GlobalTensor<float> partialSumGm_;  // row sums of key splits
    GlobalTensor<float> partialOutGm_;  // weighted sums of key splits
    GlobalTensor<half> keyRingGm_;  // ring of key tiles in float16, vector to cube
    GlobalTensor<half> absorbedQueryGm_;  // query rows of an item, scale of the keys included
    GlobalTensor<float> scoreRingGm_;  // ring of score tiles, cube to vector
    GlobalTensor<half> probRingGm_;  // ring of probability tiles, vector to cube
    GlobalTensor<half> valueRingGm_;  // ring of value tiles in float16, vector to cube
    GlobalTensor<float> outRingGm_;  // ring of weighted sums, cube to vector

    // On-chip buffers with a single slot
    LocalTensor<float> rowMax_, rowSum_, keyScale_, keyOffset_, channelRows_, lanes_, queryFactor_;
    LocalTensor<float> rowBlocks_, queryShift_, tileStat_, newMax_, rescale_, accumulator_;
    LocalTensor<float> partial_, valueScale_, valueOffset_, maxOut_, sumOut_, rowsOut_, mergedMax_;
    LocalTensor<float> mergedSum_, partMax_, partSum_, newMaxBlocks_, mergedRescale_;
    LocalTensor<T> channelNumbers_, queryRows_, result_;
    LocalTensor<half> absorbedRows_, prob_;
};

}  // namespace incre_flash_attention_d128_antiquant_scale_antiquant_offset

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_D128_ANTIQUANT_SCALE_ANTIQUANT_OFFSET_H
