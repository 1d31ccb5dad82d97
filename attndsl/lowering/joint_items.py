"""One loop over the items of two attentions, which a block takes in turn.

Two attentions are one computation with different keys: own and shared ones, say. The items of one may load
much and compute little, those of the other the other way round. Each with a loop of its own, the pipeline
drains between them, and in each loop one of the units waits. In one loop the loads of some items come while
others are computed.

The items of the second attention stand evenly among those of the first: as many of these are in front of all
as between two and behind all. Tasks that gather batch rows, which have most to compute, are the second's.
They move most bytes through L2, too, which all blocks share: so they do not come at the same places of all
blocks, but sooner on some and later on others (:func:`_places_sooner`). An item's scalars are those of its
attention; so is each stage of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from attndsl.base.errors import InternalError
from attndsl.expr import Compare, Const, Expr, Symbol, ceil_div, maximum, minimum, select
from attndsl.lowering.attention.cube_buffers import cube_buffers
from attndsl.lowering.attention.item_turns import ONE_MORE, turn_of, turns
from attndsl.lowering.attention.seen_tiles import numbers_tiles
from attndsl.lowering.attention.tile_slots import items_begun
from attndsl.lowering.attention.warm_slots import warm_in_steps, warms_in_steps
from attndsl.lowering.common_stages import common_stage
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.match.choice_of_ways import Way
from attndsl.lowering.phases import PHASES, Place
from attndsl.tile.comparison import Comparison
from attndsl.tile.program import BLOCK_COUNT
from attndsl.tile.scalars import defined
from attndsl.tile.statements import (
    Alloc,
    Collect,
    Either,
    EitherStage,
    For,
    If,
    Let,
    Note,
    Pipelined,
    Seq,
    Stage,
    Statement,
    seq,
)

_Attentions = tuple[Context, ...]
_Part = TypeVar("_Part")

_PLACE, _END = Symbol("place"), Symbol("placesEnd")
_BEFORE, _AFTER = Symbol("before"), Symbol("after")
_BETWEEN, _SOONER, _OF_KEYS = Symbol("placesBetween"), Symbol("placesSooner"), Symbol("firstOfKeys")


def _stages_differ(contexts: _Attentions) -> bool:
    phases = {
        tuple(phase.name for phase in PHASES if phase.place is Place.ITEM and phase.applies(context))
        for context in contexts
    }
    return len(phases) > 1


def _cores_share_rows_otherwise(contexts: _Attentions) -> bool:
    first, *others = (context.rows.rows_of_this_aiv(context) for context in contexts)
    return not all(Comparison().same(first, other) for other in others)


def _is_quantized(context: Context) -> bool:
    changed = context.attention.requantize is not None or context.cube_dtype != context.dtype
    return changed or context.keys.quantization is not None or context.values.quantization is not None


JOINT_ITEMS = Way[_Attentions](
    option="item_loops",
    value="joint",
    other="separate",
    obstacles=(
        ("unless there are two attentions", lambda contexts: len(contexts) != 2),
        ("in a pipeline that drains", lambda contexts: not all(each.continuous for each in contexts)),
        ("with quantized rows or probabilities", lambda contexts: any(map(_is_quantized, contexts))),
        (
            "where blocks of keys are selected",
            lambda contexts: any(each.computation.selection is not None for each in contexts),
        ),
        (
            "with weighted sums that are added up in the workspace",
            lambda contexts: any(each.gathers_sums for each in contexts),
        ),
        (
            "where a block takes its last item first",
            lambda contexts: any(each.last_first for each in contexts),
        ),
        ("where tiles that no row sees are left out", lambda contexts: any(map(numbers_tiles, contexts))),
        ("where one attention alone has partials of earlier calls", _stages_differ),
        ("where vector cores share the rows of each in another way", _cores_share_rows_otherwise),
    ),
)


def with_joint_items(contexts: _Attentions) -> _Attentions:
    """The contexts of a computation, with one loop over the items of all where the schedule has it.

    Raises:
        IllegalScheduleValue: the schedule asks for that where it cannot be.
    """
    if not JOINT_ITEMS.is_taken(contexts[0].schedule, contexts, by_itself=True):
        return contexts
    larger = len({each.rows.one_batch_row for each in contexts}) > 1
    first, *_ = in_order(contexts, lambda context: context)
    some_drain = not first.rows.one_batch_row
    return tuple(replace(_joint(each, larger), drains=each is first or some_drain) for each in contexts)


def in_order(each: Iterable[_Part], context: Callable[[_Part], Context]) -> list[_Part]:
    """What there is of two attentions, of the one in front whose tasks do not gather batch rows."""
    return sorted(each, key=lambda part: not context(part).rows.one_batch_row)


def _joint(context: Context, larger_tasks_follow: bool) -> Context:
    found = replace(context, joint=True, larger_tasks_follow=larger_tasks_follow)
    coming = (items_begun(found) + 1) % found.ring
    return replace(found, rows=found.rows.in_flight(found.ring, coming))


@dataclass(frozen=True, kw_only=True)
class ItemParts:
    """What one attention does with an item.

    Attributes:
        scalars: what is known of it on all cores. ``of_core``: what a vector core has of its rows.
        query: the stage that loads its query rows. ``tiles``: the loop over its tiles.
    """

    context: Context
    scalars: Sequence[Statement]
    of_core: Sequence[Statement]
    query: Stage
    tiles: Pipelined


def joint_loop(first: ItemParts, second: ItemParts) -> Seq:
    """The loop over a block's items of both attentions, and the scalars that it takes."""
    contexts = first.context, second.context
    order, all_items = items_of_block(contexts)
    over = Symbol(f"over{first.context.attention_name}")
    query = (cube_buffers(first.context).query,)
    tiles = _either_tiles(over, first.tiles, second.tiles)
    if warms_in_steps(first.context):
        stage, when = warm_in_steps(*contexts, over)
        tiles = replace(tiles, stages=(stage, *tiles.stages), lags=(0, *tiles.lags), when=(when, *tiles.when))
    body = seq(
        *item_of_place(contexts, over, all_items),
        _either_scalars(over, first, second),
        *first.of_core,
        Alloc(
            buffers=query,
            body=seq(_either(over, first.query, second.query), tiles),
        ),
    )
    end = Let(symbol=_END, value=all_items + minimum(all_items, 1))
    loop = For(var=_PLACE, end=_END, body=body, over_items=True)
    return seq(*order, Note(text=ONE_MORE), end, loop)


# The order of items -------------------------------------------------------------------------------------


def _count(context: Context) -> Symbol:
    return Symbol(context.label("itemsOfBlock"))


def items_of_block(contexts: tuple[Context, Context]) -> tuple[list[Statement], Expr]:
    """How many items of each attention the block has, and of both."""
    found = list[Statement]()
    for context in contexts:
        bounds = turns(context)
        items = ceil_div(maximum(context.items - bounds.begin, 0), BLOCK_COUNT)
        begins = (each for each in bounds.scalars if str(bounds.begin) in defined(each))
        found += [*begins, Let(symbol=_count(context), value=items)]
    both = Symbol("itemsOfBlock")
    found.append(Let(symbol=both, value=_count(contexts[0]) + _count(contexts[1])))
    return found + _places_sooner(contexts[1], both), both


def _places_sooner(second: Context, all_items: Expr) -> list[Statement]:
    """By how many places the items of the second attention come sooner on this block than evenly among the
    others; later where it is negative.

    From half of the places between two of them later, on the block with the first item, to half of them
    sooner, on the last one: so at any time about as many blocks are at such items as at any other. Blocks
    whose items have the same keys keep step: each loads some of these from memory, and the others from L2.
    """
    first, keys = turns(second).begin, second.keys.name
    why = f"places from an item over {keys} to the next; these need L2 most, so blocks have them in turn"
    between = (all_items + 1) // (_count(second) + 1)
    same = "blocks whose items have the same keys keep step"
    of_keys = first - first % second.rows.tasks_of_same_keys()
    sooner = _BETWEEN * (2 * _OF_KEYS + 1) // (2 * BLOCK_COUNT) - _BETWEEN // 2
    return [
        Let(symbol=_BETWEEN, value=between, why=why),
        Let(symbol=_OF_KEYS, value=of_keys, why=same),
        Let(symbol=_SOONER, value=sooner),
    ]


def item_of_place(contexts: tuple[Context, Context], over: Symbol, all_items: Expr) -> list[Statement]:
    """Which item comes at a place of the block's sequence, and of which attention.

    Of n items in all m are of the second attention. So many of them come before place p: ``((p + s + 1) *
    (m + 1) - 1) // (n + 1)``, from 0 to m, if they come s places sooner than evenly among the others. That is
    0 before the first place and m behind the last one as long as s is at most the places between two of them,
    less one, and at least half of these below 0. Behind all items it may say that one more of the second
    attention comes; the turn that drains is one of the first. This has items where there are any, a task for
    each batch row and head, unless its tasks gather batch rows, too.
    """
    first, second = contexts
    runs = _count(second) + 1
    is_over: Expr = Compare("==", _BEFORE, _count(second))
    if second.drains:
        is_over = is_over & (first.items > 0)

    def before(end: Expr) -> Expr:
        reached = maximum((end + _SOONER) * runs - 1, 0) // (all_items + 1)
        return minimum(reached, _count(second))

    item_of_first = turns(first).begin + (_PLACE - _BEFORE) * BLOCK_COUNT
    turn = select(over, item_of_first, turns(second).begin + _BEFORE * BLOCK_COUNT)
    keys = second.keys.name
    why = f"items over {keys} stand evenly among the others: so many come before this place, and the next one"
    return [
        Let(symbol=_BEFORE, value=before(_PLACE + 1), why=why),
        Let(symbol=_AFTER, value=before(_PLACE + 2)),
        Let(symbol=over, value=(_AFTER == _BEFORE) | is_over),
        Let(symbol=turn_of(first), value=turn),
    ]


# Of either attention ------------------------------------------------------------------------------------


def _either_scalars(over: Symbol, first: ItemParts, second: ItemParts) -> Either:
    """The scalars of an item, of its attention; those that one attention alone has are 0 for the other."""
    sides = seq(*first.scalars), seq(*second.scalars)
    for item in (item for side in sides for item in side.body if not isinstance(item, Let | Collect)):
        raise InternalError(f"a {type(item).__name__} stands among the scalars of an item")
    known = {symbol.name: symbol for side in sides for item in side.body for symbol in _symbols(item)}
    then, otherwise = (_with_all(side, tuple(known.values())) for side in sides)
    return Either(
        condition=over,
        then=then,
        otherwise=otherwise,
        scalars=tuple(known.values()),
        attention_names=(first.context.attention_name, second.context.attention_name),
    )


def _symbols(item: Statement) -> tuple[Symbol, ...]:
    if isinstance(item, Let):
        return (item.symbol,)
    return (item.count,) if isinstance(item, Collect) else ()


def _with_all(side: Seq, symbols: Sequence[Symbol]) -> Seq:
    given = {name for item in side.body for name in defined(item)}
    return seq(*side.body, *(Let(symbol=each, value=Const(0)) for each in symbols if each.name not in given))


def _either_tiles(over: Symbol, first: Pipelined, second: Pipelined) -> Pipelined:
    """The steps of an item: each stage is that of its attention."""
    if len(first.stages) != len(second.stages) or first.lags != second.lags:
        raise InternalError("the items of two attentions of one loop have different stages")
    stages = tuple(_either(over, *pair) for pair in zip(first.stages, second.stages, strict=True))
    return replace(first, stages=stages)


def _either(over: Symbol, first: Stage, second: Stage) -> Stage:
    """One of two stages; one stage where they are equal, or differ in a part."""
    if first.stem != second.stem or first.core is not second.core:
        raise InternalError(f"{first.name} and {second.name} stand in one place")
    if Comparison().same_fields(first, second, frozenset({"name", "attention_name"})):
        return replace(first, name=first.stem, attention_name="")
    common = common_stage(over, first, second)
    if common is not None:
        return common
    branch = If(condition=over, then=seq(first), otherwise=seq(second), where=first.where)
    return EitherStage(name=first.stem, core=first.core, doc=first.doc, body=seq(branch), where=first.where)
