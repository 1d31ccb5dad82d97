// Loads to L0, Mmad, Fixpipe.
#pragma once
#include "attnemu/cube.h"
#include "data_copy.h"
#include "image_load.h"

namespace AscendC {

template <class T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::FractalLoad l;
  l.start = p.startIndex;
  l.repeats = p.repeatTimes;
  l.from_step = p.srcStride;
  l.to_step = 1u + p.dstGap;
  l.transpose = p.ifTranspose;
  attnemu::load_fractals("LoadData", at, detail::Pipe::MTE1, dst.place(), src.place(), sizeof(T), l);
}
template <class T>
void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::Place from = detail::global_place(src.GetPhyAddr(), "LoadData", at);
  if (!from.memory) return;
  attnemu::FractalLoad l;
  l.start = p.startIndex;
  l.repeats = p.repeatTimes;
  l.from_step = p.srcStride;
  l.to_step = 1u + p.dstGap;
  l.transpose = p.ifTranspose;
  attnemu::load_fractals("LoadData", at, detail::Pipe::MTE2, dst.place(), from, sizeof(T), l);
}
template <class T>
void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2dTransposeParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::TransposeLoad l;
  l.start = p.startIndex;
  l.repeats = p.repeatTimes;
  l.from_step = p.srcStride;
  l.gap = p.dstGap;
  l.fractal_gap = p.dstFracGap;
  l.nibbles = std::is_same_v<T, int4b_t>;
  attnemu::load_transposed("LoadDataWithTranspose", at, dst.place(), src.place(), sizeof(T), l);
}

namespace detail {
template <class D, class A, class B>
constexpr bool product_types() {
  return (one_of<D, float> && std::is_same_v<A, B> && one_of<A, half, bfloat16_t, float>) ||
         (one_of<D, int32_t> && one_of<A, int8_t, uint8_t> && one_of<B, int8_t, uint8_t>) || (one_of<D, int32_t> && one_of<A, int4b_t> && one_of<B, int4b_t>);
}
inline attnemu::Product product_of(const MmadParams& p) {
  attnemu::Product q;
  q.m = p.m;
  q.n = p.n;
  q.k = p.k;
  q.accumulate = !p.cmatrixInitVal && !p.cmatrixSource;
  q.unit_flag = p.unitFlag;
  q.align_k = p.kDirectionAlign;
  return q;
}
}  // namespace detail

template <class D, class A, class B>
void Mmad(const LocalTensor<D>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter, const MmadParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(detail::product_types<D, A, B>(), "Mmad: no such combination of element types is modelled");
  // without a tensor for it the bias is what lies at the start of the bias table
  attnemu::Place row{attnemu::core->memory(attnemu::MemoryKind::BT), 0};
  bool biased = !p.cmatrixInitVal && p.cmatrixSource;
  attnemu::multiply("Mmad", at, dst.place(), detail::dtype_of<D>(), fm.place(), detail::dtype_of<A>(), filter.place(), detail::dtype_of<B>(), biased ? &row : nullptr, detail::product_of(p));
}
template <class D, class A, class B, class C>
void Mmad(const LocalTensor<D>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter, const LocalTensor<C>& bias, const MmadParams& p,
          attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(detail::product_types<D, A, B>(), "Mmad: no such combination of element types is modelled");
  static_assert(std::is_same_v<C, D>, "Mmad: the bias has the type of the result");
  attnemu::Place row = bias.place();
  attnemu::Product product = detail::product_of(p);
  product.accumulate = false;  // the result starts as the bias
  attnemu::multiply("Mmad", at, dst.place(), detail::dtype_of<D>(), fm.place(), detail::dtype_of<A>(), filter.place(), detail::dtype_of<B>(), &row, product);
}

// 4:2 sparse products: int8 fractals with the places of their elements.
template <class T, class U>
void LoadDataWithSparse(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<U>& idx, const LoadData2dParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(std::is_same_v<T, int8_t> && std::is_same_v<U, uint8_t>, "LoadDataWithSparse: int8 with uint8 indices");
  attnemu::load_sparse("LoadDataWithSparse", at, dst.place(), src.place(), idx.place(), p.startIndex, p.repeatTimes);
}
template <class T, class U>
void MmadWithSparse(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<U>& filter, const MmadParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(std::is_same_v<T, int32_t> && std::is_same_v<U, int8_t>, "MmadWithSparse: int8 to int32");
  attnemu::multiply_sparse("MmadWithSparse", at, dst.place(), fm.place(), filter.place(), detail::product_of(p));
}

namespace detail {

template <class D, class S>
constexpr bool quantises(QuantMode_t q) {
  switch (q) {
    case NoQuant: return std::is_same_v<D, S>;
    case F322F16: return std::is_same_v<S, float> && std::is_same_v<D, half>;
    case F322BF16: return std::is_same_v<S, float> && std::is_same_v<D, bfloat16_t>;
    case DEQF16: case VDEQF16: return std::is_same_v<S, int32_t> && std::is_same_v<D, half>;
    case REQ8: case VREQ8: return std::is_same_v<S, int32_t> && sizeof(D) == 1;
    default: return std::is_same_v<S, float> && sizeof(D) == 1;
  }
}
inline attnemu::Quantise quantise_of(QuantMode_t q) {
  using Q = attnemu::Quantise;
  switch (q) {
    case NoQuant: return Q::None;
    case F322F16: return Q::ToHalf;
    case F322BF16: return Q::ToBfloat;
    case DEQF16: case VDEQF16: return Q::IntToHalf;
    case REQ8: case VREQ8: return Q::IntToInt8;
    default: return Q::FloatToInt8;
  }
}

template <class D, class S>
void fixpipe(attnemu::Place to, const LocalTensor<S>& src, const attnemu::Place* words, const FixpipeParamsV220& p, bool row_major, const SourceLine& at) {
  bool fits = quantises<D, S>(p.quantPre);
  require(fits, "fixpipe_quant", at, "Fixpipe: quantPre does not convert the source's element type to the destination's");
  if (!fits) return;
  attnemu::WriteBack w;
  w.n = p.nSize;
  w.m = p.mSize;
  w.from_step = p.srcStride;
  w.to_step = p.dstStride;
  w.row_major = row_major;
  w.quantise = quantise_of(p.quantPre);
  w.quant_word = p.deqScalar;
  w.channel_words = words;
  w.matrices = p.ndNum;
  w.from_matrix_step = p.srcNdStride;
  w.to_matrix_step = p.dstNdStride;
  w.relu = p.reluEn;
  w.channel_split = p.isChannelSplit;
  w.unit_flag = p.unitFlag;
  attnemu::write_back("Fixpipe", at, to, dtype_of<D>(), src.place(), dtype_of<S>(), w);
}

}  // namespace detail

template <class D, class S, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<D>& dst, const LocalTensor<S>& src, const FixpipeParamsV220& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::Place to = detail::global_place(dst.GetPhyAddr(), "Fixpipe", at);
  if (to.memory) detail::fixpipe<D, S>(to, src, nullptr, p, config.format == CO2Layout::ROW_MAJOR, at);
}
template <class D, class S, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const LocalTensor<D>& dst, const LocalTensor<S>& src, const FixpipeParamsV220& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  detail::fixpipe<D, S>(dst.place(), src, nullptr, p, config.format == CO2Layout::ROW_MAJOR, at);
}
template <class D, class S, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<D>& dst, const LocalTensor<S>& src, const LocalTensor<uint64_t>& words, const FixpipeParamsV220& p,
             attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::Place to = detail::global_place(dst.GetPhyAddr(), "Fixpipe", at), w = words.place();
  if (to.memory) detail::fixpipe<D, S>(to, src, &w, p, config.format == CO2Layout::ROW_MAJOR, at);
}

template <class D, class S, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const LocalTensor<D>& dst, const LocalTensor<S>& src, const LocalTensor<uint64_t>& words, const FixpipeParamsV220& p,
             attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::Place w = words.place();
  detail::fixpipe<D, S>(dst.place(), src, &w, p, config.format == CO2Layout::ROW_MAJOR, at);
}

// The register forms of the same write-back.
inline void SetFixpipePreQuantFlag(uint64_t config) { attnemu::core->reg.quant_word = config; }
inline void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint16_t dstNdStride) {
  attnemu::core->reg.nd_num = ndNum;
  attnemu::core->reg.nd_source_stride = srcNdStride;
  attnemu::core->reg.nd_target_stride = dstNdStride;
}
// Words of every column for the DataCopy forms, in the fixpipe buffer.
template <class T, bool setRelu = false>
void SetFixPipeConfig(const LocalTensor<T>& words, bool isUnitFlag = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(!setRelu, "SetFixPipeConfig: a tensor for relu is not modelled");
  // with isUnitFlag any tensor will do: the call then clears the unit flags
  if (isUnitFlag) attnemu::core->unit_flags.clear();
  if (isUnitFlag && words.position() != TPosition::C2PIPE2GM) return;
  detail::require(words.position() == TPosition::C2PIPE2GM, "wrong_position", at, "SetFixPipeConfig: the words must be in C2PIPE2GM");
  detail::require(words.GetPhyAddr() % 128 == 0, "misaligned", at, "SetFixPipeConfig: the words' address must be a multiple of 128");
  attnemu::core->reg.quant_words_at = words.GetPhyAddr();
  attnemu::core->reg.quant_words_set = true;
}

// The tensor for relu is reserved: an empty one is passed.
template <class T>
void SetFixPipeConfig(const LocalTensor<T>& reluPre, const LocalTensor<T>& quantPre, bool isUnitFlag = false, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  detail::require(reluPre.GetLength() == 0, "unsupported", at, "SetFixPipeConfig: a tensor for relu is not modelled; pass an empty LocalTensor");
  SetFixPipeConfig(quantPre, isUnitFlag, at);
}

namespace detail {
constexpr bool per_channel(QuantMode_t q) { return q == VDEQF16 || q == VREQ8 || q == VQF322B8_PRE; }

template <class T, class U>
void copy_result(attnemu::Place to, const LocalTensor<U>& src, const DataCopyCO12DstParams& p, const SourceLine& at) {
  const attnemu::Registers& r = attnemu::core->reg;
  bool modelled = p.reluPre <= 1 && !p.clipReluPre && !p.eltWiseOp;
  require(modelled, "unsupported", at, "DataCopy from CO1: reluPre above 1, clipReluPre and eltWiseOp are not modelled");
  bool words = per_channel(p.quantPre);
  require(!words || r.quant_words_set, "fixpipe_quant", at, "DataCopy from CO1: a mode with a word a column needs SetFixPipeConfig first");
  if (!modelled || (words && !r.quant_words_set)) return;
  FixpipeParamsV220 f(p.nSize, p.mSize, p.srcStride, p.dstStride, p.reluPre != 0);
  f.quantPre = p.quantPre;
  f.deqScalar = r.quant_word;
  f.unitFlag = p.unitFlag;
  f.isChannelSplit = p.channelSplit;
  f.ndNum = p.nz2ndEn ? r.nd_num : uint16_t{1};
  f.srcNdStride = r.nd_source_stride;
  f.dstNdStride = r.nd_target_stride;
  attnemu::Place w{attnemu::core->memory(MemoryKind::FB), r.quant_words_at};
  fixpipe<T, U>(to, src, words ? &w : nullptr, f, p.nz2ndEn, at);
}
}  // namespace detail

template <class T, class U>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::Place to = detail::global_place(dst.GetPhyAddr(), "DataCopy", at);
  if (to.memory) detail::copy_result<T, U>(to, src, p, at);
}
template <class T, class U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  detail::copy_result<T, U>(dst.place(), src, p, at);
}

// Fills L1, L0A or L0B with one value; a block is 32 bytes in L1 and 512 bytes in L0.
template <class T>
void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<T>& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  bool l1 = detail::memory_of(dst.position()) == attnemu::MemoryKind::L1;
  attnemu::fill_units("InitConstValue", at, l1 ? detail::Pipe::MTE2 : detail::Pipe::MTE1, dst.place(), sizeof(T), detail::bits_of_value(p.initValue),
                      p.repeatTimes, p.blockNum, p.dstGap, l1 ? 32 : 512);
}
}  // namespace AscendC
