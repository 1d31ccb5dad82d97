"""Of the last tiles of a causal task each band of rows takes the keys that it may see, and no fewer."""

from __future__ import annotations

from typing import Any

import pytest

from attndsl.expr import Symbol
from attndsl.lowering.attention.key_range import (
    begins_by_band,
    keys_before_rows,
    keys_of_rows,
    sees_by_band,
    tile_bounds,
)
from attndsl.lowering.emit.loop_scalars import KEYS
from attndsl.lowering.match.schedule_options import BAND_ROWS
from attndsl.tile.program import SUB_BLOCK
from attndsl.tile.statements import Let
from tests.support.builders import PADDED, attention, context, masked

i, j, W = Symbol("i"), Symbol("j"), Symbol("W")
FULL, CAUSAL, AHEAD = masked(j < i), masked(j > i), masked(j > i + W)
WINDOW = masked((j > i) | (j <= i - W))
TILE = 512


def prompts(change: Any, max_rows: int = 256) -> Any:
    return context(attention(PADDED, scores=(change,)), positions=Symbol("Q"), max_rows=max_rows, tile_k=TILE)


def of_tile(c: Any, first_query: int, rows: int, tile: int, heads: int = 1) -> dict[str, Any]:
    """The scalars of a tile of a task; its keys end where its last row sees no more."""
    last = first_query + (rows - 1) // heads
    known = {"keyEnd": last + 1, "W": 0}
    known |= {"firstQuery": first_query, "heads": heads, "taskRows": rows, "firstTile": 0, "tile": tile}
    return {**known, "firstKey": tile * TILE, "batch": 0, "tiling.wScalar": 0, "tiling.W": 0}


def keys_of_core(c: Any, known: dict[str, Any], core: int) -> int:
    half = -(-known["taskRows"] // 2)
    begin = min(core * half, known["taskRows"])
    own = {SUB_BLOCK.name: core, "rowBegin": begin, "rows": min(half, known["taskRows"] - begin)}
    scalars = {**known, **own}
    for each in tile_bounds(c, of_this_aiv=True):
        if isinstance(each, Let) and each.symbol.name not in known:
            scalars[each.symbol.name] = each.value.evaluate(scalars)
    return int(scalars[KEYS.name])


@pytest.mark.parametrize(("first", "rows", "heads"), [(256, 256, 1), (640, 200, 1), (0, 256, 2), (96, 72, 4)])
def test_what_the_cube_multiplies_the_vector_cores_have_written(first: int, rows: int, heads: int) -> None:
    c = prompts(CAUSAL)
    assert sees_by_band(c)
    half = -(-rows // 2)
    for tile in range((first + rows // heads) // TILE + 1):
        known = of_tile(c, first, rows, tile, heads)
        all_keys = min(TILE, known["keyEnd"] - known["firstKey"])
        if all_keys <= 0:
            continue
        for band in range(0, rows, BAND_ROWS):
            end = min(band + BAND_ROWS, rows) - 1
            taken = keys_of_rows(c, KEYS, Symbol("first"), Symbol("last"))
            number = int(taken.evaluate({**known, "keys": all_keys, "first": band, "last": end}))
            sees = first + end // heads + 1 - known["firstKey"]
            assert min(sees, all_keys) <= number <= all_keys, "no row loses a key"
            assert number == all_keys or number - max(sees, 1) < 64, (
                "and none has a repeat more than it needs"
            )
            for core in (0, 1):
                if core * half < end + 1 and min((core + 1) * half, rows) > band:
                    assert keys_of_core(c, known, core) >= number


def test_the_first_band_of_a_diagonal_tile_takes_half_of_it() -> None:
    c = prompts(CAUSAL)
    known = of_tile(c, first_query=256, rows=256, tile=0)
    assert [keys_of_core(c, known, core) for core in (0, 1)] == [384, 512]


@pytest.mark.parametrize("size", [1, 100, 300, 512, 1024])
def test_a_band_leaves_out_no_key_that_a_row_of_a_window_sees(size: int) -> None:
    c = prompts(WINDOW)
    assert begins_by_band(c) and not begins_by_band(prompts(CAUSAL))
    first, rows = 1280, 256
    begin = max(0, first - size + 1) // 128 * 128
    for tile in range((first + rows - begin + TILE - 1) // TILE):
        known = of_tile(c, first, rows, tile) | {"firstKey": begin + tile * TILE, "W": size}
        keys = min(TILE, known["keyEnd"] - known["firstKey"])
        for band in range(0, rows, BAND_ROWS):
            skipped = keys_before_rows(c, KEYS, Symbol("first"), Symbol("last"))
            at = {**known, "keys": keys, "first": band, "last": band + BAND_ROWS - 1}
            number, sees = int(skipped.evaluate(at)), first + band - size + 1 - known["firstKey"]
            assert number % 128 == 0 and 0 <= number < keys and number <= max(0, sees)
            assert sees - number < 128 or keys - number <= 128, "whole granules that no row sees are left out"


def test_rows_that_see_alike_have_no_limits_of_their_own() -> None:
    assert not sees_by_band(prompts(FULL))
    assert not sees_by_band(prompts(CAUSAL, max_rows=128))
