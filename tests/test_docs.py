"""The glossary is in step with the code: each of its words is a name or a word in the code."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import attndsl

ROOT = Path(attndsl.__file__).parent
GLOSSARY = ROOT.parent / "docs" / "glossary.md"


@cache
def code() -> str:
    """All of the package's Python, and that of its tests except for this file."""
    files = (path for folder in (ROOT, Path(__file__).parent) for path in sorted(folder.rglob("*.py")))
    return "\n".join(path.read_text() for path in files if path != Path(__file__))


def words(page: str) -> list[str]:
    """The words that a glossary explains, without what stands in parentheses."""
    rows = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", page, re.MULTILINE)
    return [re.sub(r" \(.*\)", "", row) for row in rows if row != "word"]


def unknown(page: str) -> list[str]:
    """Words of a glossary that the code has in no form: ``access set``, ``access_sets`` or ``AccessSet``."""
    return [word for word in words(page) if not re.search(pattern(word), code())]


def pattern(word: str) -> str:
    """Matches a word of one or more parts, as prose or as a name; not as a part of another word."""
    parts = re.split(r"[\s-]", word)
    prose = r"[\s_-]+".join(map(re.escape, parts))
    camel = "".join(part.capitalize() for part in parts)
    return rf"(?<![A-Za-z])(?i:{prose})s?(?![a-z])|{camel}s?(?![a-z])"


def test_every_word_of_the_glossary_is_in_the_code() -> None:
    page = GLOSSARY.read_text()
    assert len(words(page)) > 40
    assert unknown(page) == []


@pytest.mark.parametrize("word", ["hidden handover", "ipelin", "wait set"])
def test_a_word_that_is_not_in_the_code_is_found(word: str) -> None:
    page = GLOSSARY.read_text()
    assert unknown(f"{page.rstrip()}\n| {word} | a planted word |\n") == [word]


def test_words_are_in_order_and_each_is_explained_once() -> None:
    found = words(GLOSSARY.read_text())
    assert found == sorted(set(found))
