# ruff: noqa: E501  (C++ statements stay on one line)
"""Every rule has a kernel it must flag and a near twin it must not: the rest of them, and that none is left out."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from attndsl.emulator import Argument, Knobs, build_all
from tests.support import rule_kernels as checks

ROOT = Path(__file__).parents[2] / "attndsl" / "emulator"

_TO5HD = "LocalTensor<half> f[16], t[16]; for (int i = 0; i < 16; ++i) { f[i] = x.ReinterpretCast<half>()[i * 16]; t[i] = y.ReinterpretCast<half>()[i * 16]; } "
_NCHW = (
    "LocalTensor<half> hx = x.ReinterpretCast<half>(), hy = y.ReinterpretCast<half>(); LocalTensor<uint8_t> tmp = z[512].ReinterpretCast<uint8_t>(); tmp.SetSize(%s);"
    " Duplicate(hx, (half)1, 128); Duplicate(z, 1.0f, 64); ALL Transpose(hy, hx, tmp, TransposeParamsExt(1, 2, %s, 16, TransposeType::%s)); ALL"
)
_FILL = "Duplicate(x, 1.0f, 512); Duplicate(z, 1.0f, 64); ALL "
_JOINED = (
    "Duplicate(y, 1.0f, %d); ALL CompareScalar(y[512].ReinterpretCast<uint8_t>(), y, 2.0f, CMPMODE::EQ, 64);"
    " CompareScalar(y[520].ReinterpretCast<uint8_t>(), x, 1.0f, CMPMODE::EQ, 64); ALL"
    " LocalTensor<uint16_t> first = y[512].ReinterpretCast<uint16_t>(), second = y[520].ReinterpretCast<uint16_t>(); %s ALL"
    " Select(z, y[512].ReinterpretCast<uint8_t>(), x, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, %d);"
)
_JOINS = {
    "joined": "Or(first, first, second, 4);",
    "both": "And(first, first, second, 4);",
    "inverted": "Not(first, first, 4);",
}
# rule: (what it flags, what it does not)
VECTOR = {
    "operand_overlap": (_FILL + "Muls(x[64], x, 2.0f, 256);", _FILL + "Muls(x, x[64], 2.0f, 256);"),
    "operand_overlap_half_a_repeat": (_FILL + "Adds(x, x[32], 1.0f, 64);", _FILL + "Adds(x, x, 1.0f, 64);"),
    "operand_overlap_broadcast": (
        _FILL + "Sub(x, y, x, 64, 3, BinaryRepeatParams(1, 1, 0, 8, 8, 0));",
        _FILL + "Duplicate(y, 1.0f, 64); ALL Sub(x, x, y, 64, 3, BinaryRepeatParams(1, 1, 0, 8, 8, 0));",
    ),
    "operand_overlap_accumulate": (
        _FILL + "Div(x, x[128], x, 64, 3, BinaryRepeatParams(1, 1, 1, 0, 8, 0));",
        _FILL + "Add(x, x[128], x, 64, 3, BinaryRepeatParams(1, 1, 1, 0, 8, 0));",
    ),
    "operand_overlap_masked": (
        _FILL + "Muls(x[32], x, 2.0f, 64, 1, UnaryRepeatParams());",
        _FILL + "Muls(x[32], x, 2.0f, 32, 1, UnaryRepeatParams());",
    ),
    # masked vector instructions: lanes that are off take no part
    "read_after_write_masked": (
        _FILL + "Duplicate(x, 2.0f, (uint64_t)32, 1, 1, 8); Adds(z, x, 1.0f, 64, 1, UnaryRepeatParams());",
        _FILL + "Duplicate(x, 2.0f, (uint64_t)32, 1, 1, 8); uint64_t high[2] = {0xFFFFFFFF00000000, 0}; Adds(z, x, 1.0f, high, 1, UnaryRepeatParams());",
    ),
    "undefined_value_masked": (
        "Duplicate(z, 1.0f, 64); uint64_t odd[2] = {0xAAAAAAAAAAAAAAAA, 0}; Duplicate(x, 2.0f, odd, 1, 1, 8); ALL Adds(z, x, 1.0f, 64, 1, UnaryRepeatParams());",
        "Duplicate(z, 1.0f, 64); uint64_t odd[2] = {0xAAAAAAAAAAAAAAAA, 0}; Duplicate(x, 2.0f, odd, 1, 1, 8); ALL Adds(z, x, 1.0f, odd, 1, UnaryRepeatParams());",
    ),
    "buffer_count": (
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::VECIN> more[64]; for (auto& m : more) pipe.InitBuffer(m, 32);",
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::VECIN> more[63]; for (auto& m : more) pipe.InitBuffer(m, 32);",
    ),
    # behind and before the buffer, by every kind of operand; an address that the kernel made itself belongs to no buffer
    "outside_buffer_before": (
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::VECIN> next; pipe.InitBuffer(next, 256); Duplicate(next.Get<float>()[(uint32_t)-8], 1.0f, 8);",
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::VECIN> next; pipe.InitBuffer(next, 256); Duplicate(next.Get<float>()[8][(uint32_t)-8], 1.0f, 8);",
    ),
    "outside_buffer_by_hand": (
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::VECIN> next; pipe.InitBuffer(next, 256); Duplicate(next.GetWithOffset<float>(64, 128), 1.0f, 64);",
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::VECIN> next; pipe.InitBuffer(next, 256); Duplicate(pipe.GetAbsAddr<TPosition::VECIN, float>((int32_t)next.GetWithOffset<float>(64, 128).GetPhyAddr(), 64), 1.0f, 64);",
    ),
    "outside_buffer_of_a_queue": (
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 2> q; pipe.InitBuffer(q, 2, 250); auto t = q.AllocTensor<float>(); DataCopy(t, ga, 72); q.FreeTensor(t);",
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 2> q; pipe.InitBuffer(q, 2, 250); auto t = q.AllocTensor<float>(); DataCopy(t, ga, 64); q.FreeTensor(t);",
    ),
    "outside_buffer_of_a_pool": (
        "Duplicate(z, 1.0f, 64); TBufPool<TPosition::VECCALC> pool; pipe.InitBufPool(pool, 4096); TBuf<TPosition::VECCALC> t, u; pool.InitBuffer(t, 256); pool.InitBuffer(u, 256); Duplicate(t.Get<float>(), 1.0f, 128);",
        "Duplicate(z, 1.0f, 64); TBufPool<TPosition::VECCALC> pool; pipe.InitBufPool(pool, 4096); TBuf<TPosition::VECCALC> t, u; pool.InitBuffer(t, 512); pool.InitBuffer(u, 256); Duplicate(t.Get<float>(), 1.0f, 128);",
    ),
    "outside_buffer_of_an_allocator": (
        "Duplicate(z, 1.0f, 64); LocalMemAllocator<> all; all.Alloc<float>(40000); LocalTensor<float> t = all.Alloc<float>(58); Duplicate(t, 1.0f, 65);",
        "Duplicate(z, 1.0f, 64); LocalMemAllocator<> all; all.Alloc<float>(40000); LocalTensor<float> t = all.Alloc<float>(58); Duplicate(t, 1.0f, 64);",
    ),
    "outside_buffer_without_pipe": (
        "Duplicate(z, 1.0f, 64); pipe.Destroy(); x.SetValue(16384, 1.0f);",
        "Duplicate(z, 1.0f, 64); pipe.Destroy(); x.SetValue(16383, 1.0f);",
    ),
    "outside_buffer_without_any": (
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::VECIN> next; Duplicate(next.Get<float>(), 1.0f, 64);",
        "Duplicate(z, 1.0f, 64); TBuf<TPosition::VECIN> next; pipe.InitBuffer(next, 256); Duplicate(next.Get<float>(), 1.0f, 64);",
    ),
    "outside_buffer_masked": (
        "Duplicate(z, 1.0f, 64); Duplicate(x[16352], 1.0f, (uint64_t)33, 1, 1, 8);",
        "Duplicate(z, 1.0f, 64); Duplicate(x[16352], 1.0f, (uint64_t)32, 1, 1, 8);",
    ),
    "outside_buffer_of_bits": (
        _FILL + "CompareScalar(x[16382].ReinterpretCast<uint8_t>()[8], x, 1.0f, CMPMODE::EQ, 64);",
        _FILL + "CompareScalar(x[16376].ReinterpretCast<uint8_t>(), x, 1.0f, CMPMODE::EQ, 64);",
    ),
    "count_range": ("Duplicate(z, 1.0f, 64); Duplicate(x, 1.0f, -1);", "Duplicate(z, 1.0f, 64); Duplicate(x, 1.0f, 0);"),
    "cast_mode": (_FILL + "Cast(y.ReinterpretCast<bfloat16_t>(), x, RoundMode::CAST_NONE, 64);", _FILL + "Cast(y.ReinterpretCast<bfloat16_t>(), x, RoundMode::CAST_RINT, 64);"),
    "compare_mode": (
        _FILL + "Compare(y.ReinterpretCast<uint8_t>(), x.ReinterpretCast<int32_t>(), x.ReinterpretCast<int32_t>(), CMPMODE::LT, 64);",
        _FILL + "Compare(y.ReinterpretCast<uint8_t>(), x.ReinterpretCast<int32_t>(), x.ReinterpretCast<int32_t>(), CMPMODE::EQ, 64);",
    ),
    "compare_count": (_FILL + "Compare(y.ReinterpretCast<uint8_t>(), x, x, CMPMODE::LT, 63);", _FILL + "Compare(y.ReinterpretCast<uint8_t>(), x, x, CMPMODE::LT, 64);"),
    "select_mode": (
        _FILL + "Select(z, x.ReinterpretCast<uint8_t>(), x, x, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);",
        _FILL + "Select(z, x.ReinterpretCast<uint8_t>(), x, x, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64);",
    ),
    "misaligned_in_global_memory": (
        "Duplicate(z, 1.0f, 64); GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)(a + 2)); DataCopy(x, g, 8);",
        "Duplicate(z, 1.0f, 64); GlobalTensor<half> g; g.SetGlobalBuffer((__gm__ half*)(a + 2)); DataCopy(x.ReinterpretCast<half>(), g, 16);",
    ),
    "misaligned_padded_copy": (
        "Duplicate(z, 1.0f, 64); GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)(b + 2)); SYNC(V_MTE3) DataCopyPad(g, z, DataCopyExtParams(1, 8, 0, 0, 0));",
        "Duplicate(z, 1.0f, 64); GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)(b + 4)); SYNC(V_MTE3) DataCopyPad(g, z, DataCopyExtParams(1, 8, 0, 0, 0));",
    ),
    "row_alignment": (
        _FILL + "LocalTensor<uint8_t> t = y[1024].ReinterpretCast<uint8_t>(); LocalTensor<float> last = y[512]; CumSum<float>(z, last, x, t, {2, 7});",
        _FILL + "LocalTensor<uint8_t> t = y[1024].ReinterpretCast<uint8_t>(); LocalTensor<float> last = y[512]; CumSum<float>(z, last, x, t, {2, 8});",
    ),
    "misaligned_groups": (
        _FILL + "Duplicate(y.ReinterpretCast<int32_t>(), 5, 64); ALL Sort32(z[8], x, y.ReinterpretCast<uint32_t>(), 1);",
        _FILL + "Duplicate(y.ReinterpretCast<int32_t>(), 5, 64); ALL Sort32(z[64], x, y.ReinterpretCast<uint32_t>(), 1);",
    ),
    # bits without a value decide how many elements are kept
    "undefined_value_in_bits": (
        _FILL + "Duplicate(y.ReinterpretCast<int32_t>(), 5, 1); ALL uint64_t kept = 0; GatherMask(y[512], x, y.ReinterpretCast<uint32_t>(), true, 33, GatherMaskParams(1, 1, 8, 1), kept);",
        _FILL + "Duplicate(y.ReinterpretCast<int32_t>(), 5, 1); ALL uint64_t kept = 0; GatherMask(y[512], x, y.ReinterpretCast<uint32_t>(), true, 32, GatherMaskParams(1, 1, 8, 1), kept);",
    ),
    "undefined_value_in_a_byte_of_bits": (
        _FILL + "Duplicate(y, 1.0f, 20); ALL CompareScalar(y[512].ReinterpretCast<uint8_t>(), y, 1.0f, CMPMODE::EQ, 64); ALL uint64_t kept = 0; GatherMask(y[640], x, y[512].ReinterpretCast<uint32_t>(), true, 21, GatherMaskParams(1, 1, 8, 1), kept);",
        _FILL + "Duplicate(y, 1.0f, 20); ALL CompareScalar(y[512].ReinterpretCast<uint8_t>(), y, 1.0f, CMPMODE::EQ, 64); ALL uint64_t kept = 0; GatherMask(y[640], x, y[512].ReinterpretCast<uint32_t>(), true, 20, GatherMaskParams(1, 1, 8, 1), kept);",
    ),
    # bits behind the last element have no value: joined bits have those of their places alone, not of their words;
    # 8 and 24 elements end at a byte within a word
    **{
        f"undefined_value_in_{name}_bits_behind_{end}": (
            _FILL + _JOINED % (end, joined, end + 1),
            _FILL + _JOINED % (end, joined, end),
        )
        for name, joined in _JOINS.items()
        for end in (8, 20, 24)
    },
    "gather_mask_pattern": (
        _FILL + "uint64_t kept = 0; GatherMask(y, x, (uint8_t)8, false, 0, GatherMaskParams(1, 1, 8, 0), kept);",
        _FILL + "uint64_t kept = 0; GatherMask(y, x, (uint8_t)7, false, 0, GatherMaskParams(1, 1, 8, 0), kept);",
    ),
    "merge_length": (
        _FILL + "uint16_t n[4] = {4096, 0, 0, 0}; MrgSort(y, MrgSortSrcList<float>(x, x, x, x), MrgSort4Info(n, false, 3, 1));",
        _FILL + "uint16_t n[4] = {4, 4, 0, 0}; MrgSort(y, MrgSortSrcList<float>(x, x[8], x, x), MrgSort4Info(n, false, 3, 1));",
    ),
    "merge_repeat": (
        _FILL + "uint16_t n[4] = {4, 4, 4, 4}; MrgSort(y, MrgSortSrcList<float>(x, x[8], x[16], x[32]), MrgSort4Info(n, false, 15, 2));",
        _FILL + "uint16_t n[4] = {4, 4, 4, 4}; MrgSort(y, MrgSortSrcList<float>(x, x[8], x[16], x[24]), MrgSort4Info(n, false, 15, 2));",
    ),
    "merge_valid": (
        _FILL + "uint16_t n[4] = {4, 4, 0, 0}; MrgSort(y, MrgSortSrcList<float>(x, x[8], x, x), MrgSort4Info(n, false, 5, 1));",
        _FILL + "uint16_t n[4] = {4, 4, 0, 0}; MrgSort(y, MrgSortSrcList<float>(x, x[8], x, x), MrgSort4Info(n, false, 3, 1));",
    ),
    "transpose_stride": (_FILL + _TO5HD + "TransDataTo5HD<half>(t, f, TransDataTo5HDParams(false, false, 1, 1, 1));", _FILL + _TO5HD + "TransDataTo5HD<half>(t, f, TransDataTo5HDParams(false, false, 1, 0, 0));"),
    "transpose_range": (_NCHW % ("2048", "256", "TRANSPOSE_NCHW2NHWC"), _NCHW % ("2048", "2", "TRANSPOSE_NCHW2NHWC")),
    "work_tensor_size": (_NCHW % ("2047", "2", "TRANSPOSE_NCHW2NHWC"), _NCHW % ("2048", "2", "TRANSPOSE_NCHW2NHWC")),
    "unsupported": (_NCHW % ("2048", "2", "TRANSPOSE_ND2ND_ONLY"), _NCHW % ("2048", "2", "TRANSPOSE_NCHW2NHWC")),
    "queue_exhausted": (
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 256); auto a1 = q.AllocTensor<float>(); auto a2 = q.AllocTensor<float>(); q.FreeTensor(a1);",
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 256); auto a1 = q.AllocTensor<float>(); q.FreeTensor(a1); auto a2 = q.AllocTensor<float>(); q.FreeTensor(a2);",
    ),
    "queue_order": (
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 256); auto a1 = q.DeQue<float>();",
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 256); auto a1 = q.AllocTensor<float>(); q.EnQue(a1); a1 = q.DeQue<float>(); q.FreeTensor(a1);",
    ),
    "queue_exhausted_without_buffers": (
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 1> q; auto t = q.AllocTensor<float>();",
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 256); auto t = q.AllocTensor<float>(); q.FreeTensor(t);",
    ),
    "queue_depth": (
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 2, 256); for (int i = 0; i < 2; ++i) q.EnQue(q.AllocTensor<float>()); for (int i = 0; i < 2; ++i) { auto t = q.DeQue<float>(); q.FreeTensor(t); }",
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 2> q; pipe.InitBuffer(q, 2, 256); for (int i = 0; i < 2; ++i) q.EnQue(q.AllocTensor<float>()); for (int i = 0; i < 2; ++i) { auto t = q.DeQue<float>(); q.FreeTensor(t); }",
    ),
    "tensor_not_freed": (
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 256); auto t = q.AllocTensor<float>(); q.EnQue(t); t = q.DeQue<float>();",
        "Duplicate(z, 1.0f, 64); TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 256); auto t = q.AllocTensor<float>(); q.EnQue(t); t = q.DeQue<float>(); q.FreeTensor(t);",
    ),
    "register_not_restored": (
        "Duplicate(z, 1.0f, 64); SetAtomicAdd<float>();",
        "Duplicate(z, 1.0f, 64); SetAtomicAdd<float>(); SetAtomicNone();",
    ),
    "select_register": (
        _FILL + "SetVectorMask<float>(0, 255); LocalTensor<float> s(TPosition::VECCALC, 65536, 8); SetCmpMask(s); ALL Select(y, x.ReinterpretCast<uint8_t>(), x, 1, BinaryRepeatParams());",
        _FILL + "SetVectorMask<float>(0, 255); LocalTensor<float> s(TPosition::VECCALC, 65536, 8); Duplicate(s, 1.0f, 8); ALL SetCmpMask(s); ALL Select(y, x.ReinterpretCast<uint8_t>(), x, 1, BinaryRepeatParams());",
    ),
    "slice_range": (
        "SliceInfo f[] = {{0, 40, 7, 3, 87}}, t[] = {{0, 47, 0, 3, 48}}; Duplicate(z, 1.0f, 64); DataCopy(x, ga, t, f, 1);",
        "SliceInfo f[] = {{0, 54, 7, 3, 87}}, t[] = {{0, 47, 0, 3, 48}}; Duplicate(z, 1.0f, 64); DataCopy(x, ga, t, f, 1);",
    ),
}  # fmt: skip

_L3D = "uint8_t pad[4] = {0, 0, 0, 0}; SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0); LoadData3DParamsV2<half> l(pad, %s, 64, 16, 16, 64, 0, 0, 1, 1, 1, 1, 1, 1, false, false, (half)0); LoadData(ha, h1, l); ALL"
_LOADED = "DataCopy(h1, gh, Nd2NzParams(1, 64, 16, 0, 16, 64, 1, 0)); ALL "
_PRODUCT = checks.READY + "Mmad(c, ha, hb, MmadParams(64, 64, 16, 0, false, true)); ALL "
_BIAS = "LocalTensor<float> t(TPosition::C2, %s, 16); DataCopy(t, l1.Get<float>(), DataCopyParams(1, 1, 0, 0)); ALL"
_WORDS = "LocalTensor<uint64_t> w(TPosition::C2PIPE2GM, %s, 16); DataCopy(w, l1.Get<uint64_t>()[%s], DataCopyParams(1, 1, 0, 0)); ALL "
_BY_WORDS = "FixpipeParamsV220 f(16, 16, 64, 16, false); f.quantPre = VQF322B8_PRE; GlobalTensor<int8_t> g; g.SetGlobalBuffer((__gm__ int8_t*)o); Fixpipe<int8_t, float, CFG_ROW_MAJOR>(g, c, w, f); ALL"
_NARROW = "FixpipeParamsV220 f(%s, 16, 64, 64, false); f.quantPre = F322F16; "
_UNIT = checks.READY + (
    "GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)o); uint8_t modes[] = {%s}; for (int i = 0; i < 3; ++i) { "
    "MmadParams p(32, 32, 16, 0, false, i == 0); p.unitFlag = modes[i]; Mmad(c, ha, hb, p); PipeBarrier<PIPE_M>(); } "
    "FixpipeParamsV220 f(32, 32, 32, 32, false); f.unitFlag = %s; SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0); Fixpipe<float, float, CFG_ROW_MAJOR>(g, c, f); ALL"
)
# MTE1 reads what MTE2 writes anew, once the product of it has been written back
_BEHIND = checks.READY + (
    "GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)o); LoadData(ha, h1, LoadData2DParams(0, 2, 1, 0, 0, false, 0)); "
    "SetFlag<HardEvent::MTE1_M>(0); WaitFlag<HardEvent::MTE1_M>(0); MmadParams p(32, 32, 16, 0, false, true); p.unitFlag = 3; Mmad(c, ha, hb, p); "
    "FixpipeParamsV220 f(32, 32, 32, 32, false); f.unitFlag = 3; Fixpipe<float, float, CFG_ROW_MAJOR>(g, c, f); %s "
    "DataCopy(h1, gh, Nd2NzParams(1, 64, 16, 0, 16, 64, 1, 0)); ALL"
)
# the second tile's product comes after the first's by the write-back between them
_TURNS = checks.READY + (
    "GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)o); for (int i = 0; i < 2; ++i) { uint8_t mode = i ? %s : 3; "
    "MmadParams p(32, 32, 16, 0, false, true); p.unitFlag = mode; Mmad(c, ha, hb, p); SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0); "
    "FixpipeParamsV220 f(32, 32, 32, 32, false); f.unitFlag = mode; Fixpipe<float, float, CFG_ROW_MAJOR>(g, c, f); PipeBarrier<PIPE_FIX>(); } ALL"
)
CUBE = {
    "outside_buffer": (
        "TBuf<TPosition::A1> last; pipe.InitBuffer(last, 2016); DataCopy(last.Get<half>(), gh, Nd2NzParams(1, 64, 16, 0, 16, 64, 1, 0)); ALL",
        "TBuf<TPosition::A1> last; pipe.InitBuffer(last, 2048); DataCopy(last.Get<half>(), gh, Nd2NzParams(1, 64, 16, 0, 16, 64, 1, 0)); ALL",
    ),
    "load3d_range": (_LOADED + _L3D % "32768", _LOADED + _L3D % "1"),
    "product_range": (checks.READY + "Mmad(c, ha, hb, MmadParams(4096, 16, 16, 0, false, true)); ALL", checks.READY + "Mmad(c, ha, hb, MmadParams(64, 16, 16, 0, false, true)); ALL"),
    "fixpipe_layout": (
        _PRODUCT + _NARROW % "16" + "Fixpipe<half, float, CFG_ROW_MAJOR>(h1[8192], c, f); ALL",
        _PRODUCT + _NARROW % "16" + "Fixpipe<half, float, CFG_NZ>(h1[8192], c, f); ALL",
    ),
    "fixpipe_range": (
        _PRODUCT + _NARROW % "15" + "Fixpipe<half, float, CFG_NZ>(h1[8192], c, f); ALL",
        _PRODUCT + _NARROW % "32" + "Fixpipe<half, float, CFG_NZ>(h1[8192], c, f); ALL",
    ),
    "unit_flag": (_UNIT % ("0, 0, 0", "3"), _UNIT % ("2, 2, 3", "3")),
    "unit_flag_still_set": (_UNIT % ("2, 2, 3", "0"), _UNIT % ("2, 2, 3", "3")),
    "unit_flag_of_a_product": (_UNIT % ("2, 3, 3", "3"), _UNIT % ("2, 2, 3", "3")),
    # unit flags order products and write-backs, not one product and the next
    "read_after_write_of_products": (_UNIT.replace("PipeBarrier<PIPE_M>();", "") % ("2, 2, 3", "3"), _UNIT % ("2, 2, 3", "3")),
    "write_after_write_of_tiles": (_TURNS % "0", _TURNS % "3"),
    "write_after_read_of_tiles": (_TURNS % "0", _TURNS % "3"),
    "write_after_read_behind_unit_flags": (_BEHIND % "", _BEHIND % "SetFlag<HardEvent::FIX_MTE2>(0); WaitFlag<HardEvent::FIX_MTE2>(0);"),
    "misaligned_bias": (_LOADED + _BIAS % "32", _LOADED + _BIAS % "64"),
    "misaligned_words": (_LOADED + _WORDS % ("64", "0"), _LOADED + _WORDS % ("128", "0")),
    "undefined_value_in_words": (_PRODUCT + _WORDS % ("0", "2048") + _BY_WORDS, _PRODUCT + _WORDS % ("0", "0") + _BY_WORDS),
    "transpose_width": (
        _LOADED + "LoadData(l0b.Get<int8_t>(), l1.Get<int8_t>(), LoadData2DParams(0, 1, 1, 0, 0, true, 0)); ALL",
        _LOADED + "LoadData(hb, h1, LoadData2DParams(0, 1, 1, 0, 0, true, 0)); ALL",
    ),
}  # fmt: skip

_BOTH = "if ASCEND_IS_AIV { UB Duplicate(x, %s, 64); SYNC(V_MTE3) DataCopy(go, x, 64); ALL }"
_OTHER = (
    "if ASCEND_IS_AIV { UB Duplicate(x, GetSubBlockIdx() * %s, 64); SYNC(V_MTE3) DataCopy(go, x, 64); ALL }"
)
MIX = {
    # every core may clear what is then added to; what is left there must be clear, whoever comes last
    "write_after_write_of_one_value": (_BOTH % "1.0f", _BOTH % "0.0f"),
    "write_after_write_of_a_value": (_OTHER % "1.0f", _OTHER % "0.0f"),
    "cross_core_id_range": (
        "if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(16); } else { CrossCoreWaitFlag(16); }",
        "if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(15); } else { CrossCoreWaitFlag(15); }",
    ),
    "cross_core_mode": (
        "if ASCEND_IS_AIC { CrossCoreSetFlag<1, PIPE_FIX>(3); }",
        "if ASCEND_IS_AIV { CrossCoreSetFlag<1, PIPE_MTE3>(3); CrossCoreWaitFlag(3); }",
    ),
    "group_index": (
        "if ASCEND_IS_AIV { GroupBarrier<PipeMode::MTE3_MODE> g(b, 1, 1); if (GetSubBlockIdx() == 0) { g.Arrive(1); } }",
        "if ASCEND_IS_AIV { GroupBarrier<PipeMode::MTE3_MODE> g(b, 1, 1); if (GetSubBlockIdx() == 0) { g.Arrive(0); } else { g.Wait(0); } }",
    ),
}  # fmt: skip

# Flagged and let pass elsewhere, by programs or by the arguments of a launch.
ELSEWHERE = {
    "test_emulate.py": {"illegal_blocks", "illegal_free", "no_device", "never_written", "out_of_memory", "stream_not_synchronized", "wrong_direction"},
    "test_build_text.py": {"unset_workspace"},
    "test_language.py": {"array_index", "division_by_zero"},
    "test_launch.py": {"blocks_start_apart", "cache_not_cleaned", "empty_list", "shared_cache_line", "stale_cache_line"},
    "test_soft_sync.py": {"sync_workspace"},
    "test_image_loads.py": {"window_range"},
    "test_library_quant.py": {"pad_shape", "quant_shape", "sync_base", "topk_shape"},
    "test_matmul_batches.py": {"batch_shape"},
    "test_matmul_choices.py": {"matmul_tiling"},
    "test_library_rows.py": {"broadcast_shape", "norm_shape", "row_alignment", "softmax_shape"},
    "test_public_forms.py": {"deq_scale", "nz2nd_range", "spm_range"},
}  # fmt: skip

_GROUPS = [("v", VECTOR, "AIV_ONLY", "UB %s DONE"), ("c", CUBE, "AIC_ONLY", checks.CUBE_CORE + " %s }"), ("m", MIX, "MIX_AIC_1_2", "pipe.Destroy(); %s }")]  # fmt: skip
CASES = [(group, name) for group, table, _, _ in _GROUPS for name in table]


@pytest.fixture(scope="module")
def kernels():
    texts = {}
    for group, table, kind, frame in _GROUPS:
        for name, twins in table.items():
            for which, body in zip(("bad", "good"), twins, strict=True):
                entry = f"{group}_{name}_{which}"
                texts[entry] = f"KERNEL({entry}, {kind}) {frame % body}\n"
    return build_all(checks.HEAD + "".join(texts.values()), entries=list(texts))


def _run(kernel):
    args = [
        Argument("a", np.ones(1024, np.float32)),
        Argument("b", np.zeros(1024, np.float32)),
        Argument("o", np.zeros(4096, np.float32), output=True),
    ]
    return kernel.run(1, args, knobs=Knobs())


@pytest.mark.parametrize(("group", "name"), CASES)
def test_flagged_and_its_twin(kernels, group, name):
    bad = _run(kernels[f"{group}_{name}_bad"])
    assert any(name.startswith(key.split("/")[1]) for key in bad.finding_counts), bad.findings
    good = _run(kernels[f"{group}_{name}_good"])
    assert good.ok, good.findings


def _rules_of_the_source() -> set[str]:
    call = re.compile(
        r'(?:report|report_host|require|complain|report_buffers)\((?:[^;"]*?"(?:mem|race|sync|init)check",\s*|[^;"]*?)"([a-z0-9_]+)"'
    )
    places = ("src/*.cpp", "include/ascendc/*.h", "intrinsics/intrinsics/*.h")
    texts = [file.read_text() for place in places for file in ROOT.glob(place)]
    found = {rule for text in texts for rule in call.findall(text)}
    chosen_by_kind = {"read_after_write", "write_after_read", "write_after_write"}
    return found - {"memcheck", "racecheck", "synccheck", "initcheck"} | chosen_by_kind


def test_every_rule_has_a_pair() -> None:
    rules = _rules_of_the_source()
    assert len(rules) > 60 and "undefined_value" in rules
    paired = {
        *(name.partition("__")[0] for name in checks.VECTOR),
        *checks.CUBE,
        *(rule for rule, _ in checks.MIX),
        *VECTOR,
        *CUBE,
        *MIX,
    }
    for file, names in ELSEWHERE.items():
        text = (Path(__file__).parent / file).read_text()
        assert [name for name in names if name not in text] == []
        paired |= names
    assert rules - paired == set(), "rules without a kernel they flag and a twin they let pass"
