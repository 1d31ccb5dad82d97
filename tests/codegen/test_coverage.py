"""Which statements of a kernel the launches of a verification reached."""

from __future__ import annotations

import json
import re

import pytest

from attndsl.api import ops
from attndsl.campaign import verify
from attndsl.execute import coverage as module
from attndsl.execute.coverage import Coverage, TooManyStatements
from attndsl.execute.execute import written

from .launches import Case, launch_of

PLAIN = Case("few keys", batch=1, group=2, keys=40)
SPLIT = Case("keys split over two cores", group=2, keys=1104, cores=2)


def test_statements_that_no_launch_reached_are_told_until_one_does() -> None:
    seen = Coverage()
    launch = launch_of(PLAIN, frozenset())
    assert seen.execute(launch).ok
    (kernel,) = seen.kernels()
    assert kernel.file.parent.parent == written(launch.compiled) and kernel.launches == 1
    lines = kernel.file.read_text().split("\n")
    merging = [each for each in kernel.missed if each.function == "MergePartials"]
    assert merging and all(re.split(r"\W", each.text)[0] in lines[each.line - 1] for each in merging)
    assert not any(each.function == "ScoreTile" and "Mmad" in each.text for each in kernel.missed)

    assert seen.execute(launch_of(SPLIT, frozenset())).ok
    (after,) = seen.kernels()
    assert after.launches == 2 and set(after.missed) < set(kernel.missed)
    assert not any(each.text.startswith("Max(newMaxBlocks_") for each in after.missed)
    assert after.reached + len(after.missed) == len(after.statements)


def test_what_another_kernel_reached_is_not_told_of_all() -> None:
    seen = Coverage()
    seen.execute(launch_of(PLAIN, frozenset({"attn_mask"})))
    seen.execute(launch_of(SPLIT, frozenset()))
    masked = next(kernel for kernel in seen.kernels() if "attn_mask" in kernel.file.name)
    assert any(each.function == "MergePartials" for each in masked.missed)
    assert not any(each.text.startswith("Max(newMaxBlocks_") for _, each in seen.never())
    shown = json.loads(json.dumps(seen.to_json()))
    assert [each["file"] for each in shown["kernels"]] == [str(each.file) for each in seen.kernels()]
    text = "\n".join(seen.lines())
    assert all(f"{masked.file.name}:{each.line}: {each.text}" in text for each in masked.missed)


def test_a_verification_runs_what_it_is_told_to_run() -> None:
    seen = Coverage()
    found = verify(ops.relay_attention, only=(0,), backends=("emulator",), execute=seen.execute)
    assert found.ok and [kernel.launches for kernel in seen.kernels()] == [1]


def test_more_statements_than_can_be_kept_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STATEMENTS", 100)
    with pytest.raises(TooManyStatements, match="more than the 100"):
        Coverage().execute(launch_of(PLAIN, frozenset()))
