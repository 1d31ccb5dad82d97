"""Functions that are made of several instructions, held against float64 over all that fp32 can hold."""

import numpy as np
import pytest

from attndsl.base.source_location import UNKNOWN_LINE
from attndsl.lowering.emit.loop_scalars import SPAN
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.operands.elementwise_ops import OPERATIONS
from attndsl.tile.buffers import Region

from .bench import Bench, buffer

RNG = np.random.default_rng(0)
SIZES = 10.0 ** RNG.uniform(-30, 38, 20000)
NUMBERS = np.concatenate([np.linspace(-20, 20, 200001), np.linspace(-0.01, 0.01, 10001), SIZES, -SIZES])
NUMBERS = np.append(NUMBERS, [0.0, np.inf, -np.inf, -1e12]).astype(np.float32)


def computed(op: str) -> np.ndarray:
    """The operation of all numbers, by the meanings of its instructions."""
    count, made = NUMBERS.size, {}

    def scratch(name: str) -> Region:
        return whole(made.setdefault(name, buffer(name, "float32", count)), 0, SPAN)

    values, bench = buffer("values", "float32", count), Bench(span=count)
    bench.put(values, NUMBERS)
    own = OPERATIONS[op].own
    assert own is not None
    for instruction in own(whole(values, 0, SPAN), scratch, UNKNOWN_LINE):
        instruction.run(bench)
    return bench.slot(values)


def test_tanh() -> None:
    found, exact = computed("tanh"), np.tanh(NUMBERS.astype(np.float64))
    assert (np.abs(found - exact) <= 5e-7 * np.abs(exact)).all()
    assert np.abs(found).max() <= 1


def test_sigmoid() -> None:
    with np.errstate(over="ignore"):
        exact = 1 / (1 + np.exp(-NUMBERS.astype(np.float64)))
    found = computed("sigmoid")
    assert np.abs(found - exact).max() <= 1.2e-7
    normal = exact > 1e-37  # smaller ones have fewer digits in fp32
    assert (np.abs(found - exact) <= 4e-7 * exact)[normal].all()


@pytest.mark.parametrize("op", ["tanh", "sigmoid"])
def test_nothing_else_comes_of_nan(op: str) -> None:
    """The near twin of what is clamped: a NaN among scores stays one."""
    first = NUMBERS[0]
    try:
        NUMBERS[0] = np.nan
        assert np.isnan(computed(op)[0])
        assert not np.isnan(computed(op)[1:]).any()
    finally:
        NUMBERS[0] = first
