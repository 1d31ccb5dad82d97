// Runs ATB's kernel of decoding over a cache: CORES DTYPE HEADS KV_HEADS SIZE SCALE, tensors from files in the folder.
#include "flash.h"
#include "aclrtlaunch_unpad_flashattention_decoder.h"

// The cache holds one layer: K.bin and V.bin are [rows, capacity, KV_HEADS * SIZE].
int main(int count, char** words) {
  require(count == 7, "arguments");
  start(words[1]);
  const Mki::TensorDType dtype = dtype_of(words[2]);
  const int64_t heads = std::atoi(words[3]), kv_heads = std::atoi(words[4]), size = std::atoi(words[5]);
  Parameters p;
  p.type = Parameters::UNPAD_FLASH_ATTENTION_DECODER_ND;
  p.headSize = heads;
  p.kvHead = kv_heads;
  p.tor = std::strtof(words[6], nullptr);
  p.maskType = Parameters::MASK_TYPE_NONE;
  p.kvSeqLen = numbers<int32_t>("kv_seqlen");
  p.qSeqLen.assign(p.kvSeqLen.size(), 1);
  const int64_t rows = p.kvSeqLen.size(), capacity = static_cast<int64_t>(numbers<uint16_t>("k").size()) / (rows * kv_heads * size);
  const Mki::Tensor query = tensor("q", dtype, {heads * size});
  const Mki::Tensor key = tensor("k", dtype, {rows, capacity, kv_heads * size}), value = tensor("v", dtype, {rows, capacity, kv_heads * size});
  std::vector<Mki::Tensor> in{query, key, value, tensor<int32_t>("layer", Mki::TENSOR_DTYPE_INT32, {})};
  in.resize(12);
  Plan plan = planned(p, in);
  const size_t bytes = rows * heads * size * 2;
  void* out = device(bytes);
  const auto& s = plan.scratch;
  ACLRT_LAUNCH_KERNEL(unpad_flashattention_decoder)
  (plan.info.blocks, plan.stream, plan.sync, in[0].data, in[1].data, in[2].data, in[3].data, in[4].data, in[5].data, in[6].data, in[7].data,
   in[8].data, in[9].data, in[10].data, in[11].data, out, s[0], s[1], s[2], s[3], plan.tiling);
  return finished(plan, out, bytes);
}
