/*
 * incre_flash_attention_custom: the kernel function of incre_flash_attention.
 *
 * Contract: mindspore.ops.incre_flash_attention
 * Target: Atlas A2 / A3 (dav-2201), one cube core with two vector cores a block (MIX 1:2).
 *
 * Tensors in the contract's order, then results, workspace and tiling data; an absent tensor is a
 * null pointer. The tiling key tells which specialization a call needs; the host picks it in
 * op_host/incre_flash_attention_plan.h.
 *
 * A package has one binary for each dtype column of the definition, whose build tells the dtype:
 * kernels of others stay out of it.
 */
#include "kernel_operator.h"
// CANN's build wraps a kernel of both kinds of core in text that calls matmul::clearWorkspace,
// which this header declares.
#include "lib/matmul_intf.h"
#include "kernel_operator_list_tensor_intf.h"
#include "incre_flash_attention_tiling.h"
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16 || ORIG_DTYPE_QUERY == DT_BF16
#include "incre_flash_attention_d128.h"
#include "incre_flash_attention_d128_attn_mask.h"
#include "incre_flash_attention_d128_pse_shift.h"
#include "incre_flash_attention_d128_quant_scale2.h"
#include "incre_flash_attention_d128_quant_scale2_quant_offset2.h"
#include "incre_flash_attention_d128_antiquant_scale.h"
#include "incre_flash_attention_d128_antiquant_scale_antiquant_offset.h"
#include "incre_flash_attention_d128_block_table.h"
#include "incre_flash_attention_d128_kv_padding_size.h"
#include "incre_flash_attention_d128_key_list_value_list.h"
#endif

// The only tensor of an argument that is a list.
__aicore__ inline GM_ADDR OnlyTensor(GM_ADDR list)
{
    AscendC::ListTensorDesc tensors(reinterpret_cast<__gm__ void *>(list));
    return reinterpret_cast<GM_ADDR>(tensors.GetDataPtr<uint8_t>(0));
}

extern "C" __global__ __aicore__ void incre_flash_attention_custom(GM_ADDR query, GM_ADDR key,
    GM_ADDR value, GM_ADDR attn_mask, GM_ADDR actual_seq_lengths, GM_ADDR pse_shift,
    GM_ADDR dequant_scale1, GM_ADDR quant_scale1, GM_ADDR dequant_scale2, GM_ADDR quant_scale2,
    GM_ADDR quant_offset2, GM_ADDR antiquant_scale, GM_ADDR antiquant_offset, GM_ADDR block_table,
    GM_ADDR kv_padding_size, GM_ADDR attention_out, GM_ADDR workspace, GM_ADDR tiling)
{
    REGISTER_TILING_DEFAULT(IncreFlashAttentionTiling);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA_WITH_STRUCT(IncreFlashAttentionTiling, tilingData, tiling);
    using Key = IncreFlashAttentionTilingKey;  // CANN's build reads keys as numbers, no names
    GM_ADDR userWorkspace = AscendC::GetUserWorkspace(workspace);
    static_cast<void>(dequant_scale1);  // no kernel here reads it
    static_cast<void>(quant_scale1);  // no kernel here reads it
    static_cast<void>(dequant_scale2);  // no kernel here reads it
    GM_ADDR keyOnly = OnlyTensor(key);
    GM_ADDR valueOnly = OnlyTensor(value);
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_FLOAT16
    if (TILING_KEY_IS(16)) {
        static_assert(16 == static_cast<uint64_t>(
            Key::kFloat16D128));
        namespace chosen = incre_flash_attention_d128;
        chosen::IncreFlashAttentionKernel<half> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, attention_out, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(272)) {
        static_assert(272 == static_cast<uint64_t>(
            Key::kFloat16D128AttnMask));
        namespace chosen = incre_flash_attention_d128_attn_mask;
        chosen::IncreFlashAttentionKernel<half> kernel;
        kernel.Run(query, keyOnly, valueOnly, attn_mask, actual_seq_lengths, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(528)) {
        static_assert(528 == static_cast<uint64_t>(
            Key::kFloat16D128PseShift));
        namespace chosen = incre_flash_attention_d128_pse_shift;
        chosen::IncreFlashAttentionKernel<half> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, pse_shift, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(1040)) {
        static_assert(1040 == static_cast<uint64_t>(
            Key::kFloat16D128QuantScale2));
        namespace chosen = incre_flash_attention_d128_quant_scale2;
        chosen::IncreFlashAttentionKernel<half> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, quant_scale2, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(3088)) {
        static_assert(3088 == static_cast<uint64_t>(
            Key::kFloat16D128QuantScale2QuantOffset2));
        namespace chosen = incre_flash_attention_d128_quant_scale2_quant_offset2;
        chosen::IncreFlashAttentionKernel<half> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, quant_scale2, quant_offset2,
            attention_out, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(4112)) {
        static_assert(4112 == static_cast<uint64_t>(
            Key::kFloat16D128AntiquantScale));
        namespace chosen = incre_flash_attention_d128_antiquant_scale;
        chosen::IncreFlashAttentionKernel<half> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, antiquant_scale, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(12304)) {
        static_assert(12304 == static_cast<uint64_t>(
            Key::kFloat16D128AntiquantScaleAntiquantOffset));
        namespace chosen = incre_flash_attention_d128_antiquant_scale_antiquant_offset;
        chosen::IncreFlashAttentionKernel<half> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, antiquant_scale, antiquant_offset,
            attention_out, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(16400)) {
        static_assert(16400 == static_cast<uint64_t>(
            Key::kFloat16D128BlockTable));
        namespace chosen = incre_flash_attention_d128_block_table;
        chosen::IncreFlashAttentionKernel<half> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, block_table, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(32784)) {
        static_assert(32784 == static_cast<uint64_t>(
            Key::kFloat16D128KvPaddingSize));
        namespace chosen = incre_flash_attention_d128_kv_padding_size;
        chosen::IncreFlashAttentionKernel<half> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, kv_padding_size, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(262160)) {
        static_assert(262160 == static_cast<uint64_t>(
            Key::kFloat16D128KeyListValueList));
        namespace chosen = incre_flash_attention_d128_key_list_value_list;
        chosen::IncreFlashAttentionKernel<half> kernel;
        kernel.Run(query, key, value, actual_seq_lengths, attention_out, userWorkspace, tilingData);
    } else
#endif
#if !defined(ORIG_DTYPE_QUERY) || ORIG_DTYPE_QUERY == DT_BF16
    if (TILING_KEY_IS(17)) {
        static_assert(17 == static_cast<uint64_t>(
            Key::kBfloat16D128));
        namespace chosen = incre_flash_attention_d128;
        chosen::IncreFlashAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, attention_out, userWorkspace,
            tilingData);
    } else if (TILING_KEY_IS(273)) {
        static_assert(273 == static_cast<uint64_t>(
            Key::kBfloat16D128AttnMask));
        namespace chosen = incre_flash_attention_d128_attn_mask;
        chosen::IncreFlashAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, keyOnly, valueOnly, attn_mask, actual_seq_lengths, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(529)) {
        static_assert(529 == static_cast<uint64_t>(
            Key::kBfloat16D128PseShift));
        namespace chosen = incre_flash_attention_d128_pse_shift;
        chosen::IncreFlashAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, pse_shift, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(1041)) {
        static_assert(1041 == static_cast<uint64_t>(
            Key::kBfloat16D128QuantScale2));
        namespace chosen = incre_flash_attention_d128_quant_scale2;
        chosen::IncreFlashAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, quant_scale2, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(3089)) {
        static_assert(3089 == static_cast<uint64_t>(
            Key::kBfloat16D128QuantScale2QuantOffset2));
        namespace chosen = incre_flash_attention_d128_quant_scale2_quant_offset2;
        chosen::IncreFlashAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, quant_scale2, quant_offset2,
            attention_out, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(4113)) {
        static_assert(4113 == static_cast<uint64_t>(
            Key::kBfloat16D128AntiquantScale));
        namespace chosen = incre_flash_attention_d128_antiquant_scale;
        chosen::IncreFlashAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, antiquant_scale, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(12305)) {
        static_assert(12305 == static_cast<uint64_t>(
            Key::kBfloat16D128AntiquantScaleAntiquantOffset));
        namespace chosen = incre_flash_attention_d128_antiquant_scale_antiquant_offset;
        chosen::IncreFlashAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, antiquant_scale, antiquant_offset,
            attention_out, userWorkspace, tilingData);
    } else if (TILING_KEY_IS(16401)) {
        static_assert(16401 == static_cast<uint64_t>(
            Key::kBfloat16D128BlockTable));
        namespace chosen = incre_flash_attention_d128_block_table;
        chosen::IncreFlashAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, block_table, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(32785)) {
        static_assert(32785 == static_cast<uint64_t>(
            Key::kBfloat16D128KvPaddingSize));
        namespace chosen = incre_flash_attention_d128_kv_padding_size;
        chosen::IncreFlashAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, keyOnly, valueOnly, actual_seq_lengths, kv_padding_size, attention_out,
            userWorkspace, tilingData);
    } else if (TILING_KEY_IS(262161)) {
        static_assert(262161 == static_cast<uint64_t>(
            Key::kBfloat16D128KeyListValueList));
        namespace chosen = incre_flash_attention_d128_key_list_value_list;
        chosen::IncreFlashAttentionKernel<bfloat16_t> kernel;
        kernel.Run(query, key, value, actual_seq_lengths, attention_out, userWorkspace, tilingData);
    } else
#endif
    {
        // A key of none of these kernels, as of a host built from other files: results would be
        // garbage.
        AscendC::Trap();
    }
}
