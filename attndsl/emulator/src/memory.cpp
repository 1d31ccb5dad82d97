#include "attnemu/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace attnemu {

void RaceShadow::Free::operator()(Cell* p) const { std::free(p); }

void RaceShadow::resize(uint64_t bytes) {
  cells_count_ = ceil_div(bytes, kBlock) + 1;
  // calloc: untouched cells cost no memory, and all-zero means "no records"
  cells_.reset(static_cast<Cell*>(std::calloc(cells_count_, sizeof(Cell))));
  if (!cells_) throw std::bad_alloc();
}

namespace {

// Are the two accesses ordered other than by clocks?
bool coupled(const AccessRecord& r, const Epoch& e) {
  if ((r.traits & e.traits & kTraitUnitFlag)) return true;
  return r.agent == e.agent && (r.traits & e.traits & kTraitLargeMmad);
}

bool conflicts(const AccessRecord& r, AccessKind kind, const Epoch& e) {
  if (r.kind == AccessKind::Read && kind == AccessKind::Read) return false;
  if (r.kind == AccessKind::Atomic && kind == AccessKind::Atomic) return false;
  if (r.agent == e.agent && r.count == e.count) return false;
  if ((*e.clock)[r.agent] >= r.count) return false;
  return !coupled(r, e);
}

// Does the new access take the place of the record in the bytes they share?
bool supersedes(const AccessRecord& r, AccessKind kind, const Epoch& e) {
  if (kind == AccessKind::Write) return true;
  return r.kind == kind && r.agent == e.agent;
}

}  // namespace

void RaceShadow::access(uint64_t block, uint32_t mask, AccessKind kind, const Epoch& e, std::vector<Hazard>& out) {
  Cell& c = cells_[block];
  if (c.list) return slow(c, block, mask, kind, e, out);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < c.count; ++i) {
    AccessRecord r = c.in_place[i];
    if (r.mask & mask) {
      if (conflicts(r, kind, e)) out.push_back({r, kind, block});
      if (supersedes(r, kind, e)) r.mask &= ~mask;
    }
    if (r.mask) c.in_place[kept++] = r;
  }
  c.count = kept;
  if (kept < 3) {
    c.in_place[c.count++] = {e.count, e.agent, e.site, mask, kind, e.traits};
    return;
  }
  lists_.emplace_back(c.in_place, c.in_place + 3);
  lists_.back().push_back({e.count, e.agent, e.site, mask, kind, e.traits});
  c.list = static_cast<uint32_t>(lists_.size());
}

void RaceShadow::slow(Cell& c, uint64_t block, uint32_t mask, AccessKind kind, const Epoch& e,
                      std::vector<Hazard>& out) {
  std::vector<AccessRecord>& list = lists_[c.list - 1];
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    AccessRecord r = list[i];
    if (r.mask & mask) {
      if (conflicts(r, kind, e)) out.push_back({r, kind, block});
      if (supersedes(r, kind, e)) r.mask &= ~mask;
    }
    if (r.mask) list[kept++] = r;
  }
  list.resize(kept);
  list.push_back({e.count, e.agent, e.site, mask, kind, e.traits});
}

void Memory::attach(MemoryKind k, std::string n, uint8_t* p, uint64_t size, bool is_defined) {
  kind = k;
  name = std::move(n);
  data = p;
  bytes = size;
  race.resize(size);
  defined.assign(ceil_div(size, kBlock) + 1, is_defined ? kAllBytes : 0);
}

bool Memory::is_defined(uint64_t at, uint64_t n) const {
  bool all = true;
  if (n == 0) return true;
  Extent e;
  e.at = at;
  e.run = n;
  for_each_block(e, [&](uint64_t b, uint32_t mask) { all = all && (defined[b] & mask) == mask; });
  return all;
}

void Memory::set_defined(uint64_t at, uint64_t n, bool value) {
  if (n == 0) return;
  Extent e;
  e.at = at;
  e.run = n;
  for_each_block(e, [&](uint64_t b, uint32_t mask) { defined[b] = value ? defined[b] | mask : defined[b] & ~mask; });
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
