"""Limits of operands that only a run knows: the tile interpreter holds every execution against them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attndsl.base.errors import InternalError, OutsideError
from attndsl.base.source_location import SourceLine
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.expr import Const, Expr, ExprLike, Load, Symbol, as_expr
from attndsl.spec.operator.loader import load_shipped
from attndsl.target import Core, MemorySpace
from attndsl.tile.instructions import Fill, LoadNz
from attndsl.tile.program import tiling_scalar
from attndsl.tile.statements import Statement, as_seq, rewrite
from attndsl.tile_interpreter.operand_limits import OpenLimits, open_limits
from attndsl.tile_interpreter.run import interpret
from attndsl.tile_interpreter.steps import step
from tests.support.devices import ARCHITECTURE

from .bench import Bench, buffer, tensor

WHERE = SourceLine("some_spec.py", 7)
PITCH, OFFSET, ROWS = Symbol("pitch"), Symbol("offset"), Symbol("rows")
L1 = buffer("keys", "float16", 4096, MemorySpace.L1)
UB = buffer("scores", "float32", 4096)
LOAD = LoadNz(
    dst=L1.region(),
    src=tensor("key", "float16").region(0, 16, 16, PITCH),
    padded_rows=as_expr(16),
    where=WHERE,
)
FILL = Fill(dst=UB.region(OFFSET, 1, 64), value=Const(0), where=WHERE)
ADDRESSED = Fill(dst=UB.region(Load("starts", OFFSET), 1, 64), value=Const(0), where=WHERE)


class Counting:
    """The present values of scalars, and how often any was asked for."""

    def __init__(self) -> None:
        self.asked = 0
        self.scalars: dict[str, Any] = {}

    def value(self, expr: ExprLike) -> Any:
        self.asked += 1
        return expr.evaluate(self.scalars) if isinstance(expr, Expr) else expr

    def check(self, limits: OpenLimits, **scalars: Any) -> int:
        """How many numbers are looked at."""
        self.asked, self.scalars = 0, scalars
        limits.check(scalars, self.value)
        return self.asked


@pytest.mark.parametrize("pitch", [1, ARCHITECTURE.max_nd2nz_pitch])
def test_numbers_inside_their_field_pass(pitch: int) -> None:
    Counting().check(open_limits(LOAD, ARCHITECTURE), pitch=pitch)


@pytest.mark.parametrize("pitch", [0, ARCHITECTURE.max_nd2nz_pitch + 1])
def test_a_number_outside_its_field_is_named(pitch: int) -> None:
    with pytest.raises(InternalError) as caught:
        Counting().check(open_limits(LOAD, ARCHITECTURE), pitch=pitch)
    words = (LOAD.describe(), "some_spec.py:7", f"row pitch is pitch = {pitch}", "must be 1 to 65535")
    assert all(word in str(caught.value) for word in words)


def test_an_offset_inside_a_block_is_named() -> None:
    Counting().check(open_limits(FILL, ARCHITECTURE), offset=16)
    with pytest.raises(InternalError, match="element offset is offset = 12, needs a multiple of 8"):
        Counting().check(open_limits(FILL, ARCHITECTURE), offset=12)


def test_what_was_looked_at_is_not_looked_at_again() -> None:
    limits, count = open_limits(FILL, ARCHITECTURE), Counting()
    assert [count.check(limits, offset=at, other=at) for at in (0, 8, 0, 8, 16)] == [1, 1, 0, 0, 1]
    with pytest.raises(InternalError):
        count.check(limits, offset=4)


def test_numbers_in_memory_are_always_looked_at() -> None:
    limits, starts = open_limits(ADDRESSED, ARCHITECTURE), np.array([8])
    assert [Counting().check(limits, offset=0, starts=starts) for _ in range(2)] == [1, 1]
    starts[0] = 9
    with pytest.raises(InternalError, match="needs a multiple of 8"):
        Counting().check(limits, offset=0, starts=starts)


def with_pitch(launch: Launch, pitch: int) -> Launch:
    """The launch with another number for the row pitch of everything that its cubes load."""
    program = launch.compiled.program

    def change(item: Statement) -> Statement:
        wrong = isinstance(item, LoadNz)
        return replace(item, src=replace(item.src, pitch=tiling_scalar("wrong"))) if wrong else item  # type: ignore

    tree = as_seq(rewrite(program.cores[Core.AIC], change))  # type: ignore[arg-type]
    changed = program.with_(cores={**program.cores, Core.AIC: tree})
    compiled = replace(launch.compiled, program=changed)
    return replace(launch, compiled=compiled, tiling={**launch.tiling, "wrong": pitch})


def test_a_launch_stops_at_the_instruction() -> None:
    rows = np.ones((1, 40, 64), np.float16)
    sizes = {"num_heads": 2, "num_key_value_heads": 2, "input_layout": "BSH"}
    op = load_shipped("incre_flash_attention")
    call = op.bind(query=rows[:, :1], key=[rows], value=[rows], **sizes)
    interpret(with_pitch(prepare(call), 64))
    with pytest.raises(InternalError, match=r"attention\.py:\d+\): row pitch is wrong = 70000, must"):
        interpret(with_pitch(prepare(call), 70000))


class _Core(Bench):
    """A bench with what a step asks of a core."""

    architecture, check = ARCHITECTURE, None

    def __init__(self, **scalars: int) -> None:
        super().__init__(**scalars)
        self.arrays: defaultdict[Any, Any] = defaultdict(dict)


@pytest.mark.parametrize(("offset", "inside"), [(4096 - 64, True), (4096 - 56, False)])
def test_what_reaches_outside_names_the_line_of_the_spec(offset: int, inside: bool) -> None:
    run = step(FILL)
    assert run is not None
    if inside:
        run(_Core(offset=offset))  # type: ignore[arg-type]
    else:
        with pytest.raises(OutsideError, match=r"^some_spec\.py:7: scores: elements 4040 to 4104 of 4096"):
            run(_Core(offset=offset))  # type: ignore[arg-type]
