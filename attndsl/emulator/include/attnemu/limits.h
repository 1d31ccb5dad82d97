// What Atlas A2 holds and admits: the numbers of attndsl/target/architecture.py, each with its source there, in units of
// bytes unless said otherwise. tests/emulator/test_limits.py holds the two against each other.
#pragma once
#include <cstdint>

namespace attnemu {

constexpr uint32_t kUbBytes = 192 * 1024;
constexpr uint32_t kL1Bytes = 512 * 1024;
constexpr uint32_t kL0aBytes = 64 * 1024;
constexpr uint32_t kL0bBytes = 64 * 1024;
constexpr uint32_t kL0cBytes = 128 * 1024;
constexpr uint32_t kSelectScratch = 184 * 1024;  // from here to the end of UB is scratch of some instructions
constexpr uint32_t kSystemWorkspace = 16 * 1024 * 1024;

constexpr uint32_t kBlock = 32;         // unit of on-chip addressing and of the shadows
constexpr uint32_t kRepeatBytes = 256;  // of a vector instruction
constexpr uint32_t kFractal = 512;      // of an input fractal

constexpr int kEventIds = 8;         // of a pair of pipes
constexpr int kCrossCoreFlags = 11;  // ids from here on belong to SyncAll
constexpr int kCounterMax = 15;      // of a cross-core counter

constexpr uint32_t kMaxRepeat = 255;
constexpr uint32_t kMaxNd2NzPitch = 65535;  // elements
constexpr uint32_t kMaxNd2NzRows = 16384;   // and strides
constexpr uint32_t kMaxNd2NzMatrices = 4095;
constexpr uint32_t kMaxMmadSize = 4095;   // elements
constexpr uint32_t kMaxCopyBlocks = 4095; // bursts
constexpr uint32_t kMaxHalfWord = 65535;
constexpr uint32_t kMaxFixpipeColumns = 4095;
constexpr uint32_t kMaxFixpipeRows = 8192;  // to rows; to fractals kMaxHalfWord
constexpr uint32_t kMaxMergeRecords = 4095; // of a list
constexpr uint32_t kMmadOverlapFractals = 10;

}  // namespace attnemu
