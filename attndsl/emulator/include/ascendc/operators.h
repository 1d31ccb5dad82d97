// dst = src0 + src1 and the other operators on whole tensors: as many elements as the destination has, of comparisons as
// many as the sources have.
#pragma once
#include "vector_compare.h"

namespace AscendC {

template <class T>
template <class U, detail::Sign sign>
void LocalTensor<T>::operator=(const detail::Expression<U, sign>& e) {
  using detail::Sign;
  if constexpr (sign >= Sign::Less) {
    static_assert(detail::one_of<U, half, float>, "comparisons of LocalTensor: half or float");
    constexpr CMPMODE modes[] = {CMPMODE::LT, CMPMODE::GT, CMPMODE::EQ, CMPMODE::NE, CMPMODE::LE, CMPMODE::GE};
    Compare(*this, e.left, e.right, modes[static_cast<int>(sign) - static_cast<int>(Sign::Less)], e.left.GetSize(), e.at);
  } else {
    static_assert(std::is_same_v<T, U>, "operators of LocalTensor: source and destination are of one element type");
    const int32_t count = static_cast<int32_t>(GetSize());
    if constexpr (sign == Sign::Add) Add(*this, e.left, e.right, count, e.at);
    else if constexpr (sign == Sign::Sub) Sub(*this, e.left, e.right, count, e.at);
    else if constexpr (sign == Sign::Mul) Mul(*this, e.left, e.right, count, e.at);
    else if constexpr (sign == Sign::Div) Div(*this, e.left, e.right, count, e.at);
    else if constexpr (sign == Sign::And) And(*this, e.left, e.right, count, e.at);
    else Or(*this, e.left, e.right, count, e.at);
  }
}

}  // namespace AscendC
