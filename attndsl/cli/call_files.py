"""Calls and results as ``.npz`` files: arrays by argument name, lists as ``key.0``, scalars as 0-d arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from attndsl.base.errors import UserError

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
    if not path.exists() or path.is_dir():
        raise CallFileError(f"'{path}' is {'a folder' if path.is_dir() else 'not there'}; name a .npz file")
    try:
        with path.open("rb") as start:
            if start.read(2) != b"PK":
                raise ValueError("it is no archive")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: _restore(file[name]) for name in file.files}
    except MemoryError:
        raise
    except Exception as error:  # zipfile, zlib, the readers of headers: a cut file raises what it likes
        text = " ".join(str(error).split()) or type(error).__name__
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
