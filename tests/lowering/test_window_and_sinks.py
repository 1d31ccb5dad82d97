"""Keys in two intervals, a window and the first few (attention sinks): a merge of two softmaxes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator

SPEC = """
from attndsl.spec import attend, Operator, maximum, minimum
op = Operator("window_and_sinks", summary="The last keys of a paged cache, and its first four.")
B, N, K, P, R, D, W = op.dims("B N K P R D W")
op.axes(B=B, N=N, K=K, Q=1, T=W * R, P=P, R=R, W=W, D=D, E=D)
query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
keys = op.input("keys", "P K R D", dtype=query, axes="P K R D")
values = op.input("values", "P K R D", dtype=query, axes="P K R E")
table = op.input("table", "B W", dtype="int32", axes="B W")
lengths = op.lengths("lengths", "B")
w = op.param("w", int, default=40)
op.require(N % K == 0, "a multiple", argument="query")
{body}
"""
SCORED = """
b, j = attend.BATCH, attend.KEY
first = lengths[b] - w
def part(visible):
    s = attend.scores(query, attend.paged(keys, table, R, length=lengths)) * 0.2
    return attend.softmax(s.where(visible)) @ attend.paged(values, table, R, length=lengths)
"""
MERGED = 'op.output("out", attend.merge(part(j >= first), part(j < minimum(4, first))), like=query)'
ONE_MASK = 'op.output("out", part((j >= first) | (j < 4)), like=query)'


def operator(folder: Path, result: str) -> Operator:
    file = folder / "window_and_sinks.py"
    file.write_text(SPEC.format(body=SCORED + result))
    return load_file(file)


def call(lengths: list[int]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    batch, kv_heads, blocks, rows = len(lengths), 2, 8, 32
    cache = (batch * blocks, kv_heads, rows, 32)
    return {
        "query": rng.standard_normal((batch, 4, 1, 32)).astype(np.float16),
        "keys": rng.standard_normal(cache).astype(np.float16),
        "values": rng.standard_normal(cache).astype(np.float16),
        "table": rng.permutation(batch * blocks).reshape(batch, blocks).astype(np.int32),
        "lengths": lengths,
    }


def test_two_intervals_are_a_merge_of_two_softmaxes(tmp_path: Path) -> None:
    """Lengths with a gap between the intervals, without one, and with nothing in front of the window."""
    arguments = call([250, 100, 43, 40, 7])
    one = operator(tmp_path, ONE_MASK)(**arguments, precision="float64")
    merged = operator(tmp_path, MERGED)
    np.testing.assert_allclose(merged(**arguments, precision="float64"), one, rtol=0, atol=1e-9)
    found = merged(**arguments, backend="tile")
    np.testing.assert_allclose(found.astype(np.float64), one, rtol=0, atol=4e-3)


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_one_mask_over_both_tests_key_by_key(tmp_path: Path, backend: str) -> None:
    """Two intervals, and three of which rows see none, one or several."""
    arguments = call([250, 100, 43, 40, 7])
    gaps = ONE_MASK.replace("(j < 4)", "(j < 4) | ((j > 50) & (j <= 60))")
    for result in (ONE_MASK, gaps):
        op = operator(tmp_path, result)
        want, found = op(**arguments, precision="float64"), op(**arguments, backend=backend)
        np.testing.assert_allclose(found.astype(np.float64), want, rtol=0, atol=4e-3)
