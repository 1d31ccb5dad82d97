"""Numbers as lengths on the page: what the template prints, computed here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attndsl.cli.profile_page.memory_use import Interval, MemoryUse, closed
from attndsl.cli.profile_page.roofline import Roofline, ticks
from attndsl.profile.spans import BlockSpans, Span

PLOT = 1000.0
"""Units across a plot over time."""
PALETTE = 8
"""Colours of functions; the last is for all others."""
_BINS = 500
_ROW, _GAP, _CORE_GAP = 18.0, 4.0, 10.0
_MEMORY_HEIGHT, _LEAST_BAND, _LABELLED = 150.0, 3.0, 11.0
_ROOF_WIDTH, _ROOF_HEIGHT = 560.0, 300.0


def number(value: float) -> str:
    """A length, short."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Bar:
    """A rectangle on a row. ``colour``: of the palette."""

    x: str
    width: str
    colour: int
    title: str


@dataclass(frozen=True)
class Row:
    """A pipe's row of a plot over time; ``area``: a path of how busy it was, ``waits``: one of its waits."""

    label: str
    core: str
    y: str
    middle: str
    share: str
    bars: tuple[Bar, ...] = ()
    area: str = ""
    waits: str = ""


@dataclass(frozen=True)
class TimePlot:
    """Rows over ``begin`` to ``end`` microseconds. ``marks``: what is written below at equal distances."""

    begin: float
    end: float
    height: str
    rows: tuple[Row, ...]
    marks: tuple[str, ...]
    legend: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Band:
    """A slot of a buffer in a memory's plot.

    ``written``, ``read``: paths. ``label``: empty where it has no room.
    """

    y: str
    height: str
    middle: str
    label: str
    title: str
    written: str
    read: str


@dataclass(frozen=True)
class MemoryPlot:
    """One memory over the time of a stretch."""

    space: str
    height: str
    bands: tuple[Band, ...]
    note: str


def marks(begin: float, end: float, count: int = 6) -> tuple[str, ...]:
    """Times at equal distances."""
    digits = max(0, 2 - math.floor(math.log10(max(end - begin, 1e-6))))
    return tuple(f"{begin + (end - begin) * at / (count - 1):.{digits}f}" for at in range(count))


def _places(rows: Sequence[tuple[str, str]]) -> tuple[list[float], float]:
    """The top of each row, and the height of all; cores are set apart."""
    tops, y, before = list[float](), 0.0, ""
    for core, _ in rows:
        y += _CORE_GAP if before and core != before else 0.0
        tops.append(y)
        y, before = y + _ROW + _GAP, core
    return tops, max(y - _GAP, _ROW)


def overview(block: BlockSpans, pipes: Sequence[str], until: float) -> TimePlot:
    """How busy each pipe of the block's cores was, from the launch to ``until``."""
    rows = block.rows(pipes)
    tops, height = _places(list(rows))
    shown = [
        Row(
            label=pipe,
            core=core,
            y=number(top),
            middle=number(top + _ROW / 2 + 4),
            share=f"{sum(span.length for span in spans if not span.waiting) / max(until, 1e-9):.0%}",
            area=_area(spans, until, top),
        )
        for ((core, pipe), spans), top in zip(rows.items(), tops, strict=True)
    ]
    return TimePlot(0.0, until, number(height), tuple(shown), marks(0.0, until))


def _area(spans: Iterable[Span], until: float, top: float) -> str:
    """Steps as high as the share of each of the bins that the pipe was busy."""
    busy, width = [0.0] * _BINS, until / _BINS
    for span in spans:
        at = span.start
        while not span.waiting and at < span.end - 1e-12:
            place = min(int(at / width), _BINS - 1)
            till = span.end if place == _BINS - 1 else min(span.end, (place + 1) * width)
            busy[place] += max(till - at, 0.0)
            at = max(till, math.nextafter(at, math.inf))
    base, step = top + _ROW, PLOT / _BINS
    path, before = [f"M0 {number(base)}"], 0.0
    for place, taken in enumerate(busy):
        share = round(min(taken / width, 1.0), 2)
        if share != before:
            path.append(f"H{number(place * step)}V{number(base - share * _ROW)}")
            before = share
    return "".join([*path, f"H{number(PLOT)}V{number(base)}Z"])


def stretch(block: BlockSpans, pipes: Sequence[str], begin: float, end: float) -> TimePlot:
    """Each instruction that starts in a stretch of time, in the colour of its function."""
    within = BlockSpans(block.block, tuple(each for each in block.spans if begin <= each.start <= end), end)
    rows, length = within.rows(pipes), max(end - begin, 1e-9)
    tops, height = _places(list(rows))
    colours = _colours(within.spans)
    shown = []
    for ((core, pipe), spans), top in zip(rows.items(), tops, strict=True):
        work = [span for span in spans if not span.waiting]
        shown.append(
            Row(
                label=pipe,
                core=core,
                y=number(top),
                middle=number(top + _ROW / 2 + 4),
                share=f"{min(sum(span.length for span in work) / length, 1.0):.0%}",
                bars=tuple(_bar(span, begin, length, colours) for span in work),
                waits=blocks(
                    ((span.start, span.end) for span in spans if span.waiting),
                    begin,
                    length,
                    top + _ROW - 3,
                    3,
                ),
            )
        )
    legend = [
        (colour, name or "outside of functions") for name, colour in colours.items() if colour < PALETTE - 1
    ]
    if len(colours) >= PALETTE:
        legend.append((PALETTE - 1, "others"))
    return TimePlot(begin, end, number(height), tuple(shown), marks(begin, end), tuple(legend))


def _colours(spans: Iterable[Span]) -> dict[str, int]:
    """The colour of each function, those that take most time first."""
    taken = dict[str, float]()
    for span in spans:
        if not span.waiting:
            taken[span.function] = taken.get(span.function, 0.0) + span.length
    ordered = sorted(taken, key=lambda name: -taken[name])
    return {name: min(at, PALETTE - 1) for at, name in enumerate(ordered)}


def _bar(span: Span, begin: float, length: float, colours: dict[str, int]) -> Bar:
    where = f" in {span.function}" if span.function else ""
    when = f"{span.core} {span.pipe}, {span.start:.3f} us, takes {span.length * 1e3:.0f} ns"
    title = f"{span.what}{where}\n{when}\n{span.line}"
    width = max(span.length / length * PLOT, 0.02)
    return Bar(number((span.start - begin) / length * PLOT), number(width), colours[span.function], title)


def blocks(intervals: Iterable[Interval], begin: float, length: float, top: float, height: float) -> str:
    """A path of rectangles, one an interval."""
    drawn = (
        (max(first - begin, 0.0) / length * PLOT, min(last - begin, length) / length * PLOT)
        for first, last in closed(intervals, length / 4000)
        if last > begin and first < begin + length
    )
    return "".join(
        f"M{number(left)} {number(top)}h{number(max(right - left, 0.05))}v{number(height)}H{number(left)}z"
        for left, right in drawn
    )


def memory_plot(use: MemoryUse, begin: float, end: float) -> MemoryPlot:
    """A memory's buffers by address, each as high as its bytes as far as it can be seen."""
    scale, length = _MEMORY_HEIGHT / use.size, max(end - begin, 1e-9)
    y, bands = 0.0, list[Band]()
    for each in use.slots:
        height, buffer = max(each.bytes * scale, _LEAST_BAND / each.buffer.slots), each.buffer
        of = f", slot {each.slot + 1} of {buffer.slots}" if buffer.slots > 1 else ""
        bands.append(
            Band(
                y=number(y),
                height=number(height),
                middle=number(y + 9),
                label=buffer.name if each.slot == 0 and height * buffer.slots >= _LABELLED else "",
                title=f"{buffer.name}{of}, {each.bytes} bytes of {buffer.dtype} from {each.address:#x} on\n"
                f"{buffer.meaning}",
                written=blocks(each.written, begin, length, y, height / 2),
                read=blocks(each.read, begin, length, y + height / 2, height / 2),
            )
        )
        y += height
    height = y + (use.size - use.used) * scale
    share = use.used / use.size
    count = "one buffer" if use.buffers == 1 else f"{use.buffers} buffers"
    note = f"{use.used:,} of {use.size:,} bytes ({share:.0%}) in {count}"
    return MemoryPlot(use.space, number(height), tuple(bands), note)


# ------------------------------------------------------------------------------------------------
# Roofline


@dataclass(frozen=True)
class Line:
    """A line with its name at one of its ends."""

    x1: str
    y1: str
    x2: str
    y2: str
    name: str


@dataclass(frozen=True)
class Mark:
    """A point with its name, and what is known of it."""

    x: str
    y: str
    name: str
    title: str
    roof: str
    left: bool


@dataclass(frozen=True)
class RooflinePlot:
    """The roofline's lines, points and axes. ``across`` and ``up``: places and texts of ticks."""

    width: str
    height: str
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]
    across: tuple[tuple[str, str], ...]
    up: tuple[tuple[str, str], ...]


def roofline_plot(found: Roofline) -> RooflinePlot:
    """Both axes are logarithmic."""
    low, high = found.span()
    top = found.peak * 2
    speeds = [found.peak, *(each.speed for each in found.points), *(roof.rate * low for roof in found.roofs)]
    bottom = 10 ** math.floor(math.log10(min(speeds)))

    def x(intensity: float) -> float:
        return math.log(intensity / low) / math.log(high / low) * _ROOF_WIDTH

    def y(speed: float) -> float:
        return _ROOF_HEIGHT * (1 - math.log(speed / bottom) / math.log(top / bottom))

    lines = [_line(x(low), y(found.peak), x(high), y(found.peak), f"cube, {found.peak / 1e12:.0f} TFLOPS")]
    for roof in found.roofs:
        ridge = found.peak / roof.rate
        name = f"{roof.name}, {roof.rate / 1e12:.2f} TB/s"
        lines.append(_line(x(low), y(roof.rate * low), x(ridge), y(found.peak), name))
    marks_ = [
        Mark(
            x=number(x(each.intensity)),
            y=number(y(each.speed)),
            name=f"against {each.against}",
            title=f"{each.intensity:.1f} operations a byte of {each.against}, {each.speed / 1e12:.1f} TFLOPS",
            roof=number(y(min(found.peak, each.roof.rate * each.intensity))),
            left=x(each.intensity) > _ROOF_WIDTH * 0.75,
        )
        for each in found.points
    ]
    return RooflinePlot(
        number(_ROOF_WIDTH),
        number(_ROOF_HEIGHT),
        tuple(lines),
        tuple(marks_),
        tuple((number(x(tick)), f"{tick:g}") for tick in ticks(low, high, 4)),
        tuple((number(y(tick)), f"{tick / 1e12:g}") for tick in ticks(bottom, top, 10)),
    )


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> Line:
    return Line(number(x1), number(y1), number(x2), number(y2), name)


@dataclass(frozen=True)
class Share:
    """A bar of a list: its name, its length in hundredths of the longest, and its number in words."""

    name: str
    length: str
    text: str


def shares(values: Iterable[tuple[str, float, str]], whole: float) -> Iterator[Share]:
    """Bars in hundredths of ``whole``."""
    for name, value, text in values:
        yield Share(name, number(min(value / max(whole, 1e-9), 1.0) * 100), text)
