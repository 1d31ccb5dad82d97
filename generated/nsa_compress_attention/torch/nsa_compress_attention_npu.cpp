// nsa_compress_attention as a custom operator of PyTorch on NPUs (PrivateUse1), launched directly, without an operator package.
// Schema: nsa_compress_attention(Tensor query, Tensor key, Tensor value, float scale_value, int head_num, int compress_block_size, int compress_stride, int select_block_size, int select_block_count, *, Tensor? topk_mask=None, Tensor? atten_mask=None, int[] actual_seq_qlen, int[] actual_cmp_seq_kvlen, int[] actual_sel_seq_kvlen, str index_reading='op', bool relaxed=False) -> (Tensor, Tensor, Tensor, Tensor)
#include <torch/extension.h>
#include <torch/library.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "../direct/nsa_compress_attention_run.h"

namespace {

using namespace nsa_compress_attention_host;

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
Call ReadCall(const at::Tensor &query, const at::Tensor &key, const at::Tensor &value, double scale_value,
    int64_t head_num, int64_t compress_block_size, int64_t compress_stride, int64_t select_block_size,
    int64_t select_block_count, const c10::optional<at::Tensor> &topk_mask,
    const c10::optional<at::Tensor> &atten_mask, at::IntArrayRef actual_seq_qlen,
    at::IntArrayRef actual_cmp_seq_kvlen, at::IntArrayRef actual_sel_seq_kvlen,
    c10::string_view index_reading, bool relaxed, Kept &kept, Addresses &at)
{
    Call call;
    at.query = kept.Address(query, call.query);
    at.key = kept.Address(key, call.key);
    at.value = kept.Address(value, call.value);
    call.scale_value = scale_value;
    call.head_num = head_num;
    call.compress_block_size = compress_block_size;
    call.compress_stride = compress_stride;
    call.select_block_size = select_block_size;
    call.select_block_count = select_block_count;
    if (topk_mask.has_value()) {
        at.topk_mask = kept.Address(topk_mask.value(), call.topk_mask);
    }
    if (atten_mask.has_value()) {
        at.atten_mask = kept.Address(atten_mask.value(), call.atten_mask);
    }
    call.actual_seq_qlen.given = true;
    call.actual_seq_qlen.dtype = DataType::kInt64;
    call.actual_seq_qlen.stored = DataType::kInt64;
    call.actual_seq_qlen.shape = {static_cast<int64_t>(actual_seq_qlen.size())};
    call.actual_seq_qlen.values = actual_seq_qlen.data();
    call.actual_cmp_seq_kvlen.given = true;
    call.actual_cmp_seq_kvlen.dtype = DataType::kInt64;
    call.actual_cmp_seq_kvlen.stored = DataType::kInt64;
    call.actual_cmp_seq_kvlen.shape = {static_cast<int64_t>(actual_cmp_seq_kvlen.size())};
    call.actual_cmp_seq_kvlen.values = actual_cmp_seq_kvlen.data();
    call.actual_sel_seq_kvlen.given = true;
    call.actual_sel_seq_kvlen.dtype = DataType::kInt64;
    call.actual_sel_seq_kvlen.stored = DataType::kInt64;
    call.actual_sel_seq_kvlen.shape = {static_cast<int64_t>(actual_sel_seq_kvlen.size())};
    call.actual_sel_seq_kvlen.values = actual_sel_seq_kvlen.data();
    call.index_reading = std::string(index_reading);
    call.relaxed = relaxed;
    return call;
}

void Require(const Status &status)
{
    TORCH_CHECK(status.Ok(), status.message);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> RunOnNpu(const at::Tensor &query,
    const at::Tensor &key, const at::Tensor &value, double scale_value, int64_t head_num,
    int64_t compress_block_size, int64_t compress_stride, int64_t select_block_size,
    int64_t select_block_count, const c10::optional<at::Tensor> &topk_mask,
    const c10::optional<at::Tensor> &atten_mask, at::IntArrayRef actual_seq_qlen,
    at::IntArrayRef actual_cmp_seq_kvlen, at::IntArrayRef actual_sel_seq_kvlen,
    c10::string_view index_reading, bool relaxed)
{
    Kept kept;
    Addresses at;
    Call call =
        ReadCall(query, key, value, scale_value, head_num, compress_block_size, compress_stride,
            select_block_size, select_block_count, topk_mask, atten_mask, actual_seq_qlen,
            actual_cmp_seq_kvlen, actual_sel_seq_kvlen, index_reading, relaxed, kept, at);
    Sizes sizes;
    std::vector<std::string> warnings;
    Require(Check(call, sizes, warnings));
    for (const std::string &warning : warnings) {
        TORCH_WARN(warning);
    }
    const auto options = query.options();
    if (call.actual_seq_qlen.given) {
        at.actual_seq_qlen = kept.Lengths(actual_seq_qlen.vec(), sizes.B, options);
    }
    if (call.actual_cmp_seq_kvlen.given) {
        at.actual_cmp_seq_kvlen = kept.Lengths(actual_cmp_seq_kvlen.vec(), sizes.B, options);
    }
    if (call.actual_sel_seq_kvlen.given) {
        at.actual_sel_seq_kvlen = kept.Lengths(actual_sel_seq_kvlen.vec(), sizes.B, options);
    }
    at::Tensor attention_out =
        at::empty(std::vector<int64_t>{sizes.T1, sizes.N1, sizes.D2},
            options.dtype(ToTorch(call.query.dtype)));
    at.attention_out = attention_out.data_ptr();
    at::Tensor topk_indices_out =
        at::empty(std::vector<int64_t>{sizes.T1, sizes.N2, call.select_block_count},
            options.dtype(ToTorch(DataType::kInt32)));
    at.topk_indices_out = topk_indices_out.data_ptr();
    at::Tensor softmax_max_out =
        at::empty(std::vector<int64_t>{sizes.T1, sizes.N1, 8}, options.dtype(ToTorch(DataType::kFloat32)));
    at.softmax_max_out = softmax_max_out.data_ptr();
    at::Tensor softmax_sum_out =
        at::empty(std::vector<int64_t>{sizes.T1, sizes.N1, 8}, options.dtype(ToTorch(DataType::kFloat32)));
    at.softmax_sum_out = softmax_sum_out.data_ptr();
    const auto stream = c10_npu::getCurrentNPUStream().stream(true);
    constexpr int64_t kCores = 20;  // every Atlas A2 and A3 has as many cube cores
    warnings.clear();
    Require(Run(call, at, kCores, stream, [&](size_t bytes) { return kept.Take(bytes, options); }, warnings));
    return std::make_tuple(attention_out, topk_indices_out, softmax_max_out, softmax_sum_out);
}

// Shapes and dtypes alone, for torch.compile and tensors on the meta device.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> RunOnMeta(const at::Tensor &query,
    const at::Tensor &key, const at::Tensor &value, double scale_value, int64_t head_num,
    int64_t compress_block_size, int64_t compress_stride, int64_t select_block_size,
    int64_t select_block_count, const c10::optional<at::Tensor> &topk_mask,
    const c10::optional<at::Tensor> &atten_mask, at::IntArrayRef actual_seq_qlen,
    at::IntArrayRef actual_cmp_seq_kvlen, at::IntArrayRef actual_sel_seq_kvlen,
    c10::string_view index_reading, bool relaxed)
{
    Kept kept;
    Addresses at;
    Call call =
        ReadCall(query, key, value, scale_value, head_num, compress_block_size, compress_stride,
            select_block_size, select_block_count, topk_mask, atten_mask, actual_seq_qlen,
            actual_cmp_seq_kvlen, actual_sel_seq_kvlen, index_reading, relaxed, kept, at);
    Sizes sizes;
    Require(Measure(call, sizes));
    const auto options = query.options();
    at::Tensor attention_out =
        at::empty(std::vector<int64_t>{sizes.T1, sizes.N1, sizes.D2},
            options.dtype(ToTorch(call.query.dtype)));
    at::Tensor topk_indices_out =
        at::empty(std::vector<int64_t>{sizes.T1, sizes.N2, call.select_block_count},
            options.dtype(ToTorch(DataType::kInt32)));
    at::Tensor softmax_max_out =
        at::empty(std::vector<int64_t>{sizes.T1, sizes.N1, 8}, options.dtype(ToTorch(DataType::kFloat32)));
    at::Tensor softmax_sum_out =
        at::empty(std::vector<int64_t>{sizes.T1, sizes.N1, 8}, options.dtype(ToTorch(DataType::kFloat32)));
    return std::make_tuple(attention_out, topk_indices_out, softmax_max_out, softmax_sum_out);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(attndsl, library)
{
    library.def(
        "nsa_compress_attention(Tensor query, Tensor key, Tensor value, float scale_value, int "
        "head_num, int compress_block_size, int compress_stride, int select_block_size, int "
        "select_block_count, *, Tensor\? topk_mask=None, Tensor\? atten_mask=None, int[] "
        "actual_seq_qlen, int[] actual_cmp_seq_kvlen, int[] actual_sel_seq_kvlen, str "
        "index_reading='op', bool relaxed=False) -> (Tensor, Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(attndsl, PrivateUse1, library)
{
    library.impl("nsa_compress_attention", TORCH_FN(RunOnNpu));
}

TORCH_LIBRARY_IMPL(attndsl, Meta, library)
{
    library.impl("nsa_compress_attention", TORCH_FN(RunOnMeta));
}
