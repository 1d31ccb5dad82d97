"""Level scores: block scores are seen as numbers although only indices leave the kernel.

A block's score is a sum of probabilities over keys and heads. Where one of them is lost, doubled or that of a
neighbouring key, the selection is another one by more than rounding, wherever the block's rank matters.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attndsl import ops
from attndsl.reference.run import run
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import spaces
from attndsl.verify.judge.golden import Importance, golden
from attndsl.verify.judge.integral import compare_indices
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import FILL, LEVEL, MASK, WORKLOAD

TOKENS, KEYS, STEP, TOP = 3, 1100, 4, 16
(SPACE,) = spaces(ops.nsa_compress_attention)


@pytest.fixture(scope="module")
def case() -> Case:
    """A few tokens over more than two tiles of keys, no masks."""
    pins = {FILL: LEVEL, MASK: "none", WORKLOAD: "any", "given(topk_mask)": False, "given(atten_mask)": False}
    pins |= {"B": 1, "D1": 64, "case.group": 2, "select_block_count": TOP, "case.warned": False}
    pins |= {"compress_block_size": 32, "compress_stride": 16, "select_block_size": 16 * STEP}
    pins |= {"index_reading": "op", "scale_value": "1/sqrt(D)"}
    rng = np.random.default_rng(0)
    assignment = solve(SPACE, rng, pins)
    assert assignment is not None
    lengths = {"seq_qlen": TOKENS, "cmp_seq_kvlen": KEYS, "sel_seq_kvlen": KEYS // STEP}
    integers = {f"actual_{name}": np.array([length]) for name, length in lengths.items()}
    return Case(ops.nsa_compress_attention, SPACE, 0, 0, assignment, integers)


def filled(case: Case, kind: str) -> Call:
    return replace(case, assignment={**case.assignment, FILL: kind}).call()


def selection(call: Call) -> tuple[Array, Importance]:
    found = golden(call).results[1]
    assert found.importance is not None
    return found.values, found.importance


def probabilities(call: Call) -> Array:
    """(tokens, heads, keys) of the only batch row, in float64."""
    query, key = (call.arrays[name].astype(np.float64) for name in ("query", "key"))
    group = query.shape[1] // key.shape[1]
    scores = np.einsum("snd,tnd->snt", query, np.repeat(key, group, axis=1)) * call.params["scale_value"]
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    found: Array = weights / weights.sum(axis=-1, keepdims=True)
    return found


def best(values: Array, importance: Importance) -> Array:
    """The largest entries of each row, ties to the lower one."""
    entries = np.arange(values.shape[-1]) < importance.entries[..., None]
    order = np.argsort(-np.where(entries, values, -np.inf), axis=-1, kind="stable")
    return order[..., :TOP]


def last_blocks(call: Call) -> Array:
    """The blocks of the first token that rank last, without the very last, whose windows are cut off."""
    _, importance = selection(call)
    return np.argsort(importance.values[0, 0, : KEYS // STEP - 1])[:TOP]


def share_seen(call: Call, sign: float, blocks: Array | None = None) -> float:
    """Of the blocks whose score has a probability of one head too many or too few, those that are noticed."""
    wanted, importance = selection(call)
    p = probabilities(call)
    seen = []
    for token in range(p.shape[0]):
        ranks = wanted[token, 0] if blocks is None else blocks
        for block in ranks[: TOP // 2].astype(int):
            values = importance.values.copy()
            values[token, 0, block] += sign * p[token, 0, STEP * block + 1]
            found = best(values, importance)
            actual = found.astype(np.int32)
            seen.append(not compare_indices(actual, wanted, importance).ok)
    return float(np.mean(seen))


def test_a_lost_probability_of_any_selected_block_is_seen(case: Case) -> None:
    assert share_seen(filled(case, LEVEL), -1.0) == 1.0
    assert share_seen(filled(case, "normal"), -1.0) < 1.0


def test_a_doubled_probability_of_any_block_is_seen(case: Case) -> None:
    """Also of those that rank last."""
    call, plain = filled(case, LEVEL), filled(case, "normal")
    assert share_seen(call, 1.0, last_blocks(call)) > 0.9
    assert share_seen(plain, 1.0, last_blocks(plain)) < 0.5


def test_the_best_blocks_lie_on_borders_of_tiles(case: Case) -> None:
    """Their windows take probabilities of two tiles."""
    call = filled(case, LEVEL)
    wanted, _ = selection(call)
    tile = SPACE.tiles[0]
    assert 2 * tile < KEYS
    borders = {edge // STEP + more for edge in range(0, KEYS + 1, tile) for more in (-1, 0, 1)}
    borders |= {KEYS // STEP - 1, KEYS // STEP - 2}
    assert np.isin(wanted[:, 0, :3], sorted(borders)).mean() > 0.8, wanted[:, 0, :3]


def test_no_two_blocks_are_equal_up_to_rounding(case: Case) -> None:
    """Else either order is right, and nothing is seen: probes have such blocks."""
    wanted, importance = selection(filled(case, LEVEL))
    values = np.take_along_axis(importance.values, wanted.astype(int), axis=-1)
    gaps = -np.diff(values, axis=-1)
    allowed = np.take_along_axis(importance.rounding, wanted.astype(int), axis=-1)[..., 1:]
    assert (gaps > allowed).mean() > 0.9


def test_float32_selects_the_same(case: Case) -> None:
    call = filled(case, LEVEL)
    wanted, importance = selection(call)
    assert compare_indices(run(call)[1], wanted, importance).ok


def test_only_operators_that_select_have_level_scores() -> None:
    assert LEVEL in SPACE.variables[FILL]
    assert LEVEL not in spaces(ops.relay_attention)[0].variables[FILL]
