"""Elements that are read at keys are there: NumPy would count a negative index from the end.

Positions of queries are not looked at: rows beyond belong to no query, and the nearest ones stand for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attndsl.base.errors import OutsideError
from attndsl.base.source_location import SourceLine
from attndsl.expr import Expr, Load
from attndsl.expr.array_evaluation import evaluate_arrays
from attndsl.graph.nodes import IndexCondition, Input, Node, Scalar, formula_of
from attndsl.reference.blocks import Block
from attndsl.reference.state import State
from attndsl.spec.contract.layout import Array

_KEY, _QUERY = "j", "i"


def check_columns(node: Input, view: Array, block: Block) -> None:
    """That a tensor has a column for each key of a block; one column stands for all.

    Raises:
        OutsideError: it has not.
    """
    if "T" in node.axes and block.keys.stop > (columns := view.shape[node.axes.index("T")]) != 1:
        _raise(node.where, node.name, block.keys.start, block.keys.stop - 1, columns)


def check_index(part: Expr, index: Any, size: int, name: str, where: SourceLine) -> None:
    """That an index along one dimension lies within it at all keys.

    Raises:
        OutsideError: it does not.
    """
    symbols = part.symbols()
    if _KEY in symbols and _QUERY not in symbols and np.size(index):
        low, high = int(np.min(index)), int(np.max(index))
        if low < 0 or high >= size:
            _raise(where, name, low, high, size)


def check_loads(state: State, node: IndexCondition | Scalar, env: Mapping[str, Any]) -> None:
    """That the elements in a condition or a number are elements of their tensors, at all keys.

    Raises:
        OutsideError: one is not.
    """
    for load in state.once(_loads_at_keys, node):
        index, size = evaluate_arrays(load.index, env), np.size(load.array(env))
        if np.size(index) and (int(np.min(index)) < 0 or int(np.max(index)) >= size):
            _raise(node.where, load.source, int(np.min(index)), int(np.max(index)), size)


def _loads_at_keys(state: State, node: Node) -> tuple[Load, ...]:
    expr = formula_of(node)
    assert expr is not None  # a condition or a number has one
    return tuple(each for each in expr.walk() if isinstance(each, Load) and _KEY in each.index.symbols())


def _raise(where: SourceLine, name: str, low: int, high: int, size: int) -> None:
    raise OutsideError(f"{where}: {name}: elements {low} to {high} of {size} are read")
