"""Which loops surely run: a small prover for linear integer facts about a tree's scalars.

On the way down the tree it collects what definitions, loop ranges and conditions say about the scalars, as
linear inequalities ``sum of coefficient * scalar >= 0``, and proves ``end - begin >= 1`` by
Fourier-Motzkin elimination (Dantzig and Eaves, 1973) of the negation. Quotients, remainders, minima and
maxima become fresh scalars with their bounds (a minimum of two positive scalars is positive); what is not
linear becomes a scalar nothing is known of. A loop that is found runs; one that is not may run as well.
What cannot be proved here because it is a fact about tiling fields, a loop may declare (``For.runs``); the
tile interpreter checks that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from attndsl.expr import Binary, Compare, Const, Expr, Symbol
from attndsl.expr.conditions import conjuncts
from attndsl.tile.statements import Collect, Either, For, If, Let, Seq, Statement

_Linear = dict[str, int]  # scalar to coefficient; "" is the constant term
_Cluster = tuple[frozenset[str], tuple[_Linear, ...]]  # facts that share scalars, and their scalars
_MOST_FACTS = 400  # where elimination grows beyond this, nothing is proved


def surely_run(tree: Statement) -> frozenset[For]:
    """The loops of a tree that run at least once wherever they are reached, proved or declared."""
    declared = (item for item in tree.walk() if isinstance(item, For) and item.runs)
    return proved_to_run(tree).union(declared)


def surely_run_too(tree: Statement, original: Statement, sure: frozenset[For]) -> frozenset[For]:
    """The loops of a tree that surely run; it differs from ``original`` in events and barriers alone."""
    before, after = ([item for item in each.walk() if isinstance(item, For)] for each in (original, tree))
    return frozenset(new for old, new in zip(before, after, strict=True) if old in sure)


def proved_to_run(tree: Statement) -> frozenset[For]:
    """The loops of a tree for which it follows from the tree that they run at least once."""
    prover = _Prover()
    prover.visit(tree, _Scope())
    return frozenset(prover.found)


@dataclass
class _Scope:
    """Scalars by name as the elimination names them, and what is known of them.

    ``facts``: linear expressions that are >= 0; those of different clusters have no scalar in common.
    """

    names: dict[str, str] = field(default_factory=dict)
    facts: tuple[_Cluster, ...] = ()

    def knowing(self, *facts: _Linear) -> _Scope:
        clusters = self.facts
        for fact in facts:
            scalars = _scalars(fact)
            near = [each for each in clusters if not scalars.isdisjoint(each[0])]
            rest = (each for each in clusters if scalars.isdisjoint(each[0]))
            joined = scalars.union(*(names for names, _ in near)), (*chain(*(each for _, each in near)), fact)
            clusters = (*rest, joined)
        return _Scope(self.names, clusters)

    def binding(self, name: str, fresh: str) -> _Scope:
        return _Scope({**self.names, name: fresh}, self.facts)


class _Prover:
    def __init__(self) -> None:
        self.found: list[For] = []
        self._count = 0

    def visit(self, statement: Statement, scope: _Scope) -> _Scope:
        """The scope after the statement, for its later siblings."""
        if isinstance(statement, Let):
            value, scope = self._linear(statement.value, scope)
            fresh = self._fresh(statement.symbol.name)
            return scope.binding(statement.symbol.name, fresh).knowing(*_equal({fresh: 1}, value))
        if isinstance(statement, Collect):
            fresh = self._fresh(statement.count.name)
            most = _minus({"": statement.array.capacity}, {fresh: 1})
            return scope.binding(statement.count.name, fresh).knowing({fresh: 1}, most)
        if isinstance(statement, Seq):
            inner = scope
            for child in statement.body:
                inner = self.visit(child, inner)
        elif isinstance(statement, For):
            self._loop(statement, scope)
        elif isinstance(statement, If):
            self.visit(statement.then, self._assume(statement.condition, scope))
            if statement.otherwise is not None:
                self.visit(statement.otherwise, scope)
            if isinstance(statement, Either):  # numbers of their own, of which nothing is known
                for symbol in statement.scalars:
                    scope = scope.binding(symbol.name, self._fresh(symbol.name))
        else:
            for child in statement.children():
                self.visit(child, scope)
        return scope

    def _loop(self, loop: For, scope: _Scope) -> None:
        begin, scope = self._linear(loop.begin, scope)
        end, scope = self._linear(loop.end, scope)
        if _implied(_minus(_minus(end, begin), {"": 1}), scope.facts):
            self.found.append(loop)
        fresh = self._fresh(loop.var.name)
        inside = scope.binding(loop.var.name, fresh)
        step, inside = self._linear(loop.step, inside)
        if set(step) <= {""} and step.get("", 0) > 0:
            bounds = _minus({fresh: 1}, begin), _minus(_minus(end, {fresh: 1}), {"": 1})
            inside = inside.knowing(*bounds)
        self.visit(loop.body, inside)

    def _assume(self, condition: Expr, scope: _Scope) -> _Scope:
        """The scope with what follows from the comparisons that all hold."""
        for part in conjuncts(condition):
            if isinstance(part, Compare):
                scope = self._knowing(part, scope)
        return scope

    def _knowing(self, condition: Compare, scope: _Scope) -> _Scope:
        left, scope = self._linear(condition.left, scope)
        right, scope = self._linear(condition.right, scope)
        one = {"": 1}
        facts = {
            "<": (_minus(_minus(right, left), one),),
            "<=": (_minus(right, left),),
            ">": (_minus(_minus(left, right), one),),
            ">=": (_minus(left, right),),
            "==": _equal(left, right),
        }
        return scope.knowing(*facts.get(condition.op, ()))

    def _linear(self, expr: Expr, scope: _Scope) -> tuple[_Linear, _Scope]:
        """The expression, and the scope with what is known of the scalars it introduces."""
        if isinstance(expr, Const) and isinstance(expr.value, int):
            return {"": int(expr.value)}, scope
        if isinstance(expr, Symbol):
            return {scope.names.get(expr.name, expr.name): 1}, scope
        if isinstance(expr, Binary):
            a, scope = self._linear(expr.left, scope)
            b, scope = self._linear(expr.right, scope)
            return self._binary(expr.op, a, b, scope)
        return {self._fresh("?"): 1}, scope

    def _binary(self, op: str, a: _Linear, b: _Linear, scope: _Scope) -> tuple[_Linear, _Scope]:
        if op in ("+", "-"):
            return (_plus(a, b) if op == "+" else _minus(a, b)), scope
        number = b.get("", 0) if set(b) <= {""} else None
        if op == "*":
            if number is None and set(a) <= {""}:
                number, a = a.get("", 0), b
            if number is not None:
                return _times(a, number), scope
        fresh = self._fresh(op)
        value = {fresh: 1}
        if op in ("min", "max"):
            sign = 1 if op == "min" else -1
            bounds = [_times(_minus(side, value), sign) for side in (a, b)]
            if op == "min" and all(_implied(_minus(side, {"": 1}), scope.facts) for side in (a, b)):
                bounds.append(_minus(value, {"": 1}))
            return value, scope.knowing(*bounds)
        if number is not None and number > 0 and op in ("//", "ceil_div", "%", "round_up"):
            return value, scope.knowing(*_division(op, a, value, number))
        return value, scope

    def _fresh(self, name: str) -> str:
        self._count += 1
        return f"{name}#{self._count}"


def _plus(a: _Linear, b: _Linear) -> _Linear:
    total = {key: a.get(key, 0) + b.get(key, 0) for key in (*a, *b)}
    return {key: value for key, value in total.items() if value}


def _times(a: _Linear, factor: int) -> _Linear:
    return {key: value * factor for key, value in a.items()} if factor else {}


def _minus(a: _Linear, b: _Linear) -> _Linear:
    return _plus(a, _times(b, -1))


def _equal(a: _Linear, b: _Linear) -> tuple[_Linear, _Linear]:
    return _minus(a, b), _minus(b, a)


def _division(op: str, a: _Linear, value: _Linear, number: int) -> tuple[_Linear, _Linear]:
    """What ``value = a op number`` says, for a positive number."""
    most = {"": number - 1}
    if op == "%":
        return value, _minus(most, value)
    whole = value if op == "round_up" else _times(value, number)
    over = _minus(a, whole) if op == "//" else _minus(whole, a)
    return over, _minus(most, over)


def _implied(goal: _Linear, facts: tuple[_Cluster, ...]) -> bool:
    """Whether ``goal >= 0`` follows from the facts."""
    scalars = _scalars(goal)
    near = (each for names, each in facts if not scalars.isdisjoint(names))
    about = [_minus({"": -1}, goal), *chain(*near)]
    place = {name: number for number, name in enumerate(sorted({"", *chain.from_iterable(about)}))}
    return _contradictory(
        tuple(tuple(sorted((place[name], factor) for name, factor in fact.items())) for fact in about)
    )


_Numbered = dict[int, int]  # a linear expression whose scalars have numbers; 0 is the constant term


@lru_cache(maxsize=4096)
def _contradictory(given: tuple[tuple[tuple[int, int], ...], ...]) -> bool:
    """Whether no assignment satisfies all facts, by eliminating one scalar after the other.

    Scalars are numbers in the order of their names. Both cores of a kernel, and kernels that differ in
    anything else, ask about the same loops.
    """
    facts: list[_Numbered] = [dict(fact) for fact in given]
    while True:
        lower, upper = dict[int, int](), dict[int, int]()  # how many facts bound each scalar in either way
        for fact in facts:
            for name, factor in fact.items():
                if name:
                    signs = lower if factor > 0 else upper
                    signs[name] = signs.get(name, 0) + 1
            if len(fact) == 1 and fact.get(0, 0) < 0:
                return True
        free = lower.keys() ^ upper.keys()
        if free:  # a scalar that is bounded on one side alone suits every fact about it
            facts = [fact for fact in facts if free.isdisjoint(fact)]
            continue
        if not lower or len(facts) > _MOST_FACTS:
            return False
        name = min(sorted(lower), key=lambda name: lower[name] * upper[name])
        above = [fact for fact in facts if fact.get(name, 0) < 0]
        below = [fact for fact in facts if fact.get(name, 0) > 0]
        rest = [fact for fact in facts if name not in fact]
        made = [_combined(low, -high[name], high, low[name]) for low in below for high in above]
        facts = list({tuple(sorted(fact.items())): fact for fact in (*rest, *made)}.values())


def _combined(a: _Numbered, times: int, b: _Numbered, by: int) -> _Numbered:
    """``times * a + by * b``."""
    total = {name: times * factor for name, factor in a.items()}
    for name, factor in b.items():
        total[name] = total.get(name, 0) + by * factor
    return {name: factor for name, factor in total.items() if factor}


def _scalars(fact: _Linear) -> frozenset[str]:
    return frozenset(name for name in fact if name)
