// Tiling data of incre_flash_attention: computed on the host, read by every core. A kernel reads
// the fields that it needs.
#ifndef ATTNDSL_INCRE_FLASH_ATTENTION_TILING_H
#define ATTNDSL_INCRE_FLASH_ATTENTION_TILING_H

#include <cstdint>

// The kernels by their tiling keys.
// A key is the sum of these:
//   dtype of query: 0 to 1, times 1
//   head size / 16: 0 to 127, times 2
//   attn_mask: 0 to 1, times 256
//   pse_shift: 0 to 1, times 512
//   quant_scale2: 0 to 1, times 1024
//   quant_offset2: 0 to 1, times 2048
//   antiquant_scale: 0 to 1, times 4096
//   antiquant_offset: 0 to 1, times 8192
//   block_table: 0 to 1, times 16384
//   kv_padding_size: 0 to 1, times 32768
//   split(key): 0 to 2, times 65536
//   split(value): 0 to 2, times 196608
enum class IncreFlashAttentionTilingKey : uint64_t {
    kFloat16D128 = 16,
    kFloat16D128AttnMask = 272,
    kFloat16D128PseShift = 528,
    kFloat16D128QuantScale2 = 1040,
    kFloat16D128QuantScale2QuantOffset2 = 3088,
    kFloat16D128AntiquantScale = 4112,
    kFloat16D128AntiquantScaleAntiquantOffset = 12304,
    kFloat16D128BlockTable = 16400,
    kFloat16D128KvPaddingSize = 32784,
    kFloat16D128KeyListValueList = 262160,
    kBfloat16D128 = 17,
    kBfloat16D128AttnMask = 273,
    kBfloat16D128PseShift = 529,
    kBfloat16D128QuantScale2 = 1041,
    kBfloat16D128QuantScale2QuantOffset2 = 3089,
    kBfloat16D128AntiquantScale = 4113,
    kBfloat16D128AntiquantScaleAntiquantOffset = 12305,
    kBfloat16D128BlockTable = 16401,
    kBfloat16D128KvPaddingSize = 32785,
    kBfloat16D128KeyListValueList = 262161,
};

// Axes of tensors, as strides are named after them:
//   B: batch rows, B
//   N: query heads, N
//   K: key/value heads, kvN
//   T: key positions of a batch row, S
//   E: channels of values, D
//   P: blocks of a cache, num_blocks
//   R: rows of a cache block, block_size
//   C: components, such as key and value, of one tensor, 2
struct IncreFlashAttentionTiling {
    uint64_t key;  // the tiling key, for launches that have no other way to tell it
    int64_t kvHeads;  // key/value heads
    int64_t group;  // query heads of a key/value head
    int64_t headsPerTask;  // query heads of a task, at most
    int64_t headTiles;  // tasks that share the query heads of a key/value head
    int64_t rowsPerTask;  // query rows that a slot of the rings has
    int64_t tasks;  // units of work before keys are split
    int64_t splits;  // parts the keys of a row are split into
    int64_t items;  // units of work: a task and a split
    int64_t rowTotal;  // rows of the result
    int64_t blocks;  // blocks that are launched
    float scaleValue;
    int64_t headDim;  // true head size
    int64_t attentionOutStrideB;  // elements between neighbours of attention_out along B
    int64_t attentionOutStrideN;  // elements between neighbours of attention_out along N
    int64_t queryHeads;  // query heads
    int64_t keyStrideT;  // elements between neighbours of key along T
    int64_t keyStrideK;  // elements between neighbours of key along K
    int64_t keyStrideB;  // elements between neighbours of key along B
    int64_t valueStrideT;  // elements between neighbours of value along T
    int64_t valueStrideK;  // elements between neighbours of value along K
    int64_t valueStrideB;  // elements between neighbours of value along B
    int64_t keyCapacity;  // keys of a row, at most
    int64_t actualSeqLengthsCount;  // entries of actual_seq_lengths, 0 without it
    int64_t queryStrideB;  // elements between neighbours of query along B
    int64_t queryStrideN;  // elements between neighbours of query along N
    int64_t partialMaxOffset;  // bytes from the workspace to the row maxima of key splits
    int64_t partialSumOffset;  // bytes from the workspace to the row sums of key splits
    int64_t partialOutOffset;  // bytes from the workspace to the weighted sums of key splits
    int64_t scoreRingOffset;  // bytes from the workspace to the ring of score tiles, cube to vector
    int64_t scoreRingPart;  // bytes of one block's scoreRing
    // bytes from the workspace to the ring of probability tiles, vector to cube
    int64_t probRingOffset;
    int64_t probRingPart;  // bytes of one block's probRing
    int64_t outRingOffset;  // bytes from the workspace to the ring of weighted sums, cube to vector
    int64_t outRingPart;  // bytes of one block's outRing
    int64_t workspaceBytes;  // bytes of the user workspace
    int64_t attnMaskStrideB;  // elements between neighbours of attn_mask along B
    int64_t pseShiftStrideB;  // elements between neighbours of pse_shift along B
    int64_t pseShiftStrideN;  // elements between neighbours of pse_shift along N
    int64_t quantScale2StrideE;  // elements between neighbours of quant_scale2 along E
    int64_t quantScale2StrideN;  // elements between neighbours of quant_scale2 along N
    int64_t quantOffset2StrideE;  // elements between neighbours of quant_offset2 along E
    int64_t quantOffset2StrideN;  // elements between neighbours of quant_offset2 along N
    int64_t antiquantScaleStrideK;  // elements between neighbours of antiquant_scale along K
    int64_t antiquantScaleStrideC;  // elements between neighbours of antiquant_scale along C
    // bytes from the workspace to the ring of key tiles in float16, vector to cube
    int64_t keyRingOffset;
    int64_t keyRingPart;  // bytes of one block's keyRing
    // bytes from the workspace to the query rows of an item, scale of the keys included
    int64_t absorbedQueryOffset;
    int64_t absorbedQueryPart;  // bytes of one block's absorbedQuery
    // bytes from the workspace to the ring of value tiles in float16, vector to cube
    int64_t valueRingOffset;
    int64_t valueRingPart;  // bytes of one block's valueRing
    int64_t antiquantOffsetStrideK;  // elements between neighbours of antiquant_offset along K
    int64_t antiquantOffsetStrideC;  // elements between neighbours of antiquant_offset along C
    int64_t blockSize;  // rows of a block
    int64_t blockTableStrideB;  // elements between neighbours of block_table along B
    int64_t keyStrideP;  // elements between neighbours of key along P
    int64_t keyStrideR;  // elements between neighbours of key along R
    int64_t valueStrideP;  // elements between neighbours of value along P
    int64_t valueStrideR;  // elements between neighbours of value along R
    int64_t keyIsBSH;  // whether key has the layout BSH
    int64_t valueIsBSH;  // whether value has the layout BSH
};

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_TILING_H
