"""What authoring functions check of their arguments, where they are given and with the author's line.

Later code may rely on it: an argument that only fails when a call is bound or a kernel is printed would be
reported far from its cause.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from attndsl.base.source_location import author_line
from attndsl.expr import Binary, Const, Expr, as_expr, extent
from attndsl.spec.errors import SpecError

PARAM_TYPES = (bool, int, float, str, bytes)
"""The types that a scalar argument may have."""

_DIVISIONS = frozenset({"/", "//", "%", "ceil_div", "round_up", "floor_div", "floor_mod"})
DEEPEST, LONGEST = 128, 4096
"""Operations inside each other in one expression, and all its names, numbers and operations."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class AuthorArgumentError(SpecError, TypeError):
    """An argument of an authoring function has the wrong type, or an impossible value."""


def wrong(argument: str, value: object, needed: str) -> AuthorArgumentError:
    """The error for ``value``; ``needed`` says what is legal."""
    return AuthorArgumentError(f"{argument} must be {needed}, got {_shown(value)}", author_line())


def check_text(argument: str, value: object) -> None:
    """A text that can be printed and written to a file.

    Raises:
        AuthorArgumentError: it is no str, or holds half of a surrogate pair.
    """
    if not isinstance(value, str):
        raise wrong(argument, value, "a text")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise wrong(argument, value, "a text of whole characters, without lone surrogates")


def check_texts(**arguments: object) -> None:
    """Several texts by the names of their arguments, as :func:`check_text`."""
    for argument, value in arguments.items():
        check_text(argument, value)


def check_name(value: object) -> None:
    """The name of an argument, size or result.

    Raises:
        AuthorArgumentError: it is no str. Words of Python are names like others: calls pass them by ``**``.
    """
    check_text("a name", value)


def check_expression(argument: str, value: object) -> Expr:
    """A number or a symbolic expression that can be computed in 64 bits.

    Raises:
        AuthorArgumentError: it is neither, divides by 0, or has a number beyond 64 bits.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Expr):
        raise wrong(argument, value, "a number or a symbolic expression")
    expr = as_expr(value)
    check_extent(argument, expr)
    for node in expr.walk():
        if isinstance(node, Const):
            check_number(argument, node.value)
        if isinstance(node, Binary) and node.op in _DIVISIONS and _is_zero(node.right):
            raise AuthorArgumentError(f"{argument} divides by 0: {node}", author_line())
    return expr


def check_index(value: object) -> Expr:
    """An index of an element: an integer, or an expression.

    Raises:
        AuthorArgumentError: it is neither.
    """
    if isinstance(value, bool) or not isinstance(value, int | Expr):
        needed = "an integer or a symbolic expression, such as attend.BATCH or attend.KEY"
        raise wrong("an index", value, needed)
    return scalar("an index", value)


def scalar(argument: str, value: object) -> Expr:
    """A number or an expression as an expression of legal extent.

    Raises:
        AuthorArgumentError: it is deeper or longer than is legal.
        TypeError: it is neither.
    """
    expr = as_expr(value)
    check_extent(argument, expr)
    return expr


def check_extent(argument: str, expr: Expr) -> None:
    """An expression that can be printed, compiled and proved about: within the two bounds above.

    Raises:
        AuthorArgumentError: it is deeper, or longer.
    """
    depth, size = extent(expr)
    if depth > DEEPEST:
        found = f"{depth} operations inside each other, at most {DEEPEST} are legal"
    elif size > LONGEST:
        shown = size if size < 1 << 32 else "billions of"
        found = f"{shown} names, numbers and operations, at most {LONGEST} are legal"
    else:
        return
    raise AuthorArgumentError(f"{argument} is an expression of {found}; write it shorter", author_line())


def check_condition(argument: str, value: object) -> None:
    """A symbolic condition.

    Raises:
        AuthorArgumentError: it is none, such as a bool that Python made of two plain numbers.
    """
    if not isinstance(value, Expr):
        needed = "a symbolic condition, such as N % 2 == 0"
        if isinstance(value, bool):
            raise AuthorArgumentError(
                f"{argument} must be {needed}; Python has compared plain values, got {value}: elements of "
                "tensors are compared as x[b, j], not as x or x.at(b, j)",
                author_line(),
            )
        raise wrong(argument, value, needed)
    check_expression(argument, value)


def check_number(argument: str, value: object) -> None:
    """An integer, if it is one, fits into 64 bits.

    Raises:
        AuthorArgumentError: it does not.
    """
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        raise wrong(argument, value, f"within 64 bits, {_LEAST} to {_MOST}")


def check_param(name: str, type: object, limits: Mapping[str, Any], legal: Mapping[Any, Any]) -> None:
    """The type of a scalar argument, and its numbers.

    Raises:
        AuthorArgumentError: the type is none of ``PARAM_TYPES``, or a limit is no number of 64 bits.
    """
    if not any(type is each for each in PARAM_TYPES):
        known = ", ".join(each.__name__ for each in PARAM_TYPES)
        raise wrong(f"the type of parameter '{name}'", type, f"one of {known}")
    for limit, value in limits.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise wrong(f"{limit} of parameter '{name}'", value, "a number")
        check_number(f"{limit} of parameter '{name}'", value)
    _check_some_value(name, type is int, limits)
    for value in (*legal, *legal.values()):
        check_number(f"a choice of parameter '{name}'", value)
    _check_spellings(name, type, legal)


def _check_spellings(name: str, type: Any, legal: Mapping[Any, Any]) -> None:
    """Choices mean values of the parameter's type; a text may be a spelling of one, a value means itself.

    Raises:
        AuthorArgumentError: one does not.
    """
    for spelling, value in legal.items():
        if not _is_of(type, value):
            raise wrong(f"a choice of parameter '{name}'", value, f"a value of its type, {type.__name__}")
        if not isinstance(spelling, str) and (spelling != value or not _is_of(type, spelling)):
            needed = f"{value!r} itself or a text that stands for it"
            raise wrong(f"the spelling of choice {value!r} of parameter '{name}'", spelling, needed)


def _is_of(type: Any, value: object) -> bool:
    """Whether a parameter of a type takes a value: an integer stands for a float, a bool for no number."""
    if isinstance(value, bool) or type is bool:
        return isinstance(value, bool) and type is bool
    return isinstance(value, int | float if type is float else type)


def _check_some_value(name: str, whole: bool, limits: Mapping[str, Any]) -> None:
    """There is a number within the limits of a parameter.

    Raises:
        AuthorArgumentError: there is none.
    """
    above = [value for limit, value in limits.items() if limit in ("gt", "ge") and value is not None]
    below = [value for limit, value in limits.items() if limit in ("lt", "le") and value is not None]
    if not above or not below:
        return
    least, most = max(above), min(below)
    open_ends = (limits["gt"] == least) + (limits["lt"] == most)
    room = least + open_ends <= most if whole else least < most or (least == most and not open_ends)
    if not room:
        told = " and ".join(f"{limit}={value}" for limit, value in limits.items() if value is not None)
        raise AuthorArgumentError(
            f"no value of parameter '{name}' is legal: {told} leave none; exchange or widen them",
            author_line(),
        )


def check_flags(**arguments: object) -> None:
    """Plain truth values by the names of their arguments.

    Raises:
        AuthorArgumentError: one is none, such as a symbolic condition.
    """
    for argument, value in arguments.items():
        if not isinstance(value, bool):
            raise wrong(argument, value, "True or False")


def check_count(argument: str, value: object, least: int, most: int) -> None:
    """A plain integer within bounds.

    Raises:
        AuthorArgumentError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise wrong(argument, value, f"an integer from {least} to {most}")


def check_choices(name: str, value: object) -> None:
    """The legal values of a parameter.

    Raises:
        AuthorArgumentError: they are neither listed nor mapped, there is none, or one cannot be told from
            others.
    """
    needed = "a tuple, or a mapping from spelling to value"
    if not isinstance(value, tuple | list | Mapping):
        raise wrong(f"choices of parameter '{name}'", value, needed)
    if not value and not isinstance(value, tuple):
        raise wrong(f"choices of parameter '{name}'", value, f"{needed}, with one choice at least")
    for each in value:
        if not isinstance(each, bool | int | float | str | bytes) or each != each:
            raise wrong(f"a choice of parameter '{name}'", each, "a number, a text or bytes")


def check_members(name: str, value: object) -> None:
    """The members of an enumeration.

    Raises:
        AuthorArgumentError: they are neither names nor names with their integers.
    """
    if isinstance(value, Mapping):
        for each, number in value.items():
            check_text(f"a member of '{name}'", each)
            check_count(f"the number of member '{each}' of '{name}'", number, -(1 << 31), (1 << 31) - 1)
    elif not isinstance(value, str):
        raise wrong(f"members of '{name}'", value, "a text of names, or a mapping from name to integer")


def check_error_class(argument: str, value: object) -> None:
    """The class of an error or a warning.

    Raises:
        AuthorArgumentError: it is none.
    """
    if not (isinstance(value, builtins.type) and issubclass(value, Exception)):
        raise wrong(argument, value, "a class of errors or warnings")


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and not isinstance(expr.value, str) and expr.value == 0


def _shown(value: object) -> str:
    """A short text for a value of any class, whose own may fail."""
    if not isinstance(
        value, int | float | str | bytes | type(None) | list | tuple | dict | builtins.type | Expr
    ):
        return f"a {type(value).__name__}"
    try:
        text = _text(value)
    except Exception:  # an element of it, or more digits than Python prints
        return f"a {type(value).__name__} that cannot be printed"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _text(value: object) -> str:
    """The text of a value, and of what lists, tuples and mappings hold."""
    if isinstance(value, Expr):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_shown(key)}: {_shown(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_shown, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return repr(value)
