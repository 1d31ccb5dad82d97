// The Matmul library: products that a vector core asks its block's cube core for, or that a cube core does itself.
#pragma once
#include "attnemu/errands.h"
#include "matmul_block.h"
#include "pipe.h"

namespace AscendC {

template <class A, class B, class C, class BIAS = C, const auto& MM_CFG = CFG_NORM, class CALLBACK = void, class POLICY = void>
class MatmulImpl {
  using SrcA = typename A::T;
  using SrcB = typename B::T;
  using Dst = typename C::T;
  using Bias = typename BIAS::T;
  using Sum = std::conditional_t<std::is_same_v<SrcA, int8_t>, int32_t, float>;
  static_assert(std::is_same_v<SrcA, SrcB> && detail::one_of<SrcA, half, bfloat16_t, float, int8_t>, "Matmul: both operands have one type: half, bfloat16_t, float or int8_t");
  static_assert(A::format == CubeFormat::ND || A::format == CubeFormat::NZ, "Matmul: the left operand's format is not modelled");
  static_assert(B::format == CubeFormat::ND || B::format == CubeFormat::NZ, "Matmul: the right operand's format is not modelled");
  static_assert(C::format == CubeFormat::ND || C::format == CubeFormat::NZ || C::format == CubeFormat::ND_ALIGN, "Matmul: the result's format is not modelled");
  static_assert(A::layout <= LayoutMode::NONE && B::layout <= LayoutMode::NONE && C::layout <= LayoutMode::NONE, "Matmul: batches are not modelled");
  // Fractals of a float result may have 8 columns instead of 16.
  static constexpr bool kSplitsChannels = MM_CFG.isEnableChannelSplit && C::format == CubeFormat::NZ && std::is_same_v<Dst, float>;
  static_assert(A::pos != TPosition::TSCM && B::pos != TPosition::TSCM, "Matmul: operands in TSCM are not modelled");

 public:
  void Init(const TCubeTiling* tiling, TPipe* = nullptr) {
    tiling_ = *tiling;
    SetOrgShape(tiling->M, tiling->N, tiling->Ka, tiling->Kb);
    SetSingleShape(tiling->singleCoreM, tiling->singleCoreN, tiling->singleCoreK);
  }
  void SetOrgShape(int m, int n, int k) { SetOrgShape(m, n, k, k); }
  void SetOrgShape(int m, int n, int ka, int kb, int kc = 0) {
    org_m_ = m;
    org_n_ = n;
    org_ka_ = ka;
    org_kb_ = kb;
    // rows of ND_ALIGN are whole blocks of 32 bytes
    pitch_c_ = kc ? kc : C::format == CubeFormat::ND_ALIGN ? detail::fractal_up(n, 32 / sizeof(Dst)) : n;
  }
  void SetSingleShape(int m, int n, int k) { SetTail(m, n, k); }
  void SetTail(int m = -1, int n = -1, int k = -1) {
    if (m != -1) m_ = m;
    if (n != -1) n_ = n;
    if (k != -1) k_ = k;
  }
  void SetHF32(bool on = false, int32_t = 0) { hf32_ = on; }
  void SetTensorA(const GlobalTensor<SrcA>& a, bool transposed = false) { set(a_, a, A::format, transposed, transposed ? org_m_ : org_ka_, transposed ? org_ka_ : org_m_); }
  void SetTensorB(const GlobalTensor<SrcB>& b, bool transposed = false) { set(b_, b, B::format, transposed, transposed ? org_kb_ : org_n_, transposed ? org_n_ : org_kb_); }
  // Operands of a vector core pass by global memory: a part's own rows and columns.
  void SetTensorA(const LocalTensor<SrcA>& a, bool transposed = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    set(a_, through_memory(a, m_, k_, at), A::format, transposed, transposed ? m_ : k_, transposed ? k_ : m_);
  }
  void SetTensorB(const LocalTensor<SrcB>& b, bool transposed = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    set(b_, through_memory(b, k_, n_, at), B::format, transposed, transposed ? k_ : n_, transposed ? n_ : k_);
  }
  void SetBias(const GlobalTensor<Bias>& bias) {
    bias_ = bias;
    biased_ = true;
  }
  void SetBias(const LocalTensor<Bias>& bias, attnemu::SourceLine at = attnemu::SourceLine::here()) { SetBias(through_memory(bias, 1, n_, at)); }
  void DisableBias() { biased_ = false; }
  void ClearBias() { biased_ = false; }
  void SetQuantScalar(uint64_t word) { conversion_.word = word; }
  void SetQuantVector(const GlobalTensor<uint64_t>& words) {
    conversion_.words = words;
    conversion_.with_words = true;
  }
  template <class T>
  void SetWorkspace(GlobalTensor<T>&) {}
  template <class T>
  void SetWorkspace(__gm__ const T*, int) {}
  void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
  void SetSubBlockIdx(uint8_t) {}
  void WaitIterateAll() {}
  void WaitGetTensorC() {}
  void End() { begin(); }

  // The next block, of which GetTensorC makes and stores the sums; false behind the last one.
  template <bool sync = true>
  bool Iterate(bool partial = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    detail::require(!partial, "unsupported", at, "Iterate: partial sums are not modelled");
    if (!sync) {  // blocks are then asked for one by one
      begin();
      return true;
    }
    return advance();
  }
  template <bool sync = true>
  void GetTensorC(const GlobalTensor<Dst>& c, uint8_t atomic = 0, bool sequential = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if (!sync) advance();
    on_cube("GetTensorC", at, [&] { one(c, atomic, sequential, at); });
  }
  // UB takes one block, whatever is asked for.
  template <bool sync = true>
  void GetTensorC(const LocalTensor<Dst>& c, uint8_t = 0, bool = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if (!sync) advance();
    GlobalTensor<Dst> way = memory<Dst>(results_, static_cast<uint64_t>(tiling_.baseM) * detail::fractal_up(tiling_.baseN, 16));
    detail::BlockShape b = shape();
    on_cube("GetTensorC", at, [&] { one(way, 0, true, at); });
    fetch(c, way, b.m, b.n, tiling_.baseN, tiling_.baseN, at);
  }
  template <bool sync = true>
  void GetTensorC(const GlobalTensor<Dst>& c, const LocalTensor<Dst>& local, uint8_t atomic = 0, bool sequential = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    GetTensorC<sync>(c, atomic, sequential, at);
    GetTensorC<true>(local, 0, sequential, at);
  }
  template <bool sync = true>
  void IterateAll(const GlobalTensor<Dst>& c, uint8_t atomic = 0, bool sequential = false, bool = false, bool = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    on_cube("IterateAll", at, [&] { all(c, atomic, sequential, pitch_c_, at); });
  }
  template <bool sync = true>
  void IterateAll(const LocalTensor<Dst>& c, uint8_t = 0, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    GlobalTensor<Dst> way = memory<Dst>(results_, static_cast<uint64_t>(m_) * n_);
    on_cube("IterateAll", at, [&] { all(way, 0, false, n_, at); });
    fetch(c, way, m_, n_, n_, n_, at);
  }

 private:
  static void set(detail::StoredMatrix<SrcA>& to, const GlobalTensor<SrcA>& from, CubeFormat format, bool transposed, uint32_t columns, uint32_t rows) {
    to.at = from;
    to.fractals = format == CubeFormat::NZ;
    to.transposed = transposed;
    to.pitch = to.fractals ? detail::fractal_up(rows, 16) : columns;
  }
  void begin() { place_ = -1; }
  uint32_t rows() const { return (m_ + tiling_.baseM - 1) / tiling_.baseM; }
  uint32_t columns() const { return (n_ + tiling_.baseN - 1) / tiling_.baseN; }
  // With isPartialOutput each step over k is a result of its own.
  uint32_t parts() const { return MM_CFG.isPartialOutput ? (k_ + tiling_.baseK - 1) / tiling_.baseK : 1; }
  bool advance() {
    if (++place_ < static_cast<int64_t>(rows()) * columns() * parts()) return true;
    begin();
    return false;
  }
  detail::BlockShape shape() const {
    bool rows_first = MM_CFG.iterateOrder == IterateOrder::UNDEF ? tiling_.iterateOrder == 0 : MM_CFG.iterateOrder == IterateOrder::ORDER_M;
    auto part = static_cast<uint32_t>(place_ < 0 ? 0 : place_), place = part / parts();
    uint32_t i = rows_first ? place % rows() : place / columns(), j = rows_first ? place / rows() : place % columns();
    detail::BlockShape b;
    b.row = i * tiling_.baseM;
    b.column = j * tiling_.baseN;
    b.m = std::min<uint32_t>(tiling_.baseM, m_ - b.row);
    b.n = std::min<uint32_t>(tiling_.baseN, n_ - b.column);
    b.step_k = tiling_.baseK;
    b.first_k = part % parts() * b.step_k;
    b.k = MM_CFG.isPartialOutput ? std::min(b.step_k, k_ - b.first_k) : k_;
    return b;
  }
  // One block, as the cube core.
  void one(GlobalTensor<Dst> c, uint8_t atomic, bool sequential, const attnemu::SourceLine& at, uint32_t pitch = 0) {
    detail::BlockShape b = shape();
    if (!pitch) pitch = pitch_c_;
    detail::multiply_block<SrcA, Sum, Bias>(a_, b_, biased_ ? &bias_ : nullptr, b, hf32_, at);
    if (atomic == 1) SetAtomicAdd<Dst>();
    if (atomic == 2) SetAtomicMax<Dst>();
    if (atomic == 3) SetAtomicMin<Dst>();
    if constexpr (C::format == CubeFormat::NZ) {
      uint32_t height = detail::fractal_up(sequential ? tiling_.baseM : org_m_, 16);
      constexpr uint32_t width = kSplitsChannels ? 8 : 16;
      auto target = sequential ? c : c[static_cast<uint64_t>(b.column) * height + static_cast<uint64_t>(b.row) * width];
      detail::store_block<Dst, Sum>(target, b, height * width * sizeof(Dst) / 32, true, conversion_, at, kSplitsChannels);
    } else {
      auto target = sequential ? c : c[static_cast<uint64_t>(b.row) * pitch + b.column];
      detail::store_block<Dst, Sum>(target, b, sequential ? tiling_.baseN : pitch, false, conversion_, at);
    }
    if (atomic) SetAtomicNone();
  }
  void all(const GlobalTensor<Dst>& c, uint8_t atomic, bool sequential, uint32_t pitch, const attnemu::SourceLine& at) {
    begin();
    for (uint64_t done = 0; advance(); ++done) {
      GlobalTensor<Dst> target = c;
      one(sequential ? target[done * tiling_.baseM * tiling_.baseN] : target, atomic, sequential, at, pitch);
    }
  }
  template <class F>
  void on_cube(const char* what, const attnemu::SourceLine& at, F&& work) {
    if (attnemu::core->kind == attnemu::CoreKind::Cube) return work();
    attnemu::ask_cube(what, at, work);
  }
  template <class T>
  GlobalTensor<T> memory(uint8_t*& kept, uint64_t elements) {
    uint64_t bytes = elements * sizeof(T);
    if (!kept || kept_bytes_ < bytes) {
      kept = attnemu::machine->lend(bytes, "library workspace");
      kept_bytes_ = bytes;
    }
    GlobalTensor<T> t;
    t.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(kept), elements);
    return t;
  }
  template <class T>
  GlobalTensor<T> through_memory(const LocalTensor<T>& from, uint32_t rows, uint32_t columns, const attnemu::SourceLine& at) {
    uint8_t* fresh = nullptr;
    uint32_t elements = rows * columns;
    GlobalTensor<T> way = memory<T>(fresh, elements);
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(way, from, DataCopyExtParams(1, static_cast<uint32_t>(elements * sizeof(T)), 0, 0, 0), at);
    PipeBarrier<PIPE_ALL>();
    return way;
  }
  // Rows of a result, from global memory to UB.
  void fetch(const LocalTensor<Dst>& to, const GlobalTensor<Dst>& from, uint32_t rows, uint32_t columns, uint32_t pitch, uint32_t pitch_in_ub, const attnemu::SourceLine& at) {
    uint32_t run = columns * sizeof(Dst), gap = (pitch_in_ub * sizeof(Dst) - detail::fractal_up(run, 32)) / 32;
    PipeBarrier<PIPE_ALL>();
    if constexpr (C::format == CubeFormat::NZ) DataCopy(to, from, detail::fractal_up(rows, 16) * detail::fractal_up(columns, 16), at);
    else DataCopyPad(to, from, DataCopyExtParams(static_cast<uint16_t>(rows), run, (pitch - columns) * static_cast<uint32_t>(sizeof(Dst)), gap, 0), DataCopyPadExtParams<Dst>(), at);
    PipeBarrier<PIPE_ALL>();
  }

  TCubeTiling tiling_;
  uint32_t org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0, pitch_c_ = 0, m_ = 0, n_ = 0, k_ = 0;
  detail::StoredMatrix<SrcA> a_, b_;
  GlobalTensor<Bias> bias_;
  detail::Conversion conversion_;
  bool biased_ = false, hf32_ = false;
  int64_t place_ = -1;
  uint8_t* results_ = nullptr;
  uint64_t kept_bytes_ = 0;
};

template <class A, class B, class C, class BIAS = C, const auto& MM_CFG = CFG_NORM, class CALLBACK = void, class POLICY = void>
using Matmul = MatmulImpl<A, B, C, BIAS, MM_CFG, CALLBACK, POLICY>;

namespace detail {
inline const TCubeTiling* tiling_at(const TCubeTiling* t) { return t; }
inline const TCubeTiling* tiling_at(const TCubeTiling& t) { return &t; }
inline void begin_products(TPipe*) {}
template <class Product>
void begin_products(TPipe*, Product&&) {}
template <class Product, class Tiling, class... More>
void begin_products(TPipe* pipe, Product&& product, Tiling&& tiling, More&&... more) {
  if (const TCubeTiling* cut = tiling_at(tiling)) product.Init(cut, pipe);
  begin_products(pipe, more...);
}
template <class Workspace>
void ignore(Workspace&&) {}
}  // namespace detail
}  // namespace AscendC

namespace matmul = AscendC;

// The cube core of a block with vector cores serves them and is done, unless it works on its own.
#ifdef ASCENDC_CUBE_ONLY
#define ATTNEMU_SERVES_VECTORS false
#else
#define ATTNEMU_SERVES_VECTORS true
#endif
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...)                          \
  AscendC::detail::ignore(workspace);                                     \
  if (ATTNEMU_SERVES_VECTORS && attnemu::serves_vectors()) {              \
    attnemu::serve_vectors(attnemu::SourceLine::here());                  \
    return;                                                               \
  }                                                                       \
  AscendC::detail::begin_products(tpipe, __VA_ARGS__)
#define REGIST_CUBE_OBJ REGIST_MATMUL_OBJ
