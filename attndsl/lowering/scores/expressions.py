"""Functions of scores: operations one after the other, in place, and operations of two such functions.

What two functions have in common is computed once and stands in the step's score buffer; the second of them
is made beside it, in a buffer of its own, and then the first, over it.
"""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import Const
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import SPAN
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.operation_chains import has_scores
from attndsl.lowering.operands.elementwise_ops import OPERATIONS, takes_number
from attndsl.lowering.operands.number_operands import own_operation, spread_number, with_number
from attndsl.lowering.operands.operand_rules import name_of, score_operand
from attndsl.lowering.operands.row_values import has_keys
from attndsl.lowering.operands.score_operand import Compute, ScoreOperand
from attndsl.lowering.scores.seen_values import at_seen_keys
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import AddScaled, Binary, WithScalar
from attndsl.tile.naming import camel
from attndsl.tile.statements import For, Statement, seq


def expression(context: Context, node: nodes.Node, base: nodes.Node, depth: int = 0) -> ScoreOperand:
    """``node`` as a function of ``base``, whose value is in the score buffer when ``compute`` begins.

    ``compute(context, target)`` leaves the value in ``target``, a buffer of the score buffer's shape or that
    buffer itself. It may overwrite ``target`` before it ends, so what else reads the base is computed before,
    or into another buffer. ``depth``: how many buffers hold other functions meanwhile.

    Raises:
        NotLowered: an operation, or an operand of one, that has no rule.
    """
    if node is base:
        return ScoreOperand(compute=lambda context, target: _copied(context, target, node))
    if not isinstance(node, nodes.Elementwise):
        what = "a mask" if isinstance(node, nodes.Replace) else type(node).__name__
        raise NotLowered(
            f"{what} on one of two functions of scores", node.where, "put it in front of both, or behind"
        )
    operation = OPERATIONS[node.op]
    varying = [each for each in node.inputs if has_scores(each)]
    if len(varying) > 1:
        second = expression(context, node.inputs[1], base, depth + 1)
        beside = context.beside_scores(f"function{depth}", "another function of the scores")
        inner = expression(context, node.inputs[0], base, depth + 1)
        return _with_operand(context, node, inner, second, beside, reads_scores=True)
    inner = expression(context, varying[0], base, depth)
    if operation.own is not None:
        own = operation.own
        return _behind(inner, lambda c, target: own_operation(c, own, target, node.where))
    other = next(each for each in node.inputs if each is not varying[0])
    first = operation.ordered and node.inputs[0] is other
    if not has_keys(other) and not first and takes_number(node, other):
        return _behind(inner, with_number(context, node, other, f"score_{node.op}"))
    operand = spread_number(context, other)
    if has_keys(other):
        operand = score_operand(context, at_seen_keys(context, other))
    name = name_of(other)
    wide = context.beside_scores(f"{camel(name)}Wide", f"{name} of the rows, in fp32")
    return _with_operand(context, node, inner, operand, wide, first=first)


def _copied(context: Context, target: Buffer, node: nodes.Node) -> list[Statement]:
    score = vector_buffers(context).score
    if target is score:
        return []
    source, copy = whole(score, 0, SPAN), whole(target, 0, SPAN)
    return [WithScalar(op="Adds", dst=copy, src=source, scalar=Const(0), where=node.where)]


def _behind(inner: ScoreOperand, compute: Compute) -> ScoreOperand:
    """What is done to the value of ``inner``, in place."""
    return replace(
        inner, compute=lambda context, target: [*inner.compute(context, target), *compute(context, target)]
    )


def _with_operand(
    context: Context,
    node: nodes.Elementwise,
    inner: ScoreOperand,
    operand: ScoreOperand,
    beside: Buffer,
    *,
    first: bool = False,
    reads_scores: bool = False,
) -> ScoreOperand:
    """An operation of ``inner``, made in place, and of an ``operand`` that is made ``beside`` it.

    ``first``: whether the operand is the first one. ``reads_scores``: whether it is a function of them.
    """
    if inner.loads and operand.loads:
        raise NotLowered(
            f"'{node.op}' of functions of scores that read tensors", node.where, "let one of them read none"
        )
    reads = operand if operand.loads else inner

    def compute(context: Context, target: Buffer) -> list[Statement]:
        value, other = whole(target, 0, SPAN), whole(beside, 0, SPAN)
        left, right = (other, value) if first else (value, other)
        combine = Binary(op=OPERATIONS[node.op].tensor, dst=value, first=left, second=right, where=node.where)
        mine, others = inner.compute(context, target), operand.compute(context, beside)
        if node.op == "add" and not reads_scores and (scaled := _scaled_sum(context, others, target, beside)):
            return [*mine, *scaled]
        # what reads the scores comes before they are overwritten; else buffers are shared, and used at once
        return [*others, *mine, combine] if reads_scores else [*mine, *others, combine]

    return ScoreOperand(
        loads=reads.loads,
        source=reads.source,
        scratch=(beside, *inner.scratch, *operand.scratch),
        load=reads.load,
        prepare=lambda context: [*inner.prepare(context), *operand.prepare(context)],
        compute=compute,
    )


def _scaled_sum(
    context: Context, others: list[Statement], target: Buffer, beside: Buffer
) -> list[Statement] | None:
    """The statements of an operand whose last one multiplies it by a number of each row, with the sum to
    ``target`` in the same instruction; None where it ends otherwise.

    ``for row: ...; Muls(beside[row], beside[row], number)`` and ``Add(target, target, beside)`` behind it are
    ``for row: ...; Axpy(target[row], beside[row], number)`` without the Add. An operand of another form is
    added by the Add of :func:`_with_operand`.
    """
    last = others[-1] if others else None
    if not isinstance(last, For) or not last.body.body:
        return None
    step = last.body.body[-1]
    if not isinstance(step, WithScalar) or step.op != "Muls" or step.dst.buffer is not beside:
        return None
    if step.src is not step.dst:
        return None
    into = replace(step.dst, buffer=target)
    add = AddScaled(dst=into, src=step.src, scalar=step.scalar, where=step.where)
    body = seq(*last.body.body[:-1], add)
    return [*others[:-1], replace(last, body=body, disjoint=(*last.disjoint, target))]
