// ListTensorDesc: a list of tensors behind one address in global memory.
#pragma once
#include "tensor.h"

namespace AscendC {

// u64 words: [0] byte offset of the pointer array; then a descriptor a tensor, all with the same number of dims: low half
// that number, high half the index (in the first one the number of tensors, or 0 when the last index tells), followed by
// the dims, or by 0xffffffff when there are none; then one address a tensor.
template <class T>
class TensorDesc {
 public:
  void SetShapeAddr(uint64_t* shape) { shape_ = shape; }
  uint64_t GetDim() const { return dims_; }
  uint64_t GetIndex() const { return index_; }
  uint64_t GetShape(uint32_t i) const { return shape_ && i < dims_ ? shape_[i] : 0; }
  T* GetDataPtr() const { return data_; }
  GlobalTensor<T> GetDataObj() const {
    uint64_t elements = 1;
    for (uint64_t i = 0; i < dims_; ++i) elements *= shape_[i];
    GlobalTensor<T> t;
    t.SetGlobalBuffer(data_, elements);
    return t;
  }

 private:
  friend class ListTensorDesc;
  uint64_t* shape_ = nullptr;
  T* data_ = nullptr;
  uint64_t dims_ = 0, index_ = 0;
};

class ListTensorDesc {
 public:
  ListTensorDesc() = default;
  explicit ListTensorDesc(__gm__ void* data, uint32_t length = kUnknown, uint32_t shapeSize = kUnknown, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    Init(data, length, shapeSize, at);
  }
  // The list tells its own length and number of tensors; what is passed changes nothing.
  void Init(__gm__ void* data, uint32_t = kUnknown, uint32_t = kUnknown, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    base_ = static_cast<uint8_t*>(data);
    at_ = at;
    pointers_ = word(0) / 8;
    dims_ = count_ = 0;
    if (!detail::require(pointers_ >= kFirstPointer, "empty_list", at,
                         "ListTensorDesc: the list has no tensor, so no descriptor that can be decoded: decode it where it has one"))
      return;
    uint64_t first = word(1);
    dims_ = static_cast<uint32_t>(first);
    step_ = dims_ ? 1 + dims_ : 2;
    count_ = static_cast<uint32_t>(first >> 32);
    if (!count_) count_ = static_cast<uint32_t>(word(pointers_ - step_) >> 32) + 1;
  }
  uint32_t GetSize() const { return count_; }
  template <class T>
  T* GetDataPtr(uint32_t index) const { return reinterpret_cast<T*>(word(pointers_ + index)); }
  template <class T>
  void GetDesc(TensorDesc<T>& desc, uint32_t index) const {
    desc.dims_ = dims_;
    desc.index_ = index;
    desc.data_ = GetDataPtr<T>(index);
    for (uint64_t i = 0; desc.shape_ && i < dims_; ++i) desc.shape_[i] = word(1 + index * step_ + 1 + i);
  }

 private:
  static constexpr uint32_t kUnknown = 0xffffffff;
  static constexpr uint64_t kFirstPointer = 3;  // behind its own word, and at least two of a descriptor
  uint64_t word(uint64_t i) const {
    attnemu::Place p = detail::global_place(base_ + i * 8, "ListTensorDesc", at_);
    return p.memory ? attnemu::scalar_load(p, 8, "ListTensorDesc", at_) : 0;
  }
  uint8_t* base_ = nullptr;
  attnemu::SourceLine at_{"", 0};
  uint64_t pointers_ = 0, step_ = 2;
  uint32_t count_ = 0, dims_ = 0;
};

}  // namespace AscendC
