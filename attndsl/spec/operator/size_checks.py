"""Whether calls have the sizes that a spec names: those of axes, of definitions and of channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Symbol, compare
from attndsl.expr.argument_facts import longest_of
from attndsl.graph.nodes import AXIS_MEANINGS, Cast, Input, Leading, Node, Packed, PackedQueries, Scores
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
    dims: Mapping[str, Dim], lines: Mapping[str, SourceLine], tensors: Iterable[TensorSpec]
) -> None:
    """Calls tell each size: by a shape, by its definition, or by a default.

    Raises:
        SpecError: a size stands in no layout.
    """
    layouts = [layout for spec in tensors for layout in spec.layouts.values()]
    shown = {name for layout in layouts for size in layout.shape() for name in size.symbols()}
    for name, dim in dims.items():
        if name not in shown and dim.definition is None and dim.default is None and name in lines:
            raise errors.SpecError(
                f"no layout of an input has the size '{name}', so that no call tells it; leave it out, or "
                f"define it, as in op.let({name}, op.longest(...)) or by a parameter",
                lines[name],
            )


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
        if isinstance(query, Input | Cast) and "Q" not in query.axes and not extents["Q"].same(Const(1)):
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
