"""Conditions and sizes of a contract as C++ expressions over the host's call and its sizes."""

from __future__ import annotations

from attndsl.base.errors import InternalError
from attndsl.codegen.names.arguments import Argument, Names, dtype_member, literal
from attndsl.codegen.names.identifiers import identifier
from attndsl.codegen.text.cxx_expressions import FUNCTIONS, SIGNS
from attndsl.expr import Binary, Compare, Const, Expr, Load, Logic, Select, Symbol
from attndsl.expr.argument_facts import DTYPE, GIVEN, LAYOUT, LONGEST, SPLIT, asks
from attndsl.expr.operators import ATOM, OPERATORS
from attndsl.expr.reductions import Fold
from attndsl.spec.contract.arguments import DTYPES, ParamSpec

# Sizes and parameters are what a caller gives, negative or 0 until they are checked.
_FUNCTIONS = {
    **FUNCTIONS,
    "//": "FloorDivOrZero",
    "%": "FloorModOrZero",
    "floor_div": "FloorDivOrZero",
    "floor_mod": "FloorModOrZero",
    "ceil_div": "CeilDivOrZero",
    "round_up": "RoundUpOrZero",
}


class HostExpr:
    """Prints expressions of one operator; ``kind`` tells their type: int, float, bool, str or dtype."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._params = {spec.name: (names.argument(spec.name).name, spec) for spec in names.operator.params}

    def text(self, expr: Expr) -> str:
        """The C++ expression."""
        return self._render(expr)[0]

    def condition(self, expr: Expr, *, negated: bool = False, alone: bool = False) -> str:
        """The inside of an ``if``; ``alone``: it is no operand of ``&&``, so that it needs no brackets."""
        if negated and isinstance(expr, Compare) and self._is_flag(expr) and not self._asks_true(expr):
            text, level = self._render(expr.left)  # of a value that has to be false, and is true
            return text if alone or level == ATOM else f"({text})"
        text, level = self._render(expr)
        if not negated:
            return text
        return f"!{text}" if level == ATOM else f"!({text})"

    def kind(self, expr: Expr) -> str:
        """The type of the value."""
        if isinstance(expr, Const):
            return type(expr.value).__name__
        if isinstance(expr, Symbol):
            return self._symbol_kind(expr.name)
        if isinstance(expr, Compare | Logic):
            return "bool"
        if isinstance(expr, Load):
            return "int"
        if isinstance(expr, Select):
            return self.kind(expr.then)
        if isinstance(expr, Fold):
            return self.kind(expr.body)
        if isinstance(expr, Binary):
            floating = expr.op == "/" or "float" in (self.kind(expr.left), self.kind(expr.right))
            return "float" if floating else "int"
        raise InternalError(f"no type for {type(expr).__name__}")

    def _symbol_kind(self, name: str) -> str:
        kind, _ = asks(name)
        if kind:
            return {DTYPE: "dtype", LAYOUT: "str", LONGEST: "int"}.get(kind, "bool")
        if name in self._params:
            return str(self._params[name][1].type.__name__)
        return "int"

    def _render(self, expr: Expr) -> tuple[str, int]:
        if isinstance(expr, Const):
            return literal(expr.value), ATOM
        if isinstance(expr, Symbol):
            return self.symbol(expr.name), ATOM
        if isinstance(expr, Load):
            return f"{self.source(expr.source)}.GetValue({self.text(expr.index)})", ATOM
        if isinstance(expr, Fold):
            return self._fold(expr)
        if isinstance(expr, Select):
            return self._select(expr)
        if isinstance(expr, Binary) and expr.op in _FUNCTIONS:
            call = _FUNCTIONS[expr.op]
            kind = self.kind(expr)
            cast = f"<{'double' if kind == 'float' else 'int64_t'}>" if call in ("MinOf", "MaxOf") else ""
            cast = f"{cast[:-1]}, {cast[1:]}" if cast else ""
            return f"{call}{cast}({self.text(expr.left)}, {self.text(expr.right)})", ATOM
        if isinstance(expr, Binary) and expr.op == "/":
            return f"static_cast<double>({self.text(expr.left)}) / ({self.text(expr.right)})", OPERATORS[
                "/"
            ].precedence
        if isinstance(expr, Compare | Logic | Binary):
            return self._infix(expr)
        raise InternalError(f"no host expression for {type(expr).__name__}")

    def _infix(self, expr: Compare | Logic | Binary) -> tuple[str, int]:
        left, right = expr.left, expr.right
        if isinstance(expr, Compare):
            flag = self._flag(expr)
            if flag is not None:
                return flag
            left, right = self._with_dtype(left, right), self._with_dtype(right, left)
        level = OPERATORS[expr.op].precedence
        (a, a_level), (b, b_level) = self._render(left), self._render(right)
        mixed = {expr.op, getattr(left, "op", ""), getattr(right, "op", "")} >= {"and", "or"}
        a = f"({a})" if a_level < level or (mixed and isinstance(left, Logic) and left.op != expr.op) else a
        loose = b_level < level or (b_level == level and expr.op not in ("+", "and", "or", "*"))
        b = f"({b})" if loose or (mixed and isinstance(right, Logic) and right.op != expr.op) else b
        return f"{a} {SIGNS.get(expr.op, expr.op)} {b}", level

    def _flag(self, expr: Compare) -> tuple[str, int] | None:
        """A truth value compared with True, False, 1 or 0 as itself or its negation."""
        if not self._is_flag(expr):
            return None
        if self._asks_true(expr):
            return self._render(expr.left)
        return self.condition(expr.left, negated=True), ATOM

    def _is_flag(self, expr: Compare) -> bool:
        """Whether a truth value is compared with True, False, 1 or 0."""
        of_truth = self.kind(expr.left) == "bool" and expr.op in ("==", "!=")
        return of_truth and isinstance(expr.right, Const) and expr.right.value in (0, 1)

    @staticmethod
    def _asks_true(expr: Compare) -> bool:
        """Whether such a comparison asks the value to be true."""
        return isinstance(expr.right, Const) and bool(expr.right.value) == (expr.op == "==")

    def _with_dtype(self, expr: Expr, other: Expr) -> Expr:
        """A dtype's name beside a dtype as the enumerator."""
        if self.kind(other) == "dtype" and isinstance(expr, Const):
            name = str(expr.value)
            if name not in DTYPES:
                raise InternalError(f"'{name}' is no dtype")
            return Symbol(f"enumerator {dtype_member(name)}")
        return expr

    def _select(self, expr: Select) -> tuple[str, int]:
        parts = [self._render(child) for child in expr.children()]
        texts = [f"({text})" if level <= 1 else text for text, level in parts]
        sides = [self.kind(expr.then), self.kind(expr.otherwise)]
        if sides == ["int", "int"]:
            texts[1:] = [
                f"int64_t({text})" if isinstance(side, Const) else text
                for text, side in zip(texts[1:], (expr.then, expr.otherwise), strict=True)
            ]
        return f"{texts[0]} ? {texts[1]} : {texts[2]}", 0

    def _fold(self, expr: Fold) -> tuple[str, int]:
        if expr.extent is None:
            raise InternalError(f"{expr} reads a whole tensor, which the host does not have")
        name = {"min": "MinOver", "max": "MaxOver", "sum": "SumOver"}[expr.op]
        kind = "double" if self.kind(expr.body) == "float" else "int64_t"
        body = f"[&](int64_t {index_name(expr.index)}) -> {kind} {{ return {self.text(expr.body)}; }}"
        return f"{name}({self.text(expr.extent)}, {body})", ATOM

    def symbol(self, name: str) -> str:
        """A symbol's place in the call or among the sizes."""
        if name.startswith("enumerator "):
            return f"DataType::{name.partition(' ')[2]}"
        kind, argument = asks(name)
        if kind:
            if kind == LONGEST:
                return f"sizes.longest_{self._names.argument(argument).name}"
            if kind == LAYOUT:
                return f"sizes.{self._names.argument(argument).name}_layout"
            item = self._names.argument(argument)
            if kind == SPLIT and item.tensor is not None and item.tensor.sequence_of:
                return f"(call.{item.name}_list.entries.size() != {item.tensor.sequence_of})"
            if kind == SPLIT:
                return f"call.{item.name}_list.list" if item.listed else "false"
            member = {GIVEN: "given", DTYPE: "dtype"}[kind]
            return f"call.{item.name}.{member}"
        if name in self._params:
            return f"call.{self._params[name][0]}"
        if name in self._names.dims:
            return f"sizes.{self._names.dims[name]}"
        return index_name(name)

    def source(self, name: str) -> str:
        """A tensor whose elements are read, or the rows of the tensors in a list."""
        if tensor := listed_rows(name):
            return f"sizes.{rows_member(self._names.argument(tensor))}"
        return f"call.{self._names.argument(name).name}"

    def param(self, name: str) -> ParamSpec:
        """The spec of a parameter."""
        return self._params[name][1]


def listed_rows(name: str) -> str:
    """The list of whose tensors ``rows(key)`` tells the rows; nothing for other names."""
    kind, tensor = asks(name)
    return tensor if kind == "rows" else ""


def rows_member(item: Argument) -> str:
    """Among the sizes, the rows of the tensors in a list."""
    return f"{item.name}_rows"


def index_name(name: str) -> str:
    """The identifier of an index, which is no size and no argument."""
    return identifier(name)
