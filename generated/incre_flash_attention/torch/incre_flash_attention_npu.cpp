// incre_flash_attention as a custom operator of PyTorch on NPUs (PrivateUse1), launched directly,
// without an operator package.
// Schema: incre_flash_attention(Tensor query, Tensor[] key, Tensor[] value, Tensor? attn_mask=None,
// SymInt[]? actual_seq_lengths=None, Tensor? pse_shift=None, Tensor? dequant_scale1=None, Tensor?
// quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, Tensor?
// quant_offset2=None, Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, Tensor?
// block_table=None, int num_heads=1, str input_layout='BSH', float scale_value=1.0, int
// num_key_value_heads=0, int block_size=0, int inner_precise=1, Tensor? kv_padding_size=None) ->
// Tensor
#include <atomic>
#include <list>

#include <c10/core/DeviceGuard.h>
#include <torch/extension.h>
#include <torch/library.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "../direct/incre_flash_attention_run.h"
#include "../op_host/incre_flash_attention_shapes.h"

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
Call ReadCall(const at::Tensor &query, at::TensorList key, at::TensorList value,
    const c10::optional<at::Tensor> &attn_mask, at::OptionalSymIntArrayRef actual_seq_lengths,
    const c10::optional<at::Tensor> &pse_shift, const c10::optional<at::Tensor> &dequant_scale1,
    const c10::optional<at::Tensor> &quant_scale1, const c10::optional<at::Tensor> &dequant_scale2,
    const c10::optional<at::Tensor> &quant_scale2, const c10::optional<at::Tensor> &quant_offset2,
    const c10::optional<at::Tensor> &antiquant_scale,
    const c10::optional<at::Tensor> &antiquant_offset, const c10::optional<at::Tensor> &block_table,
    int64_t num_heads, c10::string_view input_layout, double scale_value,
    int64_t num_key_value_heads, int64_t block_size, int64_t inner_precise,
    const c10::optional<at::Tensor> &kv_padding_size, Reader &reader, Addresses &at)
{
    Call call;
    at.query = reader.Read("query", query, call.query);
    call.key_list.given = true;
    call.key_list.list = key.size() != 1;
    for (const at::Tensor &tensor : key) {
        call.key_list.entries.emplace_back();
        at.key.push_back(reader.Read("key", tensor, call.key_list.entries.back()));
    }
    call.value_list.given = true;
    call.value_list.list = value.size() != 1;
    for (const at::Tensor &tensor : value) {
        call.value_list.entries.emplace_back();
        at.value.push_back(reader.Read("value", tensor, call.value_list.entries.back()));
    }
    if (attn_mask.has_value()) {
        at.attn_mask = reader.Read("attn_mask", attn_mask.value(), call.attn_mask);
    }
    if (actual_seq_lengths.has_value()) {
        reader.ReadIntegers(actual_seq_lengths.value(), DataType::kInt64, call.actual_seq_lengths);
    }
    if (pse_shift.has_value()) {
        at.pse_shift = reader.Read("pse_shift", pse_shift.value(), call.pse_shift);
    }
    if (dequant_scale1.has_value()) {
        at.dequant_scale1 =
            reader.Read("dequant_scale1", dequant_scale1.value(), call.dequant_scale1);
    }
    if (quant_scale1.has_value()) {
        at.quant_scale1 = reader.Read("quant_scale1", quant_scale1.value(), call.quant_scale1);
    }
    if (dequant_scale2.has_value()) {
        at.dequant_scale2 =
            reader.Read("dequant_scale2", dequant_scale2.value(), call.dequant_scale2);
    }
    if (quant_scale2.has_value()) {
        at.quant_scale2 = reader.Read("quant_scale2", quant_scale2.value(), call.quant_scale2);
    }
    if (quant_offset2.has_value()) {
        at.quant_offset2 = reader.Read("quant_offset2", quant_offset2.value(), call.quant_offset2);
    }
    if (antiquant_scale.has_value()) {
        at.antiquant_scale =
            reader.Read("antiquant_scale", antiquant_scale.value(), call.antiquant_scale);
    }
    if (antiquant_offset.has_value()) {
        at.antiquant_offset =
            reader.Read("antiquant_offset", antiquant_offset.value(), call.antiquant_offset);
    }
    if (block_table.has_value()) {
        at.block_table = reader.Read("block_table", block_table.value(), call.block_table);
    }
    call.num_heads = num_heads;
    call.input_layout = std::string(input_layout);
    call.scale_value = scale_value;
    call.num_key_value_heads = num_key_value_heads;
    call.block_size = block_size;
    call.inner_precise = inner_precise;
    if (kv_padding_size.has_value()) {
        at.kv_padding_size =
            reader.Read("kv_padding_size", kv_padding_size.value(), call.kv_padding_size);
    }
    return call;
}

// Whether the caller has promised that no other stream holds cores while a call runs.
std::atomic<bool> alone_on_device{false};

void SetAlone(bool alone) { alone_on_device = alone; }

void Require(const Status &status)
{
    TORCH_CHECK(status.Ok(), status.message);
}

at::Tensor RunOnNpu(const at::Tensor &query, at::TensorList key, at::TensorList value,
    const c10::optional<at::Tensor> &attn_mask, at::OptionalSymIntArrayRef actual_seq_lengths,
    const c10::optional<at::Tensor> &pse_shift, const c10::optional<at::Tensor> &dequant_scale1,
    const c10::optional<at::Tensor> &quant_scale1, const c10::optional<at::Tensor> &dequant_scale2,
    const c10::optional<at::Tensor> &quant_scale2, const c10::optional<at::Tensor> &quant_offset2,
    const c10::optional<at::Tensor> &antiquant_scale,
    const c10::optional<at::Tensor> &antiquant_offset, const c10::optional<at::Tensor> &block_table,
    int64_t num_heads, c10::string_view input_layout, double scale_value,
    int64_t num_key_value_heads, int64_t block_size, int64_t inner_precise,
    const c10::optional<at::Tensor> &kv_padding_size)
{
    const at::Device device = query.device();
    const c10::DeviceGuard guard(device);
    Reader reader(device);
    Addresses at;
    Call call =
        ReadCall(query, key, value, attn_mask, actual_seq_lengths, pse_shift, dequant_scale1,
            quant_scale1, dequant_scale2, quant_scale2, quant_offset2, antiquant_scale,
            antiquant_offset, block_table, num_heads, input_layout, scale_value,
            num_key_value_heads, block_size, inner_precise, kv_padding_size, reader, at);
    Sizes sizes;
    std::vector<std::string> warnings;
    Require(Check(call, sizes, warnings));
    for (const std::string &warning : warnings) {
        TORCH_WARN(warning);
    }
    if (call.actual_seq_lengths.given) {
        at.actual_seq_lengths = reader.UploadIntegers(call.actual_seq_lengths, sizes.B);
    }
    const auto options = query.options();
    at::Tensor attention_out =
        at::empty(ResultShape(0, call, sizes),
            options.dtype(ToTorch((call.quant_scale2.given ? DataType::kInt8 : call.query.dtype))));
    at.attention_out = attention_out.data_ptr();
    const auto stream = c10_npu::getCurrentNPUStream().stream(true);
    DeviceShare share;
    Require(ShareOf(device.index(), alone_on_device, share));
    warnings.clear();
    Require(Run(call, at, share, stream, [&](size_t bytes) { return reader.Take(bytes); },
        [&](const void *data, size_t bytes) { return reader.Upload(data, bytes); }, warnings));
    return attention_out;
}

// Shapes and dtypes alone, for torch.compile and tensors on the meta device. Sizes may be symbols.
at::Tensor RunOnMeta(const at::Tensor &query, at::TensorList key, at::TensorList value,
    const c10::optional<at::Tensor> &attn_mask, at::OptionalSymIntArrayRef actual_seq_lengths,
    const c10::optional<at::Tensor> &pse_shift, const c10::optional<at::Tensor> &dequant_scale1,
    const c10::optional<at::Tensor> &quant_scale1, const c10::optional<at::Tensor> &dequant_scale2,
    const c10::optional<at::Tensor> &quant_scale2, const c10::optional<at::Tensor> &quant_offset2,
    const c10::optional<at::Tensor> &antiquant_scale,
    const c10::optional<at::Tensor> &antiquant_offset, const c10::optional<at::Tensor> &block_table,
    int64_t num_heads, c10::string_view input_layout, double scale_value,
    int64_t num_key_value_heads, int64_t block_size, int64_t inner_precise,
    const c10::optional<at::Tensor> &kv_padding_size)
{
    Reader reader;
    Addresses at;
    Call call =
        ReadCall(query, key, value, attn_mask, actual_seq_lengths, pse_shift, dequant_scale1,
            quant_scale1, dequant_scale2, quant_scale2, quant_offset2, antiquant_scale,
            antiquant_offset, block_table, num_heads, input_layout, scale_value,
            num_key_value_heads, block_size, inner_precise, kv_padding_size, reader, at);
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
        at::empty_symint(*shapes[0],
            options.dtype(ToTorch((call.quant_scale2.given ? DataType::kInt8 : call.query.dtype))));
    return attention_out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(attndsl, library)
{
    library.def(
        "incre_flash_attention(Tensor query, Tensor[] key, Tensor[] value, Tensor\? "
        "attn_mask=None, SymInt[]\? actual_seq_lengths=None, Tensor\? pse_shift=None, Tensor\? "
        "dequant_scale1=None, Tensor\? quant_scale1=None, Tensor\? dequant_scale2=None, Tensor\? "
        "quant_scale2=None, Tensor\? quant_offset2=None, Tensor\? antiquant_scale=None, Tensor\? "
        "antiquant_offset=None, Tensor\? block_table=None, int num_heads=1, str "
        "input_layout='BSH', float scale_value=1.0, int num_key_value_heads=0, int block_size=0, "
        "int inner_precise=1, Tensor\? kv_padding_size=None) -> Tensor");
    library.def("incre_flash_attention_alone_on_device(bool alone) -> ()", TORCH_FN(SetAlone));
}

TORCH_LIBRARY_IMPL(attndsl, PrivateUse1, library)
{
    library.impl("incre_flash_attention", TORCH_FN(RunOnNpu));
}

TORCH_LIBRARY_IMPL(attndsl, Meta, library)
{
    library.impl("incre_flash_attention", TORCH_FN(RunOnMeta));
}
