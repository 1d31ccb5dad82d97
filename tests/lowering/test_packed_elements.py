"""Elements of packed tokens, read at their places among those of all batch rows."""

from pathlib import Path

import numpy as np
import pytest

from attndsl.spec.operator.operator import Operator
from tests.support.small_specs import PACKED_RESULT, packed_call, packed_spec

QUERIES, KEYS = [3, 0, 70, 1], [130, 5, 200, 0]
PLACES = "own[rows.start(b) + i] == told[keys.start(b) + j]"
PADDED = "own[b, i] == told[b, j]"


def marked(folder: Path, own: str, told: str, where: str) -> Operator:
    """Attention of each query to the keys with its own number."""
    declared = "\n".join(
        f'{name} = op.input("{name}", "{layout}", dtype="int32", indexed=True)'
        for name, layout in (("own", own), ("told", told))
    )
    return packed_spec(folder, f"s = s.where({where})", PACKED_RESULT, declared=declared)


def padded(numbers: np.ndarray, counts: list[int]) -> np.ndarray:
    """The numbers of each batch row in a row of their own."""
    found = np.zeros((len(counts), max(counts)), np.int32)
    for row, part in zip(found, np.split(numbers, np.cumsum(counts)[:-1]), strict=True):
        row[: part.size] = part
    return found


def test_elements_at_packed_places_are_those_of_padded_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    own, told = (rng.integers(0, 3, sum(counts)).astype(np.int32) for counts in (QUERIES, KEYS))
    call = packed_call(QUERIES, KEYS)
    packed = marked(tmp_path, "T1", "T2", PLACES)
    assert not any("is read at" in rule.text for rule in packed.constraints)
    found = packed(**call, own=own, told=told, backend="tile")
    rows = {"own": padded(own, QUERIES), "told": padded(told, KEYS)}
    np.testing.assert_array_equal(
        found, marked(tmp_path, "B S1", "B S2", PADDED)(**call, **rows, backend="tile")
    )
    np.testing.assert_allclose(found, packed(**call, own=own, told=told), atol=2e-3)


@pytest.mark.parametrize("where", ["told[rows.start(b) + j] > 0", "told[keys.start(b) + j + 1] > 0"])
def test_places_that_packed_rows_do_not_have_are_demanded(tmp_path: Path, where: str) -> None:
    """The first rows of queries are none of keys; behind the last key is none."""
    op = marked(tmp_path, "T1", "T2", f"({where}) & (own[rows.start(b) + i] > 0)")
    assert [rule.argument for rule in op.constraints if "is read at" in rule.text]
