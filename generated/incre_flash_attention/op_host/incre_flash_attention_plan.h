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

// Meanings of the numbers in a problem.
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

constexpr int64_t kTenths = 10;  // the work of the busiest core without splits, in its tenths
// tenths that splits which even out the cores leave it, at most
constexpr int64_t kTenthsWithSplits = 9;
constexpr int64_t kTilesOfEvenSplit = 2;  // score tiles of such a split, at least
// lanes of a partial maximum or sum: a 32-byte block, so that any row can be addressed
constexpr int64_t kStatisticLanes = 8;
constexpr int64_t kBytesOfFloat32 = 4;  // bytes of a float32 or int32
constexpr int64_t kWorkspaceAlignment = 512;  // bytes; Fixpipe stores faster to such addresses
constexpr int64_t kBytesOfFloat16 = 2;  // bytes of a float16 or bfloat16

// The inputs of a launch's plan.
struct Problem {
    int64_t queryDtype = 0;  // dtype of query; 0: float16, 1: bfloat16
    int64_t D = 0;  // head size, D
    int64_t attnMaskGiven = 0;  // whether attn_mask is passed
    int64_t pseShiftGiven = 0;  // whether pse_shift is passed
    int64_t quantScale2Given = 0;  // whether quant_scale2 is passed
    int64_t quantOffset2Given = 0;  // whether quant_offset2 is passed
    int64_t antiquantScaleGiven = 0;  // whether antiquant_scale is passed
    int64_t antiquantOffsetGiven = 0;  // whether antiquant_offset is passed
    int64_t blockTableGiven = 0;  // whether block_table is passed
    int64_t kvPaddingSizeGiven = 0;  // whether kv_padding_size is passed
    int64_t keySplit = 0;  // split(key)
    int64_t valueSplit = 0;  // split(value)
    int64_t kvN = 0;  // size kvN of the contract
    int64_t N = 0;  // size N of the contract
    int64_t B = 0;  // size B of the contract
    int64_t S = 0;  // size S of the contract
    int64_t cores = 0;  // cube cores of the device
    float scale_value = 0;  // parameter scale_value
    int64_t keyLayout = 0;  // index of the layout of key
    int64_t valueLayout = 0;  // index of the layout of value
    int64_t actualSeqLengthsCount = 0;  // entries of actualSeqLengths, 0 without it
    int64_t pseShiftLayout = 0;  // index of the layout of pseShift
    int64_t quantScale2Layout = 0;  // index of the layout of quantScale2
    int64_t quantOffset2Layout = 0;  // index of the layout of quantOffset2
    int64_t block_size = 0;  // parameter block_size
    int64_t max_block_num_per_seq = 0;  // size max_block_num_per_seq of the contract
};

// A launch. `key` tells the kernel, 0 if none is generated for the problem. `scheduleMode`:
// kBatchMode if blocks wait for each other. Blocks and workspace are in `tiling`.
constexpr uint32_t kBatchMode = 1;  // all blocks start at once, or none
struct Plan {
    uint64_t key = 0;
    uint32_t scheduleMode = 0;
    IncreFlashAttentionTiling tiling{};
};

// The tiling data of a launch without work.
inline IncreFlashAttentionTiling OneBlock()
{
    IncreFlashAttentionTiling tiling{};
    tiling.blocks = 1;
    return tiling;
}

// The differences between the launches of kernels. A form selects one of several expressions of a
// field.
struct Kernel {
    int32_t keyStrideKForm;  // of keyStrideK, valueStrideK
    int32_t scoreRingOffsetForm;  // of scoreRingOffset, outRingOffset
    int64_t maxRows;  // query rows of one task, at most
    int64_t tileKeys;  // keys of one score tile
    int64_t paddedHeadSize;  // head size this kernel is specialized on, padded to 16
    int64_t ring;  // workspace slots between cube and vector cores
};

// The tiling data of a launch; a kernel reads the fields that it needs.
inline IncreFlashAttentionTiling Tile(const Problem &problem, const Kernel &kernel)
{
    using attndsl::MinOf;
    using attndsl::MaxOf;
    using attndsl::CeilDiv;
    using attndsl::RoundUp;
    IncreFlashAttentionTiling tiling{};
    tiling.kvHeads = problem.kvN;
    tiling.group = problem.N / problem.kvN;
    tiling.headsPerTask = MinOf(tiling.group, kernel.maxRows);
    tiling.headTiles = CeilDiv(tiling.group, tiling.headsPerTask);
    tiling.rowsPerTask = tiling.headsPerTask;
    tiling.tasks = problem.B * tiling.kvHeads * tiling.headTiles;
    const int64_t keyTiles = CeilDiv(problem.S, kernel.tileKeys);  // score tiles of a row, at most
    const int64_t tasksOfCore = CeilDiv(tiling.tasks, problem.cores);  // tasks of the busiest core
    // items of the busiest core if each task has 3 splits
    const int64_t thirdsOfCore = CeilDiv(tiling.tasks * 3, problem.cores);
    // items of the busiest core if each task has 2 splits
    const int64_t halvesOfCore = CeilDiv(tiling.tasks * 2, problem.cores);
    tiling.splits =
        tiling.tasks > problem.cores
            ? (thirdsOfCore * kTenths <= tasksOfCore * 3 * kTenthsWithSplits
                && keyTiles >= kTilesOfEvenSplit * 3
                ? 3
                : (halvesOfCore * kTenths <= tasksOfCore * 2 * kTenthsWithSplits
                    && keyTiles >= kTilesOfEvenSplit * 2
                    ? 2
                    : 1))
            : MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles));
    tiling.items = tiling.tasks * tiling.splits;
    tiling.rowTotal = problem.B * problem.N;
    tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
    tiling.scaleValue = problem.scale_value;
    tiling.headDim = problem.D;
    tiling.attentionOutStrideB = problem.N * problem.D;
    tiling.attentionOutStrideN = problem.D;
    // rows of all key splits, 0 without any
    const int64_t partialRows = tiling.splits > 1 ? tiling.splits * tiling.rowTotal : 0;
    tiling.queryHeads = problem.N;
    tiling.keyStrideT =
        problem.keyLayout == values::KeyLayout::kBsh ? problem.kvN * problem.D : problem.D;
    if (kernel.keyStrideKForm == 0) {
        tiling.keyStrideK =
            problem.keyLayout == values::KeyLayout::kBsh ? problem.D : problem.S * problem.D;
    } else if (kernel.keyStrideKForm == 1) {
        tiling.keyStrideK =
            problem.keyLayout == values::KeyLayout::kBsh
                ? problem.D
                : (problem.keyLayout == values::KeyLayout::kBnsd
                    ? problem.S * problem.D
                    : (problem.keyLayout == values::KeyLayout::kPaged
                        ? problem.D
                        : problem.block_size * problem.D));
    }
    tiling.keyStrideB =
        problem.keyLayout == values::KeyLayout::kBsh
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.valueStrideT =
        problem.valueLayout == values::ValueLayout::kBsh ? problem.kvN * problem.D : problem.D;
    if (kernel.keyStrideKForm == 0) {
        tiling.valueStrideK =
            problem.valueLayout == values::ValueLayout::kBsh ? problem.D : problem.S * problem.D;
    } else if (kernel.keyStrideKForm == 1) {
        tiling.valueStrideK =
            problem.valueLayout == values::ValueLayout::kBsh
                ? problem.D
                : (problem.valueLayout == values::ValueLayout::kBnsd
                    ? problem.S * problem.D
                    : (problem.valueLayout == values::ValueLayout::kPaged
                        ? problem.D
                        : problem.block_size * problem.D));
    }
    tiling.valueStrideB =
        problem.valueLayout == values::ValueLayout::kBsh
            ? problem.S * (problem.kvN * problem.D)
            : problem.kvN * (problem.S * problem.D);
    tiling.keyCapacity = problem.S;
    tiling.actualSeqLengthsCount = problem.actualSeqLengthsCount;
    tiling.queryStrideB = problem.N * problem.D;
    tiling.queryStrideN = problem.D;
    tiling.partialMaxOffset = 0;
    tiling.partialSumOffset =
        tiling.partialMaxOffset
            + RoundUp(partialRows * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.partialOutOffset =
        tiling.partialSumOffset
            + RoundUp(partialRows * kStatisticLanes * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.scoreRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.probRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.tileKeys * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.outRingPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedHeadSize * kBytesOfFloat32,
            kWorkspaceAlignment);
    tiling.attnMaskStrideB = problem.S;
    tiling.pseShiftStrideB =
        problem.pseShiftLayout == values::PseShiftLayout::k1N1S ? 0 : problem.N * problem.S;
    tiling.pseShiftStrideN = problem.S;
    tiling.quantScale2StrideE =
        problem.quantScale2Layout == values::QuantScale2Layout::kPerTensor ? 0 : 1;
    tiling.quantScale2StrideN =
        problem.quantScale2Layout == values::QuantScale2Layout::kPerTensor ? 0 : problem.D;
    tiling.quantOffset2StrideE =
        problem.quantOffset2Layout == values::QuantOffset2Layout::kPerTensor ? 0 : 1;
    tiling.quantOffset2StrideN =
        problem.quantOffset2Layout == values::QuantOffset2Layout::kPerTensor ? 0 : problem.D;
    tiling.antiquantScaleStrideK = problem.D;
    tiling.antiquantScaleStrideC = problem.kvN * problem.D;
    tiling.keyRingOffset =
        tiling.partialOutOffset
            + RoundUp(partialRows * kernel.paddedHeadSize * kBytesOfFloat32, kWorkspaceAlignment);
    tiling.keyRingPart =
        RoundUp(kernel.ring * kernel.tileKeys * kernel.paddedHeadSize * kBytesOfFloat16,
            kWorkspaceAlignment);
    tiling.foldedQueryOffset = tiling.keyRingOffset + tiling.keyRingPart * tiling.blocks;
    tiling.foldedQueryPart =
        RoundUp(kernel.ring * tiling.rowsPerTask * kernel.paddedHeadSize * kBytesOfFloat16,
            kWorkspaceAlignment);
    if (kernel.scoreRingOffsetForm == 0) {
        tiling.scoreRingOffset =
            tiling.partialOutOffset
                + RoundUp(partialRows * kernel.paddedHeadSize * kBytesOfFloat32,
                    kWorkspaceAlignment);
    } else if (kernel.scoreRingOffsetForm == 1) {
        tiling.scoreRingOffset = tiling.foldedQueryOffset + tiling.foldedQueryPart * tiling.blocks;
    }
    tiling.probRingOffset = tiling.scoreRingOffset + tiling.scoreRingPart * tiling.blocks;
    tiling.valueRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    tiling.valueRingPart =
        RoundUp(kernel.ring * kernel.tileKeys * kernel.paddedHeadSize * kBytesOfFloat16,
            kWorkspaceAlignment);
    if (kernel.scoreRingOffsetForm == 0) {
        tiling.outRingOffset = tiling.probRingOffset + tiling.probRingPart * tiling.blocks;
    } else if (kernel.scoreRingOffsetForm == 1) {
        tiling.outRingOffset = tiling.valueRingOffset + tiling.valueRingPart * tiling.blocks;
    }
    tiling.workspaceBytes = tiling.outRingOffset + tiling.outRingPart * tiling.blocks;
    tiling.antiquantOffsetStrideK = problem.D;
    tiling.antiquantOffsetStrideC = problem.kvN * problem.D;
    tiling.blockSize = problem.block_size;
    tiling.blockTableStrideB = problem.max_block_num_per_seq;
    tiling.keyStrideP =
        problem.keyLayout == values::KeyLayout::kBsh
            ? 0
            : (problem.keyLayout == values::KeyLayout::kBnsd
                ? 0
                : (problem.keyLayout == values::KeyLayout::kPaged
                    ? problem.block_size * (problem.kvN * problem.D)
                    : problem.kvN * (problem.block_size * problem.D)));
    tiling.keyStrideR =
        problem.keyLayout == values::KeyLayout::kBsh
            ? 0
            : (problem.keyLayout == values::KeyLayout::kBnsd
                ? 0
                : (problem.keyLayout == values::KeyLayout::kPaged
                    ? problem.kvN * problem.D
                    : problem.D));
    tiling.valueStrideP =
        problem.valueLayout == values::ValueLayout::kBsh
            ? 0
            : (problem.valueLayout == values::ValueLayout::kBnsd
                ? 0
                : (problem.valueLayout == values::ValueLayout::kPaged
                    ? problem.block_size * (problem.kvN * problem.D)
                    : problem.kvN * (problem.block_size * problem.D)));
    tiling.valueStrideR =
        problem.valueLayout == values::ValueLayout::kBsh
            ? 0
            : (problem.valueLayout == values::ValueLayout::kBnsd
                ? 0
                : (problem.valueLayout == values::ValueLayout::kPaged
                    ? problem.kvN * problem.D
                    : problem.D));
    tiling.S = problem.S;
    tiling.keyIsBSH = problem.keyLayout == values::KeyLayout::kBsh;
    tiling.valueIsBSH = problem.valueLayout == values::ValueLayout::kBsh;
    return tiling;
}

// A launch of the kernel with this tiling key. `waits`: its blocks wait for each other.
inline Plan PlanOf(IncreFlashAttentionTilingKey key, const IncreFlashAttentionTiling &tiling,
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
    using Key = IncreFlashAttentionTilingKey;
    // All kernels ask for this.
    if (!((problem.queryDtype == values::QueryDtype::kFloat16
        || problem.queryDtype == values::QueryDtype::kBfloat16) &&
        problem.D > 112 && problem.D <= 128)) {
        return Plan{};
    }
    // incre_flash_attention_d128: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        namespace schedule = incre_flash_attention_d128;
        constexpr Kernel kernel{
            0, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128
                : Key::kBfloat16D128;
        const IncreFlashAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // incre_flash_attention_d128_attn_mask: float16 or bfloat16
    if (problem.attnMaskGiven != 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        namespace schedule = incre_flash_attention_d128_attn_mask;
        constexpr Kernel kernel{
            0, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128AttnMask
                : Key::kBfloat16D128AttnMask;
        const IncreFlashAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // incre_flash_attention_d128_pse_shift: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven != 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        namespace schedule = incre_flash_attention_d128_pse_shift;
        constexpr Kernel kernel{
            0, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128PseShift
                : Key::kBfloat16D128PseShift;
        const IncreFlashAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // incre_flash_attention_d128_quant_scale2: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given != 0 &&
        problem.quantOffset2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        namespace schedule = incre_flash_attention_d128_quant_scale2;
        constexpr Kernel kernel{
            0, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128QuantScale2
                : Key::kBfloat16D128QuantScale2;
        const IncreFlashAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // incre_flash_attention_d128_quant_scale2_quant_offset2: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given != 0 &&
        problem.quantOffset2Given != 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        namespace schedule = incre_flash_attention_d128_quant_scale2_quant_offset2;
        constexpr Kernel kernel{
            0, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128QuantScale2QuantOffset2
                : Key::kBfloat16D128QuantScale2QuantOffset2;
        const IncreFlashAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // incre_flash_attention_d128_antiquant_scale: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven != 0 &&
        problem.antiquantOffsetGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        namespace schedule = incre_flash_attention_d128_antiquant_scale;
        constexpr Kernel kernel{
            0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128AntiquantScale
                : Key::kBfloat16D128AntiquantScale;
        const IncreFlashAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // incre_flash_attention_d128_antiquant_scale_antiquant_offset: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven != 0 &&
        problem.antiquantOffsetGiven != 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven == 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        namespace schedule = incre_flash_attention_d128_antiquant_scale_antiquant_offset;
        constexpr Kernel kernel{
            0, 1, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128AntiquantScaleAntiquantOffset
                : Key::kBfloat16D128AntiquantScaleAntiquantOffset;
        const IncreFlashAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // incre_flash_attention_d128_block_table: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven != 0 &&
        problem.valueSplit == 0) {
        namespace schedule = incre_flash_attention_d128_block_table;
        constexpr Kernel kernel{
            1, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128BlockTable
                : Key::kBfloat16D128BlockTable;
        const IncreFlashAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // incre_flash_attention_d128_kv_padding_size: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.blockTableGiven == 0 &&
        problem.kvPaddingSizeGiven != 0 &&
        problem.keySplit == 0 &&
        problem.valueSplit == 0) {
        namespace schedule = incre_flash_attention_d128_kv_padding_size;
        constexpr Kernel kernel{
            0, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128KvPaddingSize
                : Key::kBfloat16D128KvPaddingSize;
        const IncreFlashAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    // incre_flash_attention_d128_key_list_value_list: float16 or bfloat16
    if (problem.attnMaskGiven == 0 &&
        problem.pseShiftGiven == 0 &&
        problem.quantScale2Given == 0 &&
        problem.antiquantScaleGiven == 0 &&
        problem.keySplit == 1 &&
        problem.valueSplit == 1) {
        namespace schedule = incre_flash_attention_d128_key_list_value_list;
        constexpr Kernel kernel{
            0, 0, schedule::kMaxRows, schedule::kTileKeys, schedule::kPaddedHeadSize,
            schedule::kRing};
        const Key key =
            problem.queryDtype == values::QueryDtype::kFloat16
                ? Key::kFloat16D128KeyListValueList
                : Key::kBfloat16D128KeyListValueList;
        const IncreFlashAttentionTiling tiling = empty ? OneBlock() : Tile(problem, kernel);
        return PlanOf(key, tiling, tiling.splits > 1);
    }
    return Plan{};
}

}  // namespace incre_flash_attention_host

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_PLAN_H
