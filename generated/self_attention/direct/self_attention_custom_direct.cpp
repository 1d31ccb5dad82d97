// The kernel function for direct launches, which have no tiling key: it is read from the tiling data instead.
#include "../op_kernel/self_attention_tiling.h"

#undef TILING_KEY_VAR
#define TILING_KEY_VAR (reinterpret_cast<__gm__ SelfAttentionTiling *>(tiling)->key)

#include "../op_kernel/self_attention_custom.cpp"
