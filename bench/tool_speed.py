"""How fast the command answers and compiles, against what it takes to import NumPy and Jinja.

Each command runs several times, in turns with ``python -c "import numpy, jinja2"``; judged is the ratio of
the fastest runs in wall seconds, NumPy on one thread: several processes at once are one of the means by which
commands are fast, and processor seconds do not show what they save. The ratio in processor seconds, child
processes included, stands beside it: on a busy machine it tells more. Cold: in empty folders, with an empty
cache of attndsl; its modules have their bytecode, as NumPy's have, since pip compiles what it installs.
Unchanged: into a folder that has all files already. After these commands each specialization that they
compile is compiled once in this process alone; its limits are processor seconds of a machine on which the
imports take 0.12 s.

    python bench/tool_speed.py             (prints a table; --json for data; exit code 1 above a limit)
    python bench/tool_speed.py --quick     (one run of each, without the projects of all operators)
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import attndsl
from attndsl.base.garbage import seldom_collected
from attndsl.codegen.kernel_set.kernel_request import wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.compiler.compile import compile_operator
from attndsl.lowering.errors import NotLowered
from attndsl.spec.operator.loader import load, shipped_names

UNIT = (sys.executable, "-c", "import numpy, jinja2")
UNIT_SECONDS = 0.12
"""What UNIT takes on the machine that the limits in seconds are meant for."""
MEDIAN_COMPILATION, WORST_COMPILATION = 0.15, 0.4
OPERATOR = "incre_flash_attention"


@dataclass(frozen=True, kw_only=True)
class Timed:
    """A command and its limit.

    Attributes:
        limit: times UNIT's seconds.
        arguments: of ``attndsl``, with {out} for the folder that is written to.
        runs: how often it runs at most.
        cold: nothing is left of earlier runs; else each run finds what the one before left.
        seconds: the fewest processor seconds of a run; ``wall``: the fewest wall seconds.
    """

    name: str
    limit: float
    arguments: tuple[str, ...]
    runs: int
    cold: bool = False
    seconds: float = float("inf")
    wall: float = float("inf")


COMMANDS = (
    Timed(name="--help", limit=4.5, arguments=("--help",), runs=5),
    Timed(name="list", limit=4.5, arguments=("list",), runs=5),
    Timed(name=f"show {OPERATOR}", limit=4.5, arguments=("show", OPERATOR), runs=5),
    Timed(name="doctor", limit=4.5, arguments=("doctor",), runs=5),
    Timed(
        name=f"generate {OPERATOR}, cold",
        limit=22,
        arguments=("generate", OPERATOR, "--out", "{out}"),
        runs=3,
        cold=True,
    ),
    Timed(
        name=f"generate {OPERATOR}, unchanged",
        limit=4,
        arguments=("generate", OPERATOR, "--out", "{out}"),
        runs=3,
    ),
    Timed(name="generate, cold", limit=180, arguments=("generate", "--out", "{out}"), runs=2, cold=True),
    Timed(name="generate, unchanged", limit=13, arguments=("generate", "--out", "{out}"), runs=2),
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the table: processor and wall seconds, and both in the unit of the limit; ``judged``: which of
    the two the limit is for, "wall" or "processor"."""

    name: str
    seconds: float
    wall: float
    by_processor: float
    by_wall: float
    judged: str
    limit: float
    unit: str

    @property
    def holds(self) -> bool:
        """Whether it is within its limit."""
        return (self.by_wall if self.judged == "wall" else self.by_processor) <= self.limit


@dataclass(frozen=True, slots=True)
class Taken:
    """Processor and wall seconds of a run."""

    seconds: float
    wall: float


def taken_by(command: tuple[str, ...], cache: Path) -> Taken:
    """What a command takes with its own cache folder.

    Raises:
        subprocess.CalledProcessError: the command fails.
    """
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    before, started = _of_children(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return Taken(_of_children() - before, time.perf_counter() - started)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def once(timed: Timed, folder: Path) -> Taken:
    """What one run takes; ``folder`` is kept between runs of the same command."""
    if not timed.cold:
        return taken_by(_words(timed, folder), folder / "cache")
    with tempfile.TemporaryDirectory() as name:
        return taken_by(_words(timed, Path(name)), Path(name) / "cache")


def _words(timed: Timed, folder: Path) -> tuple[str, ...]:
    arguments = (word.replace("{out}", str(folder / "out")) for word in timed.arguments)
    return (sys.executable, "-m", "attndsl", *arguments)


def commands(chosen: tuple[Timed, ...], quick: bool) -> tuple[Taken, tuple[Timed, ...]]:
    """The fastest run of UNIT, and the commands with theirs; UNIT runs in front of each of their runs."""
    units, found = list[Taken](), list[Timed]()
    for timed in chosen:
        with tempfile.TemporaryDirectory() as name:
            folder, taken = Path(name), list[Taken]()
            if not timed.cold:
                once(timed, folder)
            for _ in range(1 if quick else timed.runs):
                units.append(taken_by(UNIT, folder))
                taken.append(once(timed, folder))
        found.append(replace(timed, **asdict(_fastest(taken))))
    return _fastest(units), tuple(found)


def _fastest(runs: list[Taken]) -> Taken:
    return Taken(min(each.seconds for each in runs), min(each.wall for each in runs))


def compilations(names: tuple[str, ...]) -> Iterator[tuple[str, Taken]]:
    """Each specialization that ``attndsl generate`` makes of some operators, with what it takes there: what
    one leaves in cycles is not looked through in the time of the next."""
    with seldom_collected():
        for name in names:
            operator = load(name)
            for each in (operator, *operator.modes):
                for wanted in wanted_specializations(each, KernelRequest()):
                    label = f"{each.name} {wanted.special}"
                    try:
                        yield label, taken_here(partial(compile_operator, each, wanted.special))
                    except NotLowered:
                        continue


def taken_here(work: Callable[[], object]) -> Taken:
    """What a call in this process takes."""
    before, started = time.process_time(), time.perf_counter()
    work()
    return Taken(time.process_time() - before, time.perf_counter() - started)


def measure(quick: bool) -> tuple[tuple[Figure, ...], str]:
    """All figures, and which specialization took longest."""
    compileall.compile_dir(Path(attndsl.__file__).parent, quiet=1)
    chosen = tuple(each for each in COMMANDS if not quick or each.arguments[:2] != ("generate", "--out"))
    unit, found = commands(chosen, quick)
    figures = [Figure("import numpy, jinja2", unit.seconds, unit.wall, 1, 1, "wall", 1, "times")]
    for each in found:
        ratios = each.seconds / unit.seconds, each.wall / unit.wall
        figures.append(Figure(each.name, each.seconds, each.wall, *ratios, "wall", each.limit, "times"))
    taken = sorted(compilations((OPERATOR,) if quick else shipped_names()), key=lambda each: each[1].seconds)
    for name, (_, one), limit in (
        ("a compilation, median", taken[len(taken) // 2], MEDIAN_COMPILATION),
        ("a compilation, worst", taken[-1], WORST_COMPILATION),
    ):
        scaled = one.seconds * UNIT_SECONDS / unit.seconds, one.wall * UNIT_SECONDS / unit.wall
        figures.append(Figure(name, one.seconds, one.wall, *scaled, "processor", limit, "s, scaled"))
    return tuple(figures), taken[-1][0]


def table(figures: tuple[Figure, ...]) -> str:
    """The figures as text, a line each."""
    head = f"{'':44} {'seconds':>9} {'wall':>9} {'ratio':>9} {'of wall':>9}  {'limit':<24} holds"
    lines = [
        f"{each.name:44} {each.seconds:9.3f} {each.wall:9.3f} {each.by_processor:9.2f} {each.by_wall:9.2f}  "
        f"{f'{each.limit:g} {each.unit} ({each.judged})':<24} {'yes' if each.holds else 'NO'}"
        for each in figures
    ]
    return "\n".join([head, *lines])


def main() -> int:
    """Prints the figures; 1 when one is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one run each, one operator")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures, slowest = measure(arguments.quick)
    if arguments.json:
        rows = [{**asdict(each), "holds": each.holds} for each in figures]
        print(json.dumps({"figures": rows, "slowest compilation": slowest}, indent=2))
    else:
        print(table(figures))
        print(f"slowest compilation: {slowest}")
    return int(not all(each.holds for each in figures))


if __name__ == "__main__":
    sys.exit(main())
