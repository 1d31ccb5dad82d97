#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "attnemu/vector.h"
#include "lane_values.h"

namespace attnemu {
namespace {

constexpr int kMax = 128;

inline float propagate_max(float a, float b) { return (a != a || a > b) ? a : b; }
inline float propagate_min(float a, float b) { return (a != a || a < b) ? a : b; }

template <class F>
void each(float* d, int n, F&& f) {
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) d[i] = f(i);
}

// The list of operations, or an API above it, is ahead of this file.
[[noreturn]] void without_meaning(VectorOp op, const char* lanes) {
  std::fprintf(stderr, "attnemu-error: the emulator does not know what %s does to %s lanes\n", name_of(op), lanes);
  std::exit(3);
}

// Lanes in fp32. `d` holds the old destination where the instruction reads it.
void compute_float(VectorOp op, float* d, const float* a, const float* b, float s, int n) {
  switch (op) {
    case VectorOp::Add: return each(d, n, [=](int i) { return a[i] + b[i]; });
    case VectorOp::Sub: return each(d, n, [=](int i) { return a[i] - b[i]; });
    case VectorOp::Mul: return each(d, n, [=](int i) { return a[i] * b[i]; });
    case VectorOp::Div: return each(d, n, [=](int i) { return a[i] / b[i]; });
    case VectorOp::Max: return each(d, n, [=](int i) { return propagate_max(a[i], b[i]); });
    case VectorOp::Min: return each(d, n, [=](int i) { return propagate_min(a[i], b[i]); });
    case VectorOp::AddRelu: return each(d, n, [=](int i) { return propagate_max(a[i] + b[i], 0.0f); });
    case VectorOp::SubRelu: return each(d, n, [=](int i) { return propagate_max(a[i] - b[i], 0.0f); });
    case VectorOp::MulAddDst: return each(d, n, [=](int i) { return a[i] * b[i] + d[i]; });
    case VectorOp::FusedMulAdd: return each(d, n, [=](int i) { return a[i] * d[i] + b[i]; });
    case VectorOp::FusedMulAddRelu: return each(d, n, [=](int i) { return propagate_max(a[i] * d[i] + b[i], 0.0f); });
    case VectorOp::Exp: return each(d, n, [=](int i) { return std::exp(a[i]); });
    case VectorOp::Ln: return each(d, n, [=](int i) { return std::log(a[i]); });
    case VectorOp::Abs: return each(d, n, [=](int i) { return std::fabs(a[i]); });
    case VectorOp::Sqrt: return each(d, n, [=](int i) { return std::sqrt(a[i]); });
    case VectorOp::Rsqrt: return each(d, n, [=](int i) { return 1.0f / std::sqrt(a[i]); });
    case VectorOp::Reciprocal: return each(d, n, [=](int i) { return 1.0f / a[i]; });
    case VectorOp::Relu: return each(d, n, [=](int i) { return propagate_max(a[i], 0.0f); });
    case VectorOp::Adds: return each(d, n, [=](int i) { return a[i] + s; });
    case VectorOp::Muls: return each(d, n, [=](int i) { return a[i] * s; });
    case VectorOp::Maxs: return each(d, n, [=](int i) { return propagate_max(a[i], s); });
    case VectorOp::Mins: return each(d, n, [=](int i) { return propagate_min(a[i], s); });
    case VectorOp::LeakyRelu: return each(d, n, [=](int i) { return a[i] >= 0 ? a[i] : a[i] * s; });
    case VectorOp::Axpy: return each(d, n, [=](int i) { return a[i] * s + d[i]; });
    default: without_meaning(op, "float");
  }
}

// Integers wrap at their width.
int64_t wrapped(int64_t v, uint32_t bits) {
  uint32_t spare = 64 - bits;
  return static_cast<int64_t>(static_cast<uint64_t>(v) << spare) >> spare;
}

int64_t compute_integer(VectorOp op, int64_t a, int64_t b, int64_t s, uint32_t bits) {
  switch (op) {
    case VectorOp::Add: return a + b;
    case VectorOp::Sub: return a - b;
    case VectorOp::Mul: return a * b;
    case VectorOp::Max: return a > b ? a : b;
    case VectorOp::Min: return a < b ? a : b;
    case VectorOp::And: return a & b;
    case VectorOp::Or: return a | b;
    case VectorOp::Not: return ~a;
    case VectorOp::AddRelu: return wrapped(a + b, bits) > 0 ? a + b : 0;
    case VectorOp::SubRelu: return wrapped(a - b, bits) > 0 ? a - b : 0;
    case VectorOp::Relu: return a > 0 ? a : 0;
    case VectorOp::Abs: return a < 0 ? -a : a;
    case VectorOp::Adds: return a + s;
    case VectorOp::Muls: return a * s;
    case VectorOp::Maxs: return a > s ? a : s;
    case VectorOp::Mins: return a < s ? a : s;
    case VectorOp::ShiftLeft: return s >= bits ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << s);
    case VectorOp::ShiftRight: return a >> (s >= bits ? bits - 1 : s);
    default: without_meaning(op, "integer");
  }
}

bool reads_destination(VectorOp op) {
  return op == VectorOp::MulAddDst || op == VectorOp::FusedMulAdd || op == VectorOp::FusedMulAddRelu || op == VectorOp::Axpy;
}

// As exact as documentation promises of the device, which is not 1e-3 for half nor 1e-4 for float: results keep 8 or 12 bits
// behind the leading one.
void roughen(float* v, uint32_t n, DType type) {
  uint32_t mask = ~0u << (23 - (type == DType::F16 ? 8 : 12));
  for (uint32_t i = 0; i < n; ++i) {
    if (!std::isfinite(v[i])) continue;
    uint32_t bits;
    std::memcpy(&bits, v + i, 4);
    bits &= mask;
    std::memcpy(v + i, &bits, 4);
  }
}

void run_float(VectorOp op, const LaneOperand& dst, const LaneOperand* src, int n, const LaneShape& s, float scalar) {
  float out[kMax], a[kMax], b[kMax];
  int lanes = static_cast<int>(s.lanes);
  bool keeps = reads_destination(op);
  for (uint32_t r = 0; r < s.repeats; ++r) {
    const float* pa = n > 0 ? float_lanes(src[0], r, s.lanes, a) : a;
    const float* pb = n > 1 ? float_lanes(src[1], r, s.lanes, b) : b;
    if (keeps) {
      const float* old = float_lanes(dst, r, s.lanes, out);
      if (old != out) std::memcpy(out, old, sizeof(float) * s.lanes);
    }
    compute_float(op, out, pa, pb, scalar, lanes);
    if (machine->knobs.rough_reciprocal && (op == VectorOp::Reciprocal || op == VectorOp::Rsqrt)) roughen(out, s.lanes, dst.type);
    store_floats(dst, r, out, s.lanes, s.of(r));
  }
}

void run_integer(VectorOp op, const LaneOperand& dst, const LaneOperand* src, int n, const LaneShape& s, int64_t scalar, bool rounds) {
  uint32_t bits = dtype_size(dst.type) * 8;
  for (uint32_t r = 0; r < s.repeats; ++r) {
    int64_t out[kMax] = {};
    for (uint32_t i = 0; i < s.lanes; ++i) {
      if (!s.of(r).test(i)) continue;
      int64_t a = n > 0 ? integer_lane(src[0], r, i) : 0, b = n > 1 ? integer_lane(src[1], r, i) : 0;
      out[i] = compute_integer(op, a, b, scalar, bits);
      if (rounds && scalar > 0) out[i] += a >> (scalar > bits ? bits - 1 : scalar - 1) & 1;
    }
    for (uint32_t i = 0; i < s.lanes; ++i)
      if (s.of(r).test(i)) store_integer(dst, r, i, out[i]);
  }
}

// Fill, Index and Copy move bits.
void run_bits(VectorOp op, const LaneOperand& dst, const LaneOperand* src, const LaneShape& s, const Scalar& scalar) {
  uint32_t size = dtype_size(dst.type);
  for (uint32_t r = 0; r < s.repeats; ++r) {
    uint8_t out[256];
    for (uint32_t i = 0; i < s.lanes; ++i) {
      if (op == VectorOp::Copy) { std::memcpy(out + i * size, src[0].lane(r, s.of(r).test(i) ? i : 0), size); continue; }
      uint64_t bits = scalar.bits;
      if (op == VectorOp::Index) bits = encode(dst.type, scalar.value + static_cast<double>(r) * s.lanes + i);
      std::memcpy(out + i * size, &bits, size);
    }
    for (uint32_t i = 0; i < s.lanes; ++i)
      if (s.of(r).test(i)) std::memcpy(const_cast<uint8_t*>(dst.lane(r, i)), out + i * size, size);
  }
}

// Instructions that may add up over repeats: destination and a source are the same, one of them standing still.
bool may_accumulate(VectorOp op) {
  return op == VectorOp::Add || op == VectorOp::Sub || op == VectorOp::Mul || op == VectorOp::Max || op == VectorOp::Min || op == VectorOp::AddRelu || op == VectorOp::SubRelu;
}

uint64_t end_of(const LaneOperand& o, const LaneShape& s) {
  return o.repeat_at(s.repeats - 1) + (ceil_div(s.lanes * dtype_size(o.type), kBlock) - 1) * o.block_step * kBlock + kBlock;
}

// What a repeat reads, and a repeat writes elsewhere: an earlier one, or itself.
enum class Overlap { None, Inside, Across };
Overlap overlap_block_by_block(const LaneOperand& dst, const LaneOperand& src, const LaneShape& s) {
  std::unordered_map<uint64_t, uint32_t> written;  // bytes of a block that earlier repeats wrote
  uint32_t to_size = dtype_size(dst.type), from_size = dtype_size(src.type);
  Overlap found = Overlap::None;
  for (uint32_t r = 0; r < s.repeats; ++r) {
    std::unordered_map<uint64_t, uint32_t> now;
    auto target = [&](uint32_t b) { return dst.repeat_at(r) + static_cast<uint64_t>(b) * dst.block_step * kBlock; };
    for (uint32_t b = 0; b < ceil_div(s.lanes * to_size, kBlock); ++b) now[target(b)] |= block_bytes(s.of(r), b, to_size);
    for (uint32_t b = 0; b < ceil_div(s.lanes * from_size, kBlock); ++b) {
      uint64_t block = src.repeat_at(r) + static_cast<uint64_t>(b) * src.block_step * kBlock;
      uint32_t bytes = block_bytes(s.of(r), b, from_size);
      auto earlier = written.find(block), here = now.find(block);
      if (earlier != written.end() && (earlier->second & bytes)) return Overlap::Across;
      bool own = to_size == from_size && block == target(b);
      if (!own && here != now.end() && (here->second & bytes)) found = Overlap::Inside;
    }
    for (auto& [block, bytes] : now) written[block] |= bytes;
  }
  return found;
}
Overlap overlap(VectorOp op, const LaneOperand& dst, const LaneOperand& src, const LaneShape& s) {
  if (s.repeats == 0 || dst.memory != src.memory || !dst.memory || dst.at >= end_of(src, s) || src.at >= end_of(dst, s)) return Overlap::None;
  bool same = dst.at == src.at && dst.type == src.type && dst.block_step == src.block_step;
  bool in_step = s.repeats == 1 || dst.repeat_at(1) == src.repeat_at(1);
  if (same && in_step && dst.repeat_at(1) >= end_of(dst, LaneShape::masked(s.mask, 1, s.lanes))) return Overlap::None;
  if (same && may_accumulate(op) && (dst.repeat_step == 0 || src.repeat_step == 0)) return Overlap::None;
  return overlap_block_by_block(dst, src, s);
}

}  // namespace

void elementwise(const char* what, const SourceLine& at, VectorOp op, const LaneOperand& dst, const LaneOperand* sources,
                 int n, const LaneShape& shape, const Scalar& scalar) {
  Instruction ins(Pipe::V, what, at);
  if (!ins) return;
  static const char* const names[] = {"source 0", "source 1", "source 2"};
  ins.aligned(dst, kBlock, "the destination");
  for (int i = 0; i < n; ++i) ins.aligned(sources[i], kBlock, names[i]);
  for (int i = 0; i < n; ++i) add_lanes(ins, sources[i], shape, AccessKind::Read);
  bool keeps = reads_destination(op);
  if (keeps) add_lanes(ins, dst, shape, AccessKind::Read);
  add_lanes(ins, dst, shape, AccessKind::Write);
  for (int i = 0; i < n && machine->knobs.memcheck; ++i) {
    const Overlap found = overlap(op, dst, sources[i], shape);
    ins.require(found != Overlap::Across, "operand_overlap", "the destination overlaps %s: lanes one repeat writes are read by a later one", names[i]);
    if (found == Overlap::Inside) ins.doubt("operand_overlap", "the destination overlaps %s: a repeat reads lanes elsewhere that it writes", names[i]);
  }
  if (!ins.admit(repeat_work(op, shape, dst, sources, n))) return;
  LaneOperand all[3];
  int used = 0;
  for (int i = 0; i < n; ++i) all[used++] = sources[i];
  if (keeps) all[used++] = dst;
  if (op == VectorOp::And || op == VectorOp::Or || op == VectorOp::Not) propagate_bits(dst, all, used, shape);
  else propagate(dst, all, used, shape);
  if (op == VectorOp::Fill || op == VectorOp::Index || op == VectorOp::Copy) run_bits(op, dst, sources, shape, scalar);
  else if (is_float(dst.type)) run_float(op, dst, sources, n, shape, static_cast<float>(scalar.value));
  else run_integer(op, dst, sources, n, shape, static_cast<int64_t>(scalar.value), scalar.rounds);
}

}  // namespace attnemu
