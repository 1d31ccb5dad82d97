"""Arguments without a declared range: their values may be why the reference misses its golden results."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import ParamSpec
from attndsl.spec.contract.contract import Contract


def range_advice(call: Call) -> str:
    """What to declare so that cases have values that the computation is meant for; empty where all is."""
    found = tuple(_open(call))
    if not found:
        return ""
    return (
        "the reference itself misses: where no caller passes such values, declare a range of "
        f"{', '.join(found)}"
    )


def _open(call: Call) -> Iterator[str]:
    ruled = _ruled(call.operator)
    for param in call.operator.params:
        if (
            param.type in (int, float)
            and not param.choices
            and param.name not in ruled
            and not _closed(param)
        ):
            yield f"{param.name}={call.params[param.name]} (op.param(..., ge=, le=))"
    for spec in call.operator.tensors:
        if spec.name in call.present and spec.kind == "lengths" and spec.name not in ruled:
            yield f"the elements of {spec.name} (op.require)"


def _closed(param: ParamSpec) -> bool:
    """Whether a range has two ends."""
    below, above = (param.gt, param.ge), (param.lt, param.le)
    return all(any(end is not None for end in ends) for ends in (below, above))


def _ruled(operator: Contract) -> frozenset[str]:
    """The arguments that some constraint compares."""
    names = (rule.symbols() | rule.tensors() for rule in operator.constraints)
    return frozenset[str]().union(*names)
