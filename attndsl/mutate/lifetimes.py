"""Buffers of a schedule that are never in use together: where they overlap, nothing changes.

Four kinds of work exclude each other in a kernel: what is over before all blocks have waited for each other a
first time, what runs once they have done so at last, and of what runs between, the two branches of whether
keys are split. Where the plan splits keys only if that leaves each block one item, what such a block does
last in its branch comes after all else.
"""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from attndsl.base.facts import kept
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.last_phase import after_all_blocks, before_all_blocks
from attndsl.mutate.planned_kernels import told_of_kernels
from attndsl.mutate.scratch import are_scratch
from attndsl.mutate.source_model import SourceModel, Span
from attndsl.mutate.turns import buffers_of, makes_buffer, over_in_time

FIRST, EARLY, WHOLE, SPLIT, LATE = (
    "first",
    "before",
    "keys not split",
    "keys split",
    "after all blocks have waited",
)
"""When a statement runs: before all else, at any place before all blocks wait, in one of the branches there,
after it."""
_APART = {frozenset(pair) for pair in ((WHOLE, SPLIT), (EARLY, LATE), (WHOLE, LATE), (SPLIT, LATE))} | {
    frozenset((FIRST, each)) for each in (EARLY, WHOLE, SPLIT, LATE)
}
_DECLARED = re.compile(r"\bconstexpr\s+u?int\d+_t\s+(k[^;]*);")
_VALUE = re.compile(r"(k\w+)\s*=\s*((?:[^,()]|\((?:[^()]|\([^()]*\))*\))+)")
_CHOICE = re.compile(r"\(([^()?:]+) \? ([^()?:]+) : ([^()?:]+)\)")
_WORD_OF_MEMBER = re.compile(r"\b\w+_\b")
_PLACE = re.compile(r"\bk\w+At\b")
_BRANCH = re.compile(r"if \(tiling_\.splits == 1\)\s*\Z")
_SPLITS = re.compile(r"tiling\.splits = ([^;]*);")
_FEW_SPLITS = (
    "problem.startTogether ? MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles)) : 1",
    "1",
)
_SHARED = (
    "tiling.items = tiling.tasks * tiling.splits;",
    "tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));",
)
_OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True)
class Buffers:
    """Buffers of one memory: where each begins, by the constant that says so, and where the last ends."""

    at: Mapping[str, int]
    end: int

    def extent(self, name: str) -> int:
        """Bytes up to the next buffer."""
        own = self.at[name]
        return min((each for each in (*self.at.values(), self.end) if each > own), default=own) - own

    def within(self, start: int, size: int) -> frozenset[str]:
        """Those of which some bytes are in a stretch."""
        return frozenset(
            name for name, own in self.at.items() if own < start + size and start < own + self.extent(name)
        )


def constants(*texts: str) -> dict[str, int]:
    """The constants that headers declare, those before others known."""
    found: dict[str, int] = {}
    for text in texts:
        for declared in _DECLARED.finditer(SourceModel(text).code):
            for name, value in _VALUE.findall(declared[1]):
                number = _number(value, found)
                if number is not None:
                    found[name] = number
    return found


def _number(value: str, known: Mapping[str, int]) -> int | None:
    text = " ".join(value.replace("attndsl::", "").split()).replace("/", "//")
    try:
        tree = ast.parse(_CHOICE.sub(r"((\2) if (\1) else (\3))", text), mode="eval")
        return _evaluated(tree.body, known)
    except (SyntaxError, LookupError, ZeroDivisionError):
        return None


def _evaluated(node: ast.expr, known: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return known[name]
        case ast.BinOp(left=left, op=sign, right=right):
            return int(_OPERATIONS[type(sign)](_evaluated(left, known), _evaluated(right, known)))
        case ast.IfExp(
            test=ast.Compare(left=left, ops=[ast.Gt()], comparators=[right]), body=body, orelse=other
        ):
            more = _evaluated(left, known) > _evaluated(right, known)
            return _evaluated(body if more else other, known)
    raise LookupError(ast.dump(node))


def memories(source: SourceModel, known: Mapping[str, int]) -> list[Buffers]:
    """The buffers of each memory that a schedule lays out."""
    found = []
    for declared in _DECLARED.finditer(source.code):
        names = [name for name, _ in _VALUE.findall(declared[1])]
        places = {name: known[name] for name in names if name.endswith("At") and name in known}
        ends = [known[name] for name in names if name.endswith("End") and name in known]
        if places and ends:
            found.append(Buffers(places, ends[0]))
    return found


# When buffers are in use --------------------------------------------------------------------------------


@kept
def uses(kernel: EmittedText) -> dict[str, frozenset[str]]:
    """By the constants that are addresses of buffers, when a kernel uses the buffer."""
    members = buffers_of(kernel)
    found: dict[str, set[str]] = {}
    for statement in kernel.statements:
        code = kernel.code_at(statement.span)
        if makes_buffer(code):
            continue
        names = [members[word] for word in _WORD_OF_MEMBER.findall(code) if word in members]
        for name in (*names, *_PLACE.findall(code)):
            found.setdefault(name, set()).add(time_of(kernel, statement.span.start))
    return {name: frozenset(times) for name, times in found.items()}


def time_of(kernel: EmittedText, place: int) -> str:
    """When a place of a kernel runs."""
    statement = kernel.statement_at(place)
    if statement is not None and statement.function in after_all_blocks(kernel):
        return LATE
    if statement is not None and statement.function in before_all_blocks(kernel):
        return FIRST
    return next((time for span, time in _branches(kernel) if span.start <= place < span.end), EARLY)


@kept
def _branches(kernel: EmittedText) -> list[tuple[Span, str]]:
    """What the kernel does where keys are split, and where they are not."""
    found = []
    for head in kernel.statements:
        if head.is_head and kernel.match(_BRANCH, head):
            whole = kernel.block(head)
            if whole is not None:
                found.append((whole, WHOLE))
                if (other := kernel.otherwise(whole)) is not None:
                    found.append((other, SPLIT))
    return found


def apart(kernel: EmittedText, one: str, other: str) -> bool:
    """Whether two buffers, by their addresses, are never in use together, and neither holds what another time
    needs."""
    times = uses(kernel)
    first, second = (times.get(each, frozenset((EARLY,))) for each in (one, other))
    if (first == {FIRST}) != (second == {FIRST}) and FIRST not in first & second:
        return True
    if any(LATE in each and each & {EARLY, SPLIT} for each in (first, second)):
        return False
    if any(_is_kept_from_the_first(each) for each in (first, second)):
        return False
    return all(excludes(kernel, each, another) for each in first for another in second)


def _is_kept_from_the_first(times: frozenset[str]) -> bool:
    """Whether a buffer may hold what was computed first for work that comes later."""
    return FIRST in times and len(times) > 1


def never_together(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether no two of some times come together, whatever the plan does."""
    return all(frozenset((each, another)) in _APART for each in one for another in other)


def excludes(kernel: EmittedText, one: str, other: str) -> bool:
    """Whether what runs at one time is over before the other, or never comes with it."""
    pair = frozenset((one, other))
    return pair in _APART or (pair == {EARLY, SPLIT} and splits_leave_one_item(kernel.plan))


def splits_leave_one_item(plan: str) -> bool:
    """Whether a plan splits keys only where each block then has one item: into as many parts as there are
    cores for each task, at most."""
    text = " ".join(plan.split())
    told = told_of_kernels(text).values()
    fixed = {each["fixedSplits"] for each in told if "fixedSplits" in each} == {"1"}
    few = (*_FEW_SPLITS, "kernel.fixedSplits") if fixed else _FEW_SPLITS
    splits = _SPLITS.findall(text)
    return bool(splits) and all(each in few for each in splits) and all(each in text for each in _SHARED)


# What changes of a schedule or of an operand leave as it was --------------------------------------------


def _kernel_of(source: EmittedText) -> EmittedText:
    return source.kernel or source


@kept
def _places(kernel: EmittedText) -> Counter[str]:
    """How many places of a kernel use each of its members."""
    inside = (kernel.code_at(each.span) for each in kernel.statements)
    return Counter(
        word for each in inside if not makes_buffer(each) for word in _WORD_OF_MEMBER.findall(each)
    )


def known_constants(source: EmittedText) -> Mapping[str, int]:
    """The constants of the schedule that a text is compiled with."""
    return _known(source)[0]


def is_multiple(source: EmittedText, number: str, unit: str) -> bool:
    """Whether both are constants of the schedule, one a multiple of the other."""
    known = known_constants(source)
    return number in known and unit in known and known[number] % known[unit] == 0


@kept
def _known(source: EmittedText) -> tuple[dict[str, int], list[Buffers]]:
    known = constants(source.schedule)
    return known, memories(SourceModel(source.schedule), known)


def memories_of(source: EmittedText) -> list[Buffers]:
    """The buffers of each memory, of the schedule that a text is compiled with."""
    return _known(source)[1]


def _memory_of(source: EmittedText, name: str) -> Buffers | None:
    return next((each for each in memories_of(source) if name in each.at), None)


def may_overlap(source: EmittedText, buffer: str, distance: str) -> bool:
    """Whether a buffer, and all after it, may begin ``distance`` earlier: what then overlaps is never in use
    together."""
    memory, number = _memory_of(source, buffer), _number(distance, _known(source)[0])
    if memory is None or number is None:
        return False
    kernel = _kernel_of(source)
    before = {name: at for name, at in memory.at.items() if at < memory.at[buffer]}
    behind = {name: at - number for name, at in memory.at.items() if name not in before}
    return all(
        apart(kernel, one, other)
        or over_in_time(kernel, one, other, moved == at)
        or are_scratch(kernel, one, other)
        for one, at in before.items()
        for other, moved in behind.items()
        if moved < at + memory.extent(one) and at < moved + memory.extent(other)
    )


def is_scratch(source: EmittedText, place: int, member: str, other: str) -> bool:
    """Whether one instruction alone uses a member of a kernel, and where another member begins, as much room
    is not in use when it runs."""
    kernel = _kernel_of(source)
    members = buffers_of(kernel)
    if _places(kernel)[member] != 1 or not {member, other} <= members.keys():
        return False
    own = _memory_of(source, members[member])
    if own is None or members[other] not in own.at:
        return False
    time, room = time_of(kernel, place), own.within(own.at[members[other]], own.extent(members[member]))
    times = [uses(kernel).get(name, frozenset((time,))) for name in room]
    return all(
        not _is_kept_from_the_first(each) and all(excludes(kernel, time, another) for another in each)
        for each in times
    )
