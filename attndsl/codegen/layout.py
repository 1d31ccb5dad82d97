"""Line breaks of generated C++: calls that are too long continue under their first argument's line."""

from __future__ import annotations

WIDTH = 110
_INDENT = "    "


def wrap(line: str, width: int = WIDTH) -> list[str]:
    """A line of code in pieces of at most ``width`` columns, broken behind the ``=`` or behind
    top-level commas.

    Comments, lines without a call and lines with literals are left alone.
    """
    code = line.lstrip(" ")
    if len(line) <= width or code.startswith("//") or "(" not in code or '"' in code:
        return [line]
    pad = line[: len(line) - len(code)]
    left, equals, right = code.partition(" = ")
    if equals and "(" not in left:
        return [f"{pad}{left} =", *wrap(f"{pad}{_INDENT}{right}", width)]
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


def _split_arguments(code: str) -> list[str]:
    """The text cut behind every comma inside parentheses, nested calls kept whole where they are short."""
    pieces, start, depth = [], 0, 0
    for index, character in enumerate(code):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 1:
            pieces.append(code[start : index + 2])
            start = index + 2
    pieces.append(code[start:])
    return [piece for piece in pieces if piece]
