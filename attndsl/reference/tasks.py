"""Tasks: the blocks of queries that threads share out among themselves, and the rows that each reads."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import NamedTuple

from attndsl.graph.nodes import Rows
from attndsl.reference.blocks import Block, Part
from attndsl.reference.query_space import QuerySpace
from attndsl.reference.row_reader import RowReader
from attndsl.reference.state import State
from attndsl.reference.threads import cores

QUERY_ROWS_IN_BLOCK = 128
_NO_KEYS = Part(slice(0, 0))


class Task(NamedTuple):
    """A block of queries of a batch row and key/value head."""

    b: int
    k: int
    queries: slice


def query_tasks(state: State, space: QuerySpace) -> list[Task]:
    """All blocks of queries. Those of one batch row and head follow each other, so that threads read the same
    rows at a time; the last queries first, as causal masks leave them most to do."""
    step = queries_in_block(state)
    rows = [(b, k) for b in range(state.call.extents["B"]) for k in range(state.call.extents.get("K", 1))]
    return [
        Task(b, k, slice(start, min(start + step, count)))
        for b, k in rows
        if (count := space.count(b))
        for start in reversed(range(0, count, step))
    ]


def spread(tasks: list[Task], most: int | None) -> tuple[list[Task], list[Task]]:
    """At most ``most`` of the tasks, evenly chosen, and the others."""
    if most is None or len(tasks) <= most:
        return tasks, []
    chosen = {index * (len(tasks) - 1) // max(most - 1, 1) for index in range(most)}
    return (
        [task for index, task in enumerate(tasks) if index in chosen],
        [task for index, task in enumerate(tasks) if index not in chosen],
    )


def queries_in_block(state: State) -> int:
    """Queries in a block; those of all heads of a group are its rows."""
    return max(1, QUERY_ROWS_IN_BLOCK // state.heads_per_group)


def query_block(state: State, space: QuerySpace, task: Task, readers: dict[int, RowReader]) -> Block:
    """The block of a task, with no key yet."""
    heads = state.heads_of(task.k)
    location = space.locate(task.b, heads, task.queries)
    return Block(task.b, task.k, heads, task.queries, _NO_KEYS, readers, {}, location)


@dataclass(frozen=True)
class Rowset:
    """The rows of one batch row and head: readers by the node that they belong to, and the valid keys."""

    readers: dict[int, RowReader]
    first: int
    count: int


class Rowsets:
    """The rows that tasks read, from ``sources`` of keys and values, ``step`` rows at a time.

    Tasks of one batch row and head share them and what they have converted, for as long as others follow.
    """

    def __init__(self, state: State, sources: list[Rows], step: int) -> None:
        self._state, self._sources = state, sources
        self._piece = step if state.call.extents["Q"] > queries_in_block(state) else 0
        self._found: dict[tuple[int, int], Rowset] = {}
        self._lock = threading.Lock()

    def of(self, task: Task) -> Rowset:
        """The rows of a task; the verifier saw that all sources have the same."""
        place = (task.b, task.k)
        with self._lock:
            if place not in self._found:
                if len(self._found) > cores():
                    del self._found[next(iter(self._found))]
                self._found[place] = self._made(*place)
            return self._found[place]

    def _made(self, b: int, k: int) -> Rowset:
        readers = {id(rows): self._state.reader(rows, b, k, piece=self._piece) for rows in self._sources}
        any_reader = readers[id(self._sources[0])]
        return Rowset(readers, any_reader.first, any_reader.count)
