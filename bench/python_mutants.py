"""Seeded defects of Python sources, by class: a place in the text, and what stands there instead.

Two groups: defects that make a check say nothing, which are drawn (``OF_CHECKS``), and ordinary mistakes.
Left out is what decides no result: annotations, decorators, imports, errors that are raised, texts, warnings
that are switched off; and of what is kept to be found again (``_is_kept``) that it is found anew.
"""

from __future__ import annotations

import ast
import hashlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PythonMutant:
    """A defect: ``text[start:end]`` of ``file`` becomes ``after``. ``lines``: those of its statement."""

    file: str
    kind: str
    start: int
    end: int
    after: str
    line: int
    lines: tuple[int, int]
    names: tuple[str, ...]
    """The names that its statement defines at the level of a module or class, where imports execute it."""

    @property
    def name(self) -> str:
        """Tells it from all others."""
        return hashlib.sha256(repr((self.file, self.start, self.end, self.after)).encode()).hexdigest()[:10]

    def text(self, root: Path) -> str:
        """The changed source."""
        text = (root / self.file).read_text()
        return text[: self.start] + self.after + text[self.end :]

    def shown(self, root: Path) -> str:
        """The line before and after, for readers."""
        text = (root / self.file).read_text()
        begin, stop = text.rfind("\n", 0, self.start) + 1, text.find("\n", self.end)
        before = " ".join(text[begin:stop].split())
        after = " ".join((text[begin : self.start] + self.after + text[self.end : stop]).split())
        return f"{before}  ->  {after}"


Found = Iterator[tuple[int, int, str]]
_ORDER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_ORDER |= {"is": "is not", "is not": "is", "in": "not in", "not in": "in"}
_ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "+", "&": "|", "|": "&", "<<": ">>"}
_ARITHMETIC |= {">>": "<<", "**": "*"}
_EXTREMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum"}
_EXTREMES |= {"maximum": "minimum", "argmax": "argmin", "argmin": "argmax", "floor": "ceil", "ceil": "floor"}
_LIMIT = "--"
_ONLY = {
    "feature": ("specs/", *(f"attndsl/verify/{each}/" for each in ("cases", "data", "space"))),
    "precision": ("attndsl/reference/", "attndsl/verify/judge/", "attndsl/campaign/"),
}
"""Classes that are about what makes cases, and about oracles and judgements alone."""
_SMALL = 0.01
"""Numbers below that are bounds of errors."""
_RESULTS = ("actual", "values", "found", "after")
_EXPECTED, _OF_EXPECTED = ("golden", "benchmark", "wanted", "base", "own"), ("want.values", "want.unrounded")
_OF_ARRAYS = ("shape", "dtype", "size", "astype", "view", "tobytes")
"""What results and what is expected of them are called, and what is asked of an array."""
_ENGINES = ("reference in float32", "reference in float64", "tile interpreter", "emulator")


class _Source:
    """A source with its tree."""

    def __init__(self, text: str) -> None:
        self.text, self.tree = text, ast.parse(text)
        self._starts = [0]
        for line in text.encode().split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._ascii = text.isascii()

    def offset(self, line: int, column: int) -> int:
        at = self._starts[line - 1] + column
        return at if self._ascii else len(self.text.encode()[:at].decode())

    def start(self, node: ast.AST) -> int:
        return self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def told(self, node: ast.AST) -> str:
        return self.text[self.start(node) : self.end(node)]

    def operator_between(self, left: ast.AST, right: ast.AST) -> tuple[int, int, str]:
        start, end = self.end(left), self.start(right)
        told = re.search(r"not\s+in|is\s+not|[^\s()\\#]+", self.text[start:end])
        assert told is not None
        return start + told.start(), start + told.end(), " ".join(told[0].split())


def comparison(source: _Source, node: ast.AST) -> Found:
    """A bound that is one off, a question turned over."""
    if isinstance(node, ast.Compare):
        for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
            start, end, spelled = source.operator_between(left, right)
            if spelled in _ORDER:
                yield start, end, _ORDER[spelled]


def arithmetic(source: _Source, node: ast.AST) -> Found:
    """Another operation of two numbers."""
    if isinstance(node, ast.BinOp) and not any(map(_is_no_number, (node.left, node.right))):
        start, end, spelled = source.operator_between(node.left, node.right)
        if spelled in _ARITHMETIC:
            yield start, end, _ARITHMETIC[spelled]


def logic(source: _Source, node: ast.AST) -> Found:
    """And in place of or, a condition that is not turned over."""
    if isinstance(node, ast.BoolOp):
        for left, right in zip(node.values, node.values[1:], strict=False):
            start, end, spelled = source.operator_between(left, right)
            yield start, end, "or" if spelled == "and" else "and"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield source.start(node), source.end(node), source.text[source.start(node.operand) : source.end(node)]


def branch(source: _Source, node: ast.AST) -> Found:
    """A branch that is always or never taken."""
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.IfExp) and not _words(node):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    for test in tests:
        if not isinstance(test, ast.NamedExpr) and not any(
            isinstance(n, ast.NamedExpr) for n in ast.walk(test)
        ):
            if not _is_kept(node, test):
                yield source.start(test), source.end(test), "True"
            if not (_makes_room(node) or _gives_kept(node, test)):
                yield source.start(test), source.end(test), "False"


def number(source: _Source, node: ast.AST) -> Found:
    """Another number: tolerances and factors ten times as large, integers one more."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        if isinstance(node.value, float) and 0 < node.value < _SMALL:
            return  # a tolerance
        text = source.told(node)
        yield (
            source.start(node),
            source.end(node),
            f"{10 * node.value!r}" if "." in text or "e" in text else (f"{node.value + 1!r}"),
        )
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield source.start(node), source.end(node), repr(not node.value)


def tolerance(source: _Source, node: ast.AST) -> Found:
    """A bound ten times too wide: powers of two, small numbers, and what is passed as a bound."""
    is_bound = False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        is_bound = isinstance(node.left, ast.Constant) and isinstance(node.right, ast.UnaryOp)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        is_bound = 0 < node.value < _SMALL
    if is_bound:
        yield source.start(node), source.end(node), f"(10 * {source.told(node)})"
    elif isinstance(node, ast.keyword) and node.arg in ("bound", "slack", "reach", "step", "floor"):
        yield source.start(node.value), source.end(node.value), f"10 * ({source.told(node.value)})"


def omission(source: _Source, node: ast.AST) -> Found:
    """A statement that is left out: a finding not added, a value not yielded."""
    value = node.value if isinstance(node, ast.Expr) else None
    is_effect = isinstance(value, ast.Call | ast.Yield | ast.YieldFrom) or isinstance(node, ast.AugAssign)
    if is_effect and not _decides_nothing(value):
        left_out = "yield from ()" if isinstance(value, ast.Yield | ast.YieldFrom) else "pass"
        yield source.start(node), source.end(node), left_out


def element(source: _Source, node: ast.AST) -> Found:
    """A choice that is missing from a list of several. One that is listed again is not missing."""
    if isinstance(node, ast.Tuple | ast.Set | ast.List) and isinstance(
        getattr(node, "ctx", ast.Load()), ast.Load
    ):
        if len(node.elts) > 2 and all(
            isinstance(each, ast.Constant | ast.Name | ast.Attribute) for each in node.elts
        ):
            yield from _without_one(source, node.elts)
    elif isinstance(node, ast.Dict) and len(node.keys) > 2:
        for key, after in zip(node.keys, node.keys[1:], strict=False):
            if key is not None and after is not None:
                yield source.start(key), source.start(after), ""


def feature(source: _Source, node: ast.AST) -> Found:
    """A generator that no longer makes something: a draw that always or never says yes, a choice without one
    of its values, a list without one of the parts that it is put together of."""
    if isinstance(node, ast.Compare) and any(_called(each) == "random" for each in ast.walk(node)):
        yield source.start(node), source.end(node), "True"
        yield source.start(node), source.end(node), "False"
    if isinstance(node, ast.Call) and _called(node) == "choice" and not node.keywords:
        for each in node.args[:1]:
            yield from _without_one(source, each.elts if isinstance(each, ast.List | ast.Tuple) else [])
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []
    if len(parts) > 1 and any(isinstance(each, ast.Starred) for each in parts):
        yield from _without_one(source, parts)


def _called(node: ast.AST) -> str:
    """The name of what is called."""
    called = node.func if isinstance(node, ast.Call) else None
    return called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")


def _without_one(source: _Source, parts: Sequence[ast.expr]) -> Found:
    """A list without each of its parts that is not in it a second time; a salt only makes other draws."""
    texts = [ast.unparse(each) for each in parts]
    for at, each in enumerate(parts):
        if len(parts) == 1 or texts.count(texts[at]) > 1 or texts[at].startswith("_SALT"):
            continue
        if len(parts) == 2:  # a comma makes a list of one
            yield source.start(parts[0]), source.end(parts[1]), f"{source.told(parts[1 - at])},"
        elif at == len(parts) - 1:
            yield source.end(parts[at - 1]), source.end(each), ""
        else:
            yield source.start(each), source.start(parts[at + 1]), ""


def oracle(source: _Source, node: ast.AST) -> Found:
    """An oracle equal to the code under test: what is expected is what came out."""
    if not isinstance(node, ast.FunctionDef):
        return
    named = [each.arg for each in (*node.args.args, *node.args.kwonlyargs)]
    result = next((each for each in named if each in _RESULTS), None)
    every = list(ast.walk(node)) if result is not None else []
    asked = {id(each.value): each.attr for each in every if isinstance(each, ast.Attribute)}
    told = (each for each in every if isinstance(each, ast.JoinedStr | ast.Assert))
    words = {id(part) for each in told for part in ast.walk(each)}
    for each in every:
        is_expected = isinstance(each, ast.Attribute) and ast.unparse(each) in _OF_EXPECTED
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            is_expected = each.id in named and each.id in _EXPECTED
            is_expected = is_expected and asked.get(id(each), "shape") in _OF_ARRAYS
        if is_expected and id(each) not in words:
            yield source.start(each), source.end(each), str(result)


def backend(source: _Source, node: ast.AST) -> Found:
    """A backend that is another one, or the oracle: whose results they are, or who says so."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == "backend":
        for other in ("reference", "tile"):
            yield source.start(node), source.end(node), repr(other)
    if isinstance(node, ast.Call) and _called(node) == "note":
        for real in ("float32", "float64"):
            yield source.start(node.args[0]), source.end(node.args[0]), f'"reference in {real}"'
    if isinstance(node, ast.Constant) and node.value in _ENGINES:
        for other in _ENGINES:
            if other != node.value:
                yield source.start(node), source.end(node), f'"{other}"'


def extreme(source: _Source, node: ast.AST) -> Found:
    """The least in place of the most."""
    if isinstance(node, ast.Call):
        called = node.func
        name = (
            called.id
            if isinstance(called, ast.Name)
            else called.attr
            if isinstance(called, ast.Attribute)
            else ""
        )
        if name in _EXTREMES:
            end = source.end(called)
            yield end - len(name), end, _EXTREMES[name]


def precision(source: _Source, node: ast.AST) -> Found:
    """An oracle that computes as the code under test does."""
    if isinstance(node, ast.Attribute) and node.attr == "float64":
        yield source.end(node) - 7, source.end(node), "float32"
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == "_FLOAT64":
        yield source.start(node), source.end(node), "np.dtype(np.float32)"


def verdict(source: _Source, node: ast.AST) -> Found:
    """A question that is always answered in the same way; findings that are never told."""
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        told = ast.unparse(node.returns)
        for each in ast.walk(node):
            if isinstance(each, ast.Return) and each.value is not None:
                start, end = source.start(each.value), source.end(each.value)
                if told == "bool":
                    yield start, end, "True"
                    yield start, end, "False"
                elif told.startswith(("list[", "tuple[str, ...]", "set[", "frozenset[")):
                    empty = {"l": "[]", "t": "()", "s": "set()", "f": "frozenset()"}[told[0]]
                    if source.text[start:end] != empty:
                        yield start, end, empty


def _is_kept(node: ast.AST, test: ast.expr) -> bool:
    """Whether a branch finds what is kept where it was found before: to find it anew is no defect."""
    if not isinstance(node, ast.If) or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    stored = [
        ast.unparse(target)
        for each in node.body
        for part in ast.walk(each)
        if isinstance(part, ast.Assign)
        for target in part.targets
    ]
    if isinstance(test.ops[0], ast.NotIn):
        key = ast.unparse(test.left)
        key = key[1:-1] if isinstance(test.left, ast.Tuple) else key
        return f"{ast.unparse(test.comparators[0])}[{key}]" in stored
    is_none = isinstance(test.ops[0], ast.Is) and ast.unparse(test.comparators[0]) == "None"
    return is_none and ast.unparse(test.left) in stored and any(each.endswith("]") for each in stored)


def _gives_kept(node: ast.AST, test: ast.expr) -> bool:
    """Whether a branch gives what is kept under the key that it asks for: to find it anew is no defect."""
    if (
        not isinstance(node, ast.If)
        or not isinstance(test, ast.Compare)
        or not isinstance(test.ops[0], ast.In)
    ):
        return False
    given = node.body[0].value if isinstance(node.body[0], ast.Return) else None
    kept = ast.Subscript(value=test.comparators[0], slice=test.left, ctx=ast.Load())
    return given is not None and ast.unparse(given) == ast.unparse(kept)


def _makes_room(node: ast.AST) -> bool:
    """Whether a branch only forgets what was kept, once it is much."""
    if not isinstance(node, ast.If) or "len(" not in ast.unparse(node.test):
        return False
    return all(
        isinstance(each, ast.Delete) or (isinstance(each, ast.Expr) and _called(each.value) == "clear")
        for each in node.body
    )


def _words(node: ast.If | ast.IfExp) -> bool:
    """Whether a choice is one of texts for readers."""
    return isinstance(node, ast.IfExp) and any(
        isinstance(each, ast.JoinedStr)
        or (isinstance(each, ast.Constant) and isinstance(each.value, str) and " " in each.value)
        for each in (node.body, node.orelse)
    )


def _decides_nothing(value: ast.AST | None) -> bool:
    """Whether a call only says which warnings are shown, or forgets what is kept in memory."""
    return _called(value) in ("simplefilter", "filterwarnings", "cache_clear") if value is not None else False


OF_CHECKS: dict[str, Callable[[_Source, ast.AST], Found]] = {
    "backend": backend,
    "branch": branch,
    "element": element,
    "feature": feature,
    "omission": omission,
    "oracle": oracle,
    "precision": precision,
    "tolerance": tolerance,
    "verdict": verdict,
}
"""Comparisons that cannot fail, tolerances too wide, oracles that are the code under test, backends that are
others, generators that no longer make something."""
ORDINARY: dict[str, Callable[[_Source, ast.AST], Found]] = {
    "arithmetic": arithmetic,
    "comparison": comparison,
    "extreme": extreme,
    "logic": logic,
    "number": number,
}
"""What anybody may get wrong anywhere. In a generator many of these change a weight, not what there is."""
CLASSES = OF_CHECKS | ORDINARY
_SKIPPED = (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Assert, ast.arg, ast.Subscript)


def mutants_of(root: Path, file: str) -> Iterator[PythonMutant]:
    """All mutants of a source, none twice."""
    source, seen = _Source((root / file).read_text()), set[tuple[int, int, str]]()
    for node, statement, names in _places(source.tree):
        for kind, rule in CLASSES.items():
            if (kind in _ONLY) and not file.startswith(_ONLY[kind]):
                continue
            for place in rule(source, node):
                if place not in seen and source.text[place[0] : place[1]] != place[2]:
                    seen.add(place)
                    line = source.text.count("\n", 0, place[0]) + 1
                    yield PythonMutant(file, kind, *place, line, _lines_at(statement, line), names)


def _lines_at(statement: ast.stmt, line: int) -> tuple[int, int]:
    """The lines of the innermost statement there: a rule that is given a function changes one within."""
    inside = [each for each in ast.walk(statement) if isinstance(each, ast.stmt) and each.lineno <= line]
    at = [each for each in inside if line <= _last_line(each)]
    innermost = max(at, key=lambda each: each.lineno, default=statement)
    return innermost.lineno, max(innermost.lineno, _last_line(innermost))


def _last_line(statement: ast.stmt) -> int:
    """Of the statement itself, without those in it."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return body[0].lineno - 1
    return statement.end_lineno or statement.lineno


def _places(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.stmt, tuple[str, ...]]]:
    """The nodes that decide something, each with its statement, and the names that one defines."""

    def walk(
        node: ast.AST, statement: ast.stmt | None, names: tuple[str, ...]
    ) -> Iterator[tuple[ast.AST, ast.stmt, tuple[str, ...]]]:
        if isinstance(node, _SKIPPED) and not _is_index(node):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if _is_text(node) or _is_asked_for(node):
            return
        if isinstance(node, ast.stmt):
            statement = node
        if isinstance(node, ast.Assign | ast.AnnAssign) and names == (_LIMIT,):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            within = (part for each in targets for part in ast.walk(each))
            names = tuple(part.id for part in within if isinstance(part, ast.Name))
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            names = ()
        if statement is not None:
            yield node, statement, names if names != (_LIMIT,) else ()
        left_out = {
            "annotation",
            "returns",
            "decorator_list",
            "bases",
            "keywords" if isinstance(node, ast.ClassDef) else "",
            "args" if _is_widened(node) else "",
            "type" if isinstance(node, ast.ExceptHandler) else "",  # one that is not caught is loud
        }
        for name, value in ast.iter_fields(node):
            if name in left_out:
                continue
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    yield from walk(each, statement, names)

    yield from walk(tree, None, (_LIMIT,))


def _is_text(node: ast.AST) -> bool:
    """Whether all of a function or class is the text of something."""
    if isinstance(node, ast.ClassDef):
        return any(ast.unparse(base).endswith("Error") for base in node.bases)
    return isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__str__")


def _is_widened(node: ast.AST) -> bool:
    """Whether an array is cast to float64: float32 holds what it is made from as it is."""
    to = node.args if isinstance(node, ast.Call) and _called(node) == "astype" else []
    return len(to) == 1 and ast.unparse(to[0]) == "np.float64"


def _is_asked_for(node: ast.AST) -> bool:
    """Whether it keeps or asks for what is kept, under a key of several parts: to find none is no defect."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return isinstance(node.slice, ast.Tuple)
    key = node.args if isinstance(node, ast.Call) and _called(node) == "get" else []
    return len(key) == 1 and isinstance(key[0], ast.Tuple)


def _is_index(node: ast.AST) -> bool:
    """Whether a subscript is of a value, not of a type."""
    return isinstance(node, ast.Subscript) and not (
        isinstance(node.value, ast.Name) and node.value.id[:1].isupper()
    )


def _is_no_number(node: ast.AST) -> bool:
    """A text, or a type of a union."""
    if isinstance(node, ast.BinOp):
        return _is_no_number(node.left) or _is_no_number(node.right)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    is_type = isinstance(node, ast.Name) and node.id[:1].isupper() and not node.id.isupper()
    return is_text or is_type or isinstance(node, ast.JoinedStr)


def drawn(mutants: Sequence[PythonMutant], seed: int) -> Iterator[PythonMutant]:
    """An endless supply as long as there are any: classes and areas in turn, places by seed."""
    groups: dict[tuple[str, str], list[PythonMutant]] = {}
    for each in mutants:
        parts = each.file.split("/")
        area = parts[1].replace("campaign", "verify") if len(parts) > 2 else parts[0]
        groups.setdefault((each.kind, area), []).append(each)
    rng = random.Random(seed)
    order = sorted(groups)
    for key in order:
        rng.shuffle(groups[key])
    rng.shuffle(order)
    while any(groups.values()):
        for key in order:
            if groups[key]:
                yield groups[key].pop()
