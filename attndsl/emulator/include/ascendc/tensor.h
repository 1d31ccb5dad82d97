// Views of memory: LocalTensor on chip, GlobalTensor in global memory.
#pragma once
#include <cstring>
#include <string>

#include "attnemu/scalar.h"
#include "shape_info.h"

namespace AscendC {

struct QueueBuffer;
using TBufHandle = QueueBuffer*;

struct TBuffAddr {
  uint32_t dataLen = 0;
  uint32_t bufferAddr = 0;
  TBufHandle bufferHandle = nullptr;
  uint8_t logicPos = 0;
  uint32_t notes = 0;  // of the face: see shape_info.h
  attnemu::Buffer buffer = {};  // that of InitBuffer; addresses made by hand have none
};

template <class T> class LocalTensor;

namespace detail {
// Where in global memory `p` lies; null memory after a finding when it lies in no registered array.
attnemu::Place global_place(const void* p, const char* what, const SourceLine& at);
template <class T> uint64_t bits_of_value(T v) {
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof(T));
  return bits;
}
template <class T> T value_of_bits(uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof(T));
  return v;
}

// What tensor(i) gives: GetValue where it is read, SetValue where it is assigned to.
template <class Tensor>
class Element {
 public:
  using Value = typename Tensor::PrimType;
  Element(const Tensor& tensor, uint64_t index, const SourceLine& at) : tensor_(tensor), index_(index), at_(at) {}
  operator Value() const { return tensor_.GetValue(static_cast<Index>(index_), at_); }
  Element& operator=(Value v) {
    tensor_.SetValue(static_cast<Index>(index_), v, at_);
    return *this;
  }
  Element& operator=(const Element& other) { return *this = static_cast<Value>(other); }
  template <class V> Element& operator+=(const V& v) { return *this = static_cast<Value>(static_cast<Value>(*this) + v); }
  template <class V> Element& operator-=(const V& v) { return *this = static_cast<Value>(static_cast<Value>(*this) - v); }
  template <class V> Element& operator*=(const V& v) { return *this = static_cast<Value>(static_cast<Value>(*this) * v); }
  template <class V> Element& operator/=(const V& v) { return *this = static_cast<Value>(static_cast<Value>(*this) / v); }

 private:
  using Index = typename Tensor::Index;
  const Tensor tensor_;
  uint64_t index_;
  SourceLine at_;
};

enum class Sign : uint8_t { Add, Sub, Mul, Div, And, Or, Less, Greater, Equal, NotEqual, LessEqual, GreaterEqual };
// An operator on whole tensors; assigning it to a tensor executes it.
template <class T, Sign sign>
struct Expression {
  LocalTensor<T> left, right;
  SourceLine at;
};
}  // namespace detail

template <class T>
class LocalTensor {
 public:
  using PrimType = PrimT<T>;
  using Index = uint32_t;
  LocalTensor() = default;
  explicit LocalTensor(TBuffAddr& address) { SetAddr(address); }
  LocalTensor(TPosition position, uint32_t byteAddress, uint32_t elements)
      : address_{static_cast<uint32_t>(detail::bytes_of<T>(elements)), byteAddress, nullptr, static_cast<uint8_t>(position)} {}

  void SetAddr(const TBuffAddr& a) { address_ = a; }
  uint64_t GetPhyAddr() const { return address_.bufferAddr; }
  uint64_t GetPhyAddr(uint32_t offset) const { return address_.bufferAddr + detail::bytes_of<T>(offset); }
  int32_t GetPosition() const { return address_.logicPos; }
  uint32_t GetSize() const { return static_cast<uint32_t>(detail::elements_of<T>(address_.dataLen)); }
  uint32_t GetLength() const { return address_.dataLen; }
  void SetSize(uint32_t elements) { address_.dataLen = static_cast<uint32_t>(detail::bytes_of<T>(elements)); }
  void SetBufferLen(uint32_t elements) { SetSize(elements); }
  template <class U>
  void SetAddrWithOffset(LocalTensor<U>& src, uint32_t offset) { *this = src[offset].template ReinterpretCast<T>(); }
  void SetShapeInfo(const ShapeInfo& s) { address_.notes = detail::note(address_.notes, &s, nullptr); }
  ShapeInfo GetShapeInfo() const { return detail::notes_of(address_.notes).shape; }
  void SetUserTag(TTagType tag) { address_.notes = detail::note(address_.notes, nullptr, &tag); }
  TTagType GetUserTag() const { return detail::notes_of(address_.notes).tag; }

  LocalTensor operator[](uint32_t offset) const {
    LocalTensor t = *this;
    uint32_t bytes = static_cast<uint32_t>(detail::bytes_of<T>(offset));
    t.address_.bufferAddr += bytes;
    t.address_.dataLen = bytes <= address_.dataLen ? address_.dataLen - bytes : 0;
    return t;
  }
  template <class U>
  LocalTensor<U> ReinterpretCast() const {
    LocalTensor<U> t;
    t.SetAddr(address_);
    return t;
  }
  T GetValue(uint32_t index, attnemu::SourceLine at = attnemu::SourceLine::here()) const {
    return detail::value_of_bits<T>(attnemu::scalar_load(place(index), sizeof(T), "GetValue", at));
  }
  template <class V>
  void SetValue(uint32_t index, const V value, attnemu::SourceLine at = attnemu::SourceLine::here()) const {
    attnemu::scalar_store(place(index), detail::bits_of_value(static_cast<T>(value)), sizeof(T), "SetValue", at);
  }

  detail::Element<LocalTensor> operator()(uint32_t offset, attnemu::SourceLine at = attnemu::SourceLine::here()) const { return {*this, offset, at}; }

  // The right operand of an operator, with the line on which it stands.
  struct Right {
    Right(const LocalTensor& t, attnemu::SourceLine line = attnemu::SourceLine::here()) : tensor(&t), at(line) {}
    const LocalTensor* tensor;
    attnemu::SourceLine at;
  };
#define ATTNEMU_SIGN(sign, Name) \
  detail::Expression<T, detail::Sign::Name> operator sign(Right right) const { return {*this, *right.tensor, right.at}; }
  ATTNEMU_SIGN(+, Add) ATTNEMU_SIGN(-, Sub) ATTNEMU_SIGN(*, Mul) ATTNEMU_SIGN(/, Div) ATTNEMU_SIGN(&, And) ATTNEMU_SIGN(|, Or)
  ATTNEMU_SIGN(<, Less) ATTNEMU_SIGN(>, Greater) ATTNEMU_SIGN(==, Equal) ATTNEMU_SIGN(!=, NotEqual)
  ATTNEMU_SIGN(<=, LessEqual) ATTNEMU_SIGN(>=, GreaterEqual)
#undef ATTNEMU_SIGN
  template <class U, detail::Sign sign>
  void operator=(const detail::Expression<U, sign>& e);  // operators.h

  // Debugging aids of CPU mode (debug.h).
  void Print() const { Print(GetSize()); }
  void Print(uint32_t len) const;
  int32_t ToFile(const std::string& fileName) const;

  // For the face's own use.
  const TBuffAddr& address() const { return address_; }
  TPosition position() const { return static_cast<TPosition>(address_.logicPos); }
  attnemu::Memory* memory() const { return attnemu::core->memory(detail::memory_of(position())); }
  attnemu::Place place(uint32_t index = 0) const { return {memory(), address_.bufferAddr + detail::bytes_of<T>(index), address_.buffer}; }

 private:
  TBuffAddr address_;
};

template <class T>
class GlobalTensor {
 public:
  using PrimType = PrimT<T>;
  using Index = uint64_t;
  GlobalTensor() = default;
  void SetGlobalBuffer(T* buffer) { pointer_ = buffer; size_ = 0; }
  void SetGlobalBuffer(T* buffer, uint64_t elements) { pointer_ = buffer; size_ = elements; }
  const T* GetPhyAddr() const { return pointer_; }
  T* GetPhyAddr(uint64_t offset) const { return moved(offset); }
  uint64_t GetSize() const { return size_; }
  void SetShapeInfo(const ShapeInfo& s) { notes_ = detail::note(notes_, &s, nullptr); }
  ShapeInfo GetShapeInfo() const { return detail::notes_of(notes_).shape; }
  template <class U>
  GlobalTensor<U> ReinterpretCast() const {
    GlobalTensor<U> t;
    t.SetGlobalBuffer(reinterpret_cast<U*>(pointer_), size_ * sizeof(T) / sizeof(U));
    return t;
  }
  GlobalTensor operator[](uint64_t offset) const {
    GlobalTensor t = *this;
    t.pointer_ = moved(offset);
    t.size_ = offset <= size_ ? size_ - offset : 0;
    return t;
  }
  T GetValue(uint64_t offset, attnemu::SourceLine at = attnemu::SourceLine::here()) const {
    attnemu::Place p = detail::global_place(pointer_ + offset, "GetValue", at);
    return p.memory ? detail::value_of_bits<T>(attnemu::scalar_load(p, sizeof(T), "GetValue", at)) : detail::value_of_bits<T>(0);
  }
  void SetValue(uint64_t offset, T value, attnemu::SourceLine at = attnemu::SourceLine::here()) const {
    attnemu::Place p = detail::global_place(pointer_ + offset, "SetValue", at);
    if (p.memory) attnemu::scalar_store(p, detail::bits_of_value(value), sizeof(T), "SetValue", at);
  }
  detail::Element<GlobalTensor> operator()(uint64_t offset, attnemu::SourceLine at = attnemu::SourceLine::here()) const { return {*this, offset, at}; }
  // Values are the same either way; what is read from the array passes by L2 in the timeline, on all cores.
  template <CacheRwMode mode = CacheRwMode::RW>
  void SetL2CacheHint(CacheMode hint) {
    attnemu::Memory* m = attnemu::machine->find_region(pointer_);
    if (m && mode != CacheRwMode::WRITE) m->passes_by = hint == CacheMode::CACHE_MODE_DISABLE;
  }

 private:
  T* moved(uint64_t offset) const { return pointer_ + detail::bytes_of<T>(offset) / sizeof(T); }
  T* pointer_ = nullptr;
  uint64_t size_ = 0;
  uint32_t notes_ = 0;
};

}  // namespace AscendC
