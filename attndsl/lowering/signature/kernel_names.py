"""Names of kernels: the words of their specializations.

A name is for readers; a kernel is found by its specialization.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from attndsl.expr.argument_facts import asks
from attndsl.lowering.errors import KernelsOfOneName
from attndsl.lowering.signature.specialization import Specialization, feature_names
from attndsl.spec.contract.contract import Contract
from attndsl.spec.operator.specialization_parameters import spelled


def kernel_suffix(operator: Contract, special: Specialization) -> str:
    """``float16_d128_attn_mask``: what tells a kernel's name from those of an operator's other kernels."""
    return "_".join(_words(operator, special))


def check_kernel_names(operator: Contract, specials: Iterable[Specialization]) -> None:
    """Hold the names of an operator's kernels, which are made together, to be different.

    Raises:
        KernelsOfOneName: names of tensors and values of settings give two specializations the same words.
    """
    named: dict[str, Specialization] = {}
    for special in specials:
        suffix = kernel_suffix(operator, special)
        first = named.setdefault(suffix, special)
        if _told(first) != _told(special):
            raise KernelsOfOneName(operator.name, suffix, str(first), str(special))


def _setting_word(name: str, value: Any, dtype: str) -> str:
    """A setting in a kernel's name, by its value or the word for it.

    Empty where the io dtype or the features tell it already.
    """
    kind, argument = asks(name)
    if kind and (value is None or (kind == "dtype" and value == dtype)):
        return ""
    if kind == "split":
        return f"{argument}_list"
    text = f"minus{-value}" if isinstance(value, int | float) and value < 0 else str(value)
    word = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if isinstance(value, str) and (word != value or not word):  # what was replaced may tell two values apart
        word = f"{word or 'word'}_{zlib.crc32(value.encode()):08x}"
    return f"{argument}_{word}"


def _words(operator: Contract, special: Specialization) -> Iterator[str]:
    yield special.dtype
    yield f"d{special.padded_head_size}"
    if special.padded_value_size is not None:
        yield f"e{special.padded_value_size}"
    yield from (name for name in feature_names(operator) if name in special.features)
    for name, value in special.settings:
        word = _setting_word(name, _spelling(operator, name, value), special.dtype)
        if word:
            yield word


def _spelling(operator: Contract, name: str, value: Any) -> Any:
    """The contract's word for a value of a parameter with choices; any other value itself."""
    param = operator.find_param(name)
    return spelled(operator, name, value) if param is not None and param.choices else value


def _told(special: Specialization) -> tuple[object, ...]:
    """What a name says, before it is words: equal where two specializations may have one name."""
    settings = {(*pair, type(pair[1])) for pair in special.settings if _setting_word(*pair, special.dtype)}
    return (
        special.dtype,
        special.padded_head_size,
        special.padded_value_size,
        special.features,
        frozenset(settings),
    )
