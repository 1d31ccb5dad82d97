"""Tensors of a case that no attention reads as rows: tables, lists of blocks, paddings, scales, conditions,
and how a caller writes arguments. Each kind of thing that they may hold is held by some."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.spec.contract.layout import Array
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import spaces
from attndsl.verify.data.data import Filler
from attndsl.verify.data.integers import Integers
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FILL, MASK, PROBE, WORKLOAD
from tests.support.case_spaces import space_of
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec


def fillers(space: CaseSpace, count: int, *, calls: int = 2, **pins: Any) -> list[Filler]:
    """Fillers of a few calls with these values, each drawn several times anew: integers, factors and masks
    are made."""
    rng, found = np.random.default_rng(1), list[Filler]()
    for _ in range(8 * calls):
        assignment = solve(space, rng, {WORKLOAD: "any", **pins})
        integers = assignment and Integers(space, assignment, rng).solve()
        for attempt in range(count // calls if assignment and integers is not None else 0):
            assert assignment is not None and integers is not None
            filler = Case(space.operator, space, 0, 0, assignment, integers, attempt)._filler()
            filler.outline()
            found.append(filler)
        if len(found) >= count:
            return found
    raise AssertionError("no legal calls were found")


# Tables -----------------------------------------------------------------------------------------------------

PAGED = {
    "given(block_table)": True,
    "given(actual_seq_lengths)": True,
    "given(kv_padding_size)": False,
    "given(attn_mask)": False,
    "given(pse_shift)": False,
    "split(key)": False,
    "fill(actual_seq_lengths)": "mixed",
    "B": 3,
    FILL: "normal",
}
TABLES = {"longest(actual_seq_lengths)": 100, "layout(key)": "paged BNSD", "block_size": 32}


def used_pages(filler: Filler) -> list[Array]:
    table, size = filler.made["block_table"], filler.extents["R"]
    counts = filler.rows_counted()
    return [table[b, : -(-int(count) // size)] for b, count in enumerate(counts)]


@cache
def paged() -> list[Filler]:
    space = space_of("incre_flash_attention")
    pages = str(space.operator.axis_extents["P"])
    return [f for many in (1, 40) for f in fillers(space, 16, **PAGED, **TABLES, **{pages: many})]


def test_rows_have_pages_of_their_own_where_there_are_enough() -> None:
    """In some cases all rows share the first one."""
    enough, shared = 0, 0
    for filler in paged():
        used, pages = used_pages(filler), filler.extents["P"]
        every = np.concatenate([*used, np.zeros(0, int)])
        assert ((every >= 0) & (every < pages)).all()
        first = [row[0] for row in used if row.size]
        if len(first) > 1 and every.size <= pages:
            enough += 1
            rest = np.concatenate([row[1:] for row in used])
            same = len(set(first)) == 1
            shared += same
            assert len(set(rest.tolist())) == rest.size and (same or len(set(every.tolist())) == every.size)
    assert enough > 3 and 0 < shared < enough


def test_behind_the_pages_of_a_row_is_rubbish() -> None:
    """None, a page beyond the last, the largest integer: whoever reads it is seen."""
    behind = set[int]()
    for filler in paged():
        table, pages = filler.made["block_table"], filler.extents["P"]
        for b, row in enumerate(used_pages(filler)):
            rest = table[b, row.size :]
            behind |= {-2 if each == pages else int(each) for each in rest}
    assert behind == {-1, -2, 2**31 - 1}


def test_pages_are_permuted() -> None:
    falls = [bool((np.diff(row) < 0).any()) for f in paged() for row in used_pages(f) if row.size > 2]
    assert any(falls)


# Lists of blocks --------------------------------------------------------------------------------------------


@cache
def selecting() -> list[Filler]:
    space = space_of("nsa_selection")
    return fillers(space, 12, **{FILL: "normal"})


def test_lists_name_blocks_that_there_are_and_some_that_there_are_not() -> None:
    """Some twice; none by -1, another negative number, the one after the last, or the largest integer."""
    odd, all_there, twice, none = set[int](), 0, 0, 0
    for filler in selecting():
        (name,) = filler.roles.named("lists of blocks")
        node = next(each for each in filler.graph.nodes if type(each).__name__ == "Selected")
        size = int(node.size.evaluate(filler.env))  # type: ignore[attr-defined]
        blocks = max(1, -(-filler.extents["T"] // size))
        entries = filler.made[name]
        beyond = entries[(entries < 0) | (entries >= blocks)]
        odd |= {0 if each == blocks else int(each) for each in np.unique(beyond)}
        all_there += beyond.size == 0
        none += beyond.size == entries.size
        rows = entries.reshape(-1, entries.shape[-1])
        twice += any(len(set(row.tolist())) < row.size for row in rows)
        for counts in filler.roles.named("entries of a list"):
            made = filler.made[counts]
            assert ((made >= 0) & (made <= filler.extents["X"])).all()
    assert odd == {-1, -7, 0, 2**31 - 1} and all_there and twice and none < 6


# Paddings ---------------------------------------------------------------------------------------------------


def test_paddings_lie_on_both_sides_of_what_fits() -> None:
    """None, all the room, half of it, a negative one, one too much."""
    pins = {**PAGED, "given(block_table)": False, "given(kv_padding_size)": True}
    pins |= {"fill(actual_seq_lengths)": "one", "S": 257}
    kinds = set[str]()
    for filler in fillers(space_of("incre_flash_attention"), 24, calls=1, **pins):
        padding = int(filler.made["kv_padding_size"].reshape(-1)[0])
        room = filler.extents["T"] - int(filler.rows_counted().max(initial=0))
        if room > 2:
            names = {0: "none", room: "all", room // 2: "half", -3: "negative", room + 1: "too much"}
            kinds.add(names[padding])
    assert kinds == {"none", "all", "half", "negative", "too much"}


# Conditions, steps and factors ------------------------------------------------------------------------------

CONDITIONS = 'flags = op.input("flags", "B T", dtype="bool", indexed=True)'


def conditions(folder: Path) -> CaseSpace:
    scores = f"{DECODE_SCORES}; s = s.where(flags[b, j] == 1)"
    (space,) = spaces(decode_spec(folder, scores, DECODE_RESULT, declared=CONDITIONS))
    return space


@pytest.mark.parametrize("kind", ["none", "all", "first", "last", "random"])
def test_truths_of_conditions_follow_the_masks_of_the_case(tmp_path: Path, kind: str) -> None:
    """Nothing is hidden, all, all but the first or the last key; else few, some or most are."""
    space, shares = conditions(tmp_path), set[str]()
    for filler in fillers(space, 10, calls=1, **{MASK: kind, FILL: "normal", "T": 100, "B": 3}):
        filler.arguments()
        flags = filler.made["flags"]
        if kind == "random":
            share = flags.mean()
            shares.add("few" if share < 0.2 else "most" if share > 0.8 else "some")
        else:
            wanted = np.full((3, 100), kind == "none")
            wanted[:, 0] |= kind == "first"
            wanted[:, -1] |= kind == "last"
            assert (flags == wanted).all()
    assert shares == ({"few", "some", "most"} if kind == "random" else set())


STEPPED = """
weight = op.input("weight", "B K T", dtype="float32", axes="B K T")
plain = op.input("plain", "N", dtype="int32", axes="N")
"""


def test_factors_of_probabilities_take_some_away(tmp_path: Path) -> None:
    """None is larger than 1; 0 and both signs are among them."""
    result = 'op.output("out", (attend.softmax(s) * weight) @ attend.rows(value), like=query)'
    (space,) = spaces(decode_spec(tmp_path, DECODE_SCORES, result, declared=STEPPED.splitlines()[1]))
    every = np.concatenate(
        [f.made["weight"].reshape(-1) for f in fillers(space, 4, **{"T": 100, FILL: "normal"})]
    )
    assert set(np.unique(every).tolist()) == {1.0, 0.5, 0.25, 0.0, -0.5, -1.0}


def test_scales_of_quantized_results_have_both_signs_and_leave_room(tmp_path: Path) -> None:
    pins = {"given(quant_scale2)": True, "given(quant_offset2)": True, FILL: "normal"}
    made = [f.made for f in fillers(space_of("incre_flash_attention"), 8, **pins)]
    scales = np.concatenate([each["quant_scale2"].reshape(-1).astype(float) for each in made])
    offsets = np.concatenate([each["quant_offset2"].reshape(-1).astype(float) for each in made])
    assert (np.abs(scales) >= 3.9).all() and (np.abs(scales) <= 24.1).all()
    assert (scales > 0).any() and (scales < 0).any()
    assert (np.abs(offsets) <= 9.1).all() and (offsets > 0).any() and (offsets < 0).any()


# How a caller writes arguments ------------------------------------------------------------------------------


def test_lengths_are_written_as_lists_and_as_arrays() -> None:
    """Choices by their numbers and by their names; lists of tensors as lists."""
    kinds, layouts = set[type](), set[str]()
    pins = {"given(actual_seq_lengths)": True, "split(key)": False, FILL: "normal"}
    for fill in ("mixed", "full"):
        for filler in fillers(
            space_of("incre_flash_attention"), 2, **pins, **{"fill(actual_seq_lengths)": fill}
        ):
            given = filler._spelled(zeros=True)
            kinds.add(type(given["actual_seq_lengths"]))
            layouts.add(given["input_layout"])
            assert isinstance(given["key"], list)
            assert set(given) == {p.name for p in filler.space.operator.params} | filler.present
    assert kinds == {list, np.ndarray} and layouts <= {"BSH", "BNSD", "BSND"}


def test_zeros_stand_for_what_attention_reads() -> None:
    """Of the shapes, dtypes and lists that the call will have."""
    for filler in fillers(space_of("relay_attention"), 2, **{"B": 2, "BS": 2, FILL: PROBE}):
        outline, call = filler.outline(), None
        given = filler.arguments()
        call = filler.space.operator.bind(**given)
        assert outline.extents == call.extents and outline.layouts == call.layouts
        for name, entries in call.lists.items():
            assert [each.shape for each in outline.lists[name]] == [each.shape for each in entries]
            assert not any(each.any() for each in outline.lists[name])
        assert not outline.arrays["query"].any() and call.arrays["query"].any()
        assert filler.largest_tensor() == max(
            *(each.size for each in call.arrays.values()), *(e.size for es in call.lists.values() for e in es)
        )


def test_tensors_that_nothing_reads_hold_numbers_all_the_same() -> None:
    (filler,) = fillers(space_of("relay_attention"), 1, calls=1, **{FILL: "normal"})
    given = filler.arguments()
    reserved = np.asarray(given["attentionMask"])
    assert reserved.size >= 1 and np.isfinite(reserved.astype(float)).all()


def test_random_integers_of_keys_use_their_range() -> None:
    """Numbers around 1 are dozens of units: rounded to few of them, rows would hardly differ."""
    pins = {
        "given(antiquant_scale)": True,
        "given(antiquant_offset)": False,
        "split(key)": False,
        "S": 100,
        FILL: "normal",
    }
    (filler,) = fillers(space_of("incre_flash_attention"), 1, calls=1, **pins)
    given = filler.arguments()
    for name in ("key", "value"):
        stored = np.asarray(given[name][0] if isinstance(given[name], list) else given[name]).astype(int)
        assert 12 < np.median(np.abs(stored)) < 40 and len(np.unique(stored)) > 60


def test_limits_of_masks_lie_about_tiles_in_some_cases_and_anywhere_in_others(tmp_path: Path) -> None:
    limits = 'x = op.input("x", "B T", dtype="int32", indexed=True)'
    scores = f"{DECODE_SCORES}; s = s.where(j < x[b, j])"
    (space,) = spaces(decode_spec(tmp_path, scores, DECODE_RESULT, declared=limits))
    kinds = set[bool]()
    for filler in fillers(space, 12, calls=1, **{"T": 1030, "B": 3, FILL: "normal"}):
        made = filler.made["x"]
        assert made.min() >= 0 and made.max() <= 1030 and len(np.unique(made)) > 5
        kinds.add(set(made.reshape(-1).tolist()) <= {0, 1, 511, 512, 513, 1023, 1024, 1025, 1029, 1030})
    assert kinds == {True, False}
