// What headers name and the device model lacks: using it is a finding (rule `unsupported`) at run time, since headers name
// in one function what only some of its calls reach.
#pragma once
#include "places.h"

#define ATTNEMU_UNMODELLED(name)                                                \
  template <class... A>                                                         \
  attnemu::intrinsics::Nothing name(A&&...) {                                   \
    attnemu::intrinsics::unmodelled(#name, attnemu::SourceLine::here());        \
    return {};                                                                  \
  }
#define ATTNEMU_UNMODELLED_NAMES(X)                                                                                  \
  X(hset_flag) X(hwait_flag) X(scatter_vnchwconv_b8) X(scatter_vnchwconv_b16) X(scatter_vnchwconv_b32)               \
  X(get_acc_val) X(set_deqscale) X(get_st_atomic_cfg)                \
  X(set_st_atomic_cfg) X(vld_va_reg) X(set_va_reg_sb)  \
  X(vconv_s42f16) X(vconv_f162s4) X(vconv_f162s4r) X(vconv_f162s4f) X(vconv_f162s4c) X(vconv_f162s4a)                \
  X(vconv_f162s4z) X(vconv_s322f16) X(vconv_deq) X(set_data_exp_0)    \
  X(set_data_exp_1) X(set_data_exp_2) X(set_data_exp_3) X(mad_sp) X(mad_s4) X(get_icache_prl_st) X(trap)             \
  X(set_aipp_spr_0) X(set_aipp_spr_1) X(set_aipp_spr_2) X(set_aipp_spr_3) X(set_aipp_spr_4) X(set_aipp_spr_5)        \
  X(set_aipp_spr_6) X(set_aipp_spr_7) X(set_aipp_spr_8) X(set_aipp_spr_9) X(set_aipp_spr_18) X(set_aipp_spr_19)      \
  X(set_aipp_spr_20) X(set_aipp_spr_21) X(load_cbuf_to_ca_s4) X(load_cbuf_to_cb_s4) X(load_cbuf_to_ca_transpose_s4)  \
  X(load_cbuf_to_cb_transpose_s4) X(img2colv2_cbuf_to_ca_s4) X(img2colv2_cbuf_to_cb_s4) X(load_cbuf_to_cb_sp)        \
  X(__sync_all_stub) X(__ib_set_stub) X(__ib_wait_stub) X(vtranspose) X(get_max_min_cnt) X(vmulconv_f162s8) X(vmulconv_f162u8)
ATTNEMU_UNMODELLED_NAMES(ATTNEMU_UNMODELLED)
#undef ATTNEMU_UNMODELLED

// Of profilers, which nobody listens to.
namespace bisheng::cce {
inline void metrics_prof_start() {}
inline void metrics_prof_stop() {}
}  // namespace bisheng::cce
inline void asc_prof_start() {}
inline void asc_prof_stop() {}
