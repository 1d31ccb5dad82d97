"""Probabilities times numbers of keys: the sums of rows are those before."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.operator import Operator
from tests.support.small_specs import DECODE_SCORES, assert_computes, decode_call, decode_spec

KEYS, HEADS, ROWS = "B T", "B K T", "B N Q T"
LAYOUTS = {KEYS: "B T", HEADS: "B K T", ROWS: "B N 1 T"}
OUT = 'op.output("out", out, like=query)'
LSE = 'op.output("lse", p.lse, like=query, layouts="B N 1", dtype="float32")'
RNG = np.random.default_rng(7)


def spec(folder: Path, axes: str, product: str, *outputs: str, schedule: str = "") -> Operator:
    declared = f'importance = op.input("importance", "{LAYOUTS[axes]}", dtype="float32", axes="{axes}")'
    body = f"p = attend.softmax(s)\nout = ({product}) @ attend.rows(value)"
    return decode_spec(folder, DECODE_SCORES, body, OUT, *outputs, declared=declared, schedule=schedule)


def importance(call: dict[str, Any], axes: str) -> np.ndarray:
    (b, n, _, _), (_, k, t, _) = call["query"].shape, call["key"].shape
    shape = {KEYS: (b, t), HEADS: (b, k, t), ROWS: (b, n, 1, t)}[axes]
    return RNG.uniform(-2, 2, shape).astype(np.float32)


def expected(call: dict[str, Any], weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By hand in float64; ``weight`` against (B, N, 1, T)."""
    query, key, value = (np.asarray(call[name], np.float64) for name in ("query", "key", "value"))
    key, value = (np.repeat(each, 2, axis=1) for each in (key, value))
    scores = np.einsum("bnqd,bntd->bnqt", query, key) * 0.2
    lse = np.log(np.exp(scores).sum(axis=-1))
    return np.einsum("bnqt,bntd->bnqd", np.exp(scores - lse[..., None]) * weight, value), lse


@pytest.mark.sweep(fast=4)
@pytest.mark.parametrize(("axes", "splits"), [(KEYS, 1), (HEADS, 3), (ROWS, 1)])
@pytest.mark.parametrize("backend", ["reference", "tile", "emulator"])
def test_the_factor_acts_on_the_product_alone(tmp_path: Path, backend: str, axes: str, splits: int) -> None:
    op = spec(tmp_path, axes, "p * importance", LSE, schedule=f"tile_k=128, split_kv={splits}")
    call = decode_call(t=500)
    given = importance(call, axes)
    wide = {KEYS: given[:, None, None], HEADS: np.repeat(given, 2, axis=1)[:, :, None], ROWS: given}[axes]
    out, lse = op(**call, importance=given, backend=backend)
    want, want_lse = expected(call, wide)
    np.testing.assert_allclose(out.astype(float), want, rtol=0, atol=4e-3)
    np.testing.assert_allclose(lse, want_lse, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    "product",
    [
        "importance * p",
        "p * importance * importance",
        "p * (1 + importance)",
        "p * 0.5 * importance",
        "p / 4 * importance",
    ],
)
def test_what_a_factor_may_be(tmp_path: Path, product: str) -> None:
    call = decode_call()
    assert_computes(spec(tmp_path, KEYS, product), "tile", **call, importance=importance(call, KEYS))


@pytest.mark.parametrize(
    ("product", "said"),
    [
        ("p + importance", "'add' of the probabilities of attend.softmax"),
        ("importance / p", "'divide' of the probabilities"),
        ("p.where(attend.KEY > 3)", "a mask on the probabilities"),
        ("attend.softmax(p)", "Softmax of the probabilities"),
    ],
)
def test_nothing_else_acts_on_probabilities(tmp_path: Path, product: str, said: str) -> None:
    with pytest.raises(NotLowered, match=rf"small_decode.py:\d+: {said}.*\(p \* weight\) @ values"):
        compile_operator(spec(tmp_path, KEYS, product), Specialization(dtype="float16", padded_head_size=32))


@pytest.mark.parametrize("product", ["p * attend.log(p)", "p * importance + p"])
def test_functions_of_two_probabilities_are_refused_with_what_rows_have(tmp_path: Path, product: str) -> None:
    with pytest.raises(NotLowered, match=r"two functions of the probabilities.*p\.row_max"):
        compile_operator(spec(tmp_path, KEYS, product), Specialization(dtype="float16", padded_head_size=32))
