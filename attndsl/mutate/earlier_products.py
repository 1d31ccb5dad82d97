"""A wait for a slot of L1 that the flag before it covers: the vector cores made what is loaded of a product
behind the last use of the slot.

A tile of probabilities comes of a tile of scores, which is a product that the cube core begins behind the
weighted sum of two tiles before. The loads of that sum, the last that read the slot, are over by then.
"""

from __future__ import annotations

import re

from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.last_phase import callers_of
from attndsl.mutate.lifetimes import known_constants
from attndsl.mutate.source_model import StatementText

_WAIT = re.compile(r"WaitFlag<HardEvent::MTE1_MTE2>\(k\w+ \+ (\w+Slot_)\);\Z")
AWAITS, SETS = (
    re.compile(r"CrossCoreWaitFlag\((k\w+)\);\Z"),
    re.compile(r"CrossCoreSetFlag<[^;]*>\((k\w+)\);\Z"),
)
"""A statement that waits for a flag between cores, and one that sets it."""
_PRODUCT_READY = re.compile(r"CrossCoreSetFlag<kBlockCores, PIPE_FIX>\(")
_LATER = re.compile(r"if \(stepsBegun_ > (k\w+)(?: && [\w.]+ < [\w.]+)?\)\s*\Z")
_OF_A_STEP = re.compile(r"(?:for \(.*\)|if \([\w.]+ < [\w.]+\))\s*\Z")
"""Heads of loops, and of branches that a tile which is there takes."""
_SLOTS = 2


def is_covered_by_probabilities(source: EmittedText, wait: StatementText) -> bool:
    """Whether a stage waits, before it waits for a slot, for what vector cores made of a product that came
    after the stage's own of two steps before, when it took the slot last."""
    slot = _WAIT.match(source.code_at(wait.span))
    if slot is None or not _changes_once_a_stage(source, wait, slot[1]):
        return False
    before = [
        each
        for each in source.functions[wait.function]
        if each.span.start < wait.span.start and _is_straight(source, each)
    ]
    awaited = {found[1] for each in before if (found := source.match(AWAITS, each)) is not None}
    products = (_product_of(source, flag) for flag in sorted(awaited))
    return any(each is not None and _comes_behind(source, each, wait.function) for each in products)


def _changes_once_a_stage(source: EmittedText, wait: StatementText, slot: str) -> bool:
    """Whether a slot changes in one place, and is waited for there alone, each in no loop or branch."""
    toggle = f"{slot} = ({slot} + 1) % kDoubleBuffer;"
    toggles = [each for each in source.statements if source.code_at(each.span) == toggle]
    here = [each for each in source.naming(_WAIT, slot) if each.function == wait.function]
    straight = all(_is_straight(source, each) for each in (wait, *toggles))
    return here == [wait] and [each.function for each in toggles] == [wait.function] and straight


def _product_of(source: EmittedText, flag: str) -> str | None:
    """The stage of the cube core whose product the vector cores wait for before they set a flag, always."""
    setters = source.naming(SETS, flag)
    if len(setters) != 1 or not _is_straight(source, setters[0]):
        return None
    own = source.functions[setters[0].function]
    for each in own[: own.index(setters[0])]:
        awaited = source.match(AWAITS, each)
        if awaited is None or not _is_straight(source, each):
            continue
        found = [set_ for set_ in source.naming(SETS, awaited[1]) if source.match(_PRODUCT_READY, set_)]
        if len(found) == 1:
            return found[0].function
    return None


def _comes_behind(source: EmittedText, product: str, stage: str) -> bool:
    """Whether a product of a step comes after the stage of the step two before it."""
    callers = callers_of(source)
    if len(callers.get(product, ())) != 1 or callers.get(product) != callers.get(stage):
        return False
    one, other = (_steps_behind(source, each) for each in (product, stage))
    return one is not None and other is not None and other - one < _SLOTS


def _steps_behind(source: EmittedText, stage: str) -> int | None:
    """How many steps behind the first stage of its loop a stage is, called in one place; None if unknown."""
    calls = [
        each for each in source.statements if any(call.name == stage for call in source.calls(each.span))
    ]
    if len(calls) != 1:
        return None
    heads = [source.one_line(each.span) for each in source.heads_around(calls[0])]
    later = [found[1] for each in heads if (found := _LATER.match(each)) is not None]
    if len(later) > 1 or not all(_LATER.match(each) or _OF_A_STEP.match(each) for each in heads):
        return None
    return known_constants(source).get(later[0]) if later else 0


def _is_straight(source: EmittedText, statement: StatementText) -> bool:
    """Whether a statement stands in no branch or loop of its function."""
    return not source.heads_around(statement)
