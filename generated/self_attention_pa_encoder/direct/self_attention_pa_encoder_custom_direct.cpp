// The kernel function for direct launches. They have no tiling key, nor the header with which the
// build of an operator package gives access to tiling data: both are read from the memory that the
// launch passes.
#include "kernel_operator.h"
#include "../op_kernel/self_attention_pa_encoder_tiling.h"

#undef TILING_KEY_VAR
#define TILING_KEY_VAR (tilingData.key)

#ifndef GET_TILING_DATA_WITH_STRUCT
// Word by word, as no structure can be assigned from global memory.
__aicore__ inline void CopyTiling(SelfAttentionPaEncoderTiling &to, GM_ADDR from)
{
    using Word __attribute__((may_alias)) = uint64_t;
    static_assert(sizeof(to) % sizeof(Word) == 0, "tiling data are whole words");
    for (size_t i = 0; i < sizeof(to) / sizeof(Word); ++i) {
        reinterpret_cast<Word *>(&to)[i] = reinterpret_cast<__gm__ Word *>(from)[i];
    }
}
#define GET_TILING_DATA_WITH_STRUCT(type, name, address) \
    type name;                                           \
    CopyTiling(name, address)
#endif

#include "../op_kernel/self_attention_pa_encoder_custom.cpp"
