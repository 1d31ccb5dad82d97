"""Elements that keep constraints: coupled lengths and canonical masks are found, hopeless ones given up."""

import numpy as np
import pytest

from attndsl.expr import Load, Select, Symbol, ceil_div, minimum
from attndsl.expr.compiled_evaluation import compiled
from attndsl.expr.reductions import total
from attndsl.spec import Operator, attend
from attndsl.verify.data import integers
from attndsl.verify.data.integers import Integers
from attndsl.verify.data.masks import MaskFiller, pattern
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import WORKLOAD


def coupled(*, impossible=False):
    """Queries are packed; keys are queries and a prefix of multiples of 128."""
    op = Operator("coupled")
    B, N, S, T, D = op.dims("B N S T D")
    op.axes(B=B, N=N, K=N, S=S, Q=S, T=T, D=D, E=D)
    q = op.input("q", "S N D", dtype="float16")
    k = op.input("k", "B T N D", dtype=q, axes="B K T D")
    v = op.input("v", "B T N D", dtype=q, axes="B K T E")
    ql = op.lengths("ql", "B", one_for_all=False)
    kl = op.lengths("kl", "B", one_for_all=False)
    b = attend.BATCH
    op.require(ql[b] > 0, "has queries", over={b: B})
    op.require(kl[b] >= ql[b], "keys include queries", over={b: B})
    op.require((kl[b] - ql[b]) % 128 == 0, "the prefix is whole", over={b: B})
    op.require(kl[b] <= T, "keys fit", over={b: B})
    op.require(total(ql[b], b, B) == S, "all queries")
    if impossible:
        op.require(kl[b] < ql[b], "cannot be", over={b: B})
    s = attend.scores(attend.packed(q, length=ql[b]), attend.rows(k, length=kl[b]))
    op.output("out", attend.softmax(s) @ attend.rows(v, length=kl[b]), like=q)
    return op


def test_coupled_lengths_are_repaired_and_sizes_follow_them():
    space = CaseSpace(coupled())
    prefixes = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        assignment = solve(space, rng, {WORKLOAD: "any"})
        found = Integers(space, assignment, rng).solve()
        if found is None:
            continue
        assert (found["ql"] > 0).all() and ((found["kl"] - found["ql"]) % 128 == 0).all()
        assert (found["kl"] >= found["ql"]).all()
        env = space.environment(assignment, found)
        assert env["S"] == found["ql"].sum() and (found["kl"] <= env["T"]).all()
        prefixes |= set((found["kl"] - found["ql"]).tolist())
    assert len(prefixes) >= 3  # not the trivial repair alone


def test_what_is_worse_than_before_is_not_counted_to_the_end(monkeypatch):
    space, rng, asked = CaseSpace(coupled()), np.random.default_rng(0), []
    assignment = solve(space, rng, {WORKLOAD: "any"})
    assert assignment is not None
    drawn = Integers(space, assignment, rng)
    monkeypatch.setattr(integers, "_violations", lambda rule, env: asked.append(rule) or np.ones(3, bool))
    assert len(drawn.rules) > 2
    assert drawn._count(3) == 6 and asked == drawn.rules[:2]
    asked.clear()
    assert drawn._count(10**9) == 3 * len(drawn.rules) and asked == drawn.rules


def test_constraints_without_a_solution_are_given_up():
    space = CaseSpace(coupled(impossible=True))
    rng = np.random.default_rng(0)
    assignment = solve(space, rng, {WORKLOAD: "any"})
    assert assignment is None or Integers(space, assignment, rng).solve() is None


def masked(hides):
    """A mask whose elements must be ``hides`` behind the diagonal and 0 elsewhere."""
    op = Operator("masked")
    (S,) = op.dims("S")
    op.axes(B=1, N=1, K=1, Q=S, T=S, D=16, E=16)
    q = op.input("q", "1 S 16", dtype="float16", axes="B Q D")
    mask = op.input("mask", "S S", dtype=q, indexed=True)
    r, c = op.ahead("r c")
    condition = Select(c > r, hides(mask[r, c]), mask[r, c] == 0)
    op.require(condition, "causal", over={r: S, c: S}, argument="mask")
    return op


@pytest.mark.parametrize("hides", [lambda m: m <= -10000, lambda m: m == 1])
def test_canonical_masks_are_found_from_their_constraint(hides):
    rng = np.random.default_rng(0)
    hidden = pattern(rng, "random", (9, 9))
    found = MaskFiller(masked(hides), "mask", "float16", (9, 9), {"S": 9}, rng).fill(hidden, exact=True)
    rows, keys = np.indices((9, 9))
    assert (found[keys <= rows] == 0).all() and (found[keys > rows] != 0).all()


def test_a_mask_that_no_value_makes_legal_is_given_up():
    rng = np.random.default_rng(0)
    hidden = pattern(rng, "random", (9, 9))
    operator = masked(lambda m: m == 7)
    assert MaskFiller(operator, "mask", "float16", (9, 9), {"S": 9}, rng).fill(hidden, exact=True) is None


@pytest.mark.parametrize("kind", ["none", "all", "rows", "first", "last", "causal", "random"])
def test_patterns(kind):
    hidden = pattern(np.random.default_rng(0), kind, (3, 4, 50))
    seen = (~hidden).sum(axis=-1)
    expected = {
        "none": seen == 50,
        "all": seen == 0,
        "first": ~hidden[..., 0] & (seen == 1),
        "last": ~hidden[..., -1] & (seen == 1),
    }.get(kind)
    assert expected.all() if expected is not None else 0 < seen.sum() < seen.size * 50
    assert kind != "rows" or (seen == 0).any()


def test_conditions_as_functions_are_what_they_say():
    n, b = Symbol("n"), Symbol("b")
    lengths = np.array([3, 0, 7])
    expr = total(minimum(Load("lengths", b), n), b, Symbol("B")) + ceil_div(n, 2)
    env = {"n": 5, "B": 3, "lengths": lengths}
    assert compiled(expr)(env) == expr.evaluate(env) == 8 + 3
    with pytest.raises(KeyError):
        compiled(n)({})
