"""Arguments of authoring functions are checked where they are given; messages have the author's line."""

import pytest

from attndsl.spec.errors import SpecError
from attndsl.spec.operator.loader import load_file

SPEC = """
from attndsl.spec import attend, Operator
op = Operator("plain_attention", document="mine", summary="Attention, nothing else.")
B, N, KN, T, D = op.dims("B N KN T D")
op.axes(B=B, N=N, K=KN, Q=1, T=T, D=D, E=D)
q = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
k = op.input("key", "B KN T D", dtype=q, axes="B K T D")
v = op.input("value", "B KN T D", dtype=q, axes="B K T E")
heads = op.param("heads", int, default=1, ge=1)
{line}
s = attend.scores(q, attend.rows(k))
op.output("out", attend.softmax(s) @ attend.rows(v), like=q)
"""
LINE = "mine.py:10: "


def loaded(tmp_path, line):
    file = tmp_path / "mine.py"
    file.write_text(SPEC.format(line=line))
    return load_file(file)


WRONG_AND_RIGHT = [
    ("op.require(True, 'x')", "Python has compared plain values, got True", "op.require(N % KN == 0, 'x')"),
    ("op.require(N is KN, 'x')", "got False", "op.require(N == KN, 'x')"),
    ("op.require(None, 'x')", "got None", "op.require(N > 0, 'x')"),
    ("op.require(N > 0, 5)", "the text of a constraint must be a text, got 5", "op.require(N > 0, '5')"),
    ("op.require(N > 0, 'x', when=False)", "when must be", "op.require(N > 0, 'x', when=D > 1)"),
    ("op.require(N > 0, 'x', error=3)", "got 3", "op.require(N > 0, 'x', error=ValueError)"),
    ("op.require(N > 0, 'x', error=KeyboardInterrupt)", "a class", "op.require(N > 0, 'x', error=KeyError)"),
    ("op.axes(Q=0)", "the extent of axis Q must be a whole number of at least 1", "op.axes(Q=2)"),
    ("op.axes(Q=-1)", "got -1", "op.axes(Q=N)"),
    ("op.axes(Q=1.5)", "got 1.5", "op.axes(Q=1)"),
    ("attend.scores(q, k) / 0", "the divisor must be another number than 0", "attend.scores(q, k) / 2"),
    ("attend.scores(q, k) + 2**2000", "within 64 bits", "attend.scores(q, k) + 2**62"),
    ("op.require(N % 0 == 0, 'x')", "divides by 0: N % 0", "op.require(N % 1 == 0, 'x')"),
    ("op.require(N // 0 == 0, 'x')", "divides by 0: N // 0", "op.require(N // 2 >= 0, 'x')"),
    ("op.require(N < 1 << 63, 'x')", "within 64 bits", "op.require(N < (1 << 63) - 1, 'x')"),
    ("op.require(N + 10**5000 > 0, 'x')", "within 64 bits", "op.require(N + 10**18 > 0, 'x')"),
    ("op.limit(True, 'x')", "the condition of a limit", "op.limit(N < 1000, 'x')"),
    ("op.let(N, N)", "'N' is defined by itself: N", "op.let(N, heads)"),
    ("op.let(N, KN); op.let(KN, N + 1)", "'KN' is defined by itself", "op.let(N, heads); op.let(KN, N)"),
    ("op.let(N, True)", "the definition of 'N' must be a number", "op.let(N, heads * 1)"),
    ("op.let('N', heads)", "the size must be a dimension", "op.let(N, heads)"),
    ("op.default(T, None)", "default must be a number", "op.default(T, 0)"),
    ("op.axes(G=[1])", "the extent of axis G must be a number", "op.axes(G=1)"),
    ("op.dim('M', default='3')", "default must be a number", "op.dim('M', default=3)"),
    ("op.dims(['M'])", "the names of sizes must be a text", "op.dims('M')"),
    ("op.param(None, int)", "a name must be a text, got None", "op.param('nothing', int, default=1)"),
    ("op.param('p', 3)", "the type of parameter 'p' must be one of", "op.param('p', int, default=3)"),
    ("op.param('p', None)", "got None", "op.param('p', float, default=0.0)"),
    ("op.param('p', 'int')", "got 'int'", "op.param('p', str, default='a', choices=('a', 'b'))"),
    ("op.param('p', list)", "got <class 'list'>", "op.param('p', bool, default=True)"),
    (
        "op.param('p', int, ge='0')",
        "ge of parameter 'p' must be a number",
        "op.param('p', int, ge=0, default=0)",
    ),
    ("op.param('p', int, le=1 << 64)", "within 64 bits", "op.param('p', int, le=1 << 62, default=0)"),
    ("op.param('p', int, default=1 << 63)", "within 64 bits", "op.param('p', int, default=(1 << 63) - 1)"),
    ("op.input('x', [], dtype='float16')", "at least one layout", "op.input('x', ['B N'], dtype='float16')"),
    (
        "op.input('x', {}, dtype='float16')",
        "at least one layout",
        "op.input('x', {'a': 'B N'}, dtype='float16')",
    ),
    ("op.input('x', 5, dtype='float16')", "layouts must be a text", "op.input('x', 'B', dtype='float16')"),
    ("op.input('x', 'B', dtype=None)", "dtype must be", "op.input('x', 'B', dtype='bfloat16')"),
    ("op.input('x', 'B', dtype=())", "at least one dtype", "op.input('x', 'B', dtype=('float16', 'int8'))"),
    ("op.input('x', 'B', dtype=float)", "got <class 'float'>", "op.input('x', 'B', dtype=q)"),
    (
        "op.output('o', 5, like=q)",
        "output 'o' must be a value of the computation",
        "op.output('o', q, like=q)",
    ),
    ("op.output('o', q, like='query')", "like must be an input", "op.output('o', q, like=q)"),
    (
        "op.require(N > 0, 'half a \\ud800 character')",
        "without lone surrogates",
        "op.require(N > 0, 'a whole \\U0001F600 character')",
    ),
    ("Operator('x', summary='\\udfff')", "without lone surrogates", "Operator('x', summary='é')"),
    ("Operator(None)", "name of an operator must be a text", "Operator('None_')"),
    ("op.name = 5", "Operator(...) takes it as name", "name = op.name"),
    ("op.tensors = None", "op.tensors can be neither set nor deleted", "tensors = op.tensors"),
    ("setattr(op, 'device', 'cpu')", "takes it as target", "getattr(op, 'device')"),
    ("del op.name", "op.name can be neither set nor deleted", "del heads"),
    ("op.require = None", "op.require can be neither", "op.require(N > 0, 'x')"),
    ("op.param('p', int, choices=[])", "with one choice at least, got []", "op.param('p', int, choices=[0])"),
    ("op.param('p', int, choices={})", "one choice at least", "op.param('p', int, choices={'a': 1})"),
    (
        "op.param('p', int, choices={1: 2})",
        "must be 2 itself or a text that stands for it, got 1",
        "op.param('p', int, choices={2: 2, 'two': 2})",
    ),
    ("op.param('p', int, choices=('a',))", "a value of its type, int", "op.param('p', int, choices=(1,))"),
    ("op.param('p', int, choices=(True,))", "its type, int", "op.param('p', bool, choices=(True,))"),
    ("op.param('p', float, choices=(1e400 * 0,))", "got nan", "op.param('p', float, choices=(1e400, 1))"),
    ("bool(q)", "'query' is neither true nor false", "q is None"),
    ("any([attend.scores(q, k)])", "a value of the computation is neither", "any([q is k])"),
    ("q[0]", "'query' does not have one dimension: its layout is 'B N 1 D'", "q[0, 0, 0, 0]"),
    ("q[N, 0]", "'query' does not have 2 dimensions", "op.lengths('lens', 'B')[0]"),
]


@pytest.mark.parametrize(("line", "said"), [each[:2] for each in WRONG_AND_RIGHT])
def test_a_wrong_argument_is_named_with_its_line(tmp_path, line, said) -> None:
    with pytest.raises(SpecError) as found:
        loaded(tmp_path, line)
    text = str(found.value)
    assert text.startswith(LINE) and said in text and len(text) < 300, text


@pytest.mark.parametrize("line", dict.fromkeys(each[2] for each in WRONG_AND_RIGHT))
def test_its_near_twin_is_taken(tmp_path, line) -> None:
    """By the function that takes it: what the whole spec makes of an unused argument is another matter."""
    names: dict[str, object] = {}
    before = SPEC.split("{line}")[0]
    exec(compile(before + line, "mine.py", "exec"), names)
