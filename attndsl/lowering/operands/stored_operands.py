"""Operands of scores that are tensors: a column a key, as rows of columns or segments of them.

Rows that all heads of a position share are loaded once for each position of a step; the heads get copies of
them in the unified buffer, as the rows become fp32.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.base.source_location import SourceLine
from attndsl.expr import Binary, Const, Expr, Symbol, ceil_div, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.lookups import Term, element, row_terms, terms
from attndsl.lowering.emit.loop_scalars import (
    BATCH,
    FIRST_KEY,
    FIRST_QUERY,
    HEAD,
    HEADS,
    KEYS,
    R0,
    ROW_BEGIN,
    SPAN,
    STEP_ROWS,
)
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.stored_inputs import stored_plain
from attndsl.lowering.operands.key_numbers import KEY, affine, row_lanes
from attndsl.lowering.operands.score_operand import ScoreOperand
from attndsl.lowering.rows.row_space import ROW, RowRun
from attndsl.tile.buffers import Buffer, Region, item_bytes
from attndsl.tile.instructions import Convert, LoadRows, WithScalar
from attndsl.tile.naming import camel
from attndsl.tile.statements import For, If, Let, Statement, seq

FORMS = (
    "let the last index be j, or j plus what is the same for all keys, as in x.at(n, j - i + S - 1), or "
    "j % 64, and no other index have j"
)
"""How elements are read at keys as values."""
_SEGMENT, _BEGIN, _END = Symbol("segment"), Symbol("segmentBegin"), Symbol("segmentEnd")


def stored_operand(context: Context, node: nodes.Node) -> ScoreOperand:
    """A tensor with one row a query row."""
    assert isinstance(node, nodes.Input)

    def load_run(context: Context, target: Buffer, run: RowRun) -> Statement:
        rows = context.rows.place(context, node.name, run, KEYS)
        columns = context.gm(node.name, rows.offset + FIRST_KEY, run.rows, KEYS, rows.pitch)
        place = target.region(run.row * context.tile_keys, run.rows, KEYS, context.tile_keys)
        return LoadRows(dst=place, src=columns, where=node.where)

    spread = context.rows.has_nonzero_stride(context, node.name)

    def load(context: Context, target: Buffer) -> list[Statement]:
        return [context.rows.each_run(lambda run: load_run(context, target, run), (target,), spread=spread)]

    def load_positions(context: Context, target: Buffer) -> list[Statement]:
        first, positions = _step_positions()
        offset = context.rows.offset(context, node.name, HEAD, FIRST_QUERY + first) + FIRST_KEY
        pitch = context.stride(node.name, context.rows.run_axis)
        source = context.gm(node.name, offset, positions, KEYS, pitch)
        place = target.region(0, positions, KEYS, context.tile_keys)
        return [LoadRows(dst=place, src=source, where=node.where)]

    if spread and not context.rows.one_position and not context.has_stride(node.name, "N"):
        return _loaded(context, node, load_positions, node.where, node.name, of_positions=True)
    return _loaded(context, node, load, node.where, node.name)


def looked_up_operand(context: Context, node: nodes.Node) -> ScoreOperand:
    """Elements of an indexed tensor: a row of columns, or segments of columns where it repeats them."""
    assert isinstance(node, nodes.Lookup)
    tensor = stored_plain(node.source)
    last, rest = node.index[-1], node.index[:-1]
    source = f"{tensor.name}[{', '.join(map(str, node.index))}]"
    line = None if any("j" in part.symbols() for part in rest) else affine(last)
    if line is not None and line[0] == 1:
        plain = last.same(KEY) and all(isinstance(each, Symbol) or not _of_row(each) for each in rest)
        of_positions = plain and not context.rows.one_position and _of_positions(rest)
        rows = _whole_rows if plain else _shifted_rows
        rows = _rows_of_positions if of_positions else rows
        return _loaded(
            context, tensor, lambda c, t: [rows(c, node, t)], node.where, source, of_positions=of_positions
        )
    period = last.right if isinstance(last, Binary) and last.op == "%" and last.left.same(KEY) else None
    if not isinstance(period, Const):
        raise NotLowered(f"scores and {source}", node.where, _nearest_form(node))
    block = context.architecture.block // item_bytes(context.parameter(tensor.name).dtype)
    if period.value % block or context.keys.first(context) is not None:
        raise NotLowered(
            f"scores and {source}, whose segments do not begin on blocks of {block} keys",
            node.where,
            f"let the remainder be by a multiple of {block}, of keys that begin with the first",
        )
    return _loaded(context, tensor, lambda c, t: [_segments(c, node, t, period)], node.where, source)


def _nearest_form(node: nodes.Lookup) -> str:
    """The forms of an index at keys; for a function of a distance, the table that has such a form."""
    last, name = node.index[-1], stored_plain(node.source).name
    if not {"i", KEY.name} <= last.symbols():
        return FORMS
    others = "".join(f"{each}, " for each in node.index[:-1])
    return (
        f"{FORMS}; for what depends on the distance of both in another way, as {last} does, let the caller "
        f"pass {name} with an element for each of the 2 * S - 1 distances, and write "
        f"{name}.at({others}j - i + S - 1)"
    )


def _whole_rows(context: Context, node: nodes.Lookup, target: Buffer) -> Statement:
    tensor = stored_plain(node.source)
    found = terms(context, node)[:-1] if context.rows.one_position else row_terms(context, node)

    def load(row: Expr, rows: Expr, pitch: Expr) -> Statement:
        offset = element(context, found, context.rows.indices()) + FIRST_KEY
        place = target.region(row * context.tile_keys, rows, KEYS, context.tile_keys)
        source = context.gm(tensor.name, offset, rows, KEYS, pitch)
        return LoadRows(dst=place, src=source, where=node.where)

    along = {"N": "n", "Q": "i", "S": "i"}

    def load_run(run: RowRun) -> Statement:
        pitch = _pitch(node, found, along[run.along])
        return load(run.row, run.rows, Const(0) if run.rows.same(Const(1)) else pitch)

    if context.rows.one_position and not any(part.same(Symbol("n")) for part in node.index):
        return context.rows.each_row(lambda row: load(row, Const(1), Const(0)), (target,))
    spread = not _pitch(node, found, along[context.rows.run_axis]).same(Const(0))
    return context.rows.each_run(load_run, (target,), spread=spread)


def _rows_of_positions(context: Context, node: nodes.Lookup, target: Buffer) -> Statement:
    """One row for each position of the step, however many heads stand at it."""
    tensor, found = stored_plain(node.source), row_terms(context, node)
    first, positions = _step_positions()
    offset = element(context, found, {"b": BATCH, "i": FIRST_QUERY + first}) + FIRST_KEY
    source = context.gm(tensor.name, offset, positions, KEYS, _pitch(node, found, "i"))
    return LoadRows(dst=target.region(0, positions, KEYS, context.tile_keys), src=source, where=node.where)


def _step_positions() -> tuple[Expr, Expr]:
    """The first position of the step, counted from that of the task, and how many the step has."""
    row = ROW_BEGIN + R0
    first = row // HEADS
    return first, (row + STEP_ROWS - 1) // HEADS - first + 1


def _pitch(node: nodes.Lookup, row: tuple[Term, ...], symbol: str) -> Expr:
    """Elements from a row to that of the next head or position."""
    found: Expr = Const(0)
    for part, pitch in row:
        if symbol in part.symbols():
            if not isinstance(part, Symbol):
                raise NotLowered(
                    f"a row of {part} for each query", node.where, "index rows by i, n and b themselves"
                )
            found = found + pitch
    return found


def _of_row(index: Expr) -> bool:
    return bool(index.symbols() & {"n", "i"})


def _of_positions(row: tuple[Expr, ...]) -> bool:
    """Whether a row differs by position, and all heads share it."""
    symbols = frozenset[str]().union(*(part.symbols() for part in row))
    return "i" in symbols and "n" not in symbols


def _shifted_rows(context: Context, node: nodes.Lookup, target: Buffer) -> Statement:
    """A run of elements for each row, from where its index puts the first key of the tile."""
    tensor = stored_plain(node.source)

    def one_row(row: Expr) -> Statement:
        offset = element(context, terms(context, node), {**context.rows.indices(), "j": FIRST_KEY})
        place = target.region(row * context.tile_keys, 1, KEYS)
        return LoadRows(dst=place, src=context.gm(tensor.name, offset, 1, KEYS), where=node.where)

    return context.rows.each_row(one_row, (target,))


def _segments(context: Context, node: nodes.Lookup, target: Buffer, period: Const) -> Statement:
    """Row by row, segments of ``period`` keys, each from where the index puts it."""
    tensor = stored_plain(node.source)

    def one_row(row: Expr) -> Statement:
        offset = element(context, terms(context, node), {**context.rows.indices(), "j": _BEGIN})
        place = target.region(row * context.tile_keys + _BEGIN - FIRST_KEY, 1, _END - _BEGIN)
        load = LoadRows(dst=place, src=context.gm(tensor.name, offset, 1, _END - _BEGIN), where=node.where)
        return For(
            var=_SEGMENT,
            begin=FIRST_KEY // period,
            end=ceil_div(FIRST_KEY + KEYS, period),
            body=seq(
                Let(symbol=_BEGIN, value=maximum(_SEGMENT * period, FIRST_KEY)),
                Let(symbol=_END, value=minimum(_SEGMENT * period + period, FIRST_KEY + KEYS)),
                load,
            ),
            disjoint=(target,),
            runs=True,
        )

    return context.rows.each_row(one_row, (target,))


def _loaded(
    context: Context,
    tensor: nodes.Input,
    load: Callable[[Context, Buffer], list[Statement]],
    where: SourceLine,
    source: str,
    *,
    of_positions: bool = False,
) -> ScoreOperand:
    """Rows of a tensor in its own dtype, widened; ``of_positions``: one a position of the step is loaded."""
    name, s, dtype = camel(tensor.name), context.schedule, context.parameter(tensor.name).dtype
    meaning = f"{tensor.name} of the rows"
    narrow = context.in_ub(f"{name}Rows", dtype, context.rows_per_step * context.tile_keys, meaning, s.slots)

    def widen(place: Region, rows: Region) -> Statement:
        if dtype == "float32":
            return WithScalar(op="Adds", dst=place, src=rows, scalar=Const(0), where=where)
        return Convert(dst=place, src=rows, mode="CAST_NONE", where=where)

    def compute(context: Context, target: Buffer) -> list[Statement]:
        together = widen(whole(target, 0, SPAN), whole(narrow, 0, SPAN))
        if not of_positions:
            return [together]
        row = ROW_BEGIN + R0
        position = (row + ROW) // HEADS - row // HEADS
        lanes, source = row_lanes(context, target, ROW), row_lanes(context, narrow, position)
        each = For(var=ROW, end=STEP_ROWS, body=seq(widen(lanes, source)), disjoint=(target,), runs=True)
        return [If(condition=HEADS == 1, then=seq(together), otherwise=seq(each))]

    return ScoreOperand(
        loads=(narrow,), source=source, load=lambda context: load(context, narrow), compute=compute
    )
