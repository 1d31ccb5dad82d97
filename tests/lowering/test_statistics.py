"""Packed attention with a byte mask over (query, key) and row statistics as results, on tile and emulator."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from attndsl.spec.operator.loader import load_file

SPEC = """
from attndsl.spec import attend, Operator
op = Operator("masked_tokens", summary="Attention of packed tokens, with statistics.")
T1, T2, N1, N2, D1, D2, B = op.dims("T1 T2 N1 N2 D1 D2 B")
S1, S2 = op.dims("S1 S2")
op.let(S1, op.longest("q_ends"))
op.let(S2, op.longest("k_ends"))
op.axes(B=B, S=T1, N=N1, Q=S1, D=D1, U=T2, K=N2, T=S2, E=D2, L=8)
query = op.input("query", "T1 N1 D1", dtype=("float16", "bfloat16"), axes="S N D")
key = op.input("key", "T2 N2 D1", dtype=query, axes="U K D")
value = op.input("value", "T2 N2 D2", dtype=query, axes="U K E")
mask = op.input("mask", "{mask}", dtype=("bool", "uint8"), axes="{axes}", optional=True)
rows = op.prefix_sums("q_ends", "B", total=T1, meaning="queries")
keys = op.prefix_sums("k_ends", "B", total=T2, meaning="keys")
op.require(N1 % N2 == 0, "a multiple", argument="query")
op.schedule(tile_k={tile})
s = attend.scores(attend.packed(query, rows), attend.packed(key, keys)) * 0.2
p = attend.softmax(s.replace(mask, attend.LOWEST))
op.output("out", p @ attend.packed(value, keys), like=query)
op.output("peak", p.row_max.repeated(), like=query, layouts="T1 N1 8", dtype="float32")
op.output("total", p.row_sum.repeated(), like=query, layouts="T1 N1 8", dtype="float32")
"""


def operator(folder: Path, mask: str = "S1 S2", axes: str = "Q T", tile: int = 128):
    file = folder / "masked_tokens.py"
    file.write_text(SPEC.format(mask=mask, axes=axes, tile=tile))
    return load_file(file)


def arguments(
    queries, keys, heads=4, kv_heads=2, size=32, value_size=16, share=0.4, dtype=np.float16, seed=0
):
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype)

    found = {
        "query": normal(sum(queries), heads, size),
        "key": normal(sum(keys), kv_heads, size),
        "value": normal(sum(keys), kv_heads, value_size),
        "q_ends": np.cumsum(queries).tolist(),
        "k_ends": np.cumsum(keys).tolist(),
    }
    if share is not None:
        found["mask"] = rng.random((max(queries), max(keys))) < share
    return found


def check(op, call, backend):
    out, peak, total = op(**call, backend=backend)
    want, want_peak, want_total = op(**call, precision="float64")
    step = 2**-7 if call["query"].dtype == ml_dtypes.bfloat16 else 2**-9
    np.testing.assert_allclose(out.astype(float), want.astype(float), atol=step)
    np.testing.assert_allclose(peak, want_peak, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(total, want_total, rtol=1e-5)
    assert (peak == peak[..., :1]).all() and (total == total[..., :1]).all()


CASES = {
    "several heads a position": {"queries": [5, 1, 40], "keys": [200, 3, 300]},
    "one head a position": {"queries": [9, 0, 33], "keys": [70, 5, 129], "heads": 2},
    "odd groups": {"queries": [3, 17], "keys": [130, 64], "heads": 6},
    "no mask": {"queries": [3, 17], "keys": [130, 64], "share": None},
    "everything masked": {"queries": [6], "keys": [130], "share": 1.0},
}


@pytest.mark.parametrize("case", CASES)
def test_tile_equals_reference(tmp_path, case):
    check(operator(tmp_path), arguments(**CASES[case]), "tile")


def test_a_fully_masked_row_is_the_mean_of_its_values(tmp_path):
    call = arguments([3], [100], share=1.0)
    out, peak, total = operator(tmp_path)(**call, backend="tile")
    mean = call["value"].astype(float).mean(axis=0)
    np.testing.assert_allclose(out.astype(float)[0, 0], mean[0], atol=2**-10)
    assert (peak == np.finfo(np.float32).min).all() and (total == 100).all()


def test_emulator_equals_reference(tmp_path):
    op = operator(tmp_path)
    check(op, arguments([5, 1, 40], [200, 3, 300], dtype=ml_dtypes.bfloat16), "emulator")


def test_masks_may_differ_by_batch_row(tmp_path):
    op = operator(tmp_path, "B S1 S2", "B Q T", tile=64)
    call = arguments([5, 9], [70, 90], share=None)
    call["mask"] = (np.random.default_rng(5).random((2, 9, 90)) < 0.5).astype(np.uint8) * 7
    check(op, call, "tile")
