"""The benchmark is a plain implementation in the io dtype: every operation rounded, one after the other.

Held bit by bit against a computation written out here, on numbers whose products and sums are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attndsl import ops
from attndsl.reference import run as reference
from attndsl.spec.contract.layout import Array
from attndsl.spec.operator.loader import load
from attndsl.verify.judge import benchmark
from tests.support.selection_cases import arguments
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec

DTYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
RNG = np.random.default_rng(5)


def numbers(*shape: int) -> Array:
    """Multiples of a quarter: sums of their products are exact in float32, and not in 16 bits."""
    return RNG.integers(-9, 10, shape) / 4.0


def inputs(
    dtype: np.dtype[Any], *, batch: int = 2, heads: int = 4, keys: int = 37, channels: int = 48
) -> Any:
    shapes = {"query": (batch, heads, 1), "key": (batch, 2, keys), "value": (batch, 2, keys)}
    return {name: numbers(*shape, channels).astype(dtype) for name, shape in shapes.items()}


def attention(
    arrays: dict[str, Array],
    scores: Callable[[Array, Callable[[Array], Array]], Array],
    weights: Callable[[Array, Callable[[Array], Array]], Array],
) -> Array:
    """Query heads share key/value heads in pairs; ``scores`` and ``weights`` get a rounding."""
    dtype = arrays["query"].dtype

    def rounded(x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(x, np.float32).astype(dtype).astype(np.float32)

    query, key, value = (arrays[name].astype(np.float32) for name in ("query", "key", "value"))
    group = query.shape[1] // key.shape[1]
    key, value = (np.repeat(each, group, axis=1) for each in (key, value))
    raw = rounded(query @ key.transpose(0, 1, 3, 2))
    return rounded(weights(scores(raw, rounded), rounded) @ value).astype(dtype)


def softmax(s: Array, rounded: Callable[[Array], Array], sink: float | None = None) -> Array:
    top = s.max(axis=-1, keepdims=True)
    top = top if sink is None else np.maximum(top, np.float32(sink))
    top = np.where(np.isneginf(top), 0, top)
    powers = np.exp(s - top)
    total = powers.sum(axis=-1, keepdims=True) + (0 if sink is None else np.exp(np.float32(sink) - top))
    return rounded(powers / np.where(total == 0, 1, total))


def assert_same(found: Array, wanted: Array) -> None:
    """To the last bit but for what the order of a sum of exponentials may turn in few elements."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    assert (np.isnan(a) == np.isnan(b)).all()
    equal = (a == b) | np.isnan(a)
    assert equal.mean() > 0.97
    assert np.abs(np.where(equal, 0, a - b)).max() <= 2.0**-5


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_scores_scaled_scores_probabilities_and_results_are_rounded(tmp_path: Path, name: str) -> None:
    """Each of these roundings shows: without one, many elements are others."""
    operator, arrays = decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT), inputs(DTYPES[name])
    (found,) = benchmark.run(operator.bind(**arrays))

    def scaled(s: Array, rounded: Callable[[Array], Array]) -> Array:
        return rounded(s * np.float32(0.2))

    assert found is not None
    assert_same(found, attention(arrays, scaled, softmax))
    for scores, weights in (
        (lambda s, rounded: s * np.float32(0.2), softmax),
        (scaled, lambda s, rounded: softmax(s, lambda x: x)),
    ):
        other = attention(arrays, scores, weights)
        assert (other != found).mean() > 0.03
    (exact,) = reference.run(operator.bind(**arrays))
    assert (exact != found).mean() > 0.1, "the reference rounds once"


def test_each_step_on_scores_is_rounded(tmp_path: Path) -> None:
    """What has no key axis is not: it is no score."""
    declared = 'bias = op.input("bias", "B N 1 T", dtype=query, axes="B N Q T")'
    body = "s = attend.tanh(attend.scores(query, attend.rows(key)) * 0.2) * (0.3 + 0.037) + bias"
    operator = decode_spec(tmp_path, body, DECODE_RESULT, declared=declared)
    arrays = inputs(DTYPES["float16"])
    bias = numbers(2, 4, 1, 37).astype(np.float16)
    (found,) = benchmark.run(operator.bind(**arrays, bias=bias))

    def steps(s: Array, rounded: Callable[[Array], Array]) -> Array:
        s = rounded(np.tanh(rounded(s * np.float32(0.2))))
        return rounded(rounded(s * np.float32(0.337)) + bias.astype(np.float32))

    assert found is not None
    assert_same(found, attention(arrays, steps, softmax))


def test_a_replaced_score_gets_the_lowest_number_of_the_dtype(tmp_path: Path) -> None:
    """Where its own number is beyond; hidden keys have no weight at all."""
    for body, wanted in (
        ("s.replace(j >= 9, -1e38)", -65504.0),
        ("s.replace(j >= 9, -5.0)", -5.0),
        ("s.where(j < 9)", -np.inf),
    ):
        operator = decode_spec(tmp_path, DECODE_SCORES, f"s = {body}", DECODE_RESULT)
        arrays = inputs(DTYPES["float16"])
        (found,) = benchmark.run(operator.bind(**arrays))

        def masked(s: Array, rounded: Callable[[Array], Array], wanted: float = wanted) -> Array:
            return np.where(np.arange(37) < 9, rounded(s * np.float32(0.2)), np.float32(wanted))

        assert found is not None
        assert_same(found, attention(arrays, masked, softmax))


@pytest.mark.parametrize(("size", "lowest"), [("-1e31", True), ("-1e29", False)])
def test_added_numbers_beyond_any_range_are_what_users_would_write(
    tmp_path: Path, size: str, lowest: bool
) -> None:
    """Rows of which all keys are hidden so are means; of numbers that overflow as they would, NaN."""
    declared = 'bias = op.input("bias", "B N 1 T", dtype="float32", axes="B N Q T")'
    body = "s = attend.scores(query, attend.rows(key)) * 0.2 + bias"
    operator = decode_spec(tmp_path, body, DECODE_RESULT, declared=declared)
    arrays = inputs(DTYPES["float16"])
    bias = np.full((2, 4, 1, 37), float(size), np.float32)
    (found,) = benchmark.run(operator.bind(**arrays, bias=bias))
    assert found is not None
    if lowest:
        value = np.repeat(arrays["value"].astype(np.float64), 2, axis=1)
        np.testing.assert_allclose(found.astype(float)[:, :, 0], value.mean(axis=2), atol=2e-3)
    else:
        assert not found.any(), "scores are -inf, as nothing that can be attended to"


@pytest.mark.parametrize("sink", [3.0, 60.0])
def test_a_sink_takes_its_part(tmp_path: Path, sink: float) -> None:
    """Above the scores, too."""
    body = f'op.output("out", attend.softmax(s, sink={sink}) @ attend.rows(value), like=query)'
    operator, arrays = decode_spec(tmp_path, DECODE_SCORES, body), inputs(DTYPES["float16"])
    (found,) = benchmark.run(operator.bind(**arrays))

    def scaled(s: Array, rounded: Callable[[Array], Array]) -> Array:
        return rounded(s * np.float32(0.2))

    assert found is not None
    wanted = attention(arrays, scaled, lambda s, rounded: softmax(s, rounded, sink))
    assert_same(found, wanted)
    assert np.abs(wanted.astype(float) - attention(arrays, scaled, softmax).astype(float)).max() > 0.01


def test_each_head_has_its_own_sink() -> None:
    """For all of its queries."""
    rows = {name: numbers(1, heads, 5, 16).astype(np.float16) for name, heads in
            (("query", 2), ("key", 1), ("value", 1))}  # fmt: skip
    operator = load("specs/variants/sinks.py")
    (name,) = {each.name for each in operator.tensors} - rows.keys()

    def found(*sinks: float) -> Array:
        made = operator.bind(**rows, **{name: np.array(sinks, np.float32)})
        result = benchmark.run(made)[0]
        assert result is not None
        return result

    one, other, both = found(-9.0, -9.0), found(9.0, 9.0), found(-9.0, 9.0)
    assert (both[:, 0] == one[:, 0]).all() and (both[:, 1] == other[:, 1]).all()
    assert (one != other).any(axis=-1).all()


def test_weights_that_are_no_softmax_are_rounded_scores(tmp_path: Path) -> None:
    body = 'op.output("out", attend.sigmoid(s) @ attend.rows(value), like=query)'
    operator, arrays = decode_spec(tmp_path, DECODE_SCORES, body), inputs(DTYPES["float16"])
    (found,) = benchmark.run(operator.bind(**arrays))

    def weights(s: Array, rounded: Callable[[Array], Array]) -> Array:
        return rounded(1 / (1 + np.exp(-rounded(s * np.float32(0.2)))))

    assert found is not None
    assert_same(found, attention(arrays, lambda s, rounded: s, weights))


def test_probabilities_that_are_computed_with_are_rounded_first(tmp_path: Path) -> None:
    body = 'op.output("out", (attend.softmax(s) * 0.7) @ attend.rows(value), like=query)'
    operator, arrays = decode_spec(tmp_path, DECODE_SCORES, body), inputs(DTYPES["float16"])
    (found,) = benchmark.run(operator.bind(**arrays))

    def scaled(s: Array, rounded: Callable[[Array], Array]) -> Array:
        return rounded(s * np.float32(0.2))

    def weights(s: Array, rounded: Callable[[Array], Array]) -> Array:
        return rounded(softmax(s, rounded) * np.float32(0.7))

    assert found is not None
    assert_same(found, attention(arrays, scaled, weights))


def test_rows_without_keys_are_zero() -> None:
    rows = numbers(2, 2, 9, 16).astype(np.float16)
    call = ops.incre_flash_attention.bind(
        numbers(2, 2, 1, 16).astype(np.float16), key=[rows], value=[rows], num_heads=2,
        actual_seq_lengths=[0, 9], num_key_value_heads=2, input_layout="BNSD",
    )  # fmt: skip
    (found,) = benchmark.run(call)
    assert found is not None and not found[0].any() and found[1].any() and found.shape == (2, 2, 1, 16)


def quantized(**more: Any) -> Any:
    """Integer queries, keys and values; probabilities pass through integers."""
    rows, heads = 70, 2
    ones, zeros = np.ones(heads, np.float32), np.zeros(heads, np.int32)
    tokens = {
        name: RNG.integers(-9, 10, (rows, heads, 32)).astype(np.int8) for name in ("query", "key", "value")
    }
    how = {
        "calcType": 3,
        "headNum": heads,
        "quantType": 3,
        "outDataType": 1,
        "qkOffset": zeros,
        "vpvOffset": zeros,
    }
    factors = {"qkDescale": ones, "vpvDescale": ones * np.float32(1 / 64), "qkScale": 1 / 64}
    return {**tokens, "seqLen": [rows], **how, **factors, **more}


@pytest.mark.parametrize("offline", [False, True])
def test_integer_scores_are_exact_and_probabilities_integers(offline: bool) -> None:
    """In blocks of 128 keys, steps given or a 127th of the block's largest; sums are those of floats."""
    more = {"pScale": np.array([1 / 100, 1 / 60], np.float32), "quantType": 2} if offline else {}
    arguments = quantized(**more)
    call = ops.self_attention.bind(**arguments)
    (found,) = benchmark.run(call)
    assert benchmark.io_dtype(call) == np.float16 and found is not None and found.dtype == np.float16
    for head in range(2):
        query, key, value = (
            arguments[name][:, head].astype(np.float32) for name in ("query", "key", "value")
        )
        scores = (query @ key.T) / np.float32(64)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        step = np.float32((1 / 100, 1 / 60)[head]) if offline else powers.max(axis=1, keepdims=True) / 127
        integers = np.clip(np.rint(powers / step), -128, 127)
        wanted = integers @ value * step / powers.sum(axis=1, keepdims=True) / 64
        np.testing.assert_allclose(found[:, head].astype(float), wanted, atol=2e-3)


def test_dequantized_rows_are_rounded_to_the_io_dtype() -> None:
    rows = RNG.integers(-9, 10, (1, 2, 20, 16)).astype(np.int8)
    scale = np.full((2, 2, 1, 16), 0.3007, np.float16)
    query = numbers(1, 2, 1, 16).astype(np.float16)
    call = ops.incre_flash_attention.bind(
        query, key=[rows], value=[rows], antiquant_scale=scale, num_heads=2, num_key_value_heads=2,
        input_layout="BNSD", scale_value=0.25,
    )  # fmt: skip
    (found,) = benchmark.run(call)
    stored = (rows * scale[0].astype(np.float32)).astype(np.float16)
    plain = ops.incre_flash_attention.bind(
        query, key=[stored], value=[stored], num_heads=2, num_key_value_heads=2, input_layout="BNSD",
        scale_value=0.25,
    )  # fmt: skip
    (wanted,) = benchmark.run(plain)
    assert found is not None and wanted is not None and (found == wanted).all()


def test_quantized_results_are_told_before_rounding() -> None:
    rows = numbers(1, 2, 20, 16).astype(np.float16)
    common = {
        "key": [rows],
        "value": [rows],
        "num_heads": 2,
        "num_key_value_heads": 2,
        "input_layout": "BNSD",
    }
    query = numbers(1, 2, 1, 16).astype(np.float16)
    (plain,) = benchmark.run(ops.incre_flash_attention.bind(query, **common))
    scaled = ops.incre_flash_attention.bind(
        query, **common, quant_scale2=np.array([7.3], np.float32), quant_offset2=np.array([2.0], np.float32)
    )
    (found,) = benchmark.run(scaled)
    assert found is not None and plain is not None and found.dtype.kind == "f"
    np.testing.assert_allclose(found, plain.astype(float) * 7.3 + 2.0, rtol=2e-3, atol=2e-2)
    assert (found != np.rint(found)).any()


def test_statistics_are_those_of_float32_and_indices_have_no_benchmark(tmp_path: Path) -> None:
    body = (
        "p = attend.softmax(s)",
        'op.output("out", p @ attend.rows(value), like=query)',
        'op.output("lse", p.lse, like=query, layouts="B N 1", dtype="float32")',
    )
    operator, arrays = decode_spec(tmp_path, DECODE_SCORES, *body), inputs(DTYPES["bfloat16"])
    call = operator.bind(**arrays)
    _, lse = benchmark.run(call)
    assert lse is not None and (lse == reference.run(call)[1]).all()
    assert benchmark.precision(call, "out") == "bfloat16" and benchmark.precision(call, "lse") == "float32"
    selection = ops.nsa_compress_attention.bind(**arguments([3], [20], count=2))
    found = benchmark.run(selection)
    indices = [
        output.name for output, each in zip(selection.graph.outputs, found, strict=True) if each is None
    ]
    assert len(indices) == 1 and "topk" in indices[0].lower() and len(found) == 4


def test_results_in_float32_have_the_errors_of_what_they_are_made_of(tmp_path: Path) -> None:
    """Of weighted sums those of the io dtype."""
    body = 'op.output("out", attend.softmax(s) @ attend.rows(value), like=query, dtype="float32")'
    operator = decode_spec(tmp_path, DECODE_SCORES, body)
    call = operator.bind(**inputs(DTYPES["float16"]))
    assert benchmark.precision(call, "out") == "float16"
    (found,) = benchmark.run(call)
    assert found is not None and found.dtype == np.float32
    assert (found == found.astype(np.float16)).all(), "a plain implementation rounds what it sums"
