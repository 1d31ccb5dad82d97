// Runs CANN's incre_flash_attention on cube and vector cores: DTYPE and the arguments of ifa.h.
// The halves of its kernel are read without it: what plans products on a host are other headers than a CANN's for kernels.
#if !defined(__DAV_C220_CUBE__) && !defined(__DAV_C220_VEC__)
#include <numeric>

#include "ifa.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/tiling_api.h"
#include "aclrtlaunch_cann_ifa_cube.h"

using matmul_tiling::CubeFormat;
using matmul_tiling::DataType;
using matmul_tiling::MatmulApiTiling;
constexpr auto kGlobal = matmul_tiling::TPosition::GM;

// Blocks of a product that lie in a page, or whole pages: a core copies a block at once.
void fit_pages(const Shape& s, IncreFlashAttentionTilingData& t) {
  constexpr uint32_t kRightMemory = 64 * 1024;
  uint32_t k = 128;
  const uint32_t columns = t.bmm2TilingData.baseN * sizeof(float);
  if (k < s.block) {
    while (s.block % k || k * columns > kRightMemory) k /= 2;
  } else {
    k = std::gcd(k, s.block);
    while (k * columns > kRightMemory) k /= 2;
  }
  t.bmm2TilingData.baseK = k;
}
uint32_t columns_of_scores(const Shape& s, uint32_t keys) {
  uint32_t n = std::min(aligned(keys, 16), small_keys() ? 512u : 256u);
  if (!s.block) return n;
  if (n > s.block) return std::gcd(n, s.block);
  while (s.block % n) n /= 2;
  return n;
}
// Scores of a group of queries with the keys that a core works on at once, and their product with the values.
void plan_products(const Shape& s, DataType type, IncreFlashAttentionTilingData& t) {
  constexpr uint32_t kResultMemory = 128 * 1024;
  const auto& platform = *platform_ascendc::PlatformAscendCManager::GetInstance();
  const uint32_t keys = t.increFlashAttentionSingleCoreParams.singleProcessSInnerSize, rows = s.group() * query_parts();
  const uint32_t pitch = s.rows_last ? s.size : s.size * s.kv_heads;
  const uint32_t n = columns_of_scores(s, keys), most = aligned(kResultMemory / sizeof(float) / n - 16, 16);
  MatmulApiTiling scores(platform), values(platform);
  for (MatmulApiTiling* each : {&scores, &values}) {
    each->SetAType(kGlobal, CubeFormat::ND, type, false);
    each->SetBType(kGlobal, CubeFormat::ND, type, each == &scores);
    const bool aligned_rows = each == &values || small_keys();
    each->SetCType(kGlobal, aligned_rows ? CubeFormat::ND_ALIGN : CubeFormat::ND, small_keys() ? DataType::DT_INT32 : DataType::DT_FLOAT);
    each->SetBias(false);
  }
  scores.SetShape(rows, keys, s.size);
  scores.SetOrgShape(rows, s.capacity, small_keys() ? aligned(s.size, 32) : s.size, pitch);
  values.SetShape(rows, s.size, keys);
  values.SetOrgShape(rows, pitch, aligned(keys, 32), s.capacity);
  require(scores.SetFixSplit(std::min(aligned(rows, 16), most), n) != -1 && values.SetFixSplit(std::min(aligned(rows, 16), 128u)) != -1, "blocks of products");
  scores.SetTraverse(matmul_tiling::MatrixTraverse::FIRSTN);
  require(scores.GetTiling(t.bmm1TilingData) != -1 && values.GetTiling(t.bmm2TilingData) != -1, "tiling of products");
  if (s.block) fit_pages(s, t);
}

int main(int count, char** words) {
  const DataType type = small_keys() ? DataType::DT_INT8 : std::string(words[1]) == "bf16" ? DataType::DT_BF16 : DataType::DT_FLOAT16;
  const Shape shape(count - 1, words + 1);
  aclrtStream stream = started();
  const Tensors on(shape);
  IncreFlashAttentionTilingDataV2 both{};
  IncreFlashAttentionTilingData& tiling = both.tilingBase;
  tiling = planned(shape);
  plan_products(shape, type, tiling);
  auto& sizes = tiling.increFlashAttentionSingleCoreTensorSize;
  const uint32_t rows = shape.group() * query_parts();
  sizes.mmResUbSize = rows * aligned(tiling.increFlashAttentionSingleCoreParams.singleProcessSInnerSize, 32);
  sizes.bmm2ResUbSize = rows * aligned(shape.size, 32);
  // scores in 4 bytes and probabilities as keys are, products of a core and what they are merged into in 4 bytes, and a query of int8;
  // for pages two messages
  const size_t of_scores = small_keys() ? 4 + 1 : 4 + 2, of_results = small_keys() ? 4 + 4 + 1 : 4 + 4;
  size_t bytes = shape.vectors * (sizes.mmResUbSize * of_scores + sizes.bmm2ResUbSize * of_results + (shape.block ? 2 * 64 : 0));
  if (shape.parts) bytes += (size_t{tiling.splitKVParams.accumOutSize} + tiling.splitKVParams.logSumExpSize) * sizeof(float);
  constexpr size_t kSystem = 16 << 20;
  uint8_t* workspace = static_cast<uint8_t*>(device(kSystem + bytes));
  ACLRT_LAUNCH_KERNEL(cann_ifa_cube)
  (blocks_of(shape, tiling), stream, on.query, on.key, on.value, on.pse, on.mask, on.lengths, on.table, on.padding, on.antiquant_scale,
   on.antiquant_offset, on.quant_scale, on.quant_offset, on.out, workspace, workspace + kSystem,
   copied(std::vector<IncreFlashAttentionTilingDataV2>{both}));
  return finished(stream, on.out, on.bytes);
}
#endif
