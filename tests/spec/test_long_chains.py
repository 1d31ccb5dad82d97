"""Computations of thousands of operations: no recursion limit anywhere, and none of it is quadratic twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attndsl.codegen.kernel_set.dispatch_guards import selectors_of
from attndsl.codegen.kernel_set.kernel_request import KernelRequest, wanted_specializations
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.spec import Operator, attend
from attndsl.spec.authoring.argument_checks import DEEPEST, LONGEST, AuthorArgumentError
from attndsl.spec.authoring.values import Value

LONG = 2000
CALL: dict[str, Any] = {
    "query": np.ones((1, 1, 1, 16), np.float16),
    "key": np.ones((1, 1, 8, 16), np.float16),
    "value": np.ones((1, 1, 8, 16), np.float16),
}


def spec(
    on_scores: Callable[[Operator, Value], Value] = lambda op, s: s,
    on_results: Callable[[Operator, Value], Value] = lambda op, r: r,
) -> Operator:
    """Plain attention with more done to its scores, or to its results."""
    op = Operator("chain", summary="A chain.")
    B, N, K, T, D = op.dims("B N K T D")
    op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D)
    query = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
    key = op.input("key", "B K T D", dtype=query, axes="B K T D")
    value = op.input("value", "B K T D", dtype=query, axes="B K T E")
    op.require(N % K == 0, "a multiple of K")
    s = on_scores(op, attend.scores(query, attend.rows(key)))
    r = attend.softmax(s) @ attend.rows(value)
    op.output("out", on_results(op, r), like=query)
    op.check()
    return op


def repeated(step: Callable[[Value], Value], times: int = LONG) -> Callable[[Operator, Value], Value]:
    def chain(op: Operator, value: Value) -> Value:
        for _ in range(times):
            value = step(value)
        return value

    return chain


SHIFTED = repeated(lambda s: s + 1)
DOUBLED = repeated(lambda s: (s + s) * 0.5)
GATED = repeated(lambda s: s * attend.sigmoid(s + 30), 400)
HIDDEN = repeated(lambda s: s.where(attend.KEY < 1000), 400)
ROUNDED = repeated(lambda s: s.cast("float16"), LONG)


@pytest.mark.parametrize("chain", [SHIFTED, DOUBLED, GATED, HIDDEN, ROUNDED])
def test_long_chains_on_scores(chain: Callable[[Operator, Value], Value]) -> None:
    operator = spec(on_scores=chain)
    np.testing.assert_allclose(operator(**CALL).astype(float), 1.0, atol=0.01)
    graph = operator.graph(frozenset())
    assert len(graph.key) > 400 and graph.print()


def test_long_chains_on_results() -> None:
    operator = spec(on_results=repeated(lambda r: r * 1.001))
    np.testing.assert_allclose(operator(**CALL).astype(float), 1.001**LONG, rtol=0.01)
    assert operator.contract_text()


@pytest.mark.parametrize("chain", [SHIFTED, GATED])
def test_long_chains_are_recognized_and_choose_kernels(chain: Callable[[Operator, Value], Value]) -> None:
    """The chain of modifiers is one list; two operands that are functions of one score are no branch of it
    (there would be two to the number of operations)."""
    operator = spec(on_scores=chain)
    computation = recognize(operator.graph(frozenset()).outputs)
    assert len(computation.attentions[0].modifiers) >= 400
    wanted = wanted_specializations(operator, KernelRequest())
    assert [each.special.dtype for each in wanted] == ["float16", "bfloat16"]
    assert all(selectors_of(operator, each.special) for each in wanted)


@pytest.mark.parametrize("depth", [30, LONG])
def test_nested_choices(depth: int) -> None:
    def chain(op: Operator, s: Value) -> Value:
        kind = op.param("kind", int, default=1)
        for number in range(depth):
            s = attend.when(kind == number, s, attend.tanh(s))
        return s

    operator = spec(on_scores=chain)
    assert operator(**CALL).shape == (1, 1, 1, 16)
    assert operator.graph(frozenset(), {"kind": depth - 1}).key.count("tanh") == depth - 1


@pytest.mark.parametrize("times", [60, LONG])
def test_expressions_are_bounded(times: int) -> None:
    """Deep ones and, though each step shares its operands, long ones: at the line that hands them over."""

    def deep(op: Operator, s: Value) -> Value:
        x = op.param("x", float, default=1.0)
        for _ in range(times):
            x = x * 1.5 + 0.25
        return s * x

    def long(op: Operator, s: Value) -> Value:
        x = op.param("x", float, default=1.0)
        for _ in range(times):
            x = x + x
        return s * x

    if 2 * times > DEEPEST:
        with pytest.raises(AuthorArgumentError, match=rf"operations inside each other, at most {DEEPEST}"):
            spec(on_scores=deep)
    else:
        assert spec(on_scores=deep)(**CALL).shape == (1, 1, 1, 16)
    with pytest.raises(AuthorArgumentError, match=r"at most \d+ are legal; write it shorter"):
        spec(on_scores=long)


def test_an_expression_of_legal_depth_may_be_too_long() -> None:
    def wide(op: Operator, s: Value) -> Value:
        x: Any = op.param("x", float, default=1.0)
        for _ in range(12):  # 2 ** 13 - 1 names and operations
            x = x + x
        return s * x

    with pytest.raises(AuthorArgumentError, match=rf"at most {LONGEST}"):
        spec(on_scores=wide)
