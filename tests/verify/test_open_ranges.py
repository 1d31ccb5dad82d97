"""Arguments without a declared range are named where the reference misses its golden results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from attndsl.base.errors import OutsideError
from attndsl.campaign import judging
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load
from attndsl.verify.judge.open_ranges import range_advice

SPEC = """
from attndsl.spec import Operator, attend

op = Operator("scaled", summary="Decoding.")
B, N, T, D = op.dims("B N T D")
op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
key = op.input("key", "B N T D", dtype=query, axes="B K T D")
value = op.input("value", "B N T D", dtype=query, axes="B K T E")
length = op.lengths("length", "B", one_for_all=False)
factor = op.param("factor", float, default=1.0{more})
RULES
s = attend.scores(query, attend.rows(key, length=length)) * factor
op.output("out", attend.softmax(s) @ attend.rows(value, length=length), like=query)
"""
RULE = 'op.require(length[attend.BATCH] >= 0, "must not be negative", over={attend.BATCH: B})'
IN_RANGE = ", ge=-4.0, le=4.0"


def call(folder: Path, more: str = IN_RANGE, rule: str = RULE) -> Call:
    path = folder / "scaled.py"
    path.write_text(SPEC.replace("{more}", more).replace("RULES", rule))
    rows = np.ones((1, 1, 3, 16), np.float16)
    return load(str(path)).bind(rows[:, :, :1], rows, rows, np.array([2]), factor=3.0)


@pytest.mark.parametrize(
    ("more", "rule", "named"),
    [
        (IN_RANGE, RULE, ()),
        ("", RULE, ("factor=3.0",)),
        (", ge=0.0", RULE, ("factor=3.0",)),
        (", le=8.0", RULE, ("factor=3.0",)),
        (", gt=0.0, lt=8.0", RULE, ()),
        (", choices=(1.0, 3.0)", RULE, ()),
        ("", f"{RULE}\nop.require(factor < 8, 'must be small', argument='factor')", ()),
    ],
    ids=["both ends", "none", "least", "most", "open ends", "choices", "a rule"],
)
def test_arguments_without_two_ends_or_a_rule_are_named(
    tmp_path: Path, more: str, rule: str, named: tuple[str, ...]
) -> None:
    said = range_advice(call(tmp_path, more, rule))
    assert bool(said) is bool(named) and all(each in said for each in named)


LIMIT = 'limit = op.lengths("limit", "B", one_for_all=False)'
MASK = "s = s.where(attend.KEY < limit[attend.BATCH])"
LIMIT_RULE = 'op.require(limit[attend.BATCH] >= 0, "must not be negative", over={attend.BATCH: B})'


@pytest.mark.parametrize("ruled", [False, True])
def test_elements_without_a_rule_are_named(tmp_path: Path, ruled: bool) -> None:
    """Of lengths that are passed; what tells how many rows there are has a rule in any case."""
    text = SPEC.replace("{more}", IN_RANGE).replace("RULES", "\n".join([LIMIT, *[LIMIT_RULE] * ruled]))
    (tmp_path / "scaled.py").write_text(text.replace("op.output", f"{MASK}\nop.output"))
    rows = np.ones((1, 1, 3, 16), np.float16)
    bound = load(str(tmp_path / "scaled.py")).bind(rows[:, :, :1], rows, rows, np.array([2]), limit=[2])
    assert ("the elements of limit (op.require)" in range_advice(bound)) is not ruled
    assert "elements of length" not in range_advice(bound)


@pytest.mark.parametrize(("more", "told"), [("", True), (IN_RANGE, False)])
def test_a_miss_of_the_reference_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, told: bool
) -> None:
    """Of other backends it is no matter of ranges alone."""
    found = call(tmp_path, more)
    wanted = judging.Wanted(judging.oracle(found), judging.benchmark.run(found), None)
    assert judging.judge(found, "reference", wanted).message == ""
    run = judging._run

    def wrong(*arguments: object) -> object:
        outputs, findings = run(*arguments)  # type: ignore[arg-type]
        return [each + 1 for each in outputs], findings

    monkeypatch.setattr(judging, "_run", wrong)
    missed = judging.judge(found, "reference", wanted)
    assert missed.status == "miss" and ("declare a range of factor=3.0" in missed.message) is told
    assert "declare a range" not in judging.judge(found, "tile", wanted).message


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (OutsideError("mine.py:7: tree: elements -1 to 1 of 1 are touched"), r"mine\.py:7: .* are touched$"),
        (IndexError("a defect of ours"), r"a defect of ours \(test_open_ranges\.py:\d+\)$"),
    ],
)
def test_what_reaches_outside_is_told_at_the_line_of_the_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception, told: str
) -> None:
    found = call(tmp_path)
    wanted = judging.Wanted(judging.oracle(found), judging.benchmark.run(found), None)

    def fails(*arguments: object) -> object:
        raise raised

    monkeypatch.setattr(judging, "_run", fails)
    assert re.search(told, judging.judge(found, "tile", wanted).message)
