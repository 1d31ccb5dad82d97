"""New rows into their places in a cache: an effect on an argument.

No core reads what is written here: attention takes the new rows from where the call passes them. Only in a
ring do new rows overwrite old ones that are still read, so there all vector cores meet first; a vector core
that has added up its last tile knows that its cube has read all keys and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.expr import Expr, Symbol, maximum
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import BATCH, KV_HEAD
from attndsl.lowering.emit.shorthands import in_steps
from attndsl.lowering.keys.cached_rows import AppendedRows
from attndsl.lowering.keys.key_source import KeySource, source_of_kind
from attndsl.lowering.keys.stored_rows import Contiguous
from attndsl.target import Core
from attndsl.tile.buffers import GlobalRegion
from attndsl.tile.instructions import LoadRows, StoreRows
from attndsl.tile.instructions.units import VECTOR_CORES
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, SUB_BLOCK, tiling_scalar
from attndsl.tile.scalars import free
from attndsl.tile.statements import Alloc, For, Let, Seq, Stage, Statement, seq

_NEW, _NEW_ROWS, _SLOT = Symbol("newRow"), Symbol("newRows"), Symbol("cacheRow")


def appended_sources(*sources: KeySource) -> tuple[AppendedRows, ...]:
    """Those of some sources that a call appends to."""
    return tuple(found for each in sources if (found := source_of_kind(each, AppendedRows)) is not None)


def append_rows(emit: Emitter, sources: tuple[AppendedRows, ...]) -> Stage:
    """The new rows of keys and values, into their caches; vector cores take turns at them."""
    rows = emit.host(emit.signature.extents["B"])
    groups = _groups([_places(emit, source) for source in sources])
    loops = (For(var=BATCH, end=rows, body=_rows_of(emit, group)) for group in groups)
    overwrites = any(source.ring is not None for source in sources)
    doc = "New keys and values into their rows of the caches."
    where = sources[0].where
    body = seq(*loops)
    return Stage(
        name="AppendRows", core=Core.AIV, doc=doc, body=body, after_all_cores=overwrites, where=where
    )


@dataclass(frozen=True, slots=True)
class _Places:
    """The new rows of ``source`` in a batch row.

    Attributes:
        lets: what the other members are computed from. ``count``: how many rows there are.
        first: the first one that this vector core copies. ``slot``: the row of the cache of one.
    """

    source: AppendedRows
    lets: tuple[Let, ...]
    count: Expr
    first: Expr
    slot: Expr


def _places(emit: Emitter, source: AppendedRows) -> _Places:
    ring, entered = source.ring, source.enter(emit)
    lets = tuple(each for each in entered if isinstance(each, Let))
    assert len(lets) == len(entered)
    first: Expr = BLOCK_INDEX * VECTOR_CORES + SUB_BLOCK
    slot: Expr = source.appended_at + _NEW
    if ring is not None:  # of more new rows than the ring holds, the last ones stay
        first = maximum(0, _NEW_ROWS - ring.rows_of_turn(emit)) + first
        slot = slot % ring.rows_of_turn(emit)
    count = maximum(0, source.valid_rows(emit) - source.appended_at)
    return _Places(source, lets, count, first, slot)


def _groups(every: Sequence[_Places]) -> list[list[_Places]]:
    """Sources whose new rows have the same places, keys and values as a rule, together."""
    groups: list[list[_Places]] = []
    for places in every:
        for group in groups:
            if _same(group[0], places):
                group.append(places)
                break
        else:
            groups.append([places])
    return groups


def _same(first: _Places, second: _Places) -> bool:
    """Whether two sources have the same places, under their own names."""
    if len(first.lets) != len(second.lets):
        return False
    known = {other.symbol.name: own.symbol for own, other in zip(first.lets, second.lets, strict=True)}
    pairs = [(own.value, other.value) for own, other in zip(first.lets, second.lets, strict=True)]
    pairs += [(first.count, second.count), (first.first, second.first), (first.slot, second.slot)]
    return all(own.same(other.substitute(known)) for own, other in pairs)


def _rows_of(emit: Emitter, group: Sequence[_Places]) -> Seq:
    """The new rows of one batch row, of all sources of a group in one loop."""
    places, where = group[0], group[0].source.where
    copies = _copy_rows(emit, [each.source for each in group])
    used = free(copies)
    aliases = (
        Let(symbol=other.symbol, value=own.symbol)
        for same in group[1:]
        for own, other in zip(places.lets, same.lets, strict=True)
        if other.symbol.name != own.symbol.name and other.symbol.name in used
    )
    rows = For(
        var=_NEW,
        begin=places.first,
        end=_NEW_ROWS,
        step=BLOCK_COUNT * VECTOR_CORES,
        body=seq(Let(symbol=_SLOT, value=places.slot), copies),
        where=where,
    )
    return seq(*places.lets, *aliases, Let(symbol=_NEW_ROWS, value=places.count), rows)


def _copy_rows(emit: Emitter, sources: Sequence[AppendedRows]) -> For:
    """A new row of each source, of all key/value heads, a few heads at a time."""

    def heads(first: Expr, count: Expr) -> list[Statement]:
        return [_copy_heads(emit, each, count) for each in sources]

    return in_steps(tiling_scalar("kvHeads"), emit.rows_per_step, heads, sources[0].where, KV_HEAD)


def _copy_heads(emit: Emitter, source: AppendedRows, count: Expr) -> Alloc:
    """Some heads of a new row."""
    dim, padded_size = emit.channels(source.role), emit.padded_channels(source.role)
    elements = emit.rows_per_step * padded_size
    staged = emit.in_ub(f"new{source.role.capitalize()}", emit.dtype, elements, "new rows")
    rows = staged.region(0, count, dim, padded_size)

    def rows_at(stored: Contiguous, row: Expr) -> GlobalRegion:
        pitch = emit.stride(stored.name, "K")
        return emit.gm(stored.name, stored.row_offset(emit, row), count, dim, pitch)

    load = LoadRows(dst=rows, src=rows_at(source.new, _NEW))
    return Alloc(buffers=(staged,), body=seq(load, StoreRows(dst=rows_at(source.cache, _SLOT), src=rows)))
