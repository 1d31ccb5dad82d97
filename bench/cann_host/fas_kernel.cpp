// CANN's flash_attention_score, as its own source instantiates it for a tiling key: CANN_KERNEL, CANN_ARGUMENTS, CANN_KIND.
#include "kernel_operator.h"
#include "fas_tiling.h"
#include "flash_attention_score_s1s2_bn2gs1.h"

extern "C" __global__ __aicore__ void cann_fas(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR mask, GM_ADDR maxima, GM_ADDR sums, GM_ADDR out,
                                               GM_ADDR system, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(CANN_KIND);
  matmul::clearWorkspace(system);  // what the official build's text does ahead of a kernel
  AscendC::TPipe pipe;
  CANN_KERNEL<CANN_ARGUMENTS> op;
  GET_TILING_DATA_WITH_STRUCT(FlashAttentionScoreGeneralTilingData, data, tiling);
  REGIST_MATMUL_OBJ(&pipe, system, op.bmm1, &data.bmm1TilingData, op.bmm2, &data.bmm2TilingData);
  op.Init(query, key, value, nullptr, nullptr, nullptr, nullptr, mask, maxima, sums, nullptr, out, workspace, &data, &pipe);
  op.Process();
}
