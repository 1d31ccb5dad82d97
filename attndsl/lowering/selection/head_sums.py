"""Probabilities of a step's rows, and their sums over the heads of each position.

A probability is ``exp(score - max) * (1 / sum)``: a division takes four cycles a repeat, a product one. Heads
are added in pairs as a tree: rows of one level do not wait for each other. Where a step has all heads of a
position, the last level leaves its sums, and no sum is added to what was there before. Rows far apart are
added first: rows eight apart lie in different halves of the groups of banks, so that the first level of 16
heads, which is as long as all others, takes its repeats once.
"""

from __future__ import annotations

from attndsl.expr import Const, Expr, Symbol, select
from attndsl.lowering.attention.second_run import alone
from attndsl.lowering.attention.tile_slots import state_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import HEADS, KEYS, R0, SMALLEST, STEP_ROWS, TILES
from attndsl.lowering.emit.row_operations import broadcast, by_row, keys_beside_start
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import row_inverses, vector_buffers
from attndsl.lowering.selection.selection_buffers import lead, pitch, selection_buffers, top_k
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Binary, WithScalar
from attndsl.tile.statements import For, If, Let, Note, Seq, Statement, seq

_ROW, _PAIR, _ADDED, _PLACE = Symbol("row"), Symbol("pair"), Symbol("addedRows"), Symbol("sums")


def divide_by_sums(context: Context) -> list[Statement]:
    """The step's exponentials divided by their sums: ``score`` holds probabilities afterwards.

    A row without keys has sum 0; its exponentials are 0.
    """
    b = vector_buffers(context)
    inverses = row_inverses(context)
    row_sum, inverse = whole(b.row_sum, state_row(context), STEP_ROWS), whole(inverses, 0, STEP_ROWS)
    ones = whole(selection_buffers(context).ones, 0, STEP_ROWS)
    clamp = WithScalar(op="Maxs", dst=row_sum, src=row_sum, scalar=SMALLEST, where=top_k(context).where)
    clamped: Statement = clamp
    if alone(context) is not None:
        # the sums of an only tile with few keys begin with the smallest number: attention/row_sums.py
        others = (TILES != 1) | (keys_beside_start(context) < KEYS)
        clamped = If(condition=others, then=seq(clamp))
    return [
        Note(text="score = score / rowSum"),
        clamped,
        Binary(op="Div", dst=inverse, first=ones, second=row_sum),
        broadcast(context, b.row_blocks, inverses),
        by_row(context, "Mul", b.score, b.row_blocks),
    ]


def add_heads(context: Context) -> list[Statement]:
    """The step's probabilities, in ``score``, to the sums of their positions."""
    why = "rows whose sum the first of them has in the end"
    return [
        Let(symbol=_ADDED, value=rows_of_sums(context), why=why),
        *(_add_pairs(context, apart) for apart in levels(context)),
        _add_rows(context),
    ]


def levels(context: Context) -> list[int]:
    """Rows between the two of a pair, level by level: powers of two below the rows of a step, down to 1."""
    step = context.rows_per_step
    rows = int(step.value)
    found = [1 << level for level in reversed(range(rows.bit_length() - 1)) if rows % (2 << level) == 0]
    require, core = context.inventory.require, context.rows_per_vector
    require(step % (2 * found[0]) == 0, "a vector step has whole trees of heads")
    # As many as calls were allowed for: heads_of_a_selection_fit_one_core of preconditions.py.
    require(core >= int(core.value), "a vector core has all heads of a position")
    return found


def _add_pairs(context: Context, apart: int) -> If:
    """The rows that a level before has left, the second half of each ``addedRows`` to the first.

    Steps and positions begin at multiples of ``addedRows``. The last pair of a position whose rows these are
    is left to ``_add_rows``.
    """
    score = vector_buffers(context).score

    def add(row: Expr) -> Statement:
        first, second = (_probabilities(context, row + after) for after in (0, apart))
        return Binary(op="Add", dst=first, first=first, second=second)

    if apart == 1:
        each, needed = add(_ROW), (HEADS % 2 == 0) & (HEADS != _ADDED)
    else:
        body, end = seq(add(_PAIR)), _ROW + apart
        each = For(var=_PAIR, begin=_ROW, end=end, body=body, disjoint=(score,), runs=True)
        needed = HEADS % (2 * apart) == 0
    loop = For(var=_ROW, end=STEP_ROWS, step=_ADDED, body=seq(each), disjoint=(score,), runs=True)
    return If(condition=needed, then=seq(loop))


def rows_of_sums(context: Context) -> Expr:
    """Rows whose sum is in the first of them after all levels, the last pair of a position added."""
    found: Expr = Const(1)
    for apart in reversed(levels(context)):
        found = select(HEADS % (2 * apart) == 0, 2 * apart, found)
    return found


def _probabilities(context: Context, row: Expr) -> Region:
    return whole(vector_buffers(context).score, row * context.score_pitch, KEYS)


def _add_rows(context: Context) -> If:
    """Rows of sums to those of their positions. A position whose last two they are gets the sum of these:
    a step has all its heads, so that there is nothing to add it to."""
    place = Let(symbol=_PLACE, value=(R0 + _ROW) // HEADS * pitch(context) + lead(context))
    sums = whole(selection_buffers(context).window, _PLACE, KEYS)
    first, second = (_probabilities(context, _ROW + after) for after in (0, 1))
    finish = Binary(op="Add", dst=sums, first=first, second=second)
    add = Binary(op="Add", dst=sums, first=sums, second=first)

    def over_rows(one: Binary, *disjoint: Buffer) -> Seq:
        body = seq(place, one)
        return seq(For(var=_ROW, end=STEP_ROWS, step=_ADDED, body=body, disjoint=disjoint, runs=True))

    return If(
        condition=(HEADS == _ADDED) & (HEADS != 1),
        then=over_rows(finish, sums.buffer),
        otherwise=over_rows(add),
    )
