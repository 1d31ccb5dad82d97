"""Rings in which the tiles of an item are added up: flags both ways, forms that prove nothing, the proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from attndsl.base.errors import InternalError
from attndsl.expr import Const, Symbol
from attndsl.lowering.lower import lower
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.passes.flags.derive_flags import derive_flags
from attndsl.passes.flags.run_sums import Followed, defect_of_sums
from attndsl.target import Core
from attndsl.tile.instructions import Fixpipe, LoadRows, StoreRows
from attndsl.tile.printer import print_statement
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    If,
    Pipelined,
    SetCrossFlag,
    Stage,
    Statement,
    WaitCrossFlag,
    as_seq,
    rewrite,
    seq,
)
from tests.support.builders import PADDED, attention, signature
from tests.support.devices import DEVICE

Change = Callable[[Statement], Statement | None]


def gathered(**options: Any) -> Program:
    """The joint program of a prompt whose sums are added up in the workspace."""
    output = attention(PADDED)
    stated = {"tile_k": 128, "max_rows": 256, "sums": "workspace", "halves": "none"}
    schedule = replace(Schedule(), **{**stated, **options})
    return lower(recognize((output,)), signature(output, positions=Symbol("Q")), schedule, DEVICE)


def changed(program: Program, change: Change) -> Program:
    return program.with_(body=as_seq(rewrite(program.body, change) or seq()))


def stage(program: Program, name: str) -> Stage:
    return next(item for item in program.body.walk() if isinstance(item, Stage) and item.name == name)


def flags_in(found: Stage) -> list[tuple[str, str]]:
    """What a stage waits for and sets, with the conditions that it stands under."""

    def visit(statement: Statement, under: tuple[str, ...]) -> list[tuple[str, str]]:
        if isinstance(statement, SetCrossFlag | WaitCrossFlag):
            kind = "set" if isinstance(statement, SetCrossFlag) else "wait"
            return [(f"{kind} {statement.name}", " and ".join(under))]
        inner = (*under, str(statement.condition)) if isinstance(statement, If) else under
        return [each for child in statement.children() for each in visit(child, inner)]

    return visit(found, ())


def test_flags_go_both_ways_by_the_tiles_of_an_item_alone() -> None:
    """The cube waits before it adds, once for all bands of rows; a last tile is not answered."""
    program = derive_flags(gathered())
    assert flags_in(stage(program, "WeightedTile"))[-2:] == [
        ("wait outRingRescaled", "tile > 0 and band == 0"),
        ("set outRingReady", ""),
    ]
    assert flags_in(stage(program, "UpdateTile")) == [
        ("wait outRingReady", ""),
        ("set outRingRescaled", "tile < steps - 1"),
    ]
    assert flags_in(stage(program, "WriteRows")) == []
    text = print_statement(stage(program, "WeightedTile"))
    assert text.index("wait flag outRingRescaled") < text.index("added if tile > 0")
    assert "outRingRescaled" not in derive_flags(gathered(sums="vector")).flags


def _without_a_condition(kind: type[Statement], name: str) -> Change:
    """Instructions of a kind that touch the ring in a stage, under no condition."""

    def bare(item: Statement) -> Statement:
        inside = isinstance(item, If) and any(_touches(each, kind) for each in item.then.walk())
        return item.then if isinstance(item, If) and inside else item

    def change(item: Statement) -> Statement | None:
        return rewrite(item, bare) if isinstance(item, Stage) and item.name == name else item

    return change


def _touches(item: Statement, kind: type[Statement]) -> bool:
    regions = (getattr(item, name, None) for name in ("dst", "src"))
    names = {getattr(getattr(each, "tensor", None), "name", "") for each in regions}
    return isinstance(item, kind) and "outRing" in names


def _always_adding(item: Statement) -> Statement:
    return replace(item, adds=Const(True)) if isinstance(item, Fixpipe) and _touches(item, Fixpipe) else item


def _of_loop(change: Callable[[Pipelined], Pipelined]) -> Change:
    return lambda item: change(item) if isinstance(item, Pipelined) else item


def _with(loop: Pipelined, name: str, **values: Any) -> Pipelined:
    """The loop with another lag or condition of a stage."""
    place = next(number for number, each in enumerate(loop.stages) if each.name == name)
    found = {key: list(getattr(loop, key)) for key in values}
    for key, value in values.items():
        found[key][place] = value
    return replace(loop, **{key: tuple(each) for key, each in found.items()})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_always_adding, "WeightedTile does not add to outRing in all iterations but the first"),
        (
            _without_a_condition(StoreRows, "UpdateTile"),
            "UpdateTile changes outRing after the last iteration",
        ),
        (_without_a_condition(LoadRows, "WriteRows"), "WriteRows reads sums of outRing that nobody made"),
        (
            _of_loop(lambda loop: _with(loop, "WriteRows", when=None)),
            "the stages of outRing do not work in all iterations with work, and the last one",
        ),
        (
            _of_loop(lambda loop: _with(loop, "UpdateTile", when=None)),
            "the stages of outRing do not work in all iterations with work, and the last one",
        ),
        (
            _of_loop(lambda loop: _with(loop, "WriteRows", lags=3)),
            "the stages of outRing work on different iterations",
        ),
        (
            _of_loop(lambda loop: replace(loop, stages=(*loop.stages[:-1], loop.stages[1]))),
            "outRing takes sums of a cube that two stages read, not WeightedTile, UpdateTile",
        ),
    ],
    ids=["adds", "stores", "loads", "finisher", "reader", "lag", "stages"],
)
def test_a_form_that_proves_nothing_is_refused(change: Change, said: str) -> None:
    with pytest.raises(InternalError, match=said):
        derive_flags(changed(gathered(), change))


def test_a_program_that_is_rebuilt_unchanged_is_taken() -> None:
    """The near twin of those above."""
    rebuilt = changed(gathered(), _of_loop(lambda loop: _with(loop, "UpdateTile", lags=2)))
    assert "outRingRescaled" in derive_flags(rebuilt).flags


# The proof --------------------------------------------------------------------------------------------------


CORES = (Core.AIC, Core.AIV, Core.AIC, Core.AIV, Core.AIV)
RINGS, WAITS, USERS = ((0, 1), (1, 2), (2, 3)), (1, 2, 3), (2, 3, 4)


def lagging(lag: int) -> tuple[int, ...]:
    return (0, 0, lag, lag, lag)


@pytest.mark.parametrize("lag", [1, 2, 4])
def test_sums_need_a_slot_more_than_the_lag(lag: int) -> None:
    lags = lagging(lag)
    assert defect_of_sums(CORES, lags, RINGS, WAITS, USERS, lag + 1) == ""
    found = defect_of_sums(CORES, lags, RINGS, WAITS, USERS, lag)
    assert found == "a run begins in a slot whose sums are not taken yet"


def test_stages_in_another_order_have_no_proof() -> None:
    """Whoever takes sums comes after who waits for them, and scores of a tile before its sums."""
    ends = ((0, 1), (1, 2), (2, 4))
    assert defect_of_sums(CORES, lagging(2), ends, (1, 2, 4), (2, 4, 3), 3) == (
        "sums are taken before the last iteration was added"
    )
    assert "for ever" in defect_of_sums(CORES, (1, 1, 0, 0, 0), RINGS, WAITS, USERS, 3)


@pytest.mark.parametrize("depth", [2, 3])
def test_what_the_proof_looks_at_tells_what_all_runs_tell(depth: int) -> None:
    """Runs of none to two tiles in any order, of one half or two."""
    kinds = tuple(product((0, 1, 2), (1,))) if depth == 2 else tuple(product((0, 1, 2), (1, 2)))
    for slots in (depth, depth - 1):
        defects = {
            Followed(CORES, lagging(depth - 1), RINGS, WAITS, USERS, runs).defect(slots)
            for runs in product(kinds, repeat=4)
        }
        assert (defects == {""}) is (slots == depth)
