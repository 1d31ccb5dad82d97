// Tiling data of relay_attention: computed on the host, read by every core. A kernel reads the
// fields that it needs.
#ifndef ATTNDSL_RELAY_ATTENTION_TILING_H
#define ATTNDSL_RELAY_ATTENTION_TILING_H

#include <cstdint>

// The kernels by their tiling keys.
// A key is the sum of these:
//   dtype of query: 0 to 1, times 1
//   head size / 16: 0 to 127, times 2
enum class RelayAttentionTilingKey : uint64_t {
    kFloat16D128 = 16,
    kBfloat16D128 = 17,
};

// Axes of tensors, as strides are named after them:
//   B: batch rows, B
//   N: query heads, headNum
//   K: key/value heads, N
//   T: key positions of a batch row, S1
//   U: stored key rows, of a group or of all batch rows, S2
struct RelayAttentionTiling {
    uint64_t key;  // the tiling key, for launches that have no other way to tell it
    int64_t kvHeads;  // key/value heads
    int64_t group;  // query heads of a key/value head
    int64_t headsPerTask;  // query heads of a task, at most
    int64_t headTiles;  // tasks that share the query heads of a key/value head
    int64_t tasksKey;  // units of work before keys are split
    int64_t splitsKey;  // parts the keys of a row are split into
    int64_t itemsKey;  // units of work: a task and a split
    int64_t rowTotal;  // rows of the result
    int64_t batchRows;  // batch rows
    int64_t membersPerTask;  // batch rows of a task, at most
    int64_t memberTiles;  // tasks that share the batch rows of a list entry
    int64_t tasksKeyShare;  // units of work before keys are split
    int64_t splitsKeyShare;  // parts the keys of a row are split into
    int64_t itemsKeyShare;  // units of work: a task and a split
    int64_t rowsPerTask;  // query rows that a slot of the rings has
    int64_t blocks;  // blocks that are launched
    float qkScale;
    int64_t queryHeads;  // query heads
    int64_t headDim;  // true head size
    int64_t keyStrideT;  // elements between neighbours of key along T
    int64_t keyStrideK;  // elements between neighbours of key along K
    int64_t valueStrideT;  // elements between neighbours of value along T
    int64_t valueStrideK;  // elements between neighbours of value along K
    int64_t keyCapacityKey;  // keys of a row, at most
    int64_t queryStrideB;  // elements between neighbours of query along B
    int64_t queryStrideN;  // elements between neighbours of query along N
    int64_t keyShareStrideU;  // elements between neighbours of keyShare along U
    int64_t keyShareStrideK;  // elements between neighbours of keyShare along K
    int64_t valueShareStrideU;  // elements between neighbours of valueShare along U
    int64_t valueShareStrideK;  // elements between neighbours of valueShare along K
    int64_t keyCapacityKeyShare;  // keys of a row, at most
    int64_t warmKeys;  // keys of a slot that scores may go to
    int64_t warmRows;  // rows of a slot that vector cores store to first
    int64_t outStrideB;  // elements between neighbours of out along B
    int64_t outStrideN;  // elements between neighbours of out along N
    int64_t partialMaxKeyOffset;  // bytes from the workspace to the row maxima of key splits
    int64_t partialSumKeyOffset;  // bytes from the workspace to the row sums of key splits
    int64_t partialOutKeyOffset;  // bytes from the workspace to the weighted sums of key splits
    int64_t scoreRingOffset;  // bytes from the workspace to the ring of score tiles, cube to vector
    int64_t scoreRingPart;  // bytes of one block's scoreRing
    // bytes from the workspace to the ring of probability tiles, vector to cube
    int64_t probRingOffset;
    int64_t probRingPart;  // bytes of one block's probRing
    int64_t outRingOffset;  // bytes from the workspace to the ring of weighted sums, cube to vector
    int64_t outRingPart;  // bytes of one block's outRing
    int64_t partialMaxKeyShareOffset;  // bytes from the workspace to the row maxima of key splits
    int64_t partialSumKeyShareOffset;  // bytes from the workspace to the row sums of key splits
    // bytes from the workspace to the weighted sums of key splits
    int64_t partialOutKeyShareOffset;
    int64_t workspaceBytes;  // bytes of the user workspace
};

#endif  // ATTNDSL_RELAY_ATTENTION_TILING_H
