"""The reference backend's speed as a ratio to torch's scaled_dot_product_attention, in the same run.

Both in fp32 on two threads; every figure is the median of several runs in turn, A B A B. Needs torch.

    python bench/reference_speed.py            (prints a table; --json for data)
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from attndsl.spec.loader import load_file

SPEC = """
from attndsl.spec import Operator, attend
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


def in_turn(first: Callable[[], object], second: Callable[[], object], runs: int) -> tuple[float, float]:
    """Median seconds of each, run alternately behind one warm-up."""
    first(), second()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for kept, work in zip(times, (first, second), strict=True):
            started = time.perf_counter()
            work()
            kept.append(time.perf_counter() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def measure(runs: int) -> list[dict[str, Any]]:
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

            mine, torchs = in_turn(ours, theirs, runs)
            difference = float(np.abs(ours() - theirs().numpy().reshape(query.shape)).max())  # type: ignore[attr-defined]
            rows.append(
                {"case": name, "torch": how, "ours_ms": mine * 1e3, "torch_ms": torchs * 1e3,
                 "ratio": mine / torchs, "max_difference": difference}
            )  # fmt: skip
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.runs)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(
            f"{row['case']:<34} {row['torch']:<10} ours {row['ours_ms']:7.1f} ms"
            f"  torch {row['torch_ms']:7.1f} ms"
            f"  ratio {row['ratio']:5.2f}  max difference {row['max_difference']:.1e}"
        )


if __name__ == "__main__":
    main()
