#include <cmath>
#include <cstring>

#include "attnemu/vector.h"
#include "lane_values.h"
#include "quant_word.h"

namespace attnemu {
namespace {

constexpr uint32_t kLanes = 16;      // of a block of 16-bit sources
constexpr uint32_t kWords = kLanes;  // one a lane

uint32_t lanes_of_block(const LaneMask& m, uint32_t block) { return static_cast<uint32_t>(m.bits[block / 4] >> (block % 4 * kLanes)) & 0xFFFF; }

uint8_t result_of(int16_t v, const QuantWord& w) {
  double scaled = static_cast<double>(static_cast<float>(v) * w.scale);
  double whole = round_integral(scaled, Rounding::Rint) + w.offset;
  return w.is_signed ? static_cast<uint8_t>(to_integer<int8_t>(whole, Rounding::Rint)) : to_integer<uint8_t>(whole, Rounding::Rint);
}

}  // namespace

void dequantise_halves(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, const LaneShape& shape, bool word_each, bool high) {
  Instruction ins(Pipe::V, what, at);
  if (!ins) return;
  ins.aligned(dst, kBlock, "the destination");
  ins.aligned(src, kBlock, "the source");
  add_lanes(ins, src, shape, AccessKind::Read);
  auto target = [&](uint32_t r, uint32_t b) { return dst.repeat_at(r) + static_cast<uint64_t>(b) * dst.block_step * kBlock + (high ? kLanes : 0); };
  auto blocks = [&](auto&& each) {
    for (uint32_t r = 0; r < shape.repeats; ++r)
      for (uint32_t b = 0; b < 8; ++b)
        if (uint32_t lanes = lanes_of_block(shape.of(r), b)) each(r, b, lanes);
  };
  blocks([&](uint32_t r, uint32_t b, uint32_t lanes) {
    LaneExtent e;
    e.at = dst.repeat_at(r) + static_cast<uint64_t>(b) * dst.block_step * kBlock;
    e.repeats = e.blocks = 1;
    e.mask[0] = e.last[0] = lanes << (high ? kLanes : 0);
    ins.writes(dst, e);
  });
  uint64_t words_at = core->reg.deq_word;  // the word itself where there is one for all lanes
  Extent words;
  words.at = words_at;
  words.run = kWords * 8;
  if (word_each) ins.reads(src, words);
  if (!ins.admit(repeat_work(Op::Convert, shape, src, &src, 1))) return;
  uint64_t all[kWords];
  uint32_t known = 0xFFFF;
  for (uint32_t i = 0; i < kWords; ++i) {
    all[i] = core->reg.deq_word;
    if (!word_each) continue;
    std::memcpy(&all[i], src.memory->data + words_at + i * 8ull, 8);
    if (!src.memory->is_defined(words_at + i * 8ull, 8)) known &= ~(1u << i);
  }
  blocks([&](uint32_t r, uint32_t b, uint32_t lanes) {
    for (uint32_t i = 0; i < kLanes; ++i) {
      if (!(lanes >> i & 1)) continue;
      const uint8_t* from = src.lane(r, b * kLanes + i);
      uint64_t to = target(r, b) + i;
      dst.memory->data[to] = result_of(static_cast<int16_t>(decode_integer(DType::I16, from)), QuantWord(all[i]));
      dst.memory->set_defined(to, 1, (known >> i & 1) && src.memory->is_defined(static_cast<uint64_t>(from - src.memory->data), 2));
    }
  });
}

}  // namespace attnemu
