"""Cases that a search has found, on disk, in blocks under a key over what decides them: the operator, the
seed, the sources of the search. A search takes longer than many of its cases take to run, and would find the
same ones again."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attndsl.base.disk_cache import CacheNotWritable, content_key, find_entry, make_entry, stores_programs
from attndsl.base.package_files import USERS_OF_KERNELS, sources_key
from attndsl.spec.contract.layout import Array
from attndsl.spec.operator.operator import Operator

BLOCK = 8
"""Cases of an entry."""
_FILE = "cases.pickle"
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
        if operator.content_key is None or not stores_programs():
            return cls(None)
        version = f"{sys.version_info.major}.{sys.version_info.minor} {np.__version__}"
        return cls(content_key(sources_key(_UNCONCERNED), version, operator.content_key, str(seed)))

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
