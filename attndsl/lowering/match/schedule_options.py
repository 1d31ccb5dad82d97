"""Schedules as data: what an author may state, what the compiler fills in, and what results."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, fields, replace
from math import gcd, isnan

from attndsl.base.source_location import UNKNOWN_LINE, SourceLine
from attndsl.expr import Expr, Named
from attndsl.lowering.errors import IllegalScheduleValue, UnknownScheduleChoice
from attndsl.lowering.match.required_options import RequiredOption
from attndsl.target import Architecture, Device
from attndsl.tile.instructions.units import block_elements

DEFAULT = "default"
"""Why an option has the value it has if nobody asked for another."""
BAND_ROWS = 128
"""Rows of one matrix multiply at most: two slots of their operands and products fill L0."""
MANY_ROWS = 2 * BAND_ROWS
"""Rows of a task of prompts: more are left to who states them, as they take the unified buffer."""
LONG_ROW = 512
"""Channels of a row of values, of which the unified buffer holds few copies."""
OF_SELECTIONS: Mapping[str, int | str] = {"result_rows": 16}
"""Defaults where blocks of keys are selected: items are short, and results a good part of them."""
OF_LONG_PROMPTS: Mapping[str, int | str] = {"prob_layout": "fractals"}
"""Defaults of tasks of many rows whose heads have more than :data:`NARROW_HEAD` channels: the cube's copies
limit them. With fewer channels the vector cores do, which fractals cost more instructions."""
NARROW_HEAD = 64
"""Channels of a head whose products take the cube no longer than its softmax takes the vector cores."""
OF_LATENT_ROWS: Mapping[str, int | str] = {
    "tile_k": 128,
    "value_width": 256,
    "score_slots": "ring",
    "ring": 2,
    "result_rows": 8,
}
"""Defaults of long rows of values that are channels of the keys, which stay in L1 or come from L2 again.

Beside the sums of 128 rows the unified buffer has room for small tiles and few rows of sums a step; L1 has
room for the keys of two tiles. A copy of the values of two matrix multiplies takes half the time of two.
"""
GRANULE = 128
"""Keys that no row of a task sees are skipped at the front in whole multiples of this."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A complete schedule.

    Attributes:
        tile_k: keys of one score tile, the unit of the cube/vector exchange.
        ring: workspace slots between cube and vector cores; the first stage of a tile runs ``ring - 1``
            tiles ahead of the last.
        rows: score rows one vector step works on.
        result_rows: rows of a vector step on weighted sums and results, or "auto": ``rows``.
        base_n: keys (or value columns) of one matrix multiply.
        base_k: depth of one matrix multiply.
        slots: slots of each unified-buffer load and store buffer (2: double buffering).
        result_slots: the same for buffers of weighted sums, results, partials and their merge.
        widen_lead: tiles by which quantized keys and values are widened ahead of the scores.
        max_rows: query rows of one task, the query heads that share a key/value head; above 128 in bands of
            128 rows, which read keys and values from L1.
        split_kv: parts the keys of a row are split into; "idle": as many as idle cores allow; "even": more if
            that evens out the cores, two or three a task or, of fewer tasks than cores and several
            attentions, as many as give a core two or three; "auto": "even" with one query position a batch
            row, else "idle".
        cores: blocks to launch at most, or "auto": all cores of the device.
        value_n: value columns of one matrix multiply, or "auto": ``base_n``.
        value_width: value columns that a copy brings to L1 for the keys of a tile, which are multiplied
            ``value_n`` at a time; "auto": those of one matrix multiply, a block of keys at a time. Bears on
            tasks of one band of rows.
        query_slots: slots of query rows in L1, or "auto": two in a continuous pipeline.
        value_source: where values come from that are channels of the keys: "memory", for their product, or
            "keys": a tile of keys stays in L1 from the scores to the weighted sums, in parts of
            ``value_width`` channels; "auto": "keys" for rows of 512 values or more, where that can be.
        value_slots: slots of values in L1, or "auto": two for tasks of one band of rows.
        task_rows: "even": the host gives some tasks, or all, one band of rows where that evens out the cores,
            or where several would leave them few tiles each; "most": as many rows as ``max_rows`` allows.
        pipeline: "continuous" from one item to the next, as "auto" is, or "drained" at the end of each item.
        item_order: which items follow each other, those of one split or those of one task: "splits", "tasks";
            "longest": as "splits", the tasks of prompts with the last positions first, and blocks take a
            round of items in one direction and the next in the other; "auto": "longest" where later
            positions see more keys, else "splits". Of "longest", and of "auto" where prompts have tasks of
            two sizes, each block takes its own items from the last to the first.
        prob_layout: how probabilities pass through the workspace: "rows", which the cube's copy to L1
            reorders, or "fractals": the vector cores store them in the order of L1.
        score_slots: slots of score tiles: "ring": as many as of all rings; "prefetch": one less, and the
            cube waits for the probabilities of a tile before it puts scores in its place; "auto": one less
            for prompts in a continuous pipeline.
        first_stores: who stores first to the slots of score tiles: "vector": vector cores store zeros before
            the cube has scores, so that L2 holds the slots; "cube": nobody does; "auto": vector cores for
            tasks of several bands of rows, where they can.
    """

    tile_k: int = 512
    ring: int = 3
    rows: int = 16
    base_n: int = 128
    base_k: int = 128
    slots: int = 2
    result_slots: int = 2
    widen_lead: int = 1
    max_rows: int = BAND_ROWS
    split_kv: int | str = "auto"
    cores: int | str = "auto"
    result_rows: int | str = "auto"
    value_n: int | str = "auto"
    value_width: int | str = "auto"
    query_slots: int | str = "auto"
    value_slots: int | str = "auto"
    task_rows: str = "even"
    pipeline: str = "auto"
    item_order: str = "auto"
    score_slots: str = "auto"
    value_source: str = "auto"
    first_stores: str = "auto"
    prob_layout: str = "rows"

    @property
    def prefetch_distance(self) -> int:
        """Tiles by which the first stage of a tile runs ahead of the weighted sums."""
        return self.ring - 1

    @property
    def columns(self) -> int:
        """Value columns of one matrix multiply."""
        return self.base_n if isinstance(self.value_n, str) else self.value_n

    def rows_per_core(self, architecture: Architecture) -> int:
        """Rows of a task that one vector core has."""
        return self.max_rows // architecture.aiv_per_aic


@dataclass(frozen=True, slots=True)
class Legal:
    """The legal values of an option: a range of integers, words, or both; ``high`` 0: words alone."""

    low: int = 0
    high: int = 0
    multiple: int = 1
    words: tuple[str, ...] = ()

    def text(self) -> str:
        """The values, as they end "must be"."""
        words = [f'"{word}"' for word in self.words]
        if self.high:
            multiple = f", a multiple of {self.multiple}" if self.multiple > 1 else ""
            words.insert(0, f"an integer from {self.low} to {self.high}{multiple}")
        return " or ".join(words)

    def nearest(self, value: object) -> int | str:
        """The legal value nearest to another one; if none is near, the lowest integer or the first word."""
        words = difflib.get_close_matches(value, self.words, n=1) if isinstance(value, str) else []
        if words or not self.high:
            return words[0] if words else self.words[0]
        number = _number(value)
        if number is None:
            return self.low
        bounded = min(max(number, self.low), self.high)
        return max(round(bounded / self.multiple) * self.multiple, self.low)

    def holds(self, value: object) -> bool:
        """Whether a value is legal."""
        if isinstance(value, str):
            return value in self.words
        plain = isinstance(value, int) and not isinstance(value, bool)
        return plain and bool(self.high) and self.nearest(value) == value

    def nearest_divisor(self, value: int, whole: int) -> int:
        """The legal integer nearest to ``value`` among those that divide ``whole``, of which one must be."""
        divisors = (step for step in range(self.multiple, self.high + 1, self.multiple) if step >= self.low)
        return min((step for step in divisors if whole % step == 0), key=lambda step: abs(step - value))


def _number(value: object) -> float | None:
    """The number that was meant, given as one or as its text; None where there is none."""
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if isnan(number) else number


TILE_STEP = 64
_WIDE = 128 * 128
"""Elements of a right operand from which its depth is halved first."""
_STEP = 8
"""Rows of a vector step are a multiple of this."""
_LEAST_DEPTH = 64
_TILE_OF_MANY_ROWS = 256
"""Keys of a tile to which it shrinks before a task has fewer rows, of which larger tiles may have room."""
_LEAST_ROWS = 64
_AUTO = ("auto",)
_LEGAL = {
    "ring": Legal(2, 8),
    "rows": Legal(_STEP, 64, _STEP),
    "result_rows": Legal(_STEP, 128, _STEP, words=_AUTO),
    "base_n": Legal(16, 256, 16),
    "base_k": Legal(16, 256, 16),
    "slots": Legal(1, 2),
    "result_slots": Legal(1, 2),
    "widen_lead": Legal(0, 6),
    "max_rows": Legal(16, 256, 16),
    "split_kv": Legal(1, 4096, words=("auto", "idle", "even")),
    "value_n": Legal(16, 256, 16, _AUTO),
    "value_width": Legal(16, 1024, 16, _AUTO),
    "query_slots": Legal(1, 2, words=_AUTO),
    "value_slots": Legal(1, 2, words=_AUTO),
    "task_rows": Legal(words=("even", "most")),
    "pipeline": Legal(words=("auto", "continuous", "drained")),
    "item_order": Legal(words=("auto", "splits", "tasks", "longest")),
    "score_slots": Legal(words=("auto", "ring", "prefetch")),
    "value_source": Legal(words=("auto", "memory", "keys")),
    "first_stores": Legal(words=("auto", "vector", "cube")),
    "prob_layout": Legal(words=("rows", "fractals")),
}
ALWAYS_TOLD = frozenset(("slots", "result_slots", "widen_lead", "split_kv", "cores"))
"""Options without a constant that a schedule header tells even if nobody asked for another value."""


def legal_values(device: Device) -> dict[str, Legal]:
    """What an author may state, for a device; row pitches of a score tile are repeat strides of fp32 rows."""
    most_keys = device.architecture.max_repeat_stride * block_elements("float32") // TILE_STEP * TILE_STEP
    return {
        "tile_k": Legal(TILE_STEP, most_keys, TILE_STEP),
        **_LEGAL,
        "cores": Legal(1, device.aic, words=_AUTO),
    }


def resolve(
    choices: Mapping[str, object],
    device: Device,
    lines: Mapping[str, SourceLine] | None = None,
    defaults: Mapping[str, object] | None = None,
) -> Schedule:
    """The schedule that an author's choices give for a device, the rest filled with defaults.

    ``defaults``: those of this computation that are others than of :class:`Schedule`.

    Raises:
        UnknownScheduleChoice, IllegalScheduleValue: naming the nearest legal choice.
    """
    ranges = legal_values(device)
    for name, value in choices.items():
        where = (lines or {}).get(name, UNKNOWN_LINE)
        if name not in ranges:
            nearest = difflib.get_close_matches(name, ranges, n=1, cutoff=0.0)[0]
            raise UnknownScheduleChoice(name, nearest, where)
        bounds = ranges[name]
        if not bounds.holds(value):
            raise IllegalScheduleValue(name, value, bounds.text(), bounds.nearest(value), where)
    schedule = replace(Schedule(), **{**(defaults or {}), **choices})  # type: ignore[arg-type]
    vectors = device.architecture.aiv_per_aic
    per_core = schedule.rows_per_core(device.architecture)
    if "rows" not in choices:
        schedule = replace(schedule, rows=gcd(schedule.rows, per_core))
    if per_core % schedule.rows:
        closest = ranges["rows"].nearest_divisor(schedule.rows, per_core)
        line = (lines or {}).get("rows" if "rows" in choices else "max_rows", UNKNOWN_LINE)
        text = f"a divisor of max_rows / {vectors} = {per_core}, the rows of one vector core"
        raise IllegalScheduleValue("rows", schedule.rows, text, closest, line)
    _check_result_rows(schedule, per_core, (lines or {}).get("result_rows", UNKNOWN_LINE))
    return _with_lead(_with_result_slots(schedule, choices), choices, lines or {})


def _check_result_rows(schedule: Schedule, per_core: int, line: SourceLine) -> None:
    rows = schedule.result_rows
    if isinstance(rows, int) and per_core % rows:
        text = f"a divisor of {per_core}, the rows of one vector core"
        closest = _LEGAL["result_rows"].nearest_divisor(rows, per_core)
        raise IllegalScheduleValue("result_rows", rows, text, closest, line)


def _with_result_slots(schedule: Schedule, choices: Mapping[str, object]) -> Schedule:
    """As many as other buffers have, unless stated."""
    return schedule if "result_slots" in choices else replace(schedule, result_slots=schedule.slots)


def _with_lead(
    schedule: Schedule, choices: Mapping[str, object], lines: Mapping[str, SourceLine]
) -> Schedule:
    """The scores of a tile run ahead of its weighted sums, however far it was widened ahead of them."""
    most = schedule.ring - 2
    if schedule.widen_lead <= most:
        return schedule
    if "widen_lead" not in choices:
        return replace(schedule, widen_lead=most)
    line = lines.get("widen_lead", UNKNOWN_LINE)
    raise IllegalScheduleValue("widen_lead", schedule.widen_lead, f"at most ring - 2 = {most}", most, line)


def limits_of(options: Mapping[str, Named], device: Device) -> Iterator[tuple[Expr, str]]:
    """What :func:`resolve` asks of options, as conditions on the constants that stand for them."""
    for name, bounds in legal_values(device).items():
        value = options.get(name)
        if value is None:
            continue
        condition = (value >= bounds.low) & (value <= bounds.high)
        if bounds.multiple > 1:
            condition = condition & ((value % bounds.multiple) == 0)
        yield condition, f"limits of {name}"
    for name in ("rows", "result_rows"):
        if {name, "max_rows"} <= options.keys():
            vectors = device.architecture.aiv_per_aic
            text = f"{name} divides the rows of a vector core"
            yield (options["max_rows"] // vectors % options[name]) == 0, text
    if "widen_lead" in options:
        yield options["widen_lead"] + 2 <= options["ring"], "scores run ahead of weighted sums"


def multiple_of(option: str, device: Device) -> int:
    """What every legal value of an option is a multiple of."""
    return legal_values(device)[option].multiple


def smaller(
    schedule: Schedule, stated: Mapping[str, object], architecture: Architecture, space: str = "UB"
) -> Schedule | None:
    """The next schedule to try when one does not fit into ``space``; only what the author left open changes.

    In the unified buffer probabilities travel as rows first, which takes 96 bytes less. In L1 the queries of
    the next item wait first, then keys do not stay until they are values, then copies
    of values become narrow. A task of one band of rows is next: there is time to read keys again while the
    vector cores work. Then results, which are loaded once a tile, have one slot, and so has all else of
    latent rows. Fewer rows a vector step cost what instructions wait for each other. Fewer rows a task, down
    to 64, fill the cube badly: tiles of 256 keys are tried before. Smaller tiles cost more exchanges between
    the cores, a single slot costs the overlap of copies and computation, and still fewer rows a task come
    last.
    """
    may = {name for name in _LEGAL.keys() | {"tile_k"} if name not in stated}
    widest = max(schedule.base_n, schedule.columns)
    if "base_k" in may and widest * schedule.base_k > _WIDE and schedule.base_k > _LEAST_DEPTH:
        return replace(schedule, base_k=schedule.base_k // 2 // 16 * 16)
    if space == "UB" and "prob_layout" in may and schedule.prob_layout != "rows":
        return replace(schedule, prob_layout="rows")
    if space == "L1" and (narrower := _with_less_in_l1(schedule, may)) is not None:
        return narrower
    fewer = _with_fewer_rows(schedule, may, architecture)
    if fewer is not None and fewer.max_rows >= BAND_ROWS:
        return fewer
    if "result_slots" in may and space == "UB" and schedule.result_slots > 1:
        return replace(schedule, result_slots=1)
    latent = schedule.value_width != "auto"
    if latent and "slots" in may and space == "UB" and schedule.rows > _STEP and schedule.slots > 1:
        return replace(schedule, slots=1)
    if "rows" in may and space == "UB" and schedule.rows % (2 * _STEP) == 0:
        slots = schedule.slots if "result_slots" in may else schedule.result_slots
        return replace(schedule, rows=schedule.rows // 2, result_slots=slots)
    if "result_rows" in may and space == "UB" and schedule.result_rows != "auto":
        return replace(schedule, result_rows="auto")
    may_shrink = "tile_k" in may and schedule.tile_k % 128 == 0
    if may_shrink and space == "UB" and schedule.tile_k > _TILE_OF_MANY_ROWS:
        return replace(schedule, tile_k=schedule.tile_k // 2)
    if fewer is not None and fewer.max_rows >= _LEAST_ROWS:
        halved = may_shrink and space == "UB" and schedule.tile_k == _TILE_OF_MANY_ROWS
        return replace(fewer, tile_k=2 * _TILE_OF_MANY_ROWS) if halved else fewer
    if may_shrink and schedule.tile_k > 128:
        return replace(schedule, tile_k=schedule.tile_k // 2)
    if "slots" in may and schedule.slots > 1:
        return replace(schedule, slots=1, result_slots=1 if "result_slots" in may else schedule.result_slots)
    if may_shrink:
        return replace(schedule, tile_k=schedule.tile_k // 2)
    return fewer


def _with_less_in_l1(schedule: Schedule, may: Set[str]) -> Schedule | None:
    """One place for queries, then keys that do not stay, then narrow copies of values; None where all is so,
    or stated."""
    if "query_slots" in may and schedule.query_slots == "auto":
        return replace(schedule, query_slots=1)
    latent = schedule.value_width != "auto"
    if latent and "value_source" in may and schedule.value_source == "auto":
        return replace(schedule, value_source="memory")
    if "value_width" in may and schedule.value_width != "auto":
        return replace(schedule, value_width="auto")
    return None


def with_fewer_events(
    schedule: Schedule, stated: Mapping[str, object], architecture: Architecture
) -> Schedule | None:
    """The next schedule to try when a pipe pair has too few event ids: each slot of a buffer takes one.

    Buffers of results lose their second slot first: most are used once an item, others once a tile.
    """
    for name in ("result_slots", "slots"):
        if name not in stated and getattr(schedule, name) > 1:
            return replace(schedule, **{name: 1})  # type: ignore[arg-type]
    return smaller(schedule, stated, architecture)


def _with_fewer_rows(schedule: Schedule, may: Set[str], architecture: Architecture) -> Schedule | None:
    """Half the rows a task, and of those of a step what divides a core's; None where they may not change."""
    fewer = replace(schedule, max_rows=schedule.max_rows // 2)
    per_core = fewer.rows_per_core(architecture)
    if "max_rows" not in may or per_core % _STEP:
        return None
    if isinstance(fewer.result_rows, int) and per_core % fewer.result_rows:
        if "result_rows" not in may:
            return None
        fewer = replace(fewer, result_rows="auto")
    if "rows" in may:
        return replace(fewer, rows=gcd(schedule.rows, per_core))
    return fewer if per_core % schedule.rows == 0 else None


def describe(
    schedule: Schedule,
    stated: Mapping[str, object],
    required: Sequence[RequiredOption] = (),
    chosen: Mapping[str, str] | None = None,
) -> str:
    """The schedule as text, one option a line, with who chose it."""
    values, found = asdict(schedule), reasons(schedule, stated, required, chosen)
    for choice in required:
        found[choice.name] += f" ({choice.where})"
    width = max(len(field.name) for field in fields(schedule))
    return "\n".join(f"  {name:<{width}}  {value!s:<6} {found[name]}" for name, value in values.items())


def reasons(
    schedule: Schedule,
    stated: Mapping[str, object],
    required: Sequence[RequiredOption] = (),
    chosen: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Who chose each option: ``default``, ``spec``, why the computation needs it, or as ``chosen`` says."""
    needed, others = {choice.name: choice for choice in required}, chosen or {}
    found: dict[str, str] = {}
    for name, value in asdict(schedule).items():
        told = name in stated and stated[name] == value
        found[name] = "spec" if told else others.get(name, DEFAULT)
        if name in needed:
            instead = f", not {stated[name]} as in the spec" if stated.get(name, value) != value else ""
            found[name] = f"needed: {needed[name].why}{instead}"
    return found
