// Values of lanes in the types they are computed in.
#pragma once
#include <cstring>

#include "attnemu/lanes.h"
#include "attnemu/numeric.h"

namespace attnemu {

inline bool is_float(DType t) { return t == DType::F32 || t == DType::F16 || t == DType::BF16; }

// The lanes of one repeat as fp32: in place for dense fp32, else in `buffer`.
inline const float* float_lanes(const LaneOperand& o, uint32_t repeat, uint32_t lanes, float* buffer) {
  uint32_t size = dtype_size(o.type), per_block = kBlock / size;
  uint64_t at = o.repeat_at(repeat), whole = static_cast<uint64_t>(lanes) * size;
  const uint8_t* base = o.memory->data + at;
  // masked-off lanes may lie behind the memory's end: never read them
  uint64_t reach = at + (ceil_div(lanes, per_block) - 1) * o.block_step * kBlock + kBlock;
  if (reach > o.memory->bytes) {
    for (uint32_t i = 0; i < lanes; ++i) {
      const uint8_t* p = o.lane(repeat, i);
      if (p + size > o.memory->data + o.memory->bytes) { buffer[i] = 0; continue; }
      uint16_t h; std::memcpy(&h, p, 2);
      if (o.type == DType::F32) std::memcpy(&buffer[i], p, 4);
      else buffer[i] = o.type == DType::F16 ? half_to_float(h) : bfloat_to_float(h);
    }
    return buffer;
  }
  bool dense = o.block_step == 1;
  if (o.type == DType::F32) {
    if (dense && reinterpret_cast<uintptr_t>(base) % 4 == 0) return reinterpret_cast<const float*>(base);
    for (uint32_t b = 0; b < lanes / 8; ++b) std::memcpy(buffer + b * 8, base + static_cast<uint64_t>(b) * o.block_step * kBlock, 32);
    return buffer;
  }
  uint16_t raw[128];
  if (dense) std::memcpy(raw, base, whole);
  else for (uint32_t b = 0; b < lanes / 16; ++b) std::memcpy(raw + b * 16, base + static_cast<uint64_t>(b) * o.block_step * kBlock, 32);
  if (o.type == DType::F16) halves_to_floats(raw, buffer, lanes);
  else for (uint32_t i = 0; i < lanes; ++i) buffer[i] = bfloat_to_float(raw[i]);
  return buffer;
}

inline void store_raw(const LaneOperand& o, uint32_t repeat, const uint8_t* values, uint32_t lanes, const LaneMask& mask) {
  uint32_t size = dtype_size(o.type), per_block = kBlock / size;
  uint8_t* base = o.memory->data + o.repeat_at(repeat);
  if (o.block_step == 1 && mask == LaneMask::first(lanes)) { std::memcpy(base, values, static_cast<size_t>(lanes) * size); return; }
  for (uint32_t i = 0; i < lanes; ++i)
    if (mask.test(i))
      std::memcpy(base + static_cast<uint64_t>(i / per_block) * o.block_step * kBlock + static_cast<uint64_t>(i % per_block) * size, values + static_cast<size_t>(i) * size, size);
}

// Stores fp32 values rounded to the operand's type (nearest even), saturated where the device is set so.
inline void store_floats(const LaneOperand& o, uint32_t repeat, const float* values, uint32_t lanes, const LaneMask& mask) {
  if (o.type == DType::F32) return store_raw(o, repeat, reinterpret_cast<const uint8_t*>(values), lanes, mask);
  uint16_t raw[128];
  if (o.type == DType::F16) {
    floats_to_halves(values, raw, lanes);
    if (core->reg.saturate) for (uint32_t i = 0; i < lanes; ++i) raw[i] = saturate_half(raw[i]);
  } else {
    for (uint32_t i = 0; i < lanes; ++i) raw[i] = float_to_bfloat(values[i]);
    if (core->reg.saturate) for (uint32_t i = 0; i < lanes; ++i) raw[i] = saturate_bfloat(raw[i]);
  }
  store_raw(o, repeat, reinterpret_cast<const uint8_t*>(raw), lanes, mask);
}

inline int64_t decode_integer(DType t, const uint8_t* p) {
  switch (t) {
    case DType::I8: return static_cast<int8_t>(*p);
    case DType::U8: return *p;
    case DType::I16: { int16_t v; std::memcpy(&v, p, 2); return v; }
    case DType::U16: { uint16_t v; std::memcpy(&v, p, 2); return v; }
    case DType::I32: { int32_t v; std::memcpy(&v, p, 4); return v; }
    case DType::U32: { uint32_t v; std::memcpy(&v, p, 4); return v; }
    default: { int64_t v; std::memcpy(&v, p, 8); return v; }
  }
}

inline int64_t integer_lane(const LaneOperand& o, uint32_t repeat, uint32_t i) { return decode_integer(o.type, o.lane(repeat, i)); }

inline void store_integer(const LaneOperand& o, uint32_t repeat, uint32_t i, int64_t v) {
  std::memcpy(const_cast<uint8_t*>(o.lane(repeat, i)), &v, dtype_size(o.type));
}

// A value as the bits of a type, to nearest even.
inline uint64_t encode(DType t, double v) {
  uint64_t bits = 0;
  if (t == DType::F32) { float f = static_cast<float>(v); std::memcpy(&bits, &f, 4); return bits; }
  if (t == DType::F16) return float_to_half(static_cast<float>(v));
  if (t == DType::BF16) return float_to_bfloat(static_cast<float>(v));
  auto i = static_cast<int64_t>(v);
  std::memcpy(&bits, &i, dtype_size(t));
  return bits;
}

inline double decode(DType t, const uint8_t* p) {
  if (t == DType::F32) { float f; std::memcpy(&f, p, 4); return f; }
  uint16_t h;
  if (t == DType::F16) { std::memcpy(&h, p, 2); return half_to_float(h); }
  if (t == DType::BF16) { std::memcpy(&h, p, 2); return bfloat_to_float(h); }
  return static_cast<double>(decode_integer(t, p));
}

}  // namespace attnemu
