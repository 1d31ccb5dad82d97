// Scalar access to memory.
#pragma once
#include <cstdint>

#include "instruction.h"

namespace attnemu {

// 1 to 8 bytes. Global memory goes through the core's scalar cache: a value another core or a DMA wrote stays unseen,
// and a stored value stays unwritten, until the line is cleaned.
uint64_t scalar_load(Place from, uint32_t bytes, const char* what, const SourceLine& at);
void scalar_store(Place to, uint64_t bits, uint32_t bytes, const char* what, const SourceLine& at);

// The same around the cache. A load that finds the value of its predecessor again lets other cores run first. A store
// hands over what the scalar unit waited for, and its own stores before its latest data barrier; a load takes that over.
uint64_t load_uncached(Place from, uint32_t bytes, const char* what, const SourceLine& at);
void store_uncached(Place to, uint64_t bits, uint32_t bytes, const char* what, const SourceLine& at);
// Completes every access to global memory that the core issued so far.
void data_barrier(const SourceLine& at);

// Brings the line at `place` into the cache.
void preload_line(Place place, const SourceLine& at);
// Writes back and drops the line at `place`, from there to its end, or every line. Lines are written whole: what another
// core or a DMA wrote beside a stored value since is lost.
void clean_cache_line(Place place, const SourceLine& at);
void clean_cache(const SourceLine& at);
void clean_nothing(const SourceLine& at);
// What the running core never cleaned is reported and written at the end of its task.
void write_back_at_end();
// A finding when some core's cache holds newer bytes of what `ins` reads.
void check_written_back(Instruction& ins, const Memory& m, const Extent& e);

}  // namespace attnemu
