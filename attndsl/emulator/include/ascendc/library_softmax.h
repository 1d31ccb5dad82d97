// Softmax of rows, whole or in parts, and its gradient. Sums and maxima are blocks of 32 bytes, one a row, all elements the same.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "library_math.h"
#include "library_rows.h"

namespace AscendC {

enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };
struct SoftmaxConfig {
  constexpr SoftmaxConfig(bool check = true, uint32_t m = 0, uint32_t k = 0, SoftmaxMode how = SoftmaxMode::SOFTMAX_NORMAL) : isCheckTiling(check), oriSrcM(m), oriSrcK(k), mode(how) {}
  bool isCheckTiling;
  uint32_t oriSrcM, oriSrcK;
  SoftmaxMode mode;
};
inline constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG{};
struct SoftMaxShapeInfo { uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0; };

namespace detail {

// Rows of a softmax: `columns` elements apart, of which `used` count.
struct SoftmaxRows { uint32_t rows, columns, used; };
template <class T, bool nz>
bool softmax_rows(SoftmaxRows& r, const char* what, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info, const SoftmaxConfig& config, const SourceLine& at) {
  static_assert(!nz, "softmax: the format NZ is not modelled");
  static_assert(one_of<T, half, float>, "softmax: half or float");
  r = {info.srcM ? info.srcM : tiling.srcM, info.srcK ? info.srcK : tiling.srcK, 0};
  r.used = info.oriSrcK ? info.oriSrcK : r.columns;
  if (config.mode != SoftmaxMode::SOFTMAX_NORMAL) complain("unsupported", at, attnemu::format("%s: SOFTMAX_OUTPUT_WITHOUT_BRC is not modelled", what));
  else if (!r.rows || !r.columns) complain("softmax_shape", at, attnemu::format("%s: neither the shape nor the tiling says how many rows and columns there are", what));
  else if (r.columns * sizeof(T) % 32 || r.used > r.columns)
    complain("softmax_shape", at, attnemu::format("%s: srcK is %u, of which %u are used: whole blocks of 32 bytes are needed", what, r.columns, r.used));
  else return true;
  return false;
}
// A row in float where it is half, and lanes for reductions: what the host's functions count.
template <class T>
struct SoftmaxScratch {
  LocalTensor<float> wide, lanes;
  uint32_t room;
  SoftmaxScratch(const LocalTensor<uint8_t>& tmp, uint32_t columns) : wide(tmp.ReinterpretCast<float>()) {
    lanes = sizeof(T) == 2 ? wide[columns] : wide;
    room = lanes.GetSize();
  }
};

// What is done to a row once its own maximum is known: the maximum to use, and the factor and the sum with what came before.
struct RowState { float maximum, carried_sum, rescale; };

// dst = exp(x - max), its sum, its maximum; `divide`: by the sum. `before` makes the state of a row from its own maximum,
// `after` stores what a row leaves.
template <class T, class Before, class After>
void softmax_by_rows(const SoftmaxRows& r, const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, bool divide, const Before& before,
                     const After& after, const SourceLine& at) {
  SoftmaxScratch<T> scratch(tmp, r.columns);
  for (uint32_t i = 0; i < r.rows; ++i) {
    LocalTensor<T> to = dst[i * r.columns];
    LocalTensor<float> x = widened(src[i * r.columns], scratch.wide, r.columns, at), y = working_row(to, scratch.wide);
    RowState s = before(i, row_value<attnemu::Reduction::Max>(x, r.used, scratch.lanes, scratch.room, at));
    Steps<float> v{static_cast<int32_t>(r.columns), at};
    v.adds(y, x, -s.maximum);
    v.exp(y, y);
    float sum = row_value<attnemu::Reduction::Sum>(y, r.used, scratch.lanes, scratch.room, at) + s.rescale * s.carried_sum;
    if (divide) v.muls(y, y, 1 / sum);
    narrow(to, y, r.columns, at);
    after(i, s, sum);
  }
}
template <class T>
LocalTensor<T> block_of(const LocalTensor<T>& t, uint32_t row) { return t[row * static_cast<uint32_t>(32 / sizeof(T))]; }
template <class T>
float block_value(const LocalTensor<T>& t, uint32_t row, const SourceLine& at) { return value_at(t, row * static_cast<uint32_t>(32 / sizeof(T)), at); }

// Without state from before: SoftMax, and the first part of a row.
template <class T, bool nz, class S>
void first_softmax(const char* what, const LocalTensor<T>& dst, const LocalTensor<S>* sum, const LocalTensor<S>* max, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                   const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info, const SoftmaxConfig& config, bool divide, const SourceLine& at) {
  SoftmaxRows r;
  if (!softmax_rows<T, nz>(r, what, tiling, info, config, at) || !has_room(what, tmp, least_for_softmax(sizeof(T), r.columns), at)) return;
  softmax_by_rows(r, dst, src, tmp, divide, [](uint32_t, float m) { return RowState{m, 0, 0}; },
                  [&](uint32_t i, const RowState& s, float total) {
                    if (max) fill_block(block_of(*max, i), s.maximum, at);
                    if (sum) fill_block(block_of(*sum, i), total, at);
                  }, at);
}
// With it: rows go on where `in_sum` and `in_max` stopped; `factor` tells what earlier results are to be multiplied by.
template <class T, bool nz, class S>
void next_softmax(const char* what, const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<T>& src, const LocalTensor<T>& factor,
                  const LocalTensor<S>& in_sum, const LocalTensor<S>& in_max, const LocalTensor<uint8_t>& tmp, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info,
                  const SoftmaxConfig& config, bool divide, const SourceLine& at) {
  SoftmaxRows r;
  if (!softmax_rows<T, nz>(r, what, tiling, info, config, at) || !has_room(what, tmp, least_for_flash(sizeof(T), r.columns), at)) return;
  auto before = [&](uint32_t i, float m) {
    float earlier = block_value(in_max, i, at), both = std::max(m, earlier);
    return RowState{both, block_value(in_sum, i, at), std::exp(earlier - both)};
  };
  auto after = [&](uint32_t i, const RowState& s, float total) {
    fill_block(block_of(max, i), s.maximum, at);
    fill_block(block_of(sum, i), total, at);
    fill_block(block_of(factor, i), divide ? s.rescale * s.carried_sum / total : s.rescale, at);
  };
  softmax_by_rows(r, dst, src, tmp, divide, before, after, at);
}

}  // namespace detail

#define ATTNEMU_SHAPE const SoftMaxTiling &tiling, const SoftMaxShapeInfo &softmaxShapeInfo = {}
// Each function has a form with a temporary tensor in front of the tiling and one without; sums and maxima are of the rows' type or float.
#define ATTNEMU_TMP const LocalTensor<uint8_t>& sharedTmpBuffer,
#define ATTNEMU_SOFTMAX(Tmp, tmp)                                                                                        \
  template <class T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S> \
  void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<T>& src, Tmp ATTNEMU_SHAPE, ATTNEMU_AT) { \
    detail::first_softmax<T, isDataFormatNZ>("SoftMax", dst, &sum, &max, src, tmp, tiling, softmaxShapeInfo, config, true, at); \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false, bool isBasicBlock = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG> \
  void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, Tmp ATTNEMU_SHAPE, ATTNEMU_AT) {                    \
    detail::first_softmax<T, false, float>("SoftMax", dst, nullptr, nullptr, src, tmp, tiling, softmaxShapeInfo, config, true, at); \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S> \
  void SimpleSoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& inSum, const LocalTensor<S>& inMax, const LocalTensor<T>& src, Tmp ATTNEMU_SHAPE, ATTNEMU_AT) { \
    detail::SoftmaxRows r;                                                                                               \
    const LocalTensor<uint8_t> scratch = tmp;                                                                            \
    if (!detail::softmax_rows<T, isDataFormatNZ>(r, "SimpleSoftMax", tiling, softmaxShapeInfo, config, at)) return;      \
    if (!detail::has_room("SimpleSoftMax", scratch, sizeof(T) == 2 ? r.columns * 4 : 0, at)) return;                     \
    detail::Steps<float> v{static_cast<int32_t>(r.columns), at};                                                         \
    for (uint32_t i = 0; i < r.rows; ++i) {                                                                              \
      LocalTensor<T> to = dst[i * r.columns];                                                                            \
      LocalTensor<float> wide = scratch.template ReinterpretCast<float>(), y = detail::working_row(to, wide);            \
      v.adds(y, detail::widened(src[i * r.columns], wide, r.columns, at), -detail::block_value(inMax, i, at));           \
      v.exp(y, y);                                                                                                       \
      v.muls(y, y, 1 / detail::block_value(inSum, i, at));                                                               \
      detail::narrow(to, y, r.columns, at);                                                                              \
    }                                                                                                                    \
  }                                                                                                                      \
  template <class T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,    \
            const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S>                                                  \
  void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& expSum, const LocalTensor<S>& max, const LocalTensor<T>& src, const LocalTensor<T>& expMax, \
                      const LocalTensor<S>& inExpSum, const LocalTensor<S>& inMax, Tmp ATTNEMU_SHAPE, ATTNEMU_AT) {      \
    if constexpr (isUpdate) detail::next_softmax<T, isDataFormatNZ>("SoftmaxFlashV2", dst, expSum, max, src, expMax, inExpSum, inMax, tmp, tiling, softmaxShapeInfo, config, false, at); \
    else detail::first_softmax<T, isDataFormatNZ>("SoftmaxFlashV2", dst, &expSum, &max, src, tmp, tiling, softmaxShapeInfo, config, false, at); \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false, bool isBasicBlock = false, class S>                                     \
  void SoftmaxFlash(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<T>& src, const LocalTensor<T>& expMax, \
                    const LocalTensor<S>& inSum, const LocalTensor<S>& inMax, Tmp const SoftMaxTiling& tiling, bool isUpdate = false,   \
                    const SoftMaxShapeInfo& softmaxShapeInfo = {}, ATTNEMU_AT) {                                         \
    if (isUpdate) detail::next_softmax<T, false>("SoftmaxFlash", dst, sum, max, src, expMax, inSum, inMax, tmp, tiling, softmaxShapeInfo, SOFTMAX_DEFAULT_CFG, true, at); \
    else detail::first_softmax<T, false>("SoftmaxFlash", dst, &sum, &max, src, tmp, tiling, softmaxShapeInfo, SOFTMAX_DEFAULT_CFG, true, at); \
  }                                                                                                                      \
  template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>                                            \
  void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src, Tmp const SoftMaxTiling& tiling, bool isFront = false, \
                   const SoftMaxShapeInfo& softmaxShapeInfo = {}, ATTNEMU_AT) {                                          \
    detail::softmax_gradient<T, isDataFormatNZ>("SoftmaxGrad", dst, grad, src, tmp, tiling, softmaxShapeInfo, isFront, at); \
  }                                                                                                                      \
  template <class T, bool isBasicBlock = false, bool isDataFormatNZ = false>                                             \
  void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src, Tmp ATTNEMU_SHAPE, ATTNEMU_AT) { \
    detail::softmax_gradient<T, isDataFormatNZ>("SoftmaxGradFront", dst, grad, src, tmp, tiling, softmaxShapeInfo, true, at); \
  }

namespace detail {
// s = sum(grad * y) of each row: (grad - s) * y, or, in front of a gradient that is computed elsewhere, s itself.
template <class T, bool nz>
void softmax_gradient(const char* what, const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                      const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info, bool front, const SourceLine& at) {
  SoftmaxRows r;
  if (!softmax_rows<T, nz>(r, what, tiling, info, SOFTMAX_DEFAULT_CFG, at) || !has_room(what, tmp, least_for_softmax_grad(sizeof(T), r.columns, front), at)) return;
  LocalTensor<float> product = tmp.ReinterpretCast<float>(), lanes = product[r.columns], wide = product[r.columns + 64], second = wide[r.columns];
  Steps<float> v{static_cast<int32_t>(r.columns), at};
  for (uint32_t i = 0; i < r.rows; ++i) {
    LocalTensor<T> to = dst[i * r.columns];
    LocalTensor<float> g = widened(grad[i * r.columns], wide, r.columns, at), y = widened(src[i * r.columns], second, r.columns, at);
    v.mul(product, g, y);
    float s = row_value<attnemu::Reduction::Sum>(product, r.used, lanes, 64, at);
    if (front) {
      fill_block(block_of(dst, i), s, at);
      continue;
    }
    v.adds(product, g, -s);
    v.mul(working_row(to, product), product, y);
    narrow(to, product, r.columns, at);
  }
}
}  // namespace detail

#define ATTNEMU_NOTHING
ATTNEMU_SOFTMAX(ATTNEMU_TMP, sharedTmpBuffer)
ATTNEMU_SOFTMAX(ATTNEMU_NOTHING, detail::free_memory())
#undef ATTNEMU_NOTHING
#undef ATTNEMU_SOFTMAX
#undef ATTNEMU_TMP
#undef ATTNEMU_SHAPE

// log10 of the softmax
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,
                const LogSoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}, ATTNEMU_AT) {
  SoftMaxTiling shape;
  shape.srcM = tiling.srcM;
  shape.srcK = tiling.srcK;
  detail::first_softmax<T, isDataFormatNZ>("LogSoftMax", dst, &sum, &max, src, sharedTmpBuffer, shape, softmaxShapeInfo, SOFTMAX_DEFAULT_CFG, true, at);
  Log10(dst, dst, sharedTmpBuffer, (softmaxShapeInfo.srcM ? softmaxShapeInfo.srcM : tiling.srcM) * (softmaxShapeInfo.srcK ? softmaxShapeInfo.srcK : tiling.srcK), at);
}

// Rows whose maximum has the bits `from` become `to`; whether there was one.
template <class T1, class T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
bool AdjustSoftMaxRes(const LocalTensor<T1>& softMaxRes, const LocalTensor<T2>& maxTensor, const uint32_t from, const T1 to, const SoftMaxShapeInfo& softmaxShapeInfo, ATTNEMU_AT) {
  static_assert(!isDataFormatNZ && stepSizeMode == 0, "AdjustSoftMaxRes: the format NZ and other steps are not modelled");
  bool found = false;
  for (uint32_t i = 0; i < softmaxShapeInfo.srcM; ++i) {
    T2 value = static_cast<T2>(detail::block_value(maxTensor, i, at));
    if (detail::bits_of_value(value) != from) continue;
    found = true;
    Duplicate(softMaxRes[i * softmaxShapeInfo.srcK], to, static_cast<int32_t>(softmaxShapeInfo.srcK), at);
    detail::finish(at);
  }
  return found;
}

}  // namespace AscendC
