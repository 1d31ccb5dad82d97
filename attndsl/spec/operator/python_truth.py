"""Python's own decisions in a spec: `if`, `and`, `or`, `not`, `in`, and comparisons in a chain.

Python decides them while the spec is read, when sizes, parameters and values have no value yet. For most it
asks the value, which refuses; of `==` and `!=` it gets an answer, as expressions are told apart by them, and
goes on with half of what was written. So the loader asks at each of these places itself, at its line.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from attndsl.base.source_location import author_line
from attndsl.expr import Expr
from attndsl.spec.authoring.values import TensorValue, Value
from attndsl.spec.errors import SpecError

_LONGEST = 60
_TRUTH, _CHAIN, _MEMBER = "__attndsl_truth__", "__attndsl_chain__", "__attndsl_member__"
_CHOICES = "attend.when(condition, a, b) chooses between values and select(condition, a, b) between numbers"
_INSTEAD = {
    "and": "join conditions by &, each in parentheses, as in (a) & (b)",
    "or": "join conditions by |, each in parentheses, as in (a) | (b)",
    "not": "negate conditions by ~, in parentheses, as in ~(a)",
    "if": _CHOICES,
    "while": "loops of a spec are over plain numbers",
    "assert": "what must hold of calls is stated by op.require(condition, text)",
    "a chain of comparisons": "join both comparisons by &, each in parentheses, as in (a < b) & (b < c)",
    "in": "one_of(x, 1, 2) of attndsl.spec is the condition",
}
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


class UndecidedError(SpecError):
    """Python is asked to decide by what has no value until the operator is called."""


def compiled(source: str, path: str) -> tuple[Any, dict[str, Callable[..., Any]]]:
    """The code of a spec, and the functions that it calls where Python decides.

    Raises:
        SyntaxError: it is no Python.
    """
    tree = _Questions().visit(ast.parse(source, path))
    ast.fix_missing_locations(tree)
    return compile(tree, path, "exec"), {_TRUTH: _truth, _CHAIN: _chain, _MEMBER: _member}


class _Questions(ast.NodeTransformer):
    """Puts a question around each value by whose truth Python decides."""

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._tested(node, "if")

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._tested(node, "if")

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._tested(node, "while")

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return self._tested(node, "assert")

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.ifs = [_asked("if", each) for each in node.ifs]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        self.generic_visit(node)
        node.guard = None if node.guard is None else _asked("if", node.guard)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        word = "and" if isinstance(node.op, ast.And) else "or"
        node.values = [*(_asked(word, each) for each in node.values[:-1]), node.values[-1]]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = _asked("not", node.operand)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        kinds = [type(each) for each in node.ops]
        if len(kinds) == 1 and kinds[0] in (ast.In, ast.NotIn):
            found = _call(_MEMBER, node, node.left, node.comparators[0])
            return found if kinds[0] is ast.In else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)
        if len(kinds) == 1 or not all(kind in _OPERATORS for kind in kinds):
            return node
        words = ast.Tuple([ast.Constant(_OPERATORS[kind]) for kind in kinds], ast.Load())
        return _call(_CHAIN, node, words, node.left, *node.comparators)

    def _tested(self, node: ast.If | ast.IfExp | ast.While | ast.Assert, word: str) -> ast.AST:
        self.generic_visit(node)
        node.test = _asked(word, node.test)
        return node


def _asked(word: str, value: ast.expr) -> ast.expr:
    return _call(_TRUTH, value, ast.Constant(word), value)


def _call(name: str, place: ast.expr, *arguments: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(arguments), []), place)


def _truth(word: str, value: Any) -> Any:
    """The value, by whose truth Python may decide.

    Raises:
        UndecidedError: it has none yet.
    """
    if isinstance(value, TensorValue):
        name = value.spec.name
        raise UndecidedError(
            f"'{word}' decides by '{name}', an input, while the spec is read: {name}.given tells whether a "
            f"call passes it, as in attend.when({name}.given, a, b); whether it is there at all in Python, "
            "x is not None",
            author_line(),
        )
    if isinstance(value, Value):
        raise UndecidedError(
            f"'{word}' decides by a value of the computation, which has none while the spec is read; "
            "s.where(visible) acts on each score, x is not None asks whether Python has it at all",
            author_line(),
        )
    if isinstance(value, Expr):
        raise _undecided(word, value)
    return value


def _chain(words: Sequence[str], *operands: Any) -> Any:
    """A chain of comparisons of plain values.

    Raises:
        UndecidedError: one of them has no value yet.
    """
    found: Any = True
    for place, word in enumerate(words):
        found = _COMPARED[word](operands[place], operands[place + 1])
        if isinstance(found, Expr):
            written = " ".join(f"{operand} {word}" for operand, word in zip(operands, words, strict=False))
            raise _undecided("a chain of comparisons", f"{written} {operands[-1]}")
        if not found:
            return found
    return found


def _member(value: Any, container: Any) -> bool:
    """Whether a plain value, or a symbol among symbols, is in a container.

    Raises:
        UndecidedError: a number without a value yet is looked for among plain numbers.
    """
    if isinstance(value, Expr) and any(not isinstance(each, Expr) for each in container):
        raise _undecided("in", value)
    return value in container


def _undecided(word: str, value: object) -> UndecidedError:
    text = str(value)
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    named = word if " " in word else f"'{word}'"
    return UndecidedError(
        f"Python decides {named} while the spec is read, and '{shown}' has no value until the operator is "
        f"called; {_INSTEAD[word]}",
        author_line(),
    )


_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
