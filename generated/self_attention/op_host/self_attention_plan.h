// How self_attention is launched: which kernel, how many blocks, which workspace. Plain C++17, no
// CANN headers.
#ifndef ATTNDSL_SELF_ATTENTION_PLAN_H
#define ATTNDSL_SELF_ATTENTION_PLAN_H

#include <cstdint>

#include "../op_kernel/self_attention_tiling.h"

namespace self_attention_host {

// What the launch depends on.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t headSize = 0;  // head size, headSize
    int64_t valueSize = 0;  // head size of values
    int64_t keyGiven = 0;  // whether key is passed
    int64_t valueGiven = 0;  // whether value is passed
    int64_t attentionMaskGiven = 0;  // whether attentionMask is passed
    int64_t batchStatusGiven = 0;  // whether batchStatus is passed
    int64_t logNGiven = 0;  // whether logN is passed
    int64_t queryLayout = 0;  // layout(query); 0: packed, 1: padded, 2: BNSD
    int64_t keyLayout = 0;  // layout(key); 0: packed, 1: padded
    int64_t valueLayout = 0;  // layout(value); 0: packed, 1: padded
    int64_t cacheKLayout = 0;  // layout(cacheK); 0: layers, 1: layer, 2: BNSD
    int64_t cacheVLayout = 0;  // layout(cacheV); 0: layers, 1: layer, 2: BNSD
    int64_t cacheType = 0;  // cacheType
    int64_t maskType = 0;  // maskType
    int64_t clampType = 0;  // clampType
    int64_t cacheKSplit = 0;  // split(cacheK)
    int64_t cacheVSplit = 0;  // split(cacheV)
    int64_t inputLayoutValue = 0;  // inputLayout
    // layout(attentionMask); 0: square, 1: per head, 2: per batch, 3: full, 4: 128, 5: 256, 6:
    // columns, 7: 512
    int64_t attentionMaskLayout = 0;
    int64_t calcType = 0;  // calcType
    int64_t kvHeads = 0;  // size kvHeads of the contract
    int64_t headNum = 0;  // parameter headNum
    int64_t qRows = 0;  // size qRows of the contract
    int64_t batch = 0;  // size batch of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t maxSeqLen = 0;  // size maxSeqLen of the contract
    int64_t nTokens = 0;  // size nTokens of the contract
    float qkScale = 0;  // parameter qkScale
    int64_t headSizeValue = 0;  // size headSize of the contract
    int64_t headSizeV = 0;  // size headSizeV of the contract
    float qScale = 0;  // parameter qScale
    int64_t maskCols = 0;  // size maskCols of the contract
    int64_t kernelType = 0;  // parameter kernelType
    int64_t windowSize = 0;  // parameter windowSize
    float clampMin = 0;  // parameter clampMin
    float clampMax = 0;  // parameter clampMax
    int64_t outputLayout = 0;  // index of the layout of output
    int64_t maskRows = 0;  // size maskRows of the contract
    int64_t newRows = 0;  // size newRows of the contract
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem; `scheduleMode` 1:
// blocks wait for each
// other, so all of them have to start together. Blocks and workspace are in `tiling`.
struct Plan {
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    SelfAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline SelfAttentionTiling OneBlock()
{
    SelfAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValue(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueAttentionMaskMaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.attentionMaskPitch0 = problem.maskCols;
    tiling.factorMultiply =
        problem.kernelType == 1
            && (problem.calcType == 0 || problem.calcType == 1 || problem.calcType == 3)
            && (problem.maskType == 1
                || problem.maskType == 3
                || problem.maskType == 7
                || problem.maskType == 8)
            ? -3e+38f
            : 1.0f;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideK = problem.headSizeValue;
    tiling.cacheKStrideB = problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideK = problem.headSizeV;
    tiling.cacheVStrideB = problem.maxSeqLen * (problem.kvHeads * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueCacheTypeSWAMaskTypeSLIDINGWINDOWNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.windowSize = problem.windowSize;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueClampTypeMINMAX(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.clampMin = problem.clampMin;
    tiling.clampMax = problem.clampMax;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128AttentionMaskInputLayoutBNSDQueryBNSDMaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.batch * problem.qRows * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.attentionMaskPitch0 = problem.maskCols;
    tiling.factorMultiply =
        problem.kernelType == 1
            && (problem.calcType == 0 || problem.calcType == 1 || problem.calcType == 3)
            && (problem.maskType == 1
                || problem.maskType == 3
                || problem.maskType == 7
                || problem.maskType == 8)
            ? -3e+38f
            : 1.0f;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.outputStrideB =
        problem.outputLayout == 1
            ? problem.qRows * (problem.headNum * problem.headSizeV)
            : problem.headNum * (problem.qRows * problem.headSizeV);
    tiling.outputStrideN =
        problem.outputLayout == 1 ? problem.headSizeV : problem.qRows * problem.headSizeV;
    tiling.outputStrideQ =
        problem.outputLayout == 1 ? problem.headNum * problem.headSizeV : problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.positions = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideQ =
        problem.queryLayout == 1 ? problem.headNum * problem.headSizeValue : problem.headSizeValue;
    tiling.queryStrideB =
        problem.queryLayout == 1
            ? problem.qRows * (problem.headNum * problem.headSizeValue)
            : problem.headNum * (problem.qRows * problem.headSizeValue);
    tiling.queryStrideN =
        problem.queryLayout == 1 ? problem.headSizeValue : problem.qRows * problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.batch * problem.headNum * problem.qRows * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.batch * problem.headNum * problem.qRows * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueAttentionMaskAttentionMaskPerHead116087f5MaskTypeALIBI(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.attentionMaskPitch0 = problem.maskRows * problem.maskCols;
    tiling.attentionMaskPitch1 = problem.maskCols;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchCcd31859MaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.attentionMaskPitch0 = problem.maskRows * problem.maskCols;
    tiling.attentionMaskPitch1 = problem.maskCols;
    tiling.factorMultiply =
        problem.kernelType == 1
            && (problem.calcType == 0 || problem.calcType == 1 || problem.calcType == 3)
            && (problem.maskType == 1
                || problem.maskType == 3
                || problem.maskType == 7
                || problem.maskType == 8)
            ? -3e+38f
            : 1.0f;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.attentionMaskPitch0 = problem.headNum * problem.maskRows * problem.maskCols;
    tiling.attentionMaskPitch1 = problem.maskRows * problem.maskCols;
    tiling.attentionMaskPitch2 = problem.maskCols;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueMaskTypeSLIDINGWINDOWCOMPRESS(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.windowSize = problem.windowSize;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueKeyPaddedValuePadded(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.keyStrideB = problem.newRows * (problem.kvHeads * problem.headSizeValue);
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.valueStrideB = problem.newRows * (problem.kvHeads * problem.headSizeV);
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueQueryPadded(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.batch * problem.qRows * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideB =
        problem.outputLayout == 1
            ? problem.qRows * (problem.headNum * problem.headSizeV)
            : problem.headNum * (problem.qRows * problem.headSizeV);
    tiling.outputStrideN =
        problem.outputLayout == 1 ? problem.headSizeV : problem.qRows * problem.headSizeV;
    tiling.outputStrideQ =
        problem.outputLayout == 1 ? problem.headNum * problem.headSizeV : problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.positions = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideQ =
        problem.queryLayout == 1 ? problem.headNum * problem.headSizeValue : problem.headSizeValue;
    tiling.queryStrideB =
        problem.queryLayout == 1
            ? problem.qRows * (problem.headNum * problem.headSizeValue)
            : problem.headNum * (problem.qRows * problem.headSizeValue);
    tiling.queryStrideN =
        problem.queryLayout == 1 ? problem.headSizeValue : problem.qRows * problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.batch * problem.headNum * problem.qRows * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.batch * problem.headNum * problem.qRows * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128KeyValueAttentionMaskMaskTypeALIBI(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.attentionMaskPitch0 = problem.maskCols;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileFloat16D128E128CacheKListCacheVList(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.cacheKIsLayers = problem.cacheKLayout == 0;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.cacheVIsLayers = problem.cacheVLayout == 0;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileBfloat16D128E128KeyValueAttentionMaskMaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.attentionMaskPitch0 = problem.maskCols;
    tiling.factorMultiply =
        (problem.maskType == 1
            || problem.maskType == 3
            || problem.maskType == 7
            || problem.maskType == 8)
            ? -3e+38f
            : 1.0f;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileBfloat16D128E128AttentionMaskInputLayoutBNSDQueryBNSDMaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.batch * problem.qRows * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.attentionMaskPitch0 = problem.maskCols;
    tiling.factorMultiply =
        (problem.maskType == 1
            || problem.maskType == 3
            || problem.maskType == 7
            || problem.maskType == 8)
            ? -3e+38f
            : 1.0f;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.outputStrideB =
        problem.outputLayout == 1
            ? problem.qRows * (problem.headNum * problem.headSizeV)
            : problem.headNum * (problem.qRows * problem.headSizeV);
    tiling.outputStrideN =
        problem.outputLayout == 1 ? problem.headSizeV : problem.qRows * problem.headSizeV;
    tiling.outputStrideQ =
        problem.outputLayout == 1 ? problem.headNum * problem.headSizeV : problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.positions = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideQ =
        problem.queryLayout == 1 ? problem.headNum * problem.headSizeValue : problem.headSizeValue;
    tiling.queryStrideB =
        problem.queryLayout == 1
            ? problem.qRows * (problem.headNum * problem.headSizeValue)
            : problem.headNum * (problem.qRows * problem.headSizeValue);
    tiling.queryStrideN =
        problem.queryLayout == 1 ? problem.headSizeValue : problem.qRows * problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.batch * problem.headNum * problem.qRows * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.batch * problem.headNum * problem.qRows * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

inline SelfAttentionTiling TileBfloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchCcd31859MaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.maxSeqLen, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.cacheKStrideT =
        problem.cacheKLayout == 0 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.cacheKStrideY =
        problem.cacheKLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue));
    tiling.cacheKStrideK =
        problem.cacheKLayout == 0
            ? problem.headSizeValue
            : problem.maxSeqLen * problem.headSizeValue;
    tiling.cacheKStrideB =
        problem.cacheKLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.attentionMaskPitch0 = problem.maskRows * problem.maskCols;
    tiling.attentionMaskPitch1 = problem.maskCols;
    tiling.factorMultiply =
        (problem.maskType == 1
            || problem.maskType == 3
            || problem.maskType == 7
            || problem.maskType == 8)
            ? -3e+38f
            : 1.0f;
    tiling.valueDim = problem.headSizeV;
    tiling.cacheVStrideT =
        problem.cacheVLayout == 0 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == 0
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    tiling.cacheVStrideK =
        problem.cacheVLayout == 0 ? problem.headSizeV : problem.maxSeqLen * problem.headSizeV;
    tiling.cacheVStrideB =
        problem.cacheVLayout == 0
            ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.queryElements = problem.nTokens * problem.headNum * problem.headSizeValue;
    tiling.batchRows = problem.batch;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scaledQueryOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.scaledQueryOffset
            + RoundUp((problem.qScale != 1.0f
                ? problem.nTokens * problem.headNum * problem.headSizeValue
                : 0) * 2,
                512);
    return tiling;
}

// The kernel that takes a problem, and its launch. `empty`: nothing is to be computed, and one
// block finds that out.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    // self_attention_float16_d128_e128_key_value
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{385801121600003080, 1, empty ? OneBlock() : TileFloat16D128E128KeyValue(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_attentionMask_maskType_NORM
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 0 &&
        problem.maskType == 1 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{64595551100007080, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueAttentionMaskMaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_batchStatus_cacheK_layer_cacheV_layer
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout == 1 &&
        problem.cacheVLayout == 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.inputLayoutValue == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0) {
        Plan plan{274490037500011080, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_logN
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven != 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.calcType != 2 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{405326239300019080, 1, empty ? OneBlock() : TileFloat16D128E128KeyValue(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_cacheType_SWA_maskType_SLIDING_WINDOW_NORM
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.calcType != 2 &&
        (problem.maskType == 7 || problem.maskType == 8) &&
        problem.clampType == 0 &&
        problem.cacheType == 1 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{252771030800003080, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128KeyValueCacheTypeSWAMaskTypeSLIDINGWINDOWNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_clampType_MIN_MAX
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 1 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{107688706400003080, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueClampTypeMINMAX(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_attentionMask_inputLayout_BNSD_query_BNSD_maskType_NORM
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven == 0 &&
        problem.valueGiven == 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout != 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 0 &&
        problem.maskType == 1 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{141286857800004080, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128AttentionMaskInputLayoutBNSDQueryBNSDMaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven == 0 &&
        problem.valueGiven == 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{48362329400000080, 1, empty ? OneBlock() : TileFloat16D128E128(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_attentionMask_attentionMask_per_head_116087f5_maskType_ALIBI
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 1 &&
        problem.maskType == 2 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{113020822100007080, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128KeyValueAttentionMaskAttentionMaskPerHead116087f5MaskTypeALIBI(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_attentionMask_attentionMask_per_batch_ccd31859_maskType_NORM
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 2 &&
        problem.maskType == 1 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{70660474900007080, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchCcd31859MaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_attentionMask_attentionMask_full_maskType_NORM
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 3 &&
        problem.maskType == 1 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{74364683200007080, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_maskType_NORM_COMPRESS
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.maskType == 3 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{171670734100003080, 1, empty ? OneBlock() : TileFloat16D128E128KeyValue(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.calcType != 2 &&
        (problem.maskType == 7 || problem.maskType == 8) &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{86315166000003080, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueMaskTypeSLIDINGWINDOWCOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_key_padded_value_padded
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 1 &&
        problem.valueLayout == 1 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{90451218200003080, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueKeyPaddedValuePadded(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_query_padded
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout != 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{134757375400003080, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueQueryPadded(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_key_value_attentionMask_maskType_ALIBI
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 0 &&
        problem.maskType == 2 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{115889443200007080, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueAttentionMaskMaskTypeALIBI(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_float16_d128_e128_cacheK_list_cacheV_list
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven == 0 &&
        problem.valueGiven == 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 1 &&
        problem.cacheVSplit == 1 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{282588125900000080, 1,
            empty ? OneBlock() : TileFloat16D128E128CacheKListCacheVList(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{385801121600003081, 1, empty ? OneBlock() : TileFloat16D128E128KeyValue(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_attentionMask_maskType_NORM
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 0 &&
        problem.maskType == 1 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{64595551100007081, 1,
            empty ? OneBlock() : TileBfloat16D128E128KeyValueAttentionMaskMaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_batchStatus_cacheK_layer_cacheV_layer
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout == 1 &&
        problem.cacheVLayout == 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.inputLayoutValue == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0) {
        Plan plan{274490037500011081, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_logN
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven != 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.calcType != 2 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{405326239300019081, 1, empty ? OneBlock() : TileFloat16D128E128KeyValue(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_cacheType_SWA_maskType_SLIDING_WINDOW_NORM
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.calcType != 2 &&
        (problem.maskType == 7 || problem.maskType == 8) &&
        problem.clampType == 0 &&
        problem.cacheType == 1 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{252771030800003081, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128KeyValueCacheTypeSWAMaskTypeSLIDINGWINDOWNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_clampType_MIN_MAX
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 1 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{107688706400003081, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueClampTypeMINMAX(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_attentionMask_inputLayout_BNSD_query_BNSD_maskType_NORM
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven == 0 &&
        problem.valueGiven == 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout != 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 0 &&
        problem.maskType == 1 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{141286857800004081, 1,
            empty
                ? OneBlock()
                : TileBfloat16D128E128AttentionMaskInputLayoutBNSDQueryBNSDMaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven == 0 &&
        problem.valueGiven == 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{48362329400000081, 1, empty ? OneBlock() : TileFloat16D128E128(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_attentionMask_attentionMask_per_head_116087f5_maskType_ALIBI
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 1 &&
        problem.maskType == 2 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{113020822100007081, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128KeyValueAttentionMaskAttentionMaskPerHead116087f5MaskTypeALIBI(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_attentionMask_attentionMask_per_batch_ccd31859_maskType_NORM
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 2 &&
        problem.maskType == 1 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{70660474900007081, 1,
            empty
                ? OneBlock()
                : TileBfloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchCcd31859MaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_attentionMask_attentionMask_full_maskType_NORM
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 3 &&
        problem.maskType == 1 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{74364683200007081, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_maskType_NORM_COMPRESS
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.maskType == 3 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{171670734100003081, 1, empty ? OneBlock() : TileFloat16D128E128KeyValue(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.calcType != 2 &&
        (problem.maskType == 7 || problem.maskType == 8) &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{86315166000003081, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueMaskTypeSLIDINGWINDOWCOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_key_padded_value_padded
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 1 &&
        problem.valueLayout == 1 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{90451218200003081, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueKeyPaddedValuePadded(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_query_padded
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout != 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{134757375400003081, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueQueryPadded(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_key_value_attentionMask_maskType_ALIBI
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.keyLayout == 0 &&
        problem.valueLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.attentionMaskLayout == 0 &&
        problem.maskType == 2 &&
        problem.clampType == 0 &&
        problem.cacheType == 0 &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{115889443200007081, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyValueAttentionMaskMaskTypeALIBI(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_bfloat16_d128_e128_cacheK_list_cacheV_list
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.keyGiven == 0 &&
        problem.valueGiven == 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == 0 &&
        problem.cacheKLayout != 1 &&
        problem.cacheVLayout != 1 &&
        problem.cacheType == 0 &&
        problem.maskType == 0 &&
        problem.clampType == 0 &&
        problem.cacheKSplit == 1 &&
        problem.cacheVSplit == 1 &&
        (problem.inputLayoutValue == 1 || problem.cacheKLayout == 0) &&
        (problem.inputLayoutValue == 1 || problem.cacheVLayout == 0)) {
        Plan plan{282588125900000081, 1,
            empty ? OneBlock() : TileFloat16D128E128CacheKListCacheVList(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    return Plan{};
}

}  // namespace self_attention_host

#endif  // ATTNDSL_SELF_ATTENTION_PLAN_H
