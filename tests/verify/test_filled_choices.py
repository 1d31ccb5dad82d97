"""Every value that a draw may have is drawn, and none beside; what saturated data and shared scales hold."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.verify.data.attention import SPREAD, AttentionFiller
from attndsl.verify.data.data import Filler
from attndsl.verify.data.masks import pattern
from attndsl.verify.space import argument_roles
from attndsl.verify.space.values import FILL, MASK, PROBE, SATURATED, SLOPE
from tests.support.fillers import filler

QUANTIZED: dict[str, Any] = {"quantType": 2, "outDataType": 1, "maskType": 0}
DRAWS = 60


def drawn(found: Filler, role: str) -> np.ndarray[Any, Any]:
    """What further draws give the first tensor in a role."""
    (name, *_) = found.roles.named(role)
    values = []
    for seed in range(DRAWS):
        found.rng = np.random.default_rng(seed)
        found._factors()
        values.append(np.asarray(found.made[name], np.float64).reshape(-1))
    return np.concatenate(values)


def test_steps_of_requantized_probabilities() -> None:
    """Coarse, fine, and the 127th part of 1, with and without a rounding of its own."""
    steps = drawn(filler("self_attention_pa_encoder", **QUANTIZED), argument_roles.STEP)
    wanted = np.sort([1 / 127, 1 / 100, 1 / 64, 1 / 200])
    assert np.allclose(np.unique(steps), wanted, rtol=1e-6)


def test_factors_of_integer_results_have_both_signs() -> None:
    gains = drawn(filler("self_attention_pa_encoder", **QUANTIZED), argument_roles.OUT_FACTOR)
    assert {-1.0, 1.0} == set(np.sign(gains))
    assert {*np.log2(np.abs(gains))} == {-7.0, -6.0, -5.0, -4.0}


def test_factors_of_probes_are_one_its_negative_and_a_half() -> None:
    ratios: set[float] = set()
    for seed in range(12):
        found = filler("self_attention_pa_encoder", seed=seed, **QUANTIZED, **{FILL: PROBE})
        (name,) = found.roles.named(argument_roles.OUT_FACTOR)
        made = np.asarray(found.made[name], np.float64).reshape(-1)
        ratios |= {round(float(each), 3) for each in made / np.abs(made).max()}
    assert {1.0, -1.0, 0.5} <= ratios <= {1.0, -1.0, 0.5, -0.5}


def test_stored_integers_are_small_in_probes_and_fill_their_range_otherwise() -> None:
    """Scores of probes are exact; numbers of any size meet the ends of int8."""
    probe = filler("self_attention_pa_encoder", **QUANTIZED, **{FILL: PROBE}).made["key"]
    assert len(np.unique(probe)) > 8 and np.abs(np.asarray(probe, int)).max() < 40
    normal = filler("self_attention_pa_encoder", **QUANTIZED, **{FILL: "normal"}).made["key"]
    assert {-128, 127} <= set(np.unique(normal).tolist())


def test_slopes_of_both_signs() -> None:
    found = filler("self_attention_pa_encoder", maskType=6, quantType=0, **{FILL: "normal"})
    slopes = drawn(found, argument_roles.SLOPE)
    assert (slopes < 0).any() and (slopes > 0).any() and (slopes < 0).sum() > (slopes > 0).sum()


@pytest.mark.parametrize("size", [30, -30])
def test_saturated_queries_are_no_larger_or_smaller_than_asked(size: int) -> None:
    """Scores of ``SPREAD``, with entries within 2^-14 and 2^14, normal numbers of float16."""
    found = filler("self_attention_pa_encoder", quantType=0, maskType=0, **{FILL: "normal"})
    attention = AttentionFiller(found, found.outline())
    for factor, entry in ((2.0**size, 2.0 ** math.copysign(14, -size)), (1.0, None)):
        attention.factor = factor
        query, _ = attention._random(SATURATED)
        wanted = SPREAD / (factor * attention.sizes["D"]) if entry is None else entry
        assert set(np.abs(query).reshape(-1)) == {wanted}


@pytest.mark.parametrize(
    ("dtype", "smallest", "held"),
    [
        ("float16", 2.0**-10, 2.0**4),
        ("float16", 2.0**-14, 1.0),
        ("float16", 1.5 * 2.0**-11, 2.0**3),
        ("bfloat16", 2.0**-120, 2.0**6),
        ("bfloat16", 2.0**-10, 2.0**9),
        ("int8", 3.0, 1.0),
    ],
)
def test_queries_hold_what_they_are_divided_by(
    dtype: str, smallest: float, held: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quotient is a normal number of the dtype, and the largest unit that leaves one is taken."""
    attention = object.__new__(AttentionFiller)
    content = np.full(4, 512.0)
    attention.locations = SimpleNamespace(content=content, written=np.ones(4, bool))  # type: ignore[assignment]
    attention.is_value = np.array([False, False, True, True])
    attention.stored = {"cache": None}  # type: ignore[dict-item]
    roles = SimpleNamespace(named=lambda role: ["query"])
    attention.filler = SimpleNamespace(dtype=lambda name: dtype, roles=roles)  # type: ignore[assignment]
    monkeypatch.setattr(AttentionFiller, "_sharing", lambda self, name: [slice(0, 4)])
    monkeypatch.setattr(AttentionFiller, "_unit", lambda self, name: 512.0)
    assert attention._share_units(np.array([smallest, 4 * smallest, 0.0])) == held
    assert list(content) == [512.0 * held] * 2 + [held] * 2  # keys by as much more, values by as much less


@pytest.mark.parametrize("kind", ["all", "none"])
def test_patterns_that_leave_no_choice(kind: str) -> None:
    hidden = pattern(np.random.default_rng(0), kind, (3, 5))
    assert hidden.all() or not hidden.any()


@pytest.mark.parametrize(
    ("mask", "slope", "some"), [("none", 1.0, False), ("none", None, True), ("all", 1.0, True)]
)
def test_scores_that_have_a_slope_may_select_alone(mask: str, slope: float | None, some: bool) -> None:
    """Else blocks are forced, whatever hides keys."""
    pins = {"given(topk_mask)": True, MASK: mask, "longest(actual_cmp_seq_kvlen)": 300}
    found = filler("nsa_compress_attention", **pins, **{FILL: "ramp", "fill(actual_cmp_seq_kvlen)": "full"})
    found.assignment = {**found.assignment} | ({} if slope is None else {SLOPE: slope})
    found._masks()
    assert bool(np.any(found.made["topk_mask"])) is some


def test_ramps_rise_and_fall() -> None:
    """Of cases of no kernel, by chance."""
    signs = set()
    for seed in range(8):
        pins = {FILL: "ramp", "B": 1, "N": 1, "K": 1, "S": 300, "D": 64, "scale": 1.0}
        arrays = filler("sinks", seed=seed, **pins).made
        query, key = (arrays[name].astype(np.float64).reshape(-1, 64) for name in ("query", "key"))
        scores = key @ query[-1]
        signs.add(np.sign(scores[-20:].mean() - scores[:20].mean()))
        assert set(np.sign(query.mean(axis=0))) == {-1.0, 1.0}, "channels have signs of their own"
    assert signs == {-1.0, 1.0}


def test_tensors_with_one_scale_share_what_is_largest() -> None:
    """Components of a scale are scales of their own."""
    found: Any = object.__new__(AttentionFiller)
    ranges = {"key": (0, 4), "value": (4, 8), "other": (8, 12)}
    scale = SimpleNamespace
    stored = {
        "key": scale(scale="s", component=0), "value": scale(scale="s", component=0),
        "other": scale(scale="s", component=1), "absent": scale(scale="s", component=0),
    }  # fmt: skip
    content = np.array([1.0, 2, 3, 4, 5, 6, 7, 800, 90, 0, 0, np.nan])
    found.locations, found.stored = SimpleNamespace(ranges=lambda: ranges, content=content), stored
    assert found._sharing("key") == [slice(0, 4), slice(4, 8)] and found._sharing("other") == [slice(8, 12)]
    assert found._largest("key") == 800 and found._largest("other") == 127
    assert found._unit("key") == 16 and found._unit("other") == 2


@pytest.mark.parametrize(("factor", "sharpened"), [(0.125, True), (2.0**-20, False), (0.0, False)])
def test_scales_of_probes_are_moved_where_queries_can_hold_them(
    monkeypatch: pytest.MonkeyPatch, factor: float, sharpened: bool
) -> None:
    found: Any = object.__new__(Filler)
    found.graph, found.env = None, {"scale": 1.0}
    found.roles = SimpleNamespace(named=lambda role: ["query"])
    found.dtype, found.factor = lambda name: "float16", lambda: factor
    monkeypatch.setattr(argument_roles, "scale_parameter", lambda graph: "scale")
    found._sharpen()
    assert (found.env["scale"] != 1.0) is sharpened


@pytest.mark.parametrize("number", [1, 2])
def test_tensors_of_a_list_have_a_row_of_their_own_or_none(number: int) -> None:
    """Every other one has the rows that its keys need; a leading dimension of 1 may be left out."""
    pins = {"split(key)": True, "given(block_table)": False, "B": 3, "S": 100, "layout(key)": "BNSD"}
    found = filler("incre_flash_attention", **pins, **{FILL: "normal"})
    found.number = lambda name: number  # type: ignore[method-assign]
    spec = found.space.operator.tensor("key")
    entries = found._entries(spec)
    assert len(entries) == 3 and {each.ndim for each in entries} == ({4} if number % 2 else {3})
    assert entries[0].shape[-2] == 100 and entries[1].shape[-2] <= 100


def test_lists_of_blocks_are_drawn_once_and_unused_entries_of_tables_are_rubbish() -> None:
    found = filler("nsa_selection", **{FILL: "normal"})
    (name,) = found.roles.named(argument_roles.LISTS)
    before = found.made[name]
    found._integers()
    assert found.made[name] is before
    rubbish = set()
    for seed in range(8):
        paged = filler(
            "incre_flash_attention", seed=seed, **{"given(block_table)": True, "B": 3, FILL: "normal"}
        )
        (table,) = paged.roles.named(argument_roles.TABLE)
        pages = max(paged._pages(table), 1)
        entries = paged.made[table]
        rubbish |= {int(each) - pages if each == pages else int(each) for each in entries.reshape(-1)}
    assert {-1, 2**31 - 1} <= rubbish
