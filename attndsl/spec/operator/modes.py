"""Several operators under one name: a document with a table of arguments for each value of a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from attndsl.spec.contract.arguments import ParamSpec
from attndsl.spec.contract.contract import Contract

OperatorT = TypeVar("OperatorT", bound=Contract)


@dataclass
class Modes(Generic[OperatorT]):
    """The operators that take the calls in which ``parameter`` has their value.

    ``own``: the value that an operator has itself, where it is one of the modes, and ``of``: the one that
    has these.
    """

    parameter: str = ""
    operators: dict[Any, OperatorT] = field(default_factory=dict)
    own: Any = None
    of: OperatorT | None = None

    def narrowed(self, spec: ParamSpec) -> ParamSpec:
        """A parameter as a mode has it: the one that decides between modes has their value alone."""
        if self.own is None or spec.name != self.parameter:
            return spec
        spellings = {word: value for word, value in spec.choices.items() if value == self.own}
        return replace(spec, default=self.own, choices=spellings or {self.own: self.own})

    def chosen(self, operator: OperatorT, arguments: Mapping[str, Any]) -> OperatorT:
        """The operator that takes a call of ``operator`` with these named arguments."""
        if self.parameter not in arguments:
            return operator
        spec = next(spec for spec in operator.params if spec.name == self.parameter)
        spelled = arguments[self.parameter]
        spelled = int(spelled) if isinstance(spelled, np.integer) else spelled
        known = isinstance(spelled, int | str) and not isinstance(spelled, bool) and spelled in spec.choices
        return self.operators.get(spec.choices[spelled], operator) if known else operator
