// Runs ATB's kernel of absorbed latent decoding: CORES DTYPE HEADS SCALE BLOCK, tensors from files in the folder.
#include "atbops/params/params.h"
#include "mla_tiling.h"
#include "host.h"
#include "aclrtlaunch_mla.h"

// Rows of the cache: 512 latent channels in K.bin, 64 rotary ones in K_ROPE.bin; queries alike.
int main(int count, char** words) {
  require(count == 6, "arguments");
  start(words[1]);
  const Mki::TensorDType dtype = dtype_of(words[2]);
  const int64_t heads = std::atoi(words[3]), block = std::atoi(words[5]);
  AtbOps::OpParam::MLA p;
  p.type = AtbOps::OpParam::MLA::SPLIT_CACHE;
  p.headSize = heads;
  p.kvHead = 1;
  p.tor = std::strtof(words[4], nullptr);
  p.kvSeqLen = numbers<int32_t>("kv_seqlen");
  const Mki::Tensor query = tensor("q", dtype, {heads, 512}), rope = tensor("q_rope", dtype, {heads, 64});
  const Mki::Tensor key = tensor("k", dtype, {block, 1, 512}), key_rope = tensor("k_rope", dtype, {block, 1, 64});
  std::vector<Mki::Tensor> in{query, rope, key, key_rope, table(p.kvSeqLen.size()), {}, {}, {}};
  Plan plan = planned(AtbOps::MLATiling, p, in, {query, {}});
  const size_t bytes = p.kvSeqLen.size() * heads * 512 * 2;
  void* out = device(bytes);
  const auto& s = plan.scratch;
  ACLRT_LAUNCH_KERNEL(mla)
  (plan.info.blocks, plan.stream, plan.sync, in[0].data, in[1].data, in[2].data, in[3].data, in[4].data, in[5].data, in[6].data, in[7].data, out,
   nullptr, s[0], s[1], s[2], s[3], s[4], s[5], s[6], plan.tiling);
  return finished(plan, out, bytes);
}
