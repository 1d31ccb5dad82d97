"""Symbolic scalars: one expression, the same value in Python, in C++ and in sympy.

The random expressions come with a second spelling, Python text with every operation parenthesised,
which Python itself evaluates: that is the reference.
"""

from __future__ import annotations

import operator
import random
import subprocess
from dataclasses import dataclass

import numpy as np
import pytest

from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.emulator.errors import CompilerMissing
from attndsl.emulator.toolchain import require_compiler, run_compiler
from attndsl.expr import (
    Binary,
    Const,
    Expr,
    Load,
    Logic,
    Named,
    Scope,
    Symbol,
    TakesScalars,
    as_expr,
    ceil_div,
    maximum,
    minimum,
    product,
    round_up,
    select,
)
from attndsl.expr.proofs import to_sympy

A, B, C, D = (Symbol(name) for name in "abcd")
TABLE = np.array([5, 0, 7, 123, 64, 1, 9], np.int64)
_LIMIT = 2**62


@dataclass(frozen=True)
class Pair:
    """An expression and its second spelling."""

    expr: Expr
    text: str


class Maker:
    """Random expressions. What stands under ``//`` and ``%`` is >= 0, where Python and C++ agree."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def natural(self, depth: int) -> Pair:
        """An expression whose value is >= 0."""
        if depth == 0 or self.random.random() < 0.1:
            if self.random.random() < 0.3:
                value = self.random.choice([0, 1, 2, 7, 16, 512])
                return Pair(Const(value), str(value))
            name = self.random.choice("abcd")
            return Pair(Symbol(name), name)
        kind = self.random.choice(["+", "+", "*", "//", "%", "min", "max", "select", "load", "clamped"])
        x, y = self.natural(depth - 1), self.natural(depth - 1)
        match kind:
            case "+":
                return Pair(x.expr + y.expr, f"({x.text} + {y.text})")
            case "*":
                return Pair(x.expr * y.expr, f"({x.text} * {y.text})")
            case "//":
                return Pair(x.expr // (y.expr + 1), f"({x.text} // ({y.text} + 1))")
            case "%":
                return Pair(x.expr % (y.expr + 1), f"({x.text} % ({y.text} + 1))")
            case "min":
                return Pair(minimum(x.expr, y.expr), f"min({x.text}, {y.text})")
            case "max":
                return Pair(maximum(x.expr, y.expr), f"max({x.text}, {y.text})")
            case "load":
                return Pair(Load("table", x.expr % 7), f"int(table[({x.text} % 7)])")
            case "clamped":
                return Pair(maximum(x.expr - y.expr, 0), f"max(({x.text} - {y.text}), 0)")
        test = self.condition(depth - 1)
        return Pair(select(test.expr, x.expr, y.expr), f"(({x.text}) if ({test.text}) else ({y.text}))")

    def signed(self, depth: int) -> Pair:
        """An expression of any sign."""
        if depth == 0 or self.random.random() < 0.2:
            return self.natural(depth)
        op = self.random.choice(["+", "-", "-", "*"])
        x, y = self.signed(depth - 1), self.signed(depth - 1)
        expr = {"+": x.expr + y.expr, "-": x.expr - y.expr, "*": x.expr * y.expr}[op]
        return Pair(expr, f"({x.text} {op} {y.text})")

    def condition(self, depth: int) -> Pair:
        """A condition."""
        if depth > 0 and self.random.random() < 0.4:
            x, y = self.condition(depth - 1), self.condition(depth - 1)
            if self.random.random() < 0.5:
                return Pair(x.expr & y.expr, f"({x.text} and {y.text})")
            return Pair(x.expr | y.expr, f"({x.text} or {y.text})")
        x, y = self.signed(max(depth - 1, 0)), self.signed(max(depth - 1, 0))
        op = self.random.choice(["==", "!=", "<", "<=", ">", ">="])
        made = {
            "==": x.expr == y.expr,
            "!=": x.expr != y.expr,
            "<": x.expr < y.expr,
            "<=": x.expr <= y.expr,
            ">": x.expr > y.expr,
            ">=": x.expr >= y.expr,
        }
        return Pair(made[op], f"({x.text} {op} {y.text})")

    def any(self) -> Pair:
        """An expression of any kind."""
        return self.random.choice([self.natural, self.signed, self.condition])(self.random.randint(1, 4))

    def env(self) -> dict[str, object]:
        """Values of the symbols."""
        return {name: self.random.choice([0, 1, 2, 15, 16, 17, 100, 511]) for name in "abcd"}


def fits(expr: Expr, env: dict[str, object]) -> bool:
    """Whether no part leaves int64, where C++ would have no defined value."""
    return all(abs(int(part.evaluate(env))) < _LIMIT for part in expr.walk())


def samples(seed: int, count: int) -> list[tuple[Pair, dict[str, object]]]:
    maker, found = Maker(seed), []
    while len(found) < count:
        pair, env = maker.any(), maker.env()
        if fits(pair.expr, {**env, "table": TABLE}):
            found.append((pair, env))
    return found


def reference(pair: Pair, env: dict[str, object]) -> int:
    return int(eval(pair.text, {"min": min, "max": max, "int": int, "table": TABLE}, dict(env)))


@pytest.mark.parametrize("seed", range(4))
def test_evaluation_agrees_with_python(seed):
    for pair, env in samples(seed, 300):
        assert int(pair.expr.evaluate({**env, "table": TABLE})) == reference(pair, env), pair.text


def _program(cases: list[tuple[Pair, dict[str, object]]]) -> str:
    lines = [
        "#include <cstdint>",
        "#include <cstdio>",
        "static int64_t MinOf(int64_t a, int64_t b) { return a < b ? a : b; }",
        "static int64_t MaxOf(int64_t a, int64_t b) { return a > b ? a : b; }",
        "struct Table { int64_t GetValue(int64_t i) const { static const int64_t at[] = {"
        + ", ".join(map(str, TABLE))
        + "}; return at[i]; } };",
        "static const Table table{};",
        'static void Print(int64_t value) { std::printf("%lld\\n", static_cast<long long>(value)); }',
    ]
    for number, (pair, _) in enumerate(cases):
        lines.append(
            f"static int64_t f{number}(int64_t a, int64_t b, int64_t c, int64_t d) "
            f"{{ (void)a; (void)b; (void)c; (void)d; return {cxx_text(pair.expr)}; }}"
        )
    calls = [
        f"Print(f{number}({', '.join(str(env[name]) for name in 'abcd')}));"
        for number, (_, env) in enumerate(cases)
    ]
    return "\n".join([*lines, "int main() {", *calls, "}"])


@pytest.fixture
def compiler():
    try:
        return require_compiler()
    except CompilerMissing:
        pytest.skip("no C++ compiler")


def test_cxx_text_has_the_same_value(tmp_path, compiler):
    cases = samples(99, 400)
    source = tmp_path / "expressions.cpp"
    source.write_text(_program(cases))
    run_compiler(compiler, ["-std=c++17", "-O0", "-w", source, "-o", tmp_path / "run"], "the expressions")
    printed = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=True).stdout.split()
    assert len(printed) == len(cases)
    for (pair, env), value in zip(cases, printed, strict=True):
        assert int(value) == reference(pair, env), f"{pair.text} as {cxx_text(pair.expr)} under {env}"


def test_true_division_of_integers_in_cxx(tmp_path, compiler):
    quotient = cxx_text(A / B)
    source = tmp_path / "quotient.cpp"
    source.write_text(
        "#include <cstdint>\n#include <cstdio>\n"
        f'int main() {{ int64_t a = 7, b = 2; std::printf("%g", static_cast<double>({quotient})); }}\n'
    )
    run_compiler(compiler, ["-std=c++17", source, "-o", tmp_path / "run"], "the quotient")
    printed = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=True).stdout
    assert float(printed) == (A / B).evaluate({"a": 7, "b": 2}) == 3.5


def test_values_agree_with_sympy():
    checked = 0
    for pair, env in samples(7, 150):
        if len(list(pair.expr.walk())) > 24 or any(isinstance(node, Load) for node in pair.expr.walk()):
            continue
        made = to_sympy(pair.expr)
        replaced = made.subs({symbol: env[symbol.name] for symbol in made.free_symbols})
        assert int(bool(replaced) if replaced in (True, False) else replaced) == reference(pair, env), (
            pair.text
        )
        checked += 1
    assert checked > 60


def test_sympy_proves_a_fact_about_rounding():
    """What the hand-over is for: a symbol is a non-negative integer there, so this has no counterexample."""
    import sympy

    n = Symbol("n")
    up = to_sympy(round_up(n, 16))
    assert sympy.simplify(sympy.Mod(up, 16)) == 0
    assert sympy.simplify(sympy.Mod(up, 32)) != 0


@pytest.mark.parametrize(
    ("expr", "text", "cxx"),
    [
        (A + B * C, "a + b * c", "a + b * c"),
        ((A + B) * C, "(a + b) * c", "(a + b) * c"),
        (A - (B - C), "a - (b - c)", "a - (b - c)"),
        (A - B - C, "a - b - c", "a - b - c"),
        (A - (B + C), "a - (b + c)", "a - (b + c)"),
        (A + (B + C), "a + b + c", "a + b + c"),
        (A * (B // C), "a * (b // c)", "a * (b / c)"),
        (A * B // C, "a * b // c", "a * b / c"),
        (A // (B * C), "a // (b * c)", "a / (b * c)"),
        (A % B % C, "a % b % c", "a % b % c"),
        (A - (-3), "a - (-3)", "a - (-3)"),
        (as_expr(-3) * A, "(-3) * a", "(-3) * a"),
        (minimum(A, B + 1), "min(a, b + 1)", "MinOf(a, b + 1)"),
        ((A < B) & ((B < C) | (C == 3)), "a < b and (b < c or c == 3)", "a < b && (b < c || c == 3)"),
        (((A < B) & (B < C)) | (C == 3), "a < b and b < c or c == 3", "a < b && b < c || c == 3"),
        (select(A == 0, B, C) + 1, "(b if a == 0 else c) + 1", "(a == 0 ? b : c) + 1"),
        (select(A == 0, B, select(B == 0, C, D)), "b if a == 0 else c if b == 0 else d",
         "a == 0 ? b : (b == 0 ? c : d)"),
        (Load("lengths", minimum(A, B - 1), scope=Scope.GLOBAL), "lengths[min(a, b - 1)]",
         "lengthsGm_.GetValue(MinOf(a, b - 1))"),
        (Symbol("group", Scope.MEMBER) * Named(512, "tile"), "group * tile", "group_ * kTile"),
        (0 - Named(8.0, "limit"), "0 - limit", "-kLimit"),
        (A - (0 - Named(8, "limit")), "a - (0 - limit)", "a - (-kLimit)"),
        (as_expr(0.5), "0.5", "0.5f"),
        (as_expr(True), "True", "true"),
    ],
    ids=lambda value: str(value) if isinstance(value, Expr) else "",
)  # fmt: skip
def test_text(expr, text, cxx):
    assert expr.text() == text
    assert cxx_text(expr) == cxx


@pytest.mark.parametrize(
    ("folded", "to"),
    [
        (A + 0, A), (0 + A, A), (A - 0, A), (A * 1, A), (1 * A, A), (A // 1, A),
        (A * 0, Const(0)), (0 * A, Const(0)), (A % 1, Const(0)), (as_expr(0) // A, Const(0)),
        (as_expr(3) + 4, Const(7)), (minimum(A, A), A), (maximum(2, 5), Const(5)),
        (select(A == B, C, C), C), (select(as_expr(1) == 1, A, B), A),
        (ceil_div(17, 16), Const(2)), (round_up(17, 16), Const(32)), (product([]), Const(1)),
        ((A + B).substitute({"a": 3, "b": 4}), Const(7)),
    ],
    ids=str,
)  # fmt: skip
def test_folding(folded, to):
    assert folded.same(to)


@pytest.mark.parametrize(
    "kept",
    [A + 1, 1 + A, A - 1, 0 - A, A * 2, A // 2, A % 2, 1 // A, minimum(A, B), select(A == 0, B, C)],
    ids=str,
)
def test_what_is_not_neutral_is_not_folded(kept):
    assert not isinstance(kept, Const)
    assert not kept.same(A)


def test_equal_structure_is_equal_and_hashes_equal():
    for (first, _), (second, _) in zip(samples(3, 100), samples(3, 100), strict=True):
        assert first.expr.same(second.expr)
        assert hash(first.expr) == hash(second.expr)
    keys = {A * 2 + B: "x", minimum(A, B): "y"}
    assert keys[Symbol("a") * 2 + Symbol("b")] == "x"
    assert keys[minimum(Symbol("a"), Symbol("b"))] == "y"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (A + B, B + A), (A - B, A + B), (A * 2, A * 3), (Const(1), Const(True)), (Const(1), Const(1.0)),
        (A < B, A <= B), (Load("x", A), Load("y", A)), (select(A == 0, B, C), select(A == 0, C, B)),
        (minimum(A, B), maximum(A, B)),
    ],
    ids=str,
)  # fmt: skip
def test_near_twins_differ(first, second):
    assert not first.same(second)


def test_a_name_does_not_change_a_number():
    tile = Named(512, "tileKeys")
    assert tile.evaluate({}) == 512
    assert tile.same(Named(512, "tileKeys"))
    assert not tile.same(Const(512))  # an edit of the name's number changes one of the two
    assert not tile.same(Named(512, "blockLanes"))
    assert Symbol("x", Scope.MEMBER).same(Symbol("x"))


def test_comparisons_have_no_truth_value_but_equality_has():
    assert bool(Symbol("a") + 1 == A + 1)
    assert not bool(A + 1 == A + 2)
    assert bool(A != B)
    for expr in (A < B, A >= B, (A < B) & (B < C), A + 1):
        with pytest.raises(TypeError, match="has no value yet"):
            bool(expr)


def test_only_the_chosen_side_is_evaluated():
    guarded = select(B == 0, 0, A // B)
    assert guarded.evaluate({"a": 7, "b": 0}) == 0
    assert guarded.evaluate({"a": 7, "b": 2}) == 3
    short = Logic("and", B != 0, A // B > 2)
    assert not short.evaluate({"a": 7, "b": 0})


def test_symbols_and_substitution():
    for pair, env in samples(11, 100):
        assert pair.expr.symbols() <= set("abcd")
        shifted = pair.expr.substitute({name: Symbol(f"{name}2") + 1 for name in "abcd"})
        assert shifted.symbols().isdisjoint("abcd")
        moved = {f"{name}2": int(env[name]) - 1 for name in "abcd"}  # type: ignore[call-overload]
        assert int(shifted.evaluate({**moved, "table": TABLE})) == reference(pair, env)


def test_folding_gives_what_the_unfolded_expression_gives():
    for op in ("+", "-", "*", "//", "%", "min", "max"):
        for left in (0, 1, 5):
            for right in (1, 2, 5):
                raw = Binary(op, Const(left), Symbol("b"))
                folded = raw.substitute({"b": right})
                assert isinstance(folded, Const)
                assert folded.value == raw.evaluate({"b": right})


def test_only_numbers_strings_and_expressions_are_scalars():
    with pytest.raises(TypeError, match="a number or a symbolic expression is needed"):
        as_expr([1])
    for wrong in ([1], None, {}):
        for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
            with pytest.raises(TypeError, match="a number or a symbolic expression is needed"):
                operation(A, wrong)


def test_a_scalar_leaves_the_operation_to_what_takes_scalars():
    class Rows(TakesScalars):
        def __rmul__(self, left: Expr) -> str:
            return f"{left} * rows"

    assert A * Rows() == "a * rows"
    with pytest.raises(TypeError, match="unsupported operand"):
        A + Rows()  # type: ignore[operator]
