"""A user's own spec, from the file to a result."""

from pathlib import Path

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.base.errors import UserError
from attndsl.expr import Expr
from attndsl.graph.nodes import Rows
from attndsl.spec import Operator, attend, errors
from attndsl.spec.contract.conditional_reads import ConditionalReads
from attndsl.spec.operator.loader import load

FILE = Path(__file__).parent / "my_window.py"


def naive(q, k, v, scale, window, bias=None):
    out = np.zeros((*q.shape[:3], v.shape[3]))
    group, late = q.shape[1] // k.shape[1], k.shape[2] - q.shape[2]
    for b, n, i in np.ndindex(*q.shape[:3]):
        visible = range(max(0, i + late - window + 1), i + late + 1)
        s = np.array([scale * float(q[b, n, i] @ k[b, n // group, j]) for j in visible])
        s = s + (0 if bias is None else bias[n, i, list(visible)])
        p = np.exp(s - s.max())
        out[b, n, i] = p / p.sum() @ v[b, n // group, list(visible)]
    return out


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("window", [1, 7, 1000])
def test_a_window_as_a_condition_over_indices(window, with_bias):
    op = load(FILE)
    rng = np.random.default_rng(window)
    q, k, v = (rng.standard_normal(s) for s in [(2, 4, 150, 8), (2, 2, 160, 8), (2, 2, 160, 5)])
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    extra = {"bias": rng.standard_normal((4, 150, 160)).astype(np.float32)} if with_bias else {}
    out = op(q, k, v, scale_value=0.4, window=window, **extra)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, naive(q, k, v, 0.4, window, **extra), atol=2e-5)


def test_keyword_only_parameters_and_ranges():
    op = load(FILE)
    q = np.zeros((1, 2, 3, 4), np.float32)
    with pytest.raises(errors.SignatureError, match="window"):
        op(q, q, q)
    with pytest.raises(TypeError, match="6 positional arguments, the signature has 5"):
        op(q, q, q, None, 1.0, 3)
    with pytest.raises(errors.RangeError, match="window: must be >= 1, got 0; the nearest legal value is 1"):
        op(q, q, q, window=0)
    with pytest.raises(ValueError, match="every query has its own key"):
        op(np.zeros((1, 2, 4, 4), np.float32), q, q, window=1)


def test_row_statistics_as_further_results():
    op = Operator("with_statistics")
    B, N, S, T, D = op.dims("B N S T D")
    op.axes(B=B, N=N, K=N, Q=S, T=T, D=D, E=D)
    q = op.input("q", "B S N D", dtype="float16")
    k = op.input("k", "B T N D", dtype=q, axes="B K T D")
    v = op.input("v", "B T N D", dtype=q, axes="B K T E")
    p = attend.softmax(attend.scores(q, k))
    op.output("out", p @ v, like=q)
    op.output("highest", p.row_max, like=q, layouts="B N S", dtype="float32")
    op.output("total", p.row_sum, like=q, layouts="B S N", dtype="float32")
    op.check()
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal((2, n, 3, 8)).astype(np.float16) for n in (5, 700, 700))
    out, highest, total = op(a, b, c)
    scores = np.einsum("bsnd,btnd->bnst", a.astype(float), b.astype(float))
    assert out.shape == a.shape and out.dtype == np.float16 and highest.dtype == np.float32
    np.testing.assert_allclose(highest, scores.max(-1), atol=1e-5)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(total, weights.sum(-1).transpose(0, 2, 1), rtol=1e-5)
    expected = np.einsum("bnst,btnd->bsnd", weights / weights.sum(-1, keepdims=True), c.astype(float))
    np.testing.assert_allclose(out, expected, atol=2e-3)


def test_sigmoid_attention_needs_no_normalization():
    op = Operator("sigmoid_attention")
    B, N, S, T, D = op.dims("B N S T D")
    op.axes(B=B, N=N, K=N, Q=S, T=T, D=D, E=D)
    q = op.input("q", "B N S D", dtype="float32")
    k = op.input("k", "B N T D", dtype=q, axes="B K T D")
    v = op.input("v", "B N T D", dtype=q, axes="B K T E")
    op.output("out", attend.sigmoid(attend.scores(q, k) - 2.0) @ v, like=q)
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal((1, 2, n, 4)).astype(np.float32) for n in (5, 900, 900))
    scores = np.einsum("bnsd,bntd->bnst", a, b) - 2
    expected = np.einsum("bnst,bntd->bnsd", 1 / (1 + np.exp(-scores)), c)
    np.testing.assert_allclose(op(a, b, c), expected, rtol=1e-3, atol=1e-4)


def test_differential_attention_computes_with_two_softmaxes():
    op = Operator("differential_attention")
    B, N, S, T, D = op.dims("B N S T D")
    op.axes(B=B, N=N, K=N, Q=S, T=T, D=D, E=D)
    q1, q2 = (op.input(name, "B N S D", dtype="float32") for name in ("q1", "q2"))
    k1, k2 = (op.input(name, "B N T D", dtype="float32", axes="B K T D") for name in ("k1", "k2"))
    v = op.input("v", "B N T D", dtype="float32", axes="B K T E")
    weight = op.param("weight", float, default=0.5)
    first, second = (attend.softmax(attend.scores(q, k)) for q, k in ((q1, k1), (q2, k2)))
    op.output("out", (first - second * weight) @ v, like=q1)
    op.output("highest", second.row_max, like=q1, layouts="B N S")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((2, 2, 300, 8)).astype(np.float32) for _ in range(2))
    c, d, e = (rng.standard_normal((2, 2, 900, 8)).astype(np.float32) for _ in range(3))
    scores = [np.einsum("bnsd,bntd->bnst", x.astype(float), y) for x, y in ((a, c), (b, d))]
    weights = [np.exp(s - s.max(-1, keepdims=True)) for s in scores]
    p1, p2 = (w / w.sum(-1, keepdims=True) for w in weights)
    out, highest = op(a, b, c, d, e, weight=0.3)
    np.testing.assert_allclose(out, np.einsum("bnst,bntd->bnsd", p1 - 0.3 * p2, e), atol=1e-5)
    np.testing.assert_allclose(highest, scores[1].max(-1), atol=1e-5)


def declared():
    op = Operator("mine")
    B, N, T, D = op.dims("B N T D")
    op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
    q = op.input("q", "B N 1 D", dtype="float16")
    k = op.input("k", "B N T D", dtype=q, axes="B K T D")
    v = op.input("v", "B N T D", dtype=q, axes="B K T E")
    return op, q, k, v


MISTAKES = {
    "a name twice": (
        lambda op, q, k, v: op.input("q", "B N 1 D", dtype="float16"),
        errors.DuplicateNameError,
        "'q'",
    ),
    "a size twice": (lambda op, q, k, v: op.dims("B"), errors.DuplicateNameError, "'B'"),
    "no identifier": (lambda op, q, k, v: op.param("a b", int), errors.SpecError, "'a b'"),
    "unknown dtype": (
        lambda op, q, k, v: op.input("x", "B", dtype="float12"),
        errors.UnknownNameError,
        "float12",
    ),
    "unknown axis": (lambda op, q, k, v: op.axes(Z=3), errors.UnknownNameError, "'Z'"),
    "unknown size": (lambda op, q, k, v: op.input("x", "B M", dtype="int8"), errors.LayoutTextError, "'M'"),
    "parentheses": (
        lambda op, q, k, v: op.input("x", "B (N D", dtype="int8"),
        errors.LayoutTextError,
        "parentheses",
    ),
    "layout type": (lambda op, q, k, v: op.input("x", {"a": 3}, dtype="int8"), errors.LayoutTextError, "3"),
    "schedule twice": (
        lambda op, q, k, v: (op.schedule(ring=2), op.schedule(ring=3)),
        errors.DuplicateNameError,
        "ring",
    ),
    "rows of nothing": (lambda op, q, k, v: attend.scores(q, q), errors.GraphError, "rows"),
    "no rows on the right": (
        lambda op, q, k, v: attend.softmax(attend.scores(q, k)) @ q,
        errors.GraphError,
        "rows",
    ),
    "statistics of scores": (lambda op, q, k, v: attend.scores(q, k).row_max, errors.GraphError, "softmax"),
    "part without C": (lambda op, q, k, v: k.part(0), errors.GraphError, "'C'"),
    "unknown form": (lambda op, q, k, v: k.form("paged"), errors.SpecError, "'paged'"),
    "a text as operand": (lambda op, q, k, v: q * "x", errors.GraphError, "'x'"),
    "wrong axes": (
        lambda op, q, k, v: (op.output("o", attend.softmax(q) @ v, like=q), op.check()),
        errors.GraphError,
        "softmax needs",
    ),
    "no output": (lambda op, q, k, v: op.check(), errors.IncompleteSpecError, "no output"),
    "unknown name in a constraint": (
        lambda op, q, k, v: (
            op.require(op.ahead("M")[0] > 0, "x"),
            op.output("o", attend.scores(q, k) @ v, like=q),
            op.check(),
        ),
        errors.UnknownNameError,
        "'M'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_author_s_mistake_names_its_line(name):
    make, error, named = MISTAKES[name]
    op, *tensors = declared()
    with pytest.raises(error) as caught:
        make(op, *tensors)
    assert isinstance(caught.value, UserError)
    assert named in str(caught.value) and str(caught.value).startswith("test_user_spec.py:")


def test_the_twin_of_all_those_mistakes_is_legal():
    op, q, k, v = declared()
    op.schedule(ring=2, tile_k=64)
    op.output("o", attend.softmax(attend.scores(q, k)) @ v, like=q)
    op.check()
    assert op.schedule_choices == {"ring": 2, "tile_k": 64}
    assert str(op.schedule_lines["ring"]).startswith("test_user_spec.py:")


BROKEN_FILES = {
    "raises": ("import attndsl\nx = 1 / 0\n", r"s\.py:2: ZeroDivisionError"),
    "raises inside the package": (
        "from attndsl.spec import Operator\nop = Operator('a')\nop.dims\nop.axes(B=1)['B']\n",
        r"s\.py:4: TypeError",
    ),
    "syntax": ("x = (\n", r"s\.py:1: .*never closed"),
    "no operator": ("x = 1\n", "declares no Operator"),
    "two operators": (
        "from attndsl.spec import Operator\na = Operator('a')\nb = Operator('b')\n",
        "2 Operators",
    ),
    "own error": ("from attndsl.spec import Operator\nop = Operator('a b')\n", r"s\.py:2: .*identifier"),
}


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_a_broken_spec_file_gives_one_clear_line(name, tmp_path):
    text, pattern = BROKEN_FILES[name]
    file = tmp_path / "s.py"
    file.write_text(text)
    with pytest.raises(UserError, match=pattern) as caught:
        load(str(file))
    assert "\n" not in str(caught.value)


def test_unknown_operators_files_and_backends():
    from attndsl.api import ops

    with pytest.raises(errors.UnknownOperatorError, match="did you mean 'incre_flash_attention'"):
        load("incre_flash_atention")
    with pytest.raises(AttributeError, match="there are"):
        _ = ops.zzz
    with pytest.raises(errors.SpecFileError, match="no such spec file"):
        load("nowhere.py")
    op = load(FILE)
    q = np.zeros((1, 2, 3, 4), np.float32)
    with pytest.raises(errors.UnknownBackendError, match="did you mean 'reference'"):
        op(q, q, q, window=1, backend="refrence")
    with pytest.raises(ValueError, match="float16"):
        op(q, q, q, window=1, precision="float16")


def test_conditions_are_made_texts_where_they_change_and_not_at_each_node(monkeypatch):
    """A spec with many features has thousands of paths to a tensor, and was loaded for seconds."""
    (root,) = ops.self_attention.roots
    made, text = [], Expr.text
    monkeypatch.setattr(Expr, "text", lambda self: made.append(self) or text(self))
    found = list(ConditionalReads(root, lambda rows: True, Rows))
    assert len(found) > 4 and len(made) < len(list(root.walk())) / 2
