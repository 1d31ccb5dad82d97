#include <cstring>

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
  uint32_t c0, out_w, out_h;
  Source(const ImageLoad& load, uint32_t group)
      : p(load), c0(group), out_w(positions(load.width, load.left, load.right, load.filter_w, load.dilation_w, load.stride_w)),
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

bool check(Instruction& ins, Place to, Place from, uint32_t element, const ImageLoad& p, uint32_t c0) {
  bool ok = ins.require(to.memory && (to.memory->kind == MemoryKind::L0A || to.memory->kind == MemoryKind::L0B), "wrong_position",
                        "the destination is in %s; L0A or L0B is wanted", to.memory ? to.memory->name.c_str() : "no memory of this core");
  ok = ok & ins.require(from.memory && from.memory->kind == MemoryKind::L1, "wrong_position", "the source is in %s; L1 is wanted",
                        from.memory ? from.memory->name.c_str() : "no memory of this core");
  ok = ok & ins.require(p.filter_h && p.filter_w && p.stride_h && p.stride_w && p.dilation_h && p.dilation_w, "load3d_range",
                        "filter, stride and dilation are at least 1");
  ok = ok & ins.require(p.stride_h <= 63 && p.stride_w <= 63, "load3d_range", "strides %u and %u are at most 63", p.stride_h, p.stride_w);
  ok = ok & ins.require(p.column_start % c0 == 0 && p.column_count % c0 == 0, "misaligned", "kStartPt %u and kExtension %u must be multiples of %u",
                        p.column_start, p.column_count, c0);
  ok = ok & ins.require(p.row_start % 16 == 0 || p.row_count % 16 == 0, "load3d_range", "mStartPt %u or mExtension %u must be a multiple of 16", p.row_start, p.row_count);
  if (!ok) return false;
  uint64_t columns = round_up(p.channels, c0) * p.filter_h * p.filter_w;
  ok = ok & ins.require(static_cast<uint64_t>(p.column_start) + p.column_count <= columns, "window_range", "kStartPt %u + kExtension %u exceed the %llu columns of the image's matrix",
                        p.column_start, p.column_count, static_cast<unsigned long long>(columns));
  bool turned = p.transpose || to.memory->kind == MemoryKind::L0B;
  ok = ok & ins.require(!turned || element >= 2, "transpose_width", "transposing takes 16- and 32-bit elements, these have 8 bits");
  ok = ok & ins.aligned(to.memory, to.at, kFractal, "the destination");
  return ok & ins.aligned(from.memory, from.at, kBlock, "the source");
}

}  // namespace

void load_image(const char* what, const SourceLine& at, Place to, Place from, uint32_t element, const ImageLoad& p) {
  Instruction ins(Pipe::MTE1, what, at);
  if (!ins || p.row_count == 0 || p.column_count == 0) return;
  uint32_t c0 = kBlock / element;
  if (!check(ins, to, from, element, p, c0)) { ins.refuse(); return; }
  Source source(p, c0);
  bool turned = p.transpose || to.memory->kind == MemoryKind::L0B;
  uint32_t rows = static_cast<uint32_t>(round_up(p.row_count, 16)), groups = p.column_count / c0;
  uint32_t columns = turned ? static_cast<uint32_t>(round_up(p.column_count, 16)) : p.column_count;
  Extent read{from.at, static_cast<uint64_t>(p.height) * p.width * kBlock * ceil_div(p.channels, c0)};
  Extent write{to.at, static_cast<uint64_t>(rows) * columns * element};
  ins.reads(from.memory, read);
  ins.writes(to.memory, write);
  if (!ins.admit({Op::LoadL0Window, DType::U8, static_cast<double>(write.run)})) return;
  // fractal of (r, c) and place in it: Zz in C0 columns; turned, fractals of 16 columns by C0 rows
  bool to_b = to.memory->kind == MemoryKind::L0B;
  auto place = [&](uint32_t r, uint32_t c) {
    uint64_t fractal = !turned ? static_cast<uint64_t>(r / 16) * groups + c / c0
                       : to_b  ? static_cast<uint64_t>(r / c0) * (columns / 16) + c / 16
                               : static_cast<uint64_t>(c / 16) * (rows / c0) + r / c0;
    uint32_t inside = turned ? c % 16 * c0 + r % c0 : r % 16 * c0 + c % c0;
    return to.at + fractal * kFractal + static_cast<uint64_t>(inside) * element;
  };
  to.memory->set_defined(to.at, write.run, false);
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t g = 0; g < groups; ++g) {
      uint64_t offset = 0;
      bool there = r < p.row_count && source.block(p.row_start + r, p.column_start / c0 + g, offset);
      for (uint32_t i = 0; i < c0; ++i) {
        uint64_t target = place(r, g * c0 + i), origin = from.at + offset + static_cast<uint64_t>(i) * element;
        std::memcpy(to.memory->data + target, there ? from.memory->data + origin : reinterpret_cast<const uint8_t*>(&p.pad_bits), element);
        to.memory->set_defined(target, element, there ? from.memory->is_defined(origin, element) : r < p.row_count);
      }
    }
}

}  // namespace attnemu
