// How a product is cut up: what the host's tiling functions give to the kernel's Matmul objects. Fields and their order
// are those of CANN 8.1.RC1.
#pragma once
#include <cstdint>

#define ATTNEMU_CUBE_TILING_FIELDS(X)                                                                                    \
  X(usedCoreNum) X(M) X(N) X(Ka) X(Kb) X(singleCoreM) X(singleCoreN) X(singleCoreK) X(baseM) X(baseN) X(baseK)           \
  X(depthA1) X(depthB1) X(stepM) X(stepN) X(isBias) X(transLength) X(iterateOrder) X(shareMode) X(shareL1Size)           \
  X(shareL0CSize) X(shareUbSize) X(batchM) X(batchN) X(singleBatchM) X(singleBatchN) X(stepKa) X(stepKb)                 \
  X(depthAL1CacheUB) X(depthBL1CacheUB) X(dbL0A) X(dbL0B) X(dbL0C) X(ALayoutInfoB) X(ALayoutInfoS) X(ALayoutInfoN)       \
  X(ALayoutInfoG) X(ALayoutInfoD) X(BLayoutInfoB) X(BLayoutInfoS) X(BLayoutInfoN) X(BLayoutInfoG) X(BLayoutInfoD)        \
  X(CLayoutInfoB) X(CLayoutInfoS1) X(CLayoutInfoN) X(CLayoutInfoG) X(CLayoutInfoS2) X(BatchNum) X(reserved)

namespace AscendC::tiling {

struct alignas(8) TCubeTiling {
#define ATTNEMU_FIELD(name) int32_t name = 0;
  ATTNEMU_CUBE_TILING_FIELDS(ATTNEMU_FIELD)
#undef ATTNEMU_FIELD
};

// What the functions on rows are told of their operands. Ours ask for the shapes alone.
#define ATTNEMU_SOFTMAX_TILING_FIELDS(X)                                                                                 \
  X(uint32_t, srcM) X(uint32_t, srcK) X(uint32_t, srcSize) X(uint32_t, outMaxM) X(uint32_t, outMaxK) X(uint32_t, outMaxSize) \
  X(uint32_t, splitM) X(uint32_t, splitK) X(uint32_t, splitSize) X(uint32_t, reduceM) X(uint32_t, reduceK) X(uint32_t, reduceSize) \
  X(uint32_t, rangeM) X(uint32_t, tailM) X(uint32_t, tailSplitSize) X(uint32_t, tailReduceSize)
#define ATTNEMU_LAYERNORM_TILING_FIELDS(X)                                                                               \
  X(uint32_t, bLength) X(uint32_t, sLength) X(uint32_t, hLength) X(uint32_t, originalHLength) X(uint32_t, inputXSize)    \
  X(uint32_t, meanVarSize) X(uint32_t, numberOfTmpBuf) X(uint32_t, meanTmpTensorPos) X(uint32_t, meanTmpTensorSize)      \
  X(uint32_t, varianceTmpTensorPos) X(uint32_t, varianceTmpTensorSize) X(uint32_t, tmpBufSize) X(uint32_t, oneTmpSize)   \
  X(uint32_t, firstTmpStartPos) X(uint32_t, secondTmpStartPos) X(uint32_t, thirdTmpStartPos) X(uint32_t, loopRound)      \
  X(uint32_t, inputRoundSize) X(uint32_t, inputTailSize) X(uint32_t, inputTailPos) X(uint32_t, meanVarRoundSize)         \
  X(uint32_t, meanVarTailSize) X(uint32_t, meanVarTailPos) X(uint32_t, bshCurLength) X(uint32_t, bsCurLength) X(float, lastDimValueBack)
#define ATTNEMU_RMSNORM_TILING_FIELDS(X)                                                                                 \
  X(uint32_t, bLength) X(uint32_t, sLength) X(uint32_t, hLength) X(uint32_t, originalHLength) X(float, reciprocalOfHLength) \
  X(uint32_t, mainBshLength) X(uint32_t, mainBsLength) X(uint32_t, mainBsLengthAlign) X(uint32_t, loopRound)             \
  X(uint32_t, inputTailPos) X(uint32_t, tailBshLength) X(uint32_t, tailBsLength)
#define ATTNEMU_TOPK_TILING_FIELDS(X)                                                                                    \
  X(int32_t, tmpLocalSize) X(int32_t, allDataSize) X(int32_t, innerDataSize) X(uint32_t, sortRepeat) X(int32_t, mrgSortRepeat) \
  X(int32_t, kAlignFourBytes) X(int32_t, kAlignTwoBytes) X(int32_t, maskOffset) X(int32_t, maskVreducev2FourBytes)        \
  X(int32_t, maskVreducev2TwoBytes) X(int32_t, mrgSortSrc1offset) X(int32_t, mrgSortSrc2offset) X(int32_t, mrgSortSrc3offset) \
  X(int32_t, mrgSortTwoQueueSrc1Offset) X(int32_t, mrgFourQueueTailPara1) X(int32_t, mrgFourQueueTailPara2)               \
  X(int32_t, srcIndexOffset) X(uint32_t, copyUbToUbBlockCount) X(int32_t, topkMrgSrc1MaskSizeOffset)                      \
  X(int32_t, topkNSmallSrcIndexOffset) X(uint32_t, vreduceValMask0) X(uint32_t, vreduceValMask1) X(uint32_t, vreduceIdxMask0) \
  X(uint32_t, vreduceIdxMask1) X(uint16_t, vreducehalfValMask0) X(uint16_t, vreducehalfValMask1)                          \
  X(uint16_t, vreducehalfValMask2) X(uint16_t, vreducehalfValMask3) X(uint16_t, vreducehalfValMask4)                      \
  X(uint16_t, vreducehalfValMask5) X(uint16_t, vreducehalfValMask6) X(uint16_t, vreducehalfValMask7)
#define ATTNEMU_UNPAD_TILING_FIELDS(X)                                                                                   \
  X(uint32_t, srcHeight) X(uint32_t, srcWidth) X(uint32_t, tmpBuffer1BlockNum) X(uint32_t, tmpBuffer1RowNum)             \
  X(uint32_t, tmpBuffer2Offset) X(uint32_t, widthTiling) X(uint32_t, widthFractal) X(uint32_t, widthFractalTail)
#define ATTNEMU_PAD_TILING_FIELDS(X)                                                                                     \
  X(uint32_t, srcHeight) X(uint32_t, srcWidth) X(uint32_t, srcOriWidth) X(uint32_t, widthWithoutLastBlock)               \
  X(uint32_t, blocksPerRow) X(uint32_t, heightTiling) X(uint32_t, heightFractal) X(uint32_t, heightFractalTail)          \
  X(uint32_t, mainLoopOffset) X(uint32_t, tailBlockOffset) X(uint32_t, tmpBuffer1BlockNum) X(uint32_t, tmpBuffer1RowNum) \
  X(uint32_t, tmpBuffer2Offset) X(uint32_t, widthTiling) X(uint32_t, widthFractal) X(uint32_t, widthFractalTail)         \
  X(uint32_t, widthFractalTailAlingned) X(uint32_t, brcbTiling) X(uint32_t, brcbFractal) X(uint32_t, brcbFractalTail)    \
  X(uint32_t, maxRepeatTimes) X(uint32_t, brcbTilingRepeatTimes) X(uint32_t, brcbTilingRepeatTimesTail)                  \
  X(uint32_t, brcbFractalTailRepeatTimes) X(uint32_t, brcbFractalTailRepeatTimesTail) X(uint32_t, reserved)
#define ATTNEMU_TILINGS(Y)                                                                                               \
  Y(SoftMaxTiling, ATTNEMU_SOFTMAX_TILING_FIELDS) Y(LogSoftMaxTiling, ATTNEMU_SOFTMAX_TILING_FIELDS)                     \
  Y(LayerNormTiling, ATTNEMU_LAYERNORM_TILING_FIELDS) Y(RmsNormTiling, ATTNEMU_RMSNORM_TILING_FIELDS)                      \
  Y(TopkTiling, ATTNEMU_TOPK_TILING_FIELDS) Y(PadTiling, ATTNEMU_PAD_TILING_FIELDS) Y(UnPadTiling, ATTNEMU_UNPAD_TILING_FIELDS)
#define ATTNEMU_FIELD(Type, name) Type name = 0;
#define ATTNEMU_STRUCT(Name, FIELDS) struct Name { FIELDS(ATTNEMU_FIELD) };
ATTNEMU_TILINGS(ATTNEMU_STRUCT)
#undef ATTNEMU_STRUCT
#undef ATTNEMU_FIELD

}  // namespace AscendC::tiling

#define ATTNEMU_USING(Name, FIELDS) using AscendC::tiling::Name;
ATTNEMU_TILINGS(ATTNEMU_USING)
#undef ATTNEMU_USING
using AscendC::tiling::TCubeTiling;
