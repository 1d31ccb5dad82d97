// Host side of incre_flash_attention_bfloat16_d128_pse_shift: the tiling function. Plain C++, no CANN headers.
#ifndef ATTNDSL_INCRE_FLASH_ATTENTION_BFLOAT16_D128_PSE_SHIFT_HOST_H
#define ATTNDSL_INCRE_FLASH_ATTENTION_BFLOAT16_D128_PSE_SHIFT_HOST_H

#include <cstdint>

#include "incre_flash_attention_bfloat16_d128_pse_shift_tiling.h"

// What the tiling depends on.
struct IncreFlashAttentionBfloat16D128PseShiftProblem {
    int64_t B;  // size B of the contract
    int64_t kvN;  // size kvN of the contract
    int64_t cores;  // cube cores of the device
    int64_t S;  // size S of the contract
    int64_t N;  // size N of the contract
    int64_t D;  // size D of the contract
    int64_t actualSeqLengthsCount;  // entries of actualSeqLengths, 0 without it
    float scale_value;  // parameter scale_value
    int64_t keyLayout;  // index of the layout of key
    int64_t valueLayout;  // index of the layout of value
    int64_t pseShiftLayout;  // index of the layout of pseShift
};

// The tiling of a problem; its members blocks and workspaceBytes tell how to launch.
inline IncreFlashAttentionBfloat16D128PseShiftTiling ComputeTiling(
    const IncreFlashAttentionBfloat16D128PseShiftProblem &problem)
{
    const auto MinOf = [](int64_t a, int64_t b) { return a < b ? a : b; };
    const auto MaxOf = [](int64_t a, int64_t b) { return a > b ? a : b; };
    const auto CeilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    const auto RoundUp = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };

    IncreFlashAttentionBfloat16D128PseShiftTiling tiling{};
    tiling.pairs = problem.B * problem.kvN;
    tiling.splits = MaxOf(1, MinOf(problem.cores / tiling.pairs, CeilDiv(problem.S, 512)));
    tiling.items = tiling.pairs * tiling.splits;
    tiling.blocks = MinOf(tiling.items, problem.cores);
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.rowFractals = CeilDiv(tiling.group, 16);
    tiling.headDim = problem.D;
    tiling.keyCapacity = problem.S;
    tiling.lengthCount = problem.actualSeqLengthsCount;
    tiling.scaleValue = problem.scale_value;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
    tiling.keyStrideB =
        problem.keyLayout == 0 ? problem.S * (problem.kvN * problem.D) : problem.kvN * (problem.S * problem.D);
    tiling.keyStrideK = problem.keyLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.keyStrideT = problem.keyLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.valueStrideB =
        problem.valueLayout == 0 ? problem.S * (problem.kvN * problem.D) : problem.kvN * (problem.S * problem.D);
    tiling.valueStrideK = problem.valueLayout == 0 ? problem.D : problem.S * problem.D;
    tiling.valueStrideT = problem.valueLayout == 0 ? problem.kvN * problem.D : problem.D;
    tiling.pseShiftStrideB = problem.pseShiftLayout == 0 ? 0 : problem.N * problem.S;
    tiling.pseShiftStrideN = problem.S;
    tiling.pseShiftStrideT = 1;
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart = RoundUp(3 * tiling.group * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.group * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.group * 128 * 4, 512);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset =
        tiling.partialMaxOffset + RoundUp((tiling.splits > 1 ? tiling.items * tiling.group : 0) * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset + RoundUp((tiling.splits > 1 ? tiling.items * tiling.group : 0) * 4, 512);
    tiling.workspaceBytes =
        tiling.partialOutOffset + RoundUp((tiling.splits > 1 ? tiling.items * tiling.group : 0) * 128 * 4,
            512);
    return tiling;
}

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_BFLOAT16_D128_PSE_SHIFT_HOST_H
