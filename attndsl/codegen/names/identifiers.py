"""What a user wrote, as C++ identifiers, comments, literals and file names.

Names come from specs, so they may be keywords of C++ or AscendC, or hold letters that a compiler does not
take; texts may hold anything. Nothing of either reaches generated code but through these functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from attndsl.base.reserved_names import is_taken, plain

_DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{each}{i}" for each in ("com", "lpt") for i in range(1, 10)))
)
_LONGEST_STEM = 64


def identifier(name: str) -> str:
    """A C++ identifier for a name: itself wherever it is one that nobody else uses.

    Letters beyond ASCII become ``uXXXX``; keywords, reserved and taken names get a ``_`` at the end.
    """
    text = plain(name)
    if not text or not text[0].isalpha():
        text = f"n{text}"
    if text.endswith("_") and is_taken(text[:-1]):
        return f"{text}x"  # the next line's name for another one
    return f"{text}_" if is_taken(text) else text


def identifiers(names: Iterable[str], forms: Iterable[str] = ()) -> dict[str, str]:
    """An identifier for each name, no two of them alike.

    ``forms``: such as ``{}_list``, names that stand beside each identifier and are none of another's either.
    """
    found: dict[str, str] = {}
    used: set[str] = set()
    every = ("{}", *forms)
    for name in names:
        wanted = identifier(name)
        while not used.isdisjoint(form.format(wanted) for form in every):
            wanted += "x"
        found[name] = wanted
        used.update(form.format(wanted) for form in every)
    return found


def file_stem(name: str) -> str:
    """An identifier that file names, namespaces and macros begin with: short, and no device of Windows.

    Long names that begin alike have one stem; whoever writes files holds them apart.
    """
    text = identifier(name)
    if text.endswith("_"):
        text = f"{text.rstrip('_')}_op"
    if text.lower() in _DEVICES:
        text = f"{text}_op"
    return text[:_LONGEST_STEM].rstrip("_")


@lru_cache(maxsize=4096)
def pascal(name: str) -> str:
    """``some_attention`` as ``SomeAttention``, ``scoreRing`` as ``ScoreRing``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"_+", identifier(name)))


def capitalized(part: str) -> str:
    """``NORM`` as ``Norm``, ``perHead`` as ``PerHead``."""
    return part.capitalize() if part.isupper() and len(part) > 1 else part[:1].upper() + part[1:]


def snake(op_type: str) -> str:
    """The name that CANN derives from an operator type for its kernel's function and files.

    A ``_`` stands before an upper-case letter behind a lower-case letter or digit, and before the last
    capital of a run that a lower-case letter follows.
    """
    text = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", op_type)
    return re.sub(r"(?<=[A-Z])([A-Z][a-z])", r"_\1", text).lower()


def comment(text: str) -> str:
    """One line of text that can stand in any comment."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip("\\")


def string(text: str) -> str:
    """A C++ string literal."""
    return f'"{escaped(text)}"'


def escaped(text: str) -> str:
    """The inside of a C++ string literal."""
    return "".join(_escape(byte) for byte in text.encode())


def _escape(byte: int) -> str:
    character = chr(byte)
    if character in '"\\?':
        return "\\" + character
    if character == "\n":
        return "\\n"
    return character if 32 <= byte < 127 else f"\\{byte:03o}"


def strings(text: str, width: int) -> list[str]:
    """A literal in pieces of at most ``width`` columns, which the compiler joins; broken behind blanks."""
    pieces, current = [], ""
    for word in re.findall(r"[^ ]* ?", text):
        if current and len(escaped(current + word)) + 2 > width:
            pieces.append(current)
            current = ""
        current += word
    return [string(piece) for piece in [*pieces, current] if piece] or ['""']
