// A run ends with the process that started it: nobody waits for its report any more, and nobody else would stop it.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace attnemu {
namespace {

__attribute__((constructor)) void tether() {
  const char* words = std::getenv("ATTNEMU_TETHER");
  int parent = 0;
  unsigned long long seconds = 0;
  if (!words || std::sscanf(words, "%d %llu", &parent, &seconds) != 2) return;
  unsetenv("ATTNEMU_TETHER");  // processes that a program starts are its own affair
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (kill(parent, 0) != 0 && errno == ESRCH) _exit(125);  // it died before we asked to be told
  rlimit limit{seconds, seconds};
  if (seconds) setrlimit(RLIMIT_CPU, &limit);
}

}  // namespace
}  // namespace attnemu
