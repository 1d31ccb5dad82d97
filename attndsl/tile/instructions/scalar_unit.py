"""What the scalar unit reads from the unified buffer itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from attndsl.expr import Expr, Symbol
from attndsl.target import Architecture, Core, MemorySpace, Pipe
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions.base import Instruction, Machine, Names, is_one, view
from attndsl.tile.instructions.limits import Finding, dtype_rule, space_rule


@dataclass(frozen=True, eq=False, kw_only=True)
class IsBeyond(Instruction):
    """``symbol``: whether an fp32 number is below ``bound``, or no number; for what follows in the body.

    ``above``: whether it is above ``bound``, or no number.

    The scalar unit waits for the number, and so hands nothing to other pipes meanwhile.
    """

    api: ClassVar[str] = "GetValue"
    operation: ClassVar[str] = "ScalarLoad"
    pipe: ClassVar[Pipe] = Pipe.S
    core: ClassVar[Core] = Core.AIV
    symbol: Symbol
    src: Region
    bound: Expr
    above: bool = False

    def reads(self) -> tuple[Buffer, ...]:
        return (self.src.buffer,)

    def writes(self) -> tuple[Buffer, ...]:
        return ()

    def run(self, machine: Machine) -> None:
        number = view(machine, self.src)[0, 0]
        bound = machine.value(self.bound)
        machine.define(self.symbol.name, not (number <= bound if self.above else number >= bound))

    def text(self, names: Names) -> str:
        number = f"{names.local(self.src.buffer, 0)}.GetValue({names.expr(self.src.offset)})"
        within = f"{number} {'<=' if self.above else '>='} {names.expr(self.bound)}"
        return f"const bool {names.expr(self.symbol)} = !({within});"

    def units(self, machine: Machine) -> float:
        return 1.0

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from space_rule(self.src, MemorySpace.UB, "source")
        yield from dtype_rule(self.src.buffer.dtype, ("float32",), "source")
        if not is_one(self.src.rows) or not is_one(self.src.cols):
            yield f"{self.src} is more than one number"

    def describe(self) -> str:
        return f"{self.symbol} = {self.src} {'>' if self.above else '<'} {self.bound}"
