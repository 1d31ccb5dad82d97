"""Cases that a search has found are read from the disk: the same ones, and only those of the same stream."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.base import disk_cache
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import Stream
from attndsl.verify.cases.mode_search import ModeSearch
from attndsl.verify.cases.stored_cases import BLOCK, Block, StoredCases, stored_effects

SPEC = """
from attndsl.spec import Operator, attend

op = Operator("small")
B, N, K, T, D = op.dims("B N K T D")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D)
q = op.input("q", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
k = op.input("k", "B K T D", dtype=q, axes="B K T D")
v = op.input("v", "B K T D", dtype=q, axes="B K T E")
op.require(N % K == 0, "a multiple", argument="q")
op.output("out", attend.softmax(attend.scores(q, k)) @ v, like=q)
"""


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    monkeypatch.setenv(disk_cache.STORE_VARIABLE, "1")
    monkeypatch.setenv(disk_cache.FOLDER_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "small.py").write_text(SPEC)
    return load(str(tmp_path / "small.py"))


def told(cases: tuple[Case, ...]) -> list[Any]:
    """All that cases are made of."""
    return [
        (each.number, each.attempt, dict(each.assignment), {k: v.tolist() for k, v in each.integers.items()})
        for each in cases
    ]


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the cases that were searched for, by a search that takes no time."""
    numbers: list[int] = []

    def find(self: Any, operator: Operator, number: int, turn: int) -> Case:
        numbers.append(number)
        lengths = {"lengths": np.array([number, turn])}
        return Case(operator, self.space, self.seed, number, {"seed": self.seed}, lengths, attempt=number % 3)

    monkeypatch.setattr(ModeSearch, "prepare", lambda self: None)
    monkeypatch.setattr(ModeSearch, "next", find)
    return numbers


def test_whole_blocks_are_found_again(operator: Operator, searched: list[int]) -> None:
    first = told(Stream(operator).take(BLOCK + 1))
    assert searched == list(range(BLOCK + 1))
    searched.clear()
    assert told(Stream(operator).take(BLOCK)) == first[:BLOCK]
    assert not searched
    # what lies behind the last block depends on all before it
    assert told(Stream(operator).take(BLOCK + 1)) == first
    assert searched == list(range(BLOCK + 1))


def test_another_seed_is_another_stream(operator: Operator, searched: list[int]) -> None:
    first = told(Stream(operator, 0).take(BLOCK))
    assert told(Stream(operator, 1).take(BLOCK)) != first
    assert searched == 2 * list(range(BLOCK))


def test_a_damaged_entry_is_searched_again(operator: Operator, searched: list[int]) -> None:
    first = told(Stream(operator).take(BLOCK))
    (file,) = disk_cache.cache_place().glob("cases/*/*")
    file.write_bytes(file.read_bytes()[:20])
    assert told(Stream(operator).take(BLOCK)) == first
    assert searched == 2 * list(range(BLOCK))


def test_the_features_that_matter_in_a_case_are_found_once(operator: Operator) -> None:
    asked: list[str] = []

    def find(name: str) -> frozenset[str]:
        asked.append(name)
        return frozenset({name, "dtype float16"})

    for name in ("mask", "mask", "bias"):
        found = stored_effects(operator, ("a case", name), partial(find, name))
        assert found == {name, "dtype float16"}
    assert asked == ["mask", "bias"]


@pytest.mark.parametrize(("count", "whole"), [(BLOCK, True), (BLOCK - 1, False), (0, False)])
def test_a_block_of_fewer_cases_is_found_again(operator: Operator, count: int, whole: bool) -> None:
    stored = StoredCases.of(operator, 0)
    stored.write(0, Block((), (None,) * count))  # type: ignore[arg-type]
    assert (stored.read(0) is not None) is whole
