"""Schedule choices stored as data beside a spec: ``NAME.schedules.json`` beside ``NAME.py``.

Each entry names a specialization and a device, the options that were chosen for it, and the prediction that
speaks for them. The compiler uses an entry when it compiles that specialization for that device. One that was
chosen by another version of the model that predicts times is left out, and reported.
"""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
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
    found = _entry_of(operator, special)
    if found is None or found[1].model != operator.device.model_version:
        return None
    number, entry = found
    file = operator.schedules_file
    assert file is not None
    return Chosen(options=entry.options, by=STORED, entry=f"{file.name}: entry {number}")


def stale_text(operator: Operator, special: Specialization) -> str:
    """That a stored choice is not used, as another version of the model made it; else nothing.

    Raises:
        As :func:`chosen_schedule`.
    """
    found, file = _entry_of(operator, special), operator.schedules_file
    if found is None or file is None or found[1].model == operator.device.model_version:
        return ""
    number, entry = found
    return (
        f"{file.name}: entry {number} is not used: model {entry.model} chose it, predictions are now of "
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
    found = _entry_of(operator, special)
    return None if found is None else found[1]


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
    known = [each for _, each in _entries(file)]
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


def _entry_of(operator: Operator, special: Specialization) -> tuple[int, StoredSchedule] | None:
    """The entry for a specialization and its number, from 1."""
    file = operator.schedules_file
    if file is None or not file.is_file():
        return None
    return next((each for each in _entries(file) if each[1].is_for(operator, special)), None)


def _entries(file: Path) -> Iterator[tuple[int, StoredSchedule]]:
    """The entries of a file that may be missing, each with its number."""
    if not file.is_file():
        return
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoredSchedulesError(file, f"cannot be read: {error}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA or not isinstance(document.get("schedules"), list):
        raise StoredSchedulesError(
            file, f"schema is {schema!r}; it must be {SCHEMA}, with a list of schedules"
        )
    seen: list[dict[str, Any]] = []
    for number, row in enumerate(document["schedules"], 1):
        entry = _checked(file, number, row)
        if entry.condition in seen:
            first = seen.index(entry.condition) + 1
            raise StoredSchedulesError(file, f"entry {number} is for the same kernel as entry {first}")
        seen.append(entry.condition)
        yield number, entry


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
