// How self_attention is launched: which kernel, how many blocks, which workspace. Plain C++17, no
// CANN headers.
#ifndef ATTNDSL_SELF_ATTENTION_PLAN_H
#define ATTNDSL_SELF_ATTENTION_PLAN_H

#include <cstdint>

#include "../op_kernel/self_attention_d128_e128_key_value_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_attentionMask_maskType_NORM_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_batchStatus_cacheK_layer_cacheV_layer_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_logN_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_cacheType_SWA_maskType_SLIDING_WINDOW_NORM_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_clampType_MIN_MAX_schedule.h"
#include "../op_kernel/self_attention_d128_e128_attentionMask_inputLayout_BNSD_query_BNSD_maskType_NORM_schedule.h"
#include "../op_kernel/self_attention_d128_e128_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_maskType_NORM_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_key_padded_value_padded_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_query_padded_schedule.h"
#include "../op_kernel/self_attention_d128_e128_cacheK_list_cacheV_list_schedule.h"
#include "../op_kernel/self_attention_tiling.h"
#include "arithmetic.h"

namespace self_attention_host {

// Meanings of the numbers in a problem.
namespace values {
struct QueryDtype {
    static constexpr int64_t kFloat16 = 0;
    static constexpr int64_t kBfloat16 = 1;
};
struct QueryLayout {
    static constexpr int64_t kPacked = 0;
    static constexpr int64_t kPadded = 1;
    static constexpr int64_t kBnsd = 2;
};
struct KeyLayout {
    static constexpr int64_t kPacked = 0;
    static constexpr int64_t kPadded = 1;
};
struct ValueLayout {
    static constexpr int64_t kPacked = 0;
    static constexpr int64_t kPadded = 1;
};
struct CacheKLayout {
    static constexpr int64_t kLayers = 0;
    static constexpr int64_t kLayer = 1;
    static constexpr int64_t kBnsd = 2;
};
struct CacheVLayout {
    static constexpr int64_t kLayers = 0;
    static constexpr int64_t kLayer = 1;
    static constexpr int64_t kBnsd = 2;
};
struct AttentionMaskLayout {
    static constexpr int64_t kSquare = 0;
    static constexpr int64_t kPerHead = 1;
    static constexpr int64_t kPerBatch = 2;
    static constexpr int64_t kFull = 3;
    static constexpr int64_t kColumns = 6;
};
struct OutputLayout {
    static constexpr int64_t kPacked = 0;
    static constexpr int64_t kPadded = 1;
    static constexpr int64_t kBnsd = 2;
};
struct CalcType {
    static constexpr int64_t kUndefined = 0;
    static constexpr int64_t kEncoder = 1;
    static constexpr int64_t kDecoder = 2;
    static constexpr int64_t kPaEncoder = 3;
    static constexpr int64_t kPrefixEncoder = 4;
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
struct InputLayoutValue {
    static constexpr int64_t kBsnd = 0;
    static constexpr int64_t kBnsd = 1;
};
struct CacheType {
    static constexpr int64_t kNorm = 0;
    static constexpr int64_t kSwa = 1;
};
}  // namespace values

// lanes of a partial maximum or sum: a 32-byte block, so that any row can be addressed
constexpr int64_t kStatisticLanes = 8;
constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses
constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16
constexpr int64_t kL2BytesOfKeys = 100663296;  // bytes of L2 for keys and values

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t headSize = 0;  // head size, headSize
    int64_t headSizeV = 0;  // head size of values, headSizeV
    int64_t keyGiven = 0;  // whether key is passed
    int64_t valueGiven = 0;  // whether value is passed
    int64_t attentionMaskGiven = 0;  // whether attentionMask is passed
    int64_t batchStatusGiven = 0;  // whether batchStatus is passed
    int64_t logNGiven = 0;  // whether logN is passed
    int64_t queryLayout = 0;  // layout(query); 0: packed, 1: padded, 2: BNSD
    int64_t keyLayout = 0;  // layout(key); 0: packed, 1: padded
    int64_t valueLayout = 0;  // layout(value); 0: packed, 1: padded
    int64_t cacheKLayout = 0;  // layout(cacheK); 0: layers, 1: layer, 2: BNSD
    int64_t cacheVLayout = 0;  // layout(cacheV); 0: layers, 1: layer, 2: BNSD
    int64_t cacheType = 0;  // cacheType
    int64_t maskType = 0;  // maskType
    int64_t clampType = 0;  // clampType
    int64_t cacheKSplit = 0;  // split(cacheK)
    int64_t cacheVSplit = 0;  // split(cacheV)
    int64_t inputLayoutValue = 0;  // inputLayout
    // layout(attentionMask); 0: square, 1: per head, 2: per batch, 3: full, 4: 128, 5: 256, 6:
    // columns, 7: 512
    int64_t attentionMaskLayout = 0;
    int64_t calcType = 0;  // calcType
    int64_t kvHeads = 0;  // size kvHeads of the contract
    int64_t headNum = 0;  // parameter headNum
    int64_t qRows = 0;  // size qRows of the contract
    int64_t batch = 0;  // size batch of the contract
    int64_t maxSeqLen = 0;  // size maxSeqLen of the contract
    int64_t cores = 0;  // cube cores of the device
    int64_t nTokens = 0;  // size nTokens of the contract
    float qkScale = 0;  // parameter qkScale
    float qScale = 0;  // parameter qScale
    int64_t maskCols = 0;  // size maskCols of the contract
    int64_t kernelType = 0;  // parameter kernelType
    int64_t windowSize = 0;  // parameter windowSize
    float clampMin = 0;  // parameter clampMin
    float clampMax = 0;  // parameter clampMax
    int64_t outputLayout = 0;  // index of the layout of output
    int64_t maskRows = 0;  // size maskRows of the contract
    int64_t newRows = 0;  // size newRows of the contract
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem. `scheduleMode`:
// kBatchMode if blocks wait for each other. Blocks and workspace are in `tiling`.
constexpr uint32_t kBatchMode = 1;  // all blocks start at once, or none
struct Plan {
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    SelfAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline SelfAttentionTiling OneBlock()
{
    SelfAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// The differences between the launches of kernels. A form selects one of several expressions of a
// field.
struct Kernel {
    // of rowTotal, outputStrideN, queryStrideN, queryElements, workspaceBytes
    int32_t rowTotalForm;
    // of cacheKStrideT, cacheKStrideK, cacheKStrideB, cacheVStrideT, cacheVStrideK, cacheVStrideB
    int32_t cacheKStrideTForm;
    int32_t attentionMaskStrideBForm;  // of attentionMaskStrideB
    int32_t attentionMaskStrideNForm;  // of attentionMaskStrideN
    int32_t factorMultiplyForm;  // of factorMultiply
    int32_t headGroupsForm;  // of headGroups, headsAtOnce
    int64_t maxRows;  // query rows of one task, at most
    int64_t tileKeys;  // keys of one score tile
    int64_t paddedValueSize;  // head size of values and results, padded to 16
    int64_t ring;  // workspace slots between cube and vector cores
};

// The tiling data of a launch; a kernel reads the fields that it needs.
inline SelfAttentionTiling Tile(const Problem &problem, const Kernel &kernel)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    using attndsl::RoundUp;
    SelfAttentionTiling tiling{};
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.queriesPerTask = MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1));
    tiling.queryTiles = CeilDiv(problem.qRows, tiling.queriesPerTask);
    tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    // score tiles of a row, at most
    const int64_t keyTiles = CeilDiv(problem.maxSeqLen, kernel.tileKeys);
    tiling.splits = MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles));
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
    if (kernel.cacheKStrideTForm == 0) {
        tiling.cacheKStrideT =
            problem.cacheKLayout == values::CacheKLayout::kLayers
                ? problem.kvHeads * problem.headSize
                : problem.headSize;
    } else if (kernel.cacheKStrideTForm == 1) {
        tiling.cacheKStrideT = problem.kvHeads * problem.headSize;
    }
    tiling.keyStrideU = problem.kvHeads * problem.headSize;
    tiling.cacheKStrideY =
        problem.cacheKLayout == values::CacheKLayout::kLayers
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSize))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSize));
    if (kernel.cacheKStrideTForm == 0) {
        tiling.cacheKStrideK =
            problem.cacheKLayout == values::CacheKLayout::kLayers
                ? problem.headSize
                : problem.maxSeqLen * problem.headSize;
        tiling.cacheKStrideB =
            problem.cacheKLayout == values::CacheKLayout::kLayers
                ? problem.maxSeqLen * (problem.kvHeads * problem.headSize)
                : problem.kvHeads * (problem.maxSeqLen * problem.headSize);
    } else if (kernel.cacheKStrideTForm == 1) {
        tiling.cacheKStrideK = problem.headSize;
        tiling.cacheKStrideB = problem.maxSeqLen * (problem.kvHeads * problem.headSize);
    }
    tiling.keyStrideK = problem.headSize;
    if (kernel.cacheKStrideTForm == 0) {
        tiling.cacheVStrideT =
            problem.cacheVLayout == values::CacheVLayout::kLayers
                ? problem.kvHeads * problem.headSizeV
                : problem.headSizeV;
    } else if (kernel.cacheKStrideTForm == 1) {
        tiling.cacheVStrideT = problem.kvHeads * problem.headSizeV;
    }
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.cacheVStrideY =
        problem.cacheVLayout == values::CacheVLayout::kLayers
            ? problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV))
            : problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
    if (kernel.cacheKStrideTForm == 0) {
        tiling.cacheVStrideK =
            problem.cacheVLayout == values::CacheVLayout::kLayers
                ? problem.headSizeV
                : problem.maxSeqLen * problem.headSizeV;
        tiling.cacheVStrideB =
            problem.cacheVLayout == values::CacheVLayout::kLayers
                ? problem.maxSeqLen * (problem.kvHeads * problem.headSizeV)
                : problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
    } else if (kernel.cacheKStrideTForm == 1) {
        tiling.cacheVStrideK = problem.headSizeV;
        tiling.cacheVStrideB = problem.maxSeqLen * (problem.kvHeads * problem.headSizeV);
    }
    tiling.valueStrideK = problem.headSizeV;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryStrideS = problem.headNum * problem.headSize;
    if (kernel.rowTotalForm == 0) {
        tiling.queryStrideN = problem.headSize;
    } else if (kernel.rowTotalForm == 1) {
        tiling.queryStrideN =
            problem.queryLayout == values::QueryLayout::kPadded
                ? problem.headSize
                : problem.qRows * problem.headSize;
    }
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    if (kernel.rowTotalForm == 0) {
        tiling.queryElements = problem.nTokens * problem.headNum * problem.headSize;
    } else if (kernel.rowTotalForm == 1) {
        tiling.queryElements = problem.batch * problem.headNum * problem.qRows * problem.headSize;
    }
    tiling.batchRows = problem.batch;
    tiling.partialMaxOffset = 0;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp(partialRows * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp(partialRows * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingOffset =
        tiling.partialOutOffset
            + RoundUp(partialRows * kernel.paddedValueSize * kBytesOfFloat32, kWorkspaceAlignment);
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
    tiling.scaledQueryOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    if (kernel.rowTotalForm == 0) {
        tiling.workspaceBytes =
            tiling.scaledQueryOffset
                + RoundUp((problem.qScale != 1.0f
                    ? problem.nTokens * problem.headNum * problem.headSize
                    : 0) * kBytesOfFloat16,
                    kWorkspaceAlignment);
    } else if (kernel.rowTotalForm == 1) {
        tiling.workspaceBytes =
            tiling.scaledQueryOffset
                + RoundUp((problem.qScale != 1.0f
                    ? problem.batch * problem.headNum * problem.qRows * problem.headSize
                    : 0) * kBytesOfFloat16,
                    kWorkspaceAlignment);
    }
    if (kernel.attentionMaskStrideBForm == 0) {
        tiling.attentionMaskStrideB = 0;
    } else if (kernel.attentionMaskStrideBForm == 1) {
        tiling.attentionMaskStrideB = problem.maskRows * problem.maskCols;
    } else if (kernel.attentionMaskStrideBForm == 2) {
        tiling.attentionMaskStrideB = problem.headNum * problem.maskRows * problem.maskCols;
    }
    if (kernel.attentionMaskStrideNForm == 0) {
        tiling.attentionMaskStrideN = 0;
    } else if (kernel.attentionMaskStrideNForm == 1) {
        tiling.attentionMaskStrideN = problem.maskRows * problem.maskCols;
    }
    tiling.attentionMaskStrideQ = problem.maskCols;
    if (kernel.factorMultiplyForm == 0) {
        tiling.factorMultiply =
            problem.kernelType == values::KernelType::kHighPrecision
                && (problem.calcType == values::CalcType::kUndefined
                    || problem.calcType == values::CalcType::kEncoder
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
    // bytes of a head's keys and values
    const int64_t bytesOfHead =
        problem.maxSeqLen * ((problem.headSize + problem.headSizeV) * kBytesOfFloat16);
    // heads that L2 holds
    const int64_t headsThatFit = MaxOf(1, kL2BytesOfKeys / MaxOf(1, bytesOfHead));
    int64_t headGroups = 0;  // even groups of heads
    if (kernel.headGroupsForm == 0) {
        headGroups = MaxOf(1, CeilDiv(tiling.kvHeads, headsThatFit));
        tiling.headsAtOnce = CeilDiv(tiling.kvHeads, headGroups) * tiling.headTiles;
    }
    tiling.windowSize = problem.windowSize;
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
    tiling.queryStrideQ =
        problem.queryLayout == values::QueryLayout::kPadded
            ? problem.headNum * problem.headSize
            : problem.headSize;
    tiling.queryStrideB =
        problem.queryLayout == values::QueryLayout::kPadded
            ? problem.qRows * (problem.headNum * problem.headSize)
            : problem.headNum * (problem.qRows * problem.headSize);
    tiling.keyStrideB = problem.newRows * (problem.kvHeads * problem.headSize);
    tiling.valueStrideB = problem.newRows * (problem.kvHeads * problem.headSizeV);
    tiling.cacheKIsLayers = problem.cacheKLayout == values::CacheKLayout::kLayers;
    tiling.cacheVIsLayers = problem.cacheVLayout == values::CacheVLayout::kLayers;
    return tiling;
}

// A launch of the kernel with this tiling key. `waits`: its blocks wait for each other.
inline Plan PlanOf(SelfAttentionTilingKey key, const SelfAttentionTiling &tiling, bool waits)
{
    Plan plan{static_cast<uint64_t>(key), waits ? kBatchMode : 0, tiling};
    plan.tiling.key = plan.key;
    return plan;
}

// Selects the kernel for a problem and plans its launch. `empty`: there is nothing to compute; one
// block starts and ends.
inline Plan PlanLaunch(const Problem &problem, bool empty = false)
{
    using Key = SelfAttentionTilingKey;
    // All kernels ask for this.
    if (!((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.headSizeV > 112 && problem.headSizeV <= 128)) {
        return Plan{};
    }
    // self_attention_d128_e128_key_value: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.maskType == values::MaskType::kUndefined &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValue
                : Key::kBfloat16D128E128KeyValue;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_attentionMask_maskType_NORM: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kSquare &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_attentionMask_maskType_NORM;
        const Kernel kernel{
            0, 0, 0, 0, problem.queryDtype == values::QueryDtype::kFloat16 ? 0 : 1, 1,
            schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueAttentionMaskMaskTypeNORM
                : Key::kBfloat16D128E128KeyValueAttentionMaskMaskTypeNORM;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_batchStatus_cacheK_layer_cacheV_layer: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout == values::CacheKLayout::kLayer &&
        problem.cacheVLayout == values::CacheVLayout::kLayer &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.maskType == values::MaskType::kUndefined &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.inputLayoutValue == values::InputLayoutValue::kBsnd &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0) {
        namespace schedule =
            self_attention_d128_e128_key_value_batchStatus_cacheK_layer_cacheV_layer;
        constexpr Kernel kernel{
            0, 1, 0, 0, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer
                : Key::kBfloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_logN: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven != 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.calcType != values::CalcType::kDecoder &&
        problem.maskType == values::MaskType::kUndefined &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_logN;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueLogN
                : Key::kBfloat16D128E128KeyValueLogN;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_cacheType_SWA_maskType_SLIDING_WINDOW_NORM: float16 or
    // bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.calcType != values::CalcType::kDecoder &&
        (problem.maskType == values::MaskType::kSlidingWindowNorm
            || problem.maskType == values::MaskType::kSlidingWindowCompress) &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kSwa &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule =
            self_attention_d128_e128_key_value_cacheType_SWA_maskType_SLIDING_WINDOW_NORM;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueCacheTypeSWAMaskTypeSLIDINGWINDOWNORM
                : Key::kBfloat16D128E128KeyValueCacheTypeSWAMaskTypeSLIDINGWINDOWNORM;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, true);
    }
    // self_attention_d128_e128_key_value_clampType_MIN_MAX: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.maskType == values::MaskType::kUndefined &&
        problem.clampType == values::ClampType::kMinMax &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_clampType_MIN_MAX;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueClampTypeMINMAX
                : Key::kBfloat16D128E128KeyValueClampTypeMINMAX;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_attentionMask_inputLayout_BNSD_query_BNSD_maskType_NORM: float16 or
    // bfloat16
    if (problem.keyGiven == 0 &&
        problem.valueGiven == 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout != values::QueryLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kSquare &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule =
            self_attention_d128_e128_attentionMask_inputLayout_BNSD_query_BNSD_maskType_NORM;
        const Kernel kernel{
            1, 0, 0, 0, problem.queryDtype == values::QueryDtype::kFloat16 ? 0 : 1, 1,
            schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128AttentionMaskInputLayoutBNSDQueryBNSDMaskTypeNORM
                : Key::kBfloat16D128E128AttentionMaskInputLayoutBNSDQueryBNSDMaskTypeNORM;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128: float16 or bfloat16
    if (problem.keyGiven == 0 &&
        problem.valueGiven == 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.maskType == values::MaskType::kUndefined &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128
                : Key::kBfloat16D128E128;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kPerHead &&
        problem.maskType == values::MaskType::kAlibi &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI;
        constexpr Kernel kernel{
            0, 0, 0, 1, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueAttentionMaskAttentionMaskPerHeadMaskTypeALIBI
                : Key::kBfloat16D128E128KeyValueAttentionMaskAttentionMaskPerHeadMaskTypeALIBI;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_attentionMask_maskType_NORM: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kPerBatch &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_attentionMask_maskType_NORM;
        const Kernel kernel{
            0, 0, 1, 0, problem.queryDtype == values::QueryDtype::kFloat16 ? 0 : 1, 1,
            schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize, schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchMaskTypeNORM
                : Key::kBfloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchMaskTypeNORM;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kFull &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI;
        constexpr Kernel kernel{
            0, 0, 2, 1, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNORM
                : Key::kBfloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNORM;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_maskType_NORM_COMPRESS: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.maskType == values::MaskType::kNormCompress &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_maskType_NORM_COMPRESS;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueMaskTypeNORMCOMPRESS
                : Key::kBfloat16D128E128KeyValueMaskTypeNORMCOMPRESS;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.calcType != values::CalcType::kDecoder &&
        (problem.maskType == values::MaskType::kSlidingWindowNorm
            || problem.maskType == values::MaskType::kSlidingWindowCompress) &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueMaskTypeSLIDINGWINDOWCOMPRESS
                : Key::kBfloat16D128E128KeyValueMaskTypeSLIDINGWINDOWCOMPRESS;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_key_padded_value_padded: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPadded &&
        problem.valueLayout == values::ValueLayout::kPadded &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.maskType == values::MaskType::kUndefined &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_key_padded_value_padded;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueKeyPaddedValuePadded
                : Key::kBfloat16D128E128KeyValueKeyPaddedValuePadded;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_query_padded: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout != values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.maskType == values::MaskType::kUndefined &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_query_padded;
        constexpr Kernel kernel{
            1, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueQueryPadded
                : Key::kBfloat16D128E128KeyValueQueryPadded;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI: float16 or bfloat16
    if (problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.attentionMaskGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kSquare &&
        problem.maskType == values::MaskType::kAlibi &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueAttentionMaskMaskTypeALIBI
                : Key::kBfloat16D128E128KeyValueAttentionMaskMaskTypeALIBI;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    // self_attention_d128_e128_cacheK_list_cacheV_list: float16 or bfloat16
    if (problem.keyGiven == 0 &&
        problem.valueGiven == 0 &&
        problem.attentionMaskGiven == 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.maskType == values::MaskType::kUndefined &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheKSplit == 1 &&
        problem.cacheVSplit == 1 &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers) &&
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers)) {
        namespace schedule = self_attention_d128_e128_cacheK_list_cacheV_list;
        constexpr Kernel kernel{
            0, 0, 0, 0, 0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedValueSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128CacheKListCacheVList
                : Key::kBfloat16D128E128CacheKListCacheVList;
        const SelfAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.queryIsScaled || tiling.splits > 1);
    }
    return Plan{};
}

}  // namespace self_attention_host

#endif  // ATTNDSL_SELF_ATTENTION_PLAN_H
