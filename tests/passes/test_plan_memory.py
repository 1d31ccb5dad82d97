"""Addresses of hand-made buffers: in order, aligned, apart; and what is said of those that do not fit."""

from __future__ import annotations

import pytest

from attndsl.expr import Const, as_expr
from attndsl.lowering.errors import DoesNotFit
from attndsl.passes.plan_memory import plan_memory
from attndsl.target import Core, MemorySpace
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Binary, Fill, SortGroups
from attndsl.tile.program import Program
from attndsl.tile.statements import seq
from tests.support.devices import ARCHITECTURE

from .trees import lifetime, program

UB_BYTES = ARCHITECTURE.memory(MemorySpace.UB).usable


def buffer(name: str, elements: int, slots: int = 1, space: MemorySpace = MemorySpace.UB) -> Buffer:
    return Buffer(name=name, space=space, dtype="float32", size=as_expr(elements), slots=slots)


def filled(*buffers: Buffer) -> Program:
    """A program that fills each buffer, in order."""
    one = [Fill(dst=each.region(0, 1, 8), value=Const(0.0)) for each in buffers]
    return program(cores={Core.AIV: seq(*one)})


def places(made: Program) -> dict[str, int]:
    return {each.name: start for each, start in plan_memory(made).addresses.items()}


def test_buffers_follow_each_other_in_the_order_of_their_first_use():
    assert places(filled(buffer("a", 8), buffer("b", 16), buffer("c", 8))) == {"a": 0, "b": 32, "c": 96}
    assert places(filled(buffer("b", 16), buffer("a", 8))) == {"b": 0, "a": 64}


def test_each_slot_starts_on_a_block():
    """36 bytes take 64, twice; what follows starts behind both."""
    assert places(filled(buffer("odd", 9, slots=2), buffer("next", 8))) == {"odd": 0, "next": 128}


ROW = ARCHITECTURE.bank_row // 4
"""Elements of a row of banks."""


def add(first: Buffer, second: Buffer, *, broadcast: bool = False) -> Binary:
    regions = [each.region(0, 8, 64, 64) for each in (first, second)]
    if broadcast:
        regions[1] = second.region(0, 8, 8, 8)
    return Binary(op="Add", dst=regions[0], first=regions[0], second=regions[1], broadcast=broadcast)


def test_buffers_of_whole_rows_of_banks_come_first_and_the_largest_of_them_in_front():
    made = filled(buffer("odd", 8), buffer("small", 4 * ROW), buffer("large", 4 * ROW, slots=2))
    assert places(made) == {"large": 0, "small": 32 * ROW, "odd": 48 * ROW}


def test_operands_that_are_read_lane_by_lane_begin_in_different_halves_of_a_row_of_banks():
    x, y, blocks = buffer("x", 4 * ROW), buffer("y", 8 * ROW), buffer("blocks", ROW)
    made = program(cores={Core.AIV: seq(add(x, y), add(x, blocks, broadcast=True))})
    found = places(made)
    assert {name: start % (4 * ROW) for name, start in found.items()} == {"x": 0, "y": 2 * ROW, "blocks": 0}
    z = buffer("z", 4 * ROW)
    ring = program(cores={Core.AIV: seq(add(x, y), add(y, z), add(z, x))})  # two of the three differ at most
    assert sorted(start % (4 * ROW) for start in places(ring).values()) == [0, 2 * ROW, 2 * ROW]


def test_every_memory_starts_at_zero():
    on_cube, on_vector = buffer("sums", 256, space=MemorySpace.L0C), buffer("x", 64)
    cores = {Core.AIC: seq(lifetime(on_cube)), Core.AIV: seq(lifetime(on_vector))}
    assert places(program(cores=cores)) == {"sums": 0, "x": 0}


def test_an_instruction_that_wants_more_than_a_block_gets_it():
    """The buffer in front ends at 32; sorted records begin on a multiple of 256, what is sorted on 128."""
    first, records, scores = buffer("first", 8), buffer("records", 64), buffer("scores", 32)
    indices = Buffer(name="indices", space=MemorySpace.UB, dtype="uint32", size=Const(32))
    sort = SortGroups(dst=records.region(), scores=scores.region(), indices=indices.region())
    made = program(cores={Core.AIV: seq(Fill(dst=first.region(), value=Const(0.0)), sort)})
    assert places(made)["first"] == 0
    assert places(made)["records"] % 256 == 0
    assert places(made)["scores"] % 128 == places(made)["indices"] % 128 == 0


def test_a_memory_may_be_full_to_its_last_byte():
    assert places(filled(buffer("all", UB_BYTES // 4)))["all"] == 0


def test_what_may_lie_anywhere_fills_the_gap_before_a_half_where_memory_is_short():
    """A gap of half a row of banks takes the larger one of two small buffers, if without it nothing fits."""
    left, right = buffer("left", 8 * ROW), buffer("right", 8 * ROW)
    small, tiny = buffer("small", ROW // 2), buffer("tiny", 8)
    just_fits = UB_BYTES // 4 - 17 * ROW - 8

    def made(most: int) -> Program:
        others = (buffer("most", most), tiny, small)
        one = [Fill(dst=each.region(0, 1, 8), value=Const(0.0)) for each in others]
        return program(cores={Core.AIV: seq(add(left, right), *one)})

    roomy, short = places(made(just_fits)), places(made(just_fits + 16))
    gap = 4 * 8 * ROW
    assert roomy["left"] == short["left"] == 0
    assert roomy["right"] == short["right"] == gap + 2 * ROW
    assert roomy["small"] > roomy["right"]
    assert short["small"] == gap
    assert short["tiny"] > short["right"]


def test_a_byte_more_is_refused_with_the_memory_the_need_and_the_largest_buffer():
    small, large = buffer("small", 8), buffer("large", UB_BYTES // 8, slots=2)
    with pytest.raises(DoesNotFit) as caught:
        plan_memory(filled(small, large))
    said = str(caught.value)
    for word in ("UB", str(UB_BYTES + 32), str(UB_BYTES), f"large with 2 x {UB_BYTES // 2} bytes", "tile_k"):
        assert word in said, said


def test_nothing_else_of_the_program_changes():
    made = filled(buffer("a", 8))
    assert plan_memory(made).cores == made.cores and made.addresses == {}
