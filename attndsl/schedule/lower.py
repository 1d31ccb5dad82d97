"""The lowering: attention graph, dtype, head-size bucket and schedule become a joint tile program."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.graph import nodes
from attndsl.schedule.choices import Schedule
from attndsl.schedule.context import (
    BATCH,
    FIRST_TILE,
    ITEM,
    KV_HEAD,
    LENGTH,
    LOWEST,
    REPEAT_LANES,
    SMALLEST,
    SPLIT,
    TILE,
    TILES,
    Context,
)
from attndsl.schedule.cube import cube_buffers, load_query, score_tile, weighted_tile
from attndsl.schedule.pattern import Attention
from attndsl.schedule.rows_out import merge_splits, write_rows
from attndsl.schedule.score_rules import ScoreStep, lower_modifier
from attndsl.schedule.tiling import (
    Sizes,
    TensorLayout,
    place_workspace,
    stride_fields,
    work_fields,
)
from attndsl.schedule.vector import row_share, softmax_tile, start_rows, update_tile, vector_buffers
from attndsl.symbolic import Expr, Load, Named, Symbol, ceil_div, minimum, select
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions.cube import FRACTAL_SIZE
from attndsl.tile.naming import camel, gm_member
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, Program, TilingField, earlier
from attndsl.tile.statements import Alloc, For, If, Let, Pipelined, Statement, seq


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What the lowering needs to know of an operator besides its graph.

    Attributes:
        present: the tensors that calls pass.
        sizes: dimensions by role, over the operator's own names.
        parameters: global tensors in the kernel's argument order.
        layouts: strides of the tensors by name.
    """

    name: str
    summary: str
    dtype: str
    bucket: int
    present: frozenset[str]
    sizes: Sizes
    parameters: tuple[GlobalTensor, ...]
    layouts: dict[str, TensorLayout]


def lower(attention: Attention, problem: Problem, schedule: Schedule) -> Program:
    """The joint tile program: all cores in one tree, without synchronisation or addresses.

    Raises:
        NotLowered: for a score modifier without a rule.
    """
    steps = tuple(
        lower_modifier(node, schedule.tile_k, schedule.rows, schedule.slots, problem.dtype)
        for node in attention.modifiers
    )
    constants = _constants(problem, schedule)
    fields = _fields(attention, problem, schedule, steps)
    placed = place_workspace(_workspace(problem, schedule))
    fields = (*fields, *placed.fields)
    context = Context(
        attention=attention,
        schedule=schedule,
        dtype=problem.dtype,
        bucket=problem.bucket,
        constants={constant.name: constant for constant, _ in constants},
        fields={item.name: item for item in fields},
        tensors={tensor.name: tensor for tensor in (*problem.parameters, *placed.tensors)},
        buffers=_buffers(problem, schedule, steps),
    )
    return Program(
        name=problem.name,
        summary=problem.summary,
        dtype=problem.dtype,
        parameters=problem.parameters,
        workspace=placed.tensors,
        tiling=fields,
        constants=(*constants, *_EXTREMES),
        body=seq(_item_loop(context, steps), _merge(context)),
    )


_EXTREMES = (
    (REPEAT_LANES, "fp32 lanes of one vector repeat"),
    (FRACTAL_SIZE, "rows and columns of a cube fractal"),
    (LOWEST, "stands for minus infinity where no key was seen"),
    (SMALLEST, "smallest normal number, the sum of a row without keys"),
)


def _constants(problem: Problem, s: Schedule) -> tuple[tuple[Named, str], ...]:
    def named(name: str, value: int) -> Named:
        return Named(value, name, f"k{name[0].upper()}{name[1:]}")

    return (
        (named("headDimBucket", problem.bucket), "head size this kernel is specialised on, padded to 16"),
        (named("tileKeys", s.tile_k), "keys of one score tile"),
        (named("ring", s.ring), "workspace slots between cube and vector cores"),
        (named("baseN", s.base_n), "keys or value columns of one matrix multiply"),
        (named("baseK", s.base_k), "depth of one matrix multiply"),
        (named("rowsPerStep", s.rows), "query rows of one vector step"),
        (named("rowsPerVector", s.max_rows // 2), "query rows of one vector core, at most"),
    )


def _fields(
    attention: Attention, problem: Problem, schedule: Schedule, steps: tuple[ScoreStep, ...]
) -> tuple[TilingField, ...]:
    fields = list(work_fields(problem.sizes, schedule))
    length = attention.keys.length
    if isinstance(length, nodes.Input):
        count = Symbol(f"{camel(length.name)}Count")
        fields.append(TilingField("lengthCount", "int64", count, f"entries of {length.name}, 0 without it"))
    for field in (field for step in steps for field in step.fields):
        if all(field.name != known.name for known in fields):
            fields.append(field)
    for tensor in problem.parameters:
        if tensor.role == "scalars" or tensor.name not in problem.layouts:
            continue
        axes = _AXES_OF_ROLE["output" if tensor.role == "output" else "input"]
        fields.extend(stride_fields(problem.layouts[tensor.name], axes))
    return tuple(fields)


# The innermost axis is contiguous in every layout that lowers, so it needs no field.
_AXES_OF_ROLE = {"input": ("B", "N", "K", "T"), "output": ("B", "N")}


def _workspace(problem: Problem, s: Schedule) -> tuple[GlobalTensor, ...]:
    group = earlier("group")
    scores = s.ring * group * s.tile_k
    rows = select(earlier("splits") > 1, earlier("items") * group, 0)  # none without a split

    def tensor(name: str, dtype: str, elements: Expr, shared: str, meaning: str) -> GlobalTensor:
        return GlobalTensor(
            name=name, dtype=dtype, role="workspace", elements=elements, shared=shared, meaning=meaning
        )

    return (
        tensor("scoreRing", "float32", scores, "block", "ring of score tiles, cube to vector"),
        tensor("probRing", problem.dtype, scores, "block", "ring of probability tiles, vector to cube"),
        tensor(
            "outRing",
            "float32",
            s.ring * group * problem.bucket,
            "block",
            "ring of weighted sums, cube to vector",
        ),
        tensor("partialMax", "float32", rows, "device", "row maxima of key splits"),
        tensor("partialSum", "float32", rows, "device", "row sums of key splits"),
        tensor("partialOut", "float32", rows * problem.bucket, "device", "weighted sums of key splits"),
    )


def _buffers(problem: Problem, s: Schedule, steps: tuple[ScoreStep, ...]) -> dict[str, Buffer]:
    buffers = cube_buffers(s, problem.dtype, problem.bucket)
    buffers |= vector_buffers(s, problem.dtype, problem.bucket)
    for step in steps:
        for buffer in (*step.tile_loads, *step.row_loads, *step.scratch):
            buffers[buffer.name] = buffer
    return buffers


def _item_loop(context: Context, steps: tuple[ScoreStep, ...]) -> Statement:
    """Every block takes items ``blockIndex, blockIndex + blockCount, ...``."""
    splits, kv_heads = context.scalar("splits"), context.scalar("kvHeads")
    lead = context.schedule.lead
    pipeline = Pipelined(
        var=TILE,
        extent=TILES,
        stages=(
            score_tile(context),
            softmax_tile(context, steps),
            weighted_tile(context),
            update_tile(context),
        ),
        lags=(0, 0, lead, lead),
        where=context.attention.output.where,
    )
    rows = tuple(context.buffers[name] for name in ("rowMax", "rowSum", "accumulator"))
    on_rows = Alloc(buffers=rows, body=seq(start_rows(context), pipeline, write_rows(context)))
    body = seq(
        Let(symbol=SPLIT, value=ITEM % splits),
        Let(symbol=KV_HEAD, value=ITEM // splits % kv_heads),
        Let(symbol=BATCH, value=ITEM // (splits * kv_heads)),
        *_key_range(context),
        *row_share(context),
        Alloc(buffers=(context.buffers["queryL1"],), body=seq(load_query(context), on_rows)),
    )
    return For(var=ITEM, begin=BLOCK_INDEX, end=context.scalar("items"), step=BLOCK_COUNT, body=body)


def _key_range(context: Context) -> list[Statement]:
    """The item's key tiles: an even share of the tiles of its row."""
    splits = context.scalar("splits")
    total, share = Symbol("tileTotal"), Symbol("tilesPerSplit")
    return [
        Let(symbol=LENGTH, value=_length(context), where=context.attention.keys.where),
        Let(symbol=total, value=ceil_div(LENGTH, context.constant("tileKeys"))),
        Let(symbol=share, value=ceil_div(total, splits)),
        Let(symbol=FIRST_TILE, value=minimum(SPLIT * share, total)),
        Let(symbol=TILES, value=minimum(share, total - FIRST_TILE)),
    ]


def _length(context: Context) -> Expr:
    source, capacity = context.attention.keys.length, context.scalar("keyCapacity")
    if not isinstance(source, nodes.Input):
        return capacity
    count = context.scalar("lengthCount")
    one = Load(source.name, minimum(BATCH, count - 1), gm_member(source.name))
    return select(count == 0, capacity, one)


def _merge(context: Context) -> Statement:
    return If(condition=context.scalar("splits") > 1, then=seq(merge_splits(context)))
