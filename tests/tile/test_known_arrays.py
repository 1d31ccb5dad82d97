"""Arrays of an instruction are made once a place and slot of its regions; no others are taken for them."""

from __future__ import annotations

import numpy as np

from attndsl.expr import Symbol, as_expr
from attndsl.target import Core
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import LoadRows, StoreRows, WithScalar
from attndsl.tile.program import BLOCK_INDEX, SUB_BLOCK
from attndsl.tile.statements import Alloc, For, If, Let, Stage, seq
from attndsl.tile_interpreter.run import interpret

from .bench import buffer
from .programs import launch, made

ROWS, WIDTH, PLACES, SLOTS = 24, 16, 3, 2
NUMBERS = GlobalTensor(name="numbers", dtype="float32", role="input")
SCALED = GlobalTensor(name="scaled", dtype="float32", role="output")
ROW, PLACE, AT = Symbol("row"), Symbol("place"), Symbol("at")


def _scaled_rows():
    """Each row by its number, in one of three places of one of two slots."""
    lines = buffer("lines", "float32", PLACES * WIDTH, slots=SLOTS)
    region = lines.region(AT, 1, WIDTH)
    work = seq(
        LoadRows(dst=region, src=NUMBERS.region(ROW * WIDTH, 1, WIDTH)),
        WithScalar(op="Muls", dst=region, src=region, scalar=ROW),
        StoreRows(dst=SCALED.region(ROW * WIDTH, 1, WIDTH), src=region),
    )
    body = seq(
        Let(symbol=PLACE, value=ROW % PLACES),
        Let(symbol=AT, value=PLACE * WIDTH),  # in a row with the one that it reads
        Alloc(buffers=(lines,), body=work),
    )
    rows = Stage(
        name="Scale", core=Core.AIV, doc="Scales rows.", body=seq(For(var=ROW, end=as_expr(ROWS), body=body))
    )
    return seq(If(condition=(SUB_BLOCK == 0) & (BLOCK_INDEX == 0), then=seq(rows)))


def test_arrays_are_made_once_a_place_and_slot(monkeypatch):
    found = []
    made_before = WithScalar.arrays
    monkeypatch.setattr(
        WithScalar, "arrays", lambda item, core: found.append(core.scalars["row"]) or made_before(item, core)
    )
    numbers = np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype(np.float32)
    given = {"numbers": numbers, "scaled": np.zeros_like(numbers)}
    run = launch(made(_scaled_rows(), (NUMBERS, SCALED)), given)
    interpret(run)
    assert found == list(range(PLACES * SLOTS)), "rows behind them are in the same places and slots"
    assert np.array_equal(run.arguments["scaled"], numbers * np.arange(ROWS, dtype=np.float32)[:, None])
