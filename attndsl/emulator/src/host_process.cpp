// Limits and the last words of a host program: how it died, where, and what had been found by then.
#include <cxxabi.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "attnemu/division.h"
#include "attnemu/report.h"
#include "host_runtime.h"

namespace attnemu {
namespace {

const Allocation* touched(const void* address) {
  auto* p = static_cast<const uint8_t*>(address);
  for (auto& a : allocations())
    if (p >= a->data && p < a->data + a->mapped) return a.get();
  return nullptr;
}

std::string function_at(const void* address) {
  Dl_info found{};
  if (!dladdr(address, &found) || !found.dli_sname) return "the program";
  char* plain = abi::__cxa_demangle(found.dli_sname, nullptr, nullptr, nullptr);
  std::string name = std::string(plain ? plain : found.dli_sname).substr(0, 160);
  std::free(plain);
  return name;
}

// Hosts of Atlas A2 have processors that divide by zero without a word.
bool pass_division_of_host(int number, const siginfo_t* info, void* context) {
  if (core || !step_over_division(number, info->si_code, context)) return false;
  report_host("memcheck", "division_by_zero", {nullptr, 0},
              "the host program divides an integer by zero: a processor that traps, as x86-64 does, ends it here; others go on with 0, and so did this run", "", 0, 0,
              function_at(info->si_addr));
  return true;
}

// A host that does not ask whether it got memory dies of a null pointer: say which bound it met.
int refused_memory(char* text, size_t room) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  return std::snprintf(text, room, "attnemu-crash: in the host program, at a null pointer after it was refused memory: it may have %llu MiB (--memory)\n",
                       static_cast<unsigned long long>(limit.rlim_cur >> 20));
}

void on_signal(int number, siginfo_t* info, void* context) {
  bool refused = errno == ENOMEM && number == SIGSEGV && reinterpret_cast<uintptr_t>(info->si_addr) < 4096;
  if (pass_division(number, info->si_code, context) || pass_division_of_host(number, info, context)) return;
  char text[512];
  int n = 0;
  const Allocation* a = !core && number == SIGSEGV ? touched(info->si_addr) : nullptr;
  if (a) n = std::snprintf(text, sizeof text, "attnemu-crash: the host program touched %s, which is device memory: copy it by aclrtMemcpy\n", a->name.c_str());
  else if (!core && refused) n = refused_memory(text, sizeof text);
  else if (!core) n = std::snprintf(text, sizeof text, "attnemu-crash: in the host program\n");
  if (n > 0 && write(2, text, static_cast<size_t>(n)) < 0) _exit(120);
  if (core) last_words(number == SIGSEGV ? fault_at(info->si_addr) : "");
  signal(number, SIG_DFL);
  alarm(2);  // writing the findings may itself fail or hang; they are worth a try
  keep_findings_of_launch();
  raise(number);
}

__attribute__((constructor)) void prepare_process() {
  if (const char* bytes = std::getenv("ATTNEMU_MEMORY")) {
    rlimit limit{std::strtoull(bytes, nullptr, 10), std::strtoull(bytes, nullptr, 10)};
    setrlimit(RLIMIT_AS, &limit);
  }
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  static uint8_t stack[1 << 18];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO;
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM}) sigaction(s, &action, nullptr);
}

}  // namespace
}  // namespace attnemu
