"""Paragraphs of emitted Markdown, filled to the width of code."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from attndsl.codegen.text.line_breaks import WIDTH

_OWN_LINE = ("#", "|", " ", "*", "-", "`" * 3)
"""What lines begin with that are no part of a paragraph: headings, tables, code, lists."""


def filled(lines: Sequence[str]) -> Iterator[str]:
    """The lines with every paragraph on as few lines as it needs; words are never broken."""
    for prose, group in groupby(lines, key=lambda line: bool(line) and not line.startswith(_OWN_LINE)):
        if prose:
            text = " ".join(group)
            yield from textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
        else:
            yield from group
