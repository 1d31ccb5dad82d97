"""Arguments of a launch and the global memory they live in."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.emulator.errors import LaunchError

PAGE = 4096
GAP = 2 * PAGE
"""Behind the pages of an array: one that a kernel may touch, which is a finding, and a closed one."""


@dataclass(frozen=True)
class Argument:
    """One argument of a launch: a private array in global memory, 512-byte aligned, of exactly its bytes.

    `array` None is a null pointer; a list or tuple of arrays of one rank is a tensor list, which the kernel
    reads by ListTensorDesc. After the run the arrays hold what the kernel left there. `output`: its bytes
    count as undefined at the start, and undefined bytes stored there are findings. `scratch`: a workspace,
    filled with poison and undefined at the start, where undefined bytes may rest. An output that the kernel
    also reads (an accumulator, a cache) is neither: its contents are defined.
    """

    name: str
    array: npt.NDArray[Any] | Sequence[npt.NDArray[Any]] | None
    output: bool = False
    scratch: bool = False


_SMALL = 1 << 20


@dataclass(frozen=True)
class _Slot:
    """One array in the file; `argument`: its address is passed to the kernel."""

    name: str
    array: npt.NDArray[Any] | None
    output: bool
    scratch: bool
    argument: bool
    offset: int

    @property
    def real(self) -> bool:
        """Whether its numbers may steer a kernel: those of a launch that is only timed are filled in."""
        if self.array is None or self.scratch:
            return False
        dtype = self.array.dtype
        steers = (dtype.kind in "iu" and dtype.itemsize >= 4) or dtype.kind == "b" or dtype == np.uint8
        return steers or self.array.nbytes <= _SMALL


def list_words(shapes: Sequence[tuple[int, ...]], addresses: Sequence[int]) -> npt.NDArray[np.uint64]:
    """The descriptor of a tensor list, as ListTensorDesc decodes it (CANN 8.1.RC1, list tensor interface).

    An empty list has no descriptor of a tensor, only the word that tells where addresses would be.
    """
    dims = len(shapes[0]) if shapes else 0
    words = [0]
    for index, shape in enumerate(shapes):
        words.append((len(shapes) if index == 0 else index) << 32 | dims)
        words += shape
    words[0] = len(words) * 8
    return np.array([*words, *addresses], np.uint64)


def folder_for(args: Sequence[Argument], *, timing: bool = False) -> str | None:
    """A folder whose file system takes the arrays: shared memory, or the one for temporary files (None).

    ``timing``: large arrays are never filled in, and take no room.
    Raises `LaunchError` when the arrays fit in neither, naming the largest: writing them would kill us.
    """
    sizes = {arg.name: _bytes_of(arg) for arg in args}
    total = sum(min(size, _SMALL) if timing else size for size in sizes.values())
    if os.access("/dev/shm", os.W_OK) and total < min(_free("/dev/shm"), _available_memory()):
        return "/dev/shm"
    room = _free(tempfile.gettempdir())
    if total < room:
        return None
    largest = max(sizes, key=lambda name: sizes[name])
    raise LaunchError(
        f"the arguments take {_mib(total)} MiB of global memory, {_mib(sizes[largest])} MiB of them "
        f"'{largest}', and {_mib(room)} MiB are free here"
    )


def _bytes_of(arg: Argument) -> int:
    arrays = [arg.array] if arg.array is None or isinstance(arg.array, np.ndarray) else arg.array
    return sum((0 if array is None else array.nbytes) + PAGE + GAP for array in arrays)


def _mib(size: int) -> int:
    return -(-size >> 20)


def _free(folder: str) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _available_memory() -> int:
    """Bytes of memory that are not in use; without Linux' table, no bound."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 1 << 62
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")), 1 << 62)


class GlobalMemory:
    """Global memory of a launch: a file of all arrays, each on its own pages with a gap behind it.

    ``timing``: arrays whose numbers steer nothing stay holes of the file.
    """

    def __init__(self, path: Path, args: Sequence[Argument], poison: int, *, timing: bool = False) -> None:
        self.path = path
        self.bytes = PAGE
        self._slots: list[_Slot] = []
        self._pointers: list[int] = []
        for arg in args:
            self._place(arg)
        names = [slot.name for slot in self._slots]
        if len(set(names)) != len(names):
            raise LaunchError(f"two arguments have the same name: {sorted(names)}")
        with path.open("wb+") as file:
            file.truncate(self.bytes)
            self._map = mmap.mmap(file.fileno(), self.bytes)
        for slot in self._slots:
            if slot.array is None or slot.array.size == 0 or (timing and not slot.real):
                continue
            if slot.scratch:
                raw = np.frombuffer(self._map, np.uint8, slot.array.nbytes, slot.offset)
                raw[0::2] = poison & 0xFF
                raw[1::2] = poison >> 8
            else:
                self._view(slot)[...] = slot.array

    def _place(self, arg: Argument) -> None:
        if arg.array is None or isinstance(arg.array, np.ndarray):
            self._add(arg.name, arg.array, arg.output, arg.scratch, argument=True)
            return
        arrays = list(arg.array)
        if len({array.ndim for array in arrays}) > 1 or any(array.ndim == 0 for array in arrays):
            raise LaunchError(f"tensor list {arg.name!r}: its arrays are all of the same rank above 0")
        members = [
            self._add(f"{arg.name}[{index}]", array, arg.output, arg.scratch, argument=False)
            for index, array in enumerate(arrays)
        ]
        words = list_words([array.shape for array in arrays], [slot.offset for slot in members])
        head = self._add(arg.name, words, False, False, argument=True)
        first = head.offset + words.nbytes - 8 * len(members)
        self._pointers += range(first, first + 8 * len(members), 8)

    def _add(
        self, name: str, array: npt.NDArray[Any] | None, output: bool, scratch: bool, *, argument: bool
    ) -> _Slot:
        slot = _Slot(name, array, output, scratch, argument, self.bytes)
        self._slots.append(slot)
        size = 0 if array is None else array.nbytes
        self.bytes += -(-size // PAGE) * PAGE + GAP
        return slot

    def _view(self, slot: _Slot) -> npt.NDArray[Any]:
        assert slot.array is not None
        flat = np.frombuffer(self._map, slot.array.dtype, slot.array.size, slot.offset)
        return flat.reshape(slot.array.shape)

    def request(self) -> list[str]:
        """Lines of the launch request."""
        lines = [f"data {self.bytes} {self.path}"]
        for slot in self._slots:
            size = 0 if slot.array is None else slot.array.nbytes
            defined = not (slot.output or slot.scratch)
            flags = (slot.array is None, slot.output, defined, slot.argument, slot.real)
            lines.append(
                f"array {slot.offset} {size} {' '.join(str(int(flag)) for flag in flags)} {slot.name}"
            )
        return lines + [f"pointer {at}" for at in self._pointers]

    def copy_back(self, arrays: Mapping[str, Any]) -> None:
        """Updates the arrays the kernel wrote."""
        for slot in self._slots:
            if slot.array is None or slot.array.size == 0 or not arrays[slot.name]["written"]:
                continue
            if not slot.array.flags.writeable:
                raise LaunchError(
                    f"the kernel wrote argument {slot.name!r}, whose array is read-only: pass a copy"
                )
            slot.array[...] = self._view(slot)
