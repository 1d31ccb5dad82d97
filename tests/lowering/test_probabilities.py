"""Probabilities that travel as fractals: the same results, in another order of the workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.compiler.prepare_launch import prepare
from attndsl.execute import execute
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.lowering.match.shrink_schedule import smaller
from attndsl.reference import run as reference
from attndsl.spec.operator.loader import load_file
from attndsl.target import MemorySpace
from attndsl.tile.instructions import ConvertToNz, LoadBlocks, LoadNz
from attndsl.tile_interpreter import run as tile
from tests.support.authored import call_of, with_schedule
from tests.support.builders import room
from tests.support.selection_cases import arguments as selecting_arguments

from .dequantized_calls import BF16, decoding
from .small_int8 import PLAIN, SPEC, agrees, arguments

SIZES = [
    (1, 700, {"tile_k": 512}),
    (27, 17, {"tile_k": 128, "rows": 8}),
    (40, 300, {"tile_k": 192, "rows": 16, "base_k": 64}),
    (250, 700, {"max_rows": 256}),
    (130, 1100, {"max_rows": 256, "rows": 32, "tile_k": 256}),
]


@pytest.mark.sweep(fast=2)
@pytest.mark.parametrize(("group", "keys", "stated"), SIZES)
def test_fractals_give_what_rows_give(group: int, keys: int, stated: dict[str, Any], tmp_path: Path) -> None:
    """Rows that fill no fractal, key tiles that end within a fractal, and bands of rows."""
    found: dict[str, list[Any]] = {"tile": [], "emulator": []}
    for layout in ("rows", "fractals"):
        operator = with_schedule(tmp_path, prob_layout=layout, **stated)
        call = call_of(operator, group=group, keys=keys, head_dim=48)
        launch = prepare(call)
        assert launch.compiled.schedule.prob_layout == layout
        tile.interpret(launch)
        (out,) = execute.run(call, cores=2)  # raises for findings
        found["tile"].append(launch.outputs()[0])
        found["emulator"].append(out)
    for rows, fractals in found.values():
        np.testing.assert_array_equal(rows, fractals)
        np.testing.assert_allclose(rows.astype(float), reference.run(call)[0].astype(float), atol=2**-8)


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_int8_probabilities_as_fractals(backend: str, tmp_path: Path) -> None:
    file = tmp_path / "small_int8.py"
    file.write_text(SPEC.format(**PLAIN) + 'op.schedule(prob_layout="fractals")\n')
    operator = load_file(file)
    call = operator.bind(**arguments())
    compiled = prepare(call).compiled
    assert {"float16", "int8"} >= {item.dst.buffer.dtype for item in to_nz(compiled)} == {"int8"}
    agrees(operator(**arguments(), backend=backend), operator(**arguments(), precision="float64"))


def to_nz(compiled: Any) -> list[ConvertToNz]:
    return [item for item in compiled.program.instructions() if isinstance(item, ConvertToNz)]


def loads_of_probabilities(compiled: Any) -> set[type[Any]]:
    return {
        type(item)
        for item in compiled.program.instructions()
        if isinstance(item, LoadNz | LoadBlocks) and item.dst.buffer.name == "probL1"
    }


@pytest.mark.parametrize(("layout", "kind"), [("rows", LoadNz), ("fractals", LoadBlocks)])
def test_the_cube_copies_fractals_as_they_are(layout: str, kind: type[Any], tmp_path: Path) -> None:
    operator = with_schedule(tmp_path, prob_layout=layout)
    assert loads_of_probabilities(prepare(call_of(operator, group=40, keys=300)).compiled) == {kind}


@pytest.mark.parametrize("tile_k", [128, 512])
def test_rounding_to_fractals_meets_no_bank_twice(tile_k: int, tmp_path: Path) -> None:
    """A repeat writes blocks an odd number of blocks apart, and to another bank than it reads."""
    operator = with_schedule(tmp_path, prob_layout="fractals", tile_k=tile_k)
    compiled = prepare(call_of(operator, group=40, keys=600, head_dim=512)).compiled
    program = compiled.program
    span, addresses = program.device.architecture.bank_span, program.addresses
    for item in to_nz(compiled):
        assert int(item.dst.pitch.evaluate({})) // 16 % 2 == 1
        dst, src = item.dst.buffer, item.src.buffer
        assert dst.space is src.space is MemorySpace.UB
        ends = [addresses[each] + each.slots * program.slot_stride(each) - 1 for each in (dst, src)]
        banks = [
            set(range(addresses[each] // span, end // span + 1))
            for each, end in zip((dst, src), ends, strict=True)
        ]
        assert banks[0].isdisjoint(banks[1])


def test_sums_of_rounded_probabilities_need_rows(tmp_path: Path) -> None:
    """They are read again as they stand; without an offset of values sums are those of exponentials."""
    operator = with_schedule(tmp_path, prob_layout="fractals")
    plain = decoding(np.random.default_rng(0), BF16)
    assert loads_of_probabilities(prepare(operator.bind(**plain)).compiled) == {LoadBlocks}
    shifted = decoding(np.random.default_rng(0), BF16, offset=(-3.0, 3.0))
    with pytest.raises(IllegalScheduleValue, match=r'prob_layout=.*"rows" where sums of rows are those'):
        prepare(operator.bind(**shifted))
    assert ops.incre_flash_attention(**shifted, backend="tile").shape


def test_prompts_take_fractals_where_the_cube_waits_for_copies() -> None:
    """With 64 channels vector cores limit a prompt; decoding has few rows; a mask may leave no room.
    Where blocks are selected, copies limit any number of channels."""
    prompts = ops.self_attention.mode_named("PA_ENCODER")

    def layout(size: int, rows: int = 300, **more: Any) -> str:
        tokens = np.zeros((rows, 2, size), np.float16)
        call = prompts.bind(
            query=tokens, key=tokens, value=tokens, seqLen=np.array([rows], np.int32), headNum=2, **more
        )
        return prepare(call).compiled.schedule.prob_layout

    assert layout(128) == "fractals"
    assert layout(64) == "rows"
    mask = np.zeros((1, 300, 300), np.float16)
    assert layout(128, mask=mask, maskType="NORM") == "rows"
    decoding_call = call_of(ops.incre_flash_attention, keys=300, group=4, head_dim=128)
    assert prepare(decoding_call).compiled.schedule.prob_layout == "rows"
    selecting = prepare(ops.nsa_compress_attention.bind(**selecting_arguments([4], [90], group=4)))
    assert selecting.compiled.schedule.prob_layout == "fractals"
    assert selecting.compiled.schedule.few_keys == "auto"


def test_what_does_not_fit_travels_as_rows_first() -> None:
    full = Schedule(max_rows=256, prob_layout="fractals")
    assert smaller(full, room()) == replace(full, prob_layout="rows")
    one_half = replace(full, halves="none")
    assert smaller(full, room("prob_layout", "fractals")) == one_half
    assert smaller(one_half, room("prob_layout", "fractals")) == replace(one_half, max_rows=128)
    assert smaller(one_half, room("query_slots"), "L1") == replace(one_half, max_rows=128)
