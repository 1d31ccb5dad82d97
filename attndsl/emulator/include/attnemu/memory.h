// Memories: real bytes at real addresses, with their shadows (race records, definedness).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base.h"
#include "race.h"
#include "shared_cache.h"

namespace attnemu {

// One address space: an on-chip memory of a core or one registered array of global memory.
struct Memory {
  MemoryKind kind = MemoryKind::GM;
  std::string name;
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
  uint64_t room = 0;              // global memory: bytes behind the end that an access may touch, poisoned and undefined
  RaceShadow race;
  std::vector<uint32_t> defined;  // a bit a byte, a word a block
  // Comparison results pack eight lanes into a byte: which bits of an otherwise undefined byte are defined.
  std::unordered_map<uint64_t, uint8_t> partly_defined;
  bool output = false;            // undefined bytes stored here are findings
  bool written = false;
  bool constant = false;          // tables of the program itself
  bool passes_by = false;         // global memory: lines that are read do not stay in the cache of all cores
  bool real = false;              // global memory: holds values also where only time is followed
  uint64_t read_bytes = 0, write_bytes = 0;
  uint64_t fetched_bytes = 0;     // global memory: read from behind L2
  CachedLines cached;             // global memory: what the cache of all cores has of it

  // `shadowed`: races and definedness are followed; everything counts as defined otherwise.
  void attach(MemoryKind k, std::string n, uint8_t* p, uint64_t size, bool is_defined, uint64_t behind = 0, bool shadowed = true);
  void poison_room(uint32_t pattern);
  bool is_defined(uint64_t at, uint64_t n) const;
  void set_defined(uint64_t at, uint64_t n, bool value);
  // Packed bits: a byte of which only some bits are defined, and what is known of a byte.
  void define_bits(uint64_t at, uint8_t bits);
  uint8_t defined_bits(uint64_t at) const;
  void forget_bits(uint64_t at, uint32_t written_bytes);
  // Definedness of the 32 bytes from any address, a bit a byte; and its change where `written` is set.
  uint32_t defined_at(uint64_t at) const {
    if (defined.empty()) return kAllBytes;
    uint64_t b = at / kBlock;
    uint32_t shift = at % kBlock;
    if (!shift) return defined[b];
    return defined[b] >> shift | (b + 1 < defined.size() ? defined[b + 1] << (32 - shift) : 0);
  }
  void define_at(uint64_t at, uint32_t written_bytes, uint32_t value) {
    if (defined.empty()) return;
    if (!partly_defined.empty()) forget_bits(at, written_bytes);
    uint64_t b = at / kBlock;
    uint32_t shift = at % kBlock, low = written_bytes << shift;
    defined[b] = (defined[b] & ~low) | ((value << shift) & low);
    if (!shift || !(written_bytes >> (32 - shift))) return;
    uint32_t high = written_bytes >> (32 - shift);
    defined[b + 1] = (defined[b + 1] & ~high) | ((value >> (32 - shift)) & high);
  }
};

// Bytes of a memory that were handed out together; all of it where nobody handed them out.
struct Buffer {
  uint64_t from = 0, end = ~0ull;
  bool has(uint64_t first, uint64_t behind) const { return from <= first && behind <= end; }
};

// An address: a byte of a memory, and the buffer that who names it may touch.
struct Place {
  Memory* memory = nullptr;
  uint64_t at = 0;
  Buffer buffer = {};
  Place moved(uint64_t bytes) const { return {memory, at + bytes, buffer}; }
};

// Bytes an operand touches: `inner` runs of `run` bytes, `step` apart, repeated `outer` times, `jump` apart.
struct Extent {
  uint64_t at = 0;
  uint64_t run = 0;
  uint64_t inner = 1, step = 0;
  uint64_t outer = 1, jump = 0;
  uint64_t end() const { return run == 0 || inner == 0 || outer == 0 ? at : at + (outer - 1) * jump + (inner - 1) * step + run; }
  bool empty() const { return run == 0 || inner == 0 || outer == 0; }
};

// Bytes a masked vector operand touches: a repeat takes `blocks` blocks, bytes by `mask` (the last one by `last`).
struct LaneExtent {
  uint64_t at = 0;
  uint32_t repeats = 0, blocks = 0;
  uint64_t block_step = kBlock, repeat_step = kRepeatBytes;  // bytes
  uint32_t mask[8] = {};
  uint32_t last[8] = {};
  uint64_t end() const;
};

// Blocks of a memory, told one by one.
class BlockSet {
 public:
  void resize(uint64_t blocks) { words_.assign(ceil_div(blocks, 64), 0); }
  bool empty() const { return words_.empty(); }
  bool has_all(uint64_t first, uint64_t n) const {
    bool all = true;
    each_word(first, n, [&](uint64_t w, uint64_t bits) { all = all && (words_[w] & bits) == bits; });
    return all;
  }
  bool has_any(uint64_t first, uint64_t n) const {
    bool any = false;
    each_word(first, n, [&](uint64_t w, uint64_t bits) { any = any || (words_[w] & bits); });
    return any;
  }
  void put(uint64_t first, uint64_t n, bool in) {
    each_word(first, n, [&](uint64_t w, uint64_t bits) { words_[w] = in ? words_[w] | bits : words_[w] & ~bits; });
  }

 private:
  template <class F>
  static void each_word(uint64_t first, uint64_t n, F&& f) {
    for (uint64_t end = first + n; first < end;) {
      uint64_t stop = (first / 64 + 1) * 64 < end ? (first / 64 + 1) * 64 : end, count = stop - first;
      f(first / 64, (count == 64 ? ~0ull : (1ull << count) - 1) << first % 64);
      first = stop;
    }
  }
  std::vector<uint64_t> words_;
};

// Calls f(first block, number of blocks, byte mask) for everything touched; more than one block have the full mask.
template <class F>
void for_each_run(const Extent& e, F&& f) {
  for (uint64_t o = 0; o < e.outer; ++o)
    for (uint64_t i = 0; i < e.inner; ++i) {
      uint64_t from = e.at + o * e.jump + i * e.step, to = from + e.run;
      uint64_t first = from / kBlock, last = (to - 1) / kBlock;
      if (first == last) { f(first, 1, byte_mask(from % kBlock, static_cast<uint32_t>(to - first * kBlock))); continue; }
      if (from % kBlock) f(first++, 1, byte_mask(from % kBlock, kBlock));
      uint64_t whole = to / kBlock - first;
      if (whole) f(first, whole, kAllBytes);
      if (to % kBlock) f(last, 1, byte_mask(0, to % kBlock));
    }
}

template <class F>
void for_each_run(const LaneExtent& e, F&& f) {
  bool dense = e.block_step == kBlock && e.at % kBlock == 0 && e.repeat_step % kBlock == 0;
  for (uint32_t r = 0; r < e.repeats; ++r) {
    const uint32_t* mask = r + 1 == e.repeats ? e.last : e.mask;
    uint64_t start = e.at + r * e.repeat_step;
    for (uint32_t b = 0; b < e.blocks; ++b) {
      if (!mask[b]) continue;
      uint64_t at = start + b * e.block_step;
      if (dense && mask[b] == kAllBytes) {
        uint32_t from = b;
        while (b + 1 < e.blocks && mask[b + 1] == kAllBytes) ++b;
        f(at / kBlock, b + 1 - from, kAllBytes);
        continue;
      }
      if (at % kBlock == 0) { f(at / kBlock, 1, mask[b]); continue; }
      uint32_t shift = at % kBlock;  // an unaligned operand: memcheck reports it, the shadow still follows the bytes
      if (mask[b] << shift) f(at / kBlock, 1, mask[b] << shift);
      if (mask[b] >> (32 - shift)) f(at / kBlock + 1, 1, mask[b] >> (32 - shift));
    }
  }
}

// Calls f(block index, byte mask) for every block touched.
template <class E, class F>
void for_each_block(const E& e, F&& f) {
  for_each_run(e, [&](uint64_t block, uint64_t count, uint32_t mask) {
    for (uint64_t i = 0; i < count; ++i) f(block + i, mask);
  });
}

}  // namespace attnemu
