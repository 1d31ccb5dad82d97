// The host's side of the Matmul library: cuts a product into parts for cores and into blocks for their memories. Any cut
// that fits is right; ours need not be the one that the official functions find.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>  // host programs lean on the official header for it

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
enum class ScheduleType : int32_t { INNER_PRODUCT = 0, OUTER_PRODUCT = 1 };

struct PlatformInfo {
  platform_ascendc::SocVersion socVersion = platform_ascendc::SocVersion::ASCEND910B;
  uint64_t l1Size = 0, l0CSize = 0, ubSize = 0, l0ASize = 0, l0BSize = 0;
};
struct SysTilingTempBufSize { int32_t ubSize = 0, l1Size = 0, l0cSize = 0; };
struct MatmulConfigParams {
  MatmulConfigParams(int32_t = 1, bool = false, ScheduleType = ScheduleType::INNER_PRODUCT, MatrixTraverse = MatrixTraverse::NOSET, bool = false) {}
};

inline int32_t round_to(int32_t n, int32_t to) { return (n + to - 1) / to * to; }
inline int32_t size_of(DataType t) {
  switch (t) {
    case DataType::DT_FLOAT: case DataType::DT_INT32: case DataType::DT_UINT32: return 4;
    case DataType::DT_INT8: case DataType::DT_UINT8: case DataType::DT_INT4: return 1;
    default: return 2;
  }
}

class MatmulApiTilingBase {
 public:
  MatmulApiTilingBase() = default;
  explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC&) {}
  explicit MatmulApiTilingBase(const PlatformInfo&) {}
  virtual ~MatmulApiTilingBase() = default;

  int32_t SetAType(TPosition, CubeFormat, DataType type, bool = false) { element_ = size_of(type); return 0; }
  int32_t SetBType(TPosition, CubeFormat, DataType, bool = false) { return 0; }
  int32_t SetCType(TPosition, CubeFormat, DataType) { return 0; }
  int32_t SetBiasType(TPosition, CubeFormat, DataType) { return 0; }
  int32_t SetDequantType(DequantType) { return 0; }
  virtual int32_t SetShape(int32_t m, int32_t n, int32_t k) { m_ = m; n_ = n; k_ = k; return valid(m, n, k); }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) { org_m_ = m; org_n_ = n; org_ka_ = ka; org_kb_ = kb; return valid(m, n, std::min(ka, kb)); }
  int32_t EnableBias(bool on = false) { bias_ = on; return 0; }
  int32_t SetBias(bool on = false) { return EnableBias(on); }
  int32_t SetFixSplit(int32_t m = -1, int32_t n = -1, int32_t k = -1) { fixed_m_ = m; fixed_n_ = n; fixed_k_ = k; return 0; }
  int32_t SetBufferSpace(int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1) { return 0; }
  int32_t SetTraverse(MatrixTraverse order) { order_ = order; return 0; }
  int32_t SetMadType(MatrixMadType) { return 0; }
  int32_t SetDoubleBuffer(bool, bool, bool, bool, bool = true, bool = true) { return 0; }
  int32_t SetMatmulConfigParams(int32_t = 1, bool = false, ScheduleType = ScheduleType::INNER_PRODUCT, MatrixTraverse = MatrixTraverse::NOSET, bool = false) { return 0; }
  int32_t SetMatmulConfigParams(const MatmulConfigParams&) { return 0; }
  int32_t GetBaseM() const { return base_m_; }
  int32_t GetBaseN() const { return base_n_; }
  int32_t GetBaseK() const { return base_k_; }
  virtual int64_t GetTiling(AscendC::tiling::TCubeTiling& t) = 0;

 protected:
  static int32_t valid(int32_t m, int32_t n, int32_t k) { return m > 0 && n > 0 && k > 0 ? 0 : -1; }
  // Fills in everything for a part of single_m x single_n of the product.
  int64_t describe(AscendC::tiling::TCubeTiling& t, int32_t cores, int32_t single_m, int32_t single_n, int32_t single_k) {
    if (valid(single_m, single_n, single_k) != 0) return -1;
    constexpr int32_t kHalfL0 = 32 << 10, kL0C = 128 << 10, kBiasColumns = 256;
    int32_t column = 32 / element_, whole_m = round_to(single_m, 16), whole_n = round_to(single_n, 16);
    base_m_ = std::min(fixed_m_ > 0 ? round_to(fixed_m_, 16) : 128, whole_m);
    base_n_ = std::min(fixed_n_ > 0 ? round_to(fixed_n_, 16) : base_m_ <= 128 ? 256 : 128, whole_n);
    if (base_m_ * base_n_ * 4 > kL0C || (bias_ && base_n_ > kBiasColumns)) return -1;
    int32_t step = std::max(16, column), most = kHalfL0 / (std::max(base_m_, base_n_) * element_) / step * step;
    base_k_ = std::min(fixed_k_ > 0 ? round_to(fixed_k_, step) : std::max(most, step), round_to(single_k, step));
    t = {};
    t.usedCoreNum = cores;
    t.M = org_m_ > 0 ? org_m_ : m_;
    t.N = org_n_ > 0 ? org_n_ : n_;
    t.Ka = org_ka_ > 0 ? org_ka_ : k_;
    t.Kb = org_kb_ > 0 ? org_kb_ : k_;
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
    return 0;
  }

  int32_t element_ = 2, m_ = 0, n_ = 0, k_ = 0, org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0;
  int32_t fixed_m_ = -1, fixed_n_ = -1, fixed_k_ = -1, base_m_ = 0, base_n_ = 0, base_k_ = 0;
  bool bias_ = false;
  MatrixTraverse order_ = MatrixTraverse::NOSET;
};

// The whole product on one core.
class MatmulApiTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;
  int64_t GetTiling(AscendC::tiling::TCubeTiling& t) override { return describe(t, 1, m_, n_, k_); }
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
  int32_t GetCoreNum(int32_t& dim, int32_t& m, int32_t& n) {
    if (!found_m_) return -1;
    m = parts(m_, found_m_);
    n = parts(n_, found_n_);
    dim = m * n;
    return 0;
  }
  int64_t GetTiling(AscendC::tiling::TCubeTiling& t) override {
    if (valid(m_, n_, k_) != 0) return -1;
    int64_t least = INT64_MAX;
    for (int32_t i = 1; i <= dim_; ++i)
      for (int32_t j = 1; i * j <= dim_; ++j) {
        int32_t m = single_m_ > 0 ? single_m_ : std::min(m_, round_to(parts(m_, i), std::max(align_m_, 16)));
        int32_t n = single_n_ > 0 ? single_n_ : std::min(n_, round_to(parts(n_, j), std::max(align_n_, 16)));
        if (parts(m_, m) * parts(n_, n) > dim_) continue;
        // the least work for the busiest core, then the least to load
        int64_t cost = static_cast<int64_t>(m) * n * 65536 + m + n;
        if (cost >= least) continue;
        least = cost;
        found_m_ = m;
        found_n_ = n;
      }
    if (least == INT64_MAX) return -1;
    found_k_ = single_k_ > 0 ? single_k_ : k_;
    return describe(t, parts(m_, found_m_) * parts(n_, found_n_), found_m_, found_n_, found_k_);
  }

 private:
  static int32_t parts(int32_t whole, int32_t part) { return (whole + part - 1) / part; }
  int32_t dim_ = 1, single_m_ = -1, single_n_ = -1, single_k_ = -1, align_m_ = 1, align_n_ = 1, found_m_ = 0, found_n_ = 0, found_k_ = 0;
};

}  // namespace matmul_tiling
