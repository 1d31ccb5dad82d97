"""What the host computes: tiling fields, launched blocks and workspace, as symbolic expressions.

The Python tiling function evaluates these; the C++ one is printed from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from attndsl.hardware import ATLAS_A2
from attndsl.schedule.choices import Schedule
from attndsl.schedule.context import stride_field
from attndsl.symbolic import Const, Expr, Symbol, as_expr, ceil_div, maximum, minimum, round_up, select
from attndsl.tile.buffers import GlobalTensor, item_bytes
from attndsl.tile.naming import camel
from attndsl.tile.program import BLOCK_INDEX, TilingField, earlier

# What the host knows besides dimensions and parameters.
CORES = Symbol("cores")


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A tensor's strides in each of its layouts: name -> axis -> elements, in the declared order."""

    name: str
    strides: tuple[dict[str, Expr], ...]

    @property
    def choice(self) -> Symbol:
        """The host scalar that tells which layout a call uses: its index."""
        return layout_choice(self.name)


def layout_choice(tensor: str) -> Symbol:
    """The host scalar that holds the index of a tensor's layout."""
    return Symbol(f"{camel(tensor)}Layout")


def stride_fields(layout: TensorLayout, axes: tuple[str, ...]) -> list[TilingField]:
    """One field per axis: the stride in the layout of the call."""
    fields = []
    for axis in axes:
        if not any(axis in strides for strides in layout.strides):
            continue
        value: Expr = layout.strides[-1].get(axis, Const(0))
        for index in reversed(range(len(layout.strides) - 1)):
            value = select(layout.choice == index, layout.strides[index].get(axis, Const(0)), value)
        meaning = f"elements between neighbours of {layout.name} along {axis}"
        fields.append(TilingField(stride_field(layout.name, axis), "int64", value, meaning))
    return fields


@dataclass(frozen=True, slots=True)
class Sizes:
    """The dimensions' roles: expressions over the operator's own names."""

    batch: Expr
    heads: Expr
    kv_heads: Expr
    keys: Expr
    head_dim: Expr


def work_fields(sizes: Sizes, schedule: Schedule) -> tuple[TilingField, ...]:
    """Items, splits, blocks and head counts.

    Splits: with fewer (batch row, key/value head) pairs than cores, each pair's keys are cut into as many
    parts as give every core one, but never finer than one key tile. Never more blocks than items or cores.
    """
    cores = CORES if schedule.cores == "auto" else minimum(CORES, as_expr(schedule.cores))
    pairs, group = earlier("pairs"), earlier("group")
    splits: Expr
    if schedule.split_kv == "auto":
        splits = maximum(1, minimum(cores // pairs, ceil_div(sizes.keys, schedule.tile_k)))
    else:
        splits = as_expr(schedule.split_kv)
    fractals = ceil_div(group, ATLAS_A2.fractal)
    return (
        TilingField("pairs", "int64", sizes.batch * sizes.kv_heads, "pairs of batch row and key/value head"),
        TilingField("splits", "int64", splits, "parts the keys of a row are split into"),
        TilingField("items", "int64", pairs * earlier("splits"), "units of work: a pair and a split"),
        TilingField("blocks", "int64", minimum(earlier("items"), cores), "blocks that are launched"),
        TilingField("kvHeads", "int64", sizes.kv_heads, "key/value heads"),
        TilingField("group", "int64", sizes.heads // sizes.kv_heads, "query heads of a key/value head"),
        TilingField("rowFractals", "int64", fractals, "fractals of 16 rows that the group fills"),
        TilingField("headDim", "int64", sizes.head_dim, "true head size"),
        TilingField("keyCapacity", "int64", sizes.keys, "keys of a row when no lengths are given"),
    )


@dataclass(frozen=True, slots=True)
class Placed:
    """Workspace tensors with their tiling fields."""

    tensors: tuple[GlobalTensor, ...]
    fields: tuple[TilingField, ...]


def place_workspace(tensors: tuple[GlobalTensor, ...]) -> Placed:
    """Consecutive byte offsets, each aligned for full Fixpipe rate.

    A tensor that the cores of one block share has a part for each block.
    """
    end: Expr = Const(0)
    placed: list[GlobalTensor] = []
    fields: list[TilingField] = []

    def add(name: str, value: Expr, meaning: str) -> Symbol:
        fields.append(TilingField(name, "int64", value, meaning))
        return fields[-1].symbol

    for tensor in tensors:
        start = add(f"{tensor.name}Offset", end, f"bytes from the workspace to the {tensor.meaning}")
        size = round_up(tensor.elements * item_bytes(tensor.dtype), ATLAS_A2.workspace_alignment)
        at: Expr = start
        if tensor.shared == "block":
            part = add(f"{tensor.name}Part", size, f"bytes of one block's {tensor.name}")
            at = start + BLOCK_INDEX * part
            size = earlier(part.name) * earlier("blocks")
        placed.append(replace(tensor, offset=at))
        end = earlier(start.name) + size
    total = TilingField("workspaceBytes", "int64", end, "bytes of the user workspace")
    return Placed(tuple(placed), (*fields, total))
