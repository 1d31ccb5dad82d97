"""The text of nodes is the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys

from attndsl.base.source_location import UNKNOWN_LINE
from attndsl.graph.graph import structure
from attndsl.graph.nodes import Choose, Input

SCRIPT = """
from tests.graph.test_structure import chosen
print(chosen())
"""


def chosen() -> str:
    """A choice that needs several inputs, as text."""
    axes = ("B", "N")
    first, second = (
        Input(name=name, dtypes=("float16",), optional=True, axes=axes, where=UNKNOWN_LINE) for name in "ab"
    )
    needs = frozenset({"table", "b", "lengths", "scale", "offset"})
    node = Choose(needs=(needs,), alternatives=(first, second), axes=axes, where=UNKNOWN_LINE)
    return structure((first, second, node))


def test_names_of_a_set_are_told_in_order() -> None:
    told = "frozenset({'b', 'scale', 'table', 'offset', 'lengths'})"
    assert chosen().splitlines()[-1] == f"Choose(needs=[{told}], alternatives=[%0, %1]) (B, N)"


def test_names_of_a_set_are_told_alike_under_every_hash_seed() -> None:
    """A set of these names has another order under each of the two."""
    texts = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "13")
    }
    assert texts == {f"{chosen()}\n"}
