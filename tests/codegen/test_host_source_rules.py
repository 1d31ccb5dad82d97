"""What sources of rows demand by themselves, packed rows, lists of tensors and rows with lengths: in Python
and by the host checks. Of numbers in plain inputs, which the host does not have, checks have the words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.codegen.host.host_files import host_files
from attndsl.codegen.names.arguments import names_of
from attndsl.emulator.toolchain import find_compiler
from attndsl.expr import Symbol
from attndsl.spec import Operator, Value, attend, errors
from attndsl.spec.authoring.values import TensorValue

from .host_calls import checked

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
b = attend.BATCH
PLAIN, SUMS, LENGTHS = "plain", "sums", "lengths"
"""How numbers are declared: as an input on the device, as prefix sums, as lengths that the host has."""


def numbers(op: Operator, name: str, kind: str) -> TensorValue:
    if kind == PLAIN:
        return op.input(name, "B", dtype="int32", axes="B")
    return op.prefix_sums(name, "B") if kind == SUMS else op.lengths(name, "B", one_for_all=False)


def attention(op: Operator, query: TensorValue, key: Value, source: Callable[[Value], Value]) -> None:
    """Attention whose values are the keys."""
    keys, values = source(key), source(attend.leading(key, Symbol("D")))
    op.output("out", attend.softmax(attend.scores(query, keys)) @ values, like=query)


def packed(kind: str, of_lengths: bool = False, own: str = "") -> Operator:
    """U packed keys, at most M a batch row."""
    op = Operator(f"packed_{kind}_{of_lengths:d}")  # checks are compiled once a name
    B, N, U, M, D = op.dims("B N U M D")
    op.let(M, op.param("max_len", int, default=128, ge=1))
    op.axes(B=B, N=N, K=N, Q=1, U=U, T=M, D=D, E=D)
    query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
    key = op.input("key", "U N D", dtype=query, axes="U K D")
    told = numbers(op, "told", kind)
    if own:
        op.require(told[b] <= 64, own, over={b: B})
    ends = {"length" if of_lengths else "ends": told}
    attention(op, query, key, lambda rows: attend.packed(rows, **ends))
    return op


def listed(kind: str, own: str = "") -> Operator:
    """G tensors with places for T rows, one of which each batch row names."""
    op = Operator(f"listed_{kind}")
    B, N, G, T, D = op.dims("B N G T D")
    op.axes(B=B, N=N, K=N, Q=1, G=G, T=T, D=D, E=D)
    query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
    key = op.input("key", "G N T D", dtype=query, axes="G K T D")
    group, length = numbers(op, "group", kind), numbers(op, "length", kind)
    if own:
        op.require(group[b] < G, own, over={b: B})
    attention(op, query, key, lambda rows: attend.listed(rows, index=group[b], length=length))
    return op


def dense(kind: str, more: int = 0) -> Operator:
    """T rows, of which each batch row has a length, or ``more`` than it."""
    op = Operator(f"dense_{kind}_{more}")
    B, N, T, D = op.dims("B N T D")
    op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
    query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
    key = op.input("key", "B N T D", dtype=query, axes="B K T D")
    length = numbers(op, "length", kind)
    count = length[b] + more if more else length
    attention(op, query, key, lambda rows: attend.rows(rows, length=count))
    return op


def call(kind: str, key: tuple[int, ...], **told: Any) -> dict[str, Any]:
    """A call of two batch rows."""
    on_device = {name for name, each in told.items() if kind == PLAIN and isinstance(each, list)}
    made = {name: np.array(each, np.int32) if name in on_device else each for name, each in told.items()}
    return {"query": np.ones((2, 2, 1, 16), np.float16), "key": np.ones(key, np.float16), **made}


def says(operator: Operator, arguments: dict[str, Any], kind: str, folder: Path) -> str:
    """What the reference says of a call; the compiled host check must say the same, where it has all numbers,
    and must name the rule where it has not."""
    message, error = "", ""
    try:
        assert operator(**arguments).shape == arguments["query"].shape
    except errors.CallError as refused:
        message, error = str(refused), type(refused).__name__
    if kind != PLAIN:
        found = checked(operator, arguments, folder)
        assert (found[0], without_advice(found[1])) == (error, without_advice(message))
    elif message:
        header = host_files(names_of(operator))[f"op_host/{operator.name}_check.h"]
        words = " ".join(header.replace("\n//", " ").split())
        broken = [f"{rule.subject}: {rule.text}" for rule in operator.constraints]
        (rule,) = (each for each in broken if message.startswith(f"{operator.name}: {each}; "))
        assert f"{rule} (reads " in words
    return message


def without_advice(message: str) -> str:
    """A message without the nearest legal value, for which hosts look at one rule alone."""
    return message.partition("; the nearest")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("host")


@needs_compiler
@pytest.mark.parametrize("kind", [PLAIN, LENGTHS, SUMS])
@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ([100, 200], ""),
        ([0, 100], ""),
        ([100, 201], "told: no prefix sum may exceed U, the rows there are; told[1] is 201; U is 200"),
        ([-5, 100], "told: prefix sums must begin at 0 or above and not decrease; told[0] is -5"),
        ([100, 99], "told: prefix sums must begin at 0 or above and not decrease; told[1] is 99"),
        ([101, 200], "told: no batch row may have more than M rows; told[0] is 101; M is 100"),
    ],
)
def test_ends_of_packed_rows_end_rows_that_there_are(
    kind: str, ends: list[int], words: str, folder: Path
) -> None:
    message = says(packed(kind), call(kind, (200, 2, 16), told=ends, max_len=100), kind, folder)
    assert words in message and bool(words) == bool(message)


@needs_compiler
@pytest.mark.parametrize("kind", [PLAIN, LENGTHS])
@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([100, 100], ""),
        ([-1, 100], "told: must not be negative; told[0] is -1"),
        ([101, 9], "told: must be at most M; told[0] is 101; M is 100"),
        ([100, 101], "told: must add up to at most U, the rows there are; sum(told[b] for b < B) is 201"),
    ],
)
def test_lengths_of_packed_rows_are_of_rows_that_there_are(
    kind: str, lengths: list[int], words: str, folder: Path
) -> None:
    message = says(packed(kind, True), call(kind, (200, 2, 16), told=lengths, max_len=100), kind, folder)
    assert words in message and bool(words) == bool(message)


@needs_compiler
@pytest.mark.parametrize("kind", [PLAIN, LENGTHS])
@pytest.mark.parametrize(
    ("group", "length", "words"),
    [
        ([1, 0], [100, 0], ""),
        ([-1, -7], [101, 5], ""),
        ([2, 1], [5, 5], "must name one of the G tensors; a negative one names none; group[0] is 2; G is 2"),
        ([1, 0], [101, 5], "length: must be at most T, the rows there are; length[0] is 101; T is 100"),
    ],
)
def test_rows_of_a_list_lie_in_one_of_its_tensors(
    kind: str, group: list[int], length: list[int], words: str, folder: Path
) -> None:
    message = says(listed(kind), call(kind, (2, 2, 100, 16), group=group, length=length), kind, folder)
    assert words in message and bool(words) == bool(message)


@needs_compiler
@pytest.mark.parametrize("kind", [PLAIN, LENGTHS])
@pytest.mark.parametrize(("more", "most"), [(0, 130), (2, 128)])
def test_lengths_are_at_most_the_rows_of_their_tensor(kind: str, more: int, most: int, folder: Path) -> None:
    operator, key = dense(kind, more), (2, 2, 130, 16)
    assert says(operator, call(kind, key, length=[most, 7]), kind, folder) == ""
    message = says(operator, call(kind, key, length=[most + 1, 7]), kind, folder)
    assert f"length: must be at most T, the rows there are; length[0] is {most + 1}; T is 130" in message


def split(kind: str) -> Operator:
    """Keys in one tensor, or in a tensor of its own for each batch row."""
    op = Operator(f"split_{kind}")
    B, N, T, D = op.dims("B N T D")
    op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
    query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
    key = op.input("key", "B N T D", dtype=query, axes="B K T D", split=True)
    length = numbers(op, "length", kind)
    apart, whole = (
        (lambda rows: attend.listed(rows, length=length)),
        (lambda rows: attend.rows(rows, length=length)),
    )
    attention(op, query, key, lambda rows: attend.when(key.split, apart(rows), whole(rows)))
    return op


@needs_compiler
@pytest.mark.parametrize("kind", [PLAIN, LENGTHS])
def test_rows_of_a_batch_row_lie_in_its_own_tensor(kind: str, folder: Path) -> None:
    keys = [np.ones((1, 2, rows, 16), np.float16) for rows in (9, 40)]
    whole = call(kind, (2, 2, 40, 16), length=[10, 40])
    assert says(split(kind), whole, kind, folder) == ""
    assert says(split(kind), whole | call(kind, (1,), length=[9, 40]) | {"key": keys}, kind, folder) == ""
    message = says(split(kind), whole | {"key": keys}, kind, folder)
    assert "length: must be at most the rows of its tensor in key; length[0] is 10" in message


def of_integers(operator: Operator) -> list[str]:
    return [rule.text for rule in operator.constraints if rule.tensors()]


def test_what_the_contract_says_already_is_not_demanded_again() -> None:
    own = "an own rule"
    assert of_integers(listed(LENGTHS, own)) == [own, "must be at most T, the rows there are"]
    assert of_integers(packed(LENGTHS, True, own))[0] == own
    assert "must be at most M" not in of_integers(packed(LENGTHS, True, own))
    assert "must be at most M" in of_integers(packed(LENGTHS, True))


def test_a_total_bounds_the_ends_and_the_longest_row_its_axis() -> None:
    op = Operator("sums")
    B, N, U, M, D = op.dims("B N U M D")
    op.let(M, op.longest("ends"))
    op.axes(B=B, N=N, K=N, Q=1, U=U, T=M, D=D, E=D)
    query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
    key = op.input("key", "U N D", dtype=query, axes="U K D")
    ends = op.prefix_sums("ends", "B", total=U)
    attention(op, query, key, lambda rows: attend.packed(rows, ends))
    texts = ["prefix sums must begin at 0 or above and not decrease", "the last prefix sum must be U"]
    assert of_integers(op) == texts
