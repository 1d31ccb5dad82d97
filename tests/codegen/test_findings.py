"""Legal calls run without findings: what the emulator's checks say about the shipped kernels."""

import numpy as np
import pytest

from attndsl.execute.execute import execute
from attndsl.reference import run as reference

from .launches import Case, launch_of

# Lengths that end inside a byte of the mask's bits, inside a block, and beyond a tile.
KEYS = (1, 12, 16, 76, 88, 513)


@pytest.mark.parametrize("keys", KEYS)
def test_a_first_tile_of_any_length_with_a_mask(keys):
    report = execute(launch_of(Case("mask", keys=keys), frozenset({"attn_mask"})))
    assert report.ok, report.findings[:3]


@pytest.mark.parametrize("keys", KEYS)
def test_a_first_tile_of_any_length_with_a_bias(keys):
    report = execute(launch_of(Case("bias", keys=keys), frozenset({"pse_shift"})))
    assert report.ok, report.findings[:3]


def test_key_rows_farther_apart_than_one_copy_can_express():
    """256 heads of 272 elements: the pitch of a key row exceeds 65535, so rows are copied one by one."""
    case = Case("pitch", kv_heads=256, keys=3, head_dim=272, layout="BSH", cores=24)
    launch = launch_of(case, frozenset())
    assert launch.tiling["keyStrideT"] > 65535
    report = execute(launch)
    assert report.ok, report.findings[:3]
    (expected,) = reference.run(launch.call)
    np.testing.assert_allclose(launch.outputs()[0].astype(float), expected.astype(float), atol=2**-8)
