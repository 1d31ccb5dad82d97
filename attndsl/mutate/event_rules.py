"""Defects of synchronization: events, cross-core flags, barriers."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator

from attndsl.base.facts import kept
from attndsl.mutate.covered_barriers import is_covered
from attndsl.mutate.covered_events import (
    is_ready_twice,
    release_is_covered,
    reuse_is_covered,
    set_and_waited_apart,
)
from attndsl.mutate.defects import Defect, Rule, dropped
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.last_phase import ALL_WAIT, after_all_blocks, callers_of
from attndsl.mutate.lifetimes import EARLY, excludes, never_together, time_of
from attndsl.mutate.pieces import is_covered_release, is_covered_wait, orders_one_product
from attndsl.mutate.source_model import CallText, Span, StatementText
from attndsl.target import Core, Pipe

DROPPED_EVENT, SWAPPED_EVENT, MISNUMBERED_EVENT = "dropped event", "swapped event", "misnumbered event"
WRONG_PIPE, DROPPED_CROSS_FLAG, MISSING_BARRIER = "wrong pipe", "dropped cross-core flag", "missing barrier"

_CUBE_PIPES, _VECTOR_PIPES = (
    tuple(pipe.value for pipe in core.pipes if pipe is not Pipe.S) for core in (Core.AIC, Core.AIV)
)
_CUBE_ALONE, _VECTOR_ALONE = set(_CUBE_PIPES) - set(_VECTOR_PIPES), set(_VECTOR_PIPES) - set(_CUBE_PIPES)
_EVENT = re.compile(r"HardEvent::(\w+?)_(\w+)\b")
_ANY_EVENT = re.compile(r"HardEvent::(\w+)")
_CROSS = re.compile(r"CrossCore(?:Set|Wait)Flag\Z|SyncAll\Z")
_CONSTANT = re.compile(r"\bconstexpr\s+u?int\d+_t\s+(\w+)\s*=\s*(\d+)\s*;")
_STAGE = re.compile(r"if \((?:[\w> ]+ && )?([\w.]+ < \w+\.(?:tiles|keySteps))\)\s*\Z")
"""What a stage of a step depends on."""
_FIRST_STEPS = re.compile(r"\bif \(stepsBegun\w*_ <= kPrefetch\)")
_LATER_STEPS = re.compile(r"\bif \(stepsBegun\w*_ > kPrefetch\b")
_NOT_FIRST = re.compile(_FIRST_STEPS.pattern + r" \{[^{}]*\} else \Z")
"""Heads of branches of a loop over steps, and what stands in front of the head of one for later steps."""


@kept
def _calls(source: EmittedText) -> tuple[tuple[StatementText, CallText], ...]:
    """The statements that are calls."""
    found = ((statement, source.leading_call(statement)) for statement in source.statements)
    return tuple((statement, call) for statement, call in found if call is not None)


def _event(call: CallText) -> tuple[str, str] | None:
    """The pipes of an event that a call sets, waits for, or both."""
    match = _EVENT.search(call.template)
    return (match[1], match[2]) if match else None


def dropped_events(source: EmittedText) -> Iterator[Defect]:
    """A SetFlag, a WaitFlag or a helper that does both, left out; not one that the next covers."""
    return (
        dropped(DROPPED_EVENT, statement.span)
        for statement, call in _calls(source)
        if _event(call) and not is_ready_twice(source, statement)
    )


def swapped_events(source: EmittedText) -> Iterator[Defect]:
    """A flag set before the last work that it stands for, or waited for after the first that needs it.

    Not where other events cover it, as they do where a tile is one piece, or where two pipes go on for
    themselves.
    """
    for one, other in source.neighbours():
        first, second = source.leading_call(one), source.leading_call(other)
        if first is None or second is None:
            continue
        early, late = _event(second), _event(first)
        too_early = second.name == "SetFlag" and early is not None and source.pipe_of(first) == early[0]
        too_late = first.name == "WaitFlag" and late is not None and source.pipe_of(second) == late[1]
        backwards = (first.name, second.name) == ("SetFlag", "WaitFlag") and early == late
        if too_late and (is_covered_wait(source, one) or reuse_is_covered(source, one)):
            continue
        if too_early and (release_is_covered(source, one, other) or is_covered_release(source, other)):
            continue
        if backwards and set_and_waited_apart(source, one, other):
            continue
        if too_early or too_late or backwards:
            between = source.text[one.span.end : other.span.start]
            after = source.at(other.span) + between + source.at(one.span)
            yield Defect(SWAPPED_EVENT, Span(one.span.start, other.span.end), after)


def misnumbered_events(source: EmittedText) -> Iterator[Defect]:
    """Another id in a SetFlag or a WaitFlag, or of a cross-core flag; ids of two events that become one.

    A constant becomes the id of another event of the same pipes, or of another flag that the same cores set:
    an id that nothing else has is as good as its own. So is one of two events, or of two flags of all cores,
    that are both waited for where they are set, or one of two events of which one comes after all blocks have
    waited for each other, and the other does not, or that are of different branches of split keys; and one of
    two flags that are waited for in the order in which they are set, in turn or the one before all of the
    other, as in the first steps.
    """
    for _, call in _calls(source):
        if not call.arguments:
            continue
        identifier = source.at(call.arguments[0])
        if _event(call) is not None and call.name in ("SetFlag", "WaitFlag"):
            # the ids of a loop over slots are the same ones in another order where one bit is turned over
            after = f"{identifier} + 1" if identifier.endswith("+ slot") else f"({identifier}) ^ 1"
            yield Defect(MISNUMBERED_EVENT, call.arguments[0], after)
        elif _CROSS.match(call.name):
            yield Defect(MISNUMBERED_EVENT, call.arguments[0], f"{identifier} + 1")
    constants = {match[1]: match for match in _CONSTANT.finditer(source.code)}
    of_kind, outstanding = _names_by_kind(source)
    last, over = _of_last_phase(source)
    in_turn, times = _in_turn(source), _times(source)
    first, begun = _before_others(source), _of_first_steps(source)
    over_times = _times_of_complete(source)

    def excluded(one: str, other: str) -> bool:
        own = over_times.get(one, frozenset())
        pairs = itertools.product(own, over_times[other])
        return bool(own) and all(excludes(source, each, another) for each, another in pairs)

    for names in of_kind.values():
        numbers = {name: int(constants[name][2]) for name in sorted(names & constants.keys())}
        for name, own in numbers.items():
            apart = over if name in last else last if name in over else frozenset()
            apart |= in_turn.get(name, frozenset()) | first.get(name, frozenset())
            apart |= begun.get(name, frozenset())
            apart |= {each for each in times.keys() & numbers.keys() if _never_both(times, name, each)}
            apart |= {each for each in over_times.keys() & numbers.keys() if excluded(name, each)}
            others = [
                number
                for each, number in numbers.items()
                if number != own and outstanding & {name, each} and each not in apart
            ]
            if others:
                nearest = min(others, key=lambda each: (abs(each - own), each))
                yield Defect(MISNUMBERED_EVENT, Span(*constants[name].span(2)), str(nearest))


def _names_by_kind(source: EmittedText) -> tuple[dict[str, set[str]], set[str]]:
    """The names of ids by the pipes of events, or by the cores that set a flag; and those that work goes on
    beside between a SetFlag or a CrossCoreSetFlag and its wait."""
    of_kind: dict[str, set[str]] = {}
    outstanding = set[str]()
    for _, call in _calls(source):
        if not call.arguments:
            continue
        event = _event(call)
        names = set(re.findall(r"\bk[A-Z]\w*", source.at(call.arguments[0])))
        if event is not None:
            of_kind.setdefault("_".join(event), set()).update(names)
            outstanding |= names if call.name in ("SetFlag", "WaitFlag") else set()
        elif call.name == "CrossCoreSetFlag":
            of_kind.setdefault(_setting_core(call.template), set()).update(names)
            outstanding |= names - _waited_at_once(source)
    return of_kind, outstanding


@kept
def _waited_at_once(source: EmittedText) -> frozenset[str]:
    """The flags that every core which sets one waits for right there, each time."""
    pairs = Counter(match[2] for match in ALL_WAIT.finditer(source.code))
    uses = Counter(name for _, _, name in _flags(source))
    return frozenset(name for name, count in pairs.items() if uses[name] == 2 * count)


@kept
def _times(source: EmittedText) -> dict[str, frozenset[str]]:
    """When events are set or waited for, by the names of their ids: of those that are set and waited for in
    branches or the last phase alone, as often in each."""
    found: dict[str, dict[str, int]] = {}
    for statement, call in _calls(source):
        if _event(call) is not None and call.arguments:
            change = {"SetFlag": 1, "WaitFlag": -1}.get(call.name, 0)
            for name in re.findall(r"\bk[A-Z]\w*", source.at(call.arguments[0])):
                counts = found.setdefault(name, {})
                time = time_of(source, statement.span.start)
                counts[time] = counts.get(time, 0) + change
    return {
        name: frozenset(counts)
        for name, counts in found.items()
        if EARLY not in counts and not any(counts.values())
    }


@kept
def _times_of_complete(source: EmittedText) -> dict[str, frozenset[str]]:
    """When events are set or waited for, of those that each function sets before it waits for them, and as
    often: nothing of them is left when it is over, and nothing is set ahead."""
    found: dict[str, dict[tuple[str, str], int]] = {}
    ahead = set[str]()
    for statement, call in _calls(source):
        if _event(call) is not None and call.arguments:
            change = {"SetFlag": 1, "WaitFlag": -1}.get(call.name, 0)
            for name in re.findall(r"\bk[A-Z]\w*", source.at(call.arguments[0])):
                counts = found.setdefault(name, {})
                place = (statement.function, time_of(source, statement.span.start))
                counts[place] = counts.get(place, 0) + change
                if counts[place] < 0:
                    ahead.add(name)
    return {
        name: frozenset(time for _, time in counts)
        for name, counts in found.items()
        if name not in ahead and not any(counts.values())
    }


def _never_both(times: dict[str, frozenset[str]], one: str, other: str) -> bool:
    return one in times and never_together(times[one], times[other])


def _of_last_phase(source: EmittedText) -> tuple[frozenset[str], frozenset[str]]:
    """The names of ids of what runs after all blocks have waited for each other, and of those that are used
    before alone, by functions that wait as often as they set and do not lead there."""
    late, callers = after_all_blocks(source), callers_of(source)
    leading = {function for name in late for function in callers.get(name, ())} - late
    uses: dict[str, list[tuple[str, int]]] = {}
    for statement, call in _calls(source):
        if _event(call) is not None and call.arguments:
            change = {"SetFlag": 1, "WaitFlag": -1}.get(call.name, 0)
            for name in re.findall(r"\bk[A-Z]\w*", source.at(call.arguments[0])):
                uses.setdefault(name, []).append((statement.function, change))
    last = {name for name, own in uses.items() if all(function in late for function, _ in own)}
    over = {
        name
        for name, own in uses.items()
        if not any(function in late | leading for function, _ in own)
        and not any(sum(each for at, each in own if at == function) for function, _ in own)
    }
    return frozenset(last), frozenset(over)


def _in_turn(source: EmittedText) -> dict[str, frozenset[str]]:
    """The flags, each with the others that are set and waited for in the same order, once each in every step
    that has their stages: their counters may be one."""
    places: dict[str, dict[str, list[tuple[str, tuple[int, int], str]]]] = {}
    own_core: dict[str, str] = {}
    for statement, call, name in _flags(source):
        if not _always_runs(source, statement):
            continue
        uses = [
            (caller, (place, statement.span.start), stage)
            for caller, place, stage in _stages(source, statement.function)
        ]
        places.setdefault(name, {}).setdefault(call.name, []).extend(uses)
        if call.name == "CrossCoreSetFlag":
            own_core[name] = _setting_core(call.template)
    once = {
        name: (sets[0], waits[0])
        for name, each in places.items()
        if len(sets := each.get("CrossCoreSetFlag", []))
        == len(waits := each.get("CrossCoreWaitFlag", []))
        == 1
        and sets[0][2] == waits[0][2]
    }
    return {
        name: frozenset(
            other
            for other, (set_, wait) in once.items()
            if own_core[other] == own_core[name]
            and (set_[0], wait[0]) == (own[0][0], own[1][0])
            and (set_[1] < own[0][1]) == (wait[1] < own[1][1])
        )
        for name, own in once.items()
    }


def _before_others(source: EmittedText) -> dict[str, frozenset[str]]:
    """The flags, each with the others of which one is set once and waited for once, always, before the first
    turn of what does so with the other: the first wait is for the first flag whatever counts them."""
    places: dict[str, dict[str, list[tuple[str, int, bool]]]] = {}
    for statement, call, name in _flags(source):
        always = _always_runs(source, statement)
        places.setdefault(name, {}).setdefault(call.name, []).extend(
            (each.function, each.span.start, always and _always_runs(source, each))
            for each in _calls_of(source, statement.function)
        )
    found: dict[str, set[str]] = {}
    for one, own in places.items():
        for other, theirs in places.items():
            if one != other and all(
                _is_first(own.get(verb, []), theirs.get(verb, []))
                for verb in ("CrossCoreSetFlag", "CrossCoreWaitFlag")
            ):
                found.setdefault(one, set()).add(other)
                found.setdefault(other, set()).add(one)
    return {name: frozenset(others) for name, others in found.items()}


def _is_first(own: list[tuple[str, int, bool]], others: list[tuple[str, int, bool]]) -> bool:
    """Whether there is one use, always, and all others come behind it in the function that leads to it."""
    if len(own) != 1 or not others:
        return False
    ((function, place, always),) = own
    return always and all(each == function and at > place for each, at, _ in others)


def _of_first_steps(source: EmittedText) -> dict[str, frozenset[str]]:
    """The flags, each with the others of which one is waited for in the first steps and set before all steps,
    and the other waited for and set in later ones: the first waits are for the first flags."""
    sets: dict[str, list[tuple[StatementText, bool]]] = {}
    waits: dict[str, list[tuple[StatementText, bool]]] = {}
    for statement, call, name in _flags(source):
        always = _always_runs(source, statement)
        of_verb = sets if call.name == "CrossCoreSetFlag" else waits
        of_verb.setdefault(name, []).extend((each, always) for each in _calls_of(source, statement.function))
    early = {
        name
        for name, calls in waits.items()
        if all(always and _in_first_steps(source, call) for call, always in calls)
        and len(sets.get(name, [])) == 1
        and _always_runs(source, sets[name][0][0])
    }
    found: dict[str, set[str]] = {}
    for one in early:
        own = sets[one][0][0]
        for other in waits.keys() & sets.keys() - early:
            late = all(_in_later_steps(source, call) for call, _ in waits[other])
            behind = all(
                call.function == own.function and call.span.start > own.span.start for call, _ in sets[other]
            )
            if late and behind:
                found.setdefault(one, set()).add(other)
                found.setdefault(other, set()).add(one)
    return {name: frozenset(others) for name, others in found.items()}


def _in_first_steps(source: EmittedText, statement: StatementText) -> bool:
    return any(_FIRST_STEPS.search(source.code_at(head.span)) for head in source.heads_around(statement))


def _in_later_steps(source: EmittedText, statement: StatementText) -> bool:
    """Whether a statement stands in a branch that the first steps do not take."""
    return any(
        _LATER_STEPS.search(source.code_at(head.span)) or _NOT_FIRST.search(source.code[: head.span.start])
        for head in source.heads_around(statement)
    )


def _always_runs(source: EmittedText, statement: StatementText) -> bool:
    """Whether a statement stands in no branch or loop of its function."""
    return source.is_straight(statement.span.start, source.body(statement.function))


def _flags(source: EmittedText) -> Iterator[tuple[StatementText, CallText, str]]:
    """What sets flags between cores or waits for them, with the names of the flags."""
    for statement, call in _calls(source):
        if call.name in ("CrossCoreSetFlag", "CrossCoreWaitFlag") and call.arguments:
            yield statement, call, source.at(call.arguments[0])


def _calls_of(source: EmittedText, function: str) -> Iterator[StatementText]:
    return (statement for statement, call in _calls(source) if call.name == function)


def _stages(source: EmittedText, function: str) -> Iterator[tuple[str, int, str]]:
    """Where a function is called as a stage, first or after others in one branch: the caller, the place, what
    it depends on."""
    for statement in _calls_of(source, function):
        around = source.heads_around(statement)
        block = source.block(around[-1]) if around else None
        found = _STAGE.search(source.code_at(around[-1].span)) if around else None
        straight = block is not None and source.is_straight(statement.span.start, block)
        stage = found[1] if found and straight else f"{statement.span}"
        yield statement.function, statement.span.start, stage


def _setting_core(template: str) -> str:
    """The cores that set a flag, as its mode and pipe tell: flags of the others are other counters."""
    mode, _, pipe = template.partition(",")
    name = pipe.strip().removeprefix("PIPE_")
    core = "cube" if name in _CUBE_ALONE else "vector" if name in _VECTOR_ALONE else "any"
    return f"{mode.strip()} {core}"


def wrong_pipes(source: EmittedText) -> Iterator[Defect]:
    """A flag set by, or waited for by, another pipe of the same core."""
    pairs = sorted(set(_ANY_EVENT.findall(source.code)))
    for statement, call in _calls(source):
        at = source.code.find("<", statement.span.start) + 1
        if pipes := _event(call):
            core = _VECTOR_PIPES if _VECTOR_ALONE.intersection(pipes) else _CUBE_PIPES
            start = source.code.index("HardEvent::", at) + len("HardEvent::")
            own = "_".join(pipes)
            others = [pair for pair in pairs if pair != own and set(pair.split("_")) <= set(core)]
            if others:
                after = others[statement.number % len(others)]
                yield Defect(WRONG_PIPE, Span(start, start + len(own)), after)
        elif call.name == "CrossCoreSetFlag" and "PIPE_" in call.template:
            start = source.code.index("PIPE_", at) + len("PIPE_")
            own = source.code[start : source.code.index(">", start)].strip()
            if own in _waited_for(source, statement):
                continue
            core = _CUBE_PIPES if own in _CUBE_ALONE else _VECTOR_PIPES
            others = [each for each in core if each != own]
            after = others[statement.number % len(others)]
            yield Defect(WRONG_PIPE, Span(start, start + len(own)), after)


def _waited_for(source: EmittedText, statement: StatementText) -> list[str]:
    """The pipe whose work the core has waited for right in front of a statement, with all others: which pipe
    sets a flag then makes no difference, as none has more to do."""
    before = source.code[: statement.span.start].rstrip()
    return [each[1] for each in ALL_WAIT.finditer(before) if each.end() == len(before)]


def dropped_cross_flags(source: EmittedText) -> Iterator[Defect]:
    """A flag between cores not set, or not waited for."""
    for statement, call in _calls(source):
        if _CROSS.match(call.name):
            yield dropped(DROPPED_CROSS_FLAG, statement.span)


def missing_barriers(source: EmittedText) -> Iterator[Defect]:
    """A PipeBarrier left out, but for the one that ends the kernel, after which nothing comes, and those that
    others cover on every path."""
    for statement, call in _calls(source):
        ends = "PIPE_ALL" in call.template
        if call.name != "PipeBarrier" or ends or is_covered(source, statement):
            continue
        if not orders_one_product(source, statement):
            yield dropped(MISSING_BARRIER, statement.span)


RULES: tuple[Rule, ...] = (
    dropped_events,
    swapped_events,
    misnumbered_events,
    wrong_pipes,
    dropped_cross_flags,
    missing_barriers,
)
