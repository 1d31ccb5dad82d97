// Data movement between memories.
#pragma once
#include <cstdint>

#include "instruction.h"

namespace attnemu {

// `count` bursts of `run` bytes; steps in bytes from start to start. Accumulates where the atomic register says so and
// the target is global memory.
struct Bursts {
  uint64_t run = 0, count = 1, to_step = 0, from_step = 0;
  bool atomic = false;
};
void copy_bursts(const char* what, const SourceLine& at, Pipe pipe, Place to, Place from, const Bursts& b);

// The same from L1 to the bias table, every half widened to float: steps of the source count as in `b`, the target's
// bursts are twice as long.
void copy_widened(const char* what, const SourceLine& at, Place to, Place from, const Bursts& b);

// Global memory to UB in bursts that need no alignment: every burst ends on a block boundary in UB.
struct PaddedLoad {
  uint64_t run = 0, count = 1, from_step = 0, gap_blocks = 0;  // gap: blocks between bursts in UB
  uint32_t element = 1;
  bool pad = false;
  uint32_t left = 0, right = 0;  // elements
  uint64_t value = 0;            // bits of the padding element
};
void load_padded(const char* what, const SourceLine& at, Place to, Place from, const PaddedLoad& p);

// Row-major matrices to fractal columns: blocks of 32 bytes, the last column group padded with zeros.
struct RowsToFractals {
  uint32_t matrices = 1, rows = 0, columns = 0, element = 2;
  uint64_t from_matrix_step = 0, from_row_step = 0;                      // bytes
  uint64_t to_matrix_step = 0, to_column_step = 0, to_row_step = 0;     // bytes
};
void rows_to_fractals(const char* what, const SourceLine& at, Place to, Place from, const RowsToFractals& p);

// Definedness follows a copy; undefined bytes stored to an output array are a finding. What is added to something
// undefined (`adds`) stays undefined.
void copy_definedness(Instruction& ins, Place to, Place from, uint64_t n, bool adds = false);
// Adds (or max, min) `n` bytes of `from` to `to` element by element.
void accumulate(uint8_t* to, const uint8_t* from, uint64_t n, DType type, AtomicOp op);

}  // namespace attnemu
