#include "attnemu/race_access.h"

#include <cstdlib>
#include <new>

namespace attnemu {

void RaceShadow::Free::operator()(Group* p) const { std::free(p); }

void RaceShadow::resize(uint64_t bytes) {
  uint64_t groups = ceil_div(bytes, kBlock) / kGroup + 1;
  // calloc: untouched groups cost no memory, and all-zero means "no records"
  groups_.reset(static_cast<Group*>(std::calloc(groups, sizeof(Group))));
  if (!groups_) throw std::bad_alloc();
}

const AccessRecord* RaceShadow::records(const Cell& c, size_t& n) const {
  n = c.list ? lists_[c.list - 1].size() : c.count;
  return c.list ? lists_[c.list - 1].data() : c.in_place;
}

uint32_t RaceShadow::written(uint64_t block, uint16_t& site) const {
  const Group& g = groups_[block / kGroup];
  size_t n = 0;
  const AccessRecord* r = records(g.split ? cells_[g.split - 1][block % kGroup] : g.whole, n);
  uint32_t mask = 0;
  for (size_t i = 0; i < n; ++i)
    if (r[i].kind != AccessKind::Read) mask |= r[i].mask, site = r[i].site;
  return mask;
}

void RaceShadow::split(Group& g) {
  if (free_cells_.empty()) {
    cells_.emplace_back();
    free_cells_.push_back(static_cast<uint32_t>(cells_.size()));
  }
  g.split = free_cells_.back();
  free_cells_.pop_back();
  for (Cell& c : cells_[g.split - 1]) {
    c = g.whole;
    if (!c.list) continue;
    std::vector<AccessRecord> copy = lists_[c.list - 1];
    lists_.push_back(std::move(copy));
    c.list = static_cast<uint32_t>(lists_.size());
  }
  if (g.whole.list) lists_[g.whole.list - 1] = {};
}

// A write takes all of a split group: its conflicts are reported block by block, and no older record is left.
void RaceShadow::unite(Group& g, uint64_t block, const Epoch& e, std::vector<Hazard>& out) {
  for (uint64_t i = 0; i < kGroup; ++i) {
    Cell& c = cells_[g.split - 1][i];
    size_t n = 0;
    const AccessRecord* r = records(c, n);
    for (size_t j = 0; j < n; ++j)
      if (conflict(r[j], AccessKind::Write, e)) out.push_back({r[j], AccessKind::Write, block + i});
    if (c.list) lists_[c.list - 1] = {};
  }
  free_cells_.push_back(g.split);
  g = {};
}

void RaceShadow::spill(Cell& c, uint32_t mask, AccessKind kind, const Epoch& e) {
  lists_.emplace_back(c.in_place, c.in_place + c.count);
  lists_.back().push_back({e.count, e.agent, e.site, mask, kind, e.traits});
  c.list = static_cast<uint32_t>(lists_.size());
}

void RaceShadow::slow(Cell& c, uint64_t block, uint64_t last, uint32_t mask, AccessKind kind, const Epoch& e, std::vector<Hazard>& out) {
  std::vector<AccessRecord>& list = lists_[c.list - 1];
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    AccessRecord r = list[i];
    if (r.mask & mask) {
      if (conflict(r, kind, e)) note(r, kind, block, last, out);
      if (superseded(r, kind, e)) r.mask &= ~mask;
    }
    if (r.mask) list[kept++] = r;
  }
  list.resize(kept);
  list.push_back({e.count, e.agent, e.site, mask, kind, e.traits});
}

}  // namespace attnemu
