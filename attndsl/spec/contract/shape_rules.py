"""What layouts demand of shapes, spelled out as constraints, for host checks and the printed contract.

In Python the same demands are made by :class:`attndsl.spec.binding.shapes.ShapeSolver`, which solves for the
sizes at the same time.
"""

from __future__ import annotations

from attndsl.expr import Const, Expr, Symbol
from attndsl.expr.argument_facts import given, layout_of
from attndsl.spec import errors
from attndsl.spec.contract.arguments import TensorSpec, extent_of
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.contract import Contract
from attndsl.spec.contract.layout import Layout


def shape_constraints(operator: Contract) -> tuple[Constraint, ...]:
    """One constraint for each dimension whose size is not free, in signature order.

    The first place where a size occurs alone, or with factors that are known by then, defines it. Which
    layout is meant follows from ``Layout.when`` and the rank of the passed tensor.
    """
    known = {name for name, dim in operator.dims_by_name.items() if dim.definition is not None}
    known |= {spec.name for spec in operator.params}
    found: list[Constraint] = []
    for spec in operator.tensors:
        if spec.kind != "tensor":
            continue
        learnt: set[str] = set()
        for layout in spec.layouts.values():
            learnt |= _of_layout(spec, layout, known, found)
        if spec.required:
            known |= learnt
    return tuple(found)


def _of_layout(spec: TensorSpec, layout: Layout, known: set[str], found: list[Constraint]) -> set[str]:
    learnt: set[str] = set()
    for position, (dim, expected) in enumerate(zip(layout.dims, layout.shape(), strict=True)):
        size = extent_of(spec.name, position)
        factors = [axis.extent for axis in dim]
        unknown = [f for f in factors if not isinstance(f, Const) and not f.symbols() <= known | learnt]
        if not unknown:
            condition = size >= expected if spec.at_least else size == expected
            text = f"is {'at least ' * spec.at_least}{expected}"
            found.append(_constraint(spec, layout, condition, text, position))
            continue
        rest = [factor for factor in factors if not any(factor is other for other in unknown)]
        if len(unknown) == 1 and rest:
            step: Expr = Const(1)
            for factor in rest:
                step = step * factor
            text = f"is a multiple of {step}"
            found.append(
                _constraint(spec, layout, size % step == 0, text, position, errors.DivisibilityError)
            )
        learnt |= {factor.name for factor in unknown if isinstance(factor, Symbol)}
    return learnt


def _constraint(
    spec: TensorSpec,
    layout: Layout,
    condition: Expr,
    text: str,
    position: int,
    error: type[Exception] | None = None,
) -> Constraint:
    when: Expr | None = layout_of(spec.name) == layout.key if len(spec.layouts) > 1 else None
    if spec.optional:
        passed = given(spec.name)
        when = passed if when is None else passed & when
    return Constraint(
        condition,
        f"dimension {position} of {spec.name} {text}",
        error or spec.shape_error or errors.ShapeError,
        when=when,
        argument=spec.name,
        where=spec.where,
    )
