# ruff: noqa: E501  (C++ statements stay on one line)
"""The driver: arguments, tensor lists, queues, scalar cache, and everything that can go wrong with a process."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path

import numpy as np
import pytest

import attndsl.emulator
from attndsl.emulator import (
    Argument,
    CompileFailed,
    CompilerMissing,
    FindingsError,
    KernelCrashed,
    KernelTimeout,
    Knobs,
    LaunchError,
    build,
    build_all,
    find_compiler,
    toolchain,
)
from attndsl.emulator.errors import WrongCompiler

TEXT = """
#include <cstdio>
#include <cstdlib>
#include "kernel_operator.h"
#include "kernel_operator_list_tensor_intf.h"
using namespace AscendC;

struct Tiling { uint32_t scale; float offset; };

extern "C" __global__ __aicore__ void queues(GM_ADDR in, GM_ADDR out, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GET_TILING_DATA_WITH_STRUCT(Tiling, data, tiling);
  TPipe pipe;
  TQue<QuePosition::VECIN, 1> arriving;
  TQue<QuePosition::VECOUT, 1> leaving;
  pipe.InitBuffer(arriving, 2, 1024);
  pipe.InitBuffer(leaving, 2, 1024);
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)in + GetBlockIdx() * 2048, 2048);
  to.SetGlobalBuffer((__gm__ float*)out + GetBlockIdx() * 2048, 2048);
  for (uint32_t i = 0; i < 8; ++i) {
    LocalTensor<float> x = arriving.AllocTensor<float>();
    DataCopy(x, from[i * 256], 256);
    arriving.EnQue(x);
    LocalTensor<float> a = arriving.DeQue<float>();
    LocalTensor<float> y = leaving.AllocTensor<float>();
    Muls(y, a, (float)data.scale, 256);
    PipeBarrier<PIPE_V>();
    Adds(y, y, data.offset, 256);
    leaving.EnQue(y);
    arriving.FreeTensor(a);
    LocalTensor<float> b = leaving.DeQue<float>();
    DataCopy(to[i * 256], b, 256);
    leaving.FreeTensor(b);
  }
}

extern "C" __global__ __aicore__ void who(GM_ADDR out) {
  TPipe pipe;
  pipe.Destroy();
  if ASCEND_IS_AIV {
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 32);
    LocalTensor<int32_t> x = buffer.Get<int32_t>();
    x.SetValue(0, GetBlockIdx()); x.SetValue(1, GetBlockNum()); x.SetValue(2, GetSubBlockIdx()); x.SetValue(3, GetSubBlockNum());
    x.SetValue(4, GetTaskRation()); x.SetValue(5, ASCEND_IS_AIC); x.SetValue(6, ASCEND_IS_AIV); x.SetValue(7, 7);
    SetFlag<HardEvent::S_MTE3>(0);
    WaitFlag<HardEvent::S_MTE3>(0);
    GlobalTensor<int32_t> to;
    to.SetGlobalBuffer((__gm__ int32_t*)out);
    DataCopy(to[GetBlockIdx() * 8], x, 8);
  }
}

extern "C" __global__ __aicore__ void lists(GM_ADDR list, GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 1024);
  LocalTensor<float> x = buffer.Get<float>();
  GlobalTensor<float> to, from;
  to.SetGlobalBuffer((__gm__ float*)out);
  ListTensorDesc desc((__gm__ void*)list, 4096, 2);
  uint32_t at = 0;
  for (uint32_t i = 0; i < desc.GetSize(); ++i) {
    uint64_t shape[2];
    TensorDesc<float> one;
    one.SetShapeAddr(shape);
    desc.GetDesc(one, i);
    uint32_t n = one.GetShape(0) * one.GetShape(1);
    from.SetGlobalBuffer(desc.GetDataPtr<__gm__ float>(i), n);
    DataCopy(x, from, n);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(to[at], x, n);
    SetFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(0);
    at += n;
  }
}

extern "C" __global__ __aicore__ void list_size(GM_ADDR list, GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  ListTensorDesc desc;
  desc.Init((__gm__ void*)list);
  GlobalTensor<int32_t> to;
  to.SetGlobalBuffer((__gm__ int32_t*)out);
  to.SetValue(0, desc.GetSize());
  DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(to);
}

__aicore__ inline void Clean(const GlobalTensor<int32_t>& line) {
  DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(line);
}
#define SCALAR(name, body) extern "C" __global__ __aicore__ void name(GM_ADDR out) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0); \\
  TPipe pipe; GlobalTensor<int32_t> to; to.SetGlobalBuffer((__gm__ int32_t*)out); uint32_t mine = 16 * GetBlockIdx(), other = 16 - mine; body }
SCALAR(store_cleaned, to.SetValue(0, 5); Clean(to);)
SCALAR(store_kept, to.SetValue(0, 5);)
SCALAR(line_tail_cleaned, to.SetValue(1, 5); to.SetValue(10, 6); Clean(to[8]);)
SCALAR(line_shared, to.SetValue(GetBlockIdx(), 5); Clean(to[GetBlockIdx()]);)
SCALAR(line_taken_in_turns, if (GetBlockIdx() == 0) { to.SetValue(0, 5); Clean(to); } SyncAll(); if (GetBlockIdx() == 1) { to.SetValue(1, 5); Clean(to); } SyncAll();)
SCALAR(line_overwritten, int seen = to.GetValue(0); SyncAll(); if (GetBlockIdx() == 0) { to.SetValue(0, 5); Clean(to); } SyncAll(); if (GetBlockIdx() == 1) { to.SetValue(1, seen); Clean(to); } SyncAll();)
// each block stores in its own line and reads the other's, whose old content it has seen before
#define EXCHANGE(clean) to.GetValue(other); SyncAll(); to.SetValue(mine, 40 + GetBlockIdx()); Clean(to[mine]); SyncAll(); clean; \\
  int32_t seen = to.GetValue(other); to.SetValue(mine + 1, seen); Clean(to[mine]);
SCALAR(exchange_fresh, EXCHANGE(Clean(to[other])))
SCALAR(exchange_stale, EXCHANGE())

extern "C" __global__ __aicore__ void wild(GM_ADDR out) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); TPipe pipe; *(volatile uint8_t*)(out + 8192 * 1000) = 1; }
extern "C" __global__ __aicore__ void null(GM_ADDR out) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); TPipe pipe; GM_ADDR none = out; asm("" : "+r"(none)); none -= (uintptr_t)out; *(volatile int*)none = 1; }
extern "C" __global__ __aicore__ void deep(GM_ADDR out) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); volatile uint8_t big[8 << 20]; for (int i = 0; i < 8 << 20; i += 512) big[i] = 1; }
extern "C" __global__ __aicore__ void endless(GM_ADDR out) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); while (*(volatile uint8_t*)out == 0) {} }
extern "C" __global__ __aicore__ void hungry(GM_ADDR out) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); for (size_t n = 1; n < 10000; ++n) { volatile char* p = new char[1ull << 30]; p[0] = 1; } }
extern "C" __global__ __aicore__ void chatter(GM_ADDR out) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); while (true) puts("and so on and so on and so on and so on and so on"); }
extern "C" __global__ __aicore__ void leaves(GM_ADDR out) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); _Exit(5); }
"""
ENTRIES = [
    "queues",
    "who",
    "lists",
    "list_size",
    "store_cleaned",
    "store_kept",
    "line_tail_cleaned",
    "line_shared",
    "line_taken_in_turns",
    "line_overwritten",
    "exchange_fresh",
    "exchange_stale",
    "wild",
    "null",
    "deep",
    "endless",
    "hungry",
    "chatter",
    "leaves",
]


@pytest.fixture(scope="module")
def kernels():
    return build_all(TEXT, entries=ENTRIES)


def _rules(report):
    return {name.split("/")[1] for name in report.finding_counts}


def test_queues_with_double_buffering(kernels):
    source = np.random.default_rng(0).standard_normal(6144).astype(np.float32)
    out = np.zeros(6144, np.float32)
    tiling = np.zeros(1, [("scale", np.uint32), ("offset", np.float32)])
    tiling["scale"], tiling["offset"] = 3, 0.5
    report = kernels["queues"].run(
        3, [Argument("in", source), Argument("out", out, output=True), Argument("tiling", tiling)]
    )
    report.raise_for_findings()
    np.testing.assert_array_equal(out, source * np.float32(3) + np.float32(0.5))
    assert report.counters["instructions"]["V"] == 3 * 16
    assert report.counters["gm_read_bytes"]["in"] == report.counters["gm_write_bytes"]["out"] == 6144 * 4


@pytest.mark.parametrize(("kind", "vectors"), [(None, 2), ("MIX_AIC_1_1", 1), ("AIV_ONLY", 1)])
def test_who_am_i(kernels, kind, vectors):
    out = np.zeros((3 * vectors, 8), np.int32)
    report = kernels["who"].run(3, [Argument("out", out, output=True)], kind=kind)
    assert report.ok, report.findings
    expected = [[b * vectors + s, 3, s, vectors, vectors, 0, 1, 7] for b in range(3) for s in range(vectors)]
    np.testing.assert_array_equal(out, expected)


def test_tensor_list(kernels):
    arrays = [np.random.default_rng(i).standard_normal((i + 1, 8)).astype(np.float32) for i in range(5)]
    out = np.zeros(120, np.float32)
    report = kernels["lists"].run(1, [Argument("key", arrays), Argument("out", out, output=True)])
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, np.concatenate([a.reshape(-1) for a in arrays]))
    assert report.counters["gm_read_bytes"]["key[4]"] == 160
    with pytest.raises(LaunchError, match="same rank"):
        kernels["lists"].run(1, [Argument("key", [np.zeros(8), np.zeros((1, 8))]), Argument("out", out)])


def test_an_empty_list_has_nothing_to_decode(kernels):
    """CANN reads the first tensor's descriptor, which is behind the end of an empty list."""
    out = np.zeros(16, np.int32)
    report = kernels["list_size"].run(1, [Argument("key", []), Argument("out", out, output=True)])
    assert report.finding_counts == {"memcheck/empty_list": 1}, report.findings
    smallest = [np.zeros(8, np.float32)]
    report = kernels["list_size"].run(1, [Argument("key", smallest), Argument("out", out, output=True)])
    assert report.ok and out[0] == 1, report.findings


def test_scalar_stores_reach_memory_when_cleaned(kernels):
    out = np.zeros(32, np.int32)
    report = kernels["store_cleaned"].run(1, [Argument("out", out)])
    assert report.ok and out[0] == 5
    report = kernels["store_kept"].run(1, [Argument("out", np.zeros(32, np.int32))])
    assert _rules(report) == {"cache_not_cleaned"}
    kept = np.zeros(32, np.int32)
    report = kernels["store_kept"].run(1, [Argument("out", kept)], knobs=Knobs(clean_at_end=True))
    assert report.ok and kept[0] == 5


def test_cleaning_takes_a_line_from_the_address_to_its_end(kernels):
    out = np.zeros(32, np.int32)
    report = kernels["line_tail_cleaned"].run(1, [Argument("out", out)])
    assert _rules(report) == {"cache_not_cleaned"}
    assert out[10] == 6


def test_lines_are_written_back_whole(kernels):
    report = kernels["line_shared"].run(2, [Argument("out", np.zeros(32, np.int32))])
    assert _rules(report) == {"shared_cache_line"}
    out = np.zeros(32, np.int32)
    report = kernels["line_taken_in_turns"].run(2, [Argument("out", out)])
    assert report.ok, report.findings
    assert list(out[:2]) == [5, 5]
    out = np.zeros(32, np.int32)
    report = kernels["line_overwritten"].run(2, [Argument("out", out)])
    assert "shared_cache_line" in _rules(report)
    assert out[0] == 0  # as core 1 had it


def test_stale_cache_lines(kernels):
    out = np.zeros(32, np.int32)
    report = kernels["exchange_fresh"].run(2, [Argument("out", out)])
    assert report.ok, report.findings
    assert (out[1], out[17]) == (41, 40)
    out = np.zeros(32, np.int32)
    report = kernels["exchange_stale"].run(2, [Argument("out", out)])
    assert "stale_cache_line" in _rules(report)
    assert (out[1], out[17]) == (0, 0)


def test_a_wild_pointer_is_a_crash_that_names_the_core(kernels):
    with pytest.raises(KernelCrashed, match=r"wild died of SIGSEGV: .*block 0 AIV0"):
        kernels["wild"].run(1, [Argument("out", np.zeros(8, np.uint8))])


def test_a_null_pointer_is_told(kernels):
    with pytest.raises(KernelCrashed, match="a null pointer was followed, on block 0 AIV0"):
        kernels["null"].run(1, [Argument("out", np.zeros(8, np.uint8))])


def test_an_exhausted_stack_is_a_crash(kernels):
    with pytest.raises(KernelCrashed, match=r"stack is exhausted \(knob stack_bytes\), on block 0 AIV0"):
        kernels["deep"].run(1, [Argument("out", np.zeros(8, np.uint8))])
    assert (
        kernels["deep"].run(1, [Argument("out", np.zeros(8, np.uint8))], knobs=Knobs(stack_bytes=32 << 20)).ok
    )


def test_an_endless_loop_times_out_and_says_where_it_was(kernels):
    with pytest.raises(
        KernelTimeout, match=r"endless did not end within 0\.3 s.*block 0 AIV0 before its first"
    ):
        kernels["endless"].run(1, [Argument("out", np.zeros(8, np.uint8))], timeout=0.3)


def test_waiting_for_a_busy_machine_is_not_the_kernel_s_time(kernels, monkeypatch):
    def delayed(command, **limits):
        return run_process(["sh", "-c", 'sleep 0.6; exec "$@"', "sh", *command], **limits)

    run_process = attndsl.emulator.kernel.run_process
    monkeypatch.setattr(attndsl.emulator.kernel, "run_process", delayed)
    out = Argument("out", np.zeros(8, np.uint8))
    with pytest.raises(KernelTimeout, match=r"did not end within 0\.4 s"):
        kernels["endless"].run(1, [out], timeout=0.4)
    assert kernels["who"].run(1, [Argument("out", np.zeros(64, np.int32))], timeout=0.4)


def test_a_memory_bomb_is_told_from_other_crashes(kernels):
    with pytest.raises(KernelCrashed, match=r"hungry asked for more memory than the \d+ MiB it may have"):
        kernels["hungry"].run(1, [Argument("out", np.zeros(8, np.uint8))])


def test_a_kernel_that_prints_for_ever_is_stopped(kernels):
    with pytest.raises(KernelTimeout, match="printed more than 64 MiB"):
        kernels["chatter"].run(1, [Argument("out", np.zeros(8, np.uint8))])


def test_a_kernel_that_ends_its_process_is_an_error(kernels):
    with pytest.raises(KernelCrashed, match="ended its process with exit code 5"):
        kernels["leaves"].run(1, [Argument("out", np.zeros(8, np.uint8))])


def test_terabytes_are_refused_before_anything_is_written(kernels):
    huge = np.broadcast_to(np.zeros(1, np.uint8), (1 << 42,))
    with pytest.raises(LaunchError, match=r"4194305 MiB of global memory, 4194305 MiB of them 'workspace'"):
        kernels["who"].run(1, [Argument("out", np.zeros(8)), Argument("workspace", huge, scratch=True)])


def test_more_cores_than_memory_are_refused(kernels):
    with pytest.raises(LaunchError, match="60000 blocks of 3 cores need"):
        kernels["who"].run(60000, [Argument("out", np.zeros(8))], kind="MIX_AIC_1_2")


def test_a_compiler_that_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 0.01)
    with pytest.raises(CompileFailed, match=r"the compiler did not end within 0\.01 s"):
        build(f'#include "kernel_operator.h"\nvoid unique{os.getpid()}() {{}}\n', entry="k")


def test_launch_mistakes(kernels):
    out = np.zeros(64, np.int32)
    with pytest.raises(LaunchError, match="1 arguments, 2 were given"):
        kernels["who"].run(1, [Argument("out", out), Argument("more", out)])
    with pytest.raises(LaunchError, match="same name"):
        kernels["lists"].run(1, [Argument("out", out), Argument("out", out)])
    with pytest.raises(LaunchError, match="at least 1"):
        kernels["who"].run(0, [Argument("out", out)])
    with pytest.raises(LaunchError, match="none of AIV_ONLY"):
        kernels["who"].run(1, [Argument("out", out)], kind="AIV")
    locked = np.zeros(64, np.int32)
    locked.flags.writeable = False
    with pytest.raises(LaunchError, match="read-only"):
        kernels["who"].run(1, [Argument("out", locked)])
    with pytest.raises(LaunchError, match="no such kernel file"):
        build(Path("nowhere.cpp"), entry="k")
    with pytest.raises(LaunchError, match="no C\\+\\+ function name"):
        build("\n", entry="a b")


def test_a_null_argument_is_found_where_it_is_used(kernels):
    report = kernels["who"].run(1, [Argument("out", None)])
    assert _rules(report) == {"unknown_address"}
    with pytest.raises(FindingsError, match="unknown_address"):
        report.raise_for_findings()


def test_unsupported_api_does_not_compile():
    body = '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void k(GM_ADDR a) { AscendC::Bilinear(a); }\n'
    with pytest.raises(CompileFailed, match="Bilinear") as raised:
        build(body, entry="k")
    assert "kernel.cpp:2" in str(raised.value)


def test_kernel_file_with_a_header_of_its_own(tmp_path):
    (tmp_path / "sizes.h").write_text("constexpr int kValue = 3;\n")
    source = tmp_path / "store.cpp"
    source.write_text(
        '#include "kernel_operator.h"\n#include "sizes.h"\nextern "C" __global__ __aicore__ void store(GM_ADDR out) {\n'
        "  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n  AscendC::GlobalTensor<int32_t> to;\n  to.SetGlobalBuffer((__gm__ int32_t*)out);\n"
        "  to.SetValue(0, kValue + EXTRA);\n}\n"
    )
    values = []
    for header, extra in ((3, 10), (3, 20), (4, 10)):
        (tmp_path / "sizes.h").write_text(f"constexpr int kValue = {header};\n")
        out = np.zeros(8, np.int32)
        report = build(source, entry="store", defines=[f"EXTRA={extra}"]).run(1, [Argument("out", out)])
        values.append(int(out[0]))
        assert report.findings[0].source == "store.cpp:7"
    assert values == [13, 23, 14]


def test_compiled_kernels_come_from_the_cache(kernels, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("compiled again")

    monkeypatch.setattr(attndsl.emulator.kernel, "run_compiler", refuse)
    assert build_all(TEXT, entries=ENTRIES)["who"].executable == kernels["who"].executable


def test_without_a_compiler(monkeypatch):
    monkeypatch.setattr(toolchain, "_candidates", lambda: [("no-such-compiler",)])
    assert find_compiler() is None
    with pytest.raises(CompilerMissing, match="no-such-compiler"):
        build("int x;\n", entry="k")


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ("/no/such/cxx -O2", "there is no such program"),
        ("/bin/false", "does not answer to --version"),
        ("g++ 'x", "No closing quotation"),
        ("''", "there is no such program"),
    ],
)
def test_a_compiler_that_is_stated_is_used_or_refused(monkeypatch, stated, reason):
    """Nothing else is used in its place: whoever states one wants to know what it makes of the kernels."""
    monkeypatch.setenv("CXX", stated)
    for find in (find_compiler, toolchain.require_compiler):
        with pytest.raises(WrongCompiler, match=reason) as caught:
            find()
        assert f"CXX={stated!r}" in str(caught.value)


def test_an_option_that_the_stated_compiler_refuses_is_no_fault_of_a_kernel(monkeypatch, tmp_path):
    """It is told with the variable that holds it, not as an error of what is compiled first."""
    compiler = find_compiler()
    assert compiler is not None
    monkeypatch.setenv("CXX", f"{compiler.path} -fno-such-option")
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path))
    with pytest.raises(WrongCompiler, match=r"CXX='.* -fno-such-option' cannot be used.*-fno-such-option'"):
        build("int x;\n", entry="k")


def test_the_compiler_that_is_stated_is_used(monkeypatch):
    monkeypatch.setenv("CXX", "  ")
    compiler = find_compiler()
    assert compiler is not None and compiler.version
    monkeypatch.setenv("CXX", f"env {compiler.path}")
    stated = find_compiler()
    assert stated is not None and stated.command == ("env", *compiler.command)
    assert stated.version == compiler.version


def test_knobs_are_those_of_the_device_model():
    text = (Path(attndsl.emulator.__file__).parent / "include" / "attnemu" / "knobs.h").read_text()
    struct = text[text.index("struct Knobs {") : text.index("bool set(")]
    defaults = dict(re.findall(r"\b(\w+) = ([\w<>x ]+);", struct))
    assert set(defaults) == {field.name for field in dataclasses.fields(Knobs)}
    for name, value in defaults.items():
        number = {"true": 1, "false": 0}.get(value)
        number = eval(value.replace("u", "")) if number is None else number
        assert number == int(getattr(Knobs(), name)), name


_MEETING = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void meeting(GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> to;
  to.SetGlobalBuffer((__gm__ int32_t*)out);
  CrossCoreSetFlag<0, PIPE_MTE3>(1);
  CrossCoreWaitFlag(1);
  to.SetValue(GetBlockIdx() * 16, 7);
  DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(to[GetBlockIdx() * 16]);
}
"""


@pytest.mark.parametrize(
    ("blocks", "batch_mode", "flagged"),
    [(2, False, True), (2, True, False), (2, None, False), (1, False, False)],
)
def test_blocks_that_wait_for_each_other_start_together(blocks, batch_mode, flagged):
    """The host must ask for it, where it is known what the host asks for."""
    kernel = build(_MEETING, entry="meeting")
    out = Argument("out", np.zeros(16 * blocks, np.int32), output=True)
    report = kernel.run(blocks, [out], batch_mode=batch_mode)
    assert set(report.finding_counts) == ({"synccheck/blocks_start_apart"} if flagged else set())
