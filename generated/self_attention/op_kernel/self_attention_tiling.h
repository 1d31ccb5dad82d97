// Tiling data of self_attention: computed on the host, read by every core. A kernel reads the
// fields that it needs.
#ifndef ATTNDSL_SELF_ATTENTION_TILING_H
#define ATTNDSL_SELF_ATTENTION_TILING_H

#include <cstdint>

// The kernels by their tiling keys.
// A key is the sum of these:
//   dtype of query: 0 to 1, times 1
//   head size / 16: 0 to 127, times 2
//   value size / 16: 0 to 127, times 256
//   key: 0 to 1, times 32768
//   value: 0 to 1, times 65536
//   attentionMask: 0 to 1, times 131072
//   batchStatus: 0 to 1, times 262144
//   logN: 0 to 1, times 524288
//   cacheType: 0 to 2, times 1048576
//   calcType: 0 to 5, times 3145728
//   clampType: 0 to 2, times 18874368
//   dtype(query): 0 to 2, times 56623104
//   inputLayout: 0 to 2, times 169869312
//   kvcacheCfg: 0 to 2, times 509607936
//   layout(attentionMask): 0 to 9, times 1528823808
//   layout(cacheK): 0 to 3, times 15288238080
//   layout(cacheV): 0 to 3, times 61152952320
//   layout(key): 0 to 3, times 244611809280
//   layout(query): 0 to 3, times 978447237120
//   layout(value): 0 to 3, times 3913788948480
//   maskType: 0 to 10, times 15655155793920
//   split(cacheK): 0 to 2, times 172206713733120
//   split(cacheV): 0 to 2, times 516620141199360
enum class SelfAttentionTilingKey : uint64_t {
    kFloat16D128E128KeyValue = 100368,
    kFloat16D128E128KeyValueAttentionMaskMaskTypeNorm = 15655156025360,
    kFloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer = 76441552912,
    kFloat16D128E128KeyValueLogN = 624656,
    kFloat16D128E128KeyValueCacheTypeSwaMaskTypeSlidingWindowNorm = 109586091706384,
    kFloat16D128E128KeyValueClampTypeMinMax = 18974736,
    kFloat16D128E128AttentionMaskInputLayoutBnsdQueryBnsdMaskTypeNorm = 16633603164176,
    kFloat16D128E128 = 2064,
    kFloat16D128E128KeyValueAttentionMaskAttentionMaskPerHeadMaskTypeAlibi = 31311840643088,
    kFloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchMaskTypeNorm = 15658213672976,
    kFloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNorm = 15659742496784,
    kFloat16D128E128KeyValueMaskTypeNormCompress = 46965467482128,
    kFloat16D128E128KeyValueMaskTypeSlidingWindowCompress = 109586090657808,
    kFloat16D128E128KeyValueKeyPaddedValuePadded = 4158400858128,
    kFloat16D128E128KeyValueQueryPadded = 978447337488,
    kFloat16D128E128KeyValueAttentionMaskMaskTypeAlibi = 31310311819280,
    kFloat16D128E128CacheKListCacheVList = 688826854934544,
    kBfloat16D128E128KeyValue = 100369,
    kBfloat16D128E128KeyValueAttentionMaskMaskTypeNorm = 15655156025361,
    kBfloat16D128E128KeyValueBatchStatusCacheKLayerCacheVLayer = 76441552913,
    kBfloat16D128E128KeyValueLogN = 624657,
    kBfloat16D128E128KeyValueCacheTypeSwaMaskTypeSlidingWindowNorm = 109586091706385,
    kBfloat16D128E128KeyValueClampTypeMinMax = 18974737,
    kBfloat16D128E128AttentionMaskInputLayoutBnsdQueryBnsdMaskTypeNorm = 16633603164177,
    kBfloat16D128E128 = 2065,
    kBfloat16D128E128KeyValueAttentionMaskAttentionMaskPerHeadMaskTypeAlibi = 31311840643089,
    kBfloat16D128E128KeyValueAttentionMaskAttentionMaskPerBatchMaskTypeNorm = 15658213672977,
    kBfloat16D128E128KeyValueAttentionMaskAttentionMaskFullMaskTypeNorm = 15659742496785,
    kBfloat16D128E128KeyValueMaskTypeNormCompress = 46965467482129,
    kBfloat16D128E128KeyValueMaskTypeSlidingWindowCompress = 109586090657809,
    kBfloat16D128E128KeyValueKeyPaddedValuePadded = 4158400858129,
    kBfloat16D128E128KeyValueQueryPadded = 978447337489,
    kBfloat16D128E128KeyValueAttentionMaskMaskTypeAlibi = 31310311819281,
    kBfloat16D128E128CacheKListCacheVList = 688826854934545,
};

// Axes of tensors, as strides are named after them:
//   B: batch rows, batch
//   N: query heads, headNum
//   K: key/value heads, kvHeads
//   Q: query positions of a batch row, qRows
//   T: key positions of a batch row, maxSeqLen
//   U: stored key rows, of a group or of all batch rows, newRows
//   S: packed query tokens of all batch rows, nTokens
//   Y: layers of a cache, layerNum
struct SelfAttentionTiling {
    uint64_t key;  // the tiling key, for launches that have no other way to tell it
    int64_t kvHeads;  // key/value heads
    int64_t group;  // query heads of a key/value head
    int64_t headsPerTask;  // query heads of a task, at most
    int64_t headTiles;  // tasks that share the query heads of a key/value head
    int64_t queriesPerSmallTask;  // query positions of a small task, one band of rows
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
    int64_t valueDim;  // true head size of values
    int64_t outputStrideS;  // elements between neighbours of output along S
    int64_t outputStrideN;  // elements between neighbours of output along N
    int64_t queryHeads;  // query heads
    int64_t headDim;  // true head size
    int64_t cacheKStrideT;  // elements between neighbours of cacheK along T
    int64_t keyStrideU;  // elements between neighbours of key along U
    int64_t cacheKStrideY;  // elements between neighbours of cacheK along Y
    int64_t cacheKStrideK;  // elements between neighbours of cacheK along K
    int64_t cacheKStrideB;  // elements between neighbours of cacheK along B
    int64_t keyStrideK;  // elements between neighbours of key along K
    int64_t cacheVStrideT;  // elements between neighbours of cacheV along T
    int64_t valueStrideU;  // elements between neighbours of value along U
    int64_t cacheVStrideY;  // elements between neighbours of cacheV along Y
    int64_t cacheVStrideK;  // elements between neighbours of cacheV along K
    int64_t cacheVStrideB;  // elements between neighbours of cacheV along B
    int64_t valueStrideK;  // elements between neighbours of value along K
    int64_t queryStrideS;  // elements between neighbours of query along S
    int64_t queryStrideN;  // elements between neighbours of query along N
    int64_t queryElements;  // elements of query
    int64_t queryIsScaled;  // whether queries are scaled first
    int64_t qRows;  // query positions of the longest batch row
    int64_t keyCapacity;  // keys of a row, at most
    float qScale;
    int64_t warmKeys;  // keys of a slot that scores may go to
    int64_t warmRows;  // rows of a slot that vector cores store to first
    int64_t batchRows;  // batch rows
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
    int64_t scaledQueryOffset;  // bytes from the workspace to the scaled query
    int64_t workspaceBytes;  // bytes of the user workspace
    float attentionMaskFactor;  // -3e+38 or 1.0, by kernelType, calcType, maskType
    // elements between neighbours of attentionMask along B; 0: all have the same
    int64_t attentionMaskStrideB;
    // elements between neighbours of attentionMask along Q; 0: all have the same
    int64_t attentionMaskStrideQ;
    int64_t headsAtOnce;  // tasks of heads whose keys L2 holds together
    int64_t windowSize;  // rows of a ring
    float clampMin;
    float clampMax;
    int64_t outputStrideB;  // elements between neighbours of output along B
    int64_t outputStrideQ;  // elements between neighbours of output along Q
    int64_t queryStrideQ;  // elements between neighbours of query along Q
    int64_t queryStrideB;  // elements between neighbours of query along B
    // elements between neighbours of attentionMask along N; 0: all have the same
    int64_t attentionMaskStrideN;
    int64_t keyStrideB;  // elements between neighbours of key along B
    int64_t valueStrideB;  // elements between neighbours of value along B
    int64_t cacheKIsLayers;  // whether cacheK has the layout layers
    int64_t cacheVIsLayers;  // whether cacheV has the layout layers
};

#endif  // ATTNDSL_SELF_ATTENTION_TILING_H
