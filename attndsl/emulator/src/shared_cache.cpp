#include "attnemu/shared_cache.h"

#include "attnemu/memory.h"

namespace attnemu {

void CachedLines::resize(uint64_t bytes) {
  uint64_t words = bytes / kLine / 64 + 1;
  here.assign(words, 0);
  dirty.assign(words, 0);
  queued.assign(words, 0);
  used.assign(words, 0);
}

uint64_t SharedCache::use_word(CachedLines& lines, uint64_t index, uint64_t mask, bool writes) {
  uint64_t missing = mask & ~lines.here[index];
  if (writes) lines.dirty[index] |= mask;
  if (mask & lines.here[index]) lines.used[index] = 1;
  if (!missing) return 0;
  lines.here[index] |= mask;
  if (!lines.queued[index]) {
    lines.queued[index] = 1;
    waiting_.push_back({&lines, index});
  }
  auto fresh = static_cast<uint64_t>(__builtin_popcountll(missing));
  held_ += fresh;
  return fresh;
}

void SharedCache::evict() {
  while (held_ > room_ && waiting_.size() > 1) {
    Word word = waiting_.front();
    waiting_.pop_front();
    CachedLines& lines = *word.lines;
    if (lines.used[word.index]) {
      lines.used[word.index] = 0;
      waiting_.push_back(word);
      continue;
    }
    held_ -= static_cast<uint64_t>(__builtin_popcountll(lines.here[word.index]));
    evicted_ += static_cast<uint64_t>(__builtin_popcountll(lines.dirty[word.index]));
    lines.here[word.index] = lines.dirty[word.index] = 0;
    lines.queued[word.index] = 0;
  }
}

uint64_t SharedCache::use(CachedLines& lines, const Extent& e, bool writes) {
  uint64_t missing = 0;
  for (uint64_t o = 0; o < e.outer; ++o)
    for (uint64_t i = 0; i < e.inner; ++i) {
      uint64_t from = e.at + o * e.jump + i * e.step, first = from / kLine, last = (from + e.run - 1) / kLine;
      for (uint64_t word = first / 64; word <= last / 64; ++word) {
        uint64_t mask = ~0ull;
        if (word == first / 64) mask &= ~0ull << (first % 64);
        if (word == last / 64) mask &= ~0ull >> (63 - last % 64);
        missing += use_word(lines, word, mask, writes);
      }
    }
  if (held_ > room_) evict();
  return missing;
}

uint64_t SharedCache::take_evicted() {
  uint64_t lines = evicted_;
  evicted_ = 0;
  return lines;
}

}  // namespace attnemu
