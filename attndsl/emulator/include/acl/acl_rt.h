// The acl runtime of a host program: one device, memory that only kernels and copies may touch, streams that run at once.
#pragma once
#include "acl_base.h"
#include "attnemu/base.h"

enum aclrtMemMallocPolicy {
  ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY, ACL_MEM_MALLOC_HUGE_FIRST_P2P,
  ACL_MEM_MALLOC_HUGE_ONLY_P2P, ACL_MEM_MALLOC_NORMAL_ONLY_P2P
};
enum aclrtMemcpyKind {
  ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE,
  ACL_MEMCPY_DEFAULT
};
enum aclrtMemAttr { ACL_DDR_MEM, ACL_HBM_MEM };
enum aclrtRunMode { ACL_DEVICE, ACL_HOST };
constexpr uint32_t ACL_STREAM_FAST_LAUNCH = 1;
constexpr uint32_t ACL_STREAM_FAST_SYNC = 2;
constexpr uint32_t ACL_EVENT_SYNC = 1;
constexpr uint32_t ACL_EVENT_CAPTURE_STREAM_PROGRESS = 2;
constexpr uint32_t ACL_EVENT_TIME_LINE = 8;

aclError aclInit(const char* configPath);
aclError aclFinalize();

aclError aclrtSetDevice(int32_t deviceId);
aclError aclrtResetDevice(int32_t deviceId);
aclError aclrtGetDevice(int32_t* deviceId);
aclError aclrtGetDeviceCount(uint32_t* count);
aclError aclrtGetRunMode(aclrtRunMode* runMode);
aclError aclrtSynchronizeDevice();
aclError aclrtResetDeviceForce(int32_t deviceId);
enum aclrtLastErrLevel { ACL_RT_THREAD_LEVEL = 0 };
aclError aclrtGetLastError(aclrtLastErrLevel level);
aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
// Where the cores' flags live, which kernels of older builds are given for SetSyncBaseAddr.
aclError aclrtGetHardwareSyncAddr(void** addr);
int rtGetC2cCtrlAddr(uint64_t* addr, uint32_t* len);
const char* aclrtGetSocName();
typedef enum { ACL_DEVICE_INFO_UNDEFINED = -1, ACL_DEVICE_INFO_AI_CORE_NUM = 0, ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1, ACL_DEVICE_INFO_L2_SIZE = 2 } aclDeviceInfo;
aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value);

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);
aclError aclrtDestroyContext(aclrtContext context);
aclError aclrtSetCurrentContext(aclrtContext context);
aclError aclrtGetCurrentContext(aclrtContext* context);

aclError aclrtCreateStream(aclrtStream* stream);
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag);
aclError aclrtDestroyStream(aclrtStream stream);
aclError aclrtSynchronizeStream(aclrtStream stream);
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

aclError aclrtCreateEvent(aclrtEvent* event);
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);
aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);
aclError aclrtDestroyEvent(aclrtEvent event);
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent start, aclrtEvent end);
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
aclError aclrtSynchronizeEvent(aclrtEvent event);

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy, attnemu::SourceLine at = attnemu::SourceLine::here());
aclError aclrtFree(void* devPtr, attnemu::SourceLine at = attnemu::SourceLine::here());
aclError aclrtMallocHost(void** hostPtr, size_t size);
aclError aclrtFreeHost(void* hostPtr, attnemu::SourceLine at = attnemu::SourceLine::here());
aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count, attnemu::SourceLine at = attnemu::SourceLine::here());
aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream,
                          attnemu::SourceLine at = attnemu::SourceLine::here());
aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                     attnemu::SourceLine at = attnemu::SourceLine::here());
aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind, aclrtStream stream,
                          attnemu::SourceLine at = attnemu::SourceLine::here());
aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total);

// Findings name device memory by the expression that received its address.
namespace attnemu {
struct NameNextAllocation {
  explicit NameNextAllocation(const char* expression);
};
}  // namespace attnemu
#define aclrtMalloc(...) (attnemu::NameNextAllocation(#__VA_ARGS__), aclrtMalloc(__VA_ARGS__))

#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel
