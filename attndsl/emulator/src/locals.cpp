#include "attnemu/locals.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace attnemu {
namespace {

struct Range {
  uint8_t* from;
  std::vector<uint8_t> initial;
  std::vector<std::vector<uint8_t>> of_core;
};
std::vector<Range>& ranges() { static std::vector<Range> r; return r; }
constexpr size_t kNobody = ~size_t{0};
size_t present = kNobody;

}  // namespace

bool keep_locals(void* from, void* end) {
  auto *first = static_cast<uint8_t*>(from), *last = static_cast<uint8_t*>(end);
  if (first != last) ranges().push_back({first, std::vector<uint8_t>(first, last), {}});
  return true;
}

void reset_locals(size_t cores) {
  present = kNobody;
  for (Range& r : ranges()) r.of_core.assign(cores, r.initial);
}

void enter_locals(size_t index) {
  if (index == present) return;
  for (Range& r : ranges()) {
    if (present != kNobody) std::memcpy(r.of_core[present].data(), r.from, r.initial.size());
    std::memcpy(r.from, r.of_core[index].data(), r.initial.size());
  }
  present = index;
}

}  // namespace attnemu
