// Calls IncreFlashAttentionCustom through the aclnn interface of the installed package: the call of
// ../direct/sample_case.h.
// Build: see CMakeLists.txt beside this file. The argument order is that of the generated header.
#include <cstdio>
#include <cstring>

#include "acl/acl.h"
#include "aclnn_incre_flash_attention_custom.h"
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
    aclTensorList *key = MakeList(sample::key);
    aclTensorList *value = MakeList(sample::value);
    aclTensor *attn_mask = MakeTensor(sample::attn_mask.dtype, sample::attn_mask.shape);
    aclIntArray *actual_seq_lengths = nullptr;
    aclTensor *pse_shift = nullptr;
    aclTensor *dequant_scale1 = nullptr;
    aclTensor *quant_scale1 = nullptr;
    aclTensor *dequant_scale2 = nullptr;
    aclTensor *quant_scale2 = nullptr;
    aclTensor *quant_offset2 = nullptr;
    aclTensor *antiquant_scale = nullptr;
    aclTensor *antiquant_offset = nullptr;
    aclTensor *block_table = nullptr;
    aclTensor *kv_padding_size = nullptr;
    const int64_t num_heads = 2;
    char input_layout[] = "BSH";
    const double scale_value = 0.08838834764831845;
    const int64_t num_key_value_heads = 1;
    const int64_t block_size = 128;
    const int64_t inner_precise = 1;
    aclTensor *attention_out = MakeTensor(DataType::kFloat16, {2, 1, 256});
    int status =
        aclnnIncreFlashAttentionCustomGetWorkspaceSize(query, key, value, attn_mask,
            actual_seq_lengths, pse_shift, dequant_scale1, quant_scale1, dequant_scale2,
            quant_scale2, quant_offset2, antiquant_scale, antiquant_offset, block_table,
            kv_padding_size, num_heads, input_layout, scale_value, num_key_value_heads, block_size,
            inner_precise, attention_out,
        &workspaceSize, &executor);
    if (status != ACL_SUCCESS) {
        std::fprintf(stderr, "aclnnIncreFlashAttentionCustomGetWorkspaceSize: %d %s\n", status,
            aclGetRecentErrMsg());
        return 1;
    }
    void *workspace = nullptr;
    if (workspaceSize > 0
        && aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) {
        return 1;
    }
    status = aclnnIncreFlashAttentionCustom(workspace, workspaceSize, executor, stream);
    if (status != ACL_SUCCESS || aclrtSynchronizeStream(stream) != ACL_SUCCESS) {
        std::fprintf(stderr, "aclnnIncreFlashAttentionCustom: %d %s\n", status,
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
