"""Pass: one tree per core kind. Skewed loops become plain loops over steps with guards."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from attndsl.expr import Scope, Symbol
from attndsl.target import Architecture, Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.pipeline_skew import guard, named_lag
from attndsl.tile.program import Program
from attndsl.tile.scalars import defined, free, loads_of
from attndsl.tile.statements import (
    Alloc,
    Collect,
    Earlier,
    Either,
    EitherStage,
    For,
    If,
    KeepScalars,
    Let,
    Note,
    PickTensor,
    Pipelined,
    Seq,
    Stage,
    Statement,
    as_seq,
    rewrite,
    seq,
)


def split_cores(program: Program) -> Program:
    """The program with one tree for the AIC and one for its AIVs."""
    architecture, body = program.device.architecture, _settled(program.body)
    cores = {core: _drop_unused(_restrict(body, core, architecture)) for core in Core}
    return program.with_(cores=cores)


def _owner(buffers: tuple[Buffer, ...], architecture: Architecture) -> Core:
    """The core kind that owns the memories of buffers."""
    owners = {architecture.memory(buffer.space).core for buffer in buffers}
    assert len(owners) == 1, "buffers of one lifetime belong to one core kind"
    return owners.pop()


def _restrict(body: Seq, core: Core, architecture: Architecture) -> Seq:
    read = _tensors_of(body, core)

    def change(statement: Statement) -> Statement | None:
        if isinstance(statement, EitherStage):
            return statement.branch if statement.core is core else None
        if isinstance(statement, Stage):
            return statement if statement.core is core else None
        if isinstance(statement, PickTensor) and statement.tensor.name not in read:
            return None
        if isinstance(statement, Alloc) and _owner(statement.buffers, architecture) is not core:
            return statement.body
        if isinstance(statement, Either):
            return statement
        if isinstance(statement, For | If) and not _does_something(statement):
            return None
        return statement

    return as_seq(rewrite(_unskew(body, core), change) or Seq(body=()))


def _tensors_of(body: Seq, core: Core) -> set[str]:
    """Names of the global tensors that a core kind's instructions, or any scalars, access."""
    found = set()
    for item in body.walk():
        if isinstance(item, Instruction) and item.core is core:
            found |= {tensor.name for tensor in (*item.gm_reads(), *item.gm_writes())}
        found |= {node.source for node in loads_of(item)}
    return found


def _does_something(statement: Statement) -> bool:
    idle = Let | Collect | Note | Seq | For | If | Alloc
    return any(not isinstance(inner, idle) for inner in statement.walk())


def _unskew(body: Seq, core: Core) -> Seq:
    def change(statement: Statement) -> Statement | None:
        return _loop_over_steps(statement, core) if isinstance(statement, Pipelined) else statement

    return as_seq(rewrite(body, change) or Seq(body=()))


def _loop_over_steps(loop: Pipelined, core: Core) -> Statement:
    """``for step in 0..extent + deepest lag``: each stage of this core guarded to its own iterations."""
    if loop.continuous:
        return _continuous_loop(loop, core)
    mine = [(s, lag) for s, lag in zip(loop.stages, loop.lags, strict=True) if s.core is core]
    deepest = max((lag for _, lag in mine), default=0)
    step = Symbol("step")
    body: list[Statement] = []
    for stage, lag in mine:
        named = named_lag(loop, lag)
        inside = seq(Let(symbol=loop.var, value=step - named), stage)
        condition = guard(step, lag, deepest, loop.extent, named)
        body.append(inside if condition is None else If(condition=condition, then=inside, where=stage.where))
    end = loop.extent + named_lag(loop, deepest)
    return For(var=step, end=end, body=seq(*body), where=loop.where)


def _continuous_loop(loop: Pipelined, core: Core) -> Statement:
    """``for var in 0..extent``: stages with a lag work with the scalars of an earlier step of any run."""
    steps = loop.steps
    assert steps is not None
    mine = [
        (stage if when is None else If(condition=when, then=seq(stage), where=stage.where), lag)
        for stage, lag, when in zip(loop.stages, loop.lags, loop.when, strict=True)
        if stage.core is core
    ]
    lagging = [item for item, lag in mine if lag]
    held = {
        name: symbol for item in lagging for name, symbol in free(item).items() if symbol.scope is Scope.LOCAL
    }
    keep = KeepScalars(
        core=core,
        attention_name=loop.stages[0].attention_name,
        steps=steps,
        begins=loop.var == 0,
        scalars=tuple(held.values()),
        where=loop.where,
    )
    body: list[Statement] = [keep]
    for lag, together in groupby(mine, key=itemgetter(1)):
        inside = seq(*(item for item, _ in together))
        if lag:
            inside = seq(
                Earlier(
                    condition=steps.counter > named_lag(loop, lag),
                    then=inside,
                    keep=keep,
                    back=lag,
                    distance=named_lag(loop, lag),
                    where=loop.where,
                )
            )
        body.append(inside)
    return For(var=loop.var, end=loop.extent, body=seq(*body), where=loop.where)


def _settled(body: Seq) -> Seq:
    """Choices between definitions without those that no core reads: cores share what is left, whole."""
    read = _elements_read(body)

    def change(statement: Statement) -> Statement | None:
        if not isinstance(statement, Seq) or not any(isinstance(item, Either) for item in statement.body):
            return statement
        found: list[Statement] = []
        after = set[str]()
        for item in reversed(statement.body):
            now = _with_read_scalars(item, after, read) if isinstance(item, Either) else item
            found.append(now)
            after = after.difference(defined(now)).union(free(now))
        return Seq(body=tuple(reversed(found)))

    return as_seq(rewrite(body, change) or Seq(body=()))


def _with_read_scalars(item: Either, after: set[str], read: set[str]) -> Either:
    scalars = tuple(symbol for symbol in item.scalars if symbol.name in after)
    names = {symbol.name for symbol in scalars}
    then, otherwise = (Seq(body=_read_later(side.body, names, read)) for side in item.sides)
    return replace(item, then=then, otherwise=otherwise, scalars=scalars)


def _drop_unused(body: Seq) -> Seq:
    """Without the scalars that no later statement of their own body reads; choices between definitions, which
    cores share, stay as they are."""
    read = _elements_read(body)

    def without(statement: Statement) -> Statement:
        if isinstance(statement, Either):
            return statement
        before = statement.children()
        after = tuple(map(without, before))
        if any(new is not old for new, old in zip(after, before, strict=True)):
            statement = statement.with_children(after)
        if not isinstance(statement, Seq):
            return statement
        kept = _read_later(statement.body, set(), read)
        return statement if len(kept) == len(statement.body) else Seq(body=kept)

    return as_seq(without(body))


def _elements_read(body: Seq) -> set[str]:
    return {node.source for item in body.walk() for node in loads_of(item)}


def _read_later(body: tuple[Statement, ...], after: set[str], read: set[str]) -> tuple[Statement, ...]:
    """The statements without definitions that none behind them reads. ``after``: scalars that are read behind
    all. ``read``: arrays of which elements are read anywhere."""
    kept: list[Statement] = []
    for item in reversed(body):
        filled = isinstance(item, Collect) and item.array.name in read
        if not defined(item) or filled or not after.isdisjoint(defined(item)):
            kept.append(item)
            after = after.difference(defined(item)).union(free(item))
    return tuple(reversed(kept))
