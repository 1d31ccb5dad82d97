// A stand-in of ours for the part of PyTorch's C++ interface that generated extensions use.
#pragma once
#include <cstdint>
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
using std::nullopt;

// A size; a symbol has no number.
class SymInt {
public:
    SymInt(int64_t number) : number_(number) {}
    std::optional<int64_t> maybe_as_int() const { return number_; }
    friend SymInt operator*(const SymInt &a, const SymInt &b) { return a.number_.value() * b.number_.value(); }
    friend SymInt operator/(const SymInt &a, const SymInt &b) { return a.number_.value() / b.number_.value(); }
    friend bool operator==(const SymInt &a, const SymInt &b) { return a.number_ == b.number_; }

private:
    std::optional<int64_t> number_;
};

class SymIntArrayRef {
public:
    SymIntArrayRef(const std::vector<SymInt> &v) : v_(&v) {}
    const SymInt *begin() const { return v_->data(); }
    const SymInt *end() const { return v_->data() + v_->size(); }

private:
    const std::vector<SymInt> *v_;
};
}  // namespace c10

namespace at {
enum ScalarType { kByte, kChar, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16, kUndefined };
using OptionalSymIntArrayRef = std::optional<c10::SymIntArrayRef>;

struct Device {
    std::string str() const { return "npu:0"; }
    int8_t index() const { return 0; }
    bool operator==(const Device &) const { return true; }
};

struct TensorOptions {
    TensorOptions(ScalarType t = kUndefined) : type(t) {}
    TensorOptions dtype(ScalarType t) const { return t; }
    TensorOptions device(std::optional<Device>) const { return *this; }
    ScalarType type;
};

class Tensor {
public:
    Tensor() = default;
    Tensor(const std::vector<c10::SymInt> &sizes, ScalarType type) : sizes_(sizes), type_(type) {}
    bool is_contiguous() const { return true; }
    Tensor contiguous() const { return *this; }
    Tensor to(Device) const { return *this; }
    Device device() const { return {}; }
    ScalarType scalar_type() const { return type_; }
    c10::SymIntArrayRef sym_sizes() const { return sizes_; }
    TensorOptions options() const { return type_; }
    void *data_ptr() const { return const_cast<c10::SymInt *>(sizes_.data()); }

private:
    std::vector<c10::SymInt> sizes_;
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

inline Tensor empty(const std::vector<int64_t> &sizes, TensorOptions options)
{
    return Tensor(std::vector<c10::SymInt>(sizes.begin(), sizes.end()), options.type);
}
inline Tensor empty_symint(const std::vector<c10::SymInt> &sizes, TensorOptions options)
{
    return Tensor(sizes, options.type);
}
}  // namespace at

#define TORCH_CHECK(good, ...)                                 \
    do {                                                       \
        if (!(good)) throw std::runtime_error("TORCH_CHECK");  \
    } while (0)
#define TORCH_WARN(...) static_cast<void>(__VA_ARGS__)
