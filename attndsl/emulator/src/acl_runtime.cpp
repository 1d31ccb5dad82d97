// The acl runtime calls of a host program. Streams run at once; what nobody waited for is remembered per allocation.
#include "acl/acl_rt.h"
#undef aclrtMalloc

#include <sys/mman.h>
#include <sys/resource.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "attnemu/numeric.h"
#include "attnemu/sync.h"
#include "host_runtime.h"

using attnemu::Allocation;
using attnemu::SourceLine;

namespace attnemu {

std::vector<std::unique_ptr<Allocation>>& allocations() { static std::vector<std::unique_ptr<Allocation>> a; return a; }
void open_to_host(const Allocation& a) { mprotect(a.data, a.mapped, PROT_READ | PROT_WRITE); }
void close_to_host(const Allocation& a) {
  if (!a.shared) mprotect(a.data, a.mapped, PROT_NONE);
}

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMostPoisoned = 64ull << 20;
constexpr uint64_t kDeviceBytes = 64ull << 30;  // HBM of an Atlas A2
std::string next_name;
std::set<void*>& host_blocks() { static std::set<void*> s; return s; }
int32_t current_device = 0;
bool device_chosen = false;
int handles = 0;  // streams, events and contexts are numbers
void* current_context = nullptr;
std::map<void*, double>& recorded() { static std::map<void*, double> cycles; return cycles; }

void* new_handle() { return reinterpret_cast<void*>(static_cast<intptr_t>(++handles)); }

Allocation* find(const void* p) {
  auto* at = static_cast<const uint8_t*>(p);
  for (auto& a : allocations())
    if (at >= a->data && at < a->data + (a->mapped > a->bytes ? a->mapped : a->bytes)) return a.get();
  return nullptr;
}

std::string unique_name() {
  static std::map<std::string, int> used;
  std::string name = next_name.empty() ? "device memory" : next_name;
  next_name.clear();
  int n = ++used[name];
  return n == 1 ? name : name + " #" + std::to_string(n);
}

unsigned long long number(uint64_t n) { return n; }

uint64_t memory_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  return limit.rlim_cur;
}

void wait_for(void* stream, bool all) {
  for (auto& a : allocations())
    if (all || a->pending_stream == stream) a->pending_stream = nullptr, a->pending_write = false;
}

// One side of a copy. A device pointer must lie in an allocation that has the bytes; a host pointer in none.
bool side_is_valid(const void* p, uint64_t count, bool device, const char* call, const char* side, const SourceLine& at, Allocation*& found) {
  found = find(p);
  if (device != (found != nullptr)) {
    report_host("memcheck", "wrong_direction", at,
                format("%s: the %s is %s memory, but the kind of the copy says %s", call, side, found ? "device" : "host", device ? "device" : "host"),
                found ? found->name : "");
    return false;
  }
  if (!found) return p != nullptr;
  uint64_t from = static_cast<uint64_t>(static_cast<const uint8_t*>(p) - found->data);
  if (from + count <= found->bytes) return true;
  report_host("memcheck", "out_of_range", at,
              format("%s: the %s is bytes [%llu, %llu) of %s, which has %llu", call, side, number(from), number(from + count),
                     found->name.c_str(), number(found->bytes)),
              found->name, from, count);
  return false;
}

void check_waited_for(const Allocation* a, bool writes, const char* call, const SourceLine& at) {
  if (!a || !a->pending_stream || !(writes || a->pending_write)) return;
  report_host("racecheck", "stream_not_synchronized", at,
              format("%s touches %s while a kernel that %s it may still run: aclrtSynchronizeStream first", call, a->name.c_str(),
                     a->pending_write ? "writes" : "reads"),
              a->name);
}

// What a kernel stored without a value is a finding at the kernel's line. Bytes that nothing wrote are one only when the
// host asks for nothing else: a result smaller than its buffer is no defect.
void check_defined(Allocation& a, uint64_t from, uint64_t count, const char* call, const SourceLine& at) {
  if (a.shadow.is_defined(from, count)) return;
  uint64_t unwritten = 0;
  bool any_tainted = false;
  Extent range;
  range.at = from;
  range.run = count;
  for_each_block(range, [&](uint64_t block, uint32_t mask) {
    uint32_t undefined = mask & ~a.shadow.defined[block];
    auto found = a.tainted.find(block);
    uint32_t stored = found == a.tainted.end() ? 0 : undefined & found->second.mask;
    unwritten += static_cast<uint64_t>(__builtin_popcount(undefined & ~stored));
    if (!stored) return;
    any_tainted = true;
    uint64_t first = block * kBlock + static_cast<uint64_t>(__builtin_ctz(stored));
    report_host("initcheck", "undefined_value", at,
                format("byte %llu of %s and %d more of its block were stored without a defined value and are copied to the host", number(first),
                       a.name.c_str(), __builtin_popcount(stored) - 1),
                a.name, first, static_cast<uint64_t>(__builtin_popcount(stored)), found->second.source);
  });
  if (!any_tainted && unwritten == count)
    report_host("initcheck", "never_written", at,
                format("%s copies bytes [%llu, %llu) of %s to the host, which nothing ever wrote", call, number(from), number(from + count), a.name.c_str()),
                a.name, from, count);
}

aclError copy(const char* call, void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind, bool waits, const SourceLine& at) {
  if (count == 0) return ACL_SUCCESS;
  if (count > room) {
    report_host("memcheck", "out_of_range", at, format("%s: %llu bytes into a destination of %llu", call, number(count), number(room)), "");
    return ACL_ERROR_INVALID_PARAM;
  }
  bool from_device = kind == ACL_MEMCPY_DEFAULT ? find(src) != nullptr : kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  bool to_device = kind == ACL_MEMCPY_DEFAULT ? find(dst) != nullptr : kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  Allocation *source = nullptr, *target = nullptr;
  if (!side_is_valid(dst, count, to_device, call, "destination", at, target) || !side_is_valid(src, count, from_device, call, "source", at, source))
    return ACL_ERROR_INVALID_PARAM;
  if (waits) {
    check_waited_for(source, false, call, at);
    check_waited_for(target, true, call, at);
  }
  if (source) open_to_host(*source);
  if (target) open_to_host(*target);
  std::memmove(dst, src, count);
  uint64_t from = source ? static_cast<uint64_t>(static_cast<const uint8_t*>(src) - source->data) : 0;
  if (source && !target) {
    check_defined(*source, from, count, call, at);
    save_copy_to_host(dst, count);
  }
  if (target) {
    uint64_t to = static_cast<uint64_t>(static_cast<uint8_t*>(dst) - target->data);
    if (!source) target->shadow.set_defined(to, count, true);
    else for (uint64_t i = 0; i < count; ++i) target->shadow.set_defined(to + i, 1, source->shadow.is_defined(from + i, 1));
  }
  if (source) close_to_host(*source);
  if (target) close_to_host(*target);
  return ACL_SUCCESS;
}

aclError fill(const char* call, void* p, size_t room, int32_t value, size_t count, bool waits, const SourceLine& at) {
  Allocation* a = nullptr;
  if (count > room || !side_is_valid(p, count, true, call, "destination", at, a)) return ACL_ERROR_INVALID_PARAM;
  if (waits) check_waited_for(a, true, call, at);
  open_to_host(*a);
  std::memset(p, value, count);
  close_to_host(*a);
  a->shadow.set_defined(static_cast<uint64_t>(static_cast<uint8_t*>(p) - a->data), count, true);
  return ACL_SUCCESS;
}

// Never-written memory. Zeros, the default, are what the pages already hold.
void fill_unwritten(const Allocation& a, uint32_t pattern) {
  if (pattern == 0 || a.bytes > kMostPoisoned) return;
  open_to_host(a);
  for (uint64_t i = 0; i < a.bytes; ++i) a.data[i] = static_cast<uint8_t>(pattern >> (i % 2 * 8));
  close_to_host(a);
}

aclError give(void** to) {
  if (!to) return ACL_ERROR_INVALID_PARAM;
  *to = new_handle();
  return ACL_SUCCESS;
}

}  // namespace

NameNextAllocation::NameNextAllocation(const char* expression) {
  int depth = 0;
  std::string first;
  for (const char* c = expression; *c && !(*c == ',' && depth == 0); ++c) {
    if (std::strchr("(<[", *c)) ++depth;
    if (std::strchr(")>]", *c) && !(*c == '>' && c > expression && c[-1] == '-')) --depth;
    first += *c;
  }
  while (!first.empty() && (first.back() == ')' || first.back() == ' ')) first.pop_back();
  size_t start = first.find_last_of(")(&* ");
  next_name = start == std::string::npos ? first : first.substr(start + 1);
}

}  // namespace attnemu

using namespace attnemu;

aclError aclrtMalloc(void** p, size_t size, aclrtMemMallocPolicy, SourceLine at) {
  std::string name = unique_name();
  if (!device_chosen) {
    report_host("memcheck", "no_device", at, "aclrtMalloc without a context: aclrtSetDevice first", name, 0, size);
    device_chosen = true;  // once
  }
  if (!p || size == 0) return ACL_ERROR_INVALID_PARAM;
  *p = nullptr;
  uint64_t taken = 0, mapped = round_up(size, kPage) + kRoom;
  for (auto& a : allocations()) taken += a->bytes;
  bool fits = size <= kDeviceBytes && taken + size <= kDeviceBytes;
  void* space = fits ? mmap(nullptr, mapped + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
  auto a = std::make_unique<Allocation>();
  if (space != MAP_FAILED) {
    try {
      a->shadow.defined.assign(ceil_div(mapped, kBlock) + 1, 0);
    } catch (const std::bad_alloc&) {
      munmap(space, mapped + kPage);
      space = MAP_FAILED;
    }
  }
  if (space == MAP_FAILED) {
    std::string bound = fits ? format("the limit of %llu MiB on the memory of this run allows (--memory)", number(memory_limit() >> 20)) : "the 64 GiB of the device";
    report_host("memcheck", "out_of_memory", at,
                format("aclrtMalloc: %llu bytes for %s, with %llu in use, are more than %s", number(size), name.c_str(), number(taken),
                       bound.c_str()),
                name, 0, size);
    return ACL_ERROR_RT_MEMORY_ALLOCATION;
  }
  a->name = name;
  a->data = static_cast<uint8_t*>(space);
  a->bytes = size;
  a->mapped = mapped;
  fill_unwritten(*a, knobs().device_poison);
  *p = a->data;
  allocations().push_back(std::move(a));
  return ACL_SUCCESS;
}

aclError aclrtFree(void* p, SourceLine at) {
  if (!p) return ACL_ERROR_INVALID_PARAM;
  auto& all = allocations();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i]->data != p) continue;
    if (all[i]->pending_stream)
      report_host("racecheck", "stream_not_synchronized", at,
                  format("aclrtFree of %s while a kernel that uses it may still run: aclrtSynchronizeStream first", all[i]->name.c_str()), all[i]->name);
    munmap(p, all[i]->mapped + kPage);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    return ACL_SUCCESS;
  }
  report_host("memcheck", "illegal_free", at, "aclrtFree: the address is none that aclrtMalloc gave, or was freed before", "");
  return ACL_ERROR_INVALID_PARAM;
}

aclError aclrtMallocHost(void** p, size_t size) {
  if (!p || size == 0) return ACL_ERROR_INVALID_PARAM;
  *p = std::malloc(size);
  if (!*p) return ACL_ERROR_RT_MEMORY_ALLOCATION;
  host_blocks().insert(*p);
  return ACL_SUCCESS;
}

aclError aclrtFreeHost(void* p, SourceLine at) {
  if (!p) return ACL_ERROR_INVALID_PARAM;
  if (host_blocks().erase(p) == 0) {
    report_host("memcheck", "illegal_free", at, "aclrtFreeHost: the address is none that aclrtMallocHost gave, or was freed before", "");
    return ACL_ERROR_INVALID_PARAM;
  }
  std::free(p);
  return ACL_SUCCESS;
}

aclError aclrtMemset(void* p, size_t room, int32_t value, size_t count, SourceLine at) { return fill("aclrtMemset", p, room, value, count, true, at); }
aclError aclrtMemsetAsync(void* p, size_t room, int32_t value, size_t count, aclrtStream, SourceLine at) {
  return fill("aclrtMemsetAsync", p, room, value, count, false, at);
}
aclError aclrtMemcpy(void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind, SourceLine at) {
  return copy("aclrtMemcpy", dst, room, src, count, kind, true, at);
}
aclError aclrtMemcpyAsync(void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind, aclrtStream, SourceLine at) {
  return copy("aclrtMemcpyAsync", dst, room, src, count, kind, false, at);
}
aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  uint64_t taken = 0;
  for (auto& a : allocations()) taken += a->bytes;
  *total = kDeviceBytes;
  *free = kDeviceBytes - taken;
  return ACL_SUCCESS;
}

aclError aclInit(const char*) { return ACL_SUCCESS; }
aclError aclFinalize() { return ACL_SUCCESS; }
aclError aclrtSetDevice(int32_t id) { current_device = id; device_chosen = true; return ACL_SUCCESS; }
aclError aclrtResetDevice(int32_t) { wait_for(nullptr, true); return ACL_SUCCESS; }
aclError aclrtGetDevice(int32_t* id) { *id = current_device; return ACL_SUCCESS; }
aclError aclrtGetDeviceCount(uint32_t* count) { *count = 1; return ACL_SUCCESS; }
aclError aclrtGetRunMode(aclrtRunMode* mode) { *mode = ACL_HOST; return ACL_SUCCESS; }
aclError aclrtSynchronizeDevice() { wait_for(nullptr, true); return ACL_SUCCESS; }
aclError aclrtResetDeviceForce(int32_t id) { return aclrtResetDevice(id); }
aclError aclrtGetLastError(aclrtLastErrLevel) { return ACL_SUCCESS; }
aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return ACL_SUCCESS; }
aclError aclrtGetHardwareSyncAddr(void** addr) {
  if (!addr) return ACL_ERROR_INVALID_PARAM;
  *addr = reinterpret_cast<void*>(kSyncBase);
  return ACL_SUCCESS;
}
int rtGetC2cCtrlAddr(uint64_t* addr, uint32_t* len) {
  *addr = kSyncBase;
  *len = 0;
  return 0;
}
const char* aclrtGetSocName() { return "Ascend910B1"; }
aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo info, int64_t* value) {
  constexpr int64_t kOfAscend910B1[] = {24, 48, 192 << 20};
  if (device != 0 || !value || info < ACL_DEVICE_INFO_AI_CORE_NUM || info > ACL_DEVICE_INFO_L2_SIZE) return ACL_ERROR_INVALID_PARAM;
  *value = kOfAscend910B1[info];
  return ACL_SUCCESS;
}

aclError aclrtCreateContext(aclrtContext* context, int32_t id) {
  current_device = id;
  device_chosen = true;
  aclError result = give(context);
  if (result == ACL_SUCCESS) current_context = *context;
  return result;
}
aclError aclrtDestroyContext(aclrtContext) { return ACL_SUCCESS; }
aclError aclrtSetCurrentContext(aclrtContext context) { current_context = context; return ACL_SUCCESS; }
aclError aclrtGetCurrentContext(aclrtContext* context) { *context = current_context; return ACL_SUCCESS; }

aclError aclrtCreateStream(aclrtStream* stream) { return give(stream); }
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) { return give(stream); }
aclError aclrtDestroyStream(aclrtStream stream) { wait_for(stream, false); return ACL_SUCCESS; }
aclError aclrtSynchronizeStream(aclrtStream stream) { wait_for(stream, false); return ACL_SUCCESS; }
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) { return aclrtSynchronizeStream(stream); }

// Orders by events are not followed: after a wait everything counts as complete.
aclError aclrtCreateEvent(aclrtEvent* event) { return give(event); }
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) { return give(event); }
aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t) { return give(event); }
aclError aclrtDestroyEvent(aclrtEvent) { return ACL_SUCCESS; }
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream) {
  recorded()[event] = device_cycles();
  return ACL_SUCCESS;
}
// Launches follow each other, so that the time between two events is that of the launches between them.
aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent start, aclrtEvent end) {
  auto from = recorded().find(start), to = recorded().find(end);
  if (!milliseconds || from == recorded().end() || to == recorded().end()) return ACL_ERROR_INVALID_PARAM;
  double cycles = to->second - from->second;
  *milliseconds = cycles == 0 ? 0 : static_cast<float>(cycles / cost_table().rates.clock * 1e3);
  return ACL_SUCCESS;
}
aclError aclrtStreamWaitEvent(aclrtStream, aclrtEvent) { return ACL_SUCCESS; }
aclError aclrtSynchronizeEvent(aclrtEvent) { wait_for(nullptr, true); return ACL_SUCCESS; }

float aclFloat16ToFloat(aclFloat16 value) { return half_to_float(value); }
aclFloat16 aclFloatToFloat16(float value) { return float_to_half(value); }
size_t aclDataTypeSize(aclDataType type) {
  switch (type) {
    case ACL_INT8: case ACL_UINT8: case ACL_BOOL: return 1;
    case ACL_FLOAT16: case ACL_BF16: case ACL_INT16: case ACL_UINT16: return 2;
    case ACL_FLOAT: case ACL_INT32: case ACL_UINT32: return 4;
    case ACL_INT64: case ACL_UINT64: case ACL_DOUBLE: return 8;
    default: return 0;
  }
}
const char* aclGetRecentErrMsg() { return ""; }
