"""The rules of a legal graph, as a table: node type, rule name, check.

A check returns what is wrong, or None. :func:`verify` raises the first finding with the spec line of the
node at fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from attndsl.expr import Expr, Load
from attndsl.graph.elementwise import ARITY
from attndsl.graph.errors import GraphError
from attndsl.graph.graph import Graph
from attndsl.graph.next_steps import as_keys, as_query, as_scaled, as_values
from attndsl.graph.nodes import (
    AXIS_ORDER,
    INDEX_AXES,
    BlockRequantize,
    Cast,
    Choose,
    Conditional,
    Dequantize,
    EarlierPartial,
    Elementwise,
    GroupSum,
    IndexCondition,
    Input,
    LogSumExpMerge,
    Lookup,
    Node,
    Opposite,
    Output,
    PackedQueries,
    Quantize,
    Repeat,
    Replace,
    RowMax,
    Rows,
    RowSum,
    Scalar,
    Scores,
    Selected,
    Softmax,
    Take,
    TopK,
    WeightedSum,
    WindowSum,
)
from attndsl.graph.row_rules import ROW_RULES
from attndsl.graph.rules import INTEGERS, Rules, axes_of, axes_text, stored_dtypes

_EVERY_NODE, _VALUE_RULES = Rules(), Rules()


@dataclass(frozen=True)
class Finding:
    """A broken rule: which, at which node, and what is wrong."""

    rule: str
    node: Node
    message: str

    def __str__(self) -> str:
        return f"{type(self.node).__name__}: {self.message} [{self.rule}]"


def findings(graph: Graph) -> Iterator[Finding]:
    """Every broken rule, operands first."""
    for node in graph.nodes:
        for rule in RULES:
            if isinstance(node, rule.types):
                message = rule.check(node, graph)
                if message is not None:
                    yield Finding(rule.name, node, message)


def verify(graph: Graph) -> Graph:
    """The graph itself, if it is legal.

    Raises:
        GraphError: the first broken rule, with the spec line of its node.
    """
    for finding in findings(graph):
        raise GraphError(f"{graph.name}: {finding}", finding.node.where)
    if not graph.outputs:
        raise GraphError(f"{graph.name}: nothing is computed: the operator has no output")
    return graph


@_EVERY_NODE.of(Node)
def _axes_are_known(node: Node, graph: Graph) -> str | None:
    axes = axes_of(node)
    unknown = [axis for axis in axes if axis not in AXIS_ORDER]
    if unknown:
        return f"unknown axis '{unknown[0]}' in {axes_text(axes)}"
    return f"an axis occurs twice in {axes_text(axes)}" if len(set(axes)) != len(axes) else None


@_VALUE_RULES.of(Choose, Conditional)
def _choices_are_made(node: Choose | Conditional, graph: Graph) -> str | None:
    return "a choice is left in a specialized graph"


@_VALUE_RULES.of(Input)
def _inputs_are_passed(node: Input, graph: Graph) -> str | None:
    if node.name not in graph.present:
        return f"'{node.name}' is read although the call does not pass it"
    return None


@_VALUE_RULES.of(Scalar, IndexCondition)
def _loads_are_passed(node: Scalar | IndexCondition, graph: Graph) -> str | None:
    expr: Expr = node.value if isinstance(node, Scalar) else node.condition
    missing = [
        part.source for part in expr.walk() if isinstance(part, Load) and part.source not in graph.present
    ]
    return f"'{missing[0]}' is read although the call does not pass it" if missing else None


@_VALUE_RULES.of(Scalar, IndexCondition)
def _indices_have_axes(node: Scalar | IndexCondition, graph: Graph) -> str | None:
    expr: Expr = node.value if isinstance(node, Scalar) else node.condition
    for symbol, axis in INDEX_AXES.items():
        if symbol in expr.symbols() and axis not in node.axes:
            return f"'{expr}' depends on index '{symbol}' but has no axis {axis}"
    return None


@_VALUE_RULES.of(WeightedSum, RowMax, RowSum, WindowSum)
def _results_follow_their_queries(
    node: WeightedSum | RowMax | RowSum | WindowSum, graph: Graph
) -> str | None:
    queries = [below.query for below in node.walk() if isinstance(below, Scores)]
    packed = {isinstance(query, PackedQueries) for query in queries}
    if len(packed) > 1:
        return "packed queries and queries of their own batch rows are mixed"
    if packed and ("S" in node.axes) != packed.pop():
        return f"rows of packed queries have the axis S, others B and Q; the axes are {axes_text(node.axes)}"
    return None


@_VALUE_RULES.of(WindowSum)
def _window_sums_run_over_keys(node: WindowSum, graph: Graph) -> str | None:
    axes = axes_of(node.source)
    if "T" not in axes or "J" not in node.axes:
        return f"keys T become blocks J, the axes are {axes_text(axes)} and {axes_text(node.axes)}"
    return None if node.counts else "a window needs the number of its terms"


@_VALUE_RULES.of(GroupSum)
def _group_sums_run_over_heads(node: GroupSum, graph: Graph) -> str | None:
    expected = {"K" if axis == "N" else axis for axis in axes_of(node.source)}
    if "N" not in axes_of(node.source) or set(node.axes) != expected:
        return f"heads N become K, the axes are {axes_text(axes_of(node.source))} and {axes_text(node.axes)}"
    return None


@_VALUE_RULES.of(TopK)
def _selections_are_made_among_blocks(node: TopK, graph: Graph) -> str | None:
    axes = axes_of(node.source)
    if "J" not in axes or set(node.axes) != {"X" if axis == "J" else axis for axis in axes}:
        return f"blocks J become ranks X, the axes are {axes_text(axes)} and {axes_text(node.axes)}"
    if node.length is not None and not set(axes_of(node.length)) <= {"B"}:
        return f"a length has the axes (B,), not {axes_text(axes_of(node.length))}"
    return None


@_VALUE_RULES.of(TopK)
def _forced_entries_are_truth_values(node: TopK, graph: Graph) -> str | None:
    if node.forced is None:
        return None
    if not set(axes_of(node.forced)) <= {"B", "S", "N", "K", "Q", "J"}:
        return f"forced entries {axes_text(axes_of(node.forced))} are none of blocks J"
    dtypes = stored_dtypes(node.forced) or INTEGERS
    return (
        f"forced entries are bool or integer, not {'/'.join(sorted(dtypes))}" if dtypes - INTEGERS else None
    )


@_VALUE_RULES.of(Repeat)
def _repeats_add_an_axis(node: Repeat, graph: Graph) -> str | None:
    axes = axes_of(node.source)
    return (
        None
        if node.axes[:-1] == axes
        else f"{axes_text(node.axes)} is not {axes_text(axes)} and one more axis"
    )


@_VALUE_RULES.of(Scores)
def _lists_follow_their_queries(node: Scores, graph: Graph) -> str | None:
    packed = isinstance(node.query, PackedQueries)
    for below in node.keys.walk():
        if isinstance(below, Selected) and ("Q" if packed else "S") in axes_of(below.blocks):
            wanted = "S, one for each token, or H" if packed else "Q or H"
            found = axes_text(axes_of(below.blocks))
            return f"lists of blocks of these queries have the axis {wanted}; the axes are {found}"
    return None


@_VALUE_RULES.of(WindowSum)
def _selections_are_of_all_keys(node: WindowSum, graph: Graph) -> str | None:
    if any(isinstance(below, Selected) for below in node.walk()):
        return "sums over keys are of all keys of a batch row, not of selected ones"
    return None


@_VALUE_RULES.of(Lookup)
def _lookups_read_inputs(node: Lookup, graph: Graph) -> str | None:
    if not isinstance(node.source, Input):
        return f"elements are looked up in an argument, not in {type(node.source).__name__}"
    if not node.index:
        return "an index for each dimension is needed"
    for symbol, axis in INDEX_AXES.items():
        if axis not in node.axes and any(symbol in part.symbols() for part in node.index):
            return f"the index depends on '{symbol}' but has no axis {axis}"
    return None


@_VALUE_RULES.of(BlockRequantize)
def _requantized_values_are_probabilities(node: BlockRequantize, graph: Graph) -> str | None:
    if not isinstance(node.source, Softmax):
        return f"the sum of exponentials comes from a softmax, not from {type(node.source).__name__}"
    if node.source.sink is not None:
        return "probabilities that pass through int8 have no sink; scale the result by sigmoid(p.lse - sink)"
    if node.scale is not None and not set(axes_of(node.scale)) <= {"B", "N"}:
        return f"a step for each head has the axes (N,), not {axes_text(axes_of(node.scale))}"
    return None


@_VALUE_RULES.of(LogSumExpMerge)
def _merged_parts_are_attention(node: LogSumExpMerge, graph: Graph) -> str | None:
    for part in node.parts:
        if isinstance(part, Input):
            return (
                f"'{part.name}' is a part without its log-sum-exp; write ({part.name}, lse) with the fp32 "
                "log-sum-exp of each of its rows"
            )
        attends = isinstance(part, WeightedSum) and isinstance(part.weights, Softmax)
        if not attends and not isinstance(part, EarlierPartial):
            return (
                "a part must be a softmax times value rows, or an earlier partial (out, lse), not "
                f"{type(part).__name__}; pass attend.softmax(s) @ values, and let operations act on what "
                "attend.merge gives"
            )
        if set(axes_of(part)) != set(node.axes):
            own, all_rows = axes_text(axes_of(part)), axes_text(node.axes)
            return f"parts with the axes {own} and {all_rows} have no rows in common"
    if not node.parts:
        return "there is nothing to merge"
    if all(isinstance(part, EarlierPartial) for part in node.parts):
        return "earlier partials are merged with attention: one part is a softmax times value rows"
    return None


@_VALUE_RULES.of(EarlierPartial)
def _earlier_partials_have_rows(node: EarlierPartial, graph: Graph) -> str | None:
    axes = axes_of(node.out)
    if set(axes) not in ({"B", "N", "Q", "E"}, {"S", "N", "E"}):
        return (
            f"the rows of an earlier partial have the axes (B, N, Q, E), or (S, N, E) of packed queries, not "
            f'{axes_text(axes)}; pass axes="B N Q E" to op.input of the rows{_beside_rows(node)}'
        )
    dtypes = (stored_dtypes(node.out) or frozenset()) & INTEGERS
    return f"the rows of an earlier partial are numbers, not {'/'.join(sorted(dtypes))}" if dtypes else None


def _beside_rows(node: EarlierPartial) -> str:
    """What the log-sum-exp needs as well, where neither has the axis of queries: of one position, it is
    easily left out of both."""
    if set(axes_of(node.lse)) != {"B", "N"}:
        return ""
    return (
        ' and axes="B N Q" to that of the log-sum-exp; of one position the layouts may leave Q out, as '
        '"B N D" and "B N"'
    )


@_VALUE_RULES.of(EarlierPartial)
def _earlier_partials_have_a_log_sum_exp(node: EarlierPartial, graph: Graph) -> str | None:
    rows = tuple(axis for axis in node.axes if axis != "E")
    axes = axes_of(node.lse)
    if set(axes) != set(rows):
        wanted, found = axes_text(rows), axes_text(axes)
        declared = f'pass axes="{" ".join(rows)}" to its op.input'
        return (
            f"the log-sum-exp of rows {axes_text(node.axes)} has the axes {wanted}, not {found}; {declared}"
        )
    dtypes = (stored_dtypes(node.lse) or frozenset({"float32"})) - {"float32"}
    if dtypes:
        found = "/".join(sorted(dtypes))
        what = f"the log-sum-exp of an earlier partial is float32, not {found}"
        return f'{what}: declare it with dtype="float32"'
    return None


@_VALUE_RULES.of(Scores)
def _scores_contract_over_d(node: Scores, graph: Graph) -> str | None:
    query, keys = set(axes_of(node.query)), set(axes_of(node.keys))
    if "D" not in query or not query <= {"B", "N", "Q", "D"}:
        axes = axes_of(node.query)
        return f"a query has the axes (B, N, Q, D), not {axes_text(axes)}{as_query(axes)}"
    if not {"T", "D"} <= keys or not keys <= {"B", "K", "T", "D"}:
        axes = axes_of(node.keys)
        return f"key rows have the axes (B, K, T, D), not {axes_text(axes)}{as_keys(axes)}"
    return None


@_VALUE_RULES.of(Elementwise)
def _elementwise_broadcasts_by_name(node: Elementwise, graph: Graph) -> str | None:
    if ARITY.get(node.op) != len(node.inputs):
        known = f"takes {ARITY[node.op]} operands" if node.op in ARITY else "is not an operation"
        return f"'{node.op}' {known}, got {len(node.inputs)}"
    union = {axis for operand in node.inputs for axis in axes_of(operand)}
    return (
        f"the operands' axes make {sorted(union)}, not {axes_text(node.axes)}"
        if union != set(node.axes)
        else None
    )


@_VALUE_RULES.of(Elementwise)
def _rows_are_no_operands(node: Elementwise, graph: Graph) -> str | None:
    if any(isinstance(operand, Rows) for operand in node.inputs):
        return (
            "rows of keys and values cannot be computed with; scale scores, as in attend.scores(query, keys) "
            "* scale, probabilities, as in (p * weight) @ values, or results"
        )
    return None


@_VALUE_RULES.of(Replace)
def _replacement_fits(node: Replace, graph: Graph) -> str | None:
    if math.isnan(node.value):
        return "the replacement value is NaN"
    union = set(axes_of(node.source)) | set(axes_of(node.condition))
    return f"{axes_text(node.axes)} is not the union {sorted(union)}" if union != set(node.axes) else None


@_VALUE_RULES.of(Opposite)
def _opposites_are_of_truth_values(node: Opposite, graph: Graph) -> str | None:
    if set(node.axes) != set(axes_of(node.source)):
        return "the axes change"
    floats = (stored_dtypes(node.source) or frozenset()) - INTEGERS
    if not floats:
        return None
    return (
        f'a mask is bool or integer, not {"/".join(sorted(floats))}; declare it with dtype="bool", or add '
        "it to the scores"
    )


@_VALUE_RULES.of(Replace)
def _conditions_are_truth_values(node: Replace, graph: Graph) -> str | None:
    dtypes = stored_dtypes(node.condition)
    if dtypes and dtypes - INTEGERS:
        found = "/".join(sorted(dtypes - INTEGERS))
        return (
            f'a condition is bool or integer, not {found}; declare it with dtype="bool", or add it to the '
            "scores"
        )
    return None


@_VALUE_RULES.of(Softmax)
def _softmax_runs_over_keys(node: Softmax, graph: Graph) -> str | None:
    axes = axes_of(node.scores)
    if "T" in axes:
        return None
    hint = "scores are attend.scores(query, keys)"
    return f"softmax needs scores with a key axis T, has {axes_text(axes)}; {hint}"


@_VALUE_RULES.of(Softmax)
def _sinks_are_numbers_of_rows(node: Softmax, graph: Graph) -> str | None:
    if node.sink is None:
        return None
    axes = axes_of(node.sink)
    if not set(axes) <= {"B", "N", "Q"}:
        return f"a sink is a number of each head, axes (N,), or of each row, (B, N, Q), not {axes_text(axes)}"
    dtypes = (stored_dtypes(node.sink) or frozenset()) & INTEGERS
    return f"a sink is a floating-point number, not {'/'.join(sorted(dtypes))}" if dtypes else None


@_VALUE_RULES.of(RowMax, RowSum)
def _row_statistics_belong_to_softmax(node: RowMax | RowSum, graph: Graph) -> str | None:
    known = isinstance(node.softmax, Softmax | LogSumExpMerge)
    return None if known else f"{type(node.softmax).__name__} has no row statistics"


@_VALUE_RULES.of(WeightedSum)
def _weighted_sum_runs_over_keys(node: WeightedSum, graph: Graph) -> str | None:
    weights, values = axes_of(node.weights), axes_of(node.values)
    if "T" not in weights:
        return (
            f"weights need a key axis T, have {axes_text(weights)}; scores are attend.scores(query, keys), "
            "and weights are made of them"
        )
    return (
        None
        if {"T", "E"} <= set(values)
        else f"value rows have the axes (B, K, T, E), not {axes_text(values)}{as_values(values)}"
    )


@_VALUE_RULES.of(WeightedSum)
def _keys_and_values_share_rows(node: WeightedSum, graph: Graph) -> str | None:
    for below in node.weights.walk():
        if isinstance(below, Scores) and not _same_rows(below.keys, node.values):
            return (
                "keys and values are taken from different rows (source, length, start or block table); "
                f"read both alike{_unlike(below.keys, node.values)}"
            )
    return None


def _unlike(keys: Node, values: Node) -> str:
    """In what two sources of rows differ, after a comma."""
    if type(keys) is not type(values):
        return f", not as {type(keys).__name__} and as {type(values).__name__}"
    names = sorted({each.name for each in fields(keys)} - _OWN_OF_ROWS)
    differ = [name for name in names if not _same_place(getattr(keys, name), getattr(values, name))]
    return f", with the same {' and '.join(differ)}"


_OWN_OF_ROWS = frozenset({"tensor", "tensors", "axes", "where"})
"""What keys and values of the same rows have of their own."""


def _same_rows(keys: Node, values: Node) -> bool:
    if type(keys) is not type(values):
        return False
    names = {each.name for each in fields(keys)} - _OWN_OF_ROWS
    return all(_same_place(getattr(keys, name), getattr(values, name)) for name in names)


def _same_place(a: Any, b: Any) -> bool:
    if isinstance(a, Rows) and isinstance(b, Rows):
        return _same_rows(a, b)
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.value.same(b.value)
    return a is b or (isinstance(a, Expr) and a.same(b))


@_VALUE_RULES.of(Dequantize, Quantize)
def _scales_broadcast(node: Dequantize | Quantize, graph: Graph) -> str | None:
    for factor in (node.scale, node.offset):
        if factor is not None and not set(axes_of(factor)) <= set(node.axes):
            of, over = axes_text(axes_of(factor)), axes_text(node.axes)
            step = as_scaled(node.axes, axes_of(factor)) if isinstance(node, Dequantize) else ""
            return f"a scale or offset with the axes {of} does not fit {over}{step}"
    return None if set(axes_of(node.source)) == set(node.axes) else "the axes change"


@_VALUE_RULES.of(Dequantize)
def _dequantize_reads_int8(node: Dequantize, graph: Graph) -> str | None:
    if isinstance(node.source, Rows):
        return (
            "tensors are dequantized, and rows are read of what that gives: write "
            "attend.rows(attend.dequantize(tensor, scale), length=...), and paged or packed alike"
        )
    dtypes = stored_dtypes(node.source)
    return "only int8 data can be dequantized" if dtypes is None or "int8" not in dtypes else None


@_VALUE_RULES.of(Quantize, BlockRequantize)
def _quantize_reads_floats(node: Quantize | BlockRequantize, graph: Graph) -> str | None:
    dtypes = stored_dtypes(node.source)
    return f"{'/'.join(sorted(dtypes))} data cannot be quantized" if dtypes and dtypes & INTEGERS else None


@_VALUE_RULES.of(Take)
def _take_drops_its_axis(node: Take, graph: Graph) -> str | None:
    source = axes_of(node.source)
    if node.axis and node.axis not in source:
        return f"{axes_text(source)} has no axis '{node.axis}'"
    expected = len(source) - (1 if node.axis else 0)
    return None if len(node.axes) == expected else f"{expected} axes remain, not {axes_text(node.axes)}"


@_VALUE_RULES.of(Cast, Output)
def _stores_keep_axes(node: Cast | Output, graph: Graph) -> str | None:
    source = axes_of(node.source)
    if set(source) != set(node.axes):
        return f"a value with the axes {axes_text(source)} cannot be stored as {axes_text(node.axes)}"
    return None


@_VALUE_RULES.of(Output)
def _outputs_are_unique(node: Output, graph: Graph) -> str | None:
    same = [output for output in graph.outputs if output.name == node.name]
    return f"two outputs are named '{node.name}'" if len(same) > 1 else None


RULES = (*_EVERY_NODE, *ROW_RULES, *_VALUE_RULES)
"""All rules. Of a node they are asked in this order."""
