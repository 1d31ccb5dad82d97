"""The statements of a kernel's source, and a text of it in which each says that it has been reached.

Statements are found in the text, so that any compiler will do, and functions that nothing calls count as
well. Counted is what stands in the bodies of functions; not what only names something (``using``,
``constexpr``), nor functions that are ``constexpr`` themselves, nor the insides of lambdas, which belong to
the statement around them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from attndsl.emulator.errors import LaunchError
from attndsl.emulator.launch_syntax import mask

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_BODY_FOLLOWS = re.compile(r"\)(?:\s|\bconst\b|\bnoexcept\b|\boverride\b|\bfinal\b|->[\w:<>,\s*&]+)*\Z")
_CONSTRUCTOR = re.compile(r"\)\s*:[^:]")
_SCOPE = re.compile(r"\b(?:namespace|class|struct|union|extern)\b")
_NAME = re.compile(r"\b(\w+)\s*\(")
_WORD = re.compile(r"[A-Za-z_]\w*")
_LABEL = re.compile(r"(?:(?:case\b[^;{}?]*?|default\s*|[A-Za-z_]\w*\s*)(?<!:)):(?!:)")
_CONSTANT = re.compile(r"\b(?:constexpr|consteval)\b")
_ATTRIBUTES = re.compile(r"(?:\[\[[^\]]*\]\]\s*)+")
_SILENT = frozenset({"using", "typedef", "static_assert", "constexpr", "struct", "class", "union", "enum"})
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement: its function, the head of the branch or loop around it, its first line, from 1, and its
    text on one line, which of a branch or a loop is the head."""

    function: str
    within: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement and its place in the text, of a branch or a loop that of its head: ``text[start:end]``."""

    statement: Statement
    start: int
    end: int


class NotUnderstood(LaunchError):
    """A source whose brackets do not match."""


def instrument(text: str, first: int = 0) -> tuple[str, tuple[Statement, ...]]:
    """The text with a mark in front of each statement, on the lines it stood, and the statements in order.

    Statement ``i`` sets number ``first + i`` of ``attnemu::reached`` (``attnemu/harness.h``).

    Raises:
        NotUnderstood: naming the line of a bracket that is not closed.
    """
    found = _Finder(text, first)
    found.scope(0)
    pieces, done = [], 0
    for at, inserted in sorted(found.inserted, key=lambda item: item[0]):
        pieces += [text[done:at], inserted]
        done = at
    return "".join(pieces) + text[done:], tuple(each.statement for each in found.placed)


def placed_statements(text: str) -> tuple[Placed, ...]:
    """The statements of a text in order, numbered as :func:`instrument` numbers them.

    Raises:
        NotUnderstood: as :func:`instrument`.
    """
    found = _Finder(text, 0)
    found.scope(0)
    return tuple(found.placed)


class _Finder:
    """Walks over a source: from scope to scope, through the bodies of its functions."""

    def __init__(self, text: str, first: int) -> None:
        self._first = first
        self._code = _DIRECTIVE.sub(_blank, mask(text))
        self._shown = _DIRECTIVE.sub(_blank, mask(text, keep_strings=True))
        self._function = ""
        self._heads: list[str] = []
        self.inserted: list[tuple[int, str]] = []
        self.placed: list[Placed] = []

    def scope(self, at: int) -> int:
        """The declarations of a namespace or class; returns the place behind its closing brace."""
        code, head = self._code, at
        while at < len(code):
            sign = code[at]
            if sign == "}":
                return at + 1
            if sign == ";":
                head = at + 1
            elif sign in "([":
                at = self._behind(at)
                continue
            elif sign == "{":
                before = code[head:at]
                at = self._braces(before, at)
                if not _initialises(before):
                    head = at
                continue
            at += 1
        return at

    def _braces(self, head: str, at: int) -> int:
        """What a brace opens at the level of declarations; returns the place behind its end."""
        if "constexpr" in head and _BODY_FOLLOWS.search(head):
            return self._behind(at)
        if _BODY_FOLLOWS.search(head) or (_CONSTRUCTOR.search(head) and not _initialises(head)):
            named = _NAME.search(re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head))
            self._function = named[1] if named else ""
            return self._block(at + 1)
        if _SCOPE.search(head) and "=" not in head and "enum" not in head:
            return self.scope(at + 1)
        return self._behind(at)

    # In functions ------------------------------------------------------------------------------------------

    def _block(self, at: int) -> int:
        """Statements up to a closing brace; returns the place behind it."""
        at = self._next(at)
        while self._code[at] != "}":
            at = self._next(self._statement(at))
        return at + 1

    def _body(self, at: int, head: str) -> int:
        """What a branch or loop does: a block, or one statement, which gets braces for its mark."""
        at = self._next(at)
        self._heads.append(head)
        if self._code[at] == "{":
            end = self._block(at + 1)
        else:
            self.inserted.append((at, "{ "))
            end = self._statement(at)
            self.inserted.append((end, " }"))
        self._heads.pop()
        return end

    def _statement(self, at: int) -> int:
        code = self._code
        if code[at] == "{":
            return self._block(at + 1)
        if code[at] == ";":
            return at + 1
        if label := _LABEL.match(code, at):
            return label.end()
        start = at
        if attributes := _ATTRIBUTES.match(code, at):
            at = attributes.end()
        found = _WORD.match(code, at)
        word = found[0] if found else ""
        behind = found.end() if found else at
        if word == "if":
            return self._branch(start, behind)
        if word in ("for", "while", "switch"):
            head = self._behind(self._next(behind))
            return self._body(head, self._mark(start, head))
        if word == "do":
            return self._semicolon(self._body(behind, self._mark(start, behind)))
        if word == "try":
            return self._guarded(behind)
        end = self._semicolon(at)
        if word not in _SILENT and not _CONSTANT.match(code, self._next_word(at, word)):
            self._mark(start, end)
        return end

    def _branch(self, start: int, at: int) -> int:
        code = self._code
        at = self._next(at)
        if code.startswith("constexpr", at):
            at = self._next(at + len("constexpr"))
        # conditions of macros, such as ASCEND_IS_AIC, have no parentheses in the text
        head = self._behind(at) if code[at] == "(" else code.find("{", at)
        if head < 0:
            raise self._unclosed(at)
        text = self._mark(start, head)
        end = self._body(head, text)
        other = self._next(end)
        return self._body(other + 4, f"else of {text}") if re.compile(r"else\b").match(code, other) else end

    def _guarded(self, at: int) -> int:
        end = self._body(at, "try")
        while re.compile(r"catch\b").match(self._code, self._next(end)):
            end = self._body(self._behind(self._code.index("(", end)), "catch")
        return end

    def _mark(self, start: int, end: int) -> str:
        number = self._first + len(self.placed)
        line = self._code.count("\n", 0, start) + 1
        text = " ".join(self._shown[start:end].split())
        within = self._heads[-1] if self._heads else ""
        self.placed.append(Placed(Statement(self._function, within, line, text), start, end))
        self.inserted.append((start, f"::attnemu::reached[{number}] = 1; "))
        return text

    # Places in the text ------------------------------------------------------------------------------------

    def _next(self, at: int) -> int:
        """The next character that is no space."""
        while at < len(self._code) and self._code[at].isspace():
            at += 1
        if at == len(self._code):
            raise self._unclosed(at)
        return at

    def _next_word(self, at: int, word: str) -> int:
        """Behind ``static``, where ``constexpr`` may follow."""
        return self._next(at + len(word)) if word == "static" else at

    def _semicolon(self, at: int) -> int:
        """The place behind a statement's semicolon."""
        start = at
        while at < len(self._code):
            if self._code[at] == ";":
                return at + 1
            if self._code[at] == "}":
                return at  # a macro without one stands last
            at = self._behind(at) if self._code[at] in _CLOSING else at + 1
        raise self._unclosed(start)

    def _behind(self, at: int) -> int:
        """The place behind the bracket that closes the one at ``at``."""
        wanted, place = [_CLOSING[self._code[at]]], at + 1
        while place < len(self._code):
            sign = self._code[place]
            place += 1
            if sign in _CLOSING:
                wanted.append(_CLOSING[sign])
            elif sign == wanted[-1]:
                wanted.pop()
                if not wanted:
                    return place
        raise self._unclosed(at)

    def _unclosed(self, at: int) -> NotUnderstood:
        line = self._code.count("\n", 0, min(at, len(self._code))) + 1
        return NotUnderstood(
            f"line {line}: what is opened here is not closed, so its statements are not known"
        )


def _initialises(head: str) -> bool:
    """Whether a brace behind this initialises a member in a constructor's list."""
    found = _CONSTRUCTOR.search(head)
    return found is not None and re.search(r"[:,]\s*\w+\s*\Z", head[found.start() :]) is not None


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())
