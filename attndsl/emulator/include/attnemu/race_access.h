// Accesses as RaceShadow records them, inline where instructions are admitted.
#pragma once
#include "race.h"

namespace attnemu {

inline void RaceShadow::access(uint64_t block, uint32_t mask, AccessKind kind, const Epoch& e, std::vector<Hazard>& out) {
  Group& g = groups_[block / kGroup];
  if (!g.split) split(g);
  touch(cells_[g.split - 1][block % kGroup], block, block, mask, kind, e, out);
}

inline void RaceShadow::access_blocks(uint64_t block, uint64_t count, AccessKind kind, const Epoch& e, std::vector<Hazard>& out) {
  while (count) {
    if (block % kGroup == 0 && count >= kGroup) {
      access_group(block, kind, e, out);
      block += kGroup;
      count -= kGroup;
      continue;
    }
    access(block++, kAllBytes, kind, e, out);
    --count;
  }
}

inline void RaceShadow::access_group(uint64_t block, AccessKind kind, const Epoch& e, std::vector<Hazard>& out) {
  Group& g = groups_[block / kGroup];
  if (g.split && kind == AccessKind::Write) unite(g, block, e, out);
  if (!g.split) return touch(g.whole, block, block + kGroup - 1, kAllBytes, kind, e, out);
  for (uint64_t i = 0; i < kGroup; ++i) touch(cells_[g.split - 1][i], block + i, block + i, kAllBytes, kind, e, out);
}

inline void RaceShadow::touch(Cell& c, uint64_t block, uint64_t last, uint32_t mask, AccessKind kind, const Epoch& e, std::vector<Hazard>& out) {
  if (c.list) return slow(c, block, last, mask, kind, e, out);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < c.count; ++i) {
    AccessRecord& r = c.in_place[i];
    uint32_t left = r.mask;
    if (left & mask) {
      if (conflict(r, kind, e)) note(r, kind, block, last, out);
      if (superseded(r, kind, e)) left &= ~mask;
    }
    if (!left) continue;
    if (kept != i) c.in_place[kept] = r;
    c.in_place[kept++].mask = left;
  }
  c.count = kept;
  if (kept == kInPlace) return spill(c, mask, kind, e);
  c.in_place[c.count++] = {e.count, e.agent, e.site, mask, kind, e.traits};
}

inline void RaceShadow::note(const AccessRecord& r, AccessKind kind, uint64_t block, uint64_t last, std::vector<Hazard>& out) {
  out.push_back({r, kind, block});
  if (last != block) out.push_back({r, kind, last});
}

}  // namespace attnemu
