/*
 * relay_attention_d128
 * Attention of one new query token a batch row over its own keys and those of its share group.
 *
 * Contract: ATB RelayAttentionOperation
 * Spec: relay_attention.py; "spec line" in a comment is a line of it.
 * Specialized on
 *   dtype T of query, key, value, keyShare, valueShare, attentionMask, out: float16 or bfloat16
 *   head size D from 113 to 128
 * Batch, heads, lengths and strides are run-time values.
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Step t, the cube running ahead:
 *   AIV  WarmScores    tile t              first kRing steps
 *   AIV  StartRows     tile t              first tile of an item
 *   AIC  ScoreTile     tile t              sets kScoreRingReady
 *   AIV  SoftmaxTile   tile t              waits for kScoreRingReady, sets kProbRingReady
 *   AIC  WeightedTile  tile t - kPrefetch  waits for kProbRingReady, sets kOutRingReady
 *   AIV  StartSums     tile t - kPrefetch  first tile of an item
 *   AIV  UpdateTile    tile t - kPrefetch  waits for kOutRingReady
 *   AIV  WriteRows     tile t - kPrefetch  last tile of an item
 *
 * Written by attndsl from the operator's spec. Every event, barrier and flag is explicit: the
 * kernel does not rely on the compiler's automatic synchronization.
 */
#ifndef ATTNDSL_RELAY_ATTENTION_D128_H
#define ATTNDSL_RELAY_ATTENTION_D128_H

#include "kernel_operator.h"
#include "kernel_operator_list_tensor_intf.h"
#include "attndsl_kernel.h"
#include "relay_attention_d128_schedule.h"
#include "relay_attention_tiling.h"

namespace relay_attention_d128 {

using namespace AscendC;

constexpr float kLowest = -3.4028234663852886e+38f;  // initial row maximum: no key seen yet
// smallest normal number, the sum of a row without keys
constexpr float kSmallest = 1.1754943508222875e-38f;

// Event ids by pipe pair. Ready: the content may be read; Free: the slot may be written again.
// FreeXY: pipe X no longer uses the slot, Y may begin. TakenYX answers FreeXY: Y took it. An event
// holds one signal. Where X could set FreeXY a second time before Y has waited for the first, Y
// sets TakenYX right after its wait, and X waits for it before it sets FreeXY again. With two slots
// X may write one before it waits for that slot's TakenYX: Y set the other slot's, which X waited
// for in the turn before, after all its work on this one. Done/Taken: before any cross-core flag of
// this pair of pipes one waits for the other, which then waits for it; named after the first such
// flag. Buffers with one lifetime share an event, named after the first.
constexpr int32_t kProductL0Free = 0;  // FIX_M, productL0: one id per slot
constexpr int32_t kRightL0Ready = 0;  // MTE1_M, rightL0: one id per slot
constexpr int32_t kLeftL0Ready = 2;  // MTE1_M, leftL0: one id per slot
constexpr int32_t kKeyL1Free = 0;  // MTE1_MTE2, keyL1: one id per slot
constexpr int32_t kProbL1Free = 2;  // MTE1_MTE2, probL1: one id per slot
constexpr int32_t kValueL1Free = 4;  // MTE1_MTE2, valueL1: one id per slot
constexpr int32_t kQueryL1Free = 6;  // MTE1_MTE2, queryL1: one id per slot
constexpr int32_t kQueryL1Ready = 0;  // MTE2_MTE1, queryL1: one id per slot
constexpr int32_t kKeyL1Ready = 2;  // MTE2_MTE1, keyL1: one id per slot
// MTE2_MTE1, probL1 and, loaded before it by the same pipe, valueL1: one id per slot
constexpr int32_t kProbL1Ready = 4;
constexpr int32_t kPartialTakenMte2Mte3 = 0;  // MTE2_MTE3, partial: one id per slot
constexpr int32_t kProbRingReadyMTE2Done = 2;  // MTE2_MTE3
constexpr int32_t kPartialTakenMte2V = 0;  // MTE2_V, partial: one id per slot
constexpr int32_t kScoreReady = 2;  // MTE2_V, score: one id per slot
constexpr int32_t kPartialReadyMte2V = 4;  // MTE2_V, partial: one id per slot
constexpr int32_t kPartMaxReady = 6;  // MTE2_V, partMax, partSum, partial: one id per slot
constexpr int32_t kPartialFreeMte3Mte2 = 0;  // MTE3_MTE2, partial: one id per slot
constexpr int32_t kProbRingReadyMTE2Taken = 2;  // MTE3_MTE2
constexpr int32_t kPartialFreeMte3V = 0;  // MTE3_V, partial: one id per slot
constexpr int32_t kProbFree = 2;  // MTE3_V, prob
constexpr int32_t kMaxOutFree = 3;  // MTE3_V, maxOut, sumOut: one id per slot
constexpr int32_t kResultFree = 5;  // MTE3_V, result: one id per slot
constexpr int32_t kProductL0Ready = 0;  // M_FIX, productL0: one id per slot
constexpr int32_t kLeftL0Free = 0;  // M_MTE1, leftL0: one id per slot
constexpr int32_t kRightL0Free = 2;  // M_MTE1, rightL0: one id per slot
constexpr int32_t kScoreFree = 0;  // V_MTE2, score: one id per slot
constexpr int32_t kPartialTakenVMte2 = 2;  // V_MTE2, partial: one id per slot
constexpr int32_t kPartialReadyVMte3 = 0;  // V_MTE3, partial: one id per slot
constexpr int32_t kProbReady = 2;  // V_MTE3, prob
constexpr int32_t kMaxOutReady = 3;  // V_MTE3, maxOut, sumOut, partial: one id per slot
constexpr int32_t kResultReady = 5;  // V_MTE3, result: one id per slot

// Cross-core flags. Ready: a slot of the ring is written. Before: all cores of a kind have done
// what comes before a stage. None says that a slot is free: in the order of the stages it is read
// before it is written again.
constexpr uint16_t kScoreRingReady = 0;
constexpr uint16_t kProbRingReady = 1;
constexpr uint16_t kOutRingReady = 2;
constexpr uint16_t kBeforeMergePartials = 3;

template <typename T>
class RelayAttentionKernel : attndsl::KernelBase {
public:
    // Arguments: tensors in the contract's order, the user's part of the workspace, the tiling
    // data. Not read: attentionMask (reserved, its content is ignored), seqLen.
    __aicore__ inline void Run(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR keyShare,
        GM_ADDR valueShare, GM_ADDR attentionMask, GM_ADDR seqLen, GM_ADDR kvSeqLen,
        GM_ADDR kvShareMap, GM_ADDR kvShareLen, GM_ADDR out, GM_ADDR workspace,
        const RelayAttentionTiling &tiling)
    {
        TPipe pipe;
        tiling_ = tiling;
        FindCore();
        Bind(queryGm_, query);
        Bind(kvSeqLenGm_, kvSeqLen);
        Bind(kvShareMapGm_, kvShareMap);
        Bind(kvShareLenGm_, kvShareLen);
        Bind(outGm_, out);
        Bind(partialMaxKeyGm_, workspace + tiling_.partialMaxKeyOffset);
        Bind(partialSumKeyGm_, workspace + tiling_.partialSumKeyOffset);
        Bind(partialOutKeyGm_, workspace + tiling_.partialOutKeyOffset);
        Bind(scoreRingGm_,
            workspace + tiling_.scoreRingOffset + blockIndex_ * tiling_.scoreRingPart);
        Bind(probRingGm_, workspace + tiling_.probRingOffset + blockIndex_ * tiling_.probRingPart);
        Bind(outRingGm_, workspace + tiling_.outRingOffset + blockIndex_ * tiling_.outRingPart);
        Bind(partialMaxKeyShareGm_, workspace + tiling_.partialMaxKeyShareOffset);
        Bind(partialSumKeyShareGm_, workspace + tiling_.partialSumKeyShareOffset);
        Bind(partialOutKeyShareGm_, workspace + tiling_.partialOutKeyShareOffset);
        if ASCEND_IS_AIC {
            // A list that no item reads may be empty: it has no descriptor to decode then.
            if (tiling_.itemsKey > 0) {
                keyList_.Init(key);
                valueList_.Init(value);
            }
            if (tiling_.itemsKeyShare > 0) {
                keyShareList_.Init(keyShare);
                valueShareList_.Init(valueShare);
            }
            TakeCubeMemories(pipe, kL1End, kL0aEnd, kL0bEnd, kL0cEnd);
        }
        if ASCEND_IS_AIV {
            TakeVectorMemory(pipe, kUbEnd);
            accumulator_ = View<float>(ub_, kAccumulatorAt);
            lanes_ = View<float>(ub_, kLanesAt);
            rowMax_ = View<float>(ub_, kRowMaxAt);
            rowSum_ = View<float>(ub_, kRowSumAt);
            resultBlocks_ = View<float>(ub_, kResultBlocksAt);
            rowBlocks_ = View<float>(ub_, kRowBlocksAt);
            mergedMax_ = View<float>(ub_, kMergedMaxAt);
            mergedSum_ = View<float>(ub_, kMergedSumAt);
            newMaxBlocks_ = View<float>(ub_, kNewMaxBlocksAt);
            mergedRescale_ = View<float>(ub_, kMergedRescaleAt);
            rescale_ = View<float>(ub_, kRescaleAt);
            tileStat_ = View<float>(ub_, kTileStatAt);
            newMax_ = View<float>(ub_, kNewMaxAt);
            prob_ = View<T>(ub_, kProbAt);
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
        const StageOperands keyOperands = KeyOperands();
        const StageOperands keyShareOperands = KeyShareOperands();
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            SetFlag<HardEvent::FIX_M>(kProductL0Free + slot);
            SetFlag<HardEvent::M_MTE1>(kLeftL0Free + slot);
            SetFlag<HardEvent::M_MTE1>(kRightL0Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free + slot);
            SetFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + slot);
        }
        const ItemOrder order = OrderOfItems();
        // One turn more than the block has items: it drains the pipeline. The plan launches no more
        // blocks than there are items; without items there is no turn.
        const int64_t placesEnd = order.itemsOfBlock + MinOf(order.itemsOfBlock, 1);
        for (int64_t place = 0; place < placesEnd; ++place) {
            // The item takes this place when its first step begins.
            const int64_t itemSlot = (itemsBegun_ + 1) % kRing;
            items_[itemSlot] = ItemAt(order, place);
            const Item &work = items_[itemSlot];
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + queryL1Slot_);
            LoadQuery(work);
            SetAndWaitFlag<HardEvent::MTE2_MTE1>(kQueryL1Ready + queryL1Slot_);
            for (int64_t tile = 0; tile < work.steps; ++tile) {
                const int64_t slot = stepsBegun_++ % kRing;
                itemsBegun_ += tile == 0;
                cubeSteps_[slot].tile = tile;
                cubeSteps_[slot].itemSlot = itemSlot;
                if (tile < work.tiles) {
                    ScoreTile(work.overKey ? keyOperands : keyShareOperands, work, tile, slot);
                }
                if (stepsBegun_ > kPrefetch) {
                    const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;
                    const CubeStep &earlier = cubeSteps_[earlierSlot];
                    const Item &earlierWork = items_[earlier.itemSlot];
                    if (earlier.tile < earlierWork.tiles) {
                        WeightedTile(earlierWork.overKey ? keyOperands : keyShareOperands,
                            earlierWork, earlier.tile, earlierSlot);
                    }
                }
            }
            SetFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + queryL1Slot_);
            queryL1Slot_ = (queryL1Slot_ + 1) % kDoubleBuffer;
        }
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            WaitFlag<HardEvent::FIX_M>(kProductL0Free + slot);
            WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + slot);
            WaitFlag<HardEvent::M_MTE1>(kRightL0Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + slot);
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free + slot);
        }
    }

    __aicore__ inline void RunVector()
    {
        SetFlag<HardEvent::MTE3_V>(kPartialFreeMte3V);
        SetFlag<HardEvent::MTE3_V>(kPartialFreeMte3V + 1);
        SetFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2);
        SetFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2 + 1);
        SetFlag<HardEvent::MTE3_V>(kProbFree);
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            SetFlag<HardEvent::V_MTE2>(kScoreFree + slot);
            SetFlag<HardEvent::MTE3_V>(kMaxOutFree + slot);
            SetFlag<HardEvent::MTE3_V>(kResultFree + slot);
        }
        const ItemOrder order = OrderOfItems();
        // One turn more than the block has items: it drains the pipeline. The plan launches no more
        // blocks than there are items; without items there is no turn.
        const int64_t placesEnd = order.itemsOfBlock + MinOf(order.itemsOfBlock, 1);
        for (int64_t place = 0; place < placesEnd; ++place) {
            // The item takes this place when its first step begins.
            const int64_t itemSlot = (itemsBegun_ + 1) % kRing;
            items_[itemSlot] = ItemAt(order, place);
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
                if (work.overKey && tile < work.tiles && stepsBegun_ <= kRing) {
                    WarmScores(slot);
                }
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
        MergePartials();
        WaitFlag<HardEvent::MTE3_V>(kPartialFreeMte3V);
        WaitFlag<HardEvent::MTE3_V>(kPartialFreeMte3V + 1);
        WaitFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2);
        WaitFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2 + 1);
        WaitFlag<HardEvent::MTE3_V>(kProbFree);
        for (int32_t slot = 0; slot < kDoubleBuffer; ++slot) {
            WaitFlag<HardEvent::V_MTE2>(kScoreFree + slot);
            WaitFlag<HardEvent::MTE3_V>(kMaxOutFree + slot);
            WaitFlag<HardEvent::MTE3_V>(kResultFree + slot);
        }
    }

    // Operands of one attention, for the stages that both have.
    struct StageOperands {
        GlobalTensor<T> &keyGm;
        GlobalTensor<T> &valueGm;
        const GlobalTensor<float> &partialMaxGm;  // row maxima of key splits
        const GlobalTensor<float> &partialSumGm;  // row sums of key splits
        const GlobalTensor<float> &partialOutGm;  // weighted sums of key splits
        ListTensorDesc &keyList;
        ListTensorDesc &valueList;
        int64_t keyStrideK = 0;  // elements between neighbours of key along K
        int64_t keyStrideT = 0;  // elements between neighbours of key along T
        int64_t valueStrideK = 0;  // elements between neighbours of value along K
        int64_t valueStrideT = 0;  // elements between neighbours of value along T
        int64_t splits = 0;  // parts the keys of a row are split into
    };

    // The attention over key.
    __aicore__ inline StageOperands KeyOperands()
    {
        StageOperands found{
            keyGm_,  // keyGm
            valueGm_,  // valueGm
            partialMaxKeyGm_,  // partialMaxGm
            partialSumKeyGm_,  // partialSumGm
            partialOutKeyGm_,  // partialOutGm
            keyList_,  // keyList
            valueList_,  // valueList
        };
        found.keyStrideK = tiling_.keyStrideK;
        found.keyStrideT = tiling_.keyStrideT;
        found.valueStrideK = tiling_.valueStrideK;
        found.valueStrideT = tiling_.valueStrideT;
        found.splits = tiling_.splitsKey;
        return found;
    }

    // The attention over keyShare.
    __aicore__ inline StageOperands KeyShareOperands()
    {
        StageOperands found{
            keyShareGm_,  // keyGm
            valueShareGm_,  // valueGm
            partialMaxKeyShareGm_,  // partialMaxGm
            partialSumKeyShareGm_,  // partialSumGm
            partialOutKeyShareGm_,  // partialOutGm
            keyShareList_,  // keyList
            valueShareList_,  // valueList
        };
        found.keyStrideK = tiling_.keyShareStrideK;
        found.keyStrideT = tiling_.keyShareStrideU;
        found.valueStrideK = tiling_.valueShareStrideK;
        found.valueStrideT = tiling_.valueShareStrideU;
        found.splits = tiling_.splitsKeyShare;
        return found;
    }

    // An item as cube and vector cores see it: its rows, heads and tiles of keys.
    struct Item {
        bool overKey;  // its keys are those of key, not of keyShare
        int64_t split;  // its part of the keys of the task
        int64_t kvHead;  // key/value head
        int64_t batch;  // batch row
        int64_t firstHead;  // first query head of the task
        int64_t heads;  // query heads of the task
        int64_t taskRows;  // query rows of the task
        int64_t rowFractals;  // fractals of 16 rows that the task's rows fill
        int64_t keyEnd;  // end of the keys of the task
        int64_t firstTile;  // first key tile of the item
        int64_t tiles;  // key tiles of the item
        int64_t steps;  // steps of the item in the pipeline: those with keys, or what drains it
        int64_t keyEntry;  // which tensors of the lists have its keys and values
        int64_t memberPlace;  // where its members begin in memberRows, over keyShare
        int64_t members;  // batch rows of the task, over keyShare
    };

    // The order in which a block takes its items, those of both attentions.
    struct ItemOrder {
        int64_t firstItemKeyShare;
        int64_t itemsOfBlockKeyShare;
        int64_t itemsOfBlock;
        int64_t placesSooner;
    };

    // The order of the block's items, as cube and vector cores take them.
    __aicore__ inline ItemOrder OrderOfItems()
    {
        ItemOrder found;
        const int64_t itemsOfBlockKey =
            CeilDiv(MaxOf(tiling_.itemsKey - blockIndex_, 0), blockCount_);
        found.firstItemKeyShare =
            (blockIndex_ + blockCount_ - tiling_.itemsKey % blockCount_) % blockCount_;
        found.itemsOfBlockKeyShare =
            CeilDiv(MaxOf(tiling_.itemsKeyShare - found.firstItemKeyShare, 0), blockCount_);
        found.itemsOfBlock = itemsOfBlockKey + found.itemsOfBlockKeyShare;
        // places from an item over keyShare to the next; these need L2 most, so blocks have them in
        // turn
        const int64_t placesBetween = (found.itemsOfBlock + 1) / (found.itemsOfBlockKeyShare + 1);
        // blocks whose items have the same keys keep step
        const int64_t firstOfKeys =
            found.firstItemKeyShare
                - found.firstItemKeyShare % (tiling_.headTiles * tiling_.memberTiles);
        found.placesSooner =
            placesBetween * (2 * firstOfKeys + 1) / (2 * blockCount_) - placesBetween / 2;
        return found;
    }

    // An item of the attention over key.
    __aicore__ inline Item DecodeItemForKey(int64_t turn)
    {
        Item found{};
        const int64_t item = MinOf(turn, tiling_.itemsKey - 1);
        // all tasks of one split follow each other: blocks beside each other have other tasks
        found.split = item / tiling_.tasksKey;
        const int64_t task = item % tiling_.tasksKey;
        // heads of one key/value head come in turn: cores share its keys and values in L2
        const int64_t headTile = task % tiling_.headTiles;
        found.kvHead = task / tiling_.headTiles % tiling_.kvHeads;
        found.batch = task / (tiling_.headTiles * tiling_.kvHeads);
        found.firstHead = found.kvHead * tiling_.group + headTile * tiling_.headsPerTask;
        found.heads = MinOf(tiling_.headsPerTask, tiling_.group - headTile * tiling_.headsPerTask);
        found.taskRows = found.heads;
        found.rowFractals = CeilDiv(found.taskRows, kFractal);
        const int64_t kvShareMapOfBatch = kvShareMapGm_.GetValue(found.batch);
        const int64_t visibleEnd =
            MinOf(kvSeqLenGm_.GetValue(found.batch)
                - (kvShareMapOfBatch >= 0 ? kvShareLenGm_.GetValue(kvShareMapOfBatch) : 0),
                tiling_.keyCapacityKey);
        found.keyEnd = turn >= tiling_.itemsKey ? 0 : visibleEnd;
        const int64_t tileTotal = CeilDiv(found.keyEnd, kTileKeys);
        const int64_t tilesPerSplit = CeilDiv(tileTotal, tiling_.splitsKey);
        found.firstTile = MinOf(found.split * tilesPerSplit, tileTotal);
        found.tiles = MinOf(tilesPerSplit, tileTotal - found.firstTile);
        found.steps = turn >= tiling_.itemsKey ? kPrefetch : MaxOf(found.tiles, 1);
        found.keyEntry = found.batch;
        return found;
    }

    // An item of the attention over keyShare.
    __aicore__ inline Item DecodeItemForKeyShare(int64_t turn)
    {
        Item found;
        // all tasks of one split follow each other: blocks beside each other have other tasks
        found.split = turn / tiling_.tasksKeyShare;
        const int64_t task = turn % tiling_.tasksKeyShare;
        found.memberPlace = (itemsBegun_ + 1) % kRing * kMaxRows;
        const int64_t memberTile = task % tiling_.memberTiles;
        const int64_t headTask = task / tiling_.memberTiles;
        // heads of one key/value head come in turn: cores share its keys and values in L2
        const int64_t headTile = headTask % tiling_.headTiles;
        found.kvHead = headTask / tiling_.headTiles % tiling_.kvHeads;
        const int64_t listEntry = headTask / (tiling_.headTiles * tiling_.kvHeads);
        found.firstHead = found.kvHead * tiling_.group + headTile * tiling_.headsPerTask;
        found.heads = MinOf(tiling_.headsPerTask, tiling_.group - headTile * tiling_.headsPerTask);
        int64_t membersFound = 0;
        int64_t candidatesToSkip = memberTile * tiling_.membersPerTask;
        for (int64_t candidate = 0;
             candidate < tiling_.batchRows && membersFound < kMaxRows;
             ++candidate) {
            if (kvShareMapGm_.GetValue(candidate) == listEntry) {
                if (candidatesToSkip > 0) {
                    --candidatesToSkip;
                } else {
                    memberRows_[found.memberPlace + membersFound++] = candidate;
                }
            }
        }
        found.members = MinOf(membersFound, tiling_.membersPerTask);
        found.taskRows = found.heads * found.members;
        found.rowFractals = CeilDiv(found.taskRows, kFractal);
        found.batch = found.members > 0 ? memberRows_[found.memberPlace] : 0;
        const int64_t kvShareMapOfBatch = kvShareMapGm_.GetValue(found.batch);
        found.keyEnd =
            kvShareMapOfBatch < 0
                ? 0
                : MinOf(kvShareLenGm_.GetValue(kvShareMapOfBatch), tiling_.keyCapacityKeyShare);
        const int64_t tileTotal = found.taskRows == 0 ? 0 : CeilDiv(found.keyEnd, kTileKeys);
        const int64_t tilesPerSplit = CeilDiv(tileTotal, tiling_.splitsKeyShare);
        found.firstTile = MinOf(found.split * tilesPerSplit, tileTotal);
        found.tiles = MinOf(tilesPerSplit, tileTotal - found.firstTile);
        found.steps = found.taskRows == 0 ? 0 : MaxOf(found.tiles, 1);
        found.keyEntry = listEntry;
        return found;
    }

    // The item at a place of the order. Behind the last one there is one without keys.
    __aicore__ inline Item ItemAt(const ItemOrder &order, int64_t place)
    {
        // items over keyShare stand evenly among the others: so many come before this place, and
        // the next one
        const int64_t before =
            MinOf(MaxOf((place + 1 + order.placesSooner) * (order.itemsOfBlockKeyShare + 1) - 1, 0)
                / (order.itemsOfBlock + 1),
                order.itemsOfBlockKeyShare);
        const int64_t after =
            MinOf(MaxOf((place + 2 + order.placesSooner) * (order.itemsOfBlockKeyShare + 1) - 1, 0)
                / (order.itemsOfBlock + 1),
                order.itemsOfBlockKeyShare);
        const bool overKey = after == before || before == order.itemsOfBlockKeyShare;
        const int64_t turn =
            overKey
                ? blockIndex_ + (place - before) * blockCount_
                : order.firstItemKeyShare + before * blockCount_;
        Item found = overKey ? DecodeItemForKey(turn) : DecodeItemForKeyShare(turn);
        found.overKey = overKey;
        return found;
    }

    // A row of a slot of a workspace ring, counted from the first of the first slot.
    __aicore__ inline int64_t RingRow(int64_t slot, int64_t row)
    {
        return slot * tiling_.rowsPerTask + row;
    }

    // Query rows of the task from global memory to L1.
    __aicore__ inline void LoadQuery(const Item &work)
    {
        auto queryL1 = View<T>(l1_, kQueryL1At + queryL1Slot_ * kQueryL1SlotBytes);
        if (work.tiles > 0) {
            if (work.overKey) {
                LoadNz(queryL1,
                    queryGm_[work.batch * tiling_.queryStrideB
                        + work.firstHead * tiling_.queryStrideN],
                    work.heads, tiling_.headDim, tiling_.queryStrideN, work.rowFractals * kFractal);
            } else {
                for (int64_t member = 0; member < work.members; ++member) {
                    const int64_t rowBatch = memberRows_[work.memberPlace + member];
                    LoadNz(queryL1[member * work.heads * kFractal],
                        queryGm_[rowBatch * tiling_.queryStrideB
                            + work.firstHead * tiling_.queryStrideN],
                        work.heads, tiling_.headDim, tiling_.queryStrideN,
                        work.rowFractals * kFractal);
                }
            }
        }
    }

    // Scores of one key tile, query times keys transposed, to their ring slot.
    __aicore__ inline void ScoreTile(const StageOperands &operands, const Item &work, int64_t tile,
        int64_t slot)
    {
        auto queryL1 = View<T>(l1_, kQueryL1At + queryL1Slot_ * kQueryL1SlotBytes);
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        operands.keyGm.SetGlobalBuffer(
            operands.keyList.template GetDataPtr<T>(static_cast<uint32_t>(work.keyEntry)));
        const int64_t keyTile = work.kvHead * operands.keyStrideK + firstKey * operands.keyStrideT;
        for (int64_t n0 = 0; n0 < keys; n0 += kBaseN) {
            const int64_t cols = MinOf(kBaseN, keys - n0);
            auto keyL1 = View<T>(l1_, kKeyL1At + keyL1Slot_ * kKeyL1SlotBytes);
            // to L1 (row by row if the pitch exceeds one copy's limit), then to L0A and L0B
            WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + keyL1Slot_);
            LoadNzOfAnyPitch(keyL1, operands.keyGm[keyTile + n0 * operands.keyStrideT], cols,
                tiling_.headDim, operands.keyStrideT, RoundUp(cols, kFractal));
            SetAndWaitFlag<HardEvent::MTE2_MTE1>(kKeyL1Ready + keyL1Slot_);
            {
                auto rightL0 = View<T>(l0b_, kRightL0At + rightL0Slot_ * kRightL0SlotBytes);
                WaitFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                LoadFractals(rightL0, keyL1,
                    CeilDiv(kPaddedHeadSize, kFractal) * CeilDiv(cols, kFractal), 1);
                SetAndWaitFlag<HardEvent::MTE1_M>(kRightL0Ready + rightL0Slot_);
                for (int64_t band = 0; band < work.taskRows; band += kRowsPerBand) {
                    const int64_t bandRows = MinOf(kRowsPerBand, work.taskRows - band);
                    const int64_t bandFractals = CeilDiv(bandRows, kFractal);
                    auto leftL0 = View<T>(l0a_, kLeftL0At + leftL0Slot_ * kLeftL0SlotBytes);
                    WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                    LoadLeft(leftL0, queryL1[band / kFractal * (kFractal * kFractal)], bandFractals,
                        CeilDiv(kPaddedHeadSize, kFractal), work.rowFractals);
                    SetAndWaitFlag<HardEvent::MTE1_M>(kLeftL0Ready + leftL0Slot_);
                    {
                        auto productL0 =
                            View<float>(l0c_, kProductL0At + productL0Slot_ * kProductL0SlotBytes);
                        WaitFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                        Mmad(productL0, leftL0, rightL0,
                            ProductParams(bandFractals * kFractal, cols, kPaddedHeadSize, true));
                        SetAndWaitFlag<HardEvent::M_FIX>(kProductL0Ready + productL0Slot_);
                        StoreProduct(scoreRingGm_[RingRow(slot, band) * kTileKeys + n0], productL0,
                            bandRows, RoundUp(cols, kFractal), kTileKeys, bandFractals * kFractal);
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
        CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kScoreRingReady);
    }

    // Weighted sum of one tile's values, probabilities times values, to its ring slot.
    __aicore__ inline void WeightedTile(const StageOperands &operands, const Item &work,
        int64_t tile, int64_t slot)
    {
        const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
        operands.valueGm.SetGlobalBuffer(
            operands.valueList.template GetDataPtr<T>(static_cast<uint32_t>(work.keyEntry)));
        const int64_t valueTile =
            work.kvHead * operands.valueStrideK + firstKey * operands.valueStrideT;
        CrossCoreWaitFlag(kProbRingReady);
        {
            auto valueL1 = View<T>(l1_, kValueL1At + valueL1Slot_ * kValueL1SlotBytes);
            // to L1 (row by row if the pitch exceeds one copy's limit), then to L0A and L0B
            WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
            LoadNzOfAnyPitch(valueL1, operands.valueGm[valueTile], keys, tiling_.headDim,
                operands.valueStrideT, RoundUp(keys, kFractal));
            for (int64_t band = 0; band < work.taskRows; band += kRowsPerBand) {
                const int64_t bandRows = MinOf(kRowsPerBand, work.taskRows - band);
                const int64_t bandFractals = CeilDiv(bandRows, kFractal);
                auto productL0 =
                    View<float>(l0c_, kProductL0At + productL0Slot_ * kProductL0SlotBytes);
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
                        const int64_t columnFractals = CeilDiv(kPaddedHeadSize, kFractal);
                        auto leftL0 = View<T>(l0a_, kLeftL0At + leftL0Slot_ * kLeftL0SlotBytes);
                        WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                        LoadLeft(leftL0,
                            probL1[k0 / kFractal * bandFractals * (kFractal * kFractal)],
                            bandFractals, depthFractals, bandFractals);
                        SetAndWaitFlag<HardEvent::MTE1_M>(kLeftL0Ready + leftL0Slot_);
                        {
                            auto rightL0 =
                                View<T>(l0b_, kRightL0At + rightL0Slot_ * kRightL0SlotBytes);
                            WaitFlag<HardEvent::M_MTE1>(kRightL0Free + rightL0Slot_);
                            LoadTransposed(rightL0,
                                valueL1[(k1 + k0) / kFractal * (kFractal * kFractal)],
                                depthFractals, columnFractals, CeilDiv(keys, kFractal));
                            SetAndWaitFlag<HardEvent::MTE1_M>(kRightL0Ready + rightL0Slot_);
                            // hardware orders Mmad into the same L0C only from 10 fractals on
                            if (bandFractals * kFractal * kPaddedHeadSize
                                < kOrderedFractals * kFractal * kFractal) {
                                PipeBarrier<PIPE_M>();
                            }
                            Mmad(productL0, leftL0, rightL0,
                                ProductParams(bandFractals * kFractal, kPaddedHeadSize, depth,
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
                SetAndWaitFlag<HardEvent::M_FIX>(kProductL0Ready + productL0Slot_);
                StoreProduct(outRingGm_[RingRow(slot, band) * kPaddedHeadSize], productL0, bandRows,
                    kPaddedHeadSize, kPaddedHeadSize, bandFractals * kFractal);
                SetFlag<HardEvent::FIX_M>(kProductL0Free + productL0Slot_);
                productL0Slot_ = (productL0Slot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
            valueL1Slot_ = (valueL1Slot_ + 1) % kDoubleBuffer;
        }
        CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kOutRingReady);
    }

    // Stores zeros to rows of a slot that larger tasks use later, so that L2 holds them then. Their
    // scores come after these zeros: the flag of the step's probabilities follows on the same pipe.
    __aicore__ inline void WarmScores(int64_t slot)
    {
        const int64_t firstRow =
            MinOf(subBlock_ * CeilDiv(tiling_.warmRows, kVectorCores), tiling_.warmRows);
        const int64_t endRow =
            MinOf(firstRow + CeilDiv(tiling_.warmRows, kVectorCores), tiling_.warmRows);
        auto partial = View<float>(ub_, kPartialAt + partialSlot_ * kPartialSlotBytes);
        WaitFlag<HardEvent::MTE3_V>(kPartialFreeMte3V + partialSlot_);
        SetFlag<HardEvent::V_MTE2>(kPartialTakenVMte2 + partialSlot_);
        SetFlag<HardEvent::MTE2_V>(kPartialTakenMte2V + partialSlot_);
        WaitFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2 + partialSlot_);
        SetFlag<HardEvent::MTE2_MTE3>(kPartialTakenMte2Mte3 + partialSlot_);
        PipeBarrier<PIPE_V>();
        Duplicate(partial, 0.0f, kRowsOfZeros * kTileKeys);
        WaitFlag<HardEvent::MTE2_V>(kPartialTakenMte2V + partialSlot_);
        SetAndWaitFlag<HardEvent::V_MTE3>(kPartialReadyVMte3 + partialSlot_);
        for (int64_t r0 = 0; r0 < endRow - firstRow; r0 += kRowsOfZeros) {
            const int64_t stepRows = MinOf(kRowsOfZeros, endRow - firstRow - r0);
            StoreRows(
                scoreRingGm_[RingRow(slot, tiling_.rowsPerTask - tiling_.warmRows + firstRow + r0)
                * kTileKeys],
                partial, stepRows, tiling_.warmKeys, kTileKeys, kTileKeys);
        }
        SetFlag<HardEvent::MTE3_V>(kPartialFreeMte3V + partialSlot_);
        WaitFlag<HardEvent::V_MTE2>(kPartialTakenVMte2 + partialSlot_);
        WaitFlag<HardEvent::MTE2_MTE3>(kPartialTakenMte2Mte3 + partialSlot_);
        SetFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2 + partialSlot_);
        partialSlot_ = (partialSlot_ + 1) % kDoubleBuffer;
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
            const int64_t span = (stepRows - 1) * kTileKeys + RoundUp(keys, kRepeatLanes);
            WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
            LoadRows(score, scoreRingGm_[RingRow(slot, rowBegin + r0) * kTileKeys], stepRows, keys,
                kTileKeys, kTileKeys);
            SetFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
            // score * qkScale  (spec line 92)
            WaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
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
            // rowSum = rowSum * rescale + row sum of the tile
            Duplicate(lanes_, 0.0f, stepRows * kFoldedLanes);
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
                    + (rowBegin + r0 + column * tiling_.rowsPerTask) * kFractal],
                    prob_[column * kGroupPitch],
                    CeilDiv(columnGroups - column, kRepeatLanes / kFractal), stepRows * kFractal,
                    kRepeatLanes / kFractal * tiling_.rowsPerTask * kFractal,
                    kRowsPerStep * kFractal);
            }
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
            Duplicate(accumulator_, 0.0f, rows * kPaddedHeadSize);
        }
    }

    // Adds one tile's weighted sum to the running one, rescaled to the new maximum.
    __aicore__ inline void UpdateTile(int64_t slot, int64_t rowBegin, int64_t rows)
    {
        CrossCoreWaitFlag(kOutRingReady);
        for (int64_t r0 = 0; r0 < rows; r0 += kResultRowsPerStep) {
            const int64_t stepRows = MinOf(kResultRowsPerStep, rows - r0);
            auto partial = View<float>(ub_, kPartialAt + partialSlot_ * kPartialSlotBytes);
            SetFlag<HardEvent::V_MTE2>(kPartialTakenVMte2 + partialSlot_);
            WaitFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2 + partialSlot_);
            SetFlag<HardEvent::MTE2_MTE3>(kPartialTakenMte2Mte3 + partialSlot_);
            LoadRow(partial, outRingGm_[RingRow(slot, rowBegin + r0) * kPaddedHeadSize],
                stepRows * kPaddedHeadSize);
            WaitFlag<HardEvent::V_MTE2>(kPartialTakenVMte2 + partialSlot_);
            SetFlag<HardEvent::MTE2_V>(kPartialReadyMte2V + partialSlot_);
            // accumulator = accumulator * rescale + partial
            SpreadOverBlocks<2>(resultBlocks_, rescale_[slot * kRowsPerVector + r0],
                kResultRowsPerStep);
            PipeBarrier<PIPE_V>();
            MulRows<2>(accumulator_[r0 * kPaddedHeadSize], resultBlocks_, stepRows, kPaddedHeadSize,
                kPaddedHeadSize);
            WaitFlag<HardEvent::MTE2_V>(kPartialReadyMte2V + partialSlot_);
            PipeBarrier<PIPE_V>();
            Add(accumulator_[r0 * kPaddedHeadSize], accumulator_[r0 * kPaddedHeadSize], partial,
                stepRows * kPaddedHeadSize);
            WaitFlag<HardEvent::MTE2_MTE3>(kPartialTakenMte2Mte3 + partialSlot_);
            SetFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2 + partialSlot_);
            partialSlot_ = (partialSlot_ + 1) % kDoubleBuffer;
        }
    }

    // Rows of a finished item: maxima, sums and weighted sums, to be merged after all items.
    __aicore__ inline void WriteRows(const Item &work, int64_t itemSlot, int64_t rowBegin,
        int64_t rows)
    {
        for (int64_t r0 = 0; r0 < rows; r0 += kResultRowsPerStep) {
            const int64_t stepRows = MinOf(kResultRowsPerStep, rows - r0);
            // Rows leave from partial, where sums arrive: UB has no room for a buffer of their own.
            // So loads (MTE2), V and stores (MTE3) take turns at it, each pair of pipes by events
            // of its own.
            auto maxOut = View<float>(ub_, kMaxOutAt + maxOutSlot_ * kMaxOutSlotBytes);
            auto sumOut = View<float>(ub_, kSumOutAt + maxOutSlot_ * kSumOutSlotBytes);
            WaitFlag<HardEvent::MTE3_V>(kMaxOutFree + maxOutSlot_);
            {
                auto partial = View<float>(ub_, kPartialAt + partialSlot_ * kPartialSlotBytes);
                PipeBarrier<PIPE_V>();
                SpreadOverBlocks<1>(maxOut, rowMax_[r0 + itemSlot * kRowsPerVector],
                    kResultRowsPerStep);
                SpreadOverBlocks<1>(sumOut, rowSum_[r0 + itemSlot * kRowsPerVector],
                    kResultRowsPerStep);
                WaitFlag<HardEvent::MTE3_V>(kPartialFreeMte3V + partialSlot_);
                SetFlag<HardEvent::V_MTE2>(kPartialTakenVMte2 + partialSlot_);
                SetFlag<HardEvent::MTE2_V>(kPartialTakenMte2V + partialSlot_);
                WaitFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2 + partialSlot_);
                SetFlag<HardEvent::MTE2_MTE3>(kPartialTakenMte2Mte3 + partialSlot_);
                CopyLanes(partial, accumulator_[r0 * kPaddedHeadSize], stepRows * kPaddedHeadSize);
                WaitFlag<HardEvent::MTE2_V>(kPartialTakenMte2V + partialSlot_);
                SetAndWaitFlag<HardEvent::V_MTE3>(kMaxOutReady + maxOutSlot_);
                if (work.overKey) {
                    const int64_t head = work.firstHead + rowBegin + r0;
                    const int64_t partialRow =
                        work.split * tiling_.rowTotal + work.batch * tiling_.queryHeads + head;
                    StoreRows(partialMaxKeyGm_[partialRow * kBlockLanes], maxOut, stepRows,
                        kBlockLanes, kBlockLanes, kBlockLanes);
                    StoreRows(partialSumKeyGm_[partialRow * kBlockLanes], sumOut, stepRows,
                        kBlockLanes, kBlockLanes, kBlockLanes);
                    StoreRows(partialOutKeyGm_[partialRow * kPaddedHeadSize], partial, stepRows,
                        kPaddedHeadSize, kPaddedHeadSize, kPaddedHeadSize);
                } else {
                    for (int64_t run = (rowBegin + r0) / work.heads;
                         run < CeilDiv(rowBegin + r0 + stepRows, work.heads);
                         ++run) {
                        const int64_t row = MaxOf(0, run * work.heads - (rowBegin + r0));
                        const int64_t runRows =
                            MinOf(stepRows, (run + 1) * work.heads - (rowBegin + r0)) - row;
                        const int64_t head = work.firstHead + (rowBegin + r0 + row) % work.heads;
                        const int64_t rowBatch =
                            memberRows_[work.memberPlace + (rowBegin + r0 + row) / work.heads];
                        const int64_t partialRow =
                            work.split * tiling_.rowTotal + rowBatch * tiling_.queryHeads + head;
                        StoreRows(partialMaxKeyShareGm_[partialRow * kBlockLanes],
                            maxOut[row * kBlockLanes], runRows, kBlockLanes, kBlockLanes,
                            kBlockLanes);
                        StoreRows(partialSumKeyShareGm_[partialRow * kBlockLanes],
                            sumOut[row * kBlockLanes], runRows, kBlockLanes, kBlockLanes,
                            kBlockLanes);
                        StoreRows(partialOutKeyShareGm_[partialRow * kPaddedHeadSize],
                            partial[row * kPaddedHeadSize], runRows, kPaddedHeadSize,
                            kPaddedHeadSize, kPaddedHeadSize);
                    }
                }
                SetFlag<HardEvent::MTE3_V>(kPartialFreeMte3V + partialSlot_);
                WaitFlag<HardEvent::V_MTE2>(kPartialTakenVMte2 + partialSlot_);
                WaitFlag<HardEvent::MTE2_MTE3>(kPartialTakenMte2Mte3 + partialSlot_);
                SetFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2 + partialSlot_);
                partialSlot_ = (partialSlot_ + 1) % kDoubleBuffer;
            }
            SetFlag<HardEvent::MTE3_V>(kMaxOutFree + maxOutSlot_);
            maxOutSlot_ = (maxOutSlot_ + 1) % kDoubleBuffer;
        }
    }

    // The partials that key splits left of the rows of a step, merged into the rows: both sides are
    // rescaled to the larger maximum and added.
    __aicore__ inline void MergeParts(const StageOperands &operands, int64_t stepRows,
        int64_t firstRow)
    {
        for (int64_t part = 0; part < operands.splits; ++part) {
            const int64_t partialRow = part * tiling_.rowTotal + firstRow;
            auto partial = View<float>(ub_, kPartialAt + partialSlot_ * kPartialSlotBytes);
            SetFlag<HardEvent::V_MTE2>(kPartialTakenVMte2 + partialSlot_);
            WaitFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2 + partialSlot_);
            SetFlag<HardEvent::MTE2_MTE3>(kPartialTakenMte2Mte3 + partialSlot_);
            {
                auto partMax = View<float>(ub_, kPartMaxAt + partMaxSlot_ * kPartMaxSlotBytes);
                auto partSum = View<float>(ub_, kPartSumAt + partMaxSlot_ * kPartSumSlotBytes);
                LoadRow(partMax, operands.partialMaxGm[partialRow * kBlockLanes],
                    stepRows * kBlockLanes);
                LoadRow(partSum, operands.partialSumGm[partialRow * kBlockLanes],
                    stepRows * kBlockLanes);
                LoadRow(partial, operands.partialOutGm[partialRow * kPaddedHeadSize],
                    stepRows * kPaddedHeadSize);
                SetAndWaitFlag<HardEvent::MTE2_V>(kPartMaxReady + partMaxSlot_);
                MergePartial(accumulator_, mergedMax_, mergedSum_, partial, partMax, partSum,
                    newMaxBlocks_, mergedRescale_, stepRows, kPaddedHeadSize);
                partMaxSlot_ = (partMaxSlot_ + 1) % kDoubleBuffer;
            }
            WaitFlag<HardEvent::V_MTE2>(kPartialTakenVMte2 + partialSlot_);
            WaitFlag<HardEvent::MTE2_MTE3>(kPartialTakenMte2Mte3 + partialSlot_);
            SetFlag<HardEvent::MTE3_MTE2>(kPartialFreeMte3Mte2 + partialSlot_);
            partialSlot_ = (partialSlot_ + 1) % kDoubleBuffer;
        }
    }

    // The merged rows of a step to the output.
    __aicore__ inline void WriteMerged(int64_t batch, int64_t firstHead, int64_t stepRows)
    {
        const int64_t head = firstHead;
        auto result = View<T>(ub_, kResultAt + resultSlot_ * kResultSlotBytes);
        WaitFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
        PipeBarrier<PIPE_V>();
        Cast(result, accumulator_, RoundMode::CAST_RINT, stepRows * kPaddedHeadSize);
        SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady + resultSlot_);
        StoreRows(outGm_[batch * tiling_.outStrideB + head * tiling_.outStrideN], result, stepRows,
            tiling_.headDim, tiling_.outStrideN, kPaddedHeadSize);
        SetFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
        resultSlot_ = (resultSlot_ + 1) % kDoubleBuffer;
    }

    // Log-sum-exp merge of the partials of each row; all vector cores share the rows.
    __aicore__ inline void MergePartials()
    {
        const StageOperands keyOperands = KeyOperands();
        const StageOperands keyShareOperands = KeyShareOperands();
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
            Duplicate(accumulator_, 0.0f, stepRows * kPaddedHeadSize);
            MergeParts(keyOperands, stepRows, firstRow);
            if (kvShareMapGm_.GetValue(token) >= 0) {
                MergeParts(keyShareOperands, stepRows, firstRow);
            }
            // result = accumulator / sum; a row without keys has sum 0 and gives zeros
            Maxs(mergedSum_, mergedSum_, float(kSmallest), stepRows * kBlockLanes);
            PipeBarrier<PIPE_V>();
            DivRows<1>(accumulator_, mergedSum_, stepRows, kPaddedHeadSize, kPaddedHeadSize);
            WriteMerged(token, firstHead, stepRows);
        }
    }

    RelayAttentionTiling tiling_{};

    // The next slot of each multi-buffered tensor
    uint32_t queryL1Slot_ = 0, keyL1Slot_ = 0, rightL0Slot_ = 0, leftL0Slot_ = 0;
    uint32_t productL0Slot_ = 0, valueL1Slot_ = 0, probL1Slot_ = 0, partialSlot_ = 0;
    uint32_t scoreSlot_ = 0, maxOutSlot_ = 0, partMaxSlot_ = 0, resultSlot_ = 0;

    // The steps and items that have begun; the scalars of the last steps, and their items
    int64_t stepsBegun_ = 0, itemsBegun_ = 0;
    struct CubeStep {
        int64_t tile, itemSlot;
    } cubeSteps_[kRing]{};
    struct VectorStep {
        int64_t tile, rows, rowBegin, itemSlot;
    } vectorSteps_[kRing]{};
    // An item keeps its place until its last step is finished. When one is decoded, at most
    // kPrefetch others have a step that is not: it takes a place that none of these has.
    Item items_[kRing];

    // Arrays that this core has collected
    int64_t memberRows_[kRing * kMaxRows];  // batch rows of the task, by member

    // Global memory
    GlobalTensor<T> queryGm_;
    GlobalTensor<T> keyGm_;
    ListTensorDesc keyList_;
    GlobalTensor<T> valueGm_;
    ListTensorDesc valueList_;
    GlobalTensor<T> keyShareGm_;
    ListTensorDesc keyShareList_;
    GlobalTensor<T> valueShareGm_;
    ListTensorDesc valueShareList_;
    GlobalTensor<int64_t> kvSeqLenGm_;
    GlobalTensor<int64_t> kvShareMapGm_;
    GlobalTensor<int64_t> kvShareLenGm_;
    GlobalTensor<T> outGm_;
    GlobalTensor<float> partialMaxKeyGm_;  // row maxima of key splits
    GlobalTensor<float> partialSumKeyGm_;  // row sums of key splits
    GlobalTensor<float> partialOutKeyGm_;  // weighted sums of key splits
    GlobalTensor<float> scoreRingGm_;  // ring of score tiles, cube to vector
    GlobalTensor<T> probRingGm_;  // ring of probability tiles, vector to cube
    GlobalTensor<float> outRingGm_;  // ring of weighted sums, cube to vector
    GlobalTensor<float> partialMaxKeyShareGm_;  // row maxima of key splits
    GlobalTensor<float> partialSumKeyShareGm_;  // row sums of key splits
    GlobalTensor<float> partialOutKeyShareGm_;  // weighted sums of key splits

    // On-chip buffers with a single slot
    LocalTensor<float> rowMax_, rowSum_, lanes_, rowBlocks_, tileStat_, newMax_, rescale_;
    LocalTensor<float> accumulator_, resultBlocks_, mergedMax_, mergedSum_, newMaxBlocks_;
    LocalTensor<float> mergedRescale_;
    LocalTensor<T> prob_;
};

}  // namespace relay_attention_d128

#endif  // ATTNDSL_RELAY_ATTENTION_D128_H
