"""Events that order nothing which others do not order, too.

A store tells two pipes that its buffer is free: the one that fills it, and the one that loads what the
filling needs. Where each filling waits for a load that itself waited for the store, the first of the two
events is not needed where it stands. Nor does the order matter in which one pipe sets an event and another
waits for one of another id; both go on for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.base.facts import kept
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.last_phase import callers_of
from attndsl.mutate.lifetimes import LATE, never_together, time_of
from attndsl.mutate.source_model import Span, StatementText
from attndsl.mutate.turns import makes_buffer

_FLAG = re.compile(r"(SetAndWait|Set|Wait)Flag<HardEvent::(\w+?)_(\w+)>\((k\w+)(?: \+ (\w+_))?\);\Z")
_LOCAL = re.compile(r"auto (\w+) =\s+View<[^<>]*>\(\w+, (k\w+At)\b")
_PARTS = re.compile(r"for \(int64_t (\w+) = 0;\s+\1 < tiling_\.splits;\s+\+\+\1\)\s*\Z")
_MERGES = re.compile(r"if \(tiling_\.splits > 1\)\s*\Z")
_STORES = "MTE3"
"""The pipe that stores from buffers that others fill."""
_FEWEST_PARTS = 2
"""Parts that are merged, at least."""


@dataclass(frozen=True)
class _Flag:
    """A statement that sets an event, waits for it, or both. ``slot``: the member that picks one of two."""

    statement: StatementText
    verb: str
    of: str
    to: str
    name: str
    slot: str

    @property
    def slots(self) -> int:
        return 2 if self.slot else 1

    def is_same(self, other: _Flag) -> bool:
        """Whether it is about the same event."""
        own, theirs = ((each.of, each.to, each.name, each.slot) for each in (self, other))
        return own == theirs


@kept
def _flags(source: EmittedText) -> dict[str, list[_Flag]]:
    """Those of each function, in order."""
    found: dict[str, list[_Flag]] = {}
    for statement in source.statements:
        flag = _FLAG.match(source.one_line(statement.span))
        if flag is not None:
            found.setdefault(statement.function, []).append(
                _Flag(statement, flag[1], flag[2], flag[3], flag[4], flag[5] or "")
            )
    return found


def _flag_at(source: EmittedText, statement: StatementText) -> _Flag | None:
    """What a statement sets or waits for; None of all others."""
    return next(
        (each for each in _flags(source).get(statement.function, ()) if each.statement == statement), None
    )


def waited_at_once(source: EmittedText, function: str) -> list[tuple[StatementText, str, str]]:
    """The statements of a function in which a pipe waits for another at once, with these, the one waited for
    first."""
    own = _flags(source).get(function, ())
    return [(each.statement, each.of, each.to) for each in own if each.verb == "SetAndWait"]


def set_and_waited_apart(source: EmittedText, one: StatementText, other: StatementText) -> bool:
    """Whether one statement sets an event and the next waits for one of another id: two pipes do so."""
    first, second = _flag_at(source, one), _flag_at(source, other)
    return first is not None and second is not None and first.name != second.name


def release_is_covered(source: EmittedText, store: StatementText, release: StatementText) -> bool:
    """Whether a buffer may be told free in front of the store that reads it last."""
    event = _flag_at(source, release)
    if event is None or event.of != _STORES:
        return False
    return all(_is_ordered(source, store, event, wait) for wait in _all(source, event, "Wait"))


def reuse_is_covered(source: EmittedText, wait: StatementText) -> bool:
    """Whether a wait for a buffer may come behind what fills it."""
    event = _flag_at(source, wait)
    if event is None or event.of != _STORES:
        return False
    stores = [(_store_before(source, each), each) for each in _all(source, event, "Set")]
    return bool(stores) and all(
        store is not None and _is_ordered(source, store, each, event) for store, each in stores
    )


def is_ready_twice(source: EmittedText, ready: StatementText) -> bool:
    """Whether a pipe tells another one that it is ready, and does so again, for something later, before the
    other one does anything: the second event is behind what the first stands for."""
    own = source.functions[ready.function]
    flag, block = _flag_at(source, ready), _block_that_goes_on(source, ready)
    if flag is None or flag.verb != "SetAndWait" or block is None:
        return False
    again: StatementText | None = None
    for each in own[own.index(ready) + 1 :]:
        other = _flag_at(source, each)
        if each.span.start >= block.end:
            break
        if again is None and other is not None:
            if (other.verb, other.of, other.to) == (flag.verb, flag.of, flag.to):
                again = each
            elif other.verb != "Wait" and other.of == flag.to:
                return False  # it stands for something else, too
        if _works(source, each, flag.to) and (again is None or not runs_with(source, again, each)):
            return False
    if again is None or re.search(r"\belse\b", source.code[ready.span.end : again.span.start]):
        return False
    return runs_with(source, again, ready) or _is_for_this_alone(source, ready, flag)


def _block_that_goes_on(source: EmittedText, statement: StatementText) -> Span | None:
    """What holds all that comes behind a statement in one turn: the innermost loop, or the function."""
    loops = (
        source.block(head)
        for head in reversed(source.heads_around(statement))
        if not source.code.startswith(("if ", "else"), head.span.start)
    )
    return next(loops, source.body(statement.function))


def _works(source: EmittedText, statement: StatementText, pipe: str) -> bool:
    """Whether a pipe works on a statement, or may do so in what it calls."""
    call = source.leading_call(statement)
    if call is None:
        return False
    own = source.pipe_of(call)
    return own == pipe or (own is None and call.name in source.functions)


def _is_for_this_alone(source: EmittedText, ready: StatementText, flag: _Flag) -> bool:
    """Whether what an event says is ready is for what comes behind it in its function: others that work on
    these buffers fill them first."""
    own = source.functions[ready.function]
    before = own[: own.index(ready)]
    filled = _filled(source, before, flag.of)
    if not filled or any(_works(source, each, flag.to) for each in before):
        return False
    return all(
        not filled & _words(source, function) or filled & _filled(source, statements, flag.of)
        for function, statements in source.functions.items()
        if function != ready.function
    )


def _filled(source: EmittedText, statements: Sequence[StatementText], pipe: str) -> set[str]:
    """The buffers that a pipe fills in a function: the addresses of what has a local name there, or names."""
    calls = [call for each in statements if (call := source.leading_call(each)) is not None]
    names = {
        name[0]
        for call in calls
        if source.pipe_of(call) == pipe
        and call.arguments
        and (name := re.match(r"\w+", source.code_at(call.arguments[0])))
    }
    views = [_LOCAL.match(source.code, each.span.start) for each in statements]
    places = {view[1]: view[2] for view in views if view is not None}
    return {places.get(each, each) for each in names}


def _words(source: EmittedText, function: str) -> set[str]:
    """The words of a function, but for where it says where members lie."""
    inside = (source.code_at(each.span) for each in source.functions[function])
    return {word for each in inside if not makes_buffer(each) for word in re.findall(r"\w+", each)}


def _all(source: EmittedText, event: _Flag, verb: str) -> Iterator[_Flag]:
    """All places that set an event, or wait for it, but those before and behind all work."""
    callers = callers_of(source)
    for function, flags in _flags(source).items():
        is_root = not any(caller in _flags(source) for caller in callers.get(function, ()))
        for each in flags:
            if each.verb == verb and each.is_same(event) and not (is_root and _opens_or_ends(source, each)):
                yield each


def _opens_or_ends(source: EmittedText, flag: _Flag) -> bool:
    """Whether nothing but flags comes before or behind a flag of a function that leads to others."""
    own = source.functions[flag.statement.function]
    place = own.index(flag.statement)
    return any(all(_is_flag(source, each) for each in side) for side in (own[:place], own[place + 1 :]))


def _is_flag(source: EmittedText, statement: StatementText) -> bool:
    return source.code_at(statement.span).startswith(("SetFlag<", "WaitFlag<"))


def _store_before(source: EmittedText, release: _Flag) -> StatementText | None:
    """The last instruction of the pipe that sets an event, in front of it."""
    own = source.functions[release.statement.function]
    for each in reversed(own[: own.index(release.statement)]):
        call = source.leading_call(each)
        if call is not None and source.pipe_of(call) == release.of:
            return each
    return None


def _is_ordered(source: EmittedText, store: StatementText, event: _Flag, wait: _Flag) -> bool:
    """Whether what comes behind a wait comes behind a store without it: by a load that waited for an event
    which the pipe of the store sets behind it, and for which the other pipe waits."""
    times = (frozenset((time_of(source, each.span.start),)) for each in (store, wait.statement))
    if never_together(*times) or _runs_before(source, wait.statement.function, store.function):
        return True
    filling = _first_use(source, wait, _stored(source, event))
    if filling is None:
        return False
    behind = [
        each
        for each in _flags(source).get(store.function, ())
        if each.verb == "Set"
        and each.of == event.of
        and each.to != event.to
        and each.statement.span.start > store.span.start
        and runs_with(source, each.statement, store)
    ]
    if any(
        _waits_between(source, each, event, filling)
        and each.slots <= event.slots
        and _alternates(source, each)
        for each in behind
    ):
        return True
    return time_of(source, store.span.start) == LATE and _is_ordered_by_parts(source, event, filling)


def _stored(source: EmittedText, release: _Flag) -> set[str]:
    """The buffers that are stored before an event, since the pipe last waited for something to store."""
    found = set[str]()
    own = source.functions[release.statement.function]
    for each in reversed(own[: own.index(release.statement)]):
        call = source.leading_call(each)
        if call is not None and source.pipe_of(call) == release.of and len(call.arguments) > 1:
            found |= set(re.findall(r"^\w+", source.code_at(call.arguments[1])))
        if f"_{release.of}>(" in source.code_at(each.span):
            break
    return found


def _first_use(source: EmittedText, wait: _Flag, buffers: set[str]) -> StatementText | None:
    """The first instruction behind a wait, of the pipe that waits, on one of some buffers."""
    own = source.functions[wait.statement.function]
    for each in own[own.index(wait.statement) + 1 :]:
        call = source.leading_call(each)
        words = set(re.findall(r"\w+", source.code_at(each.span)))
        if call is not None and source.pipe_of(call) == wait.to and buffers & words:
            return each
    return None


def runs_with(source: EmittedText, one: StatementText, other: StatementText) -> bool:
    """Whether one statement runs whenever another of its function does, in the same turn of each loop."""
    return set(source.heads_around(one)) <= set(source.heads_around(other))


def _waits_between(source: EmittedText, covering: _Flag, event: _Flag, filling: StatementText) -> bool:
    """Whether a pipe waits for the covering event and then sets one for the pipe of a filling, which waits
    for it first."""
    own = [
        each
        for each in _flags(source).get(filling.function, ())
        if each.statement.span.start < filling.span.start and runs_with(source, each.statement, filling)
    ]
    for place, each in enumerate(own):
        if each.verb == "Wait" and each.is_same(covering):
            return _passes_on(source, own[place + 1 :], covering.to, event.to)
    return False


def _passes_on(source: EmittedText, flags: list[_Flag], of: str, to: str) -> bool:
    """Whether one of two pipes sets an event that the other waits for: not one that is set ahead, whose wait
    is for an earlier one."""
    return any(
        (each.of, each.to) == (of, to)
        and (
            each.verb == "SetAndWait"
            or (
                each.verb == "Set"
                and any(other.verb == "Wait" and other.is_same(each) for other in flags[place + 1 :])
                and _is_set_first(source, each)
            )
        )
        for place, each in enumerate(flags)
    )


def _is_set_first(source: EmittedText, flag: _Flag) -> bool:
    """Whether each function sets an event before it waits for it, and as often."""
    for flags in _flags(source).values():
        ahead = 0
        for each in flags:
            if (each.of, each.to, each.name) == (flag.of, flag.to, flag.name):
                ahead += {"Set": 1, "Wait": -1}.get(each.verb, 0)
                if ahead < 0:
                    return False
        if ahead:
            return False
    return True


def _alternates(source: EmittedText, flag: _Flag) -> bool:
    """Whether each function waits for an event as often as it sets it, and turns to the other slot as often,
    but for what comes before and behind all work."""
    for function, flags in _flags(source).items():
        sets, waits = (
            sum(each.verb == verb and each.is_same(flag) for each in flags) for verb in ("Set", "Wait")
        )
        turns = (
            source.code_at(source.body(function)).count(f"{flag.slot} = ({flag.slot} + 1) %")
            if flag.slot
            else waits
        )
        if sets != waits or turns != waits:
            return False
    return True


def _runs_before(source: EmittedText, early: str, late: str) -> bool:
    """Whether a function is called once, always, in front of all that leads to another."""
    callers = callers_of(source)
    if len(callers.get(early, ())) != 1 or early == late:
        return False
    (root,) = callers[early]
    own = [
        (each.span.start, call.name)
        for each in source.functions[root]
        for call in source.calls(each.span)
        if call.name in source.functions
    ]
    places = [place for place, name in own if name == early]
    leading = [place for place, name in own if name != early and late in source.reached(name)]
    return (
        len(places) == 1
        and bool(leading)
        and min(leading) > places[0]
        and source.is_straight(places[0], source.body(root))
        and late not in source.reached(early)
        and callers.get(late, set()) <= source.reached(root) | {root}
    )


def _is_ordered_by_parts(source: EmittedText, event: _Flag, filling: StatementText) -> bool:
    """Whether parts are merged between a store and the next filling: each waits for what the one before has
    set, the second of them for what the store's pipe set behind the store."""
    callers = callers_of(source)
    places = [(filling.function, filling)]
    for caller in callers.get(filling.function, ()):
        own = [each for each in source.functions[caller] if _calls(source, each, filling.function)]
        places += [(caller, own[0])] if len(own) == 1 else []
    for function, place in places:
        for each in source.functions[function]:
            call = source.leading_call(each)
            if call is None or call.name not in source.functions or not runs_with(source, each, place):
                continue
            if each.span.start < place.span.start and _merges_parts(source, call.name, event):
                return _is_of_merges(source, function)
    return False


def _calls(source: EmittedText, statement: StatementText, function: str) -> bool:
    call = source.leading_call(statement)
    return call is not None and call.name == function


def _merges_parts(source: EmittedText, function: str, event: _Flag) -> bool:
    """Whether a function has a turn for each part in which the pipe of an event sets another one that is
    passed on to the pipe which fills, the fewest parts being enough."""
    own = source.functions[function]
    flags = _flags(source).get(function, [])
    if not source.match(_PARTS, own[0]) or any(
        source.heads_around(each.statement) != [own[0]] for each in flags
    ):
        return False
    return any(
        each.verb == "Set"
        and each.of == event.of
        and each.to != event.to
        and each.slots + 1 <= _FEWEST_PARTS * event.slots
        and _alternates(source, each)
        and _passes_on_in_turn(source, flags, each, event)
        for each in flags
    )


def _passes_on_in_turn(source: EmittedText, flags: list[_Flag], covering: _Flag, event: _Flag) -> bool:
    waits = [place for place, each in enumerate(flags) if each.verb == "Wait" and each.is_same(covering)]
    return bool(waits) and _passes_on(source, flags[waits[0] + 1 :], covering.to, event.to)


def _is_of_merges(source: EmittedText, function: str) -> bool:
    """Whether a function runs only where there are parts to merge."""
    callers = callers_of(source).get(function, set())
    calls = [
        each
        for caller in callers
        for each in source.functions[caller]
        if any(call.name == function for call in source.calls(each.span))
    ]
    return bool(calls) and all(
        any(source.match(_MERGES, head) for head in source.heads_around(each)) for each in calls
    )
