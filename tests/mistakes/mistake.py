"""A mistake: a right spec with a few words changed, and what its author is told."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.right_specs import changed

Changes = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Mistake:
    """Attributes:

    name: what the author has mixed up.
    right: the right spec.
    changes: what stands in it, once, and what the author writes in its place.
    message: all that ``attndsl generate mine.py`` says.
    instead: changes that the message asks for, where there is one answer: that spec lowers.
    """

    name: str
    right: str
    changes: Changes
    message: str
    instead: Changes = ()

    def wrong_spec(self) -> str:
        return changed(self.right, self.changes)

    def mended_spec(self) -> str:
        return changed(self.right, self.instead)
