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

// Codes of layouts, dtypes and parameters in a problem.
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

constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16
constexpr int64_t kKeysShareOfL2 = 2;  // one part in so many of L2 is for keys and values
// parts of the busiest core's positions, for the next number
constexpr int64_t kPartsOfBusiestCore = 9;
// small tasks, which read keys more often, are worth that if they leave fewer of these parts
constexpr int64_t kPartsWithSmallTasks = 8;
constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t headSize = 0;  // head size of queries and keys
    int64_t maskGiven = 0;  // 1 if mask is passed
    int64_t slopesGiven = 0;  // 1 if slopes is passed
    int64_t maskType = 0;  // parameter maskType
    int64_t clampType = 0;  // parameter clampType, of scores, before the mask
    // layout of mask; 0: square, 1: per head, 2: per batch, 3: full, 4: 128, 5: 256, 6: columns, 7:
    // 512
    int64_t maskLayout = 0;
    int64_t kvHeads = 0;  // key/value heads
    int64_t headNum = 0;  // parameter headNum
    int64_t maxBlockNum = 0;  // columns of a block table
    int64_t blockSize = 0;  // rows of a cache block
    int64_t l2Bytes = 0;  // bytes of the device's L2
    int64_t batch = 0;  // batch rows
    int64_t maxOfSeqLen = 0;  // max(seqLen[b] for b < batch)
    int64_t cores = 0;  // cube cores of the device
    int64_t nTokens = 0;  // packed query tokens of all batch rows
    // whether all blocks start at once, so that they may wait for each other
    bool startTogether = false;
    float qkScale = 0;  // parameter qkScale, on the scores
    int64_t maskRows = 0;  // size of dimension 0 of mask in the layout square
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
    SelfAttentionPrefixEncoderTiling tiling{};
};

// The tiling data of a launch without work.
inline SelfAttentionPrefixEncoderTiling OneBlock()
{
    SelfAttentionPrefixEncoderTiling tiling{};
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
    int64_t paddedHeadSize = 0;  // head size this kernel is specialized on, padded to 16
    int64_t prefetch = 0;  // tiles by which the scores run ahead of the weighted sums
    // which values it has of queriesPerSmallTask, largeTiles, queriesPerTask, smallPositions,
    // rowsPerTask
    int64_t queriesPerSmallTaskForm = 0;
};

// Cuts the rows into tasks and their keys into splits; the blocks that share them.
inline void PartitionWork(const Problem &problem, const Kernel &kernel,
    SelfAttentionPrefixEncoderTiling &tiling)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    using attndsl::RoundUp;
    tiling.kvHeads = problem.kvHeads;
    tiling.group = problem.headNum / problem.kvHeads;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    // bytes of a head's keys and values
    const int64_t bytesOfHead =
        problem.maxBlockNum * problem.blockSize
            * ((problem.headSize + problem.headSize) * kBytesOfFloat16);
    // heads that L2 holds
    const int64_t headsThatFit = MaxOf(1, problem.l2Bytes / kKeysShareOfL2 / MaxOf(1, bytesOfHead));
    // even groups of heads
    const int64_t headGroups = MaxOf(1, CeilDiv(tiling.kvHeads, headsThatFit));
    tiling.headsAtOnce = CeilDiv(tiling.kvHeads, headGroups) * tiling.headTiles;
    // query positions of a half, at most
    const int64_t queriesPerHalf = MaxOf(1, kernel.maxRows / MaxOf(tiling.headsPerTask, 1));
    const int64_t queriesPerLargeTask = queriesPerHalf;  // query positions of a large task
    // tasks of all heads at the same positions
    const int64_t tasksAbreast = problem.batch * (tiling.kvHeads * tiling.headTiles);
    // large tasks of a batch row, if all are large
    const int64_t allTiles = CeilDiv(problem.maxOfSeqLen, queriesPerLargeTask);
    // query positions of the busiest core with those
    const int64_t allOfCore = CeilDiv(tasksAbreast * allTiles, problem.cores) * queriesPerLargeTask;
    // large tasks that the positions of a batch row fill
    const int64_t fullTiles = problem.maxOfSeqLen / queriesPerLargeTask;
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
    // score tiles of a row, at most
    const int64_t keyTiles = CeilDiv(problem.maxBlockNum * problem.blockSize, kernel.tileKeys);
    tiling.rowTotal = problem.nTokens * problem.headNum;
    int64_t pairs{};  // tasks of two halves of a batch row
    int64_t queriesPerPair{};  // query positions of such a task
    if (kernel.queriesPerSmallTaskForm == 0) {
        // tasks at the same positions that follow each other
        const int64_t tasksBeside =
            tiling.headsAtOnce < tiling.kvHeads * tiling.headTiles
                ? tiling.headsAtOnce
                : tasksAbreast;
        // tasks of two halves that a batch row's positions fill
        const int64_t fullPairs = problem.maxOfSeqLen / (2 * queriesPerHalf);
        // rounds of them, an even number
        const int64_t evenRounds = tasksBeside * fullPairs / (2 * problem.cores) * 2;
        // as many as these rounds have room for
        const int64_t pairsInRounds = evenRounds * problem.cores / MaxOf(tasksBeside, 1);
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
                problem.maxOfSeqLen
                    - RoundUp(MaxOf(0, problem.maxOfSeqLen - pairs * (2 * queriesPerLargeTask)),
                        queriesPerLargeTask)),
                MaxOf(pairs, 1));
    } else {
        tiling.queriesPerSmallTask = MaxOf(1, kernel.rowsPerBand / MaxOf(tiling.headsPerTask, 1));
    }
    // small tasks after the last round of them
    const int64_t smallAfterwards =
        MaxOf(0,
            tasksAbreast
                * CeilDiv(MaxOf(0, problem.maxOfSeqLen - wholeTiles * queriesPerLargeTask),
                    tiling.queriesPerSmallTask)
                - (wholeRounds * problem.cores - tasksAbreast * wholeTiles));
    // query positions of the busiest core with those
    const int64_t wholeOfCore =
        wholeRounds * queriesPerLargeTask
            + CeilDiv(smallAfterwards, problem.cores) * tiling.queriesPerSmallTask;
    // query positions of the busiest core, if all tasks are small
    const int64_t smallOfCore =
        CeilDiv(tasksAbreast * CeilDiv(problem.maxOfSeqLen, tiling.queriesPerSmallTask),
            problem.cores)
            * tiling.queriesPerSmallTask;
    if (kernel.queriesPerSmallTaskForm == 0) {
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
                problem.maxOfSeqLen
                    - tiling.largeTiles * (pairs > 0 ? queriesPerPair : queriesPerLargeTask)),
                tiling.queriesPerSmallTask);
        tiling.rowsPerTask =
            MinOf(tiling.headsPerTask * tiling.queriesPerTask,
                tiling.headsPerTask * queriesPerHalf);
    } else {
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
            RoundUp(MaxOf(0, problem.maxOfSeqLen - tiling.largeTiles * queriesPerLargeTask),
                tiling.queriesPerSmallTask);
        tiling.rowsPerTask = tiling.headsPerTask * tiling.queriesPerTask;
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
}

// Elements between neighbours along the axes of tensors, by layout.
inline void SetStrides(const Problem &problem, SelfAttentionPrefixEncoderTiling &tiling)
{
    tiling.outputStrideS = problem.headNum * problem.headSize;
    tiling.outputStrideN = problem.headSize;
    tiling.blockTablesStrideB = problem.maxBlockNum;
    tiling.keyStrideK = problem.headSize;
    tiling.keyStrideR = problem.kvHeads * problem.headSize;
    tiling.keyStrideP = problem.blockSize * tiling.keyStrideR;
    tiling.valueStrideK = problem.headSize;
    tiling.valueStrideR = problem.kvHeads * problem.headSize;
    tiling.valueStrideP = problem.blockSize * tiling.valueStrideR;
    tiling.queryStrideS = problem.headNum * problem.headSize;
    tiling.queryStrideN = problem.headSize;
    tiling.slopesStrideN = 1;
}

// Sizes and settings as kernels read them.
inline void SetScalars(const Problem &problem, const Kernel &kernel,
    SelfAttentionPrefixEncoderTiling &tiling)
{
    using attndsl::MinOf;
    tiling.qkScale = problem.qkScale;
    tiling.headDim = problem.headSize;
    tiling.queryHeads = problem.headNum;
    tiling.blockSize = problem.blockSize;
    tiling.maxOfSeqLen = problem.maxOfSeqLen;
    tiling.keyCapacity = problem.maxBlockNum * problem.blockSize;
    tiling.warmKeys = MinOf(kernel.tileKeys, tiling.keyCapacity);
    tiling.warmRows =
        tiling.largeTasks < tiling.tasks
            ? MinOf(tiling.queriesPerSmallTask * tiling.headsPerTask,
                MinOf(tiling.rowsPerTask, tiling.headsPerTask * problem.maxOfSeqLen))
            : MinOf(tiling.rowsPerTask, tiling.headsPerTask * problem.maxOfSeqLen);
    tiling.maskPitch0 = problem.maskRows * 128;
}

// Puts the tensors of the workspace one after the other, in bytes.
inline void PlaceWorkspace(const Kernel &kernel, SelfAttentionPrefixEncoderTiling &tiling)
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
        RoundUp(partialRows * kernel.paddedHeadSize * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingPart =
        RoundUp(kernel.prefetch * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.probRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.outRingPart =
        kernel.mostHalves > 0
            ? RoundUp(kernel.ring * kernel.mostHalves * tiling.rowsPerTask
                * kernel.paddedHeadSize * kBytesOfFloat32,
                kWorkspaceAlignment)
            : RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedHeadSize * kBytesOfFloat32,
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
    [[maybe_unused]] const Kernel &kernel, const SelfAttentionPrefixEncoderTiling &tiling)
{
    return tiling.splits > 1;
}

// The tiling data of a launch. Fields that a kernel does not read have a value, too, or 0.
inline SelfAttentionPrefixEncoderTiling Tile(const Problem &problem, const Kernel &kernel)
{
    SelfAttentionPrefixEncoderTiling tiling{};
    PartitionWork(problem, kernel, tiling);
    SetStrides(problem, tiling);
    SetScalars(problem, kernel, tiling);
    PlaceWorkspace(kernel, tiling);
    return tiling;
}

// What the plan knows of each kernel, in the order of the members of `Kernel`.
namespace kernels {
constexpr Kernel OfD128MaskTypeCausalMask()
{
    namespace schedule = self_attention_prefix_encoder_d128_maskType_CAUSAL_MASK;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedHeadSize, schedule::kPrefetch, 0};
}

constexpr Kernel OfD128MaskMaskColumnsMaskTypeAlibiCompress()
{
    namespace schedule =
        self_attention_prefix_encoder_d128_mask_mask_columns_maskType_ALIBI_COMPRESS;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing, 0,
        schedule::kPaddedHeadSize, schedule::kPrefetch, 1};
}

constexpr Kernel OfD128SlopesMaskTypeAlibiCompress()
{
    namespace schedule = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedHeadSize, schedule::kPrefetch, 0};
}

constexpr Kernel OfD128SlopesMaskTypeAlibiCompressSqrt()
{
    namespace schedule = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_SQRT;
    return {schedule::kMaxRows, schedule::kRowsPerBand, schedule::kTileKeys, schedule::kRing,
        schedule::kMostHalves, schedule::kPaddedHeadSize, schedule::kPrefetch, 0};
}
}  // namespace kernels

// The kernel that a problem is launched with.
struct Choice {
    SelfAttentionPrefixEncoderTilingKey key{};
    Kernel kernel;
};

// Whether a kernel is generated for a problem; `choice` becomes the first that takes it.
inline bool SelectKernel(const Problem &problem, Choice &choice)
{
    using Key = SelfAttentionPrefixEncoderTilingKey;
    // All kernels ask for this.
    if (!((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.headSize > 112 && problem.headSize <= 128 &&
        problem.clampType == values::ClampType::kUndefined)) {
        return false;
    }
    // self_attention_prefix_encoder_d128_maskType_CAUSAL_MASK: float16 or bfloat16
    if ((problem.maskType == values::MaskType::kNormCompress
        || problem.maskType == values::MaskType::kCausalMask)) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128MaskTypeCausalMask
                : Key::kBfloat16D128MaskTypeCausalMask;
        choice.kernel = kernels::OfD128MaskTypeCausalMask();
        return true;
    }
    // self_attention_prefix_encoder_d128_mask_mask_columns_maskType_ALIBI_COMPRESS: float16 or
    // bfloat16
    if (problem.maskGiven != 0 &&
        problem.maskLayout == values::MaskLayout::kColumns &&
        problem.maskType != values::MaskType::kNormCompress) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128MaskMaskColumnsMaskTypeAlibiCompress
                : Key::kBfloat16D128MaskMaskColumnsMaskTypeAlibiCompress;
        choice.kernel = kernels::OfD128MaskMaskColumnsMaskTypeAlibiCompress();
        return true;
    }
    // self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS: float16 or bfloat16
    if (problem.slopesGiven != 0 &&
        problem.maskType == values::MaskType::kAlibiCompress &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128SlopesMaskTypeAlibiCompress
                : Key::kBfloat16D128SlopesMaskTypeAlibiCompress;
        choice.kernel = kernels::OfD128SlopesMaskTypeAlibiCompress();
        return true;
    }
    // self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_SQRT: float16 or bfloat16
    if (problem.slopesGiven != 0 &&
        problem.maskType == values::MaskType::kAlibiCompressSqrt &&
        problem.maskLayout != values::MaskLayout::kColumns) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128SlopesMaskTypeAlibiCompressSqrt
                : Key::kBfloat16D128SlopesMaskTypeAlibiCompressSqrt;
        choice.kernel = kernels::OfD128SlopesMaskTypeAlibiCompressSqrt();
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
    SelfAttentionPrefixEncoderTiling &tiling = plan.tiling;
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

}  // namespace self_attention_prefix_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_PLAN_H
