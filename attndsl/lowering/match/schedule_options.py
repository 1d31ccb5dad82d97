"""Schedules as data: the options, their legal values, and who chose each."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from math import isnan

from attndsl.base.source_location import SourceLine
from attndsl.target import Architecture, Device
from attndsl.tile.instructions.units import block_elements

DEFAULT = "default"
"""Why an option has the value it has if nobody asked for another."""
BAND_ROWS = 128
"""The most rows of one matrix multiply: two slots of their operands and products fill L0."""
MANY_ROWS = 2 * BAND_ROWS
"""Rows of a task of prompts, the most that is legal: their numbers take the unified buffer."""
BY_AUTHOR_ALONE = frozenset({"score_dtype"})
"""Options that change results beyond their accuracy class: no search and no stored choice states them."""
LONG_ROW = 512
"""Channels of a row of values, of which the unified buffer holds few copies."""
OF_LONG_KEYS: Mapping[str, int | str] = {"key_copies": "whole"}
"""Defaults of keys with more channels than a matrix multiply takes."""
OF_SELECTIONS: Mapping[str, int | str] = {"result_rows": 16, "few_keys": "auto"}
"""Defaults where blocks of keys are selected: items are short, results and waits a good part of them."""
OF_LONG_PROMPTS: Mapping[str, int | str] = {"prob_layout": "fractals"}
"""Defaults of tasks of many rows whose heads have more than :data:`NARROW_HEAD` channels: the cube's copies
limit them. With fewer channels the vector cores do, which fractals cost more instructions. Also where blocks
of keys are selected: items have few rows for the keys that are copied."""
NARROW_SCORES = (
    "Scores pass through the workspace in fp16 (score_dtype): results have an error bound of their own, and "
    "products of queries and keys are at most 65504."
)
"""What is told of kernels that do."""
OF_NARROW_SCORES: Mapping[str, int | str] = {"rows": 32, "result_rows": 8}
"""Defaults of prompts whose scores pass in fp16: vector cores limit them, which need steps of many rows, for
which sums in the workspace leave room."""
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
        max_rows: query rows of one task at most: query heads that share a key/value head, times query
            positions or batch rows that share keys; above 128 in bands of 128 rows, which read keys and
            values from L1.
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
            for prompts in a continuous pipeline whose rows are not widened.
        first_stores: who stores first to the slots of score tiles: "vector": vector cores store zeros before
            the cube has scores, so that L2 holds the slots; "cube": nobody does; "auto": vector cores for
            tasks of several bands of rows, where they can.
        key_copies: how keys come to L1 that have more channels than a matrix multiply takes: "parts", each
            for its product, or "whole". Bears on tasks of one band of rows.
        few_keys: score rows of a vector step where an item's only tile has no more keys than half a tile:
            "same": ``rows``; "double": twice as many; "auto": "double" where that can be.
        sums: where weighted sums of an item's tiles are added up: "vector": by the vector cores, in the
            unified buffer, to which those of each tile come; "workspace": by the cube's stores, so that they
            come once an item; "auto": in the workspace for tasks of several bands of rows, where they can be.
        halves: whether a task may have two halves of ``max_rows`` rows: "alternate": they take steps in turn,
            so that the values of a tile come to L1 once for both; "none": a task has ``max_rows`` rows at
            most; "auto": halves for tasks of several bands of rows, where they can be.
        row_sums: what a vector step leaves of the sums of its rows to finish for all rows of a core after the
            steps of a tile: "blocks" of 8 lanes a row, the "lanes" that a row folds to at first, or nothing:
            each "step" finishes its own; "auto": "lanes" with weighted sums in the workspace, else "blocks"
            for tasks of one band of rows and narrow scores, else "step". Bears on rows of several positions
            whose sums no step needs.
        maxima: when row maxima are taken: "each": of each tile; "kept": of the first tile of an item, and of
            rows where those that they have turn out to be too small, which are computed again; "auto": kept
            with fp16 scores, or with more on scores than a factor, where that can be. Results are the same.
        item_loops: the loops over the items of two attentions: "joint", one loop that takes items of both in
            turn, or "separate", one loop behind the other; "auto" is "joint" where that can be.
        score_dtype: how score tiles pass through the workspace: "float32", as the cube computes them (of int8
            as integers), or "float16", rounded, which the vector cores widen: half the bytes, less exact.
            Nothing chooses that but an author (:data:`BY_AUTHOR_ALONE`).
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
    key_copies: str = "parts"
    few_keys: str = "same"
    sums: str = "auto"
    halves: str = "auto"
    row_sums: str = "auto"
    maxima: str = "auto"
    item_loops: str = "auto"
    score_dtype: str = "float32"

    @property
    def prefetch_distance(self) -> int:
        """Tiles by which the first stage of a tile runs ahead of the weighted sums."""
        return self.ring - 1

    @property
    def columns(self) -> int:
        """Value columns of one matrix multiply."""
        return self.base_n if isinstance(self.value_n, str) else self.value_n

    @property
    def several_bands(self) -> bool:
        """Whether the rows of a task may be more than one band, so that the kernel goes over its bands."""
        return self.max_rows > BAND_ROWS

    def rows_per_core(self, architecture: Architecture) -> int:
        """Rows of a task that one vector core has."""
        return self.max_rows // architecture.aiv_per_aic


@dataclass(frozen=True, slots=True)
class RequiredOption:
    """A value of a schedule option that the computation asks for, why, and the line that says so.

    The line tells no two apart: programs that are stored on disk come from any copy of a spec, and kernels
    that share a text may come from several.
    """

    name: str
    value: int
    why: str
    where: SourceLine = field(compare=False)


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
ROW_STEP = 8
"""Rows of a vector step are a multiple of this."""
_AUTO = ("auto",)
_LEGAL = {
    "ring": Legal(2, 8),
    "rows": Legal(ROW_STEP, 64, ROW_STEP),
    "result_rows": Legal(ROW_STEP, 128, ROW_STEP, words=_AUTO),
    "base_n": Legal(16, 256, 16),
    "base_k": Legal(16, 256, 16),
    "slots": Legal(1, 2),
    "result_slots": Legal(1, 2),
    "widen_lead": Legal(0, 6),
    "max_rows": Legal(16, MANY_ROWS, 16),
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
    "key_copies": Legal(words=("parts", "whole")),
    "few_keys": Legal(words=("same", "auto", "double")),
    "sums": Legal(words=("auto", "vector", "workspace")),
    "halves": Legal(words=("auto", "alternate", "none")),
    "row_sums": Legal(words=("auto", "lanes", "blocks", "step")),
    "maxima": Legal(words=("auto", "each", "kept")),
    "item_loops": Legal(words=("auto", "joint", "separate")),
    "score_dtype": Legal(words=("float32", "float16")),
}


def legal_values(device: Device) -> dict[str, Legal]:
    """What an author may state, for a device; row pitches of a score tile are repeat strides of fp32 rows."""
    most_keys = device.architecture.max_repeat_stride * block_elements("float32") // TILE_STEP * TILE_STEP
    return {
        "tile_k": Legal(TILE_STEP, most_keys, TILE_STEP),
        **_LEGAL,
        "cores": Legal(1, device.aic, words=_AUTO),
    }


def multiple_of(option: str, device: Device) -> int:
    """What every legal value of an option is a multiple of."""
    return legal_values(device)[option].multiple


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
    width = max(len(each.name) for each in fields(schedule))
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
