"""The rows of the half that a step works on: one struct and one function of a kernel whose tasks have halves.

Each stage of such a kernel begins with the same scalars, made of its item and its tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from attndsl.codegen.kernel.item_decoding import DECODED, FOUND, ItemDecodings
from attndsl.codegen.kernel.item_decoding import STRUCT as ITEM
from attndsl.codegen.kernel.kept_steps import kept_scalars
from attndsl.codegen.names.members import scalar
from attndsl.codegen.names.spelling import Spelling
from attndsl.expr import Symbol
from attndsl.lowering.emit.loop_scalars import HALF, HALF_MEANINGS, ITEM_SLOT, STEP
from attndsl.tile.program import CORE_SCALARS, Program
from attndsl.tile.scalars import free
from attndsl.tile.statements import Earlier, KeepScalars, Let, Seq, Stage, Statement

STRUCT, FUNCTION = "Half", "HalfOf"
TAKEN, TAKEN_EARLIER = "taskHalf", "earlierHalf"
"""The locals that hold the half of a step, and of an earlier one; ``half`` alone is a type of AscendC."""
GIVEN = (STEP, ITEM_SLOT)
"""What the function takes besides the item."""


@dataclass(frozen=True, eq=False)
class HalfRows:
    """The scalars that stages make of the half of their step.

    Attributes:
        stages: those that do. ``statements``: the definitions, in order.
        members: the scalars that stages take; the others are steps on the way to them.
    """

    stages: tuple[Stage, ...] = ()
    statements: tuple[Let, ...] = ()
    members: tuple[Symbol, ...] = ()

    def __contains__(self, stage: object) -> bool:
        """Whether a stage takes them."""
        return stage in self.stages

    def is_taken(self, statements: Iterable[Statement]) -> bool:
        """Whether stages among these take them; what works with an earlier step takes others."""
        return any(
            each in self or (not isinstance(each, Earlier | Stage) and self.is_taken(each.children()))
            for each in statements
        )

    def spelled(self, name: str) -> dict[str, str]:
        """The members by their scalars' names, of the struct called ``name``."""
        return {symbol.name: f"{name}.{scalar(symbol)}" for symbol in self.members}

    def rest(self, stage: Stage) -> Stage:
        """A stage without these definitions."""
        if stage not in self:
            return stage
        leading = _leading(stage.body)
        names = {item.symbol.name for item in self.statements}
        own = tuple(item for item in leading if item.symbol.name not in names)
        body = Seq(body=(*own, *stage.body.body[len(leading) :]), where=stage.body.where)
        return replace(stage, body=body)

    def call(self, item: str, spelling: Spelling) -> str:
        """The call of the function."""
        return f"{FUNCTION}({', '.join((item, *map(spelling.expr, GIVEN)))})"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Those of the function."""
        return f"const {ITEM} &{DECODED}", *(f"int64_t {scalar(symbol)}" for symbol in GIVEN)

    @property
    def struct(self) -> tuple[str, ...]:
        """The lines of the struct."""
        return tuple(
            f"int64_t {scalar(symbol)};  // {HALF_MEANINGS.get(symbol.name, 'of the half')}"
            for symbol in self.members
        )

    def lines(self, spelling: Spelling, decodings: ItemDecodings) -> Iterator[str]:
        """The body of the function."""
        item = {symbol.name: f"{DECODED}.{scalar(symbol)}" for symbol in decodings.members}
        found = self.spelled(FOUND)
        inside = spelling.with_scalars({**item, **found})
        yield f"{STRUCT} {FOUND};"
        for each in self.statements:
            place = found.get(each.symbol.name) or f"const int64_t {scalar(each.symbol)}"
            yield f"{place} = {inside.expr(each.value)};"
        yield f"return {FOUND};"


def half_rows(program: Program, decodings: ItemDecodings) -> HalfRows:
    """What the stages of a program make of their step's half; nothing where tasks have no halves."""
    every = tuple(program.statements())
    stages = [
        item
        for item in every
        if isinstance(item, Stage) and any(let.symbol.same(HALF) for let in _leading(item.body))
    ]
    keeps = [item for item in every if isinstance(item, KeepScalars)]
    if not stages or not keeps or not all(kept_scalars(keep, decodings)[0] for keep in keeps):
        return HalfRows()  # there is no item to ask
    known = {field.name for field in program.fields} | {each.name for each in CORE_SCALARS}
    known |= {symbol.name for symbol in GIVEN} | decodings.each[0].names
    statements = tuple(_of_half(stages, known))
    found = HalfRows(tuple(stages), statements)
    used = {name for stage in stages for name in free(found.rest(stage))}
    return replace(found, members=tuple(item.symbol for item in statements if item.symbol.name in used))


def _leading(body: Seq) -> list[Let]:
    found = list[Let]()
    for item in body.body:
        if not isinstance(item, Let):
            break
        found.append(item)
    return found


def _of_half(stages: Sequence[Stage], known: set[str]) -> Iterator[Let]:
    """The definitions that come of a step's half, of its item and its tile alone, and are the same in all."""
    made: set[str] = set()
    every = [item for stage in stages for item in _leading(stage.body)]
    values: dict[str, list[Let]] = {}
    for item in every:
        values.setdefault(item.symbol.name, []).append(item)
    left = [same[0] for same in values.values() if all(same[0].value.same(each.value) for each in same)]
    while ready := [item for item in left if _comes_of_half(item, made, known)]:
        yield from ready
        made |= {item.symbol.name for item in ready}
        left = [item for item in left if item not in ready]


def _comes_of_half(item: Let, made: set[str], known: set[str]) -> bool:
    takes = item.value.symbols()
    return takes <= made | known and (item.symbol.same(HALF) or bool(takes & made))
