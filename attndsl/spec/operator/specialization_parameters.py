"""Specialization parameters: what the shape of a computation depends on besides the presence of tensors.

These are parameters, dtypes and layouts: the symbols in conditions of ``attend.when``. A kernel is
specialized on their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from attndsl.expr.argument_facts import dtype_of, given, layout_of, split_of
from attndsl.graph.nodes import Cast, Conditional, Node, Output, Quantize
from attndsl.spec.contract.arguments import ParamSpec
from attndsl.spec.contract.contract import Contract
from attndsl.spec.errors import InputCountError


def default_specialization(operator: Contract) -> dict[str, Any]:
    """Defaults of the parameters, first dtypes and layouts of the tensors.

    A parameter without default that conditions ask for has the legal value next to 0.
    """
    found: dict[str, Any] = {}
    for param in operator.params:
        if param.optional:
            found[param.name] = param.choices.get(param.default, param.default)
        elif param.name in operator.specialization_parameters:
            found[param.name] = _next_to_zero(param)
    for spec in operator.tensors:
        found[dtype_of(spec.name).name] = next(iter(spec.dtypes), None)
        found[layout_of(spec.name).name] = next(iter(spec.layouts), None)
        found[split_of(spec.name).name] = False
    return found


def _next_to_zero(spec: ParamSpec) -> Any:
    if spec.choices:
        return next(iter(spec.choices.values()))
    if spec.type is bool:
        return False
    limits = [limit for limit in (spec.ge, spec.gt, spec.le, spec.lt) if limit is not None]
    near = sorted((limit + step for limit in (0, *limits) for step in (0, 1, -1)), key=abs)
    legal = (spec.type(each) for each in near)
    fits = (each for each in legal if all(bound.evaluate({spec.name: each}) for bound in spec.bounds()))
    return next(fits, spec.type(0))


def spelled(operator: Contract, name: str, value: Any) -> str:
    """The value of a specialization parameter in the contract's word for it, where it has one: the name of an
    enumerator."""
    param = operator.find_param(name)
    choices = {} if param is None else param.choices
    words = (each for each, meant in choices.items() if meant == value and isinstance(each, str))
    return next(words, str(value).lower() if isinstance(value, bool) else str(value))


def specialization_samples(
    operator: Contract, names: frozenset[str], present: frozenset[str]
) -> Iterator[dict[str, Any]]:
    """For calls that pass ``present``: the defaults, then each value of each of ``names`` with the others at
    their defaults, as far as the constraints that read no tensor and no size allow it."""
    values: dict[str, list[Any]] = {
        spec.name: list(dict.fromkeys(spec.choices.values())) for spec in operator.params
    }
    for spec in operator.tensors:
        values[dtype_of(spec.name).name] = list(spec.dtypes)
        values[layout_of(spec.name).name] = list(spec.layouts)
        values[split_of(spec.name).name] = [False, True]
    defaults = default_specialization(operator)
    passed = {given(spec.name).name: spec.name in present for spec in operator.tensors}
    yield defaults
    for name in sorted(names):
        for value in values.get(name, []):
            sample = defaults | {name: value}
            known = sample | passed
            decided = [rule for rule in operator.constraints if rule.decided_by(known)]
            if not any(rule.violation(known) for rule in decided if rule.error is not InputCountError):
                yield sample


def as_stored(node: Output) -> Output:
    """The output with the axes and the dtype that its value has in one specialized computation."""
    axes: tuple[str, ...] = getattr(node.source, "axes", node.axes)
    dtype = node.source.dtype if isinstance(node.source, Quantize | Cast) else node.dtype
    same = set(axes) == set(node.axes) and dtype == node.dtype
    return node if same else replace(node, axes=axes, dtype=dtype)


def stored_dtypes(node: Node) -> Iterator[str]:
    """The dtypes of its own that a result has in some calls."""
    if isinstance(node, Conditional):
        yield from stored_dtypes(node.then)
        yield from stored_dtypes(node.otherwise)
    elif isinstance(node, Quantize | Cast):
        yield node.dtype
