"""What all instructions share that copy one place to another: which of both is on chip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from attndsl.tile.buffers import Buffer, GlobalRegion, GlobalTensor, Region, item_bytes
from attndsl.tile.instructions.base import Instruction, Machine

To = TypeVar("To", Region, GlobalRegion)
From = TypeVar("From", Region, GlobalRegion)


@dataclass(frozen=True, eq=False, kw_only=True)
class Copy(Instruction, Generic[To, From]):
    """Base of what reads ``src`` alone and writes ``dst`` alone, each on chip or in global memory."""

    dst: To
    src: From

    def reads(self) -> tuple[Buffer, ...]:
        return _buffers(self.src)

    def writes(self) -> tuple[Buffer, ...]:
        return _buffers(self.dst)

    def gm_reads(self) -> tuple[GlobalTensor, ...]:
        return _tensors(self.src)

    def gm_writes(self) -> tuple[GlobalTensor, ...]:
        return _tensors(self.dst)

    def describe(self) -> str:
        return f"{self.dst} <- {self.src}"


def _buffers(place: Region | GlobalRegion) -> tuple[Buffer, ...]:
    return (place.buffer,) if isinstance(place, Region) else ()


def _tensors(place: Region | GlobalRegion) -> tuple[GlobalTensor, ...]:
    return (place.tensor,) if isinstance(place, GlobalRegion) else ()


def bytes_of_rows(machine: Machine, local: Region) -> float:
    """The bytes of a region on chip, whose rows are copied."""
    return float(machine.value(local.rows) * machine.value(local.cols) * item_bytes(local.buffer.dtype))
