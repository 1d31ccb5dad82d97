// incre_flash_attention as a custom operator of PyTorch on NPUs (PrivateUse1), launched directly, without an operator package.
// Schema: incre_flash_attention(Tensor query, Tensor[] key, Tensor[] value, Tensor? attn_mask=None, int[]? actual_seq_lengths=None, Tensor? pse_shift=None, Tensor? dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, Tensor? block_table=None, int num_heads=1, str input_layout='BSH', float scale_value=1.0, int num_key_value_heads=0, int block_size=0, int inner_precise=1, Tensor? kv_padding_size=None) -> Tensor
#include <torch/extension.h>
#include <torch/library.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "../direct/incre_flash_attention_run.h"

namespace {

using namespace incre_flash_attention_host;

// What the contract's checks call the dtype of a tensor.
DataType FromTorch(at::ScalarType dtype)
{
    switch (dtype) {
        case at::kBFloat16:
            return DataType::kBfloat16;
        case at::kBool:
            return DataType::kBool;
        case at::kHalf:
            return DataType::kFloat16;
        case at::kFloat:
            return DataType::kFloat32;
        case at::kDouble:
            return DataType::kFloat64;
        case at::kInt:
            return DataType::kInt32;
        case at::kLong:
            return DataType::kInt64;
        case at::kChar:
            return DataType::kInt8;
        case at::kByte:
            return DataType::kUint8;
        default:
            return DataType::kNone;
    }
}

at::ScalarType ToTorch(DataType dtype)
{
    switch (dtype) {
        case DataType::kBfloat16:
            return at::kBFloat16;
        case DataType::kBool:
            return at::kBool;
        case DataType::kFloat16:
            return at::kHalf;
        case DataType::kFloat32:
            return at::kFloat;
        case DataType::kFloat64:
            return at::kDouble;
        case DataType::kInt32:
            return at::kInt;
        case DataType::kInt64:
            return at::kLong;
        case DataType::kInt8:
            return at::kChar;
        case DataType::kUint8:
            return at::kByte;
        default:
            TORCH_CHECK(false, kOperator, ": a result has no dtype of PyTorch");
    }
}

// Tensors that a call needs until it has been enqueued; contiguous, as kernels read them.
class Kept {
public:
    void *Address(const at::Tensor &tensor, Tensor &seen)
    {
        tensors_.push_back(tensor.contiguous());
        seen.given = true;
        seen.dtype = FromTorch(tensor.scalar_type());
        seen.shape = tensor.sizes().vec();
        return tensors_.back().data_ptr();
    }

    // A tensor that is updated in place.
    void *InPlace(const at::Tensor &tensor, Tensor &seen)
    {
        TORCH_CHECK(tensor.is_contiguous(), kOperator, ": what is updated in place has to be contiguous");
        return Address(tensor, seen);
    }

    void *Take(size_t bytes, const at::TensorOptions &options)
    {
        tensors_.push_back(at::empty({static_cast<int64_t>(bytes)}, options.dtype(at::kByte)));
        return tensors_.back().data_ptr();
    }

    // Integers that the host reads and kernels too, one a row.
    void *Lengths(const std::vector<int64_t> &values, int64_t rows, const at::TensorOptions &options)
    {
        std::vector<int64_t> each = values;
        each.resize(std::max(each.size(), static_cast<size_t>(rows)), each.empty() ? 0 : each[0]);
        tensors_.push_back(at::tensor(each, at::kLong).to(options.device()));
        return tensors_.back().data_ptr();
    }

private:
    std::vector<at::Tensor> tensors_;
};

// The arguments of a call; the addresses of its tensors where `at` is not null.
Call ReadCall(const at::Tensor &query, at::TensorList key, at::TensorList value,
    const c10::optional<at::Tensor> &attn_mask, at::OptionalIntArrayRef actual_seq_lengths,
    const c10::optional<at::Tensor> &pse_shift, const c10::optional<at::Tensor> &dequant_scale1,
    const c10::optional<at::Tensor> &quant_scale1, const c10::optional<at::Tensor> &dequant_scale2,
    const c10::optional<at::Tensor> &quant_scale2, const c10::optional<at::Tensor> &quant_offset2,
    const c10::optional<at::Tensor> &antiquant_scale, const c10::optional<at::Tensor> &antiquant_offset,
    const c10::optional<at::Tensor> &block_table, int64_t num_heads, c10::string_view input_layout,
    double scale_value, int64_t num_key_value_heads, int64_t block_size, int64_t inner_precise,
    const c10::optional<at::Tensor> &kv_padding_size, Kept &kept, Addresses &at)
{
    Call call;
    at.query = kept.Address(query, call.query);
    call.key_list.given = true;
    call.key_list.list = key.size() != 1;
    for (const at::Tensor &tensor : key) {
        call.key_list.entries.emplace_back();
        at.key.push_back(kept.Address(tensor, call.key_list.entries.back()));
    }
    call.value_list.given = true;
    call.value_list.list = value.size() != 1;
    for (const at::Tensor &tensor : value) {
        call.value_list.entries.emplace_back();
        at.value.push_back(kept.Address(tensor, call.value_list.entries.back()));
    }
    if (attn_mask.has_value()) {
        at.attn_mask = kept.Address(attn_mask.value(), call.attn_mask);
    }
    if (actual_seq_lengths.has_value()) {
        call.actual_seq_lengths.given = true;
        call.actual_seq_lengths.dtype = DataType::kInt64;
        call.actual_seq_lengths.stored = DataType::kInt64;
        call.actual_seq_lengths.shape = {static_cast<int64_t>(actual_seq_lengths.value().size())};
        call.actual_seq_lengths.values = actual_seq_lengths.value().data();
    }
    if (pse_shift.has_value()) {
        at.pse_shift = kept.Address(pse_shift.value(), call.pse_shift);
    }
    if (dequant_scale1.has_value()) {
        at.dequant_scale1 = kept.Address(dequant_scale1.value(), call.dequant_scale1);
    }
    if (quant_scale1.has_value()) {
        at.quant_scale1 = kept.Address(quant_scale1.value(), call.quant_scale1);
    }
    if (dequant_scale2.has_value()) {
        at.dequant_scale2 = kept.Address(dequant_scale2.value(), call.dequant_scale2);
    }
    if (quant_scale2.has_value()) {
        at.quant_scale2 = kept.Address(quant_scale2.value(), call.quant_scale2);
    }
    if (quant_offset2.has_value()) {
        at.quant_offset2 = kept.Address(quant_offset2.value(), call.quant_offset2);
    }
    if (antiquant_scale.has_value()) {
        at.antiquant_scale = kept.Address(antiquant_scale.value(), call.antiquant_scale);
    }
    if (antiquant_offset.has_value()) {
        at.antiquant_offset = kept.Address(antiquant_offset.value(), call.antiquant_offset);
    }
    if (block_table.has_value()) {
        at.block_table = kept.Address(block_table.value(), call.block_table);
    }
    call.num_heads = num_heads;
    call.input_layout = std::string(input_layout);
    call.scale_value = scale_value;
    call.num_key_value_heads = num_key_value_heads;
    call.block_size = block_size;
    call.inner_precise = inner_precise;
    if (kv_padding_size.has_value()) {
        at.kv_padding_size = kept.Address(kv_padding_size.value(), call.kv_padding_size);
    }
    return call;
}

void Require(const Status &status)
{
    TORCH_CHECK(status.Ok(), status.message);
}

at::Tensor RunOnNpu(const at::Tensor &query, at::TensorList key, at::TensorList value,
    const c10::optional<at::Tensor> &attn_mask, at::OptionalIntArrayRef actual_seq_lengths,
    const c10::optional<at::Tensor> &pse_shift, const c10::optional<at::Tensor> &dequant_scale1,
    const c10::optional<at::Tensor> &quant_scale1, const c10::optional<at::Tensor> &dequant_scale2,
    const c10::optional<at::Tensor> &quant_scale2, const c10::optional<at::Tensor> &quant_offset2,
    const c10::optional<at::Tensor> &antiquant_scale, const c10::optional<at::Tensor> &antiquant_offset,
    const c10::optional<at::Tensor> &block_table, int64_t num_heads, c10::string_view input_layout,
    double scale_value, int64_t num_key_value_heads, int64_t block_size, int64_t inner_precise,
    const c10::optional<at::Tensor> &kv_padding_size)
{
    Kept kept;
    Addresses at;
    Call call =
        ReadCall(query, key, value, attn_mask, actual_seq_lengths, pse_shift, dequant_scale1, quant_scale1,
            dequant_scale2, quant_scale2, quant_offset2, antiquant_scale, antiquant_offset, block_table,
            num_heads, input_layout, scale_value, num_key_value_heads, block_size, inner_precise,
            kv_padding_size, kept, at);
    Sizes sizes;
    std::vector<std::string> warnings;
    Require(Check(call, sizes, warnings));
    for (const std::string &warning : warnings) {
        TORCH_WARN(warning);
    }
    const auto options = query.options();
    if (call.actual_seq_lengths.given) {
        at.actual_seq_lengths = kept.Lengths(actual_seq_lengths.value().vec(), sizes.B, options);
    }
    at::Tensor attention_out =
        at::empty(sizes.query_layout == "BSH"
            ? std::vector<int64_t>{sizes.B, 1, sizes.N * sizes.D}
            : std::vector<int64_t>{sizes.B, sizes.N, 1, sizes.D},
            options.dtype(ToTorch((call.quant_scale2.given ? DataType::kInt8 : call.query.dtype))));
    at.attention_out = attention_out.data_ptr();
    const auto stream = c10_npu::getCurrentNPUStream().stream(true);
    constexpr int64_t kCores = 20;  // every Atlas A2 and A3 has as many cube cores
    warnings.clear();
    Require(Run(call, at, kCores, stream, [&](size_t bytes) { return kept.Take(bytes, options); }, warnings));
    return attention_out;
}

// Shapes and dtypes alone, for torch.compile and tensors on the meta device.
at::Tensor RunOnMeta(const at::Tensor &query, at::TensorList key, at::TensorList value,
    const c10::optional<at::Tensor> &attn_mask, at::OptionalIntArrayRef actual_seq_lengths,
    const c10::optional<at::Tensor> &pse_shift, const c10::optional<at::Tensor> &dequant_scale1,
    const c10::optional<at::Tensor> &quant_scale1, const c10::optional<at::Tensor> &dequant_scale2,
    const c10::optional<at::Tensor> &quant_scale2, const c10::optional<at::Tensor> &quant_offset2,
    const c10::optional<at::Tensor> &antiquant_scale, const c10::optional<at::Tensor> &antiquant_offset,
    const c10::optional<at::Tensor> &block_table, int64_t num_heads, c10::string_view input_layout,
    double scale_value, int64_t num_key_value_heads, int64_t block_size, int64_t inner_precise,
    const c10::optional<at::Tensor> &kv_padding_size)
{
    Kept kept;
    Addresses at;
    Call call =
        ReadCall(query, key, value, attn_mask, actual_seq_lengths, pse_shift, dequant_scale1, quant_scale1,
            dequant_scale2, quant_scale2, quant_offset2, antiquant_scale, antiquant_offset, block_table,
            num_heads, input_layout, scale_value, num_key_value_heads, block_size, inner_precise,
            kv_padding_size, kept, at);
    Sizes sizes;
    Require(Measure(call, sizes));
    const auto options = query.options();
    at::Tensor attention_out =
        at::empty(sizes.query_layout == "BSH"
            ? std::vector<int64_t>{sizes.B, 1, sizes.N * sizes.D}
            : std::vector<int64_t>{sizes.B, sizes.N, 1, sizes.D},
            options.dtype(ToTorch((call.quant_scale2.given ? DataType::kInt8 : call.query.dtype))));
    return attention_out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(attndsl, library)
{
    library.def(
        "incre_flash_attention(Tensor query, Tensor[] key, Tensor[] value, Tensor\? attn_mask=None, "
        "int[]\? actual_seq_lengths=None, Tensor\? pse_shift=None, Tensor\? dequant_scale1=None, "
        "Tensor\? quant_scale1=None, Tensor\? dequant_scale2=None, Tensor\? quant_scale2=None, "
        "Tensor\? quant_offset2=None, Tensor\? antiquant_scale=None, Tensor\? antiquant_offset=None, "
        "Tensor\? block_table=None, int num_heads=1, str input_layout='BSH', float scale_value=1.0, "
        "int num_key_value_heads=0, int block_size=0, int inner_precise=1, Tensor\? "
        "kv_padding_size=None) -> Tensor");
}

TORCH_LIBRARY_IMPL(attndsl, PrivateUse1, library)
{
    library.impl("incre_flash_attention", TORCH_FN(RunOnNpu));
}

TORCH_LIBRARY_IMPL(attndsl, Meta, library)
{
    library.impl("incre_flash_attention", TORCH_FN(RunOnMeta));
}
