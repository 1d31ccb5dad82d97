"""A kernel called from a device host may get one length for all batch rows; from Python it never does."""

from dataclasses import replace

import numpy as np

from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.execute.execute import execute
from attndsl.spec.operator.loader import load
from attndsl.tile_interpreter.run import interpret


def launches() -> tuple[Launch, Launch]:
    """The same call with its length repeated for every row, and given once."""
    rng = np.random.default_rng(5)
    query = rng.standard_normal((3, 4, 1, 16)).astype(np.float16)
    key, value = (rng.standard_normal((3, 2, 90, 16)).astype(np.float16) for _ in range(2))
    call = load("incre_flash_attention").bind(
        query,
        [key],
        [value],
        actual_seq_lengths=[70, 70, 70],
        num_heads=4,
        num_key_value_heads=2,
        input_layout="BNSD",
    )
    repeated = prepare(call)
    host = {**repeated.host, "host.actualSeqLengthsCount": 1}
    once = replace(
        prepare(call),
        host=host,
        tiling=repeated.compiled.program.tiling_values(host),
        arguments={**prepare(call).arguments, "actual_seq_lengths": np.array([70], np.int64)},
    )
    return repeated, once


def test_one_length_stands_for_all_rows() -> None:
    for run in (interpret, lambda launch: execute(launch).raise_for_findings()):
        repeated, once = launches()
        run(repeated), run(once)
        assert np.any(repeated.outputs()[0])
        assert np.array_equal(repeated.outputs()[0], once.outputs()[0])
