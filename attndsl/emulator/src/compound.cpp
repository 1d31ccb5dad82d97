#include <cstring>

#include "attnemu/vector.h"
#include "lane_values.h"

namespace attnemu {
namespace {

double in_type(DType t, double v) {
  if (t == DType::F16) return half_to_float(float_to_half(static_cast<float>(v)));
  return t == DType::F32 ? static_cast<float>(v) : v;
}

double combine(CompoundOp op, DType from, double a, double b) {
  double v = 0;
  switch (op) {
    case CompoundOp::AddReluCast: v = in_type(from, a + b); break;
    case CompoundOp::SubReluCast: v = in_type(from, a - b); break;
    case CompoundOp::MulCast: return in_type(from, a * b);
    case CompoundOp::AddDeqRelu: v = static_cast<double>(static_cast<float>(a + b) * core->reg.deq_scale); break;
  }
  return v > 0 || v != v ? v : 0;
}

uint64_t converted(DType to, double v) {
  if (to == DType::I8) return static_cast<uint8_t>(to_integer<int8_t>(v, Rounding::Rint));
  if (to == DType::U8) return to_integer<uint8_t>(v, Rounding::Rint);
  uint16_t h = float_to_half(static_cast<float>(v));
  return core->reg.saturate ? saturate_half(h) : h;
}

double value(const LaneOperand& o, uint32_t repeat, uint32_t i) {
  const uint8_t* p = o.lane(repeat, i);
  return is_float(o.type) ? decode(o.type, p) : static_cast<double>(decode_integer(o.type, p));
}

}  // namespace

void compound(const char* what, const SourceLine& at, CompoundOp op, const LaneOperand& dst, const LaneOperand* sources, const LaneShape& shape) {
  Instruction ins(Pipe::V, what, at);
  if (!ins) return;
  ins.aligned(dst, kBlock, "the destination");
  ins.aligned(sources[0], kBlock, "the first source");
  ins.aligned(sources[1], kBlock, "the second source");
  for (int i = 0; i < 2; ++i) add_lanes(ins, sources[i], shape, AccessKind::Read);
  add_lanes(ins, dst, shape, AccessKind::Write);
  if (!ins.admit({Op::Compound, sources[0].type, static_cast<double>(shape.repeats)})) return;
  propagate(dst, sources, 2, shape);
  uint32_t size = dtype_size(dst.type);
  for (uint32_t r = 0; r < shape.repeats; ++r) {
    uint8_t out[256];
    for (uint32_t i = 0; i < shape.lanes; ++i) {
      if (!shape.of(r).test(i)) continue;
      uint64_t bits = converted(dst.type, combine(op, sources[0].type, value(sources[0], r, i), value(sources[1], r, i)));
      std::memcpy(out + i * size, &bits, size);
    }
    store_raw(dst, r, out, shape.lanes, shape.of(r));
  }
}

}  // namespace attnemu
