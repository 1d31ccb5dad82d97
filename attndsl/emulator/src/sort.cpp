#include "attnemu/sort.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "lane_values.h"

namespace attnemu {
namespace {

constexpr uint32_t kRecord = 8;

Extent dense(uint64_t at, uint64_t bytes) {
  Extent e;
  e.at = at;
  e.run = bytes;
  return e;
}

// The score of a record lies in its low bytes.
float score_of(DType t, const uint8_t* record) { return static_cast<float>(decode(t, record)); }

}  // namespace

void sort_32(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& scores, const LaneOperand& indices, uint32_t repeats) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || repeats == 0) return;
  uint32_t size = dtype_size(scores.type);
  // documentation, Sort32: what a group takes of each operand is what it is aligned to
  ins.aligned(dst, 32 * kRecord, "the destination");
  ins.aligned(scores, 32 * size, "the scores");
  ins.aligned(indices, 128, "the indices");
  ins.reads(scores, dense(scores.at, 32ull * size * repeats));
  ins.reads(indices, dense(indices.at, 32ull * 4 * repeats));
  ins.writes(dst, dense(dst.at, 32ull * kRecord * repeats));
  if (!ins.admit({Op::Sort32, scores.type, static_cast<double>(repeats)})) return;
  for (uint32_t r = 0; r < repeats; ++r) {
    uint64_t score_at = scores.at + 32ull * size * r, index_at = indices.at + 128ull * r, to = dst.at + 256ull * r;
    float value[32];
    uint32_t order[32];
    for (uint32_t i = 0; i < 32; ++i) {
      value[i] = static_cast<float>(decode(scores.type, scores.memory->data + score_at + i * size));
      order[i] = i;
    }
    std::stable_sort(order, order + 32, [&](uint32_t a, uint32_t b) { return value[a] > value[b] || (value[a] != value[a] && value[b] == value[b]); });
    // NaN before everything, so that it is seen; one undefined input may land anywhere in its group
    bool ok = scores.memory->is_defined(score_at, 32ull * size) && indices.memory->is_defined(index_at, 128);
    uint8_t out[256] = {};
    for (uint32_t i = 0; i < 32; ++i) {
      std::memcpy(out + i * kRecord, scores.memory->data + score_at + order[i] * size, size);
      std::memcpy(out + i * kRecord + 4, indices.memory->data + index_at + order[i] * 4, 4);
    }
    std::memcpy(dst.memory->data + to, out, sizeof out);
    dst.memory->set_defined(to, sizeof out, ok);
  }
}

void merge_sorted(const char* what, const SourceLine& at, const LaneOperand& dst, const Merge& m) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || m.repeats == 0) return;
  uint64_t total = 0;
  bool equal = true, adjacent = true;
  for (uint32_t i = 0; i < m.lists; ++i) {
    ins.require(m.lengths[i] <= kMaxMergeRecords, "merge_length", "list %u has %u records; at most %u", i, m.lengths[i], kMaxMergeRecords);
    ins.require(m.from[i].at % kRecord == 0, "misaligned", "list %u is at byte %llu, which must be a multiple of 8", i, static_cast<unsigned long long>(m.from[i].at));
    equal = equal && m.lengths[i] == m.lengths[0];
    adjacent = adjacent && m.from[i].at == m.from[0].at + static_cast<uint64_t>(i) * m.lengths[0] * kRecord;
    total += m.lengths[i];
  }
  ins.require(m.repeats == 1 || (m.lists == 4 && equal && adjacent && !m.stop_when_exhausted), "merge_repeat",
              "repeats above 1 need four adjacent lists of equal length and no suspension");
  ins.aligned(dst, kBlock, "the destination");
  for (uint32_t i = 0; i < m.lists; ++i) ins.reads(m.from[i], dense(m.from[i].at, static_cast<uint64_t>(m.lengths[i]) * kRecord * (m.repeats > 1 ? (i == 0 ? 4 * m.repeats : 0) : 1)));
  ins.writes(dst, dense(dst.at, total * kRecord * m.repeats));
  if (!ins.admit({Op::MergeSorted, dst.type, static_cast<double>(total * m.repeats)})) return;
  std::vector<uint8_t> out;
  for (uint32_t r = 0; r < m.repeats; ++r) {
    uint32_t taken[4] = {};
    bool ok = true;
    out.clear();
    while (true) {
      int best = -1;
      float best_score = 0;
      bool exhausted = false;
      for (uint32_t i = 0; i < m.lists; ++i) {
        if (taken[i] == m.lengths[i]) { exhausted = true; continue; }
        float s = score_of(dst.type, m.from[i].memory->data + m.from[i].at + (r * total + taken[i]) * kRecord);
        if (best < 0 || s > best_score) { best = static_cast<int>(i); best_score = s; }
      }
      if (best < 0 || (exhausted && m.stop_when_exhausted)) break;
      Memory& list = *m.from[best].memory;
      uint64_t p = m.from[best].at + (r * total + taken[best]) * kRecord;
      ok = ok && list.is_defined(p, kRecord);
      out.insert(out.end(), list.data + p, list.data + p + kRecord);
      ++taken[best];
    }
    uint64_t to = dst.at + r * total * kRecord;
    std::memcpy(dst.memory->data + to, out.data(), out.size());
    dst.memory->set_defined(to, out.size(), ok);
    for (uint32_t i = 0; i < 4; ++i) core->reg.merged[i] = static_cast<uint16_t>(taken[i]);
  }
}

void split_records(const char* what, const SourceLine& at, const LaneOperand& scores, const LaneOperand& indices, const LaneOperand& records, uint32_t repeats) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || repeats == 0) return;
  uint32_t size = dtype_size(scores.type);
  uint64_t n = 32ull * repeats;
  ins.reads(records, dense(records.at, n * kRecord));
  ins.writes(scores, dense(scores.at, n * size));
  ins.writes(indices, dense(indices.at, n * 4));
  if (!ins.admit({Op::SplitRecords, scores.type, static_cast<double>(repeats)})) return;
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t p = records.at + i * kRecord;
    std::memcpy(scores.memory->data + scores.at + i * size, records.memory->data + p, size);
    std::memcpy(indices.memory->data + indices.at + i * 4, records.memory->data + p + 4, 4);
    scores.memory->set_defined(scores.at + i * size, size, records.memory->is_defined(p, size));
    indices.memory->set_defined(indices.at + i * 4, 4, records.memory->is_defined(p + 4, 4));
  }
}

void transpose_blocks(const char* what, const SourceLine& at, uint32_t element, const BlockTranspose& t) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || t.repeats == 0) return;
  ins.require(element == 1 || element == 2 || element == 4, "unsupported", "elements of %u bytes", element);
  ins.require(t.repeats > 1 || (t.to_step == 0 && t.from_step == 0), "transpose_stride", "one repeat needs strides of 0");
  for (int i = 0; i < 16; ++i) {
    ins.aligned(t.from[i], kBlock, "a source");
    ins.aligned(t.to[i], kBlock, "a destination");
    Extent from = dense(t.from[i].at + (element == 1 && t.from_high ? 16 : 0), element == 1 ? 16 : 32), to = dense(t.to[i].at + (element == 1 && t.to_high ? 16 : 0), element == 1 ? 16 : 32);
    from.inner = to.inner = t.repeats;
    from.step = t.from_step * 32ull;
    to.step = t.to_step * 32ull;
    ins.reads(t.from[i], from);
    ins.writes(t.to[i], to);
  }
  if (!ins.admit({Op::TransposeBlocks, DType::U8, static_cast<double>(t.repeats)})) return;
  uint32_t columns = element == 4 ? 8 : 16;
  for (uint32_t r = 0; r < t.repeats; ++r) {
    uint8_t in[16][32];
    uint32_t ok[16];
    for (int i = 0; i < 16; ++i) {
      const Memory& source = *t.from[i].memory;
      uint64_t p = t.from[i].at + r * t.from_step * 32ull + (element == 1 && t.from_high ? 16 : 0);
      std::memcpy(in[i], source.data + p, element == 1 ? 16 : 32);
      ok[i] = source.defined_at(p);
    }
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t j = 0; j < columns; ++j) {
        // 32-bit: a column of sixteen values fills two destination blocks
        uint32_t row = element == 4 ? 2 * j + i / 8 : j, place = (element == 4 ? i % 8 : i) * element;
        Memory& target = *t.to[row].memory;
        uint64_t p = t.to[row].at + r * t.to_step * 32ull + (element == 1 && t.to_high ? 16 : 0) + place;
        std::memcpy(target.data + p, in[i] + j * element, element);
        uint32_t bytes = byte_mask(0, element);
        target.define_at(p, bytes, (ok[i] >> (j * element) & bytes) == bytes ? bytes : 0);
      }
  }
}

void permute(const char* what, const SourceLine& at, Place to, Place from, Place scratch, uint64_t scratch_bytes, uint32_t element, const Permutation& p) {
  Instruction ins(Pipe::V, what, at);
  uint64_t bytes = static_cast<uint64_t>(p.images) * p.rows * p.columns * element;
  if (!ins || bytes == 0) return;
  ins.aligned(to, kBlock, "the destination");
  ins.aligned(from, kBlock, "the source");
  ins.require(to.at + bytes <= from.at || from.at + bytes <= to.at, "operand_overlap", "the destination overlaps the source");
  ins.reads(from, dense(from.at, bytes));
  if (scratch_bytes) ins.writes(scratch, dense(scratch.at, scratch_bytes));
  ins.writes(to, dense(to.at, bytes));
  if (!ins.admit({Op::TransposeBlocks, DType::U8, static_cast<double>(ceil_div(bytes, kBlock * 16))})) return;
  if (scratch_bytes) scratch.memory->set_defined(scratch.at, scratch_bytes, false);
  for (uint32_t n = 0; n < p.images; ++n)
    for (uint32_t i = 0; i < p.rows; ++i)
      for (uint32_t j = 0; j < p.columns; ++j) {
        uint64_t image = static_cast<uint64_t>(n) * p.rows * p.columns;
        uint64_t source = from.at + (image + static_cast<uint64_t>(i) * p.columns + j) * element, target = to.at + (image + static_cast<uint64_t>(j) * p.rows + i) * element;
        std::memcpy(to.memory->data + target, from.memory->data + source, element);
        to.memory->set_defined(target, element, from.memory->is_defined(source, element));
      }
}

}  // namespace attnemu
