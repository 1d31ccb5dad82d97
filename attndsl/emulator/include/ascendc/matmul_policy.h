// What a Matmul object may have replaced: how operands come to L1 and results leave L0C, and which blocks are worked on.
#pragma once
#include "matmul_config.h"
#include "tensor.h"

namespace AscendC {

// How a block lies in L0C and where it goes. Lengths and gaps of the source count 32 bytes; `dstStride` counts elements of
// rows (ND) or 32 bytes (NZ); `oriNSize` is the block's width in ND, 0 in NZ.
struct DataCopyOutParams {
  uint16_t cBurstNum = 0, burstLen = 0, srcStride = 0;
  uint32_t dstStride = 0;
  uint16_t oriNSize = 0;
  bool enUnitFlag = false;  // products here do without
  uint64_t quantScalar = 0, cbufWorkspaceAddr = 0;
};

// Functions that copy one block each; nullptr leaves it to the library. `row` and `col` count blocks; sizes count elements; the
// last two are what SetUserDefInfo and SetSelfDefineData were given. A block in L1 is columns of fractals as the operand is
// stored, of as many rows as fill fractals.
template <void (*DataCopyOut)(const __gm__ void* gm, const LocalTensor<int8_t>& co1Local, const void* dataCopyOutParams, const uint64_t tilingPtr, const uint64_t dataPtr) = nullptr,
          void (*CopyA1)(const LocalTensor<int8_t>& aMatrix, const __gm__ void* gm, int row, int col, int useM, int useK, const uint64_t tilingPtr, const uint64_t dataPtr) = nullptr,
          void (*CopyB1)(const LocalTensor<int8_t>& bMatrix, const __gm__ void* gm, int row, int col, int useK, int useN, const uint64_t tilingPtr, const uint64_t dataPtr) = nullptr>
struct MatmulCallBackFunc {
  static constexpr auto DataCopyOutPtr = DataCopyOut;
  static constexpr auto CopyA1Ptr = CopyA1;
  static constexpr auto CopyB1Ptr = CopyB1;
};

namespace detail {
enum class Blocks { All, UpperTriangle, LowerTriangle };

// What callbacks are handed.
struct UserWords {
  uint64_t tiling = 0, data = 0;
};

template <auto function>
constexpr bool is_given() {
  return function != nullptr;
}
}  // namespace detail

namespace Impl::Detail {

template <const auto& = CFG_NORM, class...>
struct MatmulPolicy {
  static constexpr detail::Blocks kBlocks = detail::Blocks::All;
  static constexpr bool kKeepsLeft = false;
};
// Blocks below the diagonal of blocks are neither computed nor stored; above it for the other one.
template <const auto& = CFG_NORM, class...>
struct TrianUpperMatmulPolicy : MatmulPolicy<CFG_NORM> {
  static constexpr detail::Blocks kBlocks = detail::Blocks::UpperTriangle;
};
template <const auto& = CFG_NORM, class...>
struct TrianLowerMatmulPolicy : MatmulPolicy<CFG_NORM> {
  static constexpr detail::Blocks kBlocks = detail::Blocks::LowerTriangle;
};
// The left operand's 3x3 blocks stay in L1.
template <const auto& = CFG_NORM, class...>
struct NBuffer33MatmulPolicy : MatmulPolicy<CFG_NORM> {
  static constexpr bool kKeepsLeft = true;
};

}  // namespace Impl::Detail
}  // namespace AscendC
