// What the official build puts around a kernel: its kind, its tiling data, the workspace; and the cores' own variables.
#pragma once
#include "attnemu/locals.h"
#include "attnemu/report.h"
#include "attnemu/workspace.h"
#include "types.h"

#undef KERNEL_TASK_TYPE_DEFAULT
#undef KERNEL_TASK_TYPE
#undef GM_ADDR
#define GM_ADDR __gm__ uint8_t*
#define ATTNEMU_KIND(type) attnemu::intrinsics::kind_number(type)
#include "ascendc/kernel_macros.h"

namespace attnemu::intrinsics {
constexpr int kind_number(KernelMetaType type) {
  constexpr KernelMetaType kOrder[] = {KERNEL_TYPE_AIV_ONLY, KERNEL_TYPE_AIC_ONLY, KERNEL_TYPE_MIX_AIV_1_0, KERNEL_TYPE_MIX_AIC_1_0, KERNEL_TYPE_MIX_AIC_1_1, KERNEL_TYPE_MIX_AIC_1_2};
  for (int i = 0; i < 6; ++i)
    if (kOrder[i] == type) return i;
  return -1;
}
}  // namespace attnemu::intrinsics

namespace AscendC {
// The system's part of a workspace is not in a launch by tiling key on the emulator.
inline GM_ADDR AttnemuUserWorkspace(GM_ADDR, attnemu::SourceLine at = attnemu::SourceLine::here()) { return attnemu::user_workspace(at); }
}  // namespace AscendC
#define GetUserWorkspace AttnemuUserWorkspace

// The linker's names of the section that __BLOCK_LOCAL__ puts variables in; there is none where no variable is.
extern "C" {
extern char __start_attnemu_locals[] __attribute__((weak, visibility("hidden")));
extern char __stop_attnemu_locals[] __attribute__((weak, visibility("hidden")));
}
namespace attnemu::intrinsics {
static const bool kLocalsKept = keep_locals(__start_attnemu_locals, __stop_attnemu_locals);
static const bool kAddressesNoted = note_bare_addresses();
}
