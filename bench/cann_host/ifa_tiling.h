// The tiling data of CANN's incre_flash_attention, as its kernels name the fields: the official build generates these
// structs from the operator's host library. The order of fields is ours, which host and kernel share.
#pragma once
#include <cstdint>

#include "kernel_tiling/kernel_tiling.h"

struct IncreFlashAttentionBaseParams {
  uint32_t batchSize;
  uint32_t seqSize;  // rows of a cache; of a paged one, those that a row of the table holds
  uint32_t headSize;
  uint32_t blockSize;
  uint32_t maxBlockNumPerBatch;
  float scaleValue;
  uint32_t kvHeadNum;
  uint32_t qHeadNum;
  uint32_t nNumOfQInOneGroup;
  uint32_t batchContinuousFlag;  // 1: keys are one tensor, 0: one a batch row
  uint32_t pseShiftFlag;
  uint32_t pseShiftB;
  uint32_t pseShiftS;
  uint32_t selectWithByteMaskTmpMinSize;
  uint32_t actualLenDims;  // how many lengths are given
  uint32_t kvPaddingFlag;
  uint32_t msdIterNum;
  uint32_t l2CacheOffFlag;
  uint32_t antiquantPerTensorFlag;
  uint32_t antiquantPerHeadFlag;
  uint32_t antiquantParamsInPagedAttentionFlag;
  uint32_t attenMaskFlag;
  uint32_t attenMaskSize;  // elements of a row of the mask
  uint32_t softmaxLseFlag;
  uint32_t totalBlockNum;
  uint32_t antiqSeqSize;
};
struct IncreFlashAttentionSplitKVParams {
  uint32_t s2;              // parts of the keys; 0: not cut
  uint32_t sInnerLoopSize;  // keys of a part
  uint32_t accumOutSize;    // floats in the workspace
  uint32_t logSumExpSize;
};
struct IncreFlashAttentionCoreParams {
  uint32_t coreSidxEnd[50];  // pairs of row and head in front of a core's
};
struct IncreFlashAttentionSingleCoreParams {
  uint32_t sInnerLoopTimes;
  uint32_t singleProcessSInnerSize;
  uint32_t singleProcessSInnerSizeTail;
  uint32_t usedCoreNum;
  uint32_t formerCoreNum;
  uint32_t blockSplitBn2Range;
  uint32_t tailSplitedBatchRange;
};
struct IncreFlashAttentionSingleCoreTensorSize {
  uint32_t mmResUbSize;  // elements of a core's scores and of its result, in the workspace
  uint32_t bmm2ResUbSize;
};
struct IncreFlashAttentionInitOutputParams {
  uint32_t isPerChnOut;
  uint32_t isOutQuantTypeBf16;
};
struct IncreFlashAttentionTilingData {
  TCubeTiling bmm1TilingData;
  TCubeTiling bmm2TilingData;
  IncreFlashAttentionBaseParams baseParams;
  IncreFlashAttentionSplitKVParams splitKVParams;
  IncreFlashAttentionCoreParams increFlashAttentionCoreParams;
  IncreFlashAttentionSingleCoreParams increFlashAttentionSingleCoreParams;
  IncreFlashAttentionSingleCoreTensorSize increFlashAttentionSingleCoreTensorSize;
  SoftMaxTiling softmaxFlashTilingData;
  IncreFlashAttentionInitOutputParams outputParams;
};
struct IncreFlashAttentionTilingDataPrefix {
  IncreFlashAttentionTilingData base;
  uint64_t prefixAttenOutOffset;
  uint64_t userPromptAttenOutOffset;
  uint64_t tmpLseOffset;
  uint64_t prefixLen;
  uint32_t formerCoreNum;
  uint32_t blockSplitBn2Range;
  uint32_t tailSplitedBatchRange;
  uint32_t usedCoreNum;
  uint32_t batchSizeQ;
};
struct IncreFlashAttentionTilingDataV2 {
  IncreFlashAttentionTilingData tilingBase;
  IncreFlashAttentionTilingDataPrefix tilingPrefix;
};
