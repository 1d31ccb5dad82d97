// What a launch leaves behind, as text.
#pragma once
#include <cstdio>
#include <string>

#include "machine.h"

namespace attnemu {

// Members of a JSON object, without its braces: "instructions" and "busy_cycles" by pipe, "busy_by_core" of each kind
// of core, "active_by_core": cycles with an instruction in flight, "block_ends": cycles at which each block ends,
// "critical_path": cycles by cause along the chain that ends last, "bank_conflicts": cycles by line, "cycles" of the
// launch, "memory_read_bytes" and "memory_write_bytes" from and to memory behind L2, "cores" [blocks, cube cores a
// block, vector cores a block]; "halfway" of a run that was stopped: what moved_json told when half of its notes were taken.
std::string counters_json(const Machine& m);
// An object of what grows with the work: "busy_by_core", "bank_conflicts", bytes behind L2, and "arrays" by name.
std::string moved_json(const Machine& m);
// Members: "read_bytes" and "write_bytes" of an array, and "fetched_bytes" from behind L2.
std::string bytes_json(const Memory& region);
// Recorded spans, a line each, behind the names of the cores; see attndsl/emulator/trace.py.
void write_spans(std::FILE* to, const Machine& m, const char* kernel);

// Writes to standard error that the process ends, why, and which core issued what last. Allocates nothing.
void last_words(const char* why);
// What is known of a fault at an address, ending in a blank; empty: nothing.
const char* fault_at(const void* address);
// Kernels hold on-chip addresses as pointers: a fault at one of them is told as such.
bool note_bare_addresses();
// "LIBRARY:offset" of each call in a half's library that is under way on the running core, the innermost first; empty where
// instructions know the lines of the kernel themselves.
std::string calls_in_halves();

}  // namespace attnemu
