"""What kernels that miss their aim would take without some of their work: the most that cheaper work wins.

    python bench/without_work.py        (two minutes)

Statements are left out of the emitted kernel, which then computes nothing true: its time alone is predicted,
as by `bench/kernels.py`. If an aim is missed even without some work, making that work cheaper cannot reach
it. A statement that no kernel has any more is an error.
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
from kernels import SELECTION_MOST, TOKENS, TRACED_TOKENS, figure_of, selection_work

from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.emulator import Knobs
from attndsl.execute.execute import execute, stored
from attndsl.profile.extrapolation import LONGEST_RUN
from attndsl.profile.profile import profile_call
from attndsl.profile.spans import functions_of
from attndsl.spec.binding.call import Call


class NoSuchWork(ValueError):
    """A kernel has no statement of the kind that is to be left out."""


@dataclass(frozen=True)
class LeftOut:
    """Statements of a kernel's function: all, or those that begin with ``head``, a regular expression."""

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
            rf"(?<![\w:])(?:{self.head})[^;]*;" if self.head else r".+", _line_breaks, body, flags=re.DOTALL
        )
        if not count:
            raise NoSuchWork(f"{self.function} has no statement that begins with {self.head}")
        return text[: found.start(1)] + kept + text[found.end(1) :]


def _line_breaks(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


BARRIER = r"PipeBarrier<PIPE_V>"
KEYS, VALUES = LeftOut("ScoreTile", r"LoadNz\w*\(keyL1"), LeftOut("WeightedTile", r"LoadNz\w*\(valueL1")
GATHERS, BEST_BLOCKS = LeftOut("TakeBlocks", "Gather"), LeftOut("TakeBlocks")
BARRIERS = (LeftOut("DivideBySums", BARRIER), LeftOut("AddHeads", BARRIER))


@dataclass(frozen=True)
class Study:
    """A call whose kernel has less work. ``name``: what it is without, in words."""

    name: str
    call: Callable[[], Call]
    left_out: tuple[LeftOut, ...] = ()


def window_studies() -> Iterator[Study]:
    """Of a prompt with a window: scores that no query sees, keys, values."""

    def prompt_of(size: int) -> Callable[[], Call]:
        return prompt(
            8192, mask=lambda: window_mask(size), maskType="SLIDING_WINDOW_COMPRESS", windowSize=size
        )

    whole, seen = prompt_of(1024), prompt_of(1024 - 128)
    yield Study("the kernel", whole)
    yield Study("without loads of values", whole, (VALUES,))
    yield Study("a window of 896: bands of 128 rows see 1,024 keys", seen)
    yield Study("a window of 896, without loads of keys and values", seen, (KEYS, VALUES))


def selection_studies() -> Iterator[Study]:
    """Of the compressed attention: windows of probabilities, best blocks, waits, keys, values."""
    call = compressed(8192, 8192)
    yield Study("the kernel", call)
    yield Study("without the Gathers of windows", call, (GATHERS,))
    yield Study("without barriers of the division and the tree", call, BARRIERS)
    yield Study("without loads of keys and values", call, (KEYS, VALUES))
    yield Study("without these Gathers, barriers and loads", call, (GATHERS, *BARRIERS, KEYS, VALUES))
    yield Study("without best blocks, these barriers and loads", call, (BEST_BLOCKS, *BARRIERS, KEYS, VALUES))


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


def conflicts_of_tree() -> float:
    """Microseconds a core that bank conflicts take the additions of heads, for the whole problem."""
    call = compressed(TRACED_TOKENS, TOKENS)()
    found, functions = profile_call(call), functions_of(prepare(call).compiled)
    lines = [line for line in found.bank_conflicts if functions.get(line) == "AddHeads"]
    cycles = sum(found.bank_conflicts[line] for line in lines)
    return found.device.microseconds(cycles) / found.device.aiv * TOKENS / TRACED_TOKENS


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
        assert figure.asked is not None
        print(f"{name}: {figure.best / figure.asked:.1f} us are asked")
        for study in studies:
            print(f"{time_of(study):10.1f} us {study.name}", flush=True)
    print(f"NSA importance and top-k: {SELECTION_MOST:g} us of vector time a core are asked")
    work = selection_work(None)
    whole = sum(work.values())
    rest = whole - work["TakeBlocks", "Gather"]
    print(f"{whole:10.1f} us the kernel")
    print(f"{rest:10.1f} us without the Gathers of windows")
    print(f"{rest - conflicts_of_tree():10.1f} us without them, and without bank conflicts of the tree")
    for (function, what), spent in sorted(work.items(), key=lambda item: -item[1]):
        print(f"{spent:14.1f} us {function} {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
