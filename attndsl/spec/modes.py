"""Several operators under one name: a document with a table of arguments for each value of a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from attndsl.spec.operator import Operator


@dataclass
class Modes:
    """The operators that take the calls in which ``parameter`` has their value."""

    parameter: str = ""
    operators: dict[Any, Operator] = field(default_factory=dict)

    def chosen(self, operator: Operator, arguments: Mapping[str, Any]) -> Operator:
        """The operator that takes a call of ``operator`` with these named arguments."""
        if self.parameter not in arguments:
            return operator
        spec = next(spec for spec in operator.params if spec.name == self.parameter)
        spelled = arguments[self.parameter]
        spelled = int(spelled) if isinstance(spelled, np.integer) else spelled
        known = isinstance(spelled, int | str) and not isinstance(spelled, bool) and spelled in spec.choices
        return self.operators.get(spec.choices[spelled], operator) if known else operator
