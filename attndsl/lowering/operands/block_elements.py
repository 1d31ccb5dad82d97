"""Elements that neighbouring keys share, such as one of a mask by blocks of queries and keys.

``x[b, n, i // 32, j // 64]`` is one element for 64 keys. The scalar unit reads it once a block of keys, and
the lanes of the block are filled with its sign against a bound.
"""

from __future__ import annotations

from collections.abc import Iterable

from attndsl.base.source_location import SourceLine
from attndsl.expr import Binary, Const, Expr, Load, Symbol, ceil_div, maximum, minimum
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEYS
from attndsl.lowering.operands.key_numbers import KEY
from attndsl.tile.buffers import Region
from attndsl.tile.instructions import FillInterval
from attndsl.tile.statements import For, Statement, seq

POSITION = Symbol("i")
_BLOCK = Symbol("keyBlock")


def shared_by(exprs: Iterable[Expr], symbol: Symbol) -> Expr | None:
    """The size of the blocks of an index within which expressions stay the same: the divisor of ``//`` that
    the index always stands in.

    None where the index stands elsewhere, or in quotients by several divisors.
    """
    found: Expr | None = None
    open_ = list(exprs)
    while open_:
        each = open_.pop()
        if each.same(symbol):
            return None
        if isinstance(each, Binary) and each.op == "//" and each.left.same(symbol):
            if symbol.name in each.right.symbols() or (found is not None and not found.same(each.right)):
                return None
            found = each.right
            continue
        open_ += each.children()
    return found


def block_of_keys(element: Load) -> Expr | None:
    """How many neighbouring keys share an element; None of one that is read at each key, or elsewhere."""
    return shared_by((element.index,), KEY)


def fill_signs(
    context: Context, element: Load, size: Expr, shift: Expr, lanes: Region, where: SourceLine
) -> Statement:
    """``lanes = sign(element + shift)`` of the running row, block of keys by block.

    ``size``: the keys of a block; ``shift``: an integer of the row.
    """
    keys = context.host(size, "keys of a block")
    at = {**context.rows.indices(), KEY.name: _BLOCK * keys}
    number = context.in_kernel(element + shift, at)
    fill = FillInterval(
        dst=lanes,
        begin=maximum(0, _BLOCK * keys - FIRST_KEY),
        end=minimum(KEYS, (_BLOCK + 1) * keys - FIRST_KEY),
        value=minimum(1, maximum(Const(-1), number)),
        where=where,
    )
    end = ceil_div(FIRST_KEY + KEYS, keys)
    touched = (lanes.buffer,)
    return For(var=_BLOCK, begin=FIRST_KEY // keys, end=end, body=seq(fill), disjoint=touched, runs=True)
