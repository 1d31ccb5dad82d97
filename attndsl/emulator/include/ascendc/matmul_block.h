// One block of a product on the cube core: loads, products over k, write-back. Each step waits for the one before, so that
// the timeline shows an unpipelined product.
#pragma once
#include "cube.h"
#include "kernel_tiling/kernel_tiling.h"
#include "matmul_policy.h"
#include "static_tensor.h"
#include "sync.h"

namespace AscendC::detail {

// A matrix in global memory: rows `pitch` elements apart, or columns of fractals that each hold `pitch` rows.
template <class T>
struct StoredMatrix {
  GlobalTensor<T> at;
  uint32_t pitch = 0;
  bool fractals = false, transposed = false;
  // Of a 4:2 sparse right operand: the places of its elements as columns of 8 bytes, each of this many rows; none otherwise.
  GlobalTensor<uint8_t> index;
  uint32_t index_rows = 0;
  // Of a matrix that the kernel has put into L1, whole: columns of fractals of this many rows; none otherwise.
  LocalTensor<T> l1;
  uint32_t l1_rows = 0;
};

struct BlockShape {
  uint32_t i = 0, j = 0;         // number among blocks
  uint32_t row = 0, column = 0;  // first ones in the product
  uint32_t m = 0, n = 0, first_k = 0, k = 0, step_k = 0;
  bool adds = false;  // to the sums that are in L0C
};

// Where blocks lie in L1, behind what a program's own tensors are likely to take.
constexpr uint32_t kLeftInL1 = 384u << 10, kRightInL1 = 448u << 10, kBiasInL1 = 380u << 10, kWordsInL1 = 376u << 10, kIndexInL1 = 360u << 10;

inline uint32_t fractal_up(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }
template <class T>
constexpr uint32_t kColumn = static_cast<uint32_t>(elements_of<T>(32));  // elements of a fractal's row
template <class T>
constexpr uint32_t kLargest = static_cast<uint32_t>(elements_of<T>(attnemu::kL0aBytes));

// A part of a stored matrix to L1, as columns of fractals of `height` rows.
template <class T>
void load_part(const LocalTensor<T>& to, StoredMatrix<T>& from, uint32_t row, uint32_t column, uint32_t rows, uint32_t columns, uint32_t height, const SourceLine& at) {
  if constexpr (std::is_same_v<T, int4b_t>) {  // pairs of elements travel as bytes
    StoredMatrix<int8_t> bytes{from.at.template ReinterpretCast<int8_t>(), from.fractals ? from.pitch : from.pitch / 2, from.fractals, from.transposed};
    return load_part(to.template ReinterpretCast<int8_t>(), bytes, row, column / 2, rows, columns / 2, height, at);
  }
  constexpr uint32_t c0 = 32 / sizeof(T);
  if (from.fractals) {
    auto source = from.at[static_cast<uint64_t>(column / c0) * from.pitch * c0 + static_cast<uint64_t>(row) * c0];
    return DataCopy(to, source, DataCopyParams((columns + c0 - 1) / c0, rows, from.pitch - rows, height - rows), at);
  }
  constexpr uint32_t kMostPitch = attnemu::kMaxNd2NzPitch;
  auto source = from.at[static_cast<uint64_t>(row) * from.pitch + column];
  if (from.pitch <= kMostPitch) return DataCopy(to, source, Nd2NzParams(1, rows, columns, 0, from.pitch, height, 1, 0), at);
  for (uint32_t i = 0; i < rows; ++i)
    DataCopy(to[i * c0], source[static_cast<uint64_t>(i) * from.pitch], Nd2NzParams(1, 1, columns, 0, columns, height, 1, 0), at);
}

// A part of a matrix in L1, which lies there as columns of fractals of `height` rows.
template <class T>
struct PartInL1 {
  LocalTensor<T> whole;
  uint32_t height = 0, row = 0, column = 0;
  LocalTensor<T> at(uint32_t rows_down, uint32_t columns_on) const { return whole[(column + columns_on) / kColumn<T> * height * kColumn<T> + (row + rows_down) * kColumn<T>]; }
};

template <class T>
void window_to(const LocalTensor<T>& to, const PartInL1<T>& from, uint32_t height, uint32_t width, bool transpose, const SourceLine& at) {
  LoadData3DParamsV2<T> w;
  w.l1H = 1;
  w.l1W = static_cast<uint16_t>(from.height);
  w.mStartPt = static_cast<uint16_t>(from.row);
  w.mExtension = static_cast<uint16_t>(height);
  w.channelSize = w.kExtension = static_cast<uint16_t>(width);
  w.enTranspose = transpose;
  LoadData(to, PartInL1<T>{from.whole, from.height, 0, from.column}.at(0, 0), w, at);
}

// The left operand's k columns from `from` on, to L0A.
template <class CALLBACK, class T>
void load_left(StoredMatrix<T>& a, const BlockShape& b, uint32_t from, uint32_t k, const UserWords& user, const SourceLine& at) {
  constexpr uint32_t c0 = kColumn<T>;
  uint32_t m16 = fractal_up(b.m, 16), kc = fractal_up(k, c0), k16 = fractal_up(k, 16);
  LocalTensor<T> l1(TPosition::A1, kLeftInL1, kLargest<T>), l0(TPosition::A2, 0, kLargest<T>);
  PartInL1<T> part{l1, a.transposed ? k16 : m16};
  PipeBarrier<PIPE_ALL>();
  if (a.l1_rows) part = {a.l1, a.l1_rows, a.transposed ? from : b.row, a.transposed ? b.row : from};
  else if constexpr (is_given<CALLBACK::CopyA1Ptr>())
    CALLBACK::CopyA1Ptr(l1.template ReinterpretCast<int8_t>(), a.at.GetPhyAddr(), b.i, from / b.step_k, b.m, k, user.tiling, user.data);
  else if (a.transposed) load_part(l1, a, from, b.row, k, b.m, k16, at);
  else load_part(l1, a, b.row, from, b.m, k, m16, at);
  PipeBarrier<PIPE_ALL>();
  if (a.transposed) return window_to(l0, part, k16, m16, true, at);
  for (uint32_t i = 0; i < m16 / 16; ++i) LoadData(l0[i * 16 * kc], part.at(i * 16, 0), LoadData2DParams(0, kc / c0, part.height / 16, 0, 0, false, 0), at);
}

// Of a 4:2 sparse right operand, which is transposed and has half its columns, with the places of its elements: to L0B.
inline void load_sparse_right(StoredMatrix<int8_t>& w, const BlockShape& b, uint32_t from, uint32_t k, const SourceLine& at) {
  uint32_t n16 = fractal_up(b.n, 16), groups = fractal_up(k, 64) / 64;
  LocalTensor<int8_t> l1(TPosition::B1, kRightInL1, kLargest<int8_t>), l0(TPosition::B2, 0, kLargest<int8_t>);
  LocalTensor<uint8_t> index(TPosition::B1, kIndexInL1, 16 << 10);
  load_part(l1, w, b.column, from / 2, b.n, k / 2, n16, at);
  DataCopy(index, w.index[static_cast<uint64_t>(from / 64) * w.index_rows * 8 + b.column * 8], DataCopyParams(groups, n16 / 4, (w.index_rows - n16) / 4, 0), at);
  PipeBarrier<PIPE_ALL>();
  for (uint32_t i = 0; i < groups; ++i) LoadDataWithSparse(l0[i * n16 * 32], l1[i * n16 * 32], index[i * n16 * 8], LoadData2dParams(0, n16 / 16, 1, 0, 0, false, 0), at);
}

// The right operand's k rows from `from` on, to L0B.
template <class CALLBACK, class T>
void load_right(StoredMatrix<T>& w, const BlockShape& b, uint32_t from, uint32_t k, const UserWords& user, const SourceLine& at) {
  if constexpr (std::is_same_v<T, int8_t>)
    if (w.index_rows) return load_sparse_right(w, b, from, k, at);
  constexpr uint32_t c0 = kColumn<T>, deep = c0 < 16 ? 16 : c0;
  uint32_t n16 = fractal_up(b.n, 16), nc = fractal_up(b.n, deep), kc = fractal_up(k, c0), kd = fractal_up(k, deep);
  LocalTensor<T> l1(TPosition::B1, kRightInL1, kLargest<T>), l0(TPosition::B2, 0, kLargest<T>);
  PartInL1<T> part{l1, w.transposed ? n16 : kd};
  if (w.l1_rows) part = {w.l1, w.l1_rows, w.transposed ? b.column : from, w.transposed ? from : b.column};
  else if constexpr (is_given<CALLBACK::CopyB1Ptr>())
    CALLBACK::CopyB1Ptr(l1.template ReinterpretCast<int8_t>(), w.at.GetPhyAddr(), from / b.step_k, b.j, k, b.n, user.tiling, user.data);
  else if (w.transposed) load_part(l1, w, b.column, from, b.n, k, n16, at);
  else load_part(l1, w, from, b.column, k, b.n, kd, at);
  PipeBarrier<PIPE_ALL>();
  if (w.transposed) {
    for (uint32_t i = 0; i < kc / c0; ++i) LoadData(l0[i * n16 * c0], part.at(0, i * c0), LoadData2DParams(0, n16 / 16, 1, 0, 0, false, 0), at);
  } else if constexpr (sizeof(T) == 1) {
    // blocks of 32x32 (64x64 of 4 bits), whose fractals lie side by side in n
    for (uint32_t i = 0; i < kd / c0; ++i, PipeBarrier<PIPE_MTE1>())  // of 48 columns, the last half block is the next one's first
      LoadDataWithTranspose(l0[i * c0 * n16], part.at(i * c0, 0), LoadData2dTransposeParams(0, nc / c0, part.height / c0, c0 / 16 - 1, 0), at);
  } else {
    window_to(l0, part, kd, n16, false, at);
  }
}

// Biases of the block's columns, to the bias table.
template <class T, class L>
void load_bias(GlobalTensor<T> bias, const BlockShape& b, const SourceLine& at) {
  LocalTensor<T> l1(TPosition::C1, kBiasInL1, 4096 / sizeof(T));
  LocalTensor<L> table(TPosition::C2, 0, 256);
  DataCopy(l1, bias[b.column], Nd2NzParams(1, 1, b.n, 0, b.n, 1, 1, 0), at);
  PipeBarrier<PIPE_ALL>();
  DataCopy(table, l1, DataCopyParams(1, (b.n * sizeof(T) + 63) / 64, 0, 0), at);
}

// Where sums lie unless the kernel says so.
template <class L>
LocalTensor<L> own_sums() {
  return LocalTensor<L>(TPosition::CO1, 0, attnemu::kL0cBytes / sizeof(L));
}

template <class CALLBACK, class A, class L, class Bias>
void multiply_block(StoredMatrix<A>& a, StoredMatrix<A>& w, const GlobalTensor<Bias>* bias, const LocalTensor<L>& sums, const BlockShape& b, bool hf32, const UserWords& user, const SourceLine& at) {
  LocalTensor<A> left(TPosition::A2, 0, kLargest<A>), right(TPosition::B2, 0, kLargest<A>);
  LocalTensor<L> table(TPosition::C2, 0, 256);
  SetHF32Mode(hf32);
  PipeBarrier<PIPE_ALL>();
  bool biased = bias && b.first_k == 0 && !b.adds;
  if (biased) load_bias<Bias, L>(*bias, b, at);
  for (uint32_t from = b.first_k, end = b.first_k + b.k; from < end; from += b.step_k) {
    uint32_t k = end - from < b.step_k ? end - from : b.step_k;
    load_left<CALLBACK>(a, b, from, k, user, at);
    load_right<CALLBACK>(w, b, from, k, user, at);
    PipeBarrier<PIPE_ALL>();
    // one row is a row of elements in L0A rather than of fractals: two rows, the second of which nobody reads, are a matrix
    MmadParams p(static_cast<uint16_t>(b.m == 1 ? 2 : b.m), static_cast<uint16_t>(b.n), static_cast<uint16_t>(k), 0, false, from == b.first_k && !b.adds);
    p.kDirectionAlign = sizeof(A) == 4 && a.transposed;
    if constexpr (std::is_same_v<A, int8_t>) {
      if (w.index_rows) {
        MmadWithSparse(sums, left, right, p, at);
        continue;
      }
    }
    if (from == 0 && biased) Mmad(sums, left, right, table, p, at);
    else Mmad(sums, left, right, p, at);
  }
  SetHF32Mode(false);
  PipeBarrier<PIPE_ALL>();
}

// How sums become elements of the result: by a word for all or by a word a column.
struct Conversion {
  uint64_t word = 0;
  GlobalTensor<uint64_t> words;
  bool with_words = false;
};
template <class C, class L>
QuantMode_t conversion_mode(const Conversion& q) {
  if constexpr (std::is_same_v<C, L>) return NoQuant;
  else if constexpr (std::is_same_v<L, float>) return std::is_same_v<C, half> ? F322F16 : std::is_same_v<C, bfloat16_t> ? F322BF16 : q.with_words ? VQF322B8_PRE : QF322B8_PRE;
  else if constexpr (std::is_same_v<C, half>) return q.with_words ? VDEQF16 : DEQF16;
  else return q.with_words ? VREQ8 : REQ8;
}

// The block's sums to global memory, rows (or, of fractals, columns of them) `pitch` apart.
template <class C, class L>
void store_block(GlobalTensor<C> to, const BlockShape& b, uint32_t pitch, bool fractals, const Conversion& q, const SourceLine& at, bool split_channels = false) {
  LocalTensor<L> sums = own_sums<L>();
  LocalTensor<uint64_t> words(TPosition::A1, kWordsInL1, 256);
  if (q.with_words) {
    GlobalTensor<uint64_t> source = q.words;
    DataCopy(words, source[b.column], Nd2NzParams(1, 1, b.n, 0, b.n, 1, 1, 0), at);
    PipeBarrier<PIPE_ALL>();
  }
  FixpipeParamsV220 f(static_cast<uint16_t>(b.n), static_cast<uint16_t>(b.m), static_cast<uint16_t>(fractal_up(b.m, 16)), pitch, false);
  f.quantPre = conversion_mode<C, L>(q);
  f.deqScalar = q.word;
  f.isChannelSplit = split_channels;
  if (fractals && q.with_words) Fixpipe<C, L, CFG_NZ>(to, sums, words, f, at);
  else if (fractals) Fixpipe<C, L, CFG_NZ>(to, sums, f, at);
  else if (q.with_words) Fixpipe<C, L, CFG_ROW_MAJOR>(to, sums, words, f, at);
  else Fixpipe<C, L, CFG_ROW_MAJOR>(to, sums, f, at);
  PipeBarrier<PIPE_ALL>();
}

// The block's sums, copied by the kernel's own function.
template <class CALLBACK, class C, class L>
void store_by_callback(const GlobalTensor<C>& to, const BlockShape& b, uint32_t pitch, bool fractals, const Conversion& q, const UserWords& user, const SourceLine& at) {
  if (!require(!q.with_words, "unsupported", at, "Matmul: words a column for a callback are not modelled")) return;
  LocalTensor<L> sums = own_sums<L>();
  DataCopyOutParams p;
  p.cBurstNum = static_cast<uint16_t>((b.n + 15) / 16);
  p.burstLen = static_cast<uint16_t>(b.m * 16 * sizeof(L) / 32);
  p.dstStride = pitch;
  p.oriNSize = static_cast<uint16_t>(fractals ? 0 : b.n);
  p.quantScalar = q.word;
  CALLBACK::DataCopyOutPtr(to.GetPhyAddr(), sums.template ReinterpretCast<int8_t>(), &p, user.tiling, user.data);
  PipeBarrier<PIPE_ALL>();
}

}  // namespace AscendC::detail
