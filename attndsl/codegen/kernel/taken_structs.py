"""The structs that functions of stages take whole: an item, the half of a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attndsl.codegen.kernel.half_rows import STRUCT as HALF
from attndsl.codegen.kernel.half_rows import TAKEN, TAKEN_EARLIER
from attndsl.codegen.kernel.item_decoding import DECODED
from attndsl.codegen.kernel.item_decoding import STRUCT as ITEM
from attndsl.codegen.names.members import scalar
from attndsl.codegen.names.spelling import Spelling
from attndsl.expr import Symbol

EARLIER_ITEM = "earlierWork"
"""The local that holds the item of an earlier step."""
_PLACES = {ITEM: (DECODED, EARLIER_ITEM), HALF: (TAKEN, TAKEN_EARLIER)}
"""What holds a struct in a function, and in front of work with an earlier step."""


@dataclass(frozen=True, slots=True)
class TakenStruct:
    """A struct that a function takes.

    ``parameter``: its declaration. ``argument``: the local that it is called with. ``members``: how the
    function spells the scalars that it takes with it, by their names.
    """

    parameter: str
    argument: str
    members: dict[str, str]


def taken_structs(
    scalars: Sequence[Symbol], names: dict[str, Iterable[str]], spelling: Spelling
) -> Iterator[TakenStruct]:
    """The structs that a function takes with these scalars, spelled as its caller has them.

    ``names``: the members that every caller's struct has, by type.
    """
    for struct, members in names.items():
        inside, earlier = _PLACES[struct]
        taken = [symbol for symbol in scalars if symbol.name in members]
        places = {spelling.expr(symbol).removesuffix(f".{scalar(symbol)}") for symbol in taken}
        if len(places) == 1 and places <= {inside, earlier}:
            spelled = {symbol.name: f"{inside}.{scalar(symbol)}" for symbol in taken}
            yield TakenStruct(f"const {struct} &{inside}", places.pop(), spelled)
