#include <cmath>
#include <cstring>
#include <vector>

#include "attnemu/cube.h"
#include "lane_values.h"
#include "quant_word.h"

namespace attnemu {
namespace {

void store_value(uint8_t* out, DType to, Quantise q, const uint8_t* in, DType from, uint64_t word, bool relu) {
  double v = from == DType::I32 ? static_cast<double>(decode_integer(from, in)) : decode(from, in);
  if (relu && v < 0) v = 0;
  uint64_t bits = 0;
  switch (q) {
    case Quantise::None: bits = encode(to, v); break;
    case Quantise::ToHalf: bits = float_to_half(static_cast<float>(v)); break;
    case Quantise::ToBfloat: bits = float_to_bfloat(static_cast<float>(v)); break;
    case Quantise::IntToHalf: bits = float_to_half(static_cast<float>(v) * QuantWord(word).scale); break;
    default: {
      QuantWord w(word);
      double scaled = static_cast<double>(static_cast<float>(v) * w.scale);
      bits = static_cast<uint8_t>(to_integer<int8_t>(round_integral(scaled, Rounding::Rint) + w.offset, Rounding::Rint));
    }
  }
  if (core->reg.saturate && to == DType::F16) bits = saturate_half(static_cast<uint16_t>(bits));
  if (core->reg.saturate && to == DType::BF16) bits = saturate_bfloat(static_cast<uint16_t>(bits));
  std::memcpy(out, &bits, dtype_size(to));
}

struct Layout {
  uint32_t group;      // columns stored side by side
  uint64_t group_step, row_step;
};

// Where column j of row i goes, in bytes from the matrix' start.
Layout layout_of(const WriteBack& p, DType to) {
  uint32_t size = dtype_size(to);
  if (p.row_major) return {p.n, 0, p.to_step * size};
  uint32_t group = size == 1 ? 32 : p.channel_split ? 8 : 16;
  return {group, p.to_step * kBlock, static_cast<uint64_t>(group) * size};
}

bool check(Instruction& ins, const Place& to, const Place& from, DType to_type, const WriteBack& p) {
  bool ok = ins.require(from.memory && from.memory->kind == MemoryKind::L0C, "wrong_position", "the source is in %s; L0C is wanted",
                        from.memory ? from.memory->name.c_str() : "no memory of this core");
  ok = ok & ins.require(to.memory && (to.memory->kind == MemoryKind::GM || to.memory->kind == MemoryKind::L1), "wrong_position",
                        "the destination is neither in global memory nor in L1");
  if (!ok) return false;
  bool to_l1 = to.memory->kind == MemoryKind::L1;
  ok = ok & ins.require(!(to_l1 && p.row_major), "fixpipe_layout", "L1 takes fractals only: use CFG_NZ");
  ok = ok & ins.require(!(to_l1 && p.quantise == Quantise::None), "fixpipe_quant", "to L1 the result must be narrowed: set quantPre");
  ok = ok & ins.require(p.n <= kMaxFixpipeColumns, "fixpipe_range", "nSize %u is at most %u", p.n, kMaxFixpipeColumns);
  const uint32_t most_rows = p.row_major ? kMaxFixpipeRows : kMaxHalfWord;
  ok = ok & ins.require(p.m <= most_rows, "fixpipe_range", "mSize %u is at most %u", p.m, most_rows);
  ok = ok & ins.require(p.from_step >= round_up(p.m, 16) || p.n <= 16, "fixpipe_stride", "srcStride %u is below mSize rounded to 16, %llu", p.from_step,
                        static_cast<unsigned long long>(round_up(p.m, 16)));
  ok = ok & ins.require(!p.row_major || p.m <= 1 || p.to_step >= p.n, "fixpipe_stride", "dstStride %llu is below nSize %u: rows overlap",
                        static_cast<unsigned long long>(p.to_step), p.n);
  ok = ok & ins.require(p.row_major || p.n % (p.channel_split ? 8 : 16) == 0, "fixpipe_range", "nSize %u must be a multiple of 16 for fractals", p.n);
  ok = ok & ins.aligned(from, 64, "the source");
  if (!p.row_major) ok = ok & ins.aligned(to, kBlock, "the destination");
  else ok = ok & ins.aligned(to, dtype_size(to_type), "the destination");
  return ok;
}

// To cores that are behind the product whose unit flags a write-back waits for: it moves global memory no earlier.
void give_way(const Place& from, uint32_t unit_flag) {
  if (!from.memory || from.memory->kind != MemoryKind::L0C || from.at >= from.memory->bytes || !UnitFlags::used_by(unit_flag)) return;
  machine->pace(core->unit_flags.changed(UnitFlags::fractal_at(from.at)).at);
}

}  // namespace

void write_back(const char* what, const SourceLine& at, Place to, DType to_type, Place from, DType from_type, const WriteBack& p) {
  if (p.n == 0 || p.m == 0 || p.matrices == 0) return;
  give_way(from, p.unit_flag);
  Instruction ins(Pipe::FIX, what, at);
  if (!ins) return;
  if (!check(ins, to, from, to_type, p)) { ins.refuse(); return; }
  uint32_t size = dtype_size(to_type);
  Layout l = layout_of(p, to_type);
  uint32_t matrices = p.row_major ? p.matrices : 1;
  uint64_t column = static_cast<uint64_t>(p.from_step) * 64;
  bool atomic = core->reg.atomic != AtomicOp::None && to.memory->kind == MemoryKind::GM;
  std::vector<Extent> sources;
  for (uint32_t d = 0; d < matrices; ++d) {
    Extent e;
    e.at = from.at + static_cast<uint64_t>(d) * p.from_matrix_step * kResultFractal;
    e.run = p.m * 64ull;
    e.inner = ceil_div(p.n, 16);
    e.step = column;
    ins.reads(from, e);
    sources.push_back(e);
    Extent t;
    t.at = to.at + static_cast<uint64_t>(d) * p.to_matrix_step * size;
    t.run = static_cast<uint64_t>(l.group < p.n ? l.group : p.n) * size;
    t.inner = p.m;
    t.step = l.row_step;
    t.outer = ceil_div(p.n, l.group);
    t.jump = l.group_step;
    if (t.step == t.run) { t.run *= t.inner; t.inner = 1; }
    atomic ? ins.accumulates(to, t) : ins.writes(to, t);
  }
  if (p.channel_words) { Extent e; e.at = p.channel_words->at; e.run = p.n * 8ull; ins.reads(*p.channel_words, e); }
  ins.by_unit_flags(p.unit_flag, sources, p.row_major);
  double result_bytes = static_cast<double>(p.m) * static_cast<double>(round_up(p.n, 16)) * 4 * matrices;
  if (!ins.admit({to.memory->kind == MemoryKind::GM ? Op::WriteBack : Op::WriteBackL1, from_type, result_bytes})) return;

  bool undefined = false;
  uint64_t undefined_at = 0;
  const Memory* undefined_in = from.memory;
  bool words_known = !p.channel_words || p.channel_words->memory->is_defined(p.channel_words->at, p.n * 8ull);
  std::vector<uint8_t> line(static_cast<size_t>(p.n) * size);
  std::vector<uint64_t> words(p.n, p.quant_word);  // all are fetched before the first result leaves
  if (p.channel_words) std::memcpy(words.data(), p.channel_words->memory->data + p.channel_words->at, p.n * 8ull);
  for (uint32_t d = 0; d < matrices; ++d)
    for (uint32_t i = 0; i < p.m; ++i) {
      uint64_t source = from.at + static_cast<uint64_t>(d) * p.from_matrix_step * kResultFractal + i * 64ull;
      uint64_t target = to.at + static_cast<uint64_t>(d) * p.to_matrix_step * size + i * l.row_step;
      for (uint32_t g = 0; g * 16 < p.n; ++g) {
        const uint8_t* in = from.memory->data + source + g * column;
        uint32_t n = p.n - g * 16 < 16 ? p.n - g * 16 : 16;
        uint8_t* out = line.data() + static_cast<size_t>(g) * 16 * size;
        bool plain = p.quantise == Quantise::None && !p.relu && size == 4;
        if (plain) std::memcpy(out, in, n * 4);
        else if (p.quantise == Quantise::ToHalf && !p.relu && !core->reg.saturate) {
          uint16_t halves[16];
          floats_to_halves(reinterpret_cast<const float*>(in), halves, 16);
          std::memcpy(out, halves, n * 2);
        } else
          for (uint32_t j = 0; j < n; ++j) {
            store_value(out + j * size, to_type, p.quantise, in + j * 4, from_type, words[g * 16 + j], p.relu);
          }
      }
      for (uint32_t j = 0; j < p.n; j += l.group) {
        uint64_t n = (p.n - j < l.group ? p.n - j : l.group) * static_cast<uint64_t>(size), place = target + j / l.group * l.group_step;
        if (atomic) accumulate(to.memory->data + place, line.data() + static_cast<size_t>(j) * size, n, core->reg.atomic_type, core->reg.atomic);
        else std::memcpy(to.memory->data + place, line.data() + static_cast<size_t>(j) * size, n);
      }
      if (!machine->knobs.initcheck) continue;
      for (uint32_t j = 0; j < p.n; ++j) {
        uint64_t p0 = source + j / 16 * column + j % 16 * 4, place = target + (p.row_major ? j : j / l.group * l.group_step / size + j % l.group) * static_cast<uint64_t>(size);
        if (size == 4 && words_known && p.row_major && j % 8 == 0 && j + 8 <= p.n && p0 % 32 == 0) {
          uint32_t ok = from.memory->defined_at(p0) & (atomic ? to.memory->defined_at(place) : kAllBytes);
          to.memory->define_at(place, kAllBytes, ok);
          if (ok != kAllBytes && !undefined) { undefined = true; undefined_at = p0; }
          j += 7;
          continue;
        }
        bool word = words_known || p.channel_words->memory->is_defined(p.channel_words->at + j * 8ull, 8);
        bool ok = word && (from.memory->defined_at(p0) & 0xF) == 0xF && (!atomic || to.memory->is_defined(place, size));
        to.memory->define_at(place, byte_mask(0, size), ok ? kAllBytes : 0);
        if (ok || undefined) continue;
        undefined = true;
        undefined_at = word ? p0 : p.channel_words->at + j * 8ull;
        undefined_in = word ? from.memory : p.channel_words->memory;
      }
    }
  if (undefined && to.memory->output) ins.undefined_reaches(("GM output " + to.memory->name).c_str(), undefined_in, undefined_at, 4);
}

}  // namespace attnemu
