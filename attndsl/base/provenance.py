"""Who computed: each engine notes that it ran, so that whoever compares results knows whose they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_notes: ContextVar[list[str] | None] = ContextVar("notes", default=None)


def note(engine: str) -> None:
    """Say that an engine computes here, such as ``"tile interpreter"``."""
    notes = _notes.get()
    if notes is not None and engine not in notes:
        notes.append(engine)


@contextlib.contextmanager
def noted() -> Iterator[list[str]]:
    """The engines that compute inside, in this thread, as they begin; an outer call does not see them."""
    notes: list[str] = []
    before = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(before)
