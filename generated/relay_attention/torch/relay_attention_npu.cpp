// relay_attention as a custom operator of PyTorch on NPUs (PrivateUse1), launched directly, without an operator package.
// Schema: relay_attention(Tensor query, Tensor[] key, Tensor[] value, Tensor[] keyShare, Tensor[] valueShare, Tensor attentionMask, int[] seqLen, int[] kvSeqLen, int[] kvShareMap, int[] kvShareLen, *, int headNum=0, float qkScale=1.0, int kvHeadNum=0, int maskType=0) -> Tensor
#include <torch/extension.h>
#include <torch/library.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "../direct/relay_attention_run.h"

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
Call ReadCall(const at::Tensor &query, at::TensorList key, at::TensorList value, at::TensorList keyShare,
    at::TensorList valueShare, const at::Tensor &attentionMask, at::IntArrayRef seqLen,
    at::IntArrayRef kvSeqLen, at::IntArrayRef kvShareMap, at::IntArrayRef kvShareLen, int64_t headNum,
    double qkScale, int64_t kvHeadNum, int64_t maskType, Kept &kept, Addresses &at)
{
    Call call;
    at.query = kept.Address(query, call.query);
    call.key.given = true;
    for (const at::Tensor &tensor : key) {
        call.key.entries.emplace_back();
        at.key.push_back(kept.Address(tensor, call.key.entries.back()));
    }
    call.value.given = true;
    for (const at::Tensor &tensor : value) {
        call.value.entries.emplace_back();
        at.value.push_back(kept.Address(tensor, call.value.entries.back()));
    }
    call.keyShare.given = true;
    for (const at::Tensor &tensor : keyShare) {
        call.keyShare.entries.emplace_back();
        at.keyShare.push_back(kept.Address(tensor, call.keyShare.entries.back()));
    }
    call.valueShare.given = true;
    for (const at::Tensor &tensor : valueShare) {
        call.valueShare.entries.emplace_back();
        at.valueShare.push_back(kept.Address(tensor, call.valueShare.entries.back()));
    }
    at.attentionMask = kept.Address(attentionMask, call.attentionMask);
    call.seqLen.given = true;
    call.seqLen.dtype = DataType::kInt32;
    call.seqLen.stored = DataType::kInt64;
    call.seqLen.shape = {static_cast<int64_t>(seqLen.size())};
    call.seqLen.values = seqLen.data();
    call.kvSeqLen.given = true;
    call.kvSeqLen.dtype = DataType::kInt32;
    call.kvSeqLen.stored = DataType::kInt64;
    call.kvSeqLen.shape = {static_cast<int64_t>(kvSeqLen.size())};
    call.kvSeqLen.values = kvSeqLen.data();
    call.kvShareMap.given = true;
    call.kvShareMap.dtype = DataType::kInt32;
    call.kvShareMap.stored = DataType::kInt64;
    call.kvShareMap.shape = {static_cast<int64_t>(kvShareMap.size())};
    call.kvShareMap.values = kvShareMap.data();
    call.kvShareLen.given = true;
    call.kvShareLen.dtype = DataType::kInt32;
    call.kvShareLen.stored = DataType::kInt64;
    call.kvShareLen.shape = {static_cast<int64_t>(kvShareLen.size())};
    call.kvShareLen.values = kvShareLen.data();
    call.headNum = headNum;
    call.qkScale = qkScale;
    call.kvHeadNum = kvHeadNum;
    call.maskType = maskType;
    return call;
}

void Require(const Status &status)
{
    TORCH_CHECK(status.Ok(), status.message);
}

at::Tensor RunOnNpu(const at::Tensor &query, at::TensorList key, at::TensorList value,
    at::TensorList keyShare, at::TensorList valueShare, const at::Tensor &attentionMask,
    at::IntArrayRef seqLen, at::IntArrayRef kvSeqLen, at::IntArrayRef kvShareMap, at::IntArrayRef kvShareLen,
    int64_t headNum, double qkScale, int64_t kvHeadNum, int64_t maskType)
{
    Kept kept;
    Addresses at;
    Call call =
        ReadCall(query, key, value, keyShare, valueShare, attentionMask, seqLen, kvSeqLen, kvShareMap,
            kvShareLen, headNum, qkScale, kvHeadNum, maskType, kept, at);
    Sizes sizes;
    std::vector<std::string> warnings;
    Require(Check(call, sizes, warnings));
    for (const std::string &warning : warnings) {
        TORCH_WARN(warning);
    }
    const auto options = query.options();
    if (call.seqLen.given) {
        at.seqLen = kept.Lengths(seqLen.vec(), sizes.B, options);
    }
    if (call.kvSeqLen.given) {
        at.kvSeqLen = kept.Lengths(kvSeqLen.vec(), sizes.B, options);
    }
    if (call.kvShareMap.given) {
        at.kvShareMap = kept.Lengths(kvShareMap.vec(), sizes.B, options);
    }
    if (call.kvShareLen.given) {
        at.kvShareLen = kept.Lengths(kvShareLen.vec(), sizes.BS, options);
    }
    at::Tensor out =
        at::empty(std::vector<int64_t>{sizes.B, call.headNum * sizes.D},
            options.dtype(ToTorch(call.query.dtype)));
    at.out = out.data_ptr();
    const auto stream = c10_npu::getCurrentNPUStream().stream(true);
    constexpr int64_t kCores = 20;  // every Atlas A2 and A3 has as many cube cores
    warnings.clear();
    Require(Run(call, at, kCores, stream, [&](size_t bytes) { return kept.Take(bytes, options); }, warnings));
    return out;
}

// Shapes and dtypes alone, for torch.compile and tensors on the meta device.
at::Tensor RunOnMeta(const at::Tensor &query, at::TensorList key, at::TensorList value,
    at::TensorList keyShare, at::TensorList valueShare, const at::Tensor &attentionMask,
    at::IntArrayRef seqLen, at::IntArrayRef kvSeqLen, at::IntArrayRef kvShareMap, at::IntArrayRef kvShareLen,
    int64_t headNum, double qkScale, int64_t kvHeadNum, int64_t maskType)
{
    Kept kept;
    Addresses at;
    Call call =
        ReadCall(query, key, value, keyShare, valueShare, attentionMask, seqLen, kvSeqLen, kvShareMap,
            kvShareLen, headNum, qkScale, kvHeadNum, maskType, kept, at);
    Sizes sizes;
    Require(Measure(call, sizes));
    const auto options = query.options();
    at::Tensor out =
        at::empty(std::vector<int64_t>{sizes.B, call.headNum * sizes.D},
            options.dtype(ToTorch(call.query.dtype)));
    return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(attndsl, library)
{
    library.def(
        "relay_attention(Tensor query, Tensor[] key, Tensor[] value, Tensor[] keyShare, Tensor[] "
        "valueShare, Tensor attentionMask, int[] seqLen, int[] kvSeqLen, int[] kvShareMap, int[] "
        "kvShareLen, *, int headNum=0, float qkScale=1.0, int kvHeadNum=0, int maskType=0) -> Tensor");
}

TORCH_LIBRARY_IMPL(attndsl, PrivateUse1, library)
{
    library.impl("relay_attention", TORCH_FN(RunOnNpu));
}

TORCH_LIBRARY_IMPL(attndsl, Meta, library)
{
    library.impl("relay_attention", TORCH_FN(RunOnMeta));
}
