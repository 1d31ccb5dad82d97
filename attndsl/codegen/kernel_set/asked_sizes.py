"""Head sizes of the kernels that a request names, by axis letter or by the author's own names; where it
names none, the size nearest to 128 that a legal call can have.

A kernel serves all sizes that pad to the same whole fractals. It is made only where the contract allows one
of these: a kernel that no legal call reaches is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from attndsl.base.errors import UserError
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.expr import Compare, Const, Expr, Symbol, compare
from attndsl.expr.argument_facts import given
from attndsl.lowering.preconditions import largest_head
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.contract import Contract
from attndsl.spec.operator.covering import Choice, choosable

USUAL_HEAD_SIZE = 128
"""Channels of a head in most models; others are asked for with ``--set D=...``."""


class IllegalHeadSize(UserError, ValueError):
    """A head size outside what kernels are made for, or that no legal call has."""


@dataclass(frozen=True, slots=True)
class HeadSizes:
    """Channels of a query or key head, and of a value head."""

    key: int
    value: int

    def padded(self, operator: Contract) -> tuple[int, int]:
        """Both in whole fractals, as kernels are made for."""
        whole = operator.device.architecture.whole_fractals
        return whole(self.key), whole(self.value)


def with_sizes(operator: Contract, request: KernelRequest) -> KernelRequest:
    """The request with each head size in its place, whichever name it was given by.

    A size that is a parameter of the contract stays among the settings too: conditions may ask for it.

    Raises:
        IllegalHeadSize: a size is no whole number, or two names of one size contradict each other.
    """
    for axis in ("D", "E"):
        request = _with_size(operator, request, axis)
    if _one_size(operator) and request.value_sizes:
        if request.head_sizes and request.head_sizes != request.value_sizes:
            raise _contradiction(operator, "D", request.head_sizes, "E", request.value_sizes)
        request = replace(request, head_sizes=request.value_sizes, value_sizes=())
    return request


def _with_size(operator: Contract, request: KernelRequest, axis: str) -> KernelRequest:
    told, sizes = dict(request.settings), _sizes(request, axis)
    for name in _own_names(operator, axis):
        if name not in told:
            continue
        text, param = told[name], operator.find_param(name)
        if not (text.isascii() and text.isdigit()):
            raise IllegalHeadSize(f"--set {name}={text}: a head size is a whole number, in digits 0 to 9")
        if sizes and sizes != (int(text),):
            raise _contradiction(operator, axis, sizes, name, (int(text),))
        sizes = (int(text),)
        if param is None or name not in choosable(operator):
            del told[name]
    settings = tuple(told.items())
    if axis == "D":
        return replace(request, head_sizes=sizes, settings=settings)
    return replace(request, value_sizes=sizes, settings=settings)


def _sizes(request: KernelRequest, axis: str) -> tuple[int, ...]:
    return request.head_sizes if axis == "D" else request.value_sizes


def _own_names(operator: Contract, axis: str) -> tuple[str, ...]:
    """The names of a size: that of the axis' extent, and those that define it by nothing but a name."""
    names, extent = list[str](), operator.axis_extents[axis]
    while isinstance(extent, Symbol):
        names.append(extent.name)
        dim = operator.dims_by_name.get(extent.name)
        if dim is None or dim.definition is None:
            break
        extent = dim.definition
    return tuple(names)


def _defined(operator: Contract, axis: str) -> Expr:
    """The extent of an axis, with the definitions of sizes in their places."""
    extent = operator.axis_extents[axis]
    while True:
        dims = (operator.dims_by_name.get(name) for name in extent.symbols())
        values = {dim.name: dim.definition for dim in dims if dim is not None and dim.definition is not None}
        if not values:
            return extent
        extent = extent.substitute(values)


def _contradiction(
    operator: Contract, axis: str, sizes: tuple[int, ...], other: str, others: tuple[int, ...]
) -> IllegalHeadSize:
    told, beside = (",".join(map(str, each)) for each in (sizes, others))
    return IllegalHeadSize(
        f"--set {axis}={told} and --set {other}={beside} contradict each other: both are the size of "
        f"{'a head' if axis == 'D' else 'a value head'} of {operator.name}; leave one of them out"
    )


def check_sizes(operator: Contract, request: KernelRequest) -> None:
    """Whether kernels can have the sizes that a request names, whatever the contract says of them together.

    Raises:
        IllegalHeadSize: naming the nearest size.
    """
    for axis in ("D", "E"):
        largest = _largest(operator, axis)
        for size in _sizes(request, axis):
            if not 1 <= size <= largest:
                nearest = min(max(size, 1), largest)
                raise IllegalHeadSize(
                    f"{axis}={size}: {'head' if axis == 'D' else 'value head'} sizes of {operator.name} "
                    f"are 1 to {largest}; the nearest is {nearest}"
                )


@cache
def _largest(operator: Contract, axis: str) -> int:
    """What the contract allows in all calls, as far as kernels can be made for it."""
    always = (rule.condition for rule in operator.constraints if rule.when is None)
    bounds = (rule for rule in always if isinstance(rule, Compare) and rule.op == "<=")
    own = (rule.right for rule in bounds if rule.left.same(operator.axis_extents[axis]))
    limits = [int(limit.value) for limit in own if isinstance(limit, Const)]
    return min([largest_head(operator.device.architecture), *limits])


def legal_sizes(operator: Contract, request: KernelRequest, choice: Choice) -> tuple[HeadSizes, ...]:
    """The sizes that a request stands for in calls of a choice: those it names, as far as they are legal, and
    one pair near to the usual size where it names none, legal if any is."""
    search = _Search(operator, request, choice)
    if not request.head_sizes:
        return search.nearest()
    found = (search.first(search.pairs([key])) for key in request.head_sizes)
    return tuple(each for each in found if each is not None)


def why_illegal(operator: Contract, request: KernelRequest, choice: Choice) -> str:
    """The sizes that a request names and the constraint that forbids them; empty if none does."""
    search = _Search(operator, request, choice)
    for sizes in search.pairs(request.head_sizes or (USUAL_HEAD_SIZE,)):
        for rule in search.broken(sizes):
            told = f"D={sizes.key}" if _one_size(operator) else f"D={sizes.key} and E={sizes.value}"
            blamed = f"{rule.argument} " if rule.argument else ""
            return f"{told}: {blamed}{rule.text} ({rule.condition})"
    return ""


class _Search:
    """Pairs of sizes that a legal call of a choice can have."""

    def __init__(self, operator: Contract, request: KernelRequest, choice: Choice) -> None:
        self.operator, self.request = operator, request
        self.extents = {axis: _defined(operator, axis) for axis in ("D", "E")}
        self.names = {axis: _own_names(operator, axis) for axis in ("D", "E")}
        passed = {given(spec.name).name: spec.name in choice.present for spec in operator.tensors}
        self.known: dict[str, Any] = {**choice.settings, **passed}
        self.fractal = operator.device.architecture.fractal
        self.rules = tuple(self._rules())

    def _rules(self) -> Iterator[Constraint]:
        """The constraints that these sizes decide, ranges of parameters among them."""
        named = tuple(dict.fromkeys(name for names in self.names.values() for name in names))
        asked = {*named, *(name for extent in self.extents.values() for name in extent.symbols())}
        for name in named:
            param = self.operator.find_param(name)
            for bound in param.bounds() if param is not None else ():
                yield Constraint(bound, "must be in its range", argument=name)
        known = {*self.known, *named}
        for rule in self.operator.constraints:
            if rule.symbols() & asked and rule.decided_by(known) and not rule.warns:
                yield rule

    def nearest(self) -> tuple[HeadSizes, ...]:
        """The pair nearest to the usual size; sizes that the contract's defaults give come first."""
        computed = self._computed("D", self.known)
        keys = list(self._near(USUAL_HEAD_SIZE, "D", computed))
        defaults = [next(self.pairs([key])) for key in keys]
        found = self._legal(defaults) or self._legal(self.pairs(keys)) or self._padded(defaults)
        if found is None and not self.request.value_sizes:
            # The space of calls tells which constraints leave no size.
            found = HeadSizes(USUAL_HEAD_SIZE, USUAL_HEAD_SIZE)
        return () if found is None else (found,)

    def pairs(self, keys: Iterable[int]) -> Iterator[HeadSizes]:
        """Pairs with these sizes of keys; of values the size that is asked for, or that which the contract
        computes or has by default, then that of keys and others by their distance from it."""
        for key in keys:
            if _one_size(self.operator):
                yield HeadSizes(key, key)
            elif self.request.value_sizes:
                yield from (HeadSizes(key, value) for value in self.request.value_sizes)
            else:
                computed = self._computed("E", self._with(D=key))
                yield from (HeadSizes(key, value) for value in self._near(key, "E", computed))

    def _near(self, size: int, axis: str, computed: int | None) -> Iterator[int]:
        """What the contract computes, or sizes by their distance from one."""
        if computed is not None:
            yield computed
            if not isinstance(self.extents[axis], Symbol):
                return
        largest = _largest(self.operator, axis)
        if size <= largest:
            yield size
        whole = range(self.fractal, largest + 1, self.fractal)
        yield from sorted(whole, key=lambda other: abs(other - size))

    def _computed(self, axis: str, known: Mapping[str, Any]) -> int | None:
        """The size that defaults and what is asked for give; None where a call's tensors tell it."""
        extent = self.extents[axis]
        if any(known.get(name) is None for name in extent.symbols()):
            return None
        size = int(extent.evaluate(known))
        return size if 1 <= size <= largest_head(self.operator.device.architecture) else None

    def _with(self, **sizes: int) -> dict[str, Any]:
        """What is known of calls with these sizes, by axis."""
        return self.known | {name: size for axis, size in sizes.items() for name in self.names[axis]}

    def first(self, pairs: Iterable[HeadSizes]) -> HeadSizes | None:
        """The first pair that a legal call has; else the first whose kernel takes one of other sizes."""
        every = list(pairs)
        return self._legal(every) or self._padded(every)

    def _legal(self, pairs: Iterable[HeadSizes]) -> HeadSizes | None:
        return next((sizes for sizes in pairs if not self.broken(sizes)), None)

    def _padded(self, pairs: Iterable[HeadSizes]) -> HeadSizes | None:
        return next((sizes for sizes in pairs if self._serves_others(sizes)), None)

    def _serves_others(self, sizes: HeadSizes) -> bool:
        """Whether sizes that pad to the same are legal."""
        key, value = sizes.padded(self.operator)
        steps = range(self.fractal)
        if _one_size(self.operator):
            return any(not self.broken(HeadSizes(key - step, key - step)) for step in steps)
        return any(not self.broken(HeadSizes(key - k, value - v)) for k in steps for v in steps)

    def broken(self, sizes: HeadSizes) -> list[Constraint]:
        """The constraints that no call with these sizes keeps, whatever else it has."""
        known = self._with(D=sizes.key, E=sizes.value)
        for axis, size in (("D", sizes.key), ("E", sizes.value)):
            if self._computed(axis, known) not in (None, size):
                rule = compare("==", self.extents[axis], size)
                return [Constraint(rule, f"must be the size of {'keys' if axis == 'D' else 'values'}")]
        return [rule for rule in self.rules if rule.violation(known) is not None]


def _one_size(operator: Contract) -> bool:
    return operator.axis_extents["E"].same(operator.axis_extents["D"])
