// A call of self_attention by direct launch, compared with what the reference computes.
//
// Usage: self_attention_custom_sample [CORES]; CORES is the number of cube cores to use, all of the
// device if not given.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "self_attention_run.h"
#include "sample_case.h"

namespace {

using namespace self_attention_host;

constexpr int32_t kDevice = 0;

// Device memory that is given back at the end.
class DeviceMemory {
public:
    ~DeviceMemory()
    {
        for (void *address : kept_) {
            aclrtFree(address);
        }
    }

    void *Take(size_t bytes)
    {
        void *address = nullptr;
        if (aclrtMalloc(&address, bytes > 0 ? bytes : 1, ACL_MEM_MALLOC_HUGE_FIRST)
            != ACL_SUCCESS) {
            failed_ = true;
            return nullptr;
        }
        kept_.push_back(address);
        return address;
    }

    void *Copy(const void *data, size_t bytes)
    {
        void *address = Take(bytes);
        const bool copied = address != nullptr &&
            (bytes == 0
                || aclrtMemcpy(address, bytes, data, bytes, ACL_MEMCPY_HOST_TO_DEVICE)
                    == ACL_SUCCESS);
        failed_ = failed_ || !copied;
        return copied ? address : nullptr;
    }

    // Whether any memory was refused, or any copy.
    bool Failed() const { return failed_; }

private:
    std::vector<void *> kept_;
    bool failed_ = false;
};

size_t BytesOf(DataType dtype)
{
    switch (dtype) {
        case DataType::kBool:
        case DataType::kInt8:
        case DataType::kUint8:
            return 1;
        case DataType::kFloat16:
        case DataType::kBfloat16:
            return 2;
        case DataType::kInt32:
        case DataType::kUint32:
        case DataType::kFloat32:
            return 4;
        default:
            return 8;
    }
}

// The bits of a number that the dtype holds exactly.
uint64_t Encode(DataType dtype, double number)
{
    const float single = static_cast<float>(number);
    uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof(bits));
    if (dtype == DataType::kFloat32) {
        return bits;
    }
    if (dtype == DataType::kBfloat16) {
        return bits >> 16;
    }
    if (dtype == DataType::kFloat16) {
        const uint32_t exponent = bits >> 23 & 0xFF;
        return exponent == 0
            ? 0
            : (bits >> 16 & 0x8000) | (exponent - 112) << 10 | (bits >> 13 & 0x3FF);
    }
    return static_cast<uint64_t>(static_cast<int64_t>(number));
}

double Decode(DataType dtype, const uint8_t *at)
{
    uint64_t bits = 0;
    std::memcpy(&bits, at, BytesOf(dtype));
    if (dtype == DataType::kFloat16) {
        const int exponent = static_cast<int>(bits >> 10 & 0x1F);
        const double fraction = static_cast<double>(bits & 0x3FF);
        const double size =
            exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
        const double value = exponent == 31 ? (fraction != 0 ? NAN : INFINITY) : size;
        return bits >> 15 != 0 ? -value : value;
    }
    if (dtype == DataType::kBfloat16 || dtype == DataType::kFloat32) {
        const uint32_t single =
            static_cast<uint32_t>(dtype == DataType::kFloat32 ? bits : bits << 16);
        float value = 0;
        std::memcpy(&value, &single, sizeof(value));
        return value;
    }
    if (dtype == DataType::kInt8) {
        return static_cast<int8_t>(bits);
    }
    return dtype == DataType::kInt32 ? static_cast<int32_t>(bits) : static_cast<double>(bits);
}

// The elements of a tensor: explicit, or from a counter as cases.json tells.
std::vector<uint8_t> Elements(const Recipe &recipe)
{
    int64_t count = 1;
    for (int64_t size : recipe.shape) {
        count *= size;
    }
    const size_t width = BytesOf(recipe.dtype);
    std::vector<uint8_t> bytes(static_cast<size_t>(count) * width);
    for (int64_t i = 0; i < count; ++i) {
        uint64_t x =
            static_cast<uint64_t>(i + 1) * 0x9E3779B97F4A7C15ULL
                + recipe.seed * 0xD1B54A32D192ED03ULL;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ x >> 27) * 0x94D049BB133111EBULL;
        const int64_t random = static_cast<int64_t>(x >> 40);
        const bool number =
            recipe.dtype == DataType::kFloat16 || recipe.dtype == DataType::kBfloat16 ||
            recipe.dtype == DataType::kFloat32;
        double value =
            number
                ? static_cast<double>(random % 256 - 128) / 64
                : static_cast<double>(random % 3 == 0);
        if (!recipe.values.empty()) {
            value = static_cast<double>(recipe.values[static_cast<size_t>(i)]);
        }
        const uint64_t bits = Encode(recipe.dtype, value);
        std::memcpy(bytes.data() + static_cast<size_t>(i) * width, &bits, width);
    }
    return bytes;
}

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

// The largest difference between a result on the device and what is expected of it.
double Difference(const void *address, DataType dtype, const std::vector<double> &expected)
{
    std::vector<uint8_t> bytes(expected.size() * BytesOf(dtype));
    if (aclrtMemcpy(bytes.data(), bytes.size(), address, bytes.size(), ACL_MEMCPY_DEVICE_TO_HOST)
        != ACL_SUCCESS) {
        return INFINITY;
    }
    double largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double error =
            std::fabs(Decode(dtype, bytes.data() + i * BytesOf(dtype)) - expected[i]);
        largest = error <= largest ? largest : error;  // a NaN stays
    }
    return largest;
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
    call.cacheK_list.given = true;
    call.cacheK_list.list = false;
    for (const Recipe &recipe : sample::cacheK) {
        call.cacheK_list.entries.emplace_back();
        at.cacheK.push_back(Upload(recipe, call.cacheK_list.entries.back(), memory));
    }
    call.cacheV_list.given = true;
    call.cacheV_list.list = false;
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
    call.qScale = 0.08838834764831845;
    call.qkScale = 0.0;
    call.batchRunStatusEnable = false;
    call.isTriuMask = 0;
    call.calcType = 0;
    call.kernelType = 0;
    call.clampType = 0;
    call.clampMin = 0.125;
    call.clampMax = 1.0;
    call.maskType = 0;
    call.kvcacheCfg = 0;
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
    {
        const double error = Difference(at.output, DataType::kFloat16, sample::output);
        std::printf("output: largest difference %g, allowed 0.0078125\n", error);
        good = good && error <= 0.0078125;
    }
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
