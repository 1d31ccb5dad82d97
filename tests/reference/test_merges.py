"""Merges with partials of earlier calls: the running update of ring attention, and rows that are absent."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest

from attndsl.graph.errors import GraphError
from attndsl.graph.nodes import RowMax, RowSum
from attndsl.reference.whole import RULES, new_state
from attndsl.spec import Operator, attend, errors

B, N, K, S, T, D = 2, 4, 2, 5, 24, 8
_RNG = np.random.default_rng(11)

Array = Any


def step(optional: bool = True, dtype: str = "float32") -> Operator:
    """A block of keys, merged with what was before."""
    op = Operator("step", summary="A block of keys, merged with what was before.")
    b, n, k, s, t, d = op.dims("B N K S T D")
    op.axes(B=b, N=n, K=k, Q=s, T=t, D=d, E=d)
    query = op.input("query", "B N S D", dtype=("float16", "bfloat16"))
    key = op.input("key", "B K T D", dtype=query)
    value = op.input("value", "B K T D", dtype=query, axes="B K T E")
    before = op.input("before", "B N S D", dtype=dtype, axes="B N Q E", optional=optional)
    logs = op.input("logs", "B N S", dtype="float32", axes="B N Q", optional=optional)
    first = op.param("first", int, default=0)
    scores = (attend.scores(query, attend.rows(key)) * 0.3).where(attend.KEY + first <= attend.QUERY)
    merged = attend.merge((before, logs), attend.softmax(scores) @ attend.rows(value))
    op.output("out", merged, like=query, dtype="float32")
    for name in ("lse", "row_max", "row_sum"):
        op.output(name, getattr(merged, name), like=query, layouts="B N S", dtype="float32")
    return op


def call() -> dict[str, Array]:
    shapes = {"query": (B, N, S, D), "key": (B, K, T, D), "value": (B, K, T, D)}
    return {name: _RNG.standard_normal(shape).astype(np.float16) for name, shape in shapes.items()}


def block(made: dict[str, Array], keys: slice) -> dict[str, Array]:
    return {"query": made["query"], **{name: made[name][:, :, keys] for name in ("key", "value")}}


def test_steps_over_blocks_of_keys_are_attention_over_all() -> None:
    """The running maximum, sum and result of ring attention (m' = max(m, m_c) and so on), written out."""
    op, made = step(), call()
    found: tuple[Array, ...] = ()
    top, total = np.full((B, N, S), -np.inf), np.zeros((B, N, S))
    result = np.zeros((B, N, S, D))
    query, key, value = (np.asarray(made[name], np.float64) for name in ("query", "key", "value"))
    for begin in range(0, T, 8):
        before = {} if not found else {"before": found[0], "logs": found[1]}
        found = op(**block(made, slice(begin, begin + 8)), **before, first=begin - T, precision="float64")
        keys, values = (np.repeat(each[:, :, begin : begin + 8], N // K, axis=1) for each in (key, value))
        scores = np.einsum("bnqd,bntd->bnqt", query, keys) * 0.3
        new = np.maximum(top, scores.max(axis=-1))
        weights = np.exp(scores - new[..., None])
        sums = total * np.exp(top - new) + weights.sum(axis=-1)
        kept = result * (total * np.exp(top - new))[..., None]
        result = (kept + np.einsum("bnqt,bntd->bnqd", weights, values)) / sums[..., None]
        top, total = new, sums
    np.testing.assert_allclose(found[0], result, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found[1], top + np.log(total), rtol=1e-6)


def test_a_row_is_absent_on_either_side_or_on_both() -> None:
    """Of absent rows nothing counts, whatever stands in ``out``: never NaN."""
    op, made = step(), call()
    before, logs = _RNG.standard_normal((B, N, S, D)), _RNG.standard_normal((B, N, S))
    logs[:, :, :3] = -np.inf
    before[:, :, 0], before[:, :, 1], before[:, :, 2] = np.nan, np.inf, 7.0
    earlier = {"before": before.astype(np.float32), "logs": logs.astype(np.float32)}
    out, lse, row_max, row_sum = op(**made, **earlier, first=2)  # the first two queries see no key
    alone = op(**made, first=2)
    assert (out[:, :, :2] == 0).all() and (row_sum[:, :, :2] == 0).all()
    assert (lse[:, :, :2] == -np.inf).all() and (row_max[:, :, :2] == -np.inf).all()
    np.testing.assert_array_equal(out[:, :, 2], alone[0][:, :, 2])
    np.testing.assert_array_equal(lse[:, :, 2], alone[1][:, :, 2])
    assert np.isfinite(out).all() and np.isfinite(lse[:, :, 2:]).all()
    hidden, logs_then, *_ = op(**made, **earlier, first=T)  # nobody sees a key
    np.testing.assert_array_equal(hidden[:, :, 3:], earlier["before"][:, :, 3:])
    np.testing.assert_array_equal(logs_then[:, :, 3:], earlier["logs"][:, :, 3:])


def test_an_earlier_partial_counts_as_one_key_of_its_log_sum_exp() -> None:
    op, made = step(), call()
    logs = np.full((B, N, S), 50, np.float32)
    _, lse, row_max, row_sum = op(**made, before=np.zeros((B, N, S, D), np.float32), logs=logs)
    np.testing.assert_array_equal(row_max, logs)
    np.testing.assert_allclose(lse, row_max + np.log(row_sum), rtol=1e-6)


def test_a_pair_that_is_left_out_is_no_part() -> None:
    op, made = step(), call()
    none = {
        "before": np.full((B, N, S, D), np.nan, np.float32),
        "logs": np.full((B, N, S), -np.inf, np.float32),
    }
    for absent, empty in zip(op(**made), op(**made, **none), strict=True):
        np.testing.assert_array_equal(absent, empty)


@pytest.mark.parametrize(("given", "needed"), [("before", "logs"), ("logs", "before")])
def test_half_a_pair_is_refused(given: str, needed: str) -> None:
    made, shape = call(), (B, N, S, D) if given == "before" else (B, N, S)
    with pytest.raises(errors.InputCountError, match=rf"{needed}: needed by {given}, the other half"):
        step()(**made, **{given: np.zeros(shape, np.float32)})
    assert not [rule for rule in step(optional=False).constraints if "other half" in rule.text]


def test_what_the_author_says_of_a_pair_stands_alone() -> None:
    op = Operator("said", summary="Says itself what belongs together.")
    b, n, t, d = op.dims("B N T D")
    op.axes(B=b, N=n, K=n, Q=1, T=t, D=d, E=d)
    query = op.input("query", "B N D", dtype="float16")
    key = op.input("key", "B N T D", dtype=query, axes="B K T D")
    value = op.input("value", "B N T D", dtype=query, axes="B K T E")
    before = op.input("before", "B N 1 D", dtype=query, axes="B N Q E", optional=True)
    logs = op.input("logs", "B N 1", dtype="float32", axes="B N Q", optional=True)
    op.require(logs.given, "my own words", when=before.given, argument="logs")
    part = attend.softmax(attend.scores(query, attend.rows(key))) @ attend.rows(value)
    op.output("out", attend.merge(part, (before, logs)), like=query, layouts="B N 1 D")
    rules = [rule.text for rule in op.constraints if rule.argument in ("before", "logs")]
    assert rules == ["my own words", "needed by logs, the other half of an earlier partial"]


@dataclass(frozen=True, eq=False, kw_only=True)
class _RowMean(RowSum):
    """A statistic that no rule accumulates."""


def test_a_row_statistic_without_a_rule_is_no_other_one() -> None:
    bound = step().bind(**call())
    state = new_state(bound, np.dtype(np.float64))
    node = next(each for each in bound.graph.nodes if isinstance(each, RowSum))
    rule = RULES.whole[RowMax]
    assert (rule(state, node).data > 0).all()
    unknown = _RowMean(**{each.name: getattr(node, each.name) for each in fields(node)})
    with pytest.raises(GraphError, match="_RowMean"):
        rule(state, unknown)
