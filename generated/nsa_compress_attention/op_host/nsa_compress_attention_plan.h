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

// Codes of layouts, dtypes and parameters in a problem.
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
    int64_t D1 = 0;  // head size of queries and keys
    int64_t D2 = 0;  // head size of values
    int64_t topkMaskGiven = 0;  // 1 if topk_mask is passed
    int64_t attenMaskGiven = 0;  // 1 if atten_mask is passed
    int64_t N2 = 0;  // key/value heads
    int64_t N1 = 0;  // query heads
    int64_t T1 = 0;  // packed query tokens of all batch rows
    int64_t cores = 0;  // cube cores of the device
    int64_t S1 = 0;  // query positions of a batch row
    int64_t B = 0;  // batch rows
    float scale_value = 0;  // parameter scale_value
    int64_t selS2 = 0;  // blocks of keys of a selection
    int64_t select_block_size = 0;  // parameter select_block_size, l', keys of a selected block
    // parameter compress_stride, d, keys between the starts of compressed blocks
    int64_t compress_stride = 0;
    // parameter compress_block_size, l, keys of a compressed block
    int64_t compress_block_size = 0;
    // parameter index_reading, where the sums of step 4 begin: as shipped kernels do, as the paper
    // does, all from 0; 0: op, 1: paper, 2: literal0
    int64_t index_reading = 0;
    int64_t select_block_count = 0;  // parameter select_block_count
    int64_t T2 = 0;  // stored key rows, of a group or of all batch rows
    int64_t topkMaskDim1 = 0;  // size of dimension 1 of topk_mask
    int64_t attenMaskDim1 = 0;  // size of dimension 1 of atten_mask
    int64_t cmpS2 = 0;  // key positions of a batch row
};

// Whether a problem can be launched.
enum class PlanStatus : uint32_t {
    kPlanned,
    kNoKernel,  // no kernel is generated for the problem
    kTooManyRows,  // a task would have more rows than its kernel takes
};

// A launch, if `status` says that it is planned. `key` selects the kernel. `scheduleMode`:
// kBatchMode if blocks wait for each other. Blocks and workspace are in `tiling`.
constexpr uint32_t kBatchMode = 1;  // all blocks start at once, or none
struct Plan {
    PlanStatus status = PlanStatus::kNoKernel;
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    int64_t taskRows = 0;  // query rows of a task, where they are too many
    NsaCompressAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline NsaCompressAttentionTiling OneBlock()
{
    NsaCompressAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// What a plan knows of a kernel: the constants of its schedule, 0 where it has none of a name.
struct Kernel {
    int64_t maxRows = 0;  // query rows of one task, at most
    int64_t rowsPerVector = 0;  // query rows of one vector core, at most
    int64_t tileKeys = 0;  // keys of one score tile
    int64_t prefetch = 0;  // tiles by which the scores run ahead of the weighted sums
    int64_t ring = 0;  // slots of a workspace ring of score or probability tiles, at most
    int64_t paddedValueSize = 0;  // head size of values and results, padded to 16
};

// Cuts the rows into tasks and their keys into splits; the blocks that share them.
inline void PartitionWork(const Problem &problem, const Kernel &kernel,
    NsaCompressAttentionTiling &tiling)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    tiling.kvHeads = problem.N2;
    tiling.group = problem.N1 / problem.N2;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask =
        attndsl::kVectorCores
            * MinOf(MaxOf(1,
                MinOf(MinOf(kernel.rowsPerVector, 8),
                    kernel.rowsPerVector / MaxOf(tiling.headsPerTask, 1))),
                MaxOf(1, CeilDiv(problem.T1 * problem.N2, attndsl::kVectorCores * problem.cores)));
    tiling.queryTiles = CeilDiv(problem.S1, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits = 1;
    tiling.items = tiling.tasks * tiling.splits;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
}

// Elements between neighbours along the axes of tensors, by layout.
inline void SetStrides(const Problem &problem, NsaCompressAttentionTiling &tiling)
{
    tiling.softmaxMaxOutStrideS = problem.N1 * 8;
    tiling.softmaxMaxOutStrideN = 8;
    tiling.softmaxSumOutStrideS = problem.N1 * 8;
    tiling.softmaxSumOutStrideN = 8;
    tiling.attentionOutStrideS = problem.N1 * problem.D2;
    tiling.attentionOutStrideN = problem.D2;
    tiling.topkIndicesOutStrideS = problem.N2 * problem.select_block_count;
    tiling.topkIndicesOutStrideK = problem.select_block_count;
    tiling.keyStrideU = problem.N2 * problem.D1;
    tiling.keyStrideK = problem.D1;
    tiling.valueStrideU = problem.N2 * problem.D2;
    tiling.valueStrideK = problem.D2;
    tiling.queryStrideS = problem.N1 * problem.D1;
    tiling.queryStrideN = problem.D1;
    tiling.topkMaskStrideQ = problem.topkMaskDim1;
    tiling.attenMaskStrideQ = problem.attenMaskDim1;
}

// Sizes and settings as kernels read them.
inline void SetScalars(const Problem &problem, const Kernel &kernel,
    NsaCompressAttentionTiling &tiling)
{
    using attndsl::CeilDiv;
    tiling.scaleValue = problem.scale_value;
    tiling.valueDim = problem.D2;
    tiling.longestBlocks = problem.selS2;
    tiling.windowStep = problem.select_block_size / problem.compress_stride;
    tiling.windowLast =
        problem.index_reading == values::IndexReading::kLiteral0
            ? 0
            : tiling.windowStep - (problem.index_reading == values::IndexReading::kPaper ? 1 : 0);
    tiling.selectionCount = problem.select_block_count;
    tiling.tileBlocks = CeilDiv(kernel.tileKeys, tiling.windowStep);
    tiling.windowCount1 = problem.compress_block_size / problem.compress_stride;
    tiling.windowTerms = tiling.windowStep + tiling.windowCount1 - 1;
    tiling.headDim = problem.D1;
    tiling.S1 = problem.S1;
    tiling.keyCapacity = problem.T2;
    tiling.keyCapacityScalar = problem.cmpS2;
}

// Puts the tensors of the workspace one after the other, in bytes.
inline void PlaceWorkspace(const Problem &problem, const Kernel &kernel,
    NsaCompressAttentionTiling &tiling)
{
    using attndsl::RoundUp;
    tiling.scoreRingOffset = 0;
    tiling.scoreRingPart =
        RoundUp(kernel.prefetch * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.probRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.outRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedValueSize * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.keyEndsOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    // bytes of the ends of the keys that positions see, and their first hidden keys
    const int64_t keyEndsBytes = RoundUp(problem.S1 * 2 * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.probRingOffset =
        problem.attenMaskGiven == 0
            ? tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks
            : tiling.keyEndsOffset + keyEndsBytes;
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.workspaceBytes = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
}

// Whether blocks wait for each other: all start at once, or none.
inline bool BlocksWait(const Problem &problem, [[maybe_unused]] const Kernel &kernel,
    [[maybe_unused]] const NsaCompressAttentionTiling &tiling)
{
    return problem.attenMaskGiven != 0;
}

// The tiling data of a launch. Fields that a kernel does not read have a value, too, or 0.
inline NsaCompressAttentionTiling Tile(const Problem &problem, const Kernel &kernel)
{
    NsaCompressAttentionTiling tiling{};
    PartitionWork(problem, kernel, tiling);
    SetStrides(problem, tiling);
    SetScalars(problem, kernel, tiling);
    PlaceWorkspace(problem, kernel, tiling);
    return tiling;
}

// What the plan knows of each kernel, in the order of the members of `Kernel`.
namespace kernels {
constexpr Kernel OfD128E128()
{
    namespace schedule = nsa_compress_attention_d128_e128;
    return {schedule::kMaxRows, schedule::kRowsPerVector, schedule::kTileKeys, schedule::kPrefetch,
        schedule::kRing, schedule::kPaddedValueSize};
}

constexpr Kernel OfD128E128TopkMask()
{
    namespace schedule = nsa_compress_attention_d128_e128_topk_mask;
    return {schedule::kMaxRows, schedule::kRowsPerVector, schedule::kTileKeys, schedule::kPrefetch,
        schedule::kRing, schedule::kPaddedValueSize};
}

constexpr Kernel OfD128E128AttenMask()
{
    namespace schedule = nsa_compress_attention_d128_e128_atten_mask;
    return {schedule::kMaxRows, schedule::kRowsPerVector, schedule::kTileKeys, schedule::kPrefetch,
        schedule::kRing, schedule::kPaddedValueSize};
}
}  // namespace kernels

// The kernel that a problem is launched with.
struct Choice {
    NsaCompressAttentionTilingKey key{};
    Kernel kernel;
};

// Whether a kernel is generated for a problem; `choice` becomes the first that takes it.
inline bool SelectKernel(const Problem &problem, Choice &choice)
{
    using Key = NsaCompressAttentionTilingKey;
    // All kernels ask for this.
    if (!((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.D1 > 112 && problem.D1 <= 128 &&
        problem.D2 > 112 && problem.D2 <= 128)) {
        return false;
    }
    // nsa_compress_attention_d128_e128: float16 or bfloat16
    if (problem.topkMaskGiven == 0 &&
        problem.attenMaskGiven == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128
                : Key::kBfloat16D128E128;
        choice.kernel = kernels::OfD128E128();
        return true;
    }
    // nsa_compress_attention_d128_e128_topk_mask: float16 or bfloat16
    if (problem.topkMaskGiven != 0 &&
        problem.attenMaskGiven == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128TopkMask
                : Key::kBfloat16D128E128TopkMask;
        choice.kernel = kernels::OfD128E128TopkMask();
        return true;
    }
    // nsa_compress_attention_d128_e128_atten_mask: float16 or bfloat16
    if (problem.topkMaskGiven == 0 &&
        problem.attenMaskGiven != 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128AttenMask
                : Key::kBfloat16D128E128AttenMask;
        choice.kernel = kernels::OfD128E128AttenMask();
        return true;
    }
    return false;
}

// The launch of a problem. `empty`: there is nothing to compute; one block starts and ends.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    Plan plan{};
    Choice choice;
    if (!SelectKernel(problem, choice)) {
        plan.status = PlanStatus::kNoKernel;
        return plan;
    }
    plan.key = static_cast<uint64_t>(choice.key);
    NsaCompressAttentionTiling &tiling = plan.tiling;
    tiling = empty ? OneBlock() : Tile(problem, choice.kernel);
    if (choice.kernel.maxRows > 0 && tiling.rowsPerTask > choice.kernel.maxRows) {
        plan.status = PlanStatus::kTooManyRows;
        plan.taskRows = tiling.rowsPerTask;
        return plan;
    }
    tiling.key = plan.key;
    plan.scheduleMode = BlocksWait(problem, choice.kernel, tiling) ? kBatchMode : 0;
    plan.status = PlanStatus::kPlanned;
    return plan;
}

}  // namespace nsa_compress_attention_host

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_PLAN_H
