"""Tensors that scores use twice, or that only some attentions of a merge use."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.errors import GraphError
from attndsl.spec.operator.operator import Operator
from attndsl.tile.instructions import LoadRows
from tests.support.small_specs import (
    DECODE_RESULT,
    DECODE_SCORES,
    PACKED_RESULT,
    assert_computes,
    decode_call,
    decode_spec,
    halves,
    packed_call,
    packed_spec,
)

BIAS = 'bias = op.input("bias", "B N T", dtype=query, axes="B N T")'
MASK = 'mask = op.input("mask", "B T", dtype="uint8", axes="B T")'
SECOND = """
key2 = op.input("key2", "B K T D", dtype=query, axes="B K T D")
value2 = op.input("value2", "B K T D", dtype=query, axes="B K T E")
def part(k, v, change):
    return attend.softmax(change(attend.scores(query, attend.rows(k)) * 0.2)) @ attend.rows(v)
"""
TWICE = {
    "bias": (BIAS, "s = (s + bias).where(j < T - 9) + bias"),
    "mask": (MASK, "s = (s.replace(mask, -5.0) * 0.5).replace(mask, -1e9)"),
}
MERGES = {
    "bias of one": ("lambda s: s + bias", "lambda s: s"),
    "mask of one": ("lambda s: s.replace(mask, -1e9)", "lambda s: s"),
    "in another order": (
        "lambda s: s.replace(mask, -1e9) + bias",
        "lambda s: (s + bias).replace(mask, -3.0)",
    ),
    "one and both": ("lambda s: s + bias", "lambda s: s.replace(mask, -1e9) + bias"),
}


def operands(*names: str) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    made = {"bias": halves(2, 4, 300), "mask": (rng.random((2, 300)) < 0.5).astype(np.uint8)}
    return {name: made[name] for name in names}


@pytest.mark.sweep(fast=2)
@pytest.mark.parametrize("backend", ["tile", "emulator"])
@pytest.mark.parametrize("kind", TWICE)
def test_used_twice(tmp_path: Path, kind: str, backend: str) -> None:
    declared, change = TWICE[kind]
    op = decode_spec(tmp_path, DECODE_SCORES, change, DECODE_RESULT, declared=declared)
    assert_computes(op, backend, **decode_call(), **operands(kind))
    program = compile_operator(op, Specialization(dtype="float16", padded_head_size=32)).program
    loads = [each for each in program.instructions() if isinstance(each, LoadRows)]
    assert sum(each.src.tensor.name == kind for each in loads) == 1


DIFFERENCES = {
    "a literal": "attend.minimum(s - 0.25, 0.3)",
    "a float": "attend.minimum(s - w, 0.3)",
    "a number of each head": "attend.minimum(s - slope, 0.3)",
    "the scores of another sign": "-s",
    "both": "attend.minimum(-(s - 0.25) - w, 0.3)",
    "under a mask": "(-s).where(j < T - 9) - w",
}


@pytest.mark.sweep(fast=5)
@pytest.mark.parametrize("backend", ["tile", "emulator"])
@pytest.mark.parametrize("kind", DIFFERENCES)
def test_differences_and_negatives(tmp_path: Path, kind: str, backend: str) -> None:
    """What is cut at 0.3 shows in the result, as nothing that shifts all scores of a row does."""
    used, declared = DIFFERENCES[kind], {}
    declared["w"] = 'w = op.param("w", float, default=0.75)'
    declared["slope"] = 'slope = op.input("slope", "N", dtype="float32")'
    lines = "\n".join(line for name, line in declared.items() if name in used)
    op = decode_spec(tmp_path, DECODE_SCORES, f"s = {used}", DECODE_RESULT, declared=lines)
    more = {"slope": np.array([0.5, -0.25, 1.5, 0.125], np.float32)} if "slope" in used else {}
    assert_computes(op, backend, **decode_call(), **more)


@pytest.mark.parametrize("mode", [0, 1])
def test_numbers_that_differ_in_their_last_digits_have_kernels_of_their_own(
    tmp_path: Path, mode: int
) -> None:
    hide = "hidden = attend.condition(j < 5)\ns = s * 0.0 + 1000001.0"
    change = "s = attend.when(mode == 1, s.replace(hidden, 1000002.0), s.replace(hidden, 1000001.0))"
    declared = 'mode = op.param("mode", int, default=0, ge=0, le=1)'
    op = decode_spec(tmp_path, DECODE_SCORES, hide, change, DECODE_RESULT, declared=declared)
    assert_computes(op, "tile", **decode_call(t=20), mode=mode)


def test_two_readings_of_one_tensor_are_refused(tmp_path: Path) -> None:
    declared = 'rel = op.input("rel", "N T", dtype=query, indexed=True)'
    special = Specialization(dtype="float16", padded_head_size=32)
    same, other = (
        decode_spec(
            tmp_path,
            DECODE_SCORES,
            f"s = s + rel.at(n, j) + rel.at({i}, j)",
            DECODE_RESULT,
            declared=declared,
        )
        for i in ("n", "0")
    )
    compile_operator(same, special)
    with pytest.raises(NotLowered, match="beside other elements of the same tensor"):
        compile_operator(other, special)


def masked(folder: Path, axes: str) -> Operator:
    """A byte mask over some axes of decoding scores."""
    declared = f'mask = op.input("mask", "{axes.replace("Q", "1")}", dtype="uint8", axes="{axes}")'
    return decode_spec(folder, DECODE_SCORES, "s = s.replace(mask, -1e9)", DECODE_RESULT, declared=declared)


@pytest.mark.parametrize("axes", ["T", "B T"])
def test_byte_masks_of_all_rows(tmp_path: Path, axes: str) -> None:
    mask = operands("mask")["mask"]
    assert_computes(masked(tmp_path, axes), "tile", **decode_call(), mask=mask if "B" in axes else mask[0])


SIZES = {"B": 2, "N": 4, "K": 2, "T": 300}


@pytest.mark.sweep(fast=8)
@pytest.mark.parametrize("visible", ["mask", "~mask", "mask == 0", "mask != 0"])
@pytest.mark.parametrize("axes", ["N T", "B K T", "B N", "B", "T"])
def test_byte_masks_of_any_axes_in_either_polarity(tmp_path: Path, axes: str, visible: str) -> None:
    declared = f'mask = op.input("mask", "{axes}", dtype=("bool", "uint8"), axes="{axes}", optional=True)'
    op = decode_spec(tmp_path, DECODE_SCORES, f"s = s.where({visible})", DECODE_RESULT, declared=declared)
    made = np.random.default_rng(3).random([SIZES[axis] for axis in axes.split()]) < 0.5
    assert_computes(op, "tile", **decode_call(), mask=made)
    whole = op(**decode_call(), mask=np.full_like(made, "~" not in visible and "==" not in visible))
    assert np.isfinite(whole.astype(float)).all() and whole.any()


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("axes", ["S N T", "N Q T", "B N Q T", "S", "Q", "S T"])
def test_byte_masks_of_packed_rows(tmp_path: Path, axes: str) -> None:
    sizes = {"B": ("B", 2), "N": ("N", 4), "S": ("T1", 13), "Q": ("S1", 9), "T": ("S2", 150)}
    layout = " ".join(sizes[axis][0] for axis in axes.split())
    declared = f'mask = op.input("mask", "{layout}", dtype="bool", axes="{axes}")'
    op = packed_spec(tmp_path, "s = s.where(mask)", PACKED_RESULT, declared=declared)
    made = np.random.default_rng(4).random([sizes[axis][1] for axis in axes.split()]) < 0.6
    assert_computes(op, "tile", **packed_call([4, 9], [150, 70]), mask=made)


@pytest.mark.parametrize("axes", ["T", "B T", "K T", "B K T"])
def test_tensors_of_keys_that_query_heads_share_are_added_whole(tmp_path: Path, axes: str) -> None:
    declared = f'bias = op.input("bias", "{axes}", dtype="float32", axes="{axes}")'
    op = decode_spec(tmp_path, DECODE_SCORES, "s = s + bias", DECODE_RESULT, declared=declared)
    made = np.random.default_rng(5).standard_normal([SIZES[axis] for axis in axes.split()])
    assert_computes(op, "tile", **decode_call(), bias=made.astype(np.float32))


@pytest.mark.parametrize("axes", ["Q T", "B Q T", "S T", "K Q T"])
def test_tensors_of_positions_and_keys_are_added_whole(tmp_path: Path, axes: str) -> None:
    sizes = {"B": ("B", 2), "K": ("K", 2), "S": ("T1", 13), "Q": ("S1", 9), "T": ("S2", 150)}
    layout = " ".join(sizes[axis][0] for axis in axes.split())
    declared = f'bias = op.input("bias", "{layout}", dtype=query, axes="{axes}")'
    op = packed_spec(tmp_path, "s = s + bias", PACKED_RESULT, declared=declared)
    made = np.random.default_rng(6).standard_normal([sizes[axis][1] for axis in axes.split()])
    assert_computes(op, "tile", **packed_call([4, 9], [150, 70]), bias=made.astype(np.float16))


@pytest.mark.parametrize("axes", ["N T", "B N"])
def test_byte_masks_of_rows_on_the_emulator(tmp_path: Path, axes: str) -> None:
    declared = f'mask = op.input("mask", "{axes}", dtype="bool", axes="{axes}")'
    op = decode_spec(tmp_path, DECODE_SCORES, "s = s.where(mask)", DECODE_RESULT, declared=declared)
    made = np.random.default_rng(3).random([SIZES[axis] for axis in axes.split()]) < 0.5
    assert_computes(op, "emulator", **decode_call(), mask=made)


def test_byte_masks_of_other_axes_are_refused(tmp_path: Path) -> None:
    declared = 'J = op.dims("J")[0]\nop.axes(J=J)\nmask = op.input("mask", "J T", dtype="bool", axes="J T")'
    op = decode_spec(tmp_path, DECODE_SCORES, "s = s.where(mask)", DECODE_RESULT, declared=declared)
    with pytest.raises(NotLowered, match=r"over \(J, T\), mask, .* any of the axes B, S, N, K, Q and T"):
        compile_operator(op, Specialization(dtype="float16", padded_head_size=32))


@pytest.mark.parametrize(
    ("visible", "words"),
    [
        ("mask & (j < 4)", r"write s\.where\(a\)\.where\(b\)"),
        ("mask | (j < 4)", "write both sides as conditions on indices"),
        ("~(mask + 1)", "'~' is of a mask: a bool or integer input"),
    ],
)
def test_how_masks_are_joined(tmp_path: Path, visible: str, words: str) -> None:
    declared = 'mask = op.input("mask", "B T", dtype="bool", axes="B T")'
    with pytest.raises(GraphError, match=words):
        decode_spec(tmp_path, DECODE_SCORES, f"s = s.where({visible})", DECODE_RESULT, declared=declared)


def test_a_mask_that_is_read_by_index_is_refused_by_name(tmp_path: Path) -> None:
    declared = 'm = op.input("m", "B T", dtype="uint8", indexed=True)'
    change = "s = s.replace(m.at(b, j // 16), -1e9)"
    op = decode_spec(tmp_path, DECODE_SCORES, change, DECODE_RESULT, declared=declared)
    with pytest.raises(
        NotLowered, match=r"read by index, m\[b, j // 16\], .*; declare a mask in bytes .* with a column"
    ):
        compile_operator(op, Specialization(dtype="float16", padded_head_size=32))


@pytest.mark.parametrize("merge", MERGES)
def test_parts_of_a_merge_with_operands_of_their_own(tmp_path: Path, merge: str) -> None:
    first, second = MERGES[merge]
    result = f"attend.merge(part(key, value, {first}), part(key2, value2, {second}))"
    declared = "\n".join((BIAS, MASK, SECOND))
    op = decode_spec(tmp_path, f'op.output("out", {result}, like=query)', declared=declared)
    more = {"key2": halves(2, 2, 300, 32), "value2": halves(2, 2, 300, 32)}
    assert_computes(op, "tile", **decode_call(), **more, **operands("bias", "mask"))


def test_so_it_is_in_generated_code(tmp_path: Path) -> None:
    first, second = MERGES["in another order"]
    result = f"attend.merge(part(key, value, {first}), part(key2, value2, {second}))"
    declared = "\n".join((BIAS, MASK, SECOND))
    op = decode_spec(tmp_path, f'op.output("out", {result}, like=query)', declared=declared)
    more = {"key2": halves(2, 2, 300, 32), "value2": halves(2, 2, 300, 32)}
    assert_computes(op, "emulator", **decode_call(), **more, **operands("bias", "mask"))


def repeating(folder: Path, period: int, rows: str = "") -> Operator:
    declared = f"""
rel = op.input("rel", "N {period}", dtype=query, indexed=True)
valid = op.lengths("valid", "B", dtype="int32", one_for_all=False)"""
    scores = f"s = attend.scores(query, attend.rows(key{rows})) * 0.2 + rel.at(n, j % {period})"
    result = f'op.output("out", attend.softmax(s) @ attend.rows(value{rows}), like=query)'
    return decode_spec(folder, scores, result, declared=declared)


@pytest.mark.parametrize("backend", ["tile", "emulator"])
@pytest.mark.parametrize("period", [48, 16])
def test_columns_that_repeat(tmp_path: Path, period: int, backend: str) -> None:
    op = repeating(tmp_path, period, ", length=valid")
    assert_computes(op, backend, **decode_call(), rel=halves(4, period), valid=[300, 77])


@pytest.mark.parametrize(("period", "rows"), [(100, ""), (48, ", length=valid, start=valid[b] // 3")])
def test_columns_that_repeat_off_blocks_are_refused(tmp_path: Path, period: int, rows: str) -> None:
    with pytest.raises(NotLowered, match=r"rel\[n, j % \d+\], whose segments do not begin on blocks"):
        compile_operator(
            repeating(tmp_path, period, rows), Specialization(dtype="float16", padded_head_size=32)
        )
