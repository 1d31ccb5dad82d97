// Bounds-checked copies of host programs (securec): 0, or why nothing was copied.
#pragma once
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

#ifndef EOK
#define EOK 0
#endif
typedef int errno_t;

inline errno_t memcpy_s(void* dest, size_t destMax, const void* src, size_t count) {
  if (!dest || !src) return EINVAL;
  if (count > destMax) return ERANGE;
  std::memmove(dest, src, count);
  return EOK;
}
inline errno_t memmove_s(void* dest, size_t destMax, const void* src, size_t count) { return memcpy_s(dest, destMax, src, count); }
inline errno_t memset_s(void* dest, size_t destMax, int c, size_t count) {
  if (!dest) return EINVAL;
  if (count > destMax) return ERANGE;
  std::memset(dest, c, count);
  return EOK;
}
inline errno_t strncpy_s(char* dest, size_t destMax, const char* src, size_t count) {
  if (!dest || !src || !destMax) return EINVAL;
  size_t n = strnlen(src, count);
  if (n >= destMax) return ERANGE;
  std::memcpy(dest, src, n);
  dest[n] = 0;
  return EOK;
}
inline errno_t strcpy_s(char* dest, size_t destMax, const char* src) { return src ? strncpy_s(dest, destMax, src, std::strlen(src)) : EINVAL; }
inline errno_t strcat_s(char* dest, size_t destMax, const char* src) {
  size_t have = dest ? strnlen(dest, destMax) : destMax;
  return have < destMax ? strcpy_s(dest + have, destMax - have, src) : EINVAL;
}
// Characters written, or -1.
__attribute__((format(printf, 4, 5))) inline int snprintf_s(char* dest, size_t destMax, size_t count, const char* pattern, ...) {
  if (!dest || !destMax || count >= destMax) return -1;
  va_list arguments;
  va_start(arguments, pattern);
  int n = std::vsnprintf(dest, count + 1, pattern, arguments);
  va_end(arguments);
  return n < 0 || static_cast<size_t>(n) > count ? -1 : n;
}
__attribute__((format(printf, 3, 4))) inline int sprintf_s(char* dest, size_t destMax, const char* pattern, ...) {
  if (!dest || !destMax) return -1;
  va_list arguments;
  va_start(arguments, pattern);
  int n = std::vsnprintf(dest, destMax, pattern, arguments);
  va_end(arguments);
  if (n >= 0 && static_cast<size_t>(n) < destMax) return n;
  dest[0] = 0;
  return -1;
}
