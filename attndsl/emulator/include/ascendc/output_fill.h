// Filling global memory with one value from the vector core: by way of the part of UB that no buffer has.
#pragma once
#include "pipe.h"
#include "vector_arith.h"

namespace AscendC {

// `size` elements; waits before it for the vector pipe, after it for the copies. UB must have 32 free bytes.
template <class T>
void Fill(GlobalTensor<T> gm, const uint64_t size, const T value, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(sizeof(T) <= 4, "Fill: elements of 8, 16 or 32 bits");
  if (attnemu::core->kind == attnemu::CoreKind::Cube || size == 0) return;
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>;
  LocalTensor<uint8_t> space;
  if (GetTPipePtr()) PopStackBuffer<uint8_t, TPosition::LCM>(space);
  else space = LocalTensor<uint8_t>(TPosition::LCM, 0, attnemu::memory_bytes(attnemu::MemoryKind::UB));
  constexpr uint32_t kMost = 32 * 1024;
  uint64_t bytes = attnemu::round_up(size * sizeof(T), attnemu::kBlock), room = space.GetSize() / attnemu::kBlock * attnemu::kBlock;
  uint32_t piece = static_cast<uint32_t>(std::min<uint64_t>({bytes, room, kMost}));
  detail::require(piece > 0, "buffer_capacity", at, "Fill: no buffer-free 32 bytes are left in UB");
  if (!piece) return;
  uint64_t bits = detail::bits_of_value(value);
  if constexpr (sizeof(T) == 1) bits |= bits << 8;
  using detail::Pipe;
  using attnemu::FlagOwner;
  int id = attnemu::allocate_event(Pipe::MTE3, Pipe::V, at);
  attnemu::set_flag(Pipe::MTE3, Pipe::V, id, at, FlagOwner::Queue);
  attnemu::wait_flag(Pipe::MTE3, Pipe::V, id, at, FlagOwner::Queue);
  attnemu::pipe_barrier(Pipe::V, at);
  Duplicate(space.template ReinterpretCast<Word>(), static_cast<Word>(bits), static_cast<int32_t>(piece / sizeof(Word)), at);
  int done = attnemu::allocate_event(Pipe::V, Pipe::MTE3, at);
  attnemu::set_flag(Pipe::V, Pipe::MTE3, done, at, FlagOwner::Queue);
  attnemu::wait_flag(Pipe::V, Pipe::MTE3, done, at, FlagOwner::Queue);
  LocalTensor<T> from = space.template ReinterpretCast<T>();
  uint64_t step = piece / sizeof(T);
  for (uint64_t i = 0; i < size; i += step) {
    uint64_t n = std::min<uint64_t>(step, size - i);
    DataCopyPad(gm[i], from, DataCopyExtParams(1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0), at);
  }
  attnemu::set_flag(Pipe::MTE3, Pipe::V, id, at, FlagOwner::Queue);
  attnemu::wait_flag(Pipe::MTE3, Pipe::V, id, at, FlagOwner::Queue);
  attnemu::release_event(Pipe::MTE3, Pipe::V, id);
  attnemu::release_event(Pipe::V, Pipe::MTE3, done);
}
// CANN 8.1's name.
template <class T>
void InitOutput(GlobalTensor<T> gm, uint32_t size, T value = 0, attnemu::SourceLine at = attnemu::SourceLine::here()) { Fill(gm, static_cast<uint64_t>(size), value, at); }

}  // namespace AscendC
