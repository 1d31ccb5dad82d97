"""Names of kernels: the words of their specializations.

A name is for readers; a kernel is found by its specialization.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attndsl.expr import Binary, Compare, Const, Expr, Logic, Symbol
from attndsl.expr.argument_facts import DTYPE, LAYOUT, SPLIT, asks
from attndsl.graph.branch_conditions import Decision
from attndsl.lowering.errors import KernelsOfOneName
from attndsl.lowering.signature.specialization import Specialization, decisions_of, feature_names
from attndsl.spec.contract.contract import Contract
from attndsl.spec.operator.specialization_parameters import spelled

_OPERATORS = {
    ">": "above",
    ">=": "from",
    "<": "below",
    "<=": "to",
    "==": "is",
    "!=": "is_not",
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "over",
    "//": "div",
    "%": "mod",
}


def kernel_suffix(operator: Contract, special: Specialization) -> str:
    """``float16_d128_attn_mask``: what tells a kernel's name from those of an operator's other kernels."""
    return "_".join(_words(operator, special))


def shared_suffix(operator: Contract, specials: Sequence[Specialization]) -> str:
    """The words that the names of several kernels of an operator share, in the order of the first."""
    first, *others = (tuple(_words(operator, each)) for each in specials)
    return "_".join(word for word in first if all(word in words for words in others))


def check_kernel_names(operator: Contract, specials: Iterable[Specialization]) -> None:
    """Hold the names of an operator's kernels, which are made together, to be different.

    Raises:
        KernelsOfOneName: names of tensors and values of settings give two specializations the same words.
    """
    named: dict[str, Specialization] = {}
    for special in specials:
        suffix = kernel_suffix(operator, special)
        first = named.setdefault(suffix, special)
        if _told(operator, first) != _told(operator, special):
            raise KernelsOfOneName(operator.name, suffix, str(first), str(special))


def _words(operator: Contract, special: Specialization) -> Iterator[str]:
    yield special.dtype
    yield f"d{special.padded_head_size}"
    if special.padded_value_size is not None:
        yield f"e{special.padded_value_size}"
    yield from (name for name in feature_names(operator) if name in special.features)
    told: list[Decision] = []
    for name, value in special.settings:
        found = [each for each in _asked_of_number(operator, special, name) if each not in told]
        told += found
        if found:
            yield from (_condition_words(condition, holds) for condition, holds in found)
        elif not _is_number(operator, name) and (word := _setting_word(operator, name, value, special.dtype)):
            yield word


def _is_number(operator: Contract, name: str) -> bool:
    """Whether a setting is a parameter that may be any number."""
    param = operator.find_param(name) if not asks(name)[0] else None
    return param is not None and not param.choices and param.type in (int, float)


def _asked_of_number(operator: Contract, special: Specialization, name: str) -> Iterator[Decision]:
    """What the calls of a kernel decide of a parameter that is a number; any number that decides the same is
    meant. Nothing of other settings."""
    if _is_number(operator, name):
        for condition, holds in decisions_of(operator, special):
            if name in condition.symbols():
                yield condition, holds


def _condition_words(condition: Expr, holds: bool) -> str:
    """``window_above_0`` for ``window > 0``."""
    text = "_".join(_expression_words(condition))
    return text if holds else f"not_{text}"


def _expression_words(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Symbol):
        kind, argument = asks(expr.name)
        yield from filter(None, (_cleaned(argument), kind))
    elif isinstance(expr, Const):
        yield _value_word(expr.value)
    elif isinstance(expr, Binary | Compare | Logic):
        yield from _expression_words(expr.left)
        yield _OPERATORS.get(expr.op, expr.op)
        yield from _expression_words(expr.right)
    else:
        for child in expr.children():
            yield from _expression_words(child)


def _setting_word(operator: Contract, name: str, value: Any, dtype: str) -> str:
    """A setting in a kernel's name, by its value or the word for it.

    Empty where the io dtype or the features tell it already.
    """
    kind, argument = asks(name)
    if kind and (value is None or (kind == DTYPE and value == dtype)):
        return ""
    if kind == SPLIT:
        return f"{argument}_list"
    declared, spelling = _declared(operator, name), _spelling(operator, name, value)
    known = dict(zip(declared, _distinct_words(declared), strict=True))
    return f"{argument}_{known.get(spelling) or _value_word(spelling)}"


def _declared(operator: Contract, name: str) -> tuple[Any, ...]:
    """The words of all values that the contract declares for a setting; none where it lists none."""
    kind, argument = asks(name)
    if kind:
        specs = (spec for spec in operator.tensors if spec.name == argument)
        return tuple(each for spec in specs for each in (spec.layouts if kind == LAYOUT else spec.dtypes))
    param = operator.find_param(name)
    values = dict.fromkeys(param.choices.values()) if param is not None else ()
    return tuple(dict.fromkeys(spelled(operator, name, value) for value in values))


def _distinct_words(declared: Sequence[Any]) -> list[str]:
    """A word for each value: its letters, with its number where another one has the same."""
    found: list[str] = []
    for number, value in enumerate(declared, 1):
        word = _value_word(value)
        found.append(f"{word}_{number}" if word in found else word)
    while len(set(found)) < len(found):  # a number made it another one's word
        found = [f"{word}x" if word in found[:at] else word for at, word in enumerate(found)]
    return found


def _value_word(value: Any) -> str:
    text = f"minus{-value}" if isinstance(value, int | float) and value < 0 else str(value)
    return _cleaned(text) or "word"


def _cleaned(text: str) -> str:
    """The letters and digits of ASCII in a text, runs of anything else as one ``_``."""
    letters = "".join(c if c.isascii() and c.isalnum() else " " for c in text)
    return "_".join(letters.split())


def _spelling(operator: Contract, name: str, value: Any) -> Any:
    """The contract's word for a value of a parameter with choices; any other value itself."""
    param = operator.find_param(name)
    return spelled(operator, name, value) if param is not None and param.choices else value


def _told(operator: Contract, special: Specialization) -> tuple[object, ...]:
    """What a name says, before it is words: equal where two specializations may have one name."""
    settings: set[tuple[object, ...]] = set()
    for name, value in special.settings:
        if _is_number(operator, name):
            settings |= set(_asked_of_number(operator, special, name))
        elif _setting_word(operator, name, value, special.dtype):
            settings.add((name, value, type(value)))
    return (
        special.dtype,
        special.padded_head_size,
        special.padded_value_size,
        special.features,
        frozenset(settings),
    )
