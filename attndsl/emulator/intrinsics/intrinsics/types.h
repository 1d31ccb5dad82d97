// What the device compiler itself knows: qualifiers, element types and the words of instructions. Enumerators and the
// signatures of the other headers here are those that CANN 8.1.RC1 declares for CPU debugging (tools/tikicpulib).
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ascendc/elements.h"
#include "attnemu/machine.h"

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __biasbuf__
#define __ssbuf__
#define __inline__ inline
#define __sync_noalias__
#define __sync_alias__
#define __check_sync_alias__
#define __sync_out__
#define __sync_in__
#define __inout_pipe__(...)
#define __in_pipe__(...)
#define __out_pipe__(...)
#define __simd_callee__
#define __simd_vf__
#define __simt_callee__
#define __simt_vf__
#define __kfc_workspace__
// A variable of each core: what changes hands with the cores (locals.h).
#define __BLOCK_LOCAL__ __attribute__((section("attnemu_locals")))
#define __WORKGROUP_LOCAL__
// An official build compiles a kernel once for each key, which the command then states.
#ifndef TILING_KEY_VAR
#define TILING_KEY_VAR (attnemu::tiling_key())
#endif
// Host compilers have a type of this name, or none.
#define __bf16 bfloat16_t
using float32_t = float;

// The compiler's copy of structs between memories that its core can read.
inline void copy_data_align64(uint8_t* to, const uint8_t* from, uint64_t bytes) { std::memcpy(to, from, bytes); }

enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_MTE4, PIPE_MTE5, PIPE_V2, PIPE_FIX };
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
enum pad_t { PAD_NONE, PAD_MODE1, PAD_MODE2, PAD_MODE3, PAD_MODE4, PAD_MODE5, PAD_MODE6, PAD_MODE7, PAD_MODE8 };
enum Order_t { VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX };
enum addr_cal_mode_t { inc, dec };
enum bm_t { BM_DISABLE, BM_ENABLE };
enum cache_line_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum dcci_dst_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum mem_dsb_t { DSB_ALL, DSB_DDR, DSB_UB, DSB_SEQ };
enum atomic_type_t { ATOMIC_NONE, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum atomic_op_t { ATOMIC_SUM };
enum ub_addr8_t { VA0, VA1, VA2, VA3, VA4, VA5, VA6, VA7 };
enum vpart_t { L128, H128 };
enum mem_t { L1, L0A, L0B, L0C, UB, BT };
enum QuantMode_t {
  NoQuant = 0, F322F16 = 1, AttachF16Mul = 6, VREQ8 = 8, REQ8 = 9, VDEQF16 = 10, DEQF16 = 11, VSHIFTS322S16 = 12,
  SHIFTS322S16 = 13, F322BF16 = 16, VQF162B8_PRE = 17, QF162B8_PRE = 18, VQF322B8_PRE = 23, QF322B8_PRE = 24
};
