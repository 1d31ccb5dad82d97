"""The spec: what an author writes, the contract it states, and the binding of a call to concrete sizes.

Authors write ``from attndsl.spec import ...``. The package builds graph nodes and knows nothing of tiles
or text. It carries a device, schedule choices and backends by name, and looks into none.
"""

from attndsl.expr import Expr, ExprLike, Symbol, ceil_div, maximum, minimum, one_of, select
from attndsl.expr.reductions import highest, total
from attndsl.spec import errors
from attndsl.spec.authoring import attend
from attndsl.spec.authoring.values import TensorValue, Value
from attndsl.spec.operator.operator import Operator

__all__ = [
    "Expr",
    "ExprLike",
    "Operator",
    "Symbol",
    "TensorValue",
    "Value",
    "attend",
    "ceil_div",
    "errors",
    "highest",
    "maximum",
    "minimum",
    "one_of",
    "select",
    "total",
]
