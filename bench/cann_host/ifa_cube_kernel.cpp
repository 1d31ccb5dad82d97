// CANN's incre_flash_attention on cube and vector cores, as its own source instantiates it for a tiling key: CANN_KERNEL, CANN_ARGUMENTS,
// CANN_KIND.
#include "kernel_operator.h"
#include "ifa_tiling.h"
#include "incre_flash_attention_split_Bbn2s2_Us2.h"

extern "C" __global__ __aicore__ void cann_ifa_cube(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR pse, GM_ADDR mask, GM_ADDR lengths,
                                                    GM_ADDR table, GM_ADDR padding, GM_ADDR antiquant_scale, GM_ADDR antiquant_offset,
                                                    GM_ADDR quant_scale, GM_ADDR quant_offset, GM_ADDR out, GM_ADDR system, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(CANN_KIND);
  matmul::clearWorkspace(system);  // what the official build's text does ahead of a kernel
  AscendC::TPipe pipe;
  CANN_KERNEL<IFAType<CANN_ARGUMENTS>> op;
  GET_TILING_DATA_MEMBER(IncreFlashAttentionTilingDataV2, tilingBase, data, tiling);
  REGIST_MATMUL_OBJ(&pipe, system, op.mm, &data.bmm1TilingData, op.bmm2, &data.bmm2TilingData);
  op.Init(query, key, value, pse, mask, lengths, table, padding, out, nullptr, workspace, &data, tiling, &pipe);
  op.InitQuant(nullptr, nullptr, nullptr, quant_scale, quant_offset, antiquant_scale, antiquant_offset, nullptr, nullptr, nullptr, nullptr, workspace);
  op.Process();
}
