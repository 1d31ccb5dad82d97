"""Rows gathered by the keys they share: all batch rows that name one tensor of a list are rows of one task.

So keys that many batch rows share, such as a system prompt's, are read once for as many of them as a task
holds (RelayAttention, arXiv 2402.14808). Row r of a task is head ``firstHead + r % heads`` of the batch row
``memberRows[r // heads]``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.expr import Const, Expr, Symbol, ceil_div, maximum, minimum, select
from attndsl.graph import nodes
from attndsl.lowering.emit.context import Context
from attndsl.lowering.emit.loop_scalars import (
    BATCH,
    CHUNK,
    FIRST_HEAD,
    HEAD,
    HEADS,
    KV_HEAD,
    R0,
    ROW_BEGIN,
    ROW_FRACTALS,
    TASK,
    TASK_ROWS,
)
from attndsl.lowering.match.attention_pattern import Attention, Computation, other_operand
from attndsl.lowering.rows.row_space import RowSpace, Run
from attndsl.tile.buffers import Buffer, GlobalRegion, ScalarArray
from attndsl.tile.instructions.cube import FRACTAL_SIZE
from attndsl.tile.program import earlier, tiling_scalar
from attndsl.tile.statements import Collect, For, Let, Seq, Statement, seq

LIST_ENTRY, MEMBER_TILE, MEMBERS = Symbol("listEntry"), Symbol("memberTile"), Symbol("members")
ROW_BATCH = Symbol("rowBatch")
_FOUND, _CANDIDATE = Symbol("found"), Symbol("candidate")
_MEMBER, _ROW = Symbol("member"), Symbol("row")


@dataclass(frozen=True, kw_only=True)
class GroupedRows(RowSpace):
    """The rows of one attention, by the tensor of a list that they name.

    Attributes:
        index: the tensor that batch row b names, over ``b``; negative for none.
        entries_axis: the axis whose size is the number of tensors.
        member_rows: the batch rows of the task.
    """

    index: Expr
    entries_axis: str
    member_rows: ScalarArray

    def list_entry(self) -> Expr:
        return LIST_ENTRY

    def may_be_empty(self) -> bool:
        return True

    # Tasks ----------------------------------------------------------------------------------------------

    def tasks(self, context: Context) -> Symbol:
        add, extents, most = context.inventory.field, context.interface.extents, context.schedule.max_rows
        heads = self.heads_per_task(context)
        add("batchRows", extents["B"], "batch rows")
        members = maximum(1, most // maximum(heads, 1))
        add("membersPerTask", members, "batch rows of a task, at most")
        tiles = ceil_div(earlier("batchRows"), earlier("membersPerTask"))
        add("memberTiles", tiles, "tasks that share the batch rows of a list entry")
        rows = heads * earlier("membersPerTask")
        add(context.label("rowsPerTask"), rows, "query rows of a task, at most")
        entries = extents[self.entries_axis]
        count = entries * earlier("kvHeads") * earlier("headTiles") * earlier("memberTiles")
        return add(context.label("tasks"), count, "units of work before keys are split")

    def enter(self, context: Context) -> list[Statement]:
        member_tiles = tiling_scalar("memberTiles")
        return [
            Let(symbol=MEMBER_TILE, value=TASK % member_tiles),
            *self.enter_heads(TASK // member_tiles, LIST_ENTRY),
            *self._members(context),
            Let(symbol=TASK_ROWS, value=HEADS * MEMBERS),
            Let(symbol=ROW_FRACTALS, value=ceil_div(TASK_ROWS, FRACTAL_SIZE)),
            # What depends on the entry alone is asked of its first member.
            Let(symbol=BATCH, value=select(MEMBERS > 0, self.member_rows.at(0), 0)),
        ]

    def _members(self, context: Context) -> list[Statement]:
        """The batch rows of the task: of those that name the entry, a run of ``membersPerTask``."""
        per_task = tiling_scalar("membersPerTask")

        collect = Collect(
            array=self.member_rows,
            count=_FOUND,
            index=_CANDIDATE,
            extent=tiling_scalar("batchRows"),
            condition=context.in_kernel(self.index, {"b": _CANDIDATE}) == LIST_ENTRY,
            skip=MEMBER_TILE * per_task,
            where=self.where,
        )
        return [collect, Let(symbol=MEMBERS, value=minimum(_FOUND, per_task))]

    @property
    def one_batch_row(self) -> bool:
        return False

    def indices(self) -> dict[str, Expr]:
        return {"b": ROW_BATCH, "n": HEAD, "i": Const(0)}

    # Rows -----------------------------------------------------------------------------------------------

    def load_query(self, context: Context, target: Buffer) -> Statement:
        """The task's query rows to L1 in Nz, member by member."""
        name = self.query.name
        offset = self.offset(context, name, FIRST_HEAD, Const(0))
        load = self.load_heads(context, target, context.parameter(name), _MEMBER * HEADS, offset)
        row = Let(symbol=ROW_BATCH, value=self.member_rows.at(_MEMBER))
        return For(var=_MEMBER, end=MEMBERS, body=seq(row, load), disjoint=(target,), runs=True)

    def offset(self, context: Context, tensor: str, head: Expr, query: Expr) -> Expr:
        places = {"B": ROW_BATCH, "N": head, "K": KV_HEAD}
        found: Expr = Const(0)
        for axis, at in places.items():
            if context.has_stride(tensor, axis):
                found = found + at * context.stride(tensor, axis)
        return found

    def first_of_step(self) -> list[Statement]:
        return []

    def each_run(
        self, body: Callable[[Run], Statement], touched: tuple[Buffer, ...] = (), *, spread: bool = True
    ) -> Seq:
        return seq(self.each_row(lambda row: body(Run(row, Const(1), "N")), touched))

    def each_row(self, body: Callable[[Expr], Statement], touched: tuple[Buffer, ...] = ()) -> For:
        row = ROW_BEGIN + R0 + _ROW
        place = [
            Let(symbol=HEAD, value=FIRST_HEAD + row % HEADS),
            Let(symbol=ROW_BATCH, value=self.member_rows.at(row // HEADS)),
        ]
        return For(var=_ROW, end=CHUNK, body=seq(*place, body(_ROW)), disjoint=touched, runs=True)

    def place(self, context: Context, tensor: str, run: Run, cols: Expr) -> GlobalRegion:
        return context.gm(tensor, self.offset(context, tensor, HEAD, Const(0)), run.rows, cols)

    def identity(self, context: Context, run: Run) -> tuple[Expr, Expr]:
        heads = context.host(context.interface.extents["N"], "query heads", "queryHeads")
        return ROW_BATCH * heads + HEAD, Const(1)

    def enter_token(self, context: Context, token: Expr) -> list[Statement]:
        return [Let(symbol=BATCH, value=token), Let(symbol=ROW_BATCH, value=token)]


def grouped_rows(rows: RowSpace, computation: Computation, attention: Attention, max_rows: int) -> RowSpace:
    """The same rows, gathered by list entry where batch rows share them and nothing else tells them apart.

    Rows that name no entry are in no task, so they must get their result from another attention.
    """
    keys = attention.keys
    if not isinstance(keys, nodes.Listed) or not isinstance(keys.index, nodes.Scalar):
        return rows
    others = len(computation.attentions) > 1
    if not (rows.one_position and others and all(map(_same_for_all, attention.modifiers))):
        return rows
    index, entry = keys.index.value, Symbol("entry")
    if keys.length is not None and not _depends_on_entry_alone(keys.length, index, entry):
        return rows
    tensors = keys.tensors
    assert isinstance(tensors, nodes.Input)
    return GroupedRows(
        query=rows.query,
        token_axis=rows.token_axis,
        one_position=True,
        valid=None,
        ends=None,
        where=keys.where,
        index=index,
        entries_axis=tensors.axes[0],
        member_rows=ScalarArray(
            name="memberRows", capacity=max_rows, meaning="batch rows of the task, by member"
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
