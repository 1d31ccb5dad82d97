// How incre_flash_attention is launched: which kernel, how many blocks, which workspace. Plain
// C++17, no CANN headers.
#ifndef ATTNDSL_INCRE_FLASH_ATTENTION_PLAN_H
#define ATTNDSL_INCRE_FLASH_ATTENTION_PLAN_H

#include <cstdint>

#include "../op_kernel/incre_flash_attention_tiling.h"

namespace incre_flash_attention_host {

// What the launch depends on.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t headSize = 0;  // head size, D
    int64_t attnMaskGiven = 0;  // whether attn_mask is passed
    int64_t pseShiftGiven = 0;  // whether pse_shift is passed
    int64_t quantScale2Given = 0;  // whether quant_scale2 is passed
    int64_t quantOffset2Given = 0;  // whether quant_offset2 is passed
    int64_t antiquantScaleGiven = 0;  // whether antiquant_scale is passed
    int64_t antiquantOffsetGiven = 0;  // whether antiquant_offset is passed
    int64_t blockTableGiven = 0;  // whether block_table is passed
    int64_t kvPaddingSizeGiven = 0;  // whether kv_padding_size is passed
    int64_t keySplit = 0;  // split(key)
    int64_t valueSplit = 0;  // split(value)
    int64_t kvN = 0;  // size kvN of the contract
    int64_t N = 0;  // size N of the contract
    int64_t B = 0;  // size B of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t S = 0;  // size S of the contract
    float scale_value = 0;  // parameter scale_value
    int64_t D = 0;  // size D of the contract
    int64_t keyLayout = 0;  // index of the layout of key
    int64_t valueLayout = 0;  // index of the layout of value
    int64_t actualSeqLengthsCount = 0;  // entries of actualSeqLengths, 0 without it
    int64_t pseShiftLayout = 0;  // index of the layout of pseShift
    int64_t quantScale2Layout = 0;  // index of the layout of quantScale2
    int64_t quantOffset2Layout = 0;  // index of the layout of quantOffset2
    int64_t block_size = 0;  // parameter block_size
    int64_t max_block_num_per_seq = 0;  // size max_block_num_per_seq of the contract
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem; `scheduleMode` 1:
// blocks wait for each
// other, so all of them have to start together. Blocks and workspace are in `tiling`.
struct Plan {
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    IncreFlashAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline IncreFlashAttentionTiling OneBlock()
{
    IncreFlashAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

inline IncreFlashAttentionTiling TileFloat16D128(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.S, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.keyLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.keyStrideK = problem.keyLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.keyStrideB =
        problem.keyLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.valueStrideT = problem.valueLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.valueStrideK = problem.valueLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.valueStrideB =
        problem.valueLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
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

inline IncreFlashAttentionTiling TileFloat16D128AttnMask(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.S, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.keyLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.keyStrideK = problem.keyLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.keyStrideB =
        problem.keyLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.attnMaskStrideB = problem.S;
    tiling.valueStrideT = problem.valueLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.valueStrideK = problem.valueLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.valueStrideB =
        problem.valueLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
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

inline IncreFlashAttentionTiling TileFloat16D128PseShift(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.S, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.keyLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.keyStrideK = problem.keyLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.keyStrideB =
        problem.keyLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.pseShiftStrideB = problem.pseShiftLayout == 0 ? 0 : problem.N * problem.S;
    tiling.pseShiftStrideN = problem.S;
    tiling.valueStrideT = problem.valueLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.valueStrideK = problem.valueLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.valueStrideB =
        problem.valueLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
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

inline IncreFlashAttentionTiling TileFloat16D128QuantScale2(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.S, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.keyLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.keyStrideK = problem.keyLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.keyStrideB =
        problem.keyLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.valueStrideT = problem.valueLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.valueStrideK = problem.valueLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.valueStrideB =
        problem.valueLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.quantScale2StrideE = problem.quantScale2Layout == 0 ? 0 : 1;
    tiling.quantScale2StrideN = problem.quantScale2Layout == 0 ? 0 : problem.D;
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
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

inline IncreFlashAttentionTiling TileFloat16D128QuantScale2QuantOffset2(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.S, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.keyLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.keyStrideK = problem.keyLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.keyStrideB =
        problem.keyLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.valueStrideT = problem.valueLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.valueStrideK = problem.valueLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.valueStrideB =
        problem.valueLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.quantScale2StrideE = problem.quantScale2Layout == 0 ? 0 : 1;
    tiling.quantScale2StrideN = problem.quantScale2Layout == 0 ? 0 : problem.D;
    tiling.quantOffset2StrideE = problem.quantOffset2Layout == 0 ? 0 : 1;
    tiling.quantOffset2StrideN = problem.quantOffset2Layout == 0 ? 0 : problem.D;
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
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

inline IncreFlashAttentionTiling TileFloat16D128AntiquantScale(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.S, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.keyLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.keyStrideK = problem.keyLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.keyStrideB =
        problem.keyLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
    tiling.valueStrideT = problem.valueLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.valueStrideK = problem.valueLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.valueStrideB =
        problem.valueLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.antiquantScaleStrideK = problem.D;
    tiling.antiquantScaleStrideC = problem.kvN * problem.D;
    tiling.keyRingOffset = 0;
    tiling.keyRingPart = 393216;
    tiling.foldedQueryOffset = tiling.keyRingOffset + tiling.keyRingPart * tiling.blocks;
    tiling.foldedQueryPart = RoundUp(tiling.rowsPerTask * 128 * 2, 512);
    tiling.scoreRingOffset = tiling.foldedQueryOffset + tiling.foldedQueryPart * tiling.blocks;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.valueRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.valueRingPart = 393216;
    tiling.outRingOffset = tiling.valueRingOffset + tiling.valueRingPart * tiling.blocks;
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

inline IncreFlashAttentionTiling TileFloat16D128AntiquantScaleAntiquantOffset(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.S, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.keyLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.keyStrideK = problem.keyLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.keyStrideB =
        problem.keyLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
    tiling.valueStrideT = problem.valueLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.valueStrideK = problem.valueLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.valueStrideB =
        problem.valueLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.antiquantScaleStrideK = problem.D;
    tiling.antiquantScaleStrideC = problem.kvN * problem.D;
    tiling.antiquantOffsetStrideK = problem.D;
    tiling.antiquantOffsetStrideC = problem.kvN * problem.D;
    tiling.keyRingOffset = 0;
    tiling.keyRingPart = 393216;
    tiling.foldedQueryOffset = tiling.keyRingOffset + tiling.keyRingPart * tiling.blocks;
    tiling.foldedQueryPart = RoundUp(tiling.rowsPerTask * 128 * 2, 512);
    tiling.scoreRingOffset = tiling.foldedQueryOffset + tiling.foldedQueryPart * tiling.blocks;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.valueRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.valueRingPart = 393216;
    tiling.outRingOffset = tiling.valueRingOffset + tiling.valueRingPart * tiling.blocks;
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

inline IncreFlashAttentionTiling TileFloat16D128BlockTable(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.S, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.blockSize = problem.block_size;
    tiling.blockTableStrideB = problem.max_block_num_per_seq;
    tiling.keyStrideP =
        problem.keyLayout == 0
            ? 0
            : (problem.keyLayout == 1
                ? 0
                : (problem.keyLayout == 2
                    ? problem.block_size * (problem.kvN * problem.D)
                    : problem.kvN * (problem.block_size * problem.D)));
    tiling.keyStrideK =
        problem.keyLayout == 0
            ? problem.D
            : (problem.keyLayout == 1
                ? problem.S * problem.D
                : (problem.keyLayout == 2 ? problem.D : problem.block_size * problem.D));
    tiling.keyStrideR =
        problem.keyLayout == 0
            ? 0
            : (problem.keyLayout == 1
                ? 0
                : (problem.keyLayout == 2 ? problem.kvN * problem.D : problem.D));
    tiling.valueStrideP =
        problem.valueLayout == 0
            ? 0
            : (problem.valueLayout == 1
                ? 0
                : (problem.valueLayout == 2
                    ? problem.block_size * (problem.kvN * problem.D)
                    : problem.kvN * (problem.block_size * problem.D)));
    tiling.valueStrideK =
        problem.valueLayout == 0
            ? problem.D
            : (problem.valueLayout == 1
                ? problem.S * problem.D
                : (problem.valueLayout == 2 ? problem.D : problem.block_size * problem.D));
    tiling.valueStrideR =
        problem.valueLayout == 0
            ? 0
            : (problem.valueLayout == 1
                ? 0
                : (problem.valueLayout == 2 ? problem.kvN * problem.D : problem.D));
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
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

inline IncreFlashAttentionTiling TileFloat16D128KvPaddingSize(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.S, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.keyLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.S = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.keyStrideK = problem.keyLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.keyStrideB =
        problem.keyLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.valueStrideT = problem.valueLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.valueStrideK = problem.valueLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.valueStrideB =
        problem.valueLayout == 0
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
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

inline IncreFlashAttentionTiling TileFloat16D128KeyListValueList(const Problem &problem)
{
    [[maybe_unused]] const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    [[maybe_unused]] const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    [[maybe_unused]] const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    [[maybe_unused]] const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, 64);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splits =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), CeilDiv(problem.S, 512)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.keyLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.keyIsBSH = problem.keyLayout == 0;
    tiling.valueStrideT = problem.valueLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.valueIsBSH = problem.valueLayout == 0;
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryHeads = problem.N;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
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
    // incre_flash_attention_float16_d128
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100000080, 1, empty ? OneBlock() : TileFloat16D128(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_float16_d128_attn_mask
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven != 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100001080, 1, empty ? OneBlock() : TileFloat16D128AttnMask(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_float16_d128_pse_shift
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven != 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100002080, 1, empty ? OneBlock() : TileFloat16D128PseShift(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_float16_d128_quant_scale2
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given != 0 &&
        problem.quantOffset2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100004080, 1, empty ? OneBlock() : TileFloat16D128QuantScale2(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_float16_d128_quant_scale2_quant_offset2
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given != 0 &&
        problem.quantOffset2Given != 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100012080, 1,
            empty ? OneBlock() : TileFloat16D128QuantScale2QuantOffset2(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_float16_d128_antiquant_scale
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven != 0 &&
        problem.antiquantOffsetGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100016080, 1,
            empty ? OneBlock() : TileFloat16D128AntiquantScale(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_float16_d128_antiquant_scale_antiquant_offset
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven != 0 &&
        problem.antiquantOffsetGiven != 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100048080, 1,
            empty ? OneBlock() : TileFloat16D128AntiquantScaleAntiquantOffset(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_float16_d128_block_table
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven != 0 &&
        problem.valueSplit == 0) {
        Plan plan{185486996900064080, 1, empty ? OneBlock() : TileFloat16D128BlockTable(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_float16_d128_kv_padding_size
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven != 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100128080, 1, empty ? OneBlock() : TileFloat16D128KvPaddingSize(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_float16_d128_key_list_value_list
    if (problem.queryDtype == 0 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.keySplit == 1 &&
        problem.valueSplit == 1) {
        Plan plan{421397943000000080, 1,
            empty ? OneBlock() : TileFloat16D128KeyListValueList(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_bfloat16_d128
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100000081, 1, empty ? OneBlock() : TileFloat16D128(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_bfloat16_d128_attn_mask
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven != 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100001081, 1, empty ? OneBlock() : TileFloat16D128AttnMask(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_bfloat16_d128_pse_shift
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven != 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100002081, 1, empty ? OneBlock() : TileFloat16D128PseShift(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_bfloat16_d128_quant_scale2
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given != 0 &&
        problem.quantOffset2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100004081, 1, empty ? OneBlock() : TileFloat16D128QuantScale2(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_bfloat16_d128_quant_scale2_quant_offset2
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given != 0 &&
        problem.quantOffset2Given != 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100012081, 1,
            empty ? OneBlock() : TileFloat16D128QuantScale2QuantOffset2(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_bfloat16_d128_antiquant_scale
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven != 0 &&
        problem.antiquantOffsetGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100016081, 1,
            empty ? OneBlock() : TileFloat16D128AntiquantScale(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_bfloat16_d128_antiquant_scale_antiquant_offset
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven != 0 &&
        problem.antiquantOffsetGiven != 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100048081, 1,
            empty ? OneBlock() : TileFloat16D128AntiquantScaleAntiquantOffset(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_bfloat16_d128_block_table
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven != 0 &&
        problem.valueSplit == 0) {
        Plan plan{185486996900064081, 1, empty ? OneBlock() : TileFloat16D128BlockTable(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_bfloat16_d128_kv_padding_size
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven != 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        Plan plan{21904911100128081, 1, empty ? OneBlock() : TileFloat16D128KvPaddingSize(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    // incre_flash_attention_bfloat16_d128_key_list_value_list
    if (problem.queryDtype == 1 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.keySplit == 1 &&
        problem.valueSplit == 1) {
        Plan plan{421397943000000081, 1,
            empty ? OneBlock() : TileFloat16D128KeyListValueList(problem)};
        plan.tiling.key = plan.key;
        return plan;
    }
    return Plan{};
}

}  // namespace incre_flash_attention_host

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_PLAN_H
