/*
 * self_attention_custom: the kernel function of self_attention.
 *
 * Contract: ATB SelfAttentionOperation
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Tensors in the contract's order, then results, workspace and tiling data; an absent tensor is a
 * null pointer. The tiling key tells which specialization a call needs; the host picks it in
 * op_host/self_attention_plan.h.
 *
 * A package has one binary for each dtype column of the definition, whose build tells the dtype:
 * kernels of others stay out of it.
 */
#include "kernel_operator.h"
// CANN's build wraps a kernel of both kinds of core in text that calls matmul::clearWorkspace,
// which this header declares.
#include "lib/matmul_intf.h"
#include "kernel_operator_list_tensor_intf.h"
#include "self_attention_tiling.h"
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16 || ORIG_DTYPE_QUERY == DT_BF16
#include "self_attention_d128_e128_key_value.h"
#include "self_attention_d128_e128_key_value_attentionMask_maskType_NORM.h"
#include "self_attention_d128_e128_key_value_batchStatus_cacheK_layer_cacheV_layer.h"
#include "self_attention_d128_e128_key_value_logN.h"
#include "self_attention_d128_e128_key_value_cacheType_SWA_maskType_SLIDING_WINDOW_NORM.h"
#include "self_attention_d128_e128_key_value_clampType_MIN_MAX.h"
#include "self_attention_d128_e128_attentionMask_inputLayout_BNSD_query_BNSD_maskType_NORM.h"
#include "self_attention_d128_e128.h"
#include "self_attention_d128_e128_key_value_attentionMask.h"
#include "self_attention_d128_e128_key_value_maskType_NORM_COMPRESS.h"
#include "self_attention_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS.h"
#include "self_attention_d128_e128_key_value_key_padded_value_padded.h"
#include "self_attention_d128_e128_key_value_query_padded.h"
#include "self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI.h"
#include "self_attention_d128_e128_cacheK_list_cacheV_list.h"
#endif

// The only tensor of an argument that is a list.
__aicore__ inline GM_ADDR OnlyTensor(GM_ADDR list)
{
    AscendC::ListTensorDesc tensors(reinterpret_cast<__gm__ void *>(list));
    return reinterpret_cast<GM_ADDR>(tensors.GetDataPtr<uint8_t>(0));
}

extern "C" __global__ __aicore__ void self_attention_custom(GM_ADDR query, GM_ADDR key,
    GM_ADDR value, GM_ADDR cacheK, GM_ADDR cacheV, GM_ADDR attentionMask, GM_ADDR tokenOffset,
    GM_ADDR seqLen, GM_ADDR layerId, GM_ADDR batchStatus, GM_ADDR logN, GM_ADDR output,
    GM_ADDR cacheKRef, GM_ADDR cacheVRef, GM_ADDR workspace, GM_ADDR tiling)
{
    REGISTER_TILING_DEFAULT(SelfAttentionTiling);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA_WITH_STRUCT(SelfAttentionTiling, tilingData, tiling);
    using Key = SelfAttentionTilingKey;  // CANN's build reads keys as numbers, no names
    GM_ADDR userWorkspace = AscendC::GetUserWorkspace(workspace);
    static_cast<void>(cacheKRef);  // no kernel here reads it
    static_cast<void>(cacheVRef);  // no kernel here reads it
    GM_ADDR cacheKOnly = OnlyTensor(cacheK);
    GM_ADDR cacheVOnly = OnlyTensor(cacheV);
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16
    if (TILING_KEY_IS(100368)) {
        static_assert(100368 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValue));
        namespace chosen = self_attention_d128_e128_key_value;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(15655156025360) || TILING_KEY_IS(15658213672976)) {
        static_assert(15655156025360 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueAttentionMaskMaskTypeNorm));
        static_assert(15658213672976 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchMaskTypeNorm));
        namespace chosen = self_attention_d128_e128_key_value_attentionMask_maskType_NORM;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, attentionMask, tokenOffset, seqLen,
            layerId, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(76441552912)) {
        static_assert(76441552912 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer));
        namespace chosen = self_attention_d128_e128_key_value_batchStatus_cacheK_layer_cacheV_layer;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId,
            batchStatus, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(624656)) {
        static_assert(624656 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueLogN));
        namespace chosen = self_attention_d128_e128_key_value_logN;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, logN,
            output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(109586091706384)) {
        static_assert(109586091706384 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueCacheTypeSwaMaskTypeSlidingWindowNorm));
        namespace chosen =
            self_attention_d128_e128_key_value_cacheType_SWA_maskType_SLIDING_WINDOW_NORM;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(18974736)) {
        static_assert(18974736 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueClampTypeMinMax));
        namespace chosen = self_attention_d128_e128_key_value_clampType_MIN_MAX;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(16633603164176)) {
        static_assert(16633603164176 == static_cast<uint64_t>(
            Key::kFloat16D128E128AttentionMaskInputLayoutBnsdQueryBnsdMaskTypeNorm));
        namespace chosen =
            self_attention_d128_e128_attentionMask_inputLayout_BNSD_query_BNSD_maskType_NORM;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, cacheKOnly, cacheVOnly, attentionMask, tokenOffset, seqLen, layerId,
            output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(2064)) {
        static_assert(2064 == static_cast<uint64_t>(
            Key::kFloat16D128E128));
        namespace chosen = self_attention_d128_e128;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(31311840643088) || TILING_KEY_IS(15659742496784)) {
        static_assert(31311840643088 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueAttentionMaskAttentionMaskPerHeadMaskTypeAlibi));
        static_assert(15659742496784 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNorm));
        namespace chosen = self_attention_d128_e128_key_value_attentionMask;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, attentionMask, tokenOffset, seqLen,
            layerId, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(46965467482128)) {
        static_assert(46965467482128 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueMaskTypeNormCompress));
        namespace chosen = self_attention_d128_e128_key_value_maskType_NORM_COMPRESS;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(109586090657808)) {
        static_assert(109586090657808 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueMaskTypeSlidingWindowCompress));
        namespace chosen = self_attention_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(4158400858128)) {
        static_assert(4158400858128 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueKeyPaddedValuePadded));
        namespace chosen = self_attention_d128_e128_key_value_key_padded_value_padded;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(978447337488)) {
        static_assert(978447337488 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueQueryPadded));
        namespace chosen = self_attention_d128_e128_key_value_query_padded;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(31310311819280)) {
        static_assert(31310311819280 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyValueAttentionMaskMaskTypeAlibi));
        namespace chosen = self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, attentionMask, tokenOffset, seqLen,
            layerId, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(688826854934544)) {
        static_assert(688826854934544 == static_cast<uint64_t>(
            Key::kFloat16D128E128CacheKListCacheVList));
        namespace chosen = self_attention_d128_e128_cacheK_list_cacheV_list;
        chosen::SelfAttentionKernel<half> kernel;
        kernel.Run(query, cacheK, cacheV, tokenOffset, seqLen, layerId, output, userWorkspace,
            tilingData);
    } else
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_BF16
    if (TILING_KEY_IS(100369)) {
        static_assert(100369 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValue));
        namespace chosen = self_attention_d128_e128_key_value;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(15655156025361) || TILING_KEY_IS(15658213672977)) {
        static_assert(15655156025361 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueAttentionMaskMaskTypeNorm));
        static_assert(15658213672977 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchMaskTypeNorm));
        namespace chosen = self_attention_d128_e128_key_value_attentionMask_maskType_NORM;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, attentionMask, tokenOffset, seqLen,
            layerId, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(76441552913)) {
        static_assert(76441552913 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer));
        namespace chosen = self_attention_d128_e128_key_value_batchStatus_cacheK_layer_cacheV_layer;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId,
            batchStatus, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(624657)) {
        static_assert(624657 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueLogN));
        namespace chosen = self_attention_d128_e128_key_value_logN;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, logN,
            output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(109586091706385)) {
        static_assert(109586091706385 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueCacheTypeSwaMaskTypeSlidingWindowNorm));
        namespace chosen =
            self_attention_d128_e128_key_value_cacheType_SWA_maskType_SLIDING_WINDOW_NORM;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(18974737)) {
        static_assert(18974737 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueClampTypeMinMax));
        namespace chosen = self_attention_d128_e128_key_value_clampType_MIN_MAX;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(16633603164177)) {
        static_assert(16633603164177 == static_cast<uint64_t>(
            Key::kBfloat16D128E128AttentionMaskInputLayoutBnsdQueryBnsdMaskTypeNorm));
        namespace chosen =
            self_attention_d128_e128_attentionMask_inputLayout_BNSD_query_BNSD_maskType_NORM;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, cacheKOnly, cacheVOnly, attentionMask, tokenOffset, seqLen, layerId,
            output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(2065)) {
        static_assert(2065 == static_cast<uint64_t>(
            Key::kBfloat16D128E128));
        namespace chosen = self_attention_d128_e128;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(31311840643089) || TILING_KEY_IS(15659742496785)) {
        static_assert(31311840643089 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueAttentionMaskAttentionMaskPerHeadMaskTypeAlibi));
        static_assert(15659742496785 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNorm));
        namespace chosen = self_attention_d128_e128_key_value_attentionMask;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, attentionMask, tokenOffset, seqLen,
            layerId, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(46965467482129)) {
        static_assert(46965467482129 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueMaskTypeNormCompress));
        namespace chosen = self_attention_d128_e128_key_value_maskType_NORM_COMPRESS;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(109586090657809)) {
        static_assert(109586090657809 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueMaskTypeSlidingWindowCompress));
        namespace chosen = self_attention_d128_e128_key_value_maskType_SLIDING_WINDOW_COMPRESS;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(4158400858129)) {
        static_assert(4158400858129 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueKeyPaddedValuePadded));
        namespace chosen = self_attention_d128_e128_key_value_key_padded_value_padded;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(978447337489)) {
        static_assert(978447337489 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueQueryPadded));
        namespace chosen = self_attention_d128_e128_key_value_query_padded;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, tokenOffset, seqLen, layerId, output,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(31310311819281)) {
        static_assert(31310311819281 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyValueAttentionMaskMaskTypeAlibi));
        namespace chosen = self_attention_d128_e128_key_value_attentionMask_maskType_ALIBI;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, cacheKOnly, cacheVOnly, attentionMask, tokenOffset, seqLen,
            layerId, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(688826854934545)) {
        static_assert(688826854934545 == static_cast<uint64_t>(
            Key::kBfloat16D128E128CacheKListCacheVList));
        namespace chosen = self_attention_d128_e128_cacheK_list_cacheV_list;
        chosen::SelfAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, cacheK, cacheV, tokenOffset, seqLen, layerId, output, userWorkspace,
            tilingData);
    } else
#endif
    {
        // A key of none of these kernels, as of a host built from other files: results would be
        // garbage.
        AscendC::Trap();
    }
}
