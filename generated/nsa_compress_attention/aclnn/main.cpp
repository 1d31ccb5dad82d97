// Calls NsaCompressAttentionCustom through the aclnn interface of the installed package: the call
// of ../direct/sample_case.h.
// Build: see CMakeLists.txt beside this file. The argument order is that of the generated header.
#include <cstdio>
#include <cstring>

#include "acl/acl.h"
#include "aclnn_nsa_compress_attention_custom.h"
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
    aclTensor *topk_mask = MakeTensor(sample::topk_mask.dtype, sample::topk_mask.shape);
    aclTensor *atten_mask = nullptr;
    aclIntArray *actual_seq_qlen =
        aclCreateIntArray(sample::actual_seq_qlen.values.data(),
            sample::actual_seq_qlen.values.size());
    aclIntArray *actual_cmp_seq_kvlen =
        aclCreateIntArray(sample::actual_cmp_seq_kvlen.values.data(),
            sample::actual_cmp_seq_kvlen.values.size());
    aclIntArray *actual_sel_seq_kvlen =
        aclCreateIntArray(sample::actual_sel_seq_kvlen.values.data(),
            sample::actual_sel_seq_kvlen.values.size());
    const double scale_value = -0.5;
    const int64_t head_num = 4;
    const int64_t compress_block_size = 32;
    const int64_t compress_stride = 16;
    const int64_t select_block_size = 80;
    const int64_t select_block_count = 5;
    char index_reading[] = "op";
    const bool relaxed = false;
    aclTensor *attention_out = MakeTensor(DataType::kFloat16, {2, 4, 128});
    aclTensor *topk_indices_out = MakeTensor(DataType::kInt32, {2, 2, 5});
    aclTensor *softmax_max_out = MakeTensor(DataType::kFloat32, {2, 4, 8});
    aclTensor *softmax_sum_out = MakeTensor(DataType::kFloat32, {2, 4, 8});
    int status =
        aclnnNsaCompressAttentionCustomGetWorkspaceSize(query, key, value, topk_mask, atten_mask,
            actual_seq_qlen, actual_cmp_seq_kvlen, actual_sel_seq_kvlen, scale_value, head_num,
            compress_block_size, compress_stride, select_block_size, select_block_count,
            index_reading, relaxed, attention_out, topk_indices_out, softmax_max_out,
            softmax_sum_out,
        &workspaceSize, &executor);
    if (status != ACL_SUCCESS) {
        std::fprintf(stderr, "aclnnNsaCompressAttentionCustomGetWorkspaceSize: %d %s\n", status,
            aclGetRecentErrMsg());
        return 1;
    }
    void *workspace = nullptr;
    if (workspaceSize > 0
        && aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) {
        return 1;
    }
    status = aclnnNsaCompressAttentionCustom(workspace, workspaceSize, executor, stream);
    if (status != ACL_SUCCESS || aclrtSynchronizeStream(stream) != ACL_SUCCESS) {
        std::fprintf(stderr, "aclnnNsaCompressAttentionCustom: %d %s\n", status,
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
