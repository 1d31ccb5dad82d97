"""Where in the author's spec something was written."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])
_SHIPPED_SPECS = str(Path(__file__).parents[1] / "_data" / "specs")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a spec file; printed as ``file.py:12``."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"

    def beside(self, spec: str) -> str:
        """The line for a text that names the spec file ``spec``, "" if there is none: of that file its number
        alone, of a module that it imports with the module's file."""
        name = Path(self.file).name
        return f"spec line {self.line}" if name == spec or not spec else f"{name} line {self.line}"


UNKNOWN_LINE = SourceLine("<unknown>", 0)


def author_line() -> SourceLine:
    """The innermost line of the current call stack that lies outside this package."""
    frame = sys._getframe(1)
    while frame is not None:
        if _is_authors(frame.f_code.co_filename):
            return SourceLine(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return UNKNOWN_LINE


def asked_by_author() -> bool:
    """Whether who has called the calling function is outside this package."""
    return _is_authors(sys._getframe(2).f_code.co_filename)


def _is_authors(file: str) -> bool:
    return not file.startswith(_PACKAGE) or file.startswith(_SHIPPED_SPECS)
