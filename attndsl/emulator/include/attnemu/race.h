// Race shadow: per 32-byte block, who wrote and who read which bytes last (after FastTrack, Flanagan and Freund 2009).
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base.h"
#include "vector_clock.h"

namespace attnemu {

enum class AccessKind : uint8_t { Read, Write, Atomic };

// One instruction as the shadow sees it.
struct Epoch {
  uint32_t count;            // number of the instruction on its agent, from 1
  uint16_t agent;
  uint16_t site;
  const VectorClock* clock;  // what was complete when the instruction may have started
  uint8_t traits;            // Ordering traits of the instruction, see kTrait*
};
constexpr uint8_t kTraitLargeMmad = 1;  // a matrix product of at least kMmadOverlapFractals
constexpr uint8_t kTraitScalarWord = 2; // a word the scalar unit stores, or reads from a line that it drops before: cores signal by such

struct AccessRecord {
  uint32_t count;
  uint16_t agent;
  uint16_t site;
  uint32_t mask;  // bytes of the block
  AccessKind kind;
  uint8_t traits;
};

struct Hazard {
  AccessRecord earlier;
  AccessKind kind;   // of the later access
  uint64_t block;
};

// Blocks start without records. Eight blocks (256 bytes, what a repeat of a vector instruction covers) share one cell of
// records as long as every access takes all of them; an access to a part splits the group into a cell a block, until a
// write takes the whole again. Cells hold three records in place; further ones move to a side list. What is inline is in
// race_access.h: kernels, which include this file, do not call it, and each would instantiate its containers again.
class RaceShadow {
 public:
  void resize(uint64_t bytes);
  // Bytes of a block that were written, as far as records go; `site`: where one of them was written last.
  uint32_t written(uint64_t block, uint16_t& site) const;
  // Records an access to the bytes `mask` of a block; hazards with earlier accesses are appended to `out`.
  void access(uint64_t block, uint32_t mask, AccessKind kind, const Epoch& e, std::vector<Hazard>& out);
  // The same for `count` whole blocks from `block`.
  void access_blocks(uint64_t block, uint64_t count, AccessKind kind, const Epoch& e, std::vector<Hazard>& out);

 private:
  static constexpr uint32_t kInPlace = 3;
  static constexpr uint64_t kGroup = 8;
  struct Cell {
    AccessRecord in_place[kInPlace];
    uint32_t count;
    uint32_t list;  // 1 + index into lists_, 0 = in place
  };
  struct Group {
    Cell whole;
    uint32_t split;  // 1 + index into cells_, 0 = one cell for all
  };
  void access_group(uint64_t block, AccessKind kind, const Epoch& e, std::vector<Hazard>& out);
  void touch(Cell& c, uint64_t block, uint64_t last, uint32_t mask, AccessKind kind, const Epoch& e, std::vector<Hazard>& out);
  static void note(const AccessRecord& r, AccessKind kind, uint64_t block, uint64_t last, std::vector<Hazard>& out);
  // Do the two accesses touch in a way that needs an order, and has none?
  static bool conflict(const AccessRecord& r, AccessKind kind, const Epoch& e) {
    if ((*e.clock)[r.agent] >= r.count) return false;
    if (r.kind == kind && kind != AccessKind::Write) return false;
    if (r.agent == e.agent && r.count == e.count) return false;
    return !coupled(r, kind, e);
  }
  // Ordered other than by clocks: as words that cores signal by, or as large products of one pipe.
  static bool coupled(const AccessRecord& r, AccessKind kind, const Epoch& e) {
    if ((r.traits & e.traits & kTraitScalarWord) && r.kind != kind) return true;
    return r.agent == e.agent && (r.traits & e.traits & kTraitLargeMmad);
  }
  // Does the new access take the record's place in the bytes they share?
  static bool superseded(const AccessRecord& r, AccessKind kind, const Epoch& e) {
    return kind == AccessKind::Write || (r.kind == kind && r.agent == e.agent);
  }
  struct Free { void operator()(Group* p) const; };
  const AccessRecord* records(const Cell& c, size_t& n) const;
  void split(Group& g);
  void unite(Group& g, uint64_t block, const Epoch& e, std::vector<Hazard>& out);
  void spill(Cell& c, uint32_t mask, AccessKind kind, const Epoch& e);
  void slow(Cell& c, uint64_t block, uint64_t last, uint32_t mask, AccessKind kind, const Epoch& e, std::vector<Hazard>& out);
  std::unique_ptr<Group[], Free> groups_;
  std::vector<std::array<Cell, kGroup>> cells_;
  std::vector<uint32_t> free_cells_;
  std::vector<std::vector<AccessRecord>> lists_;
};

}  // namespace attnemu
