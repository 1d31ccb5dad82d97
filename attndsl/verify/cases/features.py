"""What a case exercises, read off the declaration and the call: features by name, and the work it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.expr.argument_facts import dtype_of, given, layout_of, split_of
from attndsl.graph.nodes import Listed, LogSumExpMerge, Paged, Scores, TopK, WeightedSum
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.required_options import required_options
from attndsl.reference.query_space import integer, query_space
from attndsl.reference.state import State
from attndsl.reference.whole import new_state
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.verify.cases.case import Case
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.work_clauses import most_splits

_FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True)
class Work:
    """The work of a case as the schedule with the longest ring of the operator's kernels cuts it.

    ``keys``: of the longest row of the longest segment; ``tiles``: its key tiles; ``ring``: slots of the
    ring; ``tasks``: (batch row with keys, key/value head, stretch of query rows); ``cores``: that there are;
    ``reach``: elements that a copy of rows steps by at most; ``splits``: whether the schedule may split the
    keys of such a computation; ``least_tiles``: as ``tiles``, of the shortest segment; ``edge``: whether the
    longest row has the keys of one tile, or one more or less; ``deep``: whether in each segment a core has
    more tiles of a row than the ring has slots, with a split for each of the cores; ``pitch``: elements
    between keys, or values, that are neighbours.
    """

    keys: int
    tiles: int
    ring: int
    tasks: int
    cores: int
    reach: int
    splits: bool = True
    deep: bool = False
    pitch: int = 0
    least_tiles: int = 0
    edge: bool = False

    @property
    def beyond_ring(self) -> bool:
        """Whether a row has more key tiles than the ring has slots."""
        return self.tiles > self.ring

    @property
    def several_a_core(self) -> bool:
        """Whether cores get several tasks."""
        return self.tasks >= 2 * self.cores

    @property
    def wide(self) -> bool:
        """Whether there are keys or values that are farther apart than one copy can express."""
        return self.keys > 1 and self.pitch > self.reach

    @property
    def split(self) -> bool:
        """Whether tasks are so few, and rows so long, that keys are split over cores."""
        return self.splits and self.few and self.tiles > 1

    @property
    def few(self) -> bool:
        """Whether there are tasks for half of the cores at most."""
        return 0 < self.tasks <= self.cores // 2

    def keeps(self, workload: str) -> bool:
        """Whether this is work of a workload class."""
        found = {
            "long": self.beyond_ring and self.least_tiles > 1,
            "several": self.least_tiles > 1,
            "few": self.few,
            "many": self.several_a_core,
            "deep": self.deep,
            "wide": self.wide,
            "edge": self.edge,
        }
        return all(found.get(word, True) for word in workload.split())


def key_counts(call: Call) -> Array:
    """Keys of each batch row in each segment: (segments, B)."""
    state = new_state(call, _FLOAT32)
    sources = [node.values for node in call.graph.nodes if isinstance(node, WeightedSum)]
    batch = range(call.extents["B"])
    return np.array([[state.reader(rows, b, 0).count for b in batch] for rows in sources], np.int64)


def query_counts(call: Call) -> Array:
    """Queries of each batch row, (B,): none where no values are summed."""
    state = new_state(call, _FLOAT32)
    sums = next((node for node in call.graph.nodes if isinstance(node, WeightedSum)), None)
    if sums is None:
        return np.zeros(call.extents["B"], np.int64)
    queries = query_space(state, sums.weights)
    return np.array([queries.count(b) for b in range(call.extents["B"])], np.int64)


def named(operator: str, mode: str, feature: str) -> str:
    """A feature as it is reported: with the mode, where an operator has several."""
    return feature if mode == operator else f"{mode.removeprefix(operator + '_')}: {feature}"


def work_of(space: CaseSpace, call: Call) -> Work:
    """The work of a call."""
    counts, (tile, ring) = key_counts(call), space.edges[0]
    longest = int(counts.max(initial=0))
    rows = np.where(counts.any(axis=0), query_counts(call), 0) * new_state(call, _FLOAT32).heads_per_group
    tasks = call.extents.get("K", 1) * int((-(-rows // space.schedule.max_rows)).sum())
    meant = _meant(call)
    tile, splits = meant.get("tile_k", tile), meant.get("split_kv", space.schedule.split_kv) != 1
    edges = (tile,) if "tile_k" in meant else space.tiles
    device = call.operator.device
    parts = [most_splits(each, device.aic) if splits else 1 for each in _segment_tasks(call, tasks)]
    tiles = -(-counts.max(axis=1, initial=0) // tile)
    deep = bool(len(tiles) and (tiles > ring * np.array(parts)).all())
    reach, pitch = device.architecture.max_nd2nz_pitch, widest_pitch(call, "TUR", "K")
    return Work(
        keys=longest,
        tiles=-(-longest // tile),
        ring=ring,
        tasks=tasks,
        cores=device.aic,
        reach=reach,
        splits=splits,
        deep=deep,
        pitch=pitch,
        least_tiles=int(tiles.min()) if len(tiles) else 0,
        edge=any(abs(longest - each) <= 1 for each in edges),
    )


def tile_of(space: CaseSpace, call: Call) -> int:
    """The keys of a tile in the schedule with the longest ring of the kernels that a call may have."""
    return _meant(call).get("tile_k", space.edges[0][0])


def widest_pitch(call: Call, roles: str, beside: str) -> int:
    """Elements between neighbours along an axis of ``roles``, most of those beside ``beside``."""
    env, found = call.env(), [0]
    for spec in call.operator.tensors:
        if spec.name in call.present and call.layouts.get(spec.name) in spec.layouts:
            steps = spec.layouts[call.layouts[spec.name]].strides()
            found += [int(steps[role].evaluate(env)) for role in roles if role in steps and beside in steps]
    return max(found)


def _segment_tasks(call: Call, tasks: int) -> Iterator[int]:
    """Tasks of each segment: those of groups whose keys rows share are for the groups."""
    for node in call.graph.nodes:
        if isinstance(node, WeightedSum):
            shared = isinstance(node.values, Listed) and node.values.index is not None
            yield call.extents["G"] * call.extents.get("K", 1) if shared else tasks


def _meant(call: Call) -> dict[str, int]:
    """The choices of the schedule that the computation makes."""
    try:
        return {choice.name: choice.value for choice in required_options(recognize(call.graph.outputs))}
    except NotLowered:
        return {}


def features_of(case: Case, call: Call) -> tuple[str, ...]:
    """The features of a call, sorted."""
    return tuple(sorted({*declared_features(call), *_of_data(call, case)}))


def declared_features(call: Call) -> set[str]:
    """Optional tensors, layouts, dtypes and the values of choices."""
    operator = call.operator
    found = {f"dtype {call.dtype}"}
    for spec in operator.tensors:
        if spec.name in call.present:
            if spec.optional:
                found.add(spec.name)
            if len(spec.layouts) > 1:
                found.add(f"{spec.name} as {call.layouts[spec.name]}")
        if call.env_extra.get(split_of(spec.name).name) and spec.split:
            found.add(f"{spec.name} as a list")
    for param in operator.params:
        values = dict.fromkeys(param.choices.values())
        if len(values) > 1:
            found.add(f"{param.name}={_spelling(param, call.params[param.name])}")
        elif param.type is bool:
            found.add(f"{param.name}={call.params[param.name]}")
    return found


def possible_features(space: CaseSpace) -> dict[str, dict[str, Any]]:
    """What :func:`declared_features` may find, whether or not a legal call has it, with the variables of the
    case space that make it."""
    operator = space.operator
    found: dict[str, dict[str, Any]] = {}
    main = operator.tensor(operator.outputs[0].like)
    for dtype in main.dtypes:
        found[f"dtype {dtype}"] = {dtype_of(main.name).name: dtype}
    for spec in operator.tensors:
        passed = {given(spec.name).name: True} if spec.optional else {}
        if spec.optional:
            found[spec.name] = passed
        if len(spec.layouts) > 1:
            for key in spec.layouts:
                found[f"{spec.name} as {key}"] = {**passed, layout_of(spec.name).name: key}
        if spec.split:
            found[f"{spec.name} as a list"] = {**passed, split_of(spec.name).name: True}
    for param in operator.params:
        legal = space.variables.get(param.name, ())
        if len(dict.fromkeys(param.choices.values())) > 1:
            found |= {f"{param.name}={_spelling(param, v)}": {param.name: v} for v in legal}
        elif param.type is bool:
            found |= {f"{param.name}={v}": {param.name: v} for v in legal}
    variables = space.variables
    return {name: {k: v for k, v in pins.items() if k in variables} for name, pins in found.items()}


def _spelling(param: Any, value: Any) -> str:
    """The shortest name of a choice, else its value."""
    names = [name for name, meant in param.choices.items() if meant == value and isinstance(name, str)]
    return min(names, key=len) if names else str(value)


def _of_data(call: Call, case: Case) -> set[str]:
    """Features that elements of integer tensors make, and sizes."""
    found: set[str] = set()
    extents = call.extents
    state = new_state(call, _FLOAT32)
    if extents.get("K", 1) != extents.get("N", 1):
        found.add("grouped heads")
    if extents.get("D") != extents.get("E"):
        found.add("values of another size")
    counts = key_counts(call)
    if counts.size:
        found |= {"row without keys"} if (counts.sum(axis=0) == 0).any() else set()
        found |= {"rows of several lengths"} if len(set(counts.sum(axis=0).tolist())) > 1 else set()
    for node in call.graph.nodes:
        if isinstance(node, Listed) and node.index is not None:
            found |= _of_groups(state, node)
        if isinstance(node, Paged):
            found |= _of_pages(state, node)
        if isinstance(node, LogSumExpMerge) and counts.shape[0] > 1:
            for position in range(counts.shape[0]):
                if ((counts[position] == 0) & (counts.sum(axis=0) > 0)).any():
                    found.add(f"empty segment {position}")
        if isinstance(node, TopK) and node.forced is not None:
            found.add("forced selection")
        if isinstance(node, Scores):
            found |= _of_queries(state, node)
    return found


def _of_groups(state: State, node: Listed) -> set[str]:
    assert node.index is not None
    index = np.array([integer(state, node.index, b) for b in range(state.call.extents["B"])])
    used, times = np.unique(index[index >= 0], return_counts=True)
    found = {"group shared by several rows"} if (times > 1).any() else set()
    found |= {"row without a group"} if (index < 0).any() else set()
    found |= {"no groups"} if state.call.extents.get("G", 1) == 0 else set()
    return found | ({"unused group"} if len(used) < state.call.extents.get("G", 1) else set())


def _of_pages(state: State, node: Paged) -> set[str]:
    size = int(node.block_size.evaluate(state.env))
    table = state.whole(node.table).aligned(("B", "W"))
    counts = [state.reader(node, b, 0).count for b in range(state.call.extents["B"])]
    rows = [table[b, : -(-count // size)] for b, count in enumerate(counts)]
    used = np.concatenate(rows) if rows else np.zeros(0)
    found = {"shared pages"} if len(np.unique(used)) < used.size else set()
    found |= {"permuted pages"} if any((np.diff(row) < 0).any() for row in rows) else set()
    short = any(len(row) < table.shape[1] and table[b, len(row)] < 0 for b, row in enumerate(rows))
    return found | ({"-1 behind the pages"} if short else set())


def _of_queries(state: State, node: Scores) -> set[str]:
    space = query_space(state, node)
    counts = [space.count(b) for b in range(state.call.extents["B"])]
    return {"row without queries"} if 0 in counts and space.starts is not None else set()
