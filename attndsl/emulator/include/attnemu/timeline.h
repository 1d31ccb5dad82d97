// When instructions start and end, in cycles since the launch. A prediction: see docs/emulator.md for what it leaves out.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cost.h"
#include "instant.h"
#include "shared_cache.h"

namespace attnemu {

class Core;
class UnitTurn;

// Bytes a cycle that all cores share. Transfers are booked in the order in which they are executed; time is cut into
// slices, and a transfer flows at its own rate through every slice that has room for it.
class SharedRate {
 public:
  explicit SharedRate(double per_cycle) : per_cycle_(per_cycle) {}
  // When `bytes` that start at `start` and flow at `rate` bytes a cycle at most have passed.
  double book(double start, double bytes, double rate);

 private:
  static constexpr double kSlice = 256;
  double per_cycle_;
  std::vector<double> used_;    // bytes, by slice
  std::vector<uint32_t> next_;  // the first slice from here that may have room
  size_t free_from(size_t slice);
  void grow(size_t slice);
};

struct PipeTime {
  Instant free;      // the pipe takes its next instruction
  Instant done;      // everything issued to it is complete
  double busy = 0;   // cycles that its instructions take it
  double active = 0, active_till = 0;  // cycles with an instruction in flight, as a device's counters have them
  std::array<Instant, 64> starts{};  // of the latest instructions, for the length of the queue
  uint32_t issued = 0;
};

// Where an instruction begins to write or read on chip.
struct Touched { MemoryKind memory; bool written; uint32_t at; };
constexpr int kMostTouched = 4;

// Something that took time; `what` and the files of lines are literals of the program.
struct Span {
  int core;
  Pipe pipe;
  const char* what;
  SourceLine at;
  double start, cycles;
  bool waiting;
  SourceLine from;  // the last call in another file before it
  Touched touched[kMostTouched];
  int touched_count;
};

// The clock of one core.
class CoreTime {
 public:
  // Global memory an instruction moves: `missed` bytes of the `read` ones are not in L2, and wherever they went to memory
  // for it, `evicted` bytes that others had written; `placed` bytes that it writes find no line there.
  struct Moved { double bytes = 0, read = 0, missed = 0, evicted = 0, placed = 0; };
  // `turn`: through the fractals of L0C whose unit flags it waits for, if it does.
  void execute(const Core& c, Pipe p, const Work& w, const Moved& moved, const char* what, const SourceLine& at, UnitTurn* turn = nullptr);
  // An instruction that the checks refused still takes its place in the queue.
  void refuse(const Core& c, Pipe p) { hand_over(c, p); }
  Instant set_flag(const Core& c, Pipe p);
  void wait_flag(const Core& c, Pipe p, const Instant& fires, const SourceLine& at);
  void barrier(const Core& c, Pipe p, const SourceLine& at);
  void barrier_all(const Core& c, const SourceLine& at);
  // When a flag to other cores arrives there.
  Instant cross_core_set(const Core& c, Pipe p);
  // The scalar unit waits for something that comes at `when`, and then works for `op`.
  void wait_until(const Core& c, const Instant& when, Op op, const char* what, const SourceLine& at);
  double scalar() const { return scalar_.at; }
  const Instant& now() const { return scalar_; }
  // When all that a pipe was given is done.
  const Instant& done(Pipe p) const { return p == Pipe::S ? scalar_ : pipes_[static_cast<int>(p)].done; }
  // When the next instruction of a pipe starts at the earliest.
  double next_start(Pipe p) const;
  const Instant& end() const;
  double active(Pipe p) const { return pipes_[static_cast<int>(p)].active; }
  double busy(Pipe p) const { return pipes_[static_cast<int>(p)].busy; }

 private:
  PipeTime pipes_[kPipes];
  Instant scalar_;
  PipeTime& pipe(Pipe p) { return pipes_[static_cast<int>(p)]; }
  static double occupied(const Work& w, double per_unit, double missed);
  static void note_conflict(const Work& w, double cycles, const SourceLine& at);
  static double pass(const Moved& moved, double first, double end);
  const Instant& hand_over(const Core& c, Pipe p);
  void wait_in_queue(const Core& c, Pipe p, const Instant& when, const char* what, const SourceLine& at);
  void hold(const Core& c, Pipe p, const Instant& when, Op op, const char* what, const SourceLine& at);
  void work_scalar(const Core& c, double cycles, const char* what, const SourceLine& at);
  void note(const Core& c, Pipe p, const char* what, const SourceLine& at, double start, double cycles, bool waiting);
};

// How far a core is: cycles of work that a pipe has been given, and when it is done with them.
struct Progress { double at, busy; };

// What the cores of a launch share, and what was recorded.
struct Timeline {
  SharedRate l2, l2_read, hbm;
  SharedCache cache;
  double memory_read = 0, memory_written = 0;  // bytes from and to memory behind L2
  std::map<std::pair<const char*, int>, double> conflicts;  // cycles that UB banks took longer, by file and line
  bool keep_spans = false;
  int only_block = -1;  // whose spans are kept; -1: all
  std::vector<Span> spans;
  std::vector<Touched> touched;  // by the instruction whose span comes next
  uint64_t dropped = 0;
  std::vector<std::vector<Progress>> progress;  // of the cube pipe of each cube core, at equal distances of a run that may be stopped
  static constexpr size_t kMostSpans = 1000000;
  Timeline();
};

}  // namespace attnemu
