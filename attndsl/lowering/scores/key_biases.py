"""Biases of scores that are linear in the key's position, as ALiBi has them: a row of numbers for all rows.

    softmax(s + f (r + k j)),  j the key, f and r numbers of the row      is      softmax(s + f (c + k j))

for any c: what is added to all scores of a row takes no part in its softmax. With c, that is r at the task's
first position, the numbers c + k j are the same for all rows of a tile, and larger than the distances that
they stand for by the positions of a task at most. Below 2**24 they are exact in fp32; the product with f is
rounded once, as that of r + k j would be.

The numbers of a tile's lanes, k times 0, 1, 2, ..., are made once a kernel (:func:`number_keys`), the biases
of its keys of these with each tile. A task of two halves has one first position, so that its first half makes
them for both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Load, round_up
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.emit.loop_scalars import (
    FIRST_HEAD,
    FIRST_KEY,
    HALF,
    HEAD,
    HEADS,
    KEYS,
    REPEAT_LANES,
    TASK_FIRST,
)
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.masks.interval_bounds import extreme
from attndsl.lowering.match.operation_chains import has_scores, has_statistics, other_operand
from attndsl.lowering.operands.key_numbers import affine, row_lanes
from attndsl.lowering.operands.row_values import has_keys, is_row_value, row_value
from attndsl.lowering.scores.seen_values import at_seen_keys
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import AddScaled, Binary, LaneNumbers, WithScalar
from attndsl.tile.statements import If, Let, Stage, Statement, seq

_POSITION = "i"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bias:
    """``factor * (rest + slope * j)``.

    Attributes:
        slope: 1 or -1. ``rest``: a number without j and n. ``factor``: a number of the row, None for 1.
        of_head: whether all rows of a head have the same factor.
        where: the spec line.
    """

    slope: int
    rest: Expr
    factor: nodes.Node | None
    of_head: bool
    where: SourceLine


def key_bias(context: Context, node: nodes.Elementwise) -> Modifier | None:
    """The sum of the scores and a linear bias, without what all scores of a row share; None of all else."""
    bias = _bias(context, node) if _shifts_cancel(context, node) else None
    if bias is None:
        return None
    numbers = _lane_numbers(context)
    biases = context.in_ub("keyBias", "float32", context.tile_keys, "biases of the tile's keys")
    title = f"bias of the keys, less what a row's scores share  ({context.spec_line(node.where)})"
    return Modifier(
        title=title,
        scratch=(numbers, biases),
        prepare_tile=lambda context: _prepared(context, bias, numbers, biases),
        apply=lambda context: _added(context, bias, biases),
    )


def numbers_keys(context: Context) -> bool:
    """Whether biases are made of the numbers of a tile's lanes."""
    return _first_bias(context) is not None


def number_keys(context: Context) -> Stage:
    """The numbers of a tile's lanes, which stay the same for all tiles."""
    bias = _first_bias(context)
    assert bias is not None
    numbered = LaneNumbers(dst=whole(_lane_numbers(context)), first=Const(0), where=bias.where)
    doc = "The numbers of a tile's keys, counted from its first one."
    return context.stage("NumberKeys", Core.AIV, doc=doc, body=seq(numbered), where=bias.where)


def _first_bias(context: Context) -> _Bias | None:
    sums = (each for each in context.attention.modifiers if isinstance(each, nodes.Elementwise))
    found = (_bias(context, each) for each in sums if _shifts_cancel(context, each))
    return next((each for each in found if each is not None), None)


def _lane_numbers(context: Context) -> Buffer:
    return context.in_ub("laneNumbers", "float32", context.tile_keys, "numbers of a tile's lanes: 0, 1, ...")


def has_key_biases(context: Context) -> bool:
    """Whether something that differs from key to key is added to scores, or multiplied with them."""
    elementwise = (each for each in context.attention.modifiers if isinstance(each, nodes.Elementwise))
    return any(
        has_keys(operand) and not has_scores(operand) for each in elementwise for operand in each.inputs
    )


def _prepared(context: Context, bias: _Bias, numbers: Buffer, biases: Buffer) -> list[Statement]:
    """The tile's positions, from that of the task's first row on, or the biases of its keys for one head."""
    first = TASK_FIRST if context.halves else context.rows.task_positions()[0]
    place = context.in_kernel(bias.rest, {"b": context.rows.batch, _POSITION: first})
    start = FIRST_KEY + place if bias.slope > 0 else FIRST_KEY - place
    lanes, where = whole(biases), bias.where
    made: list[Statement] = [WithScalar(op="Adds", dst=lanes, src=whole(numbers), scalar=start, where=where)]
    scaled = WithScalar(op="Muls", dst=lanes, src=lanes, scalar=_factor(context, bias), where=where)
    if bias.factor is not None and bias.of_head:
        made.append(If(condition=HEADS == 1, then=seq(Let(symbol=HEAD, value=FIRST_HEAD), scaled)))
    elif bias.factor is None and bias.slope < 0:
        made.append(scaled)
    return [If(condition=HALF == 0, then=seq(*made), where=where)] if context.halves else made


def _added(context: Context, bias: _Bias, biases: Buffer) -> list[Statement]:
    """The biases to the scores of each row of a step."""
    score, lanes = vector_buffers(context).score, round_up(KEYS, REPEAT_LANES)

    def scaled(row: Expr) -> Statement:
        source, factor = whole(biases, 0, lanes), _factor(context, bias)
        return AddScaled(dst=row_lanes(context, score, row), src=source, scalar=factor, where=bias.where)

    def alike(row: Expr) -> Statement:
        target = row_lanes(context, score, row)
        second = whole(biases, 0, lanes)
        return Binary(op="Add", dst=target, first=target, second=second, where=bias.where)

    def each(one: Callable[[Expr], Statement]) -> Statement:
        return context.rows.each_row(lambda row: seq(one(row)), (score,))

    if not bias.of_head:
        return [each(scaled)]
    if bias.factor is None:
        return [each(alike)]
    return [If(condition=HEADS == 1, then=seq(each(alike)), otherwise=seq(each(scaled)))]


def _factor(context: Context, bias: _Bias) -> Expr:
    """What a position is multiplied by, of the running row."""
    if bias.factor is None:
        return Const(float(bias.slope))
    value = row_value(context, bias.factor)
    return value if bias.slope > 0 else Const(0) - value


def _shifts_cancel(context: Context, node: nodes.Node) -> bool:
    """Whether nothing but the softmax sees what is added to all scores of a row behind ``node``."""
    attention, computation = context.attention, context.computation
    if node not in attention.modifiers:  # of probabilities
        return False
    behind = attention.modifiers[attention.modifiers.index(node) + 1 :]
    operations = (*computation.epilogue, *(each for term in computation.terms for each in term.operations))
    return (
        attention.softmax is not None
        and attention.softmax.sink is None
        and attention.requantize is None
        and not attention.earlier
        and len(computation.attentions) == 1
        and computation.selection is None
        and not computation.statistics
        and not any(map(has_statistics, operations))
        and all(isinstance(each, nodes.Replace) and each.value == float("-inf") for each in behind)
        and context.rows.one_batch_row
    )


def _bias(context: Context, node: nodes.Elementwise) -> _Bias | None:
    """What is added to the scores, where it is linear in the key's position."""
    other = other_operand(node)
    if node.op != "add" or other is None or has_scores(other):
        return None
    factor: nodes.Node | None = None
    other = at_seen_keys(context, other)
    if isinstance(other, nodes.Elementwise) and other.op == "multiply":
        keyed = [each for each in other.inputs if has_keys(each)]
        if len(keyed) != 1:
            return None
        factor = next(each for each in other.inputs if each is not keyed[0])
        other = keyed[0]
        if not is_row_value(factor):
            return None
    if not isinstance(other, nodes.Scalar):
        return None
    slope, rest = affine(other.value) or (0, Const(0))
    linear = slope in (1, -1) and "n" not in rest.symbols() and extreme(rest, low=True) is not None
    if not linear or any(isinstance(each, Load) for each in rest.walk()):
        return None
    return _Bias(slope=slope, rest=rest, factor=factor, of_head=_is_of_head(factor), where=node.where)


def _is_of_head(factor: nodes.Node | None) -> bool:
    """Whether all rows of a head have the same factor."""
    if factor is None:
        return True
    leaves = [each for each in factor.walk() if not isinstance(each, nodes.Elementwise)]
    plain = all(isinstance(each, nodes.Scalar | nodes.Input) for each in leaves)
    return plain and all(set(getattr(each, "axes", ())) <= {"B", "N"} for each in leaves)
