"""Fits the costs of instructions to public measurements, and says how far predictions are from them.

    python bench/calibration.py --mskpp DIR             (prints the table; --json for data)
    python bench/calibration.py --mskpp DIR --write     (also writes attndsl/target/measured.json)

``DIR`` is a checkout of msKPP. Every second size of an instruction is fitted by least squares of the relative
error, the sizes between them are predicted. The rows stay where they are: parameters and errors are written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from calibration_rows import TRANSPOSED_ROWS, Key, Row, keys, pieces_of

OUT = Path(__file__).parents[1] / "attndsl" / "target" / "measured.json"
TWO_SOURCES = frozenset(
    ("Add", "Sub", "Mul", "Max", "Min", "And", "Or", "AddRelu", "SubRelu", "Compound", "Compare")
)
"""Instructions whose sources may fall in one group of UB banks: most rows were measured so, at two rows a
repeat, those of Add and Mul on float16 were not."""
CONFLICT = 1.5
"""Cycles a repeat from which on the sources of such an instruction were in one group."""


@dataclass(frozen=True)
class Fit:
    """``max(floor, offset + slope * units)`` cycles."""

    floor: float
    offset: float
    slope: float

    def cycles(self, units: float) -> float:
        """What it predicts of an amount of work."""
        return max(self.floor, self.offset + self.slope * units)


def fit(rows: Sequence[Row], *, slope: float | None = None) -> Fit:
    """The parameters of least squared relative error; ``slope``: the one that is given."""
    rows = sorted(rows, key=lambda row: row.units)
    sizes = sorted({row.units for row in rows})
    best: tuple[float, Fit] | None = None
    for first in sizes[: max(len(sizes) - 1, 1)]:
        low = [row for row in rows if row.units < first]
        line = _line([row for row in rows if row.units >= first], slope)
        floor = _constant(low) if low else 0.0
        found = Fit(floor, *line)
        error = sum((found.cycles(row.units) / row.cycles - 1) ** 2 for row in rows)
        if best is None or error < best[0]:
            best = error, found
    assert best is not None
    return best[1]


def _constant(rows: Sequence[Row]) -> float:
    weights = np.array([1 / row.cycles for row in rows])
    return float(weights.sum() / (weights**2).sum())


def _line(rows: Sequence[Row], slope: float | None) -> tuple[float, float]:
    """Offset, not below 0, and slope."""
    weights = np.array([1 / row.cycles for row in rows])
    units = np.array([row.units for row in rows]) * weights
    if slope is not None:
        return max(float((weights * (1 - slope * units)).sum() / (weights**2).sum()), 0.0), slope
    solution = np.linalg.lstsq(np.stack([weights, units], 1), np.ones(len(rows)), rcond=None)[0]
    if solution[0] >= 0:
        return float(solution[0]), float(solution[1])
    return 0.0, float(units.sum() / (units**2).sum())


def halves(key: Key) -> tuple[list[Row], list[Row]]:
    """Rows to fit and rows to predict: every second size, the first and the last among the former."""
    rows = list(key.rows)
    return rows[::2] + ([rows[-1]] if len(rows) % 2 == 0 else []), rows[1 : len(rows) - 1 : 2]


# ------------------------------------------------------------------------------------------------
# From rows to costs


Cost = dict[str, float]
"""Parameters of an operation and a type, by their names in ``attndsl.target.costs``."""


def _rounded(**parameters: float) -> Cost:
    return {name: float(f"{value:.4g}") for name, value in parameters.items() if value > 1e-3}


def _of_vector(found: Fit, operation: str) -> Cost:
    conflict = operation in TWO_SOURCES and found.slope > CONFLICT
    slope = found.slope / 2 if conflict else found.slope
    # the last hundredths of a cycle are the loop's
    offset = found.offset if found.offset > 0.3 else 0.0
    return _rounded(head=offset, per_unit=slope, least=found.floor)


def _of_move(found: Fit, key: Key) -> Cost:
    if key.whole:
        return _rounded(per_unit=found.slope, latency=found.offset)
    return _rounded(head=found.offset, per_unit=found.slope, least=found.floor)


@dataclass(frozen=True)
class Predicted:
    """The errors of one instruction on the sizes that were left out."""

    key: Key
    errors: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of absolute values."""
        return float(np.median(np.abs(self.errors)))


def _errors(key: Key, cycles: Callable[[float], float]) -> Predicted:
    return Predicted(key, tuple(cycles(row.units) / row.cycles - 1 for row in halves(key)[1]))


@dataclass(frozen=True)
class Instructions:
    """Costs by operation and type, and how they predict."""

    costs: dict[str, dict[str, Cost]]
    predicted: tuple[Predicted, ...]

    def summary(self) -> dict[str, Any]:
        """Relative errors of all sizes that were left out, absolute values."""
        errors = np.abs([each for one in self.predicted for each in one.errors])
        return {
            "keys": len(self.predicted),
            "sizes": len(errors),
            "median": round(float(np.median(errors)), 4),
            "p95": round(float(np.percentile(errors, 95)), 4),
            "keys_above_2_percent": sum(one.median > 0.02 for one in self.predicted),
        }


def fit_instructions(found: Iterable[Key]) -> Instructions:
    """Costs of all operations that were measured, each with what it predicts of the other sizes."""
    groups: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in found:
        groups[key.operation, key.dtype].append(key)
    costs: dict[str, dict[str, Cost]] = defaultdict(dict)
    predicted: list[Predicted] = []
    for (operation, dtype), members in groups.items():
        if operation in _OF_THEIR_OWN:
            costs[operation][dtype] = _OF_THEIR_OWN[operation](members, predicted)
            continue
        alike = _alike(members)
        together = fit([row for key in alike for row in halves(key)[0]])
        vector = dtype != "any"
        costs[operation][dtype] = (
            _of_vector(together, operation) if vector else _of_move(together, members[0])
        )
        predicted += [_errors(key, together.cycles) for key in members]
    return Instructions(dict(costs), tuple(predicted))


def _alike(members: Sequence[Key]) -> list[Key]:
    """Those of several instructions that most agree with, by cycles a unit at their largest size."""
    rates = [key.rows[-1].cycles / key.rows[-1].units for key in members]
    usual = float(np.median(rates))
    return [key for key, rate in zip(members, rates, strict=True) if abs(rate / usual - 1) < 0.25]


def _product(members: Sequence[Key], predicted: list[Predicted]) -> Cost:
    """Head and slope of products that follow each other; the latency of those that wait for each other."""
    (free,), (waiting,) = ([key for key in members if key.whole is whole] for whole in (False, True))
    flow = fit(halves(free)[0])
    chain = fit(halves(waiting)[0], slope=flow.slope)
    predicted += [_errors(free, flow.cycles), _errors(waiting, chain.cycles)]
    return _rounded(
        head=flow.offset, per_unit=flow.slope, latency=chain.offset - flow.offset, least=flow.floor
    )


def _reordering(members: Sequence[Key], predicted: list[Predicted]) -> Cost:
    """Latency, and cycles a byte, a row and a piece of a row, whichever take longest."""
    (key,) = members

    def cycles(units: float, latency: float, *parts: float) -> float:
        pieces = TRANSPOSED_ROWS * pieces_of(units / TRANSPOSED_ROWS)
        return latency + max(
            work * part for work, part in zip((units, TRANSPOSED_ROWS, pieces), parts, strict=True)
        )

    def error(parameters: Sequence[float]) -> float:
        return sum((cycles(row.units, *parameters) / row.cycles - 1) ** 2 for row in halves(key)[0])

    best = [150.0, 1 / 128, 5.0, 3.5]
    for step in (0.1, 0.03, 0.01, 0.003, 0.001):
        while True:
            tries = [
                [value * (1 + sign * step) if at == number else value for at, value in enumerate(best)]
                for number in range(len(best))
                for sign in (-1, 1)
            ]
            found = min(tries, key=error)
            if error(found) >= error(best):
                break
            best = found
    predicted.append(_errors(key, lambda units: cycles(units, *best)))
    return _rounded(latency=best[0], per_unit=best[1], per_row=best[2], per_piece=best[3])


_OF_THEIR_OWN: dict[str, Callable[[Sequence[Key], list[Predicted]], Cost]] = {
    "Product": _product,
    "LoadL1Fractals": _reordering,
}


def main() -> None:
    """Prints the table, or its data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--mskpp", type=Path, required=True, help="a checkout of msKPP")
    parser.add_argument("--json", action="store_true", help="data instead of a table")
    parser.add_argument("--write", action="store_true", help="writes attndsl/target/measured.json")
    options = parser.parse_args()
    found = fit_instructions(keys(options.mskpp))
    document = {"costs": found.costs, "instructions": found.summary()}
    if options.write:
        OUT.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    if options.json:
        print(json.dumps(document, indent=1, sort_keys=True))
        return
    print(f"{'instruction':45} {'operation':22} {'type':10} {'sizes':>5} {'median':>7} {'worst':>7}")
    for one in sorted(found.predicted, key=lambda one: -one.median):
        worst = max(one.errors, key=abs)
        print(
            f"{one.key.name:45} {one.key.operation:22} {one.key.dtype:10} {len(one.errors):5} "
            f"{one.median:7.1%} {worst:+7.1%}"
        )
    summary = found.summary()
    dropped = sum(one.key.dropped for one in found.predicted)
    print(
        f"{summary['keys']} instructions and types, {summary['sizes']} sizes left out of the fit: median "
        f"{summary['median']:.1%}, 95th percentile {summary['p95']:.1%}; dropped were {dropped} rows that "
        f"contradict their neighbours fourfold or leave blocks of results in part"
    )


if __name__ == "__main__":
    main()
