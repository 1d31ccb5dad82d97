"""What a kernel has for tiles of several pieces, where the schedule makes each tile one piece.

A loop over the pieces then has one turn. Two slots that change once a tile change together, so that the wait
for one, which is freed last, covers that for the other. Nor does a product add to an earlier one. Where each
product has a slot of its own for one operand, the wait for it covers that for the other's, of any pieces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attndsl.base.facts import kept
from attndsl.mutate.earlier_products import is_covered_by_probabilities
from attndsl.mutate.hidden_keys import last_row_end
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.last_phase import callers_of
from attndsl.mutate.lifetimes import known_constants
from attndsl.mutate.source_model import Span, StatementText

_LOOP = re.compile(r"for \(int64_t (\w+) = 0; \1 < (\w+); \1 \+= (k\w+)\)\s*\{")
_LEAST = r"\bconst int64_t {0} = (?:MinOf\()+(?:(k\w+), |(\w+) \* (\w+) \+ \3, [^;]*\) - firstKey\b)[^;]*;"
_BEGINS = r"\bconst int64_t firstKey = {0} \* {1};"
"""What keys of a tile are no more than: a constant, or a block of them from its first key on."""
_LOOP_HEAD = re.compile(r"for \(int64_t (\w+) = 0;[^{}]*\{\Z")
_ANY_NUMBER = 1 << 62
_TOGGLE = re.compile(r"\b(\w+Slot_) = \(\1 \+ 1\) % kDoubleBuffer;")
_EVENT = re.compile(r"(?:Wait|Set)Flag<HardEvent::(\w+)>\((k\w+) \+ (\w+Slot_)\);\Z")
_STAGE = r"if \((?:[\w> ]+ && )?([\w.]+) < (\w+)\.tiles\) \{{ {0}\("
_AWAITS = re.compile(r"\s*CrossCoreWaitFlag\((k\w+)\);\s*\Z")
_PRODUCT = re.compile(r"\bMmad\(")
_BANDS = re.compile(r"for \(int64_t (\w+) = 0; \1 < (?:(?:work|taskHalf)\.)?taskRows; \1 \+= k\w+\)\s*\Z")
_IN_BAND = re.compile(r"if \(n0 < bandKeys\)\s*\Z")
_NO_TILES_WITHOUT_ROWS = re.compile(r"const int64_t tileTotal = (?:found\.taskRows|rowsOfTask) == 0 \? 0 :")
"""Halves of a task with rows have rows, too."""
_BAND_END, _TASK_END = (re.compile(rf"const int64_t {name} =\s") for name in ("bandKeys", "visibleEnd"))
_ADDS = re.compile(r"ProductParams\([^;]*, (\w+) == 0\)\)?;?")


@kept
def single_turns(source: EmittedText) -> tuple[Span, ...]:
    """The bodies of loops that have one turn each time: over as many keys as a tile has at most, in steps of
    no fewer."""
    known = known_constants(source)
    found = []
    for head in source.statements:
        loop, turn = _LOOP.match(source.code, head.span.start), source.block(head)
        if loop is None or turn is None:
            continue
        body = source.one_line(source.body(head.function))
        most = [_most_keys(each, body, known) for each in re.finditer(_LEAST.format(loop[2]), body)]
        if len(most) == 1 and most[0] <= known.get(loop[3], 0):
            found.append(turn)
    return tuple(found)


def _most_keys(least: re.Match[str], body: str, known: Mapping[str, int]) -> int:
    """How many keys a tile has at most, as the minimum tells that they are."""
    constant, block, unit = least.groups()
    if not _is_minimum(least[0].partition(" = ")[2].removesuffix(";")):
        return _ANY_NUMBER
    if constant is None and re.search(_BEGINS.format(block, unit), body) is None:
        return _ANY_NUMBER
    told = constant or unit
    return int(told) if told.isdigit() else known.get(told, _ANY_NUMBER)


def _is_minimum(text: str) -> bool:
    """Whether a minimum is all of an expression, but for where the keys begin."""
    depth = 0
    for place, each in enumerate(text):
        depth += {"(": 1, ")": -1}.get(each, 0)
        if each == ")" and not depth:
            return text[place + 1 :] in ("", " - firstKey")
    return False


def is_of_first_piece(source: EmittedText, place: int) -> bool:
    """Whether a factor at some place is multiplied by where a piece begins, of which there is one: by 0."""
    times = re.search(r"\b(\w+) \* \Z", source.code[max(0, place - 80) : place])
    loops = (each for each in single_turns(source) if each.start <= place < each.end)
    begins = (_LOOP_HEAD.search(source.code[: each.start]) for each in loops)
    return times is not None and any(each is not None and each[1] == times[1] for each in begins)


def orders_one_product(source: EmittedText, barrier: StatementText) -> bool:
    """Whether a barrier stands before the only product that a sum has."""
    if source.code_at(barrier.span) != "PipeBarrier<PIPE_M>();":
        return False
    following = next((each for each in source.statements if each.span.start > barrier.span.end), None)
    call = None if following is None else source.leading_call(following)
    inside = [each for each in single_turns(source) if each.start <= barrier.span.start < each.end]
    if following is None or call is None or call.name != "Mmad" or not inside:
        return False
    # the innermost loop that the first product of a sum is told by
    loop = max(inside, key=lambda each: each.start)
    adds = _ADDS.search(source.one_line(following.span))
    variable = _LOOP_HEAD.search(source.code[: loop.start])
    return adds is not None and variable is not None and adds[1] == variable[1]


def is_covered_wait(source: EmittedText, wait: StatementText) -> bool:
    """Whether what a wait for a slot orders is ordered by an earlier one: by that for a slot that is freed
    after it and changes with it, by that for what the vector cores made of the same product, or by that for
    the slot of the other operand, which changes with each product."""
    event = _EVENT.match(source.code_at(wait.span))
    if event is None:
        return False
    return (
        _is_covered_by_slot(source, wait, event)
        or _is_covered_by_tile(source, wait, event)
        or is_covered_by_probabilities(source, wait)
        or _is_covered_by_products(source, wait, event)
    )


def is_covered_release(source: EmittedText, release: StatementText) -> bool:
    """Whether a slot may be told free in front of the product that takes it last: each wait for it orders
    nothing that earlier ones do not."""
    event = _EVENT.match(source.code_at(release.span))
    waits = _places(source, "Wait", event) if event is not None else []
    return bool(waits) and all(is_covered_wait(source, wait) for _, wait in waits)


def _is_covered_by_slot(source: EmittedText, wait: StatementText, event: re.Match[str]) -> bool:
    """Whether another event of the same pipes is waited for before this one, and set after it, for a slot
    that changes as often."""
    before = [each for each in source.functions[wait.function] if each.span.start < wait.span.start]
    for each in before:
        other = _EVENT.match(source.code_at(each.span))
        if other is None or other[1] != event[1] or other[3] == event[3]:
            continue
        own = _stretches(source, other, event)
        if (
            own
            and any(start == each.span.start for start, _ in own)
            and _changes_alike(source, own, event[3])
        ):
            return True
    return False


def _toggle(event: re.Match[str]) -> str:
    """What goes on to the next slot of an event's buffers."""
    return f"{event[3]} = ({event[3]} + 1) % kDoubleBuffer;"


def _stretches(
    source: EmittedText, outer: re.Match[str], inner: re.Match[str]
) -> tuple[tuple[int, int], ...] | None:
    """From each wait for the outer slot to where it changes; None if the inner one is not waited for, freed
    and changed once in each, before the outer one is freed."""
    found = []
    for start, wait in _places(source, "Wait", outer):
        end = source.code.find(_toggle(outer), start)
        between = source.code[start:end]
        once = [
            between.count(f"WaitFlag<HardEvent::{inner[1]}>({inner[2]} + {inner[3]});"),
            between.count(f"SetFlag<HardEvent::{inner[1]}>({inner[2]} + {inner[3]});"),
            between.count(_toggle(inner)),
            between.count(f"SetFlag<HardEvent::{outer[1]}>({outer[2]} + {outer[3]});"),
        ]
        freed = between.rfind(f"SetFlag<HardEvent::{outer[1]}>({outer[2]}")
        changed = between.rfind(_toggle(inner))
        if end < 0 or once != [1, 1, 1, 1] or freed < changed or not _runs_once(source, start, wait, end):
            return None
        found.append((start, end))
    return tuple(found)


def _is_covered_by_products(source: EmittedText, wait: StatementText, event: re.Match[str]) -> bool:
    """Whether a slot of the other operand, waited for just before, is taken by one product each time, so that
    all products but the last are over, and the last one has another slot than this: each time that this slot
    was taken, one product at least came."""
    before = [each for each in source.functions[wait.function] if each.span.start < wait.span.start]
    last = next((each for each in reversed(before) if source.code_at(each.span).startswith("WaitFlag")), None)
    other = _EVENT.match(source.code_at(last.span)) if last is not None else None
    if last is None or other is None or other[1] != event[1] or other[3] == event[3]:
        return False
    own, each_product = (_taken(source, each) for each in (event, other))
    products = [place.start() for place in _PRODUCT.finditer(source.code)]
    between = source.code[last.span.end : wait.span.start]
    if "}" in between or re.search(r"\b(?:for|while|if)\b", between) or _TOGGLE.search(between):
        return False
    return (
        sum(start < place < end for start, end in each_product for place in products) == len(products)
        and all(_always_multiplies(source, start, end, products, once=True) for start, end in each_product)
        and all(_always_multiplies(source, start, end, products, once=False) for start, end in own)
    )


def _taken(source: EmittedText, event: re.Match[str]) -> list[tuple[int, int]]:
    """From each wait for a slot to where it changes."""
    starts = [start for start, _ in _places(source, "Wait", event)]
    return [(start, source.code.find(_toggle(event), start)) for start in starts]


def _always_multiplies(source: EmittedText, start: int, end: int, products: list[int], *, once: bool) -> bool:
    """Whether a product comes between two places, whatever is decided there; ``once``: and no other one."""
    inside = [place for place in products if start < place < end]
    if len(inside) != 1 or end < 0:
        return False
    multiply = source.statement_at(inside[0])
    around = source.heads_around(multiply) if multiply is not None else []
    heads = [head for head in around if head.span.start > start]
    if once:
        return not heads
    bands = [head for head in heads if source.match(_BANDS, head)]
    within = [head for head in heads if head not in bands]
    return (
        len(bands) <= 1
        and (
            not within
            or (len(within) == 1 and bool(source.match(_IN_BAND, within[0])) and _last_band_sees_all(source))
        )
        and (not bands or _NO_TILES_WITHOUT_ROWS.search(source.on_one_line) is not None)
    )


@kept
def _last_band_sees_all(source: EmittedText) -> bool:
    """Whether the keys of a task end where those of its last row do, so that the last band has all; an end
    that is not in front of the first key may be raised to that."""
    ends, bands = (
        [last_row_end(source, each) for each in source.statements if source.match(pattern, each)]
        for pattern in (_TASK_END, _BAND_END)
    )
    return len(ends) == 1 and bool(bands) and ends[0] is not None and set(bands) == set(ends)


def _places(source: EmittedText, verb: str, event: re.Match[str]) -> list[tuple[int, StatementText]]:
    text = f"{verb}Flag<HardEvent::{event[1]}>({event[2]} + {event[3]});"
    return [(each.span.start, each) for each in source.statements if source.code_at(each.span) == text]


def _runs_once(source: EmittedText, start: int, wait: StatementText, end: int) -> bool:
    """Whether what stands between two places runs once each time: in bare blocks, or loops of one turn, or
    branches that hold no event and no slot."""
    within = (each for each in source.functions[wait.function] if start < each.span.start < end)
    blocks = (block for each in within if (block := source.block(each)) is not None)
    several = (source.code_at(each) for each in blocks if each not in single_turns(source))
    return not any("Flag<" in inside or _TOGGLE.search(inside) for inside in several)


def _changes_alike(source: EmittedText, stretches: tuple[tuple[int, int], ...], slot: str) -> bool:
    """Whether a slot changes in these stretches alone, once in each, as it does there."""
    places = [match.start() for match in _TOGGLE.finditer(source.code) if match[1] == slot]
    return len(places) == len(stretches) and all(
        any(start < place < end for start, end in stretches) for place in places
    )


def _is_covered_by_tile(source: EmittedText, wait: StatementText, event: re.Match[str]) -> bool:
    """Whether a step waits for what became of the product of two steps before, whose loads freed the slot:
    with two slots and one piece a tile, these were the last in it, or later ones."""
    known = known_constants(source)
    if event[1] != "MTE1_MTE2" or known.get("kPrefetch") != 2:
        return False
    loops = [each for each in single_turns(source) if each.start <= wait.span.start < each.end]
    body = source.body(wait.function)
    depth = source.code[loops[0].start : wait.span.start] if len(loops) == 1 else "{"
    toggles = [match for match in _TOGGLE.finditer(source.code) if match[1] == event[3]]
    callers = callers_of(source).get(wait.function, set())
    if len(loops) != 1 or len(toggles) != 1 or not loops[0].start < toggles[0].start() < loops[0].end:
        return False
    if len(_places(source, "Wait", event)) != 1 or len(callers) != 1:
        return False
    (caller,) = callers
    steps = source.one_line(source.body(caller))
    own = re.search(_STAGE.format(wait.function), steps)
    after = source.code[loops[0].end : body.end]
    sets = re.findall(r"CrossCoreSetFlag<kBlockCores, PIPE_FIX>\((k\w+)\);", after)
    if own is None or depth.count("if (") or not sets:
        return False
    return _awaits_two_before(source, steps[: own.start()], sets[-1])


def _awaits_two_before(source: EmittedText, steps: str, product: str) -> bool:
    """Whether the stage before waits for what the vector cores set after they have waited for the product of
    the step that is ``kPrefetch`` before."""
    for name in source.functions:
        awaits = _AWAITS.match(source.code_at(source.body(name)))
        stage = re.search(
            rf"if \(stepsBegun_ > kPrefetch && earlier\.tile < earlierWork\.tiles\) \{{ {name}\(\); \}} \Z",
            steps,
        )
        if awaits is None or stage is None:
            continue
        uses = [
            [each for each in source.statements if source.code_at(each.span).endswith(f"({flag});")]
            for flag in (product, awaits[1])
        ]
        waits = [each for each in uses[0] if source.code_at(each.span).startswith("CrossCoreWaitFlag")]
        sets = [each for each in uses[1] if source.code_at(each.span).startswith("CrossCoreSetFlag")]
        if len(waits) == len(sets) == 1 and waits[0].function == sets[0].function:
            return (
                waits[0].span.start < sets[0].span.start
                and "earlierSlot = (slot + kRing - kPrefetch) % kRing;" in steps
            )
    return False
