// How nsa_compress_attention is launched: which kernel, how many blocks, which workspace. Plain
// C++17, no CANN headers.
#ifndef ATTNDSL_NSA_COMPRESS_ATTENTION_PLAN_H
#define ATTNDSL_NSA_COMPRESS_ATTENTION_PLAN_H

#include <cstdint>

#include "../op_kernel/nsa_compress_attention_tiling.h"
#include "arithmetic.h"

namespace nsa_compress_attention_host {

// What numbers of a problem stand for.
namespace values {
struct QueryDtype {
    static constexpr int64_t kFloat16 = 0;
    static constexpr int64_t kBfloat16 = 1;
};
struct IndexReading {
    static constexpr int64_t kOp = 0;
    static constexpr int64_t kPaper = 1;
    static constexpr int64_t kLiteral0 = 2;
};
}  // namespace values

// What the launch depends on.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t headSize = 0;  // head size, D1
    int64_t valueSize = 0;  // head size of values
    int64_t topkMaskGiven = 0;  // whether topk_mask is passed
    int64_t attenMaskGiven = 0;  // whether atten_mask is passed
    int64_t N2 = 0;  // size N2 of the contract
    int64_t N1 = 0;  // size N1 of the contract
    int64_t T1 = 0;  // size T1 of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t S1 = 0;  // size S1 of the contract
    int64_t B = 0;  // size B of the contract
    float scale_value = 0;  // parameter scale_value
    int64_t D2 = 0;  // size D2 of the contract
    int64_t selS2 = 0;  // size selS2 of the contract
    int64_t select_block_size = 0;  // parameter select_block_size
    int64_t compress_stride = 0;  // parameter compress_stride
    int64_t index_reading = 0;  // parameter index_reading; 0: op, 1: paper, 2: literal0
    int64_t D1 = 0;  // size D1 of the contract
    int64_t compress_block_size = 0;  // parameter compress_block_size
    int64_t select_block_count = 0;  // parameter select_block_count
    int64_t T2 = 0;  // size T2 of the contract
    int64_t topkMaskDim1 = 0;  // size of dimension 1 of topk_mask
    int64_t attenMaskDim1 = 0;  // size of dimension 1 of atten_mask
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem; `scheduleMode` 1:
// blocks wait for each
// other, so all of them have to start together. Blocks and workspace are in `tiling`.
struct Plan {
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    NsaCompressAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline NsaCompressAttentionTiling OneBlock()
{
    NsaCompressAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// What the launches of the kernels differ in. A form tells which of several expressions some fields
// have.
struct Kernel {
    NsaCompressAttentionTilingKey key;
    uint32_t scheduleMode;
};

// The tiling data of a launch; a kernel reads the fields that it needs.
inline NsaCompressAttentionTiling Tile(const Problem &problem,
    [[maybe_unused]] const Kernel &kernel)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    using attndsl::RoundUp;
    NsaCompressAttentionTiling tiling{};
    tiling.kvHeads = problem.N2;
    tiling.group = problem.N1 / problem.N2;
    tiling.headsPerTask = MinOf(tiling.group, 128);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask =
        2 * MinOf(MaxOf(1, MinOf(16, 64 / MaxOf(tiling.headsPerTask, 1))),
            MaxOf(1, CeilDiv(problem.T1 * problem.N2, 2 * problem.cores)));
    tiling.queryTiles = CeilDiv(problem.S1, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits = 1;
    tiling.items = tiling.tasks * tiling.splits;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.softmaxMaxOutStrideS = problem.N1 * 8;
    tiling.softmaxMaxOutStrideN = 8;
    tiling.softmaxSumOutStrideS = problem.N1 * 8;
    tiling.softmaxSumOutStrideN = 8;
    tiling.valueDim = problem.D2;
    tiling.attentionOutStrideS = problem.N1 * problem.D2;
    tiling.attentionOutStrideN = problem.D2;
    tiling.longestBlocks = problem.selS2;
    tiling.windowStep = problem.select_block_size / problem.compress_stride;
    tiling.windowLast =
        problem.select_block_size / problem.compress_stride
            - (problem.index_reading == values::IndexReading::kPaper
                ? 1
                : (problem.index_reading == values::IndexReading::kLiteral0
                    ? problem.select_block_size / problem.compress_stride
                    : 0));
    tiling.headDim = problem.D1;
    tiling.keyStrideU = problem.N2 * problem.D1;
    tiling.keyStrideK = problem.D1;
    tiling.positionsPerStep =
        512 / RoundUp(CeilDiv(512, problem.select_block_size / problem.compress_stride), 32);
    tiling.laneBlocks =
        RoundUp(CeilDiv(512, problem.select_block_size / problem.compress_stride), 32);
    tiling.windowCount1 = problem.compress_block_size / problem.compress_stride;
    tiling.windowTerms =
        1 + problem.select_block_size / problem.compress_stride - 1
            + problem.compress_block_size / problem.compress_stride - 1;
    tiling.selectionCount = problem.select_block_count;
    tiling.topkIndicesOutStrideS = problem.N2 * problem.select_block_count;
    tiling.topkIndicesOutStrideK = problem.select_block_count;
    tiling.valueStrideU = problem.N2 * problem.D2;
    tiling.valueStrideK = problem.D2;
    tiling.S1 = problem.S1;
    tiling.keyCapacity = problem.T2;
    tiling.queryStrideS = problem.N1 * problem.D1;
    tiling.queryStrideN = problem.D1;
    tiling.scoreAgainRingOffset = 0;
    tiling.scoreAgainRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.scoreRingOffset =
        tiling.scoreAgainRingOffset + tiling.scoreAgainRingPart * tiling.blocks;
    tiling.scoreRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(3 * tiling.rowsPerTask * 512 * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(3 * tiling.rowsPerTask * 128 * 4, 512);
    tiling.workspaceBytes = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.topkMaskStrideQ = problem.topkMaskDim1;
    tiling.attenMaskStrideQ = problem.attenMaskDim1;
    return tiling;
}

// A launch of a kernel, whose tiling data is `tiling`.
inline Plan PlanOf(const Kernel &kernel, const NsaCompressAttentionTiling &tiling)
{
    Plan plan{static_cast<uint64_t>(kernel.key), kernel.scheduleMode, tiling};
    plan.tiling.key = plan.key;
    return plan;
}

// The kernel that takes a problem, and its launch. `empty`: nothing is to be computed, and one
// block finds that out.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    using Key = NsaCompressAttentionTilingKey;
    // nsa_compress_attention_float16_d128_e128
    if (problem.queryDtype == values::QueryDtype::kFloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.topkMaskGiven == 0 &&
        problem.attenMaskGiven == 0) {
        constexpr Kernel kernel{
            Key::kFloat16D128E128, 0};
        return PlanOf(kernel, empty ? OneBlock() : Tile(problem, kernel));
    }
    // nsa_compress_attention_float16_d128_e128_topk_mask
    if (problem.queryDtype == values::QueryDtype::kFloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.topkMaskGiven != 0 &&
        problem.attenMaskGiven == 0) {
        constexpr Kernel kernel{
            Key::kFloat16D128E128TopkMask, 0};
        return PlanOf(kernel, empty ? OneBlock() : Tile(problem, kernel));
    }
    // nsa_compress_attention_float16_d128_e128_atten_mask
    if (problem.queryDtype == values::QueryDtype::kFloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.topkMaskGiven == 0 &&
        problem.attenMaskGiven != 0) {
        constexpr Kernel kernel{
            Key::kFloat16D128E128AttenMask, 0};
        return PlanOf(kernel, empty ? OneBlock() : Tile(problem, kernel));
    }
    // nsa_compress_attention_bfloat16_d128_e128
    if (problem.queryDtype == values::QueryDtype::kBfloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.topkMaskGiven == 0 &&
        problem.attenMaskGiven == 0) {
        constexpr Kernel kernel{
            Key::kBfloat16D128E128, 0};
        return PlanOf(kernel, empty ? OneBlock() : Tile(problem, kernel));
    }
    // nsa_compress_attention_bfloat16_d128_e128_topk_mask
    if (problem.queryDtype == values::QueryDtype::kBfloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.topkMaskGiven != 0 &&
        problem.attenMaskGiven == 0) {
        constexpr Kernel kernel{
            Key::kBfloat16D128E128TopkMask, 0};
        return PlanOf(kernel, empty ? OneBlock() : Tile(problem, kernel));
    }
    // nsa_compress_attention_bfloat16_d128_e128_atten_mask
    if (problem.queryDtype == values::QueryDtype::kBfloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.valueSize > 112 && problem.valueSize <= 128 &&
        problem.topkMaskGiven == 0 &&
        problem.attenMaskGiven != 0) {
        constexpr Kernel kernel{
            Key::kBfloat16D128E128AttenMask, 0};
        return PlanOf(kernel, empty ? OneBlock() : Tile(problem, kernel));
    }
    return Plan{};
}

}  // namespace nsa_compress_attention_host

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_PLAN_H
