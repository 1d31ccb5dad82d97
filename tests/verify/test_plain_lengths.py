"""Plain integer inputs that a source of rows counts with are drawn as lengths are: cases have keys then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.cases import Stream
from attndsl.verify.space.argument_roles import LIMIT
from attndsl.verify.space.space import CaseSpace

SPEC = """
from attndsl.spec import Operator, attend
op = Operator("plain", summary="Numbers of rows in a plain input.")
B, N, {size}, D = op.dims("B N {size} D")
op.axes(B=B, N=N, K=N, Q=1, {axes}, D=D, E=D)
query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
key = op.input("key", "{layout} D", dtype=query, axes="{roles} D")
told = op.input("told", "B", dtype="int32", axes="B")
b, j = attend.BATCH, attend.KEY
def rows(tensor):
    return {rows}
s = attend.scores(query, rows(key)){mask}
op.output("out", attend.softmax(s) @ rows(attend.leading(key, D)), like=query)
"""
DENSE = {"size": "T", "axes": "T=T", "layout": "B N T", "roles": "B K T", "mask": ""}
PACKED = DENSE | {"size": "U", "axes": "U=U, T=op.param('most', int, ge=1)", "layout": "U N", "roles": "U K"}
LISTED = DENSE | {"size": "G, T", "axes": "G=G, T=T", "layout": "G N T", "roles": "G K T"}
FORMS = {
    "rows": DENSE | {"rows": "attend.rows(tensor, length=told)"},
    "ends": PACKED | {"rows": "attend.packed(tensor, told)"},
    "packed": PACKED | {"rows": "attend.packed(tensor, length=told)"},
    "index": LISTED | {"rows": "attend.listed(tensor, index=told[b])"},
    "hidden": DENSE | {"rows": "attend.rows(tensor)", "mask": ".where(j < told[b])"},
}


def spec(folder: Path, form: str) -> Operator:
    path = folder / "plain.py"
    path.write_text(SPEC.format(**FORMS[form]).replace('"B N G, T D"', '"B N G T D"'))
    return load_file(path)


@pytest.mark.parametrize(
    ("form", "measured"),
    [("rows", "T"), ("ends", "T"), ("packed", "T"), ("index", "G"), ("hidden", LIMIT)],
)
def test_what_a_source_counts_with_is_an_integer_tensor(tmp_path: Path, form: str, measured: str) -> None:
    """So is what a mask alone compares keys with."""
    space = CaseSpace(spec(tmp_path, form))
    assert space.measures == {"told": measured}
    assert [each.name for each in space.integers] == list(space.measures)
    assert (space.summed, space.totals) == (
        (frozenset({"told"}), {"told": "U"}) if form == "ends" else (frozenset(), {})
    )


@pytest.mark.parametrize("form", ["rows", "ends", "packed"])
def test_cases_have_keys(tmp_path: Path, form: str) -> None:
    """Half of them have a batch row with more than 16, and all are legal calls."""
    longest = []
    for case in Stream(spec(tmp_path, form)).take(8):
        told = case.outline().arrays["told"]
        assert told.dtype == np.int32
        counts = np.diff(told, prepend=0) if form == "ends" else told
        longest.append(int(counts.max(initial=0)))
    assert sum(each > 16 for each in longest) >= 4, longest


def test_numbers_of_tensors_name_those_that_there_are(tmp_path: Path) -> None:
    drawn = [case.outline() for case in Stream(spec(tmp_path, "index")).take(4)]
    numbers = {int(each) for call in drawn for each in call.arrays["told"]}
    assert -1 in numbers and max(numbers) > 1
