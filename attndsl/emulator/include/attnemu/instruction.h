// Bookkeeping of one instruction: ranges, ordering, counters. The caller performs the data effect between
// admit() and its return.
#pragma once
#include <vector>

#include "machine.h"

namespace attnemu {

class Instruction {
 public:
  // Announces an instruction of `pipe` of the running core. Tests false when the core has no such pipe.
  Instruction(Pipe pipe, const char* what, const SourceLine& at, uint8_t traits = 0);
  ~Instruction();
  Instruction(const Instruction&) = delete;
  Instruction& operator=(const Instruction&) = delete;
  explicit operator bool() const { return valid_; }

  void reads(const Place& p, const Extent& e) { add(p, e, AccessKind::Read); }
  void writes(const Place& p, const Extent& e) { add(p, e, AccessKind::Write); }
  void accumulates(const Place& p, const Extent& e) { add(p, e, AccessKind::Atomic); }
  // Waits for the unit flags of the fractals of L0C in these columns, and changes them, as `mode` says; see UnitFlags::list.
  void by_unit_flags(uint32_t mode, const std::vector<Extent>& columns, bool rows_first);
  void reads(const Place& p, const LaneExtent& e) { add(p, e, AccessKind::Read); }
  void writes(const Place& p, const LaneExtent& e) { add(p, e, AccessKind::Write); }

  // A condition of the instruction; a finding of memcheck and no effect when it does not hold.
  bool require(bool holds, const char* rule, const char* pattern, ...) __attribute__((format(printf, 4, 5)));
  // Reports what documents exclude and the device does: the effect takes place.
  void doubt(const char* rule, const char* pattern, ...) __attribute__((format(printf, 3, 4)));
  bool aligned(const Place& p, uint32_t to, const char* operand);
  // Checks ranges and hazards of the operands and takes the instruction's time; false: the effect must not take place.
  bool admit(const Work& work);
  // Issues an instruction that a condition already ruled out.
  void refuse();

  const SourceLine& at() const { return at_; }
  Pipe pipe() const { return pipe_; }
  const char* what() const { return what_; }
  // A value that is not defined reaches `sink` ("a GM output", "a scalar", "an address").
  void undefined_reaches(const char* sink, const Memory* from, uint64_t address, uint64_t bytes);

 private:
  struct Operand {
    Memory* memory;
    Buffer buffer;
    Extent extent;
    LaneExtent lanes;
    bool is_lanes;
    AccessKind kind;
  };
  void add(const Place& p, const Extent& e, AccessKind kind);
  void add(const Place& p, const LaneExtent& e, AccessKind kind);
  static std::vector<Operand>& operands();  // of the instruction being built; instructions do not nest
  bool in_range(const Operand& o);
  void report_outside(const Operand& o, uint64_t from, uint64_t end);
  void track(const Operand& o, const Epoch& e);
  void report_hazards(const Memory& m);
  void note_scratch(const Operand& o);
  void order_by_compiler();
  void take_time(const Work& work);
  void execute(const Work& work, const CoreTime::Moved& moved);
  static void note_touched();
  bool is_real() const;
  void note_real(bool real) const;
  void count_global(const Operand& o, CoreTime::Moved& moved);

  Pipe pipe_;
  const char* what_;
  SourceLine at_;
  uint8_t traits_;
  bool valid_ = true;
  UnitTurn turn_;
};

}  // namespace attnemu
