// How incre_flash_attention is launched: which kernel, how many blocks, which workspace. Plain
// C++17, no CANN headers.
#ifndef ATTNDSL_INCRE_FLASH_ATTENTION_PLAN_H
#define ATTNDSL_INCRE_FLASH_ATTENTION_PLAN_H

#include <cstdint>

#include "../op_kernel/incre_flash_attention_d128_schedule.h"
#include "../op_kernel/incre_flash_attention_d128_attn_mask_schedule.h"
#include "../op_kernel/incre_flash_attention_d128_pse_shift_schedule.h"
#include "../op_kernel/incre_flash_attention_d128_quant_scale2_schedule.h"
#include "../op_kernel/incre_flash_attention_d128_quant_scale2_quant_offset2_schedule.h"
#include "../op_kernel/incre_flash_attention_d128_antiquant_scale_schedule.h"
#include "../op_kernel/incre_flash_attention_d128_antiquant_scale_antiquant_offset_schedule.h"
#include "../op_kernel/incre_flash_attention_d128_block_table_schedule.h"
#include "../op_kernel/incre_flash_attention_d128_kv_padding_size_schedule.h"
#include "../op_kernel/incre_flash_attention_d128_key_list_value_list_schedule.h"
#include "../op_kernel/incre_flash_attention_tiling.h"
#include "arithmetic.h"

namespace incre_flash_attention_host {

// Codes of layouts, dtypes and parameters in a problem.
namespace values {
struct QueryDtype {
    static constexpr int64_t kFloat16 = 0;
    static constexpr int64_t kBfloat16 = 1;
};
struct KeyLayout {
    static constexpr int64_t kBsh = 0;
    static constexpr int64_t kBnsd = 1;
    static constexpr int64_t kPaged = 2;
    static constexpr int64_t kPagedBnsd = 3;
};
struct ValueLayout {
    static constexpr int64_t kBsh = 0;
    static constexpr int64_t kBnsd = 1;
    static constexpr int64_t kPaged = 2;
    static constexpr int64_t kPagedBnsd = 3;
};
struct PseShiftLayout {
    static constexpr int64_t k1N1S = 0;
    static constexpr int64_t kBN1S = 1;
};
struct QuantScale2Layout {
    static constexpr int64_t kPerTensor = 0;
    static constexpr int64_t kPerChannel = 1;
};
struct QuantOffset2Layout {
    static constexpr int64_t kPerTensor = 0;
    static constexpr int64_t kPerChannel = 1;
};
}  // namespace values

// splits are worth their merge if they save one part in so many of the busiest core's work
constexpr int64_t kWorthwhilePart = 10;
constexpr int64_t kTilesOfEvenSplit = 2;  // score tiles of such a split, at least
constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses
constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t D = 0;  // head size of queries and keys
    int64_t attnMaskGiven = 0;  // 1 if attn_mask is passed
    int64_t pseShiftGiven = 0;  // 1 if pse_shift is passed
    int64_t quantScale2Given = 0;  // 1 if quant_scale2 is passed
    int64_t quantOffset2Given = 0;  // 1 if quant_offset2 is passed
    int64_t antiquantScaleGiven = 0;  // 1 if antiquant_scale is passed
    int64_t antiquantOffsetGiven = 0;  // 1 if antiquant_offset is passed
    int64_t blockTableGiven = 0;  // 1 if block_table is passed
    int64_t kvPaddingSizeGiven = 0;  // 1 if kv_padding_size is passed
    int64_t actualSeqLengthsCount = 0;  // entries of actualSeqLengths, 0 without it
    int64_t keySplit = 0;  // 1 if key is a list of one tensor a batch row
    int64_t valueSplit = 0;  // 1 if value is a list of one tensor a batch row
    int64_t kvN = 0;  // key/value heads
    int64_t N = 0;  // query heads
    int64_t B = 0;  // batch rows
    int64_t S = 0;  // key positions of a batch row
    int64_t cores = 0;  // cube cores of the device
    // whether all blocks start at once, so that they may wait for each other
    bool startTogether = false;
    float scale_value = 0;  // parameter scale_value
    int64_t keyLayout = 0;  // layout of key; 0: BSH, 1: BNSD, 2: paged, 3: paged BNSD
    int64_t valueLayout = 0;  // layout of value; 0: BSH, 1: BNSD, 2: paged, 3: paged BNSD
    int64_t pseShiftLayout = 0;  // layout of pse_shift; 0: 1 N 1 S, 1: B N 1 S
    int64_t quantScale2Layout = 0;  // layout of quant_scale2; 0: per tensor, 1: per channel
    int64_t quantOffset2Layout = 0;  // layout of quant_offset2; 0: per tensor, 1: per channel
    int64_t block_size = 0;  // parameter block_size, rows in a block of a paged cache
    int64_t max_block_num_per_seq = 0;  // columns of a block table
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
    IncreFlashAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline IncreFlashAttentionTiling OneBlock()
{
    IncreFlashAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// What a plan knows of a kernel: the constants of its schedule, 0 where it has none of a name.
struct Kernel {
    int64_t maxRows = 0;  // query rows of one task, at most
    int64_t tileKeys = 0;  // keys of one score tile
    int64_t paddedHeadSize = 0;  // head size this kernel is specialized on, padded to 16
    int64_t ring = 0;  // slots of a workspace ring of score or probability tiles, at most
};

// Cuts the rows into tasks and their keys into splits; the blocks that share them.
inline void PartitionWork(const Problem &problem, const Kernel &kernel,
    IncreFlashAttentionTiling &tiling)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    const int64_t keyTiles = CeilDiv(problem.S, kernel.tileKeys);  // score tiles of a row, at most
    // splits that give each core an item
    const int64_t splitsForAll = MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles));
    const int64_t tasksOfCore = CeilDiv(tiling.tasks, problem.cores);  // tasks of the busiest core
    // items of the busiest core if each task has 3 splits
    const int64_t thirdsOfCore = CeilDiv(tiling.tasks * 3, problem.cores);
    // whether 3 splits of each task even out the cores
    const bool thirdsAreEven =
        thirdsOfCore * kWorthwhilePart <= tasksOfCore * 3 * (kWorthwhilePart - 1)
            && keyTiles >= kTilesOfEvenSplit * 3;
    // items of the busiest core if each task has 2 splits
    const int64_t halvesOfCore = CeilDiv(tiling.tasks * 2, problem.cores);
    // whether 2 splits of each task even out the cores
    const bool halvesAreEven =
        halvesOfCore * kWorthwhilePart <= tasksOfCore * 2 * (kWorthwhilePart - 1)
            && keyTiles >= kTilesOfEvenSplit * 2;
    if (!problem.startTogether) {
        tiling.splits = 1;
    } else if (tiling.tasks <= problem.cores) {
        tiling.splits = splitsForAll;
    } else if (thirdsAreEven) {
        tiling.splits = 3;
    } else if (halvesAreEven) {
        tiling.splits = 2;
    } else {
        tiling.splits = 1;
    }
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
}

// Elements between neighbours along the axes of tensors, by layout.
inline void SetStrides(const Problem &problem, IncreFlashAttentionTiling &tiling)
{
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
    tiling.attnMaskStrideB = problem.S;
    tiling.pseShiftStrideN = problem.S;
    tiling.antiquantScaleStrideK = problem.D;
    tiling.antiquantScaleStrideC = problem.kvN * problem.D;
    tiling.antiquantOffsetStrideK = problem.D;
    tiling.antiquantOffsetStrideC = problem.kvN * problem.D;
    tiling.blockTableStrideB = problem.max_block_num_per_seq;
    switch (problem.keyLayout) {
        case values::KeyLayout::kBsh:
            tiling.keyStrideT = problem.kvN * problem.D;
            tiling.keyStrideK = problem.D;
            tiling.keyStrideB = problem.S * (problem.kvN * problem.D);
            break;
        case values::KeyLayout::kBnsd:
            tiling.keyStrideT = problem.D;
            tiling.keyStrideK = problem.S * problem.D;
            tiling.keyStrideB = problem.kvN * (problem.S * problem.D);
            break;
        case values::KeyLayout::kPaged:
            tiling.keyStrideK = problem.D;
            tiling.keyStrideP = problem.block_size * (problem.kvN * problem.D);
            tiling.keyStrideR = problem.kvN * problem.D;
            break;
        case values::KeyLayout::kPagedBnsd:
            tiling.keyStrideK = problem.block_size * problem.D;
            tiling.keyStrideP = problem.kvN * (problem.block_size * problem.D);
            tiling.keyStrideR = problem.D;
            break;
        default:
            break;
    }
    switch (problem.valueLayout) {
        case values::ValueLayout::kBsh:
            tiling.valueStrideT = problem.kvN * problem.D;
            tiling.valueStrideK = problem.D;
            tiling.valueStrideB = problem.S * (problem.kvN * problem.D);
            break;
        case values::ValueLayout::kBnsd:
            tiling.valueStrideT = problem.D;
            tiling.valueStrideK = problem.S * problem.D;
            tiling.valueStrideB = problem.kvN * (problem.S * problem.D);
            break;
        case values::ValueLayout::kPaged:
            tiling.valueStrideK = problem.D;
            tiling.valueStrideP = problem.block_size * (problem.kvN * problem.D);
            tiling.valueStrideR = problem.kvN * problem.D;
            break;
        case values::ValueLayout::kPagedBnsd:
            tiling.valueStrideK = problem.block_size * problem.D;
            tiling.valueStrideP = problem.kvN * (problem.block_size * problem.D);
            tiling.valueStrideR = problem.D;
            break;
        default:
            break;
    }
    if (problem.pseShiftLayout == values::PseShiftLayout::kBN1S) {
        tiling.pseShiftStrideB = problem.N * problem.S;
    }
    if (problem.quantScale2Layout == values::QuantScale2Layout::kPerChannel) {
        tiling.quantScale2StrideE = 1;
        tiling.quantScale2StrideN = problem.D;
    }
    if (problem.quantOffset2Layout == values::QuantOffset2Layout::kPerChannel) {
        tiling.quantOffset2StrideE = 1;
        tiling.quantOffset2StrideN = problem.D;
    }
}

// Sizes and settings as kernels read them.
inline void SetScalars(const Problem &problem, IncreFlashAttentionTiling &tiling)
{
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.queryHeads = problem.N;
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.blockSize = problem.block_size;
    tiling.keyIsBSH = problem.keyLayout == values::KeyLayout::kBsh;
    tiling.valueIsBSH = problem.valueLayout == values::ValueLayout::kBsh;
}

// Puts the tensors of the workspace one after the other, in bytes.
inline void PlaceWorkspace(const Problem &problem, const Kernel &kernel,
    IncreFlashAttentionTiling &tiling)
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
        RoundUp(partialRows * kernel.paddedHeadSize * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.probRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.outRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedHeadSize * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.keyRingOffset = tiling.partialOutOffset + partialOutBytes;
    tiling.keyRingPart =
        RoundUp(kernel.ring * kernel.tileKeys * kernel.paddedHeadSize * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.absorbedQueryOffset = tiling.keyRingOffset + tiling.keyRingPart * tiling.blocks;
    tiling.absorbedQueryPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedHeadSize * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.valueRingPart =
        RoundUp(kernel.ring * kernel.tileKeys * kernel.paddedHeadSize * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.scoreRingOffset =
        problem.antiquantScaleGiven == 0
            ? tiling.partialOutOffset + partialOutBytes
            : tiling.absorbedQueryOffset + tiling.absorbedQueryPart * tiling.blocks;
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.valueRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.outRingOffset =
        problem.antiquantScaleGiven == 0
            ? tiling.probRingOffset + tiling.probRingPart * tiling.blocks
            : tiling.valueRingOffset + tiling.valueRingPart * tiling.blocks;
    tiling.workspaceBytes = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
}

// Whether blocks wait for each other: all start at once, or none.
inline bool BlocksWait([[maybe_unused]] const Problem &problem,
    [[maybe_unused]] const Kernel &kernel, const IncreFlashAttentionTiling &tiling)
{
    return tiling.splits > 1;
}

// The tiling data of a launch. Fields that a kernel does not read have a value, too, or 0.
inline IncreFlashAttentionTiling Tile(const Problem &problem, const Kernel &kernel)
{
    IncreFlashAttentionTiling tiling{};
    PartitionWork(problem, kernel, tiling);
    SetStrides(problem, tiling);
    SetScalars(problem, tiling);
    PlaceWorkspace(problem, kernel, tiling);
    return tiling;
}

// What the plan knows of each kernel, in the order of the members of `Kernel`.
namespace kernels {
constexpr Kernel OfD128()
{
    namespace schedule = incre_flash_attention_d128;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}

constexpr Kernel OfD128AttnMask()
{
    namespace schedule = incre_flash_attention_d128_attn_mask;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}

constexpr Kernel OfD128PseShift()
{
    namespace schedule = incre_flash_attention_d128_pse_shift;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}

constexpr Kernel OfD128QuantScale2()
{
    namespace schedule = incre_flash_attention_d128_quant_scale2;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}

constexpr Kernel OfD128QuantScale2QuantOffset2()
{
    namespace schedule = incre_flash_attention_d128_quant_scale2_quant_offset2;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}

constexpr Kernel OfD128AntiquantScale()
{
    namespace schedule = incre_flash_attention_d128_antiquant_scale;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}

constexpr Kernel OfD128AntiquantScaleAntiquantOffset()
{
    namespace schedule = incre_flash_attention_d128_antiquant_scale_antiquant_offset;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}

constexpr Kernel OfD128BlockTable()
{
    namespace schedule = incre_flash_attention_d128_block_table;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}

constexpr Kernel OfD128KvPaddingSize()
{
    namespace schedule = incre_flash_attention_d128_kv_padding_size;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}

constexpr Kernel OfD128KeyListValueList()
{
    namespace schedule = incre_flash_attention_d128_key_list_value_list;
    return {schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize, schedule::kRing};
}
}  // namespace kernels

// The kernel that a problem is launched with.
struct Choice {
    IncreFlashAttentionTilingKey key{};
    Kernel kernel;
};

// Whether a kernel is generated for a problem; `choice` becomes the first that takes it.
inline bool SelectKernel(const Problem &problem, Choice &choice)
{
    using Key = IncreFlashAttentionTilingKey;
    // All kernels ask for this.
    if (!((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.D > 112 && problem.D <= 128)) {
        return false;
    }
    const bool kvPaddingSizeIsNotRead =
        (problem.kvPaddingSizeGiven == 0 || problem.actualSeqLengthsCount == 0);
    // Most kernels ask for all of this.
    const bool isUsual = problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.blockTableGiven == 0 &&
        kvPaddingSizeIsNotRead &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0;
    // incre_flash_attention_d128: float16 or bfloat16
    if (isUsual &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128
                : Key::kBfloat16D128;
        choice.kernel = kernels::OfD128();
        return true;
    }
    // incre_flash_attention_d128_attn_mask: float16 or bfloat16
    if (problem.attnMaskGiven != 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        kvPaddingSizeIsNotRead &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128AttnMask
                : Key::kBfloat16D128AttnMask;
        choice.kernel = kernels::OfD128AttnMask();
        return true;
    }
    // incre_flash_attention_d128_pse_shift: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven != 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        kvPaddingSizeIsNotRead &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128PseShift
                : Key::kBfloat16D128PseShift;
        choice.kernel = kernels::OfD128PseShift();
        return true;
    }
    // incre_flash_attention_d128_quant_scale2: float16 or bfloat16
    if (isUsual &&
        problem.quantScale2Given != 0 &&
        problem.quantOffset2Given == 0 &&
        problem.antiquantScaleGiven == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128QuantScale2
                : Key::kBfloat16D128QuantScale2;
        choice.kernel = kernels::OfD128QuantScale2();
        return true;
    }
    // incre_flash_attention_d128_quant_scale2_quant_offset2: float16 or bfloat16
    if (isUsual &&
        problem.quantScale2Given != 0 &&
        problem.quantOffset2Given != 0 &&
        problem.antiquantScaleGiven == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128QuantScale2QuantOffset2
                : Key::kBfloat16D128QuantScale2QuantOffset2;
        choice.kernel = kernels::OfD128QuantScale2QuantOffset2();
        return true;
    }
    // incre_flash_attention_d128_antiquant_scale: float16 or bfloat16
    if (isUsual &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven != 0 &&
        problem.antiquantOffsetGiven == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128AntiquantScale
                : Key::kBfloat16D128AntiquantScale;
        choice.kernel = kernels::OfD128AntiquantScale();
        return true;
    }
    // incre_flash_attention_d128_antiquant_scale_antiquant_offset: float16 or bfloat16
    if (isUsual &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven != 0 &&
        problem.antiquantOffsetGiven != 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128AntiquantScaleAntiquantOffset
                : Key::kBfloat16D128AntiquantScaleAntiquantOffset;
        choice.kernel = kernels::OfD128AntiquantScaleAntiquantOffset();
        return true;
    }
    // incre_flash_attention_d128_block_table: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven != 0 &&
        problem.valueSplit == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128BlockTable
                : Key::kBfloat16D128BlockTable;
        choice.kernel = kernels::OfD128BlockTable();
        return true;
    }
    // incre_flash_attention_d128_kv_padding_size: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven != 0 && problem.actualSeqLengthsCount > 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128KvPaddingSize
                : Key::kBfloat16D128KvPaddingSize;
        choice.kernel = kernels::OfD128KvPaddingSize();
        return true;
    }
    // incre_flash_attention_d128_key_list_value_list: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.keySplit == 1 &&
        problem.valueSplit == 1) {
        choice.key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128KeyListValueList
                : Key::kBfloat16D128KeyListValueList;
        choice.kernel = kernels::OfD128KeyListValueList();
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
    IncreFlashAttentionTiling &tiling = plan.tiling;
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

}  // namespace incre_flash_attention_host

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_PLAN_H
