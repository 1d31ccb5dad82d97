"""What an operand of scores that differs from key to key is: buffers and statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import MakeStatements
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import Statement

Compute = Callable[[Context, Buffer], list[Statement]]


@dataclass(frozen=True, kw_only=True)
class KeyOperand:
    """An operand that differs from key to key.

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
