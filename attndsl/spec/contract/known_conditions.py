"""What is known where rows are read: whether a rule of a contract applies there, which number is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attndsl.expr import Compare, Const, Expr, Load, Select, Symbol
from attndsl.expr.argument_facts import GIVEN, argument_of, kind_of
from attndsl.expr.conditions import conjuncts
from attndsl.expr.operators import OPERATORS
from attndsl.expr.reductions import Fold
from attndsl.spec.contract.constraint import Constraint

Known = Mapping[Expr, bool]
"""Conditions of which it is known whether they hold."""


def known_of(when: Expr | None) -> Known:
    """What is known where ``when`` holds; None: nothing."""
    known: Known = {}
    for part in conjuncts(when):
        known = _with(known, part, True)
    return known


def applies(rule: Constraint, known: Known) -> bool:
    """Whether a rule holds where so much is known: all that it asks for does.

    What reads an argument that a call does not pass asks nothing of the call, so that a rule need not be told
    that what it reads is given.
    """
    read = {node.source for node in rule.condition.walk() if isinstance(node, Load)}
    return all(
        (isinstance(part, Symbol) and kind_of(part.name) == GIVEN and argument_of(part.name) in read)
        or _holds(part, known)
        for part in conjuncts(rule.when)
    )


def with_followed(known: Known, rules: Iterable[Constraint]) -> Known:
    """What is known, and what follows from it in every call that the rules let pass: where all that a rule
    asks for holds, it holds; where it fails, what is left of that fails."""
    plain = [rule for rule in rules if not (rule.over or rule.tensors() or rule.target or rule.warns)]
    while True:
        found = known
        for rule in plain:
            left = [part for part in conjuncts(rule.when) if not _holds(part, found)]
            if not left:
                for part in conjuncts(rule.condition):
                    found = {**_with({}, part, True), **found}
            elif len(left) == 1 and any(_truth(part, found) is False for part in conjuncts(rule.condition)):
                found = {**_with({}, left[0], False), **found}
        if found == known:
            return found
        known = found


def choices_of(number: Expr, known: Known) -> Iterator[tuple[Expr, Known]]:
    """The numbers between which a number chooses, with what is known where each is chosen."""
    choice = next((each for each in _outside_of_folds(number) if isinstance(each, Select)), None)
    if choice is None:
        yield number, known
        return
    for side, holds in ((choice.then, True), (choice.otherwise, False)):
        asked, as_asked = _said(choice.condition)
        if known.get(asked, holds is as_asked) is (holds is as_asked):
            yield from choices_of(_with_side(number, choice, side), _with(known, choice.condition, holds))


def _with_side(number: Expr, choice: Select, side: Expr) -> Expr:
    return number.mapped(lambda node: side if node is choice else None)


def _outside_of_folds(number: Expr) -> Iterator[Expr]:
    yield number
    if not isinstance(number, Fold):
        for child in number.children():
            yield from _outside_of_folds(child)


def _with(known: Known, condition: Expr, holds: bool) -> Known:
    """What is known, and whether a condition holds."""
    said, as_said = _said(condition)
    found = {**known, said: holds is as_said}
    if isinstance(said, Compare):
        found[Compare(OPERATORS[said.op].opposite, said.left, said.right)] = holds is not as_said
    return found


def _said(condition: Expr) -> tuple[Expr, bool]:
    """What a condition is about, and whether it says that this holds: ``x != 0`` and ``x == 0`` are about
    ``x``."""
    if isinstance(condition, Compare) and condition.right.same(Const(0)) and condition.op in ("==", "!="):
        said, holds = _said(condition.left)
        return said, holds is (condition.op == "!=")
    if isinstance(condition, Compare) and condition.right.same(Const(False)) and condition.op == "==":
        said, holds = _said(condition.left)
        return said, not holds
    return condition, True


def _holds(condition: Expr, known: Known) -> bool:
    """Whether a condition is known to hold."""
    return _truth(condition, known) is True


def _truth(condition: Expr, known: Known) -> bool | None:
    """Whether a condition holds; None where that is not known."""
    for settled in (_settled(condition, known), condition.substitute(_values(known))):
        said, holds = _said(settled)
        if not any(isinstance(node, Symbol | Load) for node in said.nodes()):
            return bool(said.evaluate({})) is holds
        if said in known:
            return known[said] is holds
    return None


def _values(known: Known) -> dict[str, Expr]:
    """The numbers that are known by a comparison with a literal."""
    return {
        said.left.name: said.right
        for said, holds in known.items()
        if holds and isinstance(said, Compare) and said.op == "=="
        if isinstance(said.left, Symbol) and isinstance(said.right, Const)
    }


def _settled(condition: Expr, known: Known) -> Expr:
    """A condition with the choices made of which the outcome is known."""

    def chosen(node: Expr) -> Expr | None:
        outcome = known.get(node.condition) if isinstance(node, Select) else None
        if not isinstance(node, Select) or outcome is None:
            return None
        return _settled(node.then if outcome else node.otherwise, known)

    return condition.mapped(chosen)
