"""What authors get wrong, and lengths beyond the rows of their tensor: said at the line, with the way out."""

import numpy as np
import pytest

from attndsl.base.errors import UserError
from attndsl.expr import Symbol
from attndsl.spec import Operator, attend, errors

A, C = Symbol("a"), Symbol("c")


def declared(value_axes: str = "B K T E") -> tuple:
    op = Operator("small", summary="A variant.")
    B, N, K, S, T, D = op.dims("B N K S T D")
    op.axes(B=B, N=N, K=K, Q=S, T=T, D=D, E=D)
    q = op.input("query", "B N S D", dtype=("float16", "bfloat16"))
    k = op.input("key", "B K T D", dtype=q)
    return op, q, k, op.input("value", "B K T D", dtype=q, axes=value_axes)


def call(**more):
    half = np.ones((1, 1, 8, 16), np.float16)
    return {"query": half, "key": half, "value": half} | more


@pytest.mark.parametrize("optional", [False, True])
def test_lengths_beyond_the_rows_are_refused(optional):
    op, q, k, v = declared()
    p = op.lengths("p", "B", optional=optional)
    s = attend.scores(q, attend.rows(k, length=p))
    op.output("out", attend.softmax(s) @ attend.rows(v, length=p), like=q)
    assert op(**call(p=[8])).shape == (1, 1, 8, 16)
    for backend in ("reference", "tile"):
        with pytest.raises(errors.LengthRangeError, match=r"p: must be at most T, .*T is 8"):
            op(**call(p=[9]), backend=backend)
    assert op.contract_text().count("p[b] <= T") == 1
    if optional:
        assert op(**call()).shape == (1, 1, 8, 16)


def test_what_the_author_says_of_lengths_stands_alone():
    op, q, k, v = declared()
    p = op.lengths("p", "B")
    b = attend.BATCH
    op.require(p[b] <= Symbol("T"), "my own words", over={b: Symbol("B")})
    op.output(
        "out", attend.softmax(attend.scores(q, attend.rows(k, length=p))) @ attend.rows(v, length=p), like=q
    )
    assert [rule.text for rule in op.constraints if rule.tensors()] == ["my own words"]


def test_rows_of_some_calls_bound_lengths_in_these():
    op, q, k, v = declared()
    p, m = op.lengths("p", "B"), op.param("m", int, default=0, ge=0, le=1)

    def rows(tensor):
        return attend.when(m == 1, attend.rows(tensor, length=p), attend.rows(tensor))

    op.output("out", attend.softmax(attend.scores(q, rows(k))) @ rows(v), like=q)
    assert op(**call(p=[9])).shape == (1, 1, 8, 16)
    with pytest.raises(errors.LengthRangeError):
        op(**call(p=[9], m=1))


def test_numbers_count_rows_too():
    k = declared()[2]
    for rows in (lambda x: attend.rows(x, length=5), lambda x: attend.window(x, 0, length=5)):
        other, q, k, v = declared()
        other.output("out", attend.softmax(attend.scores(q, rows(k))) @ rows(v), like=q)
        key = np.random.default_rng(0).standard_normal((1, 1, 8, 16)).astype(np.float16)
        changed = key.copy()
        changed[:, :, 5:] = 7
        np.testing.assert_array_equal(other(**call(value=key)), other(**call(value=changed)))
    with pytest.raises(errors.SpecError, match="got 'five'"):
        attend.rows(k, length="five")


def test_a_number_is_divided_by_an_expression():
    assert (1.0 / A).evaluate({"a": 4.0}) == 0.25


def test_a_result_of_other_axes_needs_its_layout():
    op, q, k, v = declared()
    p = attend.softmax(attend.scores(q, k))
    with pytest.raises(errors.LayoutTextError, match=r"test_authoring.*'m' has the axes .*layouts=\"B N S\""):
        op.output("m", p.row_max, like=q)
    op.output("m", p.row_max, like=q, layouts="B N S", dtype="float32")
    op.output("out", p @ v, like=q)
    assert op(**call())[0].shape == (1, 1, 8)


def test_values_without_axes_are_told_to_have_them():
    op, q, k, v = declared(value_axes="")
    op.output("out", attend.softmax(attend.scores(q, k)) @ v, like=q)
    with pytest.raises(errors.GraphError, match=r'pass axes="B K T E" to op\.input'):
        op.check()


def test_what_has_no_rows_is_told_with_its_axes():
    _, q, _, _ = declared()
    with pytest.raises(errors.GraphError, match=r"an axis T, not axes \(B, N, Q, D\)"):
        attend.scores(q, q)


def test_scaled_queries_are_refused_by_their_name():
    op, q, k, v = declared()
    op.output("out", attend.softmax(attend.scores(q * 2.0, k)) @ v, like=q)
    with pytest.raises(Exception, match=r"of query before it is multiplied .*; scale scores"):
        op(**call(), backend="tile")


@pytest.mark.parametrize(
    "wrong", [lambda: A < C and C < 3, lambda: A < C < 3, lambda: max(A, C), lambda: not A]
)
def test_python_logic_is_told_the_operators_of_conditions(wrong):
    with pytest.raises(TypeError, match=r"& and \|.*maximum"):
        wrong()


def test_negation_is_of_conditions():
    assert not (~(A < C)).evaluate({"a": 1, "c": 2})
    assert (~((A < C) & (A < 3))).evaluate({"a": 4, "c": 9})
    with pytest.raises(
        TypeError, match=r"'~' is of a condition, and 'a' is a number; compare it, as in a == 0"
    ):
        ~A  # noqa: B018


def test_arithmetic_of_sizes_as_it_is_written():
    assert (-A).evaluate({"a": 3}) == -3 and abs(-A).evaluate({"a": 3}) == 3
    assert (A**3).evaluate({"a": 2}) == 8 and (+A) is A
    for wrong, words in ((lambda: A**-0.5, "'a \\*\\* -0.5': .*op.param"), (lambda: 2**A, "no such powers")):
        with pytest.raises(TypeError, match=words):
            wrong()


MISTAKES = {
    "s > 3": "whole tensors and values are not compared: compare elements .* x\\[b, j\\] > 0",
    "x == 1": "as in x\\[b, j\\] > 0",
    "s**-1": "'\\*\\*' of values takes 0.5 or a whole number from 1 to 4, got -1; write attend.exp",
    "x['b', 0]": "an index must be an integer or a symbolic expression, such as attend.BATCH",
    "x.at(0.5, 0)": "an index must be an integer or a symbolic expression",
    "s.cast('half')": "the dtype of cast must be an input that has it, or one of bfloat16, float16",
    "attend.merge()": "attend.merge needs at least one part",
    "attend.merge((v, v, v))": "a part of merge.. must be softmax.s. @ values, or a pair .out, lse., got",
    "attend.merge((0.5, v))": "the rows of an earlier partial must be a value of the computation",
    "attend.merge((v, 0.5))": "its log-sum-exp must be a value of the computation",
    "attend.tanh(3)": "an operand of attend.tanh must be a value of the computation",
    "attend.softmax(s, sink='a')": "sink must be a number or a symbolic expression, got 'a'",
    "(s @ attend.rows(v)).lse": "lse belong to the result of attend.softmax or attend.merge",
}


@pytest.mark.parametrize("code", MISTAKES)
def test_mistakes_are_told_what_to_write(code):
    op, q, k, v = declared()
    x = op.input("x", "B T", dtype="int32", indexed=True)
    names = {"s": attend.scores(q, attend.rows(k)), "x": x, "v": v, "attend": attend}
    with pytest.raises(UserError, match=MISTAKES[code]):
        eval(code, names)


@pytest.mark.parametrize("code", ["s**2", "s**0.5", "s * np.float32(2)", "attend.index(3) + s"])
def test_numbers_stand_where_values_do(code):
    op, q, k, v = declared()
    s = eval(code, {"s": attend.scores(q, attend.rows(k)), "np": np, "attend": attend})
    op.output("out", attend.softmax(s) @ v, like=q)
    op.check()


def test_heads_and_channels_are_demanded_where_nothing_is_said():
    op, q, k, v = declared()
    op.output("out", attend.softmax(attend.scores(q, attend.rows(k))) @ v, like=q)
    said = [str(rule.condition) for rule in op.constraints]
    assert said == ["N % K == 0", "D > 0"]
    op, q, k, v = declared()
    op.require(Symbol("N") % Symbol("K") == 0, "whole groups")
    op.require(Symbol("D") >= 16, "not too few")
    op.output("out", attend.softmax(attend.scores(q, attend.rows(k))) @ v, like=q)
    assert [rule.text for rule in op.constraints] == ["whole groups", "not too few"]


def test_a_condition_on_indices_is_a_mask_like_another():
    op, q, k, v = declared()
    s = attend.scores(q, k)
    op.output("out", attend.softmax(s.replace(attend.KEY > attend.QUERY, -1e9)) @ v, like=q)
    rows = np.arange(8, dtype=np.float16)[:, None] * np.ones(16, np.float16)
    out = op(**call(value=rows[None, None]))
    np.testing.assert_allclose(out[0, 0, :, 0], np.arange(8) / 2, rtol=1e-3)


def test_a_layout_is_a_text():
    op = Operator("small")
    sizes = op.dims("B N S D")
    op.axes(B=sizes[0], N=sizes[1], Q=sizes[2], D=sizes[3])
    for layouts in (sizes, list(sizes)):
        with pytest.raises(errors.LayoutTextError, match='write the layout as a text, "B N S D"'):
            op.input("query", layouts, dtype="float16")
    op.input("query", "B N S D", dtype="float16")


def test_the_signature_is_legal_python_or_says_what_is_required():
    op = Operator("small")
    op.param("scale", float, default=1.0)
    op.param("window", int)
    op.keyword_only()
    op.param("dilation", int)
    assert op.contract_text().startswith("small(scale=1.0, window=<required>, *, dilation)")


@pytest.mark.parametrize(
    ("condition", "what"),
    [
        (lambda op, p: p[0] > 3, r"elements of 'p'"),
        (lambda op, p: p.highest, r"elements of 'p'"),
        (lambda op, p: Symbol("N") > 3, r"'N', a size or an index"),
    ],
)
def test_what_shapes_a_kernel_is_no_size_and_no_element(condition, what):
    op, q, k, v = declared()
    p = op.lengths("p", "B", optional=True)
    s = attend.scores(q, attend.rows(k, length=p))
    s = attend.when(condition(op, p), s, attend.tanh(s))
    op.output("out", attend.softmax(s) @ attend.rows(v, length=p), like=q)
    with pytest.raises(errors.SpecError, match=what):
        op.check()
