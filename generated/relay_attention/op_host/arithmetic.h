// Integer arithmetic of tiling and of contracts: quotients are rounded down or up, not towards
// zero. What has a name of KernelBase (attndsl_kernel.h) means what it means there.
#ifndef ATTNDSL_ARITHMETIC_H
#define ATTNDSL_ARITHMETIC_H

#include <cstdint>

namespace attndsl {

// For a >= 0 and b > 0: the quotient rounded up, and the next multiple of `b`.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

constexpr int64_t RoundUp(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

// Quotient and remainder of division rounded down, for b != 0; C++ rounds towards zero.
constexpr int64_t FloorDiv(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

constexpr int64_t FloorMod(int64_t a, int64_t b)
{
    return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
}

// The same for all numbers of a call that is not checked yet: 0 where the divisor is 0, whose
// check is another one's.
constexpr int64_t FloorDivOrZero(int64_t a, int64_t b) { return b == 0 ? 0 : FloorDiv(a, b); }

constexpr int64_t FloorModOrZero(int64_t a, int64_t b) { return b == 0 ? 0 : FloorMod(a, b); }

constexpr int64_t CeilDivOrZero(int64_t a, int64_t b) { return -FloorDivOrZero(-a, b); }

constexpr int64_t RoundUpOrZero(int64_t a, int64_t b) { return CeilDivOrZero(a, b) * b; }

template <typename A, typename B>
constexpr auto MinOf(A a, B b)
{
    return a < b ? a : b;
}

template <typename A, typename B>
constexpr auto MaxOf(A a, B b)
{
    return a > b ? a : b;
}

// Whether a number is one of some others.
template <typename... Others>
constexpr bool IsOneOf(int64_t number, Others... others)
{
    return ((number == others) || ...);
}

}  // namespace attndsl

#endif  // ATTNDSL_ARITHMETIC_H
