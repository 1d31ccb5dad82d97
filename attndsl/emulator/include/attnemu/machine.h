// The whole device as one kernel launch sees it: cores, global memory, findings, the scheduler of core tasks.
#pragma once
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core.h"
#include "findings.h"
#include "knobs.h"
#include "memory.h"

namespace attnemu {

struct LaunchShape {
  int blocks = 1;
  int cubes = 1;    // cube cores a block, 0 or 1
  int vectors = 2;  // vector cores a block, 0 to 2
};

struct Site {
  std::string file;
  int line;
  const char* what;
};

// A word in global memory that cores poll, see soft_sync.h.
struct SoftWord {
  uint32_t count = 0;
  uint64_t round = 0;
  VectorClock clock, released;
  Instant set_at, released_at;
};

// What a vector core asks of its cube core, see errands.h; the clock is of who acted last.
struct Errand {
  const std::function<void()>* work;
  VectorClock clock;
  Instant when;
  bool done;
};

class Machine {
 public:
  Machine(const Knobs& knobs, const LaunchShape& shape);
  ~Machine();
  const Knobs knobs;
  const LaunchShape shape;
  Findings findings;
  Timeline timeline;
  std::vector<std::unique_ptr<Core>> cores;
  std::vector<std::unique_ptr<Memory>> regions;  // global memory, sorted by address
  std::string source_dir;                        // prefix taken off file names
  bool stopped = false;                          // knobs.most_core_cycles ended the run
  std::string halfway;                           // of such a run, what was counted at half of them
  bool blocks_start_together = true;             // false: the host did not ask for it (batch mode)
  uint8_t* user_workspace = nullptr;             // behind the system's part of the workspace that a launch has set

  size_t agents() const { return knobs.timing ? 0 : cores_ * kPipes; }
  Memory* add_region(std::string name, uint8_t* data, uint64_t bytes, uint64_t room, bool output, bool defined);
  Memory* find_region(const void* p);            // null: in no registered array, nor among the program's constants
  uint16_t site(const SourceLine& at, const char* what);
  std::string text(const SourceLine& at) const;  // "file:line"
  std::string text(uint16_t site) const;
  const Instant& end() const;                    // of the last core
  const char* what(uint16_t site) const { return sites_[site].what; }

  // Runs `body` once a core, as cooperative tasks; returns when all ended or none can go on.
  void run(const std::function<void()>& body);
  // Called by a core's task: gives way to others until its counter `id` is above zero.
  void wait_for_counter(int id, const SourceLine& at);
  // The same until `holds`; `text` says what for, should nobody ever make it hold.
  void wait_until(const std::function<bool()>& holds, std::string text, const SourceLine& at);
  // Called by a core's task before it moves global memory from cycle `start` on: gives way to the cores that are behind
  // it, so that the memories that all share are taken in the order of time.
  void pace(double start);
  // A core that waited can go on from cycle `when`.
  void awaken(double when);
  // Gives way to every other core that can run: a core that polls memory.
  void yield(const SourceLine& at);
  std::map<const uint8_t*, SoftWord> soft_words;  // by host address
  std::map<int, std::deque<Errand*>> errands;     // by block
  // Global memory that a library takes from the system's workspace, for the rest of the launch.
  uint8_t* lend(uint64_t bytes, const char* name);

  void report(const char* check, const char* rule, const SourceLine& at, std::string message,
              const char* pipe = "", const std::string& buffer = "", uint64_t address = 0, uint64_t bytes = 0,
              const std::string& other = "");

  // After the run of a kernel whose kind nobody told: a kind of core that met nothing but the other kind's instructions has no part
  // in it, as the official compiler finds out, and its findings about them go.
  void forget_idle_kinds();

  bool is_below_stack(const void* p) const;      // of the running core's task

  struct Impl;

 private:
  static constexpr double kNever = HUGE_VAL;
  static constexpr double kAhead = 64;  // cycles by which a core may be ahead of others that could run
  double horizon_ = kNever;  // the running core gives way before it gets further
  size_t next_core(const std::vector<size_t>& ready);
  bool stops_at(double now);
  size_t cores_;
  std::vector<Site> sites_;
  std::unique_ptr<Impl> impl_;
  Memory* last_region_ = nullptr;
  std::vector<std::unique_ptr<uint8_t[]>> lent_;
  Memory* find_constants(const void* p);
  void check_memory() const;
  void report_deadlock();
  void report_left_over();
  void report_not_restored();
};

extern Machine* machine;  // the launch in progress
extern Core* core;        // the core whose task runs

}  // namespace attnemu
