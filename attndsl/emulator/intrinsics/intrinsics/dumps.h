// The dumps of asc-devkit tell overloads apart by qualifiers of pointers alone, which no other compiler can: their header is
// passed over, and what others call of it is not modelled.
#pragma once
#include "unmodelled.h"

#define IMPL_UTILS_DEBUG_ASC_AICORE_DUMP_IMPL_H
namespace __asc_aicore {
#define ATTNEMU_UNMODELLED(name)                                         \
  template <class... A>                                                  \
  void name(A&&...) {                                                    \
    attnemu::intrinsics::unmodelled(#name, attnemu::SourceLine::here()); \
  }
ATTNEMU_UNMODELLED(asc_dump_shape_impl) ATTNEMU_UNMODELLED(asc_dump_gm) ATTNEMU_UNMODELLED(asc_dump_ubuf)
ATTNEMU_UNMODELLED(asc_dump_l1buf) ATTNEMU_UNMODELLED(asc_dump_cbuf)
#undef ATTNEMU_UNMODELLED
}  // namespace __asc_aicore
