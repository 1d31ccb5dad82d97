"""Score slots that L2 holds before the first scores come: vector cores write zeros to them meanwhile.

A core stores slowly to workspace that L2 does not hold yet, and a prompt begins with score tiles that go
there. Vector cores have nothing to do before the first scores: together they store twice as fast as the cube
alone, one slot while the cube loads queries and keys, the next while it makes the first tile. The cube waits
for a slot before its first scores go there.

Where one loop has the items of two attentions (lowering/joint_items.py), tasks of the first may have a few
rows of a slot, and vector cores little to do in their steps. In the first of these they store to the other
rows of the slots, which larger tasks use later.
"""

from __future__ import annotations

from attndsl.expr import Const, Expr, Named, Symbol, ceil_div, minimum, select
from attndsl.lowering.attention.item_steps import has_keys
from attndsl.lowering.attention.score_matmul import scores_of
from attndsl.lowering.attention.tile_slots import score_slot, steps_begun
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.emitter import ROWS_PER_TASK
from attndsl.lowering.emit.loop_scalars import R0
from attndsl.lowering.emit.shorthands import in_steps, whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.match.choice_of_ways import Way
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Fill, StoreRows
from attndsl.tile.instructions.units import VECTOR_CORES
from attndsl.tile.program import SUB_BLOCK, tiling_field_ref
from attndsl.tile.statements import Alloc, For, If, Let, Seq, Stage, Statement, seq

_STEP, _FIRST, _END = Symbol("warmStep"), Symbol("firstRow"), Symbol("endRow")


def _has_no_room(context: Context) -> bool:
    s = context.schedule
    rows = s.rows if isinstance(s.result_rows, str) else s.result_rows
    return rows * context.signature.padded_value_size < s.tile_k


WARMED_SLOTS = Way[Context](
    option="first_stores",
    value="vector",
    other="cube",
    obstacles=(
        (
            "unless the cube waits for probabilities before scores (score_slots)",
            lambda context: not context.waits_first and not context.joint,
        ),
        (
            "with several attentions of which each has a loop over its items (item_loops)",
            lambda context: len(context.computation.attentions) > 1 and not context.joint,
        ),
        (
            "with two attentions, unless tasks of the second alone gather batch rows",
            lambda context: context.joint and not context.larger_tasks_follow,
        ),
        ("with integers", lambda context: context.product_dtype != "float32"),
        # what is stored has the dtype of weighted sums
        ("where scores pass in fp16 (score_dtype)", lambda context: context.narrows_scores),
        ("where a step of weighted sums has no room for a row of scores", _has_no_room),
    ),
)


def warms_slots(context: Context) -> bool:
    """Whether vector cores store to the slots of scores before the items.

    Raises:
        IllegalScheduleValue: the schedule asks for stores by vector cores where they cannot be.
    """
    return _warms(context) and not context.joint


def warms_in_steps(context: Context) -> bool:
    """Whether they store to rows of the slots in steps of smaller tasks.

    Raises:
        As :func:`warms_slots`.
    """
    return _warms(context) and context.joint


def _warms(context: Context) -> bool:
    many_rows = context.schedule.several_bands
    return WARMED_SLOTS.is_taken(context.schedule, context, by_itself=many_rows)


def warm_slots(context: Context) -> Stage:
    """Zeros in the slots of scores, in the order in which the first steps take them: steps count from 1."""
    where, slots = context.where, context.prefetch
    columns = context.inventory.field("warmKeys", _columns(context), _KEYS_MEANING)
    rows = context.inventory.field("warmRows", _rows(context), _ROWS_MEANING)
    b = vector_buffers(context.for_results())
    # what merges accumulate in is idle until then, and has one slot
    zeros = b.partial if context.schedule.split_kv == 1 else b.accumulator
    over_slots = For(
        var=_STEP,
        begin=Const(1),
        end=slots + 1,
        runs=True,
        body=seq(_stores(context, zeros, _STEP % slots, columns, Const(0))),
        where=where,
    )
    return context.stage(
        "WarmScores",
        Core.AIV,
        doc="Stores zeros to the slots of scores, so that L2 holds them when the first scores come.",
        body=seq(If(condition=context.items > 0, then=_warming(context, zeros, rows, over_slots))),
        warms=scores_of(context),
        where=where,
    )


_KEYS_MEANING = "keys of a slot that scores may go to"
_ROWS_MEANING = "rows of a slot that vector cores store to first"


def _warming(context: Context, zeros: Buffer, rows: Expr, stores: For) -> Seq:
    """Zeros to a vector core's half of so many rows of slots, between ``_FIRST`` and ``_END``."""
    half = ceil_div(rows, VECTOR_CORES)
    at_once = _rows_of_zeros(context)
    fill = Fill(dst=whole(zeros, 0, at_once * context.tile_keys), value=Const(0), where=context.where)
    return seq(
        Let(symbol=_FIRST, value=minimum(SUB_BLOCK * half, rows)),
        Let(symbol=_END, value=minimum(_FIRST + half, rows)),
        Alloc(buffers=(zeros,), body=seq(fill, stores)) if zeros.slots > 1 else seq(fill, stores),
    )


def _stores(context: Context, zeros: Buffer, slot: Expr, columns: Expr, begin: Expr) -> For:
    """Zeros to the rows of a slot from ``begin`` on that :func:`_warming` gives this vector core."""
    size = context.tile_keys
    rows_per_task = context.rows.rows_per_task(context)

    def one_step(r0: Expr, count: Expr) -> list[Statement]:
        place = (slot * rows_per_task + begin + _FIRST + r0) * size
        target = scores_of(context).region(place, count, columns, size)
        return [StoreRows(dst=target, src=zeros.region(0, count, columns, size), where=context.where)]

    return in_steps(_END - _FIRST, _rows_of_zeros(context), one_step, context.where, R0)


def warm_in_steps(first: Context, second: Context, over: Expr) -> tuple[Stage, Expr]:
    """Zeros in the rows of a slot that tasks of the first attention leave, and the steps that store them.

    A step stores to its own slot, the first time that the slot is used. ``over``: whether an item is one of
    the first attention.
    """
    slots = first.prefetch if first.waits_first else first.ring
    columns = first.inventory.field("warmKeys", _columns(second), _KEYS_MEANING)
    all_rows = first.rows.rows_per_task(first)
    larger, own = tiling_field_ref(ROWS_PER_TASK), tiling_field_ref(first.label(ROWS_PER_TASK))
    left = select(tiling_field_ref(second.label("items")) > 0, larger - own, 0)
    rows = first.inventory.field("warmRows", left, _ROWS_MEANING)
    zeros = vector_buffers(first.for_results()).partial  # the accumulator has sums of earlier steps
    stores = _stores(first, zeros, score_slot(first), columns, all_rows - rows)
    stage = Stage(
        name="WarmScores",
        core=Core.AIV,
        doc=(
            "Stores zeros to rows of a slot that larger tasks use later, so that L2 holds them then. Their "
            "scores come after these zeros: the flag of the step's probabilities follows on the same pipe."
        ),
        body=_warming(first, zeros, rows, stores),
        warms=scores_of(first),
        where=first.where,
    )
    return stage, over & has_keys(first) & (steps_begun(first) <= slots)


def await_slot(context: Context) -> tuple[Stage, Expr]:
    """Waits for a slot of scores that vector cores store to, and the steps that do."""
    stage = context.stage(
        "AwaitSlot",
        Core.AIC,
        doc="Waits until L2 holds the slot that takes the scores of this step.",
        body=seq(),
        warms=scores_of(context),
        where=context.where,
    )
    return stage, steps_begun(context) <= context.prefetch


def _rows_of_zeros(context: Context) -> Named:
    """Rows of scores that fit where a step's weighted sums arrive: merges accumulate in no less room."""
    count = context.rows_of_results * context.padded_value_size // context.tile_keys
    meaning = "rows of a score tile that have room in a buffer of weighted sums"
    found = context.inventory.constant("rowsOfZeros", count, meaning)
    context.inventory.require(found > 0, "a step of weighted sums has room for a row of scores")
    return found


def _columns(context: Context) -> Expr:
    """Keys of a tile that a call may have."""
    return minimum(context.tile_keys, context.keys.capacity(context))


def _rows(context: Context) -> Expr:
    """Rows of a block's first item, at most: of a small task, where small ones come first."""
    heads = tiling_field_ref("headsPerTask")
    of_task = minimum(tiling_field_ref("rowsPerTask"), heads * context.signature.extents["Q"])
    if not (context.last_first and context.rows.sizes_differ(context)):
        return of_task
    small = tiling_field_ref("queriesPerSmallTask") * heads
    large, tasks = tiling_field_ref("largeTasks"), tiling_field_ref("tasks")
    return select(large < tasks, minimum(small, of_task), of_task)
