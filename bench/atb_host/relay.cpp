// Runs ATB's kernel of relay attention: CORES DTYPE BATCH GROUPS HEADS KV_HEADS SIZE SCALE, tensors from files in the folder.
#include "flash.h"
#include "aclrtlaunch_relay_attention_decoder_mix.h"

namespace {
std::vector<Mki::Tensor> listed(const char* name, int count, Mki::TensorDType dtype, int64_t channels) {
  std::vector<Mki::Tensor> made;
  for (int i = 0; i < count; ++i) made.push_back(tensor(name + std::to_string(i), dtype, {channels}));
  return made;
}
}  // namespace

int main(int count, char** words) {
  require(count == 9, "arguments");
  start(words[1]);
  const Mki::TensorDType dtype = dtype_of(words[2]);
  const int batch = std::atoi(words[3]), groups = std::atoi(words[4]);
  const int64_t heads = std::atoi(words[5]), kv_heads = std::atoi(words[6]), size = std::atoi(words[7]);
  Parameters p;
  p.type = Parameters::RELAY_ATTENTION_DECODER_ND;
  p.headSize = heads;
  p.kvHead = kv_heads;
  p.tor = std::strtof(words[8], nullptr);
  p.maskType = Parameters::MASK_TYPE_NONE;
  p.qSeqLen.assign(batch, 1);
  p.kvSeqLen = numbers<int32_t>("kv_seqlen");
  p.kvShareMap = numbers<int32_t>("share_map");
  p.kvShareLen = numbers<int32_t>("share_len");
  p.kTensorList = listed("k", batch, dtype, kv_heads * size);
  p.vTensorList = listed("v", batch, dtype, kv_heads * size);
  p.kShareTensorList = listed("ks", groups, dtype, kv_heads * size);
  p.vShareTensorList = listed("vs", groups, dtype, kv_heads * size);
  const Mki::Tensor query = tensor("q", dtype, {heads, size});
  Plan plan = planned(p, {query, {}});
  const size_t bytes = batch * heads * size * 2;
  void* out = device(bytes);
  const auto& s = plan.scratch;
  ACLRT_LAUNCH_KERNEL(relay_attention_decoder_mix)
  (plan.info.blocks, plan.stream, plan.sync, query.data, nullptr, out, s[0], s[1], s[2], s[3], s[4], plan.tiling);
  return finished(plan, out, bytes);
}
