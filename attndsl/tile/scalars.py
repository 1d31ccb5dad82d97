"""The scalar expressions inside statements, and the scalars a piece of program takes from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attndsl.base.facts import kept
from attndsl.expr import Expr, Load, Scope, Symbol
from attndsl.target import MemorySpace
from attndsl.tile.buffers import GlobalRegion, Region
from attndsl.tile.comparison import compared_fields
from attndsl.tile.entry_size import EntrySize
from attndsl.tile.instructions import IsBeyond
from attndsl.tile.naming import global_name, list_name
from attndsl.tile.program import CORE_SCALARS, Program
from attndsl.tile.statements import (
    Collect,
    Either,
    For,
    KeepScalars,
    Let,
    PickTensor,
    Pipelined,
    Seq,
    Statement,
    Steps,
)

_BINDERS: dict[type[Statement], tuple[str, ...]] = {
    Let: ("symbol",),
    For: ("var",),
    Pipelined: ("var",),
    Collect: ("count", "index"),
    IsBeyond: ("symbol",),
}

_DEFINING = frozenset({*_BINDERS, KeepScalars, Either})

# Scalars of the functions that sum over an index range.
_FOLD_SCALARS = {"extent", "found", "value"}


def defined(statement: Statement) -> tuple[str, ...]:
    """The scalars that a statement defines for what follows it in its body."""
    if type(statement) not in _DEFINING:  # nearly all; asked very often
        return ()
    if isinstance(statement, Let | IsBeyond):
        return (statement.symbol.name,)
    if isinstance(statement, KeepScalars):
        return _counted(statement.steps)
    if isinstance(statement, Either):
        return tuple(symbol.name for symbol in statement.scalars)
    return (statement.count.name,) if isinstance(statement, Collect) else ()


def binds(statement: Statement) -> tuple[str, ...]:
    """The scalars that a statement defines, for what follows it or for what is inside."""
    if type(statement) not in _DEFINING:
        return ()
    if isinstance(statement, KeepScalars | Either):
        return defined(statement)
    bound = tuple(getattr(statement, name).name for name in _BINDERS.get(type(statement), ()))
    if isinstance(statement, Pipelined) and statement.steps is not None:
        return bound + _counted(statement.steps)
    return bound


def _counted(steps: Steps) -> tuple[str, ...]:
    return tuple(symbol.name for symbol in (steps.counter, steps.slot, steps.runs, steps.run))


@kept
def step_counters(program: Program) -> frozenset[str]:
    """The counters of the steps and runs of continuous pipelines, members of the kernel that begin with 0."""
    counted = (getattr(item, "steps", None) for item in program.statements())
    found = (each for steps in counted if steps is not None for each in (steps.counter, steps.runs))
    return frozenset(symbol.name for symbol in found)


@kept
def own_names(program: Program) -> frozenset[str]:
    """The names that a program has a use of its own for, so that no tiling field can have them: scalars that
    its statements define, and what its kernel holds."""
    found = {symbol.name for symbol in CORE_SCALARS} | _FOLD_SCALARS
    for space in MemorySpace:
        found |= {space.value.lower(), f"{space.value.lower()}Storage"}
    for buffer in program.buffers():
        found |= {buffer.name, f"{buffer.name}Slot"}
    for tensor in (*program.parameters, *program.workspace):
        found |= {global_name(tensor.name), list_name(tensor.name)}
    for item in program.statements():
        if type(item) in _DEFINING:  # few
            found.update(binds(item))
            if isinstance(item, Collect):
                found.add(item.array.name)
    return frozenset(found)


@kept
def expressions(statement: Statement) -> tuple[Expr, ...]:
    """Every expression that the statement itself (not its children) uses."""
    found: list[Expr] = []
    defines = _BINDERS.get(type(statement), ())
    for name in compared_fields(type(statement)):
        value = getattr(statement, name)
        if isinstance(value, Expr) and name not in defines:
            found.append(value)
        elif isinstance(value, Region | GlobalRegion):
            found += extents_of(value)
    if isinstance(statement, KeepScalars):
        found += (symbol for symbol in statement.scalars if symbol.name not in defined(statement))
    if isinstance(statement, Pipelined):
        found += (condition for condition in statement.when if condition is not None)
    return tuple(found)


def extents_of(region: Region | GlobalRegion) -> tuple[Expr, Expr, Expr, Expr]:
    """Where a region is: offset, rows, cols and pitch."""
    return region.offset, region.rows, region.cols, region.pitch


def loads(expr: Expr) -> Iterator[Load]:
    """The reads of tensors and scalar arrays inside an expression."""
    return (node for node in expr.nodes() if isinstance(node, Load))


@kept
def loads_of(statement: Statement) -> tuple[Load, ...]:
    """The reads of tensors and scalar arrays that the statement itself makes."""
    return tuple(node for expr in expressions(statement) for node in loads(expr))


def still_known(known: Iterable[Let], after: Statement) -> list[Let]:
    """The definitions whose expressions still have the value that they had before ``after``: a
    :class:`Collect` fills an array and counts anew, which an :class:`Either` may do, from a
    :class:`PickTensor` on other elements are read."""
    if not isinstance(after, Collect | PickTensor | Either):
        return list(known)
    names = set(defined(after))
    return [
        let for let in known if names.isdisjoint(let.value.symbols()) and next(loads(let.value), None) is None
    ]


@kept
def names_of(statement: Statement) -> frozenset[str]:
    """Names of the scalars, tensors and arrays that the statement's own expressions read."""
    read = {node.source for node in loads_of(statement)}
    return frozenset(read.union(*(expr.symbols() for expr in expressions(statement))))


@kept
def tensors_used(program: Program) -> frozenset[str]:
    """Names of the global tensors that the statements of a program read or write, or whose sizes they ask."""
    return tensors_in(program.statements())


def tensors_in(statements: Iterable[Statement]) -> frozenset[str]:
    """As :func:`tensors_used`, of statements themselves, without those inside them."""
    found: set[str] = set()
    for item in statements:
        if isinstance(item, PickTensor):
            found.add(item.tensor.name)
        for name in compared_fields(type(item)):
            value = getattr(item, name)
            if isinstance(value, GlobalRegion):
                found.add(value.tensor.name)
        for load in loads_of(item):
            if isinstance(load, EntrySize):
                found.add(load.tensor)
            elif load.scope is Scope.GLOBAL:
                found.add(load.source)
    return frozenset(found)


def used(statement: Statement) -> set[str]:
    """Names of all scalars used anywhere inside."""
    return {name for inner in statement.walk() for expr in expressions(inner) for name in expr.symbols()}


@kept
def free(statement: Statement) -> Mapping[str, Symbol]:
    """The scalars that the statement uses but does not define itself, in order of first use."""
    found: dict[str, Symbol] = {}
    inside = set(binds(statement)) if isinstance(statement, Pipelined) else set[str]()
    for expr in expressions(statement):
        own = statement.index.name if isinstance(statement, Collect) and expr is statement.condition else None
        for node in expr.nodes():
            if isinstance(node, Symbol) and node.name != own and node.name not in inside:
                found.setdefault(node.name, node)
    bound = set(binds(statement)) if isinstance(statement, For | Pipelined) else set[str]()
    for child in statement.children():
        for name, symbol in free(child).items():
            if name not in bound:
                found.setdefault(name, symbol)
        if isinstance(statement, Seq):
            bound.update(defined(child))
    return found
