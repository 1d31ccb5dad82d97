// Sorting and transposing instructions of the vector unit.
#pragma once
#include <cstdint>

#include "lanes.h"

namespace attnemu {

// 32 (score, index) pairs a repeat to records of 8 bytes, scores descending, equal scores in index order of arrival.
void sort_32(const char* what, const SourceLine& at, const LaneOperand& dst, const LaneOperand& scores, const LaneOperand& indices, uint32_t repeats);

struct Merge {
  Place from[4];           // the sorted lists
  uint32_t lengths[4];     // records
  uint32_t lists = 2;      // 2 to 4
  bool stop_when_exhausted = false;
  uint32_t repeats = 1;
};
// Merges sorted lists of records; the counts consumed go to the merge registers.
void merge_sorted(const char* what, const SourceLine& at, const LaneOperand& dst, const Merge& m);

// Splits records into scores and indices, 32 a repeat.
void split_records(const char* what, const SourceLine& at, const LaneOperand& scores, const LaneOperand& indices, const LaneOperand& records, uint32_t repeats);

// Sixteen blocks as rows of a matrix, transposed to sixteen blocks, `repeats` times; steps in blocks.
struct BlockTranspose {
  Place to[16], from[16];
  uint32_t repeats = 1, to_step = 0, from_step = 0;
  bool to_high = false, from_high = false;  // halves of a block for 8-bit elements
};
void transpose_blocks(const char* what, const SourceLine& at, uint32_t element, const BlockTranspose& t);

// Elements of a dense array in another order: `images` matrices [rows, columns] become [columns, rows].
struct Permutation {
  uint32_t images = 1, rows = 0, columns = 0;
};
void permute(const char* what, const SourceLine& at, Place to, Place from, Place scratch, uint64_t scratch_bytes, uint32_t element, const Permutation& p);

}  // namespace attnemu
