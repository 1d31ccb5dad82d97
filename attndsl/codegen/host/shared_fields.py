"""Tiling fields that a plan computes alike for each attention of a kernel: a function for each such field.

A field of an attention, ``splitsKey``, has the attention's name at its end; its *stem* is ``splits``. Fields
of one stem become calls of one function if several numbers of the host lead to each and to nothing else, and
all these are computed alike, but that they use other ones of their own attention. The function takes what
leads elsewhere, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from attndsl.codegen.host.kernel_tilings import Assigned
from attndsl.codegen.host.tiling_function import Part, Step
from attndsl.expr import Expr
from attndsl.tile.program import tiling_field_ref

_FEWEST = 3
"""Numbers on the way to a field that are worth a function."""


@dataclass(frozen=True, eq=False)
class SharedField:
    """The function that computes a field of each attention.

    Attributes:
        stem: the field without an attention's name.
        attentions: what the fields end with.
        items: the numbers on the way to the field, then the field itself, by their stems.
        parameters: the stems of other fields and numbers of an attention that these use.
    """

    stem: str
    attentions: tuple[str, ...]
    items: tuple[Assigned, ...]
    parameters: tuple[str, ...]

    def arguments(self, name: str) -> tuple[str, ...] | None:
        """The fields and numbers that the function takes to compute a field; None of other fields."""
        attention = next((each for each in self.attentions if self.stem + each == name), None)
        return None if attention is None else tuple(each + attention for each in self.parameters)

    @property
    def inside(self) -> frozenset[str]:
        """The numbers that are computed in the function alone."""
        return frozenset(item.name + each for item in self.items[:-1] for each in self.attentions)


def shared_fields(part: Part, known: frozenset[str], attentions: Sequence[str]) -> Iterator[SharedField]:
    """The functions that a part calls for fields of these attentions. ``known``: all fields and numbers."""
    if len(attentions) < 2:
        return
    stems = frozenset(_stems(known, attentions))
    alike = dict(_alike(part, stems, attentions))
    users = _users(part)
    for stem, item in alike.items():
        if item.host_only:
            continue
        way = _way(stem, alike, users, attentions)
        if len(way) >= _FEWEST:
            items = (*(each for name, each in alike.items() if name in way), item)
            used = dict.fromkeys(name for each in items for name in _named(each.value, stems))
            parameters = tuple(name for name in used if name not in way)
            yield SharedField(stem, tuple(attentions), items, parameters)


def _stems(known: frozenset[str], attentions: Sequence[str]) -> Iterator[str]:
    """What all attentions have a field or number of: the names without those of attentions."""
    for name in known:
        stem = name.removesuffix(attentions[0])
        if name != stem and stem not in known and all(stem + each in known for each in attentions):
            yield stem


def _alike(part: Part, stems: frozenset[str], attentions: Sequence[str]) -> Iterator[tuple[str, Assigned]]:
    """What a part computes alike for all attentions, whatever the problem is: by its stem, over stems."""
    plain = {item.name: item for step in part.steps if _is_plain(step) for item in step.cases[0].items}
    names = [
        {tiling_field_ref(stem + each).name: tiling_field_ref(stem) for stem in stems} for each in attentions
    ]
    for name in plain:
        stem = name.removesuffix(attentions[0])
        own = [plain.get(stem + each) for each in attentions]
        if stem in stems and name != stem and None not in own:
            first, *others = (
                replace(item, name=stem, value=item.value.substitute(known))
                for item, known in zip(own, names, strict=True)
                if item is not None
            )
            if all(each.value.same(first.value) for each in others):
                yield stem, first


def _way(
    stem: str, alike: Mapping[str, Assigned], users: Mapping[str, frozenset[str]], attentions: Sequence[str]
) -> frozenset[str]:
    """The stems of the numbers that lead to fields of a stem and to nothing else."""
    way = {name for name, item in alike.items() if item.host_only}
    while True:
        inside = {name + each for name in (*way, stem) for each in attentions}
        alone = {name for name in way if all(users[name + each] <= inside for each in attentions)}
        leading = set(_leading(stem, alone, alike))
        if leading == way:
            return frozenset(way)
        way = leading


def _leading(stem: str, way: set[str], alike: Mapping[str, Assigned]) -> Iterator[str]:
    """Which of these a field is computed from, itself or by others of these."""
    left, seen = [stem], set[str]()
    while left:
        for name in _named(alike[left.pop()].value, way):
            if name not in seen:
                seen.add(name)
                left.append(name)
                yield name


def _users(part: Part) -> dict[str, frozenset[str]]:
    """What each field or number is used by in a part; a condition, or the choice of a case, has no name."""
    found: dict[str, set[str]] = {}
    for step in part.steps:
        asked = [each for case in step.cases if (each := case.when) is not None]
        asked += [] if step.switch is None else [step.switch]
        items = [item for case in step.cases for item in case.items]
        for user, value in [*(("", each) for each in asked), *((item.name, item.value) for item in items)]:
            for symbol in value.symbols():
                found.setdefault(symbol, set()).add(user)
        for item in items:
            found.setdefault(tiling_field_ref(item.name).name, set())
    return {name.removeprefix(_PREFIX): frozenset(users) for name, users in found.items()}


_PREFIX = tiling_field_ref("").name


def _named(value: Expr, stems: Iterable[str]) -> Iterator[str]:
    """Which of these a value names, in order."""
    names = {tiling_field_ref(stem).name: stem for stem in stems}
    return (names[name] for node in value.walk() if (name := getattr(node, "name", "")) in names)


def _is_plain(step: Step) -> bool:
    return step.switch is None and step.cases[0].when is None
