"""The reference backend's speed as a ratio to torch's scaled_dot_product_attention, in the same run.

Both in fp32 on two threads; every figure is the median of several runs in turn, A B A B. Needs torch. Torch's
threads spin for some milliseconds behind its calls; without a pause that falls into our runs, in their
processor time as well.

    python bench/reference_speed.py            (prints a table; --json for data)
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attndsl.spec.operator.loader import load_file

SPEC = """
from attndsl.spec import attend, Operator
op = Operator("plain_attention", summary="Attention in fp32, to be timed.")
B, N, KN, Q, T, D = op.dims("B N KN Q T D")
op.axes(B=B, N=N, K=KN, Q=Q, T=T, D=D, E=D)
query = op.input("query", "B N Q D", dtype="float32", axes="B N Q D")
key = op.input("key", "B KN T D", dtype=query, axes="B K T D")
value = op.input("value", "B KN T D", dtype=query, axes="B K T E")
scale = op.param("scale_value", float, default=1.0)
s = attend.scores(query, attend.rows(key)) * scale
{mask}
op.output("out", attend.softmax(s) @ attend.rows(value), like=query)
"""
CAUSAL = "s = s.replace(attend.condition(attend.KEY > attend.QUERY + (T - Q)), float('-inf'))"

# name: (B, N, KN, Q, T, D, causal)
CASES = {
    "prefill B1 N8 S1024 D128 causal": (1, 8, 8, 1024, 1024, 128, True),
    "prefill B1 N32 S2048 D128 causal": (1, 32, 32, 2048, 2048, 128, True),
    "decode B16 N32/8 S4096 D128": (16, 32, 8, 1, 4096, 128, False),
}


def operator(causal: bool) -> Any:
    """The timed operator; a spec file of its own, as a user would write one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain_attention.py"
        path.write_text(SPEC.format(mask=CAUSAL if causal else ""))
        return load_file(path)


@dataclass(frozen=True)
class Cost:
    """Medians of one side, in seconds: of the clock, and of all processors together."""

    wall: float
    processor: float


def in_turn(first: Callable[[], object], second: Callable[[], object], runs: int, pause: float) -> list[Cost]:
    """What each costs, run alternately behind one warm-up; ``pause``: seconds before every run."""
    first(), second()
    times: tuple[list[tuple[float, float]], ...] = ([], [])
    for _ in range(runs):
        for kept, work in zip(times, (first, second), strict=True):
            time.sleep(pause)
            wall, processor = time.perf_counter(), time.process_time()
            work()
            kept.append((time.perf_counter() - wall, time.process_time() - processor))
    return [Cost(*(statistics.median(each) for each in zip(*kept, strict=True))) for kept in times]


def measure(runs: int, pause: float) -> list[dict[str, Any]]:
    """One row a case and a way to call torch."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attention

    torch.set_num_threads(2)
    rows = []
    for name, (b, n, kn, q, t, d, causal) in CASES.items():
        rng = np.random.default_rng(0)
        query = rng.standard_normal((b, n, q, d), dtype=np.float32)
        key, value = (rng.standard_normal((b, kn, t, d), dtype=np.float32) for _ in range(2))
        op, scale = operator(causal), float(d**-0.5)
        tensors = [torch.from_numpy(x) for x in (query, key, value)]
        calls = {"enable_gqa" if kn != n else "sdpa": (tensors, {"enable_gqa": kn != n})}
        if kn != n:
            grouped = tensors[0].reshape(b, kn, n // kn * q, d)
            calls["regrouped"] = ([grouped, *tensors[1:]], {})
        for how, (operands, options) in calls.items():

            def ours() -> object:
                return op(query, key, value, scale)  # noqa: B023

            def theirs() -> object:
                return attention(*operands, is_causal=causal, scale=scale, **options)  # noqa: B023

            mine, torchs = in_turn(ours, theirs, runs, pause)
            difference = float(np.abs(ours() - theirs().numpy().reshape(query.shape)).max())  # type: ignore[attr-defined]
            rows.append(
                {"case": name, "torch": how, "ours_ms": mine.wall * 1e3, "torch_ms": torchs.wall * 1e3,
                 "ratio": mine.wall / torchs.wall, "ours_cpu_ms": mine.processor * 1e3,
                 "torch_cpu_ms": torchs.processor * 1e3, "max_difference": difference}
            )  # fmt: skip
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds before each run")
    options = parser.parse_args()
    rows = measure(options.runs, options.pause)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(
            f"{row['case']:<34} {row['torch']:<10} ours {row['ours_ms']:7.1f} ms"
            f"  torch {row['torch_ms']:7.1f} ms"
            f"  ratio {row['ratio']:5.2f}  processors {row['ours_cpu_ms']:6.1f} {row['torch_cpu_ms']:6.1f}"
            f"  max difference {row['max_difference']:.1e}"
        )


if __name__ == "__main__":
    main()
