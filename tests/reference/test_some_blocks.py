"""A run of some blocks of queries gives for their rows what a run of all gives."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl import ops
from attndsl.reference.run import run, run_some


@pytest.mark.parametrize("tasks", [1, 3, 6, 50])
def test_rows_of_some_blocks(tasks: int) -> None:
    """Six blocks of one query: those that are chosen are whole, those between are NaN."""
    rng = np.random.default_rng(1)
    query = rng.standard_normal((3, 2, 1, 16)).astype(np.float16)
    key, value = (rng.standard_normal((3, 2, 9, 16)).astype(np.float16) for _ in range(2))
    call = ops.incre_flash_attention.bind(
        query, [key], [value], num_heads=2, scale_value=0.25, input_layout="BNSD"
    )
    (whole,), ((some,), left_out) = run(call), run_some(call, tasks)
    computed = ~np.isnan(some.astype(np.float32)).any(axis=(2, 3))
    assert computed.sum() == min(tasks, 6) == 6 - len(left_out) and computed[0, 0]
    assert np.array_equal(some[computed], whole[computed])
    missing = {(b, k, 0, 1) for b, k in np.ndindex(3, 2) if not computed[b, k]}
    assert left_out == missing, "batch row, key/value head, first query, the one after the last"
