"""What an author writes: operators with symbolic sizes, layouts, constraints, and what they compute."""

from attndsl.spec import attend, errors
from attndsl.spec.operator import Operator
from attndsl.spec.values import TensorValue, Value
from attndsl.symbolic import Expr, ceil_div, maximum, minimum, select

__all__ = [
    "Expr",
    "Operator",
    "TensorValue",
    "Value",
    "attend",
    "ceil_div",
    "errors",
    "maximum",
    "minimum",
    "select",
]
