// Integer divisions by zero.
#pragma once

namespace attnemu {

// For signal handlers, with what they are given: true where the signal is a core's division, which is a finding; the core goes on
// behind it with the quotient 0. Processors that do not trap (aarch64) divide so without telling.
bool pass_division(int number, int code, void* context);
// The same outside of cores: only steps over the division, and tells nothing.
bool step_over_division(int number, int code, void* context);

}  // namespace attnemu
