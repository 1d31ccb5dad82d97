// What host programs of the CPU debugging library ask for: memory that host and kernels share, cores by hand.
#pragma once
#include <cstddef>

#include "attnemu/base.h"

enum class KernelMode { MIX_MODE = 0, AIC_MODE, AIV_MODE };

namespace AscendC {

// Zeros, which the host may read and write between launches; kernels find all of it defined, since nobody sees what the host writes.
void* GmAlloc(size_t size, attnemu::SourceLine at = attnemu::SourceLine::here());
void GmFree(void* ptr, attnemu::SourceLine at = attnemu::SourceLine::here());
// Of kernels that do not say it themselves; MIX_MODE leaves it to what they use.
void SetKernelMode(KernelMode mode);

}  // namespace AscendC
