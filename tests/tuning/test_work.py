"""Counted work: what a launch does, told by its sizes, and by what the emulator counts of the launch."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.emulator import Knobs, find_compiler
from attndsl.execute.execute import execute
from attndsl.target import Core, Pipe
from attndsl.tuning.bounds import Bounds, _flat, bounds_of, scalars_of
from attndsl.tuning.work import Counter, Work
from tests.support.authored import call_of, with_schedule
from tests.support.devices import DEVICE

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


def counter_of(launch: Launch, core: Core = Core.AIC, *, samples: bool = False) -> Counter:
    """What counts a launch."""
    program = launch.compiled.joint
    scalars = scalars_of(program, launch.tiling, launch.call.arrays)
    return Counter(program, core, scalars, samples=samples)


def works(launch: Launch, core: Core) -> list[Work]:
    """The work of every core of a kind."""
    counter = counter_of(launch, core)
    subs = 1 if core is Core.AIC else 2
    return [counter.work(b, launch.blocks, s) for b in range(launch.blocks) for s in range(subs)]


def read(found: list[Work]) -> dict[str, float]:
    """Bytes read by all cores, by tensor."""
    total: dict[str, float] = {}
    for work in found:
        for tensor, size in work.read.items():
            total[tensor.name] = total.get(tensor.name, 0.0) + size
    return {name: size for name, size in total.items() if size}


def bounds(launch: Launch) -> Bounds:
    return bounds_of(launch.compiled.joint, launch.tiling, {**launch.call.arrays, **launch.call.lists})


def test_products_are_those_of_the_sizes(tmp_path):
    """One fractal of rows, 512 keys, heads of 64: 32 x 4 steps of scores and 4 x 32 of weighted sums."""
    launch = prepare(call_of(with_schedule(tmp_path, split_kv=1), group=16, keys=512, head_dim=64))
    cost = launch.compiled.program.device.costs["Product"]
    found = works(launch, Core.AIC)
    products = 4 + 4  # blocks of 128 keys, four each
    added = 3 * launch.compiled.program.device.rates["accumulate"].value  # to weighted sums, after the first
    expected = products * cost.head + cost.per_unit * 2 * 128 + added
    assert sum(work.cycles[Core.AIC, Pipe.M] for work in found) == pytest.approx(expected)


def test_keys_are_read_once_by_each_task_that_sees_them(tmp_path):
    """Lengths of the batch rows count, and 20 heads in tasks of 16 rows read keys twice."""
    call = call_of(
        with_schedule(tmp_path, max_rows=16), batch=3, group=20, keys=700, lengths=[700, 0, 129], head_dim=64
    )
    found = read(works(prepare(call), Core.AIC))
    assert found["key"] == found["value"] == 2 * (700 + 129) * 64 * 2
    assert found["query"] in (3 * 20 * 64 * 2, 2 * 20 * 64 * 2)  # of the row without keys, or not


def test_equal_parts_are_counted_like_different_ones(tmp_path):
    """What is counted once for tasks of equal numbers is what a count of each task alone gives."""
    operator = with_schedule(tmp_path)
    lengths = [640, 640, 130, 640]
    together = read(works(prepare(call_of(operator, batch=4, keys=640, lengths=lengths)), Core.AIC))
    alone = [read(works(prepare(call_of(operator, keys=640, lengths=[each])), Core.AIC)) for each in lengths]
    assert together["key"] == sum(each["key"] for each in alone)


def test_counts_are_kept_of_some_parts_alone(tmp_path, monkeypatch):
    """Lists of keys that each query has for itself would fill memory: what was counted is counted again."""
    lengths = [640, 130, 640, 130]
    launch = prepare(call_of(with_schedule(tmp_path), batch=4, keys=640, lengths=lengths))
    found = works(launch, Core.AIV)
    monkeypatch.setattr("attndsl.tuning.work._MOST_KNOWN", 3)
    assert works(launch, Core.AIV) == found


def test_memory_passes_a_tensor_once_and_l2_each_read_of_it(tmp_path):
    """Two tasks of 16 heads each read the same keys."""
    once, twice = (
        bounds(prepare(call_of(with_schedule(tmp_path, max_rows=rows, split_kv=1), group=32, keys=4096)))
        for rows in (32, 16)
    )
    assert twice.microseconds["memory"] == once.microseconds["memory"]
    keys, rates = 2 * 4096 * 64 * 2, DEVICE.rates
    more = twice.microseconds["L2"] - once.microseconds["L2"]
    assert more >= 0.99 * DEVICE.microseconds(keys / rates["l2"].value)
    least = DEVICE.microseconds(keys / rates["hbm"].value)
    assert least <= once.microseconds["memory"] <= 1.1 * least


def test_the_busiest_core_bounds_the_time(tmp_path):
    """Five tasks on four cores: one core has two of them."""
    operator = with_schedule(tmp_path, cores=4, split_kv=1)
    four, five = (bounds(prepare(call_of(operator, batch=batch, keys=2048))) for batch in (4, 5))
    assert five.microseconds["AIC MTE1"] == pytest.approx(2 * four.microseconds["AIC MTE1"], rel=0.02)


def test_tensors_of_calls_without_data_are_not_copied():
    """An outline's tensors repeat one zero: 2 TB of them would not fit."""
    huge = np.broadcast_to(np.zeros(1, np.float16), (1 << 20, 1 << 20))
    assert _flat(huge).shape == (1 << 40,) and not any(_flat(huge).strides)
    assert _flat(np.arange(6).reshape(2, 3).T).tolist() == [0, 3, 1, 4, 2, 5]


def test_the_rank_is_above_the_bound_and_grows_with_every_resource():
    one, other = Bounds({"a": 2.0, "b": 1.0}), Bounds({"a": 2.0, "b": 1.9})
    assert one.least == other.least == 2.0 and one.limit == "a"
    assert 2.0 < one.rank < other.rank


@needs_compiler
def test_the_emulator_counts_the_same_work(tmp_path):
    """Busy cycles of pipes that wait for no memory, and bytes, of a kernel with a mask and several tiles."""
    call = call_of(
        with_schedule(tmp_path), batch=2, kv_heads=2, group=8, keys=1500, lengths=[1500, 700], head_dim=128,
        features=frozenset({"attn_mask"}),
    )  # fmt: skip
    launch = prepare(call)
    counters = execute(launch, Knobs(timing=True)).counters
    for core, pipe, least in ((Core.AIC, Pipe.M, 0.98), (Core.AIC, Pipe.MTE1, 0.98), (Core.AIV, Pipe.V, 0.9)):
        counted = sum(work.cycles[core, pipe] for work in works(launch, core))
        busy = counters["busy_by_core"][core.value][pipe.value]
        assert least <= counted / busy <= 1.1, (core, pipe)
    found = sum(read(works(launch, Core.AIC)).values()) + sum(read(works(launch, Core.AIV)).values())
    assert found == pytest.approx(sum(counters["gm_read_bytes"].values()), rel=0.03)


def test_items_have_together_the_work_of_their_block(tmp_path):
    """Three batch rows of other lengths on two blocks."""
    call = call_of(with_schedule(tmp_path, cores=2, split_kv=1), batch=3, keys=3000, lengths=[3000, 700, 1])
    launch = prepare(call)
    counter, whole = counter_of(launch), works(launch, Core.AIC)
    items = [counter.cycles_of_items(Pipe.M, block, launch.blocks) for block in range(launch.blocks)]
    assert [sum(each) for each in items] == [work.cycles[Core.AIC, Pipe.M] for work in whole]
    assert len({cycles for each in items for cycles in each if cycles}) == 3


def test_of_a_long_loop_some_steps_stand_for_the_rest(tmp_path):
    """50,001 keys, a last tile that is not whole: the same work, from less than half of what is counted."""
    call = call_of(with_schedule(tmp_path, split_kv=1), batch=1, keys=50_001, head_dim=64)
    launch = prepare(call)
    exact, sampled = (counter_of(launch, samples=samples) for samples in (False, True))
    found, wanted = (dict(each.work(0, launch.blocks).cycles) for each in (sampled, exact))
    assert found == pytest.approx(wanted, rel=1e-9)
    assert sampled.counted < exact.counted / 2


@pytest.mark.parametrize(
    ("odd", "are_alike"),
    [
        ([], True),
        ([4], False),
        ([3], True),  # at the edge, where each is counted anyway
        (range(4, 201, 6), False),
        (range(5, 201, 8), False),
    ],
    ids=["alike", "one of the middle", "one at the edge", "each third of a half", "each fourth of a half"],
)
def test_steps_that_differ_are_each_counted(tmp_path, odd, are_alike):
    """Where a step that is looked at differs from the others of its half, each is counted. Looked at are the
    first ones, some that lie apart, and with them whatever comes again every few steps."""
    launch = prepare(call_of(with_schedule(tmp_path), keys=64))
    counter, values = counter_of(launch, samples=True), range(201)

    def of(value: int) -> np.ndarray:
        return np.array([2.0 if value in odd else 1.0])

    pairs = list(counter._told_apart(values, of))
    assert sum(times for _, times in pairs) == len(values)
    assert sum(times * of(value)[0] for value, times in pairs) == sum(of(value)[0] for value in values)
    assert (len(pairs) < 20) is are_alike
