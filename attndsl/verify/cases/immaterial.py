"""Why a feature matters in no case: no legal call gives it anything to decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attndsl.verify.cases.case import drawn_case
from attndsl.verify.cases.features import declared_features, possible_features
from attndsl.verify.cases.other_calls import may_matter
from attndsl.verify.space.solve import is_contradiction, solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import WORKLOAD

ONLY_VALUE = "no other value is legal"
UNREAD = "nothing that is computed or stored depends on it"
_WALKS = 10
_CALLS = 16
"""Legal calls with a feature that are looked at."""
_DRAWN = 40


def why_immaterial(space: CaseSpace, feature: str) -> str | None:
    """Why a feature of an operator, as :func:`~attndsl.verify.cases.features.possible_features` names it,
    cannot matter; None where it may. Both answers come from searches for legal calls."""
    possible = possible_features(space)
    if feature not in possible:
        return None
    rng = np.random.default_rng(0)
    named, value = feature.partition("=")[::2]
    if value:
        others = (pins for each, pins in possible.items() if each.startswith(f"{named}=") and each != feature)
        if not any(_is_legal(space, rng, pins) for pins in others):
            return ONLY_VALUE
    return None if _may_matter(space, rng, feature, possible[feature]) else UNREAD


def _is_legal(space: CaseSpace, rng: np.random.Generator, pins: Mapping[str, Any]) -> bool:
    pinned = {**pins, WORKLOAD: "any"}
    return not is_contradiction(space, pinned) and solve(space, rng, pinned, walks=_WALKS) is not None


def _may_matter(space: CaseSpace, rng: np.random.Generator, feature: str, pins: Mapping[str, Any]) -> bool:
    seen = 0
    for _ in range(_DRAWN):
        assignment = solve(space, rng, {**pins, WORKLOAD: "any"})
        drawn = None if assignment is None else drawn_case(space.operator, space, assignment, rng)
        if drawn is None or feature not in declared_features(drawn[1]):
            continue
        if may_matter(drawn[1], feature):
            return True
        if (seen := seen + 1) == _CALLS:
            break
    return seen == 0
