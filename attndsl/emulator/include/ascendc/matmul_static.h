// Tilings that are known when a kernel is compiled: what GetMatmulApiTiling makes of a configuration's constant sizes.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "matmul_config.h"

// Sizes in elements; 0 is taken from the tiling at run time. In no namespace, as in the vendor's headers.
struct MatmulApiStaticTiling {
  int32_t usedCoreNum = 0, M = 0, N = 0, Ka = 0, Kb = 0, singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, baseM = 0, baseN = 0, baseK = 0;
  int32_t depthA1 = 0, depthB1 = 0, stepM = 0, stepN = 0, stepKa = 0, stepKb = 0, isBias = 0, transLength = 0, iterateOrder = 0;
  int32_t dbL0A = 0, dbL0B = 0, dbL0C = 0, shareMode = 0, shareL1Size = 0, shareL0CSize = 0, shareUbSize = 0;
  int32_t batchM = 0, batchN = 0, singleBatchM = 0, singleBatchN = 0, mxTypePara = 0;
  MatmulConfig cfg;
};

namespace AscendC {

using ::MatmulApiStaticTiling;
namespace Impl {
constexpr int32_t L1_SIZE = static_cast<int32_t>(attnemu::kL1Bytes);
}

namespace detail {

constexpr MatmulConfig config_of(const MatmulConfig& c) { return c; }
constexpr MatmulConfig config_of(const MatmulApiStaticTiling& t) { return t.cfg; }

constexpr bool needs_no_tiling(const MatmulConfig&) { return false; }
constexpr bool needs_no_tiling(const MatmulApiStaticTiling& t) { return t.baseM && t.baseN && t.baseK && t.singleCoreM && t.singleCoreN && t.singleCoreK; }

inline void put_constants(TCubeTiling&, const MatmulConfig&) {}
// Constants win: the host's tiling has the same numbers, or none at all.
inline void put_constants(TCubeTiling& t, const MatmulApiStaticTiling& constants) {
  auto put = [](int32_t& to, int32_t constant) {
    if (constant) to = constant;
  };
#define ATTNEMU_FIELD(name) put(t.name, constants.name);
  ATTNEMU_FIELD(M) ATTNEMU_FIELD(N) ATTNEMU_FIELD(Ka) ATTNEMU_FIELD(Kb) ATTNEMU_FIELD(singleCoreM) ATTNEMU_FIELD(singleCoreN) ATTNEMU_FIELD(singleCoreK)
  ATTNEMU_FIELD(baseM) ATTNEMU_FIELD(baseN) ATTNEMU_FIELD(baseK) ATTNEMU_FIELD(depthA1) ATTNEMU_FIELD(depthB1) ATTNEMU_FIELD(stepM) ATTNEMU_FIELD(stepN)
  ATTNEMU_FIELD(stepKa) ATTNEMU_FIELD(stepKb) ATTNEMU_FIELD(isBias) ATTNEMU_FIELD(transLength) ATTNEMU_FIELD(iterateOrder)
#undef ATTNEMU_FIELD
  if (!t.M) t.M = t.singleCoreM;
  if (!t.N) t.N = t.singleCoreN;
  if (!t.Ka) t.Ka = t.singleCoreK;
  if (!t.Kb) t.Kb = t.singleCoreK;
}

}  // namespace detail

// The configuration's sizes as a tiling, with one block of each operand kept: basicM, basicN and basicK at least must be
// there. Without singleCoreM, singleCoreN and singleCoreK the kernel gives a tiling of the host's as well.
template <class A, class B, class C, class BIAS>
constexpr MatmulApiStaticTiling GetMatmulApiTiling(const MatmulConfig& config, int32_t l1Size = Impl::L1_SIZE) {
  MatmulApiStaticTiling t;
  t.cfg = config;
  t.singleCoreM = static_cast<int32_t>(config.singleCoreM);
  t.singleCoreN = static_cast<int32_t>(config.singleCoreN);
  t.singleCoreK = static_cast<int32_t>(config.singleCoreK);
  t.baseM = static_cast<int32_t>(config.basicM);
  t.baseN = static_cast<int32_t>(config.basicN);
  t.baseK = static_cast<int32_t>(config.basicK);
  t.stepM = t.stepN = t.stepKa = t.stepKb = t.depthA1 = t.depthB1 = t.dbL0C = 1;
  t.dbL0A = t.dbL0B = 2;
  t.shareL1Size = l1Size;
  return t;
}

}  // namespace AscendC
