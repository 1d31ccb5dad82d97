// How self_attention_prefix_encoder is launched: which kernel, how many blocks, which workspace.
// Plain C++17, no CANN headers.
#ifndef ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_PLAN_H
#define ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_PLAN_H

#include <cstdint>

#include "../op_kernel/self_attention_prefix_encoder_d128_maskType_CAUSAL_MASK_schedule.h"
#include "../op_kernel/self_attention_prefix_encoder_d128_mask_mask_columns_maskType_ALIBI_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_SQRT_schedule.h"
#include "../op_kernel/self_attention_prefix_encoder_tiling.h"
#include "arithmetic.h"

namespace self_attention_prefix_encoder_host {

// Meanings of the numbers in a problem.
namespace values {
struct QueryDtype {
    static constexpr int64_t kFloat16 = 0;
    static constexpr int64_t kBfloat16 = 1;
};
struct MaskLayout {
    static constexpr int64_t kSquare = 0;
    static constexpr int64_t kPerHead = 1;
    static constexpr int64_t kPerBatch = 2;
    static constexpr int64_t kFull = 3;
    static constexpr int64_t kColumns = 6;
};
struct ClampType {
    static constexpr int64_t kUndefined = 0;
    static constexpr int64_t kMinMax = 1;
};
struct MaskType {
    static constexpr int64_t kUndefined = 0;
    static constexpr int64_t kNorm = 1;
    static constexpr int64_t kAlibi = 2;
    static constexpr int64_t kNormCompress = 3;
    static constexpr int64_t kAlibiCompress = 4;
    static constexpr int64_t kAlibiCompressSqrt = 5;
    static constexpr int64_t kAlibiCompressLeftAlign = 6;
    static constexpr int64_t kSlidingWindowNorm = 7;
    static constexpr int64_t kSlidingWindowCompress = 8;
    static constexpr int64_t kCausalMask = 9;
};
}  // namespace values

// the query positions of the busiest core with large tasks, in ninths
constexpr int64_t kNinths = 9;
// ninths from which tasks of one band are not worth reading keys more often
constexpr int64_t kNinthsWithBands = 8;
constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16
constexpr int64_t kL2BytesOfKeys = 100663296;  // bytes of L2 for keys and values
// lanes of a partial maximum or sum: a 32-byte block, so that any row can be addressed
constexpr int64_t kStatisticLanes = 8;
constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t headSize = 0;  // head size, headSize
    int64_t maskGiven = 0;  // whether mask is passed
    int64_t slopesGiven = 0;  // whether slopes is passed
    int64_t maskType = 0;  // maskType
    int64_t clampType = 0;  // clampType
    // layout(mask); 0: square, 1: per head, 2: per batch, 3: full, 4: 128, 5: 256, 6: columns, 7:
    // 512
    int64_t maskLayout = 0;
    int64_t kvHeads = 0;  // size kvHeads of the contract
    int64_t headNum = 0;  // parameter headNum
    int64_t batch = 0;  // size batch of the contract
    int64_t maxOfSeqLen = 0;  // max(seqLen[b] for b < batch)
    int64_t cores = 0;  // cube cores of the device
    int64_t maxBlockNum = 0;  // size maxBlockNum of the contract
    int64_t blockSize = 0;  // size blockSize of the contract
    int64_t nTokens = 0;  // size nTokens of the contract
    float qkScale = 0;  // parameter qkScale
    int64_t maskRows = 0;  // size maskRows of the contract
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem. `scheduleMode`:
// kBatchMode if blocks wait for each other. Blocks and workspace are in `tiling`.
constexpr uint32_t kBatchMode = 1;  // all blocks start at once, or none
struct Plan {
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    SelfAttentionPrefixEncoderTiling tiling{};
};

// The tiling data of a launch without work.
inline SelfAttentionPrefixEncoderTiling OneBlock()
{
    SelfAttentionPrefixEncoderTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// The differences between the launches of kernels. A form selects one of several expressions of a
// field.
struct Kernel {
    // of allRounds, allOfCore, wholeTiles, wholeRounds, wholeOfCore, noRounds, noOfCore,
    // queriesPerTask, smallPositions, queryTiles
    int32_t allRoundsForm;
    int64_t maxRows;  // query rows of one task, at most
    int64_t rowsPerBand;  // query rows of a band of a task's rows
    int64_t tileKeys;  // keys of one score tile
    int64_t paddedHeadSize;  // head size this kernel is specialized on, padded to 16
    int64_t ring;  // workspace slots between cube and vector cores
};

// The tiling data of a launch; a kernel reads the fields that it needs.
inline SelfAttentionPrefixEncoderTiling Tile(const Problem &problem, const Kernel &kernel)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    using attndsl::RoundUp;
    SelfAttentionPrefixEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    // tasks of all heads at the same positions
    const int64_t tasksAbreast = problem.batch * (tiling.kvHeads * tiling.headTiles);
    // large tasks of a batch row, if none is small
    const int64_t allTiles =
        CeilDiv(problem.maxOfSeqLen, MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1)));
    int64_t allRounds = 0;  // rounds of them
    if (kernel.allRoundsForm == 0) {
        allRounds = CeilDiv(tasksAbreast * allTiles, problem.cores);
    }
    // small tasks behind the last round of them
    const int64_t allLeft =
        MaxOf(0,
            tasksAbreast * CeilDiv(MaxOf(0, problem.maxOfSeqLen
                - allTiles * MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))),
                MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1)))
                - (allRounds * problem.cores - tasksAbreast * allTiles));
    int64_t allOfCore = 0;  // query positions of the busiest core with them
    int64_t wholeTiles = 0;  // large tasks of a batch row, if they fill whole rounds
    int64_t wholeRounds = 0;  // rounds of them
    if (kernel.allRoundsForm == 0) {
        allOfCore =
            allRounds * MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))
                + CeilDiv(allLeft, problem.cores) * MaxOf(1,
                    kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1));
        wholeTiles =
            MinOf(problem.maxOfSeqLen / MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1)),
                tasksAbreast
                    * (problem.maxOfSeqLen
                        / MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1)))
                    / problem.cores * problem.cores / MaxOf(tasksAbreast,
                    1));
        wholeRounds = CeilDiv(tasksAbreast * wholeTiles, problem.cores);
    }
    // small tasks behind the last round of them
    const int64_t wholeLeft =
        MaxOf(0,
            tasksAbreast * CeilDiv(MaxOf(0, problem.maxOfSeqLen
                - wholeTiles * MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))),
                MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1)))
                - (wholeRounds * problem.cores - tasksAbreast * wholeTiles));
    int64_t wholeOfCore = 0;  // query positions of the busiest core with them
    if (kernel.allRoundsForm == 0) {
        wholeOfCore =
            wholeRounds * MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))
                + CeilDiv(wholeLeft, problem.cores) * MaxOf(1,
                    kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1));
    }
    const int64_t noTiles = 0;  // large tasks of a batch row, if all are small
    int64_t noRounds = 0;  // rounds of them
    if (kernel.allRoundsForm == 0) {
        noRounds = CeilDiv(tasksAbreast * noTiles, problem.cores);
    }
    // small tasks behind the last round of them
    const int64_t noLeft =
        MaxOf(0,
            tasksAbreast * CeilDiv(MaxOf(0, problem.maxOfSeqLen
                - noTiles * MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))),
                MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1)))
                - (noRounds * problem.cores - tasksAbreast * noTiles));
    int64_t noOfCore = 0;  // query positions of the busiest core with them
    if (kernel.allRoundsForm == 0) {
        noOfCore =
            noRounds * MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))
                + CeilDiv(noLeft, problem.cores) * MaxOf(1,
                    kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1));
    }
    tiling.largeTiles =
        (tasksAbreast * allTiles < problem.cores
            || noOfCore * kNinths < MinOf(wholeOfCore, allOfCore) * kNinthsWithBands)
            ? 0
            : (wholeOfCore < allOfCore ? wholeTiles : allTiles);
    if (kernel.allRoundsForm == 0) {
        tiling.queriesPerTask =
            tiling.largeTiles > 0
                ? MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))
                : MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1));
    } else if (kernel.allRoundsForm == 1) {
        tiling.queriesPerTask = MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1));
    }
    tiling.queriesPerSmallTask = MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1));
    if (kernel.allRoundsForm == 0) {
        tiling.smallPositions =
            RoundUp(MaxOf(0, problem.maxOfSeqLen
                - tiling.largeTiles * MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))),
                tiling.queriesPerSmallTask);
        tiling.queryTiles = tiling.largeTiles + tiling.smallPositions / tiling.queriesPerSmallTask;
    } else if (kernel.allRoundsForm == 1) {
        tiling.queryTiles = CeilDiv(problem.maxOfSeqLen, tiling.queriesPerTask);
    }
    tiling.largeTasks = problem.batch * (tiling.kvHeads * tiling.headTiles) * tiling.largeTiles;
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    // bytes of a head's keys and values
    const int64_t bytesOfHead =
        problem.maxBlockNum * problem.blockSize * ((problem.headSize
            + problem.headSize) * kBytesOfFloat16);
    // heads that L2 holds
    const int64_t headsThatFit = MaxOf(1, kL2BytesOfKeys / MaxOf(1, bytesOfHead));
    // even groups of heads
    const int64_t headGroups = MaxOf(1, CeilDiv(tiling.kvHeads, headsThatFit));
    tiling.headsAtOnce = CeilDiv(tiling.kvHeads, headGroups) * tiling.headTiles;
    // score tiles of a row, at most
    const int64_t keyTiles = CeilDiv(problem.maxBlockNum * problem.blockSize, kernel.tileKeys);
    tiling.splits = MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSize;
    tiling.outputStrideS = problem.headNum * problem.headSize;
    tiling.outputStrideN = problem.headSize;
    // rows of all key splits, 0 without any
    const int64_t partialRows = tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0;
    tiling.queryHeads = problem.headNum;
    tiling.blockSize = problem.blockSize;
    tiling.blockTablesStrideB = problem.maxBlockNum;
    tiling.keyStrideP = problem.blockSize * (problem.kvHeads * problem.headSize);
    tiling.keyStrideK = problem.headSize;
    tiling.keyStrideR = problem.kvHeads * problem.headSize;
    tiling.valueStrideP = problem.blockSize * (problem.kvHeads * problem.headSize);
    tiling.valueStrideK = problem.headSize;
    tiling.valueStrideR = problem.kvHeads * problem.headSize;
    tiling.maxOfSeqLen = problem.maxOfSeqLen;
    tiling.keyCapacity = problem.maxBlockNum * problem.blockSize;
    tiling.queryStrideS = problem.headNum * problem.headSize;
    tiling.queryStrideN = problem.headSize;
    tiling.partialMaxOffset = 0;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp(partialRows * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp(partialRows * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingOffset =
        tiling.partialOutOffset
            + RoundUp(partialRows * kernel.paddedHeadSize * kBytesOfFloat32, kWorkspaceAlignment);
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
    tiling.maskPitch0 = problem.maskRows * 128;
    tiling.slopesStrideN = 1;
    return tiling;
}

// A launch of the kernel with this tiling key. `waits`: its blocks wait for each other.
inline Plan PlanOf(SelfAttentionPrefixEncoderTilingKey key,
    const SelfAttentionPrefixEncoderTiling &tiling, bool waits)
{
    Plan plan{static_cast<uint64_t>(key), waits ? kBatchMode : 0, tiling};
    plan.tiling.key = plan.key;
    return plan;
}

// Selects the kernel for a problem and plans its launch. `empty`: there is nothing to compute; one
// block starts and ends.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    using Key = SelfAttentionPrefixEncoderTilingKey;
    // All kernels ask for this.
    if (!((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.clampType == values::ClampType::kUndefined)) {
        return Plan{};
    }
    // self_attention_prefix_encoder_d128_maskType_CAUSAL_MASK: float16 or bfloat16
    if ((problem.maskType == values::MaskType::kNormCompress
        || problem.maskType == values::MaskType::kCausalMask)) {
        namespace schedule = self_attention_prefix_encoder_d128_maskType_CAUSAL_MASK;
        constexpr Kernel kernel{
            0, schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys,
            schedule::kPaddedHeadSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128MaskTypeCAUSALMASK
                : Key::kBfloat16D128MaskTypeCAUSALMASK;
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_prefix_encoder_d128_mask_mask_columns_maskType_ALIBI_COMPRESS: float16 or
    // bfloat16
    if (problem.maskGiven != 0 &&
        problem.maskLayout == values::MaskLayout::kColumns &&
        problem.maskType != values::MaskType::kNormCompress) {
        namespace schedule =
            self_attention_prefix_encoder_d128_mask_mask_columns_maskType_ALIBI_COMPRESS;
        constexpr Kernel kernel{
            1, schedule::kMaxRows, 1, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128MaskMaskColumnsMaskTypeALIBICOMPRESS
                : Key::kBfloat16D128MaskMaskColumnsMaskTypeALIBICOMPRESS;
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS: float16 or bfloat16
    if (problem.slopesGiven != 0 &&
        problem.maskType == values::MaskType::kAlibiCompress &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS;
        constexpr Kernel kernel{
            1, schedule::kMaxRows, 1, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128SlopesMaskTypeALIBICOMPRESS
                : Key::kBfloat16D128SlopesMaskTypeALIBICOMPRESS;
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_SQRT: float16 or bfloat16
    if (problem.slopesGiven != 0 &&
        problem.maskType == values::MaskType::kAlibiCompressSqrt &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_SQRT;
        constexpr Kernel kernel{
            1, schedule::kMaxRows, 1, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128SlopesMaskTypeALIBICOMPRESSSQRT
                : Key::kBfloat16D128SlopesMaskTypeALIBICOMPRESSSQRT;
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    return Plan{};
}

}  // namespace self_attention_prefix_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_PLAN_H
