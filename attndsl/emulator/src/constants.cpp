// Tables that a kernel's own source defines (`__gm__ const T name[] = {...}`): the device has them in global memory.
#include <dlfcn.h>
#include <link.h>

#include "attnemu/machine.h"

namespace attnemu {
namespace {

struct Search {
  uintptr_t address;
  uint8_t* first;
  uint64_t bytes;
};

int look_into(dl_phdr_info* info, size_t, void* data) {
  auto* s = static_cast<Search*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& h = info->dlpi_phdr[i];
    uintptr_t from = info->dlpi_addr + h.p_vaddr;
    if (h.p_type != PT_LOAD || (h.p_flags & PF_W) || s->address < from || s->address >= from + h.p_memsz) continue;
    s->first = reinterpret_cast<uint8_t*>(from);
    s->bytes = h.p_memsz;
    return 1;
  }
  return 0;
}

}  // namespace

Memory* Machine::find_constants(const void* p) {
  Search s{reinterpret_cast<uintptr_t>(p), nullptr, 0};
  if (!dl_iterate_phdr(look_into, &s)) return nullptr;
  Memory* m = add_region("the program's constants", s.first, s.bytes, 0, false, true);
  m->constant = true;
  return m;
}

}  // namespace attnemu
