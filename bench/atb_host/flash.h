// Launches of the operation unpad_flash_attention.
#pragma once
#include "atbops/params/params.h"
#include "flash_attention_tiling.h"
#include "host.h"

using Parameters = AtbOps::OpParam::UnpadFlashAttention;

inline Plan planned(const Parameters& parameters, std::vector<Mki::Tensor> inputs) {
  return planned(AtbOps::FlashAttentionTiling, parameters, std::move(inputs));
}
