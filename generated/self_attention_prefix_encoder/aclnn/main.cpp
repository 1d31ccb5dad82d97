// Calls SelfAttentionPrefixEncoderCustom through the aclnn interface of the installed package: the
// call of ../direct/sample_case.h.
// Build: see CMakeLists.txt beside this file. The argument order is that of the generated header.
#include <cstdio>
#include <cstring>

#include "acl/acl.h"
#include "aclnn_self_attention_prefix_encoder_custom.h"
#include "../direct/sample_case.h"

namespace {

using attndsl::DataType;

aclDataType ToAcl(DataType dtype)
{
    switch (dtype) {
        case DataType::kBfloat16:
            return ACL_BF16;
        case DataType::kBool:
            return ACL_BOOL;
        case DataType::kFloat16:
            return ACL_FLOAT16;
        case DataType::kFloat32:
            return ACL_FLOAT;
        case DataType::kFloat64:
            return ACL_DOUBLE;
        case DataType::kInt32:
            return ACL_INT32;
        case DataType::kInt64:
            return ACL_INT64;
        case DataType::kInt8:
            return ACL_INT8;
        case DataType::kUint32:
            return ACL_UINT32;
        case DataType::kUint64:
            return ACL_UINT64;
        case DataType::kUint8:
            return ACL_UINT8;
        default:
            return ACL_DT_UNDEFINED;
    }
}

// A tensor in device memory, contiguous; its elements are left as the allocation found them.
aclTensor *MakeTensor(DataType dtype, const std::vector<int64_t> &shape)
{
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) {
        strides[i - 1] = strides[i] * shape[i];
    }
    size_t bytes = 8;
    for (int64_t size : shape) {
        bytes *= static_cast<size_t>(size);
    }
    void *address = nullptr;
    if (aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS ||
        aclrtMemset(address, bytes, 0, bytes) != ACL_SUCCESS) {
        return nullptr;
    }
    return aclCreateTensor(shape.data(), shape.size(), ToAcl(dtype), strides.data(), 0,
        ACL_FORMAT_ND, shape.data(),
        shape.size(), address);
}

[[maybe_unused]] aclTensorList *MakeList(const std::vector<Recipe> &recipes)
{
    std::vector<const aclTensor *> tensors;
    for (const Recipe &recipe : recipes) {
        tensors.push_back(MakeTensor(recipe.dtype, recipe.shape));
    }
    return aclCreateTensorList(tensors.data(), tensors.size());
}

int RunCall(aclrtStream stream)
{
    // Zeros stand for all numbers here; ../direct shows how tensors are filled and results are
    // compared.
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    aclTensor *query = MakeTensor(sample::query.dtype, sample::query.shape);
    aclTensor *key = MakeTensor(sample::key.dtype, sample::key.shape);
    aclTensor *value = MakeTensor(sample::value.dtype, sample::value.shape);
    aclTensor *blockTables = MakeTensor(sample::blockTables.dtype, sample::blockTables.shape);
    aclTensor *mask = nullptr;
    aclIntArray *seqLen =
        aclCreateIntArray(sample::seqLen.values.data(), sample::seqLen.values.size());
    aclIntArray *kvSeqLen =
        aclCreateIntArray(sample::kvSeqLen.values.data(), sample::kvSeqLen.values.size());
    aclTensor *slopes = nullptr;
    const int64_t quantType = 0;
    const int64_t outDataType = -1;
    const int64_t headNum = 2;
    const int64_t kvHeadNum = 1;
    const double qScale = 1.0;
    const double qkScale = 0.08838834764831845;
    const bool batchRunStatusEnable = false;
    const int64_t isTriuMask = 1;
    const int64_t calcType = 4;
    const int64_t kernelType = 1;
    const int64_t clampType = 0;
    const double clampMin = 0.0;
    const double clampMax = 0.0;
    const int64_t maskType = 9;
    const int64_t kvcacheCfg = 0;
    const int64_t scaleType = 0;
    const int64_t inputLayout = 0;
    const int64_t mlaVHeadSize = 0;
    const int64_t cacheType = 0;
    const int64_t windowSize = 0;
    aclTensor *output = MakeTensor(DataType::kBfloat16, {6, 256});
    int status =
        aclnnSelfAttentionPrefixEncoderCustomGetWorkspaceSize(query, key, value, blockTables, mask,
            seqLen, kvSeqLen, slopes, quantType, outDataType, headNum, kvHeadNum, qScale, qkScale,
            batchRunStatusEnable, isTriuMask, calcType, kernelType, clampType, clampMin, clampMax,
            maskType, kvcacheCfg, scaleType, inputLayout, mlaVHeadSize, cacheType, windowSize,
            output,
        &workspaceSize, &executor);
    if (status != ACL_SUCCESS) {
        std::fprintf(stderr, "aclnnSelfAttentionPrefixEncoderCustomGetWorkspaceSize: %d %s\n",
            status, aclGetRecentErrMsg());
        return 1;
    }
    void *workspace = nullptr;
    if (workspaceSize > 0
        && aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) {
        return 1;
    }
    status = aclnnSelfAttentionPrefixEncoderCustom(workspace, workspaceSize, executor, stream);
    if (status != ACL_SUCCESS || aclrtSynchronizeStream(stream) != ACL_SUCCESS) {
        std::fprintf(stderr, "aclnnSelfAttentionPrefixEncoderCustom: %d %s\n", status,
            aclGetRecentErrMsg());
        return 1;
    }
    std::printf("ok\n");
    return 0;
}

}  // namespace

int main()
{
    aclrtStream stream = nullptr;
    if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS ||
        aclrtCreateStream(&stream) != ACL_SUCCESS) {
        std::fprintf(stderr, "no NPU can be used\n");
        return 1;
    }
    const int result = RunCall(stream);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    aclFinalize();
    return result;
}
