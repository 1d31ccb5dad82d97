"""Masks by blocks of queries and keys: what they compute, and which key tiles are never loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from attndsl.tile.instructions import LaneNumbers
from tests.support.key_loads import key_loads
from tests.support.small_specs import DECODE_RESULT, assert_computes, decode_call, decode_spec, halves

SPEC = """
from attndsl.spec import attend, Operator
op = Operator("small_blocks", summary="Prompts.")
B, N, K, S, D, X, Y = op.dims("B N K S D X Y")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)
query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
x = op.input("x", "{layout}", dtype="{dtype}", indexed=True)
w = op.param("w", int, default=40)
op.require(X * 32 >= S, "blocks", argument="x")
op.require(Y * 64 >= S, "blocks", argument="x")
op.schedule(tile_k=64)
b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
s = (attend.scores(query, attend.rows(key)) * 0.2).where({visible})
op.output("out", attend.softmax(s) @ attend.rows(value), like=query)
"""
CONDITIONS = {
    "of each head": ("B N X Y", "bool", "x[b, n, i // 32, j // 64] & (j <= i)"),
    "of all heads, in a window": ("X Y", "bool", "x[i // 32, j // 64] & (j <= i) & (j > i - w)"),
    "that hide": ("B X Y", "int8", "(x[b, i // 32, j // 64] == 0) | (j == i)"),
    "two of numbers": ("B X Y", "int32", "(x[b, i // 32, j // 64] >= 1) & (x[b, 0, j // 64] != 2)"),
    "keys outermost": ("Y X N", "bool", "x[j // 64, i // 32, n]"),
}
SIZES = {"B": 2, "N": 4, "X": 7, "Y": 4}


def prompts(folder: Path, layout: str, dtype: str, visible: str) -> Operator:
    file = folder / "small_blocks.py"
    file.write_text(SPEC.format(layout=layout, dtype=dtype, visible=visible))
    return load_file(file)


def prompt_call(layout: str, dtype: str, s: int = 200) -> dict[str, Any]:
    shape, rng = [SIZES[name] for name in layout.split()], np.random.default_rng(4)
    x = rng.integers(0, 3 if dtype == "int32" else 2, shape).astype(dtype)
    return {"query": halves(2, 4, s, 32), "key": halves(2, 2, s, 32), "value": halves(2, 2, s, 32), "x": x}


@pytest.mark.parametrize(
    ("visible", "by_place"),
    [("x[i // 32, j // 64]", False), ("x[i // 32, j // 64] & (j % 3 == i % 3)", True)],
)
def test_places_of_keys_are_numbered_for_tests_that_look_at_them(
    tmp_path: Path, visible: str, by_place: bool
) -> None:
    op = prompts(tmp_path, "X Y", "bool", visible)
    program = compile_operator(op, Specialization(dtype="float16", padded_head_size=32)).program
    numbered = [item.dst.buffer.name for item in program.statements() if isinstance(item, LaneNumbers)]
    assert ("keyPlaces" in numbered) == by_place
    assert ("keyPlaces" in {each.name for each in program.buffers()}) == by_place


@pytest.mark.parametrize("name", CONDITIONS)
def test_blocks_hide_what_they_say(tmp_path: Path, name: str) -> None:
    layout, dtype, visible = CONDITIONS[name]
    assert_computes(prompts(tmp_path, layout, dtype, visible), "tile", **prompt_call(layout, dtype))


@pytest.mark.parametrize("name", ["of each head", "that hide"])
def test_blocks_on_the_emulator(tmp_path: Path, name: str) -> None:
    layout, dtype, visible = CONDITIONS[name]
    assert_computes(prompts(tmp_path, layout, dtype, visible), "emulator", **prompt_call(layout, dtype))


TILES = 5
BODY = (
    "s = (attend.scores(query, attend.rows(key)) * 0.2).where(x[b, j // 64])",
    DECODE_RESULT,
)
DECLARED = 'Y, = op.dims("Y")\nx = op.input("x", "B Y", dtype="bool", indexed=True)'


@pytest.mark.parametrize("splits", [1, 2])
def test_only_tiles_that_a_row_sees_are_loaded(tmp_path: Path, splits: int) -> None:
    """Of two batch rows with two key/value heads: 2 tiles of the first, none of the second."""
    op = decode_spec(tmp_path, *BODY, declared=DECLARED, schedule=f"tile_k=64, split_kv={splits}")
    call, seen = decode_call(t=64 * TILES - 20), np.zeros((2, TILES), bool)
    seen[0, [1, 4]] = True
    assert key_loads(op, {**call, "x": seen}) == 2 * 2
    assert key_loads(op, {**call, "x": ~seen}) == 2 * (3 + TILES)
    assert_computes(op, "tile", **call, x=seen)


def test_what_hidden_tiles_hold_is_not_computed_with(tmp_path: Path) -> None:
    op = decode_spec(tmp_path, *BODY, declared=DECLARED, schedule="tile_k=64")
    call, seen = decode_call(t=64 * TILES), np.arange(TILES) % 2 == np.array([[0], [1]])
    want = op(**call, x=seen, precision="float64")
    for name in ("key", "value"):
        hidden = np.repeat(~seen, 64, axis=1)[:, None, :, None]
        call[name] = np.where(hidden, np.float16(np.nan), call[name])
    for backend in ("tile", "emulator"):
        np.testing.assert_allclose(op(**call, x=seen, backend=backend), want, rtol=0, atol=4e-3)


def test_items_with_more_tiles_than_a_core_numbers_are_split(tmp_path: Path) -> None:
    op = decode_spec(tmp_path, *BODY, declared=DECLARED, schedule="tile_k=64, split_kv=1")
    call, seen = decode_call(1, 1, 1, 64 * 1100, 16), np.zeros((1, 1100), bool)
    seen[0, [0, 600, 1099]] = True
    assert_computes(op, "tile", **call, x=seen)


def test_another_divisor_or_place_is_refused(tmp_path: Path) -> None:
    op = prompts(tmp_path, "B X Y", "bool", "x[b, i // 32, (j + 1) // 64]")
    with pytest.raises(NotLowered, match=r"or a block of keys, as in x\[b, i // 64, j // 64\]"):
        op(**prompt_call("B X Y", "bool"), backend="tile")
