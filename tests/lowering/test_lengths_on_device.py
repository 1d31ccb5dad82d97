"""Lengths that the host has not seen: a core takes no more rows than the tensors have, whatever they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.compiler.prepare_launch import prepare
from attndsl.execute.execute import execute

KEYS = 40


def result(length: int, kept: int) -> tuple[np.ndarray, bool]:
    """The result with ``kept`` as the length of all sequences on the device, ``length`` on the host; and
    whether the emulator has nothing to report."""
    rng = np.random.default_rng(0)
    query, *rows = (rng.standard_normal((2, 2, size, 16)).astype(np.float16) for size in (1, KEYS, KEYS))
    lengths = np.full(2, length, np.int64)
    launch = prepare(
        ops.incre_flash_attention.bind(
            query=query, key=[rows[0]], value=[rows[1]], actual_seq_lengths=lengths, num_heads=2,
            input_layout="BNSD",
        ),
        2,
    )  # fmt: skip
    changed = replace(
        launch, arguments={**launch.arguments, "actual_seq_lengths": np.full(2, kept, np.int64)}
    )
    report = execute(changed)
    return changed.arguments["attention_out"], not report.findings


@pytest.mark.parametrize("kept", [KEYS + 1, 512, 1 << 40])
def test_a_length_above_the_capacity_reads_the_keys_that_there_are(kept):
    found, clean = result(KEYS, kept)
    expected, _ = result(KEYS, KEYS)
    assert clean
    np.testing.assert_array_equal(found, expected)


def test_a_length_below_the_capacity_is_taken_as_it_is():
    found, clean = result(KEYS, KEYS - 1)
    expected, _ = result(KEYS - 1, KEYS - 1)
    assert clean
    np.testing.assert_array_equal(found, expected)
    assert (found != result(KEYS, KEYS)[0]).any()


@pytest.mark.parametrize("kept", [0, -1, -(1 << 40)])
def test_no_length_and_less_give_zeros(kept):
    found, clean = result(KEYS, kept)
    assert clean and not found.any()
