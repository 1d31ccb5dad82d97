// How relay_attention is launched: which kernel, how many blocks, which workspace. Plain C++17, no
// CANN headers.
#ifndef ATTNDSL_RELAY_ATTENTION_PLAN_H
#define ATTNDSL_RELAY_ATTENTION_PLAN_H

#include <cstdint>

#include "../op_kernel/relay_attention_tiling.h"
#include "arithmetic.h"

namespace relay_attention_host {

// What numbers of a problem stand for.
namespace values {
struct QueryDtype {
    static constexpr int64_t kFloat16 = 0;
    static constexpr int64_t kBfloat16 = 1;
};
}  // namespace values

// What the launch depends on.
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

// A launch. `key` tells the kernel, 0 if none is generated for the problem; `scheduleMode` 1:
// blocks wait for each
// other, so all of them have to start together. Blocks and workspace are in `tiling`.
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

// What the launches of the kernels differ in. A form tells which of several expressions some fields
// have.
struct Kernel {
    RelayAttentionTilingKey key;
    uint32_t scheduleMode;
};

// The tiling data of a launch; a kernel reads the fields that it needs.
inline RelayAttentionTiling Tile(const Problem &problem, [[maybe_unused]] const Kernel &kernel)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    using attndsl::RoundUp;
    RelayAttentionTiling tiling{};
    tiling.kvHeads = problem.N;
    tiling.group = problem.headNum / problem.N;
    tiling.headsPerTask = MinOf(tiling.group, 128);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTaskKey = tiling.headsPerTask;
    tiling.tasksKey = problem.B * tiling.kvHeads * tiling.headTiles;
    tiling.splitsKey =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasksKey, 1), CeilDiv(problem.S1, 512)));
    tiling.itemsKey = tiling.tasksKey * tiling.splitsKey;
    tiling.rowTotal = problem.B * problem.headNum;
    tiling.batchRows = problem.B;
    tiling.membersPerTask = MaxOf(1, 128 / MaxOf(tiling.headsPerTask, 1));
    tiling.memberTiles = CeilDiv(tiling.batchRows, tiling.membersPerTask);
    tiling.rowsPerTaskKeyShare = tiling.headsPerTask * tiling.membersPerTask;
    tiling.tasksKeyShare = problem.BS * tiling.kvHeads * tiling.headTiles * tiling.memberTiles;
    tiling.splitsKeyShare =
        MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasksKeyShare, 1), CeilDiv(problem.S2, 512)));
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
        tiling.partialOutKeyOffset + RoundUp(tiling.splitsKey * tiling.rowTotal * 128 * 4, 512);
    tiling.scoreRingKeyPart = RoundUp(3 * tiling.rowsPerTaskKey * 512 * 4, 512);
    tiling.probRingKeyOffset = tiling.scoreRingKeyOffset + tiling.scoreRingKeyPart * tiling.blocks;
    tiling.probRingKeyPart = RoundUp(3 * tiling.rowsPerTaskKey * 512 * 2, 512);
    tiling.outRingKeyOffset = tiling.probRingKeyOffset + tiling.probRingKeyPart * tiling.blocks;
    tiling.outRingKeyPart = RoundUp(3 * tiling.rowsPerTaskKey * 128 * 4, 512);
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
            + RoundUp(tiling.splitsKeyShare * tiling.rowTotal * 128 * 4, 512);
    tiling.scoreRingKeySharePart = RoundUp(3 * tiling.rowsPerTaskKeyShare * 512 * 4, 512);
    tiling.probRingKeyShareOffset =
        tiling.scoreRingKeyShareOffset + tiling.scoreRingKeySharePart * tiling.blocks;
    tiling.probRingKeySharePart = RoundUp(3 * tiling.rowsPerTaskKeyShare * 512 * 2, 512);
    tiling.outRingKeyShareOffset =
        tiling.probRingKeyShareOffset + tiling.probRingKeySharePart * tiling.blocks;
    tiling.outRingKeySharePart = RoundUp(3 * tiling.rowsPerTaskKeyShare * 128 * 4, 512);
    tiling.workspaceBytes =
        tiling.outRingKeyShareOffset + tiling.outRingKeySharePart * tiling.blocks;
    return tiling;
}

// A launch of a kernel, whose tiling data is `tiling`.
inline Plan PlanOf(const Kernel &kernel, const RelayAttentionTiling &tiling)
{
    Plan plan{static_cast<uint64_t>(kernel.key), kernel.scheduleMode, tiling};
    plan.tiling.key = plan.key;
    return plan;
}

// The kernel that takes a problem, and its launch. `empty`: nothing is to be computed, and one
// block finds that out.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    using Key = RelayAttentionTilingKey;
    // relay_attention_float16_d128
    if (problem.queryDtype == values::QueryDtype::kFloat16 &&
        problem.headSize > 112 && problem.headSize <= 128) {
        constexpr Kernel kernel{
            Key::kFloat16D128, 1};
        return PlanOf(kernel, empty ? OneBlock() : Tile(problem, kernel));
    }
    // relay_attention_bfloat16_d128
    if (problem.queryDtype == values::QueryDtype::kBfloat16 &&
        problem.headSize > 112 && problem.headSize <= 128) {
        constexpr Kernel kernel{
            Key::kBfloat16D128, 1};
        return PlanOf(kernel, empty ? OneBlock() : Tile(problem, kernel));
    }
    return Plan{};
}

}  // namespace relay_attention_host

#endif  // ATTNDSL_RELAY_ATTENTION_PLAN_H
