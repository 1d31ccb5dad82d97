// A call of nsa_compress_attention by direct launch, compared with what the reference computes.
//
// Usage: nsa_compress_attention_custom_sample [CORES]; CORES is the number of cube cores to use,
// all of the device if not given.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "nsa_compress_attention_run.h"
#include "sample_case.h"

namespace {

using namespace nsa_compress_attention_host;

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
    at.key = Upload(sample::key, call.key, memory);
    at.value = Upload(sample::value, call.value, memory);
    at.topk_mask = Upload(sample::topk_mask, call.topk_mask, memory);
    at.actual_seq_qlen = UploadLengths(sample::actual_seq_qlen, call.actual_seq_qlen, memory);
    at.actual_cmp_seq_kvlen =
        UploadLengths(sample::actual_cmp_seq_kvlen, call.actual_cmp_seq_kvlen, memory);
    at.actual_sel_seq_kvlen =
        UploadLengths(sample::actual_sel_seq_kvlen, call.actual_sel_seq_kvlen, memory);
    call.scale_value = -0.5;
    call.head_num = 4;
    call.compress_block_size = 32;
    call.compress_stride = 16;
    call.select_block_size = 80;
    call.select_block_count = 5;
    call.index_reading = "op";
    call.relaxed = false;
    at.attention_out = memory.Take(sample::attention_out.size() * BytesOf(DataType::kFloat16));
    at.topk_indices_out = memory.Take(sample::topk_indices_out.size() * BytesOf(DataType::kInt32));
    at.softmax_max_out = memory.Take(sample::softmax_max_out.size() * BytesOf(DataType::kFloat32));
    at.softmax_sum_out = memory.Take(sample::softmax_sum_out.size() * BytesOf(DataType::kFloat32));

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
        0.00775146);
    good &= Agrees("topk_indices_out", at.topk_indices_out, DataType::kInt32,
        sample::topk_indices_out, 0);
    good &= Agrees("softmax_max_out", at.softmax_max_out, DataType::kFloat32,
        sample::softmax_max_out, 0.00549909);
    good &= Agrees("softmax_sum_out", at.softmax_sum_out, DataType::kFloat32,
        sample::softmax_sum_out, 0.000497981);
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
