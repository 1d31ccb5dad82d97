"""The lowering: a computation, its interface and a schedule become a joint tile program."""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import Const
from attndsl.lowering.attention.matmul_stages import with_query
from attndsl.lowering.emit.context import Context
from attndsl.lowering.emit.inventory import Inventory
from attndsl.lowering.emit.loop_scalars import ITEM, LOWEST, REPEAT_LANES, SMALLEST, SPLIT, TASK
from attndsl.lowering.emit.modifiers import Modifiers, together
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.keys.channel_quantization import with_factors
from attndsl.lowering.keys.folded_query import row_factors
from attndsl.lowering.keys.key_range import key_range
from attndsl.lowering.keys.key_source import KeySource
from attndsl.lowering.keys.source_rules import key_source
from attndsl.lowering.match.attention_pattern import Attention, Computation
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.lowering.named_reads import named_reads
from attndsl.lowering.phases import Place, Work, phases
from attndsl.lowering.rows.padding_rows import existing_queries
from attndsl.lowering.rows.row_groups import grouped_rows
from attndsl.lowering.rows.row_space import row_space
from attndsl.lowering.scores.score_rules import lower_modifier
from attndsl.lowering.signature.kernel_signature import KernelInterface
from attndsl.lowering.work_partition import add_work_fields, place_workspace
from attndsl.tile.instructions.cube import FRACTAL_SIZE, INT8_DEPTH
from attndsl.tile.naming import camel
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, Program
from attndsl.tile.statements import Alloc, For, Let, Statement, seq


def lower(computation: Computation, interface: KernelInterface, schedule: Schedule) -> Program:
    """The joint tile program: all cores in one tree, without synchronisation or addresses.

    Raises:
        NotLowered: for a node without a rule.
    """
    inventory = Inventory()
    contexts = tuple(
        _context(computation, attention, interface, schedule, inventory)
        for attention in computation.attentions
    )
    add_work_fields(contexts)
    works = [
        Work(context=context, modifiers=modifiers, contexts=contexts)
        for context, modifiers in zip(contexts, _modifiers(contexts), strict=True)
    ]
    items = [_item_loop(work) for work in works]
    body = named_reads(seq(phases(Place.FRONT, works[0]), *items, phases(Place.BEHIND, works[0])))
    return Program(
        name=interface.name,
        summary=interface.summary,
        dtype=interface.dtype,
        parameters=interface.parameters,
        workspace=inventory.workspace,
        tiling=(*inventory.fields, *place_workspace(inventory.workspace)),
        constants=(*inventory.constants, *_EXTREMES, *(_OF_INT8 if interface.dtype == "int8" else ())),
        body=body,
    )


_EXTREMES = (
    (REPEAT_LANES, "fp32 lanes of one vector repeat"),
    (FRACTAL_SIZE, "rows and columns of a cube fractal"),
    (LOWEST, "stands for minus infinity where no key was seen"),
    (SMALLEST, "smallest normal number, the sum of a row without keys"),
)

_OF_INT8 = ((INT8_DEPTH, "columns of a cube fractal of int8"),)


def _context(
    computation: Computation,
    attention: Attention,
    interface: KernelInterface,
    schedule: Schedule,
    inventory: Inventory,
) -> Context:
    keys, values = key_source(attention.keys, "key"), key_source(attention.values, "value")
    one_position = interface.extents.get("Q", Const(1)).same(Const(1))
    rows = row_space(attention.query, one_position, existing_queries(computation))
    if computation.selection is not None:
        rows = replace(rows, whole_positions=True)  # a position's heads are added on one core
    return Context(
        interface=interface,
        computation=computation,
        attention=attention,
        schedule=schedule,
        inventory=inventory,
        rows=grouped_rows(rows, computation, attention, schedule.max_rows),
        keys=keys,
        values=values,
        suffix=_suffix(computation, attention, keys),
    )


def _suffix(computation: Computation, attention: Attention, keys: KeySource) -> str:
    """What tells an attention from others: its keys, and its number where another has the same."""
    if len(computation.attentions) == 1:
        return ""
    name = camel(keys.name)
    names = [key_source(each.keys, "key").name for each in computation.attentions]
    number = str(computation.attentions.index(attention) + 1) if names.count(keys.name) > 1 else ""
    return name[:1].upper() + name[1:] + number


def _modifiers(contexts: tuple[Context, ...]) -> tuple[Modifiers, ...]:
    """What is done to the scores of each attention."""
    found = [tuple(lower_modifier(each, node) for node in each.attention.modifiers) for each in contexts]
    return together(found, contexts[0].where)


def _item_loop(work: Work) -> Statement:
    """Every block takes items ``blockIndex, blockIndex + blockCount, ...``."""
    context = work.context
    on_rows: Statement = Alloc(buffers=vector_buffers(context).row_state, body=phases(Place.ITEM, work))
    if row_factors(context):
        on_rows = Alloc(buffers=row_factors(context), body=seq(on_rows))
    body = seq(
        Let(symbol=SPLIT, value=ITEM % context.splits),
        Let(symbol=TASK, value=ITEM // context.splits),
        *context.rows.enter(context),
        *key_range(context),
        *context.rows.share(),
        *context.keys.enter(context),
        *context.values.enter(context),
        with_factors(context, with_query(context, on_rows)),
    )
    return For(var=ITEM, begin=BLOCK_INDEX, end=context.items, step=BLOCK_COUNT, body=body)
