"""Barriers of the vector pipe that another one covers on every path.

What stands behind a loop over rows comes after the barriers of its last turn, if there are rows. Nor does a
barrier order anything where each use of what follows it, in all functions, has another barrier behind it.

A vector core goes through the steps of items. What starts the rows of an item waits for what used their place
before, which is what finished an earlier item; what finishes an item waits for what its steps did, of which
the last one adds a tile or, without tiles, has started the sums. Where a block has one item, because its keys
are split, the turn that drains the pipeline comes in between, and begins with the barrier that starts rows.

Of all other barriers, :mod:`attndsl.mutate.barrier_paths` follows the ways through a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attndsl.base.facts import kept
from attndsl.mutate.barrier_paths import unneeded
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.lifetimes import SPLIT, splits_leave_one_item, time_of
from attndsl.mutate.source_model import CallText, Span, StatementText, closing_brace

_MEMBER = re.compile(r"\b\w+_(?=\[|,|\))")
_GUARD = re.compile(r"if \(([\w.]+) > 0\)\s*\{\s*\Z")
_OVER_ROWS = r"for \(int64_t (\w+) = 0; \1 < {0}; \1 \+= \w+\)"
_VIEW = re.compile(r"\bauto (\w+) = View<")
_START = re.compile(
    r"if \((?:taskHalf\.)?rows > 0\)\s*\{\s*PipeBarrier<PIPE_V>\(\);\s*"
    r"(?:Duplicate\(\w+_\[(?:itemSlot|taskHalf\.halfSlot) \* kRowsPerVector\],[^;]*;\s*)+\}\s*\Z"
)
_LAST_STEP = re.compile(
    r"if \((\w+)\.(?:tile|step) (?:== (\w+)\.steps - 1|>= (\w+)\.steps - \3\.halves)\)\s*\{"
)
_DRAINED = re.compile(
    r"if \((?:tile == 0|step < \w+\.halves)\) \{ (\w+)\([^;]*\); \} "
    r"if \((?:tile|step) < \w+\.\w+\) \{ \w+\([^;]*\); \} "
    r"if \(stepsBegun_ > kPrefetch\) \{ .*? if \((\w+)\.\w+ < (\w+)\.\w+\) \{ (\w+)\([^;]*\); \} "
    r"if \(\2\.\w+ [=>]= \3\.steps - [\w.]+\) \{ (\w+)\("
)
"""A step: what starts an item's rows, works on a tile, adds that of an earlier step, finishes its item."""
_OWN_AGAIN = "roundOfTurn = MaxOf((tiling_.items - 1 - blockIndex_) / blockCount_ - turn / blockCount_, 0);"
"""The turn behind the last has the numbers of the last."""
_EVENT = re.compile(r"(?:SetAndWait|Set|Wait)Flag<HardEvent::V_")
_PLACES_LAST = re.compile(r"\bItem items_\[kRing\];")
_FINISH = re.compile(
    r"if \((\w+)\.tile == 0\)\s*\{\s*(\w+)\([^;]*\);\s*\}\s*"
    r"if \(\1\.tile < (\w+)\.tiles\)\s*\{\s*(\w+)\([^;]*\);\s*\}\s*"
    r"if \(\1\.tile == \3\.steps - 1\)\s*\{"
)


def is_covered(source: EmittedText, barrier: StatementText) -> bool:
    """Whether a barrier orders nothing that others do not."""
    if not source.is_vector_barrier(barrier):
        return False
    if (
        _is_covered_by_loop(source, barrier)
        or _is_covered_everywhere(source, barrier)
        or _is_covered_before(source, barrier)
        or barrier.number in unneeded(source)
        or _is_ordered_by_drain(source, barrier)
    ):
        return True
    steps = _steps(source)
    if steps is not None and barrier.function in steps[1]:
        return _is_ordered_before(source, barrier, *steps)
    finishing = steps[1] if steps is not None else _finish_of_earlier(source)
    whole = source.code_at(source.body(barrier.function))
    starts = bool(finishing) and _START.match(whole) is not None
    return starts and _is_ordered_by_last(source, _members(whole), finishing)


@kept
def _steps(source: EmittedText) -> tuple[tuple[str, str], tuple[str, ...]] | None:
    """The function that starts the sums of an item and the one that adds a tile, and those that finish the
    item right after, in order."""
    found = list(_FINISH.finditer(source.code))
    if len(found) != 1:
        return None
    end = closing_brace(source.code, found[0].end() - 1)
    calls = (call.name for call in source.calls(Span(found[0].end(), end)))
    return (found[0][2], found[0][4]), tuple(name for name in calls if name in source.functions)


@kept
def _finish_of_earlier(source: EmittedText) -> tuple[str, ...]:
    """The functions that finish an item of an earlier step, where an item keeps its place until then."""
    found = list(_LAST_STEP.finditer(source.code))
    if len(found) != 1 or not _PLACES_LAST.search(source.code):
        return ()
    end = closing_brace(source.code, found[0].end() - 1)
    calls = (call.name for call in source.calls(Span(found[0].end(), end)))
    return tuple(name for name in calls if name in source.functions)


def _is_ordered_by_drain(source: EmittedText, barrier: StatementText) -> bool:
    """Whether a barrier of the branch in which keys are split orders what came before the turn that drains
    the pipeline: its rows, which are as many, start with a barrier. What is left are members that nothing
    uses since, and what lies in buffers that events order."""
    if time_of(source, barrier.span.start) != SPLIT or not splits_leave_one_item(source.plan):
        return False
    step = _DRAINED.search(source.on_one_line)
    if _OWN_AGAIN not in source.on_one_line or step is None:
        return False
    starts, adds, finishes = step.group(1, 4, 5)
    if finishes != barrier.function or not _START.match(source.code_at(source.body(starts))):
        return False
    own = source.functions[barrier.function]
    following = own[own.index(barrier) + 1 :]
    events = [each for each in following if _EVENT.match(source.code, each.span.start)]
    up_to = [each for each in following if not events or each.span.start < events[0].span.start]
    calls = [call for each in up_to if (call := source.leading_call(each)) is not None]
    read = set[str]().union(
        *(_members(source.code_at(each)) for call in calls for each in call.arguments[1:])
    )
    return bool(read) and not read & _members(source.code_at(source.body(adds)))


def _is_covered_by_loop(source: EmittedText, barrier: StatementText) -> bool:
    """Whether a barrier is the first in a branch of what has rows, behind a loop over these rows, in which
    another one follows the last use of all that instructions use up to the next barrier."""
    body = source.body(barrier.function)
    guard = _GUARD.search(source.code, body.start, barrier.span.start)
    if guard is None:
        return False
    own, over_rows = source.functions[barrier.function], re.compile(_OVER_ROWS.format(re.escape(guard[1])))
    loops = [
        block for head in own if source.match(over_rows, head) and (block := source.block(head)) is not None
    ]
    loop = max((each for each in loops if each.end < guard.start()), key=lambda each: each.end, default=None)
    following = _up_to_next(source, own, barrier)
    if loop is None or not following:
        return False
    turn = [each for each in own if loop.start < each.span.start < loop.end]
    between = [each for each in own if loop.end < each.span.start < guard.start()]
    called = {call.name for each in (*turn, *between) for call in source.calls(each.span)}
    if called & source.functions.keys() or any(map(source.keeps_vector_busy, between)):
        return False
    members = set[str]().union(*(_members(source.code_at(each.span)) for each in following))
    last = max((e.span.start for e in turn if members & _words(source, e)), default=loop.start)
    barriers = (each.span.start for each in turn if source.is_vector_barrier(each))
    covers = any(each > last and source.is_straight(each, loop) for each in barriers)
    return covers and source.is_straight(loop.start - 1, body)


def _is_covered_everywhere(source: EmittedText, barrier: StatementText) -> bool:
    """Whether a barrier is the first of a loop in a function that begins with it, and each use of what the
    instructions up to the next one work on comes before a barrier that runs whenever the use does: whatever
    came before this loop, or its last turn, one stands between."""
    own = source.functions[barrier.function]
    earlier = own[: own.index(barrier)]
    following = _up_to_next(source, own, barrier)
    if not following or any(map(source.keeps_vector_busy, earlier)):
        return False
    if not source.heads_around(barrier):
        return False
    members = set[str]().union(*(_members(source.code_at(each.span)) for each in following))
    return all(
        _has_barrier_behind(source, each)
        for function, inside in source.functions.items()
        for each in inside
        if members & _words(source, each) and source.keeps_vector_busy(each)
        if function != barrier.function or each not in following
    )


def _is_covered_before(source: EmittedText, barrier: StatementText) -> bool:
    """Whether a barrier in no loop comes behind another one of its function that runs whenever it does, and
    each use between them of what the instructions up to the next one work on comes before a further one."""
    own = source.functions[barrier.function]
    following, place = _up_to_next(source, own, barrier), own.index(barrier)
    if not following or any(not _is_branch(source, each) for each in source.heads_around(barrier)):
        return False
    earlier = [each for each in own[:place] if source.is_vector_barrier(each)]
    always = [each for each in earlier if _runs_before(source, each, barrier)]
    if not always:
        return False
    between = own[own.index(always[-1]) + 1 : place]
    if any(call.name in source.functions for each in between for call in source.calls(each.span)):
        return False
    members = set[str]().union(*(_members(source.code_at(each.span)) for each in following))
    return bool(members) and all(
        any(each.span.start > use.span.start and _around(source, each, use) for each in earlier)
        for use in between
        if members & _words(source, use) and not source.is_vector_barrier(use)
    )


def _is_branch(source: EmittedText, head: StatementText) -> bool:
    return source.code.startswith("if (", head.span.start)


def _runs_before(source: EmittedText, early: StatementText, late: StatementText) -> bool:
    """Whether a statement runs whenever a later one of its function does: in blocks around both, or in a
    branch that asks as one around the other does whether a number is positive that does not change."""
    others = source.heads_around(late)
    own = [each for each in source.heads_around(early) if each not in others]
    told = _heads(source, late)
    for each in own:
        guard = re.fullmatch(r"if \((\w+) > 0\)", source.one_line(each.span))
        if guard is None or guard[0] not in told or source.reassigns(early.function, guard[1]):
            return False
    # all that was opened in front of it, and is closed between the two, belongs to these branches
    inner = source.code[early.span.end : late.span.start]
    lowest = depth = 0
    for sign in inner:
        depth += (sign == "{") - (sign == "}")
        lowest = min(lowest, depth)
    return -lowest == len(own)


def _heads(source: EmittedText, statement: StatementText) -> list[str]:
    """What a statement of a function depends on."""
    return [source.one_line(each.span) for each in source.heads_around(statement)]


def _has_barrier_behind(source: EmittedText, use: StatementText) -> bool:
    """Whether a barrier runs behind a use, each time: further on in a block around it, or, behind a call of
    its function, in the next function that is called with the same rows, on no other conditions."""
    heads = _heads(source, use)
    if any(_around(source, each, use) for each in _barriers_behind(source, use)):
        return True
    calls = [
        (each, call)
        for each in source.statements
        if (call := source.leading_call(each)) is not None and call.name == use.function
    ]
    return bool(calls) and all(_goes_on(source, each, call, heads) for each, call in calls)


def _around(source: EmittedText, barrier: StatementText, use: StatementText) -> bool:
    """Whether the block of a barrier holds a use in front of it."""
    between = source.code[use.span.end : barrier.span.start]
    # what was opened behind the use is closed again in front of the barrier
    lowest = depth = 0
    for sign in between:
        depth += (sign == "{") - (sign == "}")
        lowest = min(lowest, depth)
    return depth == lowest and not re.search(r"\belse\b", between)


def _goes_on(source: EmittedText, at: StatementText, call: CallText, heads: Sequence[str]) -> bool:
    """Whether the next statement is a call with the same rows, last, of a function that has a barrier on some
    of these conditions alone."""
    following = next(iter(source.statements[at.number + 1 :]), None)
    other = None if following is None else source.leading_call(following)
    if following is None or other is None or other.name not in source.functions:
        return False
    if following.function != at.function:
        return False
    if source.code[at.span.end : following.span.start].strip() or not (call.arguments and other.arguments):
        return False
    if source.code_at(call.arguments[-1]) != source.code_at(other.arguments[-1]):
        return False
    barriers = (each for each in source.functions[other.name] if source.is_vector_barrier(each))
    return any(set(_heads(source, each)) <= set(heads) for each in barriers)


def _up_to_next(
    source: EmittedText, own: Sequence[StatementText], barrier: StatementText
) -> list[StatementText]:
    """The instructions between a barrier and the next in its block; none if there are others than those of
    members of the kernel."""
    views = set(_VIEW.findall(source.code_at(source.body(barrier.function))))
    found = list[StatementText]()
    for each in own[own.index(barrier) + 1 :]:
        if not source.is_straight(each.span.start, Span(barrier.span.end, each.span.start)):
            return []
        if source.is_vector_barrier(each):
            return found
        if not source.keeps_vector_busy(each) or _words(source, each) & views:
            return []
        found.append(each)
    return []


def _words(source: EmittedText, statement: StatementText) -> set[str]:
    return set(re.findall(r"\w+", source.code_at(statement.span)))


def _is_ordered_before(
    source: EmittedText, barrier: StatementText, before: tuple[str, str], finishing: tuple[str, ...]
) -> bool:
    """Whether the next instruction uses nothing but what no function since the barriers of ``before`` does:
    its barrier is the first in its loop, and on another turn of that it works on other rows."""
    own = source.functions[barrier.function]
    earlier = own[: own.index(barrier)]
    following = source.statements[barrier.number + 1]
    members = _members(source.code_at(following.span))
    if any(source.leading_call(each) is not None for each in earlier) or not members:
        return False
    since = (*before, *finishing[: finishing.index(barrier.function)])
    used = set[str]().union(*(_members(source.code_at(source.body(name))) for name in since))
    ordered = (any(map(source.is_vector_barrier, source.functions[name])) for name in before)
    return all(ordered) and not members & used


def _is_ordered_by_last(source: EmittedText, members: set[str], finishing: tuple[str, ...]) -> bool:
    """Whether what finishes an item has a barrier after each use of members. Where the plan leaves a block
    one item if keys are split, no other item follows that branch."""
    once = splits_leave_one_item(source.plan)
    found = False
    for name in finishing:
        uses = [
            each
            for each in source.functions[name]
            if members & _members(source.code_at(each.span))
            and not (once and time_of(source, each.span.start) == SPLIT)
        ]
        found = found or bool(uses)
        if not all(any(_around(source, each, use) for each in _barriers_behind(source, use)) for use in uses):
            return False
    return found


def _barriers_behind(source: EmittedText, use: StatementText) -> list[StatementText]:
    """The barriers of a function behind a use."""
    own = source.functions[use.function]
    return [each for each in own if each.span.start > use.span.start and source.is_vector_barrier(each)]


def _members(code: str) -> set[str]:
    return {name for name in _MEMBER.findall(code) if not name.endswith(("Gm_", "Slot_"))} - {"tiling_"}
