// Instructions that move data between global memory, UB and L1. Lengths and gaps count blocks of 32 bytes, unless said.
#pragma once
#include "attnemu/dma.h"
#include "places.h"

namespace attnemu::intrinsics {

inline bool at_most(uint32_t value, uint32_t most, const char* what, const SourceLine& at) {
  if (value <= most) return true;
  if (machine->knobs.memcheck) machine->report("memcheck", "copy_range", at, format("%s: %u bursts are at most %u", what, value, most));
  return false;
}
// A gap leads from a burst's end to the next one's start.
inline void blocks(const char* what, const SourceLine& at, Pipe pipe, Place to, Place from, uint16_t bursts, uint32_t length, uint32_t from_gap, uint32_t to_gap, bool atomic) {
  if (!to.memory || !from.memory) return;
  at_most(bursts, kMaxCopyBlocks, what, at);
  Bursts b;
  b.run = length * static_cast<uint64_t>(kBlock);
  b.count = bursts;
  b.from_step = b.run + from_gap * static_cast<uint64_t>(kBlock);
  b.to_step = b.run + to_gap * static_cast<uint64_t>(kBlock);
  b.atomic = atomic;
  copy_bursts(what, at, pipe, to, from, b);
}
inline bool whole_elements(const char* what, const SourceLine& at, const Place& p, uint32_t element) {
  if (p.at % element == 0) return true;
  if (machine->knobs.memcheck)
    machine->report("memcheck", "misaligned", at, format("%s: byte %llu of %s is no multiple of the element's %u bytes", what, static_cast<unsigned long long>(p.at), p.memory->name.c_str(), element));
  return false;
}
// Bursts of bytes from global memory; the padding value stands in a register.
inline void load_aligned(const char* what, const SourceLine& at, uint32_t element, void* dst, const void* src, uint16_t bursts, uint32_t bytes, uint8_t left, uint8_t right,
                         uint32_t from_gap, uint32_t to_gap) {
  Place from = in_global(src, what, at);
  if (!from.memory || !whole_elements(what, at, from, element)) return;
  at_most(bursts, kMaxCopyBlocks, what, at);
  PaddedLoad l;
  l.run = bytes;
  l.count = bursts;
  l.from_step = static_cast<uint64_t>(bytes) + from_gap;
  l.gap_blocks = to_gap;
  l.element = element;
  l.pad = left != 0 || right != 0;
  l.left = left;
  l.right = right;
  l.value = core->reg.pad_value;
  load_padded(what, at, on_chip(MemoryKind::UB, dst), from, l);
}
inline void store_aligned(const char* what, const SourceLine& at, uint32_t element, void* dst, const void* src, uint16_t bursts, uint32_t bytes, uint32_t from_gap, uint32_t to_gap) {
  Place to = in_global(dst, what, at);
  if (!to.memory || !whole_elements(what, at, to, element)) return;
  at_most(bursts, kMaxCopyBlocks, what, at);
  Bursts b;
  b.run = bytes;
  b.count = bursts;
  b.from_step = round_up(bytes, kBlock) + from_gap * static_cast<uint64_t>(kBlock);
  b.to_step = static_cast<uint64_t>(bytes) + to_gap;
  b.atomic = true;
  copy_bursts(what, at, Pipe::MTE3, to, on_chip(MemoryKind::UB, src), b);
}
inline void rows_to_fractals(const char* what, const SourceLine& at, uint32_t element, const void* dst, const void* src, uint16_t matrices, uint16_t rows, uint16_t columns,
                             uint16_t fromMatrix, uint16_t fromRow, uint16_t toColumn, uint16_t toRow, uint16_t toMatrix) {
  Place from = in_global(src, what, at);
  if (!from.memory) return;
  auto holds = [&](bool fits, const char* text) {
    if (!fits && machine->knobs.memcheck) machine->report("memcheck", "nd2nz_range", at, format("%s: %s", what, text));
  };
  holds(matrices <= kMaxNd2NzMatrices, "too many matrices");
  holds(rows <= kMaxNd2NzRows, "too many rows");
  holds(round_up(fromRow, element == 1 ? 32 : 16) >= columns || rows <= 1, "rows are farther apart than the pitch");
  holds(toColumn >= 1 && toColumn <= kMaxNd2NzRows, "the step between column groups is out of range");
  holds(toRow >= 1 && toRow <= kMaxNd2NzRows, "the step between rows is out of range");
  RowsToFractals r;
  r.matrices = matrices;
  r.rows = rows;
  r.columns = columns;
  r.element = element;
  r.from_matrix_step = static_cast<uint64_t>(fromMatrix) * element;
  r.from_row_step = static_cast<uint64_t>(fromRow) * element;
  r.to_matrix_step = static_cast<uint64_t>(toMatrix) * element;
  r.to_column_step = static_cast<uint64_t>(toColumn) * kBlock;
  r.to_row_step = static_cast<uint64_t>(toRow) * kBlock;
  attnemu::rows_to_fractals(what, at, on_chip(MemoryKind::L1, dst), from, r);
}

}  // namespace attnemu::intrinsics

inline void copy_gm_to_ubuf(void* dst, void* src, uint8_t, uint16_t bursts, uint16_t length, uint16_t srcGap, uint16_t dstGap, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  in::blocks("copy_gm_to_ubuf", at, attnemu::Pipe::MTE2, in::on_chip(attnemu::MemoryKind::UB, dst), in::in_global(src, "copy_gm_to_ubuf", at), bursts, length, srcGap, dstGap, false);
}
inline void copy_ubuf_to_gm(void* dst, void* src, uint8_t, uint16_t bursts, uint16_t length, uint16_t srcGap, uint16_t dstGap, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  in::blocks("copy_ubuf_to_gm", at, attnemu::Pipe::MTE3, in::in_global(dst, "copy_ubuf_to_gm", at), in::on_chip(attnemu::MemoryKind::UB, src), bursts, length, srcGap, dstGap, true);
}
inline void copy_ubuf_to_ubuf(void* dst, void* src, uint8_t, uint16_t bursts, uint16_t length, uint16_t srcGap, uint16_t dstGap, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  in::blocks("copy_ubuf_to_ubuf", at, attnemu::Pipe::V, in::on_chip(attnemu::MemoryKind::UB, dst), in::on_chip(attnemu::MemoryKind::UB, src), bursts, length, srcGap, dstGap, false);
}
inline void copy_gm_to_cbuf(void* dst, void* src, uint8_t, uint16_t bursts, uint16_t length, uint16_t srcGap, uint16_t dstGap, pad_t pad, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  if (pad != PAD_NONE) return in::unmodelled("copy_gm_to_cbuf with padding", at);
  in::blocks("copy_gm_to_cbuf", at, attnemu::Pipe::MTE2, in::on_chip(attnemu::MemoryKind::L1, dst), in::in_global(src, "copy_gm_to_cbuf", at), bursts, length, srcGap, dstGap, false);
}
inline void copy_cbuf_to_gm(void* dst, void* src, uint8_t, uint16_t bursts, uint16_t length, uint16_t srcGap, uint16_t dstGap, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  in::blocks("copy_cbuf_to_gm", at, attnemu::Pipe::MTE3, in::in_global(dst, "copy_cbuf_to_gm", at), in::on_chip(attnemu::MemoryKind::L1, src), bursts, length, srcGap, dstGap, true);
}
// Of bytes, in steps of an element; gaps count bytes in global memory and blocks in UB.
#define ATTNEMU_ALIGNED(name, element)                                                                                   \
  inline void copy_gm_to_ubuf_align_##name(void* dst, void* src, uint8_t, uint16_t bursts, uint32_t bytes, uint8_t left, uint8_t right, \
                                           uint32_t srcGap, uint32_t dstGap, ATTNEMU_AT) {                               \
    attnemu::intrinsics::load_aligned("copy_gm_to_ubuf_align_" #name, at, element, dst, src, bursts, bytes, left, right, srcGap, dstGap); \
  }                                                                                                                      \
  inline void copy_ubuf_to_gm_align_##name(void* dst, void* src, uint8_t, uint16_t bursts, uint32_t bytes, uint8_t, uint8_t, uint32_t srcGap, \
                                           uint32_t dstGap, ATTNEMU_AT) {                                                \
    attnemu::intrinsics::store_aligned("copy_ubuf_to_gm_align_" #name, at, element, dst, src, bursts, bytes, srcGap, dstGap); \
  }
ATTNEMU_ALIGNED(b8, 1) ATTNEMU_ALIGNED(b16, 2) ATTNEMU_ALIGNED(b32, 4)
#undef ATTNEMU_ALIGNED
inline void set_mov_pad_val(uint64_t bits) {
  attnemu::core->reg.pad_value = bits;
  attnemu::core->reg.pad_value_set = true;
}
// Row-major matrices to fractals in L1; steps of the source and between target matrices count elements, others blocks.
#define ATTNEMU_FRACTALS(name)                                                                                           \
  template <class T>                                                                                                     \
  void name(T* dst, T* src, uint8_t, uint16_t matrices, uint16_t rows, uint16_t columns, uint16_t srcMatrix, uint16_t srcRow, \
            uint16_t dstColumn, uint16_t dstRow, uint16_t dstMatrix, ATTNEMU_AT) {                                       \
    attnemu::intrinsics::rows_to_fractals(#name, at, sizeof(T), dst, src, matrices, rows, columns, srcMatrix, srcRow, dstColumn, dstRow, dstMatrix); \
  }
ATTNEMU_FRACTALS(copy_gm_to_cbuf_multi_nd2nz_b8) ATTNEMU_FRACTALS(copy_gm_to_cbuf_multi_nd2nz_b16) ATTNEMU_FRACTALS(copy_gm_to_cbuf_multi_nd2nz_b32s)
#undef ATTNEMU_FRACTALS

// What stores to global memory do with what lies there.
#define ATTNEMU_ATOMIC(name, Type)                                            \
  inline void name(ATTNEMU_AT) {                                              \
    attnemu::Registers& r = attnemu::core->reg;                               \
    if (r.atomic == attnemu::AtomicOp::None) r.atomic = attnemu::AtomicOp::Add; \
    r.atomic_type = attnemu::DType::Type;                                     \
    r.atomic_at = at;                                                         \
  }
ATTNEMU_ATOMIC(set_atomic_f32, F32) ATTNEMU_ATOMIC(set_atomic_f16, F16) ATTNEMU_ATOMIC(set_atomic_bf16, BF16)
ATTNEMU_ATOMIC(set_atomic_s32, I32) ATTNEMU_ATOMIC(set_atomic_s16, I16) ATTNEMU_ATOMIC(set_atomic_s8, I8)
#undef ATTNEMU_ATOMIC
inline void set_atomic_none() { attnemu::core->reg.atomic = attnemu::AtomicOp::None; }
inline void set_atomic_add() { attnemu::core->reg.atomic = attnemu::AtomicOp::Add; }
inline void set_atomic_max() { attnemu::core->reg.atomic = attnemu::AtomicOp::Max; }
inline void set_atomic_min() { attnemu::core->reg.atomic = attnemu::AtomicOp::Min; }
