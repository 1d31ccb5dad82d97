"""An instruction says itself which elements it touches; the check of disjoint loops goes by that alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attndsl.expr import as_expr
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Fill, LoadFractals, LoadNz, Machine
from attndsl.tile.instructions.base import Indices
from attndsl.tile_interpreter.disjoint_check import touched_elements

from .bench import Bench, buffer, tensor

UB = buffer("ub", "float32", 64)
L1, L0A = (buffer(space.value, "float16", 2048, space) for space in (MemorySpace.L1, MemorySpace.L0A))


@dataclass(frozen=True, eq=False, kw_only=True)
class FillEveryOther(Fill):
    """An instruction with a way of its own to lie in memory."""

    def touched(self, machine: Machine) -> Iterator[tuple[Buffer, Indices]]:
        for target, indices in super().touched(machine):
            yield target, indices[::2]


def touched(item, target: Buffer) -> list[int]:
    return np.flatnonzero(touched_elements(item, target, Bench())).tolist()


def test_rows_of_a_region():
    fill = Fill(dst=UB.region(8, 2, 3, 16), value=as_expr(0))
    assert touched(fill, UB) == [8, 9, 10, 24, 25, 26]
    assert touched(fill, buffer("other", "float32", 64)) == []


def test_an_instruction_may_lie_otherwise():
    assert touched(FillEveryOther(dst=UB.region(8, 1, 6), value=as_expr(0)), UB) == [8, 10, 12]


def test_fractals_lie_apart_at_the_source_alone():
    load = LoadFractals(
        dst=L0A.region(256), src=L1.region(512), repeat=as_expr(2), src_stride=as_expr(3)
    )  # fmt: skip
    assert touched(load, L1) == [*range(512, 768), *range(512 + 3 * 256, 768 + 3 * 256)]
    assert touched(load, L0A) == list(range(256, 768))


def test_rows_of_several_matrices_interleave():
    source = tensor("gm", "float16").region(0, 1, 16, 16)
    load = LoadNz(
        dst=L1.region(), src=source, padded_rows=as_expr(16), matrices=as_expr(2),
        src_matrix_pitch=as_expr(16), matrix_step=as_expr(4),
    )  # fmt: skip
    assert touched(load, L1) == [*range(16), *range(64, 80)]
