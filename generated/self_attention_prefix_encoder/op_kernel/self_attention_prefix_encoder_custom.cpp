/*
 * self_attention_prefix_encoder_custom: the kernel function of self_attention_prefix_encoder.
 *
 * Contract: ATB SelfAttentionOperation
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Tensors in the contract's order, then results, workspace and tiling data; an absent tensor is a
 * null pointer. The tiling key tells which specialization a call needs; the host picks it in
 * op_host/self_attention_prefix_encoder_plan.h.
 *
 * A package has one binary for each dtype column of the definition, whose build tells the dtype:
 * kernels of others stay out of it.
 */
#include "kernel_operator.h"
// CANN's build wraps a kernel of both kinds of core in text that calls matmul::clearWorkspace,
// which this header declares.
#include "lib/matmul_intf.h"
#include "self_attention_prefix_encoder_tiling.h"
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16 || ORIG_DTYPE_QUERY == DT_BF16
#include "self_attention_prefix_encoder_d128_maskType_CAUSAL_MASK.h"
#include "self_attention_prefix_encoder_d128_mask_mask_columns_maskType_ALIBI_COMPRESS.h"
#include "self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS.h"
#include "self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_SQRT.h"
#endif

extern "C" __global__ __aicore__ void self_attention_prefix_encoder_custom(GM_ADDR query,
    GM_ADDR key, GM_ADDR value, GM_ADDR blockTables, GM_ADDR mask, GM_ADDR seqLen, GM_ADDR kvSeqLen,
    GM_ADDR slopes, GM_ADDR output, GM_ADDR workspace, GM_ADDR tiling)
{
    REGISTER_TILING_DEFAULT(SelfAttentionPrefixEncoderTiling);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA_WITH_STRUCT(SelfAttentionPrefixEncoderTiling, tilingData, tiling);
    // CANN's build reads keys as numbers, no names
    using Key = SelfAttentionPrefixEncoderTilingKey;
    GM_ADDR userWorkspace = AscendC::GetUserWorkspace(workspace);
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16
    if (TILING_KEY_IS(276496)) {
        static_assert(276496 == static_cast<uint64_t>(
            Key::kFloat16D128MaskTypeCausalMask));
        namespace chosen = self_attention_prefix_encoder_d128_maskType_CAUSAL_MASK;
        chosen::SelfAttentionPrefixEncoderKernel<half> kernel;
        kernel.Run(query, key, value, blockTables, seqLen, kvSeqLen, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(424208)) {
        static_assert(424208 == static_cast<uint64_t>(
            Key::kFloat16D128MaskMaskColumnsMaskTypeAlibiCompress));
        namespace chosen =
            self_attention_prefix_encoder_d128_mask_mask_columns_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPrefixEncoderKernel<half> kernel;
        kernel.Run(query, key, value, blockTables, mask, seqLen, kvSeqLen, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(369168)) {
        static_assert(369168 == static_cast<uint64_t>(
            Key::kFloat16D128SlopesMaskTypeAlibiCompress));
        namespace chosen = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPrefixEncoderKernel<half> kernel;
        kernel.Run(query, key, value, blockTables, seqLen, kvSeqLen, slopes, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(461328)) {
        static_assert(461328 == static_cast<uint64_t>(
            Key::kFloat16D128SlopesMaskTypeAlibiCompressSqrt));
        namespace chosen = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_SQRT;
        chosen::SelfAttentionPrefixEncoderKernel<half> kernel;
        kernel.Run(query, key, value, blockTables, seqLen, kvSeqLen, slopes, output, userWorkspace,
            tilingData);
    } else
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_BF16
    if (TILING_KEY_IS(276497)) {
        static_assert(276497 == static_cast<uint64_t>(
            Key::kBfloat16D128MaskTypeCausalMask));
        namespace chosen = self_attention_prefix_encoder_d128_maskType_CAUSAL_MASK;
        chosen::SelfAttentionPrefixEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, blockTables, seqLen, kvSeqLen, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(424209)) {
        static_assert(424209 == static_cast<uint64_t>(
            Key::kBfloat16D128MaskMaskColumnsMaskTypeAlibiCompress));
        namespace chosen =
            self_attention_prefix_encoder_d128_mask_mask_columns_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPrefixEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, blockTables, mask, seqLen, kvSeqLen, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(369169)) {
        static_assert(369169 == static_cast<uint64_t>(
            Key::kBfloat16D128SlopesMaskTypeAlibiCompress));
        namespace chosen = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPrefixEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, blockTables, seqLen, kvSeqLen, slopes, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(461329)) {
        static_assert(461329 == static_cast<uint64_t>(
            Key::kBfloat16D128SlopesMaskTypeAlibiCompressSqrt));
        namespace chosen = self_attention_prefix_encoder_d128_slopes_maskType_ALIBI_COMPRESS_SQRT;
        chosen::SelfAttentionPrefixEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, blockTables, seqLen, kvSeqLen, slopes, output, userWorkspace,
            tilingData);
    } else
#endif
    {
        // A key of none of these kernels, as of a host built from other files: results would be
        // garbage.
        AscendC::Trap();
    }
}
