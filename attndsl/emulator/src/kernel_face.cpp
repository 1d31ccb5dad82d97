// The parts of the AscendC headers that are the same whatever the element: compiled once here, and not in every kernel.
#include "kernel_operator.h"

#include <cstdarg>
#include <cstdio>
#include <deque>

namespace AscendC {
namespace detail {
namespace {

using attnemu::format;

std::deque<TensorNotes>& tensor_notes() {
  static std::deque<TensorNotes> all(1);
  return all;
}

// As `require`, whose name the tests look for rules by; the message is made when it is needed.
__attribute__((format(printf, 4, 5))) bool formatted_require(bool holds, const char* rule, const SourceLine& at, const char* pattern, ...) {
  if (holds || !attnemu::machine->knobs.memcheck) return holds;
  char text[1024];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return require(false, rule, at, text);
}

}  // namespace

const TensorNotes& notes_of(uint32_t entry) { return tensor_notes()[entry]; }
uint32_t note(uint32_t from, const ShapeInfo* shape, const TTagType* tag) {
  TensorNotes n = tensor_notes()[from];
  if (shape) n.shape = *shape;
  if (tag) n.tag = *tag;
  tensor_notes().push_back(n);
  return static_cast<uint32_t>(tensor_notes().size() - 1);
}

attnemu::Place global_place(const void* p, const char* what, const SourceLine& at) {
  attnemu::Memory* m = attnemu::machine->find_region(p);
  if (!m) {
    if (attnemu::machine->knobs.memcheck)
      attnemu::machine->report("memcheck", "unknown_address", at,
                               attnemu::format("%s: address %p lies in no array of this launch (a null argument, or far out of range)", what, p));
    return {};
  }
  return {m, static_cast<uint64_t>(static_cast<const uint8_t*>(p) - m->data)};
}

bool require(bool holds, const char* rule, const SourceLine& at, const std::string& message) {
  if (!holds && attnemu::machine->knobs.memcheck) attnemu::machine->report("memcheck", rule, at, message);
  return holds;
}
bool require(bool holds, const char* rule, const SourceLine& at, const char* message) {
  if (!holds && attnemu::machine->knobs.memcheck) attnemu::machine->report("memcheck", rule, at, message);
  return holds;
}

void complain(const char* rule, const SourceLine& at, const std::string& message) {
  if (attnemu::machine->knobs.memcheck) attnemu::machine->report("memcheck", rule, at, message, "V");
}
void complain(const char* rule, const SourceLine& at, const char* message) {
  if (attnemu::machine->knobs.memcheck) attnemu::machine->report("memcheck", rule, at, message, "V");
}

LaneShape count_shape(int64_t n, uint32_t per, const char* what, const SourceLine& at) {
  if (n < 0) {
    complain("count_range", at, attnemu::format("%s: count %lld is negative", what, static_cast<long long>(n)));
    n = 0;
  }
  return LaneShape::count(static_cast<uint64_t>(n), per);
}
LaneShape masked_shape(uint64_t mask, uint32_t repeats, uint32_t per, const char* what, const SourceLine& at) {
  attnemu::Registers& r = attnemu::core->reg;
  if (r.counter_mode) {
    r.mask[0] = mask;
    r.mask[1] = 0;
  } else {
    if (mask > per) complain("mask_range", at, format("%s: mask %llu is above the %u lanes of a repeat", what, static_cast<unsigned long long>(mask), per));
    LaneMask m = LaneMask::first(static_cast<uint32_t>(mask > per ? per : mask));
    r.mask[0] = m.bits[0];
    r.mask[1] = m.bits[1];
  }
  return register_shape(repeats, per);
}
LaneShape masked_shape(const uint64_t* mask, uint32_t repeats, uint32_t per, const char* what, const SourceLine& at) {
  attnemu::Registers& r = attnemu::core->reg;
  if (per <= 64 && mask[1]) complain("mask_range", at, format("%s: the high mask word must be 0 for %u lanes a repeat", what, per));
  r.mask[0] = mask[0];
  r.mask[1] = per <= 64 ? 0 : mask[1];
  return register_shape(repeats, per);
}

bool bad_path(MemoryKind from, MemoryKind to, const SourceLine& at) {
  if (path(from, to) != Pipe::S) return false;
  if (attnemu::machine->knobs.memcheck)
    attnemu::machine->report("memcheck", "wrong_position", at, attnemu::format("DataCopy: there is no path from %s to %s", attnemu::name_of(from), attnemu::name_of(to)));
  return true;
}

bool whole_elements(const attnemu::Place& p, size_t element, const char* what, const SourceLine& at) {
  return formatted_require(p.at % element == 0, "misaligned", at, "%s: byte %llu of %s is no multiple of the element's %zu bytes", what, static_cast<unsigned long long>(p.at), p.memory->name.c_str(), element);
}
void copy_blocks(Pipe pipe, attnemu::Place to, attnemu::Place from, const DataCopyParams& p, uint32_t unit, bool atomic, const SourceLine& at) {
  formatted_require(p.blockCount <= attnemu::kMaxCopyBlocks, "copy_range", at, "DataCopy: blockCount %u is at most %u", p.blockCount, attnemu::kMaxCopyBlocks);
  attnemu::Bursts b;
  b.run = static_cast<uint64_t>(p.blockLen) * unit;
  b.count = p.blockCount;
  b.from_step = b.run + static_cast<uint64_t>(p.srcStride) * attnemu::kBlock;
  b.to_step = b.run + static_cast<uint64_t>(p.dstStride) * unit;
  b.atomic = atomic;
  attnemu::copy_bursts("DataCopy", at, pipe, to, from, b);
}
DataCopyParams whole(uint32_t count, uint64_t bytes, const SourceLine& at) {
  auto n = static_cast<unsigned long long>(bytes);
  formatted_require(bytes % attnemu::kBlock == 0, "copy_tail", at, "DataCopy: %u elements are %llu bytes, rounded down to a multiple of 32; use DataCopyPad for the tail", count, n);
  formatted_require(bytes / attnemu::kBlock <= attnemu::kMaxHalfWord, "copy_range", at, "DataCopy: %llu bytes are more than %u blocks", n, attnemu::kMaxHalfWord);
  return DataCopyParams(1, static_cast<uint16_t>(bytes / attnemu::kBlock), 0, 0);
}

void load_with_padding(attnemu::Place to, MemoryKind memory, const void* at_global, size_t element, const DataCopyExtParams& p, const Padding& pad, const SourceLine& at) {
  formatted_require(memory == MemoryKind::UB, "wrong_position", at, "DataCopyPad: the destination must be in UB");
  formatted_require(p.blockCount <= attnemu::kMaxCopyBlocks, "copy_range", at, "DataCopyPad: blockCount %u is at most %u", p.blockCount, attnemu::kMaxCopyBlocks);
  formatted_require(p.blockLen <= 2097151, "copy_range", at, "DataCopyPad: blockLen %u is at most 2097151", p.blockLen);
  formatted_require(p.blockLen % element == 0, "copy_range", at, "DataCopyPad: blockLen %u is no multiple of the element's %zu bytes", p.blockLen, element);
  formatted_require(pad.left * element <= 32 && pad.right * element <= 32, "copy_padding", at, "DataCopyPad: a padding is at most 32 bytes");
  formatted_require(element < 8 || (pad.left == 0 && pad.right == 0), "copy_padding", at, "DataCopyPad: 64-bit elements take no padding");
  attnemu::Place from = global_place(at_global, "DataCopyPad", at);
  if (!from.memory || !whole_elements(from, element, "DataCopyPad", at)) return;
  attnemu::PaddedLoad l;
  l.run = p.blockLen;
  l.count = p.blockCount;
  l.from_step = static_cast<uint64_t>(p.blockLen) + p.srcStride;
  l.gap_blocks = p.dstStride;
  l.element = static_cast<uint32_t>(element);
  // without isPad the paddings take what SetPadValue left
  const attnemu::Registers& r = attnemu::core->reg;
  l.pad = pad.is_pad || r.pad_value_set;
  l.left = pad.left;
  l.right = pad.right;
  l.value = pad.is_pad ? pad.value : r.pad_value;
  attnemu::load_padded("DataCopyPad", at, to, from, l);
}
void store_unpadded(const void* at_global, attnemu::Place from, MemoryKind memory, size_t element, const DataCopyExtParams& p, const SourceLine& at) {
  formatted_require(memory == MemoryKind::UB, "wrong_position", at, "DataCopyPad: the source must be in UB");
  formatted_require(p.blockCount <= attnemu::kMaxCopyBlocks, "copy_range", at, "DataCopyPad: blockCount %u is at most %u", p.blockCount, attnemu::kMaxCopyBlocks);
  formatted_require(p.blockLen <= 2097151, "copy_range", at, "DataCopyPad: blockLen %u is at most 2097151", p.blockLen);
  formatted_require(p.blockLen % element == 0, "copy_range", at, "DataCopyPad: blockLen %u is no multiple of the element's %zu bytes", p.blockLen, element);
  attnemu::Place to = global_place(at_global, "DataCopyPad", at);
  if (!to.memory || !whole_elements(to, element, "DataCopyPad", at)) return;
  attnemu::Bursts b;
  b.run = p.blockLen;
  b.count = p.blockCount;
  b.from_step = attnemu::round_up(p.blockLen, 32) + static_cast<uint64_t>(p.srcStride) * 32;
  b.to_step = static_cast<uint64_t>(p.blockLen) + p.dstStride;
  b.atomic = true;
  attnemu::copy_bursts("DataCopyPad", at, Pipe::MTE3, to, from, b);
}
bool nd_to_nz_in_ub(attnemu::Place to, MemoryKind memory, const void* at_global, size_t element, const Nd2NzParams& p, const SourceLine& at) {
  formatted_require(memory == MemoryKind::L1 || memory == MemoryKind::UB, "wrong_position", at, "DataCopy Nd2Nz: the destination must be in L1 or UB");
  formatted_require(p.ndNum <= attnemu::kMaxNd2NzMatrices, "nd2nz_range", at, "DataCopy Nd2Nz: ndNum %u is at most %u", p.ndNum, attnemu::kMaxNd2NzMatrices);
  formatted_require(p.nValue <= attnemu::kMaxNd2NzRows, "nd2nz_range", at, "DataCopy Nd2Nz: nValue %u is at most %u", p.nValue, attnemu::kMaxNd2NzRows);
  // rows rounded up to whole fractals may overlap
  const uint32_t unit = element == 1 ? 32 : 16;
  formatted_require(attnemu::round_up(p.srcDValue, unit) >= p.dValue || p.nValue <= 1, "nd2nz_range", at, "DataCopy Nd2Nz: srcDValue %u is below dValue %u (is the pitch above %u?)", p.srcDValue, p.dValue, attnemu::kMaxNd2NzPitch);
  formatted_require(p.dstNzC0Stride >= 1 && p.dstNzC0Stride <= attnemu::kMaxNd2NzRows, "nd2nz_range", at, "DataCopy Nd2Nz: dstNzC0Stride %u is 1..%u", p.dstNzC0Stride, attnemu::kMaxNd2NzRows);
  formatted_require(p.dstNzNStride >= 1 && p.dstNzNStride <= attnemu::kMaxNd2NzRows, "nd2nz_range", at, "DataCopy Nd2Nz: dstNzNStride %u is 1..%u", p.dstNzNStride, attnemu::kMaxNd2NzRows);
  attnemu::Place from = global_place(at_global, "DataCopy Nd2Nz", at);
  if (!from.memory) return false;
  if (memory == MemoryKind::UB) return true;
  attnemu::RowsToFractals r;
  r.matrices = p.ndNum;
  r.rows = p.nValue;
  r.columns = p.dValue;
  r.element = static_cast<uint32_t>(element);
  r.from_matrix_step = static_cast<uint64_t>(p.srcNdMatrixStride) * element;
  r.from_row_step = static_cast<uint64_t>(p.srcDValue) * element;
  r.to_matrix_step = static_cast<uint64_t>(p.dstNzMatrixStride) * element;
  r.to_column_step = static_cast<uint64_t>(p.dstNzC0Stride) * 32;
  r.to_row_step = static_cast<uint64_t>(p.dstNzNStride) * 32;
  attnemu::rows_to_fractals("DataCopy Nd2Nz", at, to, from, r);
  return false;
}

std::vector<uint64_t> slice_runs(const SliceInfo* s, uint32_t dims, uint32_t run) {
  std::vector<uint64_t> offsets{0};
  uint64_t pitch = 1;
  for (uint32_t d = 0; d < dims; ++d) {
    uint64_t length = d == 0 ? run : 1;
    std::vector<uint64_t> of_dimension, all;
    for (uint64_t i = s[d].startIndex; length && i + length <= static_cast<uint64_t>(s[d].endIndex) + 1; i += length + s[d].stride) of_dimension.push_back(i * pitch);
    for (uint64_t outer : of_dimension)
      for (uint64_t inner : offsets) all.push_back(outer + inner);
    offsets = all;
    pitch *= s[d].shapeValue;
  }
  return offsets;
}
bool slice_fits(const SliceInfo* s, uint32_t dims, uint32_t run, const char* side, const SourceLine& at) {
  auto u = [](uint64_t v) { return static_cast<unsigned long long>(v); };
  for (uint32_t d = 0; d < dims; ++d) {
    uint64_t length = d == 0 ? run : 1, picked = static_cast<uint64_t>(s[d].endIndex) + 1 - s[d].startIndex;
    bool ordered = s[d].startIndex <= s[d].endIndex && s[d].endIndex < s[d].shapeValue;
    formatted_require(ordered, "slice_range", at, "DataCopy: %s dimension %u picks [%u, %u] of %u elements", side, d, s[d].startIndex, s[d].endIndex, s[d].shapeValue);
    formatted_require(d == 0 || s[d].burstLen == 1, "slice_range", at, "DataCopy: %s dimension %u has burstLen %u; beyond the first it is 1", side, d, s[d].burstLen);
    if (!ordered || (d && s[d].burstLen != 1)) return false;
    bool whole = length && (picked + s[d].stride) % (length + s[d].stride) == 0;
    formatted_require(whole, "slice_range", at, "DataCopy: %s dimension %u: %llu elements are no whole number of runs of %llu with gaps of %u", side, d, u(picked), u(length), s[d].stride);
    if (!whole) return false;
  }
  return true;
}

[[noreturn]] void assertion_failed(const char* expression, const SourceLine& at, const std::string& text) {
  std::string what = "Assertion `" + std::string(expression) + "' " + text;
  while (!what.empty() && (what.back() == '\n' || what.back() == ' ')) what.pop_back();
  std::string where = attnemu::machine ? attnemu::machine->text(at) : std::string(at.file) + ":" + std::to_string(at.line);
  attnemu::halt("[ASSERT] " + where + ": " + what, where + ": " + what + (attnemu::core ? " failed on " + attnemu::core->label() : " failed in the host program"));
}

LocalTensor<uint8_t> free_memory() {
  LocalTensor<uint8_t> t;
  PopStackBuffer<uint8_t, TPosition::LCM>(t);
  return t;
}

QueueBuffers new_buffers(uint32_t number) { return std::make_shared<std::vector<QueueBuffer>>(number); }
BufferOwner::BufferOwner() = default;
BufferOwner::BufferOwner(const BufferOwner&) = default;
BufferOwner& BufferOwner::operator=(const BufferOwner&) = default;
BufferOwner::~BufferOwner() = default;
void BufferOwner::settle(const SourceLine& at) {
  for (const QueueBuffers& queue : queues_)
    for (QueueBuffer& b : *queue) {
      if (b.free_id < 0) continue;
      PipePair p = pipes_of(b.free_event);
      attnemu::wait_flag(p.from, p.to, b.free_id, at, attnemu::FlagOwner::Queue);
      attnemu::release_event(p.from, p.to, b.free_id);
      b.free_id = -1;
    }
}
void BufferOwner::report_kept() const {
  for (const QueueBuffers& queue : queues_)
    for (const QueueBuffer& b : *queue)
      report_buffers(!b.taken || b.queued, "tensor_not_freed", b.taken_at, "AllocTensor: the tensor is still taken when the kernel ends: add FreeTensor", b.memory, b.at, b.bytes);
}
void BufferOwner::add(const QueueBuffers& queue) {
  if (queues_.empty() || queues_.back() != queue) queues_.push_back(queue);
}
void BufferOwner::clear() { queues_.clear(); }

void report_buffers(bool fits, const char* rule, const SourceLine& at, const std::string& message, MemoryKind kind, uint64_t from, uint64_t bytes) {
  if (!fits && attnemu::machine->knobs.memcheck) attnemu::machine->report("memcheck", rule, at, message, "", attnemu::name_of(kind), from, bytes);
}

}  // namespace detail

TPipe::~TPipe() {
  if (alive_) Destroy(at_);
  owner_.report_kept();
  if (attnemu::core->buffers == this) attnemu::core->buffers = nullptr;
}
TPipe::TPipe(const TPipe& other) : SpmBuffer(other), at_(other.at_), buffers_(other.buffers_) {
  for (int i = 0; i < attnemu::kMemories; ++i) used_[i] = other.used_[i];
}
void TPipe::Init() {
  attnemu::core->buffers = this;
  attnemu::core->reg.atomic = attnemu::AtomicOp::None;
  alive_ = true;
  if (attnemu::core->kind != attnemu::CoreKind::Cube) return;
  for (int i = 0; i < kHeldEvents; ++i) {
    int id = attnemu::allocate_event(detail::Pipe::M, detail::Pipe::MTE1, at_);
    attnemu::set_flag(detail::Pipe::M, detail::Pipe::MTE1, id, at_, attnemu::FlagOwner::Holder);
  }
}
void TPipe::Destroy(attnemu::SourceLine at) {
  DestroyWithoutPipeAll(at);
  attnemu::pipe_barrier_all(at);
}
void TPipe::DestroyWithoutPipeAll(attnemu::SourceLine at) {
  alive_ = false;
  owner_.settle(at);
  if (attnemu::core->kind == attnemu::CoreKind::Cube)
    for (int id = 0; id < kHeldEvents; ++id) {
      attnemu::wait_flag(detail::Pipe::M, detail::Pipe::MTE1, id, at, attnemu::FlagOwner::Holder);
      attnemu::release_event(detail::Pipe::M, detail::Pipe::MTE1, id);
    }
}
void TPipe::Reset(attnemu::SourceLine at) {
  owner_.settle(at);
  owner_.clear();
  for (uint32_t& n : used_) n = 0;
  buffers_ = 0;
}
uint32_t TPipe::allocate(TPosition position, uint32_t bytes, const attnemu::SourceLine& at) {
  attnemu::MemoryKind kind = detail::memory_of(position);
  uint32_t& used = used_[static_cast<int>(kind)];
  // the library hands out all four parts of the fixpipe buffer; what an access may touch is the first one
  uint32_t from = used, capacity = kind == attnemu::MemoryKind::FB ? kFixpipeBytes : attnemu::memory_bytes(kind);
  used = detail::grown(used, bytes);
  detail::report_buffers(used <= capacity, "buffer_capacity", at,
                         attnemu::format("InitBuffer: %u bytes more than %u make %u in %s, which has %u", bytes, from, used, attnemu::name_of(kind), capacity), kind, from, bytes);
  detail::report_buffers(++buffers_ != kMaxBuffers + 1, "buffer_count", at, attnemu::format("InitBuffer: more than %u buffers in one TPipe", kMaxBuffers), kind, from, bytes);
  return from;
}

}  // namespace AscendC
