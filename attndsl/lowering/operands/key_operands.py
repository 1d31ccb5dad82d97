"""Operands of scores that differ from key to key: tensors with a column a key, and arithmetic of key indices.

An operand becomes statements that leave its value for all rows of a vector step in an fp32 buffer, of the
shape of the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from attndsl.base.source_location import SourceLine
from attndsl.expr import Binary, Const, Expr, Load, Symbol, ceil_div, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import MakeStatements
from attndsl.lowering.emit.lookups import Term, element, row_terms, terms
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEYS, SPAN
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.stored_inputs import stored_plain
from attndsl.lowering.operands.elementwise_ops import OPERATIONS, OwnForm, takes_number
from attndsl.lowering.operands.key_elements import KeyElements, key_elements, reads_keys
from attndsl.lowering.operands.key_numbers import (
    FORMS,
    KEY,
    affine,
    key_arithmetic,
    key_numbers,
    negate_keys,
    negated_numbers,
    number_keys,
    numbered_keys,
    row_lanes,
    subtracts_key,
)
from attndsl.lowering.operands.row_functions import with_row_function
from attndsl.lowering.operands.row_values import has_keys, is_row_value, row_value
from attndsl.lowering.rows.row_space import RowRun
from attndsl.tile.buffers import Buffer, Region, item_bytes
from attndsl.tile.instructions import Convert, Fill, LoadRows, WithScalar
from attndsl.tile.naming import camel
from attndsl.tile.statements import For, If, Let, Statement, seq

Compute = Callable[[Context, Buffer], list[Statement]]
_SEGMENT, _BEGIN, _END = Symbol("segment"), Symbol("segmentBegin"), Symbol("segmentEnd")


@dataclass(frozen=True, kw_only=True)
class KeyOperand:
    """An operand that differs from key to key.

    Attributes:
        loads: buffers that are loaded with each step of rows, by ``load``; ``source``: what they hold.
        scratch: further buffers. ``prepare``: statements at the start of a tile.
        compute: the statements that leave the value of the step's rows in a buffer.
    """

    loads: tuple[Buffer, ...] = ()
    source: str = ""
    scratch: tuple[Buffer, ...] = ()
    load: MakeStatements = field(default=lambda context: [])
    prepare: MakeStatements = field(default=lambda context: [])
    compute: Compute


def key_operand(context: Context, node: nodes.Node) -> KeyOperand:
    """The lowering of an operand.

    Raises:
        NotLowered: when no rule covers it.
    """
    rule = _OPERAND_RULES.get(type(node))
    if rule is None:
        raise NotLowered(f"scores and {type(node).__name__}", node.where)
    return rule(context, node)


def each_row_with_scalar(
    context: Context, op: str, buffer: Buffer, value: Callable[[Context], Expr], where: SourceLine
) -> Statement:
    """``buffer[r, :] = op(buffer[r, :], value of row r)``."""

    def one(row: Expr) -> Statement:
        lanes = row_lanes(context, buffer, row)
        return WithScalar(op=op, dst=lanes, src=lanes, scalar=value(context), where=where)

    return context.rows.each_row(one, (buffer,))


# ------------------------------------------------------------------------------------------------
# Tensors


def _stored(context: Context, node: nodes.Node) -> KeyOperand:
    """A tensor with one row a query row."""
    assert isinstance(node, nodes.Input)

    def load_run(context: Context, target: Buffer, run: RowRun) -> Statement:
        rows = context.rows.place(context, node.name, run, KEYS)
        columns = context.gm(node.name, rows.offset + FIRST_KEY, run.rows, KEYS, rows.pitch)
        place = target.region(run.row * context.tile_keys, run.rows, KEYS, context.tile_keys)
        return LoadRows(dst=place, src=columns, where=node.where)

    def load(context: Context, target: Buffer) -> list[Statement]:
        spread = context.rows.has_nonzero_stride(context, node.name)
        return [context.rows.each_run(lambda run: load_run(context, target, run), (target,), spread=spread)]

    return _loaded(context, node, load, node.where, node.name)


def _looked_up(context: Context, node: nodes.Node) -> KeyOperand:
    """Elements of an indexed tensor: a row of columns, or segments of columns where it repeats them."""
    assert isinstance(node, nodes.Lookup)
    tensor = stored_plain(node.source)
    last, rest = node.index[-1], node.index[:-1]
    source = f"{tensor.name}[{', '.join(map(str, node.index))}]"
    line = None if any("j" in part.symbols() for part in rest) else affine(last)
    if line is not None and line[0] == 1:
        plain = last.same(KEY) and all(isinstance(each, Symbol) or not _of_row(each) for each in rest)
        rows = _whole_rows if plain else _shifted_rows
        return _loaded(context, tensor, lambda c, t: [rows(c, node, t)], node.where, source)
    period = last.right if isinstance(last, Binary) and last.op == "%" and last.left.same(KEY) else None
    if not isinstance(period, Const):
        instead = "let the last index be j, plus what is the same for all keys, as in x.at(n, j - i + S)"
        raise NotLowered(f"scores and {source}", node.where, instead)
    block = context.architecture.block // item_bytes(context.parameter(tensor.name).dtype)
    if period.value % block or context.keys.first(context) is not None:
        raise NotLowered(
            f"scores and {source}, whose segments do not begin on blocks of {block} keys", node.where
        )
    return _loaded(context, tensor, lambda c, t: [_segments(c, node, t, period)], node.where, source)


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


def _pitch(node: nodes.Lookup, row: tuple[Term, ...], symbol: str) -> Expr:
    """Elements from a row to that of the next head or position."""
    found: Expr = Const(0)
    for part, pitch in row:
        if symbol in part.symbols():
            if not isinstance(part, Symbol):
                raise NotLowered(f"a row of {part} for each query", node.where)
            found = found + pitch
    return found


def _of_row(index: Expr) -> bool:
    return bool(index.symbols() & {"n", "i"})


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
) -> KeyOperand:
    """Rows of a tensor in its own dtype, widened."""
    name, s, dtype = camel(tensor.name), context.schedule, context.parameter(tensor.name).dtype
    meaning = f"{tensor.name} of the rows"
    narrow = context.in_ub(f"{name}Rows", dtype, context.rows_per_step * context.tile_keys, meaning, s.slots)

    def compute(context: Context, target: Buffer) -> list[Statement]:
        rows, place = whole(narrow, 0, SPAN), whole(target, 0, SPAN)
        if dtype == "float32":
            return [WithScalar(op="Adds", dst=place, src=rows, scalar=Const(0), where=where)]
        return [Convert(dst=place, src=rows, mode="CAST_NONE", where=where)]

    return KeyOperand(
        loads=(narrow,), source=source, load=lambda context: load(context, narrow), compute=compute
    )


# ------------------------------------------------------------------------------------------------
# Arithmetic


def _indexed(context: Context, node: nodes.Node) -> KeyOperand:
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

    return KeyOperand(
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


def _function_of_operand(context: Context, node: nodes.Node) -> KeyOperand:
    """A function of one such operand, or of one and a number of the row."""
    assert isinstance(node, nodes.Elementwise)
    operation = OPERATIONS[node.op]
    varying = [each for each in node.inputs if has_keys(each)]
    if len(varying) != 1:
        what = f"'{node.op}' of {len(varying)} operands that differ by key"
        raise NotLowered(
            what, node.where, "let each act on the scores by itself, as in s + a + b for s + (a + b)"
        )
    inner = key_operand(context, varying[0])
    others = [each for each in node.inputs if each is not varying[0]]
    if others and operation.ordered and node.inputs[0] is not varying[0]:
        return key_operand(context, _turned(node, others[0], varying[0]))

    if others and not takes_number(node, others[0]):
        what = f"'{node.op}' of what differs by key, by a number that is no literal"
        raise NotLowered(what, node.where, "multiply by its reciprocal")

    def compute(context: Context, target: Buffer) -> list[Statement]:
        below = inner.compute(context, target)
        if operation.own is not None:
            return [*below, *own_operation(context, operation.own, target, node.where)]
        stem = _stem(node, varying[0])
        return [*below, *with_number(context, node, others[0], stem, skips_one=True)(context, target)]

    return replace(inner, compute=compute)


def _turned(node: nodes.Elementwise, number: nodes.Node, keys: nodes.Node) -> nodes.Node:
    """``number - keys`` as ``-(keys - number)``, so that numbers act on what differs by key.

    Raises:
        NotLowered: another operation.
    """
    if node.op != "subtract":
        raise NotLowered(
            f"'{node.op}' with what differs by key behind a number",
            node.where,
            "pass the quotient as an input of its own",
        )
    difference = replace(node, inputs=(keys, number))
    return replace(node, op="negate", inputs=(difference,))


def name_of(node: nodes.Node) -> str:
    """What an operand is called: by the tensors it is made of, else by its being computed."""
    names = [each.name for each in node.walk() if isinstance(each, nodes.Input)]
    return "_".join(dict.fromkeys(names)) if names else "operand"


def text_of(context: Context, node: nodes.Node) -> str:
    """An operand as comments write it: sums and products of a tensor and a number of the host as such, all
    else by its name."""
    if isinstance(node, nodes.Scalar) and not node.axes:
        return str(node.value)
    if isinstance(node, nodes.Elementwise) and node.op in ("add", "multiply"):
        first, second = node.inputs
        inner, other = (first, second) if has_keys(first) else (second, first)
        if has_keys(inner) and isinstance(other, nodes.Scalar) and not other.axes:
            number = _of_host(context, other.value, _stem(node, inner))
            text = text_of(context, inner)
            if node.op == "multiply" and isinstance(number, Const) and number.value == 1:
                return text
            text = f"({text})" if node.op == "multiply" and " " in text else text
            return f"{text} {OPERATIONS[node.op].sign} {number}"
    return name_of(node)


def _stem(node: nodes.Elementwise, inner: nodes.Node) -> str:
    """How the number of an operation on an operand is called."""
    return f"{name_of(inner)}_{'factor' if node.op == 'multiply' else node.op}"


def _of_host(context: Context, value: Expr, stem: str) -> Expr:
    return context.host(value, stem="" if isinstance(value, Symbol) else stem)


def own_operation(context: Context, own: OwnForm, target: Buffer, where: SourceLine) -> list[Statement]:
    """An operation of one operand, on the numbers of a vector step."""

    def scratch(name: str) -> Region:
        return whole(context.beside_scores(name, f"{name} on the way to functions of scores"), 0, SPAN)

    return own(whole(target, 0, SPAN), scratch, where)


def with_number(
    context: Context, node: nodes.Elementwise, other: nodes.Node, stem: str, *, skips_one: bool = False
) -> Compute:
    """``target = op(target, number)`` of one number or one of each row, where :func:`takes_number` holds.

    ``stem``: how the field of a number is called that the host computes. ``skips_one``: whether a factor of
    the call takes no instruction where it is 1, as those of masks mostly are.
    """
    operation = OPERATIONS[node.op]
    assert operation.scalar is not None
    op = operation.scalar

    def number(value: Expr) -> Expr:
        found = operation.number(value)
        assert found is not None
        return found

    if not is_row_value(other):
        return lambda context, target: with_row_function(context, operation.tensor, target, other)
    if not isinstance(other, nodes.Scalar) or other.axes:
        return lambda context, target: [
            each_row_with_scalar(context, op, target, lambda c: number(row_value(c, other)), node.where)
        ]
    value = number(other.value)
    value = _of_host(context, value, stem)
    if isinstance(value, Const):
        if op == "Muls" and value.value == 1:
            return lambda context, target: []
        value = Const(float(value.value))

    def of_all(context: Context, target: Buffer) -> list[Statement]:
        span = whole(target, 0, SPAN)
        step = WithScalar(op=op, dst=span, src=span, scalar=value, where=node.where)
        if skips_one and op == "Muls" and not isinstance(value, Const):
            return [If(condition=value != 1, then=seq(step))]
        return [step]

    return of_all


def spread_number(context: Context, node: nodes.Node) -> KeyOperand:
    """A number, or one of each row, in all lanes: for operations whose instruction takes none."""

    def compute(context: Context, target: Buffer) -> list[Statement]:
        if isinstance(node, nodes.Scalar) and not node.axes:
            stem = "" if isinstance(node.value, Symbol) else "operand"
            value = context.host(node.value, stem=stem)
            return [Fill(dst=whole(target, 0, SPAN), value=value, where=node.where)]

        if not is_row_value(node):
            zero = Fill(dst=whole(target, 0, SPAN), value=Const(0.0), where=node.where)
            return [zero, *with_row_function(context, "Add", target, node)]

        def one(row: Expr) -> Statement:
            lanes = row_lanes(context, target, row)
            return Fill(dst=lanes, value=row_value(context, node), where=node.where)

        return [context.rows.each_row(one, (target,))]

    return KeyOperand(compute=compute)


_OPERAND_RULES: dict[type[nodes.Node], Callable[[Context, nodes.Node], KeyOperand]] = {
    nodes.Input: _stored,
    nodes.Lookup: _looked_up,
    nodes.Scalar: _indexed,
    nodes.Elementwise: _function_of_operand,
}
