"""Values that are the first channels of keys: of a tensor, of what is dequantized, or of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.reference import run as reference
from attndsl.spec.errors import GraphError
from attndsl.spec.operator.loader import load_file

SPEC = """
from attndsl.spec import Operator, attend
op = Operator("latent", summary="Values are the first channels of int8 keys.")
B, N, D, P, R, W = op.dims("B N D P R W")
V = op.param("latent", int, default=32, ge=1)
op.axes(B=B, N=N, K=1, Q=1, T=W * R, D=D, E=V, P=P, R=R, W=W)
query = op.input("query", "B N D", dtype="float16", axes="B N D")
cache = op.input("cache", "P 1 R D", dtype="int8", axes="P K R D")
factor = op.input("factor", {layout}, dtype="float32", axes={axes})
table = op.input("table", "B W", dtype="int32", axes="B W")
lengths = op.lengths("lengths", "B", one_for_all=False)
def read(tensor):
    return attend.paged(tensor, table, R, length=lengths)
stored = attend.dequantize(cache, factor)
p = attend.softmax(attend.scores(query, read(stored)))
op.output("out", p @ {values}, like=query)
"""
VALUES = (
    "read(attend.leading(stored, V))",
    "attend.leading(read(stored), V)",
    "read(attend.dequantize(attend.leading(cache, V), factor))",
)
"""Taken of what is dequantized, of its rows, and of the integers: the last with a number for all channels."""


def call() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "query": rng.normal(size=(2, 3, 48)).astype(np.float16),
        "cache": rng.integers(-128, 128, (5, 1, 16, 48), np.int8),
        "table": np.array([[3, 1], [0, 4]], np.int32),
        "lengths": [27, 16],
    }


def close(folder: Path, text: str, call: dict[str, Any]) -> None:
    file = folder / "latent.py"
    file.write_text(text)
    operator = load_file(file)
    wanted = reference.run(operator.bind(**call), precision="float64", cast=False)[0]
    cache, factor = call["cache"][:, 0].astype(float), call["factor"]
    rows = [(cache[at] * factor).reshape(32, 48)[:n] for at, n in zip(call["table"], (27, 16), strict=True)]
    for row, query, found in zip(rows, call["query"].astype(float), wanted, strict=True):
        weights = np.exp(query @ row.T)
        assert np.allclose(found, weights @ row[:, :32] / weights.sum(-1, keepdims=True))
    for backend in ("tile", "emulator"):
        got = operator(**call, backend=backend).astype(float)
        assert np.abs(got - wanted).max() <= 2.0**-10 * np.abs(wanted).max()


@pytest.mark.parametrize("values", VALUES)
def test_a_number_for_all_channels(tmp_path: Path, values: str) -> None:
    text = SPEC.format(layout='"1"', axes='"K"', values=values)
    close(tmp_path, text, call() | {"factor": np.array([0.01], np.float32)})


@pytest.mark.parametrize("values", VALUES[:2])
def test_a_number_for_each_channel(tmp_path: Path, values: str) -> None:
    """The values take the first of those numbers."""
    text = SPEC.format(layout='"1 D"', axes='"K D"', values=values)
    factors = np.random.default_rng(1).uniform(0.003, 0.02, (1, 48)).astype(np.float32)
    close(tmp_path, text, call() | {"factor": factors})


APPENDED = """
from attndsl.spec import Operator, attend
op = Operator("latent", summary="Values are the first channels of appended keys.")
B, N, T, D = op.dims("B N T D")
V = op.param("latent", int, default=32, ge=1)
op.axes(B=B, N=N, K=1, Q=1, T=T, D=D, E=V)
query = op.input("query", "B N D", dtype="float16", axes="B N D")
cache = op.input("cache", "B 1 T D", dtype=query, axes="B K T D")
new = op.input("new", "B 1 T D", dtype=query, axes="B K T D")
lengths = op.lengths("lengths", "B", one_for_all=False)
appended = attend.append(attend.rows(cache), new, position=0, length=lengths)
op.output("out", attend.softmax(attend.scores(query, {keys})) @ {values}, like=query)
"""


def test_rows_that_a_call_appends_have_no_channels_of_one_tensor(tmp_path: Path) -> None:
    """Those of a cache that was appended to before have."""
    file = tmp_path / "latent.py"
    file.write_text(APPENDED.format(keys="appended", values="attend.leading(appended, V)"))
    with pytest.raises(GraphError, match="let an operator before this one append"):
        load_file(file)
    keys = "attend.rows(cache, length=lengths)"
    file.write_text(APPENDED.format(keys=keys, values=f"attend.leading({keys}, V)"))
    load_file(file)
