"""What is known of sizes where a score is: by constraints, and since there is a score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from attndsl.expr import Expr
from attndsl.lowering.signature.stated_ranges import stated_ranges
from attndsl.spec import Operator, attend, errors
from attndsl.spec.operator.loader import load_file
from tests.support.right_specs import PAGED, changed

NAMES = "B N K S T D F"
Sizes = Mapping[str, Expr]
b = attend.BATCH


def ranges_with(state: Callable[[Operator, Sizes], None], **axes: str):
    op = Operator("mine", summary="A contract with a size of its own, F.")
    sizes = dict(zip(NAMES.split(), op.dims(NAMES), strict=True))
    roles = {"B": "B", "N": "N", "K": "K", "Q": "S", "T": "T", "D": "D", "E": "D", **axes}
    op.axes(**{role: sizes[name] for role, name in roles.items()})
    op.input("query", "B N S D", dtype="float16", axes="B N Q D")
    op.input("flags", "F", dtype="int32", indexed=True)
    state(op, sizes)
    return stated_ranges(op)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (lambda op, s: None, (0, math.inf)),
        (lambda op, s: op.require(s["F"] <= 64, "x"), (0, 64)),
        (lambda op, s: op.require(s["F"] < 64, "x"), (0, 63)),
        (lambda op, s: op.require((s["F"] > 1) & (s["F"] < 64), "x"), (2, 63)),
        (lambda op, s: op.require(s["B"] % s["F"] == 0, "x", argument="flags"), (1, math.inf)),
        (lambda op, s: op.limit(s["F"] <= 64, "x"), (0, 64)),
        # near twins, which some calls need not keep
        (lambda op, s: op.require((s["F"] <= 64) | (s["B"] == 1), "x", argument="flags"), (0, math.inf)),
        (lambda op, s: op.require(s["F"] <= s["B"], "x", argument="flags"), (0, math.inf)),
        (lambda op, s: op.require(s["F"] <= 64, "x", when=s["B"] == 1), (0, math.inf)),
        (lambda op, s: op.require(s["F"] <= 64, "x", over={b: s["B"]}), (0, math.inf)),
        (lambda op, s: op.require(s["F"] <= 64, "x", error=errors.ContractWarning), (0, math.inf)),
    ],
)
def test_constraints_that_each_call_keeps_bound_a_size(
    state: Callable[[Operator, Sizes], None], expected: tuple[float, float]
) -> None:
    assert ranges_with(state)["F"] == expected


@pytest.mark.parametrize(
    ("axes", "size", "low"),
    [
        ({}, "T", 1),
        ({}, "F", 0),
        ({"X": "F"}, "F", 0),  # an axis of a list alone
        ({"U": "F"}, "T", 0),  # keys may be those of packed tokens
        ({"U": "F"}, "S", 1),
    ],
)
def test_a_score_has_no_empty_axis(axes: dict[str, str], size: str, low: int) -> None:
    assert ranges_with(lambda op, s: None, **axes)[size] == (low, math.inf)


def test_keys_are_counted_in_blocks_of_a_size(tmp_path: Path) -> None:
    scores = "s = attend.scores(query, keys) * scale\n"
    mask = 'op.require(R <= 64, "at most 64")\nj = attend.KEY\ns = s.where((j // R == 1) | (j % R == 3))\n'
    (tmp_path / "mine.py").write_text(changed(PAGED, ((scores, scores + mask),)))
    op, rng = load_file(tmp_path / "mine.py"), np.random.default_rng(5)

    def halves(*shape: int):
        return rng.standard_normal(shape).astype(np.float16)

    call = {"query": halves(2, 4, 1, 32), "key_cache": halves(6, 2, 16, 32)}
    call |= {"value_cache": halves(6, 2, 16, 32), "table": np.array([[4, 0, 2], [1, 5, 3]], np.int32)}
    call["lengths"] = [48, 20]
    wanted = op(**call)
    for backend in ("tile", "emulator"):
        np.testing.assert_allclose(op(**call, backend=backend), wanted, atol=2e-3)
