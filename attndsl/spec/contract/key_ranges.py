"""Which keys a read by position is made at: those of the scores that it is a part of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Load, Symbol, select
from attndsl.graph.nodes import (
    Dense,
    Input,
    Node,
    Packed,
    Paged,
    Rows,
    Scalar,
    Scores,
    Selected,
    Windowed,
)
from attndsl.spec.contract.conditional_reads import chosen_rows

_B = "b"


@dataclass(frozen=True)
class KeyRange:
    """The numbers that keys have.

    Attributes:
        lasts: the last key, each of these an upper bound of it.
        firsts: the first one, each of these a lower bound.
        window: the first row of the window that they are in and its rows, if any.
        when: the condition under which their source is chosen, if any.
    """

    lasts: tuple[Expr, ...]
    firsts: tuple[Expr, ...] = (Const(0),)
    window: tuple[Expr, Expr] | None = None
    when: Expr | None = None


@dataclass(frozen=True)
class StoredRows:
    """What is known of the tensors that keys lie in.

    Attributes:
        most: the most keys of a batch row, the extent of axis T; None if it has none.
        own: the rows of tensors that have place for fewer.
        tables: the sizes of block tables with one layout, by name.
    """

    most: Expr | None
    own: Mapping[str, Expr]
    tables: Mapping[str, Sequence[Expr]]

    def keys_of(self, rows: Node, when: Expr | None = None) -> Iterator[KeyRange]:
        """The keys of a source, of each one that a choice is made between."""
        for each, chosen in chosen_rows(rows, when):
            if isinstance(each, Selected):
                yield from self.keys_of(each.source, chosen)
            elif isinstance(each, Windowed):
                yield from (self._window(each, inner) for inner in self.keys_of(each.source, chosen))
            elif isinstance(each, Rows):
                yield replace(self._stored(each), when=chosen)

    def _stored(self, rows: Rows) -> KeyRange:
        count = number_of(rows.length)
        if rows.wraps is None:
            return KeyRange(())  # nobody knows which numbers its rows have
        if rows.wraps and rows.length is not None:
            return KeyRange(() if count is None else (count - 1,))
        lasts = [] if (most := self._capacity(rows)) is None else [most - 1]
        if isinstance(rows, Packed) and isinstance(rows.ends, Input):
            lasts.append(end_of_row(rows.ends.name) - first_of_row(rows.ends.name) - 1)
        if count is not None:
            first = number_of(rows.start) if isinstance(rows, Dense) and rows.start is not None else Const(0)
            lasts += [] if first is None else [first + count - 1]
        return KeyRange(tuple(lasts))

    def _window(self, rows: Windowed, inner: KeyRange) -> KeyRange:
        start, count = number_of(rows.start), number_of(rows.length)
        if start is None or count is None:
            return inner
        return replace(
            inner,
            firsts=(*inner.firsts, start),
            lasts=(*inner.lasts, start + count - 1),
            window=(start, count),
        )

    def _capacity(self, rows: Rows) -> Expr | None:
        if isinstance(rows, Paged):
            table = self.tables.get(rows.table.name, ()) if isinstance(rows.table, Input) else ()
            return table[1] * rows.block_size if len(table) == 2 else self.most
        below = (each.name for each in rows.walk() if isinstance(each, Input))
        return next((self.own[name] for name in below if name in self.own), self.most)


def keys_by_read(
    root: Node, reads: Callable[[Node], bool], stored: StoredRows
) -> dict[int, dict[KeyRange, SourceLine]]:
    """The keys at which each node reads that ``reads`` is true of, by the id of the node, with the line that
    asks for them: that of an input is where it meets the scores."""
    found: dict[int, dict[KeyRange, SourceLine]] = {}
    for top in _score_spaces(root):
        nodes = _inside(top)
        ranges = [keys for each, _ in nodes if isinstance(each, Scores) for keys in stored.keys_of(each.keys)]
        for node, user in nodes:
            if ranges and reads(node):
                where = user.where if isinstance(node, Input) else node.where
                found.setdefault(id(node), {}).update(dict.fromkeys(ranges, where))
    return found


def _score_spaces(root: Node) -> list[Node]:
    """The values with a number for each key of which something without keys is made."""
    tops = dict[int, Node]()
    for node in root.walk():
        if not _has_keys(node):
            tops.update({id(each): each for each in node.operands() if _has_keys(each)})
    return list(tops.values())


def _inside(top: Node) -> list[tuple[Node, Node]]:
    """A value with a number for each key and those that it is made of, each with one that is made of it."""
    found, open_ = {id(top): (top, top)}, [top]
    while open_:
        node = open_.pop()
        if isinstance(node, Scores):
            continue
        for each in node.operands():
            if id(each) not in found and _has_keys(each):
                found[id(each)] = each, node
                open_.append(each)
    return list(found.values())


def _has_keys(node: Node) -> bool:
    return "T" in getattr(node, "axes", ()) and not isinstance(node, Rows)


def end_of_row(ends: str) -> Expr:
    """The number behind the last packed row of a batch row."""
    return Load(ends, Symbol(_B))


def first_of_row(ends: str) -> Expr:
    """The number of the first packed row of a batch row."""
    b = Symbol(_B)
    return select(b == 0, 0, Load(ends, b - 1))


def number_of(length: Node | None) -> Expr | None:
    """A number of ``b``; None of what a call may leave out."""
    if isinstance(length, Input):
        return None if length.optional else Load(length.name, Symbol(_B))
    return length.value if isinstance(length, Scalar) else None


def entry_or_number(length: Node | None) -> Expr | None:
    """The same, with the entry of a tensor that a call may leave out: a rule that reads one is not asked
    then."""
    return Load(length.name, Symbol(_B)) if isinstance(length, Input) else number_of(length)
