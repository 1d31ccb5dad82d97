// The host's side of the Matmul library: cuts a product into parts for cores and into blocks for their memories. Any cut
// that fits is right; ours need not be the one that the official functions find.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>  // host programs lean on the official header for it

#include "attnemu/limits.h"
#include "kernel_tiling/kernel_tiling.h"
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/row_sizes.h"
#include "tiling/tmp_sizes.h"

namespace optiling {

class TCubeTiling : public AscendC::tiling::TCubeTiling {
 public:
#define ATTNEMU_FIELD(name)                     \
  void set_##name(int32_t value) { name = value; } \
  int32_t get_##name() const { return name; }
  ATTNEMU_CUBE_TILING_FIELDS(ATTNEMU_FIELD)
#undef ATTNEMU_FIELD
  size_t GetDataSize() const { return sizeof(AscendC::tiling::TCubeTiling); }
  void SaveToBuffer(void* to, size_t capacity) const {
    if (capacity >= GetDataSize()) std::memcpy(to, static_cast<const AscendC::tiling::TCubeTiling*>(this), GetDataSize());
  }
};

}  // namespace optiling

namespace matmul_tiling {

enum class DataType : int32_t {
  DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 6, DT_UINT16 = 7, DT_UINT32 = 8, DT_INT64 = 9, DT_UINT64 = 10,
  DT_BF16 = 27, DT_UNDEFINED = 28, DT_INT4 = 29, DT_BFLOAT16 = 33, DT_MAX = 34
};
enum class TPosition : int32_t { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM, MAX };
enum class CubeFormat : int32_t { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR };
enum class MatrixTraverse : int32_t { NOSET = 0, FIRSTM = 1, FIRSTN = 2 };
enum class MatrixMadType : int32_t { NORMAL = 0, HF32 = 1 };
enum class DequantType : int32_t { SCALAR = 0, TENSOR = 1 };
enum class ScheduleType : int32_t { INNER_PRODUCT = 0, OUTER_PRODUCT = 1, N_BUFFER_33 = 2 };

struct PlatformInfo {
  platform_ascendc::SocVersion socVersion = platform_ascendc::SocVersion::ASCEND910B;
  uint64_t l1Size = 0, l0CSize = 0, ubSize = 0, l0ASize = 0, l0BSize = 0;
};
struct SysTilingTempBufSize { int32_t ubSize = 0, l1Size = 0, l0cSize = 0; };
struct MatmulConfigParams {
  int32_t mmConfigType;
  bool enableL1CacheUB;
  ScheduleType scheduleType;
  MatrixTraverse traverse;
  bool enVecND2NZ;
  MatmulConfigParams(int32_t type = 1, bool l1 = false, ScheduleType schedule = ScheduleType::INNER_PRODUCT, MatrixTraverse order = MatrixTraverse::NOSET, bool vec = false)
      : mmConfigType(type), enableL1CacheUB(l1), scheduleType(schedule), traverse(order), enVecND2NZ(vec) {}
};

inline int32_t parts(int32_t whole, int32_t part) { return (whole + part - 1) / part; }
inline int32_t round_to(int32_t n, int32_t to) { return (n + to - 1) / to * to; }
inline int32_t size_of(DataType t) {
  switch (t) {
    case DataType::DT_FLOAT: case DataType::DT_INT32: case DataType::DT_UINT32: return 4;
    case DataType::DT_INT8: case DataType::DT_UINT8: case DataType::DT_INT4: return 1;  // two of 4 bits, so that blocks of theirs have room
    default: return 2;
  }
}

class MatmulApiTilingBase {
 public:
  MatmulApiTilingBase() = default;
  explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC&) {}
  explicit MatmulApiTilingBase(const PlatformInfo&) {}
  virtual ~MatmulApiTilingBase() = default;

  int32_t SetAType(TPosition at, CubeFormat, DataType type, bool = false) {
    whole_a_ = at == TPosition::TSCM;
    element_ = size_of(type);
    nibbles_ = type == DataType::DT_INT4;
    return 0;
  }
  int32_t SetBType(TPosition at, CubeFormat, DataType, bool = false) { whole_b_ = at == TPosition::TSCM; return 0; }
  int32_t SetCType(TPosition, CubeFormat, DataType) { return 0; }
  int32_t SetBiasType(TPosition, CubeFormat, DataType) { return 0; }
  int32_t SetDequantType(DequantType) { return 0; }
  // -1: the one of SetOrgShape.
  virtual int32_t SetShape(int32_t m, int32_t n, int32_t k) { m_ = m; n_ = n; k_ = k; return m && n && k && std::min({m, n, k}) >= -1 ? 0 : -1; }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) { org_m_ = m; org_n_ = n; org_ka_ = ka; org_kb_ = kb; return valid(m, n, std::min(ka, kb)); }
  int32_t EnableBias(bool on = false) { bias_ = on; return 0; }
  // Two of four elements of the right operand are kept.
  int32_t SetSparse(bool on = false) { sparse_ = on; return 0; }
  int32_t SetBias(bool on = false) { return EnableBias(on); }
  int32_t SetFixSplit(int32_t m = -1, int32_t n = -1, int32_t k = -1) { fixed_m_ = m; fixed_n_ = n; fixed_k_ = k; return 0; }
  int32_t SetBufferSpace(int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1) { return 0; }
  int32_t SetTraverse(MatrixTraverse order) { order_ = order; return 0; }
  int32_t SetMadType(MatrixMadType) { return 0; }
  int32_t SetDoubleBuffer(bool, bool, bool, bool, bool = true, bool = true) { return 0; }
  void SetMatmulConfigParams(int32_t type = 1, bool l1 = false, ScheduleType schedule = ScheduleType::INNER_PRODUCT, MatrixTraverse order = MatrixTraverse::NOSET, bool vec = false) {
    SetMatmulConfigParams(MatmulConfigParams(type, l1, schedule, order, vec));
  }
  void SetMatmulConfigParams(const MatmulConfigParams& p) {
    schedule_ = p.scheduleType;
    if (p.traverse != MatrixTraverse::NOSET) order_ = p.traverse;
  }
  // Of several matrices: the axes of each operand, whose matrices are s x d, and the most that one call multiplies.
  int32_t SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) { return set_axes(a_axes_, b, s, n, g, d); }
  int32_t SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) { return set_axes(b_axes_, b, s, n, g, d); }
  int32_t SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) { return set_axes(c_axes_, b, s, n, g, d); }
  int32_t SetBatchInfoForNormal(int32_t batchA, int32_t batchB, int32_t m, int32_t n, int32_t k) {
    return set_axes(a_axes_, batchA, m, 1, 1, k) | set_axes(b_axes_, batchB, n, 1, 1, k) | set_axes(c_axes_, std::max(batchA, batchB), m, 1, 1, n);
  }
  int32_t SetBatchNum(int32_t batch) { batch_ = batch; return batch > 0 ? 0 : -1; }
  int32_t GetBaseM() const { return base_m_; }
  int32_t GetBaseN() const { return base_n_; }
  int32_t GetBaseK() const { return base_k_; }
  virtual int64_t GetTiling(AscendC::tiling::TCubeTiling& t) = 0;

 protected:
  struct Axes { int32_t b = 0, s = 0, n = 0, g = 0, d = 0; };
  static int32_t set_axes(Axes& to, int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    if (std::min({b, s, n, g, d}) <= 0) return -1;
    to = {b, s, n, g, d};
    return 0;
  }
  static int32_t valid(int32_t m, int32_t n, int32_t k) { return m > 0 && n > 0 && k > 0 ? 0 : -1; }
  int32_t whole_m() const { return m_ == -1 ? org_m_ : m_; }
  int32_t whole_n() const { return n_ == -1 ? org_n_ : n_; }
  int32_t whole_k() const { return k_ == -1 ? org_ka_ : k_; }
  int32_t base_of(int32_t single_m) const { return std::min(fixed_m_ > 0 ? round_to(fixed_m_, 16) : 128, round_to(single_m, 16)); }
  // NBuffer33 keeps 3 x 3 blocks of the left operand.
  bool keeps_left() const { return schedule_ == ScheduleType::N_BUFFER_33; }
  // Fills in everything for a part of single_m x single_n of the product.
  int64_t describe(AscendC::tiling::TCubeTiling& t, int32_t cores, int32_t single_m, int32_t single_n, int32_t single_k) {
    if (valid(single_m, single_n, single_k) != 0) return -1;
    constexpr int32_t kHalfL0 = attnemu::kL0aBytes / 2, kL0C = attnemu::kL0cBytes, kBiasColumns = 256;
    int32_t column = 32 / element_;
    base_m_ = base_of(single_m);
    base_n_ = std::min(fixed_n_ > 0 ? round_to(fixed_n_, 16) : base_m_ <= 128 ? 256 : 128, round_to(single_n, 16));
    if (base_m_ * base_n_ * 4 > kL0C || (bias_ && base_n_ > kBiasColumns)) return -1;
    int32_t step = sparse_ || nibbles_ ? 64 : std::max(16, column), most = kHalfL0 / (std::max(base_m_, base_n_) * element_) / step * step;
    base_k_ = std::min(fixed_k_ > 0 ? round_to(fixed_k_, step) : std::max(most, step), round_to(single_k, step));
    t = {};
    t.usedCoreNum = cores;
    t.M = org_m_ > 0 ? org_m_ : whole_m();
    t.N = org_n_ > 0 ? org_n_ : whole_n();
    t.Ka = org_ka_ > 0 ? org_ka_ : whole_k();
    t.Kb = org_kb_ > 0 ? org_kb_ : whole_k();
    t.singleCoreM = single_m;
    t.singleCoreN = single_n;
    t.singleCoreK = single_k;
    t.baseM = base_m_;
    t.baseN = base_n_;
    t.baseK = base_k_;
    t.depthA1 = t.depthB1 = t.stepM = t.stepN = t.stepKa = t.stepKb = t.dbL0C = 1;
    t.dbL0A = t.dbL0B = 2;
    t.isBias = bias_;
    t.iterateOrder = order_ == MatrixTraverse::FIRSTN;
    t.batchM = t.batchN = t.singleBatchM = t.singleBatchN = 1;
    describe_batches(t);
    if (!keeps_left()) return 0;
    t.stepM = parts(single_m, base_m_);
    t.stepKa = t.stepKb = parts(single_k, base_k_);
    t.depthA1 = t.stepM * t.stepKa;
    t.depthB1 = 2 * t.stepKb;
    return t.stepM <= 3 && t.stepKa <= 3 ? 0 : -1;
  }
  void describe_batches(AscendC::tiling::TCubeTiling& t) const {
    t.ALayoutInfoB = a_axes_.b; t.ALayoutInfoS = a_axes_.s; t.ALayoutInfoN = a_axes_.n; t.ALayoutInfoG = a_axes_.g; t.ALayoutInfoD = a_axes_.d;
    t.BLayoutInfoB = b_axes_.b; t.BLayoutInfoS = b_axes_.s; t.BLayoutInfoN = b_axes_.n; t.BLayoutInfoG = b_axes_.g; t.BLayoutInfoD = b_axes_.d;
    t.CLayoutInfoB = c_axes_.b; t.CLayoutInfoS1 = c_axes_.s; t.CLayoutInfoN = c_axes_.n; t.CLayoutInfoG = c_axes_.g; t.CLayoutInfoS2 = c_axes_.d;
    t.BatchNum = batch_;
  }

  Axes a_axes_, b_axes_, c_axes_;
  int32_t batch_ = 0, element_ = 2, m_ = -1, n_ = -1, k_ = -1, org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0;
  int32_t fixed_m_ = -1, fixed_n_ = -1, fixed_k_ = -1, base_m_ = 0, base_n_ = 0, base_k_ = 0;
  bool bias_ = false, sparse_ = false, nibbles_ = false;
  bool whole_a_ = false, whole_b_ = false;  // a kernel puts whole matrices into L1
  MatrixTraverse order_ = MatrixTraverse::NOSET;
  ScheduleType schedule_ = ScheduleType::INNER_PRODUCT;
};

// The whole product on one core.
class MatmulApiTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;
  int64_t GetTiling(AscendC::tiling::TCubeTiling& t) override { return describe(t, 1, whole_m(), whole_n(), whole_k()); }
};

// Several products of one size, which a core does on its own.
class BatchMatmulTiling : public MatmulApiTiling {
 public:
  using MatmulApiTiling::MatmulApiTiling;
  int32_t GetCoreNum(int32_t& dim, int32_t& m, int32_t& n, int32_t& batchM, int32_t& batchN) { dim = m = n = batchM = batchN = 1; return base_m_ ? 0 : -1; }
};

// Parts of even size on at most `dim` cores.
class MultiCoreMatmulTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;
  int32_t SetDim(int32_t dim) { dim_ = dim; return dim > 0 ? 0 : -1; }
  int32_t SetSingleShape(int32_t m = -1, int32_t n = -1, int32_t k = -1) { single_m_ = m; single_n_ = n; single_k_ = k; return 0; }
  int32_t SetSingleRange(int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1) { return 0; }
  int32_t SetAlignSplit(int32_t m, int32_t n, int32_t) { align_m_ = std::max(m, 1); align_n_ = std::max(n, 1); return 0; }
  int32_t GetSingleShape(int32_t& m, int32_t& n, int32_t& k) { m = found_m_; n = found_n_; k = found_k_; return found_m_ ? 0 : -1; }
  // Parts along k, too, which the kernel adds atomically; only if they come out even, and never with a bias.
  void EnableMultiCoreSplitK(bool on) { splits_k_ = on; }
  void SetSplitK(bool on) { EnableMultiCoreSplitK(on); }
  int32_t GetCoreNum(int32_t& dim, int32_t& m, int32_t& n) {
    if (!found_m_) return -1;
    m = parts(whole_m(), found_m_);
    n = parts(whole_n(), found_n_);
    dim = m * n * (splits_k_ ? parts(whole_k(), found_k_) : 1);
    return 0;
  }
  int64_t GetTiling(AscendC::tiling::TCubeTiling& t) override {
    if (valid(whole_m(), whole_n(), whole_k()) != 0) return -1;
    Cut any, even;
    for (int32_t l = 1; l <= (splits_k_ && !bias_ ? dim_ : 1); ++l) {
      int32_t k = single_k_ > 0 ? single_k_ : whole_k() / l;
      if (l > 1 && (k * l != whole_k() || k % std::max(16, 32 / element_) != 0)) continue;
      // of cuts that cost the same, the one with more parts of M: vendor samples are written for it
      for (int32_t j = 1; j * l <= dim_; ++j)
        for (int32_t i = dim_ / (j * l); i >= 1; --i) consider(i, j, k, l, any, even);
    }
    if (any.cost == INT64_MAX) return -1;
    // kernels that know no tails are common: equal parts may cost half as much again
    const Cut& cut = even.cost / 3 <= any.cost / 2 ? even : any;
    found_m_ = cut.m;
    found_n_ = cut.n;
    found_k_ = cut.k;
    int32_t dim, m, n;
    GetCoreNum(dim, m, n);
    return describe(t, dim, found_m_, found_n_, found_k_);
  }

 private:
  struct Cut {
    int64_t cost = INT64_MAX;
    int32_t m = 0, n = 0, k = 0;
  };
  // The least work for the busiest core, then the least to load, then the fewest parts of k.
  void consider(int32_t i, int32_t j, int32_t k, int32_t l, Cut& any, Cut& even) const {
    int32_t m = single_m_ > 0 ? single_m_ : std::min(whole_m(), round_to(parts(whole_m(), i), std::max(align_m_, 16)));
    int32_t n = single_n_ > 0 ? single_n_ : std::min(whole_n(), round_to(parts(whole_n(), j), std::max(align_n_, 16)));
    if (parts(whole_m(), m) * parts(whole_n(), n) * l > dim_) return;
    if ((whole_a_ && m < whole_m()) || (whole_b_ && n < whole_n())) return;
    if (keeps_left() && parts(m, base_of(m)) > 3) return;
    Cut cut{static_cast<int64_t>(m) * n * 65536 / l + m + n, m, n, k};
    if (cut.cost < any.cost) any = cut;
    if (cut.cost < even.cost && whole_m() % m == 0 && whole_n() % n == 0) even = cut;
  }

  int32_t dim_ = 1, single_m_ = -1, single_n_ = -1, single_k_ = -1, align_m_ = 1, align_n_ = 1, found_m_ = 0, found_n_ = 0, found_k_ = 0;
  bool splits_k_ = false;
};

}  // namespace matmul_tiling
