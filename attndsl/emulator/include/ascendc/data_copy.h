// DataCopy and DataCopyPad.
#pragma once
#include "attnemu/dma.h"
#include "attnemu/errands.h"
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

bool bad_path(MemoryKind from, MemoryKind to, const SourceLine& at);

bool require(bool holds, const char* rule, const SourceLine& at, const std::string& message);
bool require(bool holds, const char* rule, const SourceLine& at, const char* message);

// Addresses in global memory are multiples of the element's bytes.
bool whole_elements(const attnemu::Place& p, size_t element, const char* what, const SourceLine& at);
template <class T>
bool whole_elements(const attnemu::Place& p, const char* what, const SourceLine& at) { return whole_elements(p, sizeof(T), what, at); }

// Bursts of blocks with gaps: of 32 bytes where the data come from, of `unit` where they go.
void copy_blocks(Pipe pipe, attnemu::Place to, attnemu::Place from, const DataCopyParams& p, uint32_t unit, bool atomic, const SourceLine& at);

DataCopyParams whole(uint32_t count, uint64_t bytes, const SourceLine& at);
template <class T>
DataCopyParams whole(uint32_t count, const SourceLine& at) { return whole(count, bytes_of<T>(count), at); }
// What DataCopyPad does whatever the element is; `at_global`: where in global memory, `memory`: of the other side.
struct Padding { bool is_pad; uint32_t left, right; uint64_t value; };
void load_with_padding(attnemu::Place to, MemoryKind memory, const void* at_global, size_t element, const DataCopyExtParams& p, const Padding& pad, const SourceLine& at);
void store_unpadded(const void* at_global, attnemu::Place from, MemoryKind memory, size_t element, const DataCopyExtParams& p, const SourceLine& at);
// Rows to fractals: checks the parameters; false where there is nothing more to do, for L1 that it was done.
bool nd_to_nz_in_ub(attnemu::Place to, MemoryKind memory, const void* at_global, size_t element, const Nd2NzParams& p, const SourceLine& at);

// Vector cores have their cube core copy to L1 (TSCM).
template <class T>
bool is_errand(const LocalTensor<T>& dst) {
  return dst.position() == TPosition::TSCM && attnemu::core->kind == attnemu::CoreKind::Vector;
}
}  // namespace detail

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if (detail::is_errand(dst)) return attnemu::ask_cube("DataCopy", at, [&] { DataCopy(dst, src, p, at); });
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
  if (detail::is_errand(dst)) return attnemu::ask_cube("DataCopy Nd2Nz", at, [&] { DataCopy(dst, src, p, at); });
  if (detail::nd_to_nz_in_ub(dst.place(), detail::memory_of(dst.position()), src.GetPhyAddr(), sizeof(T), p, at)) detail::columns_to_blocks(dst, src, p, at);
}

template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& p, const DataCopyPadExtParams<T>& pad,
                 attnemu::SourceLine at = attnemu::SourceLine::here()) {
  detail::load_with_padding(dst.place(), detail::memory_of(dst.position()), src.GetPhyAddr(), sizeof(T), p,
                            {pad.isPad, pad.leftPadding, pad.rightPadding, detail::bits_of_value(pad.paddingValue)}, at);
}
template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, const DataCopyPadParams& pad,
                 attnemu::SourceLine at = attnemu::SourceLine::here()) {
  DataCopyPad(dst, src, DataCopyExtParams(p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0),
              DataCopyPadExtParams<T>(pad.isPad, pad.leftPadding, pad.rightPadding, detail::value_of_bits<T>(pad.paddingValue)), at);
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  detail::store_unpadded(dst.GetPhyAddr(), src.place(), detail::memory_of(src.position()), sizeof(T), p, at);
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
