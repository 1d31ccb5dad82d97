"""The functions of a kernel that run only after all blocks have waited for each other."""

from __future__ import annotations

import re

from attndsl.base.facts import kept
from attndsl.mutate.instructions import EmittedText

_OF_ALL_BLOCKS = re.compile(r"CrossCoreSetFlag<0\b|SyncAll\b")


@kept
def callers_of(source: EmittedText) -> dict[str, set[str]]:
    """By the name of what is called, the functions that do."""
    found: dict[str, set[str]] = {}
    for statement in source.statements:
        for call in source.calls(statement.span):
            found.setdefault(call.name, set()).add(statement.function)
    return found


@kept
def after_all_blocks(source: EmittedText) -> frozenset[str]:
    """The functions that run only after all blocks have waited for each other: one that is called once and
    waits before it does anything else, and those that only such functions call."""
    callers = callers_of(source)
    working, waiting = set[str](), set[str]()
    for statement in source.statements:
        own = statement.function
        if _OF_ALL_BLOCKS.match(source.code, statement.span.start) and own not in working:
            waiting.add(own)
        if statement.is_head or source.leading_call(statement) is not None:
            working.add(own)
    known = {each.function for each in source.statements}
    late = {name for name in waiting if len(callers.get(name, ())) == 1}
    while more := {name for name in known - late if callers.get(name) and late >= callers[name]}:
        late |= more
    return frozenset(late)
