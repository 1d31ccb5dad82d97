// Where the matrices of a batch lie: their axes in memory, and which operand belongs to which product.
#pragma once
#include <algorithm>

#include "kernel_tiling/kernel_tiling.h"
#include "matmul_config.h"

namespace AscendC::detail {

// B, N and G count matrices, each of `s` rows of `d` elements.
struct BatchAxes {
  uint32_t b = 1, s = 0, n = 1, g = 1, d = 0;
  uint32_t count() const { return b * n * g; }
};
inline uint32_t axis(int32_t size) { return size > 0 ? static_cast<uint32_t>(size) : 1; }
inline BatchAxes left_axes(const TCubeTiling& t) { return {axis(t.ALayoutInfoB), axis(t.ALayoutInfoS), axis(t.ALayoutInfoN), axis(t.ALayoutInfoG), axis(t.ALayoutInfoD)}; }
inline BatchAxes right_axes(const TCubeTiling& t) { return {axis(t.BLayoutInfoB), axis(t.BLayoutInfoS), axis(t.BLayoutInfoN), axis(t.BLayoutInfoG), axis(t.BLayoutInfoD)}; }
inline BatchAxes result_axes(const TCubeTiling& t) { return {axis(t.CLayoutInfoB), axis(t.CLayoutInfoS1), axis(t.CLayoutInfoN), axis(t.CLayoutInfoG), axis(t.CLayoutInfoS2)}; }
inline BatchAxes longer(const BatchAxes& x, const BatchAxes& y) { return {std::max(x.b, y.b), 0, std::max(x.n, y.n), std::max(x.g, y.g), 0}; }

// Elements from one row of a matrix to the next; `columns` of matrices of which the tiling tells no axes.
inline uint32_t batch_pitch(LayoutMode layout, const BatchAxes& x, uint32_t columns) {
  if (layout == LayoutMode::BSNGD) return x.n * x.g * x.d;
  if (layout == LayoutMode::SBNGD) return x.count() * x.d;
  return layout == LayoutMode::BNGS1S2 ? x.d : columns;
}
// Elements from the first matrix to number `i`, counted over B, N and G; `matrix` is the size of one.
inline uint64_t batch_offset(LayoutMode layout, const BatchAxes& x, uint32_t i, uint64_t matrix) {
  uint32_t heads = x.n * x.g;
  if (layout == LayoutMode::BSNGD) return (static_cast<uint64_t>(i / heads) * x.s * heads + i % heads) * x.d;
  return i * (layout == LayoutMode::SBNGD ? static_cast<uint64_t>(x.d) : matrix);
}
// The matrix of product `i`, whose axes are `all`: an axis that is shorter has each of its matrices several times.
inline uint32_t batch_member(const BatchAxes& all, const BatchAxes& x, uint32_t i) {
  uint32_t g = i % all.g * x.g / all.g, n = i / all.g % all.n * x.n / all.n, b = i / (all.g * all.n) * x.b / all.b;
  return (b * x.n + n) * x.g + g;
}

}  // namespace AscendC::detail
