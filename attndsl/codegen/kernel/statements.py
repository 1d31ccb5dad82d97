"""Statements of a synchronized tree as AscendC lines.

Stages become member functions; their parameters are the scalars they take from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import zip_longest

from attndsl.base.errors import InternalError
from attndsl.codegen.kernel.function_text import Call, Function
from attndsl.codegen.kernel.grouped_statements import (
    binds_again,
    first_of_both,
    grouped,
    is_handshake,
    is_same_scalar,
    is_set_and_wait,
    why_pipes_meet,
    why_pipes_wait,
    with_joined_branches,
)
from attndsl.codegen.kernel.half_rows import STRUCT as HALF_STRUCT
from attndsl.codegen.kernel.half_rows import TAKEN, TAKEN_EARLIER, HalfRows
from attndsl.codegen.kernel.inside_statements import places_of, touched_here, touched_inside
from attndsl.codegen.kernel.item_decoding import (
    DECODED,
    FOUND,
    FUNCTION,
    STRUCT,
    ItemDecoding,
    ItemDecodings,
)
from attndsl.codegen.kernel.item_order import ORDER
from attndsl.codegen.kernel.kept_steps import (
    KEPT_ITEMS,
    is_otherwise,
    kept_member,
    kept_scalars,
    kept_struct,
    shared_earlier,
)
from attndsl.codegen.kernel.let_text import let_lines
from attndsl.codegen.kernel.partial_merges import PartialMerge, with_partial_merges
from attndsl.codegen.kernel.runtime_calls import call_of_branch, call_of_instruction, call_of_loop
from attndsl.codegen.kernel.shared_stages import SharedStages, keys_of
from attndsl.codegen.kernel.taken_structs import EARLIER_ITEM, taken_structs
from attndsl.codegen.names.members import (
    address_constant,
    list_member,
    member,
    scalar,
    size_constant,
    slots_constant,
)
from attndsl.codegen.names.spelling import Spelling, memory_member, slot_member
from attndsl.expr import Const, Scope
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.program import CORE_SCALARS, Program
from attndsl.tile.scalars import binds, defined, free, names_of, still_known
from attndsl.tile.statements import (
    BLOCK_MODE,
    DEVICE_MODE,
    Alloc,
    Barrier,
    Collect,
    Earlier,
    For,
    Handed,
    If,
    KeepScalars,
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
    only,
    outer_stages,
)

_Held = tuple[tuple[Buffer, ...], ...]
"""The groups of buffers with several slots whose lifetimes enclose a statement."""

_INDENT = "    "
_MODES = {BLOCK_MODE: "kBlockCores", DEVICE_MODE: "kAllCores"}
"""The runtime header's constants for the cores that wait for each other."""
_EARLIER, _EARLIER_SLOT = "earlier", "earlierSlot"
"""The locals that hold the scalars of an earlier step, and the slot of the step."""


class Writer:
    """Writes the trees of one program; collects the functions that their stages become.

    ``shared``: the stages that share functions.
    """

    def __init__(
        self,
        program: Program,
        spelling: Spelling,
        decodings: ItemDecodings | None = None,
        shared: SharedStages | None = None,
        halves: HalfRows | None = None,
    ) -> None:
        self._spelling = spelling
        self._halves = halves or HalfRows()
        self._decodings = decodings or ItemDecodings()
        self._architecture = program.device.architecture
        self._shared = shared or SharedStages()
        self._stages = self
        self._inner = self if shared is None else Writer(program, spelling.taking(shared.spelled))
        self._given = {field.name for field in program.fields} | {scalar.name for scalar in CORE_SCALARS}
        self._definitions = places_of(program.statements())
        self._read = {name for item in program.statements() for name in names_of(item)}
        self.functions: list[Function] = []

    def body(self, tree: Seq) -> tuple[str, ...]:
        """The lines of a tree, one level in."""
        decoding = () if self._decodings.order else (each.function for each in self._decodings.each)
        declared = self._shared.declarations((*outer_stages(tree), *decoding))
        lines = (*declared, *self._lines(tree, ()))
        return tuple(_INDENT + line if line else line for line in lines)

    def _lines(self, statement: Statement, held: _Held, scope: frozenset[str] | None = None) -> Iterator[str]:
        """``scope``: the names of the block that ends with the statement; None where more follows."""
        if isinstance(statement, Seq):
            yield from self._sequence(statement, held, scope)
        elif isinstance(statement, Instruction):
            yield from self._instruction(statement)
        elif isinstance(statement, Stage):
            yield self._call(statement, held)
        elif isinstance(statement, PartialMerge):
            yield statement.text(self._spelling)
        elif isinstance(statement, Note):
            yield f"// {statement.text}"
        elif isinstance(statement, Let):
            yield from let_lines(statement, self._spelling)
        elif isinstance(statement, PickTensor):
            yield self._pick(statement)
        elif isinstance(statement, Collect):
            yield from self._collect(statement)
        elif isinstance(statement, For):
            yield from self._loop(statement, held)
        elif isinstance(statement, Earlier):
            yield from self._earlier(statement, held)
        elif isinstance(statement, If):
            yield from self._branch(statement, held)
        elif isinstance(statement, Alloc):
            yield from self._lifetime(statement, held, scope)
        elif isinstance(statement, Barrier):
            yield from self._barrier(statement)
        else:
            yield self._order(statement)

    def _sequence(
        self,
        sequence: Seq,
        held: _Held,
        scope: frozenset[str] | None,
        before: Sequence[Let] = (),
    ) -> Iterator[str]:
        """The statements of a block. A scalar of the same value as another of the block is that one.

        ``before``: scalars that the block has already.
        """
        writer, known = self, list(before)
        body = list(with_partial_merges(list(with_joined_branches(sequence.body))))
        if scope is not None:
            scope |= {name for item in body for name in defined(item)}
        shared = shared_earlier(body)
        order = self._decodings.order
        unless: Statement | None = None
        groups = [*grouped(body)]
        for group, following in zip_longest(groups, groups[1:]):
            first = group[0]
            if isinstance(first, SetEvent) and is_set_and_wait(group):
                if following is not None and is_handshake(first, following[0]):
                    yield from why_pipes_wait(first)
                yield writer._event(first, writer._spelling.event(first), "SetAndWaitFlag")
            elif len(group) > 1:
                yield from writer._each_slot(group)
            elif order is not None and first in order.replaced:
                if order.begins(first):
                    yield order.declaration
                    writer = writer._spelled(writer._spelling.with_scalars(order.spelled(ORDER)))
            elif isinstance(first, Let):
                same = next((each for each in known if is_same_scalar(first, each)), None)
                if same is not None and not binds_again(body, first.symbol, same.symbol):
                    spelled = {first.symbol.name: writer._spelling.expr(same.symbol)}
                    writer = writer._spelled(writer._spelling.with_scalars(spelled))
                    continue
                yield from writer._lines(first, held)
                known.append(first)
            elif shared is not None and isinstance(first, KeepScalars):
                yield from writer._step(first, body)
                yield from writer._earlier_step(shared, always=True)
                writer = writer._of_half(TAKEN)
            elif isinstance(first, KeepScalars):
                yield from writer._step(first, body)
                writer = writer._of_half(TAKEN)
            elif shared is not None and following is not None and is_otherwise(first, following[0]):
                unless = first
            elif shared is not None and isinstance(first, Earlier):
                yield from writer._at_earlier(first, unless, held)
                unless = None
            else:
                yield from writer._lines(first, held, scope if first is body[-1] else None)
                known = still_known(known, first)

    def _each_slot(self, group: Sequence[Statement]) -> Iterator[str]:
        """Events with one id a slot, all slots of each in a row: a loop over the slots."""
        firsts = [item for item in group if isinstance(item, SetEvent) and item.slot == 0]
        slots = len(group) // len(firsts)
        yield f"for (int32_t slot = 0; slot < {slots_constant(slots)}; ++slot) {{"
        for item in firsts:
            yield _INDENT + self._event(item, f"{self._spelling.event(item)} + slot")
        yield "}"

    def _instruction(self, item: Instruction) -> Iterator[str]:
        lines = (call_of_instruction(item, self._spelling) or item.text(self._spelling)).split("\n")
        if len(lines) == 1:
            yield lines[0]
            return
        yield "{"
        yield from (_INDENT + line for line in lines)
        yield "}"

    def _pick(self, statement: PickTensor) -> str:
        tensor, index = statement.tensor, self._spelling.expr(statement.index)
        ctype = self._spelling.ctype(tensor)
        entries = self._spelling.list_of(tensor)
        # of an operand of the function, C++ does not know that it has templates
        method = "GetDataPtr" if entries == list_member(tensor.name) else "template GetDataPtr"
        element = f"{entries}.{method}<{ctype}>(static_cast<uint32_t>({index}))"
        return f"{self._spelling.gm(tensor, 0)}.SetGlobalBuffer({element});"

    def _collect(self, statement: Collect) -> Iterator[str]:
        """The loop ends with the array full, which C++ has to look at before it looks at the condition."""
        count, index, array = self._spelling.expr(statement.count), scalar(statement.index), statement.array
        place = "" if statement.place.same(Const(0)) else f"{self._spelling.expr(statement.place)} + "
        begin, extent = (self._spelling.expr(bound) for bound in (statement.begin, statement.extent))
        more = f"{index} < {extent} && {count} < {self._spelling.expr(array.most)}"
        takes, left = [f"{member(array.name)}[{place}{count}++] = {index};"], f"{index}sToSkip"
        yield f"{'int64_t ' if count == scalar(statement.count) else ''}{count} = 0;"
        if not statement.skip.same(Const(0)):
            yield f"int64_t {left} = {self._spelling.expr(statement.skip)};"
            skips = [f"if ({left} > 0) {{", f"{_INDENT}--{left};", "} else {"]
            takes = [*skips, *(_INDENT + line for line in takes), "}"]
        yield f"for (int64_t {index} = {begin}; {more}; ++{index}) {{"
        yield f"{_INDENT}if ({self._spelling.expr(statement.condition)}) {{"
        yield from (_INDENT * 2 + line for line in takes)
        yield f"{_INDENT}}}"
        yield "}"

    def _step(self, keep: KeepScalars, body: Sequence[Statement]) -> Iterator[str]:
        """What a step begins with."""
        yield from self._keep(keep)
        yield from self._half(body, TAKEN, DECODED)

    def _keep(self, keep: KeepScalars) -> Iterator[str]:
        steps, expr = keep.steps, self._spelling.expr
        slot, run, counter, runs = (expr(each) for each in (steps.slot, steps.run, steps.counter, steps.runs))
        _, single = kept_scalars(keep, self._decodings)
        yield f"const int64_t {slot} = {counter}++ % {expr(steps.depth)};"
        whole, _ = kept_scalars(keep, self._decodings)
        if any(symbol.same(steps.run) for symbol in single) or steps.runs.name in self._read:
            yield f"{runs} += {expr(keep.begins)};"
            if not whole:  # else known since the item was decoded
                yield f"const int64_t {run} = {runs} % {expr(steps.depth)};"
        for symbol in single:
            yield f"{kept_member(keep)}[{slot}].{scalar(symbol)} = {expr(symbol)};"

    def _earlier(self, earlier: Earlier, held: _Held) -> Iterator[str]:
        yield f"if ({self._spelling.expr(earlier.condition)}) {{"
        yield from (_INDENT + line for line in self._earlier_step(earlier, always=False))
        yield from self._of_earlier(earlier)._inside_earlier(earlier.then, held)
        yield "}"

    def _at_earlier(self, earlier: Earlier, unless: Statement | None, held: _Held) -> Iterator[str]:
        """Work with an earlier step whose locals the block has. ``unless``: what steps without one do."""
        writer, inner = self._of_earlier(earlier), only(earlier.then)
        asks = type(inner) is If and inner.otherwise is None and self._call_of(inner) is None
        more, then = (inner.condition, inner.then) if asks and isinstance(inner, If) else (None, earlier.then)
        if isinstance(unless, If):
            yield f"if ({self._spelling.expr(unless.condition)}) {{"
            yield from self._inside(unless.then, held)
            yield "} else {" if more is None else f"}} else if ({writer._spelling.expr(more)}) {{"
        else:
            condition = earlier.condition if more is None else earlier.condition & more
            yield f"if ({writer._spelling.expr(condition)}) {{"
        yield from writer._inside_earlier(then, held)
        yield "}"

    def _inside_earlier(self, then: Seq, held: _Held) -> Iterator[str]:
        yield from (_INDENT + line for line in self._half(then.body, TAKEN_EARLIER, EARLIER_ITEM))
        yield from self._of_half(TAKEN_EARLIER)._inside(then, held)

    def _half(self, body: Sequence[Statement], name: str, item: str) -> Iterator[str]:
        """The half of a step, where stages of a block take its scalars."""
        if self._halves.is_taken(body):
            yield f"const {HALF_STRUCT} {name} = {self._halves.call(item, self._spelling)};"

    def _of_half(self, name: str) -> Writer:
        """This writer with the scalars of the half of that name."""
        return self._spelled(self._spelling.with_scalars(self._halves.spelled(name)))

    def _earlier_step(self, earlier: Earlier, *, always: bool) -> Iterator[str]:
        """The locals of an earlier step. ``always``: also in steps that have none and look at none."""
        keep, expr = earlier.keep, self._spelling.expr
        depth, distance = (
            keep.steps.depth,
            Const(earlier.back) if earlier.distance is None else earlier.distance,
        )
        place = f"({expr(keep.steps.slot + depth - distance)}) % {expr(depth)}"
        if always:
            yield f"// The first {expr(distance)} steps have no earlier one, and do not look at it."
        if any(symbol.same(keep.steps.slot) for symbol in keep.scalars):
            yield f"const int64_t {_EARLIER_SLOT} = {place};"
            place = _EARLIER_SLOT
        yield f"const {kept_struct(keep)} &{_EARLIER} = {kept_member(keep)}[{place}];"
        if kept_scalars(keep, self._decodings)[0]:
            item = f"{KEPT_ITEMS}[{_EARLIER}.{scalar(keep.steps.run)}]"
            yield f"const {STRUCT} &{EARLIER_ITEM} = {item};"

    def _of_earlier(self, earlier: Earlier) -> Writer:
        """This writer with the scalars of an earlier step in place of those of this one."""
        keep = earlier.keep
        whole, _ = kept_scalars(keep, self._decodings)
        kept = {
            symbol.name: f"{EARLIER_ITEM if symbol.name in whole else _EARLIER}.{scalar(symbol)}"
            for symbol in keep.scalars
        }
        if keep.steps.slot.name in kept:
            kept[keep.steps.slot.name] = _EARLIER_SLOT
        rebound = {name for item in earlier.then.walk() for name in binds(item)} & kept.keys()
        if rebound:
            raise InternalError(f"an earlier step defines {', '.join(sorted(rebound))}, which it has kept")
        return self._spelled(self._spelling.with_scalars(kept))

    def _spelled(self, spelling: Spelling) -> Writer:
        """This writer with another spelling of what is written outside of stages."""
        found = copy(self)
        found._spelling = spelling
        return found

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
            return self._event(statement, self._spelling.event(statement))
        if isinstance(statement, SetCrossFlag):
            name = self._spelling.flag(statement.name)
            return f"CrossCoreSetFlag<{_MODES[statement.mode]}, PIPE_{statement.pipe.value}>({name});"
        if isinstance(statement, WaitCrossFlag):
            return f"CrossCoreWaitFlag({self._spelling.flag(statement.name)});"
        raise InternalError(f"no text for {type(statement).__name__}")

    def _event(self, event: SetEvent, number: str, call: str = "") -> str:
        call = call or ("WaitFlag" if isinstance(event, WaitEvent) else "SetFlag")
        return f"{call}<HardEvent::{event.source.value}_{event.target.value}>({number});"

    def _loop(self, loop: For, held: _Held) -> Iterator[str]:
        call = call_of_loop(loop, self._spelling)
        if call is not None:
            yield call
            return
        var, end = scalar(loop.var), self._spelling.expr(loop.end)
        step = "++" + var if loop.step.same(Const(1)) else f"{var} += {self._spelling.expr(loop.step)}"
        yield f"for (int64_t {var} = {self._spelling.expr(loop.begin)}; {var} < {end}; {step}) {{"
        if decodings := self._decodings.at(loop):
            yield from (_INDENT + line for line in self._decoded(loop, held, decodings))
        else:
            yield from self._inside(loop.body, held)
        yield "}"

    def _decoded(self, loop: For, held: _Held, decodings: Sequence[ItemDecoding]) -> Iterator[str]:
        """The body of a loop over items, which begins with what all cores decode alike; in a loop over the
        items of two attentions with the item of a place."""
        first, known = decodings[0], decodings[0].known()
        rest, call = first.rest(loop), self._decoding_call(first)
        if (order := self._decodings.order) is not None:
            place = next(at for at, each in enumerate(loop.body.body) if each in first.choice)
            rest, call, known = Seq(body=rest.body[place + 1 :]), order.call, []
        keeps = [item for item in loop.body.walk() if isinstance(item, KeepScalars)]
        if any(kept_scalars(keep, self._decodings)[0] for keep in keeps):
            runs, depth = (self._spelling.expr(each) for each in (keeps[0].steps.runs, keeps[0].steps.depth))
            yield "// The item takes this place when its first step begins."
            slot = scalar(keeps[0].steps.run)
            yield f"const int64_t {slot} = ({runs} + 1) % {depth};"
            yield f"{KEPT_ITEMS}[{slot}] = {call};"
            yield f"const {STRUCT} &{DECODED} = {KEPT_ITEMS}[{slot}];"
        else:
            yield f"const {STRUCT} {DECODED} = {call};"
        places = {name: each for decoding in decodings for name, each in decoding.spelled(DECODED).items()}
        writer = self._spelled(self._spelling.with_scalars(places))
        yield from writer._sequence(rest, held, frozenset((DECODED,)), known)

    def _decoding_call(self, decoding: ItemDecoding) -> str:
        given = (*self._shared.arguments(decoding.function), scalar(decoding.given))
        return f"{self._shared.name(decoding.function)}({', '.join(given)})"

    def decodings(self) -> Iterator[Function]:
        """The functions that decode items."""
        made = set[str]()
        for decoding in self._decodings.each:
            stage = decoding.function
            name, parameters = self._shared.name(stage), self._shared.parameters(stage)
            if name in made:
                continue
            made.add(name)
            spelling = (self._inner if stage.name in self._shared.functions else self)._spelling
            yield Function(
                name=name,
                doc=""
                if name == FUNCTION
                else f"An item of the attention over {keys_of(stage.attention_name)}.",
                parameters=(*parameters, f"int64_t {scalar(decoding.given)}"),
                lines=tuple(self._spelled(spelling)._decoding_lines(decoding)),
            )
        if (order := self._decodings.order) is not None:
            first, second = map(self._decoding_call, self._decodings.each)
            declared = self._shared.declarations(each.function for each in self._decodings.each)
            yield order.finding(self._spelling, STRUCT, declared, (first, second))

    def _decoding_lines(self, decoding: ItemDecoding) -> Iterator[str]:
        """The body of the function that decodes an item."""
        places = decoding.spelled(FOUND)
        writer = self._spelled(self._spelling.with_scalars(places))
        complete = len(decoding.members) == len(self._decodings.members)
        yield f"{STRUCT} {FOUND}{'' if complete else '{}'};"
        for item in decoding.statements:
            if isinstance(item, Let):
                yield from let_lines(item, writer._spelling, places.get(item.symbol.name))
            else:
                yield from writer._collect(item)
        yield f"return {FOUND};"

    def _branch(self, branch: If, held: _Held) -> Iterator[str]:
        call = self._call_of(branch) or self._call_of_either(branch, held)
        if call is not None:
            yield call
            return
        if (barrier := first_of_both(branch)) is not None and branch.otherwise is not None:
            yield from self._barrier(barrier)
            then, otherwise = (Seq(body=each.body[1:]) for each in (branch.then, branch.otherwise))
            yield from self._branch(replace(branch, then=then, otherwise=otherwise), held)
            return
        yield from why_pipes_meet(branch)
        yield f"if ({self._spelling.expr(branch.condition)}) {{"
        yield from self._inside(branch.then, held)
        if branch.otherwise is not None:
            alone = only(branch.otherwise)
            if isinstance(alone, If) and self._call_of(alone) is None:
                head, *rest = self._branch(alone, held)
                yield from (f"}} else {head}", *rest)
                return
            yield "} else {"
            yield from self._inside(branch.otherwise, held)
        yield "}"

    def _call_of(self, branch: If) -> str | None:
        return call_of_branch(branch, self._spelling, self._architecture)

    def _call_of_either(self, branch: If, held: _Held) -> str | None:
        """The call of a function that is the stage on both sides of a branch."""
        stages = only(branch.then), only(branch.otherwise)
        if type(branch) is not If or not all(isinstance(each, Stage) for each in stages):
            return None
        then, otherwise = (self._called(each, held) for each in stages if isinstance(each, Stage))
        if (then.name, then.given) != (otherwise.name, otherwise.given):
            return None
        choice = zip(then.operands, otherwise.operands, strict=True)
        operands = (f"{self._spelling.expr(branch.condition)} ? {one} : {other}" for one, other in choice)
        return f"{then.name}({', '.join((*operands, *then.given))});"

    def _lifetime(self, lifetime: Alloc, held: _Held, scope: frozenset[str] | None) -> Iterator[str]:
        """A block of its own, unless it ends with the block that it stands in and takes none of its names."""
        if lifetime.buffers[0].slots == 1:
            yield from self._lines(lifetime.body, held, scope)
            return
        inner = {name for item in lifetime.body.walk() for name in binds(item)}
        if scope is not None and not scope & inner:
            yield from self._slot(lifetime, held, scope)
            return
        yield "{"
        yield from (_INDENT + line if line else line for line in self._slot(lifetime, held, frozenset()))
        yield "}"

    def _slot(self, lifetime: Alloc, held: _Held, scope: frozenset[str]) -> Iterator[str]:
        """The current slots of a lifetime's buffers by name, what it does with them, and on to the next."""
        slot, touched = self._spelling.slot(lifetime.buffers), touched_here(lifetime.body)
        yield from (self._view(buffer, slot) for buffer in lifetime.buffers if buffer in touched)
        yield from self._lines(lifetime.body, (*held, lifetime.buffers), scope)
        if isinstance(lifetime, Handed):
            return
        yield f"{slot} = ({slot} + 1) % {slots_constant(lifetime.buffers[0].slots)};"

    def _view(self, buffer: Buffer, slot: str) -> str:
        """The current slot of a buffer by its name."""
        memory, first = memory_member(buffer.space), address_constant(buffer.name)
        place = f"{memory}, {first} + {slot} * {size_constant(buffer.name)}"
        return f"auto {buffer.name} = View<{self._spelling.ctype(buffer)}>({place});"

    def _inside(self, body: Seq, held: _Held) -> Iterator[str]:
        return (_INDENT + line if line else line for line in self._lines(body, held, frozenset()))

    def _call(self, stage: Stage, held: _Held) -> str:
        called = self._called(stage, held)
        return f"{called.name}({', '.join((*called.operands, *called.given))});"

    def _called(self, stage: Stage, held: _Held) -> Call:
        """What calls a stage's function, which is written if it is not yet."""
        stage = self._halves.rest(stage)
        touched = touched_inside(stage)
        outer = [
            self._view(buffer, slot_member(group)) for group in held for buffer in group if buffer in touched
        ]
        taken = (
            symbol
            for name, symbol in free(stage).items()
            if name not in self._given and symbol.scope is Scope.LOCAL
        )
        scalars = tuple(sorted(taken, key=lambda symbol: self._definitions.get(symbol.name, -1)))
        structs = tuple(taken_structs(scalars, self._members(stage), self._spelling))
        members = {name: text for struct in structs for name, text in struct.members.items()}
        scalars = tuple(symbol for symbol in scalars if symbol.name not in members)
        name = self._shared.name(stage)
        first = self._shared.functions.get(stage.name)
        known = next((function for function in self.functions if function.name == name), None)
        if known is None or first is None:
            parameters = (
                *(struct.parameter for struct in structs),
                *(f"int64_t {scalar(symbol)}" for symbol in scalars),
            )
            writer, written = (self._stages, stage) if first is None else (self._inner, first)
            writer = writer._spelled(writer._spelling.with_scalars(members))
            # parts of the stage take what it defines in its own order, whatever other stages define
            writer._definitions = {**self._definitions, **places_of(written.walk(), len(self._definitions))}
            declared = (*self._shared.declarations(outer_stages(written.body)), *outer)
            lines = (*(_INDENT + line for line in declared), *writer._inside(written.body, ()))
            made = Function(name, stage.doc, (*self._shared.parameters(stage), *parameters), lines)
            if known is None:
                self.functions.append(made)
            elif known != made:
                raise InternalError(f"two stages are called {stage.name}, and their texts differ")
        given = (*(struct.argument for struct in structs), *map(self._spelling.expr, scalars))
        return Call(name, self._shared.arguments(stage), given)

    def _members(self, stage: Stage) -> dict[str, Iterable[str]]:
        """The members of each struct that a stage's function may take: of items those that all have whose
        attentions share it."""
        shares = stage.name in self._shared.functions
        names = self._decodings.common if shares else self._decodings.names(stage.attention_name)
        return {STRUCT: names, HALF_STRUCT: self._halves.spelled(TAKEN)}
