"""Spec files that go wrong while they are loaded: always the author's mistake, with the author's line."""

import sys

import pytest

from attndsl.spec import Operator
from attndsl.spec.errors import SpecError, SpecFileError
from attndsl.spec.operator.loader import load, load_file

GOOD = """
from attndsl.spec import attend, Operator
op = Operator("plain_attention", document="mine", summary="Attention, nothing else.")
B, N, T, D = op.dims("B N T D")
op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
q = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
k = op.input("key", "B N T D", dtype=q, axes="B K T D")
s = attend.scores(q, attend.rows(k))
v = op.input("value", "B N T D", dtype=q, axes="B K T E")
op.output("out", attend.softmax(s) @ attend.rows(v), like=q)
"""
LIAR = """
class Liar:
    @property
    def __class__(self):
        raise ValueError("asked for its class")
liar = Liar()
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys\nsys.exit(0)\n", "mine.py:2: the spec ends the program, with exit code 0"),
        ("x = 1\nexit()\n", "mine.py:2: the spec ends the program"),
        ("class Stop(BaseException): pass\n\nraise Stop('here')\n", "mine.py:3: Stop: here"),
        ("raise GeneratorExit\n", "mine.py:1: GeneratorExit: "),
        ("raise ValueError('two\\nlines')\n", "mine.py:1: ValueError: two lines"),
        (
            "class Mute(Exception):\n    def __str__(self):\n        raise ValueError\nraise Mute\n",
            "mine.py:4: Mute: its text cannot be printed",
        ),
        (
            "class Mute(Exception):\n    def __str__(self):\n        raise SystemExit(0)\n\nraise Mute\n",
            "mine.py:5: Mute: its text cannot be printed",
        ),
        ("x = 1\nx = = 2\n", "mine.py:2: invalid syntax: x = = 2"),
        ("raise SyntaxError('of its own')\n", "mine.py:1: SyntaxError: of its own"),
        ("open('/no/such/file')\n", "mine.py:1: FileNotFoundError: "),
        ("def f(): f()\nf()\n", "mine.py:1: RecursionError: "),
        ("x = " + "-" * 100_000 + "1\n", "mine.py"),
        ("x = '\0'\n", "mine.py"),
        (f"{GOOD}\nraise SystemExit('done')\n", "mine.py:12: the spec ends the program, with exit code done"),
    ],
)
def test_whatever_a_spec_raises_names_its_line(tmp_path, text, said) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(SpecFileError) as found:
        load_file(file)
    assert said in str(found.value) and "\n" not in str(found.value)


def test_an_interrupt_is_the_users(tmp_path) -> None:
    (tmp_path / "mine.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_file(tmp_path / "mine.py")


@pytest.mark.parametrize(
    "more", ["", "try:\n    raise SystemExit(0)\nexcept SystemExit:\n    pass\n", LIAR], ids=str
)
def test_near_twins_are_loaded(tmp_path, more) -> None:
    """Errors that a spec handles itself, and what lies about its class."""
    (tmp_path / "mine.py").write_text(GOOD + more)
    assert load_file(tmp_path / "mine.py").name == "plain_attention"


HELPER = """
def visible(i, j):
    return CONDITION
"""


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (
            "(j % 4 == 0) and (j <= i)",
            "HELPER.py:3: Python decides 'and' while the spec is read, and 'j % 4 == 0' has no value until "
            "the operator is called; join conditions by &, each in parentheses, as in (a) & (b)",
        ),
        (
            "i if j == 0 else j <= i",
            "HELPER.py:3: Python decides 'if' while the spec is read, and 'j == 0' has no value until the "
            "operator is called; attend.when(condition, a, b) chooses between values and select(condition, "
            "a, b) between numbers",
        ),
    ],
)
def test_python_decides_nothing_in_what_a_spec_imports(tmp_path, monkeypatch, condition, said) -> None:
    name = f"helper_of_{tmp_path.name}"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{name}.py").write_text(HELPER.replace("CONDITION", condition))
    masked = GOOD.replace("attend.rows(k))", "attend.rows(k)).where(visible(attend.BATCH, attend.KEY))")
    spec = tmp_path / "mine.py"
    spec.write_text(f"from {name} import visible\n" + masked)
    with pytest.raises(SpecError) as refused:
        load_file(spec)
    assert str(refused.value) == said.replace("HELPER", name)
    assert not any(type(each).__module__.startswith("attndsl") for each in sys.meta_path)


def test_what_a_helper_decides_by_plain_numbers_is_its_own_affair(tmp_path, monkeypatch) -> None:
    name = f"helper_of_{tmp_path.name}"
    monkeypatch.syspath_prepend(tmp_path)
    helper = HELPER.replace("CONDITION", "j <= i + (1 if 0 <= len('ab') < 3 and not None else 2)")
    (tmp_path / f"{name}.py").write_text(helper)
    masked = GOOD.replace("attend.rows(k))", "attend.rows(k)).where(visible(attend.BATCH, attend.KEY))")
    (tmp_path / "mine.py").write_text(f"from {name} import visible\n" + masked)
    op = load_file(tmp_path / "mine.py")
    assert {path.name for path in op.files_read} == {"mine.py", f"{name}.py"}


@pytest.mark.parametrize(
    ("helper", "said"),
    [
        (
            "def visible(i, j):\n    return j <= other\n",
            "HELPER.py:2: NameError: name 'other' is not defined",
        ),
        ("def visible(i, j):\n    return j < = i\n", "HELPER.py:2: invalid syntax: return j < = i"),
        (
            "def visible(i, j):\n    return attend.softmax(j)\n",
            "HELPER.py:2: NameError: name 'attend' is not",
        ),
        ("def visible(i, j):\n    return 1 // 0\n", "HELPER.py:2: ZeroDivisionError: "),
        (
            "def visible(i, j):\n    return j\n\nraise SystemExit(3)\n",
            "HELPER.py:4: the spec ends the program",
        ),
    ],
)
def test_a_mistake_in_what_a_spec_imports_names_the_file_that_it_is_in(
    tmp_path, monkeypatch, helper, said
) -> None:
    name = f"helper_of_{tmp_path.name}"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{name}.py").write_text(helper)
    masked = GOOD.replace("attend.rows(k))", "attend.rows(k)).where(visible(attend.BATCH, attend.KEY))")
    spec = tmp_path / "mine.py"
    spec.write_text(f"from {name} import visible\n" + masked)
    with pytest.raises(SpecFileError) as found:
        load_file(spec)
    assert str(found.value).startswith(said.replace("HELPER", name))


def test_a_mistake_of_the_spec_beside_a_helper_names_the_spec(tmp_path, monkeypatch) -> None:
    """What the helper does with what it is given is right; the spec gives it too much."""
    name = f"helper_of_{tmp_path.name}"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{name}.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "mine.py").write_text(f"from {name} import twice\n\ntwice(1, 2)\n")
    with pytest.raises(SpecFileError, match=r"^mine\.py:3: TypeError: "):
        load_file(tmp_path / "mine.py")


def test_the_file_of_a_spec_is_named_without_its_folder(tmp_path) -> None:
    shipped = load("self_attention")
    assert {each.spec_file for each in (shipped, *shipped.modes)} == {"self_attention.py"}
    (tmp_path / "mine.py").write_text(GOOD)
    assert load(tmp_path / "mine.py").spec_file == "mine.py"
    at_a_prompt = {"Operator": Operator}
    exec(compile("op = Operator('typed')", "<stdin>", "exec"), at_a_prompt)
    assert at_a_prompt["op"].spec_file == ""
