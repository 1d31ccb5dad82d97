// Ranges and marks for a profiler. No profiler listens: attndsl's own timeline has every launch.
#pragma once
#include <functional>
#include <string>

#include "acl_base.h"

#ifndef ACL_PROF_TENSOR_DATA_SHAPE_LEN
#define ACL_PROF_TENSOR_DATA_SHAPE_LEN 8
#endif
enum aclprofMessageType { ACL_PROF_MESSAGE_TYPE_TENSOR_INFO = 0 };

#ifndef ACL_PROF_TENSOR_INFO_DEFINED
#define ACL_PROF_TENSOR_INFO_DEFINED
#define ACL_PROF_EVENT_ATTR_VERSION 1
struct aclprofTensor { uint32_t type, format, dataType, shapeDim, shape[ACL_PROF_TENSOR_DATA_SHAPE_LEN]; };
struct aclprofTensorInfo {
  uint64_t opNameId, opTypeId;
  uint32_t resv, tensorNum, kernelType, blockNums;
  void* stream;
  aclprofTensor* tensors;
};
struct aclprofEventAttributes {
  uint16_t version, size;
  uint32_t messageType;
  union Message { aclprofTensorInfo* tensorInfo; } message;
};
#endif

inline uint64_t aclprofStr2Id(const char* message) { return message ? std::hash<std::string>()(message) : 0; }
inline aclError aclprofRangePushEx(aclprofEventAttributes*) { return ACL_SUCCESS; }
inline aclError aclprofRangePop() { return ACL_SUCCESS; }
inline aclError aclprofMarkEx(const char*, size_t, aclrtStream) { return ACL_SUCCESS; }
