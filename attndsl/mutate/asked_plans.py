"""What a plan is asked beside the calls of cases: other sizes and another device, for which the compiled
program computes tiling data, too. A plan is asked in microseconds, so that edges are asked for that few cases
have: nothing to compute, more tasks than cores, splits that even them out, blocks that do not start together,
every layout of a tensor.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from attndsl.codegen.host.tiling_text import waits_for_all
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import Launch
from attndsl.execute.user_project import NoKernel, ProjectPlan, TooManyRows, UserProject
from attndsl.expr import Expr, Symbol
from attndsl.lowering.signature.host_scalars import CORES, START_TOGETHER, layout_choice

_BATCHES, _TILES = range(41), (0, 1, 2, 16, 100)
"""Batch rows, and key tiles of a row."""
_QUERIES = (0, 1, 65, 1000)
_CORES = (1, 2, 7)


def asked_launches(launch: Launch) -> Iterator[Launch]:
    """Calls like a launch's with other sizes or on another device: scalars and tiling data are theirs,
    tensors those of ``launch``."""
    program = launch.compiled.program
    for change in _changes(launch):
        host = {**launch.host, **change}
        try:
            tiling = program.tiling_values(host)
        except (ZeroDivisionError, KeyError, IndexError):
            continue  # such sizes make no launch
        yield replace(launch, host=host, tiling=tiling)


def _changes(launch: Launch) -> Iterator[Mapping[str, Any]]:
    extents = launch.call.operator.axis_extents
    known = ((axis, extents.get(axis)) for axis in "BTQ")
    sizes = {axis: size.name for axis, size in known if isinstance(size, Symbol) and size.name in launch.host}
    tile = launch.compiled.schedule.tile_k
    keys = [each * tile for each in _TILES]
    wanted = {"B": _BATCHES, "T": keys, "Q": _QUERIES}
    for axis, name in sizes.items():
        yield from ({name: number} for number in wanted[axis])
    if {"B", "T"} <= sizes.keys():
        for rows, number in itertools.product(_BATCHES, keys):
            yield {sizes["B"]: rows, sizes["T"]: number}
    for tensor in launch.call.operator.tensors:
        choice = layout_choice(tensor.name).name
        if choice in launch.host:
            yield from ({choice: number} for number in range(len(tensor.layouts)))
    yield {START_TOGETHER.name: 0}
    yield from ({CORES.name: number} for number in _CORES)


def ask(project: UserProject, launch: Launch, marks: ctypes.Array[ctypes.c_uint8]) -> None:
    """Put to a plan all that :func:`differing_plans` asks, for the statements that it executes, which it
    notes in ``marks``; but for what it finds no kernel for, of which nothing is compared."""
    project.blocks_without_work(launch)
    for each in asked_launches(launch):
        before = bytes(marks)
        if plan_or_none(project, each) is None:
            ctypes.memmove(marks, before, len(before))


def plan_or_none(project: UserProject, launch: Launch) -> ProjectPlan | None:
    """What a project's host decides of a launch, None where it has no kernel."""
    try:
        return project.plan(launch)
    except (NoKernel, TooManyRows):
        return None


def differing_plans(before: UserProject, after: UserProject, launch: Launch) -> Iterator[str]:
    """Where a changed plan is not that of the compiled program, and the plan as it was is: of a launch, of
    those that :func:`asked_launches` makes of it, of one without work."""
    if (blocks := after.blocks_without_work(launch)) != before.blocks_without_work(launch):
        yield f"a call without work is launched with {blocks} blocks"
    for asked in (launch, *asked_launches(launch)):
        right, changed = plan_or_none(before, asked), plan_or_none(after, asked)
        if right is None:
            continue
        if changed is None:
            yield "no kernel is picked for a call that has one"
            continue
        own = set(right.differing(asked))
        yield from (each for each in changed.differing(asked) if each not in own)
        waits = bool(_waits(asked.compiled).evaluate({**asked.host, **asked.tiling}))
        if waits == right.batch_mode != changed.batch_mode:
            told = "wait" if waits else "do not wait"
            yield f"blocks {told} for each other, and batch mode is {changed.batch_mode}"


@lru_cache(maxsize=64)
def _waits(compiled: Compiled) -> Expr:
    return waits_for_all(compiled)
