// CANN's incre_flash_attention on vector cores alone, as its own source instantiates it for a tiling key: CANN_KERNEL, CANN_ARGUMENTS,
// CANN_KIND.
#include "kernel_operator.h"
#include "ifa_tiling.h"
#include "incre_flash_attention_allvec_new.h"

extern "C" __global__ __aicore__ void cann_ifa_vector(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR pse, GM_ADDR mask, GM_ADDR lengths,
                                                      GM_ADDR table, GM_ADDR padding, GM_ADDR out, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(CANN_KIND);
  if (g_coreType == AscendC::AIC) return;
  AscendC::TPipe pipe;
  GET_TILING_DATA_WITH_STRUCT(IncreFlashAttentionTilingData, data, tiling);
  CANN_KERNEL<IFAType<CANN_ARGUMENTS>> op;
  op.Init(query, key, value, pse, mask, lengths, table, padding, out, nullptr, workspace, &data, &pipe);
  op.InitQuant(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, workspace);
  op.Process();
}
