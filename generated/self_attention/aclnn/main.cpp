// Calls SelfAttentionCustom through the aclnn interface of the installed package: the call of
// ../direct/sample_case.h, compared with what the reference computes.
//
// Build: see CMakeLists.txt beside this file. The argument order is that of the generated header.
#include <cstdio>

#include "acl/acl.h"
#include "aclnn_self_attention_custom.h"
#include "../direct/sample_case.h"

namespace {

using namespace attndsl;

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

// What a call is made of: aclnn's objects and their device memory, given back at the end.
class CallObjects {
public:
    CallObjects() = default;
    CallObjects(const CallObjects &) = delete;
    CallObjects &operator=(const CallObjects &) = delete;

    ~CallObjects()
    {
        for (const aclTensor *tensor : tensors_) {
            aclDestroyTensor(tensor);
        }
        for (const aclTensorList *list : lists_) {
            aclDestroyTensorList(list);  // and the tensors in it
        }
        for (const aclIntArray *integers : integers_) {
            aclDestroyIntArray(integers);
        }
    }

    // A tensor with the elements of a recipe.
    aclTensor *Filled(const Recipe &recipe) { return Kept(MakeTensor(recipe), tensors_); }

    // A list of such tensors.
    aclTensorList *List(const std::vector<Recipe> &recipes)
    {
        std::vector<const aclTensor *> entries;
        bool made = true;
        for (const Recipe &recipe : recipes) {
            entries.push_back(MakeTensor(recipe));
            made = made && entries.back() != nullptr;
        }
        aclTensorList *list = made ? aclCreateTensorList(entries.data(), entries.size()) : nullptr;
        if (list == nullptr) {  // the entries are nobody else's
            for (const aclTensor *entry : entries) {
                if (entry != nullptr) {
                    tensors_.push_back(entry);
                }
            }
        }
        return Kept(list, lists_);
    }

    // Integers that the host reads.
    aclIntArray *Integers(const Recipe &recipe)
    {
        return Kept(aclCreateIntArray(recipe.values.data(), recipe.values.size()), integers_);
    }

    // A tensor for a result, all bits of it set: in floating point dtypes NaNs.
    aclTensor *Result(DataType dtype, const std::vector<int64_t> &shape)
    {
        size_t size = BytesOf(dtype);
        for (int64_t each : shape) {
            size *= static_cast<size_t>(each);
        }
        const std::vector<uint8_t> unwritten(size, 0xFF);
        results_.push_back(memory_.Copy(unwritten.data(), size));
        return Kept(Describe(dtype, shape, results_.back()), tensors_);
    }

    // Device memory; null where there is none.
    void *Take(uint64_t size) { return memory_.Take(static_cast<size_t>(size)); }

    // The addresses of the results, in the order in which they were made.
    const std::vector<void *> &Results() const { return results_; }

    // Whether anything could not be made.
    bool Failed() const { return failed_ || memory_.Failed(); }

private:
    aclTensor *MakeTensor(const Recipe &recipe)
    {
        const std::vector<uint8_t> elements = Elements(recipe);
        return Describe(recipe.dtype, recipe.shape, memory_.Copy(elements.data(), elements.size()));
    }

    // A contiguous tensor in device memory; null where there is none.
    static aclTensor *Describe(DataType dtype, const std::vector<int64_t> &shape, void *address)
    {
        if (address == nullptr) {
            return nullptr;
        }
        std::vector<int64_t> strides(shape.size(), 1);
        for (size_t i = shape.size(); i-- > 1;) {
            strides[i - 1] = strides[i] * shape[i];
        }
        return aclCreateTensor(shape.data(), shape.size(), ToAcl(dtype), strides.data(), 0,
            ACL_FORMAT_ND, shape.data(),
            shape.size(), address);
    }

    template <typename Object>
    Object *Kept(Object *object, std::vector<const Object *> &kept)
    {
        if (object == nullptr) {
            failed_ = true;
        } else {
            kept.push_back(object);
        }
        return object;
    }

    DeviceMemory memory_;
    std::vector<const aclTensor *> tensors_;
    std::vector<const aclTensorList *> lists_;
    std::vector<const aclIntArray *> integers_;
    std::vector<void *> results_;
    bool failed_ = false;
};

// Makes the call and waits for it. False where that failed, and why is said.
bool RunCall(CallObjects &call, aclrtStream stream)
{
    aclTensor *query = call.Filled(sample::query);
    aclTensor *key = nullptr;
    aclTensor *value = nullptr;
    aclTensorList *cacheK = call.List(sample::cacheK);
    aclTensorList *cacheV = call.List(sample::cacheV);
    aclTensor *attentionMask = nullptr;
    aclIntArray *tokenOffset = call.Integers(sample::tokenOffset);
    aclIntArray *seqLen = call.Integers(sample::seqLen);
    aclIntArray *layerId = call.Integers(sample::layerId);
    aclIntArray *batchStatus = nullptr;
    aclTensor *logN = nullptr;
    const int64_t quantType = 0;
    const int64_t outDataType = -1;
    const int64_t headNum = 2;
    const int64_t kvHeadNum = 1;
    const double qScale = 0.125;
    const double qkScale = 0.08836936166501294;
    const bool batchRunStatusEnable = false;
    const int64_t isTriuMask = 0;
    const int64_t calcType = 2;
    const int64_t kernelType = 0;
    const int64_t clampType = 0;
    const double clampMin = 0.0;
    const double clampMax = 0.0;
    const int64_t maskType = 0;
    const int64_t kvcacheCfg = 1;
    const int64_t scaleType = 0;
    const int64_t inputLayout = 0;
    const int64_t mlaVHeadSize = 0;
    const int64_t cacheType = 0;
    const int64_t windowSize = 0;
    aclTensor *output = call.Result(DataType::kFloat16, {2, 256});
    if (call.Failed()) {
        std::fprintf(stderr, "the tensors of the call cannot be made\n");
        return false;
    }
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    int status =
        aclnnSelfAttentionCustomGetWorkspaceSize(query, key, value, cacheK, cacheV, attentionMask,
            tokenOffset, seqLen, layerId, batchStatus, logN, quantType, outDataType, headNum,
            kvHeadNum, qScale, qkScale, batchRunStatusEnable, isTriuMask, calcType, kernelType,
            clampType, clampMin, clampMax, maskType, kvcacheCfg, scaleType, inputLayout,
            mlaVHeadSize, cacheType, windowSize, output, &workspaceSize, &executor);
    if (status != ACL_SUCCESS) {
        std::fprintf(stderr, "aclnnSelfAttentionCustomGetWorkspaceSize: %d %s\n", status,
            aclGetRecentErrMsg());
        return false;
    }
    void *workspace = workspaceSize > 0 ? call.Take(workspaceSize) : nullptr;
    if (workspaceSize > 0 && workspace == nullptr) {
        std::fprintf(stderr, "device memory for the workspace is missing\n");
        return false;
    }
    status = aclnnSelfAttentionCustom(workspace, workspaceSize, executor, stream);
    if (status != ACL_SUCCESS) {
        std::fprintf(stderr, "aclnnSelfAttentionCustom: %d %s\n", status, aclGetRecentErrMsg());
        return false;
    }
    status = aclrtSynchronizeStream(stream);
    if (status != ACL_SUCCESS) {
        std::fprintf(stderr, "the kernel failed, error %d %s\n", status, aclGetRecentErrMsg());
        return false;
    }
    return true;
}

// Whether all results are what is expected of them.
bool IsGood(const CallObjects &call)
{
    bool good = true;
    good &= Agrees("output", call.Results()[0], DataType::kFloat16, sample::output, 0.00206566);
    std::printf("%s\n", good ? "ok" : "WRONG");
    return good;
}

int RunSample(aclrtStream stream)
{
    CallObjects call;
    return RunCall(call, stream) && IsGood(call) ? 0 : 1;
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
    const int result = RunSample(stream);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    aclFinalize();
    return result;
}
