"""Kernels whose tasks have halves compute the rows of a step's half once, in one function."""

from __future__ import annotations

import re
from functools import lru_cache

from attndsl.api import ops
from attndsl.codegen.kernel.half_rows import half_rows
from attndsl.codegen.kernel.item_decoding import item_decodings
from attndsl.codegen.names.members import scalar
from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.lowering.emit.loop_scalars import HALF, HALF_MEANINGS
from attndsl.lowering.signature.specialization import Specialization


@lru_cache
def compiled() -> Compiled:
    special = Specialization(
        dtype="float16",
        padded_head_size=128,
        padded_value_size=128,
        features=frozenset({"key", "value"}),
    )
    return compile_operator(ops.self_attention, special)


def source(kernel: Compiled) -> str:
    return device_files([kernel])[kernel_path(kernel)]


def test_the_rows_of_a_half_are_computed_in_one_function() -> None:
    text = source(compiled())
    (body,) = re.findall(r"inline Half HalfOf\(const Item &work, .*?\n    \}\n", text, re.DOTALL)
    assert text.count("step % work.halves") == body.count("found.halfOfTask = step % work.halves;") == 1
    assert text.count("MinOf(subBlock_ * rowsPerCore, ") == 1
    program = compiled().program
    found = half_rows(program, item_decodings(program))
    (struct,) = re.findall(r"struct Half \{\n(.*?)\n    \};", text, re.DOTALL)
    assert [line.split()[1] for line in struct.splitlines()] == [
        f"{scalar(symbol)};" for symbol in found.members
    ]
    assert {symbol.name for symbol in found.members} <= HALF_MEANINGS.keys()
    assert any(symbol.same(HALF) for symbol in found.members)


def test_stages_take_the_half_of_their_step() -> None:
    """Of an earlier step in a branch that asks whether there is one: before, its item is none."""
    text = source(compiled())
    assert text.count("const Half taskHalf = HalfOf(work, step, itemSlot);") == 2, "one a core"
    earlier = "const Half earlierHalf = HalfOf(earlierWork, earlier.step, earlier.itemSlot);"
    assert text.count(earlier) == 2
    for part in text.split(earlier)[:2]:
        assert part.rpartition("\n                if (")[2].startswith("stepsBegun_ > kPrefetch")
    assert "SoftmaxTile(work, taskHalf, step, slot);" in text
    assert "WriteRows(earlierWork, earlierHalf, earlier.step);" in text


def test_tasks_without_halves_have_no_such_function() -> None:
    special = Specialization(dtype="float16", padded_head_size=64)
    kernel = compile_operator(ops.incre_flash_attention, special)
    assert not half_rows(kernel.program, item_decodings(kernel.program)).members
    assert "Half" not in source(kernel)
