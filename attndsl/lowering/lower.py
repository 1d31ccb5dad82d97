"""The lowering: a computation, a kernel signature and a schedule become a joint tile program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from attndsl.expr import Expr
from attndsl.lowering.attention.attention_loop import attention_loop
from attndsl.lowering.attention.continuous import all_continuous
from attndsl.lowering.attention.few_keys import with_rows_of_few_keys
from attndsl.lowering.attention.gathered_sums import with_gathered_sums
from attndsl.lowering.attention.halves import count_halves, of_task, with_halves
from attndsl.lowering.attention.item_turns import item_of_turn, turn_of, turns
from attndsl.lowering.attention.key_range import key_range
from attndsl.lowering.attention.score_matmul import load_query, with_query
from attndsl.lowering.axis_reads import check_axes_are_read
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.make_context import attention_contexts
from attndsl.lowering.context.modifiers import Modifier, Modifiers, share_loads_across_attentions
from attndsl.lowering.emit.inventory import Inventory
from attndsl.lowering.emit.loop_scalars import ITEM, LOWEST, REPEAT_LANES, SMALLEST
from attndsl.lowering.hoist_scalar_loads import hoist_scalar_loads
from attndsl.lowering.joint_items import ItemParts, in_order, joint_loop, with_joint_items
from attndsl.lowering.match.computation import Computation
from attndsl.lowering.match.resolve_schedule import limits_of
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.lowering.phases import PhaseInput, Place, phases
from attndsl.lowering.results.only_tile import finishes_only_tiles, only_tile
from attndsl.lowering.scores.score_rules import lower_modifier
from attndsl.lowering.selection.block_selection import selection, selects_blocks
from attndsl.lowering.signature.kernel_signature import KernelSignature
from attndsl.lowering.value_numbering import value_numbering
from attndsl.lowering.work_partition import (
    add_work_fields,
    item_of_round,
    place_workspace,
    round_of_turn,
    split_and_task,
    there_and_back,
    with_item_order,
)
from attndsl.target import Device
from attndsl.tile.buffers import DOUBLE_BUFFER
from attndsl.tile.instructions.cube import FRACTAL_SIZE, INT8_DEPTH
from attndsl.tile.instructions.units import (
    BLOCK_HALVES,
    BLOCK_LANES,
    BLOCKS_OF_REPEAT,
    ORDERED_FRACTALS,
    VECTOR_CORES,
)
from attndsl.tile.program import BLOCK_COUNT, Constant, Program, Requirement
from attndsl.tile.statements import For, Let, Note, Pipelined, Seq, Statement, seq


def lower(
    computation: Computation, signature: KernelSignature, schedule: Schedule, device: Device
) -> Program:
    """The joint tile program: all cores in one tree, without synchronization or addresses.

    Raises:
        NotLowered: for a node without a rule.
        IllegalScheduleValue: for a schedule option that this computation does not allow.
    """
    return with_hoisted_loads(first_draft(computation, signature, schedule, device))


def with_hoisted_loads(program: Program) -> Program:
    """The joint program without repeated scalar reads of global memory, and without two names for one scalar;
    its buffers stay what they are."""
    return program.with_(body=value_numbering(hoist_scalar_loads(program.body)))


def gathers_sums(
    computation: Computation, signature: KernelSignature, schedule: Schedule, device: Device
) -> bool:
    """Whether weighted sums are added up in the workspace.

    Raises:
        As :func:`first_draft`.
    """
    contexts = attention_contexts(computation, signature, schedule, device, Inventory())
    return any(context.gathers_sums for context in with_gathered_sums(all_continuous(contexts)))


def first_draft(
    computation: Computation, signature: KernelSignature, schedule: Schedule, device: Device
) -> Program:
    """The joint program as lowering rules make it: it tells what memory the schedule asks for.

    Raises:
        NotLowered: for a node without a rule, or one with an axis that its rule does not know.
    """
    inventory = Inventory()
    contexts = attention_contexts(computation, signature, schedule, device, inventory)
    contexts = with_halves(with_gathered_sums(all_continuous(contexts)))
    contexts = with_joint_items(with_item_order(with_rows_of_few_keys(contexts)))
    with inventory.about("work"):
        add_work_fields(contexts)
    inputs = [
        PhaseInput(context=context, modifiers=modifiers, contexts=contexts)
        for context, modifiers in zip(contexts, _modifiers(contexts), strict=True)
    ]
    items = [_joint_loop(inputs)] if contexts[0].joint else [_item_loop(given) for given in inputs]
    body = seq(phases(Place.BEFORE, inputs[0]), *items, phases(Place.AFTER, inputs[0]))
    check_axes_are_read(computation, signature, inventory.asked_axes)
    placed = place_workspace(inventory, device.architecture)
    options = {each.option: each.named for each in inventory.constants if each.option}
    limits = [Requirement(*limit) for limit in limits_of(options, device)]
    return Program(
        name=signature.name,
        device=device,
        summary=signature.summary,
        dtype=signature.dtype,
        parameters=signature.parameters,
        workspace=inventory.workspace,
        tiling=(*inventory.fields, *placed),
        constants=(
            *_of_device(signature.dtype),
            *inventory.constants,
            _DOUBLE_BUFFER,
            *_EXTREMES,
        ),
        requirements=(*limits, *inventory.requirements),
        body=body,
    )


def _of_device(dtype: str) -> Iterator[Constant]:
    """The constants of the device that kernels of a dtype compute with."""
    yield Constant(VECTOR_CORES, "vector cores of a block", of_device=True)
    yield Constant(REPEAT_LANES, "fp32 lanes of one vector repeat", of_device=True)
    yield Constant(BLOCK_LANES, "fp32 lanes of a 32-byte block", of_device=True)
    yield Constant(BLOCK_HALVES, "16-bit lanes of a 32-byte block", of_device=True)
    yield Constant(BLOCKS_OF_REPEAT, "data blocks of one vector repeat", of_device=True)
    yield Constant(ORDERED_FRACTALS, "fractals of an L0C result to which Mmad adds in order", of_device=True)
    yield Constant(FRACTAL_SIZE, "rows and columns of a cube fractal", of_device=True)
    if dtype == "int8":
        yield Constant(INT8_DEPTH, "columns of a cube fractal of int8", of_device=True)


_DOUBLE_BUFFER = Constant(
    DOUBLE_BUFFER, "slots of a buffer that is filled while the other is used; ids of events count on it"
)
_EXTREMES = (
    Constant(LOWEST, "initial row maximum: no key seen yet"),
    Constant(SMALLEST, "smallest normal number, the sum of a row without keys"),
)


def _modifiers(contexts: tuple[Context, ...]) -> tuple[Modifiers, ...]:
    """What is done to the scores of each attention."""
    found = [tuple(_lowered(each)) for each in contexts]
    return share_loads_across_attentions(found, contexts[0].where)


def _lowered(context: Context) -> Iterator[Modifier]:
    """What is done to the scores of an attention, and then to its probabilities."""
    yield from (lower_modifier(context, node) for node in context.attention.modifiers)
    for node in context.attention.factors:
        yield replace(lower_modifier(context, node), of_probabilities=True)


_TURNS_ABOUT = "rounds alternate in direction: no block has the longest item of each"
_LAST_FIRST = "A block takes its last item first: small tasks fill the pipeline."


def _item_loop(given: PhaseInput) -> Statement:
    """Every block takes each ``blockCount``-th item, of the first attention from ``blockIndex`` on."""
    context = given.context
    item: Expr = item_of_turn(context, item_of_round(context))
    taken = list[Statement]()
    if not item.same(ITEM):
        why = _TURNS_ABOUT if context.longest_first else ""
        taken, item = [*round_of_turn(context), Let(symbol=ITEM, value=item, why=why)], ITEM
    if (walked := there_and_back(context, item)) is not None:
        taken, item = [*taken, walked], walked.symbol
    tiles = _tiles(given)
    of_core = [] if context.halves else context.rows.rows_of_this_aiv(context)
    scalars = of_task(context, _item_scalars(context, of_core))
    body = seq(*taken, *split_and_task(context, item), *scalars, with_query(context, tiles))
    bounds = turns(context)
    loop = For(
        var=turn_of(context), begin=bounds.begin, end=bounds.end, step=BLOCK_COUNT, body=body, over_items=True
    )
    drained = [Note(text=bounds.note)] if bounds.note else []
    backwards = [Note(text=_LAST_FIRST)] if context.last_first else []
    return seq(*drained, *bounds.scalars, *backwards, loop)


def _item_scalars(context: Context, of_core: Sequence[Statement] = ()) -> list[Statement]:
    """What is known of an item; ``of_core``: what a vector core has of its rows."""
    return [
        *context.rows.enter(context),
        *count_halves(context),
        *key_range(context),
        *of_core,
        *context.keys.enter(context),
        *context.values.enter(context),
    ]


def _tiles(given: PhaseInput) -> Seq:
    """What is done with the keys of an item, tile by tile."""
    context = given.context
    finish = phases(Place.ITEM, given).body
    at_once = finishes_only_tiles(context)
    further = selection(context, given.modifiers, at_once) if selects_blocks(context) else None
    only = only_tile(context) if at_once else None
    return attention_loop(context, given.modifiers, finish, further, only)


def _joint_loop(inputs: Sequence[PhaseInput]) -> Statement:
    """Every block takes each ``blockCount``-th item of each attention, those of both in one loop."""
    first, second = in_order(map(_item_parts, inputs), lambda parts: parts.context)
    return joint_loop(first, second)


def _item_parts(given: PhaseInput) -> ItemParts:
    context = given.context
    (tiles,) = _tiles(given).body
    assert isinstance(tiles, Pipelined)
    item = item_of_turn(context, turn_of(context))
    taken = [] if item.same(turn_of(context)) else [Let(symbol=ITEM, value=item)]
    return ItemParts(
        context=context,
        scalars=[*taken, *split_and_task(context, ITEM if taken else item), *_item_scalars(context)],
        of_core=context.rows.rows_of_this_aiv(context),
        query=load_query(context),
        tiles=tiles,
    )
