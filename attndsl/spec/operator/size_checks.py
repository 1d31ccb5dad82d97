"""Whether calls have the sizes that a spec names: those of axes, of definitions and of channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Symbol, compare
from attndsl.expr.argument_facts import longest_of
from attndsl.graph.nodes import (
    AXIS_MEANINGS,
    Cast,
    Input,
    Leading,
    Node,
    Packed,
    PackedQueries,
    Paged,
    Scores,
)
from attndsl.spec import errors
from attndsl.spec.contract.arguments import Dim, TensorSpec
from attndsl.spec.contract.constraint import Constraint


def check_longest(named: Mapping[str, SourceLine], tensors: Iterable[TensorSpec]) -> None:
    """``op.longest(name)`` is of prefix sums.

    Raises:
        UnknownNameError: no argument of this name, or one that is no prefix sums.
    """
    sums = [spec.name for spec in tensors if spec.prefix_sums]
    for name, where in named.items():
        if name not in sums:
            there = f"there are {', '.join(sums)}" if sums else "declare them by op.prefix_sums(name, layout)"
            raise errors.UnknownNameError(
                f"op.longest('{name}') is of prefix sums, and '{name}' is none; {there}", where
            )


def check_shown(
    dims: Mapping[str, Dim],
    lines: Mapping[str, SourceLine],
    tensors: Iterable[TensorSpec],
    axes: Mapping[str, Expr],
    roots: Iterable[Node],
) -> None:
    """Calls tell each size: by the shape of an input, by its definition, or by a default. An axis alone tells
    none, nor does a result.

    Raises:
        SpecError: a size stands in no layout.
    """
    shown = set[str]()
    for spec in tensors:
        counts = () if spec.list_of is None else (spec.list_of,)
        sizes = (size for layout in spec.layouts.values() for size in layout.shape())
        shown = shown.union(*(each.symbols() for each in (*counts, *sizes)))
    for name, dim in dims.items():
        if name not in shown and dim.definition is None and dim.default is None and name in lines:
            axis = next((axis for axis, extent in axes.items() if name in extent.symbols()), "")
            of = f" of axis {axis}" if axis else ""
            raise errors.SpecError(
                f"no layout of an input has the size '{name}'{of}, so that no call tells it; "
                f"{_told_by(name, axis, axes, roots)}",
                lines[name],
            )


def _told_by(name: str, axis: str, axes: Mapping[str, Expr], roots: Iterable[Node]) -> str:
    """What to write, that calls tell the size ``name`` of an axis, or of none."""
    nodes = [node for root in roots for node in root.walk()]
    packed = {"T": Packed, "Q": PackedQueries}.get(axis)
    rows = next((node for node in nodes if packed is not None and isinstance(node, packed)), None)
    if isinstance(rows, Packed | PackedQueries):
        stored = "U" if axis == "T" else "S"
        longest = "op.longest(...)"
        if isinstance(rows.ends, Input):
            longest = f"op.longest('{rows.ends.name}') of op.prefix_sums('{rows.ends.name}', ...)"
        return f"write op.axes({axis}={axes.get(stored, stored)}), or op.let({name}, ...) with {longest}"
    if axis == "T" and any(isinstance(node, Paged) for node in nodes):
        return f"write op.axes(T={axes.get('W', 'W')} * {axes.get('R', 'R')}), the rows of a block table"
    if axis == "E" and any(isinstance(node, Leading) for node in nodes):
        return f"write their number, as op.axes(E=512), or op.let({name}, ...) with a parameter"
    return f"leave it out, or define it, as in op.let({name}, op.longest(...)) or by a parameter"


def check_definitions(
    dims: Mapping[str, Dim], lines: Mapping[str, SourceLine], params: Iterable[str]
) -> None:
    """``op.let`` defines a size by what a call tells before any shape is looked at.

    Raises:
        SpecError: a definition reads another size.
    """
    known = set(params)
    for name, dim in dims.items():
        if dim.definition is None:
            continue
        for size in sorted(dim.definition.symbols() - known):
            if size in dims:
                raise errors.SpecError(
                    f"op.let({name}, {dim.definition}) reads the size '{size}', which shapes tell; define "
                    f"sizes by parameters and op.longest(...), and demand equal sizes by op.require("
                    f"{name} == {dim.definition}, ...)",
                    lines[name],
                )


def check_axes(
    roots: Iterable[Node], axes: Mapping[str, Expr], dims: Mapping[str, Dim], rules: Sequence[Constraint]
) -> None:
    """Each axis of the computation has a size in ``op.axes``, and channels that are taken are those of E.

    Raises:
        LayoutTextError: an axis without a size.
        SpecError: values have other channels than E, or rows are packed by other prefix sums than their axis.
    """
    extents = {axis: _defined(extent, dims) for axis, extent in axes.items()}
    nodes = {id(node): node for root in roots for node in root.walk()}
    for node in nodes.values():
        for axis in getattr(node, "axes", ()):
            if axis not in extents:
                raise errors.LayoutTextError(
                    f"axis '{axis}', {AXIS_MEANINGS[axis]}, has no size; write op.axes({axis}=...)",
                    node.where,
                )
            if any(name.startswith("longest(") for name in axes[axis].symbols()):
                raise errors.SpecError(
                    f"axis {axis} has the size {axes[axis]}; give it a name by (size,) = op.dims('size') and "
                    f"op.let(size, op.longest(...)), and write op.axes({axis}=size)",
                    node.where,
                )
        query = node.query if isinstance(node, Scores) else None
        one = isinstance(query, Input | Cast) and {*query.axes} == {"B", "N", "D"}
        if one and not extents["Q"].same(Const(1)):
            raise errors.SpecError(
                f"queries without an axis Q have one position, and axis Q has {axes['Q']}; write "
                "op.axes(Q=1), or give them an axis Q",
                node.where,
            )
        if isinstance(node, Leading) and not _may_be_equal(_defined(node.count, dims), extents["E"], rules):
            raise errors.SpecError(
                f"attend.leading(..., {node.count}) has {node.count} channels, and axis E has {axes['E']}; "
                f"write op.axes(E={node.count})",
                node.where,
            )
        _check_longest_of_axis(node, extents, axes)


def _defined(extent: Expr, dims: Mapping[str, Dim]) -> Expr:
    """The extent of an axis, or what ``op.let`` defines it by."""
    known = dims.get(extent.name) if isinstance(extent, Symbol) else None
    return extent if known is None or known.definition is None else known.definition


def _may_be_equal(count: Expr, channels: Expr, rules: Iterable[Constraint]) -> bool:
    """Whether they are the same, or a constraint is about both."""
    if count.same(channels):
        return True
    names = count.symbols() | channels.symbols()
    equal = compare("==", channels, count), compare("==", count, channels)
    return any(
        rule.condition.same(each) or (bool(count.symbols()) and names <= rule.symbols())
        for rule in rules
        for each in equal
    )


def _check_longest_of_axis(node: Node, extents: Mapping[str, Expr], axes: Mapping[str, Expr]) -> None:
    if not isinstance(node, Packed | PackedQueries) or not isinstance(node.ends, Input):
        return
    axis = "Q" if isinstance(node, PackedQueries) else "T"
    size, own = extents[axis], longest_of(node.ends.name)
    if isinstance(size, Symbol) and size.name.startswith("longest(") and not size.same(own):
        raise errors.SpecError(
            f"rows are packed by '{node.ends.name}', and axis {axis} has {size} rows; pass the prefix sums "
            f"of the axis, or define its size by op.let({axes[axis]}, op.longest('{node.ends.name}'))",
            node.where,
        )
