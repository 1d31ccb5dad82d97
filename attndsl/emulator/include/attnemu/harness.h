// Entry points of a compiled kernel file and how they are launched.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "machine.h"

namespace attnemu {

using EntryCall = void (*)(void* const* arguments);
bool register_entry(const char* name, int arguments, EntryCall call);
// `mangled` is the name of a type local to the kernel.
bool note_task_type(const char* mangled, int type, long key);
uint64_t tiling_key();
// What an instrumented kernel sets as it gets there, by the statement's number.
constexpr int kMostStatements = 1 << 16;
extern uint8_t reached[kMostStatements];

template <class Local, int Type, long Key>
struct TaskNote { static const bool noted; };
template <class Local, int Type, long Key>
const bool TaskNote<Local, Type, Key>::noted = note_task_type(typeid(Local).name(), Type, Key);

template <class T>
T argument_as(void* p) {
  if constexpr (std::is_pointer_v<T>) return reinterpret_cast<T>(p);
  else return *static_cast<T*>(p);  // by-value arguments (tiling structs, numbers) arrive as an array's bytes
}

template <auto Function, class... A, size_t... I>
void invoke(void (*)(A...), void* const* arguments, std::index_sequence<I...>) {
  Function(argument_as<A>(arguments[I])...);
}

template <class R, class... A>
constexpr int arity(R (*)(A...)) { return sizeof...(A); }

template <auto Function, class... A>
void unpack_and_call(void (*f)(A...), void* const* arguments) {
  invoke<Function>(f, arguments, std::index_sequence_for<A...>{});
}

}  // namespace attnemu

#define ATTNEMU_ENTRY(name)                                                                              \
  static const bool attnemu_entry_##name = attnemu::register_entry(                                      \
      #name, attnemu::arity(&name), [](void* const* a) { attnemu::unpack_and_call<&name>(&name, a); });
