#include <cstring>

#include "attnemu/vector.h"
#include "lane_values.h"

namespace attnemu {
namespace {

// Byte of lane `i` of an operand of 4-bit elements.
uint64_t byte_of(const LaneOperand& o, uint32_t repeat, uint32_t i) {
  return o.repeat_at(repeat) + static_cast<uint64_t>(i / 64) * o.block_step * kBlock + i % 64 / 2;
}

void add_nibbles(Instruction& ins, const LaneOperand& o, const LaneShape& s, AccessKind kind) {
  for (uint32_t r = 0; r < s.repeats; ++r)
    for (uint32_t i = 0; i < s.lanes; i += 2) {
      if (!s.of(r).test(i) && !s.of(r).test(i + 1)) continue;
      Extent e;
      e.at = byte_of(o, r, i);
      e.run = 1;
      while (i + 2 < s.lanes && (i + 2) % 64 && (s.of(r).test(i + 2) || s.of(r).test(i + 3))) ++e.run, i += 2;
      kind == AccessKind::Read ? ins.reads(o, e) : ins.writes(o, e);
    }
}

}  // namespace

void convert_nibbles(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, const LaneShape& shape, Rounding mode) {
  Instruction ins(Pipe::V, what, at);
  if (!ins) return;
  ins.aligned(dst, kBlock, "the destination");
  ins.aligned(src, kBlock, "the source");
  bool packs = dst.type == DType::I4;
  packs ? add_lanes(ins, src, shape, AccessKind::Read) : add_nibbles(ins, src, shape, AccessKind::Read);
  packs ? add_nibbles(ins, dst, shape, AccessKind::Write) : add_lanes(ins, dst, shape, AccessKind::Write);
  if (!ins.admit({Op::Convert, DType::F16, static_cast<double>(shape.repeats)})) return;
  for (uint32_t r = 0; r < shape.repeats; ++r) {
    uint16_t in[128] = {};
    for (uint32_t i = 0; i < shape.lanes; ++i)
      if (shape.of(r).test(i)) packs ? static_cast<void>(std::memcpy(&in[i], src.lane(r, i), 2)) : static_cast<void>(in[i] = src.memory->data[byte_of(src, r, i)] >> (i % 2 * 4) & 15);
    for (uint32_t i = 0; i < shape.lanes; ++i) {
      if (!shape.of(r).test(i)) continue;
      if (packs) {
        double v = round_integral(half_to_float(in[i]), mode);
        int clipped = v != v ? 0 : v < -8 ? -8 : v > 7 ? 7 : static_cast<int>(v);
        uint8_t& byte = dst.memory->data[byte_of(dst, r, i)];
        byte = static_cast<uint8_t>(i % 2 ? (byte & 15) | (clipped & 15) << 4 : (byte & 0xF0) | (clipped & 15));
        bool known = src.memory->is_defined(static_cast<uint64_t>(src.lane(r, i) - src.memory->data), 2);
        if (i % 2 == 0 || !known) dst.memory->set_defined(byte_of(dst, r, i), 1, known);
      } else {
        uint16_t h = float_to_half(static_cast<float>(in[i] > 7 ? in[i] - 16 : in[i]));
        uint8_t* to = const_cast<uint8_t*>(dst.lane(r, i));
        std::memcpy(to, &h, 2);
        dst.memory->set_defined(static_cast<uint64_t>(to - dst.memory->data), 2, src.memory->is_defined(byte_of(src, r, i), 1));
      }
    }
  }
}

}  // namespace attnemu
