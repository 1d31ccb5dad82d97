// Runs ATB's kernel of decoding over a paged cache: CORES DTYPE HEADS KV_HEADS SIZE SCALE BLOCK, tensors from files in the folder.
#include "atbops/params/params.h"
#include "paged_attention_tiling.h"
#include "host.h"
#include "aclrtlaunch_paged_attention_mask.h"

int main(int count, char** words) {
  require(count == 8, "arguments");
  start(words[1]);
  const Mki::TensorDType dtype = dtype_of(words[2]);
  const int64_t heads = std::atoi(words[3]), kv_heads = std::atoi(words[4]), size = std::atoi(words[5]), block = std::atoi(words[7]);
  AtbOps::OpParam::PagedAttention p;
  p.type = AtbOps::OpParam::PagedAttention::PAGED_ATTENTION_MASK_ND;
  p.headSize = heads;
  p.kvHead = kv_heads;
  p.tor = std::strtof(words[6], nullptr);
  p.maskType = AtbOps::OpParam::PagedAttention::MASK_TYPE_NONE;
  p.kvSeqLen = numbers<int32_t>("kv_seqlen");
  const Mki::Tensor query = tensor("q", dtype, {heads, size});
  const Mki::Tensor key = tensor("k", dtype, {block, kv_heads, size}), value = tensor("v", dtype, {block, kv_heads, size});
  std::vector<Mki::Tensor> in{query, key, value, table(p.kvSeqLen.size())};
  in.resize(12);
  Plan plan = planned(AtbOps::PagedAttentionTiling, p, in, {query});
  const size_t bytes = p.kvSeqLen.size() * heads * size * 2;
  void* out = device(bytes);
  void* identity = copied(p.identityM);
  const auto& s = plan.scratch;
  ACLRT_LAUNCH_KERNEL(paged_attention_mask)
  (plan.info.blocks, plan.stream, plan.sync, in[0].data, in[1].data, in[2].data, in[3].data, in[4].data, in[5].data, in[6].data, in[7].data,
   in[8].data, in[9].data, in[10].data, in[11].data, identity, out, s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], plan.tiling);
  return finished(plan, out, bytes);
}
