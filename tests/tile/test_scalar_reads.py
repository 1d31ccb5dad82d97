"""Numbers that the scalar unit reads from the unified buffer: a kernel that asks whether one is small."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from attndsl.compiler.compile import Compiled
from attndsl.expr import Const, Symbol
from attndsl.target import Core, Pipe
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import IsBeyond, LoadRows, StoreRows, WithScalar
from attndsl.tile.program import BLOCK_INDEX, SUB_BLOCK
from attndsl.tile.statements import Alloc, For, If, Seq, Stage, WaitEvent, seq

from .bench import buffer
from .programs import made, run_both, source

COUNT = 16
NUMBERS, MARKED = (
    GlobalTensor(name=name, dtype="float32", role=role)
    for name, role in (("numbers", "input"), ("marked", "output"))
)
READ, MARK = buffer("read", "float32", COUNT), buffer("mark", "float32", 8)
BELOW, PLACE = Symbol("below"), Symbol("place")


def body(*, above: bool) -> Seq:
    """Numbers that are below 0 after 1 was added are marked by their number plus 3."""
    first = SUB_BLOCK * COUNT
    one = MARK.region(0, 1, 1)
    marked = seq(
        LoadRows(dst=one, src=NUMBERS.region(first + PLACE, 1, 1)),
        WithScalar(op="Adds", dst=one, src=one, scalar=Const(3.0)),
        StoreRows(dst=MARKED.region(first + PLACE, 1, 1), src=one),
    )
    each = seq(
        IsBeyond(symbol=BELOW, src=READ.region(PLACE, 1, 1), bound=Const(0), above=above),
        If(condition=BELOW, then=seq(Alloc(buffers=(MARK,), body=marked))),
    )
    whole = READ.region(0, 1, COUNT)
    # twice: the second time V must not add before all numbers of the first were read
    twice = seq(
        LoadRows(dst=whole, src=NUMBERS.region(first, 1, COUNT)),
        WithScalar(op="Adds", dst=whole, src=whole, scalar=Const(1.0)),
        For(var=PLACE, end=Const(COUNT), body=each),
    )
    again = For(var=Symbol("time"), end=Const(2), body=seq(Alloc(buffers=(READ,), body=twice)))
    stage = Stage(name="Mark", core=Core.AIV, doc="Marks numbers below a bound.", body=seq(again))
    return seq(If(condition=BLOCK_INDEX == 0, then=seq(stage)))


@lru_cache
def compiled(*, above: bool = False) -> Compiled:
    return made(body(above=above), (NUMBERS, MARKED))


@pytest.mark.parametrize("above", [False, True], ids=["below", "above"])
def test_a_kernel_works_where_a_number_is_below_a_bound_or_above(above: bool) -> None:
    """Or is none; what is within the bound leaves its place alone."""
    numbers = np.random.default_rng(0).standard_normal(2 * COUNT).astype(np.float32) * 4
    numbers[[3, 20]], numbers[[5, 21]], numbers[6] = np.nan, -1, -np.inf
    after = numbers + np.float32(1)
    within = after <= 0 if above else after >= 0
    expected = np.where(~within, numbers + np.float32(3), 0).astype(np.float32)
    given = {"numbers": numbers, "marked": np.zeros(2 * COUNT, np.float32)}
    for run in run_both(compiled(above=above), given):
        np.testing.assert_array_equal(run.arguments["marked"], expected)


def test_the_scalar_unit_waits_for_v_and_what_loads_again_for_the_scalar_unit() -> None:
    tree = compiled().program.cores[Core.AIV]
    waits = [item for item in tree.walk() if isinstance(item, WaitEvent)]
    own = {(item.name, item.source, item.target) for item in waits if Pipe.S in (item.source, item.target)}
    assert own == {("readReadyVS", Pipe.V, Pipe.S), ("readFreeSMTE2", Pipe.S, Pipe.MTE2)}
    text = source(compiled())
    assert "const bool below = !(read_.GetValue(place) >= 0);" in text and "if (below) {" in text
