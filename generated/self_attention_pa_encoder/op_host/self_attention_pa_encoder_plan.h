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
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_mask_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_query_padded_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_clampType_MIN_MAX_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_key_padded_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_columns_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_query_padded_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_SQRT_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_LEFT_ALIGN_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_outDataType_BF16_quantType_QKV_ONLINE_schedule.h"
#include "../op_kernel/self_attention_pa_encoder_tiling.h"
#include "arithmetic.h"

namespace self_attention_pa_encoder_host {

// Codes of layouts, dtypes and parameters in a problem.
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

// parts of the busiest core's positions, for the next number
constexpr int64_t kPartsOfBusiestCore = 9;
// small tasks, which read keys more often, are worth that if they leave fewer of these parts
constexpr int64_t kPartsWithSmallTasks = 8;
constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses
constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16
constexpr int64_t kKeysShareOfL2 = 2;  // one part in so many of L2 is for keys and values
constexpr int64_t kBytesOfInt8 = 1;  // bytes of an int8

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16, 2: int8
    int64_t headSize = 0;  // head size of queries and keys
    int64_t headSizeV = 0;  // head size of values
    int64_t valueGiven = 0;  // 1 if value is passed
    int64_t maskGiven = 0;  // 1 if mask is passed
    int64_t slopesGiven = 0;  // 1 if slopes is passed
    int64_t qkDescaleGiven = 0;  // 1 if qkDescale is passed
    int64_t vpvDescaleGiven = 0;  // 1 if vpvDescale is passed
    int64_t pScaleGiven = 0;  // 1 if pScale is passed
    int64_t logNGiven = 0;  // 1 if logN is passed
    int64_t queryLayout = 0;  // layout of query; 0: tokens, 1: merged, 2: padded, 3: BNSD
    int64_t keyLayout = 0;  // layout of key; 0: tokens, 1: merged, 2: padded, 3: BNSD
    int64_t valueLayout = 0;  // layout of value; 0: tokens, 1: merged, 2: padded, 3: BNSD
    int64_t clampType = 0;  // parameter clampType, of scores, before the mask
    // layout of mask; 0: square, 1: per head, 2: per batch, 3: full, 4: 128, 5: 256, 6: columns, 7:
    // 512
    int64_t maskLayout = 0;
    int64_t maskDtype = 0;  // dtype of mask; 0: float16, 1: bfloat16
    int64_t maskType = 0;  // parameter maskType
    int64_t quantType = 0;  // parameter quantType
    int64_t outDataType = 0;  // parameter outDataType, of quantised calls
    int64_t kvHeads = 0;  // key/value heads
    int64_t headNum = 0;  // parameter headNum
    int64_t batch = 0;  // batch rows
    int64_t qRows = 0;  // query positions of a batch row
    int64_t cores = 0;  // cube cores of the device
    int64_t nTokens = 0;  // packed query tokens of all batch rows
    int64_t kvRows = 0;  // stored key rows, of a group or of all batch rows
    // whether all blocks start at once, so that they may wait for each other
    bool startTogether = false;
    float qkScale = 0;  // parameter qkScale, on the scores
    int64_t seqLenLayout = 0;  // layout of seqLen; 0: batch, 1: 2 batch
    int64_t kernelType = 0;  // parameter kernelType
    int64_t maskCols = 0;  // size of dimension 1 of mask in the layout square
    int64_t l2Bytes = 0;  // bytes of the device's L2
    float clampMin = 0;  // parameter clampMin
    float clampMax = 0;  // parameter clampMax
    int64_t maskRows = 0;  // size of dimension 0 of mask in the layout square
    int64_t windowSize = 0;  // parameter windowSize, keys that a query sees, its own included
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
    SelfAttentionPaEncoderTiling tiling{};
};

// The tiling data of a launch without work.
inline SelfAttentionPaEncoderTiling OneBlock()
{
    SelfAttentionPaEncoderTiling tiling{};
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
    // which values it has of queriesPerSmallTask, pairs, queriesPerPair
    int64_t queriesPerSmallTaskForm = 0;
    int64_t largeAndSmallOfCoreForm = 0;  // which values it has of largeAndSmallOfCore
    // which values it has of largeTiles, queriesPerTask, smallPositions
    int64_t largeTilesForm = 0;
    int64_t rowsPerTaskForm = 0;  // which values it has of rowsPerTask
    // its tiling function
    SelfAttentionPaEncoderTiling (*tile)(const Problem &problem, const Kernel &kernel) = nullptr;
};

// Cuts the rows into tasks and their keys into splits; the blocks that share them.
inline void PartitionWork(const Problem &problem, const Kernel &kernel,
    SelfAttentionPaEncoderTiling &tiling)
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
    const int64_t keyTiles = CeilDiv(problem.kvRows, kernel.tileKeys);
    // bytes of a head's keys and values
    const int64_t bytesOfHead =
        problem.kvRows * ((problem.headSize + problem.headSizeV) * kBytesOfFloat16);
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
    int64_t pairs{};  // tasks of two halves of a batch row
    int64_t queriesPerPair{};  // query positions of such a task
    if (kernel.queriesPerSmallTaskForm == 0) {
        pairs = MaxOf(fewestPairs, roundsOfPairs * problem.cores / MaxOf(tasksAbreast, 1));
        tiling.queriesPerSmallTask = MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1));
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
        tiling.queriesPerSmallTask =
            pairs > 0
                ? queriesPerHalf
                : MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1));
        queriesPerPair =
            CeilDiv(MaxOf(0,
                problem.qRows
                    - RoundUp(MaxOf(0, problem.qRows - pairs * (2 * queriesPerLargeTask)),
                        queriesPerLargeTask)),
                MaxOf(pairs, 1));
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
    if (problem.queryLayout == values::QueryLayout::kTokens
        || problem.queryLayout == values::QueryLayout::kMerged) {
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
    if (kernel.largeAndSmallOfCoreForm == 0) {
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
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged)
            ? queriesPerPair > queriesPerLargeTask
            && MinOf(tasksAbreast * fewestPairs, filledPairs) >= problem.cores
            && roundsOfPairs * queriesPerPair * kPartsWithSmallTasks
                <= largeAndSmallOfCore * kPartsOfBusiestCore
            : queriesPerPair > queriesPerLargeTask
            && tasksAbreast * fewestPairs >= problem.cores
            && roundsOfPairs * queriesPerPair * kPartsWithSmallTasks
                <= largeAndSmallOfCore * kPartsOfBusiestCore;
    if (kernel.largeTilesForm == 0) {
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
    } else if (kernel.largeTilesForm == 1) {
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
        kernel.rowsPerTaskForm == 0
            ? MinOf(tiling.headsPerTask * tiling.queriesPerTask,
                tiling.headsPerTask * queriesPerLargeTask)
            : tiling.headsPerTask * tiling.queriesPerTask;
}

// Elements between neighbours along the axes of tensors, by layout.
inline void SetStrides(const Problem &problem, SelfAttentionPaEncoderTiling &tiling)
{
    tiling.outputStrideS = problem.headNum * problem.headSizeV;
    tiling.queryStrideS = problem.headNum * problem.headSize;
    tiling.maskStrideQ = problem.maskCols;
    tiling.slopesStrideN = 1;
    tiling.maskStrideN = problem.maskRows * problem.maskCols;
    tiling.vpvDescaleStrideN = 1;
    tiling.qkDescaleStrideN = 1;
    tiling.pScaleStrideN = 1;
    switch (problem.queryLayout) {
        case values::QueryLayout::kTokens:
        case values::QueryLayout::kMerged:
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
    switch (problem.keyLayout) {
        case values::KeyLayout::kTokens:
        case values::KeyLayout::kMerged:
            tiling.keyStrideU = problem.kvHeads * problem.headSize;
            tiling.keyStrideK = problem.headSize;
            break;
        case values::KeyLayout::kPadded:
            tiling.keyStrideU = problem.kvHeads * problem.headSize;
            tiling.keyStrideK = problem.headSize;
            tiling.keyStrideB = problem.kvRows * (problem.kvHeads * problem.headSize);
            break;
        case values::KeyLayout::kBnsd:
            tiling.keyStrideU = problem.headSize;
            tiling.keyStrideK = problem.kvRows * problem.headSize;
            tiling.keyStrideB = problem.kvHeads * (problem.kvRows * problem.headSize);
            break;
        default:
            break;
    }
    switch (problem.valueLayout) {
        case values::ValueLayout::kTokens:
        case values::ValueLayout::kMerged:
            tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
            tiling.valueStrideK = problem.headSizeV;
            break;
        case values::ValueLayout::kPadded:
            tiling.valueStrideU = problem.kvHeads * problem.headSizeV;
            tiling.valueStrideK = problem.headSizeV;
            tiling.valueStrideB = problem.kvRows * (problem.kvHeads * problem.headSizeV);
            break;
        case values::ValueLayout::kBnsd:
            tiling.valueStrideU = problem.headSizeV;
            tiling.valueStrideK = problem.kvRows * problem.headSizeV;
            tiling.valueStrideB = problem.kvHeads * (problem.kvRows * problem.headSizeV);
            break;
        default:
            break;
    }
    switch (problem.maskLayout) {
        case values::MaskLayout::kPerBatch:
            tiling.maskStrideB = tiling.maskStrideN;
            break;
        case values::MaskLayout::kFull:
            tiling.maskStrideB = problem.headNum * problem.maskRows * problem.maskCols;
            break;
        default:
            break;
    }
}

// Sizes and settings as kernels read them.
inline void SetScalars(const Problem &problem, const Kernel &kernel,
    SelfAttentionPaEncoderTiling &tiling)
{
    using attndsl::MinOf;
    tiling.qkScale = problem.qkScale;
    tiling.valueDim = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.headDim = problem.headSize;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenIs2Batch = problem.seqLenLayout == values::SeqLenLayout::k2Batch;
    tiling.batchRows = problem.batch;
    tiling.warmKeys = MinOf(kernel.tileKeys, problem.kvRows);
    tiling.warmRows =
        tiling.largeTasks < tiling.tasks
            ? MinOf(tiling.queriesPerSmallTask * tiling.headsPerTask,
                MinOf(tiling.rowsPerTask, tiling.headsPerTask * problem.qRows))
            : MinOf(tiling.rowsPerTask, tiling.headsPerTask * problem.qRows);
    tiling.clampMin = problem.clampMin;
    tiling.clampMax = problem.clampMax;
    tiling.maskPitch0 = problem.maskRows * 128;
    tiling.windowSize = problem.windowSize;
    if (problem.maskDtype == values::MaskDtype::kFloat16) {
        tiling.maskFactor =
            problem.kernelType == values::KernelType::kHighPrecision
                && attndsl::IsOneOf(problem.maskType, values::MaskType::kNorm,
                    values::MaskType::kNormCompress, values::MaskType::kSlidingWindowNorm,
                    values::MaskType::kSlidingWindowCompress)
                ? -3e+38f
                : 1.0f;
    } else {
        tiling.maskFactor =
            attndsl::IsOneOf(problem.maskType, values::MaskType::kNorm,
                values::MaskType::kNormCompress, values::MaskType::kSlidingWindowNorm,
                values::MaskType::kSlidingWindowCompress)
                ? -3e+38f
                : 1.0f;
    }
}

// Puts the tensors of the workspace one after the other, in bytes.
inline void PlaceWorkspace(const Kernel &kernel, SelfAttentionPaEncoderTiling &tiling)
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
    tiling.workspaceBytes = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
}

// Whether blocks wait for each other: all start at once, or none.
inline bool BlocksWait([[maybe_unused]] const Problem &problem,
    [[maybe_unused]] const Kernel &kernel, const SelfAttentionPaEncoderTiling &tiling)
{
    return tiling.splits > 1;
}

// The tiling data of a launch. Fields that a kernel does not read have a value, too, or 0.
inline SelfAttentionPaEncoderTiling Tile(const Problem &problem, const Kernel &kernel)
{
    SelfAttentionPaEncoderTiling tiling{};
    PartitionWork(problem, kernel, tiling);
    SetStrides(problem, tiling);
    SetScalars(problem, kernel, tiling);
    PlaceWorkspace(kernel, tiling);
    return tiling;
}

// Cuts the rows into tasks and their keys into splits; the blocks that share them.
inline void PartitionWorkWithoutLargeTiles(const Problem &problem, const Kernel &kernel,
    SelfAttentionPaEncoderTiling &tiling)
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
    // bytes of a head's keys and values
    const int64_t bytesOfHead =
        problem.kvRows * ((problem.headSize + problem.headSizeV) * kBytesOfInt8);
    // heads that L2 holds
    const int64_t headsThatFit = MaxOf(1, problem.l2Bytes / kKeysShareOfL2 / MaxOf(1, bytesOfHead));
    // even groups of heads
    const int64_t headGroups = MaxOf(1, CeilDiv(tiling.kvHeads, headsThatFit));
    tiling.headsAtOnce = CeilDiv(tiling.kvHeads, headGroups) * tiling.headTiles;
    if (problem.pScaleGiven == 0) {
        // score tiles of a row, at most
        const int64_t keyTiles = CeilDiv(problem.kvRows, kernel.tileKeys);
        tiling.splits =
            problem.startTogether
                ? MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles))
                : 1;
    } else {
        tiling.splits = 1;
    }
    tiling.items = tiling.tasks * tiling.splits;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.rowTotal =
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged)
            ? problem.nTokens * problem.headNum
            : problem.batch * problem.qRows * problem.headNum;
}

// Sizes and settings as kernels read them.
inline void SetScalarsWithoutLargeTiles(const Problem &problem,
    SelfAttentionPaEncoderTiling &tiling)
{
    tiling.qkScale = problem.qkScale;
    tiling.valueDim = problem.headSizeV;
    tiling.queryHeads = problem.headNum;
    tiling.headDim = problem.headSize;
    tiling.qRows = problem.qRows;
    tiling.keyCapacity = problem.kvRows;
    tiling.seqLenIs2Batch = problem.seqLenLayout == values::SeqLenLayout::k2Batch;
    tiling.batchRows = problem.batch;
    tiling.clampMin = problem.clampMin;
    tiling.clampMax = problem.clampMax;
    tiling.maskPitch0 = problem.maskRows * 128;
}

// Puts the tensors of the workspace one after the other, in bytes.
inline void PlaceWorkspaceWithoutLargeTiles(const Kernel &kernel,
    SelfAttentionPaEncoderTiling &tiling)
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
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfInt8,
            kWorkspaceAlignment);
    tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedValueSize * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.workspaceBytes = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
}

// The tiling data of a launch of kernels without largeTiles. Fields that a kernel does not read
// have a value, too, or 0.
inline SelfAttentionPaEncoderTiling TileWithoutLargeTiles(const Problem &problem,
    const Kernel &kernel)
{
    SelfAttentionPaEncoderTiling tiling{};
    PartitionWorkWithoutLargeTiles(problem, kernel, tiling);
    SetStrides(problem, tiling);
    SetScalarsWithoutLargeTiles(problem, tiling);
    PlaceWorkspaceWithoutLargeTiles(kernel, tiling);
    return tiling;
}

// What the plan knows of each kernel, in the order of the members of `Kernel`.
namespace kernels {
constexpr Kernel OfD128E128Value()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_value;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &Tile};
}

constexpr Kernel OfD128E128ValueMaskMaskTypeNorm()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 1, 1, 1, &Tile};
}

constexpr Kernel OfD128E128ValueSlopesMaskTypeAlibiCompress()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 1, 1, 2, 0, &Tile};
}

constexpr Kernel OfD128E128ValueLogN()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_value_logN;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &Tile};
}

constexpr Kernel OfD128E128ValueClampTypeMinMax()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &Tile};
}

constexpr Kernel OfD128E128ValueKeyBnsdQueryBnsdValueBnsd()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &Tile};
}

constexpr Kernel OfD128E128()
{
    namespace schedule = self_attention_pa_encoder_d128_e128;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &Tile};
}

constexpr Kernel OfD128E128KeyPadded()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_key_padded;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &Tile};
}

constexpr Kernel OfD128E128ValueMask()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_value_mask;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 1, 1, 1, &Tile};
}

constexpr Kernel OfD128E128ValueMaskTypeNormCompress()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 1, 1, 2, 0, &Tile};
}

constexpr Kernel OfD128E128ValueMaskMaskColumnsMaskTypeAlibiCompress()
{
    namespace schedule =
        self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 1, 1, 1, &Tile};
}

constexpr Kernel OfD128E128ValueMaskTypeSlidingWindowCompress()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 1, 1, 1, &Tile};
}

constexpr Kernel OfD128E128QueryPadded()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_query_padded;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &Tile};
}

constexpr Kernel OfD128E128ValueMaskMaskTypeAlibi()
{
    namespace schedule = self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 1, 1, 1, &Tile};
}

constexpr Kernel OfD128E128ValueSlopesMaskTypeAlibiCompressSqrt()
{
    namespace schedule =
        self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 1, 1, 2, 0, &Tile};
}

constexpr Kernel OfD128E128ValueSlopesMaskTypeAlibiCompressLeftAlign()
{
    namespace schedule =
        self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedValueSize, schedule::kPrefetch, 1, 1, 2, 0, &Tile};
}

constexpr Kernel OfInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNormQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128ValueQkDescaleVpvDescalePScaleQuantTypeQkvOffline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128ValueQkDescaleVpvDescaleClampTypeMinMaxQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_clampType_MIN_MAX_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128QkDescaleVpvDescaleQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128QkDescaleVpvDescaleKeyPaddedQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_key_padded_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128ValueMaskQkDescaleVpvDescaleQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128ValueMaskQkDescaleVpvDescaleMaskColumnsMaskTypeAlibiCompressQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_columns_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128QkDescaleVpvDescaleQueryPaddedQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_query_padded_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeAlibiQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressSqrtQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_SQRT_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressLeftAlignQuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_LEFT_ALIGN_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}

constexpr Kernel OfInt8D128E128ValueQkDescaleVpvDescaleOutDataTypeBf16QuantTypeQkvOnline()
{
    namespace schedule =
        self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_outDataType_BF16_quantType_QKV_ONLINE;
    return {schedule::kMaxRows, 0, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedValueSize, schedule::kPrefetch, 0, 0, 0, 0, &TileWithoutLargeTiles};
}
}  // namespace kernels

// The kernel that a problem is launched with.
struct Choice {
    SelfAttentionPaEncoderTilingKey key{};
    Kernel kernel;
};

// Whether a kernel is generated for a problem; `choice` becomes the first that takes it.
inline bool SelectKernel(const Problem &problem, Choice &choice)
{
    using Key = SelfAttentionPaEncoderTilingKey;
    // All kernels ask for this.
    if (!(problem.headSize > 112 && problem.headSize <= 128 &&
        problem.headSizeV > 112 && problem.headSizeV <= 128)) {
        return false;
    }
    const bool queryIsFloat16OrBfloat16 =
        (problem.queryDtype == values::QueryDtype::kFloat16
            || problem.queryDtype == values::QueryDtype::kBfloat16);
    const bool queryIsTokensOrMerged =
        (problem.queryLayout == values::QueryLayout::kTokens
            || problem.queryLayout == values::QueryLayout::kMerged);
    const bool keyIsTokensOrMerged =
        (problem.keyLayout == values::KeyLayout::kTokens
            || problem.keyLayout == values::KeyLayout::kMerged);
    const bool valueIsTokensOrMerged =
        (problem.valueLayout == values::ValueLayout::kTokens
            || problem.valueLayout == values::ValueLayout::kMerged);
    const bool queryIsPaddedOrBnsd =
        (problem.queryLayout == values::QueryLayout::kPadded
            || problem.queryLayout == values::QueryLayout::kBnsd);
    const bool keyIsPaddedOrBnsd =
        (problem.keyLayout == values::KeyLayout::kPadded
            || problem.keyLayout == values::KeyLayout::kBnsd);
    // Most kernels ask for all of this.
    const bool isUsual = problem.valueGiven != 0 &&
        queryIsTokensOrMerged &&
        keyIsTokensOrMerged &&
        valueIsTokensOrMerged &&
        problem.clampType == values::ClampType::kUndefined;
    // self_attention_pa_encoder_d128_e128_value: float16 or bfloat16
    if (isUsual &&
        queryIsFloat16OrBfloat16 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128Value
                : Key::kBfloat16D128E128Value;
        choice.kernel = kernels::OfD128E128Value();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM: float16 or bfloat16
    if (isUsual &&
        ((problem.queryDtype == values::QueryDtype::kFloat16
            && problem.maskDtype == values::MaskDtype::kFloat16)
            || (problem.queryDtype == values::QueryDtype::kBfloat16
                && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kSquare &&
        problem.maskType == values::MaskType::kNorm) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskTypeNorm
                : Key::kBfloat16D128E128ValueMaskMaskTypeNorm;
        choice.kernel = kernels::OfD128E128ValueMaskMaskTypeNorm();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS: float16 or bfloat16
    if (isUsual &&
        queryIsFloat16OrBfloat16 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.maskType == values::MaskType::kAlibiCompress &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueSlopesMaskTypeAlibiCompress
                : Key::kBfloat16D128E128ValueSlopesMaskTypeAlibiCompress;
        choice.kernel = kernels::OfD128E128ValueSlopesMaskTypeAlibiCompress();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_logN: float16 or bfloat16
    if (isUsual &&
        queryIsFloat16OrBfloat16 &&
        problem.maskGiven == 0 &&
        problem.logNGiven != 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueLogN
                : Key::kBfloat16D128E128ValueLogN;
        choice.kernel = kernels::OfD128E128ValueLogN();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX: float16 or bfloat16
    if (queryIsFloat16OrBfloat16 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        queryIsTokensOrMerged &&
        keyIsTokensOrMerged &&
        valueIsTokensOrMerged &&
        problem.clampType == values::ClampType::kMinMax) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueClampTypeMinMax
                : Key::kBfloat16D128E128ValueClampTypeMinMax;
        choice.kernel = kernels::OfD128E128ValueClampTypeMinMax();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD: float16 or bfloat16
    if (queryIsFloat16OrBfloat16 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        queryIsPaddedOrBnsd &&
        keyIsPaddedOrBnsd &&
        (problem.valueLayout == values::ValueLayout::kPadded
            || problem.valueLayout == values::ValueLayout::kBnsd) &&
        problem.clampType == values::ClampType::kUndefined) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueKeyBnsdQueryBnsdValueBnsd
                : Key::kBfloat16D128E128ValueKeyBnsdQueryBnsdValueBnsd;
        choice.kernel = kernels::OfD128E128ValueKeyBnsdQueryBnsdValueBnsd();
        return true;
    }
    // self_attention_pa_encoder_d128_e128: float16 or bfloat16
    if (queryIsFloat16OrBfloat16 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        queryIsTokensOrMerged &&
        keyIsTokensOrMerged &&
        problem.clampType == values::ClampType::kUndefined) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128
                : Key::kBfloat16D128E128;
        choice.kernel = kernels::OfD128E128();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_key_padded: float16 or bfloat16
    if (queryIsFloat16OrBfloat16 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        queryIsTokensOrMerged &&
        keyIsPaddedOrBnsd &&
        problem.clampType == values::ClampType::kUndefined) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128KeyPadded
                : Key::kBfloat16D128E128KeyPadded;
        choice.kernel = kernels::OfD128E128KeyPadded();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_mask: float16 or bfloat16
    if (isUsual &&
        ((problem.queryDtype == values::QueryDtype::kFloat16
            && problem.maskDtype == values::MaskDtype::kFloat16)
            || (problem.queryDtype == values::QueryDtype::kBfloat16
                && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kPerHead &&
        problem.maskType == values::MaskType::kAlibi) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskPerHeadMaskTypeAlibi
                : Key::kBfloat16D128E128ValueMaskMaskPerHeadMaskTypeAlibi;
        choice.kernel = kernels::OfD128E128ValueMask();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM: float16 or bfloat16
    if (isUsual &&
        ((problem.queryDtype == values::QueryDtype::kFloat16
            && problem.maskDtype == values::MaskDtype::kFloat16)
            || (problem.queryDtype == values::QueryDtype::kBfloat16
                && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kPerBatch &&
        problem.maskType == values::MaskType::kNorm) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskPerBatchMaskTypeNorm
                : Key::kBfloat16D128E128ValueMaskMaskPerBatchMaskTypeNorm;
        choice.kernel = kernels::OfD128E128ValueMaskMaskTypeNorm();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_mask: float16 or bfloat16
    if (isUsual &&
        ((problem.queryDtype == values::QueryDtype::kFloat16
            && problem.maskDtype == values::MaskDtype::kFloat16)
            || (problem.queryDtype == values::QueryDtype::kBfloat16
                && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kFull &&
        problem.maskType == values::MaskType::kNorm) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskFullMaskTypeNorm
                : Key::kBfloat16D128E128ValueMaskMaskFullMaskTypeNorm;
        choice.kernel = kernels::OfD128E128ValueMask();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS: float16 or bfloat16
    if (isUsual &&
        queryIsFloat16OrBfloat16 &&
        problem.logNGiven == 0 &&
        problem.maskType == values::MaskType::kNormCompress) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskTypeNormCompress
                : Key::kBfloat16D128E128ValueMaskTypeNormCompress;
        choice.kernel = kernels::OfD128E128ValueMaskTypeNormCompress();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS: float16
    // or bfloat16
    if (isUsual &&
        ((problem.queryDtype == values::QueryDtype::kFloat16
            && problem.maskDtype == values::MaskDtype::kFloat16)
            || (problem.queryDtype == values::QueryDtype::kBfloat16
                && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kColumns &&
        (problem.maskType == values::MaskType::kAlibiCompress
            || problem.maskType == values::MaskType::kAlibiCompressSqrt
            || problem.maskType == values::MaskType::kAlibiCompressLeftAlign)) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskColumnsMaskTypeAlibiCompress
                : Key::kBfloat16D128E128ValueMaskMaskColumnsMaskTypeAlibiCompress;
        choice.kernel = kernels::OfD128E128ValueMaskMaskColumnsMaskTypeAlibiCompress();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS: float16 or
    // bfloat16
    if (isUsual &&
        queryIsFloat16OrBfloat16 &&
        problem.logNGiven == 0 &&
        (problem.maskType == values::MaskType::kSlidingWindowNorm
            || problem.maskType == values::MaskType::kSlidingWindowCompress)) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskTypeSlidingWindowCompress
                : Key::kBfloat16D128E128ValueMaskTypeSlidingWindowCompress;
        choice.kernel = kernels::OfD128E128ValueMaskTypeSlidingWindowCompress();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_query_padded: float16 or bfloat16
    if (queryIsFloat16OrBfloat16 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.logNGiven == 0 &&
        queryIsPaddedOrBnsd &&
        keyIsTokensOrMerged &&
        problem.clampType == values::ClampType::kUndefined) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128QueryPadded
                : Key::kBfloat16D128E128QueryPadded;
        choice.kernel = kernels::OfD128E128QueryPadded();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI: float16 or bfloat16
    if (isUsual &&
        ((problem.queryDtype == values::QueryDtype::kFloat16
            && problem.maskDtype == values::MaskDtype::kFloat16)
            || (problem.queryDtype == values::QueryDtype::kBfloat16
                && problem.maskDtype == values::MaskDtype::kBfloat16)) &&
        problem.maskGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kSquare &&
        problem.maskType == values::MaskType::kAlibi) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueMaskMaskTypeAlibi
                : Key::kBfloat16D128E128ValueMaskMaskTypeAlibi;
        choice.kernel = kernels::OfD128E128ValueMaskMaskTypeAlibi();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT: float16 or
    // bfloat16
    if (isUsual &&
        queryIsFloat16OrBfloat16 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.maskType == values::MaskType::kAlibiCompressSqrt &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueSlopesMaskTypeAlibiCompressSqrt
                : Key::kBfloat16D128E128ValueSlopesMaskTypeAlibiCompressSqrt;
        choice.kernel = kernels::OfD128E128ValueSlopesMaskTypeAlibiCompressSqrt();
        return true;
    }
    // self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN: float16
    // or bfloat16
    if (isUsual &&
        queryIsFloat16OrBfloat16 &&
        problem.slopesGiven != 0 &&
        problem.logNGiven == 0 &&
        problem.maskType == values::MaskType::kAlibiCompressLeftAlign &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128E128ValueSlopesMaskTypeAlibiCompressLeftAlign
                : Key::kBfloat16D128E128ValueSlopesMaskTypeAlibiCompressLeftAlign;
        choice.kernel = kernels::OfD128E128ValueSlopesMaskTypeAlibiCompressLeftAlign();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16) {
        choice.key = Key::kInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQkvOnline;
        choice.kernel = kernels::OfInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kSquare &&
        problem.maskDtype == values::MaskDtype::kFloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kNorm) {
        choice.key = Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNormQuantTypeQkvOnline;
        choice.kernel =
            kernels::OfInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNormQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.slopesGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kAlibiCompress &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        choice.key =
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressQuantTypeQkvOnline;
        choice.kernel =
            kernels::OfInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressQuantTypeQkvOnline(
                );
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven != 0 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16) {
        choice.key = Key::kInt8D128E128ValueQkDescaleVpvDescalePScaleQuantTypeQkvOffline;
        choice.kernel = kernels::OfInt8D128E128ValueQkDescaleVpvDescalePScaleQuantTypeQkvOffline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_clampType_MIN_MAX_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven != 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        queryIsTokensOrMerged &&
        keyIsTokensOrMerged &&
        valueIsTokensOrMerged &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kMinMax) {
        choice.key = Key::kInt8D128E128ValueQkDescaleVpvDescaleClampTypeMinMaxQuantTypeQkvOnline;
        choice.kernel =
            kernels::OfInt8D128E128ValueQkDescaleVpvDescaleClampTypeMinMaxQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kSquare &&
        problem.maskDtype == values::MaskDtype::kBfloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kNorm) {
        choice.key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskTypeNormQuantTypeQkvOnline;
        choice.kernel =
            kernels::OfInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNormQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_quantType_QKV_ONLINE: int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        queryIsTokensOrMerged &&
        keyIsTokensOrMerged &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kUndefined) {
        choice.key = Key::kInt8D128E128QkDescaleVpvDescaleQuantTypeQkvOnline;
        choice.kernel = kernels::OfInt8D128E128QkDescaleVpvDescaleQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_key_padded_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        queryIsTokensOrMerged &&
        keyIsPaddedOrBnsd &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kUndefined) {
        choice.key = Key::kInt8D128E128QkDescaleVpvDescaleKeyPaddedQuantTypeQkvOnline;
        choice.kernel = kernels::OfInt8D128E128QkDescaleVpvDescaleKeyPaddedQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kPerHead &&
        problem.maskDtype == values::MaskDtype::kFloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kAlibi) {
        choice.key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerHeadMaskTypeAlibiQuantTypeQkvOnline;
        choice.kernel = kernels::OfInt8D128E128ValueMaskQkDescaleVpvDescaleQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kPerBatch &&
        problem.maskDtype == values::MaskDtype::kFloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kNorm) {
        choice.key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerBatchMaskTypeNormQuantTypeQkvOnline;
        choice.kernel =
            kernels::OfInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNormQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kFull &&
        problem.maskDtype == values::MaskDtype::kFloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kNorm) {
        choice.key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskFullMaskTypeNormQuantTypeQkvOnline;
        choice.kernel = kernels::OfInt8D128E128ValueMaskQkDescaleVpvDescaleQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_columns_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kColumns &&
        problem.maskDtype == values::MaskDtype::kBfloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        (problem.maskType == values::MaskType::kAlibiCompress
            || problem.maskType == values::MaskType::kAlibiCompressSqrt
            || problem.maskType == values::MaskType::kAlibiCompressLeftAlign)) {
        choice.key =
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskColumnsMaskTypeAlibiCompressQuantTypeQkvOnline;
        choice.kernel =
            kernels::OfInt8D128E128ValueMaskQkDescaleVpvDescaleMaskColumnsMaskTypeAlibiCompressQuantTypeQkvOnline(
                );
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_query_padded_quantType_QKV_ONLINE:
    // int8
    if (problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.valueGiven == 0 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        queryIsPaddedOrBnsd &&
        keyIsTokensOrMerged &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.clampType == values::ClampType::kUndefined) {
        choice.key = Key::kInt8D128E128QkDescaleVpvDescaleQueryPaddedQuantTypeQkvOnline;
        choice.kernel = kernels::OfInt8D128E128QkDescaleVpvDescaleQueryPaddedQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.maskGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.maskLayout == values::MaskLayout::kSquare &&
        problem.maskDtype == values::MaskDtype::kFloat16 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kAlibi) {
        choice.key = Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeAlibiQuantTypeQkvOnline;
        choice.kernel =
            kernels::OfInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeAlibiQuantTypeQkvOnline();
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_SQRT_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.slopesGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kAlibiCompressSqrt &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        choice.key =
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressSqrtQuantTypeQkvOnline;
        choice.kernel =
            kernels::OfInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressSqrtQuantTypeQkvOnline(
                );
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_LEFT_ALIGN_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.slopesGiven != 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType != values::OutDataType::kBf16 &&
        problem.maskType == values::MaskType::kAlibiCompressLeftAlign &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        choice.key =
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressLeftAlignQuantTypeQkvOnline;
        choice.kernel =
            kernels::OfInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressLeftAlignQuantTypeQkvOnline(
                );
        return true;
    }
    // self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_outDataType_BF16_quantType_QKV_ONLINE:
    // int8
    if (isUsual &&
        problem.queryDtype == values::QueryDtype::kInt8 &&
        problem.maskGiven == 0 &&
        problem.qkDescaleGiven != 0 &&
        problem.vpvDescaleGiven != 0 &&
        problem.pScaleGiven == 0 &&
        problem.quantType != values::QuantType::kUndefined &&
        problem.outDataType == values::OutDataType::kBf16) {
        choice.key = Key::kInt8D128E128ValueQkDescaleVpvDescaleOutDataTypeBf16QuantTypeQkvOnline;
        choice.kernel =
            kernels::OfInt8D128E128ValueQkDescaleVpvDescaleOutDataTypeBf16QuantTypeQkvOnline();
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
    SelfAttentionPaEncoderTiling &tiling = plan.tiling;
    tiling = empty ? OneBlock() : choice.kernel.tile(problem, choice.kernel);
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

}  // namespace self_attention_pa_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PA_ENCODER_PLAN_H
