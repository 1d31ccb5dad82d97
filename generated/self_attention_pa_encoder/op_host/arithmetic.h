// Integer arithmetic of contracts and of tiling: quotients are rounded down or up, not towards
// zero.
#ifndef ATTNDSL_ARITHMETIC_H
#define ATTNDSL_ARITHMETIC_H

#include <cstdint>

namespace attndsl {

// The quotient rounded down; 0 where the divisor is 0, which conditions ask first.
constexpr int64_t FloorDiv(int64_t a, int64_t b)
{
    return b == 0 ? 0 : a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}

// What that leaves: it has the divisor's sign.
constexpr int64_t FloorMod(int64_t a, int64_t b) { return b == 0 ? 0 : a - FloorDiv(a, b) * b; }

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return -FloorDiv(-a, b); }

constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

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

}  // namespace attndsl

#endif  // ATTNDSL_ARITHMETIC_H
