"""One loop over the items of two attentions: which item comes at which place, and where there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from attndsl.expr import Symbol
from attndsl.graph import nodes
from attndsl.lowering.attention.continuous import all_continuous
from attndsl.lowering.attention.warm_slots import warms_in_steps
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.joint_items import item_of_place, items_of_block, with_joint_items
from attndsl.lowering.lower import lower
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.tile.program import Program
from attndsl.tile.statements import Either, EitherStage, Let, Pipelined, Stage
from tests.support.builders import DECODING, attention, contexts, dense, scalar, signature, tensor
from tests.support.devices import DEVICE

OVER = Symbol("overKey")


def attentions(*names: str, **options: Any) -> tuple[Context, ...]:
    query = tensor("query", DECODING)
    parts = tuple(attention(query, dense(name)).source for name in names)
    merged = nodes.LogSumExpMerge(parts=parts) if len(parts) > 1 else parts[0]
    output = nodes.Output(name="out", source=merged, dtype="query", axes=("B", "N", "Q", "E"))
    return all_continuous(contexts(output, **options))


def sequence(block: int, blocks: int, first: int, second: int, alike: int = 1) -> list[tuple[bool, int]]:
    """Whether each turn of a block is one of the first attention, and its item.

    ``alike``: items of the second that follow each other and have the same keys.
    """
    found = with_joint_items(attentions("key", "old"))
    known: dict[str, Any] = {"blockIndex": block, "blockCount": blocks, "headTiles": alike}
    known |= {found[0].items.name: first, found[1].items.name: second}
    pair = found[0], found[1]
    scalars, items = items_of_block(pair)

    def define(lets: list[Any]) -> None:
        for each in lets:
            assert isinstance(each, Let)
            known[each.symbol.name] = each.value.evaluate(known)

    define(scalars)
    count, turns = items.evaluate(known), list[tuple[bool, int]]()
    for place in range(count + min(count, 1)):
        known["place"] = place
        define(item_of_place(pair, OVER, items))
        turns.append((bool(known[OVER.name]), int(known["turn"])))
    return turns


@pytest.mark.parametrize(
    ("first", "second"), [(40, 16), (16, 40), (7, 1), (1, 7), (24, 24), (5, 0), (0, 0), (2, 60)]
)
def test_each_item_is_done_once_and_then_a_block_drains(first: int, second: int) -> None:
    """The turn that drains is one of the first attention, which has items where there are any."""
    done: dict[bool, list[int]] = {True: [], False: []}
    for block in range(8):
        turns = sequence(block, 8, first, second)
        for of_first, item in turns[:-1]:
            done[of_first].append(item)
        if turns:
            of_first, item = turns[-1]
            assert of_first and item >= first > 0
    assert sorted(done[True]) == list(range(first)) and sorted(done[False]) == list(range(second))


def test_items_of_the_second_attention_stand_evenly_among_those_of_the_first() -> None:
    def order(first: int, second: int) -> str:
        return "".join("ab"[not of_first] for of_first, _ in sequence(0, 1, first, second)[:-1])

    assert order(9, 2) == "aaabaaabaaa"
    assert order(3, 3) == "bababa"
    assert order(2, 5) == "bbabbba"
    assert order(2, 0) == "aa"


def places(first: int, second: int, *, blocks: int = 8, alike: int = 1) -> list[list[int]]:
    """At which places each block has items of the second attention."""
    turns = (sequence(block, blocks, first, second, alike)[:-1] for block in range(blocks))
    return [[at for at, (of_first, _) in enumerate(each) if not of_first] for each in turns]


def test_blocks_begin_items_of_the_second_attention_one_after_the_other() -> None:
    """Half of the places between two of them later, to half of them sooner."""
    assert places(8 * 15, 8) == [[at] for at in (11, 10, 9, 8, 7, 6, 5, 4)]
    assert places(8 * 15, 16) == [[at, at + 6] for at in (8, 7, 7, 6, 5, 4, 4, 3)]


def test_blocks_whose_items_of_the_second_attention_have_the_same_keys_keep_step() -> None:
    assert places(8 * 15, 8, alike=2) == [[at] for at in (11, 11, 9, 9, 7, 7, 5, 5)]
    # 121 items of the first attention: block 1 has the first item of the second one, block 0 the last
    assert [each[0] for each in places(8 * 15 + 1, 8, alike=4)] == [7, 11, 11, 11, 11, 7, 7, 7]


@pytest.mark.parametrize(
    ("names", "options", "why"),
    [
        (("key",), {}, "unless there are two attentions"),
        (("key", "old", "older"), {}, "unless there are two attentions"),
        (("key", "old"), {"pipeline": "drained"}, "in a pipeline that drains"),
    ],
)
def test_where_there_are_separate_loops(names: tuple[str, ...], options: dict[str, Any], why: str) -> None:
    found = attentions(*names, **options)
    assert not any(each.joint for each in with_joint_items(found))
    stated = tuple(replace(each, schedule=replace(each.schedule, item_loops="joint")) for each in found)
    with pytest.raises(IllegalScheduleValue, match=f'item_loops=.joint. must be "separate" or "auto" {why}'):
        with_joint_items(stated)


def test_a_schedule_may_have_separate_loops_where_one_could_be() -> None:
    assert all(each.joint for each in with_joint_items(attentions("key", "old")))
    assert not any(each.joint for each in with_joint_items(attentions("key", "old", item_loops="separate")))


def test_what_belongs_to_the_loop_has_one_name() -> None:
    own, old = with_joint_items(attentions("key", "old"))
    assert own.loop_label("scoreRing") == old.loop_label("scoreRing") == "scoreRing"
    assert (own.label("items"), old.label("items")) == ("itemsKey", "itemsOld")


def own_and_shared(*, shared_first: bool = False, **options: Any) -> Program:
    """Rows with keys of their own, and with those that groups of four share."""
    group = scalar(Symbol("b") // 4, "B")
    listed = nodes.Listed(
        tensors=tensor("prefix", ("G", "K", "T", "D")), index=group, axes=("B", "K", "T", "D")
    )
    query = tensor("query", DECODING)
    sources = [attention(query, keys).source for keys in (dense("key"), listed)]
    merged = nodes.LogSumExpMerge(parts=tuple(sources[::-1] if shared_first else sources))
    output = nodes.Output(name="out", source=merged, dtype="query", axes=("B", "N", "Q", "E"))
    schedule = replace(Schedule(), tile_k=128, **options)
    return lower(recognize((output,)), signature(output), schedule, DEVICE)


@pytest.mark.parametrize("shared_first", [False, True])
def test_tasks_that_gather_batch_rows_stand_among_the_others(shared_first: bool) -> None:
    """Whichever the spec names first."""
    program = own_and_shared(shared_first=shared_first)
    (either,) = (item for item in program.body.walk() if isinstance(item, Either))
    assert either.attention_names == ("Key", "Prefix")
    (loop,) = (item for item in program.body.walk() if isinstance(item, Pipelined))
    scores = next(each for each in loop.stages if isinstance(each, EitherStage))
    assert [each.name for each in scores.sides] == ["ScoreTileForKey", "ScoreTileForPrefix"]


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        ({"max_rows": 256, "sums": "vector"}, True),
        ({"max_rows": 256, "sums": "vector", "first_stores": "cube"}, False),
        ({"max_rows": 128}, False),
        ({"max_rows": 128, "first_stores": "vector"}, True),
    ],
)
def test_vector_cores_store_to_the_rows_of_slots_that_own_tasks_leave(
    options: dict[str, Any], holds: bool
) -> None:
    stages = [item for item in own_and_shared(**options).body.walk() if isinstance(item, Stage)]
    assert ["WarmScores" in [each.name for each in stages]] == [holds]
    assert not any(each.name == "AwaitSlot" for each in stages)


def test_rows_of_two_attentions_that_are_alike_leave_none() -> None:
    found = with_joint_items(attentions("key", "old", max_rows=256, first_stores="vector", sums="vector"))
    with pytest.raises(IllegalScheduleValue, match="unless tasks of the second alone gather batch rows"):
        warms_in_steps(found[0])
