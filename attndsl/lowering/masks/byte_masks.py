"""Masks in bytes: scores are replaced where the byte of their key is not zero.

Bytes become bits, with which every query row selects. A mask over (B, T) hides the same keys from all rows:
its bits are made once a tile. One with a row for each query position, shared by its heads, is loaded with
each vector step: the rows of the step's positions once, however many heads stand at each. Of masks with
other axes each row of the step has its own. What hides may be the zeros as well as the others.
"""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import Const, Expr, Symbol, as_expr, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.emit.loop_scalars import (
    BATCH,
    FIRST_KEY,
    FIRST_QUERY,
    HEAD,
    HEADS,
    KEYS,
    R0,
    REPEAT_LANES,
    ROW_BEGIN,
    STEP_ROWS,
)
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.byte_axes import BYTE_MASK_AXES, LEGAL_AXES, OF_ALL_ROWS, OF_POSITIONS
from attndsl.lowering.masks.hidden_lanes import hidden_value, hide_lanes, score_lanes
from attndsl.lowering.masks.mask_bits import (
    BITS_BLOCK,
    HALF_REPEAT,
    bytes_of_positions,
    compared,
    mask_buffers,
    to_bits,
    widened,
)
from attndsl.lowering.masks.mask_kind import MaskKind
from attndsl.lowering.masks.told_ends import FIRST_HIDDEN, bytes_mask, first_hidden, telling_mask
from attndsl.tile.buffers import Region
from attndsl.tile.instructions import Fill, LoadRows
from attndsl.tile.statements import For, If, Let, Statement, seq

_ROW, _POSITION = Symbol("row"), Symbol("position")
_FIRST = Const(0)
_HIDING = Symbol("hidingFrom")
"""Keys of the running tile in front of the first repeat in which a mask hides one from the step."""


def _from_bytes(context: Context, node: nodes.Replace) -> Modifier:
    """The lowered mask in bytes.

    Raises:
        NotLowered: no rule covers the axes of the mask.
    """
    found = bytes_mask(node)
    assert found is not None
    mask = found.tensor
    dtype = context.parameter(mask.name).dtype
    if dtype != "uint8":  # as kernels call all dtypes of one byte
        raise NotLowered(
            f"a mask of dtype {dtype}, {mask.name},",
            node.where,
            'declare it with dtype="bool", or compare its elements, as in s.where(x[b, j] != 0)',
        )
    if mask.axes in OF_ALL_ROWS:
        return _of_all_rows(context, node, mask)
    if mask.axes in OF_POSITIONS and not context.rows.one_position:
        return _of_positions(context, node, mask)
    if not LEGAL_AXES.issuperset(mask.axes):
        what = f"a mask in bytes over ({', '.join(mask.axes)}), {mask.name},"
        forms = f"masks in bytes are over {BYTE_MASK_AXES}"
        if mask.axes == ("U",):
            forms = f"of packed keys, pass it padded, as (B, T), and write {mask.name}[b, j]; {forms}"
        raise NotLowered(what, node.where, forms)
    return _of_rows(context, node, mask) if "T" in mask.axes else _of_whole_rows(context, node, mask)


def _of_all_rows(context: Context, node: nodes.Replace, mask: nodes.Input) -> Modifier:
    """Loaded and made into bits once a tile."""
    work = mask_buffers(context, mask, context.tile_lanes(HALF_REPEAT))

    def load_tile(context: Context) -> list[Statement]:
        offset: Expr = BATCH * context.stride(mask.name, "B") + FIRST_KEY
        source = context.gm(mask.name, offset, 1, KEYS)
        return [LoadRows(dst=whole(work.loaded, 0, KEYS), src=source, where=node.where)]

    return Modifier(
        title=_title(context, node, mask),
        source=mask.name,
        tile_loads=(work.loaded,),
        scratch=(work.wide, work.keep),
        load_tile=load_tile,
        prepare_tile=lambda context: list(to_bits(node, work, as_expr(0), work.keep.region()).body),
        finish=lambda context: [_select(context, node, work.keep.region())],
    )


def _of_rows(context: Context, node: nodes.Replace, mask: nodes.Input) -> Modifier:
    """A row of bytes for each row of a step, as of a mask that differs by head: loaded with the step."""
    pitch = context.tile_lanes(BITS_BLOCK)
    work = mask_buffers(context, mask, pitch, context.rows_per_step)

    def load_rows(context: Context) -> list[Statement]:
        def load(row: Expr) -> Statement:
            source = context.gm(mask.name, _row_of(context, mask) + FIRST_KEY, 1, KEYS)
            return LoadRows(dst=work.loaded.region(row * pitch, 1, KEYS), src=source, where=node.where)

        return [context.rows.each_row(load, (work.loaded,))]

    def apply(context: Context) -> list[Statement]:
        bits = work.keep.region(_ROW * (pitch // 8), 1, pitch // 8)
        one = seq(to_bits(node, work, _ROW * pitch, bits), hide_lanes(context, node, _ROW, bits))
        touched = (vector_buffers(context).score, work.keep)
        return [For(var=_ROW, end=STEP_ROWS, body=one, disjoint=touched, runs=True)]

    return Modifier(
        title=_title(context, node, mask),
        source=mask.name,
        row_loads=(work.loaded,),
        scratch=(work.wide, work.keep),
        load_rows=load_rows,
        apply=apply,
    )


def _of_whole_rows(context: Context, node: nodes.Replace, mask: nodes.Input) -> Modifier:
    """A mask without columns: one byte decides on all keys of a row."""
    score, value = vector_buffers(context).score, hidden_value(context, node)

    def hide(row: Expr) -> Statement:
        byte = context.parameter(mask.name).at(_row_of(context, mask))
        lanes = score_lanes(context, row)
        hidden = byte == 0 if isinstance(node.condition, nodes.Opposite) else byte != 0
        return If(condition=hidden, then=seq(Fill(dst=lanes, value=value, where=node.where)))

    return Modifier(
        title=_title(context, node, mask),
        apply=lambda context: [context.rows.each_row(hide, (score,))],
    )


def _row_of(context: Context, mask: nodes.Input) -> Expr:
    """Elements from the start of a mask to the row of the running row's head and position."""
    return context.rows.offset(context, mask.name, HEAD, context.rows.indices()["i"])


def _of_positions(context: Context, node: nodes.Replace, mask: nodes.Input) -> Modifier:
    """Loaded with each step of rows, and made into bits position by position.

    Often a step has the heads of one position: the bytes of its first are widened beside the first step of
    the scores, unless another modifier widens the same. Where the bytes tell the first key that is hidden
    from the step, whole repeats in front of it are left alone, and all of them where none is hidden.
    """
    pitch, work = context.tile_lanes(BITS_BLOCK), bytes_of_positions(context, mask)
    row = ROW_BEGIN + R0
    first, last = row // HEADS, (row + STEP_ROWS - 1) // HEADS
    positions = last - first + 1
    others = (bytes_mask(each) for each in context.attention.modifiers if isinstance(each, nodes.Replace))
    shared = sum(each is not None and each.tensor.name == mask.name for each in others) > 1
    telling = telling_mask(context)
    told = telling is not None and telling.modifier is node and not shared
    begin: Expr = _HIDING if told else Const(0)
    keys = KEYS - begin

    def bits(position: Expr) -> Region:
        return work.keep.region(position * (pitch // 8), 1, pitch // 8)

    def load_rows(context: Context) -> list[Statement]:
        along = context.stride(mask.name, "Q")
        offset: Expr = (FIRST_QUERY + first) * along + FIRST_KEY + begin
        if "B" in mask.axes:
            offset = BATCH * context.stride(mask.name, "B") + offset
        source = context.gm(mask.name, offset, positions, keys, along)
        load = LoadRows(dst=work.loaded.region(0, positions, keys, pitch), src=source, where=node.where)
        return [*(from_first_hidden() if told else ()), *where_hidden(load)]

    def where_hidden(*statements: Statement) -> list[Statement]:
        """What is done where a key of the tile is hidden from the step, as far as bytes tell."""
        return [If(condition=FIRST_HIDDEN < KEYS, then=seq(*statements))] if told else list(statements)

    def from_first_hidden() -> list[Statement]:
        hidden = maximum(0, minimum(FIRST_HIDDEN, KEYS - 1))
        from_repeat = Let(symbol=_HIDING, value=hidden // REPEAT_LANES * REPEAT_LANES)
        return [first_hidden(context, first, positions), from_repeat]

    def apply(context: Context) -> list[Statement]:
        of_position = to_bits(node, work, _POSITION * pitch, bits(_POSITION), keys)
        each = For(var=_POSITION, end=positions, body=of_position, disjoint=(work.keep,), runs=True)
        if shared:
            return [each]
        return where_hidden(
            compared(node, work, bits(as_expr(0)), keys), replace(each, begin=Const(1), runs=False)
        )

    return Modifier(
        title=_title(context, node, mask),
        source=mask.name,
        row_loads=(work.loaded,),
        scratch=(work.wide, work.keep),
        load_rows=load_rows,
        begin=lambda context: [] if shared else where_hidden(widened(node, work, as_expr(0), keys)),
        apply=apply,
        finish=lambda context: where_hidden(
            _select(context, node, bits((row + _ROW) // HEADS - first), begin)
        ),
    )


def _title(context: Context, node: nodes.Replace, mask: nodes.Input) -> str:
    what = "does not show" if isinstance(node.condition, nodes.Opposite) else "hides"
    return f"score = {node.value:g} where {mask.name} {what} the key  ({context.spec_line(node.where)})"


def _select(context: Context, node: nodes.Replace, bits: Region, begin: Expr = _FIRST) -> For:
    """Each row of the step keeps the scores that its bits keep, of the keys from ``begin`` on."""
    touched = (vector_buffers(context).score,)
    body = seq(hide_lanes(context, node, _ROW, bits, begin))
    return For(var=_ROW, end=STEP_ROWS, body=body, disjoint=touched, runs=True)


BYTE_MASK = MaskKind(
    name="a mask in bytes",
    form=f"a mask in bytes over {BYTE_MASK_AXES}",
    matches=lambda node, known: bytes_mask(node) is not None,
    lower=_from_bytes,
)
