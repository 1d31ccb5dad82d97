// Runs CANN's flash_attention_score over B rows of S queries and keys: DTYPE AIV B N KVN D S SCALE, tensors from files in the folder.
// A mask is one tile of 2048 x 2048 that hides the keys behind each query.
// The halves of its kernel are read without this host: what plans products on a host are other headers than a CANN's for kernels.
#if !defined(__DAV_C220_CUBE__) && !defined(__DAV_C220_VEC__)
#include <algorithm>

#include "../host_files.h"
#include "fas_tiling.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/tiling_api.h"
#include "aclrtlaunch_cann_fas.h"

using matmul_tiling::CubeFormat;
using matmul_tiling::DataType;
using matmul_tiling::MatmulApiTiling;

// The largest blocks that the kernel's buffers hold, which need not be the operator's choice.
constexpr int64_t kQueries = 128, kKeys = 128, kMostAtOnce = 8;
constexpr uint8_t kCausal = 3, kLeftUpCausal = 1;  // of rows of keys that are visited, and of the mask

int main(int count, char** words) {
  require(count == 9, "arguments");
  const DataType type = std::string(words[1]) == "bf16" ? DataType::DT_BF16 : DataType::DT_FLOAT16;
  const int64_t vectors = std::atoi(words[2]), batch = std::atoi(words[3]), heads = std::atoi(words[4]), kv_heads = std::atoi(words[5]);
  const int64_t size = std::atoi(words[6]), rows = std::atoi(words[7]);
  const bool masked = std::ifstream("mask.bin").good();
  FlashAttentionScoreGeneralTilingData t{};
  auto& in = t.inputParams;
  in.bSize = batch;
  in.n2Size = kv_heads;
  in.gSize = heads / kv_heads;
  in.s1Size = in.s2Size = rows;
  in.dSize = size;
  in.keepProb = 1;
  in.scaleValue = std::strtof(words[8], nullptr);
  in.preTokens = rows;
  if (masked) {
    in.attenMaskS2Size = 2048;
    in.attenMaskShapeType = 2;
    in.attenMaskCompressMode = kLeftUpCausal;
    in.sparseType = kCausal;
  }
  auto& one = t.coreParams;
  one.s1BaseSize = kQueries;
  one.s2BaseSize = kKeys;
  one.nRatio = static_cast<int32_t>(std::min((rows + kKeys - 1) / kKeys, kMostAtOnce));
  one.s1OuterSize = (rows + kQueries - 1) / kQueries;
  auto& cores = t.multiCoreParams;
  cores.totalSize = batch * heads * one.s1OuterSize;
  cores.splitFactorSize = (cores.totalSize + vectors - 1) / vectors;
  cores.coreNum = static_cast<int32_t>((cores.totalSize + cores.splitFactorSize - 1) / cores.splitFactorSize);
  for (int64_t i = 0; i < 50; ++i) cores.sparseStartIdx[i] = std::min(cores.totalSize, i * cores.splitFactorSize);

  const auto& platform = *platform_ascendc::PlatformAscendCManager::GetInstance();
  const auto global = matmul_tiling::TPosition::GM;
  const int64_t keys = kKeys * one.nRatio, pitch = kv_heads * size;
  MatmulApiTiling scores(platform), values(platform);
  for (MatmulApiTiling* each : {&scores, &values}) {
    each->SetAType(global, CubeFormat::ND, type, false);
    each->SetBType(global, CubeFormat::ND, type, each == &scores);
    each->SetCType(global, CubeFormat::ND, DataType::DT_FLOAT);
    each->SetBias(false);
  }
  scores.SetShape(kQueries, keys, size);
  scores.SetOrgShape(kQueries, rows, heads * size, pitch);
  values.SetShape(kQueries, size, keys);
  values.SetOrgShape(kQueries, pitch, keys, rows);
  require(scores.SetFixSplit(kQueries, kKeys) != -1 && values.SetFixSplit(kQueries, std::min<int64_t>(size, kKeys)) != -1, "blocks of products");
  require(scores.GetTiling(t.bmm1TilingData) != -1 && values.GetTiling(t.bmm2TilingData) != -1, "tiling of products");

  aclrtStream stream = nullptr;
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtCreateStream(&stream);
  const size_t bytes = batch * rows * heads * size * 2, statistics = batch * heads * rows * 8 * sizeof(float);
  // scores of two blocks, whose probabilities take their place, and two results each of a product and of what they are merged into
  const size_t of_core = 2 * kQueries * keys * sizeof(float) + 4 * kQueries * ((size + 15) / 16 * 16) * sizeof(float);
  constexpr size_t kSystem = 16 << 20;
  void* out = device(bytes);
  uint8_t* workspace = static_cast<uint8_t*>(device(kSystem + vectors * of_core));
  ACLRT_LAUNCH_KERNEL(cann_fas)
  ((cores.coreNum + 1) / 2, stream, copied(numbers<uint16_t>("q")), copied(numbers<uint16_t>("k")), copied(numbers<uint16_t>("v")),
   masked ? copied(numbers<uint8_t>("mask")) : nullptr, device(statistics), device(statistics), out, workspace, workspace + kSystem,
   copied(std::vector<FlashAttentionScoreGeneralTilingData>{t}));
  return finished(stream, out, bytes);
}
#endif
