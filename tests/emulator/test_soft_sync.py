# ruff: noqa: E501  (C++ statements stay on one line)
"""Synchronization through workspaces in global memory, and scalar access around the cache."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, Knobs, build_all

BLOCKS, N = 4, 64
_HEAD = """
extern "C" __global__ __aicore__ void %s(GM_ADDR x, GM_ADDR out, GM_ADDR ws) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  InitSocState();
  LocalTensor<int32_t> a(TPosition::VECIN, 0, 64), w(TPosition::VECCALC, 4096, SCRATCH);
  GlobalTensor<int32_t> gx, go, gw;
  gx.SetGlobalBuffer((__gm__ int32_t*)x);
  go.SetGlobalBuffer((__gm__ int32_t*)out);
  gw.SetGlobalBuffer((__gm__ int32_t*)ws);
  int32_t me = GetBlockIdx(), n = GetBlockNum();
  %s
  PipeBarrier<PIPE_ALL>();
}
"""
# each block moves its rows to its neighbour's place, after everybody has put something there
_STORE = "DataCopy(a, gx[me * 64], 64); PipeBarrier<PIPE_ALL>(); DataCopy(go[me * 64], a, 64); "
_NEXT = "PipeBarrier<PIPE_ALL>(); DataCopy(a, go[(me + 1) % n * 64], 64); PipeBarrier<PIPE_ALL>(); DataCopy(go[(n + me) * 64], a, 64);"
_ORDERED = "InitDetermineComputeWorkspace(gw, w); DataCopy(a, gx[me * 64], 64); for (int i = 0; i < 2; ++i) { WaitPreBlock(gw, w); SetAtomicAdd<int32_t>(); DataCopy(go, a, 64); DisableDmaAtomic(); NotifyNextBlock(gw, w); }"
_CHAIN = "if (me) IBWait(gw, w, me - 1, 0); DataCopy(a, gx[me * 64], 64); PipeBarrier<PIPE_ALL>(); DataCopy(go, a, 64); if (me + 1 < n) IBSet(gw, w, me, 0);"
BODIES = {
    "barrier": _STORE + "SyncAll(gw, w);" + _NEXT,
    "no_barrier": _STORE + _NEXT,
    "few": _STORE + "SyncAll(gw, w, 5);" + _NEXT,
    "ordered": _ORDERED,
    "chain": _CHAIN,
    "no_chain": _CHAIN.replace("if (me) IBWait(gw, w, me - 1, 0);", "").replace("if (me + 1 < n) IBSet(gw, w, me, 0);", ""),
    "bypass": "__gm__ int32_t* p = (__gm__ int32_t*)out; if (me == 0) { WriteGmByPassDCache(p, 7); DataSyncBarrier<MemDsbT::ALL>(); } SyncAll(gw, w); WriteGmByPassDCache(p + 16 + me * 16, ReadGmByPassDCache(p) + me);",
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels():
    text = '#include "kernel_operator.h"\nusing namespace AscendC;\n'
    text += "".join((_HEAD % (name, body)).replace("SCRATCH", "64") for name, body in BODIES.items())
    text += (_HEAD % ("small_scratch", BODIES["barrier"])).replace("SCRATCH", "24")
    return build_all(text, entries=[*BODIES, "small_scratch"])


def _run(kernel, workspace=None, output=True, **knobs):
    x = np.arange(BLOCKS * N, dtype=np.int32).reshape(BLOCKS, N)
    out = np.zeros((2 * BLOCKS, N), np.int32)
    ws = np.zeros((BLOCKS, 8), np.int32) if workspace is None else workspace
    report = kernel.run(
        BLOCKS,
        [Argument("x", x), Argument("out", out, output=output), Argument("ws", ws)],
        knobs=Knobs(**knobs),
    )
    return x, out, report


def _rules(report):
    return {f.rule for f in report.findings}


@pytest.mark.parametrize("seed", range(3))
def test_soft_barrier_orders_all_blocks(kernels, seed):
    x, out, report = _run(kernels["barrier"], seed=seed)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[BLOCKS:], np.roll(x, -1, axis=0))


def test_without_the_barrier_it_is_a_race(kernels):
    _, _, report = _run(kernels["no_barrier"])
    assert any(f.check == "racecheck" for f in report.findings)


def test_barrier_of_more_cores_than_there_are_is_a_deadlock(kernels):
    _, _, report = _run(kernels["few"], workspace=np.zeros((8, 8), np.int32))
    assert "deadlock" in _rules(report)
    assert "SyncAll of 5 cores" in next(f.message for f in report.findings if f.rule == "deadlock")


def test_workspaces_are_checked(kernels):
    assert _rules(_run(kernels["barrier"], workspace=np.zeros((3, 8), np.int32))[2]) == {"sync_workspace"}
    assert _rules(_run(kernels["barrier"], workspace=np.ones((4, 8), np.int32))[2]) == {"sync_workspace"}
    assert "sync_workspace" in _rules(_run(kernels["small_scratch"])[2])


def test_blocks_take_turns(kernels):
    # sums need something defined to begin with
    assert _rules(_run(kernels["ordered"], seed=5)[2]) == {"undefined_value"}
    x, out, report = _run(kernels["ordered"], output=False, seed=5)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[0], 2 * x.sum(axis=0))


@pytest.mark.parametrize("seed", range(3))
def test_chain_of_words(kernels, seed):
    x, out, report = _run(kernels["chain"], seed=seed)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[0], x[-1])


def test_chain_without_words_is_a_race(kernels):
    assert any(f.check == "racecheck" for f in _run(kernels["no_chain"])[2].findings)


def test_scalars_around_the_cache(kernels):
    _, out, report = _run(kernels["bypass"])
    assert report.ok, report.findings
    np.testing.assert_array_equal(out.reshape(-1)[16:80:16], 7 + np.arange(BLOCKS))
