"""Arguments with few legal values: enumerations and reserved bytes."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from attndsl.spec import errors
from attndsl.spec.contract.arguments import ParamSpec


def choices_text(spec: ParamSpec, most: int | None = None) -> str:
    """The legal spellings, those of one value together: ``0 or 'NONE', 1 or 'ALL'``; ``most`` of each."""
    spellings: dict[Any, list[str]] = {}
    for spelling, value in sorted(spec.choices.items(), key=lambda item: isinstance(item[0], str)):
        spellings.setdefault(value, []).append(repr(spelling))
    return ", ".join(" or ".join(each[:most]) for each in spellings.values())


def likely(spec: ParamSpec, value: Any) -> str:
    """The legal spelling that is nearest to a wrong one, as advice."""
    if isinstance(value, str):
        upper = {choice.upper(): choice for choice in spec.choices if isinstance(choice, str)}
        close = difflib.get_close_matches(value.upper(), list(upper), 1)
        if close:
            return f"did you mean {upper[close[0]]!r}?"
    elif numbers := [choice for choice in spec.choices if isinstance(choice, int | float)]:
        return f"the nearest legal value is {min(numbers, key=lambda number: abs(number - value))}"
    return f"pass {next(iter(spec.choices))!r}, for example"


def reserved_bytes(operator: str, spec: ParamSpec, value: Any) -> bytes:
    """Reserved bytes as they were passed, all of them 0.

    Raises:
        ArgumentTypeError: neither bytes, nor a list or tuple of integers, nor a uint8 array.
        RangeError: the wrong number of bytes, or one that is not 0.
    """
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        value = value.tobytes()
    whole = isinstance(value, list | tuple) and all(
        isinstance(item, int | np.integer) and not isinstance(item, bool) for item in value
    )
    if not whole and not isinstance(value, bytes | bytearray):
        raise errors.ArgumentTypeError(
            f"{operator}: {spec.name}: must be bytes, a list or tuple of integers, or a uint8 array,"
            f" got {type(value).__name__}; leave it out"
        )
    size = len(spec.default)
    if len(value) != size:
        raise errors.RangeError(
            f"{operator}: {spec.name}: must have {size} bytes, got {len(value)}; leave it out"
        )
    for position, item in enumerate(value):
        if item != 0:
            raise errors.RangeError(
                f"{operator}: {spec.name}[{position}]: is {item}, all {size} reserved bytes must be 0;"
                " the nearest legal value is 0"
            )
    return bytes(size)
