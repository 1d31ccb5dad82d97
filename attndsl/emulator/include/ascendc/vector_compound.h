// Instructions that compute and convert at once.
#pragma once
#include "vector_cast.h"

namespace AscendC {
namespace detail {

template <class T, class U>
constexpr bool relu_cast = (std::is_same_v<T, int8_t> && one_of<U, half, int16_t>) || (std::is_same_v<T, half> && std::is_same_v<U, float>);
template <class T, class U>
constexpr bool mul_cast = one_of<T, int8_t, uint8_t> && std::is_same_v<U, half>;
template <class T, class U>
constexpr bool deq_relu = std::is_same_v<T, half> && std::is_same_v<U, int32_t>;

template <class T, class U>
void compound(const char* what, const SourceLine& at, attnemu::CompoundOp op, const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const LaneShape& s,
              const BinaryRepeatParams& p) {
  LaneOperand sources[2] = {lanes(src0, p.src0BlkStride, p.src0RepStride), lanes(src1, p.src1BlkStride, p.src1RepStride)};
  attnemu::compound(what, at, op, lanes(dst, p.dstBlkStride, p.dstRepStride), sources, s);
}
template <class T, class U>
void compound(const char* what, const SourceLine& at, attnemu::CompoundOp op, const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, int64_t count) {
  constexpr uint32_t per = per_repeat<T, U>();
  LaneOperand sources[2] = {dense(src0, per), dense(src1, per)};
  attnemu::compound(what, at, op, dense(dst, per), sources, count_shape(count, per, what, at));
}

}  // namespace detail

#define ATTNEMU_COMPOUND(Name, Legal)                                                                                    \
  template <class T, class U, bool isSetMask = true>                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask[],          \
            const uint8_t repeatTime, const BinaryRepeatParams& p, ATTNEMU_AT) {                                         \
    static_assert(detail::Legal<T, U>, #Name ": no such combination of element types on Atlas A2");                      \
    detail::compound(#Name, at, attnemu::CompoundOp::Name, dst, src0, src1,                                              \
                     detail::shape<isSetMask>(mask, repeatTime, detail::per_repeat<T, U>(), #Name, at), p);              \
  }                                                                                                                      \
  template <class T, class U, bool isSetMask = true>                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask,            \
            const uint8_t repeatTime, const BinaryRepeatParams& p, ATTNEMU_AT) {                                         \
    static_assert(detail::Legal<T, U>, #Name ": no such combination of element types on Atlas A2");                      \
    detail::compound(#Name, at, attnemu::CompoundOp::Name, dst, src0, src1,                                              \
                     detail::shape<isSetMask>(mask, repeatTime, detail::per_repeat<T, U>(), #Name, at), p);              \
  }                                                                                                                      \
  template <class T, class U>                                                                                            \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const uint32_t count,     \
            ATTNEMU_AT) {                                                                                                \
    static_assert(detail::Legal<T, U>, #Name ": no such combination of element types on Atlas A2");                      \
    detail::compound(#Name, at, attnemu::CompoundOp::Name, dst, src0, src1, count);                                      \
  }
ATTNEMU_COMPOUND(AddReluCast, relu_cast)
ATTNEMU_COMPOUND(SubReluCast, relu_cast)
ATTNEMU_COMPOUND(MulCast, mul_cast)
// The scale is that of SetDeqScale(half).
ATTNEMU_COMPOUND(AddDeqRelu, deq_relu)
#undef ATTNEMU_COMPOUND

// FusedMulAddRelu by asc-devkit's name.
template <class T, bool isSetMask = true>
void MulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& p, ATTNEMU_AT) {
  FusedMulAddRelu<T, isSetMask>(dst, src0, src1, mask, repeatTime, p, at);
}
template <class T, bool isSetMask = true>
void MulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& p, ATTNEMU_AT) {
  FusedMulAddRelu<T, isSetMask>(dst, src0, src1, mask, repeatTime, p, at);
}
template <class T>
void MulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, ATTNEMU_AT) { FusedMulAddRelu(dst, src0, src1, count, at); }

}  // namespace AscendC
