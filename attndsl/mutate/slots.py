"""Which slot is a wrong one for a buffer that functions take in turn.

The other slot, mostly. Where one function takes it each time, it numbers the slots another way, and two uses
meet only where another function goes on. If that is ordered by more than the slots' events, or if rows are
loaded and stored again in a loop, so that two turns of it meet, the slot is one that does not change; so is
that of what finishes an item right behind the cube's last product, for which the cube has waited for all that
was done in these slots.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attndsl.base.facts import kept
from attndsl.mutate.covered_events import runs_with, waited_at_once
from attndsl.mutate.earlier_products import AWAITS, SETS
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.last_phase import after_all_blocks
from attndsl.mutate.source_model import StatementText

FIXED = "0"
_VIEW = re.compile(r"auto (\w+) =\s+View<[^<>]*>\(\w+, (k\w+At) \+ (\w+Slot_) \*")
_STEP = re.compile(
    r"if \((\w+)\.tile < (\w+)\.tiles\) \{ (\w+)\([^;]*\); \} if \(\1\.tile == \2\.steps - 1\) \{ (\w+)\("
)
"""What adds a tile of an earlier step, and what finishes its item."""
_BUT_THE_LAST = re.compile(r"if \(tile < work\.steps - 1\)")
_BUT_THE_FIRST = re.compile(r"if \(tile > 0\b")
_BY_SCALAR = "WaitFlag<HardEvent::V_S>"
_Use = tuple[StatementText, str]
"""An instruction, and its pipe."""


def wrong_slot(source: EmittedText, statement: StatementText, buffer: str, slot: str) -> str:
    """What stands for the slot in a statement that takes a buffer, by the constant that is its address."""
    other = f"({slot} ^ 1)"
    views = _views(source).get(buffer, [])
    if [each for each in views if each.function == statement.function] != [statement]:
        return other
    functions = [each.function for each in views]
    alone = len(set(functions)) == len(functions) > 1
    handed_over = alone and all(_is_handed_over(source, each) for each in views)
    if handed_over or _meets_itself(source, statement) or _finishes_behind_cube(source, statement, views):
        return FIXED
    return other


@kept
def _views(source: EmittedText) -> dict[str, list[StatementText]]:
    """The statements that take a slot of a buffer, by the constant that is its address."""
    found: dict[str, list[StatementText]] = {}
    for each in source.statements:
        view = _VIEW.match(source.code, each.span.start)
        if view is not None:
            found.setdefault(view[2], []).append(each)
    return found


def _uses(source: EmittedText, view: StatementText) -> list[_Use]:
    """The instructions on what a statement takes, in order."""
    named = _VIEW.match(source.code, view.span.start)
    own = source.functions[view.function]
    found = []
    for each in own[own.index(view) + 1 :]:
        call = source.leading_call(each)
        pipe = None if call is None else source.pipe_of(call)
        if named is not None and pipe and re.search(rf"\b{named[1]}\b", source.code_at(each.span)):
            found.append((each, pipe))
    return found


def _is_handed_over(source: EmittedText, view: StatementText) -> bool:
    """Whether what fills a buffer waits, each time that a function ends, for all that used it there."""
    uses = _uses(source, view)
    if len({pipe for _, pipe in uses}) < 2 or not _fills(source, view, uses[0][0]):
        return False
    filling, (last, _) = uses[0][1], uses[-1]
    behind = [
        each
        for each in waited_at_once(source, view.function)
        if each[0].span.start > last.span.start and runs_with(source, each[0], last)
    ]
    return all(filling in _reached(pipe, behind) for _, pipe in uses)


def _fills(source: EmittedText, view: StatementText, statement: StatementText) -> bool:
    """Whether an instruction fills what a statement takes."""
    named, call = _VIEW.match(source.code, view.span.start), source.leading_call(statement)
    if named is None or call is None:
        return False
    return re.match(rf"{named[1]}\b", source.code_at(call.arguments[0])) is not None


def _reached(pipe: str, events: Sequence[tuple[StatementText, str, str]]) -> set[str]:
    """The pipes that wait for another one by events in order, or for one that has waited for it."""
    found = {pipe}
    for _, of, to in events:
        found |= {to} if of in found else set()
    return found


def _meets_itself(source: EmittedText, view: StatementText) -> bool:
    """Whether a loop loads rows into a buffer, stores them from it, and goes on to the other slot, once in a
    turn: two turns meet in a slot that does not change."""
    named = _VIEW.match(source.code, view.span.start)
    around = source.heads_around(view)
    block = source.block(around[-1]) if around else None
    if named is None or block is None:
        return False
    if not any(source.code.startswith("for (", each.span.start) for each in around):
        return False
    turns = source.code[block.start : block.end].count(f"{named[3]} = ({named[3]} + 1) % kDoubleBuffer;")
    pipes = [pipe for each, pipe in _uses(source, view) if block.start < each.span.start < block.end]
    return turns == 1 and pipes[:1] == ["MTE2"] and pipes[-1:] == ["MTE3"]


def _finishes_behind_cube(source: EmittedText, view: StatementText, views: Sequence[StatementText]) -> bool:
    """Whether a function that finishes items takes a buffer that else the one before it does, which adds
    tiles: that one begins when the cube has added the tile, and the cube waits with each tile but the first
    for all that it did in the buffer. What it does there itself comes behind what the scalar unit read."""
    step = _STEP.search(source.on_one_line)
    late = after_all_blocks(source)
    others = [each for each in views if each != view and each.function not in late]
    if step is None or len(others) != 1 or (others[0].function, view.function) != step.group(3, 4):
        return False
    if {pipe for _, pipe in _uses(source, view)} != {"MTE2", "V"}:
        return False
    adding, (other,) = source.functions[others[0].function], others
    awaited = source.match(AWAITS, adding[0])
    branch = next((each for each in source.heads_around(other) if source.match(_BUT_THE_LAST, each)), None)
    block = None if branch is None else source.block(branch)
    if awaited is None or block is None:
        return False
    inside = [each for each in adding if block.start <= each.span.start < block.end]
    rescaled = source.match(SETS, inside[-1])
    read = any(
        source.code.startswith(_BY_SCALAR, each.span.start) and each.span.start < other.span.start
        for each in inside
    )
    return read and rescaled is not None and _waits_for_each(source, rescaled[1], awaited[1])


def _waits_for_each(source: EmittedText, rescaled: str, product: str) -> bool:
    """Whether the function that tells of a product waits for a flag before, with each tile but the first."""
    for end in source.naming(SETS, product):
        waits = [each for each in source.naming(AWAITS, rescaled) if each.function == end.function]
        if waits:
            heads = source.heads_around(waits[0])
            tiles = [each for each in heads if source.match(_BUT_THE_FIRST, each)]
            return len(tiles) == 1 and waits[0].span.start < end.span.start
    return False
