"""Caches with capacities of their own: the axis of keys has the largest, each layout its own."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.base.package_files import specs_dir
from attndsl.spec import errors
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.cases import Stream
from tests.support.small_specs import assert_computes, halves

TABLES = """
from attndsl.spec import Operator, attend, maximum
op = Operator("tables", summary="Two levels of keys, each with a block table of its own.")
B, N, K, D, P, R, W1, W2 = op.dims("B N K D P R W1 W2")
W = maximum(W1, W2)
op.axes(B=B, N=N, K=K, Q=1, T=W * R, W=W, D=D, E=D, P=P, R=R)
query = op.input("query", "B N D", dtype="float16", axes="B N D")
cache = op.input("cache", "P R K D", dtype=query, axes="P R K D")
parts = []
for level, columns in enumerate((W1, W2)):
    table = op.input(f"table{level}", f"B {columns}", dtype="int32", axes="B W")
    length = op.lengths(f"length{level}", "B", one_for_all=False)
    s = attend.scores(query, attend.paged(cache, table, R, length=length))
    parts.append(attend.softmax(s) @ attend.paged(attend.leading(cache, D), table, R, length=length))
op.output("out", attend.merge(*parts), like=query)
"""
WHOLE = """
from attndsl.spec import Operator, attend, maximum
op = Operator("whole", summary="All rows of two caches.")
B, N, K, D, T1, T2, T3 = op.dims("B N K D T1 T2 T3")
op.axes(B=B, N=N, K=K, Q=1, T=maximum(T1, maximum(T2, T3)), D=D, E=D)
query = op.input("query", "B N D", dtype="float16", axes="B N D")
key1 = op.input("key1", "B K T1 D", dtype=query, axes="B K T D")
value1 = op.input("value1", "B K T1 D", dtype=query, axes="B K T E")
key2 = op.input("key2", "B K T2 D", dtype=query, axes="B K T D")
value2 = op.input("value2", "B K T3 D", dtype=query, axes="B K T E")
first = attend.softmax(attend.scores(query, key1)) @ value1
op.output("out", attend.merge(first, attend.softmax(attend.scores(query, key2)) @ value2), like=query)
"""


def loaded(folder: Path, text: str) -> Operator:
    (folder / "spec.py").write_text(text)
    return load_file(folder / "spec.py")


def cascade(sizes: tuple[int, ...], lengths: tuple[list[int], ...]) -> dict[str, Any]:
    call: dict[str, Any] = {"query": halves(2, 4, 1, 32)}
    for level, size, length in zip(("system", "group", "own"), sizes, lengths, strict=True):
        call[f"{level}_key"], call[f"{level}_value"] = halves(2, 2, size, 32), halves(2, 2, size, 32)
        call[f"{level}_length"] = length
    return call


@pytest.mark.parametrize("sizes", [(300, 40, 7), (7, 300, 40), (40, 7, 300)])
def test_levels_have_capacities_of_their_own(sizes: tuple[int, ...]) -> None:
    op = load_file(specs_dir() / "variants" / "cascade.py")
    call = cascade(sizes, tuple([size, size // 2] for size in sizes))
    for found, wanted in zip(op(**call, backend="tile"), op(**call), strict=True):
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=0, atol=4e-3)


def test_a_length_is_held_to_the_capacity_of_its_own_cache() -> None:
    op = load_file(specs_dir() / "variants" / "cascade.py")
    with pytest.raises(errors.LengthRangeError, match=r"group_length: must be at most T2.*is 41; T2 is 40"):
        op(**cascade((300, 40, 7), ([3, 4], [41, 0], [7, 7])))


@pytest.mark.parametrize("columns", [(5, 2), (2, 5)])
def test_levels_have_block_tables_of_their_own(tmp_path: Path, columns: tuple[int, int]) -> None:
    op, rng = loaded(tmp_path, TABLES), np.random.default_rng(1)
    tables = [rng.integers(0, 9, (2, width)).astype(np.int32) for width in columns]
    lengths = [[16 * width, 16 * width - 9] for width in columns]
    call = {"query": halves(2, 4, 32), "cache": halves(9, 16, 2, 32)}
    call |= {"table0": tables[0], "length0": lengths[0], "table1": tables[1], "length1": lengths[1]}
    assert_computes(op, "tile", **call)
    with pytest.raises(errors.LengthRangeError, match=r"length1: must fit the blocks of the table"):
        op(**{**call, "length1": [16 * columns[1] + 1, 0]})


def test_without_lengths_keys_and_values_have_equally_many_rows(tmp_path: Path) -> None:
    op = loaded(tmp_path, WHOLE)

    def call(rows: int) -> dict[str, Any]:
        sizes = {"key1": 70, "value1": 70, "key2": 20, "value2": rows}
        return {"query": halves(2, 4, 32), **{name: halves(2, 2, size, 32) for name, size in sizes.items()}}

    assert_computes(op, "tile", **call(20))
    with pytest.raises(errors.ShapeError, match="keys and values must have equally many rows"):
        op(**call(21))


def test_a_size_that_is_none_of_the_capacities_is_refused(tmp_path: Path) -> None:
    wrong = WHOLE.replace("D, T1", "D, P, T1").replace("D T1 T2", "D P T1 T2")
    with pytest.raises(errors.LayoutTextError, match="'P' is none of the axes B K T D"):
        loaded(tmp_path, wrong.replace("K T2 D", "K P D"))


POOLS = """
from attndsl.spec import Operator, attend, maximum
op = Operator("pools", summary="Two levels of keys, each in a pool of its own.")
B, N, K, D, P1, P2, R, W = op.dims("B N K D P1 P2 R W")
op.axes(B=B, N=N, K=K, Q=1, T=W * R, W=W, D=D, E=D, P=maximum(P1, P2), R=R)
query = op.input("query", "B N D", dtype="float16", axes="B N D")
parts = []
for level, pages in enumerate((P1, P2)):
    cache = op.input(f"cache{level}", f"{pages} R K D", dtype=query, axes="P R K D")
    table = op.input(f"table{level}", "B W", dtype="int32", axes="B W")
    length = op.lengths(f"length{level}", "B", one_for_all=False)
    s = attend.scores(query, attend.paged(cache, table, R, length=length))
    parts.append(attend.softmax(s) @ attend.paged(attend.leading(cache, D), table, R, length=length))
op.output("out", attend.merge(*parts), like=query)
"""


def pools(first: int, second: int) -> dict[str, Any]:
    """A call whose tables name the last page of their pools."""
    call: dict[str, Any] = {"query": halves(2, 4, 32)}
    for level, pages in enumerate((first, second)):
        call |= {f"cache{level}": halves(pages, 16, 2, 32), f"length{level}": [20, 32]}
        call[f"table{level}"] = np.array([[pages - 1, 0], [1, pages - 1]], np.int32)
    return call


@pytest.mark.parametrize(("first", "second"), [(3, 9), (9, 3)])
def test_tables_name_pages_of_pools_of_their_own(tmp_path: Path, first: int, second: int) -> None:
    """Those of the smaller pool no page that the larger one alone has."""
    op, call = loaded(tmp_path, POOLS), pools(first, second)
    assert_computes(op, "tile", **call)
    small = 0 if first < second else 1
    call[f"table{small}"] = np.array([[3, 0], [1, 2]], np.int32)
    with pytest.raises(errors.PagingError, match=f"table{small}: must name a block"):
        op.bind(**call)
    call[f"table{small}"], call[f"table{1 - small}"] = call[f"table{1 - small}"] % 3, call[f"table{small}"]
    op.bind(**call)  # the larger pool has this page


def test_cases_name_pages_of_the_pool_of_each_table(tmp_path: Path) -> None:
    """Else binding would refuse them."""
    found = [case.outline().dims for case in Stream(loaded(tmp_path, POOLS)).take(8)]
    assert {each["P1"] < each["P2"] for each in found} == {True, False}


def test_another_number_of_pages_says_how_pools_are_declared(tmp_path: Path) -> None:
    one = POOLS.replace("P=maximum(P1, P2)", "P=P1")
    wanted = "write P1 for P2, of one pool for all tables, or op.axes(P=maximum(P1, P2)) of several pools"
    with pytest.raises(errors.LayoutTextError, match=re.escape(wanted)):
        loaded(tmp_path, one)
