"""Whatever a spec's author writes, the spec loads or ends in an error of the author's, with its line."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from attndsl.base.errors import UserError
from attndsl.spec.operator.loader import load_file
from tests.support.hostile_specs import hostile_spec

FAST, CHUNK, CHUNKS = 500, 5000, 21
SECONDS = 10.0
"""Of processor time, for one spec: a thousand times what it takes."""


class Hangs(BaseException):
    """A spec took too long."""


@contextmanager
def bounded() -> Iterator[None]:
    """Ends what takes too long; where signals cannot tell, nothing."""

    def stop(*_: Any) -> None:
        raise Hangs

    old = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)


def verdict(seed: int, folder: Path) -> str:
    """What is wrong about how a spec ends; empty when nothing is."""
    file = folder / "fuzzed_spec.py"
    file.write_text(hostile_spec(seed), encoding="utf-8")
    try:
        with bounded():
            load_file(file)
    except UserError as error:
        text = str(error)
        if not text.isprintable() and not all(part.isprintable() for part in text.split("\n")):
            return f"the text cannot be printed: {text!r}"
        if "Hangs" in text:
            return "it hangs"
        if not re.search(r"fuzzed_spec\.py(:\d+|: declares)", text):
            return f"no line of the author's: {text}"
    except BaseException as error:
        return f"{type(error).__name__}: {error!r}"
    return ""


def check(seeds: range, folder: Path) -> None:
    wrong = [(seed, found) for seed in seeds if (found := verdict(seed, folder))]
    shown = "\n".join(f"seed {seed}: {found[:300]}" for seed, found in wrong[:20])
    assert not wrong, f"{len(wrong)} of {len(seeds)} specs:\n{shown}"


def test_hostile_specs(tmp_path: Path) -> None:
    check(range(FAST), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_hostile_specs(chunk: int, tmp_path: Path) -> None:
    check(range(max(FAST, chunk * CHUNK), (chunk + 1) * CHUNK), tmp_path)


def test_the_generator_makes_right_specs_and_wrong_ones(tmp_path: Path) -> None:
    """One without anything hostile would load: what is hostile decides."""
    loaded = 0
    for seed in range(200):
        file = tmp_path / "fuzzed_spec.py"
        file.write_text(hostile_spec(seed), encoding="utf-8")
        try:
            load_file(file)
            loaded += 1
        except UserError:
            pass
    assert 10 <= loaded <= 150
