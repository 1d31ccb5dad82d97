"""Seeded defects of Python sources, by class: a place in the text, and what stands there instead.

Left out is what decides no result: annotations, decorators, imports, errors that are raised, texts.
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
    if isinstance(node, ast.If | ast.IfExp):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    for test in tests:
        if not isinstance(test, ast.NamedExpr) and not any(
            isinstance(n, ast.NamedExpr) for n in ast.walk(test)
        ):
            yield source.start(test), source.end(test), "True"
            yield source.start(test), source.end(test), "False"


def number(source: _Source, node: ast.AST) -> Found:
    """Another number: tolerances and factors ten times as large, integers one more."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        text = source.text[source.start(node) : source.end(node)]
        yield (
            source.start(node),
            source.end(node),
            f"{10 * node.value!r}" if "." in text or "e" in text else (f"{node.value + 1!r}"),
        )
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield source.start(node), source.end(node), repr(not node.value)


def tolerance(source: _Source, node: ast.AST) -> Found:
    """A bound ten times too wide: powers of two, and what is returned or compared as a bound."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and isinstance(node.left, ast.Constant):
        start, end = source.start(node), source.end(node)
        yield start, end, f"(10 * {source.text[start:end]})"
    elif isinstance(node, ast.keyword) and node.arg in ("bound", "slack", "reach", "step", "floor", "level"):
        start, end = source.start(node.value), source.end(node.value)
        if node.arg != "level":
            yield start, end, f"10 * ({source.text[start:end]})"


def omission(source: _Source, node: ast.AST) -> Found:
    """A statement that is left out: a finding not added, a value not yielded."""
    value = node.value if isinstance(node, ast.Expr) else None
    is_effect = isinstance(value, ast.Call | ast.Yield | ast.YieldFrom) or isinstance(node, ast.AugAssign)
    if is_effect:
        left_out = "yield from ()" if isinstance(value, ast.Yield | ast.YieldFrom) else "pass"
        yield source.start(node), source.end(node), left_out


def element(source: _Source, node: ast.AST) -> Found:
    """A choice that is missing from a list of several."""
    if isinstance(node, ast.Tuple | ast.Set | ast.List) and isinstance(
        getattr(node, "ctx", ast.Load()), ast.Load
    ):
        if len(node.elts) > 2 and all(
            isinstance(each, ast.Constant | ast.Name | ast.Attribute) for each in node.elts
        ):
            for each, after in zip(node.elts, node.elts[1:], strict=False):
                yield source.start(each), source.start(after), ""
    elif isinstance(node, ast.Dict) and len(node.keys) > 2:
        for key, after in zip(node.keys, node.keys[1:], strict=False):
            if key is not None and after is not None:
                yield source.start(key), source.start(after), ""


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


CLASSES: dict[str, Callable[[_Source, ast.AST], Found]] = {
    "arithmetic": arithmetic,
    "branch": branch,
    "comparison": comparison,
    "element": element,
    "extreme": extreme,
    "logic": logic,
    "number": number,
    "omission": omission,
    "precision": precision,
    "tolerance": tolerance,
    "verdict": verdict,
}
_SKIPPED = (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Assert, ast.arg, ast.Subscript)


def mutants_of(root: Path, file: str) -> Iterator[PythonMutant]:
    """All mutants of a source, none twice."""
    source, seen = _Source((root / file).read_text()), set[tuple[int, int, str]]()
    for node, statement, names in _places(source.tree):
        lines = (statement.lineno, max(statement.lineno, _last_line(statement)))
        for kind, rule in CLASSES.items():
            for place in rule(source, node):
                if place not in seen:
                    seen.add(place)
                    line = source.text.count("\n", 0, place[0]) + 1
                    yield PythonMutant(file, kind, *place, line, lines, names)


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
        if isinstance(node, ast.stmt):
            statement = node
        if isinstance(node, ast.Assign | ast.AnnAssign) and names == (_LIMIT,):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = tuple(each.id for each in targets if isinstance(each, ast.Name))
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
        }
        for name, value in ast.iter_fields(node):
            if name in left_out:
                continue
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    yield from walk(each, statement, names)

    yield from walk(tree, None, (_LIMIT,))


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
        groups.setdefault(
            (each.kind, each.file.split("/")[-3 if each.file.count("/") > 2 else 0]), []
        ).append(each)
    rng = random.Random(seed)
    order = sorted(groups)
    for key in order:
        rng.shuffle(groups[key])
    rng.shuffle(order)
    while any(groups.values()):
        for key in order:
            if groups[key]:
                yield groups[key].pop()
