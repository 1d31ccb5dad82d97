"""Sizes and parameters may have any name: that of a scalar, a buffer, a tensor or a field of the kernel."""

from pathlib import Path

import pytest

from attndsl.base.reserved_names import is_taken
from attndsl.compiler.compile import compile_operator
from attndsl.expr import Symbol
from attndsl.lowering.emit import loop_scalars
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.operator import Operator
from attndsl.tile.scalars import own_names
from tests.support.small_specs import PACKED_RESULT, assert_computes, packed_call, packed_spec

SCALARS = ["query_length", "first_token", "headTile", "tileTotal", "rowsPerCore", "c0", "step", "found"]
MEMBERS = ["score", "keyGm", "l1", "scoreSlot"]
FIELDS = [
    "blocks",
    "rowTotal",
    "headDim",
    "queryHeads",
    "workspaceBytes",
    "scoreRingOffset",
    "query_stride_n",
]


def spec(folder: Path, name: str) -> Operator:
    declared = f'{name} = op.param("{name}", int, default=3, ge=1)'
    return packed_spec(folder, f"s = s.where(i - j < {name})", PACKED_RESULT, declared=declared)


@pytest.mark.sweep(fast=6)
@pytest.mark.parametrize("name", SCALARS + MEMBERS + FIELDS)
def test_a_parameter_named_like_something_in_the_kernel(tmp_path: Path, name: str) -> None:
    assert_computes(spec(tmp_path, name), "tile", **packed_call([9, 5], [200, 130]), **{name: 7})


@pytest.mark.parametrize("name", ["tileTotal", "score"])
def test_so_it_is_in_generated_code(tmp_path: Path, name: str) -> None:
    assert_computes(spec(tmp_path, name), "emulator", **packed_call([9, 5], [200, 130]), **{name: 7})


def test_other_names_stay(tmp_path: Path) -> None:
    special = Specialization(dtype="float16", padded_head_size=32)
    fields = {
        name: {each.name for each in compile_operator(spec(tmp_path, name), special).program.tiling}
        for name in ("tileTotal", "myTotal")
    }
    assert "myTotal" in fields["myTotal"] and "tileTotalScalar" in fields["tileTotal"]


def test_names_of_its_own(tmp_path: Path) -> None:
    program = compile_operator(
        spec(tmp_path, "p"), Specialization(dtype="float16", padded_head_size=32)
    ).program
    assert {"tileTotal", "item", "score", "keyGm", "l1", "blockIndex"} <= own_names(program)
    assert not {"p", "blocks", "headDim"} & own_names(program)


@pytest.mark.parametrize("name", ["queries", "keyEnd", "rowBegin"])
def test_lengths_named_like_a_scalar(tmp_path: Path, name: str) -> None:
    declared = f'{name} = op.lengths("{name}", "B", dtype="int32", one_for_all=False)'
    op = packed_spec(tmp_path, f"s = s.where(j < {name}[b])", PACKED_RESULT, declared=declared)
    assert_computes(op, "tile", **packed_call([9, 5], [200, 130]), **{name: [100, 7]})


def test_no_scalar_of_kernels_has_the_name_of_a_type() -> None:
    """A scalar hides a type of AscendC's in all of its function: ``half(...)`` would call it."""
    scalars = [each.name for each in vars(loop_scalars).values() if isinstance(each, Symbol)]
    assert scalars and not [name for name in scalars if is_taken(name)]
    assert is_taken("half") and not is_taken("halfOfTask")
