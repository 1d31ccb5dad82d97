// How relay_attention is launched: which kernel, how many blocks, which workspace. Plain C++17, no
// CANN headers.
#ifndef ATTNDSL_RELAY_ATTENTION_PLAN_H
#define ATTNDSL_RELAY_ATTENTION_PLAN_H

#include <cstdint>

#include "../op_kernel/relay_attention_d128_schedule.h"
#include "../op_kernel/relay_attention_tiling.h"
#include "arithmetic.h"

namespace relay_attention_host {

// Codes of layouts, dtypes and parameters in a problem.
namespace values {
struct QueryDtype {
    static constexpr int64_t kFloat16 = 0;
    static constexpr int64_t kBfloat16 = 1;
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
    int64_t N = 0;  // key/value heads
    int64_t headNum = 0;  // parameter headNum
    int64_t B = 0;  // batch rows
    int64_t S1 = 0;  // key positions of a batch row
    int64_t cores = 0;  // cube cores of the device
    // whether all blocks start at once, so that they may wait for each other
    bool startTogether = false;
    int64_t BS = 0;  // groups of batch rows that share keys
    int64_t S2 = 0;  // stored key rows, of a group or of all batch rows
    float qkScale = 0;  // parameter qkScale
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
    RelayAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline RelayAttentionTiling OneBlock()
{
    RelayAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// What a plan knows of a kernel: the constants of its schedule, 0 where it has none of a name.
struct Kernel {
    int64_t maxRows = 0;  // query rows of one task, at most
    int64_t tileKeys = 0;  // keys of one score tile
    int64_t ring = 0;  // slots of a workspace ring of score or probability tiles, at most
    int64_t rowsPerBand = 0;  // query rows of a band of a task's rows
    int64_t paddedHeadSize = 0;  // head size this kernel is specialized on, padded to 16
};

// Parts the keys of a row are split into, of one attention.
inline int64_t SplitsOf(const Problem &problem, int64_t tasks, int64_t keyTiles)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    // splits that give each core an item
    const int64_t splitsForAll = MaxOf(1, MinOf(problem.cores / MaxOf(tasks, 1), keyTiles));
    // score tiles of the busiest core, an item a core
    const int64_t tilesOfCore =
        CeilDiv(tasks * splitsForAll, problem.cores) * CeilDiv(keyTiles, splitsForAll);
    // splits of a task if a core has 2 items
    const int64_t twoSplits = MaxOf(1, 2 * problem.cores / MaxOf(tasks, 1));
    // score tiles of the busiest core with them
    const int64_t twoTilesOfCore =
        CeilDiv(tasks * twoSplits, problem.cores) * CeilDiv(keyTiles, twoSplits);
    // whether they even out the cores
    const bool twoAreWorth =
        twoSplits <= keyTiles
            && twoTilesOfCore * kWorthwhilePart <= tilesOfCore * (kWorthwhilePart - 1);
    // splits of a task if a core has 3 items
    const int64_t threeSplits = MaxOf(1, 3 * problem.cores / MaxOf(tasks, 1));
    // score tiles of the busiest core with them
    const int64_t threeTilesOfCore =
        CeilDiv(tasks * threeSplits, problem.cores) * CeilDiv(keyTiles, threeSplits);
    // whether they even out the cores
    const bool threeAreWorth =
        threeSplits <= keyTiles
            && threeTilesOfCore * kWorthwhilePart <= tilesOfCore * (kWorthwhilePart - 1);
    const int64_t tasksOfCore = CeilDiv(tasks, problem.cores);  // tasks of the busiest core
    // items of the busiest core if each task has 3 splits
    const int64_t thirdsOfCore = CeilDiv(tasks * 3, problem.cores);
    // whether 3 splits of each task even out the cores
    const bool thirdsAreEven =
        thirdsOfCore * kWorthwhilePart <= tasksOfCore * 3 * (kWorthwhilePart - 1)
            && keyTiles >= kTilesOfEvenSplit * 3;
    // items of the busiest core if each task has 2 splits
    const int64_t halvesOfCore = CeilDiv(tasks * 2, problem.cores);
    // whether 2 splits of each task even out the cores
    const bool halvesAreEven =
        halvesOfCore * kWorthwhilePart <= tasksOfCore * 2 * (kWorthwhilePart - 1)
            && keyTiles >= kTilesOfEvenSplit * 2;
    if (!problem.startTogether) {
        return 1;
    } else if (tasks > problem.cores) {
        if (thirdsAreEven) {
            return 3;
        } else if (halvesAreEven) {
            return 2;
        } else {
            return 1;
        }
    } else if (twoAreWorth) {
        return twoSplits;
    } else if (threeAreWorth) {
        return threeSplits;
    } else {
        return splitsForAll;
    }
}

// Cuts the rows into tasks and their keys into splits; the blocks that share them.
inline void PartitionWork(const Problem &problem, const Kernel &kernel,
    RelayAttentionTiling &tiling)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    tiling.kvHeads = problem.N;
    tiling.group = problem.headNum / problem.N;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    const int64_t rowsPerTaskKey = tiling.headsPerTask;  // query rows that a slot of the rings has
    tiling.tasksKey = problem.B * tiling.kvHeads * tiling.headTiles;
    // score tiles of a row, at most
    const int64_t keyTilesKey = CeilDiv(problem.S1, kernel.tileKeys);
    tiling.splitsKey = SplitsOf(problem, tiling.tasksKey, keyTilesKey);
    tiling.itemsKey = tiling.tasksKey * tiling.splitsKey;
    tiling.rowTotal = problem.B * problem.headNum;
    tiling.batchRows = problem.B;
    // batch rows of a task of several bands of rows
    const int64_t membersOfLargeTask = MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1));
    // score tiles of a row, at most
    const int64_t keyTilesKeyShare = CeilDiv(problem.S2, kernel.tileKeys);
    // score tiles of all such tasks, a row of heads each
    const int64_t tilesOfLargeTasks =
        problem.BS * problem.N * CeilDiv(problem.B, membersOfLargeTask) * keyTilesKeyShare;
    tiling.membersPerTask =
        tilesOfLargeTasks < 2 * kernel.ring * problem.cores
            ? MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1))
            : membersOfLargeTask;
    tiling.memberTiles = CeilDiv(tiling.batchRows, tiling.membersPerTask);
    // query rows that a slot of the rings has
    const int64_t rowsPerTaskKeyShare = tiling.headsPerTask * tiling.membersPerTask;
    tiling.tasksKeyShare = problem.BS * tiling.kvHeads * tiling.headTiles * tiling.memberTiles;
    tiling.splitsKeyShare = SplitsOf(problem, tiling.tasksKeyShare, keyTilesKeyShare);
    tiling.itemsKeyShare = tiling.tasksKeyShare * tiling.splitsKeyShare;
    tiling.rowsPerTask = MaxOf(rowsPerTaskKey, rowsPerTaskKeyShare);
    tiling.blocks =
        MaxOf(1, MinOf(MaxOf(MaxOf(1, tiling.itemsKey), tiling.itemsKeyShare), problem.cores));
}

// Elements between neighbours along the axes of tensors, by layout.
inline void SetStrides(const Problem &problem, RelayAttentionTiling &tiling)
{
    tiling.keyStrideT = problem.N * problem.D;
    tiling.keyStrideK = problem.D;
    tiling.valueStrideT = problem.N * problem.D;
    tiling.valueStrideK = problem.D;
    tiling.queryStrideB = problem.headNum * problem.D;
    tiling.queryStrideN = problem.D;
    tiling.keyShareStrideU = problem.N * problem.D;
    tiling.keyShareStrideK = problem.D;
    tiling.valueShareStrideU = problem.N * problem.D;
    tiling.valueShareStrideK = problem.D;
    tiling.outStrideB = problem.headNum * problem.D;
    tiling.outStrideN = problem.D;
}

// Sizes and settings as kernels read them.
inline void SetScalars(const Problem &problem, const Kernel &kernel, RelayAttentionTiling &tiling)
{
    using attndsl::MinOf;
    const int64_t rowsPerTaskKey = tiling.headsPerTask;  // query rows that a slot of the rings has
    tiling.qkScale = problem.qkScale;
    tiling.queryHeads = problem.headNum;
    tiling.headDim = problem.D;
    tiling.keyCapacityKey = problem.S1;
    tiling.keyCapacityKeyShare = problem.S2;
    tiling.warmKeys = MinOf(kernel.tileKeys, problem.S2);
    tiling.warmRows = tiling.itemsKeyShare > 0 ? tiling.rowsPerTask - rowsPerTaskKey : 0;
}

// Puts the tensors of the workspace one after the other, in bytes.
inline void PlaceWorkspace(const Kernel &kernel, RelayAttentionTiling &tiling)
{
    using attndsl::RoundUp;
    // rows of all key splits, 0 without any
    const int64_t partialRowsKey = tiling.splitsKey * tiling.rowTotal;
    // rows of all key splits, 0 without any
    const int64_t partialRowsKeyShare = tiling.splitsKeyShare * tiling.rowTotal;
    tiling.partialMaxKeyOffset = 0;
    // bytes of the row maxima of key splits
    const int64_t partialMaxKeyBytes =
        RoundUp(partialRowsKey * attndsl::kBlockLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.partialSumKeyOffset = tiling.partialMaxKeyOffset + partialMaxKeyBytes;
    tiling.partialOutKeyOffset = tiling.partialSumKeyOffset + partialMaxKeyBytes;
    // bytes of the weighted sums of key splits
    const int64_t partialOutKeyBytes =
        RoundUp(partialRowsKey * kernel.paddedHeadSize * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingOffset = tiling.partialOutKeyOffset + partialOutKeyBytes;
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
    tiling.partialMaxKeyShareOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    // bytes of the row maxima of key splits
    const int64_t partialMaxKeyShareBytes =
        RoundUp(partialRowsKeyShare * attndsl::kBlockLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.partialSumKeyShareOffset = tiling.partialMaxKeyShareOffset + partialMaxKeyShareBytes;
    tiling.partialOutKeyShareOffset = tiling.partialSumKeyShareOffset + partialMaxKeyShareBytes;
    // bytes of the weighted sums of key splits
    const int64_t partialOutKeyShareBytes =
        RoundUp(partialRowsKeyShare * kernel.paddedHeadSize * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.workspaceBytes = tiling.partialOutKeyShareOffset + partialOutKeyShareBytes;
}

// Whether blocks wait for each other: all start at once, or none.
inline bool BlocksWait([[maybe_unused]] const Problem &problem,
    [[maybe_unused]] const Kernel &kernel, [[maybe_unused]] const RelayAttentionTiling &tiling)
{
    return true;
}

// The tiling data of a launch. Fields that a kernel does not read have a value, too, or 0.
inline RelayAttentionTiling Tile(const Problem &problem, const Kernel &kernel)
{
    RelayAttentionTiling tiling{};
    PartitionWork(problem, kernel, tiling);
    SetStrides(problem, tiling);
    SetScalars(problem, kernel, tiling);
    PlaceWorkspace(kernel, tiling);
    return tiling;
}

// What the plan knows of each kernel, in the order of the members of `Kernel`.
namespace kernels {
constexpr Kernel OfD128()
{
    namespace schedule = relay_attention_d128;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kRing, schedule::kRowsPerBand,
        schedule::kPaddedHeadSize};
}
}  // namespace kernels

// The kernel that a problem is launched with.
struct Choice {
    RelayAttentionTilingKey key{};
    Kernel kernel;
};

// Whether a kernel is generated for a problem; `choice` becomes the first that takes it.
inline bool SelectKernel(const Problem &problem, Choice &choice)
{
    using Key = RelayAttentionTilingKey;
    // relay_attention_d128: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.D > 112 && problem.D <= 128) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128
                : Key::kBfloat16D128;
        choice.kernel = kernels::OfD128();
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
    RelayAttentionTiling &tiling = plan.tiling;
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

}  // namespace relay_attention_host

#endif  // ATTNDSL_RELAY_ATTENTION_PLAN_H
