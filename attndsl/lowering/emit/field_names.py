"""Names of tiling fields that come from a spec must not be those that a kernel has for itself.

What a kernel defines is known once it is lowered. A sizes' or parameter's field of such a name is found then,
and the program lowered again with another name for it.
"""

from __future__ import annotations

from collections import Counter

from attndsl.base.errors import InternalError
from attndsl.tile.program import Program
from attndsl.tile.scalars import own_names


class NamesTaken(InternalError):
    """Tiling fields have names that the kernel needs for itself; lowering again without them helps."""

    def __init__(self, names: frozenset[str], what: str) -> None:
        self.names = names
        super().__init__(what)


def check_field_names(program: Program) -> Program:
    """The program itself.

    Raises:
        NamesTaken: it defines a scalar or a member of the name of a tiling field, or a field of its own.
    """
    fields = Counter(field.name for field in program.tiling)
    names = (own_names(program) & fields.keys()) | {name for name, count in fields.items() if count > 1}
    if names:
        raise NamesTaken(names, f"{program.name} has a use of its own for {', '.join(sorted(names))}")
    return program
