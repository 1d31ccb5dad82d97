"""The sizes and kinds that cases are drawn from: which there are is a decision; one that goes is missed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attndsl.verify.cases.cases import spaces
from attndsl.verify.space import values as module
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import (
    FILL,
    FILLS,
    FLOATS,
    GROUP,
    LENGTH_FILLS,
    MASK,
    MASK_FILLS,
    MULTIPLES,
    RECIPROCAL_ROOT,
    SELECTION_FILLS,
    SLACK,
    TRUTH_FILLS,
    WARNED,
    WORKLOAD,
    WORKLOADS,
    Values,
    fill_of,
    longest_keys_of,
)
from tests.support.case_spaces import space_of
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec

SIZES = {
    "B": {1, 2, 3, 5, 13, 27},
    "K": {1, 2, 3, 4, 8, 256},
    "Q": {1, 2, 3, 17, 63, 64, 65, 127, 128, 129, 200, 300},
    "D": {1, 16, 40, 64, 80, 100, 128, 256, 512},
    "E": {1, 16, 40, 64, 80, 100, 128, 256, 512},
    "P": {1, 3, 8, 40},
    "R": {16, 32, 48, 128, 512},
    "W": {1, 2, 3, 5, 9, 17, 33},
    "G": {0, 1, 2, 3, 5},
    "Y": {1, 2, 3, 5},
    "X": {1, 2, 5, 16, 32},
    "J": {1, 2, 3, 5, 17},
}
"""One, a few, primes; a task's rows, a page, a tile and a vector and what is beside them; more than any of
these. No group at all, as no row may share keys."""
KEYS = {0, 1, 2, 15, 17, 33, 100, 257, 4095, 4096, 8192}
GROUPS = {1, 2, 3, 5, 7, 8, 16, 17, 32, 33, 64, 136}


@pytest.mark.parametrize("axis", sorted(SIZES))
def test_sizes_of_axes(axis: str) -> None:
    assert set(Values().of_role(axis, 512, 4)) == SIZES[axis]


@pytest.mark.parametrize(("tile", "ring"), [(512, 4), (128, 3)])
def test_keys_surround_tiles_and_the_ring(tile: int, ring: int) -> None:
    edges = {tile - 1, tile, tile + 1, 2 * tile + 1, ring * tile - 1, ring * tile + 1, (ring + 2) * tile + 5}
    for axis in "TU":
        assert set(Values().of_role(axis, tile, ring)) == KEYS | edges


def test_query_heads_are_groups_of_key_heads() -> None:
    """No more than 1100 in all."""
    found = set(Values().of_role("N", 512, 4))
    assert found == {k * g for k in SIZES["K"] for g in GROUPS if k * g <= 1100} and {1, 256, 1088} <= found
    assert set(Values().group) == GROUPS


def test_plain_numbers_and_what_a_case_may_hold() -> None:
    assert set(Values().plain) == {1, 2, 3, 5, 17, 200, 500} and set(Values().other) == SIZES["J"]
    assert set(MULTIPLES) == {16, 32, 48, 64, 80, 96, 112, 128}
    assert set(FLOATS) == {RECIPROCAL_ROOT, 1.0, 0.125, -0.5, 0.0} and FLOATS.count(RECIPROCAL_ROOT) == 4
    assert (Values().most_elements, Values().most_scores) == (2**21, 2**22)


def test_kinds_of_data_lengths_and_masks() -> None:
    assert set(FILLS) == {"probe", "normal", "extreme", "ramp", "sunk", "tiny"}
    assert set(SELECTION_FILLS) == {*FILLS, "level"}
    assert set(LENGTH_FILLS) == {"mixed", "edges", "gaps", "full", "single", "zero", "one"}
    assert set(MASK_FILLS) == {"random", "causal", "rows", "none", "first", "last", "all"}
    assert {"none", "all", "first", "last"} == TRUTH_FILLS and set(SLACK) == {0, 1, 3, 17}
    assert set(WORKLOADS) == {
        "long few", "many", "wide", "long many", "edge many", "any", "deep many", "deep long",
    }  # fmt: skip
    assert module.LONG == "long" and set(module.LONG_FILLS) == {"mixed", "edges", "gaps", "full"}


# The variables of an operator -------------------------------------------------------------------------------

DECLARED = """
wide = op.param("wide", bool, default=False)
kind = op.param("kind", int, default=1, choices=(1, 2, 5))
label = op.param("label", str, default="x", choices=("x", "y"))
gain = op.param("gain", float, default=3.0, ge=-0.5)
count = op.param("count", int, default=7, ge=3, le=40)
extra = op.input("extra", {"one": "N", "two": "N 1"}, dtype=("float16", "float32"), axes="N", optional=True)
length = op.lengths("length", "B", one_for_all=False)
window = op.param("window", int, default=0, ge=0, lt=600)
op.require(kind > 0, "is positive")
op.require(wide == 0, "is narrow", when=kind == 5)
op.require(count > 0, "counts")
op.require(label_is_known := (kind < 9), "is known")
"""
SEEN = """
k, v = attend.rows(key, length=length), attend.rows(value, length=length)
s = attend.scores(query, k) * gain
s = s.where(j >= length[b] - window)
s = s * attend.index(b * 0.0 + count + kind)
op.output("out", attend.softmax(s) @ v, like=query)
"""


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> CaseSpace:
    declared = DECLARED.replace('label = op.param("label", str, default="x", choices=("x", "y"))\n', "")
    declared = declared.replace("label_is_known := ", "")
    body = SEEN.replace("s = s * attend.index(b * 0.0 + count + kind)\n", "")
    folder: Path = tmp_path_factory.mktemp("values")
    extra = "s = attend.choose((extra, s + extra), otherwise=s)\nop.output"
    operator = decode_spec(folder, body.replace("op.output", extra), declared=declared)
    (found,) = spaces(operator)
    return found


def test_what_is_optional_and_what_has_several_forms_varies(space: CaseSpace) -> None:
    """And nothing else of tensors: a dtype that follows that of another is no variable."""
    found = space.variables
    assert set(found["given(extra)"]) == {False, True} and set(found["layout(extra)"]) == {"one", "two"}
    assert set(found["dtype(query)"]) == {"float16", "bfloat16"}
    assert set(found["dtype(extra)"]) == {"float16", "float32"}
    assert not {"given(query)", "layout(query)", "dtype(key)", "split(key)"} & found.keys()


def test_numbers_and_choices_have_values_within_their_bounds(space: CaseSpace) -> None:
    """Defaults among them, and the edges of what counts keys."""
    found = space.variables
    assert set(found["wide"]) == {False, True} and set(found["kind"]) == {1, 2, 5}
    assert set(found["gain"]) == {RECIPROCAL_ROOT, 1.0, 0.125, -0.5, 0.0, 3.0}
    assert set(found["count"]) == {3, 5, 7, 16, 17, 32}
    windows = set(found["window"])
    assert windows >= {0, 599, 511, 512, 513} and max(windows) == 599
    assert windows >= {size for size in Values().plain if size < 600}


def test_lengths_sizes_and_what_the_case_is_about_vary(space: CaseSpace) -> None:
    found = space.variables
    assert found[fill_of("length")] == LENGTH_FILLS
    assert set(space.sizes_of("T")) <= set(found["longest(length)"])
    for name, axis in (("B", "B"), ("N", "N"), ("K", "K"), ("T", "T"), ("D", "D")):
        assert set(found[name]) == set(space.sizes_of(axis))
    assert set(found[GROUP]) == GROUPS and found[FILL] == FILLS and found[MASK] == MASK_FILLS
    assert set(found[WORKLOAD]) == set(WORKLOADS) and set(found[WARNED]) == {False, True}
    assert found[WARNED].count(False) == 5


def test_operators_that_select_have_level_scores_too() -> None:
    nsa = space_of("nsa_compress_attention")
    assert nsa.variables[FILL] == SELECTION_FILLS


def test_lengths_of_queries_and_keys_have_a_longest_of_each() -> None:
    prompt = space_of("self_attention_pa_encoder")
    assert set(prompt.variables[longest_keys_of("seqLen")]) == set(prompt.sizes_of("T"))
    assert set(prompt.sizes_of("Q")) <= set(prompt.variables["longest(seqLen)"])
    assert prompt.variables["split(key)"].count(False) == 2 if "split(key)" in prompt.variables else True


def test_a_size_has_the_values_of_each_axis_that_it_is_the_extent_of() -> None:
    """Queries and keys of one size."""
    sigmoid = space_of("sigmoid")
    assert set(sigmoid.variables["S"]) == {*sigmoid.sizes_of("Q"), *sigmoid.sizes_of("T")}


def test_rules_on_a_size_alone_bound_its_values(tmp_path: Path) -> None:
    rules = (
        'op.require(B <= 3, "few")\nop.require(D > 40, "wide", when=B > 1)\nop.require(N + K > 2, "several")'
    )
    (found,) = spaces(decode_spec(tmp_path, rules, DECODE_SCORES, DECODE_RESULT))
    assert set(found.variables["B"]) == {1, 2, 3}
    assert set(found.variables["D"]) == SIZES["D"], "a rule that is not always asked, or of several sizes"


def test_values_of_an_author_are_used(tmp_path: Path) -> None:
    own: Any = Values(batch=(4,), keys=(9,), long_keys=())
    (found,) = spaces(decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT), own)
    assert found.variables["B"] == (4,) and 9 in found.variables["T"] and 8192 not in found.variables["T"]
