"""Legal specs that nobody wrote: each has a kernel or a refusal with a way out, and kernels are right.

The same specs, more of them and timed: ``bench/random_specs.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.campaign.results import PASS
from attndsl.campaign.runner import verify
from attndsl.codegen.kernel_set.kernel_request import wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.compiler.prepare_launch import compiled_for
from attndsl.lowering.errors import NotLowered
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator
from tests.support.random_specs import random_spec

FAST, MANY, EMULATED = range(16), range(16, 2000), range(24)
REFUSED = 0.07
"""The share of specs that may have no kernel: the parts that are drawn are documented to lower."""


def loaded(seed: int, folder: Path) -> Operator:
    file = folder / f"drawn_{seed}.py"
    file.write_text(random_spec(seed), encoding="utf-8")
    return load(str(file))


def refusal(operator: Operator) -> str:
    """Why its default kernel is refused, empty of one that compiles."""
    special = wanted_specializations(operator, KernelRequest())[0].special
    try:
        compiled_for(operator, special)
    except NotLowered as error:
        return str(error)
    return ""


def compile_all(seeds: range, folder: Path) -> None:
    refused = {seed: found for seed in seeds if (found := refusal(loaded(seed, folder)))}
    shown = "\n".join(f"seed {seed}: {found}" for seed, found in refused.items())
    assert len(refused) <= REFUSED * len(seeds), shown
    assert all("has no kernel yet" in found and ".py:" in found for found in refused.values()), shown


def test_random_specs_compile(tmp_path: Path) -> None:
    compile_all(FAST, tmp_path)


@pytest.mark.long
def test_many_random_specs_compile(tmp_path: Path) -> None:
    compile_all(MANY, tmp_path)


def test_a_random_spec_is_verified_by_its_tile_program(tmp_path: Path) -> None:
    found = verify(loaded(3, tmp_path), cases=3, backends=("tile",))
    assert found.ok and found.counts("tile") == {PASS: 3}, found.misses


@pytest.mark.long
@pytest.mark.parametrize("seed", EMULATED)
def test_random_specs_are_verified_on_all_backends(seed: int, tmp_path: Path) -> None:
    found = verify(loaded(seed, tmp_path), cases=2)
    assert found.ok, found.misses


def test_the_generator_draws_each_part() -> None:
    """Parts that it never draws would be checked by nobody."""
    texts = [random_spec(seed) for seed in range(500)]
    for part in (
        "attend.paged", "attend.packed(query", "attend.packed(key", "length=lengths", "sink=",
        "attend.sigmoid(s)", "attend.relu", "p.lse", "p.row_max", "s.where(mask)", "s.where(~mask)",
        "s.replace(mask", "segment[b, i]", "attend.index(j - i)", "weight.at", "attend.when",
        "attend.tanh(s / cap)", "j > i - window", "* channels", "j % 4", "optional=True", "U K E",
    ):  # fmt: skip
        assert sum(part in text for text in texts) >= 3, part
    assert len(set(texts)) == len(texts)
