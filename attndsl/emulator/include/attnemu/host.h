// Launches by a host program of its own: the target of the rewritten launch syntax.
#pragma once
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "halves.h"

#ifndef __vector__
#define __vector__
#endif
#ifndef __cube__
#define __cube__
#endif
#ifndef __mix__
#define __mix__(cubes, vectors)
#endif
#ifndef __schedmode__
#define __schedmode__(mode)
#endif

namespace attnemu {

// Kind of a kernel as its attributes say, or as guessed from what it uses; a KERNEL_TASK_TYPE in its body has precedence.
bool note_kernel_kind(const char* name, int kind, bool guessed);
void launch_kernel(const char* name, uint32_t blocks, void* stream, const std::function<void()>& body, const SourceLine& at);
// A kernel of another source file, registered there with ATTNEMU_ENTRY.
void launch_entry(const char* name, uint32_t blocks, void* stream, void* const* arguments, int count, const SourceLine& at);

// The key that kernels of later launches ask for by TILING_KEY_IS; 0 before.
void set_tiling_key(uint64_t key);

// The compiler's own names of the block a core works for, and of how many there are; a local variable of the same name hides one.
struct BlockNumberOfCore {
  operator int64_t() const;
};
struct BlocksOfLaunch {
  operator int64_t() const;
};

// Registers, in a half, what the closure of a launch calls there.
template <class Call, class... A>
struct SiteNote {
  template <size_t... I>
  static void call(const void* closure, void* const* arguments, std::index_sequence<I...>) {
    (*static_cast<const Call*>(closure))(*static_cast<A*>(arguments[I])...);
  }
  static void call(const void* closure, void* const* arguments) { call(closure, arguments, std::index_sequence_for<A...>{}); }
  static std::string name() { return names_of_types<Call, A...>(); }
  static const bool noted;
};
template <class Call, class... A>
const bool SiteNote<Call, A...>::noted = note_site(SiteNote<Call, A...>::name(), &SiteNote<Call, A...>::call);

template <class Call>
struct PreparedLaunch {
  const char* name;
  Call call;
  uint32_t blocks;
  void* stream;
  SourceLine at;
  // Arguments are copied at the launch, as the device does. A launch is a value where the compiler is new: 0, an aclError.
  template <class... A>
  int32_t operator()(A... arguments) {
    (void)SiteNote<Call, A...>::noted;
    void* places[sizeof...(A) + 1] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
    launch_kernel(name, blocks, stream, [&] {
      if (!call_in_half(SiteNote<Call, A...>::name(), name, &call, places)) call(arguments...);
    }, at);
    return 0;
  }
};

template <class Call, class Control = int>
PreparedLaunch<Call> prepare_launch(const char* name, Call call, uint32_t blocks, Control = {}, void* stream = nullptr,
                                    SourceLine at = SourceLine::here()) {
  return {name, std::move(call), blocks, stream, at};
}

// ACLRT_LAUNCH_KERNEL: pointers travel as they are, values as the address of a copy.
template <class T>
void* packed(T& argument) {
  if constexpr (std::is_pointer_v<T>) return const_cast<void*>(static_cast<const void*>(argument));
  else if constexpr (std::is_null_pointer_v<T>) return nullptr;
  else return &argument;
}
template <class... A>
uint32_t launch_packed(const char* name, uint32_t blocks, void* stream, const SourceLine& at, A... arguments) {
  void* words[sizeof...(A) + 1] = {packed(arguments)..., nullptr};
  launch_entry(name, blocks, stream, words, static_cast<int>(sizeof...(A)), at);
  return 0;
}

}  // namespace attnemu

inline constexpr attnemu::BlockNumberOfCore block_idx;
inline constexpr attnemu::BlocksOfLaunch block_num;
