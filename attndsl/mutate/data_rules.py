"""Defects of what instructions work on: strides, tails, masks, bounds, buffers, slots, rescaling."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from attndsl.base.facts import kept
from attndsl.mutate.defects import Defect, Rule, dropped, flipped
from attndsl.mutate.equal_sides import GROWTH, instead
from attndsl.mutate.guards import is_all_that_is_left, is_filled_behind, is_whole_group, needless
from attndsl.mutate.hidden_keys import harmless_operands, rounds_up_to_pieces
from attndsl.mutate.instructions import COUNT, LENGTH, EmittedText
from attndsl.mutate.instructions import STRIDE as DISTANCE
from attndsl.mutate.last_phase import after_all_blocks
from attndsl.mutate.lifetimes import is_multiple, is_scratch, known_constants, may_overlap
from attndsl.mutate.pieces import is_of_first_piece
from attndsl.mutate.slots import wrong_slot
from attndsl.mutate.source_model import CallText, Span, StatementText

STRIDE, TAIL, MASK, BOUND = "stride", "tail", "mask", "bound"
WRONG_SLOT, WRONG_BUFFER, STALE_RING = "wrong slot", "wrong buffer", "stale ring slot"
DROPPED_RESCALE = "dropped rescale"

_CONSTANT = re.compile(r"(?:k[A-Z]\w*|\d+)\Z")
_BLOCKS_OF_ROWS = re.compile(r"\* (kBlockLanes)\Z")
_SINGLE = re.compile(r"1\Z")
_PRODUCT = re.compile(r"(?:AscendC::)?Mul(?:Rows(?:<\d>)?)?\((?!rescale)(\w+), (?:\1, )?rescale\b")
_BLOCKS_OF, _STEP = re.compile(r"CeilDiv\((\w+), (k\w+)\)"), re.compile(r"MinOf\((k\w+), ")
_TILING_STRIDE = re.compile(r"\btiling_\.\w*Stride\w*")
_FROM_ZERO = re.compile(r"for \([^;=]*?= (0)\s*;")
_LOOP = re.compile(r"for \(int64_t (\w+) = \w+;\s+\1 < ([\w.]+);\s+\1 (?:\+= (.+)|\*= 2)\)\s*\Z")
_WHILE = re.compile(r"while \((\w+) < (\w+)()\)\s*\Z")
_BODY = re.compile(r"\s*\{\s*(?:PipeBarrier<\w+>\(\);\s*)?([^;{}]*);")
_MODES = {"LT": "LE", "LE": "LT", "GT": "GE", "GE": "GT", "EQ": "NE", "NE": "EQ"}
_MODE = re.compile(r"\bCMPMODE::(\w+)")
_OF_MAXIMA = re.compile(r"\(rowMax_\b")
_START = re.compile(r"Duplicate\(rowMax_\[[^\]]*\], 0\.0f, ")
_MEMBERS = re.compile(r"\bLocalTensor<(\w+)>\s+([\w,\s]+);")
_ADDRESS = re.compile(r"\b(k\w+) = (k\w+?)(\s*\+\s*(?:k\w+ \* )?k\w+SlotBytes)\b")
_SLOT_OF_HALF = re.compile(r"found\.halfSlot = (itemSlot)( \* kMostHalves \+ found\.halfOfTask;)")
_WARMS, _FIRST_ROW = re.compile(r"Warm[A-Z]"), re.compile(r"subBlock_ \* \w+\Z")
_GUARD = re.compile(r"if \(([\w.]+) (> 0)(?: && [^;{}|<>]*)?\)\s*\Z")
_LAST_TURN = re.compile(r"const int64_t item = MinOf\(turn,\s+tiling_\.items - 1\);")
_ITEM, _PART = re.compile(r"\bitem\b"), re.compile(r"\bitem [/%] tiling_\.tasks\b(?! \*)")
_NO_KEYS = re.compile(r"found\.keyEnd =\s+turn >= tiling_\.items\s+\? (?:0|found\.keyBegin)\s+:")
_SLOT = re.compile(r"\b(\w+) \+ (\w+Slot_)(?= \*)")
_BLOCKS = re.compile(r"tiling\.blocks = MaxOf\(1, MinOf\(tiling\.items, problem\.cores\)\);")


def _functions(source: EmittedText) -> Iterator[Span]:
    """The spans of all statements."""
    return (statement.span for statement in source.statements)


def _parameters(source: EmittedText) -> Iterator[tuple[Span, str, int]]:
    """The fields of instructions' parameters that mean something, with what they are and the least change
    that makes a difference: of a number that is counted in blocks or repeats, one of these."""
    for span in _functions(source):
        for call in source.calls(span):
            fields, units = source.instructions.fields_of(call), source.instructions.units_of(call)
            counts = [source.code_at(a) for a, f in zip(call.arguments, fields, strict=False) if f == COUNT]
            alone = any(_SINGLE.match(each) or _is_one_block(source, call, each) for each in counts)
            # the last half of the strides of a repeated instruction are between repeats
            between = len(fields) // 2 if _repeats_once(source, call) else len(fields)
            for place, (argument, field, unit) in enumerate(zip(call.arguments, fields, units, strict=False)):
                if field and not (field == DISTANCE and (alone or place >= between)):
                    whole = field == DISTANCE or _is_whole(source, argument)
                    yield argument, field, unit if whole else 1


def _is_one_block(source: EmittedText, call: CallText, count: str) -> bool:
    """Whether a number of rows is how many blocks hold a number for each row of a step, which has no more of
    them than a block."""
    blocks, around = _BLOCKS_OF.fullmatch(count), source.statement_at(call.span.start)
    if blocks is None or around is None:
        return False
    known, rows = known_constants(source), _meanings(source, around, blocks[1])
    steps = [_STEP.match(each) for each in rows]
    return bool(steps) and all(
        step is not None and 0 < known.get(step[1], 0) <= known.get(blocks[2], 0) for step in steps
    )


def _meanings(source: EmittedText, statement: StatementText, name: str) -> list[str]:
    """What a constant is given in front of a statement of its function, each time that there is one of that
    name."""
    stands = re.compile(rf"const int64_t {re.escape(name)} = ([^;]*);\Z")
    own = (each for each in source.functions[statement.function] if each.span.start < statement.span.start)
    return [match[1] for each in own if (match := stands.match(source.code_at(each.span)))]


def _is_whole(source: EmittedText, argument: Span) -> bool:
    """Whether a number is one of whole blocks or repeats: a constant, or what a helper is given and gives on
    to one that works on whole ones, as its comment promises."""
    text = source.at(argument)
    around = source.statement_at(argument.start)
    if _CONSTANT.match(text) or around is None or around.function not in source.instructions.helpers:
        return _CONSTANT.match(text) is not None
    start = source.code.rindex("{", 0, source.functions[around.function][0].span.start)
    signature = source.code[:start].rpartition(f"{around.function}(")[2]
    return re.search(rf"\bint64_t {re.escape(text)}\s*[,)]", signature) is not None


def _repeats_once(source: EmittedText, call: CallText) -> bool:
    """Whether parameters of repeats are those of an instruction with a single one."""
    return call.name.endswith("RepeatParams") and source.code[: call.span.start].rstrip().endswith(", 1,")


def strides(source: EmittedText) -> Iterator[Defect]:
    """A stride of an instruction, or of a tensor in an address, one too large.

    Not how rows lie apart in a buffer from which something is stored ahead for L2: nothing reads that. Nor
    from one piece of a tile to the next, of tiles that have one.
    """
    for argument, field, unit in _parameters(source):
        if field == DISTANCE and not _warms_from(source, argument):
            yield Defect(STRIDE, argument, f"{source.at(argument)} + {unit}")
    for span in _functions(source):
        for match in _TILING_STRIDE.finditer(source.code, span.start, span.end):
            if is_of_first_piece(source, match.start()):
                continue
            yield Defect(STRIDE, Span(*match.span()), f"({match[0]} + 1)")


def _warms_from(source: EmittedText, argument: Span) -> bool:
    """Whether an argument is the pitch of the rows that something brought to L2 ahead is stored from."""
    around = source.statement_at(argument.start)
    if around is None or not _WARMS.match(around.function):
        return False
    call = source.leading_call(around)
    return call is not None and call.name == "StoreRows" and call.arguments[-1] == argument


def tails(source: EmittedText) -> Iterator[Defect]:
    """A last tile taken for a whole one, or the other way; a length that is not rounded; one row too many or
    too few.

    What is read ahead for L2 is used nowhere, and a core whose rows begin behind the last has none. Columns
    of a product after the last key are stored because they may be; what stands there is no product of keys in
    any case. No more blocks are launched than there are items, where the plan says so. The turn that drains
    the pipeline has no keys, whatever its item would be. Other minima that guard against nothing, and lanes
    that are filled afterwards, :mod:`attndsl.mutate.guards` tells; of these a row has a key less. Of blocks
    of rows, whose lanes are alike, the last one is left out.
    """
    launched = _launched(source)
    for statement in source.statements:
        span = statement.span
        if _WARMS.match(statement.function):
            continue
        leading = source.leading_call(statement)
        stores = leading is not None and source.pipe_of(leading) == "FIX"
        for call in source.calls(span):
            if len(call.arguments) != 2:
                continue
            one, other = (source.at(each) for each in call.arguments)
            if _CONSTANT.match(one) and _CONSTANT.match(other):
                continue  # what divides without a rest has no tail
            if call.name in ("CeilDiv", "RoundUp") and (
                _divides(source, call, one, other) or _is_rounded_up(source, one, other)
            ):
                continue
            if call.name == "CeilDiv" and _is_one(source, other):
                continue
            if call.name == "MinOf":
                yield from _minima(source, call, is_launched=(one, other) == launched)
            elif call.name == "CeilDiv":
                yield Defect(TAIL, call.span, f"(({one}) / ({other}))")
            elif call.name == "RoundUp" and not (
                stores or _divided(source, call, other) or rounds_up_to_pieces(source, call)
            ):
                yield Defect(
                    TAIL, call.span, f"({one} - 1)" if is_filled_behind(source, call) else f"({one})"
                )
    for argument, field, unit in _parameters(source):
        around = source.statement_at(argument.start)
        warms = around is not None and _WARMS.match(around.function)
        if field in (COUNT, LENGTH) and not warms:
            blocks = _BLOCKS_OF_ROWS.search(source.code_at(argument))
            yield Defect(TAIL, argument, f"{source.at(argument)} - {blocks[1] if blocks else unit}")


def _minima(source: EmittedText, call: CallText, is_launched: bool) -> Iterator[Defect]:
    """A minimum as one of its operands, where that is a defect."""
    one, other = (source.at(each) for each in call.arguments)
    harmless = harmless_operands(source, call)
    guarded = 0 in harmless or _FIRST_ROW.match(one) or _drains(source, call) or needless(source, call)
    if not guarded:
        yield Defect(TAIL, call.span, f"({one} + 1)" if is_whole_group(source, call) else f"({one})")
    if not (1 in harmless or is_launched or is_all_that_is_left(source, call)):
        yield Defect(TAIL, call.span, f"({other})")


def _drains(source: EmittedText, call: CallText) -> bool:
    """Whether a minimum keeps the turn after the last to an item, and what is decoded of another one is used
    nowhere: it has no keys, and each part of its number comes from a quotient or a remainder."""
    statement = source.statement_at(call.span.start)
    if statement is None or not source.match(_LAST_TURN, statement):
        return False
    inside = [source.code_at(each.span) for each in source.functions[statement.function]]
    uses = sum(len(_ITEM.findall(each)) for each in inside) - 1
    parts = sum(len(_PART.findall(each)) for each in inside)
    return uses == parts and any(_NO_KEYS.match(each) for each in inside)


def _launched(source: EmittedText) -> tuple[str, str] | None:
    """The operands of a minimum that is the second, as the plan proves: blocks are no more than items. Of a
    launch without items the one block has a turn that does nothing."""
    return ("tiling_.items", "blockCount_") if _BLOCKS.search(source.plan) else None


def _divides(source: EmittedText, call: CallText, name: str, unit: str) -> bool:
    """Whether a name stands for a constant of the schedule that is a multiple of another."""
    around = source.statement_at(call.span.start)
    if around is None:
        return False
    values = _meanings(source, around, name)
    return bool(values) and is_multiple(source, values[-1], unit)


def _is_rounded_up(source: EmittedText, number: str, unit: str) -> bool:
    """Whether a number has been rounded up to a constant that is a multiple of another."""
    whole = re.fullmatch(r"RoundUp\([^()]*, (k\w+)\)", " ".join(number.split()))
    return whole is not None and is_multiple(source, whole[1], unit)


def _is_one(source: EmittedText, divisor: str) -> bool:
    """Whether a divisor is a field that the plan sets to 1 in any case."""
    return set(source.given_by_plan(divisor)) == {"1"}


def _divided(source: EmittedText, call: CallText, unit: str) -> bool:
    """Whether the rest up to a multiple of ``unit`` is divided by it, which needs no rounding."""
    before, after = source.code[: call.span.start].rstrip(), source.code[call.span.end :]
    return before.endswith("-") and re.match(rf"\)\s*/ {re.escape(unit)}\b", after) is not None


def masks(source: EmittedText) -> Iterator[Defect]:
    """A mask that begins a lane late, is not applied, or compares the other way.

    A maximum that starts at 0; where maxima are 0 themselves, at the largest number.
    """
    for statement in source.statements:
        span, code = statement.span, source.code_at(statement.span)
        for match in _MODE.finditer(source.code, span.start, span.end):
            if match[1] in _MODES:
                yield Defect(MASK, Span(*match.span(1)), _MODES[match[1]])
        call = source.leading_call(statement)
        if call is not None and any(source.code_at(each) == "mask" for each in call.arguments):
            yield dropped(MASK, span)
        if call is not None and call.name in ("FillLanes", "FillInterval", "FillIntervalOfRows"):
            first_lane = call.arguments[1].start
            yield Defect(MASK, Span(first_lane, first_lane), "1 + ")
            yield dropped(MASK, span)
        if call is not None and call.name == "Select":
            yield dropped(MASK, span)
        if (lowest := code.find("float(kLowest)")) >= 0:
            start = span.start + lowest
            start_of_maximum = "float(-kLowest)" if has_no_maxima(source) else "float(0)"
            yield Defect(MASK, Span(start, start + len("float(kLowest)")), start_of_maximum)


@kept
def has_no_maxima(source: EmittedText) -> bool:
    """Whether the maxima of all rows are 0, so that 0 is as good a start as any below, and factors that sums
    are rescaled by are 1."""
    starts = [
        _START.match(source.code, each.span.start)
        for each in source.statements
        if _OF_MAXIMA.search(source.code_at(each.span))
    ]
    return bool(starts) and all(each is not None for each in starts)


def bounds(source: EmittedText) -> Iterator[Defect]:
    """A comparison that takes one more or one less; a loop that starts at 1.

    A loop that works on as much as is left does nothing once more: it ends one step early. Nor does work on a
    number of rows that is 0, so that what asks whether there are any takes one less; what asks whether a step
    is the first of its loop, a step less. Of what is brought to L2 ahead nothing is used: there, bounds of
    what sets flags count alone.
    """
    for statement in source.statements:
        span = statement.span
        if _WARMS.match(statement.function) and _sets_nothing(source, statement):
            continue
        guard = _GUARD.match(source.code, span.start, span.end) if statement.is_head else None
        if guard is not None:
            loop = source.loop_over(statement, guard[1])
            yield Defect(BOUND, Span(*guard.span(2)), f"> {1 if loop is None else loop[3]}")
        elif rest := _takes_the_rest(source, statement):
            yield rest
        else:
            changed = (instead(source, statement, each) for each in flipped(BOUND, source, span))
            yield from (each for each in changed if each is not None)
        first = _FROM_ZERO.match(source.code, span.start, span.end) if statement.is_head else None
        if first is not None:
            yield Defect(BOUND, Span(*first.span(1)), "1")


def _sets_nothing(source: EmittedText, head: StatementText) -> bool:
    """Whether a statement is a head whose block has no flag and no event."""
    block = source.block(head)
    return block is not None and "Flag" not in source.code_at(block)


def _takes_the_rest(source: EmittedText, head: StatementText) -> Defect | None:
    """Of a loop whose body begins with the minimum of a step and of what is left, or that goes on by one: one
    step less."""
    if (last := _runs_out(source, head)) is not None:
        return last
    loop, body = source.match(_LOOP, head), _BODY.match(source.code, head.span.end)
    if loop is None or body is None:
        return None
    variable, end, step = loop[1], loop[2], loop[3] or loop[1]
    if f"MinOf({step}, {end} - {variable})" not in " ".join(body[1].split()):
        return None
    return Defect(BOUND, Span(loop.end(2), loop.end(2)), f" - {step}")


def _runs_out(source: EmittedText, head: StatementText) -> Defect | None:
    """Of a loop that goes on by the minimum of the rest of a run and of what is left, which would never end
    where nothing is: without the steps in the last run of rows."""
    loop, block = source.match(_WHILE, head), source.block(head)
    if loop is None or block is None:
        return None
    body = source.code_at(block)
    step = re.search(rf"\b(\w+) =\s+MinOf\((\w+) - \w+ % \2, {loop[2]} - {loop[1]}\);", body)
    if step is None or not re.search(rf"\b{loop[1]} \+= {step[1]};\s*\Z", body):
        return None
    return Defect(BOUND, Span(*loop.span(3)), f" - {step[2]}")


def wrong_slots(source: EmittedText) -> Iterator[Defect]:
    """The other slot of a buffer that several places take, or one that does not change
    (:mod:`attndsl.mutate.slots`).

    Where a single place does, slots are numbered another way and no more; so are those that never change.
    What comes after a flag of all blocks takes no buffer that work before it still has: it counts on its own.
    """
    late = after_all_blocks(source)
    found = [
        (match, statement)
        for statement in source.statements
        for match in _SLOT.finditer(source.code, statement.span.start, statement.span.end)
    ]
    counts = Counter((match[1], statement.function in late) for match, statement in found)
    for match, statement in found:
        if counts[match[1], statement.function in late] > 1:
            after = wrong_slot(source, statement, match[1], match[2])
            yield Defect(WRONG_SLOT, Span(*match.span(2)), after)


def wrong_buffers(source: EmittedText) -> Iterator[Defect]:
    """Another buffer of the same type as an operand; in the header of a schedule, buffers that overlap.

    Not where the buffers are never in use together: :mod:`attndsl.mutate.lifetimes` tells. Nor as what takes
    by how much maxima may grow before sums are rescaled: without that they are rescaled more often.
    """
    kin: dict[str, list[str]] = {}
    for match in _MEMBERS.finditer(source.code):
        names = [name.strip() for name in match[2].split(",")]
        kin.setdefault(match[1], []).extend(name for name in names if name.endswith("_"))
    beside = {
        name: group[(place + 1) % len(group)]
        for group in (sorted(each) for each in kin.values())
        for place, name in enumerate(group)
        if len(group) > 1 and not name.startswith(("l0", "l1", "ub"))
    }
    for statement in source.statements:
        call = source.leading_call(statement)
        if call is None or source.pipe_of(call) not in ("V", "MTE2", "MTE3"):
            continue
        for argument in call.arguments:
            name = re.match(r"\w+", source.code_at(argument))
            if name is not None and name[0] in beside:
                if is_scratch(source, argument.start, name[0], beside[name[0]]):
                    continue
                if argument == call.arguments[0] and _allows_growth(source, statement, beside[name[0]]):
                    continue
                place = Span(argument.start, argument.start + len(name[0]))
                yield Defect(WRONG_BUFFER, place, beside[name[0]])
    for match in _ADDRESS.finditer(source.code):
        if source.statement_at(match.start()) is None and not may_overlap(
            source, match[1], match[3].lstrip(" +")
        ):
            yield Defect(WRONG_BUFFER, Span(*match.span(3)), "")


def _allows_growth(source: EmittedText, statement: StatementText, other: str) -> bool:
    """Whether an instruction takes from maxima what they may grow by, and its function fills the other buffer
    before it reads it, behind that."""
    if not source.match(GROWTH, statement):
        return False
    own = source.functions[statement.function]
    users = [each for each in own if re.search(rf"\b{other}", source.code_at(each.span))]
    filling = source.leading_call(users[0]) if users else None
    if filling is None or users[0].span.start < statement.span.end:
        return False
    return source.code_at(filling.arguments[0]) == other and source.code_at(users[0].span).count(other) == 1


def stale_rings(source: EmittedText) -> Iterator[Defect]:
    """A slot of a ring, or the scalars of a step, other than the ones that the stage is given; what is added
    to a slot put in its place, or what should be put there added."""
    slot = re.compile(
        r"(?<![\w.])(slot|itemSlot|taskHalf\.halfSlot)(?= \* \w)|(?<=\bRingRow\()([\w.]+)(?=, )"
    )
    step = re.compile(r"\(slot \+ kRing - kPrefetch()\)")
    for statement in source.statements:
        span = statement.span
        for match in slot.finditer(source.code, span.start, span.end):
            if _is_numbered_here(source, span.start, match):
                continue
            yield Defect(STALE_RING, Span(*match.span()), f"(({match[0]} + kRing - 1) % kRing)")
        for match in step.finditer(source.code, span.start, span.end):
            yield Defect(STALE_RING, Span(*match.span(1)), " + 1")
        call = source.leading_call(statement)
        if call is not None and call.name in ("SetAtomicAdd", "SetAtomicNone"):
            yield dropped(STALE_RING, span)


def _is_numbered_here(source: EmittedText, start: int, slot: re.Match[str]) -> bool:
    """Whether a slot of a half is made of a slot of its item, in the one function that does it for all: from
    another slot, slots of halves are numbered another way."""
    made = _SLOT_OF_HALF.match(source.code, start)
    return made is not None and made.start(1) == slot.start() and source.code.count(made[2]) == 1


def dropped_rescales(source: EmittedText) -> Iterator[Defect]:
    """An instruction left out that computes a rescaling factor or multiplies by one."""
    for statement in source.statements:
        call = source.leading_call(statement)
        if call is None or "rescale" not in source.code_at(statement.span).lower():
            continue
        if source.pipe_of(call) == "V":
            yield dropped(DROPPED_RESCALE, statement.span)


def multiplies_by_rescale(source: EmittedText, defect: Defect) -> bool:
    """Whether a defect leaves out an instruction that multiplies by a rescaling factor."""
    return defect.kind == DROPPED_RESCALE and _PRODUCT.match(source.code, defect.span.start) is not None


RULES: tuple[Rule, ...] = (
    strides,
    tails,
    masks,
    bounds,
    wrong_slots,
    wrong_buffers,
    stale_rings,
    dropped_rescales,
)
