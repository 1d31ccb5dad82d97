"""Kernels of a project whose finished programs are equal share a text; their keys and guards stay theirs."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from attndsl import ops
from attndsl.base.source_location import SourceLine
from attndsl.codegen.host.tiling_text import host_text
from attndsl.codegen.kernel.dtype_parameter import text_name
from attndsl.codegen.kernel.shared_texts import _name, shared_texts
from attndsl.codegen.kernel_set.kernel_list import kernel_list
from attndsl.codegen.kernel_set.tiling_keys import tiling_key
from attndsl.codegen.samples.device_files import device_files, kernel_path, text_path
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.lowering.match.schedule_options import RequiredOption
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.operator import Operator

NORM, ALIBI = 1, 2
MASKED = "op_kernel/self_attention_pa_encoder_d64_e64_value_mask.h"
LAYOUTS = {"per head": (0, 1), "per batch": (1, 0), "full": (1, 1)}


def encoder() -> Operator:
    return next(mode for mode in ops.self_attention.modes if mode.name == "self_attention_pa_encoder")


@lru_cache(maxsize=32)
def masked(mask_type: int, layout: str = "square", dtype: str = "float16", **more: Any) -> Compiled:
    settings = {"maskType": mask_type, **more}
    if dtype != "float16":
        settings["dtype(mask)"] = dtype
    if layout != "square":
        settings["layout(mask)"] = layout
    special = Specialization(
        dtype=dtype,
        padded_head_size=64,
        padded_value_size=64,
        features=frozenset({"mask", "value"}),
        settings=tuple(sorted(settings.items())),
    )
    return compile_operator(encoder(), special)


def test_layouts_with_heads_of_a_mask_that_is_added_are_one_program() -> None:
    kernels = (masked(ALIBI, "full"), masked(ALIBI, "per head"), masked(NORM, "full"))
    shared = shared_texts(kernels)
    assert len(shared.texts) == 1
    assert all(shared.of(each) is shared.texts[0] for each in kernels)
    names = [path for path in device_files(kernels) if "maskType" in path or "mask" in path]
    assert names == [MASKED, MASKED.replace(".h", "_schedule.h")]


@pytest.mark.parametrize(("value", "texts"), [(128, 1), (256, 2)], ids=["alike", "another value"])
def test_kernels_share_a_text_whatever_copy_of_the_spec_each_was_compiled_from(
    value: int, texts: int
) -> None:
    """A stored program tells lines of the file that it was compiled from; another value is another kernel."""

    def asking(compiled: Compiled, folder: str, number: int) -> Compiled:
        line = SourceLine(f"{folder}/self_attention.py", 560)
        return replace(compiled, required=(RequiredOption("tile_k", number, "a block of keys", line),))

    first, second = masked(ALIBI, "full"), masked(ALIBI, "per head")
    kernels = (asking(first, "/here", 128), asking(second, "/there", value))
    assert len(shared_texts(kernels).texts) == texts


def test_layouts_without_heads_share_a_program_that_loads_a_row_for_each_position() -> None:
    once, each_batch_row, each_head = masked(ALIBI), masked(ALIBI, "per batch"), masked(ALIBI, "per head")
    shared = shared_texts((once, each_batch_row, each_head))
    assert [text.first for text in shared.texts] == [once, each_head]
    assert shared.of(each_batch_row) is shared.of(once)


def test_a_text_is_named_by_what_its_kernels_share() -> None:
    (added,) = shared_texts((masked(ALIBI, "per head"), masked(NORM, "full"))).texts
    assert text_path(added) == MASKED, "not by the mask type of one of them"
    (alone,) = shared_texts((masked(ALIBI),)).texts
    assert text_path(alone) == kernel_path(masked(ALIBI))


def test_a_name_that_another_text_has_is_not_taken() -> None:
    added, full, multiplied = masked(ALIBI, "per head"), masked(NORM, "full"), masked(NORM)
    (shared,) = shared_texts((added, full)).texts
    assert _name((added, full), {shared.name}) == text_name(added)
    assert _name((added, full), {text_name(multiplied)}) == shared.name


def test_a_mask_that_is_multiplied_first_has_a_program_of_its_own() -> None:
    added, multiplied, too = masked(ALIBI), masked(NORM), masked(NORM, "per batch")
    shared = shared_texts((added, multiplied, too))
    assert [text.first for text in shared.texts] == [added, multiplied]
    assert shared.of(too) is shared.of(multiplied)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_axes_that_a_mask_lacks_have_the_stride_zero(layout: str) -> None:
    fields = {field.name: field.value for field in masked(ALIBI, layout).program.tiling}
    sizes = {"batch": 3, "headNum": 5, "maskRows": 7, "maskCols": 11}
    rows = 7 * 11
    batches, heads = LAYOUTS[layout]
    assert fields["maskStrideQ"].evaluate(sizes) == 11
    assert ("maskStrideN" in fields) is bool(heads), "a row for each position needs none"
    assert not heads or fields["maskStrideN"].evaluate(sizes) == rows
    assert fields["maskStrideB"].evaluate(sizes) == batches * (5 if heads else 1) * rows


def test_the_header_lists_what_each_kernel_is_specialised_on() -> None:
    kernels = (masked(ALIBI, "per head"), masked(NORM, "full"))
    text = device_files(kernels)[MASKED]
    head = text[: text.index("*/")]
    assert " *   with value, mask\n" in head
    each = " *     layout(mask) = full, maskType = NORM\n *     layout(mask) = per head, maskType = ALIBI\n"
    assert f" *   and one of\n{each} * Batch, heads" in head


def test_each_kernel_keeps_its_key_and_its_tiling() -> None:
    kernels = (masked(ALIBI, "full"), masked(ALIBI, "per head"), masked(NORM, "full"))
    keys = [tiling_key(each) for each in kernels]
    assert len(set(keys)) == 3
    listed = json.loads(kernel_list(kernels))["kernels"]
    assert [row["key"] for row in listed] == keys
    assert {row["file"] for row in listed} == {MASKED}
    host = host_text(kernels)
    branches = host.dispatch.branches
    assert len(host.schedules) == 1 and len(branches) == 3
    assert len({each.test for each in branches}) == 3, "a condition each"
    assert len({each.members for each in branches}) == 1, "what strides differ in follows from the layout"
    entry = device_files(kernels)["op_kernel/self_attention_pa_encoder_custom.cpp"]
    assert [key for key in keys if f"TILING_KEY_IS({key})" in entry] == keys
    assert entry.count("kernel.Run(") == 1, "kernels that take the same arguments have a branch"
    name = MASKED.removeprefix("op_kernel/")
    assert entry.count(f'#include "{name}"') == 1


def test_kernels_of_both_float_dtypes_share_as_each_does() -> None:
    kernels = (masked(ALIBI, "per head"), masked(ALIBI, "full"), masked(ALIBI, "full", "bfloat16"))
    assert len(shared_texts(kernels).texts) == 1
    alone = (masked(ALIBI, "full", "bfloat16"), masked(ALIBI, "per head", "bfloat16"))
    assert len(shared_texts(alone).texts) == 1


def test_another_schedule_or_program_is_another_text() -> None:
    first, second = masked(ALIBI, "full"), masked(ALIBI, "per head")
    other = replace(second, schedule=replace(second.schedule, ring=second.schedule.ring + 1))
    assert len(shared_texts((first, other)).texts) == 2
    buffer, address = next(iter(second.program.addresses.items()))
    moved = second.program.with_(addresses={**second.program.addresses, buffer: address + 32})
    assert len(shared_texts((first, replace(second, program=moved))).texts) == 2
