#include "attnemu/lanes.h"

namespace attnemu {

const uint8_t* LaneOperand::lane(uint32_t repeat, uint32_t index) const {
  uint32_t size = dtype_size(type), per_block = kBlock / size;
  return memory->data + repeat_at(repeat) + static_cast<uint64_t>(index / per_block) * block_step * kBlock +
         static_cast<uint64_t>(index % per_block) * size;
}

LaneMask LaneMask::first(uint32_t n) {
  LaneMask m;
  m.bits[0] = n >= 64 ? ~0ull : (1ull << n) - 1;
  m.bits[1] = n >= 128 ? ~0ull : n > 64 ? (1ull << (n - 64)) - 1 : 0;
  return m;
}

LaneShape LaneShape::count(uint64_t n, uint32_t lanes) {
  LaneShape s;
  s.lanes = lanes;
  s.repeats = static_cast<uint32_t>(ceil_div(n, lanes));
  s.mask = LaneMask::first(lanes);
  s.last = n == 0 ? LaneMask{} : LaneMask::first(static_cast<uint32_t>(n - (s.repeats - 1ull) * lanes));
  return s;
}

LaneShape LaneShape::masked(const LaneMask& m, uint32_t repeats, uint32_t lanes) {
  LaneShape s;
  s.lanes = lanes;
  s.repeats = repeats;
  s.mask = s.last = m & LaneMask::first(lanes);
  return s;
}

LaneShape register_shape(uint32_t repeats, uint32_t lanes) {
  const Registers& r = core->reg;
  if (r.counter_mode) return LaneShape::count(r.mask[0], lanes);
  return LaneShape::masked(LaneMask{{r.mask[0], r.mask[1]}}, repeats, lanes);
}

namespace {

// The bytes of a block's lanes, a bit each: of each lane all `size`.
uint32_t bytes_of_lanes(uint32_t lanes, uint32_t size) {
  switch (size) {
    case 1: return lanes;
    case 2:
      lanes = (lanes | lanes << 8) & 0x00FF00FF;
      lanes = (lanes | lanes << 4) & 0x0F0F0F0F;
      lanes = (lanes | lanes << 2) & 0x33333333;
      return ((lanes | lanes << 1) & 0x55555555) * 3;
    case 4:
      lanes = (lanes | lanes << 12) & 0x000F000F;
      lanes = (lanes | lanes << 6) & 0x03030303;
      return ((lanes | lanes << 3) & 0x11111111) * 15;
    case 8:
      lanes = (lanes | lanes << 14) & 0x00030003;
      return ((lanes | lanes << 7) & 0x01010101) * 0xFF;
    default: return lanes ? kAllBytes : 0;
  }
}

// The lanes of a block of which all bytes are set.
uint32_t lanes_of_bytes(uint32_t bytes, uint32_t size) {
  switch (size) {
    case 1: return bytes;
    case 2:
      bytes &= bytes >> 1 & 0x55555555;
      bytes = (bytes | bytes >> 1) & 0x33333333;
      bytes = (bytes | bytes >> 2) & 0x0F0F0F0F;
      bytes = (bytes | bytes >> 4) & 0x00FF00FF;
      return (bytes | bytes >> 8) & 0xFFFF;
    case 4:
      bytes &= bytes >> 1;
      bytes &= bytes >> 2 & 0x11111111;
      bytes = (bytes | bytes >> 3) & 0x03030303;
      bytes = (bytes | bytes >> 6) & 0x000F000F;
      return (bytes | bytes >> 12) & 0xFF;
    case 8:
      bytes &= bytes >> 1;
      bytes &= bytes >> 2;
      bytes &= bytes >> 4 & 0x01010101;
      bytes = (bytes | bytes >> 7) & 0x00030003;
      return (bytes | bytes >> 14) & 0xF;
    default: return bytes == kAllBytes;
  }
}

}  // namespace

uint32_t block_bytes(const LaneMask& m, uint32_t block, uint32_t size) {
  uint32_t per_block = kBlock / size, first = block * per_block;
  uint64_t bits = first >= 128 ? 0 : m.bits[first >> 6] >> (first & 63);
  uint32_t all = per_block == 32 ? kAllBytes : (1u << per_block) - 1;
  return bytes_of_lanes(static_cast<uint32_t>(bits) & all, size);
}

void add_lanes(Instruction& op, const LaneOperand& o, const LaneShape& s, AccessKind kind) {
  if (s.repeats == 0) return;
  uint32_t size = dtype_size(o.type);
  LaneMask full = LaneMask::first(s.lanes);
  bool dense = o.block_step == 1 && !o.repeat_bytes && o.repeat_step * kBlock == s.lanes * size;
  if (dense && s.mask == full) {
    int active = __builtin_popcountll(s.last.bits[0]) + __builtin_popcountll(s.last.bits[1]);
    if (s.last == LaneMask::first(static_cast<uint32_t>(active))) {
      Extent e;
      e.at = o.at;
      e.run = ((s.repeats - 1ull) * s.lanes + static_cast<uint64_t>(active)) * size;
      kind == AccessKind::Read ? op.reads(o, e) : op.writes(o, e);
      return;
    }
  }
  LaneExtent e;
  e.at = o.at;
  e.repeats = s.repeats;
  e.blocks = static_cast<uint32_t>(ceil_div(s.lanes * size, kBlock));
  e.block_step = o.block_step * static_cast<uint64_t>(kBlock);
  e.repeat_step = o.repeat_bytes ? o.repeat_bytes : o.repeat_step * static_cast<uint64_t>(kBlock);
  for (uint32_t b = 0; b < e.blocks; ++b) {
    e.mask[b] = block_bytes(s.mask, b, size);
    e.last[b] = block_bytes(s.last, b, size);
  }
  kind == AccessKind::Read ? op.reads(o, e) : op.writes(o, e);
}

namespace {

constexpr uint32_t kGroups = 16;          // groups of UB banks; a row is a block
constexpr uint64_t kBankSpan = 64 * 1024; // bytes behind which the next bank of a group begins

// Rows of banks that one repeat of an operand touches: group and bank of each block.
struct Rows {
  uint32_t count = 0;
  uint8_t group[8], bank[8];
  Rows(const LaneOperand& o, uint32_t repeat, uint32_t lanes) {
    uint64_t row = o.repeat_at(repeat) / kBlock;
    count = o.block_step ? static_cast<uint32_t>(ceil_div(lanes * dtype_size(o.type), kBlock)) : 1;
    count = count > 8 ? 8 : count;
    for (uint32_t b = 0; b < count; ++b, row += o.block_step) {
      group[b] = static_cast<uint8_t>(row % kGroups);
      bank[b] = static_cast<uint8_t>(row * kBlock / kBankSpan);
    }
  }
};

// A block written to the bank of another block that is read; the same block of both is no conflict, nor is work in place.
bool writes_where_it_reads(const Rows& to, const Rows& from) {
  bool meets = false;
  for (uint32_t i = 0; i < to.count; ++i)
    for (uint32_t j = 0; j < from.count; ++j) {
      if (to.group[i] != from.group[j] || to.bank[i] != from.bank[j]) continue;
      if (i == j) return false;
      meets = true;
    }
  return meets;
}

double cycles_of_repeat(const LaneOperand* dst, const LaneOperand* sources, int n, uint32_t repeat, uint32_t lanes) {
  const Rates& rates = cost_table().rates;
  uint32_t reads[kGroups] = {}, writes[kGroups] = {}, most = 1;
  auto add = [&](uint32_t* taken, const Rows& rows) {
    for (uint32_t b = 0; b < rows.count; ++b) most = most > ++taken[rows.group[b]] ? most : taken[rows.group[b]];
  };
  double cycles = 0;
  for (int i = 0; i < n; ++i) {
    Rows from(sources[i], repeat, lanes);
    add(reads, from);
    if (dst && rates.read_write > cycles && writes_where_it_reads(Rows(*dst, repeat, lanes), from)) cycles = rates.read_write;
  }
  if (dst) add(writes, Rows(*dst, repeat, lanes));
  return most > 1 && most * rates.bank > cycles ? most * rates.bank : cycles;
}

}  // namespace

double bank_cycles(double least, const LaneOperand* dst, const LaneOperand* sources, int n, const LaneShape& s) {
  // operands that advance alike stay in the same relation to each other
  bool alike = true;
  const LaneOperand* first = dst ? dst : sources;
  for (int i = 0; i < n; ++i) alike = alike && (sources[i].repeat_step - first->repeat_step) % kGroups == 0 && !sources[i].repeat_bytes;
  uint32_t repeats = alike ? 1 : s.repeats < kGroups ? s.repeats : kGroups;
  double sum = 0;
  for (uint32_t r = 0; r < repeats; ++r) {
    double cycles = cycles_of_repeat(dst, sources, n, r, s.lanes);
    sum += cycles > least ? cycles : least;
  }
  return repeats ? sum / repeats : least;
}

Work repeat_work(Op op, const LaneShape& s, const LaneOperand& dst, const LaneOperand* sources, int n) {
  Work w{op, n > 0 ? sources[0].type : dst.type};
  w.units = s.repeats;
  w.at_least = bank_cycles(cost_table().of(op, w.type).per_unit, &dst, sources, n, s);
  return w;
}

namespace {

// The words of definedness of one repeat where its lanes fill whole blocks of the memory, else null; `blocks` of them.
const uint32_t* whole_blocks(const LaneOperand& o, uint32_t repeat, uint32_t lanes, uint32_t& blocks) {
  uint64_t at = o.repeat_at(repeat), bytes = static_cast<uint64_t>(lanes) * dtype_size(o.type);
  blocks = static_cast<uint32_t>(bytes / kBlock);
  if (at % kBlock || bytes % kBlock || at + ((blocks - 1ull) * o.block_step + 1) * kBlock > o.memory->bytes) return nullptr;
  return o.memory->defined.data() + at / kBlock;
}

bool all_defined(const LaneOperand& o, uint32_t repeat, uint32_t lanes) {
  uint32_t blocks = 0;
  const uint32_t* words = whole_blocks(o, repeat, lanes, blocks);
  for (uint32_t b = 0; words && b < blocks; ++b)
    if (words[static_cast<uint64_t>(b) * o.block_step] != kAllBytes) return false;
  return words != nullptr;
}

}  // namespace

LaneMask defined_lanes(const LaneOperand& o, uint32_t repeat, uint32_t lanes) {
  if (all_defined(o, repeat, lanes)) return LaneMask::first(lanes);
  uint32_t size = dtype_size(o.type), per_block = kBlock / size, blocks = static_cast<uint32_t>(ceil_div(lanes, per_block));
  LaneMask m;
  uint64_t at = o.repeat_at(repeat);
  for (uint32_t b = 0; b < blocks; ++b, at += o.block_step * static_cast<uint64_t>(kBlock)) {
    if (at >= o.memory->bytes) break;
    uint64_t bits = lanes_of_bytes(o.memory->defined_at(at), size);
    uint32_t first = b * per_block;
    m.bits[first >> 6] |= bits << (first & 63);
  }
  return m;
}

void define_lanes(const LaneOperand& o, uint32_t repeat, const LaneMask& written, const LaneMask& defined, uint32_t lanes) {
  uint32_t size = dtype_size(o.type), per_block = kBlock / size, blocks = static_cast<uint32_t>(ceil_div(lanes, per_block));
  uint64_t at = o.repeat_at(repeat);
  for (uint32_t b = 0; b < blocks; ++b, at += o.block_step * static_cast<uint64_t>(kBlock)) {
    uint32_t bytes = block_bytes(written, b, size);
    if (bytes) o.memory->define_at(at, bytes, block_bytes(defined, b, size));
  }
}

void propagate(const LaneOperand& dst, const LaneOperand* sources, int n, const LaneShape& s) {
  if (!machine->knobs.initcheck) return;
  LaneMask full = LaneMask::first(s.lanes);
  for (uint32_t r = 0; r < s.repeats; ++r) {
    bool simple = dst.memory->partly_defined.empty() && s.of(r) == full;
    for (int i = 0; simple && i < n; ++i) simple = all_defined(sources[i], r, s.lanes);
    uint32_t blocks = 0;
    uint32_t* words = simple ? const_cast<uint32_t*>(whole_blocks(dst, r, s.lanes, blocks)) : nullptr;
    if (words) {
      for (uint32_t b = 0; b < blocks; ++b) words[static_cast<uint64_t>(b) * dst.block_step] = kAllBytes;
      continue;
    }
    LaneMask d = full;
    for (int i = 0; i < n; ++i) d = d & defined_lanes(sources[i], r, s.lanes);
    define_lanes(dst, r, s.of(r), d, s.lanes);
  }
}

namespace {

void bits_of_repeat(const LaneOperand& dst, const LaneOperand* sources, int n, const LaneShape& s, uint32_t repeat) {
  auto at = [&](const LaneOperand& o, uint32_t lane) { return static_cast<uint64_t>(o.lane(repeat, lane) - o.memory->data); };
  uint32_t size = dtype_size(dst.type);
  for (uint32_t lane = 0; lane < s.lanes; ++lane)
    for (uint32_t byte = 0; s.of(repeat).test(lane) && byte < size; ++byte) {
      uint8_t known = 0xFF;
      for (int i = 0; i < n; ++i) known &= sources[i].memory->defined_bits(at(sources[i], lane) + byte);
      dst.memory->define_bits(at(dst, lane) + byte, known);
    }
}

}  // namespace

void propagate_bits(const LaneOperand& dst, const LaneOperand* sources, int n, const LaneShape& s) {
  if (!machine->knobs.initcheck) return;
  for (uint32_t r = 0; r < s.repeats; ++r) {
    LaneMask written = s.of(r), known = written;
    for (int i = 0; i < n; ++i) known = known & defined_lanes(sources[i], r, s.lanes);
    // a lane that is not known may have known bytes, and bits: whole lanes tell only where all are known
    if (known == written) define_lanes(dst, r, written, written, s.lanes);
    else bits_of_repeat(dst, sources, n, s, r);
  }
}

}  // namespace attnemu
