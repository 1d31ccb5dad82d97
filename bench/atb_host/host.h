// What our hosts of ATB's kernels share: tensors from files, the tiling, the launch's memory, the result.
#pragma once
#include "../host_files.h"
#include "mki.h"

// A tensor; its first dimension is what the file holds.
template <class T = uint16_t>
Mki::Tensor tensor(const std::string& name, Mki::TensorDType dtype, Mki::SVector<int64_t> inner) {
  const std::vector<T> values = numbers<T>(name);
  int64_t row = 1;
  for (int64_t each : inner) row *= each;
  inner.insert(inner.begin(), static_cast<int64_t>(values.size()) / row);
  Mki::Tensor made;
  made.desc.dtype = dtype;
  made.desc.dims = inner;
  made.data = copied(values);
  return made;
}
// A table of blocks for so many rows.
inline Mki::Tensor table(int64_t rows) {
  return tensor<int32_t>("table", Mki::TENSOR_DTYPE_INT32, {static_cast<int64_t>(numbers<int32_t>("table").size()) / rows});
}
inline Mki::TensorDType dtype_of(const char* name) { return std::strcmp(name, "bf16") ? Mki::TENSOR_DTYPE_FLOAT16 : Mki::TENSOR_DTYPE_BF16; }

// A launch as ATB's own tiling plans it.
struct Plan {
  Mki::KernelInfo info{1 << 16};
  std::vector<void*> scratch;
  void* tiling = nullptr;
  void* sync = nullptr;
  aclrtStream stream = nullptr;
};
inline void start(const char* cores) {
  Mki::PlatformInfo::Instance().cubes = static_cast<uint32_t>(std::atoi(cores));
  aclInit(nullptr);
  aclrtSetDevice(0);
}
template <class Tiling, class Parameters>
Plan planned(Tiling tiling, const Parameters& parameters, std::vector<Mki::Tensor> inputs, std::vector<Mki::Tensor> outputs = {}) {
  Mki::LaunchParam launch;
  launch.parameters = Mki::Any(parameters);
  launch.inputs = std::move(inputs);
  launch.outputs = std::move(outputs);
  Plan plan;
  require(tiling(launch, plan.info).Ok(), "the tiling refuses the call");
  for (uint64_t bytes : plan.info.scratch) plan.scratch.push_back(device(bytes));
  plan.tiling = copied(plan.info.tiling);
  uint64_t address = 0;
  uint32_t length = 0;
  rtGetC2cCtrlAddr(&address, &length);
  plan.sync = reinterpret_cast<void*>(address);
  aclrtCreateStream(&plan.stream);
  attnemu::set_tiling_key(plan.info.key);
  return plan;
}
// Copies the result, which ends the run.
inline int finished(const Plan& plan, void* result, size_t bytes) { return finished(plan.stream, result, bytes); }
