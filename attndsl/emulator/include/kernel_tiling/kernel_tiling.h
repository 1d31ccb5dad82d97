// How a product is cut up: what the host's tiling functions give to the kernel's Matmul objects. Fields and their order
// are those of CANN 8.1.RC1.
#pragma once
#include <cstdint>

#define ATTNEMU_CUBE_TILING_FIELDS(X)                                                                                    \
  X(usedCoreNum) X(M) X(N) X(Ka) X(Kb) X(singleCoreM) X(singleCoreN) X(singleCoreK) X(baseM) X(baseN) X(baseK)           \
  X(depthA1) X(depthB1) X(stepM) X(stepN) X(isBias) X(transLength) X(iterateOrder) X(shareMode) X(shareL1Size)           \
  X(shareL0CSize) X(shareUbSize) X(batchM) X(batchN) X(singleBatchM) X(singleBatchN) X(stepKa) X(stepKb)                 \
  X(depthAL1CacheUB) X(depthBL1CacheUB) X(dbL0A) X(dbL0B) X(dbL0C) X(ALayoutInfoB) X(ALayoutInfoS) X(ALayoutInfoN)       \
  X(ALayoutInfoG) X(ALayoutInfoD) X(BLayoutInfoB) X(BLayoutInfoS) X(BLayoutInfoN) X(BLayoutInfoG) X(BLayoutInfoD)        \
  X(CLayoutInfoB) X(CLayoutInfoS1) X(CLayoutInfoN) X(CLayoutInfoG) X(CLayoutInfoS2) X(BatchNum) X(reserved)

namespace AscendC::tiling {

struct alignas(8) TCubeTiling {
#define ATTNEMU_FIELD(name) int32_t name = 0;
  ATTNEMU_CUBE_TILING_FIELDS(ATTNEMU_FIELD)
#undef ATTNEMU_FIELD
};

}  // namespace AscendC::tiling

using AscendC::tiling::TCubeTiling;
