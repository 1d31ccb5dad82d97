"""What cases of a kernel do to scores: far bounds, steps from tile to tile, rows of two tiles."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.graph.nodes import Elementwise
from attndsl.verify.cases.case import drawn_case
from attndsl.verify.cases.score_bounds import FAR, _may_bound, unbounded
from attndsl.verify.cases.wanted_kernel import beyond_a_tile
from attndsl.verify.data.masks import MaskFiller
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FILL, RAMP, SLOPE, SUNK, WORKLOAD
from tests.support.case_spaces import space_of


def drawn(space: CaseSpace, **pins: Any) -> dict[str, Any]:
    found = solve(space, np.random.default_rng(0), {WORKLOAD: "any", **pins})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("kind", "bounds"), [(1, {"clampMin": -FAR, "clampMax": FAR}), (0, {})], ids=["clamp", "no clamp"]
)
def test_clamps_lie_far_from_scores_where_there_is_one(kind: int, bounds: dict[str, float]) -> None:
    before = drawn(space_of("self_attention"), clampType=kind)
    after = unbounded(space_of("self_attention"), before)
    assert {name: value for name, value in after.items() if value != before[name]} == bounds


def test_caps_lie_far_from_scores_and_factors_stay() -> None:
    """The factor of scores divides and multiplies nothing that a tanh gives."""
    before = drawn(space_of("gemma2"))
    assert unbounded(space_of("gemma2"), before) == {**before, "cap": FAR}
    plain = drawn(space_of("sinks"))
    assert unbounded(space_of("sinks"), plain) == plain


def scores(fill: str, slope: float | None, scale: float = 1.0) -> np.ndarray[Any, Any]:
    """Those of the last query of the first head of causal attention, over two tiles and a key."""
    space = space_of("sinks")
    tile = min(space.tiles)
    pins = {FILL: fill, "B": 1, "N": 1, "K": 1, "S": 2 * tile + 1, "D": 128, "scale": scale}
    assignment = drawn(space, **pins) | ({} if slope is None else {SLOPE: slope})
    found = drawn_case(space.operator, space, assignment, np.random.default_rng(0))
    assert found is not None
    arrays = found[0].call().arrays
    query, key = (arrays[name].astype(np.float64) for name in ("query", "key"))
    product: np.ndarray[Any, Any] = scale * key.reshape(-1, 128) @ query.reshape(-1, 128)[-1]
    return product


def test_scores_of_a_slope_step_from_tile_to_tile() -> None:
    """The key that a row sees of the next tile alone is well above those of the one before, or below."""
    tile = min(space_of("sinks").tiles)
    rising, falling, plain = (scores(RAMP, slope) for slope in (1.0, -1.0, None))
    for first in (tile, 2 * tile):
        assert rising[first] - rising[:first].max() > 1.5
        assert falling[:first].min() - falling[first:].max() > 1.0
    assert abs(plain[tile] - plain[tile - 1]) < 1.5, "nothing steps in cases of no kernel"


def test_sunk_scores_of_a_slope_have_no_exponential() -> None:
    assert scores(SUNK, 1.0).max() < -110 and -110 < scores(SUNK, None).max() < -90


def test_rows_see_two_tiles_where_masks_compare_positions() -> None:
    """Windows are wide, and queries as many as a tile has keys where they are otherwise fewer."""
    tile = max(space_of("self_attention").tiles)
    found = beyond_a_tile(space_of("self_attention"))
    assert found["windowSize"] > 2 * tile and found["longest(seqLen)"] == tile + 1
    lengths = beyond_a_tile(space_of("self_attention_pa_encoder"))
    assert lengths["longest keys(seqLen)"] == tile + 1 and lengths["fill(seqLen)"] == "full"
    assert beyond_a_tile(space_of("sinks")).keys() == {"window"}, "queries are as many as keys"
    assert beyond_a_tile(space_of("relay_attention")) == {}, "no mask compares positions"


@pytest.mark.parametrize("seed", range(4))
def test_masks_of_a_slope_leave_no_key_of_a_hidden_row(seed: int) -> None:
    """Other masks may hide by numbers that are far below scores."""
    operator = space_of("sigmoid").operator
    filler = MaskFiller(operator, "absent", "float16", (2, 3), {}, np.random.default_rng(seed))
    found = filler.fill(np.array([[True] * 3, [False] * 3]), exact=False, wholly=True)
    assert found is not None and np.isneginf(found[0].astype(np.float64)).all()


@pytest.mark.parametrize("scale", [0.125, -0.5])
def test_scores_of_a_slope_rise_whatever_they_are_multiplied_with(scale: float) -> None:
    """Steeper ones rise within a tile by so much that a few dozen keys have most of the weight."""
    tile = min(space_of("sinks").tiles)
    rise, steep = (np.ptp(scores(RAMP, each, scale)[:tile]) for each in (1.0, 8.0))
    for slope in (1.0, 8.0):
        found = scores(RAMP, slope, scale)
        assert found[tile - 40 : tile].min() > found[:40].max() and found[-1] > found[0]
    assert steep > 3 * rise


@pytest.mark.parametrize(
    ("op", "may"), [("maximum", 1), ("minimum", 1), ("tanh", 1), ("sigmoid", 1), ("add", 0)]
)
def test_operations_that_bound_scores(op: str, may: int) -> None:
    node = object.__new__(Elementwise)
    object.__setattr__(node, "op", op)
    assert _may_bound(SimpleNamespace(nodes=(node,))) is bool(may)  # type: ignore[arg-type]
