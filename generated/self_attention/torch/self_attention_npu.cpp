// self_attention as a custom operator of PyTorch on NPUs (PrivateUse1), launched directly, without
// an operator package.
// Schema: self_attention(Tensor query, Tensor? key, Tensor? value, Tensor(a!)[] cacheK,
// Tensor(b!)[] cacheV, Tensor? attentionMask, SymInt[] tokenOffset, SymInt[] seqLen, SymInt[]
// layerId, SymInt[]? batchStatus=None, Tensor? logN=None, *, int quantType=0, int outDataType=-1,
// int headNum=0, int kvHeadNum=0, float qScale=1.0, float qkScale=1.0, bool
// batchRunStatusEnable=False, int isTriuMask=0, int calcType=0, int kernelType=0, int clampType=0,
// float clampMin=0.0, float clampMax=0.0, int maskType=0, int kvcacheCfg=0, int scaleType=0, int
// inputLayout=0, int mlaVHeadSize=0, int cacheType=0, int windowSize=0) -> Tensor
#include <atomic>
#include <list>

#include <c10/core/DeviceGuard.h>
#include <torch/extension.h>
#include <torch/library.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "../direct/self_attention_run.h"
#include "../op_host/self_attention_shapes.h"

namespace {

using namespace self_attention_host;

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
Call ReadCall(const at::Tensor &query, const c10::optional<at::Tensor> &key,
    const c10::optional<at::Tensor> &value, at::TensorList cacheK, at::TensorList cacheV,
    const c10::optional<at::Tensor> &attentionMask, c10::SymIntArrayRef tokenOffset,
    c10::SymIntArrayRef seqLen, c10::SymIntArrayRef layerId, at::OptionalSymIntArrayRef batchStatus,
    const c10::optional<at::Tensor> &logN, int64_t quantType, int64_t outDataType, int64_t headNum,
    int64_t kvHeadNum, double qScale, double qkScale, bool batchRunStatusEnable, int64_t isTriuMask,
    int64_t calcType, int64_t kernelType, int64_t clampType, double clampMin, double clampMax,
    int64_t maskType, int64_t kvcacheCfg, int64_t scaleType, int64_t inputLayout,
    int64_t mlaVHeadSize, int64_t cacheType, int64_t windowSize, Reader &reader, Addresses &at)
{
    Call call;
    at.query = reader.Read("query", query, call.query);
    if (key.has_value()) {
        at.key = reader.Read("key", key.value(), call.key);
    }
    if (value.has_value()) {
        at.value = reader.Read("value", value.value(), call.value);
    }
    call.cacheK_list.given = true;
    call.cacheK_list.list = cacheK.size() != 1;
    for (const at::Tensor &tensor : cacheK) {
        call.cacheK_list.entries.emplace_back();
        at.cacheK.push_back(reader.ReadUpdated("cacheK", tensor, call.cacheK_list.entries.back()));
    }
    call.cacheV_list.given = true;
    call.cacheV_list.list = cacheV.size() != 1;
    for (const at::Tensor &tensor : cacheV) {
        call.cacheV_list.entries.emplace_back();
        at.cacheV.push_back(reader.ReadUpdated("cacheV", tensor, call.cacheV_list.entries.back()));
    }
    if (attentionMask.has_value()) {
        at.attentionMask = reader.Read("attentionMask", attentionMask.value(), call.attentionMask);
    }
    reader.ReadIntegers(tokenOffset, DataType::kInt32, call.tokenOffset);
    reader.ReadIntegers(seqLen, DataType::kInt32, call.seqLen);
    reader.ReadIntegers(layerId, DataType::kInt32, call.layerId);
    if (batchStatus.has_value()) {
        reader.ReadIntegers(batchStatus.value(), DataType::kInt32, call.batchStatus);
    }
    if (logN.has_value()) {
        at.logN = reader.Read("logN", logN.value(), call.logN);
    }
    call.quantType = quantType;
    call.outDataType = outDataType;
    call.headNum = headNum;
    call.kvHeadNum = kvHeadNum;
    call.qScale = qScale;
    call.qkScale = qkScale;
    call.batchRunStatusEnable = batchRunStatusEnable;
    call.isTriuMask = isTriuMask;
    call.calcType = calcType;
    call.kernelType = kernelType;
    call.clampType = clampType;
    call.clampMin = clampMin;
    call.clampMax = clampMax;
    call.maskType = maskType;
    call.kvcacheCfg = kvcacheCfg;
    call.scaleType = scaleType;
    call.inputLayout = inputLayout;
    call.mlaVHeadSize = mlaVHeadSize;
    call.cacheType = cacheType;
    call.windowSize = windowSize;
    return call;
}

// Whether the caller has promised that no other stream holds cores while a call runs.
std::atomic<bool> alone_on_device{false};

void SetAlone(bool alone) { alone_on_device = alone; }

void Require(const Status &status)
{
    TORCH_CHECK(status.Ok(), status.message);
}

at::Tensor RunOnNpu(const at::Tensor &query, const c10::optional<at::Tensor> &key,
    const c10::optional<at::Tensor> &value, at::TensorList cacheK, at::TensorList cacheV,
    const c10::optional<at::Tensor> &attentionMask, c10::SymIntArrayRef tokenOffset,
    c10::SymIntArrayRef seqLen, c10::SymIntArrayRef layerId, at::OptionalSymIntArrayRef batchStatus,
    const c10::optional<at::Tensor> &logN, int64_t quantType, int64_t outDataType, int64_t headNum,
    int64_t kvHeadNum, double qScale, double qkScale, bool batchRunStatusEnable, int64_t isTriuMask,
    int64_t calcType, int64_t kernelType, int64_t clampType, double clampMin, double clampMax,
    int64_t maskType, int64_t kvcacheCfg, int64_t scaleType, int64_t inputLayout,
    int64_t mlaVHeadSize, int64_t cacheType, int64_t windowSize)
{
    const at::Device device = query.device();
    const c10::DeviceGuard guard(device);
    Reader reader(device);
    Addresses at;
    Call call =
        ReadCall(query, key, value, cacheK, cacheV, attentionMask, tokenOffset, seqLen, layerId,
            batchStatus, logN, quantType, outDataType, headNum, kvHeadNum, qScale, qkScale,
            batchRunStatusEnable, isTriuMask, calcType, kernelType, clampType, clampMin, clampMax,
            maskType, kvcacheCfg, scaleType, inputLayout, mlaVHeadSize, cacheType, windowSize,
            reader, at);
    Sizes sizes;
    std::vector<std::string> warnings;
    Require(Check(call, sizes, warnings));
    for (const std::string &warning : warnings) {
        TORCH_WARN(warning);
    }
    if (call.tokenOffset.given) {
        at.tokenOffset = reader.UploadIntegers(call.tokenOffset, sizes.batch);
    }
    if (call.seqLen.given) {
        at.seqLen = reader.UploadIntegers(call.seqLen, sizes.batch);
    }
    if (call.layerId.given) {
        at.layerId = reader.UploadIntegers(call.layerId, 1);
    }
    if (call.batchStatus.given) {
        at.batchStatus = reader.UploadIntegers(call.batchStatus, sizes.batch);
    }
    const auto options = query.options();
    at::Tensor output =
        at::empty(ResultShape(0, call, sizes), options.dtype(ToTorch(call.query.dtype)));
    at.output = output.data_ptr();
    const auto stream = c10_npu::getCurrentNPUStream().stream(true);
    DeviceShare share;
    Require(ShareOf(device.index(), alone_on_device, share));
    warnings.clear();
    Require(Run(call, at, share, stream, [&](size_t bytes) { return reader.Take(bytes); },
        [&](const void *data, size_t bytes) { return reader.Upload(data, bytes); }, warnings));
    return output;
}

// Shapes and dtypes alone, for torch.compile and tensors on the meta device. Sizes may be symbols.
at::Tensor RunOnMeta(const at::Tensor &query, const c10::optional<at::Tensor> &key,
    const c10::optional<at::Tensor> &value, at::TensorList cacheK, at::TensorList cacheV,
    const c10::optional<at::Tensor> &attentionMask, c10::SymIntArrayRef tokenOffset,
    c10::SymIntArrayRef seqLen, c10::SymIntArrayRef layerId, at::OptionalSymIntArrayRef batchStatus,
    const c10::optional<at::Tensor> &logN, int64_t quantType, int64_t outDataType, int64_t headNum,
    int64_t kvHeadNum, double qScale, double qkScale, bool batchRunStatusEnable, int64_t isTriuMask,
    int64_t calcType, int64_t kernelType, int64_t clampType, double clampMin, double clampMax,
    int64_t maskType, int64_t kvcacheCfg, int64_t scaleType, int64_t inputLayout,
    int64_t mlaVHeadSize, int64_t cacheType, int64_t windowSize)
{
    Reader reader;
    Addresses at;
    Call call =
        ReadCall(query, key, value, cacheK, cacheV, attentionMask, tokenOffset, seqLen, layerId,
            batchStatus, logN, quantType, outDataType, headNum, kvHeadNum, qScale, qkScale,
            batchRunStatusEnable, isTriuMask, calcType, kernelType, clampType, clampMin, clampMax,
            maskType, kvcacheCfg, scaleType, inputLayout, mlaVHeadSize, cacheType, windowSize,
            reader, at);
    Require(ResolveLists(call));
    if (IsMeasured(call)) {
        Sizes sizes;
        Require(Measure(call, sizes));
    }
    const auto shapes = ResultShapes(call, reader.Shapes());
    const auto options = query.options();
    TORCH_CHECK(shapes[0].has_value(), kOperator,
        ": no layout of the contract fits the shapes of its arguments");
    at::Tensor output = at::empty_symint(*shapes[0], options.dtype(ToTorch(call.query.dtype)));
    return output;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(attndsl, library)
{
    library.def(
        "self_attention(Tensor query, Tensor\? key, Tensor\? value, Tensor(a!)[] cacheK, "
        "Tensor(b!)[] cacheV, Tensor\? attentionMask, SymInt[] tokenOffset, SymInt[] seqLen, "
        "SymInt[] layerId, SymInt[]\? batchStatus=None, Tensor\? logN=None, *, int quantType=0, "
        "int outDataType=-1, int headNum=0, int kvHeadNum=0, float qScale=1.0, float "
        "qkScale=1.0, bool batchRunStatusEnable=False, int isTriuMask=0, int calcType=0, int "
        "kernelType=0, int clampType=0, float clampMin=0.0, float clampMax=0.0, int maskType=0, "
        "int kvcacheCfg=0, int scaleType=0, int inputLayout=0, int mlaVHeadSize=0, int "
        "cacheType=0, int windowSize=0) -> Tensor");
    library.def("self_attention_alone_on_device(bool alone) -> ()", TORCH_FN(SetAlone));
}

TORCH_LIBRARY_IMPL(attndsl, PrivateUse1, library)
{
    library.impl("self_attention", TORCH_FN(RunOnNpu));
}

TORCH_LIBRARY_IMPL(attndsl, Meta, library)
{
    library.impl("self_attention", TORCH_FN(RunOnMeta));
}
