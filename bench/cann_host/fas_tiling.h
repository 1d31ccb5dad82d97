// The tiling data of CANN's flash_attention_score, as far as its kernel for long rows of queries and keys names the fields. The order
// is ours, which host and kernel share.
#pragma once
#include <cstdint>

#include "kernel_tiling/kernel_tiling.h"

struct FlashAttentionScoreGeneralTilingData {
  struct {
    int64_t bSize, n2Size, gSize, s1Size, s2Size, dSize;  // heads of keys, queries of each, rows of queries and of keys, channels
    float keepProb, scaleValue;
    int64_t preTokens, nextTokens;  // keys in front of a query and behind it that it sees
    int64_t pseS1Size, pseS2Size, qStartIdx, kvStartIdx;
    uint32_t pseBSize, pseType, bandIndex, attenMaskS2Size;
    uint8_t pseShapeType, pseEncodeType, attenMaskShapeType, attenMaskCompressMode, sparseType, needDropMaskOp;
  } inputParams;
  struct {
    int32_t coreNum;
    int64_t totalSize, splitFactorSize;  // blocks of queries, of all and of a core
    int64_t sparseStartIdx[50];          // a core's first one
  } multiCoreParams;
  struct {
    int32_t s1BaseSize, s2BaseSize, nRatio;  // queries of a block; its keys at once are so many times the second number
    int64_t s1OuterSize, s1SparseValidSize, s2SparseValidSize, pseAlibiBaseS1, pseAlibiBaseS2;
  } coreParams;
  struct {
    int64_t shapeTotalSize;
  } dropmaskParams;
  TCubeTiling bmm1TilingData, bmm2TilingData;
};
