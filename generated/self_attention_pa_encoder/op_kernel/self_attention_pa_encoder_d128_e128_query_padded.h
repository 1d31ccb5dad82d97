/*
 * self_attention_pa_encoder_d128_e128_query_padded
 * Attention of prompts over their own keys.
 *
 * Contract: ATB SelfAttentionOperation
 * Spec: self_attention.py; "spec line" in a comment is a line of it.
 * Specialized on
 *   dtype T of query, key, output: float16 or bfloat16
 *   head size headSize from 113 to 128
 *   head size headSizeV from 113 to 128
 *   layout(query) = padded
 * Batch, heads, lengths and strides are run-time values.
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Step t, the cube running ahead:
 *   AIV  WarmScores         before step 0       sets kScoreRingWarm for each slot
 *   AIV  StartRows          step t              first tile of an item
 *   AIC  LoadQuery          step t
 *   AIC  AwaitSlot          step t              waits for kScoreRingWarm, first kPrefetch steps
 *   AIC  AwaitProbabilities step t - kPrefetch  waits for kProbRingReady
 *   AIC  ScoreTile          step t              sets kScoreRingReady
 *   AIV  SoftmaxTile        step t              waits for kScoreRingReady, sets kProbRingReady
 *   AIC  WeightedTile       step t - kPrefetch  waits for kOutRingRescaled, sets kOutRingReady
 *   AIV  UpdateTile         step t - kPrefetch  waits for kOutRingReady, sets kOutRingRescaled
 *   AIV  WriteRows          step t - kPrefetch  last tile of an item
 *   Two halves of a task take steps in turn: tile 0 of both, then tile 1 of both, and so on.
 *
 * Written by attndsl from the operator's spec. Every event, barrier and flag is explicit: the
 * kernel does not rely on the compiler's automatic synchronization.
 */
#ifndef ATTNDSL_SELF_ATTENTION_PA_ENCODER_D128_E128_QUERY_PADDED_H
#define ATTNDSL_SELF_ATTENTION_PA_ENCODER_D128_E128_QUERY_PADDED_H

#include "kernel_operator.h"
#include "attndsl_kernel.h"
#include "self_attention_pa_encoder_d128_e128_query_padded_schedule.h"
#include "self_attention_pa_encoder_tiling.h"

namespace self_attention_pa_encoder_d128_e128_query_padded {

using namespace AscendC;

constexpr float kGrowthLimit = 8.0f;  // a score exceeds its row's maximum by no more: exp fits fp16
constexpr float kLowest = -3.4028234663852886e+38f;  // initial row maximum: no key seen yet
// smallest normal number, the sum of a row without keys
constexpr float kSmallest = 1.1754943508222875e-38f;

// Event ids by pipe pair. Ready: the content may be read; Free: the slot may be written again.
// FreeXY: pipe X no longer uses the slot, Y may begin. TakenYX answers FreeXY: Y took it. An event
// holds one signal. Where X could set FreeXY a second time before Y has waited for the first, Y
// sets TakenYX right after its wait, and X waits for it before it sets FreeXY again. Buffers with
// one lifetime share an event, named after the first.
constexpr int32_t kProductL0Free = 0;  // FIX_M, productL0: one id per slot
constexpr int32_t kRightL0Ready = 0;  // MTE1_M, rightL0: one id per slot
constexpr int32_t kLeftL0Ready = 2;  // MTE1_M, leftL0: one id per slot
constexpr int32_t kKeyL1Free = 0;  // MTE1_MTE2, keyL1: one id per slot
constexpr int32_t kQueryL1Free = 2;  // MTE1_MTE2, queryL1: one id per slot
constexpr int32_t kProbL1Free = 4;  // MTE1_MTE2, probL1: one id per slot
constexpr int32_t kValueL1Free = 6;  // MTE1_MTE2, valueL1
constexpr int32_t kQueryL1Ready = 0;  // MTE2_MTE1, queryL1: one id per slot
constexpr int32_t kKeyL1Ready = 2;  // MTE2_MTE1, keyL1: one id per slot
constexpr int32_t kValueL1Ready = 4;  // MTE2_MTE1, valueL1
constexpr int32_t kProbL1Ready = 5;  // MTE2_MTE1, probL1: one id per slot
constexpr int32_t kPartialTaken = 0;  // MTE2_MTE3, partial
constexpr int32_t kScoreReady = 0;  // MTE2_V, score: one id per slot
constexpr int32_t kPartialReadyMte2V = 2;  // MTE2_V, partial
constexpr int32_t kRowsOutReady = 3;  // MTE2_V, rowsOut
constexpr int32_t kPartMaxReady = 4;  // MTE2_V, partMax, partSum, partial
constexpr int32_t kPartialFreeMte3Mte2 = 0;  // MTE3_MTE2, partial
constexpr int32_t kMaxOutFree = 1;  // MTE3_MTE2, maxOut, sumOut, rowsOut
constexpr int32_t kProbFree = 0;  // MTE3_V, prob
constexpr int32_t kResultFree = 1;  // MTE3_V, result
constexpr int32_t kAccumulatorFree = 2;  // MTE3_V, accumulator
constexpr int32_t kProductL0Ready = 0;  // M_FIX, productL0: one id per slot
constexpr int32_t kLeftL0Free = 0;  // M_MTE1, leftL0: one id per slot
constexpr int32_t kRightL0Free = 2;  // M_MTE1, rightL0: one id per slot
constexpr int32_t kGrownFree = 0;  // S_V, grown
constexpr int32_t kScoreFree = 0;  // V_MTE2, score: one id per slot
constexpr int32_t kPartialFreeVMte2 = 2;  // V_MTE2, partial
constexpr int32_t kAccumulatorReady = 0;  // V_MTE3, accumulator
constexpr int32_t kProbReady = 1;  // V_MTE3, prob
constexpr int32_t kPartialReadyVMte3 = 2;  // V_MTE3, partial
constexpr int32_t kResultReady = 3;  // V_MTE3, result
constexpr int32_t kMaxOutReady = 4;  // V_MTE3, rowsOut, maxOut, sumOut
constexpr int32_t kZeroRowsReady = 5;  // V_MTE3, zeroRows
constexpr int32_t kGrownReady = 0;  // V_S, grown

// Cross-core flags. Ready: a slot of the ring is written. Rescaled: the sums in a slot are rescaled
// where a maximum grew: the cube may add the next tile's. Warm: L2 holds a slot, to which vector
// cores stored zeros. Before: all cores of a kind have done what comes before a stage.
// kProbRingReady also frees the tile's slot of the score ring, which has kPrefetch slots. No other
// flag frees a slot: in the order of the stages it is read before it is written again.
constexpr uint16_t kOutRingReady = 0;
constexpr uint16_t kScoreRingReady = 1;
constexpr uint16_t kProbRingReady = 2;
constexpr uint16_t kBeforeMergePartials = 3;
constexpr uint16_t kScoreRingWarm = 4;
constexpr uint16_t kOutRingRescaled = 5;

template <typename T>
class SelfAttentionPaEncoderKernel : attndsl::KernelBase {
public:
    // Arguments: tensors in the contract's order, the user's part of the workspace, the tiling
    // data.
    __aicore__ inline void Run(GM_ADDR query, GM_ADDR key, GM_ADDR seqLen, GM_ADDR output,
        GM_ADDR workspace, const SelfAttentionPaEncoderTiling &tiling)
    {
        TPipe pipe;
        tiling_ = tiling;
        FindCore();
        Bind(queryGm_, query);
        Bind(keyGm_, key);
        Bind(seqLenGm_, seqLen);
        Bind(outputGm_, output);
        Bind(outRingGm_, workspace + tiling_.outRingOffset + blockIndex_ * tiling_.outRingPart);
        Bind(partialMaxGm_, workspace + tiling_.partialMaxOffset);
        Bind(partialSumGm_, workspace + tiling_.partialSumOffset);
        Bind(partialOutGm_, workspace + tiling_.partialOutOffset);
        Bind(scoreRingGm_,
            workspace + tiling_.scoreRingOffset + blockIndex_ * tiling_.scoreRingPart);
        Bind(probRingGm_, workspace + tiling_.probRingOffset + blockIndex_ * tiling_.probRingPart);
        if ASCEND_IS_AIC {
            TakeCubeMemories(pipe, kL1End, kL0aEnd, kL0bEnd, kL0cEnd);
            valueL1_ = View<T>(l1_, kValueL1At);
        }
        if ASCEND_IS_AIV {
            TakeVectorMemory(pipe, kUbEnd);
            result_ = View<T>(ub_, kResultAt);
            partial_ = View<float>(ub_, kPartialAt);
            rowsOut_ = View<float>(ub_, kRowsOutAt);
            zeroWide_ = View<float>(ub_, kZeroWideAt);
            lanes_ = View<float>(ub_, kLanesAt);
            sumBlocks_ = View<float>(ub_, kSumBlocksAt);
            zeroRows_ = View<T>(ub_, kZeroRowsAt);
            rowMax_ = View<float>(ub_, kRowMaxAt);
            rowSum_ = View<float>(ub_, kRowSumAt);
            rowBlocks_ = View<float>(ub_, kRowBlocksAt);
            maxOut_ = View<float>(ub_, kMaxOutAt);
            sumOut_ = View<float>(ub_, kSumOutAt);
            partMax_ = View<float>(ub_, kPartMaxAt);
            accumulator_ = View<float>(ub_, kAccumulatorAt);
            rescale_ = View<float>(ub_, kRescaleAt);
            tileSum_ = View<float>(ub_, kTileSumAt);
            mergedMax_ = View<float>(ub_, kMergedMaxAt);
            mergedSum_ = View<float>(ub_, kMergedSumAt);
            partSum_ = View<float>(ub_, kPartSumAt);
            newMaxBlocks_ = View<float>(ub_, kNewMaxBlocksAt);
            mergedRescale_ = View<float>(ub_, kMergedRescaleAt);
            tileStat_ = View<float>(ub_, kTileStatAt);
            newMax_ = View<float>(ub_, kNewMaxAt);
            growth_ = View<float>(ub_, kGrowthAt);
            prob_ = View<T>(ub_, kProbAt);
            grown_ = View<float>(ub_, kGrownAt);
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
            SetFlag<HardEvent::FIX_M>(kProductL0Free + slot);
            SetFlag<HardEvent::M_MTE1>(kLeftL0Free + slot);
            SetFlag<HardEvent::M_MTE1>(kRightL0Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + slot);
        }
        SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free);
        // One turn more than the block has items: it drains the pipeline. The plan launches no more
        // blocks than there are items; without items there is no turn.
        const int64_t turnsEnd = tiling_.items + MinOf(tiling_.items, blockCount_);
        // A block takes its last item first: small tasks fill the pipeline.
        for (int64_t turn = blockIndex_; turn < turnsEnd; turn += blockCount_) {
            // The item takes this place when its first step begins.
            const int64_t itemSlot = (itemsBegun_ + 1) % kRing;
            items_[itemSlot] = DecodeItem(turn);
            const Item &work = items_[itemSlot];
            const int64_t keyStart = RowsBefore(work.batch);
            for (int64_t step = 0; step < work.steps; ++step) {
                const int64_t slot = stepsBegun_++ % kRing;
                itemsBegun_ += step == 0;
                cubeSteps_[slot].step = step;
                cubeSteps_[slot].itemSlot = itemSlot;
                cubeSteps_[slot].keyStart = keyStart;
                const Half taskHalf = HalfOf(work, step, itemSlot);
                // The first kPrefetch steps have no earlier one, and do not look at it.
                const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;
                const CubeStep &earlier = cubeSteps_[earlierSlot];
                const Item &earlierWork = items_[earlier.itemSlot];
                if (step < work.keySteps) {
                    LoadQuery(work, taskHalf, step);
                }
                if (stepsBegun_ <= kPrefetch) {
                    AwaitSlot();
                } else if (earlier.step < earlierWork.keySteps) {
                    AwaitProbabilities();
                }
                if (step < work.keySteps) {
                    ScoreTile(work, taskHalf, keyStart, step);
                }
                if (stepsBegun_ > kPrefetch && earlier.step < earlierWork.keySteps) {
                    const Half earlierHalf = HalfOf(earlierWork, earlier.step, earlier.itemSlot);
                    WeightedTile(earlierWork, earlierHalf, earlier.keyStart, earlier.step,
                        earlierSlot);
                }
            }
        }
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            WaitFlag<HardEvent::FIX_M>(kProductL0Free + slot);
            WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + slot);
            WaitFlag<HardEvent::M_MTE1>(kRightL0Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + slot);
        }
        WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free);
    }

    __aicore__ inline void RunVector()
    {
        SetFlag<HardEvent::MTE3_V>(kProbFree);
        SetFlag<HardEvent::V_MTE2>(kScoreFree);
        SetFlag<HardEvent::V_MTE2>(kScoreFree + 1);
        SetFlag<HardEvent::V_MTE2>(kPartialFreeVMte2);
        SetFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2);
        SetFlag<HardEvent::S_V>(kGrownFree);
        SetFlag<HardEvent::MTE3_V>(kResultFree);
        SetFlag<HardEvent::MTE3_MTE2>(kMaxOutFree);
        WarmScores();
        SetFlag<HardEvent::MTE3_V>(kAccumulatorFree);
        // One turn more than the block has items: it drains the pipeline. The plan launches no more
        // blocks than there are items; without items there is no turn.
        const int64_t turnsEnd = tiling_.items + MinOf(tiling_.items, blockCount_);
        // A block takes its last item first: small tasks fill the pipeline.
        for (int64_t turn = blockIndex_; turn < turnsEnd; turn += blockCount_) {
            // The item takes this place when its first step begins.
            const int64_t itemSlot = (itemsBegun_ + 1) % kRing;
            items_[itemSlot] = DecodeItem(turn);
            const Item &work = items_[itemSlot];
            for (int64_t step = 0; step < work.steps; ++step) {
                const int64_t slot = stepsBegun_++ % kRing;
                itemsBegun_ += step == 0;
                vectorSteps_[slot].step = step;
                vectorSteps_[slot].itemSlot = itemSlot;
                const Half taskHalf = HalfOf(work, step, itemSlot);
                if (step < work.halves) {
                    StartRows(taskHalf);
                }
                if (step < work.keySteps) {
                    SoftmaxTile(work, taskHalf, step, slot);
                }
                if (stepsBegun_ > kPrefetch) {
                    const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;
                    const VectorStep &earlier = vectorSteps_[earlierSlot];
                    const Item &earlierWork = items_[earlier.itemSlot];
                    const Half earlierHalf = HalfOf(earlierWork, earlier.step, earlier.itemSlot);
                    if (earlier.step < earlierWork.keySteps) {
                        UpdateTile(earlierWork, earlierHalf, earlier.step, earlierSlot);
                    }
                    if (earlier.step >= earlierWork.steps - earlierWork.halves) {
                        WriteRows(earlierWork, earlierHalf, earlier.step);
                    }
                }
            }
        }
        WaitFlag<HardEvent::MTE3_V>(kAccumulatorFree);
        if (tiling_.splits > 1) {
            MergePartials();
        }
        ZeroPadding();
        WaitFlag<HardEvent::MTE3_V>(kProbFree);
        WaitFlag<HardEvent::V_MTE2>(kScoreFree);
        WaitFlag<HardEvent::V_MTE2>(kScoreFree + 1);
        WaitFlag<HardEvent::V_MTE2>(kPartialFreeVMte2);
        WaitFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2);
        WaitFlag<HardEvent::S_V>(kGrownFree);
        WaitFlag<HardEvent::MTE3_V>(kResultFree);
        WaitFlag<HardEvent::MTE3_MTE2>(kMaxOutFree);
    }

    // An item as cube and vector cores see it: its rows, heads and tiles of keys.
    struct Item {
        int64_t split;  // its part of the keys of the task
        int64_t firstOfTask;  // first query position of the task in its batch row
        int64_t kvHead;  // key/value head
        int64_t batch;  // batch row
        int64_t firstHead;  // first query head of the task
        int64_t heads;  // query heads of the task
        int64_t queriesOfTask;  // query positions of the task
        int64_t halves;  // halves of the task: steps take them in turn with the same tile of keys
        int64_t queriesOfHalf;  // query positions of a half, at most
        int64_t keyEnd;  // end of the keys of the task
        int64_t firstTile;  // first key tile of the item
        int64_t keySteps;  // steps of the item with keys: one or two a tile
        int64_t steps;  // steps of the item in the pipeline: those with keys, or what drains it
    };

    __aicore__ inline Item DecodeItem(int64_t turn)
    {
        Item found;
        // from the last round to the first: the last items of prompts are the smallest
        const int64_t roundOfTurn =
            MaxOf((tiling_.items - 1 - blockIndex_) / blockCount_ - turn / blockCount_, 0);
        const int64_t item = blockIndex_ + roundOfTurn * blockCount_;
        // all tasks of one split follow each other: blocks beside each other have other tasks
        found.split = item / tiling_.tasks;
        const int64_t task = item % tiling_.tasks;
        // all large tasks come before all small ones
        const bool isLarge = tiling_.largeTasks > task;
        const int64_t partTask = task - (isLarge ? 0 : tiling_.largeTasks);
        const int64_t partTiles =
            isLarge ? tiling_.largeTiles : tiling_.queryTiles - tiling_.largeTiles;
        const int64_t positionsPerTask =
            isLarge ? tiling_.queriesPerTask : tiling_.queriesPerSmallTask;
        // positions of one head come in turn: cores share its keys and values in L2
        const int64_t queryTile = partTask % partTiles;
        const int64_t headTask = partTask / partTiles;
        found.firstOfTask = (isLarge ? tiling_.smallPositions : 0) + queryTile * positionsPerTask;
        // heads of one key/value head come in turn: cores share its keys and values in L2
        const int64_t headTile = headTask % tiling_.headTiles;
        found.kvHead = headTask / tiling_.headTiles % tiling_.kvHeads;
        found.batch = headTask / (tiling_.headTiles * tiling_.kvHeads);
        found.firstHead = found.kvHead * tiling_.group + headTile * tiling_.headsPerTask;
        found.heads = MinOf(tiling_.headsPerTask, tiling_.group - headTile * tiling_.headsPerTask);
        const int64_t seqLenOfBatch = seqLenGm_.GetValue(found.batch);
        const int64_t queryLength = MinOf(seqLenOfBatch, tiling_.qRows);
        found.queriesOfTask = MaxOf(0, MinOf(positionsPerTask, queryLength - found.firstOfTask));
        const int64_t rowsOfTask = found.heads * found.queriesOfTask;
        found.halves = kMaxRows < rowsOfTask ? kMostHalves : 1;
        found.queriesOfHalf = CeilDiv(found.queriesOfTask, found.halves);
        const int64_t visibleEnd =
            MinOf(tiling_.seqLenIs2Batch
                ? seqLenGm_.GetValue(tiling_.batchRows + found.batch)
                : seqLenOfBatch,
                tiling_.keyCapacity);
        found.keyEnd = turn >= tiling_.items ? 0 : visibleEnd;
        const int64_t tileTotal = rowsOfTask == 0 ? 0 : CeilDiv(found.keyEnd, kTileKeys);
        const int64_t tilesPerSplit = CeilDiv(tileTotal, tiling_.splits);
        found.firstTile = MinOf(found.split * tilesPerSplit, tileTotal);
        const int64_t tiles = MinOf(tilesPerSplit, tileTotal - found.firstTile);
        found.keySteps = found.halves * tiles;
        found.steps =
            turn >= tiling_.items
                ? kPrefetch
                : (rowsOfTask == 0 ? 0 : MaxOf(found.keySteps, found.halves));
        return found;
    }

    // The half of a task that takes a step: its rows.
    struct Half {
        int64_t halfOfTask;  // its number in the task
        int64_t firstQuery;  // its first query position in the batch row
        int64_t queries;  // its query positions
        int64_t halfSlot;  // where the state of its rows stands
        int64_t taskRows;  // its query rows
        int64_t rowFractals;  // fractals of 16 rows that these fill
        int64_t rowBegin;  // the first of them that this vector core has
        int64_t rows;  // how many this vector core has
    };

    __aicore__ inline Half HalfOf(const Item &work, int64_t step, int64_t itemSlot)
    {
        Half found;
        found.halfOfTask = step % work.halves;
        found.firstQuery = work.firstOfTask + found.halfOfTask * work.queriesOfHalf;
        found.queries =
            MinOf(work.queriesOfHalf, work.queriesOfTask - found.halfOfTask * work.queriesOfHalf);
        found.halfSlot = itemSlot * kMostHalves + found.halfOfTask;
        found.taskRows = work.heads * found.queries;
        found.rowFractals = CeilDiv(found.taskRows, kFractal);
        const int64_t rowsPerCore = CeilDiv(found.taskRows, kVectorCores);
        found.rowBegin = MinOf(subBlock_ * rowsPerCore, found.taskRows);
        found.rows = MinOf(rowsPerCore, found.taskRows - found.rowBegin);
        return found;
    }

    // The sum of the lengths in front, counted up or down from where the last call ended.
    __aicore__ inline int64_t RowsBefore(int64_t extent)
    {
        for (; rowsBeforeEnd_ < extent; ++rowsBeforeEnd_) {
            rowsBeforeSum_ += tiling_.seqLenIs2Batch
                ? seqLenGm_.GetValue(tiling_.batchRows + rowsBeforeEnd_)
                : seqLenGm_.GetValue(rowsBeforeEnd_);
        }
        while (rowsBeforeEnd_ > extent) {
            --rowsBeforeEnd_;
            rowsBeforeSum_ -= tiling_.seqLenIs2Batch
                ? seqLenGm_.GetValue(tiling_.batchRows + rowsBeforeEnd_)
                : seqLenGm_.GetValue(rowsBeforeEnd_);
        }
        return rowsBeforeSum_;
    }

    // A row of a slot of a workspace ring, counted from the first of the first slot.
    __aicore__ inline int64_t RingRow(int64_t slot, int64_t row)
    {
        return slot * tiling_.rowsPerTask + row;
    }

    // Query rows of the half, at its first tile, from global memory to L1.
    __aicore__ inline void LoadQuery(const Item &work, const Half &taskHalf, int64_t step)
    {
        const int64_t querySlot = (itemsBegun_ * work.halves + taskHalf.halfOfTask) % kDoubleBuffer;
        auto queryL1 = View<T>(l1_, kQueryL1At + querySlot * kQueryL1SlotBytes);
        if (step < work.halves) {
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + querySlot);
            if (work.heads == 1 && tiling_.queryStrideQ <= 65535) {
                LoadNz(queryL1,
                    queryGm_[work.batch * tiling_.queryStrideB
                        + work.firstHead * tiling_.queryStrideN
                        + taskHalf.firstQuery * tiling_.queryStrideQ],
                    taskHalf.queries, tiling_.headDim, tiling_.queryStrideQ,
                    taskHalf.rowFractals * kFractal);
            } else {
                for (int64_t position = 0; position < taskHalf.queries; ++position) {
                    LoadNzOfAnyPitch(queryL1[position * work.heads * kFractal],
                        queryGm_[work.batch * tiling_.queryStrideB
                            + work.firstHead * tiling_.queryStrideN
                            + (taskHalf.firstQuery + position) * tiling_.queryStrideQ],
                        work.heads, tiling_.headDim, tiling_.queryStrideN,
                        taskHalf.rowFractals * kFractal);
                }
            }
            SetAndWaitFlag<HardEvent::MTE2_MTE1>(kQueryL1Ready + querySlot);
        }
    }

    // Waits until L2 holds the slot that takes the scores of this step.
    __aicore__ inline void AwaitSlot()
    {
        CrossCoreWaitFlag(kScoreRingWarm);
    }

    // Waits for the probabilities of a tile: its scores are read, new ones may take their slot.
    __aicore__ inline void AwaitProbabilities()
    {
        CrossCoreWaitFlag(kProbRingReady);
    }

    // Scores of one key tile, query times keys transposed, to their ring slot.
    __aicore__ inline void ScoreTile(const Item &work, const Half &taskHalf, int64_t keyStart,
        int64_t step)
    {
        const int64_t tile = step / work.halves;
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t keyTile =
            work.kvHead * tiling_.keyStrideK + (keyStart + firstKey) * tiling_.keyStrideU;
        const int64_t querySlot = (itemsBegun_ * work.halves + taskHalf.halfOfTask) % kDoubleBuffer;
        {
            auto queryL1 = View<T>(l1_, kQueryL1At + querySlot * kQueryL1SlotBytes);
            for (int64_t n0 = 0; n0 < keys; n0 += kBaseN) {
                const int64_t cols = MinOf(kBaseN, keys - n0);
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
                    for (int64_t band = 0; band < taskHalf.taskRows; band += kRowsPerBand) {
                        const int64_t bandRows = MinOf(kRowsPerBand, taskHalf.taskRows - band);
                        const int64_t bandFractals = CeilDiv(bandRows, kFractal);
                        auto leftL0 = View<T>(l0a_, kLeftL0At + leftL0Slot_ * kLeftL0SlotBytes);
                        WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                        LoadLeft(leftL0, queryL1[band / kFractal * (kFractal * kFractal)],
                            bandFractals, CeilDiv(kPaddedHeadSize, kFractal), taskHalf.rowFractals);
                        SetAndWaitFlag<HardEvent::MTE1_M>(kLeftL0Ready + leftL0Slot_);
                        {
                            auto productL0 =
                                View<float>(l0c_,
                                    kProductL0At + productL0Slot_ * kProductL0SlotBytes);
                            WaitFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                            Mmad(productL0, leftL0, rightL0,
                                ProductParams(bandFractals * kFractal, cols, kPaddedHeadSize,
                                    true));
                            SetAndWaitFlag<HardEvent::M_FIX>(kProductL0Ready + productL0Slot_);
                            StoreProduct(
                                scoreRingGm_[RingRow(stepsBegun_ % kPrefetch, band) * kTileKeys
                                + n0],
                                productL0, bandRows, RoundUp(cols, kFractal), kTileKeys,
                                bandFractals * kFractal);
                            SetFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                            productL0Slot_ = (productL0Slot_ + 1) % kDoubleBuffer;
                        }
                        SetFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                        leftL0Slot_ = (leftL0Slot_ + 1) % kDoubleBuffer;
                    }
                    SetFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                    rightL0Slot_ = (rightL0Slot_ + 1) % kDoubleBuffer;
                }
                SetFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + keyL1Slot_);
                keyL1Slot_ = (keyL1Slot_ + 1) % kDoubleBuffer;
            }
            // The last use of queryL1: its slot may be filled again.
            if (step >= work.keySteps - work.halves) {
                SetFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + querySlot);
            }
        }
        CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kScoreRingReady);
    }

    // Weighted sum of one tile's values, probabilities times values, added to the sums of its item.
    __aicore__ inline void WeightedTile(const Item &work, const Half &taskHalf, int64_t keyStart,
        int64_t step, int64_t slot)
    {
        const int64_t tile = step / work.halves;
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        const int64_t valueTile =
            work.kvHead * tiling_.keyStrideK + (keyStart + firstKey) * tiling_.keyStrideU;
        if (taskHalf.halfOfTask == 0) {
            WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free);
            // to L1, where they stay for the other half, then to L0A and L0B
            LoadNzOfAnyPitch(valueL1_, keyGm_[valueTile], keys, tiling_.valueDim,
                tiling_.keyStrideU, RoundUp(keys, kFractal));
            SetAndWaitFlag<HardEvent::MTE2_MTE1>(kValueL1Ready);
        }
        for (int64_t band = 0; band < taskHalf.taskRows; band += kRowsPerBand) {
            const int64_t bandRows = MinOf(kRowsPerBand, taskHalf.taskRows - band);
            const int64_t bandFractals = CeilDiv(bandRows, kFractal);
            auto productL0 = View<float>(l0c_, kProductL0At + productL0Slot_ * kProductL0SlotBytes);
            WaitFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
            for (int64_t k1 = 0; k1 < keys; k1 += kProbPiece) {
                const int64_t pieceKeys = MinOf(kProbPiece, keys - k1);
                auto probL1 = View<T>(l1_, kProbL1At + probL1Slot_ * kProbL1SlotBytes);
                WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
                LoadBlocks(probL1,
                    probRingGm_[slot * tiling_.rowsPerTask * kTileKeys
                        + k1 * tiling_.rowsPerTask + band * kFractal],
                    CeilDiv(pieceKeys, kFractal), bandRows * kFractal,
                    tiling_.rowsPerTask * kFractal, bandFractals * kFractal * kFractal);
                SetAndWaitFlag<HardEvent::MTE2_MTE1>(kProbL1Ready + probL1Slot_);
                for (int64_t k0 = 0; k0 < pieceKeys; k0 += kBaseK) {
                    const int64_t depth = MinOf(kBaseK, pieceKeys - k0);
                    const int64_t depthFractals = CeilDiv(depth, kFractal);
                    const int64_t columnFractals = CeilDiv(kPaddedValueSize, kFractal);
                    auto leftL0 = View<T>(l0a_, kLeftL0At + leftL0Slot_ * kLeftL0SlotBytes);
                    WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                    LoadLeft(leftL0, probL1[k0 / kFractal * bandFractals * (kFractal * kFractal)],
                        bandFractals, depthFractals, bandFractals);
                    SetAndWaitFlag<HardEvent::MTE1_M>(kLeftL0Ready + leftL0Slot_);
                    {
                        auto rightL0 = View<T>(l0b_, kRightL0At + rightL0Slot_ * kRightL0SlotBytes);
                        WaitFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                        LoadTransposed(rightL0,
                            valueL1_[(k1 + k0) / kFractal * (kFractal * kFractal)], depthFractals,
                            columnFractals, CeilDiv(keys, kFractal));
                        SetAndWaitFlag<HardEvent::MTE1_M>(kRightL0Ready + rightL0Slot_);
                        // hardware orders Mmad into the same L0C only from 10 fractals on
                        if (bandFractals * kFractal * kPaddedValueSize
                            < kOrderedFractals * kFractal * kFractal) {
                            PipeBarrier<PIPE_M>();
                        }
                        Mmad(productL0, leftL0, rightL0,
                            ProductParams(bandFractals * kFractal, kPaddedValueSize, depth,
                                k1 + k0 == 0));
                        SetFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                        rightL0Slot_ = (rightL0Slot_ + 1) % kDoubleBuffer;
                    }
                    SetFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                    leftL0Slot_ = (leftL0Slot_ + 1) % kDoubleBuffer;
                }
                SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
                probL1Slot_ = (probL1Slot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::M_FIX>(kProductL0Ready + productL0Slot_);
            if (step >= work.halves && band == 0) {
                CrossCoreWaitFlag(kOutRingRescaled);
            }
            WaitFlag<HardEvent::M_FIX>(kProductL0Ready + productL0Slot_);
            {
                if (step >= work.halves) {
                    SetAtomicAdd<float>();
                }
                StoreProduct(outRingGm_[RingRow(taskHalf.halfSlot, band) * kPaddedValueSize],
                    productL0, bandRows, kPaddedValueSize, kPaddedValueSize,
                    bandFractals * kFractal);
                SetAtomicNone();
            }
            SetFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
            productL0Slot_ = (productL0Slot_ + 1) % kDoubleBuffer;
        }
        // The last use of valueL1: its slot may be filled again.
        if (taskHalf.halfOfTask == work.halves - 1) {
            SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free);
        }
        CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kOutRingReady);
    }

    // Stores zeros to the slots of scores, so that L2 holds them when the first scores come.
    __aicore__ inline void WarmScores()
    {
        if (tiling_.items > 0) {
            const int64_t firstRow =
                MinOf(subBlock_ * CeilDiv(tiling_.warmRows, kVectorCores), tiling_.warmRows);
            const int64_t endRow =
                MinOf(firstRow + CeilDiv(tiling_.warmRows, kVectorCores), tiling_.warmRows);
            Duplicate(accumulator_, 0.0f, kRowsOfZeros * kTileKeys);
            SetAndWaitFlag<HardEvent::V_MTE3>(kAccumulatorReady);
            for (int64_t warmStep = 1; warmStep < kPrefetch + 1; ++warmStep) {
                for (int64_t r0 = 0; r0 < endRow - firstRow; r0 += kRowsOfZeros) {
                    const int64_t stepRows = MinOf(kRowsOfZeros, endRow - firstRow - r0);
                    StoreRows(
                        scoreRingGm_[RingRow(warmStep % kPrefetch, firstRow + r0) * kTileKeys],
                        accumulator_, stepRows, tiling_.warmKeys, kTileKeys, kTileKeys);
                }
                CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kScoreRingWarm);
            }
        }
    }

    // Rows have seen no key: the lowest maximum, no sum.
    __aicore__ inline void StartRows(const Half &taskHalf)
    {
        if (taskHalf.rows > 0) {
            PipeBarrier<PIPE_V>();
            Duplicate(rowMax_[taskHalf.halfSlot * kRowsPerVector], float(kLowest), taskHalf.rows);
            Duplicate(rowSum_[taskHalf.halfSlot * kRowsPerVector], 0.0f, taskHalf.rows);
        }
    }

    // Online softmax of one tile: scores in, probabilities out, row maxima and sums updated.
    __aicore__ inline void SoftmaxTile(const Item &work, const Half &taskHalf, int64_t step,
        int64_t slot)
    {
        const int64_t tile = step / work.halves;
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        CrossCoreWaitFlag(kScoreRingReady);
        for (int64_t r0 = 0; r0 < taskHalf.rows; r0 += kRowsPerStep) {
            const int64_t stepRows = MinOf(kRowsPerStep, taskHalf.rows - r0);
            auto score = View<float>(ub_, kScoreAt + scoreSlot_ * kScoreSlotBytes);
            const int64_t span = (stepRows - 1) * kTileKeys + RoundUp(keys, kRepeatLanes);
            WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
            LoadRows(score,
                scoreRingGm_[RingRow(stepsBegun_ % kPrefetch, taskHalf.rowBegin + r0) * kTileKeys],
                stepRows, keys, kTileKeys, kTileKeys);
            SetFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
            // score * qkScale  (spec line 255)
            WaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
            Muls(score, score, float(tiling_.qkScale), span);
            // Lanes after the last key are excluded from the maximum, and from the sum.
            if (keys % kRepeatLanes != 0) {
                PipeBarrier<PIPE_V>();
                FillLanes(score[keys / kRepeatLanes * kRepeatLanes], keys % kRepeatLanes,
                    -__builtin_inff(), stepRows, kTileKeys);
            }
            // newMax = max(rowMax, row maximum of the tile less what it may grow by); rescale =
            // rowMax - newMax
            if (kFoldedLanes * kBlockLanes > keys) {
                PipeBarrier<PIPE_V>();
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
            Adds(tileStat_, tileStat_, float(step >= work.halves ? -kGrowthLimit : 0.0f), stepRows);
            PipeBarrier<PIPE_V>();
            Max(newMax_, rowMax_[r0 + taskHalf.halfSlot * kRowsPerVector], tileStat_, stepRows);
            PipeBarrier<PIPE_V>();
            Sub(rescale_[slot * kRowsPerVector + r0],
                rowMax_[r0 + taskHalf.halfSlot * kRowsPerVector], newMax_, stepRows);
            // score = exp(score - newMax)
            SpreadOverBlocks<2>(rowBlocks_, newMax_, kRowsPerStep);
            PipeBarrier<PIPE_V>();
            SubRows<2>(score, rowBlocks_, stepRows, keys, kTileKeys);
            // growth = sum of rowMax - newMax, 0 where no maximum of these rows grew
            WholeReduceSum(growth_[(slot * kRowsPerVector + r0) / kRowsPerStep * kBlockLanes],
                rescale_[slot * kRowsPerVector + r0], stepRows, 1, 1, 1, kRepeatBlocks);
            PipeBarrier<PIPE_V>();
            Exp(score, score, span);
            // rescale = exp(rowMax - newMax)
            Exp(rescale_[slot * kRowsPerVector + r0], rescale_[slot * kRowsPerVector + r0],
                stepRows);
            CopyLanes(rowMax_[r0 + taskHalf.halfSlot * kRowsPerVector], newMax_, stepRows);
            // each row's sum folded to 8 lanes, reduced once after the loop
            if (kFoldedLanes * kBlockLanes > keys) {
                Duplicate(lanes_, 0.0f, stepRows * kFoldedLanes);
            }
            PipeBarrier<PIPE_V>();
            SumOfBlocks(lanes_, score, stepRows, keys, kFoldedLanes, kTileKeys);
            PipeBarrier<PIPE_V>();
            SumOfBlocks(sumBlocks_[r0 * kBlockLanes], lanes_, stepRows, kRepeatLanes, kBlockLanes,
                kFoldedLanes);
            // the blocks of a column of fractals, a group, follow each other, row by row
            WaitFlag<HardEvent::MTE3_V>(kProbFree);
            for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                Cast(prob_[c0 / kRepeatLanes * kRowsPerStep * kFractal], score[c0],
                    RoundMode::CAST_RINT, kRepeatLanes, stepRows,
                    UnaryRepeatParams(kGroupPitch / kBlockHalves, 1, 1, kTileKeys / kBlockLanes));
            }
            SetFlag<HardEvent::V_MTE3>(kProbReady);
            const int64_t columnGroups = CeilDiv(keys, kFractal);
            WaitFlag<HardEvent::V_MTE3>(kProbReady);
            for (int64_t column = 0;
                 column < MinOf(kRepeatLanes / kFractal, columnGroups);
                 ++column) {
                StoreRows(probRingGm_[slot * tiling_.rowsPerTask * kTileKeys
                    + (taskHalf.rowBegin + r0 + column * tiling_.rowsPerTask) * kFractal],
                    prob_[column * kGroupPitch],
                    CeilDiv(columnGroups - column, kRepeatLanes / kFractal), stepRows * kFractal,
                    kRepeatLanes / kFractal * tiling_.rowsPerTask * kFractal,
                    kRowsPerStep * kFractal);
            }
            SetFlag<HardEvent::MTE3_V>(kProbFree);
            SetFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
            scoreSlot_ = (scoreSlot_ + 1) % kDoubleBuffer;
        }
        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kProbRingReady);
        // rowSum = rowSum * rescale + row sum of the tile
        if (taskHalf.rows > 0) {
            PipeBarrier<PIPE_V>();
            SumOfBlocks(tileSum_, sumBlocks_, CeilDiv(taskHalf.rows, kBlockLanes), kRepeatLanes,
                kBlockLanes, kRepeatLanes);
            Mul(rowSum_[taskHalf.halfSlot * kRowsPerVector],
                rowSum_[taskHalf.halfSlot * kRowsPerVector], rescale_[slot * kRowsPerVector],
                taskHalf.rows);
            PipeBarrier<PIPE_V>();
            Add(rowSum_[taskHalf.halfSlot * kRowsPerVector],
                rowSum_[taskHalf.halfSlot * kRowsPerVector], tileSum_, taskHalf.rows);
        }
    }

    // Rescales the sums so far where the next tile has a larger maximum, before the cube adds that
    // tile's.
    __aicore__ inline void UpdateTile(const Item &work, const Half &taskHalf, int64_t step,
        int64_t slot)
    {
        CrossCoreWaitFlag(kOutRingReady);
        if (step < work.steps - work.halves) {
            if (taskHalf.rows > 0) {
                WaitFlag<HardEvent::S_V>(kGrownFree);
                CopyLanes(grown_,
                    growth_[(slot + work.halves) % kRing
                        * (kRowsPerVector / kRowsPerStep * kBlockLanes)],
                    kRowsPerVector / kRowsPerStep * kBlockLanes);
                SetFlag<HardEvent::V_S>(kGrownReady);
                // maxima grow rarely once an item has begun: the scalar unit looks where
                WaitFlag<HardEvent::V_S>(kGrownReady);
                for (int64_t r0 = 0; r0 < taskHalf.rows; r0 += kRowsPerStep) {
                    const int64_t stepRows = MinOf(kRowsPerStep, taskHalf.rows - r0);
                    const bool grew = !(grown_.GetValue(r0 / kRowsPerStep * kBlockLanes) >= 0);
                    if (grew) {
                        const int64_t ringRow = RingRow(taskHalf.halfSlot, taskHalf.rowBegin + r0);
                        WaitFlag<HardEvent::V_MTE2>(kPartialFreeVMte2);
                        WaitFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2);
                        LoadRow(partial_, outRingGm_[ringRow * kPaddedValueSize],
                            stepRows * kPaddedValueSize);
                        SetFlag<HardEvent::MTE2_V>(kPartialReadyMte2V);
                        // sums = sums * rescale
                        PipeBarrier<PIPE_V>();
                        SpreadOverBlocks<2>(rowBlocks_,
                            rescale_[(slot + work.halves) % kRing * kRowsPerVector + r0],
                            kRowsPerStep);
                        WaitFlag<HardEvent::MTE2_V>(kPartialReadyMte2V);
                        PipeBarrier<PIPE_V>();
                        MulRows<2>(partial_, rowBlocks_, stepRows, kPaddedValueSize,
                            kPaddedValueSize);
                        SetFlag<HardEvent::V_MTE2>(kPartialFreeVMte2);
                        SetAndWaitFlag<HardEvent::V_MTE3>(kPartialReadyVMte3);
                        StoreRow(outRingGm_[ringRow * kPaddedValueSize], partial_,
                            stepRows * kPaddedValueSize);
                        SetFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2);
                    }
                }
                SetFlag<HardEvent::S_V>(kGrownFree);
            }
            CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kOutRingRescaled);
        }
    }

    // Rows of a finished item: normalized to the output, or stored as a partial of their key split.
    __aicore__ inline void WriteRows(const Item &work, const Half &taskHalf, int64_t step)
    {
        // rows are stored by runs: the positions of a single head, or the heads of each
        const int64_t runLength = work.heads == 1 ? taskHalf.rowBegin + taskHalf.rows : work.heads;
        if (tiling_.splits == 1) {
            for (int64_t r0 = 0; r0 < taskHalf.rows; r0 += kRowsPerStep) {
                const int64_t stepRows = MinOf(kRowsPerStep, taskHalf.rows - r0);
                // result = partial / rowSum; a row without keys has sum 0 and gives zeros
                PipeBarrier<PIPE_V>();
                Maxs(rowSum_[r0 + taskHalf.halfSlot * kRowsPerVector],
                    rowSum_[r0 + taskHalf.halfSlot * kRowsPerVector], float(kSmallest), stepRows);
                WaitFlag<HardEvent::V_MTE2>(kPartialFreeVMte2);
                WaitFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2);
                SetFlag<HardEvent::MTE2_MTE3>(kPartialTaken);
                if (step < work.keySteps) {
                    LoadRow(partial_,
                        outRingGm_[RingRow(taskHalf.halfSlot, taskHalf.rowBegin + r0)
                            * kPaddedValueSize],
                        stepRows * kPaddedValueSize);
                }
                SetAndWaitFlag<HardEvent::MTE2_V>(kPartialReadyMte2V);
                if (step >= work.keySteps) {
                    // an item without keys has no sums
                    Duplicate(partial_, 0.0f, stepRows * kPaddedValueSize);
                }
                PipeBarrier<PIPE_V>();
                SpreadOverBlocks<2>(rowBlocks_, rowSum_[r0 + taskHalf.halfSlot * kRowsPerVector],
                    kRowsPerStep);
                PipeBarrier<PIPE_V>();
                DivRows<2>(partial_, rowBlocks_, stepRows, kPaddedValueSize, kPaddedValueSize);
                WaitFlag<HardEvent::MTE3_V>(kResultFree);
                PipeBarrier<PIPE_V>();
                Cast(result_, partial_, RoundMode::CAST_RINT, stepRows * kPaddedValueSize);
                SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady);
                StoreRuns(outputGm_[work.batch * tiling_.outputStrideB
                    + work.firstHead * tiling_.outputStrideN
                    + taskHalf.firstQuery * tiling_.outputStrideQ],
                    result_, taskHalf.rowBegin + r0, stepRows, runLength, work.heads,
                    tiling_.valueDim, tiling_.outputStrideN, tiling_.outputStrideQ,
                    kPaddedValueSize);
                SetFlag<HardEvent::MTE3_V>(kResultFree);
                SetFlag<HardEvent::V_MTE2>(kPartialFreeVMte2);
                WaitFlag<HardEvent::MTE2_MTE3>(kPartialTaken);
                SetFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2);
            }
        } else {
            for (int64_t r0 = 0; r0 < taskHalf.rows; r0 += kRowsPerStep) {
                const int64_t stepRows = MinOf(kRowsPerStep, taskHalf.rows - r0);
                WaitFlag<HardEvent::MTE3_MTE2>(kMaxOutFree);
                if (step < work.keySteps) {
                    LoadRow(rowsOut_,
                        outRingGm_[RingRow(taskHalf.halfSlot, taskHalf.rowBegin + r0)
                            * kPaddedValueSize],
                        stepRows * kPaddedValueSize);
                }
                SetAndWaitFlag<HardEvent::MTE2_V>(kRowsOutReady);
                if (step >= work.keySteps) {
                    // an item without keys has no sums
                    Duplicate(rowsOut_, 0.0f, stepRows * kPaddedValueSize);
                }
                PipeBarrier<PIPE_V>();
                SpreadOverBlocks<1>(maxOut_, rowMax_[r0 + taskHalf.halfSlot * kRowsPerVector],
                    kRowsPerStep);
                SpreadOverBlocks<1>(sumOut_, rowSum_[r0 + taskHalf.halfSlot * kRowsPerVector],
                    kRowsPerStep);
                SetAndWaitFlag<HardEvent::V_MTE3>(kMaxOutReady);
                for (int64_t run = (taskHalf.rowBegin + r0) / runLength;
                     run < CeilDiv(taskHalf.rowBegin + r0 + stepRows, runLength);
                     ++run) {
                    const int64_t row = MaxOf(0, run * runLength - (taskHalf.rowBegin + r0));
                    const int64_t runRows =
                        MinOf(stepRows, (run + 1) * runLength - (taskHalf.rowBegin + r0)) - row;
                    const int64_t head =
                        work.firstHead + (taskHalf.rowBegin + r0 + row) % work.heads;
                    const int64_t queryIndex =
                        taskHalf.firstQuery + (taskHalf.rowBegin + r0 + row) / work.heads;
                    const int64_t partialRow =
                        work.split * tiling_.rowTotal
                            + (work.batch * tiling_.qRows + queryIndex) * tiling_.queryHeads + head;
                    const int64_t rowDistance = work.heads == 1 ? tiling_.queryHeads : 1;
                    StoreRows(partialMaxGm_[partialRow * kBlockLanes], maxOut_[row * kBlockLanes],
                        runRows, kBlockLanes, rowDistance * kBlockLanes, kBlockLanes);
                    StoreRows(partialSumGm_[partialRow * kBlockLanes], sumOut_[row * kBlockLanes],
                        runRows, kBlockLanes, rowDistance * kBlockLanes, kBlockLanes);
                    StoreRows(partialOutGm_[partialRow * kPaddedValueSize],
                        rowsOut_[row * kPaddedValueSize], runRows, kPaddedValueSize,
                        rowDistance * kPaddedValueSize, kPaddedValueSize);
                }
                SetFlag<HardEvent::MTE3_MTE2>(kMaxOutFree);
            }
        }
    }

    // The partials that key splits left of the rows of a step, merged into the rows: both sides are
    // rescaled to the larger maximum and added.
    __aicore__ inline void MergeParts(int64_t stepRows, int64_t firstRow)
    {
        for (int64_t part = 0; part < tiling_.splits; ++part) {
            const int64_t partialRow = part * tiling_.rowTotal + firstRow;
            WaitFlag<HardEvent::V_MTE2>(kPartialFreeVMte2);
            WaitFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2);
            SetFlag<HardEvent::MTE2_MTE3>(kPartialTaken);
            LoadRow(partMax_, partialMaxGm_[partialRow * kBlockLanes], stepRows * kBlockLanes);
            LoadRow(partSum_, partialSumGm_[partialRow * kBlockLanes], stepRows * kBlockLanes);
            LoadRow(partial_, partialOutGm_[partialRow * kPaddedValueSize],
                stepRows * kPaddedValueSize);
            SetAndWaitFlag<HardEvent::MTE2_V>(kPartMaxReady);
            MergePartial(accumulator_, mergedMax_, mergedSum_, partial_, partMax_, partSum_,
                newMaxBlocks_, mergedRescale_, stepRows, kPaddedValueSize);
            SetFlag<HardEvent::V_MTE2>(kPartialFreeVMte2);
            WaitFlag<HardEvent::MTE2_MTE3>(kPartialTaken);
            SetFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2);
        }
    }

    // The merged rows of a step to the output.
    __aicore__ inline void WriteMerged(int64_t firstHead, int64_t stepRows, int64_t batch,
        int64_t queryIndex)
    {
        WaitFlag<HardEvent::MTE3_V>(kResultFree);
        PipeBarrier<PIPE_V>();
        Cast(result_, accumulator_, RoundMode::CAST_RINT, stepRows * kPaddedValueSize);
        SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady);
        StoreRows(outputGm_[batch * tiling_.outputStrideB + firstHead * tiling_.outputStrideN
            + queryIndex * tiling_.outputStrideQ],
            result_, stepRows, tiling_.valueDim, tiling_.outputStrideN, kPaddedValueSize);
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
            const int64_t batch = token / tiling_.qRows;
            const int64_t queryIndex = token % tiling_.qRows;
            if (MinOf(seqLenGm_.GetValue(batch), tiling_.qRows) > queryIndex) {
                Duplicate(mergedMax_, float(kLowest), stepRows * kBlockLanes);
                Duplicate(mergedSum_, 0.0f, stepRows * kBlockLanes);
                PipeBarrier<PIPE_V>();
                Duplicate(accumulator_, 0.0f, stepRows * kPaddedValueSize);
                MergeParts(stepRows, firstRow);
                // result = accumulator / sum; a row without keys has sum 0 and gives zeros
                Maxs(mergedSum_, mergedSum_, float(kSmallest), stepRows * kBlockLanes);
                PipeBarrier<PIPE_V>();
                DivRows<1>(accumulator_, mergedSum_, stepRows, kPaddedValueSize, kPaddedValueSize);
                WriteMerged(firstHead, stepRows, batch, queryIndex);
            }
        }
    }

    // Zeros for the positions after the last query of each batch row.
    __aicore__ inline void ZeroPadding()
    {
        Duplicate(zeroWide_, 0.0f, kRowsPerStep * kPaddedValueSize);
        PipeBarrier<PIPE_V>();
        Cast(zeroRows_, zeroWide_, RoundMode::CAST_RINT, kRowsPerStep * kPaddedValueSize);
        SetAndWaitFlag<HardEvent::V_MTE3>(kZeroRowsReady);
        for (int64_t token = blockIndex_ * kVectorCores + subBlock_;
             token < tiling_.batchRows * tiling_.qRows;
             token += blockCount_ * kVectorCores) {
            const int64_t batch = token / tiling_.qRows;
            const int64_t queryIndex = token % tiling_.qRows;
            if (MinOf(seqLenGm_.GetValue(batch), tiling_.qRows) <= queryIndex) {
                for (int64_t head = 0; head < tiling_.queryHeads; head += kRowsPerStep) {
                    const int64_t stepRows = MinOf(kRowsPerStep, tiling_.queryHeads - head);
                    StoreRows(outputGm_[batch * tiling_.outputStrideB
                        + head * tiling_.outputStrideN + queryIndex * tiling_.outputStrideQ],
                        zeroRows_, stepRows, tiling_.valueDim, tiling_.outputStrideN,
                        kPaddedValueSize);
                }
            }
        }
    }

    SelfAttentionPaEncoderTiling tiling_{};

    // The next slot of each multi-buffered tensor
    uint32_t keyL1Slot_ = 0, rightL0Slot_ = 0, leftL0Slot_ = 0, productL0Slot_ = 0, probL1Slot_ = 0;
    uint32_t scoreSlot_ = 0;

    // Running sums: the end of the range, and the sum up to it
    int64_t rowsBeforeEnd_ = 0, rowsBeforeSum_ = 0;

    // The steps and items that have begun; the scalars of the last steps, and their items
    int64_t stepsBegun_ = 0, itemsBegun_ = 0;
    struct CubeStep {
        int64_t step, itemSlot, keyStart;
    } cubeSteps_[kRing]{};
    struct VectorStep {
        int64_t step, itemSlot;
    } vectorSteps_[kRing]{};
    // An item keeps its place until its last step is finished. When one is decoded, at most
    // kPrefetch others have a step that is not: it takes a place that none of these has.
    Item items_[kRing];

    // Global memory
    GlobalTensor<T> queryGm_;
    GlobalTensor<T> keyGm_;
    GlobalTensor<int64_t> seqLenGm_;
    GlobalTensor<T> outputGm_;
    GlobalTensor<float> outRingGm_;  // ring of weighted sums, cube to vector
    GlobalTensor<float> partialMaxGm_;  // row maxima of key splits
    GlobalTensor<float> partialSumGm_;  // row sums of key splits
    GlobalTensor<float> partialOutGm_;  // weighted sums of key splits
    GlobalTensor<float> scoreRingGm_;  // ring of score tiles, cube to vector
    GlobalTensor<T> probRingGm_;  // ring of probability tiles, vector to cube

    // On-chip buffers with a single slot
    LocalTensor<float> rowMax_, rowSum_, lanes_, rowBlocks_, tileStat_, newMax_, rescale_, growth_;
    LocalTensor<float> sumBlocks_, tileSum_, grown_, partial_, maxOut_, sumOut_, rowsOut_;
    LocalTensor<float> mergedMax_, mergedSum_, accumulator_, partMax_, partSum_, newMaxBlocks_;
    LocalTensor<float> mergedRescale_, zeroWide_;
    LocalTensor<T> prob_, result_, zeroRows_;
    LocalTensor<T> valueL1_;
};

}  // namespace self_attention_pa_encoder_d128_e128_query_padded

#endif  // ATTNDSL_SELF_ATTENTION_PA_ENCODER_D128_E128_QUERY_PADDED_H
