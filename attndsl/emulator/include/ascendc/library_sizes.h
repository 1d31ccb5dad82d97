// How much temporary memory the library functions ask for, by name: the host's functions and the kernel's checks read it here.
// Numbers are those of asc-devkit's tiling functions for Atlas A2.
#pragma once
#include <algorithm>
#include <cstdint>

namespace AscendC {
enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };
}

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

// Bytes a row of `columns` elements takes: a block and a repeat of values of rows beside the rows in float.
constexpr uint32_t least_for_softmax(uint32_t type_bytes, uint32_t columns) { return (32 / type_bytes + columns + 64) * 4; }
constexpr uint32_t least_for_flash(uint32_t type_bytes, uint32_t columns) { return (32 / type_bytes * 4 + columns * 2) * 4; }
constexpr uint32_t least_for_softmax_grad(uint32_t type_bytes, uint32_t columns, bool front) {
  return type_bytes == 2 ? (16 * 2 + columns * 3 + 64) * 4 : ((front ? 8 : 16) + columns + 64) * 4;
}
// `rows` means and variances beside two or three rows in float.
constexpr uint32_t least_for_layernorm(uint32_t type_bytes, bool reuse, uint32_t rows, uint32_t columns) {
  return ((type_bytes == 4 && reuse ? 2 : 3) * ((columns + 7) / 8 * 8) + 2 * ((rows + 7) / 8 * 8)) * 4;
}
constexpr uint32_t least_for_rmsnorm(uint32_t type_bytes, uint32_t columns) { return (columns * (type_bytes == 2 ? 2 : 1) + 8) * 4; }
// A value for each repeat of a row, in whole blocks.
constexpr uint32_t least_for_sum(uint32_t type_bytes, uint32_t n) {
  uint32_t lanes = 256 / type_bytes, block = 32 / type_bytes;
  return ((n + lanes - 1) / lanes + block - 1) / block * block * type_bytes;
}
constexpr uint32_t least_for_mean(uint32_t type_bytes, uint32_t sum_bytes, uint32_t n) {
  bool widens = type_bytes == 2 && sum_bytes == 4;
  uint32_t lanes = 256 / (widens ? 4 : type_bytes), repeats = (n + lanes - 1) / lanes, row = (n * type_bytes + 31) / 32 * 32 / type_bytes;
  return (repeats + 31) / 32 * 32 + (widens ? row * 4 : 0);
}

// Two tensors of a repeat of halves.
constexpr uint32_t kLeastForQuant = 512;
// A row and its factors in float, with the rest of a block of factors, and a repeat.
constexpr uint32_t least_for_dequant(uint32_t columns) { return (64 + columns + columns + 8) * 4; }
constexpr uint32_t kLeastForAntiquant = 1024;
// For bfloat16: factors and offsets in float (of rows, in blocks), and 64 elements of each row or column.
constexpr uint32_t least_for_antiquant(uint32_t factors, uint32_t k, bool turned) { return turned ? 80 * factors * 4 : (2 * factors + 64 * k) * 4; }
// A block of values, each spread over a block; of bytes 32 values as halves, their blocks, and a part of a row (ours).
constexpr uint32_t least_for_broadcast(uint32_t type_bytes) { return type_bytes == 1 ? 64 + 1024 + 256 : 32 / type_bytes * 32; }
// 16 blocks, twice.
constexpr uint32_t kLeastForPad = 1024;
// Records of 8 bytes, twice where rows are merged; indices, made or copied to where Sort32 may read them; with groups of 32 alone two
// masks, and the source, negated or copied.
constexpr uint32_t least_for_topk(uint32_t rows, uint32_t columns, bool groups) {
  uint32_t n = groups ? rows * columns : columns;
  constexpr uint32_t to_begin_at_a_record = 256, masks = 64;
  return to_begin_at_a_record + n * (groups ? 8 : 16) + n * 4 + (groups ? n * 4 + masks : 0);
}

}  // namespace AscendC::detail
