"""Small trees and programs, written by hand: three pipes of the vector core, the events between them."""

from __future__ import annotations

from textwrap import dedent

from attndsl.expr import Const, Symbol
from attndsl.passes.events.hazards import Conflict, find_problems
from attndsl.target import MemorySpace, Pipe
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Fill, Instruction, LoadRows, Mmad, StoreRows, Unary
from attndsl.tile.printer import print_statement
from attndsl.tile.program import Program
from attndsl.tile.statements import Alloc, For, Seq, SetEvent, Statement, WaitEvent, seq
from tests.support.devices import DEVICE

V, MTE2, MTE3, S = Pipe.V, Pipe.MTE2, Pipe.MTE3, Pipe.S
GM = GlobalTensor(name="gm", dtype="float32", role="input")


def ub(name: str, slots: int = 1) -> Buffer:
    return Buffer(name=name, space=MemorySpace.UB, dtype="float32", size=Const(64), slots=slots)


def find_conflicts(tree: Seq) -> tuple[Conflict, ...]:
    """The races alone: every pair of instructions that nothing orders."""
    return tuple(item for item in find_problems(tree) if isinstance(item, Conflict))


def load(target: Buffer) -> Instruction:
    """MTE2 writes the buffer."""
    return LoadRows(dst=target.region(0, 1, 64), src=GM.region(0, 1, 64))


def store(source: Buffer) -> Instruction:
    """MTE3 reads the buffer."""
    return StoreRows(dst=GM.region(0, 1, 64), src=source.region(0, 1, 64))


def compute(target: Buffer, source: Buffer) -> Instruction:
    """V reads one buffer and writes the other."""
    return Unary(op="Exp", dst=target.region(0, 1, 64), src=source.region(0, 1, 64))


def fill(target: Buffer) -> Instruction:
    """V writes the buffer."""
    return Fill(dst=target.region(0, 1, 64), value=Const(0.0))


L0A = Buffer(name="left", space=MemorySpace.L0A, dtype="float16", size=Const(4096))
L0B = Buffer(name="right", space=MemorySpace.L0B, dtype="float16", size=Const(4096))
L0C = Buffer(name="sum", space=MemorySpace.L0C, dtype="float32", size=Const(4096))


def accumulate(first: bool = False) -> Instruction:
    """M adds a product of run-time rows to L0C."""
    return Mmad(
        dst=L0C.region(),
        a=L0A.region(),
        b=L0B.region(),
        m=Symbol("m"),
        n=Const(64),
        k=Const(16),
        initial=Const(first),
    )


def raised(name: str, source: Pipe, target: Pipe, **more: object) -> SetEvent:
    return SetEvent(name=name, source=source, target=target, first_id=0, **more)  # type: ignore[arg-type]


def awaited(name: str, source: Pipe, target: Pipe, **more: object) -> WaitEvent:
    return WaitEvent(name=name, source=source, target=target, first_id=0, **more)  # type: ignore[arg-type]


def order(name: str, source: Pipe, target: Pipe) -> Statement:
    """Raise and await at once: the target continues only behind what the source was given so far."""
    return seq(raised(name, source, target), awaited(name, source, target))


def loop(*body: Statement, disjoint: tuple[Buffer, ...] = ()) -> For:
    return For(var=Symbol("i"), end=Symbol("n"), body=seq(*body), disjoint=disjoint)


def lifetime(buffer: Buffer, *body: Statement) -> Alloc:
    """The next slot of one buffer, for these statements."""
    return Alloc(buffers=(buffer,), body=seq(*body))


def program(*body: Statement, workspace: tuple[GlobalTensor, ...] = (), **more: object) -> Program:
    """A joint program of these statements alone; ``more`` has other attributes, such as ``cores``."""
    whole = Program(
        name="hand_made", summary="", dtype="float16", parameters=(), workspace=workspace, tiling=(),
        device=DEVICE, constants=(), body=seq(*body),
    )  # fmt: skip
    return whole.with_(**more)


def assert_prints(tree: Statement, expected: str) -> None:
    """The tree as text, line by line; ``expected`` may be indented."""
    assert print_statement(tree).splitlines() == dedent(expected).strip("\n").splitlines()
