"""Queries that are scaled and rounded to the io dtype before they meet the keys.

The vector cores do so once, in front of everything else, for all queries: element by element into the
workspace, where they lie as in the argument. A factor of 1 leaves the argument to be read.
"""

from __future__ import annotations

from attndsl.expr import Const, Expr, Symbol, minimum, product, select
from attndsl.graph import nodes
from attndsl.lowering.emit.context import Context, whole
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.stored_inputs import stored_plain
from attndsl.target import ATLAS_A2, Core
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import Convert, LoadRows, StoreRows, WithScalar
from attndsl.tile.naming import camel
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, SUB_BLOCK
from attndsl.tile.statements import Alloc, For, If, Let, Stage, seq

_FIRST, _COUNT = Symbol("firstElement"), Symbol("elements")
_PART = 4096
"""Elements of one step."""


def stored_query(node: nodes.Node) -> tuple[nodes.Input, Expr | None]:
    """The stored tensor of a query, and the factor on it before it is rounded, None for none.

    Raises:
        NotLowered: something else is done to queries.
    """
    if not isinstance(node, nodes.Cast):
        return stored_plain(node), None
    product_of = node.source
    if isinstance(product_of, nodes.Elementwise) and product_of.op == "multiply":
        for query, factor in (product_of.inputs, product_of.inputs[::-1]):
            if isinstance(factor, nodes.Scalar) and not factor.axes:
                return stored_plain(query), factor.value
    raise NotLowered("queries that are computed otherwise than by a factor", node.where)


def scales_queries(context: Context) -> bool:
    """Whether queries are scaled before they meet the keys."""
    return context.rows.factor is not None


def is_scaled(context: Context, factor: Expr) -> Expr:
    """Whether the factor is another than 1, in the kernel."""
    return context.inventory.field("queryIsScaled", factor != 1.0, "whether queries are scaled first")


def scaled_query(context: Context, factor: Expr) -> GlobalTensor:
    """The workspace tensor of scaled queries; none where the factor is 1."""
    elements = select(factor != 1.0, _elements(context), 0)
    name = context.rows.query.name
    return context.inventory.tensor(
        camel(f"scaled_{name}"), context.dtype, elements, "device", f"scaled {name}"
    )


def scale_query(context: Context) -> Stage:
    """All queries times their factor, to the workspace."""
    name, where, factor = context.rows.query.name, context.rows.where, context.rows.factor
    assert factor is not None
    loaded = context.in_ub("queryPart", context.dtype, _PART, "a part of the queries")
    wide = context.in_ub("queryWide", "float32", _PART, "the part in fp32")
    rounded = context.in_ub("queryScaled", context.dtype, _PART, "the part scaled")
    value = context.host(factor)
    source, count = (
        whole(loaded, 0, _COUNT),
        context.inventory.field("queryElements", _elements(context), f"elements of {name}"),
    )
    load = LoadRows(dst=source, src=context.gm(name, _FIRST, 1, _COUNT), where=where)
    store = StoreRows(
        dst=scaled_query(context, factor).region(_FIRST, 1, _COUNT), src=whole(rounded, 0, _COUNT)
    )
    span = whole(wide, 0, _COUNT)
    body = seq(
        Let(symbol=_COUNT, value=minimum(Const(_PART), count - _FIRST)),
        Alloc(
            buffers=(loaded,),
            body=seq(
                load,
                Convert(dst=span, src=source, mode="CAST_NONE", where=where),
                WithScalar(op="Muls", dst=span, src=span, scalar=value, where=where),
                Alloc(
                    buffers=(rounded,),
                    body=seq(
                        Convert(dst=whole(rounded, 0, _COUNT), src=span, mode="CAST_RINT"),
                        store,
                    ),
                ),
            ),
        ),
    )
    core = BLOCK_INDEX * ATLAS_A2.aiv_per_aic + SUB_BLOCK
    parts = For(
        var=_FIRST,
        begin=core * _PART,
        end=count,
        step=BLOCK_COUNT * (ATLAS_A2.aiv_per_aic * _PART),
        body=body,
        where=where,
    )
    doc = f"All of {name} times a factor, rounded to its dtype, to the workspace."
    scaled = If(condition=is_scaled(context, factor), then=seq(parts))
    return Stage(name="ScaleQuery", core=Core.AIV, doc=doc, body=seq(scaled), where=where)


def _elements(context: Context) -> Expr:
    """Elements of the stored queries, for the host."""
    extents, axes = context.interface.extents, context.rows.query.axes
    return product([extents[axis] for axis in axes])
