// Who am I, atomics, masks and other special registers.
#pragma once
#include "attnemu/lanes.h"
#include "attnemu/workspace.h"
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
// Ticks of the system's counter, 50 MHz on Atlas A2: what the timeline predicts for the scalar unit.
inline int64_t GetSystemCycle() {
  constexpr double kCounter = 50e6;
  return static_cast<int64_t>(attnemu::core->time.scalar() / attnemu::cost_table().rates.clock * kCounter);
}

// As on the device, the argument is not looked at.
inline GM_ADDR GetUserWorkspace(GM_ADDR, attnemu::SourceLine at = attnemu::SourceLine::here()) { return attnemu::user_workspace(at); }
inline void SetSysWorkspace(GM_ADDR workspace) { attnemu::set_system_workspace(workspace, false); }
inline void SetSysWorkSpace(GM_ADDR workspace) { SetSysWorkspace(workspace); }
inline void SetSysWorkspaceForce(GM_ADDR workspace) { attnemu::set_system_workspace(workspace); }
inline void SetSysWorkSpacePtr(GM_ADDR) {}
inline GM_ADDR GetSysWorkSpacePtr() { return nullptr; }

template <class T>
void SetAtomicAdd(attnemu::SourceLine at = attnemu::SourceLine::here()) {
  static_assert(detail::one_of<T, int8_t, int16_t, half, bfloat16_t, int32_t, float>, "SetAtomicAdd: no such element type on Atlas A2");
  attnemu::core->reg.atomic = attnemu::AtomicOp::Add;
  attnemu::core->reg.atomic_type = detail::dtype_of<T>();
  attnemu::core->reg.atomic_at = at;
}
template <class T>
void SetAtomicMax(attnemu::SourceLine at = attnemu::SourceLine::here()) {
  SetAtomicAdd<T>(at);
  attnemu::core->reg.atomic = attnemu::AtomicOp::Max;
}
template <class T>
void SetAtomicMin(attnemu::SourceLine at = attnemu::SourceLine::here()) {
  SetAtomicAdd<T>(at);
  attnemu::core->reg.atomic = attnemu::AtomicOp::Min;
}
inline void SetAtomicNone() { attnemu::core->reg.atomic = attnemu::AtomicOp::None; }
inline void DisableDmaAtomic() { SetAtomicNone(); }

// The type alone: the operation stays, and is a sum where none was set.
template <class T>
void SetAtomicType(attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::AtomicOp op = attnemu::core->reg.atomic;
  SetAtomicAdd<T>(at);
  if (op != attnemu::AtomicOp::None) attnemu::core->reg.atomic = op;
}
enum class AtomicDtype { ATOMIC_NONE = 0, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum class AtomicOp { ATOMIC_SUM = 0 };
template <AtomicDtype type, AtomicOp op>
void SetStoreAtomicConfig(attnemu::SourceLine at = attnemu::SourceLine::here()) {
  using attnemu::DType;
  constexpr DType types[] = {DType::F32, DType::F32, DType::F16, DType::I16, DType::I32, DType::I8, DType::BF16};
  attnemu::core->reg.atomic = type == AtomicDtype::ATOMIC_NONE ? attnemu::AtomicOp::None : attnemu::AtomicOp::Add;
  attnemu::core->reg.atomic_type = types[static_cast<int>(type)];
  attnemu::core->reg.atomic_at = at;
}
inline void GetStoreAtomicConfig(uint16_t& atomicType, uint16_t& atomicOp) {
  using attnemu::DType;
  constexpr DType types[] = {DType::F32, DType::F16, DType::I16, DType::I32, DType::I8, DType::BF16};
  const attnemu::Registers& r = attnemu::core->reg;
  atomicOp = r.atomic == attnemu::AtomicOp::Max ? 1 : r.atomic == attnemu::AtomicOp::Min ? 2 : 0;
  atomicType = 0;
  for (uint16_t i = 0; i < 6; ++i)
    if (r.atomic != attnemu::AtomicOp::None && r.atomic_type == types[i]) atomicType = static_cast<uint16_t>(i + 1);
}

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
inline void SetHF32Mode(bool on) { attnemu::core->reg.hf32 = on; }
inline void SetHF32TransMode(bool toZero) { attnemu::core->reg.hf32_to_zero = toZero; }
enum class HF32Mode { ENABLE, DISABLE };
enum class HF32TransMode { NEAREST_ZERO, NEAREST_EVEN };
inline void SetHF32Mode(HF32Mode mode) { SetHF32Mode(mode == HF32Mode::ENABLE); }
inline void SetHF32TransMode(HF32TransMode mode) { SetHF32TransMode(mode == HF32TransMode::NEAREST_ZERO); }
// The order in which a product comes to the fractals of its result: what write-backs by unit flags wait for, no result.
inline void SetMMLayoutTransform(bool rowsFirst) { attnemu::core->reg.product_rows_first = rowsFirst; }
inline void SetMMRowMajor() { SetMMLayoutTransform(true); }
inline void SetMMColumnMajor() { SetMMLayoutTransform(false); }
template <class T, TPosition pos = TPosition::MAX>
void SetPadValue(T value) {
  attnemu::core->reg.pad_value = detail::bits_of_value(value);
  attnemu::core->reg.pad_value_set = true;
}

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

// Of the control register only bit 48 is kept on Atlas A2: 1 keeps inf and NaN.
template <int8_t startBit, int8_t endBit>
void SetCtrlSpr(int64_t value) {
  static_assert(startBit == 48 && endBit == 48, "SetCtrlSpr: only bit 48 is modelled");
  attnemu::core->reg.saturate = (value & 1) == 0;
}
template <int8_t startBit, int8_t endBit>
int64_t GetCtrlSpr() {
  static_assert(startBit == 48 && endBit == 48, "GetCtrlSpr: only bit 48 is modelled");
  return attnemu::core->reg.saturate ? 0 : 1;
}

template <int8_t startBit, int8_t endBit>
void ResetCtrlSpr() {
  static_assert(startBit == 48 && endBit == 48, "ResetCtrlSpr: only bit 48 is modelled");
  attnemu::core->reg.saturate = attnemu::machine->knobs.saturate;
}

// dav-c220.
inline void GetArchVersion(uint32_t& coreVersion) { coreVersion = 0x220; }
inline int64_t GetProgramCounter() { return 0; }
// Instructions need no cache in the model, profilers are told nothing.
inline void ICachePreLoad(const int64_t) {}
inline int64_t GetICachePreloadStatus() { return 0; }
inline void MetricsProfStart() {}
inline void MetricsProfStop() {}

enum class EngineType { AIC, AIV };
// Calls the function on cores of one kind.
template <EngineType engine, auto function, class... A>
void Async(A... arguments) {
  if ((attnemu::core->kind == attnemu::CoreKind::Cube) == (engine == EngineType::AIC)) function(arguments...);
}

struct AscendCUtils {
  static void SetOverflow(uint64_t keep) { attnemu::core->reg.saturate = keep == 0; }
};

}  // namespace AscendC

using AscendC::GetSysWorkSpacePtr;
