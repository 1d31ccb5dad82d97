// What an installation links under this name, and what a copy of its headers, or a checkout, may lack.
#pragma once
#if defined(ATTNEMU_BASIC_API)
// What the build's wrapper of a kernel calls; the Matmul objects need files that an installation generates.
#include "adv_api/detail/kfc/kernel_kfc.h"
#else
#include "lib/matmul/matmul_intf.h"
#endif
