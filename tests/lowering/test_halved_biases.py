"""Biases of a tile's keys are made once for both halves of a task, sums of a step's rows with the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.base.package_files import specs_dir
from attndsl.compiler.prepare_launch import prepare
from attndsl.expr import Symbol
from attndsl.graph import nodes
from attndsl.lowering.lower import lower
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from attndsl.tile.printer import print_statement
from attndsl.tile_interpreter.run import interpret
from attndsl.tile_interpreter.run_facts import counted_runs
from tests.support.builders import PADDED, Change, attention, elementwise, masked, scalar, signature, tensor
from tests.support.devices import DEVICE

Array = Any
TILE, ROWS, SIZE = 64, 160, 16
STATED = (
    f"op.schedule(tile_k={TILE}, max_rows={ROWS}, rows=16, result_rows=8, row_sums='blocks', base_n=64)\n"
)
"""Rows are those of a step: a task may have twice as many. Tiles have folded lanes of one repeat."""
i, j = Symbol("i"), Symbol("j")
SCALED = elementwise("multiply", scalar(Symbol("c")))
FAR = nodes.Elementwise(
    op="multiply",
    inputs=(scalar(j - i, "Q", "T"), tensor("slopes", ("N",), "float32")),
    axes=("N", "Q", "T"),
)
BIASED = elementwise("add", FAR)


def text_of(*scores: Change, **options: Any) -> str:
    """The joint program of prompts, its sums of rows in blocks."""
    output = attention(PADDED, scores=scores)
    schedule = Schedule(**{"tile_k": 512, "max_rows": 256, "rows": 16, "row_sums": "blocks", **options})
    joint = lower(recognize((output,)), signature(output, positions=Symbol("Q")), schedule, DEVICE)
    return print_statement(joint.body)


def lines_of(*scores: Change, **options: Any) -> list[str]:
    return [line.strip() for line in text_of(*scores, **options).splitlines()]


# Once for both halves -------------------------------------------------------------------------------------


def test_the_first_half_makes_the_biases_of_both() -> None:
    found = lines_of(SCALED, BIASED, masked(j > i))
    assert sum("laneNumbers" in each and "lane numbers" in each for each in found) == 1
    made = next(at for at, each in enumerate(found) if each.startswith("V     keyBias[tileKeys] = Adds"))
    assert found[made - 1] == "if halfOfTask == 0:"
    assert "firstOfTask" in found[made] and "firstQuery" not in found[made]


def test_without_halves_each_tile_makes_its_own() -> None:
    found = lines_of(SCALED, BIASED, masked(j > i), halves="none")
    made = next(at for at, each in enumerate(found) if each.startswith("V     keyBias[tileKeys] = Adds"))
    assert found[made].endswith("- firstQuery)") and not any("half" in each for each in found)


# Sums of a step with the next -----------------------------------------------------------------------------


def test_the_next_step_folds_the_lanes_of_a_step_beside_the_bias() -> None:
    found = lines_of(SCALED, BIASED, masked(j > i))
    added = max(at for at, each in enumerate(found) if "Add(score[" in each or "Axpy(keyBias" in each)
    before = found.index("if r0 > 0:")
    taken = next(at for at, each in enumerate(found) if "Max(score[" in each)
    assert added < before < taken and "stepLanes[" in found[before + 1]


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        ((SCALED, masked(j > i)), {"maxima": "each"}),  # the mask acts on some tiles
        ((BIASED, masked(j > i)), {}),
        ((SCALED, BIASED), {"row_sums": "lanes", "tile_k": 64}),
        ((SCALED, BIASED), {"row_sums": "step"}),
        ((SCALED, BIASED), {"max_rows": 128}),
        ((SCALED, elementwise("multiply", scalar(Symbol("d")))), {"maxima": "kept"}),
    ],
)
def test_a_near_one_does_not(scores: tuple[Change, ...], options: dict[str, Any]) -> None:
    assert "stepLanes" in text_of(SCALED, BIASED) and "stepLanes" not in text_of(*scores, **options)


# Results --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """Prompts whose positions see all keys: the host cuts few positions into tasks of two halves, too."""
    file = tmp_path_factory.mktemp("biases") / "prompts.py"
    text = (specs_dir() / "variants" / "alibi.py").read_text().replace("s.where(j <= i)", "s")
    file.write_text(text + STATED)
    return load_file(file)


def given(positions: int, heads: int, group: int, steepest: float) -> dict[str, Array]:
    rng = np.random.default_rng(positions)

    def drawn(count: int) -> Array:
        return rng.standard_normal((1, count, positions, SIZE)).astype(np.float16)

    slopes = np.linspace(steepest / 8, steepest, heads, dtype=np.float32)
    rows = {"query": drawn(heads), "key": drawn(heads // group), "value": drawn(heads // group)}
    return {**rows, "slopes": slopes, "scale": 0.25}


def check(operator: Operator, call: dict[str, Array], backend: str) -> None:
    query, key, value = (call[name].astype(np.float64)[0] for name in ("query", "key", "value"))
    group, positions = len(query) // len(key), query.shape[1]
    key, value = (np.repeat(each, group, axis=0) for each in (key, value))
    at = np.arange(positions)
    scores = query @ key.transpose(0, 2, 1) * 0.25 + call["slopes"][:, None, None] * (at - at[:, None])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    normal = weights / weights.sum(axis=-1, keepdims=True)
    exact, out = normal @ value, np.asarray(operator(**call, backend=backend), np.float64)
    # a bias is off by 2**-24 of a number up to the positions of a task more than its distance
    bound = 2.0**-10 + 2.0**-22 * positions * float(call["slopes"].max())
    error = np.abs(out.reshape(exact.shape) - exact)
    assert (error <= bound * (normal @ np.abs(value) + np.abs(exact)) + 1e-5).all()


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("steepest", [0.05, 4.0])
@pytest.mark.parametrize(
    ("positions", "heads", "group"), [(2 * ROWS, 24, 1), (2 * ROWS - 31, 24, 1), (90, 8, 4)]
)
def test_rows_of_both_halves_have_their_biases(
    positions: int, heads: int, group: int, steepest: float, prompts: Operator
) -> None:
    check(prompts, given(positions, heads, group, steepest), "tile")


def test_a_task_has_both_halves(prompts: Operator) -> None:
    launch = prepare(prompts.bind(**given(2 * ROWS, 24, 1, 1.0)))
    assert launch.compiled.schedule.halves == "auto" and launch.tiling["queriesPerTask"] == 2 * ROWS
    with counted_runs() as runs:
        interpret(launch)
    assert [each.halves for each in runs] == [2]


@pytest.mark.parametrize(("positions", "heads", "group"), [(2 * ROWS - 31, 24, 1), (90, 8, 4)])
def test_the_kernel_with_every_check_on(positions: int, heads: int, group: int, prompts: Operator) -> None:
    check(prompts, given(positions, heads, group, 0.5), "emulator")
