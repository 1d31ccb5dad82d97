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

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t headSize = 0;  // head size, D
    int64_t N = 0;  // size N of the contract
    int64_t headNum = 0;  // parameter headNum
    int64_t B = 0;  // size B of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t S1 = 0;  // size S1 of the contract
    int64_t BS = 0;  // size BS of the contract
    int64_t S2 = 0;  // size S2 of the contract
    float qkScale = 0;  // parameter qkScale
    int64_t D = 0;  // size D of the contract
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
    RelayAttentionTilingKey key;
    int64_t maxRows;  // query rows of one task, at most
    int64_t tileKeys;  // keys of one score tile
    int64_t paddedHeadSize;  // head size this kernel is specialized on, padded to 16
    int64_t ring;  // workspace slots between cube and vector cores
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
    tiling.splitsKey =
        tiling.tasksKey > problem.cores
            ? (CeilDiv(tiling.tasksKey * 3, problem.cores) * 10
                <= CeilDiv(tiling.tasksKey, problem.cores) * 3 * 9
                && CeilDiv(problem.S1, kernel.tileKeys) >= 6
                ? 3
                : (CeilDiv(tiling.tasksKey * 2, problem.cores) * 10
                    <= CeilDiv(tiling.tasksKey, problem.cores) * 2 * 9
                    && CeilDiv(problem.S1, kernel.tileKeys) >= 4
                    ? 2
                    : 1))
            : MaxOf(1,
                MinOf(problem.cores / MaxOf(tiling.tasksKey, 1),
                    CeilDiv(problem.S1, kernel.tileKeys)));
    tiling.itemsKey = tiling.tasksKey * tiling.splitsKey;
    tiling.rowTotal = problem.B * problem.headNum;
    tiling.batchRows = problem.B;
    tiling.membersPerTask = MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1));
    tiling.memberTiles = CeilDiv(tiling.batchRows, tiling.membersPerTask);
    tiling.rowsPerTaskKeyShare = tiling.headsPerTask * tiling.membersPerTask;
    tiling.tasksKeyShare = problem.BS * tiling.kvHeads * tiling.headTiles * tiling.memberTiles;
    tiling.splitsKeyShare =
        tiling.tasksKeyShare > problem.cores
            ? (CeilDiv(tiling.tasksKeyShare * 3, problem.cores) * 10
                <= CeilDiv(tiling.tasksKeyShare, problem.cores) * 3 * 9
                && CeilDiv(problem.S2, kernel.tileKeys) >= 6
                ? 3
                : (CeilDiv(tiling.tasksKeyShare * 2, problem.cores) * 10
                    <= CeilDiv(tiling.tasksKeyShare, problem.cores) * 2 * 9
                    && CeilDiv(problem.S2, kernel.tileKeys) >= 4
                    ? 2
                    : 1))
            : MaxOf(1,
                MinOf(problem.cores / MaxOf(tiling.tasksKeyShare, 1),
                    CeilDiv(problem.S2, kernel.tileKeys)));
    tiling.itemsKeyShare = tiling.tasksKeyShare * tiling.splitsKeyShare;
    tiling.blocks =
        MaxOf(1, MinOf(MaxOf(MaxOf(1, tiling.itemsKey), tiling.itemsKeyShare), problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.queryHeads = problem.headNum;
    tiling.headDim = problem.D;
    tiling.keyStrideT = problem.N * problem.D;
    tiling.keyStrideK = problem.D;
    tiling.valueStrideT = problem.N * problem.D;
    tiling.valueStrideK = problem.D;
    tiling.keyCapacityKey = problem.S1;
    tiling.queryStrideB = problem.headNum * problem.D;
    tiling.queryStrideN = problem.D;
    tiling.keyShareStrideU = problem.N * problem.D;
    tiling.keyShareStrideK = problem.D;
    tiling.valueShareStrideU = problem.N * problem.D;
    tiling.valueShareStrideK = problem.D;
    tiling.keyCapacityKeyShare = problem.S2;
    tiling.outStrideB = problem.headNum * problem.D;
    tiling.outStrideN = problem.D;
    tiling.partialMaxKeyOffset = 0;
    tiling.partialSumKeyOffset =
        tiling.partialMaxKeyOffset + RoundUp(tiling.splitsKey * tiling.rowTotal * 8 * 4, 512);
    tiling.partialOutKeyOffset =
        tiling.partialSumKeyOffset + RoundUp(tiling.splitsKey * tiling.rowTotal * 8 * 4, 512);
    tiling.scoreRingKeyOffset =
        tiling.partialOutKeyOffset
            + RoundUp(tiling.splitsKey * tiling.rowTotal * kernel.paddedHeadSize * 4, 512);
    tiling.scoreRingKeyPart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKey * kernel.tileKeys * 4, 512);
    tiling.probRingKeyOffset = tiling.scoreRingKeyOffset + tiling.scoreRingKeyPart * tiling.blocks;
    tiling.probRingKeyPart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKey * kernel.tileKeys * 2, 512);
    tiling.outRingKeyOffset = tiling.probRingKeyOffset + tiling.probRingKeyPart * tiling.blocks;
    tiling.outRingKeyPart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKey * kernel.paddedHeadSize * 4, 512);
    tiling.partialMaxKeyShareOffset =
        tiling.outRingKeyOffset + tiling.outRingKeyPart * tiling.blocks;
    tiling.partialSumKeyShareOffset =
        tiling.partialMaxKeyShareOffset
            + RoundUp(tiling.splitsKeyShare * tiling.rowTotal * 8 * 4, 512);
    tiling.partialOutKeyShareOffset =
        tiling.partialSumKeyShareOffset
            + RoundUp(tiling.splitsKeyShare * tiling.rowTotal * 8 * 4, 512);
    tiling.scoreRingKeyShareOffset =
        tiling.partialOutKeyShareOffset
            + RoundUp(tiling.splitsKeyShare * tiling.rowTotal * kernel.paddedHeadSize * 4, 512);
    tiling.scoreRingKeySharePart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKeyShare * kernel.tileKeys * 4, 512);
    tiling.probRingKeyShareOffset =
        tiling.scoreRingKeyShareOffset + tiling.scoreRingKeySharePart * tiling.blocks;
    tiling.probRingKeySharePart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKeyShare * kernel.tileKeys * 2, 512);
    tiling.outRingKeyShareOffset =
        tiling.probRingKeyShareOffset + tiling.probRingKeySharePart * tiling.blocks;
    tiling.outRingKeySharePart =
        RoundUp(kernel.ring * tiling.rowsPerTaskKeyShare * kernel.paddedHeadSize * 4, 512);
    tiling.workspaceBytes =
        tiling.outRingKeyShareOffset + tiling.outRingKeySharePart * tiling.blocks;
    return tiling;
}

// A launch of a kernel. `waits`: its blocks wait for each other.
inline Plan PlanOf(const Kernel &kernel, const RelayAttentionTiling &tiling, bool waits)
{
    Plan plan{static_cast<uint64_t>(kernel.key), waits ? kBatchMode : 0, tiling};
    plan.tiling.key = plan.key;
    return plan;
}

// Selects the kernel for a problem and plans its launch. `empty`: there is nothing to compute; one
// block starts and ends.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    using Key = RelayAttentionTilingKey;
    // relay_attention_float16_d128
    if (problem.queryDtype == values::QueryDtype::kFloat16 &&
        problem.headSize > 112 && problem.headSize <= 128) {
        namespace schedule = relay_attention_d128;
        constexpr Kernel kernel{
            Key::kFloat16D128, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const RelayAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(kernel, tiling, true);
    }
    // relay_attention_bfloat16_d128
    if (problem.queryDtype == values::QueryDtype::kBfloat16 &&
        problem.headSize > 112 && problem.headSize <= 128) {
        namespace schedule = relay_attention_d128;
        constexpr Kernel kernel{
            Key::kBfloat16D128, schedule::kMaxRows, schedule::kTileKeys,
            schedule::kPaddedHeadSize, schedule::kRing};
        const RelayAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(kernel, tiling, true);
    }
    return Plan{};
}

}  // namespace relay_attention_host

#endif  // ATTNDSL_RELAY_ATTENTION_PLAN_H
