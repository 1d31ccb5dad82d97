// How incre_flash_attention is launched: which kernel, how many blocks, which workspace. Plain
// C++17, no CANN headers.
#ifndef ATTNDSL_INCRE_FLASH_ATTENTION_PLAN_H
#define ATTNDSL_INCRE_FLASH_ATTENTION_PLAN_H

#include <cstdint>

#include "../op_kernel/incre_flash_attention_d64_attn_mask_schedule.h"
#include "../op_kernel/incre_flash_attention_tiling.h"
#include "arithmetic.h"

namespace incre_flash_attention_host {

// Codes of layouts, dtypes and parameters in a problem.
namespace values {
struct QueryDtype {
    static constexpr int64_t kFloat16 = 0;
    static constexpr int64_t kBfloat16 = 1;
};
struct KeyLayout {
    static constexpr int64_t kBsh = 0;
    static constexpr int64_t kBnsd = 1;
    static constexpr int64_t kPaged = 2;
    static constexpr int64_t kPagedBnsd = 3;
};
struct ValueLayout {
    static constexpr int64_t kBsh = 0;
    static constexpr int64_t kBnsd = 1;
    static constexpr int64_t kPaged = 2;
    static constexpr int64_t kPagedBnsd = 3;
};
}  // namespace values

// splits are worth their merge if they save one part in so many of the busiest core's work
constexpr int64_t kWorthwhilePart = 10;
constexpr int64_t kTilesOfEvenSplit = 2;  // score tiles of such a split, at least
constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses
constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t D = 0;  // head size of queries and keys
    int64_t attnMaskGiven = 0;  // 1 if attn_mask is passed
    int64_t pseShiftGiven = 0;  // 1 if pse_shift is passed
    int64_t quantScale2Given = 0;  // 1 if quant_scale2 is passed
    int64_t quantOffset2Given = 0;  // 1 if quant_offset2 is passed
    int64_t antiquantScaleGiven = 0;  // 1 if antiquant_scale is passed
    int64_t antiquantOffsetGiven = 0;  // 1 if antiquant_offset is passed
    int64_t blockTableGiven = 0;  // 1 if block_table is passed
    int64_t kvPaddingSizeGiven = 0;  // 1 if kv_padding_size is passed
    int64_t actualSeqLengthsCount = 0;  // entries of actualSeqLengths, 0 without it
    int64_t keySplit = 0;  // 1 if key is a list of one tensor a batch row
    int64_t valueSplit = 0;  // 1 if value is a list of one tensor a batch row
    int64_t kvN = 0;  // key/value heads
    int64_t N = 0;  // query heads
    int64_t B = 0;  // batch rows
    int64_t S = 0;  // key positions of a batch row
    int64_t cores = 0;  // cube cores of the device
    // whether all blocks start at once, so that they may wait for each other
    bool startTogether = false;
    float scale_value = 0;  // parameter scale_value
    int64_t keyLayout = 0;  // layout of key; 0: BSH, 1: BNSD, 2: paged, 3: paged BNSD
    int64_t valueLayout = 0;  // layout of value; 0: BSH, 1: BNSD, 2: paged, 3: paged BNSD
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
    IncreFlashAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline IncreFlashAttentionTiling OneBlock()
{
    IncreFlashAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// What a plan knows of a kernel: the constants of its schedule, 0 where it has none of a name.
struct Kernel {
    int64_t maxRows = 0;  // query rows of one task, at most
    int64_t tileKeys = 0;  // keys of one score tile
    int64_t paddedHeadSize = 0;  // head size this kernel is specialized on, padded to 16
    int64_t ring = 0;  // slots of a workspace ring of score or probability tiles, at most
};

// Cuts the rows into tasks and their keys into splits; the blocks that share them.
inline void PartitionWork(const Problem &problem, const Kernel &kernel,
    IncreFlashAttentionTiling &tiling)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    const int64_t keyTiles = CeilDiv(problem.S, kernel.tileKeys);  // score tiles of a row, at most
    // splits that give each core an item
    const int64_t splitsForAll = MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles));
    const int64_t tasksOfCore = CeilDiv(tiling.tasks, problem.cores);  // tasks of the busiest core
    // items of the busiest core if each task has 3 splits
    const int64_t thirdsOfCore = CeilDiv(tiling.tasks * 3, problem.cores);
    // whether 3 splits of each task even out the cores
    const bool thirdsAreEven =
        thirdsOfCore * kWorthwhilePart <= tasksOfCore * 3 * (kWorthwhilePart - 1)
            && keyTiles >= kTilesOfEvenSplit * 3;
    // items of the busiest core if each task has 2 splits
    const int64_t halvesOfCore = CeilDiv(tiling.tasks * 2, problem.cores);
    // whether 2 splits of each task even out the cores
    const bool halvesAreEven =
        halvesOfCore * kWorthwhilePart <= tasksOfCore * 2 * (kWorthwhilePart - 1)
            && keyTiles >= kTilesOfEvenSplit * 2;
    if (!problem.startTogether) {
        tiling.splits = 1;
    } else if (tiling.tasks <= problem.cores) {
        tiling.splits = splitsForAll;
    } else if (thirdsAreEven) {
        tiling.splits = 3;
    } else if (halvesAreEven) {
        tiling.splits = 2;
    } else {
        tiling.splits = 1;
    }
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
}

// Elements between neighbours along the axes of tensors, by layout.
inline void SetStrides(const Problem &problem, IncreFlashAttentionTiling &tiling)
{
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.attnMaskStrideB = problem.S;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
    switch (problem.keyLayout) {
        case values::KeyLayout::kBsh:
            tiling.keyStrideT = problem.kvN * problem.D;
            tiling.keyStrideK = problem.D;
            tiling.keyStrideB = problem.S * (problem.kvN * problem.D);
            break;
        case values::KeyLayout::kBnsd:
            tiling.keyStrideT = problem.D;
            tiling.keyStrideK = problem.S * problem.D;
            tiling.keyStrideB = problem.kvN * (problem.S * problem.D);
            break;
        default:
            break;
    }
    switch (problem.valueLayout) {
        case values::ValueLayout::kBsh:
            tiling.valueStrideT = problem.kvN * problem.D;
            tiling.valueStrideK = problem.D;
            tiling.valueStrideB = problem.S * (problem.kvN * problem.D);
            break;
        case values::ValueLayout::kBnsd:
            tiling.valueStrideT = problem.D;
            tiling.valueStrideK = problem.S * problem.D;
            tiling.valueStrideB = problem.kvN * (problem.S * problem.D);
            break;
        default:
            break;
    }
}

// Sizes and settings as kernels read them.
inline void SetScalars(const Problem &problem, IncreFlashAttentionTiling &tiling)
{
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
}

// Puts the tensors of the workspace one after the other, in bytes.
inline void PlaceWorkspace(const Kernel &kernel, IncreFlashAttentionTiling &tiling)
{
    using attndsl::RoundUp;
    // rows of all key splits, 0 without any
    const int64_t partialRows = tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0;
    tiling.partialMaxOffset = 0;
    // bytes of the row maxima of key splits
    const int64_t partialMaxBytes =
        RoundUp(partialRows * attndsl::kBlockLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.partialSumOffset = tiling.partialMaxOffset + partialMaxBytes;
    tiling.partialOutOffset = tiling.partialSumOffset + partialMaxBytes;
    // bytes of the weighted sums of key splits
    const int64_t partialOutBytes =
        RoundUp(partialRows * kernel.paddedHeadSize * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingOffset = tiling.partialOutOffset + partialOutBytes;
    tiling.scoreRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedHeadSize * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.workspaceBytes = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
}

// Whether blocks wait for each other: all start at once, or none.
inline bool BlocksWait([[maybe_unused]] const Problem &problem,
    [[maybe_unused]] const Kernel &kernel, const IncreFlashAttentionTiling &tiling)
{
    return tiling.splits > 1;
}

// The tiling data of a launch. Fields that a kernel does not read have a value, too, or 0.
inline IncreFlashAttentionTiling Tile(const Problem &problem, const Kernel &kernel)
{
    IncreFlashAttentionTiling tiling{};
    PartitionWork(problem, kernel, tiling);
    SetStrides(problem, tiling);
    SetScalars(problem, tiling);
    PlaceWorkspace(kernel, tiling);
    return tiling;
}

// What the plan knows of each kernel, in the order of the members of `Kernel`.
namespace kernels {
constexpr Kernel OfD64AttnMask()
{
    namespace schedule = incre_flash_attention_d64_attn_mask;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}
}  // namespace kernels

// The kernel that a problem is launched with.
struct Choice {
    IncreFlashAttentionTilingKey key{};
    Kernel kernel;
};

// Whether a kernel is generated for a problem; `choice` becomes the first that takes it.
inline bool SelectKernel(const Problem &problem, Choice &choice)
{
    using Key = IncreFlashAttentionTilingKey;
    // incre_flash_attention_d64_attn_mask: float16
    if (problem.queryDtype == values::QueryDtype::kFloat16 &&
        problem.D > 48 && problem.D <= 64 &&
        problem.attnMaskGiven != 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        (problem.kvPaddingSizeGiven == 0 || problem.actualSeqLengthsCount == 0) &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        choice.key = Key::kFloat16D64AttnMask;
        choice.kernel = kernels::OfD64AttnMask();
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
    IncreFlashAttentionTiling &tiling = plan.tiling;
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

}  // namespace incre_flash_attention_host

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_PLAN_H
