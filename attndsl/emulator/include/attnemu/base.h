// Vocabulary of the device model: pipes, memories, element types, source positions. No API names here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "limits.h"

namespace attnemu {

enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX };
constexpr int kPipes = 7;

enum class MemoryKind : uint8_t { GM, UB, L1, L0A, L0B, L0C, BT, FB };
constexpr int kMemories = 8;

enum class CoreKind : uint8_t { Cube, Vector };

// I4: two a byte, the first in the low half; its size counts the byte.
enum class DType : uint8_t { I8, U8, I16, U16, F16, BF16, I32, U32, F32, I64, U64, I4 };

constexpr uint32_t dtype_size(DType t) {
  switch (t) {
    case DType::I8: case DType::U8: case DType::I4: return 1;
    case DType::I16: case DType::U16: case DType::F16: case DType::BF16: return 2;
    case DType::I32: case DType::U32: case DType::F32: return 4;
    default: return 8;
  }
}

inline const char* name_of(Pipe p) {
  static const char* const names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
  return names[static_cast<int>(p)];
}
inline const char* name_of(MemoryKind m) {
  static const char* const names[] = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
  return names[static_cast<int>(m)];
}
inline const char* name_of(DType t) {
  static const char* const names[] = {"int8", "uint8", "int16", "uint16", "float16", "bfloat16",
                                      "int32", "uint32", "float32", "int64", "uint64", "int4"};
  return names[static_cast<int>(t)];
}

// Bytes of the on-chip memories of one core of Atlas A2 (platform_config/Ascend910B*.ini, CANN 8.1.RC1).
constexpr uint32_t memory_bytes(MemoryKind m) {
  switch (m) {
    case MemoryKind::UB: return kUbBytes;
    case MemoryKind::L1: return kL1Bytes;
    case MemoryKind::L0A: return kL0aBytes;
    case MemoryKind::L0B: return kL0bBytes;
    case MemoryKind::L0C: return kL0cBytes;
    case MemoryKind::BT: return 1024;
    case MemoryKind::FB: return 2048;
    default: return 0;
  }
}
constexpr uint64_t kRoom = 4096;                       // at least so many bytes behind an array may be touched, as a finding
constexpr uint32_t kAllBytes = 0xFFFFFFFFu;            // mask of a whole 32-byte block

// Where in the kernel's source something was issued.
struct SourceLine {
  const char* file;
  int line;
  static constexpr SourceLine here(const char* f = __builtin_FILE(), int l = __builtin_LINE()) { return {f, l}; }
};

constexpr uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }
constexpr uint64_t round_up(uint64_t a, uint64_t b) { return ceil_div(a, b) * b; }

// Byte mask of [from, to) within one 32-byte block.
constexpr uint32_t byte_mask(uint32_t from, uint32_t to) {
  return (to >= 32 ? 0xFFFFFFFFu : (1u << to) - 1u) & ~((1u << from) - 1u);
}

}  // namespace attnemu
