"""What is read at positions and keys is there: proved from the contract, demanded by it, or refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.base.errors import OutsideError
from attndsl.expr import Load, Symbol, ceil_div, maximum, minimum
from attndsl.graph.nodes import CacheAppend, IndexCondition, Input, Node, Ring, Rows, Selected, Windowed
from attndsl.lowering.keys.source_rules import SOURCES
from attndsl.reference.blocks import Block, Part
from attndsl.reference.element_checks import check_columns, check_index, check_loads
from attndsl.spec import Operator, errors
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.element_bounds import NoSuchElementError
from attndsl.spec.contract.key_ranges import StoredRows
from attndsl.spec.contract.linear_sums import NeverNegative
from attndsl.spec.operator.loader import load

SPEC = """
from attndsl.spec import Operator, attend, maximum, minimum, select
op = Operator("drafts", summary="Draft tokens behind cached ones.")
B, N, K, X, T, D = op.dims("B N K X T D")
{sizes}
op.axes(B=B, N=N, K=K, Q=X, T={rows}, D=D, E=D)
query = op.input("query", "B N X D", dtype="float16", axes="B N Q D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
{tensor}
lengths = op.lengths("lengths", "B", one_for_all=False)
b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
{demand}
past = lengths[b] - X
def attended(mask=None, start=None, length=None):
    k, v = attend.rows(key, length=lengths), attend.rows(value, length=lengths)
    if start is not None:
        k, v = (attend.window(each, start, length=length) for each in (k, v))
    s = attend.scores(query, k)
    return attend.softmax(s if mask is None else s.where(mask)) @ v
out = {out}
op.output("out", out, like=query)
"""
TREE = 'tree = op.input("tree", "B X X", dtype="bool", indexed=True)'
DRAFTS = 'op.require(lengths[b] >= X, "count the drafts", over={b: B})'
PARTS = "attend.merge(attended(None, 0, past), attended({}, past, X))"


def spec(folder: Path, out: str, tensor: str = TREE, demand: str = DRAFTS, rows: str = "T") -> Operator:
    path = folder / "drafts.py"
    sizes = '(M,) = op.dims("M")' if "M" in tensor else ""
    path.write_text(SPEC.format(out=out, tensor=tensor, demand=demand, rows=rows, sizes=sizes))
    return load(path)


def read(op: Operator) -> list[str]:
    return [each.text for each in op.constraints if "is read at" in each.text]


@pytest.mark.parametrize("condition", ["(j < past) | {}", "(j >= past) & {}", "{}"])
def test_what_a_condition_hides_has_an_element_too(tmp_path: Path, condition: str) -> None:
    mask = condition.format("tree[b, i, j - past]")
    words = (
        r"drafts\.py:\d+: 'tree' is read at j - \(lengths\[b\] - X\) in its dimension 2, which begins with "
        r"X - lengths\[b\], and has the size X; what a condition hides is read, too: .*"
        r"attend\.window\(source, lengths\[b\] - X, length=X\), and read "
        r"tree\[b, i, j - \(lengths\[b\] - X\)\] in the second one alone"
    )
    with pytest.raises(NoSuchElementError, match=words):
        spec(tmp_path, f"attended({mask})")


def test_where_nothing_is_said_of_lengths_the_contract_demands_the_elements(tmp_path: Path) -> None:
    op = spec(tmp_path, "attended(tree[b, i, j - past])", demand="")
    assert read(op) == ["'tree' is read at j - (lengths[b] - X) in dimension 2, from X - lengths[b] on"]


def test_elements_counted_from_the_first_row_of_a_window_are_there(tmp_path: Path) -> None:
    assert read(spec(tmp_path, PARTS.format("tree[b, i, j - past]"))) == []


def test_elements_counted_back_from_the_last_of_all_rows_are_there(tmp_path: Path) -> None:
    tensor = 'tree = op.input("tree", "B T", dtype="bool", indexed=True)'
    assert read(spec(tmp_path, "attended(tree[b, j - lengths[b] + T])", tensor)) == []


@pytest.mark.parametrize(
    ("tensor", "mask", "rows"),
    [
        (TREE, "tree[b, i, j]", "T"),
        ('tree = op.input("tree", "B X X", dtype="bool", axes="B Q T")', "tree", "maximum(T, X)"),
    ],
)
def test_rows_of_a_window_keep_their_numbers(tmp_path: Path, tensor: str, mask: str, rows: str) -> None:
    words = (
        r"'tree' is read at j in its dimension 2, which has the size X, and the keys of this attend\.window "
        r"begin with lengths\[b\] - X: rows of a window keep their numbers; .*write tree\[b, i, j - "
        r"\(lengths\[b\] - X\)\]"
    )
    with pytest.raises(NoSuchElementError, match=words) as refused:
        spec(tmp_path, PARTS.format(mask), tensor, rows=rows)
    assert ("indexed=True" in str(refused.value)) == ('axes="B Q T"' in tensor)


@pytest.mark.parametrize(
    ("start", "length", "demanded"),
    [
        ("past", "X", 0),
        ("0", "past", 0),
        ("maximum(past, 0)", "minimum(X, lengths[b])", 0),
        ("1", "X", 1),
        ("X - 2", "1", 1),
        ("past", "X + 1", 1),
    ],
)
def test_rows_of_a_window_are_rows_of_its_source(
    tmp_path: Path, start: str, length: str, demanded: int
) -> None:
    op = spec(tmp_path, f"attended(None, {start}, {length})", demand=DRAFTS)
    assert sum("window" in each.text for each in op.constraints) == demanded


def test_a_mask_over_all_rows_has_columns_for_those_of_a_window(tmp_path: Path) -> None:
    tensor = 'tree = op.input("tree", "B X T", dtype="bool", axes="B Q T")'
    assert read(spec(tmp_path, PARTS.format("tree"), tensor)) == []


@pytest.mark.parametrize(("demand", "demanded"), [("", 1), ("op.require(M >= T, 'fit')", 0)])
def test_an_index_without_arithmetic_is_compared_with_its_size(
    tmp_path: Path, demand: str, demanded: int
) -> None:
    tensor = 'seen = op.input("seen", "B M", dtype="bool", indexed=True)'
    op = spec(tmp_path, "attended(seen[b, j])", tensor, demand)
    assert len(read(op)) == demanded


def test_sizes_of_which_something_is_said_are_compared_all_the_same(tmp_path: Path) -> None:
    tensor = 'seen = op.input("seen", "B M", dtype="bool", indexed=True)'
    op = spec(tmp_path, "attended(seen[b, j // 64])", tensor, "op.require(M >= 1, 'hold something')")
    assert read(op) == ["is read at j // 64 in dimension 1, as far as ceil_div(T, 64) - 1"]


def test_an_index_that_nothing_bounds_is_refused_and_one_that_is_clamped_is_not(tmp_path: Path) -> None:
    tensor = (
        'group = op.input("group", "B T", dtype="int32", indexed=True)\n'
        'seen = op.input("seen", "B M", dtype="bool", indexed=True)'
    )
    with pytest.raises(NoSuchElementError, match=r"nothing says how far that goes; .*seen\[b, min\(max\("):
        spec(tmp_path, "attended(seen[b, group[b, j]])", tensor)
    op = spec(tmp_path, "attended(seen[b, minimum(maximum(group[b, j], 0), M - 1)])", tensor)
    assert all("as far as" not in text for text in read(op))


def test_calls_whose_elements_are_missing_are_refused(tmp_path: Path) -> None:
    tensor = 'seen = op.input("seen", "B M", dtype="bool", indexed=True)'
    op = spec(tmp_path, "attended(seen[b, j])", tensor)
    rows = np.ones((1, 1, 8, 16), np.float16)
    call: dict[str, Any] = {"query": rows[:, :, :2], "key": rows, "value": rows, "lengths": [8]}
    assert op(seen=np.ones((1, 8), bool), **call).shape == (1, 1, 2, 16)
    with pytest.raises(errors.ShapeError, match="seen: is read at j in dimension 1, as far as T - 1"):
        op(seen=np.ones((1, 7), bool), **call)


# Numbers of batch rows and heads ----------------------------------------------------------------------------

NUMBERS = 'x = op.input("x", {!r}, dtype="int32", indexed=True)'


@pytest.mark.parametrize(
    ("shape", "limit", "demanded"),
    [
        ("M", "x[b + 1]", ["M - B - 1 >= 0"]),
        ("M", "x[b * 2]", ["M - B * 2 + 1 >= 0"]),
        ("M", "x[0]", ["M - 1 >= 0"]),
        ("M", "x[lengths[b]]", ["lengths[b] >= 0 for all b < B", "M - lengths[b] - 1 >= 0 for all b < B"]),
        (
            "M",
            "select(lengths[b] > 0, x[lengths[b] - 1], 0)",
            ["M - lengths[b] >= 0 for all b < B, when lengths[b] > 0"],
        ),
        ("B M", "x[b, 0]", ["M - 1 >= 0"]),
        (
            "B M",
            "x[0, lengths[b]]",
            ["lengths[b] >= 0 for all b < B", "M - lengths[b] - 1 >= 0 for all b < B"],
        ),
        ("B", "x[b]", []),
        ("B", "x[0]", []),
        ("N", "x[n]", []),
        ("B", "select(b == 0, 0, x[b - 1])", []),
        ("B", "x[select(b > 0, b - 1, 0)]", []),
        ("4", "select(n < 4, x[n], 0)", []),
    ],
)
def test_elements_at_numbers_are_there_wherever_they_are_read(
    tmp_path: Path, shape: str, limit: str, demanded: list[str]
) -> None:
    op = spec(tmp_path, f"attended(j < {limit})", NUMBERS.format(shape), demand="")
    assert [each.describe() for each in op.constraints if "is read at" in each.text] == demanded


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("b + 1", r"goes as far as B, and has the size B; let the index stay within it, or declare a larger"),
        ("b - 1", r"begins with -1, and has the size B; .* or write select\(b == 0, 0, x\[b - 1\]\) of attn"),
        (
            "n * lengths[b]",
            r"nothing says how far that goes; .* or write x\[min\(max\(n \* lengths\[b\], 0\), B - 1",
        ),
    ],
)
def test_an_element_that_no_batch_row_has_is_refused(tmp_path: Path, index: str, words: str) -> None:
    with pytest.raises(NoSuchElementError, match=r"drafts\.py:\d+: 'x' is read at .*" + words):
        spec(tmp_path, f"attended(j < x[{index}])", NUMBERS.format("B"), demand="")


# Which numbers keys have ------------------------------------------------------------------------------------

ROWS = StoredRows(Symbol("T"), {}, {})
KEYS: dict[str, Any] = {"axes": ("B", "K", "T", "D"), "tensor": Input(name="key", axes=("B", "K", "T", "D"))}


@dataclass(frozen=True, eq=False, kw_only=True)
class _Silent(Rows):
    """A source that nobody here knows, and that does not say whether it wraps."""

    tensor: Node


@dataclass(frozen=True, eq=False, kw_only=True)
class _Wrapping(_Silent):
    wraps = True


@dataclass(frozen=True, eq=False, kw_only=True)
class _Placed(_Silent):
    wraps = False


@pytest.mark.parametrize(
    ("source", "length", "lasts"),
    [
        (_Silent, None, []),
        (_Silent, "lengths", []),
        (_Wrapping, None, ["T - 1"]),  # all places of the tensor, once
        (_Wrapping, "lengths", ["lengths[b] - 1"]),
        (_Wrapping, "optional", []),
        (_Placed, None, ["T - 1"]),
        (_Placed, "lengths", ["T - 1", "lengths[b] - 1"]),
        (_Placed, "optional", ["T - 1"]),
    ],
)
def test_the_tensor_bounds_keys_only_where_their_source_does_not_wrap(
    source: type[Rows], length: str | None, lasts: list[str]
) -> None:
    """A source without a word in the code that asks is known by what it says of itself."""
    count = None if length is None else Input(name=length, axes=("B",), optional=length == "optional")
    (keys,) = ROWS.keys_of(source(**KEYS, length=count))
    assert list(map(str, keys.lasts)) == lasts


def test_every_source_says_whether_it_wraps_or_has_the_numbers_of_another() -> None:
    says = {kind: kind.wraps for kind in SOURCES}
    assert {kind for kind, wraps in says.items() if wraps is None} == {Windowed, Selected}
    assert {kind for kind, wraps in says.items() if wraps} == {Ring, CacheAppend}


# Proofs -----------------------------------------------------------------------------------------------------

S, T, X = Symbol("S"), Symbol("T"), Symbol("X")


@pytest.mark.parametrize(
    ("number", "said", "holds"),
    [
        (T - 1 - (T - 1), [], True),
        (T + X, [], True),
        (T - X, [], False),
        (T - X, [T >= X], True),
        (T - X, [X >= T], False),
        (T - X - 1, [T >= X], False),
        (T - X - 1, [T > X], True),
        (T - X, [T >= S, S >= X], True),
        (X - maximum(S, T), [X >= S], False),
        (X - maximum(S, T), [X >= S, X >= T], True),
        (X - minimum(S, T), [X >= S], True),
        (X - 1 - (S - 1) // 64, [X * 64 >= S], True),
        (X - 1 - (S - 1) // 64, [X * 65 >= S], False),
        (X - ceil_div(S, 64), [ceil_div(S, 64) == X], True),
        (T - 1, [], False),
        (T - 1, [T >= 1], True),
    ],
)
def test_proofs(number: Any, said: list[Any], holds: bool) -> None:
    rules = [Constraint(each, "") for each in said]
    assert NeverNegative(rules, frozenset({"S", "T", "X"}), {}, {}).holds(number) == holds


# The reference ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("index", "inside"), [([0, 6], True), ([-1, 3], False), ([0, 7], False)])
def test_the_reference_reads_no_element_at_a_key_that_is_not_there(index: list[int], inside: bool) -> None:
    where = IndexCondition(condition=Symbol("j") >= 0).where
    if inside:
        check_index(Symbol("j"), np.array(index), 7, "seen", where)
    else:
        with pytest.raises(OutsideError, match=f"seen: elements {index[0]} to {index[1]} of 7 are read"):
            check_index(Symbol("j"), np.array(index), 7, "seen", where)


@pytest.mark.parametrize(("columns", "inside"), [(8, True), (1, True), (7, False)])
def test_the_reference_reads_no_column_that_is_not_there(columns: int, inside: bool) -> None:
    node = Input(name="mask", axes=("Q", "T"))
    block = Block(0, 0, slice(0, 1), slice(0, 2), Part(slice(4, 8)), {}, {}, ())
    if inside:
        check_columns(node, np.ones((2, columns)), block)
    else:
        with pytest.raises(OutsideError, match="mask: elements 4 to 7 of 7 are read"):
            check_columns(node, np.ones((2, columns)), block)


@pytest.mark.parametrize(("shift", "inside"), [(0, True), (-1, False), (1, False)])
def test_the_reference_takes_no_element_in_a_condition_that_is_not_there(shift: int, inside: bool) -> None:
    node = IndexCondition(condition=Load("seen", Symbol("j") + shift) == 1)
    env = {"seen": np.ones(8, np.int32), "j": np.arange(8)}
    if inside:
        check_loads(_Once(), node, env)  # type: ignore[arg-type]
    else:
        with pytest.raises(OutsideError, match=f"seen: elements {shift} to {7 + shift} of 8 are read"):
            check_loads(_Once(), node, env)  # type: ignore[arg-type]


class _Once:
    """What a check asks of the state of a run."""

    def once(self, rule: Any, node: Any) -> Any:
        return rule(self, node)
