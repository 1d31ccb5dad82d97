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
    int64_t maxOfSeqLen = 0;  // max(seqLen[b] for b < batch)
    int64_t kvHeads = 0;  // size kvHeads of the contract
    int64_t headNum = 0;  // parameter headNum
    int64_t batch = 0;  // size batch of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t maxBlockNum = 0;  // size maxBlockNum of the contract
    int64_t blockSize = 0;  // size blockSize of the contract
    int64_t nTokens = 0;  // size nTokens of the contract
    float qkScale = 0;  // parameter qkScale
    int64_t headSizeValue = 0;  // size headSize of the contract
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
    SelfAttentionPrefixEncoderTilingKey key;
    int32_t queriesPerTaskForm;  // of queriesPerTask
    int64_t maxRows;  // query rows of one task, at most
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
    tiling.maxOfSeqLen = problem.maxOfSeqLen;
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    if (kernel.queriesPerTaskForm == 0) {
        tiling.queriesPerTask =
            (problem.batch * problem.kvHeads
                * CeilDiv(problem.maxOfSeqLen,
                    MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1)))
                < problem.cores
                || CeilDiv(problem.batch * problem.kvHeads
                    * CeilDiv(problem.maxOfSeqLen, MaxOf(1, 128 / MaxOf(tiling.headsPerTask, 1))),
                    problem.cores) * MaxOf(1,
                    128 / MaxOf(tiling.headsPerTask,
                        1)) * 9
                            < CeilDiv(problem.batch * problem.kvHeads * CeilDiv(problem.maxOfSeqLen,
                        MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))),
                    problem.cores) * MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1)) * 8)
                ? MaxOf(1, 128 / MaxOf(tiling.headsPerTask, 1))
                : MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1));
    } else if (kernel.queriesPerTaskForm == 1) {
        tiling.queriesPerTask = MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1));
    }
    tiling.queryTiles = CeilDiv(problem.maxOfSeqLen, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        MaxOf(1,
            MinOf(problem.cores / MaxOf(tiling.tasks, 1),
                CeilDiv(problem.maxBlockNum * problem.blockSize, kernel.tileKeys)));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.nTokens * problem.headNum;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSizeValue;
    tiling.outputStrideS = problem.headNum * problem.headSizeValue;
    tiling.outputStrideN = problem.headSizeValue;
    tiling.queryHeads = problem.headNum;
    tiling.blockSize = problem.blockSize;
    tiling.blockTablesStrideB = problem.maxBlockNum;
    tiling.keyStrideP = problem.blockSize * (problem.kvHeads * problem.headSizeValue);
    tiling.keyStrideK = problem.headSizeValue;
    tiling.keyStrideR = problem.kvHeads * problem.headSizeValue;
    tiling.valueStrideP = problem.blockSize * (problem.kvHeads * problem.headSizeValue);
    tiling.valueStrideK = problem.headSizeValue;
    tiling.valueStrideR = problem.kvHeads * problem.headSizeValue;
    tiling.keyCapacity = problem.maxBlockNum * problem.blockSize;
    tiling.queryStrideS = problem.headNum * problem.headSizeValue;
    tiling.queryStrideN = problem.headSizeValue;
    tiling.partialMaxOffset = 0;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp((tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0) * 8 * 4, 512);
    tiling.scoreRingOffset =
        tiling.partialOutOffset
            + RoundUp((tiling.splits > 1
                ? tiling.splits * tiling.rowTotal
                : 0) * kernel.paddedHeadSize * 4,
                512);
    tiling.scoreRingPart = RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * 4, 512);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.probRingPart = RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * 2, 512);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart = RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedHeadSize * 4, 512);
    tiling.workspaceBytes = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.maskPitch0 = problem.maskRows * 128;
    tiling.slopesStrideN = 1;
    return tiling;
}

// A launch of a kernel. `waits`: its blocks wait for each other.
inline Plan PlanOf(const Kernel &kernel, const SelfAttentionPrefixEncoderTiling &tiling, bool waits)
{
    Plan plan{static_cast<uint64_t>(kernel.key), waits ? kBatchMode : 0, tiling};
    plan.tiling.key = plan.key;
    return plan;
}

// Selects the kernel for a problem and plans its launch. `empty`: there is nothing to compute; one
// block starts and ends.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    using Key = SelfAttentionPrefixEncoderTilingKey;
    // self_attention_prefix_encoder_float16_d128_maskType_CAUSAL_MASK
    if (problem.queryDtype == values::QueryDtype::kFloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        (problem.maskType == values::MaskType::kNormCompress
            || problem.maskType == values::MaskType::kCausalMask) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_prefix_encoder_d128_maskType_CAUSAL_MASK;
        constexpr Kernel kernel{
            Key::kFloat16D128MaskTypeCAUSALMASK, 0, schedule::kMaxRows, schedule::kTileKeys,
            schedule::kPaddedHeadSize, schedule::kRing};
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(kernel, tiling, tiling.splits > 1);
    }
    // self_attention_prefix_encoder_float16_d128_mask_mask_columns_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == values::QueryDtype::kFloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.maskGiven != 0 &&
        problem.maskLayout == values::MaskLayout::kColumns &&
        problem.maskType != values::MaskType::kNormCompress &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_prefix_encoder_d128_mask_mask_columns_maskType_ALIBI_COMPRESS;
        constexpr Kernel kernel{
            Key::kFloat16D128MaskMaskColumnsMaskTypeALIBICOMPRESS, 1, schedule::kMaxRows,
            schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(kernel, tiling, tiling.splits > 1);
    }
    // self_attention_prefix_encoder_float16_d128_slopes_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == values::QueryDtype::kFloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.slopesGiven != 0 &&
        problem.maskType == values::MaskType::kAlibiCompress &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS;
        constexpr Kernel kernel{
            Key::kFloat16D128SlopesMaskTypeALIBICOMPRESS, 1, schedule::kMaxRows,
            schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(kernel, tiling, tiling.splits > 1);
    }
    // self_attention_prefix_encoder_float16_d128_slopes_maskType_ALIBI_COMPRESS_SQRT
    if (problem.queryDtype == values::QueryDtype::kFloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.slopesGiven != 0 &&
        problem.maskType == values::MaskType::kAlibiCompressSqrt &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_SQRT;
        constexpr Kernel kernel{
            Key::kFloat16D128SlopesMaskTypeALIBICOMPRESSSQRT, 1, schedule::kMaxRows,
            schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(kernel, tiling, tiling.splits > 1);
    }
    // self_attention_prefix_encoder_bfloat16_d128_maskType_CAUSAL_MASK
    if (problem.queryDtype == values::QueryDtype::kBfloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        (problem.maskType == values::MaskType::kNormCompress
            || problem.maskType == values::MaskType::kCausalMask) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_prefix_encoder_d128_maskType_CAUSAL_MASK;
        constexpr Kernel kernel{
            Key::kBfloat16D128MaskTypeCAUSALMASK, 0, schedule::kMaxRows, schedule::kTileKeys,
            schedule::kPaddedHeadSize, schedule::kRing};
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(kernel, tiling, tiling.splits > 1);
    }
    // self_attention_prefix_encoder_bfloat16_d128_mask_mask_columns_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == values::QueryDtype::kBfloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.maskGiven != 0 &&
        problem.maskLayout == values::MaskLayout::kColumns &&
        problem.maskType != values::MaskType::kNormCompress &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_prefix_encoder_d128_mask_mask_columns_maskType_ALIBI_COMPRESS;
        constexpr Kernel kernel{
            Key::kBfloat16D128MaskMaskColumnsMaskTypeALIBICOMPRESS, 1, schedule::kMaxRows,
            schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(kernel, tiling, tiling.splits > 1);
    }
    // self_attention_prefix_encoder_bfloat16_d128_slopes_maskType_ALIBI_COMPRESS
    if (problem.queryDtype == values::QueryDtype::kBfloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.slopesGiven != 0 &&
        problem.maskType == values::MaskType::kAlibiCompress &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS;
        constexpr Kernel kernel{
            Key::kBfloat16D128SlopesMaskTypeALIBICOMPRESS, 1, schedule::kMaxRows,
            schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(kernel, tiling, tiling.splits > 1);
    }
    // self_attention_prefix_encoder_bfloat16_d128_slopes_maskType_ALIBI_COMPRESS_SQRT
    if (problem.queryDtype == values::QueryDtype::kBfloat16 &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.slopesGiven != 0 &&
        problem.maskType == values::MaskType::kAlibiCompressSqrt &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_SQRT;
        constexpr Kernel kernel{
            Key::kBfloat16D128SlopesMaskTypeALIBICOMPRESSSQRT, 1, schedule::kMaxRows,
            schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
        const SelfAttentionPrefixEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(kernel, tiling, tiling.splits > 1);
    }
    return Plan{};
}

}  // namespace self_attention_prefix_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_PLAN_H
