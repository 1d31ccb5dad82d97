"""Comparisons that take one more or one less, where both sides being equal makes no difference.

The text around a comparison shows it: a fill of no lanes, a loop that goes back what another went too far.
Such a change is no defect. Where a bound that is off by one in another way is one, that is made instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from attndsl.mutate.defects import Defect
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.lifetimes import known_constants
from attndsl.mutate.source_model import Span, StatementText

_PARITY = re.compile(r"(\w+) (>) (\w+)\s*&&\s*\(\1 - \3\) % 2 == 1")
_STEPS_THAT_DRAIN = re.compile(r"found\.steps =\s+turn (>=) (tiling_\.items) \? kPrefetch :")
_LIMIT = re.compile(rf"(<=) (?:kMax\w+|{(1 << 16) - 1})\b")  # of fields of 16 bits
_FEWER_LANES = re.compile(r"if \((\w+) \* kBlockLanes (>) (\w+)\)\s*\Z")
_BEHIND_A_BARRIER = r"\s*(?:PipeBarrier<\w+>\(\);\s*)?"
_FILL = re.compile(_BEHIND_A_BARRIER + r"Duplicate\(([^,]*),[^;]*;\s*\Z")
_FOLD = re.compile(_BEHIND_A_BARRIER + r"\w+OfBlocks\((\w+), \w+, \w+, (\w+), (\w+), ")
_FOLD_BY_REPEATS = re.compile(
    _BEHIND_A_BARRIER + r"for \(int64_t (\w+) = 0; \1 < (\w+); \1 \+= kRepeatLanes\) \{"
    r"\s*\w+OfBlocks\(([^,]*?) \+ \1 / kBlockLanes\], \w+\[\1\], \w+,\s+kRepeatLanes,"
    r"\s+(\w+), "
)
_BARRIER = re.compile(r"\s*PipeBarrier<\w+>\(\);\s*\Z")
_INTERVAL = re.compile(r"FillInterval\w*\((.*)\);\s*\}*\s*\Z", re.DOTALL)
_ENDS_AT_KEY = re.compile(r"MinOf\(keys,\s*MaxOf\(0,")
_KEYS_OF_TILE = re.compile(r"(<|>) firstKey(?: \+ keys)?\)\s*\Z")
_CLAMP = re.compile(_BEHIND_A_BARRIER + r"Maxs\(([^,]*),\s+([^,]*),\s+float\(kSmallest\), [^;]*;\s*\Z")
GROWTH = re.compile(r"Adds\((\w+), \1,\s+float\((?:tile|step) >=? [\w.]+ \? -kGrowthLimit : 0\.0f\),")
"""What maxima may grow by before sums are rescaled, from some tile on."""
_AGAIN = re.compile(r"if \(aboveLimit \|\| (?:tile|step) (<) [\w.]+\)\s*\Z")
_MORE_LANES = re.compile(r"if \((RoundUp\([^()]*\)) (>) ([\w.]+)\)\s*\Z")
_FILL_OF_DIFFERENCE = re.compile(
    _BEHIND_A_BARRIER + r"Duplicate\([^,]*, [^,]*,"
    r"\s+\((RoundUp\([^()]*\)) - ([\w.]+)\) \* \w+\);\s*\Z"
)
_LEFT = re.compile(r"if \((\w+) (<) (\w+)\)\s*\Z")
_FILL_OF_REST = re.compile(r"\s*(?:AscendC::)?Duplicate\(\w+\[(\w+)\], \w+, (\w+) - \1\);\s*\Z")
_FILLS_OF_REST = ((_LEFT, _FILL_OF_REST), (_MORE_LANES, _FILL_OF_DIFFERENCE))
_UPWARDS = re.compile(r"for \(; (\w+) (<) (\w+); \+\+\1\)\s*\Z")
_TURNS = re.compile(
    r"for \(int64_t (?:turn|place) = \w+; (?:turn|place) (<) (?:turns|places)End();"
    r" (?:turn \+= (\w+)|\+\+place)\)\s*\Z"
)
_LAST_STEP = re.compile(r"== \w+\.steps - 1\b")
_TWO_SOURCES = re.compile(r"if \((\w+) (>) (\w+)\)\s*\Z")
_LOADED = re.compile(r"if \((\w+) (?=(?:< )([\w.]+)\))(<) [\w.]+\)\s*\Z")
_ZEROS = re.compile(r"if \((\w+) >= ([\w.]+)\)\s*\Z")
_ALL_ZERO = re.compile(r"\s*Duplicate\((\w+), 0\.0f, ([^;]*)\);\s*\Z")
_LARGER = re.compile(r"(\w+) = (?:\w+ == 0 \|\| )?(\w+) (>) \1 \? \2 : \1;\Z")
_OF_NO_TILES = re.compile(r"const int64_t completedBlocks =\s+work\.tiles (>) 0 \? MaxOf\(begunBlocks,")
_GREW = re.compile(r"const bool grew =\s+!\(grown_\.GetValue\([^;]*\)\s+(>=) 0\);\Z")
_NO_ROWS = re.compile(r"if \((?:taskHalf\.)?rows <= 0\)\s*\Z")
_HANDSHAKE = re.compile(r"\s*(?:SetAndWaitFlag<[^;]*;\s*)+\Z")
_MORE = {"<": "<=", ">": ">="}


def instead(source: EmittedText, statement: StatementText, defect: Defect) -> Defect | None:
    """The defect that a changed comparison is: itself, another one at its place, or None, no defect."""
    start, end = statement.span.start, statement.span.end
    if (limit := _LIMIT.match(source.code, defect.span.start, end)) is not None:
        if _is_far_below(source, source.code[start : defect.span.start]):
            return None
        # at the limit both branches do the same; above it, the one for small pitches fails
        return replace(defect, span=Span(limit.end(), limit.end()), after=" + 1")
    drain = source.match(_STEPS_THAT_DRAIN, statement)
    if drain is not None and drain.start(1) == defect.span.start:
        # an item without keys has a step in any case, and one step may drain the pipeline
        one = known_constants(source).get("kPrefetch") == 1
        return replace(defect, span=Span(drain.end(2), drain.end(2)), after=" - 1") if one else defect
    if (turns := turns_may_follow(source, statement)) is not None:
        return replace(defect, span=Span(*turns.span(2)), after=f" - {turns[3] or 1}")
    return None if any(rule(source, statement, defect) for rule in _HARMLESS) else defect


def _is_far_below(source: EmittedText, before: str) -> bool:
    """Whether what stands in front of a limit is a head size, which the plan keeps below one far smaller."""
    compared = re.search(r"tiling_\.\w+\Z", before.rstrip())
    given = source.given_by_plan(compared[0]) if compared is not None else []
    sizes = [re.fullmatch(r"problem\.(\w+)", each.strip()) for each in given]
    return bool(sizes) and all(
        size is not None
        and (most := re.findall(rf"\bproblem\.{size[1]} <= (\d+)\b", source.plan))
        and max(map(int, most)) < (1 << 16) - 1
        for size in sizes
    )


def turns_may_follow(source: EmittedText, statement: StatementText) -> re.Match[str] | None:
    """The head of a loop over turns in which nothing ends with a step, so that one more without keys does
    nothing."""
    turns = source.match(_TURNS, statement)
    body = None if turns is None else source.block(statement)
    return None if body is None or _LAST_STEP.search(source.code_at(body)) else turns


def _of_larger(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """The larger of two numbers: either of them where they are equal."""
    found = source.match(_LARGER, statement)
    return found is not None and found.start(3) == defect.span.start and _takes_more(source, defect)


def _of_no_tiles(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """Blocks of scores that an item without tiles has begun, and those that it has ended: none of either."""
    found = source.match(_OF_NO_TILES, statement)
    return found is not None and found.start(1) == defect.span.start and _takes_more(source, defect)


def _of_no_growth(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """Rows of which no maximum grew: their sums may be rescaled, by 1."""
    found = source.match(_GREW, statement)
    return found is not None and found.start(1) == defect.span.start


def _of_parity(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """A difference that is to be odd is not 0."""
    found = _PARITY.finditer(source.code, statement.span.start, statement.span.end)
    return any(each.start(2) == defect.span.start for each in found)


def _of_barrier(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """A branch that holds a barrier alone: one more changes nothing."""
    body = source.block(statement)
    return (
        _takes_more(source, defect) and body is not None and _BARRIER.match(source.code_at(body)) is not None
    )


def _of_fill(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """Lanes filled in front of what writes as many lanes: all of them where they are equal."""
    head = source.match(_FEWER_LANES, statement)
    body = source.block(statement)
    if head is None or body is None or head.start(2) != defect.span.start:
        return False
    fill, fold = _FILL.match(source.code_at(body)), _FOLD.match(source.code, body.end + 1)
    if fill is not None and fold is not None:
        return fold.groups() == (fill[1], head[3], head[1])
    fold = _FOLD_BY_REPEATS.match(source.code, body.end + 1)
    if fill is None or fold is None:
        return False
    return fold.group(3, 2, 4) == (fill[1].removesuffix("]"), head[3], head[1])


def _of_interval(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """A branch that fills lanes up to a key, or from one on: none where that is the edge of the tile."""
    head = _KEYS_OF_TILE.search(source.code, statement.span.start, statement.span.end)
    body = source.block(statement)
    if head is None or body is None or not statement.is_head or head.start(1) != defect.span.start:
        return False
    fill = _INTERVAL.search(source.code_at(body))
    alone = fill is not None and source.code_at(body).count("Fill") == 1
    return alone and _takes_more(source, defect) and bool(_ENDS_AT_KEY.search(source.code_at(body)))


def _of_rest(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """A branch that fills as many lanes as one number is less, or more, than another: none where they are
    equal."""
    body = source.block(statement)
    if body is None or not _takes_more(source, defect):
        return False
    for heads, fills in _FILLS_OF_REST:
        head = source.match(heads, statement)
        if head is not None and head.start(2) == defect.span.start:
            fill = fills.match(source.code_at(body))
            return fill is not None and fill.groups() == head.group(1, 3)
    return False


def _of_clamp(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """A branch that clamps sums alone: of rows with a key they are no less than that in any case."""
    body = source.block(statement)
    clamp = _CLAMP.match(source.code_at(body)) if body is not None else None
    return clamp is not None and clamp[1] == clamp[2] and _takes_more(source, defect)


def _of_either_way(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """A step done again with its own maxima, although those before are high enough."""
    head = source.match(_AGAIN, statement)
    return head is not None and head.start(1) == defect.span.start and _takes_more(source, defect)


def _of_growth(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """Maxima that may grow a step later: sums are rescaled more often."""
    return source.match(GROWTH, statement) is not None and not _takes_more(source, defect)


def _of_no_rows(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """A branch that loads as many rows as one number exceeds another, and does nothing else but wait for what
    its pipe did before."""
    head = source.match(_TWO_SOURCES, statement)
    body = source.block(statement)
    if head is None or body is None or not _takes_more(source, defect):
        return False
    loads = [each for each in source.calls(body) if each.name.startswith("Load")]
    rows = rf"\b{head[1]} - {head[3]},"
    alone = source.code_at(body).count(";") - source.code_at(body).count("PipeBarrier") == len(loads) == 1
    return alone and re.search(rows, source.code_at(body)) is not None


def _of_idle_core(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """A core without rows that waits for its loads before it tells the cube to write those rows again
    (``rows <= 0``, changed to ``< 0``). It has none only where a task has one row, the other core's: the cube
    writes that one, and this core's last loads were of other rows."""
    head = source.match(_NO_ROWS, statement)
    body = source.block(statement)
    return head is not None and body is not None and _HANDSHAKE.match(source.code_at(body)) is not None


def _of_zeros(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """A branch that loads rows of an item with keys, where another behind it fills the same buffer with zeros
    for one without: what is loaded of that is overwritten."""
    head = source.match(_LOADED, statement)
    body = source.block(statement)
    if head is None or body is None or head.start(3) != defect.span.start:
        return False
    load = [each for each in source.statements if body.start <= each.span.start < body.end]
    call = source.leading_call(load[0]) if len(load) == 1 else None
    if call is None or source.pipe_of(call) != "MTE2" or not _takes_more(source, defect):
        return False
    around = source.heads_around(statement)
    for other in source.functions[statement.function]:
        zeros = source.match(_ZEROS, other)
        filled = source.block(other)
        if (
            zeros is None
            or filled is None
            or other.span.start < body.end
            or zeros.groups() != head.group(1, 2)
        ):
            continue
        fill = _ALL_ZERO.match(source.code_at(filled))
        if fill is not None and source.heads_around(other) == around:
            arguments = [source.code_at(each) for each in call.arguments]
            return (fill[1], " ".join(fill[2].split())) == (arguments[0], " ".join(arguments[-1].split()))
    return False


def _of_way_back(source: EmittedText, statement: StatementText, defect: Defect) -> bool:
    """A loop upwards, right in front of one that goes back to where it was to end."""
    head = source.match(_UPWARDS, statement)
    body = source.block(statement)
    if head is None or body is None:
        return False
    back = rf"\s*while \({head[1]} > {head[3]}\)\s*\{{\s*--{head[1]};"
    return re.compile(back).match(source.code, body.end + 1) is not None


_HARMLESS: tuple[Callable[[EmittedText, StatementText, Defect], bool], ...] = (
    _of_parity,
    _of_barrier,
    _of_clamp,
    _of_either_way,
    _of_fill,
    _of_growth,
    _of_idle_core,
    _of_interval,
    _of_larger,
    _of_no_growth,
    _of_no_rows,
    _of_no_tiles,
    _of_rest,
    _of_way_back,
    _of_zeros,
)


def _takes_more(source: EmittedText, defect: Defect) -> bool:
    """Whether the change lets the equal case in."""
    return _MORE.get(source.at(defect.span)) == defect.after
