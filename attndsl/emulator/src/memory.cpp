#include "attnemu/memory.h"

namespace attnemu {

void Memory::attach(MemoryKind k, std::string n, uint8_t* p, uint64_t size, bool is_defined, uint64_t behind, bool shadowed) {
  kind = k;
  name = std::move(n);
  data = p;
  bytes = size;
  room = behind;
  if (shadowed) race.resize(size + room);
  if (shadowed) defined.assign(ceil_div(size + room, kBlock) + 1, is_defined ? kAllBytes : 0);
  if (k == MemoryKind::GM) cached.resize(size + room);
}

void Memory::poison_room(uint32_t pattern) {
  if (defined.empty()) return;
  for (uint64_t i = bytes; i < bytes + room; ++i) data[i] = static_cast<uint8_t>(pattern >> (i % 2 * 8));
  set_defined(bytes, room, false);
}

bool Memory::is_defined(uint64_t at, uint64_t n) const {
  bool all = true;
  if (n == 0 || defined.empty()) return true;
  Extent e;
  e.at = at;
  e.run = n;
  for_each_block(e, [&](uint64_t b, uint32_t mask) { all = all && (defined[b] & mask) == mask; });
  return all;
}

void Memory::set_defined(uint64_t at, uint64_t n, bool value) {
  if (!partly_defined.empty())
    for (auto entry = partly_defined.begin(); entry != partly_defined.end();)
      entry = entry->first >= at && entry->first < at + n ? partly_defined.erase(entry) : std::next(entry);
  if (n == 0 || defined.empty()) return;
  Extent e;
  e.at = at;
  e.run = n;
  for_each_block(e, [&](uint64_t b, uint32_t mask) { defined[b] = value ? defined[b] | mask : defined[b] & ~mask; });
}

void Memory::define_bits(uint64_t at, uint8_t bits) {
  define_at(at, 1, bits == 0xFF ? 1 : 0);
  if (bits != 0xFF && bits != 0) partly_defined[at] = bits;
}

uint8_t Memory::defined_bits(uint64_t at) const {
  if (is_defined(at, 1)) return 0xFF;
  auto found = partly_defined.find(at);
  return found == partly_defined.end() ? 0 : found->second;
}

void Memory::forget_bits(uint64_t at, uint32_t written_bytes) {
  for (uint32_t i = 0; i < kBlock; ++i)
    if (written_bytes >> i & 1) partly_defined.erase(at + i);
}

uint64_t LaneExtent::end() const {
  uint64_t end = at;
  for (uint32_t r = 0; r < repeats; ++r) {
    if (r > 0 && r + 2 < repeats) r = repeats - 2;  // strides are not negative: the last full repeat reaches furthest
    const uint32_t* m = r + 1 == repeats ? last : mask;
    for (uint32_t b = 0; b < blocks; ++b)
      if (m[b]) {
        uint64_t stop = at + r * repeat_step + b * block_step + (32 - static_cast<uint64_t>(__builtin_clz(m[b])));
        end = stop > end ? stop : end;
      }
  }
  return end;
}

}  // namespace attnemu
