"""What a computation demands of lengths: rows of a tensor must be rows that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce

from attndsl.expr import Compare, Expr, Load, Symbol, ceil_div, minimum, negation
from attndsl.expr.argument_facts import given
from attndsl.graph.nodes import (
    CacheAppend,
    Choose,
    Conditional,
    Dense,
    Input,
    Leading,
    Node,
    Paged,
    Ring,
    Rows,
    Scalar,
    Scores,
    Selected,
    WeightedSum,
)
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.errors import HeadSizeError, LengthRangeError, PagingError, ShapeError

_B, _COLUMN = Symbol("b"), Symbol("j")
Shapes = Mapping[str, Sequence[Expr]]


def capacity_constraints(
    root: Node,
    lengths: frozenset[str],
    axes: Mapping[str, Expr],
    own: Mapping[str, Expr],
    known: Iterable[Constraint],
) -> Iterator[Constraint]:
    """That ``lengths`` are at most the rows of the tensor whose valid rows they count, and that keys and
    values have equally many where no length counts them.

    ``own``: the rows of tensors that have place for fewer than the largest. Rows with a start of their own
    are not meant: where they lie outside, the batch row has none. What a constraint in ``known`` says is not
    said again.
    """
    said = [rule.condition for rule in known]
    if not {"B", "T"} <= axes.keys():
        return

    def wanted(rows: Rows) -> bool:
        return isinstance(rows, Dense) and rows.start is None and _counted_by(rows.length) in lengths

    for rows, when in _Reads(root, wanted):
        name, capacity = _counted_by(rows.length), _stored_rows(rows, own, axes["T"])
        condition, text = Load(name, _B) <= capacity, f"must be at most {capacity}, the rows there are"
        if any(_says(each, name, capacity) for each in said):
            continue
        said += [condition] if when is None else []
        yield Constraint(condition, text, LengthRangeError, when, {_B.name: axes["B"]}, where=rows.where)

    for node in (each for each in root.walk() if own and isinstance(each, WeightedSum)):
        assert isinstance(node, WeightedSum)
        for below in (each for each in node.weights.walk() if isinstance(each, Scores)):
            keys, values = (_stored_rows(each, own, axes["T"]) for each in (below.keys, node.values))
            if below.keys.length is None and not keys.same(values):
                text = "keys and values must have equally many rows"
                yield Constraint(keys == values, text, ShapeError, where=node.where)


def _stored_rows(rows: Node, own: Mapping[str, Expr], largest: Expr) -> Expr:
    """The rows that the tensor of a source has place for."""
    return next(
        (own[each.name] for each in rows.walk() if isinstance(each, Input) and each.name in own), largest
    )


def paged_constraints(
    root: Node, shapes: Shapes, axes: Mapping[str, Expr], known: Iterable[Constraint]
) -> Iterator[Constraint]:
    """That the rows of a cache in pages have a column of their table, and that each column which they use
    names a page.

    ``shapes``: the sizes of tables that have one layout, by name. What a constraint in ``known`` says of a
    length or of a table is left to it.
    """
    said = [rule.condition for rule in known]
    if not {"B", "P", "W"} <= axes.keys():
        return
    for rows, when in _Reads(root, lambda rows: isinstance(rows, Paged)):
        assert isinstance(rows, Paged)
        table = rows.table.name if isinstance(rows.table, Input) else ""
        count, size = _rows_of(rows.length), rows.block_size
        over = {_B.name: axes["B"]}
        if count is not None and not any(_bounds(each, count) for each in said):
            columns = shapes[table][1] if len(shapes.get(table, ())) == 2 else axes["W"]
            condition, text = count <= columns * size, "must fit the blocks of the table"
            said += [condition] if when is None else []
            yield Constraint(condition, text, LengthRangeError, when, over, where=rows.where)
        if len(shapes.get(table, ())) != 2 or not shapes[table][0].same(axes["B"]):
            continue
        columns = shapes[table][1]
        entry = Load(table, _B * columns + _COLUMN)
        if any(isinstance(part, Load) and part.source == table for each in said for part in each.walk()):
            continue
        condition = (entry >= 0) & (entry < axes["P"])
        used = when if count is None and rows.length is None else None
        if count is not None:
            used = _both(when, _COLUMN * size < count)
        elif rows.length is not None:
            continue  # lengths that a call may leave out
        said += [condition] if when is None else []
        text, hint = (
            "must name a block of the cache wherever rows are",
            "ids run from 0 to the blocks less one",
        )
        over = {**over, _COLUMN.name: columns}
        yield Constraint(condition, text, PagingError, used, over, table, hint=hint, where=rows.where)


def cache_constraints(
    root: Node, axes: Mapping[str, Expr], known: Iterable[Constraint]
) -> Iterator[Constraint]:
    """That the rows written to a cache fit into it: of a ring the last ``size``, of others all of them; and
    that none is written in front of it.

    What a constraint in ``known`` says of the rows is not said again.
    """
    said = [rule.condition for rule in known]
    written: dict[int, tuple[Rows, Node | None]] = {}
    for node in root.walk():
        if isinstance(node, Ring):
            written[id(node)] = (node, node.length)
        if isinstance(node, CacheAppend):
            written[id(node.cache)] = (node.cache, node.length)
            first = _rows_of(node.position)
            if first is not None and "B" in axes and not any(_is_counted(each, first) for each in said):
                said.append(first >= 0)
                over = {_B.name: axes["B"]} if _B.name in first.symbols() else {}
                text = "rows are written from row 0 on, or behind it"
                yield Constraint(first >= 0, text, LengthRangeError, over=over, where=node.where)
    for cache, length in written.values():
        size = cache.size if isinstance(cache, Ring) else None
        if not {"B", "T"} <= axes.keys() or (size is not None and size.same(axes["T"])):
            continue
        parts = [each for each in (_rows_of(length), size) if each is not None]
        if not parts or any(_bounds_rows(each, parts[-1], axes["T"]) for each in said):
            continue
        condition = reduce(minimum, parts) <= axes["T"]
        said.append(condition)
        text = f"must fit into the cache, whose rows are {axes['T']}"
        over = {_B.name: axes["B"]} if _B.name in condition.symbols() else {}
        yield Constraint(condition, text, LengthRangeError, over=over, where=cache.where)


def list_constraints(
    root: Node, axes: Mapping[str, Expr], known: Iterable[Constraint]
) -> Iterator[Constraint]:
    """That there is a list for each block of query positions, where these share them."""
    said = [rule.condition for rule in known]
    for node in root.walk():
        if isinstance(node, Selected) and node.queries is not None and {"Q", "H"} <= axes.keys():
            condition = ceil_div(axes["Q"], node.queries) <= axes["H"]
            if not any(condition.same(each) for each in said):
                said.append(condition)
                name = node.blocks.name if isinstance(node.blocks, Input) else ""
                text = f"there is a list for each {node.queries} query positions"
                yield Constraint(condition, text, ShapeError, argument=name, where=node.where)


def leading_constraints(
    root: Node, axes: Mapping[str, Expr], known: Iterable[Constraint]
) -> Iterator[Constraint]:
    """That values which are the first channels of keys are channels that keys have.

    A number of channels about which a constraint in ``known`` says something is left to the author.
    """
    said = [rule.condition for rule in known]
    for node in root.walk():
        if not isinstance(node, Leading) or "D" not in axes or node.count.same(axes["D"]):
            continue
        condition = node.count <= axes["D"]
        names = condition.symbols()
        if any(names <= each.symbols() for each in said):
            continue
        said.append(condition)
        text = f"must be channels of the keys, at most {axes['D']}"
        yield Constraint(condition, text, HeadSizeError, where=node.where)


def _rows_of(length: Node | None) -> Expr | None:
    """The rows of a batch row as a number of ``b``; None for all of them."""
    if isinstance(length, Input):
        return None if length.optional else Load(length.name, _B)
    return length.value if isinstance(length, Scalar) else None


def _bounds_rows(condition: Expr, written: Expr, rows: Expr) -> bool:
    """Whether a constraint says of what is written, or of an element that it counts with, that a cache with
    ``rows`` has it."""
    if not isinstance(condition, Compare) or condition.op not in ("<=", "=="):
        return False
    counted: list[Expr] = [each for each in written.walk() if isinstance(each, Load)]
    return condition.right.same(rows) and any(
        part.same(each) for part in condition.left.walk() for each in (written, *counted)
    )


def _bounds(condition: Expr, count: Expr) -> bool:
    """Whether a constraint says of a number of rows, or of an element that it is made of, how large it may
    be."""
    elements: list[Expr] = [each for each in count.walk() if isinstance(each, Load)]
    compared = [
        part for part in condition.walk() if isinstance(part, Compare) and part.op in ("<=", "<", "==")
    ]
    return any(
        inner.same(each) for part in compared for inner in part.left.walk() for each in (count, *elements)
    )


def _is_counted(condition: Expr, position: Expr) -> bool:
    """Whether a constraint says of a place, or of an element that it is made of, how small it may be."""
    elements: list[Expr] = [each for each in position.walk() if isinstance(each, Load)]
    compared = [part for part in condition.walk() if isinstance(part, Compare) and part.op in (">=", ">")]
    return any(part.left.same(each) for part in compared for each in (position, *elements))


def _counted_by(length: Node | None) -> str:
    """The tensor whose entries are the rows of each batch row."""
    if isinstance(length, Input):
        return length.name
    value = length.value if isinstance(length, Scalar) else None
    return value.source if isinstance(value, Load) and value.index.same(_B) else ""


def _says(condition: Expr, name: str, rows: Expr) -> bool:
    if not isinstance(condition, Compare) or condition.op not in ("<=", "=="):
        return False
    left, right = condition.left, condition.right
    return isinstance(left, Load) and left.source == name and right.same(rows)


class _Reads:
    """The rows among ``wanted`` that calls read, and when they do.

    The paths through a graph double with each choice. So what all branches of a choice read in any case is
    looked at once, under the condition of the choice itself, and branches without wanted rows not at all.
    """

    def __init__(self, root: Node, wanted: Callable[[Rows], bool]) -> None:
        self._root, self._wanted = root, wanted
        self._order: dict[int, int] = {}
        self._always: dict[int, frozenset[Node]] = {}
        """By node, the wanted rows, and choices between them, that are reached whatever is chosen."""
        for node in root.walk():
            self._order[id(node)] = len(self._order)
            below = [self._always[id(each)] for each in node.operands()]
            if isinstance(node, Conditional | Choose):
                always = self._common(node)
                own = any(below)
            else:
                always = frozenset[Node]().union(*below)
                own = isinstance(node, Rows) and wanted(node)
            self._always[id(node)] = always | {node} if own else always

    def __iter__(self) -> Iterator[tuple[Rows, Expr | None]]:
        """Rows and the condition under which they are read, in the order of the graph."""
        nothing = frozenset[Node]()
        # Nodes with their condition, its text (which takes long to make), and what is looked at elsewhere.
        open_: list[tuple[Node, Expr | None, str, frozenset[Node]]] = [(self._root, None, "", nothing)]
        seen: set[tuple[int, str]] = set()
        while open_:
            node, when, told, elsewhere = open_.pop()
            if (id(node), told) in seen or node in elsewhere or not self._always[id(node)]:
                continue
            seen.add((id(node), told))
            if isinstance(node, Conditional | Choose):
                common = self._common(node)
                below = []
                for branch, condition in _branches(node):
                    both = _both(when, condition)
                    text = told if both is when else str(both)
                    below.append((branch, both, text, elsewhere | common))
                ordered = sorted(common, key=lambda each: self._order[id(each)])
                below += [(each, when, told, elsewhere) for each in ordered]
            else:
                if isinstance(node, Rows) and self._wanted(node):
                    yield node, when
                below = [(operand, when, told, elsewhere) for operand in node.operands()]
            open_ += reversed(below)

    def _common(self, node: Conditional | Choose) -> frozenset[Node]:
        first, *others = (self._always[id(branch)] for branch, _ in _branches(node))
        return first.intersection(*others)


def _branches(node: Conditional | Choose) -> Iterator[tuple[Node, Expr | None]]:
    """The nodes between which one chooses, with the condition of each."""
    if isinstance(node, Conditional):
        yield node.then, node.condition
        yield node.otherwise, negation(node.condition)
        return
    missed: Expr | None = None
    for needs, each in zip(node.needs, node.alternatives, strict=False):
        passed: Expr | None = None
        for name in sorted(needs):
            passed = _both(passed, given(name))
        yield each, _both(missed, passed)
        missed = _both(missed, None if passed is None else negation(passed))
    yield node.alternatives[-1], missed


def _both(first: Expr | None, second: Expr | None) -> Expr | None:
    if first is None or second is None:
        return second if first is None else first
    return first & second
