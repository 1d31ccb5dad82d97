"""A partial merged into rows, log-sum-exp: a run of statements that is one call of the runtime header.

The function ``MergePartial`` of ``attndsl_kernel.h`` has the same instructions with the same barriers. A run
is that call only if each statement of it is as :data:`_STEPS` says, operands and extents included; any other
run is written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.codegen.kernel.runtime_calls import is_copy, rows_by_blocks
from attndsl.codegen.names.spelling import Spelling
from attndsl.expr import Expr
from attndsl.target import Pipe
from attndsl.tile.buffers import Region
from attndsl.tile.instructions import Binary, Unary, WithScalar
from attndsl.tile.instructions.units import BLOCK_LANES
from attndsl.tile.statements import Barrier, Statement

_ROWS, _MAXIMA, _SUMS = "rows", "maxima", "sums"
_PART_ROWS, _PART_MAXIMA, _PART_SUMS = "partRows", "partMaxima", "partSums"
_NEW_MAXIMA, _RESCALE = "newMaxima", "rescale"
_PARAMETERS = (_ROWS, _MAXIMA, _SUMS, _PART_ROWS, _PART_MAXIMA, _PART_SUMS, _NEW_MAXIMA, _RESCALE)
"""The operands of ``MergePartial``, in order."""
_COPY, _SCALE_ROWS, _MEET = "copy", "scale rows", "barrier"
_STEPS = (
    ("Max", _NEW_MAXIMA, _MAXIMA, _PART_MAXIMA),
    (_MEET,),
    ("Sub", _RESCALE, _MAXIMA, _NEW_MAXIMA),
    ("Sub", _PART_MAXIMA, _PART_MAXIMA, _NEW_MAXIMA),
    (_MEET,),
    ("Exp", _RESCALE, _RESCALE),
    ("Exp", _PART_MAXIMA, _PART_MAXIMA),
    (_COPY, _MAXIMA, _NEW_MAXIMA),
    (_MEET,),
    ("Mul", _SUMS, _SUMS, _RESCALE),
    ("Mul", _PART_SUMS, _PART_SUMS, _PART_MAXIMA),
    (_MEET,),
    ("Add", _SUMS, _SUMS, _PART_SUMS),
    (_SCALE_ROWS, _ROWS, _RESCALE),
    (_SCALE_ROWS, _PART_ROWS, _PART_MAXIMA),
    (_MEET,),
    ("Add", _ROWS, _ROWS, _PART_ROWS),
)
"""What each statement of the run does: its operation, its result, its operands."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PartialMerge(Statement):
    """The run as one statement of a kernel's text; ``operands`` in the order of the call."""

    operands: tuple[Region, ...]
    rows: Expr
    columns: Expr

    def text(self, names: Spelling) -> str:
        """The call."""
        places = (names.local(each.buffer, each.offset) for each in self.operands)
        return f"MergePartial({', '.join((*places, names.expr(self.rows), names.expr(self.columns)))});"


def with_partial_merges(body: Sequence[Statement]) -> Iterator[Statement]:
    """The statements of a block, each run that merges a partial as one."""
    position = 0
    while position < len(body):
        found = _merge(body[position : position + len(_STEPS)])
        yield body[position] if found is None else found
        position += 1 if found is None else len(_STEPS)


def _merge(run: Sequence[Statement]) -> PartialMerge | None:
    """The statements as one; None where one of them is another than it has to be."""
    if len(run) < len(_STEPS):
        return None
    bound: dict[str, Region] = {}
    scaled: list[Region] = []
    lanes: list[tuple[str, Expr]] = []
    for statement, (operation, *names) in zip(run, _STEPS, strict=True):
        operands = _operands(statement, operation)
        if operands is None:
            return None
        for name, operand in zip(names, operands, strict=True):
            if not _same_place(bound.setdefault(name, operand), operand):
                return None
        if operation == _SCALE_ROWS:
            scaled.append(operands[0])
        else:
            lanes += ((name, operand.cols) for name, operand in zip(names, operands, strict=True))
    rows, columns = scaled[0].rows, scaled[0].cols
    sizes = {_ROWS: rows * columns, _PART_ROWS: rows * columns}
    fits = (
        all(each.rows.same(rows) and each.cols.same(columns) for each in scaled),
        all(each.pitch.same(columns) for each in scaled),
        all(count.same(sizes.get(name, rows * BLOCK_LANES)) for name, count in lanes),
    )
    if not all(fits):
        return None
    return PartialMerge(operands=tuple(bound[name] for name in _PARAMETERS), rows=rows, columns=columns)


def _operands(statement: Statement, operation: str) -> tuple[Region, ...] | None:
    """The result and the operands of a statement that does this; None if it does anything else."""
    if operation == _MEET:
        meets = isinstance(statement, Barrier) and statement.pipe is Pipe.V and statement.when is None
        return () if meets else None
    if operation == _SCALE_ROWS:
        found = rows_by_blocks(statement)
        fits = found is not None and (found.op, found.copies) == ("Mul", 1)
        return (found.rows, found.blocks) if found is not None and fits else None
    if isinstance(statement, WithScalar):
        return (statement.dst, statement.src) if operation == _COPY and is_copy(statement) else None
    if isinstance(statement, Unary):
        return (statement.dst, statement.src) if statement.op == operation else None
    if isinstance(statement, Binary) and statement.op == operation and not statement.broadcast:
        return statement.dst, statement.first, statement.second
    return None


def _same_place(first: Region, second: Region) -> bool:
    return first.buffer is second.buffer and first.offset.same(second.offset)
