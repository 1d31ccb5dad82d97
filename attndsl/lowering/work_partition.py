"""What the host computes: key splits, launched blocks and workspace, as symbolic expressions.

The Python tiling function evaluates these; the C++ one is printed from them.
"""

from __future__ import annotations

from attndsl.expr import Const, Expr, as_expr, ceil_div, maximum, minimum, round_up, select
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import SPLIT, TASK
from attndsl.lowering.results.partials import may_split
from attndsl.lowering.signature.host_scalars import CORES
from attndsl.target import Architecture
from attndsl.tile.buffers import GlobalTensor, item_bytes
from attndsl.tile.program import TilingField, tiling_field_ref
from attndsl.tile.statements import Let, Statement


def add_work_fields(contexts: tuple[Context, ...]) -> None:
    """Tasks, splits and items of every attention, and the blocks that are launched.

    Splits: with fewer tasks than cores, each task's keys are cut into as many parts as give every core one,
    but never finer than one key tile; with more, into a few where that evens out the cores, if the schedule
    says so. Never more blocks than items or cores, and never none.
    """
    schedule = contexts[0].schedule
    cores = CORES if schedule.cores == "auto" else minimum(CORES, as_expr(schedule.cores))
    most: Expr = Const(1)
    for context in contexts:
        add, label = context.inventory.field, context.label
        context.rows.tasks(context)
        add(label("splits"), _splits(context, cores), "parts the keys of a row are split into")
        items = tiling_field_ref(label("tasks")) * tiling_field_ref(label("splits"))
        add(label("items"), items, "units of work: a task and a split")
        most = (
            tiling_field_ref(label("items"))
            if len(contexts) == 1
            else maximum(most, tiling_field_ref(label("items")))
        )
        if may_split(context):
            add("rowTotal", context.rows.row_total(context), "rows of the result")
    blocks = maximum(1, minimum(most, cores))  # an empty call has no items, but a launch has a block
    contexts[0].inventory.field("blocks", blocks, "blocks that are launched")


def _splits(context: Context, cores: Expr) -> Expr:
    schedule, tasks = context.schedule, tiling_field_ref(context.label("tasks"))
    if isinstance(schedule.split_kv, int):
        return as_expr(schedule.split_kv)
    tiles = ceil_div(context.keys.capacity(context), context.tile_keys)
    idle = maximum(1, minimum(cores // maximum(tasks, 1), tiles))
    even = context.rows.one_position if schedule.split_kv == "auto" else schedule.split_kv == "even"
    if not even:
        return idle
    return select(tasks > cores, _even_splits(tasks, cores, tiles), idle)


def _even_splits(tasks: Expr, cores: Expr, tiles: Expr) -> Expr:
    """Parts of each task's keys where there are more tasks than cores: two or three if that saves a tenth.

    The core with most items has ``ceil(tasks * parts / cores)`` of them, each a part of a task's keys.
    """

    def saves(parts: int) -> Expr:
        busiest, whole = ceil_div(tasks * parts, cores), ceil_div(tasks, cores) * parts
        return (busiest * 10 <= whole * 9) & (tiles >= 2 * parts)

    return select(saves(3), 3, select(saves(2), 2, 1))


def split_and_task(context: Context, item: Expr) -> list[Statement]:
    """The split and the task of an item, in the order of items that the schedule states."""
    if context.schedule.item_order == "tasks":
        split, task = item % context.splits, item // context.splits
    else:
        split, task = item // context.tasks, item % context.tasks
    return [Let(symbol=SPLIT, value=split), Let(symbol=TASK, value=task)]


def place_workspace(tensors: tuple[GlobalTensor, ...], architecture: Architecture) -> tuple[TilingField, ...]:
    """Consecutive byte offsets, each aligned for full Fixpipe rate.

    A tensor that the cores of one block share has a part for each block.
    """
    end: Expr = Const(0)
    fields: list[TilingField] = []

    def add(name: str, value: Expr, meaning: str) -> None:
        fields.append(TilingField(name, "int64", value, meaning))

    for tensor in tensors:
        start, part = f"{tensor.name}Offset", f"{tensor.name}Part"
        add(start, end, f"bytes from the workspace to the {tensor.meaning}")
        size = round_up(tensor.elements * item_bytes(tensor.dtype), architecture.workspace_alignment)
        if tensor.shared == "block":
            add(part, size, f"bytes of one block's {tensor.name}")
            size = tiling_field_ref(part) * tiling_field_ref("blocks")
        end = tiling_field_ref(start) + size
    add("workspaceBytes", end, "bytes of the user workspace")
    return tuple(fields)
