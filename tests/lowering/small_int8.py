"""A small spec of int8 attention, its arguments, and how near its results are to right ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator

ROUNDING = {np.dtype(np.float16): 2.0**-10}


def int8(rng: np.random.Generator, *shape: int) -> Any:
    return rng.integers(-128, 128, shape).astype(np.int8)


def agrees(got: Any, expected: Any) -> None:
    """Within rounding of the result's dtype almost everywhere, and nowhere off by more than a few steps."""
    step = ROUNDING.get(got.dtype, 2.0**-7)
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    assert np.isfinite(got).all() and got.shape == expected.shape
    scale = np.abs(expected).max()
    off = np.abs(got - expected)
    assert off.max() <= (step + 1 / 127) * scale, off.max() / scale
    assert (off > step * scale).mean() <= 0.01, (off > step * scale).mean()


SPEC = """
from attndsl.spec import attend, Operator
op = Operator("small_int8", summary="Small.")
B, N, KN, Q, T, D = op.dims("B N KN Q T D")
op.axes(B=B, N=N, K=KN, Q=Q, T=T, D=D, E=D)
query = op.input("query", "B Q N D", dtype={io}, axes="B Q N D")
key = op.input("key", "B T KN D", dtype=query, axes="B T K D")
value = op.input("value", "B T KN D", dtype=query, axes="B T K E")
steps = op.input("steps", "B N", dtype="float32", axes="B N", optional=True)
scale = op.param("scale", float, default=1e-4)
s = attend.scores(query, attend.rows(key)) * scale
s = {masked}
p = attend.requantize(attend.softmax(s), {block}, {steps})
op.output("out", ({result}).cast("{dtype}"), like=query)
"""
PLAIN = {
    "io": '("float16", "int8")',
    "block": "128",
    "steps": "None",
    "masked": "s",
    "result": "p @ attend.rows(value)",
    "dtype": "float16",
}


def small(tmp_path: Path, **changes: str) -> Operator:
    file = tmp_path / "small_int8.py"
    file.write_text(SPEC.format(**{**PLAIN, **changes}))
    return load_file(file)


def arguments(keys: int = 300, size: int = 32) -> dict[str, Any]:
    rng = np.random.default_rng(keys)
    heads = {"key": int8(rng, 2, keys, 1, size), "value": int8(rng, 2, keys, 1, size)}
    return {"query": int8(rng, 2, 5, 3, size), **heads}
