"""Predicted times of the shipped kernels beside what is asked of them, on the part that predictions are for.

    python bench/kernels.py                    (a few minutes; --only PATTERN for some rows)
    python bench/kernels.py --long             (prompts of 32768 tokens, too)
    python bench/kernels.py --check            (fails where a time is off its committed figure by over 2 %)
    python bench/kernels.py --update           (writes the committed figures, bench/figures.json)
    python bench/kernels.py --frozen           (rates that aims were stated for, whatever the model has)
    python bench/kernels.py --catlass DIR      (public kernels beside ours, timed by the same model)

A time is from the first to the last instruction of a call's launches; launches after the first add 20 us, and
a call of ours is one launch. Nothing was measured on a device.

Formulas, each from one place
    flops    2 (Dk + Dv) a visible score: a multiplication and an addition a channel, of both products
    peak     24 cores x 4096 multiplications and additions a cycle x 1.8 GHz = 353.9 TFLOPS (device tables)
    bytes    queries, and keys and values of true lengths once; those of a group of rows once a group
    R        the smaller of memory's measured rate and of 24 cores x 32 B a cycle = 1.38 TB/s (device tables)
    bound    the slowest of cube; vector cores (calibrated cycles a repeat of the steps of softmax: scale,
             maximum, subtraction, exponential, sum, conversion, and what masks add); L2 at 14.4 B a score
             and the mask's bytes; memory
    14.4 B   of a score through L2, as aims were stated with: 8 of scores in fp32, 4 of probabilities, 2 of
             keys and values, 0.4 of the rest. Today's kernels move 14.6 (docs/performance.md)
An aim that is a share of a bound follows its rates: the same share, as if L2 moved 14.4 B a score.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from catlass_kernels import launches_of, peers
from kernel_rows import Row, Work, compressed, rows
from kernel_text import ICACHE, KernelText

from attndsl.compiler.prepare_launch import prepare
from attndsl.profile.calibration_text import calibration_lines
from attndsl.profile.profile import Profile, profile_call
from attndsl.profile.spans import functions_of, read_spans
from attndsl.target import DEFAULT_DEVICE, Device, device
from attndsl.target.costs import Rate

FIGURES = Path(__file__).with_name("figures.json")
TOLERANCE = 0.02
L2_BYTES_A_SCORE = 14.4
_SOFTMAX = ("Muls", "Max", "Sub", "Exp", "Add", "Convert")
_LANES = 64
_STATED = {"l2": 7.0e12, "hbm": 1.49e12}
"""Bytes a second of mixed traffic through L2 and of memory that aims were stated for."""
_STATED_MISS = 32.0
TRACED_TOKENS, TOKENS = 384, 8192
"""Tokens whose selection of blocks is timed line by line, 8 of each vector core; those of the problem."""
SELECTION_STEPS = ("Select", "Window", "Blocks", "Heads")
"""Parts of the names of functions that weigh blocks of keys and select the best."""
SELECTION_MOST = 100.0


def stated_rates(on: Device) -> dict[str, Rate]:
    """The rates that aims were stated for, a cycle."""
    found = {name: Rate(value / on.clock, "stated") for name, value in _STATED.items()}
    return {**found, "miss": Rate(_STATED_MISS, "stated")}


@dataclass(frozen=True)
class Bound:
    """What the parts of the device would take alone for a piece of work, in microseconds."""

    cube: float
    vector: float
    l2: float
    memory: float

    @property
    def slowest(self) -> float:
        """The bound."""
        return max(self.cube, self.vector, self.l2, self.memory)


def bound_of(work: Work, on: Device, rates: Mapping[str, Rate]) -> Bound:
    """What the parts of a device would take alone for ``work``."""
    repeats = work.scores / _LANES / on.aiv
    cycles = sum(_a_repeat(name, on) for name in (*_SOFTMAX, *work.vector))
    l2 = work.scores * L2_BYTES_A_SCORE + work.mask
    return Bound(
        cube=work.flops / on.cube_peak * 1e6,
        vector=on.microseconds(repeats * cycles),
        l2=on.microseconds(l2 / rates["l2"].value),
        memory=on.microseconds((work.read + work.written) / rates["hbm"].value),
    )


def _a_repeat(name: str, on: Device) -> float:
    """Cycles that a repeat of 64 elements of fp32 takes its pipe."""
    cost = on.costs[name]
    return cost.of_type.get("float", (0.0, cost.per_unit, 0.0))[1]


@dataclass(frozen=True)
class Aim:
    """What is asked of a row, and whether it holds; ``asked`` begins with the relation: ">= 0.6 of cube"."""

    reached: str
    asked: str
    holds: bool

    @property
    def words(self) -> str:
        return f"{self.reached} {self.asked}"


def aims_of(
    row: Row, time: float, share: float, asked: float | None, times: Mapping[str, float]
) -> Iterator[Aim]:
    """What is asked of a row's share and time; ``times``: those of other rows, in microseconds."""
    if asked is not None:
        stated = "" if asked == row.least else f" ({row.least} at the rates it was stated for)"
        yield Aim(f"{share:.3f}", f">= {asked:.3g} of {row.of}{stated}", share >= asked)
    if row.most is not None:
        yield Aim(f"{time:.1f}", f"<= {row.most:g} us", time <= row.most)
    if row.beside is not None and row.beside[0] in times:
        name, most = row.beside
        ratio = time / times[name]
        yield Aim(f"{ratio:.3f}", f"<= {most:g} of the time of {name}", ratio <= most)


@dataclass(frozen=True)
class Figure:
    """A row with what was predicted of it. ``share`` and ``worst_share`` are None where time alone counts."""

    row: Row
    profile: Profile
    text: KernelText
    best: float
    asked: float | None
    seconds: float

    @property
    def share(self) -> float:
        return self.best / self.profile.time

    @property
    def worst_share(self) -> float:
        return self.best / self.profile.worst

    def vector_cycles(self) -> float:
        """Cycles of a vector core for 64 scores."""
        on = self.profile.device
        cycles = self.profile.bounds["AIV V"] * 1e-6 * on.clock * on.aiv
        return cycles / (self.row.work.scores / _LANES)

    def read_too_much(self) -> float:
        """Bytes from memory as a multiple of those that must be read, less one."""
        return self.profile.bytes["hbm_read"] / self.row.work.read - 1

    def judgements(self, others: Mapping[str, Figure]) -> Iterator[tuple[str, bool]]:
        """Each aim in words with its figure, and whether it holds."""
        row, found = self.row, self.profile
        times = {name: each.profile.time for name, each in others.items()}
        for aim in aims_of(row, found.time, self.share, self.asked, times):
            yield aim.words, aim.holds
        if row.vector_cycles is not None:
            cycles = self.vector_cycles()
            yield (
                f"{cycles:.2f} <= {row.vector_cycles:g} vector cycles for 64 scores",
                cycles <= row.vector_cycles,
            )
            conflicts = sum(found.bank_conflicts.values())
            yield f"{conflicts:.0f} <= 0 cycles of bank conflicts", conflicts <= 0
        if row.once:
            over = self.read_too_much()
            yield f"{over:+.1%} bytes from memory, at most 1 % off", abs(over) <= 0.01

    def to_json(self) -> dict[str, Any]:
        found = self.profile
        return {
            "microseconds": found.time,
            "worst_microseconds": found.worst,
            "share": round(self.share, 4),
            "of": self.row.of,
            "hbm_read": found.bytes["hbm_read"],
            "lines": self.text.lines,
            "kernel": found.kernel,
        }


def asked_share(row: Row, on: Device, rates: Mapping[str, Rate]) -> float | None:
    """The share asked for: one of the cube is a share of the bound at the rates that it was stated for."""
    if row.least is None or row.of != "cube":
        return row.least
    stated = bound_of(row.work, on, {**on.rates, **stated_rates(on)}).slowest
    return row.least * (stated / bound_of(row.work, on, rates).slowest)


def figure_of(row: Row, rates: Mapping[str, Rate] | None) -> Figure:
    """Prices a row; ``rates``: numbers in place of some of the device's."""
    started, call = time.perf_counter(), row.call()
    found = profile_call(call, rates=rates)
    on = found.device
    used = {**on.rates, **(rates or {})}
    best = {
        "cube": row.work.flops / on.cube_peak * 1e6,
        "R": row.work.read / on.readable(used) * 1e6,
        "bound": bound_of(row.work, on, used).slowest,
        "stated": row.stated,
    }[row.of]
    asked = asked_share(row, on, used)
    return Figure(row, found, KernelText.of(call), best, asked, time.perf_counter() - started)


# ------------------------------------------------------------------------------------------------
# The table


def line(figure: Figure) -> str:
    """A row of the table."""
    found, text = figure.profile, figure.text
    return (
        f"{figure.row.name:44} {found.time:9.1f} {found.worst:9.1f} {figure.share:6.3f} "
        f"{figure.worst_share:6.3f} {figure.row.of:6} {text.lines:5} {text.cube_bytes / 1024:5.1f} "
        f"{text.vector_bytes / 1024:5.1f}"
    )


HEAD = (
    f"{'problem':44} {'us':>9} {'at worst':>9} {'share':>6} {'worst':>6} {'of':6} {'lines':>5} "
    f"{'AIC K':>5} {'AIV K':>5}"
)


def _word(holds: bool) -> str:
    return "holds" if holds else "MISSED"


def details(figure: Figure, others: Mapping[str, Figure]) -> Iterator[str]:
    """What is asked of a row, and what to know of it."""
    for words, holds in figure.judgements(others):
        yield f"    {_word(holds)}: {words}"
    if figure.row.says:
        yield f"    note: {figure.row.says}"
    if max(figure.text.cube_bytes, figure.text.vector_bytes) > ICACHE:
        yield f"    note: a core's code may exceed its instruction cache of {ICACHE // 1024} KB (estimate)"


def selection_work(rates: Mapping[str, Rate] | None) -> dict[tuple[str, str], float]:
    """Microseconds of vector time a core of importance and top-k, by function and instruction, for the whole
    problem.

    Positions are independent: some are timed line by line, with all blocks, and scaled.
    """
    with tempfile.TemporaryDirectory() as name:
        trace, call = Path(name) / "trace.json", compressed(TRACED_TOKENS, TOKENS)()
        on = profile_call(call, trace=trace, rates=rates).device
        events = json.loads(trace.read_text())["traceEvents"]
    assert not any("left out" in each["name"] for each in events), "the trace is not whole: take fewer tokens"
    spent = defaultdict[tuple[str, str], float](float)
    for span in read_spans(events, 0, functions_of(prepare(call).compiled)).spans:
        if span.pipe == "V" and not span.waiting and any(step in span.function for step in SELECTION_STEPS):
            spent[span.function, span.what] += span.length / on.aiv * TOKENS / TRACED_TOKENS
    return dict(spent)


# ------------------------------------------------------------------------------------------------
# Committed figures


def deviations(figures: Mapping[str, Figure], committed: Mapping[str, Any]) -> Iterator[str]:
    """Figures that are not those committed."""
    for name, figure in figures.items():
        was = committed.get(name)
        if was is None:
            yield f"{name}: no committed figure; run --update"
            continue
        for what, now in (
            ("microseconds", figure.profile.time),
            ("hbm_read", figure.profile.bytes["hbm_read"]),
        ):
            change = now / was[what] - 1 if was[what] else float(now > 0)
            if abs(change) > TOLERANCE:
                better = "; if it is meant, run --update" if change < 0 else ""
                yield f"{name}: {what} {now:g}, committed {was[what]:g} ({change:+.1%}){better}"


def chosen(pattern: str, *, with_long: bool) -> list[Row]:
    """The rows whose name has the pattern, and those beside which they are judged."""
    every = rows()
    named = {row.name for row in every if re.search(pattern, row.name) and (with_long or not row.long)}
    named |= {row.beside[0] for row in every if row.beside is not None and row.name in named}
    return [row for row in every if row.name in named]


def main() -> int:
    """Prints the table; 1 where --check finds a deviation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", metavar="PATTERN", default="", help="rows whose name has this expression")
    parser.add_argument("--long", action="store_true", help="rows that take most of a minute, too")
    parser.add_argument("--check", action="store_true", help="fail unless figures are those committed")
    parser.add_argument("--update", action="store_true", help="write the committed figures of these rows")
    parser.add_argument("--frozen", action="store_true", help="the rates that aims were stated for")
    parser.add_argument("--json", action="store_true", help="data instead of a table")
    parser.add_argument("--catlass", type=Path, help="a checkout of catlass: its kernels beside ours")
    options = parser.parse_args()
    if options.frozen and (options.check or options.update):
        parser.error("committed figures are those of the model, not of --frozen rates")
    on = device(DEFAULT_DEVICE)
    rates = stated_rates(on) if options.frozen else None
    wanted = chosen(options.only, with_long=options.long)
    if not options.json:
        print(head_of(on, rates or on.rates))
    figures = dict[str, Figure]()
    for row in wanted:
        figure = figures[row.name] = figure_of(row, rates)
        if not options.json:
            print(line(figure), *details(figure, figures), sep="\n", flush=True)
    committed = read_committed()
    timed = timed_peers(options.catlass, figures, on) if options.catlass else {}
    known_peers = {**committed["peers"], **timed}
    data = {name: figure.to_json() for name, figure in figures.items()}
    if options.json:
        print(json.dumps({"figures": data, "peers": known_peers}, indent=1))
    else:
        print(*after_rows(figures, known_peers, rates), sep="\n")
    if options.update:
        every = {row.name for row in rows()}
        merged = {name: each for name, each in {**committed["figures"], **data}.items() if name in every}
        text = json.dumps({"figures": merged, "peers": known_peers}, indent=1, sort_keys=True)
        FIGURES.write_text(text + "\n")
    if options.check:
        found = list(deviations(figures, committed["figures"]))
        print(*found or ["all figures are those committed"], sep="\n", file=sys.stderr)
        return int(bool(found))
    return 0


def head_of(on: Device, rates: Mapping[str, Rate]) -> str:
    """What the figures are of, how far off they may be, and the columns."""
    r = on.readable(rates) / 1e12
    part = f"{on.title} as 910B2: {on.aic} AIC, {on.aiv} AIV, {on.clock / 1e9:g} GHz, R {r:.2f} TB/s"
    worst = "at worst: sums in global memory pass L2 twice, flags between cores take 500 cycles"
    calibration = (line.strip() for line in calibration_lines(on))
    return "\n".join((part, "nothing was measured on a device by us", *calibration, worst, "", HEAD))


def timed_peers(checkout: Path, figures: Mapping[str, Figure], on: Device) -> dict[str, float]:
    """Microseconds of the peers of these rows, launches after the first with their 20 us."""
    found = dict[str, float]()
    for peer in peers():
        if peer.row in figures:
            times = list(launches_of(peer, checkout, on))
            found[peer.name] = sum(times) + (len(times) - 1) * on.launch_microseconds
    return found


def read_committed() -> dict[str, dict[str, Any]]:
    """Committed figures of our kernels, and times of peers."""
    found = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    return {"figures": found.get("figures", {}), "peers": found.get("peers", {})}


def after_rows(
    figures: Mapping[str, Figure],
    known_peers: Mapping[str, float],
    rates: Mapping[str, Rate] | None,
) -> Iterator[str]:
    """What follows the rows: selection of blocks, peers."""
    if any(name.startswith("NSA") for name in figures):
        work = selection_work(rates)
        spent, functions = sum(work.values()), sorted({function for function, _ in work})
        word = _word(spent <= SELECTION_MOST)
        yield f"{word}: NSA importance and top-k: {spent:.1f} <= {SELECTION_MOST:g} us of vector time a core"
        yield f"    in {', '.join(functions)}"
    times = {name: figure.profile.time for name, figure in figures.items()}
    for name, peer, aim in aims_beside_peers(times, known_peers):
        yield (
            f"{_word(aim.holds)}: {name}: {times[name]:.1f} us, {peer} {known_peers[peer]:.1f} us: "
            f"{aim.words} (the same model)"
        )


def aims_beside_peers(
    times: Mapping[str, float], known_peers: Mapping[str, float]
) -> Iterator[tuple[str, str, Aim]]:
    """Our row, the public kernel beside it, and what is asked of the ratio of their times."""
    for peer in peers():
        if peer.row in times and peer.name in known_peers:
            ratio = times[peer.row] / known_peers[peer.name]
            yield peer.row, peer.name, Aim(f"{ratio:.2f}", f"<= {peer.most:g}", ratio <= peer.most)


def committed_misses() -> Iterator[tuple[str, float, Aim]]:
    """Committed shares, times and ratios that are not what is asked: row, microseconds, aim."""
    committed, on = read_committed(), device(DEFAULT_DEVICE)
    times = {name: each["microseconds"] for name, each in committed["figures"].items()}
    for row in rows():
        share = committed["figures"][row.name]["share"]
        found = aims_of(row, times[row.name], share, asked_share(row, on, on.rates), times)
        yield from ((row.name, times[row.name], aim) for aim in found if not aim.holds)
    for name, peer, aim in aims_beside_peers(times, committed["peers"]):
        if not aim.holds:
            yield name, times[name], Aim(aim.reached, f"{aim.asked} of the time of {peer}", holds=False)


if __name__ == "__main__":
    sys.exit(main())
