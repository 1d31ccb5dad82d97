"""The legality table of tile programs, checked between passes.

A rule's function yields one line for each violation. A new rule is a function and an entry in :data:`RULES`,
with the properties of a program that it speaks of: it is asked once all of them are established.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

from attndsl.base.errors import InternalError
from attndsl.base.facts import kept
from attndsl.expr import Element, Expr, OneOf, Select
from attndsl.target import Architecture, Core
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Instruction, IsBeyond
from attndsl.tile.instructions.units import UNITS
from attndsl.tile.program import CORE_SCALARS, SUB_BLOCK, Program, Property
from attndsl.tile.scalars import defined, free, loads_of, names_of, own_names, step_counters, used
from attndsl.tile.statements import (
    Alloc,
    Collect,
    Either,
    For,
    If,
    KeepScalars,
    Let,
    PickTensor,
    Pipelined,
    SetCrossFlag,
    SetEvent,
    Stage,
    Statement,
    WaitCrossFlag,
    WaitEvent,
)


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold of every program that has the properties ``requires``."""

    find: Callable[[Program], Iterator[str]]
    requires: frozenset[Property] = frozenset()


def check(program: Program, after: str, established: Collection[Property]) -> Program:
    """The program itself, once every rule holds that speaks of nothing but ``established`` properties.

    Raises:
        InternalError: naming the pass and every violation.
    """
    asked = [rule for rule in RULES if rule.requires <= set(established)]
    problems = [problem for rule in asked for problem in rule.find(program)]
    if problems:
        raise InternalError(f"{program.name}, after {after}: " + "; ".join(problems))
    return program


def _violations(item: Instruction, architecture: Architecture) -> tuple[str, ...]:
    known = _known_violations(item)
    if architecture not in known:
        known[architecture] = tuple(item.violations(architecture))
    return known[architecture]


@kept
def _known_violations(item: Instruction) -> dict[Architecture, tuple[str, ...]]:
    """What was found wrong with an instruction, by architecture; rules run again after every pass."""
    return {}


def instructions_are_the_devices(program: Program) -> Iterator[str]:
    """The device has the units in which instructions of the tile IR are written."""
    architecture = program.device.architecture
    for unit, written in UNITS.items():
        if (own := getattr(architecture, unit)) != written:
            yield f"{architecture.name} has a {unit} of {own}, the instructions are written for {written}"


def operands_are_legal(program: Program) -> Iterator[str]:
    """Every instruction satisfies its own operand limits, as far as numbers are constant."""
    architecture = program.device.architecture
    for item in program.instructions():
        for problem in _violations(item, architecture):
            yield f"'{item.describe()}' ({item.where}): {problem}"


def stages_hold_their_core(program: Program) -> Iterator[str]:
    """A stage holds only instructions of its core kind."""
    for stage in (item for item in program.statements() if isinstance(item, Stage)):
        for item in stage.walk():
            if isinstance(item, Instruction) and item.core is not stage.core:
                yield f"stage {stage.name} runs on {stage.core.value}, '{item.describe()}' does not"


def lifetimes_share_slots(program: Program) -> Iterator[str]:
    """Buffers of one lifetime have the same number of slots and belong to one group only."""
    group_of: dict[Buffer, tuple[Buffer, ...]] = {}
    for item in program.statements():
        if not isinstance(item, Alloc):
            continue
        if len({buffer.slots for buffer in item.buffers}) > 1:
            yield f"buffers of one lifetime differ in slots: {[buffer.name for buffer in item.buffers]}"
        for buffer in item.buffers:
            if group_of.setdefault(buffer, item.buffers) != item.buffers:
                yield f"{buffer.name} belongs to two different lifetimes"


def slots_need_a_lifetime(program: Program) -> Iterator[str]:
    """A buffer with several slots is used inside a lifetime, which selects the slot."""
    held = {b for item in program.statements() if isinstance(item, Alloc) for b in item.buffers}
    for buffer in program.buffers():
        if buffer.slots > 1 and buffer not in held:
            yield f"{buffer.name} has {buffer.slots} slots and no lifetime"


def scalars_are_defined(program: Program) -> Iterator[str]:
    """Every scalar is a tiling field, a core's own, a counter, or defined in front of its use."""
    known = {field.name for field in program.fields} | {symbol.name for symbol in CORE_SCALARS}
    known |= step_counters(program)
    for tree in program.trees():
        for name in free(tree):
            if name not in known:
                yield f"scalar {name} is used and defined nowhere"


def sides_define_their_scalars(program: Program) -> Iterator[str]:
    """Each side of a choice between definitions defines all scalars that are known behind it, and nothing
    else is done there."""
    for item in (each for each in program.statements() if isinstance(each, Either)):
        for side in item.sides:
            other = [each for each in side.body if not isinstance(each, Let | Collect)]
            yield from (f"'{_name(each)}' stands in a choice between definitions" for each in other)
            given = {name for each in side.body for name in defined(each)}
            for symbol in item.scalars:
                if symbol.name not in given:
                    yield f"scalar {symbol} is known behind a choice, one side does not define it"


def choices_are_of_their_values(program: Program) -> Iterator[str]:
    """A scalar of few values is given these alone: what is legal of an operand rests on them."""
    lets = [item for item in program.statements() if isinstance(item, Let)]
    known = {item.symbol.name: item.symbol for item in lets if isinstance(item.symbol, OneOf)}
    for item in (each for each in lets if each.symbol.name in known):
        values = known[item.symbol.name].values
        for given in _given(item.value):
            if not any(given.same(value) for value in values):
                yield f"scalar {item.symbol} is {given}, not one of {', '.join(map(str, values))}"


def _given(value: Expr) -> Iterator[Expr]:
    """The values between which an expression chooses."""
    if not isinstance(value, Select):
        yield value
        return
    yield from _given(value.then)
    yield from _given(value.otherwise)


def flags_are_uniform(program: Program) -> Iterator[str]:
    """Control flow around a cross-core flag depends only on values that all cores of a block share.

    An array that was collected counts among the scalars, by its name. What memory holds may differ. Steps of
    a continuous pipeline are counted alike on all cores, whatever scalars they keep.
    """
    for tree in program.trees():
        yield from _uniform(tree, frozenset({SUB_BLOCK.name}))


def _uniform(statement: Statement, varying: frozenset[str]) -> Iterator[str]:
    for child in statement.children():
        depends = frozenset() if isinstance(child, KeepScalars) else names_of(child) & varying
        if isinstance(child, Either):
            depends = depends.union(used(child) & varying)
        if defined(child) and (depends or isinstance(child, IsBeyond)):
            varying = varying.union(defined(child))
        if depends and isinstance(child, Collect):
            varying = varying | {child.array.name}
        if not _has_flag(child):
            continue
        if depends and isinstance(child, For | If | Pipelined):
            yield f"a cross-core flag stands under a condition on {', '.join(sorted(depends))}"
        yield from _uniform(child, varying)


@kept
def _has_flag(statement: Statement) -> bool:
    return isinstance(statement, SetCrossFlag | WaitCrossFlag) or any(map(_has_flag, statement.children()))


def what_is_read_was_chosen(program: Program) -> Iterator[str]:
    """On every path an element of a list was picked, and an array collected, before it is read."""
    for tree in program.trees():
        if any(map(_needs_choice, tree.inside())):
            yield from _chosen(tree, set())


@kept
def _needs_choice(statement: Statement) -> bool:
    """Whether the statement itself touches a list, or reads an array that is collected."""
    tensors: tuple[GlobalTensor, ...] = ()
    if isinstance(statement, Instruction):
        tensors = (*statement.gm_reads(), *statement.gm_writes())
    reads_array = any(isinstance(node, Element) for node in loads_of(statement))
    return reads_array or any(tensor.listed for tensor in tensors)


def _chosen(statement: Statement, ready: set[str]) -> Iterator[str]:
    """``ready``: names of what was picked or collected; grows by what the statement surely chooses. What one
    side of an :class:`Either` chooses is there in branches of the same condition."""
    tensors: tuple[GlobalTensor, ...] = ()
    if isinstance(statement, Instruction):
        tensors = (*statement.gm_reads(), *statement.gm_writes())
    for tensor in tensors:
        if tensor.listed and tensor.name not in ready:
            yield f"'{_name(statement)}' touches {tensor.name}, of which no element was picked"
    for node in loads_of(statement):
        if isinstance(node, Element) and node.source not in ready:
            yield f"{node} is read where {node.source} was not collected"
    inside = set(ready) if isinstance(statement, For | If | Pipelined) else ready
    for number, child in enumerate(statement.children()):
        if not isinstance(statement, If):
            yield from _chosen(child, inside)
            continue
        side, known = f"side {number} of {statement.condition}: ", set(inside)
        known |= {name.removeprefix(side) for name in inside}
        yield from _chosen(child, known)
        if isinstance(statement, Either):
            ready |= {f"{side}{name}" for name in known - inside}
    if isinstance(statement, PickTensor):
        ready.add(statement.tensor.name)
    if isinstance(statement, Collect):
        ready.add(statement.array.name)


def _name(statement: Statement) -> str:
    return statement.describe() if isinstance(statement, Instruction) else type(statement).__name__


def flags_are_in_range(program: Program) -> Iterator[str]:
    """Cross-core flag ids stay clear of those that SyncAll uses; counters cannot overflow."""
    for name, flag in program.flags.items():
        if not 0 <= flag < program.device.architecture.cross_core_flags:
            yield f"flag {name} has id {flag}"
    for loop in (item for item in program.statements() if isinstance(item, Pipelined)):
        most = program.device.architecture.cross_core_depth
        if max(loop.lags) + 1 > most:
            yield f"{max(loop.lags) + 1} flags may be outstanding, a counter holds {most}"


def events_balance(program: Program) -> Iterator[str]:
    """In the program text each event is raised as often as it is awaited."""
    for core, tree in program.cores.items():
        balance: dict[str, int] = {}
        for item in tree.walk():
            if isinstance(item, SetEvent):
                balance[item.name] = balance.get(item.name, 0) + (-1 if isinstance(item, WaitEvent) else 1)
        for name, count in balance.items():
            if count:
                yield f"{core.value}: event {name} is raised {count:+d} times more than awaited"


def flags_are_on_both_sides(program: Program) -> Iterator[str]:
    """A flag that one core kind raises is awaited by somebody, and the other way round."""
    raised = {item.name for item in program.statements() if isinstance(item, SetCrossFlag)}
    awaited = {item.name for item in program.statements() if isinstance(item, WaitCrossFlag)}
    for name in sorted(raised ^ awaited):
        yield f"cross-core flag {name} is {'never awaited' if name in raised else 'never raised'}"


def loops_define_fresh_scalars(program: Program) -> Iterator[str]:
    """A loop variable does not hide a scalar of an enclosing loop."""

    def visit(statement: Statement, bound: frozenset[str]) -> Iterator[str]:
        if isinstance(statement, For):
            if statement.var.name in bound:
                yield f"loop variable {statement.var.name} is bound twice"
            bound = bound | {statement.var.name}
        for child in statement.children():
            yield from visit(child, bound)

    for tree in program.trees():
        yield from visit(tree, frozenset())


def tiling_fields_are_unique(program: Program) -> Iterator[str]:
    """No two tiling fields share a name."""
    seen: set[str] = set()
    for field in program.tiling:
        if field.name in seen:
            yield f"tiling field {field.name} is declared twice"
        seen.add(field.name)


def tiling_fields_are_not_hidden(program: Program) -> Iterator[str]:
    """No scalar of a statement, and no other member of the kernel, has the name of a tiling field."""
    own = own_names(program)
    for field in program.tiling:
        if field.name in own:
            yield f"tiling field {field.name} has the name of something else in the kernel"


def cores_are_complete(program: Program) -> Iterator[str]:
    """There is a tree for each core kind, and no skewed loop is left."""
    for core in Core:
        if core not in program.cores:
            yield f"no tree for {core.value}"
    for item in program.statements():
        if isinstance(item, Pipelined):
            yield f"the skewed loop over {item.var} was not split"


def buffers_have_places(program: Program) -> Iterator[str]:
    """Every buffer in use has an aligned address inside its memory, and none shares bytes with another."""
    end_of: dict[Buffer, int] = {}
    alignments = program.alignments()
    for buffer in program.buffers():
        memory, start = program.device.architecture.memory(buffer.space), program.addresses.get(buffer)
        if start is None:
            yield f"{buffer.name} has no address"
            continue
        end_of[buffer] = start + buffer.slots * program.slot_stride(buffer)
        if start % alignments[buffer] or (
            buffer.slots > 1 and program.slot_stride(buffer) % alignments[buffer]
        ):
            yield f"{buffer.name} is at {start}, needs a multiple of {alignments[buffer]} in all its slots"
        if end_of[buffer] > memory.usable:
            yield f"{buffer.name} ends at {end_of[buffer]} of {memory.usable} bytes of {buffer.space.value}"
    order = sorted(end_of, key=lambda buffer: (buffer.space.value, program.addresses[buffer]))
    for first, second in pairwise(order):
        if first.space is second.space and program.addresses[second] < end_of[first]:
            yield f"{first.name} and {second.name} share bytes"


def events_have_ids(program: Program) -> Iterator[str]:
    """Every event has its ids among those of its pair of pipes."""
    most = program.device.architecture.event_ids
    for item in program.statements():
        if isinstance(item, SetEvent) and not 0 <= item.first_id <= most - item.ids:
            yield f"event {item.name} has {item.ids} ids from {item.first_id} on, of {most}"


_FLAGS, _CORES = frozenset({Property.FLAGS}), frozenset({Property.CORES})
_ADDRESSES, _EVENTS = frozenset({Property.ADDRESSES}), frozenset({Property.EVENTS})

RULES: tuple[Rule, ...] = (
    Rule(instructions_are_the_devices),
    Rule(operands_are_legal),
    Rule(stages_hold_their_core),
    Rule(lifetimes_share_slots),
    Rule(slots_need_a_lifetime),
    Rule(scalars_are_defined),
    Rule(sides_define_their_scalars),
    Rule(choices_are_of_their_values),
    Rule(flags_are_uniform, _FLAGS),
    Rule(what_is_read_was_chosen),
    Rule(flags_are_in_range, _FLAGS),
    Rule(flags_are_on_both_sides, _FLAGS),
    Rule(events_balance, _EVENTS),
    Rule(events_have_ids, _EVENTS),
    Rule(loops_define_fresh_scalars),
    Rule(tiling_fields_are_unique),
    Rule(tiling_fields_are_not_hidden),
    Rule(cores_are_complete, _CORES),
    Rule(buffers_have_places, _ADDRESSES),
)
