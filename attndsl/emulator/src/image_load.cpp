#include <algorithm>
#include <cstring>
#include <vector>

#include "attnemu/cube.h"

namespace attnemu {
namespace {

// Output positions along one axis.
uint32_t positions(uint32_t size, uint32_t before, uint32_t after, uint32_t filter, uint32_t dilation, uint32_t stride) {
  uint32_t reach = dilation * (filter - 1) + 1, padded = size + before + after;
  return padded < reach ? 0 : (padded - reach) / stride + 1;
}

// Where element (m, k) of the window matrix comes from; false: padding or past the last position.
struct Source {
  const ImageLoad& p;
  uint32_t out_w, out_h;
  explicit Source(const ImageLoad& load)
      : p(load), out_w(positions(load.width, load.left, load.right, load.filter_w, load.dilation_w, load.stride_w)),
        out_h(positions(load.height, load.top, load.bottom, load.filter_h, load.dilation_h, load.stride_h)) {}
  // Byte offset of the C0 channels of position `m` and column group `g`.
  bool block(uint32_t m, uint32_t g, uint64_t& offset) const {
    if (!out_w || m >= out_w * out_h) return false;
    uint32_t taps = p.filter_h * p.filter_w, c1 = g / taps, tap = g % taps;
    int64_t h = static_cast<int64_t>(m / out_w) * p.stride_h - p.top + static_cast<int64_t>(tap / p.filter_w) * p.dilation_h;
    int64_t w = static_cast<int64_t>(m % out_w) * p.stride_w - p.left + static_cast<int64_t>(tap % p.filter_w) * p.dilation_w;
    if (h < 0 || w < 0 || h >= p.height || w >= p.width) return false;
    offset = ((static_cast<uint64_t>(c1) * p.height + static_cast<uint64_t>(h)) * p.width + static_cast<uint64_t>(w)) * kBlock;
    return true;
  }
};

// The matrix that all repetitions make, in L0.
struct Target {
  uint32_t c0, band_rows, band_groups;        // of one repetition: rows in whole fractals, groups of C0 columns
  uint32_t rows, groups, columns;             // of all; columns in whole fractals where the matrix is turned
  bool turned, to_b;
  Target(const ImageLoad& p, uint32_t group, bool is_b)
      : c0(group), band_rows(static_cast<uint32_t>(round_up(p.row_count, 16))), band_groups(static_cast<uint32_t>(ceil_div(p.column_count, group))),
        rows(band_rows * (p.repeat_columns ? 1 : p.repeats)), groups(band_groups * (p.repeat_columns ? p.repeats : 1)), columns(groups * group),
        turned(p.transpose || is_b), to_b(is_b) {
    if (turned) columns = static_cast<uint32_t>(round_up(columns, 16));
  }
  // Offset of (r, c): Zz in columns of C0; turned, fractals of 16 columns by C0 rows.
  uint64_t offset(uint32_t r, uint32_t c, uint32_t element) const {
    uint64_t fractal = !turned ? static_cast<uint64_t>(r / 16) * groups + c / c0
                       : to_b  ? static_cast<uint64_t>(r / c0) * (columns / 16) + c / 16
                               : static_cast<uint64_t>(c / 16) * (rows / c0) + r / c0;
    uint32_t inside = turned ? c % 16 * c0 + r % c0 : r % 16 * c0 + c % c0;
    return fractal * kFractal + static_cast<uint64_t>(inside) * element;
  }
};

bool in_order(Instruction& ins, const ImageLoad& p, uint32_t c0, uint32_t element) {
  bool ok = ins.require(p.filter_h && p.filter_w && p.stride_h && p.stride_w && p.dilation_h && p.dilation_w, "load3d_range",
                        "filter, stride and dilation are at least 1");
  ok = ok & ins.require(p.stride_h <= 63 && p.stride_w <= 63, "load3d_range", "strides %u and %u are at most 63", p.stride_h, p.stride_w);
  ok = ok & ins.require(p.column_start % c0 == 0, "misaligned", "kStartPt %u must be a multiple of %u", p.column_start, c0);
  ok = ok & ins.require(p.row_start % 16 == 0 || p.row_count % 16 == 0 || element == 4, "load3d_range", "mStartPt %u or mExtension %u must be a multiple of 16", p.row_start,
                        p.row_count);
  ok = ok & ins.require(p.channels % c0 == 0 || p.filter_h * p.filter_w == 1, "unsupported", "filters over %u channels, which do not fill groups of %u", p.channels, c0);
  if (!ok) return false;
  uint64_t columns = round_up(p.channels, c0) * p.filter_h * p.filter_w;
  uint64_t last = p.column_start + (p.repeat_columns ? (p.repeats - 1ull) * p.repeat_step * c0 : 0);
  ok = ok & ins.require(last + p.column_count <= columns, "window_range", "kStartPt %llu + kExtension %u exceed the %llu columns of the image's matrix",
                        static_cast<unsigned long long>(last), p.column_count, static_cast<unsigned long long>(columns));
  return ok & ins.require(p.column_count % c0 == 0 || last + p.column_count + c0 > columns, "load3d_range",
                          "kExtension %u must be a multiple of %u unless it reaches the last columns", p.column_count, c0);
}

bool check(Instruction& ins, Place to, Place from, uint32_t element, const ImageLoad& p, uint32_t c0) {
  bool ok = ins.require(to.memory && (to.memory->kind == MemoryKind::L0A || to.memory->kind == MemoryKind::L0B), "wrong_position",
                        "the destination is in %s; L0A or L0B is wanted", to.memory ? to.memory->name.c_str() : "no memory of this core");
  ok = ok & ins.require(from.memory && from.memory->kind == MemoryKind::L1, "wrong_position", "the source is in %s; L1 is wanted",
                        from.memory ? from.memory->name.c_str() : "no memory of this core");
  ok = ok & in_order(ins, p, c0, element);
  if (!ok) return false;
  bool turned = p.transpose || to.memory->kind == MemoryKind::L0B;
  ok = ok & ins.require(!turned || element >= 2, "transpose_width", "transposing takes 16- and 32-bit elements, these have 8 bits");
  ok = ok & ins.require(p.boundary % kBlock == 0, "unsupported", "a boundary of %u bytes, which splits a block", p.boundary);
  ok = ok & ins.require(!p.boundary || from.at < p.boundary, "load3d_range", "the source starts at byte %llu of L1, past the boundary %u",
                        static_cast<unsigned long long>(from.at), p.boundary);
  ok = ok & ins.aligned(to, kFractal, "the destination");
  return ok & ins.aligned(from, kBlock, "the source");
}

// Addresses in L1 of the blocks of every row and column group of the target; kNowhere: padding.
constexpr uint64_t kNowhere = ~0ull;
std::vector<uint64_t> block_addresses(const ImageLoad& p, const Target& t, uint64_t base) {
  Source source(p);
  std::vector<uint64_t> blocks(static_cast<size_t>(t.rows) * t.groups, kNowhere);
  for (uint32_t r = 0; r < t.rows; ++r)
    for (uint32_t g = 0; g < t.groups; ++g) {
      uint32_t row = r % t.band_rows, group = g % t.band_groups, offset_rows = r / t.band_rows * p.repeat_step * 16, offset_groups = g / t.band_groups * p.repeat_step;
      uint64_t offset = 0;
      if (row >= p.row_count || !source.block(p.row_start + offset_rows + row, p.column_start / t.c0 + offset_groups + group, offset)) continue;
      uint64_t at = base + offset;
      blocks[static_cast<size_t>(r) * t.groups + g] = p.boundary ? at % p.boundary : at;
    }
  return blocks;
}

void read_blocks(Instruction& ins, const Place& from, std::vector<uint64_t> blocks) {
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  if (!blocks.empty() && blocks.back() == kNowhere) blocks.pop_back();
  for (size_t i = 0, j; i < blocks.size(); i = j) {
    for (j = i + 1; j < blocks.size() && blocks[j] == blocks[j - 1] + kBlock;) ++j;
    ins.reads(from, Extent{blocks[i], (j - i) * kBlock});
  }
}

// What the matrix fills: turned, a last half fractal of columns stays as it was.
void write_matrix(Instruction& ins, Place to, const Target& t, uint32_t element) {
  uint64_t whole = static_cast<uint64_t>(t.rows) * t.columns * element;
  uint32_t columns = t.groups * t.c0;
  if (columns == t.columns) return ins.writes(to, Extent{to.at, whole});
  uint64_t depth = t.rows / t.c0;
  Extent e{to.at, static_cast<uint64_t>(columns) * kBlock, depth, static_cast<uint64_t>(t.columns) * kBlock};
  if (t.to_b) return ins.writes(to, e);
  uint64_t full = columns / 16 * depth * kFractal;
  if (full) ins.writes(to, Extent{to.at, full});
  ins.writes(to, Extent{to.at + full, static_cast<uint64_t>(columns % 16) * kBlock, depth, kFractal});
}

}  // namespace

void load_image(const char* what, const SourceLine& at, Place to, Place from, uint32_t element, const ImageLoad& p) {
  Instruction ins(Pipe::MTE1, what, at);
  if (!ins || p.row_count == 0 || p.column_count == 0 || p.repeats == 0) return;
  uint32_t c0 = kBlock / element;
  if (!check(ins, to, from, element, p, c0)) { ins.refuse(); return; }
  Target t(p, c0, to.memory->kind == MemoryKind::L0B);
  std::vector<uint64_t> blocks = block_addresses(p, t, from.at);
  // addresses that wrap at a boundary may leave the buffer, as they are meant to
  read_blocks(ins, p.boundary ? Place{from.memory, from.at} : from, blocks);
  write_matrix(ins, to, t, element);
  if (!ins.admit({Op::LoadL0Window, DType::U8, static_cast<double>(t.rows) * t.columns * element})) return;
  for (uint32_t r = 0; r < t.rows; ++r)
    for (uint32_t g = 0; g < t.groups; ++g) {
      uint64_t block = blocks[static_cast<size_t>(r) * t.groups + g];
      for (uint32_t i = 0; i < c0; ++i) {
        uint64_t target = to.at + t.offset(r, g * c0 + i, element), origin = block + static_cast<uint64_t>(i) * element;
        bool there = block != kNowhere;
        std::memcpy(to.memory->data + target, there ? from.memory->data + origin : reinterpret_cast<const uint8_t*>(&p.pad_bits), element);
        to.memory->set_defined(target, element, there ? from.memory->is_defined(origin, element) : r % t.band_rows < p.row_count);
      }
    }
}

namespace {

// One window a position, in order: the matrix lies in L1 as it is.
bool is_matrix(const ImageLoad& l) {
  return l.filter_w == 1 && l.filter_h == 1 && l.stride_w == 1 && l.stride_h == 1 && l.dilation_w == 1 && l.dilation_h == 1 && !l.left && !l.right &&
         !l.top && !l.bottom && l.repeats == 1 && !l.boundary;
}

}  // namespace

void load_windows(const char* what, const SourceLine& at, Place to, Place from, uint32_t element, const ImageLoad& l) {
  if (!l.repeats || !l.height || !l.width || !l.channels || !l.row_count || !l.column_count || !l.filter_h || !l.filter_w) return;
  bool to_b = to.memory->kind == MemoryKind::L0B;
  if (!is_matrix(l) || (l.transpose && !to_b) || (to_b && element == 4)) return load_image(what, at, to, from, element, l);
  WindowLoad w;
  w.rows = l.height * l.width;
  w.channels = l.channels;
  w.row_start = l.row_start;
  w.channel_start = l.column_start;
  w.row_count = l.row_count;
  w.channel_count = l.column_count;
  w.pad_bits = l.pad_bits;
  load_window(what, at, to, from, element, w);
}

}  // namespace attnemu
