#include <cstring>

#include "attnemu/vector.h"
#include "lane_values.h"

namespace attnemu {
namespace {


// One lane of the general case: through double, exact for every source but large 64-bit integers.
uint64_t convert_lane(DType to, DType from, const uint8_t* in, Rounding mode) {
  bool from_float = is_float(from);
  if (!from_float && !is_float(to)) {
    int64_t v = decode_integer(from, in);
    if (to == DType::I16) return static_cast<uint16_t>(to_integer<int16_t>(static_cast<double>(v), Rounding::Trunc));
    if (to == DType::I32) {
      int64_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
      return static_cast<uint32_t>(static_cast<int32_t>(v < low ? low : v > high ? high : v));
    }
    return static_cast<uint64_t>(v);
  }
  double v = from_float ? decode(from, in) : static_cast<double>(decode_integer(from, in));
  switch (to) {
    case DType::F32: {
      if (from == DType::F32) return bits_of(static_cast<float>(round_integral(v, mode)));
      float f = static_cast<float>(v);  // nearest even
      if (mode == Rounding::None || mode == Rounding::Rint || static_cast<double>(f) == v || from_float) return bits_of(f);
      bool above = static_cast<double>(f) > v;
      bool down = mode == Rounding::Floor || (mode == Rounding::Trunc && v > 0), up = mode == Rounding::Ceil || (mode == Rounding::Trunc && v < 0);
      if (down && above) f = std::nextafter(f, -INFINITY);
      if (up && !above) f = std::nextafter(f, INFINITY);
      if (mode == Rounding::Round) {
        float other = std::nextafter(f, above ? -INFINITY : INFINITY);
        if (std::fabs(static_cast<double>(other) - v) == std::fabs(static_cast<double>(f) - v) && std::fabs(other) > std::fabs(f)) f = other;
      }
      return bits_of(f);
    }
    case DType::F16: return float_to_half(static_cast<float>(v), mode == Rounding::None ? Rounding::Rint : mode);
    case DType::BF16: return float_to_bfloat(static_cast<float>(v), mode);
    case DType::I8: return static_cast<uint8_t>(to_integer<int8_t>(v, mode));
    case DType::U8: return to_integer<uint8_t>(v, mode);
    case DType::I16: return static_cast<uint16_t>(to_integer<int16_t>(v, mode));
    case DType::I32: return static_cast<uint32_t>(to_integer<int32_t>(v, mode));
    default: return static_cast<uint64_t>(to_integer<int64_t>(v, mode));
  }
}

bool nearest(Rounding m) { return m == Rounding::None || m == Rounding::Rint; }

}  // namespace

void convert(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, const LaneShape& shape, Rounding mode) {
  Instruction ins(Pipe::V, what, at);
  if (!ins) return;
  ins.aligned(dst, kBlock, "the destination");
  ins.aligned(src, kBlock, "the source");
  add_lanes(ins, src, shape, AccessKind::Read);
  add_lanes(ins, dst, shape, AccessKind::Write);
  if (!ins.admit(repeat_work(Op::Convert, shape, dst, &src, 1))) return;
  propagate(dst, &src, 1, shape);
  uint32_t to_size = dtype_size(dst.type);
  bool saturates = core->reg.saturate && (dst.type == DType::F16 || dst.type == DType::BF16);
  for (uint32_t r = 0; r < shape.repeats; ++r) {
    if (is_float(dst.type) && is_float(src.type) && dst.type != src.type && nearest(mode)) {
      float buffer[128], copy[128];
      const float* v = float_lanes(src, r, shape.lanes, buffer);
      std::memcpy(copy, v, shape.lanes * sizeof(float));
      store_floats(dst, r, copy, shape.lanes, shape.of(r));
      continue;
    }
    uint8_t out[1024];
    for (uint32_t i = 0; i < shape.lanes; ++i) {
      if (!shape.of(r).test(i)) continue;
      uint64_t bits;
      if (src.type == DType::I32 && dst.type == DType::F16) {
        int32_t v = static_cast<int32_t>(integer_lane(src, r, i));
        bits = float_to_half(static_cast<float>(v) * core->reg.deq_scale);
      } else {
        bits = convert_lane(dst.type, src.type, src.lane(r, i), mode);
      }
      if (saturates) bits = dst.type == DType::F16 ? saturate_half(static_cast<uint16_t>(bits)) : saturate_bfloat(static_cast<uint16_t>(bits));
      std::memcpy(out + i * to_size, &bits, to_size);
    }
    store_raw(dst, r, out, shape.lanes, shape.of(r));
  }
}

}  // namespace attnemu
