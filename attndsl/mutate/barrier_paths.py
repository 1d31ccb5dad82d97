"""Barriers of the vector pipe without which any two of its instructions on one buffer keep their order.

All ways through the work of a vector core are followed at once, with what has been done since the last
barrier. Behind a barrier, what came before it is kept apart: if something there shares a buffer with an
instruction up to the next barrier, and one of the two writes it, the barrier is needed. A way may take any
branch and leave out any loop, but for those that ask whether there are rows: in one call of a function all do
the same. Not in the way is what events order: an instruction of another pipe on the same buffer, which waits
for the first of the two, and for which the second waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attndsl.base.facts import kept
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.lifetimes import memories_of
from attndsl.mutate.source_model import CallText, Span, StatementText
from attndsl.mutate.turns import buffers_of, makes_buffer

_ROOT = "RunVector"
_ALL = "PipeBarrier<PIPE_ALL>();"
_EVENT = re.compile(r"(Set|Wait|SetAndWait)Flag<HardEvent::((\w+?)_(\w+))>\((k\w+)(?: \+ (\w+))?\);\Z")
_SLOT = re.compile(r"\b(k\w+At) \+ (\w+Slot_) \*")
_VIEW = re.compile(r"(?:auto )?(\w+) =\s+View<[^<>]*>\(\w+,\s+(k\w+At)\b")
_PLACE, _FIRST_WORD = re.compile(r"\bk\w+At\b"), re.compile(r"(\w+)(?:\[.*)?\Z", re.DOTALL)
_TENSOR = re.compile(r"\bLocalTensor<[^<>]*>\s*&?\s*(\w+)\b(?!\()")
_IF_ROWS = re.compile(r"if \((?P<rows>(?:\w+\.)?rows) > 0( &&[^|]*)?\)\Z")
_NO_ROWS = re.compile(r"if \((?P<rows>(?:\w+\.)?rows) <= 0\)\Z")
_OVER_ROWS = re.compile(r"for \(int64_t (\w+) = 0; \1 < (?P<rows>(?:\w+\.)?rows); [^;]*\)\Z")
_LEAVES = re.compile(r"\b(?:return|break|continue)\b")


class _Unknown(Exception):
    """What a text does is not told by what is known here."""


@dataclass(frozen=True, slots=True)
class _Work:
    """An instruction on a buffer, by the buffer's address, that no barrier has come behind yet.

    ``left_out``: the one barrier behind it that is looked at, None before any; ``pipes``: the other pipes
    that have waited for it; ``events``: those that were set behind it."""

    buffer: str
    writes: bool
    left_out: int | None = None
    pipes: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()


_State = frozenset[_Work]


@dataclass(frozen=True, slots=True)
class _Event:
    """An event that one pipe sets for another one. ``slot``: what its number depends on, None of one number:
    the last time that it was set is waited for then. Else it is that of the slot, which no other work took
    since."""

    name: str
    early: str
    late: str
    slot: str | None
    sets: bool
    waits: bool


@dataclass(frozen=True)
class _Branch:
    """A branch or a loop of a function. ``head``: its text on one line."""

    head: str
    body: tuple[_Branch | StatementText, ...]
    otherwise: tuple[_Branch | StatementText, ...] = ()


@kept
def unneeded(source: EmittedText) -> frozenset[int]:
    """The numbers of the barriers that no way through a vector core's work needs, of those that it meets."""
    if _ROOT not in source.functions:
        return frozenset()
    try:
        walk = _Walk(source)
        walk.function(_ROOT, frozenset(), ())
    except _Unknown:
        return frozenset()
    return frozenset(walk.met - walk.needed)


@dataclass
class _Walk:
    """Through the functions of a kernel. ``met``: the barriers on the way; ``needed``: those among them that
    keep an order."""

    source: EmittedText
    met: set[int] = field(default_factory=set)
    needed: set[int] = field(default_factory=set)
    _behind: dict[tuple[str, _State], _State] = field(default_factory=dict)

    def function(self, name: str, state: _State, callers: tuple[str, ...]) -> _State:
        """What is open behind a function: where it has rows, and where it has none."""
        if (name, state) in self._behind:
            return self._behind[name, state]
        if name in callers or not _has_one_count(self.source, name):
            raise _Unknown(name)
        nodes, within = _nodes_of(self.source)[name], (*callers, name)
        found = self._all(nodes, state, True, within) | self._all(nodes, state, False, within)
        self._behind[name, state] = found
        return found

    def _all(
        self,
        nodes: Iterable[_Branch | StatementText],
        state: _State,
        has_rows: bool,
        callers: tuple[str, ...],
    ) -> _State:
        for each in nodes:
            if isinstance(each, _Branch):
                state = self._branch(each, state, has_rows, callers)
            else:
                state = self._statement(each, state, callers)
        return state

    def _branch(self, node: _Branch, state: _State, has_rows: bool, callers: tuple[str, ...]) -> _State:
        taken, passed = _ways(node.head, has_rows)
        if not taken:
            return self._all(node.otherwise, state, has_rows, callers)
        if node.head.startswith("if"):
            behind = self._all(node.body, state, has_rows, callers)
            return behind | self._all(node.otherwise, state, has_rows, callers) if passed else behind
        reached, behind = state, state if passed else _State()
        while True:
            turn = self._all(node.body, reached, has_rows, callers)
            behind |= turn
            if turn <= reached:
                return behind
            reached |= turn

    def _statement(self, statement: StatementText, state: _State, callers: tuple[str, ...]) -> _State:
        source, code = self.source, self.source.one_line(statement.span)
        if _LEAVES.search(code) and not _is_last(source, statement):
            raise _Unknown(code)
        if code == _ALL:
            return _State()
        if source.is_vector_barrier(statement):
            own = statement.number
            self.met.add(own)
            return frozenset(replace(each, left_out=own) for each in state if each.left_out in (None, own))
        if (event := _event(code)) is not None:
            return _behind_event(source, state, event)
        call = source.leading_call(statement)
        pipe = None if call is None else source.pipe_of(call)
        if call is not None and pipe is not None:
            return self._instruction(statement, call, pipe, state)
        for each in source.calls(statement.span):
            if each.name in source.functions:
                state = self.function(each.name, state, callers)
        return state

    def _instruction(self, statement: StatementText, call: CallText, pipe: str, state: _State) -> _State:
        operands = _operands(self.source, statement, call)
        if pipe != "V":
            names = {each.buffer for each in operands}
            return frozenset(
                replace(each, pipes=each.pipes | {pipe}) if each.buffer in names else each for each in state
            )
        beside = _overlapping(self.source)
        for early in state:
            if early.left_out is not None and any(
                late.buffer in beside.get(early.buffer, (early.buffer,)) and (early.writes or late.writes)
                for late in operands
            ):
                self.needed.add(early.left_out)
        return state | frozenset(operands)


def _event(code: str) -> _Event | None:
    found = _EVENT.match(code)
    if found is None:
        return None
    verb, pipes, early, late, name, slot = found.groups()
    return _Event(f"{pipes} {name}", early, late, slot, verb != "Wait", verb != "Set")


def _is_last(source: EmittedText, statement: StatementText) -> bool:
    """Whether a function ends with a statement, whatever way it takes."""
    return statement == source.functions[statement.function][-1] and not source.heads_around(statement)


def _has_one_count(source: EmittedText, name: str) -> bool:
    """Whether all branches and loops of a function that ask for a number of rows ask for the same one."""
    heads = [source.one_line(each.span) for each in source.functions[name] if each.is_head]
    found = (pattern.match(head) for head in heads for pattern in (_IF_ROWS, _NO_ROWS, _OVER_ROWS))
    counts = {each["rows"] for each in found if each is not None}
    return len(counts) <= 1 and not any(source.reassigns(name, each) for each in counts)


def _ways(head: str, has_rows: bool) -> tuple[bool, bool]:
    """Whether the body behind a head may be entered, and whether it may be passed over."""
    if _NO_ROWS.match(head):
        return not has_rows, has_rows
    if branch := _IF_ROWS.match(head):
        return has_rows, not has_rows or branch[2] is not None
    if _OVER_ROWS.match(head):
        return has_rows, not has_rows
    return True, True


def _behind_event(source: EmittedText, state: _State, event: _Event) -> _State:
    """What is open behind a statement that sets an event, waits for it, or both."""
    if event.sets:
        of_vector = event.early == "V"
        state = frozenset(
            replace(each, events=each.events | {event.name})
            if of_vector or event.early in each.pipes
            else each
            for each in state
        )
    if not event.waits:
        return state
    slots = None if event.sets or event.slot is None else _slots(source)
    found = set[_Work]()
    for each in state:
        told = event.name in each.events and (slots is None or slots.get(each.buffer) == event.slot)
        if not told:
            found.add(each)
        elif event.late not in ("V", "S"):
            found.add(replace(each, pipes=each.pipes | {event.late}))
    return frozenset(found)


@kept
def _slots(source: EmittedText) -> dict[str, str]:
    """By the address of a buffer, the slot that is taken of it in turn."""
    return {match[1]: match[2] for match in _SLOT.finditer(source.code)}


def _operands(source: EmittedText, statement: StatementText, call: CallText) -> list[_Work]:
    """What an instruction reads and writes.

    Raises:
        _Unknown: a tensor whose buffer is not known.
    """
    written, found = source.instructions.written(call), []
    for place, argument in enumerate(call.arguments):
        buffer = _buffer(source, statement, argument)
        if buffer is not None:
            found.append(_Work(buffer, place in written))
    return found


def _buffer(source: EmittedText, statement: StatementText, argument: Span) -> str | None:
    """The address of the buffer that an argument lies in; None of what is no tensor in local memory."""
    code = source.one_line(argument)
    if code.startswith("View<") and (place := _PLACE.search(code)):
        return place[0]
    word = _FIRST_WORD.match(code)
    if word is None:
        return None
    name, members = word[1], buffers_of(source)
    if name in members:
        return members[name]
    views = [
        view[2]
        for each in source.functions[statement.function]
        if each.span.start < statement.span.start and (view := source.match(_VIEW, each)) and view[1] == name
    ]
    if not views and (name in _tensors(source) or _is_local_member(name)):
        raise _Unknown(name)
    return views[-1] if views else None


def _is_local_member(name: str) -> bool:
    return name.endswith("_") and not name.endswith(("Gm_", "Slot_"))


@kept
def _tensors(source: EmittedText) -> frozenset[str]:
    """The names of members, parameters and variables that are tensors in local memory."""
    return frozenset(_TENSOR.findall(source.code))


@kept
def _overlapping(source: EmittedText) -> Mapping[str, frozenset[str]]:
    """By the addresses of buffers, those that share bytes with each, itself among them."""
    return {
        name: memory.within(at, memory.extent(name))
        for memory in memories_of(source)
        for name, at in memory.at.items()
    }


@kept
def _nodes_of(source: EmittedText) -> dict[str, tuple[_Branch | StatementText, ...]]:
    """Each function as branches, loops and the statements in them."""
    return {name: tuple(_nodes(source, own, source.body(name))) for name, own in source.functions.items()}


def _nodes(
    source: EmittedText, own: Sequence[StatementText], block: Span
) -> Iterator[_Branch | StatementText]:
    at = block.start
    for each in own:
        if not at <= each.span.start < block.end:
            continue
        body = source.block(each)
        if body is None:
            if not makes_buffer(source.code_at(each.span)):
                yield each
            continue
        other = source.otherwise(body)
        yield _Branch(
            source.one_line(each.span),
            tuple(_nodes(source, own, body)),
            () if other is None else tuple(_nodes(source, own, other)),
        )
        at = body.end if other is None else other.end
