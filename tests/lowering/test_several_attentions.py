"""Several attentions in one kernel: which block has which items, and items that are in flight at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.compiler.prepare_launch import prepare
from attndsl.execute import execute
from attndsl.expr import Expr
from attndsl.graph import nodes
from attndsl.lowering.attention.continuous import all_continuous
from attndsl.lowering.attention.item_turns import turn_of, turns
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.work_partition import item_of_round
from attndsl.tile.statements import Let
from attndsl.tile_interpreter.run import interpret
from tests.support.builders import DECODING, attention, contexts, dense, tensor

relay = ops.relay_attention


def two_attentions(pipeline: str) -> tuple[Context, ...]:
    query = tensor("query", DECODING)
    parts = tuple(attention(query, dense(name)).source for name in ("key", "old"))
    merged = nodes.LogSumExpMerge(parts=parts)
    output = nodes.Output(name="out", source=merged, dtype="query", axes=("B", "N", "Q", "E"))
    return all_continuous(contexts(output, pipeline=pipeline))


def turns_of(context: Context, env: dict[str, int]) -> list[int]:
    """The turns of a block's loop."""
    bounds, known = turns(context), dict[str, Any](env)

    def value(expr: Expr) -> int:
        return int(expr.evaluate(known))

    for each in bounds.scalars:
        assert isinstance(each, Let)
        known[each.symbol.name] = value(each.value)
    return list(range(value(bounds.begin), value(bounds.end), env["blockCount"]))


@pytest.mark.parametrize("pipeline", ["continuous", "drained"])
@pytest.mark.parametrize(("first", "second"), [(40, 16), (16, 40), (7, 1), (1, 7), (24, 24), (5, 0), (0, 5)])
def test_each_item_is_done_once_and_a_block_finishes_what_it_began(
    pipeline: str, first: int, second: int
) -> None:
    """Items of the second attention begin at the block behind that of the last of the first."""
    found, blocks = two_attentions(pipeline), min(24, max(first, second))
    done: dict[str, list[int]] = {context.attention_name: [] for context in found}
    loads = []
    for block in range(blocks):
        env = {"blockIndex": block, "blockCount": blocks}
        env |= {found[0].items.name: first, found[1].items.name: second}
        loads.append(0)
        for context in found:
            items = turns_of(context, env)
            own = [item for item in items if item < env[context.items.name]]
            more = 1 if own and pipeline == "continuous" else 0
            assert len(items) == len(own) + more
            done[context.attention_name] += own
            loads[-1] += len(own)
    assert [sorted(items) for items in done.values()] == [list(range(first)), list(range(second))]
    assert max(loads) - min(loads) <= 1


@pytest.mark.parametrize(("first", "second"), [(40, 16), (16, 40), (7, 50), (24, 24)])
def test_rounds_turn_about_among_the_items_of_each(first: int, second: int) -> None:
    """Where the longest come first: each item of the second attention once, too, in every other round the
    last block's first."""
    found, blocks = two_attentions("drained"), 8
    for each, count in zip(found, (first, second), strict=True):
        context, taken = replace(each, longest_first=True), list[int]()
        for block in range(blocks):
            env = {"blockIndex": block, "blockCount": blocks}
            env |= {found[0].items.name: first, found[1].items.name: second}
            order = item_of_round(context)
            taken += [
                int(order.evaluate({**env, turn_of(context).name: turn})) for turn in turns_of(context, env)
            ]
        assert sorted(taken) == list(range(count))


def call(rows: int, groups: int, own: int, shared: list[int], seed: int = 0) -> dict[str, Any]:
    """Batch rows on groups at random, some on none; heads of 16 channels, two for each key head."""
    random = np.random.default_rng(seed)
    of_row = random.integers(-1, groups, rows).astype(np.int32)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float16)

    lengths = [own - row % 3 + (shared[group] if group >= 0 else 0) for row, group in enumerate(of_row)]
    return {
        "query": normal(rows, 4 * 16),
        **{name: [normal(own, 2, 16) for _ in range(rows)] for name in ("key", "value")},
        **{name: [normal(max(shared), 2, 16) for _ in range(groups)] for name in ("keyShare", "valueShare")},
        "attentionMask": np.zeros(1, np.float16),
        "seqLen": np.ones(rows, np.int32),
        "kvSeqLen": np.array(lengths, np.int32),
        "kvShareMap": of_row,
        "kvShareLen": np.array(shared, np.int32),
        "headNum": 4,
        "kvHeadNum": 2,
        "qkScale": 0.25,
    }


@pytest.mark.parametrize(
    ("groups", "rows", "cores"),
    [(6, 20, 1), (9, 30, 2), (1, 9, 5)],
    ids=["many groups on one core", "empty groups", "fewer shared items than blocks"],
)
@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_rows_collected_for_items_in_flight_stay_their_own(
    groups: int, rows: int, cores: int, backend: str
) -> None:
    """Shared keys fit a tile, so that three groups are in flight at once, each with batch rows of its own."""
    given = call(rows, groups, 20, [(5 * group) % 37 for group in range(1, groups + 1)])
    expected = np.asarray(relay(**given), np.float32)
    bound = relay.bind(**given)
    if backend == "emulator":
        (out,) = execute.run(bound, cores=cores)  # raises for findings
    else:
        launch = prepare(bound, cores)
        interpret(launch)
        out = launch.arguments["out"]
    np.testing.assert_allclose(
        np.asarray(out, np.float32).reshape(expected.shape), expected, rtol=3e-3, atol=3e-3
    )


def tiling(rows: int, heads: int, shared: int, groups: int = 1) -> dict[str, Any]:
    """What the host computes with heads of 128 channels, 8 of keys, and rows on the groups in turn."""

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.float16)

    given = call(rows, groups, 8, [shared] * groups)
    given |= {
        "query": zeros(rows, heads * 128),
        **{name: [zeros(8, 8, 128)] * rows for name in ("key", "value")},
        **{name: [zeros(shared, 8, 128)] * groups for name in ("keyShare", "valueShare")},
        "headNum": heads,
        "kvHeadNum": 8,
    }
    return dict(prepare(relay.bind(**given)).tiling)


def test_shared_keys_are_split_where_that_evens_out_the_cores() -> None:
    """16 tasks on 24 cores: a third of the keys each, two items a core. 8 tasks: three parts, one a core."""
    found = tiling(48, 32, 4096, groups=2)
    assert (found["tasksKeyShare"], found["splitsKeyShare"]) == (16, 3)
    found = tiling(48, 32, 8192)
    assert (found["tasksKeyShare"], found["splitsKeyShare"]) == (8, 3)


def test_tasks_of_few_tiles_have_one_band_of_rows() -> None:
    """Eight heads a member: 16 members are 128 rows. A core has less than twice ``ring`` tiles of more."""
    assert tiling(60, 64, 1024)["membersPerTask"] == 16
    assert tiling(60, 64, 8192)["membersPerTask"] == 32


def test_steps_are_named_for_an_attention_where_there_are_several() -> None:
    own, old = two_attentions("drained")
    assert own.stage_name("LoadQuery") == "LoadQueryForKey"
    assert old.stage_name("LoadQuery") == "LoadQueryForOld"
    assert replace(own, attention_name="").stage_name("LoadQuery") == "LoadQuery"
