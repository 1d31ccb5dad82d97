"""Stages of two attentions that differ in a part are one stage with a branch there."""

from __future__ import annotations

from attndsl.expr import Const, Expr, Scope, Symbol
from attndsl.lowering.common_stages import common_stage
from attndsl.target import Core, MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.comparison import Comparison
from attndsl.tile.instructions import LoadRows
from attndsl.tile.statements import For, If, Let, Stage, Statement, seq

OVER, ROW, HEAD, UNREAD = (Symbol(name) for name in ("overKey", "row", "head", "unread"))
UB = Buffer(name="rows", space=MemorySpace.UB, dtype="float32", size=Const(64))
KEY, SHARE, TABLE = (
    GlobalTensor(name=name, dtype="float32", role="input") for name in ("key", "keyShare", "table")
)


def load(tensor: GlobalTensor, offset: Expr | int = 0) -> LoadRows:
    return LoadRows(dst=UB.region(0, 1, 64), src=tensor.region(offset, 1, 64))


def rows(*body: Statement) -> For:
    return For(var=ROW, end=Const(8), body=seq(*body))


def stage(name: str, *body: Statement) -> Stage:
    return Stage(name=f"WriteRowsFor{name}", core=Core.AIV, doc="Rows.", body=seq(*body), attention_name=name)


def common(first: list[Statement], second: list[Statement]) -> Stage | None:
    return common_stage(OVER, stage("Key", *first), stage("KeyShare", *second))


def test_the_branch_stands_where_they_differ_with_the_scalars_of_one_side() -> None:
    head, both, behind = Let(symbol=HEAD, value=ROW * 2), load(TABLE, ROW), load(TABLE, 3)
    own, share = load(KEY, HEAD), rows(load(SHARE, ROW), load(SHARE))
    found = common([rows(head, both, own, behind)], [rows(both, share, behind)])
    assert found is not None and (found.name, found.attention_name) == ("WriteRows", "")
    (loop,) = found.body.body
    assert isinstance(loop, For)
    first, branch, last = loop.body.body
    assert first is both and last is behind
    assert isinstance(branch, If) and branch.condition.same(OVER) and branch.otherwise is not None
    assert Comparison().same(branch.then, seq(head, own))
    assert Comparison().same(branch.otherwise, seq(share))


def test_a_stage_that_does_all_of_the_other_and_more_stays_one_of_two() -> None:
    both, more = load(TABLE, ROW), load(SHARE)
    assert common([rows(both)], [rows(both, more)]) is None
    assert common([rows(both, more)], [rows(both)]) is None


def test_stages_that_are_alike_but_for_operands_stay_two() -> None:
    """They become one function that takes the operands; a scalar that nobody reads tells nothing apart."""
    stride, other = (Symbol(name, Scope.TILING) for name in ("strideKey", "strideKeyShare"))
    unread = Let(symbol=UNREAD, value=ROW * 2)
    assert common([rows(unread, load(KEY, ROW * stride))], [rows(load(SHARE, ROW * other))]) is None


def test_stages_that_have_no_work_in_common_stay_two() -> None:
    first = Let(symbol=HEAD, value=Const(2))
    assert common([first, load(KEY, HEAD)], [first, rows(load(SHARE, HEAD), load(TABLE))]) is None
