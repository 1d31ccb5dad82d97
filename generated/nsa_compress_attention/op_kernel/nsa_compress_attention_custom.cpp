/*
 * nsa_compress_attention_custom: the kernel function of nsa_compress_attention.
 *
 * Contract: mindspore.ops.nsa_compress_attention
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Tensors in the contract's order, then results, workspace and tiling data; an absent tensor is a
 * null pointer. The tiling key tells which specialization a call needs; the host picks it in
 * op_host/nsa_compress_attention_plan.h.
 *
 * A package has one binary for each dtype column of the definition, whose build tells the dtype:
 * kernels of others stay out of it.
 */
#include "kernel_operator.h"
// CANN's build wraps a kernel of both kinds of core in text that calls matmul::clearWorkspace,
// which this header declares.
#include "lib/matmul_intf.h"
#include "nsa_compress_attention_tiling.h"
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16 || ORIG_DTYPE_QUERY == DT_BF16
#include "nsa_compress_attention_d128_e128.h"
#include "nsa_compress_attention_d128_e128_topk_mask.h"
#include "nsa_compress_attention_d128_e128_atten_mask.h"
#endif

extern "C" __global__ __aicore__ void nsa_compress_attention_custom(GM_ADDR query, GM_ADDR key,
    GM_ADDR value, GM_ADDR topk_mask, GM_ADDR atten_mask, GM_ADDR actual_seq_qlen,
    GM_ADDR actual_cmp_seq_kvlen, GM_ADDR actual_sel_seq_kvlen, GM_ADDR attention_out,
    GM_ADDR topk_indices_out, GM_ADDR softmax_max_out, GM_ADDR softmax_sum_out, GM_ADDR workspace,
    GM_ADDR tiling)
{
    REGISTER_TILING_DEFAULT(NsaCompressAttentionTiling);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA_WITH_STRUCT(NsaCompressAttentionTiling, tilingData, tiling);
    using Key = NsaCompressAttentionTilingKey;  // CANN's build reads keys as numbers, no names
    GM_ADDR userWorkspace = AscendC::GetUserWorkspace(workspace);
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16
    if (TILING_KEY_IS(2064)) {
        static_assert(2064 == static_cast<uint64_t>(
            Key::kFloat16D128E128));
        namespace chosen = nsa_compress_attention_d128_e128;
        chosen::NsaCompressAttentionKernel<half> kernel;
        kernel.Run(query, key, value, actual_seq_qlen, actual_cmp_seq_kvlen, actual_sel_seq_kvlen,
            attention_out, topk_indices_out, softmax_max_out, softmax_sum_out, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(34832)) {
        static_assert(34832 == static_cast<uint64_t>(
            Key::kFloat16D128E128TopkMask));
        namespace chosen = nsa_compress_attention_d128_e128_topk_mask;
        chosen::NsaCompressAttentionKernel<half> kernel;
        kernel.Run(query, key, value, topk_mask, actual_seq_qlen, actual_cmp_seq_kvlen,
            actual_sel_seq_kvlen, attention_out, topk_indices_out, softmax_max_out, softmax_sum_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(67600)) {
        static_assert(67600 == static_cast<uint64_t>(
            Key::kFloat16D128E128AttenMask));
        namespace chosen = nsa_compress_attention_d128_e128_atten_mask;
        chosen::NsaCompressAttentionKernel<half> kernel;
        kernel.Run(query, key, value, atten_mask, actual_seq_qlen, actual_cmp_seq_kvlen,
            actual_sel_seq_kvlen, attention_out, topk_indices_out, softmax_max_out, softmax_sum_out,
            userWorkspace, tilingData);
    } else
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_BF16
    if (TILING_KEY_IS(2065)) {
        static_assert(2065 == static_cast<uint64_t>(
            Key::kBfloat16D128E128));
        namespace chosen = nsa_compress_attention_d128_e128;
        chosen::NsaCompressAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, actual_seq_qlen, actual_cmp_seq_kvlen, actual_sel_seq_kvlen,
            attention_out, topk_indices_out, softmax_max_out, softmax_sum_out, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(34833)) {
        static_assert(34833 == static_cast<uint64_t>(
            Key::kBfloat16D128E128TopkMask));
        namespace chosen = nsa_compress_attention_d128_e128_topk_mask;
        chosen::NsaCompressAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, topk_mask, actual_seq_qlen, actual_cmp_seq_kvlen,
            actual_sel_seq_kvlen, attention_out, topk_indices_out, softmax_max_out, softmax_sum_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(67601)) {
        static_assert(67601 == static_cast<uint64_t>(
            Key::kBfloat16D128E128AttenMask));
        namespace chosen = nsa_compress_attention_d128_e128_atten_mask;
        chosen::NsaCompressAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, atten_mask, actual_seq_qlen, actual_cmp_seq_kvlen,
            actual_sel_seq_kvlen, attention_out, topk_indices_out, softmax_max_out, softmax_sum_out,
            userWorkspace, tilingData);
    } else
#endif
    {
        // A key of none of these kernels, as of a host built from other files: results would be
        // garbage.
        AscendC::Trap();
    }
}
