// Synchronization between cores through words in global memory: what libraries build from polling. The polling itself
// is not played: a word is set or clear, and carries the clock of who set it.
#pragma once
#include "memory.h"

namespace attnemu {

// Waits until the word is clear, then sets it with everything the core did so far.
void soft_set(const char* what, const SourceLine& at, Place word);
// Waits until the word is set, takes over the setter's past, clears it.
void soft_take(const char* what, const SourceLine& at, Place word);
// Barrier of `parties` cores that name the same workspace.
void soft_barrier(const char* what, const SourceLine& at, Place workspace, uint32_t parties);
// Adds one to the word, with everything the core did so far; waits until the word was added to `times` times.
void soft_arrive(const SourceLine& at, Place word);
void soft_await(const char* what, const SourceLine& at, Place word, uint32_t times);
// Cores in ascending order, again and again: waits for turn `place` of `parties`, and ends it.
void turn_begin(const char* what, const SourceLine& at, Place workspace, uint32_t place);
void turn_end(const SourceLine& at, Place workspace, uint32_t parties);

// A message that a pipe has written: its reader, which polls it, takes over what that pipe had done. Reading one that was never
// sent orders nothing.
void message_sent(Place message, Pipe by, const SourceLine& at);
void message_found(Place message, const SourceLine& at);

}  // namespace attnemu
