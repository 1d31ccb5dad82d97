"""Situations: what cases are in, whatever arguments they pass, so that each branch and edge is checked.

A feature matters in a case or does not; a call is in a situation or is not. Each branch of a choice that
parameters and sizes make is one, those on numbers alone with rows of several key tiles, each parameter at
its default, numbers of keys at the ends of their ranges, windows and rows that end at a tile's edge, rows
without keys. Cases are asked for those that none has been in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.base.facts import kept
from attndsl.expr import Expr, Load
from attndsl.expr.argument_facts import given, layout_of
from attndsl.spec.binding.call import Call
from attndsl.verify.cases.deciding_values import branch_conditions, values_for
from attndsl.verify.cases.features import key_counts, tile_of
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import ANY, EDGE, GAPS, LONG, WORKLOAD

Pins = Mapping[str, Any]
_TILES = 2
"""Key tiles of which a long row has more."""


@dataclass(frozen=True)
class Situation:
    """``pins``: draws values of variables with which calls tend to be in it; ``holds``: whether one is;
    ``first``: whether it is asked for before others; ``workload``: of the turns that ask for it, before
    all others; "" of any."""

    name: str
    pins: Callable[[np.random.Generator], Pins]
    holds: Callable[[Call], bool]
    first: bool = False
    workload: str = ""


@kept
def situations(space: CaseSpace) -> tuple[Situation, ...]:
    """Those that some values of the variables make; that a legal call is in each is not known."""
    return (*_branches(space), *_defaults(space), *_windows(space), *_range_edges(space), *_rows(space))


@kept
def situations_of_kernels(space: CaseSpace) -> tuple[Situation, ...]:
    """What cases of a kernel are asked for besides: each layout that no other choice decides, as one kernel
    reads a tensor in several ways. Cases of no kernel have them as features."""
    found = []
    for spec in space.operator.tensors:
        for key in spec.free_layouts if len(spec.layouts) > 1 else ():
            pins = {layout_of(spec.name).name: key} | ({given(spec.name).name: True} if spec.optional else {})
            legal = {name: value for name, value in pins.items() if name in space.variables}
            found.append(_in_layout(spec.name, key, legal))
    return tuple(found)


def _in_layout(name: str, key: str, pins: Pins) -> Situation:
    def holds(call: Call) -> bool:
        return name in call.present and call.layouts.get(name) == key

    return Situation(f"{name} as {key}", lambda rng: pins, holds, first=True)


def _branches(space: CaseSpace) -> Iterator[Situation]:
    """What numbers and sizes decide; the values of choices, layouts and presence are features."""
    numbers = {spec.name for spec in space.operator.params if not spec.choices and spec.type in (int, float)}
    numbers |= space.operator.dims_by_name.keys()
    known = numbers | space.variables.keys()
    params = {spec.name for spec in space.operator.params}
    for condition in branch_conditions(space.operator.roots):
        of_elements = any(isinstance(each, Load) for each in condition.walk())
        if of_elements or not condition.symbols() <= known or numbers.isdisjoint(condition.symbols()):
            continue
        for holds in (True, False):
            if values_for(space, condition, np.random.default_rng(0), holds=holds) is not None:
                branch = _branch(space, condition, holds)
                yield branch
                if condition.symbols() <= params & numbers:
                    yield _with_long_rows(space, branch)


def _branch(space: CaseSpace, condition: Expr, holds: bool) -> Situation:
    def pins(rng: np.random.Generator) -> Pins:
        return values_for(space, condition, rng, holds=holds) or {}

    def is_taken(call: Call) -> bool:
        try:
            return bool(condition.evaluate(call.env())) is holds
        except (KeyError, TypeError):  # it asks for what the call does not pass
            return False

    return Situation(f"{condition}" if holds else f"not ({condition})", pins, is_taken)


def _with_long_rows(space: CaseSpace, branch: Situation) -> Situation:
    """A branch that only parameters decide, where keys are skipped if one is taken for the other."""

    def holds(call: Call) -> bool:
        return branch.holds(call) and int(key_counts(call).max(initial=0)) > _TILES * tile_of(space, call)

    name = f"{branch.name}, several key tiles"
    return Situation(name, lambda rng: {**branch.pins(rng), WORKLOAD: LONG}, holds, first=True)


def _defaults(space: CaseSpace) -> Iterator[Situation]:
    """Parameters that are numbers; of choices the default is a feature."""
    for param in space.operator.params:
        number = param.type in (int, float) and param.optional and not param.choices
        if number and param.default in space.variables.get(param.name, ()):
            yield _has_one_of(f"{param.name}={param.default} by default", param.name, (param.default,))


def _windows(space: CaseSpace) -> Iterator[Situation]:
    """Integers that keys are compared with."""
    for param in space.operator.params:
        if param.type is int and not param.choices and space.stands_with_keys(param.name):
            values = space.variables.get(param.name, ())
            edges = tuple(value for value in values if _is_edge(value, space.tiles))
            if edges:
                yield _has_one_of(f"{param.name} at the edge of a tile", param.name, edges)


def _range_edges(space: CaseSpace) -> Iterator[Situation]:
    """Numbers of keys at the ends of their declared ranges, such as 0 keys that all rows share."""
    for param in space.operator.params:
        if param.type is int and not param.choices and space.is_number_of_keys(param.name):
            for edge in space.range_edges(param):
                if edge in space.variables.get(param.name, ()) and edge != param.default:
                    what = f"{param.name}={edge} at the edge of its range"
                    yield _has_one_of(what, param.name, (edge,))


def _has_one_of(what: str, name: str, values: tuple[Any, ...]) -> Situation:
    def pins(rng: np.random.Generator) -> Pins:
        return {name: values[int(rng.integers(len(values)))]}

    return Situation(what, pins, lambda call: call.params[name] in values)


def _rows(space: CaseSpace) -> Iterator[Situation]:
    def ends_at_edge(call: Call) -> bool:
        tile = tile_of(space, call)
        return any(_is_edge(int(count), (tile,)) for count in key_counts(call).reshape(-1))

    yield Situation("a row that ends at the edge of a tile", lambda rng: {WORKLOAD: EDGE}, ends_at_edge)
    if not space.fills_of_key_counts:
        return
    gaps = dict.fromkeys(space.fills_of_key_counts, GAPS)
    yield Situation(
        "a row without keys among others",
        lambda rng: {**gaps, **_least_counts(space), **_any_work(rng)},
        lambda call: bool(0 < (key_counts(call).sum(axis=0) == 0).sum() < call.extents["B"]),
    )
    if space.counts_differ:
        yield Situation(
            "a row with keys of one source and none of another",
            lambda rng: {**gaps, **_any_work(rng)},
            _lacks_some,
        )


def _any_work(rng: np.random.Generator) -> Pins:
    """Half of the time no workload: rows without keys leave many turns less work than they ask for."""
    return {WORKLOAD: ANY} if rng.random() < 0.5 else {}


def _least_counts(space: CaseSpace) -> Pins:
    """Parameters that count keys, without any keys."""
    counting = [spec.name for spec in space.operator.params if space.counts_keys(spec.name)]
    values = {name: space.variables.get(name, ()) for name in counting}
    return {name: 0 for name, legal in values.items() if 0 in legal}


def _lacks_some(call: Call) -> bool:
    counts = key_counts(call)
    return bool(((counts == 0) & (counts.sum(axis=0) > 0)).any())


def _is_edge(number: int, tiles: tuple[int, ...]) -> bool:
    """Whether a number of keys is that of whole tiles, or one more or less."""
    return any(number >= tile - 1 and (number + 1) % tile <= 2 for tile in tiles)
