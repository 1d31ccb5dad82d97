"""What kernels that miss their aim would take without some of their work: the most that cheaper work wins.

    python bench/without_work.py        (two minutes)

Statements are left out of the emitted kernel, which then computes nothing true: its time alone is predicted,
as by `bench/kernels.py`. An aim that is missed without a piece of work is not reached by making that work
cheaper. A statement that no kernel has any more is an error.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from kernel_rows import compressed, prompt, rows, window_mask
from kernels import SELECTION_MOST, figure_of, selection_work

from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.emulator import Knobs
from attndsl.execute.execute import execute, stored
from attndsl.profile.extrapolation import LONGEST_RUN
from attndsl.spec.binding.call import Call


class NoSuchWork(ValueError):
    """A kernel has no statement of the kind that is to be left out."""


@dataclass(frozen=True)
class LeftOut:
    """Statements of a kernel's function. ``head``: an expression for how they begin; empty: all of them."""

    function: str
    head: str = ""

    def of(self, text: str) -> str:
        """A kernel's text without them, its lines as they were.

        Raises:
            NoSuchWork: it has none.
        """
        found = re.search(
            rf"__aicore__ inline \w+ {self.function}\([^{{]*\{{(.*?)\n    \}}\n", text, re.DOTALL
        )
        if found is None:
            raise NoSuchWork(f"no kernel has the function {self.function}")
        body = found[1]
        kept, count = re.subn(
            rf"{self.head}[^;]*;" if self.head else r".+", _lines_alone, body, flags=re.DOTALL
        )
        if not count:
            raise NoSuchWork(f"{self.function} has no statement that begins with {self.head}")
        return text[: found.start(1)] + kept + text[found.end(1) :]


def _lines_alone(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


BARRIER = r"PipeBarrier<PIPE_V>"
KEYS, VALUES = LeftOut("ScoreTile", r"LoadNz\w*\(keyL1"), LeftOut("WeightedTile", r"LoadNz\w*\(valueL1")
WINDOWS, BLOCKS = LeftOut("TakeBlocks", "Gather"), LeftOut("TakeBlocks")
WAITS = (LeftOut("DivideBySums", BARRIER), LeftOut("AddHeads", BARRIER))


@dataclass(frozen=True)
class Study:
    """A call whose kernel has less work: what it is without, in words and in statements."""

    without: str
    call: Callable[[], Call]
    left_out: tuple[LeftOut, ...] = ()


def window_studies() -> Iterator[Study]:
    """Of a prompt with a window: scores that no query sees, keys, values."""

    def prompt_of(size: int) -> Callable[[], Call]:
        return prompt(
            8192, mask=lambda: window_mask(size), maskType="SLIDING_WINDOW_COMPRESS", windowSize=size
        )

    whole, seen = prompt_of(1024), prompt_of(1024 - 128)
    yield Study("-", whole)
    yield Study("loads of values", whole, (VALUES,))
    yield Study("128 keys of each row: as many scores as 1,024 keys without any that is hidden", seen)
    yield Study("these, loads of keys and of values", seen, (KEYS, VALUES))


def selection_studies() -> Iterator[Study]:
    """Of the compressed attention: windows of probabilities, best blocks, waits, keys, values."""
    call = compressed(8192, 8192)
    yield Study("-", call)
    yield Study("`Gather` of windows", call, (WINDOWS,))
    yield Study("barriers of the division and the tree", call, WAITS)
    yield Study("loads of keys and values", call, (KEYS, VALUES))
    yield Study("all three", call, (WINDOWS, *WAITS, KEYS, VALUES))
    yield Study(
        "best blocks, barriers of the division and the tree, loads", call, (BLOCKS, *WAITS, KEYS, VALUES)
    )


def changed(launch: Launch, left_out: tuple[LeftOut, ...]) -> Path:
    """The folder of the launch's project, whose kernel has less work."""
    files, path = dict(device_files([launch.compiled])), kernel_path(launch.compiled)
    for each in left_out:
        files[path] = each.of(files[path])
    return stored(files)


def time_of(study: Study) -> float:
    """Predicted microseconds."""
    launch = prepare(study.call())
    report = execute(launch, Knobs(timing=True), folder=changed(launch, study.left_out), timeout=LONGEST_RUN)
    return float(report.counters["microseconds"])


def main() -> int:
    """Prints the tables."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    by_name = {row.name: row for row in rows()}
    for name, studies in (
        ("prefill S8192 window 1024", window_studies()),
        ("NSA compress T8192 N64/4", selection_studies()),
    ):
        figure = figure_of(by_name[name], None)
        assert figure.demand is not None
        print(f"{name}: {figure.best / figure.demand:.1f} us are asked")
        for study in studies:
            print(f"{time_of(study):10.1f} us without {study.without}", flush=True)
    print(f"NSA importance and top-k: {SELECTION_MOST:g} us of vector time a core are asked")
    for (function, what), spent in sorted(selection_work(None).items(), key=lambda item: -item[1]):
        print(f"{spent:10.1f} us {function} {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
