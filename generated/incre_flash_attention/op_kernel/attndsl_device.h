// Constants of the device (dav-2201) that kernels and the plan of op_host compute with. Plain
// C++17, no CANN headers.
#ifndef ATTNDSL_DEVICE_H
#define ATTNDSL_DEVICE_H

#include <cstdint>

namespace attndsl {

constexpr int64_t kVectorCores = 2;  // vector cores of a block
constexpr int64_t kBlockBytes = 32;  // bytes of a data block
constexpr int64_t kBlockLanes = 8;  // fp32 lanes of a data block (32 B)
constexpr int64_t kBlockHalves = 16;  // 16-bit lanes of a data block
constexpr int64_t kRepeatBlocks = 8;  // data blocks of one vector repeat
constexpr int64_t kRepeatLanes = 64;  // fp32 lanes of one vector repeat
constexpr int64_t kFractal = 16;  // rows of a cube fractal, and its columns of 16 bits
constexpr int64_t kOrderedFractals = 10;  // fractals of L0C from which Mmad adds in order
constexpr int64_t kInt8Depth = 32;  // columns of a cube fractal of int8
constexpr int64_t kMaxNd2NzPitch = 65535;  // elements from row to row of a copy to Nz, at most
// bytes; operands of one instruction begin in different halves
constexpr uint32_t kHalfBankRow = 256;
constexpr uint32_t kUbBytes = 184 * 1024;  // bytes of UB but for its top 8 KiB, scratch of Select
constexpr uint32_t kL1Bytes = 512 * 1024 - 256;  // bytes of L1
constexpr uint32_t kL0aBytes = 64 * 1024;  // bytes of L0A
constexpr uint32_t kL0bBytes = 64 * 1024;  // bytes of L0B
constexpr uint32_t kL0cBytes = 128 * 1024;  // bytes of L0C

}  // namespace attndsl

#endif  // ATTNDSL_DEVICE_H
