"""What only the device compiler reads, in C++ text, said so that an ordinary compiler reads it."""

from __future__ import annotations

import re

from attndsl.emulator.launch_syntax import mask

_ATTRIBUTE = re.compile(r"(?m)^([ \t]*#[ \t]*define[ \t]+\w+[ \t]+)\[[ \t]*aicore[ \t]*\]")
"""A macro that stands for an attribute: ``#define __aicore__ [aicore]``."""
_ELEMENT = re.compile(r"(\*\s*\(?\s*)\(\s*__ubuf__\s+(\w+)\s*\*\s*\)")
"""An element of UB that the scalar unit follows a pointer to: ``*((__ubuf__ float*)address + 3)``."""


def has_device_syntax(text: str) -> bool:
    """Whether the text has syntax that :func:`rewrite_device_syntax` rewrites."""
    if "aicore" not in text and "__ubuf__" not in text:
        return False
    code = mask(text)
    return bool(_ATTRIBUTE.search(code) or _ELEMENT.search(code))


def rewrite_device_syntax(text: str) -> str:
    """The text with attributes' macros empty and pointers to UB that are followed as the device model's own.

    Every line stays where it stood.
    """
    return _replaced(_ELEMENT, r"\1(ATTNEMU_UBUF_POINTER(\2))", _replaced(_ATTRIBUTE, r"\1", text))


def _replaced(pattern: re.Pattern[str], template: str, text: str) -> str:
    pieces: list[str] = []
    done = 0
    for found in pattern.finditer(mask(text)):
        lines = "\n" * (found.group().count("\n") - found.expand(template).count("\n"))
        pieces += [text[done : found.start()], found.expand(template), lines]
        done = found.end()
    return "".join(pieces) + text[done:]
