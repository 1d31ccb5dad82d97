// Memory that the host shares with kernels, and core kinds that the host chooses: what host programs of CPU debugging ask for.
#include "ascendc/cpu_debug.h"

#include "acl/acl_rt.h"
#include "host_runtime.h"
#undef aclrtMalloc

namespace AscendC {

void* GmAlloc(size_t size, attnemu::SourceLine at) {
  aclrtSetDevice(0);
  void* p = nullptr;
  if (aclrtMalloc(&p, size, ACL_MEM_MALLOC_HUGE_FIRST, at) != ACL_SUCCESS) return nullptr;
  for (auto& a : attnemu::allocations())
    if (a->data == p) {
      a->shared = true;
      attnemu::open_to_host(*a);
    }
  return p;
}

void GmFree(void* ptr, attnemu::SourceLine at) { aclrtFree(ptr, at); }

void SetKernelMode(KernelMode mode) {
  attnemu::choose_cores(mode == KernelMode::AIV_MODE ? attnemu::Cores::Vector : mode == KernelMode::AIC_MODE ? attnemu::Cores::Cube : attnemu::Cores::AsKernelsSay);
}

}  // namespace AscendC
