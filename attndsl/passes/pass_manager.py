"""The passes after the lowering, with the properties that each requires, establishes and invalidates."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from attndsl.base.errors import InternalError
from attndsl.passes.events.synchronize import synchronize
from attndsl.passes.flags.derive_flags import derive_flags
from attndsl.passes.plan_memory import plan_memory
from attndsl.passes.split_cores import split_cores
from attndsl.tile.program import Program, Property
from attndsl.tile.verifier import check


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """A function from program to program.

    Attributes:
        requires: properties that the program must have before the pass.
        establishes: properties that the program has after the pass, and not before.
        invalidates: required properties that the program no longer has after the pass.
    """

    name: str
    run: Callable[[Program], Program]
    requires: frozenset[Property]
    establishes: frozenset[Property]
    invalidates: frozenset[Property] = frozenset()

    def properties_after(self, established: frozenset[Property]) -> frozenset[Property]:
        """The properties after the pass of a program with the properties ``established`` before it."""
        return (established - self.invalidates) | self.establishes


LOWERED = frozenset({Property.JOINT})
"""Properties of a program after the lowering."""
FINISHED = frozenset({Property.FLAGS, Property.CORES, Property.ADDRESSES, Property.EVENTS})
"""Properties that code generation and the tile backend require."""

PASSES: tuple[Pass, ...] = (
    Pass(
        name="derive_flags",
        run=derive_flags,
        requires=frozenset({Property.JOINT}),
        establishes=frozenset({Property.FLAGS}),
    ),
    Pass(
        name="split_cores",
        run=split_cores,
        requires=frozenset({Property.JOINT, Property.FLAGS}),
        establishes=frozenset({Property.CORES}),
        invalidates=frozenset({Property.JOINT}),
    ),
    Pass(
        name="plan_memory",
        run=plan_memory,
        requires=frozenset({Property.CORES}),
        establishes=frozenset({Property.ADDRESSES}),
    ),
    Pass(
        name="synchronize",
        run=synchronize,
        requires=frozenset({Property.FLAGS, Property.CORES}),
        establishes=frozenset({Property.EVENTS}),
    ),
)
"""The passes in the order in which they run."""


def check_order(passes: tuple[Pass, ...]) -> None:
    """Check that each pass finds the properties that it requires, and that the last program is finished.

    Raises:
        InternalError: a pass requires a property that is not established before it, or establishes one that
            holds already; or a property of finished programs is missing at the end. The message names an
            order that works, if there is one.
    """
    if wrong := _wrong(passes):
        right = ordered(passes)
        works = "" if _wrong(right) else f"; this order works: {', '.join(each.name for each in right)}"
        raise InternalError(f"{wrong}{works}")


def _wrong(passes: tuple[Pass, ...]) -> str:
    """What is wrong with an order first; nothing if it will do."""
    established = LOWERED
    for each in passes:
        if missing := each.requires - established:
            return f"{each.name} requires {_named(missing)}: not established in front of it"
        if twice := each.establishes & established:
            return f"{each.name} establishes {_named(twice)}: established in front of it"
        established = each.properties_after(established)
    missing = FINISHED - established
    return f"a finished program has {_named(missing)}: established by no pass" if missing else ""


def _named(properties: frozenset[Property]) -> str:
    return ", ".join(sorted(item.value for item in properties))


def ordered(passes: Collection[Pass]) -> tuple[Pass, ...]:
    """The passes in an order that their properties allow, else as they are listed.

    Raises:
        InternalError: the properties allow no order.
    """
    import networkx as nx

    graph, place = pass_graph(passes), {each.name: number for number, each in enumerate(passes)}
    by_name = {each.name: each for each in passes}
    try:
        return tuple(by_name[name] for name in nx.lexicographical_topological_sort(graph, key=place.get))
    except nx.NetworkXUnfeasible:
        circle = " -> ".join(first for first, _ in nx.find_cycle(graph))
        raise InternalError(f"passes wait for each other: {circle}") from None


def pass_graph(passes: Collection[Pass]) -> Any:
    """Which pass comes before which: the one that establishes a property before those that require it, and
    these before the one that invalidates it."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(each.name for each in passes)
    for first, second in permutations(passes, 2):
        if first.establishes & second.requires or first.requires & second.invalidates:
            graph.add_edge(first.name, second.name)
    return graph


def run_passes(lowered: Program, passes: tuple[Pass, ...]) -> tuple[Program, Program]:
    """The last program that is joint, and the finished one; every rule that applies is checked in between.

    Raises:
        InternalError: the order of the passes is wrong, or a rule does not hold.
    """
    check_order(passes)
    established = LOWERED
    joint = program = checked(lowered, "lower", established)
    for each in passes:
        established = each.properties_after(established)
        program = checked(each.run(program), each.name, established)
        if Property.JOINT in established:
            joint = program
    return joint, program


def checked(program: Program, after: str, established: frozenset[Property]) -> Program:
    """The program itself, when all rules hold that apply to its properties.

    Args:
        program: a program between two passes.
        after: the name of the pass that made it.
        established: its properties.

    Raises:
        As :func:`run_passes`.
    """
    return check(program, after, established)
