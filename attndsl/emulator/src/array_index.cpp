// Indices beyond the arrays of a kernel: g++ calls these functions where -fsanitize=bounds sees one (its own library is not
// linked). The core goes on, and reads or writes what lies there.
#include <cstdint>

#include "attnemu/machine.h"

namespace {

struct TypeDescriptor {
  uint16_t kind, info;
  char name[1];  // such as 'Step [3]', with the quotes
};
struct OutOfBounds {
  struct {
    const char* file;
    uint32_t line, column;
  } at;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};

void tell(const OutOfBounds& found, uintptr_t index) {
  using namespace attnemu;
  if (!core || !machine || !machine->knobs.memcheck) return;
  SourceLine at{found.at.file, static_cast<int>(found.at.line)};
  core->last = at;
  machine->report("memcheck", "array_index", at,
                  format("index %lld is outside of an array of type %s: what lies there is nowhere defined", static_cast<long long>(index), found.array->name));
}

}  // namespace

extern "C" void __ubsan_handle_out_of_bounds(OutOfBounds* found, uintptr_t index) { tell(*found, index); }
extern "C" void __ubsan_handle_out_of_bounds_abort(OutOfBounds* found, uintptr_t index) { tell(*found, index); }
