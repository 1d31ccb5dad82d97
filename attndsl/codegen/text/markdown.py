"""Paragraphs of emitted Markdown, filled to the width of code."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from attndsl.codegen.text.line_breaks import WIDTH

_OWN_LINE = ("#", "|", " ", "*", "-", "`" * 3)
"""What lines begin with that are no part of a paragraph: headings, tables, code, lists."""

_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_ENTRY = "  "
"""In front of the further lines of a list's entry."""
_KEPT = "\0"
"""Stands for a blank in a span of code while lines are filled."""


def filled(lines: Sequence[str]) -> Iterator[str]:
    """The lines with every paragraph on as few lines as it needs, and an entry of a list over several.

    Words are never broken, spans of code only where they are longer than a line.
    """
    for prose, group in groupby(lines, key=lambda line: bool(line) and not line.startswith(_OWN_LINE)):
        if prose:
            yield from _on_lines(" ".join(group))
            continue
        for line in group:
            is_long = line.startswith("- ") and len(line) > WIDTH
            yield from _on_lines(line, _ENTRY) if is_long else [line]


def _on_lines(text: str, indent: str = "") -> Iterator[str]:
    lines = textwrap.wrap(
        _CODE.sub(_whole, text),
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (line.replace(_KEPT, " ") for line in lines)


def _whole(span: re.Match[str]) -> str:
    """A span of code as one word, if a line holds it; 2 columns for brackets and stops beside it."""
    return span[0] if len(span[0]) > WIDTH - 2 else span[0].replace(" ", _KEPT)
