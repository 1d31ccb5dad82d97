"""The calls of cases, some as on a device whose L2 holds keys and values of few heads alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from attndsl.base.errors import UserError
from attndsl.compiler.prepare_launch import prepare
from attndsl.lowering.signature.host_scalars import L2_BYTES
from attndsl.spec.binding.call import Call
from attndsl.verify.cases.case import Case

_LEAST, _STEP = 1 << 10, 0.8
"""Bytes below which no smaller L2 is tried, and what each size is of the one before."""
_AT_ONCE = "headsAtOnce"


def call_of(case: Case) -> Call:
    """The bound call of a case, every other one with less L2 if that makes its tasks another order."""
    call = case.call()
    return call if case.number % 2 else with_less_l2(call)


def with_less_l2(call: Call) -> Call:
    """The call with the largest L2 of those tried that cuts heads into groups of which the last is smaller:
    tasks of a group come before those of the next. The call as it is where no L2 does that without changing
    other tiling values."""
    try:
        launch = prepare(call)
    except UserError:  # reported when the call runs
        return call
    if not any(name.startswith(_AT_ONCE) for name in launch.tiling):
        return call
    for size in _sizes(int(launch.host[L2_BYTES.name])):
        tiling = launch.compiled.program.tiling_values({**launch.host, L2_BYTES.name: size})
        if _has_smaller_group(tiling) and _but_groups(tiling) == _but_groups(launch.tiling):
            return replace(call, l2_bytes=size)
    return call


def _sizes(held: int) -> Iterator[int]:
    while held > _LEAST:
        held = int(held * _STEP)
        yield held


def _has_smaller_group(tiling: Mapping[str, int | float]) -> bool:
    heads = tiling["kvHeads"] * tiling["headTiles"]
    at_once = [number for name, number in tiling.items() if name.startswith(_AT_ONCE)]
    return any(number < heads and heads % number for number in at_once)


def _but_groups(tiling: Mapping[str, int | float]) -> dict[str, int | float]:
    return {name: number for name, number in tiling.items() if not name.startswith(_AT_ONCE)}
