"""Where the keys of a task end, as the bytes of a mask tell it: the ends, what they spare, the results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.compiler.prepare_launch import prepare
from attndsl.execute import execute
from attndsl.profile.profile import profile_call
from attndsl.tile_interpreter import run as tile
from attndsl.tile_interpreter.run import interpret
from tests.support.selection_cases import arguments, check, nsa

BACKENDS = {"tile": tile, "emulator": execute}


def staircase(positions: int, keys: int, first: int, step: int) -> Any:
    """Position i sees the keys before ``first + step * i``."""
    return np.arange(keys)[None] >= first + step * np.arange(positions)[:, None]


def with_exceptions(mask: Any) -> Any:
    """One position sees nothing, one the last key alone, one has a hole."""
    mask = mask.copy()
    mask[3], mask[5], mask[6, 2:5] = True, True, True
    mask[5, -1] = False
    return mask


def ends_of(call: dict[str, Any]) -> tuple[Any, Any]:
    """The ends, and the first hidden keys, that the vector cores leave in the workspace."""
    launch = prepare(nsa.bind(**call))
    interpret(launch)
    start = launch.tiling["keyEndsOffset"]
    positions, keys = call["atten_mask"].shape
    ends, hidden = launch.workspace[start:].view(np.int32)[: 2 * positions].reshape(-1, 2).T
    return ends, 2 * keys - hidden


@pytest.mark.parametrize(("positions", "keys"), [(13, 40), (9, 600)])
def test_the_end_follows_the_last_shown_key_and_all_before_the_first_hidden_one_are_shown(positions, keys):
    call = arguments([positions], [keys], group=4)
    call["atten_mask"] = mask = with_exceptions(staircase(positions, keys, 1, 3))
    mask[7] = False
    last = keys - np.argmin(mask[:, ::-1], axis=1)
    ends, hidden = ends_of(call)
    assert ends.tolist() == np.where(mask.all(axis=1), keys, last).tolist()
    assert hidden.tolist() == np.where(mask.any(axis=1), np.argmax(mask, axis=1), keys).tolist()
    assert last[5] == keys and ends[3] == keys and hidden[3] == 0 and hidden[7] == keys and hidden[6] == 2


@pytest.mark.parametrize("seen", [50, 51])
def test_keys_after_all_ends_are_not_touched(seen):
    """Values that are no numbers spoil what multiplies them, with the weight 0, too."""
    call = arguments([4], [90], group=2)
    call["atten_mask"] = staircase(4, 90, 47, 1)
    call["atten_mask"][3, 50:seen] = False
    call["value"][50:] = np.nan
    outputs = tile.run(nsa.bind(**call))
    assert np.isfinite(outputs[0]).all() == (seen == 50)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "case",
    [
        {"queries": [13], "keys": [600], "group": 16},
        {"queries": [9, 0, 13], "keys": [40, 7, 70], "group": 4, "kv_heads": 2, "forced": 0.05},
    ],
    ids=["two tiles and one", "several batch rows"],
)
def test_kernels_with_ends_equal_the_reference(backend, case):
    call = arguments(**case, hidden=0.5)
    positions, keys = call["atten_mask"].shape
    call["atten_mask"] = with_exceptions(staircase(positions, keys, 2, 11))
    check(call, BACKENDS[backend].run(nsa.bind(**call), cores=2))


def test_a_prediction_follows_the_ends():
    """The mask's data are real, and so is what the vector cores find in them."""
    call = arguments([64], [500], group=4)
    call["atten_mask"] = staircase(64, 500, 0, 8)
    some = profile_call(nsa.bind(**call))
    call["atten_mask"] = np.zeros_like(call["atten_mask"])
    whole = profile_call(nsa.bind(**call))
    assert some.bytes["l2_read"] < 0.7 * whole.bytes["l2_read"]
