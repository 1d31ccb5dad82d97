// How much temporary memory the library functions ask for, by name: the host's functions and the kernel's checks read it here.
// Numbers are those of asc-devkit's tiling functions for Atlas A2.
#pragma once
#include <algorithm>
#include <cstdint>

namespace AscendC::detail {

// Tensors of the source's size and type that a function may want, for half, for float, and for float with isReuseSource.
struct TmpTensors {
  uint32_t for_half, for_float, for_reuse;
  constexpr uint32_t of(uint32_t type_bytes, bool reuse) const { return type_bytes == 2 ? for_half : reuse ? for_reuse : for_float; }
  // The least is a repeat of each.
  constexpr uint32_t least(uint32_t type_bytes, bool reuse) const { return of(type_bytes, reuse) * 256; }
  constexpr uint32_t most(uint32_t elements, uint32_t type_bytes, bool reuse) const { return of(type_bytes, reuse) * std::max<uint32_t>(elements * type_bytes, 256); }
};

#define ATTNEMU_TMP_TENSORS(X)                                                                                           \
  X(Acos, 6, 2, 2) X(Acosh, 2, 1, 1) X(Asin, 6, 2, 2) X(Asinh, 3, 3, 3) X(Atan, 12, 5, 5) X(Atanh, 4, 1, 1) X(Axpy, 4, 1, 1) \
  X(Ceil, 2, 1, 1) X(Cos, 8, 3, 2) X(Cosh, 6, 2, 2) X(Erf, 8, 3, 3) X(Erfc, 16, 7, 7) X(Exp, 8, 3, 2) X(Floor, 2, 1, 1) \
  X(Fmod, 6, 0, 0) X(Frac, 4, 0, 0) X(Log, 0, 0, 0) X(Log10, 0, 0, 0) X(Log2, 2, 0, 0) X(Round, 1, 1, 1) X(Sigmoid, 1, 1, 1) \
  X(Sign, 3, 3, 3) X(Sin, 8, 3, 2) X(Sinh, 4, 1, 1) X(Tan, 10, 4, 4) X(Tanh, 4, 1, 1) X(Trunc, 2, 1, 1) X(Xor, 1, 1, 1)  \
  X(Clamp, 1, 1, 1) X(GeGLU, 4, 0, 0) X(SwiGLU, 6, 0, 0) X(ReGlu, 6, 0, 0) X(Gelu, 3, 3, 3)
struct TmpSizes {
#define ATTNEMU_ROW(Name, Half, Float, Reuse) static constexpr TmpTensors Name{Half, Float, Reuse};
  ATTNEMU_TMP_TENSORS(ATTNEMU_ROW)
#undef ATTNEMU_ROW
};

}  // namespace AscendC::detail
