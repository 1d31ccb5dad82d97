"""Finished tile programs on disk, each under a key over what decides it: spec, specialisation, sources."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from attndsl.base.disk_cache import CacheNotWritable, content_key, find_entry, make_entry
from attndsl.base.package_files import sources_key
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.lowering.signature.specialisation import Specialisation
from attndsl.spec.operator.operator import Operator

Parts = dict[str, Any]
SWITCH = "ATTNDSL_STORE_PROGRAMS"
"""Set to 0, nothing is stored or found: for whoever changes the compiler while it runs, as tests do."""
_FILE = "program.pickle"
_UNCONCERNED = frozenset(
    ["api", "campaign", "cli", "codegen", "emulator", "execute", "reference", "tile_interpreter", "verify"]
)
"""Packages that decide nothing about a tile program."""


def compiled_or_stored(operator: Operator, special: Specialisation) -> Compiled:
    """The compiled specialisation, from the disk where it is there.

    Raises:
        As :func:`attndsl.compiler.compile.compile_operator`; failures are not stored.
    """
    name = entry_name(operator, special)
    if name is None:
        return compile_operator(operator, special)
    found = find_entry(name)
    if found is not None and (stored := read_program(found, operator)) is not None:
        return stored
    compiled = compile_operator(operator, special)
    with contextlib.suppress(CacheNotWritable):  # compiling needs no disk
        make_entry(name, lambda folder: write_program(folder, compiled))
    return compiled


def entry_name(operator: Operator, special: Specialisation) -> str | None:
    """The name of the entry; None where nothing may be stored."""
    if operator.content_key is None or os.environ.get(SWITCH) == "0":
        return None
    told = (special.dtype, special.bucket, special.value_bucket, sorted(special.features), special.settings)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = content_key(sources_key(_UNCONCERNED), version, operator.content_key, repr(told))
    return f"programs/{key}"


def write_program(folder: Path, compiled: Compiled) -> None:
    """Store all of a compilation but its operator."""
    (folder / _FILE).write_bytes(pickle.dumps(parts_of(compiled), protocol=5))


def read_program(folder: Path, operator: Operator) -> Compiled | None:
    """A stored compilation of ``operator``; None where the file cannot be read, or is not whole."""
    try:
        return with_operator(pickle.loads((folder / _FILE).read_bytes()), operator)
    except Exception:  # a damaged pickle may raise anything; the program is compiled again
        return None


def parts_of(compiled: Compiled) -> Parts:
    """All of a compilation but its operator, as it travels between processes."""
    return {each.name: getattr(compiled, each.name) for each in fields(Compiled) if each.name != "operator"}


def with_operator(parts: Parts, operator: Operator) -> Compiled:
    """The compilation that :func:`parts_of` took apart.

    Raises:
        TypeError: something is missing or one too many.
    """
    return Compiled(operator=operator, **parts)
