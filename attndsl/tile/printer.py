"""Tile programs as text, for ``attndsl show`` and for failing checks."""

from __future__ import annotations

from attndsl.expr import Const
from attndsl.tile.instructions import Instruction
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    Alloc,
    Barrier,
    Collect,
    Earlier,
    Either,
    For,
    Handed,
    If,
    KeepScalars,
    Let,
    Note,
    PickTensor,
    Pipelined,
    Seq,
    SetCrossFlag,
    SetEvent,
    Stage,
    Statement,
    WaitCrossFlag,
    WaitEvent,
)

_INDENT = "    "


def print_program(program: Program) -> str:
    """The joint program, or one listing per core kind after the split."""
    if not program.cores:
        return print_statement(program.body)
    parts = [f"{core.value}:\n{print_statement(tree, 1)}" for core, tree in program.cores.items()]
    return "\n\n".join(parts)


def print_statement(statement: Statement, depth: int = 0) -> str:
    """A statement and everything inside, one a line."""
    return "\n".join(_lines(statement, depth))


def _lines(statement: Statement, depth: int) -> list[str]:
    pad = _INDENT * depth
    if isinstance(statement, Seq):
        return [line for child in statement.body for line in _lines(child, depth)]
    if isinstance(statement, Pipelined):
        return _pipelined(statement, depth)
    if isinstance(statement, Earlier):
        return [
            f"{pad}{statement.back} steps earlier, if {statement.condition}:",
            *_lines(statement.then, depth + 1),
        ]
    if isinstance(statement, Either):
        names = ", ".join(symbol.name for symbol in statement.scalars)
        return [
            f"{pad}either, if {statement.condition}, for {names}:",
            *_lines(statement.then, depth + 1),
            f"{pad}or:",
            *_lines(statement.sides[1], depth + 1),
        ]
    if isinstance(statement, If):
        lines = [f"{pad}if {statement.condition}:", *_lines(statement.then, depth + 1)]
        if statement.otherwise is not None:
            lines += [f"{pad}else:", *_lines(statement.otherwise, depth + 1)]
        return lines
    head = f"{pad}{headline(statement)}"
    inner = [line for child in statement.children() for line in _lines(child, depth + 1)]
    return [f"{head}:" if inner else head, *inner]


def _pipelined(loop: Pipelined, depth: int) -> list[str]:
    pad = _INDENT * depth
    kind = "continuous" if loop.continuous else "pipelined"
    lines = [f"{pad}{kind} for {loop.var} in 0..{loop.extent}:"]
    conditions = loop.when or (None,) * len(loop.stages)
    for stage, lag, when in zip(loop.stages, loop.lags, conditions, strict=True):
        behind = f" ({lag} behind)" if lag else ""
        behind += "" if when is None else f" if {when}"
        lines.append(f"{pad}{_INDENT}{headline(stage)}{behind}:  # {stage.where}")
        lines += _lines(stage.body, depth + 2)
    for ring in loop.sums:
        lines.append(f"{pad}{_INDENT}sums of a run in {ring.name}")
    return lines


def headline(statement: Statement) -> str:
    """The first line of a statement."""
    if isinstance(statement, Instruction):
        return f"{statement.pipe.value:<5} {statement.describe()}"
    if isinstance(statement, Note):
        return f"# {statement.text}"
    if isinstance(statement, Let):
        return f"{statement.symbol} := {statement.value}"
    if isinstance(statement, PickTensor):
        return f"{statement.tensor.name} := element {statement.index} of the list"
    if isinstance(statement, Collect):
        span = f"{statement.begin}..{statement.extent} where {statement.condition}"
        most = f"at most {statement.array.most}"
        most += "" if statement.skip.same(Const(0)) else f" behind the first {statement.skip}"
        place = "" if statement.place.same(Const(0)) else f"[{statement.place}..]"
        return f"{statement.array.name}{place}, {statement.count} := {statement.index} in {span} ({most})"
    if isinstance(statement, KeepScalars):
        names = ", ".join(symbol.name for symbol in statement.scalars)
        steps = statement.steps
        return f"next step of {steps.depth}: {steps.slot}, {steps.run} of the runs, keeping {names}"
    if isinstance(statement, For):
        step = "" if str(statement.step) == "1" else f" by {statement.step}"
        return f"for {statement.var} in {statement.begin}..{statement.end}{step}"
    if isinstance(statement, Handed):
        part = "begins" if statement.begins else "ends"
        return f"in {statement.buffers[0].name}[{statement.slot}], a lifetime that {part}"
    if isinstance(statement, Alloc):
        names = ", ".join(f"{b.name} ({b.space.value} x{b.slots})" for b in statement.buffers)
        return f"with {names}"
    if isinstance(statement, Stage):
        return f"stage {statement.name} on {statement.core.value}"
    if isinstance(statement, Barrier):
        when = "" if statement.when is None else f" when {statement.when}"
        return f"barrier {statement.pipe.value}{when}"
    if isinstance(statement, SetEvent):
        return _event(statement)
    if isinstance(statement, SetCrossFlag):
        return f"set flag {statement.name} mode {statement.mode} behind {statement.pipe.value}"
    if isinstance(statement, WaitCrossFlag):
        return f"wait flag {statement.name}"
    return type(statement).__name__


def _event(event: SetEvent) -> str:
    verb = "wait" if isinstance(event, WaitEvent) else "set"
    slot = f"[{event.slot}]" if event.slot is not None else "[slot]" if event.slot_of else ""
    return f"{verb} {event.source.value}->{event.target.value} {event.name}{slot}"


def print_memory_map(program: Program) -> str:
    """Every on-chip buffer with its address, size and meaning, by memory."""
    lines = []
    for memory in program.device.architecture.memories:
        buffers = [buffer for buffer in program.buffers() if buffer.space is memory.space]
        lines.append(f"{memory.space.value} ({program.used_bytes(memory.space)} of {memory.usable} bytes)")
        for buffer in buffers:
            address = program.addresses.get(buffer)
            place = "unplaced" if address is None else f"0x{address:05x}"
            size = f"{buffer.slots} x {buffer.slot_bytes}"
            lines.append(f"  {place}  {size:>12}  {buffer.name:<14} {buffer.dtype:<9} {buffer.meaning}")
    return "\n".join(lines)
