// How self_attention_pa_encoder is launched: which kernel, how many blocks, which workspace. Plain
// C++17, no CANN headers.
#ifndef ATTNDSL_SELF_ATTENTION_PA_ENCODER_PLAN_H
#define ATTNDSL_SELF_ATTENTION_PA_ENCODER_PLAN_H

#include <cstdint>

#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_logN_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_key_padded_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_query_padded_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_clampType_MIN_MAX_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_key_padded_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_columns_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_query_padded_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_SQRT_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_LEFT_ALIGN_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_outDataType_BF16_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_tiling.h"
#include "arithmetic.h"

namespace self_attention_pa_encoder_host {

// Meanings of the numbers in a problem.
namespace values {
struct QueryDtype {
    static constexpr int64_t kFloat16 = 0;
    static constexpr int64_t kBfloat16 = 1;
    static constexpr int64_t kInt8 = 2;
};
struct QueryLayout {
    static constexpr int64_t kTokens = 0;
    static constexpr int64_t kMerged = 1;
    static constexpr int64_t kPadded = 2;
    static constexpr int64_t kBnsd = 3;
};
struct KeyLayout {
    static constexpr int64_t kTokens = 0;
    static constexpr int64_t kMerged = 1;
    static constexpr int64_t kPadded = 2;
    static constexpr int64_t kBnsd = 3;
};
struct ValueLayout {
    static constexpr int64_t kTokens = 0;
    static constexpr int64_t kMerged = 1;
    static constexpr int64_t kPadded = 2;
    static constexpr int64_t kBnsd = 3;
};
struct MaskDtype {
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
struct SeqLenLayout {
    static constexpr int64_t kBatch = 0;
    static constexpr int64_t k2Batch = 1;
};
struct OutputLayout {
    static constexpr int64_t kTokens = 0;
    static constexpr int64_t kMerged = 1;
    static constexpr int64_t kPadded = 2;
    static constexpr int64_t kBnsd = 3;
};
struct QuantType {
    static constexpr int64_t kUndefined = 0;
    static constexpr int64_t kQkvOffline = 2;
    static constexpr int64_t kQkvOnline = 3;
};
struct OutDataType {
    static constexpr int64_t kDtUndefined = -1;
    static constexpr int64_t kFloat = 0;
    static constexpr int64_t kFloat16 = 1;
    static constexpr int64_t kInt8 = 2;
    static constexpr int64_t kInt32 = 3;
    static constexpr int64_t kUint8 = 4;
    static constexpr int64_t kInt16 = 6;
    static constexpr int64_t kUint16 = 7;
    static constexpr int64_t kUint32 = 8;
    static constexpr int64_t kInt64 = 9;
    static constexpr int64_t kUint64 = 10;
    static constexpr int64_t kDouble = 11;
    static constexpr int64_t kBool = 12;
    static constexpr int64_t kBf16 = 27;
};
struct CalcType {
    static constexpr int64_t kPaEncoder = 3;
};
struct KernelType {
    static constexpr int64_t kDefault = 0;
    static constexpr int64_t kHighPrecision = 1;
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
// lanes of a partial maximum or sum: a 32-byte block, so that any row can be addressed
constexpr int64_t kStatisticLanes = 8;
constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses
constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16
constexpr int64_t kL2BytesOfKeys = 100663296;  // bytes of L2 for keys and values
constexpr int64_t kBytesOfInt8 = 1;  // bytes of an int8

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16, 2: int8
    int64_t headSize = 0;  // head size, headSize
    int64_t headSizeV = 0;  // head size of values, headSizeV
    int64_t valueGiven = 0;  // whether value is passed
    int64_t maskGiven = 0;  // whether mask is passed
    int64_t slopesGiven = 0;  // whether slopes is passed
    int64_t qkDescaleGiven = 0;  // whether qkDescale is passed
    int64_t vpvDescaleGiven = 0;  // whether vpvDescale is passed
    int64_t pScaleGiven = 0;  // whether pScale is passed
    int64_t logNGiven = 0;  // whether logN is passed
    int64_t queryLayout = 0;  // layout(query); 0: tokens, 1: merged, 2: padded, 3: BNSD
    int64_t keyLayout = 0;  // layout(key); 0: tokens, 1: merged, 2: padded, 3: BNSD
    int64_t valueLayout = 0;  // layout(value); 0: tokens, 1: merged, 2: padded, 3: BNSD
    int64_t clampType = 0;  // clampType
    // layout(mask); 0: square, 1: per head, 2: per batch, 3: full, 4: 128, 5: 256, 6: columns, 7:
    // 512
    int64_t maskLayout = 0;
    int64_t maskDtype = 0;  // dtype(mask); 0: float16, 1: bfloat16
    int64_t maskType = 0;  // maskType
    int64_t quantType = 0;  // quantType
    int64_t outDataType = 0;  // outDataType
    int64_t kvHeads = 0;  // size kvHeads of the contract
    int64_t headNum = 0;  // parameter headNum
    int64_t batch = 0;  // size batch of the contract
    int64_t qRows = 0;  // size qRows of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t kvRows = 0;  // size kvRows of the contract
    int64_t nTokens = 0;  // size nTokens of the contract
    float qkScale = 0;  // parameter qkScale
    int64_t seqLenLayout = 0;  // index of the layout of seqLen
    int64_t maskCols = 0;  // size maskCols of the contract
    int64_t kernelType = 0;  // parameter kernelType
    int64_t calcType = 0;  // parameter calcType
    float clampMin = 0;  // parameter clampMin
    float clampMax = 0;  // parameter clampMax
    int64_t outputLayout = 0;  // index of the layout of output
    int64_t maskRows = 0;  // size maskRows of the contract
    int64_t windowSize = 0;  // parameter windowSize
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem. `scheduleMode`:
// kBatchMode if blocks wait for each other. Blocks and workspace are in `tiling`.
constexpr uint32_t kBatchMode = 1;  // all blocks start at once, or none
struct Plan {
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    SelfAttentionPaEncoderTiling tiling{};
};

// The tiling data of a launch without work.
inline SelfAttentionPaEncoderTiling OneBlock()
{
    SelfAttentionPaEncoderTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// The differences between the launches of kernels. A form selects one of several expressions of a
// field.
struct Kernel {
    // of allRounds, allOfCore, wholeTiles, wholeRounds, wholeOfCore, noRounds, noOfCore,
    // queriesPerTask, smallPositions, queryTiles
    int32_t allRoundsForm;
    int32_t splitsForm;  // of splits, scoreRingOffset
    int32_t rowTotalForm;  // of rowTotal, outputStrideN, valueStrideU, valueStrideK, queryStrideN
    int32_t keyStrideUForm;  // of keyStrideU, keyStrideK
    int32_t probRingPartForm;  // of probRingPart, bytesOfHead
    int32_t maskStrideBForm;  // of maskStrideB
    int32_t maskStrideNForm;  // of maskStrideN
    int32_t factorMultiplyForm;  // of factorMultiply
    int32_t headGroupsForm;  // of headGroups, headsAtOnce
    int64_t maxRows;  // query rows of one task, at most
    int64_t rowsPerBand;  // query rows of a band of a task's rows
    int64_t tileKeys;  // keys of one score tile
    int64_t paddedValueSize;  // head size of values and results, padded to 16
    int64_t ring;  // workspace slots between cube and vector cores
};

// The tiling data of a launch; a kernel reads the fields that it needs.
inline SelfAttentionPaEncoderTiling Tile(const Problem &problem, const Kernel &kernel)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    using attndsl::RoundUp;
    SelfAttentionPaEncoderTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    // tasks of all heads at the same positions
    const int64_t tasksAbreast = problem.batch * (tiling.kvHeads * tiling.headTiles);
    // large tasks of a batch row, if none is small
    const int64_t allTiles =
        CeilDiv(problem.qRows, MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1)));
    int64_t allRounds = 0;  // rounds of them
    if (kernel.allRoundsForm == 0) {
        allRounds = CeilDiv(tasksAbreast * allTiles, problem.cores);
    }
    // small tasks behind the last round of them
    const int64_t allLeft =
        MaxOf(0,
            tasksAbreast * CeilDiv(MaxOf(0, problem.qRows
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
            MinOf(problem.qRows / MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1)),
                tasksAbreast
                    * (problem.qRows / MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1)))
                    / problem.cores * problem.cores / MaxOf(tasksAbreast,
                    1));
        wholeRounds = CeilDiv(tasksAbreast * wholeTiles, problem.cores);
    }
    // small tasks behind the last round of them
    const int64_t wholeLeft =
        MaxOf(0,
            tasksAbreast * CeilDiv(MaxOf(0, problem.qRows
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
            tasksAbreast * CeilDiv(MaxOf(0, problem.qRows
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
            RoundUp(MaxOf(0, problem.qRows
                - tiling.largeTiles * MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1))),
                tiling.queriesPerSmallTask);
        tiling.queryTiles = tiling.largeTiles + tiling.smallPositions / tiling.queriesPerSmallTask;
    } else if (kernel.allRoundsForm == 1) {
        tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    }
    tiling.largeTasks = problem.batch * (tiling.kvHeads * tiling.headTiles) * tiling.largeTiles;
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    // score tiles of a row, at most
    const int64_t keyTiles = CeilDiv(problem.kvRows, kernel.tileKeys);
    if (kernel.splitsForm == 0) {
        tiling.splits = MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles));
    } else if (kernel.splitsForm == 1) {
        tiling.splits = 1;
    }
    tiling.items = tiling.tasks * tiling.splits;
    if (kernel.rowTotalForm == 0) {
        tiling.rowTotal = problem.nTokens * problem.headNum;
    } else if (kernel.rowTotalForm == 1) {
        tiling.rowTotal = problem.batch * problem.qRows * problem.headNum;
    }
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.qkScale = problem.qkScale;
    tiling.valueDim = problem.headSizeV;
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    if (kernel.rowTotalForm == 0) {
        tiling.outputStrideN = problem.headSizeV;
    } else if (kernel.rowTotalForm == 1) {
        tiling.outputStrideN =
            problem.outputLayout == values::OutputLayout::kPadded
                ? problem.headSizeV
                : problem.qRows * problem.headSizeV;
    }
    // rows of all key splits, 0 without any
    const int64_t partialRows = tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0;
    tiling.queryHeads = problem.headNum;
    tiling.headDim = problem.headSize;
    if (kernel.keyStrideUForm == 0) {
        tiling.keyStrideU = problem.kvHeads * problem.headSize;
        tiling.keyStrideK = problem.headSize;
    } else if (kernel.keyStrideUForm == 1) {
        tiling.keyStrideU =
            problem.keyLayout == values::KeyLayout::kPadded
                ? problem.kvHeads * problem.headSize
                : problem.headSize;
        tiling.keyStrideK =
            problem.keyLayout == values::KeyLayout::kPadded
                ? problem.headSize
                : problem.kvRows * problem.headSize;
    }
    if (kernel.rowTotalForm == 0) {
        tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
        tiling.valueStrideK = problem.headSizeV;
    } else if (kernel.rowTotalForm == 1) {
        tiling.valueStrideU =
            problem.valueLayout == values::ValueLayout::kPadded
                ? problem.kvHeads * problem.headSizeV
                : problem.headSizeV;
        tiling.valueStrideK =
            problem.valueLayout == values::ValueLayout::kPadded
                ? problem.headSizeV
                : problem.kvRows * problem.headSizeV;
    }
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenLayoutIs1 = problem.seqLenLayout == values::SeqLenLayout::k2Batch;
    tiling.batchScalar = problem.batch;
    tiling.queryStrideS = problem.headNum * problem.headSize;
    if (kernel.rowTotalForm == 0) {
        tiling.queryStrideN = problem.headSize;
    } else if (kernel.rowTotalForm == 1) {
        tiling.queryStrideN =
            problem.queryLayout == values::QueryLayout::kPadded
                ? problem.headSize
                : problem.qRows * problem.headSize;
    }
    tiling.partialMaxOffset = 0;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp(partialRows * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp(partialRows * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    if (kernel.splitsForm == 0) {
        tiling.scoreRingOffset =
            tiling.partialOutOffset
                + RoundUp(partialRows * kernel.paddedValueSize * kBytesOfFloat32,
                    kWorkspaceAlignment);
    } else if (kernel.splitsForm == 1) {
        tiling.scoreRingOffset = 0;
    }
    tiling.scoreRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    if (kernel.probRingPartForm == 0) {
        tiling.probRingPart =
            RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat16,
                kWorkspaceAlignment);
    } else if (kernel.probRingPartForm == 1) {
        tiling.probRingPart =
            RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfInt8,
                kWorkspaceAlignment);
    }
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedValueSize * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.workspaceBytes = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    if (kernel.maskStrideBForm == 0) {
        tiling.maskStrideB = 0;
    } else if (kernel.maskStrideBForm == 1) {
        tiling.maskStrideB = problem.maskRows * problem.maskCols;
    } else if (kernel.maskStrideBForm == 2) {
        tiling.maskStrideB = problem.headNum * problem.maskRows * problem.maskCols;
    }
    if (kernel.maskStrideNForm == 0) {
        tiling.maskStrideN = 0;
    } else if (kernel.maskStrideNForm == 1) {
        tiling.maskStrideN = problem.maskRows * problem.maskCols;
    }
    tiling.maskStrideQ = problem.maskCols;
    if (kernel.factorMultiplyForm == 0) {
        tiling.factorMultiply =
            problem.kernelType == values::KernelType::kHighPrecision
                && (problem.calcType == 0
                    || problem.calcType == 1
                    || problem.calcType == values::CalcType::kPaEncoder)
                && (problem.maskType == values::MaskType::kNorm
                    || problem.maskType == values::MaskType::kNormCompress
                    || problem.maskType == values::MaskType::kSlidingWindowNorm
                    || problem.maskType == values::MaskType::kSlidingWindowCompress)
                ? -3e+38f
                : 1.0f;
    } else if (kernel.factorMultiplyForm == 1) {
        tiling.factorMultiply =
            (problem.maskType == values::MaskType::kNorm
                || problem.maskType == values::MaskType::kNormCompress
                || problem.maskType == values::MaskType::kSlidingWindowNorm
                || problem.maskType == values::MaskType::kSlidingWindowCompress)
                ? -3e+38f
                : 1.0f;
    }
    int64_t bytesOfHead = 0;  // bytes of a head's keys and values
    if (kernel.probRingPartForm == 0) {
        bytesOfHead = problem.kvRows * ((problem.headSize + problem.headSizeV) * kBytesOfFloat16);
    } else if (kernel.probRingPartForm == 1) {
        bytesOfHead = problem.kvRows * ((problem.headSize + problem.headSizeV) * kBytesOfInt8);
    }
    // heads that L2 holds
    const int64_t headsThatFit = MaxOf(1, kL2BytesOfKeys / MaxOf(1, bytesOfHead));
    int64_t headGroups = 0;  // even groups of heads
    if (kernel.headGroupsForm == 0) {
        headGroups = MaxOf(1, CeilDiv(tiling.kvHeads, headsThatFit));
        tiling.headsAtOnce = CeilDiv(tiling.kvHeads, headGroups) * tiling.headTiles;
    }
    tiling.slopesStrideN = 1;
    tiling.clampMin = problem.clampMin;
    tiling.clampMax = problem.clampMax;
    tiling.outputStrideB =
        problem.outputLayout == values::OutputLayout::kPadded
            ? problem.qRows * (problem.headNum * problem.headSizeV)
            : problem.headNum * (problem.qRows * problem.headSizeV);
    tiling.outputStrideQ =
        problem.outputLayout == values::OutputLayout::kPadded
            ? problem.headNum * problem.headSizeV
            : problem.headSizeV;
    tiling.positions = problem.qRows;
    tiling.keyStrideB =
        problem.keyLayout == values::KeyLayout::kPadded
            ? problem.kvRows * (problem.kvHeads * problem.headSize)
            : problem.kvHeads * (problem.kvRows * problem.headSize);
    tiling.valueStrideB =
        problem.valueLayout == values::ValueLayout::kPadded
            ? problem.kvRows * (problem.kvHeads * problem.headSizeV)
            : problem.kvHeads * (problem.kvRows * problem.headSizeV);
    tiling.queryStrideQ =
        problem.queryLayout == values::QueryLayout::kPadded
            ? problem.headNum * problem.headSize
            : problem.headSize;
    tiling.queryStrideB =
        problem.queryLayout == values::QueryLayout::kPadded
            ? problem.qRows * (problem.headNum * problem.headSize)
            : problem.headNum * (problem.qRows * problem.headSize);
    tiling.maskPitch0 = problem.maskRows * 128;
    tiling.windowSize = problem.windowSize;
    tiling.vpvDescaleStrideN = 1;
    tiling.qkDescaleStrideN = 1;
    tiling.pScaleStrideN = 1;
    return tiling;
}

// A launch of the kernel with this tiling key. `waits`: its blocks wait for each other.
inline Plan PlanOf(SelfAttentionPaEncoderTilingKey key, const SelfAttentionPaEncoderTiling &tiling,
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
    using Key = SelfAttentionPaEncoderTilingKey;
    // All kernels ask for this.
    if (!(problem.headSize > 112 && problem.headSize <= 128 &&
        problem.headSizeV > 112 && problem.headSizeV <= 128)) {
        return Plan{};
    }
    // self_attention_pa_encoder_d128_e128_value: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128_value;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kRowsPerBand,
            schedule::kTileKeys, schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128Value
                : Key::kBfloat16D128E128Value;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM: float16 or bfloat16
    if (((problem.queryDtype == values::QueryDtype::kFloat16
        && problem.maskDtype == values::MaskDtype::kFloat16)
        || (problem.queryDtype == values::QueryDtype::kBfloat16
            && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kSquare &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM;
        const Kernel kernel{
            1, 0, 0, 0, 0, 0, 0, problem.queryDtype == values::QueryDtype::kFloat16 ? 0 : 1, 1,
            schedule::kMaxRows, 1, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskTypeNORM
                : Key::kBfloat16D128E128ValueMaskMaskTypeNORM;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskType == values::MaskType::kAlibiCompress &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS;
        constexpr Kernel kernel{
            1, 0, 0, 0, 0, 0, 0, 0, 0, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS
                : Key::kBfloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_logN: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven != 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128_value_logN;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kRowsPerBand,
            schedule::kTileKeys, schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueLogN
                : Key::kBfloat16D128E128ValueLogN;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.clampType == values::ClampType::kMinMax) {
        namespace schedule = self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kRowsPerBand,
            schedule::kTileKeys, schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueClampTypeMINMAX
                : Key::kBfloat16D128E128ValueClampTypeMINMAX;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kPadded
            || problem.queryLayout == values::QueryLayout::kBnsd) &&
        (problem.keyLayout == values::KeyLayout::kPadded
            || problem.keyLayout == values::KeyLayout::kBnsd) &&
        (problem.valueLayout == values::ValueLayout::kPadded
            || problem.valueLayout == values::ValueLayout::kBnsd) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD;
        constexpr Kernel kernel{
            1, 0, 1, 1, 0, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueKeyBNSDQueryBNSDValueBNSD
                : Key::kBfloat16D128E128ValueKeyBNSDQueryBNSDValueBNSD;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kRowsPerBand,
            schedule::kTileKeys, schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128
                : Key::kBfloat16D128E128;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_key_padded: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kPadded
            || problem.keyLayout == values::KeyLayout::kBnsd) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128_key_padded;
        constexpr Kernel kernel{
            0, 0, 0, 1, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kRowsPerBand,
            schedule::kTileKeys, schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyPadded
                : Key::kBfloat16D128E128KeyPadded;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI: float16 or bfloat16
    if (((problem.queryDtype == values::QueryDtype::kFloat16
        && problem.maskDtype == values::MaskDtype::kFloat16)
        || (problem.queryDtype == values::QueryDtype::kBfloat16
            && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kPerHead &&
        problem.maskType == values::MaskType::kAlibi &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI;
        constexpr Kernel kernel{
            1, 0, 0, 0, 0, 0, 1, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskPerHeadMaskTypeALIBI
                : Key::kBfloat16D128E128ValueMaskMaskPerHeadMaskTypeALIBI;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM: float16 or bfloat16
    if (((problem.queryDtype == values::QueryDtype::kFloat16
        && problem.maskDtype == values::MaskDtype::kFloat16)
        || (problem.queryDtype == values::QueryDtype::kBfloat16
            && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kPerBatch &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM;
        const Kernel kernel{
            1, 0, 0, 0, 0, 1, 0, problem.queryDtype == values::QueryDtype::kFloat16 ? 0 : 1, 1,
            schedule::kMaxRows, 1, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskPerBatchMaskTypeNORM
                : Key::kBfloat16D128E128ValueMaskMaskPerBatchMaskTypeNORM;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI: float16 or bfloat16
    if (((problem.queryDtype == values::QueryDtype::kFloat16
        && problem.maskDtype == values::MaskDtype::kFloat16)
        || (problem.queryDtype == values::QueryDtype::kBfloat16
            && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kFull &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI;
        constexpr Kernel kernel{
            1, 0, 0, 0, 0, 2, 1, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskFullMaskTypeNORM
                : Key::kBfloat16D128E128ValueMaskMaskFullMaskTypeNORM;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskType == values::MaskType::kNormCompress &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 0, 0, 0, 0, schedule::kMaxRows, schedule::kRowsPerBand,
            schedule::kTileKeys, schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskTypeNORMCOMPRESS
                : Key::kBfloat16D128E128ValueMaskTypeNORMCOMPRESS;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS: float16
    // or bfloat16
    if (((problem.queryDtype == values::QueryDtype::kFloat16
        && problem.maskDtype == values::MaskDtype::kFloat16)
        || (problem.queryDtype == values::QueryDtype::kBfloat16
            && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kColumns &&
        (problem.maskType == values::MaskType::kAlibiCompress
            || problem.maskType == values::MaskType::kAlibiCompressSqrt
            || problem.maskType == values::MaskType::kAlibiCompressLeftAlign) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS;
        constexpr Kernel kernel{
            1, 0, 0, 0, 0, 0, 0, 0, 0, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskColumnsMaskTypeALIBICOMPRESS
                : Key::kBfloat16D128E128ValueMaskMaskColumnsMaskTypeALIBICOMPRESS;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS: float16 or
    // bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        (problem.maskType == values::MaskType::kSlidingWindowNorm
            || problem.maskType == values::MaskType::kSlidingWindowCompress) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 0, 0, 0, 0, schedule::kMaxRows, schedule::kRowsPerBand,
            schedule::kTileKeys, schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskTypeSLIDINGWINDOWCOMPRESS
                : Key::kBfloat16D128E128ValueMaskTypeSLIDINGWINDOWCOMPRESS;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_query_padded: float16 or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kPadded
            || problem.queryLayout == values::QueryLayout::kBnsd) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128_query_padded;
        constexpr Kernel kernel{
            1, 0, 1, 0, 0, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128QueryPadded
                : Key::kBfloat16D128E128QueryPadded;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI: float16 or bfloat16
    if (((problem.queryDtype == values::QueryDtype::kFloat16
        && problem.maskDtype == values::MaskDtype::kFloat16)
        || (problem.queryDtype == values::QueryDtype::kBfloat16
            && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kSquare &&
        problem.maskType == values::MaskType::kAlibi &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule = self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI;
        constexpr Kernel kernel{
            1, 0, 0, 0, 0, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskTypeALIBI
                : Key::kBfloat16D128E128ValueMaskMaskTypeALIBI;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT: float16 or
    // bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskType == values::MaskType::kAlibiCompressSqrt &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT;
        constexpr Kernel kernel{
            1, 0, 0, 0, 0, 0, 0, 0, 0, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSSQRT
                : Key::kBfloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSSQRT;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN: float16
    // or bfloat16
    if ((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskType == values::MaskType::kAlibiCompressLeftAlign &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN;
        constexpr Kernel kernel{
            1, 0, 0, 0, 0, 0, 0, 0, 0, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSLEFTALIGN
                : Key::kBfloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSLEFTALIGN;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key = Key::kInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kSquare &&
        problem.maskDtype == values::MaskDtype::kFloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNORMQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kAlibiCompress &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 0, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven != 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE;
        constexpr Kernel kernel{
            1, 1, 0, 0, 1, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key = Key::kInt8D128E128ValueQkDescaleVpvDescalePScaleQuantTypeQKVOFFLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, false);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_clampType_MIN_MAX_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kMinMax) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_clampType_MIN_MAX_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key = Key::kInt8D128E128ValueQkDescaleVpvDescaleClampTypeMINMAXQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kSquare &&
        problem.maskDtype == values::MaskDtype::kBfloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskTypeNORMQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_quantType_QKV_ONLINE: int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key = Key::kInt8D128E128QkDescaleVpvDescaleQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_key_padded_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kPadded
            || problem.keyLayout == values::KeyLayout::kBnsd) &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_key_padded_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 1, 1, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key = Key::kInt8D128E128QkDescaleVpvDescaleKeyPaddedQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kPerHead &&
        problem.maskDtype == values::MaskDtype::kFloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kAlibi &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 1, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerHeadMaskTypeALIBIQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kPerBatch &&
        problem.maskDtype == values::MaskDtype::kFloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 1, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerBatchMaskTypeNORMQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kFull &&
        problem.maskDtype == values::MaskDtype::kFloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 2, 1, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskFullMaskTypeNORMQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_columns_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kColumns &&
        problem.maskDtype == values::MaskDtype::kBfloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        (problem.maskType == values::MaskType::kAlibiCompress
            || problem.maskType == values::MaskType::kAlibiCompressSqrt
            || problem.maskType == values::MaskType::kAlibiCompressLeftAlign) &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_columns_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 0, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskColumnsMaskTypeALIBICOMPRESSQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_query_padded_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kPadded
            || problem.queryLayout == values::QueryLayout::kBnsd) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_query_padded_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 1, 0, 1, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key = Key::kInt8D128E128QkDescaleVpvDescaleQueryPaddedQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.maskLayout == values::MaskLayout::kSquare &&
        problem.maskDtype == values::MaskDtype::kFloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kAlibi &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeALIBIQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_SQRT_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kAlibiCompressSqrt &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_SQRT_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 0, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSSQRTQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_LEFT_ALIGN_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.slopesGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kAlibiCompressLeftAlign &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_LEFT_ALIGN_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 0, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSLEFTALIGNQuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_outDataType_BF16_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged) &&
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged) &&
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged) &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType == values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kUndefined) {
        namespace schedule =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_outDataType_BF16_quantType_QKV_ONLINE;
        constexpr Kernel kernel{
            1, 0, 0, 0, 1, 0, 0, 0, 1, schedule::kMaxRows, 1, schedule::kTileKeys,
            schedule::kPaddedValueSize, schedule::kRing};
        const Key key = Key::kInt8D128E128ValueQkDescaleVpvDescaleOutDataTypeBF16QuantTypeQKVONLINE;
        const SelfAttentionPaEncoderTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    return Plan{};
}

}  // namespace self_attention_pa_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PA_ENCODER_PLAN_H
