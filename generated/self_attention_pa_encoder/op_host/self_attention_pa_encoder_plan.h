// How self_attention_pa_encoder is launched: which kernel, how many blocks, which workspace. Plain
// C++17, no CANN headers.
#ifndef ATTNDSL_SELF_ATTENTION_PA_ENCODER_PLAN_H
#define ATTNDSL_SELF_ATTENTION_PA_ENCODER_PLAN_H

#include <cstdint>

#include "../op_kernel/self_attention_pa_encoder_tiling.h"

namespace self_attention_pa_encoder_host {

// What the launch depends on.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16, 2: int8
    int64_t headSize = 0;  // head size, headSize
    int64_t valueSize = 0;  // head size of values
    int64_t valueGiven = 0;  // whether value is passed
    int64_t maskGiven = 0;  // whether mask is passed
    int64_t slopesGiven = 0;  // whether slopes is passed
    int64_t qkDescaleGiven = 0;  // whether qkDescale is passed
    int64_t vpvDescaleGiven = 0;  // whether vpvDescale is passed
    int64_t pScaleGiven = 0;  // whether pScale is passed
    int64_t logNGiven = 0;  // whether logN is passed
    int64_t queryLayout = 0;  // layout(query); 0: tokens, 1: merged, 2: padded, 3: BNSD
    int64_t keyLayout = 0;  // layout(key); 0: tokens, 1: merged, 2: padded, 3: BNSD
    int64_t valueLayout = 0;  // layout(value); 0: tokens, 1: merged, 2: padded, 3: BNSD
    int64_t clampType = 0;  // clampType
    // layout(mask); 0: square, 1: per head, 2: per batch, 3: full, 4: 128, 5: 256, 6: columns, 7:
    // 512
    int64_t maskLayout = 0;
    int64_t maskDtype = 0;  // dtype(mask); 0: float16, 1: bfloat16
    int64_t maskType = 0;  // maskType
    int64_t quantType = 0;  // quantType
    int64_t outDataType = 0;  // outDataType
    int64_t kvHeads = 0;  // size kvHeads of the contract
    int64_t headNum = 0;  // parameter headNum
    int64_t qRows = 0;  // size qRows of the contract
    int64_t batch = 0;  // size batch of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t kvRows = 0;  // size kvRows of the contract
    int64_t nTokens = 0;  // size nTokens of the contract
    float qkScale = 0;  // parameter qkScale
    int64_t headSizeValue = 0;  // size headSize of the contract
    int64_t headSizeV = 0;  // size headSizeV of the contract
    int64_t seqLenLayout = 0;  // index of the layout of seqLen
    int64_t maskCols = 0;  // size maskCols of the contract
    int64_t kernelType = 0;  // parameter kernelType
    int64_t calcType = 0;  // parameter calcType
    float clampMin = 0;  // parameter clampMin
    float clampMax = 0;  // parameter clampMax
    int64_t outputLayout = 0;  // index of the layout of output
    int64_t maskRows = 0;  // size maskRows of the contract
    int64_t windowSize = 0;  // parameter windowSize
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem; `scheduleMode` 1:
// blocks wait for each
// other, so all of them have to start together. Blocks and workspace are in `tiling`.
struct Plan {
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    SelfAttentionPaEncoderTiling tiling{};
};

// The tiling data of a launch without work.
inline SelfAttentionPaEncoderTiling OneBlock()
{
    SelfAttentionPaEncoderTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128Value(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128ValueMaskMaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.maskCols;
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
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.slopesStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128ValueClampTypeMINMAX(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.clampMin = problem.clampMin;
    tiling.clampMax = problem.clampMax;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128ValueKeyBNSDQueryBNSDValueBNSD(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.batch * problem.qRows * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU =
        problem.keyLayout == 2 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideK =
        problem.keyLayout == 2 ? problem.headSizeValue : problem.kvRows * problem.headSizeValue;
    tiling.keyStrideB =
        problem.keyLayout == 2
            ? problem.kvRows * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.kvRows * problem.headSizeValue);
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU =
        problem.valueLayout == 2 ? problem.kvHeads * problem.headSizeV : problem.headSizeV;
    tiling.valueStrideK =
        problem.valueLayout == 2 ? problem.headSizeV : problem.kvRows * problem.headSizeV;
    tiling.valueStrideB =
        problem.valueLayout == 2
            ? problem.kvRows * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.kvRows * problem.headSizeV);
    tiling.outputStrideB =
        problem.outputLayout == 2
            ? problem.qRows * (problem.headNum * problem.headSizeV)
            : problem.headNum * (problem.qRows * problem.headSizeV);
    tiling.outputStrideN =
        problem.outputLayout == 2 ? problem.headSizeV : problem.qRows * problem.headSizeV;
    tiling.outputStrideQ =
        problem.outputLayout == 2 ? problem.headNum * problem.headSizeV : problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.positions = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideQ =
        problem.queryLayout == 2 ? problem.headNum * problem.headSizeValue : problem.headSizeValue;
    tiling.queryStrideB =
        problem.queryLayout == 2
            ? problem.qRows * (problem.headNum * problem.headSizeValue)
            : problem.headNum * (problem.qRows * problem.headSizeValue);
    tiling.queryStrideN =
        problem.queryLayout == 2 ? problem.headSizeValue : problem.qRows * problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128KeyPadded(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU =
        problem.keyLayout == 2 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideK =
        problem.keyLayout == 2 ? problem.headSizeValue : problem.kvRows * problem.headSizeValue;
    tiling.keyStrideB =
        problem.keyLayout == 2
            ? problem.kvRows * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.kvRows * problem.headSizeValue);
    tiling.valueDim = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128ValueMaskMaskPerHead116087f5MaskTypeALIBI(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.maskRows * problem.maskCols;
    tiling.maskPitch1 = problem.maskCols;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128ValueMaskMaskPerBatchCcd31859MaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.maskRows * problem.maskCols;
    tiling.maskPitch1 = problem.maskCols;
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
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128ValueMaskMaskFullMaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.headNum * problem.maskRows * problem.maskCols;
    tiling.maskPitch1 = problem.maskRows * problem.maskCols;
    tiling.maskPitch2 = problem.maskCols;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128ValueMaskMaskColumnsMaskTypeALIBICOMPRESS(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.maskRows * 128;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128ValueMaskTypeSLIDINGWINDOWCOMPRESS(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.windowSize = problem.windowSize;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128QueryPadded(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.batch * problem.qRows * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.valueDim = problem.headSizeV;
    tiling.outputStrideB =
        problem.outputLayout == 2
            ? problem.qRows * (problem.headNum * problem.headSizeV)
            : problem.headNum * (problem.qRows * problem.headSizeV);
    tiling.outputStrideN =
        problem.outputLayout == 2 ? problem.headSizeV : problem.qRows * problem.headSizeV;
    tiling.outputStrideQ =
        problem.outputLayout == 2 ? problem.headNum * problem.headSizeV : problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.positions = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideQ =
        problem.queryLayout == 2 ? problem.headNum * problem.headSizeValue : problem.headSizeValue;
    tiling.queryStrideB =
        problem.queryLayout == 2
            ? problem.qRows * (problem.headNum * problem.headSizeValue)
            : problem.headNum * (problem.qRows * problem.headSizeValue);
    tiling.queryStrideN =
        problem.queryLayout == 2 ? problem.headSizeValue : problem.qRows * problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileFloat16D128E128ValueMaskMaskTypeALIBI(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.maskCols;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileBfloat16D128E128ValueMaskMaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.maskCols;
    tiling.factorMultiply =
        (problem.maskType == 1
            || problem.maskType == 3
            || problem.maskType == 7
            || problem.maskType == 8)
            ? -3e+38f
            : 1.0f;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileBfloat16D128E128ValueMaskMaskPerBatchCcd31859MaskTypeNORM(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.maskRows * problem.maskCols;
    tiling.maskPitch1 = problem.maskCols;
    tiling.factorMultiply =
        (problem.maskType == 1
            || problem.maskType == 3
            || problem.maskType == 7
            || problem.maskType == 8)
            ? -3e+38f
            : 1.0f;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
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
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQKVONLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 128)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.qkDescaleStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNORMQuantTypeQKVONLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 128)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.maskCols;
    tiling.qkDescaleStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSQuantTypeQKVONLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 128)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.qkDescaleStrideN = 1;
    tiling.slopesStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128ValueQkDescaleVpvDescalePScaleQuantTypeQKVOFFLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits = 1;
    tiling.items = tiling.tasks * tiling.splits;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.qkDescaleStrideN = 1;
    tiling.pScaleStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.workspaceBytes = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128ValueQkDescaleVpvDescaleClampTypeMINMAXQuantTypeQKVONLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 128)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.clampMin = problem.clampMin;
    tiling.clampMax = problem.clampMax;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.qkDescaleStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128QkDescaleVpvDescaleQuantTypeQKVONLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 128)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.qkDescaleStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128QkDescaleVpvDescaleKeyPaddedQuantTypeQKVONLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 128)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU =
        problem.keyLayout == 2 ? problem.kvHeads * problem.headSizeValue : problem.headSizeValue;
    tiling.keyStrideK =
        problem.keyLayout == 2 ? problem.headSizeValue : problem.kvRows * problem.headSizeValue;
    tiling.keyStrideB =
        problem.keyLayout == 2
            ? problem.kvRows * (problem.kvHeads * problem.headSizeValue)
            : problem.kvHeads * (problem.kvRows * problem.headSizeValue);
    tiling.qkDescaleStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerHead116087f5MaskTypeALIBIQuantTypeQKVONLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 128)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.maskRows * problem.maskCols;
    tiling.maskPitch1 = problem.maskCols;
    tiling.qkDescaleStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskFullMaskTypeNORMQuantTypeQKVONLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 128)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.headNum * problem.maskRows * problem.maskCols;
    tiling.maskPitch1 = problem.maskRows * problem.maskCols;
    tiling.maskPitch2 = problem.maskCols;
    tiling.qkDescaleStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskColumnsMaskTypeALIBICOMPRESSQuantTypeQKVONLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 128)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.maskPitch0 = problem.maskRows * 128;
    tiling.qkDescaleStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.outputStrideN = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

inline SelfAttentionPaEncoderTiling TileInt8D128E128QkDescaleVpvDescaleQueryPaddedQuantTypeQKVONLINE(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.kvRows, 128)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.batch * problem.qRows * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.keyStrideU = problem.kvHeads * problem.headSizeValue;
    tiling.keyStrideK = problem.headSizeValue;
    tiling.qkDescaleStrideN = 1;
    tiling.valueDim = problem.headSizeV;
    tiling.vpvDescaleStrideN = 1;
    tiling.outputStrideB =
        problem.outputLayout == 2
            ? problem.qRows * (problem.headNum * problem.headSizeV)
            : problem.headNum * (problem.qRows * problem.headSizeV);
    tiling.outputStrideN =
        problem.outputLayout == 2 ? problem.headSizeV : problem.qRows * problem.headSizeV;
    tiling.outputStrideQ =
        problem.outputLayout == 2 ? problem.headNum * problem.headSizeV : problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.positions = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == 1;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideQ =
        problem.queryLayout == 2 ? problem.headNum * problem.headSizeValue : problem.headSizeValue;
    tiling.queryStrideB =
        problem.queryLayout == 2
            ? problem.qRows * (problem.headNum * problem.headSizeValue)
            : problem.headNum * (problem.qRows * problem.headSizeValue);
    tiling.queryStrideN =
        problem.queryLayout == 2 ? problem.headSizeValue : problem.qRows * problem.headSizeValue;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 128, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 128 * 4, 512);
    return tiling;
}

// The kernel that takes a problem, and its launch. `empty`: nothing is to be computed, and one
// block finds that out.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    // self_attention_pa_encoder_float16_d128_e128_value
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.clampType == 0) {
        Plan plan{92895136800001080, 1, empty ? OneBlock() : TileFloat16D128E128Value(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_mask_maskType_NORM
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 0 &&
        problem.maskDtype == 0 &&
        problem.maskType == 1 &&
        problem.clampType == 0) {
        Plan plan{374921317600003080, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueMaskMaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_slopes_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskType == 4 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{76750906500005080, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_logN
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven != 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.clampType == 0) {
        Plan plan{92895136800065080, 1, empty ? OneBlock() : TileFloat16D128E128Value(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_clampType_MIN_MAX
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.clampType == 1) {
        Plan plan{107961468600001080, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueClampTypeMINMAX(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_key_BNSD_query_BNSD_value_BNSD
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 2 || problem.queryLayout == 3) &&
        (problem.keyLayout == 2 || problem.keyLayout == 3) &&
        (problem.valueLayout == 2 || problem.valueLayout == 3) &&
        problem.clampType == 0) {
        Plan plan{150904969800001080, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueKeyBNSDQueryBNSDValueBNSD(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        problem.clampType == 0) {
        Plan plan{347207478800000080, 1, empty ? OneBlock() : TileFloat16D128E128(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_key_padded
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 2 || problem.keyLayout == 3) &&
        problem.clampType == 0) {
        Plan plan{330270759200000080, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyPadded(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_mask_mask_per_head_116087f5_maskType_ALIBI
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 1 &&
        problem.maskDtype == 0 &&
        problem.maskType == 2 &&
        problem.clampType == 0) {
        Plan plan{376575791400003080, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128ValueMaskMaskPerHead116087f5MaskTypeALIBI(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_mask_mask_per_batch_ccd31859_maskType_NORM
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 2 &&
        problem.maskDtype == 0 &&
        problem.maskType == 1 &&
        problem.clampType == 0) {
        Plan plan{128628576600003080, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128ValueMaskMaskPerBatchCcd31859MaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_mask_mask_full_maskType_NORM
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 3 &&
        problem.maskDtype == 0 &&
        problem.maskType == 1 &&
        problem.clampType == 0) {
        Plan plan{8824546500003080, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueMaskMaskFullMaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_maskType_NORM_COMPRESS
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskType == 3 &&
        problem.clampType == 0) {
        Plan plan{56260770500001080, 1, empty ? OneBlock() : TileFloat16D128E128Value(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 6 &&
        problem.maskDtype == 0 &&
        (problem.maskType == 4 || problem.maskType == 5 || problem.maskType == 6) &&
        problem.clampType == 0) {
        Plan plan{157349419800003080, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128ValueMaskMaskColumnsMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        (problem.maskType == 7 || problem.maskType == 8) &&
        problem.clampType == 0) {
        Plan plan{12004278000001080, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueMaskTypeSLIDINGWINDOWCOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_query_padded
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 2 || problem.queryLayout == 3) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        problem.clampType == 0) {
        Plan plan{184114535200000080, 1,
            empty ? OneBlock() : TileFloat16D128E128QueryPadded(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_mask_maskType_ALIBI
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 0 &&
        problem.maskDtype == 0 &&
        problem.maskType == 2 &&
        problem.clampType == 0) {
        Plan plan{284565779700003080, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueMaskMaskTypeALIBI(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskType == 5 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{138352073000005080, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_float16_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskType == 6 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{352612900700005080, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.clampType == 0) {
        Plan plan{92895136800001081, 1, empty ? OneBlock() : TileFloat16D128E128Value(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_mask_maskType_NORM
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 0 &&
        problem.maskDtype == 1 &&
        problem.maskType == 1 &&
        problem.clampType == 0) {
        Plan plan{411568015400003081, 1,
            empty ? OneBlock() : TileBfloat16D128E128ValueMaskMaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_slopes_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskType == 4 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{76750906500005081, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_logN
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven != 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.clampType == 0) {
        Plan plan{92895136800065081, 1, empty ? OneBlock() : TileFloat16D128E128Value(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_clampType_MIN_MAX
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.clampType == 1) {
        Plan plan{107961468600001081, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueClampTypeMINMAX(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_key_BNSD_query_BNSD_value_BNSD
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 2 || problem.queryLayout == 3) &&
        (problem.keyLayout == 2 || problem.keyLayout == 3) &&
        (problem.valueLayout == 2 || problem.valueLayout == 3) &&
        problem.clampType == 0) {
        Plan plan{150904969800001081, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueKeyBNSDQueryBNSDValueBNSD(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        problem.clampType == 0) {
        Plan plan{347207478800000081, 1, empty ? OneBlock() : TileFloat16D128E128(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_key_padded
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 2 || problem.keyLayout == 3) &&
        problem.clampType == 0) {
        Plan plan{330270759200000081, 1,
            empty ? OneBlock() : TileFloat16D128E128KeyPadded(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_mask_mask_per_head_116087f5_maskType_ALIBI
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 1 &&
        problem.maskDtype == 1 &&
        problem.maskType == 2 &&
        problem.clampType == 0) {
        Plan plan{339508421600003081, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128ValueMaskMaskPerHead116087f5MaskTypeALIBI(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_mask_mask_per_batch_ccd31859_maskType_NORM
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 2 &&
        problem.maskDtype == 1 &&
        problem.maskType == 1 &&
        problem.clampType == 0) {
        Plan plan{171986576400003081, 1,
            empty
                ? OneBlock()
                : TileBfloat16D128E128ValueMaskMaskPerBatchCcd31859MaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_mask_mask_full_maskType_NORM
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 3 &&
        problem.maskDtype == 1 &&
        problem.maskType == 1 &&
        problem.clampType == 0) {
        Plan plan{79552428300003081, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueMaskMaskFullMaskTypeNORM(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_maskType_NORM_COMPRESS
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskType == 3 &&
        problem.clampType == 0) {
        Plan plan{56260770500001081, 1, empty ? OneBlock() : TileFloat16D128E128Value(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 6 &&
        problem.maskDtype == 1 &&
        (problem.maskType == 4 || problem.maskType == 5 || problem.maskType == 6) &&
        problem.clampType == 0) {
        Plan plan{219460824400003081, 1,
            empty
                ? OneBlock()
                : TileFloat16D128E128ValueMaskMaskColumnsMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        (problem.maskType == 7 || problem.maskType == 8) &&
        problem.clampType == 0) {
        Plan plan{12004278000001081, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueMaskTypeSLIDINGWINDOWCOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_query_padded
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 2 || problem.queryLayout == 3) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        problem.clampType == 0) {
        Plan plan{184114535200000081, 1,
            empty ? OneBlock() : TileFloat16D128E128QueryPadded(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_mask_maskType_ALIBI
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 0 &&
        problem.maskDtype == 1 &&
        problem.maskType == 2 &&
        problem.clampType == 0) {
        Plan plan{220970666300003081, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueMaskMaskTypeALIBI(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskType == 5 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{138352073000005081, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_bfloat16_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskType == 6 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{352612900700005081, 1,
            empty ? OneBlock() : TileFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.clampType == 0) {
        Plan plan{130279157100025082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 0 &&
        problem.maskDtype == 0 &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.maskType == 1 &&
        problem.clampType == 0) {
        Plan plan{41868342200027082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNORMQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.maskType == 4 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{293002024100029082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven != 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.clampType == 0) {
        Plan plan{130279157100057082, 0,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueQkDescaleVpvDescalePScaleQuantTypeQKVOFFLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_clampType_MIN_MAX_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.clampType == 1) {
        Plan plan{98357786100025082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueQkDescaleVpvDescaleClampTypeMINMAXQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_bfloat16_maskType_NORM_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 0 &&
        problem.maskDtype == 1 &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.maskType == 1 &&
        problem.clampType == 0) {
        Plan plan{363527821200027082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNORMQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.clampType == 0) {
        Plan plan{202042731000024082, 1,
            empty ? OneBlock() : TileInt8D128E128QkDescaleVpvDescaleQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_key_padded_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 2 || problem.keyLayout == 3) &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.clampType == 0) {
        Plan plan{422816758100024082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128QkDescaleVpvDescaleKeyPaddedQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_per_head_116087f5_maskType_ALIBI_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 1 &&
        problem.maskDtype == 0 &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.maskType == 2 &&
        problem.clampType == 0) {
        Plan plan{362849643000027082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerHead116087f5MaskTypeALIBIQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_per_batch_ccd31859_maskType_NORM_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 2 &&
        problem.maskDtype == 0 &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.maskType == 1 &&
        problem.clampType == 0) {
        Plan plan{293877920500027082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerHead116087f5MaskTypeALIBIQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_full_maskType_NORM_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 3 &&
        problem.maskDtype == 0 &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.maskType == 1 &&
        problem.clampType == 0) {
        Plan plan{42768058400027082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskFullMaskTypeNORMQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_bfloat16_mask_columns_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 6 &&
        problem.maskDtype == 1 &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        (problem.maskType == 4 || problem.maskType == 5 || problem.maskType == 6) &&
        problem.clampType == 0) {
        Plan plan{419672092600027082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskColumnsMaskTypeALIBICOMPRESSQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_query_padded_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 2 || problem.queryLayout == 3) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.clampType == 0) {
        Plan plan{153779648300024082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128QkDescaleVpvDescaleQueryPaddedQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.maskLayout == 0 &&
        problem.maskDtype == 0 &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.maskType == 2 &&
        problem.clampType == 0) {
        Plan plan{184664963500027082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNORMQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_SQRT_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.maskType == 5 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{351358669000029082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_LEFT_ALIGN_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.quantType != 0 &&
        problem.outDataType != 27 &&
        problem.maskType == 6 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{136260626300029082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_outDataType_BF16_quantType_QKV_ONLINE
    if (problem.queryDtype == 2 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == 0 || problem.queryLayout == 1) &&
        (problem.keyLayout == 0 || problem.keyLayout == 1) &&
        (problem.valueLayout == 0 || problem.valueLayout == 1) &&
        problem.quantType != 0 &&
        problem.outDataType == 27 &&
        problem.clampType == 0) {
        Plan plan{295384346500025082, 1,
            empty
                ? OneBlock()
                : TileInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQKVONLINE(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    return Plan{};
}

}  // namespace self_attention_pa_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PA_ENCODER_PLAN_H
