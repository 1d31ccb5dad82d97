"""The graph of a call holds exactly what that call computes."""

import pytest

from attndsl.api import ops
from attndsl.graph.branch_conditions import decisions
from attndsl.graph.nodes import (
    Choose,
    Dense,
    Dequantize,
    Elementwise,
    Input,
    Paged,
    Quantize,
    Replace,
    Scalar,
)
from attndsl.spec import Operator, attend
from attndsl.spec.errors import IncompleteSpecError

ifa = ops.incre_flash_attention


def graph(*present):
    return ifa.graph(frozenset(present))


def count(found, kind):
    return sum(isinstance(node, kind) for node in found.nodes)


def test_without_optional_inputs_only_the_plain_attention_is_left():
    plain = graph()
    assert [type(node).__name__ for node in plain.nodes] == [
        *("Input", "Input", "Dense", "Scores", "Scalar", "Elementwise", "Softmax"),
        *("Input", "Dense", "WeightedSum", "Output"),
    ]
    assert plain.outputs[0].dtype == "query"


@pytest.mark.parametrize(
    ("name", "kind", "extra"),
    [("attn_mask", Replace, 1), ("pse_shift", Elementwise, 1), ("antiquant_scale", Dequantize, 2)],
)
def test_an_optional_input_adds_its_nodes_and_no_others(name, kind, extra):
    assert count(graph(name), kind) - count(graph(), kind) == extra
    assert {node.name for node in graph(name).inputs()} - {node.name for node in graph().inputs()} == {name}


def test_the_quantized_result_has_its_own_dtype():
    assert count(graph("quant_scale2"), Quantize) == 1
    assert graph("quant_scale2").outputs[0].dtype == "int8"
    assert count(graph("quant_offset2"), Quantize) == 0


def test_the_key_source_is_chosen_by_presence():
    def source(*present):
        rows = [node for node in graph(*present).nodes if isinstance(node, Dense | Paged)]
        assert len(rows) == 2
        return rows[0]

    lengths, padding, table = "actual_seq_lengths", "kv_padding_size", "block_table"
    assert source().length is None
    assert isinstance(source(lengths).length, Input) and source(lengths).start is None
    assert source(padding).start is None
    assert isinstance(source(lengths, padding).start, Scalar)
    assert isinstance(source(table, lengths), Paged)
    assert isinstance(source(table, lengths, padding), Paged)


def test_no_choice_is_ever_left():
    names = [spec.name for spec in ifa.tensors]
    assert count(graph(*names), Choose) == 0


def test_nodes_come_after_their_operands():
    found = graph("attn_mask", "pse_shift", "actual_seq_lengths", "quant_scale2")
    position = {id(node): index for index, node in enumerate(found.nodes)}
    for node in found.nodes:
        assert all(position[id(operand)] < position[id(node)] for operand in node.operands())


def test_the_same_call_gets_the_same_graph():
    assert graph("attn_mask") is graph("attn_mask")


def test_graphs_that_differ_in_the_last_digit_of_a_number_are_others():
    op = Operator("digits")
    B, N, T, D = op.dims("B N T D")
    op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
    q = op.input("q", "B N 1 D", dtype="float16")
    k = op.input("k", "B N T D", dtype="float16", axes="B K T D")
    v = op.input("v", "B N T D", dtype="float16", axes="B K T E")
    mode = op.param("mode", int, default=0)
    s, hidden = attend.scores(q, attend.rows(k)), attend.condition(attend.KEY < 5)
    s = attend.when(mode == 1, s.replace(hidden, 1000002.0), s.replace(hidden, 1000001.0))
    op.output("out", attend.softmax(s) @ v, like=q)
    passed = frozenset({"q", "k", "v"})
    one, other, again = (op.graph(passed, {"mode": mode}) for mode in (0, 1, 2))
    assert one.key == again.key != other.key
    assert "value=1000001.0" in one.key and "value=1e+06" in one.print()
    assert [holds for _, holds in decisions(op.roots, passed, {"mode": 1})] == [True]


def test_the_text_names_every_node_with_its_spec_line():
    text = graph("attn_mask").print()
    lines = text.splitlines()
    assert lines[0] == "graph incre_flash_attention  given: attn_mask, key, query, value"
    assert len(lines) == 1 + len(graph("attn_mask").nodes)
    assert all("# incre_flash_attention.py:" in line for line in lines[1:])
    (replaced,) = [line for line in lines if "Replace(" in line]
    assert "value=-1e+12" in replaced and "(B, N, Q, T)" in replaced


def test_a_merge_does_without_earlier_partials_and_not_without_attention():
    op = Operator("merged")
    B, N, T, D = op.dims("B N T D")
    op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
    q = op.input("q", "B N 1 D", dtype="float16", axes="B N Q D")
    k, other = (
        op.input(name, "B N T D", dtype="float16", axes="B K T D", optional=name == "other")
        for name in ("k", "other")
    )
    v = op.input("v", "B N T D", dtype="float16", axes="B K T E")
    out = op.input("out", "B N 1 D", dtype="float16", axes="B N Q E", optional=True)
    lse = op.input("lse", "B N 1", dtype="float32", axes="B N Q", optional=True)
    parts = [attend.softmax(attend.scores(q, attend.rows(each))) @ v for each in (k, other)]
    op.output("merged", attend.merge(parts[0], (out, lse), parts[1]), like=q)
    both = op.graph(frozenset({"other", "out", "lse"})).outputs[0].source
    alone = op.graph(frozenset({"other"})).outputs[0].source
    kinds = [[type(part).__name__ for part in merge.parts] for merge in (both, alone)]
    assert kinds == [["WeightedSum", "EarlierPartial", "WeightedSum"], ["WeightedSum"] * 2]
    with pytest.raises(IncompleteSpecError, match="cannot compute"):
        op.graph(frozenset({"out", "lse"}))


def test_an_output_that_needs_an_absent_input_is_an_error_of_the_spec():
    op = Operator("broken")
    B, N, T, D = op.dims("B N T D")
    op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
    q = op.input("q", "B N 1 D", dtype="float16")
    k = op.input("k", "B N T D", dtype="float16", axes="B K T D", optional=True)
    v = op.input("v", "B N T D", dtype="float16", axes="B K T E")
    op.output("out", attend.softmax(attend.scores(q, attend.rows(k))) @ v, like=q)
    with pytest.raises(IncompleteSpecError, match="cannot compute"):
        op.graph(frozenset())
