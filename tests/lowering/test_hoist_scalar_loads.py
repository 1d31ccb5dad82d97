"""Elements that are read again and again are read once; what may not hold is read where it stood."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.compiler.prepare_launch import prepare
from attndsl.expr import Const, Element, Expr, Load, Symbol, minimum, select
from attndsl.expr.reductions import Fold
from attndsl.lowering.hoist_scalar_loads import hoist_scalar_loads
from attndsl.tile.scalars import expressions, loads
from attndsl.tile.statements import For, Let, Seq, Statement, seq

B, N = Symbol("b"), Symbol("n")
LENGTH = Load("lengths", B)


def let(name: str, value: Expr) -> Let:
    return Let(symbol=Symbol(name), value=value)


def rows(*body: Statement, var: str = "row") -> For:
    return For(var=Symbol(var), end=N, body=seq(*body))


def text(tree: Statement) -> list[str]:
    return [f"{each.symbol} = {each.value}" for each in tree.walk() if isinstance(each, Let)]


def named(*body: Statement) -> list[str]:
    tree = seq(*body)
    assert isinstance(tree, Seq)
    return text(hoist_scalar_loads(tree))


def test_what_loops_inside_read_again_is_defined_in_front() -> None:
    found = named(let("end", minimum(LENGTH, N)), rows(let("x", LENGTH + 1)))
    assert found == ["lengthsOfB = lengths[b]", "end = min(lengthsOfB, n)", "x = lengthsOfB + 1"]


def test_a_definition_that_is_the_element_is_its_name() -> None:
    assert named(let("length", LENGTH), rows(let("x", LENGTH + 1))) == [
        "length = lengths[b]",
        "x = length + 1",
    ]


@pytest.mark.parametrize(
    "first",
    [
        LENGTH + 1,  # read once
        select(N > 0, LENGTH, Const(0)) + select(N > 1, LENGTH, Const(0)),  # perhaps no batch row b
        ((N > 0) & (LENGTH > 0)) + ((N > 1) & (LENGTH > 0)),
        Fold("sum", Load("lengths", Symbol("k")), "k", B) + Fold("sum", Load("lengths", Symbol("k")), "k", B),
        Element("array", B) + Element("array", B),  # the core fills it anew
        Load("slopes", B, dtype="float32") + Load("slopes", B, dtype="float32"),  # scalars are integers
    ],
)
def test_what_stays_where_it_is(first: Expr) -> None:
    assert named(let("x", first)) == text(let("x", first))


def test_a_name_ends_where_its_index_is_another_scalar() -> None:
    inside = rows(let("x", LENGTH + 1), let("y", LENGTH + 2), var="b")
    found = named(let("length", LENGTH), inside, let("z", LENGTH))
    assert found == [
        "length = lengths[b]",
        "lengthsOfB = lengths[b]",
        "x = lengthsOfB + 1",
        "y = lengthsOfB + 2",
        "z = length",
    ]


def test_bodies_side_by_side_use_one_name() -> None:
    """So that stages of two attentions stay alike."""
    one = rows(let("x", LENGTH + 1), let("y", LENGTH))
    assert named(one, one) == 2 * ["lengthsOfB = lengths[b]", "x = lengthsOfB + 1", "y = lengthsOfB"]


def test_two_elements_have_two_names() -> None:
    other = Load("len_gths", B) + Load("len_gths", B)
    body = let("x", Load("lenGths", B) + Load("lenGths", B)), let("y", other)
    assert named(*body) == ["lenGthsOfB = lenGths[b]", "x = lenGthsOfB + lenGthsOfB", f"y = {other}"]


def test_a_name_that_the_kernel_has_is_left_to_it() -> None:
    body = let("lengthsOfB", N), let("x", LENGTH + 1), let("y", LENGTH + 2)
    assert named(*body) == text(seq(*body))


def test_a_branch_has_names_of_its_own() -> None:
    """What one loop reads is no definition for what stands behind the loop."""
    found = named(rows(let("length", LENGTH)), let("x", LENGTH + 1))
    assert found == ["length = lengths[b]", "x = lengths[b] + 1"]


def test_a_task_reads_each_length_once() -> None:
    """The mask of each row asks for both, as do the keys of the task and of its tiles."""
    tokens = np.zeros((5, 64), np.float16)
    pages = np.zeros((9, 16, 64), np.float16)
    call = ops.self_attention.bind(
        query=tokens, key=pages, value=pages, blockTables=np.arange(9, dtype=np.int32)[None],
        seqLen=np.array([5], np.int32), kvSeqLen=np.array([133], np.int32), headNum=1, kvHeadNum=1,
        calcType="PREFIX_ENCODER", maskType="CAUSAL_MASK", kernelType=1, isTriuMask=1,
    )  # fmt: skip
    joint = prepare(call).compiled.joint
    told = [str(read) for each in joint.statements() for expr in expressions(each) for read in loads(expr)]
    assert told.count("seqLen[batch]") == told.count("kvSeqLen[batch]") == 1


def test_a_sum_that_has_a_name_is_not_computed_again() -> None:
    before = Fold("sum", Load("lengths", Symbol("i")), "i", B, "RowsBefore")
    found = named(let("first", before), let("start", select(N == 1, 0, before)), rows(let("x", before + 1)))
    assert found[1:] == ["start = 0 if n == 1 else first", "x = first + 1"]


def test_a_sum_up_to_another_row_is_another() -> None:
    one, other = (Fold("sum", Load("lengths", Symbol("i")), "i", end, "RowsBefore") for end in (B, B + 1))
    found = named(let("first", one), let("next", other), rows(let("x", one), var="b"))
    assert [line.partition(" = ")[2] for line in found] == [str(one), str(other), str(one)]
