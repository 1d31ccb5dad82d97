"""What clauses about the work of a case ask: affordable sizes, long rows, few or many tasks."""

from __future__ import annotations

import collections
from typing import Any

import pytest

from attndsl import ops
from attndsl.base.package_files import specs_dir
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.cases import spaces
from attndsl.verify.space.clauses import Clause
from attndsl.verify.space.size_facts import EXTENTS
from attndsl.verify.space.values import WORKLOAD
from attndsl.verify.space.work_clauses import may_be_wide

(RELAY,), (INCRE,) = spaces(ops.relay_attention), spaces(ops.incre_flash_attention)
TILE, RING = RELAY.edges[0]
CORES = RELAY.operator.device.aic


def clause(name: str, space: Any = RELAY) -> Clause:
    return next(each for each in space.clauses if each.name == name)


def env(workload: str = "any", **extents: int) -> dict[str, Any]:
    """The environment of a case of that work with these sizes, all tensors absent."""
    found: dict[str, Any] = collections.defaultdict(lambda: False)
    found |= {WORKLOAD: workload, EXTENTS: extents}
    return found


@pytest.mark.parametrize(
    ("extents", "elements", "scores"),
    [
        ({"B": 2, "T": 1000, "K": 3, "D": 64, "E": 80}, 2 * 1000 * 3 * 80, 2 * 1000),
        ({"B": 2, "T": 1000, "K": 3, "D": 80, "E": 64, "Y": 4}, 2 * 1000 * 4 * 3 * 80, 2 * 1000),
        ({"P": 40, "R": 512, "K": 2, "D": 128}, 40 * 512 * 2 * 128, 1),
        ({"G": 5, "U": 4000, "K": 1, "D": 16}, 5 * 4000 * 16, 4000),
        ({"B": 3, "N": 8, "Q": 200, "T": 300, "D": 16}, 3 * 8 * 200 * 16, 3 * 8 * 200 * 300),
        ({"S": 900, "N": 8, "Q": 2, "D": 64, "B": 3}, 900 * 8 * 64, 3 * 8 * 2),
        ({"B": 3, "N": 8, "Q": 500, "S": 9, "D": 64}, 3 * 500 * 8 * 64, 3 * 8 * 500),
    ],
)
def test_the_largest_tensor_or_all_scores_decide_what_is_affordable(
    extents: dict[str, int], elements: int, scores: int
) -> None:
    """Keys of all layers, pages and groups, queries however they are stored, and scores over the longest."""
    small = clause("small enough to run")
    assert small.gap is not None
    wanted = max(elements / (1 << 21), scores / (1 << 22))
    assert small.gap(env(**extents)) == pytest.approx(wanted)
    assert small.holds(env(**extents)) is (wanted <= 1)


def test_what_is_exactly_affordable_is() -> None:
    small = clause("small enough to run")
    assert small.holds(env(B=1, T=1 << 14, K=1, D=128))
    assert not small.holds(env(B=1, T=(1 << 14) + 1, K=1, D=128))


@pytest.mark.parametrize(
    ("workload", "keys", "shared", "missing"),
    [
        ("any", 1, 1, 0),
        ("few", 1, 1, 0),
        ("long few", TILE * RING, TILE + 1, 1),
        ("long few", TILE * RING + 1, TILE + 1, 0),
        ("long few", TILE * RING + 1, TILE - 4, 5),
        ("long many", TILE + 1, TILE * RING + 1, 0),
        ("long", TILE + 7, TILE * RING - 9, 10),
        ("several", TILE + 1, TILE + 1, 0),
        ("several", TILE, TILE - 1, 3),
    ],
)
def test_long_rows_have_more_tiles_than_the_ring_has_slots(
    workload: str, keys: int, shared: int, missing: int
) -> None:
    """In one of the segments, and several in the others."""
    rows = clause("long rows")
    assert rows.gap is not None
    sizes = {"B": 1, "N": 1, "K": 1, "T": keys, "U": shared, "G": 1}
    assert max(rows.gap(env(workload, **sizes)), 0) == missing
    assert rows.holds(env(workload, **sizes)) is (missing == 0)


def test_deep_rows_are_long_for_each_core_in_each_segment() -> None:
    """With as many splits as there are cores a task."""
    rows = clause("long rows")
    assert rows.gap is not None
    sizes = {"B": CORES // 2, "N": 1, "K": 1, "G": CORES, "T": 2 * TILE * RING + 1, "U": TILE * RING + 1}
    assert rows.holds(env("deep long", **sizes))
    assert rows.gap(env("deep long", **sizes | {"T": 2 * TILE * RING})) == 1
    assert rows.gap(env("deep long", **sizes | {"T": 2 * TILE * RING, "U": TILE * RING - 2})) == 4
    assert rows.gap(env("deep", **sizes | {"G": CORES // 4})) == 3 * TILE * RING


def test_each_capacity_of_a_cascade_is_long_enough() -> None:
    """Levels whose largest is the extent of the keys are segments of their own, with the values of keys."""
    (cascade,) = spaces(load(str(specs_dir() / "variants" / "cascade.py")))
    tile, ring = cascade.edges[0]
    rows, sizes = clause("long rows", cascade), {"B": 1, "N": 1, "K": 1, "Q": 1}
    for name in ("T1", "T2", "T3"):
        assert set(cascade.sizes_of("T")) <= set(cascade.variables[name])
    levels = {"T1": tile + 1, "T2": tile * ring + 1, "T3": tile + 1}
    assert rows.holds(env("long few", **sizes, T=tile * ring + 1) | levels)
    assert rows.gap is not None
    assert rows.gap(env("long few", **sizes, T=tile * ring + 1) | levels | {"T3": tile - 1}) == 2


def test_cases_ask_for_wide_rows_where_some_sizes_make_them() -> None:
    """One head of at most 512 channels is never so wide; 256 heads of them are."""
    (latent,) = spaces(load(str(specs_dir() / "variants" / "mla_decode.py")))
    assert not may_be_wide(latent, latent.variables)
    assert may_be_wide(RELAY, RELAY.variables) and may_be_wide(INCRE, INCRE.variables)
    most = RELAY.operator.device.architecture.max_nd2nz_pitch
    wide = clause("wide rows", latent)
    assert not wide.holds(env("wide", K=1, D=512, E=most)) and wide.holds(env("wide", K=1, D=1, E=most + 1))
    assert may_be_wide(latent, {**latent.variables, "latent": (most + 1,)})
    assert not may_be_wide(latent, {**latent.variables, "latent": (most,)})


@pytest.mark.parametrize(("keys", "holds"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_rows_that_end_with_a_tile_miss_it_by_a_key_at_most(keys: int, holds: bool) -> None:
    sizes = {"B": 1, "N": 1, "K": 1}
    assert clause("rows of a tile").holds(env("edge many", **sizes, T=TILE + keys)) is holds
    assert clause("rows of a tile").holds(env("many", **sizes, T=TILE + keys))


@pytest.mark.parametrize(
    ("workload", "heads", "channels", "missing"),
    [("any", 1, 1, 0), ("wide", 256, 256, 0), ("wide", 255, 257, 1), ("wide", 1, 512, 65536 - 512)],
)
def test_wide_rows_are_beyond_one_copy(workload: str, heads: int, channels: int, missing: int) -> None:
    rows = clause("wide rows")
    assert rows.gap is not None
    for sizes in ({"D": channels, "E": 1}, {"D": 1, "E": channels}):
        assert rows.gap(env(workload, K=heads, **sizes)) == missing
        assert rows.holds(env(workload, K=heads, **sizes)) is (missing == 0)


@pytest.mark.parametrize(
    ("workload", "batch", "holds"),
    [
        ("any", 1, True),
        ("few", CORES // 2, True),
        ("few", CORES // 2 + 1, False),
        ("many", 2 * CORES, True),
        ("many", 2 * CORES - 1, False),
        ("long few", CORES, False),
        ("deep many", CORES, False),
    ],
)
def test_few_tasks_are_for_half_of_the_cores_and_many_for_each_twice(
    workload: str, batch: int, holds: bool
) -> None:
    assert clause("tasks").holds(env(workload, B=batch, N=1, K=1, Q=1)) is holds


@pytest.mark.parametrize(
    ("extents", "tasks"),
    [
        ({"B": 3, "N": 8, "K": 2}, 6),
        ({"B": 1, "N": RELAY.schedule.max_rows, "K": 1}, 1),
        ({"B": 1, "N": RELAY.schedule.max_rows + 1, "K": 1}, 2),
        ({"B": 2, "N": 4, "K": 4, "Q": RELAY.schedule.max_rows + 1}, 16),
        ({}, 1),
    ],
)
def test_tasks_are_stretches_of_rows_of_a_key_head(extents: dict[str, int], tasks: int) -> None:
    assert RELAY.tasks(extents) == tasks


@pytest.mark.parametrize(
    ("workload", "own", "shared", "holds"),
    [
        ("any", "zero", "zero", True),
        ("long few", "zero", "zero", False),
        ("long few", "mixed", "mixed", True),
        ("long few", "edges", "full", True),
        ("long few", "single", "full", False),
        ("few", "single", "one", True),
    ],
)
def test_lengths_are_full_where_rows_shall_be_long(workload: str, own: str, shared: str, holds: bool) -> None:
    lengths = {"fill(kvSeqLen)": own, "fill(kvShareLen)": shared}
    assert clause("rows are full where they shall be long").holds(env(workload) | lengths) is holds


def test_groups_are_read_where_rows_shall_be_long() -> None:
    filled = clause("rows are full where they shall be long")
    lengths = {"fill(kvSeqLen)": "full", "fill(kvShareLen)": "full"}
    assert not filled.holds(env("deep long") | lengths | {"fill(kvShareMap)": "zero"})
    assert filled.holds(env("deep long") | lengths | {"fill(kvShareMap)": "mixed"})
    assert not filled.holds(env("long few") | lengths | {"fill(kvShareMap)": "zero"})
    assert filled.holds(env("few") | lengths | {"fill(kvShareMap)": "zero"})


def test_keys_are_those_of_a_split_where_a_schedule_may_split() -> None:
    (nsa,) = spaces(ops.nsa_compress_attention)
    tile, ring = nsa.edges[0]
    parts = 1 if nsa.schedule.split_kv == 1 else nsa.operator.device.aic
    rows, sizes = clause("long rows", nsa), {"B": 1, "N": 1, "K": 1, "Q": 1}
    assert rows.holds(env("deep long", **sizes, T=tile * ring * parts + 1))
    assert not rows.holds(env("deep long", **sizes, T=tile * ring * parts))
