"""The scores of a vector step: loaded from a ring, modified, and made exponentials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from attndsl.expr import Const, Expr, round_up
from attndsl.lowering.attention.narrow_scores import narrow_scores, narrows_scores
from attndsl.lowering.attention.requantize import int32_scores
from attndsl.lowering.attention.scale_absorption import scale_scores
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.emit.loop_scalars import KEYS, REPEAT_LANES, SPAN, STEP_ROWS
from attndsl.lowering.emit.row_operations import C0, broadcast, by_row
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.masks.told_ends import telling_mask
from attndsl.tile.buffers import Buffer, GlobalRegion
from attndsl.tile.instructions import Convert, FillLanes, LoadRows, Unary, WithScalar
from attndsl.tile.statements import Alloc, For, If, Let, Note, Seq, Statement, seq

_WAITING = 2
"""The modifier, by number, that waits for what another one did to the scores of a step."""


def loaded_buffers(context: Context, modifiers: Modifiers) -> tuple[Buffer, ...]:
    """What is loaded with the rows of each step: one lifetime."""
    own = (int32_scores(context),) if context.cube_dtype == "int8" else ()
    return (*own, vector_buffers(context).score, *modifiers.row_loads)


def over_step(context: Context, modifiers: Modifiers, body: Seq) -> Statement:
    """What is done with a step of rows, and the lifetimes of what it loads; narrow scores end as they are
    widened, to a place that no load waits for."""
    if not narrows_scores(context):
        return Alloc(buffers=loaded_buffers(context, modifiers), body=body)
    own = Alloc(buffers=(vector_buffers(context).score,), body=body)
    return Alloc(buffers=modifiers.row_loads, body=seq(own)) if modifiers.row_loads else own


def span_of_step(context: Context) -> Let:
    """The elements from a step's first score to the end of the last one's repeat."""
    return Let(symbol=SPAN, value=(STEP_ROWS - 1) * context.score_pitch + round_up(KEYS, REPEAT_LANES))


def scored_keys(context: Context, modifiers: Modifiers, source: GlobalRegion) -> list[Statement]:
    """The step's scores in the unified buffer, modified; what lanes after the last key hold is not told."""
    return [*_loaded(context, modifiers, source), *_applied(context, modifiers)]


def scored(
    context: Context, modifiers: Modifiers, source: GlobalRegion, beside: Sequence[Statement] = ()
) -> list[Statement]:
    """The step's scores in the unified buffer, modified; lanes after the last key hold -inf.

    ``beside``: what follows the second modifier, and waits for nothing once that has waited for the first.

    So these change no maximum, and are 0 as exponentials: of a row whose maximum is finite. They are filled
    before the last step of the last modifier, if that leaves them alone: it waits for them and for what it
    needs at once.
    """
    *before, finish = _applied(context, modifiers, beside)
    note = Note(text="Lanes after the last key are excluded from the maximum, and from the sum.")
    tail = [note, fill_tail(context, Const(-math.inf))]
    return [*_loaded(context, modifiers, source), *_filled_between(before, tail, finish)]


def _filled_between(
    before: Sequence[Statement], tail: Sequence[Statement], finish: Statement
) -> Sequence[Statement]:
    """``tail`` between two steps of a modifier; inside of the condition that both have, where they have one:
    what follows the first then waits once."""
    last = finish.body[0] if isinstance(finish, Seq) and len(finish.body) == 1 else finish
    if not before or not isinstance(first := before[-1], If) or not isinstance(last, If):
        return [*before, *tail, finish]
    if first.otherwise is not None or last.otherwise is not None or not first.condition.same(last.condition):
        return [*before, *tail, finish]
    both = seq(*first.then.body, *tail, *last.then.body)
    return [*before[:-1], replace(first, then=both, otherwise=seq(*tail))]


def weights(context: Context, modifiers: Modifiers, source: GlobalRegion) -> list[Statement]:
    """The step's weights, which are modified scores; lanes after the last key hold 0."""
    return [
        *_loaded(context, modifiers, source),
        *_applied(context, modifiers),
        fill_tail(context, Const(0)),
    ]


def _loaded(context: Context, modifiers: Modifiers, source: GlobalRegion) -> list[Statement]:
    """The step's scores as the cube left them, in fp32, and what modifiers need beside them."""
    pitch, b = context.score_pitch, vector_buffers(context)
    arrives, widen, narrow = b.score, list[Statement](), narrows_scores(context)
    if narrow or context.cube_dtype == "int8":
        arrives, mode = (
            (narrow_scores(context), "CAST_NONE") if narrow else (int32_scores(context), "CAST_RINT")
        )
        dst, src = (whole(each, 0, SPAN) for each in (b.score, arrives))
        widen = [Convert(dst=dst, src=src, mode=mode, apart=narrow)]
    load = LoadRows(dst=arrives.region(0, STEP_ROWS, KEYS, pitch), src=source, where=context.where)
    first = context.rows.first_of_step()
    of_modifiers = [statement for each in modifiers.each for statement in each.load_rows(context)]
    begin = [statement for each in modifiers.each for statement in each.begin(context)]
    if narrow:
        scores = Alloc(buffers=(arrives,), body=seq(load, *widen))
        return [*first, *of_modifiers, scores, *begin, *scale_scores(context)]
    return [*first, load, *of_modifiers, *begin, *widen, *scale_scores(context)]


def factors(context: Context, modifiers: Modifiers) -> list[Statement]:
    """The step's probabilities times what they are multiplied by; lanes after the last key hold 0."""
    if not any(each.of_probabilities for each in modifiers.each):
        return []
    return [*_applied(context, modifiers, of_probabilities=True), fill_tail(context, Const(0))]


def follow_each_other(context: Context, modifiers: Modifiers) -> bool:
    """Whether the first two modifiers change the scores of each step, whatever its rows and keys are: the
    second one waits for the first."""
    first = [each for each in modifiers.each if not each.of_probabilities][:_WAITING]
    return len(first) == _WAITING and all(_acts(each.apply(context)) for each in first)


def _acts(applied: Sequence[Statement]) -> bool:
    """Whether a modifier does something to each step: it does not begin with a condition alone."""
    return bool(applied) and not (isinstance(applied[0], If) and applied[0].otherwise is None)


def _applied(
    context: Context,
    modifiers: Modifiers,
    beside: Sequence[Statement] = (),
    *,
    of_probabilities: bool = False,
) -> list[Statement]:
    """All modifiers of scores, or of probabilities, in order; the last statement touches no lane after the
    last key. ``beside`` follows the second one."""
    found: list[Statement] = []
    finish: list[Statement] = []
    chosen = (each for each in modifiers.each if each.of_probabilities == of_probabilities)
    for number, each in enumerate(chosen, 1):
        title, applied = Note(text=each.title), seen_lanes(context, each.apply(context))
        found += [*finish, *([title, *applied] if applied else []), *(beside if number == _WAITING else ())]
        finish = [*([] if applied else [title]), *seen_lanes(context, each.finish(context))]
    return [*found, seq(*finish)]


_OF_SPAN = (WithScalar, Unary, Convert)


def seen_lanes(context: Context, statements: Sequence[Statement]) -> list[Statement]:
    """``statements``; those on a step's whole span act on its keys alone where that is less.

    So it is where rows have gaps, or where tasks of one call see unequal numbers of keys, as masks tell.

    A repeat of all rows at once: few instructions, so that the loads of the next step are not behind many.
    """
    if telling_mask(context) is None and not context.doubles_rows:
        return list(statements)
    return [_by_columns(context, each) for each in statements]


def _by_columns(context: Context, item: Statement) -> Statement:
    if not isinstance(item, _OF_SPAN) or not all(each.cols.same(SPAN) for each in (item.dst, item.src)):
        return item
    score, pitch, gap = vector_buffers(context).score, context.score_pitch, context.row_gap
    pitches = ((each, pitch if each.buffer is score else pitch - gap) for each in (item.dst, item.src))
    dst, src = (
        each.buffer.region(each.offset + C0, STEP_ROWS, REPEAT_LANES, lanes) for each, lanes in pitches
    )
    touched = tuple(dict.fromkeys((dst.buffer, src.buffer)))
    body = seq(replace(item, dst=dst, src=src))
    return For(var=C0, end=KEYS, step=REPEAT_LANES, body=body, disjoint=touched, runs=True)


def with_tile_operands(context: Context, modifiers: Modifiers, rows: Statement) -> Statement:
    """What modifiers load and prepare once a tile, around the loop over rows."""
    loads_some = any(each.tile_loads for each in modifiers.each)
    prepare = [statement for each in modifiers.each for statement in each.prepare_tile(context)]
    if not loads_some:
        return seq(*prepare, rows)
    loads = [statement for each in modifiers.each for statement in each.load_tile(context)]
    titles = [Note(text=each.title) for each in modifiers.each if each.tile_loads]
    return seq(Alloc(buffers=modifiers.tile_loads, body=seq(*titles, *loads, *prepare)), rows)


def fill_tail(context: Context, value: Expr) -> Statement:
    """``value`` in the lanes after the last key, up to the end of their repeat."""
    score = vector_buffers(context).score
    last = score.region(KEYS // REPEAT_LANES * REPEAT_LANES, STEP_ROWS, REPEAT_LANES, context.score_pitch)
    fill = FillLanes(dst=last, first_lane=KEYS % REPEAT_LANES, value=value)
    return If(condition=KEYS % REPEAT_LANES != 0, then=seq(fill))


def exponentials(
    context: Context, maximum: Buffer, offset: Expr | int = 0, beside: Sequence[Statement] = ()
) -> list[Statement]:
    """``score = exp(score - maximum)``: zero in the lanes after the last key, where these hold -inf.

    ``beside``: what is done while the differences come, for which it does not wait.
    """
    b = vector_buffers(context)
    span = whole(b.score, 0, SPAN)
    return [
        Note(text=f"score = exp(score - {maximum.name})"),
        broadcast(context, b.row_blocks, maximum, offset),
        by_row(context, "Sub", b.score, b.row_blocks),
        *beside,
        *seen_lanes(context, [Unary(op="Exp", dst=span, src=span)]),
    ]
