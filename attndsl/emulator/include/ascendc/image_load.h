// LoadData 3D: windows of an image in L1 as a matrix in L0, and the registers that these loads read.
#pragma once
#include "attnemu/cube.h"
#include "data_copy.h"

namespace AscendC {

inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& mode, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  detail::require(mode == FmatrixMode::FMATRIX_LEFT, "load3d_range", at, "SetFmatrix: only FMATRIX_LEFT exists");
  attnemu::ImageMap& image = attnemu::core->reg.image[0];
  image.height = l1H;
  image.width = l1W;
  for (int i = 0; i < 4; ++i) image.padding[i] = padList[i];
}
// Sources at or past this byte of L1 are read from the start of L1 instead; 0: no boundary.
inline void SetLoadDataBoundary(uint32_t boundaryValue, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  detail::require(boundaryValue == 0 || boundaryValue >= 1024, "load3d_range", at, "SetLoadDataBoundary: the boundary is 0, or at least 1024 bytes");
  attnemu::core->reg.load_boundary = boundaryValue;
}
inline void SetLoadDataRepeat(const LoadDataRepeatParam& p, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  detail::require(p.repeatMode <= 1, "load3d_range", at, "SetLoadDataRepeat: repeatMode is 0, along the height, or 1, along the width");
  attnemu::Registers& r = attnemu::core->reg;
  r.load_repeats = p.repeatTime;
  r.load_repeat_stride = p.repeatStride;
  r.load_repeat_columns = p.repeatMode != 0;
}
template <class T>
void SetLoadDataPaddingValue(const T value) { attnemu::core->reg.load_pad_value = detail::bits_of_value(value); }

namespace detail {

template <class T>
constexpr uint32_t kElementsAByte = std::is_same_v<T, int4b_t> ? 2 : 1;

template <class T>
attnemu::ImageLoad image_of(const LoadData3DParamsV2<T>& p) {
  const attnemu::Registers& r = attnemu::core->reg;
  attnemu::ImageLoad l;
  l.height = p.l1H;
  l.width = p.l1W;
  l.channels = p.channelSize / kElementsAByte<T>;
  l.row_start = p.mStartPt;
  l.column_start = p.kStartPt / kElementsAByte<T>;
  l.row_count = p.mExtension;
  l.column_count = p.kExtension / kElementsAByte<T>;
  l.filter_h = p.filterH + (p.filterSizeH ? 256u : 0u);
  l.filter_w = p.filterW + (p.filterSizeW ? 256u : 0u);
  l.stride_h = p.strideH;
  l.stride_w = p.strideW;
  l.dilation_h = p.dilationFilterH;
  l.dilation_w = p.dilationFilterW;
  l.left = p.padList[0];
  l.right = p.padList[1];
  l.top = p.padList[2];
  l.bottom = p.padList[3];
  l.transpose = p.enTranspose;
  l.pad_bits = bits_of_value(p.padValue);
  l.repeats = r.load_repeats;
  l.repeat_step = r.load_repeat_stride;
  l.repeat_columns = r.load_repeat_columns;
  l.boundary = r.load_boundary;
  return l;
}

template <class T>
void load_windows(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<T>& p, const SourceLine& at) {
  bool left = require(!p.fMatrixCtrl, "load3d_range", at, "LoadData 3D: fMatrixCtrl must be false");
  bool sized = require(p.l1H <= 32767 && p.l1W <= 32767, "load3d_range", at, attnemu::format("LoadData 3D: l1H %u and l1W %u are at most 32767", p.l1H, p.l1W));
  attnemu::ImageLoad l = image_of(p);
  if (left && sized) attnemu::load_windows("LoadData 3D", at, dst.place(), src.place(), sizeof(T), l);
}

template <class T>
void take_image_registers(LoadData3DParamsV2<T>& p) {
  const attnemu::ImageMap& image = attnemu::core->reg.image[0];
  p.l1H = image.height;
  p.l1W = image.width;
  for (int i = 0; i < 4; ++i) p.padList[i] = image.padding[i];
}

}  // namespace detail

// The library's own name for SetFmatrix of the left matrix.
inline void Load3DSetFMatrixCal(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], attnemu::SourceLine at = attnemu::SourceLine::here()) {
  SetFmatrix(l1H, l1W, padList, FmatrixMode::FMATRIX_LEFT, at);
}

template <class T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<T>& given, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  LoadData3DParamsV2<T> p = given;
  if constexpr (!config.isSetFMatrix) detail::take_image_registers(p);
  if constexpr (!config.isSetPadding) p.padValue = detail::value_of_bits<T>(attnemu::core->reg.load_pad_value);
  detail::load_windows(dst, src, p, at);
}
// Sizes, padding and padding value are always those of the registers; the rest is packed into two words.
template <class T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2Pro& given, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  auto field = [](uint64_t word, int bit) { return static_cast<uint8_t>(word >> bit); };
  LoadData3DParamsV2<T> p;
  detail::take_image_registers(p);
  p.padValue = detail::value_of_bits<T>(attnemu::core->reg.load_pad_value);
  p.channelSize = given.channelSize;
  p.kExtension = static_cast<uint16_t>(given.extConfig);
  p.mExtension = static_cast<uint16_t>(given.extConfig >> 16);
  p.kStartPt = static_cast<uint16_t>(given.extConfig >> 32);
  p.mStartPt = static_cast<uint16_t>(given.extConfig >> 48);
  p.strideW = field(given.filterConfig, 0);
  p.strideH = field(given.filterConfig, 8);
  p.filterW = field(given.filterConfig, 16);
  p.filterH = field(given.filterConfig, 24);
  p.dilationFilterW = field(given.filterConfig, 32);
  p.dilationFilterH = field(given.filterConfig, 40);
  p.enTranspose = given.enTranspose;
  p.enSmallK = given.enSmallK;
  p.filterSizeW = given.filterSizeW;
  p.filterSizeH = given.filterSizeH;
  p.fMatrixCtrl = given.fMatrixCtrl;
  detail::load_windows(dst, src, p, at);
}

}  // namespace AscendC
