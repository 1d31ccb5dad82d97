// What a Matmul object is made of, and the choices of its configuration. Choices that steer how the vendor's library goes
// about a product (loads ahead, shared blocks) change nothing here.
#pragma once
#include <cstdint>

#include "types.h"

// In no namespace, as in the vendor's headers.
enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR };
// Of several matrices: NONE for one, NORMAL for one behind the other, else the axes in their order in memory.
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };
enum class ScheduleType { INNER_PRODUCT = 0, OUTER_PRODUCT, N_BUFFER_33 };
enum class BatchMode { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
enum class BatchOutMode { SINGLE_BATCH = 0, MULTI_BATCH };
enum class MatmulConfigMode { CONFIG_NORM = 0, CONFIG_MDL, CONFIG_SPECIALMDL, CONFIG_IBSHARE };

struct MatmulConfig {
  bool doNorm = true, doBasicBlock = false, doMultiDataLoad = false;
  uint32_t basicM = 0, basicN = 0, basicK = 0;
  bool intrinsicsCheck = false, isNBatch = false, enVecND2NZ = false, doSpecialBasicBlock = false;
  uint32_t doMTE2Preload = 0, singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, stepM = 0, stepN = 0, baseMN = 0, singleCoreMN = 0;
  bool enUnitFlag = true, isPerTensor = false, hasAntiQuantOffset = false, doIBShareNorm = false, doSpecialMDL = false, enableInit = true;
  BatchMode batchMode = BatchMode::NONE;
  bool enableEnd = true, enableGetTensorC = true, enableSetOrgShape = true, enableSetBias = true, enableSetTail = true, enableQuantVector = true,
       enableSetDefineData = true;
  uint8_t iterateMode = 255;
  bool enableReuse = true, enableUBReuse = false, enableL1CacheUB = false, intraBlockPartSum = false;
  IterateOrder iterateOrder = IterateOrder::UNDEF;
  ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
  bool enableDoubleCache = false, isBiasBatch = true, enableStaticPadZeros = false, isPartialOutput = false, enableMixDualMaster = false, isA2B2Shared = false,
       isEnableChannelSplit = false, enableKdimReorderLoad = false;
  BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
  bool enableL1BankConflictOptimise = false;
};

// What GetMMConfig takes, in any order.
struct MatmulShapeParams { uint32_t singleCoreM, singleCoreN, singleCoreK, basicM, basicN, basicK; };
struct MatmulQuantParams { bool isPerTensor, hasAntiQuantOffset; };
struct MatmulBatchParams {
  bool isNBatch;
  BatchMode batchMode;
  bool isBiasBatch = true;
  BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
};
struct MatmulFuncParams {
  bool intrinsicsCheck, enVecND2NZ, enableDoubleCache, enableL1CacheUB;
  uint32_t doMTE2Preload;
  IterateOrder iterateOrder;
  ScheduleType scheduleType;
  bool enableReuse = true, enableUBReuse, isPartialOutput = false, isA2B2Shared = false, isEnableChannelSplit = false, enableKdimReorderLoad = false,
       enableL1BankConflictOptimise = false;
};

constexpr MatmulConfig GetNormalConfig(bool intrinsicsLimit = false, bool batchLoop = false, bool vecND2NZ = false, BatchMode batch = BatchMode::BATCH_LESS_THAN_L1,
                                       bool reuse = true, IterateOrder order = IterateOrder::UNDEF, ScheduleType schedule = ScheduleType::INNER_PRODUCT,
                                       bool unitFlag = true, bool dualMaster = false, BatchOutMode out = BatchOutMode::SINGLE_BATCH) {
  MatmulConfig c;
  c.intrinsicsCheck = intrinsicsLimit;
  c.isNBatch = batchLoop;
  c.enVecND2NZ = vecND2NZ;
  c.batchMode = batch;
  c.enableReuse = reuse;
  c.iterateOrder = order;
  c.scheduleType = schedule;
  c.enUnitFlag = unitFlag;
  c.enableMixDualMaster = dualMaster;
  c.bmmOutMode = out;
  return c;
}
constexpr MatmulConfig GetMDLConfig(bool intrinsicsLimit = false, bool batchLoop = false, uint32_t preload = 0, bool vecND2NZ = false, bool perTensor = false,
                                    bool antiQuantOffset = false, bool unitFlag = false, bool reuse = true, bool ubReuse = true, bool l1CacheUB = false,
                                    bool dualMaster = false, bool reorderedLoad = false) {
  MatmulConfig c;
  c.doNorm = false;
  c.doMultiDataLoad = true;
  c.intrinsicsCheck = intrinsicsLimit;
  c.isNBatch = batchLoop;
  c.doMTE2Preload = preload;
  c.enVecND2NZ = vecND2NZ;
  c.isPerTensor = perTensor;
  c.hasAntiQuantOffset = antiQuantOffset;
  c.enUnitFlag = unitFlag;
  c.enableReuse = reuse;
  c.enableUBReuse = ubReuse;
  c.enableL1CacheUB = l1CacheUB;
  c.enableMixDualMaster = dualMaster;
  c.enableKdimReorderLoad = reorderedLoad;
  return c;
}
constexpr MatmulConfig GetSpecialMDLConfig(bool intrinsicsLimit = false, bool batchLoop = false, uint32_t preload = 0, bool vecND2NZ = false,
                                           bool perTensor = false, bool antiQuantOffset = false) {
  MatmulConfig c = GetMDLConfig(intrinsicsLimit, batchLoop, preload, vecND2NZ, perTensor, antiQuantOffset);
  c.doMultiDataLoad = false;
  c.doSpecialMDL = true;
  return c;
}
constexpr MatmulConfig GetIBShareNormConfig(bool intrinsicsLimit = false, bool batchLoop = false, bool vecND2NZ = false, BatchMode batch = BatchMode::BATCH_LESS_THAN_L1,
                                            bool doubleCache = false, bool unitFlag = true) {
  MatmulConfig c = GetNormalConfig(intrinsicsLimit, batchLoop, vecND2NZ, batch);
  c.doNorm = false;
  c.doIBShareNorm = true;
  c.enableDoubleCache = doubleCache;
  c.enUnitFlag = unitFlag;
  return c;
}
constexpr MatmulConfig GetBasicConfig(uint32_t m, uint32_t n, uint32_t k, bool intrinsicsLimit = false, bool batchLoop = false,
                                      BatchMode batch = BatchMode::BATCH_LESS_THAN_L1) {
  MatmulConfig c = GetNormalConfig(intrinsicsLimit, batchLoop, false, batch);
  c.doNorm = false;
  c.doBasicBlock = true;
  c.basicM = m;
  c.basicN = n;
  c.basicK = k;
  return c;
}

namespace AscendC::detail {
constexpr void choose(MatmulConfig& c, const MatmulShapeParams& p) {
  c.singleCoreM = p.singleCoreM;
  c.singleCoreN = p.singleCoreN;
  c.singleCoreK = p.singleCoreK;
  c.basicM = p.basicM;
  c.basicN = p.basicN;
  c.basicK = p.basicK;
}
constexpr void choose(MatmulConfig& c, const MatmulQuantParams& p) {
  c.isPerTensor = p.isPerTensor;
  c.hasAntiQuantOffset = p.hasAntiQuantOffset;
}
constexpr void choose(MatmulConfig& c, const MatmulBatchParams& p) {
  c.isNBatch = p.isNBatch;
  c.batchMode = p.batchMode;
  c.isBiasBatch = p.isBiasBatch;
  c.bmmOutMode = p.bmmOutMode;
}
constexpr void choose(MatmulConfig& c, const MatmulFuncParams& p) {
  c.intrinsicsCheck = p.intrinsicsCheck;
  c.enVecND2NZ = p.enVecND2NZ;
  c.enableDoubleCache = p.enableDoubleCache;
  c.enableL1CacheUB = p.enableL1CacheUB;
  c.doMTE2Preload = p.doMTE2Preload;
  c.iterateOrder = p.iterateOrder;
  c.scheduleType = p.scheduleType;
  c.enableReuse = p.enableReuse;
  c.enableUBReuse = p.enableUBReuse;
  c.isPartialOutput = p.isPartialOutput;
  c.isA2B2Shared = p.isA2B2Shared;
  c.isEnableChannelSplit = p.isEnableChannelSplit;
  c.enableKdimReorderLoad = p.enableKdimReorderLoad;
  c.enableL1BankConflictOptimise = p.enableL1BankConflictOptimise;
}
}  // namespace AscendC::detail

// A template's configuration with choices of its own.
template <MatmulConfigMode mode, class... Params>
constexpr MatmulConfig GetMMConfig(Params&&... choices) {
  MatmulConfig c = mode == MatmulConfigMode::CONFIG_NORM         ? GetNormalConfig()
                   : mode == MatmulConfigMode::CONFIG_MDL        ? GetMDLConfig()
                   : mode == MatmulConfigMode::CONFIG_SPECIALMDL ? GetSpecialMDLConfig()
                                                                 : GetIBShareNormConfig();
  (AscendC::detail::choose(c, choices), ...);
  return c;
}

constexpr MatmulConfig CFG_NORM = GetNormalConfig();
constexpr MatmulConfig CFG_MDL = GetMDLConfig();
constexpr MatmulConfig MM_CFG_BB = GetBasicConfig(128, 128, 128);
constexpr MatmulConfig CFG_IBSHARE_NORM = GetIBShareNormConfig();

namespace AscendC {

using ::CubeFormat;
using ::LayoutMode;
using ::IterateOrder;
using ::ScheduleType;
using ::BatchMode;
using ::BatchOutMode;
using ::MatmulConfigMode;
using ::MatmulConfig;
using ::MatmulShapeParams;
using ::MatmulQuantParams;
using ::MatmulBatchParams;
using ::MatmulFuncParams;
using ::GetNormalConfig;
using ::GetMDLConfig;
using ::GetSpecialMDLConfig;
using ::GetIBShareNormConfig;
using ::GetBasicConfig;
using ::GetMMConfig;
using ::CFG_NORM;
using ::CFG_MDL;
using ::MM_CFG_BB;
using ::CFG_IBSHARE_NORM;

template <TPosition POSITION, CubeFormat FORMAT, class TYPE, bool ISTRANS = false, LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false>
struct MatmulType {
  static constexpr TPosition pos = POSITION;
  static constexpr CubeFormat format = FORMAT;
  static constexpr bool isTrans = ISTRANS;
  static constexpr LayoutMode layout = LAYOUT;
  static constexpr bool ibShare = IBSHARE;
  using T = TYPE;
};

// A right operand of which two of four elements are kept; SetSparseIndex tells which.
template <TPosition POSITION, TPosition INDEX_POSITION, CubeFormat FORMAT, class TYPE, bool ISTRANS = false, LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false>
struct SparseMatmulType : MatmulType<POSITION, FORMAT, TYPE, ISTRANS, LAYOUT, IBSHARE> {
  static constexpr TPosition indexPosition = INDEX_POSITION;
};
namespace detail {
template <class Operand, class = void>
constexpr bool is_sparse = false;
template <class Operand>
constexpr bool is_sparse<Operand, std::void_t<decltype(Operand::indexPosition)>> = true;
}  // namespace detail

// The type of an operand's sums.
template <class T>
struct GetMmDstType {
  using Type = std::conditional_t<std::is_same_v<T, int8_t> || std::is_same_v<T, int4b_t>, int32_t, float>;
};
namespace Impl {
constexpr int32_t QUEUE_DEPTH = 1;
}

}  // namespace AscendC
