"""Lane numbers of a buffer whose size is a schedule's: the text follows the constant, not its value."""

from __future__ import annotations

from attndsl.expr import Const, Expr, Named
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import LaneNumbers

from .bench import Names


def text_of(size: Expr) -> str:
    numbers = Buffer(name="numbers", space=MemorySpace.UB, dtype="int32", size=size)
    return LaneNumbers(dst=numbers.region(), first=Const(0)).text(Names())


def test_a_size_that_is_edited_in_the_schedule_header_changes_no_other_line():
    few, many = (text_of(Named(size, "tileKeys")) for size in (64, 512))
    assert few == many and "kTileKeys" in few


def test_a_size_that_nobody_edits_is_a_number():
    assert "192 - " in text_of(Const(192)) and "kTileKeys" not in text_of(Const(192))
