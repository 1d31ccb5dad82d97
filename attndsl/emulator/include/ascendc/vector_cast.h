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

}  // namespace AscendC
