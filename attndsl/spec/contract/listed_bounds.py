"""What lists of tensors demand: a batch row names one of them, and its rows are rows of that one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attndsl.expr import Expr, Load, Symbol
from attndsl.expr.argument_facts import rows_of
from attndsl.graph.nodes import Input, Listed, Node
from attndsl.spec.contract.capacity import Axes, over_batch, stored_rows
from attndsl.spec.contract.conditional_reads import ConditionalReads, both
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.key_ranges import entry_or_number
from attndsl.spec.contract.stated_rules import AT_MOST, StatedRules, bounds_elements
from attndsl.spec.errors import LengthRangeError, ShareGroupError

_B = Symbol("b")


def listed_constraints(
    root: Node,
    axes: Axes,
    own: Axes,
    split: frozenset[str],
    known: Iterable[Constraint],
    authored: Iterable[Constraint],
) -> Iterator[Constraint]:
    """That each number of a tensor is below how many the list has, a negative one being none, and that
    lengths are at most the rows of a tensor of the list.

    ``own``: the rows of tensors that have place for fewer than the largest. ``split``: the tensors that may
    come as a list with rows of its own for each batch row. A number that a rule of the author's bounds, one
    of ``authored`` among the rules in ``known``, is left to him.
    """
    stated, said = StatedRules(known), StatedRules(authored)
    for rows, when in ConditionalReads(root, lambda rows: True, Listed):
        yield from stated.unsaid(_rules(rows, when, axes, own, split, said))


def _rules(
    rows: Listed, when: Expr | None, axes: Axes, own: Axes, split: frozenset[str], said: StatedRules
) -> Iterator[Constraint]:
    """What one list demands."""
    stored: tuple[str, ...] = getattr(rows.tensors, "axes", ())
    along = "U" if "U" in stored else "T"
    if not {"B", along, *stored[:1]} <= axes.keys():
        return
    index, count = entry_or_number(rows.index), entry_or_number(rows.length)
    if index is not None and not said.bounds_anywhere(AT_MOST, bounds_elements(index)):
        size = axes[stored[0]]
        text = f"must name one of the {size} tensors; a negative one names none"
        over = over_batch(index, axes)
        yield Constraint(index < size, text, ShareGroupError, when, over, where=rows.where)
    if count is None:
        return
    read = when if index is None else both(when, index >= 0)
    over = over_batch(count if index is None else count + index, axes)
    if not said.bounds_anywhere(AT_MOST, bounds_elements(count)):
        most = stored_rows(rows, own, axes[along])
        text = f"must be at most {most}, the rows there are"
        yield Constraint(count <= most, text, LengthRangeError, read, over, where=rows.where)
    counted = {each.source for each in count.walk() if isinstance(each, Load)}
    lists = [each.name for each in rows.walk() if isinstance(each, Input) and each.name in split]
    if any(rule.tensors() & counted and rule.tensors() & set(map(rows_of, split)) for rule in said.rules):
        return
    for name in lists:
        condition = count <= Load(rows_of(name), _B)
        text = f"must be at most the rows of its tensor in {name}"
        yield Constraint(
            condition, text, LengthRangeError, when, over_batch(condition, axes), where=rows.where
        )
