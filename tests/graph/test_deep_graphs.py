"""Deep graphs: what a spec nests or chains costs time in proportion, not by powers, and no recursion."""

import sys

import numpy as np
import pytest

from attndsl.expr import Load, Symbol
from attndsl.graph.branch_conditions import decisions
from attndsl.graph.specialize import specialize
from attndsl.spec import Operator
from attndsl.spec.authoring import attend

B = Symbol("b")


def started():
    op = Operator("deep_attention", document="mine", summary="Deep.")
    b, n, t, d = op.dims("B N T D")
    op.axes(B=b, N=n, K=n, Q=1, T=t, D=d, E=d)
    query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
    key = op.input("key", "B N T D", dtype=query, axes="B K T D")
    value = op.input("value", "B N T D", dtype=query, axes="B K T E")
    mode = op.param("mode", int, default=0, ge=0)
    return op, query, key, value, mode


def nested(depth, rows_in_branches=False):
    """Scores behind ``depth`` choices; with ``rows_in_branches`` each has keys and lengths of its own."""
    op, query, key, value, mode = started()
    lengths = [op.lengths(f"lengths{i}", "B") for i in range(depth if rows_in_branches else 1)]
    scores = attend.scores(query, attend.rows(key, length=lengths[0]))
    for i in range(depth):
        other = scores * float(i + 2)
        if rows_in_branches:
            other = attend.scores(query, attend.rows(key, length=lengths[i])) + scores
        scores = attend.when(mode == i, other, scores)
    op.output("out", attend.softmax(scores) @ attend.rows(value, length=lengths[0]), like=query)
    return op


def chain(length):
    op, query, key, value, _ = started()
    scores = attend.scores(query, attend.rows(key))
    for _ in range(length):
        scores = scores + 0.5
    op.output("out", attend.softmax(scores) @ attend.rows(value), like=query)
    return op


def calls(work):
    """How many Python functions are called, which no other load of the machine changes."""
    count = 0

    def note(frame, event, _):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("rows_in_branches", [False, True])
def test_twice_the_choices_cost_no_more_than_their_square(rows_in_branches) -> None:
    def work(depth):
        return calls(lambda: nested(depth, rows_in_branches).check())

    assert work(30) < 4.5 * work(15)


def test_twice_the_operations_cost_twice_the_work() -> None:
    assert calls(lambda: chain(2000).check()) < 2.2 * calls(lambda: chain(1000).check())


def test_rows_that_every_branch_reads_are_limited_once() -> None:
    rules = [rule for rule in nested(30).constraints if "lengths0" in rule.tensors()]
    assert len(rules) == 1 and rules[0].when is None


def test_rows_of_one_branch_are_limited_where_it_is_taken() -> None:
    said = [rule for rule in nested(4, rows_in_branches=True).constraints if rule.tensors()]
    rules = {next(iter(rule.tensors())): rule for rule in said}
    assert set(rules) == {f"lengths{i}" for i in range(4)}
    assert rules["lengths0"].when is None  # the values' rows have this length whatever is chosen
    assert [str(rules[f"lengths{i}"].when) for i in (1, 2, 3)] == [f"mode == {i}" for i in (1, 2, 3)]
    assert all(rule.condition.same(Load(name, B) <= Symbol("T")) for name, rule in rules.items())


def test_deep_graphs_compute_what_shallow_ones_do() -> None:
    query, key = np.ones((1, 1, 1, 16), np.float16), np.ones((1, 1, 8, 16), np.float16)
    value = np.arange(128, dtype=np.float16).reshape(1, 1, 8, 16)
    want = nested(0)(query, key, value, lengths0=[8])
    np.testing.assert_array_equal(
        nested(30)(query, key, value, lengths0=[8], mode=3), want
    )  # all keys are alike


def test_the_decisions_of_a_deep_graph() -> None:
    op = nested(30)
    roots = tuple(output for output in op.graph(frozenset(), {"mode": 3}).outputs)
    assert specialize(roots, frozenset(), {"mode": 3}) == roots  # no choice is left
    asked = decisions(_declared(op), frozenset(), {"mode": 3})
    assert [str(expr) for expr, _ in asked] == [f"mode == {i}" for i in range(29, -1, -1)]
    assert [holds for _, holds in asked] == [False] * 26 + [True] + [False] * 3


def _declared(op):
    return tuple(node for node, *_ in op._results.values())
