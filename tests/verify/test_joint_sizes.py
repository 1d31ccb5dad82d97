"""Sizes that are chosen together keep all clauses; where none do, none are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.base.package_files import specs_dir
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.cases import spaces
from attndsl.verify.space.joint_sizes import JointSizes
from attndsl.verify.space.values import GROUP, WORKLOAD

(SIGMOID,) = spaces(load(str(specs_dir() / "variants" / "sigmoid.py")))
MOST = 2000


def joint(workload: str, most: int = MOST, **pinned: Any) -> JointSizes:
    """The sizes to choose for a workload, the first values of all variables standing."""
    pins = {**pinned, WORKLOAD: workload}
    assignment = {**{name: values[0] for name, values in SIGMOID.variables.items()}, **pins}
    return JointSizes.of(SIGMOID, assignment, SIGMOID.environment(assignment), pins, most)


@pytest.mark.parametrize("workload", ["several few", "long", "edge many", "wide"])
def test_sizes_are_found_that_keep_all_clauses(workload: str) -> None:
    """Also where the values that stand break several which ask for opposite changes."""
    sizes = joint(workload)
    found = sizes.solved(np.random.default_rng(0))
    assert found is not None and set(found) == {"B", "N", "K", "S", "D", GROUP}
    assert SIGMOID.violated(SIGMOID.environment({**sizes.assignment, **found})) == []


def test_what_is_pinned_stays() -> None:
    found = joint("several few", D=100, B=2).solved(np.random.default_rng(0))
    assert found is not None and found.keys().isdisjoint({"D", "B"})


def test_sizes_that_no_call_has_are_found_out() -> None:
    """Rows of 4,096 queries and keys have four times the scores that a case may have; those of 2,049 do not
    exist, and those of 1,537 have a few."""
    beyond = joint("long", S=4096)
    assert beyond.solved(np.random.default_rng(0)) is None
    assert beyond.made < MOST, "it was found out, not given up"
    assert joint("long", S=1537).solved(np.random.default_rng(0)) is not None


def test_a_search_is_bounded() -> None:
    assert joint("deep many", most=10).solved(np.random.default_rng(0)) is None


def test_only_what_sizes_can_repair_is_repaired_by_them() -> None:
    """A clause of the layouts or fills is none of theirs."""
    sizes = joint("long")
    by_sizes = [each for each in SIGMOID.clauses if "S" in each.variables]
    others = [each for each in SIGMOID.clauses if not {"B", "N", "K", "S", "D", GROUP} & {*each.variables}]
    assert by_sizes and sizes.repairs(by_sizes)
    assert others and not sizes.repairs([*by_sizes, others[0]])
