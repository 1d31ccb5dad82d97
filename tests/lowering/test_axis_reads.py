"""A kernel goes along each axis that its tensors have, whatever its rules know of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attndsl.expr import Symbol
from attndsl.graph import nodes
from attndsl.lowering import preconditions
from attndsl.lowering.axis_reads import check_axes_are_read
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.attention_pattern import recognize
from tests.support.builders import attention, signature
from tests.support.small_specs import assert_computes, decode_call, decode_spec

_ALL = {"query": set("BN"), "key": set("BKT"), "value": set("BKT")}


def _check(asked: dict[str, set[str]], output: nodes.Output, positions: str = "") -> None:
    several = signature(output, positions=Symbol(positions) if positions else None)
    check_axes_are_read(recognize((output,)), several, asked)


def test_axes_that_rules_ask_for_and_channels_side_by_side_are_read() -> None:
    """D and E have stride 1, Q has one element."""
    _check(_ALL, attention())


@pytest.mark.parametrize(("tensor", "axis"), [("key", "K"), ("value", "T"), ("query", "N")])
def test_an_axis_that_no_rule_asks_for_is_refused(tensor: str, axis: str) -> None:
    asked = {**_ALL, tensor: _ALL[tensor] - {axis}}
    with pytest.raises(
        NotLowered, match=f"{tensor} with elements along {axis}, as it is used, .* without {axis}"
    ):
        _check(asked, attention())


def test_an_axis_of_several_positions_is_to_be_read() -> None:
    output = attention(query=("B", "N", "Q", "D"))
    _check(_ALL, output)
    with pytest.raises(NotLowered, match="query with elements along Q"):
        _check(_ALL, output, positions="S")
    _check({**_ALL, "query": set("BNQ")}, output, positions="S")


_SCALED = (
    "keys = attend.rows(attend.dequantize(stored, scales))",
    "s = attend.scores(query, keys) * 0.2",
    'op.output("out", attend.softmax(s) @ attend.rows(value), like=query)',
)


@pytest.mark.parametrize(("axes", "is_read"), [("B K T", False), ("K D", True)])
def test_what_a_rule_reads_wrongly_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, axes: str, is_read: bool
) -> None:
    """Scales of channels are read at heads and channels: those of keys would be others."""
    of_scales = preconditions.scales_are_of_channels_or_heads
    rules = tuple(each for each in preconditions.RULES if each is not of_scales)
    monkeypatch.setattr(preconditions, "RULES", rules)
    declared = (
        'stored = op.input("stored", "B K T D", dtype="int8", axes="B K T D")\n'
        f'scales = op.input("scales", "{axes}", dtype="float32", axes="{axes}")'
    )
    operator = decode_spec(tmp_path, *_SCALED, declared=declared)
    call = decode_call(t=64)
    sizes = {"B": 2, "K": 2, "T": 64, "D": 32}
    call["stored"] = np.ones(call["key"].shape, np.int8)
    call["scales"] = np.ones([sizes[axis] for axis in axes.split()], np.float32)
    if is_read:
        assert np.isfinite(operator(**call, backend="tile").astype(float)).all()
    else:
        with pytest.raises(NotLowered, match="scales with elements along B, as it is used"):
            operator(**call, backend="tile")


@pytest.mark.parametrize("weight", ["weight.at(b, j)", "weight"])
def test_elements_that_are_looked_up_have_an_index_for_each_axis(tmp_path: Path, weight: str) -> None:
    operator = decode_spec(
        tmp_path,
        f"s = attend.scores(query, attend.rows(key)) * 0.2 * {weight}",
        'op.output("out", attend.softmax(s) @ attend.rows(value), like=query)',
        declared='weight = op.input("weight", "B T", dtype="float32", axes="B T")',
    )
    call = decode_call(t=64)
    call["weight"] = np.random.default_rng(1).standard_normal((2, 64)).astype(np.float32)
    assert_computes(operator, "tile", **call)
