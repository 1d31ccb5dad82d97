// Host programs written for the CPU debugging library (ASCENDC_CPU_DEBUG).
#pragma once
#include "acl/acl.h"
#include "ascendc/cpu_debug.h"
#include "kernel_operator.h"

#define ICPU_RUN_KF(func, numBlocks, ...)                                                                                           \
  (::attnemu::prepare_launch(#func, [&](auto... attnemu_a) { func(attnemu_a...); }, static_cast<uint32_t>(numBlocks))(__VA_ARGS__), \
   static_cast<void>(aclrtSynchronizeStream(nullptr)))
// Of the launches that follow.
#define ICPU_SET_TILING_KEY(key) (::attnemu::set_tiling_key(key))
