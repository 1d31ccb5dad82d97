"""Proofs about symbolic scalars: ranges under stated facts, divisibility, equality of two spellings.

Interval arithmetic knows nothing of how sizes go together. Here sympy brings sums and products into normal
form, and a product of sizes is bounded by what is stated of products, such as the elements of a tensor:
``B * N`` by those of ``B * N * D``. sympy is imported on first use. Proofs are made once a kernel, by whoever
shows or checks them; a compilation does not wait for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from attndsl.expr.conditions import comparisons
from attndsl.expr.expression import Expr
from attndsl.expr.interval_rules import ANYTHING, Range
from attndsl.expr.intervals import is_integral
from attndsl.expr.nodes import Binary, Compare, Const, Load, Logic, Select, Symbol
from attndsl.expr.operators import OPERATORS
from attndsl.expr.reductions import Fold

_LINEAR = ("+", "-", "*")
_DIVISIONS = ("/", "//", "%", "ceil_div", "round_up", "floor_div", "floor_mod")
_DEPTH = 5
"""How often factors are rewritten in search of a bound."""
_Monomial = dict[Expr, int]
"""A product: the power of each factor."""


def to_sympy(expr: Expr) -> Any:
    """The expression in sympy, symbols and elements of tensors as non-negative integers.

    Raises:
        TypeError: sympy has nothing for a node of this kind.
    """
    import sympy

    if isinstance(expr, Const):
        return sympy.sympify(expr.value)
    if isinstance(expr, Symbol):
        return sympy.Symbol(expr.name, integer=True, nonnegative=True)
    if isinstance(expr, Load):
        return sympy.Symbol(expr.text().replace(" ", ""), integer=True, nonnegative=True)
    parts = [to_sympy(child) for child in expr.children()]
    if isinstance(expr, Select):
        return sympy.Piecewise((parts[1], parts[0]), (parts[2], True))
    if not isinstance(expr, Binary | Compare | Logic):
        raise TypeError(f"sympy has no {type(expr).__name__}: {expr}")
    return OPERATORS[expr.op].sympy(sympy, *parts)


@lru_cache(maxsize=4096)
def equal(first: Expr, second: Expr) -> bool:
    """Whether two spellings are proved to have the same value, whatever their symbols (integers >= 0) are."""
    import sympy

    if first.same(second):
        return True
    left, right = to_sympy(first), to_sympy(second)
    if isinstance(first, Compare | Logic) and isinstance(second, Compare | Logic):
        return bool(sympy.simplify(sympy.Xor(left, right)) == sympy.false)
    return bool(sympy.simplify(left - right) == 0)


@dataclass(frozen=True)
class Facts:
    """What is known before any value is.

    Attributes:
        ranges: of expressions, such as symbols, products of sizes, elements of tensors.
        sizes: of products of sizes, the most that they are even where a factor 0 counts as 1.
        multiples: pairs of a number and what divides it.
        definitions: of symbols, by name: what they stand for.
        floats: names of the symbols that are no integers.
    """

    ranges: Mapping[Expr, Range] = field(default_factory=dict)
    sizes: Mapping[Expr, int] = field(default_factory=dict)
    multiples: frozenset[tuple[Expr, Expr]] = frozenset()
    definitions: Mapping[str, Expr] = field(default_factory=dict)
    floats: frozenset[str] = frozenset()

    def given(self, condition: Expr, holds: bool = True) -> Facts:
        """These facts and what follows from a condition that holds (or does not)."""
        known = self
        for part in comparisons(condition, holds):
            known = known._with(part)
        return known

    def _with(self, part: Compare) -> Facts:
        left, right = part.left, part.right
        if isinstance(left, Const):
            left, right, op = right, left, OPERATORS[part.op].mirrored
        else:
            op = part.op
        known = self
        if isinstance(left, Binary) and left.op == "%":  # nothing is a multiple of 0
            known = known.bounded(left.right, 1, math.inf)
            if op == "==" and right.same(Const(0)):
                known = replace(known, multiples=known.multiples | {(left.left, left.right)})
        if not isinstance(right, Const) or isinstance(right.value, str | bool):
            return known
        value = right.value
        strict = int(isinstance(value, int) and is_integral(left, self.floats))
        if op == "!=":
            low, high = known.ranges.get(left, ANYTHING)
            return known.bounded(left, low + strict * (low == value), high - strict * (high == value))
        low = {">": value + strict, ">=": value, "==": value}.get(op, -math.inf)
        high = {"<": value - strict, "<=": value, "==": value}.get(op, math.inf)
        return known.bounded(left, low, high)

    def bounded(self, expr: Expr, low: Any, high: Any) -> Facts:
        """These facts, and that an expression of integers lies within ``low`` and ``high``."""
        least, most = self.ranges.get(expr, ANYTHING)
        return replace(self, ranges={**self.ranges, expr: (max(least, low), min(most, high))})


class Prover:
    """Proves ranges under facts; remembers what it has found.

    There are two strengths: by intervals alone, and with what is stated of products. The second one asks the
    first whether factors are >= 1, so that no proof waits for itself.

    Choices stand within choices, whose conditions add the same facts over and over: under equal facts one
    prover answers.
    """

    def __init__(self, facts: Facts, outermost: Prover | None = None) -> None:
        self.facts = facts
        self._outermost = outermost or self
        self._provers: dict[Any, Prover] = outermost._provers if outermost else {_added(facts, facts): self}
        self._conditions: dict[tuple[Expr, bool], Prover] = {}
        self._found: dict[tuple[Expr, bool], Range] = {}
        self._bounds: dict[tuple[frozenset[tuple[Expr, int]], int], Any] = {}
        stated = [(expr, most, False) for expr, (_, most) in facts.ranges.items() if most < math.inf]
        self._products = [
            (powers, most, padded)
            for expr, most, padded in (*stated, *((expr, most, True) for expr, most in facts.sizes.items()))
            if not isinstance(expr, Symbol) and (powers := _as_product(self._inlined(expr))) is not None
        ]

    def range(self, expr: Expr, products: bool = True) -> Range:
        """Between which numbers the value lies; ends that are not known are infinite.

        ``products``: whether what is stated of products counts, too.
        """
        key = (expr, products)
        if key not in self._found:
            low, high = self.facts.ranges.get(expr, ANYTHING)
            least, most = self._structural(expr, products)
            self._found[key] = (max(low, least), min(high, most))
        return self._found[key]

    def define(self, symbol: Symbol, value: Expr) -> None:
        """A name for a value from here on. Nothing asked before may speak of it: all that was found holds."""
        bounds = self.range(value)
        for prover in self._provers.values():
            facts = prover.facts.bounded(symbol, *bounds)
            prover.facts = replace(facts, definitions={**facts.definitions, symbol.name: value})

    def divisor(self, expr: Expr) -> int:
        """The largest integer that is proved to divide the value; 0 of the number 0."""
        if isinstance(expr, Const):
            return abs(expr.value) if type(expr.value) is int else 1
        if isinstance(expr, Symbol) and expr.name in self.facts.definitions:
            return self.divisor(self.facts.definitions[expr.name])
        if isinstance(expr, Select):
            return math.gcd(self.divisor(expr.then), self.divisor(expr.otherwise))
        if isinstance(expr, Binary) and expr.op in ("+", "-", "min", "max"):
            return math.gcd(self.divisor(expr.left), self.divisor(expr.right))
        if isinstance(expr, Binary) and expr.op == "*":
            return self.divisor(expr.left) * self.divisor(expr.right)
        if isinstance(expr, Binary) and expr.op == "round_up":
            return self.divisor(expr.right)
        stated = (self.divisor(by) for of, by in self.facts.multiples if of.same(expr))
        return math.lcm(1, *stated)

    def _structural(self, expr: Expr, products: bool) -> Range:
        if isinstance(expr, Const):
            return ANYTHING if isinstance(expr.value, str) else (expr.value, expr.value)
        if isinstance(expr, Symbol):
            return self._symbol(expr, products)
        if isinstance(expr, Select):
            always, ever = self.range(expr.condition, products)
            sides = [
                self._given(expr.condition, holds).range(side, products)
                for side, holds, may_be in ((expr.then, True, ever), (expr.otherwise, False, not always))
                if may_be
            ]
            return min(side[0] for side in sides), max(side[1] for side in sides)
        if isinstance(expr, Fold):
            low, high = self.range(expr.body, products)
            return (min(low, 0), max(high, 0)) if expr.op != "sum" else ANYTHING
        if isinstance(expr, Compare | Logic):
            return self._truth(expr, products)
        return self._arithmetic(expr, products) if isinstance(expr, Binary) else ANYTHING

    def _given(self, condition: Expr, holds: bool) -> Prover:
        """The prover where a condition holds (or does not), too."""
        key = (condition, holds)
        if key not in self._conditions:
            facts = self.facts.given(condition, holds)
            added = _added(facts, self._outermost.facts)
            if added not in self._provers:
                self._provers[added] = Prover(facts, self._outermost)
            self._conditions[key] = self._provers[added]
        return self._conditions[key]

    def _truth(self, expr: Compare | Logic, products: bool) -> Range:
        """Whether a condition always holds and whether it ever does."""
        if any(isinstance(side, Const) and isinstance(side.value, str) for side in expr.children()):
            return False, True
        left, right = self.range(expr.left, products), self.range(expr.right, products)
        return OPERATORS[expr.op].interval(*left, *right)

    def _symbol(self, symbol: Symbol, products: bool) -> Range:
        """Its definition's range; as a product of one factor it is bounded by the products that have it."""
        definition = self.facts.definitions.get(symbol.name)
        low, high = ANYTHING if definition is None else self.range(definition, products)
        if products and self._lowest(symbol) >= 0:
            high = min(high, self._most({symbol: 1}))
        return low, high

    def _arithmetic(self, expr: Binary, products: bool) -> Range:
        left, right = self.range(expr.left, products), self.range(expr.right, products)
        low, high = OPERATORS[expr.op].interval(*left, *right)
        if expr.op in ("//", "floor_div") and self._divides(expr.right, expr.left) and left[0] >= 1:
            low = max(low, 1)
        if expr.op not in _LINEAR or not products:
            return low, high
        ranges = [self._term(number, powers) for number, powers in _normal_form(self._inlined(expr))]
        return max(low, sum(each[0] for each in ranges)), min(high, sum(each[1] for each in ranges))

    def _divides(self, divisor: Expr, number: Expr) -> bool:
        number, divisor = self._inlined(number), self._inlined(divisor)
        pairs = ((self._inlined(of), self._inlined(by)) for of, by in self.facts.multiples)
        return number.same(divisor) or any(of.same(number) and by.same(divisor) for of, by in pairs)

    def _inlined(self, expr: Expr) -> Expr:
        """The expression with symbols that are defined as sums and products written out."""
        names = expr.symbols() & self.facts.definitions.keys()
        found = {name: value for name in names if _is_polynomial(value := self.facts.definitions[name])}
        return self._inlined(expr.substitute(found)) if found else expr

    def _term(self, number: Any, powers: _Monomial) -> Range:
        lows = {part: self._lowest(part) for part in powers}
        if any(low < 0 for low in lows.values()):
            found: Range = (number, number)
            for part, power in powers.items():
                for _ in range(power):
                    found = OPERATORS["*"].interval(*found, *self.range(part, False))
            return found
        least = math.prod(low ** powers[part] for part, low in lows.items())
        return OPERATORS["*"].interval(number, number, least, self._most(powers))

    def _most(self, powers: _Monomial, depth: int = _DEPTH) -> Any:
        """The most that a product of factors >= 0 can be."""
        key = (frozenset(powers.items()), depth)
        if key not in self._bounds:
            bounds = [self._by_factors(powers), *self._by_products(powers, depth)]
            if depth:
                bounds += (self._by_rewriting(powers, part, depth - 1) for part in powers)
            self._bounds[key] = min(bounds)
        return self._bounds[key]

    def _by_factors(self, powers: _Monomial) -> Any:
        best: Any = 1
        for part, power in powers.items():
            high = self.range(part, not isinstance(part, Symbol))[1] ** power
            best = OPERATORS["*"].interval(best, best, high, high)[1]
        return best

    def _by_products(self, powers: _Monomial, depth: int) -> Iterator[Any]:
        """Bounds by stated products that have factors in common, and others that are >= 1."""
        for stated, most, padded in self._products:
            common = {part: min(power, powers[part]) for part, power in stated.items() if part in powers}
            others = {} if padded or not common else _without(stated, common)
            lows = [self._lowest(part) ** power for part, power in others.items()]
            if common and all(low >= 1 for low in lows):
                rest = _without(powers, common)
                yield most // math.prod(lows) * (self._most(rest, depth) if rest else 1)

    def _by_rewriting(self, powers: _Monomial, part: Expr, depth: int) -> Any:
        """A bound by what a factor is made of: ``t * max(1, min(c // t, n)) <= max(t, c)`` and the like."""
        definition = self.facts.definitions.get(part.name) if isinstance(part, Symbol) else part
        rest = _without(powers, {part: 1})
        if isinstance(definition, Select):
            return max(self._times(rest, side, depth) for side in (definition.then, definition.otherwise))
        if not isinstance(definition, Binary):
            return math.inf
        left, right = self._inlined(definition.left), self._inlined(definition.right)
        if definition.op in ("min", "max"):
            join = min if definition.op == "min" else max
            return join(self._times(rest, left, depth), self._times(rest, right, depth))
        if definition.op not in ("//", "floor_div", "ceil_div"):
            return math.inf
        if self._lowest(left) < 0 or self._lowest(right) < 1:
            return math.inf
        if definition.op != "ceil_div":  # t * (c // d) <= c, where t <= d
            larger = isinstance(right, Binary) and right.op == "max"
            side = next((each for each in (right, *right.children() * larger) if each in rest), None)
            rest = rest if side is None else _without(rest, {side: 1})
        return self._times(rest, left, depth)

    def _times(self, rest: _Monomial, value: Expr, depth: int) -> Any:
        """The most that ``value`` times a product can be; infinite where it is not known to be >= 0."""
        if self._lowest(value) < 0:
            return math.inf
        whole: Any = 0
        for number, powers in _normal_form(self._inlined(value)):
            if number < 0 or any(self._lowest(part) < 0 for part in powers):
                return math.inf
            joined = {part: rest.get(part, 0) + powers.get(part, 0) for part in {**rest, **powers}}
            whole += number * self._most(joined, depth) if number else 0
        return whole

    def _lowest(self, part: Expr) -> Any:
        return self.range(part, False)[0]


def _added(facts: Facts, known: Facts) -> tuple[frozenset[tuple[Expr, Range]], frozenset[tuple[Expr, Expr]]]:
    """What conditions have added to the facts known without them."""
    new = (item for item in facts.ranges.items() if known.ranges.get(item[0]) != item[1])
    return frozenset(new), facts.multiples


def common_factors(products: Sequence[Expr]) -> Expr:
    """The product of the symbols that all these products have as factors; 1 where one is no product."""
    found = [_as_product(each) or {} for each in products]
    powers = {part: min(each.get(part, 0) for each in found) for part in found[0]} if found else {}
    return math.prod((part for part, power in powers.items() for _ in range(power)), start=Const(1))


def _without(powers: _Monomial, others: Mapping[Expr, int]) -> _Monomial:
    left = {part: power - others.get(part, 0) for part, power in powers.items()}
    return {part: power for part, power in left.items() if power}


def divisors(expr: Expr) -> Iterator[Expr]:
    """What an expression divides by."""
    return (node.right for node in expr.nodes() if isinstance(node, Binary) and node.op in _DIVISIONS)


def _is_polynomial(expr: Expr) -> bool:
    if isinstance(expr, Binary):
        return expr.op in _LINEAR and all(_is_polynomial(child) for child in expr.children())
    return isinstance(expr, Symbol) or (isinstance(expr, Const) and type(expr.value) is int)


def _as_product(expr: Expr) -> _Monomial | None:
    """The powers of a product of symbols without a number; None for anything else."""
    if not _is_polynomial(expr):
        return None
    terms = _normal_form(expr)
    return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 and terms[0][1] else None


@lru_cache(maxsize=4096)
def _normal_form(expr: Expr) -> tuple[tuple[Any, _Monomial], ...]:
    """The expression as a sum of products: of each the number, and the powers of its other factors."""
    import sympy

    parts: dict[Expr, Any] = {}

    def made(node: Expr) -> Any:
        if isinstance(node, Binary) and node.op in _LINEAR:
            return OPERATORS[node.op].sympy(sympy, *(made(child) for child in node.children()))
        if isinstance(node, Const) and type(node.value) is int:
            return sympy.Integer(node.value)
        return parts.setdefault(node, sympy.Symbol(f"x{len(parts)}"))

    whole = made(expr)
    if not parts:
        return ((int(whole), {}),)
    poly = sympy.Poly(whole, *parts.values())
    return tuple(
        (int(number), {part: power for part, power in zip(parts, powers, strict=True) if power})
        for powers, number in poly.terms()
    )
