// Qualifiers and entry macros of AscendC kernels, as an ordinary C++17 compiler sees them.
#pragma once
#include <cstdint>

#include "attnemu/harness.h"

// Architecture of Atlas A2, by which programs choose among their own branches.
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201
#endif
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __inline__ inline
#define __forceinline__ inline
#define __kfc_workspace__
#define __BLOCK_LOCAL__
// The device compiler knows these two.
#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#define GM_ADDR __gm__ uint8_t*

#define ASCEND_IS_AIC (attnemu::core->kind == attnemu::CoreKind::Cube)
#define ASCEND_IS_AIV (attnemu::core->kind == attnemu::CoreKind::Vector)
#define ASCEND_IS_NOT_AIC (attnemu::core->kind != attnemu::CoreKind::Cube)
#define ASCEND_IS_NOT_AIV (attnemu::core->kind != attnemu::CoreKind::Vector)

// The kind of the running core; a constant where a source is compiled for one half.
namespace AscendC {
constexpr int32_t MIX = 0, AIC = 1, AIV = 2;
}
#if defined(__DAV_C220_CUBE__) || defined(__DAV_CUBE__)
constexpr int32_t g_coreType = AscendC::AIC;
#elif defined(__DAV_C220_VEC__) || defined(__DAV_VEC__)
constexpr int32_t g_coreType = AscendC::AIV;
#elif defined(ATTNEMU_HOST_READING)
// No core runs this reading: it wants a constant, and a type for which kernels have all of their functions.
constexpr int32_t g_coreType = AscendC::AIC;
#else
namespace attnemu {
struct CoreTypeOfCore {
  operator int32_t() const { return core->kind == CoreKind::Cube ? AscendC::AIC : AscendC::AIV; }
};
}  // namespace attnemu
inline constexpr attnemu::CoreTypeOfCore g_coreType;
#endif

enum KernelMetaType : uint8_t {
  KERNEL_TYPE_AIV_ONLY, KERNEL_TYPE_AIC_ONLY, KERNEL_TYPE_MIX_AIV_1_0, KERNEL_TYPE_MIX_AIC_1_0,
  KERNEL_TYPE_MIX_AIC_1_1, KERNEL_TYPE_MIX_AIC_1_2
};
#include "kernel_macros.h"

// A pointer to UB that a kernel's text follows: of the faces, a CANN's headers alone give the number it needs.
#define ATTNEMU_UBUF_POINTER(T) __ubuf__ T*

#ifndef TILING_KEY_VAR
#define TILING_KEY_VAR (attnemu::tiling_key())
#endif
#define TILING_KEY_IS(k) (TILING_KEY_VAR == (k))
#define TILING_KEY_LIST(a, b) (TILING_KEY_VAR == (a) || TILING_KEY_VAR == (b))

enum pipe_t : uint8_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL };
enum event_t : int32_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
