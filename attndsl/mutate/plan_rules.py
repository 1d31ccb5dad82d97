"""Defects of the host's plan: batch mode, bucket edges, workspace, splits, strides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from attndsl.mutate.defects import COMPARISON, FLIPPED, Defect, Rule, flipped
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.planned_kernels import told_of_kernels
from attndsl.mutate.source_model import SourceModel, Span, StatementText, closing_brace

BATCH_MODE, BUCKET, WORKSPACE, SPLITS, PLAN_STRIDE = (
    "batch mode",
    "bucket edge",
    "workspace",
    "splits",
    "stride of the plan",
)
_HEAD_SIZE = re.compile(r"\bproblem\.(\w+) (>) \d+\s+&&\s+problem\.\1 (<=) \d+")
_PER_BLOCK = re.compile(r"\* (tiling\.blocks)\b")
_FIELD = re.compile(r"tiling\.(\w+) =")
_MODE = re.compile(r"\bBlocksWait\([^()]*\) \? (kBatchMode) : 0")
_WAITS = re.compile(r"return (.*?);", re.DOTALL)
_NAMED = re.compile(r"const bool (\w+) =\s*([^?]*&&[^?]*);", re.DOTALL)
_KEY = re.compile(r"\bKey::(\w+)")
_SWITCH = re.compile(r"switch \((problem\.\w+Layout)\)")
_CASE = re.compile(r"\bcase ((?:\w+::)*\w+):(?!:)")
_PICKED = re.compile(r"\bchoice\.kernel = kernels::(\w+)\(\);")
_COMPUTED = re.compile(r"\btiling\.(\w+) =")
_EQUAL = re.compile(r"(?<= )(==)(?= values::)")
_MEMBER, _USED = re.compile(r"\bchoice\.kernel\.(\w+) = ([^;]*);"), re.compile(r"(?<!\.)\bkernel\.(\w+)")
_TOLD = re.compile(r"(?<!\.)\bkernel\.(\w+) > 0\s*\?")
"""What decides by whether the plan is told something of a kernel, which is 0 otherwise."""
_GIVEN = re.compile(r"\bproblem\.(\w+Given) (==|!=) 0(\s*\?)?")


def _fields(source: EmittedText) -> Iterator[tuple[StatementText, str]]:
    """The statements that compute a field of the tiling data."""
    for statement in source.statements:
        match = _FIELD.match(source.code, statement.span.start)
        if match is not None:
            yield statement, match[1]


def batch_modes(source: EmittedText) -> Iterator[Defect]:
    """Blocks that wait for each other and are not launched together."""
    waiting = []
    for statement in source.statements:
        found = _WAITS.match(source.code, statement.span.start)
        if statement.function == "BlocksWait" and found and found[1] != "false":
            waiting.append(Span(*found.span(1)))
    for truth in waiting:
        yield Defect(BATCH_MODE, truth, "false")
        for match in COMPARISON.finditer(source.code, truth.start, truth.end):
            yield Defect(BATCH_MODE, Span(match.end() + 1, truth.end), "2")
    for match in _MODE.finditer(source.code) if waiting else ():
        yield Defect(BATCH_MODE, Span(*match.span(1)), "0")


def bucket_edges(source: EmittedText) -> Iterator[Defect]:
    """A head size at the edge of a kernel's bucket that goes to another kernel."""
    for statement in source.statements:
        span = statement.span
        for match in _HEAD_SIZE.finditer(source.code, span.start, span.end):
            for group in (2, 3):
                yield Defect(BUCKET, Span(*match.span(group)), FLIPPED[match[group]])


def workspaces(source: EmittedText) -> Iterator[Defect]:
    """A workspace that is one block short; parts that begin where the part before has not ended."""
    for statement, name in _fields(source):
        if name == "workspaceBytes" or name.endswith(("Offset", "Part")):
            span = statement.span
            for match in _PER_BLOCK.finditer(source.code, span.start, span.end):
                yield Defect(WORKSPACE, Span(*match.span(1)), "(tiling.blocks - 1)")
            for call in source.calls(span):
                if call.name == "RoundUp" and len(call.arguments) == 2:
                    yield Defect(WORKSPACE, call.arguments[0], f"({source.at(call.arguments[0])}) / 2")


def split_counts(source: EmittedText) -> Iterator[Defect]:
    """Another number of splits than there is room for, or work that the splits leave out."""
    for statement, name in _fields(source):
        if name in ("splits", "tasks", "items", "blocks"):
            yield from flipped(SPLITS, source, statement.span)
            for change in ("+ 1", "- 1"):
                yield _moved(SPLITS, source, statement, change)


def plan_strides(source: EmittedText) -> Iterator[Defect]:
    """A stride of a tensor that is off by one, or that of another layout."""
    for statement, name in _fields(source):
        if "Stride" not in name:
            continue
        span = statement.span
        for match in _EQUAL.finditer(source.code, span.start, span.end):
            yield Defect(PLAN_STRIDE, Span(*match.span(1)), "!=")
        yield _moved(PLAN_STRIDE, source, statement, "+ 1")
    for match in _SWITCH.finditer(source.code):
        yield Defect(PLAN_STRIDE, Span(*match.span(1)), f"({match[1]} ^ 1)")


def _moved(kind: str, source: EmittedText, statement: StatementText, change: str) -> Defect:
    """Another value of the field that a statement computes."""
    start = source.code.index("=", statement.span.start) + 1
    value = Span(start, source.code.rindex(";", start, statement.span.end))
    return Defect(kind, value, f" ({source.at(value).strip()}) {change}")


RULES: tuple[Rule, ...] = (batch_modes, bucket_edges, workspaces, split_counts, plan_strides)


def chosen_kernels(source: SourceModel, place: Span) -> tuple[str, ...]:
    """The tiling keys, of the kernels that a place of the plan is about; none of what is about all."""
    statement = source.statement_at(place.start)
    if statement is None or statement.function != "SelectKernel":
        return ()
    keys: dict[int, list[str]] = {}  # of each branch, by where the statement that picks among them begins
    for match in _KEY.finditer(source.code):
        picked = source.statement_at(match.start())
        if picked is not None:
            keys.setdefault(picked.span.start, []).append(match[1])
    starts = sorted(keys)
    if statement.is_head:
        fitting = [start for start in starts if start > place.start][:1]
    else:
        fitting = [start for start in starts if start <= place.start][-1:]
    return tuple(name for start in fitting for name in keys[start])


def computed_field(source: SourceModel, place: Span) -> str | None:
    """The field of the tiling data that a place of the plan computes."""
    statement = source.statement_at(place.start)
    match = None if statement is None else _FIELD.match(source.code, statement.span.start)
    return match[1] if match else None


def switched_fields(source: SourceModel, place: Span) -> frozenset[str]:
    """The fields that the cases of a switch compute, of a place in its head."""
    for match in _SWITCH.finditer(source.code):
        if match.start() <= place.start < match.end():
            opening = source.code.index("{", match.end())
            return frozenset(_COMPUTED.findall(source.code[opening : closing_brace(source.code, opening)]))
    return frozenset()


def kernels_of_function(source: SourceModel, place: Span) -> frozenset[str] | None:
    """The names of tiling keys whose kernels' tiling data the function around a place computes; None of what
    all plans run."""
    statement = source.statement_at(place.start)
    if statement is None:
        return None
    found = {
        name: {each.removeprefix("&") for each in members.values() if each.startswith("&")}
        for name, members in _told(source).items()
    }
    picked = {name for functions in found.values() for name in functions}
    using = {name for name in picked if statement.function in source.reached(name)}
    return frozenset(name for name, own in found.items() if own & using) if using else None


def is_read(source: SourceModel, field: str) -> bool:
    """Whether a plan reads a field of the tiling data that it computes."""
    return re.search(rf"\btiling\.{field}\b(?!\s*=[^=])", source.code) is not None


def kernels_of_case(source: SourceModel, place: Span) -> frozenset[str] | None:
    """The names of tiling keys whose kernels are picked for calls that take the case of a switch around a
    place; None of a place in no case."""
    for switch in _SWITCH.finditer(source.code):
        opening = source.code.find("{", switch.end())
        if opening < place.start < closing_brace(source.code, opening):
            case = next(reversed(list(_CASE.finditer(source.code, opening, place.start))), None)
            if case is None:
                return None
            heads = ((name, _asked(source, head)) for name, head, _ in _branches(source))
            return frozenset(name for name, head in heads if _lets(head, switch[1], case[1]))
    return None


def _lets(head: str, field: str, value: str) -> bool:
    """Whether what picks a kernel allows a value of a field."""
    told = re.findall(rf"\b{re.escape(field)} ([=!])= ([\w:]+)", head)
    wanted = [each for sign, each in told if sign == "="]
    return ("!", value) not in told and (not wanted or value in wanted)


def wanted_flags(source: SourceModel, place: Span) -> dict[str, bool]:
    """The flags of passed tensors, and their truth, with which a place of the plan decides something.

    These are the flags of the conditional expressions around it, and those for which blocks wait for each
    other, where it is about that.
    """
    statement = source.statement_at(place.start)
    if statement is None:
        return {}
    found = {}
    if _MODE.search(source.code, statement.span.start, statement.span.end):
        found = _of_waiting_blocks(source)
    for match in _GIVEN.finditer(source.code, statement.span.start, statement.span.end):
        if match[3] and match.end() <= place.start:
            colon = _other_branch(source.code, match.end() - 1)
            found[match[1]] = (match[2] == "!=") == (place.start < colon)
        elif statement.function == "BlocksWait":
            found[match[1]] = match[2] == "!="
    return found


def _of_waiting_blocks(source: SourceModel) -> dict[str, bool]:
    """The flags for which blocks wait for each other; none where something else may let them wait, too."""
    text = "".join(source.code_at(each.span) for each in source.functions.get("BlocksWait", ()))
    return {} if "||" in text else {match[1]: match[2] == "!=" for match in _GIVEN.finditer(text)}


def _other_branch(code: str, question: int) -> int:
    """Where the ``:`` of a ``?`` stands."""
    depth = 0
    for at in range(question, len(code)):
        if code[at] == "?":
            depth += 1
        elif code[at] == ":" and ":" not in (code[at - 1], code[at + 1]):
            depth -= 1
            if depth == 0:
                return at
    return len(code)


def selecting_flags(source: SourceModel) -> Mapping[str, Mapping[str, bool]]:
    """The flags of passed tensors, and their truth, that lead to a kernel, by names of tiling keys."""
    found = {}
    for name, head, _ in _branches(source):
        flags = _GIVEN.finditer(_asked(source, head))
        found[name] = {each[1]: each[2] == "!=" for each in flags}
    return found


def _asked(source: SourceModel, head: StatementText) -> str:
    """What the head of a branch asks for, with the conditions that it has together by one name."""
    text = source.code_at(head.span)
    inside = (source.code_at(each.span) for each in source.functions.get(head.function, ()))
    named = (match for each in inside if (match := _NAMED.match(each)))
    return " && ".join((text, *(match[2] for match in named if re.search(rf"\b{match[1]}\b", text))))


def members_of_kernels(source: SourceModel) -> Mapping[str, frozenset[str]]:
    """What the plan is told of a kernel, by names of tiling keys."""
    return {name: frozenset(members) for name, members in _told(source).items()}


def _told(source: SourceModel) -> Mapping[str, Mapping[str, str]]:
    """The values of what the plan is told of a kernel, by names of tiling keys: in the function that the
    branch names, and in the branch."""
    told, found = told_of_kernels(source.code), {}
    for name, _, body in _branches(source):
        text = source.code_at(body)
        picked = _PICKED.search(text)
        found[name] = {**(told[picked[1]] if picked else {}), **dict(_MEMBER.findall(text))}
    return found


def used_members(source: SourceModel, place: Span) -> frozenset[str]:
    """What the statement around a place uses of what it is told of a kernel, but for what it is not told
    where the place decides something."""
    statement = source.statement_at(place.start)
    used = frozenset(_USED.findall("" if statement is None else source.code_at(statement.span)))
    return used - untold_members(source, place)


def untold_members(source: SourceModel, place: Span) -> frozenset[str]:
    """What a plan is not told of a kernel where a place of it decides something: the place stands behind the
    colon of a conditional expression that asks for it."""
    statement = source.statement_at(place.start)
    if statement is None:
        return frozenset()
    return frozenset(
        match[1]
        for match in _TOLD.finditer(source.code, statement.span.start, place.start)
        if _other_branch(source.code, match.end() - 1) < place.start
    )


def _branches(source: SourceModel) -> Iterator[tuple[str, StatementText, Span]]:
    """The names of tiling keys, each with the head of the branch that picks it and what the branch does."""
    inside = source.functions.get("SelectKernel", ())
    heads = [each for each in inside if each.is_head]
    for match in _KEY.finditer(source.code):
        place = sum(each.span.start < match.start() for each in heads)
        if place:
            ends = heads[place].span.start if place < len(heads) else inside[-1].span.end
            yield match[1], heads[place - 1], Span(match.start(), ends)
