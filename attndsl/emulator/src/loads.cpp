#include <cstring>

#include "attnemu/cube.h"

namespace attnemu {
namespace {

bool is_input_memory(const Memory* m) { return m && (m->kind == MemoryKind::L0A || m->kind == MemoryKind::L0B); }

Op fractal_op(Pipe pipe, const Place& to, bool transpose) {
  if (pipe == Pipe::MTE2) return Op::LoadL0;
  if (transpose) return Op::LoadL0Transposed;
  return to.memory && to.memory->kind == MemoryKind::L0B ? Op::LoadL0B : Op::LoadL0A;
}

// 16x16 elements of two bytes, rows and columns exchanged; definedness goes along.
void transpose_16(Place to, Place from) {
  uint16_t in[256], out[256];
  std::memcpy(in, from.memory->data + from.at, kFractal);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) out[j * 16 + i] = in[i * 16 + j];
  std::memcpy(to.memory->data + to.at, out, kFractal);
  uint32_t rows[16], columns[16] = {};
  for (int i = 0; i < 16; ++i) rows[i] = from.memory->defined_at(from.at + static_cast<uint64_t>(i) * kBlock);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j)
      if ((rows[i] >> (2 * j) & 3) == 3) columns[j] |= 3u << (2 * i);
  for (int j = 0; j < 16; ++j) to.memory->define_at(to.at + static_cast<uint64_t>(j) * kBlock, kAllBytes, columns[j]);
}

// 32x32 bytes: rows and columns exchanged, the two halves of the result placed apart.
void transpose_32(Place first, uint64_t second_at, Place from) {
  for (uint32_t j = 0; j < 32; ++j) {
    uint64_t target = (j < 16 ? first.at : second_at) + static_cast<uint64_t>(j % 16) * kBlock;
    uint32_t defined = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      uint64_t row = from.at + static_cast<uint64_t>(i) * kBlock;
      first.memory->data[target + i] = from.memory->data[row + j];
      defined |= (from.memory->defined_at(row) >> j & 1) << i;
    }
    first.memory->define_at(target, kAllBytes, defined);
  }
}

// 16x16 words in two fractals of eight columns, rows and columns exchanged; the two halves of the result apart.
void transpose_words(Place first, uint64_t second_at, Place from) {
  uint8_t in[2 * kFractal];
  bool defined[256];
  std::memcpy(in, from.memory->data + from.at, sizeof in);
  auto source = [](uint32_t i, uint32_t j) { return (j / 8 * 128 + i * 8 + j % 8) * 4; };
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t j = 0; j < 16; ++j) defined[i * 16 + j] = from.memory->is_defined(from.at + source(i, j), 4);
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t j = 0; j < 16; ++j) {
      uint64_t target = (i < 8 ? first.at : second_at) + (j * 8 + i % 8) * 4ull;
      std::memcpy(first.memory->data + target, in + source(i, j), 4);
      first.memory->set_defined(target, 4, defined[i * 16 + j]);
    }
}

// 64x64 half bytes in four fractals: rows and columns exchanged, the four parts of the result apart.
void transpose_nibbles(Place to, uint64_t part_step, Place from) {
  auto bit_of = [&](uint32_t i, uint32_t j) { return from.memory->data[from.at + i * kBlock + j / 2] >> (j % 2 * 4) & 15; };
  for (uint32_t j = 0; j < 64; ++j) {
    uint64_t target = to.at + j / 16 * part_step + static_cast<uint64_t>(j % 16) * kBlock;
    uint32_t defined = 0;
    for (uint32_t i = 0; i < 64; i += 2) {
      to.memory->data[target + i / 2] = static_cast<uint8_t>(bit_of(i, j) | bit_of(i + 1, j) << 4);
      bool both = from.memory->is_defined(from.at + i * kBlock + j / 2, 1) && from.memory->is_defined(from.at + (i + 1) * kBlock + j / 2, 1);
      defined |= static_cast<uint32_t>(both) << (i / 2);
    }
    to.memory->define_at(target, kAllBytes, defined);
  }
}

Extent fractals(uint64_t at, uint64_t count, uint64_t step, uint64_t run) {
  Extent e;
  e.at = at;
  e.run = run;
  e.inner = count;
  e.step = step;
  return e;
}

}  // namespace

void load_fractals(const char* what, const SourceLine& at, Pipe pipe, Place to, Place from, uint32_t element, const FractalLoad& p) {
  Instruction ins(pipe, what, at);
  if (!ins || p.repeats == 0) return;
  ins.require(is_input_memory(to.memory) || (to.memory && to.memory->kind == MemoryKind::L1), "wrong_position",
              "the destination is in %s; L0A or L0B is wanted", to.memory ? to.memory->name.c_str() : "no memory of this core");
  if (pipe == Pipe::MTE1)
    ins.require(from.memory && from.memory->kind == MemoryKind::L1, "wrong_position", "the source is in %s; L1 is wanted",
                from.memory ? from.memory->name.c_str() : "no memory of this core");
  ins.require(!p.transpose || element == 2, "transpose_width", "transposing takes 16-bit elements, these have %u bytes", element);
  ins.aligned(to, kFractal, "the destination");
  ins.aligned(from, kBlock, "the source");
  uint64_t first = from.at + static_cast<uint64_t>(p.start) * kFractal, step = static_cast<uint64_t>(p.from_step) * kFractal;
  ins.reads(from, fractals(first, p.from_step ? p.repeats : 1, step, kFractal));
  ins.writes(to, fractals(to.at, p.repeats, static_cast<uint64_t>(p.to_step) * kFractal, kFractal));
  if (!ins.admit({fractal_op(pipe, to, p.transpose), DType::U8, static_cast<double>(p.repeats) * kFractal})) return;
  for (uint32_t r = 0; r < p.repeats; ++r) {
    Place f{from.memory, first + r * step}, t{to.memory, to.at + static_cast<uint64_t>(r) * p.to_step * kFractal};
    if (p.transpose) { transpose_16(t, f); continue; }
    std::memcpy(t.memory->data + t.at, f.memory->data + f.at, kFractal);
    copy_definedness(ins, t, f, kFractal);
  }
}

void load_transposed(const char* what, const SourceLine& at, Place to, Place from, uint32_t element, const TransposeLoad& p) {
  Instruction ins(Pipe::MTE1, what, at);
  if (!ins || p.repeats == 0) return;
  ins.require(is_input_memory(to.memory), "wrong_position", "the destination is in %s; L0A or L0B is wanted",
              to.memory ? to.memory->name.c_str() : "no memory of this core");
  ins.require(from.memory && from.memory->kind == MemoryKind::L1, "wrong_position", "the source is in %s; L1 is wanted",
              from.memory ? from.memory->name.c_str() : "no memory of this core");
  ins.require(element <= 4, "transpose_width", "transposing takes elements of 8, 16 and 32 bits, these have %u bytes", element);
  ins.aligned(to, kFractal, "the destination");
  ins.aligned(from, kBlock, "the source");
  ins.require(!p.nibbles || !to.memory || to.memory->kind == MemoryKind::L0B, "wrong_position", "4-bit elements are transposed to L0B only");
  uint32_t parts = p.nibbles ? 4 : element == 2 ? 1 : 2;
  uint64_t unit = parts * kFractal;
  uint64_t first = from.at + p.start * unit, step = p.from_step * unit, to_step = (1ull + p.gap) * kFractal;
  uint64_t second = (1ull + p.fractal_gap) * kFractal;
  ins.reads(from, fractals(first, p.from_step ? p.repeats : 1, step, unit));
  Extent target = fractals(to.at, parts, second, kFractal);
  target.outer = p.repeats;
  target.jump = to_step;
  ins.writes(to, target);
  if (!ins.admit({Op::LoadL0Transposed, DType::U8, static_cast<double>(p.repeats * unit)})) return;
  for (uint32_t r = 0; r < p.repeats; ++r) {
    Place f{from.memory, first + r * step}, t{to.memory, to.at + r * to_step};
    if (p.nibbles) transpose_nibbles(t, second, f);
    else if (element == 2) transpose_16(t, f);
    else if (element == 1) transpose_32(t, t.at + second, f);
    else transpose_words(t, t.at + second, f);
  }
}

void load_window(const char* what, const SourceLine& at, Place to, Place from, uint32_t element, const WindowLoad& p) {
  Instruction ins(Pipe::MTE1, what, at);
  if (!ins) return;
  ins.require(is_input_memory(to.memory), "wrong_position", "the destination is in %s; L0A or L0B is wanted",
              to.memory ? to.memory->name.c_str() : "no memory of this core");
  ins.require(from.memory && from.memory->kind == MemoryKind::L1, "wrong_position", "the source is in %s; L1 is wanted",
              from.memory ? from.memory->name.c_str() : "no memory of this core");
  uint32_t c0 = kBlock / element;
  ins.require(p.channel_start % c0 == 0, "misaligned", "kStartPt %u must be a multiple of %u", p.channel_start, c0);
  ins.require(p.channel_start + p.channel_count <= round_up(p.channels, c0), "window_range", "kStartPt %u + kExtension %u exceed channelSize %u",
              p.channel_start, p.channel_count, p.channels);
  ins.aligned(to, kFractal, "the destination");
  ins.aligned(from, kBlock, "the source");
  if (!ins) { ins.refuse(); return; }
  bool to_b = to.memory->kind == MemoryKind::L0B;
  ins.require(!to_b || element == 2, "unsupported", "loads to L0B with rearrangement of %u-byte elements are not modelled", element);
  uint32_t groups = static_cast<uint32_t>(ceil_div(p.channel_count, c0)), bands = static_cast<uint32_t>(ceil_div(p.row_count, 16));
  uint32_t readable = p.row_start >= p.rows ? 0 : p.rows - p.row_start < p.row_count ? p.rows - p.row_start : p.row_count;
  uint64_t column = static_cast<uint64_t>(p.rows) * kBlock;
  if (readable) {
    Extent e = fractals(from.at + p.channel_start / c0 * column + static_cast<uint64_t>(p.row_start) * kBlock, groups, column, static_cast<uint64_t>(readable) * kBlock);
    ins.reads(from, e);
  }
  uint32_t to_bands = to_b ? static_cast<uint32_t>(ceil_div(p.channel_count, 16)) : bands;
  uint32_t to_groups = to_b ? static_cast<uint32_t>(ceil_div(p.row_count, c0)) : groups;
  ins.writes(to, fractals(to.at, 1, 0, static_cast<uint64_t>(to_bands) * to_groups * kFractal));
  if (!ins.admit({Op::LoadL0Window, DType::U8, static_cast<double>(to_bands) * to_groups * kFractal})) return;
  for (uint32_t b = 0; b < bands; ++b)
    for (uint32_t g = 0; g < groups; ++g) {
      uint64_t source = from.at + (p.channel_start / c0 + g) * column + (p.row_start + b * 16ull) * kBlock;
      uint64_t target = to.at + (to_b ? static_cast<uint64_t>(b) * to_bands + g : static_cast<uint64_t>(b) * groups + g) * kFractal;
      for (uint32_t r = 0; r < 16; ++r) {
        bool there = b * 16 + r < readable;
        uint64_t row = target + r * static_cast<uint64_t>(kBlock);
        if (there) std::memcpy(to.memory->data + row, from.memory->data + source + r * static_cast<uint64_t>(kBlock), kBlock);
        else for (uint32_t i = 0; i < c0; ++i) std::memcpy(to.memory->data + row + i * element, &p.pad_bits, element);
        to.memory->define_at(row, kAllBytes, there ? from.memory->defined_at(source + r * static_cast<uint64_t>(kBlock)) : b * 16 + r < p.row_count ? kAllBytes : 0);
      }
      if (to_b) transpose_16({to.memory, target}, {to.memory, target});
    }
}

void fill_units(const char* what, const SourceLine& at, Pipe pipe, Place to, uint32_t element, uint64_t bits, uint32_t runs,
                uint32_t blocks, uint32_t gap, uint32_t unit) {
  Instruction ins(pipe, what, at);
  if (!ins || runs == 0 || blocks == 0) return;
  uint64_t run = static_cast<uint64_t>(blocks) * unit, step = run + static_cast<uint64_t>(gap) * unit;
  ins.writes(to, fractals(to.at, runs, step, run));
  if (!ins.admit({pipe == Pipe::MTE2 ? Op::FillL1 : Op::FillL0, DType::U8, static_cast<double>(run * runs)})) return;
  for (uint32_t r = 0; r < runs; ++r) {
    for (uint64_t i = 0; i < run; i += element) std::memcpy(to.memory->data + to.at + r * step + i, &bits, element);
    to.memory->set_defined(to.at + r * step, run, true);
  }
}

}  // namespace attnemu
