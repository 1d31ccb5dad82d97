#include <cstring>

#include "attnemu/vector.h"
#include "lane_values.h"

namespace attnemu {
namespace {

template <class T>
bool holds(Comparison c, T a, T b) {
  switch (c) {
    case Comparison::LT: return a < b;
    case Comparison::GT: return a > b;
    case Comparison::EQ: return a == b;
    case Comparison::LE: return a <= b;
    case Comparison::GE: return a >= b;
    default: return !(a == b);
  }
}

// Result bits of one repeat, eight lanes a byte, lowest lane in bit 0.
void compare_repeat(const LaneOperand& a, const LaneOperand* b, double scalar, Comparison c, uint32_t r, const LaneShape& s, uint8_t* out) {
  std::memset(out, 0, 16);
  float left[128], right[128];
  bool floats = is_float(a.type);
  const float* pa = floats ? float_lanes(a, r, s.lanes, left) : nullptr;
  const float* pb = floats && b ? float_lanes(*b, r, s.lanes, right) : nullptr;
  for (uint32_t i = 0; i < s.lanes; ++i) {
    bool bit;
    if (floats) bit = holds(c, pa[i], pb ? pb[i] : static_cast<float>(scalar));
    else bit = holds<int64_t>(c, integer_lane(a, r, i), b ? integer_lane(*b, r, i) : static_cast<int64_t>(scalar));
    if (bit) out[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
  }
}

bool bits_defined(const LaneOperand& a, const LaneOperand* b, uint32_t r, const LaneShape& s, LaneMask& out) {
  out = defined_lanes(a, r, s.lanes);
  if (b) out = out & defined_lanes(*b, r, s.lanes);
  return out == LaneMask::first(s.lanes);
}

Work compare_work(Op op, const LaneOperand& a, const LaneOperand* b, const LaneShape& s) {
  const LaneOperand both[2] = {a, b ? *b : a};
  Work w{op, a.type};
  w.units = s.repeats;
  w.at_least = bank_cycles(cost_table().of(op, a.type).per_unit, nullptr, both, b ? 2 : 1, s);
  return w;
}

void clobber_scratch(const SourceLine& at) {
  if (!core->scratch_select.file) core->scratch_select = at;
  Memory* ub = core->memory(MemoryKind::UB);
  auto* words = reinterpret_cast<uint16_t*>(ub->data + kSelectScratch);
  for (uint32_t i = 0; i < (ub->bytes - kSelectScratch) / 2; ++i) words[i] = static_cast<uint16_t>(machine->knobs.poison);
  ub->set_defined(kSelectScratch, ub->bytes - kSelectScratch, false);
}

}  // namespace

void compare(const char* what, const SourceLine& at, const Place& dst, const LaneOperand& a, const LaneOperand* b,
             double scalar, Comparison c, const LaneShape& shape) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || shape.repeats == 0) return;
  ins.aligned(dst, kBlock, "the destination");
  ins.aligned(a, kBlock, "source 0");
  if (b) ins.aligned(*b, kBlock, "source 1");
  uint32_t bytes = shape.lanes / 8;
  add_lanes(ins, a, shape, AccessKind::Read);
  if (b) add_lanes(ins, *b, shape, AccessKind::Read);
  Extent e;
  e.at = dst.at;
  e.run = static_cast<uint64_t>(shape.repeats) * bytes;
  ins.writes(dst, e);
  if (!ins.admit(compare_work(b ? Op::Compare : Op::CompareScalar, a, b, shape))) return;
  for (uint32_t r = 0; r < shape.repeats; ++r) {
    uint8_t out[16];
    compare_repeat(a, b, scalar, c, r, shape, out);
    std::memcpy(dst.memory->data + dst.at + static_cast<uint64_t>(r) * bytes, out, bytes);
    LaneMask ok;
    bits_defined(a, b, r, shape, ok);
    for (uint32_t i = 0; i < bytes; ++i)
      dst.memory->define_bits(dst.at + static_cast<uint64_t>(r) * bytes + i, static_cast<uint8_t>(ok.bits[i / 8] >> (i % 8 * 8)));
  }
}

void compare_to_register(const char* what, const SourceLine& at, const LaneOperand& a, const LaneOperand& b, Comparison c, const LaneShape& shape) {
  Instruction ins(Pipe::V, what, at);
  if (!ins) return;
  add_lanes(ins, a, shape, AccessKind::Read);
  add_lanes(ins, b, shape, AccessKind::Read);
  if (!ins.admit(compare_work(Op::Compare, a, &b, shape))) return;
  compare_repeat(a, &b, 0, c, 0, shape, core->reg.compare_mask);
  LaneMask ok;
  core->reg.compare_mask_defined = bits_defined(a, &b, 0, shape, ok);
}

void select(const char* what, const SourceLine& at, const LaneOperand& dst, const Place& bits, SelectBits how,
            const LaneOperand& a, const LaneOperand* b, double scalar, const LaneShape& shape, bool uses_scratch) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || shape.repeats == 0) return;
  ins.aligned(dst, kBlock, "the destination");
  ins.aligned(a, kBlock, "source 0");
  if (b) ins.aligned(*b, kBlock, "source 1");
  uint32_t bytes = shape.lanes / 8;
  if (how != SelectBits::Register) {
    ins.aligned(bits, kBlock, "the mask");
    Extent e;
    e.at = bits.at;
    e.run = how == SelectBits::Repeated ? bytes : static_cast<uint64_t>(shape.repeats) * bytes;
    ins.reads(bits, e);
  }
  add_lanes(ins, a, shape, AccessKind::Read);
  if (b) add_lanes(ins, *b, shape, AccessKind::Read);
  add_lanes(ins, dst, shape, AccessKind::Write);
  if (uses_scratch)
    ins.require(!core->scratch_data.file, "select_scratch", "Select in this mode overwrites UB bytes [%u, %u), where %s keeps data: leave them free",
                kSelectScratch, memory_bytes(MemoryKind::UB), core->scratch_data.file ? machine->text(core->scratch_data).c_str() : "");
  const LaneOperand both[2] = {a, b ? *b : a};
  if (!ins.admit(repeat_work(Op::Select, shape, dst, both, b ? 2 : 1))) return;
  if (uses_scratch) clobber_scratch(at);
  for (uint32_t r = 0; r < shape.repeats; ++r) {
    uint64_t place = bits.at + (how == SelectBits::Continuous ? static_cast<uint64_t>(r) * bytes : 0);
    const uint8_t* mask = how == SelectBits::Register ? core->reg.compare_mask : bits.memory->data + place;
    float left[128], right[128], out[128];
    const float* pa = float_lanes(a, r, shape.lanes, left);
    const float* pb = b ? float_lanes(*b, r, shape.lanes, right) : right;
    if (!b) for (uint32_t i = 0; i < shape.lanes; ++i) right[i] = static_cast<float>(scalar);
    for (uint32_t i = 0; i < shape.lanes; ++i) out[i] = mask[i / 8] >> (i % 8) & 1 ? pa[i] : pb[i];
    LaneMask picked;
    for (uint32_t i = 0; i < bytes; ++i) picked.bits[i / 8] |= static_cast<uint64_t>(mask[i]) << (i % 8 * 8);
    if (machine->knobs.initcheck) {
      LaneMask da = defined_lanes(a, r, shape.lanes), db = b ? defined_lanes(*b, r, shape.lanes) : LaneMask::first(shape.lanes), ok;
      for (int w = 0; w < 2; ++w) ok.bits[w] = (picked.bits[w] & da.bits[w]) | (~picked.bits[w] & db.bits[w]);
      bool known = how == SelectBits::Register ? core->reg.compare_mask_defined : bits.memory->is_defined(place, bytes);
      if (!known)
        for (uint32_t i = 0; i < shape.lanes; ++i) {
          bool bit_known = how != SelectBits::Register && bits.memory->defined_bits(place + i / 8) >> (i % 8) & 1;
          if (!bit_known) ok.bits[i >> 6] &= ~(1ull << (i & 63));
        }
      define_lanes(dst, r, shape.of(r), ok, shape.lanes);
    }
    store_floats(dst, r, out, shape.lanes, shape.of(r));
  }
}

void broadcast_blocks(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, uint32_t repeats) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || repeats == 0) return;
  uint32_t size = dtype_size(src.type);
  ins.aligned(src, kBlock, "the source");
  ins.aligned(dst, kBlock, "the destination");
  Extent e;
  e.at = src.at;
  e.run = 8ull * size * repeats;
  ins.reads(src, e);
  LaneShape full = LaneShape::masked(LaneMask::first(kRepeatBytes / size), repeats, kRepeatBytes / size);
  add_lanes(ins, dst, full, AccessKind::Write);
  if (!ins.admit(repeat_work(Op::BroadcastBlocks, full, dst, nullptr, 0))) return;
  for (uint32_t r = 0; r < repeats; ++r)
    for (uint32_t b = 0; b < 8; ++b) {
      uint64_t from = src.at + (static_cast<uint64_t>(r) * 8 + b) * size;
      uint64_t to = dst.repeat_at(r) + static_cast<uint64_t>(b) * dst.block_step * kBlock;
      for (uint32_t i = 0; i < kBlock / size; ++i) std::memcpy(dst.memory->data + to + i * size, src.memory->data + from, size);
      bool ok = (src.memory->defined_at(from) & byte_mask(0, size)) == byte_mask(0, size);
      dst.memory->define_at(to, kAllBytes, ok ? kAllBytes : 0);
    }
}

namespace {
constexpr uint32_t kRegisterBytes = 16;
Extent register_extent(uint64_t at) {
  Extent e;
  e.at = at;
  e.run = kRegisterBytes;
  return e;
}
}  // namespace

void store_compare_register(const char* what, const SourceLine& at, const Place& to) {
  Instruction ins(Pipe::V, what, at);
  if (!ins) return;
  ins.aligned(to, kBlock, "the destination");
  ins.writes(to, register_extent(to.at));
  if (!ins.admit({Op::MoveCompareMask, DType::U8, 1})) return;
  std::memcpy(to.memory->data + to.at, core->reg.compare_mask, kRegisterBytes);
  to.memory->set_defined(to.at, kRegisterBytes, core->reg.compare_mask_defined);
}

void load_compare_register(const char* what, const SourceLine& at, const Place& from) {
  Instruction ins(Pipe::V, what, at);
  if (!ins) return;
  ins.aligned(from, kBlock, "the source");
  ins.reads(from, register_extent(from.at));
  if (!ins.admit({Op::MoveCompareMask, DType::U8, 1})) return;
  std::memcpy(core->reg.compare_mask, from.memory->data + from.at, kRegisterBytes);
  core->reg.compare_mask_defined = from.memory->is_defined(from.at, kRegisterBytes);
}

}  // namespace attnemu
