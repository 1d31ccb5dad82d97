// Flags, barriers, the scalar unit and its cache, special registers, who am I.
#pragma once
#include "attnemu/sync.h"
#include "places.h"

inline void set_flag(pipe_t from, pipe_t to, int64_t id, ATTNEMU_AT) {
  attnemu::set_flag(attnemu::intrinsics::pipe_of(from), attnemu::intrinsics::pipe_of(to), static_cast<int>(id), at);
}
inline void wait_flag(pipe_t from, pipe_t to, int64_t id, ATTNEMU_AT) {
  attnemu::wait_flag(attnemu::intrinsics::pipe_of(from), attnemu::intrinsics::pipe_of(to), static_cast<int>(id), at);
}
inline void pipe_barrier(pipe_t pipe, ATTNEMU_AT) {
  if (pipe == PIPE_ALL) attnemu::pipe_barrier_all(at);
  else attnemu::pipe_barrier(attnemu::intrinsics::pipe_of(pipe), at);
}
// Bits 4 and 5: the mode; 8 to 11: the flag.
inline void ffts_cross_core_sync(pipe_t pipe, uint64_t config, ATTNEMU_AT) {
  attnemu::cross_core_set(static_cast<int>(config >> 4 & 3), attnemu::intrinsics::pipe_of(pipe), static_cast<int>(config >> 8 & 15), at);
}
inline void wait_flag_dev(int64_t id, ATTNEMU_AT) { attnemu::cross_core_wait(static_cast<int>(id), at); }
inline void set_ffts_base_addr(uint64_t address, ATTNEMU_AT) { attnemu::set_sync_base(address, at); }
inline void dsb(mem_dsb_t, ATTNEMU_AT) { attnemu::data_barrier(at); }

// Cleans the line at `p`, or all lines. UB is not cached in the model.
inline void dcci(const void* p, uint64_t entire, uint64_t type = CACHELINE_ALL, ATTNEMU_AT) {
  if (entire == ENTIRE_DATA_CACHE) return attnemu::clean_cache(at);
  if (type == CACHELINE_UB) return attnemu::clean_nothing(at);
  attnemu::Place line = attnemu::intrinsics::in_global(p, "dcci", at);
  if (line.memory) attnemu::clean_cache_line(line, at);
}
inline void dc_preload(uint64_t* p, int64_t offset, ATTNEMU_AT) {
  attnemu::Place line = attnemu::intrinsics::in_global(reinterpret_cast<uint8_t*>(p) + offset, "dc_preload", at);
  if (line.memory) attnemu::preload_line(line, at);
}
// Instructions need no cache in the model.
inline void preload(const void*, int64_t = 0) {}

inline void set_vector_mask(uint64_t high, uint64_t low) {
  attnemu::core->reg.mask[0] = low;
  attnemu::core->reg.mask[1] = high;
}
inline void set_mask_count() { attnemu::core->reg.counter_mode = true; }
inline void set_mask_norm() { attnemu::core->reg.counter_mode = false; }
// Of the control register bits 46 and 47 round operands of float products, 48 keeps inf and NaN of halves, 51 has products
// come to their results row by row; others are kept.
inline uint64_t get_ctrl() {
  const attnemu::Registers& r = attnemu::core->reg;
  return r.control | static_cast<uint64_t>(r.hf32) << 46 | static_cast<uint64_t>(r.hf32_to_zero) << 47 | static_cast<uint64_t>(!r.saturate) << 48 |
         static_cast<uint64_t>(r.product_rows_first) << 51;
}
inline void set_ctrl(uint64_t bits) {
  attnemu::Registers& r = attnemu::core->reg;
  r.control = bits & ~(7ull << 46 | 1ull << 51);
  r.hf32 = bits >> 46 & 1;
  r.hf32_to_zero = bits >> 47 & 1;
  r.saturate = !(bits >> 48 & 1);
  r.product_rows_first = bits >> 51 & 1;
}

inline int64_t get_block_num() { return attnemu::machine->shape.blocks; }
inline int64_t get_block_idx() { return attnemu::core->block; }
inline int64_t get_subblockdim() { return attnemu::core->kind == attnemu::CoreKind::Vector ? attnemu::machine->shape.vectors : 1; }
inline int64_t get_subblockid() { return attnemu::core->kind == attnemu::CoreKind::Vector ? attnemu::core->sub : 0; }
// dav-c220, in the upper half.
inline uint64_t get_arch_ver() { return 0x220ull << 32; }
inline int64_t get_pc() { return 0; }
inline uint64_t get_imm(uint64_t low, uint64_t second = 0, uint64_t third = 0, uint64_t high = 0) { return low | second << 16 | third << 32 | high << 48; }

// The first bit that is 0, or 1; -1 where there is none.
inline int64_t sff0(uint64_t bits) { return ~bits ? __builtin_ctzll(~bits) : -1; }
inline int64_t sff1(uint64_t bits) { return bits ? __builtin_ctzll(bits) : -1; }
inline uint64_t sbitset0(uint64_t bits, int64_t index) { return bits & ~(1ull << index); }
inline uint64_t sbitset1(uint64_t bits, int64_t index) { return bits | 1ull << index; }
inline int64_t bcnt0(uint64_t bits) { return 64 - __builtin_popcountll(bits); }
inline int64_t bcnt1(uint64_t bits) { return __builtin_popcountll(bits); }
inline int64_t clz(uint64_t bits) { return bits ? __builtin_clzll(bits) : 64; }
// Bits that follow the sign and equal it.
inline int64_t sflbits(int64_t value) { return clz(static_cast<uint64_t>(value ^ (value >> 63))) - 1; }

// One number, rounded as the vector unit rounds.
#define ATTNEMU_CONVERT(name, To, Mode) \
  inline To name(float v) { return attnemu::to_integer<To>(static_cast<double>(v), attnemu::Rounding::Mode); }
ATTNEMU_CONVERT(conv_f322s32a, int32_t, Round) ATTNEMU_CONVERT(conv_f322s32c, int32_t, Ceil) ATTNEMU_CONVERT(conv_f322s32f, int32_t, Floor)
ATTNEMU_CONVERT(conv_f322s32r, int32_t, Rint) ATTNEMU_CONVERT(conv_f322s32z, int32_t, Trunc)
#undef ATTNEMU_CONVERT
inline half conv_f322f16o(float v) {
  half h;
  h.bits = attnemu::float_to_half(v, attnemu::Rounding::Odd);
  return h;
}
// Around the scalar unit's cache; `offset` in bytes.
template <class T, class U>
void st_dev(T value, U* p, int64_t offset, ATTNEMU_AT) {
  attnemu::Place place = attnemu::intrinsics::in_global(reinterpret_cast<uint8_t*>(p) + offset, "st_dev", at);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(U) < sizeof(T) ? sizeof(U) : sizeof(T));
  if (place.memory) attnemu::store_uncached(place, bits, sizeof(U), "st_dev", at);
}
template <class T>
T ld_dev(T* p, int64_t offset, ATTNEMU_AT) {
  attnemu::Place place = attnemu::intrinsics::in_global(reinterpret_cast<uint8_t*>(p) + offset, "ld_dev", at);
  uint64_t bits = place.memory ? attnemu::load_uncached(place, sizeof(T), "ld_dev", at) : 0;
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
inline int64_t get_coreid() { return attnemu::core->index; }
// 50 MHz on Atlas A2: what the timeline predicts for the scalar unit.
inline uint64_t get_sys_cnt() { return static_cast<uint64_t>(attnemu::core->time.scalar() / attnemu::cost_table().rates.clock * 50e6); }
