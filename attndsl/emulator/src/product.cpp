#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "attnemu/cube.h"
#include "lane_values.h"

namespace attnemu {
namespace {

uint32_t per_block(DType t) { return t == DType::I4 ? 64 : kBlock / dtype_size(t); }

float element_value(DType t, const uint8_t* block, uint32_t i) {
  if (t != DType::I4) return static_cast<float>(decode(t, block + static_cast<uint64_t>(i) * dtype_size(t)));
  int v = block[i / 2] >> (i % 2 * 4) & 15;
  return static_cast<float>(v > 7 ? v - 16 : v);
}

// Rows of an operand in fractals as a dense fp32 matrix [rows, k]; `band_step`, `group_step`: fractals between bands of
// sixteen rows and between groups of C0 columns.
void unpack(const Memory& m, uint64_t at, DType type, uint32_t rows, uint32_t k, uint32_t band_step, uint32_t group_step, float* out) {
  uint32_t c0 = per_block(type);
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t g = 0; g * c0 < k; ++g) {
      const uint8_t* p = m.data + at + (static_cast<uint64_t>(r / 16) * band_step + static_cast<uint64_t>(g) * group_step) * kFractal + (r % 16) * kBlock;
      float* to = out + static_cast<uint64_t>(r) * k + g * c0;
      uint32_t n = k - g * c0 < c0 ? k - g * c0 : c0;
      float values[64];
      if (type == DType::F16) halves_to_floats(reinterpret_cast<const uint16_t*>(p), values, 16);
      else for (uint32_t i = 0; i < c0; ++i) values[i] = element_value(type, p, i);
      std::memcpy(to, values, n * sizeof(float));
    }
}

// Are the first k elements of each row defined?
void defined_rows(const Memory& m, uint64_t at, DType type, uint32_t rows, uint32_t k, uint32_t band_step, uint32_t group_step, std::vector<uint8_t>& out) {
  out.assign(rows, 1);
  uint32_t c0 = per_block(type);
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t g = 0; g * c0 < k; ++g) {
      uint32_t n = k - g * c0 < c0 ? k - g * c0 : c0, want = byte_mask(0, static_cast<uint32_t>(ceil_div(n * kBlock, c0)));
      uint64_t p = at + (static_cast<uint64_t>(r / 16) * band_step + static_cast<uint64_t>(g) * group_step) * kFractal + (r % 16) * kBlock;
      if ((m.defined_at(p) & want) != want) { out[r] = 0; break; }
    }
}

// Sums of a tile stay in registers: as many as the processor has, of its width.
#ifdef __AVX512F__
constexpr uint32_t kWide = 16;
constexpr int kRows = 8;
#else
constexpr uint32_t kWide = 8;
constexpr int kRows = 4;
#endif
constexpr uint32_t kVectors = 2, kTile = kVectors * kWide;

// c[Rows][width] += a[Rows, k] * panel[k, kTile], k in order, one rounding a product and one a sum. Vectors of the compiler
// change no result.
template <int Rows, class T>
void tile(const T* a, uint32_t k, const T* panel, uint32_t n, T* c, uint32_t width) {
  typedef T Vector __attribute__((vector_size(kWide * sizeof(T))));
  T edge[Rows][kTile] = {};
  for (int r = 0; r < Rows; ++r) std::memcpy(edge[r], c + static_cast<uint64_t>(r) * n, width * sizeof(T));
  Vector sum[Rows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (uint32_t j = 0; j < kVectors; ++j) std::memcpy(&sum[r][j], edge[r] + j * kWide, sizeof(Vector));
  for (uint32_t i = 0; i < k; ++i) {
    Vector row[kVectors];
#pragma GCC unroll 16
    for (uint32_t j = 0; j < kVectors; ++j) std::memcpy(&row[j], panel + i * kTile + j * kWide, sizeof(Vector));
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      T f = a[static_cast<uint64_t>(r) * k + i];
#pragma GCC unroll 16
      for (uint32_t j = 0; j < kVectors; ++j) sum[r][j] += f * row[j];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (uint32_t j = 0; j < kVectors; ++j) std::memcpy(edge[r] + j * kWide, &sum[r][j], sizeof(Vector));
  for (int r = 0; r < Rows; ++r) std::memcpy(c + static_cast<uint64_t>(r) * n, edge[r], width * sizeof(T));
}

// c[m, n] += a[m, k] * b, which is in panels.
template <class T>
void product(const T* a, const T* panels, T* c, uint32_t m, uint32_t n, uint32_t k) {
  for (uint32_t j = 0; j < n; j += kTile) {
    const T* panel = panels + static_cast<uint64_t>(j) * k;
    uint32_t width = n - j < kTile ? n - j : kTile, i = 0;
    for (; i + kRows <= m; i += kRows) tile<kRows>(a + static_cast<uint64_t>(i) * k, k, panel, n, c + static_cast<uint64_t>(i) * n + j, width);
    for (; i < m; ++i) tile<1>(a + static_cast<uint64_t>(i) * k, k, panel, n, c + static_cast<uint64_t>(i) * n + j, width);
  }
}

template <class T>
void store_result(Memory& m, uint64_t at, const T* c, uint32_t rows, uint32_t columns, const std::vector<uint8_t>& row_ok, const std::vector<uint8_t>& column_ok, bool keeps) {
  uint64_t m16 = round_up(rows, 16);
  auto all = [](const std::vector<uint8_t>& ok) { return std::find(ok.begin(), ok.end(), 0) == ok.end(); };
  bool simple = machine->knobs.initcheck && m.partly_defined.empty() && columns % 16 == 0 && all(row_ok) && all(column_ok) &&
                (!keeps || m.is_defined(at, m16 * columns * 4));
  for (uint32_t g = 0; g * 16 < columns; ++g)
    for (uint32_t i = 0; i < m16; ++i) {
      uint64_t p = at + (g * m16 + i) * 64;
      uint32_t n = columns - g * 16 < 16 ? columns - g * 16 : 16;
      if (i < rows) std::memcpy(m.data + p, c + static_cast<uint64_t>(i) * columns + g * 16, n * 4);
      if (!machine->knobs.initcheck) continue;
      if (simple && i < rows) {
        m.defined[p / kBlock] = m.defined[p / kBlock + 1] = kAllBytes;
        continue;
      }
      for (uint32_t half = 0; half < 2; ++half) {
        uint32_t ok = 0;
        if (i < rows && row_ok[i])
          for (uint32_t j = half * 8; j < half * 8 + 8 && j < n; ++j) ok |= column_ok[g * 16 + j] ? 0xFu << ((j - half * 8) * 4) : 0;
        if (keeps) ok &= m.defined_at(p + half * 32);
        m.define_at(p + half * 32, kAllBytes, ok);
      }
    }
}

template <class T>
void load_result(const Memory& m, uint64_t at, T* c, uint32_t rows, uint32_t columns) {
  uint64_t m16 = round_up(rows, 16);
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t g = 0; g * 16 < columns; ++g)
      std::memcpy(c + static_cast<uint64_t>(i) * columns + g * 16, m.data + at + (g * m16 + i) * 64, (columns - g * 16 < 16 ? columns - g * 16 : 16) * 4);
}

std::vector<float> float_a, float_b, float_c, float_panels;
std::vector<int32_t> int_a, int_c, int_panels;
std::vector<uint8_t> row_ok, column_ok;

// Rows [n, k] as columns of panels: kTile of them side by side, k by k, those behind the last one zero.
template <class T>
void to_panels(const std::vector<float>& from, std::vector<T>& to, uint32_t n, uint32_t k) {
  to.assign(round_up(n, kTile) * k, T(0));
  for (uint32_t j = 0; j < n; j += kTile) {
    T* panel = to.data() + static_cast<size_t>(j) * k;
    uint32_t width = n - j < kTile ? n - j : kTile;
    for (uint32_t i = 0; i < k; ++i)
      for (uint32_t r = 0; r < width; ++r) panel[i * kTile + r] = static_cast<T>(from[static_cast<size_t>(j + r) * k + i]);
  }
}

// To 11 bits behind the leading one, nearest; ties to even or to zero.
void round_to_hf32(std::vector<float>& values) {
  constexpr uint32_t kDropped = 12, kTie = 1u << (kDropped - 1);
  for (float& v : values) {
    if (!std::isfinite(v)) continue;
    uint32_t bits;
    std::memcpy(&bits, &v, 4);
    bool up = !core->reg.hf32_to_zero && (bits >> kDropped & 1);
    bits = (bits + kTie - (up ? 0 : 1)) & ~0u << kDropped;
    std::memcpy(&v, &bits, 4);
  }
}

bool check_product(Instruction& ins, Place c, DType ct, Place a, DType at, Place b, DType bt, const Place* bias, const Product& p) {
  auto in = [&](const Place& x, MemoryKind want, const char* name) {
    return ins.require(x.memory && x.memory->kind == want, "wrong_position", "%s is in %s; %s is wanted", name,
                       x.memory ? x.memory->name.c_str() : "no memory of this core", name_of(want));
  };
  bool ok = in(c, MemoryKind::L0C, "the result") & in(a, MemoryKind::L0A, "the left operand") & in(b, MemoryKind::L0B, "the right operand");
  if (bias) ok = ok & in(*bias, MemoryKind::BT, "the bias");
  ok = ok & ins.require(p.m <= kMaxMmadSize && p.n <= kMaxMmadSize && p.k <= kMaxMmadSize, "product_range", "m %u, n %u, k %u: each is at most %u", p.m, p.n, p.k, kMaxMmadSize);
  ok = ok & ins.aligned(c, kResultFractal, "the result") & ins.aligned(a, kFractal, "the left operand") & ins.aligned(b, kFractal, "the right operand");
  (void)ct; (void)at; (void)bt;
  return ok;
}

}  // namespace

void multiply(const char* what, const SourceLine& at, Place c, DType c_type, Place a, DType a_type, Place b, DType b_type,
              const Place* bias, const Product& p) {
  if (p.m == 0 || p.n == 0 || p.k == 0) return;
  uint32_t bands = static_cast<uint32_t>(ceil_div(p.m, 16)), columns = static_cast<uint32_t>(ceil_div(p.n, 16));
  uint8_t traits = bands * columns >= kMmadOverlapFractals ? kTraitLargeMmad : 0;
  Instruction ins(Pipe::M, what, at, traits);
  if (!ins) return;
  uint32_t element = dtype_size(a_type), c0 = per_block(a_type);
  uint32_t groups = static_cast<uint32_t>(p.align_k && element == 4 ? ceil_div(p.k, 16) * 2 : ceil_div(p.k, c0));
  if (!check_product(ins, c, c_type, a, a_type, b, b_type, bias, p)) { ins.refuse(); return; }
  Extent ea, eb, ec;
  bool vector = p.m == 1;  // the left operand is k elements in a row, without fractals
  ea.at = a.at; ea.run = vector ? ceil_div(static_cast<uint64_t>(p.k) * kBlock, c0) : static_cast<uint64_t>(bands) * groups * kFractal;
  eb.at = b.at; eb.run = static_cast<uint64_t>(columns) * groups * kFractal;
  ec.at = c.at; ec.run = static_cast<uint64_t>(bands) * columns * kResultFractal;
  ins.reads(a, ea);
  ins.reads(b, eb);
  if (p.accumulate) ins.reads(c, ec);
  if (bias) { Extent e; e.at = bias->at; e.run = p.n * 4ull; ins.reads(*bias, e); }
  ins.writes(c, ec);
  // steps of 16x16 results by the depth the cube takes of this type in a cycle
  uint32_t depth = element != 4 ? c0 : core->reg.hf32 ? 8 : 4;
  Work work{Op::Product, a_type, static_cast<double>(bands) * columns * static_cast<double>(ceil_div(p.k, depth))};
  if (p.accumulate) work.more = cost_table().rates.accumulate;
  core->product_steps += static_cast<double>(p.m) * p.n * p.k / (256.0 * depth);
  Extent column;  // of fractals of the result
  column.at = c.at; column.run = static_cast<uint64_t>(bands) * kResultFractal; column.inner = columns; column.step = column.run;
  ins.by_unit_flags(p.unit_flag, {column}, core->reg.product_rows_first);
  if (!ins.admit(work)) return;

  float_a.resize(static_cast<size_t>(p.m) * p.k);
  float_b.resize(static_cast<size_t>(p.n) * p.k);
  if (vector) for (uint32_t i = 0; i < p.k; ++i) float_a[i] = element_value(a_type, a.memory->data + a.at, i);
  else unpack(*a.memory, a.at, a_type, p.m, p.k, groups, 1, float_a.data());
  unpack(*b.memory, b.at, b_type, p.n, p.k, 1, columns, float_b.data());
  if (element == 4 && core->reg.hf32) {
    round_to_hf32(float_a);
    round_to_hf32(float_b);
  }
  if (machine->knobs.initcheck) {
    if (vector) row_ok.assign(1, a.memory->is_defined(a.at, ea.run));
    else defined_rows(*a.memory, a.at, a_type, p.m, p.k, groups, 1, row_ok);
    defined_rows(*b.memory, b.at, b_type, p.n, p.k, 1, columns, column_ok);
    if (bias) for (uint32_t j = 0; j < p.n; ++j) if (!bias->memory->is_defined(bias->at + j * 4ull, 4)) column_ok[j] = 0;
  }
  auto finish = [&](auto& left, auto& right, auto& result) {
    using T = typename std::decay_t<decltype(result)>::value_type;
    result.assign(static_cast<size_t>(p.m) * p.n, T(0));
    if (p.accumulate) load_result(*c.memory, c.at, result.data(), p.m, p.n);
    if (bias)
      for (uint32_t i = 0; i < p.m; ++i) std::memcpy(result.data() + static_cast<size_t>(i) * p.n, bias->memory->data + bias->at, p.n * 4ull);
    product(left.data(), right.data(), result.data(), p.m, p.n, p.k);
    store_result(*c.memory, c.at, result.data(), p.m, p.n, row_ok, column_ok, p.accumulate);
  };
  if (c_type == DType::I32) {
    int_a.assign(float_a.begin(), float_a.end());
    to_panels(float_b, int_panels, p.n, p.k);
    finish(int_a, int_panels, int_c);
  } else {
    to_panels(float_b, float_panels, p.n, p.k);
    finish(float_a, float_panels, float_c);
  }
}

}  // namespace attnemu
