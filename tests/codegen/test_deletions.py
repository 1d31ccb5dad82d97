"""Deleting any synchronization statement of a generated kernel is reported by the emulator's checks.

Each statement is left out in turn and the kernel run on a few cases until a check finds something; a
crash, an endless loop or a wrong value would not do. The kernel as it is has no finding in any of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache

import pytest

from attndsl.codegen.text.render import runtime

from .launches import Case, launch_of
from .mutants import Switched, Sync, event_groups, is_reported_as_text, place, sync_statements, without

# Ordered so that most deletions fail in the first.
CASES = (
    Case("keys split over two cores, several merge steps each", group=40, keys=1104, cores=2),
    Case("tiles with a tail, an empty row between", batch=3, group=20, keys=1104, lengths=(1104, 0, 600)),
    Case("one query row", batch=2, keys=1600, lengths=(1600, 40)),
    Case("many query rows", batch=2, group=40, keys=48),
    Case("keys split over four cores", group=20, keys=2104, cores=4),
    Case("many short items on two cores", batch=6, group=17, keys=40, cores=2),
    Case("partials of many rows", group=128, keys=1104, cores=2),
    Case("partials of one tile, many a core", 5, group=20, keys=2104, lengths=(600,) * 5, cores=2),
)
BOTH = frozenset({"attn_mask", "pse_shift"})
FEATURES = {"plain": frozenset[str](), "mask_and_bias": BOTH}
# The kernel with both operands has each kind of statement of the plain one, and more of them.
MOSTLY_LONG = [pytest.param("plain", marks=pytest.mark.long), "mask_and_bias"]

# A barrier that no run needs, one a vector step of an item's rows: before rows are written, their sums are
# started or a tile is added to them, which has a barrier. The analysis takes the three conditions as
# independent.
SUPERFLUOUS = ("WriteRows: PipeBarrier<PIPE_V>(); before Maxs(rowSum_[r0 + itemSlot * kRowsPerVector]",)
# A tile of the largest head is one block of keys: its product is no sum of several. The schedule header may
# say otherwise.
ONE_BLOCK = ("WeightedTile: PipeBarrier<PIPE_M>(); before Mmad(productL0",)


@lru_cache(maxsize=2)
def switched(features: frozenset[str]) -> Switched:
    return Switched(launch_of(CASES[0], features).compiled)


def is_reported(features: frozenset[str], absent: Iterable[int]) -> bool:
    kernel, numbers = switched(features), list(absent)
    return any(not kernel.run(launch_of(case, features), numbers).ok for case in CASES)


def in_pairs(work: Callable[..., bool], items: Iterable[object]) -> list[bool]:
    """The work on all items, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, items))


@lru_cache(maxsize=2)
def unreported(features: frozenset[str]) -> tuple[str, ...]:
    """Places of the statements whose deletion no case reports."""
    kernel = switched(features)
    numbers = range(len(kernel.statements))
    reported = in_pairs(lambda number: is_reported(features, [number]), numbers)
    missed = (statement for statement, seen in zip(kernel.statements, reported, strict=True) if not seen)
    return tuple(place(kernel.source, statement) for statement in missed)


@pytest.mark.parametrize("memory", ["l1", "l0a", "l0b", "l0c", "ub"])
def test_storage_that_is_too_small_is_reported(memory):
    source = switched(FEATURES["plain"]).source
    end = f"k{memory.capitalize()}End"
    (call,) = re.findall(rf"Take\w+\(pipe, [^)]*\b{end}\b[^)]*\);", source)
    small = source.replace(call, call.replace(end, f"{end} / 2"))
    assert is_reported_as_text(small, [launch_of(case, FEATURES["plain"]) for case in CASES])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", FEATURES)
def test_the_kernel_itself_has_no_finding(name, case):
    report = switched(FEATURES[name]).run(launch_of(case, FEATURES[name]))
    assert report.ok, report.findings[:3]


@pytest.mark.parametrize("name", FEATURES)
def test_the_statements_are_all_seen(name):
    """The deletions cover every call of a synchronization function that the text holds."""
    source = switched(FEATURES[name]).source
    at_the_end = r"(?!PIPE_ALL>\(\);  // as TPipe)"  # which stands for a destructor, not for an order
    calls = re.findall(
        rf"SetFlag<|WaitFlag<|SetAndWaitFlag<|PipeBarrier<{at_the_end}|CrossCoreWaitFlag\(", source
    )
    found = sync_statements(source)
    assert len(found) == len(calls)
    events = {"SetFlag", "WaitFlag", "SetAndWaitFlag"}
    kinds = events | {"PipeBarrier", "CrossCoreSetFlag", "CrossCoreWaitFlag"}
    assert {statement.kind for statement in found} == kinds


@pytest.mark.parametrize("name", MOSTLY_LONG)
def test_each_deletion_is_reported(name):
    assert unreported(FEATURES[name]) == SUPERFLUOUS


@pytest.mark.parametrize("name", MOSTLY_LONG)
def test_events_left_out_with_all_their_statements_are_reported(name):
    """An event taken out as a whole leaves sets and waits balanced: only the race check can notice."""
    groups = event_groups(switched(FEATURES[name]).statements)
    reported = in_pairs(lambda event: is_reported(FEATURES[name], groups[event]), groups)
    assert [event for event, seen in zip(groups, reported, strict=True) if not seen] == []


def _last_of_each_kind(statements: list[Sync]) -> list[Sync]:
    return list({statement.kind: statement for statement in statements}.values())


def _text_is_reported(features: frozenset[str], statement: Sync) -> bool:
    text = without(switched(features).source, statement)
    return is_reported_as_text(text, (launch_of(case, features) for case in CASES))


def test_deleting_the_text_does_what_the_switch_does():
    sample = _last_of_each_kind(switched(BOTH).statements)
    assert len(sample) == 6
    assert all(in_pairs(lambda statement: _text_is_reported(BOTH, statement), sample))


def test_each_barrier_of_the_runtime_header_is_missed():
    """Those between the steps of a merge. The header, without one, stands in front of the kernel."""
    header = runtime("op_kernel/attndsl_kernel.h")
    barriers = [match.span() for match in re.finditer(r"AscendC::PipeBarrier<PIPE_V>\(\);", header)]
    launches = [launch_of(CASES[0], FEATURES["plain"])]

    def reported(span: tuple[int, int]) -> bool:
        without_it = header[: span[0]] + header[span[1] :]
        return is_reported_as_text(without_it + switched(FEATURES["plain"]).source, launches)

    assert not reported((0, 0))
    assert len(barriers) == 5 and in_pairs(reported, barriers) == [True] * 5


@pytest.mark.long
@pytest.mark.parametrize("name", FEATURES)
def test_each_textual_deletion_is_reported(name):
    kernel = switched(FEATURES[name])
    reported = in_pairs(lambda statement: _text_is_reported(FEATURES[name], statement), kernel.statements)
    missed = [s for s, seen in zip(kernel.statements, reported, strict=True) if not seen]
    assert sorted(place(kernel.source, statement) for statement in missed) == list(SUPERFLUOUS)


@pytest.mark.long
@pytest.mark.parametrize(("head_dim", "dtype"), [(208, "bfloat16"), (512, "float16"), (80, "float16")])
def test_each_deletion_is_reported_at_other_head_sizes(head_dim, dtype):
    cases = [replace(case, head_dim=head_dim, dtype=dtype) for case in CASES]
    kernel = Switched(launch_of(cases[0], BOTH).compiled)
    numbers = range(len(kernel.statements))
    assert all(kernel.run(launch_of(case, BOTH)).ok for case in cases)
    reported = in_pairs(
        lambda number: any(not kernel.run(launch_of(case, BOTH), [number]).ok for case in cases), numbers
    )
    missed = (kernel.statements[number] for number in numbers if not reported[number])
    superfluous = SUPERFLUOUS + (ONE_BLOCK if head_dim == 512 else ())
    assert sorted(place(kernel.source, statement) for statement in missed) == sorted(superfluous)
