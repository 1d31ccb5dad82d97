// How relay_attention is launched: which kernel, how many blocks, which workspace. Plain C++17, no
// CANN headers.
#ifndef ATTNDSL_RELAY_ATTENTION_PLAN_H
#define ATTNDSL_RELAY_ATTENTION_PLAN_H

#include <cstdint>

#include "../op_kernel/relay_attention_d128_schedule.h"
#include "../op_kernel/relay_attention_tiling.h"
#include "arithmetic.h"

namespace relay_attention_host {

// Meanings of the numbers in a problem.
namespace values {
struct QueryDtype {
    static constexpr int64_t kFloat16 = 0;
    static constexpr int64_t kBfloat16 = 1;
};
}  // namespace values

constexpr int64_t kTenths = 10;  // the work of the busiest core without splits, in its tenths
// tenths that splits which even out the cores leave it, at most
constexpr int64_t kTenthsWithSplits = 9;
constexpr int64_t kTilesOfEvenSplit = 2;  // score tiles of such a split, at least
// lanes of a partial maximum or sum: a 32-byte block, so that any row can be addressed
constexpr int64_t kStatisticLanes = 8;
constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses
constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t D = 0;  // head size, D
    int64_t N = 0;  // size N of the contract
    int64_t headNum = 0;  // parameter headNum
    int64_t B = 0;  // size B of the contract
    int64_t S1 = 0;  // size S1 of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t BS = 0;  // size BS of the contract
    int64_t S2 = 0;  // size S2 of the contract
    float qkScale = 0;  // parameter qkScale
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem. `scheduleMode`:
// kBatchMode if blocks wait for each other. Blocks and workspace are in `tiling`.
constexpr uint32_t kBatchMode = 1;  // all blocks start at once, or none
struct Plan {
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    RelayAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline RelayAttentionTiling OneBlock()
{
    RelayAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// The differences between the launches of kernels. A form selects one of several expressions of a
// field.
struct Kernel {
    int64_t maxRows;  // query rows of one task, at most
    int64_t tileKeys;  // keys of one score tile
    int64_t ring;  // workspace slots between cube and vector cores
    int64_t paddedHeadSize;  // head size this kernel is specialized on, padded to 16
};

// The tiling data of a launch; a kernel reads the fields that it needs.
inline RelayAttentionTiling Tile(const Problem &problem, const Kernel &kernel)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    using attndsl::RoundUp;
    RelayAttentionTiling tiling{};
    tiling.kvHeads = problem.N;
    tiling.group = problem.headNum / problem.N;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTaskKey = tiling.headsPerTask;
    tiling.tasksKey = problem.B * tiling.kvHeads * tiling.headTiles;
    // score tiles of a row, at most
    const int64_t keyTilesKey = CeilDiv(problem.S1, kernel.tileKeys);
    // score tiles of the busiest core, an item a core
    const int64_t tilesOfCoreKey =
        CeilDiv(
            tiling.tasksKey * MaxOf(1,
                MinOf(problem.cores / MaxOf(tiling.tasksKey, 1), keyTilesKey)),
            problem.cores) * CeilDiv(keyTilesKey,
            MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasksKey, 1), keyTilesKey)));
    // splits of a task if a core has 2 items
    const int64_t twoSplitsKey = 2 * problem.cores / MaxOf(tiling.tasksKey, 1);
    // splits of a task if a core has 3 items
    const int64_t threeSplitsKey = 3 * problem.cores / MaxOf(tiling.tasksKey, 1);
    // tasks of the busiest core
    const int64_t tasksOfCoreKey = CeilDiv(tiling.tasksKey, problem.cores);
    // items of the busiest core if each task has 3 splits
    const int64_t thirdsOfCoreKey = CeilDiv(tiling.tasksKey * 3, problem.cores);
    // items of the busiest core if each task has 2 splits
    const int64_t halvesOfCoreKey = CeilDiv(tiling.tasksKey * 2, problem.cores);
    tiling.splitsKey =
        tiling.tasksKey > problem.cores
            ? (thirdsOfCoreKey * kTenths <= tasksOfCoreKey * 3 * kTenthsWithSplits
                && keyTilesKey >= kTilesOfEvenSplit * 3
                ? 3
                : (halvesOfCoreKey * kTenths <= tasksOfCoreKey * 2 * kTenthsWithSplits
                    && keyTilesKey >= kTilesOfEvenSplit * 2
                    ? 2
                    : 1))
            : (twoSplitsKey <= keyTilesKey
                && CeilDiv(tiling.tasksKey * twoSplitsKey, problem.cores) * CeilDiv(keyTilesKey,
                    twoSplitsKey) * kTenths <= tilesOfCoreKey * kTenthsWithSplits
                ? twoSplitsKey
                : (threeSplitsKey <= keyTilesKey
                    && CeilDiv(tiling.tasksKey * threeSplitsKey,
                        problem.cores) * CeilDiv(keyTilesKey,
                        threeSplitsKey) * kTenths <= tilesOfCoreKey * kTenthsWithSplits
                    ? threeSplitsKey
                    : MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasksKey, 1), keyTilesKey))));
    tiling.itemsKey = tiling.tasksKey * tiling.splitsKey;
    tiling.rowTotal = problem.B * problem.headNum;
    tiling.batchRows = problem.B;
    tiling.membersPerTask =
        problem.BS * problem.N * CeilDiv(problem.B,
            MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))) * CeilDiv(problem.S2,
            kernel.tileKeys) < 2 * kernel.ring * problem.cores
            ? MaxOf(1, 128 / MaxOf(tiling.headsPerTask, 1))
            : MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1));
    tiling.memberTiles = CeilDiv(tiling.batchRows, tiling.membersPerTask);
    tiling.rowsPerTaskKeyShare = tiling.headsPerTask * tiling.membersPerTask;
    tiling.tasksKeyShare = problem.BS * tiling.kvHeads * tiling.headTiles * tiling.memberTiles;
    // score tiles of a row, at most
    const int64_t keyTilesKeyShare = CeilDiv(problem.S2, kernel.tileKeys);
    // score tiles of the busiest core, an item a core
    const int64_t tilesOfCoreKeyShare =
        CeilDiv(
            tiling.tasksKeyShare * MaxOf(1,
                MinOf(problem.cores / MaxOf(tiling.tasksKeyShare, 1), keyTilesKeyShare)),
            problem.cores) * CeilDiv(keyTilesKeyShare,
            MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasksKeyShare, 1), keyTilesKeyShare)));
    // splits of a task if a core has 2 items
    const int64_t twoSplitsKeyShare = 2 * problem.cores / MaxOf(tiling.tasksKeyShare, 1);
    // splits of a task if a core has 3 items
    const int64_t threeSplitsKeyShare = 3 * problem.cores / MaxOf(tiling.tasksKeyShare, 1);
    // tasks of the busiest core
    const int64_t tasksOfCoreKeyShare = CeilDiv(tiling.tasksKeyShare, problem.cores);
    // items of the busiest core if each task has 3 splits
    const int64_t thirdsOfCoreKeyShare = CeilDiv(tiling.tasksKeyShare * 3, problem.cores);
    // items of the busiest core if each task has 2 splits
    const int64_t halvesOfCoreKeyShare = CeilDiv(tiling.tasksKeyShare * 2, problem.cores);
    tiling.splitsKeyShare =
        tiling.tasksKeyShare > problem.cores
            ? (thirdsOfCoreKeyShare * kTenths <= tasksOfCoreKeyShare * 3 * kTenthsWithSplits
                && keyTilesKeyShare >= kTilesOfEvenSplit * 3
                ? 3
                : (halvesOfCoreKeyShare * kTenths <= tasksOfCoreKeyShare * 2 * kTenthsWithSplits
                    && keyTilesKeyShare >= kTilesOfEvenSplit * 2
                    ? 2
                    : 1))
            : (twoSplitsKeyShare <= keyTilesKeyShare
                && CeilDiv(tiling.tasksKeyShare * twoSplitsKeyShare,
                    problem.cores) * CeilDiv(keyTilesKeyShare,
                    twoSplitsKeyShare) * kTenths <= tilesOfCoreKeyShare * kTenthsWithSplits
                ? twoSplitsKeyShare
                : (threeSplitsKeyShare <= keyTilesKeyShare
                    && CeilDiv(tiling.tasksKeyShare * threeSplitsKeyShare,
                        problem.cores) * CeilDiv(keyTilesKeyShare,
                        threeSplitsKeyShare) * kTenths <= tilesOfCoreKeyShare * kTenthsWithSplits
                    ? threeSplitsKeyShare
                    : MaxOf(1,
                        MinOf(problem.cores / MaxOf(tiling.tasksKeyShare, 1), keyTilesKeyShare))));
    tiling.itemsKeyShare = tiling.tasksKeyShare * tiling.splitsKeyShare;
    tiling.blocks =
        MaxOf(1, MinOf(MaxOf(MaxOf(1, tiling.itemsKey), tiling.itemsKeyShare), problem.cores));
    tiling.qkScale = problem.qkScale;
    // rows of all key splits, 0 without any
    const int64_t partialRowsKey = tiling.splitsKey * tiling.rowTotal;
    tiling.queryHeads = problem.headNum;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.N * problem.D;
    tiling.keyStrideK = problem.D;
    tiling.valueStrideT = problem.N * problem.D;
    tiling.valueStrideK = problem.D;
    tiling.keyCapacityKey = problem.S1;
    tiling.queryStrideB = problem.headNum * problem.D;
    tiling.queryStrideN = problem.D;
    // rows of all key splits, 0 without any
    const int64_t partialRowsKeyShare = tiling.splitsKeyShare * tiling.rowTotal;
    tiling.keyShareStrideU = problem.N * problem.D;
    tiling.keyShareStrideK = problem.D;
    tiling.valueShareStrideU = problem.N * problem.D;
    tiling.valueShareStrideK = problem.D;
    tiling.keyCapacityKeyShare = problem.S2;
    tiling.outStrideB = problem.headNum * problem.D;
    tiling.outStrideN = problem.D;
    tiling.partialMaxKeyOffset = 0;
    tiling.partialSumKeyOffset =
        tiling.partialMaxKeyOffset
            + RoundUp(partialRowsKey * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.partialOutKeyOffset =
        tiling.partialSumKeyOffset
            + RoundUp(partialRowsKey * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingKeyOffset =
        tiling.partialOutKeyOffset
            + RoundUp(partialRowsKey * kernel.paddedHeadSize * kBytesOfFloat32,
                kWorkspaceAlignment);
    tiling.scoreRingKeyPart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKey * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.probRingKeyOffset = tiling.scoreRingKeyOffset + tiling.scoreRingKeyPart * tiling.blocks;
    tiling.probRingKeyPart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKey * kernel.tileKeys * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.outRingKeyOffset = tiling.probRingKeyOffset + tiling.probRingKeyPart * tiling.blocks;
    tiling.outRingKeyPart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKey * kernel.paddedHeadSize * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.partialMaxKeyShareOffset =
        tiling.outRingKeyOffset + tiling.outRingKeyPart * tiling.blocks;
    tiling.partialSumKeyShareOffset =
        tiling.partialMaxKeyShareOffset
            + RoundUp(partialRowsKeyShare * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.partialOutKeyShareOffset =
        tiling.partialSumKeyShareOffset
            + RoundUp(partialRowsKeyShare * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingKeyShareOffset =
        tiling.partialOutKeyShareOffset
            + RoundUp(partialRowsKeyShare * kernel.paddedHeadSize * kBytesOfFloat32,
                kWorkspaceAlignment);
    tiling.scoreRingKeySharePart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKeyShare * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.probRingKeyShareOffset =
        tiling.scoreRingKeyShareOffset + tiling.scoreRingKeySharePart * tiling.blocks;
    tiling.probRingKeySharePart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKeyShare * kernel.tileKeys * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.outRingKeyShareOffset =
        tiling.probRingKeyShareOffset + tiling.probRingKeySharePart * tiling.blocks;
    tiling.outRingKeySharePart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKeyShare * kernel.paddedHeadSize * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.workspaceBytes =
        tiling.outRingKeyShareOffset + tiling.outRingKeySharePart * tiling.blocks;
    return tiling;
}

// A launch of the kernel with this tiling key. `waits`: its blocks wait for each other.
inline Plan PlanOf(RelayAttentionTilingKey key, const RelayAttentionTiling &tiling, bool waits)
{
    Plan plan{static_cast<uint64_t>(key), waits ? kBatchMode : 0, tiling};
    plan.tiling.key = plan.key;
    return plan;
}

// Selects the kernel for a problem and plans its launch. `empty`: there is nothing to compute; one
// block starts and ends.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    using Key = RelayAttentionTilingKey;
    // relay_attention_d128: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.D > 112 && problem.D <= 128) {
        namespace schedule = relay_attention_d128;
        constexpr Kernel kernel{
            schedule::kMaxRows, schedule::kTileKeys, schedule::kRing, schedule::kPaddedHeadSize};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128
                : Key::kBfloat16D128;
        const RelayAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, true);
    }
    return Plan{};
}

}  // namespace relay_attention_host

#endif  // ATTNDSL_RELAY_ATTENTION_PLAN_H
