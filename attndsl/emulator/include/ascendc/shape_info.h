// Shapes that a kernel attaches to its tensors; no instruction reads them.
#pragma once
#include "types.h"

namespace AscendC {

enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0, FRACTAL_Z_3D };

struct ShapeInfo {
  ShapeInfo() = default;
  ShapeInfo(uint8_t dims, const uint32_t* sizes, uint8_t originalDims, const uint32_t* originalSizes, DataFormat format)
      : shapeDim(dims), originalShapeDim(originalDims), dataFormat(format) {
    for (int i = 0; i < dims; ++i) shape[i] = sizes[i];
    for (int i = 0; i < originalDims; ++i) originalShape[i] = originalSizes[i];
  }
  ShapeInfo(uint8_t dims, const uint32_t* sizes, DataFormat format) : ShapeInfo(dims, sizes, dims, sizes, format) {}
  ShapeInfo(uint8_t dims, const uint32_t* sizes) : ShapeInfo(dims, sizes, DataFormat::ND) {}
  uint8_t shapeDim = 0, originalShapeDim = 0;
  uint32_t shape[K_MAX_SHAPE_DIM] = {}, originalShape[K_MAX_SHAPE_DIM] = {};
  DataFormat dataFormat = DataFormat::ND;
};
constexpr int GetShapeSize(const ShapeInfo& s) {
  int n = 1;
  for (int i = 0; i < s.shapeDim; ++i) n *= static_cast<int>(s.shape[i]);
  return n;
}

using TTagType = int32_t;

namespace detail {
// What few tensors carry is kept aside, so that the others stay small. Entry 0: a tensor that carries nothing.
struct TensorNotes {
  ShapeInfo shape;
  TTagType tag = 0;
};
const TensorNotes& notes_of(uint32_t entry);
// A new entry like `from` but for what is given.
uint32_t note(uint32_t from, const ShapeInfo* shape, const TTagType* tag);
}  // namespace detail

}  // namespace AscendC
