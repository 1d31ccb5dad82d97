"""Mistakes that the rules of the graph find."""

from __future__ import annotations

from attndsl.base.errors import UserError, printable
from attndsl.base.source_location import SourceLine


class GraphError(UserError):
    """The computation breaks a rule: axes, dtypes, a missing operand; the message starts with the line."""

    def __init__(self, message: str, where: SourceLine | None = None) -> None:
        self.where = where
        super().__init__(printable(f"{where}: {message}" if where else message))
