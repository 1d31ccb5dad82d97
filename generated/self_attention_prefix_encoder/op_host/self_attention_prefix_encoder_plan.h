// How self_attention_prefix_encoder is launched: which kernel, how many blocks, which workspace.
// Plain C++17, no CANN headers.
#ifndef ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_PLAN_H
#define ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_PLAN_H

#include <cstdint>

#include "../op_kernel/self_attention_prefix_encoder_tiling.h"

namespace self_attention_prefix_encoder_host {

// What the launch depends on.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t headSize = 0;  // head size, headSize
    int64_t maskGiven = 0;  // whether mask is passed
    int64_t slopesGiven = 0;  // whether slopes is passed
    int64_t maskType = 0;  // maskType
    int64_t clampType = 0;  // clampType
    // layout(mask); 0: square, 1: per head, 2: per batch, 3: full, 4: 128, 5: 256, 6: columns, 7:
    // 512
    int64_t maskLayout = 0;
    int64_t kvHeads = 0;  // size kvHeads of the contract
    int64_t headNum = 0;  // parameter headNum
    int64_t maxOfSeqLen = 0;  // max(seqLen[b] for b < batch)
    int64_t batch = 0;  // size batch of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t maxBlockNum = 0;  // size maxBlockNum of the contract
    int64_t blockSize = 0;  // size blockSize of the contract
    int64_t nTokens = 0;  // size nTokens of the contract
    float qkScale = 0;  // parameter qkScale
    int64_t headSizeValue = 0;  // size headSize of the contract
    int64_t maskRows = 0;  // size maskRows of the contract
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem; `scheduleMode` 1:
// blocks wait for each
// other, so all of them have to start together. Blocks and workspace are in `tiling`.
struct Plan {
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    SelfAttentionPrefixEncoderTiling tiling{};
};

// The tiling data of a launch without work.
inline SelfAttentionPrefixEncoderTiling OneBlock()
{
    SelfAttentionPrefixEncoderTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

inline SelfAttentionPrefixEncoderTiling TileFloat16D128MaskTypeCAUSALMASK(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPrefixEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.maxOfSeqLen, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1,
            MinOf(problem.cores / MaxOf(tiling.tasks, 1),
                CeilDiv(problem.maxBlockNum * problem.blockSize, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.blockSize = problem.blockSize;
    tiling.blockTablesStrideB = problem.maxBlockNum;
    tiling.keyStrideP = problem.blockSize * (problem.kvHeads * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.keyStrideR = problem.kvHeads * problem.headSizeValue;
    tiling.valueStrideP = problem.blockSize * (problem.kvHeads * problem.headSizeValue);
    tiling.valueStrideK = problem.headSizeValue;
    tiling.valueStrideR = problem.kvHeads * problem.headSizeValue;
    tiling.outputStrideS = problem.headNum * problem.headSizeValue;
    tiling.outputStrideN = problem.headSizeValue;
    tiling.queryHeads = problem.headNum;
    tiling.maxOfSeqLen = problem.maxOfSeqLen;
    tiling.keyCapacity = problem.maxBlockNum * problem.blockSize;
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

inline SelfAttentionPrefixEncoderTiling TileFloat16D128MaskMaskColumnsMaskTypeALIBICOMPRESS(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPrefixEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.maxOfSeqLen, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1,
            MinOf(problem.cores / MaxOf(tiling.tasks, 1),
                CeilDiv(problem.maxBlockNum * problem.blockSize, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.blockSize = problem.blockSize;
    tiling.blockTablesStrideB = problem.maxBlockNum;
    tiling.keyStrideP = problem.blockSize * (problem.kvHeads * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.keyStrideR = problem.kvHeads * problem.headSizeValue;
    tiling.maskPitch0 = problem.maskRows * 128;
    tiling.valueStrideP = problem.blockSize * (problem.kvHeads * problem.headSizeValue);
    tiling.valueStrideK = problem.headSizeValue;
    tiling.valueStrideR = problem.kvHeads * problem.headSizeValue;
    tiling.outputStrideS = problem.headNum * problem.headSizeValue;
    tiling.outputStrideN = problem.headSizeValue;
    tiling.queryHeads = problem.headNum;
    tiling.maxOfSeqLen = problem.maxOfSeqLen;
    tiling.keyCapacity = problem.maxBlockNum * problem.blockSize;
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

inline SelfAttentionPrefixEncoderTiling TileFloat16D128SlopesMaskTypeALIBICOMPRESS(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    SelfAttentionPrefixEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, 64 / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.maxOfSeqLen, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1,
            MinOf(problem.cores / MaxOf(tiling.tasks, 1),
                CeilDiv(problem.maxBlockNum * problem.blockSize, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.blockSize = problem.blockSize;
    tiling.blockTablesStrideB = problem.maxBlockNum;
    tiling.keyStrideP = problem.blockSize * (problem.kvHeads * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.keyStrideR = problem.kvHeads * problem.headSizeValue;
    tiling.slopesStrideN = 1;
    tiling.valueStrideP = problem.blockSize * (problem.kvHeads * problem.headSizeValue);
    tiling.valueStrideK = problem.headSizeValue;
    tiling.valueStrideR = problem.kvHeads * problem.headSizeValue;
    tiling.outputStrideS = problem.headNum * problem.headSizeValue;
    tiling.outputStrideN = problem.headSizeValue;
    tiling.queryHeads = problem.headNum;
    tiling.maxOfSeqLen = problem.maxOfSeqLen;
    tiling.keyCapacity = problem.maxBlockNum * problem.blockSize;
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

// The kernel that takes a problem, and its launch. `empty`: nothing is to be computed, and one
// block finds that out.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    // self_attention_prefix_encoder_float16_d128_maskType_CAUSAL_MASK
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        (problem.maskType == 3 || problem.maskType == 9) &&
        problem.clampType == 0) {
        Plan plan{18752440100000080, 1,
            empty ? OneBlock() : TileFloat16D128MaskTypeCAUSALMASK(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_prefix_encoder_float16_d128_mask_mask_columns_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.maskGiven != 0 &&
        problem.maskLayout == 6 &&
        problem.maskType != 3 &&
        problem.clampType == 0) {
        Plan plan{59458269400001080, 1,
            empty ? OneBlock() : TileFloat16D128MaskMaskColumnsMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_prefix_encoder_float16_d128_slopes_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.slopesGiven != 0 &&
        problem.maskType == 4 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{63799146900002080, 1,
            empty ? OneBlock() : TileFloat16D128SlopesMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_prefix_encoder_float16_d128_slopes_maskType_ALIBI_COMPRESS_SQRT
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.slopesGiven != 0 &&
        problem.maskType == 5 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{150676319800002080, 1,
            empty ? OneBlock() : TileFloat16D128SlopesMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_prefix_encoder_bfloat16_d128_maskType_CAUSAL_MASK
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        (problem.maskType == 3 || problem.maskType == 9) &&
        problem.clampType == 0) {
        Plan plan{18752440100000081, 1,
            empty ? OneBlock() : TileFloat16D128MaskTypeCAUSALMASK(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_prefix_encoder_bfloat16_d128_mask_mask_columns_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.maskGiven != 0 &&
        problem.maskLayout == 6 &&
        problem.maskType != 3 &&
        problem.clampType == 0) {
        Plan plan{59458269400001081, 1,
            empty ? OneBlock() : TileFloat16D128MaskMaskColumnsMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_prefix_encoder_bfloat16_d128_slopes_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.slopesGiven != 0 &&
        problem.maskType == 4 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{63799146900002081, 1,
            empty ? OneBlock() : TileFloat16D128SlopesMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // self_attention_prefix_encoder_bfloat16_d128_slopes_maskType_ALIBI_COMPRESS_SQRT
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.slopesGiven != 0 &&
        problem.maskType == 5 &&
        problem.clampType == 0 &&
        problem.maskLayout != 6) {
        Plan plan{150676319800002081, 1,
            empty ? OneBlock() : TileFloat16D128SlopesMaskTypeALIBICOMPRESS(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    return Plan{};
}

}  // namespace self_attention_prefix_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_PLAN_H
