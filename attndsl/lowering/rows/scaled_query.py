"""Queries that are scaled and rounded to the io dtype before they meet the keys.

The vector cores do so once, in front of everything else, for all queries: element by element into the
workspace, where they lie as in the argument. A factor of 1 leaves the argument to be read.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.base.source_location import SourceLine
from attndsl.expr import Expr, Symbol, minimum, product, select
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.stored_inputs import stored_plain
from attndsl.target import Core
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import Convert, LoadRows, StoreRows, WithScalar
from attndsl.tile.instructions.units import VECTOR_CORES
from attndsl.tile.naming import camel
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, SUB_BLOCK, tiling_field_ref
from attndsl.tile.statements import Alloc, For, If, Let, Seq, Stage, seq

_FIRST, _COUNT = Symbol("firstElement"), Symbol("elements")
_PART = 4096
"""Elements of one step."""


@dataclass(frozen=True, kw_only=True)
class ScaledQuery:
    """Queries times a factor, rounded to the io dtype.

    Attributes:
        query: the stored queries. ``factor``: a number that the host knows. ``where``: the spec line.
    """

    query: nodes.Input
    factor: Expr
    where: SourceLine

    def is_scaled(self, emit: Emitter) -> Expr:
        """Whether the factor is another than 1, in the kernel."""
        return emit.inventory.field("queryIsScaled", self.factor != 1.0, "whether queries are scaled first")

    def tensor(self, emit: Emitter) -> GlobalTensor:
        """The workspace tensor of scaled queries; of no elements where the factor is 1."""
        self._count(emit)
        name, elements = self.query.name, select(self.factor != 1.0, tiling_field_ref("queryElements"), 0)
        return emit.inventory.tensor(
            camel(f"scaled_{name}"), emit.dtype, elements, "device", f"scaled {name}"
        )

    def stage(self, emit: Emitter) -> Stage:
        """All queries times their factor, to the workspace; vector cores take turns at parts of them."""
        name, loop = self.query.name, self._parts(emit)
        doc = f"All of {name} times a factor, rounded to its dtype, to the workspace."
        scaled = If(condition=self.is_scaled(emit), then=seq(loop))
        return Stage(name="ScaleQuery", core=Core.AIV, doc=doc, body=seq(scaled), where=self.where)

    def _parts(self, emit: Emitter) -> For:
        part = emit.inventory.constant("scaledAtOnce", _PART, "elements that a vector core scales at once")
        loaded = emit.in_ub("queryPart", emit.dtype, part, "a part of the queries")
        wide = emit.in_ub("queryWide", "float32", part, "the part in fp32")
        rounded = emit.in_ub("queryScaled", emit.dtype, part, "the part scaled")
        value = emit.host(self.factor)
        count = self._count(emit)
        source, span = whole(loaded, 0, _COUNT), whole(wide, 0, _COUNT)
        load = LoadRows(dst=source, src=emit.gm(self.query.name, _FIRST, 1, _COUNT), where=self.where)
        store = StoreRows(dst=self.tensor(emit).region(_FIRST, 1, _COUNT), src=whole(rounded, 0, _COUNT))
        round_and_store = seq(Convert(dst=whole(rounded, 0, _COUNT), src=span, mode="CAST_RINT"), store)
        scale: Seq = seq(
            load,
            Convert(dst=span, src=source, mode="CAST_NONE", where=self.where),
            WithScalar(op="Muls", dst=span, src=span, scalar=value, where=self.where),
            Alloc(buffers=(rounded,), body=round_and_store),
        )
        return For(
            var=_FIRST,
            begin=(BLOCK_INDEX * VECTOR_CORES + SUB_BLOCK) * part,
            end=count,
            step=BLOCK_COUNT * (VECTOR_CORES * part),
            body=seq(
                Let(symbol=_COUNT, value=minimum(part, count - _FIRST)),
                Alloc(buffers=(loaded,), body=scale),
            ),
            where=self.where,
        )

    def _count(self, emit: Emitter) -> Symbol:
        """Elements of the stored queries."""
        elements = product([emit.signature.extents[axis] for axis in self.query.axes])
        return emit.inventory.field("queryElements", elements, f"elements of {self.query.name}")


def stored_query(node: nodes.Node, where: SourceLine) -> tuple[nodes.Input, ScaledQuery | None]:
    """The stored tensor of a query, and the scaled queries where they are rounded again.

    Args:
        where: the spec line of the queries.

    Raises:
        NotLowered: something else is done to queries.
    """
    if not isinstance(node, nodes.Cast):
        return stored_plain(node), None
    product_of = node.source
    if isinstance(product_of, nodes.Elementwise) and product_of.op == "multiply":
        for operand, factor in (product_of.inputs, product_of.inputs[::-1]):
            if isinstance(factor, nodes.Scalar) and not factor.axes:
                query = stored_plain(operand)
                return query, ScaledQuery(query=query, factor=factor.value, where=where)
    raise NotLowered(
        "queries that are computed otherwise than by a factor",
        node.where,
        "act on the scores, as in attend.scores(query, keys) * scale",
    )
