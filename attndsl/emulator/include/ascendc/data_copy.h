// DataCopy and DataCopyPad.
#pragma once
#include "attnemu/dma.h"
#include "params.h"
#include "tensor.h"

namespace AscendC {
namespace detail {

// The pipe that moves data between two memories; S where there is no such path.
constexpr Pipe path(MemoryKind from, MemoryKind to) {
  if (from == MemoryKind::GM && (to == MemoryKind::UB || to == MemoryKind::L1)) return Pipe::MTE2;
  if (to == MemoryKind::GM && (from == MemoryKind::UB || from == MemoryKind::L1)) return Pipe::MTE3;
  if (from == MemoryKind::UB && to == MemoryKind::UB) return Pipe::V;
  if (from == MemoryKind::L1 && to == MemoryKind::BT) return Pipe::MTE1;
  if (from == MemoryKind::L1 && to == MemoryKind::FB) return Pipe::FIX;
  return Pipe::S;
}

inline bool bad_path(MemoryKind from, MemoryKind to, const SourceLine& at) {
  if (path(from, to) != Pipe::S) return false;
  if (attnemu::machine->knobs.memcheck)
    attnemu::machine->report("memcheck", "wrong_position", at, attnemu::format("DataCopy: there is no path from %s to %s", attnemu::name_of(from), attnemu::name_of(to)));
  return true;
}

inline bool require(bool holds, const char* rule, const SourceLine& at, const std::string& message) {
  if (!holds && attnemu::machine->knobs.memcheck) attnemu::machine->report("memcheck", rule, at, message);
  return holds;
}

// Addresses in global memory are multiples of the element's bytes.
template <class T>
bool whole_elements(const attnemu::Place& p, const char* what, const SourceLine& at) {
  return require(p.at % sizeof(T) == 0, "misaligned", at,
                 attnemu::format("%s: byte %llu of %s is no multiple of the element's %zu bytes", what, static_cast<unsigned long long>(p.at), p.memory->name.c_str(), sizeof(T)));
}

// Bursts of blocks with gaps: of 32 bytes where the data come from, of `unit` where they go.
inline void copy_blocks(Pipe pipe, attnemu::Place to, attnemu::Place from, const DataCopyParams& p, uint32_t unit, bool atomic, const SourceLine& at) {
  require(p.blockCount <= attnemu::kMaxCopyBlocks, "copy_range", at, attnemu::format("DataCopy: blockCount %u is at most %u", p.blockCount, attnemu::kMaxCopyBlocks));
  attnemu::Bursts b;
  b.run = static_cast<uint64_t>(p.blockLen) * unit;
  b.count = p.blockCount;
  b.from_step = b.run + static_cast<uint64_t>(p.srcStride) * attnemu::kBlock;
  b.to_step = b.run + static_cast<uint64_t>(p.dstStride) * unit;
  b.atomic = atomic;
  attnemu::copy_bursts("DataCopy", at, pipe, to, from, b);
}

template <class T>
DataCopyParams whole(uint32_t count, const SourceLine& at) {
  uint64_t bytes = bytes_of<T>(count);
  require(bytes % attnemu::kBlock == 0, "copy_tail", at,
          attnemu::format("DataCopy: %u elements are %llu bytes, rounded down to a multiple of 32; use DataCopyPad for the tail", count, static_cast<unsigned long long>(bytes)));
  require(bytes / attnemu::kBlock <= attnemu::kMaxHalfWord, "copy_range", at, attnemu::format("DataCopy: %llu bytes are more than %u blocks", static_cast<unsigned long long>(bytes), attnemu::kMaxHalfWord));
  return DataCopyParams(1, static_cast<uint16_t>(bytes / attnemu::kBlock), 0, 0);
}

}  // namespace detail

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::MemoryKind to = detail::memory_of(dst.position());
  if (detail::bad_path(attnemu::MemoryKind::GM, to, at)) return;
  attnemu::Place from = detail::global_place(src.GetPhyAddr(), "DataCopy", at);
  if (from.memory && detail::whole_elements<T>(from, "DataCopy", at)) detail::copy_blocks(detail::Pipe::MTE2, dst.place(), from, p, 32, false, at);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::MemoryKind from = detail::memory_of(src.position());
  if (detail::bad_path(from, attnemu::MemoryKind::GM, at)) return;
  attnemu::Place to = detail::global_place(dst.GetPhyAddr(), "DataCopy", at);
  if (to.memory && detail::whole_elements<T>(to, "DataCopy", at)) detail::copy_blocks(detail::Pipe::MTE3, to, src.place(), p, 32, true, at);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::MemoryKind from = detail::memory_of(src.position()), to = detail::memory_of(dst.position());
  if (detail::bad_path(from, to, at)) return;
  uint32_t unit = to == attnemu::MemoryKind::BT ? 64 : to == attnemu::MemoryKind::FB ? 128 : 32;
  detail::copy_blocks(detail::path(from, to), dst.place(), src.place(), p, unit, false, at);
}
// L1 to the bias table, halves widened on their way; lengths and the target's gaps count 64 bytes, the source's 32.
template <class T, class U>
std::enable_if_t<!std::is_same_v<T, U>> DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& p,
                                                 attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(std::is_same_v<T, float> && std::is_same_v<U, half>, "DataCopy: only from half to float, and from L1 to the bias table, the element type may change");
  bool fits = detail::memory_of(src.position()) == attnemu::MemoryKind::L1 && detail::memory_of(dst.position()) == attnemu::MemoryKind::BT;
  if (!detail::require(fits, "wrong_position", at, "DataCopy: elements are converted from L1 to the bias table only")) return;
  detail::require(p.blockCount <= attnemu::kMaxCopyBlocks, "copy_range", at, attnemu::format("DataCopy: blockCount %u is at most %u", p.blockCount, attnemu::kMaxCopyBlocks));
  attnemu::Bursts b;
  b.run = p.blockLen * 64ull;
  b.count = p.blockCount;
  b.from_step = b.run + p.srcStride * 32ull;
  b.to_step = 2 * b.run + p.dstStride * 64ull;
  attnemu::copy_widened("DataCopy", at, dst.place(), src.place(), b);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  DataCopy(dst, src, detail::whole<T>(count, at), at);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  DataCopy(dst, src, detail::whole<T>(count, at), at);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::MemoryKind from = detail::memory_of(src.position()), to = detail::memory_of(dst.position());
  if (!detail::bad_path(from, to, at)) detail::copy_blocks(detail::path(from, to), dst.place(), src.place(), detail::whole<T>(count, at), attnemu::kBlock, false, at);
}

namespace detail {
template <class T>
void columns_to_blocks(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& p, const SourceLine& at);
}  // namespace detail

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  using attnemu::format;
  const attnemu::MemoryKind to = detail::memory_of(dst.position());
  detail::require(to == attnemu::MemoryKind::L1 || to == attnemu::MemoryKind::UB, "wrong_position", at, "DataCopy Nd2Nz: the destination must be in L1 or UB");
  detail::require(p.ndNum <= attnemu::kMaxNd2NzMatrices, "nd2nz_range", at, format("DataCopy Nd2Nz: ndNum %u is at most %u", p.ndNum, attnemu::kMaxNd2NzMatrices));
  detail::require(p.nValue <= attnemu::kMaxNd2NzRows, "nd2nz_range", at, format("DataCopy Nd2Nz: nValue %u is at most %u", p.nValue, attnemu::kMaxNd2NzRows));
  // rows rounded up to whole fractals may overlap
  const uint32_t unit = sizeof(T) == 1 ? 32 : 16;
  detail::require(attnemu::round_up(p.srcDValue, unit) >= p.dValue || p.nValue <= 1, "nd2nz_range", at, format("DataCopy Nd2Nz: srcDValue %u is below dValue %u (is the pitch above %u?)", p.srcDValue, p.dValue, attnemu::kMaxNd2NzPitch));
  detail::require(p.dstNzC0Stride >= 1 && p.dstNzC0Stride <= attnemu::kMaxNd2NzRows, "nd2nz_range", at, format("DataCopy Nd2Nz: dstNzC0Stride %u is 1..%u", p.dstNzC0Stride, attnemu::kMaxNd2NzRows));
  detail::require(p.dstNzNStride >= 1 && p.dstNzNStride <= attnemu::kMaxNd2NzRows, "nd2nz_range", at, format("DataCopy Nd2Nz: dstNzNStride %u is 1..%u", p.dstNzNStride, attnemu::kMaxNd2NzRows));
  attnemu::Place from = detail::global_place(src.GetPhyAddr(), "DataCopy Nd2Nz", at);
  if (!from.memory) return;
  if (to == attnemu::MemoryKind::UB) return detail::columns_to_blocks(dst, src, p, at);
  attnemu::RowsToFractals r;
  r.matrices = p.ndNum;
  r.rows = p.nValue;
  r.columns = p.dValue;
  r.element = sizeof(T);
  r.from_matrix_step = static_cast<uint64_t>(p.srcNdMatrixStride) * sizeof(T);
  r.from_row_step = static_cast<uint64_t>(p.srcDValue) * sizeof(T);
  r.to_matrix_step = static_cast<uint64_t>(p.dstNzMatrixStride) * sizeof(T);
  r.to_column_step = static_cast<uint64_t>(p.dstNzC0Stride) * 32;
  r.to_row_step = static_cast<uint64_t>(p.dstNzNStride) * 32;
  attnemu::rows_to_fractals("DataCopy Nd2Nz", at, dst.place(), from, r);
}

template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& p, const DataCopyPadExtParams<T>& pad,
                 attnemu::SourceLine at = attnemu::SourceLine::here()) {
  using attnemu::format;
  detail::require(detail::memory_of(dst.position()) == attnemu::MemoryKind::UB, "wrong_position", at, "DataCopyPad: the destination must be in UB");
  detail::require(p.blockCount <= attnemu::kMaxCopyBlocks, "copy_range", at, format("DataCopyPad: blockCount %u is at most %u", p.blockCount, attnemu::kMaxCopyBlocks));
  detail::require(p.blockLen <= 2097151, "copy_range", at, format("DataCopyPad: blockLen %u is at most 2097151", p.blockLen));
  detail::require(p.blockLen % sizeof(T) == 0, "copy_range", at, format("DataCopyPad: blockLen %u is no multiple of the element's %zu bytes", p.blockLen, sizeof(T)));
  detail::require(pad.leftPadding * sizeof(T) <= 32 && pad.rightPadding * sizeof(T) <= 32, "copy_padding", at, "DataCopyPad: a padding is at most 32 bytes");
  detail::require(sizeof(T) < 8 || (pad.leftPadding == 0 && pad.rightPadding == 0), "copy_padding", at, "DataCopyPad: 64-bit elements take no padding");
  attnemu::Place from = detail::global_place(src.GetPhyAddr(), "DataCopyPad", at);
  if (!from.memory || !detail::whole_elements<T>(from, "DataCopyPad", at)) return;
  attnemu::PaddedLoad l;
  l.run = p.blockLen;
  l.count = p.blockCount;
  l.from_step = static_cast<uint64_t>(p.blockLen) + p.srcStride;
  l.gap_blocks = p.dstStride;
  l.element = sizeof(T);
  // without isPad the paddings take what SetPadValue left
  const attnemu::Registers& r = attnemu::core->reg;
  l.pad = pad.isPad || r.pad_value_set;
  l.left = pad.leftPadding;
  l.right = pad.rightPadding;
  l.value = pad.isPad ? detail::bits_of_value(pad.paddingValue) : r.pad_value;
  attnemu::load_padded("DataCopyPad", at, dst.place(), from, l);
}
template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, const DataCopyPadParams& pad,
                 attnemu::SourceLine at = attnemu::SourceLine::here()) {
  DataCopyPad(dst, src, DataCopyExtParams(p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0),
              DataCopyPadExtParams<T>(pad.isPad, pad.leftPadding, pad.rightPadding, detail::value_of_bits<T>(pad.paddingValue)), at);
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  using attnemu::format;
  detail::require(detail::memory_of(src.position()) == attnemu::MemoryKind::UB, "wrong_position", at, "DataCopyPad: the source must be in UB");
  detail::require(p.blockCount <= attnemu::kMaxCopyBlocks, "copy_range", at, format("DataCopyPad: blockCount %u is at most %u", p.blockCount, attnemu::kMaxCopyBlocks));
  detail::require(p.blockLen <= 2097151, "copy_range", at, format("DataCopyPad: blockLen %u is at most 2097151", p.blockLen));
  detail::require(p.blockLen % sizeof(T) == 0, "copy_range", at, format("DataCopyPad: blockLen %u is no multiple of the element's %zu bytes", p.blockLen, sizeof(T)));
  attnemu::Place to = detail::global_place(dst.GetPhyAddr(), "DataCopyPad", at);
  if (!to.memory || !detail::whole_elements<T>(to, "DataCopyPad", at)) return;
  attnemu::Bursts b;
  b.run = p.blockLen;
  b.count = p.blockCount;
  b.from_step = attnemu::round_up(p.blockLen, 32) + static_cast<uint64_t>(p.srcStride) * 32;
  b.to_step = static_cast<uint64_t>(p.blockLen) + p.dstStride;
  b.atomic = true;
  attnemu::copy_bursts("DataCopyPad", at, detail::Pipe::MTE3, to, src.place(), b);
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  DataCopyPad(dst, src, DataCopyExtParams(p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0), at);
}

namespace detail {
// Nd2Nz to UB, which the library puts together from padded copies, one a column of blocks; rests of blocks become zeros.
template <class T>
void columns_to_blocks(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& p, const SourceLine& at) {
  constexpr uint32_t kColumns = attnemu::kBlock / sizeof(T), kMostRows = attnemu::kMaxCopyBlocks;
  for (uint32_t m = 0; m < p.ndNum; ++m)
    for (uint32_t c = 0; c < p.dValue; c += kColumns) {
      uint32_t n = p.dValue - c < kColumns ? p.dValue - c : kColumns;
      for (uint32_t r = 0; r < p.nValue; r += kMostRows) {
        uint32_t rows = p.nValue - r < kMostRows ? p.nValue - r : kMostRows;
        uint64_t to = m * static_cast<uint64_t>(p.dstNzMatrixStride) + (c / kColumns * static_cast<uint64_t>(p.dstNzC0Stride) + r * static_cast<uint64_t>(p.dstNzNStride)) * kColumns;
        uint64_t from = m * static_cast<uint64_t>(p.srcNdMatrixStride) + r * static_cast<uint64_t>(p.srcDValue) + c;
        DataCopyPad(dst[static_cast<uint32_t>(to)], src[from], DataCopyExtParams(static_cast<uint16_t>(rows), n * sizeof(T), (p.srcDValue - n) * sizeof(T), p.dstNzNStride - 1u, 0),
                    DataCopyPadExtParams<T>(n < kColumns, 0, static_cast<uint8_t>(kColumns - n), T(0)), at);
      }
    }
}
}  // namespace detail

// Fractals of 16 columns in UB to rows in global memory, put together from copies of 16 columns.
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Nz2NdParamsFull& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "DataCopy Nz2Nd: elements of 16 or 32 bits");
  using attnemu::format;
  constexpr uint32_t kColumns = 16, kMostRows = attnemu::kMaxCopyBlocks;
  bool fits = detail::require(p.ndNum <= attnemu::kMaxNd2NzMatrices, "nz2nd_range", at, format("DataCopy Nz2Nd: ndNum %u is at most %u", p.ndNum, attnemu::kMaxNd2NzMatrices));
  fits &= detail::require(p.nValue >= 1 && p.nValue <= 8192, "nz2nd_range", at, format("DataCopy Nz2Nd: nValue %u is 1..8192", p.nValue));
  fits &= detail::require(p.dValue >= 1 && p.dValue <= 8192 && p.dValue % kColumns == 0, "nz2nd_range", at, format("DataCopy Nz2Nd: dValue %u is a multiple of 16 up to 8192", p.dValue));
  fits &= detail::require(p.srcNdMatrixStride <= 512 && (p.ndNum <= 1 || p.srcNdMatrixStride), "nz2nd_range", at, format("DataCopy Nz2Nd: srcNdMatrixStride %u is 1..512", p.srcNdMatrixStride));
  fits &= detail::require(p.srcNStride <= 4096, "nz2nd_range", at, format("DataCopy Nz2Nd: srcNStride %u is at most 4096", p.srcNStride));
  fits &= detail::require(p.dstDStride >= kColumns, "nz2nd_range", at, format("DataCopy Nz2Nd: dstDStride %u is below the 16 columns that a row has", p.dstDStride));
  if (!fits) return;
  for (uint32_t m = 0; m < p.ndNum; ++m)
    for (uint32_t c = 0; c < p.dValue / kColumns; ++c)
      for (uint32_t r = 0; r < p.nValue; r += kMostRows) {
        uint32_t rows = p.nValue - r < kMostRows ? p.nValue - r : kMostRows;
        uint32_t from = m * p.srcNdMatrixStride * 256u + (c * p.srcNStride + r) * kColumns;
        uint64_t to = m * static_cast<uint64_t>(p.dstNdMatrixStride) + r * static_cast<uint64_t>(p.dstDStride) + c * static_cast<uint64_t>(kColumns);
        DataCopyPad(dst[to], src[from], DataCopyExtParams(static_cast<uint16_t>(rows), kColumns * sizeof(T), 0, (p.dstDStride - kColumns) * sizeof(T), 0), at);
      }
}

}  // namespace AscendC
