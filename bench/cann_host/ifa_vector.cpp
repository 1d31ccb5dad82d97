// Runs CANN's incre_flash_attention on vector cores alone: DTYPE, half, and the arguments of ifa.h.
#include "ifa.h"
#include "aclrtlaunch_cann_ifa_vector.h"

int main(int count, char** words) {
  const Shape shape(count - 1, words + 1);
  aclrtStream stream = started();
  const Tensors on(shape);
  const IncreFlashAttentionTilingData tiling = planned(shape);
  void* workspace = device((tiling.splitKVParams.accumOutSize + tiling.splitKVParams.logSumExpSize) * sizeof(float));
  ACLRT_LAUNCH_KERNEL(cann_ifa_vector)
  (blocks_of(shape, tiling), stream, on.query, on.key, on.value, on.pse, on.mask, on.lengths, on.table, on.padding, on.out, workspace,
   copied(std::vector<IncreFlashAttentionTilingData>{tiling}));
  return finished(stream, on.out, on.bytes);
}
