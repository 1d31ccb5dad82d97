// The kernel function for direct launches, which have no tiling key: it is read from the tiling data instead.
#include "../op_kernel/self_attention_prefix_encoder_tiling.h"

#undef TILING_KEY_VAR
#define TILING_KEY_VAR (reinterpret_cast<__gm__ SelfAttentionPrefixEncoderTiling *>(tiling)->key)

#include "../op_kernel/self_attention_prefix_encoder_custom.cpp"
