// What our hosts of public kernels share: numbers from files, device memory.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "acl/acl.h"

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::cout << "the host stops: " << what << std::endl;
  std::exit(1);
}
template <class T>
std::vector<T> numbers(const std::string& name) {
  std::ifstream file(name + ".bin", std::ios::binary);
  require(file.good(), name.c_str());
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
inline void* device(size_t bytes) {
  void* memory = nullptr;
  require(aclrtMalloc(&memory, bytes ? bytes : 32, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS, "no device memory");
  return memory;
}
template <class T>
void* copied(const std::vector<T>& values) {
  const size_t bytes = values.size() * sizeof(T);
  void* memory = device(bytes);
  if (bytes) aclrtMemcpy(memory, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  return memory;
}
// Copies the result, which ends the run.
inline int finished(aclrtStream stream, void* result, size_t bytes) {
  aclrtSynchronizeStream(stream);
  std::vector<char> values(bytes);
  aclrtMemcpy(values.data(), bytes, result, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  return 0;
}
