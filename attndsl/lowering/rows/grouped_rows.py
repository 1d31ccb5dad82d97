"""Rows gathered by the keys they share: all batch rows that name one tensor of a list are rows of one task.

So keys that many batch rows share, such as a system prompt's, are read once for as many of them as a task
holds (RelayAttention, arXiv 2402.14808). Row r of a task is head ``firstHead + r % heads`` of the batch row
``memberRows[r // heads]``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from attndsl.expr import Const, Expr, Named, Symbol, as_expr, ceil_div, maximum, minimum, select
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import MAX_ROWS, Emitter
from attndsl.lowering.emit.loop_scalars import BATCH, FIRST_HEAD, HEAD, HEADS, STEP_ROWS, TASK
from attndsl.lowering.match.computation import Attention, Computation
from attndsl.lowering.match.operation_chains import other_operand
from attndsl.lowering.rows.decoding_rows import DecodingRows
from attndsl.lowering.rows.position_tiles import HEAD_TASK
from attndsl.lowering.rows.row_space import RowRun, RowSpace
from attndsl.lowering.signature.host_scalars import CORES
from attndsl.tile.buffers import Buffer, GlobalTensor, ScalarArray
from attndsl.tile.program import tiling_field_ref, tiling_scalar
from attndsl.tile.statements import Collect, For, Let, Seq, Statement, seq

LIST_ENTRY, ROW_BATCH = Symbol("listEntry"), Symbol("rowBatch")
_MEMBER_TILE, _MEMBERS, _MEMBER = Symbol("memberTile"), Symbol("members"), Symbol("member")
_PLACE = Symbol("memberPlace")
_FOUND, _CANDIDATE = Symbol("membersFound"), Symbol("candidate")


@dataclass(frozen=True, kw_only=True)
class GroupedRows(DecodingRows):
    """The rows of one attention, by the tensor of a list that they name.

    Attributes:
        index: the tensor that batch row b names, over ``b``; negative for none.
        entries_axis: the axis whose size is the number of tensors. ``keys_axis``: that of their rows.
        member_rows: the batch rows of the task.
        first_member: their place among those of the items in flight; None with one item at a time.
    """

    index: Expr
    entries_axis: str
    keys_axis: str
    member_rows: ScalarArray
    first_member: Expr | None = None

    def in_flight(self, items: Expr, next_item: Expr) -> GroupedRows:
        rows = replace(self.member_rows, places=items)
        return replace(self, member_rows=rows, first_member=next_item * rows.most)

    def _member(self, number: Expr | int) -> Expr:
        """The batch row of a member of the task."""
        return self.member_rows.at(as_expr(number) if self.first_member is None else _PLACE + number)

    @property
    def one_batch_row(self) -> bool:
        return False

    @property
    def batch(self) -> Symbol:
        return ROW_BATCH

    def list_entry(self) -> Expr:
        return LIST_ENTRY

    # Tasks ----------------------------------------------------------------------------------------------

    def task_sizes(self, emit: Emitter, heads: Expr) -> tuple[Expr, Expr]:
        add, extents = emit.inventory.field, emit.signature.extents
        add("batchRows", extents["B"], "batch rows")
        members = self._members_of_rows(emit.max_rows, heads)
        if emit.schedule.several_bands and emit.schedule.task_rows == "even":
            members = self._fewer_if_short(emit, heads, members)
        add("membersPerTask", members, "batch rows of a task, at most")
        tiles = ceil_div(tiling_field_ref("batchRows"), tiling_field_ref("membersPerTask"))
        add("memberTiles", tiles, "tasks that share the batch rows of a list entry")
        entries = extents[self.entries_axis]
        tasks = (
            entries
            * tiling_field_ref("kvHeads")
            * tiling_field_ref("headTiles")
            * tiling_field_ref("memberTiles")
        )
        return heads * tiling_field_ref("membersPerTask"), tasks

    def _members_of_rows(self, rows: Expr, heads: Expr) -> Expr:
        return maximum(1, rows // maximum(heads, 1))

    def _fewer_if_short(self, emit: Emitter, heads: Expr, most: Expr) -> Expr:
        """``most`` members a task, or those of one band of rows if cores have few tiles of more.

        Of more members keys are read less often. But a pipeline fills and drains in about ``ring`` tiles, and
        those of fewer rows take it less time: they are worth it below twice as many.
        """
        extents, number = emit.signature.extents, emit.inventory.host_number
        most = number("membersOfLargeTask", most, "batch rows of a task of several bands of rows")
        tasks = extents[self.entries_axis] * extents["K"] * ceil_div(extents["B"], most)
        tiles = tasks * ceil_div(extents[self.keys_axis], emit.tile_keys)
        tiles = number("tilesOfLargeTasks", tiles, "score tiles of all such tasks, a row of heads each")
        fewer = self._members_of_rows(emit.rows_per_band, heads)
        return select(tiles < 2 * emit.ring * CORES, fewer, most)

    def tasks_of_same_keys(self) -> Expr:
        return super().tasks_of_same_keys() * tiling_scalar("memberTiles")

    def enter(self, emit: Emitter) -> list[Statement]:
        member_tiles = tiling_scalar("memberTiles")
        place = [] if self.first_member is None else [Let(symbol=_PLACE, value=self.first_member)]
        return [
            *place,
            Let(symbol=_MEMBER_TILE, value=TASK % member_tiles),
            Let(symbol=HEAD_TASK, value=TASK // member_tiles),
            *self.enter_heads(HEAD_TASK, LIST_ENTRY),
            *self._members(emit),
            *self.enter_rows(HEADS * _MEMBERS),
            # What depends on the entry alone is asked of its first member.
            Let(symbol=BATCH, value=select(_MEMBERS > 0, self._member(0), 0)),
        ]

    def _members(self, emit: Emitter) -> list[Statement]:
        """The batch rows of the task: of those that name the entry, a run of ``membersPerTask``."""
        per_task = tiling_scalar("membersPerTask")
        collect = Collect(
            array=self.member_rows,
            count=_FOUND,
            index=_CANDIDATE,
            extent=tiling_scalar("batchRows"),
            condition=emit.in_kernel(self.index, {"b": _CANDIDATE}) == LIST_ENTRY,
            skip=_MEMBER_TILE * per_task,
            place=Const(0) if self.first_member is None else _PLACE,
            where=self.where,
        )
        return [collect, Let(symbol=_MEMBERS, value=minimum(_FOUND, per_task))]

    def may_be_empty(self) -> bool:
        return True

    # Rows -----------------------------------------------------------------------------------------------

    def load_rows(self, emit: Emitter, target: Buffer, tensor: GlobalTensor) -> Statement:
        """Member by member."""
        offset = self.offset(emit, self.query.name, FIRST_HEAD, self.position)
        load = self.load_heads(emit, target, tensor, emit.head_dim, _MEMBER * HEADS, offset)
        row = Let(symbol=ROW_BATCH, value=self._member(_MEMBER))
        return For(var=_MEMBER, end=_MEMBERS, body=seq(row, load), disjoint=(target,), runs=True)

    def first_of_step(self) -> list[Statement]:
        return []

    def runs(self, body: Callable[[RowRun], Statement], by_row: Callable[[], For]) -> Seq:
        return seq(by_row())

    def each_stored_run(self, body: Callable[[RowRun], Statement]) -> Seq:
        """The heads of a batch row are a run."""
        return self.each_of_length(HEADS, body, RowRun(Const(0), STEP_ROWS, "N"))

    def enter_row(self, row: Expr) -> list[Statement]:
        return [
            Let(symbol=HEAD, value=FIRST_HEAD + row % HEADS),
            Let(symbol=ROW_BATCH, value=self._member(row // HEADS)),
        ]

    def enter_token(self, emit: Emitter, token: Expr) -> list[Statement]:
        return [*super().enter_token(emit, token), Let(symbol=ROW_BATCH, value=token)]


def grouped_rows(rows: RowSpace, computation: Computation, attention: Attention, max_rows: int) -> RowSpace:
    """The same rows, gathered by list entry where batch rows share them and nothing else tells them apart.

    Rows that name no entry are in no task, so they must get their result from another attention.
    """
    keys = attention.keys
    if not isinstance(keys, nodes.Listed) or not isinstance(keys.index, nodes.Scalar):
        return rows
    others = len(computation.attentions) > 1
    numbers = (*attention.modifiers, *attention.factors)
    if not (isinstance(rows, DecodingRows) and others and all(map(_same_for_all, numbers))):
        return rows
    index, entry = keys.index.value, Symbol("entry")
    if keys.length is not None and not _depends_on_entry_alone(keys.length, index, entry):
        return rows
    tensors = keys.tensors
    assert isinstance(tensors, nodes.Input)
    return GroupedRows(
        query=rows.query,
        where=keys.where,
        index=index,
        entries_axis=tensors.axes[0],
        keys_axis=next(axis for axis in tensors.axes if axis in "TU"),
        member_rows=ScalarArray(
            name="memberRows",
            capacity=max_rows,
            meaning="batch rows of the task, by member",
            constant=Named(max_rows, MAX_ROWS),  # each of a task's rows may be of another batch row
        ),
    )


def _same_for_all(modifier: nodes.Node) -> bool:
    """Whether a score modifier does the same to all batch rows: by itself, or with one number."""
    if not isinstance(modifier, nodes.Elementwise):
        return False
    other = other_operand(modifier)
    return other is None or (isinstance(other, nodes.Scalar) and not other.axes)


def _depends_on_entry_alone(node: nodes.Node, index: Expr, entry: Symbol) -> bool:
    if not isinstance(node, nodes.Scalar):
        return False
    left = node.value.mapped(lambda part: entry if part.same(index) else None)
    return "b" not in left.symbols()
