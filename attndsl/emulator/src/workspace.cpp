#include "attnemu/workspace.h"

namespace attnemu {

void set_system_workspace(uint8_t* start, bool again) {
  if (again || !machine->user_workspace) machine->user_workspace = start + kSystemWorkspace;
}

uint8_t* user_workspace(const SourceLine& at) {
  core->came_to(at);
  if (!machine->user_workspace && machine->knobs.memcheck)
    machine->report("memcheck", "unset_workspace", at,
                    "GetUserWorkspace: no workspace is set, and the argument is not looked at: build with HAVE_WORKSPACE and, "
                    "where tiling data come last, HAVE_TILING, or call SetSysWorkspace", name_of(Pipe::S));
  return machine->user_workspace;
}

}  // namespace attnemu
