// The cube core: fractal loads, matrix product, write-back.
#pragma once
#include <cstdint>

#include "dma.h"

namespace attnemu {

constexpr uint32_t kResultFractal = 1024; // bytes of a 16x16 result fractal

// Fractals copied one by one: repeat r takes fractal start + r * from_step to fractal r * to_step.
struct FractalLoad {
  uint32_t start = 0, repeats = 0, from_step = 0, to_step = 1;
  bool transpose = false;  // 16-bit elements only
};
void load_fractals(const char* what, const SourceLine& at, Pipe pipe, Place to, Place from, uint32_t element, const FractalLoad& p);

// 8-bit: two adjacent 16x32 fractals are one 32x32 block; 32-bit: two adjacent 16x8 fractals are one 16x16 block;
// transposed and split again.
struct TransposeLoad {
  uint32_t start = 0, repeats = 0, from_step = 0, gap = 0, fractal_gap = 0;
  bool nibbles = false;  // four adjacent 16x64 fractals of 4-bit elements are one 64x64 block
};
void load_transposed(const char* what, const SourceLine& at, Place to, Place from, uint32_t element, const TransposeLoad& p);

// A window of a matrix in Nz order [rows, channels], with filter 1x1, as Zz (L0A) or transposed as Zn (L0B).
struct WindowLoad {
  uint32_t rows = 0, channels = 0;                 // of the source
  uint32_t row_start = 0, channel_start = 0;
  uint32_t row_count = 0, channel_count = 0;
  uint64_t pad_bits = 0;
};
void load_window(const char* what, const SourceLine& at, Place to, Place from, uint32_t element, const WindowLoad& p);

// Windows of an image in [channels / C0, height, width, C0] order (C0 channels fill 32 bytes): row m of the matrix is
// output position m, column k is channel group, filter row, filter column, channel in the group. To L0A as Zz, or with
// `transpose` as the transposed matrix; to L0B as Zn, for a product that sums over the rows.
struct ImageLoad {
  uint32_t height = 1, width = 0, channels = 0;
  uint32_t row_start = 0, column_start = 0, row_count = 0, column_count = 0;
  uint32_t filter_h = 1, filter_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  uint32_t left = 0, right = 0, top = 0, bottom = 0;  // padding
  bool transpose = false;
  uint64_t pad_bits = 0;
  // Windows from further rows (`repeat_step` * 16 each) or columns (`repeat_step` groups of C0 each) follow the first ones:
  // together they are one matrix.
  uint32_t repeats = 1, repeat_step = 0;
  bool repeat_columns = false;
  uint32_t boundary = 0;  // of L1, in bytes: what lies at or past it is read from L1's start; 0: none
};
void load_image(const char* what, const SourceLine& at, Place to, Place from, uint32_t element, const ImageLoad& p);
// Either: windows of one position in order are a window of a matrix that lies in L1 as it is.
void load_windows(const char* what, const SourceLine& at, Place to, Place from, uint32_t element, const ImageLoad& p);

struct Product {
  uint32_t m = 0, n = 0, k = 0;
  bool accumulate = false;   // to what the target holds
  uint8_t unit_flag = 0;
  bool align_k = false;      // fp32: fractals of k padded to 16
};
// C[m,n] (Nz, L0C) = A (Zz, L0A) * B (Zn, L0B) [+ C or + bias row from the bias table].
void multiply(const char* what, const SourceLine& at, Place c, DType c_type, Place a, DType a_type, Place b, DType b_type,
              const Place* bias, const Product& p);

// Fractals of a 4:2 sparse right operand with the 2-bit indices of their elements, 128 bytes a fractal, which go to a buffer
// of their own that only the sparse product reads.
void load_sparse(const char* what, const SourceLine& at, Place to, Place from, Place indices, uint32_t start, uint32_t repeats);
// C[m,n] = A * B, int8: of every four elements of a row of A the indices pick two for each column.
void multiply_sparse(const char* what, const SourceLine& at, Place c, Place a, Place b, const Product& p);

enum class Quantise : uint8_t { None, ToHalf, ToBfloat, IntToHalf, IntToInt8, FloatToInt8 };
struct WriteBack {
  uint32_t n = 0, m = 0;
  uint32_t from_step = 0;      // rows of a column of fractals in L0C
  uint64_t to_step = 0;        // row-major: elements a row; fractals: blocks between column groups
  bool row_major = true;
  Quantise quantise = Quantise::None;
  uint64_t quant_word = 0;
  const Place* channel_words = nullptr;  // per column, 8 bytes each
  uint32_t matrices = 1, from_matrix_step = 0, to_matrix_step = 0;  // 1024-byte units; elements
  bool relu = false, channel_split = false;
  uint8_t unit_flag = 0;
};
void write_back(const char* what, const SourceLine& at, Place to, DType to_type, Place from, DType from_type, const WriteBack& p);

// Fills `runs` runs of `blocks` units with one value.
void fill_units(const char* what, const SourceLine& at, Pipe pipe, Place to, uint32_t element, uint64_t bits, uint32_t runs,
                uint32_t blocks, uint32_t gap, uint32_t unit_bytes);

}  // namespace attnemu
