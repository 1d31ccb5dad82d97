"""A lowered operand of scores: buffers, and statements that leave its value in one of the scores' shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import MakeStatements
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import Statement

Compute = Callable[[Context, Buffer], list[Statement]]


@dataclass(frozen=True, kw_only=True)
class ScoreOperand:
    """An operand of an elementwise operation on scores, with a value for each row and key of a step.

    Attributes:
        loads: buffers that are loaded with each step of rows, by ``load``; ``source``: what they hold.
        scratch: further buffers. ``prepare``: statements at the start of a tile.
        compute: the statements that leave the value of the step's rows in a buffer.
    """

    loads: tuple[Buffer, ...] = ()
    source: str = ""
    scratch: tuple[Buffer, ...] = ()
    load: MakeStatements = field(default=lambda context: [])
    prepare: MakeStatements = field(default=lambda context: [])
    compute: Compute
