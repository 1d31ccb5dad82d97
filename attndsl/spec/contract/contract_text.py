"""The contract of an operator as text, printed from the very declarations that are checked."""

from __future__ import annotations

from attndsl.expr import Expr
from attndsl.graph.nodes import AXIS_MEANINGS
from attndsl.spec import errors
from attndsl.spec.contract.arguments import REQUIRED, ParamSpec, TensorSpec
from attndsl.spec.contract.contract import Contract
from attndsl.spec.contract.enumerated import choices_text
from attndsl.spec.contract.layout import Layout
from attndsl.spec.contract.wording import condition_words


def contract_text(operator: Contract) -> str:
    """All sections: signature, sizes, tensors, parameters, constraints, results, schedule."""
    sections = [
        [f"{operator.name}({_signature(operator)})"],
        [f"document: {operator.document or 'none'}; target: {operator.device.name}"],
        ["", "sizes", *(f"  {line}" for line in _sizes(operator))],
        ["", "tensors", *(line for spec in operator.tensors for line in _tensor(spec))],
        ["", "parameters", *(f"  {_param(spec)}" for spec in operator.params)],
        ["", "constraints, in the order of the checks", *_constraints(operator)],
        ["", "results", *(line for line in _results(operator))],
    ]
    if operator.schedule_choices:
        choices = ", ".join(f"{name}={value!r}" for name, value in operator.schedule_choices.items())
        sections.append(["", "schedule stated by the author", f"  {choices}"])
    return "\n".join(line for section in sections for line in section)


def _signature(operator: Contract) -> str:
    """The arguments; one that a call must pass says so behind those that it may leave out."""
    parts: list[str] = []
    late = False
    for spec in operator.parameters:
        by_name = spec.keyword_only if isinstance(spec, ParamSpec) else spec.by_name
        if by_name and "*" not in parts:
            parts.append("*")
        late = late or spec.optional
        default = f"={_default(spec)}" if spec.optional else f"={REQUIRED}" if late and not by_name else ""
        parts.append(spec.name + default)
    return ", ".join(parts)


def _default(spec: ParamSpec | TensorSpec) -> str:
    if not isinstance(spec, ParamSpec):
        return "None"
    return f"bytes({len(spec.default)})" if spec.type is bytes else repr(spec.default)


def _sizes(operator: Contract) -> list[str]:
    roles: dict[str, list[str]] = {}
    fixed = []
    for role, extent in operator.axis_extents.items():
        if extent.symbols():
            roles.setdefault(str(extent), []).append(AXIS_MEANINGS[role])
        else:
            fixed.append(f"{AXIS_MEANINGS[role]}: always {extent}")
    lines = []
    for name, dim in operator.dims_by_name.items():
        meaning = ", ".join(roles.get(name, []))
        source = f" = {dim.definition}" if dim.definition is not None else ""
        source += f" (if no shape shows it: {dim.default})" if dim.default is not None else ""
        lines.append(f"{name}{source}: {meaning}" if meaning else f"{name}{source}")
    return lines + fixed


def _tensor(spec: TensorSpec) -> list[str]:
    like = [f"that of {name}" for name in spec.dtype_like]
    dtype = " or ".join([*like, *spec.dtypes_alone])
    words = ["optional" if spec.optional else "required"]
    if spec.sequence_of:
        words.append(f"in a tuple or list of {spec.sequence_of}")
    if spec.split:
        words.append("or a list of one tensor a batch row, each with rows of its own")
    if spec.list_of is not None:
        words.append(f"a list of {spec.list_of} tensors, or an array that stacks them")
    if spec.kind == "lengths":
        passed = "list, tuple or array" if spec.arrays else "list or tuple"
        words.append(passed + " of prefix sums" * spec.prefix_sums)
        words += ["one entry stands for all rows"] * spec.one_for_all
    if spec.at_least:
        words.append("may be larger")
    if spec.meaning:
        words.append(spec.meaning)
    lines = [f"  {spec.name}: {dtype}; {'; '.join(words)}"]
    lines += [f"      {_layout(layout)}" for layout in spec.layouts.values()]
    wrong_shape = spec.shape_error or (
        errors.LengthCountError if spec.kind == "lengths" else errors.ShapeError
    )
    return lines + ([f"      else [{_builtin(wrong_shape)}]"] if spec.layouts else [])


def _layout(layout: Layout) -> str:
    shape = f"({', '.join(str(extent) for extent in layout.shape())})"
    return shape + (f"  when {condition_words(layout.when)}" if layout.when is not None else "")


def _param(spec: ParamSpec) -> str:
    words = [f"{spec.name}: {spec.type.__name__}"]
    words.append(f"default {spec.default!r}" if spec.optional else "required")
    if spec.type is bytes:
        words.append(spec.meaning)
        return "; ".join(words[:1] + words[2:])
    if spec.choices:
        words.append("one of " + choices_text(spec))
    words += [str(bound) for bound in spec.bounds()] + ["finite"] * spec.finite
    if spec.error is not None:
        words[-1] += f" [{_builtin(spec.error)}]"
    return "; ".join(words + ([spec.meaning] if spec.meaning else []))


def _constraints(operator: Contract) -> list[str]:
    lines = []
    # Equal sizes are told by the shapes above; what is left of them are merged axes that must divide.
    merged = [rule for rule in operator.shape_constraints if rule.error is errors.DivisibilityError]
    for constraint in [*merged, *operator.constraints]:
        kind = "target limit, " if constraint.target else ""
        lines.append(f"  {constraint.subject}: {constraint.text} [{kind}{_builtin(constraint.error)}]")
        lines.append(f"      {constraint.describe(condition_words)}")
    return lines


def _results(operator: Contract) -> list[str]:
    lines = []
    for spec in operator.outputs:
        shapes = dict.fromkeys(_shape(layout.shape()) for layout in spec.layouts.values())
        dtypes = " or ".join([spec.dtype or f"that of {spec.like}", *spec.quantized])
        lines.append(f"  {spec.name}: {dtypes}; {' or '.join(shapes)}")
    return lines


def _shape(extents: tuple[Expr, ...]) -> str:
    return f"({', '.join(str(extent) for extent in extents)})"


def _builtin(error: type[Exception]) -> str:
    """The class and the builtin classes that callers may catch instead."""
    if issubclass(error, Warning):
        return error.__name__
    bases = [base.__name__ for base in (TypeError, ValueError, RuntimeError) if issubclass(error, base)]
    return f"{error.__name__}: {' and '.join(bases)}"
