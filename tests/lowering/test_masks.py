"""Kinds of masks: what each loads and hides, and which keys a task skips under it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from attndsl.expr import Const, Symbol
from attndsl.graph import nodes
from attndsl.lowering.attention.key_range import key_range, tile_bounds
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier, share_loads_across_attentions
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.mask_rules import MASK_KINDS, lower_mask

from .builders import DECODING, PADDED, attention, context, elementwise, lines, masked, scalar, tensor

i, j, n, W = Symbol("i"), Symbol("j"), Symbol("n"), Symbol("W")
CAUSAL = masked(j > i)
WINDOW = masked((j > i) | (j < i - W))
LANES = "score[row * tileKeys + round_up(keys, repeatLanes)]"
FIRST, LAST = "firstQuery + (rowBegin + r0) // heads", "firstQuery + (rowBegin + r0 + chunk - 1) // heads"


def padded(*scores: Callable[[nodes.Node], nodes.Node]) -> Context:
    return context(attention(PADDED, scores=scores), positions=Symbol("Q"))


def decoding(*scores: Callable[[nodes.Node], nodes.Node]) -> Context:
    return context(attention(DECODING, scores=scores))


def step(c: Context) -> Modifier:
    return lower_mask(c, c.attention.modifiers[-1])


def bytes_over(*axes: str) -> Callable[[nodes.Node], nodes.Node]:
    return masked(tensor("mask", axes, "uint8"))


def bounds(c: Context) -> dict[str, str]:
    """The scalars of an item's keys."""
    return dict(line.split(" := ") for line in lines(key_range(c)))


def test_an_index_mask_loads_nothing_and_fills_what_a_row_does_not_see() -> None:
    c = padded(CAUSAL)
    made = step(c)
    assert (made.tile_loads, made.row_loads, made.scratch) == ((), (), ())
    hidden = "min(keys, max(0, queryIndex + 1 - firstKey))..keys"
    assert lines(made.apply(c)) == [
        f"if {FIRST} + 1 < firstKey + keys:",
        "for row in 0..chunk:",
        "head := firstHead + (rowBegin + r0 + row) % heads",
        "queryIndex := firstQuery + (rowBegin + r0 + row) // heads",
        f"V     {LANES} lanes {hidden} = Duplicate(-inf)",
    ]


def test_a_window_fills_both_ends() -> None:
    c = padded(WINDOW)
    found = lines(step(c).apply(c))
    assert found[0] == f"if {FIRST} + 1 < firstKey + keys or {LAST} - W > firstKey:"
    assert [line.split(" lanes ")[1] for line in found if " lanes " in line] == [
        "min(keys, max(0, queryIndex + 1 - firstKey))..keys = Duplicate(-inf)",
        "0..min(keys, max(0, queryIndex - W - firstKey)) = Duplicate(-inf)",
    ]


def test_an_interval_that_differs_by_head_is_filled_in_every_tile() -> None:
    c = padded(masked(j > i + n))
    assert lines(step(c).apply(c))[0] == "for row in 0..chunk:"  # no test in front


def test_causal_tasks_end_with_their_last_position() -> None:
    found = bounds(padded(CAUSAL))
    assert found["keyEnd"] == "min(keyCapacity, max(0, firstQuery + queries))"
    assert "keyBegin" not in found


def test_tasks_under_a_window_begin_late_in_whole_granules() -> None:
    c = padded(WINDOW)
    assert bounds(c)["keyBegin"] == "max(0, firstQuery - W) // 128 * 128"
    assert "firstKey := keyBegin + (firstTile + tile) * tileKeys" in lines(tile_bounds(c))


@pytest.mark.parametrize(
    "after", [elementwise("add", scalar(Const(1.0))), masked(j > W, 0.0), masked(j > W, -1e4)]
)
def test_keys_that_something_else_acts_on_are_not_skipped(after: Callable[[nodes.Node], nodes.Node]) -> None:
    """What hides them is no longer the last word on their scores."""
    assert bounds(padded(CAUSAL, after))["keyEnd"] == "keyCapacity"


def test_masks_that_hide_commute() -> None:
    expected = bounds(padded(CAUSAL))["keyEnd"]
    assert bounds(padded(CAUSAL, bytes_over("B", "T")))["keyEnd"] == expected
    assert bounds(padded(bytes_over("B", "T"), CAUSAL))["keyEnd"] == expected


@pytest.mark.parametrize("axes", [("T",), ("B", "T")])
def test_bytes_of_all_rows_become_bits_once_a_tile(axes: tuple[str, ...]) -> None:
    c = decoding(bytes_over(*axes))
    made = step(c)
    assert [buffer.name for buffer in made.tile_loads] == ["maskBytes"] and made.row_loads == ()
    (load,) = lines(made.load_tile(c))
    assert ("batch * maskStrideB + firstKey" in load) is ("B" in axes)
    assert lines(made.prepare_tile(c)) == [
        "V     maskHalf[keys] = Cast(maskBytes[keys]) float16 CAST_NONE",
        "V     maskKeep[32] bits = maskHalf[round_up(keys, 128)] EQ 0",
    ]
    assert lines(made.apply(c)) == [
        "for row in 0..chunk:",
        f"V     {LANES} = Select(maskKeep, {LANES}, -inf)",
    ]


@pytest.mark.parametrize("axes", [("Q", "T"), ("B", "Q", "T")])
def test_bytes_of_positions_are_loaded_with_the_rows(axes: tuple[str, ...]) -> None:
    c = padded(bytes_over(*axes))
    made = step(c)
    assert made.tile_loads == () and [buffer.name for buffer in made.row_loads] == ["maskBytes"]
    (load,) = lines(made.load_rows(c))
    assert "(firstQuery + (rowBegin + r0) // heads) * maskStrideQ + firstKey" in load
    assert ("batch * maskStrideB" in load) is ("B" in axes)
    assert lines(made.apply(c))[0].startswith("for position in 0..")


def test_byte_masks_skip_no_keys() -> None:
    assert bounds(decoding(bytes_over("B", "T")))["keyEnd"] == "keyCapacity"
    assert [kind.skips_keys for kind in MASK_KINDS.values()] == [True, False, False]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (bytes_over("B", "N", "T"), r"over \(B, N, T\), mask,.*over \(T\) or \(B, T\) or \(Q, T\)"),
        (bytes_over("Q", "T"), "each batch row has one query"),
        (masked((j >= W) & (j <= W + 4)), "joins intervals that may leave a gap"),
        (masked(nodes.Softmax(scores=tensor("x", ("T",)))), "a mask by Softmax"),
    ],
)
def test_masks_without_a_rule_are_refused(change: Callable[[nodes.Node], nodes.Node], message: str) -> None:
    c = decoding(change)
    with pytest.raises(NotLowered, match=message):
        step(c)


def test_a_mask_that_is_read_by_index_is_refused() -> None:
    stored = tensor("mask", ("B", "T"), "uint8")
    by_index = nodes.Lookup(source=stored, index=(Symbol("b"), j + 1), axes=("B", "T"))
    c = decoding(masked(by_index))
    with pytest.raises(NotLowered, match=r"read by index, mask\[b, j \+ 1\]"):
        step(c)


def test_two_masks_from_the_same_bytes_load_them_once() -> None:
    c = decoding(bytes_over("B", "T"), bytes_over("B", "T"))
    made = [lower_mask(c, node) for node in c.attention.modifiers]
    (found,) = share_loads_across_attentions([tuple(made)], c.where)
    assert [len(each.tile_loads) for each in found.each] == [1, 0]
    assert lines(found.each[1].load_tile(c)) == [] and len(found.tile_loads) == 1
