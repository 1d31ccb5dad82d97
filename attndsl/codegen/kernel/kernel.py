"""A compiled specialization as the data that the kernel templates print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from attndsl.codegen.kernel.constant_text import ConstantText
from attndsl.codegen.kernel.dtype_parameter import dtype_parameter, text_name
from attndsl.codegen.kernel.event_legend import event_legend, flag_legend
from attndsl.codegen.kernel.function_text import Function
from attndsl.codegen.kernel.half_rows import half_rows
from attndsl.codegen.kernel.item_decoding import ItemDecodings, item_decodings
from attndsl.codegen.kernel.kept_steps import KeptSteps, kept_steps
from attndsl.codegen.kernel.list_decoding import DecodedLists, decoding_lines, list_decodings
from attndsl.codegen.kernel.schedule_header import (
    MemoryTable,
    ScheduleText,
    memories,
    number_constants,
    schedule_file,
    schedule_text,
)
from attndsl.codegen.kernel.shared_stages import (
    AttentionOperands,
    Member,
    SharedStages,
    keys_of,
    shared_stages,
)
from attndsl.codegen.kernel.statements import Writer
from attndsl.codegen.names.arguments import Names, names_of
from attndsl.codegen.names.identifiers import comment, pascal
from attndsl.codegen.names.members import constant, gm_member, list_member, member, scalar
from attndsl.codegen.names.spelling import PARAMETER, Spelling, slot_member
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.codegen.text.line_breaks import in_columns
from attndsl.codegen.text.scalar_helpers import Helper, kernel_helpers
from attndsl.compiler.compile import Compiled, signature_of
from attndsl.expr import Compare, Const, as_expr
from attndsl.expr.argument_facts import LAYOUT, asks
from attndsl.expr.conditions import conjuncts
from attndsl.lowering.emit.loop_scalars import HALVES, KEY_STEPS, TILES
from attndsl.lowering.match.schedule_options import NARROW_SCORES
from attndsl.lowering.signature.specialization import (
    Specialization,
    decisions_of,
    feature_names,
)
from attndsl.spec.contract.contract import Contract
from attndsl.spec.operator.specialization_parameters import spelled
from attndsl.target import Core, Pipe
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.operand_pairs import DTYPES
from attndsl.tile.pipeline_skew import named_lag
from attndsl.tile.program import Program
from attndsl.tile.scalars import tensors_used
from attndsl.tile.statements import (
    Alloc,
    Collect,
    EitherStage,
    Handed,
    If,
    Let,
    Pipelined,
    SetCrossFlag,
    SetEvent,
    Stage,
    WaitCrossFlag,
    outer_stages,
)

_DECLARED = 96
"""Columns of a line of declarations."""
_LEGEND = 95
"""Columns of a line about stages, behind the star that a comment begins with."""
CXX_SCALARS = {"int64": "int64_t", "float32": "float"}


@dataclass(frozen=True, slots=True)
class TensorMember:
    """A GlobalTensor member: its element type and the address expression it is set to.

    ``list_name``: the member that decodes the list it is an element of, if it is one.
    """

    name: str
    ctype: str
    base: str
    meaning: str
    list_name: str = ""


@dataclass(frozen=True, slots=True)
class ArrayMember:
    """An array of scalars that is a member of the kernel."""

    name: str
    size: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class KernelText:
    """Everything the kernel template prints."""

    name: str
    parameter: str
    class_name: str
    tiling_struct: str
    tiling_header: str
    schedule_header: str
    guard: str
    summary: str
    document: str
    spec_file: str
    specialization: tuple[str, ...]
    pipeline: tuple[str, ...]
    arguments: tuple[str, ...]
    unread: str
    constants: tuple[ConstantText, ...]
    memories: tuple[MemoryTable, ...]
    event_legend: str
    events: tuple[tuple[str, tuple[ConstantText, ...]], ...]
    flag_legend: str
    flags: tuple[ConstantText, ...]
    tensors: tuple[TensorMember, ...]
    lists: tuple[DecodedLists, ...]
    item: tuple[str, ...]
    order: tuple[str, ...]
    ordering: tuple[Function, ...]
    decodings: tuple[Function, ...]
    half: tuple[str, ...]
    half_parameters: tuple[str, ...]
    half_lines: tuple[str, ...]
    buffers: tuple[str, ...]
    slots: tuple[str, ...]
    arrays: tuple[ArrayMember, ...]
    kept: tuple[KeptSteps, ...]
    members: tuple[Member, ...]
    operands: tuple[AttentionOperands, ...]
    cube_functions: tuple[Function, ...]
    vector_functions: tuple[Function, ...]
    cube: tuple[str, ...]
    vector: tuple[str, ...]
    helpers: tuple[Helper, ...]

    def memories_of(self, core: str) -> tuple[MemoryTable, ...]:
        """The memories of a kind of core."""
        return tuple(memory for memory in self.memories if memory.core == core)

    def list_lines(self, core: str) -> tuple[str, ...]:
        """What decodes the lists that a kind of core alone reads; those of both for an empty name."""
        return decoding_lines([each for each in self.lists if each.core == core])


def class_name(names: Names) -> str:
    """The class that is an operator's kernel, in the namespace of each text."""
    return f"{pascal(names.op)}Kernel"


def kernel_text(compiled: Compiled, others: Sequence[Compiled] = (), name: str = "") -> KernelText:
    """The kernel of a compiled specialization; ``others``: those that have the same program and its text.

    ``name``: the namespace, if it is not named after the specialization.
    """
    name = name or text_name(compiled)
    program, parameter = compiled.program, dtype_parameter(compiled)
    spelling = _spelling(compiled)
    decodings = item_decodings(program)
    tensors = (*program.parameters, *program.workspace)
    ctypes = {tensor: spelling.ctype(tensor) for tensor in tensors}
    shared = shared_stages(program, ctypes, [decoding.function for decoding in decodings.each])
    halves = half_rows(program, decodings)
    cube, vector = (Writer(program, spelling, decodings, shared, halves) for _ in range(2))
    bodies = (cube.body(program.cores[Core.AIC]), vector.body(program.cores[Core.AIV]))
    helpers = (*kernel_helpers(spelling.expressions), *spelling.ring_rows)
    names = names_of(compiled.operator)
    return KernelText(
        name=name,
        parameter="" if parameter is None else PARAMETER,
        class_name=class_name(names),
        tiling_struct=names.tiling,
        tiling_header=f"{names.op}_tiling.h",
        guard=f"ATTNDSL_{name.upper()}_H",
        summary=comment(program.summary or compiled.operator.name),
        document=comment(compiled.operator.document),
        spec_file=comment(compiled.operator.spec_file),
        specialization=tuple(_specializations((compiled, *others))),
        pipeline=tuple(_pipeline(compiled.joint, shared)),
        arguments=tuple(names.address(tensor.name) for tensor in program.parameters),
        unread=_unread(program, names),
        constants=tuple(number_constants(program)),
        memories=memories(program, spelling),
        schedule_header=schedule_file(name),
        event_legend=event_legend(program, spelling.events),
        events=tuple(_events(program, spelling)),
        flag_legend=flag_legend(program),
        flags=tuple(
            ConstantText("uint16_t", constant(name), str(flag), "") for name, flag in program.flags.items()
        ),
        tensors=tuple(_tensors(program, names, spelling)),
        lists=list_decodings(program, names),
        item=tuple(_item_members(decodings)),
        order=() if decodings.order is None else decodings.order.struct,
        ordering=tuple(each.making(spelling) for each in (decodings.order,) if each and each.members),
        decodings=tuple(cube.decodings()),
        half=halves.struct,
        half_parameters=halves.parameters,
        half_lines=tuple(halves.lines(spelling, decodings)) if halves.members else (),
        buffers=tuple(_buffer_members(program, spelling)),
        slots=tuple(_declarations("uint32_t", [f"{name} = 0" for name in _slots(program)])),
        arrays=tuple(_arrays(program)),
        kept=tuple(kept_steps(program, decodings)),
        members=shared.members,
        operands=tuple(shared.operands.values()),
        cube_functions=tuple(cube.functions),
        vector_functions=tuple(vector.functions),
        cube=bodies[0],
        vector=bodies[1],
        helpers=helpers,
    )


def schedule_of(compiled: Compiled, name: str) -> ScheduleText:
    """The schedule header of a compiled specialization's text, whose namespace is ``name``."""
    says = (NARROW_SCORES,) if compiled.schedule.score_dtype == "float16" else ()
    return schedule_text(name, compiled.program, _spelling(compiled), compiled.reasons, says)


def _spelling(compiled: Compiled) -> Spelling:
    parameter = dtype_parameter(compiled)
    return Spelling(compiled.program, parameter.operands if parameter is not None else frozenset())


def _specializations(kernels: Sequence[Compiled]) -> Iterator[str]:
    """What calls of the kernels have in common, one line each, then what each kernel has besides: in one line
    if that is one thing alone."""
    every = [list(_specialization(each)) for each in kernels]
    shared = [line for line in every[0] if all(line in lines for lines in every)]
    yield from shared
    if len(kernels) < 2:
        return
    own = [[line for line in lines if line not in shared] for lines in every]
    names = {line.partition(" = ")[0] for lines in own for line in lines}
    if len(names) == 1 and all(len(lines) < 2 for lines in own):
        (name,) = names
        values = [
            lines[0].partition(" = ")[2] if lines else _value_of(each, name)
            for each, lines in zip(kernels, own, strict=True)
        ]
        yield f"{name} = {' or '.join(values)}"
        return
    yield "and one of"
    for lines in own:
        yield f"  {', '.join(lines) or 'nothing else'}"


def _value_of(compiled: Compiled, name: str) -> str:
    """The value of a specialization parameter that a kernel has by itself."""
    kind, argument = asks(name)
    layouts = signature_of(compiled.operator, compiled.specialization).layouts
    if kind == LAYOUT and argument in layouts:
        return " or ".join(map(comment, layouts[argument].keys))
    return "its default"


def _specialization(compiled: Compiled) -> Iterator[str]:
    """What calls of the kernel have in common, one line each."""
    operator, parameter = compiled.operator, dtype_parameter(compiled)
    special = compiled.specialization if parameter is None else parameter.first
    if parameter is None or special.dtype not in DTYPES:
        yield f"dtype {special.dtype}"
    if parameter is not None:
        used = (tensor.name for tensor in compiled.program.parameters if tensor in parameter.operands)
        yield comment(f"dtype {PARAMETER} of {', '.join(used)}: {' or '.join(DTYPES)}")
    values, fractal = (
        special.padded_value_size or special.padded_head_size,
        operator.device.architecture.fractal,
    )
    sizes = dict.fromkeys((str(operator.axis_extents["D"]), str(operator.axis_extents["E"])))
    for name, padded_size in zip(sizes, (special.padded_head_size, values), strict=False):
        yield f"head size {comment(name)} from {padded_size - fractal + 1} to {padded_size}"
    features = ", ".join(name for name in feature_names(operator) if name in special.features)
    if features:
        yield f"with {features}"
    yield from map(comment, settings_told(operator, special))


def settings_told(operator: Contract, special: Specialization) -> Iterator[str]:
    """What calls of a kernel have in common by its settings, such as ``window > 0``, one line each."""
    for name, value in special.settings:
        if value is not None:
            yield from _setting(operator, special, name, value)


def _setting(operator: Contract, special: Specialization, name: str, value: Any) -> Iterator[str]:
    """What calls have in common by a setting: its value, or of a number what is asked of it."""
    param = operator.find_param(name)
    if param is None or param.choices or param.type not in (int, float):
        yield f"{name} = {spelled(operator, name, value)}"
        return
    for condition, holds in decisions_of(operator, special):
        if name in condition.symbols():
            yield str(condition) if holds else f"not {condition}"


def _pipeline(joint: Program, shared: SharedStages) -> Iterator[str]:
    """Who works on which tile at a step, and the flags in between: one line a stage, by its function."""
    loops = [item for item in joint.body.walk() if isinstance(item, Pipelined)]
    called = {stage: _functions(stage, shared) for loop in loops for stage in loop.stages}
    width = max([14, *(len(name) + 1 for names in called.values() for name in names)])
    for stage in _warming(joint, loops):
        head = f"{stage.core.value}  {shared.name(stage):<{width}}{'before step 0':<20}"
        slots = [f"sets {name} for each slot" for name in _flags(stage, SetCrossFlag)]
        yield from in_columns(head, slots, _LEGEND)
    for loop in loops:
        extent, turn = as_expr(loop.extent), loop.turn
        ends = {
            "first": Compare("==", loop.var, Const(0)) if turn.same(Const(1)) else loop.var < turn,
            "last": Compare("==" if turn.same(Const(1)) else ">=", loop.var, extent - turn),
        }
        if loop.stages[0].attention_name:
            yield f"over {keys_of(loop.stages[0].attention_name)}:"
        conditions = loop.when or (None,) * len(loop.stages)
        for stage, lag, when in zip(loop.stages, loop.lags, conditions, strict=True):
            waits = _flags(stage, WaitCrossFlag)
            sets = _flags(stage, SetCrossFlag)
            tile = f"{loop.var} t" + (f" - {cxx_text(named_lag(loop, lag))}" if lag else "")
            notes = [f"waits for {name}" for name in waits] + [f"sets {name}" for name in sets]
            parts = conjuncts(when)
            notes += [f"{end} tile of an item" for end in ends if any(part.same(ends[end]) for part in parts)]
            notes += ["items of one tile"] if _is_of_one_tile(stage) else []
            if stage.warms is not None and loop.prefetch is not None and loop.steps is not None:
                first = loop.prefetch if stage.core is Core.AIC else loop.steps.depth
                notes.append(f"first {cxx_text(first)} steps")
            for name, whose in called[stage].items():
                head = f"{stage.core.value}  {name:<{width}}{tile:<20}"
                yield from in_columns(head, [*notes, *whose], _LEGEND)
    if any(loop.turn.same(HALVES) for loop in loops):
        yield "Two halves of a task take steps in turn: tile 0 of both, then tile 1 of both, and so on."
    elif any(isinstance(item, Let) and item.symbol == KEY_STEPS for item in joint.body.walk()):
        yield "An item of several tiles runs them twice: first for its sums, then for the selection."


def _warming(joint: Program, loops: Sequence[Pipelined]) -> Iterator[Stage]:
    """The stages that store to the slots of a ring before the steps."""
    of_steps = {stage for loop in loops for stage in loop.stages}
    return (stage for stage in outer_stages(joint.body) if stage.warms is not None and stage not in of_steps)


def _functions(stage: Stage, shared: SharedStages) -> dict[str, list[str]]:
    """The functions that a stage is, and for which items each is one; the first attention's in front."""
    if not isinstance(stage, EitherStage):
        return {shared.name(stage): []}
    first, second = stage.sides
    if shared.name(first) == shared.name(second):
        return {shared.name(first): []}
    return {shared.name(each): [f"items over {keys_of(each.attention_name)}"] for each in (first, second)}


def _flags(stage: Stage, kind: type[SetCrossFlag | WaitCrossFlag]) -> list[str]:
    """The flags that a stage sets, or awaits."""
    return list(dict.fromkeys(constant(item.name) for item in stage.walk() if isinstance(item, kind)))


def _is_of_one_tile(stage: Stage) -> bool:
    """Whether a stage does nothing for items of several tiles."""
    body = stage.body.body
    if len(body) != 1 or not isinstance(body[0], If) or body[0].otherwise is not None:
        return False
    return body[0].condition.same(TILES == 1)


def _declarations(ctype: str, names: Sequence[str], width: int = _DECLARED) -> Iterator[str]:
    """Members of one type, as many as fit on a line in each declaration."""
    line = ""
    for name in names:
        if line and len(f"{line}, {name};") > width:
            yield f"{line};"
            line = ""
        line = f"{line}, {name}" if line else f"{ctype} {name}"
    if line:
        yield f"{line};"


def _item_members(decodings: ItemDecodings) -> Iterator[str]:
    """The members of the struct that an item is decoded to."""
    for symbol in decodings.members:
        having = [each for each in decodings.each if symbol.name in each.names]
        alone = " and ".join(keys_of(each.attention_name) for each in having)
        whose = f", over {alone}" if len(having) < len(decodings.each) else ""
        ctype = "bool" if decodings.is_over(symbol) else "int64_t"
        yield f"{ctype} {scalar(symbol)};  // {comment(decodings.meaning(symbol))}{whose}"


def _buffer_members(program: Program, spelling: Spelling) -> Iterator[str]:
    """The buffers with one slot, by memory and type."""
    by_type: dict[tuple[object, str], list[str]] = {}
    for buffer in program.buffers():
        if buffer.slots == 1:
            by_type.setdefault((buffer.space, spelling.ctype(buffer)), []).append(spelling.buffer(buffer))
    for (_, ctype), names in by_type.items():
        yield from _declarations(f"LocalTensor<{ctype}>", names)


def _events(program: Program, spelling: Spelling) -> Iterator[tuple[str, tuple[ConstantText, ...]]]:
    """Event ids by pipe pair, in order of id."""
    by_pair: dict[str, dict[str, SetEvent]] = {}
    for item in program.statements():
        if isinstance(item, SetEvent):
            by_pair.setdefault(f"{item.source.value}_{item.target.value}", {}).setdefault(item.name, item)
    for pair, events in sorted(by_pair.items()):
        rows = []
        for name, event in sorted(events.items(), key=lambda entry: entry[1].first_id):
            meaning = _orders(event) + (": one id per slot" if event.ids > 1 else "")
            rows.append(ConstantText("int32_t", spelling.events[name], str(event.first_id), meaning))
        yield pair, tuple(rows)


def _orders(event: SetEvent) -> str:
    """What an event orders: its buffers, and those that the same pipe wrote before."""
    own = ", ".join(buffer.name for buffer in event.buffers)
    if not event.also:
        return own
    how = "loaded" if event.source in (Pipe.MTE1, Pipe.MTE2) else "written"
    before = "it" if len(event.buffers) == 1 else "them"
    also = " and ".join(buffer.name for buffer in event.also)
    return f"{own} and, {how} before {before} by the same pipe, {also}"


def _tensors(program: Program, names: Names, spelling: Spelling) -> Iterator[TensorMember]:
    """The tensors that the kernel looks at; the contract may have more, such as lengths that are always 1."""
    used = tensors_used(program)
    for tensor in (*program.parameters, *program.workspace):
        if tensor.name not in used:
            continue
        base = names.address(tensor.name) if tensor.role != "workspace" else f"workspace + {_at(tensor)}"
        listed = list_member(tensor.name) if tensor.listed else ""
        yield TensorMember(gm_member(tensor.name), spelling.ctype(tensor), base, tensor.meaning, listed)


def _unread(program: Program, names: Names) -> str:
    """A sentence that names the arguments that the kernel does not look at; nothing where there are none."""
    used = tensors_used(program)
    reserved = {
        item.spec.name: item.meaning
        for item in names.tensors
        if item.tensor is not None and not item.tensor.layouts
    }
    unread = (tensor.name for tensor in program.parameters if tensor.name not in used)
    told = [
        names.address(name) + (f" ({meaning})" if (meaning := reserved.get(name)) else "") for name in unread
    ]
    return f"Not read: {', '.join(told)}." if told else ""


def _at(tensor: GlobalTensor) -> str:
    return cxx_text(tensor.offset)


def _arrays(program: Program) -> Iterator[ArrayMember]:
    """The arrays that are collected, each once; one name is one array on both core kinds."""
    found = {item.array.name: item.array for item in program.statements() if isinstance(item, Collect)}
    return (ArrayMember(member(each.name), cxx_text(each.size), each.meaning) for each in found.values())


def _slots(program: Program) -> Iterator[str]:
    seen: set[str] = set()
    for item in program.statements():
        if isinstance(item, Alloc) and item.buffers[0].slots > 1 and not isinstance(item, Handed):
            name = slot_member(item.buffers)
            if name not in seen:
                seen.add(name)
                yield name
