"""The assertions of a schedule header: the limits of each option, the tightest bounds in one assertion.

A rule on a constant that follows from one option alone is a bound of that option: a reader who edits the
option finds it there, not behind two definitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm

from attndsl.codegen.names.members import constant
from attndsl.expr import Binary, Compare, Const, Expr, Named
from attndsl.expr.conditions import conjuncts
from attndsl.lowering.match.resolve_schedule import LIMITS_OF
from attndsl.lowering.match.schedule_options import Legal
from attndsl.tile.program import Constant, Requirement

_FLIPPED = {"<=": ">=", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Limit:
    """What one assertion states: conditions that all hold, and what they mean."""

    conditions: tuple[Expr, ...]
    meanings: tuple[str, ...]


def limits(
    requirements: Sequence[Requirement], constants: Sequence[Constant], legal: Mapping[str, Legal]
) -> Iterator[Limit]:
    """The requirements, those of one option alone together; of its bounds the tightest.

    Args:
        constants: those that conditions name. ``legal``: the legal values of the options.
    """
    known = {each.named.name: each for each in constants}
    together: dict[object, tuple[list[Expr], list[str]]] = {}
    for each in requirements:
        own = (_of_option(part, known, legal) for part in conjuncts(each.condition))
        for key, part in own:
            parts, meanings = together.setdefault(key or each, ([], []))
            parts.append(part)
            if each.meaning not in meanings:
                meanings.append(each.meaning)
    return (Limit(tuple(_tightest(parts, known)), tuple(meanings)) for parts, meanings in together.values())


def _of_option(part: Expr, known: Mapping[str, Constant], legal: Mapping[str, Legal]) -> tuple[str, Expr]:
    """The option that a condition is about, with the condition as a bound of it where it is one; an empty
    name where several options decide it."""
    whole = _defined(part, known)
    options = {node for node in whole.walk() if isinstance(node, Named) and known[node.name].option}
    names = {node.name for node in options}
    if len(names) != 1:
        return "", part
    option = next(iter(options))
    bound: Expr | None = _plain_bound(part, option, known)
    if bound is None:
        bound = _as_bound(whole, option, legal[known[option.name].option])
    if bound is not None:
        return option.name, bound
    alone = all(node.name == option.name for node in part.walk() if isinstance(node, Named))
    return (option.name if alone else ""), part


def _plain_bound(part: Expr, option: Named, known: Mapping[str, Constant]) -> Compare | None:
    """The condition with the option on the left, if it compares the option itself with what is fixed."""
    if not isinstance(part, Compare) or part.op not in _FLIPPED:
        return None
    if _names(part.left, option) and _is_fixed(part.right, known):
        return part
    if _names(part.right, option) and _is_fixed(part.left, known):
        return Compare(_FLIPPED[part.op], part.right, part.left)
    return None


def _defined(expr: Expr, known: Mapping[str, Constant]) -> Expr:
    """An expression with the definitions of the constants that follow from others."""

    def definition(node: Expr) -> Expr | None:
        value = known[node.name].definition if isinstance(node, Named) else None
        return None if value is None else _defined(value, known)

    return expr.mapped(definition)


def _as_bound(condition: Expr, option: Named, values: Legal) -> Expr | None:
    """The condition as the most or the least that the option may be; None where it is neither."""
    every = range(values.low, values.high + 1, values.multiple)
    held = [value for value in every if _holds(condition, option, value)]
    if not held or len(held) == len(every):
        return None
    if held == list(every[: len(held)]):
        return Compare("<=", option, Const(held[-1]))
    if held == list(every[-len(held) :]):
        return Compare(">=", option, Const(held[0]))
    return None


def _holds(condition: Expr, option: Named, value: int) -> bool:
    return bool(condition.mapped(lambda node: Const(value) if _names(node, option) else None).evaluate({}))


def _names(expr: Expr, constant: Named) -> bool:
    return isinstance(expr, Named) and expr.name == constant.name


def _is_fixed(expr: Expr, known: Mapping[str, Constant]) -> bool:
    """Whether it is a number, or a constant that no option decides."""
    return isinstance(expr, Const) and (not isinstance(expr, Named) or not _decided(known[expr.name]))


def _decided(constant: Constant) -> bool:
    return bool(constant.option) or constant.definition is not None


def _tightest(parts: Sequence[Expr], known: Mapping[str, Constant]) -> list[Expr]:
    """The conditions without those that another one implies: least, most, what divides it, then others.

    Of a constant that has one legal value this value stands for all bounds.
    """
    bounds: dict[str, list[tuple[int, Compare]]] = {">=": [], "<=": [], "%": []}
    others = []
    for part in parts:
        op, number = _bound(part, known)
        if isinstance(part, Compare) and op:
            bounds[op].append((number, part))
        else:
            others.append(part)
    multiple = lcm(*(number for number, _ in bounds["%"]))
    least = max((_in_steps(each, multiple) for each in bounds[">="]), key=lambda each: each[0], default=None)
    most = min((_in_steps(each, multiple) for each in bounds["<="]), key=lambda each: each[0], default=None)
    if least and most and least[0] == most[0]:
        return [Compare("==", least[1].left, least[1].right), *others]
    factors: list[tuple[int, Compare]] = []
    for number, part in sorted(bounds["%"], key=lambda each: -each[0]):
        if not any(larger % number == 0 for larger, _ in factors):
            factors.append((number, part))
    return [part for _, part in (*filter(None, (least, most)), *factors)] + others


def meanings(limit: Limit, constants: Sequence[Constant]) -> Iterator[str]:
    """What an assertion says, by the names of the header: of an option first what it may be."""
    options = {each.option: constant(each.named.name) for each in constants if each.option}
    for meaning in limit.meanings:
        option, first = meaning.removeprefix(LIMITS_OF), meaning.partition(" ")[0]
        if meaning.startswith(LIMITS_OF) and option in options:
            yield f"{options[option]}: {_range_text(limit.conditions)}"
        elif first in options:
            yield options[first] + meaning.removeprefix(first)
        else:
            yield meaning


def _range_text(conditions: Sequence[Expr]) -> str:
    """What bounds allow, in words: ``a multiple of 16 from 64 to 256``; nothing of other conditions."""
    found: dict[str, list[str]] = {}
    for part in conditions:
        if not isinstance(part, Compare):
            continue
        if isinstance(part.left, Named) and isinstance(part.right, Const):
            name = part.right.name if isinstance(part.right, Named) else ""
            found.setdefault(part.op, []).append(constant(name) if name else str(part.right))
        elif (
            isinstance(part.left, Binary)
            and part.left.op == "%"
            and part.op == "=="
            and part.right.same(Const(0))
        ):
            found.setdefault("%", []).append(str(part.left.right))
    words = [f"a multiple of {' and '.join(found['%'])}"] if "%" in found else []
    sides = (
        (("==", ""), (">=", "from "), ("<=", "to ")) if ">=" in found else (("==", ""), ("<=", "at most "))
    )
    return " ".join([*words, *(f"{word}{each}" for op, word in sides for each in found.get(op, ()))])


def _in_steps(bound: tuple[int, Compare], multiple: int) -> tuple[int, Compare]:
    """A bound of a constant that ``multiple`` divides: the next number that the constant may be.

    A bound that is a constant of its own, as a padded head size, stays it.
    """
    number, part = bound
    if isinstance(part.right, Named) or number % multiple == 0:
        return bound
    rounded = number // multiple * multiple if part.op == "<=" else -(-number // multiple) * multiple
    return rounded, Compare(part.op, part.left, Const(rounded))


def _bound(part: Expr, known: Mapping[str, Constant]) -> tuple[str, int]:
    """How a fixed number bounds a constant: ``<=`` or ``>=`` and it, or ``%`` if it divides the constant; an
    empty word for other conditions."""
    if not isinstance(part, Compare):
        return "", 0
    op, left, right = part.op, part.left, part.right
    if op == "==" and isinstance(left, Binary) and left.op == "%" and right.same(Const(0)):
        factor = left.right
        op, left, right = "%", left.left, factor
    plain = op in (*_FLIPPED, "%") and isinstance(left, Named)
    return (
        (op, int(right.value)) if plain and isinstance(right, Const) and _is_fixed(right, known) else ("", 0)
    )
