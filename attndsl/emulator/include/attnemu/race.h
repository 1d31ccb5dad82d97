// Race shadow: per 32-byte block, who wrote and who read which bytes last (after FastTrack, Flanagan and Freund 2009).
#pragma once
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
constexpr uint8_t kTraitLargeMmad = 1;  // a matrix product of at least 10 result fractals
constexpr uint8_t kTraitUnitFlag = 2;   // coupled to its partner by the unit flag

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

// Blocks start without records. Cells hold three records in place; further ones move to a side list.
class RaceShadow {
 public:
  void resize(uint64_t bytes);
  // Records an access to the bytes `mask` of a block; hazards with earlier accesses are appended to `out`.
  void access(uint64_t block, uint32_t mask, AccessKind kind, const Epoch& e, std::vector<Hazard>& out);

 private:
  struct Cell {
    AccessRecord in_place[3];
    uint32_t count;
    uint32_t list;  // 1 + index into lists_, 0 = in place
  };
  struct Free { void operator()(Cell* p) const; };
  void slow(Cell& c, uint64_t block, uint32_t mask, AccessKind kind, const Epoch& e, std::vector<Hazard>& out);
  std::unique_ptr<Cell[], Free> cells_;
  uint64_t cells_count_ = 0;
  std::vector<std::vector<AccessRecord>> lists_;
};

}  // namespace attnemu
