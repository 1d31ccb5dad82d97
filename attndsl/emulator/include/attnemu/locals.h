// Variables that every core has for itself, though the code of all cores shares them: their bytes change hands with the cores.
#pragma once
#include <cstddef>

namespace attnemu {

// Keeps the bytes in [from, end) for each core; what they hold now is what every core of a launch starts with.
bool keep_locals(void* from, void* end);
// A launch begins, with no core's bytes in place.
void reset_locals(size_t cores);
// Core `index` goes on.
void enter_locals(size_t index);

}  // namespace attnemu
