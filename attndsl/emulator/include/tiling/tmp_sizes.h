// How much temporary memory a library function takes: what host programs ask before they cut up UB.
#pragma once
#include "../ascendc/library_sizes.h"
#include "shape.h"

namespace AscendC {
namespace detail {
inline uint32_t elements_of_shape(const TensorShape& s) { return static_cast<uint32_t>(s.GetShapeSize()); }
}  // namespace detail

#define ATTNEMU_ROW(Name, Half, Float, Reuse)                                                                            \
  inline void Get##Name##MaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) { \
    minValue = detail::TmpSizes::Name.least(typeSize, isReuseSource);                                                    \
    maxValue = detail::TmpSizes::Name.most(detail::elements_of_shape(srcShape), typeSize, isReuseSource);                \
  }                                                                                                                      \
  inline void Get##Name##TmpBufferFactorSize(const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {  \
    maxLiveNodeCount = detail::TmpSizes::Name.of(typeSize, false);                                                       \
    extraBuf = 0;                                                                                                        \
  }
ATTNEMU_TMP_TENSORS(ATTNEMU_ROW)
#undef ATTNEMU_ROW

inline void GetSwiGLUMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue, uint32_t& minValue, const bool isReuseSource) {
  GetSwiGLUMaxMinTmpSize(srcShape, typeSize, isReuseSource, maxValue, minValue);
}
inline uint32_t GetGeluMaxTmpSize(const TensorShape& srcShape, const uint32_t typeSize) { return detail::TmpSizes::Gelu.most(detail::elements_of_shape(srcShape), typeSize, false); }
inline uint32_t GetGeluMinTmpSize(const TensorShape&, const uint32_t typeSize) { return detail::TmpSizes::Gelu.least(typeSize, false); }
inline void GetGeluMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue, uint32_t& minValue) {
  maxValue = GetGeluMaxTmpSize(srcShape, typeSize);
  minValue = GetGeluMinTmpSize(srcShape, typeSize);
}
// Silu and Swish work in their destination.
inline void GetSiluTmpSize(const TensorShape&, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }
inline void GetSwishTmpSize(const TensorShape&, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }

inline void GetAscendQuantMaxMinTmpSize(const TensorShape& srcShape, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
  minValue = detail::kLeastForQuant;
  maxValue = std::max(minValue, (2 * detail::elements_of_shape(srcShape) + 31) / 32 * 32);
}
inline void GetAscendQuantTmpBufferFactorSize(uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
  maxLiveNodeCount = 2;
  extraBuf = 0;
}
inline void GetAscendDequantMaxMinTmpSize(const TensorShape& srcShape, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
  auto columns = static_cast<uint32_t>(srcShape.GetDim(srcShape.GetDimNum() - 1));
  minValue = detail::least_for_dequant(columns);
  maxValue = minValue + (detail::elements_of_shape(srcShape) - columns) * 4;
}
// Factors of [1, 1] are one for all.
inline uint32_t GetAscendAntiQuantMinTmpSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose, TensorDataType, TensorDataType outputDataType) {
  uint32_t factors = detail::elements_of_shape(scaleShape);
  if (outputDataType == ge::DT_FLOAT16) return 0;
  return factors == 1 ? detail::kLeastForAntiquant : detail::least_for_antiquant(factors, static_cast<uint32_t>(srcShape.GetDim(0)), isTranspose);
}
inline uint32_t GetAscendAntiQuantMaxTmpSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose, TensorDataType inputDataType, TensorDataType outputDataType) {
  if (outputDataType != ge::DT_FLOAT16 && detail::elements_of_shape(scaleShape) == 1) return detail::elements_of_shape(srcShape) * 4;
  return GetAscendAntiQuantMinTmpSize(srcShape, scaleShape, isTranspose, inputDataType, outputDataType);
}
inline void GetAscendAntiQuantMaxMinTmpSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose, TensorDataType inputDataType, TensorDataType outputDataType,
                                            uint32_t& maxValue, uint32_t& minValue) {
  maxValue = GetAscendAntiQuantMaxTmpSize(srcShape, scaleShape, isTranspose, inputDataType, outputDataType);
  minValue = GetAscendAntiQuantMinTmpSize(srcShape, scaleShape, isTranspose, inputDataType, outputDataType);
}

// A shape of one element is a scalar.
inline void GetPowerMaxMinTmpSize(const TensorShape& src0, const TensorShape& src1, const bool typeIsInt, const uint32_t typeSize, const bool, uint32_t& maxValue, uint32_t& minValue) {
  auto scalar = [](const TensorShape& s) { return s.GetDimNum() == 1 && s.GetDim(0) == 1; };
  bool by_scalar = scalar(src0) || scalar(src1);
  uint32_t tensors = typeSize == 2 ? 14 : typeIsInt ? (by_scalar ? 7 : 6) : by_scalar ? 5 : 4, repeat = typeIsInt ? 0 : 256;
  uint32_t bytes = detail::elements_of_shape(scalar(src0) ? src1 : src0) * typeSize;
  minValue = tensors * (typeSize == 2 ? 128 : 256) + repeat;
  maxValue = tensors * std::max<uint32_t>(bytes, typeSize == 2 ? 128 : 256) + repeat;
}
inline void GetCumSumMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isLastAxis, const bool, uint32_t& maxValue, uint32_t& minValue) {
  uint32_t rows = static_cast<uint32_t>(srcShape.GetDim(0)), columns = static_cast<uint32_t>(srcShape.GetDim(1));
  if (!isLastAxis) maxValue = minValue = typeSize == 2 ? rows * columns * 4 : 0;
  else {
    uint32_t tensors = typeSize == 2 ? 3 : 2;
    minValue = tensors * 16 * columns * typeSize;
    maxValue = tensors * (rows + 15) / 16 * 16 * columns * typeSize;
  }
}

}  // namespace AscendC
