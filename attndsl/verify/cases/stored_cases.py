"""Cases that a search has found, on disk, in blocks under a key over what decides them: the operator, the
seed, the sources of the search. A search takes longer than many of its cases take to run, and would find the
same ones again."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attndsl.base.disk_cache import (
    CacheNotWritable,
    content_key,
    find_entry,
    make_entry,
    stored_or_made,
    stores_programs,
)
from attndsl.base.package_files import USERS_OF_KERNELS, sources_key
from attndsl.spec.contract.layout import Array
from attndsl.spec.operator.operator import Operator

BLOCK = 8
"""Cases of an entry."""
_FILE, _NAMES = "cases.pickle", "features.json"
_UNCONCERNED = USERS_OF_KERNELS | {"codegen", "execute", "passes", "tile_interpreter"}
"""Packages that decide nothing about cases."""


@dataclass(frozen=True)
class Found:
    """What a search has found of a case: all but the operator, the seed and the number."""

    attempt: int
    assignment: Mapping[str, Any]
    integers: Mapping[str, Array]


@dataclass(frozen=True)
class Block:
    """The cases of an entry in order, and the optional tensors that no case of the stream passes."""

    excluded: tuple[str, ...]
    cases: tuple[Found, ...]


@dataclass(frozen=True)
class StoredCases:
    """The blocks of a stream; ``key``: over what decides it, None where nothing may be stored."""

    key: str | None

    @classmethod
    def of(cls, operator: Operator, seed: int) -> StoredCases:
        """Those of an operator's stream with this seed."""
        return cls(_key(operator, str(seed)))

    def read(self, number: int) -> Block | None:
        """Block ``number``; None where it is not stored, or damaged."""
        found = None if self.key is None else find_entry(self._name(number))
        if found is None:
            return None
        try:
            block: Block = pickle.loads((found / _FILE).read_bytes())
            return block if len(block.cases) == BLOCK else None
        except Exception:  # a damaged pickle may raise anything; the cases are found again
            return None

    def write(self, number: int, block: Block) -> None:
        """Store block ``number``, where the disk takes it."""
        if self.key is None:
            return

        def fill(folder: Path) -> None:
            (folder / _FILE).write_bytes(pickle.dumps(block, protocol=5))

        try:
            make_entry(self._name(number), fill)
        except CacheNotWritable:  # cases need no disk
            return

    def _name(self, number: int) -> str:
        return f"cases/{self.key}-{number}"


def stored_effects(
    operator: Operator, told: Sequence[object], find: Callable[[], frozenset[str]]
) -> frozenset[str]:
    """The features that matter in a case (:mod:`~attndsl.verify.cases.effects`): what ``find`` gives, or has
    given for the same case before.

    Args:
        operator: of the case.
        told: all else that the case is made of; equal parts have equal texts.
        find: runs the reference, several times.
    """
    key = _key(operator, repr(told))
    name = None if key is None else f"cases/{key}-effects"
    return stored_or_made(name, find, _read_names, _write_names)


def _key(operator: Operator, *told: str) -> str | None:
    if operator.content_key is None or not stores_programs():
        return None
    version = f"{sys.version_info.major}.{sys.version_info.minor} {np.__version__}"
    return content_key(sources_key(_UNCONCERNED), version, operator.content_key, *told)


def _read_names(folder: Path) -> frozenset[str] | None:
    try:
        return frozenset(json.loads((folder / _NAMES).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _write_names(folder: Path, names: frozenset[str]) -> None:
    (folder / _NAMES).write_text(json.dumps(sorted(names)), encoding="utf-8")
