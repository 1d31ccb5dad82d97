"""Emitted C++ as statements and calls with their places in the text. It knows no API."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from attndsl.emulator.launch_syntax import mask
from attndsl.emulator.statements import Placed, placed_statements

_CALL = re.compile(r"(?<![\w:.])(?:[A-Za-z_]\w*::)*([A-Za-z_]\w*)(?:\s*<([^<>();]*)>)?\s*(?=\()")
_TEMPLATE = re.compile(r"<[^<>();]*>(?=\s*\()")
_ELSE = re.compile(r"\s*else\s*\{")
STEPS = re.compile(r"for \(int64_t (\w+) = 0;\s+\1 < ([\w.]+);\s+\1 \+= (\w+)\)\s*\Z")
"""The head of a loop over steps: the variable, its end, the step."""
_OPENING, _CLOSING = "([{", ")]}"
_NO_CALLS = frozenset({"if", "for", "while", "switch", "return", "sizeof", "static_cast", "reinterpret_cast"})


def closing_brace(code: str, opening: int) -> int:
    """Where the brace is that closes the one at ``opening``; the end of the code if none does."""
    depth = 0
    for match in re.finditer(r"[{}]", code[opening:]):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return opening + match.start()
    return len(code)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text: ``text[start:end]``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CallText:
    """A call or construction. ``template``: its template arguments as written, empty without any; ``span``:
    all of it; ``arguments``: each without the space around it."""

    name: str
    template: str
    span: Span
    arguments: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class StatementText:
    """A statement. ``number``: as the emulator's coverage counts them; ``function``: around it; ``is_head``:
    whether it is the head of a branch or a loop, without its body."""

    number: int
    function: str
    span: Span
    is_head: bool


@dataclass(frozen=True)
class SourceModel:
    """A text of emitted C++."""

    text: str

    @cached_property
    def code(self) -> str:
        """The text with comments and literals blank, every character at its old place."""
        return mask(self.text)

    @cached_property
    def statements(self) -> tuple[StatementText, ...]:
        """All statements in functions, in order."""
        return tuple(self._statement(i, each) for i, each in enumerate(placed_statements(self.text)))

    @cached_property
    def functions(self) -> Mapping[str, tuple[StatementText, ...]]:
        """The statements of each function, in order."""
        found: dict[str, list[StatementText]] = {}
        for each in self.statements:
            found.setdefault(each.function, []).append(each)
        return {name: tuple(own) for name, own in found.items()}

    def reached(self, function: str) -> frozenset[str]:
        """A function with all that it calls."""
        found, waiting = set[str](), [function]
        while waiting:
            name = waiting.pop()
            if name in self.functions and name not in found:
                found.add(name)
                waiting += [call.name for each in self.functions[name] for call in self.calls(each.span)]
        return frozenset(found)

    def body(self, function: str) -> Span:
        """All of a function between its braces, from its first statement on."""
        own = self.functions[function][0].span.start
        return Span(own, closing_brace(self.code, self.code.rindex("{", 0, own)))

    def block(self, head: StatementText) -> Span | None:
        """What the braces after the head of a branch or loop hold; None without any."""
        opening = self.code.find("{", head.span.end)
        if not head.is_head or opening < 0 or self.code[head.span.end : opening].strip():
            return None
        return Span(opening + 1, closing_brace(self.code, opening))

    def heads_around(self, statement: StatementText) -> list[StatementText]:
        """The heads of branches and loops around a statement, from the outermost; of what stands in an
        ``else``, that word, which no statement is."""
        found, at = [], statement.span.start
        for each in self.functions[statement.function]:
            block = self.block(each)
            other = None if block is None else self.otherwise(block)
            if block is not None and block.start <= at < block.end:
                found.append(each)
            elif other is not None and other.start <= at < other.end:
                word = self.code.rindex("else", 0, other.start)
                found.append(replace(each, span=Span(word, word + len("else"))))
        return found

    def otherwise(self, block: Span) -> Span | None:
        """The block of the ``else`` behind a block, between its braces."""
        word = _ELSE.match(self.code, block.end + 1)
        return None if word is None else Span(word.end(), closing_brace(self.code, word.end() - 1))

    def child(self, block: Span, place: int) -> Span | None:
        """The outermost block within a block that holds a place; None where that is in the block itself."""
        open_at = list[int]()
        for match in re.finditer(r"[{}]", self.code[block.start : place]):
            if match[0] == "{":
                open_at.append(block.start + match.start())
            elif open_at:
                open_at.pop()
        return Span(open_at[0] + 1, closing_brace(self.code, open_at[0])) if open_at else None

    def loop_over(self, statement: StatementText, variable: str) -> re.Match[str] | None:
        """The head of the loop around a statement over steps of a variable (:data:`STEPS`)."""
        loops = (self.match(STEPS, head) for head in self.heads_around(statement))
        return next((loop for loop in loops if loop is not None and loop[1] == variable), None)

    def match(self, pattern: re.Pattern[str], statement: StatementText) -> re.Match[str] | None:
        """A pattern at the start of a statement, in its code alone."""
        return pattern.match(self.code, statement.span.start, statement.span.end)

    def reassigns(self, function: str, variable: str) -> bool:
        """Whether a function gives a variable another value than it began with."""
        given = rf"(?<!const int64_t )\b{re.escape(variable)} [-+*/]?= "
        return re.search(given, self.code_at(self.body(function))) is not None

    def naming(self, pattern: re.Pattern[str], name: str) -> list[StatementText]:
        """The statements that begin with a pattern whose first group is a name."""
        found = ((each, self.match(pattern, each)) for each in self.statements)
        return [each for each, own in found if own is not None and own[1] == name]

    def is_straight(self, at: int, block: Span) -> bool:
        """Whether a place behind the start of a block is in the block itself, in no branch or loop of it."""
        between = self.code[block.start : at]
        return between.count("{") == between.count("}")

    def line(self, at: int) -> int:
        """The line of a place, from 1."""
        return bisect.bisect_right(self._line_starts, at)

    def at(self, span: Span) -> str:
        """What stands there."""
        return self.text[span.start : span.end]

    def code_at(self, span: Span) -> str:
        """The same with comments and literals blank."""
        return self.code[span.start : span.end]

    def one_line(self, span: Span) -> str:
        """:meth:`code_at`, with single blanks between words, and none where a bracket ends a line."""
        return " ".join(self.code_at(span).split()).replace("( ", "(")

    def statement_at(self, at: int) -> StatementText | None:
        """The statement around a place; None outside of functions and between statements."""
        place = bisect.bisect_right(self._starts, at) - 1
        found = self.statements[place] if place >= 0 else None
        return found if found is not None and at < found.span.end else None

    @cached_property
    def on_one_line(self) -> str:
        """All of the text, as :meth:`one_line` has it."""
        return self.one_line(Span(0, len(self.code)))

    def calls(self, span: Span) -> Iterator[CallText]:
        """The calls and constructions in a span, in order, those in arguments of others too."""
        for match in _CALL.finditer(self.code, span.start, span.end):
            if match[1] not in _NO_CALLS:
                arguments, end = self._arguments(match.end())
                yield CallText(match[1], (match[2] or "").strip(), Span(match.start(), end), arguments)

    def leading_call(self, statement: StatementText) -> CallText | None:
        """The call that a statement consists of, if it is one."""
        match = None if statement.is_head else _CALL.match(self.code, statement.span.start)
        if match is None or match[1] in _NO_CALLS:
            return None
        found = next(self.calls(statement.span))
        return found if self.code[found.span.end : statement.span.end].strip() == ";" else None

    def neighbours(self) -> Iterator[tuple[StatementText, StatementText]]:
        """Statements that follow each other in one block with nothing between them."""
        for one, other in zip(self.statements, self.statements[1:], strict=False):
            between = self.code[one.span.end : other.span.start]
            if not one.is_head and not other.is_head and not between.strip():
                yield one, other

    # --------------------------------------------------------------------------------------------

    def _statement(self, number: int, placed: Placed) -> StatementText:
        is_head = self.code[placed.end - 1] != ";"
        return StatementText(number, placed.statement.function, Span(placed.start, placed.end), is_head)

    @cached_property
    def _starts(self) -> list[int]:
        return [each.span.start for each in self.statements]

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def _arguments(self, opening: int) -> tuple[tuple[Span, ...], int]:
        """The arguments after an opening parenthesis, and the place after the closing one."""
        depth, at, begin, found = 0, opening, opening + 1, []
        while at < len(self.code):
            sign = self.code[at]
            if template := _TEMPLATE.match(self.code, at):
                at = template.end()
                continue
            if sign in _OPENING:
                depth += 1
            elif sign in _CLOSING:
                depth -= 1
                if depth == 0:
                    break
            elif sign == "," and depth == 1:
                found.append(self._trimmed(begin, at))
                begin = at + 1
            at += 1
        if self.code[begin:at].strip():
            found.append(self._trimmed(begin, at))
        return tuple(found), at + 1

    def _trimmed(self, start: int, end: int) -> Span:
        text = self.code[start:end]
        return Span(start + len(text) - len(text.lstrip()), end - (len(text) - len(text.rstrip())))
