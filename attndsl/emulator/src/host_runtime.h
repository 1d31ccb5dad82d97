// What the acl runtime and the launches of a host program share: device memory and the report.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attnemu/machine.h"

namespace attnemu {

// Bytes of a 32-byte block, and the kernel's line that stored them.
struct Tainted {
  uint32_t mask;
  std::string source;
};

// Device memory of exactly the bytes asked for, on pages of its own; the host cannot touch it between launches.
struct Allocation {
  std::string name;
  uint8_t* data = nullptr;
  uint64_t bytes = 0, mapped = 0;
  Memory shadow;                   // definedness and counters between launches
  void* pending_stream = nullptr;  // stream of a launch that nobody waited for
  bool pending_write = false;      // that launch wrote it
  bool shared = false;             // the host may touch it between launches, and all of it counts as defined
  std::map<uint64_t, Tainted> tainted;  // by block: bytes that a kernel wrote without a defined value
};

// Of launches whose kernel says it neither by its attributes nor in its body.
enum class Cores { AsKernelsSay, Vector, Cube };
void choose_cores(Cores cores);

const Knobs& knobs();
std::vector<std::unique_ptr<Allocation>>& allocations();
void open_to_host(const Allocation& a);
void close_to_host(const Allocation& a);

void report_host(const char* check, const char* rule, const SourceLine& at, std::string message, const std::string& buffer,
                 uint64_t address = 0, uint64_t bytes = 0, const std::string& kernel_source = "");
// Keeps what the program copied from the device as a file of its own, where the caller asked for it.
void save_copy_to_host(const void* bytes, uint64_t count);
// What the timeline predicts for all launches so far.
double device_cycles();
// Adds what the launch in progress has found to the report.
void keep_findings_of_launch();

}  // namespace attnemu
