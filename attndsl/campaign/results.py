"""What a verification found: frozen records, a table, counts and JSON."""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from attndsl.base.feature_states import FEATURES_TOLD, IMMATERIAL, INEFFECTIVE
from attndsl.tile_interpreter.run_facts import RunFacts
from attndsl.verify.cases.features import Work, named
from attndsl.verify.judge.compare import Errors, Ratios, ratios
from attndsl.verify.space.values import PROBE

if TYPE_CHECKING:  # imported where a table is printed: records only count
    from rich.console import Console
    from rich.table import Table

_HEAD_SIZE = "padded_head_size"
_ROOM_TO_TELL, _INDENT, _UNBOUNDED = 48, 6, 10_000
"""Columns of a terminal that features and parameters of a case need to stand in its line; those that lines
below it begin with; and more than any table has."""
PASS, MISS, NOT_LOWERED, BEYOND_TARGET = "pass", "miss", "not lowered", "beyond target"
NARROW_SCORES, MEASURED = "float16 scores", "measured"
"""What cases are judged by in place of an accuracy class: what rounding their scores makes of results, or
nothing."""


_OF_RUNS = {
    "key tiles of an item": "key tiles that an item computes, behind masks and splits",
    "items of a core": "items of a core",
}
"""What is counted in runs of the tile program, and how a summary says so: keys as they are passed may be many
and all but a tile of them hidden."""


@dataclass(frozen=True, kw_only=True)
class BackendResult:
    """One backend on one case.

    ``status``: PASS, MISS, NOT_LOWERED or BEYOND_TARGET; ``error``: the largest elementwise error as a part
    of its bound; ``ratios``: of the double benchmark, the worst over the results, None where there are
    none; ``errors`` and ``benchmark``: their sums; ``message``: why it missed, or why it was not run;
    ``facts``: what a run of the tile program did with its work.
    """

    backend: str
    status: str
    error: float = 0.0
    ratios: Ratios | None = None
    errors: Errors | None = None
    benchmark: Errors | None = None
    seconds: float = 0.0
    message: str = ""
    notes: tuple[str, ...] = ()
    facts: RunFacts | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case with what each backend made of it.

    ``source``: the operator's name, or the spec file as it was given; ``mode``: the operator that took the
    call; ``computes_in``: the floating dtype of its results, which is not ``dtype`` where queries are
    integers; ``padded_head_size``: the head size the kernel is made for; ``options``: of the command that
    runs the case again, beyond seed and number; ``parameters``: the values of the parameters, ``stated``:
    those that do not have their default; ``accuracy``: the accuracy class that the ratios are held against,
    or what stands in its place; ``unjudged``: elements of results that a score or weight beyond its dtype
    leaves open; ``declared``: those of ``features`` that the declaration
    names; ``effective``: those of them that matter, without which the results that are compared would be
    others; ``situations``: those that cases are asked for, and whether this one is in each.
    """

    operator: str
    source: str
    mode: str
    seed: int
    case: int
    shape: str
    layout: str
    features: tuple[str, ...]
    declared: tuple[str, ...]
    effective: tuple[str, ...]
    dtype: str
    computes_in: str
    padded_head_size: int
    data: str
    work: Work
    results: tuple[BackendResult, ...]
    options: str = ""
    accuracy: str = ""
    unjudged: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    stated: tuple[str, ...] = ()
    situations: Mapping[str, bool] = field(default_factory=dict)

    @property
    def tensors(self) -> tuple[str, ...]:
        """The features that are optional tensors, passed."""
        return tuple(name for name in self.features if name.isidentifier())

    @property
    def facts(self) -> RunFacts:
        """What the run of the tile program did; without one, what the shape of the case would have it do."""
        for result in self.results:
            if result.facts is not None:
                return result.facts
        work = self.work
        return RunFacts(
            tiles=work.tiles,
            items=-(-work.tasks // work.cores),
            splits=2 if work.split else 1,
            reused=work.beyond_ring,
        )

    @property
    def ok(self) -> bool:
        """Whether no backend missed."""
        return all(result.status != MISS for result in self.results)

    @property
    def reproduce(self) -> str:
        """A command that runs this case alone."""
        command = f"attndsl verify {shlex.quote(self.source)} --seed {self.seed} --case {self.case}"
        return f"{command} {self.options}".rstrip()

    @property
    def snippet(self) -> str:
        """Python that runs this case alone."""
        given, known = f"ops.{self.operator}", "from attndsl import ops"
        if self.source != self.operator:
            given, known = f"load({json.dumps(self.source)})", "from attndsl.spec.operator.loader import load"
        call = f"verify({given}, seed={self.seed}, only=({self.case},)).print()"
        return f"{known}; from attndsl.campaign import verify; {call}"


@dataclass(frozen=True, kw_only=True)
class Verification:
    """All cases of one operator.

    ``excluded``: optional arguments that no legal call can pass; ``seconds``: wall time; ``immaterial``:
    features that can change no result, with the reason, as far as somebody has looked.
    """

    operator: str
    seed: int
    backends: tuple[str, ...]
    rows: tuple[Row, ...]
    excluded: tuple[str, ...]
    seconds: float
    immaterial: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every backend ran a case and none missed."""
        return not self.idle and all(row.ok for row in self.rows)

    @property
    def idle(self) -> dict[str, str]:
        """The backends that ran no case, with the first reason; nothing was verified on them."""
        found = {}
        for backend in self.backends:
            results = [result for _, result in self._of(backend)]
            if not any(result.status in (PASS, MISS) for result in results):
                found[backend] = next(
                    (f"{each.status}: {each.message}" for each in results), "there were no cases"
                )
        return found

    @property
    def misses(self) -> tuple[Row, ...]:
        """The rows with a miss."""
        return tuple(row for row in self.rows if not row.ok)

    def counts(self, backend: str) -> dict[str, int]:
        """How often each status occurred."""
        return dict(Counter(result.status for _, result in self._of(backend)))

    def checked(self, backend: str) -> dict[str, dict[str, int]]:
        """Cases that passed, by dtype, padded head size, feature and kind of data."""
        keys = ("dtype", _HEAD_SIZE, "feature", "data")
        groups: dict[str, Counter[str]] = {key: Counter() for key in keys}
        for row, result in self._of(backend):
            if result.status == PASS:
                groups["dtype"][row.dtype] += 1
                groups[_HEAD_SIZE][str(row.padded_head_size)] += 1
                groups["data"][row.data] += 1
                groups["feature"].update(row.tensors or ("none",))
        return {
            key: dict(
                sorted(group.items(), key=lambda item: (len(item[0]) if key == _HEAD_SIZE else 0, item[0]))
            )
            for key, group in groups.items()
        }

    def worst(self, backend: str) -> dict[str, dict[str, float]]:
        """By dtype, the largest error (as part of its bound) and ratios of the cases that passed."""
        found: dict[str, dict[str, float]] = {}
        for row, result in self._of(backend):
            if result.status == PASS:
                entry = found.setdefault(
                    row.dtype, dict.fromkeys(("error", "mare", "mere", "rmse", "small"), 0.0)
                )
                values = {"error": result.error, **(asdict(result.ratios) if result.ratios else {})}
                for key in entry:
                    entry[key] = max(entry[key], values.get(key, 0.0))
        return found

    def pooled(self, backend: str) -> dict[str, Ratios]:
        """By dtype of results, the ratios of all elements of the cases with random data taken together."""
        mine: dict[str, Errors] = {}
        other: dict[str, Errors] = {}
        for row, result in self._of(backend):
            if row.data != PROBE and result.errors is not None and result.benchmark is not None:
                dtype = row.computes_in
                mine[dtype] = mine.get(dtype, Errors()) + result.errors
                other[dtype] = other.get(dtype, Errors()) + result.benchmark
        return {dtype: ratios(mine[dtype], other[dtype], dtype) for dtype in mine}

    def features(self, backend: str) -> dict[str, dict[str, int]]:
        """For each feature, how often each status occurred in the cases that have it."""
        found: dict[str, Counter[str]] = {}
        for row, result in self._of(backend):
            for feature in row.features:
                name = named(self.operator, row.mode, feature)
                found.setdefault(name, Counter())[result.status] += 1
        return {name: dict(counts) for name, counts in sorted(found.items())}

    def distribution(self) -> dict[str, Any]:
        """What the cases are like, as far as the tile program ran by what its runs did: ring slots that are
        written again within an item, cores with several items, split keys, tasks of two halves.

        Computations with further results of the same probabilities never split keys.
        """
        works, facts = [row.work for row in self.rows], [row.facts for row in self.rows]
        return {
            "cases": len(self.rows),
            "beyond the ring": sum(each.reused for each in facts),
            "several tasks a core": sum(each.items > 1 for each in facts),
            "split keys": sum(each.splits > 1 for each in facts),
            "tasks of two halves": sum(each.halves > 1 for each in facts),
            "several key tiles": sum(work.tiles > 1 for work in works),
            "several key tiles in each segment": sum(work.least_tiles > 1 for work in works),
            "keys never split": sum(not work.splits for work in works),
            "key tiles of an item": _histogram([each.tiles for each in facts]),
            "items of a core": _histogram([each.items for each in facts]),
            "data": dict(sorted(Counter(row.data for row in self.rows).items())),
            "mode": dict(sorted(Counter(row.mode for row in self.rows).items())),
            "features": self.features_covered(),
            "effective features": self.features_effective(),
            "situations": self.situations(),
        }

    def situations(self) -> dict[str, int]:
        """In how many cases each situation is, 0 of those that none is in."""
        been = self._counted(lambda row: (name for name, holds in row.situations.items() if holds))
        return {name: been[name] for name in sorted(self._counted(lambda row: row.situations))}

    def features_covered(self) -> dict[str, int]:
        """In how many cases each feature occurs."""
        return dict(sorted(self._counted(lambda row: row.features).items()))

    def features_effective(self, backend: str | None = None) -> dict[str, int]:
        """In how many cases each declared feature matters; 0 of those that matter in none that has them.

        ``backend``: only cases that passed on it count.
        """
        passed = {row.case for row, result in self._of(backend) if result.status == PASS} if backend else None
        matters = self._counted(lambda row: row.effective if passed is None or row.case in passed else ())
        return {name: matters[name] for name in sorted(self._counted(lambda row: row.declared))}

    def _counted(self, features: Callable[[Row], Iterable[str]]) -> Counter[str]:
        """In how many cases each of these features is."""
        return Counter(named(self.operator, row.mode, each) for row in self.rows for each in features(row))

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data; numbers that JSON has not, such as infinity, as text."""
        return {
            "operator": self.operator,
            "seed": self.seed,
            "ok": self.ok,
            "cases": len(self.rows),
            "misses": len(self.misses),
            "accuracy": dict(Counter(row.accuracy for row in self.rows)),
            "ran_no_case": self.idle,
            "seconds": round(self.seconds, 2),
            "excluded": list(self.excluded),
            "immaterial": dict(self.immaterial),
            "distribution": self.distribution(),
            "backends": {
                backend: {
                    "counts": self.counts(backend),
                    "passed_by": self.checked(backend),
                    "worst": self.worst(backend),
                    "pooled": {dtype: asdict(each) for dtype, each in self.pooled(backend).items()},
                }
                for backend in self.backends
            },
            "rows": [_plain({**asdict(row), "ok": row.ok, "reproduce": row.reproduce}) for row in self.rows],
        }

    def print(self, console: Console | None = None) -> None:
        """The table, the misses with their reproduction, and the counts."""
        from rich.console import Console
        from rich.markup import escape

        console = console or Console(highlight=False)
        if not console.is_terminal:  # a file or a pipe: nothing to wrap for
            console = Console(file=console.file, width=max(console.width, 170), highlight=False)
        self._print_table(console)
        for row in self.misses:
            for result in row.results:
                if result.status == MISS:
                    console.print(
                        f"[red]miss[/red] case {row.case} on {result.backend}: {escape(result.message)}"
                    )
            console.print(f"    {escape(row.reproduce)}", soft_wrap=True)
            if not row.options:
                console.print(f"    python -c {escape(shlex.quote(row.snippet))}", soft_wrap=True)
        for line in self._summary():
            console.print(escape(line), soft_wrap=True)

    # --------------------------------------------------------------------------------------------

    def _of(self, backend: str) -> Iterator[tuple[Row, BackendResult]]:
        for row in self.rows:
            for result in row.results:
                if result.backend == backend:
                    yield row, result

    def _print_table(self, console: Console) -> None:
        """A line a case; what has no room there stands in lines below it: features and parameters, and where
        that is not enough its shape and layout."""
        from rich.padding import Padding
        from rich.segment import Segment, Segments
        from rich.text import Text

        unbounded = console.options.update(max_width=_UNBOUNDED)
        below: tuple[str, ...] = ("features", "parameters")
        table = self._table(below)
        room = console.width - console.measure(table, options=unbounded).maximum
        if room >= _ROOM_TO_TELL or not self.rows:
            console.print(self._table(()))
            return
        if room < 0:
            below = ("shape", "layout", *below)
            table = self._table(below)
        *lines, end = [Segments([*line, Segment.line()]) for line in console.render_lines(table, pad=False)]
        first = len(lines) - len(self.rows)
        console.print(*lines[:first], sep="", end="")
        for line, row in zip(lines[first:], self.rows, strict=True):
            console.print(line, end="")
            if told := "; ".join(text for name in below if (text := _TOLD[name](row))):
                console.print(Padding(Text(told), (0, 0, 0, _INDENT)))
        console.print(end, end="")

    def _table(self, below: Collection[str]) -> Table:
        """The table without the columns ``below``."""
        from rich.markup import escape
        from rich.table import Table

        table = Table(title=f"{self.operator}, seed {self.seed}", title_justify="left", pad_edge=False)
        names = [name for name in _TOLD if name not in below]
        for name in names:
            justify: Literal["left", "right"] = "right" if name == "case" else "left"
            table.add_column(name, no_wrap=name not in ("features", "parameters"), justify=justify)
        for backend in self.backends:
            table.add_column(f"{backend}\nerror  MARE/MERE/RMSE", no_wrap=True)
        for row in self.rows:
            table.add_row(*(escape(_TOLD[name](row)) for name in names), *map(_cell, row.results))
        return table

    def _summary(self) -> Iterable[str]:
        for backend in self.backends:
            counts = self.counts(backend)
            total = ", ".join(f"{count} {status}" for status, count in counts.items())
            yield f"{backend}: {total}"
            for key, group in self.checked(backend).items():
                if group:
                    yield f"    {key.replace('_', ' ')}: " + ", ".join(
                        f"{name} {count}" for name, count in group.items()
                    )
            for dtype, found in self.worst(backend).items():
                yield (
                    f"    worst {dtype}: {found['error']:.2f} of the tolerance, MARE {found['mare']:.2f},"
                    f" MERE {found['mere']:.2f}, RMSE {found['rmse']:.2f}, small {found['small']:.2f}"
                    f" times the benchmark"
                )
        yield from self._gaps()
        yield from self._narrow()
        if self._has_kernels:
            yield from self._shares()
        notes = [note for row in self.rows for result in row.results for note in result.notes]
        if notes:
            yield f"integer results that differ within what rounding allows: {len(notes)}, first: {notes[0]}"
        if self.excluded:
            yield f"never passed (the constraints allow no such call): {', '.join(self.excluded)}"
        for backend, reason in self.idle.items():
            yield f"{backend} ran no case, so nothing was verified on it: {reason}"
        verdict = f"{len(self.misses)} cases with a miss" if self.misses else "no miss"
        verdict += f", {' and '.join(self.idle)} ran no case" if self.idle else ""
        yield f"{self.operator}: {len(self.rows)} cases, {verdict}, {self.seconds:.0f} s"

    def _gaps(self) -> Iterator[str]:
        """Why cases have no kernel, each reason once."""
        results = (result for row in self.rows for result in row.results)
        reasons = Counter(result.message for result in results if result.status == NOT_LOWERED)
        for reason in reasons:
            gap = f"{NOT_LOWERED}: {reason}"
            if gap not in self.idle.values():  # told with the verdict
                yield gap

    def _narrow(self) -> Iterator[str]:
        """Which cases no accuracy class is asked of, and which have results that are left open."""
        narrow = [row for row in self.rows if row.accuracy == NARROW_SCORES]
        if narrow:
            yield (
                f"scores pass in float16: {len(narrow)} cases are judged by the tolerance and what"
                " rounding makes of their scores, not by an accuracy class"
            )
        if beyond := [row for row in narrow if row.unjudged]:
            yield f"    results that a score beyond float16 leaves open: in {len(beyond)} of them"
        if beyond := [row for row in self.rows if row.unjudged and row.accuracy != NARROW_SCORES]:
            yield f"results that a weight beyond the dtype of its product leaves open: in {len(beyond)} cases"

    @property
    def _has_kernels(self) -> bool:
        """Whether some backend that runs what is lowered had something to run, or none was asked for."""
        others = [each for row in self.rows for each in row.results if each.backend != "reference"]
        return not others or any(result.status != NOT_LOWERED for result in others)

    def _shares(self) -> Iterator[str]:
        """How long, plentiful or scarce the cases' work is."""
        cases = self.distribution()
        of_runs = ("beyond the ring", "several tasks a core", "tasks of two halves", "split keys")
        stored, each = cases["several key tiles"], cases["several key tiles in each segment"]
        yield f"of {len(self.rows)} cases: " + ", ".join(
            f"{cases[name]} {name}" for name in (*of_runs, "keys never split")
        )
        yield f"    keys beyond one tile as they are passed: in {stored}, in each segment: in {each}"
        for name, told in _OF_RUNS.items():
            yield f"    {told}: " + ", ".join(f"{size} in {count}" for size, count in cases[name].items())
        yield from self._effects()
        if found := self.situations():
            yield f"situations that some case is in: {sum(map(bool, found.values()))} of {len(found)}"
        if never := [name for name, count in found.items() if not count]:
            yield f"situations that no case is in: {'; '.join(never)}"

    def _effects(self) -> Iterator[str]:
        """The features that do not matter in all cases that have them."""
        has, matters = self.features_covered(), self.features_effective()
        part = {name: count for name, count in matters.items() if 0 < count < has[name]}
        if part:
            told = ", ".join(f"{name} {count} of {has[name]}" for name, count in part.items())
            yield f"cases in which a feature matters, of those that have it: {told}"
        never = [name for name, count in matters.items() if not count]
        for state, is_told in ((INEFFECTIVE, False), (IMMATERIAL, True)):
            if names := [name for name in never if (name in self.immaterial) == is_told]:
                verb = "that " if is_told else ""
                yield f"features {verb}{FEATURES_TOLD[state]}: {', '.join(names)}"


_TOLD: dict[str, Callable[[Row], str]] = {
    "case": lambda row: str(row.case),
    "shape": lambda row: row.shape,
    "layout": lambda row: row.layout,
    "features": lambda row: ", ".join(row.tensors),
    "parameters": lambda row: " ".join(f"{name}={_short(row.parameters[name])}" for name in row.stated),
    "dtype": lambda row: row.dtype,
    "data": lambda row: row.data,
}
"""What a table tells of each case, by column."""


def _short(value: Any) -> str:
    """A value of a parameter in a table."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _histogram(values: list[int]) -> dict[str, int]:
    """How many values are 0, 1, 2 to 3, 4 to 7, ..."""
    found: Counter[int] = Counter(value.bit_length() for value in values)
    return {_power_range(bits): found[bits] for bits in sorted(found)}


def _power_range(bits: int) -> str:
    """The numbers of so many binary digits."""
    return str(bits) if bits < 2 else f"{1 << (bits - 1)} to {(1 << bits) - 1}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _cell(result: BackendResult) -> str:
    if result.status in (NOT_LOWERED, BEYOND_TARGET):
        return f"[dim]{result.status}[/dim]"
    colour = {PASS: "green", MISS: "red bold"}[result.status]
    numbers = f"{result.error:5.2f}"
    if result.ratios is not None:
        found = result.ratios
        numbers += f"  {found.mare:.1f}/{found.mere:.1f}/{found.rmse:.1f}"
    return f"[{colour}]{result.status}[/{colour}] {numbers}"
