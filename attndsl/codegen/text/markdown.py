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
_KEPT = "\0"
"""Stands for a blank in a span of code while lines are filled."""


def filled(lines: Sequence[str]) -> Iterator[str]:
    """The lines with every paragraph on as few lines as it needs.

    Words are never broken, spans of code only where they are longer than a line.
    """
    for prose, group in groupby(lines, key=lambda line: bool(line) and not line.startswith(_OWN_LINE)):
        if prose:
            text = _CODE.sub(_whole, " ".join(group))
            lines_of = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
            yield from (line.replace(_KEPT, " ") for line in lines_of)
        else:
            yield from group


def _whole(span: re.Match[str]) -> str:
    """A span of code as one word, if a line holds it; 2 columns for brackets and stops beside it."""
    return span[0] if len(span[0]) > WIDTH - 2 else span[0].replace(" ", _KEPT)
