"""Where the values of a case are stored, whatever axes the tensors have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attndsl import ops
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.cases import Stream
from attndsl.verify.data.row_locations import RowLocations

SPEC = """
from attndsl.spec import Operator, attend
op = Operator("placed", summary="Queries with some of the axes.")
N, K, T, D = op.dims("N K T D")
B = 1 if BATCH == '1' else op.dims("B")[0]
S = 1 if QUERIES == '1' else op.dims("S")[0]
op.axes(B=B, N=N, K=K, Q=S, T=T, D=D, E=D)
query = op.input("query", "SHAPE", dtype="float16", axes="AXES")
key = op.input("key", "KEYS", dtype=query, axes="BK T D")
value = op.input("value", "KEYS", dtype=query, axes="BK T E")
p = attend.softmax(attend.scores(query, attend.rows(key)))
op.output("out", p @ attend.rows(value), like=query, layouts="OUT")
"""


@pytest.mark.parametrize(
    ("axes", "shape", "batch", "queries", "stored"),
    [
        ("B N Q D", "B N S D", "B", "S", "bnqd->bnqd"),
        ("B Q N D", "B S N D", "B", "S", "bnqd->bqnd"),
        ("B N D", "B N D", "B", "1", "bnd->bnd"),
        ("Q N D", "S N D", "1", "S", "nqd->qnd"),
        ("N D", "N D", "1", "1", "nd->nd"),
        ("N Q D", "N S D", "B", "S", "nqd->nqd"),
    ],
)
def test_queries_lie_where_their_axes_say(
    tmp_path: Path, axes: str, shape: str, batch: str, queries: str, stored: str
) -> None:
    """Queries without an axis of batch rows belong to the only one, or to all: those of the first are stored.
    Those without a position are of the only one."""
    of_rows, sizes = ("B K", "B N") if batch == "B" else ("K", "N")
    keys, out = f"{of_rows} T D", f"{sizes} S D" if queries == "S" else f"{sizes} D"
    text = SPEC.replace("SHAPE", shape).replace("KEYS", keys).replace("BK", of_rows).replace("OUT", out)
    path = tmp_path / "placed.py"
    path.write_text(
        text.replace("AXES", axes).replace("BATCH", f"'{batch}'").replace("QUERIES", f"'{queries}'")
    )
    call = next(iter(Stream(load(path)).take(1))).call()
    extents = tuple(call.extents[axis] for axis in "BNQD")
    values = np.arange(np.prod(extents), dtype=float).reshape(extents)
    found = RowLocations(call).queries(values)["query"]
    first = values[tuple(slice(None) if axis in axes.split() else 0 for axis in "BNQD")]
    assert np.array_equal(found, np.einsum(stored, first))


def test_rows_of_a_layer_of_a_cache_are_found_in_the_cache() -> None:
    rows = {name: np.zeros((3, 32), np.float16) for name in ("query", "key", "value")}
    caches = {name: np.zeros((2, 1, 20, 32), np.float16) for name in ("cacheK", "cacheV")}
    call = ops.self_attention.bind(
        **rows, **caches, tokenOffset=[10], seqLen=[3], layerId=[1], headNum=2, calcType="ENCODER",
        kvcacheCfg="K_CACHE_V_CACHE",
    )  # fmt: skip
    locations = RowLocations(call)
    assert set(locations.tensors()) == {"cacheK", "cacheV", "key", "value"}
    places = locations.rows(locations.keys[0], 0, 0)
    first, last = locations.ranges()["cacheK"]
    assert ((places[:7] >= (first + last) // 2) & (places[:7] < last)).all(), "the second layer"
    new = locations.ranges()["key"]
    assert ((places[7:] >= new[0]) & (places[7:] < new[1])).all() and len(places) == 10


@pytest.mark.parametrize(("spec", "sums"), [("differential", 2), ("cascade", 1)])
def test_sums_over_one_value_are_counted(spec: str, sums: int) -> None:
    """Both attentions of a difference weigh the same values; those of a cascade have values of their own."""
    path = Path(__file__).parents[2] / "specs" / "variants" / f"{spec}.py"
    call = next(iter(Stream(load(path)).take(1))).call()
    assert RowLocations(call).sums_of_a_value == sums
