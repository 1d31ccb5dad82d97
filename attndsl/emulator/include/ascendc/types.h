// Element types and enumerations.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "attnemu/base.h"
#include "attnemu/numeric.h"
#include "macros.h"
#include "constants.h"
#include "elements.h"

enum QuantMode_t { NoQuant, F322F16, F322BF16, DEQF16, VDEQF16, REQ8, VREQ8, QF322B8_PRE, VQF322B8_PRE };
enum class pad_t : uint8_t { PAD_NONE };

namespace AscendC {

using ::event_t;

// Two elements share a byte, the first one in its low half. Its size is that of the byte; tensors count half of it.
struct int4b_t {
  uint8_t bits;
  int4b_t() = default;
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, bool> = true>
  int4b_t(T v) : bits(static_cast<uint8_t>(static_cast<int>(v) & 15)) {}
};

template <class T> struct PrimTOf { using type = T; };
template <class T> using PrimT = typename PrimTOf<T>::type;
template <class A, class B> struct IsSameType { static constexpr bool value = std::is_same_v<A, B>; };
template <class... T> constexpr bool SupportType() { return true; }
template <bool condition, class A, class B> struct Conditional { using type = std::conditional_t<condition, A, B>; };
// The part of the C++ library that kernels reach under this name.
namespace Std {
using std::conditional;
using std::conditional_t;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::integral_constant;
using std::is_same;
using std::is_same_v;
using std::max;
using std::min;
using std::remove_reference;
using std::true_type;
}  // namespace Std

enum class TPosition : uint8_t {
  GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM, C2PIPE2GM, MAX
};
using QuePosition = TPosition;

enum class HardEvent : uint8_t {
  MTE2_MTE1, MTE1_MTE2, MTE1_M, M_MTE1, MTE2_V, V_MTE2, MTE3_V, V_MTE3, M_V, V_M, V_V, MTE3_MTE1, MTE1_MTE3, MTE1_V,
  MTE2_M, M_MTE2, V_MTE1, M_FIX, FIX_M, MTE3_MTE2, MTE2_MTE3, S_V, V_S, S_MTE2, MTE2_S, S_MTE3, MTE3_S, MTE2_FIX,
  FIX_MTE2, FIX_S, M_S, FIX_MTE3, MTE1_FIX, FIX_MTE1, FIX_FIX, MAX
};
using TEventID = int8_t;

enum class RoundMode : uint8_t { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class MaskMode : uint8_t { NORMAL, COUNTER };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class CacheMode { CACHE_MODE_DISABLE = 0, CACHE_MODE_NORMAL = 1, CACHE_MODE_LAST = 2, CACHE_MODE_PERSISTENT = 4 };
enum class CacheRwMode { READ = 1, WRITE = 2, RW = 3 };
enum class CO2Layout : uint8_t { NZ, ROW_MAJOR, COLUMN_MAJOR };
enum class GatherMaskMode : uint8_t { VERSION_V1, VERSION_V2 };
constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::VERSION_V1;

constexpr uint32_t DivCeil(uint32_t a, uint32_t b) { return b ? (a + b - 1) / b : 0; }
constexpr uint32_t Ceil(uint32_t a, uint32_t b) { return DivCeil(a, b); }
constexpr uint32_t AlignUp(uint32_t a, uint32_t b) { return DivCeil(a, b) * b; }

inline float ToFloat(const bfloat16_t& v) { return static_cast<float>(v); }
inline bfloat16_t ToBfloat16(const float& v) { return bfloat16_t(v); }

namespace detail {
using attnemu::DType;
using attnemu::MemoryKind;
using attnemu::Pipe;
using attnemu::SourceLine;

template <class T> constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, int4b_t>) return DType::I4;
  else return attnemu::element_type<T>();
}
// Bytes of n elements, and elements of n bytes.
template <class T> constexpr uint64_t bytes_of(uint64_t n) { return std::is_same_v<T, int4b_t> ? n / 2 : n * sizeof(T); }
template <class T> constexpr uint64_t elements_of(uint64_t n) { return std::is_same_v<T, int4b_t> ? n * 2 : n / sizeof(T); }
template <class T, class... Allowed> constexpr bool one_of = (std::is_same_v<T, Allowed> || ...);

constexpr MemoryKind memory_of(TPosition p) {
  switch (p) {
    case TPosition::A1: case TPosition::B1: case TPosition::C1: case TPosition::TSCM: return MemoryKind::L1;
    case TPosition::A2: return MemoryKind::L0A;
    case TPosition::B2: return MemoryKind::L0B;
    case TPosition::CO1: return MemoryKind::L0C;
    case TPosition::C2: return MemoryKind::BT;
    case TPosition::C2PIPE2GM: return MemoryKind::FB;
    case TPosition::VECIN: case TPosition::VECOUT: case TPosition::VECCALC: return MemoryKind::UB;
    default: return MemoryKind::GM;
  }
}

struct PipePair { Pipe from, to; };
constexpr PipePair pipes_of(HardEvent e) {
  constexpr Pipe S = Pipe::S, V = Pipe::V, M = Pipe::M, M1 = Pipe::MTE1, M2 = Pipe::MTE2, M3 = Pipe::MTE3, F = Pipe::FIX;
  constexpr PipePair table[] = {
      {M2, M1}, {M1, M2}, {M1, M}, {M, M1}, {M2, V}, {V, M2}, {M3, V}, {V, M3}, {M, V}, {V, M}, {V, V}, {M3, M1},
      {M1, M3}, {M1, V}, {M2, M}, {M, M2}, {V, M1}, {M, F}, {F, M}, {M3, M2}, {M2, M3}, {S, V}, {V, S}, {S, M2},
      {M2, S}, {S, M3}, {M3, S}, {M2, F}, {F, M2}, {F, S}, {M, S}, {F, M3}, {M1, F}, {F, M1}, {F, F}};
  return table[static_cast<int>(e)];
}
constexpr Pipe pipe_of(pipe_t p) { return static_cast<Pipe>(p); }
}  // namespace detail

}  // namespace AscendC
