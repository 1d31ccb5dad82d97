"""A run of statements becomes a call that merges a partial only where the call does exactly the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from attndsl.codegen.kernel.partial_merges import PartialMerge, with_partial_merges
from attndsl.codegen.names.spelling import Spelling
from attndsl.expr import Const, Expr, Symbol
from attndsl.lowering.emit.loop_scalars import REPEAT_LANES
from attndsl.target import MemorySpace, Pipe
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Binary, Unary, WithScalar
from attndsl.tile.instructions.units import BLOCK_LANES
from attndsl.tile.program import Program
from attndsl.tile.statements import Barrier, For, Note, Statement, seq
from tests.support.devices import DEVICE

COL, COUNT = Symbol("d0"), Symbol("count")
NAMES = Spelling(
    Program(
        name="hand_made", summary="", dtype="float16", parameters=(), workspace=(), tiling=(),
        device=DEVICE, constants=(), body=seq(),
    )
)  # fmt: skip
CALL = "MergePartial(rows_, maxima_, sums_, part_, partMax_, partSum_, newest_, scale_, count, 128);"


def buffer(name: str) -> Buffer:
    return Buffer(name=name, space=MemorySpace.UB, dtype="float32", size=Const(1 << 12))


ROWS, MAXIMA, SUMS, PART, PART_MAX, PART_SUM, NEWEST, SCALE = map(
    buffer, ("rows", "maxima", "sums", "part", "partMax", "partSum", "newest", "scale")
)


def lanes(of: Buffer, count: Expr = COUNT * BLOCK_LANES, offset: int = 0) -> Region:
    return of.region(offset, 1, count)


def pair(op: str, dst: Buffer, first: Buffer, second: Buffer) -> Binary:
    return Binary(op=op, dst=lanes(dst), first=lanes(first), second=lanes(second))


def exp(of: Buffer) -> Unary:
    return Unary(op="Exp", dst=lanes(of), src=lanes(of))


def scaled(
    rows: Buffer, blocks: Buffer, columns: int = 128, pitch: int = 128, count: Expr = COUNT
) -> Statement:
    several = columns > REPEAT_LANES.value
    one = rows.region(COL if several else 0, count, REPEAT_LANES if several else columns, pitch)
    item = Binary(op="Mul", dst=one, first=one, second=blocks.region(0, count, 8, 8), broadcast=True)
    return For(var=COL, end=Const(columns), step=REPEAT_LANES, body=seq(item)) if several else item


def added(columns: int = 128) -> Binary:
    into, part = (lanes(each, COUNT * columns) for each in (ROWS, PART))
    return Binary(op="Add", dst=into, first=into, second=part)


def run(columns: int = 128) -> list[Statement]:
    meet = Barrier(pipe=Pipe.V)
    return [
        pair("Max", NEWEST, MAXIMA, PART_MAX),
        meet,
        pair("Sub", SCALE, MAXIMA, NEWEST),
        pair("Sub", PART_MAX, PART_MAX, NEWEST),
        meet,
        exp(SCALE),
        exp(PART_MAX),
        WithScalar(op="Adds", dst=lanes(MAXIMA), src=lanes(NEWEST), scalar=Const(0)),
        meet,
        pair("Mul", SUMS, SUMS, SCALE),
        pair("Mul", PART_SUM, PART_SUM, PART_MAX),
        meet,
        pair("Add", SUMS, SUMS, PART_SUM),
        scaled(ROWS, SCALE, columns, columns),
        scaled(PART, PART_MAX, columns, columns),
        meet,
        added(columns),
    ]


def texts(body: list[Statement]) -> list[str]:
    return [each.text(NAMES) for each in with_partial_merges(body) if isinstance(each, PartialMerge)]


@pytest.mark.parametrize("columns", [64, 128, 192])
def test_a_merge_of_whole_repeats_is_one_call(columns: int) -> None:
    before, after = Note(text="before"), Note(text="after")
    found = list(with_partial_merges([before, *run(columns), after]))
    assert (found[0], found[2]) == (before, after) and len(found) == 3
    assert texts(run(columns)) == [CALL.replace("128", str(columns))]


def test_each_merge_of_a_block_is_a_call() -> None:
    assert texts([*run(), *run()]) == [CALL, CALL]


@pytest.mark.parametrize("place", range(len(run())))
def test_a_merge_that_lacks_a_statement_is_written_out(place: int) -> None:
    body = run()
    del body[place]
    assert texts(body) == []
    assert list(with_partial_merges(body)) == body


@pytest.mark.parametrize(
    ("place", "change"),
    [
        (0, lambda item: replace(item, op="Min")),
        (0, lambda item: replace(item, dst=lanes(NEWEST, COUNT))),
        (0, lambda item: replace(item, dst=lanes(NEWEST, offset=8))),
        (1, lambda item: replace(item, when=COUNT > 1)),
        (1, lambda item: replace(item, pipe=Pipe.MTE2)),
        (2, lambda item: pair("Sub", SCALE, NEWEST, MAXIMA)),
        (5, lambda item: replace(item, op="Ln")),
        (6, lambda item: exp(PART_SUM)),
        (7, lambda item: replace(item, scalar=Const(1))),
        (9, lambda item: pair("Mul", SUMS, SUMS, PART_MAX)),
        (13, lambda item: scaled(ROWS, SCALE, 128, 192)),
        (13, lambda item: scaled(ROWS, PART_MAX)),
        (14, lambda item: scaled(PART, PART_MAX, 192, 192)),
        (14, lambda item: scaled(PART, PART_MAX, count=COUNT + 1)),
        (16, lambda item: added(64)),
        (16, lambda item: replace(item, broadcast=True)),
    ],
)
def test_a_merge_that_does_anything_else_is_written_out(
    place: int, change: Callable[[Any], Statement]
) -> None:
    body = run()
    body[place] = change(body[place])
    assert texts(body) == []
