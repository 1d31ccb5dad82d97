"""Masks by conditions on indices that show no interval of keys, such as ``j % 4 == 0``: tested key by key.

The tests of a row become one bit a key. What is the same for all rows is tested once a tile, the rest with
each row. An interval that the condition has beside its tests is filled as those of index masks are, and its
keys outside are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.expr import Const, Expr, Load, binary, ceil_div, compare, maximum, minimum, round_up
from attndsl.expr.operators import OPERATORS
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.emit.loop_scalars import FIRST_HEAD, FIRST_KEY, HEAD, HEADS, KEYS, REPEAT_LANES
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.hidden_lanes import hide_lanes
from attndsl.lowering.masks.index_masks import fill_hidden
from attndsl.lowering.masks.key_conditions import (
    FORMS,
    Condition,
    Division,
    Joined,
    KeyConditions,
    KeyNumber,
    KeyTest,
)
from attndsl.lowering.masks.mask_kind import KnownNumbers, MaskKind, known_numbers
from attndsl.lowering.masks.tile_tests import TileTest
from attndsl.lowering.masks.visible_interval import Interval
from attndsl.lowering.operands.block_elements import POSITION, fill_signs, shared_by
from attndsl.lowering.operands.key_elements import KeyElements, key_elements
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import (
    Binary,
    Bitwise,
    CompareWithScalar,
    Convert,
    Fill,
    LaneNumbers,
    WithScalar,
)
from attndsl.tile.instructions.units import repeat_elements
from attndsl.tile.statements import For, If, Statement, seq

_MODES = {"<": "LT", "<=": "LE", ">": "GT", ">=": "GE", "==": "EQ", "!=": "NE"}
_BYTES = repeat_elements("float32") // 8  # of the bits of a repeat
_SMALLEST = 32  # bytes of a buffer


@dataclass(frozen=True, slots=True)
class _Tests:
    """The tests of one mask, as statements of its context."""

    context: Context
    node: nodes.Replace
    places: Buffer
    numbers: Buffer
    quotients: Buffer
    bits: tuple[Buffer, ...]
    elements: tuple[KeyElements, ...] = ()

    def number_places(self) -> Statement:
        """``places = 0, 1, ...``"""
        return LaneNumbers(dst=whole(self.places), first=Const(0), where=self.node.where)

    def kept(self) -> Region:
        """One bit a key: 1 keeps its score."""
        return self._bits(0)

    def holding(self, condition: Condition, depth: int = 0) -> list[Statement]:
        """The bits of the keys for which a condition holds; those of ``depth`` and above are free."""
        if isinstance(condition, KeyTest):
            return self._test(condition, self._bits(depth))
        first, *others = condition.parts
        found, bits = self.holding(first, depth), self._bits(depth)
        for other in others:
            join = Bitwise(
                op="And" if condition.every else "Or",
                dst=bits,
                first=bits,
                second=self._bits(depth + 1),
                where=self.node.where,
            )
            found += [*self.holding(other, depth + 1), join]
        return found

    def _test(self, test: KeyTest, bits: Region) -> list[Statement]:
        where = self.node.where
        if test.number is not None and test.number.element is not None:
            return self._test_element(test, test.number, test.number.element, bits)
        if test.number is None:
            lanes = self._lanes(self.numbers)
            sign = minimum(1, maximum(-1, self._scalar(test.bound)))
            made: list[Statement] = [Fill(dst=lanes, value=sign, where=where)]
            bound: Expr = Const(0)
        else:
            made, lanes = self._number(test.number)
            bound = self._scalar(test.bound - test.number.rest)
        compare = CompareWithScalar(dst=bits, src=lanes, scalar=bound, mode=_MODES[test.op], where=where)
        return [*made, compare]

    def _test_element(self, test: KeyTest, number: KeyNumber, element: Load, bits: Region) -> list[Statement]:
        """``x <op> bound`` as ``x - bound <op> 0``: the difference of integers has the right sign in fp32."""
        where, negative = self.node.where, number.slope < 0
        shift = test.bound - number.rest if negative else number.rest - test.bound
        lanes = self._lanes(self.numbers)
        mode = _MODES[OPERATORS[test.op].mirrored if negative else test.op]
        if number.block is not None:
            made = [fill_signs(self.context, element, number.block, shift, lanes, where)]
        else:
            loaded = next(each for each in self.elements if each.element.same(element))
            made = loaded.shifted(self.context, self._scalar(shift), lanes)
        return [
            *made,
            CompareWithScalar(dst=bits, src=lanes, scalar=Const(0), mode=mode, where=where),
        ]

    def _number(self, number: KeyNumber) -> tuple[list[Statement], Region]:
        """The part of a number that differs within the tile, and where it is."""
        lanes, source = self._lanes(self.numbers), self._lanes(self.places)
        found: list[Statement] = []
        if number.slope != 1:
            found.append(self._with("Muls", lanes, source, Const(number.slope)))
            source = lanes
        for step in number.steps:
            if isinstance(step, Division):
                found += self._divided(step, lanes, source)
            else:
                found.append(self._with("Muls", lanes, source, Const(step)))
            source = lanes
        return found, source

    def _divided(self, step: Division, lanes: Region, source: Region) -> list[Statement]:
        """``lanes = x // d`` or ``x % d`` with ``x = source + carried``.

        The quotient is ``floor((x + 0.5) * (1 / d))``: half a step above the integer x no rounding of fp32
        numbers carries it to the next quotient.
        """
        context, where = self.context, self.node.where
        carried, divisor = self._scalar(binary("%", step.carried, step.divisor)), step.divisor
        quotients = self._lanes(self.quotients) if step.remainder else lanes
        reciprocal = context.host(_reciprocal(divisor), f"1 / {divisor}", stem="reciprocal")
        found: list[Statement] = [
            self._with("Adds", lanes, source, carried),
            self._with("Adds", quotients, lanes, Const(0.5)),
            self._with("Muls", quotients, quotients, reciprocal),
            Convert(dst=quotients, src=quotients, mode="CAST_FLOOR", where=where),
        ]
        if step.remainder:
            found += [
                self._with("Muls", quotients, quotients, self._scalar(0 - divisor)),
                Binary(op="Add", dst=lanes, first=lanes, second=quotients, where=where),
            ]
        return found

    def _with(self, op: str, dst: Region, src: Region, scalar: Expr) -> Statement:
        return WithScalar(op=op, dst=dst, src=src, scalar=scalar, where=self.node.where)

    def _scalar(self, expr: Expr) -> Expr:
        """What all keys of a tile share: ``j`` is the first of them."""
        return self.context.in_kernel(expr, {**self.context.rows.indices(), "j": FIRST_KEY})

    def _lanes(self, buffer: Buffer) -> Region:
        return whole(buffer, 0, round_up(KEYS, REPEAT_LANES))

    def _bits(self, depth: int) -> Region:
        return whole(self.bits[depth], 0, ceil_div(KEYS, REPEAT_LANES) * _BYTES)


def _reciprocal(divisor: Expr) -> Expr:
    return Const(1 / int(divisor.value)) if isinstance(divisor, Const) else Const(1) / divisor


def _lower(context: Context, node: nodes.Replace) -> Modifier:
    visible = _conditions(node, known_numbers(context)).visible(_condition(node))
    condition = visible.tests[0] if len(visible.tests) == 1 else Joined(visible.tests, every=True)
    each_row = _differs_by_row(context, condition)
    tests, by_place = _tests(context, node, condition), _is_by_place(condition)
    of_rows = [each for each in tests.elements if each.of_rows]
    of_tiles = [each for each in tests.elements if not each.of_rows]
    score = vector_buffers(context).score
    bounded = visible.interval.begin is not None or visible.interval.end is not None

    def prepare(context: Context) -> list[Statement]:
        kept = [each.keep() for each in of_tiles]
        places = [tests.number_places()] if by_place else []
        return [*places, *kept, *([] if each_row else tests.holding(condition))]

    begins = _begins_block(context, condition) if each_row else None

    def row(row: Expr) -> Statement:
        hide = hide_lanes(context, node, row, tests.kept())
        made: list[Statement] = tests.holding(condition) if each_row else []
        if begins is not None:
            made = [If(condition=(row == 0) | begins, then=seq(*made))]
        return seq(*made, hide)

    def apply(context: Context) -> list[Statement]:
        rows: For = context.rows.each_row(row, (score,))
        return [*(fill_hidden(context, node, visible.interval) if bounded else ()), rows]

    line = context.spec_line(node.where)
    return Modifier(
        title=f"score = {node.value:g} where a test of its indices hides the key  ({line})",
        source=", ".join(str(each.element) for each in tests.elements),
        tile_loads=tuple(each.loaded for each in of_tiles),
        row_loads=tuple(each.loaded for each in of_rows),
        scratch=(
            *([tests.places] if by_place else []),
            tests.numbers,
            tests.quotients,
            *tests.bits,
            *(each.kept for each in of_tiles),
            *(each.scratch for each in tests.elements),
        ),
        load_tile=lambda context: [each.load_tile(context) for each in of_tiles],
        load_rows=lambda context: [each.load_rows(context) for each in of_rows],
        prepare_tile=prepare,
        apply=apply,
    )


def _tests(context: Context, node: nodes.Replace, condition: Condition) -> _Tests:
    """With bits of the mask's own, as those of all rows are made once a tile."""
    tile = context.tile_keys
    number = next((at for at, each in enumerate(context.attention.modifiers) if each is node), 0)

    def lanes(name: str, meaning: str) -> Buffer:
        return context.in_ub(name, "float32", tile, meaning)

    def bits(depth: int) -> Buffer:
        size, meaning = maximum(tile // 8, _SMALLEST), "one bit a key: 1 where the tests hold"
        return context.in_ub(f"keyTest{number}Bits{depth}", "uint8", size, meaning)

    return _Tests(
        context=context,
        node=node,
        places=lanes("keyPlaces", "places of the tile's keys in it: 0, 1, ..."),
        numbers=lanes("keyTestNumbers", "what a test compares, of each key"),
        quotients=lanes("keyTestQuotients", "quotients of the numbers, on the way to remainders"),
        bits=tuple(bits(depth) for depth in range(_depth(condition) + 1)),
        elements=tuple(
            key_elements(context, element, f"keyTest{number}Elements{place}", node.where)
            for place, element in enumerate(dict.fromkeys(_elements(condition)))
        ),
    )


def _is_by_place(condition: Condition) -> bool:
    """Whether tests look at the places of keys, not at elements of tensors alone."""
    if isinstance(condition, Joined):
        return any(map(_is_by_place, condition.parts))
    return condition.number is not None and condition.number.element is None


def _elements(condition: Condition) -> Iterator[Load]:
    """The elements of tensors that tests load at keys."""
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from _elements(part)
    elif (number := condition.number) is not None and number.element is not None and number.block is None:
        yield number.element


def _depth(condition: Condition) -> int:
    """Bits that are held beside those of the first test."""
    if isinstance(condition, KeyTest):
        return 0
    first, *others = condition.parts
    return max(_depth(first), *(1 + _depth(other) for other in others))


def _differs_by_row(context: Context, condition: Condition) -> bool:
    indices = {"i", "n"} if context.rows.one_batch_row else {"i", "n", "b"}
    return any(expr.symbols() & indices for expr in _scalars(condition))


def _scalars(condition: Condition) -> Iterator[Expr]:
    """All that tests compute on the scalar unit."""
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from _scalars(part)
        return
    yield condition.bound
    if condition.number is not None:
        yield condition.number.rest
        if condition.number.element is not None:
            yield condition.number.element.index
        yield from (step.carried for step in condition.number.steps if isinstance(step, Division))


def _begins_block(context: Context, condition: Condition) -> Expr | None:
    """Whether a row may have other bits than the row before it, where rows of a block of query positions have
    the same: they follow each other, position by position. None where each row is one of its own."""
    scalars = tuple(_scalars(condition))
    size = shared_by(scalars, POSITION)
    if size is None or context.rows.one_position or not context.rows.one_batch_row:
        return None
    begins = context.rows.position % context.host(size, "query positions of a block") == 0
    of_heads = any("n" in each.symbols() for each in scalars)
    return begins | (HEADS != 1) if of_heads else begins & (HEAD == FIRST_HEAD)


def _condition(node: nodes.Replace) -> Expr:
    assert isinstance(node.condition, nodes.IndexCondition)
    return node.condition.condition


def _conditions(node: nodes.Replace, known: KnownNumbers) -> KeyConditions:
    return KeyConditions(known, node.where)


def _matches(node: nodes.Replace, known: KnownNumbers) -> bool:
    if not isinstance(node.condition, nodes.IndexCondition):
        return False
    try:
        return bool(_conditions(node, known).visible(_condition(node)).tests)
    except NotLowered:
        return False


def _tile_tests(node: nodes.Replace, known: KnownNumbers) -> tuple[TileTest, ...]:
    """Those of elements that blocks of keys share, among what all keys that a row sees pass."""
    tests = _conditions(node, known).visible(_condition(node)).tests
    return tuple(
        TileTest(compare(test.op, test.number.signed, test.bound), test.number.block)
        for test in tests
        if isinstance(test, KeyTest) and test.number is not None and test.number.block is not None
    )


def _visible(node: nodes.Replace, known: KnownNumbers) -> Interval | None:
    found = _conditions(node, known).around(_condition(node), holds=False)
    return None if found.begin is None and found.end is None else found


KEY_MASK = MaskKind(
    name="a mask that is tested key by key",
    form=f"a condition on indices ({FORMS})",
    matches=_matches,
    lower=_lower,
    visible=_visible,
    tile_tests=_tile_tests,
)
