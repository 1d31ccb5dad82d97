"""Finished tile programs on disk, each under a key over what decides it: spec, stored schedule choices,
specialization, device, sources."""

from __future__ import annotations

import copyreg
import io
import pickle
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from attndsl.base.disk_cache import (
    content_key,
    find_entry,
    stored_or_made,
    stores_programs,
)
from attndsl.base.facts import FACTS
from attndsl.base.package_files import USERS_OF_KERNELS, sources_key
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.compiler.stored_schedules import chosen_schedule
from attndsl.lowering.signature.specialization import Specialization
from attndsl.passes.twin_programs import Finish, all_passes
from attndsl.spec.operator.operator import Operator

_FILE = "program.pickle"
_UNCONCERNED = USERS_OF_KERNELS | {"codegen", "execute", "reference", "tile_interpreter", "verify"}
"""Packages that decide nothing about a tile program."""


def compiled_or_stored(
    operator: Operator,
    special: Specialization,
    finish: Finish = all_passes,
    like: Compiled | None = None,
) -> Compiled:
    """The compiled specialization, from the disk where it is there.

    ``finish``, ``like``: as of :func:`attndsl.compiler.compile.compile_operator`.

    Raises:
        As :func:`attndsl.compiler.compile.compile_operator`; failures are not stored.
    """
    return stored_or_made(
        entry_name(operator, special),
        lambda: compile_operator(operator, special, chosen_schedule(operator, special), finish, like),
        lambda folder: read_program(folder, operator),
        write_program,
    )


def entry_name(operator: Operator, special: Specialization) -> str | None:
    """The name of the entry; None where nothing may be stored."""
    if operator.content_key is None or not stores_programs():
        return None
    told = (
        special.dtype,
        special.padded_head_size,
        special.padded_value_size,
        sorted(special.features),
        special.settings,
    )
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    version += operator.device.model_version  # stored choices of schedules hold for one version of the model
    key = content_key(sources_key(_UNCONCERNED), version, operator.content_key, repr(told))
    return f"programs/{key}"


def is_stored(operator: Operator, special: Specialization) -> bool:
    """Whether the disk has the compiled specialization."""
    name = entry_name(operator, special)
    return name is not None and find_entry(name) is not None


def write_program(folder: Path, compiled: Compiled) -> None:
    """Store all of a compilation but its operator."""
    (folder / _FILE).write_bytes(parts_of(compiled))


def read_program(folder: Path, operator: Operator) -> Compiled | None:
    """A stored compilation of ``operator``; None where the file cannot be read, or is not whole."""
    try:
        return with_operator((folder / _FILE).read_bytes(), operator)
    except Exception:  # a damaged pickle may raise anything; the program is compiled again
        return None


def parts_of(compiled: Compiled) -> bytes:
    """All of a compilation but its operator, as it travels between processes."""
    parts = {each.name: getattr(compiled, each.name) for each in fields(Compiled) if each.name != "operator"}
    text = io.BytesIO()
    _WithoutFacts(text, protocol=5).dump(parts)
    return text.getvalue()


def with_operator(parts: bytes, operator: Operator) -> Compiled:
    """The compilation that :func:`parts_of` took apart.

    Raises:
        Exception: the bytes are damaged; any, as damaged pickles may.
    """
    return Compiled(operator=operator, **pickle.loads(parts))


class _WithoutFacts(pickle.Pickler):
    """Leaves out the facts that are kept with IR nodes: some are by the identity of nodes, all can be found
    again."""

    def reducer_override(self, obj: Any) -> Any:
        state = getattr(obj, "__dict__", None)
        if not isinstance(state, dict) or FACTS not in state:
            return NotImplemented
        return copyreg.__newobj__, (type(obj),), {k: v for k, v in state.items() if k != FACTS}  # type: ignore[attr-defined]
