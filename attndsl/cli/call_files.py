"""Calls and results as ``.npz`` files: arrays by argument name, lists as ``key.0``, scalars as 0-d arrays."""

from __future__ import annotations

import math
import os
import re
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from attndsl.base.errors import UserError, printable

Array = npt.NDArray[Any]
_LIST_ENTRY = re.compile(r"(\w+)\.(0|[1-9][0-9]{0,5})")


class CallFileError(UserError):
    """A file that is no call, or results that cannot be written."""


def load_call(path: Path) -> dict[str, Any]:
    """The arguments in a file.

    NumPy stores bfloat16 as two raw bytes an element; such arrays are read as bfloat16 again.

    Raises:
        CallFileError: the file is missing, cut or no ``.npz``, or a list has a hole.
    """
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no file" if path.exists() else "not there"
        raise CallFileError(f"'{path}' is {what}; name a .npz file")
    try:
        arrays = _arrays(path)
    except MemoryError:
        raise
    except Exception as error:  # zipfile, zlib, the readers of headers: a cut file raises what it likes
        text = printable(" ".join(str(error).split())) or type(error).__name__
        raise CallFileError(f"'{path}' is no whole .npz file of arrays: {text}; save it again") from error
    arguments: dict[str, Any] = {}
    lists: dict[str, dict[int, Array]] = {}
    for name, array in arrays.items():
        entry = _LIST_ENTRY.fullmatch(name)
        if entry:
            lists.setdefault(entry[1], {})[int(entry[2])] = array
        else:
            arguments[name] = array.item() if array.ndim == 0 else array
    for name, entries in lists.items():
        if sorted(entries) != list(range(len(entries))):
            raise CallFileError(f"'{path}': list '{name}' has entries {sorted(entries)}; number them from 0")
        if name in arguments:
            raise CallFileError(f"'{path}' has '{name}' and '{name}.0'; it is an array or a list, not both")
        arguments[name] = [entries[index] for index in range(len(entries))]
    return arguments


def _arrays(path: Path) -> dict[str, Array]:
    """The arrays of an archive by name.

    Raises:
        ValueError: a member is no array, or what it says of itself is not so.
        Exception: as zipfile, zlib and NumPy do for files that are no archives.
    """
    with path.open("rb") as start:
        if start.read(2) != b"PK":
            raise ValueError("it is no archive")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        most = _memory_bytes()
        if (size := sum(each.file_size for each in members)) > most:
            raise ValueError(f"its arrays take {size} bytes, and this machine has {most}")
        names = [each.filename.removesuffix(".npy") for each in members]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise ValueError(f"it has '{twice[0]}' twice")
        if strange := [name for name in names if not name.isprintable()]:
            raise ValueError(f"{strange[0]!r} is no name of an argument")
        for each in members:
            _check_member(archive, each)
    with np.load(path, allow_pickle=False) as file:
        return {name: _restore(file[name]) for name in names}


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """A member is an array of the size that its header states, before memory for it is taken.

    Raises:
        ValueError: it is not.
    """
    if not member.filename.endswith(".npy"):
        raise ValueError(f"'{member.filename}' is no array")
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in read:
            raise ValueError(f"'{member.filename}' has format {version}; 1.0 and 2.0 are known")
        shape, _, dtype = read[version](file)
        if dtype.hasobject:
            raise ValueError(f"'{member.filename}' holds Python objects")
        wanted, there = math.prod(shape) * dtype.itemsize, member.file_size - file.tell()
    if wanted != there or any(extent < 0 for extent in shape):
        raise ValueError(f"'{member.filename}' has {there} bytes for an array {shape} of {dtype}")


def _memory_bytes() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def save_results(path: Path, results: Mapping[str, Array]) -> None:
    """Write results by name; beside first, then renamed.

    Raises:
        CallFileError: the place cannot be written.
    """
    beside = path.with_name(f".{path.name}.tmp.npz")
    try:
        np.savez(beside, **results)  # type: ignore[arg-type]
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise CallFileError(f"cannot write '{path}': {error.strerror or error}") from error


def _restore(array: Array) -> Array:
    return array.view(ml_dtypes.bfloat16) if array.dtype == np.dtype("V2") else array
