"""Small graphs and the context of their only attention, made without a spec: for tests of single rules.

Every size is a symbol of the name of its axis; every tensor lies as its axes are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attndsl.expr import Const, Expr, Symbol, product
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.make_context import attention_contexts
from attndsl.lowering.emit.inventory import Inventory
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.lowering.match.shrink_schedule import Room
from attndsl.lowering.signature.kernel_signature import KernelSignature
from attndsl.lowering.signature.tensor_layouts import TensorLayout
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.printer import print_statement
from attndsl.tile.statements import Statement, seq
from tests.support.devices import ARCHITECTURE, DEVICE

Change = Callable[[nodes.Node], nodes.Node]

DECODING = ("B", "N", "D")
PADDED = ("B", "N", "Q", "D")
PACKED = ("S", "N", "D")
_INTEGERS = ("int32", "int64")


def tensor(name: str, axes: Sequence[str], dtype: str = "") -> nodes.Input:
    """An argument; ``dtype``: where it is not the io dtype."""
    return nodes.Input(name=name, axes=tuple(axes), dtypes=(dtype,) if dtype else ())


def lengths(name: str) -> nodes.Input:
    """An integer for each batch row."""
    return tensor(name, ("B",), "int64")


def scalar(value: Expr, *axes: str) -> nodes.Scalar:
    """A number, or one that differs along ``axes``."""
    return nodes.Scalar(value=value, axes=axes)


def dense(name: str, channels: str = "D", **more: Any) -> nodes.Dense:
    """A cache with rows for each batch row and key/value head."""
    stored = tensor(name, ("B", "K", "T", channels))
    return nodes.Dense(tensor=stored, axes=("B", "K", "T", channels), **more)


def elementwise(op: str, *others: nodes.Node, before: bool = False) -> Change:
    """An operation of a value and others; ``before``: whether the others are its first operands."""

    def change(value: nodes.Node) -> nodes.Node:
        inputs = (*others, value) if before else (value, *others)
        return nodes.Elementwise(op=op, inputs=inputs, axes=value.axes)  # type: ignore[attr-defined]

    return change


def masked(condition: nodes.Node | Expr, value: float = float("-inf")) -> Change:
    """``value`` where a condition holds; an expression is one of b, n, i and j."""
    hides = nodes.IndexCondition(condition=condition) if isinstance(condition, Expr) else condition
    return lambda source: nodes.Replace(
        source=source,
        condition=hides,
        value=value,
        axes=source.axes,  # type: ignore[attr-defined]
    )


def attention(
    query: nodes.Node | Sequence[str] = DECODING,
    keys: nodes.Rows | None = None,
    values: nodes.Rows | None = None,
    scores: Iterable[Change] = (),
    epilogue: Iterable[Change] = (),
) -> nodes.Output:
    """The output of an attention, or of what ``epilogue`` makes of it.

    ``query``: a node, or the axes of the tensor ``query``; packed ones end at ``queryEnds``.
    """
    if not isinstance(query, nodes.Node):
        stored = tensor("query", query)
        ends = tensor("queryEnds", ("B",), "int64")
        query = nodes.PackedQueries(tensor=stored, ends=ends) if "S" in query else stored
    value: nodes.Node = nodes.Scores(query=query, keys=keys or dense("key"))
    for change in scores:
        value = change(value)
    packed = isinstance(query, nodes.PackedQueries)
    axes = ("S", "N", "E") if packed else ("B", "N", "Q", "E")
    value = nodes.WeightedSum(
        weights=nodes.Softmax(scores=value), values=values or dense("value", "E"), axes=axes
    )
    for change in epilogue:
        value = change(value)
    return nodes.Output(name="out", source=value, dtype="query", axes=axes)


def signature(
    output: nodes.Output, *, positions: Expr | None = None, dtype: str = "float16"
) -> KernelSignature:
    """A kernel that takes what an output is computed from. ``positions``: of a batch row, one by default."""
    extents: dict[str, Expr] = {axis: Symbol(axis) for axis in nodes.AXIS_ORDER}
    extents |= {"E": extents["D"], "Q": Const(1) if positions is None else positions}
    inputs = {node.name: node for node in output.walk() if isinstance(node, nodes.Input)}
    parameters = [_argument(node, dtype) for node in inputs.values()]
    own = output.dtype if output.dtype == "float32" else dtype
    stored = {name: node.axes for name, node in inputs.items()} | {output.name: output.axes}
    return KernelSignature(
        name="small",
        summary="",
        dtype=dtype,
        padded_head_size=64,
        padded_value_size=64,
        present=frozenset(inputs),
        extents=extents,
        parameters=(*parameters, GlobalTensor(name=output.name, dtype=own, role="output")),
        layouts={name: _layout(name, axes, extents) for name, axes in stored.items()},
        one_for_all=frozenset(),
        float_params=frozenset(),
    )


def context(
    output: nodes.Output, *, positions: Expr | None = None, dtype: str = "float16", **options: Any
) -> Context:
    """The context of the only attention below an output; ``options`` of the schedule."""
    return contexts(output, positions=positions, dtype=dtype, **options)[0]


def contexts(
    output: nodes.Output, *, positions: Expr | None = None, dtype: str = "float16", **options: Any
) -> tuple[Context, ...]:
    """The contexts of all attentions below an output."""
    found = recognize((output,))
    schedule = Schedule(**{"tile_k": 128, **options})
    return attention_contexts(
        found, signature(output, positions=positions, dtype=dtype), schedule, DEVICE, Inventory()
    )


def text(statements: Statement | Iterable[Statement]) -> str:
    """Statements as the tile IR prints them."""
    return print_statement(statements if isinstance(statements, Statement) else seq(*statements))


def lines(statements: Statement | Iterable[Statement]) -> list[str]:
    """The lines of :func:`text`, without their indentation."""
    return [line.strip() for line in text(statements).splitlines()]


def _argument(node: nodes.Input, dtype: str) -> GlobalTensor:
    own = node.dtypes[0] if node.dtypes else dtype
    return GlobalTensor(name=node.name, dtype=own, role="scalars" if own in _INTEGERS else "input")


def _layout(name: str, axes: Sequence[str], extents: dict[str, Expr]) -> TensorLayout:
    sizes = [extents[axis] for axis in axes]
    strides = {axis: product(sizes[place + 1 :]) for place, axis in enumerate(axes)}
    return TensorLayout(name, name, (strides,), ("only",), (0,), (tuple(sizes),))


def room(*stated: str, **least: int) -> Room:
    """What a schedule may become where these options are stated, and these have least values."""
    return Room(architecture=ARCHITECTURE, stated=frozenset(stated), least=least)
