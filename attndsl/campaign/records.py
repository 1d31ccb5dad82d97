"""Records of verifications: which feature of which operator was checked on which backend, and of what code.

A record is written by a run (``attndsl verify --record``) and committed. It carries, for each backend,
digests of what decides the run (:mod:`attndsl.campaign.record_keys`): what is declared, the kernels, and what
makes cases, runs them and compares. Where one of these has changed since, the record says nothing about
today's code, and whoever asks is told that it is stale. A digest of all sources saves the look at the parts
where nothing has changed at all.

Who asks for states compiles nothing: tile programs are compared by the tests and by :func:`renew`, which then
writes the digest of today's sources. Between the two a record is of other sources, and is said to be.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import attndsl
from attndsl.base.feature_states import IMMATERIAL, INEFFECTIVE, STALE
from attndsl.base.package_files import specs_dir, templates_dir
from attndsl.campaign.record_keys import (
    PROGRAMS,
    differing_parts,
    differing_programs,
    kernels_of,
    part_digests,
    program_digests,
)
from attndsl.campaign.results import MISS, PASS, Verification
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import spaces
from attndsl.verify.cases.features import named, possible_features
from attndsl.verify.cases.immaterial import why_immaterial
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import WORKLOAD

FOLDER = Path(__file__).parent / "recorded"
CHECKED, FAILED, UNCHECKED = "checked", "failed", "unchecked"
"""With IMMATERIAL, INEFFECTIVE and STALE the states of a feature on a backend: cases that have it passed; one
of them missed; no case that has it was run to the end; cases passed, and it can matter in none; they did, and
it matters in none of them; the record is of other code."""

_BACKENDS = ("reference", "tile", "emulator")
_PRESENTING = frozenset(
    {"__init__", "__main__", "cli", "diagnosis", "mutate", "ops", "packing", "profile", "tuning"}
)
"""Parts of the package that decide nothing: what users call, what shows them something, what looks into a
miss, what changes kernels to see whether the checks notice, what searches for schedules."""
_EMITTING = frozenset({"codegen", "emulator", "execute"})
"""Parts that only the emulator backend is made of. The schedule is in all: cases ask it what is lowered."""
_SUFFIXES = frozenset({".py", ".h", ".hpp", ".cpp", ".j2", ".in"})


@dataclass(frozen=True)
class Record:
    """The record of one operator.

    ``backends``: for each the digests of what decides it, the cases, how often each feature passed and
    missed, and in how many of the cases that passed it matters; ``impossible``: features that no legal call
    was found for; ``immaterial``: features that can matter in no legal call, with the reason.
    """

    operator: str
    backends: Mapping[str, Mapping[str, Any]]
    impossible: tuple[str, ...]
    immaterial: Mapping[str, str] = field(default_factory=dict)
    _differing: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)

    def is_of_other_sources(self, backend: str) -> bool:
        """Whether any source that a backend is made of has changed since, be it one that decides nothing."""
        return bool(self.backends[backend]["digest"] != digest(self.operator, backend))

    def differing(self, backend: str) -> tuple[str, ...]:
        """What decides a run on a backend that it has, and is not as it was; tile programs are not looked at.

        None where the record holds, as far as that is known without compiling.
        """
        if backend not in self._differing:
            now: tuple[str, ...] = ()
            if self.is_of_other_sources(backend):
                parts = self.backends[backend].get("parts", {})
                now = differing_parts(load(self.operator), backend, parts)
            self._differing[backend] = now
        return self._differing[backend]

    def differing_programs(self, backend: str, most: int | None = None) -> tuple[str, ...]:
        """The kernels, of the first ``most`` of a backend's cases, whose tile programs are not as they were.

        Compiled, if sources have changed. A backend that runs kernels and has none here differs, too.
        """
        if backend == "reference" or not self.is_of_other_sources(backend):
            return ()
        programs = self.backends[backend].get("programs", {})
        return differing_programs(load(self.operator), programs, most) if programs else ("none recorded",)

    def state(self, feature: str, backend: str) -> str:
        """CHECKED, INEFFECTIVE, IMMATERIAL, FAILED, STALE or UNCHECKED."""
        found = self.backends.get(backend)
        counts = {} if found is None else found["features"].get(feature, {})
        if found is None or not counts.get(PASS, 0) + counts.get(MISS, 0):
            return UNCHECKED
        if self.differing(backend):
            return STALE
        if counts.get(MISS):
            return FAILED
        if found["effective"].get(feature) != 0:
            return CHECKED
        return IMMATERIAL if feature in self.immaterial else INEFFECTIVE


@functools.cache
def digest(operator: str, backend: str) -> str:
    """A digest of the spec of a shipped operator, with its stored schedules, and of all sources that
    ``backend`` is made of.

    Computed once a process, which runs the code of its start; every feature of every operator asks for it.
    """
    total = _source_digest(backend).copy()
    for name, part in (("spec", f"{operator}.py"), ("schedules", f"{operator}.schedules.json")):
        if (specs_dir() / part).is_file():
            _add_file(total, specs_dir() / part, name)
    return total.hexdigest()[:32]


@functools.cache
def _source_digest(backend: str) -> hashlib._Hash:
    """The part of a digest that all operators share."""
    total = hashlib.sha256()
    for path, name in _files(backend):
        _add_file(total, path, name)
    return total


def _add_file(total: hashlib._Hash, path: Path, name: str) -> None:
    total.update(f"{name}\0".encode() + path.read_bytes() + b"\0")


def _files(backend: str) -> Iterator[tuple[Path, str]]:
    package = Path(attndsl.__file__).parent
    without = _PRESENTING if backend == "emulator" else _PRESENTING | _EMITTING
    for path in sorted(package.iterdir()):
        if path.stem not in without and path != package / "_data":
            yield from _below(path, package)
    if backend == "emulator":
        yield from _below(templates_dir(), templates_dir())


def _below(path: Path, root: Path) -> Iterator[tuple[Path, str]]:
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    for each in files:
        if each.suffix in _SUFFIXES:
            yield each, each.relative_to(root).as_posix()


def read(operator: str, folder: Path = FOLDER) -> Record | None:
    """The record of an operator, if there is one."""
    path = folder / f"{operator}.json"
    if not path.is_file():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    return Record(operator, data["backends"], tuple(data["impossible"]), data.get("immaterial", {}))


def write(operator: Operator, found: Verification, cases: Iterable[Case], folder: Path = FOLDER) -> Path:
    """Record a verification of these cases; what an earlier one says of other backends stays."""
    old = read(operator.name, folder)
    backends: dict[str, Any] = dict(old.backends) if old is not None else {}
    kernels = kernels_of(cases) if set(found.backends) - {"reference"} else ()
    for backend in found.backends:
        programs = {} if backend == "reference" else program_digests(operator, kernels)
        backends[backend] = {
            "digest": digest(operator.name, backend),
            "parts": part_digests(operator, backend),
            "programs": programs,
            "seed": found.seed,
            "cases": len(found.rows),
            "counts": found.counts(backend),
            "features": found.features(backend),
            "effective": found.features_effective(backend),
            "distribution": {
                k: v for k, v in found.distribution().items() if "features" not in k and k != "situations"
            },
        }
    data = {
        "operator": operator.name,
        "impossible": list(impossible_features(operator, found.features_covered())),
        "immaterial": dict(immaterial_features(operator, found.features_effective())),
        "backends": dict(sorted(backends.items())),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{operator.name}.json"
    _write(path, data)
    return path


def renew(operator: str, folder: Path = FOLDER) -> dict[str, tuple[str, ...]]:
    """Compare a record with today's code, all tile programs included, and say that it is of today's sources.

    By backend what differs; nothing is written where anything does: only another verification renews it then.
    """
    record = read(operator, folder)
    if record is None:
        return dict.fromkeys(_BACKENDS, ("not recorded",))
    stale = {}
    for backend in record.backends:
        found = record.differing(backend)
        if not found and record.differing_programs(backend):
            found = (PROGRAMS,)
        if found:
            stale[backend] = found
    if not stale:
        path = folder / f"{operator}.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        for backend, kept in data["backends"].items():
            kept["digest"] = digest(operator, backend)
        _write(path, data)
    return stale


def _write(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def sources_changed(record: Record | None) -> tuple[str, ...]:
    """The recorded backends of which any source is another than the record's."""
    return () if record is None else tuple(filter(record.is_of_other_sources, record.backends))


def impossible_features(operator: Operator, seen: Iterable[str]) -> Iterator[str]:
    """The declared features that no legal call has: none of many searches found one."""
    known = frozenset(seen)
    for space in spaces(operator):
        rng = np.random.default_rng(0)
        for feature, pins in possible_features(space).items():
            name = named(operator.name, space.operator.name, feature)
            if name not in known and solve(space, rng, {**pins, WORKLOAD: "any"}, walks=10) is None:
                yield name


def immaterial_features(operator: Operator, effective: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """The features that matter in no case because they can matter in none, with the reason."""
    for space in spaces(operator):
        for feature in possible_features(space):
            name = named(operator.name, space.operator.name, feature)
            if effective.get(name) == 0 and (why := why_immaterial(space, feature)) is not None:
                yield name, why


def known_immaterial(operator: Operator, effective: Mapping[str, int]) -> dict[str, str]:
    """What :func:`immaterial_features` gives: as the record of a shipped operator has it, where that is of
    today's contract, else as searches find."""
    record = read(operator.name) if operator.source == operator.name else None
    if record is None or "reference" not in record.backends or "contract" in record.differing("reference"):
        return dict(immaterial_features(operator, effective))
    return {name: why for name, why in record.immaterial.items() if effective.get(name) == 0}


def features_by_backend(operator: Operator, record: Record | None) -> dict[str, dict[str, str]]:
    """All features of an operator with their state on each backend, as its record has it."""
    record = record or Record(operator.name, {}, ())
    names = {
        named(operator.name, space.operator.name, feature)
        for space in spaces(operator)
        for feature in possible_features(space)
    }
    names |= {name for found in record.backends.values() for name in found["features"]}
    return {
        name: {backend: record.state(name, backend) for backend in _BACKENDS}
        for name in sorted(names - set(record.impossible))
    }
