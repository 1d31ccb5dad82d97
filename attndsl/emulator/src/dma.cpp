#include "attnemu/dma.h"

#include <cstring>

#include "lane_values.h"

namespace attnemu {
namespace {

Extent bursts(uint64_t at, uint64_t run, uint64_t count, uint64_t step) {
  Extent e;
  e.at = at;
  bool dense = step == run;
  e.run = dense ? run * count : run;
  e.inner = dense ? (count ? 1 : 0) : count;
  e.step = step;
  return e;
}

// The path a copy takes.
Op move_op(Pipe pipe, const Place& from, const Place& to) {
  bool from_ub = from.memory && from.memory->kind == MemoryKind::UB, to_ub = to.memory && to.memory->kind == MemoryKind::UB;
  switch (pipe) {
    case Pipe::MTE2: return to_ub ? Op::LoadUB : Op::LoadL1;
    case Pipe::MTE3: return from_ub ? Op::StoreUB : Op::StoreL1;
    case Pipe::MTE1: return Op::LoadBias;
    case Pipe::FIX: return Op::LoadQuantWords;
    default: return Op::CopyUB;
  }
}

// Global memory is moved in pieces of at least 128 bytes, on-chip memory in blocks.
double moved_bytes(const Place& from, const Place& to, uint64_t run, uint64_t count) {
  bool global = (from.memory && from.memory->kind == MemoryKind::GM) || (to.memory && to.memory->kind == MemoryKind::GM);
  return static_cast<double>(round_up(run, global ? 128 : kBlock) * count);
}

// A row of a matrix is read in pieces of 512, 256 and 128 bytes, the last one whole.
uint64_t pieces_of(uint64_t row) { return row / 512 + (row >> 8 & 1) + (row >> 7 & 1) + (row % 128 ? 1 : 0); }

void check_operand(Instruction& ins, const Place& p, const char* name) {
  if (!p.memory || p.memory->kind == MemoryKind::GM) return;
  uint32_t unit = p.memory->kind == MemoryKind::BT ? 64 : p.memory->kind == MemoryKind::FB ? 128 : kBlock;
  ins.aligned(p, unit, name);
}

}  // namespace

void copy_definedness(Instruction& ins, Place to, Place from, uint64_t n, bool adds) {
  if (!machine->knobs.initcheck) return;
  bool bad = false;
  uint64_t bad_at = 0;
  for (uint64_t i = 0; i < n; i += kBlock) {
    uint32_t part = n - i >= kBlock ? kAllBytes : byte_mask(0, static_cast<uint32_t>(n - i));
    uint32_t d = from.memory->defined_at(from.at + i);
    if (adds) d &= to.memory->defined_at(to.at + i);
    if ((d & part) != part && !bad) { bad = true; bad_at = from.at + i + static_cast<uint64_t>(__builtin_ctz(~d & part)); }
    to.memory->define_at(to.at + i, part, d);
  }
  if (bad && to.memory->output) ins.undefined_reaches(("GM output " + to.memory->name).c_str(), from.memory, bad_at, 1);
}

namespace {

template <class T, class F>
void accumulate_as(uint8_t* to, const uint8_t* from, uint64_t n, F&& f) {
  for (uint64_t i = 0; i + sizeof(T) <= n; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, to + i, sizeof(T));
    std::memcpy(&b, from + i, sizeof(T));
    a = f(a, b);
    std::memcpy(to + i, &a, sizeof(T));
  }
}

double apply(AtomicOp op, double a, double b) {
  if (op == AtomicOp::Add) return a + b;
  return op == AtomicOp::Max ? (a > b ? a : b) : (a < b ? a : b);
}

}  // namespace

void accumulate(uint8_t* to, const uint8_t* from, uint64_t n, DType type, AtomicOp op) {
  if (type == DType::F32)
    return accumulate_as<float>(to, from, n, [op](float a, float b) {
      return op == AtomicOp::Add ? a + b : static_cast<float>(apply(op, a, b));
    });
  uint32_t size = dtype_size(type);
  for (uint64_t i = 0; i + size <= n; i += size) {
    double v = apply(op, decode(type, to + i), decode(type, from + i));
    uint64_t bits = encode(type, v);
    std::memcpy(to + i, &bits, size);
  }
}

void copy_bursts(const char* what, const SourceLine& at, Pipe pipe, Place to, Place from, const Bursts& b) {
  Instruction ins(pipe, what, at);
  if (!ins) return;
  check_operand(ins, to, "the destination");
  check_operand(ins, from, "the source");
  if (b.run == 0 || b.count == 0) return;
  bool atomic = b.atomic && core->reg.atomic != AtomicOp::None;
  ins.reads(from, bursts(from.at, b.run, b.count, b.from_step));
  Extent target = bursts(to.at, b.run, b.count, b.to_step);
  atomic ? ins.accumulates(to, target) : ins.writes(to, target);
  if (!ins.admit({move_op(pipe, from, to), DType::U8, moved_bytes(from, to, b.run, b.count)})) return;
  for (uint64_t i = 0; i < b.count; ++i) {
    Place t{to.memory, to.at + i * b.to_step}, f{from.memory, from.at + i * b.from_step};
    copy_definedness(ins, t, f, b.run, atomic);
    if (atomic) accumulate(t.memory->data + t.at, f.memory->data + f.at, b.run, core->reg.atomic_type, core->reg.atomic);
    else std::memmove(t.memory->data + t.at, f.memory->data + f.at, b.run);
  }
}

void copy_widened(const char* what, const SourceLine& at, Place to, Place from, const Bursts& b) {
  Instruction ins(Pipe::MTE1, what, at);
  if (!ins) return;
  ins.aligned(to, 2 * kBlock, "the destination");
  check_operand(ins, from, "the source");
  if (b.run == 0 || b.count == 0) return;
  ins.reads(from, bursts(from.at, b.run, b.count, b.from_step));
  ins.writes(to, bursts(to.at, 2 * b.run, b.count, b.to_step));
  if (!ins.admit({Op::LoadBias, DType::U8, moved_bytes(from, to, b.run, b.count)})) return;
  for (uint64_t i = 0; i < b.count; ++i)
    for (uint64_t k = 0; k < b.run; k += 2) {
      uint64_t f = from.at + i * b.from_step + k, t = to.at + i * b.to_step + 2 * k;
      auto wide = static_cast<float>(decode(DType::F16, from.memory->data + f));
      std::memcpy(to.memory->data + t, &wide, sizeof wide);
      if (machine->knobs.initcheck) to.memory->set_defined(t, sizeof wide, from.memory->is_defined(f, 2));
    }
}

void load_padded(const char* what, const SourceLine& at, Place to, Place from, const PaddedLoad& p) {
  Instruction ins(Pipe::MTE2, what, at);
  if (!ins) return;
  check_operand(ins, to, "the destination");
  if (p.run == 0 || p.count == 0) return;
  uint64_t left = static_cast<uint64_t>(p.left) * p.element, right = static_cast<uint64_t>(p.right) * p.element;
  uint64_t whole = round_up(left + p.run + right, kBlock), step = whole + p.gap_blocks * kBlock;
  ins.reads(from, bursts(from.at, p.run, p.count, p.from_step));
  ins.writes(to, bursts(to.at, whole, p.count, step));
  if (!ins.admit({Op::LoadUB, DType::U8, moved_bytes(from, to, p.run, p.count)})) return;
  for (uint64_t i = 0; i < p.count; ++i) {
    Place t{to.memory, to.at + i * step}, f{from.memory, from.at + i * p.from_step};
    uint8_t* out = t.memory->data + t.at;
    bool first_element = left == 0 && right == 0;  // the rest of the block repeats the burst's first element
    for (uint64_t at_byte = 0; at_byte < whole; at_byte += p.element) {
      bool is_pad = at_byte < left || (at_byte >= left + p.run && at_byte < left + p.run + right);
      if (at_byte >= left && at_byte < left + p.run) { at_byte += (p.run - 1) / p.element * p.element; continue; }
      if (first_element && !is_pad) std::memcpy(out + at_byte, f.memory->data + f.at, p.element);
      else if (is_pad && p.pad) std::memcpy(out + at_byte, &p.value, p.element);
      else for (uint32_t k = 0; k < p.element; ++k) out[at_byte + k] = static_cast<uint8_t>(machine->knobs.poison >> (k % 2 * 8));
    }
    std::memcpy(out + left, f.memory->data + f.at, p.run);
    if (!machine->knobs.initcheck) continue;
    t.memory->set_defined(t.at, left + p.run + right, p.pad);
    if (whole > left + p.run + right) t.memory->set_defined(t.at + left + p.run + right, whole - left - p.run - right, first_element);
    copy_definedness(ins, {t.memory, t.at + left}, f, p.run);
  }
}

void rows_to_fractals(const char* what, const SourceLine& at, Place to, Place from, const RowsToFractals& p) {
  Instruction ins(Pipe::MTE2, what, at);
  if (!ins) return;
  check_operand(ins, to, "the destination");
  if (p.matrices == 0 || p.rows == 0 || p.columns == 0) return;
  uint64_t width = static_cast<uint64_t>(p.columns) * p.element, groups = ceil_div(width, kBlock);
  for (uint32_t m = 0; m < p.matrices; ++m) {
    ins.reads(from, bursts(from.at + m * p.from_matrix_step, width, p.rows, p.from_row_step));
    Extent e;
    e.at = to.at + m * p.to_matrix_step;
    bool dense = p.to_row_step == kBlock;
    e.run = dense ? static_cast<uint64_t>(p.rows) * kBlock : kBlock;
    e.inner = dense ? 1 : p.rows;
    e.step = p.to_row_step;
    e.outer = groups;
    e.jump = p.to_column_step;
    ins.writes(to, e);
  }
  uint64_t rows = static_cast<uint64_t>(p.rows) * p.matrices;
  Work work{Op::LoadL1Fractals, DType::U8, moved_bytes(from, to, width, rows)};
  work.rows = static_cast<double>(rows);
  work.pieces = static_cast<double>(rows * pieces_of(width));
  if (!ins.admit(work)) return;
  for (uint32_t m = 0; m < p.matrices; ++m)
    for (uint32_t r = 0; r < p.rows; ++r) {
      uint64_t source = from.at + m * p.from_matrix_step + r * p.from_row_step;
      for (uint64_t g = 0; g < groups; ++g) {
        uint64_t target = to.at + m * p.to_matrix_step + g * p.to_column_step + r * p.to_row_step;
        uint64_t n = width - g * kBlock < kBlock ? width - g * kBlock : kBlock;
        uint8_t* out = to.memory->data + target;
        if (n < kBlock) std::memset(out, 0, kBlock);
        std::memcpy(out, from.memory->data + source + g * kBlock, n);
        uint32_t part = byte_mask(0, static_cast<uint32_t>(n));
        to.memory->define_at(target, kAllBytes, from.memory->defined_at(source + g * kBlock) | ~part);
      }
    }
}

}  // namespace attnemu
