// What a kernel says about itself, and how it reads its tiling data.
#pragma once
#include <cstdint>

#include "attnemu/harness.h"

// The number of a kind of kernel, in the order of the launcher's table.
#ifndef ATTNEMU_KIND
#define ATTNEMU_KIND(type) static_cast<int>(type)
#endif

// A local type carries the name of the kernel it stands in, so that the launcher knows before the first call.
#define KERNEL_TASK_TYPE_DEFAULT(type)                                      \
  do {                                                                      \
    struct AttnemuTask {};                                                  \
    (void)attnemu::TaskNote<AttnemuTask, ATTNEMU_KIND(type), -1>::noted; \
  } while (0)
#define KERNEL_TASK_TYPE(key, type)                                                                  \
  do {                                                                                               \
    struct AttnemuTask {};                                                                           \
    (void)attnemu::TaskNote<AttnemuTask, ATTNEMU_KIND(type), static_cast<long>(key)>::noted; \
  } while (0)

#define REGISTER_TILING_DEFAULT(type) using AttnemuTilingData = type
#define GET_TILING_DATA_WITH_STRUCT(type, name, address) \
  type name = *reinterpret_cast<const __gm__ type*>(address)
#define GET_TILING_DATA(name, address) GET_TILING_DATA_WITH_STRUCT(AttnemuTilingData, name, address)
#define GET_TILING_DATA_MEMBER(type, member, name, address) \
  decltype(type::member) name = reinterpret_cast<const __gm__ type*>(address)->member

// Other structures for other keys are registered for the official build; here a kernel names the one it reads.
#define REGISTER_TILING_FOR_TILINGKEY(expression, type)
#define REGISTER_NONE_TILING
#define GET_TILING_DATA_PTR_WITH_STRUCT(type, name, address) auto name = reinterpret_cast<const __gm__ type*>(address)
#define COPY_TILING_WITH_STRUCT(type, from, name) \
  type attnemu_copy_##name = *reinterpret_cast<const __gm__ type*>(&(from)); \
  const type* name = &attnemu_copy_##name
#define COPY_TILING_WITH_ARRAY(type, count, from, name) \
  struct AttnemuArray_##name { type all[count]; }; \
  AttnemuArray_##name attnemu_copy_##name = *reinterpret_cast<const AttnemuArray_##name*>(&(from)); \
  const type(*name)[count] = &attnemu_copy_##name.all
