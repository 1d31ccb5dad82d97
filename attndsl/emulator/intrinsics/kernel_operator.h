// What a kernel includes when AscendC's headers come from a CANN of the user's: those headers over instructions of ours.
#pragma once
#include "intrinsics/all.h"
#if defined(ATTNEMU_BASIC_API)
#include "intrinsics/dumps.h"
#endif
// Before anything that reads an element.
#include "kernel_tensor.h"
#include "intrinsics/tensors.h"
#if !defined(ATTNEMU_BASIC_API) && __has_include("dav_c220/kfc/kfc_comm.h")
#include "intrinsics/messages.h"
#endif
#if defined(ATTNEMU_BASIC_API)
#include "basic_api/kernel_basic_intf.h"
#else
#include_next <kernel_operator.h>
#endif
#include "intrinsics/launch.h"
