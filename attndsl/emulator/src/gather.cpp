#include <algorithm>
#include <cstring>
#include <vector>

#include "attnemu/vector.h"
#include "lane_values.h"

namespace attnemu {
namespace {

// An address taken from memory: must be defined, aligned and inside.
bool usable(Instruction& ins, const LaneOperand& offsets, uint64_t offset_at, uint64_t address, uint32_t size, const Memory& m) {
  if (!offsets.memory->is_defined(offset_at, 4)) ins.undefined_reaches("an address", offsets.memory, offset_at, 4);
  return ins.require(address % size == 0, "misaligned", "gathers from byte %llu, which must be a multiple of %u", static_cast<unsigned long long>(address), size) &&
         ins.require(address + size <= m.bytes, "out_of_range", "gathers from bytes [%llu, %llu) of %s, which has %llu", static_cast<unsigned long long>(address),
                     static_cast<unsigned long long>(address + size), m.name.c_str(), static_cast<unsigned long long>(m.bytes));
}

// The byte that an offset in memory leads to. Without data the offsets are no numbers: the first byte then.
uint64_t gathered_from(const LaneOperand& src, uint32_t base, const LaneOperand& offsets, uint64_t offset_at) {
  if (machine->knobs.timing) return src.at;
  uint32_t offset;
  std::memcpy(&offset, offsets.memory->data + offset_at, 4);
  return src.at + base + offset;
}

}  // namespace

void gather(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src, const LaneOperand& offsets,
            uint32_t base, const LaneShape& shape) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || shape.repeats == 0) return;
  uint32_t size = dtype_size(src.type);
  std::vector<uint64_t> from;
  for (uint32_t r = 0; r < shape.repeats; ++r)
    for (uint32_t i = 0; i < shape.lanes; ++i) {
      if (!shape.of(r).test(i)) continue;
      uint64_t offset_at = offsets.at + (static_cast<uint64_t>(r) * shape.lanes + i) * 4;
      if (!ins.require(offset_at + 4 <= offsets.memory->bytes, "out_of_range", "reads offsets behind the end of %s", offsets.memory->name.c_str())) { ins.refuse(); return; }
      uint64_t address = gathered_from(src, base, offsets, offset_at);
      if (!usable(ins, offsets, offset_at, address, size, *src.memory)) { ins.refuse(); return; }
      from.push_back(address);
      Extent e;
      e.at = address;
      e.run = size;
      ins.reads(src, e);
    }
  Extent e;
  e.at = offsets.at;
  e.run = from.size() * 4;
  ins.reads(offsets, e);
  add_lanes(ins, dst, shape, AccessKind::Write);
  if (!ins.admit({Op::Gather, src.type, static_cast<double>(shape.repeats)})) return;
  size_t next = 0;
  for (uint32_t r = 0; r < shape.repeats; ++r)
    for (uint32_t i = 0; i < shape.lanes; ++i) {
      if (!shape.of(r).test(i)) continue;
      uint64_t address = from[next++];
      auto* p = const_cast<uint8_t*>(dst.lane(r, i));
      std::memcpy(p, src.memory->data + address, size);
      dst.memory->set_defined(static_cast<uint64_t>(p - dst.memory->data), size, src.memory->is_defined(address, size));
    }
}

void gather_blocks(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& src,
                   const LaneOperand& offsets, uint32_t repeats) {
  Instruction ins(Pipe::V, what, at);
  if (!ins || repeats == 0) return;
  std::vector<uint64_t> from;
  for (uint32_t i = 0; i < repeats * 8; ++i) {
    uint64_t address = gathered_from(src, 0, offsets, offsets.at + i * 4ull);
    if (!usable(ins, offsets, offsets.at + i * 4ull, address, kBlock, *src.memory)) { ins.refuse(); return; }
    from.push_back(address);
    Extent e;
    e.at = address;
    e.run = kBlock;
    ins.reads(src, e);
  }
  Extent e;
  e.at = offsets.at;
  e.run = repeats * 32ull;
  ins.reads(offsets, e);
  uint32_t lanes = kRepeatBytes / dtype_size(dst.type);
  add_lanes(ins, dst, LaneShape::masked(LaneMask::first(lanes), repeats, lanes), AccessKind::Write);
  if (!ins.admit({Op::GatherBlocks, src.type, static_cast<double>(repeats)})) return;
  for (uint32_t i = 0; i < repeats * 8; ++i) {
    uint64_t to = dst.repeat_at(i / 8) + static_cast<uint64_t>(i % 8) * dst.block_step * kBlock;
    std::memmove(dst.memory->data + to, src.memory->data + from[i], kBlock);
    dst.memory->define_at(to, kAllBytes, src.memory->defined_at(from[i]));
  }
}

uint64_t gather_mask(const char* what, const SourceLine& at, const Place& dst, const LaneOperand& src, uint32_t pattern, const Place& bits,
                     uint32_t bits_step, const LaneShape& shape, const GatherRounds& rounds) {
  Instruction ins(Pipe::V, what, at);
  if (!ins) return 0;
  ins.require(bits.memory || (pattern >= 1 && pattern <= 7), "gather_mask_pattern", "pattern %u is not one of 1..7", pattern);
  ins.aligned(dst, kBlock, "the destination");
  ins.aligned(src, kBlock, "the source");
  if (!ins) { ins.refuse(); return 0; }
  uint32_t size = dtype_size(src.type);
  std::vector<const uint8_t*> picked;
  uint64_t unknown_at = ~0ull;  // a bit without a value decides what is kept and how much
  for (uint32_t n = 0; n < rounds.rounds; ++n) {
    LaneOperand from = src;
    from.at += static_cast<uint64_t>(n) * rounds.from_step * kBlock;
    uint64_t first_bits = bits.at + static_cast<uint64_t>(n) * rounds.bits_step * kBlock;
    auto bits_of_repeat = [&](uint32_t r) { return first_bits + (rounds.bits_go_on ? r * ceil_div(shape.lanes, 8) : static_cast<uint64_t>(r) * bits_step * kBlock); };
    for (uint32_t r = 0; r < shape.repeats; ++r) {
      for (uint32_t i = 0; i < shape.lanes; ++i) {
        if (!shape.of(r).test(i)) continue;
        bool take;
        uint64_t byte = bits_of_repeat(r) + i / 8;
        if (bits.memory && byte < bits.memory->bytes && !(bits.memory->defined_bits(byte) >> (i % 8) & 1)) unknown_at = std::min(unknown_at, byte);
        if (bits.memory) take = byte < bits.memory->bytes && bits.memory->data[byte] >> (i % 8) & 1;
        else if (pattern <= 2) take = i % 2 == pattern - 1;
        else take = pattern == 7 || i % 4 == pattern - 3;
        if (take) picked.push_back(from.lane(r, i));
      }
      if (!bits.memory) continue;
      Extent e;
      e.at = bits_of_repeat(r);
      e.run = ceil_div(shape.lanes, 8);
      ins.reads(bits, e);
    }
    add_lanes(ins, from, shape, AccessKind::Read);
  }
  Extent e;
  e.at = dst.at;
  e.run = picked.size() * size;
  ins.writes(dst, e);
  if (!ins.admit({Op::GatherMask, src.type, static_cast<double>(shape.repeats)})) return 0;
  if (unknown_at != ~0ull) ins.undefined_reaches("the number of elements kept", bits.memory, unknown_at, 1);
  uint64_t to = dst.at;
  for (const uint8_t* p : picked) {
    bool ok = src.memory->is_defined(static_cast<uint64_t>(p - src.memory->data), size);
    std::memmove(dst.memory->data + to, p, size);
    dst.memory->set_defined(to, size, ok);
    to += size;
  }
  return picked.size();
}

}  // namespace attnemu
