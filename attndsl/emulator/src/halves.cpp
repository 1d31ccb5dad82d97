#include "attnemu/halves.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>

#include "attnemu/machine.h"

namespace attnemu {
namespace {

Half loading = Half::Whole;
bool loaded[kHalves] = {};
ByHalf<SiteCall>& sites() { static ByHalf<SiteCall> s; return s; }

std::string own_folder() {
  char path[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  std::string all(path, n > 0 ? static_cast<size_t>(n) : 0);
  return all.substr(0, all.rfind('/') + 1);
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "attnemu-error: %s\n", why.c_str());
  std::exit(3);
}

}  // namespace

void load_halves() {
  static bool done = false;
  if (done) return;
  done = true;
  for (Half half : {Half::Cube, Half::Vector}) {
    std::string file = own_folder() + name_of(half) + "_half.so";
    if (access(file.c_str(), R_OK) != 0) continue;
    loading = half;
    if (!dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) refuse(std::string("the ") + name_of(half) + " half cannot be loaded: " + dlerror());
    loading = Half::Whole;
    loaded[static_cast<int>(half)] = true;
  }
}

Half loading_half() { return loading; }

Half running_half() {
  Half half = !core ? Half::Whole : core->kind == CoreKind::Cube ? Half::Cube : Half::Vector;
  return loaded[static_cast<int>(half)] ? half : Half::Whole;
}

void refuse_half(const std::string& kernel, Half half, const char* what) {
  refuse(kernel + ": the " + name_of(half) + " half of the source, as the preprocessor leaves it, does not have this " + what);
}

const char* name_of(Half h) {
  static const char* const names[] = {"whole", "cube", "vector"};
  return names[static_cast<int>(h)];
}

bool note_site(const std::string& name, SiteCall call) {
  sites().add(name, call);
  return true;
}

bool call_in_half(const std::string& name, const char* kernel, const void* closure, void* const* arguments) {
  Half half = running_half();
  if (half == Half::Whole) return false;
  const SiteCall* call = sites().find(name, half);
  if (!call) refuse_half(kernel, half, "launch");
  (*call)(closure, arguments);
  return true;
}

}  // namespace attnemu
