"""One tiling function for the kernels of an operator, from the fields that each kernel's host computes.

A field that all kernels compute alike is assigned once. Where kernels differ, the expressions of a field are
its *forms*, and each kernel says which one it has; fields that differ alike share a form. A field that some
kernels lack is computed for them too, which costs nothing, unless that could divide by 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import networkx as nx

from attndsl.expr import Binary, Const, Expr, Symbol
from attndsl.tile.program import tiling_field_ref

SCHEDULE = "schedule."
"""What names of a kernel's schedule constants begin with; these are at least 1."""
_DIVISIONS = frozenset({"/", "//", "%", "ceil_div", "round_up", "floor_div", "floor_mod"})


@dataclass(frozen=True, eq=False)
class Assigned:
    """A tiling field, and the value that a kernel's host gives it, over the problem and earlier fields."""

    name: str
    value: Expr


@dataclass(frozen=True, eq=False)
class Step:
    """Assignments in a row: one list for each value of ``form``, or one alone where no form decides."""

    form: str
    cases: tuple[tuple[Assigned, ...], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """A member of a kernel's row: which expressions it has for ``fields``."""

    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class MergedFunction:
    """A tiling function: its steps, the forms that it asks for, and each kernel's, in the kernels' order."""

    steps: tuple[Step, ...]
    forms: tuple[Form, ...]
    chosen: tuple[tuple[int, ...], ...]


def merged(tilings: Sequence[Sequence[Assigned]]) -> MergedFunction | None:
    """The function for kernels with these fields; None where no order of fields suits them all."""
    variants: dict[str, list[Assigned]] = {}
    chosen: dict[str, list[int | None]] = {}
    for number, tiling in enumerate(tilings):
        for item in tiling:
            known = variants.setdefault(item.name, [])
            place = next((i for i, each in enumerate(known) if each.value.same(item.value)), len(known))
            if place == len(known):
                known.append(item)
            chosen.setdefault(item.name, [None] * len(tilings))[number] = place
    order = _order(variants)
    if order is None:
        return None
    forms: list[tuple[list[str], list[int | None]]] = []
    by_field: dict[str, int | None] = {}
    for name in order:
        by_field[name] = _form_of(name, variants[name], chosen[name], forms)
    names = [f"{fields[0]}Form" for fields, _ in forms]
    steps = tuple(_steps(order, by_field, names, variants, forms))
    return MergedFunction(
        steps,
        tuple(Form(name, tuple(fields)) for name, (fields, _) in zip(names, forms, strict=True)),
        tuple(tuple(vector[i] or 0 for _, vector in forms) for i in range(len(tilings))),
    )


def _order(variants: Mapping[str, Sequence[Assigned]]) -> list[str] | None:
    """The fields, each after those that any of its expressions uses, else as they come first."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(variants)
    names = {tiling_field_ref(name).name: name for name in variants}
    for name, items in variants.items():
        used = {symbol for item in items for symbol in item.value.symbols()}
        graph.add_edges_from((names[symbol], name) for symbol in used if symbol in names)
    if not nx.is_directed_acyclic_graph(graph):
        return None
    place = {name: i for i, name in enumerate(variants)}
    return list(nx.lexicographical_topological_sort(graph, key=place.__getitem__))


def _form_of(
    name: str,
    items: Sequence[Assigned],
    vector: list[int | None],
    forms: list[tuple[list[str], list[int | None]]],
) -> int | None:
    """Which form decides a field's expression, a new one if need be; None if it has one expression."""
    if not all(_is_safe(item.value) for item in items) and None in vector:
        absent = len(items)
        vector[:] = [absent if each is None else each for each in vector]
    elif len(items) == 1:
        return None
    for number, (fields, known) in enumerate(forms):
        pairs = list(zip(known, vector, strict=True))
        if all(a is None or b is None or a == b for a, b in pairs):
            known[:] = [b if a is None else a for a, b in pairs]
            fields.append(name)
            return number
    forms.append(([name], list(vector)))
    return len(forms) - 1


def _is_safe(value: Expr) -> bool:
    """Whether the value can be computed whatever the problem is: nothing is divided by what may be 0."""
    return all(
        _is_positive(node.right)
        for node in value.walk()
        if isinstance(node, Binary) and node.op in _DIVISIONS
    )


def _is_positive(divisor: Expr) -> bool:
    if isinstance(divisor, Symbol):
        return divisor.name.startswith(SCHEDULE)
    if isinstance(divisor, Binary) and divisor.op == "max":
        return _is_positive(divisor.left) or _is_positive(divisor.right)
    return isinstance(divisor, Const) and isinstance(divisor.value, int | float) and divisor.value > 0


def _steps(
    order: Sequence[str],
    by_field: Mapping[str, int | None],
    names: Sequence[str],
    variants: Mapping[str, Sequence[Assigned]],
    forms: Sequence[tuple[list[str], list[int | None]]],
) -> Iterator[Step]:
    for form, group in groupby(order, key=by_field.__getitem__):
        fields = list(group)
        if form is None:
            yield Step("", (tuple(variants[name][0] for name in fields),))
            continue
        numbers = sorted({each for each in forms[form][1] if each is not None})
        cases = []
        for number in range(numbers[-1] + 1):
            cases.append(tuple(variants[name][number] for name in fields if number < len(variants[name])))
        yield Step(names[form], tuple(cases))
