"""Buffers of the vector pipe alone, one of which is over when the other begins, with barriers between.

Their contents need not be kept at the same time: in each turn of a loop one is written, read for the last
time, and then the other; or a function that a core runs last writes one when all others are over.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from attndsl.base.facts import kept
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.last_phase import callers_of
from attndsl.mutate.source_model import Span, StatementText

_VIEW = re.compile(r"(?<!\w)(\w+_) = View<[^<>]*>\(\w+, (k\w+At)\b")
_LANEWISE = frozenset({"Add", "Sub", "Mul", "Max", "Min"})
"""Instructions that may write their result over an operand."""


def over_in_time(kernel: EmittedText, one: str, other: str, same_place: bool) -> bool:
    """Whether one of two buffers, by the constants that are their addresses, is over when the other begins.

    ``same_place``: whether both begin at one address, so that an instruction may write one over the other.
    """
    return any(
        _in_each_turn(kernel, early, late, same_place) or _at_last(kernel, early, late)
        for early, late in ((one, other), (other, one))
    )


@kept
def buffers_of(kernel: EmittedText) -> dict[str, str]:
    """The members of a kernel that are buffers, with the constants that are their addresses."""
    return {match[1]: match[2] for match in _VIEW.finditer(kernel.code)}


def makes_buffer(code: str) -> bool:
    """Whether a statement says where a member lies, and does not use it."""
    return _VIEW.match(code) is not None


@kept
def uses_of(kernel: EmittedText) -> dict[str, list[tuple[StatementText, str]]]:
    """The statements that use members, by the addresses of the members, with the members' names; nothing of
    a buffer whose address is used beside."""
    names = buffers_of(kernel)
    found: dict[str, list[tuple[StatementText, str]]] = {each: [] for each in names.values()}
    for statement in kernel.statements:
        code = kernel.code_at(statement.span)
        if makes_buffer(code):
            continue
        for word in dict.fromkeys(re.findall(r"\b(?:\w+_|k\w+At)\b", code)):
            if word in names and names[word] in found:
                found[names[word]].append((statement, word))
            found.pop(word, None)
    return found


def by_vector_pipe(kernel: EmittedText, uses: Sequence[tuple[StatementText, str]]) -> bool:
    """Whether uses of a buffer are instructions of the vector pipe alone."""
    return bool(uses) and all(kernel.keeps_vector_busy(statement) for statement, _ in uses)


def _in_each_turn(kernel: EmittedText, early: str, late: str, same_place: bool) -> bool:
    """Whether both are used in one turn of one loop alone, in one block of it, one after the other, each
    written whole by the first instruction that uses it again."""
    first, second = uses_of(kernel).get(early, []), uses_of(kernel).get(late, [])
    if not (by_vector_pipe(kernel, first) and by_vector_pipe(kernel, second)):
        return False
    loop = _block_around(kernel, [each.span for each, _ in (*first, *second)])
    lives = _lives([(each, early) for each in first] + [(each, late) for each in second])
    if loop is None or lives[0][1] != early:
        return False
    begins = [uses[0] for uses, _ in lives]
    if not all(loop.start < each.span.start < loop.end for uses, _ in lives for each, _ in uses):
        return False
    if not all(_writes(kernel, *each) and kernel.is_straight(each[0].span.start, loop) for each in begins):
        return False
    ordered = all(
        _is_over(kernel, uses[-1][0], following[0][0], loop, same_place)
        for (uses, _), (following, _) in itertools.pairwise(lives)
    )
    return ordered and _barrier_in(kernel, loop.start, begins[0][0], loop)


_Use = tuple[StatementText, str]


def _lives(uses: Sequence[tuple[_Use, str]]) -> list[tuple[list[_Use], str]]:
    """Uses of two buffers in order, those of one buffer until the other is used together."""
    found: list[tuple[list[_Use], str]] = []
    for use, buffer in sorted(uses, key=lambda each: each[0][0].span.start):
        if found and found[-1][1] == buffer:
            found[-1][0].append(use)
        else:
            found.append(([use], buffer))
    return found


def _is_over(
    kernel: EmittedText, last: StatementText, begin: StatementText, loop: Span, same_place: bool
) -> bool:
    """Whether the last use of one buffer comes before the first of the other; one instruction may be both."""
    if last is begin:
        return same_place and _is_lanewise(kernel, begin)
    return _barrier_in(kernel, last.span.end, begin, loop)


def _at_last(kernel: EmittedText, early: str, late: str) -> bool:
    """Whether a core uses one buffer in the last function that it runs alone, after a barrier, and the other
    in earlier ones."""
    first, second = uses_of(kernel).get(early, []), uses_of(kernel).get(late, [])
    if not by_vector_pipe(kernel, first) or not by_vector_pipe(kernel, second[:1]):
        return False
    functions = {each.function for each, _ in second}
    own = second[0][0].function
    callers = callers_of(kernel).get(own, set())
    if functions != {own} or len(callers) != 1 or own in {each.function for each, _ in first}:
        return False
    (root,) = callers
    body = kernel.body(own)
    calls = [
        (each.span.start, call.name)
        for each in kernel.functions[root]
        for call in kernel.calls(each.span)
        if call.name in kernel.functions
    ]
    place, name = calls[-1]
    return (
        name == own
        and sum(each == own for _, each in calls) == 1
        and kernel.is_straight(place, kernel.body(root))
        and not any(call.name in kernel.functions for call in kernel.calls(body))
        and _barrier_in(kernel, body.start, second[0][0], body)
    )


def _block_around(kernel: EmittedText, spans: Sequence[Span]) -> Span | None:
    """What the innermost braces hold that are around all of some places, in a loop."""
    first, last = min(each.start for each in spans), max(each.end for each in spans)
    block = _loop_around(kernel, first)
    if block is None or last > block.end:
        return None
    while (inner := kernel.child(block, first)) is not None and last <= inner.end:
        block = inner
    return block


def _loop_around(kernel: EmittedText, place: int) -> Span | None:
    """The body of the innermost loop around a place."""
    found = None
    for head in kernel.statements:
        if head.is_head and head.span.end <= place and kernel.code.startswith("for (", head.span.start):
            body = kernel.block(head)
            if body is not None and body.start <= place < body.end:
                found = body
    return found


def _barrier_in(kernel: EmittedText, after: int, before: StatementText, block: Span) -> bool:
    """Whether a barrier of a block itself stands between two places."""
    return any(
        after <= each.span.start < before.span.start
        and kernel.is_vector_barrier(each)
        and kernel.is_straight(each.span.start, block)
        for each in kernel.statements
    )


def _writes(kernel: EmittedText, statement: StatementText, member: str) -> bool:
    """Whether an instruction writes a member from its first lane on, and does not read it."""
    call = kernel.leading_call(statement)
    if call is None or not call.arguments:
        return False
    others = " ".join(kernel.code_at(each) for each in call.arguments[1:])
    return kernel.code_at(call.arguments[0]) == member and re.search(rf"\b{member}\b", others) is None


def _is_lanewise(kernel: EmittedText, statement: StatementText) -> bool:
    """Whether an instruction takes its operands from their first lanes on, lane by lane."""
    call = kernel.leading_call(statement)
    return call is not None and call.name in _LANEWISE and len(call.arguments) == 4
