// Where a kernel's workspace is, as the text that the official build wraps it in tells it.
#pragma once
#include <array>
#include <utility>

#include "harness.h"
#include "limits.h"
#include "machine.h"

namespace attnemu {

void set_system_workspace(uint8_t* start, bool again = true);
// The user's part: of the workspace that was set, whatever a kernel asks with.
uint8_t* user_workspace(const SourceLine& at);

// A launch that build rules wrap with HAVE_WORKSPACE: the workspace is the parameter so many places before the end, and the
// kernel gets the user's part of it. Without one, the kernel does not start.
template <auto Function, int from_end, class... A>
void call_with_workspace(void (*f)(A...), void* const* arguments) {
  static_assert(sizeof...(A) >= from_end, "HAVE_WORKSPACE: the kernel function has no parameter for it");
  std::array<void*, sizeof...(A)> own{};
  for (size_t i = 0; i < own.size(); ++i) own[i] = arguments[i];
  void*& workspace = own[own.size() - from_end];
  if (!workspace) return;
  set_system_workspace(static_cast<uint8_t*>(workspace));
  workspace = static_cast<uint8_t*>(workspace) + kSystemWorkspace;
  invoke<Function>(f, own.data(), std::index_sequence_for<A...>{});
}

}  // namespace attnemu

#define ATTNEMU_ENTRY_WITH_WORKSPACE(name, from_end)                                                     \
  static const bool attnemu_entry_##name = attnemu::register_entry(#name, attnemu::arity(&name),         \
      [](void* const* a) { attnemu::call_with_workspace<&name, from_end>(&name, a); });
// What the build's text does ahead of a kernel of both kinds of core: it compiles where a kernel's headers declare it.
#define ATTNEMU_CLEARS_WORKSPACE(name) \
  static inline void attnemu_ahead_of_##name(uint8_t* workspace) { matmul::clearWorkspace(workspace); }
