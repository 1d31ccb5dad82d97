"""The runtime header of a project: of the functions that all kernels may call those that its kernels do call.

Functions stand apart by blank lines, each below its own comment, so that any of them may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_FUNCTION = re.compile(r"^    __aicore__ (?:static )?inline (?:constexpr )?[^(]*?\b(\w+)\(", re.MULTILINE)
_WORD = re.compile(r"\w+")
_BETWEEN = "\n\n"


def with_used_functions(header: str, texts: Iterable[str]) -> str:
    """The header without the functions that neither these texts nor any function that stays calls."""
    pieces = header.split(_BETWEEN)
    functions = {name: set(_WORD.findall(piece)) for piece in pieces for name in _names(piece)}
    called = {word for text in texts for word in _WORD.findall(text)}
    called |= {word for piece in pieces if not [*_names(piece)] for word in _WORD.findall(piece)}
    used = set[str]()
    while more := (called & functions.keys()) - used:
        used |= more
        called = {word for name in more for word in functions[name]}
    return _BETWEEN.join(piece for piece in pieces if not (own := [*_names(piece)]) or used & {*own})


def _names(piece: str) -> Iterator[str]:
    """The function of a piece of the header; nothing of any other piece."""
    return (match[1] for match in _FUNCTION.finditer(piece))
