"""Functions of row statistics, as results and as operands of results: log-sum-exp, gates, merges."""

from pathlib import Path

import numpy as np
import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.errors import GraphError
from tests.support.small_specs import DECODE_SCORES, decode_call, decode_spec, packed_call, packed_spec

from .row_results import OUT, PACKED, check

DECODE = "p = attend.softmax(s)\nout = p @ attend.rows(value)"
SINKS = 'sinks = op.input("sinks", "N", dtype="float32", axes="N")'


def number(value: str, name: str = "number", layout: str = "B N 1") -> str:
    return f'op.output("{name}", {value}, like=query, layouts="{layout}", dtype="float32")'


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_statistics_of_packed_rows_leave_one_by_one(tmp_path: Path, backend: str) -> None:
    """Batch rows without keys have the maximum -inf, the sum 0, the log-sum-exp -inf and the result 0."""
    body = [number(f"p.{each}", each, "T1 N") for each in ("lse", "row_max", "row_sum")]
    op = packed_spec(tmp_path, PACKED, OUT, *body)
    out, lse, top, total = check(op, backend, **packed_call([5, 3, 40], [200, 0, 300]))
    assert (lse[5:8] == -np.inf).all() and (top[5:8] == -np.inf).all()
    assert (total[5:8] == 0).all() and (out[5:8] == 0).all()
    np.testing.assert_allclose(lse[8:], top[8:] + np.log(total[8:]), rtol=1e-6)


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_eight_rows_without_keys_say_nothing_of_the_next_eight(tmp_path: Path, backend: str) -> None:
    """Rows of a vector step go by eights: those of the first two positions, of four heads, see no key."""
    hidden = PACKED.replace("softmax(s)", "softmax(s.where(j + 2 <= i))")
    op = packed_spec(tmp_path, hidden, OUT, number("p.lse", layout="T1 N"), schedule="tile_k=128, rows=16")
    _, lse = check(op, backend, **packed_call([12], [12], k=1))
    assert (lse[:2] == -np.inf).all() and np.isfinite(lse[2:]).all()


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_rows_whose_keys_are_all_hidden(tmp_path: Path, backend: str, splits: int) -> None:
    declared = 'count = op.lengths("count", "B", one_for_all=False)'
    body = (DECODE_SCORES, "s = s.where(j >= count[b])", DECODE, OUT)
    numbers = [number("p.row_max + attend.log(p.row_sum)", "lse"), number("p.row_max", "top")]
    schedule = f"tile_k=128, split_kv={splits}"
    op = decode_spec(tmp_path, *body, *numbers, declared=declared, schedule=schedule)
    out, lse, top = check(op, backend, **decode_call(b=3, t=500), count=[500, 0, 300])
    assert (lse[0] == -np.inf).all() and (top[0] == -np.inf).all() and (out[0] == 0).all()
    assert np.isfinite(lse[1:]).all()


@pytest.mark.parametrize("splits", [1, 2])
@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_results_meet_functions_of_their_statistics(tmp_path: Path, backend: str, splits: int) -> None:
    """A sink by its share of the sum; and a number of each head in front of a statistic."""
    gate = 'op.output("out", out * attend.sigmoid(p.lse - sinks), like=query)'
    body = (DECODE_SCORES, DECODE, gate, number("sinks - p.lse * 0.5"))
    op = decode_spec(tmp_path, *body, declared=SINKS, schedule=f"tile_k=128, split_kv={splits}")
    check(op, backend, **decode_call(t=300), sinks=np.array([-1, 5, 6, 0.5], np.float32))


@pytest.mark.parametrize("result", ["p.row_max - out", "out + p.lse", "out / p.row_sum", "out * p.row_max"])
def test_each_operation_of_a_result_and_a_statistic(tmp_path: Path, result: str) -> None:
    body = (DECODE_SCORES, DECODE, f'op.output("out", {result}, like=query)')
    check(decode_spec(tmp_path, *body), "tile", **decode_call(t=70))


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_a_merge_has_the_statistics_of_all_its_parts(tmp_path: Path, backend: str) -> None:
    body = """
def part(visible):
    return attend.softmax((attend.scores(query, attend.rows(key)) * 0.2).where(visible)) @ attend.rows(value)
out = attend.merge(part(j < count[b]), part(j >= 170))
"""
    declared = 'count = op.lengths("count", "B", one_for_all=False)'
    scaled = 'op.output("out", out * attend.exp(0 - out.lse), like=query)'
    op = decode_spec(tmp_path, body, scaled, number("out.lse"), declared=declared)
    check(op, backend, **decode_call(b=3, t=300), count=[0, 40, 170])


REFUSED = {
    "a statistic in the dtype of the query": (
        'op.output("lse", p.lse, like=query, layouts="B N 1")',
        r"row statistics in the dtype of 'query' \(write dtype=\"float32\"\)",
    ),
    "a statistic of other probabilities": (
        "q = attend.softmax(s * 2)\n" + number("q.lse"),
        r"row statistics of other probabilities than those of 'out'.*\n*.*m = attend.merge",
    ),
    "a function without a rule": (
        number("p.lse.cast('float16')"),
        r"Cast for each row.*made of p\.row_max",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_what_lowers(tmp_path: Path, case: str) -> None:
    body, message = REFUSED[case]
    op = decode_spec(tmp_path, DECODE_SCORES, DECODE, OUT, body)
    with pytest.raises(NotLowered, match=message):
        compile_operator(op, Specialization(dtype="float16", padded_head_size=32))


def test_statistics_of_a_result_are_asked_of_its_softmax(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"attend.softmax or attend.merge: keep it, as in p = "):
        decode_spec(tmp_path, DECODE_SCORES, DECODE, number("out.lse"))
