"""Rows beside scores that all heads of a position share: loaded once, and copied for each head."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from attndsl.tile.instructions import LoadRows
from tests.support.small_specs import assert_computes, halves

SPEC = """
from attndsl.spec import attend, Operator
op = Operator("small_bias", summary="Prompts with a bias.")
B, N, K, S, T, D = op.dims("B N K S T D")
op.axes(B=B, N=N, K=K, Q=S, T=T, D=D, E=D)
query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
bias = op.input("bias", "{layout}", dtype={dtype}, {how})
op.require(N % K == 0, "a multiple", argument="query")
op.schedule(tile_k=128, rows=8)
b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
s = attend.scores(query, attend.rows(key)) * 0.2 + {bias}
op.output("out", attend.softmax(s) @ attend.rows(value), like=query)
"""
SIZES = {"B": 2, "S": 21, "T": 150}
ROWS = {
    "of all batch rows": ("S T", "query", 'axes="Q T"', "bias"),
    "of a batch row": ("B S T", "query", 'axes="B Q T"', "bias"),
    "in fp32": ("B S T", '"float32"', 'axes="B Q T"', "bias"),
    "by index": ("B S T", "query", "indexed=True", "bias.at(b, i, j) * 0.5"),
    "of each head": ("B N S T", "query", 'axes="B N Q T"', "bias"),
    "of each head by index": ("N S T", "query", "indexed=True", "bias.at(n, i, j)"),
}


def biased(folder: Path, kind: str) -> Operator:
    layout, dtype, how, bias = ROWS[kind]
    file = folder / "small_bias.py"
    file.write_text(SPEC.format(layout=layout, dtype=dtype, how=how, bias=bias))
    return load_file(file)


@pytest.mark.sweep(fast=6)
@pytest.mark.parametrize("group", [1, 2, 3])
@pytest.mark.parametrize("kind", ROWS)
def test_rows_reach_every_head(tmp_path: Path, kind: str, group: int) -> None:
    """With three heads a step of 8 rows begins and ends between those of a position."""
    heads = 2 * group
    layout, dtype, _, _ = ROWS[kind]
    bias = halves(*({**SIZES, "N": heads}[axis] for axis in layout.split()))
    call = {"query": halves(2, heads, 21, 32), "key": halves(2, 2, 150, 32), "value": halves(2, 2, 150, 32)}
    assert_computes(
        biased(tmp_path, kind), "tile", **call, bias=bias.astype("float32" if "32" in dtype else "float16")
    )


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("kind", ROWS)
def test_heads_share_a_load(tmp_path: Path, kind: str) -> None:
    """A load has a row for each position of the step, however many heads; of rows by head it has not."""
    special = Specialization(dtype="float16", padded_head_size=32)
    program = compile_operator(biased(tmp_path, kind), special).program
    found = [each for each in program.instructions() if isinstance(each, LoadRows)]
    loads = [each for each in found if each.src.tensor.name == "bias"]
    shared = ["heads" in each.src.rows.symbols() for each in loads]
    assert shared == ([False, False] if "head" in kind else [True])


def test_rows_that_heads_share_are_right_in_the_kernel(tmp_path: Path) -> None:
    call = {"query": halves(1, 6, 21, 32), "key": halves(1, 2, 70, 32), "value": halves(1, 2, 70, 32)}
    assert_computes(biased(tmp_path, "of a batch row"), "emulator", **call, bias=halves(1, 21, 70))
