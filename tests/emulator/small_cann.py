# ruff: noqa: E501  (C++ statements stay on one line)
"""Headers that stand for a CANN's: the little of AscendC that kernels on bare instructions need, in words of ours."""

from __future__ import annotations

from pathlib import Path

# kinds are numbered in another order than the launcher's
_TENSOR = """#pragma once
#include <cstdint>
enum KernelMetaType : uint8_t {
  KERNEL_TYPE_MIX_AIC_1_2, KERNEL_TYPE_MIX_AIC_1_1, KERNEL_TYPE_MIX_AIC_1_0, KERNEL_TYPE_MIX_AIV_1_0, KERNEL_TYPE_AIC_ONLY, KERNEL_TYPE_AIV_ONLY
};
namespace AscendC {
template <class T>
struct LocalTensor {
  using PrimType = T;
  uint64_t address;
  uint64_t GetPhyAddr(const uint32_t offset) const { return address + offset * sizeof(T); }
  PrimType GetValue(const uint32_t index) const;
  template <class V> void SetValue(const uint32_t index, const V value) const;
};
template <class T>
struct GlobalTensor {
  using PrimType = T;
  T* address;
  T* GetPhyAddr(const uint64_t offset) const { return address + offset; }
  PrimType GetValue(const uint64_t offset) const;
  void SetValue(const uint64_t offset, PrimType value);
};
}  // namespace AscendC
"""
_OPERATOR = """#pragma once
#include "kernel_tensor.h"
__BLOCK_LOCAL__ __inline__ int64_t g_of_core;
#if defined(__DAV_C220_CUBE__)
#define ASCEND_IS_AIC constexpr(true)
#define ASCEND_IS_AIV constexpr(false)
#else
#define ASCEND_IS_AIC constexpr(false)
#define ASCEND_IS_AIV constexpr(true)
#endif
namespace AscendC {
inline void OneRepeat(float* dst, float* src0, float* src1) { vadd(dst, src0, src1, 1, 1, 1, 1, 8, 8, 8); }
}  // namespace AscendC
"""


def write_small_cann(root: Path) -> Path:
    """A tree with them where an installed CANN has its own."""
    base = root / "compiler" / "tikcpp" / "tikcfw"
    (base / "impl" / "dav_c220").mkdir(parents=True)
    (base / "interface").mkdir()
    (base / "interface" / "kernel_tensor.h").write_text(_TENSOR)
    (base / "kernel_operator.h").write_text(_OPERATOR)
    return root
