"""The functions of a kernel that run only after all blocks have waited for each other, or only before."""

from __future__ import annotations

import re

from attndsl.base.facts import kept
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.source_model import closing_brace

_OF_ALL_BLOCKS = re.compile(r"CrossCoreSetFlag<kAllCores\b|SyncAll\b")
_WHOLE_BRANCH = re.compile(r"\s*if \(([^(){};]*)\)\s*\{")
ALL_WAIT = re.compile(r"\s*CrossCoreSetFlag<kAllCores, PIPE_(\w+)>\((\w+)\);\s*CrossCoreWaitFlag\(\2\);")
"""A flag by which all cores wait for each other: set, and waited for right there; its pipe, its id."""
_STORED = "HardEvent::V_MTE3"


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
    known = source.functions.keys()
    late = {name for name in waiting if len(callers.get(name, ())) == 1}
    while more := {name for name in known - late if callers.get(name) and late >= callers[name]}:
        late |= more
    return frozenset(late)


@kept
def before_all_blocks(source: EmittedText) -> frozenset[str]:
    """The functions that are over when all blocks have waited for each other, and before which a core does
    nothing else: the first that it calls, which ends with stores of what it computed. The next one waits for
    the stores of all, on the same condition if there is one."""
    found = set[str]()
    for caller, own in source.functions.items():
        calls = [(each, source.leading_call(each)) for each in own if not each.is_head]
        working = [(each, call) for each, call in calls if call is None or call.name != "SetFlag"]
        if len(working) < 2 or working[0][1] is None or working[1][1] is None:
            continue
        (one, first), (other, second) = working[0], working[1]
        if first is None or second is None or not {first.name, second.name} <= source.functions.keys():
            continue
        once = callers_of(source)[first.name] == {caller} and source.code.count(f"{first.name}(") == 2
        follows = not source.code[one.span.end : other.span.start].strip()
        if (
            once
            and follows
            and source.is_straight(one.span.start, source.body(caller))
            and _ends(source, first.name, second.name)
        ):
            found.add(first.name)
    return frozenset(found)


def _ends(source: EmittedText, function: str, waiting: str) -> bool:
    """Whether a function ends with stores, and another waits for these where the first does anything."""
    instructions = [
        (source.pipe_of(call), _STORED in call.template)
        for each in source.functions[function]
        if (call := source.leading_call(each)) is not None
        and (source.pipe_of(call) is not None or call.name == "SetAndWaitFlag")
    ]
    if instructions[-2:] != [(None, True), ("MTE3", False)]:
        return False
    bodies = [source.code_at(source.body(each)) for each in (waiting, function)]
    branches = [_WHOLE_BRANCH.match(each) for each in bodies]
    if branches[0] is not None:
        if branches[1] is None or branches[0][1] != branches[1][1]:
            return False
        if bodies[1][closing_brace(bodies[1], branches[1].end() - 1) + 1 :].strip():
            return False
    wait = ALL_WAIT.match(bodies[0], branches[0].end() if branches[0] is not None else 0)
    return wait is not None and wait[1] == "MTE3"
