// A call of self_attention by direct launch, compared with what the reference computes.
//
// Usage: self_attention_custom_sample [CORES]; CORES is the number of cube cores to use, all of the
// device if not given.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "self_attention_run.h"
#include "sample_case.h"

namespace {

using namespace self_attention_host;

constexpr int32_t kDevice = 0;

// A tensor of a call on the device.
void *Upload(const Recipe &recipe, Tensor &tensor, DeviceMemory &memory)
{
    const std::vector<uint8_t> bytes = Elements(recipe);
    tensor.given = true;
    tensor.dtype = recipe.dtype;
    tensor.shape = recipe.shape;
    return memory.Copy(bytes.data(), bytes.size());
}

// Integers that the host reads too: one a row on the device, as int64.
void *UploadLengths(const Recipe &recipe, Tensor &tensor, DeviceMemory &memory)
{
    tensor.given = true;
    tensor.dtype = recipe.dtype;
    tensor.stored = DataType::kInt64;
    tensor.shape = recipe.shape;
    tensor.values = recipe.values.data();
    std::vector<int64_t> rows = recipe.values;
    rows.resize(std::max(rows.size(), recipe.rows), rows.empty() ? 0 : rows[0]);
    return memory.Copy(rows.data(), rows.size() * sizeof(int64_t));
}

// `cores`: 0 for all that the device has. The sample has the device for itself, one stream in one
// process.
int RunSample(int64_t cores)
{
    DeviceMemory memory;
    Call call;
    Addresses at;
    at.query = Upload(sample::query, call.query, memory);
    call.cacheK_list.given = true;
    call.cacheK_list.list = true;
    for (const Recipe &recipe : sample::cacheK) {
        call.cacheK_list.entries.emplace_back();
        at.cacheK.push_back(Upload(recipe, call.cacheK_list.entries.back(), memory));
    }
    call.cacheV_list.given = true;
    call.cacheV_list.list = true;
    for (const Recipe &recipe : sample::cacheV) {
        call.cacheV_list.entries.emplace_back();
        at.cacheV.push_back(Upload(recipe, call.cacheV_list.entries.back(), memory));
    }
    at.tokenOffset = UploadLengths(sample::tokenOffset, call.tokenOffset, memory);
    at.seqLen = UploadLengths(sample::seqLen, call.seqLen, memory);
    at.layerId = UploadLengths(sample::layerId, call.layerId, memory);
    call.quantType = 0;
    call.outDataType = -1;
    call.headNum = 2;
    call.kvHeadNum = 1;
    call.qScale = 0.125;
    call.qkScale = 0.08836936166501294;
    call.batchRunStatusEnable = false;
    call.isTriuMask = 0;
    call.calcType = 2;
    call.kernelType = 0;
    call.clampType = 0;
    call.maskType = 0;
    call.kvcacheCfg = 1;
    call.scaleType = 0;
    call.inputLayout = 0;
    call.mlaVHeadSize = 0;
    call.cacheType = 0;
    call.windowSize = 0;
    at.output = memory.Take(sample::output.size() * BytesOf(DataType::kFloat16));

    if (memory.Failed()) {
        std::fprintf(stderr, "the tensors of the call do not fit the device's memory\n");
        return 1;
    }
    DeviceShare share;
    const Status known = ShareOf(kDevice, true, share);
    if (!known.Ok()) {
        std::fprintf(stderr, "%s: %s\n", known.error.c_str(), known.message.c_str());
        return 1;
    }
    share.cores = cores > 0 ? std::min(cores, share.cores) : share.cores;
    aclrtStream stream = nullptr;
    if (aclrtCreateStream(&stream) != ACL_SUCCESS) {
        std::fprintf(stderr, "no stream can be made\n");
        return 1;
    }
    std::vector<std::string> warnings;
    const Status status =
        Run(call, at, share, stream, [&](size_t bytes) { return memory.Take(bytes); },
        [&](const void *data, size_t bytes) { return memory.Copy(data, bytes); }, warnings);
    if (!status.Ok()) {
        std::fprintf(stderr, "%s: %s\n", status.error.c_str(), status.message.c_str());
        aclrtDestroyStream(stream);
        return 1;
    }
    const int ended = aclrtSynchronizeStream(stream);
    aclrtDestroyStream(stream);
    if (ended != ACL_SUCCESS) {
        std::fprintf(stderr, "the kernel failed, error %d\n", ended);
        return 1;
    }
    bool good = true;
    good &= Agrees("output", at.output, DataType::kFloat16, sample::output, 0.00206566);
    std::printf("%s\n", good ? "ok" : "WRONG");
    return good ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv)
{
    const int64_t cores = argc > 1 ? std::atoll(argv[1]) : 0;
    if (argc > 2 || (argc > 1 && cores < 1)) {
        std::fprintf(stderr, "usage: %s [CORES]\n", argv[0]);
        return 2;
    }
    if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(kDevice) != ACL_SUCCESS) {
        std::fprintf(stderr, "no NPU can be used\n");
        return 1;
    }
    const int result = RunSample(cores);
    aclrtResetDevice(kDevice);
    aclFinalize();
    return result;
}
