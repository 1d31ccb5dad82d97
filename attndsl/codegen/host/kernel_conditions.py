"""What tells kernels apart whose hosts compute a tiling field differently: conditions of a problem or of a
kernel's schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from attndsl.codegen.host.kernel_tilings import SCHEDULE, Tiling
from attndsl.expr import Compare, Const, Expr, Symbol, constant_value
from attndsl.expr.argument_facts import DTYPE, GIVEN, LAYOUT, kind_of

FORM = "form."
"""What names of forms begin with."""
_KINDS = (GIVEN, LAYOUT, DTYPE)
"""What a reader of a plan sees first."""


@dataclass(frozen=True, eq=False)
class Form:
    """A number by which kernels state which expressions of ``fields`` they have; None: they have none.

    Where it ``is_value``, a field has the number itself if that is above 0.
    """

    name: str
    fields: list[str]
    numbers: list[int | None]
    is_value: bool = False

    @property
    def symbol(self) -> Symbol:
        """The number in conditions."""
        return Symbol(f"{FORM}{self.name}")


def separating(
    groups: Sequence[Sequence[int]], asked: frozenset[str], tilings: Sequence[Tiling]
) -> list[Expr | None] | None:
    """A condition of the problem for each group of kernels, None for the last: all others. None where nothing
    tells.

    ``asked``: the symbols of the groups' expressions, which tell a reader most.
    """
    told = [tilings[kernel].accepts for group in groups for kernel in group]
    common = set.intersection(*(set(accepts) for accepts in told))
    found: list[tuple[tuple[bool, int, int, str], list[Expr | None]]] = []
    for name in common:
        sets = [_united(tilings[kernel].accepts[name] for kernel in group) for group in groups]
        if any(a & b for i, a in enumerate(sets) for b in sets[:i]):
            continue
        kind = kind_of(name)
        rank = _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
        score = (name not in asked, sum(map(len, sets[:-1])), rank, name)
        found.append((score, _tests(Symbol(name), sets)))
    return min(found, key=lambda each: each[0])[1] if found else None


def _united(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset[int]().union(*sets)


def _tests(symbol: Symbol, sets: Sequence[frozenset[int]]) -> list[Expr | None]:
    tests: list[Expr | None] = []
    for i, own in enumerate(sets[:-1]):
        others = _united(each for j, each in enumerate(sets) if j != i)
        if len(others) == 1 and len(own) > 1:
            tests.append(Compare("!=", symbol, Const(*others)))
        else:
            tests.append(reduce(or_, (Compare("==", symbol, Const(number)) for number in sorted(own))))
    return [*tests, None]


def of_schedule(
    own: Sequence[int], others: Sequence[int], used: frozenset[str], tilings: Sequence[Tiling]
) -> Expr | None:
    """Whether a kernel's schedule has a constant, one of ``used``, that all of ``own`` have and no other."""
    for name in sorted(used):
        if all(name in tilings[kernel].schedule for kernel in own) and not any(
            name in tilings[kernel].schedule for kernel in others
        ):
            return Compare(">", Symbol(f"{SCHEDULE}{name}"), Const(0))
    return None


def form_of(name: str, groups: Sequence[Sequence[int]], count: int, forms: list[Form]) -> list[Expr | None]:
    """Conditions on the number that tells these groups, a known one where it does, else a new one."""
    numbers: list[int | None] = [None] * count
    for number, group in enumerate(groups):
        for kernel in group:
            numbers[kernel] = number
    for form in forms:
        if form.is_value:
            continue
        pairs = list(zip(form.numbers, numbers, strict=True))
        if all(a is None or b is None or a == b for a, b in pairs):
            form.numbers[:] = [b if a is None else a for a, b in pairs]
            break
    else:
        form = Form(f"{name}Form", [], numbers)
        forms.append(form)
    form.fields.append(name)
    return [*(Compare("==", form.symbol, Const(i)) for i in range(len(groups) - 1)), None]


def fixed_form(
    name: str, groups: Sequence[Sequence[int]], values: Sequence[Expr], count: int, forms: list[Form]
) -> Form | None:
    """A number of kernels that fix a field, if all but the last group do."""
    numbers: list[int | None] = [None] * count
    for value, group in zip(values[:-1], groups[:-1], strict=True):
        fixed = constant_value(value)
        if type(fixed) is not int or fixed < 1:
            return None
        for kernel in group:
            numbers[kernel] = fixed
    form = Form(f"fixed{name[:1].upper()}{name[1:]}", [name], numbers, is_value=True)
    forms.append(form)
    return form


def accepted_numbers(
    guards: Sequence[tuple[Expr, bool]], universe: Mapping[str, Sequence[int]]
) -> dict[str, frozenset[int]]:
    """The numbers of each argument that meet the conditions on it alone; ``universe``: all its numbers."""
    found: dict[str, frozenset[int]] = {}
    for condition, holds in guards:
        symbols = condition.symbols()
        if len(symbols) != 1 or not symbols <= universe.keys():
            continue
        (name,) = symbols
        own = frozenset(n for n in universe[name] if bool(condition.evaluate({name: n})) == holds)
        found[name] = found.get(name, own) & own
    return found
