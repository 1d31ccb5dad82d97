"""Tasks of two halves compute what the formula says: rows of both, over several tiles of growing maxima."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.base.package_files import specs_dir
from attndsl.compiler.prepare_launch import prepare
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator

Array = Any
HEADS, SIZE, TILE, ROWS = 24, 16, 64, 160
"""A head for each core. Rows are those of a step: a task may have twice as many."""
_STATED = f"op.schedule(tile_k={TILE}, max_rows={ROWS}, rows=16, result_rows=8)\n"


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """Prompts whose positions see all keys."""
    text = (specs_dir() / "variants" / "gqa_prefill_lse.py").read_text().replace("s.where(j <= i)", "s")
    file = tmp_path_factory.mktemp("halves") / "prompts.py"
    file.write_text(text + _STATED)
    return load_file(file)


def given(positions: int, rise: float) -> dict[str, Array]:
    """Scores that rise by so much from key to key, the values random."""
    rng = np.random.default_rng(positions)
    query = (rng.standard_normal((1, HEADS, positions, SIZE)) / 4).astype(np.float16)
    key = (rng.standard_normal((1, HEADS, positions, SIZE)) / 4).astype(np.float16)
    query[..., 0], key[..., 0] = 1, np.arange(positions) * rise
    value = rng.standard_normal((1, HEADS, positions, SIZE)).astype(np.float16)
    return {"query": query, "key": key, "value": value, "scale": 1.0}


def check(operator: Operator, call: dict[str, Array], backend: str) -> None:
    query, key, value = (call[name].astype(np.float64)[0] for name in ("query", "key", "value"))
    scores = query @ key.transpose(0, 2, 1)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    normal = weights / weights.sum(axis=-1, keepdims=True)
    out, lse = operator(**call, backend=backend)
    exact = normal @ value
    error = np.abs(np.asarray(out[0], np.float64) - exact)
    assert (error <= 2.0**-10 * (normal @ np.abs(value) + np.abs(exact)) + 1e-5).all()
    told = scores.max(axis=-1) + np.log(weights.sum(axis=-1))
    np.testing.assert_allclose(lse[0], told, rtol=1e-5, atol=1e-4)


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("rise", [0.0, 0.2])
@pytest.mark.parametrize("positions", [2 * ROWS, 2 * ROWS - 31, ROWS + 1])
def test_rows_of_both_halves_are_exact(positions: int, rise: float, prompts: Operator) -> None:
    check(prompts, given(positions, rise), "tile")


def test_a_task_has_both_halves(prompts: Operator) -> None:
    launch = prepare(prompts.bind(**given(2 * ROWS, 0.0)))
    assert launch.compiled.schedule.halves == "auto" and launch.tiling["queriesPerTask"] == 2 * ROWS
    few = prepare(prompts.bind(**given(ROWS, 0.0)))
    assert few.tiling["queriesPerTask"] <= ROWS


def test_the_kernel_with_every_check_on(prompts: Operator) -> None:
    check(prompts, given(2 * ROWS - 31, 0.2), "emulator")
