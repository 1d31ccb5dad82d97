"""Minima and roundings that guard against what the text, the plan or the contract excludes.

Each tells of one operand, the first of a minimum or what is rounded, that it would do alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from attndsl.mutate.contract_limits import told_name
from attndsl.mutate.equal_sides import turns_may_follow
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.lifetimes import known_constants
from attndsl.mutate.pieces import single_turns
from attndsl.mutate.source_model import STEPS, CallText, StatementText

_TURNS_END = re.compile(
    r"const int64_t (turns|places)End = (tiling_\.items|order\.itemsOfBlock)"
    r" \+ MinOf\(\2,\s+(?:blockCount_|1)\);"
)
_DOUBLING = re.compile(r"for \(int64_t (\w+) = (\w+);\s+\1 < (\w+);\s+\1 \*= 2\)\s*\Z")
_GROUP = re.compile(r"const int64_t (\w+) = MinOf\((\d+), (\w+) - (\w+)\);\Z")
_ROWS_AT_ONCE = re.compile(r"for \(int64_t (\w+) = 0;\s+\1 < (\w+);\s+\1 \+= (\w+<\w+>\(\2\))\)\s*\Z")
_PLACE = re.compile(r"(?<!\w)\w+_?\[([^\]]*)\]")
_COLUMN = re.compile(r"\s*\+ kRepeatLanes\s+- \([^()]*\) % \(2 \* kRepeatLanes\)")
_FIRST_TILE = re.compile(r"found\.firstTile =\s+MinOf\(")
_FIRST_TO_COLLECT = re.compile(r"const int64_t firstTile = MinOf\(\w+\.split \* (\w+), (\w+)\);\Z")
_COLLECTS = r"for \(int64_t (\w+) = firstTile; \1 < MinOf\(firstTile \+ {0}, {1}\) && [^;]*; \+\+\1\)"
_TILES = re.compile(r"(?:found\.|const int64_t )tiles = MinOf\((\w+), (\w+) - found\.firstTile\);")
_STEPS_OF_TILES = re.compile(r"found\.keySteps = found\.halves \* tiles;")
_USE = re.compile(r"\b\w+\.(?:firstTile|tiles|keySteps)\b|(?<![\w.])tiles\b")
_NO_LESS_THAN_NONE = re.compile(
    r"< \w+\.(?:tiles|keySteps)\b|\b\w+\.(?:tiles|keySteps) > 0|\b\w+\.tiles [=!]= 1\b"
    r"|MaxOf\(\w+\.tiles, 1\)|MaxOf\(\w+\.keySteps, \w+\.halves\)"
    r"|\b(?:step >= \w+\.keySteps|tile >= \w+\.tiles)\b(?! [-+])"
)
_OF_A_TILE = re.compile(
    r"(?:else )?if \((?:\w+ > kPrefetch\s*&&\s*)?(?:\w+\.)?(?:tile|step) < \w+\.(?:tiles|keySteps)\)\s*\Z"
)
_LANES_OF_KEYS = re.compile(r"FillLanes\(\w+\[keys / kRepeatLanes \* kRepeatLanes\], keys % kRepeatLanes,")
_FOLDS = re.compile(r"\w+OfBlocks|Compare\w*|FillLanes")
_OF_EARLIER_STEP = re.compile(r"SumOfBlocks\(sumBlocks_\[[^\]]*\], stepLanes_,")
_READ = re.compile(r"\b(\w+)Gm_\.GetValue\((?:[^()]|\([^()]*\))*\)")
_SIZE = re.compile(r"\bproblem\.(\w+?)_?\b")
_ARITHMETIC = re.compile(r" [-+*/%] ")


def needless(source: EmittedText, call: CallText) -> bool:
    """Whether the first operand of a minimum is the minimum, or does the same where it is not."""
    statement = source.statement_at(call.span.start)
    return statement is not None and any(rule(source, statement, call) for rule in _NEEDLESS)


def _of_more_turns(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    """More turns to drain the pipeline, of a core in which nothing ends with one."""
    end = source.match(_TURNS_END, statement)
    if end is None:
        return False
    inside = source.functions[statement.function]
    users = [each for each in inside if each != statement and f"{end[1]}End" in source.code_at(each.span)]
    return len(users) == 1 and turns_may_follow(source, users[0]) is not None


def _of_doubling(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    """As many lanes again, of a number that doubles to the end without a rest."""
    one, other = (source.code_at(each) for each in call.arguments)
    for head in source.heads_around(statement) if other.endswith(f" - {one}") else ():
        loop = source.match(_DOUBLING, head)
        if loop is not None and (one, other) == (loop[1], f"{loop[3]} - {loop[1]}"):
            known = known_constants(source)
            first, end = (int(each) if each.isdigit() else known.get(each, 0) for each in loop.group(2, 3))
            times = end // first if first else 0
            return times > 0 and times * first == end and times & (times - 1) == 0
    return False


def _of_local_rows(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    """Rows of a group behind the last, where vector instructions alone work on them: in buffers whose room is
    whole groups, from the first row on, so that these rows are none of another step."""
    group = source.match(_GROUP, statement)
    heads = source.heads_around(statement)
    loop = source.match(STEPS, heads[-1]) if group and heads else None
    body = source.block(heads[-1]) if heads else None
    if group is None or loop is None or body is None or loop.group(3, 2, 1) != group.group(2, 3, 4):
        return False
    known, room = known_constants(source), re.compile(rf"const int64_t {group[3]} = MinOf\((\w+), ")
    rooms = [room.match(source.code, each.span.start) for each in source.functions[statement.function]]
    sizes = [size for each in rooms if each is not None for size in _sizes(source, statement, each[1])]
    if not sizes or any(known.get(size, 1) % int(group[2]) for size in sizes):
        return False
    users = [
        each
        for each in source.functions[statement.function]
        if body.start <= each.span.start < body.end
        and re.search(rf"\b{group[1]}\b", source.code_at(each.span))
    ]
    return all(each == statement or _is_local(source, each, loop[1]) for each in users)


def _sizes(source: EmittedText, statement: StatementText, room: str) -> list[str]:
    """The constants that a number is a multiple of, of those that a choice in its function gives it."""
    chosen = re.compile(rf"const int64_t {room} =\s+[^;]*\? (k\w+)(?: \* \d+)? : (k\w+)(?: \* \d+)?;\Z")
    found = (source.match(chosen, each) for each in source.functions[statement.function])
    return [size for each in found if each is not None for size in each.groups()] or [room]


def _is_local(source: EmittedText, statement: StatementText, row: str) -> bool:
    """Whether a statement is a vector instruction on rows that begin at ``row`` of its buffers."""
    if not source.keeps_vector_busy(statement):
        return False
    places = _PLACE.findall(source.code_at(statement.span))
    return all(_begins_at_row(row, each) for each in places)


def _begins_at_row(row: str, place: str) -> bool:
    """Whether a place in a buffer of rows is in the row of that number: at its start, or a column of it."""
    terms = " ".join(_COLUMN.sub("", place).split())
    return re.fullmatch(rf"(?:[a-z]0 \+ )?{row} \* (?:\w+|\([^()]*\))|[a-z]0", terms) is not None


def _of_idle_split(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    """A first tile behind the last, of a split without tiles: it has less than none then, which nothing tells
    from none, and where it begins is used for its tiles alone."""
    if not source.match(_FIRST_TILE, statement):
        return False
    one, other = (source.code_at(each) for each in call.arguments)
    counted = [match for each in source.statements if (match := source.match(_TILES, each)) is not None]
    if not counted or any(match[2] != other or f"* {match[1]}" not in one for match in counted):
        return False
    return all(
        _FIRST_TILE.match(source.code, each.span.start)
        or _TILES.match(source.code, each.span.start)
        or _STEPS_OF_TILES.match(source.code, each.span.start)
        or not _USE.search(_NO_LESS_THAN_NONE.sub("", source.code_at(each.span)))
        or _is_of_a_tile(source, each)
        for each in source.statements
    )


def _of_collected_tiles(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    """A first tile behind the last, from which a loop collects those that are seen: it collects none."""
    first = _FIRST_TO_COLLECT.match(source.one_line(statement.span))
    if first is None:
        return False
    own = source.functions[statement.function]
    users = [each for each in own if each != statement and "firstTile" in source.code_at(each.span)]
    loop = re.compile(_COLLECTS.format(*first.groups()))
    return [bool(loop.match(source.one_line(each.span))) for each in users] == [True]


def _is_of_a_tile(source: EmittedText, statement: StatementText) -> bool:
    """Whether a statement runs for tiles that there are alone, or its function does."""
    if any(source.match(_OF_A_TILE, head) for head in source.heads_around(statement)):
        return True
    callers = [
        each
        for each in source.statements
        if any(call.name == statement.function for call in source.calls(each.span))
    ]
    return bool(callers) and all(
        any(source.match(_OF_A_TILE, head) for head in source.heads_around(each)) for each in callers
    )


def _of_contract(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    """An entry of a tensor within a field of the plan, the other operand: the contract keeps it there, or the
    field is the largest of them."""
    one, other = (source.one_line(each) for each in call.arguments)
    computed = source.given_by_plan(other)
    if not computed:
        return False
    for name in re.findall(r"\b(?:found\.)?\w+OfBatch\b", one):
        read = re.search(rf"(?<![\w.]){re.escape(name)} =\s+(\w+Gm_\.GetValue\(found\.batch\));", source.code)
        one = one.replace(name, read[1] if read else "")
    reads = tuple(sorted(told_name(each) for each in _READ.findall(one)))
    if not reads or _ARITHMETIC.search(_READ.sub("", one)):
        return False
    told = {_SIZE.sub(r"\1", " ".join(each.split())) for each in computed}
    longest = {f"maxof{each}" for each in reads} if len(reads) == 1 else set[str]()
    return all((reads, each) in source.limits or each.lower() in longest for each in told)


_NEEDLESS: tuple[Callable[[EmittedText, StatementText, CallText], bool], ...] = (
    _of_more_turns,
    _of_doubling,
    _of_local_rows,
    _of_idle_split,
    _of_collected_tiles,
    _of_contract,
)


def is_all_that_is_left(source: EmittedText, call: CallText) -> bool:
    """Whether a minimum is of a step and what is left, in a loop of one turn over no more than a step: the
    second operand is the minimum."""
    statement = source.statement_at(call.span.start)
    one, other = (source.one_line(each) for each in call.arguments)
    turns = single_turns(source)
    for head in source.heads_around(statement) if statement is not None else ():
        loop = source.match(STEPS, head)
        left = (loop[3], f"{loop[2]} - {loop[1]}") if loop is not None else None
        if (one, other) == left and source.block(head) in turns:
            return True
    return False


def is_whole_group(source: EmittedText, call: CallText) -> bool:
    """Whether a minimum is how many rows an instruction of a helper works on at once, of a number that the
    helper computes: rows behind the last, up to whole groups, are none of another step. One row more is
    worked on twice."""
    statement = source.statement_at(call.span.start)
    if statement is None or not source.keeps_vector_busy(statement):
        return False
    if statement.function not in source.instructions.helpers:
        return False
    one, other = (source.one_line(each) for each in call.arguments)
    loops = (source.match(_ROWS_AT_ONCE, head) for head in source.heads_around(statement))
    return any(loop is not None and (one, other) == (loop[3], f"{loop[2]} - {loop[1]}") for loop in loops)


def is_filled_behind(source: EmittedText, call: CallText) -> bool:
    """Whether lanes behind the last key, up to whole repeats, are filled before anything but elementwise
    instructions works on a row: what these write there is used nowhere."""
    statement = source.statement_at(call.span.start)
    if statement is None or not source.keeps_vector_busy(statement):
        return False
    if [source.code_at(each) for each in call.arguments] != ["keys", "kRepeatLanes"]:
        return False
    own = source.functions[statement.function]
    for each in own[own.index(statement) + 1 :]:
        if source.match(_OF_EARLIER_STEP, each):
            continue
        name = next((one.name for one in source.calls(each.span) if _FOLDS.fullmatch(one.name)), None)
        if name is not None:
            return _LANES_OF_KEYS.match(source.code, each.span.start) is not None
    return False
