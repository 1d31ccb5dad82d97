// Runs ATB's kernel of prompts behind a cached prefix: CORES DTYPE HEADS KV_HEADS SIZE SCALE, tensors from files in the folder.
#include "flash.h"
#include "aclrtlaunch_unpad_flashattention_bf16_prefix_cache.h"

// Blocks have 128 rows. With MASK.bin, one tile of a causal mask, it is added; without, the kernel knows what is causal.
int main(int count, char** words) {
  require(count == 7, "arguments");
  start(words[1]);
  const Mki::TensorDType dtype = dtype_of(words[2]);
  const int64_t heads = std::atoi(words[3]), kv_heads = std::atoi(words[4]), size = std::atoi(words[5]);
  Parameters p;
  p.type = Parameters::UNPAD_FLASH_ATTENTION_ENCODER_PREFIX_CACHE_ND;
  p.headSize = heads;
  p.kvHead = kv_heads;
  p.headDimV = size;
  p.tor = std::strtof(words[6], nullptr);
  p.isTriuMask = 1;
  p.qSeqLen = numbers<int32_t>("seqlen");
  p.kvSeqLen = numbers<int32_t>("kv_seqlen");
  p.maskType = Parameters::MASK_TYPE_CAUSAL_MASK;
  Mki::Tensor mask;
  if (std::ifstream("mask.bin").good()) {
    p.maskType = Parameters::MASK_TYPE_NORM;
    mask = tensor("mask", dtype, {128});
  }
  const Mki::Tensor query = tensor("q", dtype, {heads, size});
  const Mki::Tensor key = tensor("k", dtype, {128, kv_heads, size}), value = tensor("v", dtype, {128, kv_heads, size});
  std::vector<Mki::Tensor> in{query, key, value, table(p.qSeqLen.size()), mask, {}};
  Plan plan = planned(p, in);
  const size_t bytes = query.desc.dims[0] * heads * size * 2;
  void* out = device(bytes);
  const auto& s = plan.scratch;
  ACLRT_LAUNCH_KERNEL(unpad_flashattention_bf16_prefix_cache)
  (plan.info.blocks, plan.stream, plan.sync, in[0].data, in[1].data, in[2].data, in[3].data, in[4].data, in[5].data, out, s[0], s[1], s[2], s[3],
   plan.tiling);
  return finished(plan, out, bytes);
}
