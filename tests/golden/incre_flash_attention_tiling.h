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
    kFloat16D64AttnMask = 264,
};

// Axes of tensors, as strides are named after them:
//   B: batch rows, B
//   N: query heads, N
//   K: key/value heads, kvN
//   T: key positions of a batch row, S
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
    int64_t attnMaskStrideB;  // elements between neighbours of attn_mask along B
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
};

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_TILING_H
