// The Matmul library: products that a vector core asks its block's cube core for, or that a cube core does itself.
#pragma once
#include "attnemu/errands.h"
#include "matmul_batch.h"
#include "matmul_block.h"
#include "matmul_static.h"
#include "pipe.h"

namespace AscendC {

template <class A, class B, class C, class BIAS = C, const auto& MM_CFG = CFG_NORM, class CALLBACK = MatmulCallBackFunc<>,
          template <const auto&, class...> class POLICY = Impl::Detail::MatmulPolicy>
class MatmulImpl {
  using SrcA = typename A::T;
  using SrcB = typename B::T;
  using Dst = typename C::T;
  using Bias = typename BIAS::T;
  using Sum = typename GetMmDstType<SrcA>::Type;
  static_assert(std::is_same_v<SrcA, SrcB> && detail::one_of<SrcA, half, bfloat16_t, float, int8_t, int4b_t>, "Matmul: both operands have one type: half, bfloat16_t, float, int8_t or int4b_t");
  static_assert(!std::is_same_v<SrcA, int4b_t> || (A::pos == TPosition::GM && B::pos == TPosition::GM), "Matmul: operands of 4 bits in UB are not modelled");
  static constexpr bool kSparse = detail::is_sparse<B>;
  static_assert(A::format == CubeFormat::ND || A::format == CubeFormat::NZ || A::format == CubeFormat::VECTOR, "Matmul: the left operand's format is not modelled");
  static_assert(B::format == CubeFormat::ND || B::format == CubeFormat::NZ, "Matmul: the right operand's format is not modelled");
  static_assert(C::format == CubeFormat::ND || C::format == CubeFormat::NZ || C::format == CubeFormat::ND_ALIGN, "Matmul: the result's format is not modelled");
  static_assert(A::layout == B::layout, "Matmul: the operands of batches have one layout");
  static constexpr MatmulConfig kConfig = detail::config_of(MM_CFG);
  static_assert(!kConfig.intraBlockPartSum, "Matmul: sums of both vector cores' products (intraBlockPartSum) are not modelled");
  static_assert(!kSparse || (std::is_same_v<SrcA, int8_t> && kConfig.doMultiDataLoad && B::format == CubeFormat::ND && B::pos == TPosition::GM),
                "SparseMatmulType: int8_t in ND in global memory with a configuration of MDL");
  using Policy = POLICY<MM_CFG>;
  static_assert(!Policy::kKeepsLeft || (kConfig.doMultiDataLoad && A::pos == TPosition::GM && B::pos == TPosition::GM),
                "NBuffer33MatmulPolicy: a configuration of MDL and operands in global memory only");
  // Fractals of a float result may have 8 columns instead of 16.
  static constexpr bool kSplitsChannels = kConfig.isEnableChannelSplit && C::format == CubeFormat::NZ && std::is_same_v<Dst, float>;
  static_assert((A::pos != TPosition::TSCM || A::format == CubeFormat::NZ) && (B::pos != TPosition::TSCM || B::format == CubeFormat::NZ), "Matmul: operands in TSCM are NZ");
  static_assert((A::pos != TPosition::TSCM && B::pos != TPosition::TSCM) || sizeof(SrcA) >= 2, "Matmul: operands of less than 16 bits in TSCM are not modelled");

 public:
  static constexpr bool kNeedsNoTiling = detail::needs_no_tiling(MM_CFG);
  // nullptr, if the configuration has all sizes.
  void Init(const TCubeTiling* tiling, TPipe* = nullptr) {
    if (tiling) tiling_ = *tiling;
    detail::put_constants(tiling_, MM_CFG);
    SetOrgShape(tiling_.M, tiling_.N, tiling_.Ka, tiling_.Kb);
    SetSingleShape(tiling_.singleCoreM, tiling_.singleCoreN, tiling_.singleCoreK);
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
  void SetTensorB(const GlobalTensor<SrcB>& b, bool transposed = false) {
    set(b_, b, B::format, transposed, transposed ? org_kb_ / (kSparse ? 2 : 1) : org_n_, transposed ? org_n_ : org_kb_);
  }
  // Two bits an element, four of them a byte, in columns of 8 bytes of whole fractals.
  void SetSparseIndex(const GlobalTensor<uint8_t>& index) {
    static_assert(kSparse, "SetSparseIndex: the right operand is no SparseMatmulType");
    b_.index = index;
    b_.index_rows = detail::fractal_up(org_n_, 16);
  }
  // Operands of a vector core pass by global memory: a part's own rows and columns.
  void SetTensorA(const LocalTensor<SrcA>& a, bool transposed = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if constexpr (A::pos == TPosition::TSCM) return set_in_l1(a_, a, transposed, transposed ? k_ : m_, at);
    set(a_, through_memory(a, m_, k_, at), A::format, transposed, transposed ? m_ : k_, transposed ? k_ : m_);
  }
  void SetTensorB(const LocalTensor<SrcB>& b, bool transposed = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if constexpr (B::pos == TPosition::TSCM) return set_in_l1(b_, b, transposed, transposed ? n_ : k_, at);
    set(b_, through_memory(b, k_, n_, at), B::format, transposed, transposed ? k_ : n_, transposed ? n_ : k_);
  }
  void SetBias(const GlobalTensor<Bias>& bias) {
    bias_ = bias;
    biased_ = kConfig.enableSetBias;
  }
  void SetBias(const LocalTensor<Bias>& bias, attnemu::SourceLine at = attnemu::SourceLine::here()) { SetBias(through_memory(bias, 1, n_, at)); }
  void DisableBias() { biased_ = false; }
  void ClearBias() { biased_ = false; }
  void SetQuantScalar(uint64_t word) { conversion_.word = word; }
  void SetQuantVector(const GlobalTensor<uint64_t>& words) {
    conversion_.words = words;
    conversion_.with_words = true;
  }
  // What callbacks are handed.
  void SetUserDefInfo(const uint64_t tilingPtr) { user_.tiling = tilingPtr; }
  void SetSelfDefineData(const uint64_t dataPtr) { user_.data = dataPtr; }
  // Where IterateNBatch puts its results.
  template <class T>
  void SetWorkspace(GlobalTensor<T>& at) {
    SetWorkspace(at.GetPhyAddr(), static_cast<int>(at.GetSize()));
  }
  template <class T>
  void SetWorkspace(__gm__ const T* at, int) {
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ Dst*>(const_cast<__gm__ T*>(at)));
  }
  void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
  void SetSubBlockIdx(uint8_t) {}
  void WaitIterateAll() {}
  void WaitGetTensorC() {}
  void WaitIterateBatch() {}
  void End() { begin(); }

  // The next block, of which GetTensorC makes and stores the sums; false behind the last one.
  template <bool sync = true>
  bool Iterate(bool partial = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    static_assert(!Policy::kKeepsLeft, "NBuffer33MatmulPolicy: IterateAll only");
    detail::require(!partial, "unsupported", at, "Iterate: partial sums are not modelled");
    if (!sync) {  // blocks are then asked for one by one
      begin();
      return true;
    }
    return has_tiling("Iterate", at) && advance();
  }
  // The next block's sums as columns of fractals in the kernel's own part of L0C, on a cube core that works on its own.
  template <bool sync = true>
  bool Iterate(bool partial, const LocalTensor<Sum>& sums, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    static_assert(C::pos == TPosition::CO1 && C::format == CubeFormat::NZ && std::is_same_v<Dst, Sum>, "Iterate: into CO1 the result's type is NZ of the sums' type in CO1");
    bool fits = has_tiling("Iterate", at) && detail::require(attnemu::core->kind == attnemu::CoreKind::Cube, "wrong_position", at, "Iterate: a vector core has no CO1") &&
                detail::require(!partial || (rows() == 1 && columns() == 1), "matmul_tiling", at, "Iterate: sums are added in CO1 for products of one block only");
    if (!fits || !advance()) return false;
    multiply(shape(), partial, sums, at);
    return true;
  }
  template <bool sync = true>
  void GetTensorC(const GlobalTensor<Dst>& c, uint8_t atomic = 0, bool sequential = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if (!has_tiling("GetTensorC", at)) return;
    if (!sync) advance();
    on_cube("GetTensorC", at, [&] { one(c, atomic, sequential, at); });
  }
  // UB takes one block, whatever is asked for.
  template <bool sync = true>
  void GetTensorC(const LocalTensor<Dst>& c, uint8_t = 0, bool = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if (!has_tiling("GetTensorC", at)) return;
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
    if (!has_tiling("IterateAll", at)) return;
    on_cube("IterateAll", at, [&] { all(c, atomic, sequential, pitch_c_, at); });
  }
  template <bool sync = true>
  void IterateAll(const LocalTensor<Dst>& c, uint8_t = 0, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if (!has_tiling("IterateAll", at)) return;
    GlobalTensor<Dst> way = memory<Dst>(results_, static_cast<uint64_t>(m_) * n_);
    on_cube("IterateAll", at, [&] { all(way, 0, false, n_, at); });
    fetch(c, way, m_, n_, n_, n_, at);
  }

  void SetBatchNum(int32_t batchA, int32_t batchB) {
    batch_a_ = static_cast<uint32_t>(batchA);
    batch_b_ = static_cast<uint32_t>(batchB);
  }
  // Products of `batchA` left and `batchB` right matrices; strides count elements from matrix to matrix, 0 for the layout's own.
  // On a cube core that works on its own: (c, enPartialSum, enAtomic, enSequentialWrite, strides), with SetBatchNum before it.
  template <bool sync = true, bool wait = false, class First, class Second>
  void IterateBatch(const GlobalTensor<Dst>& c, First first, Second second, bool sequential, uint32_t strideA = 0, uint32_t strideB = 0, uint32_t strideC = 0,
                    bool partial = false, uint8_t atomic = 0, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if constexpr (std::is_same_v<First, bool>) {
      partial = first;
      atomic = static_cast<uint8_t>(second);
    } else {
      SetBatchNum(static_cast<int32_t>(first), static_cast<int32_t>(second));
    }
    if (!batches_fit("IterateBatch", sequential, strideC, partial, at)) return;
    on_cube("IterateBatch", at, [&] { batch(c, 0, strideA, strideB, atomic, at); });
  }
  // `loops` such batches one behind the other, to what SetWorkspace named.
  template <bool sync = true, bool wait = false>
  void IterateNBatch(uint32_t loops, uint32_t batchA, uint32_t batchB, bool sequential, uint32_t strideA = 0, uint32_t strideB = 0, uint32_t strideC = 0,
                     attnemu::SourceLine at = attnemu::SourceLine::here()) {
    static_assert(kConfig.isNBatch, "IterateNBatch: the configuration's isNBatch is false");
    SetBatchNum(static_cast<int32_t>(batchA), static_cast<int32_t>(batchB));
    taken_ = 0;
    if (!batches_fit("IterateNBatch", sequential, strideC, false, at)) return;
    if (!detail::require(workspace_.GetPhyAddr() != nullptr, "batch_shape", at, "IterateNBatch: SetWorkspace must tell where results go")) return;
    on_cube("IterateNBatch", at, [&] {
      for (uint32_t i = 0; i < loops; ++i) batch(workspace_, i, strideA, strideB, 0, at);
    });
  }
  // The next batch that IterateNBatch left in its workspace.
  template <bool sync = true>
  GlobalTensor<Dst> GetBatchTensorC(uint32_t batchA, uint32_t batchB, bool = false) {
    uint64_t size = static_cast<uint64_t>(std::max(batchA, batchB)) * tiling_.singleCoreM * tiling_.singleCoreN;
    GlobalTensor<Dst> part;
    part.SetGlobalBuffer(workspace_.GetPhyAddr(taken_++ * size), size);
    return part;
  }
  template <bool sync = true>
  GlobalTensor<Dst> GetBatchC(uint32_t batchA, uint32_t batchB, bool = false) {
    return GetBatchTensorC<sync>(batchA, batchB);
  }

 private:
  bool has_tiling(const char* what, const attnemu::SourceLine& at) const {
    bool fits = tiling_.baseM > 0 && tiling_.baseN > 0 && tiling_.baseK > 0;
    if (!detail::require(fits, "matmul_tiling", at, attnemu::format("%s: the object has no tiling: baseM, baseN and baseK are %d, %d and %d", what, tiling_.baseM, tiling_.baseN, tiling_.baseK))) return false;
    if constexpr (A::format == CubeFormat::VECTOR) {
      if (!detail::require(m_ == 1, "matmul_tiling", at, attnemu::format("%s: a left operand in VECTOR is one row, not %u", what, m_))) return false;
    }
    if constexpr (kSparse) {
      if (!detail::require(b_.index_rows > 0 && tiling_.baseK % 64 == 0, "matmul_tiling", at, attnemu::format("%s: sparse products want SetSparseIndex and a baseK of whole 64 (SetSparse on the host), not %d", what, tiling_.baseK))) return false;
      if (!detail::require(b_.transposed && !biased_ && attnemu::core->kind == attnemu::CoreKind::Cube, "unsupported", at, attnemu::format("%s: sparse products of right operands that are not transposed, with biases or for vector cores are not modelled", what))) return false;
    }
    if constexpr (Policy::kKeepsLeft) {
      int32_t steps = (static_cast<int32_t>(k_) + tiling_.baseK - 1) / tiling_.baseK;
      fits = tiling_.stepM <= 3 && tiling_.stepKa <= 3 && tiling_.stepKa == tiling_.stepKb && tiling_.stepKa == steps;
      return detail::require(fits, "matmul_tiling", at, attnemu::format("%s: NBuffer33MatmulPolicy wants stepM up to 3 and stepKa = stepKb = %d up to 3 (SetMatmulConfigParams with N_BUFFER_33); they are %d, %d and %d", what, steps, tiling_.stepM, tiling_.stepKa, tiling_.stepKb));
    }
    return true;
  }
  static constexpr bool kBatches = A::layout != LayoutMode::NONE;
  // What the documentation wants of a batch.
  bool batches_fit(const char* what, bool sequential, uint32_t strideC, bool partial, const attnemu::SourceLine& at) const {
    static_assert(kBatches && C::layout != LayoutMode::NONE, "IterateBatch: the layouts of A, B and C must be those of batches");
    static_assert(kConfig.doNorm, "IterateBatch: a configuration of Norm only");
    static_assert(A::pos == TPosition::GM && B::pos == TPosition::GM, "IterateBatch: operands in UB are not modelled");
    constexpr bool kAxesInside = A::layout == LayoutMode::BSNGD || A::layout == LayoutMode::SBNGD;
    static_assert(!kAxesInside || (A::format == CubeFormat::ND && B::format == CubeFormat::ND && C::format == CubeFormat::ND), "IterateBatch: BSNGD and SBNGD are ND only");
    using detail::require;
    if (!has_tiling(what, at)) return false;
    if (!require(!sequential && strideC == 0 && !partial, "unsupported", at, attnemu::format("%s: enSequentialWrite, matrixStrideC and enPartialSum are not modelled", what))) return false;
    uint32_t most = std::max(batch_a_, batch_b_), least = std::min(batch_a_, batch_b_);
    if (!require(least > 0 && most % least == 0, "batch_shape", at, attnemu::format("%s: batches of %u and %u matrices: one must be a multiple of the other", what, batch_a_, batch_b_))) return false;
    if (!require(!conversion_.word && !conversion_.with_words, "batch_shape", at, attnemu::format("%s: batches are not quantised", what))) return false;
    constexpr bool kInL1 = A::layout != LayoutMode::NORMAL || kConfig.batchMode == BatchMode::BATCH_LESS_THAN_L1;
    constexpr uint32_t c0 = 32 / sizeof(SrcA);
    uint64_t k = detail::fractal_up(k_, std::max(c0, 16u)), bytes = (batch_a_ * static_cast<uint64_t>(detail::fractal_up(m_, 16)) + batch_b_ * static_cast<uint64_t>(detail::fractal_up(n_, 16))) * k * sizeof(SrcA);
    if (!require(!kInL1 || bytes <= attnemu::kL1Bytes, "batch_shape", at, attnemu::format("%s: the operands fill %llu bytes of L1, which has %u (with LayoutMode::NORMAL, batchMode may say so)", what, static_cast<unsigned long long>(bytes), attnemu::kL1Bytes))) return false;
    auto a = detail::left_axes(tiling_), b = detail::right_axes(tiling_);
    if constexpr (A::layout != LayoutMode::NORMAL) {
      if (!require(uint64_t{a.g} * batch_b_ == uint64_t{b.g} * batch_a_ || a.g == b.g, "batch_shape", at, attnemu::format("%s: batches of %u and %u matrices do not share the axes G of %u and %u", what, batch_a_, batch_b_, a.g, b.g))) return false;
    }
    bool whole_rows = A::layout != LayoutMode::BSNGD || (a.n * a.g % batch_a_ == 0 && b.n * b.g % batch_b_ == 0);
    return require(whole_rows, "batch_shape", at, attnemu::format("%s: a batch of BSNGD is a part of one B: %u and %u do not divide N * G, %u and %u", what, batch_a_, batch_b_, a.n * a.g, b.n * b.g));
  }
  // Elements of one matrix among those that lie behind one another.
  template <bool kLeft, class Stored>
  uint64_t matrix(const Stored& x, const detail::BatchAxes& axes) const {
    uint32_t outer = kLeft ? org_m_ : org_n_, k = kLeft ? org_ka_ : org_kb_;
    bool rows_of_k = x.transposed != kLeft;
    uint64_t rows = rows_of_k ? outer : k, columns = rows_of_k ? k : outer;
    if (A::layout == LayoutMode::BNGS1S2) rows = axes.s, columns = axes.d;
    return x.fractals ? static_cast<uint64_t>(detail::fractal_up(rows, 16)) * detail::fractal_up(columns, 32 / sizeof(SrcA)) : rows * columns;
  }
  // One batch, as the cube core: the results' base is their first, those of the operands what SetTensorA and SetTensorB were given.
  void batch(const GlobalTensor<Dst>& c, uint32_t loop, uint32_t strideA, uint32_t strideB, uint8_t atomic, const attnemu::SourceLine& at) {
    auto left = detail::left_axes(tiling_), right = detail::right_axes(tiling_), result = detail::result_axes(tiling_), all = detail::longer(left, right);
    uint32_t products = std::max(batch_a_, batch_b_);
    auto member = [&](const detail::BatchAxes& x, uint32_t i, uint32_t count) { return A::layout == LayoutMode::NORMAL ? i / (products / count) : detail::batch_member(all, x, i); };
    auto target = [&](uint32_t i) { return A::layout == LayoutMode::NORMAL ? i : detail::batch_member(all, result, i); };
    uint32_t results = target(products - 1) + 1;
    const auto a0 = a_, b0 = b_;
    auto a = a_, b = b_;
    auto bias = bias_;
    uint64_t one_a = matrix<true>(a, left), one_b = matrix<false>(b, right);
    if (!a.fractals) a.pitch = detail::batch_pitch(A::layout, left, a.pitch);
    if (!b.fractals) b.pitch = detail::batch_pitch(B::layout, right, b.pitch);
    uint64_t one_c = C::format == CubeFormat::NZ ? static_cast<uint64_t>(detail::fractal_up(org_m_, 16)) * detail::fractal_up(org_n_, 16) : static_cast<uint64_t>(org_m_) * pitch_c_;
    uint32_t pitch = detail::batch_pitch(C::layout, result, pitch_c_);
    for (uint32_t r = 0; r < results; ++r) {
      auto to = c;
      to = to[detail::batch_offset(C::layout, result, loop * results + r, one_c)];
      if (kConfig.isBiasBatch) bias_ = bias[static_cast<uint64_t>(loop * results + r) * org_n_];
      begin();
      while (advance()) {
        bool more = false;
        for (uint32_t i = 0; i < products; ++i) {
          if (target(i) != r) continue;
          uint32_t from_a = loop * batch_a_ + member(left, i, batch_a_), from_b = loop * batch_b_ + member(right, i, batch_b_);
          a_ = a, b_ = b;
          a_.at = a.at[strideA ? static_cast<uint64_t>(from_a) * strideA : detail::batch_offset(A::layout, left, from_a, one_a)];
          b_.at = b.at[strideB ? static_cast<uint64_t>(from_b) * strideB : detail::batch_offset(B::layout, right, from_b, one_b)];
          multiply(shape(), more, at);
          more = true;
        }
        store(to, shape(), atomic, false, at, pitch);
      }
    }
    a_ = a0, b_ = b0, bias_ = bias;
  }
  static void set(detail::StoredMatrix<SrcA>& to, const GlobalTensor<SrcA>& from, CubeFormat format, bool transposed, uint32_t columns, uint32_t rows) {
    to.at = from;
    to.l1_rows = 0;
    to.fractals = format == CubeFormat::NZ;
    to.transposed = transposed;
    to.pitch = to.fractals ? detail::fractal_up(rows, 16) : columns;
  }
  static void set_in_l1(detail::StoredMatrix<SrcA>& to, const LocalTensor<SrcA>& from, bool transposed, uint32_t rows, const attnemu::SourceLine& at) {
    uint64_t end = from.GetPhyAddr() + from.GetSize() * sizeof(SrcA);
    detail::require(end <= detail::kIndexInL1, "unsupported", at, attnemu::format("Matmul: a matrix in L1 that ends at byte %llu: the emulator's products use L1 from byte %u on", static_cast<unsigned long long>(end), detail::kIndexInL1));
    to.l1 = from;
    to.l1_rows = detail::fractal_up(rows, 16);
    to.transposed = transposed;
  }
  void begin() { place_ = -1; }
  uint32_t rows() const { return (m_ + tiling_.baseM - 1) / tiling_.baseM; }
  uint32_t columns() const { return (n_ + tiling_.baseN - 1) / tiling_.baseN; }
  // With isPartialOutput each step over k is a result of its own.
  uint32_t parts() const { return kConfig.isPartialOutput ? (k_ + tiling_.baseK - 1) / tiling_.baseK : 1; }
  bool advance() {
    if (++place_ < static_cast<int64_t>(rows()) * columns() * parts()) return true;
    begin();
    return false;
  }
  detail::BlockShape shape() const {
    bool rows_first = kConfig.iterateOrder == IterateOrder::UNDEF ? tiling_.iterateOrder == 0 : kConfig.iterateOrder == IterateOrder::ORDER_M;
    auto part = static_cast<uint32_t>(place_ < 0 ? 0 : place_), place = part / parts();
    uint32_t i = rows_first ? place % rows() : place / columns(), j = rows_first ? place / rows() : place % columns();
    detail::BlockShape b;
    b.i = i;
    b.j = j;
    b.row = i * tiling_.baseM;
    b.column = j * tiling_.baseN;
    b.m = std::min<uint32_t>(tiling_.baseM, m_ - b.row);
    b.n = std::min<uint32_t>(tiling_.baseN, n_ - b.column);
    b.step_k = tiling_.baseK;
    b.first_k = part % parts() * b.step_k;
    b.k = kConfig.isPartialOutput ? std::min(b.step_k, k_ - b.first_k) : k_;
    return b;
  }
  // One block, as the cube core.
  void one(const GlobalTensor<Dst>& c, uint8_t atomic, bool sequential, const attnemu::SourceLine& at, uint32_t pitch = 0) {
    detail::BlockShape b = shape();
    if (Policy::kBlocks == detail::Blocks::UpperTriangle && b.i > b.j) return;
    if (Policy::kBlocks == detail::Blocks::LowerTriangle && b.i < b.j) return;
    multiply(b, false, at);
    store(c, b, atomic, sequential, at, pitch ? pitch : pitch_c_);
  }
  void multiply(detail::BlockShape b, bool adds, const attnemu::SourceLine& at) { multiply(b, adds, detail::own_sums<Sum>(), at); }
  void multiply(detail::BlockShape b, bool adds, const LocalTensor<Sum>& sums, const attnemu::SourceLine& at) {
    b.adds = adds;
    detail::multiply_block<CALLBACK, SrcA, Sum, Bias>(a_, b_, biased_ ? &bias_ : nullptr, sums, b, hf32_, user_, at);
  }
  void store(GlobalTensor<Dst> c, const detail::BlockShape& b, uint8_t atomic, bool sequential, const attnemu::SourceLine& at, uint32_t pitch) {
    if (atomic == 1) SetAtomicAdd<Dst>();
    if (atomic == 2) SetAtomicMax<Dst>();
    if (atomic == 3) SetAtomicMin<Dst>();
    if constexpr (C::format == CubeFormat::NZ) {
      uint32_t height = detail::fractal_up(sequential ? tiling_.baseM : org_m_, 16);
      constexpr uint32_t width = kSplitsChannels ? 8 : 16;
      auto target = sequential ? c : c[static_cast<uint64_t>(b.column) * height + static_cast<uint64_t>(b.row) * width];
      put(target, b, height * width * sizeof(Dst) / 32, at);
    } else {
      auto target = sequential ? c : c[static_cast<uint64_t>(b.row) * pitch + b.column];
      put(target, b, sequential ? tiling_.baseN : pitch, at);
    }
    if (atomic) SetAtomicNone();
  }
  void put(const GlobalTensor<Dst>& target, const detail::BlockShape& b, uint32_t pitch, const attnemu::SourceLine& at) {
    constexpr bool kFractals = C::format == CubeFormat::NZ;
    if constexpr (detail::is_given<CALLBACK::DataCopyOutPtr>()) detail::store_by_callback<CALLBACK, Dst, Sum>(target, b, pitch, kFractals, conversion_, user_, at);
    else detail::store_block<Dst, Sum>(target, b, pitch, kFractals, conversion_, at, kSplitsChannels);
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
  detail::UserWords user_;
  GlobalTensor<Dst> workspace_;
  uint32_t batch_a_ = 1, batch_b_ = 1;
  uint64_t taken_ = 0;
  bool biased_ = false, hf32_ = false;
  int64_t place_ = -1;
  uint8_t* results_ = nullptr;
  uint64_t kept_bytes_ = 0;
};

template <class A, class B, class C, class BIAS = C, const auto& MM_CFG = CFG_NORM, class CALLBACK = MatmulCallBackFunc<>,
          template <const auto&, class...> class POLICY = Impl::Detail::MatmulPolicy>
using Matmul = MatmulImpl<A, B, C, BIAS, MM_CFG, CALLBACK, POLICY>;

namespace detail {
inline const TCubeTiling* tiling_at(const TCubeTiling* t) { return t; }
inline const TCubeTiling* tiling_at(const TCubeTiling& t) { return &t; }
inline void begin_products(TPipe*) {}
template <class Product>
void begin_products(TPipe* pipe, Product&& product) {
  if (std::decay_t<Product>::kNeedsNoTiling) product.Init(nullptr, pipe);
}
template <class Product, class Tiling, class... More>
void begin_products(TPipe* pipe, Product&& product, Tiling&& tiling, More&&... more) {
  const TCubeTiling* cut = tiling_at(tiling);
  if (cut || std::decay_t<Product>::kNeedsNoTiling) product.Init(cut, pipe);
  begin_products(pipe, more...);
}
template <class Workspace>
void ignore(Workspace&&) {}
}  // namespace detail

// Messages between cores that the library keeps in the system's workspace are not modelled.
inline void clearWorkspace(GM_ADDR) {}
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
