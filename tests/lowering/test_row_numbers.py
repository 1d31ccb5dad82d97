"""Functions of row statistics: what rows without a key have, whose sums may be clamped by then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attndsl.graph import nodes
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.results.row_numbers import row_numbers, statistics_of_item
from tests.support.builders import attention, context, lines

AXES = ("B", "N", "Q")
PROBABILITIES = nodes.Softmax(scores=attention().source)
TOP, TOTAL = nodes.RowMax(softmax=PROBABILITIES), nodes.RowSum(softmax=PROBABILITIES)


def function(op: str, *inputs: nodes.Node) -> nodes.Node:
    return nodes.Elementwise(op=op, inputs=inputs, axes=AXES)


LOG = function("log", TOTAL)
LSE = function("add", TOP, LOG)


def made(node: nodes.Node, *, clamped: bool, told: bool = False) -> list[str]:
    """The statements of a function of statistics."""
    c = context(attention())
    target = c.in_ub("made", "float32", c.rows_per_step * STATISTIC_LANES, "the numbers")
    return lines(row_numbers(c, node, target, replace(statistics_of_item(c, clamped=clamped), told=told)))


@pytest.mark.parametrize(
    ("node", "raw", "clamped"),
    [
        (TOTAL, 0, 1),  # 0 as it is
        (TOP, 1, 1),
        (LSE, 0, 1),  # the logarithm of 0 is -inf
        (function("add", LOG, TOP), 0, 1),
        (function("subtract", TOP, LOG), 1, 2),  # the near twins
        (function("add", TOP, TOTAL), 1, 2),
    ],
)
def test_rows_without_a_key_are_told_apart_where_they_need_it(
    node: nodes.Node, raw: int, clamped: int
) -> None:
    found = [sum("Select" in line for line in made(node, clamped=each)) for each in (False, True)]
    assert found == [raw, clamped]


@pytest.mark.parametrize(("clamped", "empty"), [(False, "0.0"), (True, "smallest")])
def test_sums_are_compared_with_what_rows_without_a_key_have(clamped: bool, empty: str) -> None:
    """So that a comparison that takes one more row shows. NE alone holds of NaN, too."""
    (compared,) = (line for line in made(TOP, clamped=clamped) if " bits = " in line)
    assert compared.endswith(f"NE {empty}")


def test_rows_that_are_told_apart_already_are_not_asked_for_again() -> None:
    asked, told = (made(TOTAL, clamped=True, told=each) for each in (False, True))
    assert [line for line in asked if "Compare" not in line][-1] == told[-1]
    assert not any("Compare" in line for line in told)
