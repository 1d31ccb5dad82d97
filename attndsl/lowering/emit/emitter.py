"""The emitter of an attention: host fields, sizes, strides, buffers, and spec expressions in the kernel.

Whatever a rule asks for is noted in the inventory of the program, once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from attndsl.base.reserved_names import is_taken, plain
from attndsl.base.source_location import SourceLine
from attndsl.expr import (
    Binary,
    Compare,
    Const,
    Expr,
    ExprLike,
    Load,
    Named,
    OneOf,
    Scope,
    Select,
    Symbol,
    as_expr,
    constant_value,
    minimum,
    round_up,
    select,
)
from attndsl.expr.intervals import ANYTHING, Range, is_integral
from attndsl.expr.reductions import Fold
from attndsl.lowering.emit.floor_division import floored
from attndsl.lowering.emit.inventory import Inventory
from attndsl.lowering.emit.loop_scalars import REPEAT_LANES, ROWS_OF_STEP, own_rows
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.schedule_options import BAND_ROWS, Schedule
from attndsl.lowering.signature.host_scalars import HOST, length_count
from attndsl.lowering.signature.kernel_signature import KernelSignature
from attndsl.lowering.signature.tensor_layouts import stride_value
from attndsl.target import Architecture, Core, Device, MemorySpace
from attndsl.tile.buffers import Buffer, GlobalRegion, GlobalTensor
from attndsl.tile.entry_size import entry_size
from attndsl.tile.instructions.units import BLOCK_LANES, VECTOR_CORES
from attndsl.tile.naming import camel, stage_name
from attndsl.tile.program import tiling_scalar
from attndsl.tile.statements import Seq, Stage

MAX_ROWS = "maxRows"
"""The constant with the query rows of a task, at most."""
ROWS_OF_SLOT = "query rows that a slot of the rings has"
ROWS_PER_TASK = "rowsPerTask"
"""The tiling field with the query rows of a task, at most: those that a slot of the rings has."""


@dataclass(frozen=True, kw_only=True)
class Emitter:
    """What rules write statements with: sizes, scalars, buffers and regions of one attention's kernel part.

    Attributes:
        where: the spec line of the result.
        cube_dtype: the dtype that the cube multiplies: the io dtype, or float16 where rows are quantized, as
            it holds int8 numbers exactly.
        attention_name: the tensor of its keys, as ``KeyShare``, which names of its rings and fields end with,
            and its stages after ``For``; empty for the only attention.
        longest_first: the tasks with most keys come first, and blocks take rounds of items in turns.
        last_first: each block begins with the last of its items.
        of_results: a vector step is one on weighted sums and results, else on scores.
        of_core: a vector step has all rows of a vector core.
        doubles_rows: a vector step on the scores of few keys has twice as many rows (attention/few_keys.py).
        gathers_sums: weighted sums of an item's tiles are added up in the workspace
            (attention/gathered_sums.py).
        halves: a task may have two halves that take steps in turn and share values in L1
            (attention/halves.py).
        joint: the items of all attentions are those of one loop (lowering/joint_items.py).
    """

    signature: KernelSignature
    schedule: Schedule
    device: Device
    inventory: Inventory
    where: SourceLine
    cube_dtype: str
    attention_name: str = ""
    longest_first: bool = False
    last_first: bool = False
    of_results: bool = False
    of_core: bool = False
    doubles_rows: bool = False
    gathers_sums: bool = False
    halves: bool = False
    joint: bool = False

    @property
    def dtype(self) -> str:
        """The io dtype."""
        return self.signature.dtype

    @property
    def architecture(self) -> Architecture:
        """The architecture of the device."""
        return self.device.architecture

    @property
    def product_dtype(self) -> str:
        """The dtype of the products of matrix multiplies."""
        return "int32" if self.cube_dtype == "int8" else "float32"

    @property
    def narrows_scores(self) -> bool:
        """Whether the schedule has scores pass through the workspace in fp16 (attention/narrow_scores.py)."""
        return self.schedule.score_dtype == "float16"

    def spec_line(self, where: SourceLine) -> str:
        """An author's line as comments of the kernel name it."""
        return where.beside(self.signature.spec_file)

    def label(self, name: str) -> str:
        """The name of a ring or field of this attention."""
        return f"{name}{self.attention_name}"

    def loop_label(self, name: str) -> str:
        """The name of what belongs to a loop over items: of this attention's, or of that of all."""
        return name if self.joint else self.label(name)

    def stage_name(self, stem: str) -> str:
        """The name of a stage of this attention, or of another function."""
        return stage_name(stem, self.attention_name)

    def stage(
        self,
        stem: str,
        core: Core,
        *,
        doc: str,
        body: Seq,
        where: SourceLine,
        awaits: tuple[GlobalTensor, ...] = (),
        warms: GlobalTensor | None = None,
    ) -> Stage:
        """A stage of this attention, see :class:`attndsl.tile.statements.Stage`; ``stem``: what it does."""
        return Stage(
            name=self.stage_name(stem),
            attention_name=self.attention_name,
            core=core,
            doc=doc,
            body=body,
            where=where,
            awaits=awaits,
            warms=warms,
        )

    # Sizes --------------------------------------------------------------------------------------------

    @property
    def padded_head_size(self) -> Named:
        """Head size this kernel is specialized on, a multiple of 16; the true one is :attr:`head_dim`."""
        meaning = "head size this kernel is specialized on, padded to 16"
        return self.inventory.constant("paddedHeadSize", self.signature.padded_head_size, meaning)

    @property
    def padded_value_size(self) -> Named:
        """Head size of values and results this kernel is specialized on."""
        if self.signature.one_head_size:
            return self.padded_head_size
        meaning = "head size of values and results, padded to 16"
        return self.inventory.constant("paddedValueSize", self.signature.padded_value_size, meaning)

    @property
    def head_dim(self) -> Symbol:
        """The true head size of queries and keys."""
        return self.inventory.field("headDim", self.signature.extents["D"], "true head size")

    @property
    def value_dim(self) -> Symbol:
        """The true head size of values and results."""
        if self.signature.one_head_size:
            return self.head_dim
        return self.inventory.field("valueDim", self.signature.extents["E"], "true head size of values")

    def channels(self, role: str) -> Symbol:
        """Channels of a row of keys or values, by its ``role``, "key" or "value"."""
        return self.head_dim if role == "key" else self.value_dim

    def padded_channels(self, role: str) -> Named:
        """The size that they are padded to."""
        return self.padded_head_size if role == "key" else self.padded_value_size

    @property
    def widest_padded_size(self) -> int:
        """The larger one of the padded head sizes, for buffers that rows of keys and of values share."""
        return max(self.signature.padded_head_size, self.signature.padded_value_size)

    def is_at_most(self, stride: Expr, limit: int) -> bool | None:
        """Whether a stride is within a limit: of numbers, and of head sizes, which the kernel's own bounds;
        None of those that calls decide."""
        value, extents = self.inventory.host_value(stride), self.signature.extents
        if value is not None and any(value.same(extents[axis]) for axis in "DE"):
            return True if self.widest_padded_size <= limit else None
        known = constant_value(stride <= limit)
        return None if known is None else bool(known)

    @property
    def tile_keys(self) -> Named:
        """Keys of one score tile."""
        return self._option("tileKeys", "tile_k", "keys of one score tile")

    def tile_lanes(self, multiple: int) -> Expr:
        """Lanes for a tile's keys, a multiple of ``multiple``."""
        size = self.tile_keys
        if self.schedule.tile_k % multiple:
            return round_up(size, multiple)
        self.inventory.require((size % multiple) == 0, f"tiles are whole multiples of {multiple} lanes")
        return size

    @property
    def probabilities_as_fractals(self) -> bool:
        """Whether the schedule has the vector cores order probabilities in fractals."""
        return self.schedule.prob_layout == "fractals"

    @property
    def ring(self) -> Named:
        """Slots of the workspace rings."""
        return self._option(
            "ring", "ring", "slots of a workspace ring of score or probability tiles, at most"
        )

    @property
    def item_slots(self) -> Expr:
        """Slots for the state of items in flight in a continuous pipeline: halves have one each."""
        return self.ring * self.most_halves if self.halves else self.ring

    @property
    def most_halves(self) -> Named:
        """Halves of a task, at most."""
        return self.inventory.constant("mostHalves", 2, "halves of a task, at most")

    @property
    def base_n(self) -> Named:
        """Keys, or value columns, of one matrix multiply."""
        return self._option("baseN", "base_n", "keys or value columns of one matrix multiply")

    @property
    def value_n(self) -> Named:
        """Value columns of one matrix multiply."""
        if self.schedule.value_n == "auto":
            return self.base_n
        return self._option("valueN", "value_n", "value columns of one matrix multiply")

    @property
    def value_width(self) -> Named:
        """Value columns that a copy brings to L1, where they are those of several matrix multiplies."""
        return self._option("valueWidth", "value_width", "value columns that a copy brings to L1")

    @property
    def base_k(self) -> Named:
        """Depth of one matrix multiply."""
        return self._option("baseK", "base_k", "depth of one matrix multiply")

    @property
    def rows_per_step(self) -> Named:
        """Query rows of one vector step."""
        if self.of_core:
            return self.rows_per_vector
        return self.rows_of_results if self.of_results else self.rows_of_scores

    @property
    def rows_of_scores(self) -> Named:
        """Query rows of one vector step on scores."""
        return self._option("rowsPerStep", "rows", "query rows of one vector step")

    @property
    def rows_of_results(self) -> Named:
        """Query rows of one vector step on weighted sums and results."""
        if self.schedule.result_rows == "auto":
            return self.rows_of_scores
        meaning = "query rows of one vector step on weighted sums and results"
        return self._option("resultRowsPerStep", "result_rows", meaning)

    @property
    def most_rows(self) -> Expr:
        """Query rows of one vector step, at most."""
        rows = self.rows_per_step
        return rows * 2 if self.doubles_rows and not (self.of_core or self.of_results) else rows

    @property
    def rows_of_step(self) -> Expr:
        """Query rows of a whole vector step of the running tile."""
        return self.rows_per_step if self.most_rows is self.rows_per_step else ROWS_OF_STEP

    @property
    def score_pitch(self) -> Expr:
        """Lanes from the scores of a row of the step to those of the next."""
        return self.row_lanes if self.doubles_rows else self.tile_keys

    @property
    def row_gap(self) -> Expr:
        """Lanes between the scores of two rows: a block where heads are added, so that rows eight apart lie
        in different halves of the groups of banks."""
        return BLOCK_LANES if self.doubles_rows else Const(0)

    @property
    def row_lanes(self) -> OneOf:
        """The scalar of the lanes of a row, of all keys of a tile or of half of them, with the gap after."""
        gap = self.row_gap
        return OneOf("scorePitch", values=(self.tile_keys + gap, self.tile_keys // 2 + gap))

    def for_results(self) -> Self:
        """The same for steps on weighted sums and results."""
        return self if self.schedule.result_rows == "auto" else replace(self, of_results=True)

    @property
    def max_rows(self) -> Named:
        """Query rows of one task, or of a half of one, at most."""
        of = "a half of a task" if self.halves else "one task"
        return self._option(MAX_ROWS, "max_rows", f"query rows of {of}, at most")

    @property
    def rows_per_band(self) -> Named:
        """Query rows of a band, those that the products of a task take at once where it has more."""
        return self.inventory.constant("rowsPerBand", BAND_ROWS, "query rows of a band of a task's rows")

    @property
    def rows_per_vector(self) -> Named:
        """Query rows of one vector core, at most."""
        meaning = "query rows of one vector core, at most"
        rows = self.max_rows // VECTOR_CORES
        return self.inventory.constant("rowsPerVector", rows, meaning)

    def _option(self, name: str, option: str, meaning: str) -> Named:
        """A schedule option as a constant."""
        return self.inventory.constant(name, getattr(self.schedule, option), meaning, option)

    @property
    def splits(self) -> Symbol:
        """Parts that the keys of a task are split into."""
        return tiling_scalar(self.label("splits"))

    @property
    def tasks(self) -> Symbol:
        """Units of work before keys are split."""
        return tiling_scalar(self.label("tasks"))

    @property
    def items(self) -> Symbol:
        """Units of work."""
        return tiling_scalar(self.label("items"))

    # Scalars ------------------------------------------------------------------------------------------

    def host(self, value: ExprLike, meaning: str = "", stem: str = "") -> Expr:
        """A number that the host knows: constants stand as they are, the rest become tiling fields."""
        expr = self.settled(value)
        if constant_value(expr) is not None and not any(isinstance(node, Fold) for node in expr.walk()):
            return expr
        known = next(
            (each for each in self.inventory.fields if each.value.same(expr) and not each.host_only), None
        )
        if known is not None:
            return known.symbol
        _check_host_knows(expr, self.where)
        if not meaning and not stem:
            meaning, stem = self._extent(expr)
            if self.inventory.is_field(stem):  # of other rows: those of a packed tensor are of all batch rows
                meaning, stem = _EXTENTS_BESIDE.get(stem, (meaning, stem))
        stem = stem or self._layout_stem(expr) or _stem(expr) or f"value{len(self.inventory.fields)}"
        name = camel(stem.removeprefix(HOST))
        while is_taken(name) or name in self.signature.taken_names or self.inventory.is_field(name):
            name += "Scalar"
        ctype = "int64" if is_integral(expr, self.signature.float_params) else "float32"
        return self.inventory.field(name, expr, meaning or _told(expr), ctype)

    def _extent(self, expr: Expr) -> tuple[str, str]:
        """Meaning and name of the extent of an axis, whoever asks for it first; empty of all else."""
        for axis, words in _EXTENTS.items():
            extent = self.signature.extents.get(axis)
            if extent is not None and expr.same(extent):
                meaning, name = words
                return meaning, name or _stem(expr) or "positions"
        return "", ""

    def _layout_stem(self, expr: Expr) -> str:
        """A name for whether a tensor has a layout; empty of all else."""
        for layout in self.signature.layouts.values():
            for place, key in enumerate(layout.keys):
                if expr.same(layout.holds(place)):
                    return re.sub(r"\W+", "_", f"{layout.source}_is_{key}")
        return ""

    def in_kernel(self, value: ExprLike, indices: Mapping[str, ExprLike] | None = None) -> Expr:
        """A spec expression as cores compute it.

        ``indices`` says what the index symbols are; elements of integer tensors are read, and whatever the
        host knows becomes a tiling field.
        """
        known = indices or {}

        def change(node: Expr) -> Expr | None:
            if isinstance(node, Const):
                return node
            if isinstance(node, Symbol) and node.name in known:
                return as_expr(known[node.name])
            if isinstance(node, Load):
                return self.entry(node.source, node.index.mapped(change))
            if isinstance(node, Fold):
                index = node.index
                if plain(index) != index or is_taken(index):
                    index = f"{camel(index)}At"
                inner = {**known, node.index: Symbol(index)}
                extent = None if node.extent is None else self.in_kernel(node.extent, known)
                return Fold(node.op, self.in_kernel(node.body, inner), index, extent)
            if any(isinstance(part, Load) or _is_index(part, known) for part in node.walk()):
                return None
            return self.host(node)

        return self.settled(value).mapped(change)

    def settled(self, value: ExprLike) -> Expr:
        """A spec expression settled, and of the same value in C++."""
        return floored(self.signature.settled(as_expr(value)), self._ranges)

    @cached_property
    def _ranges(self) -> dict[str, Range]:
        """Of parameters and sizes; floats may be anything."""
        return {**self.signature.ranges, **dict.fromkeys(self.signature.float_params, ANYTHING)}

    def entry(self, tensor: str, index: ExprLike) -> Expr:
        """An element of an integer tensor; of lengths the only one where it stands for all rows."""
        position = as_expr(index)
        if tensor in self.signature.one_for_all:
            position = minimum(position, self.count(tensor) - 1)
        return Load(tensor, position, scope=Scope.GLOBAL)

    def count(self, tensor: str) -> Symbol:
        """The entries of lengths, 0 where a call leaves them out."""
        meaning = f"entries of {tensor}, 0 without it"
        return self.inventory.field(f"{camel(tensor)}Count", length_count(tensor), meaning)

    def stride(self, tensor: str, axis: str) -> Expr:
        """Elements between neighbours along an axis of a tensor; 0 where it has no such axis."""
        self.inventory.asked_axes.setdefault(tensor, set()).add(axis)
        if not self.has_stride(tensor, axis):
            return Const(0)
        layout = self.signature.layouts[tensor]
        value = stride_value(layout, axis)
        if layout.rows is not None and layout.rows.name in value.symbols():
            known = {layout.rows.name: own_rows(tensor)}
            return self._by_layout(
                tensor, [self.in_kernel(each.get(axis, 0), known) for each in layout.strides]
            )
        meaning = f"elements between neighbours of {tensor} along {axis}"
        return self.inventory.field(f"{camel(tensor)}Stride{axis}", value, meaning, layout=layout.choice)

    def rows_of_entry(self, tensor: str, index: Expr) -> Expr | None:
        """The rows of tensor ``index`` of a list of one tensor a batch row; None of all else."""
        layout = self.signature.layouts[tensor]
        if layout.rows is None:
            return None
        return self._by_layout(tensor, [entry_size(tensor, index, place) for place in layout.rows_from_end])

    def _by_layout(self, tensor: str, values: Sequence[Expr]) -> Expr:
        """The value that goes with the layout of a tensor in the call."""
        layout, value = self.signature.layouts[tensor], values[-1]
        for index in reversed(range(len(values) - 1)):
            if not values[index].same(value):
                key = layout.keys[index]
                stem = re.sub(r"\W+", "_", f"{tensor}_is_{key}")
                chosen = self.host(layout.holds(index), f"whether {tensor} has the layout {key}", stem)
                value = select(chosen, values[index], value)
        return value

    def has_stride(self, tensor: str, axis: str) -> bool:
        """Whether the tensor has that axis."""
        return any(axis in strides for strides in self.signature.layouts[tensor].strides)

    # Operands -----------------------------------------------------------------------------------------

    def gm(
        self, tensor: str, offset: Expr, rows: Expr | int = 1, cols: Expr | int = 1, pitch: Expr | int = 0
    ) -> GlobalRegion:
        """A region of a kernel argument."""
        return self.parameter(tensor).region(offset, rows, cols, pitch)

    def parameter(self, tensor: str) -> GlobalTensor:
        """A kernel argument."""
        return next(item for item in self.signature.parameters if item.name == tensor)

    def buffer(
        self,
        name: str,
        space: MemorySpace,
        dtype: str,
        elements: ExprLike,
        meaning: str,
        slots: int = 1,
        *,
        by_step: bool = False,
    ) -> Buffer:
        """An on-chip buffer; attentions share those of one name."""
        return self.inventory.buffer(name, space, dtype, elements, meaning, slots, by_step=by_step)

    def beside_scores(self, name: str, meaning: str) -> Buffer:
        """As many fp32 numbers as a vector step has scores."""
        return self.in_ub(name, "float32", self.rows_per_step * self.tile_keys, meaning)

    @property
    def channel_rows(self) -> Buffer:
        """Scratch for the rows of a step, channels of keys or of values in fp32, whole repeats."""
        lanes = round_up(self.widest_head, REPEAT_LANES)
        meaning = "scratch: query rows times the scale, row sums times the offset"
        return self.in_ub("channelRows", "float32", self.rows_per_step * lanes, meaning)

    @property
    def widest_head(self) -> Named:
        """The larger of the padded head sizes."""
        sizes = (self.padded_head_size, self.padded_value_size)
        return max(sizes, key=lambda size: int(size.value))

    def in_ub(self, name: str, dtype: str, elements: ExprLike, meaning: str, slots: int = 1) -> Buffer:
        """A buffer of the vector cores."""
        return self.buffer(name, MemorySpace.UB, dtype, elements, meaning, slots)


_WORDS = {"+": "Plus", "-": "Minus", "*": "Times"}
_LONGEST_STEM = 32


_EXTENTS = {
    "B": ("batch rows", "batchRows"),
    "Q": ("query positions of the longest batch row", ""),
    "T": ("keys of a row, at most", "keyCapacity"),
    "N": ("query heads", "queryHeads"),
}
"""Meaning and name of the tiling fields that are extents of axes; without a name, the contract's own."""


_EXTENTS_BESIDE = {"keyCapacity": ("key positions of a batch row, at most", "keyPositions")}
"""Meaning and name of an extent beside a field that has its name and another value."""


_LONGEST_MEANING = 64
"""Letters of an expression that is told as it is."""


def _told(expr: Expr) -> str:
    """An expression for readers of the struct; of a long choice between numbers, these and what decides."""
    text = str(expr).replace(HOST, "")
    if len(text) <= _LONGEST_MEANING or not isinstance(expr, Select):
        return text
    numbers = [str(each) for each in (expr.then, expr.otherwise) if isinstance(each, Const)]
    asked = dict.fromkeys(node.name for node in expr.condition.nodes() if isinstance(node, Symbol))
    by = ", ".join(name.replace(HOST, "") for name in asked)
    return f"{' or '.join(numbers)}, by {by}" if len(numbers) == 2 else text


def _stem(expr: Expr) -> str:
    """A name for what the host knows: its own, or what it asks; empty where neither tells."""
    if isinstance(expr, Symbol):
        return expr.name
    if isinstance(expr, Compare) and expr.op == "==" and isinstance(expr.left, Symbol):
        return f"{expr.left.name}Is{expr.right}" if isinstance(expr.right, Const) else ""
    if isinstance(expr, Binary) and expr.op in _WORDS:
        left, right = (str(side) if isinstance(side, Const) else _stem(side) for side in expr.children())
        named = left.isidentifier() and right.isalnum() and len(left) + len(right) < _LONGEST_STEM
        return f"{left}{_WORDS[expr.op]}{right}" if named else ""
    return ""


def _check_host_knows(expr: Expr, where: SourceLine) -> None:
    """Elements of tensors on the device are none of the host's numbers."""
    for node in expr.walk():
        if isinstance(node, Fold) and node.extent is None:
            raise NotLowered(f"a choice by {node}, which the host does not see", where)


def _is_index(node: Expr, known: Mapping[str, ExprLike]) -> bool:
    return isinstance(node, Symbol) and node.name in known
