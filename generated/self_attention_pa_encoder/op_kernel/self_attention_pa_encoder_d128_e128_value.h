/*
 * self_attention_pa_encoder_d128_e128_value
 * Attention of prompts over their own keys.
 *
 * Contract: ATB SelfAttentionOperation
 * Specialised on
 *   dtype T of query, key, value, output: float16 or bfloat16
 *   head size headSize from 113 to 128
 *   head size headSizeV from 113 to 128
 *   with value
 * Batch, heads, lengths and strides are run-time values.
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Schedule
 *   tile_k    512    default
 *   ring      3      default
 *   rows      8      default
 *   base_n    128    default
 *   base_k    128    default
 *   slots     2      default
 *   max_rows  64     default
 *   split_kv  auto   default
 *   cores     auto   default
 *
 * Step t of an item, the cube running ahead:
 *   AIC  ScoreTile     tile t      raises kScoreRingReady
 *   AIV  SoftmaxTile   tile t      waits for kScoreRingReady, raises kProbRingReady
 *   AIC  WeightedTile  tile t - 2  waits for kProbRingReady, raises kOutRingReady
 *   AIV  UpdateTile    tile t - 2  waits for kOutRingReady
 *
 * Written by attndsl from the operator's spec. Every event, barrier and flag is explicit: the kernel does
 * not rely on the compiler's automatic synchronisation.
 */
#ifndef ATTNDSL_SELF_ATTENTION_PA_ENCODER_D128_E128_VALUE_H
#define ATTNDSL_SELF_ATTENTION_PA_ENCODER_D128_E128_VALUE_H

#include "kernel_operator.h"
#include "self_attention_pa_encoder_tiling.h"

namespace self_attention_pa_encoder_d128_e128_value {

using namespace AscendC;

// Chosen by the schedule above: loops below and the plan of op_host are written for these values.
constexpr int64_t kValueDimBucket = 128;  // head size of values and results, padded to 16
constexpr int64_t kTileKeys = 512;  // keys of one score tile
constexpr int64_t kBaseN = 128;  // keys or value columns of one matrix multiply
constexpr int64_t kHeadDimBucket = 128;  // head size this kernel is specialised on, padded to 16
constexpr int64_t kBaseK = 128;  // depth of one matrix multiply
constexpr int64_t kRing = 3;  // workspace slots between cube and vector cores
constexpr int64_t kRowsPerVector = 32;  // query rows of one vector core, at most
constexpr int64_t kRowsPerStep = 8;  // query rows of one vector step
constexpr int64_t kRepeatLanes = 64;  // fp32 lanes of one vector repeat
constexpr int64_t kFractal = 16;  // rows and columns of a cube fractal
constexpr float kLowest = -3.4028234663852886e+38f;  // stands for minus infinity where no key was seen
constexpr float kSmallest = 1.1754943508222875e-38f;  // smallest normal number, the sum of a row without keys

// Buffer map: byte address of the first slot and bytes a slot.

// UB, 83904 of 188416 bytes
constexpr uint32_t kRowMax = 0x00000;  // 1 x 128: running maximum of each row
constexpr uint32_t kRowSum = 0x00080;  // 1 x 128: running sum of each row
constexpr uint32_t kAccumulator = 0x00100;  // 1 x 16384: running weighted sum of each row
constexpr uint32_t kScore = 0x04100;  // 2 x 16384: scores of the rows, then exp(score - max)
constexpr uint32_t kScoreSlot = 16384;
constexpr uint32_t kLanes = 0x0c100;  // 1 x 2048: reduction over the tile, one repeat a row
constexpr uint32_t kTileStat = 0x0c900;  // 1 x 32: maximum or sum of each row of the tile
constexpr uint32_t kNewMax = 0x0c920;  // 1 x 32: running maximum including the tile
constexpr uint32_t kRescale = 0x0c940;  // 1 x 384: exp(old max - new max) of the tiles in flight
constexpr uint32_t kRowBlocks = 0x0cac0;  // 1 x 256: a row statistic, one block a row
constexpr uint32_t kProb = 0x0cbc0;  // 2 x 8192: probabilities, as the cube multiplies them
constexpr uint32_t kProbSlot = 8192;
constexpr uint32_t kPartial = 0x10bc0;  // 2 x 4096: weighted sum of one tile or split
constexpr uint32_t kPartialSlot = 4096;
constexpr uint32_t kResult = 0x12bc0;  // 2 x 2048: finished rows in the dtype of the result
constexpr uint32_t kResultSlot = 2048;
constexpr uint32_t kLeavingMax = 0x13bc0;  // 2 x 256: row maxima of a partial, one block a row
constexpr uint32_t kLeavingMaxSlot = 256;
constexpr uint32_t kLeavingSum = 0x13dc0;  // 2 x 256: row sums of a partial, one block a row
constexpr uint32_t kLeavingSumSlot = 256;
constexpr uint32_t kMergedMax = 0x13fc0;  // 1 x 256: maximum of the merged rows
constexpr uint32_t kMergedSum = 0x140c0;  // 1 x 256: sum of the merged rows
constexpr uint32_t kPartMax = 0x141c0;  // 2 x 256: row maximum of one partial, then exp(it - new max)
constexpr uint32_t kPartMaxSlot = 256;
constexpr uint32_t kPartSum = 0x143c0;  // 2 x 256: row sum of one partial
constexpr uint32_t kPartSumSlot = 256;
constexpr uint32_t kNewMaxBlocks = 0x145c0;  // 1 x 256: maximum including the partial
constexpr uint32_t kMergedRescale = 0x146c0;  // 1 x 256: exp(old max - new max) of the merged rows

// L1, 278528 of 524032 bytes
constexpr uint32_t kQueryL1 = 0x00000;  // 1 x 16384: query rows of the task, Nz
constexpr uint32_t kKeyL1 = 0x04000;  // 2 x 32768: key block, Nz
constexpr uint32_t kKeyL1Slot = 32768;
constexpr uint32_t kProbL1 = 0x14000;  // 2 x 65536: probabilities of a key tile, Nz
constexpr uint32_t kProbL1Slot = 65536;
constexpr uint32_t kValueL1 = 0x34000;  // 2 x 32768: value block, Nz
constexpr uint32_t kValueL1Slot = 32768;

// L0A, 32768 of 65536 bytes
constexpr uint32_t kLeftL0 = 0x00000;  // 2 x 16384: left operand, Zz
constexpr uint32_t kLeftL0Slot = 16384;

// L0B, 65536 of 65536 bytes
constexpr uint32_t kRightL0 = 0x00000;  // 2 x 32768: right operand, Zn
constexpr uint32_t kRightL0Slot = 32768;

// L0C, 131072 of 131072 bytes
constexpr uint32_t kScoreL0 = 0x00000;  // 2 x 32768: scores of a key block, Nz
constexpr uint32_t kScoreL0Slot = 32768;
constexpr uint32_t kOutL0 = 0x10000;  // 2 x 32768: weighted sum of values, Nz
constexpr uint32_t kOutL0Slot = 32768;

// Event ids by pipe pair. "Ready": the content may be read; "Free": the slot may be written again.
// "Done", "Taken": a pipe waits for all of another's work, and is waited for before that goes on. What lives
// together has one event, named after its first buffer.
constexpr int32_t kScoreL0Free = 0;  // FIX_M, scoreL0: one id a slot
constexpr int32_t kOutL0Free = 2;  // FIX_M, outL0: one id a slot
constexpr int32_t kLeftL0Ready = 0;  // MTE1_M, leftL0, rightL0: one id a slot
constexpr int32_t kKeyL1Free = 0;  // MTE1_MTE2, keyL1: one id a slot
constexpr int32_t kValueL1Free = 2;  // MTE1_MTE2, valueL1: one id a slot
constexpr int32_t kProbL1Free = 4;  // MTE1_MTE2, probL1: one id a slot
constexpr int32_t kQueryL1Free = 6;  // MTE1_MTE2, queryL1
constexpr int32_t kQueryL1Ready = 0;  // MTE2_MTE1, queryL1
constexpr int32_t kKeyL1Ready = 1;  // MTE2_MTE1, keyL1: one id a slot
constexpr int32_t kValueL1Ready = 3;  // MTE2_MTE1, valueL1: one id a slot
constexpr int32_t kScoreReady = 0;  // MTE2_V, score: one id a slot
constexpr int32_t kPartialReady = 2;  // MTE2_V, partial: one id a slot
constexpr int32_t kPartMaxReady = 4;  // MTE2_V, partMax, partSum, partial: one id a slot
constexpr int32_t kProbFree = 0;  // MTE3_V, prob: one id a slot
constexpr int32_t kResultFree = 2;  // MTE3_V, result: one id a slot
constexpr int32_t kLeavingMaxFree = 4;  // MTE3_V, leavingMax, leavingSum: one id a slot
constexpr int32_t kRowMaxFree = 6;  // MTE3_V, rowMax, rowSum, accumulator
constexpr int32_t kScoreL0Ready = 0;  // M_FIX, scoreL0: one id a slot
constexpr int32_t kOutL0Ready = 2;  // M_FIX, outL0: one id a slot
constexpr int32_t kLeftL0Free = 0;  // M_MTE1, leftL0, rightL0: one id a slot
constexpr int32_t kScoreFree = 0;  // V_MTE2, score: one id a slot
constexpr int32_t kPartialFree = 2;  // V_MTE2, partial: one id a slot
constexpr int32_t kPartMaxFree = 4;  // V_MTE2, partMax, partSum: one id a slot
constexpr int32_t kProbReady = 0;  // V_MTE3, prob: one id a slot
constexpr int32_t kRowMaxReady = 2;  // V_MTE3, accumulator
constexpr int32_t kResultReady = 3;  // V_MTE3, result: one id a slot
constexpr int32_t kLeavingMaxReady = 5;  // V_MTE3, leavingMax, leavingSum: one id a slot

// Cross-core flags.
constexpr uint16_t kScoreRingReady = 0;
constexpr uint16_t kProbRingReady = 1;
constexpr uint16_t kOutRingReady = 2;
constexpr uint16_t kBeforeMergePartials = 3;

template <typename T>
class SelfAttentionPaEncoderKernel {
public:
    __aicore__ inline void Init(TPipe &pipe, GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR seqLen,
        GM_ADDR output, GM_ADDR workspace, const SelfAttentionPaEncoderTiling &tiling)
    {
        kvHeads_ = tiling.kvHeads;
        group_ = tiling.group;
        headsPerTask_ = tiling.headsPerTask;
        headTiles_ = tiling.headTiles;
        queriesPerTask_ = tiling.queriesPerTask;
        queryTiles_ = tiling.queryTiles;
        rowsPerTask_ = tiling.rowsPerTask;
        splits_ = tiling.splits;
        items_ = tiling.items;
        rowTotal_ = tiling.rowTotal;
        qkScale_ = tiling.qkScale;
        headDim_ = tiling.headDim;
        keyStrideU_ = tiling.keyStrideU;
        keyStrideK_ = tiling.keyStrideK;
        valueDim_ = tiling.valueDim;
        valueStrideU_ = tiling.valueStrideU;
        valueStrideK_ = tiling.valueStrideK;
        outputStrideS_ = tiling.outputStrideS;
        outputStrideN_ = tiling.outputStrideN;
        queryHeads_ = tiling.queryHeads;
        seqLenLayoutIs1_ = tiling.seqLenLayoutIs1;
        batchScalar_ = tiling.batchScalar;
        queryStrideS_ = tiling.queryStrideS;
        queryStrideN_ = tiling.queryStrideN;
        scoreRingOffset_ = tiling.scoreRingOffset;
        scoreRingPart_ = tiling.scoreRingPart;
        probRingOffset_ = tiling.probRingOffset;
        probRingPart_ = tiling.probRingPart;
        outRingOffset_ = tiling.outRingOffset;
        outRingPart_ = tiling.outRingPart;
        partialMaxOffset_ = tiling.partialMaxOffset;
        partialSumOffset_ = tiling.partialSumOffset;
        partialOutOffset_ = tiling.partialOutOffset;
        blockCount_ = GetBlockNum();
        blockIndex_ = GetBlockIdx();
        if ASCEND_IS_AIV {
            blockIndex_ = GetBlockIdx() / 2;
            subBlock_ = GetSubBlockIdx();
        }
        Bind(queryGm_, query);
        Bind(keyGm_, key);
        Bind(valueGm_, value);
        Bind(seqLenGm_, seqLen);
        Bind(outputGm_, output);
        Bind(scoreRingGm_, workspace + scoreRingOffset_ + blockIndex_ * scoreRingPart_);
        Bind(probRingGm_, workspace + probRingOffset_ + blockIndex_ * probRingPart_);
        Bind(outRingGm_, workspace + outRingOffset_ + blockIndex_ * outRingPart_);
        Bind(partialMaxGm_, workspace + partialMaxOffset_);
        Bind(partialSumGm_, workspace + partialSumOffset_);
        Bind(partialOutGm_, workspace + partialOutOffset_);
        if ASCEND_IS_AIC {
            pipe.InitBuffer(l1Storage_, 278528);
            l1_ = l1Storage_.Get<uint8_t>();
            queryL1_ = l1_[kQueryL1].ReinterpretCast<T>();
            pipe.InitBuffer(l0aStorage_, 32768);
            l0a_ = l0aStorage_.Get<uint8_t>();
            pipe.InitBuffer(l0bStorage_, 65536);
            l0b_ = l0bStorage_.Get<uint8_t>();
            pipe.InitBuffer(l0cStorage_, 131072);
            l0c_ = l0cStorage_.Get<uint8_t>();
        }
        if ASCEND_IS_AIV {
            pipe.InitBuffer(ubStorage_, 83904);
            ub_ = ubStorage_.Get<uint8_t>();
            rowMax_ = ub_[kRowMax].ReinterpretCast<float>();
            rowSum_ = ub_[kRowSum].ReinterpretCast<float>();
            accumulator_ = ub_[kAccumulator].ReinterpretCast<float>();
            lanes_ = ub_[kLanes].ReinterpretCast<float>();
            tileStat_ = ub_[kTileStat].ReinterpretCast<float>();
            newMax_ = ub_[kNewMax].ReinterpretCast<float>();
            rescale_ = ub_[kRescale].ReinterpretCast<float>();
            rowBlocks_ = ub_[kRowBlocks].ReinterpretCast<float>();
            mergedMax_ = ub_[kMergedMax].ReinterpretCast<float>();
            mergedSum_ = ub_[kMergedSum].ReinterpretCast<float>();
            newMaxBlocks_ = ub_[kNewMaxBlocks].ReinterpretCast<float>();
            mergedRescale_ = ub_[kMergedRescale].ReinterpretCast<float>();
        }
        // TPipe holds events of its own until it is destroyed; from here on all events are this kernel's.
        pipe.Destroy();
    }

    __aicore__ inline void RunCube()
    {
        SetFlag<HardEvent::M_MTE1>(kLeftL0Free);
        SetFlag<HardEvent::M_MTE1>(kLeftL0Free + 1);
        SetFlag<HardEvent::MTE1_MTE2>(kKeyL1Free);
        SetFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + 1);
        SetFlag<HardEvent::FIX_M>(kScoreL0Free);
        SetFlag<HardEvent::FIX_M>(kScoreL0Free + 1);
        SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free);
        SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free + 1);
        SetFlag<HardEvent::FIX_M>(kOutL0Free);
        SetFlag<HardEvent::FIX_M>(kOutL0Free + 1);
        SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free);
        SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + 1);
        SetFlag<HardEvent::MTE1_MTE2>(kQueryL1Free);
        for (int64_t item = blockIndex_; item < items_; item += blockCount_) {
            const int64_t split = item % splits_;
            const int64_t task = item / splits_;
            const int64_t queryTile = task % queryTiles_;
            const int64_t headTile = task / queryTiles_ % headTiles_;
            const int64_t kvHead = task / queryTiles_ / headTiles_ % kvHeads_;
            const int64_t batch = task / queryTiles_ / (headTiles_ * kvHeads_);
            const int64_t firstHead = kvHead * group_ + headTile * headsPerTask_;
            const int64_t heads = MinOf(headsPerTask_, group_ - headTile * headsPerTask_);
            const int64_t queryLength = seqLenGm_.GetValue(batch);
            const int64_t firstQuery = queryTile * queriesPerTask_;
            const int64_t queries = MaxOf(0, MinOf(queriesPerTask_, queryLength - firstQuery));
            const int64_t taskRows = heads * queries;
            const int64_t rowFractals = CeilDiv(taskRows, kFractal);
            const int64_t firstToken = QueriesBefore(batch);
            const int64_t keyEnd = seqLenLayoutIs1_ ? seqLenGm_.GetValue(batchScalar_ + batch) : queryLength;
            const int64_t tileTotal = taskRows == 0 ? 0 : CeilDiv(keyEnd, kTileKeys);
            const int64_t tilesPerSplit = CeilDiv(tileTotal, splits_);
            const int64_t firstTile = MinOf(split * tilesPerSplit, tileTotal);
            const int64_t tiles = MinOf(tilesPerSplit, tileTotal - firstTile);
            const int64_t keyStart = KeysBefore(batch, seqLenLayoutIs1_, batchScalar_);
            const int64_t valueStart = KeysBefore(batch, seqLenLayoutIs1_, batchScalar_);
            WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free);
            LoadQuery(firstHead, heads, firstQuery, queries, rowFractals, firstToken, tiles);
            SetFlag<HardEvent::MTE2_MTE1>(kQueryL1Ready);
            WaitFlag<HardEvent::MTE2_MTE1>(kQueryL1Ready);
            for (int64_t step = 0; step < tiles + 2; ++step) {
                if (step < tiles) {
                    const int64_t tile = step;
                    ScoreTile(kvHead, taskRows, rowFractals, keyEnd, firstTile, keyStart, tile);
                }
                if (step >= 2) {
                    const int64_t tile = step - 2;
                    WeightedTile(kvHead, taskRows, rowFractals, keyEnd, firstTile, valueStart, tile);
                }
            }
            SetFlag<HardEvent::MTE1_MTE2>(kQueryL1Free);
        }
        WaitFlag<HardEvent::M_MTE1>(kLeftL0Free);
        WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + 1);
        WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free);
        WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + 1);
        WaitFlag<HardEvent::FIX_M>(kScoreL0Free);
        WaitFlag<HardEvent::FIX_M>(kScoreL0Free + 1);
        WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free);
        WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + 1);
        WaitFlag<HardEvent::FIX_M>(kOutL0Free);
        WaitFlag<HardEvent::FIX_M>(kOutL0Free + 1);
        WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free);
        WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + 1);
        WaitFlag<HardEvent::MTE1_MTE2>(kQueryL1Free);
    }

    __aicore__ inline void RunVector()
    {
        SetFlag<HardEvent::MTE3_V>(kProbFree);
        SetFlag<HardEvent::MTE3_V>(kProbFree + 1);
        SetFlag<HardEvent::V_MTE2>(kScoreFree);
        SetFlag<HardEvent::V_MTE2>(kScoreFree + 1);
        SetFlag<HardEvent::V_MTE2>(kPartialFree);
        SetFlag<HardEvent::V_MTE2>(kPartialFree + 1);
        SetFlag<HardEvent::MTE3_V>(kResultFree);
        SetFlag<HardEvent::MTE3_V>(kResultFree + 1);
        SetFlag<HardEvent::MTE3_V>(kLeavingMaxFree);
        SetFlag<HardEvent::MTE3_V>(kLeavingMaxFree + 1);
        SetFlag<HardEvent::MTE3_V>(kRowMaxFree);
        SetFlag<HardEvent::V_MTE2>(kPartMaxFree);
        SetFlag<HardEvent::V_MTE2>(kPartMaxFree + 1);
        for (int64_t item = blockIndex_; item < items_; item += blockCount_) {
            const int64_t split = item % splits_;
            const int64_t task = item / splits_;
            const int64_t queryTile = task % queryTiles_;
            const int64_t headTile = task / queryTiles_ % headTiles_;
            const int64_t kvHead = task / queryTiles_ / headTiles_ % kvHeads_;
            const int64_t batch = task / queryTiles_ / (headTiles_ * kvHeads_);
            const int64_t firstHead = kvHead * group_ + headTile * headsPerTask_;
            const int64_t heads = MinOf(headsPerTask_, group_ - headTile * headsPerTask_);
            const int64_t queryLength = seqLenGm_.GetValue(batch);
            const int64_t firstQuery = queryTile * queriesPerTask_;
            const int64_t queries = MaxOf(0, MinOf(queriesPerTask_, queryLength - firstQuery));
            const int64_t taskRows = heads * queries;
            const int64_t firstToken = QueriesBefore(batch);
            const int64_t keyEnd = seqLenLayoutIs1_ ? seqLenGm_.GetValue(batchScalar_ + batch) : queryLength;
            const int64_t tileTotal = taskRows == 0 ? 0 : CeilDiv(keyEnd, kTileKeys);
            const int64_t tilesPerSplit = CeilDiv(tileTotal, splits_);
            const int64_t firstTile = MinOf(split * tilesPerSplit, tileTotal);
            const int64_t tiles = MinOf(tilesPerSplit, tileTotal - firstTile);
            const int64_t rowsPerCore = CeilDiv(taskRows, 2);
            const int64_t rowBegin = MinOf(subBlock_ * rowsPerCore, taskRows);
            const int64_t rows = MinOf(rowsPerCore, taskRows - rowBegin);
            WaitFlag<HardEvent::MTE3_V>(kRowMaxFree);
            StartRows(rows);
            for (int64_t step = 0; step < tiles + 2; ++step) {
                if (step < tiles) {
                    const int64_t tile = step;
                    SoftmaxTile(keyEnd, firstTile, tile, rowBegin, rows);
                }
                if (step >= 2) {
                    const int64_t tile = step - 2;
                    UpdateTile(tile, rowBegin, rows);
                }
            }
            SetFlag<HardEvent::V_MTE3>(kRowMaxReady);
            WaitFlag<HardEvent::V_MTE3>(kRowMaxReady);
            WriteRows(split, firstHead, heads, firstQuery, firstToken, rowBegin, rows);
            SetFlag<HardEvent::MTE3_V>(kRowMaxFree);
        }
        if (splits_ > 1) {
            MergePartials();
        }
        WaitFlag<HardEvent::MTE3_V>(kProbFree);
        WaitFlag<HardEvent::MTE3_V>(kProbFree + 1);
        WaitFlag<HardEvent::V_MTE2>(kScoreFree);
        WaitFlag<HardEvent::V_MTE2>(kScoreFree + 1);
        WaitFlag<HardEvent::V_MTE2>(kPartialFree);
        WaitFlag<HardEvent::V_MTE2>(kPartialFree + 1);
        WaitFlag<HardEvent::MTE3_V>(kResultFree);
        WaitFlag<HardEvent::MTE3_V>(kResultFree + 1);
        WaitFlag<HardEvent::MTE3_V>(kLeavingMaxFree);
        WaitFlag<HardEvent::MTE3_V>(kLeavingMaxFree + 1);
        WaitFlag<HardEvent::MTE3_V>(kRowMaxFree);
        WaitFlag<HardEvent::V_MTE2>(kPartMaxFree);
        WaitFlag<HardEvent::V_MTE2>(kPartMaxFree + 1);
    }

private:
    __aicore__ static inline int64_t MinOf(int64_t a, int64_t b)
    {
        return a < b ? a : b;
    }

    __aicore__ static inline int64_t MaxOf(int64_t a, int64_t b)
    {
        return a > b ? a : b;
    }

    __aicore__ static inline int64_t CeilDiv(int64_t a, int64_t b)
    {
        return (a + b - 1) / b;
    }

    __aicore__ static inline int64_t RoundUp(int64_t a, int64_t b)
    {
        return (a + b - 1) / b * b;
    }

    __aicore__ inline int64_t QueriesBefore(int64_t extent)
    {
        int64_t found = 0;
        for (int64_t b = 0; b < extent; ++b) {
            found += seqLenGm_.GetValue(b);
        }
        return found;
    }

    __aicore__ inline int64_t KeysBefore(int64_t extent, int64_t seqLenLayoutIs1, int64_t batchScalar)
    {
        int64_t found = 0;
        for (int64_t b = 0; b < extent; ++b) {
            found += seqLenLayoutIs1 ? seqLenGm_.GetValue(batchScalar + b) : seqLenGm_.GetValue(b);
        }
        return found;
    }

    template <typename Element>
    __aicore__ inline void Bind(GlobalTensor<Element> &tensor, GM_ADDR address)
    {
        tensor.SetGlobalBuffer(reinterpret_cast<__gm__ Element *>(address));
    }

    // Cube stages

    // Query rows of the task from global memory to L1.
    __aicore__ inline void LoadQuery(int64_t firstHead, int64_t heads, int64_t firstQuery, int64_t queries,
        int64_t rowFractals, int64_t firstToken, int64_t tiles)
    {
        if (tiles > 0) {
            if (heads == 1 && queryStrideS_ <= 65535) {
                DataCopy(queryL1_,
                    queryGm_[(firstToken + firstQuery) * queryStrideS_ + firstHead * queryStrideN_],
                    Nd2NzParams(1, queries, headDim_, 0, queryStrideS_, rowFractals * kFractal, 1, 0));
            } else {
                for (int64_t position = 0; position < queries; ++position) {
                    DataCopy(queryL1_[position * heads * kFractal],
                        queryGm_[(firstToken + firstQuery + position) * queryStrideS_
                            + firstHead * queryStrideN_],
                        Nd2NzParams(1, heads, headDim_, 0, queryStrideN_, rowFractals * kFractal, 1, 0));
                }
            }
        }
    }

    // Scores of one key tile, query times keys transposed, to their ring slot.
    __aicore__ inline void ScoreTile(int64_t kvHead, int64_t taskRows, int64_t rowFractals, int64_t keyEnd,
        int64_t firstTile, int64_t keyStart, int64_t tile)
    {
        const int64_t slot = tile % kRing;
        const int64_t firstKey = (firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, keyEnd - firstKey);
        const int64_t keyTile = kvHead * keyStrideK_ + (keyStart + firstKey) * keyStrideU_;
        for (int64_t n0 = 0; n0 < keys; n0 += kBaseN) {
            const int64_t cols = MinOf(kBaseN, keys - n0);
            {
                LocalTensor<float> scoreL0 =
                    l0c_[kScoreL0 + scoreL0Slot_ * kScoreL0Slot].ReinterpretCast<float>();
                WaitFlag<HardEvent::FIX_M>(kScoreL0Free + scoreL0Slot_);
                {
                    LocalTensor<T> keyL1 = l1_[kKeyL1 + keyL1Slot_ * kKeyL1Slot].ReinterpretCast<T>();
                    // to L1, row by row where one copy cannot express the pitch; then to L0A and L0B
                    WaitFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + keyL1Slot_);
                    if (keyStrideU_ <= 65535) {
                        DataCopy(keyL1, keyGm_[keyTile + n0 * keyStrideU_],
                            Nd2NzParams(1, cols, headDim_, 0, keyStrideU_, RoundUp(cols, kFractal), 1, 0));
                    } else {
                        for (int64_t row = 0; row < cols; ++row) {
                            DataCopy(keyL1[row * kFractal],
                                keyGm_[keyTile + n0 * keyStrideU_ + row * keyStrideU_],
                                Nd2NzParams(1, 1, headDim_, 0, headDim_, RoundUp(cols, kFractal), 1, 0));
                        }
                    }
                    SetFlag<HardEvent::MTE2_MTE1>(kKeyL1Ready + keyL1Slot_);
                    WaitFlag<HardEvent::MTE2_MTE1>(kKeyL1Ready + keyL1Slot_);
                    {
                        LocalTensor<T> leftL0 =
                            l0a_[kLeftL0 + leftL0Slot_ * kLeftL0Slot].ReinterpretCast<T>();
                        LocalTensor<T> rightL0 =
                            l0b_[kRightL0 + leftL0Slot_ * kRightL0Slot].ReinterpretCast<T>();
                        const int64_t depthFractals = CeilDiv(kHeadDimBucket, kFractal);
                        const int64_t columnFractals = CeilDiv(cols, kFractal);
                        WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                        for (int64_t rowGroup = 0; rowGroup < rowFractals; ++rowGroup) {
                            LoadData(leftL0[rowGroup * depthFractals * (kFractal * kFractal)],
                                queryL1_[rowGroup * (kFractal * kFractal)],
                                LoadData2DParams(0, depthFractals, rowFractals, 0, 0, false, 0));
                        }
                        LoadData(rightL0, keyL1,
                            LoadData2DParams(0, depthFractals * columnFractals, 1, 0, 0, false, 0));
                        SetFlag<HardEvent::MTE1_M>(kLeftL0Ready + leftL0Slot_);
                        WaitFlag<HardEvent::MTE1_M>(kLeftL0Ready + leftL0Slot_);
                        Mmad(scoreL0, leftL0, rightL0,
                            MmadParams(rowFractals * kFractal, cols, kHeadDimBucket, 0, false, true));
                        SetFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                        leftL0Slot_ ^= 1;
                    }
                    SetFlag<HardEvent::MTE1_MTE2>(kKeyL1Free + keyL1Slot_);
                    keyL1Slot_ ^= 1;
                }
                SetFlag<HardEvent::M_FIX>(kScoreL0Ready + scoreL0Slot_);
                WaitFlag<HardEvent::M_FIX>(kScoreL0Ready + scoreL0Slot_);
                Fixpipe<float, float, CFG_ROW_MAJOR>(scoreRingGm_[slot * rowsPerTask_ * kTileKeys + n0],
                    scoreL0,
                    FixpipeParamsV220(RoundUp(cols, kFractal), taskRows, rowFractals * kFractal, kTileKeys,
                        false));
                SetFlag<HardEvent::FIX_M>(kScoreL0Free + scoreL0Slot_);
                scoreL0Slot_ ^= 1;
            }
        }
        CrossCoreSetFlag<2, PIPE_FIX>(kScoreRingReady);
    }

    // Weighted sum of one tile's values, probabilities times values, to its ring slot.
    __aicore__ inline void WeightedTile(int64_t kvHead, int64_t taskRows, int64_t rowFractals, int64_t keyEnd,
        int64_t firstTile, int64_t valueStart, int64_t tile)
    {
        const int64_t slot = tile % kRing;
        const int64_t firstKey = (firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, keyEnd - firstKey);
        const int64_t valueTile = kvHead * valueStrideK_ + (valueStart + firstKey) * valueStrideU_;
        CrossCoreWaitFlag(kProbRingReady);
        {
            LocalTensor<T> probL1 = l1_[kProbL1 + probL1Slot_ * kProbL1Slot].ReinterpretCast<T>();
            WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
            DataCopy(probL1, probRingGm_[slot * rowsPerTask_ * kTileKeys],
                Nd2NzParams(1, taskRows, keys, 0, kTileKeys, rowFractals * kFractal, 1, 0));
            {
                LocalTensor<float> outL0 = l0c_[kOutL0 + outL0Slot_ * kOutL0Slot].ReinterpretCast<float>();
                WaitFlag<HardEvent::FIX_M>(kOutL0Free + outL0Slot_);
                for (int64_t k0 = 0; k0 < keys; k0 += kBaseK) {
                    const int64_t depth = MinOf(kBaseK, keys - k0);
                    {
                        LocalTensor<T> valueL1 =
                            l1_[kValueL1 + valueL1Slot_ * kValueL1Slot].ReinterpretCast<T>();
                        // to L1, row by row where one copy cannot express the pitch; then to L0A and L0B
                        WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
                        if (valueStrideU_ <= 65535) {
                            DataCopy(valueL1, valueGm_[valueTile + k0 * valueStrideU_],
                                Nd2NzParams(1, depth, valueDim_, 0, valueStrideU_, RoundUp(depth, kFractal),
                                    1, 0));
                        } else {
                            for (int64_t row = 0; row < depth; ++row) {
                                DataCopy(valueL1[row * kFractal],
                                    valueGm_[valueTile + k0 * valueStrideU_ + row * valueStrideU_],
                                    Nd2NzParams(1, 1, valueDim_, 0, valueDim_, RoundUp(depth, kFractal), 1,
                                        0));
                            }
                        }
                        SetFlag<HardEvent::MTE2_MTE1>(kValueL1Ready + valueL1Slot_);
                        WaitFlag<HardEvent::MTE2_MTE1>(kValueL1Ready + valueL1Slot_);
                        {
                            LocalTensor<T> leftL0 =
                                l0a_[kLeftL0 + leftL0Slot_ * kLeftL0Slot].ReinterpretCast<T>();
                            LocalTensor<T> rightL0 =
                                l0b_[kRightL0 + leftL0Slot_ * kRightL0Slot].ReinterpretCast<T>();
                            const int64_t depthFractals = CeilDiv(depth, kFractal);
                            const int64_t columnFractals = CeilDiv(kValueDimBucket, kFractal);
                            WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                            for (int64_t rowGroup = 0; rowGroup < rowFractals; ++rowGroup) {
                                LoadData(leftL0[rowGroup * depthFractals * (kFractal * kFractal)],
                                    probL1[(k0 / kFractal * rowFractals + rowGroup) * (kFractal * kFractal)],
                                    LoadData2DParams(0, depthFractals, rowFractals, 0, 0, false, 0));
                            }
                            for (int64_t depthGroup = 0; depthGroup < depthFractals; ++depthGroup) {
                                LoadDataWithTranspose(
                                    rightL0[depthGroup * columnFractals * (kFractal * kFractal)],
                                    valueL1[depthGroup * (kFractal * kFractal)],
                                    LoadData2dTransposeParams(0, columnFractals, depthFractals, 0, 0));
                            }
                            SetFlag<HardEvent::MTE1_M>(kLeftL0Ready + leftL0Slot_);
                            WaitFlag<HardEvent::MTE1_M>(kLeftL0Ready + leftL0Slot_);
                            // from 10 fractals on the cube itself accumulates products in order
                            if (rowFractals * kFractal * kValueDimBucket < 10 * kFractal * kFractal) {
                                PipeBarrier<PIPE_M>();
                            }
                            Mmad(outL0, leftL0, rightL0,
                                MmadParams(rowFractals * kFractal, kValueDimBucket, depth, 0, false,
                                    k0 == 0));
                            SetFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                            leftL0Slot_ ^= 1;
                        }
                        SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
                        valueL1Slot_ ^= 1;
                    }
                }
                SetFlag<HardEvent::M_FIX>(kOutL0Ready + outL0Slot_);
                WaitFlag<HardEvent::M_FIX>(kOutL0Ready + outL0Slot_);
                Fixpipe<float, float, CFG_ROW_MAJOR>(outRingGm_[slot * rowsPerTask_ * kValueDimBucket], outL0,
                    FixpipeParamsV220(kValueDimBucket, taskRows, rowFractals * kFractal, kValueDimBucket,
                        false));
                SetFlag<HardEvent::FIX_M>(kOutL0Free + outL0Slot_);
                outL0Slot_ ^= 1;
            }
            SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
            probL1Slot_ ^= 1;
        }
        CrossCoreSetFlag<2, PIPE_FIX>(kOutRingReady);
    }

    // Vector stages

    // Rows that have seen no key yet.
    __aicore__ inline void StartRows(int64_t rows)
    {
        if (rows > 0) {
            Duplicate(rowMax_, float(kLowest), rows);
            Duplicate(rowSum_, float(0), rows);
            Duplicate(accumulator_, float(0), rows * kValueDimBucket);
        }
    }

    // Online softmax of one tile: scores in, probabilities out, row maxima and sums updated.
    __aicore__ inline void SoftmaxTile(int64_t keyEnd, int64_t firstTile, int64_t tile, int64_t rowBegin,
        int64_t rows)
    {
        const int64_t slot = tile % kRing;
        const int64_t firstKey = (firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, keyEnd - firstKey);
        CrossCoreWaitFlag(kScoreRingReady);
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            const int64_t chunk = MinOf(kRowsPerStep, rows - r0);
            {
                LocalTensor<float> score = ub_[kScore + scoreSlot_ * kScoreSlot].ReinterpretCast<float>();
                WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                DataCopyPad(score, scoreRingGm_[(slot * rowsPerTask_ + rowBegin + r0) * kTileKeys],
                    DataCopyExtParams(chunk, keys * 4, (kTileKeys - keys) * 4,
                        (kTileKeys - RoundUp(keys, 8)) / 8, 0),
                    DataCopyPadExtParams<float>(false, 0, 0, 0));
                SetFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
                const int64_t span = (chunk - 1) * kTileKeys + RoundUp(keys, kRepeatLanes);
                // score * qkScale  (self_attention.py:252)
                WaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
                Muls(score, score, float(qkScale_), span);
                // Lanes behind the last key take no part in the maximum, nor below in the sum.
                if (keys % kRepeatLanes != 0) {
                    PipeBarrier<PIPE_V>();
                    {
                        uint64_t mask[2] = {~uint64_t(0) << (keys % kRepeatLanes), 0};
                        Duplicate(score[keys / kRepeatLanes * kRepeatLanes], float(kLowest), mask, chunk, 1,
                            kTileKeys / 8);
                    }
                }
                // newMax = max(rowMax, row maximum of the tile); rescale = exp(rowMax - newMax)
                Duplicate(lanes_, float(kLowest), chunk * kRepeatLanes);
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    PipeBarrier<PIPE_V>();
                    Max(lanes_, lanes_, score[c0], kRepeatLanes, chunk,
                        BinaryRepeatParams(1, 1, 1, kRepeatLanes / 8, kRepeatLanes / 8, kTileKeys / 8));
                }
                PipeBarrier<PIPE_V>();
                WholeReduceMax(tileStat_, lanes_, kRepeatLanes, chunk, 1, 1, kRepeatLanes / 8,
                    ReduceOrder::ORDER_ONLY_VALUE);
                PipeBarrier<PIPE_V>();
                Max(newMax_, rowMax_[r0], tileStat_, chunk);
                PipeBarrier<PIPE_V>();
                Sub(rescale_[slot * kRowsPerVector + r0], rowMax_[r0], newMax_, chunk);
                PipeBarrier<PIPE_V>();
                Exp(rescale_[slot * kRowsPerVector + r0], rescale_[slot * kRowsPerVector + r0], chunk);
                Adds(rowMax_[r0], newMax_, float(0), chunk);
                // score = exp(score - newMax)
                Brcb(rowBlocks_, newMax_, CeilDiv(kRowsPerStep, 8), BrcbRepeatParams(1, 8));
                PipeBarrier<PIPE_V>();
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    Sub(score[c0], score[c0], rowBlocks_, kRepeatLanes, chunk,
                        BinaryRepeatParams(1, 1, 0, kTileKeys / 8, kTileKeys / 8, 1));
                }
                PipeBarrier<PIPE_V>();
                Exp(score, score, span);
                if (keys % kRepeatLanes != 0) {
                    PipeBarrier<PIPE_V>();
                    {
                        uint64_t mask[2] = {~uint64_t(0) << (keys % kRepeatLanes), 0};
                        Duplicate(score[keys / kRepeatLanes * kRepeatLanes], float(0), mask, chunk, 1,
                            kTileKeys / 8);
                    }
                }
                // rowSum = rowSum * rescale + row sum of the tile
                Duplicate(lanes_, float(0), chunk * kRepeatLanes);
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    PipeBarrier<PIPE_V>();
                    Add(lanes_, lanes_, score[c0], kRepeatLanes, chunk,
                        BinaryRepeatParams(1, 1, 1, kRepeatLanes / 8, kRepeatLanes / 8, kTileKeys / 8));
                }
                PipeBarrier<PIPE_V>();
                WholeReduceSum(tileStat_, lanes_, kRepeatLanes, chunk, 1, 1, kRepeatLanes / 8);
                Mul(rowSum_[r0], rowSum_[r0], rescale_[slot * kRowsPerVector + r0], chunk);
                PipeBarrier<PIPE_V>();
                Add(rowSum_[r0], rowSum_[r0], tileStat_, chunk);
                {
                    LocalTensor<T> prob = ub_[kProb + probSlot_ * kProbSlot].ReinterpretCast<T>();
                    WaitFlag<HardEvent::MTE3_V>(kProbFree + probSlot_);
                    Cast(prob, score, RoundMode::CAST_RINT, span);
                    SetFlag<HardEvent::V_MTE3>(kProbReady + probSlot_);
                    WaitFlag<HardEvent::V_MTE3>(kProbReady + probSlot_);
                    DataCopyPad(probRingGm_[(slot * rowsPerTask_ + rowBegin + r0) * kTileKeys], prob,
                        DataCopyExtParams(chunk, keys * 2, (kTileKeys - RoundUp(keys, 16)) / 16,
                            (kTileKeys - keys) * 2, 0));
                    SetFlag<HardEvent::MTE3_V>(kProbFree + probSlot_);
                    probSlot_ ^= 1;
                }
                SetFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                scoreSlot_ ^= 1;
            }
        }
        CrossCoreSetFlag<2, PIPE_MTE3>(kProbRingReady);
    }

    // Adds one tile's weighted sum to the running one, rescaled to the new maximum.
    __aicore__ inline void UpdateTile(int64_t tile, int64_t rowBegin, int64_t rows)
    {
        const int64_t slot = tile % kRing;
        CrossCoreWaitFlag(kOutRingReady);
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            const int64_t chunk = MinOf(kRowsPerStep, rows - r0);
            {
                LocalTensor<float> partial =
                    ub_[kPartial + partialSlot_ * kPartialSlot].ReinterpretCast<float>();
                WaitFlag<HardEvent::V_MTE2>(kPartialFree + partialSlot_);
                DataCopyPad(partial, outRingGm_[(slot * rowsPerTask_ + rowBegin + r0) * kValueDimBucket],
                    DataCopyExtParams(1, chunk * kValueDimBucket * 4, 0, 0, 0),
                    DataCopyPadExtParams<float>(false, 0, 0, 0));
                SetFlag<HardEvent::MTE2_V>(kPartialReady + partialSlot_);
                // accumulator = accumulator * rescale + partial
                Brcb(rowBlocks_, rescale_[slot * kRowsPerVector + r0], CeilDiv(kRowsPerStep, 8),
                    BrcbRepeatParams(1, 8));
                PipeBarrier<PIPE_V>();
                for (int64_t d0 = 0; d0 < kValueDimBucket; d0 += kRepeatLanes) {
                    Mul(accumulator_[r0 * kValueDimBucket + d0], accumulator_[r0 * kValueDimBucket + d0],
                        rowBlocks_, kRepeatLanes, chunk,
                        BinaryRepeatParams(1, 1, 0, kValueDimBucket / 8, kValueDimBucket / 8, 1));
                }
                WaitFlag<HardEvent::MTE2_V>(kPartialReady + partialSlot_);
                PipeBarrier<PIPE_V>();
                Add(accumulator_[r0 * kValueDimBucket], accumulator_[r0 * kValueDimBucket], partial,
                    chunk * kValueDimBucket);
                SetFlag<HardEvent::V_MTE2>(kPartialFree + partialSlot_);
                partialSlot_ ^= 1;
            }
        }
    }

    // Rows of a finished item: normalised to the output, or kept as a partial of their key split.
    __aicore__ inline void WriteRows(int64_t split, int64_t firstHead, int64_t heads, int64_t firstQuery,
        int64_t firstToken, int64_t rowBegin, int64_t rows)
    {
        if (splits_ == 1) {
            for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
                const int64_t chunk = MinOf(kRowsPerStep, rows - r0);
                // result = accumulator / rowSum; a row without keys has sum 0 and gives zeros
                PipeBarrier<PIPE_V>();
                Maxs(rowSum_[r0], rowSum_[r0], float(kSmallest), chunk);
                PipeBarrier<PIPE_V>();
                Brcb(rowBlocks_, rowSum_[r0], CeilDiv(kRowsPerStep, 8), BrcbRepeatParams(1, 8));
                PipeBarrier<PIPE_V>();
                for (int64_t d0 = 0; d0 < kValueDimBucket; d0 += kRepeatLanes) {
                    Div(accumulator_[r0 * kValueDimBucket + d0], accumulator_[r0 * kValueDimBucket + d0],
                        rowBlocks_, kRepeatLanes, chunk,
                        BinaryRepeatParams(1, 1, 0, kValueDimBucket / 8, kValueDimBucket / 8, 1));
                }
                {
                    LocalTensor<T> result = ub_[kResult + resultSlot_ * kResultSlot].ReinterpretCast<T>();
                    WaitFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
                    PipeBarrier<PIPE_V>();
                    Cast(result, accumulator_[r0 * kValueDimBucket], RoundMode::CAST_RINT,
                        chunk * kValueDimBucket);
                    SetFlag<HardEvent::V_MTE3>(kResultReady + resultSlot_);
                    WaitFlag<HardEvent::V_MTE3>(kResultReady + resultSlot_);
                    if (heads == 1) {
                        const int64_t head = firstHead;
                        const int64_t queryIndex = firstQuery + rowBegin + r0;
                        DataCopyPad(outputGm_[(firstToken + queryIndex) * outputStrideS_
                            + head * outputStrideN_],
                            result,
                            DataCopyExtParams(chunk, valueDim_ * 2,
                                (kValueDimBucket - RoundUp(valueDim_, 16)) / 16,
                                (outputStrideS_ - valueDim_) * 2, 0));
                    } else {
                        for (int64_t row = 0; row < chunk; ++row) {
                            const int64_t head = firstHead + (rowBegin + r0 + row) % heads;
                            const int64_t queryIndex = firstQuery + (rowBegin + r0 + row) / heads;
                            DataCopyPad(outputGm_[(firstToken + queryIndex) * outputStrideS_
                                + head * outputStrideN_],
                                result[row * kValueDimBucket], DataCopyExtParams(1, valueDim_ * 2, 0, 0, 0));
                        }
                    }
                    SetFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
                    resultSlot_ ^= 1;
                }
            }
        } else {
            for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
                const int64_t chunk = MinOf(kRowsPerStep, rows - r0);
                {
                    LocalTensor<float> leavingMax =
                        ub_[kLeavingMax + leavingMaxSlot_ * kLeavingMaxSlot].ReinterpretCast<float>();
                    LocalTensor<float> leavingSum =
                        ub_[kLeavingSum + leavingMaxSlot_ * kLeavingSumSlot].ReinterpretCast<float>();
                    WaitFlag<HardEvent::MTE3_V>(kLeavingMaxFree + leavingMaxSlot_);
                    PipeBarrier<PIPE_V>();
                    Brcb(leavingMax, rowMax_[r0], CeilDiv(kRowsPerStep, 8), BrcbRepeatParams(1, 8));
                    Brcb(leavingSum, rowSum_[r0], CeilDiv(kRowsPerStep, 8), BrcbRepeatParams(1, 8));
                    SetFlag<HardEvent::V_MTE3>(kLeavingMaxReady + leavingMaxSlot_);
                    WaitFlag<HardEvent::V_MTE3>(kLeavingMaxReady + leavingMaxSlot_);
                    if (heads == 1) {
                        const int64_t head = firstHead;
                        const int64_t queryIndex = firstQuery + rowBegin + r0;
                        DataCopyPad(partialMaxGm_[(split * rowTotal_
                            + (firstToken + queryIndex) * queryHeads_ + head) * 8],
                            leavingMax, DataCopyExtParams(chunk, 32, 0, (queryHeads_ * 8 - 8) * 4, 0));
                    } else {
                        for (int64_t row = 0; row < chunk; ++row) {
                            const int64_t head = firstHead + (rowBegin + r0 + row) % heads;
                            const int64_t queryIndex = firstQuery + (rowBegin + r0 + row) / heads;
                            DataCopyPad(partialMaxGm_[(split * rowTotal_
                                + (firstToken + queryIndex) * queryHeads_ + head) * 8],
                                leavingMax[row * 8], DataCopyExtParams(1, 32, 0, 0, 0));
                        }
                    }
                    if (heads == 1) {
                        const int64_t head = firstHead;
                        const int64_t queryIndex = firstQuery + rowBegin + r0;
                        DataCopyPad(partialSumGm_[(split * rowTotal_
                            + (firstToken + queryIndex) * queryHeads_ + head) * 8],
                            leavingSum, DataCopyExtParams(chunk, 32, 0, (queryHeads_ * 8 - 8) * 4, 0));
                    } else {
                        for (int64_t row = 0; row < chunk; ++row) {
                            const int64_t head = firstHead + (rowBegin + r0 + row) % heads;
                            const int64_t queryIndex = firstQuery + (rowBegin + r0 + row) / heads;
                            DataCopyPad(partialSumGm_[(split * rowTotal_
                                + (firstToken + queryIndex) * queryHeads_ + head) * 8],
                                leavingSum[row * 8], DataCopyExtParams(1, 32, 0, 0, 0));
                        }
                    }
                    SetFlag<HardEvent::MTE3_V>(kLeavingMaxFree + leavingMaxSlot_);
                    leavingMaxSlot_ ^= 1;
                }
                if (heads == 1) {
                    const int64_t head = firstHead;
                    const int64_t queryIndex = firstQuery + rowBegin + r0;
                    DataCopyPad(partialOutGm_[(split * rowTotal_ + (firstToken + queryIndex) * queryHeads_
                        + head) * kValueDimBucket],
                        accumulator_[r0 * kValueDimBucket],
                        DataCopyExtParams(chunk, kValueDimBucket * 4, 0,
                            (queryHeads_ * kValueDimBucket - kValueDimBucket) * 4, 0));
                } else {
                    for (int64_t row = 0; row < chunk; ++row) {
                        const int64_t head = firstHead + (rowBegin + r0 + row) % heads;
                        const int64_t queryIndex = firstQuery + (rowBegin + r0 + row) / heads;
                        DataCopyPad(partialOutGm_[(split * rowTotal_
                            + (firstToken + queryIndex) * queryHeads_ + head) * kValueDimBucket],
                            accumulator_[r0 * kValueDimBucket + row * kValueDimBucket],
                            DataCopyExtParams(1, kValueDimBucket * 4, 0, 0, 0));
                    }
                }
            }
        }
    }

    // Log-sum-exp merge of the partials of each row; all vector cores share the rows.
    __aicore__ inline void MergePartials()
    {
        CrossCoreSetFlag<0, PIPE_MTE3>(kBeforeMergePartials);
        CrossCoreWaitFlag(kBeforeMergePartials);
        const int64_t stepsPerToken = CeilDiv(queryHeads_, kRowsPerStep);
        const int64_t units = rowTotal_ / queryHeads_ * stepsPerToken;
        for (int64_t unit = blockIndex_ * 2 + subBlock_; unit < units; unit += blockCount_ * 2) {
            const int64_t r0 = unit % stepsPerToken * kRowsPerStep;
            const int64_t chunk = MinOf(kRowsPerStep, queryHeads_ - r0);
            const int64_t head = r0;
            const int64_t firstRow = unit / stepsPerToken * queryHeads_ + r0;
            const int64_t firstToken = unit / stepsPerToken;
            const int64_t queryIndex = 0;
            Duplicate(mergedMax_, float(kLowest), chunk * 8);
            Duplicate(mergedSum_, float(0), chunk * 8);
            WaitFlag<HardEvent::MTE3_V>(kRowMaxFree);
            Duplicate(accumulator_, float(0), chunk * kValueDimBucket);
            for (int64_t part = 0; part < splits_; ++part) {
                {
                    LocalTensor<float> partMax =
                        ub_[kPartMax + partMaxSlot_ * kPartMaxSlot].ReinterpretCast<float>();
                    LocalTensor<float> partSum =
                        ub_[kPartSum + partMaxSlot_ * kPartSumSlot].ReinterpretCast<float>();
                    WaitFlag<HardEvent::V_MTE2>(kPartMaxFree + partMaxSlot_);
                    {
                        LocalTensor<float> partial =
                            ub_[kPartial + partialSlot_ * kPartialSlot].ReinterpretCast<float>();
                        DataCopyPad(partMax, partialMaxGm_[(part * rowTotal_ + firstRow) * 8],
                            DataCopyExtParams(1, chunk * 8 * 4, 0, 0, 0),
                            DataCopyPadExtParams<float>(false, 0, 0, 0));
                        DataCopyPad(partSum, partialSumGm_[(part * rowTotal_ + firstRow) * 8],
                            DataCopyExtParams(1, chunk * 8 * 4, 0, 0, 0),
                            DataCopyPadExtParams<float>(false, 0, 0, 0));
                        WaitFlag<HardEvent::V_MTE2>(kPartialFree + partialSlot_);
                        DataCopyPad(partial, partialOutGm_[(part * rowTotal_ + firstRow) * kValueDimBucket],
                            DataCopyExtParams(1, chunk * kValueDimBucket * 4, 0, 0, 0),
                            DataCopyPadExtParams<float>(false, 0, 0, 0));
                        SetFlag<HardEvent::MTE2_V>(kPartMaxReady + partMaxSlot_);
                        // newMax = max(mergedMax, partMax); both sides are rescaled to it and added
                        WaitFlag<HardEvent::MTE2_V>(kPartMaxReady + partMaxSlot_);
                        PipeBarrier<PIPE_V>();
                        Max(newMaxBlocks_, mergedMax_, partMax, chunk * 8);
                        PipeBarrier<PIPE_V>();
                        Sub(mergedRescale_, mergedMax_, newMaxBlocks_, chunk * 8);
                        Sub(partMax, partMax, newMaxBlocks_, chunk * 8);
                        PipeBarrier<PIPE_V>();
                        Exp(mergedRescale_, mergedRescale_, chunk * 8);
                        Exp(partMax, partMax, chunk * 8);
                        Adds(mergedMax_, newMaxBlocks_, float(0), chunk * 8);
                        PipeBarrier<PIPE_V>();
                        Mul(mergedSum_, mergedSum_, mergedRescale_, chunk * 8);
                        Mul(partSum, partSum, partMax, chunk * 8);
                        PipeBarrier<PIPE_V>();
                        Add(mergedSum_, mergedSum_, partSum, chunk * 8);
                        for (int64_t d0 = 0; d0 < kValueDimBucket; d0 += kRepeatLanes) {
                            Mul(accumulator_[d0], accumulator_[d0], mergedRescale_, kRepeatLanes, chunk,
                                BinaryRepeatParams(1, 1, 0, kValueDimBucket / 8, kValueDimBucket / 8, 1));
                        }
                        for (int64_t d0 = 0; d0 < kValueDimBucket; d0 += kRepeatLanes) {
                            Mul(partial[d0], partial[d0], partMax, kRepeatLanes, chunk,
                                BinaryRepeatParams(1, 1, 0, kValueDimBucket / 8, kValueDimBucket / 8, 1));
                        }
                        PipeBarrier<PIPE_V>();
                        Add(accumulator_, accumulator_, partial, chunk * kValueDimBucket);
                        SetFlag<HardEvent::V_MTE2>(kPartialFree + partialSlot_);
                        partialSlot_ ^= 1;
                    }
                    SetFlag<HardEvent::V_MTE2>(kPartMaxFree + partMaxSlot_);
                    partMaxSlot_ ^= 1;
                }
            }
            // result = accumulator / sum; a row without keys has sum 0 and gives zeros
            Maxs(mergedSum_, mergedSum_, float(kSmallest), chunk * 8);
            PipeBarrier<PIPE_V>();
            for (int64_t d0 = 0; d0 < kValueDimBucket; d0 += kRepeatLanes) {
                Div(accumulator_[d0], accumulator_[d0], mergedSum_, kRepeatLanes, chunk,
                    BinaryRepeatParams(1, 1, 0, kValueDimBucket / 8, kValueDimBucket / 8, 1));
            }
            {
                LocalTensor<T> result = ub_[kResult + resultSlot_ * kResultSlot].ReinterpretCast<T>();
                WaitFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
                PipeBarrier<PIPE_V>();
                Cast(result, accumulator_, RoundMode::CAST_RINT, chunk * kValueDimBucket);
                SetFlag<HardEvent::V_MTE3>(kResultReady + resultSlot_);
                WaitFlag<HardEvent::V_MTE3>(kResultReady + resultSlot_);
                DataCopyPad(outputGm_[(firstToken + queryIndex) * outputStrideS_ + head * outputStrideN_],
                    result,
                    DataCopyExtParams(chunk, valueDim_ * 2, (kValueDimBucket - RoundUp(valueDim_, 16)) / 16,
                        (outputStrideN_ - valueDim_) * 2, 0));
                SetFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
                resultSlot_ ^= 1;
            }
            SetFlag<HardEvent::MTE3_V>(kRowMaxFree);
        }
    }

    // Tiling values
    int64_t kvHeads_ = 0;
    int64_t group_ = 0;
    int64_t headsPerTask_ = 0;
    int64_t headTiles_ = 0;
    int64_t queriesPerTask_ = 0;
    int64_t queryTiles_ = 0;
    int64_t rowsPerTask_ = 0;
    int64_t splits_ = 0;
    int64_t items_ = 0;
    int64_t rowTotal_ = 0;
    float qkScale_ = 0;
    int64_t headDim_ = 0;
    int64_t keyStrideU_ = 0;
    int64_t keyStrideK_ = 0;
    int64_t valueDim_ = 0;
    int64_t valueStrideU_ = 0;
    int64_t valueStrideK_ = 0;
    int64_t outputStrideS_ = 0;
    int64_t outputStrideN_ = 0;
    int64_t queryHeads_ = 0;
    int64_t seqLenLayoutIs1_ = 0;
    int64_t batchScalar_ = 0;
    int64_t queryStrideS_ = 0;
    int64_t queryStrideN_ = 0;
    int64_t scoreRingOffset_ = 0;
    int64_t scoreRingPart_ = 0;
    int64_t probRingOffset_ = 0;
    int64_t probRingPart_ = 0;
    int64_t outRingOffset_ = 0;
    int64_t outRingPart_ = 0;
    int64_t partialMaxOffset_ = 0;
    int64_t partialSumOffset_ = 0;
    int64_t partialOutOffset_ = 0;
    int64_t blockIndex_ = 0;
    int64_t blockCount_ = 0;
    int64_t subBlock_ = 0;

    // The slot that each lifetime uses next
    uint32_t scoreL0Slot_ = 0;
    uint32_t keyL1Slot_ = 0;
    uint32_t leftL0Slot_ = 0;
    uint32_t probL1Slot_ = 0;
    uint32_t outL0Slot_ = 0;
    uint32_t valueL1Slot_ = 0;
    uint32_t scoreSlot_ = 0;
    uint32_t probSlot_ = 0;
    uint32_t partialSlot_ = 0;
    uint32_t resultSlot_ = 0;
    uint32_t leavingMaxSlot_ = 0;
    uint32_t partMaxSlot_ = 0;

    // Global memory
    GlobalTensor<T> queryGm_;
    GlobalTensor<T> keyGm_;
    GlobalTensor<T> valueGm_;
    GlobalTensor<int64_t> seqLenGm_;
    GlobalTensor<T> outputGm_;
    GlobalTensor<float> scoreRingGm_;  // ring of score tiles, cube to vector
    GlobalTensor<T> probRingGm_;  // ring of probability tiles, vector to cube
    GlobalTensor<float> outRingGm_;  // ring of weighted sums, cube to vector
    GlobalTensor<float> partialMaxGm_;  // row maxima of key splits
    GlobalTensor<float> partialSumGm_;  // row sums of key splits
    GlobalTensor<float> partialOutGm_;  // weighted sums of key splits

    // On-chip memories and the buffers with a single slot
    TBuf<TPosition::VECCALC> ubStorage_;
    LocalTensor<uint8_t> ub_;
    LocalTensor<float> rowMax_;
    LocalTensor<float> rowSum_;
    LocalTensor<float> accumulator_;
    LocalTensor<float> lanes_;
    LocalTensor<float> tileStat_;
    LocalTensor<float> newMax_;
    LocalTensor<float> rescale_;
    LocalTensor<float> rowBlocks_;
    LocalTensor<float> mergedMax_;
    LocalTensor<float> mergedSum_;
    LocalTensor<float> newMaxBlocks_;
    LocalTensor<float> mergedRescale_;
    TBuf<TPosition::A1> l1Storage_;
    LocalTensor<uint8_t> l1_;
    LocalTensor<T> queryL1_;
    TBuf<TPosition::A2> l0aStorage_;
    LocalTensor<uint8_t> l0a_;
    TBuf<TPosition::B2> l0bStorage_;
    LocalTensor<uint8_t> l0b_;
    TBuf<TPosition::CO1> l0cStorage_;
    LocalTensor<uint8_t> l0c_;
};

// The whole kernel; tensors in the contract's order, then the user's part of the workspace and the tiling data.
template <typename T>
__aicore__ inline void Run(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR seqLen, GM_ADDR output,
    GM_ADDR workspace, const SelfAttentionPaEncoderTiling &tiling)
{
    TPipe pipe;
    SelfAttentionPaEncoderKernel<T> kernel;
    kernel.Init(pipe, query, key, value, seqLen, output, workspace, tiling);
    if ASCEND_IS_AIC {
        kernel.RunCube();
    }
    if ASCEND_IS_AIV {
        kernel.RunVector();
    }
    PipeBarrier<PIPE_ALL>();  // as TPipe's destructor would, had it not been destroyed before
}

}  // namespace self_attention_pa_encoder_d128_e128_value

#endif  // ATTNDSL_SELF_ATTENTION_PA_ENCODER_D128_E128_VALUE_H
