"""The stages of an operator's way to source as text, from the disk where nothing has changed since."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from attndsl.base.disk_cache import CacheNotWritable, content_key, find_entry, make_entry
from attndsl.base.package_files import sources_key
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.finished import SWITCH
from attndsl.spec.operator.operator import Operator

_FILE = "stages.json"


def stage_texts(operator: Operator, request: KernelRequest, stages: Sequence[str]) -> dict[str, str]:
    """The wanted stages by name; a second call with the same spec, request and sources compiles nothing.

    Raises:
        As :func:`attndsl.cli.stages.describe_stages`; failures are not stored.
    """
    name = _entry_name(operator, request, stages)
    found = None if name is None else find_entry(name)
    if found is not None and (stored := _read(found / _FILE)) is not None:
        return stored
    from attndsl.cli.stages import describe_stages  # late: a stored answer needs no compiler

    texts = describe_stages(operator, request, stages)
    if name is not None:
        with contextlib.suppress(CacheNotWritable):  # an answer needs no cache
            make_entry(name, lambda folder: _write(folder / _FILE, texts))
    return texts


def _entry_name(operator: Operator, request: KernelRequest, stages: Sequence[str]) -> str | None:
    if operator.content_key is None or os.environ.get(SWITCH) == "0":
        return None
    key = content_key(sources_key(), operator.content_key, operator.in_commands, request.told, *stages)
    return f"answers/{key}"


def _write(path: Path, texts: dict[str, str]) -> None:
    path.write_text(json.dumps(texts), encoding="utf-8")


def _read(path: Path) -> dict[str, str] | None:
    try:
        found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found
