// Instances of the API that many kernels use: compiled once, in src/kernel_instances.cpp, and not in every kernel.
// What is not listed is instantiated where it is used, as ever. Included by kernel_operator.h alone.
#pragma once
#include "cube.h"
#include "data_copy.h"
#include "sync.h"
#include "vector_arith.h"
#include "vector_cast.h"
#include "vector_compare.h"
#include "vector_gather.h"
#include "vector_reduce.h"

// kernel_instances.cpp defines it as nothing
#ifndef ATTNEMU_INSTANCE
#define ATTNEMU_INSTANCE extern
#endif

namespace AscendC {

#define ATTNEMU_AT_LINE attnemu::SourceLine

#define ATTNEMU_BINARY(Name, T)                                                                                            \
  ATTNEMU_INSTANCE template void Name<T>(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&, const int32_t&, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void Name<T, true>(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&, uint64_t, uint8_t, const BinaryRepeatParams&, ATTNEMU_AT_LINE);
#define ATTNEMU_ARITHMETIC(T) ATTNEMU_BINARY(Add, T) ATTNEMU_BINARY(Sub, T) ATTNEMU_BINARY(Mul, T) ATTNEMU_BINARY(Max, T) ATTNEMU_BINARY(Min, T)
ATTNEMU_ARITHMETIC(half)
ATTNEMU_ARITHMETIC(float)
ATTNEMU_ARITHMETIC(int32_t)
ATTNEMU_BINARY(Div, half)
ATTNEMU_BINARY(Div, float)
#undef ATTNEMU_ARITHMETIC
#undef ATTNEMU_BINARY

#define ATTNEMU_UNARY(Name, T) ATTNEMU_INSTANCE template void Name<T>(const LocalTensor<T>&, const LocalTensor<T>&, const int32_t&, ATTNEMU_AT_LINE);
#define ATTNEMU_UNARIES(T) \
  ATTNEMU_UNARY(Exp, T) ATTNEMU_UNARY(Ln, T) ATTNEMU_UNARY(Abs, T) ATTNEMU_UNARY(Sqrt, T) ATTNEMU_UNARY(Rsqrt, T) ATTNEMU_UNARY(Reciprocal, T) ATTNEMU_UNARY(Relu, T)
ATTNEMU_UNARIES(half)
ATTNEMU_UNARIES(float)
#undef ATTNEMU_UNARIES
#undef ATTNEMU_UNARY

#define ATTNEMU_SCALAR(Name, T)                                                                                            \
  ATTNEMU_INSTANCE template void Name<T>(const LocalTensor<T>&, const LocalTensor<T>&, const T&, const int32_t&, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void Name<T, true>(const LocalTensor<T>&, const LocalTensor<T>&, const T&, uint64_t, uint8_t, const UnaryRepeatParams&, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void Name<T, true>(const LocalTensor<T>&, const LocalTensor<T>&, const T&, uint64_t[], uint8_t, const UnaryRepeatParams&, ATTNEMU_AT_LINE);
#define ATTNEMU_SCALARS(T) ATTNEMU_SCALAR(Adds, T) ATTNEMU_SCALAR(Muls, T) ATTNEMU_SCALAR(Maxs, T) ATTNEMU_SCALAR(Mins, T)
ATTNEMU_SCALARS(half)
ATTNEMU_SCALARS(float)
ATTNEMU_SCALARS(int32_t)
#undef ATTNEMU_SCALARS
#undef ATTNEMU_SCALAR

#define ATTNEMU_FILL(T)                                                                                                    \
  ATTNEMU_INSTANCE template void Duplicate<T>(const LocalTensor<T>&, const T&, const int32_t&, ATTNEMU_AT_LINE);           \
  ATTNEMU_INSTANCE template void Duplicate<T, true>(const LocalTensor<T>&, const T&, uint64_t, uint8_t, uint16_t, uint8_t, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void Duplicate<T, true>(const LocalTensor<T>&, const T&, uint64_t[], uint8_t, uint16_t, uint8_t, ATTNEMU_AT_LINE);
ATTNEMU_FILL(half)
ATTNEMU_FILL(float)
ATTNEMU_FILL(int32_t)
#undef ATTNEMU_FILL

#define ATTNEMU_CAST(To, From) ATTNEMU_INSTANCE template void Cast<To, From>(const LocalTensor<To>&, const LocalTensor<From>&, const RoundMode&, uint32_t, ATTNEMU_AT_LINE);
ATTNEMU_CAST(float, half)
ATTNEMU_CAST(half, float)
ATTNEMU_CAST(float, bfloat16_t)
ATTNEMU_CAST(bfloat16_t, float)
ATTNEMU_CAST(float, float)
ATTNEMU_CAST(float, int32_t)
ATTNEMU_CAST(int32_t, float)
ATTNEMU_CAST(half, int8_t)
ATTNEMU_CAST(half, uint8_t)
ATTNEMU_CAST(int8_t, half)
#undef ATTNEMU_CAST

#define ATTNEMU_COMPARE(T)                                                                                                 \
  ATTNEMU_INSTANCE template void Compare<T, uint8_t>(const LocalTensor<uint8_t>&, const LocalTensor<T>&, const LocalTensor<T>&, CMPMODE, uint32_t, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void CompareScalar<T, uint8_t>(const LocalTensor<uint8_t>&, const LocalTensor<T>&, const T, CMPMODE, uint32_t, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void Select<T, uint8_t>(const LocalTensor<T>&, const LocalTensor<uint8_t>&, const LocalTensor<T>&, const LocalTensor<T>&, SELMODE, uint32_t, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void Select<T, uint8_t>(const LocalTensor<T>&, const LocalTensor<uint8_t>&, const LocalTensor<T>&, T, SELMODE, uint32_t, ATTNEMU_AT_LINE);
ATTNEMU_COMPARE(half)
ATTNEMU_COMPARE(float)
#undef ATTNEMU_COMPARE

#define ATTNEMU_ROWS(T)                                                                                                    \
  ATTNEMU_INSTANCE template void WholeReduceSum<T, true>(const LocalTensor<T>&, const LocalTensor<T>&, int32_t, int32_t, int32_t, int32_t, int32_t, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void WholeReduceMax<T, true>(const LocalTensor<T>&, const LocalTensor<T>&, int32_t, int32_t, int32_t, int32_t, int32_t, ReduceOrder, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void Brcb<T>(const LocalTensor<T>&, const LocalTensor<T>&, uint8_t, const BrcbRepeatParams&, ATTNEMU_AT_LINE);
ATTNEMU_ROWS(half)
ATTNEMU_ROWS(float)
#undef ATTNEMU_ROWS

#define ATTNEMU_COPY(T)                                                                                                    \
  ATTNEMU_INSTANCE template void DataCopy<T>(const LocalTensor<T>&, const GlobalTensor<T>&, uint32_t, ATTNEMU_AT_LINE);    \
  ATTNEMU_INSTANCE template void DataCopy<T>(const GlobalTensor<T>&, const LocalTensor<T>&, uint32_t, ATTNEMU_AT_LINE);    \
  ATTNEMU_INSTANCE template void DataCopy<T>(const LocalTensor<T>&, const GlobalTensor<T>&, const DataCopyParams&, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void DataCopy<T>(const GlobalTensor<T>&, const LocalTensor<T>&, const DataCopyParams&, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void DataCopy<T>(const LocalTensor<T>&, const GlobalTensor<T>&, const Nd2NzParams&, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void DataCopyPad<T>(const LocalTensor<T>&, const GlobalTensor<T>&, const DataCopyExtParams&, const DataCopyPadExtParams<T>&, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void DataCopyPad<T>(const GlobalTensor<T>&, const LocalTensor<T>&, const DataCopyExtParams&, ATTNEMU_AT_LINE);
ATTNEMU_COPY(half)
ATTNEMU_COPY(float)
ATTNEMU_COPY(bfloat16_t)
ATTNEMU_COPY(int32_t)
ATTNEMU_COPY(int8_t)
ATTNEMU_COPY(uint8_t)
#undef ATTNEMU_COPY

#define ATTNEMU_PRODUCT(D, T)                                                                                              \
  ATTNEMU_INSTANCE template void LoadData<T>(const LocalTensor<T>&, const LocalTensor<T>&, const LoadData2DParams&, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void LoadDataWithTranspose<T>(const LocalTensor<T>&, const LocalTensor<T>&, const LoadData2dTransposeParams&, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void Mmad<D, T, T>(const LocalTensor<D>&, const LocalTensor<T>&, const LocalTensor<T>&, const MmadParams&, ATTNEMU_AT_LINE);
ATTNEMU_PRODUCT(float, half)
ATTNEMU_PRODUCT(float, bfloat16_t)
ATTNEMU_PRODUCT(int32_t, int8_t)
#undef ATTNEMU_PRODUCT
// Fixpipe itself has no linkage that files could share: its configuration is a constant of each
#define ATTNEMU_RESULT(To, From) ATTNEMU_INSTANCE template void detail::fixpipe<To, From>(attnemu::Place, const LocalTensor<From>&, const attnemu::Place*, const FixpipeParamsV220&, bool, const attnemu::SourceLine&);
ATTNEMU_RESULT(float, float)
ATTNEMU_RESULT(half, float)
ATTNEMU_RESULT(bfloat16_t, float)
ATTNEMU_RESULT(int32_t, int32_t)
#undef ATTNEMU_RESULT

#define ATTNEMU_FLAG(event)                                                         \
  ATTNEMU_INSTANCE template void SetFlag<HardEvent::event>(int32_t, ATTNEMU_AT_LINE); \
  ATTNEMU_INSTANCE template void WaitFlag<HardEvent::event>(int32_t, ATTNEMU_AT_LINE);
  ATTNEMU_FLAG(MTE2_MTE1) ATTNEMU_FLAG(MTE1_MTE2) ATTNEMU_FLAG(MTE1_M) ATTNEMU_FLAG(M_MTE1) ATTNEMU_FLAG(M_FIX) ATTNEMU_FLAG(FIX_M)
  ATTNEMU_FLAG(MTE2_V) ATTNEMU_FLAG(V_MTE2) ATTNEMU_FLAG(MTE3_V) ATTNEMU_FLAG(V_MTE3) ATTNEMU_FLAG(MTE3_MTE2) ATTNEMU_FLAG(MTE2_MTE3)
  ATTNEMU_FLAG(S_V) ATTNEMU_FLAG(V_S) ATTNEMU_FLAG(S_MTE2) ATTNEMU_FLAG(MTE2_S) ATTNEMU_FLAG(S_MTE3) ATTNEMU_FLAG(MTE3_S)
#undef ATTNEMU_FLAG

#define ATTNEMU_BARRIER(pipe) ATTNEMU_INSTANCE template void PipeBarrier<pipe>(ATTNEMU_AT_LINE);
  ATTNEMU_BARRIER(PIPE_V) ATTNEMU_BARRIER(PIPE_M) ATTNEMU_BARRIER(PIPE_MTE1) ATTNEMU_BARRIER(PIPE_MTE2) ATTNEMU_BARRIER(PIPE_MTE3) ATTNEMU_BARRIER(PIPE_ALL)
#undef ATTNEMU_BARRIER

ATTNEMU_INSTANCE template void CrossCoreSetFlag<2, PIPE_FIX>(uint16_t, ATTNEMU_AT_LINE);
ATTNEMU_INSTANCE template void CrossCoreSetFlag<2, PIPE_MTE2>(uint16_t, ATTNEMU_AT_LINE);
ATTNEMU_INSTANCE template void CrossCoreSetFlag<2, PIPE_MTE3>(uint16_t, ATTNEMU_AT_LINE);
ATTNEMU_INSTANCE template void CrossCoreSetFlag<0, PIPE_MTE3>(uint16_t, ATTNEMU_AT_LINE);
ATTNEMU_INSTANCE template void CrossCoreWaitFlag<0, PIPE_S>(uint16_t, ATTNEMU_AT_LINE);

#undef ATTNEMU_AT_LINE

}  // namespace AscendC
