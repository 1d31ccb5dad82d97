// What a vector core has the cube core of its block do for it: libraries put the request into global memory and poll for the
// answer. The messages themselves are not played; each carries the clock of who sent it.
#pragma once
#include <functional>

#include "base.h"

namespace attnemu {

// Has `work` done by the cube core of this block, behind everything this core did so far, and waits for it.
void ask_cube(const char* what, const SourceLine& at, const std::function<void()>& work);
// Whether this core is a cube core of a block with vector cores.
bool serves_vectors();
// Does what the vector cores of this block ask for, until all of them have ended.
void serve_vectors(const SourceLine& at);

}  // namespace attnemu
