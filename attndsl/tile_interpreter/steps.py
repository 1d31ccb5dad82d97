"""Statements of a finished tile program as Python functions of a core, made once a program.

Only statements with a cross-core wait inside can pause; these are generators (:func:`pausing`). All others
are plain calls (:func:`step`). Events and barriers order nothing here: they are no step at all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from attndsl.base.errors import InternalError, OutsideError
from attndsl.base.facts import kept
from attndsl.expr.compiled_evaluation import Function, definitions, evaluator, integers
from attndsl.target import Core
from attndsl.tile.buffers import GlobalRegion
from attndsl.tile.instructions import Fixpipe, Instruction
from attndsl.tile.instructions.vector import OnArrays
from attndsl.tile.scalars import extents_of, loads
from attndsl.tile.statements import (
    Alloc,
    Collect,
    Earlier,
    Either,
    For,
    Handed,
    If,
    KeepScalars,
    Let,
    PickTensor,
    Seq,
    SetCrossFlag,
    Shared,
    Stage,
    Statement,
    WaitCrossFlag,
)
from attndsl.tile_interpreter.core_state import CoreState
from attndsl.tile_interpreter.operand_limits import open_limits

Step: TypeAlias = Callable[[CoreState], None]
PausingStep: TypeAlias = Callable[[CoreState], Generator[str, None, None]]


def pausing(statement: Statement, core: CoreState) -> Generator[str, None, None]:
    """Run a statement with its parts; yields "waiting" whenever a flag is not up yet."""
    return _pausing(statement)(core)


@kept
def _pausing(statement: Statement) -> PausingStep:
    """A statement that may pause as a function of a core."""
    make = _PAUSING_MAKERS.get(type(statement))
    return _pausing_all(statement) if make is None else make(statement)


def _pausing_wait(item: WaitCrossFlag) -> PausingStep:
    def run(core: CoreState) -> Generator[str, None, None]:
        while not core.lower_flag(item.flag):
            yield "waiting"

    return run


def _pausing_for(loop: For) -> PausingStep:
    name, body = loop.var.name, _pausing(loop.body)

    def run(core: CoreState) -> Generator[str, None, None]:
        for value in _iterations(loop, core):
            core.scalars[name] = value
            yield from body(core)

    return run


def _pausing_alloc(item: Alloc) -> PausingStep:
    body = _pausing(item.body)

    def run(core: CoreState) -> Generator[str, None, None]:
        yield from body(core)
        core.next_slot(item)

    return run


def _pausing_if(item: If) -> PausingStep:
    condition, then = evaluator(item.condition), _pausing(item.then)
    otherwise = None if item.otherwise is None else _pausing(item.otherwise)

    def run(core: CoreState) -> Generator[str, None, None]:
        if condition(core.scalars):
            now = core.recall(item) if isinstance(item, Earlier) else None
            yield from then(core)
            if now is not None:
                core.scalars.update(now)
        elif otherwise is not None:
            yield from otherwise(core)

    return run


def _pausing_all(statement: Statement) -> PausingStep:
    """Those of the children that do anything, in order."""
    parts: list[tuple[Step | None, PausingStep | None]] = []
    for child in statement.children():
        if can_pause(child):
            parts.append((None, _pausing(child)))
        elif (plain := step(child)) is not None:
            parts.append((plain, None))

    def run(core: CoreState) -> Generator[str, None, None]:
        for plain, pauses in parts:
            if plain is not None:
                plain(core)
            elif pauses is not None:
                yield from pauses(core)

    return run


_PAUSING_MAKERS: dict[type[Statement], Callable[..., PausingStep]] = {
    WaitCrossFlag: _pausing_wait,
    For: _pausing_for,
    Alloc: _pausing_alloc,
    If: _pausing_if,
    Earlier: _pausing_if,
}


@kept
def can_pause(statement: Statement) -> bool:
    """Whether a cross-core wait is inside."""
    return any(isinstance(item, WaitCrossFlag) for item in statement.walk())


@kept
def step(statement: Statement) -> Step | None:
    """What a statement that cannot pause does to a core; None: nothing."""
    if isinstance(statement, Instruction):
        return _instruction(statement)
    make = _MAKERS.get(type(statement))
    return None if make is None else make(statement)


def _instruction(item: Instruction) -> Step:
    run: Callable[[CoreState], None] = item.run
    if isinstance(item, OnArrays):
        run = _on_known_arrays(item)
    ring, known = _ring_of(item), None

    def step(core: CoreState) -> None:
        nonlocal known
        limits = known
        if limits is None or limits.architecture is not core.architecture:
            known = limits = open_limits(item, core.architecture)
        if limits.present is not None and limits.present(core.scalars) not in limits.seen:
            limits.check(core.scalars, core.value)
        if ring is not None:
            core.note_ring(ring)
        try:
            if core.check is None:
                run(core)
            else:
                core.check.run(item, core)
        except IndexError as error:
            raise OutsideError(f"{item.where}: {error}") from error

    return step


def _on_known_arrays(item: OnArrays) -> Callable[[CoreState], None]:
    """An instruction on arrays that a core has made before where its regions were in the same places: in a
    loop they are in few."""
    regions = (item.dst, *item.sources())
    extents = [extent for region in regions for extent in extents_of(region)]
    if any(True for extent in extents for _ in loads(extent)):
        return item.run  # memory decides
    names = sorted({name for extent in extents for name in extent.symbols()})
    turning = tuple(dict.fromkeys(region.buffer for region in regions if region.buffer.slots > 1))
    present: Callable[[Mapping[str, Any]], Any] = itemgetter(*names) if names else lambda scalars: ()
    slots = itemgetter(*turning) if turning else None
    apply = item.apply

    def run(core: CoreState) -> None:
        place = present(core.scalars)
        if slots is not None:
            place = (place, slots(core.slots))
        known = core.arrays[item]
        arrays = known.get(place)
        if arrays is None:
            arrays = known[place] = item.arrays(core)
        apply(core, arrays)

    return run


def _ring_of(item: Instruction) -> GlobalRegion | None:
    """Where a cube core writes to a ring of its block."""
    region = getattr(item, "dst", None)
    if item.core is not Core.AIC or not isinstance(region, GlobalRegion):
        return None
    if isinstance(item, Fixpipe) and not item.never_adds:
        return None  # all tiles of an item go to one place
    return region if region.tensor.role == "workspace" and region.tensor.shared == "block" else None


def _lets(*items: Let) -> Step:
    """Scalars that are defined one after the other."""
    define = definitions(tuple((item.symbol.name, item.value) for item in items))

    def step(core: CoreState) -> None:
        define(core.scalars)

    return step


def _for(loop: For) -> Step | None:
    name, body = loop.var.name, step(loop.body)

    def run(core: CoreState) -> None:
        scalars = core.scalars
        for value in _iterations(loop, core):
            scalars[name] = value
            if body is not None:
                body(core)

    return run


def _if(item: If) -> Step:
    condition, then = evaluator(item.condition), step(item.then)
    otherwise = None if item.otherwise is None else step(item.otherwise)

    def run(core: CoreState) -> None:
        branch = then if condition(core.scalars) else otherwise
        if branch is not None:
            branch(core)

    return run


def _earlier(item: Earlier) -> Step:
    then, condition = step(item.then), evaluator(item.condition)

    def run(core: CoreState) -> None:
        if then is not None and condition(core.scalars):
            now = core.recall(item)
            then(core)
            core.scalars.update(now)

    return run


def _keep(item: KeepScalars) -> Step:
    return lambda core: core.keep(item)


def _alloc(item: Alloc) -> Step:
    body = step(item.body)

    def run(core: CoreState) -> None:
        if body is not None:
            body(core)
        core.next_slot(item)

    return run


def _handed(item: Handed) -> Step:
    body = step(item.body)

    def run(core: CoreState) -> None:
        core.take_slot(item)
        if body is not None:
            body(core)

    return run


def _all(statement: Seq | Stage) -> Step | None:
    steps = tuple(_in_a_row(statement.children()))
    if len(steps) < 2:
        return steps[0] if steps else None

    def run(core: CoreState) -> None:
        for each in steps:
            each(core)

    return run


def _in_a_row(children: Iterable[Statement]) -> Iterator[Step]:
    """The steps of statements that follow each other; definitions in a row are one."""
    for is_let, items in groupby(children, lambda child: isinstance(child, Let)):
        if is_let:
            yield _lets(*(item for item in items if isinstance(item, Let)))
        else:
            yield from (found for item in items if (found := step(item)) is not None)


def _pick(item: PickTensor) -> Step:
    return lambda core: core.pick(item)


def _collect(item: Collect) -> Step:
    return lambda core: core.collect(item)


def _raise_flag(item: SetCrossFlag) -> Step:
    return lambda core: core.raise_flag(item)


_MAKERS: dict[type[Statement], Callable[..., Step | None]] = {
    Let: _lets,
    For: _for,
    If: _if,
    Either: _if,
    Earlier: _earlier,
    KeepScalars: _keep,
    Alloc: _alloc,
    Handed: _handed,
    Shared: _handed,
    Seq: _all,
    Stage: _all,
    PickTensor: _pick,
    Collect: _collect,
    SetCrossFlag: _raise_flag,
}


@kept
def _bounds(loop: For) -> Function:
    return integers(loop.begin, loop.end, loop.step)


@kept
def _named_inside(loop: For) -> frozenset[str]:
    """The scalars that a loop and its body define."""
    lets = (item.symbol.name for item in loop.body.walk() if isinstance(item, Let))
    return frozenset({loop.var.name, *lets})


def _iterations(loop: For, core: CoreState) -> Iterator[int]:
    """The values of a loop's variable; scalars of its body end with it, and outer ones of their names are
    again what they were."""
    scalars = core.scalars
    values = range(*_bounds(loop)(scalars))
    if not values:
        if loop.runs:
            raise InternalError(f"the loop over {loop.var} does not run at all, it declares that it does")
        return
    outer = {name: scalars[name] for name in _named_inside(loop) if name in scalars}
    if core.check is None or not loop.disjoint:
        yield from values
    else:
        core.check.begin(loop)
        for value in values:
            yield value
            core.check.end_iteration()
        core.check.end()
    scalars.update(outer)
