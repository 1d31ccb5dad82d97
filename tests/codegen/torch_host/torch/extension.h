// A stand-in of ours for the part of PyTorch's C++ interface that generated extensions use.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace c10 {
template <typename T>
using optional = std::optional<T>;
using string_view = std::string_view;
}  // namespace c10

namespace at {
enum ScalarType { kByte, kChar, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16, kUndefined };
struct Device {};

class IntArrayRef {
public:
    IntArrayRef() = default;
    IntArrayRef(const std::vector<int64_t> &v) : data_(v.data()), size_(v.size()) {}
    std::vector<int64_t> vec() const { return std::vector<int64_t>(data_, data_ + size_); }
    size_t size() const { return size_; }
    const int64_t *data() const { return data_; }

private:
    const int64_t *data_ = nullptr;
    size_t size_ = 0;
};
using OptionalIntArrayRef = std::optional<IntArrayRef>;

struct TensorOptions {
    ScalarType type = kUndefined;
    TensorOptions dtype(ScalarType t) const { return TensorOptions{t}; }
    Device device() const { return {}; }
};

class Tensor {
public:
    Tensor() = default;
    Tensor(std::vector<int64_t> sizes, ScalarType type) : sizes_(std::move(sizes)), type_(type) {}
    bool is_contiguous() const { return true; }
    Tensor contiguous() const { return *this; }
    Tensor to(Device) const { return *this; }
    ScalarType scalar_type() const { return type_; }
    IntArrayRef sizes() const { return sizes_; }
    TensorOptions options() const { return TensorOptions{type_}; }
    void *data_ptr() const { return const_cast<int64_t *>(sizes_.data()); }

private:
    std::vector<int64_t> sizes_;
    ScalarType type_ = kUndefined;
};

class TensorList {
public:
    TensorList(const std::vector<Tensor> &v) : v_(&v) {}
    size_t size() const { return v_->size(); }
    const Tensor &operator[](size_t i) const { return (*v_)[i]; }
    const Tensor *begin() const { return v_->data(); }
    const Tensor *end() const { return v_->data() + v_->size(); }

private:
    const std::vector<Tensor> *v_;
};

inline Tensor empty(std::vector<int64_t> sizes, TensorOptions options) { return Tensor(std::move(sizes), options.type); }
inline Tensor tensor(const std::vector<int64_t> &values, ScalarType type)
{
    return Tensor({static_cast<int64_t>(values.size())}, type);
}
}  // namespace at

#define TORCH_CHECK(good, ...)                                 \
    do {                                                       \
        if (!(good)) throw std::runtime_error("TORCH_CHECK");  \
    } while (0)
#define TORCH_WARN(...) static_cast<void>(__VA_ARGS__)
