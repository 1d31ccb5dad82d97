// What ATB's tiling sources ask of their host library (Mki), as small as they need it; ours, and no part of that library.
#pragma once
#include <algorithm>
#include <any>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <string>
#include <typeinfo>
#include <vector>

namespace Mki {

template <class T>
using SVector = std::vector<T>;

enum TensorDType { TENSOR_DTYPE_UNDEFINED = -1, TENSOR_DTYPE_FLOAT = 0, TENSOR_DTYPE_FLOAT16 = 1, TENSOR_DTYPE_INT8 = 2, TENSOR_DTYPE_INT32 = 3, TENSOR_DTYPE_BF16 = 27 };

struct TensorDesc {
  TensorDType dtype = TENSOR_DTYPE_UNDEFINED;
  SVector<int64_t> dims;
};
struct Tensor {
  TensorDesc desc;
  void* data = nullptr;
};
inline bool CheckEmptyTensor(const Tensor& tensor) { return tensor.desc.dims.empty(); }

enum { DIM_0, DIM_1, DIM_2, DIM_3, DIM_4, DIM_5 };
enum { NO_ERROR, ERROR_INVALID_VALUE, ERROR_INFERSHAPE_ERROR };

class Status {
 public:
  static Status OkStatus() { return Status(0, ""); }
  static Status FailStatus(int code, std::string why = "") { return Status(code, std::move(why)); }
  bool Ok() const { return code_ == 0; }

 private:
  Status(int code, std::string why) : code_(code), why_(std::move(why)) {}
  int code_;
  std::string why_;
};

// The parameters of an operation.
class Any {
 public:
  Any() = default;
  template <class T>
  explicit Any(const T& held) : held_(held) {}
  const std::type_info& Type() const { return held_.type(); }
  template <class T>
  const T& as() const { return std::any_cast<const T&>(held_); }

 private:
  std::any held_;
};
template <class T>
const T& AnyCast(const Any& any) { return any.as<T>(); }

class LaunchParam {
 public:
  Any parameters;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  const Any& GetParam() const { return parameters; }
  const Tensor& GetInTensor(size_t index) const { return inputs.at(index); }
  const Tensor& GetOutTensor(size_t index) const { return outputs.at(index); }
};

// What a tiling decides: its words, the sizes of the scratch, blocks and the key.
class KernelInfo {
 public:
  explicit KernelInfo(size_t words) : tiling(words) {}
  std::vector<uint32_t> tiling;
  SVector<uint64_t> scratch;
  uint32_t blocks = 0;
  uint64_t key = 0;
  uint8_t* GetTilingHostAddr() { return reinterpret_cast<uint8_t*>(tiling.data()); }
  uint64_t GetTilingSize() const { return tiling.size() * sizeof(uint32_t); }
  SVector<uint64_t>& GetScratchSizes() { return scratch; }
  void SetBlockDim(uint32_t given) { blocks = given; }
  void SetTilingId(uint64_t given) { key = given; }
};

enum class CoreType { CORE_TYPE_CUBE, CORE_TYPE_VECTOR };
enum class PlatformType { ASCEND_310P, ASCEND_910A, ASCEND_910B };
class PlatformInfo {
 public:
  static PlatformInfo& Instance() {
    static PlatformInfo one;
    return one;
  }
  uint32_t cubes = 0;
  uint32_t GetCoreNum(CoreType type) const { return type == CoreType::CORE_TYPE_CUBE ? cubes : 2 * cubes; }
  PlatformType GetPlatformType() const { return PlatformType::ASCEND_910B; }
};

namespace Utils {
template <class T>
T RoundUp(T value, T step) { return (value + step - 1) / step * step; }
template <class T>
T CeilDiv(T value, T part) { return (value + part - 1) / part; }
template <class T>
struct Compare {
  static bool IsEqual(const T& one, const T& other) { return one == other; }
};
}  // namespace Utils

struct Unheard {
  template <class T>
  const Unheard& operator<<(const T&) const { return *this; }
};

}  // namespace Mki

#define MKI_LOG(level) Mki::Unheard()
#define MKI_CHECK(holds, words, otherwise) \
  do {                                     \
    if (!(holds)) {                        \
      std::cout << words << std::endl;     \
      otherwise;                           \
    }                                      \
  } while (0)
#define OP_TILING_CHECK_STATUS_RETURN(status) \
  do {                                        \
    Mki::Status told = (status);              \
    if (!told.Ok()) return told;              \
  } while (0)
