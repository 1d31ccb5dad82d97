// Tiling data of host programs: a class with a setter a field, whose fields lie in memory as those of a plain struct.
#pragma once
#include <cstdint>
#include <cstring>

#include "securec.h"  // host programs lean on the official header for it

#define BEGIN_TILING_DATA_DEF(Name)                                            \
  class Name {                                                                 \
   public:                                                                     \
    size_t GetDataSize() const { return sizeof(Name); }                        \
    void SaveToBuffer(void* to, size_t capacity) const {                       \
      if (capacity >= sizeof(Name)) std::memcpy(to, this, sizeof(Name));       \
    }
#define TILING_DATA_FIELD_DEF(Type, field)       \
    void set_##field(Type value) { field = value; } \
    Type get_##field() const { return field; }   \
    Type field{};
#define TILING_DATA_FIELD_DEF_ARR(Type, length, field)                               \
    void set_##field(const Type* values) { std::memcpy(field, values, sizeof field); } \
    Type* get_##field() { return field; }                                            \
    Type field[length]{};
#define TILING_DATA_FIELD_DEF_STRUCT(Type, field) Type field{};
#define END_TILING_DATA_DEF }
#define REGISTER_TILING_DATA_CLASS(Operator, Type)
