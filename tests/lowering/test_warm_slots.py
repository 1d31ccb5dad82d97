"""Slots of scores that vector cores store to first: where they do, and which part of a slot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.expr import Symbol
from attndsl.lowering.attention.continuous import all_continuous
from attndsl.lowering.attention.warm_slots import warm_slots, warms_slots
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.signature.host_scalars import CORES, START_TOGETHER
from attndsl.lowering.work_partition import add_work_fields, with_item_order
from attndsl.tile.instructions import StoreRows
from tests.support.builders import DECODING, PADDED, attention, context, lines


def prompt(axes: tuple[str, ...] = PADDED, **options: Any) -> Context:
    positions = Symbol("Q") if "Q" in axes else None
    stated = {"max_rows": 256, **options}
    (found,) = with_item_order(all_continuous((context(attention(axes), positions=positions, **stated),)))
    return found


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        ({}, True),
        ({"first_stores": "cube"}, False),
        ({"max_rows": 128}, False),
        ({"max_rows": 128, "first_stores": "vector"}, True),
        ({"score_slots": "ring"}, False),
        ({"pipeline": "drained"}, False),
        ({"tile_k": 1024}, True),
        ({"tile_k": 1088}, False),
    ],
)
def test_vector_cores_store_first_for_tasks_of_several_bands(options: dict[str, Any], holds: bool) -> None:
    """A step has room for 16 rows of 64 numbers: 1,024."""
    assert warms_slots(prompt(**options)) is holds


def test_rows_of_decoding_have_no_slot_less() -> None:
    assert not warms_slots(prompt(DECODING, max_rows=128))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"score_slots": "ring"}, "unless the cube waits for probabilities before scores"),
        ({"tile_k": 1088}, "where a step of weighted sums has no room for a row of scores"),
    ],
)
def test_where_they_cannot_the_schedule_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(IllegalScheduleValue, match=f'first_stores=.vector. must be "cube" or "auto" {why}'):
        warms_slots(prompt(**options, first_stores="vector"))


def test_each_vector_core_stores_its_half_of_each_slot_in_the_order_of_the_steps() -> None:
    c = prompt()
    add_work_fields((c,))
    stage = warm_slots(c)
    (store,) = (item for item in stage.walk() if isinstance(item, StoreRows))
    written: dict[int, list[set[int]]] = {0: [], 1: []}
    for sub in written:
        scalars: dict[str, Any] = {"subBlock": sub, "warmRows": 37, "warmKeys": 100, "rowsPerTask": 256}
        begin, end = (19 * sub, min(19 * (sub + 1), 37))
        for step in (1, 2):
            slot = set[int]()
            for r0 in range(0, end - begin, 8):
                here = {**scalars, "warmStep": step, "firstRow": begin, "r0": r0}
                here["stepRows"] = min(8, end - begin - r0)
                first, rows, cols, pitch = (
                    int(each.evaluate(here))
                    for each in (store.dst.offset, store.dst.rows, store.dst.cols, store.dst.pitch)
                )
                slot |= {first + row * pitch + col for row in range(rows) for col in range(cols)}
            written[sub].append(slot)
    for number, slot_of_step in enumerate((1, 0)):  # the first step has counted itself
        halves = written[0][number], written[1][number]
        assert not halves[0] & halves[1]
        places = np.arange(37)[:, None] * 128 + np.arange(100) + slot_of_step * 256 * 128
        assert halves[0] | halves[1] == set(places.reshape(-1).tolist())


@pytest.mark.parametrize(("queries", "rows"), [(4096, 128), (512, 256), (96, 96)])
def test_small_tasks_that_come_first_have_fewer_rows(queries: int, rows: int) -> None:
    """8 heads of a batch row: of 4,096 positions 16 tasks are small, of 16 x 512 none."""
    c = prompt()
    add_work_fields((c,))
    assert "WarmScores" in warm_slots(c).name
    found: dict[str, Any] = {
        "B": 16 if queries == 512 else 1,
        "Q": queries,
        "T": queries,
        CORES.name: 24,
        START_TOGETHER.name: 1,
    }
    found |= {"N": 8, "K": 8, "D": 64, "E": 64}
    for field in c.inventory.fields:
        found[field.name] = field.value.evaluate({**found, **{f"tiling.{k}": v for k, v in found.items()}})
    assert found["warmRows"] == rows
    assert found["warmKeys"] == min(128, queries)


@pytest.mark.parametrize(("splits", "place"), [("auto", "accumulator"), (1, "partial")])
def test_zeros_stand_where_merges_accumulate_else_where_weighted_sums_arrive(splits: Any, place: str) -> None:
    c = prompt(split_kv=splits)
    add_work_fields((c,))
    found = lines(warm_slots(c))
    assert any(place in line and "rowsOfZeros" in line for line in found), found
