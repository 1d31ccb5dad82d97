"""Scores that pass through the workspace in fp16: right up to their bound, refused where that has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.base.package_files import specs_dir
from attndsl.compiler.compile import Chosen, compile_operator
from attndsl.compiler.prepare_launch import prepare, specialization_of
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.match.schedule_options import OF_NARROW_SCORES, Schedule
from attndsl.spec.operator.loader import load, load_file
from attndsl.spec.operator.operator import Operator
from attndsl.tile.instructions import Fixpipe
from tests.support.authored import call_of, with_schedule
from tests.support.devices import DEVICE

from .dequantized_calls import BF16, decoding
from .small_int8 import PLAIN, SPEC, arguments

Array = Any
VARIANTS = specs_dir() / "variants"
KEYS, SIZE = 700, 16
CAUSAL = "attend.softmax(s.where((j <= i - 4) & (j >= 0)))"


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """Rows that see other keys before their own place, the first four of them none."""
    text = (VARIANTS / "narrow_scores.py").read_text().replace("attend.softmax(s)", CAUSAL)
    text = text.replace("s = attend.scores", "i, j = attend.QUERY, attend.KEY\ns = attend.scores")
    file = tmp_path_factory.mktemp("narrow") / "narrow_rows.py"
    file.write_text(text)
    return load_file(file)


def along(products: Array) -> tuple[Array, Array]:
    """Queries and keys, (rows, channels), whose products are these numbers of keys, for each query."""
    query, key = np.zeros((KEYS, SIZE), np.float16), np.zeros((KEYS, SIZE), np.float16)
    query[:, 0], query[:, 1] = 256, 1
    key[:, 0] = products // 256
    key[:, 1] = products - 256 * (products // 256)
    return query, key


def near_the_limit() -> tuple[Array, Array, float]:
    return *along(np.random.default_rng(0).integers(-65504, 65505, KEYS)), 2.0**-13


def growing() -> tuple[Array, Array, float]:
    return *along(np.arange(KEYS) * 7), 2.0**-7


def late_spike() -> tuple[Array, Array, float]:
    return *along(np.where(np.arange(KEYS) % 300 == 290, 5003, np.arange(KEYS) % 90)), 2.0**-8


def all_equal() -> tuple[Array, Array, float]:
    return *along(np.full(KEYS, 4099)), 0.5


def normal() -> tuple[Array, Array, float]:
    made = np.random.default_rng(1).standard_normal((2, KEYS, SIZE)).astype(np.float16)
    return made[0], made[1], -0.5


def expected(given: dict[str, Array], dtype: type = np.float64) -> tuple[Array, Array]:
    """The result with products rounded to ``dtype``, and how far rounding to fp16 may move it."""
    query, key, value = (given[name][0, 0].astype(np.float64) for name in ("query", "key", "value"))
    visible = np.arange(KEYS) <= np.arange(KEYS)[:, None] - 4
    scores = np.where(visible, (query @ key.T).astype(dtype).astype(np.float64) * given["scale"], -np.inf)
    weights = np.zeros_like(scores)
    weights[4:] = np.exp(scores[4:] - scores[4:].max(axis=1, keepdims=True))
    weights[4:] /= weights[4:].sum(axis=1, keepdims=True)
    moves = np.where(visible, np.abs(scores) * 2.0**-11, 0)
    out, least = weights @ value, (weights * np.exp(-moves)).sum(axis=1)
    moved = np.einsum("rk,rkc->rc", weights * np.expm1(moves), np.abs(value[None] - out[:, None]))
    return out, moved / np.where(least == 0, 1, least)[:, None]


@pytest.mark.parametrize("made", [near_the_limit, growing, late_spike, all_equal, normal])
@pytest.mark.parametrize("backend", ["tile", pytest.param("emulator", marks=pytest.mark.long)])
def test_products_are_rounded_to_fp16_and_nothing_else(
    made: Callable[[], tuple[Array, Array, float]], backend: str, narrow: Operator
) -> None:
    """Products near the limit, maxima that grow with each key, late ones, equal ones; rows without keys."""
    query, key, scale = made()
    value = np.random.default_rng(2).standard_normal((1, 1, KEYS, SIZE)).astype(np.float16)
    given = {"query": query[None, None], "key": key[None, None], "value": value, "scale": scale}
    (exact, bound), (rounded, _) = expected(given), expected(given, np.float16)
    out = np.asarray(narrow(**given, backend=backend), np.float64)[0, 0]
    np.testing.assert_allclose(out, rounded, atol=2.0**-8)
    assert (np.abs(out - exact) <= bound + 2.0**-8).all()
    assert (out[:4] == 0).all()


def test_a_product_beyond_the_limit_becomes_infinite(narrow: Operator) -> None:
    """65519 is the last that does not; its row has no result, those before it have."""
    value = np.ones((1, 1, KEYS, SIZE), np.float16)
    for product, is_held in ((65519, True), (65520, False)):
        query, key = along(np.where(np.arange(KEYS) == 40, product, 0))
        given = {"query": query[None, None], "key": key[None, None], "value": value, "scale": 2.0**-16}
        out = narrow(**given, backend="tile")[0, 0]
        assert np.isfinite(out[:44]).all() and np.isfinite(out[44:]).all() == is_held


def test_the_cube_rounds_and_the_schedule_says_who_asked_for_it() -> None:
    prompts = load(str(VARIANTS / "narrow_scores.py"))
    tokens = np.zeros((1, 2, 300, 128), np.float16)
    made = prepare(prompts.bind(query=tokens, key=tokens, value=tokens)).compiled
    (stored,) = {item.narrows for item in made.program.instructions() if isinstance(item, Fixpipe)} - {False}
    assert stored and made.schedule.rows == OF_NARROW_SCORES["rows"]
    assert "score_dtype   float16 spec" in made.schedule_text
    program, span = made.program, DEVICE.architecture.bank_span
    place = {buffer.name: address // span for buffer, address in program.addresses.items()}
    assert len({place["narrowScore"], place["score"]}) == 2  # no repeat writes to the bank that it reads
    assert Schedule().score_dtype == "float32"


def with_narrow_scores(name: str, folder: Path) -> Operator:
    file = folder / f"{name}.py"
    file.write_text((VARIANTS / f"{name}.py").read_text() + 'op.schedule(score_dtype="float16")\n')
    return load_file(file)


def test_what_has_no_bound_is_refused_with_the_way_out(tmp_path: Path) -> None:
    file = tmp_path / "small_int8.py"
    file.write_text(SPEC.format(**PLAIN) + 'op.schedule(score_dtype="float16")\n')
    cached, halves = (decoding(np.random.default_rng(0), dtype) for dtype in (BF16, np.float16))
    tokens = np.zeros((1, 1, 64, 16), np.float16)
    sigmoid = with_narrow_scores("sigmoid", tmp_path).bind(query=tokens, key=tokens, value=tokens)
    for refused, why in (
        (load_file(file).bind(**arguments()), "with integer scores"),
        (with_schedule(tmp_path, score_dtype="float16").bind(**cached), "with quantized keys or values"),
        (with_schedule(tmp_path, score_dtype="float16").bind(**halves), "with quantized keys or values"),
        (sigmoid, "unless weights are a softmax"),
    ):
        with pytest.raises(IllegalScheduleValue, match=f"score_dtype='float16' must be \"float32\" {why}"):
            prepare(refused)
    plain = call_of(with_schedule(tmp_path, score_dtype="float16"), group=4, keys=300)
    assert prepare(plain).compiled.schedule.score_dtype == "float16"


def test_nobody_else_states_it(tmp_path: Path) -> None:
    """Neither a search nor a stored choice: results would be others than the author asked for."""
    given = call_of(ops.incre_flash_attention, group=4, keys=300)
    chosen = Chosen(options={"score_dtype": "float16"}, by="a search")
    with pytest.raises(IllegalScheduleValue, match="'float32' unless the spec states it"):
        compile_operator(ops.incre_flash_attention, specialization_of(given), chosen)
    stated = call_of(with_schedule(tmp_path, score_dtype="float16"), group=4, keys=300)
    operator = stated.operator
    assert isinstance(operator, Operator)
    made = compile_operator(operator, specialization_of(stated), chosen)
    assert made.schedule.score_dtype == "float16"
