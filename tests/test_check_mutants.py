"""bench/check_mutants.py: what it changes, that a change is what Python runs, and which tests it chooses."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[1] / "bench"
sys.path.insert(0, str(BENCH))

import check_mutants  # noqa: E402
import python_mutants  # noqa: E402
import reached_lines  # noqa: E402
import warm_processes  # noqa: E402


def changes(folder: Path, text: str, kind: str) -> list[str]:
    file = folder / ("attndsl/verify/judge/code.py" if kind == "precision" else "attndsl/verify/data/code.py")
    file.parent.mkdir(parents=True)
    file.write_text(text)
    found = python_mutants.mutants_of(folder, str(file.relative_to(folder)))
    return [each.text(folder) for each in found if each.kind == kind]


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("arithmetic", "x = (a) + b", ["x = (a) - b"]),
        ("arithmetic", "x = f'{a}' + 'b'", []),
        ("arithmetic", "def f(x):\n    return isinstance(x, Array | Bool)", []),
        ("branch", "y = 1 if a else 2", ["y = 1 if True else 2", "y = 1 if False else 2"]),
        ("backend", "run(backend)", ["run('reference')", "run('tile')"]),
        ("backend", "x = backends", []),
        (
            "backend",
            "note(real)",
            ['note("reference in float32")', 'note("reference in float64")'],
        ),
        ("branch", "if TYPE_CHECKING:\n    pass", []),
        ("branch", "if a not in b:\n    b[a] = c", ["if False:\n    b[a] = c"]),
        ("branch", "if a not in b:\n    b[d] = c", ["if True:\n    b[d] = c", "if False:\n    b[d] = c"]),
        ("branch", "if a is None:\n    a = b[c] = d", ["if False:\n    a = b[c] = d"]),
        ("branch", "if len(b) > 9:\n    b.clear()", ["if True:\n    b.clear()"]),
        ("branch", "if f(a) not in b:\n    b[f(a)] = c", ["if False:\n    b[f(a)] = c"]),
        ("branch", "if a in b:\n    return b[a]", ["if True:\n    return b[a]"]),
        (
            "branch",
            "if a in b:\n    return b[c]",
            ["if True:\n    return b[c]", "if False:\n    return b[c]"],
        ),
        ("branch", "x = 'of it' if a else 'B'", []),
        ("branch", "x = 'N' if a else 'B'", ["x = 'N' if True else 'B'", "x = 'N' if False else 'B'"]),
        ("branch", "class Bad(UserError):\n    x = 1 if a else 2", []),
        ("branch", "def __repr__(self):\n    return 1 if a else 2", []),
        ("comparison", "x = a <= b", ["x = a < b"]),
        ("comparison", "x = a not in b", ["x = a in b"]),
        (
            "element",
            "KINDS = (ONE, TWO, 'three')",
            ["KINDS = (TWO, 'three')", "KINDS = (ONE, 'three')", "KINDS = (ONE, TWO)"],
        ),
        ("element", "KINDS = (ONE, ONE, TWO)", ["KINDS = (ONE, ONE)"]),
        ("element", "rng = of([a, b, _SALT])", ["rng = of([b, _SALT])", "rng = of([a, _SALT])"]),
        ("element", "found = kept.get((ONE, TWO, THREE))", []),
        ("element", "kept[ONE, TWO, THREE] = found", []),
        ("element", "try:\n    f()\nexcept (A, B, C):\n    pass", []),
        ("feature", "x = rng.choice([1, 2])", ["x = rng.choice([2,])", "x = rng.choice([1,])"]),
        ("feature", "x = rng.choice([1, 1, 0])", ["x = rng.choice([1, 1])"]),
        ("feature", "x = [*a, b, *c]", ["x = [b, *c]", "x = [*a, *c]", "x = [*a, b]"]),
        ("feature", "x = [a, b]", []),
        ("feature", "x = rng.random() < p", ["x = True", "x = False"]),
        ("feature", "x = a < p", []),
        (
            "extreme",
            "x = np.maximum(a, b).any()",
            ["x = np.maximum(a, b).all()", "x = np.minimum(a, b).any()"],
        ),
        ("logic", "x = not a", ["x = a"]),
        ("logic", "x = a and b", ["x = a or b"]),
        ("number", "x = 0.5", ["x = 5.0"]),
        ("number", "x = a[3]", ["x = a[4]"]),
        ("number", "def f(x: Literal[3]) -> None: ...", []),
        ("number", "raise Wrong(3)", []),
        ("omission", "found.append(a)", ["pass"]),
        ("omission", "def f():\n    yield a", ["def f():\n    yield from ()"]),
        ("omission", "warnings.simplefilter('ignore')", []),
        (
            "oracle",
            "def f(actual, golden):\n    return g(golden.shape, golden.name)",
            ["def f(actual, golden):\n    return g(actual.shape, golden.name)"],
        ),
        (
            "oracle",
            "def f(actual, want):\n    return g(want.values, want)",
            ["def f(actual, want):\n    return g(actual, want)"],
        ),
        ("oracle", "def f(golden):\n    return g(golden)", []),
        ("oracle", "def f(actual, golden):\n    return f'{golden}'", []),
        ("precision", "x = np.float64(a)", ["x = np.float32(a)"]),
        ("precision", "x = a.astype(np.float64)", []),
        ("precision", "x = f(_FLOAT64)", ["x = f(np.dtype(np.float32))"]),
        ("tolerance", "x = 2.0**-8", ["x = (10 * 2.0**-8)"]),
        ("tolerance", "x = 1e-7", ["x = (10 * 1e-7)"]),
        ("tolerance", "x = 2**31", []),
        ("tolerance", "x = f(bound=a + b)", ["x = f(bound=10 * (a + b))"]),
        (
            "verdict",
            "def f() -> bool:\n    return a",
            ["def f() -> bool:\n    return True", "def f() -> bool:\n    return False"],
        ),
        ("verdict", "def f() -> list[str]:\n    return a", ["def f() -> list[str]:\n    return []"]),
        ("verdict", "def f() -> bool:\n    return False", ["def f() -> bool:\n    return True"]),
        ("verdict", "def f() -> int:\n    return a", []),
    ],
)
def test_a_class_changes_what_it_is_about(tmp_path: Path, kind: str, text: str, wanted: list[str]) -> None:
    assert changes(tmp_path, text, kind) == wanted


def test_every_source_has_mutants_and_all_classes_have_some() -> None:
    files = check_mutants.sources()
    mutants = [each for file in files for each in python_mutants.mutants_of(check_mutants.ROOT, file)]
    assert {each.kind for each in mutants} == set(python_mutants.CLASSES)
    assert {each.file.split("/")[1] for each in mutants if each.file.startswith("attndsl")} == {
        "verify",
        "reference",
        "campaign",
    }
    assert all(each.lines[0] <= each.line <= each.lines[1] for each in mutants if each.kind == "verdict")
    assert {each.file for each in mutants} >= {
        f"specs/{name}.py" for name in ("relay_attention", "self_attention")
    }
    assert len({each.name for each in mutants}) == len(mutants)
    first = [each.name for each, _ in zip(python_mutants.drawn(mutants, 3), range(40), strict=False)]
    again = [each.name for each, _ in zip(python_mutants.drawn(mutants, 3), range(40), strict=False)]
    other = [each.name for each, _ in zip(python_mutants.drawn(mutants, 4), range(40), strict=False)]
    assert first == again != other


@pytest.mark.parametrize("mutated", [True, False])
def test_python_runs_the_changed_source(tmp_path: Path, mutated: bool) -> None:
    """Also where compiled code of the file is there already; whoever reads it sees it, too."""
    (tmp_path / "code.py").write_text("VALUE = 1\n")
    (tmp_path / "text.py").write_text("VALUE = 2\n")
    command = [sys.executable, "-c", "import code_of as c; print(c.VALUE, open(c.__file__).read() != '')"]
    (tmp_path / "code.py").rename(tmp_path / "code_of.py")
    environment = {**os.environ, "PYTHONPATH": f"{BENCH / 'mutated'}{os.pathsep}{tmp_path}"}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    if mutated:
        environment |= {"ATTNDSL_MUTATED": str(tmp_path / "code_of.py")}
        environment |= {"ATTNDSL_MUTATED_TEXT": str(tmp_path / "text.py")}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.split()[0] == ("2" if mutated else "1")


def test_tests_are_chosen_by_the_lines_that_they_execute() -> None:
    root = check_mutants.ROOT
    file = "attndsl/verify/judge/compare.py"
    mutants = list(python_mutants.mutants_of(root, file))
    inside = next(each for each in mutants if not each.names and each.lines[0] > 100)
    outside = next(each for each in mutants if each.names)
    told = {
        "slow": {"seconds": 9.0, "lines": {file: [inside.lines[0]]}, "specs": []},
        "quick": {
            "seconds": 1.0,
            "lines": {file: [inside.lines[0], 1]},
            "specs": ["relay_attention"],
        },
        "other": {"seconds": 0.1, "lines": {file: [1]}, "specs": []},
    }
    reached = check_mutants.Reached(told)
    assert reached.by(inside) == ["quick", "slow"]
    spec = next(python_mutants.mutants_of(root, "specs/relay_attention.py"))
    assert reached.by(spec) == ["quick"]
    pair = next(each for each in python_mutants.mutants_of(root, "attndsl/verify/judge/score_rounding.py"))
    assert set(pair.names) == {"_UNIT", "_DEVIATIONS"}
    users = check_mutants._users(outside.names)
    line = min(users[file])
    assert check_mutants.Reached({"t": {**told["other"], "lines": {file: [line]}}}).by(outside) == ["t"]


def test_a_constant_is_reached_by_the_tests_that_name_it() -> None:
    file = "tests/verify/test_compare.py"
    tests = {f"{file}::{name}": {"seconds": 1.0, "lines": {}, "specs": []} for name in (
        "test_thresholds_of_small_values_are_those_of_the_benchmark", "test_shape_and_dtype_must_match",
    )}  # fmt: skip
    mutants = python_mutants.mutants_of(check_mutants.ROOT, "attndsl/verify/judge/compare.py")
    small = next(each for each in mutants if each.names == ("SMALL_ERROR",))
    assert check_mutants.Reached(tests).by(small) == [next(iter(tests))]


TAKEN = '''def f(x):
    """Says so."""
    if x:
        return 1
    elif x is None:
        return 2
    for _ in ():
        x += 1
    return 3
'''


@pytest.mark.parametrize(("value", "lines"), [(1, [3, 4]), (None, [3, 5, 6]), (0, [3, 5, 7, 9])])
def test_marks_tell_which_statements_of_a_function_run(
    monkeypatch: pytest.MonkeyPatch, value: object, lines: list[int]
) -> None:
    monkeypatch.setattr(reached_lines.importlib.machinery.SourceFileLoader, "get_code", None)
    marks = reached_lines._Marks(frozenset())
    tree = reached_lines._Marking(marks, "code.py").visit(ast.parse(TAKEN))
    names: dict[str, Any] = {}
    exec(compile(tree, "code.py", "exec"), names)
    assert marks.taken() == set() and names["f"].__doc__ == "Says so."
    names["f"](value)
    ran = marks.taken()
    assert marks.lines(ran) == {"code.py": lines} and marks.taken() == set()
    marks.put_back(ran)
    assert marks.taken() == ran


def test_what_uses_a_changing_package_is_not_imported_beforehand() -> None:
    found = warm_processes.unconcerned(check_mutants.CHANGING)
    assert {"attndsl", "attndsl.expr", "attndsl.spec"} <= found
    left = {"attndsl.verify", "attndsl.reference.threads", "attndsl.campaign.jobs"}
    assert not (left | {"attndsl.campaign.judging"}) & found


def test_tests_run_on_the_changed_source_in_a_child(tmp_path: Path) -> None:
    """The near twin, without the change, passes."""
    file = "attndsl/verify/judge/compare.py"
    text = (check_mutants.ROOT / file).read_text()
    (tmp_path / "text.py").write_text(text.replace('"float16": 2.0**-11', '"float16": 2.0**-9'))
    test = "tests/verify/test_compare.py::test_thresholds_of_small_values_are_those_of_the_benchmark"
    environment = {
        "ATTNDSL_MUTATED": str(check_mutants.ROOT / file),
        "ATTNDSL_MUTATED_TEXT": str(tmp_path / "text.py"),
    }
    arguments = ["-q", "-n", "0", "-p", "no:cacheprovider", test]
    for before, code in ((check_mutants._change_source, 1), (None, 0)):
        told = warm_processes.run_tests(
            arguments, environment, check_mutants.CHANGING, tmp_path / "said", 100, before
        )
        assert told == code, (tmp_path / "said").read_text()


def test_measured_lines_are_those_of_any_checkout() -> None:
    """One of another folder has the same ones in the cache."""
    lines = {str(check_mutants.ROOT / "specs/relay_attention.py"): [3, 4]}
    assert check_mutants._relative(lines) == {"specs/relay_attention.py": [3, 4]}
