"""The scalars of earlier steps that a continuous pipeline keeps: members of the kernel.

An item is kept once, in a place of its own; its steps keep the number of that place.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.codegen.kernel.item_decoding import STRUCT, ItemDecodings
from attndsl.codegen.names.identifiers import pascal
from attndsl.codegen.names.members import constant, member, scalar
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.expr import Compare, Const, Named, Symbol
from attndsl.target import Core
from attndsl.tile.naming import stage_name
from attndsl.tile.program import Program
from attndsl.tile.statements import Earlier, If, KeepScalars, Statement

_WIDTH = 90
"""Columns of a declaration of scalars, without its indent."""
_FEWEST = 3
"""Scalars of an item for which a step keeps the item itself."""
KEPT_ITEMS = "items_"
"""The member that holds the items of the last steps."""
_CORES = {Core.AIC: "cube", Core.AIV: "vector"}


@dataclass(frozen=True, slots=True)
class KeptSteps:
    """A struct of scalars and the array of them, one for each slot of the rings.

    ``items``: the declaration of the items of these steps, empty where a step keeps what it needs of its
    item. ``counters``: the members that count the steps and the items.
    """

    struct: str
    scalars: tuple[str, ...]
    array: str
    items: tuple[str, ...]
    counters: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The declaration of the scalars."""
        if not self.scalars:
            return []
        return textwrap.wrap(f"int64_t {', '.join(self.scalars)};", _WIDTH, subsequent_indent="    ")


def kept_steps(program: Program, decodings: ItemDecodings) -> Iterator[KeptSteps]:
    """The scalars that each kind of core keeps, of each continuous pipeline."""
    for keep in (item for item in program.statements() if isinstance(item, KeepScalars)):
        whole, single = kept_scalars(keep, decodings)
        depth = constant(keep.steps.depth.name)
        yield KeptSteps(
            struct=kept_struct(keep),
            scalars=tuple(scalar(symbol) for symbol in single),
            array=f"{kept_member(keep)}[{depth}]{{}}",
            items=tuple(_kept_items(program, depth)) if whole else (),
            counters=(member(keep.steps.counter.name), member(keep.steps.runs.name)),
        )


def _kept_items(program: Program, depth: str) -> Iterator[str]:
    """The array of the items in flight, and why their places suffice."""
    steps = [item for item in program.statements() if isinstance(item, Earlier)]
    last = max(steps, key=lambda item: item.back)
    distance = cxx_text(Const(last.back) if last.distance is None else last.distance)
    yield (
        f"// An item keeps its place until its last step is finished. When one is decoded, at most {distance}"
        " others have a step that is not: it takes a place that none of these has."
    )
    if not isinstance(last.distance, Named):  # a named distance is less than the ring by its definition
        yield f'static_assert({distance} < {depth}, "an item keeps its place");'
    yield f"{STRUCT} {KEPT_ITEMS}[{depth}];"


def kept_scalars(keep: KeepScalars, decodings: ItemDecodings) -> tuple[frozenset[str], tuple[Symbol, ...]]:
    """The scalars that are kept with the item, and those that a step keeps: the slot of its item among them,
    if the item is kept. The slot of a step is where it is kept itself."""
    members = decodings.names(keep.attention_name).intersection(symbol.name for symbol in keep.scalars)
    whole = members if len(members) >= _FEWEST else frozenset[str]()
    others = (symbol for symbol in keep.scalars if not symbol.same(keep.steps.slot))
    single = tuple(symbol for symbol in others if symbol.name not in whole)
    names_item = not whole or any(symbol.same(keep.steps.run) for symbol in single)
    return whole, single if names_item else (*single, keep.steps.run)


def shared_earlier(body: Sequence[Statement]) -> Earlier | None:
    """The first statement of a step that works with an earlier one, if several do, and with the same one."""
    earlier = [item for item in body if isinstance(item, Earlier)]
    begins = any(isinstance(item, KeepScalars) for item in body)
    steps = {(item.keep.attention_name, item.back) for item in earlier}
    return earlier[0] if begins and len(earlier) > 1 and len(steps) == 1 else None


def is_otherwise(branch: Statement, following: Statement | None) -> bool:
    """Whether the next statement works with an earlier step just where this branch has nothing to do."""
    if type(branch) is not If or branch.otherwise is not None or not isinstance(following, Earlier):
        return False
    first, second = branch.condition, following.condition
    if not isinstance(first, Compare) or not isinstance(second, Compare):
        return False
    sides = first.left.same(second.left) and first.right.same(second.right)
    return sides and (first.op, second.op) == ("<=", ">")


def kept_member(keep: KeepScalars) -> str:
    """The array of the scalars of a pipeline's last steps, on one kind of core."""
    return member(f"{_CORES[keep.core]}Steps{keep.attention_name}")


def kept_struct(keep: KeepScalars) -> str:
    """The type of the scalars of one step."""
    return pascal(stage_name(f"{_CORES[keep.core]}Step", keep.attention_name))
