"""What a computation demands of lengths: rows of a tensor must be rows that it has.

Each function makes the rules of one subject. A rule that the contract states already, in the author's words
or for another part of the computation, is not made again, see stated_rules.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce

from attndsl.base.source_location import SourceLine
from attndsl.expr import Binary, Expr, Load, Symbol, ceil_div, minimum, negation
from attndsl.expr.argument_facts import given
from attndsl.graph.nodes import (
    CacheAppend,
    Dense,
    Input,
    Leading,
    Node,
    Paged,
    Ring,
    Rows,
    Scores,
    Selected,
    WeightedSum,
)
from attndsl.spec.contract.conditional_reads import ConditionalReads, both, chosen_rows
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.key_ranges import entry_or_number, number_of
from attndsl.spec.contract.known_conditions import known_of
from attndsl.spec.contract.stated_rules import (
    AT_LEAST,
    AT_MOST,
    StatedRules,
    bounds_number,
    is_number,
    never_negative,
)
from attndsl.spec.errors import HeadSizeError, LengthRangeError, PagingError, ShapeError

_B, _COLUMN = Symbol("b"), Symbol("j")
Axes = Mapping[str, Expr]
Shapes = Mapping[str, Sequence[Expr]]


def capacity_constraints(
    root: Node, axes: Axes, own: Axes, known: Iterable[Constraint]
) -> Iterator[Constraint]:
    """That lengths are at most the rows of the tensor whose valid rows they count, and that keys and values
    have equally many where no length counts them.

    ``own``: the rows of tensors that have place for fewer than the largest. Rows with a start of their own
    are not meant: where they lie outside, the batch row has none. What a constraint in ``known`` says is not
    said again.
    """
    stated = StatedRules(known)
    if not {"B", "T"} <= axes.keys():
        return

    def wanted(rows: Rows) -> bool:
        return isinstance(rows, Dense) and rows.start is None and rows.length is not None

    for rows, when in ConditionalReads(root, wanted, Rows):
        count, capacity = entry_or_number(rows.length), stored_rows(rows, own, axes["T"])
        if count is not None:
            text = f"must be at most {capacity}, the rows there are"
            yield from at_most(count, capacity, text, when, axes, stated, rows.where)
    if own:
        yield from _equal_rows(root, own, axes["T"])


def _equal_rows(root: Node, own: Axes, largest: Expr) -> Iterator[Constraint]:
    """That keys and values without lengths have equally many rows."""
    for node in root.walk():
        if not isinstance(node, WeightedSum):
            continue
        for below in (each for each in node.weights.walk() if isinstance(each, Scores)):
            keys, values = (stored_rows(each, own, largest) for each in (below.keys, node.values))
            if below.keys.length is None and not keys.same(values):
                text = "keys and values must have equally many rows"
                yield Constraint(keys == values, text, ShapeError, where=node.where)


def stored_rows(rows: Node, own: Axes, largest: Expr) -> Expr:
    """The rows that the tensor of a source has place for."""
    return next(
        (own[each.name] for each in rows.walk() if isinstance(each, Input) and each.name in own), largest
    )


def at_most(
    count: Expr,
    most: Expr,
    text: str,
    when: Expr | None,
    axes: Axes,
    stated: StatedRules,
    where: SourceLine,
) -> Iterator[Constraint]:
    """That the rows of each batch row are at most ``most``, if nothing says so."""
    met = known_of(when)
    if isinstance(count, Load):
        said = stated.compares(AT_MOST, is_element_of(count.source), most, met)
    else:
        said = stated.limits(count, most, when) or stated.compares(AT_MOST, bounds_number(count), when=met)
    if said:
        return
    over = over_batch(count, axes)
    rule = Constraint(count <= most, text, LengthRangeError, when, over, where=where)
    yield stated.with_rule(rule, when)


def is_element_of(name: str) -> Callable[[Expr], bool]:
    """Whether an expression is an element of a tensor."""
    return lambda expr: isinstance(expr, Load) and expr.source == name


def paged_constraints(
    root: Node, shapes: Shapes, pools: Mapping[str, Expr], axes: Axes, known: Iterable[Constraint]
) -> Iterator[Constraint]:
    """That the rows of a cache in pages have a column of their table, and that each column which they use
    names a page.

    ``shapes``: the sizes of tables that have one layout, by name; ``pools``: the pages of caches that have
    a number of their own. What a constraint in ``known`` says of a
    length or of a table is left to it.
    """
    stated = StatedRules(known)
    if not {"B", "P", "W"} <= axes.keys():
        return
    for rows, when in ConditionalReads(root, lambda rows: True, Paged):
        table = rows.table.name if isinstance(rows.table, Input) else ""
        shape = shapes.get(table, ())
        columns = shape[1] if len(shape) == 2 else axes["W"]
        count = entry_or_number(rows.length)
        if count is not None and not stated.compares(AT_MOST, bounds_number(count), when=known_of(when)):
            condition, text = count <= columns * rows.block_size, "must fit the blocks of the table"
            over = {_B.name: axes["B"]}
            rule = Constraint(condition, text, LengthRangeError, when, over, where=rows.where)
            yield stated.with_rule(rule, when)
        if len(shape) == 2 and shape[0].same(axes["B"]):
            stored = (each.name for each in rows.tensor.walk() if isinstance(each, Input))
            pages = next((pools[name] for name in stored if name in pools), axes["P"])
            yield from _entries(rows, table, columns, pages, when, axes, stated)


def _entries(
    rows: Paged,
    table: str,
    columns: Expr,
    pages: Expr,
    when: Expr | None,
    axes: Axes,
    stated: StatedRules,
) -> Iterator[Constraint]:
    """That the entries of a table name pages, wherever rows are: in all columns where no length is passed."""
    count, elements = entry_or_number(rows.length), is_element_of(table)
    if any(elements(part) for each in stated.conditions for part in each.walk()):
        return
    if count is None and rows.length is not None:
        return  # nothing tells where rows are
    used = [when if count is None else both(when, _COLUMN * rows.block_size < count)]
    if isinstance(rows.length, Input) and rows.length.optional:
        used.append(both(when, negation(given(rows.length.name))))
    entry = Load(table, _B * columns + _COLUMN)
    for where_used in used:
        rule = Constraint(
            (entry >= 0) & (entry < pages),
            "must name a block of the cache wherever rows are",
            PagingError,
            where_used,
            {_B.name: axes["B"], _COLUMN.name: columns},
            table,
            hint="ids run from 0 to the blocks less one",
            where=rows.where,
        )
        yield stated.with_rule(rule, when)


def cache_constraints(root: Node, axes: Axes, known: Iterable[Constraint]) -> Iterator[Constraint]:
    """That the rows written to a cache fit into it: of a ring the last ``size``, of others all of them; and
    that none is written in front of it.

    What a constraint in ``known`` says of the rows is not said again.
    """
    stated = StatedRules(known)
    for node, when in ConditionalReads(root, lambda rows: isinstance(rows, Ring | CacheAppend), Rows):
        caches: list[tuple[Node, Expr | None]] = [(node, when)]
        if isinstance(node, CacheAppend):
            yield from _not_in_front(node, when, axes, stated)
            caches = [each for each in chosen_rows(node.cache, when) if not isinstance(each[0], Ring)]
        for cache, kept_when in caches:
            yield from _written_rows(cache, node.length, kept_when, axes, stated)


def _not_in_front(
    append: CacheAppend, when: Expr | None, axes: Axes, stated: StatedRules
) -> Iterator[Constraint]:
    """That rows are not written in front of a cache."""
    first = number_of(append.position)
    if first is None or "B" not in axes or never_negative(first):
        return
    met = known_of(when)
    if stated.compares((">=", ">"), is_number(first), when=met):
        return
    sides = (first.left, first.right) if isinstance(first, Binary) and first.op == "-" else None
    if sides is not None and stated.compares(AT_LEAST, sides[0].same, sides[1], met):
        return
    text = "rows are written from row 0 on, or behind it"
    over = over_batch(first, axes)
    yield stated.with_rule(Constraint(first >= 0, text, LengthRangeError, when, over, where=append.where))


def _written_rows(
    cache: Node, length: Node | None, when: Expr | None, axes: Axes, stated: StatedRules
) -> Iterator[Constraint]:
    """That the rows written to a cache fit into it; those of a ring are as many as it keeps."""
    size = cache.size if isinstance(cache, Ring) else None
    if not {"B", "T"} <= axes.keys() or (size is not None and size.same(axes["T"])):
        return
    parts = [each for each in (number_of(length), size) if each is not None]
    if not parts:
        return
    written = reduce(minimum, parts)  # a limit of one of the parts is a limit of the smallest
    if any(stated.limits(each, axes["T"], when) for each in (written, *parts)):
        return
    condition = written <= axes["T"]
    text, over = f"must fit into the cache, whose rows are {axes['T']}", over_batch(condition, axes)
    yield stated.with_rule(Constraint(condition, text, LengthRangeError, when, over, where=cache.where))


def over_batch(expr: Expr, axes: Axes) -> dict[str, Expr]:
    """The batch rows, where an expression has one."""
    return {_B.name: axes["B"]} if _B.name in expr.symbols() else {}


def list_constraints(root: Node, axes: Axes, known: Iterable[Constraint]) -> Iterator[Constraint]:
    """That there is a list for each block of query positions, where these share them."""
    stated = StatedRules(known)
    for node in root.walk():
        if not isinstance(node, Selected) or node.queries is None or not {"Q", "H"} <= axes.keys():
            continue
        condition = ceil_div(axes["Q"], node.queries) <= axes["H"]
        if any(condition.same(each) for each in stated.always):
            continue
        name = node.blocks.name if isinstance(node.blocks, Input) else ""
        text = f"there is a list for each {node.queries} query positions"
        yield stated.with_rule(Constraint(condition, text, ShapeError, argument=name, where=node.where))


def leading_constraints(root: Node, axes: Axes, known: Iterable[Constraint]) -> Iterator[Constraint]:
    """That values which are the first channels of keys are channels that keys have.

    A number of channels about which a constraint in ``known`` says something is left to the author.
    """
    stated = StatedRules(known)
    for node in root.walk():
        if not isinstance(node, Leading) or "D" not in axes or node.count.same(axes["D"]):
            continue
        condition = node.count <= axes["D"]
        if any(condition.symbols() <= each.symbols() for each in stated.conditions):
            continue
        text = f"must be channels of the keys, at most {axes['D']}"
        yield stated.with_rule(Constraint(condition, text, HeadSizeError, where=node.where))
