"""Keys that stay in L1 until they are values: where they do, and what the stages do with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from attndsl.expr import Symbol
from attndsl.graph import nodes
from attndsl.lowering.attention.continuous import all_continuous
from attndsl.lowering.attention.kept_keys import keeps_keys, kept_parts, other_channels
from attndsl.lowering.attention.score_matmul import score_tile
from attndsl.lowering.attention.value_matmul import weighted_tile
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.match.values_of_keys import values_are_channels
from attndsl.tile.instructions import LoadNz
from attndsl.tile.statements import Handed
from tests.support.builders import attention, context, tensor

AXES = ("B", "K", "T", "D")
LATENT: dict[str, Any] = {"tile_k": 128, "value_width": 256, "ring": 2}
CACHE = tensor("cache", AXES)
KEYS = nodes.Dense(tensor=CACHE, axes=AXES)


def channels(source: nodes.Node = CACHE, **more: object) -> nodes.Dense:
    axes = ("B", "K", "T", "E")
    leading = nodes.Leading(source=source, count=Symbol("E"), axes=axes)
    return nodes.Dense(tensor=leading, axes=axes, **more)  # type: ignore[arg-type]


def latent(
    values: nodes.Rows | None = None, sizes: tuple[int, int] = (576, 512), **options: object
) -> Context:
    made = context(attention(keys=KEYS, values=values or channels()), **{**LATENT, **options})
    extents = made.signature.extents
    if sizes[0] != sizes[1]:
        extents = {**extents, "E": Symbol("E")}
    signed = replace(made.signature, padded_head_size=sizes[0], padded_value_size=sizes[1], extents=extents)
    return all_continuous((replace(made, signature=signed),))[0]


def test_parts_of_the_values_have_buffers_of_their_own():
    made = latent()
    parts = list(kept_parts(made))
    assert [(each.buffer.name, each.buffer.slots, each.buffer.elements) for each in parts] == [
        ("keys0L1", 2, 128 * 256), ("keys1L1", 2, 128 * 256),
    ]  # fmt: skip
    others = other_channels(made)
    assert others is not None and int(others.value) == 64


def test_a_tile_of_keys_is_loaded_once():
    made = latent()
    scores, weighted = score_tile(made), weighted_tile(made)
    loads = [item for item in scores.walk() if isinstance(item, LoadNz)]
    assert {item.dst.buffer.name for item in loads} == {"keyL1", "keys0L1", "keys1L1"}
    assert {item.dst.buffer.name for item in weighted.walk() if isinstance(item, LoadNz)} == {"probL1"}
    for stage, begins in ((scores, True), (weighted, False)):
        parts = [item for item in stage.walk() if isinstance(item, Handed)]
        assert [(each.buffers[0].name, each.begins) for each in parts] == [
            ("keys0L1", begins), ("keys1L1", begins),
        ]  # fmt: skip


def test_of_keys_that_are_all_values_nothing_else_is_loaded():
    made = latent(sizes=(512, 512))
    assert other_channels(made) is None
    loads = [item for item in score_tile(made).walk() if isinstance(item, LoadNz)]
    assert {item.dst.buffer.name for item in loads} == {"keys0L1", "keys1L1"}


@pytest.mark.parametrize(
    ("change", "sizes", "why"),
    [
        ({"pipeline": "drained"}, (576, 512), "drains"),
        ({"tile_k": 256}, (576, 512), "one matrix multiply takes"),
        ({"base_k": 64}, (576, 512), "one matrix multiply takes"),
        ({"ring": 3}, (576, 512), "an event each"),
        ({"value_width": 192}, (576, 512), "does not divide"),
    ],
    ids=["drains", "large tiles", "small multiplies", "long ring", "uneven parts"],
)
def test_keys_that_cannot_stay_are_loaded_again_or_refused(change, sizes, why):
    assert not keeps_keys(latent(sizes=sizes, **change))
    with pytest.raises(IllegalScheduleValue, match=why):
        keeps_keys(latent(sizes=sizes, value_source="keys", **change))
    assert keeps_keys(latent(value_source="keys"))


def requirements(**options: object) -> list[str]:
    """What scores and weighted sums rely on in their multiplies of kept keys, as headers say it."""
    made = latent(**options)
    score_tile(made)
    weighted_tile(made)
    told = (each.meaning for each in made.inventory.requirements)
    return list(dict.fromkeys(each for each in told if "slice of the kept keys" in each))


def test_what_multiplies_of_kept_keys_rely_on_is_told_as_that_of_heads():
    whole = "one matrix multiply takes a whole slice of the kept keys"
    several = "several matrix multiplies take the parts of a slice of the kept keys"
    alike = "the parts of a slice of the kept keys are alike"
    assert requirements(base_n=256, base_k=256) == [whole]
    assert requirements(base_n=128, base_k=128) == [several, alike]
    assert requirements(base_n=192, base_k=192) == [several]


def test_few_values_come_from_memory_unless_stated():
    assert not keeps_keys(latent(sizes=(320, 256)))
    assert keeps_keys(latent(value_source="keys", sizes=(320, 256)))
    assert not keeps_keys(latent(value_source="memory"))


def test_values_are_those_of_the_same_rows():
    """The same tensor under other lengths, or another one, is read for itself."""
    lengths = tensor("lengths", ("B",))
    assert values_are_channels(latent().attention)
    same = nodes.Dense(tensor=tensor("cache", AXES), axes=AXES)
    assert values_are_channels(replace(latent().attention, keys=same))
    for values in (channels(tensor("another", AXES)), channels(length=lengths)):
        assert not values_are_channels(replace(latent().attention, values=values))
        assert not keeps_keys(latent(values=values))
