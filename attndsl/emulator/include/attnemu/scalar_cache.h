// The scalar unit's cache of global memory: lines of 64 bytes, coherent with nothing.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "base.h"
#include "memory.h"

namespace attnemu {

constexpr uint64_t kCacheLine = 64;

struct CachedLine {
  Memory* memory = nullptr;
  uint64_t at = 0;          // of the line's first byte in its memory
  uint8_t data[kCacheLine];
  uint64_t valid = 0, dirty = 0;  // a bit a byte
  SourceLine stored_at{"", 0};
};

// A write-back of a line: which core's, and the number of it on that core's scalar unit.
struct LineWriter {
  uint16_t agent;
  uint32_t count;
  SourceLine stored_at;
};

// Lines by host address / 64. Nothing is evicted: the longest possible life of a stale line.
struct ScalarCache {
  std::unordered_map<uint64_t, CachedLine> lines;
  static uint64_t dirty_lines;  // of all cores
  static std::unordered_map<uint64_t, std::vector<LineWriter>> writers;  // the latest of every core
};

}  // namespace attnemu
