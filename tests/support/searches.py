"""Searches for cases of a mode, with stubs in the place of what takes time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attndsl.verify.cases import mode_search
from attndsl.verify.cases.cases import Stream
from attndsl.verify.cases.mode_search import ModeSearch
from attndsl.verify.cases.wanted_kernel import WantedKernel
from tests.support.case_spaces import space_of

OPERATOR = space_of("sigmoid").operator
FOUND: Any = ("case", "call")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def search(
    *, of: str = "sigmoid", kernels: int = 0, takes: Callable[[Any], bool] = lambda call: True, **more: Any
) -> ModeSearch:
    """A search of a mode, for so many kernels, that has begun."""
    operator = space_of(of).operator
    kernel: dict[str, Any] = {"pins": {}, "likely": {}, "sizes": {}, **more}
    wanted = [WantedKernel(name=f"k{n}", mode=operator, takes=takes, **kernel) for n in range(kernels)]
    (found,) = Stream(operator, kernels=wanted).members
    found._never, found._heavy = {}, set()
    return found


def stub_searches(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The pins of each search for an assignment; each finds one, and a case with it that is affordable."""
    found: list[dict[str, Any]] = []

    def solved(space: Any, rng: Any, pins: dict[str, Any], **how: Any) -> dict[str, Any]:
        found.append({**pins, "walks": how.get("walks"), "most": space.values.most_elements})
        return dict(pins)

    monkeypatch.setattr(mode_search, "solve", solved)
    monkeypatch.setattr(mode_search, "is_contradiction", lambda space, pins: False)
    monkeypatch.setattr(mode_search, "drawn_case", lambda *_, **__: FOUND)
    monkeypatch.setattr(mode_search, "pairs", lambda assignment: set())
    monkeypatch.setattr(mode_search, "may_matter", lambda call, feature: True)
    monkeypatch.setattr(mode_search, "unbounded", lambda space, assignment: {**assignment, "far": True})
    monkeypatch.setattr(ModeSearch, "_is_affordable", lambda self, case, call, workload: True)
    monkeypatch.setattr(ModeSearch, "_taken", lambda self, case, call: (case, call))
    monkeypatch.setattr(type(space_of("sigmoid")), "canonical", lambda self, assignment: assignment)
    return found
