// Who am I, atomics, masks and other special registers.
#pragma once
#include "attnemu/lanes.h"
#include "macros.h"
#include "tensor.h"

namespace AscendC {

inline int64_t GetSubBlockIdx() { return attnemu::core->kind == attnemu::CoreKind::Vector ? attnemu::core->sub : 0; }
inline int64_t GetTaskRation() {
  return attnemu::core->kind == attnemu::CoreKind::Vector ? attnemu::machine->shape.vectors : 1;
}
inline int64_t GetTaskRatio() { return GetTaskRation(); }
inline int64_t GetSubBlockNum() { return GetTaskRation(); }
inline int64_t GetBlockIdx() {
  if (attnemu::core->kind == attnemu::CoreKind::Cube) return attnemu::core->block;
  return static_cast<int64_t>(attnemu::core->block) * attnemu::machine->shape.vectors + attnemu::core->sub;
}
inline int64_t GetBlockNum() { return attnemu::machine->shape.blocks; }
inline int64_t GetSystemCycle() { return 0; }

// The workspace argument of a launch on the emulator is the user's part alone.
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return workspace; }
inline void SetSysWorkspace(GM_ADDR) {}

template <class T>
void SetAtomicAdd() {
  static_assert(detail::one_of<T, int8_t, int16_t, half, bfloat16_t, int32_t, float>, "SetAtomicAdd: no such element type on Atlas A2");
  attnemu::core->reg.atomic = attnemu::AtomicOp::Add;
  attnemu::core->reg.atomic_type = detail::dtype_of<T>();
}
template <class T>
void SetAtomicMax() {
  SetAtomicAdd<T>();
  attnemu::core->reg.atomic = attnemu::AtomicOp::Max;
}
template <class T>
void SetAtomicMin() {
  SetAtomicAdd<T>();
  attnemu::core->reg.atomic = attnemu::AtomicOp::Min;
}
inline void SetAtomicNone() { attnemu::core->reg.atomic = attnemu::AtomicOp::None; }
inline void DisableDmaAtomic() { SetAtomicNone(); }

inline void SetMaskCount() { attnemu::core->reg.counter_mode = true; }
inline void SetMaskNorm() { attnemu::core->reg.counter_mode = false; }
inline void ResetMask() { attnemu::core->reg.mask[0] = attnemu::core->reg.mask[1] = ~0ull; }
template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(uint64_t high, uint64_t low) {
  attnemu::core->reg.mask[0] = low;
  attnemu::core->reg.mask[1] = high;
}
template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(int32_t len) {
  attnemu::LaneMask m = attnemu::LaneMask::first(static_cast<uint32_t>(len));
  bool counter = mode == MaskMode::COUNTER || attnemu::core->reg.counter_mode;
  attnemu::core->reg.mask[0] = counter ? static_cast<uint64_t>(len) : m.bits[0];
  attnemu::core->reg.mask[1] = counter ? 0 : m.bits[1];
}
inline void SetDeqScale(half scale) { attnemu::core->reg.deq_scale = scale; }
inline void SetHF32Mode(bool on) { attnemu::core->reg.hf32 = on; }
inline void SetHF32TransMode(bool) {}
inline void SetMMLayoutTransform(bool) {}
template <class T, TPosition pos = TPosition::MAX>
void SetPadValue(T value) { attnemu::core->reg.pad_value = detail::bits_of_value(value); }

constexpr uint32_t GetUBSizeInBytes() { return attnemu::memory_bytes(attnemu::MemoryKind::UB); }
inline uint32_t GetRuntimeUBSize() { return GetUBSizeInBytes(); }
constexpr uint32_t GetDataBlockSizeInBytes() { return attnemu::kBlock; }

// FLOAT is CTRL[48] of Atlas A2: half and bfloat16 results saturate or keep inf and NaN.
enum class SaturationMode : uint8_t { FLOAT, FLOAT8, INT, CAST };
template <SaturationMode mode>
void SetSaturationFlag(bool enable) {
  static_assert(mode == SaturationMode::FLOAT, "SetSaturationFlag: only SaturationMode::FLOAT is modelled");
  attnemu::core->reg.saturate = enable;
}
template <SaturationMode mode>
bool GetSaturationFlag() {
  static_assert(mode == SaturationMode::FLOAT, "GetSaturationFlag: only SaturationMode::FLOAT is modelled");
  return attnemu::core->reg.saturate;
}

struct AscendCUtils {
  static void SetOverflow(uint64_t keep) { attnemu::core->reg.saturate = keep == 0; }
};

}  // namespace AscendC
