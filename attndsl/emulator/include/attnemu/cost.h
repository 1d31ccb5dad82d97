// What operations cost. The numbers are data that come with a launch; the model has none of its own.
#pragma once
#include <iosfwd>
#include <string>

#include "base.h"
#include "ops.h"

namespace attnemu {

// The pipe is taken for head + per_unit * units cycles, but never for less than `least`, nor, where a copy reorders a
// matrix, than `per_row` for each row and `per_piece` for each piece of a row; the result is there `latency` cycles later.
struct Cost {
  double head = 0, per_unit = 0, latency = 0, least = 0, per_row = 0, per_piece = 0;
  bool known = false;
};

// What all cores share, and the properties of memories that are no operation's own.
struct Rates {
  double clock = 0;           // cycles a second
  double l2 = 0, l2_read = 0; // most bytes a cycle of all cores together: all traffic of L2, its reads alone
  double l2_bytes = 0;        // what L2 holds
  double hbm = 0;             // most bytes a cycle of all cores together from and to memory
  double miss = 0;            // most bytes a cycle of one core that L2 does not have
  double atomic = 0;          // times that a byte added to global memory passes L2
  double accumulate = 0;      // cycles by which a product that adds to what L0C holds takes longer
  double bank = 0;            // cycles a row of a group of UB banks is taken
  double read_write = 0;      // cycles of a repeat that reads and writes one bank
  double queue = 0;           // instructions a pipe's queue holds
};

class CostTable {
 public:
  Rates rates;
  // Lines "cost OP TYPE HEAD PER_UNIT LATENCY LEAST PER_ROW PER_PIECE" (TYPE "any" or a type that has numbers of its own) and "rate NAME VALUE".
  // Throws std::runtime_error for unknown names and when an operation or a rate has no line.
  void read(std::istream& in);
  void read_file(const std::string& path);
  bool complete() const { return complete_; }
  // Of the type when it has numbers of its own, else of the operation.
  const Cost& of(Op op, DType type) const {
    const Cost& own = cost_[static_cast<int>(op)][1 + static_cast<int>(type)];
    return own.known ? own : cost_[static_cast<int>(op)][0];
  }
  const Cost& of(Op op) const { return cost_[static_cast<int>(op)][0]; }

 private:
  static constexpr int kTypes = 11;
  Cost cost_[kOps][1 + kTypes];
  bool complete_ = false;
  void set_rate(const std::string& name, double value);
};

CostTable& cost_table();  // of all launches of this process

// The work of one instruction: `units` of its operation, of which it starts `count`.
struct Work {
  Op op;
  DType type;
  double units = 0;
  uint32_t count = 1;
  double at_least = 0;  // cycles a unit, where memory banks are slower than the operation
  double rows = 0, pieces = 0;  // of a matrix that a copy reorders
  double more = 0;      // cycles besides
};

}  // namespace attnemu
