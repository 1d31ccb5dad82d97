"""Every rule of the graph flags a graph that breaks it and passes a near twin."""

from dataclasses import replace

import pytest

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Load, Symbol
from attndsl.graph.errors import GraphError
from attndsl.graph.graph import Graph
from attndsl.graph.nodes import (
    BlockRequantize,
    CacheAppend,
    Cast,
    Choose,
    Dense,
    Dequantize,
    EarlierPartial,
    Elementwise,
    GroupSum,
    IndexCondition,
    Input,
    Leading,
    Listed,
    LogSumExpMerge,
    Lookup,
    Opposite,
    Output,
    Packed,
    PackedQueries,
    Paged,
    Quantize,
    Repeat,
    Replace,
    Ring,
    RowMax,
    Scalar,
    Scores,
    Selected,
    Softmax,
    Take,
    TopK,
    WeightedSum,
    WindowSum,
)
from attndsl.graph.verifier import RULES, findings, verify

SCORE = ("B", "N", "Q", "T")
OUT = ("B", "N", "Q", "E")
query = Input(name="query", axes=("B", "N", "Q", "D"), dtypes=("float16",))
key = Input(name="key", axes=("B", "K", "T", "D"), dtypes=("float16", "int8"))
value = Input(name="value", axes=("B", "K", "T", "E"), dtypes=("float16",))
mask = Input(name="mask", axes=("B", "T"), dtypes=("bool",))
bias = Input(name="bias", axes=SCORE, dtypes=("float16",))
lengths = Input(name="lengths", axes=("B",), dtypes=("int64",))
table = Input(name="table", axes=("B", "W"), dtypes=("int32",))
pages = Input(name="pages", axes=("P", "K", "R", "D"), dtypes=("float16",))
scale = Input(name="scale", axes=("C", "K", "D"), dtypes=("float16",))
channel = Input(name="channel", axes=("K", "D"), dtypes=("float16",))
one = Input(name="one", axes=(), dtypes=("float32",))
keys = Dense(axes=key.axes, tensor=key, length=lengths)
values = Dense(axes=value.axes, tensor=value, length=lengths)
scores = Scores(query=query, keys=keys)
b, j = Symbol("b"), Symbol("j")
PRESENT = frozenset(["query", "key", "value", "mask", "bias", "lengths", "table", "pages", "scale"])
PRESENT |= {"channel", "one", "cache", "earlier", "earlier_lse"}
earlier_rows = Input(name="earlier", axes=OUT, dtypes=("float32",))
earlier_lse = Input(name="earlier_lse", axes=OUT[:-1], dtypes=("float32",))


def graph(node, axes=None):
    """``node`` as the only output."""
    axes = node.axes if axes is None else axes
    return Graph("test", PRESENT, (Output(name="out", source=node, dtype="float16", axes=axes),))


def scored(modified):
    return WeightedSum(weights=Softmax(scores=modified), values=values)


def earlier(rows=earlier_rows, lse=earlier_lse):
    return EarlierPartial(out=rows, lse=lse, axes=rows.axes)


def merged(*more):
    return LogSumExpMerge(parts=(scored(scores), *more))


def paged(**changes):
    fields = {
        "axes": key.axes,
        "tensor": pages,
        "table": table,
        "block_size": Symbol("size"),
        "length": lengths,
    }
    return Scores(query=query, keys=Paged(**(fields | changes)))


def listed(**changes):
    fields = {"axes": key.axes, "tensors": key, "length": lengths}
    return Scores(query=query, keys=Listed(**(fields | changes)))


BLOCKS = ("B", "N", "Q", "J")
stored = Input(name="key", axes=("U", "K", "D"), dtypes=("float16",))
tokens = Input(name="query", axes=("S", "N", "D"), dtypes=("float16",))
forced = Input(name="mask", axes=("Q", "J"), dtypes=("bool",))
packed_queries = Scores(query=PackedQueries(tensor=tokens, ends=lengths), keys=keys)


def packed_keys(**changes):
    fields = {"axes": key.axes, "tensor": stored, "ends": lengths}
    return Scores(query=query, keys=Packed(**(fields | changes)))


def windows(**changes):
    fields = {"source": scores, "step": Const(4), "last": Const(3), "counts": (Const(4), Const(2))}
    return WindowSum(**(fields | changes))


def summed(**changes):
    return replace(GroupSum(source=windows(), axes=("B", "K", "Q", "J")), **changes)


def selected(**changes):
    return replace(TopK(source=summed(), count=Const(2), axes=("B", "K", "Q", "X")), **changes)


def named(query=query, lists=("B", "Q", "K", "X"), dtype="int32", **changes):
    """Scores of the keys in blocks that lists name."""
    blocks = Input(name="table", axes=lists, dtypes=(dtype,))
    rows = Selected(axes=key.axes, source=keys, blocks=blocks, size=Const(64), **changes)
    return Scores(query=query, keys=rows)


def added(*inputs, op="add", axes=SCORE):
    return Elementwise(op=op, inputs=inputs, axes=axes)


def taken(**changes):
    return replace(Take(source=scale, axis="C", index=0, axes=("K", "D")), **changes)


def dequantized(**changes):
    node = replace(Dequantize(source=key, scale=channel, offset=None, axes=key.axes), **changes)
    return Scores(query=query, keys=Dense(axes=node.axes, tensor=node))


def quantized(**changes):
    return replace(Quantize(source=scored(scores), scale=one, offset=None, axes=OUT), **changes)


late = Dense(axes=value.axes, tensor=value, start=Scalar(value=Load("lengths", b), axes=("B",)))

cache = Input(name="cache", axes=("Y", "B", "K", "T", "D"), dtypes=("float16",))
layer = Take(source=cache, axis="Y", index=Symbol("layer"), axes=key.axes)
count = Scalar(value=Symbol("count"), axes=())


def appended(**changes):
    fields = {"cache": Dense(axes=key.axes, tensor=layer), "rows": keys, "position": count, "length": lengths}
    return Scores(query=query, keys=CacheAppend(axes=key.axes, **(fields | changes)))


def looked_up(**changes):
    fields = {"source": bias, "index": (Symbol("i"), j), "axes": ("Q", "T")}
    return Lookup(**(fields | changes))


def scored_by(tensor):
    rows = Dense(axes=value.axes, tensor=tensor, length=lengths)
    return WeightedSum(weights=Softmax(scores=bias), values=rows)


def requantized(source):
    return WeightedSum(weights=BlockRequantize(source=source, block=Symbol("size")), values=values)


CASES = {
    "axes_are_known": (graph(replace(bias, axes=("B", "Z"))), graph(replace(bias, axes=("B", "J")))),
    "choices_are_made": (
        graph(Choose(needs=(frozenset({"bias"}),), alternatives=(bias, scores), axes=SCORE)),
        graph(bias),
    ),
    "inputs_are_passed": (graph(replace(bias, name="absent")), graph(replace(bias, name="mask"))),
    "loads_are_passed": (
        graph(Scalar(value=Load("absent", b), axes=("B",))),
        graph(Scalar(value=Load("lengths", b), axes=("B",))),
    ),
    "indices_have_axes": (
        graph(IndexCondition(condition=j < b, axes=("T",))),
        graph(IndexCondition(condition=j < b)),
    ),
    "dense_rows_have_their_axes": (
        graph(Scores(query=query, keys=Dense(axes=("B", "T", "D"), tensor=key))),
        graph(Scores(query=query, keys=Dense(axes=("B", "K", "T", "D"), tensor=key))),
    ),
    "paged_rows_have_their_axes": (graph(paged(tensor=key)), graph(paged())),
    "listed_rows_have_their_axes": (graph(listed(index=lengths)), graph(listed())),
    "packed_rows_have_their_axes": (graph(packed_keys(tensor=key)), graph(packed_keys())),
    "packed_rows_have_boundaries": (
        graph(packed_keys(length=lengths)),
        graph(packed_keys(ends=None, length=lengths)),
    ),
    "results_follow_their_queries": (
        graph(WeightedSum(weights=Softmax(scores=packed_queries), values=values)),
        graph(WeightedSum(weights=Softmax(scores=packed_queries), values=values, axes=("S", "N", "E"))),
    ),
    "window_sums_run_over_keys": (graph(windows(counts=())), graph(windows())),
    "group_sums_run_over_heads": (graph(summed(axes=BLOCKS)), graph(summed())),
    "selections_are_made_among_blocks": (graph(selected(axes=("B", "K", "Q", "J"))), graph(selected())),
    "forced_entries_are_truth_values": (
        graph(selected(forced=replace(forced, dtypes=("float16",)))),
        graph(selected(forced=forced)),
    ),
    "repeats_add_an_axis": (
        graph(Repeat(source=bias, axes=("L", *SCORE))),
        graph(Repeat(source=bias, axes=(*SCORE, "L"))),
    ),
    "merged_parts_are_attention": (
        graph(LogSumExpMerge(parts=(scored(scores), WeightedSum(weights=scores, values=values)))),
        graph(LogSumExpMerge(parts=(scored(scores), scored(scores)))),
    ),
    "earlier_partials_have_rows": (
        graph(merged(earlier(replace(earlier_rows, axes=query.axes)))),
        graph(merged(earlier())),
    ),
    "earlier_partials_have_a_log_sum_exp": (
        graph(merged(earlier(lse=replace(earlier_lse, dtypes=("float16",))))),
        graph(merged(earlier(replace(earlier_rows, dtypes=("float16",))))),
    ),
    "tables_are_integers": (graph(paged(table=replace(table, dtypes=("float16",)))), graph(paged())),
    "lengths_are_per_row": (
        graph(paged(length=replace(lengths, dtypes=("float32",)))),
        graph(paged(length=None)),
    ),
    "scores_contract_over_d": (
        graph(Scores(query=query, keys=values)),
        graph(Scores(query=query, keys=keys)),
    ),
    "elementwise_broadcasts_by_name": (
        graph(added(scores, mask, axes=("B", "T"))),
        graph(added(scores, mask)),
    ),
    "rows_are_no_operands": (
        graph(added(keys, key, axes=key.axes)),
        graph(added(key, key, axes=key.axes)),
    ),
    "replacement_fits": (
        graph(Replace(source=scores, condition=mask, value=float("nan"), axes=SCORE)),
        graph(Replace(source=scores, condition=mask, value=float("-inf"), axes=SCORE)),
    ),
    "conditions_are_truth_values": (
        graph(Replace(source=scores, condition=bias, value=0.0, axes=SCORE)),
        graph(Replace(source=scores, condition=replace(bias, dtypes=("uint8",)), value=0.0, axes=SCORE)),
    ),
    "softmax_runs_over_keys": (graph(Softmax(scores=query)), graph(Softmax(scores=bias))),
    "opposites_are_of_truth_values": (
        graph(Opposite(source=bias, axes=SCORE)),
        graph(Opposite(source=mask, axes=("B", "T"))),
    ),
    "sinks_are_numbers_of_rows": (
        graph(Softmax(scores=scores, sink=bias)),
        graph(Softmax(scores=scores, sink=replace(bias, axes=("B", "N")))),
    ),
    "row_statistics_belong_to_softmax": (
        graph(RowMax(softmax=scores)),
        graph(RowMax(softmax=Softmax(scores=scores))),
    ),
    "weighted_sum_runs_over_keys": (
        graph(WeightedSum(weights=scores, values=keys)),
        graph(WeightedSum(weights=scores, values=values)),
    ),
    "keys_and_values_share_rows": (
        graph(WeightedSum(weights=Softmax(scores=scores), values=late)),
        graph(WeightedSum(weights=Softmax(scores=bias), values=late)),
    ),
    "scales_broadcast": (graph(dequantized(scale=scale)), graph(dequantized(scale=taken()))),
    "dequantize_reads_int8": (
        graph(dequantized(source=replace(key, dtypes=("float16",)))),
        graph(dequantized(source=replace(key, dtypes=("int8",)))),
    ),
    "quantize_reads_floats": (
        graph(quantized(source=replace(bias, axes=OUT, dtypes=("int8",)))),
        graph(quantized(source=replace(bias, axes=OUT))),
    ),
    "take_drops_its_axis": (graph(taken(axis="T")), graph(taken())),
    "stores_keep_axes": (
        graph(Cast(source=bias, dtype="float16", axes=OUT)),
        graph(Cast(source=bias, dtype="float16", axes=SCORE)),
    ),
    "rows_of_rows_have_their_axes": (
        graph(Scores(query=query, keys=Ring(axes=key.axes, source=key, size=Symbol("size")))),
        graph(Scores(query=query, keys=Ring(axes=key.axes, source=keys, size=Symbol("size")))),
    ),
    "appends_write_inputs": (
        graph(appended(cache=Dense(axes=key.axes, tensor=added(key, key, axes=key.axes)))),
        graph(appended()),
    ),
    "leading_channels_become_values": (
        graph(scored_by(Leading(source=key, count=Symbol("size"), axes=key.axes))),
        graph(scored_by(Leading(source=key, count=Symbol("size"), axes=value.axes))),
    ),
    "lookups_read_inputs": (graph(looked_up(source=scores)), graph(looked_up())),
    "requantized_values_are_probabilities": (
        graph(requantized(scores)),
        graph(requantized(Softmax(scores=scores))),
    ),
    "selected_rows_have_lists": (graph(named(lists=("B", "H", "X"))), graph(named())),
    "lists_follow_their_queries": (
        graph(named(query=PackedQueries(tensor=tokens, ends=lengths))),
        graph(named(query=PackedQueries(tensor=tokens, ends=lengths), lists=("S", "K", "X"))),
    ),
    "selections_are_of_all_keys": (graph(windows(source=named())), graph(windows())),
    "outputs_are_unique": (
        Graph("test", PRESENT, (Output(name="a", source=bias, dtype="x", axes=SCORE),) * 2),
        Graph("test", PRESENT, tuple(Output(name=n, source=bias, dtype="x", axes=SCORE) for n in "ab")),
    ),
}


def test_every_rule_has_its_case():
    assert set(CASES) == {rule.name for rule in RULES}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_rule_is_flagged_with_its_spec_line(name):
    broken, _ = CASES[name]
    assert name in {finding.rule for finding in findings(broken)}
    with pytest.raises(GraphError):
        verify(broken)


@pytest.mark.parametrize("name", CASES)
def test_the_near_twin_passes(name):
    _, twin = CASES[name]
    assert [str(finding) for finding in findings(twin)] == []
    assert verify(twin) is twin


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((earlier_rows,), r"'earlier' is a part without its log-sum-exp; write \(earlier, lse\)"),
        ((earlier(),), "one part is a softmax times value rows"),
        (
            (
                scored(scores),
                earlier(replace(earlier_rows, axes=("S", "N", "E")), replace(earlier_lse, axes=("S", "N"))),
            ),
            "have no rows in common",
        ),
        ((scored(scores), scores), r"or an earlier partial \(out, lse\), not Scores"),
        (
            (
                scored(scores),
                earlier(replace(earlier_rows, axes=("B", "N", "E")), replace(earlier_lse, axes=("B", "N"))),
            ),
            'pass axes="B N Q E" to op.input of the rows and axes="B N Q" to that of the log-sum-exp',
        ),
        (
            (scored(scores), earlier(replace(earlier_rows, axes=("B", "N", "E")))),
            r'pass axes="B N Q E" to op.input of the rows($| \[)',
        ),
        (
            (scored(scores), earlier(lse=replace(earlier_lse, axes=("B", "N")))),
            r'has the axes \(B, N, Q\), not \(B, N\); pass axes="B N Q" to its op.input',
        ),
    ],
)
def test_what_is_no_part_of_a_merge_is_told_what_is(parts, words):
    with pytest.raises(GraphError, match=words):
        verify(graph(LogSumExpMerge(parts=parts, axes=OUT)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"axes": ("B", "N")}, r"of rows \(B, N, Q, E\) has the axes \(B, N, Q\), not \(B, N\)"),
        ({"dtypes": ("float16",)}, 'is float32, not float16: declare it with dtype="float32"'),
    ],
)
def test_a_log_sum_exp_is_an_fp32_number_of_each_row(changes, words):
    with pytest.raises(GraphError, match=words):
        verify(graph(merged(earlier(lse=replace(earlier_lse, **changes)))))


@pytest.mark.parametrize(("size", "legal"), [("size", True), ("other", False)])
def test_pages_of_keys_and_values_have_one_size(size, legal):
    keys = paged()
    pages_of_values = replace(keys.keys, tensor=replace(pages, name="value"), block_size=Symbol(size))
    found = {
        finding.rule
        for finding in findings(graph(WeightedSum(weights=Softmax(scores=keys), values=pages_of_values)))
    }
    assert ("keys_and_values_share_rows" not in found) == legal


def test_the_finding_names_the_line_of_its_node():
    where = SourceLine("/somewhere/my_attention.py", 12)
    with pytest.raises(GraphError, match=r"my_attention.py:12: test: Softmax"):
        verify(graph(Softmax(scores=query, where=where)))


def test_a_graph_without_outputs_is_rejected():
    with pytest.raises(GraphError, match="no output"):
        verify(Graph("test", PRESENT, ()))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"length": None}, "rows in the end"),
        ({"position": bias}, "position"),
        ({"rows": values}, "are no rows"),
    ],
)
def test_appends_know_their_place(changes, words):
    broken = graph(appended(**changes))
    assert any(
        finding.rule == "appends_write_inputs" and words in finding.message for finding in findings(broken)
    )


@pytest.mark.parametrize("changes", [{"index": ()}, {"axes": ("Q",)}, {"index": (Symbol("i"), Symbol("n"))}])
def test_lookups_have_an_index_for_their_axes(changes):
    assert {finding.rule for finding in findings(graph(looked_up(**changes)))} >= {"lookups_read_inputs"}


@pytest.mark.parametrize(("op", "count"), [("tanh", 2), ("add", 1), ("modulo", 2)])
def test_arity_and_name_of_elementwise_operations(op, count):
    broken = graph(added(*[scores] * count, op=op))
    assert {finding.rule for finding in findings(broken)} == {"elementwise_broadcasts_by_name"}


groups = Input(name="groups", axes=("G", "K", "U", "D"), dtypes=("float16",))


@pytest.mark.parametrize(
    ("changes", "legal"),
    [
        ({"tensors": groups, "index": lengths}, True),
        ({"tensors": groups}, False),
        ({"tensors": groups, "index": mask}, False),
        ({"tensors": replace(groups, axes=("G", "K", "U", "E")), "index": lengths}, False),
        ({"axes": ("B", "T", "D")}, False),
    ],
)
def test_rows_of_a_list_with_and_without_an_index(changes, legal):
    """The graph of test_rules' table names only tensors that it passes; the list stands for one of them."""
    changes = {
        k: replace(v, name="key") if isinstance(v, Input) and k == "tensors" else v
        for k, v in changes.items()
    }
    found = {finding.rule for finding in findings(graph(listed(**changes)))}
    assert ("listed_rows_have_their_axes" not in found) == legal
