// Cast.
#pragma once
#include "vector_arith.h"

namespace AscendC {
namespace detail {

// Conversions of Atlas A2 and the rounding modes each takes, a bit a mode (API reference, Cast).
template <class To, class From>
constexpr uint8_t cast_modes() {
  constexpr uint8_t none = 1, rint = 2, directed = 4 | 8 | 16 | 32, odd = 64, all = rint | directed;
  if constexpr (std::is_same_v<To, half>) {
    if constexpr (one_of<From, int8_t, uint8_t, int4b_t>) return none;
    else if constexpr (std::is_same_v<From, float>) return none | all | odd;
    else if constexpr (std::is_same_v<From, int16_t>) return none | all;
    else if constexpr (std::is_same_v<From, int32_t>) return none | all;
    else return 0;
  } else if constexpr (std::is_same_v<To, float>) {
    if constexpr (one_of<From, half, bfloat16_t, int16_t>) return none;
    else if constexpr (std::is_same_v<From, int32_t>) return none | all;
    else if constexpr (one_of<From, int64_t, float>) return all;
    else return 0;
  } else if constexpr (std::is_same_v<To, bfloat16_t>) {
    return std::is_same_v<From, float> ? all : 0;
  } else if constexpr (std::is_same_v<To, int32_t>) {
    if constexpr (one_of<From, float, half, bfloat16_t>) return all;
    else return std::is_same_v<From, int64_t> ? none : 0;
  } else if constexpr (std::is_same_v<To, int16_t>) {
    if constexpr (one_of<From, float, half>) return all;
    else return std::is_same_v<From, int32_t> ? none : 0;
  } else if constexpr (std::is_same_v<To, int64_t>) {
    if constexpr (std::is_same_v<From, float>) return all;
    else return std::is_same_v<From, int32_t> ? none : 0;
  } else if constexpr (one_of<To, int8_t, uint8_t, int4b_t>) {
    return std::is_same_v<From, half> ? none | all : 0;
  } else {
    return 0;
  }
}

template <class To, class From>
bool cast_mode_ok(RoundMode mode, const SourceLine& at) {
  static_assert(cast_modes<To, From>() != 0, "Cast: no such conversion on Atlas A2");
  static const char* const names[] = {"CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC", "CAST_ODD"};
  if (cast_modes<To, From>() >> static_cast<int>(mode) & 1) return true;
  complain("cast_mode", at, attnemu::format("Cast %s to %s does not take %s", attnemu::name_of(dtype_of<From>()), attnemu::name_of(dtype_of<To>()), names[static_cast<int>(mode)]));
  return false;
}

template <class To, class From>
void cast(const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, const LaneShape& s, RoundMode mode) {
  auto rounding = static_cast<attnemu::Rounding>(mode);
  if constexpr (std::is_same_v<To, int4b_t> || std::is_same_v<From, int4b_t>) attnemu::convert_nibbles("Cast", at, dst, src, s, rounding);
  else attnemu::convert("Cast", at, dst, src, s, rounding);
}
// Stored without gaps, `per` elements a repeat.
template <class T>
LaneOperand cast_operand(const LocalTensor<T>& t, uint32_t per) {
  if constexpr (!std::is_same_v<T, int4b_t>) return dense(t, per);
  LaneOperand o = lanes(t);
  o.repeat_step = per / 64;
  return o;
}

}  // namespace detail

template <class To, class From, bool isSetMask = true>
void Cast(const LocalTensor<To>& dst, const LocalTensor<From>& src, const RoundMode& mode, const uint64_t mask, const uint8_t repeatTimes, const UnaryRepeatParams& p, ATTNEMU_AT) {
  if (!detail::cast_mode_ok<To, From>(mode, at)) return;
  detail::cast<To, From>(at, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), detail::lanes(src, p.srcBlkStride, p.srcRepStride),
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<To, From>(), "Cast", at), mode);
}
template <class To, class From, bool isSetMask = true>
void Cast(const LocalTensor<To>& dst, const LocalTensor<From>& src, const RoundMode& mode, const uint64_t mask[], const uint8_t repeatTimes, const UnaryRepeatParams& p, ATTNEMU_AT) {
  if (!detail::cast_mode_ok<To, From>(mode, at)) return;
  detail::cast<To, From>(at, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), detail::lanes(src, p.srcBlkStride, p.srcRepStride),
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<To, From>(), "Cast", at), mode);
}
template <class To, class From>
void Cast(const LocalTensor<To>& dst, const LocalTensor<From>& src, const RoundMode& mode, const uint32_t calCount, ATTNEMU_AT) {
  if (!detail::cast_mode_ok<To, From>(mode, at)) return;
  constexpr uint32_t per = detail::per_repeat<To, From>();
  detail::cast<To, From>(at, detail::cast_operand(dst, per), detail::cast_operand(src, per), detail::count_shape(calCount, per, "Cast", at), mode);
}

// Dequantisation: from int16 by the words of SetDeqScale, from int32 to half by its half.
struct VdeqInfo {
  VdeqInfo() = default;
  VdeqInfo(const float (&scales)[16], const int16_t (&offsets)[16], const bool (&signs)[16]) {
    for (int i = 0; i < 16; ++i) {
      vdeqScale[i] = scales[i];
      vdeqOffset[i] = offsets[i];
      vdeqSignMode[i] = signs[i];
    }
  }
  float vdeqScale[16] = {};
  int16_t vdeqOffset[16] = {};
  bool vdeqSignMode[16] = {};
};
namespace detail {
inline uint64_t quant_word(float scale, int16_t offset, bool is_signed) {
  return bits_of_value(scale) | (static_cast<uint64_t>(static_cast<uint16_t>(offset)) & 0x1FF) << 37 | static_cast<uint64_t>(is_signed) << 46;
}
}  // namespace detail
inline void SetDeqScale(half scale) { attnemu::core->reg.deq_scale = scale; }
inline void SetDeqScale(float scale, int16_t offset, bool signMode) {
  attnemu::core->reg.deq_word = detail::quant_word(scale, offset, signMode);
  attnemu::core->reg.deq_words = false;
}
// The scalar unit fills the tensor: a kernel orders S before V.
template <class T>
void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& info, ATTNEMU_AT) {
  static_assert(std::is_same_v<T, uint64_t>, "SetDeqScale: the words are uint64");
  for (uint32_t i = 0; i < 16; ++i) vdeq.SetValue(i, detail::quant_word(info.vdeqScale[i], info.vdeqOffset[i], info.vdeqSignMode[i]), at);
  attnemu::core->reg.deq_word = vdeq.GetPhyAddr();
  attnemu::core->reg.deq_words = true;
}

namespace detail {
template <bool isVecDeq, bool halfBlock, class T, class U>
void dequantise(const char* what, const LocalTensor<T>& dst, const LocalTensor<U>& src, const LaneShape& s, const UnaryRepeatParams& p, const SourceLine& at) {
  static_assert((std::is_same_v<U, int16_t> && one_of<T, int8_t, uint8_t>) || (std::is_same_v<U, int32_t> && std::is_same_v<T, half>),
                "CastDeq, CastDequant: int16 to int8 or uint8, int32 to half");
  LaneOperand to = lanes(dst, p.dstBlkStride, p.dstRepStride), from = lanes(src, p.srcBlkStride, p.srcRepStride);
  if constexpr (std::is_same_v<T, half>) {
    attnemu::convert(what, at, to, from, s, attnemu::Rounding::Rint);
  } else {
    const attnemu::Registers& r = attnemu::core->reg;
    bool fits = isVecDeq == r.deq_words;
    if (!fits) complain("deq_scale", at, attnemu::format("%s: with isVecDeq = %s the scale comes from SetDeqScale(%s)", what, isVecDeq ? "true" : "false", isVecDeq ? "tensor, VdeqInfo" : "float, int16_t, bool"));
    bool sign = std::is_same_v<T, int8_t>;
    if (fits && !isVecDeq && (r.deq_word >> 46 & 1) != sign)
      complain("deq_scale", at, attnemu::format("%s: a result of type %s wants signMode = %s in SetDeqScale", what, sign ? "int8" : "uint8", sign ? "true" : "false"));
    if (fits) attnemu::dequantise_halves(what, at, to, from, s, isVecDeq, halfBlock);
  }
}
}  // namespace detail

#define ATTNEMU_DEQUANTISE(Name)                                                                                         \
  template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[], uint8_t repeatTime, const UnaryRepeatParams& p, ATTNEMU_AT) { \
    detail::dequantise<isVecDeq, halfBlock>(#Name, dst, src, detail::shape<isSetMask>(mask, repeatTime, detail::per_repeat<T, U>(), #Name, at), p, at); \
  }                                                                                                                      \
  template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, uint8_t repeatTime, const UnaryRepeatParams& p, ATTNEMU_AT) { \
    detail::dequantise<isVecDeq, halfBlock>(#Name, dst, src, detail::shape<isSetMask>(static_cast<uint64_t>(mask), repeatTime, detail::per_repeat<T, U>(), #Name, at), p, at); \
  }                                                                                                                      \
  template <class T, class U, bool isVecDeq = true, bool halfBlock = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count, ATTNEMU_AT) {                    \
    UnaryRepeatParams p;                                                                                                 \
    if constexpr (sizeof(U) == 4) p.dstRepStride = 4;                                                                    \
    detail::dequantise<isVecDeq, halfBlock>(#Name, dst, src, detail::count_shape(count, detail::per_repeat<T, U>(), #Name, at), p, at); \
  }
ATTNEMU_DEQUANTISE(CastDeq)
ATTNEMU_DEQUANTISE(CastDequant)
#undef ATTNEMU_DEQUANTISE

}  // namespace AscendC
