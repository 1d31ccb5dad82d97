/*
 * nsa_compress_attention_d128_e128
 * Attention over compressed keys, and the key blocks that matter most to each token.
 *
 * Contract: mindspore.ops.nsa_compress_attention
 * Specialised on
 *   dtype T of query, key, value, attention_out: float16 or bfloat16
 *   head size D1 from 113 to 128
 *   head size D2 from 113 to 128
 * Batch, heads, lengths and strides are run-time values.
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Schedule
 *   tile_k    512    default
 *   ring      3      default
 *   rows      8      default
 *   base_n    64     spec
 *   base_k    128    default
 *   slots     2      default
 *   max_rows  128    spec
 *   split_kv  1      needed: row statistics are of all keys (nsa_compress_attention.py:146)
 *   cores     auto   default
 *
 * Step t of an item, the cube running ahead:
 *   AIC  ScoreTile     tile t      raises kScoreRingReady
 *   AIV  SoftmaxTile   tile t      waits for kScoreRingReady, raises kProbRingReady
 *   AIC  WeightedTile  tile t - 2  waits for kProbRingReady, raises kOutRingReady
 *   AIV  UpdateTile    tile t - 2  waits for kOutRingReady
 *   then, over the same tiles again:
 *   AIC  ScoreAgain    tile t      waits for kScoreAgainRingFree, raises kScoreAgainRingReady
 *   AIV  SelectTile    tile t - 2  waits for kScoreAgainRingReady, raises kScoreAgainRingFree
 *
 * Written by attndsl from the operator's spec. Every event, barrier and flag is explicit: the kernel does
 * not rely on the compiler's automatic synchronisation.
 */
#ifndef ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_H
#define ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_H

#include "kernel_operator.h"
#include "nsa_compress_attention_tiling.h"

namespace nsa_compress_attention_d128_e128 {

using namespace AscendC;

// Chosen by the schedule above: loops below and the plan of op_host are written for these values.
constexpr int64_t kValueDimBucket = 128;  // head size of values and results, padded to 16
constexpr int64_t kTileKeys = 512;  // keys of one score tile
constexpr int64_t kBaseN = 64;  // keys or value columns of one matrix multiply
constexpr int64_t kHeadDimBucket = 128;  // head size this kernel is specialised on, padded to 16
constexpr int64_t kBaseK = 128;  // depth of one matrix multiply
constexpr int64_t kRing = 3;  // workspace slots between cube and vector cores
constexpr int64_t kRowsPerVector = 64;  // query rows of one vector core, at most
constexpr int64_t kRowsPerStep = 8;  // query rows of one vector step
constexpr int64_t kWindowRow = 544;  // lanes of a position: a tile and what is around it
constexpr int64_t kWindowBefore = 24;  // keys of the tile before that windows reach back to
constexpr int64_t kRepeatLanes = 64;  // fp32 lanes of one vector repeat
constexpr int64_t kFractal = 16;  // rows and columns of a cube fractal
constexpr float kLowest = -3.4028234663852886e+38f;  // stands for minus infinity where no key was seen
constexpr float kSmallest = 1.1754943508222875e-38f;  // smallest normal number, the sum of a row without keys

// Buffer map: byte address of the first slot and bytes a slot.

// UB, 159040 of 188416 bytes
constexpr uint32_t kBlockNumber = 0x00000;  // 1 x 2048: number of each lane's block
constexpr uint32_t kLaneBlock = 0x00800;  // 1 x 2048: block of each lane within its position
constexpr uint32_t kLaneOffset = 0x01000;  // 1 x 2048: bytes to the first key of each lane's block
constexpr uint32_t kLaneNumber = 0x01800;  // 1 x 2048: the same, to compare
constexpr uint32_t kRowMax = 0x02000;  // 1 x 256: running maximum of each row
constexpr uint32_t kRowSum = 0x02100;  // 1 x 256: running sum of each row
constexpr uint32_t kAccumulator = 0x02200;  // 1 x 32768: running weighted sum of each row
constexpr uint32_t kScore = 0x0a200;  // 2 x 16384: scores of the rows, then exp(score - max)
constexpr uint32_t kScoreSlot = 16384;
constexpr uint32_t kLanes = 0x12200;  // 1 x 2048: reduction over the tile, one repeat a row
constexpr uint32_t kTileStat = 0x12a00;  // 1 x 32: maximum or sum of each row of the tile
constexpr uint32_t kNewMax = 0x12a20;  // 1 x 32: running maximum including the tile
constexpr uint32_t kRescale = 0x12a40;  // 1 x 768: exp(old max - new max) of the tiles in flight
constexpr uint32_t kRowBlocks = 0x12d40;  // 1 x 256: a row statistic, one block a row
constexpr uint32_t kProb = 0x12e40;  // 2 x 8192: probabilities, as the cube multiplies them
constexpr uint32_t kProbSlot = 8192;
constexpr uint32_t kPartial = 0x16e40;  // 2 x 4096: weighted sum of one tile or split
constexpr uint32_t kPartialSlot = 4096;
constexpr uint32_t kLeavingStatistic = 0x18e40;  // 2 x 256: a row statistic, one block a row
constexpr uint32_t kLeavingStatisticSlot = 256;
constexpr uint32_t kResult = 0x19040;  // 2 x 2048: finished rows in the dtype of the result
constexpr uint32_t kResultSlot = 2048;
constexpr uint32_t kWindow = 0x1a040;  // 1 x 34816: probabilities of a tile summed over heads, behind the last keys of the tile before
constexpr uint32_t kBlockScore = 0x22880;  // 1 x 2048: score of each lane's block
constexpr uint32_t kBlockRecords = 0x23100;  // 1 x 4096: blocks of a tile, sorted in groups
constexpr uint32_t kBest = 0x24100;  // 1 x 4096: best blocks of each position, sorted records
constexpr uint32_t kBlockTerm = 0x25100;  // 1 x 2048: one term of the scores
constexpr uint32_t kBlockBits = 0x25900;  // 1 x 64: one bit a lane
constexpr uint32_t kMerged = 0x25940;  // 1 x 1024: best blocks and new ones
constexpr uint32_t kSelected = 0x25d40;  // 2 x 2048: numbers of the best blocks
constexpr uint32_t kSelectedSlot = 2048;

// L1, 360448 of 524032 bytes
constexpr uint32_t kQueryL1 = 0x00000;  // 1 x 32768: query rows of the task, Nz
constexpr uint32_t kKeyL1 = 0x08000;  // 2 x 16384: key block, Nz
constexpr uint32_t kKeyL1Slot = 16384;
constexpr uint32_t kProbL1 = 0x10000;  // 2 x 131072: probabilities of a key tile, Nz
constexpr uint32_t kProbL1Slot = 131072;
constexpr uint32_t kValueL1 = 0x50000;  // 2 x 16384: value block, Nz
constexpr uint32_t kValueL1Slot = 16384;

// L0A, 65536 of 65536 bytes
constexpr uint32_t kLeftL0 = 0x00000;  // 2 x 32768: left operand, Zz
constexpr uint32_t kLeftL0Slot = 32768;

// L0B, 32768 of 65536 bytes
constexpr uint32_t kRightL0 = 0x00000;  // 2 x 16384: right operand, Zn
constexpr uint32_t kRightL0Slot = 16384;

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
constexpr int32_t kProbFree = 0;  // MTE3_V, prob: one id a slot
constexpr int32_t kLeavingStatisticFree = 2;  // MTE3_V, leavingStatistic: one id a slot
constexpr int32_t kResultFree = 4;  // MTE3_V, result: one id a slot
constexpr int32_t kSelectedFree = 6;  // MTE3_V, selected: one id a slot
constexpr int32_t kScoreL0Ready = 0;  // M_FIX, scoreL0: one id a slot
constexpr int32_t kOutL0Ready = 2;  // M_FIX, outL0: one id a slot
constexpr int32_t kLeftL0Free = 0;  // M_MTE1, leftL0, rightL0: one id a slot
constexpr int32_t kScoreFree = 0;  // V_MTE2, score: one id a slot
constexpr int32_t kPartialFree = 2;  // V_MTE2, partial: one id a slot
constexpr int32_t kProbReady = 0;  // V_MTE3, prob: one id a slot
constexpr int32_t kLeavingStatisticReady = 2;  // V_MTE3, leavingStatistic: one id a slot
constexpr int32_t kResultReady = 4;  // V_MTE3, result: one id a slot
constexpr int32_t kSelectedReady = 6;  // V_MTE3, selected: one id a slot

// Cross-core flags.
constexpr uint16_t kScoreRingReady = 0;
constexpr uint16_t kProbRingReady = 1;
constexpr uint16_t kOutRingReady = 2;
constexpr uint16_t kScoreAgainRingReady = 3;
constexpr uint16_t kScoreAgainRingFree = 4;

template <typename T>
class NsaCompressAttentionKernel {
public:
    __aicore__ inline void Init(TPipe &pipe, GM_ADDR query, GM_ADDR key, GM_ADDR value,
        GM_ADDR actual_seq_qlen, GM_ADDR actual_cmp_seq_kvlen, GM_ADDR actual_sel_seq_kvlen,
        GM_ADDR attention_out, GM_ADDR topk_indices_out, GM_ADDR softmax_max_out, GM_ADDR softmax_sum_out,
        GM_ADDR workspace, const NsaCompressAttentionTiling &tiling)
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
        scaleValue_ = tiling.scaleValue;
        headDim_ = tiling.headDim;
        keyStrideU_ = tiling.keyStrideU;
        keyStrideK_ = tiling.keyStrideK;
        valueDim_ = tiling.valueDim;
        valueStrideU_ = tiling.valueStrideU;
        valueStrideK_ = tiling.valueStrideK;
        softmaxMaxOutStrideS_ = tiling.softmaxMaxOutStrideS;
        softmaxMaxOutStrideN_ = tiling.softmaxMaxOutStrideN;
        softmaxSumOutStrideS_ = tiling.softmaxSumOutStrideS;
        softmaxSumOutStrideN_ = tiling.softmaxSumOutStrideN;
        attentionOutStrideS_ = tiling.attentionOutStrideS;
        attentionOutStrideN_ = tiling.attentionOutStrideN;
        windowStep_ = tiling.windowStep;
        windowLast_ = tiling.windowLast;
        positionsPerStep_ = tiling.positionsPerStep;
        laneBlocks_ = tiling.laneBlocks;
        windowCount1_ = tiling.windowCount1;
        windowTerms_ = tiling.windowTerms;
        selectionCount_ = tiling.selectionCount;
        topkIndicesOutStrideS_ = tiling.topkIndicesOutStrideS;
        topkIndicesOutStrideK_ = tiling.topkIndicesOutStrideK;
        queryStrideS_ = tiling.queryStrideS;
        queryStrideN_ = tiling.queryStrideN;
        scoreRingOffset_ = tiling.scoreRingOffset;
        scoreRingPart_ = tiling.scoreRingPart;
        probRingOffset_ = tiling.probRingOffset;
        probRingPart_ = tiling.probRingPart;
        outRingOffset_ = tiling.outRingOffset;
        outRingPart_ = tiling.outRingPart;
        scoreAgainRingOffset_ = tiling.scoreAgainRingOffset;
        scoreAgainRingPart_ = tiling.scoreAgainRingPart;
        blockCount_ = GetBlockNum();
        blockIndex_ = GetBlockIdx();
        if ASCEND_IS_AIV {
            blockIndex_ = GetBlockIdx() / 2;
            subBlock_ = GetSubBlockIdx();
        }
        Bind(queryGm_, query);
        Bind(keyGm_, key);
        Bind(valueGm_, value);
        Bind(actualSeqQlenGm_, actual_seq_qlen);
        Bind(actualCmpSeqKvlenGm_, actual_cmp_seq_kvlen);
        Bind(actualSelSeqKvlenGm_, actual_sel_seq_kvlen);
        Bind(attentionOutGm_, attention_out);
        Bind(topkIndicesOutGm_, topk_indices_out);
        Bind(softmaxMaxOutGm_, softmax_max_out);
        Bind(softmaxSumOutGm_, softmax_sum_out);
        Bind(scoreRingGm_, workspace + scoreRingOffset_ + blockIndex_ * scoreRingPart_);
        Bind(probRingGm_, workspace + probRingOffset_ + blockIndex_ * probRingPart_);
        Bind(outRingGm_, workspace + outRingOffset_ + blockIndex_ * outRingPart_);
        Bind(scoreAgainRingGm_, workspace + scoreAgainRingOffset_ + blockIndex_ * scoreAgainRingPart_);
        if ASCEND_IS_AIC {
            pipe.InitBuffer(l1Storage_, 360448);
            l1_ = l1Storage_.Get<uint8_t>();
            queryL1_ = l1_[kQueryL1].ReinterpretCast<T>();
            pipe.InitBuffer(l0aStorage_, 65536);
            l0a_ = l0aStorage_.Get<uint8_t>();
            pipe.InitBuffer(l0bStorage_, 32768);
            l0b_ = l0bStorage_.Get<uint8_t>();
            pipe.InitBuffer(l0cStorage_, 131072);
            l0c_ = l0cStorage_.Get<uint8_t>();
        }
        if ASCEND_IS_AIV {
            pipe.InitBuffer(ubStorage_, 159040);
            ub_ = ubStorage_.Get<uint8_t>();
            blockNumber_ = ub_[kBlockNumber].ReinterpretCast<int32_t>();
            laneBlock_ = ub_[kLaneBlock].ReinterpretCast<int32_t>();
            laneOffset_ = ub_[kLaneOffset].ReinterpretCast<int32_t>();
            laneNumber_ = ub_[kLaneNumber].ReinterpretCast<float>();
            rowMax_ = ub_[kRowMax].ReinterpretCast<float>();
            rowSum_ = ub_[kRowSum].ReinterpretCast<float>();
            accumulator_ = ub_[kAccumulator].ReinterpretCast<float>();
            lanes_ = ub_[kLanes].ReinterpretCast<float>();
            tileStat_ = ub_[kTileStat].ReinterpretCast<float>();
            newMax_ = ub_[kNewMax].ReinterpretCast<float>();
            rescale_ = ub_[kRescale].ReinterpretCast<float>();
            rowBlocks_ = ub_[kRowBlocks].ReinterpretCast<float>();
            window_ = ub_[kWindow].ReinterpretCast<float>();
            blockScore_ = ub_[kBlockScore].ReinterpretCast<float>();
            blockRecords_ = ub_[kBlockRecords].ReinterpretCast<float>();
            best_ = ub_[kBest].ReinterpretCast<float>();
            blockTerm_ = ub_[kBlockTerm].ReinterpretCast<float>();
            blockBits_ = ub_[kBlockBits].ReinterpretCast<uint8_t>();
            merged_ = ub_[kMerged].ReinterpretCast<float>();
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
            const int64_t queryLength =
                actualSeqQlenGm_.GetValue(batch) - (batch == 0 ? 0 : actualSeqQlenGm_.GetValue(batch - 1));
            const int64_t firstQuery = queryTile * queriesPerTask_;
            const int64_t queries = MaxOf(0, MinOf(queriesPerTask_, queryLength - firstQuery));
            const int64_t taskRows = heads * queries;
            const int64_t rowFractals = CeilDiv(taskRows, kFractal);
            const int64_t firstToken = batch == 0 ? 0 : actualSeqQlenGm_.GetValue(batch - 1);
            const int64_t keyEnd =
                actualCmpSeqKvlenGm_.GetValue(batch)
                    - (batch == 0 ? 0 : actualCmpSeqKvlenGm_.GetValue(batch - 1));
            const int64_t tileTotal = taskRows == 0 ? 0 : CeilDiv(keyEnd, kTileKeys);
            const int64_t tilesPerSplit = CeilDiv(tileTotal, splits_);
            const int64_t firstTile = MinOf(split * tilesPerSplit, tileTotal);
            const int64_t tiles = MinOf(tilesPerSplit, tileTotal - firstTile);
            const int64_t keyStart = batch == 0 ? 0 : actualCmpSeqKvlenGm_.GetValue(batch - 1);
            const int64_t valueStart = batch == 0 ? 0 : actualCmpSeqKvlenGm_.GetValue(batch - 1);
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
            for (int64_t step = 0; step < tiles; ++step) {
                const int64_t tile = step;
                ScoreAgain(kvHead, taskRows, rowFractals, keyEnd, firstTile, keyStart, tile);
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
        SetFlag<HardEvent::MTE3_V>(kLeavingStatisticFree);
        SetFlag<HardEvent::MTE3_V>(kLeavingStatisticFree + 1);
        SetFlag<HardEvent::MTE3_V>(kResultFree);
        SetFlag<HardEvent::MTE3_V>(kResultFree + 1);
        SetFlag<HardEvent::MTE3_V>(kSelectedFree);
        SetFlag<HardEvent::MTE3_V>(kSelectedFree + 1);
        PrepareSelection();
        for (int64_t item = blockIndex_; item < items_; item += blockCount_) {
            const int64_t split = item % splits_;
            const int64_t task = item / splits_;
            const int64_t queryTile = task % queryTiles_;
            const int64_t headTile = task / queryTiles_ % headTiles_;
            const int64_t kvHead = task / queryTiles_ / headTiles_ % kvHeads_;
            const int64_t batch = task / queryTiles_ / (headTiles_ * kvHeads_);
            const int64_t firstHead = kvHead * group_ + headTile * headsPerTask_;
            const int64_t heads = MinOf(headsPerTask_, group_ - headTile * headsPerTask_);
            const int64_t queryLength =
                actualSeqQlenGm_.GetValue(batch) - (batch == 0 ? 0 : actualSeqQlenGm_.GetValue(batch - 1));
            const int64_t firstQuery = queryTile * queriesPerTask_;
            const int64_t queries = MaxOf(0, MinOf(queriesPerTask_, queryLength - firstQuery));
            const int64_t taskRows = heads * queries;
            const int64_t firstToken = batch == 0 ? 0 : actualSeqQlenGm_.GetValue(batch - 1);
            const int64_t keyEnd =
                actualCmpSeqKvlenGm_.GetValue(batch)
                    - (batch == 0 ? 0 : actualCmpSeqKvlenGm_.GetValue(batch - 1));
            const int64_t tileTotal = taskRows == 0 ? 0 : CeilDiv(keyEnd, kTileKeys);
            const int64_t tilesPerSplit = CeilDiv(tileTotal, splits_);
            const int64_t firstTile = MinOf(split * tilesPerSplit, tileTotal);
            const int64_t tiles = MinOf(tilesPerSplit, tileTotal - firstTile);
            const int64_t rowsPerCore = CeilDiv(queries, 2) * heads;
            const int64_t rowBegin = MinOf(subBlock_ * rowsPerCore, taskRows);
            const int64_t rows = MinOf(rowsPerCore, taskRows - rowBegin);
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
            WriteStatistics(firstHead, heads, firstQuery, firstToken, rowBegin, rows);
            WriteRows(firstHead, heads, firstQuery, firstToken, rowBegin, rows);
            const int64_t corePositions = rows / heads;
            const int64_t totalBlocks =
                actualSelSeqKvlenGm_.GetValue(batch)
                    - (batch == 0 ? 0 : actualSelSeqKvlenGm_.GetValue(batch - 1));
            const int64_t selectionTiles =
                CeilDiv(MaxOf(0, windowStep_ * (totalBlocks - 1) + windowLast_ + 1), kTileKeys);
            StartSelection(corePositions);
            for (int64_t step = 0; step < tiles + 2; ++step) {
                if (step >= 2) {
                    const int64_t tile = step - 2;
                    SelectTile(heads, keyEnd, firstTile, tiles, tile, rowBegin, rows, corePositions,
                        totalBlocks);
                }
            }
            SelectRest(tiles, corePositions, totalBlocks, selectionTiles);
            WriteSelection(kvHead, heads, firstQuery, firstToken, rowBegin, rows, corePositions);
        }
        WaitFlag<HardEvent::MTE3_V>(kProbFree);
        WaitFlag<HardEvent::MTE3_V>(kProbFree + 1);
        WaitFlag<HardEvent::V_MTE2>(kScoreFree);
        WaitFlag<HardEvent::V_MTE2>(kScoreFree + 1);
        WaitFlag<HardEvent::V_MTE2>(kPartialFree);
        WaitFlag<HardEvent::V_MTE2>(kPartialFree + 1);
        WaitFlag<HardEvent::MTE3_V>(kLeavingStatisticFree);
        WaitFlag<HardEvent::MTE3_V>(kLeavingStatisticFree + 1);
        WaitFlag<HardEvent::MTE3_V>(kResultFree);
        WaitFlag<HardEvent::MTE3_V>(kResultFree + 1);
        WaitFlag<HardEvent::MTE3_V>(kSelectedFree);
        WaitFlag<HardEvent::MTE3_V>(kSelectedFree + 1);
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
            for (int64_t d0 = 0; d0 < kValueDimBucket; d0 += kBaseN) {
                const int64_t width = kBaseN;
                {
                    LocalTensor<float> outL0 =
                        l0c_[kOutL0 + outL0Slot_ * kOutL0Slot].ReinterpretCast<float>();
                    WaitFlag<HardEvent::FIX_M>(kOutL0Free + outL0Slot_);
                    for (int64_t k0 = 0; k0 < keys; k0 += kBaseK) {
                        const int64_t depth = MinOf(kBaseK, keys - k0);
                        {
                            LocalTensor<T> valueL1 =
                                l1_[kValueL1 + valueL1Slot_ * kValueL1Slot].ReinterpretCast<T>();
                            // to L1, row by row where one copy cannot express the pitch; then to L0A and L0B
                            WaitFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
                            if (valueStrideU_ <= 65535) {
                                DataCopy(valueL1, valueGm_[valueTile + k0 * valueStrideU_ + d0],
                                    Nd2NzParams(1, depth, MinOf(width, valueDim_ - d0), 0, valueStrideU_,
                                        RoundUp(depth, kFractal), 1, 0));
                            } else {
                                for (int64_t row = 0; row < depth; ++row) {
                                    DataCopy(valueL1[row * kFractal],
                                        valueGm_[valueTile + k0 * valueStrideU_ + d0 + row * valueStrideU_],
                                        Nd2NzParams(1, 1, MinOf(width, valueDim_ - d0), 0,
                                            MinOf(width, valueDim_ - d0), RoundUp(depth, kFractal), 1, 0));
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
                                const int64_t columnFractals = CeilDiv(width, kFractal);
                                WaitFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                                for (int64_t rowGroup = 0; rowGroup < rowFractals; ++rowGroup) {
                                    LoadData(leftL0[rowGroup * depthFractals * (kFractal * kFractal)],
                                        probL1[(k0 / kFractal * rowFractals
                                            + rowGroup) * (kFractal * kFractal)],
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
                                if (rowFractals * kFractal * width < 10 * kFractal * kFractal) {
                                    PipeBarrier<PIPE_M>();
                                }
                                Mmad(outL0, leftL0, rightL0,
                                    MmadParams(rowFractals * kFractal, width, depth, 0, false, k0 == 0));
                                SetFlag<HardEvent::M_MTE1>(kLeftL0Free + leftL0Slot_);
                                leftL0Slot_ ^= 1;
                            }
                            SetFlag<HardEvent::MTE1_MTE2>(kValueL1Free + valueL1Slot_);
                            valueL1Slot_ ^= 1;
                        }
                    }
                    SetFlag<HardEvent::M_FIX>(kOutL0Ready + outL0Slot_);
                    WaitFlag<HardEvent::M_FIX>(kOutL0Ready + outL0Slot_);
                    Fixpipe<float, float, CFG_ROW_MAJOR>(outRingGm_[slot * rowsPerTask_ * kValueDimBucket
                        + d0],
                        outL0,
                        FixpipeParamsV220(width, taskRows, rowFractals * kFractal, kValueDimBucket, false));
                    SetFlag<HardEvent::FIX_M>(kOutL0Free + outL0Slot_);
                    outL0Slot_ ^= 1;
                }
            }
            SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
            probL1Slot_ ^= 1;
        }
        CrossCoreSetFlag<2, PIPE_FIX>(kOutRingReady);
    }

    // Scores of one key tile, query times keys transposed, to their ring slot.
    __aicore__ inline void ScoreAgain(int64_t kvHead, int64_t taskRows, int64_t rowFractals, int64_t keyEnd,
        int64_t firstTile, int64_t keyStart, int64_t tile)
    {
        const int64_t slot = tile % kRing;
        const int64_t firstKey = (firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, keyEnd - firstKey);
        const int64_t keyTile = kvHead * keyStrideK_ + (keyStart + firstKey) * keyStrideU_;
        if (tile >= 3) {
            CrossCoreWaitFlag(kScoreAgainRingFree);
        }
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
                Fixpipe<float, float, CFG_ROW_MAJOR>(scoreAgainRingGm_[slot * rowsPerTask_ * kTileKeys + n0],
                    scoreL0,
                    FixpipeParamsV220(RoundUp(cols, kFractal), taskRows, rowFractals * kFractal, kTileKeys,
                        false));
                SetFlag<HardEvent::FIX_M>(kScoreL0Free + scoreL0Slot_);
                scoreL0Slot_ ^= 1;
            }
        }
        CrossCoreSetFlag<2, PIPE_FIX>(kScoreAgainRingReady);
    }

    // Vector stages

    // Which block each lane stands for when the blocks of several positions are sorted at once.
    __aicore__ inline void PrepareSelection()
    {
        {
            Duplicate(blockNumber_, int32_t(0), 64);
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit0[2] = {0xaaaaaaaaaaaaaaaa, 0};
            Adds(blockNumber_, blockNumber_, int32_t(1), lanesOfBit0, 1, UnaryRepeatParams(1, 1, 8, 8));
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit1[2] = {0xcccccccccccccccc, 0};
            Adds(blockNumber_, blockNumber_, int32_t(2), lanesOfBit1, 1, UnaryRepeatParams(1, 1, 8, 8));
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit2[2] = {0xf0f0f0f0f0f0f0f0, 0};
            Adds(blockNumber_, blockNumber_, int32_t(4), lanesOfBit2, 1, UnaryRepeatParams(1, 1, 8, 8));
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit3[2] = {0xff00ff00ff00ff00, 0};
            Adds(blockNumber_, blockNumber_, int32_t(8), lanesOfBit3, 1, UnaryRepeatParams(1, 1, 8, 8));
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit4[2] = {0xffff0000ffff0000, 0};
            Adds(blockNumber_, blockNumber_, int32_t(16), lanesOfBit4, 1, UnaryRepeatParams(1, 1, 8, 8));
            PipeBarrier<PIPE_V>();
            uint64_t lanesOfBit5[2] = {0xffffffff00000000, 0};
            Adds(blockNumber_, blockNumber_, int32_t(32), lanesOfBit5, 1, UnaryRepeatParams(1, 1, 8, 8));
            PipeBarrier<PIPE_V>();
            Adds(blockNumber_[64], blockNumber_, int32_t(64), 64);
            PipeBarrier<PIPE_V>();
            Adds(blockNumber_[128], blockNumber_, int32_t(128), 128);
            PipeBarrier<PIPE_V>();
            Adds(blockNumber_[256], blockNumber_, int32_t(256), 256);
        }
        Duplicate(laneBlock_, int32_t(0), 512);
        Duplicate(laneOffset_, int32_t(0), 512);
        PipeBarrier<PIPE_V>();
        for (int64_t position = 0; position < positionsPerStep_; ++position) {
            Adds(laneBlock_[position * laneBlocks_], blockNumber_, int32_t(0), laneBlocks_);
            Muls(laneOffset_[position * laneBlocks_], blockNumber_, int32_t(windowStep_ * 4), laneBlocks_);
            PipeBarrier<PIPE_V>();
            Mins(laneOffset_[position * laneBlocks_], laneOffset_[position * laneBlocks_], int32_t(2044),
                laneBlocks_);
            PipeBarrier<PIPE_V>();
            Adds(laneOffset_[position * laneBlocks_], laneOffset_[position * laneBlocks_],
                int32_t(position * (kWindowRow * 4)), laneBlocks_);
        }
        Cast(laneNumber_, laneBlock_, RoundMode::CAST_RINT, 512);
    }

    // Rows that have seen no key yet.
    __aicore__ inline void StartRows(int64_t rows)
    {
        if (rows > 0) {
            PipeBarrier<PIPE_V>();
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
                // score * scale_value  (nsa_compress_attention.py:133)
                WaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
                Muls(score, score, float(scaleValue_), span);
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

    // Maxima and sums of finished rows to their results.
    __aicore__ inline void WriteStatistics(int64_t firstHead, int64_t heads, int64_t firstQuery,
        int64_t firstToken, int64_t rowBegin, int64_t rows)
    {
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            const int64_t chunk = MinOf(kRowsPerStep, rows - r0);
            {
                LocalTensor<float> leavingStatistic =
                    ub_[kLeavingStatistic
                        + leavingStatisticSlot_ * kLeavingStatisticSlot].ReinterpretCast<float>();
                WaitFlag<HardEvent::MTE3_V>(kLeavingStatisticFree + leavingStatisticSlot_);
                PipeBarrier<PIPE_V>();
                Brcb(leavingStatistic, rowMax_[r0], CeilDiv(kRowsPerStep, 8), BrcbRepeatParams(1, 8));
                SetFlag<HardEvent::V_MTE3>(kLeavingStatisticReady + leavingStatisticSlot_);
                WaitFlag<HardEvent::V_MTE3>(kLeavingStatisticReady + leavingStatisticSlot_);
                if (heads == 1) {
                    const int64_t head = firstHead;
                    const int64_t queryIndex = firstQuery + rowBegin + r0;
                    DataCopyPad(softmaxMaxOutGm_[(firstToken + queryIndex) * softmaxMaxOutStrideS_
                        + head * softmaxMaxOutStrideN_],
                        leavingStatistic,
                        DataCopyExtParams(chunk, 32, 0, (softmaxMaxOutStrideS_ - 8) * 4, 0));
                } else {
                    for (int64_t row = 0; row < chunk; ++row) {
                        const int64_t head = firstHead + (rowBegin + r0 + row) % heads;
                        const int64_t queryIndex = firstQuery + (rowBegin + r0 + row) / heads;
                        DataCopyPad(softmaxMaxOutGm_[(firstToken + queryIndex) * softmaxMaxOutStrideS_
                            + head * softmaxMaxOutStrideN_],
                            leavingStatistic[row * 8], DataCopyExtParams(1, 32, 0, 0, 0));
                    }
                }
                SetFlag<HardEvent::MTE3_V>(kLeavingStatisticFree + leavingStatisticSlot_);
                leavingStatisticSlot_ ^= 1;
            }
            {
                LocalTensor<float> leavingStatistic =
                    ub_[kLeavingStatistic
                        + leavingStatisticSlot_ * kLeavingStatisticSlot].ReinterpretCast<float>();
                WaitFlag<HardEvent::MTE3_V>(kLeavingStatisticFree + leavingStatisticSlot_);
                Brcb(leavingStatistic, rowSum_[r0], CeilDiv(kRowsPerStep, 8), BrcbRepeatParams(1, 8));
                SetFlag<HardEvent::V_MTE3>(kLeavingStatisticReady + leavingStatisticSlot_);
                WaitFlag<HardEvent::V_MTE3>(kLeavingStatisticReady + leavingStatisticSlot_);
                if (heads == 1) {
                    const int64_t head = firstHead;
                    const int64_t queryIndex = firstQuery + rowBegin + r0;
                    DataCopyPad(softmaxSumOutGm_[(firstToken + queryIndex) * softmaxSumOutStrideS_
                        + head * softmaxSumOutStrideN_],
                        leavingStatistic,
                        DataCopyExtParams(chunk, 32, 0, (softmaxSumOutStrideS_ - 8) * 4, 0));
                } else {
                    for (int64_t row = 0; row < chunk; ++row) {
                        const int64_t head = firstHead + (rowBegin + r0 + row) % heads;
                        const int64_t queryIndex = firstQuery + (rowBegin + r0 + row) / heads;
                        DataCopyPad(softmaxSumOutGm_[(firstToken + queryIndex) * softmaxSumOutStrideS_
                            + head * softmaxSumOutStrideN_],
                            leavingStatistic[row * 8], DataCopyExtParams(1, 32, 0, 0, 0));
                    }
                }
                SetFlag<HardEvent::MTE3_V>(kLeavingStatisticFree + leavingStatisticSlot_);
                leavingStatisticSlot_ ^= 1;
            }
        }
    }

    // Rows of a finished item: normalised, to the output.
    __aicore__ inline void WriteRows(int64_t firstHead, int64_t heads, int64_t firstQuery, int64_t firstToken,
        int64_t rowBegin, int64_t rows)
    {
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
                    DataCopyPad(attentionOutGm_[(firstToken + queryIndex) * attentionOutStrideS_
                        + head * attentionOutStrideN_],
                        result,
                        DataCopyExtParams(chunk, valueDim_ * 2,
                            (kValueDimBucket - RoundUp(valueDim_, 16)) / 16,
                            (attentionOutStrideS_ - valueDim_) * 2, 0));
                } else {
                    for (int64_t row = 0; row < chunk; ++row) {
                        const int64_t head = firstHead + (rowBegin + r0 + row) % heads;
                        const int64_t queryIndex = firstQuery + (rowBegin + r0 + row) / heads;
                        DataCopyPad(attentionOutGm_[(firstToken + queryIndex) * attentionOutStrideS_
                            + head * attentionOutStrideN_],
                            result[row * kValueDimBucket], DataCopyExtParams(1, valueDim_ * 2, 0, 0, 0));
                    }
                }
                SetFlag<HardEvent::MTE3_V>(kResultFree + resultSlot_);
                resultSlot_ ^= 1;
            }
        }
    }

    // Nothing is among the best yet.
    __aicore__ inline void StartSelection(int64_t corePositions)
    {
        if (corePositions > 0) {
            PipeBarrier<PIPE_V>();
            Duplicate(window_, float(0), 8704);
            Duplicate(blockScore_, float(-__builtin_inff()), 32);
            Duplicate(blockNumber_, int32_t(-1), 32);
            PipeBarrier<PIPE_V>();
            Sort32(blockRecords_, blockScore_, blockNumber_.ReinterpretCast<uint32_t>(), 1);
            PipeBarrier<PIPE_V>();
            for (int64_t position = 0; position < corePositions; ++position) {
                DataCopy(best_[position * 32 * 2], blockRecords_, 64);
            }
        }
    }

    // Probabilities of one tile, summed over heads; the blocks that it completes to the best.
    __aicore__ inline void SelectTile(int64_t heads, int64_t keyEnd, int64_t firstTile, int64_t tiles,
        int64_t tile, int64_t rowBegin, int64_t rows, int64_t corePositions, int64_t totalBlocks)
    {
        const int64_t slot = tile % kRing;
        const int64_t firstKey = (firstTile + tile) * kTileKeys;
        const int64_t keys = MinOf(kTileKeys, keyEnd - firstKey);
        PipeBarrier<PIPE_V>();
        for (int64_t position = 0; position < corePositions; ++position) {
            DataCopy(window_[position * kWindowRow], window_[position * kWindowRow + kTileKeys],
                kWindowBefore);
            PipeBarrier<PIPE_V>();
            Duplicate(window_[position * kWindowRow + kWindowBefore], float(0), kTileKeys);
        }
        CrossCoreWaitFlag(kScoreAgainRingReady);
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            const int64_t chunk = MinOf(kRowsPerStep, rows - r0);
            {
                LocalTensor<float> score = ub_[kScore + scoreSlot_ * kScoreSlot].ReinterpretCast<float>();
                WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                DataCopyPad(score, scoreAgainRingGm_[(slot * rowsPerTask_ + rowBegin + r0) * kTileKeys],
                    DataCopyExtParams(chunk, keys * 4, (kTileKeys - keys) * 4,
                        (kTileKeys - RoundUp(keys, 8)) / 8, 0),
                    DataCopyPadExtParams<float>(false, 0, 0, 0));
                SetFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
                const int64_t span = (chunk - 1) * kTileKeys + RoundUp(keys, kRepeatLanes);
                // score * scale_value  (nsa_compress_attention.py:133)
                WaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
                Muls(score, score, float(scaleValue_), span);
                // Lanes behind the last key take no part in the maximum, nor below in the sum.
                if (keys % kRepeatLanes != 0) {
                    PipeBarrier<PIPE_V>();
                    {
                        uint64_t mask[2] = {~uint64_t(0) << (keys % kRepeatLanes), 0};
                        Duplicate(score[keys / kRepeatLanes * kRepeatLanes], float(kLowest), mask, chunk, 1,
                            kTileKeys / 8);
                    }
                }
                // score = exp(score - rowMax)
                Brcb(rowBlocks_, rowMax_[r0], CeilDiv(kRowsPerStep, 8), BrcbRepeatParams(1, 8));
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
                // score = score / rowSum, then added to the sums of its position
                Brcb(rowBlocks_, rowSum_[r0], CeilDiv(kRowsPerStep, 8), BrcbRepeatParams(1, 8));
                PipeBarrier<PIPE_V>();
                for (int64_t c0 = 0; c0 < keys; c0 += kRepeatLanes) {
                    Div(score[c0], score[c0], rowBlocks_, kRepeatLanes, chunk,
                        BinaryRepeatParams(1, 1, 0, kTileKeys / 8, kTileKeys / 8, 1));
                }
                for (int64_t row = 0; row < chunk; ++row) {
                    PipeBarrier<PIPE_V>();
                    Add(window_[(r0 + row) / heads * kWindowRow + kWindowBefore],
                        window_[(r0 + row) / heads * kWindowRow + kWindowBefore], score[row * kTileKeys],
                        keys);
                }
                SetFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
                scoreSlot_ ^= 1;
            }
        }
        if (tile + 3 < tiles) {
            CrossCoreSetFlag<2, PIPE_MTE2>(kScoreAgainRingFree);
        }
        const int64_t firstBlock = tile == 0 ? 0 : CeilDiv(firstKey - windowLast_, windowStep_);
        const int64_t endBlock =
            MinOf(totalBlocks, CeilDiv(MaxOf(0, firstKey + kTileKeys - windowLast_), windowStep_));
        const int64_t newBlocks = endBlock - firstBlock;
        if (newBlocks > 0) {
            for (int64_t position0 = 0; position0 < corePositions; position0 += positionsPerStep_) {
                const int64_t stepPositions = MinOf(positionsPerStep_, corePositions - position0);
                const int64_t usedLanes = stepPositions * laneBlocks_;
                // score of each block: the weighted sum of its window
                Duplicate(blockScore_, float(0), 512);
                for (int64_t term = 0; term < windowTerms_; ++term) {
                    PipeBarrier<PIPE_V>();
                    Gather(blockTerm_, window_[position0 * kWindowRow],
                        laneOffset_.ReinterpretCast<uint32_t>(),
                        static_cast<uint32_t>((windowStep_ * firstBlock + windowLast_ - firstKey - term
                            + kWindowBefore) * 4),
                        usedLanes);
                    PipeBarrier<PIPE_V>();
                    Muls(blockTerm_, blockTerm_,
                        float(MinOf(MinOf(term + 1, windowTerms_ - term), MinOf(windowStep_, windowCount1_))),
                        usedLanes);
                    PipeBarrier<PIPE_V>();
                    Add(blockScore_, blockScore_, blockTerm_, usedLanes);
                }
                // NaN counts as the lowest number
                PipeBarrier<PIPE_V>();
                Compare(blockBits_, blockScore_, blockScore_, CMPMODE::EQ, 512);
                PipeBarrier<PIPE_V>();
                Select(blockScore_, blockBits_, blockScore_, float(kLowest), SELMODE::VSEL_TENSOR_SCALAR_MODE,
                    512);
                // lanes without a block come last; records sorted in groups
                PipeBarrier<PIPE_V>();
                CompareScalar(blockBits_, laneNumber_, float(newBlocks), CMPMODE::LT, 512);
                PipeBarrier<PIPE_V>();
                Select(blockScore_, blockBits_, blockScore_, float(-__builtin_inff()),
                    SELMODE::VSEL_TENSOR_SCALAR_MODE, 512);
                Adds(blockNumber_, laneBlock_, int32_t(firstBlock), usedLanes);
                PipeBarrier<PIPE_V>();
                Sort32(blockRecords_, blockScore_, blockNumber_.ReinterpretCast<uint32_t>(),
                    CeilDiv(usedLanes, 32));
                const int64_t groups = CeilDiv(newBlocks, 32);
                for (int64_t position = 0; position < stepPositions; ++position) {
                    for (int64_t part = 0; part < groups; part += 3) {
                        PipeBarrier<PIPE_V>();
                        {
                            const uint16_t sizes[4] =
                                {static_cast<uint16_t>(32), static_cast<uint16_t>(32),
                                    static_cast<uint16_t>(MinOf(32, MaxOf(0, (groups - part - 1) * 32))),
                                    static_cast<uint16_t>(MinOf(32, MaxOf(0, (groups - part - 2) * 32)))};
                            MrgSort(merged_,
                                MrgSortSrcList<float>(best_[(position0 + position) * 32 * 2],
                                    blockRecords_[(position * laneBlocks_ + part * 32) * 2],
                                    blockRecords_[(position * laneBlocks_
                                        + MinOf(part + 1, groups - 1) * 32) * 2],
                                    blockRecords_[(position * laneBlocks_
                                        + MinOf(part + 2, groups - 1) * 32) * 2]),
                                MrgSort4Info(sizes, false, 15, 1));
                        }
                        PipeBarrier<PIPE_V>();
                        DataCopy(best_[(position0 + position) * 32 * 2], merged_, 64);
                    }
                }
            }
        }
    }

    // Blocks whose windows end behind the last tile, as if tiles without keys followed.
    __aicore__ inline void SelectRest(int64_t tiles, int64_t corePositions, int64_t totalBlocks,
        int64_t selectionTiles)
    {
        if (corePositions > 0) {
            for (int64_t tile = tiles; tile < selectionTiles; ++tile) {
                PipeBarrier<PIPE_V>();
                for (int64_t position = 0; position < corePositions; ++position) {
                    DataCopy(window_[position * kWindowRow], window_[position * kWindowRow + kTileKeys],
                        kWindowBefore);
                    PipeBarrier<PIPE_V>();
                    Duplicate(window_[position * kWindowRow + kWindowBefore], float(0), kTileKeys);
                }
                const int64_t firstBlock =
                    tile == 0 ? 0 : CeilDiv(tile * kTileKeys - windowLast_, windowStep_);
                const int64_t endBlock =
                    MinOf(totalBlocks,
                        CeilDiv(MaxOf(0, tile * kTileKeys + kTileKeys - windowLast_), windowStep_));
                const int64_t newBlocks = endBlock - firstBlock;
                if (newBlocks > 0) {
                    for (int64_t position0 = 0; position0 < corePositions; position0 += positionsPerStep_) {
                        const int64_t stepPositions = MinOf(positionsPerStep_, corePositions - position0);
                        const int64_t usedLanes = stepPositions * laneBlocks_;
                        // score of each block: the weighted sum of its window
                        Duplicate(blockScore_, float(0), 512);
                        for (int64_t term = 0; term < windowTerms_; ++term) {
                            PipeBarrier<PIPE_V>();
                            Gather(blockTerm_, window_[position0 * kWindowRow],
                                laneOffset_.ReinterpretCast<uint32_t>(),
                                static_cast<uint32_t>((windowStep_ * firstBlock + windowLast_
                                    - tile * kTileKeys - term + kWindowBefore) * 4),
                                usedLanes);
                            PipeBarrier<PIPE_V>();
                            Muls(blockTerm_, blockTerm_,
                                float(MinOf(MinOf(term + 1, windowTerms_
                                    - term), MinOf(windowStep_, windowCount1_))),
                                usedLanes);
                            PipeBarrier<PIPE_V>();
                            Add(blockScore_, blockScore_, blockTerm_, usedLanes);
                        }
                        // NaN counts as the lowest number
                        PipeBarrier<PIPE_V>();
                        Compare(blockBits_, blockScore_, blockScore_, CMPMODE::EQ, 512);
                        PipeBarrier<PIPE_V>();
                        Select(blockScore_, blockBits_, blockScore_, float(kLowest),
                            SELMODE::VSEL_TENSOR_SCALAR_MODE, 512);
                        // lanes without a block come last; records sorted in groups
                        PipeBarrier<PIPE_V>();
                        CompareScalar(blockBits_, laneNumber_, float(newBlocks), CMPMODE::LT, 512);
                        PipeBarrier<PIPE_V>();
                        Select(blockScore_, blockBits_, blockScore_, float(-__builtin_inff()),
                            SELMODE::VSEL_TENSOR_SCALAR_MODE, 512);
                        Adds(blockNumber_, laneBlock_, int32_t(firstBlock), usedLanes);
                        PipeBarrier<PIPE_V>();
                        Sort32(blockRecords_, blockScore_, blockNumber_.ReinterpretCast<uint32_t>(),
                            CeilDiv(usedLanes, 32));
                        const int64_t groups = CeilDiv(newBlocks, 32);
                        for (int64_t position = 0; position < stepPositions; ++position) {
                            for (int64_t part = 0; part < groups; part += 3) {
                                PipeBarrier<PIPE_V>();
                                {
                                    const uint16_t sizes[4] =
                                        {static_cast<uint16_t>(32), static_cast<uint16_t>(32),
                                            static_cast<uint16_t>(MinOf(32, MaxOf(0, (groups - part
                                                - 1) * 32))),
                                            static_cast<uint16_t>(MinOf(32, MaxOf(0, (groups - part
                                                - 2) * 32)))};
                                    MrgSort(merged_,
                                        MrgSortSrcList<float>(best_[(position0 + position) * 32 * 2],
                                            blockRecords_[(position * laneBlocks_ + part * 32) * 2],
                                            blockRecords_[(position * laneBlocks_
                                                + MinOf(part + 1, groups - 1) * 32) * 2],
                                            blockRecords_[(position * laneBlocks_
                                                + MinOf(part + 2, groups - 1) * 32) * 2]),
                                        MrgSort4Info(sizes, false, 15, 1));
                                }
                                PipeBarrier<PIPE_V>();
                                DataCopy(best_[(position0 + position) * 32 * 2], merged_, 64);
                            }
                        }
                    }
                }
            }
        }
    }

    // Numbers of the best blocks of each position to the result.
    __aicore__ inline void WriteSelection(int64_t kvHead, int64_t heads, int64_t firstQuery,
        int64_t firstToken, int64_t rowBegin, int64_t rows, int64_t corePositions)
    {
        for (int64_t r0 = 0; r0 < rows; r0 += 16 * heads) {
            const int64_t position0 = r0 / heads;
            const int64_t stepPositions = MinOf(16, corePositions - position0);
            {
                LocalTensor<int32_t> selected =
                    ub_[kSelected + selectedSlot_ * kSelectedSlot].ReinterpretCast<int32_t>();
                WaitFlag<HardEvent::MTE3_V>(kSelectedFree + selectedSlot_);
                PipeBarrier<PIPE_V>();
                Extract(blockScore_, selected.ReinterpretCast<uint32_t>(), best_[position0 * 32 * 2],
                    CeilDiv(stepPositions * 32, 32));
                SetFlag<HardEvent::V_MTE3>(kSelectedReady + selectedSlot_);
                WaitFlag<HardEvent::V_MTE3>(kSelectedReady + selectedSlot_);
                DataCopyPad(topkIndicesOutGm_[(firstToken + firstQuery + rowBegin / heads
                    + position0) * topkIndicesOutStrideS_
                    + kvHead * topkIndicesOutStrideK_],
                    selected,
                    DataCopyExtParams(stepPositions, selectionCount_ * 4,
                        (32 - RoundUp(selectionCount_, 8)) / 8,
                        (topkIndicesOutStrideS_ - selectionCount_) * 4, 0));
                SetFlag<HardEvent::MTE3_V>(kSelectedFree + selectedSlot_);
                selectedSlot_ ^= 1;
            }
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
    float scaleValue_ = 0;
    int64_t headDim_ = 0;
    int64_t keyStrideU_ = 0;
    int64_t keyStrideK_ = 0;
    int64_t valueDim_ = 0;
    int64_t valueStrideU_ = 0;
    int64_t valueStrideK_ = 0;
    int64_t softmaxMaxOutStrideS_ = 0;
    int64_t softmaxMaxOutStrideN_ = 0;
    int64_t softmaxSumOutStrideS_ = 0;
    int64_t softmaxSumOutStrideN_ = 0;
    int64_t attentionOutStrideS_ = 0;
    int64_t attentionOutStrideN_ = 0;
    int64_t windowStep_ = 0;
    int64_t windowLast_ = 0;
    int64_t positionsPerStep_ = 0;
    int64_t laneBlocks_ = 0;
    int64_t windowCount1_ = 0;
    int64_t windowTerms_ = 0;
    int64_t selectionCount_ = 0;
    int64_t topkIndicesOutStrideS_ = 0;
    int64_t topkIndicesOutStrideK_ = 0;
    int64_t queryStrideS_ = 0;
    int64_t queryStrideN_ = 0;
    int64_t scoreRingOffset_ = 0;
    int64_t scoreRingPart_ = 0;
    int64_t probRingOffset_ = 0;
    int64_t probRingPart_ = 0;
    int64_t outRingOffset_ = 0;
    int64_t outRingPart_ = 0;
    int64_t scoreAgainRingOffset_ = 0;
    int64_t scoreAgainRingPart_ = 0;
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
    uint32_t leavingStatisticSlot_ = 0;
    uint32_t resultSlot_ = 0;
    uint32_t selectedSlot_ = 0;

    // Global memory
    GlobalTensor<T> queryGm_;
    GlobalTensor<T> keyGm_;
    GlobalTensor<T> valueGm_;
    GlobalTensor<int64_t> actualSeqQlenGm_;
    GlobalTensor<int64_t> actualCmpSeqKvlenGm_;
    GlobalTensor<int64_t> actualSelSeqKvlenGm_;
    GlobalTensor<T> attentionOutGm_;
    GlobalTensor<int32_t> topkIndicesOutGm_;
    GlobalTensor<float> softmaxMaxOutGm_;
    GlobalTensor<float> softmaxSumOutGm_;
    GlobalTensor<float> scoreRingGm_;  // ring of score tiles, cube to vector
    GlobalTensor<T> probRingGm_;  // ring of probability tiles, vector to cube
    GlobalTensor<float> outRingGm_;  // ring of weighted sums, cube to vector
    GlobalTensor<float> scoreAgainRingGm_;  // ring of score tiles, cube to vector

    // On-chip memories and the buffers with a single slot
    TBuf<TPosition::VECCALC> ubStorage_;
    LocalTensor<uint8_t> ub_;
    LocalTensor<int32_t> blockNumber_;
    LocalTensor<int32_t> laneBlock_;
    LocalTensor<int32_t> laneOffset_;
    LocalTensor<float> laneNumber_;
    LocalTensor<float> rowMax_;
    LocalTensor<float> rowSum_;
    LocalTensor<float> accumulator_;
    LocalTensor<float> lanes_;
    LocalTensor<float> tileStat_;
    LocalTensor<float> newMax_;
    LocalTensor<float> rescale_;
    LocalTensor<float> rowBlocks_;
    LocalTensor<float> window_;
    LocalTensor<float> blockScore_;
    LocalTensor<float> blockRecords_;
    LocalTensor<float> best_;
    LocalTensor<float> blockTerm_;
    LocalTensor<uint8_t> blockBits_;
    LocalTensor<float> merged_;
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
__aicore__ inline void Run(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR actual_seq_qlen,
    GM_ADDR actual_cmp_seq_kvlen, GM_ADDR actual_sel_seq_kvlen, GM_ADDR attention_out,
    GM_ADDR topk_indices_out, GM_ADDR softmax_max_out, GM_ADDR softmax_sum_out, GM_ADDR workspace,
    const NsaCompressAttentionTiling &tiling)
{
    TPipe pipe;
    NsaCompressAttentionKernel<T> kernel;
    kernel.Init(pipe, query, key, value, actual_seq_qlen, actual_cmp_seq_kvlen, actual_sel_seq_kvlen,
        attention_out, topk_indices_out, softmax_max_out, softmax_sum_out, workspace, tiling);
    if ASCEND_IS_AIC {
        kernel.RunCube();
    }
    if ASCEND_IS_AIV {
        kernel.RunVector();
    }
    PipeBarrier<PIPE_ALL>();  // as TPipe's destructor would, had it not been destroyed before
}

}  // namespace nsa_compress_attention_d128_e128

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_D128_E128_H
