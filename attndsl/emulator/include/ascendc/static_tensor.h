// Local tensors at fixed addresses, without TPipe: asc-devkit's static programming model.
#pragma once
#include "attnemu/sync.h"
#include "sys.h"
#include "tensor.h"

namespace AscendC {

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

namespace detail {
constexpr MemoryKind memory_of(Hardware h) {
  constexpr MemoryKind table[] = {MemoryKind::GM, MemoryKind::UB, MemoryKind::L1, MemoryKind::L0A, MemoryKind::L0B, MemoryKind::L0C, MemoryKind::BT, MemoryKind::FB};
  return table[static_cast<int>(h)];
}
constexpr TPosition position_of(Hardware h) {
  constexpr TPosition table[] = {TPosition::GM, TPosition::VECIN, TPosition::A1, TPosition::A2, TPosition::B2, TPosition::CO1, TPosition::C2, TPosition::C2PIPE2GM};
  return table[static_cast<int>(h)];
}
}  // namespace detail

// Registers as a kernel expects them at its start; what TPipe's constructor does otherwise.
inline void InitSocState() {
  SetAtomicNone();
  SetMaskNorm();
  ResetMask();
  attnemu::core->reg.load_pad_value = 0;
  attnemu::core->reg.load_boundary = 0;
}

// Hands out memory upwards, without rounding: alignment is the caller's, capacity is checked.
template <Hardware hard = Hardware::UB>
class LocalMemAllocator {
  static_assert(hard != Hardware::GM && hard != Hardware::MAX, "LocalMemAllocator: GM is not allocated on chip");

 public:
  uint32_t GetCurAddr() const { return head_; }
  template <TPosition pos, class T, uint32_t tileSize>
  LocalTensor<T> Alloc(attnemu::SourceLine at = attnemu::SourceLine::here()) { return take<pos, T>(tileSize, at); }
  template <TPosition pos, class T>
  LocalTensor<T> Alloc(uint32_t tileSize, attnemu::SourceLine at = attnemu::SourceLine::here()) { return take<pos, T>(tileSize, at); }
  template <class T, uint32_t tileSize>
  LocalTensor<T> Alloc(attnemu::SourceLine at = attnemu::SourceLine::here()) { return take<detail::position_of(hard), T>(tileSize, at); }
  template <class T>
  LocalTensor<T> Alloc(uint32_t tileSize, attnemu::SourceLine at = attnemu::SourceLine::here()) { return take<detail::position_of(hard), T>(tileSize, at); }

 private:
  template <TPosition pos, class T>
  LocalTensor<T> take(uint32_t elements, const attnemu::SourceLine& at) {
    static_assert(detail::memory_of(pos) == detail::memory_of(hard), "LocalMemAllocator: the position lies in another memory");
    constexpr attnemu::MemoryKind kind = detail::memory_of(hard);
    uint64_t bytes = detail::bytes_of<T>(elements), end = head_ + bytes;
    if (end > attnemu::memory_bytes(kind) && attnemu::machine->knobs.memcheck)
      attnemu::machine->report("memcheck", "buffer_capacity", at,
                               attnemu::format("Alloc: %llu bytes more than %u make %llu in %s, which has %u", static_cast<unsigned long long>(bytes), head_,
                                               static_cast<unsigned long long>(end), attnemu::name_of(kind), attnemu::memory_bytes(kind)),
                               "", attnemu::name_of(kind), head_, bytes);
    LocalTensor<T> t;
    t.SetAddr({static_cast<uint32_t>(bytes), head_, nullptr, static_cast<uint8_t>(pos), 0, {head_, attnemu::round_up(end, attnemu::kBlock)}});
    head_ = static_cast<uint32_t>(end);
    return t;
  }
  uint32_t head_ = 0;
};

}  // namespace AscendC
