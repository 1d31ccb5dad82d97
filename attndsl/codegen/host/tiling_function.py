"""One tiling function for the kernels of an operator, from the fields that each kernel's host computes.

A field that all kernels compute alike is assigned once, and for kernels that lack it too, unless that could
divide by 0. Where kernels differ, the plan asks what tells them apart, in this order:

* of strides the layout of their tensor: one ``switch`` has those of all its layouts,
* a constant of the schedule that some kernels have and others have not,
* an argument by which the plan picks kernels anyway,
* a number that each kernel states, a *form*, where nothing else tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import networkx as nx

from attndsl.codegen.host.field_values import all_alike, by_layout, is_safe, schedule_of
from attndsl.codegen.host.kernel_conditions import Form, fixed_form, form_of, of_schedule, separating
from attndsl.codegen.host.kernel_tilings import LAUNCH, Assigned, Group, Tiling, variants_of
from attndsl.expr import Compare, Const, Expr, Named, Symbol
from attndsl.tile.program import tiling_field_ref

_TOPICS = ("work", "strides", "", "workspace", LAUNCH)
"""What fields are about, each the topic of a function, in the order of the functions."""


@dataclass(frozen=True, eq=False)
class Case:
    """Assignments for the problems of ``numbers``, or for which ``when`` holds; None: for all others."""

    items: tuple[Assigned, ...]
    when: Expr | None = None
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Step:
    """Assignments in a row, those of one case. ``switch``: what has the numbers of the cases."""

    cases: tuple[Case, ...]
    switch: Symbol | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """A function that computes the fields of one topic, from the problem and those of the parts before."""

    topic: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class MergedFunction:
    """The parts of a tiling function, the forms that it asks for, and each kernel's, in their order."""

    parts: tuple[Part, ...]
    forms: tuple[Form, ...]
    chosen: tuple[tuple[int, ...], ...]

    @property
    def names(self) -> frozenset[str]:
        """The fields, and the numbers of the host, that the parts compute."""
        steps = (step for part in self.parts for step in part.steps)
        return frozenset(item.name for step in steps for case in step.cases for item in case.items)


@dataclass(frozen=True, eq=False)
class _Decision:
    """How a field gets its value: in each case one, or none where its kernels have no such field.

    ``key``: equal for fields that are decided alike.
    """

    key: object
    tests: tuple[tuple[Expr | None, tuple[int, ...]], ...]
    items: tuple[Assigned | None, ...]
    switch: Symbol | None = None


def can_merge(tilings: Sequence[Tiling]) -> bool:
    """Whether an order of fields suits all kernels: then it suits each part of them, too."""
    return bool(nx.is_directed_acyclic_graph(_uses(variants_of(tilings))))


def merged(tilings: Sequence[Tiling]) -> MergedFunction | None:
    """The function for kernels with these fields; None where no order of fields suits them all."""
    variants = variants_of(tilings)
    uses = _uses(variants)
    if not nx.is_directed_acyclic_graph(uses):
        return None
    forms: list[Form] = []
    decisions = {name: _decided(name, groups, tilings, variants, forms) for name, groups in variants.items()}
    _with_their_users(uses, decisions)
    _with_known_values(uses, decisions)
    parts = tuple(_parts(variants, uses, decisions))
    cases = [case for part in parts for step in part.steps for case in step.cases]
    used = {name for case in cases if case.when is not None for name in case.when.symbols()}
    asked = tuple(form for form in forms if form.symbol.name in used)
    chosen = tuple(tuple(form.numbers[i] or 0 for form in asked) for i in range(len(tilings)))
    return MergedFunction(parts, asked, chosen)


def common_part(tilings: Sequence[Tiling], topic: str) -> Part | None:
    """The part of a topic for kernels whose other parts differ; None where its fields need others, or a form.

    Of kernels that no order of fields suits, strides for example are computed alike.
    """
    own = [
        replace(tiling, fields=tuple(each for each in tiling.fields if each.topic == topic))
        for tiling in tilings
    ]
    needed = {tiling_field_ref(each.name).name for tiling in tilings for each in tiling.fields}
    needed -= {tiling_field_ref(each.name).name for tiling in own for each in tiling.fields}
    if any(not each.value.symbols().isdisjoint(needed) for tiling in own for each in tiling.fields):
        return None
    function = merged(own)
    return function.parts[0] if function is not None and function.parts and not function.forms else None


def _decided(
    name: str,
    groups: Sequence[Group],
    tilings: Sequence[Tiling],
    variants: Mapping[str, Sequence[Group]],
    forms: list[Form],
) -> _Decision:
    """How a field gets its value."""
    layout = by_layout(groups, tilings)
    if layout is not None:
        return _of_layouts(*layout)
    own = all_alike(groups, tilings, variants)
    items = tuple(group.item for group in own)
    having = [kernel for group in own for kernel in group.kernels]
    absent = [kernel for kernel in range(len(tilings)) if kernel not in having]
    test = of_schedule(having, absent, schedule_of(own, variants), tilings) if absent else None
    if test is not None and len(own) == 1:
        return _conditional([test], items)
    everywhere = frozenset.intersection(*(tiling.schedule for tiling in tilings))
    if all(is_safe(item.value, variants, everywhere) for item in items):
        absent = []
    if len(own) == 1 and not absent:
        return _plain(items[0])
    if len(own) == 2 and not absent:
        for first, second in (own, own[::-1]):
            used = schedule_of([first], variants)
            if (test := of_schedule(first.kernels, second.kernels, used, tilings)) is not None:
                return _conditional([test, None], (first.item, second.item))
    kernels = [group.kernels for group in own] + ([absent] if absent else [])
    asked = frozenset[str]().union(*(item.value.symbols() for item in items))
    tests = separating(kernels, asked, tilings)
    if tests is None and len(own) == 2 and not absent:
        ordered = sorted(own, key=lambda group: not isinstance(group.item.value, Const))
        values = [group.item.value for group in ordered]
        form = fixed_form(name, [group.kernels for group in ordered], values, len(tilings), forms)
        if form is not None:
            fixed = replace(ordered[0].item, value=form.symbol)
            return _conditional([Compare(">", form.symbol, Const(0)), None], (fixed, ordered[1].item))
    if tests is None:
        tests = form_of(name, kernels, len(tilings), forms)
    return _conditional(tests[:-1] if absent else tests, items)


def _plain(item: Assigned) -> _Decision:
    return _Decision("", ((None, ()),), (item,))


def _conditional(tests: Sequence[Expr | None], items: tuple[Assigned, ...]) -> _Decision:
    key = tuple(str(test) for test in tests if test is not None)
    return _Decision(key, tuple((test, ()) for test in tests), items)


def _with_their_users(uses: nx.DiGraph[str], decisions: dict[str, _Decision]) -> None:
    """Numbers of the host alone that nothing but the first case of one condition needs are computed there."""
    for name in reversed(list(nx.topological_sort(uses))):
        decision = decisions[name]
        if decision.key or decision.items[0] is None or not decision.items[0].host_only:
            continue
        symbol = tiling_field_ref(name).name
        users = [
            (each, i)
            for each in (decisions[user] for user in decisions if uses.has_edge(name, user))
            for i, item in enumerate(each.items)
            if item is not None and symbol in item.value.symbols()
        ]
        keys = {each.key for each, _ in users}
        if len(keys) == 1 and "" not in keys and all(i == 0 and each.switch is None for each, i in users):
            decisions[name] = _conditional([users[0][0].tests[0][0]], (decision.items[0],))


def _with_known_values(uses: nx.DiGraph[str], decisions: dict[str, _Decision]) -> None:
    """Where a value contains that of a field which every launch has, it names the field.

    Smaller values first, so that larger ones name them, too.
    """
    plain = [(name, item) for name, each in decisions.items() if not each.key and (item := each.items[0])]
    worthy = [(name, item) for name, item in plain if _is_worth_a_name(item.value)]
    for name, item in sorted(worthy, key=lambda each: len(each[1].value.nodes())):
        known = decisions[name].items[0] or item
        for user, other in decisions.items():
            if user == name or not _belongs(known, other) or nx.has_path(uses, user, name):
                continue
            items = tuple(_naming(item, known) for item in other.items)
            if any(mine is not its for mine, its in zip(items, other.items, strict=True)):
                decisions[user] = replace(other, items=items)
                uses.add_edge(name, user)


def _belongs(known: Assigned, other: _Decision) -> bool:
    """Whether a field is computed early enough for others, and what it says is theirs, too: strides of two
    tensors are equal by chance."""
    user = next(item for item in other.items if item is not None)
    if "strides" in (known.topic, user.topic):
        tensors = [each.name.partition("Stride")[0] for each in (known, user)]
        return known.topic == user.topic and tensors[0] == tensors[1]
    if known.host_only:
        return known.topic == user.topic
    return _TOPICS.index(known.topic) <= _TOPICS.index(user.topic)


def _is_worth_a_name(value: Expr) -> bool:
    """Whether a value is computed of several numbers, or is a truth."""
    numbers = [node for node in value.walk() if isinstance(node, Symbol | Named)]
    return isinstance(value, Compare) or (len(numbers) > 1 and not isinstance(value, Symbol))


def _naming(item: Assigned | None, known: Assigned) -> Assigned | None:
    """An assignment whose value names a field where it has its value; all of it only of strides."""
    if item is None or not any(node.same(known.value) for node in item.value.nodes()):
        return item
    if item.value.same(known.value) and item.topic != "strides":
        return item
    field = tiling_field_ref(known.name)
    return replace(item, value=item.value.mapped(lambda node: field if node.same(known.value) else None))


def _of_layouts(layout: Symbol, values: Mapping[int, Assigned]) -> _Decision:
    """A stride by the layout of its tensor; of one layout, or the same in all, a value alone."""
    first = next(iter(values.values()))
    if all(item.value.same(first.value) for item in values.values()):
        return _plain(first)
    numbers = sorted(values)
    none = [isinstance(values[n].value, Const) and values[n].value.evaluate({}) == 0 for n in numbers]
    return _Decision(
        ("switch", layout.name),
        tuple((None, (number,)) for number in numbers),
        tuple(None if zero else values[number] for number, zero in zip(numbers, none, strict=True)),
        layout,
    )


# The order of fields --------------------------------------------------------------------------------


def _parts(
    variants: Mapping[str, Sequence[Group]], uses: nx.DiGraph[str], decisions: Mapping[str, _Decision]
) -> Iterator[Part]:
    """The functions, each with its fields in order."""
    topics = _topics(variants, uses)
    for topic in _TOPICS:
        fields = [name for name in variants if topic in topics[name]]
        if fields:
            yield Part(topic, tuple(_steps(list(_order(uses, fields, decisions)), decisions)))


def _topics(variants: Mapping[str, Sequence[Group]], uses: nx.DiGraph[str]) -> dict[str, set[str]]:
    """The functions in which each field is computed: the one of its topic, or an earlier one that needs it.
    Numbers of the host alone are computed in each that needs them."""
    found: dict[str, set[str]] = {name: set() for name in variants}

    def enter(name: str, topic: str) -> None:
        item = variants[name][0].item
        if topic in found[name] or (found[name] and not item.host_only):
            return  # it is there
        found[name].add(topic)
        for used in uses.predecessors(name):
            enter(used, topic)

    for topic in _TOPICS:
        for name, groups in variants.items():
            item = groups[0].item
            if item.topic == topic and (not item.host_only or topic == LAUNCH):
                enter(name, topic)
    return found


def _uses(variants: Mapping[str, Sequence[Group]]) -> nx.DiGraph[str]:
    """The fields, each after those that any of its expressions uses."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(variants)
    names = {tiling_field_ref(each).name: each for each in variants}
    for name, groups in variants.items():
        symbols = frozenset[str]().union(*(group.item.value.symbols() for group in groups))
        graph.add_edges_from((used, name) for symbol, used in names.items() if symbol in symbols)
    return graph


def _order(uses: nx.DiGraph[str], fields: Sequence[str], decisions: Mapping[str, _Decision]) -> Iterator[str]:
    """The fields, each after those that it uses, else as they come first; those that are decided alike
    together, after what is not decided at all."""
    graph, place = nx.DiGraph(uses.subgraph(fields)), {name: i for i, name in enumerate(uses)}
    last: object = ""
    while graph:
        ready = sorted((name for name, used in graph.in_degree() if not used), key=place.__getitem__)
        chosen = min(
            ready, key=lambda name: (decisions[name].key != last, bool(decisions[name].key), place[name])
        )
        last = decisions[chosen].key
        graph.remove_node(chosen)
        yield chosen


def _steps(order: Sequence[str], decisions: Mapping[str, _Decision]) -> Iterator[Step]:
    for _, group in groupby(order, key=lambda name: decisions[name].key):
        yield _step([decisions[name] for name in group])


def _step(decisions: Sequence[_Decision]) -> Step:
    """The fields of decisions that are alike."""
    first = max(decisions, key=lambda each: len(each.tests))
    if first.switch is None:
        return Step(
            tuple(
                Case(tuple(_items(each.items[i] for each in decisions if i < len(each.items))), test)
                for i, (test, _) in enumerate(first.tests)
            )
        )
    bodies: dict[int, list[Assigned]] = {}
    for each in decisions:
        for (_, (number,)), item in zip(each.tests, each.items, strict=True):
            bodies.setdefault(number, []).extend(_items([item]))
    cases: list[Case] = []
    for number, items in sorted(bodies.items()):
        for i, known in enumerate(cases):
            if _alike(known.items, items):
                cases[i] = Case(known.items, None, (*known.numbers, number))
                break
        else:
            cases.append(Case(tuple(items), None, (number,)))
    return Step(tuple(case for case in cases if case.items), first.switch)


def _items(found: Iterable[Assigned | None]) -> Iterator[Assigned]:
    return (item for item in found if item is not None)


def _alike(first: Sequence[Assigned], second: Sequence[Assigned]) -> bool:
    return len(first) == len(second) and all(
        a.name == b.name and a.value.same(b.value) for a, b in zip(first, second, strict=True)
    )
