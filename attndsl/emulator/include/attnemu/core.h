// One core: its pipes with their clocks, its memories, flags, counters and registers.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base.h"
#include "cross_core.h"
#include "events.h"
#include "memory.h"
#include "scalar_cache.h"
#include "unit_flags.h"
#include "timeline.h"
#include "vector_clock.h"

namespace attnemu {

struct PipeState {
  VectorClock clock;             // known complete before the pipe's next instruction may start
  uint32_t issued = 0;           // instructions so far, waits included
  uint64_t scalar_version = 0;   // state of the scalar clock already joined
};

// Bytes of an on-chip memory.
struct LocalRange { uint64_t from, end; };

enum class AtomicOp : uint8_t { None, Add, Max, Min };

// An image that window loads read.
struct ImageMap {
  uint16_t height = 1, width = 1;
  uint8_t padding[4] = {};  // left, right, above, below
};
// Special registers that instructions read.
struct Registers {
  uint64_t mask[2] = {~0ull, ~0ull};   // low, high lanes
  bool counter_mode = false;
  AtomicOp atomic = AtomicOp::None;
  DType atomic_type = DType::F32;
  SourceLine atomic_at = {};             // where it was set
  uint8_t compare_mask[32] = {};
  bool compare_mask_defined = false;
  float deq_scale = 1.0f;
  uint64_t deq_word = 0;                   // quantisation word of int16 sources, or the address of 16 of them in UB
  bool deq_words = false;                  // the address of 16
  uint64_t pad_value = 0;
  bool pad_value_set = false;
  uint64_t load_pad_value = 0;
  ImageMap image[2];                       // of the left and of the right matrix, for loads that name none
  uint8_t load_repeats = 1;                // of window loads, a stride apart
  uint16_t load_repeat_stride = 0;
  bool load_repeat_columns = false;
  uint32_t load_boundary = 0;              // byte of L1 at which their sources wrap round; 0: nowhere
  uint64_t quant_word = 0;
  uint64_t quant_words_at = 0;         // words a column, in the fixpipe buffer
  bool quant_words_set = false;
  uint16_t nd_num = 1, nd_source_stride = 0, nd_target_stride = 0;
  bool hf32 = false, hf32_to_zero = false;  // fp32 operands of products are rounded; ties go to zero, else to even
  bool product_rows_first = false;          // products come to the fractals of their results row by row, else column by column
  bool saturate = false;
  uint64_t reduce_value = 0, reduce_count = 0, reduce_sum = 0;  // bits of the latest extreme, its index, the latest sum
  uint16_t merged[4] = {};
  uint64_t control = 0;                    // bits of the control register that nothing here reads
  uint64_t gathered = 0;                   // elements that the latest compaction kept
};

class Core {
 public:
  // `agents`: of its clocks; 0 follows no order, and no memory has shadows then.
  Core(int index, int block, int sub, CoreKind kind, size_t agents, uint32_t poison, bool saturate);

  const int index, block, sub;  // sub: 0/1 among the vector cores of a block
  const CoreKind kind;
  std::array<PipeState, kPipes> pipes;
  uint64_t scalar_version = 1;
  EventTable events;
  std::array<CrossCounter, kCounterIds> counters;
  Registers reg;
  std::deque<LocalRange> open_results;  // what vector instructions wrote to UB since their latest barrier
  ScalarCache cache;
  UnitFlags unit_flags;
  CoreTime time;
  std::array<uint64_t, kPipes> instructions{};  // issued a pipe, without synchronization
  double product_steps = 0;                     // of the cube, if no operand had rows or columns that only fill fractals
  uint64_t refused = 0;                         // of them without effect: their operands were wrong
  void* buffers = nullptr;                      // the face's buffer manager
  SourceLine scratch_select{nullptr, 0}, scratch_data{nullptr, 0};
  SourceLine last{"", 0};                       // last thing issued, for crash reports
  SourceLine before{nullptr, 0};                // the last call in another file: what a helper of a header works for
  void came_to(const SourceLine& at) {
    if (at.file != last.file) before = last;
    last = at;
  }
  VectorClock published;                        // what its latest data barrier completed; empty: none yet
  std::vector<uint8_t> sparse_indices;          // of the fractals in L0B, see load_sparse
  std::unordered_set<uint64_t> dropped_lines;   // of the scalar cache, by DataCacheCleanAndInvalid of the line
  const uint8_t* polled = nullptr;              // word and value of its latest uncached load
  uint64_t polled_bits = 0;
  bool ended = false;                           // its kernel has returned
  bool yields = false;                          // gives way to every core that can run
  double resumes_at = 0;                        // cycles; where it gave way to cores behind it
  int waiting_id = -1;                          // counter the core is blocked on
  SourceLine waiting_at{"", 0};
  const std::function<bool()>* waiting_for = nullptr;  // other than a counter: what must hold
  std::string waiting_text;

  BlockSet real_blocks;                         // of UB, whose data is real where only time is followed

  bool has(Pipe p) const;
  bool has(MemoryKind m) const;
  Memory* memory(MemoryKind m);
  uint16_t agent(Pipe p) const { return static_cast<uint16_t>(index * kPipes + static_cast<int>(p)); }
  PipeState& pipe(Pipe p) { return pipes[static_cast<int>(p)]; }
  std::string label() const;

  // The scalar unit issues an instruction to `p`: its number, with the clock brought up to date.
  uint32_t issue(Pipe p, bool auto_sync);
  // Clock of everything issued to `p` so far, all of it complete.
  VectorClock snapshot(Pipe p);
  void join(Pipe p, const VectorClock& c);
  void barrier(Pipe p);
  void barrier_all();

 private:
  std::array<Memory, kMemories> memories_;
  std::vector<std::unique_ptr<uint8_t[]>> storage_;
  bool ordered_;
};

}  // namespace attnemu
