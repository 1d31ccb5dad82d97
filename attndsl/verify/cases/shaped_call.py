"""A legal call with given sizes, and the most usual ones for what is left open."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.base.errors import UserError
from attndsl.expr import Const, Expr, Load, Symbol
from attndsl.expr.argument_facts import dtype_of, given, longest_of, passed
from attndsl.graph.nodes import INDEX_AXES, IndexCondition, Replace
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES
from attndsl.spec.errors import CallError
from attndsl.spec.operator.covering import choosable, nearest_choice
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.cases import spaces
from attndsl.verify.cases.shape_conflicts import default_in_the_way, rules_in_the_way
from attndsl.verify.data.data import Filler
from attndsl.verify.data.integers import Integers
from attndsl.verify.space.solve import nearest, solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FILL, WORKLOAD, Values, fill_of

MOST_ELEMENTS = 1 << 33
MOST_SCORES = 1 << 40
"""Elements of a tensor, and scores, that such a call has at most: sizes of calls that a device takes."""
_TRIES = 10
_USUAL: dict[str, tuple[int, ...]] = {
    "B": (1,),
    "K": (8, 4, 2, 1),
    "N": (32, 16, 8, 64),
    "Q": (128, 1, 1024),
    "T": (4096, 2048, 1024, 512),
    "D": (128, 64, 256),
    "E": (128, 64, 256),
    "P": (128, 256, 64, 32),
    "R": (128, 64),
    "W": (32, 16),
    "Y": (1, 2, 4),
}
"""Sizes by role of axis for what a shape leaves open, the most usual first."""


class ProfileError(UserError):
    """There is no call of that shape."""


class _Usual(Values):
    """What sizes are drawn from where a shape leaves them open."""

    def of_role(self, role: str, tile: int, ring: int) -> tuple[int, ...]:
        return _USUAL.get(role, tuple(range(1, 65)))


def call_of_shape(
    operator: Operator,
    shape: Mapping[str, int],
    *,
    dtype: str | None = None,
    features: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> Call:
    """A legal call with normal numbers: sizes and integer parameters of ``shape`` by the contract's names,
    and ``longest(x)`` of lengths.

    Optional tensors are passed when ``features`` names them. ``settings``: values of parameters, and of
    ``dtype(x)``, ``layout(x)``, ``split(x)`` and ``given(x)`` of tensors. What is left open is as near to
    the contract's defaults as it allows, sizes usual ones.

    Raises:
        ProfileError: a name is unknown, or no legal call has these values.
    """
    main = operator.tensor(operator.outputs[0].like)
    if dtype is not None and dtype not in main.dtypes:
        raise ProfileError(f"{main.name} is never {dtype}; its dtypes are {', '.join(main.dtypes)}")
    usual = _Usual(group=tuple(range(1, 129)), most_elements=MOST_ELEMENTS, most_scores=MOST_SCORES)
    modes = spaces(operator, usual)
    _known(shape, {name for mode in modes for name in _size_names(mode)}, "size")
    _legal_sizes(operator, shape)
    _known(features, {name for mode in modes for name in mode.optional}, "optional tensor")
    _agree(main.name, dtype, features, settings or {})
    pins = {dtype_of(main.name).name: dtype or main.dtypes[0], **shape, **(settings or {})}
    fitting = [
        mode for mode in modes if set(shape) <= _size_names(mode) and set(features) <= {*mode.optional}
    ]
    tried: list[_Tried] = []
    for mode in fitting:
        wanted = {given(name).name: True for name in features} | _lengths_of(mode, shape) | pins
        values = _usual_values(mode, wanted)
        tried.append(_Tried(operator, mode, shape, wanted, values))
        for left_open in (_usual_sizes(mode) | values, values):
            if (call := tried[-1].find(left_open)) is not None:
                return call
    asked = ", ".join(f"{name}={value}" for name, value in {**shape, **(settings or {})}.items())
    why = next((found for each in tried if (found := each.why())), "")
    sizes = [name for mode in modes for name in operator.dims_by_name if name in _size_names(mode)]
    missing = ", ".join(name for name in dict.fromkeys(sizes + _counts(operator)) if name not in shape)
    others = f"; left open were {missing}: give some of them" if missing and "--set" not in why else ""
    raise ProfileError(
        f"no legal call of {operator.name} was found with {asked or 'no sizes given'}{why}{others}; "
        f"see attndsl show {operator.in_commands} --stage contract"
    )


@dataclass(frozen=True)
class _Tried:
    """A search for a call of a mode: what was asked for, and ``values``, what is as near to the defaults."""

    operator: Operator
    mode: CaseSpace
    shape: Mapping[str, int]
    wanted: Mapping[str, Any]
    values: Mapping[str, Any]

    def find(self, left_open: Mapping[str, Any], tries: int = _TRIES) -> Call | None:
        """A legal call with the sizes asked for; ``left_open``: values of what was not asked for."""
        call = _find(self.operator, self.mode, {**left_open, **self.wanted}, tries)
        return call if call is not None and _has_sizes(call, self.shape) else None

    def why(self) -> str:
        """Why there is none, as far as one default or the rules of a search tell."""
        defaults = {
            name: each for name, each in self.values.items() if name not in self.wanted and each is not None
        }
        found = default_in_the_way(self.mode.operator, defaults, lambda each: self.find(each, 1))
        if found:
            return f"; {found}"
        pins = _normal(self.mode) | {**self.values, **self.wanted}
        _, broken = nearest(self.mode, np.random.default_rng(0), pins, walks=4)
        told = rules_in_the_way(self.mode.operator, {each.name for each in broken})
        return f"; {told}" if told else ""


def _has_sizes(call: Call, shape: Mapping[str, int]) -> bool:
    """Whether sizes that follow from others came out as they were asked for."""
    env = call.env()
    return all(env.get(name, size) == size for name, size in shape.items())


def _size_names(space: CaseSpace) -> set[str]:
    """Sizes, integer parameters and lengths that a shape may give; those that follow from others are none."""
    named = {*space.operator.dims_by_name, *(each.name for each in space.operator.params if each.type is int)}
    named |= {longest_of(spec.name).name for spec in space.operator.tensors}
    return {name for name in named if name in space.variables and name not in space.derived.bounded}


def _counts(operator: Operator) -> list[str]:
    """Parameters that are numbers by which sizes follow, such as those of heads."""
    used = {
        symbol
        for each in operator.dims_by_name.values()
        if each.definition is not None
        for symbol in each.definition.symbols()
    }
    used |= {symbol for extent in operator.axis_extents.values() for symbol in extent.symbols()}
    return [each.name for each in operator.params if each.name in used and each.type is int]


def _lengths_of(space: CaseSpace, shape: Mapping[str, int]) -> dict[str, int]:
    """The lengths whose longest is a size of the shape, where a call does not pass it otherwise."""
    found: dict[str, int] = {}
    for name in shape.keys() & space.operator.dims_by_name.keys():
        default = space.operator.dims_by_name[name].default
        loads = [node for node in default.walk() if isinstance(node, Load)] if default is not None else []
        found |= {longest_of(load.source).name: shape[name] for load in loads}
    return {name: value for name, value in found.items() if name in space.variables}


def _usual_values(space: CaseSpace, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Presence, parameters and layouts nearest to the contract's defaults that go with ``wanted``."""
    legal = choosable(space.operator)
    choice = nearest_choice(space.operator, {name: each for name, each in wanted.items() if name in legal})
    if choice is None:
        return passed(space.optional, ())
    params = space.operator.params
    counts = {each.name for each in params if each.type is int and not each.choices}
    told = space.variables.keys() - (counts - space.operator.specialization_parameters)
    return passed(space.optional, choice.present) | {
        name: each for name, each in choice.settings.items() if name in told
    }


def _usual_sizes(space: CaseSpace) -> dict[str, Any]:
    """The first of the usual values of each size that is a variable, or that is the longest of some lengths,
    which are."""
    sizes = {role: extent for role, extent in space.operator.axis_extents.items() if role in _USUAL}
    dims = space.operator.dims_by_name
    for role, extent in sizes.items():
        defined = dims[extent.name].definition if isinstance(extent, Symbol) and extent.name in dims else None
        sizes[role] = extent if defined is None else defined
    named = {extent.name: role for role, extent in sizes.items() if isinstance(extent, Symbol)}
    return {name: _USUAL[role][0] for name, role in named.items() if name in space.variables}


def _normal(space: CaseSpace) -> dict[str, Any]:
    """Numbers are normal, lengths full."""
    return {FILL: "normal", WORKLOAD: "any", **{fill_of(spec.name): "full" for spec in space.integers}}


class _LongRows(Integers):
    """Rows as long as the case allows; where rows share keys, all do, spread over the groups."""

    def __post_init__(self) -> None:
        super().__post_init__()
        groups = self.extents.get("G", 0)
        for name, rows in self.rows.items():
            axis = self.space.measures.get(name, "")
            if axis == "G" and groups:
                rows[:] = np.arange(rows.size) * groups // max(rows.size, 1)
            elif axis == "T" and groups:
                rows[:] = self.longest[name][:] = self.extents["T"] + self.extents.get("U", 0)


def _find(
    operator: Operator, space: CaseSpace, wanted: Mapping[str, Any], tries: int = _TRIES
) -> Call | None:
    """A call of a mode with these values of its variables."""
    pins = _normal(space) | {**wanted}
    rng = np.random.default_rng(0)
    for _ in range(tries):
        assignment = solve(space, rng, pins, walks=4)
        if assignment is None or any(assignment.get(name) != value for name, value in pins.items()):
            continue
        integers = _LongRows(space, assignment, rng).solve()
        if integers is None:
            continue
        filler = Filler(space, assignment, integers, rng)
        _show_all(filler)
        try:
            return filler.outline()
        except CallError:
            continue  # a constraint over elements: another try
    return None


def _show_all(filler: Filler) -> None:
    """Masks in bytes that conditions read hide nothing, as zeros might hide all."""
    for node in filler.graph.nodes:
        if not isinstance(node, Replace) or not isinstance(node.condition, IndexCondition):
            continue
        hides = node.condition.condition
        names = {part.source for part in hides.walk() if isinstance(part, Load)}
        for name in names & filler.present - filler.made.keys():
            if DTYPES[filler.dtype(name)].itemsize == 1:
                value = next((each for each in (0, 1) if not _holds(hides, filler.env, each)), 1)
                filler.made[name] = np.full(filler.shape(name), value, DTYPES[filler.dtype(name)])


def _holds(condition: Expr, env: Mapping[str, Any], element: int) -> bool:
    """Whether a condition holds at the first key of the first row where each element that it reads is one
    number."""
    read = condition.mapped(lambda part: Const(element) if isinstance(part, Load) else None)
    return bool(read.evaluate({**env, **dict.fromkeys(INDEX_AXES, 0)}))


def _legal_sizes(operator: Operator, shape: Mapping[str, int]) -> None:
    """Sizes and parameters within what the contract says of each alone."""
    for name, value in shape.items():
        param = operator.find_param(name)
        if param is None:
            if value < 0:
                raise ProfileError(f"size '{name}' is {value}; sizes are at least 0")
            continue
        if param.choices and value not in param.choices.values():
            legal = ", ".join(str(each) for each in dict.fromkeys(param.choices.values()))
            raise ProfileError(f"'{name}' is {value}; {operator.name} takes {legal}")
        for bound in param.bounds():
            if not bound.evaluate({name: value}):
                raise ProfileError(f"'{name}' is {value}; it must be {bound}{param.nearest(bound)}")


def _agree(main: str, dtype: str | None, features: Sequence[str], settings: Mapping[str, Any]) -> None:
    """Settings that say otherwise what the dtype or the features say."""
    told: dict[str, Any] = {given(name).name: True for name in features}
    if dtype is not None:
        told[dtype_of(main).name] = dtype
    for name, value in told.items():
        if settings.get(name, value) != value:
            raise ProfileError(
                f"{name} is {settings[name]} by the settings and {value} by the dtype and the features; "
                "give one of them"
            )


def _known(
    given_names: Sequence[str] | Mapping[str, Any], known: Sequence[str] | set[str], what: str
) -> None:
    for name in given_names:
        if name not in known:
            close = difflib.get_close_matches(name, list(known), 1)
            advice = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(sorted(known))}"
            raise ProfileError(f"unknown {what} '{name}'; {advice}")
