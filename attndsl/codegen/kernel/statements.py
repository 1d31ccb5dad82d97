"""Statements of a synchronised tree as AscendC lines.

Stages become member functions; their parameters are the scalars they take from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.base.errors import InternalError
from attndsl.codegen.names.members import constant, list_member, member, scalar
from attndsl.codegen.names.spelling import Spelling, memory_member, slot_member
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.expr import Const, Symbol
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.program import CORE_SCALARS, Program
from attndsl.tile.scalars import binds, free
from attndsl.tile.statements import (
    Alloc,
    Barrier,
    Collect,
    For,
    If,
    Let,
    Note,
    PickTensor,
    Seq,
    SetCrossFlag,
    SetEvent,
    Stage,
    Statement,
    WaitCrossFlag,
    WaitEvent,
)

_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Function:
    """A member function of the generated kernel class: a stage.

    ``parameters`` are declarations, in the order in which the kernel defines them; ``part`` names the
    attention whose stage it is, if there are several.
    """

    name: str
    doc: str
    parameters: tuple[str, ...]
    lines: tuple[str, ...]
    part: str = ""

    @property
    def stem(self) -> str:
        """What the function does, whichever attention's it is."""
        return self.name.removesuffix(self.part)


class Writer:
    """Writes the trees of one program; collects the functions that their stages become."""

    def __init__(self, program: Program, spelling: Spelling) -> None:
        self._spelling = spelling
        self._given = {field.name for field in program.tiling} | {scalar.name for scalar in CORE_SCALARS}
        defined = dict.fromkeys(name for item in program.statements() for name in binds(item))
        self._definitions = {name: place for place, name in enumerate(defined)}
        self.functions: list[Function] = []

    def body(self, tree: Seq) -> tuple[str, ...]:
        """The lines of a tree, one level in."""
        return tuple(_INDENT + line if line else line for line in self._lines(tree, ()))

    def _lines(self, statement: Statement, held: tuple[Buffer, ...]) -> Iterator[str]:
        if isinstance(statement, Seq):
            for child in statement.body:
                yield from self._lines(child, held)
        elif isinstance(statement, Instruction):
            yield from self._instruction(statement)
        elif isinstance(statement, Stage):
            yield self._call(statement, held)
        elif isinstance(statement, Note):
            yield f"// {statement.text}"
        elif isinstance(statement, Let):
            yield f"const int64_t {scalar(statement.symbol)} = {self._spelling.expr(statement.value)};"
        elif isinstance(statement, PickTensor):
            yield self._pick(statement)
        elif isinstance(statement, Collect):
            yield from self._collect(statement)
        elif isinstance(statement, For):
            yield from self._loop(statement, held)
        elif isinstance(statement, If):
            yield from self._branch(statement, held)
        elif isinstance(statement, Alloc):
            yield from self._lifetime(statement, held)
        elif isinstance(statement, Barrier):
            yield from self._barrier(statement)
        else:
            yield self._order(statement)

    def _instruction(self, item: Instruction) -> Iterator[str]:
        lines = item.text(self._spelling).split("\n")
        if len(lines) == 1:
            yield lines[0]
            return
        yield "{"
        yield from (_INDENT + line for line in lines)
        yield "}"

    def _pick(self, statement: PickTensor) -> str:
        tensor, index = statement.tensor, self._spelling.expr(statement.index)
        ctype = self._spelling.ctype(tensor)
        element = f"{list_member(tensor.name)}.GetDataPtr<{ctype}>(static_cast<uint32_t>({index}))"
        return f"{self._spelling.gm(tensor, 0)}.SetGlobalBuffer({element});"

    def _collect(self, statement: Collect) -> Iterator[str]:
        """The loop ends with the array full, which C++ has to look at before it looks at the condition."""
        count, index, array = scalar(statement.count), scalar(statement.index), statement.array
        begin, extent = (self._spelling.expr(bound) for bound in (statement.begin, statement.extent))
        more = f"{index} < {extent} && {count} < {array.capacity}"
        condition, left, spelled = statement.condition, f"{index}sToSkip", dict[str, str]()
        yield f"int64_t {count} = 0;"
        if not statement.skip.same(Const(0)):
            yield f"int64_t {left} = {self._spelling.expr(statement.skip)};"
            condition, spelled = condition & (Symbol(left) <= 0), {left: f"{left}--"}
        yield f"for (int64_t {index} = {begin}; {more}; ++{index}) {{"
        yield f"{_INDENT}if ({cxx_text(condition, spelled)}) {{"
        yield f"{_INDENT * 2}{member(array.name)}[{count}++] = {index};"
        yield f"{_INDENT}}}"
        yield "}"

    def _barrier(self, barrier: Barrier) -> Iterator[str]:
        call = f"PipeBarrier<PIPE_{barrier.pipe.value}>();"
        if barrier.when is None:
            yield call
            return
        yield f"if ({self._spelling.expr(barrier.when)}) {{"
        yield _INDENT + call
        yield "}"

    def _order(self, statement: Statement) -> str:
        if isinstance(statement, SetEvent):
            call = "WaitFlag" if isinstance(statement, WaitEvent) else "SetFlag"
            pair = f"{statement.source.value}_{statement.target.value}"
            return f"{call}<HardEvent::{pair}>({self._spelling.event(statement)});"
        if isinstance(statement, SetCrossFlag):
            name = constant(statement.name)
            return f"CrossCoreSetFlag<{statement.mode}, PIPE_{statement.pipe.value}>({name});"
        if isinstance(statement, WaitCrossFlag):
            return f"CrossCoreWaitFlag({constant(statement.name)});"
        raise InternalError(f"no text for {type(statement).__name__}")

    def _loop(self, loop: For, held: tuple[Buffer, ...]) -> Iterator[str]:
        var, end = scalar(loop.var), self._spelling.expr(loop.end)
        step = "++" + var if loop.step.same(Const(1)) else f"{var} += {self._spelling.expr(loop.step)}"
        yield f"for (int64_t {var} = {self._spelling.expr(loop.begin)}; {var} < {end}; {step}) {{"
        yield from self._inside(loop.body, held)
        yield "}"

    def _branch(self, branch: If, held: tuple[Buffer, ...]) -> Iterator[str]:
        yield f"if ({self._spelling.expr(branch.condition)}) {{"
        yield from self._inside(branch.then, held)
        if branch.otherwise is not None:
            yield "} else {"
            yield from self._inside(branch.otherwise, held)
        yield "}"

    def _lifetime(self, lifetime: Alloc, held: tuple[Buffer, ...]) -> Iterator[str]:
        if lifetime.buffers[0].slots == 1:
            yield from self._lines(lifetime.body, held)
            return
        slot = slot_member(lifetime.buffers)
        yield "{"
        for buffer in lifetime.buffers:
            place = f"{memory_member(buffer.space)}[{constant(buffer.name)} + {slot} * {_stride(buffer)}]"
            ctype = self._spelling.ctype(buffer)
            tensor = f"LocalTensor<{ctype}>"
            yield f"{_INDENT}{tensor} {buffer.name} = {place}.ReinterpretCast<{ctype}>();"
        yield from self._inside(lifetime.body, (*held, *lifetime.buffers))
        slots = lifetime.buffers[0].slots
        turn = f"{slot} ^= 1" if slots == 2 else f"{slot} = ({slot} + 1) % {slots}"
        yield f"{_INDENT}{turn};"
        yield "}"

    def _inside(self, body: Seq, held: tuple[Buffer, ...]) -> Iterator[str]:
        return (_INDENT + line if line else line for line in self._lines(body, held))

    def _call(self, stage: Stage, held: tuple[Buffer, ...]) -> str:
        for item in stage.walk():
            if isinstance(item, Instruction):
                outer = set(held) & {*item.reads(), *item.writes()}
                if outer:
                    raise InternalError(f"stage {stage.name} uses {outer.pop().name}, a slot of its caller")
        taken = (symbol for name, symbol in free(stage).items() if name not in self._given)
        scalars = tuple(sorted(taken, key=lambda symbol: self._definitions.get(symbol.name, -1)))
        if stage.name not in {function.name for function in self.functions}:
            parameters = tuple(f"int64_t {scalar(symbol)}" for symbol in scalars)
            lines = tuple(self._inside(stage.body, ()))
            self.functions.append(Function(stage.name, stage.doc, parameters, lines, stage.part))
        return f"{stage.name}({', '.join(scalar(symbol) for symbol in scalars)});"


def _stride(buffer: Buffer) -> str:
    return f"{constant(buffer.name)}Slot"
