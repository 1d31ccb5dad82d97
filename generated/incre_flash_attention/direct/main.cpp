// A call of incre_flash_attention by direct launch, compared with what the reference computes.
//
// Usage: incre_flash_attention_custom_sample [CORES]; CORES is the number of cube cores to use, all
// of the device if not given.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "incre_flash_attention_run.h"
#include "sample_case.h"

namespace {

using namespace incre_flash_attention_host;

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

// `cores`: 0 for all that the device has. The sample has the device for itself, one stream in one
// process.
int RunSample(int64_t cores)
{
    DeviceMemory memory;
    Call call;
    Addresses at;
    at.query = Upload(sample::query, call.query, memory);
    call.key_list.given = true;
    call.key_list.list = true;
    for (const Recipe &recipe : sample::key) {
        call.key_list.entries.emplace_back();
        at.key.push_back(Upload(recipe, call.key_list.entries.back(), memory));
    }
    call.value_list.given = true;
    call.value_list.list = true;
    for (const Recipe &recipe : sample::value) {
        call.value_list.entries.emplace_back();
        at.value.push_back(Upload(recipe, call.value_list.entries.back(), memory));
    }
    at.attn_mask = Upload(sample::attn_mask, call.attn_mask, memory);
    call.num_heads = 2;
    call.input_layout = "BSH";
    call.scale_value = 0.08838834764831845;
    call.num_key_value_heads = 1;
    call.block_size = 128;
    call.inner_precise = 1;
    at.attention_out = memory.Take(sample::attention_out.size() * BytesOf(DataType::kFloat16));

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
    good &= Agrees("attention_out", at.attention_out, DataType::kFloat16, sample::attention_out,
        0.00484085);
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
