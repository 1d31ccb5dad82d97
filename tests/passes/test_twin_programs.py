"""Of two kernels that differ in float16 and bfloat16 the passes make what they make of each alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

import pytest

import attndsl.compiler.compile as compile_module
from attndsl.base.errors import InternalError
from attndsl.codegen.kernel.dtype_parameter import twin
from attndsl.codegen.kernel_set.kernel_request import KernelRequest, wanted_specializations
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.lowering.errors import DoesNotFit, NotLowered, TooManyEvents
from attndsl.lowering.lower import first_draft
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.lowering.signature.specialization import Specialization
from attndsl.passes import twin_programs
from attndsl.passes.twin_programs import Finished, TwinPasses
from attndsl.spec.operator.loader import load, shipped_names
from attndsl.spec.operator.operator import Operator
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.operand_pairs import OperandPairs
from attndsl.tile.program import Program
from attndsl.tile.statements import Barrier, Seq, Statement, as_seq, rewrite, seq

OPERATORS = [each for name in shipped_names() for each in (load(name), *load(name).modes)]


class Counted(TwinPasses):
    """Counts the programs that go through all passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.count = 0
        run = twin_programs.all_passes

        def counting(lowered: Program) -> Finished:
            finished = run(lowered)
            self.count += 1
            return finished

        monkeypatch.setattr(twin_programs, "all_passes", counting)


class Equal(OperandPairs):
    """Whether programs are equal in everything, the author's lines with it."""

    def programs(self, first: Program, second: Program) -> bool:
        every = all(
            self.same(getattr(first, each.name), getattr(second, each.name)) for each in fields(first)
        )
        return every and not self.found

    def same_fields(self, first: object, second: object, but: frozenset[str] = frozenset()) -> bool:
        lines = getattr(first, "where", None) == getattr(second, "where", None)
        return lines and super().same_fields(first, second, but)


def check_equal(found: Compiled, alone: Compiled) -> None:
    assert (found.schedule, found.required) == (alone.schedule, alone.required)
    assert Equal().programs(found.joint, alone.joint)
    assert Equal().programs(found.program, alone.program)


def pairs(operator: Operator) -> Iterator[tuple[Specialization, Specialization]]:
    for wanted in wanted_specializations(operator, KernelRequest()):
        other = twin(operator, wanted.special)
        if other is not None and wanted.special.dtype != "bfloat16":
            yield wanted.special, other


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: each.name)
def test_twins_of_all_shipped_kernels_are_what_they_are_alone(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes, kernels = Counted(monkeypatch), 0
    for first, second in pairs(operator):
        try:
            like = compile_operator(operator, first, finish=passes)
        except NotLowered:
            continue
        kernels += 1
        alone = compile_operator(operator, second)
        check_equal(compile_operator(operator, second, finish=passes, like=like), alone)
        others = TwinPasses()  # and whichever of the two comes first
        like = compile_operator(operator, second, finish=others)
        check_equal(
            compile_operator(operator, first, finish=others, like=like), compile_operator(operator, first)
        )
    assert kernels and passes.count < 3 * kernels  # where all are alike: one of each order


@pytest.mark.parametrize("name", shipped_names())
def test_a_twin_is_what_it_is_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operator, passes = load(name), Counted(monkeypatch)
    first, second = next(pairs(operator))
    compile_operator(operator, first, finish=passes)
    before = passes.count
    found = compile_operator(operator, second, finish=passes)
    assert passes.count == before
    check_equal(found, compile_operator(operator, second))


def drafts_of(operator: Operator, special: Specialization, **how: object) -> tuple[Compiled, list[Schedule]]:
    """A kernel, and the schedules of the drafts that its compilation made."""
    tried: list[Schedule] = []

    def noting(computation, signature, schedule, device):
        tried.append(schedule)
        return first_draft(computation, signature, schedule, device)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_module, "first_draft", noting)
        return compile_operator(operator, special, **how), tried


def test_a_twin_does_not_search_for_its_schedule_again() -> None:
    operator, passes = load("self_attention"), TwinPasses()
    first, second = next(pairs(operator))
    like, tried = drafts_of(operator, first, finish=passes)
    assert len(tried) > 1 and tried[0] == like.begun != like.schedule == tried[-1]
    found, again = drafts_of(operator, second, finish=passes, like=like)
    assert again == [like.schedule]
    check_equal(found, compile_operator(operator, second))


def test_a_kernel_that_is_no_twin_searches_from_the_beginning() -> None:
    operator, passes = load("incre_flash_attention"), TwinPasses()
    first, second = next(pairs(operator))
    like = compile_operator(operator, first, finish=passes)
    other = replace(second, features=second.features | {"attn_mask"})
    found, tried = drafts_of(operator, other, finish=passes, like=like)
    assert tried[:2] == [like.schedule, found.begun]
    check_equal(found, compile_operator(operator, other))
    # nor one whose twin these passes do not know any more
    assert drafts_of(operator, second, finish=TwinPasses(), like=like)[1][0] == like.begun


def lowered_pair() -> tuple[Program, Program]:
    """What passes get for a kernel and its twin: drafts."""
    operator, given = load("incre_flash_attention"), list[Program]()

    def noting(draft: Program) -> Finished:
        given.append(draft)
        return twin_programs.all_passes(draft)

    for dtype in ("float16", "bfloat16"):
        special = Specialization(dtype=dtype, padded_head_size=64, features=frozenset({"attn_mask"}))
        compile_operator(operator, special, finish=noting)
    first, second = given
    return first, second


def with_first_instruction(program: Program, how: str) -> Program:
    """Another statement where the first instruction stands."""
    done = list[Instruction]()

    def change(statement: Statement) -> Statement:
        if done or not isinstance(statement, Instruction):
            return statement
        done.append(statement)
        if how == "twice":
            return seq(statement, replace(statement))
        return replace(statement, where=replace(statement.where, line=statement.where.line + 1))

    body = rewrite(program.body, change)
    assert body is not None and done
    return program.with_(body=as_seq(body))


def differing(program: Program) -> dict[str, Program]:
    constant, *constants = program.constants
    tensor, *parameters = program.parameters
    scalar, *tiling = program.tiling
    return {
        "a statement more": with_first_instruction(program, "twice"),
        "another line": with_first_instruction(program, "moved"),
        "a constant": program.with_(constants=(replace(constant, meaning="another"), *constants)),
        "another value": program.with_(tiling=(replace(scalar, value=scalar.value + 1), *tiling)),
        "another dtype": program.with_(parameters=(replace(tensor, dtype="float32"), *parameters)),
        "a workspace tensor less": program.with_(workspace=program.workspace[1:]),
    }


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("what", differing(lowered_pair()[0]))
def test_a_program_that_differs_in_anything_else_goes_through_the_passes(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = lowered_pair()
    asked = list[Program]()

    def noting(lowered: Program) -> Finished:
        asked.append(lowered)
        return lowered, lowered

    monkeypatch.setattr(twin_programs, "all_passes", noting)
    passes = TwinPasses()
    passes(first)
    passes(second)
    assert asked == [first]
    other = differing(second)[what]
    passes(other)
    assert asked[1:] == [other]


def test_one_statement_at_two_places_is_no_pair_of_statements() -> None:
    """Analyses tell statements apart as objects."""
    once = Barrier(pipe=next(item.pipe for item in lowered_pair()[0].instructions()))
    assert OperandPairs().same(Seq(body=(once, once)), Seq(body=(once, once)))
    two = Seq(body=(replace(once), replace(once)))
    assert OperandPairs().same(two, Seq(body=(replace(once), replace(once))))
    shared = replace(once)
    assert not OperandPairs().same(two, Seq(body=(shared, shared)))
    assert not OperandPairs().same(Seq(body=(shared, shared)), two)


@pytest.mark.parametrize("error", [TooManyEvents("M_V", 9, 8), DoesNotFit("UB", 9, 8, "x", "y")])
def test_what_lacks_room_is_not_tried_again(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = lowered_pair()
    tried = list[Program]()

    def failing(lowered: Program) -> Finished:
        tried.append(lowered)
        raise error

    monkeypatch.setattr(twin_programs, "all_passes", failing)
    passes = TwinPasses()
    for program in (first, second):
        with pytest.raises(type(error), match=re.escape(str(error))):
            passes(program)
    assert tried == [first]


def test_the_lowered_twin_is_verified() -> None:
    """An instruction that does not take bfloat16 is found, although the passes ran for float16."""
    first, second = lowered_pair()
    (half,) = (buffer for buffer in second.buffers() if buffer.name == "attnMaskHalf")
    wrong = twin_programs.Substitution({half: replace(half, dtype="bfloat16")}).program(second)
    passes = TwinPasses()
    passes(first)
    with pytest.raises(InternalError, match=r"after the passes of its twin: .*bfloat16"):
        passes(wrong)


@dataclass(frozen=True, kw_only=True)
class _Annotated(Program):
    """A program with the result of another pass."""

    last_use: Mapping[Buffer, tuple[Buffer, ...]] = field(default_factory=dict)


def test_a_field_of_a_new_pass_is_taken_over() -> None:
    program = lowered_pair()[1]
    half, other = program.buffers()[:2]
    values = {each.name: getattr(program, each.name) for each in fields(program)}
    annotated = _Annotated(**values, last_use={half: (other, half), other: ()})
    changed = replace(half, dtype="float32")
    found = twin_programs.Substitution({half: changed}).program(annotated)
    assert isinstance(found, _Annotated)
    assert found.last_use == {changed: (other, changed), other: ()}
    assert changed in found.buffers() and half not in found.buffers()
