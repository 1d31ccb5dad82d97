// What runs ATB's kernels of prompts: CORES DTYPE HEADS KV_HEADS SIZE SCALE PRECISE TRIANGLE, tensors from files in the folder.
#pragma once
#include "flash.h"

// A mask of MASK.bin is square. PRECISE: scores in float, where halves are given; TRIANGLE: the mask is one tile of a causal one.
template <class Launch>
int run_prompt(int count, char** words, Launch launch) {
  require(count == 9, "arguments");
  start(words[1]);
  const Mki::TensorDType dtype = dtype_of(words[2]);
  const int64_t heads = std::atoi(words[3]), kv_heads = std::atoi(words[4]), size = std::atoi(words[5]);
  Parameters p;
  p.type = std::atoi(words[7]) ? Parameters::UNPAD_FLASH_ATTENTION_FP32_ND : Parameters::UNPAD_FLASH_ATTENTION_ENCODER_ND;
  p.headSize = heads;
  p.kvHead = kv_heads;
  p.headDimV = size;
  p.tor = std::strtof(words[6], nullptr);
  p.isTriuMask = std::atoi(words[8]);
  p.qSeqLen = p.kvSeqLen = numbers<int32_t>("seqlen");
  p.outDataType = dtype;
  Mki::Tensor mask;
  p.maskType = Parameters::MASK_TYPE_NONE;
  if (std::ifstream("mask.bin").good()) {
    p.maskType = Parameters::MASK_TYPE_NORM;
    const int64_t width = std::llround(std::sqrt(numbers<uint16_t>("mask").size()));
    mask = tensor("mask", dtype, {width});
  }
  const Mki::Tensor query = tensor("q", dtype, {heads, size}), key = tensor("k", dtype, {kv_heads, size}), value = tensor("v", dtype, {kv_heads, size});
  std::vector<Mki::Tensor> inputs{query, key, value, {}, mask};
  inputs.resize(12);
  Plan plan = planned(p, inputs);
  const size_t bytes = query.desc.dims[0] * heads * size * 2;
  void* out = device(bytes);
  launch(plan, inputs, out);
  return finished(plan, out, bytes);
}
