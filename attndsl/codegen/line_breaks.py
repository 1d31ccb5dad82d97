"""Line breaks of generated C++: calls that are too long continue under their first argument's line."""

from __future__ import annotations

import re

WIDTH = 110
_INDENT = "    "
_OPERATORS = ("?", ":", "&&", "||")


def wrap(line: str, width: int = WIDTH) -> list[str]:
    """A line of code in pieces of at most ``width`` columns, broken behind the ``=``, in front of
    top-level operators of choice, or behind top-level commas.

    Comments and lines without a call are left alone; literals are kept whole. A comment behind code that is
    too long together with it comes before it.
    """
    code = line.lstrip(" ")
    if len(line) <= width or code.startswith("//") or "(" not in code:
        return [line]
    pad = line[: len(line) - len(code)]
    code, comment = _split_comment(code)
    if comment:
        return [pad + comment, *wrap(pad + code, width)]
    left, equals, right = code.partition(" = ")
    if equals and "(" not in left and '"' not in left:
        return [f"{pad}{left} =", *wrap(f"{pad}{_INDENT}{right}", width)]
    choices = _split_operators(code)
    if len(choices) > 1:
        return [
            part for i, piece in enumerate(choices) for part in wrap(pad + _INDENT * bool(i) + piece, width)
        ]
    pieces = _split_arguments(code)
    lines, current = [], pad
    for piece in pieces:
        if len(current) + len(piece.rstrip()) > width and current.strip():
            lines.append(current.rstrip())
            current = pad + _INDENT
        current += piece
    lines.append(current.rstrip())
    if len(lines) == 1:
        return lines
    return [piece for part in lines for piece in wrap(part, width)]


def _split_comment(code: str) -> tuple[str, str]:
    """The code, and the comment behind it."""
    for found in re.finditer(r" +(?=// )", code):
        before = re.sub(r"\\.", "", code[: found.start()])
        if before.count('"') % 2 == 0:
            return code[: found.start()], code[found.end() :]
    return code, ""


def _split_operators(code: str) -> list[str]:
    """The text cut in front of every ``?`` and ``:``, ``&&`` and ``||`` outside parentheses."""
    pieces, start, depth = [], 0, 0
    for index, character in enumerate(code):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and any(code.startswith(f" {op} ", index) for op in _OPERATORS):
            pieces.append(code[start:index])
            start = index + 1
    return [*pieces, code[start:]]


def _split_arguments(code: str) -> list[str]:
    """The text cut behind every comma inside parentheses, nested calls kept whole where they are short."""
    pieces, start, depth, quoted = [], 0, 0, False
    for index, character in enumerate(code):
        if character == '"' and not _is_escaped(code, index):
            quoted = not quoted
        if quoted:
            continue
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 1:
            pieces.append(code[start : index + 2])
            start = index + 2
    pieces.append(code[start:])
    return [piece for piece in pieces if piece]


def _is_escaped(code: str, index: int) -> bool:
    before = code[:index]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
