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
#include "../op_kernel/self_attention_d128_e128_key_value_attentionMask_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_maskType_NORM_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_key_padded_value_padded_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_query_padded_schedule.h"
#include "../op_kernel/self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI_schedule.h"
#include "../op_kernel/self_attention_d128_e128_cacheK_list_cacheV_list_schedule.h"
#include "../op_kernel/self_attention_tiling.h"
#include "arithmetic.h"

namespace self_attention_host {

// Codes of layouts, dtypes and parameters in a problem.
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

// parts of the busiest core's positions, for the next number
constexpr int64_t kPartsOfBusiestCore = 9;
// small tasks, which read keys more often, are worth that if they leave fewer of these parts
constexpr int64_t kPartsWithSmallTasks = 8;
constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses
constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16
constexpr int64_t kKeysShareOfL2 = 2;  // one part in so many of L2 is for keys and values

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t headSize = 0;  // head size of queries and keys
    int64_t headSizeV = 0;  // head size of values
    int64_t keyGiven = 0;  // 1 if key is passed
    int64_t valueGiven = 0;  // 1 if value is passed
    int64_t attentionMaskGiven = 0;  // 1 if attentionMask is passed
    int64_t batchStatusGiven = 0;  // 1 if batchStatus is passed
    int64_t logNGiven = 0;  // 1 if logN is passed
    int64_t queryLayout = 0;  // layout of query; 0: packed, 1: padded, 2: BNSD
    int64_t keyLayout = 0;  // layout of key; 0: packed, 1: padded
    int64_t valueLayout = 0;  // layout of value; 0: packed, 1: padded
    int64_t cacheKLayout = 0;  // layout of cacheK; 0: layers, 1: layer, 2: BNSD
    int64_t cacheVLayout = 0;  // layout of cacheV; 0: layers, 1: layer, 2: BNSD
    int64_t cacheType = 0;  // parameter cacheType
    int64_t maskType = 0;  // parameter maskType
    int64_t clampType = 0;  // parameter clampType, of scores, before the mask
    int64_t cacheKSplit = 0;  // 1 if cacheK is a list of one tensor a batch row
    int64_t cacheVSplit = 0;  // 1 if cacheV is a list of one tensor a batch row
    int64_t inputLayoutValue = 0;  // parameter inputLayout
    // layout of attentionMask; 0: square, 1: per head, 2: per batch, 3: full, 4: 128, 5: 256, 6:
    // columns, 7: 512
    int64_t attentionMaskLayout = 0;
    int64_t calcType = 0;  // parameter calcType
    int64_t kvHeads = 0;  // key/value heads
    int64_t headNum = 0;  // parameter headNum
    int64_t batch = 0;  // batch rows
    int64_t qRows = 0;  // query positions of a batch row
    int64_t cores = 0;  // cube cores of the device
    int64_t nTokens = 0;  // packed query tokens of all batch rows
    int64_t maxSeqLen = 0;  // key positions of a batch row
    // whether all blocks start at once, so that they may wait for each other
    bool startTogether = false;
    float qkScale = 0;  // parameter qkScale, on the scores
    float qScale = 0;  // parameter qScale, on the query, in its dtype; with a cache
    int64_t kernelType = 0;  // parameter kernelType
    int64_t maskCols = 0;  // size of dimension 1 of attentionMask in the layout square
    int64_t l2Bytes = 0;  // bytes of the device's L2
    int64_t windowSize = 0;  // parameter windowSize, keys that a query sees, its own included
    float clampMin = 0;  // parameter clampMin
    float clampMax = 0;  // parameter clampMax
    int64_t maskRows = 0;  // size of dimension 0 of attentionMask in the layout square
    int64_t newRows = 0;  // stored key rows, of a group or of all batch rows
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
    SelfAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline SelfAttentionTiling OneBlock()
{
    SelfAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// What a plan knows of a kernel: the constants of its schedule, 0 where it has none of a name.
struct Kernel {
    int64_t maxRows = 0;  // query rows of a half of a task, at most
    int64_t rowsPerBand = 0;  // query rows of a band of a task's rows
    int64_t tileKeys = 0;  // keys of one score tile
    int64_t ring = 0;  // slots of a workspace ring of score or probability tiles, at most
    int64_t mostHalves = 0;  // halves of a task, at most
    int64_t paddedValueSize = 0;  // head size of values and results, padded to 16
    int64_t prefetch = 0;  // tiles by which the scores run ahead of the weighted sums
    // its tiling function
    SelfAttentionTiling (*tile)(const Problem &problem, const Kernel &kernel) = nullptr;
    // whether blocks wait for each other
    bool (*waits)(const Problem &problem, const Kernel &kernel,
        const SelfAttentionTiling &tiling) = nullptr;
};

// Cuts the rows into tasks and their keys into splits; the blocks that share them.
inline void PartitionWork(const Problem &problem, const Kernel &kernel, SelfAttentionTiling &tiling)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    using attndsl::RoundUp;
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    // tasks of all heads at the same positions
    const int64_t tasksAbreast = problem.batch * (tiling.kvHeads * tiling.headTiles);
    // score tiles of a row, at most
    const int64_t keyTiles = CeilDiv(problem.maxSeqLen, kernel.tileKeys);
    // bytes of a head's keys and values
    const int64_t bytesOfHead =
        problem.maxSeqLen * ((problem.headSize + problem.headSizeV) * kBytesOfFloat16);
    // heads that L2 holds
    const int64_t headsThatFit = MaxOf(1, problem.l2Bytes / kKeysShareOfL2 / MaxOf(1, bytesOfHead));
    // even groups of heads
    const int64_t headGroups = MaxOf(1, CeilDiv(tiling.kvHeads, headsThatFit));
    tiling.headsAtOnce = CeilDiv(tiling.kvHeads, headGroups) * tiling.headTiles;
    // query positions of a half, at most
    const int64_t queriesPerHalf = MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1));
    // query positions of a large task
    const int64_t queriesPerLargeTask = MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1));
    // large tasks of a batch row, if all are large
    const int64_t allTiles = CeilDiv(problem.qRows, queriesPerLargeTask);
    // query positions of the busiest core with those
    const int64_t allOfCore = CeilDiv(tasksAbreast * allTiles, problem.cores) * queriesPerLargeTask;
    // large tasks that the positions of a batch row fill
    const int64_t fullTiles = problem.qRows / queriesPerLargeTask;
    // large tasks of a batch row, if they fill whole rounds
    const int64_t wholeTiles =
        MinOf(fullTiles,
            tasksAbreast * fullTiles / problem.cores * problem.cores / MaxOf(tasksAbreast, 1));
    // rounds of them
    const int64_t wholeRounds = CeilDiv(tasksAbreast * wholeTiles, problem.cores);
    // large tasks that have queries, at most
    const int64_t filledTasks =
        (problem.nTokens + problem.batch * (queriesPerLargeTask - 1)) / queriesPerLargeTask
            * (tiling.kvHeads * tiling.headTiles);
    // tasks of two halves of a batch row, at least
    const int64_t fewestPairs = CeilDiv(problem.qRows, 2 * queriesPerLargeTask);
    // rounds of them
    const int64_t roundsOfPairs = CeilDiv(tasksAbreast * fewestPairs, problem.cores);
    // tasks at the same positions that follow each other
    const int64_t tasksBeside =
        tiling.headsAtOnce < tiling.kvHeads * tiling.headTiles ? tiling.headsAtOnce : tasksAbreast;
    // tasks of two halves that a batch row's positions fill
    const int64_t fullPairs = problem.qRows / (2 * queriesPerHalf);
    // rounds of them, an even number
    const int64_t evenRounds = tasksBeside * fullPairs / (2 * problem.cores) * 2;
    // as many as these rounds have room for
    const int64_t pairsInRounds = evenRounds * problem.cores / MaxOf(tasksBeside, 1);
    int64_t pairs{};  // such tasks that fill the rounds
    int64_t queriesPerPair{};  // query positions of such a task
    if (problem.maskType == values::MaskType::kUndefined) {
        pairs = MaxOf(fewestPairs, roundsOfPairs * problem.cores / MaxOf(tasksAbreast, 1));
        queriesPerPair = CeilDiv(problem.qRows, MaxOf(pairs, 1));
    } else {
        pairs =
            MinOf(tasksBeside * fullPairs,
                problem.nTokens / (2 * queriesPerHalf) * (tiling.kvHeads * tiling.headTiles))
                >= 2 * problem.cores
                && pairsInRounds * tasksBeside * kPartsOfBusiestCore
                    >= (tiling.headsAtOnce < tiling.kvHeads * tiling.headTiles
                        ? evenRounds * problem.cores * kPartsOfBusiestCore
                        : evenRounds * problem.cores * kPartsWithSmallTasks)
                ? pairsInRounds
                : 0;
        queriesPerPair =
            CeilDiv(MaxOf(0,
                problem.qRows
                    - RoundUp(MaxOf(0, problem.qRows - pairs * (2 * queriesPerLargeTask)),
                        queriesPerLargeTask)),
                MaxOf(pairs, 1));
    }
    if (problem.maskType != values::MaskType::kNormCompress) {
        tiling.queriesPerSmallTask = MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1));
    } else {
        tiling.queriesPerSmallTask =
            pairs > 0
                ? queriesPerHalf
                : MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1));
    }
    // small tasks after the last round of them
    const int64_t smallAfterwards =
        MaxOf(0,
            tasksAbreast
                * CeilDiv(MaxOf(0, problem.qRows - wholeTiles * queriesPerLargeTask),
                    tiling.queriesPerSmallTask)
                - (wholeRounds * problem.cores - tasksAbreast * wholeTiles));
    // query positions of the busiest core with those
    const int64_t wholeOfCore =
        wholeRounds * queriesPerLargeTask
            + CeilDiv(smallAfterwards, problem.cores) * tiling.queriesPerSmallTask;
    // query positions of the busiest core, if all tasks are small
    const int64_t smallOfCore =
        CeilDiv(tasksAbreast * CeilDiv(problem.qRows, tiling.queriesPerSmallTask), problem.cores)
            * tiling.queriesPerSmallTask;
    int64_t filledPairs{};  // tasks of two halves that have queries, at most
    int64_t largeTilesWithoutPairs{};  // large tasks of a batch row, if none has two halves
    if (problem.queryLayout == values::QueryLayout::kPacked) {
        largeTilesWithoutPairs =
            (MinOf(tasksAbreast * allTiles, filledTasks) < problem.cores
                || smallOfCore * kPartsOfBusiestCore
                    < MinOf(wholeOfCore, allOfCore) * kPartsWithSmallTasks)
                ? 0
                : (wholeOfCore < allOfCore ? wholeTiles : allTiles);
        filledPairs =
            (problem.nTokens + problem.batch * (2 * queriesPerLargeTask - 1))
                / (2 * queriesPerLargeTask) * (tiling.kvHeads * tiling.headTiles);
        tiling.rowTotal = problem.nTokens * problem.headNum;
    } else {
        largeTilesWithoutPairs =
            (tasksAbreast * allTiles < problem.cores
                || smallOfCore * kPartsOfBusiestCore
                    < MinOf(wholeOfCore, allOfCore) * kPartsWithSmallTasks)
                ? 0
                : (wholeOfCore < allOfCore ? wholeTiles : allTiles);
        tiling.rowTotal = problem.batch * problem.qRows * problem.headNum;
    }
    // query positions of the busiest core with large and small tasks
    int64_t largeAndSmallOfCore{};
    if (problem.maskType == values::MaskType::kUndefined) {
        largeAndSmallOfCore =
            CeilDiv(tasksAbreast * largeTilesWithoutPairs, problem.cores) * queriesPerLargeTask
                + CeilDiv(MaxOf(0,
                    tasksAbreast
                        * CeilDiv(
                            MaxOf(0, problem.qRows - largeTilesWithoutPairs * queriesPerLargeTask),
                            tiling.queriesPerSmallTask)
                        - (CeilDiv(tasksAbreast * largeTilesWithoutPairs, problem.cores)
                            * problem.cores
                            - tasksAbreast * largeTilesWithoutPairs)),
                    problem.cores)
                    * tiling.queriesPerSmallTask;
    }
    // whether tasks of two halves leave no core more
    const bool pairsPay =
        problem.queryLayout == values::QueryLayout::kPacked
            ? queriesPerPair > queriesPerLargeTask
            && MinOf(tasksAbreast * fewestPairs, filledPairs) >= problem.cores
            && roundsOfPairs * queriesPerPair * kPartsWithSmallTasks
                <= largeAndSmallOfCore * kPartsOfBusiestCore
            : queriesPerPair > queriesPerLargeTask
            && tasksAbreast * fewestPairs >= problem.cores
            && roundsOfPairs * queriesPerPair * kPartsWithSmallTasks
                <= largeAndSmallOfCore * kPartsOfBusiestCore;
    if (problem.maskType == values::MaskType::kUndefined) {
        tiling.largeTiles = pairsPay ? pairs : largeTilesWithoutPairs;
        if (tiling.largeTiles <= 0) {
            tiling.queriesPerTask = tiling.queriesPerSmallTask;
        } else if (pairsPay) {
            tiling.queriesPerTask = queriesPerPair;
        } else {
            tiling.queriesPerTask = queriesPerLargeTask;
        }
        tiling.smallPositions =
            RoundUp(MaxOf(0,
                problem.qRows
                    - tiling.largeTiles * (pairsPay ? queriesPerPair : queriesPerLargeTask)),
                tiling.queriesPerSmallTask);
    } else if (problem.maskType == values::MaskType::kSlidingWindowNorm
        || problem.maskType == values::MaskType::kSlidingWindowCompress) {
        if (MinOf(tasksAbreast * allTiles, filledTasks) < problem.cores
            || smallOfCore * kPartsOfBusiestCore
                < MinOf(wholeOfCore, allOfCore) * kPartsWithSmallTasks) {
            tiling.largeTiles = 0;
        } else if (wholeOfCore < allOfCore) {
            tiling.largeTiles = wholeTiles;
        } else {
            tiling.largeTiles = allTiles;
        }
        tiling.queriesPerTask =
            tiling.largeTiles > 0 ? queriesPerLargeTask : tiling.queriesPerSmallTask;
        tiling.smallPositions =
            RoundUp(MaxOf(0, problem.qRows - tiling.largeTiles * queriesPerLargeTask),
                tiling.queriesPerSmallTask);
    } else {
        if (pairs > 0) {
            tiling.largeTiles = pairs;
        } else if (MinOf(tasksAbreast * allTiles, filledTasks) < problem.cores
            || smallOfCore * kPartsOfBusiestCore
                < MinOf(wholeOfCore, allOfCore) * kPartsWithSmallTasks) {
            tiling.largeTiles = 0;
        } else if (wholeOfCore < allOfCore) {
            tiling.largeTiles = wholeTiles;
        } else {
            tiling.largeTiles = allTiles;
        }
        if (tiling.largeTiles <= 0) {
            tiling.queriesPerTask = tiling.queriesPerSmallTask;
        } else if (pairs > 0) {
            tiling.queriesPerTask = queriesPerPair;
        } else {
            tiling.queriesPerTask = queriesPerLargeTask;
        }
        tiling.smallPositions =
            RoundUp(MaxOf(0,
                problem.qRows
                    - tiling.largeTiles * (pairs > 0 ? queriesPerPair : queriesPerLargeTask)),
                tiling.queriesPerSmallTask);
    }
    tiling.queryTiles = tiling.largeTiles + tiling.smallPositions / tiling.queriesPerSmallTask;
    tiling.largeTasks = tasksAbreast * tiling.largeTiles;
    tiling.tasks = problem.batch * tiling.kvHeads * tiling.headTiles * tiling.queryTiles;
    tiling.splits =
        problem.startTogether
            ? MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles))
            : 1;
    tiling.items = tiling.tasks * tiling.splits;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.rowsPerTask =
        (problem.maskType == values::MaskType::kUndefined
            || problem.maskType == values::MaskType::kNormCompress)
            ? MinOf(tiling.headsPerTask * tiling.queriesPerTask,
                tiling.headsPerTask * queriesPerLargeTask)
            : tiling.headsPerTask * tiling.queriesPerTask;
}

// Elements between neighbours along the axes of tensors, by layout.
inline void SetStrides(const Problem &problem, SelfAttentionTiling &tiling)
{
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.keyStrideU = problem.kvHeads * problem.headSize;
    tiling.keyStrideK = problem.headSize;
    tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
    tiling.valueStrideK = problem.headSizeV;
    tiling.queryStrideS = problem.headNum * problem.headSize;
    tiling.attentionMaskStrideQ = problem.maskCols;
    tiling.attentionMaskStrideN = problem.maskRows * problem.maskCols;
    tiling.keyStrideB = problem.newRows * tiling.keyStrideU;
    tiling.valueStrideB = problem.newRows * tiling.valueStrideU;
    switch (problem.queryLayout) {
        case values::QueryLayout::kPacked:
            tiling.outputStrideN = problem.headSizeV;
            tiling.queryStrideN = problem.headSize;
            break;
        case values::QueryLayout::kPadded:
            tiling.outputStrideN = problem.headSizeV;
            tiling.queryStrideN = problem.headSize;
            tiling.outputStrideB = problem.qRows * tiling.outputStrideS;
            tiling.outputStrideQ = tiling.outputStrideS;
            tiling.queryStrideQ = tiling.queryStrideS;
            tiling.queryStrideB = problem.qRows * tiling.queryStrideS;
            break;
        case values::QueryLayout::kBnsd:
            tiling.outputStrideN = problem.qRows * problem.headSizeV;
            tiling.queryStrideN = problem.qRows * problem.headSize;
            tiling.outputStrideB = problem.headNum * (problem.qRows * problem.headSizeV);
            tiling.outputStrideQ = problem.headSizeV;
            tiling.queryStrideQ = problem.headSize;
            tiling.queryStrideB = problem.headNum * (problem.qRows * problem.headSize);
            break;
        default:
            break;
    }
    switch (problem.cacheKLayout) {
        case values::CacheKLayout::kLayers:
            tiling.cacheKStrideT = problem.kvHeads * problem.headSize;
            tiling.cacheKStrideY =
                problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSize));
            tiling.cacheKStrideK = problem.headSize;
            tiling.cacheKStrideB = problem.maxSeqLen * (problem.kvHeads * problem.headSize);
            break;
        case values::CacheKLayout::kLayer:
            tiling.cacheKStrideT = problem.kvHeads * problem.headSize;
            tiling.cacheKStrideK = problem.headSize;
            tiling.cacheKStrideB = problem.maxSeqLen * (problem.kvHeads * problem.headSize);
            break;
        case values::CacheKLayout::kBnsd:
            tiling.cacheKStrideT = problem.headSize;
            tiling.cacheKStrideY =
                problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSize));
            tiling.cacheKStrideK = problem.maxSeqLen * problem.headSize;
            tiling.cacheKStrideB = problem.kvHeads * (problem.maxSeqLen * problem.headSize);
            break;
        default:
            break;
    }
    switch (problem.cacheVLayout) {
        case values::CacheVLayout::kLayers:
            tiling.cacheVStrideT = problem.kvHeads * problem.headSizeV;
            tiling.cacheVStrideY =
                problem.batch * (problem.maxSeqLen * (problem.kvHeads * problem.headSizeV));
            tiling.cacheVStrideK = problem.headSizeV;
            tiling.cacheVStrideB = problem.maxSeqLen * (problem.kvHeads * problem.headSizeV);
            break;
        case values::CacheVLayout::kLayer:
            tiling.cacheVStrideT = problem.kvHeads * problem.headSizeV;
            tiling.cacheVStrideK = problem.headSizeV;
            tiling.cacheVStrideB = problem.maxSeqLen * (problem.kvHeads * problem.headSizeV);
            break;
        case values::CacheVLayout::kBnsd:
            tiling.cacheVStrideT = problem.headSizeV;
            tiling.cacheVStrideY =
                problem.batch * (problem.kvHeads * (problem.maxSeqLen * problem.headSizeV));
            tiling.cacheVStrideK = problem.maxSeqLen * problem.headSizeV;
            tiling.cacheVStrideB = problem.kvHeads * (problem.maxSeqLen * problem.headSizeV);
            break;
        default:
            break;
    }
    switch (problem.attentionMaskLayout) {
        case values::AttentionMaskLayout::kPerBatch:
            tiling.attentionMaskStrideB = tiling.attentionMaskStrideN;
            break;
        case values::AttentionMaskLayout::kFull:
            tiling.attentionMaskStrideB = problem.headNum * problem.maskRows * problem.maskCols;
            break;
        default:
            break;
    }
}

// Sizes and settings as kernels read them.
inline void SetScalars(const Problem &problem, const Kernel &kernel, SelfAttentionTiling &tiling)
{
    using attndsl::MinOf;
    tiling.qkScale = problem.qkScale;
    tiling.valueDim = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.headDim = problem.headSize;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.qScale = problem.qScale;
    tiling.warmKeys = MinOf(kernel.tileKeys, problem.maxSeqLen);
    tiling.warmRows =
        tiling.largeTasks < tiling.tasks
            ? MinOf(tiling.queriesPerSmallTask * tiling.headsPerTask,
                MinOf(tiling.rowsPerTask, tiling.headsPerTask * problem.qRows))
            : MinOf(tiling.rowsPerTask, tiling.headsPerTask * problem.qRows);
    tiling.batchRows = problem.batch;
    tiling.windowSize = problem.windowSize;
    tiling.clampMin = problem.clampMin;
    tiling.clampMax = problem.clampMax;
    tiling.cacheKIsLayers = problem.cacheKLayout == values::CacheKLayout::kLayers;
    tiling.cacheVIsLayers = problem.cacheVLayout == values::CacheVLayout::kLayers;
    tiling.queryElements =
        problem.queryLayout == values::QueryLayout::kPacked
            ? problem.nTokens * problem.headNum * problem.headSize
            : problem.batch * problem.headNum * problem.qRows * problem.headSize;
}

// Puts the tensors of the workspace one after the other, in bytes.
inline void PlaceWorkspace(const Kernel &kernel, SelfAttentionTiling &tiling)
{
    using attndsl::RoundUp;
    // rows of all key splits, 0 without any
    const int64_t partialRows = tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0;
    tiling.outRingOffset = 0;
    // bytes of the row maxima of key splits
    const int64_t partialMaxBytes =
        RoundUp(partialRows * attndsl::kBlockLanes * kBytesOfFloat32, kWorkspaceAlignment);
    // bytes of the weighted sums of key splits
    const int64_t partialOutBytes =
        RoundUp(partialRows * kernel.paddedValueSize * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingPart =
        RoundUp(kernel.prefetch * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.probRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat16,
            kWorkspaceAlignment);
    // bytes of the scaled query
    const int64_t scaledQueryBytes =
        RoundUp((tiling.queryIsScaled ? tiling.queryElements : 0) * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.outRingPart =
        kernel.mostHalves > 0
            ? RoundUp(kernel.ring * kernel.mostHalves * tiling.rowsPerTask
                * kernel.paddedValueSize * kBytesOfFloat32,
                kWorkspaceAlignment)
            : RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedValueSize * kBytesOfFloat32,
                kWorkspaceAlignment);
    tiling.partialMaxOffset = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.partialSumOffset = tiling.partialMaxOffset + partialMaxBytes;
    tiling.partialOutOffset = tiling.partialSumOffset + partialMaxBytes;
    tiling.scoreRingOffset = tiling.partialOutOffset + partialOutBytes;
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.scaledQueryOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.workspaceBytes = tiling.scaledQueryOffset + scaledQueryBytes;
}

// Whether blocks wait for each other: all start at once, or none.
inline bool BlocksWait(const Problem &problem, [[maybe_unused]] const Kernel &kernel,
    const SelfAttentionTiling &tiling)
{
    return problem.cacheType != values::CacheType::kNorm
        || (tiling.queryIsScaled || tiling.splits > 1);
}

// The tiling data of a launch. Fields that a kernel does not read have a value, too, or 0.
inline SelfAttentionTiling Tile(const Problem &problem, const Kernel &kernel)
{
    SelfAttentionTiling tiling{};
    PartitionWork(problem, kernel, tiling);
    SetStrides(problem, tiling);
    SetScalars(problem, kernel, tiling);
    PlaceWorkspace(kernel, tiling);
    return tiling;
}

// Cuts the rows into tasks and their keys into splits; the blocks that share them.
inline void PartitionWorkWithoutLargeTiles(const Problem &problem, const Kernel &kernel,
    SelfAttentionTiling &tiling)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
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
    tiling.splits =
        problem.startTogether
            ? MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles))
            : 1;
    tiling.items = tiling.tasks * tiling.splits;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.rowTotal =
        problem.keyGiven == 1
            ? problem.nTokens * problem.headNum
            : problem.batch * problem.qRows * problem.headNum;
}

// Sizes and settings as kernels read them.
inline void SetScalarsWithoutLargeTiles(const Problem &problem, SelfAttentionTiling &tiling)
{
    tiling.qkScale = problem.qkScale;
    tiling.valueDim = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.headDim = problem.headSize;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.maxSeqLen;
    tiling.queryIsScaled = problem.qScale != 1.0f;
    tiling.qScale = problem.qScale;
    tiling.batchRows = problem.batch;
    if (problem.queryDtype == values::QueryDtype::kFloat16) {
        tiling.attentionMaskFactor =
            problem.kernelType == values::KernelType::kHighPrecision
                && attndsl::IsOneOf(problem.calcType, values::CalcType::kUndefined,
                    values::CalcType::kEncoder, values::CalcType::kPaEncoder)
                && attndsl::IsOneOf(problem.maskType, values::MaskType::kNorm,
                    values::MaskType::kNormCompress, values::MaskType::kSlidingWindowNorm,
                    values::MaskType::kSlidingWindowCompress)
                ? -3e+38f
                : 1.0f;
    } else {
        tiling.attentionMaskFactor =
            attndsl::IsOneOf(problem.maskType, values::MaskType::kNorm,
                values::MaskType::kNormCompress, values::MaskType::kSlidingWindowNorm,
                values::MaskType::kSlidingWindowCompress)
                ? -3e+38f
                : 1.0f;
    }
    tiling.queryElements =
        problem.keyGiven == 1
            ? problem.nTokens * problem.headNum * problem.headSize
            : problem.batch * problem.headNum * problem.qRows * problem.headSize;
}

// Puts the tensors of the workspace one after the other, in bytes.
inline void PlaceWorkspaceWithoutLargeTiles(const Kernel &kernel, SelfAttentionTiling &tiling)
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
        RoundUp(partialRows * kernel.paddedValueSize * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingOffset = tiling.partialOutOffset + partialOutBytes;
    tiling.scoreRingPart =
        RoundUp(kernel.prefetch * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat32,
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
    // bytes of the scaled query
    const int64_t scaledQueryBytes =
        RoundUp((tiling.queryIsScaled ? tiling.queryElements : 0) * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.workspaceBytes = tiling.scaledQueryOffset + scaledQueryBytes;
}

// Whether blocks wait for each other: all start at once, or none.
inline bool BlocksWaitWithoutLargeTiles([[maybe_unused]] const Problem &problem,
    [[maybe_unused]] const Kernel &kernel, const SelfAttentionTiling &tiling)
{
    return tiling.queryIsScaled || tiling.splits > 1;
}

// The tiling data of a launch of kernels without largeTiles. Fields that a kernel does not read
// have a value, too, or 0.
inline SelfAttentionTiling TileWithoutLargeTiles(const Problem &problem, const Kernel &kernel)
{
    SelfAttentionTiling tiling{};
    PartitionWorkWithoutLargeTiles(problem, kernel, tiling);
    SetStrides(problem, tiling);
    SetScalarsWithoutLargeTiles(problem, tiling);
    PlaceWorkspaceWithoutLargeTiles(kernel, tiling);
    return tiling;
}

// What the plan knows of each kernel, in the order of the members of `Kernel`.
namespace kernels {
constexpr Kernel OfD128E128KeyValue()
{
    namespace schedule = self_attention_d128_e128_key_value;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}

constexpr Kernel OfD128E128KeyValueAttentionMaskMaskTypeNorm()
{
    namespace schedule = self_attention_d128_e128_key_value_attentionMask_maskType_NORM;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, &TileWithoutLargeTiles,
        &BlocksWaitWithoutLargeTiles};
}

constexpr Kernel OfD128E128KeyValueBatchStatusCacheKLayerCacheVLayer()
{
    namespace schedule = self_attention_d128_e128_key_value_batchStatus_cacheK_layer_cacheV_layer;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}

constexpr Kernel OfD128E128KeyValueLogN()
{
    namespace schedule = self_attention_d128_e128_key_value_logN;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}

constexpr Kernel OfD128E128KeyValueCacheTypeSwaMaskTypeSlidingWindowNorm()
{
    namespace schedule =
        self_attention_d128_e128_key_value_cacheType_SWA_maskType_SLIDING_WINDOW_NORM;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}

constexpr Kernel OfD128E128KeyValueClampTypeMinMax()
{
    namespace schedule = self_attention_d128_e128_key_value_clampType_MIN_MAX;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}

constexpr Kernel OfD128E128AttentionMaskInputLayoutBnsdQueryBnsdMaskTypeNorm()
{
    namespace schedule =
        self_attention_d128_e128_attentionMask_inputLayout_BNSD_query_BNSD_maskType_NORM;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, &TileWithoutLargeTiles,
        &BlocksWaitWithoutLargeTiles};
}

constexpr Kernel OfD128E128()
{
    namespace schedule = self_attention_d128_e128;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}

constexpr Kernel OfD128E128KeyValueAttentionMask()
{
    namespace schedule = self_attention_d128_e128_key_value_attentionMask;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, &TileWithoutLargeTiles,
        &BlocksWaitWithoutLargeTiles};
}

constexpr Kernel OfD128E128KeyValueMaskTypeNormCompress()
{
    namespace schedule = self_attention_d128_e128_key_value_maskType_NORM_COMPRESS;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}

constexpr Kernel OfD128E128KeyValueMaskTypeSlidingWindowCompress()
{
    namespace schedule = self_attention_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}

constexpr Kernel OfD128E128KeyValueKeyPaddedValuePadded()
{
    namespace schedule = self_attention_d128_e128_key_value_key_padded_value_padded;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}

constexpr Kernel OfD128E128KeyValueQueryPadded()
{
    namespace schedule = self_attention_d128_e128_key_value_query_padded;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}

constexpr Kernel OfD128E128KeyValueAttentionMaskMaskTypeAlibi()
{
    namespace schedule = self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, &TileWithoutLargeTiles,
        &BlocksWaitWithoutLargeTiles};
}

constexpr Kernel OfD128E128CacheKListCacheVList()
{
    namespace schedule = self_attention_d128_e128_cacheK_list_cacheV_list;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, &Tile, &BlocksWait};
}
}  // namespace kernels

// The kernel that a problem is launched with.
struct Choice {
    SelfAttentionTilingKey key{};
    Kernel kernel;
};

// Whether a kernel is generated for a problem; `choice` becomes the first that takes it.
inline bool SelectKernel(const Problem &problem, Choice &choice)
{
    using Key = SelfAttentionTilingKey;
    // All kernels ask for this.
    if (!((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.headSizeV > 112 && problem.headSizeV <= 128)) {
        return false;
    }
    const bool inputLayoutIsBnsdOrCacheKIsLayers =
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheKLayout == values::CacheKLayout::kLayers);
    const bool inputLayoutIsBnsdOrCacheVIsLayers =
        (problem.inputLayoutValue == values::InputLayoutValue::kBnsd
            || problem.cacheVLayout == values::CacheVLayout::kLayers);
    // Most kernels ask for all of this.
    const bool isUsual = problem.keyGiven != 0 &&
        problem.valueGiven != 0 &&
        problem.batchStatusGiven == 0 &&
        problem.logNGiven == 0 &&
        problem.queryLayout == values::QueryLayout::kPacked &&
        problem.keyLayout == values::KeyLayout::kPacked &&
        problem.valueLayout == values::ValueLayout::kPacked &&
        problem.cacheKLayout != values::CacheKLayout::kLayer &&
        problem.cacheVLayout != values::CacheVLayout::kLayer &&
        problem.cacheKSplit == 0 &&
        problem.cacheVSplit == 0 &&
        inputLayoutIsBnsdOrCacheKIsLayers &&
        inputLayoutIsBnsdOrCacheVIsLayers;
    // self_attention_d128_e128_key_value: float16 or bfloat16
    if (isUsual &&
        problem.attentionMaskGiven == 0 &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.maskType == values::MaskType::kUndefined &&
        problem.clampType == values::ClampType::kUndefined) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValue
                : Key::kBfloat16D128E128KeyValue;
        choice.kernel = kernels::OfD128E128KeyValue();
        return true;
    }
    // self_attention_d128_e128_key_value_attentionMask_maskType_NORM: float16 or bfloat16
    if (isUsual &&
        problem.attentionMaskGiven != 0 &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kSquare &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueAttentionMaskMaskTypeNorm
                : Key::kBfloat16D128E128KeyValueAttentionMaskMaskTypeNorm;
        choice.kernel = kernels::OfD128E128KeyValueAttentionMaskMaskTypeNorm();
        return true;
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
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer
                : Key::kBfloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer;
        choice.kernel = kernels::OfD128E128KeyValueBatchStatusCacheKLayerCacheVLayer();
        return true;
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
        inputLayoutIsBnsdOrCacheKIsLayers &&
        inputLayoutIsBnsdOrCacheVIsLayers) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueLogN
                : Key::kBfloat16D128E128KeyValueLogN;
        choice.kernel = kernels::OfD128E128KeyValueLogN();
        return true;
    }
    // self_attention_d128_e128_key_value_cacheType_SWA_maskType_SLIDING_WINDOW_NORM: float16 or
    // bfloat16
    if (isUsual &&
        problem.calcType != values::CalcType::kDecoder &&
        (problem.maskType == values::MaskType::kSlidingWindowNorm
            || problem.maskType == values::MaskType::kSlidingWindowCompress) &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kSwa) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueCacheTypeSwaMaskTypeSlidingWindowNorm
                : Key::kBfloat16D128E128KeyValueCacheTypeSwaMaskTypeSlidingWindowNorm;
        choice.kernel = kernels::OfD128E128KeyValueCacheTypeSwaMaskTypeSlidingWindowNorm();
        return true;
    }
    // self_attention_d128_e128_key_value_clampType_MIN_MAX: float16 or bfloat16
    if (isUsual &&
        problem.attentionMaskGiven == 0 &&
        problem.cacheType == values::CacheType::kNorm &&
        problem.maskType == values::MaskType::kUndefined &&
        problem.clampType == values::ClampType::kMinMax) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueClampTypeMinMax
                : Key::kBfloat16D128E128KeyValueClampTypeMinMax;
        choice.kernel = kernels::OfD128E128KeyValueClampTypeMinMax();
        return true;
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
        inputLayoutIsBnsdOrCacheKIsLayers &&
        inputLayoutIsBnsdOrCacheVIsLayers) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128AttentionMaskInputLayoutBnsdQueryBnsdMaskTypeNorm
                : Key::kBfloat16D128E128AttentionMaskInputLayoutBnsdQueryBnsdMaskTypeNorm;
        choice.kernel = kernels::OfD128E128AttentionMaskInputLayoutBnsdQueryBnsdMaskTypeNorm();
        return true;
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
        inputLayoutIsBnsdOrCacheKIsLayers &&
        inputLayoutIsBnsdOrCacheVIsLayers) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128
                : Key::kBfloat16D128E128;
        choice.kernel = kernels::OfD128E128();
        return true;
    }
    // self_attention_d128_e128_key_value_attentionMask: float16 or bfloat16
    if (isUsual &&
        problem.attentionMaskGiven != 0 &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kPerHead &&
        problem.maskType == values::MaskType::kAlibi &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueAttentionMaskAttentionMaskPerHeadMaskTypeAlibi
                : Key::kBfloat16D128E128KeyValueAttentionMaskAttentionMaskPerHeadMaskTypeAlibi;
        choice.kernel = kernels::OfD128E128KeyValueAttentionMask();
        return true;
    }
    // self_attention_d128_e128_key_value_attentionMask_maskType_NORM: float16 or bfloat16
    if (isUsual &&
        problem.attentionMaskGiven != 0 &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kPerBatch &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchMaskTypeNorm
                : Key::kBfloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchMaskTypeNorm;
        choice.kernel = kernels::OfD128E128KeyValueAttentionMaskMaskTypeNorm();
        return true;
    }
    // self_attention_d128_e128_key_value_attentionMask: float16 or bfloat16
    if (isUsual &&
        problem.attentionMaskGiven != 0 &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kFull &&
        problem.maskType == values::MaskType::kNorm &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNorm
                : Key::kBfloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNorm;
        choice.kernel = kernels::OfD128E128KeyValueAttentionMask();
        return true;
    }
    // self_attention_d128_e128_key_value_maskType_NORM_COMPRESS: float16 or bfloat16
    if (isUsual &&
        problem.maskType == values::MaskType::kNormCompress &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueMaskTypeNormCompress
                : Key::kBfloat16D128E128KeyValueMaskTypeNormCompress;
        choice.kernel = kernels::OfD128E128KeyValueMaskTypeNormCompress();
        return true;
    }
    // self_attention_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS: float16 or bfloat16
    if (isUsual &&
        problem.calcType != values::CalcType::kDecoder &&
        (problem.maskType == values::MaskType::kSlidingWindowNorm
            || problem.maskType == values::MaskType::kSlidingWindowCompress) &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueMaskTypeSlidingWindowCompress
                : Key::kBfloat16D128E128KeyValueMaskTypeSlidingWindowCompress;
        choice.kernel = kernels::OfD128E128KeyValueMaskTypeSlidingWindowCompress();
        return true;
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
        inputLayoutIsBnsdOrCacheKIsLayers &&
        inputLayoutIsBnsdOrCacheVIsLayers) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueKeyPaddedValuePadded
                : Key::kBfloat16D128E128KeyValueKeyPaddedValuePadded;
        choice.kernel = kernels::OfD128E128KeyValueKeyPaddedValuePadded();
        return true;
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
        inputLayoutIsBnsdOrCacheKIsLayers &&
        inputLayoutIsBnsdOrCacheVIsLayers) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueQueryPadded
                : Key::kBfloat16D128E128KeyValueQueryPadded;
        choice.kernel = kernels::OfD128E128KeyValueQueryPadded();
        return true;
    }
    // self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI: float16 or bfloat16
    if (isUsual &&
        problem.attentionMaskGiven != 0 &&
        problem.attentionMaskLayout == values::AttentionMaskLayout::kSquare &&
        problem.maskType == values::MaskType::kAlibi &&
        problem.clampType == values::ClampType::kUndefined &&
        problem.cacheType == values::CacheType::kNorm) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyValueAttentionMaskMaskTypeAlibi
                : Key::kBfloat16D128E128KeyValueAttentionMaskMaskTypeAlibi;
        choice.kernel = kernels::OfD128E128KeyValueAttentionMaskMaskTypeAlibi();
        return true;
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
        inputLayoutIsBnsdOrCacheKIsLayers &&
        inputLayoutIsBnsdOrCacheVIsLayers) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128CacheKListCacheVList
                : Key::kBfloat16D128E128CacheKListCacheVList;
        choice.kernel = kernels::OfD128E128CacheKListCacheVList();
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
    SelfAttentionTiling &tiling = plan.tiling;
    tiling = empty ? OneBlock() : choice.kernel.tile(problem, choice.kernel);
    if (choice.kernel.maxRows > 0 && tiling.rowsPerTask > choice.kernel.maxRows) {
        plan.status = PlanStatus::kTooManyRows;
        plan.taskRows = tiling.rowsPerTask;
        return plan;
    }
    tiling.key = plan.key;
    plan.scheduleMode = choice.kernel.waits(problem, choice.kernel, tiling) ? kBatchMode : 0;
    plan.status = PlanStatus::kPlanned;
    return plan;
}

}  // namespace self_attention_host

#endif  // ATTNDSL_SELF_ATTENTION_PLAN_H
