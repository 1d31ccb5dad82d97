"""Kernels of nsa_compress_attention: attention, statistics and selected blocks, on tile and emulator."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from attndsl.base.package_files import specs_dir
from attndsl.compiler.prepare_launch import prepare
from attndsl.execute import execute
from attndsl.lowering.emit.loop_scalars import HEADS
from attndsl.lowering.signature.host_scalars import dimension
from attndsl.spec.operator.loader import load_file
from attndsl.tile.instructions import Fixpipe, StoreRows
from attndsl.tile_interpreter import run as tile
from tests.support.selection_cases import arguments, block_scores, check, nsa, random_case, wrong_rows

BACKENDS = {"tile": tile, "emulator": execute}
MASKED = {"hidden": 0.4, "forced": 0.05}

CASES = {
    "several tiles": {"queries": [5, 1, 9], "keys": [600, 30, 1100], "kv_heads": 2, "group": 4, **MASKED},
    "one head": {"queries": [40, 0, 3], "keys": [70, 5, 129], **MASKED},
    "largest group": {"queries": [3], "keys": [150], "group": 64, **MASKED},
    "a window a key": {
        "queries": [4],
        "keys": [700],
        "group": 2,
        "window": (16, 16, 16),
        "count": 32,
        **MASKED,
    },
    "longest windows": {"queries": [4], "keys": [530], "window": (128, 16, 128), "count": 32, **MASKED},
    "lengths that do not divide": {"queries": [4], "keys": [530], "window": (80, 48, 96), **MASKED},
    "everything hidden": {"queries": [4], "keys": [530], "hidden": 1.0, "forced": 0.0},
    "everything forced": {"queries": [4], "keys": [530], "hidden": 0.4, "forced": 1.0, "count": 32},
    "blocks behind the keys": {"queries": [4], "keys": [30], "more_blocks": 900, "count": 32, **MASKED},
    "as the paper reads it": {"queries": [4], "keys": [530], "reading": "paper", **MASKED},
    "all from 0": {"queries": [4], "keys": [530], "reading": "literal0", **MASKED},
    "masks larger than needed": {"queries": [4, 2], "keys": [530, 40], "wider": 7, **MASKED},
    "sizes that are no multiple": {"queries": [4], "keys": [90], "sizes": (13, 5), **MASKED},
    "such rows of several heads": {
        "queries": [5, 19],
        "keys": [90, 300],
        "kv_heads": 2,
        "group": 4,
        "sizes": (37, 21),
        "dtype": "bfloat16",
        **MASKED,
    },
}


def run(backend: str, call: dict, cores: int = 24):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BACKENDS[backend].run(nsa.bind(**call), cores=cores)


@pytest.mark.parametrize("case", CASES)
def test_emulator_equals_reference(case):
    call = arguments(**CASES[case])
    check(call, run("emulator", call))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_cube_stores_the_rows_of_an_only_tile(dtype):
    """Rounded, the heads of a position at once; those of several tiles leave from a vector core."""
    program = prepare(nsa.bind(**arguments([4], [90], group=4, dtype=dtype))).compiled.program
    (stored,) = (
        item
        for item in program.instructions()
        if isinstance(item, Fixpipe) and item.dst.tensor.name == "attention_out"
    )
    assert stored.dst.tensor.dtype == dtype and stored.dst.rows.same(HEADS)
    source = stored.src.offset.evaluate({"position": 3, "heads": 4})
    assert source == 3 * 4 * 16, "rows of 16 columns lie side by side in L0C"
    leaving = [
        item
        for item in program.instructions()
        if isinstance(item, StoreRows) and item.dst.tensor.name == "attention_out"
    ]
    assert len(leaving) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_of_only_tiles_without_statistics(backend, tmp_path):
    """Nothing is left to the vector cores then; the second batch row has items of two tiles."""
    file, text = tmp_path / "without_statistics.py", (specs_dir() / "nsa_compress_attention.py").read_text()
    file.write_text("\n".join(line for line in text.splitlines() if 'op.output("softmax' not in line))
    call = arguments([5, 4], [90, 530], kv_heads=2, group=4, **MASKED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bound = load_file(file).bind(**call)
    out, blocks = BACKENDS[backend].run(bound, cores=3)
    expected, _, *statistics = run(backend, call, cores=3)
    assert len(statistics) == 2
    np.testing.assert_array_equal(out, expected)
    assert not wrong_rows(call, blocks)


def test_a_call_without_tokens():
    call = arguments([0, 0], [40, 90])
    for backend in BACKENDS:
        assert [result.shape[0] for result in run(backend, call)] == [0, 0, 0, 0]


@pytest.mark.parametrize("case", ["several tiles", "blocks behind the keys"])
def test_tile_equals_reference(case):
    call = arguments(**CASES[case])
    check(call, run("tile", call))


def test_tasks_follow_each_other_on_a_core():
    call = arguments([70, 3, 50], [300, 2000, 5], group=4, **MASKED)
    check(call, run("emulator", call, cores=1))


def test_strides_of_masks_are_those_of_the_tensors():
    """A host that does not cut larger masks tells their dimensions."""
    call = arguments(**CASES["masks larger than needed"])
    launch = prepare(nsa.bind(**call))
    masks = {name: call[name].view(np.uint8) for name in ("atten_mask", "topk_mask")}
    host = dict(launch.host)
    for name, mask in masks.items():
        for number, size in enumerate(mask.shape):
            assert host[dimension(name, number).name] == size - 7
            host[dimension(name, number).name] = size
    tiling = launch.compiled.program.tiling_values(host)
    whole = replace(launch, host=host, tiling=tiling, arguments={**launch.arguments, **masks})
    tile.interpret(whole)
    check(call, whole.outputs())


def test_equal_scores_go_to_the_lower_index():
    """Uniform probabilities: all blocks but the first and the last have one score."""
    call = arguments([2], [48], hidden=1.0, forced=0.0, count=12)
    assert run("tile", call)[1][0, 0].tolist() == list(range(12))
    call["topk_mask"][0, [7, 3, 11]] = 1
    assert run("tile", call)[1][0, 0].tolist() == [3, 7, 11, 0, 1, 2, 4, 5, 6, 8, 9, 10]


@pytest.mark.parametrize("keys", [40, 500])
def test_a_row_whose_scores_all_overflow_has_no_key(keys):
    """Its maximum is -inf and its sum 0, wherever the lanes of sums begin."""
    call = arguments([3], [keys], group=4, scale=3e38)
    call["query"], call["key"] = (np.abs(call[name]) + np.float16(1) for name in ("query", "key"))
    call["query"][1] *= -1
    outputs = tile.run(nsa.bind(**call))
    assert np.isneginf(outputs[2][1]).all() and (outputs[3][1] == 0).all() and (outputs[0][1] == 0).all()


def test_nan_scores_come_behind_numbers():
    call = arguments([2], [64], hidden=0.0, forced=0.0, count=16)
    call["key"][0] = np.nan
    out, indices, _, _ = run("tile", call)
    assert np.isnan(out.astype(float)).all() and indices[1, 0].tolist() == list(range(16))


def test_a_wrong_selection_is_noticed():
    call = arguments(**CASES["several tiles"])
    indices = run("tile", call)[1]
    assert not wrong_rows(call, indices)
    unseen = int(block_scores(call)[0][2, 1].argmin())
    for rank, value in ((0, indices[2, 1, 1]), (3, unseen), (5, -1), (5, 10_000)):
        changed = indices.copy()
        changed[2, 1, rank] = value
        assert len(wrong_rows(call, changed)) == 1
    swapped = indices.copy()
    swapped[2, 1, [0, -1]] = swapped[2, 1, [-1, 0]]
    assert wrong_rows(call, swapped)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_any_call_on_the_emulator(seed):
    rng = np.random.default_rng(seed)
    call = arguments(**random_case(rng))
    check(call, run("emulator", call, cores=int(rng.choice([1, 2, 24]))))


@pytest.mark.long
@pytest.mark.parametrize(
    "case",
    [
        {
            "queries": [2, 1],
            "keys": [14000, 13999],
            "group": 16,
            "sizes": (64, 64),
            "count": 32,
            "scale": 0.1,
        },
        {"queries": [5], "keys": [14000], "window": (16, 16, 16), "count": 32, "scale": 0.1},
        {"queries": [3, 4], "keys": [300, 500], "group": 64, "sizes": (512, 512), "scale": 0.04},
        {
            "queries": [70],
            "keys": [1030],
            "kv_heads": 4,
            "group": 16,
            "sizes": (192, 128),
            "more_blocks": 4000,
        },
    ],
)
def test_extremes_on_the_emulator(case):
    call = arguments(**case, **MASKED)
    check(call, run("emulator", call))
