"""Elements that results are computed with: those of a head, a batch row and a position."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attndsl.lowering.errors import NotLowered
from tests.support.row_results import OUT, PACKED, check
from tests.support.small_specs import DECODE_SCORES, decode_call, decode_spec, packed_call, packed_spec

RNG = np.random.default_rng(0)
QUERIES, KEYS = [5, 0, 9], [20, 7, 40]
ELEMENTS = {
    "lam.at(n)": ("N", (4,)),
    "lam.at(n, b)": ("N B", (4, 3)),
    "lam.at(rows.start(b) + i)": ("T1", (14,)),
    "attend.sigmoid(lam.at(b, n))": ("B N", (3, 4)),
}


def of_rows(text: str, lam: np.ndarray) -> np.ndarray:
    """The number of each packed row and head."""
    of_row, heads = np.repeat(np.arange(3), QUERIES), np.arange(4)
    if text == "lam.at(n)":
        return np.broadcast_to(lam, (14, 4))
    if text == "lam.at(n, b)":
        return lam[heads[None], of_row[:, None]]
    if text == "lam.at(rows.start(b) + i)":
        return np.broadcast_to(lam[:, None], (14, 4))
    return 1 / (1 + np.exp(-lam[of_row[:, None], heads[None]].astype(float)))


@pytest.mark.parametrize("text", ELEMENTS)
def test_elements_of_packed_rows_are_those_of_their_batch_row(tmp_path: Path, text: str) -> None:
    layout, shape = ELEMENTS[text]
    declared = f'lam = op.input("lam", "{layout}", dtype="float32", indexed=True)'
    plain = packed_spec(tmp_path, PACKED, OUT)
    scaled = packed_spec(tmp_path, PACKED, f"out = out * {text}", OUT, declared=declared)
    call, lam = packed_call(QUERIES, KEYS), RNG.standard_normal(shape).astype(np.float32)
    want = plain(**call, precision="float64") * of_rows(text, lam)[..., None]
    found = scaled(**call, lam=lam, precision="float64")
    np.testing.assert_allclose(found, want, rtol=2e-3, atol=1e-4)


def test_elements_of_a_head_are_computed_as_the_tensor_is(tmp_path: Path) -> None:
    declared = 'lam = op.input("lam", "N", dtype="float32", axes="N")'
    body = (DECODE_SCORES, "out = attend.softmax(s) @ attend.rows(value)")
    lam, call = RNG.standard_normal(4).astype(np.float32), decode_call(t=40)
    found, want = (
        decode_spec(tmp_path, *body, f"out = out * {text}", OUT, declared=declared)(**call, lam=lam)
        for text in ("lam.at(n)", "lam")
    )
    np.testing.assert_array_equal(found, want)


LAM = 'lam = op.input("lam", "B", dtype="float32", indexed=True)'


@pytest.mark.parametrize("text", ["lam.at(b)", "attend.index(i)", "attend.exp(lam.at(b) - p.lse)"])
def test_a_merge_of_packed_rows_knows_no_batch_row(tmp_path: Path, text: str) -> None:
    """Tokens come by their number there: what differs along B or Q is refused, not made of another row."""
    declared = LAM if "lam" in text else ""
    op = packed_spec(tmp_path, PACKED, f"out = out * {text}", OUT, declared=declared)
    more = {"lam": np.ones(3, np.float32)} if declared else {}
    with pytest.raises(NotLowered, match="packed rows by what differs along"):
        op(**packed_call(QUERIES, KEYS), **more, backend="tile")


def test_a_batch_row_is_known_where_nothing_is_merged(tmp_path: Path) -> None:
    body = (PACKED, "out = out * lam.at(b)", OUT)
    op = packed_spec(tmp_path, *body, declared=LAM, schedule="tile_k=128, split_kv=1")
    check(op, "tile", **packed_call(QUERIES, KEYS), lam=RNG.standard_normal(3).astype(np.float32))
