#include <cstring>
#include <vector>

#include "attnemu/cube.h"

namespace attnemu {
namespace {

constexpr uint32_t kIndexFractal = kFractal / 4;
constexpr uint32_t kDepth = 32;  // int8 elements of a block

Extent whole(uint64_t at, uint64_t bytes) {
  Extent e;
  e.at = at;
  e.run = bytes;
  return e;
}

bool lies_in(Instruction& ins, const Place& p, MemoryKind kind, const char* name) {
  return ins.require(p.memory && p.memory->kind == kind, "wrong_position", "%s is in %s; %s is wanted", name, p.memory ? p.memory->name.c_str() : "no memory of this core",
                     name_of(kind));
}

}  // namespace

void load_sparse(const char* what, const SourceLine& at, Place to, Place from, Place indices, uint32_t start, uint32_t repeats) {
  Instruction ins(Pipe::MTE1, what, at);
  if (!ins || repeats == 0) return;
  bool ok = lies_in(ins, to, MemoryKind::L0B, "the destination") & lies_in(ins, from, MemoryKind::L1, "the source") & lies_in(ins, indices, MemoryKind::L1, "the index");
  if (!ok) return ins.refuse();
  ins.aligned(to, kFractal, "the destination");
  ins.aligned(from, kBlock, "the source");
  from.at += static_cast<uint64_t>(start) * kFractal;
  indices.at += static_cast<uint64_t>(start) * kIndexFractal;
  uint64_t bytes = static_cast<uint64_t>(repeats) * kFractal;
  ins.reads(from, whole(from.at, bytes));
  ins.reads(indices, whole(indices.at, bytes / 4));
  ins.writes(to, whole(to.at, bytes));
  if (!ins.admit({Op::LoadL0B, DType::U8, static_cast<double>(bytes)})) return;
  std::memmove(to.memory->data + to.at, from.memory->data + from.at, bytes);
  copy_definedness(ins, to, from, bytes);
  core->sparse_indices.resize(memory_bytes(MemoryKind::L0B) / 4);
  std::memcpy(core->sparse_indices.data() + to.at / 4, indices.memory->data + indices.at, bytes / 4);
}

void multiply_sparse(const char* what, const SourceLine& at, Place c, Place a, Place b, const Product& p) {
  if (p.m == 0 || p.n == 0 || p.k == 0) return;
  Instruction ins(Pipe::M, what, at);
  if (!ins) return;
  bool ok = lies_in(ins, c, MemoryKind::L0C, "the result") & lies_in(ins, a, MemoryKind::L0A, "the left operand") & lies_in(ins, b, MemoryKind::L0B, "the right operand");
  ok = ok & ins.require(p.k % 8 == 0, "product_range", "k %u must be a multiple of 8", p.k);
  if (!ok) return ins.refuse();
  uint32_t bands = static_cast<uint32_t>(ceil_div(p.m, 16)), columns = static_cast<uint32_t>(ceil_div(p.n, 16)), groups = static_cast<uint32_t>(ceil_div(p.k, kDepth));
  uint64_t result = static_cast<uint64_t>(bands) * columns * kResultFractal;
  ins.reads(a, whole(a.at, static_cast<uint64_t>(bands) * groups * kFractal));
  ins.reads(b, whole(b.at, ceil_div(p.k / 2, kDepth) * columns * kFractal));
  if (p.accumulate) ins.reads(c, whole(c.at, result));
  ins.writes(c, whole(c.at, result));
  if (!ins.admit({Op::Product, DType::I8, static_cast<double>(bands) * columns * static_cast<double>(ceil_div(p.k / 2, kDepth))})) return;
  core->sparse_indices.resize(memory_bytes(MemoryKind::L0B) / 4);
  auto left = [&](uint32_t i, uint32_t k) { return a.at + (static_cast<uint64_t>(i / 16) * groups + k / kDepth) * kFractal + i % 16 * kBlock + k % kDepth; };
  auto right = [&](uint32_t k, uint32_t j) { return b.at + (static_cast<uint64_t>(k / kDepth) * columns + j / 16) * kFractal + j % 16 * kBlock + k % kDepth; };
  for (uint32_t i = 0; i < bands * 16; ++i)
    for (uint32_t j = 0; j < columns * 16; ++j) {
      uint64_t target = c.at + (static_cast<uint64_t>(j / 16) * bands * 16 + i) * 64 + j % 16 * 4;
      bool inside = i < p.m && j < p.n, defined = inside && (!p.accumulate || c.memory->is_defined(target, 4));
      int32_t sum = 0;
      if (inside && p.accumulate) std::memcpy(&sum, c.memory->data + target, 4);
      for (uint32_t k = 0; inside && k < p.k / 2; ++k) {
        uint64_t place = right(k, j);
        uint32_t index = core->sparse_indices[place / 4] >> (place % 4 * 2) & 3;
        uint64_t picked = left(i, k / 2 * 4 + k % 2 + index);
        sum += static_cast<int8_t>(a.memory->data[picked]) * static_cast<int8_t>(b.memory->data[place]);
        defined = defined && a.memory->is_defined(picked, 1) && b.memory->is_defined(place, 1);
      }
      if (inside) std::memcpy(c.memory->data + target, &sum, 4);
      c.memory->set_defined(target, 4, defined);
    }
}

}  // namespace attnemu
