"""Tasks of two halves, which take the steps of an item in turn and share the values of each tile in L1.

A task has up to twice the rows that a step works on. Step ``halves * t + half`` is tile t with the rows of
one half: half 0 of tile 0, half 1 of tile 0, half 0 of tile 1, ... So the slots of rings are those of a half,
as large as without halves, while the values of a tile come to L1 once for both. Keys come for each half: they
would need more events than a pair of pipes has.

To what works on a step its half is the task: the scalars of the task's rows are made of those of the item at
the beginning of each stage. A task of no more rows than a step works on has one half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attndsl.base.errors import InternalError
from attndsl.expr import Compare, Const, Symbol, ceil_div, minimum, select
from attndsl.lowering.attention.item_steps import first_step, key_steps
from attndsl.lowering.attention.seen_tiles import numbers_tiles
from attndsl.lowering.attention.tile_slots import items_begun
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import (
    FIRST_QUERY,
    HALF,
    HALF_QUERIES,
    HALF_SLOT,
    HALVES,
    HEADS,
    ITEM_SLOT,
    QUERIES,
    ROWS_OF_TASK,
    SLOT,
    STEP,
    TASK_FIRST,
    TASK_QUERIES,
    TASK_ROWS,
)
from attndsl.lowering.masks.visibility import later_positions_begin_later
from attndsl.lowering.match.choice_of_ways import Way
from attndsl.lowering.match.schedule_options import BAND_ROWS
from attndsl.lowering.rows.positioned_rows import PositionedRows
from attndsl.tile.buffers import DOUBLE_BUFFER, Buffer
from attndsl.tile.scalars import free
from attndsl.tile.statements import If, Let, Note, Shared, Stage, Statement, seq


def _rows_are_not_cut(context: Context) -> bool:
    rows = context.rows
    return not isinstance(rows, PositionedRows) or rows.whole_positions or rows.alike is not None


def _has_wide_values(context: Context) -> bool:
    return context.signature.padded_value_size > context.schedule.columns


ALTERNATING_HALVES = Way[Context](
    option="halves",
    value="alternate",
    other="none",
    obstacles=(
        ("unless weighted sums are added up in the workspace", lambda context: not context.gathers_sums),
        ("with more channels of values than one matrix multiply takes", _has_wide_values),
        ("with several attentions", lambda context: len(context.computation.attentions) > 1),
        (f"with {BAND_ROWS} rows a task or fewer", lambda context: not context.schedule.several_bands),
        ("unless tasks have neighbouring positions of a batch row", _rows_are_not_cut),
        # a task begins with the first key of its first half
        ("in a window that moves with the positions", later_positions_begin_later),
        # which they are is found for all rows of an item
        ("where tiles that no row sees are left out", numbers_tiles),
        ('with "most" rows a task', lambda context: context.schedule.task_rows != "even"),
        # the maxima of the tile after the next are known when the sums of a tile have come
        ("with fewer than 3 slots a ring", lambda context: context.schedule.ring < 3),
        # each half has its own
        ("with one slot of queries", lambda context: context.schedule.query_slots == 1),
    ),
)


def with_halves(contexts: tuple[Context, ...]) -> tuple[Context, ...]:
    """The contexts of a computation, with tasks of two halves where the schedule has them.

    Raises:
        IllegalScheduleValue: the schedule asks for that where it cannot be.
    """

    def taken(context: Context) -> bool:
        return ALTERNATING_HALVES.is_taken(context.schedule, context, by_itself=True)

    return tuple(_halved(context) if taken(context) else context for context in contexts)


def _halved(context: Context) -> Context:
    assert isinstance(context.rows, PositionedRows)
    return replace(context, halves=True, rows=replace(context.rows, halves=True))


_QUERY_SLOT = Symbol("querySlot")
"""The slot in L1 of the queries of the step's half."""
_OF_TASK = {FIRST_QUERY: TASK_FIRST, QUERIES: TASK_QUERIES, TASK_ROWS: ROWS_OF_TASK}


def of_task(context: Context, statements: Sequence[Statement]) -> list[Statement]:
    """The scalars of an item where those of its rows are those of both halves."""
    if not context.halves:
        return list(statements)
    return [_renamed(each) for each in statements]


def _renamed(statement: Statement) -> Statement:
    names = {old.name: new for old, new in _OF_TASK.items()}
    if isinstance(statement, Let):
        symbol = names.get(statement.symbol.name, statement.symbol)
        return replace(statement, symbol=symbol, value=statement.value.substitute(names))
    if not names.keys().isdisjoint(free(statement)):
        raise InternalError(f"a statement of an item takes {', '.join(names.keys() & set(free(statement)))}")
    return statement


def count_halves(context: Context) -> list[Statement]:
    """How many halves the running item has, and how many positions each. Rows of one position, which are no
    more than a half has, are not cut."""
    if not context.halves:
        return []
    context.inventory.require(
        context.ring > context.most_halves, "the maxima of a half's next tile have a slot of their own"
    )
    return [
        Let(
            symbol=HALVES,
            value=select(context.max_rows < ROWS_OF_TASK, context.most_halves, 1),
        ),
        Let(symbol=HALF_QUERIES, value=ceil_div(TASK_QUERIES, HALVES)),
    ]


def of_half(context: Context, stage: Stage) -> Stage:
    """A stage with the scalars of the rows of its step's half."""
    if not context.halves or stage.awaits or stage.warms is not None:
        return stage
    scalars = [
        Let(symbol=HALF, value=STEP % HALVES),
        Let(symbol=HALF_SLOT, value=ITEM_SLOT * context.most_halves + HALF),
        *_rows_of_half(context),
    ]
    scalars += context.rows.rows_of_this_aiv(context)
    return stage.with_children((seq(*scalars, stage.body),))


def _rows_of_half(context: Context) -> list[Statement]:
    first = HALF * HALF_QUERIES
    return [
        Let(symbol=FIRST_QUERY, value=TASK_FIRST + first),
        Let(symbol=QUERIES, value=minimum(HALF_QUERIES, TASK_QUERIES - first)),
        *context.rows.enter_rows(HEADS * QUERIES),
    ]


def load_queries(context: Context, query: Buffer, load: Statement) -> Statement:
    """The queries of a half, with its first step: before the cube waits for what that step needs besides."""
    fill = If(condition=first_step(context), then=seq(load))
    return _with_queries(context, query, fill, begins=True)


def of_queries(context: Context, query: Buffer, body: Statement) -> Statement:
    """The scores of a tile: the last one of a half gives its queries back."""
    return _with_queries(context, query, body, begins=False)


def _with_queries(context: Context, query: Buffer, body: Statement, *, begins: bool) -> Statement:
    slots = DOUBLE_BUFFER if query.slots == DOUBLE_BUFFER.value else Const(query.slots)
    slot = Let(symbol=_QUERY_SLOT, value=(items_begun(context) * HALVES + HALF) % slots)
    part = Shared(
        buffers=(query,),
        slot=_QUERY_SLOT,
        begins=begins,
        ends=not begins,
        first=first_step(context),
        last=Compare(">=", STEP, key_steps(context) - HALVES),
        body=seq(body),
    )
    return seq(slot, part)


def shared(context: Context, values: Buffer, load: Statement, operands: Statement) -> Statement:
    """``operands``, with the values of the tile that they come from, which the first half loads for all."""
    filled = seq(Note(text="to L1, where they stay for the other half, then to L0A and L0B"), load)
    fill = If(condition=HALF == 0, then=seq(filled))
    return Shared(
        buffers=(values,),
        slot=SLOT,
        begins=True,
        first=HALF == 0,
        last=HALF == HALVES - 1,
        body=seq(fill, operands),
    )
