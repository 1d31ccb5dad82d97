"""Calls of the generated host checks from Python: the header compiled with glue, arguments through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from attndsl.api import ops
from attndsl.codegen.host.host_files import host_files
from attndsl.codegen.names.arguments import DTYPE_ROWS, Argument, Names
from attndsl.spec.binding.binding import arguments_by_name
from attndsl.spec.contract.arguments import DTYPES, ParamSpec
from attndsl.spec.operator.loader import shipped_names
from attndsl.spec.operator.operator import Operator
from tests.support.compile_once import require_compiled


class Untold(Exception):
    """C++ has no way to pass this value: its types rule it out."""


class Blob(ctypes.Structure):
    """One argument: a scalar, a tensor or a list of tensors."""


Blob._fields_ = [
    ("given", ctypes.c_int64),
    ("dtype", ctypes.c_int64),
    ("rank", ctypes.c_int64),
    ("shape", ctypes.POINTER(ctypes.c_int64)),
    ("values", ctypes.c_void_p),
    ("integer", ctypes.c_int64),
    ("number", ctypes.c_double),
    ("text", ctypes.c_char_p),
    ("list", ctypes.c_int64),
    ("count", ctypes.c_int64),
    ("entries", ctypes.POINTER(Blob)),
]

_READERS = """
struct Blob {
    int64_t given, dtype, rank; const int64_t *shape; const void *values;
    int64_t integer; double number; const char *text; int64_t list, count; const Blob *entries;
};
[[maybe_unused]] static attndsl::Tensor ReadTensor(const Blob &b)
{
    attndsl::Tensor t;
    t.given = b.given != 0;
    t.dtype = static_cast<attndsl::DataType>(b.dtype);
    t.shape.assign(b.shape, b.shape + b.rank);
    t.values = b.values;
    return t;
}
[[maybe_unused]] static attndsl::TensorList ReadList(const Blob &b)
{
    attndsl::TensorList l;
    l.given = b.given != 0;
    l.list = b.list != 0;
    for (int64_t i = 0; i < b.count; ++i) l.entries.push_back(ReadTensor(b.entries[i]));
    return l;
}
"""
_CHECK = """
extern "C" void check_{op}(const Blob *blobs, char *out, int64_t room)
{{
    {host}::Call call;
{reads}
    {host}::Sizes sizes;
    std::vector<std::string> warnings;
    attndsl::Status status = {host}::Check(call, sizes, warnings);
    if (status.Ok()) status = {host}::CheckTarget(call, sizes);
    std::string text = status.error + "\\n" + status.message + "\\n" + attndsl::Join(warnings, "\\n");
    std::strncpy(out, text.c_str(), room - 1);
}}
"""


def glue(operators: Sequence[Operator]) -> str:
    """What makes the checks of operators callable, ``check_NAME`` each, in one source."""
    every = [Names(each) for each in operators]
    checks = [_CHECK.format(op=each.op, host=each.host, reads=reads_of(each)) for each in every]
    headers = [f'#include "{each.op}_check.h"' for each in every]
    return "\n".join(["#include <cstring>", *headers, _READERS, *checks])


def reads_of(names: Names) -> str:
    """The lines that fill a call from blobs."""
    passed = [(i, item) for i, item in enumerate(names.arguments) if item.passed]
    return "\n".join(f"    {_read(item, i)}" for i, item in passed)


@lru_cache(maxsize=1)
def shipped() -> tuple[Operator, ...]:
    """The shipped operators and their modes."""
    return tuple(each for name in shipped_names() for each in (getattr(ops, name), *getattr(ops, name).modes))


@lru_cache(maxsize=16)
def library(operators: tuple[Operator, ...], folder: Path) -> ctypes.CDLL:
    """The compiled host checks of operators: most of the time goes to what all of them have."""
    every = [Names(each) for each in operators]
    folder = folder / ("shipped" if operators == shipped() else every[0].op)
    folder.mkdir(exist_ok=True)
    written: dict[str, str] = {}
    for names in every:
        for name, text in host_files(names).items():
            assert written.setdefault(Path(name).name, text) == text
            (folder / Path(name).name).write_text(text)
    source = folder / "glue.cpp"
    source.write_text(glue(operators))
    made = folder / "checks.so"
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-format-truncation", "-shared", "-fPIC"]
    require_compiled([*flags, source], made)
    return ctypes.CDLL(str(made))


def _read(item: Argument, position: int) -> str:
    blob = f"blobs[{position}]"
    if isinstance(item.spec, ParamSpec):
        field = {int: "integer", float: "number", bool: "integer != 0", str: "text"}[item.spec.type]
        return f"call.{item.name} = {blob}.{field};"
    if item.listed:
        target = item.name if item.spec.list_of is not None else f"{item.name}_list"
        return f"call.{target} = ReadList({blob});"
    return f"call.{item.name} = ReadTensor({blob});"


class Blobs:
    """The arguments of one call; keeps alive what they point to."""

    def __init__(self, operator: Operator, call: Mapping[str, Any]) -> None:
        self._kept: list[Any] = []
        given = arguments_by_name(operator, (), call)
        self.array = (Blob * len(operator.parameters))()
        for position, item in enumerate(Names(operator).arguments):
            self._fill(self.array[position], item, given.get(item.spec.name))

    def _fill(self, blob: Blob, item: Argument, value: Any) -> None:
        spec = item.spec
        if isinstance(spec, ParamSpec):
            if spec.type is bytes:
                if value is not None and bytes(spec.default) != (value if isinstance(value, bytes) else b""):
                    raise Untold("reserved bytes are not passed")
                return
            self._scalar(blob, spec, spec.default if value is None else value)
        elif item.listed:
            self._list(
                blob,
                value,
                bare=(spec.split and not spec.sequence_of) or spec.list_of is not None,
                stacks=spec.list_of is not None,
            )
        else:
            if item.on_host and isinstance(value, list | tuple):
                value = self._integers(value, "int64" if "int64" in spec.dtypes else spec.dtypes[0])
            self._tensor(blob, value)

    def _scalar(self, blob: Blob, spec: ParamSpec, value: Any) -> None:
        if isinstance(value, str | int) and value in spec.choices and not isinstance(value, bool):
            value = spec.choices[value]
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        truth = spec.type is bool and isinstance(value, bool | np.bool_)
        if truth or (spec.type is int and whole and abs(value) < 2**63):
            blob.integer = int(value)
        elif spec.type is float and (isinstance(value, float | np.floating) or (whole and spec.takes_int)):
            blob.number = float(value)
        elif spec.type is str and isinstance(value, str):
            blob.text = value.encode()
        else:
            raise Untold(f"{value!r} for {spec.name}")

    def _integers(self, value: Any, dtype: str) -> np.ndarray[Any, Any]:
        try:
            array = np.array(value, DTYPES[dtype])
        except (ValueError, TypeError, OverflowError) as error:
            raise Untold(str(error)) from error
        flat = [item for row in value for item in (row if isinstance(row, list | tuple) else [row])]
        if any(isinstance(item, bool) or not isinstance(item, int | np.integer) for item in flat):
            raise Untold("no integers")
        return array

    def _list(self, blob: Blob, value: Any, *, bare: bool, stacks: bool) -> None:
        if value is None:
            return
        if isinstance(value, np.ndarray) and bare and value.ndim:
            blob.list = int(stacks)
            value = list(value) if stacks else [value]
        elif isinstance(value, list | tuple):
            blob.list = 1
        else:
            raise Untold("no list")
        blob.given, blob.count = 1, len(value)
        entries = (Blob * max(1, len(value)))()
        for entry, each in zip(entries, value, strict=False):
            self._tensor(entry, each)
        self._kept.append(entries)
        blob.entries = entries

    def _tensor(self, blob: Blob, value: Any) -> None:
        if value is None:
            return
        if not isinstance(value, np.ndarray) or value.dtype.name not in DTYPES:
            raise Untold("no tensor")
        # Content of large tensors is out of the host's reach: no gigabytes are laid out for it.
        array = value if value.size > 1 << 24 else np.ascontiguousarray(value).reshape(value.shape)
        shape = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        self._kept += [array, shape]
        names = [row.name for row in DTYPE_ROWS]
        blob.given, blob.rank, blob.dtype = 1, array.ndim, 1 + names.index(array.dtype.name)
        blob.shape = shape
        blob.values = array.ctypes.data


def checked(
    operator: Operator, call: Mapping[str, Any], folder: Path, together: tuple[Operator, ...] = ()
) -> tuple[str, str, list[str]]:
    """What the host check says: class of the error, message, warnings; both empty for a legal call.

    ``together``: operators whose checks are compiled with it, those that are shipped all at once.
    """
    chosen = operator._modes.chosen(operator, call)
    blobs = Blobs(chosen, call)
    out = ctypes.create_string_buffer(1 << 14)
    compiled = library(together or (shipped() if chosen in shipped() else (chosen,)), folder)
    check = compiled[f"check_{Names(chosen).op}"]
    check.argtypes = [ctypes.POINTER(Blob), ctypes.c_char_p, ctypes.c_int64]
    check.restype = None
    check(blobs.array, out, len(out))
    error, message, *warnings = out.value.decode().split("\n")
    return error, message, [line for line in warnings if line]
