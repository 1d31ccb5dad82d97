"""Bounds of keys that skip what a mask hides anyway: with a larger one, more is computed and nothing else.

A causal row ends at some key. The last key of an item, the columns of scores that are loaded, and the pieces
of a product that are computed at all are bounded by the end of the last row that needs them. A mask of the
same end then makes the scores behind each row's own end -inf, so that what a larger bound adds to a row is a
probability of 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attndsl.base.facts import kept
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.last_phase import callers_of
from attndsl.mutate.lifetimes import is_multiple
from attndsl.mutate.source_model import CallText, Span, StatementText

_FILLS = re.compile(r"FillInterval\w*\Z")
_HIDDEN, _ALL = "-__builtin_inff()", "keys"
_COLUMNS = {"keys", "keysOfTile"}
"""Names of how many columns of scores a tile has, before and after those in front of a window are skipped."""
_PROBABILITIES = re.compile(r"\bprobL1\b")
_NAMED = re.compile(r"const int64_t (\w+) =\s")
_END_OF_BLOCK = re.compile(r"\(\w+ \+ 1\) \* 64 - firstKey\Z")
_BAND_KEYS = re.compile(r"const int64_t bandKeys =\s+MinOf\(keys,")
_LAST_ROW = re.compile(r"(?:\b(?:work|taskHalf|found)\.)?\bfirstQuery \+ (?=[M(]|(?:\w+\.)?lastBandRow\b)")
_LAST_POSITION = re.compile(r"found\.firstQuery \+ found\.queries( - 1 \+)?")
_OWNER = re.compile(r"\b(?:work|taskHalf|found)\.")
_IN_REPEATS = re.compile(r"RoundUp\(MaxOf\(1, (MaxOf\(0, .*\)) - (?:firstKey|tileFirst)\), kRepeatLanes\)\Z")
_BAND_END = re.compile(r"RoundUp\((?:found\.)?rowBegin \+ (?:found\.)?rows, kRowsPerBand\)\Z")
_BAND_ROW = "lastBandRow"
_DEFINES_BAND_ROW = re.compile(rf"(?:const int64_t |found\.){_BAND_ROW} =\s")
_END = re.compile(r"found\.keyEnd\b|const int64_t visibleEnd\b")


def harmless_operands(source: EmittedText, call: CallText) -> frozenset[int]:
    """Which operands of a minimum do no harm in its place: 0, 1, both or none."""
    statement = source.statement_at(call.span.start)
    if statement is None:
        return frozenset()
    found = set[int]()
    if _begins_a_fill(source, statement, call):
        found.add(1)  # a fill that begins behind its end fills nothing
    if _ends_a_block(source, statement, call):
        found.add(1)
    if _skips_pieces(source, statement, call.span) is not None:
        found |= {0, 1}
    if _is_hidden(source, statement, call):
        found.add(0)
    if _BAND_END.match(source.one_line(call.arguments[1])) and _ends_hidden_keys(source, statement, call):
        found |= {0, 1}
    return frozenset(found)


def _ends_hidden_keys(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    """Whether an end of rows bounds keys that a mask hides, and nothing else.

    It does so in the same statement, or by the name of the last row in front of it.
    """
    if source.match(_DEFINES_BAND_ROW, statement):
        bounded = [
            (each, bound)
            for each in source.statements
            for bound in source.calls(each.span)
            if bound.name == "MinOf" and _BAND_ROW in source.code_at(bound.arguments[1])
        ]
        return bool(bounded) and all(_is_hidden(source, each, bound) for each, bound in bounded)
    return any(
        around.span.start < call.span.start < around.span.end and _is_hidden(source, statement, around)
        for around in source.calls(statement.span)
        if around.name == "MinOf"
    )


def rounds_up_to_pieces(source: EmittedText, call: CallText) -> bool:
    """Whether what is rounded up is compared with the begins of pieces alone, which are multiples, too; or is
    where a product with probabilities ends, which are 0 behind the last row's own end."""
    statement = source.statement_at(call.span.start)
    if statement is not None and _ends_product(source, statement, call):
        return True
    for around in source.calls(statement.span) if statement is not None else ():
        if around.name == "MinOf" and statement is not None and around.arguments[1] == call.span:
            step = _skips_pieces(source, statement, around.span)
            return step is not None and is_multiple(source, step, source.code_at(call.arguments[1]))
    return False


def _ends_product(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    """Whether keys of a band are rounded up that a product with probabilities adds over, where a mask hides
    what each row has behind its own end."""
    rounded = _IN_REPEATS.match(source.one_line(call.span))
    if not source.match(_BAND_KEYS, statement) or rounded is None:
        return False
    if not _is_end_of_a_row(source, rounded[1]):
        return False
    return _PROBABILITIES.search(source.code_at(source.body(statement.function))) is not None


def last_row_end(source: EmittedText, statement: StatementText) -> str | None:
    """The end of the last row that a statement bounds keys by, written alike for rows of any kind."""
    for call in source.calls(statement.span):
        if call.name == "MinOf":
            other = source.one_line(call.arguments[1])
            loaded = _IN_REPEATS.match(other)
            if loaded is not None or other.startswith("MaxOf(0, "):
                return _of_row(loaded[1] if loaded is not None else other)
    return None


def _begins_a_fill(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    fill = source.leading_call(statement)
    if fill is None or not _FILLS.match(fill.name) or len(fill.arguments) < 3:
        return False
    return fill.arguments[1] == call.span and source.code_at(fill.arguments[2]) == source.code_at(
        call.arguments[0]
    )


def _ends_a_block(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    """Whether numbers that a test compares are filled up to where a block of keys ends, or where the keys do:
    blocks end where repeats do, and bits of lanes behind the last key are used nowhere."""
    fill = source.leading_call(statement)
    if fill is None or not _FILLS.match(fill.name) or fill.arguments[2] != call.span:
        return False
    block = _END_OF_BLOCK.match(source.one_line(call.arguments[1]))
    of_test = source.code_at(fill.arguments[0]).startswith("keyTestNumbers_")
    return of_test and block is not None and source.code_at(call.arguments[0]) == _ALL


def _skips_pieces(source: EmittedText, statement: StatementText, minimum: Span) -> str | None:
    """The step of a loop over pieces up to the first operand of a minimum, where that is all of a name which
    does nothing but skip the pieces that begin behind it: each is computed as if there were no bound."""
    named = source.match(_NAMED, statement)
    if named is None or source.code[minimum.end : statement.span.end].strip() != ";":
        return None
    if source.code[named.end() : minimum.start].strip():
        return None
    own = source.functions[statement.function]
    uses = [
        each for each in own if each != statement and re.search(rf"\b{named[1]}\b", source.code_at(each.span))
    ]
    (limit, _), step = _operands(source, minimum), None
    for use in uses:
        guard = re.fullmatch(rf"if \((\w+) < {named[1]}\)\s*", source.code_at(use.span))
        body, loop = source.block(use), source.loop_over(use, guard[1] if guard else "")
        if body is None or loop is None or loop[2] != limit or "CrossCore" in source.code_at(body):
            return None
        step = loop[3]
    return step


def _operands(source: EmittedText, minimum: Span) -> tuple[str, str]:
    call = next(each for each in source.calls(minimum) if each.span == minimum)
    one, other = (source.one_line(each) for each in call.arguments)
    return one, other


def _is_hidden(source: EmittedText, statement: StatementText, call: CallText) -> bool:
    """Whether the second operand is where the last row ends, and a mask hides what each row has behind its
    own end: of the columns that are loaded, or of an item's keys."""
    other = source.one_line(call.arguments[1])
    loaded = _IN_REPEATS.match(other)
    named = source.match(_NAMED, statement)
    if loaded is not None and named is not None and named[1] in _COLUMNS:
        callers = callers_of(source)
        called = (each for each in source.functions if statement.function in callers.get(each, ()))
        names = (statement.function, *called)
        return _of_row(loaded[1]) in {each for name in names for each in _row_ends(source, name)}
    if _END.match(source.code, statement.span.start) and other.startswith("MaxOf(0, "):
        return _is_end_of_a_row(source, other)
    return False


def _is_end_of_a_row(source: EmittedText, end: str) -> bool:
    """Whether some function hides all keys of a row behind such an end."""
    return _of_row(end) in {each for name in source.functions for each in _row_ends(source, name)}


@kept
def _all_fills(source: EmittedText) -> dict[str, list[CallText]]:
    """The calls that make lanes of scores -inf, by function."""
    found: dict[str, list[CallText]] = {}
    for statement in source.statements:
        call = source.leading_call(statement)
        if call is not None and _FILLS.match(call.name) and len(call.arguments) > 3:
            of_scores = source.code_at(call.arguments[0]).lower().startswith("score")
            if of_scores and source.one_line(call.arguments[3]) == _HIDDEN:
                found.setdefault(statement.function, []).append(call)
    return found


def _row_ends(source: EmittedText, function: str) -> Iterator[str]:
    """Where rows end of which a function hides all keys behind that, as :func:`_of_row` writes it."""
    for fill in _all_fills(source).get(function, ()):
        begin, end = (source.one_line(each) for each in fill.arguments[1:3])
        mask = re.fullmatch(r"MinOf\(keys, MaxOf\(0, (.*) - firstKey\)\)", begin)
        if mask is not None and end == _ALL:
            yield f"MaxOf(0, {_OWNER.sub('', mask[1])})"


def _of_row(end: str) -> str:
    """The end of a last row, as that of any row is written: of its position, whatever keeps it."""
    if (place := _LAST_ROW.search(end)) is not None:
        rest = end[place.end() :]
        quotient = rest.find(" / work.heads")
        end = end[: place.start()] + "queryIndex" + rest[quotient + len(" / work.heads") :]
    end = _LAST_POSITION.sub(lambda match: "queryIndex +" if match[1] else "queryIndex + 1", end)
    return _OWNER.sub("", end)
