// A pointer to UB that a kernel's text follows, `*((__ubuf__ float*)address + 3)`, once it is rewritten: addresses there are
// numbers, and the device model is the one that reads.
#pragma once
#include "places.h"

#define ATTNEMU_UBUF_POINTER(T) attnemu::intrinsics::UbufPointer<T>

namespace attnemu::intrinsics {

template <class T>
class UbufElement {
 public:
  explicit UbufElement(uint64_t address) : address_(address) {}
  operator T() const {
    uint64_t bits = scalar_load(on_chip(MemoryKind::UB, address_), sizeof(T), "a pointer to UB", SourceLine::here());
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  T operator=(T value) const {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    scalar_store(on_chip(MemoryKind::UB, address_), bits, sizeof(T), "a pointer to UB", SourceLine::here());
    return value;
  }

 private:
  uint64_t address_;
};

template <class T>
class UbufPointer {
 public:
  explicit UbufPointer(uint64_t address) : address_(address) {}
  explicit UbufPointer(const void* address) : address_(reinterpret_cast<uint64_t>(address)) {}
  UbufElement<T> operator*() const { return UbufElement<T>(address_); }
  UbufElement<T> operator[](int64_t index) const { return *(*this + index); }
  UbufPointer operator+(int64_t count) const { return UbufPointer(address_ + count * sizeof(T)); }
  UbufPointer operator-(int64_t count) const { return *this + -count; }

 private:
  uint64_t address_;
};

}  // namespace attnemu::intrinsics
