"""The specs that a new operator begins with: files of ``specs/starting``, under the name of the new one."""

from __future__ import annotations

import difflib

from attndsl.base.errors import UserError
from attndsl.base.package_files import starting_specs_dir


class UnknownKindError(UserError, ValueError):
    """No starting spec is of this kind."""


class OperatorNameError(UserError, ValueError):
    """A new operator cannot have this name."""


def kinds() -> tuple[str, ...]:
    """The kinds of starting specs, sorted, such as ``paged-decode``."""
    return tuple(sorted(path.stem.replace("_", "-") for path in starting_specs_dir().glob("*.py")))


def starting_spec(kind: str, name: str) -> str:
    """The text of a spec of this kind for an operator called ``name``.

    Raises:
        UnknownKindError: no kind is called so; the message has the nearest.
        OperatorNameError: the name is no identifier.
    """
    if kind not in kinds():
        close = difflib.get_close_matches(kind, kinds(), 1)
        nearest = f"did you mean '{close[0]}'? " if close else ""
        raise UnknownKindError(f"no starting spec is like '{kind}'; {nearest}there are {', '.join(kinds())}")
    if not (name.isidentifier() and name.isascii()):
        raise OperatorNameError(
            f"an operator cannot be called '{name}': a name has letters, digits and _, and begins with none "
            f"of the digits; take '{_as_name(name)}'"
        )
    stem = kind.replace("-", "_")
    return (starting_specs_dir() / f"{stem}.py").read_text(encoding="utf-8").replace(stem, name)


def _as_name(text: str) -> str:
    """The nearest name of a text."""
    made = "".join(each if each.isascii() and each.isalnum() else "_" for each in text.removesuffix(".py"))
    found = made.strip("_") or "my_attention"
    return f"_{found}" if found[0].isdigit() else found
