"""Schedule choices stored as data beside a spec: ``NAME.schedules.json`` beside ``NAME.py``.

Each entry names a specialization and a device, the options that were chosen for it, and the prediction that
speaks for them. The compiler uses an entry when it compiles that specialization for that device. One that was
chosen by another version of the model that predicts times is left out, and reported.
"""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from attndsl.base.errors import UserError
from attndsl.compiler.compile import Chosen
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.operator import Operator

SCHEMA = 1
"""Version of the files; another number when a key is renamed, removed or changes its meaning."""
STORED = "stored"
"""Who chose an option; texts of kernels say it, and do not change when other entries come or go."""
_LOGGER = logging.getLogger("attndsl")


class StoredSchedulesError(UserError, ValueError):
    """A file of stored schedule choices is not what it has to be."""

    def __init__(self, file: Path, what: str) -> None:
        super().__init__(f"{file.name}: {what}; attndsl tune with --write makes its entries")


@dataclass(frozen=True, kw_only=True)
class StoredSchedule:
    """One entry.

    Attributes:
        operator, device: names; of a mode its own.
        dtype, padded_head_size, padded_value_size, features, settings: the specialization.
        options: schedule options by name.
        shape: sizes of the call that they were chosen for, as ``--shape`` takes them; others were usual ones.
        predicted_microseconds, default_microseconds: predictions for it, with these options and without.
        model: version of the model that made them.
    """

    operator: str
    device: str
    dtype: str
    padded_head_size: int
    padded_value_size: int | None
    features: Sequence[str]
    settings: Mapping[str, Any]
    options: Mapping[str, int | str]
    shape: Mapping[str, int]
    predicted_microseconds: float
    default_microseconds: float
    model: str

    def is_for(self, operator: Operator, special: Specialization) -> bool:
        """Whether it is for this specialization on the operator's device."""
        return self.condition == condition_of(operator, special)

    @property
    def condition(self) -> dict[str, Any]:
        """What it holds for."""
        return {name: getattr(self, name) for name in _CONDITION}


_CONDITION = (
    "operator",
    "device",
    "dtype",
    "padded_head_size",
    "padded_value_size",
    "features",
    "settings",
)
_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "str": (str,),
    "float": (int, float),
    "int | None": (int, type(None)),
    "Sequence[str]": (list,),
    "Mapping[str, Any]": (dict,),
    "Mapping[str, int | str]": (dict,),
    "Mapping[str, int]": (dict,),
}
"""The types that JSON has for those of the fields."""


def condition_of(operator: Operator, special: Specialization) -> dict[str, Any]:
    """The specialization of an operator as entries name it."""
    return {
        "operator": operator.name,
        "device": operator.device.name,
        "dtype": special.dtype,
        "padded_head_size": special.padded_head_size,
        "padded_value_size": special.padded_value_size,
        "features": sorted(special.features),
        "settings": dict(special.settings),
    }


def chosen_schedule(operator: Operator, special: Specialization) -> Chosen | None:
    """The stored choice for a specialization, if there is one and the model is still the one that made it.

    Raises:
        StoredSchedulesError: the file is no file of stored choices.
    """
    found = _found(operator, special)
    if found is None or found.is_stale:
        return None
    return Chosen(options=found.entry.options, by=STORED, entry=found.place)


def stale_text(operator: Operator, special: Specialization) -> str:
    """That a stored choice is not used, as another version of the model made it; else nothing.

    Raises:
        As :func:`chosen_schedule`.
    """
    found = _found(operator, special)
    if found is None or not found.is_stale:
        return ""
    return (
        f"{found.place} is not used: model {found.entry.model} chose it, predictions are now of "
        f"{operator.device.model_version}; run attndsl tune {operator.in_commands} with --write again"
    )


def report_stale(operator: Operator, special: Specialization) -> None:
    """Warns of a stored choice that is not used.

    Raises:
        As :func:`chosen_schedule`.
    """
    if said := stale_text(operator, special):
        _LOGGER.warning(said)


def stored_entry(operator: Operator, special: Specialization) -> StoredSchedule | None:
    """The entry for a specialization, whichever model made it.

    Raises:
        As :func:`chosen_schedule`.
    """
    found = _found(operator, special)
    return None if found is None else found.entry


def used_options(operator: Operator) -> tuple[Mapping[str, int | str], ...]:
    """The options of the entries by which kernels of the operator are compiled for its device.

    Raises:
        As :func:`chosen_schedule`.
    """
    file, device = operator.schedules_file, operator.device
    entries = () if file is None else _entries(file)
    wanted = (operator.name, device.name, device.model_version)
    return tuple(each.options for each in entries if (each.operator, each.device, each.model) == wanted)


def store(operator: Operator, special: Specialization, entry: StoredSchedule | None) -> Path | None:
    """Put ``entry`` in the place of the one for the same specialization; None: take that one away.

    Returns the file, None where no entry was there and none is.

    Raises:
        StoredSchedulesError: the operator has no file, or its stored choices cannot be read or written.
    """
    file = operator.schedules_file
    if file is None:
        raise StoredSchedulesError(
            Path(operator.name), "no file declares this operator, so none is beside it"
        )
    known = _entries(file)
    kept = [each for each in known if not each.is_for(operator, special)]
    if entry is None and len(kept) == len(known):
        return None
    entries = sorted([*kept, *([] if entry is None else [entry])], key=lambda each: repr(each.condition))
    text = json.dumps({"schema": SCHEMA, "schedules": [asdict(each) for each in entries]}, indent=2)
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise StoredSchedulesError(file, f"cannot be written: {error.strerror or error}") from error
    return file


@dataclass(frozen=True, slots=True)
class _Found:
    """An entry of an operator's file.

    Attributes:
        place: file and number, for messages.
        is_stale: whether another version of the model than the device's made it.
    """

    entry: StoredSchedule
    place: str
    is_stale: bool


def _found(operator: Operator, special: Specialization) -> _Found | None:
    """The entry for a specialization."""
    file = operator.schedules_file
    if file is None:
        return None
    for number, entry in enumerate(_entries(file), 1):
        if entry.is_for(operator, special):
            stale = entry.model != operator.device.model_version
            return _Found(entry, f"{file.name}: entry {number}", stale)
    return None


def _entries(file: Path) -> tuple[StoredSchedule, ...]:
    """The entries of a file that may be missing."""
    if not file.is_file():
        return ()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StoredSchedulesError(file, f"cannot be read: {error}") from error
    return _entries_in(file, text)


@lru_cache(maxsize=16)
def _entries_in(file: Path, text: str) -> tuple[StoredSchedule, ...]:
    """The entries of a file with this text; ``file`` is for messages."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise StoredSchedulesError(file, f"cannot be read: {error}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA or not isinstance(document.get("schedules"), list):
        raise StoredSchedulesError(
            file, f"schema is {schema!r}; it must be {SCHEMA}, with a list of schedules"
        )
    found: list[StoredSchedule] = []
    for number, row in enumerate(document["schedules"], 1):
        entry = _checked(file, number, row)
        for first, other in enumerate(found, 1):
            if other.condition == entry.condition:
                raise StoredSchedulesError(file, f"entry {number} is for the same kernel as entry {first}")
        found.append(entry)
    return tuple(found)


def _checked(file: Path, number: int, row: Any) -> StoredSchedule:
    """The entry of a row, whose keys and types are those of an entry."""
    wanted = {each.name: str(each.type) for each in fields(StoredSchedule)}
    if not isinstance(row, dict):
        raise StoredSchedulesError(file, f"entry {number} is {row!r}; it must be an object")
    for name in row:
        if name not in wanted:
            nearest = difflib.get_close_matches(name, wanted, n=1, cutoff=0.0)[0]
            raise StoredSchedulesError(file, f"entry {number} has '{name}'; the nearest key is '{nearest}'")
    for name, kind in wanted.items():
        if name not in row:
            raise StoredSchedulesError(file, f"entry {number} has no '{name}'")
        if not isinstance(row[name], _KINDS[kind]) or isinstance(row[name], bool):
            raise StoredSchedulesError(file, f"entry {number}: '{name}' is {row[name]!r}; it must be {kind}")
    return StoredSchedule(**row)
