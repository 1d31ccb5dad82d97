// Elements that the scalar unit reads and writes. Headers follow the address as a pointer; here the device model reads and
// writes it: on-chip addresses are no pointers, and those of global memory lie behind the scalar unit's cache.
#pragma once
#include "places.h"

namespace attnemu::intrinsics {
template <class T>
T load_element(const Place& p) {
  if (!p.memory) return T();
  uint64_t bits = scalar_load(p, sizeof(T), "GetValue", SourceLine::here());
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
void store_element(const Place& p, T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  if (p.memory) scalar_store(p, bits, sizeof(T), "SetValue", SourceLine::here());
}
}  // namespace attnemu::intrinsics

namespace AscendC {
// The cube core has no UB: headers give 0 there, and write nothing.
#define ATTNEMU_ELEMENTS(T)                                                                                              \
  template <>                                                                                                            \
  inline T LocalTensor<T>::GetValue(const uint32_t index) const {                                                        \
    if (attnemu::core->kind == attnemu::CoreKind::Cube) return T();                                                      \
    return attnemu::intrinsics::load_element<T>(attnemu::intrinsics::on_chip(attnemu::MemoryKind::UB, static_cast<uint64_t>(GetPhyAddr(index)))); \
  }                                                                                                                      \
  template <>                                                                                                            \
  template <class V>                                                                                                     \
  void LocalTensor<T>::SetValue(const uint32_t index, const V value) const {                                             \
    if (attnemu::core->kind == attnemu::CoreKind::Cube) return;                                                          \
    attnemu::intrinsics::store_element<T>(attnemu::intrinsics::on_chip(attnemu::MemoryKind::UB, static_cast<uint64_t>(GetPhyAddr(index))), static_cast<T>(value)); \
  }                                                                                                                      \
  template <>                                                                                                            \
  inline T GlobalTensor<T>::GetValue(const uint64_t offset) const {                                                      \
    return attnemu::intrinsics::load_element<T>(attnemu::intrinsics::in_global(GetPhyAddr(offset), "GetValue", attnemu::SourceLine::here())); \
  }                                                                                                                      \
  template <>                                                                                                            \
  inline void GlobalTensor<T>::SetValue(const uint64_t offset, T value) {                                                \
    attnemu::intrinsics::store_element<T>(attnemu::intrinsics::in_global(GetPhyAddr(offset), "SetValue", attnemu::SourceLine::here()), value); \
  }
ATTNEMU_ELEMENTS(int8_t) ATTNEMU_ELEMENTS(uint8_t) ATTNEMU_ELEMENTS(int16_t) ATTNEMU_ELEMENTS(uint16_t) ATTNEMU_ELEMENTS(int32_t)
ATTNEMU_ELEMENTS(uint32_t) ATTNEMU_ELEMENTS(int64_t) ATTNEMU_ELEMENTS(uint64_t) ATTNEMU_ELEMENTS(half) ATTNEMU_ELEMENTS(bfloat16_t)
ATTNEMU_ELEMENTS(float)
#undef ATTNEMU_ELEMENTS
}  // namespace AscendC
