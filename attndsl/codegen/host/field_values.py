"""What of a tiling field's values in several kernels is the same, and which need no condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attndsl.codegen.host.kernel_tilings import SCHEDULE, Assigned, Group, Tiling
from attndsl.expr import Binary, Const, Expr, Symbol
from attndsl.lowering.signature.host_scalars import CORES
from attndsl.tile.program import tiling_field_ref

_DIVISIONS = frozenset({"/", "//", "%", "ceil_div", "round_up", "floor_div", "floor_mod"})


def by_layout(
    groups: Sequence[Group], tilings: Sequence[Tiling]
) -> tuple[Symbol, dict[int, Assigned]] | None:
    """A stride's value in each layout of its tensor; None of other fields, or if kernels disagree."""
    layout = groups[0].item.layout
    found: dict[int, Assigned] = {}
    for group in groups:
        item = group.item
        if layout is None or item.layout is None or item.layout.name != layout.name:
            return None
        for kernel in group.kernels:
            for number in tilings[kernel].layouts.get(layout.name, ()):
                value = item.value.substitute({layout.name: number})
                if not found.setdefault(number, Assigned(item.name, value, item.topic)).value.same(value):
                    return None
    return (layout, found) if layout is not None and found else None


def all_alike(
    groups: Sequence[Group], tilings: Sequence[Tiling], variants: Mapping[str, Sequence[Group]]
) -> list[Group]:
    """One group, if the expression of one is what all others compute with their own fields."""
    for group in groups if len(groups) > 1 else ():
        others = [(kernel, each.item) for each in groups if each is not group for kernel in each.kernels]
        if all(_computes(group.item, item, tilings[kernel], variants) for kernel, item in others):
            return [Group(group.item, tuple(sorted(kernel for each in groups for kernel in each.kernels)))]
    return list(groups)


def _computes(
    other: Assigned, own: Assigned, tiling: Tiling, variants: Mapping[str, Sequence[Group]]
) -> bool:
    """Whether another kernel's expression of a field has the own value with the own fields."""
    env = {name: known[0].item.value for name, known in variants.items() if len(known) == 1}
    env |= {item.name: item.value for item in tiling.fields}
    names = {tiling_field_ref(name).name: value for name, value in env.items()}
    known: dict[str, Expr] = {}

    def expanded(value: Expr) -> Expr:
        used = value.symbols()
        for symbol in used & names.keys():
            if symbol not in known:
                known[symbol] = expanded(names[symbol])
        return value.substitute({symbol: known[symbol] for symbol in used & names.keys()})

    one, two = expanded(other.value), expanded(own.value)
    return one.same(two) or (not one.symbols() and not two.symbols() and one.evaluate({}) == two.evaluate({}))


def schedule_of(groups: Sequence[Group], variants: Mapping[str, Sequence[Group]]) -> frozenset[str]:
    """The schedule constants that expressions compute with, themselves or by the fields that they use."""
    fields = {tiling_field_ref(name).name: known for name, known in variants.items()}
    seen: set[str] = set()
    left = [symbol for group in groups for symbol in group.item.value.symbols()]
    while left:
        symbol = left.pop()
        if symbol not in seen:
            seen.add(symbol)
            left += [each for group in fields.get(symbol, ()) for each in group.item.value.symbols()]
    return frozenset(name.removeprefix(SCHEDULE) for name in seen if name.startswith(SCHEDULE))


def is_safe(value: Expr, variants: Mapping[str, Sequence[Group]], schedule: frozenset[str]) -> bool:
    """Whether the value can be computed whatever the problem is: nothing is divided by what may be 0.

    ``schedule``: the constants that all kernels have.
    """

    constants = {f"{SCHEDULE}{name}" for name in schedule}
    fields = {tiling_field_ref(name).name: groups for name, groups in variants.items()}

    def positive(divisor: Expr) -> bool:
        if isinstance(divisor, Symbol):
            known = fields.get(divisor.name, ())
            return (
                divisor.name == CORES.name
                or divisor.name in constants
                or (bool(known) and all(positive(group.item.value) for group in known))
            )
        if isinstance(divisor, Binary) and divisor.op == "max":
            return positive(divisor.left) or positive(divisor.right)
        if isinstance(divisor, Binary) and divisor.op in ("*", "min", "ceil_div", "round_up"):
            return positive(divisor.left) and positive(divisor.right)
        return isinstance(divisor, Const) and isinstance(divisor.value, int | float) and divisor.value > 0

    return all(
        positive(node.right) for node in value.walk() if isinstance(node, Binary) and node.op in _DIVISIONS
    )
