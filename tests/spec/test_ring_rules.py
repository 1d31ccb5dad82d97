"""Rings have at least one place, and no row that was written over is attended: the contract demands it where
nothing else says so."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from attndsl.spec import errors
from attndsl.spec.contract.ring_sizes import NoPlaceError
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator

SPEC = """
from attndsl.spec import Operator, attend, maximum, minimum
op = Operator("kept", summary="The last tokens, in a ring.")
B, N, K, C, D = op.dims("B N K C D")
op.axes(B=B, N=N, K=K, Q=1, T=C, D=D, E=D)
query = op.input("query", "B N D", dtype="bfloat16", axes="B N D")
key = op.input("key", "B K C D", dtype=query, axes="B K T D")
value = op.input("value", "B K C D", dtype=query, axes="B K T E")
written = op.lengths("written", "B", one_for_all=False)
near = op.param("near", int, default=4)
bounded = op.param("bounded", int, default=4, ge=LEAST)
kind, form = op.param("kind", int, default=0), op.param("form", int, default=0)
b = attend.BATCH
op.require(written[b] >= 0, "counts tokens", over={b: B})
STATED
def rows(cache):
    ring = attend.ring(attend.rows(cache), SIZE, length=written)
    return attend.when(form == 1, ring, attend.rows(cache)) if CHOSEN else ring
s = attend.scores(query, rows(key))
op.output("out", attend.softmax(s) @ rows(value), like=query)
"""
NEEDS = 'op.require(near > 0, "is needed", when=(kind == 2) | (kind == 3))'
HAS_NONE = 'op.require(form == 0, "is none", when=((kind == 2) | (kind == 3)) == 0)'
OTHER_FORM = 'op.require(form != 2, "is none", when=((kind == 2) | (kind == 3)) == 0)'


LENGTH = "written[b] <= C for all b < B"


def spec(
    tmp_path: Path, size: str, stated: str = "", *, chosen: bool = False, least: int = 1
) -> tuple[Operator, list[str]]:
    path = tmp_path / "kept.py"
    text = SPEC.replace("SIZE", size).replace("STATED", stated).replace("LEAST", str(least))
    path.write_text(text.replace("CHOSEN", str(chosen)))
    operator = load(path)
    made = [rule for rule in operator.constraints if rule.text == "a ring has at least 1 place"]
    return operator, [rule.describe() for rule in made]


@pytest.mark.parametrize(
    ("size", "stated", "made"),
    [
        ("C", "", ["C > 0"]),
        ("C", 'op.require(C >= 1, "keeps a token")', []),
        ("C", 'op.require(C >= 0, "keeps tokens")', ["C > 0"]),
        ("C", 'op.require(C >= near, "keeps a token")', ["C > 0"]),
        ("maximum(C, 1)", "", []),
        ("near", "", ["near > 0"]),
        ("near", 'op.require(near >= 4, "is wide", when=kind == 1)', ["near > 0"]),
        ("near", 'op.require(near >= bounded, "is wide")', []),
        ("bounded", "", []),
        ("1024", "", []),
    ],
)
def test_a_ring_demands_a_place(tmp_path: Path, size: str, stated: str, made: list[str]) -> None:
    """Keys and values ask for it once."""
    assert spec(tmp_path, size, stated)[1] == made


def test_the_range_of_a_parameter_has_to_begin_with_a_place(tmp_path: Path) -> None:
    assert spec(tmp_path, "bounded", least=0)[1] == ["bounded > 0"]


@pytest.mark.parametrize(
    ("stated", "made"),
    [
        ([], ["near > 0, when form == 1"]),
        (['op.require(near > 0, "is needed", when=form == 1)'], []),
        (['op.require(near > 0, "is needed", when=form == 2)'], ["near > 0, when form == 1"]),
        ([NEEDS], ["near > 0, when form == 1"]),
        ([NEEDS, HAS_NONE], []),
        ([HAS_NONE, NEEDS], []),
        ([NEEDS, OTHER_FORM], ["near > 0, when form == 1"]),
    ],
)
def test_a_ring_that_is_chosen_asks_in_the_calls_that_choose_it(
    tmp_path: Path, stated: list[str], made: list[str]
) -> None:
    """What the rules make of the condition counts: a form that calls of no kind have needs a kind, which
    needs a size."""
    assert spec(tmp_path, "near", "\n".join(stated), chosen=True)[1] == made


@pytest.mark.parametrize("size", ["0", "-3"])
def test_a_ring_without_places_is_refused(tmp_path: Path, size: str) -> None:
    with pytest.raises(NoPlaceError, match=f"a ring of {size} places keeps no row; it has at least 1"):
        spec(tmp_path, size)


@pytest.mark.parametrize("backend", ["reference", "tile", "emulator"])
def test_calls_say_what_an_empty_ring_lacks(tmp_path: Path, backend: str) -> None:
    operator, _ = spec(tmp_path, "C")
    tokens = np.zeros((1, 1, 16), ml_dtypes.bfloat16)
    empty, kept = np.zeros((1, 1, 0, 16), tokens.dtype), np.ones((1, 1, 1, 16), tokens.dtype)
    message = r"kept: C: a ring has at least 1 place; C is 0"
    with pytest.raises(errors.LengthRangeError, match=message):
        operator(tokens, empty, empty, [3], backend=backend)
    assert np.all(operator(tokens, kept, kept, [1], backend=backend) == 1)


@pytest.mark.parametrize(
    ("ring", "mask", "stated", "made"),
    [
        ("RING", "s", "", [LENGTH]),
        ("attend.window(RING, maximum(written[b] - C, 0), length=minimum(written[b], C))", "s", "", []),
        (
            "attend.window(RING, maximum(written[b] - C - 1, 0), length=minimum(written[b], C + 1))",
            "s",
            "",
            [LENGTH],
        ),
        ("RING", "s.where(j >= written[b] - C)", "", []),
        ("RING", "s.replace(attend.index((j < written[b] - C) * 1), -100.0)", "", [LENGTH]),
        ("RING", "s.where((j <= near) & (j > written[b] - near))", "", [LENGTH]),
        ("RING", "s.where((j <= near) & (j > written[b] - near))", 'op.require(near <= C, "fits")', []),
        ("RING", "s.where((j == 0) | (j >= written[b] - C))", "", [LENGTH]),
        ("RING", "s.where(i - j < C - written[b] + 1)", "", []),
        ("RING", "s.where(j > i - C)", "", [LENGTH]),
        ("RING", "s", 'op.require(written[b] <= C, "is kept", over={b: B})', []),
        ("attend.when(form == 1, RING, attend.rows(cache))", "s", "", [f"{LENGTH}, when form == 1"]),
        (
            "RING",
            "attend.when(form == 1, s, s.where(j >= written[b] - C))",
            "",
            [f"{LENGTH}, when form == 1"],
        ),
        ("RING", "attend.when(form == 1, s, s * 2)", "", [LENGTH]),
        ("attend.ring(attend.rows(cache), C, length=written, overwritten=True)", "s", "", []),
    ],
)
def test_rows_that_were_written_over_are_hidden_or_refused(
    tmp_path: Path, ring: str, mask: str, stated: str, made: list[str]
) -> None:
    """A window or a mask hides them where it is proved to; of several masks each has to."""
    ring = ring.replace("RING", "attend.ring(attend.rows(cache), C, length=written)")
    text = SPEC.replace("STATED", stated).replace("LEAST", "1")
    text = text.replace(
        "    ring = attend.ring(attend.rows(cache), SIZE, length=written)\n", f"    return {ring}\n"
    )
    text = text.replace(
        "    return attend.when(form == 1, ring, attend.rows(cache)) if CHOSEN else ring\n", ""
    )
    text = text.replace("attend.softmax(s)", f"attend.softmax({mask})")
    path = tmp_path / "kept.py"
    path.write_text(text.replace("b = attend.BATCH", "b, i, j = attend.BATCH, attend.QUERY, attend.KEY"))
    found = [rule for rule in load(path).constraints if "written over" in rule.text]
    assert [rule.describe() for rule in found] == made


def test_rows_behind_a_ring_are_told_how_to_read_the_last_ones(tmp_path: Path) -> None:
    operator, _ = spec(tmp_path, "C")
    tokens, kept = np.zeros((1, 1, 16), ml_dtypes.bfloat16), np.ones((1, 1, 2, 16), ml_dtypes.bfloat16)
    message = (
        r"kept: written: a ring has its last C rows: earlier ones are written over, .*; written\[0\] is 3; "
        r"C is 2; the nearest legal value is 2; let the spec read attend\.window\(attend\.ring\(\.\.\.\), "
        r"maximum\(written\[b\] - C, 0\), length=minimum\(written\[b\], C\)\)"
    )
    with pytest.raises(errors.LengthRangeError, match=message):
        operator(tokens, kept, kept, [3], backend="reference")
