// The cache that all cores share, L2: which lines of global memory it holds. Data never passes through it here.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

namespace attnemu {

struct Extent;

constexpr uint64_t kLine = 128;  // bytes; what asc-devkit's sample data_copy counts as one miss

// The lines of one array, a bit each, in words of 64 lines.
struct CachedLines {
  std::vector<uint64_t> here, dirty;  // in the cache; written there and not yet in memory
  std::vector<uint8_t> queued, used;  // a word: waits to be evicted; was needed again since it began to wait
  void resize(uint64_t bytes);
};

// Lines come in at their first use and leave when the cache is full: the words of 64 lines that wait longest go first,
// those needed again in the meantime once more to the end. A line that is written needs no fetch.
class SharedCache {
 public:
  explicit SharedCache(double bytes) : room_(static_cast<uint64_t>(bytes) / kLine) {}
  // Uses the lines under `e`: the number of those that were not there.
  uint64_t use(CachedLines& lines, const Extent& e, bool writes);
  // Written lines that went to memory since this was last asked.
  uint64_t take_evicted();

 private:
  struct Word { CachedLines* lines; uint64_t index; };
  uint64_t room_, held_ = 0, evicted_ = 0;  // lines
  std::deque<Word> waiting_;
  uint64_t use_word(CachedLines& lines, uint64_t index, uint64_t mask, bool writes);
  void evict();
};

}  // namespace attnemu
