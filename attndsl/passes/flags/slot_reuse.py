"""The proof that no ring slot of a skewed loop is overwritten before it was read.

Both cores are followed over runs of the loop of several lengths: their executions of stages, each core's in
its own order, with an edge from the raise of a flag to its wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from attndsl.target import Core
from attndsl.tile.pipeline_skew import tiles

SOUND, STUCK = -1, -2

Execution = tuple[int, int, int]
"""One execution of a stage: which stage, which run of the loop, which tile of that run."""


@lru_cache(maxsize=256)
def first_defect(
    cores: tuple[Core, ...],
    lags: tuple[int, ...],
    rings: tuple[tuple[int, int], ...],
    depth: int,
) -> int:
    """The ring whose slot is overwritten early, or STUCK, or SOUND.

    ``rings``: writing and reading stage of each.

    Runs of different lengths follow each other in pairs, and with a run of no or one tile between them, so
    that slots remain from runs that differ.
    """
    extents = sorted({0, 1, depth - 1, depth, depth + 1, 2 * depth + 1})
    between = ((), (0,), (1,))
    for runs in ((a, *some, b) for a in extents for some in between for b in extents):
        found = defect_of_runs(cores, lags, rings, depth, runs)
        if found != SOUND:
            return found
    return SOUND


@lru_cache(maxsize=256)
def first_defect_of_steps(
    cores: tuple[Core, ...],
    lags: tuple[int, ...],
    rings: tuple[tuple[int, int], ...],
    depth: int,
    waits: tuple[int, ...] = (),
    slots: tuple[int, ...] = (),
) -> int:
    """The same for a continuous loop: one run of all steps, of which any may have no work.

    ``waits``: for each ring the stage of the reading core that waits for its flag, if not the reader.
    ``slots``: for each ring how many it has, if not ``depth``.

    A step without work takes its executions out of each core's order, and its flags: what a core knows of the
    other becomes less, never more, and no circle comes into being. So a slot is safe between two tiles
    whatever lies between them if it is safe where nothing does. Runs have one slot more than twice the ring.
    """
    steps = 2 * depth + 1
    distances = sorted({depth, *slots})
    alone = (
        {first, last}
        for distance in distances
        for first in range(steps)
        for last in range(first + distance, steps, distance)
    )
    for present in (set(range(steps)), *alone):
        absent = frozenset(range(steps)) - present
        found = defect_of_runs(cores, lags, rings, depth, (steps,), absent=absent, waits=waits, slots=slots)
        if found != SOUND:
            return found
    return SOUND


def defect_of_runs(
    cores: tuple[Core, ...],
    lags: tuple[int, ...],
    rings: tuple[tuple[int, int], ...],
    depth: int,
    runs: tuple[int, ...],
    absent: frozenset[int] = frozenset(),
    waits: tuple[int, ...] = (),
    slots: tuple[int, ...] = (),
) -> int:
    """The ring whose slot is overwritten early where the loop runs for ``runs`` tiles, STUCK or SOUND.

    ``absent``: tiles in which no stage has work. ``waits``, ``slots``: as of :func:`first_defect_of_steps`.
    """
    orders = {
        core: [each for each in executions(cores, lags, core, runs) if each[2] not in absent] for core in Core
    }
    flags = flag_edges(orders, rings, waits)
    if flags is None:
        return STUCK
    place = {execution: number for order in orders.values() for number, execution in enumerate(order)}
    finished = finished_of_other(execution_graph(orders, flags), place)
    if finished is None:
        return STUCK
    holder: dict[tuple[int, int], tuple[int, int]] = {}  # ring, slot: run and tile inside
    for execution in finished:
        stage, run, tile = execution
        for number in (number for number, (writer, _) in enumerate(rings) if writer == stage):
            slot = (number, tile % (slots[number] if slots else depth))
            if slot in holder:
                last = (rings[number][1], *holder[slot])
                if place[last] >= finished[execution]:
                    return number
            holder[slot] = (run, tile)
    return SOUND


def flag_edges(
    orders: Mapping[Core, list[Execution]],
    rings: tuple[tuple[int, int], ...],
    waiting: tuple[int, ...] = (),
) -> list[tuple[Execution, Execution]] | None:
    """Which execution sets a flag for which: the n-th wait for a flag gets what the n-th set tells, all that
    the setting core did before; None where nobody sets what is awaited."""
    found: list[tuple[Execution, Execution]] = []
    by_stage: dict[int, list[Execution]] = {}
    for execution in (execution for order in orders.values() for execution in order):
        by_stage.setdefault(execution[0], []).append(execution)
    for number, (writer, reader) in enumerate(rings):
        waits = waiting[number] if waiting else reader  # if not the reader, on its core and before it
        sets, awaited = by_stage.get(writer, []), by_stage.get(waits, [])
        if len(sets) < len(awaited):
            return None
        found.extend(zip(sets, awaited, strict=False))
    return found


def execution_graph(orders: Mapping[Core, list[Execution]], flags: list[tuple[Execution, Execution]]) -> Any:
    """What comes before what: a core's executions one after the other, and who sets a flag before who waits
    for it (``flag``)."""
    import networkx as nx  # whoever reads a stored program does not wait for it

    graph = nx.DiGraph()
    for order in orders.values():
        nx.add_path(graph, order, flag=False)
    graph.add_edges_from(flags, flag=True)
    return graph


def finished_of_other(graph: Any, place: Mapping[Execution, int]) -> dict[Execution, int] | None:
    """How many executions of the other core are known to be over when each one begins, in an order in which
    they may; None where each waits for the next."""
    import networkx as nx

    try:
        begun = list(nx.topological_sort(graph))
    except nx.NetworkXUnfeasible:
        return None
    found: dict[Execution, int] = {}
    for execution in begun:
        known = 0
        for before, edge in graph.pred[execution].items():
            known = max(known, place[before] + 1 if edge["flag"] else found[before])
        found[execution] = known
    return found


def executions(
    cores: tuple[Core, ...], lags: tuple[int, ...], core: Core, runs: tuple[int, ...]
) -> list[Execution]:
    """The order in which a core runs its stages, the loop running once for each of ``runs`` tiles."""
    mine = [(stage, lags[stage]) for stage in range(len(cores)) if cores[stage] is core]
    deepest = max((lag for _, lag in mine), default=0)
    order: list[Execution] = []
    for run, extent in enumerate(runs):
        columns = [tiles(lag, deepest, extent) for _, lag in mine]
        for step in zip(*columns, strict=True):
            order += [(mine[i][0], run, tile) for i, tile in enumerate(step) if tile is not None]
    return order
