"""Digests of sources by what they do: comments, docstrings, blank lines and line numbers do not count."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from attndsl.base.disk_cache import content_key

PYTHON, CXX = frozenset({".py"}), frozenset({".h", ".hpp", ".cpp", ".in"})
_CXX_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])')|//[^\n]*|/\*.*?\*/", re.DOTALL)
_UNTOLD = frozenset({"ctx", "kind", "type_comment", "type_params"})
"""Fields of Python's trees that say nothing more, or that only some versions have."""


@cache
def meaning_of(path: Path) -> str:
    """A digest of a source; computed once a process, which runs the code of its start."""
    text = path.read_text(encoding="utf-8")
    return content_key(python_meaning(text) if path.suffix in PYTHON else cxx_meaning(text))


def python_meaning(text: str) -> str:
    """The tree of a Python source without docstrings, the same text in every version of Python."""
    words: list[str] = []
    _tell(ast.parse(text), words)
    return " ".join(words)


def cxx_meaning(text: str) -> str:
    """C++ without comments, words one space apart."""
    return " ".join(_CXX_COMMENT.sub(lambda found: found[1] or " ", text).split())


def _tell(node: object, words: list[str]) -> None:
    """Add the words that tell a tree from all others; what is absent or empty has none."""
    if isinstance(node, ast.AST):
        words.append(type(node).__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            if value is not None and value != [] and name not in _UNTOLD:
                words.append(name)
                _tell(value, words)
        words.append(";")
    elif isinstance(node, list):
        kept = [each for each in node if not _is_text(each)]
        words.append(f"[{len(kept)}")
        for each in kept:
            _tell(each, words)
    else:
        words.append(repr(node))


def _is_text(statement: object) -> bool:
    """Whether a statement is a text alone: a docstring, or words on the name before it."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
