"""Line breaks of generated C++: calls that are too long continue under their first argument's line."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

WIDTH = 100
_INDENT = "    "
_CHOICES, _SUMS = ("?", ":", "&&", "||"), ("+", "-")
_COMPARISONS, _PRODUCTS = ("<", "<=", ">", ">=", "==", "!="), ("*", "/", "%")
_NOTICED = re.compile(r'["(\[{)\]}, ]')
"""Characters that decide where a line may be cut."""
_CALL = re.compile(r"(?:[?:+*/-] )?(?!(?:if|for|while)\b)[\w:.]+(?:<[\w:, ]*>)?\(")
_COMMENT = re.compile(r"( *)// (?=\S)")
"""The start of a comment's line that is no entry of a list."""
_DEEPEST = 5
"""Parentheses inside of which a line is never broken. A piece may also close as many as it did not open."""


def wrap(line: str, width: int = WIDTH) -> list[str]:
    """A line of code in pieces of at most ``width`` columns, broken after the ``=``, in front of
    top-level operators of choice and of sums, after top-level commas, or else at operators further inside
    or after the parenthesis of a call.

    Comments are broken between words; literals are kept whole. A comment after code that is too long
    together with it comes before it.
    """
    if len(line) <= width:
        return [line]
    return list(_wrapped(line, width))


def wrap_lines(lines: Iterable[str], width: int = WIDTH) -> Iterator[str]:
    """The lines of a text as :func:`wrap` breaks them.

    What a comment's line leaves over in the middle of a sentence goes in front of the comment's next line.
    """
    left = ""
    for line in lines:
        begun = _COMMENT.match(line)
        if left and begun is not None and left.startswith(f"{begun[1]}// "):
            line = f"{left} {line[begun.end() :]}"
        elif left:
            yield left
        pieces, left = wrap(line, width), ""
        if len(pieces) > 1 and begun is not None and not line.endswith((".", ":")):
            left = pieces.pop()
        yield from pieces
    if left:
        yield left


@lru_cache(maxsize=8192)
def _wrapped(line: str, width: int) -> tuple[str, ...]:
    """The pieces of a line that is too long; kernels have many of these in common."""
    return tuple(_pieces(line, width))


def _pieces(line: str, width: int) -> list[str]:
    code = line.lstrip(" ")
    pad = line[: len(line) - len(code)]
    # A line of a block comment is one column after its indent; others that begin so are products.
    if code.startswith("// ") or (code.startswith("* ") and len(pad) % len(_INDENT) == 1):
        return _words(code, pad, width)
    code, comment = _split_comment(code)
    if comment:
        return [*wrap(pad + comment, width), *wrap(pad + code, width)]
    if re.match(r"for \(.*;.*;|if \(const \w+ \w+ = [^;{]*; ", code):
        return _clauses(code, pad, width)
    left, equals, right = code.partition(" = ")
    if equals and "(" not in left and '"' not in left:
        return [f"{pad}{left} =", *wrap(f"{pad}{_INDENT}{right}", width)]
    room = width - len(pad) - len(_INDENT)
    pieces = _outermost(code, 0, room)
    if len(pieces) > 1:
        return _continued(pieces, pad, width)
    lines, current = [], pad
    arguments, call = _split_arguments(code), _CALL.match(code)
    if (
        call is not None
        and room >= len(arguments[0].rstrip()) - call.end() > room + len(_INDENT) - call.end()
    ):
        return [pad + call[0], *_under(arguments, call.end(), pad + _INDENT, width)]
    for piece in arguments:
        if len(current) + len(piece.rstrip()) > width and current.strip():
            lines.append(current.rstrip())
            current = pad + _INDENT
        current += piece
    lines.append(current.rstrip())
    if len(lines) > 1:
        return [piece for part in lines for piece in wrap(part, width)]
    found: list[str] | None = None
    for each in _inside(code, arguments, pad, width):
        if all(len(line) <= width for line in each):
            return each
        found = found or each
    return found or lines


def _inside(code: str, arguments: list[str], pad: str, width: int) -> Iterator[list[str]]:
    """Ways to break a line inside of its parentheses, the best first."""
    call, room = _CALL.match(code), width - len(pad) - len(_INDENT)
    deeper = (_outermost(code, depth, room) for depth in (*range(1, _DEEPEST), *range(-1, -_DEEPEST, -1)))
    found = [pieces for pieces in deeper if len(pieces) > 1]
    yield from (_continued(pieces, pad, width) for pieces in found[:1])
    if call is not None and call.end() != len(code):
        yield [pad + call[0], *_under(arguments, call.end(), pad + _INDENT, width)]
    yield from (_continued(pieces, pad, width) for pieces in found[1:])


def _under(arguments: list[str], start: int, pad: str, width: int) -> list[str]:
    """The arguments of a call under it, as many on a line as fit; ``start``: where the first begins."""
    lines, current = [], pad
    for piece in (arguments[0][start:], *arguments[1:]):
        if len(current) + len(piece.rstrip()) > width and current.strip():
            lines.append(current.rstrip())
            current = pad
        current += piece
    return [part for line in (*lines, current.rstrip()) for part in wrap(line, width)]


def _words(code: str, pad: str, width: int) -> list[str]:
    """A line of a comment, in as many lines as its words need, under each other."""
    sign, text = re.match(r"(// |\* )( *)", code), code
    assert sign is not None
    lead = pad + sign[1] + sign[2]
    pieces = textwrap.wrap(
        text[sign.end() :], width - len(lead), break_long_words=False, break_on_hyphens=False
    )
    return [lead + piece for piece in pieces]


def _clauses(code: str, pad: str, width: int) -> list[str]:
    """The head of a loop, or of a branch that declares a variable: its clauses under each other."""
    clauses = [piece.strip() for piece in code.split(";")]
    lines = [f"{piece};" for piece in clauses[:-1]] + clauses[-1:]
    inside = " " * (code.index("(") + 1)
    return [part for i, line in enumerate(lines) for part in wrap(pad + inside * bool(i) + line, width)]


def _continued(pieces: list[str], pad: str, width: int) -> list[str]:
    """The first piece, and those after it further in."""
    return [part for i, piece in enumerate(pieces) for part in wrap(pad + _INDENT * bool(i) + piece, width)]


def _outermost(code: str, depth: int, width: int) -> list[str]:
    """The text cut after the commas inside of so many parentheses, or where there is none in front of the
    operators that bind least; in as few pieces as will do, but for choices, which all begin a line."""
    if depth > 1:
        pieces = [piece.strip(" ") for piece in _split_arguments(code, depth)]
        if len(pieces) > 1:
            return _filled(pieces, width)
    for operators in (_CHOICES, _COMPARISONS, _SUMS, _PRODUCTS):
        pieces = _split_operators(code, operators, depth)
        if len(pieces) > 1:
            return pieces if operators is _CHOICES else _filled(pieces, width)
    return [code]


def _filled(pieces: list[str], width: int) -> list[str]:
    """The pieces on as few lines as will do."""
    first, *rest = pieces
    lines = [first]
    for piece in rest:
        if len(lines[-1]) + len(piece) < width:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    return lines


def _split_comment(code: str) -> tuple[str, str]:
    """The code, and the comment after it."""
    for found in re.finditer(r" +(?=// )", code):
        before = re.sub(r"\\.", "", code[: found.start()])
        if before.count('"') % 2 == 0:
            return code[: found.start()], code[found.end() :]
    return code, ""


def _split_operators(code: str, operators: tuple[str, ...], at_depth: int) -> list[str]:
    """The text cut in front of every operator with that many parentheses around it."""
    marks = tuple(f" {operator} " for operator in operators)
    pieces, start = [], 0
    for index, character, depth in _outside_texts(code):
        if character == " " and depth == at_depth and code.startswith(marks, index):
            pieces.append(code[start:index])
            start = index + 1
    return [*pieces, code[start:]]


def _split_arguments(code: str, at_depth: int = 1) -> list[str]:
    """The text cut after every comma inside of so many parentheses."""
    pieces, start = [], 0
    for index, character, depth in _outside_texts(code):
        if character == "," and depth == at_depth:
            pieces.append(code[start : index + 2])
            start = index + 2
    pieces.append(code[start:])
    return [piece for piece in pieces if piece]


def _outside_texts(code: str) -> Iterator[tuple[int, str, int]]:
    """The noticed characters outside of texts, but parentheses: where, which, within how many of these."""
    depth, quoted = 0, False
    for found in _NOTICED.finditer(code):
        index, character = found.start(), found[0]
        if character == '"' and not _is_escaped(code, index):
            quoted = not quoted
        if quoted:
            continue
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        else:
            yield index, character, depth


def _is_escaped(code: str, index: int) -> bool:
    before = code[:index]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def in_columns(head: str, notes: Sequence[str], width: int) -> Iterator[str]:
    """A line of a table whose last column has notes: in lines below each other where one is too short."""
    line = head
    for place, note in enumerate(notes):
        text = note if place == len(notes) - 1 else f"{note}, "
        if place and len(f"{line}{text}".rstrip()) > width:
            yield line.rstrip()
            line = " " * len(head)
        line += text
    yield line.rstrip()
