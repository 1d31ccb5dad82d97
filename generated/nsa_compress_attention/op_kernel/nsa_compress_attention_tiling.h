// Tiling data of nsa_compress_attention: computed on the host, read by every core. A kernel reads
// the fields that it needs.
#ifndef ATTNDSL_NSA_COMPRESS_ATTENTION_TILING_H
#define ATTNDSL_NSA_COMPRESS_ATTENTION_TILING_H

#include <cstdint>

// The kernels by their tiling keys.
// A key is the sum of these:
//   dtype of query: 0 to 1, times 1
//   head size / 16: 0 to 127, times 2
//   value size / 16: 0 to 127, times 256
//   topk_mask: 0 to 1, times 32768
//   atten_mask: 0 to 1, times 65536
enum class NsaCompressAttentionTilingKey : uint64_t {
    kFloat16D128E128 = 2064,
    kFloat16D128E128TopkMask = 34832,
    kFloat16D128E128AttenMask = 67600,
    kBfloat16D128E128 = 2065,
    kBfloat16D128E128TopkMask = 34833,
    kBfloat16D128E128AttenMask = 67601,
};

// Axes of tensors, as strides are named after them:
//   N: query heads, N1
//   K: key/value heads, N2
//   Q: query positions of a batch row, S1
//   U: stored key rows, of a group or of all batch rows, T2
//   S: packed query tokens of all batch rows, T1
struct NsaCompressAttentionTiling {
    uint64_t key;  // the tiling key, for launches that have no other way to tell it
    int64_t kvHeads;  // key/value heads
    int64_t group;  // query heads of a key/value head
    int64_t headsPerTask;  // query heads of a task, at most
    int64_t headTiles;  // tasks that share the query heads of a key/value head
    int64_t queriesPerTask;  // query positions of a task, at most
    int64_t queryTiles;  // tasks that share the query positions of a batch row
    int64_t rowsPerTask;  // query rows that a slot of the rings has
    int64_t tasks;  // units of work before keys are split
    int64_t splits;  // parts the keys of a row are split into
    int64_t items;  // units of work: a task and a split
    int64_t blocks;  // blocks that are launched
    float scaleValue;
    int64_t softmaxMaxOutStrideS;  // elements between neighbours of softmax_max_out along S
    int64_t softmaxMaxOutStrideN;  // elements between neighbours of softmax_max_out along N
    int64_t softmaxSumOutStrideS;  // elements between neighbours of softmax_sum_out along S
    int64_t softmaxSumOutStrideN;  // elements between neighbours of softmax_sum_out along N
    int64_t valueDim;  // true head size of values
    int64_t attentionOutStrideS;  // elements between neighbours of attention_out along S
    int64_t attentionOutStrideN;  // elements between neighbours of attention_out along N
    int64_t longestBlocks;  // blocks of the longest batch row
    int64_t windowStep;  // keys from a block's window to the next
    int64_t windowTerms;  // keys of a window
    int64_t windowLast;  // last key of the first window
    int64_t selectionCount;  // blocks that are selected
    int64_t tileBlocks;  // blocks that a tile completes, at most
    int64_t windowCount1;  // factor of a window's terms
    int64_t topkIndicesOutStrideS;  // elements between neighbours of topk_indices_out along S
    int64_t topkIndicesOutStrideK;  // elements between neighbours of topk_indices_out along K
    int64_t headDim;  // true head size
    int64_t keyStrideU;  // elements between neighbours of key along U
    int64_t keyStrideK;  // elements between neighbours of key along K
    int64_t valueStrideU;  // elements between neighbours of value along U
    int64_t valueStrideK;  // elements between neighbours of value along K
    int64_t S1;  // query positions of the longest batch row
    int64_t keyCapacity;  // keys of a row, at most
    int64_t queryStrideS;  // elements between neighbours of query along S
    int64_t queryStrideN;  // elements between neighbours of query along N
    int64_t scoreRingOffset;  // bytes from the workspace to the ring of score tiles, cube to vector
    int64_t scoreRingPart;  // bytes of one block's scoreRing
    // bytes from the workspace to the ring of probability tiles, vector to cube
    int64_t probRingOffset;
    int64_t probRingPart;  // bytes of one block's probRing
    int64_t outRingOffset;  // bytes from the workspace to the ring of weighted sums, cube to vector
    int64_t outRingPart;  // bytes of one block's outRing
    int64_t workspaceBytes;  // bytes of the user workspace
    int64_t topkMaskStrideQ;  // elements between neighbours of topk_mask along Q
    int64_t attenMaskStrideQ;  // elements between neighbours of atten_mask along Q
    int64_t keyCapacityScalar;  // keys of a row, at most
    // bytes from the workspace to the ends of the keys that positions see, and their first hidden
    // keys
    int64_t keyEndsOffset;
};

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_TILING_H
