"""Expressions as Python functions give what ``evaluate`` gives."""

import copy
import pickle
import random

import numpy as np
import pytest

from attndsl.expr import Const, Load, Symbol, as_expr, binary, compare, select
from attndsl.expr.compiled_evaluation import compiled, evaluator, integers

NAMES = ("a", "b", "c")
INTEGER = ("+", "-", "*", "//", "%", "min", "max", "ceil_div", "round_up", "floor_div", "floor_mod")
COMPARE = ("==", "!=", "<", "<=", ">", ">=")


def drawn(rng, depth):
    """A random expression over NAMES and the tensor ``t`` of 8 elements; divisors are never 0."""
    if depth == 0:
        return Symbol(rng.choice(NAMES)) if rng.random() < 0.6 else Const(rng.randint(0, 9))
    kind = rng.random()
    if kind < 0.1:
        return Load("t", drawn(rng, depth - 1) % 8)
    if kind < 0.25:
        condition = compare(rng.choice(COMPARE), drawn(rng, depth - 1), drawn(rng, depth - 1))
        if rng.random() < 0.5:
            condition = condition & (Symbol("a") < 3) | (Symbol("b") > 2)
        return select(condition, drawn(rng, depth - 1), drawn(rng, depth - 1))
    op = rng.choice(INTEGER)
    right = drawn(rng, depth - 1)
    if op in ("//", "%", "ceil_div", "round_up", "floor_div", "floor_mod"):
        right = binary("max", right, 1)
    return binary(op, drawn(rng, depth - 1), right)


@pytest.mark.parametrize("seed", range(8))
def test_an_evaluator_gives_what_evaluate_gives(seed):
    rng = random.Random(seed)
    for _ in range(100):
        exprs = [drawn(rng, rng.randint(0, 4)) for _ in range(4)]
        env = {name: rng.randint(0, 9) for name in NAMES} | {"t": np.arange(8) * 3 - 5}
        wanted = tuple(expr.evaluate(env) for expr in exprs)
        assert tuple(evaluator(expr)(env) for expr in exprs) == wanted
        assert integers(*exprs)(env) == tuple(map(int, wanted))
        assert tuple(compiled(expr)(env) for expr in exprs) == wanted


def test_an_evaluator_is_made_once_and_travels_with_no_pickle():
    expr = Symbol("a") * 3 + Load("t", Symbol("b"))
    assert evaluator(expr) is evaluator(expr)
    for other in (pickle.loads(pickle.dumps(expr)), copy.copy(expr)):
        assert other.same(expr) and evaluator(other)({"a": 1, "b": 0, "t": np.array([4])}) == 7


def test_an_element_beyond_a_tensor_is_an_error():
    read = Load("t", Symbol("i"))
    with pytest.raises(IndexError):
        evaluator(read + 1)({"i": 3, "t": np.arange(3)})


def test_integers_are_ints():
    assert integers(as_expr(True), Symbol("x") / 2, Const(3))({"x": 5}) == (1, 2, 3)
    assert integers(Const(2.0))({}) == (2,)
