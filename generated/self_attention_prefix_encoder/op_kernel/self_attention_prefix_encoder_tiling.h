// Tiling data of self_attention_prefix_encoder: computed on the host, read by every core. A kernel
// reads the fields that it needs.
#ifndef ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_TILING_H
#define ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_TILING_H

#include <cstdint>

// The kernels by their tiling keys.
// A key is the sum of these:
//   dtype of query: 0 to 1, times 1
//   head size / 16: 0 to 127, times 2
//   mask: 0 to 1, times 256
//   slopes: 0 to 1, times 512
//   clampType: 0 to 2, times 1024
//   dtype(query): 0 to 2, times 3072
//   layout(mask): 0 to 9, times 9216
//   maskType: 0 to 10, times 92160
enum class SelfAttentionPrefixEncoderTilingKey : uint64_t {
    kFloat16D128MaskTypeCausalMask = 276496,
    kFloat16D128MaskMaskColumnsMaskTypeAlibiCompress = 424208,
    kFloat16D128SlopesMaskTypeAlibiCompress = 369168,
    kFloat16D128SlopesMaskTypeAlibiCompressSqrt = 461328,
    kBfloat16D128MaskTypeCausalMask = 276497,
    kBfloat16D128MaskMaskColumnsMaskTypeAlibiCompress = 424209,
    kBfloat16D128SlopesMaskTypeAlibiCompress = 369169,
    kBfloat16D128SlopesMaskTypeAlibiCompressSqrt = 461329,
};

// Axes of tensors, as strides are named after them:
//   B: batch rows, batch
//   N: query heads, headNum
//   K: key/value heads, kvHeads
//   P: blocks of a cache, numBlocks
//   R: rows of a cache block, blockSize
//   S: packed query tokens of all batch rows, nTokens
struct SelfAttentionPrefixEncoderTiling {
    uint64_t key;  // the tiling key, for launches that have no other way to tell it
    int64_t kvHeads;  // key/value heads
    int64_t group;  // query heads of a key/value head
    int64_t headsPerTask;  // query heads of a task, at most
    int64_t headTiles;  // tasks that share the query heads of a key/value head
    int64_t headsAtOnce;  // tasks of heads whose keys L2 holds together
    // query positions of a small task, one band of rows, or as many as a half has
    int64_t queriesPerSmallTask;
    int64_t largeTiles;  // large tasks that share the query positions of a batch row
    int64_t queriesPerTask;  // query positions of a task, at most
    int64_t smallPositions;  // first query positions of a batch row, which small tasks have
    int64_t queryTiles;  // tasks that share the query positions of a batch row
    int64_t largeTasks;  // large tasks; all others are small
    int64_t rowsPerTask;  // query rows that a slot of the rings has
    int64_t tasks;  // units of work before keys are split
    int64_t splits;  // parts the keys of a row are split into
    int64_t items;  // units of work: a task and a split
    int64_t rowTotal;  // rows of the result
    int64_t blocks;  // blocks that are launched
    float qkScale;
    int64_t headDim;  // true head size
    int64_t outputStrideS;  // elements between neighbours of output along S
    int64_t outputStrideN;  // elements between neighbours of output along N
    int64_t queryHeads;  // query heads
    int64_t blockSize;  // rows of a block
    int64_t blockTablesStrideB;  // elements between neighbours of blockTables along B
    int64_t keyStrideP;  // elements between neighbours of key along P
    int64_t keyStrideK;  // elements between neighbours of key along K
    int64_t keyStrideR;  // elements between neighbours of key along R
    int64_t valueStrideP;  // elements between neighbours of value along P
    int64_t valueStrideK;  // elements between neighbours of value along K
    int64_t valueStrideR;  // elements between neighbours of value along R
    int64_t queryStrideS;  // elements between neighbours of query along S
    int64_t queryStrideN;  // elements between neighbours of query along N
    int64_t maxOfSeqLen;  // query positions of the longest batch row
    int64_t keyCapacity;  // keys of a row, at most
    int64_t warmKeys;  // keys of a slot that scores may go to
    int64_t warmRows;  // rows of a slot that vector cores store to first
    int64_t outRingOffset;  // bytes from the workspace to the ring of weighted sums, cube to vector
    int64_t outRingPart;  // bytes of one block's outRing
    int64_t partialMaxOffset;  // bytes from the workspace to the row maxima of key splits
    int64_t partialSumOffset;  // bytes from the workspace to the row sums of key splits
    int64_t partialOutOffset;  // bytes from the workspace to the weighted sums of key splits
    int64_t scoreRingOffset;  // bytes from the workspace to the ring of score tiles, cube to vector
    int64_t scoreRingPart;  // bytes of one block's scoreRing
    // bytes from the workspace to the ring of probability tiles, vector to cube
    int64_t probRingOffset;
    int64_t probRingPart;  // bytes of one block's probRing
    int64_t workspaceBytes;  // bytes of the user workspace
    int64_t maskPitch0;  // elements between neighbours of mask along dimension 0
    int64_t slopesStrideN;  // elements between neighbours of slopes along N
};

#endif  // ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_TILING_H
