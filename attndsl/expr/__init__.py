"""Symbolic scalars: sizes, constraints, tiling fields, addresses; how they are evaluated, bounded and proved.

An expression is written once and then evaluated in Python, over arrays or as bounds, printed, or handed to
sympy for a proof. Values are integers (``int64`` in C++), floats or booleans. The package knows no tensor, no
tile, no device and no C++. Expressions and their constructors come from the package itself; what is done with
them has modules of its own.
"""

from attndsl.expr.expression import Expr, ExprLike, TakesScalars, Value, extent
from attndsl.expr.fold import (
    binary,
    ceil_div,
    constant_value,
    maximum,
    minimum,
    negation,
    one_of,
    product,
    round_up,
    select,
)
from attndsl.expr.nodes import (
    Binary,
    Compare,
    Const,
    Element,
    Load,
    Logic,
    Named,
    OneOf,
    Scope,
    Select,
    Symbol,
    alternatives,
    as_expr,
    compare,
)

__all__ = [
    "Binary",
    "Compare",
    "Const",
    "Element",
    "Expr",
    "ExprLike",
    "Load",
    "Logic",
    "Named",
    "OneOf",
    "Scope",
    "Select",
    "Symbol",
    "TakesScalars",
    "Value",
    "alternatives",
    "as_expr",
    "binary",
    "ceil_div",
    "compare",
    "constant_value",
    "extent",
    "maximum",
    "minimum",
    "negation",
    "one_of",
    "product",
    "round_up",
    "select",
]
