"""What a user wrote, as C++ identifiers, comments, literals and file names.

Names come from specs, so they may be keywords of C++ or AscendC, or hold letters that a compiler does not
take; texts may hold anything. Nothing of either reaches generated code but through these functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CXX_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t
    class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
    decltype default delete do double dynamic_cast else enum explicit export extern false final float for
    friend goto if import inline int long module mutable namespace new noexcept not not_eq nullptr operator
    or or_eq override private protected public register reinterpret_cast requires return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
    typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
# Names that CANN's headers define as macros or types, or that generated functions use themselves.
_OTHER_WORDS = """
    AscendC GM_ADDR half bfloat16_t int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t size_t
    block_idx block_num workspace tiling tiling_key std main ge gert ops optiling attndsl linux unix NULL EOF
    INFINITY NAN errno assert stdin stdout stderr min max abs
"""
_TAKEN = frozenset(_CXX_WORDS.split()) | frozenset(_OTHER_WORDS.split())
_MACROS = re.compile(r"(DTYPE|ORIG_DTYPE|PIPE|EVENT|ACL|KERNEL_TYPE)_\w*")


def identifier(name: str) -> str:
    """A C++ identifier for a name: itself wherever it is one that nobody else uses.

    Letters beyond ASCII become ``uXXXX``; keywords, reserved and taken names get a ``_`` at the end.
    """
    plain = "".join(c if re.fullmatch(r"[A-Za-z0-9_]", c) else f"u{ord(c):04x}" for c in name)
    plain = re.sub(r"__+", "_", plain)
    if not plain or plain[0].isdigit():
        plain = f"n{plain}"
    if plain[0] == "_":
        plain = f"n{plain}"
    return f"{plain}_" if plain in _TAKEN or _MACROS.fullmatch(plain) else plain


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """An identifier for each name, no two of them alike."""
    found: dict[str, str] = {}
    for name in names:
        wanted = identifier(name)
        while wanted in found.values():
            wanted += "x"
        found[name] = wanted
    return found


def pascal(name: str) -> str:
    """``some_attention`` as ``SomeAttention``, ``scoreRing`` as ``ScoreRing``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"_+", identifier(name)))


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
