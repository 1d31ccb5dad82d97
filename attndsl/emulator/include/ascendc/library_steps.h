// What the library functions are made of: instructions of the vector unit in order, and temporary memory cut into tensors.
#pragma once
#include "library_sizes.h"
#include "pipe.h"
#include "vector_cast.h"

namespace AscendC::detail {

inline void finish(const SourceLine& at) { attnemu::pipe_barrier(Pipe::V, at); }

// Instructions on `n` elements, each done before the next one starts. Sources and destinations may be the same.
template <class T>
struct Steps {
  using Tensor = const LocalTensor<T>&;
  int32_t n;
  SourceLine at;

#define ATTNEMU_STEP(name, Instruction, Parameters, ...) \
  void name Parameters const {                           \
    Instruction(__VA_ARGS__, n, at);                     \
    finish(at);                                          \
  }
  ATTNEMU_STEP(add, Add, (Tensor d, Tensor a, Tensor b), d, a, b)
  ATTNEMU_STEP(sub, Sub, (Tensor d, Tensor a, Tensor b), d, a, b)
  ATTNEMU_STEP(mul, Mul, (Tensor d, Tensor a, Tensor b), d, a, b)
  ATTNEMU_STEP(div, Div, (Tensor d, Tensor a, Tensor b), d, a, b)
  ATTNEMU_STEP(max, Max, (Tensor d, Tensor a, Tensor b), d, a, b)
  ATTNEMU_STEP(exp, Exp, (Tensor d, Tensor a), d, a)
  ATTNEMU_STEP(ln, Ln, (Tensor d, Tensor a), d, a)
  ATTNEMU_STEP(abs, Abs, (Tensor d, Tensor a), d, a)
  ATTNEMU_STEP(sqrt, Sqrt, (Tensor d, Tensor a), d, a)
  ATTNEMU_STEP(relu, Relu, (Tensor d, Tensor a), d, a)
  ATTNEMU_STEP(adds, Adds, (Tensor d, Tensor a, float c), d, a, static_cast<T>(c))
  ATTNEMU_STEP(muls, Muls, (Tensor d, Tensor a, float c), d, a, static_cast<T>(c))
  ATTNEMU_STEP(maxs, Maxs, (Tensor d, Tensor a, float c), d, a, static_cast<T>(c))
  ATTNEMU_STEP(mins, Mins, (Tensor d, Tensor a, float c), d, a, static_cast<T>(c))
  ATTNEMU_STEP(fill, Duplicate, (Tensor d, float c), d, static_cast<T>(c))
#undef ATTNEMU_STEP
  void round(Tensor d, Tensor a, RoundMode mode) const {
    Cast(d, a, mode, static_cast<uint32_t>(n), at);
    finish(at);
  }
  // d = 1 / (1 + exp(a)), which is finite for every a; `d` and `a` are not the same.
  void logistic(Tensor d, Tensor a) const {
    exp(a, a);
    adds(a, a, 1);
    fill(d, 1);
    div(d, d, a);
  }
  // d = c[0] + x * (c[1] + x * (...)); `d` and `x` are not the same.
  template <size_t terms>
  void polynomial(Tensor d, Tensor x, const float (&c)[terms]) const {
    muls(d, x, c[terms - 1]);
    for (size_t i = terms - 2; i > 0; --i) {
      adds(d, d, c[i]);
      mul(d, d, x);
    }
    adds(d, d, c[0]);
  }
};

// All UB that no buffer has, which the forms without a temporary tensor take.
LocalTensor<uint8_t> free_memory();

// Whether `tmp` has the bytes that a function asks for; tells if not.
inline bool has_room(const char* what, const LocalTensor<uint8_t>& tmp, uint64_t least, const SourceLine& at) {
  if (tmp.GetLength() >= least) return true;
  complain("work_tensor_size", at, attnemu::format("%s: the temporary tensor has %u bytes; at least %llu are needed", what, tmp.GetLength(), static_cast<unsigned long long>(least)));
  return false;
}

// Temporary memory as tensors of T, all of `length` elements: as many as fit, at most `elements`, in steps of 16, which are
// whole blocks of halves, too.
template <class T>
struct Nodes {
  LocalTensor<T> memory;
  uint32_t length = 0;
  Nodes(const LocalTensor<uint8_t>& tmp, uint32_t count, uint32_t elements) : memory(tmp.ReinterpretCast<T>()) {
    uint32_t whole = (elements + 15) / 16 * 16;
    length = count ? std::min<uint32_t>(whole, static_cast<uint32_t>(tmp.GetLength() / count / (16 * sizeof(T)) * 16)) : whole;
  }
  LocalTensor<T> operator[](uint32_t i) const { return memory[i * length]; }
};

// An elementwise function of `sources` tensors: `F::run` computes in float (or, with F::own_type, in T) with `F::temps` tensors;
// where it reads a source behind the first write to the destination, the two must not be the same, as documentation asks.
template <class F, class T, size_t sources>
void elementwise_function(const char* what, TmpTensors size, bool reuse, const LocalTensor<T>& dst, const LocalTensor<T> (&src)[sources], const LocalTensor<uint8_t>& tmp,
                          uint32_t count, const F& function, const SourceLine& at) {
  static_assert(one_of<T, half, float>, "library function: half or float");
  if (count > dst.GetSize()) return complain("count_range", at, attnemu::format("%s: calCount %u is above the %u elements of the destination", what, count, dst.GetSize()));
  if (!has_room(what, tmp, size.least(sizeof(T), reuse), at)) return;
  constexpr bool widens = std::is_same_v<T, half> && !F::own_type;
  using C = std::conditional_t<widens, float, T>;
  constexpr uint32_t extra = widens ? sources + 1 : 0;
  Nodes<C> nodes(tmp, extra + F::temps, count);
  if (!nodes.length) return has_room(what, tmp, (extra + F::temps) * 16 * sizeof(C), at), void();
  LocalTensor<C> t[F::temps + 1];
  for (uint32_t i = 0; i < F::temps; ++i) t[i] = nodes[extra + i];
  for (uint32_t first = 0; first < count; first += nodes.length) {
    uint32_t n = std::min(nodes.length, count - first);
    Steps<C> v{static_cast<int32_t>(n), at};
    LocalTensor<C> x[sources];
    if constexpr (widens) {
      for (uint32_t i = 0; i < sources; ++i) {
        x[i] = nodes[i + 1];
        Cast(x[i], src[i][first], RoundMode::CAST_NONE, n, at);
      }
      finish(at);
      function.run(v, nodes[0], x, t);
      Cast(dst[first], nodes[0], F::rounding, n, at);
      finish(at);
    } else {
      for (uint32_t i = 0; i < sources; ++i) x[i] = src[i][first];
      function.run(v, dst[first], x, t);
    }
  }
}
// What such functions have unless they say otherwise.
template <uint32_t count>
struct Function {
  static constexpr uint32_t temps = count;
  static constexpr bool own_type = false;
  static constexpr RoundMode rounding = RoundMode::CAST_NONE;
};

}  // namespace AscendC::detail
