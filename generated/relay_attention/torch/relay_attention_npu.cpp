// relay_attention as a custom operator of PyTorch on NPUs (PrivateUse1), launched directly, without
// an operator package.
// Schema: relay_attention(Tensor query, Tensor[] key, Tensor[] value, Tensor[] keyShare, Tensor[]
// valueShare, Tensor attentionMask, SymInt[] seqLen, SymInt[] kvSeqLen, SymInt[] kvShareMap,
// SymInt[] kvShareLen, *, int headNum=0, float qkScale=1.0, int kvHeadNum=0, int maskType=0) ->
// Tensor
#include <atomic>
#include <list>

#include <c10/core/DeviceGuard.h>
#include <torch/extension.h>
#include <torch/library.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "../direct/relay_attention_run.h"
#include "../op_host/relay_attention_shapes.h"

namespace {

using namespace relay_attention_host;

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
    at::TensorList keyShare, at::TensorList valueShare, const at::Tensor &attentionMask,
    c10::SymIntArrayRef seqLen, c10::SymIntArrayRef kvSeqLen, c10::SymIntArrayRef kvShareMap,
    c10::SymIntArrayRef kvShareLen, int64_t headNum, double qkScale, int64_t kvHeadNum,
    int64_t maskType, Reader &reader, Addresses &at)
{
    Call call;
    at.query = reader.Read("query", query, call.query);
    call.key.given = true;
    for (const at::Tensor &tensor : key) {
        call.key.entries.emplace_back();
        at.key.push_back(reader.Read("key", tensor, call.key.entries.back()));
    }
    call.value.given = true;
    for (const at::Tensor &tensor : value) {
        call.value.entries.emplace_back();
        at.value.push_back(reader.Read("value", tensor, call.value.entries.back()));
    }
    call.keyShare.given = true;
    for (const at::Tensor &tensor : keyShare) {
        call.keyShare.entries.emplace_back();
        at.keyShare.push_back(reader.Read("keyShare", tensor, call.keyShare.entries.back()));
    }
    call.valueShare.given = true;
    for (const at::Tensor &tensor : valueShare) {
        call.valueShare.entries.emplace_back();
        at.valueShare.push_back(reader.Read("valueShare", tensor, call.valueShare.entries.back()));
    }
    at.attentionMask = reader.Read("attentionMask", attentionMask, call.attentionMask);
    reader.ReadIntegers(seqLen, DataType::kInt32, call.seqLen);
    reader.ReadIntegers(kvSeqLen, DataType::kInt32, call.kvSeqLen);
    reader.ReadIntegers(kvShareMap, DataType::kInt32, call.kvShareMap);
    reader.ReadIntegers(kvShareLen, DataType::kInt32, call.kvShareLen);
    call.headNum = headNum;
    call.qkScale = qkScale;
    call.kvHeadNum = kvHeadNum;
    call.maskType = maskType;
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
    at::TensorList keyShare, at::TensorList valueShare, const at::Tensor &attentionMask,
    c10::SymIntArrayRef seqLen, c10::SymIntArrayRef kvSeqLen, c10::SymIntArrayRef kvShareMap,
    c10::SymIntArrayRef kvShareLen, int64_t headNum, double qkScale, int64_t kvHeadNum,
    int64_t maskType)
{
    const at::Device device = query.device();
    const c10::DeviceGuard guard(device);
    Reader reader(device);
    Addresses at;
    Call call =
        ReadCall(query, key, value, keyShare, valueShare, attentionMask, seqLen, kvSeqLen,
            kvShareMap, kvShareLen, headNum, qkScale, kvHeadNum, maskType, reader, at);
    Sizes sizes;
    std::vector<std::string> warnings;
    Require(Check(call, sizes, warnings));
    for (const std::string &warning : warnings) {
        TORCH_WARN(warning);
    }
    if (call.seqLen.given) {
        at.seqLen = reader.UploadIntegers(call.seqLen, sizes.B);
    }
    if (call.kvSeqLen.given) {
        at.kvSeqLen = reader.UploadIntegers(call.kvSeqLen, sizes.B);
    }
    if (call.kvShareMap.given) {
        at.kvShareMap = reader.UploadIntegers(call.kvShareMap, sizes.B);
    }
    if (call.kvShareLen.given) {
        at.kvShareLen = reader.UploadIntegers(call.kvShareLen, sizes.BS);
    }
    const auto options = query.options();
    at::Tensor out =
        at::empty(ResultShape(0, call, sizes), options.dtype(ToTorch(call.query.dtype)));
    at.out = out.data_ptr();
    const auto stream = c10_npu::getCurrentNPUStream().stream(true);
    DeviceShare share;
    Require(ShareOf(device.index(), alone_on_device, share));
    warnings.clear();
    Require(Run(call, at, share, stream, [&](size_t bytes) { return reader.Take(bytes); },
        [&](const void *data, size_t bytes) { return reader.Upload(data, bytes); }, warnings));
    return out;
}

// Shapes and dtypes alone, for torch.compile and tensors on the meta device. Sizes may be symbols.
at::Tensor RunOnMeta(const at::Tensor &query, at::TensorList key, at::TensorList value,
    at::TensorList keyShare, at::TensorList valueShare, const at::Tensor &attentionMask,
    c10::SymIntArrayRef seqLen, c10::SymIntArrayRef kvSeqLen, c10::SymIntArrayRef kvShareMap,
    c10::SymIntArrayRef kvShareLen, int64_t headNum, double qkScale, int64_t kvHeadNum,
    int64_t maskType)
{
    Reader reader;
    Addresses at;
    Call call =
        ReadCall(query, key, value, keyShare, valueShare, attentionMask, seqLen, kvSeqLen,
            kvShareMap, kvShareLen, headNum, qkScale, kvHeadNum, maskType, reader, at);
    Require(ResolveLists(call));
    if (IsMeasured(call)) {
        Sizes sizes;
        Require(Measure(call, sizes));
    }
    const auto shapes = ResultShapes(call, reader.Shapes());
    const auto options = query.options();
    TORCH_CHECK(shapes[0].has_value(), kOperator,
        ": no layout of the contract fits the shapes of its arguments");
    at::Tensor out = at::empty_symint(*shapes[0], options.dtype(ToTorch(call.query.dtype)));
    return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(attndsl, library)
{
    library.def(
        "relay_attention(Tensor query, Tensor[] key, Tensor[] value, Tensor[] keyShare, Tensor[] "
        "valueShare, Tensor attentionMask, SymInt[] seqLen, SymInt[] kvSeqLen, SymInt[] "
        "kvShareMap, SymInt[] kvShareLen, *, int headNum=0, float qkScale=1.0, int kvHeadNum=0, "
        "int maskType=0) -> Tensor");
    library.def("relay_attention_alone_on_device(bool alone) -> ()", TORCH_FN(SetAlone));
}

TORCH_LIBRARY_IMPL(attndsl, PrivateUse1, library)
{
    library.impl("relay_attention", TORCH_FN(RunOnNpu));
}

TORCH_LIBRARY_IMPL(attndsl, Meta, library)
{
    library.impl("relay_attention", TORCH_FN(RunOnMeta));
}
