#include <cmath>
#include <cstring>
#include <vector>

#include "attnemu/vector.h"
#include "lane_values.h"

namespace attnemu {
namespace {

float rounded(DType t, float v) {
  if (t != DType::F16) return v;
  uint16_t h = float_to_half(v);
  return half_to_float(core->reg.saturate ? saturate_half(h) : h);
}

// Sum as a binary tree of adjacent pairs, each node rounded to the element type. n is a power of two.
float tree_sum(DType t, float* v, uint32_t n) {
  for (; n > 1; n /= 2)
    for (uint32_t i = 0; i < n / 2; ++i) v[i] = rounded(t, v[2 * i] + v[2 * i + 1]);
  return v[0];
}

struct Best { float value; uint32_t index; bool any; };

// The first of the largest (smallest) active lanes; a NaN wins, so that it is seen.
Best best_of(Reduction op, const float* v, uint32_t from, uint32_t n, const LaneMask& mask) {
  Best b{0, 0, false};
  for (uint32_t i = from; i < from + n; ++i) {
    if (!mask.test(i)) continue;
    bool better = !b.any || (op == Reduction::Max ? v[i] > b.value : v[i] < b.value) || (v[i] != v[i] && b.value == b.value);
    if (better) b = {v[i], i, true};
  }
  return b;
}

// `b` replaces `best` when it is better; its index counts from `first`.
void take_better(Best& best, Reduction op, const Best& b, uint32_t first) {
  if (!b.any) return;
  bool better = !best.any || (op == Reduction::Max ? b.value > best.value : b.value < best.value) || (b.value != b.value && best.value == best.value);
  if (better) best = {b.value, b.index + first, true};
}

void keep_sum(DType t, float v) { core->reg.reduce_sum = encode(t, v); }
void keep_extreme(DType t, const Best& b) {
  core->reg.reduce_value = encode(t, b.value);
  core->reg.reduce_count = b.index;
}

float sum_of(DType t, const float* v, uint32_t from, uint32_t n, const LaneMask& mask) {
  float values[128];
  for (uint32_t i = 0; i < n; ++i) values[i] = mask.test(from + i) ? v[from + i] : 0.0f;
  return tree_sum(t, values, n);
}

void put_float(DType t, uint8_t* p, float v) {
  uint64_t bits = encode(t, v);
  std::memcpy(p, &bits, dtype_size(t));
}

// A reduction of a whole tensor is one of repeats for every level: the results of a level are the lanes of the next.
Work levels_work(Reduction op, DType type, const LaneShape& s) {
  Work w{op == Reduction::Sum ? Op::ReduceRepeatsSum : Op::ReduceRepeatsExtreme, type, 0, 0};
  for (uint64_t n = s.repeats;; n = ceil_div(n, s.lanes)) {
    w.units += static_cast<double>(n);
    ++w.count;
    if (n == 1) return w;
  }
}

Extent strided(uint64_t at, uint64_t run, uint64_t count, uint64_t step) {
  Extent e;
  e.at = at;
  e.run = run;
  e.inner = count;
  e.step = step;
  if (step == run) { e.run = run * count; e.inner = 1; }
  return e;
}

// Are the active lanes among [from, from + n) all defined?
bool lanes_defined(const LaneMask& defined, const LaneMask& mask, uint32_t from, uint32_t n) {
  for (uint32_t i = from; i < from + n; ++i)
    if (mask.test(i) && !defined.test(i)) return false;
  return true;
}

}  // namespace

void reduce_repeats(const char* what, const SourceLine& at, Reduction op, ReduceOutput out, const LaneOperand& dst,
                    uint32_t dst_step, const LaneOperand& src, const LaneShape& shape) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || shape.repeats == 0) return;
  uint32_t size = dtype_size(src.type);
  bool pairs = op != Reduction::Sum && (out == ReduceOutput::ValueIndex || out == ReduceOutput::IndexValue);
  uint32_t bytes = op != Reduction::Sum && out == ReduceOutput::Index ? 4 : pairs ? 2 * size : size;
  uint32_t step = dst_step * bytes;
  ins.aligned(src, kBlock, "the source");
  ins.aligned(dst, bytes, "the destination");
  add_lanes(ins, src, shape, AccessKind::Read);
  ins.writes(dst, strided(dst.at, bytes, shape.repeats, step));
  if (!ins.admit({op == Reduction::Sum ? Op::ReduceRepeatsSum : Op::ReduceRepeatsExtreme, src.type, static_cast<double>(shape.repeats)})) return;
  Best whole{0, 0, false};
  float total = 0;
  for (uint32_t r = 0; r < shape.repeats; ++r) {
    float buffer[128];
    const float* v = float_lanes(src, r, shape.lanes, buffer);
    uint8_t* p = dst.memory->data + dst.at + static_cast<uint64_t>(r) * step;
    const LaneMask& mask = shape.of(r);
    bool defined = lanes_defined(defined_lanes(src, r, shape.lanes), mask, 0, shape.lanes);
    if (op == Reduction::Sum) {
      float sum = sum_of(src.type, v, 0, shape.lanes, mask);
      total = rounded(src.type, total + sum);
      put_float(src.type, p, sum);
    } else {
      Best b = best_of(op, v, 0, shape.lanes, mask);
      take_better(whole, op, b, r * shape.lanes);
      uint8_t* value_at = out == ReduceOutput::IndexValue ? p + size : p;
      uint8_t* index_at = out == ReduceOutput::ValueIndex ? p + size : p;
      if (out != ReduceOutput::Index) put_float(src.type, value_at, b.value);
      if (out != ReduceOutput::Value) std::memcpy(index_at, &b.index, out == ReduceOutput::Index ? 4 : size);
    }
    dst.memory->set_defined(dst.at + static_cast<uint64_t>(r) * step, bytes, defined);
  }
  op == Reduction::Sum ? keep_sum(src.type, total) : keep_extreme(src.type, whole);
}

void reduce_blocks(const char* what, const SourceLine& at, Reduction op, const LaneOperand& dst, uint32_t dst_step,
                   const LaneOperand& src, const LaneShape& shape) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || shape.repeats == 0) return;
  uint32_t size = dtype_size(src.type), per_block = kBlock / size, bytes = 8 * size;
  ins.aligned(src, kBlock, "the source");
  ins.aligned(dst, bytes, "the destination");
  add_lanes(ins, src, shape, AccessKind::Read);
  ins.writes(dst, strided(dst.at, bytes, shape.repeats, static_cast<uint64_t>(dst_step) * bytes));
  if (!ins.admit({op == Reduction::Sum ? Op::ReduceBlocksSum : Op::ReduceBlocksExtreme, src.type, static_cast<double>(shape.repeats)})) return;
  for (uint32_t r = 0; r < shape.repeats; ++r) {
    float buffer[128];
    const float* v = float_lanes(src, r, shape.lanes, buffer);
    const LaneMask& mask = shape.of(r);
    LaneMask defined = defined_lanes(src, r, shape.lanes);
    for (uint32_t b = 0; b < 8; ++b) {
      uint64_t place = dst.at + static_cast<uint64_t>(r) * dst_step * bytes + b * size;
      Best best = best_of(op, v, b * per_block, per_block, mask);
      if (!best.any) continue;  // every lane off: the old value stays
      put_float(src.type, dst.memory->data + place, op == Reduction::Sum ? sum_of(src.type, v, b * per_block, per_block, mask) : best.value);
      dst.memory->set_defined(place, size, lanes_defined(defined, mask, b * per_block, per_block));
    }
  }
}

void reduce_pairs(const char* what, const SourceLine& at, const LaneOperand& dst, uint32_t dst_step, const LaneOperand& src,
                  const LaneShape& shape) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || shape.repeats == 0) return;
  uint32_t size = dtype_size(src.type), half = shape.lanes / 2, bytes = half * size;
  ins.aligned(src, kBlock, "the source");
  ins.aligned(dst, kBlock, "the destination");
  add_lanes(ins, src, shape, AccessKind::Read);
  ins.writes(dst, strided(dst.at, bytes, shape.repeats, static_cast<uint64_t>(dst_step) * bytes));
  if (!ins.admit({Op::ReducePairs, src.type, static_cast<double>(shape.repeats)})) return;
  for (uint32_t r = 0; r < shape.repeats; ++r) {
    float buffer[128];
    const float* v = float_lanes(src, r, shape.lanes, buffer);
    const LaneMask& mask = shape.of(r);
    LaneMask defined = defined_lanes(src, r, shape.lanes);
    for (uint32_t i = 0; i < half; ++i) {
      uint64_t place = dst.at + static_cast<uint64_t>(r) * dst_step * bytes + i * size;
      put_float(src.type, dst.memory->data + place, sum_of(src.type, v, 2 * i, 2, mask));
      dst.memory->set_defined(place, size, lanes_defined(defined, mask, 2 * i, 2));
    }
  }
}

void reduce_all(const char* what, const SourceLine& at, Reduction op, bool with_index, const LaneOperand& dst,
                const LaneOperand& src, const Place& work, const LaneShape& shape) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || shape.repeats == 0) return;
  uint32_t size = dtype_size(src.type), outputs = with_index ? 2 : 1;
  ins.aligned(src, kBlock, "the source");
  ins.aligned(dst, with_index ? 2 * size : size, "the destination");
  add_lanes(ins, src, shape, AccessKind::Read);
  ins.writes(dst, strided(dst.at, static_cast<uint64_t>(outputs) * size, 1, 0));
  // the first level leaves one value (and index) a repeat in the work tensor
  uint64_t work_bytes = static_cast<uint64_t>(shape.repeats) * (op == Reduction::Sum ? 1 : 2) * size;
  if (shape.repeats > 1) ins.writes(work, strided(work.at, work_bytes, 1, 0));
  if (!ins.admit(levels_work(op, src.type, shape))) return;
  std::vector<float> level;
  Best best{0, 0, false};
  bool defined = true;
  for (uint32_t r = 0; r < shape.repeats; ++r) {
    float buffer[128];
    const float* v = float_lanes(src, r, shape.lanes, buffer);
    defined = defined && lanes_defined(defined_lanes(src, r, shape.lanes), shape.of(r), 0, shape.lanes);
    if (op == Reduction::Sum) { level.push_back(sum_of(src.type, v, 0, shape.lanes, shape.of(r))); continue; }
    take_better(best, op, best_of(op, v, 0, shape.lanes, shape.of(r)), r * shape.lanes);
  }
  while (op == Reduction::Sum && level.size() > 1) {
    std::vector<float> next;
    for (size_t i = 0; i < level.size(); i += shape.lanes) {
      float values[128] = {};
      for (size_t j = 0; j < shape.lanes && i + j < level.size(); ++j) values[j] = level[i + j];
      next.push_back(tree_sum(src.type, values, shape.lanes));
    }
    level.swap(next);
  }
  if (shape.repeats > 1) work.memory->set_defined(work.at, work_bytes, false);
  op == Reduction::Sum ? keep_sum(src.type, level[0]) : keep_extreme(src.type, best);
  put_float(src.type, dst.memory->data + dst.at, op == Reduction::Sum ? level[0] : best.value);
  if (with_index) std::memcpy(dst.memory->data + dst.at + size, &best.index, size);
  dst.memory->set_defined(dst.at, static_cast<uint64_t>(outputs) * size, defined);
}

}  // namespace attnemu
