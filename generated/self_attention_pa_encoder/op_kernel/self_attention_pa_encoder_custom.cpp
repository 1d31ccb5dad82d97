/*
 * self_attention_pa_encoder_custom: the kernel function of self_attention_pa_encoder.
 *
 * Contract: ATB SelfAttentionOperation
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Tensors in the contract's order, then results, workspace and tiling data; an absent tensor is a
 * null pointer. The tiling key tells which specialization a call needs; the host picks it in
 * op_host/self_attention_pa_encoder_plan.h.
 *
 * A package has one binary for each dtype column of the definition, whose build tells the dtype:
 * kernels of others stay out of it.
 */
#include "kernel_operator.h"
// CANN's build wraps a kernel of both kinds of core in text that calls matmul::clearWorkspace,
// which this header declares.
#include "lib/matmul_intf.h"
#include "self_attention_pa_encoder_tiling.h"
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16 || ORIG_DTYPE_QUERY == DT_BF16
#include "self_attention_pa_encoder_d128_e128_value.h"
#include "self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM.h"
#include "self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS.h"
#include "self_attention_pa_encoder_d128_e128_value_logN.h"
#include "self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX.h"
#include "self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD.h"
#include "self_attention_pa_encoder_d128_e128.h"
#include "self_attention_pa_encoder_d128_e128_key_padded.h"
#include "self_attention_pa_encoder_d128_e128_value_mask.h"
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
#include "self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_quantType_QKV_ONLINE.h"
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
    if (TILING_KEY_IS(52248)) {
        static_assert(52248 == static_cast<uint64_t>(
            Key::kFloat16D128E128Value));
        namespace chosen = self_attention_pa_encoder_d128_e128_value;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(1358954646552) || TILING_KEY_IS(1368014343192)) {
        static_assert(1358954646552 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskTypeNorm));
        static_assert(1368014343192 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskPerBatchMaskTypeNorm));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(5435818232856)) {
        static_assert(5435818232856 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueSlopesMaskTypeAlibiCompress));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(3197976)) {
        static_assert(3197976 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueLogN));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_logN;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, logN, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(6343704)) {
        static_assert(6343704 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueClampTypeMinMax));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(545393789976)) {
        static_assert(545393789976 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueKeyBnsdQueryBnsdValueBnsd));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(3096)) {
        static_assert(3096 == static_cast<uint64_t>(
            Key::kFloat16D128E128));
        namespace chosen = self_attention_pa_encoder_d128_e128;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(1811942424)) {
        static_assert(1811942424 == static_cast<uint64_t>(
            Key::kFloat16D128E128KeyPadded));
        namespace chosen = self_attention_pa_encoder_d128_e128_key_padded;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(2722438990872) || TILING_KEY_IS(1372544191512)) {
        static_assert(2722438990872 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskPerHeadMaskTypeAlibi));
        static_assert(1372544191512 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskFullMaskTypeNorm));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(4076863540248)) {
        static_assert(4076863540248 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskTypeNormCompress));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(5462997224472)) {
        static_assert(5462997224472 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskColumnsMaskTypeAlibiCompress));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(9512681524248)) {
        static_assert(9512681524248 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskTypeSlidingWindowCompress));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(90596969496)) {
        static_assert(90596969496 == static_cast<uint64_t>(
            Key::kFloat16D128E128QueryPadded));
        namespace chosen = self_attention_pa_encoder_d128_e128_query_padded;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(2717909142552)) {
        static_assert(2717909142552 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueMaskMaskTypeAlibi));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(6794772728856)) {
        static_assert(6794772728856 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueSlopesMaskTypeAlibiCompressSqrt));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(8153727224856)) {
        static_assert(8153727224856 == static_cast<uint64_t>(
            Key::kFloat16D128E128ValueSlopesMaskTypeAlibiCompressLeftAlign));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    } else
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_BF16
    if (TILING_KEY_IS(52249)) {
        static_assert(52249 == static_cast<uint64_t>(
            Key::kBfloat16D128E128Value));
        namespace chosen = self_attention_pa_encoder_d128_e128_value;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(1358973520921) || TILING_KEY_IS(1368033217561)) {
        static_assert(1358973520921 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskTypeNorm));
        static_assert(1368033217561 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskPerBatchMaskTypeNorm));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask_maskType_NORM;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(5435818232857)) {
        static_assert(5435818232857 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueSlopesMaskTypeAlibiCompress));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(3197977)) {
        static_assert(3197977 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueLogN));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_logN;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, logN, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(6343705)) {
        static_assert(6343705 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueClampTypeMinMax));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_clampType_MIN_MAX;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(545393789977)) {
        static_assert(545393789977 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueKeyBnsdQueryBnsdValueBnsd));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_key_BNSD_query_BNSD_value_BNSD;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(3097)) {
        static_assert(3097 == static_cast<uint64_t>(
            Key::kBfloat16D128E128));
        namespace chosen = self_attention_pa_encoder_d128_e128;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(1811942425)) {
        static_assert(1811942425 == static_cast<uint64_t>(
            Key::kBfloat16D128E128KeyPadded));
        namespace chosen = self_attention_pa_encoder_d128_e128_key_padded;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(2722457865241) || TILING_KEY_IS(1372563065881)) {
        static_assert(2722457865241 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskPerHeadMaskTypeAlibi));
        static_assert(1372563065881 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskFullMaskTypeNorm));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(4076863540249)) {
        static_assert(4076863540249 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskTypeNormCompress));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_maskType_NORM_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(5463016098841)) {
        static_assert(5463016098841 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskColumnsMaskTypeAlibiCompress));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_mask_mask_columns_maskType_ALIBI_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(9512681524249)) {
        static_assert(9512681524249 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskTypeSlidingWindowCompress));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(90596969497)) {
        static_assert(90596969497 == static_cast<uint64_t>(
            Key::kBfloat16D128E128QueryPadded));
        namespace chosen = self_attention_pa_encoder_d128_e128_query_padded;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(2717928016921)) {
        static_assert(2717928016921 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueMaskMaskTypeAlibi));
        namespace chosen = self_attention_pa_encoder_d128_e128_value_mask_maskType_ALIBI;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(6794772728857)) {
        static_assert(6794772728857 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueSlopesMaskTypeAlibiCompressSqrt));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_SQRT;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(8153727224857)) {
        static_assert(8153727224857 == static_cast<uint64_t>(
            Key::kBfloat16D128E128ValueSlopesMaskTypeAlibiCompressLeftAlign));
        namespace chosen =
            self_attention_pa_encoder_d128_e128_value_slopes_maskType_ALIBI_COMPRESS_LEFT_ALIGN;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, seqLen, slopes, output, userWorkspace, tilingData);
    } else
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_INT8
    if (TILING_KEY_IS(224227493071898)) {
        static_assert(224227493071898 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(225586598661146) || TILING_KEY_IS(225595658357786)) {
        static_assert(225586598661146 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNormQuantTypeQkvOnline));
        static_assert(225595658357786 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerBatchMaskTypeNormQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(229663311252506)) {
        static_assert(229663311252506 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, slopes, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(224227494644762)) {
        static_assert(224227494644762 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueQkDescaleVpvDescalePScaleQuantTypeQkvOffline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_pScale_quantType_QKV_OFFLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, qkDescale, vpvDescale, pScale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(224227499363354)) {
        static_assert(224227499363354 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueQkDescaleVpvDescaleClampTypeMinMaxQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_clampType_MIN_MAX_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(225586617535514)) {
        static_assert(225586617535514 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskTypeNormQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_NORM_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(224227493022746)) {
        static_assert(224227493022746 == static_cast<uint64_t>(
            Key::kInt8D128E128QkDescaleVpvDescaleQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, seqLen, qkDescale, vpvDescale, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(224229304962074)) {
        static_assert(224229304962074 == static_cast<uint64_t>(
            Key::kInt8D128E128QkDescaleVpvDescaleKeyPaddedQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_key_padded_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, seqLen, qkDescale, vpvDescale, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(226949932010522) || TILING_KEY_IS(225600037211162)) {
        static_assert(226949932010522 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerHeadMaskTypeAlibiQuantTypeQkvOnline));
        static_assert(225600037211162 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskFullMaskTypeNormQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(229690509118490)) {
        static_assert(229690509118490 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskColumnsMaskTypeAlibiCompressQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_mask_columns_maskType_ALIBI_COMPRESS_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(224318089989146)) {
        static_assert(224318089989146 == static_cast<uint64_t>(
            Key::kInt8D128E128QkDescaleVpvDescaleQueryPaddedQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_qkDescale_vpvDescale_query_padded_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, seqLen, qkDescale, vpvDescale, output, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(226945402162202)) {
        static_assert(226945402162202 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeAlibiQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_mask_qkDescale_vpvDescale_maskType_ALIBI_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel<half> kernel;
        kernel.Run(query, key, value, mask, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(231022265748506)) {
        static_assert(231022265748506 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressSqrtQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_SQRT_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, slopes, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(232381220244506)) {
        static_assert(232381220244506 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressLeftAlignQuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_slopes_qkDescale_vpvDescale_maskType_ALIBI_COMPRESS_LEFT_ALIGN_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, slopes, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(418557985999898)) {
        static_assert(418557985999898 == static_cast<uint64_t>(
            Key::kInt8D128E128ValueQkDescaleVpvDescaleOutDataTypeBf16QuantTypeQkvOnline));
        namespace chosen =
            self_attention_pa_encoder_int8_d128_e128_value_qkDescale_vpvDescale_outDataType_BF16_quantType_QKV_ONLINE;
        chosen::SelfAttentionPaEncoderKernel kernel;
        kernel.Run(query, key, value, seqLen, qkDescale, vpvDescale, output, userWorkspace,
            tilingData);
    } else
#endif
    {
        // A key of none of these kernels, as of a host built from other files: results would be
        // garbage.
        AscendC::Trap();
    }
}
