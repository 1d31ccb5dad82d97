# ruff: noqa: E501  (C++ statements stay on one line)
"""Kernels that break one rule of the emulator's checkers each, and near twins that do not."""

from __future__ import annotations

HEAD = """
#include "kernel_operator.h"
using namespace AscendC;
#define KERNEL(name, kind) extern "C" __global__ __aicore__ void name(GM_ADDR a, GM_ADDR b, GM_ADDR o) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_##kind); \\
  GlobalTensor<float> ga, gb, go; ga.SetGlobalBuffer((__gm__ float*)a); gb.SetGlobalBuffer((__gm__ float*)b); go.SetGlobalBuffer((__gm__ float*)o); \\
  TPipe pipe;
#define UB TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 65536); LocalTensor<float> x = buf.Get<float>(), y = x[1024], z = x[2048];
#define SYNC(event) SetFlag<HardEvent::event>(0); WaitFlag<HardEvent::event>(0);
#define ALL PipeBarrier<PIPE_ALL>();
#define DONE ALL DataCopy(go, z, 64); ALL }
"""

# rule: (kind, body that is flagged, twin that is not); bodies of vector kernels have x, y, z in UB and ga, gb, go
VECTOR = {
    "read_after_write": ("Duplicate(x, 1.0f, 64); Adds(z, x, 1.0f, 64);", "Duplicate(x, 1.0f, 64); PipeBarrier<PIPE_V>(); Adds(z, x, 1.0f, 64);"),
    "write_after_write": ("Duplicate(z, 1.0f, 64); Duplicate(z[32], 2.0f, 64);", "Duplicate(z, 1.0f, 64); Duplicate(z[64], 2.0f, 64);"),
    "write_after_read": (
        "DataCopy(x, ga, 64); SYNC(MTE2_V) Adds(z, x, 1.0f, 64); DataCopy(x, gb, 64);",
        "DataCopy(x, ga, 64); SYNC(MTE2_V) Adds(z, x, 1.0f, 64); SYNC(V_MTE2) DataCopy(x, gb, 64);",
    ),
    "wait_without_set": ("WaitFlag<HardEvent::MTE2_V>(3); Duplicate(z, 1.0f, 64);", "SetFlag<HardEvent::MTE2_V>(3); WaitFlag<HardEvent::MTE2_V>(3); Duplicate(z, 1.0f, 64);"),
    "unpaired_flag": ("Duplicate(z, 1.0f, 64); SetFlag<HardEvent::V_MTE2>(5);", "Duplicate(z, 1.0f, 64); SetFlag<HardEvent::V_MTE2>(5); WaitFlag<HardEvent::V_MTE2>(5);"),
    "doubled_set": (
        "Duplicate(z, 1.0f, 64); SetFlag<HardEvent::V_MTE2>(5); SetFlag<HardEvent::V_MTE2>(5); WaitFlag<HardEvent::V_MTE2>(5);",
        "Duplicate(z, 1.0f, 64); SetFlag<HardEvent::V_MTE2>(5); SetFlag<HardEvent::V_MTE2>(4); WaitFlag<HardEvent::V_MTE2>(5); WaitFlag<HardEvent::V_MTE2>(4);",
    ),
    "set_overtakes_wait": (
        "for (int i = 0; i < 2; ++i) { DataCopy(x[i * 64], ga, 64); SYNC(MTE2_V) } Duplicate(z, 1.0f, 64);",
        "for (int i = 0; i < 2; ++i) { DataCopy(x[i * 64], ga, 64); SYNC(MTE2_V) SYNC(V_MTE2) } Duplicate(z, 1.0f, 64);",
    ),
    "event_id_range": ("SetFlag<HardEvent::MTE2_V>(8); WaitFlag<HardEvent::MTE2_V>(8); Duplicate(z, 1.0f, 64);", "SetFlag<HardEvent::MTE2_V>(7); WaitFlag<HardEvent::MTE2_V>(7); Duplicate(z, 1.0f, 64);"),
    "event_on_wrong_core": ("SYNC(M_FIX) Duplicate(z, 1.0f, 64);", "SYNC(V_MTE3) Duplicate(z, 1.0f, 64);"),
    "events_exhausted": (
        "for (int i = 0; i < 9; ++i) pipe.AllocEventID<HardEvent::MTE2_V>(); Duplicate(z, 1.0f, 64);",
        "for (int i = 0; i < 9; ++i) pipe.ReleaseEventID<HardEvent::MTE2_V>(pipe.AllocEventID<HardEvent::MTE2_V>()); Duplicate(z, 1.0f, 64);",
    ),
    "out_of_range": (
        "Duplicate(z, 1.0f, 64); LocalTensor<float> all(TPosition::VECCALC, 0, 64); Duplicate(all[49152], 1.0f, 1);",
        "Duplicate(z, 1.0f, 64); LocalTensor<float> all(TPosition::VECCALC, 0, 64); Duplicate(all[49144], 1.0f, 8);",
    ),
    "outside_buffer": ("Duplicate(z, 1.0f, 64); Duplicate(x[16376], 1.0f, 9);", "Duplicate(z, 1.0f, 64); Duplicate(x[16376], 1.0f, 8);"),
    "misaligned": ("Duplicate(z, 1.0f, 64); Duplicate(x[4], 1.0f, 8);", "Duplicate(z, 1.0f, 64); Duplicate(x[8], 1.0f, 8);"),
    "copy_tail": ("Duplicate(z, 1.0f, 64); DataCopy(x, ga, 63);", "Duplicate(z, 1.0f, 64); DataCopy(x, ga, 56);"),
    "copy_range": (
        "Duplicate(z, 1.0f, 64); DataCopyPad(x, ga, DataCopyExtParams(4096, 4, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0));",
        "Duplicate(z, 1.0f, 64); DataCopyPad(x, ga, DataCopyExtParams(256, 4, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0));",
    ),
    "copy_padding": (
        "Duplicate(z, 1.0f, 64); DataCopyPad(x, ga, DataCopyExtParams(1, 4, 0, 0, 0), DataCopyPadExtParams<float>(true, 9, 0, 0));",
        "Duplicate(z, 1.0f, 64); DataCopyPad(x, ga, DataCopyExtParams(1, 4, 0, 0, 0), DataCopyPadExtParams<float>(true, 8, 0, 0));",
    ),
    "mask_range": (
        "Duplicate(z, 1.0f, (uint64_t)65, 1, 1, 8);",
        "Duplicate(z, 1.0f, (uint64_t)64, 1, 1, 8);",
    ),
    "repeat_range": (
        "Duplicate(z, 1.0f, 64); ALL WholeReduceSum(x, z, 64, 256, 1, 1, 0);",
        "Duplicate(z, 1.0f, 64); ALL WholeReduceSum(x, z, 64, 255, 1, 1, 0);",
    ),
    "buffer_capacity": (
        "TBuf<TPosition::VECIN> more; pipe.InitBuffer(more, 131073); Duplicate(z, 1.0f, 64);",
        "TBuf<TPosition::VECIN> more; pipe.InitBuffer(more, 131072); Duplicate(z, 1.0f, 64);",
    ),
    "unknown_address": (
        "Duplicate(z, 1.0f, 64); GlobalTensor<float> none; none.SetGlobalBuffer((__gm__ float*)nullptr); DataCopy(x, none, 8);",
        "Duplicate(z, 1.0f, 64); GlobalTensor<float> none; none.SetGlobalBuffer((__gm__ float*)a); DataCopy(x, none, 8);",
    ),
    "buffer_capacity__rounded": (
        "TBuf<TPosition::VECIN> more; pipe.InitBuffer(more, 0xFFFFFFFFu); Duplicate(z, 1.0f, 64);",
        "TBuf<TPosition::VECIN> more; pipe.InitBuffer(more, 131065); Duplicate(z, 1.0f, 64);",
    ),
    # all of the fixpipe buffer's parts may be asked for
    "buffer_capacity__fixpipe": (
        "TBuf<TPosition::C2PIPE2GM> more; pipe.InitBuffer(more, 7169); Duplicate(z, 1.0f, 64);",
        "TBuf<TPosition::C2PIPE2GM> more; pipe.InitBuffer(more, 7168); Duplicate(z, 1.0f, 64);",
    ),
    "constant_memory": (
        "Duplicate(z, 1.0f, 64); static __gm__ const float table[16] = {5}; ga.SetGlobalBuffer((__gm__ float*)table); SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); DataCopy(ga, z, 8);",
        "static __gm__ const float table[16] = {5}; ga.SetGlobalBuffer((__gm__ float*)table); DataCopy(z, ga, 16); SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0); Duplicate(z[16], 1.0f, 48);",
    ),
    "wrong_core": (
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::CO1> c; pipe.InitBuffer(c, 1024); Fixpipe<float, float, CFG_ROW_MAJOR>(go, c.Get<float>(), FixpipeParamsV220(16, 16, 16, 16, false));",
        "Duplicate(z, 1.0f, 64);",
    ),
    "wrong_memory": (
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::A1> c; pipe.InitBuffer(c, 1024); DataCopy(c.Get<float>(), ga, 64);",
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::VECIN> c; pipe.InitBuffer(c, 1024); DataCopy(c.Get<float>(), ga, 64);",
    ),
    "select_scratch": (
        "TBuf<TPosition::VECIN> more; pipe.InitBuffer(more, 131072); Duplicate(more.Get<float>()[32760], 1.0f, 8); Duplicate(x, 1.0f, 64); Duplicate(y, 2.0f, 64); ALL"
        " CompareScalar(x[512].ReinterpretCast<uint8_t>(), x, 1.0f, CMPMODE::EQ, 64); ALL Select(z, x[512].ReinterpretCast<uint8_t>(), x, y, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64);",
        "TBuf<TPosition::VECIN> more; pipe.InitBuffer(more, 131072); Duplicate(more.Get<float>(), 1.0f, 8); Duplicate(x, 1.0f, 64); Duplicate(y, 2.0f, 64); ALL"
        " CompareScalar(x[512].ReinterpretCast<uint8_t>(), x, 1.0f, CMPMODE::EQ, 64); ALL Select(z, x[512].ReinterpretCast<uint8_t>(), x, y, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64);",
    ),
    "undefined_value": ("Duplicate(z, 1.0f, 63);", "Duplicate(z, 1.0f, 64);"),
}  # fmt: skip

# initcheck: undefined bytes may lie anywhere, but must not reach an output, a scalar, an address
INIT = {
    "through_arithmetic": ("Duplicate(x, 1.0f, 60); ALL Adds(z, x, 1.0f, 64);", "Duplicate(x, 1.0f, 60); ALL Duplicate(x[56], 1.0f, 8); ALL Adds(z, x, 1.0f, 64);"),
    "through_a_reduction": (
        "Duplicate(z, 0.0f, 64); Duplicate(x, 1.0f, 60); ALL WholeReduceSum(z, x, 64, 1, 1, 1, 8);",
        "Duplicate(z, 0.0f, 64); Duplicate(x, 1.0f, 60); ALL WholeReduceSum(z, x, 60, 1, 1, 1, 8);",
    ),
    "through_a_cast": (
        "Duplicate(x, 1.0f, 60); ALL Cast(y.ReinterpretCast<half>(), x, RoundMode::CAST_RINT, 64); ALL Cast(z, y.ReinterpretCast<half>(), RoundMode::CAST_NONE, 64);",
        "Duplicate(x, 1.0f, 64); ALL Cast(y.ReinterpretCast<half>(), x, RoundMode::CAST_RINT, 64); ALL Cast(z, y.ReinterpretCast<half>(), RoundMode::CAST_NONE, 64);",
    ),
    "to_a_scalar": ("Duplicate(z, 1.0f, 64); ALL x.GetValue(3);", "Duplicate(z, 1.0f, 64); ALL z.GetValue(3);"),
    "to_an_address": (
        "Duplicate(x, 1.0f, 64); Duplicate(y.ReinterpretCast<uint32_t>(), 4u, 60); Duplicate(z, 1.0f, 64); ALL Gather(z, x, y.ReinterpretCast<uint32_t>(), 0, 61);",
        "Duplicate(x, 1.0f, 64); Duplicate(y.ReinterpretCast<uint32_t>(), 4u, 64); Duplicate(z, 1.0f, 64); ALL Gather(z, x, y.ReinterpretCast<uint32_t>(), 0, 61);",
    ),
    "pads_of_a_load": (
        "DataCopyPad(z, ga, DataCopyExtParams(1, 252, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 1, 0));",
        "DataCopyPad(z, ga, DataCopyExtParams(1, 252, 0, 0, 0), DataCopyPadExtParams<float>(true, 0, 1, 0));",
    ),
    # bits 0 to 19 of the mask are defined, 20 to 63 are not; byte 2 holds both
    "bits_of_a_packed_mask": (
        "Duplicate(z, 0.0f, 64); Duplicate(x, 1.0f, 64); Duplicate(x[512], 1.0f, 20); ALL CompareScalar(x[768].ReinterpretCast<uint8_t>(), x[512], 1.0f, CMPMODE::EQ, 64); ALL"
        " Select(z, x[768].ReinterpretCast<uint8_t>(), x, 2.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 21);",
        "Duplicate(z, 0.0f, 64); Duplicate(x, 1.0f, 64); Duplicate(x[512], 1.0f, 20); ALL CompareScalar(x[768].ReinterpretCast<uint8_t>(), x[512], 1.0f, CMPMODE::EQ, 64); ALL"
        " Select(z, x[768].ReinterpretCast<uint8_t>(), x, 2.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 20);",
    ),
    "select_takes_the_defined_side": (
        "Duplicate(x, 1.0f, 64); Duplicate(x[512], 1.0f, 64); ALL CompareScalar(x[768].ReinterpretCast<uint8_t>(), x[512], 2.0f, CMPMODE::EQ, 64); ALL"
        " Select(z, x[768].ReinterpretCast<uint8_t>(), x, y, SELMODE::VSEL_CMPMASK_SPR, 64);",
        "Duplicate(x, 1.0f, 64); Duplicate(x[512], 1.0f, 64); ALL CompareScalar(x[768].ReinterpretCast<uint8_t>(), x[512], 1.0f, CMPMODE::EQ, 64); ALL"
        " Select(z, x[768].ReinterpretCast<uint8_t>(), x, y, SELMODE::VSEL_CMPMASK_SPR, 64);",
    ),
}  # fmt: skip

CUBE_CORE = """
  TBuf<TPosition::A1> l1; TBuf<TPosition::A2> l0a; TBuf<TPosition::B2> l0b; TBuf<TPosition::CO1> l0c;
  pipe.InitBuffer(l1, 65536); pipe.InitBuffer(l0a, 32768); pipe.InitBuffer(l0b, 32768); pipe.InitBuffer(l0c, 65536);
  LocalTensor<half> h1 = l1.Get<half>(), ha = l0a.Get<half>(), hb = l0b.Get<half>(); LocalTensor<float> c = l0c.Get<float>();
  GlobalTensor<half> gh; gh.SetGlobalBuffer((__gm__ half*)a);
"""
READY = "DataCopy(h1, gh, Nd2NzParams(1, 64, 16, 0, 16, 64, 1, 0)); ALL LoadData(ha, h1, LoadData2DParams(0, 4, 1, 0, 0, false, 0)); LoadData(hb, h1, LoadData2DParams(0, 4, 1, 0, 0, false, 0)); ALL "
_SEVERAL = (
    "Mmad(c, ha, hb, MmadParams(%s, 0, false, true)); Mmad(c, ha, hb, MmadParams(%s, 0, false, false)); ALL"
)
CUBE = {
    "read_after_write": ("pipe.Destroy();" + READY + _SEVERAL % ("48, 48, 16", "48, 48, 16"), "pipe.Destroy();" + READY + _SEVERAL % ("64, 48, 16", "64, 48, 16")),
    "event_held_by_pipe": ("SetFlag<HardEvent::M_MTE1>(1); WaitFlag<HardEvent::M_MTE1>(1);", "SetFlag<HardEvent::M_MTE1>(3); WaitFlag<HardEvent::M_MTE1>(3);"),
    "wrong_position": (READY + "Mmad(c, hb, hb, MmadParams(64, 64, 16, 0, false, true)); ALL", READY + "Mmad(c, ha, hb, MmadParams(64, 64, 16, 0, false, true)); ALL"),
    "misaligned": (READY + "Mmad(c[128], ha, hb, MmadParams(64, 64, 16, 0, false, true)); ALL", READY + "Mmad(c[256], ha, hb, MmadParams(64, 64, 16, 0, false, true)); ALL"),
    "nd2nz_range": ("DataCopy(h1, gh, Nd2NzParams(1, 16, 17, 0, 16, 16, 1, 0)); ALL", "DataCopy(h1, gh, Nd2NzParams(1, 16, 16, 0, 15, 16, 1, 0)); ALL"),
    "fixpipe_stride": (
        READY + "Mmad(c, ha, hb, MmadParams(64, 64, 16, 0, false, true)); ALL Fixpipe<float, float, CFG_ROW_MAJOR>(go, c, FixpipeParamsV220(64, 64, 48, 64, false)); ALL",
        READY + "Mmad(c, ha, hb, MmadParams(64, 64, 16, 0, false, true)); ALL Fixpipe<float, float, CFG_ROW_MAJOR>(go, c, FixpipeParamsV220(64, 64, 64, 64, false)); ALL",
    ),
    "fixpipe_quant": (
        READY + "Mmad(c, ha, hb, MmadParams(64, 64, 16, 0, false, true)); ALL Fixpipe<half, float, CFG_ROW_MAJOR>(gh, c, FixpipeParamsV220(16, 16, 64, 16, false)); ALL",
        READY + "Mmad(c, ha, hb, MmadParams(64, 64, 16, 0, false, true)); ALL FixpipeParamsV220 f(16, 16, 64, 16, false); f.quantPre = F322F16; Fixpipe<half, float, CFG_ROW_MAJOR>(gh, c, f); ALL",
    ),
    "undefined_value": (
        READY + "Mmad(c, ha, hb, MmadParams(60, 60, 16, 0, false, true)); ALL Fixpipe<float, float, CFG_ROW_MAJOR>(go, c, FixpipeParamsV220(64, 60, 64, 64, false)); ALL",
        READY + "Mmad(c, ha, hb, MmadParams(60, 60, 16, 0, false, true)); ALL Fixpipe<float, float, CFG_ROW_MAJOR>(go, c, FixpipeParamsV220(60, 60, 64, 64, false)); ALL",
    ),
}  # fmt: skip

_COPY_OUT = "Duplicate(x, 1.0f, 64); SYNC(V_MTE3) DataCopy(%s, x, %s); ALL"
_BYTES = "Duplicate(x, 1.0f, 64); SYNC(V_MTE3) DataCopyPad(go[GetBlockIdx() * %d], x, DataCopyExtParams(1, 12, 0, 0, 0)); ALL"
MIX = {
    # two vector cores of a block, or two blocks, on one array
    ("write_after_write", "AIV_ONLY"): (_COPY_OUT % ("go", "64"), _COPY_OUT % ("go[GetBlockIdx() * 64]", "64")),
    ("write_after_write", "MIX_AIC_1_2"): ("if ASCEND_IS_AIV { UB " + _BYTES % 2 + "}", "if ASCEND_IS_AIV { UB " + _BYTES % 3 + "}"),
    ("read_after_write", "AIV_ONLY"): (
        "if (GetBlockIdx() == 0) { " + _COPY_OUT % ("go", "64") + " } else { DataCopy(x, go, 64); ALL }",
        "if (GetBlockIdx() == 0) { " + _COPY_OUT % ("go", "64") + " } SyncAll(); if (GetBlockIdx() > 0) { DataCopy(x, go, 64); ALL }",
    ),
    ("deadlock", "MIX_AIC_1_2"): (
        "if ASCEND_IS_AIC { CrossCoreWaitFlag(3); } else if (GetSubBlockIdx() == 0) { CrossCoreSetFlag<2, PIPE_MTE3>(3); }",
        "if ASCEND_IS_AIC { CrossCoreWaitFlag(3); } else { CrossCoreSetFlag<2, PIPE_MTE3>(3); }",
    ),
    ("unpaired_cross_core", "MIX_AIC_1_2"): (
        "if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(3); } else if (GetSubBlockIdx() == 0) { CrossCoreWaitFlag(3); }",
        "if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(3); } else { CrossCoreWaitFlag(3); }",
    ),
    ("unmatched_cross_core", "MIX_AIC_1_2"): (
        "if ASCEND_IS_AIV { CrossCoreSetFlag<1, PIPE_MTE3>(3); if (GetSubBlockIdx() == 0) { CrossCoreSetFlag<1, PIPE_MTE3>(3); } CrossCoreWaitFlag(3); }",
        "if ASCEND_IS_AIV { CrossCoreSetFlag<1, PIPE_MTE3>(3); CrossCoreWaitFlag(3); }",
    ),
    ("cross_core_overflow", "MIX_AIC_1_1"): (
        "for (int i = 0; i < 16; ++i) { if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(3); } } for (int i = 0; i < 16; ++i) { if ASCEND_IS_AIV { CrossCoreWaitFlag(3); } }",
        "for (int i = 0; i < 15; ++i) { if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(3); } } for (int i = 0; i < 15; ++i) { if ASCEND_IS_AIV { CrossCoreWaitFlag(3); } }",
    ),
    ("cross_core_mixed_modes", "MIX_AIC_1_2"): (
        "if ASCEND_IS_AIV { CrossCoreSetFlag<1, PIPE_MTE3>(3); CrossCoreSetFlag<2, PIPE_MTE3>(3); CrossCoreWaitFlag(3); } else { CrossCoreWaitFlag(3); }",
        "if ASCEND_IS_AIV { CrossCoreSetFlag<1, PIPE_MTE3>(3); CrossCoreSetFlag<2, PIPE_MTE3>(4); CrossCoreWaitFlag(3); } else { CrossCoreWaitFlag(4); }",
    ),
}  # fmt: skip


def texts_of_all():
    out = {}
    for rule, twins in VECTOR.items():
        for which, body in zip(("bad", "good"), twins, strict=True):
            out[f"v_{rule}_{which}"] = f"KERNEL(v_{rule}_{which}, AIV_ONLY) UB {body} DONE\n"
    for name, twins in INIT.items():
        for which, body in zip(("bad", "good"), twins, strict=True):
            out[f"i_{name}_{which}"] = f"KERNEL(i_{name}_{which}, AIV_ONLY) UB {body} DONE\n"
    for rule, twins in CUBE.items():
        for which, body in zip(("bad", "good"), twins, strict=True):
            out[f"c_{rule}_{which}"] = f"KERNEL(c_{rule}_{which}, AIC_ONLY) {CUBE_CORE} {body} }}\n"
    for (rule, kind), twins in MIX.items():
        for which, body in zip(("bad", "good"), twins, strict=True):
            head = "UB" if kind == "AIV_ONLY" else "pipe.Destroy();"
            out[f"m_{rule}_{kind}_{which}"] = f"KERNEL(m_{rule}_{kind}_{which}, {kind}) {head} {body} }}\n"
    return out
