// The 64-bit word of quantising instructions: bits 0..31 a float scale of which the device keeps 1 + 8 + 10 bits, 37..45 a
// signed offset, 46 whether the result is signed.
#pragma once
#include <cstdint>

#include "attnemu/numeric.h"

namespace attnemu {

struct QuantWord {
  float scale;
  int offset;
  bool is_signed;
  explicit QuantWord(uint64_t w) : scale(float_of(static_cast<uint32_t>(w) & 0xFFFFE000u)), is_signed(w >> 46 & 1) {
    offset = static_cast<int>(w >> 37 & 0x1FF);
    if (offset >= 256) offset -= 512;
  }
};

}  // namespace attnemu
