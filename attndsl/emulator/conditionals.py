"""Which lines of C++ text the preprocessor leaves, as far as that can be told without running it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(.*)")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_ATOM = re.compile(r"\s*(?:defined\s*(?:\(\s*(?P<a>\w+)\s*\)|(?P<b>\w+))|(?P<number>\d+))\s*")

_COMPARISON = re.compile(r"\s*(?P<name>\w+)\s*(?P<sign>[=!]=)\s*(?P<number>\d+)\s*")


def defined_names(texts: Iterable[str]) -> set[str]:
    """Names that some text defines."""
    return {name for text in texts for name in _DEFINE.findall(text)}


def active_text(code: str, given: Iterable[str], perhaps: Iterable[str]) -> str:
    """`code`, without comments, with the lines blank that are not compiled.

    `given`: macros that are defined, ``NAME`` or ``NAME=VALUE``; `perhaps`: names that may be. A name of
    neither is taken as not defined, unless it starts with an underscore, as those of compilers do. Where a
    condition cannot be told (such names, arithmetic beyond comparing a given macro with a number), all its
    branches stay.
    """
    values = {name: value or "1" for name, _, value in (macro.partition("=") for macro in given)}
    known = _Known(values, set(perhaps))
    lines = code.split("\n")
    stack: list[_Branch] = []
    for number, line in enumerate(lines):
        directive = _DIRECTIVE.match(line)
        if directive is None:
            if not all(branch.taken for branch in stack):
                lines[number] = ""
            continue
        word, rest = directive.groups()
        if word in ("if", "ifdef", "ifndef"):
            stack.append(_Branch(known.condition(word, rest)))
        elif stack and word in ("elif", "else"):
            stack[-1].next(known.condition("if", rest) if word == "elif" else True)
        elif stack:
            stack.pop()
    return "\n".join(lines)


class _Branch:
    """One ``#if`` ... ``#endif``: whether the current part may be compiled."""

    def __init__(self, holds: bool | None) -> None:
        self.taken = holds is not False
        self.decided = holds is True

    def next(self, holds: bool | None) -> None:
        self.taken = not self.decided and holds is not False
        self.decided = self.decided or holds is True


class _Known:
    def __init__(self, given: dict[str, str], perhaps: set[str]) -> None:
        self.given, self.perhaps = given, perhaps

    def defined(self, name: str) -> bool | None:
        if name in self.given:
            return True
        return None if name in self.perhaps or name.startswith("_") else False

    def condition(self, word: str, rest: str) -> bool | None:
        """Whether a directive's condition holds; None where that cannot be told."""
        if word != "if":
            name = re.match(r"\s*(\w+)", rest)
            value = self.defined(name[1]) if name else None
            return value if word == "ifdef" or value is None else not value
        parts: list[bool | None] = []
        for term in re.split(r"\|\|", rest):
            factors = [self._factor(factor) for factor in term.split("&&")]
            parts.append(False if False in factors else None if None in factors else True)
        return True if True in parts else None if None in parts else False

    def _compared(self, text: str) -> bool | None:
        """Whether a given macro, which no text defines anew, has a number's value."""
        found = _COMPARISON.fullmatch(text)
        if found is None or found["name"] in self.perhaps:
            return None
        value = self.given.get(found["name"], "")
        if not value.isdecimal():
            return None
        return (int(value) == int(found["number"])) == (found["sign"] == "==")

    def _factor(self, text: str) -> bool | None:
        negated = text.strip().startswith("!")
        atom = _ATOM.fullmatch(text.strip().removeprefix("!"))
        if atom is None:
            return self._compared(text)
        value = int(atom["number"]) != 0 if atom["number"] else self.defined(atom["a"] or atom["b"])
        return value if value is None else value != negated
