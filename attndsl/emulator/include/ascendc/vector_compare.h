// Compare, CompareScalar, Select.
#pragma once
#include "vector_arith.h"

namespace AscendC {
namespace detail {

template <class T>
bool comparable(CMPMODE mode, const char* what, const SourceLine& at) {
  static_assert(one_of<T, half, float, int32_t>, "Compare: no such element type on Atlas A2");
  if (!std::is_same_v<T, int32_t> || mode == CMPMODE::EQ) return true;
  complain("compare_mode", at, attnemu::format("%s: int32 takes CMPMODE::EQ only", what));
  return false;
}
template <class T>
LaneShape compare_shape(uint32_t n, const char* what, const SourceLine& at) {
  if (n * sizeof(T) % 256)
    complain("compare_count", at, attnemu::format("%s: %u elements are no multiple of 256 bytes; round the count up to %llu", what, n,
                                                  static_cast<unsigned long long>(attnemu::round_up(n, 256 / sizeof(T)))));
  constexpr uint32_t per = per_repeat<T>();
  return LaneShape::masked(LaneMask::first(per), static_cast<uint32_t>(n / per), per);
}
constexpr attnemu::Comparison comparison(CMPMODE m) { return static_cast<attnemu::Comparison>(m); }

}  // namespace detail

// The mask of the high-dimensional forms has no effect on Atlas A2: every lane is compared.
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const uint64_t mask, uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {
  static_assert(detail::one_of<U, uint8_t, int8_t>, "Compare: the result is uint8 or int8");
  if (!detail::comparable<T>(mode, "Compare", at)) return;
  (void)mask;
  constexpr uint32_t per = detail::per_repeat<T>();
  detail::LaneOperand b = detail::lanes(src1, p.src1BlkStride, p.src1RepStride);
  attnemu::compare("Compare", at, dst.place(), detail::lanes(src0, p.src0BlkStride, p.src0RepStride), &b, 0, detail::comparison(mode),
                   detail::LaneShape::masked(detail::LaneMask::first(per), repeatTimes, per));
}
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const uint64_t mask[], uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {
  Compare<T, U, isSetMask>(dst, src0, src1, mode, mask[0], repeatTimes, p, at);
}
template <class T, class U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, uint32_t calCount, ATTNEMU_AT) {
  static_assert(detail::one_of<U, uint8_t, int8_t>, "Compare: the result is uint8 or int8");
  if (!detail::comparable<T>(mode, "Compare", at)) return;
  detail::LaneOperand b = detail::lanes(src1);
  attnemu::compare("Compare", at, dst.place(), detail::lanes(src0), &b, 0, detail::comparison(mode), detail::compare_shape<T>(calCount, "Compare", at));
}
template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const uint64_t mask, const BinaryRepeatParams& p, ATTNEMU_AT) {
  if (!detail::comparable<T>(mode, "Compare", at)) return;
  attnemu::compare_to_register("Compare", at, detail::lanes(src0, p.src0BlkStride, p.src0RepStride), detail::lanes(src1, p.src1BlkStride, p.src1RepStride),
                               detail::comparison(mode), detail::shape<isSetMask>(mask, 1, detail::per_repeat<T>(), "Compare", at));
}
template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const uint64_t mask[], const BinaryRepeatParams& p, ATTNEMU_AT) {
  if (!detail::comparable<T>(mode, "Compare", at)) return;
  attnemu::compare_to_register("Compare", at, detail::lanes(src0, p.src0BlkStride, p.src0RepStride), detail::lanes(src1, p.src1BlkStride, p.src1RepStride),
                               detail::comparison(mode), detail::shape<isSetMask>(mask, 1, detail::per_repeat<T>(), "Compare", at));
}
template <class T, class U, bool isSetMask = true>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T scalar, CMPMODE mode, const uint64_t mask, uint8_t repeatTimes, const UnaryRepeatParams& p, ATTNEMU_AT) {
  static_assert(detail::one_of<U, uint8_t, int8_t>, "CompareScalar: the result is uint8 or int8");
  if (!detail::comparable<T>(mode, "CompareScalar", at)) return;
  (void)mask;
  constexpr uint32_t per = detail::per_repeat<T>();
  attnemu::compare("CompareScalar", at, dst.place(), detail::lanes(src0, p.srcBlkStride, p.srcRepStride), nullptr, static_cast<double>(scalar),
                   detail::comparison(mode), detail::LaneShape::masked(detail::LaneMask::first(per), repeatTimes, per));
}
template <class T, class U, bool isSetMask = true>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T scalar, CMPMODE mode, const uint64_t mask[], uint8_t repeatTimes, const UnaryRepeatParams& p, ATTNEMU_AT) {
  CompareScalar<T, U, isSetMask>(dst, src0, scalar, mode, mask[0], repeatTimes, p, at);
}
template <class T, class U>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T scalar, CMPMODE mode, uint32_t calCount, ATTNEMU_AT) {
  static_assert(detail::one_of<U, uint8_t, int8_t>, "CompareScalar: the result is uint8 or int8");
  if (!detail::comparable<T>(mode, "CompareScalar", at)) return;
  attnemu::compare("CompareScalar", at, dst.place(), detail::lanes(src0), nullptr, static_cast<double>(scalar), detail::comparison(mode),
                   detail::compare_shape<T>(calCount, "CompareScalar", at));
}

template <class T>
void GetCmpMask(const LocalTensor<T>& dst, ATTNEMU_AT) { attnemu::store_compare_register("GetCmpMask", at, dst.place()); }
template <class T>
void SetCmpMask(const LocalTensor<T>& src, ATTNEMU_AT) { attnemu::load_compare_register("SetCmpMask", at, src.place()); }

namespace detail {

template <class T, class U>
void select(const LaneOperand& dst, const LocalTensor<U>& bits, const LaneOperand& a, const LaneOperand* b, double scalar, SELMODE mode, const LaneShape& s, const SourceLine& at) {
  static_assert(one_of<T, half, float>, "Select: half or float");
  static_assert(one_of<U, uint8_t, uint16_t, uint32_t, uint64_t>, "Select: the mask is of an unsigned type");
  if ((mode == SELMODE::VSEL_TENSOR_SCALAR_MODE) != (b == nullptr)) return complain("select_mode", at, "Select: VSEL_TENSOR_SCALAR_MODE takes a scalar, the other modes a second tensor");
  bool repeated = mode == SELMODE::VSEL_CMPMASK_SPR;
  attnemu::select("Select", at, dst, bits.place(), repeated ? attnemu::SelectBits::Repeated : attnemu::SelectBits::Continuous, a, b, scalar, s, !repeated);
}

}  // namespace detail

template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode, uint32_t calCount, ATTNEMU_AT) {
  detail::LaneOperand b = detail::lanes(src1);
  detail::select<T>(detail::lanes(dst), selMask, detail::lanes(src0), &b, 0, mode, detail::count_shape(calCount, detail::per_repeat<T>(), "Select", at), at);
}
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T scalar, SELMODE mode, uint32_t calCount, ATTNEMU_AT) {
  detail::select<T>(detail::lanes(dst), selMask, detail::lanes(src0), nullptr, static_cast<double>(scalar), mode, detail::count_shape(calCount, detail::per_repeat<T>(), "Select", at), at);
}
template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode, uint64_t mask, uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {
  detail::LaneOperand b = detail::lanes(src1, p.src1BlkStride, p.src1RepStride);
  detail::select<T>(detail::lanes(dst, p.dstBlkStride, p.dstRepStride), selMask, detail::lanes(src0, p.src0BlkStride, p.src0RepStride), &b, 0, mode,
                    detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), "Select", at), at);
}
template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode, const uint64_t mask[], uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {
  detail::LaneOperand b = detail::lanes(src1, p.src1BlkStride, p.src1RepStride);
  detail::select<T>(detail::lanes(dst, p.dstBlkStride, p.dstRepStride), selMask, detail::lanes(src0, p.src0BlkStride, p.src0RepStride), &b, 0, mode,
                    detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), "Select", at), at);
}
template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T scalar, SELMODE mode, uint64_t mask, uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {
  detail::select<T>(detail::lanes(dst, p.dstBlkStride, p.dstRepStride), selMask, detail::lanes(src0, p.src0BlkStride, p.src0RepStride), nullptr, static_cast<double>(scalar), mode,
                    detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), "Select", at), at);
}
template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T scalar, SELMODE mode, const uint64_t mask[], uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {
  detail::select<T>(detail::lanes(dst, p.dstBlkStride, p.dstRepStride), selMask, detail::lanes(src0, p.src0BlkStride, p.src0RepStride), nullptr, static_cast<double>(scalar), mode,
                    detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), "Select", at), at);
}
// With the comparison register's mask.
template <class T, SELMODE mode>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {
  static_assert(mode == SELMODE::VSEL_CMPMASK_SPR, "Select: this form takes its mask from the comparison register");
  detail::LaneOperand b = detail::lanes(src1, p.src1BlkStride, p.src1RepStride);
  attnemu::select("Select", at, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), {}, attnemu::SelectBits::Register,
                  detail::lanes(src0, p.src0BlkStride, p.src0RepStride), &b, 0, detail::register_shape(repeatTimes, detail::per_repeat<T>()), false);
}
// The scalar is the comparison register's first element, the mask register decides about lanes.
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {
  const attnemu::Registers& r = attnemu::core->reg;
  if (!r.compare_mask_defined) return detail::complain("select_register", at, "Select: SetCmpMask must leave the scalar in the comparison register first");
  T scalar;
  std::memcpy(&scalar, r.compare_mask, sizeof(T));
  detail::select<T>(detail::lanes(dst, p.dstBlkStride, p.dstRepStride), selMask, detail::lanes(src0, p.src0BlkStride, p.src0RepStride), nullptr, static_cast<double>(scalar),
                    SELMODE::VSEL_TENSOR_SCALAR_MODE, detail::register_shape(repeatTimes, detail::per_repeat<T>()), at);
}

}  // namespace AscendC
