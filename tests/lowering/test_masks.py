"""Kinds of masks: what each loads and hides, and which keys a task skips under it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import attndsl
from attndsl.expr import Const, Expr, Symbol
from attndsl.graph import nodes
from attndsl.lowering.attention.key_range import key_range, tile_bounds
from attndsl.lowering.attention.score_matmul import scores_of
from attndsl.lowering.attention.step_scores import scored
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier, share_loads_across_attentions
from attndsl.lowering.emit.loop_scalars import KEYS, STEP_ROWS
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks import mask_rules
from attndsl.lowering.masks.key_conditions import LARGEST
from attndsl.lowering.masks.mask_kind import KnownNumbers, MaskKind
from attndsl.lowering.masks.mask_rules import lower_mask, mask_kind
from attndsl.lowering.masks.visible_interval import Interval
from attndsl.tile.statements import seq
from tests.support.builders import (
    DECODING,
    PADDED,
    attention,
    context,
    elementwise,
    lines,
    masked,
    scalar,
    tensor,
    text,
)
from tests.support.import_graph import ImportGraph
from tests.support.small_specs import (
    DECODE_RESULT,
    DECODE_SCORES,
    PACKED_RESULT,
    assert_computes,
    decode_call,
    decode_spec,
    packed_call,
    packed_spec,
)

i, j, n, W = Symbol("i"), Symbol("j"), Symbol("n"), Symbol("W")
CAUSAL = masked(j > i)
WINDOW = masked((j > i) | (j < i - W))
LANES = "score[row * tileKeys + round_up(keys, repeatLanes)]"
KEY_LANES = "score[row * tileKeys + keys]"
FIRST, LAST = "firstQuery + (rowBegin + r0) // heads", "firstQuery + (rowBegin + r0 + stepRows - 1) // heads"


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
        "for row in 0..stepRows:",
        "head := firstHead + (rowBegin + r0 + row) % heads",
        "queryIndex := firstQuery + (rowBegin + r0 + row) // heads",
        f"V     {LANES} lanes {hidden} = Duplicate(-inf)",
    ]


def test_a_window_fills_both_ends() -> None:
    """Each end by itself: a tile has one of them, and no row waits for another."""
    c = padded(WINDOW)
    found = lines(step(c).apply(c))
    tests = [line for line in found if line.startswith("if ")]
    assert tests == [f"if {FIRST} + 1 < firstKey + keys:", f"if {LAST} - W > firstKey:"]
    assert [line.split(" lanes ")[1] for line in found if " lanes " in line] == [
        "min(keys, max(0, queryIndex + 1 - firstKey))..keys = Duplicate(-inf)",
        "0..min(keys, max(0, queryIndex - W - firstKey)) = Duplicate(-inf)",
    ]


def test_an_interval_that_differs_by_head_is_filled_in_every_tile() -> None:
    c = padded(masked(j > i + n))
    assert lines(step(c).apply(c))[0] == "for row in 0..stepRows:"  # no test in front


def test_causal_tasks_end_with_their_last_position() -> None:
    found = bounds(padded(CAUSAL))
    assert found["keyEnd"] == "min(keyCapacity, max(0, firstQuery + queries))"
    assert "keyBegin" not in found


def test_tasks_under_a_window_begin_late_in_whole_granules() -> None:
    c = padded(WINDOW)
    assert bounds(c)["keyBegin"] == "max(0, firstQuery - W) // keyGranule * keyGranule"
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
        "V     maskKeep[max(tileKeys // 8, 32)] bits = maskHalf[round_up(keys, 128)] EQ 0",
    ]
    assert lines(made.apply(c)) == []
    assert lines(made.finish(c)) == [
        "for row in 0..stepRows:",
        f"V     {KEY_LANES} = Select(maskKeep, {KEY_LANES}, -inf)",
    ]


def test_a_finite_value_that_hides_has_a_name_if_it_is_the_only_one() -> None:
    """The kernel's text says what the number is; two numbers stand for themselves."""
    mask = tensor("mask", ("B", "T"), "uint8")
    one, two = decoding(masked(mask, -1e12)), decoding(masked(mask, -1e12), masked(mask, -1e4))
    assert f"{KEY_LANES} = Select(maskKeep, {KEY_LANES}, maskedScore)" in lines(step(one).finish(one))[1]
    assert [each.named.value for each in one.inventory.constants if each.named.name == "maskedScore"] == [
        -1e12
    ]
    assert "-10000.0)" in lines(step(two).finish(two))[1]
    assert all(each.named.name != "maskedScore" for each in two.inventory.constants)


@pytest.mark.parametrize("axes", [("Q", "T"), ("B", "Q", "T")])
def test_bytes_of_positions_are_loaded_with_the_rows(axes: tuple[str, ...]) -> None:
    c = padded(bytes_over(*axes))
    made = step(c)
    assert made.tile_loads == () and [buffer.name for buffer in made.row_loads] == ["maskBytes"]
    (load,) = lines(made.load_rows(c))
    assert "(firstQuery + (rowBegin + r0) // heads) * maskStrideQ + firstKey" in load
    assert ("batch * maskStrideB" in load) is ("B" in axes)
    assert lines(made.begin(c)) == ["V     maskHalf[keys] = Cast(maskBytes[keys]) float16 CAST_NONE"]
    first, loop, *of_others = lines(made.apply(c))
    assert first == "V     maskKeep[round_up(tileKeys, 256) // 8] bits = maskHalf[round_up(keys, 128)] EQ 0"
    assert loop.startswith("for position in 1..") and len(of_others) == 2
    assert lines(made.finish(c))[1].endswith(f", {KEY_LANES}, -inf)")


def test_bytes_of_positions_that_two_masks_widen_are_widened_by_each_of_them() -> None:
    """The first would leave the bytes of its last position to the second."""
    c = padded(bytes_over("Q", "T"), bytes_over("Q", "T"))
    for made in (lower_mask(c, node) for node in c.attention.modifiers):
        assert lines(made.begin(c)) == []
        assert lines(made.apply(c))[0].startswith("for position in 0..")


@pytest.mark.parametrize(("axes", "waits"), [(("Q", "T"), False), (("B", "N", "Q", "T"), True)])
def test_lanes_after_the_last_key_are_filled_before_a_mask_that_leaves_them_alone(
    axes: tuple[str, ...], waits: bool
) -> None:
    c = padded(CAUSAL, bytes_over(*axes))
    modifiers = tuple(lower_mask(c, node) for node in c.attention.modifiers)
    (made,) = share_loads_across_attentions([modifiers], c.where)
    found = lines(seq(*scored(c, made, scores_of(c).region(Const(0), STEP_ROWS, KEYS, c.tile_keys))))
    tail = found.index("if keys % repeatLanes != 0:")
    last = max(place for place, line in enumerate(found) if "= Select(" in line)
    assert (tail > last) is waits


def test_byte_masks_skip_no_keys() -> None:
    assert bounds(decoding(bytes_over("B", "T")))["keyEnd"] == "keyCapacity"
    (node,) = context(attention(scores=[bytes_over("B", "T")])).attention.modifiers
    assert isinstance(node, nodes.Replace)
    kind = mask_kind(node, KnownNumbers())
    assert (kind.name, kind.visible(node, KnownNumbers())) == ("a mask in bytes", None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (bytes_over("J", "T"), r"over \(J, T\), mask,.*any of the axes B, S, N, K, Q and T"),
        (
            masked(nodes.Softmax(scores=tensor("x", ("T",)))),
            r"a mask by Softmax has.*; write it as a condition on .* or as a mask in bytes",
        ),
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


# Masks of single keys ---------------------------------------------------------------------------------------


def test_a_period_is_tested_once_a_tile() -> None:
    c = padded(masked(j % 4 != 1))
    made = step(c)
    assert (made.tile_loads, made.row_loads) == ((), ())
    numbers, quotients = (
        f"{name}[round_up(keys, repeatLanes)]" for name in ("keyTestNumbers", "keyTestQuotients")
    )
    assert lines(made.prepare_tile(c)) == [
        "V     keyPlaces[tileKeys] = 0 + lane numbers",
        f"V     {numbers} = Adds(keyPlaces[round_up(keys, repeatLanes)], firstKey % 4)",
        f"V     {quotients} = Adds({numbers}, 0.5)",
        f"V     {quotients} = Muls({quotients}, 0.25)",
        f"V     {quotients} = Cast({quotients}) float32 CAST_FLOOR",
        f"V     {quotients} = Muls({quotients}, -4)",
        f"V     {numbers} = Add({numbers}, {quotients})",
        f"V     keyTest0Bits0[ceil_div(keys, repeatLanes) * 8] bits = {numbers} EQ 1",
    ]
    assert lines(made.apply(c))[-1] == f"V     {KEY_LANES} = Select(keyTest0Bits0, {KEY_LANES}, -inf)"


def test_a_period_from_the_query_is_tested_row_by_row() -> None:
    c = padded(masked((i - j) % 4 >= 2))
    assert len(lines(step(c).prepare_tile(c))) == 1  # the places of the keys
    assert "    V     keyTestNumbers[round_up(keys, repeatLanes)] = Muls(" in text(step(c).apply(c))
    assert "floor_mod(queryIndex - firstKey, 4)" in text(step(c).apply(c))


def test_an_interval_beside_tests_is_filled_and_skipped() -> None:
    c = padded(masked((j > i) | (j < i - W) | (j % 4 != 0)))
    found = lines(step(c).apply(c))
    tests = [line for line in found if line.startswith("if ")]
    assert tests == [f"if {FIRST} + 1 < firstKey + keys:", f"if {LAST} - W > firstKey:"]
    assert [line for line in found if "Duplicate(-inf)" in line and "keyTest" not in line]
    assert bounds(c) == bounds(padded(WINDOW))


def test_a_test_or_an_interval_hides_by_bits_and_skips_what_both_bound() -> None:
    both = masked(((j < i - W) & (j % 4 != 0)) | (j > i))  # shown: a window, or each fourth key before
    c = padded(both)
    found = text(step(c).apply(c))
    assert " | " not in found and "= Or(" in found
    assert bounds(c)["keyEnd"] == bounds(padded(CAUSAL))["keyEnd"] and "keyBegin" not in bounds(c)
    assert "keyEnd" in bounds(c) and bounds(padded(masked(j % 4 != 0)))["keyEnd"] == "keyCapacity"


def test_masks_of_single_keys_have_bits_of_their_own() -> None:
    c = padded(masked(j % 4 != 0), masked(j // 8 % 2 == 0, -1e4))
    names = [each.name for node in c.attention.modifiers for each in lower_mask(c, node).scratch]
    assert {name for name in names if "Bits" in name} == {"keyTest0Bits0", "keyTest1Bits0"}


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            j % W == 0,
            r"'W' in 'j % W' may be anything from 0 to inf.*; write a literal, or declare the parameter",
        ),
        (j % (i + 1) == 0, "divides by what differs by key, query, head or batch row"),
        (
            j * j % 4 == 0,
            r"'j \* j' multiplies the key index by what is no literal.*on one side j, plus or minus",
        ),
        (j % 4 == j // 4, "of two numbers that differ by key"),
        (j % 4 < 1.5, "compares with numbers that are no integers.*declare parameters as int"),
        (j * 4000 % 7 == 0, "numbers of keys that differ by 8.188e[+]06 in a tile"),
    ],
    ids=str,
)
def test_conditions_that_are_no_tests_of_keys_are_refused_with_the_forms(
    condition: Expr, message: str
) -> None:
    with pytest.raises(NotLowered, match=message):
        step(padded(masked(condition)))


PERIODIC = {
    "a residue": "s = s.where(j % 4 == 1)",
    "a dilated window": "s = s.where((j % 8 < 3) & (j <= i + 150) & (j >= i + 20))",
    "from the query back": "s = s.where((i - j) % 3 == 0)",
    "window or each fifth": "s = s.where((j <= i) & ((j > i - 16) | (j % 5 == 0)))",
    "blocks": "s = s.where((j // 16 + i // 16) % 2 == 0)",
    "remainder of a remainder": "s = s.where(j * 3 % 100 // 7 % 2 != 1)",
    "by head": "s = s.where(j % 4 == n % 4)",
    "one key": "s = s.where((j != 7) & (2 * j - i != 40))",
    "a parameter": "s = s.where((j + 2) % p == 0)",
    "rows": "s = s.where((i % 2 == 0) | (j % 2 == 0))",
    "made small": "s = s.replace(attend.condition(j % 3 == 0), -4.0).where(j % 7 != 5)",
    "lengths": "s = s.where((j - first[b]) % 6 < 4)",
}
DECLARED = 'p = op.param("p", int, default=7, ge=1, le=64)\nfirst = op.lengths("first", "B")'


@pytest.mark.sweep(fast=6)
@pytest.mark.parametrize("name", PERIODIC)
def test_masks_of_single_keys_on_the_tile_program(tmp_path: Path, name: str) -> None:
    op = packed_spec(tmp_path, PERIODIC[name], PACKED_RESULT, declared=DECLARED)
    assert_computes(op, "tile", **packed_call([37, 5], [300, 133]), first=[5, 301])


@pytest.mark.parametrize("name", ["a residue", "window or each fifth", "a parameter"])
def test_masks_of_single_keys_in_the_emulator(tmp_path: Path, name: str) -> None:
    op = packed_spec(tmp_path, PERIODIC[name], PACKED_RESULT, declared=DECLARED)
    assert_computes(op, "emulator", **packed_call([37, 5], [300, 133]), first=[5, 301])


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_keys_outside_of_the_interval_beside_a_test_are_not_read(tmp_path: Path, backend: str) -> None:
    declared = 'p = op.lengths("p", "B")'
    seen = "s = s.where((j < p[b] + 90) & (j >= p[b]) & (j % 3 == 0))"
    op = decode_spec(tmp_path, DECODE_SCORES, seen, DECODE_RESULT, declared=declared)
    call = decode_call(t=1000) | {"p": [450, 400]}
    assert_computes(op, backend, **call)
    holes = call | {name: call[name].copy() for name in ("key", "value")}
    for name in ("key", "value"):
        holes[name][:, :, :350], holes[name][:, :, 600:] = np.nan, np.nan
    np.testing.assert_array_equal(op(**holes, backend=backend), op(**call, backend=backend))


def test_quotients_of_lanes_are_exact_up_to_the_largest_numbers() -> None:
    """``floor((x + 0.5) * (1 / d))`` in fp32, at the multiples of each divisor and around them."""
    divisors = np.concatenate([np.arange(1, 2049), np.array([LARGEST // 2 - 1, LARGEST // 2])])
    for divisor in divisors.tolist():
        near = np.arange(0, LARGEST + divisor, divisor)[-2000:]
        values = np.concatenate([near - 1, near, near + 1, -near[:2000], np.arange(-1030, 1030)])
        values = values[np.abs(values) <= 2 * LARGEST - 1]
        half = values.astype(np.float32) + np.float32(0.5)
        found = np.floor(half * np.float32(1 / divisor))
        np.testing.assert_array_equal(found, values // divisor)


# What a new kind takes --------------------------------------------------------------------------------------


def test_a_kind_of_masks_is_a_module_and_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for a mask, or for the keys it hides, finds a kind that the list has, and no other room
    imports the module of one."""
    made = Modifier(title="hides by a softmax")
    planted = MaskKind(
        name="a mask by a softmax",
        form="a softmax",
        matches=lambda node, known: isinstance(node.condition, nodes.Softmax),
        lower=lambda context, node: made,
        visible=lambda node, known: Interval(None, i + 1),
    )
    by_softmax = masked(nodes.Softmax(scores=tensor("x", ("T",))))
    with pytest.raises(NotLowered, match="a mask by Softmax"):
        step(padded(by_softmax))
    monkeypatch.setattr(mask_rules, "MASK_KINDS", (planted, *mask_rules.MASK_KINDS))
    c = padded(by_softmax)
    assert step(c) is made and bounds(c) == bounds(padded(CAUSAL))
    kinds = {path.stem for path in Path(mask_rules.__file__).parent.glob("*_masks.py")}
    graph = ImportGraph(Path(attndsl.__file__).parent)
    outside = {b for a, b in graph.edges if not a.startswith("attndsl.lowering.masks.")}
    assert {"key_masks", "index_masks", "byte_masks"} <= kinds
    assert not outside & {f"attndsl.lowering.masks.{name}" for name in kinds}


def test_every_kind_before_the_last_says_how_it_is_written() -> None:
    *lowered, last = mask_rules.MASK_KINDS
    assert all(kind.form for kind in lowered) and not last.form
    with pytest.raises(NotLowered) as caught:
        step(decoding(masked(nodes.Softmax(scores=tensor("x", ("T",))))))
    assert all(kind.form in str(caught.value) for kind in lowered)


def test_the_page_names_the_files_of_each_recipe() -> None:
    root = Path(attndsl.__file__).parent
    page = (root.parent / "docs" / "packages" / "lowering.md").read_text()
    rows = page.split("## Recipes")[1].split("\n|---")[1].split("\n\n")[0].splitlines()[1:]
    named = [re.findall(r"`([\w/]+\.py)`", row) for row in rows]
    assert len(named) >= 6 and all(len(names) >= 3 for names in named)
    folders = (root / "lowering", root.parent, Path(__file__).parent)
    known = {name for names in named for name in names if "NAME" not in name}
    assert [name for name in known if not any((folder / name).is_file() for folder in folders)] == []
