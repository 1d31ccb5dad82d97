"""What a run did is counted at its writes, not told from shapes."""

import numpy as np
import pytest

from attndsl.compiler.prepare_launch import prepare
from attndsl.tile_interpreter.run import interpret
from attndsl.tile_interpreter.run_facts import RingWrites, RunFacts, counted_runs
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec


def facts(*writes):
    """Of writes (ring, block, place, work, tile, split)."""
    found = RingWrites()
    for ring, block, place, work, tile, split in writes:
        found.add(ring, block, place, {"item": work, "tile": tile, "split": split})
    return found.facts()


@pytest.mark.parametrize(
    ("writes", "found"),
    [
        ([], RunFacts()),
        ([("s", 0, 0, 0, 0, 0)], RunFacts(1, 1, 1)),
        ([("s", 0, 0, 0, 0, 0), ("s", 0, 64, 0, 0, 0)], RunFacts(1, 1, 1)),  # two rows of a tile
        ([("s", 0, 0, 0, 0, 0), ("s", 0, 0, 1, 0, 0)], RunFacts(1, 2, 1)),  # the slot of another item
        ([("s", 0, 0, 0, 0, 0), ("s", 0, 0, 0, 1, 0)], RunFacts(2, 1, 1, True)),
        ([("s", 0, 0, 0, 0, 0), ("o", 0, 0, 0, 1, 0)], RunFacts(1, 1, 1)),  # of another ring
        ([("s", 0, 0, 0, 0, 0), ("s", 1, 0, 1, 1, 1)], RunFacts(1, 1, 2)),  # of another block
    ],
)
def test_writes_are_counted_by_ring_block_and_item(writes, found):
    assert facts(*writes) == found


@pytest.mark.parametrize(("half", "halves"), [(1, 2), (0, 1)])
def test_halves_of_a_task_are_counted(half, halves):
    found = RingWrites()
    for place, each in ((0, 0), (64, half)):
        found.add("s", 0, place, {"item": 0, "tile": 0, "halfOfTask": each})
    assert found.facts() == RunFacts(1, 1, 1, halves=halves)


@pytest.fixture(scope="module")
def operator(tmp_path_factory):
    return decode_spec(tmp_path_factory.mktemp("facts"), DECODE_SCORES, DECODE_RESULT)


@pytest.mark.parametrize(
    ("batch", "keys", "cores", "wanted"),
    [
        (1, 40, 1, RunFacts(1, 2, 1)),
        (1, 5000, 1, RunFacts(10, 2, 1, True)),
        (1, 5000, 24, None),
        (3, 40, 2, RunFacts(1, 3, 1)),
    ],
)
def test_a_run_is_what_it_did(operator, batch, keys, cores, wanted):
    """Two heads: with one core it has an item a head, with many the keys are split."""
    query, key = (np.zeros((batch, 2, rows, 32), np.float16) for rows in (1, keys))
    launch = prepare(operator.bind(query=query, key=key, value=key), cores)
    with counted_runs() as runs:
        interpret(launch)
    (found,) = runs
    if wanted is None:
        assert found.splits == launch.tiling["splits"] > 1 and found.items == 1
        assert found.tiles == 1 and not found.reused
    else:
        assert found == wanted
    with counted_runs() as others:
        pass
    assert others == []
