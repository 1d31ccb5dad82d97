"""Loops and branches that are one call of the runtime header, ``attndsl_kernel.h``.

The header's functions loop over the same instructions with the same operands. A loop is a call only if its
instruction's operands move by exactly what the function moves them by; any other loop is written out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from attndsl.codegen.names.spelling import Spelling
from attndsl.expr import Binary as Pair
from attndsl.expr import (
    Compare,
    Const,
    Expr,
    Named,
    Symbol,
    as_expr,
    ceil_div,
    constant_value,
    maximum,
    minimum,
    select,
)
from attndsl.target import Architecture
from attndsl.tile.buffers import Region
from attndsl.tile.instructions import (
    Binary,
    BlockReduce,
    BroadcastRows,
    LoadFractals,
    LoadNz,
    StoreRows,
    WithScalar,
)
from attndsl.tile.instructions.base import is_one
from attndsl.tile.instructions.cube import FRACTAL_SIZE, INT8_DEPTH, fractal_depth
from attndsl.tile.instructions.units import BLOCK_LANES, block_elements, repeat_elements
from attndsl.tile.statements import For, If, Let, Statement, only

_LANES, _BLOCK_LANES = repeat_elements("float32"), block_elements("float32")
_WITH_BLOCKS = {"Mul": "MulRows", "Div": "DivRows", "Sub": "SubRows"}


def call_of_loop(loop: For, names: Spelling) -> str | None:
    """The call that does what a loop over one instruction does; None where there is none."""
    item = only(loop.body)
    if isinstance(loop.body.body[-1], StoreRows):
        return _stored_runs(loop, names)
    if isinstance(item, For):
        return _by_eights(item, loop, names)
    rule = _LOOPS.get(type(item))
    if rule is None or not loop.begin.same(Const(0)):
        return None
    return rule(item, loop, names)


def call_of_instruction(item: Statement, names: Spelling) -> str | None:
    """The call that names what one instruction does: on one repeat a row, or a copy; None of others."""
    if isinstance(item, WithScalar) and is_copy(item):
        return f"CopyLanes({_places(item.dst, item.src, names)}, {names.expr(item.dst.cols)});"
    if isinstance(item, BlockReduce):
        src, dst = item.src, item.dst
        if _is_number(src.pitch, 0) or not _is_number(src.cols, _LANES):
            return None
        sizes = map(names.expr, (src.rows, src.cols, dst.pitch, src.pitch))
        return f"{item.op}OfBlocks({_places(dst, src, names)}, {', '.join(sizes)});"
    if isinstance(item, BroadcastRows):
        rows = item.src.cols
        if not _is_number(item.dst.pitch, _LANES) or not item.dst.rows.same(rows // BLOCK_LANES):
            return None
        return f"SpreadOverBlocks<1>({_places(item.dst, item.src, names)}, {names.expr(rows)});"
    return None


def is_copy(item: WithScalar) -> bool:
    """Whether an instruction copies lanes."""
    return item.op == "Adds" and _is_number(item.scalar, 0)


def _places(dst: Region, src: Region, names: Spelling) -> str:
    return ", ".join(names.local(each.buffer, each.offset) for each in (dst, src))


def call_of_branch(branch: If, names: Spelling, architecture: Architecture) -> str | None:
    """The call that loads what may exceed the limits of one copy: a matrix by its pitch, the heads of some
    positions by theirs (:func:`_positions`); None of other branches. Of a matrix::

        if (pitch <= kMaxNd2NzPitch) {
            LoadNz(l1[at], global[from], rows, columns, pitch, imageRows);
        } else {
            for (row = 0; row < rows; ++row)
                LoadNz(l1[at + row * depth], global[from + row * pitch], 1, columns, columns, imageRows);
        }
    """
    found = _positions(branch, names, architecture)
    if found is not None:
        return found
    whole, loop = only(branch.then), only(branch.otherwise)
    if not isinstance(whole, LoadNz) or not isinstance(loop, For):
        return None
    row, limit = only(loop.body), architecture.max_nd2nz_pitch
    fits = Compare("<=", whole.src.pitch, Const(limit))
    if not isinstance(row, LoadNz) or not branch.condition.same(fits):
        return None
    image, text = whole.padded_rows, whole.text(names)
    by_row = (
        _moves(row.dst.offset, loop.var, whole.dst.offset, fractal_depth(row.dst.buffer.dtype)),
        _moves(row.src.offset, loop.var, whole.src.offset, whole.src.pitch),
        loop.begin.same(Const(0)) and loop.step.same(Const(1)) and loop.end.same(whole.src.rows),
        row.src.rows.same(Const(1)) and row.src.cols.same(whole.src.cols) and row.padded_rows.same(image),
        row.src.pitch.same(row.src.cols) and row.src.tensor is whole.src.tensor,
        row.dst.buffer is whole.dst.buffer and text.startswith("LoadNz("),
    )
    return text.replace("LoadNz(", "LoadNzOfAnyPitch(", 1) if all(by_row) else None


def _positions(branch: If, names: Spelling, architecture: Architecture) -> str | None:
    """The rows of some positions: of one head as a matrix, of several as a matrix each::

    if (heads == 1 && pitch <= kMaxNd2NzPitch) {
        LoadNz(l1[at], global[from], positions, columns, pitch, imageRows);
    } else if (pitch <= kMaxNd2NzPitch) {  // all positions in one copy
        LoadNz of `positions` matrices of `heads` rows, `pitch` apart, to every `heads`-th row of the image
    } else {
        for (p = 0; p < positions; ++p)
            LoadNz(l1[at + p * heads * depth], global[from + p * pitch], heads, columns, headPitch, ...);
    }
    """
    one_head, other = only(branch.then), only(branch.otherwise)
    if not isinstance(one_head, LoadNz) or not isinstance(other, If):
        return None
    several, loop = only(other.then), only(other.otherwise)
    if not isinstance(several, LoadNz) or not isinstance(loop, For):
        return None
    row = only(loop.body)
    if not isinstance(row, LoadNz):
        return None
    positions, heads, pitch = several.matrices, several.src.rows, one_head.src.pitch
    fits = Compare("<=", pitch, Const(architecture.max_nd2nz_pitch))
    depth, start = fractal_depth(row.dst.buffer.dtype), several.dst.offset
    loads = (one_head, several, row)
    alike = (
        all(each.padded_rows.same(row.padded_rows) and each.row_step.same(Const(1)) for each in loads),
        all(each.src.cols.same(row.src.cols) and each.src.tensor is row.src.tensor for each in loads),
        all(each.dst.buffer is row.dst.buffer for each in loads),
        is_one(one_head.matrices) and is_one(row.matrices),
        one_head.dst.offset.same(start) and one_head.src.offset.same(several.src.offset),
        one_head.src.rows.same(positions) and row.src.rows.same(heads),
        several.src_matrix_pitch.same(pitch) and several.matrix_step.same(heads),
        row.src.pitch.same(several.src.pitch) and loop.end.same(positions),
        loop.begin.same(Const(0)) and loop.step.same(Const(1)),
        _moves(row.src.offset, loop.var, several.src.offset, pitch),
        _moves(row.dst.offset, loop.var, start, heads * depth),
        other.condition.same(fits) and branch.condition.same(Compare("==", heads, Const(1)) & fits),
    )
    if not all(alike):
        return None
    places = f"{names.local(row.dst.buffer, start)}, {names.gm(row.src.tensor, several.src.offset)}"
    sizes = (positions, heads, row.src.cols, pitch, row.src.pitch, row.padded_rows)
    return f"LoadPositions({places}, {', '.join(map(names.expr, sizes))});"


# ------------------------------------------------------------------------------------------------
# How operands move


def _linear(expr: Expr, var: Symbol) -> tuple[Expr, Expr] | None:
    """``start`` and ``step`` of ``start + var * step``; None of expressions of another form."""
    if var.name not in expr.symbols():
        return expr, Const(0)
    if isinstance(expr, Symbol):
        return Const(0), Const(1)
    if not isinstance(expr, Pair) or expr.op not in ("+", "*"):
        return None
    left, right = _linear(expr.left, var), _linear(expr.right, var)
    if left is None or right is None:
        return None
    if expr.op == "+":
        return left[0] + right[0], left[1] + right[1]
    if var.name not in expr.right.symbols():
        return left[0] * expr.right, left[1] * expr.right
    return (expr.left * right[0], expr.left * right[1]) if var.name not in expr.left.symbols() else None


def _moves(offset: Expr, var: Symbol, start: Expr, step: Expr) -> bool:
    found = _linear(offset, var)
    return found is not None and found[0].same(start) and found[1].same(step)


def _product_of(expr: Expr, *factors: Expr) -> bool:
    """Whether an expression is the product of these, in any order."""
    wanted = [each for factor in factors for each in _factors(factor)]
    return Counter(_factors(expr)) == Counter(wanted)


def _factors(expr: Expr) -> list[Expr]:
    if isinstance(expr, Pair) and expr.op == "*":
        return _factors(expr.left) + _factors(expr.right)
    return [] if type(expr) is Const and expr.value == 1 else [expr]


def _numbers(expr: Expr) -> Expr:
    """The expression with its constants as numbers."""
    return expr.mapped(lambda node: Const(node.value) if isinstance(node, Named) else None)


def _is_number(expr: Expr, number: int) -> bool:
    return constant_value(expr) == number


# ------------------------------------------------------------------------------------------------
# Vector instructions, one for each repeat of columns


def _with_blocks(item: Binary, loop: For, names: Spelling) -> str | None:
    """``rows[r] = rows[r] op blocks[r]``, all rows in one instruction::

        for (c = 0; c < columns; c += 64)
            Mul(rows[c], rows[c], blocks[copy(c)], 64 lanes of `count` rows, `pitch` apart);

    ``copy(c)``: 0, or that of :func:`_copies`.
    """
    found, call = _rows_by_blocks(item, loop), _WITH_BLOCKS.get(item.op)
    if found is None or call is None:
        return None
    rows, blocks = found.rows, found.blocks
    places = f"{names.local(rows.buffer, rows.offset)}, {names.local(blocks.buffer, blocks.offset)}"
    sizes = ", ".join(map(names.expr, (rows.rows, rows.cols, rows.pitch)))
    return f"{call}<{found.copies}>({places}, {sizes});"


@dataclass(frozen=True, slots=True)
class RowsByBlocks:
    """``rows[r] = rows[r] op blocks[r]``; ``copies``: how many there are of each block."""

    op: str
    copies: int
    rows: Region
    blocks: Region


def rows_by_blocks(statement: Statement) -> RowsByBlocks | None:
    """What a loop over the columns of rows, or one instruction on rows of one repeat, does to them by a block
    each; None of other statements."""
    if isinstance(statement, For):
        item = only(statement.body)
        return _rows_by_blocks(item, statement) if isinstance(item, Binary) else None
    if not isinstance(statement, Binary) or not statement.broadcast:
        return None
    whole = _is_number(statement.dst.cols, _LANES) and _is_number(statement.second.pitch, _BLOCK_LANES)
    if not whole or not _same_region(statement.dst, statement.first):
        return None
    return RowsByBlocks(statement.op, 1, statement.dst, statement.second)


def _rows_by_blocks(item: Binary, loop: For) -> RowsByBlocks | None:
    dst, second = item.dst, item.second
    start, blocks = _by_repeats(dst, loop), _copies(second.offset, loop.var)
    if start is None or blocks is None or not item.broadcast or not loop.begin.same(Const(0)):
        return None
    if not _same_region(dst, item.first) or not _is_number(second.pitch, _BLOCK_LANES):
        return None
    copies, offset = blocks
    rows = replace(dst, offset=start, cols=loop.end)
    return RowsByBlocks(item.op, copies, rows, replace(second, offset=offset))


def _by_eights(inner: For, loop: For, names: Spelling) -> str | None:
    """The same for groups of eight rows, as many as their blocks fill half of the groups of banks::

    for (c = 0; c < columns; c += 64)
        for (r = 0; r < count; r += 8) {
            n = min(8, count - r);
            Mul(rows[c + r * pitch], rows[c + r * pitch],
                blocks[r * 16 + copy(c)], 64 lanes of `n` rows);
        }
    """
    if len(inner.body.body) != 2:
        return None
    let, item = inner.body.body
    if not isinstance(let, Let) or not isinstance(item, Binary):
        return None
    number = minimum(_BLOCK_LANES, inner.end - inner.var)
    dst, second, first_group = item.dst, item.second, {inner.var.name: Const(0)}
    rows, place = _linear(dst.offset, inner.var), second.offset.substitute(first_group)
    by_eights = (
        _is_number(inner.step, _BLOCK_LANES) and inner.begin.same(Const(0)) and loop.begin.same(Const(0))
    )
    if not by_eights or not let.value.same(number) or not dst.rows.same(let.symbol) or rows is None:
        return None
    copies = _copies(place, loop.var)
    if copies is None or not rows[1].same(dst.pitch) or inner.var.name in place.symbols():
        return None
    if not _numbers(second.offset).same(inner.var * (copies[0] * _BLOCK_LANES) + _numbers(place)):
        return None
    every = dst.buffer.region(rows[0], inner.end, dst.cols, dst.pitch)
    if not _same_region(dst, item.first) or not second.rows.same(let.symbol):
        return None
    whole = replace(item, dst=every, first=every, second=replace(second, offset=place, rows=inner.end))
    return _with_blocks(whole, loop, names) if copies[0] > 1 else None


def _copies(offset: Expr, column: Symbol) -> tuple[int, Expr] | None:
    """How many copies there are of the block of each row, and where they begin.

    One, at an offset without the column; or two, at ``64 - column % 128``: the second for columns at 0,
    128, ..., the first for those between.
    """
    if column.name not in offset.symbols():
        return 1, offset
    other_of_two = as_expr(_LANES) - column % (2 * _LANES)
    return (2, Const(0)) if _numbers(offset).same(other_of_two) else None


def _of_blocks(item: BlockReduce, loop: For, names: Spelling) -> str | None:
    """The results of the blocks of 8 lanes::

    for (c = 0; c < columns; c += 64)
        BlockReduceMax(results[c / 8], rows[c], 64 lanes of `count` rows);
    """
    start = _by_repeats(item.src, loop)
    if start is None or not _numbers(item.dst.offset).same(loop.var // _BLOCK_LANES):
        return None
    places = f"{names.local(item.dst.buffer, 0)}, {names.local(item.src.buffer, start)}"
    sizes = map(names.expr, (item.src.rows, loop.end, item.dst.pitch, item.src.pitch))
    return f"{item.op}OfBlocks({places}, {', '.join(sizes)});"


def _spread(item: BroadcastRows, loop: For, names: Spelling) -> str | None:
    """A number of each row in a block a row, in several copies: ``for (c = 0; c < copies * 64; c += 64)
    Brcb(blocks[c], numbers, count);`` with blocks of eight rows ``copies * 64`` lanes apart."""
    end = constant_value(loop.end)
    copies = 0 if end is None else int(end) // _LANES
    fits = _is_number(loop.step, _LANES) and item.dst.offset.same(loop.var)
    if not fits or not copies or not _is_number(item.dst.pitch, copies * _LANES):
        return None
    places = f"{names.local(item.dst.buffer, 0)}, {names.local(item.src.buffer, item.src.offset)}"
    return f"SpreadOverBlocks<{copies}>({places}, {names.expr(item.src.cols)});"


def _by_repeats(region: Region, loop: For) -> Expr | None:
    """Where a region of one repeat a row starts that moves by a repeat each time; None if it does not."""
    found = _linear(region.offset, loop.var)
    whole = _is_number(loop.step, _LANES) and _is_number(region.cols, _LANES)
    return found[0] if found is not None and whole and found[1].same(Const(1)) else None


def _same_region(first: Region, second: Region) -> bool:
    pairs = ((first.offset, second.offset), (first.rows, second.rows), (first.pitch, second.pitch))
    return first.buffer is second.buffer and all(one.same(other) for one, other in pairs)


# ------------------------------------------------------------------------------------------------
# Loads of fractals, one for each row of them


def _fractals(item: LoadFractals, loop: For, names: Spelling) -> str | None:
    """The left operand of a product as it is, or the right one of int8 with each square transposed::

        for (r = 0; r < rows; ++r)
            LoadFractals(l0[at + r * columns * fractal], l1[from + r * step], columns, stride);

    with the elements of one fractal in ``fractal``, and in ``step`` those, or those of a square of two.
    """
    depth = fractal_depth(item.src.buffer.dtype)
    if item.transpose and not depth.same(INT8_DEPTH):
        return None
    dst, src = _linear(item.dst.offset, loop.var), _linear(item.src.offset, loop.var)
    columns = _columns(item.repeat) if item.transpose else item.repeat
    if dst is None or src is None or columns is None or not _is_number(loop.step, 1):
        return None
    rows_of_square = depth if item.transpose else FRACTAL_SIZE
    moves = _product_of(dst[1], columns, FRACTAL_SIZE, depth) and _product_of(src[1], rows_of_square, depth)
    if not moves or item.dst.buffer.dtype != item.src.buffer.dtype:
        return None
    places = f"{names.local(item.dst.buffer, dst[0])}, {names.local(item.src.buffer, src[0])}"
    call = "LoadTransposedInt8" if item.transpose else "LoadLeft"
    return f"{call}({places}, {', '.join(map(names.expr, (loop.end, columns, item.src_stride)))});"


def _columns(squares: Expr) -> Expr | None:
    """The fractals of int8 side by side that fill so many squares; None if they are not told."""
    if not isinstance(squares, Pair) or squares.op != "//" or not squares.right.same(INT8_DEPTH):
        return None
    whole = squares.left
    if isinstance(whole, Pair) and whole.op == "*" and whole.right.same(FRACTAL_SIZE):
        return whole.left
    return None


_LOOPS: dict[type[Any], Callable[[Any, For, Spelling], str | None]] = {
    Binary: _with_blocks,
    BlockReduce: _of_blocks,
    BroadcastRows: _spread,
    LoadFractals: _fractals,
}


# ------------------------------------------------------------------------------------------------
# Rows of a task, stored by runs


def _stored_runs(loop: For, names: Spelling) -> str | None:
    """Rows of a task to where their heads and positions are stored, in one copy the heads of a position, or
    all positions of a single head, ``length`` rows of the task::

        for (run = first / length; run < CeilDiv(first + rows, length); ++run) {
            row = MaxOf(0, run * length - first);
            count = MinOf(rows, (run + 1) * length - first) - row;
            head = firstHead + (first + row) % heads;
            position = firstPosition + (first + row) / heads;
            StoreRows(global[position * positionPitch + head * headPitch], local[row * localPitch],
                count, columns, heads == 1 ? positionPitch : headPitch, localPitch);
        }
    """
    *lets, store = loop.body.body
    if len(lets) != 4 or not all(isinstance(let, Let) for let in lets) or not isinstance(store, StoreRows):
        return None
    row, count, head, position = (let for let in lets if isinstance(let, Let))
    run, begin, end = loop.var, _sides(loop.begin, "//"), _sides(loop.end, "ceil_div")
    of_head, of_position = _sides(head.value, "+"), _sides(position.value, "+")
    if begin is None or end is None or of_head is None or of_position is None:
        return None
    (first, length), total, heads = begin, _sides(end[0], "+"), _sides(of_position[1], "//")
    if total is None or heads is None:
        return None
    rows, at = total[1], first + row.symbol
    target = _linear(store.dst.offset, head.symbol)
    along = _linear(target[0], position.symbol) if target is not None else None
    local = _linear(store.src.offset, row.symbol)
    if target is None or along is None or local is None:
        return None
    (start, position_pitch), head_pitch = along, target[1]
    moving = {run.name, *(each.symbol.name for each in (row, count, head, position))}
    alike = (
        loop.step.same(Const(1)) and loop.end.same(ceil_div(first + rows, length)),
        row.value.same(maximum(0, run * length - first)),
        count.value.same(minimum(rows, (run + 1) * length - first) - row.symbol),
        of_head[1].same(at % heads[1]) and of_position[1].same(at // heads[1]),
        not moving & set().union(*(each.symbols() for each in (start, head_pitch, position_pitch, local[0]))),
        store.src.rows.same(count.symbol) and store.dst.rows.same(count.symbol),
        local[1].same(store.src.pitch) and store.dst.cols.same(store.src.cols),
        store.dst.pitch.same(select(Compare("==", heads[1], Const(1)), position_pitch, head_pitch)),
    )
    if not all(alike):
        return None
    base = store.dst.offset.substitute({head.symbol.name: of_head[0], position.symbol.name: of_position[0]})
    places = f"{names.gm(store.dst.tensor, base)}, {names.local(store.src.buffer, local[0])}"
    sizes = first, rows, length, heads[1], store.src.cols, head_pitch, position_pitch, store.src.pitch
    return f"StoreRuns({places}, {', '.join(map(names.expr, sizes))});"


def _sides(expr: Expr, op: str) -> tuple[Expr, Expr] | None:
    return (expr.left, expr.right) if isinstance(expr, Pair) and expr.op == op else None
