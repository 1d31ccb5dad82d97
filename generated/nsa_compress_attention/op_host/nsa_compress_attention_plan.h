// How nsa_compress_attention is launched: which kernel, how many blocks, which workspace. Plain
// C++17, no CANN headers.
#ifndef ATTNDSL_NSA_COMPRESS_ATTENTION_PLAN_H
#define ATTNDSL_NSA_COMPRESS_ATTENTION_PLAN_H

#include <cstdint>

#include "../op_kernel/nsa_compress_attention_d128_e128_schedule.h"
#include "../op_kernel/nsa_compress_attention_d128_e128_topk_mask_schedule.h"
#include "../op_kernel/nsa_compress_attention_d128_e128_atten_mask_schedule.h"
#include "../op_kernel/nsa_compress_attention_tiling.h"
#include "arithmetic.h"

namespace nsa_compress_attention_host {

// Meanings of the numbers in a problem.
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

constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses
constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t D1 = 0;  // head size, D1
    int64_t D2 = 0;  // head size of values, D2
    int64_t topkMaskGiven = 0;  // whether topk_mask is passed
    int64_t attenMaskGiven = 0;  // whether atten_mask is passed
    int64_t N2 = 0;  // size N2 of the contract
    int64_t N1 = 0;  // size N1 of the contract
    int64_t T1 = 0;  // size T1 of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t S1 = 0;  // size S1 of the contract
    int64_t B = 0;  // size B of the contract
    float scale_value = 0;  // parameter scale_value
    int64_t select_block_size = 0;  // parameter select_block_size
    int64_t compress_stride = 0;  // parameter compress_stride
    int64_t index_reading = 0;  // parameter index_reading; 0: op, 1: paper, 2: literal0
    int64_t compress_block_size = 0;  // parameter compress_block_size
    int64_t select_block_count = 0;  // parameter select_block_count
    int64_t selS2 = 0;  // size selS2 of the contract
    int64_t T2 = 0;  // size T2 of the contract
    int64_t topkMaskDim1 = 0;  // size of dimension 1 of topk_mask
    int64_t attenMaskDim1 = 0;  // size of dimension 1 of atten_mask
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem. `scheduleMode`:
// kBatchMode if blocks wait for each other. Blocks and workspace are in `tiling`.
constexpr uint32_t kBatchMode = 1;  // all blocks start at once, or none
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

// The differences between the launches of kernels. A form selects one of several expressions of a
// field.
struct Kernel {
    int64_t maxRows;  // query rows of one task, at most
    int64_t rowsPerVector;  // query rows of one vector core, at most
    int64_t tileKeys;  // keys of one score tile
    int64_t blockLanes;  // blocks, of several positions, sorted at once
    int64_t ring;  // workspace slots between cube and vector cores
    int64_t paddedValueSize;  // head size of values and results, padded to 16
};

// The tiling data of a launch; a kernel reads the fields that it needs.
inline NsaCompressAttentionTiling Tile(const Problem &problem, const Kernel &kernel)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    using attndsl::RoundUp;
    NsaCompressAttentionTiling tiling{};
    tiling.kvHeads = problem.N2;
    tiling.group = problem.N1 / problem.N2;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask =
        2
            * MinOf(
                MaxOf(1,
                    MinOf(MinOf(kernel.rowsPerVector, 16),
                        kernel.rowsPerVector / MaxOf(tiling.headsPerTask, 1))),
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
    tiling.headDim = problem.D1;
    tiling.keyStrideU = problem.N2 * problem.D1;
    tiling.keyStrideK = problem.D1;
    tiling.windowLast =
        problem.select_block_size / problem.compress_stride
            - (problem.index_reading == values::IndexReading::kPaper
                ? 1
                : (problem.index_reading == values::IndexReading::kLiteral0
                    ? problem.select_block_size / problem.compress_stride
                    : 0));
    tiling.windowStep = problem.select_block_size / problem.compress_stride;
    tiling.tileBlocks =
        CeilDiv(kernel.tileKeys, problem.select_block_size / problem.compress_stride);
    tiling.positionsPerStep =
        kernel.blockLanes
            / RoundUp(CeilDiv(kernel.tileKeys, problem.select_block_size / problem.compress_stride),
            32);
    tiling.laneBlocks =
        RoundUp(CeilDiv(kernel.tileKeys, problem.select_block_size / problem.compress_stride), 32);
    tiling.windowCount1 = problem.compress_block_size / problem.compress_stride;
    tiling.windowTerms =
        1 + problem.select_block_size / problem.compress_stride - 1
            + problem.compress_block_size / problem.compress_stride - 1;
    tiling.selectionCount = problem.select_block_count;
    tiling.topkIndicesOutStrideS = problem.N2 * problem.select_block_count;
    tiling.topkIndicesOutStrideK = problem.select_block_count;
    tiling.longestBlocks = problem.selS2;
    tiling.valueStrideU = problem.N2 * problem.D2;
    tiling.valueStrideK = problem.D2;
    tiling.S1 = problem.S1;
    tiling.keyCapacity = problem.T2;
    tiling.queryStrideS = problem.N1 * problem.D1;
    tiling.queryStrideN = problem.D1;
    tiling.scoreAgainRingOffset = 0;
    tiling.scoreAgainRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.scoreRingOffset =
        tiling.scoreAgainRingOffset + tiling.scoreAgainRingPart * tiling.blocks;
    tiling.scoreRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedValueSize * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.workspaceBytes = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.topkMaskStrideQ = problem.topkMaskDim1;
    tiling.attenMaskStrideQ = problem.attenMaskDim1;
    return tiling;
}

// A launch of the kernel with this tiling key. `waits`: its blocks wait for each other.
inline Plan PlanOf(NsaCompressAttentionTilingKey key, const NsaCompressAttentionTiling &tiling,
    bool waits)
{
    Plan plan{static_cast<uint64_t>(key), waits ? kBatchMode : 0, tiling};
    plan.tiling.key = plan.key;
    return plan;
}

// Selects the kernel for a problem and plans its launch. `empty`: there is nothing to compute; one
// block starts and ends.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    using Key = NsaCompressAttentionTilingKey;
    // All kernels ask for this.
    if (!((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.D1 > 112 && problem.D1 <= 128 &&
        problem.D2 > 112 && problem.D2 <= 128)) {
        return Plan{};
    }
    // nsa_compress_attention_d128_e128: float16 or bfloat16
    if (problem.topkMaskGiven == 0 &&
        problem.attenMaskGiven == 0) {
        namespace schedule = nsa_compress_attention_d128_e128;
        constexpr Kernel kernel{
            schedule::kMaxRows, schedule::kRowsPerVector, schedule::kTileKeys,
            schedule::kBlockLanes, schedule::kRing, schedule::kPaddedValueSize};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128
                : Key::kBfloat16D128E128;
        const NsaCompressAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, false);
    }
    // nsa_compress_attention_d128_e128_topk_mask: float16 or bfloat16
    if (problem.topkMaskGiven != 0 &&
        problem.attenMaskGiven == 0) {
        namespace schedule = nsa_compress_attention_d128_e128_topk_mask;
        constexpr Kernel kernel{
            schedule::kMaxRows, schedule::kRowsPerVector, schedule::kTileKeys,
            schedule::kBlockLanes, schedule::kRing, schedule::kPaddedValueSize};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128TopkMask
                : Key::kBfloat16D128E128TopkMask;
        const NsaCompressAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, false);
    }
    // nsa_compress_attention_d128_e128_atten_mask: float16 or bfloat16
    if (problem.topkMaskGiven == 0 &&
        problem.attenMaskGiven != 0) {
        namespace schedule = nsa_compress_attention_d128_e128_atten_mask;
        constexpr Kernel kernel{
            schedule::kMaxRows, schedule::kRowsPerVector, schedule::kTileKeys,
            schedule::kBlockLanes, schedule::kRing, schedule::kPaddedValueSize};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128AttenMask
                : Key::kBfloat16D128E128AttenMask;
        const NsaCompressAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, false);
    }
    return Plan{};
}

}  // namespace nsa_compress_attention_host

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_PLAN_H
