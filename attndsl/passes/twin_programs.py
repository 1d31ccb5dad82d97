"""The passes once for two programs that are equal but for float16 in one where the other has bfloat16.

No pass looks at a dtype but for its size, nor does the hoisting of scalars in front of them, so that what
they make of one program is what they make of the other with its operands. Whether two programs are equal is
decided on what lowering rules draft, statement by statement: where a cast or an instruction differs, each
goes through the passes itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from attndsl.lowering.emit.field_names import check_field_names
from attndsl.lowering.errors import DoesNotFit, TooManyEvents
from attndsl.lowering.lower import with_hoisted_loads
from attndsl.passes.pass_manager import LOWERED, PASSES, checked, run_passes
from attndsl.tile.buffers import GlobalRegion, Region
from attndsl.tile.comparison import compared_fields
from attndsl.tile.operand_pairs import Operand, OperandPairs
from attndsl.tile.program import Program
from attndsl.tile.statements import Statement

Finished = tuple[Program, Program]
"""The last program that is joint, and the finished one."""
Finish = Callable[[Program], Finished]
"""What makes them of the first draft of a lowering, as :func:`all_passes`."""

_PARTS = ("device", "parameters", "workspace", "tiling", "constants", "requirements", "body")
"""Of a draft, all that passes see; a name, a summary and the io dtype are for readers."""
_REMEMBERED = 4
"""Programs that are remembered: a kernel's attempts with larger tiles are among them."""


def all_passes(draft: Program) -> Finished:
    """The passes, for every program anew.

    Raises:
        DoesNotFit, TooManyEvents: with a smaller schedule it may fit.
        NamesTaken: as :func:`attndsl.lowering.emit.field_names.check_field_names`.
        As :func:`attndsl.passes.pass_manager.run_passes`.
    """
    return run_passes(check_field_names(with_hoisted_loads(draft)), PASSES)


@dataclass(frozen=True)
class _Done:
    """A draft, and what the passes made of it: programs, or what they lacked room for."""

    draft: Program
    outcome: Finished | DoesNotFit | TooManyEvents


class TwinPasses:
    """The passes, where a twin of the program went through them not long ago without them."""

    def __init__(self) -> None:
        self._done: deque[_Done] = deque(maxlen=_REMEMBERED)

    def __call__(self, draft: Program) -> Finished:
        """As :func:`all_passes`."""
        for known in self._done:
            if (twin := _twin_of(known, draft)) is not None:
                return twin
        outcome: Finished | DoesNotFit | TooManyEvents
        try:
            outcome = all_passes(draft)
        except (DoesNotFit, TooManyEvents) as error:
            outcome = error
        self._done.append(_Done(draft, outcome))
        return _or_raised(outcome)

    def made(self, program: Program) -> bool:
        """Whether a finished program is one that these passes made not long ago."""
        return any(isinstance(each.outcome, tuple) and each.outcome[1] is program for each in self._done)

    def twin_of(self, program: Program, draft: Program) -> Finished | None:
        """What the passes make of a draft that is the twin of the one that they made ``program`` of; None of
        other drafts."""
        for known in self._done:
            if isinstance(known.outcome, tuple) and known.outcome[1] is program:
                return _twin_of(known, draft)
        return None


def _twin_of(known: _Done, draft: Program) -> Finished | None:
    """What the passes make of a draft that is the twin of a known one; None of others.

    Raises:
        DoesNotFit, TooManyEvents: as for its twin.
        InternalError: a rule does not hold of it, such as one of the operands of an instruction.
    """
    pairs = _TwinPairs()
    if not pairs.programs(known.draft, draft):
        return None
    joint, program = _with_operands(_or_raised(known.outcome), pairs, draft)
    checked(joint, "the passes of its twin", LOWERED)
    return joint, program


def _or_raised(outcome: Finished | DoesNotFit | TooManyEvents) -> Finished:
    if isinstance(outcome, tuple):
        return outcome
    raise outcome.with_traceback(None)


class _TwinPairs(OperandPairs):
    """Compares what lowering rules drafted, the author's lines with it: these are in what the passes make."""

    def programs(self, first: Program, second: Program) -> bool:
        """Whether the passes make the same of both, but for dtypes."""
        return all(self.same(getattr(first, part), getattr(second, part)) for part in _PARTS)

    def same_fields(self, first: Any, second: Any, but: frozenset[str] = frozenset()) -> bool:
        lines = getattr(first, "where", None), getattr(second, "where", None)
        return lines[0] == lines[1] and super().same_fields(first, second, but)


def _with_operands(finished: Finished, pairs: OperandPairs, draft: Program) -> Finished:
    """The programs with the operands of a draft where these have another dtype."""
    change = Substitution({first: pairs.second_of(first) for first in pairs.found})
    joint, program = (_with_name_of(change.program(each), draft) for each in finished)
    return joint, program


def _with_name_of(program: Program, draft: Program) -> Program:
    return program.with_(name=draft.name, summary=draft.summary, dtype=draft.dtype)


class Substitution:
    """Puts operands in the place of others; what has none of these inside stays the object that it is."""

    def __init__(self, operands: Mapping[object, object]) -> None:
        self._changed = dict(operands)

    def program(self, program: Program) -> Program:
        """The program with all tensors, buffers and statements substituted, whatever field they are in."""
        every = {each.name: self._value(getattr(program, each.name)) for each in fields(program)}
        return program.with_(**every)

    def _value(self, value: Any) -> Any:
        if isinstance(value, tuple):
            changed = tuple(map(self._value, value))
            return changed if any(a is not b for a, b in zip(changed, value, strict=True)) else value
        if isinstance(value, Mapping):
            return {self._value(key): self._value(each) for key, each in value.items()}
        if isinstance(value, Statement | Region | GlobalRegion):
            if value not in self._changed:
                self._changed[value] = self._node(value)
            return self._changed[value]
        return self._changed.get(value, value) if isinstance(value, Operand) else value

    def _node(self, node: Any) -> Any:
        kind: Any = type(node)
        changes: dict[str, Any] = {}
        for name in compared_fields(kind):
            value = getattr(node, name)
            changed = self._value(value)
            if changed is not value:
                changes[name] = changed
        return replace(node, **changes) if changes else node
