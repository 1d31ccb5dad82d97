"""Weighted sums that are added up in the workspace: for maxima of any course; where they cannot be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from attndsl.base.package_files import specs_dir
from attndsl.expr import Const, Symbol
from attndsl.graph import nodes
from attndsl.lowering.attention.continuous import all_continuous
from attndsl.lowering.attention.gathered_sums import GROWTH_LIMIT, with_gathered_sums
from attndsl.lowering.attention.kept_maxima import keeps_maxima
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.keys.key_source import KeySource
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.log_sum_exp import asks_statistics_alone
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from tests.support.builders import (
    PADDED,
    attention,
    context,
    contexts,
    dense,
    elementwise,
    masked,
    scalar,
)

Array = Any
KEYS, SIZE, HEADS = 300, 16, 2
i, j = Symbol("i"), Symbol("j")
_STATED = 'op.schedule(sums="workspace", tile_k=64, max_rows=64, rows=16, result_rows=8, cores=2)\n'


_MANY_STEPS = 'op.schedule(maxima="kept", tile_k=64, max_rows=256, task_rows="most", rows=8, cores=2)\n'
"""128 rows of a vector core in 16 steps, more than a step has rows."""


def _operator(folder: Path, schedule: str) -> Operator:
    """Rows that see other keys before their own place, the first four of them none; several items a core."""
    text = (specs_dir() / "variants" / "gqa_prefill_lse.py").read_text().replace("j <= i", "j <= i - 4")
    file = folder / "gathered_rows.py"
    file.write_text(text + schedule)
    return load_file(file)


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> Operator:
    return _operator(tmp_path_factory.mktemp("gathered"), _STATED)


NUMBERS = np.arange(KEYS)
COURSES: dict[str, Array] = {
    "growing": NUMBERS * 0.5,
    "growing within the limit": NUMBERS * GROWTH_LIMIT / KEYS,
    "falling": -NUMBERS / 2,
    "late spikes": np.where(NUMBERS % 90 == 80, 60, NUMBERS % 7),
    "far below the first": np.where(NUMBERS < 64, 40, NUMBERS % 7),
    "all equal": np.full(KEYS, 5.0),
    "one tile hidden": np.where((NUMBERS >= 64) & (NUMBERS < 128), -np.inf, NUMBERS % 5),
    "huge": np.where(NUMBERS == 200, 60000.0, 0),
}
"""Scores by key, all queries alike."""


def given(scores: Array) -> dict[str, Array]:
    """Queries and keys of these scores: of infinite ones the product is beyond fp32."""
    query, key = np.zeros((1, HEADS, KEYS, SIZE), np.float16), np.zeros((1, 1, KEYS, SIZE), np.float16)
    query[..., 0], key[0, 0, :, 0] = 1, scores
    value = np.random.default_rng(2).standard_normal((1, 1, KEYS, SIZE)).astype(np.float16)
    return {"query": query, "key": key, "value": value, "scale": 1.0}


def expected(call: dict[str, Array]) -> tuple[Array, Array, Array]:
    """The result, the log-sum-exp of each row, and how far rounding of weights may move the result."""
    query, key, value = (call[name].astype(np.float64) for name in ("query", "key", "value"))
    with np.errstate(invalid="ignore"):
        products = np.einsum("nqd,td->nqt", query[0], key[0, 0])
    scores = np.where(
        NUMBERS[:, None] - 4 >= NUMBERS, np.where(np.isnan(products), -np.inf, products), -np.inf
    )
    top = np.maximum(scores.max(axis=-1, keepdims=True), -1e30)
    weights = np.exp(scores - top)
    total = weights.sum(axis=-1, keepdims=True)
    normal = weights / np.where(total == 0, 1, total)
    with np.errstate(divide="ignore"):
        return normal @ value[0, 0], (top + np.log(total))[..., 0], normal @ np.abs(value[0, 0])


def check(operator: Operator, call: dict[str, Array], backend: str) -> None:
    out, lse = operator(**call, backend=backend)
    exact, log_sum, moved = expected(call)
    error = np.abs(np.asarray(out[0], np.float64) - exact)
    assert (error <= 2.0**-11 * (moved + np.abs(exact)) + 1e-5).all()
    np.testing.assert_allclose(lse[0], log_sum, rtol=1e-6, atol=1e-5)
    assert (out[0, :, :4] == 0).all()


@pytest.mark.parametrize("course", COURSES)
def test_maxima_may_take_any_course(course: str, gathered: Operator) -> None:
    check(gathered, given(COURSES[course]), "tile")


@pytest.mark.long
@pytest.mark.parametrize("course", COURSES)
def test_the_kernel_does_what_its_tile_program_does(course: str, gathered: Operator) -> None:
    check(gathered, given(COURSES[course]), "emulator")


@pytest.mark.parametrize("course", ["growing", "late spikes"])
@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_maxima_are_kept_in_more_steps_than_a_step_has_rows(
    course: str, backend: str, tmp_path: Path
) -> None:
    check(_operator(tmp_path, _MANY_STEPS), given(COURSES[course]), backend)


def test_rows_of_a_step_have_maxima_of_their_own(gathered: Operator) -> None:
    """One of them is no number, the others are what they were; results are the same each time."""
    call = given(NUMBERS % 7)
    rows = np.random.default_rng(1).standard_normal((2, KEYS, SIZE))
    call["query"][0, :, :, :] = rows.astype(np.float16) * 2
    call["key"][0, 0] = np.random.default_rng(3).standard_normal((KEYS, SIZE)).astype(np.float16) * 2
    check(gathered, call, "tile")
    first, _ = gathered(**call, backend="emulator")
    again, _ = gathered(**call, backend="emulator")
    np.testing.assert_array_equal(first, again)
    other = {**call, "query": call["query"].copy()}
    other["query"][0, 0, 200] = np.nan
    spoiled, _ = gathered(**other, backend="tile")
    assert np.isnan(spoiled[0, 0, 200]).all()
    spoiled[0, 0, 200] = 0
    plain, _ = gathered(**call, backend="tile")
    plain[0, 0, 200] = 0
    np.testing.assert_array_equal(spoiled, plain)


# Where they can be ------------------------------------------------------------------------------------------


def taken(output: nodes.Output, **options: Any) -> bool:
    stated = {"max_rows": 256, "sums": "workspace", **options}
    found = all_continuous(contexts(output, positions=Symbol("Q"), **stated))
    return all(each.gathers_sums for each in with_gathered_sums(found))


def plain() -> nodes.Output:
    return attention(PADDED)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"pipeline": "drained"}, "in a pipeline that drains"),
        ({"rows": 16, "result_rows": 32}, "unless result_rows divides rows"),
    ],
)
def test_a_schedule_that_cannot_have_them_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(IllegalScheduleValue, match=f'sums=.workspace. must be "vector" or "auto" {why}'):
        taken(plain(), **options)
    assert not taken(plain(), **options, sums="auto")


def test_a_near_one_has_them() -> None:
    assert taken(plain(), rows=32, result_rows=16) and not taken(plain(), sums="vector")


@pytest.mark.parametrize(
    ("scores", "options", "keeps"),
    [
        ((masked(j > i),), {}, True),
        ((), {}, False),
        ((elementwise("multiply", scalar(Symbol("c"))),), {}, False),
        ((), {"maxima": "kept"}, True),
        ((masked(j > i),), {"maxima": "each"}, False),
        ((elementwise("add", scalar(j - i, "Q", "T")),), {}, False),
        ((masked(j > i),), {"sums": "vector"}, False),
        ((masked(j > i),), {"row_sums": "step"}, False),
    ],
)
def test_maxima_are_kept_where_the_vector_cores_may_limit(
    scores: tuple[Any, ...], options: dict[str, Any], keeps: bool
) -> None:
    stated = {"max_rows": 256, "sums": "workspace", **options}
    found = all_continuous(contexts(attention(PADDED, scores=scores), positions=Symbol("Q"), **stated))
    assert keeps_maxima(with_gathered_sums(found)[0]) == keeps


def test_maxima_are_not_kept_with_biases_of_the_keys() -> None:
    bias = elementwise("add", scalar(j - i, "Q", "T"))
    stated = {"max_rows": 256, "sums": "workspace", "maxima": "kept"}
    found = contexts(attention(PADDED, scores=(bias,)), positions=Symbol("Q"), **stated)
    with pytest.raises(IllegalScheduleValue, match="with biases of the keys"):
        keeps_maxima(with_gathered_sums(all_continuous(found))[0])


SOMETHING: Any = object()
CHANGED: dict[str, Callable[[Context], Context]] = {
    "unless weights are a softmax": lambda c: replace(c, attention=replace(c.attention, softmax=None)),
    "with probabilities in int8": lambda c: replace(c, attention=replace(c.attention, requantize=SOMETHING)),
    "with factors on probabilities": lambda c: replace(
        c, attention=replace(c.attention, factors=(SOMETHING,))
    ),
    "with partials of earlier calls": lambda c: replace(
        c, attention=replace(c.attention, earlier=(SOMETHING,))
    ),
    "where blocks of keys are selected": lambda c: replace(
        c, computation=replace(c.computation, selection=SOMETHING)
    ),
    "with quantized keys or values": lambda c: replace(
        c, keys=cast("KeySource", SimpleNamespace(quantization=SOMETHING))
    ),
    "where the maximum or the sum of a row is asked for alone": lambda c: replace(
        c, computation=replace(c.computation, epilogue=(MAXIMUM,))
    ),
}


@pytest.mark.parametrize("why", CHANGED)
def test_a_computation_that_cannot_have_them_is_refused(why: str) -> None:
    """What is unchanged has them."""
    (found,) = all_continuous((context(plain(), positions=Symbol("Q"), max_rows=256, sums="workspace"),))
    assert with_gathered_sums((found,))[0].gathers_sums
    with pytest.raises(IllegalScheduleValue, match=why):
        with_gathered_sums((found, CHANGED[why](found)))


SOFTMAX = nodes.Softmax(scores=nodes.Scores(query=attention(PADDED).source, keys=dense("key")))
MAXIMUM, TOTAL = nodes.RowMax(softmax=SOFTMAX), nodes.RowSum(softmax=SOFTMAX)


def of(op: str, *inputs: nodes.Node) -> nodes.Elementwise:
    return nodes.Elementwise(op=op, inputs=inputs, axes=("B", "N", "Q"))


@pytest.mark.parametrize(
    ("statistic", "alone"),
    [
        (of("add", MAXIMUM, of("log", TOTAL)), False),
        (of("mul", of("add", of("log", TOTAL), MAXIMUM), scalar(Const(2.0))), False),
        (of("add", MAXIMUM, TOTAL), True),
        (of("log", TOTAL), True),
        (MAXIMUM, True),
    ],
    ids=["log-sum-exp", "twice it", "sum of both", "logarithm", "maximum"],
)
def test_a_log_sum_exp_is_no_statistic_alone(statistic: nodes.Node, alone: bool) -> None:
    found = recognize((attention(PADDED),))
    output = nodes.Output(name="statistic", source=statistic, dtype="float32", axes=("B", "N", "Q"))
    object.__setattr__(found, "statistics", (output,))
    assert asks_statistics_alone(found) is alone
