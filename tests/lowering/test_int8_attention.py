"""int8 attention: integer products, probabilities through int8 block by block, on tile and emulator.

Against the oracle of tests/support and the reference. A probability next to a half may round either way
(exp and division differ in the last place), one 127th of one value; so differences are few and small.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attndsl.api import ops
from attndsl.codegen.kernel_set.dispatch_guards import guards
from attndsl.codegen.kernel_set.tiling_keys import tiling_key
from attndsl.compiler.prepare_launch import prepare, specialization_of
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.schedule_options import GRANULE
from tests.support.naive_self_attention import prompt

from .small_int8 import agrees, arguments, int8, small

sa = ops.self_attention
OFFLINE, ONLINE = 2, 3
FP16, BF16 = 1, 27


def quantized(
    lens: list[int],
    heads: int,
    kv_heads: int,
    size: int,
    kind: int,
    out: int = FP16,
    latent: int = 0,
    seed: int = 0,
) -> dict[str, Any]:
    """A prompt of int8 tokens; ``latent``: channels of a key that are its value."""
    rng = np.random.default_rng(seed)

    def factors(low: float, high: float) -> Any:
        return rng.uniform(low, high, heads).astype(np.float32)

    tokens = sum(lens)
    call = {"query": int8(rng, tokens, heads, size), "key": int8(rng, tokens, kv_heads, size)}
    call |= {"mlaVHeadSize": latent} if latent else {"value": int8(rng, tokens, kv_heads, size)}
    call |= {"seqLen": np.array(lens, np.int32), "headNum": heads, "kvHeadNum": kv_heads, "calcType": 3}
    call |= {"qkDescale": factors(1e-4, 1e-3), "qkOffset": np.zeros(1, np.int32), "qkScale": 1.3}
    call |= {"vpvDescale": factors(0.01, 0.02), "vpvOffset": np.zeros(heads, np.int32)}
    call |= {"quantType": kind, "outDataType": out}
    return call | ({"pScale": factors(1 / 127, 3 / 127)} if kind == OFFLINE else {})


CALLS = {
    "one token": quantized([1], 2, 1, 32, OFFLINE),
    "offline, a row of heads": quantized([150, 1], 4, 2, 64, OFFLINE),
    "online, keys split over cores": quantized([260], 2, 1, 160, ONLINE),
    "online, a tail of keys": quantized([200, 17], 3, 1, 96, ONLINE, BF16),
    "offline, the largest heads": quantized([140], 2, 2, 256, OFFLINE, BF16),
    "latent": quantized([130], 2, 1, 192, OFFLINE, latent=128),
}
LONG_CALLS = {
    "rings turn": quantized([700, 40], 2, 1, 32, OFFLINE),
    "many splits": quantized([1500], 2, 1, 32, ONLINE),
    "many heads": quantized([129, 64], 40, 1, 64, OFFLINE),
    "the largest latent heads": quantized([140], 2, 1, 576, ONLINE, latent=512),
    "three parts of values": quantized([129], 5, 1, 576, OFFLINE, BF16, latent=288),
}


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("name", CALLS)
def test_tile_program_against_the_oracle(name: str) -> None:
    call = CALLS[name]
    known = {key: value for key, value in call.items() if key != "outDataType"}
    agrees(sa(**call, backend="tile"), prompt(**known))


@pytest.mark.parametrize("name", ["online, keys split over cores", "offline, a row of heads"])
def test_emulator_against_the_reference(name: str) -> None:
    agrees(sa(**CALLS[name], backend="emulator"), sa(**CALLS[name]))


@pytest.mark.long
@pytest.mark.parametrize("name", [*CALLS, *LONG_CALLS])
def test_emulator_against_the_oracle(name: str) -> None:
    call = {**CALLS, **LONG_CALLS}[name]
    known = {key: value for key, value in call.items() if key != "outDataType"}
    agrees(sa(**call, backend="emulator"), prompt(**known))


@pytest.mark.parametrize(
    "changes", [{"result": "attend.softmax(s) @ attend.rows(value)"}, {"block": "64"}], ids=["plain", "block"]
)
def test_other_probabilities_are_told_apart(tmp_path: Path, changes: dict[str, str]) -> None:
    """What :func:`agrees` lets pass is narrower than the way through int8, and than another block's."""
    wanted, other = small(tmp_path)(**arguments()), small(tmp_path, **changes)(**arguments())
    agrees(wanted, wanted.copy())
    with pytest.raises(AssertionError):
        agrees(other, wanted)


def test_given_steps_keep_keys_together_and_their_own_do_not() -> None:
    """With a given step, p is divided after the maximum of all keys before it; a step of the tile's own
    largest p does not see that maximum."""
    splits = {kind: prepare(sa.bind(**quantized([600], 1, 1, 32, kind))).tiling for kind in (OFFLINE, ONLINE)}
    assert "splits" in splits[OFFLINE] and splits[OFFLINE]["splits"] == 1
    assert splits[ONLINE]["splits"] > 1 or splits[ONLINE]["tasks"] >= 20


BF16_DTYPE = np.dtype(ml_dtypes.bfloat16)
MASKS = {
    "added": (-10000.0, np.float16),
    "ones": (1.0, BF16_DTYPE),
    "ones in float16": (1.0, np.float16),
    "added in bfloat16": (-10000.0, BF16_DTYPE),
    "minus infinity": (-np.inf, np.float16),
}


def masked(fill: float, dtype: Any, *, batches: int = 0, kind: int = ONLINE, lens: Any = (140, 9)) -> Any:
    """A call whose mask hides some keys of most rows, and all keys of row 3."""
    call, rng = quantized(list(lens), 4, 2, 32, kind), np.random.default_rng(5)
    hidden = rng.random((batches, 150, 160) if batches else (150, 160)) < 0.4
    hidden[..., 3, :] = True
    return call | {"maskType": 1, "mask": np.where(hidden, fill, 0).astype(dtype)}, hidden


@pytest.mark.parametrize("name", MASKS)
def test_both_conventions_of_masks(name: str) -> None:
    """One kernel for masks that are added and for those of ones: nothing looks at what they hold."""
    (fill, dtype), kind = MASKS[name], OFFLINE if "added" in name else ONLINE
    call, hidden = masked(fill, dtype, batches=2 * (name == "ones"), kind=kind)
    term = np.where(hidden, -3e38 if fill == 1 else fill, 0)
    known = {key: value for key, value in call.items() if key != "outDataType"} | {"mask": term}
    out = sa(**call, backend="tile")
    agrees(out, prompt(**known))
    agrees(out, sa(**call))


def test_the_host_tells_masks_apart_by_dtype_alone() -> None:
    calls = {name: sa.bind(**masked(fill, dtype)[0]) for name, (fill, dtype) in MASKS.items()}
    kernels = {name: prepare(call).compiled.program.name for name, call in calls.items()}
    kernels = {name: (kernels[name], specialization_of(call)) for name, call in calls.items()}
    assert kernels["added"] == kernels["ones in float16"] == kernels["minus infinity"]
    assert kernels["ones"] == kernels["added in bfloat16"] != kernels["added"]


def test_emulator_takes_masks_of_ones_and_of_negative_entries() -> None:
    for fill, dtype in (MASKS["ones"], MASKS["added"]):
        call, _ = masked(fill, dtype, kind=OFFLINE, lens=(18, 5))
        agrees(sa(**call, backend="emulator"), sa(**call))


def test_kernels_for_masks_of_either_dtype_are_told_apart() -> None:
    chosen = [prepare(sa.bind(**masked(*MASKS[name])[0])).compiled for name in ("added", "ones")]
    every = [guards(each) for each in chosen]
    found = [{guard for guard in each if "dtype(mask)" in guard.condition.symbols()} for each in every]
    assert found[0] and found[1] and found[0] != found[1]
    assert tiling_key(chosen[0]) != tiling_key(chosen[1])


WINDOW = "s.where((attend.KEY <= attend.QUERY * 40 + 20) & (attend.QUERY * 40 - attend.KEY < 30))"


@pytest.mark.parametrize(
    "changes",
    [
        {"block": "64", "io": '"int8"'},
        {"dtype": "bfloat16", "steps": "steps"},
        {"result": "0.5 * (p @ attend.rows(value))"},
        {"result": "p @ attend.rows(value) + 1.0"},
        {"result": "abs(p @ attend.rows(value)) + p @ attend.rows(value)"},
        {"masked": WINDOW},
        {"masked": WINDOW, "block": "64", "steps": "steps"},
    ],
)
def test_small_specs_on_the_tile_program(tmp_path: Path, changes: dict[str, str]) -> None:
    op, call = small(tmp_path, **changes), arguments()
    if "steps" in changes:
        call["steps"] = np.array([[0.01, 0.0, 0.02], [0.03, -0.02, 0.001]], np.float32)
    agrees(op(**call, backend="tile"), op(**call, precision="float64"))


@pytest.mark.parametrize("block", [192, GRANULE * 2])
def test_blocks_that_are_no_part_of_what_is_skipped_are_refused(tmp_path: Path, block: int) -> None:
    with pytest.raises(NotLowered, match=rf"small_int8\.py:\d+: .*blocks of {block} keys"):
        small(tmp_path, block=str(block))(**arguments(), backend="tile")


@pytest.mark.parametrize(
    ("changes", "size", "words"),
    [
        ({}, 48, "int8 with heads of 48"),
        ({"result": "attend.softmax(s) @ attend.rows(value)"}, 32, "do not pass through int8"),
    ],
)
def test_what_int8_does_not_cover_is_refused(
    tmp_path: Path, changes: dict[str, str], size: int, words: str
) -> None:
    with pytest.raises(NotLowered, match=words) as caught:
        small(tmp_path, **changes)(**arguments(size=size), backend="tile")
    assert "small_int8.py:" in str(caught.value)
