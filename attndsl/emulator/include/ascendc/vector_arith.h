// Elementwise instructions of the vector unit.
#pragma once
#include "lanes.h"

namespace AscendC {

#define ATTNEMU_AT attnemu::SourceLine at = attnemu::SourceLine::here()

// dst = op(src0, src1)
#define ATTNEMU_BINARY(Name, ...)                                                                                        \
  template <class T, bool isSetMask = true>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],          \
            const uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {                                        \
    static_assert(detail::one_of<T, __VA_ARGS__>, #Name ": no such element type on Atlas A2");                           \
    detail::LaneOperand s[2] = {detail::lanes(src0, p.src0BlkStride, p.src0RepStride), detail::lanes(src1, p.src1BlkStride, p.src1RepStride)}; \
    attnemu::elementwise(#Name, at, attnemu::VectorOp::Name, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), s, 2,   \
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), #Name, at));               \
  }                                                                                                                      \
  template <class T, bool isSetMask = true>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,            \
            const uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {                                        \
    static_assert(detail::one_of<T, __VA_ARGS__>, #Name ": no such element type on Atlas A2");                           \
    detail::LaneOperand s[2] = {detail::lanes(src0, p.src0BlkStride, p.src0RepStride), detail::lanes(src1, p.src1BlkStride, p.src1RepStride)}; \
    attnemu::elementwise(#Name, at, attnemu::VectorOp::Name, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), s, 2,   \
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), #Name, at));               \
  }                                                                                                                      \
  template <class T>                                                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& calCount,  \
            ATTNEMU_AT) {                                                                                                \
    static_assert(detail::one_of<T, __VA_ARGS__>, #Name ": no such element type on Atlas A2");                           \
    detail::LaneOperand s[2] = {detail::lanes(src0), detail::lanes(src1)};                                               \
    attnemu::elementwise(#Name, at, attnemu::VectorOp::Name, detail::lanes(dst), s, 2,                                   \
                         detail::count_shape(calCount, detail::per_repeat<T>(), #Name, at));                             \
  }

ATTNEMU_BINARY(Add, int16_t, half, int32_t, float)
ATTNEMU_BINARY(Sub, int16_t, half, int32_t, float)
ATTNEMU_BINARY(Mul, int16_t, half, int32_t, float)
ATTNEMU_BINARY(Max, int16_t, half, int32_t, float)
ATTNEMU_BINARY(Min, int16_t, half, int32_t, float)
ATTNEMU_BINARY(Div, half, float)
ATTNEMU_BINARY(And, int16_t, uint16_t)
ATTNEMU_BINARY(Or, int16_t, uint16_t)
ATTNEMU_BINARY(AddRelu, int16_t, half, float)
ATTNEMU_BINARY(SubRelu, int16_t, half, float)
ATTNEMU_BINARY(FusedMulAdd, half, float)
ATTNEMU_BINARY(FusedMulAddRelu, half, float)
#undef ATTNEMU_BINARY

// dst = op(src)
#define ATTNEMU_UNARY(Name, ...)                                                                                         \
  template <class T, bool isSetMask = true>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTimes,            \
            const UnaryRepeatParams& p, ATTNEMU_AT) {                                                                    \
    static_assert(detail::one_of<T, __VA_ARGS__>, #Name ": no such element type on Atlas A2");                           \
    detail::LaneOperand s = detail::lanes(src, p.srcBlkStride, p.srcRepStride);                                          \
    attnemu::elementwise(#Name, at, attnemu::VectorOp::Name, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), &s, 1,  \
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), #Name, at));               \
  }                                                                                                                      \
  template <class T, bool isSetMask = true>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTimes,              \
            const UnaryRepeatParams& p, ATTNEMU_AT) {                                                                    \
    static_assert(detail::one_of<T, __VA_ARGS__>, #Name ": no such element type on Atlas A2");                           \
    detail::LaneOperand s = detail::lanes(src, p.srcBlkStride, p.srcRepStride);                                          \
    attnemu::elementwise(#Name, at, attnemu::VectorOp::Name, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), &s, 1,  \
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), #Name, at));               \
  }                                                                                                                      \
  template <class T>                                                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& calCount, ATTNEMU_AT) {                 \
    static_assert(detail::one_of<T, __VA_ARGS__>, #Name ": no such element type on Atlas A2");                           \
    detail::LaneOperand s = detail::lanes(src);                                                                          \
    attnemu::elementwise(#Name, at, attnemu::VectorOp::Name, detail::lanes(dst), &s, 1,                                  \
                         detail::count_shape(calCount, detail::per_repeat<T>(), #Name, at));                             \
  }

ATTNEMU_UNARY(Exp, half, float)
ATTNEMU_UNARY(Ln, half, float)
ATTNEMU_UNARY(Abs, half, float)
ATTNEMU_UNARY(Sqrt, half, float)
ATTNEMU_UNARY(Rsqrt, half, float)
ATTNEMU_UNARY(Reciprocal, half, float)
ATTNEMU_UNARY(Relu, half, int32_t, float)
ATTNEMU_UNARY(Not, int16_t, uint16_t)
#undef ATTNEMU_UNARY

// dst = op(src, scalar). The second template parameter keeps the scalar's type out of deduction, as in CANN.
#define ATTNEMU_SCALAR(Name, ...)                                                                                        \
  template <class T, bool isSetMask = true>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, uint64_t mask[],                      \
            const uint8_t repeatTimes, const UnaryRepeatParams& p, ATTNEMU_AT) {                                         \
    static_assert(detail::one_of<T, __VA_ARGS__>, #Name ": no such element type on Atlas A2");                           \
    detail::LaneOperand s = detail::lanes(src, p.srcBlkStride, p.srcRepStride);                                          \
    attnemu::elementwise(#Name, at, attnemu::VectorOp::Name, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), &s, 1,  \
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), #Name, at),                \
                         detail::scalar_of(scalar));                                                                     \
  }                                                                                                                      \
  template <class T, bool isSetMask = true>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, uint64_t mask,                        \
            const uint8_t repeatTimes, const UnaryRepeatParams& p, ATTNEMU_AT) {                                         \
    static_assert(detail::one_of<T, __VA_ARGS__>, #Name ": no such element type on Atlas A2");                           \
    detail::LaneOperand s = detail::lanes(src, p.srcBlkStride, p.srcRepStride);                                          \
    attnemu::elementwise(#Name, at, attnemu::VectorOp::Name, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), &s, 1,  \
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), #Name, at),                \
                         detail::scalar_of(scalar));                                                                     \
  }                                                                                                                      \
  template <class T>                                                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, const int32_t& calCount, ATTNEMU_AT) { \
    static_assert(detail::one_of<T, __VA_ARGS__>, #Name ": no such element type on Atlas A2");                           \
    detail::LaneOperand s = detail::lanes(src);                                                                          \
    attnemu::elementwise(#Name, at, attnemu::VectorOp::Name, detail::lanes(dst), &s, 1,                                  \
                         detail::count_shape(calCount, detail::per_repeat<T>(), #Name, at), detail::scalar_of(scalar));  \
  }

ATTNEMU_SCALAR(Adds, int16_t, half, int32_t, float)
ATTNEMU_SCALAR(Muls, int16_t, half, int32_t, float)
ATTNEMU_SCALAR(Maxs, int16_t, half, int32_t, float)
ATTNEMU_SCALAR(Mins, int16_t, half, int32_t, float)
ATTNEMU_SCALAR(ShiftLeft, uint16_t, int16_t, uint32_t, int32_t)
ATTNEMU_SCALAR(ShiftRight, uint16_t, int16_t, uint32_t, int32_t)
ATTNEMU_SCALAR(LeakyRelu, half, float)
#undef ATTNEMU_SCALAR

// The bit shifted out last is added to signed results.
#define ATTNEMU_BY_MASK(Mask)                                                                                            \
  template <class T, bool isSetMask = true>                                                                              \
  void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, Mask, const uint8_t repeatTimes, \
                  const UnaryRepeatParams& p, bool roundEn, ATTNEMU_AT) {                                                \
    static_assert(detail::one_of<T, uint16_t, int16_t, uint32_t, int32_t>, "ShiftRight: no such element type on Atlas A2"); \
    detail::LaneOperand s = detail::lanes(src, p.srcBlkStride, p.srcRepStride);                                          \
    attnemu::Scalar by = detail::scalar_of(scalar);                                                                      \
    by.rounds = roundEn && std::is_signed_v<T>;                                                                          \
    attnemu::elementwise("ShiftRight", at, attnemu::VectorOp::ShiftRight, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), &s, 1, \
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), "ShiftRight", at), by);    \
  }
ATTNEMU_BY_MASK(uint64_t mask)
ATTNEMU_BY_MASK(const uint64_t mask[])
#undef ATTNEMU_BY_MASK

namespace detail {
// Instructions whose source may be narrower than the destination.
template <class T, class U>
constexpr bool widening = (std::is_same_v<T, U> && one_of<T, half, float>) || (std::is_same_v<T, float> && std::is_same_v<U, half>);
}  // namespace detail

// dst += src * scalar, and dst += src0 * src1
#define ATTNEMU_BY_MASK(Mask)                                                                                            \
  template <class T, class U, bool isSetMask = true>                                                                     \
  void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalar, Mask, const uint8_t repeatTimes,      \
            const UnaryRepeatParams& p, ATTNEMU_AT) {                                                                    \
    static_assert(detail::widening<T, U>, "Axpy: no such combination of element types on Atlas A2");                     \
    detail::LaneOperand s = detail::lanes(src, p.srcBlkStride, p.srcRepStride);                                          \
    attnemu::elementwise("Axpy", at, attnemu::VectorOp::Axpy, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), &s, 1, \
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T, U>(), "Axpy", at),            \
                         detail::scalar_of(scalar));                                                                     \
  }                                                                                                                      \
  template <class T, class U, bool isSetMask = true>                                                                     \
  void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, Mask,                \
                 const uint8_t repeatTimes, const BinaryRepeatParams& p, ATTNEMU_AT) {                                   \
    static_assert(detail::widening<T, U>, "MulAddDst: no such combination of element types on Atlas A2");                \
    detail::LaneOperand s[2] = {detail::lanes(src0, p.src0BlkStride, p.src0RepStride), detail::lanes(src1, p.src1BlkStride, p.src1RepStride)}; \
    attnemu::elementwise("MulAddDst", at, attnemu::VectorOp::MulAddDst, detail::lanes(dst, p.dstBlkStride, p.dstRepStride), s, 2, \
                         detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T, U>(), "MulAddDst", at));      \
  }
ATTNEMU_BY_MASK(uint64_t mask)
ATTNEMU_BY_MASK(const uint64_t mask[])
#undef ATTNEMU_BY_MASK
template <class T, class U>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalar, const int32_t& calCount, ATTNEMU_AT) {
  static_assert(detail::widening<T, U>, "Axpy: no such combination of element types on Atlas A2");
  constexpr uint32_t per = detail::per_repeat<T, U>();
  detail::LaneOperand s = detail::dense(src, per);
  attnemu::elementwise("Axpy", at, attnemu::VectorOp::Axpy, detail::dense(dst, per), &s, 1, detail::count_shape(calCount, per, "Axpy", at), detail::scalar_of(scalar));
}
template <class T, class U>
void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const int32_t& calCount, ATTNEMU_AT) {
  static_assert(detail::widening<T, U>, "MulAddDst: no such combination of element types on Atlas A2");
  constexpr uint32_t per = detail::per_repeat<T, U>();
  detail::LaneOperand s[2] = {detail::dense(src0, per), detail::dense(src1, per)};
  attnemu::elementwise("MulAddDst", at, attnemu::VectorOp::MulAddDst, detail::dense(dst, per), s, 2, detail::count_shape(calCount, per, "MulAddDst", at));
}

#define ATTNEMU_FILL_TYPES "no such element type on Atlas A2"
template <class T> constexpr bool kFillType = detail::one_of<T, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float>;

template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalar, uint64_t mask, const uint8_t repeatTimes, const uint16_t dstBlockStride, const uint8_t dstRepeatStride, ATTNEMU_AT) {
  static_assert(kFillType<T>, "Duplicate: " ATTNEMU_FILL_TYPES);
  attnemu::elementwise("Duplicate", at, attnemu::VectorOp::Fill, detail::lanes(dst, dstBlockStride, dstRepeatStride), nullptr, 0,
                       detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), "Duplicate", at), detail::scalar_of(scalar));
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalar, uint64_t mask[], const uint8_t repeatTimes, const uint16_t dstBlockStride, const uint8_t dstRepeatStride, ATTNEMU_AT) {
  static_assert(kFillType<T>, "Duplicate: " ATTNEMU_FILL_TYPES);
  attnemu::elementwise("Duplicate", at, attnemu::VectorOp::Fill, detail::lanes(dst, dstBlockStride, dstRepeatStride), nullptr, 0,
                       detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), "Duplicate", at), detail::scalar_of(scalar));
}
template <class T>
void Duplicate(const LocalTensor<T>& dst, const T& scalar, const int32_t& calCount, ATTNEMU_AT) {
  static_assert(kFillType<T>, "Duplicate: " ATTNEMU_FILL_TYPES);
  attnemu::elementwise("Duplicate", at, attnemu::VectorOp::Fill, detail::lanes(dst), nullptr, 0,
                       detail::count_shape(calCount, detail::per_repeat<T>(), "Duplicate", at), detail::scalar_of(scalar));
}

namespace detail {
// In counter mode each of the repeats takes as many elements as the mask says, in blocks `srcStride` and `dstStride` apart: other
// instructions take that many altogether.
template <class T>
void copy_lanes(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t repeats, const CopyRepeatParams& p, const LaneShape& s, const SourceLine& at) {
  static_assert(kFillType<T>, "Copy: " ATTNEMU_FILL_TYPES);
  bool counts = attnemu::core->reg.counter_mode;
  LaneOperand to = lanes(dst, p.dstStride, counts ? 8u * p.dstStride : p.dstRepeatSize);
  LaneOperand from = lanes(src, p.srcStride, counts ? 8u * p.srcStride : p.srcRepeatSize);
  if (!counts) return attnemu::elementwise("Copy", at, attnemu::VectorOp::Copy, to, &from, 1, s);
  for (uint32_t r = 0; r < repeats; ++r) {
    attnemu::elementwise("Copy", at, attnemu::VectorOp::Copy, to, &from, 1, s);
    to.at += p.dstRepeatSize * static_cast<uint64_t>(attnemu::kBlock);
    from.at += p.srcRepeatSize * static_cast<uint64_t>(attnemu::kBlock);
  }
}
}  // namespace detail

template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask, const uint8_t repeatTimes, const CopyRepeatParams& p, ATTNEMU_AT) {
  detail::copy_lanes(dst, src, repeatTimes, p, detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), "Copy", at), at);
}
template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const uint8_t repeatTimes, const CopyRepeatParams& p, ATTNEMU_AT) {
  detail::copy_lanes(dst, src, repeatTimes, p, detail::shape<isSetMask>(mask, repeatTimes, detail::per_repeat<T>(), "Copy", at), at);
}

// dst[i] = first + i
template <class T>
void CreateVecIndex(LocalTensor<T> dst, const T& first, uint32_t calCount, ATTNEMU_AT) {
  static_assert(detail::one_of<T, int16_t, half, int32_t, float>, "CreateVecIndex: no such element type on Atlas A2");
  attnemu::elementwise("CreateVecIndex", at, attnemu::VectorOp::Index, detail::lanes(dst), nullptr, 0,
                       detail::count_shape(calCount, detail::per_repeat<T>(), "CreateVecIndex", at), detail::scalar_of(first));
}
#define ATTNEMU_BY_MASK(Mask)                                                                                            \
  template <class T>                                                                                                     \
  void CreateVecIndex(LocalTensor<T>& dst, const T& first, Mask, uint8_t repeatTimes, uint16_t dstBlkStride, uint8_t dstRepStride, ATTNEMU_AT) { \
    static_assert(detail::one_of<T, int16_t, half, int32_t, float>, "CreateVecIndex: no such element type on Atlas A2"); \
    attnemu::elementwise("CreateVecIndex", at, attnemu::VectorOp::Index, detail::lanes(dst, dstBlkStride, dstRepStride), nullptr, 0, \
                         detail::shape<true>(mask, repeatTimes, detail::per_repeat<T>(), "CreateVecIndex", at), detail::scalar_of(first)); \
  }
ATTNEMU_BY_MASK(uint64_t mask)
ATTNEMU_BY_MASK(const uint64_t mask[])
#undef ATTNEMU_BY_MASK

}  // namespace AscendC
