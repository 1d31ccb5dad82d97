// TBufPool: a part of UB or L1 that is divided anew for each stage of a kernel.
#pragma once
#include "pipe.h"

namespace AscendC {

// Buffers of one pool must not be used before those of a pool that shares its memory are settled by Reset().
template <TPosition pos, uint32_t bufIDSize = 4>
class TBufPool {
  static_assert(detail::memory_of(pos) == detail::MemoryKind::UB || detail::memory_of(pos) == detail::MemoryKind::L1, "TBufPool: VECIN, VECOUT, VECCALC, A1, B1 or C1");
  static_assert(bufIDSize <= 16, "TBufPool: at most 16 buffers");

 public:
  static constexpr TPosition poolPos = pos;
  TBufPool() = default;
  TBufPool(const TBufPool&) = delete;
  TBufPool& operator=(const TBufPool&) = delete;

  template <class Q>
  bool InitBuffer(Q& queue, uint8_t num, uint32_t len, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    uint32_t bytes = detail::buffer_bytes(len);
    owner_.add(queue.start(num));
    for (uint32_t i = 0; i < num; ++i) queue.place(i, allocate(bytes, 1, at), bytes);
    return true;
  }
  template <TPosition bufferPos>
  bool InitBuffer(TBuf<bufferPos>& buffer, uint32_t len, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    uint32_t bytes = detail::buffer_bytes(len);
    buffer.take(allocate(bytes, 1, at), bytes);
    return true;
  }
  template <class P>
  bool InitBufPool(P& pool, uint32_t len, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    uint32_t bytes = detail::buffer_bytes(len);
    pool.take(allocate(bytes, 0, at), bytes);
    return true;
  }
  template <class P, class U>
  bool InitBufPool(P& pool, uint32_t len, U& shared, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    shared.share_with(pool, len, at);
    return true;
  }
  void Reset(attnemu::SourceLine at = attnemu::SourceLine::here()) { owner_.settle(at); }

  // For the face's own use.
  void take(uint32_t from, uint32_t bytes) {
    from_ = from;
    bytes_ = bytes;
    used_ = 0;
  }
  template <class P>
  void share_with(P& pool, uint32_t len, const attnemu::SourceLine& at) {
    detail::report_buffers(len <= bytes_, "buffer_capacity", at, attnemu::format("InitBufPool: %u bytes shared with a pool of %u", len, bytes_), detail::memory_of(pos), from_, len);
    pool.take(from_, len);
  }

 private:
  uint32_t allocate(uint32_t bytes, uint32_t ids, const attnemu::SourceLine& at) {
    uint32_t from = from_ + used_;
    used_ = detail::grown(used_, bytes);
    ids_ += ids;
    detail::report_buffers(used_ <= bytes_, "buffer_capacity", at, attnemu::format("InitBuffer: %u bytes more make %u in a pool of %u", bytes, used_, bytes_), detail::memory_of(pos), from, bytes);
    detail::report_buffers(ids_ != bufIDSize + 1, "buffer_count", at, attnemu::format("InitBuffer: more than %u buffers in one TBufPool", bufIDSize), detail::memory_of(pos), from, bytes);
    return from;
  }
  uint32_t from_ = 0, bytes_ = 0, used_ = 0, ids_ = 0;
  detail::BufferOwner owner_;
};

}  // namespace AscendC

// What a kernel's own pool class needs inside; it divides its memory by itself.
#define EXTERN_IMPL_BUFPOOL(Name, Position, Number)                                              \
 public:                                                                                         \
  static constexpr AscendC::TPosition poolPos = Position;                                        \
  static constexpr int bufIDSize = Number;                                                       \
  void Init() { address_ = buffers_ = 0; }                                                       \
  void Reset(attnemu::SourceLine at = attnemu::SourceLine::here()) { owner_.settle(at); }        \
  AscendC::TBufHandle GetBufHandle(uint8_t) { return nullptr; }                                  \
  void SetCurAddr(uint32_t address) { address_ = address; }                                      \
  uint32_t GetCurAddr() { return address_; }                                                     \
  void SetCurBufSize(uint8_t number) { buffers_ = number; }                                      \
  uint8_t GetCurBufSize() { return buffers_; }                                                   \
  void take(uint32_t from, uint32_t bytes) { address_ = from; bytes_ = bytes; }                  \
  template <class P>                                                                             \
  void share_with(P& pool, uint32_t len, const attnemu::SourceLine&) { pool.take(address_, len); } \
  AscendC::detail::BufferOwner owner_;                                                           \
                                                                                                 \
 private:                                                                                        \
  uint32_t address_ = 0, bytes_ = 0;                                                             \
  uint8_t buffers_ = 0
