"""Row statistics are judged by what rounding makes of a sum of many products."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from attndsl.verify.judge import score_rounding
from attndsl.verify.judge.compare import tolerance
from attndsl.verify.judge.golden import golden
from tests.support.small_specs import DECODE_SCORES, decode_spec

BODY = (
    DECODE_SCORES,
    "p = attend.softmax(s)",
    'op.output("out", p @ attend.rows(value), like=query)',
    'op.output("lse", p.lse, like=query, layouts="B N 1", dtype="float32")',
)


def cancelling(channels: int, size: float) -> dict[str, np.ndarray]:
    """Queries and keys whose products are about ``size`` squared and cancel in pairs."""
    signs = np.tile([1.0, -1.0], channels // 2)
    query = np.full((1, 4, 1, channels), size, np.float16)
    key = (np.full((1, 2, 5, channels), size) * signs).astype(np.float16)
    return {"query": query, "key": key, "value": np.ones_like(key)}


def bounds(folder: Path, channels: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    """How far elements of the weighted sum and of the log-sum-exp may be off, as fp32 results."""
    out, lse = golden(decode_spec(folder, *BODY).bind(**cancelling(channels, size))).results
    assert out.sizes is not None and lse.sizes is not None
    return out.sizes * tolerance("float16", 5), lse.sizes * tolerance("float32", 5)


@pytest.mark.parametrize("channels", [16, 512])
def test_the_bound_of_a_log_sum_exp_is_that_of_its_scores(tmp_path: Path, channels: int) -> None:
    """8 sqrt(D) u, or D u where that is less, of the sum of the products' sizes times the scale 0.2."""
    _, lse = bounds(tmp_path, channels, 8.0)
    units = min(channels, 8 * channels**0.5) * 2.0**-24
    expected = max(2.0**-14, units * channels * 64 * 0.2) * np.log(5)
    np.testing.assert_allclose(lse, expected, rtol=1e-6)


def test_small_products_leave_the_bound_as_it_is(tmp_path: Path) -> None:
    out, lse = bounds(tmp_path, 64, 0.5)
    np.testing.assert_allclose(lse, 2.0**-14 * np.log(5), rtol=1e-6)
    assert (out == 2.0**-8).all()


def test_weighted_sums_keep_their_bound(tmp_path: Path) -> None:
    assert (bounds(tmp_path, 512, 8.0)[0] == 2.0**-8).all()


@pytest.mark.parametrize(
    ("axes", "found"), [(("B", "N", "Q", "E"), True), (("B", "N", "Q"), False), (None, False)]
)
def test_results_with_channels_of_values_are_made_of_sums(axes: tuple[str, ...] | None, found: bool) -> None:
    node = SimpleNamespace() if axes is None else SimpleNamespace(axes=axes)
    assert score_rounding._made_of_sums(node) is found  # type: ignore[arg-type]
