// The end of a run by the kernel's own wish: a failed assertion, a trap.
#pragma once
#include <string>

#include "base.h"

namespace attnemu {

// Prints `line` as the program's output and ends the process with `reason`; findings so far are kept.
[[noreturn]] void halt(const std::string& line, const std::string& reason);
// What keeps the findings of the launch in progress, where something does.
extern void (*keep_before_halt)();

}  // namespace attnemu
