// What a Matmul object is made of, and the choices of its configuration. Choices that steer how the vendor's library goes
// about a product (loads ahead, shared blocks) change nothing here.
#pragma once
#include <cstdint>

#include "types.h"

// In no namespace, as in the vendor's headers.
enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR };
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };
enum class ScheduleType { INNER_PRODUCT = 0, OUTER_PRODUCT, N_BUFFER_33 };
enum class BatchMode { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
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
};

constexpr MatmulConfig GetNormalConfig(bool intrinsicsLimit = false, bool = false, bool vecND2NZ = false, BatchMode = BatchMode::NONE, bool = true,
                                       IterateOrder order = IterateOrder::UNDEF, ScheduleType = ScheduleType::INNER_PRODUCT, bool unitFlag = true,
                                       bool = false, bool = false) {
  MatmulConfig c;
  c.intrinsicsCheck = intrinsicsLimit;
  c.enVecND2NZ = vecND2NZ;
  c.iterateOrder = order;
  c.enUnitFlag = unitFlag;
  return c;
}
constexpr MatmulConfig GetMDLConfig(bool intrinsicsLimit = false, bool = false, uint32_t preload = 0, bool = false, bool = false, bool = false,
                                    bool unitFlag = false, bool = true) {
  MatmulConfig c;
  c.doNorm = false;
  c.doMultiDataLoad = true;
  c.intrinsicsCheck = intrinsicsLimit;
  c.doMTE2Preload = preload;
  c.enUnitFlag = unitFlag;
  return c;
}
constexpr MatmulConfig GetIBShareNormConfig(bool = false, bool = false, bool = false, BatchMode = BatchMode::NONE, bool = false, bool = true) {
  MatmulConfig c;
  c.doIBShareNorm = true;
  return c;
}

constexpr MatmulConfig CFG_NORM = GetNormalConfig();
constexpr MatmulConfig CFG_MDL = GetMDLConfig();
constexpr MatmulConfig MM_CFG_BB = GetNormalConfig(true);
constexpr MatmulConfig CFG_IBSHARE_NORM = GetIBShareNormConfig();

namespace AscendC {

using ::CubeFormat;
using ::LayoutMode;
using ::IterateOrder;
using ::ScheduleType;
using ::BatchMode;
using ::MatmulConfigMode;
using ::MatmulConfig;
using ::GetNormalConfig;
using ::GetMDLConfig;
using ::GetIBShareNormConfig;
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

}  // namespace AscendC
