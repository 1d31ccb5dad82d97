// nsa_compress_attention as a custom operator of PyTorch on NPUs (PrivateUse1), launched directly,
// without an operator package.
// Schema: nsa_compress_attention(Tensor query, Tensor key, Tensor value, float scale_value, int
// head_num, int compress_block_size, int compress_stride, int select_block_size, int
// select_block_count, *, Tensor? topk_mask=None, Tensor? atten_mask=None, SymInt[] actual_seq_qlen,
// SymInt[] actual_cmp_seq_kvlen, SymInt[] actual_sel_seq_kvlen, str index_reading='op', bool
// relaxed=False) -> (Tensor, Tensor, Tensor, Tensor)
#include <atomic>
#include <list>

#include <c10/core/DeviceGuard.h>
#include <torch/extension.h>
#include <torch/library.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "../direct/nsa_compress_attention_run.h"
#include "../op_host/nsa_compress_attention_shapes.h"

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

// Reads the arguments of a call. For a launch, it has the addresses of its tensors and keeps what
// they need until the launch has been enqueued. For shapes alone it asks for neither memory nor
// numbers, which a traced tensor does not have.
class Reader {
public:
    // `device`: where the tensors have to be; nothing for shapes alone.
    explicit Reader(c10::optional<at::Device> device = c10::nullopt) : device_(device) {}

    void *Read(const char *name, const at::Tensor &tensor, Tensor &seen)
    {
        const auto sizes = tensor.sym_sizes();
        shapes_.emplace(name, std::vector<c10::SymInt>(sizes.begin(), sizes.end()));
        seen.given = true;
        seen.dtype = FromTorch(tensor.scalar_type());
        for (const c10::SymInt &size : sizes) {
            seen.shape.push_back(size.maybe_as_int().value_or(-1));
        }
        if (!device_.has_value()) {
            return nullptr;
        }
        TORCH_CHECK(tensor.device() == *device_, kOperator, ": ", name, ": lies on ",
            tensor.device().str(),
            ", must be on ", device_->str(), " as query is");
        kept_.push_back(tensor.contiguous());
        return kept_.back().data_ptr();
    }

    // A tensor that is updated in place.
    void *ReadUpdated(const char *name, const at::Tensor &tensor, Tensor &seen)
    {
        TORCH_CHECK(!device_.has_value() || tensor.is_contiguous(), kOperator, ": ", name,
            ": what is updated in place has to be contiguous");
        return Read(name, tensor, seen);
    }

    // Integers that the host reads. Where one is a symbol, there is nothing to read.
    void ReadIntegers(c10::SymIntArrayRef values, DataType dtype, Tensor &seen)
    {
        integers_.emplace_back();
        for (const c10::SymInt &value : values) {
            integers_.back().push_back(value.maybe_as_int().value_or(INT64_MIN));
        }
        const std::vector<int64_t> &numbers = integers_.back();
        const bool told = std::find(numbers.begin(), numbers.end(), INT64_MIN) == numbers.end();
        seen.given = true;
        seen.dtype = dtype;
        seen.stored = DataType::kInt64;
        seen.shape = {static_cast<int64_t>(numbers.size())};
        seen.values = told ? numbers.data() : nullptr;
    }

    void *Take(size_t bytes)
    {
        kept_.push_back(
            at::empty({static_cast<int64_t>(bytes)}, at::TensorOptions(at::kByte).device(device_)));
        return kept_.back().data_ptr();
    }

    // A copy in device memory. It waits for the stream, as kernels that still run may use this
    // memory.
    void *Upload(const void *data, size_t bytes)
    {
        at::Tensor copy = at::empty({static_cast<int64_t>(bytes)}, at::kByte);
        std::memcpy(copy.data_ptr(), data, bytes);
        kept_.push_back(copy.to(*device_));
        return kept_.back().data_ptr();
    }

    // Integers that the host reads and kernels too, one a row.
    void *UploadIntegers(const Tensor &seen, int64_t rows)
    {
        std::vector<int64_t> each;
        for (int64_t row = 0; row < std::max(seen.Count(), rows); ++row) {
            each.push_back(seen.GetValue(row));
        }
        return Upload(each.data(), each.size() * sizeof(int64_t));
    }

    // Of each tensor, and of the first tensor of each list.
    const std::map<std::string, std::vector<c10::SymInt>> &Shapes() const { return shapes_; }

private:
    c10::optional<at::Device> device_;
    std::vector<at::Tensor> kept_;
    std::list<std::vector<int64_t>> integers_;
    std::map<std::string, std::vector<c10::SymInt>> shapes_;
};

// The arguments of a call; the addresses of its tensors are left in `at`.
Call ReadCall(const at::Tensor &query, const at::Tensor &key, const at::Tensor &value,
    double scale_value, int64_t head_num, int64_t compress_block_size, int64_t compress_stride,
    int64_t select_block_size, int64_t select_block_count,
    const c10::optional<at::Tensor> &topk_mask, const c10::optional<at::Tensor> &atten_mask,
    c10::SymIntArrayRef actual_seq_qlen, c10::SymIntArrayRef actual_cmp_seq_kvlen,
    c10::SymIntArrayRef actual_sel_seq_kvlen, c10::string_view index_reading, bool relaxed,
    Reader &reader, Addresses &at)
{
    Call call;
    at.query = reader.Read("query", query, call.query);
    at.key = reader.Read("key", key, call.key);
    at.value = reader.Read("value", value, call.value);
    call.scale_value = scale_value;
    call.head_num = head_num;
    call.compress_block_size = compress_block_size;
    call.compress_stride = compress_stride;
    call.select_block_size = select_block_size;
    call.select_block_count = select_block_count;
    if (topk_mask.has_value()) {
        at.topk_mask = reader.Read("topk_mask", topk_mask.value(), call.topk_mask);
    }
    if (atten_mask.has_value()) {
        at.atten_mask = reader.Read("atten_mask", atten_mask.value(), call.atten_mask);
    }
    reader.ReadIntegers(actual_seq_qlen, DataType::kInt64, call.actual_seq_qlen);
    reader.ReadIntegers(actual_cmp_seq_kvlen, DataType::kInt64, call.actual_cmp_seq_kvlen);
    reader.ReadIntegers(actual_sel_seq_kvlen, DataType::kInt64, call.actual_sel_seq_kvlen);
    call.index_reading = std::string(index_reading);
    call.relaxed = relaxed;
    return call;
}

// Whether the caller has promised that no other stream holds cores while a call runs.
std::atomic<bool> alone_on_device{false};

void SetAlone(bool alone) { alone_on_device = alone; }

void Require(const Status &status)
{
    TORCH_CHECK(status.Ok(), status.message);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> RunOnNpu(const at::Tensor &query,
    const at::Tensor &key, const at::Tensor &value, double scale_value, int64_t head_num,
    int64_t compress_block_size, int64_t compress_stride, int64_t select_block_size,
    int64_t select_block_count, const c10::optional<at::Tensor> &topk_mask,
    const c10::optional<at::Tensor> &atten_mask, c10::SymIntArrayRef actual_seq_qlen,
    c10::SymIntArrayRef actual_cmp_seq_kvlen, c10::SymIntArrayRef actual_sel_seq_kvlen,
    c10::string_view index_reading, bool relaxed)
{
    const at::Device device = query.device();
    const c10::DeviceGuard guard(device);
    Reader reader(device);
    Addresses at;
    Call call =
        ReadCall(query, key, value, scale_value, head_num, compress_block_size, compress_stride,
            select_block_size, select_block_count, topk_mask, atten_mask, actual_seq_qlen,
            actual_cmp_seq_kvlen, actual_sel_seq_kvlen, index_reading, relaxed, reader, at);
    Sizes sizes;
    std::vector<std::string> warnings;
    Require(Check(call, sizes, warnings));
    for (const std::string &warning : warnings) {
        TORCH_WARN(warning);
    }
    if (call.actual_seq_qlen.given) {
        at.actual_seq_qlen = reader.UploadIntegers(call.actual_seq_qlen, sizes.B);
    }
    if (call.actual_cmp_seq_kvlen.given) {
        at.actual_cmp_seq_kvlen = reader.UploadIntegers(call.actual_cmp_seq_kvlen, sizes.B);
    }
    if (call.actual_sel_seq_kvlen.given) {
        at.actual_sel_seq_kvlen = reader.UploadIntegers(call.actual_sel_seq_kvlen, sizes.B);
    }
    const auto options = query.options();
    at::Tensor attention_out =
        at::empty(ResultShape(0, call, sizes), options.dtype(ToTorch(call.query.dtype)));
    at.attention_out = attention_out.data_ptr();
    at::Tensor topk_indices_out =
        at::empty(ResultShape(1, call, sizes), options.dtype(ToTorch(DataType::kInt32)));
    at.topk_indices_out = topk_indices_out.data_ptr();
    at::Tensor softmax_max_out =
        at::empty(ResultShape(2, call, sizes), options.dtype(ToTorch(DataType::kFloat32)));
    at.softmax_max_out = softmax_max_out.data_ptr();
    at::Tensor softmax_sum_out =
        at::empty(ResultShape(3, call, sizes), options.dtype(ToTorch(DataType::kFloat32)));
    at.softmax_sum_out = softmax_sum_out.data_ptr();
    const auto stream = c10_npu::getCurrentNPUStream().stream(true);
    DeviceShare share;
    Require(ShareOf(device.index(), alone_on_device, share));
    warnings.clear();
    Require(Run(call, at, share, stream, [&](size_t bytes) { return reader.Take(bytes); },
        [&](const void *data, size_t bytes) { return reader.Upload(data, bytes); }, warnings));
    return std::make_tuple(attention_out, topk_indices_out, softmax_max_out, softmax_sum_out);
}

// Shapes and dtypes alone, for torch.compile and tensors on the meta device. Sizes may be symbols.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> RunOnMeta(const at::Tensor &query,
    const at::Tensor &key, const at::Tensor &value, double scale_value, int64_t head_num,
    int64_t compress_block_size, int64_t compress_stride, int64_t select_block_size,
    int64_t select_block_count, const c10::optional<at::Tensor> &topk_mask,
    const c10::optional<at::Tensor> &atten_mask, c10::SymIntArrayRef actual_seq_qlen,
    c10::SymIntArrayRef actual_cmp_seq_kvlen, c10::SymIntArrayRef actual_sel_seq_kvlen,
    c10::string_view index_reading, bool relaxed)
{
    Reader reader;
    Addresses at;
    Call call =
        ReadCall(query, key, value, scale_value, head_num, compress_block_size, compress_stride,
            select_block_size, select_block_count, topk_mask, atten_mask, actual_seq_qlen,
            actual_cmp_seq_kvlen, actual_sel_seq_kvlen, index_reading, relaxed, reader, at);
    Require(ResolveLists(call));
    if (IsMeasured(call)) {
        Sizes sizes;
        Require(Measure(call, sizes));
    }
    const auto shapes = ResultShapes(call, reader.Shapes());
    const auto options = query.options();
    TORCH_CHECK(shapes[0].has_value(), kOperator,
        ": no layout of the contract fits the shapes of its arguments");
    at::Tensor attention_out =
        at::empty_symint(*shapes[0], options.dtype(ToTorch(call.query.dtype)));
    TORCH_CHECK(shapes[1].has_value(), kOperator,
        ": no layout of the contract fits the shapes of its arguments");
    at::Tensor topk_indices_out =
        at::empty_symint(*shapes[1], options.dtype(ToTorch(DataType::kInt32)));
    TORCH_CHECK(shapes[2].has_value(), kOperator,
        ": no layout of the contract fits the shapes of its arguments");
    at::Tensor softmax_max_out =
        at::empty_symint(*shapes[2], options.dtype(ToTorch(DataType::kFloat32)));
    TORCH_CHECK(shapes[3].has_value(), kOperator,
        ": no layout of the contract fits the shapes of its arguments");
    at::Tensor softmax_sum_out =
        at::empty_symint(*shapes[3], options.dtype(ToTorch(DataType::kFloat32)));
    return std::make_tuple(attention_out, topk_indices_out, softmax_max_out, softmax_sum_out);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(attndsl, library)
{
    library.def(
        "nsa_compress_attention(Tensor query, Tensor key, Tensor value, float scale_value, int "
        "head_num, int compress_block_size, int compress_stride, int select_block_size, int "
        "select_block_count, *, Tensor\? topk_mask=None, Tensor\? atten_mask=None, SymInt[] "
        "actual_seq_qlen, SymInt[] actual_cmp_seq_kvlen, SymInt[] actual_sel_seq_kvlen, str "
        "index_reading='op', bool relaxed=False) -> (Tensor, Tensor, Tensor, Tensor)");
    library.def("nsa_compress_attention_alone_on_device(bool alone) -> ()", TORCH_FN(SetAlone));
}

TORCH_LIBRARY_IMPL(attndsl, PrivateUse1, library)
{
    library.impl("nsa_compress_attention", TORCH_FN(RunOnNpu));
}

TORCH_LIBRARY_IMPL(attndsl, Meta, library)
{
    library.impl("nsa_compress_attention", TORCH_FN(RunOnMeta));
}
