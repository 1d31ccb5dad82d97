#include "attnemu/halt.h"

#include <unistd.h>

#include <cstdio>

namespace attnemu {

void (*keep_before_halt)() = nullptr;

void halt(const std::string& line, const std::string& reason) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  if (keep_before_halt) keep_before_halt();
  std::fprintf(stderr, "attnemu-error: %s\n", reason.c_str());
  std::fflush(stderr);
  _exit(3);
}

}  // namespace attnemu
