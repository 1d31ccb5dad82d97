"""The tiling fields that the hosts of several kernels compute, and the kernels that compute one alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attndsl.expr import Expr, Symbol

SCHEDULE = "schedule."
"""What names of a kernel's schedule constants begin with."""
LAUNCH = "launch"
"""The topic of what a launch needs to know and no kernel reads."""


@dataclass(frozen=True, eq=False)
class Assigned:
    """A tiling field, and the value that a kernel's host gives it, over the problem and earlier fields.

    Attributes:
        topic: what it is about. ``host_only``: no field, but a number from which fields are computed.
        layout: of a stride, the number of the layout of its tensor.
    """

    name: str
    value: Expr
    topic: str = ""
    host_only: bool = False
    layout: Symbol | None = None


@dataclass(frozen=True, eq=False)
class Tiling:
    """The fields of a kernel, in order.

    Attributes:
        accepts: the numbers of arguments in the calls that it takes, by symbol.
        layouts: the numbers of the layouts that a tensor has in them, by the symbol of strides.
        schedule: the constants of its schedule, by name; each is at least 1.
    """

    fields: tuple[Assigned, ...]
    accepts: Mapping[str, frozenset[int]] = field(default_factory=dict)
    layouts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    schedule: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Group:
    """Kernels, by their numbers, that have the same expression of a field."""

    item: Assigned
    kernels: tuple[int, ...]


def variants_of(tilings: Sequence[Tiling]) -> dict[str, list[Group]]:
    """The different expressions of each field, each with the kernels that have it."""
    found: dict[str, list[tuple[Assigned, list[int]]]] = {}
    for number, tiling in enumerate(tilings):
        for item in tiling.fields:
            known = found.setdefault(item.name, [])
            kernels = next((own for each, own in known if each.value.same(item.value)), None)
            if kernels is None:
                known.append((item, [number]))
            else:
                kernels.append(number)
    return {name: [Group(item, tuple(kernels)) for item, kernels in known] for name, known in found.items()}
