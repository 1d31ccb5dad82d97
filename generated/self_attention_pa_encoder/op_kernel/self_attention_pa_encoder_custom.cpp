/*
 * self_attention_pa_encoder_custom: the kernel function of self_attention_pa_encoder.
 *
 * Contract: ATB SelfAttentionOperation
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Tensors in the contract's order, then results, workspace and tiling data; an absent tensor is a
 * null pointer.
 * The tiling key tells which specialisation a call needs; the host picks it in
 * op_host/self_attention_pa_encoder_plan.h.
 * A package has one binary for each dtype column of the definition, whose build tells the dtype:
 * kernels of
 * others stay out of it.
 */
#include "kernel_operator.h"
#include "self_attention_pa_encoder_tiling.h"
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16
#include "self_attention_pa_encoder_d128_e128_value.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM.h"
#include "self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS.h"
#include "self_attention_pa_encoder_d128_e128_value_logN.h"
#include "self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX.h"
#include "self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD.h"
#include "self_attention_pa_encoder_d128_e128.h"
#include "self_attention_pa_encoder_d128_e128_key_padded.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_mask_per_head_116087f5_maskType_ALIBI.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_mask_per_batch_ccd31859_maskType_NORM.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_mask_full_maskType_NORM.h"
#include "self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS.h"
#include "self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS.h"
#include "self_attention_pa_encoder_d128_e128_query_padded.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI.h"
#include "self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT.h"
#include "self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN.h"
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_BF16
#include "self_attention_pa_encoder_d128_e128_value.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM.h"
#include "self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS.h"
#include "self_attention_pa_encoder_d128_e128_value_logN.h"
#include "self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX.h"
#include "self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD.h"
#include "self_attention_pa_encoder_d128_e128.h"
#include "self_attention_pa_encoder_d128_e128_key_padded.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_mask_per_head_116087f5_maskType_ALIBI.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_mask_per_batch_ccd31859_maskType_NORM.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_mask_full_maskType_NORM.h"
#include "self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS.h"
#include "self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS.h"
#include "self_attention_pa_encoder_d128_e128_query_padded.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI.h"
#include "self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT.h"
#include "self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN.h"
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_INT8
#include "self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_clampType_MIN_MAX_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_key_padded_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_per_head_116087f5_maskType_ALIBI_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_per_batch_ccd31859_maskType_NORM_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_full_maskType_NORM_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_columns_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_query_padded_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_SQRT_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_LEFT_ALIGN_quantType_QKV_ONLINE.h"
#include "self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_outDataType_BF16_quantType_QKV_ONLINE.h"
#endif

extern "C" __global__ __aicore__ void self_attention_pa_encoder_custom(GM_ADDR query, GM_ADDR key,
    GM_ADDR value, GM_ADDR mask, GM_ADDR seqLen, GM_ADDR slopes, GM_ADDR qkDescale,
    GM_ADDR qkOffset, GM_ADDR vpvDescale, GM_ADDR vpvOffset, GM_ADDR pScale, GM_ADDR logN,
    GM_ADDR output, GM_ADDR workspace, GM_ADDR tiling)
{
    REGISTER_TILING_DEFAULT(SelfAttentionPaEncoderTiling);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA_WITH_STRUCT(SelfAttentionPaEncoderTiling, tilingData, tiling);
    using Key = SelfAttentionPaEncoderTilingKey;  // CANN's build reads keys as numbers, no names
    GM_ADDR userWorkspace = AscendC::GetUserWorkspace(workspace);
    static_cast<void>(qkOffset);  // no kernel here reads it
    static_cast<void>(vpvOffset);  // no kernel here reads it
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16
    if (TILING_KEY_IS(92895136800001080)) {
        static_assert(92895136800001080 == static_cast<uint64_t>(
            Key::kFloat16D128E128Value));
        namespace chosen = self_attention_pa_encoder_d128_e128_value;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(374921317600003080)) {
        static_assert(374921317600003080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskTypeNORM));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(76750906500005080)) {
        static_assert(76750906500005080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(92895136800065080)) {
        static_assert(92895136800065080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueLogN));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_logN;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, logN, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(107961468600001080)) {
        static_assert(107961468600001080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueClampTypeMINMAX));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(150904969800001080)) {
        static_assert(150904969800001080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueKeyBNSDQueryBNSDValueBNSD));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(347207478800000080)) {
        static_assert(347207478800000080 == static_cast<uint64_t>(
            Key::kFloat16D128E128));
        namespace chosen = self_attention_pa_encoder_d128_e128;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(330270759200000080)) {
        static_assert(330270759200000080 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyPadded));
        namespace chosen = self_attention_pa_encoder_d128_e128_key_padded;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(376575791400003080)) {
        static_assert(376575791400003080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskPerHead116087f5MaskTypeALIBI));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_mask_mask_per_head_116087f5_maskType_ALIBI;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(128628576600003080)) {
        static_assert(128628576600003080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskPerBatchCcd31859MaskTypeNORM));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_mask_mask_per_batch_ccd31859_maskType_NORM;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(8824546500003080)) {
        static_assert(8824546500003080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskFullMaskTypeNORM));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask_mask_full_maskType_NORM;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(56260770500001080)) {
        static_assert(56260770500001080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskTypeNORMCOMPRESS));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(157349419800003080)) {
        static_assert(157349419800003080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskColumnsMaskTypeALIBICOMPRESS));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(12004278000001080)) {
        static_assert(12004278000001080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskTypeSLIDINGWINDOWCOMPRESS));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(184114535200000080)) {
        static_assert(184114535200000080 == static_cast<uint64_t>(
            Key::kFloat16D128E128QueryPadded));
        namespace chosen = self_attention_pa_encoder_d128_e128_query_padded;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(284565779700003080)) {
        static_assert(284565779700003080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskTypeALIBI));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(138352073000005080)) {
        static_assert(138352073000005080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSSQRT));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(352612900700005080)) {
        static_assert(352612900700005080 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSLEFTALIGN));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    }
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_BF16
    if (TILING_KEY_IS(92895136800001081)) {
        static_assert(92895136800001081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128Value));
        namespace chosen = self_attention_pa_encoder_d128_e128_value;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(411568015400003081)) {
        static_assert(411568015400003081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskTypeNORM));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(76750906500005081)) {
        static_assert(76750906500005081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(92895136800065081)) {
        static_assert(92895136800065081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueLogN));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_logN;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, logN, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(107961468600001081)) {
        static_assert(107961468600001081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueClampTypeMINMAX));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(150904969800001081)) {
        static_assert(150904969800001081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueKeyBNSDQueryBNSDValueBNSD));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(347207478800000081)) {
        static_assert(347207478800000081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128));
        namespace chosen = self_attention_pa_encoder_d128_e128;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(330270759200000081)) {
        static_assert(330270759200000081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyPadded));
        namespace chosen = self_attention_pa_encoder_d128_e128_key_padded;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(339508421600003081)) {
        static_assert(339508421600003081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskPerHead116087f5MaskTypeALIBI));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_mask_mask_per_head_116087f5_maskType_ALIBI;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(171986576400003081)) {
        static_assert(171986576400003081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskPerBatchCcd31859MaskTypeNORM));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_mask_mask_per_batch_ccd31859_maskType_NORM;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(79552428300003081)) {
        static_assert(79552428300003081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskFullMaskTypeNORM));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask_mask_full_maskType_NORM;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(56260770500001081)) {
        static_assert(56260770500001081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskTypeNORMCOMPRESS));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(219460824400003081)) {
        static_assert(219460824400003081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskColumnsMaskTypeALIBICOMPRESS));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(12004278000001081)) {
        static_assert(12004278000001081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskTypeSLIDINGWINDOWCOMPRESS));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(184114535200000081)) {
        static_assert(184114535200000081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128QueryPadded));
        namespace chosen = self_attention_pa_encoder_d128_e128_query_padded;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(220970666300003081)) {
        static_assert(220970666300003081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskTypeALIBI));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(138352073000005081)) {
        static_assert(138352073000005081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSSQRT));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(352612900700005081)) {
        static_assert(352612900700005081 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSLEFTALIGN));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    }
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_INT8
    if (TILING_KEY_IS(130279157100025082)) {
        static_assert(130279157100025082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(41868342200027082)) {
        static_assert(41868342200027082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNORMQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(293002024100029082)) {
        static_assert(293002024100029082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, slopes, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(130279157100057082)) {
        static_assert(130279157100057082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueQkDescaleVpvDescalePScaleQuantTypeQKVOFFLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, qkDescale, vpvDescale, pScale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(98357786100025082)) {
        static_assert(98357786100025082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueQkDescaleVpvDescaleClampTypeMINMAXQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_clampType_MIN_MAX_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(363527821200027082)) {
        static_assert(363527821200027082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskTypeNORMQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(202042731000024082)) {
        static_assert(202042731000024082 == static_cast<uint64_t>(
            Key::kInt8D128E128QkDescaleVpvDescaleQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, seqLen, qkDescale, vpvDescale, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(422816758100024082)) {
        static_assert(422816758100024082 == static_cast<uint64_t>(
            Key::kInt8D128E128QkDescaleVpvDescaleKeyPaddedQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_key_padded_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, seqLen, qkDescale, vpvDescale, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(362849643000027082)) {
        static_assert(362849643000027082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerHead116087f5MaskTypeALIBIQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_per_head_116087f5_maskType_ALIBI_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(293877920500027082)) {
        static_assert(293877920500027082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerBatchCcd31859MaskTypeNORMQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_per_batch_ccd31859_maskType_NORM_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(42768058400027082)) {
        static_assert(42768058400027082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskFullMaskTypeNORMQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_full_maskType_NORM_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(419672092600027082)) {
        static_assert(419672092600027082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskColumnsMaskTypeALIBICOMPRESSQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_columns_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(153779648300024082)) {
        static_assert(153779648300024082 == static_cast<uint64_t>(
            Key::kInt8D128E128QkDescaleVpvDescaleQueryPaddedQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_query_padded_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, seqLen, qkDescale, vpvDescale, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(184664963500027082)) {
        static_assert(184664963500027082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeALIBIQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(351358669000029082)) {
        static_assert(351358669000029082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSSQRTQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_SQRT_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, slopes, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(136260626300029082)) {
        static_assert(136260626300029082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSLEFTALIGNQuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_LEFT_ALIGN_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, slopes, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(295384346500025082)) {
        static_assert(295384346500025082 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueQkDescaleVpvDescaleOutDataTypeBF16QuantTypeQKVONLINE));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_outDataType_BF16_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    }
#endif
}
