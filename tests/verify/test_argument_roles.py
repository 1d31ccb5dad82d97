"""What arguments are for in a computation: cases fill them by that, not by their names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.base.package_files import specs_dir
from attndsl.graph.graph import Graph
from attndsl.graph.nodes import Input, Packed, PackedQueries
from attndsl.graph.scores_factor import scores_factor
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.cases import Stream, spaces
from attndsl.verify.space.argument_roles import (
    EARLIER,
    LIMIT,
    Dequantization,
    dequantizations,
    roles_of,
    scale_parameter,
    shows_keys,
    totals,
)
from attndsl.verify.space.space import CaseSpace
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec

SPACES: dict[str, CaseSpace] = {
    space.operator.name: space
    for name in ("relay_attention", "incre_flash_attention", "nsa_compress_attention", "self_attention")
    for space in spaces(getattr(ops, name))
}


def graph(name: str, **chosen: Any) -> Graph:
    """The computation where all tensors are passed that the choices allow."""
    operator = SPACES[name].operator
    if not chosen:
        return operator.graph(frozenset(spec.name for spec in operator.tensors))
    env = {spec.name: spec.default for spec in operator.params}
    for spec in operator.tensors:
        env |= {f"layout({spec.name})": next(iter(spec.layouts), ""), f"dtype({spec.name})": spec.dtypes[0]}
    env |= {f"split({spec.name})": False for spec in operator.tensors}
    env |= {key.replace("__", "(") + (")" if "__" in key else ""): value for key, value in chosen.items()}
    return operator.graph(frozenset(spec.name for spec in operator.tensors), env)


@pytest.mark.parametrize(
    ("name", "measures"),
    [
        ("relay_attention", "kvShareMap:G kvShareLen:U kvSeqLen:T"),
        ("incre_flash_attention", "actual_seq_lengths:T"),
        (
            "nsa_compress_attention",
            "actual_seq_qlen:Q actual_sel_seq_kvlen:J actual_cmp_seq_kvlen:T",
        ),
        ("self_attention", "seqLen:Q tokenOffset:T"),
        ("self_attention_pa_encoder", "seqLen:Q"),
        ("self_attention_prefix_encoder", "seqLen:Q kvSeqLen:T"),
    ],
)
def test_what_integers_count(name: str, measures: str) -> None:
    """Queries, keys of a row, keys of a group, blocks, or the number of a group; flags count nothing."""
    assert SPACES[name].measures == dict(each.split(":") for each in measures.split())


@pytest.mark.parametrize(
    ("declared", "mask", "role"),
    [
        ('op.lengths("x", "B", one_for_all=False)', "j < x[b]", LIMIT),
        ('op.input("x", "B", dtype="int32", axes="B")', "j + 3 >= x[b]", LIMIT),
        ('op.input("x", "B T", dtype="int32", indexed=True)', "j < x[b, j]", LIMIT),
        ('op.input("x", "B T", dtype="int32", indexed=True)', "x[b, 0] == x[b, j]", None),
        ('op.lengths("x", "B", one_for_all=False)', "(x[b] > 0) & (j < 7)", None),
    ],
)
def test_what_masks_compare_keys_with_reaches_into_several_tiles(
    tmp_path: Path, declared: str, mask: str, role: str | None
) -> None:
    """Not what elements at keys are compared with, nor a flag."""
    out = f"out = attend.softmax(s.where({mask})) @ attend.rows(value)"
    body = (DECODE_SCORES, out, 'op.output("out", out, like=query)')
    op = decode_spec(tmp_path, *body, declared=f"x = {declared}")
    assert roles_of(op.graph(frozenset(spec.name for spec in op.tensors))).of.get("x") == role
    largest = max(case.outline().arrays["x"].max(initial=0) for case in Stream(op).take(6))
    assert (largest > 512) == (role == LIMIT)


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("relay_attention", {"query": "query"}),
        (
            "incre_flash_attention",
            {
                "query": "query",
                "antiquant_scale": "in scale",
                "antiquant_offset": "in offset",
                "block_table": "table",
                "attn_mask": "mask",
                "quant_scale2": "out scale",
                "quant_offset2": "out offset",
                "pse_shift": "bias",
            },
        ),
        ("nsa_compress_attention", {"query": "query", "atten_mask": "mask", "topk_mask": "forced"}),
        ("self_attention", {"query": "query", "logN": "score factor"}),
        ("self_attention_prefix_encoder", {"query": "query", "blockTables": "table"}),
    ],
)
def test_what_tensors_are_for(name: str, roles: dict[str, str]) -> None:
    """Keys and values have none: they are found by where rows are read."""
    found = roles_of(graph(name)).of
    assert {tensor: role for tensor, role in found.items() if not tensor.startswith("actual_")} == roles


def test_roles_of_a_quantized_prompt() -> None:
    found = roles_of(graph("self_attention_pa_encoder", quantType=2, dtype__query="int8", maskType=1))
    wanted = {"query": "query", "pScale": "step", "qkDescale": "score factor", "vpvDescale": "out factor"}
    assert found.of == {**wanted, "mask": "added mask"}
    assert found.named("score factor") == ("qkDescale",) and found.named("bias") == ()


def test_slopes_multiply_no_scores() -> None:
    found = roles_of(graph("self_attention_pa_encoder", maskType=6, layout__mask="256"))
    assert found.of["slopes"] == "slope"


@pytest.mark.parametrize(
    ("scores", "role"), [("s * x.at(b, j)", "score factor of each key"), ("s + x.at(b, j)", "added mask")]
)
def test_elements_at_keys_that_multiply_scores_are_no_mask(tmp_path: Path, scores: str, role: str) -> None:
    """As one they would be -inf, and weights that are no softmax infinite."""
    result = f'op.output("out", attend.relu({scores}) @ attend.rows(value), like=query)'
    declared = 'x = op.input("x", "B T", dtype="float32", axes="B T")'
    operator = decode_spec(tmp_path, DECODE_SCORES, result, declared=declared)
    assert roles_of(operator.graph(frozenset(each.name for each in operator.tensors))).of["x"] == role


def test_keys_and_values_are_dequantized_by_their_own_factors() -> None:
    assert dequantizations(graph("incre_flash_attention")) == {
        "key": Dequantization("antiquant_scale", "antiquant_offset", 0),
        "value": Dequantization("antiquant_scale", "antiquant_offset", 1),
    }
    assert dequantizations(graph("relay_attention")) == {}


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("relay_attention", "qkScale"),
        ("incre_flash_attention", "scale_value"),
        ("nsa_compress_attention", "scale_value"),
        ("self_attention", None),  # scores are multiplied by logN first
        ("self_attention_prefix_encoder", "qkScale"),
    ],
)
def test_the_scale_is_the_parameter_that_raw_scores_are_multiplied_by(
    name: str, parameter: str | None
) -> None:
    assert scale_parameter(graph(name)) == parameter


def test_the_factor_of_scores_is_the_product_on_queries_and_scores() -> None:
    """Not of what is done with results, as the scale that quantizes them."""
    assert scores_factor(graph("relay_attention"), {"qkScale": -0.25}) == -0.25
    assert scores_factor(graph("incre_flash_attention"), {"scale_value": 0.5}) == 0.5
    assert scores_factor(graph("self_attention"), {"qScale": 0.5, "qkScale": 3.0}) == 1.5


def test_what_multiplies_probabilities_is_no_bias(tmp_path: Path) -> None:
    """A bias moves scores; a weight must not make the product larger than probabilities are."""
    declared = 'weight = op.input("weight", "B K T", dtype="float32", axes="B K T")'
    for weights, role in (
        ("attend.softmax(s + weight)", "bias"),
        ("(attend.softmax(s) * weight)", "probability factor"),
    ):
        body = (f"out = {weights} @ attend.rows(value)", 'op.output("out", out, like=query)')
        op = decode_spec(tmp_path, DECODE_SCORES, *body, declared=declared)
        assert roles_of(op.graph(frozenset(spec.name for spec in op.tensors))).of["weight"] == role
        for case in Stream(op).take(2):
            given = case.arguments()
            assert given["weight"].shape == given["key"].shape[:3]
            assert role == "bias" or np.abs(given["weight"]).max(initial=0) <= 1


def test_earlier_partials_have_a_role() -> None:
    """Their rows and the log-sum-exp of these."""
    operator = load(str(specs_dir() / "variants" / "ring_step.py"))
    names = roles_of(operator.graph(frozenset(spec.name for spec in operator.tensors))).named(EARLIER)
    shapes = {spec.name: len(next(iter(spec.layouts.values())).shape()) for spec in operator.tensors}
    assert len(names) == 2 and {shapes[name] for name in names} == {4, 3}


def test_ends_of_packed_rows_end_keys_or_queries() -> None:
    """Where a tensor tells them, not what is computed from one."""
    nodes: list[Any] = [object()]
    for kind, name in ((Packed, "keys"), (PackedQueries, "queries"), (Packed, None)):
        node, ends = object.__new__(kind), object.__new__(Input)
        object.__setattr__(ends, "name", name)
        object.__setattr__(node, "ends", None if name is None else ends)
        nodes.append(node)
    told: Any = SimpleNamespace(nodes=nodes)
    assert totals(told) == {"keys": "U", "queries": "S"}


@pytest.mark.parametrize(("condition", "shown"), [("mask", {"mask"}), ("~mask", set())])
def test_masks_that_are_not_zero_where_keys_are_visible(
    tmp_path: Path, condition: str, shown: set[str]
) -> None:
    declared = 'mask = op.input("mask", "B 1 1 T", dtype="bool", axes="B T")'
    scores = f"{DECODE_SCORES}; s = s.where({condition})"
    operator = decode_spec(tmp_path, scores, DECODE_RESULT, declared=declared)
    found = shows_keys(operator.graph(frozenset(spec.name for spec in operator.tensors)))
    assert found == shown
