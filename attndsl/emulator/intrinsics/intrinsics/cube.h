// Instructions of the cube core: loads to L0, the product, the write-back.
#pragma once
#include "attnemu/cube.h"
#include "copy.h"

namespace attnemu::intrinsics {

inline FractalLoad fractals(uint16_t start, uint8_t repeats, uint16_t from_step, uint16_t to_gap, bool transpose) {
  FractalLoad l;
  l.start = start;
  l.repeats = repeats;
  l.from_step = from_step;
  l.to_step = 1u + to_gap;
  l.transpose = transpose;
  return l;
}
inline TransposeLoad transposed(uint16_t start, uint8_t repeats, uint16_t from_step, uint16_t gap, uint16_t fractal_gap) {
  TransposeLoad l;
  l.start = start;
  l.repeats = repeats;
  l.from_step = from_step;
  l.gap = gap;
  l.fractal_gap = fractal_gap;
  return l;
}
// The sum starts as what C holds, as the biases (`from_table`), or as nothing (`initial`).
template <class C, class A, class B>
void product(const SourceLine& at, C* c, A* a, B* b, uint64_t bias, uint16_t m, uint16_t k, uint16_t n, uint8_t unit_flag, bool align_k, bool from_table, bool initial) {
  Product p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.accumulate = !initial && !from_table;
  p.unit_flag = unit_flag;
  p.align_k = align_k;
  Place row = on_chip(MemoryKind::BT, bias);
  multiply("mad", at, on_chip(MemoryKind::L0C, c), element_type<C>(), on_chip(MemoryKind::L0A, a), element_type<A>(), on_chip(MemoryKind::L0B, b), element_type<B>(),
           !initial && from_table ? &row : nullptr, p);
}
// 16 bits each of an image's width and height, then 8 bits of padding left, right, above and below.
inline ImageMap image_of(uint64_t config) {
  ImageMap m;
  m.width = static_cast<uint16_t>(config);
  m.height = static_cast<uint16_t>(config >> 16);
  for (int i = 0; i < 4; ++i) m.padding[i] = static_cast<uint8_t>(config >> (32 + 8 * i));
  return m;
}
// A window load's image, its padding and its repeats stand in registers.
inline ImageLoad image_of_registers(bool right) {
  const Registers& r = core->reg;
  const ImageMap& image = r.image[right];
  ImageLoad l;
  l.height = image.height;
  l.width = image.width;
  l.left = image.padding[0];
  l.right = image.padding[1];
  l.top = image.padding[2];
  l.bottom = image.padding[3];
  l.pad_bits = r.load_pad_value;
  l.repeats = r.load_repeats;
  l.repeat_step = r.load_repeat_stride;
  l.repeat_columns = r.load_repeat_columns;
  l.boundary = r.load_boundary;
  return l;
}
// Runs of units: 15 bits each of their number, units a run and the gap behind one, 16 bits apart.
inline void fill(const char* what, const SourceLine& at, Place to, uint32_t element, uint64_t bits, int64_t config) {
  const bool l1 = to.memory->kind == MemoryKind::L1;
  fill_units(what, at, l1 ? Pipe::MTE2 : Pipe::MTE1, to, element, bits, config & 0x7FFF, config >> 16 & 0x7FFF, config >> 32 & 0x7FFF, l1 ? 32 : 512);
}
inline bool quantises(QuantMode_t q, Quantise* how, bool* by_column) {
  *by_column = q == VDEQF16 || q == VREQ8 || q == VQF322B8_PRE;
  switch (q) {
    case NoQuant: *how = Quantise::None; return true;
    case F322F16: *how = Quantise::ToHalf; return true;
    case F322BF16: *how = Quantise::ToBfloat; return true;
    case DEQF16: case VDEQF16: *how = Quantise::IntToHalf; return true;
    case REQ8: case VREQ8: *how = Quantise::IntToInt8; return true;
    case QF322B8_PRE: case VQF322B8_PRE: *how = Quantise::FloatToInt8; return true;
    default: return false;
  }
}
template <class To, class From>
void results(const char* what, const SourceLine& at, Place to, From* src, uint16_t columns, uint16_t rows, uint32_t to_step, uint16_t from_step, uint8_t unit_flag, QuantMode_t quant,
             uint8_t relu, bool channel_split, bool row_major) {
  if (!to.memory) return;
  const Registers& r = core->reg;
  WriteBack w;
  bool by_column = false;
  if (!quantises(quant, &w.quantise, &by_column)) return unmodelled("copy_matrix_cc with this quantisation", at);
  if (relu > 1) return unmodelled("copy_matrix_cc with slopes", at);
  if (by_column && !r.quant_words_set) {
    if (machine->knobs.memcheck) machine->report("memcheck", "fixpipe_quant", at, format("%s: a mode with a word a column needs set_fpc first", what));
    return;
  }
  Place words = on_chip(MemoryKind::FB, r.quant_words_at);
  w.n = columns;
  w.m = rows;
  w.from_step = from_step;
  w.to_step = to_step;
  w.row_major = row_major;
  w.quant_word = r.quant_word;
  w.channel_words = by_column ? &words : nullptr;
  if (row_major) {
    w.matrices = r.nd_num;
    w.from_matrix_step = r.nd_source_stride;
    w.to_matrix_step = r.nd_target_stride;
  }
  w.relu = relu == 1;
  w.channel_split = channel_split;
  w.unit_flag = unit_flag;
  write_back(what, at, to, element_type<To>(), on_chip(MemoryKind::L0C, src), element_type<From>(), w);
}

}  // namespace attnemu::intrinsics

// Fractals from L1, or from global memory; steps of the source count fractals, `dstGap` lies between those of the target.
#define ATTNEMU_LOAD(name, Kind)                                                                                         \
  template <class T>                                                                                                     \
  void load_cbuf_to_##name(T* dst, T* src, uint16_t start, uint8_t repeat, uint16_t srcStride, uint16_t dstGap, uint8_t, bool transpose, \
                           addr_cal_mode_t mode, ATTNEMU_AT) {                                                           \
    namespace in = attnemu::intrinsics;                                                                                  \
    if (mode != inc) return in::unmodelled("load_cbuf_to_" #name " in descending order", at);                            \
    attnemu::load_fractals("load_cbuf_to_" #name, at, attnemu::Pipe::MTE1, in::on_chip(attnemu::MemoryKind::Kind, dst),  \
                           in::on_chip(attnemu::MemoryKind::L1, src), sizeof(T), in::fractals(start, repeat, srcStride, dstGap, transpose)); \
  }                                                                                                                      \
  template <class T>                                                                                                     \
  void load_gm_to_##name(T* dst, T* src, uint16_t start, uint8_t repeat, uint16_t srcStride, uint16_t dstGap, uint8_t, addr_cal_mode_t mode, ATTNEMU_AT) { \
    namespace in = attnemu::intrinsics;                                                                                  \
    if (mode != inc) return in::unmodelled("load_gm_to_" #name " in descending order", at);                              \
    attnemu::Place from = in::in_global(src, "load_gm_to_" #name, at);                                                   \
    if (from.memory)                                                                                                     \
      attnemu::load_fractals("load_gm_to_" #name, at, attnemu::Pipe::MTE2, in::on_chip(attnemu::MemoryKind::Kind, dst), from, sizeof(T), \
                             in::fractals(start, repeat, srcStride, dstGap, false));                                     \
  }                                                                                                                      \
  template <class T>                                                                                                     \
  void load_cbuf_to_##name##_transpose(T* dst, T* src, uint16_t start, uint8_t repeat, uint16_t srcStride, uint16_t dstGap, addr_cal_mode_t mode, \
                                       uint16_t fractalGap, ATTNEMU_AT) {                                                \
    namespace in = attnemu::intrinsics;                                                                                  \
    if (mode != inc) return in::unmodelled("load_cbuf_to_" #name "_transpose in descending order", at);                  \
    attnemu::load_transposed("load_cbuf_to_" #name "_transpose", at, in::on_chip(attnemu::MemoryKind::Kind, dst),        \
                             in::on_chip(attnemu::MemoryKind::L1, src), sizeof(T), in::transposed(start, repeat, srcStride, dstGap, fractalGap)); \
  }
ATTNEMU_LOAD(ca, L0A) ATTNEMU_LOAD(cb, L0B)
#undef ATTNEMU_LOAD

// Windows of an image in L1, of the left or the right register: columns and rows of the matrix that they are, and where these
// start; the filter's size has a ninth bit.
#define ATTNEMU_LOAD_WINDOWS(name, Kind)                                                                                 \
  template <class T>                                                                                                     \
  void img2colv2_cbuf_to_##name(T* dst, T* src, uint16_t columns, uint16_t rows, uint16_t fromColumn, uint16_t fromRow, uint8_t strideW, uint8_t strideH, \
                                uint8_t filterW, uint8_t filterH, uint8_t dilationW, uint8_t dilationH, bool wideW, bool wideH, bool transpose, \
                                bool right, uint16_t channels, ATTNEMU_AT) {                                             \
    namespace in = attnemu::intrinsics;                                                                                  \
    attnemu::ImageLoad l = in::image_of_registers(right);                                                                \
    l.channels = channels;                                                                                               \
    l.column_count = columns;                                                                                            \
    l.row_count = rows;                                                                                                  \
    l.column_start = fromColumn;                                                                                         \
    l.row_start = fromRow;                                                                                               \
    l.stride_w = strideW;                                                                                                \
    l.stride_h = strideH;                                                                                                \
    l.filter_w = filterW + (wideW ? 256u : 0u);                                                                          \
    l.filter_h = filterH + (wideH ? 256u : 0u);                                                                          \
    l.dilation_w = dilationW;                                                                                            \
    l.dilation_h = dilationH;                                                                                            \
    l.transpose = transpose;                                                                                             \
    attnemu::load_windows("img2colv2_cbuf_to_" #name, at, in::on_chip(attnemu::MemoryKind::Kind, dst), in::on_chip(attnemu::MemoryKind::L1, src), sizeof(T), l); \
  }
ATTNEMU_LOAD_WINDOWS(ca, L0A) ATTNEMU_LOAD_WINDOWS(cb, L0B)
#undef ATTNEMU_LOAD_WINDOWS
inline void set_fmatrix(uint64_t config) { attnemu::core->reg.image[0] = attnemu::intrinsics::image_of(config); }
inline void set_fmatrix_b(uint64_t config) { attnemu::core->reg.image[1] = attnemu::intrinsics::image_of(config); }
// How far apart windows repeat, 8 bits of how often, and whether along the columns.
inline void set_l3d_rpt(uint64_t config) {
  attnemu::Registers& r = attnemu::core->reg;
  r.load_repeat_stride = static_cast<uint16_t>(config);
  r.load_repeats = static_cast<uint8_t>(config >> 16);
  r.load_repeat_columns = config >> 24 & 1;
}

// One value all over a memory of the cube core: units are blocks of L1, or fractals.
#define ATTNEMU_FILL(name, Kind)                                                                                         \
  template <class T, class V>                                                                                            \
  void create_##name##_matrix(T* dst, int64_t config, V value, ATTNEMU_AT) {                                             \
    namespace in = attnemu::intrinsics;                                                                                  \
    in::fill("create_" #name "_matrix", at, in::on_chip(attnemu::MemoryKind::Kind, dst), sizeof(V), in::scalar_of(value).bits, config); \
  }                                                                                                                      \
  inline void create_##name##_matrix_bf16(bfloat16_t* dst, int64_t config, bfloat16_t value, ATTNEMU_AT) { create_##name##_matrix(dst, config, value, at); }
ATTNEMU_FILL(cbuf, L1) ATTNEMU_FILL(ca, L0A) ATTNEMU_FILL(cb, L0B)
#undef ATTNEMU_FILL

template <class C, class A, class B>
void mad(C* c, A* a, B* b, uint16_t m, uint16_t k, uint16_t n, uint8_t unitFlag, bool alignK, bool fromTable, bool initial, ATTNEMU_AT) {
  attnemu::intrinsics::product(at, c, a, b, 0, m, k, n, unitFlag, alignK, fromTable, initial);
}
// With the biases' address in their table.
template <class C, class A, class B>
void mad(C* c, A* a, B* b, uint64_t bias, uint16_t m, uint16_t k, uint16_t n, uint8_t unitFlag, bool alignK, bool fromTable, bool initial, ATTNEMU_AT) {
  attnemu::intrinsics::product(at, c, a, b, bias, m, k, n, unitFlag, alignK, fromTable, initial);
}

// The result's n columns and m rows; steps: elements a row (row-major) or blocks a column of fractals in the target, rows in L0C.
template <class To, class From>
void copy_matrix_cc_to_gm(To* dst, From* src, uint8_t, uint16_t n, uint16_t m, uint32_t dstStride, uint16_t srcStride, uint8_t unitFlag, QuantMode_t quant, uint8_t relu,
                          bool channelSplit, bool rowMajor, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  in::results<To>("copy_matrix_cc_to_gm", at, in::in_global(dst, "copy_matrix_cc_to_gm", at), src, n, m, dstStride, srcStride, unitFlag, quant, relu, channelSplit, rowMajor);
}
template <class To, class From>
void copy_matrix_cc_to_cbuf(To* dst, From* src, uint8_t, uint16_t n, uint16_t m, uint32_t dstStride, uint16_t srcStride, uint8_t unitFlag, QuantMode_t quant, uint8_t relu,
                            bool channelSplit, bool rowMajor, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  in::results<To>("copy_matrix_cc_to_cbuf", at, in::on_chip(attnemu::MemoryKind::L1, dst), src, n, m, dstStride, srcStride, unitFlag, quant, relu, channelSplit, rowMajor);
}
inline void set_quant_pre(uint64_t word) { attnemu::core->reg.quant_word = word; }
// Bits 8 to 15: the quantisation words' place in the fixpipe buffer, 128 bytes a step; 63: clears the unit flags.
inline void set_fpc(uint64_t config) {
  if (config >> 63) attnemu::core->unit_flags.clear();
  attnemu::core->reg.quant_words_at = (config >> 8 & 0xFF) << 7;
  attnemu::core->reg.quant_words_set = true;
}
// 16 bits each: matrices, the step between them in L0C, and in global memory.
inline void set_nd_para(uint64_t config) {
  attnemu::Registers& r = attnemu::core->reg;
  r.nd_num = static_cast<uint16_t>(config);
  r.nd_source_stride = static_cast<uint16_t>(config >> 16);
  r.nd_target_stride = static_cast<uint16_t>(config >> 32);
}
// What window loads read outside of an image, and where L1 wraps round for them.
inline void set_padding(uint64_t bits) { attnemu::core->reg.load_pad_value = bits; }
inline void set_l1_3d_size(uint64_t bytes) { attnemu::core->reg.load_boundary = static_cast<uint32_t>(bytes); }

// L1 to the fixpipe buffer: lengths and the target's gaps count 128 bytes, the source's 32.
inline void copy_cbuf_to_fbuf(void* dst, void* src, uint16_t bursts, uint16_t length, uint16_t srcGap, uint16_t dstGap, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  in::at_most(bursts, attnemu::kMaxCopyBlocks, "copy_cbuf_to_fbuf", at);
  attnemu::Bursts b;
  b.run = length * 128ull;
  b.count = bursts;
  b.from_step = b.run + srcGap * 32ull;
  b.to_step = b.run + dstGap * 128ull;
  attnemu::copy_bursts("copy_cbuf_to_fbuf", at, attnemu::Pipe::FIX, in::on_chip(attnemu::MemoryKind::FB, dst), in::on_chip(attnemu::MemoryKind::L1, src), b);
}
// L1 to the bias table: lengths and the target's gaps count 64 bytes, the source's 32; `widens`: halves become float.
inline void copy_cbuf_to_bt(uint64_t dst, void* src, uint16_t widens, uint16_t bursts, uint16_t length, uint16_t srcGap, uint16_t dstGap, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  in::at_most(bursts, attnemu::kMaxCopyBlocks, "copy_cbuf_to_bt", at);
  attnemu::Bursts b;
  b.run = length * 64ull;
  b.count = bursts;
  b.from_step = b.run + srcGap * 32ull;
  b.to_step = (widens ? 2 : 1) * b.run + dstGap * 64ull;
  attnemu::Place to = in::on_chip(attnemu::MemoryKind::BT, dst), from = in::on_chip(attnemu::MemoryKind::L1, src);
  if (widens) attnemu::copy_widened("copy_cbuf_to_bt", at, to, from, b);
  else attnemu::copy_bursts("copy_cbuf_to_bt", at, attnemu::Pipe::MTE1, to, from, b);
}
