"""Kernels that read lists of one tensor a batch row: on the tile program and on the emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from attndsl.api import ops
from attndsl.codegen.kernel_set.entry import entry_text
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.compiler.prepare_launch import prepare, specialization_of
from attndsl.expr import Const, Symbol
from attndsl.expr.argument_facts import given as given_of
from attndsl.expr.argument_facts import split_of
from attndsl.lowering.errors import NotLowered
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from attndsl.tile.entry_size import entry_size, sizes_of
from tests.support.tensor_lists import listed, split_caches

SPECS = Path(__file__).parents[2] / "specs"
ifa, sa = ops.incre_flash_attention, ops.self_attention
F16 = np.float16


def some(count: int) -> Any:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def poisoned(rows: np.ndarray, used: int, axis: int) -> np.ndarray:
    """A copy whose rows from ``used`` on are NaN, or large where they are integers."""
    found = np.moveaxis(rows.copy(), axis, 0)
    found[used:] = 127 if rows.dtype == np.int8 else np.nan
    return np.moveaxis(found, 0, axis)


def agrees(operator: Operator, call: dict[str, Any], backend: str) -> None:
    expected = np.asarray(operator(**call), np.float32)
    out = np.asarray(operator(**call, backend=backend), np.float32)
    step = 3e-3 if call["query"].dtype == F16 else 1.6e-2
    if "antiquant_scale" in call:
        step *= 3
    np.testing.assert_allclose(out, expected, rtol=step, atol=step)


def unread_is_poison(call: dict[str, Any]) -> dict[str, Any]:
    """The call of incre_flash_attention with poison behind the valid rows."""
    if "actual_seq_lengths" not in call:
        return call
    axis = 2 if call["input_layout"] == "BNSD" else 1
    used = call["actual_seq_lengths"]
    lists = {
        name: [poisoned(rows, count, axis) for rows, count in zip(call[name], used, strict=True)]
        for name in ("key", "value")
    }
    return call | lists


@some(6)
@given(listed())
def test_lists_of_keys_and_values_on_the_tile_program(case: Any) -> None:
    agrees(ifa, unread_is_poison(case[0]), "tile")


@some(6)
@given(split_caches())
def test_split_caches_on_the_tile_program(case: Any) -> None:
    call, _, split = case
    agrees(sa, call | split, "tile")


@pytest.mark.long
@some(30)
@given(listed())
def test_lists_of_keys_and_values_on_the_emulator(case: Any) -> None:
    agrees(ifa, unread_is_poison(case[0]), "emulator")


@pytest.mark.long
@some(30)
@given(split_caches())
def test_split_caches_on_the_emulator(case: Any) -> None:
    call, _, split = case
    agrees(sa, call | split, "emulator")


def lists(rows: list[int], bnsd: bool = True, *, kv_heads: int = 2, d: int = 32, seed: int = 0) -> Any:
    """A call of incre_flash_attention without lengths: those of the tensors count."""
    rng = np.random.default_rng(seed)

    def one(count: int) -> np.ndarray:
        shape = (1, kv_heads, count, d) if bnsd else (1, count, kv_heads * d)
        return rng.standard_normal(shape).astype(F16)

    heads, batch = 2 * kv_heads, len(rows)
    query = rng.standard_normal((batch, heads, 1, d) if bnsd else (batch, 1, heads * d)).astype(F16)
    call = {"query": query, "num_heads": heads, "num_key_value_heads": kv_heads, "scale_value": 0.2}
    call |= {"input_layout": "BNSD" if bnsd else "BSH"}
    return call | {name: [one(count) for count in rows] for name in ("key", "value")}


@pytest.mark.parametrize("bnsd", [True, False])
def test_many_tiles_of_some_and_none_of_others_on_the_emulator(bnsd: bool) -> None:
    """Keys split over the cores by the longest tensor; the second is empty, the third ends in a tile."""
    agrees(ifa, lists([1500, 0, 517], bnsd), "emulator")


def test_tensors_may_lack_their_leading_dimension() -> None:
    call = lists([70, 5])
    call["key"] = [rows[0] for rows in call["key"]]
    agrees(ifa, call, "tile")
    call["value"] = [call["value"][0], call["value"][1][0]]
    agrees(ifa, call, "emulator")


@pytest.mark.parametrize("bnsd", [True, False])
def test_layouts_of_lists_may_be_declared_behind_others(bnsd: bool, tmp_path: Path) -> None:
    """The host numbers layouts among all that are declared, of which pages are none of a list's."""
    lines = (SPECS / "incre_flash_attention.py").read_text().splitlines()
    first = lines.index("CACHE = {") + 1
    lines[first : first + 4] = [*lines[first + 2 : first + 4], *lines[first : first + 2]]
    file = tmp_path / "incre_flash_attention.py"
    file.write_text("\n".join(lines))
    assert list(load_file(file).tensor("key").layouts)[2:] == ["BSH", "BNSD"]
    agrees(load_file(file), lists([40, 300], bnsd), "tile")


def test_both_layouts_and_all_lengths_share_a_kernel() -> None:
    first, second = (lists([70, 5]), lists([3, 9, 1], bnsd=False))
    assert specialization_of(ifa.bind(**first)) == specialization_of(ifa.bind(**second))
    # A list of one tensor is that tensor.
    assert specialization_of(ifa.bind(**first)) != specialization_of(ifa.bind(**lists([70])))


def test_a_kernel_of_lists_gets_the_list_and_others_its_only_tensor() -> None:
    kernels = [prepare(ifa.bind(**lists(rows))).compiled for rows in ([70, 5], [70])]
    both, alone, only = entry_text(kernels), entry_text(kernels[:1]), entry_text(kernels[1:])
    assert both.branches[0].arguments[1:3] == ("key", "value")
    assert both.branches[1].arguments[1:3] == ("keyOnly", "valueOnly")
    assert both.unwrapped == only.unwrapped == ("key", "value")
    assert alone.unwrapped == ()


def test_sizes_of_entries_are_read_and_spelled() -> None:
    size = entry_size("a_key", Symbol("batch"), 2)
    env = {sizes_of("a_key"): ((1, 7, 64), (1, 9, 64)), "batch": 1}
    assert size.evaluate(env) == 9
    assert cxx_text(size) == "SizeFromEnd(aKeyList_, batch, 2)"
    assert size.same(entry_size("a_key", Symbol("batch"), 2))
    assert not size.same(entry_size("a_key", Symbol("batch"), 1))
    assert not size.same(entry_size("a_key", Const(1), 2))


def test_no_kernel_is_made_for_lists_of_pages() -> None:
    """Pages are one tensor: presence alone rules a list out, for those who choose kernels and cases."""
    for paged in (False, True):
        known = {given_of(spec.name).name: False for spec in ifa.tensors} | {
            split_of("key").name: True,
            split_of("value").name: True,
            given_of("block_table").name: paged,
            given_of("actual_seq_lengths").name: True,
        }
        rules = [rule for rule in ifa.constraints if rule.symbols() <= known.keys() and not rule.over]
        assert any(rule.violation(known) for rule in rules) == paged


SPEC = """
from attndsl.spec import attend, Operator
op = Operator("small_lists", summary="Keys of each batch row in a tensor of their own.")
B, N, T, D = op.dims("B N T D")
op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
query = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "{layout}", dtype=query, axes="B K T D", split=True)
value = op.input("value", "{layout}", dtype=query, axes="B K T E", split=True)
op.require(value.split == key.split, "as key", argument="value")


def rows(tensor):
    return attend.when(tensor.split, attend.listed(tensor), attend.rows(tensor))


op.output("out", attend.softmax(attend.scores(query, rows(key)) * 0.2) @ rows(value), like=query)
"""


def of_layout(folder: Path, layout: str) -> Operator:
    file = folder / "small_lists.py"
    file.write_text(SPEC.format(layout=layout))
    return load_file(file)


def test_rows_that_share_a_dimension_are_refused(tmp_path: Path) -> None:
    """Their number is no size of the tensor; with a dimension of their own it is."""
    rng = np.random.default_rng(0)

    def call(*shape: int, rows: list[int]) -> dict[str, Any]:
        def one(count: int) -> np.ndarray:
            return rng.standard_normal([count * 2 if each == -1 else each or count for each in shape])

        caches = {name: [one(count).astype(F16) for count in rows] for name in ("key", "value")}
        return {"query": rng.standard_normal((2, 2, 1, 16)).astype(F16)} | caches

    agrees(of_layout(tmp_path, "B T N D"), call(1, 0, 2, 16, rows=[9, 40]), "tile")
    agrees(of_layout(tmp_path, "B N T D"), call(1, 2, 0, 16, rows=[9, 40]), "tile")
    op = of_layout(tmp_path, "B (N T) D")
    with pytest.raises(NotLowered, match=r"small_lists\.py:\d+: key as a list .* whose rows share"):
        op(**call(1, -1, 16, rows=[9, 40]), backend="tile")
