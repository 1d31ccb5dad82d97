// Instructions of the vector unit. The mask register says which lanes they touch.
#pragma once
#include "attnemu/sort.h"
#include "places.h"

// dst = op(src0, src1)
#define ATTNEMU_BINARY(name, Op)                                                                                         \
  template <class T>                                                                                                     \
  void name(T* dst, T* src0, T* src1, uint8_t repeat, uint8_t dstBlock, uint8_t src0Block, uint8_t src1Block, uint8_t dstRepeat, \
            uint8_t src0Repeat, uint8_t src1Repeat, ATTNEMU_AT) {                                                        \
    namespace in = attnemu::intrinsics;                                                                                  \
    attnemu::LaneOperand s[2] = {in::lanes(src0, src0Block, src0Repeat), in::lanes(src1, src1Block, src1Repeat)};        \
    attnemu::elementwise(#name, at, attnemu::VectorOp::Op, in::lanes(dst, dstBlock, dstRepeat), s, 2,                    \
                         attnemu::register_shape(repeat, in::per_repeat<T>()));                                          \
  }
ATTNEMU_BINARY(vadd, Add) ATTNEMU_BINARY(vsub, Sub) ATTNEMU_BINARY(vmul, Mul) ATTNEMU_BINARY(vdiv, Div)
ATTNEMU_BINARY(vmax, Max) ATTNEMU_BINARY(vmin, Min) ATTNEMU_BINARY(vand, And) ATTNEMU_BINARY(vor, Or)
ATTNEMU_BINARY(vaddrelu, AddRelu) ATTNEMU_BINARY(vsubrelu, SubRelu)
ATTNEMU_BINARY(vmadd, FusedMulAdd) ATTNEMU_BINARY(vmaddrelu, FusedMulAddRelu)
#undef ATTNEMU_BINARY
// dst += src0 * src1, also of halves to float.
template <class T, class U>
void vmla(T* dst, U* src0, U* src1, uint8_t repeat, uint8_t dstBlock, uint8_t src0Block, uint8_t src1Block, uint8_t dstRepeat, uint8_t src0Repeat, uint8_t src1Repeat, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  attnemu::LaneOperand s[2] = {in::lanes(src0, src0Block, src0Repeat), in::lanes(src1, src1Block, src1Repeat)};
  attnemu::elementwise("vmla", at, attnemu::VectorOp::MulAddDst, in::lanes(dst, dstBlock, dstRepeat), s, 2, attnemu::register_shape(repeat, in::per_repeat<T, U>()));
}

// dst = op(src)
#define ATTNEMU_UNARY(name, Op)                                                                                          \
  template <class T>                                                                                                     \
  void name(T* dst, T* src, uint8_t repeat, uint16_t dstBlock, uint16_t srcBlock, uint16_t dstRepeat, uint16_t srcRepeat, ATTNEMU_AT) { \
    namespace in = attnemu::intrinsics;                                                                                  \
    attnemu::LaneOperand s = in::lanes(src, srcBlock, srcRepeat);                                                        \
    attnemu::elementwise(#name, at, attnemu::VectorOp::Op, in::lanes(dst, dstBlock, dstRepeat), &s, 1,                   \
                         attnemu::register_shape(repeat, in::per_repeat<T>()));                                          \
  }
ATTNEMU_UNARY(vexp, Exp) ATTNEMU_UNARY(vln, Ln) ATTNEMU_UNARY(vabs, Abs) ATTNEMU_UNARY(vsqrt, Sqrt) ATTNEMU_UNARY(vrsqrt, Rsqrt)
ATTNEMU_UNARY(vrec, Reciprocal) ATTNEMU_UNARY(vrelu, Relu) ATTNEMU_UNARY(vnot, Not)
#undef ATTNEMU_UNARY
// Repeats on repeats whatever counter mode says: each takes as many elements as the mask register tells.
template <class T>
void vcopy(T* dst, T* src, uint8_t repeat, uint16_t dstBlock, uint16_t srcBlock, uint16_t dstRepeat, uint16_t srcRepeat, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  attnemu::LaneShape s = attnemu::register_shape(repeat, in::per_repeat<T>());
  bool counts = attnemu::core->reg.counter_mode;
  attnemu::LaneOperand to = in::lanes(dst, dstBlock, counts ? 8u * dstBlock : dstRepeat), from = in::lanes(src, srcBlock, counts ? 8u * srcBlock : srcRepeat);
  for (uint32_t r = 0; r < (counts ? repeat : 1u); ++r) {
    attnemu::elementwise("vcopy", at, attnemu::VectorOp::Copy, to, &from, 1, s);
    to.at += dstRepeat * static_cast<uint64_t>(attnemu::kBlock);
    from.at += srcRepeat * static_cast<uint64_t>(attnemu::kBlock);
  }
}

// dst = op(src, scalar). The last two words say that strides count blocks, as they do on Atlas A2 anyway.
#define ATTNEMU_SCALAR(name, Op)                                                                                         \
  template <class T>                                                                                                     \
  void name(T* dst, T* src, std::common_type_t<T> scalar, uint8_t repeat, uint16_t dstBlock, uint16_t srcBlock, uint16_t dstRepeat, \
            uint16_t srcRepeat, bool = false, bool = false, ATTNEMU_AT) {                                                \
    namespace in = attnemu::intrinsics;                                                                                  \
    attnemu::LaneOperand s = in::lanes(src, srcBlock, srcRepeat);                                                        \
    attnemu::elementwise(#name, at, attnemu::VectorOp::Op, in::lanes(dst, dstBlock, dstRepeat), &s, 1,                   \
                         attnemu::register_shape(repeat, in::per_repeat<T>()), in::scalar_of<T>(scalar));                \
  }
ATTNEMU_SCALAR(vadds, Adds) ATTNEMU_SCALAR(vmuls, Muls) ATTNEMU_SCALAR(vmaxs, Maxs) ATTNEMU_SCALAR(vmins, Mins) ATTNEMU_SCALAR(vlrelu, LeakyRelu)
#undef ATTNEMU_SCALAR
template <class T, class U>
void vaxpy(T* dst, U* src, std::common_type_t<U> scalar, uint8_t repeat, uint16_t dstBlock, uint16_t srcBlock, uint16_t dstRepeat, uint16_t srcRepeat, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  attnemu::LaneOperand s = in::lanes(src, srcBlock, srcRepeat);
  attnemu::elementwise("vaxpy", at, attnemu::VectorOp::Axpy, in::lanes(dst, dstBlock, dstRepeat), &s, 1, attnemu::register_shape(repeat, in::per_repeat<T, U>()), in::scalar_of<U>(scalar));
}
template <class T>
void vshl(T* dst, T* src, uint32_t distance, uint8_t repeat, uint16_t dstBlock, uint16_t srcBlock, uint16_t dstRepeat, uint16_t srcRepeat, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  attnemu::LaneOperand s = in::lanes(src, srcBlock, srcRepeat);
  attnemu::elementwise("vshl", at, attnemu::VectorOp::ShiftLeft, in::lanes(dst, dstBlock, dstRepeat), &s, 1, attnemu::register_shape(repeat, in::per_repeat<T>()), in::scalar_of(distance));
}
// `round`: the bit shifted out last is added.
template <class T>
void vshr(T* dst, T* src, uint32_t distance, uint8_t repeat, uint16_t dstBlock, uint16_t srcBlock, uint16_t dstRepeat, uint16_t srcRepeat, bool round, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  attnemu::LaneOperand s = in::lanes(src, srcBlock, srcRepeat);
  attnemu::Scalar by = in::scalar_of(distance);
  by.rounds = round && std::is_signed_v<T>;
  attnemu::elementwise("vshr", at, attnemu::VectorOp::ShiftRight, in::lanes(dst, dstBlock, dstRepeat), &s, 1, attnemu::register_shape(repeat, in::per_repeat<T>()), by);
}
template <class T>
void vector_dup(T* dst, std::common_type_t<T> scalar, uint8_t repeat, uint16_t dstBlock, uint16_t, uint16_t dstRepeat, uint16_t, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  attnemu::elementwise("vector_dup", at, attnemu::VectorOp::Fill, in::lanes(dst, dstBlock, dstRepeat), nullptr, 0, attnemu::register_shape(repeat, in::per_repeat<T>()), in::scalar_of<T>(scalar));
}

// Conversions: the letter behind the types is the rounding (r: to even, f: down, c: up, a: half away from zero, z: towards zero, o: to odd).
namespace attnemu::intrinsics {
template <class To, class From>
void convert(const char* what, const SourceLine& at, Rounding mode, To* dst, From* src, uint8_t repeat, uint16_t dstBlock, uint16_t srcBlock, uint16_t dstRepeat, uint16_t srcRepeat) {
  attnemu::convert(what, at, lanes(dst, dstBlock, dstRepeat), lanes(src, srcBlock, srcRepeat), register_shape(repeat, per_repeat<To, From>()), mode);
}
}  // namespace attnemu::intrinsics
#define ATTNEMU_CONVERT(name, To, From, Mode)                                                                            \
  inline void name(To* dst, From* src, uint8_t repeat, uint16_t dstBlock, uint16_t srcBlock, uint16_t dstRepeat, uint16_t srcRepeat, ATTNEMU_AT) { \
    attnemu::intrinsics::convert(#name, at, attnemu::Rounding::Mode, dst, src, repeat, dstBlock, srcBlock, dstRepeat, srcRepeat); \
  }
#define ATTNEMU_CONVERT_ROUNDED(name, To, From)                                                                          \
  ATTNEMU_CONVERT(name##r, To, From, Rint) ATTNEMU_CONVERT(name##f, To, From, Floor) ATTNEMU_CONVERT(name##c, To, From, Ceil) \
  ATTNEMU_CONVERT(name##a, To, From, Round) ATTNEMU_CONVERT(name##z, To, From, Trunc)
ATTNEMU_CONVERT(vconv_f162f32, float, half, None) ATTNEMU_CONVERT(vconv_bf162f32, float, bfloat16_t, None)
ATTNEMU_CONVERT(vconv_s162f32, float, int16_t, None) ATTNEMU_CONVERT(vconv_s322f32, float, int32_t, None)
ATTNEMU_CONVERT(vconv_s82f16, half, int8_t, None) ATTNEMU_CONVERT(vconv_u82f16, half, uint8_t, None)
ATTNEMU_CONVERT(vconv_s162f16, half, int16_t, None) ATTNEMU_CONVERT(vconv_f322f16, half, float, None)
ATTNEMU_CONVERT(vconv_f322f16o, half, float, Odd) ATTNEMU_CONVERT(vconv_f162s8, int8_t, half, None)
ATTNEMU_CONVERT(vconv_f162u8, uint8_t, half, None) ATTNEMU_CONVERT(vconv_s322s16, int16_t, int32_t, None)
ATTNEMU_CONVERT(vconv_s322s64, int64_t, int32_t, None) ATTNEMU_CONVERT(vconv_s642s32, int32_t, int64_t, None)
ATTNEMU_CONVERT_ROUNDED(vconv_f322f16, half, float) ATTNEMU_CONVERT_ROUNDED(vconv_f322bf16, bfloat16_t, float)
ATTNEMU_CONVERT_ROUNDED(vconv_f322f32, float, float) ATTNEMU_CONVERT_ROUNDED(vconv_f322s32, int32_t, float)
ATTNEMU_CONVERT_ROUNDED(vconv_f322s16, int16_t, float) ATTNEMU_CONVERT_ROUNDED(vconv_f322s64, int64_t, float)
ATTNEMU_CONVERT_ROUNDED(vconv_f162s8, int8_t, half) ATTNEMU_CONVERT_ROUNDED(vconv_f162u8, uint8_t, half)
ATTNEMU_CONVERT_ROUNDED(vconv_f162s16, int16_t, half) ATTNEMU_CONVERT_ROUNDED(vconv_f162s32, int32_t, half)
ATTNEMU_CONVERT_ROUNDED(vconv_bf162s32, int32_t, bfloat16_t) ATTNEMU_CONVERT_ROUNDED(vconv_s162f16, half, int16_t)
ATTNEMU_CONVERT_ROUNDED(vconv_s322f32, float, int32_t) ATTNEMU_CONVERT_ROUNDED(vconv_s642f32, float, int64_t)
#undef ATTNEMU_CONVERT_ROUNDED
#undef ATTNEMU_CONVERT

// Comparisons: a bit a lane, packed from dst on. Norm mode compares every lane of a repeat, whatever the mask.
namespace attnemu::intrinsics {
inline LaneShape compared(uint8_t repeat, uint32_t per) {
  return core->reg.counter_mode ? LaneShape::count(core->reg.mask[0], per) : LaneShape::masked(LaneMask::first(per), repeat, per);
}
}  // namespace attnemu::intrinsics
#define ATTNEMU_COMPARE(mode, Mode)                                                                                      \
  template <class T>                                                                                                     \
  void vcmpv_##mode(uint8_t* dst, T* src0, T* src1, uint8_t repeat, uint8_t, uint8_t src0Block, uint8_t src1Block, uint8_t, \
                    uint8_t src0Repeat, uint8_t src1Repeat, ATTNEMU_AT) {                                                \
    namespace in = attnemu::intrinsics;                                                                                  \
    attnemu::LaneOperand b = in::lanes(src1, src1Block, src1Repeat);                                                     \
    attnemu::compare("vcmpv_" #mode, at, in::on_chip(attnemu::MemoryKind::UB, dst), in::lanes(src0, src0Block, src0Repeat), &b, 0, \
                     attnemu::Comparison::Mode, in::compared(repeat, in::per_repeat<T>()));                              \
  }                                                                                                                      \
  template <class T>                                                                                                     \
  void vcmpvs_##mode(uint8_t* dst, T* src0, std::common_type_t<T> src1, uint8_t repeat, uint16_t, uint16_t src0Block, uint16_t, \
                     uint16_t src0Repeat, ATTNEMU_AT) {                                                                  \
    namespace in = attnemu::intrinsics;                                                                                  \
    attnemu::compare("vcmpvs_" #mode, at, in::on_chip(attnemu::MemoryKind::UB, dst), in::lanes(src0, src0Block, src0Repeat), nullptr, \
                     static_cast<double>(src1), attnemu::Comparison::Mode, in::compared(repeat, in::per_repeat<T>()));   \
  }                                                                                                                      \
  template <class T>                                                                                                     \
  void vcmp_##mode(T* src0, T* src1, uint8_t, uint8_t, uint8_t src0Block, uint8_t src1Block, uint8_t, uint8_t src0Repeat, \
                   uint8_t src1Repeat, ATTNEMU_AT) {                                                                     \
    namespace in = attnemu::intrinsics;                                                                                  \
    attnemu::compare_to_register("vcmp_" #mode, at, in::lanes(src0, src0Block, src0Repeat), in::lanes(src1, src1Block, src1Repeat), \
                                 attnemu::Comparison::Mode, attnemu::register_shape(1, in::per_repeat<T>()));            \
  }
ATTNEMU_COMPARE(lt, LT) ATTNEMU_COMPARE(gt, GT) ATTNEMU_COMPARE(eq, EQ) ATTNEMU_COMPARE(le, LE) ATTNEMU_COMPARE(ge, GE) ATTNEMU_COMPARE(ne, NE)
#undef ATTNEMU_COMPARE
inline void get_cmpmask(void* dst, ATTNEMU_AT) { attnemu::store_compare_register("get_cmpmask", at, attnemu::intrinsics::on_chip(attnemu::MemoryKind::UB, dst)); }
inline void set_cmpmask(void* src, ATTNEMU_AT) { attnemu::load_compare_register("set_cmpmask", at, attnemu::intrinsics::on_chip(attnemu::MemoryKind::UB, src)); }

// Selection. What the comparison register holds depends on the mode: 0: the bits; 1: the scalar, the bits lie at src1; 2: the address
// of the bits.
namespace attnemu::intrinsics {
template <class T>
bool from_register(T* value, const char* what, const SourceLine& at) {
  if (!core->reg.compare_mask_defined) {
    if (machine->knobs.memcheck) machine->report("memcheck", "select_register", at, format("%s: set_cmpmask must come first", what), "V");
    return false;
  }
  std::memcpy(value, core->reg.compare_mask, sizeof(T));
  return true;
}
}  // namespace attnemu::intrinsics
template <class T, class U>
void vsel(T* dst, T* src0, U* src1, uint8_t repeat, uint8_t dstBlock, uint8_t src0Block, uint8_t src1Block, uint8_t dstRepeat, uint8_t src0Repeat,
          uint8_t src1Repeat, uint8_t mode = 0, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  using attnemu::SelectBits;
  attnemu::LaneShape s = attnemu::register_shape(repeat, in::per_repeat<T>());
  attnemu::LaneOperand to = in::lanes(dst, dstBlock, dstRepeat), a = in::lanes(src0, src0Block, src0Repeat);
  if (mode == 1) {
    T scalar;
    if (in::from_register(&scalar, "vsel", at))
      attnemu::select("vsel", at, to, in::on_chip(attnemu::MemoryKind::UB, src1), SelectBits::Continuous, a, nullptr, static_cast<double>(scalar), s, false);
    return;
  }
  attnemu::LaneOperand b = in::lanes(reinterpret_cast<T*>(src1), src1Block, src1Repeat);
  if (mode == 0) return attnemu::select("vsel", at, to, {}, SelectBits::Register, a, &b, 0, s, false);
  uint32_t bits;
  if (in::from_register(&bits, "vsel", at)) attnemu::select("vsel", at, to, in::on_chip(attnemu::MemoryKind::UB, uint64_t{bits}), SelectBits::Continuous, a, &b, 0, s, false);
}

// Reductions.
namespace attnemu::intrinsics {
template <class T>
void whole(const char* what, const SourceLine& at, Reduction op, ReduceOutput out, T* dst, T* src, uint8_t repeat, uint16_t dstRepeat, uint16_t srcBlock, uint16_t srcRepeat) {
  reduce_repeats(what, at, op, out, lanes(dst), dstRepeat, lanes(src, srcBlock, srcRepeat), register_shape(repeat, per_repeat<T>()));
}
}  // namespace attnemu::intrinsics
// `whole`: of all repeats, into the register of the latest sum.
template <class T>
void vcadd(T* dst, T* src, uint8_t repeat, uint16_t dstRepeat, uint16_t srcBlock, uint16_t srcRepeat, bool whole, ATTNEMU_AT) {
  if (whole) return attnemu::intrinsics::unmodelled("vcadd over all repeats", at);
  attnemu::intrinsics::whole("vcadd", at, attnemu::Reduction::Sum, attnemu::ReduceOutput::Value, dst, src, repeat, dstRepeat, srcBlock, srcRepeat);
}
#define ATTNEMU_EXTREME(name, Op)                                                                                        \
  template <class T>                                                                                                     \
  void name(T* dst, T* src, uint8_t repeat, uint16_t dstRepeat, uint16_t srcBlock, uint16_t srcRepeat, Order_t order, ATTNEMU_AT) { \
    constexpr attnemu::ReduceOutput kOutputs[] = {attnemu::ReduceOutput::ValueIndex, attnemu::ReduceOutput::IndexValue, attnemu::ReduceOutput::Value, attnemu::ReduceOutput::Index}; \
    attnemu::intrinsics::whole(#name, at, attnemu::Reduction::Op, kOutputs[order], dst, src, repeat, dstRepeat, srcBlock, srcRepeat); \
  }
ATTNEMU_EXTREME(vcmax, Max) ATTNEMU_EXTREME(vcmin, Min)
#undef ATTNEMU_EXTREME
#define ATTNEMU_BLOCKS(name, Call)                                                                                       \
  template <class T>                                                                                                     \
  void name(T* dst, T* src, uint8_t repeat, uint16_t dstRepeat, uint16_t srcBlock, uint16_t srcRepeat, ATTNEMU_AT) {     \
    namespace in = attnemu::intrinsics;                                                                                  \
    attnemu::LaneShape s = attnemu::register_shape(repeat, in::per_repeat<T>());                                         \
    attnemu::LaneOperand d = in::lanes(dst), a = in::lanes(src, srcBlock, srcRepeat);                                    \
    Call;                                                                                                                \
  }
ATTNEMU_BLOCKS(vcgadd, attnemu::reduce_blocks("vcgadd", at, attnemu::Reduction::Sum, d, dstRepeat, a, s))
ATTNEMU_BLOCKS(vcgmax, attnemu::reduce_blocks("vcgmax", at, attnemu::Reduction::Max, d, dstRepeat, a, s))
ATTNEMU_BLOCKS(vcgmin, attnemu::reduce_blocks("vcgmin", at, attnemu::Reduction::Min, d, dstRepeat, a, s))
ATTNEMU_BLOCKS(vcpadd, attnemu::reduce_pairs("vcpadd", at, d, dstRepeat, a, s))
#undef ATTNEMU_BLOCKS

// Eight elements a repeat, a block each.
template <class T>
void vbrcb(T* dst, T* src, uint16_t dstBlock, uint16_t dstRepeat, uint8_t repeat, ATTNEMU_AT) {
  attnemu::broadcast_blocks("vbrcb", at, attnemu::intrinsics::lanes(dst, dstBlock, dstRepeat), attnemu::intrinsics::lanes(src), repeat);
}
// dst lane = the element at byte `base` + offset lane of UB.
template <class T>
void vgather(T* dst, uint32_t* offsets, uint32_t base, uint16_t dstRepeat, uint8_t repeat, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  attnemu::gather("vgather", at, in::lanes(dst, 1, dstRepeat), in::lanes(reinterpret_cast<T*>(uint64_t{base})), in::lanes(offsets), 0, attnemu::register_shape(repeat, in::per_repeat<T>()));
}
// Lanes that the bits of src1 pick (`pattern` 0), or a fixed pattern, packed. In counter mode the mask register tells how many elements
// a repeat goes through, and strides lead from repeat to repeat; else a repeat is 256 bytes.
template <class T>
void vreducev2(T* dst, T* src0, T* src1, uint16_t repeat, uint8_t src0Block, uint8_t pattern, uint16_t src0Repeat, uint8_t src1Repeat, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  constexpr uint32_t per = in::per_repeat<T>();
  attnemu::Place bits = pattern ? attnemu::Place{} : in::on_chip(attnemu::MemoryKind::UB, src1);
  attnemu::Registers& r = attnemu::core->reg;
  attnemu::Place to = in::on_chip(attnemu::MemoryKind::UB, dst);
  if (!r.counter_mode) {
    attnemu::LaneShape s = attnemu::LaneShape::masked(attnemu::LaneMask::first(per), repeat, per);
    r.gathered = attnemu::gather_mask("vreducev2", at, to, in::lanes(src0, src0Block, src0Repeat), pattern, bits, src1Repeat, s);
    return;
  }
  attnemu::GatherRounds rounds{repeat, src0Repeat, src1Repeat, true};
  r.gathered = attnemu::gather_mask("vreducev2", at, to, in::lanes(src0, src0Block, 8u * src0Block), pattern, bits, 0, attnemu::LaneShape::count(r.mask[0], per), rounds);
}
inline int64_t get_rsvd_cnt() { return static_cast<int64_t>(attnemu::core->reg.gathered); }

// Sorts 32 (score, index) pairs a repeat to records of 8 bytes.
template <class T>
void vbitsort(T* dst, T* scores, uint32_t* indices, uint8_t repeat, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  attnemu::sort_32("vbitsort", at, in::lanes(dst), in::lanes(scores), in::lanes(indices), repeat);
}
// Merges up to four sorted lists. `lengths`: 16 bits a list; `config`: repeats in bits 0 to 7, which lists are there in bits 8 to 11,
// whether the first exhausted list ends it in bit 12.
template <class T>
void vmrgsort4(T* dst, T** from, uint64_t lengths, uint64_t config, ATTNEMU_AT) {
  namespace in = attnemu::intrinsics;
  attnemu::Merge m;
  uint32_t valid = config >> 8 & 15;
  if (valid != 3 && valid != 7 && valid != 15) {
    if (attnemu::machine->knobs.memcheck) attnemu::machine->report("memcheck", "merge_valid", at, attnemu::format("vmrgsort4: lists %u are none of 3, 7, 15", valid), "V");
    return;
  }
  m.lists = valid == 3 ? 2 : valid == 7 ? 3 : 4;
  for (uint32_t i = 0; i < 4; ++i) {
    m.from[i] = in::on_chip(attnemu::MemoryKind::UB, from[i]);
    m.lengths[i] = i < m.lists ? lengths >> (16 * i) & 0xFFFF : 0;
  }
  m.stop_when_exhausted = config >> 12 & 1;
  m.repeats = static_cast<uint32_t>(config & 0xFF);
  attnemu::merge_sorted("vmrgsort4", at, in::lanes(dst), m);
}
inline int64_t get_vms4_sr() {
  uint64_t all = 0;
  for (int i = 0; i < 4; ++i) all |= static_cast<uint64_t>(attnemu::core->reg.merged[i]) << (16 * i);
  return static_cast<int64_t>(all);
}
