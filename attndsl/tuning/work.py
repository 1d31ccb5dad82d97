"""The work of a joint tile program, counted: what each pipe of a core and each tensor has to do in a launch.

Nothing is executed. Trip counts, conditions and sizes are evaluated with the call's own scalars and lengths;
parts of the program that depend on the same numbers are counted once, so that a launch of thousands of tiles
takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.expr import Expr, ExprLike, Load
from attndsl.expr.compiled_evaluation import evaluator, integers
from attndsl.expr.conditions import conjuncts
from attndsl.expr.nodes import global_key
from attndsl.target import Core, Device, Pipe
from attndsl.target.costs import Cost
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Instruction, IsBeyond
from attndsl.tile.instructions.base import Place
from attndsl.tile.program import BLOCK_INDEX, SUB_BLOCK, Program
from attndsl.tile.scalars import step_counters
from attndsl.tile.statements import Collect, Either, For, If, Let, PickTensor, Pipelined, Seq, Statement

Counts = npt.NDArray[np.float64]
Scalars = dict[str, Any]
_Act = Callable[[Scalars, Counts], None]

_MOST_KNOWN = 1 << 17
"""Parts whose counts are kept, a kilobyte each: where queries have lists of their own, hardly any recurs."""
_APART, _SAMPLES = (4, 6), 3
"""Steps at both ends of a long loop that are counted each, and steps of each half between them."""
COUNTED = tuple((core, pipe) for core in Core for pipe in core.pipes)
"""The pipes whose cycles are counted."""


@dataclass(frozen=True)
class Work:
    """The work of one core.

    Attributes:
        cycles: of each of :data:`COUNTED`, all bytes found in L2.
        read, written: bytes by tensor of global memory.
        cold: cycles that MTE2 would take longer if no byte of a tensor were in L2.
    """

    cycles: Mapping[tuple[Core, Pipe], float]
    read: Mapping[GlobalTensor, float]
    written: Mapping[GlobalTensor, float]
    cold: Mapping[GlobalTensor, float]


class Counter:
    """Counts the work of one kind of core in a program.

    Args:
        scalars: tiling fields, and tensors under their names and :func:`~attndsl.expr.nodes.global_key`.
        samples: of long loops count some steps, and take those between them for alike where these are.
    """

    def __init__(
        self, program: Program, core: Core, scalars: Mapping[str, Any], *, samples: bool = False
    ) -> None:
        self.core, self.program, self._given, self._samples = core, program, scalars, samples
        self._costs = _CostTable(program.device)
        moved = (
            tensor
            for item in program.instructions()
            if item.core is core
            for tensor in (*item.gm_reads(), *item.gm_writes())
        )
        self._tensors = list(dict.fromkeys(moved))
        self._size = len(COUNTED) + 3 * len(self._tensors)
        collected = (item.array.name for item in program.body.walk() if isinstance(item, Collect))
        self._told_by = {name: _digest_key(name) for name in collected}
        """By array the scalar that tells it apart: arrays of thousands of elements would be kept for each
        part of the program that was counted."""
        self._defined = frozenset((BLOCK_INDEX.name, SUB_BLOCK.name)) | _defined(program.body)
        self._plans: dict[int, _Plan] = {}
        self._known: dict[tuple[Any, ...], Counts] = {}
        self._nothing = np.zeros(self._size)
        self.counted = 0
        """Parts of the program that were counted, each under one set of numbers that it depends on."""

    def work(self, block: int, blocks: int, sub: int = 0) -> Work:
        """The work of the core ``sub`` of a block."""
        counts = self._count(self.program.body, self._of_core(block, blocks, sub))
        first, tensors = len(COUNTED), len(self._tensors)
        read, written, cold = (
            dict(zip(self._tensors, counts[first + part * tensors :].tolist(), strict=False))
            for part in range(3)
        )
        return Work(dict(zip(COUNTED, counts[:first].tolist(), strict=True)), read, written, cold)

    def cycles_of_items(self, pipe: Pipe, block: int, blocks: int, sub: int = 0) -> list[float]:
        """The cycles of a pipe of the core ``sub`` of a block for each of its items, in turn."""
        place, scalars = COUNTED.index((self.core, pipe)), self._of_core(block, blocks, sub)
        return [float(counts[place]) for counts in self._items(self.program.body, scalars)]

    def _of_core(self, block: int, blocks: int, sub: int) -> Scalars:
        """What a core knows before its first statement."""
        counters = dict.fromkeys(step_counters(self.program), 0)  # no work depends on them
        return {**self._given, **counters, "blockIndex": block, "blockCount": blocks, "subBlock": sub}

    def _items(self, statement: Statement, scalars: Scalars) -> Iterator[Counts]:
        """The counts of each item; ``scalars`` receive what is defined before the loop over them."""
        if isinstance(statement, For) and statement.over_items:
            for value in range(*integers(statement.begin, statement.end, statement.step)(scalars)):
                yield self._count(statement.body, {**scalars, statement.var.name: value})
            return
        for child in statement.children():
            if _defines(child):
                _definition(child)(scalars, self._nothing)
            elif any(isinstance(each, For) and each.over_items for each in child.walk()):
                yield from self._items(child, scalars)

    # Statements -----------------------------------------------------------------------------------------

    def _count(self, statement: Statement, scalars: Scalars) -> Counts:
        plan = self._plan(statement)
        if plan.make is None:
            return self._nothing
        key = (id(statement), *[scalars.get(self._told_by.get(name, name)) for name in plan.names])
        if plan.guards:
            key += tuple([guard.value(scalars) for guard in plan.guards])
        known = self._known.get(key)
        if known is None:
            self.counted += 1
            known = plan.make(scalars)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = known
        return known

    def _plan(self, statement: Statement) -> _Plan:
        found = self._plans.get(id(statement))
        if found is None:
            found = self._plans[id(statement)] = self._planned(statement)
        return found

    def _planned(self, statement: Statement) -> _Plan:
        """How a statement is counted, and the scalars that its work depends on."""
        if isinstance(statement, Instruction):
            return self._instruction(statement)
        if isinstance(statement, Seq):
            return self._seq(statement)
        if isinstance(statement, For):
            return self._for(statement)
        if isinstance(statement, If):
            return self._if(statement)
        if isinstance(statement, Pipelined):
            return self._pipelined(statement)
        inside = [(child, self._plan(child)) for child in statement.children()]
        working = [child for child, plan in inside if plan.make is not None]
        if not working:
            return _Plan()
        needs = _Needs().union(*(plan.needs for _, plan in inside))
        if len(working) == 1:
            return _Plan(needs, self._plan(working[0]).make)
        return _Plan(needs, lambda scalars: np.add.reduce([self._count(each, scalars) for each in working]))

    def _seq(self, statement: Seq) -> _Plan:
        """Its parts in turn; of scalars those that a later part depends on."""
        needs, steps = _Needs(), list[tuple[Statement, bool]]()
        for child in reversed(statement.body):
            defined = _defines(child)
            if defined:
                if needs.all_names.isdisjoint(defined):
                    continue
                needs = needs.without(defined).union(
                    _Needs(self._names(*_exprs(child)) - _bound(child), frozenset())
                )
                steps.append((child, True))
                continue
            plan = self._plan(child)
            if plan.make is not None:
                needs = needs.union(plan.needs)
                steps.append((child, False))
        steps.reverse()
        if not any(not defines for _, defines in steps):
            return _Plan()
        acts = [_definition(child) if defines else self._addition(child) for child, defines in steps]

        def make(scalars: Scalars) -> Counts:
            inner, total = dict(scalars), np.zeros(self._size)
            for act in acts:
                act(inner, total)
            return total

        return _Plan(needs, make)

    def _addition(self, statement: Statement) -> _Act:
        def add(scalars: Scalars, total: Counts) -> None:
            total += self._count(statement, scalars)

        return add

    def _for(self, statement: For) -> _Plan:
        body, name = self._plan(statement.body), statement.var.name
        if body.make is None:
            return _Plan()
        bounds = integers(statement.begin, statement.end, statement.step)
        alike = name not in body.needs.all_names

        def make(scalars: Scalars) -> Counts:
            values = range(*bounds(scalars))
            if alike:
                return len(values) * self._count(statement.body, scalars) if values else self._nothing
            return self._over(values, name, (statement.body,), (), scalars)

        bounded = _Needs(self._names(statement.begin, statement.end, statement.step))
        return _Plan(bounded.union(body.needs.without(frozenset((name,)))), make)

    def _pipelined(self, statement: Pipelined) -> _Plan:
        """Each stage over all iterations, however far apart in time."""
        when = statement.when or (None,) * len(statement.stages)
        pairs = [
            (stage, condition)
            for stage, condition in zip(statement.stages, when, strict=True)
            if self._plan(stage).make is not None
        ]
        if not pairs:
            return _Plan()
        name, extent = statement.var.name, integers(statement.extent)
        stages = tuple(stage for stage, _ in pairs)
        conditions = tuple(None if each is None else evaluator(each) for _, each in pairs)
        parts = [part for _, each in pairs for part in conjuncts(each)]
        needs = _Needs().union(
            *(self._plan(stage).needs for stage in stages), *(self._guard(part) for part in parts)
        )

        def make(scalars: Scalars) -> Counts:
            return self._over(range(*extent(scalars)), name, stages, conditions, scalars)

        extents = _Needs(self._names(statement.extent))
        return _Plan(extents.union(needs.without(frozenset((name,)))), make)

    def _over(
        self,
        values: range,
        name: str,
        parts: tuple[Statement, ...],
        conditions: tuple[Callable[[Scalars], Any] | None, ...],
        scalars: Scalars,
    ) -> Counts:
        inner = dict(scalars)

        def sum_over(some: Iterable[int]) -> Counts:
            total = np.zeros(self._size)
            for value in some:
                inner[name] = value
                for number, part in enumerate(parts):
                    condition = conditions[number] if conditions else None
                    if condition is None or condition(inner):
                        total += self._count(part, inner)
            return total

        if not self._samples:
            return sum_over(values)
        total = np.zeros(self._size)
        for each, times in self._told_apart(values, lambda value: sum_over((value,))):
            total += times * sum_over((each,))
        return total

    def _told_apart(self, values: range, of: Callable[[int], Counts]) -> Iterator[tuple[int, int]]:
        """The values of a loop to count, and how many each of them stands for.

        In the middle of a long loop, if some are alike, one stands for all of its half of a task: halves have
        steps in turn. Some follow each other, so that what comes again every few steps is seen, others lie
        apart. A single step that is none of these is not seen: items have none in their middle.
        """
        first, last = _APART[0], len(values) - _APART[1]
        if last - first <= 2 * _SAMPLES:
            yield from ((value, 1) for value in values)
            return
        yield from ((value, 1) for value in (*values[:first], *values[last:]))
        for half in range(2):
            middle = values[first + half : last : 2]
            apart = middle[:: max(len(middle) // _SAMPLES, 1)]
            some = [of(value) for value in (*apart, *middle[1 : _SAMPLES + 1])]
            alike = all(np.array_equal(each, some[0]) for each in some)
            yield from ((middle[0], len(middle)),) if alike else ((value, 1) for value in middle)

    def _if(self, statement: If) -> _Plan:
        branches = (statement.then, statement.otherwise)
        plans = [_Plan() if each is None else self._plan(each) for each in branches]
        if all(plan.make is None for plan in plans):
            return _Plan()
        condition = evaluator(statement.condition)

        def make(scalars: Scalars) -> Counts:
            branch = statement.then if condition(scalars) else statement.otherwise
            return self._nothing if branch is None else self._count(branch, scalars)

        return _Plan(self._guard(statement.condition).union(*(plan.needs for plan in plans)), make)

    def _guard(self, condition: Expr) -> _Needs:
        """Of a condition only its value counts."""
        names = self._names(condition)
        if not names:
            return _Needs()
        return _Needs(guards=frozenset((_Guard(condition.structure(), names, evaluator(condition)),)))

    def _names(self, *exprs: Expr) -> frozenset[str]:
        """The scalars of expressions that the program defines."""
        return _read(*exprs) & self._defined

    # Instructions ---------------------------------------------------------------------------------------

    def _instruction(self, item: Instruction) -> _Plan:
        if item.core is not self.core or (item.core, item.pipe) not in COUNTED:
            return _Plan()
        asked = _Asked()
        for amount in (item.units, item.matrix_rows, item.accumulates):
            amount(asked)
        pipe, issue = COUNTED.index((item.core, item.pipe)), COUNTED.index((item.core, Pipe.S))
        reads, writes = (
            [self._tensors.index(each) for each in tensors] for tensors in (item.gm_reads(), item.gm_writes())
        )
        first, tensors = len(COUNTED), len(self._tensors)

        def make(scalars: Scalars) -> Counts:
            machine, counts = _Present(scalars), np.zeros(self._size)
            units = item.units(machine)
            if units <= 0:
                return counts
            cycles = self._costs.cycles(item, units, machine)
            counts[pipe] += cycles
            counts[issue] += self._costs.issue
            for tensor in reads:
                counts[first + tensor] += units
                longer = max(cycles, units / self._costs.miss) - cycles
                counts[first + 2 * tensors + tensor] += longer
            for tensor in writes:
                counts[first + tensors + tensor] += units
            return counts

        return _Plan(_Needs(self._names(*asked.exprs)), make)


@dataclass(frozen=True)
class _Guard:
    """A condition; ``names``: of the scalars that it asks for."""

    structure: tuple[Any, ...]
    names: frozenset[str] = field(compare=False)
    value: Callable[[Scalars], Any] = field(compare=False)


@dataclass(frozen=True)
class _Needs:
    """What work depends on: the values of scalars, and of conditions as long as their scalars are known."""

    names: frozenset[str] = frozenset()
    guards: frozenset[_Guard] = frozenset()

    @property
    def all_names(self) -> frozenset[str]:
        """The scalars, those of conditions too."""
        return self.names.union(*(guard.names for guard in self.guards))

    def union(self, *others: _Needs) -> _Needs:
        """What all of these depend on."""
        return _Needs(
            self.names.union(*(each.names for each in others)),
            self.guards.union(*(each.guards for each in others)),
        )

    def without(self, defined: frozenset[str]) -> _Needs:
        """The same outside of the statement that defines these scalars. Conditions on them are unknown there;
        what they ask for besides is needed itself."""
        kept = frozenset(guard for guard in self.guards if guard.names.isdisjoint(defined))
        lost = (guard.names for guard in self.guards - kept)
        return _Needs(self.names.union(*lost) - defined, kept)


class _Plan:
    """How a statement is counted, and what its work depends on. ``make`` None: nothing to count."""

    def __init__(self, needs: _Needs | None = None, make: Callable[[Scalars], Counts] | None = None) -> None:
        self.needs, self.make = needs or _Needs(), make
        self.names, self.guards = tuple(sorted(self.needs.names)), tuple(self.needs.guards)


class _CostTable:
    """Cycles of instructions on a device that finds all bytes in L2."""

    def __init__(self, device: Device) -> None:
        self._costs, rates = device.costs, device.rates
        self.miss, self._accumulate = rates["miss"].value, rates["accumulate"].value
        self.issue = self._costs["Issue"].head

    def cycles(self, item: Instruction, units: float, machine: _Present) -> float:
        """Cycles that an instruction takes its pipe."""
        cost = self._costs[item.cost_key]
        head, per_unit, least = _of_type(cost, item)
        cycles = max(least, head + per_unit * units)
        if rows := item.matrix_rows(machine):
            cycles = max(cycles, cost.per_row * rows, cost.per_piece * rows * _pieces(int(units // rows)))
        if item.accumulates(machine):
            cycles += self._accumulate
        return cycles


def _of_type(cost: Cost, item: Instruction) -> tuple[float, float, float]:
    """Head, cycles a unit and least cycles for the type of what an instruction writes, or else reads."""
    buffers: tuple[Buffer, ...] = item.writes() or item.reads()
    return cost.of_type.get(buffers[0].dtype, (cost.head, cost.per_unit, cost.least))


def _pieces(row: int) -> int:
    """Pieces of 512, 256 and 128 bytes that a row of a matrix is read in, the last one whole."""
    return row // 512 + (row >> 8 & 1) + (row >> 7 & 1) + (1 if row % 128 else 0)


class _Present:
    """The machine that an instruction's amount of work asks: scalars alone."""

    def __init__(self, scalars: Mapping[str, Any]) -> None:
        self.scalars = scalars

    def value(self, expr: ExprLike) -> Any:
        """The present value of a scalar."""
        return evaluator(expr)(self.scalars) if isinstance(expr, Expr) else expr

    def slot(self, buffer: Buffer) -> Any:
        """Amounts of work do not depend on what memories hold."""
        raise NotImplementedError(buffer.name)

    def rows(self, buffer: Buffer, place: Place) -> Any:
        """As :meth:`slot`."""
        raise NotImplementedError(buffer.name)

    def tensor(self, tensor: GlobalTensor) -> Any:
        """As :meth:`slot`."""
        raise NotImplementedError(tensor.name)

    def define(self, name: str, value: bool) -> None:
        """As :meth:`slot`."""
        raise NotImplementedError(name)


class _Asked(_Present):
    """Notes what an instruction's amount of work depends on."""

    def __init__(self) -> None:
        super().__init__({})
        self.exprs: list[Expr] = []

    def value(self, expr: ExprLike) -> Any:
        if isinstance(expr, Expr):
            self.exprs.append(expr)
        return 1


# Scalars ------------------------------------------------------------------------------------------------


def _read(*exprs: Expr) -> frozenset[str]:
    """Names of the scalars, arrays and tensors that expressions read."""
    found: set[str] = set()
    for expr in exprs:
        found |= expr.symbols()
        found |= {node.source for node in expr.walk() if isinstance(node, Load)}
    return frozenset(found)


def _exprs(statement: Statement) -> tuple[Expr, ...]:
    """What the scalars that a statement defines depend on."""
    if isinstance(statement, Let):
        return (statement.value,)
    if isinstance(statement, IsBeyond):
        return ()
    if isinstance(statement, Collect):
        return (statement.extent, statement.condition, statement.begin, statement.skip, statement.place)
    if isinstance(statement, Either):
        inside = (expr for side in statement.sides for each in side.body for expr in _exprs(each))
        return (statement.condition, *inside)
    assert isinstance(statement, PickTensor)
    return (statement.index,)


def _bound(statement: Statement) -> frozenset[str]:
    if isinstance(statement, Either):
        inside = [each for side in statement.sides for each in side.body]
        return frozenset().union(*(_defines(each) | _bound(each) for each in inside))
    return frozenset((statement.index.name,)) if isinstance(statement, Collect) else frozenset()


def _defines(statement: Statement) -> frozenset[str]:
    """Names that a statement gives a value for those after it."""
    if isinstance(statement, Let | IsBeyond):
        return frozenset((statement.symbol.name,))
    if isinstance(statement, Collect):
        return frozenset((statement.array.name, statement.count.name))
    if isinstance(statement, PickTensor):
        return frozenset((statement.tensor.name,))
    if isinstance(statement, Either):
        return _bound(statement)
    return frozenset()


def _defined(tree: Statement) -> frozenset[str]:
    """All names that a tree gives values."""
    found: set[str] = set()
    for item in tree.walk():
        found |= _defines(item)
        if isinstance(item, For | Pipelined):
            found.add(item.var.name)
    return frozenset(found)


def _definition(statement: Statement) -> _Act:
    """Gives the names that a statement defines their values."""
    if isinstance(statement, Let):
        name, value = statement.symbol.name, evaluator(statement.value)

        def let(scalars: Scalars, _: Counts) -> None:
            scalars[name] = value(scalars)

        return let
    if isinstance(statement, IsBeyond):
        # what memories hold is not known: what is done for rare numbers is not counted
        told = statement.symbol.name

        def no(scalars: Scalars, _: Counts) -> None:
            scalars[told] = False

        return no
    if isinstance(statement, Collect):
        array, count, place = statement.array.name, statement.count.name, evaluator(statement.place)

        def collect(scalars: Scalars, _: Counts) -> None:
            found, begin = list(_collected(statement, scalars)), place(scalars)
            held = np.zeros(begin + len(found), np.int64)
            held[begin:] = found
            scalars[array], scalars[count] = held, len(found)
            scalars[_digest_key(array)] = blake2b(held.tobytes(), digest_size=16).digest()

        return collect
    if isinstance(statement, Either):
        condition = evaluator(statement.condition)
        then, otherwise = ([_definition(each) for each in side.body] for side in statement.sides)

        def either(scalars: Scalars, total: Counts) -> None:
            for define in then if condition(scalars) else otherwise:
                define(scalars, total)

        return either
    assert isinstance(statement, PickTensor)
    tensor, index = statement.tensor.name, evaluator(statement.index)

    def pick(scalars: Scalars, _: Counts) -> None:
        entries = scalars[tensor]
        scalars[global_key(tensor)] = entries[min(max(index(scalars), 0), len(entries) - 1)]

    return pick


def _collected(statement: Collect, scalars: Scalars) -> Iterator[int]:
    holds, inner, found = evaluator(statement.condition), dict(scalars), 0
    begin, extent, skip = integers(statement.begin, statement.extent, statement.skip)(scalars)
    for value in range(begin, extent):
        inner[statement.index.name] = value
        if found < statement.array.capacity and holds(inner):
            if skip <= 0:
                found += 1
                yield value
            skip -= 1


def _digest_key(array: str) -> str:
    """Where the scalars hold the digest of an array that was collected; no scalar can be named so."""
    return f"digest({array})"
