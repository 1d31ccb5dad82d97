"""Tasks of two halves: where they can be, and lifetimes that halves share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from attndsl.base.errors import InternalError
from attndsl.expr import Const, Symbol
from attndsl.lowering.attention.continuous import all_continuous
from attndsl.lowering.attention.gathered_sums import with_gathered_sums
from attndsl.lowering.attention.halves import count_halves, with_halves
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.lower import lower
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.passes.events.synchronize import synchronize
from attndsl.passes.flags.derive_flags import derive_flags
from attndsl.passes.split_cores import split_cores
from attndsl.target import Core
from attndsl.tile.printer import print_statement
from attndsl.tile.program import Program
from attndsl.tile.statements import If, Let, Shared, Statement, as_seq, rewrite, seq
from tests.support.builders import PADDED, Change, attention, contexts, masked, signature
from tests.support.devices import DEVICE

OPTIONS: dict[str, Any] = {"tile_k": 128, "max_rows": 256}


def taken(*scores: Change, **options: Any) -> bool:
    output = attention(PADDED, scores=scores)
    found = all_continuous(contexts(output, positions=Symbol("Q"), **{**OPTIONS, **options}))
    return all(each.halves for each in with_halves(with_gathered_sums(found)))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"sums": "vector"}, "unless weighted sums are added up in the workspace"),
        ({"max_rows": 128, "sums": "workspace"}, "with 128 rows a task or fewer"),
        ({"task_rows": "most"}, 'with "most" rows a task'),
        ({"ring": 2}, "with fewer than 3 slots a ring"),
        ({"query_slots": 1}, "with one slot of queries"),
    ],
)
def test_a_schedule_that_cannot_have_them_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(IllegalScheduleValue, match=f'halves=.alternate. must be "none" or "auto" {why}'):
        taken(halves="alternate", **options)
    assert not taken(**options)


def test_a_near_one_has_them() -> None:
    assert taken() and taken(ring=4, halves="alternate") and not taken(halves="none")


def test_a_task_of_a_window_begins_with_the_keys_of_its_first_half() -> None:
    i, j = Symbol("i"), Symbol("j")
    later, window = masked(j > i), masked(j < i - 64)
    assert taken(later) and not taken(later, window)
    with pytest.raises(IllegalScheduleValue, match="in a window that moves with the positions"):
        taken(later, window, halves="alternate")


# Lifetimes that halves share ------------------------------------------------------------------------------


def halved() -> Program:
    output = attention(PADDED)
    schedule = replace(Schedule(), **OPTIONS)
    joint = lower(recognize((output,)), signature(output, positions=Symbol("Q")), schedule, DEVICE)
    return split_cores(derive_flags(joint))


def test_the_first_half_loads_and_the_last_gives_back() -> None:
    text = print_statement(synchronize(halved()).cores[Core.AIC])
    lines = [line.strip() for line in text.splitlines()]
    wait = next(at for at, line in enumerate(lines) if line.startswith("wait MTE1->MTE2 valueL1Free"))
    free = next(at for at, line in enumerate(lines) if at > wait and "set MTE1->MTE2 valueL1Free" in line)
    assert lines[wait - 1] == "if halfOfTask == 0:" and lines[free - 1] == "if halfOfTask == halves - 1:"


def unconditional(statement: Statement) -> Statement:
    """The values of each half are loaded."""
    if isinstance(statement, If) and str(statement.condition) == "halfOfTask == 0":
        return statement.then
    return statement


def never_filled(statement: Statement) -> Statement:
    if isinstance(statement, Shared):
        return replace(statement, first=Const(0) == 1)
    return statement


@pytest.mark.parametrize("change", [unconditional, never_filled])
def test_other_forms_prove_nothing(change: Callable[[Statement], Statement]) -> None:
    program = halved()
    cores = {core: as_seq(rewrite(tree, change) or seq()) for core, tree in program.cores.items()}
    with pytest.raises(InternalError, match=r"not filled first|for other halves"):
        synchronize(program.with_(cores=cores))


@pytest.mark.parametrize(
    ("positions", "rows", "halves"), [(1, 256, 1), (2, 272, 2), (257, 257, 2), (256, 256, 1)]
)
def test_rows_of_one_position_are_one_half(positions: int, rows: int, halves: int) -> None:
    """The other half would have no rows, and the cube would not wait for its sums. A task has no more heads
    than a half has rows."""
    (context, *_) = with_halves(
        with_gathered_sums(all_continuous(contexts(attention(PADDED), positions=Symbol("Q"), **OPTIONS)))
    )
    env: dict[str, int] = {"queriesOfTask": positions, "rowsOfTask": rows}
    for each in count_halves(context):
        assert isinstance(each, Let)
        env[each.symbol.name] = int(each.value.evaluate(env))
    assert (env["halves"], env["queriesOfHalf"]) == (halves, -(-positions // halves))
