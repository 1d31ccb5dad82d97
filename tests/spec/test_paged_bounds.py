"""What caches in blocks demand by themselves, and elements that are read at keys counted from the last."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.spec import errors
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator

SPEC = """
op = Operator("paged", summary="One token over a cache in blocks.")
B, N, K, D, P, R, W = op.dims("B N K D P R W")
op.axes(B=B, N=N, K=K, Q=1, T=W * R, D=D, E=D, P=P, R=R, W=W)
query = op.input("query", "B N D", dtype="float16", axes="B N D")
cache = op.input("cache", "P R K D", dtype=query, axes="P R K D")
table = op.input("table", "B W", dtype="int32", axes="B W")
lengths = op.lengths("lengths", "B", one_for_all=False{optional})
b, i, j = attend.BATCH, attend.QUERY, attend.KEY
{declared}
keys = attend.paged(cache, table, R, length=lengths)
values = attend.paged(attend.leading(cache, D), table, R, length=lengths)
s = attend.scores(query, keys)
{change}
op.output("out", attend.softmax(s) @ values, like=query)
"""


def spec(folder: Path, declared: str = "", change: str = "", optional: str = "") -> Operator:
    path = folder / "paged.py"
    text = SPEC.format(declared=declared, change=change, optional=optional)
    path.write_text("from attndsl.spec import Operator, attend\n" + text)
    return load(path)


def call(table: Any, lengths: Any) -> dict[str, Any]:
    rows = np.ones((6, 16, 2, 32), np.float16)
    query = np.ones((2, 4, 32), np.float16)
    return {"query": query, "cache": rows, "table": np.array(table, np.int32), "lengths": lengths}


@pytest.mark.parametrize(
    ("table", "lengths"),
    [([[0, 1], [2, 3]], [32, 5]), ([[0, 99], [2, -1]], [16, 5]), ([[9, 9], [5, 0]], [0, 17])],
)
def test_columns_that_rows_use_name_blocks_of_the_cache(tmp_path: Path, table: Any, lengths: Any) -> None:
    assert spec(tmp_path)(**call(table, lengths)).shape == (2, 4, 32)


@pytest.mark.parametrize(
    ("table", "lengths", "error", "words"),
    [
        (
            [[0, 6], [2, 3]],
            [17, 5],
            errors.PagingError,
            r"table\[0, 1\] is 6; P is 6; the nearest legal value is 5",
        ),
        ([[0, 1], [-1, 3]], [32, 1], errors.PagingError, r"table\[1, 0\] is -1"),
        (
            [[0, 1], [2, 3]],
            [33, 5],
            errors.LengthRangeError,
            r"must fit the blocks of the table; lengths\[0\] is 33",
        ),
    ],
)
def test_calls_that_leave_the_cache_are_refused(
    tmp_path: Path, table: Any, lengths: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        spec(tmp_path)(**call(table, lengths))


@pytest.mark.parametrize(
    ("table", "lengths", "words"),
    [
        ([[0, 6], [2, 3]], [16, 5], None),
        ([[0, 1], [2, 3]], None, None),
        ([[0, 1], [2, 3]], [33, 5], r"must fit the blocks of the table; lengths\[0\] is 33"),
        ([[0, 6], [2, 3]], [17, 5], r"table\[0, 1\] is 6"),
        ([[0, 6], [2, 3]], None, r"table\[0, 1\] is 6"),
    ],
)
def test_lengths_that_a_call_may_leave_out_have_the_rules_of_others(
    tmp_path: Path, table: Any, lengths: Any, words: str | None
) -> None:
    """Without lengths all columns hold rows."""
    op = spec(tmp_path, optional=", optional=True")
    if words is None:
        assert op(**call(table, lengths)).shape == (2, 4, 32)
    else:
        with pytest.raises((errors.LengthRangeError, errors.PagingError), match=words):
            op(**call(table, lengths))


def test_what_the_author_demands_of_a_table_is_not_demanded_again(tmp_path: Path) -> None:
    own = """
op.require(lengths[b] < W * R, "leave a row free", over={b: B})
op.require((table[b, j] >= 0) & (table[b, j] < P), "name a block", over={b: B, j: W})
"""
    tables = [each.text for each in spec(tmp_path, own).constraints if each.tensors()]
    assert tables == ["leave a row free", "name a block"]


TREE = '(X,) = op.dims("X")\ntree = op.input("tree", "B X", dtype="bool", indexed=True)'


def test_elements_at_keys_counted_from_the_last_are_there_for_the_first_key(tmp_path: Path) -> None:
    op = spec(tmp_path, TREE, "s = s.where(tree[b, j - (lengths[b] - X)])")
    tree = np.ones((2, 8), bool)
    assert op(**call([[0, 1], [2, 3]], [8, 5]), tree=tree).shape == (2, 4, 32)
    words = r"lengths: 'tree' is read at .* from X - lengths\[b\] on; X is 8; lengths\[0\] is 9; .*at j$"
    with pytest.raises(errors.ShapeError, match=words):
        op(**call([[0, 1], [2, 3]], [9, 5]), tree=tree)


def test_elements_at_each_key_are_counted_by_sizes_alone(tmp_path: Path) -> None:
    op = spec(tmp_path, TREE, "s = s.where(tree[b, j])")
    assert not any("tree" in each.text for each in op.constraints if each.tensors())
