// Tiling data of self_attention_pa_encoder: computed on the host, read by every core. A kernel
// reads the fields that it needs.
#ifndef ATTNDSL_SELF_ATTENTION_PA_ENCODER_TILING_H
#define ATTNDSL_SELF_ATTENTION_PA_ENCODER_TILING_H

#include <cstdint>

// The kernels by their tiling keys.
// A key is the sum of these:
//   dtype of query: 0 to 2, times 1
//   head size / 16: 0 to 127, times 3
//   value size / 16: 0 to 127, times 384
//   value: 0 to 1, times 49152
//   mask: 0 to 1, times 98304
//   slopes: 0 to 1, times 196608
//   qkDescale: 0 to 1, times 393216
//   vpvDescale: 0 to 1, times 786432
//   pScale: 0 to 1, times 1572864
//   logN: 0 to 1, times 3145728
//   clampType: 0 to 2, times 6291456
//   dtype(mask): 0 to 3, times 18874368
//   dtype(query): 0 to 3, times 75497472
//   inputLayout: 0 to 2, times 301989888
//   layout(key): 0 to 4, times 905969664
//   layout(mask): 0 to 9, times 4529848320
//   layout(query): 0 to 4, times 45298483200
//   layout(value): 0 to 5, times 226492416000
//   maskType: 0 to 10, times 1358954496000
//   outDataType: 0 to 14, times 14948499456000
//   quantType: 0 to 3, times 224227491840000
enum class SelfAttentionPaEncoderTilingKey : uint64_t {
    kFloat16D128E128Value = 52248,
    kFloat16D128E128ValueMaskMaskTypeNorm = 1358954646552,
    kFloat16D128E128ValueSlopesMaskTypeAlibiCompress = 5435818232856,
    kFloat16D128E128ValueLogN = 3197976,
    kFloat16D128E128ValueClampTypeMinMax = 6343704,
    kFloat16D128E128ValueKeyBnsdQueryBnsdValueBnsd = 545393789976,
    kFloat16D128E128 = 3096,
    kFloat16D128E128KeyPadded = 1811942424,
    kFloat16D128E128ValueMaskMaskPerHeadMaskTypeAlibi = 2722438990872,
    kFloat16D128E128ValueMaskMaskPerBatchMaskTypeNorm = 1368014343192,
    kFloat16D128E128ValueMaskMaskFullMaskTypeNorm = 1372544191512,
    kFloat16D128E128ValueMaskTypeNormCompress = 4076863540248,
    kFloat16D128E128ValueMaskMaskColumnsMaskTypeAlibiCompress = 5462997224472,
    kFloat16D128E128ValueMaskTypeSlidingWindowCompress = 9512681524248,
    kFloat16D128E128QueryPadded = 90596969496,
    kFloat16D128E128ValueMaskMaskTypeAlibi = 2717909142552,
    kFloat16D128E128ValueSlopesMaskTypeAlibiCompressSqrt = 6794772728856,
    kFloat16D128E128ValueSlopesMaskTypeAlibiCompressLeftAlign = 8153727224856,
    kBfloat16D128E128Value = 52249,
    kBfloat16D128E128ValueMaskMaskTypeNorm = 1358973520921,
    kBfloat16D128E128ValueSlopesMaskTypeAlibiCompress = 5435818232857,
    kBfloat16D128E128ValueLogN = 3197977,
    kBfloat16D128E128ValueClampTypeMinMax = 6343705,
    kBfloat16D128E128ValueKeyBnsdQueryBnsdValueBnsd = 545393789977,
    kBfloat16D128E128 = 3097,
    kBfloat16D128E128KeyPadded = 1811942425,
    kBfloat16D128E128ValueMaskMaskPerHeadMaskTypeAlibi = 2722457865241,
    kBfloat16D128E128ValueMaskMaskPerBatchMaskTypeNorm = 1368033217561,
    kBfloat16D128E128ValueMaskMaskFullMaskTypeNorm = 1372563065881,
    kBfloat16D128E128ValueMaskTypeNormCompress = 4076863540249,
    kBfloat16D128E128ValueMaskMaskColumnsMaskTypeAlibiCompress = 5463016098841,
    kBfloat16D128E128ValueMaskTypeSlidingWindowCompress = 9512681524249,
    kBfloat16D128E128QueryPadded = 90596969497,
    kBfloat16D128E128ValueMaskMaskTypeAlibi = 2717928016921,
    kBfloat16D128E128ValueSlopesMaskTypeAlibiCompressSqrt = 6794772728857,
    kBfloat16D128E128ValueSlopesMaskTypeAlibiCompressLeftAlign = 8153727224857,
    kInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQkvOnline = 224227493071898,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNormQuantTypeQkvOnline = 225586598661146,
    kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressQuantTypeQkvOnline =
        229663311252506,
    kInt8D128E128ValueQkDescaleVpvDescalePScaleQuantTypeQkvOffline = 224227494644762,
    kInt8D128E128ValueQkDescaleVpvDescaleClampTypeMinMaxQuantTypeQkvOnline = 224227499363354,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskTypeNormQuantTypeQkvOnline =
        225586617535514,
    kInt8D128E128QkDescaleVpvDescaleQuantTypeQkvOnline = 224227493022746,
    kInt8D128E128QkDescaleVpvDescaleKeyPaddedQuantTypeQkvOnline = 224229304962074,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerHeadMaskTypeAlibiQuantTypeQkvOnline =
        226949932010522,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerBatchMaskTypeNormQuantTypeQkvOnline =
        225595658357786,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskFullMaskTypeNormQuantTypeQkvOnline =
        225600037211162,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskColumnsMaskTypeAlibiCompressQuantTypeQkvOnline =
        229690509118490,
    kInt8D128E128QkDescaleVpvDescaleQueryPaddedQuantTypeQkvOnline = 224318089989146,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeAlibiQuantTypeQkvOnline = 226945402162202,
    kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressSqrtQuantTypeQkvOnline =
        231022265748506,
    kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeAlibiCompressLeftAlignQuantTypeQkvOnline =
        232381220244506,
    kInt8D128E128ValueQkDescaleVpvDescaleOutDataTypeBf16QuantTypeQkvOnline = 418557985999898,
};

// Axes of tensors, as strides are named after them:
//   B: batch rows, batch
//   N: query heads, headNum
//   K: key/value heads, kvHeads
//   Q: query positions of a batch row, qRows
//   U: stored key rows, of a group or of all batch rows, kvRows
//   S: packed query tokens of all batch rows, nTokens
struct SelfAttentionPaEncoderTiling {
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
    int64_t keyStrideU;  // elements between neighbours of key along U
    int64_t keyStrideK;  // elements between neighbours of key along K
    int64_t valueStrideU;  // elements between neighbours of value along U
    int64_t valueStrideK;  // elements between neighbours of value along K
    int64_t queryStrideS;  // elements between neighbours of query along S
    int64_t queryStrideN;  // elements between neighbours of query along N
    int64_t qRows;  // query positions of the longest batch row
    int64_t keyCapacity;  // keys of a row, at most
    int64_t seqLenIs2Batch;  // seqLenLayout == 1
    int64_t batchRows;  // batch rows
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
    float maskFactor;  // -3e+38 or 1.0, by kernelType, maskType
    int64_t maskStrideB;  // elements between neighbours of mask along B; 0: all have the same
    int64_t maskStrideQ;  // elements between neighbours of mask along Q; 0: all have the same
    int64_t headsAtOnce;  // tasks of heads whose keys L2 holds together
    int64_t slopesStrideN;  // elements between neighbours of slopes along N
    float clampMin;
    float clampMax;
    int64_t outputStrideB;  // elements between neighbours of output along B
    int64_t outputStrideQ;  // elements between neighbours of output along Q
    int64_t keyStrideB;  // elements between neighbours of key along B
    int64_t valueStrideB;  // elements between neighbours of value along B
    int64_t queryStrideQ;  // elements between neighbours of query along Q
    int64_t queryStrideB;  // elements between neighbours of query along B
    int64_t maskStrideN;  // elements between neighbours of mask along N; 0: all have the same
    int64_t maskPitch0;  // elements between neighbours of mask along dimension 0
    int64_t windowSize;
    int64_t vpvDescaleStrideN;  // elements between neighbours of vpvDescale along N
    int64_t qkDescaleStrideN;  // elements between neighbours of qkDescale along N
    int64_t pScaleStrideN;  // elements between neighbours of pScale along N
};

#endif  // ATTNDSL_SELF_ATTENTION_PA_ENCODER_TILING_H
