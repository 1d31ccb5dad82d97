/*
 * relay_attention_custom: the kernel function of relay_attention.
 *
 * Contract: ATB RelayAttentionOperation
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Tensors in the contract's order, then results, workspace and tiling data; an absent tensor is a
 * null pointer. The tiling key tells which specialization a call needs; the host picks it in
 * op_host/relay_attention_plan.h.
 *
 * A package has one binary for each dtype column of the definition, whose build tells the dtype:
 * kernels of others stay out of it.
 */
#include "kernel_operator.h"
// CANN's build wraps a kernel of both kinds of core in text that calls matmul::clearWorkspace,
// which this header declares.
#include "lib/matmul_intf.h"
#include "relay_attention_tiling.h"
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16 || ORIG_DTYPE_QUERY == DT_BF16
#include "relay_attention_d128.h"
#endif

extern "C" __global__ __aicore__ void relay_attention_custom(GM_ADDR query, GM_ADDR key,
    GM_ADDR value, GM_ADDR keyShare, GM_ADDR valueShare, GM_ADDR attentionMask, GM_ADDR seqLen,
    GM_ADDR kvSeqLen, GM_ADDR kvShareMap, GM_ADDR kvShareLen, GM_ADDR out, GM_ADDR workspace,
    GM_ADDR tiling)
{
    REGISTER_TILING_DEFAULT(RelayAttentionTiling);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA_WITH_STRUCT(RelayAttentionTiling, tilingData, tiling);
    using Key = RelayAttentionTilingKey;  // CANN's build reads keys as numbers, no names
    GM_ADDR userWorkspace = AscendC::GetUserWorkspace(workspace);
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16
    if (TILING_KEY_IS(16)) {
        static_assert(16 == static_cast<uint64_t>(
            Key::kFloat16D128));
        namespace chosen = relay_attention_d128;
        chosen::RelayAttentionKernel<half> kernel;
        kernel.Run(query, key, value, keyShare, valueShare, attentionMask, seqLen, kvSeqLen,
            kvShareMap, kvShareLen, out, userWorkspace, tilingData);
    } else
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_BF16
    if (TILING_KEY_IS(17)) {
        static_assert(17 == static_cast<uint64_t>(
            Key::kBfloat16D128));
        namespace chosen = relay_attention_d128;
        chosen::RelayAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, keyShare, valueShare, attentionMask, seqLen, kvSeqLen,
            kvShareMap, kvShareLen, out, userWorkspace, tilingData);
    } else
#endif
    {
        // A key of none of these kernels, as of a host built from other files: results would be
        // garbage.
        AscendC::Trap();
    }
}
