"""Optional lengths that shape the computation: kernels with and without them are two kernels."""

from pathlib import Path

import numpy as np
import pytest

from attndsl.codegen.kernel_set.kernel_request import wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.lowering.signature.specialization import feature_names
from tests.support import small_specs as small

RESULT = 'op.output("out", attend.softmax(s) @ value, like=query)'
LENGTHS = 'p = op.lengths("p", "B", optional=True)'


def rows_of(options: str) -> str:
    """The scores of some rows, which the result is of as well."""
    return (
        f"value = attend.rows(value, {options})\ns = attend.scores(query, attend.rows(key, {options})) * 0.2"
    )


USES = {
    "mask": ["s = s.where(j < p[b])"],
    "index": ["s = s + attend.index(j - p[b]) * 0.01"],
    "condition": ["s = attend.when(p.given, s.where(j < p[b]), s)"],
    "condition alone": ["s = attend.when(p.given, s.where(j < 5), s)"],
    "condition, read without": ["s = attend.when(p.absent, s * 2.0, s.where(j < p[b]))"],
    "computed length": [rows_of("length=minimum(p[b], 9)")],
    "start": [rows_of("length=5, start=p[b]")],
    "choice": ["s = attend.choose((p, s.where(j < 7)), otherwise=s)"],
}


@pytest.mark.sweep(fast=6)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("lengths", [None, [40, 3]])
def test_kernels_know_whether_lengths_are_passed(tmp_path: Path, use: str, lengths: list[int] | None) -> None:
    body = [small.DECODE_SCORES, *USES[use], RESULT]
    op = small.decode_spec(tmp_path, *body, declared=LENGTHS)
    assert feature_names(op) == ("p",)
    call = small.decode_call(t=60) | ({} if lengths is None else {"p": lengths})
    small.assert_computes(op, "tile", **call)


def test_presence_of_a_tensor_that_nothing_reads_tells_kernels_apart(tmp_path: Path) -> None:
    declared = 'm = op.input("m", "N", dtype="float32", optional=True)'
    body = [small.DECODE_SCORES, "s = attend.when(m.given, s * 2.0, s)", RESULT]
    op = small.decode_spec(tmp_path, *body, declared=declared)
    for more in ({}, {"m": np.ones(4, np.float32)}):
        small.assert_computes(op, "tile", **small.decode_call(t=60), **more)


def test_kernels_with_lengths_can_be_asked_for(tmp_path: Path) -> None:
    op = small.decode_spec(tmp_path, small.DECODE_SCORES, *USES["mask"], RESULT, declared=LENGTHS)
    (found,) = wanted_specializations(
        op, KernelRequest(features=frozenset({"p"}), dtypes=("float16",), head_sizes=(32,))
    )
    assert found.special.features == {"p"}


def test_lengths_of_rows_alone_need_no_kernel_of_their_own(tmp_path: Path) -> None:
    rows = rows_of("length=p")
    op = small.decode_spec(tmp_path, rows, RESULT, declared=LENGTHS)
    assert feature_names(op) == ()
    for more in ({}, {"p": [40, 3]}):
        small.assert_computes(op, "tile", **small.decode_call(t=60), **more)
