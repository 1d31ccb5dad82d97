"""New rows into their places in a cache: an effect on an argument.

No core reads what is written here: attention takes the new rows from where the call passes them. Only in a
ring do new rows overwrite old ones that are still read, so there all vector cores meet first; a vector core
that has added up its last tile knows that its cube has read all keys and values.
"""

from __future__ import annotations

from attndsl.expr import Expr, Symbol, maximum
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import BATCH, KV_HEAD, R0
from attndsl.lowering.emit.shorthands import chunks
from attndsl.lowering.keys.cached_rows import AppendedRows
from attndsl.lowering.keys.key_source import KeySource, KeySourceAdapter
from attndsl.lowering.keys.stored_rows import Contiguous
from attndsl.target import Core
from attndsl.tile.buffers import GlobalRegion
from attndsl.tile.instructions import LoadRows, StoreRows
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, SUB_BLOCK, tiling_scalar
from attndsl.tile.statements import Alloc, For, Let, Stage, Statement, seq

_NEW, _NEW_ROWS, _SLOT = Symbol("newRow"), Symbol("newRows"), Symbol("cacheRow")


def appended_sources(*sources: KeySource) -> tuple[AppendedRows, ...]:
    """Those of some sources that a call appends to."""
    return tuple(found for source in sources if (found := _appended(source)) is not None)


def _appended(source: KeySource) -> AppendedRows | None:
    while isinstance(source, KeySourceAdapter) and not isinstance(source, AppendedRows):
        source = source.inner
    return source if isinstance(source, AppendedRows) else None


def append_rows(emit: Emitter, sources: tuple[AppendedRows, ...]) -> Stage:
    """The new rows of keys and values, into their caches; vector cores take turns at them."""
    rows = emit.host(emit.signature.extents["B"], "batch rows", "batchRows")
    body = seq(*(For(var=BATCH, end=rows, body=seq(_rows_of(emit, each))) for each in sources))
    overwrites = any(source.ring is not None for source in sources)
    doc = "New keys and values into their rows of the caches."
    where = sources[0].where
    return Stage(
        name="AppendRows", core=Core.AIV, doc=doc, body=body, after_all_cores=overwrites, where=where
    )


def _rows_of(emit: Emitter, source: AppendedRows) -> Statement:
    ring = source.ring
    count = source.valid_rows(emit) - source.appended_at
    first: Expr = BLOCK_INDEX * emit.architecture.aiv_per_aic + SUB_BLOCK
    slot: Expr = source.appended_at + _NEW
    if ring is not None:  # of more new rows than the ring holds, the last ones stay
        first = maximum(0, _NEW_ROWS - ring.rows_of_turn(emit)) + first
        slot = slot % ring.rows_of_turn(emit)
    one = seq(Let(symbol=_SLOT, value=slot), _copy_row(emit, source))
    rows = For(
        var=_NEW,
        begin=first,
        end=_NEW_ROWS,
        step=BLOCK_COUNT * emit.architecture.aiv_per_aic,
        body=one,
        where=source.where,
    )
    return seq(*source.enter(emit), Let(symbol=_NEW_ROWS, value=maximum(0, count)), rows)


def _copy_row(emit: Emitter, source: AppendedRows) -> For:
    """A new row of all key/value heads, a few heads at a time."""
    of_keys = (emit.head_dim, emit.padded_head_size)
    dim, padded_size = of_keys if source.role == "key" else (emit.value_dim, emit.padded_value_size)
    elements = emit.rows_per_step * padded_size
    staged = emit.in_ub(f"new{source.role.capitalize()}", emit.dtype, elements, "new rows")

    def heads(r0: Expr, chunk: Expr) -> list[Statement]:
        def rows_at(rows: Contiguous, row: Expr) -> GlobalRegion:
            pitch = emit.stride(rows.name, "K")
            return emit.gm(rows.name, rows.row_offset(emit, row), chunk, dim, pitch)

        rows = staged.region(0, chunk, dim, padded_size)
        return [
            Let(symbol=KV_HEAD, value=R0),
            Alloc(
                buffers=(staged,),
                body=seq(
                    LoadRows(dst=rows, src=rows_at(source.new, _NEW)),
                    StoreRows(dst=rows_at(source.cache, _SLOT), src=rows),
                ),
            ),
        ]

    return chunks(tiling_scalar("kvHeads"), emit.rows_per_step, heads, source.where)
