// Tensors of the samples: how they are made, stored in device memory, and compared.
#ifndef ATTNDSL_SAMPLE_TENSORS_H
#define ATTNDSL_SAMPLE_TENSORS_H

#include <cmath>
#include <cstring>

#include "acl/acl.h"
#include "../op_host/contract.h"

namespace attndsl {

// A tensor: explicit integers, or random numbers of a seed. `rows`: entries that a single one
// stands for.
struct Recipe {
    DataType dtype;
    std::vector<int64_t> shape;
    uint64_t seed = 0;
    std::vector<int64_t> values = {};
    size_t rows = 0;
};

// Device memory that is given back at the end.
class DeviceMemory {
public:
    DeviceMemory() = default;
    DeviceMemory(const DeviceMemory &) = delete;
    DeviceMemory &operator=(const DeviceMemory &) = delete;
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

// Bytes of an element.
inline size_t BytesOf(DataType dtype)
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
inline uint64_t Encode(DataType dtype, double number)
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

// The number whose bits are stored.
inline double Decode(DataType dtype, const uint8_t *at)
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
inline std::vector<uint8_t> Elements(const Recipe &recipe)
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

// The largest difference between a result on the device and what is expected of it.
inline double Difference(const void *address, DataType dtype, const std::vector<double> &expected)
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

// Whether a result is as near to what is expected as is allowed; prints how near.
inline bool Agrees(const char *name, const void *address, DataType dtype,
    const std::vector<double> &expected, double allowed)
{
    const double error = Difference(address, dtype, expected);
    std::printf("%s: largest difference %g, allowed %g\n", name, error, allowed);
    return error <= allowed;
}

}  // namespace attndsl

#endif  // ATTNDSL_SAMPLE_TENSORS_H
