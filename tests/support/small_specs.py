"""Small specs of two shapes, written with what a test is about, and calls of them held against float64."""

from pathlib import Path
from typing import Any

import numpy as np

from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator

_DECODE = """
from attndsl.spec import attend, Operator, ceil_div, maximum, minimum
op = Operator("small_decode", summary="One query a batch row.")
B, N, K, T, D = op.dims("B N K T D")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D)
query = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
{declared}
op.require(N % K == 0, "a multiple", argument="query")
b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
op.schedule({schedule})
{body}
"""
_PACKED = """
from attndsl.spec import attend, Operator, ceil_div, maximum, minimum
op = Operator("small_packed", summary="Queries of all batch rows behind each other.")
T1, T2, N, K, D, B, S1, S2 = op.dims("T1 T2 N K D B S1 S2")
op.let(S1, op.longest("q_ends"))
op.let(S2, op.longest("k_ends"))
op.axes(B=B, S=T1, N=N, Q=S1, D=D, U=T2, K=K, T=S2, E=D, L=8)
query = op.input("query", "T1 N D", dtype=("float16", "bfloat16"), axes="S N D")
key = op.input("key", "T2 K D", dtype=query, axes="U K D")
value = op.input("value", "T2 K D", dtype=query, axes="U K E")
{declared}
rows = op.prefix_sums("q_ends", "B", total=T1, meaning="queries")
keys = op.prefix_sums("k_ends", "B", total=T2, meaning="keys")
op.require(N % K == 0, "a multiple", argument="query")
b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
op.schedule({schedule})
s = attend.scores(attend.packed(query, rows), attend.packed(key, keys)) * 0.2
{body}
"""
DECODE_SCORES = "s = attend.scores(query, attend.rows(key)) * 0.2"
DECODE_RESULT = 'op.output("out", attend.softmax(s) @ attend.rows(value), like=query)'
PACKED_RESULT = 'op.output("out", attend.softmax(s) @ attend.packed(value, keys), like=query)'
_RNG = np.random.default_rng(0)


def halves(*shape: int) -> Any:
    """Normally distributed numbers in fp16."""
    return _RNG.standard_normal(shape).astype(np.float16)


def decode_spec(folder: Path, *body: str, declared: str = "", schedule: str = "") -> Operator:
    """An operator with one query position and dense caches."""
    return _loaded(folder, "small_decode", _DECODE, body, declared, schedule)


def decode_file(folder: Path, *body: str) -> Path:
    """The file of :func:`decode_spec` in a folder of its own, which a test may change."""
    decode_spec(folder, *body)
    return folder / "small_decode.py"


def packed_spec(folder: Path, *body: str, declared: str = "", schedule: str = "tile_k=128") -> Operator:
    """An operator with packed queries and keys; ``s`` is their scaled scores."""
    return _loaded(folder, "small_packed", _PACKED, body, declared, schedule)


def decode_call(b: int = 2, n: int = 4, k: int = 2, t: int = 300, d: int = 32) -> dict[str, Any]:
    """Arguments of :func:`decode_spec`."""
    return {"query": halves(b, n, 1, d), "key": halves(b, k, t, d), "value": halves(b, k, t, d)}


def packed_call(queries: list[int], keys: list[int], n: int = 4, k: int = 2, d: int = 32) -> dict[str, Any]:
    """Arguments of :func:`packed_spec` for these numbers of queries and keys of the batch rows."""
    return {
        "query": halves(sum(queries), n, d),
        "key": halves(sum(keys), k, d),
        "value": halves(sum(keys), k, d),
        "q_ends": np.cumsum(queries).tolist(),
        "k_ends": np.cumsum(keys).tolist(),
    }


def assert_computes(op: Operator, backend: str, *, tolerance: float = 4e-3, **arguments: Any) -> None:
    """Compares a call with the reference in float64; NaN where it has NaN."""
    want, found = op(**arguments, precision="float64"), op(**arguments, backend=backend)
    np.testing.assert_allclose(np.asarray(found, np.float64), want, rtol=0, atol=tolerance)


_loaded_texts: dict[str, Operator] = {}
"""Operators of the last texts: what a backend compiled of one, the next backend finds. A test that changes its
operator loads it by itself."""
_MOST_TEXTS = 8


def _loaded(
    folder: Path, name: str, text: str, body: tuple[str, ...], declared: str, schedule: str
) -> Operator:
    written = text.format(body="\n".join(body), declared=declared, schedule=schedule)
    file = folder / f"{name}.py"
    file.write_text(written)
    if written not in _loaded_texts:
        loaded = load_file(file)
        if len(_loaded_texts) == _MOST_TEXTS:
            del _loaded_texts[next(iter(_loaded_texts))]
        _loaded_texts[written] = loaded
    return _loaded_texts[written]
