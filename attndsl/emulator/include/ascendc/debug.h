// What kernels print and assert: printf, DumpTensor, assert, Trap. All of it appears at once, in the order of the run.
#pragma once
#include <cstdio>
#include <string>

#include "attnemu/halt.h"
#include "tensor.h"

#ifndef ASCENDC_DUMP
#define ASCENDC_DUMP 1
#endif

namespace AscendC {
namespace detail {

// half and bfloat16 travel as double, the rest as C does it.
template <class T>
auto printable(const T& v) {
  if constexpr (one_of<T, half, bfloat16_t>) return static_cast<double>(static_cast<float>(v));
  else return v;
}
template <class... A>
std::string printed(const char* format, const A&... arguments) {
  char text[4096];
  int n = std::snprintf(text, sizeof text, format, printable(arguments)...);
  return n < 0 ? std::string() : std::string(text);
}
inline std::string printed() { return {}; }

template <class T>
std::string value_text(T v) {
  char text[64];
  if constexpr (one_of<T, half, bfloat16_t, float>) std::snprintf(text, sizeof text, "%f", static_cast<double>(static_cast<float>(v)));
  else if constexpr (std::is_signed_v<T>) std::snprintf(text, sizeof text, "%lld", static_cast<long long>(v));
  else std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(v));
  return text;
}

// Values in the nesting of `shape`; "-" where the dump has fewer than the shape.
template <class T>
void print_values(const attnemu::Place& from, uint32_t count, const uint32_t* shape, uint32_t dims) {
  uint64_t total = 1;
  for (uint32_t d = 0; d < dims; ++d) total *= shape[d];
  for (uint64_t i = 0; i < total; ++i) {
    uint64_t inner = 1;
    int opened = 0, closed = 0;
    for (uint32_t d = dims; d-- > 0;) {
      inner *= shape[d];
      opened += i % inner == 0;
      closed += (i + 1) % inner == 0;
    }
    T v{};
    bool there = i < count && from.at + (i + 1) * sizeof(T) <= from.memory->bytes;
    if (there) std::memcpy(&v, from.memory->data + from.at + i * sizeof(T), sizeof(T));
    std::printf("%s%s%s%s", std::string(static_cast<size_t>(opened), '[').c_str(), there ? value_text(v).c_str() : "-", std::string(static_cast<size_t>(closed), ']').c_str(),
                i + 1 == total ? "\n" : closed ? ",\n" : ", ");
  }
}
template <class T>
void dump(const attnemu::Place& from, const char* position, uint64_t address, uint32_t desc, uint32_t count, const uint32_t* shape, uint32_t dims) {
  if (!ASCENDC_DUMP || !from.memory) return;
  std::printf("DumpTensor: desc=%u, addr=0x%llx, data_type=%s, position=%s, dump_size=%u\n", desc, static_cast<unsigned long long>(address), attnemu::name_of(dtype_of<T>()), position, count);
  if (count) print_values<T>(from, count, shape, dims);
}

[[noreturn]] void assertion_failed(const char* expression, const SourceLine& at, const std::string& text);

}  // namespace detail

template <class... A>
void printf(const char* format, const A&... arguments) {
  if (ASCENDC_DUMP) std::fputs(detail::printed(format, arguments...).c_str(), stdout);
}
template <class... A>
void PRINTF(const char* format, const A&... arguments) { AscendC::printf(format, arguments...); }

template <class T>
void DumpTensor(const LocalTensor<T>& t, uint32_t desc, uint32_t dumpSize) {
  detail::dump<T>(t.place(), attnemu::name_of(detail::memory_of(t.position())), t.GetPhyAddr(), desc, dumpSize, &dumpSize, 1);
}
template <class T>
void DumpTensor(const LocalTensor<T>& t, uint32_t desc, uint32_t dumpSize, const ShapeInfo& shape) {
  detail::dump<T>(t.place(), attnemu::name_of(detail::memory_of(t.position())), t.GetPhyAddr(), desc, dumpSize, shape.shape, shape.shapeDim);
}
template <class T>
void DumpTensor(const GlobalTensor<T>& t, uint32_t desc, uint32_t dumpSize, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  detail::dump<T>(detail::global_place(t.GetPhyAddr(), "DumpTensor", at), "GM", reinterpret_cast<uint64_t>(t.GetPhyAddr()), desc, dumpSize, &dumpSize, 1);
}
template <class T>
void DumpTensor(const GlobalTensor<T>& t, uint32_t desc, uint32_t dumpSize, const ShapeInfo& shape, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  detail::dump<T>(detail::global_place(t.GetPhyAddr(), "DumpTensor", at), "GM", reinterpret_cast<uint64_t>(t.GetPhyAddr()), desc, dumpSize, shape.shape, shape.shapeDim);
}
template <class Tensor>
void DumpAccChkPoint(const Tensor& t, uint32_t index, uint32_t countOff, uint32_t dumpSize) { DumpTensor(t[countOff], index, dumpSize); }

// A row a block of 32 bytes, with the number of its first element.
template <class T>
void LocalTensor<T>::Print(uint32_t len) const {
  constexpr uint32_t kRow = attnemu::kBlock / sizeof(T);
  const attnemu::Place from = place();
  for (uint32_t i = 0; i < len && i < GetSize() && from.memory && from.at + (i + 1ull) * sizeof(T) <= from.memory->bytes; ++i) {
    T v;
    std::memcpy(&v, from.memory->data + from.at + i * sizeof(T), sizeof(T));
    if (i % kRow == 0) std::printf("%s%04u : ", i ? "\n" : "", i);
    std::printf("%s ", detail::value_text(v).c_str());
  }
  std::printf("\n");
}
template <class T>
int32_t LocalTensor<T>::ToFile(const std::string& fileName) const {
  const attnemu::Place from = place();
  uint64_t bytes = address_.dataLen;
  if (!from.memory || from.at + bytes > from.memory->bytes) return 1;
  std::FILE* file = std::fopen(fileName.c_str(), "wb");
  if (!file) return 1;
  bool whole = std::fwrite(from.memory->data + from.at, 1, bytes, file) == bytes;
  return std::fclose(file) == 0 && whole ? 0 : 1;
}

inline void Trap(attnemu::SourceLine at = attnemu::SourceLine::here()) { detail::assertion_failed("Trap", at, ""); }
// Off on the device, too, unless a build asks for it.
inline void PrintTimeStamp(uint32_t) {}

}  // namespace AscendC

// asc-devkit's dumps of what an address points at, in the memory that the function's name says.
namespace attnemu {
template <class T>
void dump_address(MemoryKind kind, T* address, uint32_t desc, uint32_t count) {
  AscendC::detail::dump<T>({core->memory(kind), reinterpret_cast<uint64_t>(address)}, name_of(kind), reinterpret_cast<uint64_t>(address), desc, count, &count, 1);
}
}  // namespace attnemu
template <class T>
void asc_dump_gm(__gm__ T* input, uint32_t desc, uint32_t size, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  AscendC::detail::dump<T>(AscendC::detail::global_place(input, "asc_dump_gm", at), "GM", reinterpret_cast<uint64_t>(input), desc, size, &size, 1);
}
template <class T>
void asc_dump_ubuf(__ubuf__ T* input, uint32_t desc, uint32_t size) { attnemu::dump_address(attnemu::MemoryKind::UB, input, desc, size); }
template <class T>
void asc_dump_l1buf(__cbuf__ T* input, uint32_t desc, uint32_t size) { attnemu::dump_address(attnemu::MemoryKind::L1, input, desc, size); }
template <class T>
void asc_dump_cbuf(__cc__ T* input, uint32_t desc, uint32_t size) { attnemu::dump_address(attnemu::MemoryKind::L0C, input, desc, size); }

// assert as kernels know it: with a message, too. An expression without one prints itself alone.
#undef assert
#undef ascendc_assert
#if ASCENDC_DUMP && !defined(NDEBUG)
#define ATTNEMU_ASSERT(expression, ...)                                                                        \
  ((expression) ? void(0)                                                                                      \
                : AscendC::detail::assertion_failed(#expression, attnemu::SourceLine{__FILE__, __LINE__}, AscendC::detail::printed(__VA_ARGS__)))
#else
#define ATTNEMU_ASSERT(expression, ...) void(0)
#endif
#define assert(...) ATTNEMU_ASSERT(__VA_ARGS__)
#define ascendc_assert(...) ATTNEMU_ASSERT(__VA_ARGS__)
#define ASSERT(...) ATTNEMU_ASSERT(__VA_ARGS__)
// What the library's sources and those modelled on them say: as in CPU mode, a failed assertion does `behavior` and ends.
#define ASCENDC_ASSERT(condition, behavior)                 \
  do {                                                      \
    if (!(condition)) {                                     \
      behavior;                                             \
      ATTNEMU_ASSERT(false, "%s", #condition);              \
    }                                                       \
  } while (0)
#define KERNEL_LOG(level, ...) std::printf("[" #level "] %s\n", AscendC::detail::printed(__VA_ARGS__).c_str())
