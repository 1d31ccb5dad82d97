"""Operands of scores that are computed from the index of a key, or from elements that are read at keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attndsl.expr import Const, Expr, Load, Symbol
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import SPAN
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.operands.key_elements import KeyElements, key_elements, reads_keys
from attndsl.lowering.operands.key_numbers import (
    FORMS,
    key_arithmetic,
    key_numbers,
    negate_keys,
    negated_numbers,
    number_keys,
    numbered_keys,
    row_lanes,
    subtracts_key,
)
from attndsl.lowering.operands.score_operand import ScoreOperand
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import WithScalar
from attndsl.tile.naming import camel
from attndsl.tile.statements import Let, Statement, seq


def indexed_operand(context: Context, node: nodes.Node) -> ScoreOperand:
    """A number computed from the key's index, such as its distance from the query, or from its elements."""
    assert isinstance(node, nodes.Scalar)
    numbers, read = key_numbers(context), _elements(context, node)
    negated = negated_numbers(context) if subtracts_key(node.value) else None
    lanes_below = () if negated is None else (negated,)

    def element(load: Load, lanes: Region) -> list[Statement]:
        known = next((each for each in read if each.element.same(load)), None)
        if known is None:
            raise NotLowered(f"'{load}', read at another place than the key's", node.where, FORMS)
        return known.shifted(context, Const(0), lanes)

    def compute(context: Context, target: Buffer) -> list[Statement]:
        def steps(row: Expr) -> list[Statement]:
            lanes, keys = row_lanes(context, target, row), numbered_keys(numbers)
            below = None if negated is None else numbered_keys(negated)
            return key_arithmetic(context, node.value, lanes, keys, node.where, element, below)

        return _by_step(context, target, steps)

    return ScoreOperand(
        loads=tuple(each.loaded for each in read),
        source=", ".join(str(each.element) for each in read),
        scratch=(numbers, *lanes_below, *(each.scratch for each in read)),
        load=lambda context: [each.load_rows(context) for each in read],
        prepare=lambda context: [
            number_keys(numbers, node.where),
            *(negate_keys(numbers, each, node.where) for each in lanes_below),
        ],
        compute=compute,
    )


def _by_step(context: Context, target: Buffer, steps: Callable[[Expr], list[Statement]]) -> list[Statement]:
    """``steps`` of each row, one step of all rows after the other, so that rows do not wait for each other.

    A step in place by a number that all rows have is one instruction.
    """
    row = Symbol("row")
    own = {let.symbol.name for let in context.rows.enter_row(row) if isinstance(let, Let)} | {row.name}
    found: list[Statement] = []
    for number, step in enumerate(steps(row)):
        if not isinstance(step, WithScalar):
            return [context.rows.each_row(lambda row: seq(*steps(row)), (target,))]
        if step.src.buffer is target and not step.scalar.symbols() & own:
            span = whole(target, 0, SPAN)
            found.append(WithScalar(op=step.op, dst=span, src=span, scalar=step.scalar, where=step.where))
        else:
            found.append(context.rows.each_row(partial(_step, steps, number), (target,)))
    return found


def _step(steps: Callable[[Expr], list[Statement]], number: int, row: Expr) -> Statement:
    return seq(steps(row)[number])


def _elements(context: Context, node: nodes.Scalar) -> list[KeyElements]:
    """The elements of integer tensors that are read at keys."""
    found = dict.fromkeys(each for each in node.value.walk() if isinstance(each, Load) and reads_keys(each))
    return [
        key_elements(context, each, f"{camel(each.source)}AtKeys", node.where, of_steps=True)
        for each in found
    ]
