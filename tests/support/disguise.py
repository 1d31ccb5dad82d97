"""Backends that tests put in place of attndsl's own."""

from collections.abc import Callable
from typing import Any

from attndsl.base.provenance import note, noted
from attndsl.campaign.judging import ENGINES


def posing_as(backend: str, run: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``run`` as a backend whose results pass for those of ``backend``, whatever computes them."""

    def disguised(call: Any) -> Any:
        with noted():
            found = run(call)
        note(ENGINES[backend])
        return found

    return disguised
