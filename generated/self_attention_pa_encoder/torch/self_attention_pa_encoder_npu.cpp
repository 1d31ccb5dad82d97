// self_attention_pa_encoder as a custom operator of PyTorch on NPUs (PrivateUse1), launched directly, without an operator package.
// Schema: self_attention_pa_encoder(Tensor query, Tensor key, Tensor? value, Tensor? mask, int[] seqLen, Tensor? slopes=None, Tensor? qkDescale=None, Tensor? qkOffset=None, Tensor? vpvDescale=None, Tensor? vpvOffset=None, Tensor? pScale=None, Tensor? logN=None, *, int quantType=0, int outDataType=-1, int headNum=0, int kvHeadNum=0, float qScale=1.0, float qkScale=1.0, bool batchRunStatusEnable=False, int isTriuMask=0, int calcType=3, int kernelType=0, int clampType=0, float clampMin=0.0, float clampMax=0.0, int maskType=0, int kvcacheCfg=0, int scaleType=0, int inputLayout=0, int mlaVHeadSize=0, int cacheType=0, int windowSize=0) -> Tensor
#include <torch/extension.h>
#include <torch/library.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "../direct/self_attention_pa_encoder_run.h"

namespace {

using namespace self_attention_pa_encoder_host;

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
Call ReadCall(const at::Tensor &query, const at::Tensor &key, const c10::optional<at::Tensor> &value,
    const c10::optional<at::Tensor> &mask, at::IntArrayRef seqLen, const c10::optional<at::Tensor> &slopes,
    const c10::optional<at::Tensor> &qkDescale, const c10::optional<at::Tensor> &qkOffset,
    const c10::optional<at::Tensor> &vpvDescale, const c10::optional<at::Tensor> &vpvOffset,
    const c10::optional<at::Tensor> &pScale, const c10::optional<at::Tensor> &logN, int64_t quantType,
    int64_t outDataType, int64_t headNum, int64_t kvHeadNum, double qScale, double qkScale,
    bool batchRunStatusEnable, int64_t isTriuMask, int64_t calcType, int64_t kernelType, int64_t clampType,
    double clampMin, double clampMax, int64_t maskType, int64_t kvcacheCfg, int64_t scaleType,
    int64_t inputLayout, int64_t mlaVHeadSize, int64_t cacheType, int64_t windowSize, Kept &kept,
    Addresses &at)
{
    Call call;
    at.query = kept.Address(query, call.query);
    at.key = kept.Address(key, call.key);
    if (value.has_value()) {
        at.value = kept.Address(value.value(), call.value);
    }
    if (mask.has_value()) {
        at.mask = kept.Address(mask.value(), call.mask);
    }
    call.seqLen.given = true;
    call.seqLen.dtype = DataType::kInt32;
    call.seqLen.stored = DataType::kInt64;
    call.seqLen.shape = {static_cast<int64_t>(seqLen.size())};
    call.seqLen.values = seqLen.data();
    if (slopes.has_value()) {
        at.slopes = kept.Address(slopes.value(), call.slopes);
    }
    if (qkDescale.has_value()) {
        at.qkDescale = kept.Address(qkDescale.value(), call.qkDescale);
    }
    if (qkOffset.has_value()) {
        at.qkOffset = kept.Address(qkOffset.value(), call.qkOffset);
    }
    if (vpvDescale.has_value()) {
        at.vpvDescale = kept.Address(vpvDescale.value(), call.vpvDescale);
    }
    if (vpvOffset.has_value()) {
        at.vpvOffset = kept.Address(vpvOffset.value(), call.vpvOffset);
    }
    if (pScale.has_value()) {
        at.pScale = kept.Address(pScale.value(), call.pScale);
    }
    if (logN.has_value()) {
        at.logN = kept.Address(logN.value(), call.logN);
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

void Require(const Status &status)
{
    TORCH_CHECK(status.Ok(), status.message);
}

at::Tensor RunOnNpu(const at::Tensor &query, const at::Tensor &key, const c10::optional<at::Tensor> &value,
    const c10::optional<at::Tensor> &mask, at::IntArrayRef seqLen, const c10::optional<at::Tensor> &slopes,
    const c10::optional<at::Tensor> &qkDescale, const c10::optional<at::Tensor> &qkOffset,
    const c10::optional<at::Tensor> &vpvDescale, const c10::optional<at::Tensor> &vpvOffset,
    const c10::optional<at::Tensor> &pScale, const c10::optional<at::Tensor> &logN, int64_t quantType,
    int64_t outDataType, int64_t headNum, int64_t kvHeadNum, double qScale, double qkScale,
    bool batchRunStatusEnable, int64_t isTriuMask, int64_t calcType, int64_t kernelType, int64_t clampType,
    double clampMin, double clampMax, int64_t maskType, int64_t kvcacheCfg, int64_t scaleType,
    int64_t inputLayout, int64_t mlaVHeadSize, int64_t cacheType, int64_t windowSize)
{
    Kept kept;
    Addresses at;
    Call call =
        ReadCall(query, key, value, mask, seqLen, slopes, qkDescale, qkOffset, vpvDescale, vpvOffset, pScale,
            logN, quantType, outDataType, headNum, kvHeadNum, qScale, qkScale, batchRunStatusEnable,
            isTriuMask, calcType, kernelType, clampType, clampMin, clampMax, maskType, kvcacheCfg, scaleType,
            inputLayout, mlaVHeadSize, cacheType, windowSize, kept, at);
    Sizes sizes;
    std::vector<std::string> warnings;
    Require(Check(call, sizes, warnings));
    for (const std::string &warning : warnings) {
        TORCH_WARN(warning);
    }
    const auto options = query.options();
    if (call.seqLen.given) {
        at.seqLen = kept.Lengths(seqLen.vec(), sizes.batch, options);
    }
    at::Tensor output =
        at::empty(sizes.query_layout == "tokens"
            ? std::vector<int64_t>{sizes.nTokens, call.headNum, sizes.headSizeV}
            : sizes.query_layout == "merged"
            ? std::vector<int64_t>{sizes.nTokens, call.headNum * sizes.headSizeV}
            : sizes.query_layout == "padded"
            ? std::vector<int64_t>{sizes.batch, sizes.qRows, call.headNum * sizes.headSizeV}
            : std::vector<int64_t>{sizes.batch, call.headNum, sizes.qRows, sizes.headSizeV},
            options.dtype(ToTorch((call.quantType > 0
                ? (call.outDataType == 27 ? DataType::kBfloat16 : DataType::kFloat16)
                : call.query.dtype))));
    at.output = output.data_ptr();
    const auto stream = c10_npu::getCurrentNPUStream().stream(true);
    constexpr int64_t kCores = 20;  // every Atlas A2 and A3 has as many cube cores
    warnings.clear();
    Require(Run(call, at, kCores, stream, [&](size_t bytes) { return kept.Take(bytes, options); }, warnings));
    return output;
}

// Shapes and dtypes alone, for torch.compile and tensors on the meta device.
at::Tensor RunOnMeta(const at::Tensor &query, const at::Tensor &key, const c10::optional<at::Tensor> &value,
    const c10::optional<at::Tensor> &mask, at::IntArrayRef seqLen, const c10::optional<at::Tensor> &slopes,
    const c10::optional<at::Tensor> &qkDescale, const c10::optional<at::Tensor> &qkOffset,
    const c10::optional<at::Tensor> &vpvDescale, const c10::optional<at::Tensor> &vpvOffset,
    const c10::optional<at::Tensor> &pScale, const c10::optional<at::Tensor> &logN, int64_t quantType,
    int64_t outDataType, int64_t headNum, int64_t kvHeadNum, double qScale, double qkScale,
    bool batchRunStatusEnable, int64_t isTriuMask, int64_t calcType, int64_t kernelType, int64_t clampType,
    double clampMin, double clampMax, int64_t maskType, int64_t kvcacheCfg, int64_t scaleType,
    int64_t inputLayout, int64_t mlaVHeadSize, int64_t cacheType, int64_t windowSize)
{
    Kept kept;
    Addresses at;
    Call call =
        ReadCall(query, key, value, mask, seqLen, slopes, qkDescale, qkOffset, vpvDescale, vpvOffset, pScale,
            logN, quantType, outDataType, headNum, kvHeadNum, qScale, qkScale, batchRunStatusEnable,
            isTriuMask, calcType, kernelType, clampType, clampMin, clampMax, maskType, kvcacheCfg, scaleType,
            inputLayout, mlaVHeadSize, cacheType, windowSize, kept, at);
    Sizes sizes;
    Require(Measure(call, sizes));
    const auto options = query.options();
    at::Tensor output =
        at::empty(sizes.query_layout == "tokens"
            ? std::vector<int64_t>{sizes.nTokens, call.headNum, sizes.headSizeV}
            : sizes.query_layout == "merged"
            ? std::vector<int64_t>{sizes.nTokens, call.headNum * sizes.headSizeV}
            : sizes.query_layout == "padded"
            ? std::vector<int64_t>{sizes.batch, sizes.qRows, call.headNum * sizes.headSizeV}
            : std::vector<int64_t>{sizes.batch, call.headNum, sizes.qRows, sizes.headSizeV},
            options.dtype(ToTorch((call.quantType > 0
                ? (call.outDataType == 27 ? DataType::kBfloat16 : DataType::kFloat16)
                : call.query.dtype))));
    return output;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(attndsl, library)
{
    library.def(
        "self_attention_pa_encoder(Tensor query, Tensor key, Tensor\? value, Tensor\? mask, int[] "
        "seqLen, Tensor\? slopes=None, Tensor\? qkDescale=None, Tensor\? qkOffset=None, Tensor\? "
        "vpvDescale=None, Tensor\? vpvOffset=None, Tensor\? pScale=None, Tensor\? logN=None, *, int "
        "quantType=0, int outDataType=-1, int headNum=0, int kvHeadNum=0, float qScale=1.0, float "
        "qkScale=1.0, bool batchRunStatusEnable=False, int isTriuMask=0, int calcType=3, int "
        "kernelType=0, int clampType=0, float clampMin=0.0, float clampMax=0.0, int maskType=0, int "
        "kvcacheCfg=0, int scaleType=0, int inputLayout=0, int mlaVHeadSize=0, int cacheType=0, int "
        "windowSize=0) -> Tensor");
}

TORCH_LIBRARY_IMPL(attndsl, PrivateUse1, library)
{
    library.impl("self_attention_pa_encoder", TORCH_FN(RunOnNpu));
}

TORCH_LIBRARY_IMPL(attndsl, Meta, library)
{
    library.impl("self_attention_pa_encoder", TORCH_FN(RunOnMeta));
}
