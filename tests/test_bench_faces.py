"""What ``bench/both_faces.py`` makes of the launches of each kernel."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import both_faces

from attndsl.execute.second_face import Difference


@pytest.mark.parametrize(
    ("difference", "of_counts"),
    [
        (Difference((), (), {"V": 12}), True),
        (Difference(("out",), (), {"V": 12}), False),
        (Difference((), ("racecheck/write_after_read",), {}), False),
    ],
)
def test_numbers_of_instructions_are_told_from_results(difference: Difference, of_counts: bool):
    text = str(difference)
    assert both_faces.is_of_counts(text) is of_counts
    lines = list(both_faces.report([both_faces.Seen("kernel", 3, {text: 2}, "")], 1.0))
    assert lines[0] == f"kernel: 2 x {text}"
    told = "2 with other instructions alone, 0" if of_counts else "0 with other instructions alone, 2"
    assert lines[1] == "1 kernels, 3 launches on both faces, 0 kernels missed a case"
    assert lines[2].startswith(f"1 launches alike, {told} with other bits or findings")


def test_a_kernel_that_misses_a_case_is_named():
    seen = [both_faces.Seen("one", 1, {}, "case 0: miss, a wrong value"), both_faces.Seen("two", 1, {}, "")]
    assert list(both_faces.report(seen, 1.0))[:2] == [
        "one: missed case 0: miss, a wrong value",
        "2 kernels, 2 launches on both faces, 1 kernels missed a case",
    ]


def test_each_kernel_of_a_project_is_a_job_of_its_own():
    variant = both_faces.SHELF / "sinks.py"
    jobs = list(both_faces.kernel_jobs([str(variant)], Path("cann"), 1))
    assert [job.arguments[0].kernel for job in jobs] == ["sinks_float16_d128", "sinks_bfloat16_d128"]
    others = list(both_faces.kernel_jobs([str(variant)], Path("cann"), 2))
    assert len({job.key for job in (*jobs, *others)}) == 4
